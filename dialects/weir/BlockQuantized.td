//===- BlockQuantized.td - weights of a few bits -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_BLOCK_QUANTIZED_TD
#define WEIR_BLOCK_QUANTIZED_TD

include "dialects/weir/WeirBase.td"

def Weir_DequantizeBlocksOp : Weir_ElementalOp<"dequantize_blocks"> {
  let summary = "a matrix of f32 out of numbers of a few bits, of which blocks share a scale";
  let description = [{
    Element [k, n] of the result, [rows, N], is (q - zero) * scale. q is number k of
    column n: unsigned, of `bits` bits (2, 4 or 8), the lowest bits of a byte first, in
    byte [k * bits / 8, n] of `numbers`, [B, N] of ui8. `scales`, [blocks, N] of f32, has
    one for each `block` rows that follow each other; `zeros` too, of ui8 or f32, or one
    number for all.
  }];
  let arguments = (ins Weir_AnyTensor:$numbers, Weir_AnyTensor:$scales, Weir_AnyTensor:$zeros,
    I64Attr:$bits, I64Attr:$block, I64Attr:$rows);
  let results = (outs Weir_AnyTensor:$result);
}

#endif // WEIR_BLOCK_QUANTIZED_TD

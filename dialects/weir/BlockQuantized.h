//===- BlockQuantized.h - weights of a few bits ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_BLOCKQUANTIZED_H
#define WEIR_DIALECTS_WEIR_BLOCKQUANTIZED_H

#include "dialects/weir/Weir.h"

namespace weir {
/// On a dequantize_blocks, of models that say so: a left operand that is multiplied by it may be
/// rounded to 8 bits, a block at a time.
inline constexpr char byteRowsAttribute[] = "weir.byte_rows";
} // namespace weir

#define GET_OP_CLASSES
#include "dialects/weir/BlockQuantizedOps.h.inc"

#endif // WEIR_DIALECTS_WEIR_BLOCKQUANTIZED_H

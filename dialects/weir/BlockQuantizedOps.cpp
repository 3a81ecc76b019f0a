//===- BlockQuantizedOps.cpp - weights of a few bits -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/BlockQuantized.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

#define GET_OP_CLASSES
#include "dialects/weir/BlockQuantizedOps.cpp.inc"

LogicalResult DequantizeBlocksOp::inferReturnTypes(MLIRContext *context, OptionalLocation loc,
                                                   Adaptor adaptor, Types &types) {
  auto numbers = ranked(adaptor.getNumbers()), scales = ranked(adaptor.getScales()),
       zeros = ranked(adaptor.getZeros());
  int64_t bits = adaptor.getBits(), block = adaptor.getBlock(), rows = adaptor.getRows();
  if (!numbers || !scales || !zeros || numbers.getRank() != 2 || scales.getRank() != 2 ||
      (zeros.getRank() != 2 && zeros.getRank() != 0))
    return emitOptionalError(loc, "numbers and scales must be matrices, zeros one or a number");
  if ((bits != 2 && bits != 4 && bits != 8) || block < 1 || rows < 0)
    return emitOptionalError(loc, "expected 2, 4 or 8 bits, got ", bits, " bits in blocks of ",
                             block);
  auto isShort = [&](RankedTensorType type, int64_t wanted) {
    return !type.isDynamicDim(0) && type.getDimSize(0) < wanted;
  };
  int64_t blocks = llvm::divideCeil(rows, block);
  if (isShort(numbers, llvm::divideCeil(rows * bits, 8)) || isShort(scales, blocks) ||
      (zeros.getRank() == 2 && isShort(zeros, blocks)))
    return emitOptionalError(loc, "found fewer numbers, scales or zeros than ", rows,
                             " rows in blocks of ", block, " take");
  return inferred(types, {rows, numbers.getDimSize(1)}, Float32Type::get(context));
}

Value DequantizeBlocksOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  OpBuilder &b = r.b;
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  int64_t bits = getBits(), each = 8 / bits;
  Value k = indices[0], n = indices[1];
  Value byte = r.element(getNumbers(), {r.divide(k, r.constant(each)), n});
  Value word = arith::ExtUIOp::create(b, r.loc, i32, byte);
  if (each > 1) {
    Value shift = r.mul(r.remainder(k, r.constant(each)), r.constant(bits));
    shift = arith::IndexCastOp::create(b, r.loc, i32, shift);
    word = arith::ShRUIOp::create(b, r.loc, word, shift);
    word = arith::AndIOp::create(
        b, r.loc, word, arith::ConstantOp::create(b, r.loc, b.getI32IntegerAttr((1 << bits) - 1)));
  }
  Value number = arith::UIToFPOp::create(b, r.loc, f32, word);
  Value block = r.divide(k, r.constant(getBlock()));
  SmallVector<Value> shared{block, n};
  bool isOne = ranked(getZeros()).getRank() == 0;
  Value zero = r.element(getZeros(), isOne ? ValueRange() : ValueRange(shared));
  if (!zero.getType().isF32())
    zero = arith::UIToFPOp::create(b, r.loc, f32, zero);
  Value centred = arith::SubFOp::create(b, r.loc, number, zero);
  return arith::MulFOp::create(b, r.loc, centred, r.element(getScales(), shared));
}

LogicalResult DequantizeBlocksOp::reifyShape(ElementReader &r, unsigned,
                                             SmallVectorImpl<Value> &dims) {
  dims.push_back(r.constant(getRows()));
  dims.push_back(r.dim(getNumbers(), 1));
  return success();
}

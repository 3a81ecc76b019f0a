//===- PackedBytes.cpp - four vectors of words as one of bytes ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/PackedBytes.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

static constexpr int64_t lanes = 16;

static Value intrinsic(OpBuilder &b, Location loc, StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name), operands)->getResult(0);
}

static Value splat(OpBuilder &b, Location loc, VectorType type, Attribute element) {
  return arith::ConstantOp::create(b, loc, SplatElementsAttr::get(type, element));
}

Value weir::nearestWords(OpBuilder &b, Location loc, Value real) {
  // The instruction makes the lowest word of all that it cannot hold, which is right for what is
  // too low.
  auto floats = VectorType::get({lanes}, b.getF32Type());
  Value most = splat(b, loc, floats, b.getF32FloatAttr(1 << 30));
  Value exceeds = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, most, real);
  real = arith::SelectOp::create(b, loc, exceeds, most, real);
  auto words = VectorType::get({lanes}, b.getI32Type());
  Value none = splat(b, loc, words, b.getI32IntegerAttr(0));
  Value all = arith::ConstantOp::create(b, loc, b.getI16IntegerAttr(-1));
  constexpr int32_t ownRounding = 4; // the thread's, to the nearest
  Value rounding = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(ownRounding));
  return intrinsic(b, loc, "llvm.x86.avx512.mask.cvtps2dq.512", words, {real, none, all, rounding});
}

std::pair<Value, Value> weir::packedRows(OpBuilder &b, Location loc, ArrayRef<Value> words,
                                         int64_t zero, bool isUnsigned) {
  auto halves = VectorType::get({2 * lanes}, b.getI16Type());
  auto ofRow = [&](Value first, Value second) {
    Value row = intrinsic(b, loc, "llvm.x86.avx512.packssdw.512", halves, {first, second});
    if (zero == 0)
      return row;
    Value moved = splat(b, loc, halves, b.getI16IntegerAttr(zero));
    return LLVM::SAddSat::create(b, loc, row, moved).getResult();
  };
  Value first = ofRow(words[0], words[1]), second = ofRow(words[2], words[3]);
  StringRef name = isUnsigned ? "llvm.x86.avx512.packuswb.512" : "llvm.x86.avx512.packsswb.512";
  Value bytes =
      intrinsic(b, loc, name, VectorType::get({4 * lanes}, b.getI8Type()), {first, second});
  // Packs go by quarters of a vector: each has four bytes of each of the four.
  auto quads = VectorType::get({lanes}, b.getI32Type());
  bytes = LLVM::BitcastOp::create(b, loc, quads, bytes);
  SmallVector<int64_t> order;
  for (int64_t vector = 0; vector < 4; ++vector)
    for (int64_t quarter = 0; quarter < 4; ++quarter)
      order.push_back(4 * quarter + vector);
  Value sorted = vector::ShuffleOp::create(b, loc, bytes, bytes, order);
  auto half = [&](int64_t from) -> Value {
    return vector::ExtractStridedSliceOp::create(b, loc, sorted, {from}, {lanes / 2}, {1});
  };
  return {half(0), half(lanes / 2)};
}

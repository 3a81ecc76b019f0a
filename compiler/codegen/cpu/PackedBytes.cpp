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

static Value intrinsic(OpBuilder &b, Location loc, StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name), operands)->getResult(0);
}

static Value splat(OpBuilder &b, Location loc, VectorType type, Attribute element) {
  return arith::ConstantOp::create(b, loc, SplatElementsAttr::get(type, element));
}

/// How many lanes a vector has.
static int64_t lanesOf(Value vector) { return cast<VectorType>(vector.getType()).getDimSize(0); }

/// Halves of two vectors of words side by side, quarter by quarter of a vector, saturated.
static Value packedHalves(OpBuilder &b, Location loc, Value first, Value second) {
  int64_t lanes = lanesOf(first);
  StringRef name = lanes == 16  ? "llvm.x86.avx512.packssdw.512"
                   : lanes == 8 ? "llvm.x86.avx2.packssdw"
                                : "llvm.x86.sse2.packssdw.128";
  return intrinsic(b, loc, name, VectorType::get({2 * lanes}, b.getI16Type()), {first, second});
}

/// The same of words of 16 bits as bytes.
static Value packedQuarters(OpBuilder &b, Location loc, Value first, Value second,
                            bool isUnsigned) {
  int64_t halves = lanesOf(first);
  StringRef name =
      halves == 32 ? (isUnsigned ? "llvm.x86.avx512.packuswb.512" : "llvm.x86.avx512.packsswb.512")
      : halves == 16 ? (isUnsigned ? "llvm.x86.avx2.packuswb" : "llvm.x86.avx2.packsswb")
                     : (isUnsigned ? "llvm.x86.sse2.packuswb.128" : "llvm.x86.sse2.packsswb.128");
  return intrinsic(b, loc, name, VectorType::get({2 * halves}, b.getI8Type()), {first, second});
}

Value weir::interleavedFours(OpBuilder &b, Location loc, ArrayRef<Value> four) {
  Value even = vector::InterleaveOp::create(b, loc, four[0], four[2]);
  Value odd = vector::InterleaveOp::create(b, loc, four[1], four[3]);
  return vector::InterleaveOp::create(b, loc, even, odd);
}

/// A vector of words or of bytes as bytes.
static Value asBytes(OpBuilder &b, Location loc, Value value) {
  auto type = cast<VectorType>(value.getType());
  int64_t count = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  return b.createOrFold<LLVM::BitcastOp>(loc, VectorType::get({count}, b.getI8Type()), value);
}

Value weir::addQuads(OpBuilder &b, Location loc, Value sum, Value lefts, Value rights) {
  return intrinsic(b, loc, "llvm.x86.avx512.vpdpbusd." + std::to_string(lanesOf(sum) * 32),
                   sum.getType(), {sum, asBytes(b, loc, lefts), asBytes(b, loc, rights)});
}

Value weir::pairsOfBytes(OpBuilder &b, Location loc, Value lefts, Value rights) {
  lefts = asBytes(b, loc, lefts), rights = asBytes(b, loc, rights);
  int64_t halves = lanesOf(lefts) / 2;
  return intrinsic(b, loc,
                   halves == 32 ? "llvm.x86.avx512.pmaddubs.w.512" : "llvm.x86.avx2.pmadd.ub.sw",
                   VectorType::get({halves}, b.getI16Type()), {lefts, rights});
}

Value weir::pairsOfHalves(OpBuilder &b, Location loc, Value lefts, Value rights) {
  int64_t lanes = lanesOf(lefts) / 2;
  return intrinsic(b, loc, lanes == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd",
                   VectorType::get({lanes}, b.getI32Type()), {lefts, rights});
}

Value weir::nearestWords(OpBuilder &b, Location loc, Value real, bool isInWords) {
  constexpr int64_t widest = 16;
  int64_t lanes = lanesOf(real);
  // The instruction makes the lowest word of all that it cannot hold, which is right for what is
  // too low.
  if (!isInWords) {
    auto floats = VectorType::get({lanes}, b.getF32Type());
    Value most = splat(b, loc, floats, b.getF32FloatAttr(1 << 30));
    Value exceeds = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, most, real);
    real = arith::SelectOp::create(b, loc, exceeds, most, real);
  }
  auto words = VectorType::get({lanes}, b.getI32Type());
  if (lanes < widest)
    return intrinsic(b, loc, "llvm.lrint", words, {real});
  Value none = splat(b, loc, words, b.getI32IntegerAttr(0));
  Value all = arith::ConstantOp::create(b, loc, b.getI16IntegerAttr(-1));
  constexpr int32_t ownRounding = 4; // the thread's, to the nearest
  Value rounding = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(ownRounding));
  return intrinsic(b, loc, "llvm.x86.avx512.mask.cvtps2dq.512", words, {real, none, all, rounding});
}

/// `vector`, of 64 bytes, as one that LLVM knows nothing of: it would make each half of what is
/// sorted by a permutation of its own, of which the processor does one a cycle.
static Value keptWhole(OpBuilder &b, Location loc, Value vector) {
  constexpr StringRef sameRegister = "=v,0";
  return LLVM::InlineAsmOp::create(b, loc, vector.getType(), vector, "", sameRegister,
                                   /*has_side_effects=*/false, /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getRes();
}

Value weir::packedBytes(OpBuilder &b, Location loc, ArrayRef<Value> words, int64_t zero,
                        bool isUnsigned) {
  int64_t lanes = lanesOf(words[0]), quarters = lanes / 4;
  auto halves = VectorType::get({2 * lanes}, b.getI16Type());
  auto half = [&](Value first, Value second) {
    Value packed = packedHalves(b, loc, first, second);
    if (zero == 0)
      return packed;
    Value moved = splat(b, loc, halves, b.getI16IntegerAttr(zero));
    return LLVM::SAddSat::create(b, loc, packed, moved).getResult();
  };
  Value bytes =
      packedQuarters(b, loc, half(words[0], words[1]), half(words[2], words[3]), isUnsigned);
  // Packs go by quarters of a vector: each has four bytes of each of the four.
  auto quads = VectorType::get({lanes}, b.getI32Type());
  bytes = LLVM::BitcastOp::create(b, loc, quads, bytes);
  SmallVector<int64_t> order;
  for (int64_t vector = 0; vector < 4; ++vector)
    for (int64_t quarter = 0; quarter < quarters; ++quarter)
      order.push_back(4 * quarter + vector);
  return vector::ShuffleOp::create(b, loc, bytes, bytes, order);
}

SmallVector<Value> weir::packedRows(OpBuilder &b, Location loc, ArrayRef<Value> words, int64_t rows,
                                    int64_t zero, bool isUnsigned) {
  Value sorted = packedBytes(b, loc, words, zero, isUnsigned);
  if (rows == 1)
    return {sorted};
  sorted = keptWhole(b, loc, sorted);
  int64_t each = lanesOf(sorted) / rows;
  SmallVector<Value> made;
  for (int64_t row = 0; row < rows; ++row)
    made.push_back(
        vector::ExtractStridedSliceOp::create(b, loc, sorted, {row * each}, {each}, {1}));
  return made;
}

//===- UnsignedBytes.cpp - quantised values without a sign ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors multiply bytes without a sign by signed ones (VPDPBUSD, VPMADDUBSW). Rows of
// signed bytes would be moved by 128 at every step of a sum; so values are quantised to
// what is 128 more, with a zero point that is 128 more, which costs nothing.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "passes/layout/ByteOperands.h"
#include <cmath>

using namespace mlir;
using namespace weir;

static constexpr double moved = 128;

/// Of what `toByte` makes signed bytes, where it is rounded, moved by a zero point, perhaps, and
/// clamped, and all readers are casts: what is clamped; else null.
static Value clampedOf(CastOp toByte) {
  if (!getElementTypeOrSelf(toByte.getType()).isSignlessInteger(8) || !toByte.getSaturate() ||
      !llvm::all_of(toByte->getUsers(), llvm::IsaPred<CastOp>))
    return {};
  auto high = toByte.getOperand().getDefiningOp<MinimumOp>();
  auto low = high ? high.getOperand(0).getDefiningOp<MaximumOp>() : MaximumOp();
  if (!low || !getElementTypeOrSelf(low.getType()).isF32() ||
      numberOf(low.getOperand(1)) != -moved || numberOf(high.getOperand(1)) != moved - 1)
    return {};
  Value whole = low.getOperand(0), rounded = whole;
  if (auto shifted = whole.getDefiningOp<AddOp>()) {
    std::optional<double> shift = numberOf(shifted.getOperand(1));
    if (!shift || *shift != std::nearbyint(*shift))
      return {};
    rounded = shifted.getOperand(0);
  }
  return rounded.getDefiningOp<RoundEvenOp>() ? whole : Value();
}

namespace {
/// Makes one quantisation one without a sign.
class Rewriter {
public:
  explicit Rewriter(CastOp toByte) : toByte(toByte), b(toByte) {}

  void rewrite(Value clamped) {
    auto type = cast<RankedTensorType>(toByte.getType());
    Value more;
    if (auto shifted = clamped.getDefiningOp<AddOp>())
      more = add(shifted.getOperand(0), *numberOf(shifted.getOperand(1)) + moved);
    else
      more = add(clamped, moved);
    Value low = made(MaximumOp::create(b, toByte.getLoc(), more, number(0.0f)));
    Value high = made(MinimumOp::create(b, toByte.getLoc(), low, number(2 * moved - 1.0f)));
    Type byte = IntegerType::get(b.getContext(), 8, IntegerType::Unsigned);
    Value bytes =
        made(CastOp::create(b, toByte.getLoc(), type.clone(byte), high, b.getBoolAttr(true)));
    for (Operation *user : llvm::make_early_inc_range(toByte->getUsers()))
      readUnsigned(cast<CastOp>(user), bytes);
    eraseDead(toByte.getResult());
  }

private:
  Value made(Value value) {
    copyDevice(toByte, value);
    return value;
  }
  Value number(float value) {
    auto type = RankedTensorType::get({}, b.getF32Type());
    return made(ConstantOp::create(b, toByte.getLoc(), DenseElementsAttr::get(type, value)));
  }
  Value add(Value value, double amount) {
    return made(AddOp::create(b, toByte.getLoc(), value, number(static_cast<float>(amount))));
  }

  /// `words` less what `zero` (null: nothing) and 128 are together.
  Value less(Value words, Value zero) {
    auto type =
        zero ? cast<RankedTensorType>(zero.getType()) : RankedTensorType::get({}, b.getI32Type());
    // Words go round, and so does what they are less.
    int64_t all = static_cast<int64_t>((zero ? *numberOf(zero) : 0) + moved);
    int32_t amount = static_cast<int32_t>(static_cast<uint32_t>(all));
    Value taken =
        made(ConstantOp::create(b, toByte.getLoc(), DenseElementsAttr::get(type, amount)));
    return made(SubOp::create(b, toByte.getLoc(), words, taken));
  }

  /// Makes what `reader` makes of the signed bytes of `bytes`.
  void readUnsigned(CastOp reader, Value bytes) {
    b.setInsertionPoint(reader);
    auto type = cast<RankedTensorType>(reader.getType());
    Value words = made(
        CastOp::create(b, reader.getLoc(), type.clone(b.getI32Type()), bytes, b.getBoolAttr(true)));
    if (!type.getElementType().isSignlessInteger(32)) {
      reader->setOperand(0, less(words, Value()));
      return;
    }
    for (Operation *user : llvm::make_early_inc_range(reader->getUsers())) {
      auto sub = dyn_cast<SubOp>(user);
      if (!sub || sub.getOperand(0) != reader.getResult() || sub.getType() != reader.getType() ||
          !numberOf(sub.getOperand(1)))
        continue;
      b.setInsertionPoint(sub);
      sub.replaceAllUsesWith(less(words, sub.getOperand(1)));
      sub.erase();
    }
    if (!reader->use_empty()) {
      b.setInsertionPointAfter(words.getDefiningOp());
      reader.replaceAllUsesWith(less(words, Value()));
    }
    reader.erase();
  }

  CastOp toByte;
  OpBuilder b;
};
} // namespace

void weir::makeBytesUnsigned(ModuleOp module, ArrayRef<Operation *> products) {
  llvm::DenseSet<Value> multiplied, kept;
  for (Operation *op : products) {
    std::optional<ByteShape> shape = byteShapeOf(op, /*inBlocks=*/false);
    ByteOperand left = shape ? leftByteOperand(op) : ByteOperand();
    ByteOperand right = left ? rightByteOperand(op) : ByteOperand();
    if (!right)
      continue;
    bool isComputed = !constantOf(right.byte);
    (shape->isDepthwise || isComputed ? kept : multiplied).insert(left.byte);
    if (isComputed)
      kept.insert(right.byte);
  }
  SmallVector<std::pair<CastOp, Value>> found;
  bool any = false;
  module.walk([&](CastOp toByte) {
    Value clamped = kept.contains(toByte) ? Value() : clampedOf(toByte);
    if (!clamped)
      return;
    any |= multiplied.contains(toByte);
    found.push_back({toByte, clamped});
  });
  // What a pool reads and what it makes, say, stay alike.
  if (any)
    for (auto [toByte, clamped] : found)
      Rewriter(toByte).rewrite(clamped);
}

//===- RecognizeBatchNorm.cpp - normalisation that is written out ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph that infers may hold batch normalisation as arithmetic, as Keras writes it:
// x * m + (offset - mean * m), where m = scale * rsqrt(variance + epsilon).
//
//===----------------------------------------------------------------------===//

#include "passes/gradient/Gradient.h"
#include "passes/training/Training.h"

using namespace mlir;
using namespace weir;
using namespace weir::training;

namespace {

/// Keras's default: such a graph does not say how fast its statistics move.
constexpr double usualMomentum = 0.99;

/// What a loop that only brings a gradient along carries.
Value through(Value v) {
  while (auto loop = v ? v.getDefiningOp<WhileOp>() : WhileOp()) {
    if (!loop->hasAttr(givenGradientAttr))
      break;
    v = loop.getInits()[cast<OpResult>(v).getResultNumber()];
  }
  return v;
}

template <typename OpT> OpT definedBy(Value v) {
  v = through(v);
  return v ? v.getDefiningOp<OpT>() : OpT();
}

std::optional<double> splatOf(Value v) {
  auto constant = definedBy<ConstantOp>(v);
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

struct Found {
  Value x, factor, offset, scale, mean, variance;
  double epsilon = 0;
};

class Matcher {
public:
  explicit Matcher(const std::vector<Weight> &weights) {
    for (const Weight &weight : weights)
      known.insert(weight.value);
  }

  std::optional<Found> match(AddOp op) {
    for (auto [product, shift] :
         {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      Found found;
      if (matchShift(shift, found) && matchProduct(product, found) && matchFactor(found))
        return found;
    }
    return std::nullopt;
  }

private:
  bool isVector(Value v) const { return known.contains(v) && Adjoint::rank(v) == 1; }
  /// offset - mean * factor
  bool matchShift(Value v, Found &found) {
    auto difference = definedBy<SubOp>(v);
    auto moved = difference ? definedBy<MulOp>(difference.getRhs()) : MulOp();
    if (!moved)
      return false;
    found.offset = through(difference.getLhs());
    for (auto [mean, factor] :
         {std::pair(moved.getLhs(), moved.getRhs()), std::pair(moved.getRhs(), moved.getLhs())})
      if (isVector(through(mean)) && !found.mean) {
        found.mean = through(mean);
        found.factor = through(factor);
      }
    return found.mean != nullptr;
  }
  /// x * factor
  bool matchProduct(Value v, Found &found) {
    auto product = definedBy<MulOp>(v);
    if (!product)
      return false;
    found.x = through(product.getRhs()) == found.factor   ? product.getLhs()
              : through(product.getLhs()) == found.factor ? product.getRhs()
                                                          : Value();
    if (!found.x)
      return false;
    auto x = Adjoint::type(found.x), mean = Adjoint::type(found.mean);
    return x.getRank() > 1 && x.getShape().back() == mean.getDimSize(0) &&
           x.getElementType() == mean.getElementType();
  }
  /// rsqrt(variance + epsilon), or that times scale
  bool matchFactor(Found &found) {
    auto root = definedBy<RsqrtOp>(found.factor);
    if (auto product = definedBy<MulOp>(found.factor)) {
      for (auto [one, other] : {std::pair(product.getLhs(), product.getRhs()),
                                std::pair(product.getRhs(), product.getLhs())})
        if (auto inverse = definedBy<RsqrtOp>(one); inverse && !root) {
          root = inverse;
          found.scale = through(other);
        }
    }
    auto sum = root ? definedBy<AddOp>(root.getOperand()) : AddOp();
    std::optional<double> epsilon = sum ? splatOf(sum.getRhs()) : std::nullopt;
    if (!epsilon || !isVector(through(sum.getLhs())))
      return false;
    found.variance = through(sum.getLhs());
    found.epsilon = *epsilon;
    return true;
  }

  llvm::DenseSet<Value> known;
};

} // namespace

void training::recognizeBatchNorm(func::FuncOp function) {
  Matcher matcher(findWeights(function));
  SmallVector<std::pair<AddOp, Found>> all;
  function.walk([&](AddOp op) {
    if (auto found = matcher.match(op))
      all.emplace_back(op, *found);
  });
  for (auto &[op, found] : all) {
    OpBuilder b(op);
    Adjoint a(b, op.getLoc());
    if (!found.scale)
      found.scale = a.op<BroadcastToOp>(a.number(found.mean, 1), a.shapeOf(found.mean));
    auto made = BatchNormOp::create(
        b, op.getLoc(), op.getType(), found.x, found.scale, found.offset, found.mean,
        found.variance, Adjoint::rank(found.x) - 1, b.getF64FloatAttr(found.epsilon).getValue());
    made->setAttr(momentumAttr, b.getF64FloatAttr(usualMomentum));
    op.replaceAllUsesWith(made.getResult());
    op.erase();
  }
}

//===- TrainingForm.cpp - what computes otherwise while it trains ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dropout's numbers come from a generator that is a function of a counter: "squares"
// (Widynski, "Squares: A Fast Counter-Based RNG", 2020), with the step in the upper and
// the element's place in the lower half of the counter, and a key for each mark. So
// there is no state to save, and the order in which elements are drawn does not matter.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "passes/training/Training.h"

using namespace mlir;
using namespace weir;
using namespace weir::training;

//===----------------------------------------------------------------------===//
// Batch normalisation
//===----------------------------------------------------------------------===//

namespace {

struct Statistics {
  Value mean, variance; ///< of the batch, in f32 or wider
  Value unbiased;
};

Statistics statisticsOf(Value x, int64_t channel, bool wantsUnbiased, Adjoint &a) {
  Type element = Adjoint::type(x).getElementType();
  Type wide = element.getIntOrFloatBitWidth() < 32 ? a.b.getF32Type() : element;
  IntVector axes;
  for (int64_t i = 0; i < Adjoint::rank(x); ++i)
    if (i != channel)
      axes.push_back(i);
  x = a.cast(x, wide);
  Value mean = a.reduce(x, ReduceKind::Mean, axes, true);
  Value variance = a.reduce(a.square(a.minus(x, mean)), ReduceKind::Mean, axes, true);
  auto vector = [&](Value v) { return a.reshape(v, a.sizes(x, channel, channel + 1)); };
  Statistics made{vector(mean), vector(variance), {}};
  made.unbiased = made.variance;
  if (wantsUnbiased) {
    Value count = a.count(x, axes, x);
    Value less = a.op<MaximumOp>(a.minus(count, a.number(count, 1)), a.number(count, 1));
    made.unbiased = a.times(made.variance, a.over(count, less));
  }
  return made;
}

} // namespace

Moved training::normalizeByBatch(func::FuncOp function, const std::vector<Weight> &weights,
                                 llvm::function_ref<bool(const Weight &)> trains) {
  Moved moved;
  auto weightOf = [&](Value v) -> const Weight * {
    auto found = llvm::find_if(weights, [&](const Weight &weight) { return weight.value == v; });
    return found == weights.end() ? nullptr : &*found;
  };
  SmallVector<BatchNormOp> all;
  function.walk([&](BatchNormOp op) {
    if (!op->hasAttr(momentumAttr))
      return;
    // What a region computes cannot leave it.
    if (op->getBlock() == &function.front())
      all.push_back(op);
    else
      op.emitWarning("W0416: found batch normalisation in a loop or a branch; there it uses its "
                     "running statistics in training, too, and they stay as they are");
  });
  for (BatchNormOp op : all) {
    const Weight *mean = weightOf(op.getMean()), *variance = weightOf(op.getVariance());
    if (!mean || !variance)
      continue;
    // One that is left as it is, with all of its weights, normalises as it did.
    const Weight *scale = weightOf(op.getScale()), *bias = weightOf(op.getBias());
    if ((scale || bias) && !(scale && trains(*scale)) && !(bias && trains(*bias)))
      continue;
    OpBuilder b(op);
    Adjoint a(b, op.getLoc());
    double kept = op->getAttrOfType<FloatAttr>(momentumAttr).getValueAsDouble();
    Statistics batch = statisticsOf(op.getOperand(), op.getAxis(), op->hasAttr(unbiasedAttr), a);
    auto move = [&](const Weight *weight, Value now) {
      Value old = a.cast(weight->value, Adjoint::type(now).getElementType());
      Value made = a.plus(a.times(old, kept), a.times(now, 1 - kept));
      moved.emplace_back(weight->name, a.cast(made, weight->type.getElementType()));
    };
    move(mean, batch.mean);
    move(variance, batch.unbiased);
    Type element = Adjoint::type(op.getMean()).getElementType();
    op.getMeanMutable().assign(a.cast(batch.mean, element));
    op.getVarianceMutable().assign(a.cast(batch.variance, element));
    op->setAttr(batchStatisticsAttr, b.getUnitAttr());
  }
  return moved;
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

namespace {

/// A key as the generator wants it, odd and of many different digits: a step of
/// SplitMix64 for each mark (Steele, Lea and Flood, 2014).
int64_t keyOf(int64_t seed, uint64_t mark) {
  uint64_t z = static_cast<uint64_t>(seed) + (mark + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<int64_t>((z ^ (z >> 31)) | 1);
}

struct Squares {
  Adjoint &a;

  Value word(uint64_t value) {
    return ConstantOp::create(a.b, a.loc,
                              DenseElementsAttr::get(RankedTensorType::get({}, a.b.getI64Type()),
                                                     static_cast<int64_t>(value)));
  }
  Value upper(Value v) { return a.op<AndOp>(a.op<ShrOp>(v, word(32)), word(0xffffffff)); }
  Value turned(Value v) { return a.op<OrOp>(upper(v), a.op<ShlOp>(v, word(32))); }

  /// 32 bits for each counter, in the low half of an i64.
  Value draw(Value counter, int64_t key) {
    Value x = a.times(counter, word(key)), y = x, z = a.plus(y, word(key));
    x = turned(a.plus(a.times(x, x), y));
    x = turned(a.plus(a.times(x, x), z));
    x = turned(a.plus(a.times(x, x), y));
    return upper(a.plus(a.times(x, x), z));
  }
};

} // namespace

/// The number of the first element of `count` in the whole batch, of which each part has as many.
static Value firstElement(Value count, const TrainingSpec &spec, Adjoint &a) {
  auto indexOf = [&](StringRef mark) -> Value {
    Value zero = a.number(count, 0);
    auto gate = GateOp::create(a.b, a.loc, zero.getType(), zero, ValueRange());
    gate->setAttr(mark, a.b.getUnitAttr());
    return gate;
  };
  Value part;
  if (spec.replicas > 1)
    part = indexOf(replicaIndexAttr);
  if (spec.microBatches > 1) {
    Value micro = indexOf(microIndexAttr);
    part = part ? a.plus(a.times(part, double(spec.microBatches)), micro) : micro;
  }
  return a.times(part, a.reshape(count, a.ints({})));
}

void training::dropElements(func::FuncOp function, Value step, const TrainingSpec &spec) {
  SmallVector<GateOp> marks;
  function.walk([&](GateOp gate) {
    if (gate->hasAttr(dropoutAttr))
      marks.push_back(gate);
  });
  for (auto [number, gate] : llvm::enumerate(marks)) {
    double ratio = gate->getAttrOfType<FloatAttr>(dropoutAttr).getValueAsDouble();
    OpBuilder b(gate);
    Adjoint a(b, gate.getLoc());
    Squares squares{a};
    Value x = gate.getValue();
    IntVector all;
    for (int64_t i = 0; i < Adjoint::rank(x); ++i)
      all.push_back(i);
    Value count = a.reduce(a.shapeOf(x), ReduceKind::Prod, {0}, true);
    Value place = a.reshapeLike(a.op<IotaOp>(count, 0, b.getI64Type()), x);
    if (spec.parts() > 1)
      place = a.plus(place, firstElement(count, spec, a));
    Value counter = a.plus(a.op<ShlOp>(step, squares.word(32)), place);
    Value number32 = squares.draw(counter, keyOf(spec.seed, number));
    // Of 2^32 numbers, the share that is kept.
    Value isKept =
        a.compare("ge", number32, squares.word(static_cast<uint64_t>(ratio * 4294967296.0 + 0.5)));
    Value kept = ratio < 1 ? a.times(x, 1 / (1 - ratio)) : x;
    gate.getResult().replaceAllUsesWith(a.where(isKept, kept));
    gate.erase();
  }
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

void training::narrowProducts(func::FuncOp function, const TrainingSpec &spec) {
  if (spec.precision.empty())
    return;
  SmallVector<Operation *> products;
  function.walk([&](Operation *op) {
    if (!isa<DotGeneralOp, ConvOp>(op) ||
        !llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return getElementTypeOrSelf(type).isF32(); }) ||
        !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
      return;
    llvm::SetVector<StringRef> names;
    collectNodeNames(op->getLoc(), names);
    if (llvm::none_of(spec.kept, [&](const std::string &kept) { return names.contains(kept); }))
      products.push_back(op);
  });
  for (Operation *op : products) {
    OpBuilder b(op);
    Adjoint a(b, op->getLoc());
    Type narrow = spec.precision == "f16" ? Type(b.getF16Type()) : Type(b.getBF16Type());
    for (OpOperand &operand : op->getOpOperands())
      operand.set(a.cast(operand.get(), narrow));
    Value result = op->getResult(0);
    Type wide = Adjoint::type(result).getElementType();
    result.setType(Adjoint::type(result).clone(narrow));
    if (auto dot = dyn_cast<DotGeneralOp>(op))
      dot.setAccumulator(narrow);
    else
      cast<ConvOp>(op).setAccumulator(narrow);
    b.setInsertionPointAfter(op);
    Value widened = a.cast(result, wide);
    result.replaceAllUsesExcept(widened, widened.getDefiningOp());
  }
}

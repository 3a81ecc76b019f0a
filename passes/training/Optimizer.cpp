//===- Optimizer.cpp - how weights follow their gradients -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are PyTorch's, so that curves can be laid over each other; LAMB is as in
// You et al., "Large Batch Optimization for Deep Learning", 2020, algorithm 2. Numbers
// that are the same for all weights (rates, corrections of bias) are computed in f64.
//
//===----------------------------------------------------------------------===//

#include "passes/training/Training.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::training;

namespace {

IntVector allAxes(Value v) {
  IntVector axes(Adjoint::rank(v));
  for (size_t i = 0; i < axes.size(); ++i)
    axes[i] = i;
  return axes;
}

Type elementOf(Value v) { return Adjoint::type(v).getElementType(); }

/// Weights of half precision are updated in f32.
Type computeType(const Weight &weight, Builder &b) {
  Type element = weight.type.getElementType();
  return element.getIntOrFloatBitWidth() < 32 ? Type(b.getF32Type()) : element;
}

class Optimizer {
public:
  Optimizer(const TrainingSpec &spec, const StepState &state, Adjoint &a)
      : spec(spec), state(state), a(a) {}

  void run(ArrayRef<Trained> trained);

private:
  Value dot(Value v) { return a.reduce(a.square(v), ReduceKind::Sum, allAxes(v), false); }
  /// A number for all weights, in the type that `like` has.
  Value as(Value number, Value like) { return a.cast(number, elementOf(like)); }
  State slot(const Weight &weight, StringRef name, Type element, double initial = 0) {
    return variable(a.b, a.loc, ("optimizer/" + weight.name + "/" + name).str(),
                    RankedTensorType::get(weight.type.getShape(), element), initial);
  }
  /// Assigns where the step is one.
  void commit(const State &to, Value value) {
    value = a.cast(value, elementOf(to.value));
    assign(a, to, apply ? a.op<SelectOp>(apply, value, to.value) : value);
  }
  void takeScaleOut(SmallVector<Value> &gradients);
  void accumulate(ArrayRef<Trained> trained, SmallVector<Value> &gradients);
  void clip(SmallVector<Value> &gradients);
  Value momentumStep(const Weight &weight, Value w, Value g);
  Value adamStep(const Weight &weight, Value w, Value g);
  Value adagradStep(const Weight &weight, Value w, Value g);
  Value updated(const Weight &weight, Value w, Value g);

  const TrainingSpec &spec;
  const StepState &state;
  Adjoint &a;
  Value rate;                     ///< f64
  Value count;                    ///< of this step, from 1, f64
  Value correction1, correction2; ///< 1 - beta^count, f64
  Value isFinite;                 ///< whether all gradients are; null: nobody asks
  Value apply;                    ///< whether weights change; null: always
};

} // namespace

/// Gradients of a loss that was multiplied; the multiplier halves where one of them has
/// left f16's range, and doubles after many steps without.
void Optimizer::takeScaleOut(SmallVector<Value> &gradients) {
  constexpr int64_t growthInterval = 2000;
  if (!state.lossScale.value)
    return;
  for (Value &gradient : gradients) {
    gradient = a.over(gradient, as(state.lossScale.value, gradient));
    Value good = a.reduce(a.op<IsFiniteOp>(gradient), ReduceKind::All, allAxes(gradient), false);
    isFinite = isFinite ? a.op<AndOp>(isFinite, good) : good;
  }
  State steps = variable(a.b, a.loc, "optimizer/steps_at_loss_scale",
                         RankedTensorType::get({}, a.b.getI64Type()), 0);
  Value next = a.plus(steps.value, a.number(steps.value, 1));
  Value grows = a.compare("ge", next, a.number(next, growthInterval));
  Value scale = state.lossScale.value;
  Value kept = a.op<SelectOp>(grows, a.times(scale, 2), scale);
  Value halved = a.op<MaximumOp>(a.times(scale, 0.5), a.number(scale, 1));
  assign(a, state.lossScale, a.op<SelectOp>(isFinite, kept, halved));
  assign(a, steps, a.where(a.op<AndOp>(isFinite, a.op<NotOp>(grows)), next));
  apply = isFinite;
}

/// The mean over micro-batches, of which the last one makes the step.
void Optimizer::accumulate(ArrayRef<Trained> trained, SmallVector<Value> &gradients) {
  if (!state.micro.value)
    return;
  Value next = a.plus(state.micro.value, a.number(state.micro.value, 1));
  Value isLast = a.compare("ge", next, a.number(next, spec.accumulate));
  for (auto [one, gradient] : llvm::zip(trained, gradients)) {
    State sum = slot(*one.weight, "gradient", elementOf(gradient));
    // One that is not finite would stay in the sum.
    Value part = isFinite ? a.where(isFinite, gradient) : gradient;
    gradient = a.plus(sum.value, a.over(part, a.number(part, spec.accumulate)));
    assign(a, sum, a.unless(isLast, gradient));
  }
  assign(a, state.micro, a.unless(isLast, next));
  apply = isLast;
}

void Optimizer::clip(SmallVector<Value> &gradients) {
  if (spec.clipValue > 0)
    for (Value &gradient : gradients)
      gradient = a.op<MaximumOp>(a.op<MinimumOp>(gradient, a.number(gradient, spec.clipValue)),
                                 a.number(gradient, -spec.clipValue));
  if (spec.clipNorm <= 0)
    return;
  Value sum;
  for (Value gradient : gradients) {
    Value part = a.cast(dot(gradient), a.b.getF64Type());
    sum = sum ? a.plus(sum, part) : part;
  }
  Value norm = a.op<SqrtOp>(sum);
  Value ratio = a.over(a.number(norm, spec.clipNorm), a.plus(norm, 1e-6));
  ratio = a.op<MinimumOp>(ratio, a.number(ratio, 1));
  for (Value &gradient : gradients)
    gradient = a.times(gradient, as(ratio, gradient));
}

Value Optimizer::momentumStep(const Weight &weight, Value w, Value g) {
  State buffer = slot(weight, "momentum", elementOf(g));
  Value moved = a.plus(a.times(buffer.value, spec.momentum), g);
  commit(buffer, moved);
  Value by = spec.nesterov ? a.plus(g, a.times(moved, spec.momentum)) : moved;
  return a.minus(w, a.times(by, as(rate, w)));
}

Value Optimizer::adamStep(const Weight &weight, Value w, Value g) {
  State first = slot(weight, "m", elementOf(g)), second = slot(weight, "v", elementOf(g));
  Value m = a.plus(first.value, a.times(a.minus(g, first.value), 1 - spec.beta1));
  Value v = a.plus(a.times(second.value, spec.beta2), a.times(a.square(g), 1 - spec.beta2));
  commit(first, m);
  commit(second, v);
  Value root = a.over(a.op<SqrtOp>(v), as(a.op<SqrtOp>(correction2), v));
  Value divisor = a.plus(root, spec.epsilon);
  if (spec.optimizer != "lamb")
    return a.minus(w, a.times(a.over(m, divisor), as(a.over(rate, correction1), w)));
  Value by = a.plus(a.over(a.over(m, as(correction1, m)), divisor), a.times(w, spec.weightDecay));
  Value own = a.op<SqrtOp>(dot(w)), theirs = a.op<SqrtOp>(dot(by));
  Value arePositive = a.op<AndOp>(a.compare("gt", own, a.number(own, 0)),
                                  a.compare("gt", theirs, a.number(theirs, 0)));
  Value trust = a.op<SelectOp>(arePositive, a.over(own, theirs), a.number(own, 1));
  return a.minus(w, a.times(by, a.times(trust, as(rate, w))));
}

Value Optimizer::adagradStep(const Weight &weight, Value w, Value g) {
  State sum = slot(weight, "accumulator", elementOf(g), spec.initial);
  Value total = a.plus(sum.value, a.square(g));
  commit(sum, total);
  Value divisor = a.plus(a.op<SqrtOp>(total), spec.epsilon);
  return a.minus(w, a.times(a.over(g, divisor), as(rate, w)));
}

Value Optimizer::updated(const Weight &weight, Value w, Value g) {
  bool isDecoupled = spec.optimizer == "adamw" || spec.optimizer == "lamb";
  if (spec.weightDecay != 0 && !isDecoupled)
    g = a.plus(g, a.times(w, spec.weightDecay));
  if (spec.optimizer == "adamw") {
    Value left = a.minus(a.number(rate, 1), a.times(rate, spec.weightDecay));
    w = a.times(w, as(left, w));
  }
  if (spec.optimizer == "momentum")
    return momentumStep(weight, w, g);
  if (spec.optimizer == "adagrad")
    return adagradStep(weight, w, g);
  if (spec.optimizer == "sgd")
    return a.minus(w, a.times(g, as(rate, w)));
  return adamStep(weight, w, g);
}

void Optimizer::run(ArrayRef<Trained> trained) {
  SmallVector<Value> gradients;
  for (const Trained &one : trained)
    gradients.push_back(a.cast(one.gradient, computeType(*one.weight, a.b)));
  takeScaleOut(gradients);
  accumulate(trained, gradients);
  clip(gradients);
  rate = learningRate(spec, state.step.value, state.fedRate, a);
  Value next = a.plus(state.step.value, a.number(state.step.value, 1));
  count = a.cast(next, a.b.getF64Type());
  auto correction = [&](double beta) {
    Value left = a.op<PowOp>(a.number(count, beta), count);
    return a.minus(a.number(count, 1), left);
  };
  correction1 = correction(spec.beta1);
  correction2 = correction(spec.beta2);
  for (auto [one, gradient] : llvm::zip(trained, gradients)) {
    const Weight &weight = *one.weight;
    a.loc = weight.value.getLoc();
    Value resource = weight.value.getDefiningOp<VariableReadOp>().getResource();
    commit({resource, weight.value},
           updated(weight, a.cast(weight.value, elementOf(gradient)), gradient));
  }
  commit(state.step, next);
}

Value training::learningRate(const TrainingSpec &spec, Value step, Value fedRate, Adjoint &a) {
  Type wide = a.b.getF64Type();
  Value base = fedRate ? a.cast(fedRate, wide) : scalar(a, wide, spec.rate);
  Value now = a.cast(step, wide), rate = base;
  double warmup = static_cast<double>(spec.warmup), steps = static_cast<double>(spec.steps);
  Value past = a.op<MaximumOp>(a.plus(now, -warmup), a.number(now, 0));
  if (spec.schedule == "step") {
    Value cuts = a.op<FloorOp>(a.over(past, a.number(past, steps)));
    rate = a.times(base, a.op<PowOp>(a.number(cuts, spec.factor), cuts));
  } else if (spec.schedule != "constant") {
    Value part = a.over(past, a.number(past, std::max(steps - warmup, 1.0)));
    part = a.op<MinimumOp>(part, a.number(part, 1));
    // How much of the way down is left.
    Value left = spec.schedule == "linear"
                     ? a.minus(a.number(part, 1), part)
                     : a.times(a.plus(a.op<CosOp>(a.times(part, M_PI)), 1), 0.5);
    rate = a.times(base, a.plus(a.times(left, 1 - spec.factor), spec.factor));
  }
  if (spec.warmup == 0)
    return rate;
  Value rising = a.times(base, a.over(a.plus(now, 1), a.number(now, warmup)));
  return a.op<SelectOp>(a.compare("lt", now, a.number(now, warmup)), rising, rate);
}

void training::applyOptimizer(const TrainingSpec &spec, ArrayRef<Trained> trained,
                              const StepState &state, Adjoint &a) {
  Optimizer(spec, state, a).run(trained);
}

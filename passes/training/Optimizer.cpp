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

#include "passes/training/RowGradient.h"
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
  /// A weight on its way: of one that replicas share each has a part.
  struct Own {
    const Weight &weight;
    int64_t axis; ///< along which it is divided, -1: each replica updates all of it
    Value gradient;
    std::optional<RowGradient> rows = {}; ///< whose `gradient` is; none: it is the whole weight's
    Value after = {}; ///< a token: when the step may read it, and the optimizer's; null: at once
  };
  /// A variable of the optimizer's, and what a step reads of it.
  struct Slot {
    State state;
    Value value;
  };

  Value dot(Value v) { return a.reduce(a.square(v), ReduceKind::Sum, allAxes(v), false); }
  /// The same of the whole weight of which `v` is the own part.
  Value wholeDot(const Own &own, Value v) {
    return own.axis < 0 ? dot(v) : sumOverReplicas(dot(v), spec.replicas, a);
  }
  int64_t axisOf(const Weight &weight) const;
  RankedTensorType typeOf(const Own &own, Type element) const;
  Value ownPart(const Own &own, Value whole);
  Value gathered(const Own &own, Value part);
  /// A number for all weights, in the type that `like` has.
  Value as(Value number, Value like) { return a.cast(number, elementOf(like)); }
  /// The rows of the own part that have a gradient.
  Value touched(const Own &own, Value part) {
    if (own.after)
      part = GateOp::create(a.b, a.loc, part.getType(), part, own.after);
    return own.rows ? rowsOf(*own.rows, part, a) : part;
  }
  Slot slot(const Own &own, StringRef name, Type element, double initial = 0) {
    State made = variable(a.b, a.loc, ("optimizer/" + own.weight.name + "/" + name).str(),
                          typeOf(own, element), initial);
    if (own.axis >= 0)
      made.resource.getDefiningOp()->setAttr(shardAttr, a.b.getI64IntegerAttr(own.axis));
    return {made, touched(own, made.value)};
  }
  /// What becomes of a variable, or of what was touched of it.
  struct Change {
    State state;
    Value value;
  };
  /// `value` where the step is one, else `before`.
  Value next(Value value, Value before) {
    value = a.cast(value, elementOf(before));
    return apply ? a.op<SelectOp>(apply, value, before) : value;
  }
  /// `value` in the place of what was touched of `part`.
  Value replaced(const Own &own, Value part, Value value) {
    return own.rows ? withRows(*own.rows, part, value, a) : value;
  }
  /// What is assigned to the variable, of what was touched of it: what is computed of that is
  /// dropped where the step is none.
  Value commit(const Slot &to, Value value) {
    changes.push_back({to.state, next(value, to.value)});
    return changes.back().value;
  }
  bool mayGoByRows() const;
  bool leavesZeros() const;
  void takeScaleOut(MutableArrayRef<Own> all);
  void accumulate(MutableArrayRef<Own> all);
  void clip(MutableArrayRef<Own> all);
  Value momentumStep(const Own &own, Value w);
  Value adamStep(const Own &own, Value w);
  Value adagradStep(const Own &own, Value w);
  Value updated(Own own, Value w);
  void change(const Own &own);
  void update(const Own &own);

  const TrainingSpec &spec;
  const StepState &state;
  Adjoint &a;
  Value rate;                     ///< f64
  Value count;                    ///< of this step, from 1, f64
  Value correction1, correction2; ///< 1 - beta^count, f64
  Value isFinite;                 ///< whether all gradients are; null: nobody asks
  Value apply;                    ///< whether weights change; null: always
  SmallVector<Change> changes;    ///< of one weight and the optimizer's variables of it
};

} // namespace

//===----------------------------------------------------------------------===//
// Parts of weights
//===----------------------------------------------------------------------===//

/// The first dimension that can be divided among replicas; -1: there is none, or nobody asked.
int64_t Optimizer::axisOf(const Weight &weight) const {
  if (spec.shardsOptimizer && spec.replicas > 1)
    for (auto [axis, size] : llvm::enumerate(weight.type.getShape()))
      if (size > 0 && size % spec.replicas == 0)
        return int64_t(axis);
  return -1;
}

RankedTensorType Optimizer::typeOf(const Own &own, Type element) const {
  SmallVector<int64_t> shape(own.weight.type.getShape());
  if (own.axis >= 0)
    shape[size_t(own.axis)] /= spec.replicas;
  return RankedTensorType::get(shape, element);
}

/// The part of a weight, or of its gradient, that this replica updates.
Value Optimizer::ownPart(const Own &own, Value whole) {
  if (own.axis < 0)
    return whole;
  RankedTensorType type = typeOf(own, elementOf(whole));
  int64_t size = type.getDimSize(unsigned(own.axis));
  Value zero = a.ints({0});
  auto replica = GateOp::create(a.b, a.loc, zero.getType(), zero, ValueRange());
  replica->setAttr(replicaIndexAttr, a.b.getUnitAttr());
  Value begin = a.times(replica, a.ints({size})), end = a.plus(begin, a.ints({size}));
  return SliceOp::create(a.b, a.loc, type, whole, begin, end, a.ints({1}),
                         a.b.getDenseI64ArrayAttr({own.axis}), a.b.getBoolAttr(false));
}

/// What all replicas have of a weight, one part behind the other.
Value Optimizer::gathered(const Own &own, Value part) {
  if (own.axis < 0)
    return part;
  SmallVector<Value> parts;
  for (int64_t replica = 0; replica < spec.replicas; ++replica) {
    auto gate = GateOp::create(a.b, a.loc, part.getType(), part, ValueRange());
    gate->setAttr(replicaPartAttr, a.b.getI64IntegerAttr(replica));
    parts.push_back(gate);
  }
  return a.concat(parts, own.axis);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Gradients of a loss that was multiplied; the multiplier halves where one of them has
/// left f16's range, and doubles after many steps without.
void Optimizer::takeScaleOut(MutableArrayRef<Own> all) {
  constexpr int64_t growthInterval = 2000;
  if (!state.lossScale.value)
    return;
  Value isPartFinite; // of parts, which other replicas do not see
  for (Own &own : all) {
    Named named(own.weight, a);
    Value gradient = own.gradient = a.over(own.gradient, as(state.lossScale.value, own.gradient));
    Value good = a.reduce(a.op<IsFiniteOp>(gradient), ReduceKind::All, allAxes(gradient), false);
    Value &so = own.axis < 0 ? isFinite : isPartFinite;
    so = so ? a.op<AndOp>(so, good) : good;
  }
  if (isPartFinite) {
    Value bad = a.cast(a.op<NotOp>(isPartFinite), a.b.getF32Type());
    bad = sumOverReplicas(bad, spec.replicas, a);
    Value good = a.compare("eq", bad, a.number(bad, 0));
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
void Optimizer::accumulate(MutableArrayRef<Own> all) {
  if (!state.micro.value)
    return;
  Value next = a.plus(state.micro.value, a.number(state.micro.value, 1));
  Value isLast = a.compare("ge", next, a.number(next, spec.accumulate));
  for (Own &own : all) {
    Named named(own.weight, a);
    Slot sum = slot(own, "gradient", elementOf(own.gradient));
    // One that is not finite would stay in the sum.
    Value part = isFinite ? a.where(isFinite, own.gradient) : own.gradient;
    own.gradient = a.plus(sum.value, a.over(part, a.number(part, spec.accumulate)));
    assign(a, sum.state, a.unless(isLast, own.gradient));
  }
  assign(a, state.micro, a.unless(isLast, next));
  apply = isLast;
}

void Optimizer::clip(MutableArrayRef<Own> all) {
  if (spec.clipValue > 0)
    for (Own &own : all) {
      Named named(own.weight, a);
      own.gradient =
          a.op<MaximumOp>(a.op<MinimumOp>(own.gradient, a.number(own.gradient, spec.clipValue)),
                          a.number(own.gradient, -spec.clipValue));
    }
  if (spec.clipNorm <= 0)
    return;
  Value sum, ofParts;
  for (const Own &own : all) {
    Value square;
    {
      Named named(own.weight, a);
      square = a.cast(dot(own.gradient), a.b.getF64Type());
    }
    Value &to = own.axis < 0 ? sum : ofParts;
    to = to ? a.plus(to, square) : square;
  }
  if (ofParts) {
    ofParts = sumOverReplicas(ofParts, spec.replicas, a);
    sum = sum ? a.plus(sum, ofParts) : ofParts;
  }
  Value norm = a.op<SqrtOp>(sum);
  Value ratio = a.over(a.number(norm, spec.clipNorm), a.plus(norm, 1e-6));
  ratio = a.op<MinimumOp>(ratio, a.number(ratio, 1));
  for (Own &own : all) {
    Named named(own.weight, a);
    own.gradient = a.times(own.gradient, as(ratio, own.gradient));
  }
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

Value Optimizer::momentumStep(const Own &own, Value w) {
  Value g = own.gradient;
  Slot buffer = slot(own, "momentum", elementOf(g));
  Value moved = commit(buffer, a.plus(a.times(buffer.value, spec.momentum), g));
  Value by = spec.nesterov ? a.plus(g, a.times(moved, spec.momentum)) : moved;
  return a.minus(w, a.times(by, as(rate, w)));
}

Value Optimizer::adamStep(const Own &own, Value w) {
  Value g = own.gradient;
  Slot first = slot(own, "m", elementOf(g)), second = slot(own, "v", elementOf(g));
  Value m = a.plus(first.value, a.times(a.minus(g, first.value), 1 - spec.beta1));
  Value v = a.plus(a.times(second.value, spec.beta2), a.times(a.square(g), 1 - spec.beta2));
  m = commit(first, m);
  v = commit(second, v);
  Value root = a.over(a.op<SqrtOp>(v), as(a.op<SqrtOp>(correction2), v));
  Value divisor = a.plus(root, spec.epsilon);
  if (spec.optimizer != "lamb")
    return a.minus(w, a.times(a.over(m, divisor), as(a.over(rate, correction1), w)));
  Value by = a.plus(a.over(a.over(m, as(correction1, m)), divisor), a.times(w, spec.weightDecay));
  Value weights = a.op<SqrtOp>(wholeDot(own, w)), steps = a.op<SqrtOp>(wholeDot(own, by));
  Value arePositive = a.op<AndOp>(a.compare("gt", weights, a.number(weights, 0)),
                                  a.compare("gt", steps, a.number(steps, 0)));
  Value trust = a.op<SelectOp>(arePositive, a.over(weights, steps), a.number(weights, 1));
  return a.minus(w, a.times(by, a.times(trust, as(rate, w))));
}

Value Optimizer::adagradStep(const Own &own, Value w) {
  Value g = own.gradient;
  Slot sum = slot(own, "accumulator", elementOf(g), spec.initial);
  Value total = commit(sum, a.plus(sum.value, a.square(g)));
  Value divisor = a.plus(a.op<SqrtOp>(total), spec.epsilon);
  return a.minus(w, a.times(a.over(g, divisor), as(rate, w)));
}

Value Optimizer::updated(Own own, Value w) {
  bool isDecoupled = spec.optimizer == "adamw" || spec.optimizer == "lamb";
  if (spec.weightDecay != 0 && !isDecoupled)
    own.gradient = a.plus(own.gradient, a.times(w, spec.weightDecay));
  if (spec.optimizer == "adamw") {
    Value left = a.minus(a.number(rate, 1), a.times(rate, spec.weightDecay));
    w = a.times(w, as(left, w));
  }
  if (spec.optimizer == "momentum")
    return momentumStep(own, w);
  if (spec.optimizer == "adagrad")
    return adagradStep(own, w);
  if (spec.optimizer == "sgd")
    return a.minus(w, a.times(own.gradient, as(rate, w)));
  return adamStep(own, w);
}

void Optimizer::change(const Own &own) {
  Value whole = own.weight.value, part = ownPart(own, whole), before = touched(own, part);
  Value after = updated(own, a.cast(before, elementOf(own.gradient)));
  Value resource = whole.getDefiningOp<VariableReadOp>().getResource();
  changes.push_back({{resource, part}, next(after, before)});
}

void Optimizer::update(const Own &own) {
  changes.clear();
  change(own);
  // The weight first: its initial value, which the step has read, is resident until then.
  if (!own.rows || leavesZeros()) {
    Change weight = changes.pop_back_val();
    assign(a, weight.state, gathered(own, replaced(own, weight.state.value, weight.value)));
    for (const Change &each : changes)
      assign(a, each.state, replaced(own, each.state.value, each.value));
    return;
  }
  // All rows take a step with gradients of zeros, where they lie, once those with others have been
  // read; what became of these replaces it.
  SmallVector<Change> rows = std::exchange(changes, {});
  SmallVector<Value> values =
      llvm::map_to_vector(rows, [](const Change &row) { return row.value; });
  Own all = own;
  all.rows.reset();
  all.after = DoneOp::create(a.b, a.loc, TokenType::get(a.b.getContext()), values);
  Value like = a.cast(own.weight.value, elementOf(own.gradient));
  all.gradient = a.zeros(like);
  change(all);
  for (const Change &each : llvm::reverse(changes))
    assign(a, each.state, each.value);
  for (const Change &row : llvm::reverse(rows)) {
    Value resource = row.state.resource;
    Value moved =
        VariableReadOp::create(a.b, a.loc, row.state.value.getType(), resource, ValueRange());
    assign(a, {resource, moved}, withRows(*own.rows, moved, row.value, a));
  }
}

/// Whether the step may go by rows of a gradient that has few: each element's step hangs on no
/// other, and nothing adds the gradient to another one before.
bool Optimizer::mayGoByRows() const {
  return spec.accumulate <= 1 && spec.parts() <= 1 && spec.stages <= 1 && spec.optimizer != "lamb";
}

/// Whether elements with a gradient of zero stay as they are, and so do the optimizer's, so that
/// a step needs to look at no others.
bool Optimizer::leavesZeros() const {
  // 0 / (√0 + 0) is no number.
  bool divides = spec.optimizer == "adagrad" && (spec.epsilon > 0 || spec.initial > 0);
  return spec.weightDecay == 0 && (spec.optimizer == "sgd" || divides);
}

void Optimizer::run(ArrayRef<Trained> trained) {
  SmallVector<Own> all;
  for (const Trained &one : trained) {
    Named named(*one.weight, a);
    Own own = {*one.weight, axisOf(*one.weight), {}};
    // Of parts all else is computed: what is reduced is the gradient as the model has it.
    if (mayGoByRows())
      own.rows = rowGradient(one.gradient, a);
    Value gradient = own.rows ? own.rows->sums : ownPart(own, one.gradient);
    own.gradient = a.cast(gradient, computeType(*one.weight, a.b));
    all.push_back(own);
  }
  takeScaleOut(all);
  accumulate(all);
  clip(all);
  rate = learningRate(spec, state.step.value, state.fedRate, a);
  Value next = a.plus(state.step.value, a.number(state.step.value, 1));
  count = a.cast(next, a.b.getF64Type());
  auto correction = [&](double beta) {
    Value left = a.op<PowOp>(a.number(count, beta), count);
    return a.minus(a.number(count, 1), left);
  };
  correction1 = correction(spec.beta1);
  correction2 = correction(spec.beta2);
  for (const Own &own : all) {
    Named named(own.weight, a);
    update(own);
  }
  assign(a, state.step, this->next(next, state.step.value));
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

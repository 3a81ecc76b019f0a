//===- OptimizerImports.cpp - steps of training ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimizer's rule says what a variable and its slots become, element by
// element. The dense operations apply it to the whole of them, the sparse ones to
// the rows that `indices` name, one after the other: a row named twice takes two
// steps, the second from where the first led.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/Sparse.h"
#include "compiler/frontend/tensorflow/Variables.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;
using frontend::Values;

namespace {

using Operands = ArrayRef<Value>;

/// What an optimizer is: inputs are the variable and its slots, then operands,
/// of which one is the gradient. `step` gives the variable and slots after a step.
struct Optimizer {
  size_t slots, operands, gradient;
  Values (*step)(NodeImport &n, Operands state, Operands in);
};

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

Value square(NodeImport &n, Value x) { return n.mul(x, x); }
Value complement(NodeImport &n, Value x) { return n.sub(n.like(x, 1), x); }
Value rsqrt(NodeImport &n, Value x) { return n.op<RsqrtOp>(x); }

/// old + (sample - old) * (1 - decay)
Value average(NodeImport &n, Value old, Value sample, Value decay) {
  return n.add(old, n.mul(n.sub(sample, old), complement(n, decay)));
}

/// What minimises l1 |x| + l2 x² / 2 near `x`: towards zero by l1, and shrunk.
Value proximal(NodeImport &n, Value x, Value l1, Value l2) {
  Value left = n.maximum(n.sub(n.op<AbsOp>(x), l1), 0.0);
  return n.div(n.mul(n.op<SignOp>(x), left), n.add(l2, 1.0));
}

/// in: alpha, gradient
Values gradientDescent(NodeImport &n, Operands s, Operands in) {
  return {n.sub(s[0], n.mul(in[0], in[1]))};
}

/// in: rate, gradient, momentum. The accumulator holds sums of gradients;
/// Keras' those of steps, the rate among them.
Values momentum(NodeImport &n, Operands s, Operands in) {
  Value rate = in[0], gradient = in[1], decay = in[2], next, step;
  bool nesterov = n.isSet("use_nesterov");
  if (n.node.op.find("Keras") != std::string_view::npos) {
    next = n.sub(n.mul(s[1], decay), n.mul(gradient, rate));
    step = nesterov ? n.sub(n.mul(next, decay), n.mul(gradient, rate)) : next;
  } else {
    next = n.add(n.mul(s[1], decay), gradient);
    Value by = nesterov ? n.add(gradient, n.mul(next, decay)) : next;
    step = n.op<NegOp>(n.mul(by, rate));
  }
  return {n.add(s[0], step), next};
}

/// Kingma and Ba, "Adam" (2015), with the rate corrected before the step. Slots m,
/// v; in: powers of beta1 and beta2, rate, beta1, beta2, epsilon, gradient.
Values adam(NodeImport &n, Operands s, Operands in) {
  Value rate = in[2], beta1 = in[3], beta2 = in[4], gradient = in[6];
  Value alpha = n.div(n.mul(rate, n.sqrt(complement(n, in[1]))), complement(n, in[0]));
  Value m = average(n, s[1], gradient, beta1);
  Value v = average(n, s[2], square(n, gradient), beta2);
  Value direction = m;
  if (n.isSet("use_nesterov"))
    direction = n.add(n.mul(gradient, complement(n, beta1)), n.mul(beta1, m));
  Value step = n.div(n.mul(direction, alpha), n.add(n.sqrt(v), in[5]));
  return {n.sub(s[0], step), m, v};
}

/// Reddi, Kale and Kumar, "On the convergence of Adam and beyond" (2018): divides by
/// the largest second moment so far. Slots m, v, the largest; in: as above.
Values amsgrad(NodeImport &n, Operands s, Operands in) {
  Value rate = in[2], gradient = in[6];
  Value alpha = n.div(n.mul(rate, n.sqrt(complement(n, in[1]))), complement(n, in[0]));
  Value m = average(n, s[1], gradient, in[3]);
  Value v = average(n, s[2], square(n, gradient), in[4]);
  Value most = n.maximum(s[3], v);
  Value step = n.div(n.mul(m, alpha), n.add(n.sqrt(most), in[5]));
  return {n.sub(s[0], step), m, v, most};
}

/// Adam with a maximum in place of the second moment. Slots m, v; in: power
/// of beta1, rate, beta1, beta2, epsilon, gradient.
Values adaMax(NodeImport &n, Operands s, Operands in) {
  Value m = average(n, s[1], in[5], in[2]);
  Value v = n.maximum(n.mul(in[3], s[2]), n.op<AbsOp>(in[5]));
  Value rate = n.div(in[1], complement(n, in[0]));
  return {n.sub(s[0], n.mul(rate, n.div(m, n.add(v, in[4])))), m, v};
}

/// Duchi, Hazan and Singer, "Adaptive subgradient methods" (2011). Version two
/// has an epsilon behind the root. in: rate, (epsilon,) gradient.
template <bool hasEpsilon> Values adagrad(NodeImport &n, Operands s, Operands in) {
  Value gradient = in[hasEpsilon ? 2 : 1];
  Value sum = n.isSet("update_slots") ? n.add(s[1], square(n, gradient)) : s[1];
  Value step = n.mul(gradient, in[0]);
  step = hasEpsilon ? n.div(step, n.add(n.sqrt(sum), in[1])) : n.mul(step, rsqrt(n, sum));
  return {n.sub(s[0], step), sum};
}

/// The dual averages of the same. Slots: sums of gradients and of their squares;
/// in: gradient, rate, l1, l2, number of the step.
Values adagradDual(NodeImport &n, Operands s, Operands in) {
  Value rate = in[1], count = n.cast(in[4], n.element(in[1]));
  Value sum = n.add(s[1], in[0]), squares = n.add(s[2], square(n, in[0]));
  Value left = n.maximum(n.sub(n.op<AbsOp>(sum), n.mul(in[2], count)), 0.0);
  Value shrunk = n.mul(n.op<SignOp>(sum), left);
  Value by = n.add(n.mul(n.mul(in[3], count), rate), n.sqrt(squares));
  return {n.div(n.mul(n.op<NegOp>(rate), shrunk), by), sum, squares};
}

/// Zeiler, "ADADELTA" (2012). Slots: averages of squares of gradients and of
/// steps; in: rate, rho, epsilon, gradient.
Values adadelta(NodeImport &n, Operands s, Operands in) {
  Value rho = in[1], epsilon = in[2], gradient = in[3];
  auto decayed = [&](Value old, Value x) {
    return n.add(n.mul(old, rho), n.mul(square(n, x), complement(n, rho)));
  };
  Value squares = decayed(s[1], gradient);
  Value step =
      n.mul(n.mul(n.sqrt(n.add(s[2], epsilon)), rsqrt(n, n.add(squares, epsilon))), gradient);
  return {n.sub(s[0], n.mul(step, in[0])), squares, decayed(s[2], step)};
}

/// Hinton's RMSProp with momentum; centred: by the variance instead of the second
/// moment. Slots: (mean,) square, momentum; in: rate, rho, momentum, epsilon,
/// gradient.
template <bool centred> Values rmsProp(NodeImport &n, Operands s, Operands in) {
  Value rho = in[1], gradient = in[4], mean;
  // Of rows TensorFlow adds two products, and epsilon before it subtracts: what cancels shows it.
  bool isSparse = n.node.op.find("Sparse") != std::string_view::npos;
  auto decayed = [&](Value old, Value sample) {
    return isSparse ? n.add(n.mul(old, rho), n.mul(sample, complement(n, rho)))
                    : average(n, old, sample, rho);
  };
  Value squares = decayed(s[centred ? 2 : 1], square(n, gradient));
  Value spread = n.add(squares, in[3]);
  if (centred) {
    mean = decayed(s[1], gradient);
    spread =
        isSparse ? n.sub(spread, square(n, mean)) : n.add(n.sub(squares, square(n, mean)), in[3]);
  }
  Value step = n.mul(n.mul(gradient, in[0]), rsqrt(n, spread));
  Value moving = n.add(n.mul(s[centred ? 3 : 2], in[2]), step);
  Value next = n.sub(s[0], moving);
  if (centred)
    return {next, mean, squares, moving};
  return {next, squares, moving};
}

/// Bello et al., "Neural optimizer search" (2017): larger steps where gradient and
/// mean agree. in: rate, alpha (or the logarithm's base), decay of the sign, beta,
/// gradient.
template <bool power> Values signs(NodeImport &n, Operands s, Operands in) {
  Value gradient = in[4];
  Value m = n.add(n.mul(s[1], in[3]), n.mul(gradient, complement(n, in[3])));
  Value agree = n.mul(n.op<SignOp>(gradient), n.op<SignOp>(m));
  Value by = power ? n.exp(n.mul(n.mul(in[1], in[2]), agree)) : n.add(in[1], n.mul(in[2], agree));
  return {n.sub(s[0], n.mul(n.mul(in[0], by), gradient)), m};
}

/// in: alpha, l1, l2, gradient
Values proximalDescent(NodeImport &n, Operands s, Operands in) {
  Value moved = n.sub(s[0], n.mul(in[0], in[3]));
  return {proximal(n, moved, n.mul(in[0], in[1]), n.mul(in[0], in[2]))};
}

/// in: rate, l1, l2, gradient
Values proximalAdagrad(NodeImport &n, Operands s, Operands in) {
  Value sum = n.add(s[1], square(n, in[3]));
  Value rate = n.mul(in[0], rsqrt(n, sum));
  Value moved = n.sub(s[0], n.mul(in[3], rate));
  return {proximal(n, moved, n.mul(rate, in[1]), n.mul(rate, in[2])), sum};
}

/// x to the power of minus `exponent`, which most often is -1/2.
Value inversePower(NodeImport &n, Value x, Value exponent) {
  DenseFPElementsAttr value;
  if (exponent && matchPattern(exponent, m_Constant(&value)) && value.isSplat() &&
      value.getSplatValue<APFloat>().isExactlyValue(-0.5))
    return n.sqrt(x);
  return n.op<PowOp>(x, n.op<NegOp>(exponent));
}

/// McMahan et al., "Ad click prediction" (2013). Slots: sums of squares, linear
/// part; in: gradient, rate, l1, l2, (shrinkage,) power of the rate. The linear
/// part may hold the rate as a factor.
template <bool shrinks> Values ftrl(NodeImport &n, Operands s, Operands in) {
  Value gradient = in[0], rate = in[1], l1 = in[2], l2 = in[3];
  Value exponent = in[shrinks ? 5 : 4];
  Value pulled = gradient;
  if (shrinks)
    pulled = n.add(gradient, n.mul(n.mul(in[4], 2.0), s[0]));
  Value sum = n.add(s[1], square(n, gradient));
  Value root = inversePower(n, sum, exponent);
  Value grown = n.sub(root, inversePower(n, s[1], exponent));
  Value linear, by;
  if (n.isSet("multiply_linear_by_lr")) {
    linear = n.add(s[2], n.sub(n.mul(pulled, rate), n.mul(grown, s[0])));
    by = n.add(root, n.mul(n.mul(l2, 2.0), rate));
    l1 = n.mul(l1, rate);
  } else {
    linear = n.add(s[2], n.sub(pulled, n.mul(n.div(grown, rate), s[0])));
    by = n.add(n.div(root, rate), n.mul(l2, 2.0));
  }
  Value inside = n.maximum(n.minimum(linear, l1), n.op<NegOp>(l1));
  return {n.div(n.sub(inside, linear), by), sum, linear};
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The state after a step for each of `indices`, in their order. Rounds take the
/// first step left of every row at once, so there are as many as the most frequent
/// index has repetitions: one, most often.
FailureOr<Values> stepRows(NodeImport &n, const Optimizer &optimizer, Values state, Values in,
                           Value indices) {
  Value gradient = in[optimizer.gradient];
  if (n.rank(indices) != 1 || n.rank(gradient) < 1)
    return n.invalid("found indices that are not of rank 1, or a gradient "
                     "without rows");
  Type i64 = n.b.getI64Type();
  indices = n.toI64(indices);
  require(n,
          n.op<AndOp>(n.compare("ge", indices, 0.0),
                      n.compare("lt", indices, n.toScalar(n.sizeOf(state[0], 0)))),
          "an index is outside of the variable's rows");
  if (n.rank(gradient) != n.rank(state[0]))
    return n.invalid("expected a gradient of rank " + Twine(n.rank(state[0])) + ", got " +
                     Twine(n.rank(gradient)));
  require(n, n.compare("eq", n.sizeOf(gradient, 0), n.sizeOf(indices, 0)),
          "the gradient must have a row for each index");
  if (failed(requireSame(n, state[0], gradient, "rows of the variable and of the gradient", 1)))
    return failure();
  Value count = n.toScalar(n.sizeOf(indices, 0));
  Operation *unique = n.multi<UniqueOp, 4>(indices, n.number(-1), n.flag(false), n.typeAttr(i64));
  if (!unique || !count)
    return failure();
  Value rows = unique->getResult(0), rowOf = unique->getResult(2);
  Values carried;
  for (Value value : state)
    carried.push_back(n.gather(value, rows, 0));
  // The place of every step that is left; `count` of one that is done.
  carried.push_back(n.op<IotaOp>(n.sizeOf(indices, 0), n.number(0), n.typeAttr(i64)));
  auto body = [&](Value, Values values) -> FailureOr<Values> {
    Value left = values.pop_back_val();
    Value first = n.op<ScatterElementsOp>(n.expandTo(count, n.sizeOf(rows, 0)), rowOf, left,
                                          n.number(0), n.text("min"), n.flag(false));
    Values operands = in;
    operands[optimizer.gradient] = n.gather(gradient, n.minimum(first, n.sub(count, 1.0)), 0);
    Values next = optimizer.step(n, values, operands);
    Value steps = n.compare("lt", first, count);
    for (auto [after, before] : llvm::zip(next, values))
      after = n.select(n.unsqueeze(steps, axesFrom(1, n.rank(before))), after, before);
    Value taken = n.compare("eq", left, n.gather(first, rowOf, 0));
    left = n.select(taken, count, left);
    next.push_back(left);
    next.push_back(n.compare("lt", n.reduce(left, "min", {0}, false), count));
    return next;
  };
  FailureOr<Values> after =
      frontend::buildLoop(n, Value(), n.compare("gt", count, 0.0), carried, body);
  if (failed(after))
    return failure();
  Values results;
  for (auto [whole, changed] : llvm::zip(state, *after))
    results.push_back(n.op<ScatterNdOp>(whole, n.unsqueeze(rows, {1}), changed, n.text("none"),
                                        n.flag(false), n.flag(false)));
  return results;
}

template <const Optimizer &optimizer> LogicalResult apply(NodeImport &n) {
  bool isSparse = n.node.op.find("Sparse") != std::string_view::npos;
  size_t first = 1 + optimizer.slots, count = optimizer.operands + isSparse;
  if (n.inputCount() != first + count)
    return n.invalid("expected " + Twine(first + count) + " inputs, got " + Twine(n.inputCount()));
  SmallVector<Imported *> variables;
  Values state;
  for (size_t i = 0; i < first; ++i) {
    variables.push_back(variableAt(n, i));
    if (!variables.back())
      return failure();
    if (i > 0 && variables[i]->type != variables[0]->type)
      return n.invalid("found a slot of another type than the variable's");
    state.push_back(currentValue(n, *variables[i]));
  }
  Values in = n.tensors(first, first + count);
  if (in.empty())
    return failure();
  // Nothing is broadcast, but for numbers.
  for (auto [i, value] : llvm::enumerate(in)) {
    bool isIndices = isSparse && i == optimizer.gradient + 1;
    if (i != optimizer.gradient && !isIndices && n.rank(value) != 0)
      return n.invalid("expected a scalar as operand " + Twine(first + i) + ", got rank " +
                       Twine(n.rank(value)));
  }
  for (Value slot : ArrayRef<Value>(state).drop_front())
    if (failed(requireSame(n, state[0], slot, "the variable and its slots")))
      return failure();
  FailureOr<Values> next = failure();
  if (isSparse) {
    Value indices = in[optimizer.gradient + 1];
    in.erase(in.begin() + optimizer.gradient + 1);
    next = stepRows(n, optimizer, state, in, indices);
    if (failed(next))
      return failure();
  } else {
    if (failed(requireSame(n, state[0], in[optimizer.gradient], "the variable and its gradient")))
      return failure();
    next = optimizer.step(n, state, in);
  }
  for (auto [variable, value] : llvm::zip(variables, *next))
    if (failed(assignValue(n, *variable, value)))
      return failure();
  return passOn(n, *variables[0]);
}

/// The operations of one optimizer: of both generations, dense and sparse.
#define WEIR_OPTIMIZER(name, rule)                                                                 \
  {"Apply" name, apply<rule>}, {"ResourceApply" name, apply<rule>},                                \
      {"SparseApply" name, apply<rule>}, {                                                         \
    "ResourceSparseApply" name, apply<rule>                                                        \
  }

constexpr Optimizer gradientDescentRule = {0, 2, 1, gradientDescent},
                    momentumRule = {1, 3, 1, momentum}, adamRule = {2, 7, 6, adam},
                    amsgradRule = {3, 7, 6, amsgrad}, adaMaxRule = {2, 6, 5, adaMax},
                    adagradRule = {1, 2, 1, adagrad<false>},
                    adagradV2Rule = {1, 3, 2, adagrad<true>},
                    adagradDualRule = {2, 5, 0, adagradDual}, adadeltaRule = {2, 4, 3, adadelta},
                    rmsPropRule = {2, 5, 4, rmsProp<false>},
                    centeredRmsPropRule = {3, 5, 4, rmsProp<true>},
                    addSignRule = {1, 5, 4, signs<false>}, powerSignRule = {1, 5, 4, signs<true>},
                    proximalDescentRule = {0, 4, 3, proximalDescent},
                    proximalAdagradRule = {1, 4, 3, proximalAdagrad},
                    ftrlRule = {2, 5, 0, ftrl<false>}, ftrlV2Rule = {2, 6, 0, ftrl<true>};

} // namespace

ArrayRef<OpImport> weir::tf::optimizerImports() {
  static const OpImport rows[] = {
      {"ApplyGradientDescent", apply<gradientDescentRule>},
      {"ResourceApplyGradientDescent", apply<gradientDescentRule>},
      {"ApplyAdam", apply<adamRule>},
      {"ResourceApplyAdam", apply<adamRule>},
      {"ResourceApplyAdamWithAmsgrad", apply<amsgradRule>},
      {"ApplyAdaMax", apply<adaMaxRule>},
      {"ResourceApplyAdaMax", apply<adaMaxRule>},
      {"ApplyAddSign", apply<addSignRule>},
      {"ResourceApplyAddSign", apply<addSignRule>},
      {"ApplyPowerSign", apply<powerSignRule>},
      {"ResourceApplyPowerSign", apply<powerSignRule>},
      {"ResourceApplyKerasMomentum", apply<momentumRule>},
      {"ResourceSparseApplyKerasMomentum", apply<momentumRule>},
      WEIR_OPTIMIZER("Momentum", momentumRule),
      WEIR_OPTIMIZER("Adagrad", adagradRule),
      WEIR_OPTIMIZER("AdagradV2", adagradV2Rule),
      WEIR_OPTIMIZER("AdagradDA", adagradDualRule),
      WEIR_OPTIMIZER("Adadelta", adadeltaRule),
      WEIR_OPTIMIZER("RMSProp", rmsPropRule),
      WEIR_OPTIMIZER("CenteredRMSProp", centeredRmsPropRule),
      WEIR_OPTIMIZER("ProximalGradientDescent", proximalDescentRule),
      WEIR_OPTIMIZER("ProximalAdagrad", proximalAdagradRule),
      WEIR_OPTIMIZER("Ftrl", ftrlRule),
      WEIR_OPTIMIZER("FtrlV2", ftrlV2Rule),
  };
  return rows;
}

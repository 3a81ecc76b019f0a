//===- ElementwiseRules.cpp - gradients of elementwise operations ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/gradient/GradientRules.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::gradient;

namespace {

/// What a rule of one result works with: dy, the result and its operands.
struct At {
  Operation *op;
  Value dy, y, x, z; ///< z: the second operand
  Adjoint &a;
  At(Operation *op, ArrayRef<Value> gradients, Adjoint &a)
      : op(op), dy(gradients[0]), y(op->getResult(0)), x(op->getOperand(0)),
        z(op->getNumOperands() > 1 ? op->getOperand(1) : Value()), a(a) {}
};

/// A rule of one operand from an expression for its gradient.
#define UNARY(expression)                                                                          \
  [](Operation *op, ArrayRef<Value> gradients, Adjoint &a) -> LogicalResult {                      \
    At t(op, gradients, a);                                                                        \
    [[maybe_unused]] Value dy = t.dy, y = t.y, x = t.x;                                            \
    a.add(x, expression);                                                                          \
    return success();                                                                              \
  }
/// A rule of two operands; each is written only if it is wanted.
#define BINARY(first, second)                                                                      \
  [](Operation *op, ArrayRef<Value> gradients, Adjoint &a) -> LogicalResult {                      \
    At t(op, gradients, a);                                                                        \
    [[maybe_unused]] Value dy = t.dy, y = t.y, x = t.x, z = t.z;                                   \
    if (a.wants(x))                                                                                \
      a.add(x, first);                                                                             \
    if (a.wants(z))                                                                                \
      a.add(z, second);                                                                            \
    return success();                                                                              \
  }

/// Functions that are constant almost everywhere.
LogicalResult flat(Operation *, ArrayRef<Value>, Adjoint &) { return success(); }

/// Each operand has its part in the sum. Of other kinds TensorFlow knows none.
LogicalResult allReduce(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  if (cast<AllReduceOp>(op).getKind() != ReduceKind::Sum)
    return failure();
  for (Value input : op->getOperands())
    if (a.wants(input))
      a.add(input, gradients[0]);
  return success();
}

LogicalResult power(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  At t(op, gradients, a);
  if (a.wants(t.x))
    a.add(t.x, a.times(t.dy, a.times(t.z, a.op<PowOp>(t.x, a.plus(t.z, -1)))));
  if (a.wants(t.z)) {
    // log only where there is one: elsewhere the power has no derivative there.
    Value isPositive = a.compare("gt", t.x, a.number(t.x, 0));
    Value safe = a.op<SelectOp>(isPositive, t.x, a.number(t.x, 1));
    a.add(t.z, a.times(t.dy, a.times(t.y, a.op<LogOp>(safe))));
  }
  return success();
}

LogicalResult gelu(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  At t(op, gradients, a);
  Value x = t.x, slope;
  if (cast<GeluOp>(op).getApproximate()) {
    // 0.5 x (1 + tanh(u)), u = k (x + 0.044715 x^3)
    double k = std::sqrt(2 / M_PI);
    Value u = a.times(a.plus(x, a.times(a.times(a.square(x), x), 0.044715)), k);
    Value du = a.times(a.plus(a.times(a.square(x), 3 * 0.044715), 1), k);
    Value tanh = a.op<TanhOp>(u);
    Value flank = a.minus(a.number(x, 1), a.square(tanh));
    slope = a.times(a.plus(a.plus(tanh, 1), a.times(x, a.times(flank, du))), 0.5);
  } else {
    // Φ(x) + x φ(x)
    Value phi = a.times(a.op<ExpOp>(a.times(a.square(x), -0.5)), 1 / std::sqrt(2 * M_PI));
    Value cdf = a.times(a.plus(a.op<ErfOp>(a.times(x, std::sqrt(0.5))), 1), 0.5);
    slope = a.plus(cdf, a.times(x, phi));
  }
  a.add(x, a.times(t.dy, slope));
  return success();
}

LogicalResult select(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto select = cast<SelectOp>(op);
  Value dy = gradients[0], condition = select.getCondition();
  if (a.wants(select.getOnTrue()))
    a.add(select.getOnTrue(), a.where(condition, dy));
  if (a.wants(select.getOnFalse()))
    a.add(select.getOnFalse(), a.where(a.op<NotOp>(condition), dy));
  return success();
}

} // namespace

ArrayRef<Row> weir::gradient::elementwiseRules() {
  static const Row rows[] = {
      {"add", BINARY(dy, dy)},
      {"all_reduce", allReduce},
      {"sub", BINARY(dy, a.op<NegOp>(dy))},
      {"mul", BINARY(a.times(dy, a.conj(z)), a.times(dy, a.conj(x)))},
      {"div", BINARY(a.over(dy, a.conj(z)), a.op<NegOp>(a.times(dy, a.conj(a.over(y, z)))))},
      {"floor_div", flat},
      {"tree_ensemble", flat},
      {"rem", BINARY(dy, a.op<NegOp>(a.times(dy, a.op<TruncOp>(a.over(x, z)))))},
      {"floor_mod", BINARY(dy, a.op<NegOp>(a.times(dy, a.op<FloorOp>(a.over(x, z)))))},
      {"pow", power},
      {"maximum", BINARY(a.where(a.compare("ge", x, z), dy), a.unless(a.compare("ge", x, z), dy))},
      {"minimum", BINARY(a.where(a.compare("le", x, z), dy), a.unless(a.compare("le", x, z), dy))},
      {"atan2", BINARY(a.times(dy, a.over(z, a.plus(a.square(x), a.square(z)))),
                       a.op<NegOp>(a.times(dy, a.over(x, a.plus(a.square(x), a.square(z))))))},
      {"conj", UNARY(a.op<ConjOp>(dy))},
      {"real", UNARY(a.op<ComplexOp>(dy, a.zeros(dy)))},
      {"imag", UNARY(a.op<ComplexOp>(a.zeros(dy), dy))},
      {"complex", BINARY(a.op<RealOp>(dy), a.op<ImagOp>(dy))},
      {"neg", UNARY(a.op<NegOp>(dy))},
      {"abs", UNARY(a.times(dy, a.op<SignOp>(x)))},
      {"sign", flat},
      {"floor", flat},
      {"ceil", flat},
      {"trunc", flat},
      {"round", flat},
      {"round_even", flat},
      {"exp", UNARY(a.times(dy, y))},
      // Not y + 1, which cancels far below zero.
      {"expm1", UNARY(a.times(dy, a.op<ExpOp>(x)))},
      {"log", UNARY(a.over(dy, x))},
      {"log1p", UNARY(a.over(dy, a.plus(x, 1)))},
      {"sqrt", UNARY(a.over(a.times(dy, 0.5), y))},
      {"rsqrt", UNARY(a.times(a.times(dy, -0.5), a.times(a.square(y), y)))},
      {"cbrt", UNARY(a.over(dy, a.times(a.square(y), 3)))},
      {"sin", UNARY(a.times(dy, a.op<CosOp>(x)))},
      {"cos", UNARY(a.op<NegOp>(a.times(dy, a.op<SinOp>(x))))},
      {"tan", UNARY(a.times(dy, a.plus(a.square(y), 1)))},
      {"asin", UNARY(a.times(dy, a.op<RsqrtOp>(a.minus(a.number(x, 1), a.square(x)))))},
      {"acos",
       UNARY(a.op<NegOp>(a.times(dy, a.op<RsqrtOp>(a.minus(a.number(x, 1), a.square(x))))))},
      {"atan", UNARY(a.over(dy, a.plus(a.square(x), 1)))},
      {"sinh", UNARY(a.times(dy, a.op<CoshOp>(x)))},
      {"cosh", UNARY(a.times(dy, a.op<SinhOp>(x)))},
      {"asinh", UNARY(a.times(dy, a.op<RsqrtOp>(a.plus(a.square(x), 1))))},
      {"acosh", UNARY(a.times(dy, a.op<RsqrtOp>(a.plus(a.square(x), -1))))},
      {"atanh", UNARY(a.over(dy, a.minus(a.number(x, 1), a.square(x))))},
      {"tanh", UNARY(a.times(dy, a.minus(a.number(y, 1), a.square(y))))},
      {"logistic", UNARY(a.times(dy, a.times(y, a.minus(a.number(y, 1), y))))},
      {"erf",
       UNARY(a.times(dy, a.times(a.op<ExpOp>(a.op<NegOp>(a.square(x))), 2 / std::sqrt(M_PI))))},
      {"erfc",
       UNARY(a.times(dy, a.times(a.op<ExpOp>(a.op<NegOp>(a.square(x))), -2 / std::sqrt(M_PI))))},
      {"relu", UNARY(a.where(a.compare("gt", x, a.number(x, 0)), dy))},
      {"gelu", gelu},
      {"select", select},
      {"cast", UNARY(dy)},
      {"gate", UNARY(dy)},
  };
  return rows;
}

//===- SecondGradients.cpp - Gradients of operations that are gradients ---===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NodeImport.h"
#include "compiler/frontend/tensorflow/RegisteredGradients.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

using Gradients = SmallVector<Value>;

/// Of dy as the operation itself; what it is of has no slope but at kinks.
static Gradients reluGradGradient(const Differentiated &d) {
  return {d.call(d.n.node.op, {d.dy[0], d.x[1]}), Value()};
}

/// Gradients of 1/x, √x and 1/√x have 0 where nothing flows back, which is no rule for their own
/// gradients: those are of the formulas.
static Gradients reciprocalGradGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value y = d.x[0], dy = d.x[1], g = d.dy[0];
  return {n.mul(n.mul(n.mul(g, dy), y), -2.0), n.op<NegOp>(n.mul(g, n.mul(y, y)))};
}

static Gradients sqrtGradGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value scaled = n.div(d.dy[0], d.x[0]);
  return {n.op<NegOp>(n.mul(scaled, d.y[0])), n.mul(scaled, 0.5)};
}

static Gradients rsqrtGradGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value y = d.x[0], dy = d.x[1], g = d.dy[0];
  return {n.mul(n.mul(n.mul(g, dy), n.mul(y, y)), -1.5),
          n.mul(n.mul(n.mul(g, y), -0.5), n.mul(y, y))};
}

/// Those are of reals, whose operands have one shape in the run, whatever is known of either;
/// nothing: others are differentiated by element.
template <Gradients (*gradient)(const Differentiated &)>
static Gradients ofReals(const Differentiated &d) {
  NodeImport &n = d.n;
  Value y = d.x[0], dy = d.x[1];
  if (!n.isFloat(y) || n.rank(y) != n.rank(dy))
    return {};
  if (n.type(y) == n.type(dy))
    return gradient(d);
  Value alike[] = {y, n.reshapeTo(dy, n.shapeOf(y))};
  Gradients gradients = gradient({n, alike, d.y, d.dy});
  for (auto [one, x] : llvm::zip_equal(gradients, d.x))
    one = one ? n.reshapeTo(one, n.shapeOf(x)) : one;
  return gradients;
}

/// Of dy as the operation itself; of y where the slope depends on it, which it has below zero.
static Gradients eluGradGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value dy = d.x[0], y = d.x[1], g = d.dy[0];
  Value below = n.select(n.compare("lt", y, 0), n.mul(g, dy), n.like(g, 0));
  return {d.call(n.node.op, {g, y}), below};
}

/// Of the operand, without a quotient of two infinities where it is far from zero.
static Gradients softplusGradGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[1];
  Value width = n.add(n.add(n.exp(n.op<NegOp>(x)), 2.0), n.exp(x));
  return {d.call("SoftplusGrad", {d.dy[0], x}), n.div(n.mul(d.dy[0], d.x[0]), width)};
}

ArrayRef<GradientRow> weir::tf::secondGradients() {
  static const GradientRow rows[] = {
      {"ReluGrad", reluGradGradient},
      {"Relu6Grad", reluGradGradient},
      {"LeakyReluGrad", reluGradGradient},
      {"EluGrad", eluGradGradient},
      {"SeluGrad", eluGradGradient},
      {"SoftplusGrad", softplusGradGradient},
      {"InvGrad", ofReals<reciprocalGradGradient>},
      {"ReciprocalGrad", ofReals<reciprocalGradGradient>},
      {"SqrtGrad", ofReals<sqrtGradGradient>},
      {"RsqrtGrad", ofReals<rsqrtGradGradient>},
  };
  return rows;
}

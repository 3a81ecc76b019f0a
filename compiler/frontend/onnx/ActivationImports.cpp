//===- ActivationImports.cpp - activation functions -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/Activations.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

Value weir::onnx::leakyRelu(TensorBuilder &t, Value x, double alpha) {
  return t.select(t.compare("lt", x, 0.0), t.mul(x, alpha), x);
}

Value weir::onnx::elu(TensorBuilder &t, Value x, double alpha) {
  Value below = t.mul(t.op<Expm1Op>(x), alpha);
  return t.select(t.compare("lt", x, 0.0), below, x);
}

Value weir::onnx::softplus(TensorBuilder &t, Value x) {
  // log(1 + e^x) without overflow: max(x, 0) + log(1 + e^-|x|).
  Value tail = t.op<Log1pOp>(t.exp(t.op<NegOp>(t.op<AbsOp>(x))));
  return t.add(t.maximum(x, 0.0), tail);
}

Value weir::onnx::hardSigmoid(TensorBuilder &t, Value x, double alpha, double beta) {
  return t.minimum(t.maximum(t.add(t.mul(x, alpha), beta), 0.0), 1.0);
}

Value weir::onnx::softsign(TensorBuilder &t, Value x) {
  return t.div(x, t.add(t.op<AbsOp>(x), 1.0));
}

Value weir::onnx::applyActivation(TensorBuilder &t, const Activation &f, Value x) {
  StringRef name = f.name;
  if (name == "sigmoid")
    return t.op<LogisticOp>(x);
  if (name == "tanh")
    return t.op<TanhOp>(x);
  if (name == "relu")
    return t.op<ReluOp>(x);
  if (name == "affine")
    return t.add(t.mul(x, f.alpha), f.beta);
  if (name == "leakyrelu")
    return leakyRelu(t, x, f.alpha);
  if (name == "thresholdedrelu")
    return t.select(t.compare("gt", x, f.alpha), x, t.like(x, 0));
  if (name == "scaledtanh")
    return t.mul(t.op<TanhOp>(t.mul(x, f.beta)), f.alpha);
  if (name == "hardsigmoid")
    return hardSigmoid(t, x, f.alpha, f.beta);
  if (name == "elu")
    return elu(t, x, f.alpha);
  if (name == "softsign")
    return softsign(t, x);
  return softplus(t, x);
}

Activation weir::onnx::activationOf(std::string name) {
  if (name == "leakyrelu")
    return {name, 0.01, 0};
  if (name == "hardsigmoid")
    return {name, 0.2, 0.5};
  return {name, 1, name == "scaledtanh" ? 1.0 : 0.0};
}

bool weir::onnx::isActivation(StringRef name) {
  return llvm::is_contained(ArrayRef<StringRef>{"sigmoid", "tanh", "relu", "affine", "leakyrelu",
                                                "thresholdedrelu", "scaledtanh", "hardsigmoid",
                                                "elu", "softsign", "softplus"},
                            name);
}

namespace {

LogicalResult relu(NodeImport &n) { return n.result(n.op<ReluOp>(n.in(0))); }
LogicalResult sigmoid(NodeImport &n) { return n.result(n.op<LogisticOp>(n.in(0))); }
LogicalResult tanh(NodeImport &n) { return n.result(n.op<TanhOp>(n.in(0))); }
LogicalResult leaky(NodeImport &n) { return n.result(leakyRelu(n, n.in(0), n.f("alpha"))); }
LogicalResult eluNode(NodeImport &n) { return n.result(elu(n, n.in(0), n.f("alpha"))); }
LogicalResult softplusNode(NodeImport &n) { return n.result(softplus(n, n.in(0))); }
LogicalResult softsignNode(NodeImport &n) { return n.result(softsign(n, n.in(0))); }
LogicalResult hardSigmoidNode(NodeImport &n) {
  return n.result(hardSigmoid(n, n.in(0), n.f("alpha"), n.f("beta")));
}

LogicalResult prelu(NodeImport &n) {
  Value x = n.in(0), slope = n.in(1);
  if (!x || !slope)
    return failure();
  // Before opset 7 a slope of one dimension belongs to the channels.
  if (n.version < 7 && n.rank(slope) == 1 && n.rank(x) > 2)
    slope = n.unsqueeze(slope, axesFrom(1, n.rank(x) - 1));
  if (!n.stretchesTo(slope, x, "slope"))
    return failure();
  Value scaled = n.mul(x, slope);
  return n.result(n.select(n.compare("lt", x, 0.0), scaled, x));
}

LogicalResult selu(NodeImport &n) {
  Value x = n.in(0);
  double alpha = n.f("alpha"), gamma = n.f("gamma");
  // Version 1 had rounder defaults.
  return n.result(n.mul(elu(n, x, alpha), gamma));
}

LogicalResult celu(NodeImport &n) {
  Value x = n.in(0);
  double alpha = n.f("alpha");
  Value below = n.mul(n.op<Expm1Op>(n.div(x, alpha)), alpha);
  return n.result(n.add(n.maximum(x, 0.0), n.minimum(below, 0.0)));
}

LogicalResult gelu(NodeImport &n) {
  return n.result(n.op<GeluOp>(n.in(0), n.flag(n.s("approximate") == "tanh")));
}

LogicalResult hardSwish(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.mul(x, hardSigmoid(n, x, 1.0 / 6, 0.5)));
}

LogicalResult mish(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.mul(x, n.op<TanhOp>(softplus(n, x))));
}

LogicalResult swish(NodeImport &n) {
  Value x = n.in(0);
  Value inner = n.f("alpha") == 1 ? x : n.mul(x, n.f("alpha"));
  return n.result(n.mul(x, n.op<LogisticOp>(inner)));
}

LogicalResult swiGlu(NodeImport &n) {
  Value gate = n.in(0);
  Value inner = n.f("alpha") == 1 ? gate : n.mul(gate, n.f("alpha"));
  return n.result(n.mul(n.mul(gate, n.op<LogisticOp>(inner)), n.in(1)));
}

LogicalResult thresholdedRelu(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.select(n.compare("gt", n.besideReals(x), n.f("alpha")), x, n.like(x, 0)));
}

LogicalResult shrink(NodeImport &n) {
  Value given = n.in(0);
  if (!given)
    return failure();
  // Lambda and bias are no integers, though the operand may be one.
  Value x = n.besideReals(given);
  double lambda = n.f("lambd"), bias = n.f("bias");
  Value low = n.compare("lt", x, -lambda), high = n.compare("gt", x, lambda);
  Value rest = n.select(high, n.sub(x, bias), n.like(x, 0));
  Value shrunk = n.select(low, n.add(x, bias), rest);
  if (isa<IntegerType>(n.element(given)))
    shrunk = n.cast(shrunk, n.b.getI64Type()); // what leaves the type wraps around
  return n.result(n.cast(shrunk, n.element(given), n.isFloat(given)));
}

LogicalResult parametricSoftplus(NodeImport &n) {
  Value x = n.mul(n.in(0), n.f("beta"));
  return n.result(n.mul(softplus(n, x), n.f("alpha")));
}

LogicalResult scaledTanh(NodeImport &n) {
  Value x = n.mul(n.in(0), n.f("beta"));
  return n.result(n.mul(n.op<TanhOp>(x), n.f("alpha")));
}

/// Softmax and its kin: over one axis from version 13 on; before, the operand
/// is seen as a matrix, whose rows begin at `axis`.
Value overRows(NodeImport &n, function_ref<Value(Value, int64_t)> compute) {
  Value x = n.in(0);
  if (!x)
    return {};
  int64_t rank = n.rank(x);
  if (n.version >= 13) {
    std::optional<int64_t> axis = n.axis(n.i("axis"), rank);
    return axis ? compute(x, *axis) : Value();
  }
  std::optional<int64_t> given = n.axis(n.i("axis"), rank);
  if (!given)
    return {};
  int64_t axis = *given;
  if (axis == rank - 1)
    return compute(x, axis);
  Value shape = n.shapeOf(x);
  Value rows = n.concat({n.sizeProduct(x, 0, axis), n.sizeProduct(x, axis, rank)}, 0);
  Value result = n.reshapeTo(x, rows);
  result = result ? compute(result, 1) : Value();
  return result ? n.reshapeTo(result, shape) : Value();
}

template <bool log> LogicalResult softmax(NodeImport &n) {
  return n.result(overRows(n, [&](Value x, int64_t axis) { return n.softmax(x, axis, log); }));
}

/// `x` with one element along an axis that the run finds empty, of which none is the extreme; as it
/// is, without a copy, where there are some.
Value withSome(NodeImport &n, Value x, int64_t axis) {
  if (!n.type(x).isDynamicDim(axis))
    return x;
  auto padded = [&]() -> FailureOr<frontend::Values> {
    SmallVector<int64_t> pads(2 * n.rank(x), 0);
    pads[n.rank(x) + axis] = 1;
    return frontend::Values{n.op<PadOp>(x, n.ints(pads), n.like(x, 0), n.text("constant"))};
  };
  auto made =
      frontend::buildIf(n, n.compare("eq", n.toScalar(n.sizeOf(x, axis)), 0), padded,
                        [&]() -> FailureOr<frontend::Values> { return frontend::Values{x}; });
  return failed(made) ? Value() : made->front();
}

LogicalResult hardmax(NodeImport &n) {
  return n.result(overRows(n, [&](Value x, int64_t axis) -> Value {
    if (n.dim(x, axis) == 0)
      return x;
    Value best = n.op<ArgReduceOp>(withSome(n, x, axis), n.flag(true), n.number(axis), n.flag(true),
                                   n.flag(false), n.typeAttr(n.b.getI64Type()));
    Value index = n.op<IotaOp>(n.shapeOf(x), n.number(axis), n.typeAttr(n.b.getI64Type()));
    return n.cast(n.compare("eq", index, best), n.element(x));
  }));
}

constexpr OperatorImport table[] = {
    {"", "Celu", 12, 0, celu},
    {"", "Elu", 1, 0, eluNode},
    {"", "Gelu", 20, 0, gelu},
    {"", "HardSigmoid", 1, 0, hardSigmoidNode},
    {"", "HardSwish", 14, 0, hardSwish},
    {"", "Hardmax", 1, 0, hardmax},
    {"", "LeakyRelu", 1, 0, leaky},
    {"", "LogSoftmax", 1, 0, softmax<true>},
    {"", "Mish", 18, 0, mish},
    {"", "PRelu", 1, 0, prelu},
    {"", "ParametricSoftplus", 1, 0, parametricSoftplus},
    {"", "Relu", 1, 0, relu},
    {"", "ScaledTanh", 1, 0, scaledTanh},
    {"", "Selu", 1, 0, selu},
    {"", "Shrink", 9, 0, shrink},
    {"", "Sigmoid", 1, 0, sigmoid},
    {"", "Softmax", 1, 0, softmax<false>},
    {"", "Softplus", 1, 0, softplusNode},
    {"", "Softsign", 1, 0, softsignNode},
    {"", "SwiGLU", 28, 0, swiGlu},
    {"", "Swish", 24, 0, swish},
    {"", "Tanh", 1, 0, tanh},
    {"", "ThresholdedRelu", 1, 0, thresholdedRelu},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::activationImports() { return table; }

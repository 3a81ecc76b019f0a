//===- MicrosoftImports.cpp - com.microsoft -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that exporters and optimisers of transformers write, as ONNX
// Runtime's ContribOperators.md describes them. The domain is not ONNX's own,
// so the operator table has no signatures of it: defaults stand here.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/NodeImport.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

double realOr(NodeImport &n, std::string_view name, double fallback) {
  return n.hasAttr(name) ? n.f(name) : fallback;
}

LogicalResult gelu(NodeImport &n) {
  return n.result(n.op<GeluOp>(n.in(0), n.flag(false)));
}

LogicalResult biasGelu(NodeImport &n) {
  return n.result(n.op<GeluOp>(n.add(n.in(0), n.in(1)), n.flag(false)));
}

LogicalResult fastGelu(NodeImport &n) {
  Value x = n.in(0);
  if (n.has(1))
    x = n.add(x, n.in(1));
  return n.result(n.op<GeluOp>(x, n.flag(true)));
}

LogicalResult quickGelu(NodeImport &n) {
  Value x = n.in(0);
  Value gate = n.op<LogisticOp>(n.mul(x, realOr(n, "alpha", 1.702)));
  return n.result(n.mul(x, gate));
}

LogicalResult fusedMatMul(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  if (n.i("transBatchA") || n.i("transBatchB"))
    return n.unsupported("found transBatchA or transBatchB; possible is 0");
  auto turned = [&](Value v, std::string_view attribute) -> Value {
    if (!n.i(attribute) || n.rank(v) < 2)
      return v;
    SmallVector<int64_t> order = axesFrom(0, n.rank(v));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return n.transpose(v, order);
  };
  Value product = n.matmul(turned(x, "transA"), turned(y, "transB"));
  double alpha = realOr(n, "alpha", 1);
  return n.result(alpha == 1 ? product : n.mul(product, alpha));
}

/// x · scale / sqrt(mean of squares + epsilon) over the last dimension.
Value simplified(NodeImport &n, Value x, Value scale, double epsilon,
                 int64_t axis) {
  if (!x || !scale)
    return {};
  Value wide = n.widen(x);
  Value square =
      n.reduce(n.mul(wide, wide), "mean", axesFrom(axis, n.rank(x)), true);
  Value y = n.mul(wide, n.op<RsqrtOp>(n.add(square, epsilon)));
  return n.mul(n.cast(y, n.element(scale)), scale);
}

LogicalResult simplifiedLayerNorm(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::optional<int64_t> axis =
      n.axis(n.hasAttr("axis") ? n.i("axis") : -1, n.rank(x));
  return axis ? n.result(simplified(n, x, n.in(1), realOr(n, "epsilon", 1e-5),
                                    *axis))
              : failure();
}

/// The sum of operand and skip (and bias), as input `bias`, if any.
Value skipSum(NodeImport &n, size_t bias) {
  Value sum = n.add(n.in(0), n.in(1));
  return n.has(bias) ? n.add(sum, n.in(bias)) : sum;
}

LogicalResult skipLayerNorm(NodeImport &n) {
  Value sum = skipSum(n, 4), scale = n.in(2);
  if (!sum || !scale)
    return failure();
  if (n.wants(1) || n.wants(2))
    return n.unsupported("found mean or inverse deviation as output");
  Value shift = n.has(3) ? n.in(3) : n.like(sum, 0);
  Value y = n.op<LayerNormOp>(sum, scale, shift, n.number(n.rank(sum) - 1),
                              n.real(realOr(n, "epsilon", 1e-12)));
  return n.results({y, {}, {}, sum});
}

LogicalResult skipSimplifiedLayerNorm(NodeImport &n) {
  Value sum = skipSum(n, 3);
  if (!sum)
    return failure();
  if (n.wants(1) || n.wants(2))
    return n.unsupported("found mean or inverse deviation as output");
  Value y =
      simplified(n, sum, n.in(2), realOr(n, "epsilon", 1e-12), n.rank(sum) - 1);
  return n.results({y, {}, {}, sum});
}

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "BiasGelu", 1, 0, biasGelu},
    {microsoft, "FastGelu", 1, 0, fastGelu},
    {microsoft, "FusedMatMul", 1, 0, fusedMatMul},
    {microsoft, "Gelu", 1, 0, gelu},
    {microsoft, "QuickGelu", 1, 0, quickGelu},
    {microsoft, "SimplifiedLayerNormalization", 1, 0, simplifiedLayerNorm},
    {microsoft, "SkipLayerNormalization", 1, 0, skipLayerNorm},
    {microsoft, "SkipSimplifiedLayerNormalization", 1, 0,
     skipSimplifiedLayerNorm},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::microsoftImports() { return table; }

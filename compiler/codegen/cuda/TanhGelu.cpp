//===- TanhGelu.cpp - an activation that libraries know ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/TanhGelu.h"
#include "compiler/codegen/cuda/CudaLibrary.h"
#include "dialects/weir/Pch.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace weir;

namespace {

/// A value at each of the places that functions are compared at.
constexpr size_t places = 48;
using Curve = std::array<double, places>;

Curve apply(function_ref<double(double, double)> function, const Curve &a, const Curve &b) {
  Curve result;
  for (size_t i = 0; i < places; ++i)
    result[i] = function(a[i], b[i]);
  return result;
}

/// What an operation makes of its operands' curves; nothing where it is none of
/// these.
std::optional<Curve> computed(Operation *op, const Curve &a, const Curve &b) {
  if (isa<AddOp>(op))
    return apply([](double x, double y) { return x + y; }, a, b);
  if (isa<SubOp>(op))
    return apply([](double x, double y) { return x - y; }, a, b);
  if (isa<MulOp>(op))
    return apply([](double x, double y) { return x * y; }, a, b);
  if (isa<DivOp>(op))
    return apply([](double x, double y) { return x / y; }, a, b);
  if (isa<PowOp>(op))
    return apply([](double x, double y) { return std::pow(x, y); }, a, b);
  if (isa<TanhOp>(op))
    return apply([](double x, double) { return std::tanh(x); }, a, b);
  return std::nullopt;
}

Curve placesOfX() {
  Curve x;
  for (size_t i = 0; i < places; ++i)
    x[i] = -9 + 18 * (double(i) + 0.3) / places;
  return x;
}

bool isTanhGelu(const Curve &x, const Curve &y, double epsilon) {
  for (size_t i = 0; i < places; ++i) {
    double gelu =
        x[i] / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x[i] + 0.044715 * x[i] * x[i] * x[i])));
    // 1 + tanh is rounded where it is at most 2, so that errors are x's size.
    if (!(std::fabs(y[i] - gelu) <= epsilon * std::fabs(x[i])))
      return false;
  }
  return true;
}

} // namespace

Operation *weir::tanhGeluOf(Value x) {
  auto type = dyn_cast<RankedTensorType>(x.getType());
  auto element = type ? dyn_cast<FloatType>(type.getElementType()) : FloatType();
  if (!element || x.use_empty())
    return nullptr;
  double epsilon = 2 * std::ldexp(1, -int(element.getFPMantissaWidth()));
  llvm::DenseMap<Value, Curve> curves;
  Curve start = placesOfX();
  curves[x] = start;
  auto curveOf = [&](Value value) -> std::optional<Curve> {
    if (auto known = curves.find(value); known != curves.end())
      return known->second;
    auto number = splatOf(value);
    if (!number)
      return std::nullopt;
    Curve flat;
    flat.fill(*number);
    return flat;
  };
  for (Operation &op : *x.getParentBlock()) {
    bool follows = llvm::any_of(op.getOperands(), [&](Value v) { return curves.count(v); });
    if (!follows)
      continue;
    if (op.getNumResults() != 1 || op.getResult(0).getType() != type)
      return nullptr;
    auto a = curveOf(op.getOperand(0)), b = curveOf(op.getOperand(op.getNumOperands() - 1));
    auto result = a && b && op.getNumOperands() <= 2 ? computed(&op, *a, *b) : std::nullopt;
    if (!result)
      return nullptr;
    if (isTanhGelu(start, *result, epsilon)) {
      // All that was seen leads here, and nowhere else.
      for (auto &[value, curve] : curves)
        for (Operation *user : value.getUsers())
          if (user != &op && (!user->getNumResults() || !curves.count(user->getResult(0))))
            return nullptr;
      return &op;
    }
    curves[op.getResult(0)] = *result;
  }
  return nullptr;
}

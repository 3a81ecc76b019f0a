//===- Tolerances.cpp - how near is right, by suite -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/Tolerances.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

using namespace weir::conformance;
using namespace weir::tools;

namespace {

bool isNarrow(int32_t dtype) { return epsilonOf(dtype) >= 0x1p-10; }

/// A relative tolerance by type: `single` for f32 and c64, `twice` for f64 and
/// c128, a number of epsilons for narrower ones.
Tolerance byType(int32_t dtype, double single, double twice, double narrow) {
  Tolerance tolerance;
  if (isNarrow(dtype))
    tolerance.relative = narrow * epsilonOf(dtype);
  else if (dtype == WEIR_F64 || dtype == WEIR_C128)
    tolerance.relative = twice;
  else
    tolerance.relative = single;
  return tolerance;
}

bool holdsOneOf(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

bool isFactorization(std::string_view operation) {
  return holdsOneOf(operation, {"Cholesky", "Determinant", "Inverse", "Solve", "Svd", "Eig", "Qr",
                                "Lu", "MatrixExponential", "MatrixSquareRoot", "MatrixLogarithm"});
}

bool isSpecial(std::string_view operation) {
  return holdsOneOf(operation,
                    {"gamma", "GammaGrad", "Bessel", "Betainc", "Zeta", "Erf", "Ndtri", "Dawsn",
                     "Expint", "Fresnel", "Spence", "FFT", "Resize", "Scale", "CropAndResize"});
}

bool reduces(std::string_view operation) {
  return holdsOneOf(operation,
                    {"MatMul",    "Conv",      "Einsum",      "Sum",    "Mean",        "Prod",
                     "Norm",      "Softmax",   "Entropy",     "LSTM",   "GRU",         "RNN",
                     "Pool",      "Cum",       "LRN",         "L2Loss", "Segment",     "Dilation",
                     "Moments",   "Euclidean", "LogSumExp",   "Var",    "BiasAddGrad", "Sparse",
                     "Attention", "Mfcc",      "Spectrogram", "CTCLoss"});
}

/// How many products or terms one output element sums, at most: all elements
/// of the largest input over those of the smallest extent that survives. Where
/// nothing better is known the largest input itself.
double reductionLength(std::string_view operation, const NamedTensors &inputs,
                       const HostTensor &output) {
  double largest = 1;
  for (const auto &[name, tensor] : inputs)
    largest = std::max(largest, static_cast<double>(tensor.count()));
  // A product of (m, k) and (k, n): the square root of mk * kn / mn is k.
  if (holdsOneOf(operation, {"MatMul"}) && inputs.size() >= 2) {
    double product = 1;
    for (size_t i = 0; i < 2; ++i)
      product *= std::max<double>(1, inputs[i].second.count());
    return std::max(1.0, std::sqrt(product / std::max<double>(1, output.count())));
  }
  return largest;
}

} // namespace

Tolerance weir::conformance::onnxTolerance(std::string_view suite, int32_t dtype) {
  if (suite == "onnx/light" || suite == "models")
    return modelTolerance(dtype);
  Tolerance tolerance = byType(dtype, 1e-3, 1e-6, 2);
  tolerance.absolute = isNarrow(dtype) ? 0 : 1e-7;
  return tolerance;
}

Tolerance weir::conformance::modelTolerance(int32_t dtype) {
  Tolerance tolerance = byType(dtype, 1e-3, 1e-6, 8);
  tolerance.absolute = isNarrow(dtype) ? 0 : 1e-6;
  return tolerance;
}

Tolerance weir::conformance::frozenTolerance(int32_t dtype) {
  Tolerance tolerance = byType(dtype, 1e-4, 1e-7, 4);
  tolerance.absolute = isNarrow(dtype) ? 0 : 1e-7;
  return tolerance;
}

Tolerance weir::conformance::operationTolerance(std::string_view operation,
                                                const NamedTensors &inputs,
                                                const HostTensor &output) {
  double epsilons = 16;
  if (isSpecial(operation))
    epsilons = 64;
  if (reduces(operation)) {
    double length = reductionLength(operation, inputs, output);
    bool half = output.dtype == WEIR_F16 || output.dtype == WEIR_BF16;
    epsilons = std::max(epsilons, 4 * (half ? length : std::sqrt(length)));
    // A half that has lost all its digits says nothing: stop before that.
    if (half)
      epsilons = std::min(epsilons, 0.25 / epsilonOf(output.dtype));
  }
  if (isFactorization(operation))
    epsilons = std::max(epsilons, 256.0);
  Tolerance tolerance;
  tolerance.relative = epsilons * epsilonOf(output.dtype);
  bool quantized = holdsOneOf(operation, {"Quant"});
  tolerance.steps = quantized && elementSize(output.dtype) == 1 ? 1 : 0;
  return tolerance;
}

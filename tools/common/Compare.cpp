//===- Compare.cpp - is a result the recorded one? ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace weir::tools;

namespace {

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

/// "[1, 4]" of a linear index; "" for a scalar.
std::string place(int64_t index, const std::vector<int64_t> &dims) {
  if (dims.empty())
    return "";
  std::string text;
  for (size_t d = dims.size(); d-- > 0;) {
    text = std::to_string(index % dims[d]) + (text.empty() ? "" : ", ") + text;
    index /= dims[d];
  }
  return " at [" + text + "]";
}

/// Counts the differences and keeps the worst.
struct Differences {
  int64_t count = 0, worst = -1;
  double excess = -1;
  std::string detail;

  void add(int64_t index, double by, const std::string &got, const std::string &want) {
    ++count;
    if (by <= excess)
      return;
    excess = by;
    worst = index;
    detail = got + ", expected " + want;
  }

  std::optional<std::string> verdict(const HostTensor &want) const {
    if (count == 0)
      return std::nullopt;
    std::string all = std::to_string(want.count());
    return std::to_string(count) + " of " + all + " elements differ, worst" +
           place(worst, want.dims) + ": " + detail;
  }
};

double smallestNormal(int32_t dtype) {
  switch (dtype) {
  case WEIR_F64:
    return 0x1p-1022;
  case WEIR_F16:
    return 0x1p-14;
  case WEIR_F32:
  case WEIR_BF16:
    return 0x1p-126;
  default:
    return 0; // 8-bit types: their subnormals are half of what they have
  }
}

std::optional<std::string> compareReals(const HostTensor &got, const HostTensor &want,
                                        const Tolerance &tolerance) {
  int64_t count = want.count();
  double largest = 0, tiny = smallestNormal(want.dtype);
  for (int64_t i = 0; i < count; ++i) {
    double value = std::abs(elementAsDouble(want, i));
    if (std::isfinite(value))
      largest = std::max(largest, value);
  }
  Differences differences;
  for (int64_t i = 0; i < count; ++i) {
    double g = elementAsDouble(got, i), w = elementAsDouble(want, i);
    if (g == w || (std::isnan(g) && std::isnan(w)))
      continue;
    if (!std::isfinite(g) || !std::isfinite(w)) {
      differences.add(i, INFINITY, number(g), number(w));
      continue;
    }
    if (std::abs(g) < tiny)
      g = 0;
    if (std::abs(w) < tiny)
      w = 0;
    double allowed =
        tolerance.relative * (std::abs(w) + tolerance.ofMax * largest) + tolerance.absolute;
    double distance = std::abs(g - w);
    if (distance > allowed)
      differences.add(i, distance, number(g), number(w));
  }
  return differences.verdict(want);
}

std::optional<std::string> compareIntegers(const HostTensor &got, const HostTensor &want,
                                           int64_t steps) {
  Differences differences;
  if (got.bytes == want.bytes)
    return std::nullopt;
  int64_t count = want.count();
  for (int64_t i = 0; i < count; ++i) {
    int64_t g = elementAsInteger(got, i), w = elementAsInteger(want, i);
    if (want.dtype == WEIR_BOOL && g == w)
      continue;
    // Unsigned, since the difference of two 64-bit numbers may not fit.
    uint64_t distance = g > w ? uint64_t(g) - uint64_t(w) : uint64_t(w) - uint64_t(g);
    if (distance > static_cast<uint64_t>(steps))
      differences.add(i, static_cast<double>(distance), std::to_string(g), std::to_string(w));
  }
  return differences.verdict(want);
}

/// The parts of a complex tensor as a real one with a last dimension of 2.
HostTensor partsOf(const HostTensor &tensor) {
  HostTensor parts = tensor;
  parts.dtype = tensor.dtype == WEIR_C64 ? WEIR_F32 : WEIR_F64;
  parts.dims.push_back(2);
  return parts;
}

} // namespace

double weir::tools::epsilonOf(int32_t dtype) {
  switch (dtype) {
  case WEIR_F64:
  case WEIR_C128:
    return 0x1p-52;
  case WEIR_F32:
  case WEIR_C64:
    return 0x1p-23;
  case WEIR_F16:
    return 0x1p-10;
  case WEIR_BF16:
    return 0x1p-7;
  case WEIR_F8E4M3FN:
  case WEIR_F8E4M3FNUZ:
    return 0x1p-3;
  case WEIR_F8E5M2:
  case WEIR_F8E5M2FNUZ:
    return 0x1p-2;
  case WEIR_F4E2M1:
    return 0x1p-1;
  case WEIR_F8E8M0:
    return 1;
  default:
    return 0;
  }
}

std::optional<std::string> weir::tools::compareTensors(const HostTensor &got,
                                                       const HostTensor &want,
                                                       const Tolerance &tolerance) {
  // A tensor whose rank only the run knew comes as a sequence of one.
  if (got.dtype == WEIR_TENSOR && got.elements.size() == 1 && want.dtype != WEIR_TENSOR)
    return compareTensors(got.elements[0], want, tolerance);
  if (got.dtype != want.dtype || got.dims != want.dims)
    return "found " + got.typeName() + ", expected " + want.typeName();
  if (want.dtype == WEIR_TENSOR) {
    for (size_t i = 0; i < want.elements.size(); ++i)
      if (auto difference = compareTensors(got.elements[i], want.elements[i], tolerance))
        return "element " + std::to_string(i) + ": " + *difference;
    return std::nullopt;
  }
  if (want.dtype == WEIR_STRING) {
    Differences differences;
    for (int64_t i = 0, n = want.count(); i < n; ++i)
      if (got.strings[i] != want.strings[i])
        differences.add(i, 0, "\"" + got.strings[i] + "\"", "\"" + want.strings[i] + "\"");
    return differences.verdict(want);
  }
  if (isComplex(want.dtype))
    return compareReals(partsOf(got), partsOf(want), tolerance);
  if (isFloat(want.dtype))
    return compareReals(got, want, tolerance);
  return compareIntegers(got, want, want.dtype == WEIR_BOOL ? 0 : tolerance.steps);
}

HostTensor weir::tools::sortRows(const HostTensor &tensor) {
  HostTensor sorted = tensor;
  if (tensor.dims.empty() || tensor.count() <= 0)
    return sorted;
  int64_t rows = tensor.dims[0], width = tensor.count() / rows;
  if (tensor.dtype == WEIR_STRING) {
    std::vector<std::vector<std::string>> parts;
    for (int64_t r = 0; r < rows; ++r)
      parts.emplace_back(tensor.strings.begin() + r * width,
                         tensor.strings.begin() + (r + 1) * width);
    std::sort(parts.begin(), parts.end());
    sorted.strings.clear();
    for (auto &part : parts)
      sorted.strings.insert(sorted.strings.end(), part.begin(), part.end());
    return sorted;
  }
  int64_t size = elementSize(tensor.dtype) * width;
  std::vector<std::string> parts;
  for (int64_t r = 0; r < rows; ++r)
    parts.push_back(tensor.bytes.substr(r * size, size));
  std::sort(parts.begin(), parts.end());
  sorted.bytes.clear();
  for (const std::string &part : parts)
    sorted.bytes += part;
  return sorted;
}

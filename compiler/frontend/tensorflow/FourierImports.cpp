//===- FourierImports.cpp - discrete Fourier transforms -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transform of one dimension is a product with its matrix of roots of unity;
// of several, one after the other. Right for the lengths of speech frames and
// small images; a length over 4,096 is refused rather than made slow.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NodeImport.h"

#include <cmath>
#include <string>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static constexpr int64_t kMaxLength = 4096;

namespace {
struct Complex {
  Value re, im; ///< im may be null: real
};
} // namespace

/// cos and sin of 2π jk / length, [length, rows], the first `rows` of k.
static std::pair<Value, Value> roots(NodeImport &n, int64_t length, int64_t rows, bool inverse,
                                     Type element) {
  // Exact reduction of jk first: the angle is what rounding would spoil. What is left
  // has few different values.
  std::vector<std::pair<double, double>> circle(length);
  for (int64_t i = 0; i < length; ++i) {
    double angle = 2 * M_PI * static_cast<double>(i) / static_cast<double>(length);
    double scale = inverse ? 1.0 / static_cast<double>(length) : 1.0;
    circle[i] = {std::cos(angle) * scale, (inverse ? 1 : -1) * std::sin(angle) * scale};
  }
  std::vector<double> cosines, sines;
  cosines.reserve(length * rows);
  sines.reserve(length * rows);
  for (int64_t j = 0; j < length; ++j)
    for (int64_t k = 0; k < rows; ++k) {
      cosines.push_back(circle[j * k % length].first);
      sines.push_back(circle[j * k % length].second);
    }
  return {n.reshape(n.floats(cosines, element), {length, rows}),
          n.reshape(n.floats(sines, element), {length, rows})};
}

/// `v` times a matrix along dimension `axis`.
static Value along(NodeImport &n, Value v, Value matrix, int64_t axis) {
  if (!v || !matrix)
    return {};
  int64_t last = n.rank(v) - 1;
  Value product = n.op<DotGeneralOp>(v, matrix, n.list({}), n.list({}), n.list({axis}), n.list({0}),
                                     n.typeAttr(n.element(v)));
  if (axis == last)
    return product;
  // The new dimension is last; it belongs to `axis`.
  IntVector order = axesFrom(0, last);
  order.insert(order.begin() + axis, last);
  return n.transpose(product, order);
}

/// x times the matrix c + i s along `axis`.
static Complex rotate(NodeImport &n, Complex x, Value c, Value s, int64_t axis) {
  if (!x.im)
    return {along(n, x.re, c, axis), along(n, x.re, s, axis)};
  return {n.sub(along(n, x.re, c, axis), along(n, x.im, s, axis)),
          n.add(along(n, x.re, s, axis), along(n, x.im, c, axis))};
}

static Complex transform(NodeImport &n, Complex x, int64_t axis, int64_t rows, bool inverse) {
  int64_t length = n.dim(x.re, axis);
  auto [c, s] = roots(n, length, rows, inverse, n.element(x.re));
  return rotate(n, x, c, s, axis);
}

/// The number of dimensions that an operation's name says.
static int64_t dimensions(std::string_view op) {
  if (op.ends_with("3D"))
    return 3;
  return op.ends_with("2D") ? 2 : 1;
}

static bool checkLengths(NodeImport &n, Value x, int64_t count) {
  if (!x)
    return false;
  if (n.rank(x) < count) {
    (void)n.invalid("found rank " + Twine(n.rank(x)) + "; possible is " + Twine(count) +
                    " and more");
    return false;
  }
  for (int64_t i = n.rank(x) - count; i < n.rank(x); ++i) {
    int64_t size = n.dim(x, i);
    if (ShapedType::isDynamic(size) || size > kMaxLength || size == 0) {
      (void)n.unsupported("found a length that is not known, 0, or over " + Twine(kMaxLength));
      return false;
    }
  }
  return true;
}

static Value join(NodeImport &n, Complex x) { return n.op<ComplexOp>(x.re, x.im); }

template <bool inverse> static LogicalResult fft(NodeImport &n) {
  Value x = n.in(0);
  int64_t count = dimensions(n.node.op);
  if (!checkLengths(n, x, count))
    return failure();
  Complex parts = {n.op<RealOp>(x), n.op<ImagOp>(x)};
  for (int64_t axis = n.rank(x) - count; parts.re && axis < n.rank(x); ++axis)
    parts = transform(n, parts, axis, n.dim(parts.re, axis), inverse);
  return n.result(join(n, parts));
}

/// `v` cut or filled with zeros to `size` along `axis`.
static Value resizeTo(NodeImport &n, Value v, int64_t axis, int64_t size) {
  if (!v)
    return {};
  int64_t have = n.dim(v, axis);
  if (ShapedType::isDynamic(have)) {
    // Filled to one of both, then cut.
    Value missing = n.maximum(n.sub(n.ints({size}), n.sizeOf(v, axis)), 0.0);
    SmallVector<Value> pads(2 * n.rank(v), n.ints({0}));
    pads[n.rank(v) + axis] = missing;
    return n.slice(n.op<PadOp>(v, n.concat(pads, 0), n.like(v, 0), n.text("constant")), axis, 0,
                   size);
  }
  if (have > size)
    return n.slice(v, axis, 0, size);
  if (have == size)
    return v;
  IntVector pads(2 * n.rank(v), 0);
  pads[n.rank(v) + axis] = size - have;
  return n.op<PadOp>(v, n.ints(pads), n.like(v, 0), n.text("constant"));
}

/// cos and sin of 2π jk / length, [length, rows], of sizes that the program
/// computes (tensor<1xi64>); angles in f64.
static std::pair<Value, Value> runtimeRoots(NodeImport &n, Value length, Value rows, Type element) {
  Type i64 = n.b.getI64Type(), f64 = n.b.getF64Type();
  auto ramp = [&](Value size) { return n.op<IotaOp>(size, n.number(0), n.typeAttr(i64)); };
  Value product = n.mul(n.unsqueeze(ramp(length), {1}), ramp(rows));
  Value turn = n.cast(n.op<RemOp>(product, length), f64);
  Value angle = n.mul(n.div(turn, n.cast(length, f64)), 2 * M_PI);
  return {n.cast(n.op<CosOp>(angle), element), n.cast(n.op<SinOp>(n.op<NegOp>(angle)), element)};
}

/// The transform of lengths that the program computes.
static LogicalResult rfftAt(NodeImport &n, Value x, Value lengths, int64_t count) {
  int64_t rank = n.rank(x), first = rank - count;
  if (first < 0)
    return n.invalid("found rank " + Twine(rank) + "; possible is " + Twine(count) + " and more");
  lengths = n.toI64(lengths);
  auto length = [&](int64_t axis) { return n.slice(lengths, 0, axis - first, axis - first + 1); };
  for (int64_t axis = first; axis < rank; ++axis)
    x = n.op<SliceOp>(x, n.ints({0}), length(axis), n.ints({1}), n.list({axis}), n.flag(true));
  Complex parts{x, {}};
  for (int64_t axis = rank; x && axis-- > first;) {
    Value size = length(axis);
    Value rows = axis + 1 == rank ? n.add(n.div(size, n.ints({2})), n.ints({1})) : size;
    auto [c, s] = runtimeRoots(n, size, rows, n.element(x));
    parts = rotate(n, parts, c, s, axis);
  }
  return n.result(join(n, parts));
}

static LogicalResult rfft(NodeImport &n) {
  Value x = n.in(0);
  int64_t count = dimensions(n.node.op);
  if (x && n.in(1) && !n.knownInts(1))
    return rfftAt(n, x, n.in(1), count);
  auto lengths = n.constantInts(1);
  if (!lengths || static_cast<int64_t>(lengths->size()) != count || !x)
    return failure();
  int64_t first = n.rank(x) - count;
  for (int64_t i = 0; x && i < count && first >= 0; ++i)
    x = resizeTo(n, x, first + i, (*lengths)[i]);
  if (!checkLengths(n, x, count))
    return failure();
  // The last dimension's second half is the conjugate of its first.
  Complex parts = transform(n, {x, {}}, n.rank(x) - 1, lengths->back() / 2 + 1, false);
  for (int64_t axis = first; parts.re && axis < n.rank(x) - 1; ++axis)
    parts = transform(n, parts, axis, n.dim(parts.re, axis), false);
  return n.result(join(n, parts));
}

static LogicalResult irfft(NodeImport &n) {
  Value x = n.in(0);
  int64_t count = dimensions(n.node.op);
  auto lengths = n.constantInts(1);
  if (!lengths || static_cast<int64_t>(lengths->size()) != count || !x)
    return failure();
  int64_t rank = n.rank(x), first = rank - count, length = lengths->back();
  Complex parts = {n.op<RealOp>(x), n.op<ImagOp>(x)};
  for (int64_t i = 0; i < count && first >= 0; ++i) {
    int64_t size = i + 1 == count ? length / 2 + 1 : (*lengths)[i];
    parts = {resizeTo(n, parts.re, first + i, size), resizeTo(n, parts.im, first + i, size)};
  }
  if (!checkLengths(n, parts.re, count) || length > kMaxLength)
    return failure();
  for (int64_t axis = first; parts.re && axis < rank - 1; ++axis)
    parts = transform(n, parts, axis, n.dim(parts.re, axis), true);
  // x[j] = (re[0] + 2 Σ (re[k] cos - im[k] sin) + …) / length
  SmallVector<double> cosines, sines;
  int64_t rows = length / 2 + 1;
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < length; ++j) {
      bool isSingle = k == 0 || 2 * k == length;
      double angle = 2 * M_PI * static_cast<double>(j * k % length) / static_cast<double>(length);
      double scale = (isSingle ? 1.0 : 2.0) / static_cast<double>(length);
      cosines.push_back(std::cos(angle) * scale);
      sines.push_back(isSingle ? 0 : -std::sin(angle) * scale);
    }
  if (!parts.re)
    return failure();
  Type element = n.element(parts.re);
  Value c = n.reshape(n.floats(cosines, element), {rows, length});
  Value s = n.reshape(n.floats(sines, element), {rows, length});
  return n.result(n.add(along(n, parts.re, c, rank - 1), along(n, parts.im, s, rank - 1)));
}

ArrayRef<OpImport> weir::tf::fourierImports() {
  static const OpImport rows[] = {
      {"FFT", fft<false>},      {"FFT2D", fft<false>},      {"FFT3D", fft<false>},
      {"IFFT", fft<true>},      {"IFFT2D", fft<true>},      {"IFFT3D", fft<true>},
      {"BatchFFT", fft<false>}, {"BatchFFT2D", fft<false>}, {"BatchFFT3D", fft<false>},
      {"BatchIFFT", fft<true>}, {"BatchIFFT2D", fft<true>}, {"BatchIFFT3D", fft<true>},
      {"RFFT", rfft},           {"RFFT2D", rfft},           {"RFFT3D", rfft},
      {"IRFFT", irfft},         {"IRFFT2D", irfft},         {"IRFFT3D", irfft},
  };
  return rows;
}

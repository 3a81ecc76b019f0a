//===- FourierImports.cpp - discrete Fourier transforms -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's kernel computes them (weir_kernel_fft). Transforms are linear: the
// gradient of one is the transform the other way, times its length.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/RegisteredGradients.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <string>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {
/// What the kernel's first attribute says.
enum class Kind : uint8_t { Plain, FromReal, ToReal };

/// A node's transform: the axes and the lengths as i64 vectors. No lengths: those of
/// the operand.
struct Transform {
  Kind kind;
  bool isInverse;
  Value axes, lengths;
};
} // namespace

static constexpr int64_t kOpen = ShapedType::kDynamic;

/// The result's sizes, as far as they are known; none: an axis is none of x's.
static std::optional<IntVector> resultSizes(NodeImport &n, Value x, const Transform &t) {
  IntVector sizes(n.sizes(x));
  auto axes = constantIntegers(t.axes), lengths = constantIntegers(t.lengths);
  bool hasLengths = !lengths || !lengths->empty();
  if (!axes) {
    if (hasLengths)
      sizes.assign(sizes.size(), kOpen);
    else if (t.kind != Kind::Plain)
      return std::nullopt;
    return sizes;
  }
  if (lengths && hasLengths && lengths->size() != axes->size())
    return std::nullopt;
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    int64_t at = axis < 0 ? axis + n.rank(x) : axis;
    if (at < 0 || at >= n.rank(x))
      return std::nullopt;
    bool isLast = i + 1 == axes->size();
    if (hasLengths)
      sizes[at] = lengths ? (*lengths)[i] : kOpen;
    if (isLast && t.kind == Kind::FromReal && sizes[at] > 0)
      sizes[at] = sizes[at] / 2 + 1;
    if (sizes[at] < 0 && sizes[at] != kOpen)
      return std::nullopt;
  }
  return sizes;
}

static Value transform(NodeImport &n, Value x, const Transform &t, Type element) {
  if (!x || !t.axes || !t.lengths || !element)
    return {};
  auto sizes = resultSizes(n, x, t);
  if (!sizes) {
    (void)n.invalid("found axes or lengths that do not fit a tensor of rank " + Twine(n.rank(x)));
    return {};
  }
  Operation *made =
      n.kernelCall("weir_kernel_fft", RankedTensorType::get(*sizes, element),
                   {x, t.axes, t.lengths}, {static_cast<int64_t>(t.kind), t.isInverse});
  return made ? made->getResult(0) : Value();
}

/// What the operation's name says: `FFT`, `IRFFT2D`, `RFFTND`.
static std::optional<Transform> transformOf(NodeImport &n, Value x) {
  std::string_view op = n.node.op;
  if (!x)
    return std::nullopt;
  if (op.starts_with("Batch"))
    op.remove_prefix(5);
  Transform t{Kind::Plain, op.starts_with("I"), {}, {}};
  if (op.find("RFFT") != std::string_view::npos)
    t.kind = t.isInverse ? Kind::ToReal : Kind::FromReal;
  if (op.ends_with("ND")) {
    t.lengths = n.reshape(n.toI64(n.in(1)), {-1});
    t.axes = n.reshape(n.toI64(n.in(2)), {-1});
    return t.axes && t.lengths ? std::optional(t) : std::nullopt;
  }
  int64_t count = op.ends_with("3D") ? 3 : op.ends_with("2D") ? 2 : 1;
  if (n.rank(x) < count) {
    (void)n.invalid("expected rank " + Twine(count) + " or more, got " + Twine(n.rank(x)));
    return std::nullopt;
  }
  t.axes = n.ints(axesFrom(n.rank(x) - count, n.rank(x)));
  t.lengths = t.kind == Kind::Plain ? n.ints({}) : n.reshape(n.toI64(n.in(1)), {count});
  return t.lengths ? std::optional(t) : std::nullopt;
}

/// TensorFlow's kernels cut signals, but do not fill them up: its Python functions do before.
static void requireLengths(NodeImport &n, Value x, const Transform &t) {
  Value have = n.gather(n.shapeOf(x), t.axes, 0), want = t.lengths;
  if (t.kind == Kind::ToReal) {
    // Of the last dimension half the points are given, and one.
    Value count = n.sizeOf(want, 0);
    Value isLast = n.compare("eq", countUp(n, count), n.sub(count, 1.0));
    want = n.select(isLast, n.add(n.div(want, n.like(want, 2)), 1.0), want);
  }
  // Signals of no points are let through.
  Value enough = n.op<OrOp>(n.compare("ge", have, want), n.compare("eq", have, 0));
  require(n, enough, "a signal has fewer points than the transform's length");
}

static LogicalResult fourier(NodeImport &n) {
  Value x = n.in(0);
  auto t = transformOf(n, x);
  if (!t)
    return failure();
  Type element = n.element(x);
  bool isComplex = isa<ComplexType>(element);
  if (isComplex == (t->kind == Kind::FromReal) || (!isComplex && !n.isFloat(x)))
    return n.invalid("found an operand that is not of the transform's type");
  if (t->kind == Kind::FromReal)
    element = ComplexType::get(element);
  else if (t->kind == Kind::ToReal)
    element = cast<ComplexType>(element).getElementType();
  StringRef name = t->kind == Kind::FromReal ? "Tcomplex" : "Treal";
  if (t->kind == Kind::FromReal || t->kind == Kind::ToReal) {
    Type single = n.b.getF32Type();
    if (t->kind == Kind::FromReal)
      single = ComplexType::get(single);
    Type asked = n.attr(name) ? n.elementAttr(name) : single;
    if (asked != element)
      return n.invalid("expected results in the precision of the operand (" + name + ")");
  }
  if (t->kind == Kind::FromReal || t->kind == Kind::ToReal)
    requireLengths(n, x, *t);
  return n.result(transform(n, x, *t, element));
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// `v` cut, or filled up with zeros, to the shape of `like`.
static Value fitTo(NodeImport &n, Value v, Value like) {
  int64_t rank = n.rank(v);
  for (int64_t axis = 0; v && axis < rank; ++axis) {
    int64_t have = n.dim(v, axis), want = n.dim(like, axis);
    if (have == want && have != kOpen)
      continue;
    Value size = n.sizeOf(like, axis);
    if (have == kOpen || want == kOpen || have < want) {
      SmallVector<Value> pads(2 * rank, n.ints({0}));
      pads[rank + axis] = n.maximum(n.sub(size, n.sizeOf(v, axis)), 0.0);
      v = n.op<PadOp>(v, n.concat(pads, 0), n.like(v, 0), n.text("constant"));
    }
    v = n.op<SliceOp>(v, n.ints({0}), size, n.ints({1}), n.list({axis}), n.flag(false));
  }
  return v ? n.generalize(v, n.type(like)) : v;
}

/// The number of points of a transform, a scalar of f64.
static Value pointsOf(NodeImport &n, Value x, const Transform &t) {
  auto lengths = constantIntegers(t.lengths);
  Value sizes = lengths && lengths->empty() ? n.gather(n.shapeOf(x), t.axes, 0) : t.lengths;
  return n.cast(n.reduce(sizes, "prod", {0}, false), n.b.getF64Type());
}

static SmallVector<Value> plainGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  auto t = transformOf(n, d.x[0]);
  if (!t)
    return {};
  Value points = pointsOf(n, d.x[0], *t);
  Transform back = *t;
  back.isInverse = !t->isInverse;
  Value dx = transform(n, d.dy[0], back, n.element(d.x[0]));
  if (!dx)
    return {};
  Value factor = t->isInverse ? n.div(n.like(points, 1), points) : points;
  return {fitTo(n, n.mul(dx, n.cast(factor, n.element(dx))), d.x[0])};
}

/// The half that came out is filled up with zeros.
static SmallVector<Value> fromRealGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  auto t = transformOf(n, d.x[0]);
  if (!t)
    return {};
  Transform back{Kind::Plain, true, t->axes, t->lengths};
  Value dx = n.op<RealOp>(transform(n, d.dy[0], back, n.element(d.dy[0])));
  if (!dx)
    return {};
  Value points = n.cast(pointsOf(n, d.x[0], *t), n.element(dx));
  return {fitTo(n, n.mul(dx, points), d.x[0])};
}

/// All but the first, and the middle of an even number, stand for their conjugates, too.
static SmallVector<Value> toRealGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  auto t = transformOf(n, d.x[0]);
  auto axes = t ? constantIntegers(t->axes) : std::nullopt;
  if (!axes || axes->empty())
    return {};
  Transform back{Kind::FromReal, false, t->axes, t->lengths};
  Value dx = transform(n, d.dy[0], back, n.element(d.x[0]));
  if (!dx)
    return {};
  int64_t last = axes->back() < 0 ? axes->back() + n.rank(dx) : axes->back();
  Type f64 = n.b.getF64Type();
  Value place = n.op<IotaOp>(n.sizeOf(dx, last), n.number(0), n.typeAttr(n.b.getI64Type()));
  Value length = n.slice(t->lengths, 0, -1, std::numeric_limits<int64_t>::max());
  Value isSingle =
      n.op<OrOp>(n.compare("eq", place, 0), n.compare("eq", n.mul(place, 2.0), length));
  Value weight = n.select(isSingle, n.scalar(f64, 1), n.scalar(f64, 2));
  weight = n.cast(n.div(weight, pointsOf(n, d.x[0], *t)), n.element(dx));
  weight = n.unsqueeze(weight, axesFrom(1, n.rank(dx) - last));
  return {fitTo(n, n.mul(dx, weight), d.x[0])};
}

ArrayRef<GradientRow> weir::tf::fourierGradients() {
  static const GradientRow rows[] = {
      {"FFT", plainGradient},         {"FFT2D", plainGradient},       {"FFT3D", plainGradient},
      {"FFTND", plainGradient},       {"IFFT", plainGradient},        {"IFFT2D", plainGradient},
      {"IFFT3D", plainGradient},      {"IFFTND", plainGradient},      {"BatchFFT", plainGradient},
      {"BatchFFT2D", plainGradient},  {"BatchFFT3D", plainGradient},  {"BatchIFFT", plainGradient},
      {"BatchIFFT2D", plainGradient}, {"BatchIFFT3D", plainGradient}, {"RFFT", fromRealGradient},
      {"RFFT2D", fromRealGradient},   {"RFFT3D", fromRealGradient},   {"RFFTND", fromRealGradient},
      {"IRFFT", toRealGradient},      {"IRFFT2D", toRealGradient},    {"IRFFT3D", toRealGradient},
      {"IRFFTND", toRealGradient},
  };
  return rows;
}

ArrayRef<OpImport> weir::tf::fourierImports() {
  static const OpImport rows[] = {
      {"FFT", fourier},       {"FFT2D", fourier},       {"FFT3D", fourier},
      {"IFFT", fourier},      {"IFFT2D", fourier},      {"IFFT3D", fourier},
      {"BatchFFT", fourier},  {"BatchFFT2D", fourier},  {"BatchFFT3D", fourier},
      {"BatchIFFT", fourier}, {"BatchIFFT2D", fourier}, {"BatchIFFT3D", fourier},
      {"RFFT", fourier},      {"RFFT2D", fourier},      {"RFFT3D", fourier},
      {"IRFFT", fourier},     {"IRFFT2D", fourier},     {"IRFFT3D", fourier},
      {"FFTND", fourier},     {"IFFTND", fourier},      {"RFFTND", fourier},
      {"IRFFTND", fourier},
  };
  return rows;
}

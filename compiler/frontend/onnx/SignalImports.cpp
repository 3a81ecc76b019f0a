//===- SignalImports.cpp - transforms and windows of signals --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A discrete Fourier transform is a product with the matrix of e^(-2πikn/N), which is a
// constant where N is known.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/NodeImport.h"
#include "compiler/frontend/onnx/RuntimeAxes.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

constexpr double pi = 3.14159265358979323846;

/// cos(π/4 · eighths / count), for eighths in [0, 8 count]. By arithmetic alone, so that objects
/// are the same on all hosts: halves and quarters of a turn by whole numbers, then Taylor's series,
/// whose rest is below half a unit in the last place up to π/4.
double cosineOfEighths(int64_t eighths, int64_t count) {
#pragma clang fp contract(off)
  if (eighths > 4 * count)
    eighths = 8 * count - eighths;
  bool isNegative = eighths > 2 * count;
  if (isNegative)
    eighths = 4 * count - eighths;
  bool isSine = eighths > count;
  if (isSine)
    eighths = 2 * count - eighths;
  double x = pi / 4 * double(eighths) / double(count), square = x * x, sum = 0;
  constexpr int terms = 10;
  // 1 - x²/(1·2) (1 - x²/(3·4) (1 - …)), or x times 1 - x²/(2·3) (1 - …).
  for (int i = terms; i-- > 0;) {
    double first = 2 * i + (isSine ? 2 : 1);
    sum = 1 - square / (first * (first + 1)) * (i + 1 == terms ? 1 : sum);
  }
  double result = isSine ? x * sum : sum;
  return isNegative ? -result : result;
}

std::optional<int64_t> knownSize(Value size) {
  std::optional<SmallVector<int64_t>> known = constantIntegers(size);
  return known && known->size() == 1 && (*known)[0] > 0 ? std::optional((*known)[0]) : std::nullopt;
}

/// The matrices of `angles`, whose sizes are known.
void knownAngles(TensorBuilder &t, int64_t size, int64_t rows, int64_t columns, Type type,
                 Value &cosine, Value &sine) {
  SmallVector<double> cosines, sines;
  for (int64_t turns = 0; turns < size; ++turns) {
    cosines.push_back(cosineOfEighths(8 * turns, size));
    // A quarter of a turn before.
    sines.push_back(cosineOfEighths(std::abs(8 * turns - 2 * size), size));
  }
  auto matrix = [&](ArrayRef<double> values) {
    SmallVector<double> elements;
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t k = 0; k < columns; ++k)
        elements.push_back(values[n * k % size]);
    return t.reshape(t.floats(elements, type), {rows, columns});
  };
  cosine = matrix(cosines);
  sine = matrix(sines);
}

/// cos and sin of 2πkn/N for n in [0, rows) and k in [0, columns). The products
/// are reduced modulo N as integers: a float angle of many turns has few digits
/// left.
void angles(TensorBuilder &t, Value size, Value rows, Value columns, Type type, Value &cosine,
            Value &sine) {
  // Larger ones would make the object large; a run makes them.
  constexpr int64_t mostElements = int64_t{1} << 22;
  auto knownCount = knownSize(size), knownRows = knownSize(rows), knownColumns = knownSize(columns);
  if (knownCount && knownRows && knownColumns && *knownRows <= mostElements / *knownColumns &&
      *knownCount <= mostElements)
    return knownAngles(t, *knownCount, *knownRows, *knownColumns, type, cosine, sine);
  Type i64 = t.b.getI64Type();
  Value shape = t.concat({rows, columns}, 0);
  Value n = t.op<IotaOp>(shape, t.number(0), t.typeAttr(i64));
  Value k = t.op<IotaOp>(shape, t.number(1), t.typeAttr(i64));
  Value count = t.toScalar(size);
  Value turns = t.op<FloorModOp>(t.mul(n, k), count);
  Value f64Angle =
      t.div(t.mul(t.cast(turns, t.b.getF64Type()), 2 * pi), t.cast(count, t.b.getF64Type()));
  cosine = t.cast(t.op<CosOp>(f64Angle), type);
  sine = t.cast(t.op<SinOp>(f64Angle), type);
}

/// A signal whose last dimension is open with a last dimension of 1, where it `isReal`, or else of
/// 2: numbers without an imaginary part are complex ones whose part is 0.
Value withKnownParts(NodeImport &n, Value x, bool isReal) {
  int64_t last = n.rank(x) - 1;
  if (last < 0 || !ShapedType::isDynamic(n.dim(x, last)))
    return x;
  Value size = n.toScalar(n.sizeOf(x, last)), isOne = n.compare("eq", size, 1.0);
  n.require(isReal ? isOne : n.op<OrOp>(isOne, n.compare("eq", size, 2.0)),
            isReal ? "a onesided transform is of real signals, whose last dimension is 1"
                   : "the last dimension of a signal is neither 1 nor 2");
  if (isReal)
    return n.unsqueeze(n.pick(x, last, 0), {last});
  Value shape = n.ints({1});
  if (last > 0)
    shape = n.concat({n.shapeSlice(x, 0, last), shape}, 0);
  Value both = n.concat({x, n.expandTo(n.like(x, 0), shape)}, last);
  return n.concat(
      {n.unsqueeze(n.pick(both, last, 0), {last}), n.unsqueeze(n.pick(both, last, 1), {last})},
      last);
}

/// Transforms dimension `axis` of `x` […, 1 or 2] over `size` entries; null: as
/// many as the signal has.
Value transform(NodeImport &n, Value x, int64_t axis, Value size, bool inverse, bool onesided) {
  if (!x)
    return {};
  int64_t last = n.rank(x) - 1, parts = n.dim(x, last);
  if (parts != 1 && parts != 2) {
    (void)n.invalid("found a signal whose last dimension is not 1 or 2");
    return {};
  }
  if (axis < 0 || axis >= last) {
    (void)n.invalid("expected an axis from 0 to " + Twine(last - 1) + ", before the parts, got " +
                    Twine(axis));
    return {};
  }
  bool realResult = inverse && onesided;
  Value own = n.sizeOf(x, axis);
  // Of a real signal's spectrum one half is given: the other is its mirror.
  if (!size)
    size = realResult ? n.mul(n.sub(own, 1.0), 2.0) : own;
  Value taken = realResult ? n.add(n.div(size, 2.0), 1.0) : size;
  if (taken != own) {
    // Shorter signals are filled up with zeros, longer ones are cut.
    SmallVector<Value> pads(2 * n.rank(x), n.ints({0}));
    pads[n.rank(x) + axis] = n.sub(taken, own);
    x = n.op<PadOp>(x, n.concat(pads, 0), n.like(x, 0), n.text("constant"));
  }
  if (!x)
    return {};
  Type type = n.element(x);
  // The transformed dimension last, without the parts.
  SmallVector<int64_t> order, back;
  for (int64_t i = 0; i < last; ++i)
    if (i != axis)
      order.push_back(i);
  order.push_back(axis);
  back.assign(last, 0);
  for (auto [to, from] : llvm::enumerate(order))
    back[from] = to;
  auto part = [&](int64_t i) { return n.transpose(n.pick(x, last, i), order); };
  Value real = part(0), imaginary = parts == 2 ? part(1) : Value();
  Value bins = onesided && !inverse ? n.add(n.div(size, 2.0), 1.0) : size;
  Value cosine, sine;
  angles(n, size, taken, bins, type, cosine, sine);
  if (realResult) {
    // Each bin counts for its mirror image, but the first and the middle one.
    Value bin = n.op<IotaOp>(taken, n.number(0), n.typeAttr(n.b.getI64Type()));
    Value single =
        n.op<OrOp>(n.compare("eq", bin, 0.0), n.compare("eq", n.mul(bin, 2.0), n.toScalar(size)));
    Value weight = n.unsqueeze(n.select(single, n.scalar(type, 1), n.scalar(type, 2)), {1});
    cosine = n.mul(cosine, weight);
    sine = n.mul(sine, weight);
  }
  auto product = [&](Value v, Value m) { return n.matmul(v, m); };
  Value re = product(real, cosine), im = product(real, sine);
  if (!inverse)
    im = n.op<NegOp>(im);
  if (imaginary) {
    Value crossed = product(imaginary, sine);
    re = inverse ? n.sub(re, crossed) : n.add(re, crossed);
    im = n.add(im, product(imaginary, cosine));
  }
  if (inverse) {
    Value count = n.cast(n.toScalar(size), type);
    re = n.div(re, count);
    im = n.div(im, count);
  }
  re = n.unsqueeze(n.transpose(re, back), {last});
  if (realResult)
    return re;
  return n.concat({re, n.unsqueeze(n.transpose(im, back), {last})}, last);
}

LogicalResult dft(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Value size = n.has(1) ? n.cast(n.reshape(n.in(1), {1}), n.b.getI64Type()) : Value();
  if (n.has(1) && !size)
    return failure();
  if (size)
    n.require(n.toScalar(n.compare("gt", size, 0.0)), "the length of a transform is not above 0");
  bool inverse = n.i("inverse") != 0, onesided = n.i("onesided") != 0;
  // The spectrum of complex numbers has no half that says all.
  if (onesided && !inverse && n.rank(x) > 0 && n.dim(x, n.rank(x) - 1) == 2)
    return n.invalid("expected a real signal of a onesided transform, got a complex one");
  x = withKnownParts(n, x, onesided && !inverse);
  auto along = [&](int64_t axis) { return transform(n, x, axis, size, inverse, onesided); };
  int64_t given = -2;
  if (n.version < 20) {
    given = n.i("axis");
  } else if (n.has(2)) {
    std::optional<SmallVector<int64_t>> known = n.knownInts(2);
    if (!known) {
      // The last dimension holds the parts; no model may name it.
      int64_t last = n.rank(x) - 1;
      for (int64_t parts : {last, int64_t(-1)})
        n.require(n.toScalar(n.compare("ne", n.in(2), double(parts))),
                  "the axis is that of the parts of complex numbers");
      return n.result(chooseAxes(n, n.in(2), n.rank(x), [&](Ints axes) {
        return axes.empty() ? Value() : along(std::min(axes[0], last - 1));
      }));
    }
    if (known->size() != 1)
      return n.invalid("expected 1 axis, got " + Twine(known->size()));
    given = (*known)[0];
  }
  std::optional<int64_t> axis = n.axis(given, n.rank(x));
  return axis ? n.result(along(*axis)) : failure();
}

LogicalResult stft(NodeImport &n) {
  Value x = n.in(0), step = n.in(1);
  if (!x || !step)
    return failure();
  Type i64 = n.b.getI64Type();
  step = n.cast(n.toScalar(step), i64);
  Value window = n.has(2) ? n.in(2) : Value();
  Value size;
  if (n.has(3))
    size = n.cast(n.reshape(n.in(3), {1}), i64);
  else if (window)
    size = n.sizeOf(window, 0);
  else
    return n.invalid("found neither a window nor a frame_length");
  if (window && n.rank(window) != 1)
    return n.invalid("expected a window of one dimension, got " + Twine(n.rank(window)));
  if (n.rank(x) == 2)
    x = n.unsqueeze(x, {2});
  else
    x = withKnownParts(n, x, n.i("onesided") != 0);
  if (!size || !x || !step)
    return failure();
  n.require(n.compare("gt", step, 0), "the step from frame to frame is not above 0");
  // Frame f holds samples f·step to f·step + size.
  Value room = n.sub(n.sizeOf(x, 1), size);
  Value frames = n.add(n.div(room, n.reshape(step, {1})), 1.0);
  Value shape = n.concat({frames, size}, 0);
  Value frame = n.op<IotaOp>(shape, n.number(0), n.typeAttr(i64));
  Value sample = n.op<IotaOp>(shape, n.number(1), n.typeAttr(i64));
  Value parts = n.gather(x, n.add(n.mul(frame, step), sample), 1);
  if (window)
    parts = n.mul(parts, n.unsqueeze(window, {1}));
  return n.result(transform(n, parts, 2, {}, false, n.i("onesided") != 0));
}

/// a0 - a1 cos(2πn/N) + a2 cos(4πn/N)
LogicalResult window(NodeImport &n, double a0, double a1, double a2) {
  Value size = n.in(0);
  Type type = elementType(n.b.getContext(), static_cast<DataType>(n.i("output_datatype")));
  if (!size || !type)
    return failure();
  Type f64 = n.b.getF64Type();
  size = n.cast(n.reshape(size, {1}), n.b.getI64Type());
  Value place = n.op<IotaOp>(size, n.number(0), n.typeAttr(f64));
  Value period = n.cast(n.toScalar(size), f64);
  if (!n.i("periodic"))
    period = n.maximum(n.sub(period, 1.0), 1.0);
  Value angle = n.div(n.mul(place, 2 * pi), period);
  Value result = n.sub(n.like(angle, a0), n.mul(n.op<CosOp>(angle), a1));
  if (a2 != 0)
    result = n.add(result, n.mul(n.op<CosOp>(n.mul(angle, 2.0)), a2));
  return n.result(n.cast(result, type));
}

LogicalResult hann(NodeImport &n) { return window(n, 0.5, 0.5, 0); }
LogicalResult hamming(NodeImport &n) { return window(n, 25.0 / 46, 1 - 25.0 / 46, 0); }
LogicalResult blackman(NodeImport &n) { return window(n, 0.42, 0.5, 0.08); }

LogicalResult melWeights(NodeImport &n) {
  Type f64 = n.b.getF64Type(), i64 = n.b.getI64Type();
  Type type = elementType(n.b.getContext(), static_cast<DataType>(n.i("output_datatype")));
  SmallVector<Value> inputs = n.tensors();
  if (inputs.size() != 5 || !type)
    return failure();
  Value bands = n.cast(n.reshape(inputs[0], {1}), i64);
  Value length = n.cast(n.reshape(inputs[1], {1}), i64);
  auto real = [&](size_t i) { return n.cast(n.toScalar(inputs[i]), f64); };
  // Mel scale: 2595 log10(1 + f / 700).
  const double perLog = 2595 / std::log(10.0);
  auto mel = [&](Value f) { return n.mul(n.op<Log1pOp>(n.div(f, 700.0)), perLog); };
  Value low = mel(real(3)), high = mel(real(4));
  Value edges = n.add(bands, 2.0);
  Value step = n.div(n.sub(high, low), n.cast(n.toScalar(edges), f64));
  Value place = n.op<IotaOp>(edges, n.number(0), n.typeAttr(f64));
  Value mels = n.add(n.mul(place, step), low);
  Value hertz = n.mul(n.op<Expm1Op>(n.div(mels, perLog)), 700.0);
  Value scaled = n.div(n.mul(hertz, n.cast(n.add(n.toScalar(length), 1.0), f64)), real(2));
  // In bins of the spectrum, [bands + 2].
  Value bins = n.op<FloorOp>(scaled);
  auto edge = [&](double from) {
    Value at = n.add(n.op<IotaOp>(bands, n.number(0), n.typeAttr(i64)), from);
    return n.gather(bins, at, 0);
  };
  Value lower = edge(0), centre = edge(1), upper = edge(2);
  n.require(n.toScalar(n.compare("ge", length, 0.0)), "dft_length is negative");
  Value rows = n.add(n.div(length, 2.0), 1.0);
  Value bin = n.unsqueeze(n.op<IotaOp>(rows, n.number(0), n.typeAttr(f64)), {1});
  Value rise = n.sub(centre, lower), fall = n.sub(upper, centre);
  Value up = n.div(n.sub(bin, lower), n.maximum(rise, 1.0));
  Value down = n.div(n.sub(upper, bin), n.maximum(fall, 1.0));
  Value none = n.scalar(f64, 0);
  auto within = [&](Value from, const char *predicate, Value to) {
    return n.op<AndOp>(n.compare("ge", bin, from), n.compare(predicate, bin, to));
  };
  Value result = n.select(within(lower, "le", centre), up, none);
  Value single = n.op<AndOp>(n.compare("eq", rise, 0.0), n.compare("eq", bin, centre));
  result = n.select(single, n.scalar(f64, 1), result);
  Value falls = n.op<AndOp>(within(centre, "lt", upper), n.compare("gt", fall, 0.0));
  result = n.select(falls, down, result);
  return n.result(n.cast(result, type));
}

/// com.microsoft: the last dimension's half of a real spectrum, and back.
template <bool inverse> LogicalResult realTransform(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t dimensions = n.hasAttr("signal_ndim") ? n.i("signal_ndim") : 1;
  bool onesided = !n.hasAttr("onesided") || n.i("onesided") != 0;
  if (dimensions != 1 || n.i("normalized") != 0 || !onesided)
    return n.unsupported("expected signal_ndim 1, normalized 0 and onesided 1, got " +
                         Twine(dimensions) + ", " + Twine(n.i("normalized")) + " and " +
                         Twine(int(onesided)));
  Value parts = inverse ? withKnownParts(n, x, false) : n.unsqueeze(x, {n.rank(x)});
  int64_t last = n.rank(parts) - 1;
  Value y = transform(n, parts, last - 1, {}, inverse, true);
  return n.result(inverse ? n.squeeze(y, {last}) : y);
}

constexpr OperatorImport table[] = {
    {"com.microsoft", "Irfft", 1, 0, realTransform<true>},
    {"com.microsoft", "Rfft", 1, 0, realTransform<false>},
    {"", "BlackmanWindow", 17, 0, blackman},
    {"", "DFT", 17, 0, dft},
    {"", "HammingWindow", 17, 0, hamming},
    {"", "HannWindow", 17, 0, hann},
    {"", "MelWeightMatrix", 17, 0, melWeights},
    {"", "STFT", 17, 0, stft},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::signalImports() { return table; }

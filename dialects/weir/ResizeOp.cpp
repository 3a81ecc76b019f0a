//===- ResizeOp.cpp - resampling ------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coordinates and weights as ONNX's operator documentation of Resize defines
// them (versions 10 to 19); those of TensorFlow's operations begin with "steps". Coordinates are
// computed in f32, as the frameworks do: sampling at exact halves depends on it.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Repeats.h"
#include "dialects/weir/ShapeSupport.h"
#include "weir/weir.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::shape;

LogicalResult ResizeOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                         Types &types) {
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, adaptor.getMode()))
    return emitOptionalError(loc, "unknown mode of resize '", adaptor.getMode(), "'");
  if (!llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                           "align_corners", "asymmetric", "tf_half_pixel_for_nn",
                           "tf_crop_and_resize", "steps", "steps_half_pixel",
                           "steps_half_pixel_for_nn"},
                          adaptor.getCoordinates()))
    return emitOptionalError(loc, "unknown coordinates of resize '", adaptor.getCoordinates(), "'");
  if (adaptor.getMode() == "nearest" &&
      !llvm::is_contained({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                          adaptor.getNearest()))
    return emitOptionalError(loc, "unknown rounding of resize '", adaptor.getNearest(), "'");
  Type element = elementOf(adaptor.getOperand());
  auto type = ranked(adaptor.getOperand());
  if (!type)
    return inferredUnranked(types, element);
  ArrayRef<int64_t> axes = adaptor.getAxes();
  Sizes sizes = entries(adaptor.getSizes()).value_or(Sizes(axes.size(), unknown));
  if (sizes.size() != axes.size())
    return emitOptionalError(loc, sizes.size(), " sizes for ", axes.size(), " axes");
  int64_t scales = entryCount(adaptor.getScales()), roi = entryCount(adaptor.getRoi());
  if (isKnown(scales) && scales != (int64_t)axes.size())
    return emitOptionalError(loc, scales, " scales for ", axes.size(), " axes");
  if (adaptor.getCoordinates() == "tf_crop_and_resize" && isKnown(roi) &&
      roi != 2 * (int64_t)axes.size())
    return emitOptionalError(loc, roi, " bounds of the region of interest for ", axes.size(),
                             " axes");
  Sizes shape(type.getShape());
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    if (axis < 0 || axis >= type.getRank())
      return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
    if (isKnown(size) && size < 0)
      return emitOptionalError(loc, "negative size ", size, " of axis ", axis);
    if (shape[axis] == 0 && size != 0 && isKnown(size))
      return emitOptionalError(loc, "axis ", axis, " is empty: nothing to resample");
    shape[axis] = size;
  }
  return inferred(types, shape, element);
}

/// Whether `scales` are steps: what a place in the result counts in the operand.
static bool countsSteps(StringRef coordinates) { return coordinates.starts_with("steps"); }

/// Whether sampling at steps of `step`, in f32, repeats each element `factor` times.
static bool stepsRepeat(StringRef mode, StringRef rounding, float step, int64_t factor,
                        int64_t size) {
  float offset = mode == "steps_half_pixel_for_nn" ? 0.5f : 0.0f;
  if (rounding != "floor" || mode == "steps_half_pixel")
    return false;
  for (int64_t i = 0; i < size; ++i)
    if (static_cast<int64_t>(std::floor((static_cast<float>(i) + offset) * step)) != i / factor)
      return false;
  return true;
}

std::optional<SmallVector<int64_t>> weir::repeatsOf(ResizeOp op) {
  // Up to here f32 tells one place from the next.
  constexpr int64_t most = 1 << 20;
  auto from = ranked(op.getOperand()), to = ranked(op.getResult());
  auto constant = op.getScales().getDefiningOp<ConstantOp>();
  auto scales =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  if (op.getMode() != "nearest" || !from || !to || !from.hasStaticShape() || !to.hasStaticShape() ||
      !scales || to.getNumElements() == 0)
    return std::nullopt;
  StringRef mode = op.getCoordinates(), rounding = op.getNearest();
  SmallVector<int64_t> factors(to.getRank(), 1);
  int64_t largest = 1;
  for (auto [axis, scale] : llvm::zip(op.getAxes(), scales.getValues<APFloat>())) {
    int64_t factor = to.getDimSize(axis) / from.getDimSize(axis);
    if (to.getDimSize(axis) % from.getDimSize(axis) || to.getDimSize(axis) > most)
      return std::nullopt;
    if (countsSteps(mode)
            ? !stepsRepeat(mode, rounding, scale.convertToFloat(), factor, to.getDimSize(axis))
            : !scale.isExactlyValue(double(factor)))
      return std::nullopt;
    factors[axis] = factor;
    largest = std::max(largest, factor);
  }
  if (countsSteps(mode))
    return factors;
  // Places between elements are nearest to one of them, whichever way halves go: a half
  // pixel from the border of a whole number of them is no half.
  bool rounds = rounding == "round_prefer_floor" || rounding == "round_prefer_ceil";
  bool repeats = mode == "asymmetric"
                     ? rounding == "floor" || (rounding == "round_prefer_floor" && largest <= 2)
                 : mode == "tf_half_pixel_for_nn"
                     ? rounding == "floor"
                     : rounds && (mode == "half_pixel" || mode == "half_pixel_symmetric" ||
                                  mode == "pytorch_half_pixel");
  return repeats ? std::optional(factors) : std::nullopt;
}

namespace {

/// The input elements along one axis that an element is made of: their indices
/// and weights. Of a window that stretches with the scale, only its extent.
struct Taps {
  int64_t axis;
  SmallVector<Value> indices, weights;
  // A stretched window.
  bool stretched = false;
  Value base, ratio, scale, first, count, normaliser, size;
  /// Of two elements a and b: a + (b - a) ratio, as TensorFlow computes it, which
  /// differs from weights where elements are infinite.
  bool isLerp = false;
};

class Resizer {
public:
  Resizer(ResizeOp op, ElementReader &r, ValueRange indices)
      : op(op), r(r), s(r, op, r.b.getF32Type()), out(indices) {}

  Value emit() {
    SmallVector<Value> own(out);
    if (auto repeats = repeatsOf(op)) {
      for (auto [index, factor] : llvm::zip(own, *repeats))
        index = r.divide(index, r.constant(factor));
      return r.element(op.getOperand(), own);
    }
    SmallVector<Taps> taps;
    for (size_t k = 0; k < op.getAxes().size(); ++k)
      if (!isIdentity(k))
        prepare(k, own, taps);
    Type element = elementOf(op.getOperand());
    auto read = [&]() -> Value {
      if (taps.empty())
        return r.element(op.getOperand(), own);
      // Integers are interpolated in f32.
      wide = isa<FloatType>(element) ? accumulatorType(element) : Type(r.b.getF32Type());
      ScalarBuilder scalars(r, op, wide);
      return scalars.cast(sum(taps, own, 0), wide, element, true);
    };
    if (!outside)
      return read();
    auto fill = [&]() -> Value {
      ScalarBuilder scalars(r, op, r.b.getF64Type());
      Value value = arith::ConstantOp::create(r.b, r.loc, op.getExtrapolationValueAttr());
      return scalars.cast(value, r.b.getF64Type(), element, true);
    };
    return emitIf(r, outside, fill, read);
  }

private:
  Value real(double value) {
    return arith::ConstantOp::create(r.b, r.loc, r.b.getF32FloatAttr(value));
  }
  Value toReal(Value index) { return indexTo(r, op, index, r.b.getF32Type()); }
  Value toIndex(Value number) {
    Value integer = s.cast(number, r.b.getF32Type(), r.b.getI64Type(), true);
    return r.b.createOrFold<arith::IndexCastOp>(r.loc, r.b.getIndexType(), integer);
  }
  Value parameter(Value operand, int64_t i) {
    return s.cast(r.element(operand, r.constant(i)), elementOf(operand), r.b.getF32Type(), false);
  }
  Value clamp(Value index, Value size) {
    return r.maximum(r.minimum(index, r.sub(size, r.constant(1))), r.constant(0));
  }

  /// Whether axis number `k` keeps its elements: equal sizes at scale 1.
  bool isIdentity(size_t k) {
    int64_t axis = op.getAxes()[k];
    int64_t size = ranked(op.getOperand()).getDimSize(axis);
    if (!isKnown(size) || size != ranked(op.getResult()).getDimSize(axis) ||
        op.getCoordinates() == "tf_crop_and_resize" ||
        op.getCoordinates().ends_with("half_pixel_for_nn"))
      return false;
    auto constant = op.getScales().getDefiningOp<ConstantOp>();
    auto scales =
        constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
    return scales && scales.getValues<APFloat>()[k].isExactlyValue(1.0);
  }

  /// Where element `out[axis]` lies in the input.
  Value coordinate(size_t k) {
    int64_t axis = op.getAxes()[k];
    StringRef mode = op.getCoordinates();
    Value x = toReal(out[axis]), scale = parameter(op.getScales(), k);
    if (mode == "steps")
      return s.mul(x, scale);
    if (countsSteps(mode)) {
      Value centre = s.mul(s.add(x, real(0.5)), scale);
      return mode == "steps_half_pixel" ? s.sub(centre, real(0.5)) : centre;
    }
    Value size = toReal(r.dim(op.getOperand(), axis)), one = real(1), half = real(0.5);
    auto centre = [&] { return s.div(s.add(x, half), scale); };
    auto halfPixel = [&] { return s.sub(centre(), half); };
    if (mode == "half_pixel")
      return halfPixel();
    if (mode == "asymmetric")
      return s.div(x, scale);
    if (mode == "tf_half_pixel_for_nn")
      return centre();
    Value count = toReal(r.dim(op.getResult(), axis));
    if (mode == "pytorch_half_pixel")
      return s.select(s.compare("gt", count, one), halfPixel(), real(0));
    Value length = s.mul(scale, size);
    if (mode == "half_pixel_symmetric") {
      Value adjustment = s.div(count, length);
      Value offset = s.mul(s.mul(size, half), s.sub(one, adjustment));
      return s.sub(s.add(offset, centre()), half);
    }
    // The length before it was cut to an integer; where the scale was made from
    // the sizes, rounding is undone.
    Value near = s.compare("lt", s.abs(s.sub(length, count)), s.mul(count, real(1e-4)));
    length = s.select(near, count, length);
    Value isOne = s.compare("eq", length, one);
    Value steps = s.select(isOne, one, s.sub(length, one)), span = s.sub(size, one);
    if (mode == "align_corners")
      return s.select(isOne, real(0), s.div(s.mul(x, span), steps));
    // tf_crop_and_resize
    Value start = parameter(op.getRoi(), k), end = parameter(op.getRoi(), op.getAxes().size() + k);
    Value many = s.add(s.mul(start, span), s.div(s.mul(s.mul(x, s.sub(end, start)), span), steps));
    Value single = s.mul(s.mul(half, s.add(start, end)), span);
    Value at = s.select(isOne, single, many);
    Value beyond = s.op<arith::OrIOp>(s.compare("lt", at, real(0)), s.compare("gt", at, span));
    outside = outside ? s.op<arith::OrIOp>(outside, beyond) : beyond;
    return at;
  }

  /// Finds what axis number `k` reads: an index in `own`, or taps.
  void prepare(size_t k, SmallVectorImpl<Value> &own, SmallVectorImpl<Taps> &taps) {
    int64_t axis = op.getAxes()[k];
    Value x = coordinate(k), size = r.dim(op.getOperand(), axis);
    if (op.getMode() == "nearest") {
      StringRef rounding = op.getNearest();
      // TensorFlow rounds just below a half down, which adding a half does not.
      Value at = rounding == "floor"                ? s.op<math::FloorOp>(x)
                 : rounding == "ceil"               ? s.op<math::CeilOp>(x)
                 : countsSteps(op.getCoordinates()) ? s.op<math::RoundOp>(x)
                 : rounding == "round_prefer_ceil"  ? s.op<math::FloorOp>(s.add(x, real(0.5)))
                                                    : s.op<math::CeilOp>(s.sub(x, real(0.5)));
      own[axis] = clamp(toIndex(at), size);
      return;
    }
    Taps t;
    t.axis = axis;
    t.size = size;
    Value floor = s.op<math::FloorOp>(x);
    t.ratio = s.sub(x, floor);
    t.base = toIndex(floor);
    int64_t reach = op.getMode() == "linear" ? 1 : 2;
    if (op.getAntialias()) {
      // Shrinking stretches the window by the inverse of the scale.
      t.stretched = true;
      t.scale = s.minimum(parameter(op.getScales(), k), real(1));
      t.first = r.add(toIndex(s.op<math::FloorOp>(s.div(real(-reach), t.scale))), r.constant(1));
      t.count = r.sub(r.constant(2), r.mul(r.constant(2), t.first));
      t.normaliser =
          emitReductionLoops(r, {t.count}, real(0), [&](ValueRange place, Value carried) {
            return s.add(carried, stretchedWeight(t, place[0]));
          });
      taps.push_back(t);
      return;
    }
    if (op.getMode() == "linear" && countsSteps(op.getCoordinates())) {
      // At an element, there is no second one.
      t.isLerp = true;
      t.indices = {clamp(t.base, size), clamp(toIndex(s.op<math::CeilOp>(x)), size)};
      taps.push_back(t);
      return;
    }
    Value total;
    for (int64_t i = 1 - reach; i <= reach; ++i) {
      Value index = r.add(t.base, r.constant(i));
      Value weight = windowWeight(s.sub(real(i), t.ratio));
      if (op.getExcludeOutside()) {
        weight = s.select(isInside(index, size), weight, real(0));
        total = total ? s.add(total, weight) : weight;
      }
      t.indices.push_back(clamp(index, size));
      t.weights.push_back(weight);
    }
    if (total)
      for (Value &weight : t.weights)
        weight = s.div(weight, total);
    taps.push_back(t);
  }

  Value isInside(Value index, Value size) {
    return r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ult, index, size);
  }

  /// The weight of an element at `distance` from the sampled place.
  Value windowWeight(Value distance) {
    Value d = s.abs(distance), one = real(1);
    if (op.getMode() == "linear")
      return s.maximum(s.sub(one, d), real(0));
    // Keys' cubic convolution with parameter a.
    double a = op.getCubicCoefficient().convertToDouble();
    Value near = s.add(s.mul(s.mul(s.sub(s.mul(real(a + 2), d), real(a + 3)), d), d), one);
    Value far =
        s.mul(real(a), s.sub(s.mul(s.add(s.mul(s.sub(d, real(5)), d), real(8)), d), real(4)));
    return s.select(s.compare("le", d, one), near,
                    s.select(s.compare("lt", d, real(2)), far, real(0)));
  }

  Value stretchedWeight(const Taps &t, Value place) {
    Value offset = r.add(t.first, place);
    Value weight = windowWeight(s.mul(s.sub(toReal(offset), t.ratio), t.scale));
    if (!op.getExcludeOutside())
      return weight;
    return s.select(isInside(r.add(t.base, offset), t.size), weight, real(0));
  }

  /// The weighted sum over the taps from `k` on, at `own`.
  Value sum(ArrayRef<Taps> taps, SmallVector<Value> own, size_t k) {
    ScalarBuilder scalars(r, op, wide);
    if (k == taps.size())
      return scalars.cast(r.element(op.getOperand(), own), elementOf(op.getOperand()), wide, false);
    const Taps &t = taps[k];
    if (t.isLerp) {
      own[t.axis] = t.indices[0];
      Value first = sum(taps, own, k + 1);
      own[t.axis] = t.indices[1];
      Value second = sum(taps, own, k + 1);
      Value ratio = scalars.cast(t.ratio, r.b.getF32Type(), wide, false);
      return scalars.add(first, scalars.mul(scalars.sub(second, first), ratio));
    }
    auto term = [&](Value index, Value weight) {
      own[t.axis] = index;
      return scalars.mul(scalars.cast(weight, r.b.getF32Type(), wide, false),
                         sum(taps, own, k + 1));
    };
    if (t.stretched) {
      Value zero = reductionStart(r, wide, ReduceKind::Sum);
      return emitReductionLoops(r, {t.count}, zero, [&](ValueRange place, Value carried) {
        Value weight = s.div(stretchedWeight(t, place[0]), t.normaliser);
        Value index = clamp(r.add(t.base, r.add(t.first, place[0])), t.size);
        return scalars.add(carried, term(index, weight));
      });
    }
    Value total;
    for (auto [index, weight] : llvm::zip(t.indices, t.weights)) {
      Value next = term(index, weight);
      total = total ? scalars.add(total, next) : next;
    }
    return total;
  }

  ResizeOp op;
  ElementReader &r;
  ScalarBuilder s;
  ValueRange out;
  Value outside;
  Type wide;
};

} // namespace

Value ResizeOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  return Resizer(*this, r, indices).emit();
}

LogicalResult ResizeOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  auto resultType = ranked(getResult());
  Value zero = r.constant(0);
  dims.assign(r.dims(getOperand()));
  requireEntries(r, *this, getSizes(), getAxes().size());
  for (auto [k, axis] : llvm::enumerate(getAxes())) {
    Value have = dims[axis];
    bool isStatic = !resultType.isDynamicDim(axis);
    Value size = isStatic ? r.constant(resultType.getDimSize(axis)) : entry(r, getSizes(), k);
    if (!isStatic) {
      r.require(*this, r.less(r.constant(-1), size), "negative size {0}", WEIR_INVALID_ARGUMENT,
                size);
      size = r.maximum(size, zero);
    }
    if (ranked(getOperand()).isDynamicDim(axis)) {
      Value ok = r.b.createOrFold<arith::OrIOp>(r.loc, r.less(zero, have), r.equal(size, zero));
      r.require(*this, ok, "an empty axis cannot be resampled to {0}", WEIR_INVALID_ARGUMENT, size);
      if (!isStatic)
        size = r.select(ok, size, zero);
    }
    dims[axis] = size;
  }
  return success();
}

int64_t ResizeOp::getFlops() {
  int64_t count = weir::detail::elementCountOfResults(*this);
  if (count < 0 || getMode() == "nearest")
    return count;
  for (size_t k = 0; k < getAxes().size(); ++k)
    count *= getMode() == "linear" ? 2 : 4;
  return 2 * count;
}

//===- TransposedConvolutions.cpp - as convolutions --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element t of a line of a transposed convolution with stride s is the sum of
// x[a - m] w[r + m s] over m, where t + pad = a s + r. For each phase r that is a
// convolution, with the taps of w that are r apart from multiples of s, backwards
// (Shi et al., "Is the deconvolution layer the same as a convolutional layer?",
// 2016). Phases become channels; a transposition puts them between each other. In groups,
// each has its phases next to each other.
//
//===----------------------------------------------------------------------===//

#include "passes/layout/TransposedConvolutions.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"

#include <cmath>

using namespace mlir;
using namespace weir;

namespace {

/// One spatial dimension.
struct Line {
  int64_t stride, padBefore, kernel;
  int64_t taps(int64_t phase) const { return (kernel - phase + stride - 1) / stride; }
  /// Positions that the padding cuts off whole.
  int64_t skipped() const { return padBefore / stride; }
};

/// Calls `body` with all indices below `sizes`, row-major.
void forEach(ArrayRef<int64_t> sizes, function_ref<void(ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> at(sizes.size(), 0);
  if (llvm::is_contained(sizes, 0))
    return;
  while (true) {
    body(at);
    int64_t i = (int64_t)sizes.size() - 1;
    while (i >= 0 && ++at[i] == sizes[i])
      at[i--] = 0;
    if (i < 0)
      return;
  }
}

/// A transposed convolution as convolutions, one a phase, or one of all phases.
class Phases {
public:
  Phases(ConvTransposeOp op, PatternRewriter &b)
      : op(op), b(b), loc(op.getLoc()), result(cast<RankedTensorType>(op.getType())),
        element(result.getElementType()), constant(op.getFilter().getDefiningOp<ConstantOp>()),
        isLast(op.getChannelsLast()),
        rank(cast<RankedTensorType>(op.getInput().getType()).getRank()), spatial(rank - 2),
        groups(op.getGroups()) {}

  /// Whether there is such a form; brings the input into its order.
  bool match() { return isOfKind() && readLines() && readWeights() && readEnds(); }

  void rewrite() {
    for (int64_t stride : strides)
      phases *= stride;
    forEach(strides, [&](ArrayRef<int64_t> phase) { phaseList.emplace_back(phase); });
    // Where all phases have the same taps they are columns of one convolution.
    bool isJoined =
        llvm::all_of(lines, [](const Line &line) { return line.kernel % line.stride == 0; });
    Value made = isJoined ? joined() : apart();
    made = cut(interleaved(made, isJoined && groups > 1));
    SmallVector<int64_t> shape(result.getShape());
    if (!isLast)
      for (auto [to, from] : llvm::enumerate(channelsToLast(rank)))
        shape[to] = result.getDimSize(from);
    made.setType(result.clone(shape));
    b.replaceOp(op, isLast ? made : transposed(b, loc, made, channelsToFirst(rank)));
  }

private:
  bool isOfKind() {
    bool isPlain = !mayBeOffloaded(op) || (constant && groups == 1);
    return isPlain && spatial >= 1 && spatial <= 3 &&
           (element.isF32() || (element.isF64() && !mayBeOffloaded(op))) &&
           getElementTypeOrSelf(op.getFilter().getType()) == element &&
           llvm::all_of(op.getDilations(), [](int64_t d) { return d == 1; });
  }

  bool readLines() {
    auto filter = cast<RankedTensorType>(op.getFilter().getType());
    channels = filter.getDimSize(isLast ? rank - 1 : 0);
    outputs = filter.getDimSize(isLast ? rank - 2 : 1);
    // A fed filter may have as many as the run brings.
    if (ShapedType::isDynamic(channels) || ShapedType::isDynamic(outputs))
      return false;
    inputs = channels / groups;
    for (int64_t i = 0; i < spatial; ++i) {
      lines.push_back(
          {op.getStrides()[i], op.getPads()[2 * i], filter.getDimSize(isLast ? i : i + 2)});
      strides.push_back(lines.back().stride);
      // A phase without taps has no convolution.
      if (lines.back().kernel < lines.back().stride || lines.back().padBefore < 0)
        return false;
    }
    return true;
  }

  /// Convolutions multiply with zeros around the input, too: of a filter with an infinity or NaN
  /// that would reach results which it is no part of.
  bool readWeights() {
    if (!constant)
      return true;
    weights = materializedConstant(cast<TypedAttr>(constant.getValue()));
    auto isFinite = [](double weight) { return std::isfinite(weight); };
    return weights && (element.isF32() ? llvm::all_of(weights.getValues<float>(), isFinite)
                                       : llvm::all_of(weights.getValues<double>(), isFinite));
  }

  /// How far convolutions go behind the input's end.
  bool readEnds() {
    x = isLast ? op.getInput() : transposed(b, loc, op.getInput(), channelsToLast(rank));
    auto given = cast<RankedTensorType>(x.getType());
    // So many positions that every result has one: [0, count) with
    // count = (size - 1 + padBefore) / stride + 1, of which the input's size less
    // the padding at the end are there anyway.
    auto sizes = knownIntegers(op.getOutputSizes());
    after.resize(spatial);
    for (int64_t i = 0; i < spatial; ++i) {
      int64_t most = llvm::divideCeil(lines[i].kernel, lines[i].stride);
      std::optional<int64_t> size = sizes ? (*sizes)[i] : std::nullopt;
      after[i] = most;
      if (size && !given.isDynamicDim(i + 1))
        after[i] = std::max<int64_t>(0, (*size - 1 + lines[i].padBefore) / lines[i].stride + 1 -
                                            given.getDimSize(i + 1));
      else if (op.getPads()[2 * i + 1] < 0)
        return false; // larger than what the windows reach
    }
    return true;
  }

  /// The bytes of a weight.
  ArrayRef<char> weightAt(ArrayRef<int64_t> place, int64_t channel, int64_t output) const {
    int64_t linear = isLast ? 0 : channel * outputs + output;
    for (int64_t i = 0; i < spatial; ++i)
      linear = linear * lines[i].kernel + place[i];
    if (isLast)
      linear = (linear * outputs + output) * channels + channel;
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    return weights.getRawData().slice((weights.isSplat() ? 0 : linear) * bytes, bytes);
  }

  /// A filter [taps…, inputs, columns]: `columns` and channels of `weight` are those of all
  /// groups.
  Value arranged(
      ArrayRef<int64_t> taps, int64_t columns,
      function_ref<ArrayRef<char>(ArrayRef<int64_t> tap, int64_t channel, int64_t column)> weight) {
    std::vector<char> values;
    SmallVector<int64_t> shape(taps);
    shape.append({inputs, columns});
    values.reserve(ShapedType::getNumElements(shape) * element.getIntOrFloatBitWidth() / 8);
    forEach(taps, [&](ArrayRef<int64_t> tap) {
      for (int64_t c = 0; c < inputs; ++c)
        for (int64_t o = 0; o < columns; ++o)
          llvm::append_range(values, weight(tap, o / (columns / groups) * inputs + c, o));
    });
    auto type = RankedTensorType::get(shape, element);
    return ConstantOp::create(b, loc, DenseElementsAttr::getFromRawBuffer(type, values));
  }

  Value convolve(ArrayRef<int64_t> taps, Value filter) {
    auto ones = b.getDenseI64ArrayAttr(SmallVector<int64_t>(spatial, 1));
    SmallVector<int64_t> pads;
    for (int64_t i = 0; i < spatial; ++i)
      pads.append({taps[i] - 1 - lines[i].skipped(), after[i]});
    Value made =
        ConvOp::create(b, loc, x, filter, ones, b.getDenseI64ArrayAttr(pads), ones,
                       b.getI64IntegerAttr(groups), b.getBoolAttr(true), TypeAttr::get(element));
    copyDevice(op, made);
    return made;
  }

  /// Tap number j of a phase reads x[a + j - (taps - 1)].
  SmallVector<int64_t> placeOf(ArrayRef<int64_t> phase, ArrayRef<int64_t> tap,
                               ArrayRef<int64_t> taps) const {
    SmallVector<int64_t> place;
    for (int64_t i = 0; i < spatial; ++i)
      place.push_back(phase[i] + (taps[i] - 1 - tap[i]) * strides[i]);
    return place;
  }
  SmallVector<int64_t> tapsOf(ArrayRef<int64_t> phase) const {
    SmallVector<int64_t> taps;
    for (int64_t i = 0; i < spatial; ++i)
      taps.push_back(lines[i].taps(phase[i]));
    return taps;
  }

  /// Of a filter that the run computes, a gradient's for one: [taps…, channels, outputs]; of
  /// several groups [taps…, inputs, groups, outputs].
  Value computed(ArrayRef<int64_t> phase) {
    SmallVector<int64_t> order, axes, ends;
    for (int64_t i = 0; i < spatial; ++i) {
      order.push_back(isLast ? i : i + 2);
      axes.push_back(i);
      ends.push_back(lines[i].kernel);
    }
    order.append({isLast ? rank - 1 : 0, isLast ? rank - 2 : 1});
    Value taken = transposed(b, loc, op.getFilter(), order);
    if (llvm::any_of(strides, [](int64_t stride) { return stride != 1; }))
      taken = b.createOrFold<SliceOp>(loc, taken, integers(b, loc, SmallVector<int64_t>(phase)),
                                      integers(b, loc, ends), integers(b, loc, strides),
                                      ArrayRef<int64_t>(axes), false);
    taken = b.createOrFold<ReverseOp>(loc, taken, axes);
    if (groups == 1)
      return taken;
    SmallVector<int64_t> apart = tapsOf(phase), inputsFirst(axes);
    apart.append({groups, inputs, outputs});
    inputsFirst.append({spatial + 1, spatial, spatial + 2});
    return transposed(b, loc, reshaped(b, loc, taken, apart), inputsFirst);
  }

  /// A filter of what computed() gives, side by side.
  Value filterOf(ArrayRef<int64_t> taps, ArrayRef<Value> columns) {
    Value all = columns.front();
    if (columns.size() > 1)
      all = b.createOrFold<ConcatOp>(loc, ValueRange(columns),
                                     cast<RankedTensorType>(all.getType()).getRank() - 1);
    if (groups == 1)
      return all;
    SmallVector<int64_t> shape(taps);
    shape.append({inputs, groups * outputs * int64_t(columns.size())});
    return reshaped(b, loc, all, shape);
  }

  /// One convolution whose columns are those of all phases.
  Value joined() {
    SmallVector<int64_t> taps = tapsOf(phaseList.front());
    if (constant)
      return convolve(taps, arranged(taps, groups * phases * outputs,
                                     [&](ArrayRef<int64_t> tap, int64_t c, int64_t column) {
                                       const auto &phase = phaseList[column / outputs % phases];
                                       return weightAt(placeOf(phase, tap, taps), c,
                                                       column % outputs);
                                     }));
    SmallVector<Value> columns;
    for (const SmallVector<int64_t> &phase : phaseList)
      columns.push_back(computed(phase));
    return convolve(taps, filterOf(taps, columns));
  }

  /// One a phase, side by side.
  Value apart() {
    SmallVector<Value> parts;
    for (const SmallVector<int64_t> &phase : phaseList) {
      SmallVector<int64_t> taps = tapsOf(phase);
      Value filter = constant
                         ? arranged(taps, groups * outputs,
                                    [&](ArrayRef<int64_t> tap, int64_t c, int64_t o) {
                                      return weightAt(placeOf(phase, tap, taps), c, o % outputs);
                                    })
                         : filterOf(taps, computed(phase));
      parts.push_back(convolve(taps, filter));
    }
    return ConcatOp::create(b, loc, ValueRange(parts), rank - 1);
  }

  /// [N, A…, r…, O] to [N, A, r, …, O] to [N, A · stride, …, O]. Where groups have their
  /// phases (`isSplit`), O is two dimensions around r….
  Value interleaved(Value made, bool isSplit) {
    if (phases == 1)
      return made;
    int64_t behind = spatial + (isSplit ? 2 : 1); // where phases are
    SmallVector<MadeSize> apart{MadeSize{1, 0}}, whole{MadeSize{1, 0}};
    SmallVector<int64_t> order{0};
    for (int64_t i = 0; i < spatial; ++i)
      apart.push_back({1, i + 1});
    if (isSplit)
      apart.push_back({groups});
    for (int64_t i = 0; i < spatial; ++i) {
      apart.push_back({strides[i]});
      order.append({1 + i, behind + i});
      whole.push_back({strides[i], 1 + 2 * i});
    }
    apart.push_back({isSplit ? outputs : groups * outputs});
    whole.push_back({groups * outputs});
    if (isSplit)
      order.push_back(1 + spatial);
    order.push_back(behind + spatial);
    Value mixed = transposed(b, loc, reshaped(b, loc, made, apart), order);
    return reshaped(b, loc, mixed, whole);
  }

  /// Cuts the padding off, and what is computed beyond the wanted sizes.
  Value cut(Value made) {
    SmallVector<int64_t> axes, begins, steps(spatial, 1);
    for (int64_t i = 0; i < spatial; ++i) {
      axes.push_back(i + 1);
      begins.push_back(lines[i].padBefore - lines[i].skipped() * strides[i]);
    }
    Value starts = integers(b, loc, begins);
    Value wanted = op.getOutputSizes();
    if (getElementTypeOrSelf(wanted.getType()) != b.getI64Type())
      wanted =
          CastOp::create(b, loc, cast<RankedTensorType>(wanted.getType()).clone(b.getI64Type()),
                         wanted, b.getBoolAttr(false));
    Value ends = b.createOrFold<AddOp>(loc, wanted, starts);
    return SliceOp::create(b, loc, made, starts, ends, integers(b, loc, steps),
                           ArrayRef<int64_t>(axes), false);
  }

  ConvTransposeOp op;
  PatternRewriter &b;
  Location loc;
  RankedTensorType result;
  Type element;              ///< f32 or f64
  ConstantOp constant;       ///< the filter, or null
  DenseElementsAttr weights; ///< its elements
  bool isLast;
  int64_t rank, spatial, groups;
  int64_t channels = 0, outputs = 0, inputs = 0; ///< of all groups, of each, of each
  SmallVector<Line> lines;
  SmallVector<int64_t> strides, after;
  int64_t phases = 1;
  SmallVector<SmallVector<int64_t>> phaseList;
  Value x; ///< the input, channels last
};

struct AsConvolutions : OpRewritePattern<ConvTransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvTransposeOp op, PatternRewriter &b) const override {
    Phases phases(op, b);
    if (!phases.match())
      return failure();
    phases.rewrite();
    return success();
  }
};

} // namespace

void weir::addTransposedConvolutions(RewritePatternSet &patterns) {
  patterns.add<AsConvolutions>(patterns.getContext());
}

//===- ConvolutionImports.cpp - convolutions and pools --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Window.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

/// Whether arithmetic on sizes bears a number of a window, or of its border.
static bool isStep(int64_t value) { return NodeImport::isStep(value); }
static bool isPad(int64_t value) { return value > -(int64_t(1) << 31) && value < int64_t(1) << 31; }

/// How far a window of `size` reaches that an operand has along dimension `dim`, which may be open
/// (tensor<1xi64>): where it is, runs end that have none.
static Value extentOf(NodeImport &n, Value filter, int64_t dim, int64_t size, int64_t dilation) {
  if (!ShapedType::isDynamic(size))
    return n.ints({(size - 1) * dilation + 1});
  Value own = n.sizeOf(filter, dim);
  n.require(n.toScalar(n.compare("ge", own, 1.0)),
            "the filter has no elements along dimension " + std::to_string(dim));
  return n.add(n.mul(n.sub(own, 1.0), double(dilation)), 1.0);
}

/// What SAME puts before and after an open dimension (tensor<1xi64> each), or for a window of open
/// size, for as many windows as strides fit in it.
static std::pair<Value, Value> openPads(NodeImport &n, Value in, int64_t stride, Value extent,
                                        bool isUpper) {
  Value windows = n.div(n.add(in, double(stride - 1)), n.ints({stride}));
  Value reach = n.add(n.mul(n.sub(windows, 1.0), double(stride)), extent);
  Value total = n.maximum(n.sub(reach, in), n.ints({0})), half = n.div(total, n.ints({2}));
  Value rest = n.sub(total, half);
  return isUpper ? std::pair(half, rest) : std::pair(rest, half);
}

/// Whether nothing is cut off: the standard's inference refuses negative pads of windows; reports.
static bool areBorders(NodeImport &n, ArrayRef<int64_t> pads) {
  const int64_t *cut = llvm::find_if(pads, [](int64_t pad) { return pad < 0; });
  if (cut != pads.end())
    (void)n.invalid("expected pads of at least 0, got " + Twine(*cut));
  return cut == pads.end();
}

std::optional<Window> weir::onnx::window(NodeImport &n, Value x, SmallVector<int64_t> size,
                                         Value *border, Value filter) {
  Window w;
  SmallVector<Value> open; // before all dimensions, then after them
  w.size = std::move(size);
  int64_t spatial = w.size.size();
  auto list = [&](std::string_view name, int64_t count, int64_t fill) {
    SmallVector<int64_t> values = n.is(name).value_or(SmallVector<int64_t>(count, fill));
    if (values.empty())
      values.assign(count, fill);
    return values;
  };
  w.strides = list("strides", spatial, 1);
  w.dilations = list("dilations", spatial, 1);
  SmallVector<int64_t> pads = list("pads", 2 * spatial, 0);
  bool fits = static_cast<int64_t>(w.strides.size()) == spatial &&
              static_cast<int64_t>(w.dilations.size()) == spatial &&
              static_cast<int64_t>(pads.size()) == 2 * spatial && n.rank(x) == spatial + 2;
  auto isSize = [&](int64_t size) {
    return isStep(size) || (filter && ShapedType::isDynamic(size));
  };
  if (!fits || !llvm::all_of(w.size, isSize) || !llvm::all_of(w.strides, isStep) ||
      !llvm::all_of(w.dilations, isStep) || !llvm::all_of(pads, isPad)) {
    (void)n.invalid("found a window, strides, dilations or pads that do not go "
                    "with " +
                    Twine(n.rank(x) - 2) + " spatial dimensions");
    return std::nullopt;
  }
  if (!areBorders(n, pads))
    return std::nullopt;
  std::string_view autoPad = n.s("auto_pad");
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t before = pads[i], after = pads[spatial + i];
    bool isOpen = ShapedType::isDynamic(w.size[i]);
    // How far the window reaches: known, or `openExtent`.
    const int64_t extent = isOpen ? 0 : (w.size[i] - 1) * w.dilations[i] + 1;
    Value openExtent = isOpen ? extentOf(n, filter, i + 2, w.size[i], w.dilations[i]) : Value();
    if (autoPad == "VALID") {
      before = after = 0;
    } else if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      int64_t in = n.dim(x, i + 2);
      if (in >= int64_t(1) << 31) {
        (void)n.unsupported("found a dimension of " + Twine(in));
        return std::nullopt;
      }
      // With a stride of 1 the padding does not depend on the image's size.
      if (isOpen || (ShapedType::isDynamic(in) && w.strides[i] != 1)) {
        if (!border) {
          (void)n.unsupported("expected explicit pads, or a fixed size, got auto_pad " +
                              Twine(autoPad) + " over a dimension whose size is open");
          return std::nullopt;
        }
        int64_t rank = n.rank(x);
        open.resize(2 * rank, n.ints({0}));
        std::tie(open[i + 2], open[rank + i + 2]) =
            openPads(n, n.sizeOf(x, i + 2), w.strides[i], isOpen ? openExtent : n.ints({extent}),
                     autoPad == "SAME_UPPER");
        w.pads.append({0, 0});
        continue;
      }
      in = ShapedType::isDynamic(in) ? extent : in;
      int64_t out = (in + w.strides[i] - 1) / w.strides[i];
      int64_t total = std::max<int64_t>((out - 1) * w.strides[i] + extent - in, 0);
      before = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
    }
    // Within a step of fitting there is no window; farther off the sizes do not go together.
    int64_t least = extent + 1 - before - after - 2 * w.strides[i];
    if (int64_t in = n.dim(x, i + 2); isOpen || (ShapedType::isDynamic(in) && least > 0)) {
      Value room = n.sizeOf(x, i + 2);
      n.require(n.toScalar(n.compare("ge", isOpen ? n.sub(room, openExtent) : room, double(least))),
                "the window is larger than the image with its border");
    } else if (!ShapedType::isDynamic(in) && in < least) {
      (void)n.invalid("found a window larger than dimension " + Twine(i + 2) + " of size " +
                      Twine(in) + " with its border");
      return std::nullopt;
    }
    w.pads.push_back(before);
    w.pads.push_back(after);
  }
  if (!open.empty())
    *border = n.concat(open, 0);
  return w;
}

Value weir::onnx::bordered(NodeImport &n, Value x, Value border, double fill) {
  return border ? n.op<PadOp>(x, border, n.like(x, fill), n.text("constant")) : x;
}

Value weir::onnx::perChannel(TensorBuilder &t, Value vector, int64_t rank) {
  return t.unsqueeze(vector, axesFrom(1, rank - 1));
}

std::optional<SmallVector<int64_t>> weir::onnx::kernelSize(NodeImport &n, Value filter) {
  if (std::optional<SmallVector<int64_t>> size = n.is("kernel_shape"); size && !size->empty()) {
    auto spatial = static_cast<int64_t>(size->size());
    if (!n.hasRank(filter, spatial + 2, "filter"))
      return std::nullopt;
    for (int64_t i = 0; i < spatial; ++i)
      if (!n.hasSize(filter, i + 2, (*size)[i], "filter"))
        return std::nullopt;
    return size;
  }
  return SmallVector<int64_t>(n.sizes(filter).drop_front(2));
}

Value weir::onnx::withBias(NodeImport &n, Value y, Value bias) {
  return y && n.hasOneEach(bias, y, 1, "bias") ? n.add(y, perChannel(n, bias, n.rank(y))) : Value();
}

Value weir::onnx::convolution(NodeImport &n, Value x) {
  Value filter = n.in(1);
  if (!x || !filter)
    return {};
  if (n.rank(x) < 3 || n.rank(filter) != n.rank(x)) {
    (void)n.invalid("expected equal ranks from 3 on, got operands of rank " + Twine(n.rank(x)) +
                    " and " + Twine(n.rank(filter)));
    return {};
  }
  std::optional<SmallVector<int64_t>> size = kernelSize(n, filter);
  Value border;
  std::optional<Window> w = size ? window(n, x, *size, &border, filter) : std::nullopt;
  if (!w)
    return {};
  if (!n.isMultiple(filter, 0, n.i("group"), "groups"))
    return {};
  x = bordered(n, x, border, 0);
  Value y = n.op<ConvOp>(x, filter, n.list(w->strides), n.list(w->pads), n.list(w->dilations),
                         n.number(n.i("group")), n.flag(false), n.typeAttr(n.element(x)));
  return n.has(2) ? withBias(n, y, n.in(2)) : y;
}

static Value poolOf(NodeImport &n, Value x, const Window &w, StringRef kind, int64_t p) {
  return n.op<PoolOp>(x, n.text(kind), n.list(w.size), n.list(w.strides), n.list(w.pads),
                      n.list(w.dilations), n.flag(n.i("ceil_mode") != 0),
                      n.flag(n.i("count_include_pad") != 0), n.number(p), n.flag(false));
}

/// The node's window over `x`, for pooling.
static std::optional<Window> poolWindow(NodeImport &n, Value x, Value *border) {
  return x ? window(n, x, n.is("kernel_shape").value_or(SmallVector<int64_t>()), border)
           : std::nullopt;
}

Value weir::onnx::pooled(NodeImport &n, Value x, StringRef kind) {
  Value border;
  std::optional<Window> w = poolWindow(n, x, &border);
  if (!w)
    return {};
  if (!border)
    return poolOf(n, x, *w, kind, 1);
  if (kind == "max") {
    double lowest = n.isFloat(x) ? -std::numeric_limits<double>::infinity()
                    : n.isUnsigned(x)
                        ? 0
                        : -std::ldexp(1.0, int(n.element(x).getIntOrFloatBitWidth()) - 1);
    return poolOf(n, bordered(n, x, border, lowest), *w, kind, 1);
  }
  // Means over the border, too; where it does not count, by the share of each window
  // that lies inside.
  Value y = poolOf(n, bordered(n, x, border, 0), *w, kind, 1);
  if (n.i("count_include_pad"))
    return y;
  Value one = n.expandTo(n.like(x, 1), n.shapeOf(x));
  return n.div(y, poolOf(n, bordered(n, one, border, 0), *w, kind, 1));
}

namespace {

LogicalResult conv(NodeImport &n) { return n.result(convolution(n, n.in(0))); }

/// ConvTranspose's result without the bias; `explicitPads` where `auto_pad` is not
/// asked. Null, with a report, where operands and attributes do not go together.
Value transposedConvolution(NodeImport &n, std::optional<SmallVector<int64_t>> explicitPads) {
  Value x = n.in(0), filter = n.in(1);
  if (!x || !filter)
    return {};
  auto refused = [](LogicalResult) { return Value(); };
  if (n.rank(x) < 3 || n.rank(filter) != n.rank(x))
    return refused(n.invalid("found operands of different ranks"));
  std::optional<SmallVector<int64_t>> known = kernelSize(n, filter);
  if (!known)
    return {};
  SmallVector<int64_t> size = *known;
  auto spatial = static_cast<int64_t>(size.size());
  std::string_view autoPad = n.s("auto_pad");
  // Explicit pads first; auto_pad and output_shape decide anew below.
  SmallVector<int64_t> strides = n.is("strides").value_or(SmallVector<int64_t>(spatial, 1));
  SmallVector<int64_t> dilations = n.is("dilations").value_or(SmallVector<int64_t>(spatial, 1));
  SmallVector<int64_t> extra = n.is("output_padding").value_or(SmallVector<int64_t>(spatial, 0));
  SmallVector<int64_t> given = explicitPads.value_or(SmallVector<int64_t>(2 * spatial, 0));
  std::optional<SmallVector<int64_t>> asked = n.is("output_shape");
  if (asked && static_cast<int64_t>(asked->size()) == spatial + 2)
    asked->erase(asked->begin(), asked->begin() + 2);
  auto wrong = [&](const SmallVector<int64_t> &v, int64_t count) {
    return static_cast<int64_t>(v.size()) != count;
  };
  if (wrong(strides, spatial) || wrong(dilations, spatial) || wrong(extra, spatial) ||
      wrong(given, 2 * spatial) ||
      (asked && (wrong(*asked, spatial) || !llvm::all_of(*asked, isPad))) ||
      !llvm::all_of(size, [](int64_t s) { return isStep(s) || ShapedType::isDynamic(s); }) ||
      !llvm::all_of(strides, isStep) || !llvm::all_of(dilations, isStep) ||
      !llvm::all_of(extra, isPad) || !llvm::all_of(given, isPad))
    return refused(n.invalid("found strides, dilations, pads or an output shape that "
                             "do not go with " +
                             Twine(spatial) + " spatial dimensions"));
  SmallVector<int64_t> pads;
  // `sizes`: the result's; `wanted`: those once `open` is put before all dimensions, then after.
  SmallVector<Value> sizes, open, wanted;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t in = n.dim(x, i + 2);
    if (in >= int64_t(1) << 31)
      return refused(n.unsupported("found a dimension of " + Twine(in)));
    Value extent = extentOf(n, filter, i + 2, size[i], dilations[i]);
    bool isOpen = ShapedType::isDynamic(size[i]), isUpper = autoPad == "SAME_UPPER";
    bool isAutomatic = !asked && (isUpper || autoPad == "SAME_LOWER");
    // What auto_pad cuts off, if anything, does not depend on the image's size.
    int64_t surplus = isOpen ? 0 : extra[i] + (size[i] - 1) * dilations[i] + 1 - strides[i];
    // ONNX Runtime's operator cuts off, and adds nothing.
    bool cutsOnly = n.node.domain == microsoftDomain;
    int64_t before = given[i], after = given[spatial + i];
    Value whole = n.add(n.add(n.mul(n.sub(n.sizeOf(x, i + 2), 1.0), double(strides[i])), extent),
                        double(extra[i]));
    if ((asked && (isOpen || ShapedType::isDynamic(in))) || (isAutomatic && isOpen)) {
      // The whole result first; what is too much or too little is known in the run.
      int64_t rank = n.rank(x);
      open.resize(2 * rank, n.ints({0}));
      Value total = asked ? n.sub(whole, n.ints({(*asked)[i]}))
                          : n.add(extent, double(extra[i] - strides[i]));
      if (isAutomatic && cutsOnly)
        total = n.maximum(total, 0.0);
      Value half = n.op<FloorDivOp>(total, n.ints({2})), rest = n.sub(total, half);
      open[i + 2] = n.sub(n.ints({0}), isUpper ? half : rest);
      open[rank + i + 2] = n.sub(n.ints({0}), isUpper ? rest : half);
      wanted.push_back(asked ? n.ints({(*asked)[i]}) : n.sub(whole, total));
      before = after = 0;
    } else {
      if (asked || isAutomatic) {
        int64_t total = asked      ? strides[i] * (in - 1) + surplus + strides[i] - (*asked)[i]
                        : cutsOnly ? std::max<int64_t>(surplus, 0)
                                   : surplus;
        // What is cut off may be negative: then zeros are added, the odd one at
        // the end (an arithmetic shift rounds down).
        int64_t half = total >> 1;
        before = isUpper ? half : total - half;
        after = total - before;
      }
      whole = n.sub(whole, double(before + after));
      wanted.push_back(whole);
    }
    sizes.push_back(whole);
    pads.push_back(before);
    pads.push_back(after);
  }
  if (!n.isMultiple(filter, 0, n.i("group"), "groups"))
    return {};
  Value y = n.op<ConvTransposeOp>(x, filter, n.concat(sizes, 0), n.list(strides), n.list(pads),
                                  n.list(dilations), n.number(n.i("group")), n.flag(false));
  if (open.empty())
    return y;
  wanted.insert(wanted.begin(), n.shapeSlice(y, 0, 2));
  return n.reshapeTo(bordered(n, y, n.concat(open, 0), 0), n.concat(wanted, 0));
}

LogicalResult convTranspose(NodeImport &n) {
  if (!areBorders(n, n.is("pads").value_or(SmallVector<int64_t>())))
    return failure();
  Value y = transposedConvolution(n, n.is("pads"));
  return n.result(n.has(2) ? withBias(n, y, n.in(2)) : y);
}

/// com.microsoft: pads are an operand, known or computed.
LogicalResult convTransposeWithDynamicPads(NodeImport &n) {
  if (n.has(2) && !n.hasRank(n.in(2), 1, "pads"))
    return failure();
  std::optional<SmallVector<int64_t>> known = n.has(2) ? n.knownInts(2) : std::nullopt;
  Value y = transposedConvolution(n, known);
  if (n.has(2) && !known && n.s("auto_pad").substr(0, 4) != "SAME" && y) {
    // What the pads cut off is computed, and cut.
    int64_t spatial = n.rank(y) - 2;
    Value pads = n.cast(n.in(2), n.b.getI64Type());
    if (!n.hasEntries(pads, 2 * spatial, "pads"))
      return failure();
    Value ends = n.sub(n.shapeSlice(y, 2, spatial + 2), n.slice(pads, 0, spatial, 2 * spatial));
    y = n.op<SliceOp>(y, n.slice(pads, 0, 0, spatial), ends,
                      n.ints(SmallVector<int64_t>(spatial, 1)), n.list(axesFrom(2, spatial + 2)),
                      n.flag(false));
  }
  return n.result(n.has(3) ? withBias(n, y, n.in(3)) : y);
}

LogicalResult averagePool(NodeImport &n) { return n.result(pooled(n, n.in(0), "average")); }

LogicalResult lpPool(NodeImport &n) {
  Value x = n.in(0), border;
  std::optional<Window> w = poolWindow(n, x, &border);
  if (!w)
    return failure();
  x = bordered(n, x, border, 0);
  // Version 1 wrote p as a float.
  const NodeAttribute *p = n.attr("p");
  int64_t power = p && p->kind == AttributeKind::Float ? static_cast<int64_t>(p->f)
                                                       : (n.version < 2 && !p ? 2 : n.i("p"));
  return n.result(poolOf(n, x, *w, "lp", power));
}

LogicalResult maxPool(NodeImport &n) {
  if (!n.wants(1))
    return n.result(pooled(n, n.in(0), "max"));
  Value x = n.in(0), indices;
  std::optional<Window> w = poolWindow(n, x, nullptr);
  if (!w)
    return failure();
  Value y = poolOf(n, x, *w, "max", 1);
  if (y)
    indices = n.op<MaxPoolIndexOp>(x, n.list(w->size), n.list(w->strides), n.list(w->pads),
                                   n.list(w->dilations), n.flag(n.i("ceil_mode") != 0),
                                   n.flag(false), n.flag(false), n.flag(n.i("storage_order") != 0),
                                   n.typeAttr(n.b.getI64Type()));
  return n.results({y, indices});
}

/// Whether an image has a dimension to pool over; reports where it has none.
bool isSpatial(NodeImport &n, Value x) {
  if (x && n.rank(x) < 3)
    (void)n.invalid("expected three dimensions or more, got " + Twine(n.rank(x)));
  return x && n.rank(x) >= 3;
}

template <bool max> LogicalResult globalPool(NodeImport &n) {
  Value x = n.in(0);
  if (!isSpatial(n, x))
    return failure();
  return n.result(n.reduce(x, max ? "max" : "mean", axesFrom(2, n.rank(x)), true));
}

LogicalResult globalLpPool(NodeImport &n) {
  Value x = n.in(0);
  if (!isSpatial(n, x))
    return failure();
  Type given = n.element(x);
  x = n.widen(x); // halves do not hold what their powers add up to
  const NodeAttribute *order = n.attr("p");
  double p = order && order->kind == AttributeKind::Float ? order->f : order ? double(order->i) : 2;
  // Roots and squares are instructions.
  Value power = p == 1   ? n.op<AbsOp>(x)
                : p == 2 ? n.mul(x, x)
                         : n.op<PowOp>(n.op<AbsOp>(x), n.like(x, p));
  Value sum = n.reduce(power, "sum", axesFrom(2, n.rank(x)), true);
  Value root = p == 1 ? sum : p == 2 ? n.op<SqrtOp>(sum) : n.op<PowOp>(sum, n.like(x, 1 / p));
  return n.result(n.cast(root, given));
}

/// Puts values back where a max pool found them.
LogicalResult maxUnpool(NodeImport &n) {
  Value x = n.in(0), indices = n.in(1);
  if (!x || !indices)
    return failure();
  if (!isSpatial(n, x))
    return failure();
  int64_t spatial = n.rank(x) - 2;
  if (!n.isSameShape(indices, x, "indices and values") ||
      (n.has(2) && !n.hasEntries(n.in(2), n.rank(x), "size that is asked for")))
    return failure();
  SmallVector<int64_t> size = n.is("kernel_shape").value_or(SmallVector<int64_t>());
  SmallVector<int64_t> strides = n.is("strides").value_or(SmallVector<int64_t>(spatial, 1));
  SmallVector<int64_t> pads = n.is("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  if (static_cast<int64_t>(size.size()) != spatial ||
      static_cast<int64_t>(strides.size()) != spatial ||
      static_cast<int64_t>(pads.size()) != 2 * spatial || !llvm::all_of(size, isStep) ||
      !llvm::all_of(strides, isStep) || !llvm::all_of(pads, isPad))
    return n.invalid("found a window that does not go with " + Twine(spatial) +
                     " spatial dimensions");
  // The indices count in a tensor of the size that window and strides give.
  SmallVector<Value> sizes = {n.shapeSlice(x, 0, 2)};
  for (int64_t i = 0; i < spatial; ++i)
    sizes.push_back(n.add(n.mul(n.sub(n.sizeOf(x, i + 2), 1.0), double(strides[i])),
                          double(size[i] - pads[i] - pads[spatial + i])));
  Value shape = n.concat(sizes, 0);
  Value count = n.reduce(shape, "prod", {0}, true);
  Value flat = n.expandTo(n.like(x, 0), count);
  Value written = n.op<ScatterElementsOp>(flat, n.reshape(indices, {-1}), n.reshape(x, {-1}),
                                          n.number(0), n.text("none"), n.flag(false));
  Value y = n.reshapeTo(written, shape);
  if (!n.has(2))
    return n.result(y);
  // A larger size that is asked for gets zeros at its end.
  Value asked = n.cast(n.in(2), n.b.getI64Type());
  Value none = n.ints(SmallVector<int64_t>(spatial + 2, 0));
  Value grown = n.concat({none, n.sub(asked, shape)}, 0);
  return n.result(n.op<PadOp>(y, grown, n.like(y, 0), n.text("constant")));
}

constexpr OperatorImport table[] = {
    {"", "AveragePool", 1, 0, averagePool},
    {"", "Conv", 1, 0, conv},
    {"", "ConvTranspose", 1, 0, convTranspose},
    {"com.microsoft", "ConvTransposeWithDynamicPads", 1, 0, convTransposeWithDynamicPads},
    {"", "GlobalAveragePool", 1, 0, globalPool<false>},
    {"", "GlobalLpPool", 1, 0, globalLpPool},
    {"", "GlobalMaxPool", 1, 0, globalPool<true>},
    {"", "LpPool", 1, 0, lpPool},
    {"", "MaxPool", 1, 0, maxPool},
    {"", "MaxUnpool", 9, 0, maxUnpool},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::convolutionImports() { return table; }

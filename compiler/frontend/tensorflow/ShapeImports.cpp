//===- ShapeImports.cpp - shapes, and tensors in other shapes -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/lowering/GivenShape.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/NumericImports.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include "dialects/weir/KnownIntegers.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// The sizes of a tensor as integers of type `type`.
static Value shapeAs(NodeImport &n, Value x, Type type) { return n.cast(n.shapeOf(x), type); }

static LogicalResult shape(NodeImport &n) {
  if (Value box = asBox(n, 0))
    return n.result(n.cast(openShape(n, box), n.elementAttr("out_type")));
  Value x = n.in(0);
  return n.result(shapeAs(n, x, n.elementAttr("out_type")));
}

static LogicalResult shapeN(NodeImport &n) {
  for (size_t i = 0; i < n.inputCount(); ++i) {
    Value x = n.in(i);
    Value sizes = shapeAs(n, x, n.elementAttr("out_type"));
    if (!sizes)
      return failure();
    n.made.emplace_back(sizes);
  }
  return success();
}

static LogicalResult size(NodeImport &n) {
  if (Value box = asBox(n, 0))
    return n.result(n.cast(n.toScalar(n.shapeOf(openElements(n, box, n.elementAttr("T")))),
                           n.elementAttr("out_type")));
  Value x = n.in(0);
  if (!x)
    return failure();
  Value count = n.toScalar(n.sizeProduct(x, 0, n.rank(x)));
  return n.result(n.cast(count, n.elementAttr("out_type")));
}

static LogicalResult rank(NodeImport &n) {
  if (Value box = asBox(n, 0))
    return n.result(n.cast(n.toScalar(n.shapeOf(openShape(n, box))), n.b.getI32Type()));
  Value x = n.in(0);
  return x ? n.result(n.scalar(n.b.getI32Type(), n.rank(x))) : failure();
}

/// Of a tensor without elements, sizes of 0 say nothing about an open one:
/// TensorFlow derives it from the others.
static LogicalResult reshape(NodeImport &n) {
  if (Value elements = openRankInput(n, 0))
    return n.result(n.reshapeTo(elements, n.in(1)));
  Value x = n.in(0);
  auto shape = n.knownInts(1);
  if (x && shape && llvm::is_contained(*shape, 0) && llvm::is_contained(*shape, -1) &&
      n.isStatic(x)) {
    auto atLeastOne = [](Ints sizes) {
      return llvm::map_to_vector(sizes, [](int64_t size) { return std::max<int64_t>(size, 1); });
    };
    auto have = frontend::productOf(atLeastOne(n.sizes(x)));
    auto given = frontend::productOf(atLeastOne(*shape));
    if (!have || !given)
      return n.invalid("found sizes whose product does not fit 64 bits");
    llvm::replace(*shape, int64_t(-1), *have / *given);
    return n.result(n.reshape(x, *shape));
  }
  if (x && shape && llvm::is_contained(*shape, 0) && llvm::is_contained(*shape, -1)) {
    // Of nothing, sizes of 0 do not count.
    Value have = n.reduce(n.maximum(n.shapeOf(x), 1.0), "prod", {0}, true);
    SmallVector<Value> sizes;
    int64_t given = 1;
    for (int64_t size : *shape)
      given *= std::max<int64_t>(size, 1);
    for (int64_t size : *shape)
      sizes.push_back(size == -1 ? n.div(have, double(given)) : n.ints({size}));
    return n.result(n.reshapeTo(x, n.concat(sizes, 0)));
  }
  Value made = n.reshapeTo(x, n.in(1));
  return n.result(frontend::ofGivenShape(
      n, made, n.in(1), true, [&](Value holds, StringRef text) { require(n, holds, text); }));
}

static LogicalResult ensureShape(NodeImport &n) {
  const AttrValue *shape = n.attr("shape");
  if (Value box = asBox(n, 0)) {
    auto type = shape && shape->shape
                    ? tensorType(n.b.getContext(), toDataType(n.i("T")), *shape->shape)
                    : RankedTensorType();
    return type ? n.result(openBox(n, box, type)) : n.result(n.inputs[0]);
  }
  Value x = n.in(0);
  if (!x || !shape || !shape->shape)
    return failure();
  if (shape->shape->unknownRank)
    return n.result(x);
  if (static_cast<int64_t>(shape->shape->dims.size()) != n.rank(x))
    return n.invalid("found rank " + Twine(n.rank(x)) + "; the shape says " +
                     Twine(shape->shape->dims.size()));
  SmallVector<Value> parts;
  for (auto [i, dim] : llvm::enumerate(shape->shape->dims)) {
    int64_t known = n.dim(x, i);
    if (dim >= 0 && !ShapedType::isDynamic(known) && known != dim)
      return n.invalid("found size " + Twine(known) + " of dimension " + Twine(i) +
                       "; the shape says " + Twine(dim));
    parts.push_back(dim >= 0 ? n.ints({dim}) : n.sizeOf(x, i));
  }
  if (n.isStatic(x) || parts.empty())
    return n.result(x);
  return n.result(n.reshapeTo(x, n.concat(parts, 0)));
}

/// A dimension of size 1 at a place that the program computes.
static LogicalResult expandAt(NodeImport &n, Value x, Value given) {
  int64_t rank = n.rank(x);
  Value at = runtimeAxis(n, given, rank + 1);
  Value place = n.ints(axesFrom(0, rank + 1));
  // Sizes before it stay, those behind it move up; the last entry is the 1.
  Value source =
      n.select(n.compare("lt", place, at), place,
               n.select(n.compare("eq", place, at), n.intScalar(rank), n.sub(place, 1.0)));
  Value sizes = n.gather(n.concat({n.shapeOf(x), n.ints({1})}, 0), source, 0);
  return n.result(n.reshapeTo(x, sizes));
}

static LogicalResult expandDims(NodeImport &n) {
  if (Value box = asBox(n, 0)) {
    auto axis = n.constantInt(1);
    if (!axis)
      return failure();
    constexpr int64_t all = std::numeric_limits<int64_t>::max();
    Value sizes = openShape(n, box), one = n.ints({1});
    // From the end, the last place is behind all sizes.
    int64_t at = *axis < 0 ? *axis + 1 : *axis;
    Value before = *axis == -1 ? sizes : n.slice(sizes, 0, 0, at);
    Value behind = *axis == -1 ? n.ints({}) : n.slice(sizes, 0, at, all);
    return n.result(
        boxOf(n, openElements(n, box, n.elementAttr("T")), n.concat({before, one, behind}, 0)));
  }
  Value x = n.in(0);
  if (!x)
    return failure();
  if (!n.knownInts(1))
    return n.in(1) ? expandAt(n, x, n.in(1)) : failure();
  std::optional<int64_t> axis = n.constantAxis(1, n.rank(x) + 1);
  return axis ? n.result(n.unsqueeze(x, {*axis})) : failure();
}

static LogicalResult squeeze(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  IntVector axes;
  for (int64_t one : n.is("squeeze_dims")) {
    std::optional<int64_t> axis = n.axis(one, n.rank(x));
    if (!axis)
      return failure();
    int64_t known = n.dim(x, *axis);
    if (known != 1 && !ShapedType::isDynamic(known))
      return n.invalid("expected size 1 of dimension " + Twine(*axis) + ", got " + Twine(known));
    if (known != 1)
      require(n, n.compare("eq", n.sizeOf(x, *axis), 1), "a squeezed dimension is not of size 1");
    if (!llvm::is_contained(axes, *axis))
      axes.push_back(*axis);
  }
  if (axes.empty())
    for (auto [i, known] : llvm::enumerate(n.sizes(x))) {
      if (known == 1)
        axes.push_back(i);
      if (ShapedType::isDynamic(known))
        require(n, n.toScalar(n.compare("ne", n.sizeOf(x, i), 1)),
                "Squeeze without squeeze_dims met an open dimension of size 1, which would change "
                "the rank; expected a model that is compiled with that size",
                unimplemented);
    }
  llvm::sort(axes);
  return n.result(n.squeeze(x, axes));
}

static LogicalResult broadcastTo(NodeImport &n) {
  Value made = n.expandTo(n.in(0), n.in(1));
  return n.result(frontend::ofGivenShape(
      n, made, n.in(1), false, [&](Value holds, StringRef text) { require(n, holds, text); }));
}

/// The shape that two shapes broadcast to.
/// Shapes of one length must go together: sizes are equal, or one of them is 1.
static void requireBroadcast(NodeImport &n, Value x, Value y) {
  Value isOne = n.op<OrOp>(n.compare("eq", x, 1), n.compare("eq", y, 1));
  require(n, n.op<OrOp>(isOne, n.compare("eq", x, y)), "the shapes cannot be broadcast");
}

static LogicalResult broadcastArgs(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  int64_t xs = n.dim(x, 0), ys = n.dim(y, 0);
  if (ShapedType::isDynamic(xs) || ShapedType::isDynamic(ys))
    return n.unsupported("found shapes of unknown rank");
  auto pad = [&](Value v, int64_t by) -> Value {
    if (by <= 0)
      return v;
    return n.concat({n.cast(n.ints(IntVector(by, 1)), n.element(v)), v}, 0);
  };
  x = pad(x, ys - xs);
  y = pad(y, xs - ys);
  requireBroadcast(n, x, y);
  // 1 gives way, also to 0.
  return n.result(n.select(n.compare("eq", x, 1), y, x));
}

/// Which dimensions a gradient sums over, of two shapes that broadcast.
/// The axes of `x` to sum over, as far as they are known now; nothing where they
/// are not. A size of one tensor against 1, or against itself, never asks for a
/// sum: where it is 1, TensorFlow lists it, and the sum changes nothing.
static std::optional<IntVector> knownGradientAxes(Value x, Value y) {
  auto xs = followIntegers(x), ys = followIntegers(y);
  if (!xs || !ys)
    return std::nullopt;
  size_t rank = std::max(xs->size(), ys->size());
  KnownInteger one{1, {}, 0};
  IntVector axes;
  for (size_t i = 0; i < rank; ++i) {
    auto dim = [&](const SmallVector<KnownInteger> &shape) {
      size_t missing = rank - shape.size();
      return i < missing ? one : shape[i - missing];
    };
    KnownInteger a = dim(*xs), b = dim(*ys);
    if (a.value) {
      if (*a.value == 1)
        axes.push_back(i);
      continue;
    }
    if (!a.isSymbol() || !(b == one || a == b))
      return std::nullopt;
  }
  return axes;
}

/// Whether all that reads the node sums over what it lists: to sum over a dimension of size
/// 1, or not, is the same then.
static bool isForSums(NodeImport &n) {
  const Graph &graph = n.g.current->graph();
  int64_t self = graph.find(n.node.name);
  if (self < 0 || &graph.nodes[self] != &n.node)
    return true; // a gradient's own, which is no one else's
  bool isRead = false;
  for (const Node &user : graph.nodes)
    for (auto [input, edge] : llvm::enumerate(user.inputs))
      if (edge.node == self) {
        isRead = true;
        if (user.op != "Sum" || input != 1)
          return false;
      }
  return isRead;
}

/// The same of shapes that the program computes.
static LogicalResult gradientArgsOf(NodeImport &n, Value x, Value y) {
  Type type = n.elementAttr("T");
  std::optional<IntVector> xAxes, yAxes;
  if (isForSums(n)) {
    xAxes = knownGradientAxes(x, y);
    yAxes = knownGradientAxes(y, x);
  }
  if (xAxes && yAxes)
    return n.results({n.cast(n.ints(*xAxes), type), n.cast(n.ints(*yAxes), type)});
  x = n.toI64(x);
  y = n.toI64(y);
  Value xCount = n.sizeOf(x, 0), yCount = n.sizeOf(y, 0);
  Value rank = n.maximum(xCount, yCount);
  auto fill = [&](Value shape, Value count) {
    return n.op<PadOp>(shape, n.concat({n.sub(rank, count), n.ints({0})}, 0), n.intScalar(1),
                       n.text("constant"));
  };
  Value wideX = fill(x, xCount), wideY = fill(y, yCount);
  if (!isForSums(n))
    requireBroadcast(n, wideX, wideY);
  Value same = n.op<AndOp>(n.reduce(n.compare("eq", wideX, wideY), "all", {0}, true),
                           n.compare("eq", xCount, yCount));
  auto axes = [&](Value shape) {
    Value listed = n.op<AndOp>(n.compare("eq", shape, 1), n.logicalNot(same));
    return n.cast(n.reshape(n.op<NonZeroOp>(listed), {-1}), type);
  };
  return n.results({xAxes ? n.cast(n.ints(*xAxes), type) : axes(wideX),
                    yAxes ? n.cast(n.ints(*yAxes), type) : axes(wideY)});
}

static LogicalResult broadcastGradientArgs(NodeImport &n) {
  if (!n.knownInts(0) || !n.knownInts(1))
    return n.in(0) && n.in(1) ? gradientArgsOf(n, n.in(0), n.in(1)) : failure();
  auto xs = n.constantInts(0), ys = n.constantInts(1);
  size_t rank = std::max(xs->size(), ys->size());
  IntVector xAxes, yAxes;
  for (size_t i = 0; i < rank; ++i) {
    auto dim = [&](const IntVector &shape) -> int64_t {
      size_t missing = rank - shape.size();
      return i < missing ? 1 : shape[i - missing];
    };
    int64_t a = dim(*xs), b = dim(*ys);
    // Where both are 1, summing changes nothing; TensorFlow lists both.
    if (a == 1)
      xAxes.push_back(i);
    if (b == 1)
      yAxes.push_back(i);
  }
  if (*xs == *ys) {
    xAxes.clear();
    yAxes.clear();
  }
  Type type = n.elementAttr("T");
  return n.results({n.cast(n.ints(xAxes), type), n.cast(n.ints(yAxes), type)});
}

/// Flat numbers of elements as indices by dimension, one dimension a row.
static LogicalResult unravelIndex(NodeImport &n) {
  Value index = n.in(0), dims = n.in(1);
  if (!n.hasRank(dims, 1) || !index || n.rank(index) > 1)
    return n.invalid("found indices or dimensions of a rank above 1");
  if (failed(requireElements(n, index, "indices")))
    return failure();
  require(n, n.compare("gt", dims, 0), "a dimension is not above 0");
  Value product = n.reduce(n.cast(dims, n.b.getF64Type()), "prod", {0}, false);
  double limit = std::ldexp(1.0, n.element(dims).getIntOrFloatBitWidth() - 1);
  require(n, n.compare("le", product, limit), "the product of the dimensions overflows");
  Value count = n.reduce(n.toI64(dims), "prod", {0}, false);
  // Negative ones have negative coordinates, as quotients and rests of C have.
  require(n, n.compare("lt", n.toI64(index), count), "index is out of bound as with dims");
  Value steps = n.op<CumulativeOp>(dims, n.text("prod"), n.number(0), n.flag(true), n.flag(true));
  // A dimension of nothing, which ends the run, must not divide before it does.
  auto column = [&](Value v) {
    v = n.maximum(v, 1.0);
    return n.rank(index) == 1 && v ? n.unsqueeze(v, {1}) : v;
  };
  return n.result(n.op<RemOp>(n.div(index, column(steps)), column(dims)));
}

ArrayRef<OpImport> weir::tf::shapeImports() {
  static const OpImport rows[] = {
      {"Shape", shape},
      {"ShapeN", shapeN},
      {"Size", size},
      {"Rank", rank},
      {"Reshape", reshape},
      {"EnsureShape", ensureShape},
      {"ExpandDims", expandDims},
      {"Squeeze", squeeze},
      {"UnravelIndex", unravelIndex},
      {"BroadcastTo", broadcastTo},
      {"BroadcastArgs", broadcastArgs},
      {"BroadcastGradientArgs", broadcastGradientArgs},
  };
  return rows;
}

//===- MovementSteps.cpp - steps that move elements -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/GraphBuilder.h"

#include <algorithm>
#include <numeric>

using namespace weir;
using namespace weir::fuzz;

/// A value as `like`, moved: same type, magnitude and error, other dimensions.
static Value moved(GraphBuilder &g, const char *operation, const std::vector<Value> &inputs,
                   Dims dims, const std::vector<Proto> &attributes = {}) {
  const Value &like = inputs[0];
  return g.make(operation, inputs, like.type, std::move(dims), like.bound, like.error, attributes);
}

static bool transpose(GraphBuilder &g, const Value &x) {
  Dims order(x.rank()), dims;
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[g.below(static_cast<uint32_t>(i))]);
  for (int64_t axis : order)
    dims.push_back(x.dims[axis]);
  return g.add(moved(g, "Transpose", {x}, dims, {g.attribute("perm", order)}));
}

static bool reshape(GraphBuilder &g, const Value &x) {
  Dims dims = x.dims;
  switch (g.below(3)) {
  case 0: // two dimensions become one
    if (dims.size() < 2)
      return false;
    dims[1] *= dims[0];
    dims.erase(dims.begin());
    break;
  case 1: { // one becomes two
    if (dims.empty() || dims.size() > 4)
      return false;
    size_t axis = g.below(static_cast<uint32_t>(dims.size()));
    int64_t factor = g.pick<int64_t>({1, 2, 4, 5, 7});
    if (dims[axis] % factor)
      return false;
    dims[axis] /= factor;
    dims.insert(dims.begin() + axis, factor);
    break;
  }
  default:
    dims = {x.count()};
  }
  Dims target = dims;
  if (!target.empty() && g.oneIn(2))
    target[g.below(static_cast<uint32_t>(target.size()))] = -1;
  return g.add(moved(g, "Reshape", {x, g.integers(target, Role::Run)}, dims));
}

static bool squeeze(GraphBuilder &g, const Value &x) {
  Dims dims = x.dims;
  auto one = std::find(dims.begin(), dims.end(), 1);
  if (one != dims.end() && g.oneIn(2)) {
    int64_t axis = one - dims.begin();
    dims.erase(one);
    return g.add(moved(g, "Squeeze", {x, g.integers({axis}, Role::Parameter)}, dims));
  }
  if (dims.size() > 4)
    return false;
  int64_t axis = g.below(static_cast<uint32_t>(dims.size() + 1));
  dims.insert(dims.begin() + axis, 1);
  return g.add(moved(g, "Unsqueeze", {x, g.integers({axis}, Role::Parameter)}, dims));
}

static bool slice(GraphBuilder &g, const Value &x) {
  if (x.rank() == 0)
    return false;
  int64_t axis = g.below(static_cast<uint32_t>(x.rank())), size = x.dims[axis];
  int64_t length = 1 + g.below(static_cast<uint32_t>(size));
  int64_t begin = g.below(static_cast<uint32_t>(size - length + 1));
  int64_t step = g.pick<int64_t>({1, 1, 2, 3, -1, -2});
  int64_t first = begin, end = begin + length;
  if (step < 0) {
    first = begin + length - 1;
    // One before the first element cannot be said from the front.
    end = begin == 0 ? -size - 1 : begin - 1;
  } else if (g.oneIn(3)) {
    first -= size;
  }
  Dims dims = x.dims;
  int64_t stride = std::abs(step);
  dims[axis] = (length + stride - 1) / stride;
  return g.add(moved(g, "Slice",
                     {x, g.integers({first}, Role::Run), g.integers({end}, Role::Run),
                      g.integers({axis}, Role::Parameter), g.integers({step}, Role::Parameter)},
                     dims));
}

static bool concat(GraphBuilder &g, const Value &x) {
  if (x.rank() == 0 || x.count() * 3 > g.most())
    return false;
  int64_t axis = g.below(static_cast<uint32_t>(x.rank()));
  std::vector<Value> parts{x};
  Dims dims = x.dims;
  Value out = x;
  for (uint32_t i = 0, n = 1 + g.below(2); i < n; ++i) {
    auto other = g.find([&](const Value &v) {
      Dims a = v.dims;
      if (v.type != x.type || a.size() != x.rank() || a[axis] > 2 * x.dims[axis])
        return false;
      a[axis] = x.dims[axis];
      return a == x.dims;
    });
    Value part = other ? *other : x;
    dims[axis] += part.dims[axis];
    out.bound = std::max(out.bound, part.bound);
    out.error = std::max(out.error, part.error);
    parts.push_back(part);
  }
  return g.add(g.make("Concat", parts, x.type, dims, out.bound, out.error,
                      {g.attribute("axis", axis - (g.oneIn(3) ? int64_t(x.rank()) : 0))}));
}

static bool split(GraphBuilder &g, const Value &x) {
  if (x.rank() == 0)
    return false;
  int64_t axis = g.below(static_cast<uint32_t>(x.rank())), size = x.dims[axis];
  if (size < 2)
    return false;
  int64_t first = 1 + g.below(static_cast<uint32_t>(size - 1));
  Value sizes = g.integers({first, size - first}, Role::Parameter);
  auto names = g.node("Split", {x.name, sizes.name}, {g.attribute("axis", axis)}, 2);
  for (int i = 0; i < 2; ++i) {
    Value part = x;
    part.name = names[i];
    part.dims[axis] = i ? size - first : first;
    g.add(part);
  }
  return true;
}

static bool enlarge(GraphBuilder &g, const Value &x) {
  Dims dims = x.dims;
  if (x.rank() == 0 || x.count() * 4 > g.most())
    return false;
  switch (g.below(3)) {
  case 0: {
    Dims repeats(x.rank(), 1);
    size_t axis = g.below(static_cast<uint32_t>(x.rank()));
    repeats[axis] = 1 + g.below(3);
    dims[axis] *= repeats[axis];
    return g.add(moved(g, "Tile", {x, g.integers(repeats, Role::Run)}, dims));
  }
  case 1: {
    for (int64_t &size : dims)
      if (size == 1 && tools::productOf(dims) < g.most() / 4)
        size = 3;
    if (g.oneIn(2))
      dims.insert(dims.begin(), 2);
    return g.add(moved(g, "Expand", {x, g.integers(dims, Role::Run)}, dims));
  }
  default: {
    const char *mode = g.pick({"constant", "reflect", "edge", "wrap"});
    if (x.type == WEIR_BOOL)
      return false;
    Dims pads(2 * x.rank(), 0);
    size_t axis = g.below(static_cast<uint32_t>(x.rank()));
    int64_t most = std::min<int64_t>(3, dims[axis] - 1);
    for (size_t end : {axis, axis + x.rank()}) {
      pads[end] = g.below(static_cast<uint32_t>(most + 1));
      dims[axis] += pads[end];
    }
    if (mode[0] == 'c' && x.rank() > 1 && dims[axis] > 2)
      pads[axis] -= 1, dims[axis] -= 1; // also cuts off
    return g.add(
        moved(g, "Pad", {x, g.integers(pads, Role::Run)}, dims, {g.attribute("mode", mode)}));
  }
  }
}

static bool rearrange(GraphBuilder &g, const Value &x) {
  if (x.rank() == 4 && g.oneIn(2)) {
    Dims dims = x.dims;
    if (dims[2] % 2 == 0 && dims[3] % 2 == 0) {
      dims = {dims[0], dims[1] * 4, dims[2] / 2, dims[3] / 2};
      return g.add(moved(g, "SpaceToDepth", {x}, dims, {g.attribute("blocksize", int64_t(2))}));
    }
    if (dims[1] % 4 == 0) {
      dims = {dims[0], dims[1] / 4, dims[2] * 2, dims[3] * 2};
      return g.add(moved(
          g, "DepthToSpace", {x}, dims,
          {g.attribute("blocksize", int64_t(2)), g.attribute("mode", g.pick({"DCR", "CRD"}))}));
    }
  }
  if (x.rank() >= 2 && g.oneIn(2))
    return g.add(moved(g, "Trilu", {x, g.integer(int64_t(g.below(3)) - 1, Role::Run)}, x.dims,
                       {g.attribute("upper", int64_t(g.below(2)))}));
  if (x.rank() >= 2 && x.type != WEIR_BF16) {
    Value lengths = g.constant(tools::makeTensor(WEIR_I64, {x.dims[1]}), Role::Data);
    lengths = g.make("Add",
                     {lengths, g.integer(1 + g.below(static_cast<uint32_t>(x.dims[0])), Role::Run)},
                     WEIR_I64, lengths.dims, double(x.dims[0]), 0);
    return g.add(
        moved(g, "ReverseSequence", {x, lengths}, x.dims,
              {g.attribute("time_axis", int64_t(0)), g.attribute("batch_axis", int64_t(1))}));
  }
  return false;
}

bool weir::fuzz::movementStep(GraphBuilder &g) {
  auto x = g.find([](const Value &) { return true; });
  if (!x)
    return false;
  switch (g.below(10)) {
  case 0:
  case 1:
    return transpose(g, *x);
  case 2:
  case 3:
    return reshape(g, *x);
  case 4:
    return squeeze(g, *x);
  case 5:
    return slice(g, *x);
  case 6:
    return concat(g, *x);
  case 7:
    return split(g, *x);
  case 8:
    return enlarge(g, *x);
  default:
    return rearrange(g, *x);
  }
}

/// Indices in [-size, size), as a constant or a feed.
static Value indices(GraphBuilder &g, const Dims &dims, int64_t size) {
  return g.data(g.pick<int32_t>({WEIR_I64, WEIR_I32}), dims, g.oneIn(3) ? double(-size) : 0.0,
                double(size - 1));
}

static bool scatter(GraphBuilder &g, const Value &x) {
  // Every place once: which of two updates wins is not defined.
  int64_t size = x.dims[0];
  std::vector<int64_t> places(size);
  std::iota(places.begin(), places.end(), 0);
  for (int64_t i = size; i > 1; --i)
    std::swap(places[i - 1], places[g.below(static_cast<uint32_t>(i))]);
  places.resize(1 + g.below(static_cast<uint32_t>(size)));
  int64_t count = static_cast<int64_t>(places.size());
  Dims dims = x.dims;
  dims[0] = count;
  bool isFloat = x.isFloat();
  Value updates = g.data(x.type, dims, isFloat ? -1 : 0, isFloat || x.type == WEIR_BOOL ? 1 : 9);
  double bound = std::max(x.bound, updates.bound);
  Value where = g.integers(places, Role::Run);
  Value column = g.make("Reshape", {where, g.integers({count, 1}, Role::Parameter)}, WEIR_I64,
                        {count, 1}, double(size), 0);
  return g.add(g.make("ScatterND", {x, column, updates}, x.type, x.dims, bound, x.error));
}

bool weir::fuzz::indexingStep(GraphBuilder &g) {
  auto x = g.find([](const Value &v) { return v.rank() > 0; });
  if (!x)
    return false;
  int64_t axis = g.below(static_cast<uint32_t>(x->rank())), size = x->dims[axis];
  switch (g.below(6)) {
  case 0:
  case 1: {
    Dims shape = g.oneIn(3) ? Dims{} : g.oneIn(2) ? Dims{4} : Dims{2, 3};
    Dims dims(x->dims.begin(), x->dims.begin() + axis);
    dims.insert(dims.end(), shape.begin(), shape.end());
    dims.insert(dims.end(), x->dims.begin() + axis + 1, x->dims.end());
    if (tools::productOf(dims) > g.most() || dims.size() > 5)
      return false;
    return g.add(
        moved(g, "Gather", {*x, indices(g, shape, size)}, dims, {g.attribute("axis", axis)}));
  }
  case 2: {
    Dims dims = x->dims;
    dims[axis] = 1 + g.below(5);
    if (tools::productOf(dims) > g.most())
      return false;
    return g.add(moved(g, "GatherElements", {*x, indices(g, dims, size)}, dims,
                       {g.attribute("axis", axis)}));
  }
  case 3: {
    Dims dims(x->dims.begin() + 1, x->dims.end());
    dims.insert(dims.begin(), 3);
    Value rows = g.data(WEIR_I64, {3, 1}, double(-x->dims[0]), double(x->dims[0] - 1));
    return g.add(moved(g, "GatherND", {*x, rows}, dims));
  }
  case 4:
    return scatter(g, *x);
  default: {
    auto hot =
        g.find([](const Value &v) { return v.isInteger() && v.rank() < 3 && v.count() < 200; });
    if (!hot || hot->type != WEIR_I64)
      return false;
    Dims dims = hot->dims;
    dims.push_back(5);
    return g.add(g.make("OneHot",
                        {*hot, g.integer(5, Role::Run),
                         g.constant(tools::makeTensor(WEIR_I32, {2}), Role::Parameter)},
                        WEIR_I32, dims, 1, 0));
  }
  }
}

/// A vector of the sizes of a value.
static Value shapeOf(GraphBuilder &g, const Value &x) {
  return g.make("Shape", {x}, WEIR_I64, {int64_t(x.rank())}, double(g.most()), 0);
}

/// What becomes of how many elements there are: sizes that only a run knows.
static bool selected(GraphBuilder &g, const Value &x) {
  int64_t axis = g.below(static_cast<uint32_t>(x.rank())), size = x.dims[axis];
  Value flags = g.data(WEIR_BOOL, {size}, 0, 1);
  Value some = moved(g, "Compress", {x, flags}, x.dims, {g.attribute("axis", axis)});
  // A sum over the open dimension closes it.
  Dims dims = x.dims;
  dims[axis] = 1;
  return g.add(g.make("ReduceSum", {some, g.integers({axis}, Role::Parameter)}, x.type, dims,
                      x.bound * size,
                      size * x.error + (x.isFloat() ? 8 * x.epsilon() * x.bound * size : 0)));
}

bool weir::fuzz::shapeStep(GraphBuilder &g) {
  auto x = g.find([](const Value &v) { return v.rank() > 0; });
  if (!x)
    return false;
  switch (g.below(6)) {
  case 0: {
    auto y = g.find([&](const Value &v) { return v.count() == x->count(); });
    return y && g.add(moved(g, "Reshape", {*y, shapeOf(g, *x)}, x->dims));
  }
  case 1: {
    auto y = g.find([&](const Value &v) { return broadcast(v.dims, x->dims) == x->dims; });
    return y && g.add(moved(g, "Expand", {*y, shapeOf(g, *x)}, x->dims));
  }
  case 2:
    return g.add(g.make("ConstantOfShape", {shapeOf(g, *x)}, WEIR_F32, x->dims, 0, 0));
  case 3: {
    int64_t axis = g.below(static_cast<uint32_t>(x->rank()));
    Value size = g.make("Gather", {shapeOf(g, *x), g.integer(axis, Role::Parameter)}, WEIR_I64, {},
                        double(g.most()), 0);
    Value range =
        g.make("Range", {g.integer(0, Role::Parameter), size, g.integer(1, Role::Parameter)},
               WEIR_I64, {x->dims[axis]}, double(x->dims[axis]), 0);
    return g.add(range);
  }
  case 4:
    if (x->type != WEIR_F32 && x->type != WEIR_F64 && x->type != WEIR_I32 && x->type != WEIR_I64)
      return false;
    return selected(g, *x);
  default: {
    // Where something is not zero, and what is there: as many as there are.
    if (!x->isExact() || x->type == WEIR_BF16 || x->type == WEIR_BOOL)
      return false;
    Value where =
        g.make("NonZero", {*x}, WEIR_I64, {int64_t(x->rank()), x->count()}, double(g.most()), 0);
    Value sum = g.make("ReduceSum", {where, g.integers({1}, Role::Parameter)}, WEIR_I64,
                       {int64_t(x->rank())}, double(g.most()) * g.most(), 0,
                       {g.attribute("keepdims", int64_t(0))});
    return g.add(sum);
  }
  }
}

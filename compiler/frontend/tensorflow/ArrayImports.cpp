//===- ArrayImports.cpp - constants, joining, rearranging ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"
#include "dialects/weir/KnownIntegers.h"
#include "dialects/weir/SizeOrigins.h"
#include "dialects/weir/Training.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// Constants and passing through
//===----------------------------------------------------------------------===//

static LogicalResult constant(NodeImport &n) {
  const AttrValue *value = n.attr("value");
  if (!value || !value->tensor)
    return n.invalid("found no value");
  TypedAttr attr = n.g.tensorAttr(*value->tensor, n.node);
  if (!attr)
    return failure();
  Value made = n.constant(attr);
  // Those of functions belong to what these compute; scalars to formulas.
  bool isWeight =
      n.g.marksWeights && n.isFloat(made) && n.rank(made) > 0 && n.g.current && !n.g.current->outer;
  return n.result(isWeight ? markWeight(n.b, n.loc, made, n.g.nameOf(n.node)) : made);
}

static LogicalResult identity(NodeImport &n) {
  // What a version-one variable is read to is its memory: who takes it sees what was
  // assigned before it.
  if (n.inputs[0].kind == Imported::Kind::Resource)
    return n.result(n.inputs[0]);
  if (n.inputs[0].kind == Imported::Kind::Array || n.inputs[0].kind == Imported::Kind::Handle ||
      isOpenRank(n, 0))
    return n.result(n.inputs[0]);
  return n.result(n.in(0));
}

static LogicalResult identityN(NodeImport &n) {
  for (const Imported &input : n.inputs)
    n.made.push_back(input);
  return success();
}

static LogicalResult placeholder(NodeImport &n) {
  return n.g.report(n.node, "W0212",
                    "expected --feed=" + std::string(n.node.name) +
                        ", since the input is needed, got no such feed");
}

/// As many of `value` as the operand has elements.
static LogicalResult valuesLike(NodeImport &n, double value) {
  bool isOpen = isOpenRank(n, 0);
  Value x = isOpen ? openRankInput(n, 0) : n.in(0);
  Value all = n.expandTo(n.like(x, value), n.shapeOf(x));
  if (!isOpen)
    return n.result(all);
  Value box = boxedInput(n, 0);
  return openRankResult(n, all, box ? openShape(n, box) : n.inputs[0].value);
}

static LogicalResult zerosLike(NodeImport &n) {
  if (n.inputs[0].kind == Imported::Kind::Array) {
    Imported zeros = n.inputs[0];
    for (ArrayPart &part : zeros.parts)
      if (!isa<StringType>(n.element(part.values)))
        part.values = n.expandTo(n.like(part.values, 0), n.shapeOf(part.values));
    return n.result(zeros);
  }
  return valuesLike(n, 0);
}

static LogicalResult onesLike(NodeImport &n) { return valuesLike(n, 1); }

/// `value` in the given shape, whose length may be open.
static LogicalResult filled(NodeImport &n, Value value, Value shape) {
  if (!value || n.rank(shape) != 1 || !n.type(shape).isDynamicDim(0))
    return n.result(n.expandTo(value, shape));
  shape = n.toI64(shape);
  require(n, n.compare("ge", shape, 0), "a size is negative");
  Value count = n.reduce(shape, "prod", {0}, true);
  return openRankResult(n, n.expandTo(n.toScalar(value), count), shape);
}

static LogicalResult fill(NodeImport &n) { return filled(n, n.in(1), n.in(0)); }

static LogicalResult empty(NodeImport &n) {
  Type type = n.elementAttr("dtype");
  if (!type)
    return n.unsupported("found a type without zero");
  return filled(n, n.scalar(type, 0), n.in(0));
}

//===----------------------------------------------------------------------===//
// Sequences of numbers
//===----------------------------------------------------------------------===//

/// Whether an integer is at least 0 whatever is fed: a number, or a size.
static bool isCount(SizeOrigins &origins, Value v) {
  auto known = origins.integers(v);
  return known && known->size() == 1 &&
         (known->front().isSymbol() || known->front().value.value_or(-1) >= 0);
}

/// Unlike ONNX's, a range whose step leads away from its end is an error, not empty.
static LogicalResult range(NodeImport &n) {
  SmallVector<Value> given = n.tensors(0, 3);
  if (given.empty())
    return failure();
  for (Value &v : given) {
    if (n.rank(v) > 1)
      return n.invalid("expected scalars, got rank " + Twine(n.rank(v)));
    v = n.toScalar(v);
  }
  auto [start, limit, delta] = std::tuple(given[0], given[1], given[2]);
  auto from = n.knownInts(0), step = n.knownInts(2);
  SizeOrigins origins;
  bool isUpwards = from && *from == IntVector{0} && step && step->size() == 1 &&
                   step->front() > 0 && isCount(origins, limit);
  if (!isUpwards) {
    require(n, n.compare("ne", delta, 0), "the step is 0");
    Value up = n.op<AndOp>(n.compare("gt", delta, 0), n.compare("le", start, limit));
    Value down = n.op<AndOp>(n.compare("lt", delta, 0), n.compare("ge", start, limit));
    require(n, n.op<OrOp>(up, down), "the step leads away from the end");
    if (n.isFloat(start))
      require(n, n.compare("lt", n.op<AbsOp>(n.div(n.sub(limit, start), delta)), 0x1p63),
              "more numbers than can be counted");
  }
  return n.result(n.op<RangeOp>(start, limit, delta));
}

static LogicalResult linSpace(NodeImport &n) {
  Value start = n.in(0), stop = n.in(1), count = n.in(2);
  if (!start || !stop || !count)
    return failure();
  Value steps = n.reshape(n.toI64(count), {1});
  require(n, n.compare("gt", steps, 0), "the number of values is not above 0");
  Value index = n.op<IotaOp>(steps, n.number(0), n.typeAttr(n.element(start)));
  Value last = n.cast(n.maximum(n.sub(n.toScalar(steps), 1.0), 1.0), n.element(start));
  Value delta = n.div(n.sub(stop, start), last);
  Value values = n.add(n.mul(index, delta), start);
  // The ends are exact, whatever the steps add up to.
  values = n.select(n.compare("eq", index, 0), start, values);
  Value isLast = n.compare("eq", index, n.cast(n.sub(n.toScalar(steps), 1.0), n.element(start)));
  Value single = n.compare("eq", n.toScalar(steps), 1);
  Value end = n.select(single, start, stop);
  return n.result(n.select(isLast, end, values));
}

static LogicalResult invertPermutation(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  if (auto known = n.knownInts(0)) {
    IntVector inverse(known->size(), 0);
    for (auto [i, at] : llvm::enumerate(*known)) {
      if (at < 0 || at >= static_cast<int64_t>(inverse.size()))
        return n.invalid("found " + Twine(at) + ", which is no index");
      inverse[at] = i;
    }
    return n.result(n.cast(n.ints(inverse), n.element(x)));
  }
  Value places = n.unsqueeze(x, {1}), zeros = n.expandTo(n.like(x, 0), n.shapeOf(x));
  Value times = n.op<ScatterNdOp>(zeros, places, n.expandTo(n.like(x, 1), n.shapeOf(x)),
                                  n.text("add"), n.flag(false), n.flag(true));
  require(n, n.compare("eq", times, 1), "an index is no permutation's, or is there twice");
  Value index = n.op<IotaOp>(n.shapeOf(x), n.number(0), n.typeAttr(n.element(x)));
  return n.result(
      n.op<ScatterNdOp>(zeros, places, index, n.text("none"), n.flag(false), n.flag(false)));
}

//===----------------------------------------------------------------------===//
// Joining and rearranging
//===----------------------------------------------------------------------===//

static LogicalResult concatAt(NodeImport &n, size_t axisInput, size_t first, size_t end) {
  SmallVector<Value> values = n.tensors(first, end);
  if (values.empty())
    return failure();
  // Along an axis all other sizes agree.
  auto fits = [&](int64_t axis) {
    for (int64_t d = 0; d < n.rank(values.front()); ++d) {
      int64_t size = ShapedType::kDynamic;
      for (Value value : values) {
        int64_t own = n.dim(value, d);
        if (d != axis && !ShapedType::isDynamic(own) && !ShapedType::isDynamic(size) && own != size)
          return false;
        size = ShapedType::isDynamic(own) ? size : own;
      }
    }
    return true;
  };
  return n.result(atAxis(
      n, axisInput, n.rank(values.front()),
      [&](TensorBuilder &t, int64_t axis) { return t.concat(values, axis); }, fits));
}

static LogicalResult concat(NodeImport &n) { return concatAt(n, 0, 1, n.inputCount()); }

static LogicalResult concatV2(NodeImport &n) {
  return concatAt(n, n.inputCount() - 1, 0, n.inputCount() - 1);
}

/// For each shape, where its part begins in the concatenation.
static LogicalResult concatOffset(NodeImport &n) {
  SmallVector<Value> shapes = n.tensors(1, n.inputCount());
  if (shapes.empty())
    return failure();
  int64_t rank = n.dim(shapes[0], 0);
  Value only;
  if (n.knownInts(0)) {
    std::optional<int64_t> axis = n.constantAxis(0, rank);
    if (!axis)
      return failure();
    IntVector mask(rank, 0);
    mask[*axis] = 1;
    only = n.cast(n.ints(mask), n.element(shapes[0]));
  } else {
    only = n.cast(axisFlags(n, n.in(0), rank), n.element(shapes[0]));
  }
  Value offset = n.cast(n.ints(IntVector(rank, 0)), n.element(shapes[0]));
  for (Value shape : shapes) {
    if (!offset)
      return failure();
    n.made.emplace_back(offset);
    offset = n.add(offset, n.mul(shape, only));
  }
  return success();
}

static LogicalResult pack(NodeImport &n) {
  SmallVector<Value> values = n.tensors(0, n.inputCount());
  if (values.empty())
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(values[0]) + 1);
  return axis ? n.result(n.stack(values, *axis)) : failure();
}

/// Each input is one row already.
static LogicalResult parallelConcat(NodeImport &n) {
  SmallVector<Value> values = n.tensors(0, n.inputCount());
  return values.empty() ? failure() : n.result(n.concat(values, 0));
}

static LogicalResult transpose(NodeImport &n) {
  Value x = n.in(0), given = n.in(1);
  if (!x || !given)
    return failure();
  Value result;
  if (std::optional<IntVector> permutation = n.knownInts(1)) {
    IntVector axes;
    for (int64_t one : *permutation) {
      std::optional<int64_t> axis = n.axis(one, n.rank(x));
      if (!axis)
        return failure();
      axes.push_back(*axis);
    }
    result = n.transpose(x, axes);
  } else {
    result = transposeAt(n, x, given);
  }
  if (n.node.op == "ConjugateTranspose" && result && isa<ComplexType>(n.element(result)))
    result = n.op<ConjOp>(result);
  return n.result(result);
}

static LogicalResult tile(NodeImport &n) { return n.result(n.op<TileOp>(n.in(0), n.in(1))); }

static LogicalResult reverse(NodeImport &n) {
  Value x = n.in(0), flags = n.in(1);
  if (!x || !flags)
    return failure();
  if (n.rank(x) == 0) // TensorFlow hands it on before it looks at what is to be turned
    return n.result(x);
  std::optional<IntVector> given = n.knownInts(1);
  if (!given) {
    // Each dimension from either end.
    if (n.node.op != "Reverse")
      flags = distinctAxisFlags(n, flags, n.rank(x));
    for (int64_t i = 0; i < n.rank(x); ++i) {
      Value size = n.sizeOf(x, i);
      Value index = n.op<IotaOp>(size, n.number(0), n.typeAttr(n.b.getI64Type()));
      Value back = n.sub(n.sub(size, 1.0), index);
      x = n.gather(x, n.select(n.pick(flags, 0, i), back, index), i);
      if (!x)
        return failure();
    }
    return n.result(x);
  }
  IntVector axes;
  if (n.node.op == "Reverse") { // a flag for each dimension
    for (auto [i, flag] : llvm::enumerate(*given))
      if (flag)
        axes.push_back(i);
  } else {
    for (int64_t one : *given) {
      std::optional<int64_t> axis = n.axis(one, n.rank(x));
      if (!axis)
        return failure();
      axes.push_back(*axis);
    }
  }
  if (axes.empty())
    return n.result(x);
  llvm::sort(axes);
  return n.result(n.op<ReverseOp>(x, n.list(axes)));
}

/// Reverses the first `lengths[b]` elements of each batch entry b.
static LogicalResult reverseSequence(NodeImport &n) {
  Value x = n.in(0), lengths = n.in(1);
  if (!x || !lengths)
    return failure();
  int64_t rank = n.rank(x);
  auto seq = n.axis(n.i("seq_dim"), rank), batch = n.axis(n.i("batch_dim"), rank);
  if (!seq || !batch || *seq == *batch)
    return failure();
  if (failed(requireShape(n, lengths, n.sizeOf(x, *batch), "lengths")))
    return failure();
  IntVector order = {*batch, *seq}, back(rank);
  for (int64_t i = 0; i < rank; ++i)
    if (i != *batch && i != *seq)
      order.push_back(i);
  for (int64_t i = 0; i < rank; ++i)
    back[order[i]] = i;
  // Longer ones end in an index that does not exist.
  require(n, n.compare("ge", lengths, 0), "a length is negative");
  Value rows = n.transpose(x, order);
  Value length = n.unsqueeze(n.toI64(lengths), {1});
  if (!rows)
    return failure();
  Value index = n.op<IotaOp>(n.shapeSlice(rows, 0, 2), n.number(1), n.typeAttr(n.b.getI64Type()));
  Value mirrored = n.sub(n.sub(length, 1.0), index);
  index = n.select(n.compare("lt", index, length), mirrored, index);
  Value result = n.op<GatherOp>(rows, index, n.number(1), n.number(1), n.flag(false));
  return n.result(n.transpose(result, back));
}

/// Shifts cyclically: the last `shift` elements come first.
static LogicalResult roll(NodeImport &n) {
  Value x = n.in(0), shift = n.in(1);
  if (!x || !shift)
    return failure();
  std::optional<IntVector> axes = n.knownInts(2);
  Value shifts = n.reshape(n.toI64(shift), {-1});
  if (!axes) {
    // What each dimension is shifted by in all.
    int64_t rank = n.rank(x);
    Value given = n.reshape(n.toI64(n.in(2)), {-1});
    if (!given || !axisFlags(n, given, rank))
      return failure();
    given = n.select(n.compare("lt", given, 0), n.add(given, static_cast<double>(rank)), given);
    Value isAt = n.compare("eq", n.unsqueeze(given, {1}), n.ints(axesFrom(0, rank)));
    shifts = n.reduce(n.mul(n.unsqueeze(shifts, {1}), n.toI64(isAt)), "sum", {0}, false);
    axes = axesFrom(0, rank);
  }
  for (auto [i, given] : llvm::enumerate(*axes)) {
    std::optional<int64_t> axis = n.axis(given, n.rank(x));
    if (!axis)
      return failure();
    Value size = n.sizeOf(x, *axis);
    Value by = n.slice(shifts, 0, i, i + 1);
    Value index = n.op<IotaOp>(size, n.number(0), n.typeAttr(n.b.getI64Type()));
    // An empty dimension has nothing to divide.
    Value from = n.op<FloorModOp>(n.sub(index, by), n.maximum(size, 1.0));
    x = n.gather(x, from, *axis);
    if (!x)
      return failure();
  }
  return n.result(x);
}

ArrayRef<OpImport> weir::tf::arrayImports() {
  static const OpImport rows[] = {
      {"Const", constant},
      {"HostConst", constant},
      {"Identity", identity},
      {"RefIdentity", identity},
      {"IdentityN", identityN},
      {"Placeholder", placeholder},
      {"PlaceholderV2", placeholder},
      {"ZerosLike", zerosLike},
      {"OnesLike", onesLike},
      {"Fill", fill},
      {"Empty", empty},
      {"Range", range},
      {"LinSpace", linSpace},
      {"InvertPermutation", invertPermutation},
      {"Concat", concat},
      {"ConcatV2", concatV2},
      {"ConcatOffset", concatOffset},
      {"Pack", pack},
      {"ParallelConcat", parallelConcat},
      {"Transpose", transpose},
      {"ConjugateTranspose", transpose},
      {"Tile", tile},
      {"Reverse", reverse},
      {"ReverseV2", reverse},
      {"ReverseSequence", reverseSequence},
      {"Roll", roll},
  };
  return rows;
}

//===- ArrayWholes.cpp - operations on all of an array --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Arrays.h"
#include "compiler/frontend/tensorflow/PaddedRows.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static constexpr int64_t kOpen = ShapedType::kDynamic;

/// Crops a part to its elements, which must be equal in size; what was not
/// written is zeros of that size.
bool ArrayEditor::requireAlike(ArrayPart &part, const ArrayComponent &component) {
  if (!part.sizes)
    return true;
  IntVector axes = component.openAxes();
  Value size = n.maximum(n.reduce(part.sizes, "max", {0}, false), 0.0);
  Value alike = n.op<OrOp>(n.compare("eq", part.sizes, n.unsqueeze(size, {0})),
                           n.compare("lt", part.sizes, 0));
  require(n, alike, "found elements of different shapes to stack");
  for (int64_t &axis : axes)
    ++axis;
  IntVector zeros(axes.size(), 0), ones(axes.size(), 1);
  part.values =
      n.op<SliceOp>(part.values, n.ints(zeros), size, n.ints(ones), n.list(axes), n.flag(false));
  part.sizes = {};
  return static_cast<bool>(part.values);
}

static constexpr char kNothingToStack[] = "no element was written, and nothing says their shape";

Value ArrayEditor::stack() {
  if (!isReadable(kNothingToStack))
    return {};
  if (info().isNested) {
    (void)n.unsupported("expected tensors to stack, got lists");
    return {};
  }
  ArrayPart part = array.parts[0];
  return requireAlike(part, componentsOf(info())[0]) ? part.values : Value();
}

Value ArrayEditor::gather(Value indices) {
  if (!indices || !isReadable(kNothingToStack))
    return {};
  if (info().isNested) {
    (void)n.unsupported("expected tensors to stack, got lists");
    return {};
  }
  ArrayPart part = array.parts[0];
  part.values = rowsAt(n, part.values, indices);
  if (part.sizes)
    part.sizes = rowsAt(n, part.sizes, indices);
  return requireAlike(part, componentsOf(info())[0]) ? part.values : Value();
}

std::pair<Value, Value> ArrayEditor::concat() {
  if (!isReadable(kNothingToStack, 1))
    return {};
  if (info().isNested) {
    (void)n.unsupported("expected tensors to join, got lists");
    return {};
  }
  ArrayPart part = array.parts[0];
  ArrayComponent component = componentsOf(info())[0];
  if (component.shape.empty()) {
    (void)n.invalid("found scalars to join");
    return {};
  }
  int64_t rank = n.rank(part.values);
  if (!part.sizes || !ShapedType::isDynamic(component.shape[0])) {
    if (!requireAlike(part, component))
      return {};
    // Not -1, which nothing could stand for where elements are empty.
    Value count = n.mul(n.sizeOf(part.values, 0), n.sizeOf(part.values, 1));
    Value shape = rank > 2 ? n.concat({count, n.shapeSlice(part.values, 2, rank)}, 0) : count;
    Value lengths = n.expandTo(n.toScalar(n.sizeOf(part.values, 1)), n.sizeOf(part.values, 0));
    return {n.reshapeTo(part.values, shape), lengths};
  }
  // The rows of each element that are there, in order.
  Value lengths =
      n.maximum(n.reshapeTo(n.slice(part.sizes, 1, 0, 1), n.sizeOf(part.sizes, 0)), 0.0);
  if (part.sizes && n.dim(part.sizes, 1) > 1) {
    // What follows must be equal in all of them.
    ArrayPart others = part;
    others.sizes = n.slice(part.sizes, 1, 1, n.dim(part.sizes, 1));
    ArrayComponent rest = component;
    rest.shape[0] = 0;
    if (!requireAlike(others, rest))
      return {};
    part.values = others.values;
  }
  Value places = n.op<IotaOp>(n.sizeOf(part.values, 1), n.number(0), n.typeAttr(n.b.getI64Type()));
  Value isThere = n.compare("lt", n.unsqueeze(places, {0}), n.unsqueeze(lengths, {1}));
  Value found = n.op<NonZeroOp>(isThere);
  if (found && n.dim(found, 1) != 2)
    found = n.transpose(found, {1, 0});
  return {n.op<GatherNdOp>(part.values, found, n.number(0), n.flag(false)), lengths};
}

Value weir::tf::narrowed(NodeImport &n, Value x, int64_t first, const IntVector &shape) {
  if (!x)
    return {};
  int64_t rank = n.rank(x);
  if (rank != first + static_cast<int64_t>(shape.size())) {
    (void)n.invalid("found elements of rank " + Twine(rank - first) + " where the node says " +
                    Twine(shape.size()));
    return {};
  }
  SmallVector<Value> sizes;
  bool narrows = false;
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t known = n.dim(x, axis), said = axis < first ? -1 : shape[axis - first];
    sizes.push_back(n.sizeOf(x, axis));
    if (said < 0 || known == said)
      continue;
    if (!ShapedType::isDynamic(known)) {
      (void)n.invalid("found elements of size " + Twine(known) + " where the node says " +
                      Twine(said));
      return {};
    }
    require(n, n.compare("eq", sizes.back(), static_cast<double>(said)),
            "found elements of another shape than the node says");
    sizes.back() = n.ints({said});
    narrows = true;
  }
  return narrows ? n.reshapeTo(x, n.concat(sizes, 0)) : x;
}

Value weir::tf::narrowedTo(NodeImport &n, Value x, int64_t first, std::string_view attr,
                           size_t skipped) {
  const AttrValue *said = n.attr(attr);
  if (!said || !said->shape || said->shape->unknownRank || said->shape->dims.size() < skipped)
    return x;
  return narrowed(n, x, first,
                  IntVector(said->shape->dims.begin() + skipped, said->shape->dims.end()));
}

bool ArrayEditor::split(Value value, Value lengths) {
  if (!value || !lengths)
    return false;
  if (n.rank(value) < 1 || n.rank(lengths) != 1) {
    (void)n.invalid("found a scalar to split");
    return false;
  }
  lengths = n.toI64(lengths);
  auto known = constantIntegers(lengths);
  bool isEven = known && !known->empty() && llvm::all_equal(*known);
  Imported like(isEven ? n.slice(value, 0, 0, known->front()) : n.slice(value, 0, 0, -1));
  if (!isEven && like.value) {
    // Any length: the type says so.
    IntVector shape(n.sizes(value));
    shape[0] = kOpen;
    like.value = n.generalize(like.value, n.type(value).clone(shape));
  }
  if (!like.value)
    return false;
  info().length = n.toScalar(n.sizeOf(lengths, 0));
  array.parts.clear();
  if (!accept(like))
    return false;
  require(n, n.compare("eq", n.reduce(lengths, "sum", {0}, true), n.sizeOf(value, 0)),
          "found lengths that do not sum up to the first dimension");
  ArrayPart part;
  if (isEven) {
    Value shape = n.ints({static_cast<int64_t>(known->size()), known->front()});
    if (n.rank(value) > 1)
      shape = n.concat({shape, n.shapeSlice(value, 1, n.rank(value))}, 0);
    part.values = n.reshapeTo(value, shape);
    array.parts = {part};
    return static_cast<bool>(part.values);
  }
  // Row i, place j is row begin[i] + j of the value, or the row of zeros that
  // is put behind its end.
  Value end = n.sizeOf(value, 0);
  Value padded = grow(n, value, n.add(end, 1.0), n.like(value, 0));
  Value begins =
      n.op<CumulativeOp>(lengths, n.text("sum"), n.number(0), n.flag(true), n.flag(false));
  Value longest = n.maximum(n.reduce(lengths, "max", {0}, true), n.ints({0}));
  Value places = n.unsqueeze(n.op<IotaOp>(longest, n.number(0), n.typeAttr(n.b.getI64Type())), {0});
  Value rows = n.add(n.unsqueeze(begins, {1}), places);
  Value isThere = n.compare("lt", places, n.unsqueeze(lengths, {1}));
  part.values = rowsAt(n, padded, n.select(isThere, rows, n.toScalar(end)));
  IntVector axes = componentsOf(info())[0].openAxes();
  SmallVector<Value> columns;
  for (int64_t axis : axes) {
    Value size = axis == 0 ? n.unsqueeze(lengths, {1})
                           : n.expandTo(n.reshape(n.sizeOf(value, axis), {1, 1}),
                                        n.concat({n.sizeOf(lengths, 0), n.ints({1})}, 0));
    columns.push_back(size);
  }
  if (!columns.empty()) {
    part.sizes = n.concat(columns, 1);
    part.axes.assign(axes.begin(), axes.end());
  }
  array.parts = {part};
  return part.values && (columns.empty() || part.sizes);
}

bool ArrayEditor::unstack(Value items) {
  if (!items)
    return false;
  if (n.rank(items) < 1) {
    (void)n.invalid("found a scalar for the rows of an array");
    return false;
  }
  info().length = n.toScalar(n.sizeOf(items, 0));
  ArrayInfo like;
  like.element = n.element(items);
  like.shape = IntVector(n.sizes(items).drop_front());
  if (info().isNested || info().element != like.element) {
    (void)n.invalid("found elements of another type than the array's");
    return false;
  }
  if (info().isDeclared && info().shape && info().shape->size() == like.shape->size())
    for (auto [mine, theirs] : llvm::zip(*info().shape, *like.shape))
      if (ShapedType::isDynamic(theirs))
        theirs = mine;
  if (!widen(info(), like)) {
    (void)n.invalid("found elements of another rank than the array's");
    return false;
  }
  array.parts = {{items, Value(), {}}};
  return true;
}

bool ArrayEditor::resize(Value size) {
  if (!size || !exists() || !growTo(one(size)))
    return false;
  auto cut = [&](Value values) {
    return n.op<SliceOp>(values, n.ints({0}), one(size), n.ints({1}), n.list({0}), n.flag(false));
  };
  for (ArrayPart &part : array.parts) {
    part.values = cut(part.values);
    if (part.sizes)
      part.sizes = cut(part.sizes);
    if (!part.values)
      return false;
  }
  return true;
}

bool ArrayEditor::append(Imported other) {
  if (other.kind != Imported::Kind::Array || !widen(info(), *other.array)) {
    (void)n.invalid("found lists of different elements to join");
    return false;
  }
  other.array = array.array;
  ArrayEditor tail(n, other);
  if (!exists() || !tail.exists())
    return false;
  addSizes(array, n.b, n.loc);
  addSizes(tail.array, n.b, n.loc);
  for (auto [part, more] : llvm::zip(array.parts, tail.array.parts)) {
    Value values = fit(n, part.values, more.values);
    part.values = n.concat({values, fit(n, more.values, values)}, 0);
    if (part.sizes)
      part.sizes = n.concat({part.sizes, more.sizes}, 0);
    if (!part.values)
      return false;
  }
  return true;
}

LogicalResult weir::tf::addArrays(NodeImport &n) {
  Imported sum = n.inputs[0];
  for (size_t i = 1; i < n.inputCount(); ++i) {
    Imported &next = n.inputs[i];
    if (next.kind != Imported::Kind::Array)
      return n.unsupported("found lists among tensors");
    if (next.parts.empty())
      continue;
    if (sum.parts.empty()) {
      sum = next;
      continue;
    }
    if (!widen(*sum.array, *next.array) || !widen(*next.array, *sum.array))
      return n.invalid("found lists of different elements to add");
    if (!addSizes(sum, n.b, n.loc) || !addSizes(next, n.b, n.loc))
      return n.invalid("found lists of different elements to add");
    for (auto [part, more, component] :
         llvm::zip(sum.parts, next.parts, componentsOf(*sum.array))) {
      if (sum.array->isNested && component.element.isInteger(64))
        continue; // the sizes of lists in the list
      ArrayEditor::pad(n, part.values, more.values);
      part.values = n.add(part.values, more.values);
      if (part.sizes)
        part.sizes = n.maximum(part.sizes, more.sizes);
    }
  }
  return n.result(sum);
}

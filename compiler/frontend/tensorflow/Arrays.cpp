//===- Arrays.cpp - arrays and lists of tensors, as tensors ---------------===//
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

//===----------------------------------------------------------------------===//
// What elements are
//===----------------------------------------------------------------------===//

IntVector ArrayComponent::openAxes() const {
  IntVector axes;
  for (auto [axis, dim] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(dim))
      axes.push_back(axis);
  return axes;
}

SmallVector<ArrayComponent> weir::tf::componentsOf(const ArrayInfo &info) {
  SmallVector<ArrayComponent> components;
  if (!info.isNested) {
    if (info.shape && info.element)
      components.push_back({info.element, *info.shape});
    return components;
  }
  if (!info.inner)
    return components;
  for (ArrayComponent &component : componentsOf(*info.inner)) {
    int64_t open = component.openAxes().size();
    Type i64 = IntegerType::get(component.element.getContext(), 64);
    component.shape.insert(component.shape.begin(), kOpen);
    components.push_back(component);
    if (open)
      components.push_back({i64, {kOpen, open}});
  }
  return components;
}

std::optional<IntVector> weir::tf::elementShape(std::optional<IntVector> dims) {
  if (!dims)
    return std::nullopt;
  for (int64_t &dim : *dims)
    if (dim < 0)
      dim = kOpen;
  return dims;
}

Imported weir::tf::makeUnwritten(std::shared_ptr<ArrayInfo> info, OpBuilder &b, Location loc) {
  TensorBuilder t(b, loc);
  Imported array = Imported::makeArray(info);
  for (const ArrayComponent &component : componentsOf(*info)) {
    IntVector shape = component.shape, open = component.openAxes();
    llvm::replace(shape, kOpen, int64_t(0));
    int64_t columns = open.size();
    Value zero = t.scalar(component.element, 0);
    if (!zero)
      return Imported::makeArray(info);
    ArrayPart part;
    auto rows = [&](Value value, IntVector dims) {
      auto known = constantIntegers(info->length);
      if (known && known->size() == 1 && known->front() >= 0) {
        dims.insert(dims.begin(), known->front());
        return t.expandTo(value, t.ints(dims));
      }
      Value count = t.reshape(t.cast(info->length, b.getI64Type()), {1});
      return t.expandTo(value, dims.empty() ? count : t.concat({count, t.ints(dims)}, 0));
    };
    part.values = rows(zero, shape);
    if (columns) {
      part.sizes = rows(t.intScalar(-1), {columns});
      part.axes.assign(open.begin(), open.end());
    }
    if (!part.values || (columns && !part.sizes))
      return Imported::makeArray(info);
    array.parts.push_back(part);
  }
  return array;
}

bool weir::tf::widen(ArrayInfo &info, const ArrayInfo &other) {
  if (other.isAny)
    return true;
  if (info.isAny) {
    info.isAny = false;
    info.isNested = other.isNested;
    info.element = other.element;
    info.shape = other.shape;
    info.inner = other.inner;
    return true;
  }
  if (info.isNested != other.isNested)
    return false;
  if (info.isNested) {
    if (!other.inner)
      return true;
    if (!info.inner)
      info.inner = std::make_shared<ArrayInfo>(*other.inner);
    return widen(*info.inner, *other.inner);
  }
  if (info.element != other.element)
    return false;
  if (!other.shape)
    return true;
  if (!info.shape) {
    info.shape = other.shape;
    return true;
  }
  if (info.shape->size() != other.shape->size())
    return false;
  for (auto [mine, theirs] : llvm::zip(*info.shape, *other.shape))
    if (mine != theirs)
      mine = kOpen;
  return true;
}

bool weir::tf::fitSizes(Imported &array, OpBuilder &b, Location loc) {
  if (array.kind != Imported::Kind::Array || array.parts.empty())
    return true;
  TensorBuilder t(b, loc);
  SmallVector<ArrayComponent> components = componentsOf(*array.array);
  if (components.size() != array.parts.size())
    return false;
  for (auto [part, component] : llvm::zip(array.parts, components)) {
    // The sizes of lists in the list: a row for each element of one.
    if (array.array->isNested && component.shape.size() == 2 &&
        !ShapedType::isDynamic(component.shape[1]) && component.element.isInteger(64) &&
        t.dim(part.values, 2) != component.shape[1])
      return false;
    IntVector open = component.openAxes();
    if (!part.sizes || llvm::equal(part.axes, open))
      continue;
    // What was not written has no size in any dimension.
    Value first = t.slice(part.sizes, 1, 0, 1);
    SmallVector<Value> columns;
    for (int64_t axis : open) {
      auto at = llvm::find(part.axes, axis);
      int64_t column = at - part.axes.begin();
      columns.push_back(at == part.axes.end()
                            ? t.select(t.compare("lt", first, 0), first,
                                       t.toScalar(t.sizeOf(part.values, axis + 1)))
                            : t.slice(part.sizes, 1, column, column + 1));
    }
    part.sizes = t.concat(columns, 1);
    part.axes.assign(open.begin(), open.end());
  }
  return true;
}

bool weir::tf::addSizes(Imported &array, OpBuilder &b, Location loc) {
  if (!fitSizes(array, b, loc))
    return false;
  if (array.kind != Imported::Kind::Array || array.parts.empty())
    return true;
  TensorBuilder t(b, loc);
  for (auto [part, component] : llvm::zip(array.parts, componentsOf(*array.array))) {
    IntVector open = component.openAxes();
    if (open.empty() || part.sizes)
      continue;
    Value row;
    for (int64_t axis : open) {
      Value size = t.sizeOf(part.values, axis + 1);
      row = row ? t.concat({row, size}, 0) : size;
    }
    int64_t columns = open.size();
    part.sizes = t.expandTo(row, t.concat({t.sizeOf(part.values, 0), t.ints({columns})}, 0));
    part.axes.assign(open.begin(), open.end());
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

bool ArrayEditor::exists() {
  if (array.kind != Imported::Kind::Array) {
    (void)n.unsupported("found an input that is no array of this program");
    return false;
  }
  if (array.parts.empty())
    array = makeUnwritten(array.array, n.b, n.loc);
  if (array.parts.empty())
    (void)n.unsupported("expected an array that is written before it is read, or whose element "
                        "shape is known, got neither");
  if (array.parts.empty())
    return false;
  if (!fitSizes(array, n.b, n.loc)) {
    (void)n.unsupported("found lists in a list whose elements begin to differ "
                        "in size");
    return false;
  }
  return true;
}

bool ArrayEditor::isReadable(StringRef why, int64_t rank) {
  if (array.kind != Imported::Kind::Array || !array.parts.empty() || info().isNested ||
      info().isAny || info().shape || !info().element)
    return exists();
  AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), n.scalar(n.b.getI1Type(), 0),
                   n.text(why), n.number(3), ValueRange()); // WEIR_INVALID_ARGUMENT
  // No one sees of which rank elements are that are not there. What is written later
  // must not meet this, so it is of this place alone.
  array.array = std::make_shared<ArrayInfo>(info());
  info().shape = IntVector(rank, kOpen);
  return exists();
}

bool ArrayEditor::limit(Value most) {
  auto known = constantIntegers(most);
  if (known && known->size() == 1)
    info().most = known->front();
  else
    info().openMost = n.toScalar(n.toI64(most));
  return known || info().openMost;
}

bool ArrayEditor::accept(const Imported &item) {
  if (array.kind != Imported::Kind::Array)
    return exists();
  ArrayInfo like;
  if (item.kind == Imported::Kind::Tensor) {
    like.element = n.element(item.value);
    like.shape = IntVector(n.sizes(item.value));
  } else if (item.kind == Imported::Kind::Array) {
    like.isNested = true;
    like.inner = item.array;
  } else {
    (void)n.unsupported("expected elements that are tensors or lists, got handles");
    return false;
  }
  if (info().isNested != like.isNested || (!like.isNested && info().element != like.element)) {
    (void)n.invalid("found an element of another type than the array's");
    return false;
  }
  if (info().isDeclared && info().shape && like.shape) {
    // What the graph says of elements narrows what is known of this one.
    if (info().shape->size() != like.shape->size()) {
      (void)n.invalid("found an element of another rank than the array's");
      return false;
    }
    for (auto [mine, theirs] : llvm::zip(*info().shape, *like.shape)) {
      if (mine != theirs && !ShapedType::isDynamic(mine) && !ShapedType::isDynamic(theirs)) {
        (void)n.invalid("found an element of another shape than the array's");
        return false;
      }
      theirs = mine;
    }
  }
  if (info().isAlike && info().shape && like.shape && info().shape->size() == like.shape->size())
    for (auto [mine, theirs] : llvm::zip(*info().shape, *like.shape))
      if (mine != theirs && !ShapedType::isDynamic(mine) && !ShapedType::isDynamic(theirs)) {
        (void)n.invalid("found an element of another shape than the first; "
                        "identical_element_shapes is set");
        return false;
      }
  if (!widen(info(), like)) {
    (void)n.unsupported("found elements of different ranks in one array");
    return false;
  }
  return exists();
}

bool ArrayEditor::elementTensors(const Imported &item, SmallVector<Value> &tensors) {
  if (item.kind == Imported::Kind::Tensor) {
    Value value = item.value;
    if (info().isDeclared && info().shape) {
      IntVector shape(n.sizes(value));
      bool narrows = false;
      for (auto [known, dim] : llvm::zip(*info().shape, shape))
        if (ShapedType::isDynamic(dim) && !ShapedType::isDynamic(known)) {
          dim = known;
          narrows = true;
        }
      if (narrows) {
        SmallVector<Value> sizes;
        for (auto [axis, dim] : llvm::enumerate(shape))
          sizes.push_back(ShapedType::isDynamic(dim) ? n.sizeOf(value, axis) : n.ints({dim}));
        value = n.reshapeTo(value, n.concat(sizes, 0));
      }
    }
    tensors.push_back(value);
    return static_cast<bool>(value);
  }
  Imported list = item;
  list.array = info().inner; // as wide as all that were written
  if (list.parts.empty())
    list.array->length = item.array->length;
  ArrayEditor inner(n, list);
  if (!inner.exists())
    return false;
  addSizes(inner.array, n.b, n.loc);
  for (Value *tensor : inner.array.tensors())
    tensors.push_back(*tensor);
  return true;
}

Imported ArrayEditor::read(Value index) {
  if (!index || !isReadable("an element that was not written, and whose shape nothing says"))
    return {};
  SmallVector<Value> tensors;
  Value at = n.toScalar(n.toI64(index));
  for (auto [part, component] : llvm::zip(array.parts, componentsOf(info()))) {
    Value value = rowsAt(n, part.values, at);
    if (part.sizes) {
      IntVector axes = component.openAxes();
      Value sizes = rowsAt(n, part.sizes, at);
      Value isThere = n.compare("ge", sizes, 0);
      if (info().isAlike) {
        // One that was not written is zeros where any says of which shape.
        for (int64_t &axis : axes)
          ++axis;
        isThere = n.op<OrOp>(isThere, n.compare("gt", sizesIn(n, part.values, axes), 0));
      }
      require(n, isThere, "found an element that was not written");
      if (info().isAlike) {
        tensors.push_back(value);
        continue;
      }
      IntVector zeros(axes.size(), 0), ones(axes.size(), 1);
      value = n.op<SliceOp>(value, n.ints(zeros), sizes, n.ints(ones), n.list(axes), n.flag(false));
    }
    if (!value)
      return {};
    tensors.push_back(value);
  }
  if (!info().isNested)
    return Imported(tensors[0]);
  Imported list = Imported::makeArray(std::make_shared<ArrayInfo>(*info().inner));
  size_t next = 0;
  for (const ArrayComponent &component : componentsOf(*info().inner)) {
    ArrayPart part;
    part.values = tensors[next++];
    if (IntVector open = component.openAxes(); !open.empty()) {
      part.sizes = tensors[next++];
      part.axes.assign(open.begin(), open.end());
    }
    list.parts.push_back(part);
  }
  return list;
}

void ArrayEditor::requireSizes(const ArrayPart &part, Value sizes) {
  IntVector axes;
  for (int64_t axis : componentsOf(info())[0].openAxes())
    axes.push_back(axis + 1);
  Value before = sizesIn(n, part.values, axes);
  Value same = n.op<OrOp>(n.compare("eq", before, sizes), n.compare("eq", before, 0));
  require(n, same,
          "found an element of another shape than those before; "
          "identical_element_shapes is set");
}

bool ArrayEditor::growTo(Value size) {
  for (ArrayPart &part : array.parts) {
    part.values = grow(n, part.values, size, n.like(part.values, 0));
    if (part.sizes)
      part.sizes = grow(n, part.sizes, size, n.intScalar(-1));
    if (!part.values)
      return false;
  }
  return true;
}

bool ArrayEditor::write(Value index, const Imported &item) {
  SmallVector<Value> tensors;
  if (!index || !accept(item) || !elementTensors(item, tensors))
    return false;
  Value where = one(index);
  if (info().grows && !growTo(n.add(where, 1.0)))
    return false;
  addSizes(array, n.b, n.loc);
  for (auto [part, component, tensor] : llvm::zip(array.parts, componentsOf(info()), tensors)) {
    Value row = n.unsqueeze(tensor, {0});
    if (info().isAlike && part.sizes)
      requireSizes(part, sizesIn(n, tensor, component.openAxes()));
    part.values = fit(n, part.values, row);
    part.values = put(n, part.values, where, fit(n, row, part.values), info().accumulates);
    if (part.sizes)
      part.sizes = put(n, part.sizes, where,
                       n.unsqueeze(sizesIn(n, tensor, component.openAxes()), {0}), false);
    if (!part.values)
      return false;
  }
  return true;
}

bool ArrayEditor::scatter(Value indices, Value items) {
  if (!indices || !items)
    return false;
  if (n.rank(items) < 1) {
    (void)n.invalid("found a scalar for the rows of an array");
    return false;
  }
  Imported like(n.pick(items, 0, 0));
  if (!like.value || !accept(like))
    return false;
  Value where = n.toI64(indices);
  if (info().grows && !growTo(n.add(n.reduce(where, "max", {0}, true), 1.0)))
    return false;
  addSizes(array, n.b, n.loc);
  ArrayPart &part = array.parts[0];
  if (info().isAlike && part.sizes) {
    IntVector axes = componentsOf(info())[0].openAxes();
    for (int64_t &axis : axes)
      ++axis;
    requireSizes(part, sizesIn(n, items, axes));
  }
  part.values = fit(n, part.values, items);
  part.values = put(n, part.values, where, fit(n, items, part.values), info().accumulates);
  if (part.sizes) {
    IntVector axes = componentsOf(info())[0].openAxes();
    int64_t columns = axes.size();
    for (int64_t &axis : axes)
      ++axis;
    Value rows =
        n.expandTo(sizesIn(n, items, axes), n.concat({n.sizeOf(items, 0), n.ints({columns})}, 0));
    part.sizes = put(n, part.sizes, where, rows, false);
  }
  return static_cast<bool>(part.values);
}

bool ArrayEditor::push(const Imported &item) {
  SmallVector<Value> tensors;
  if (!accept(item) || !elementTensors(item, tensors))
    return false;
  if (info().most >= 0 || info().openMost) {
    Value most = info().openMost ? info().openMost : n.intScalar(info().most);
    require(n, n.op<OrOp>(n.compare("lt", most, 0), n.compare("lt", length(), most)),
            "found no room for a further element: max_num_elements or max_size are there");
  }
  addSizes(array, n.b, n.loc);
  for (auto [part, component, tensor] : llvm::zip(array.parts, componentsOf(info()), tensors)) {
    Value row = n.unsqueeze(tensor, {0});
    Value values = fit(n, part.values, row);
    part.values = n.concat({values, fit(n, row, values)}, 0);
    if (part.sizes)
      part.sizes =
          n.concat({part.sizes, n.unsqueeze(sizesIn(n, tensor, component.openAxes()), {0})}, 0);
    if (!part.values)
      return false;
  }
  return true;
}

Imported ArrayEditor::pop() {
  if (!isReadable("nothing is left to take away"))
    return {};
  Value size = length();
  require(n, n.compare("gt", size, 0), "found nothing left to take away");
  // Of a run that ends there an element is read, too: there must be one.
  if (n.dim(array.parts[0].values, 0) == 0 && !growTo(n.ints({1})))
    return {};
  Imported last = read(n.maximum(n.sub(size, 1.0), 0.0));
  for (ArrayPart &part : array.parts) {
    part.values = n.slice(part.values, 0, 0, -1);
    if (part.sizes)
      part.sizes = n.slice(part.sizes, 0, 0, -1);
    if (!part.values)
      return {};
  }
  return last;
}

Value ArrayEditor::length() {
  if (array.parts.empty())
    return n.toScalar(n.toI64(info().length));
  return n.toScalar(n.sizeOf(array.parts[0].values, 0));
}

void ArrayEditor::pad(NodeImport &n, Value &x, Value &y) {
  x = fit(n, x, y);
  y = fit(n, y, x);
}

//===- ListImports.cpp - TensorArray and TensorList -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An array of equal elements is one tensor; writing makes the next version of
// it. TensorArray orders its operations by the flow, which here *is* the array.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// What both are made of
//===----------------------------------------------------------------------===//

/// The element shape that integers or an attribute give; nothing where the rank
/// is open.
static std::optional<IntVector> elementShape(std::optional<IntVector> dims) {
  if (!dims)
    return std::nullopt;
  for (int64_t &dim : *dims)
    if (dim < 0)
      dim = ShapedType::kDynamic;
  return dims;
}

static bool isStatic(const ArrayInfo &info) {
  return info.shape && !llvm::is_contained(*info.shape, ShapedType::kDynamic);
}

/// `values` with room for elements as large as `item` (its element, with the
/// leading dimension that `values` has): sizes that were not known when the
/// array was made are nothing until then.
static Value fit(NodeImport &n, Value values, Value item) {
  if (!values || !item || n.rank(values) != n.rank(item))
    return values;
  SmallVector<Value> after = {n.ints({0})};
  bool fits = true;
  for (int64_t i = 1; i < n.rank(values); ++i) {
    int64_t have = n.type(values).getDimSize(i),
            want = n.type(item).getDimSize(i);
    if (have == want && !ShapedType::isDynamic(have)) {
      after.push_back(n.ints({0}));
      continue;
    }
    fits = false;
    after.push_back(n.maximum(n.sub(n.sizeOf(item, i), n.sizeOf(values, i)),
                              n.ints({0})));
  }
  if (fits)
    return values;
  Value before = n.ints(IntVector(n.rank(values), 0));
  after.insert(after.begin(), before);
  return n.op<PadOp>(values, n.concat(after, 0), n.like(values, 0),
                     n.text("constant"));
}

/// The elements of input `i`, made if they are known to be; null without a
/// report where they are not: the loop around is then imported once more.
static Value contents(NodeImport &n, size_t i) {
  Imported &input = n.inputs[i];
  if (input.kind != Imported::Kind::Array) {
    (void)n.unsupported("found input " + Twine(i) +
                        " that is no array of this program");
    return {};
  }
  if (!input.value && input.array->shape)
    input.value = n.g.materialize(*input.array, n.b, n.loc);
  if (!input.value)
    (void)n.unsupported("found an array whose element shape is not known when "
                        "it is used; possible is one that is written first");
  return input.value;
}

/// The elements of input `i`, whose element shape `value` tells if nothing did.
static Value contentsFor(NodeImport &n, size_t i, Ints shape) {
  Imported &input = n.inputs[i];
  if (input.kind == Imported::Kind::Array && !input.value &&
      !isStatic(*input.array))
    input.array->shape = IntVector(shape);
  return contents(n, i);
}

static LogicalResult array(NodeImport &n, Value value,
                           std::shared_ptr<ArrayInfo> info) {
  if (!value)
    return failure();
  return n.result(Imported::makeArray(value, std::move(info)));
}

static Value at(NodeImport &n, Value values, Value index) {
  return n.op<GatherOp>(values, n.toScalar(index), n.number(0), n.number(0),
                        n.flag(false));
}

/// `values` with elements at `indices` (one dimension) replaced.
static Value put(NodeImport &n, Value values, Value indices, Value updates) {
  values = fit(n, values, updates);
  return n.op<ScatterNdOp>(values, n.unsqueeze(indices, {1}), updates,
                           n.text("none"), n.flag(false), n.flag(false));
}

/// Zeros appended until `size` (tensor<1xi64>) elements are there.
static Value grow(NodeImport &n, Value values, Value size) {
  if (!values)
    return {};
  int64_t rank = n.rank(values);
  Value missing = n.maximum(n.sub(size, n.sizeOf(values, 0)), n.ints({0}));
  Value pads = n.concat({n.ints(IntVector(rank, 0)), missing}, 0);
  if (rank > 1)
    pads = n.concat({pads, n.ints(IntVector(rank - 1, 0))}, 0);
  return n.op<PadOp>(values, pads, n.like(values, 0), n.text("constant"));
}

static Value write(NodeImport &n, const ArrayInfo &info, Value values,
                   Value index, Value item) {
  Value where = n.reshape(n.toI64(index), {1});
  if (info.grows)
    values = grow(n, values, n.add(where, 1.0));
  return put(n, values, where, n.unsqueeze(item, {0}));
}

//===----------------------------------------------------------------------===//
// TensorArray, version three: (handle, …, flow)
//===----------------------------------------------------------------------===//

static std::shared_ptr<ArrayInfo> handleAt(NodeImport &n, size_t i) {
  if (n.inputs[i].kind == Imported::Kind::Handle)
    return n.inputs[i].array;
  (void)n.unsupported("found input " + Twine(i) +
                      " that is no TensorArray of this program");
  return nullptr;
}

static LogicalResult tensorArray(NodeImport &n) {
  auto info = std::make_shared<ArrayInfo>();
  info->element = n.elementAttr("dtype");
  info->grows = n.isSet("dynamic_size");
  info->length = n.in(0);
  if (!info->length)
    return failure();
  if (!info->element || isa<StringType>(info->element))
    return n.unsupported("found an array of strings or handles; possible are "
                         "numbers");
  const AttrValue *shape = n.attr("element_shape");
  if (shape && shape->shape && !shape->shape->unknownRank)
    info->shape = elementShape(
        IntVector(shape->shape->dims.begin(), shape->shape->dims.end()));
  Imported handle;
  handle.kind = Imported::Kind::Handle;
  handle.array = info;
  n.made.push_back(handle);
  Value values = isStatic(*info) ? n.g.materialize(*info, n.b, n.loc) : Value();
  return n.result(Imported::makeArray(values, info));
}

static LogicalResult arrayWrite(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value index = n.in(1), item = n.in(2);
  if (!info || !index || !item)
    return failure();
  Value values = contentsFor(n, 3, n.type(item).getShape());
  return array(n, write(n, *info, values, index, item), info);
}

static LogicalResult arrayRead(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value index = n.in(1), values = contents(n, 2);
  if (!info || !index || !values)
    return failure();
  return n.result(at(n, values, index));
}

static LogicalResult arrayGather(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value indices = n.in(1), values = contents(n, 2);
  if (!info || !indices || !values)
    return failure();
  return n.result(n.op<GatherOp>(values, indices, n.number(0), n.number(0),
                                 n.flag(false)));
}

static LogicalResult arrayScatter(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value indices = n.in(1), items = n.in(2);
  if (!info || !indices || !items)
    return failure();
  // All elements in order are the array.
  auto known = n.knownInts(1);
  auto length = constantIntegers(info->length);
  bool isAll = known && llvm::equal(*known, llvm::seq<int64_t>(0, known->size())) &&
               ((length && length->front() ==
                              static_cast<int64_t>(known->size())) ||
                (info->grows && length && length->front() == 0));
  // The idiom of unstacking: range(0, size) of the array's own size.
  if (auto range = indices.getDefiningOp<RangeOp>(); range && !isAll) {
    auto start = constantIntegers(range.getStart()),
         delta = constantIntegers(range.getDelta());
    isAll = start && delta && start->front() == 0 && delta->front() == 1 &&
            (range.getLimit() == info->length || info->grows);
  }
  Ints shape = n.type(items).getShape().drop_front();
  if (!info->shape)
    info->shape = IntVector(shape);
  if (isAll)
    return array(n, items, info);
  Value values = contentsFor(n, 3, shape);
  if (info->grows && values)
    values = grow(n, values,
                  n.add(n.reduce(n.toI64(indices), "max", {0}, true), 1.0));
  return array(n, put(n, values, indices, items), info);
}

static LogicalResult arraySize(NodeImport &n) {
  auto info = handleAt(n, 0);
  if (!info)
    return failure();
  if (n.inputs[1].kind == Imported::Kind::Array && n.inputs[1].value)
    return n.result(n.cast(n.toScalar(n.sizeOf(n.inputs[1].value, 0)),
                           n.b.getI32Type()));
  return n.result(info->length);
}

/// Equal elements joined along their first dimension, and their lengths.
static LogicalResult arrayConcat(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value values = contents(n, 1);
  if (!info || !values)
    return failure();
  int64_t rank = n.rank(values);
  if (rank < 2)
    return n.invalid("found scalars to join");
  Value shape = n.ints({-1});
  if (rank > 2)
    shape = n.concat({shape, n.shapeSlice(values, 2, rank)}, 0);
  Value lengths = n.expandTo(n.toScalar(n.sizeOf(values, 1)),
                             n.sizeOf(values, 0));
  return n.results({n.reshapeTo(values, shape), lengths});
}

/// Splits into elements of equal length.
static LogicalResult arraySplit(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value value = n.in(1);
  auto lengths = n.constantInts(2);
  if (!info || !value || !lengths)
    return failure();
  if (lengths->empty() || !llvm::all_equal(*lengths))
    return n.unsupported("found parts of different lengths; possible are equal "
                         "ones");
  Value shape = n.ints({static_cast<int64_t>(lengths->size()),
                        lengths->front()});
  if (n.rank(value) > 1)
    shape = n.concat({shape, n.shapeSlice(value, 1, n.rank(value))}, 0);
  Value values = n.reshapeTo(value, shape);
  if (values)
    info->shape = IntVector(n.type(values).getShape().drop_front());
  return array(n, values, info);
}

static LogicalResult nothing(NodeImport &) { return success(); }

//===----------------------------------------------------------------------===//
// TensorList: one value, the list
//===----------------------------------------------------------------------===//

static LogicalResult makeList(NodeImport &n, Value length, bool grows) {
  auto info = std::make_shared<ArrayInfo>();
  info->element = n.elementAttr("element_dtype");
  info->grows = grows;
  info->length = length;
  if (!info->element || isa<StringType>(info->element))
    return n.unsupported("found a list of strings, handles or lists; possible "
                         "are numbers");
  // A scalar shape of -1 says nothing.
  if (auto shape = n.knownInts(0); shape && n.rank(n.in(0)) == 1)
    info->shape = elementShape(shape);
  Value values = isStatic(*info) ? n.g.materialize(*info, n.b, n.loc) : Value();
  return n.result(Imported::makeArray(values, info));
}

static LogicalResult emptyList(NodeImport &n) {
  if (!n.in(0))
    return failure();
  return makeList(n, n.intScalar(0), true);
}

static LogicalResult reserveList(NodeImport &n) {
  Value length = n.in(1);
  if (!n.in(0) || !length)
    return failure();
  return makeList(n, length, false);
}

static LogicalResult listFromTensor(NodeImport &n) {
  Value values = n.in(0);
  if (!values)
    return failure();
  auto info = std::make_shared<ArrayInfo>();
  info->element = n.element(values);
  info->shape = IntVector(n.type(values).getShape().drop_front());
  info->length = n.toScalar(n.sizeOf(values, 0));
  return array(n, values, info);
}

static LogicalResult listStack(NodeImport &n) { return n.result(contents(n, 0)); }

static LogicalResult listGet(NodeImport &n) {
  Value index = n.in(1);
  // The node may say what the elements are.
  if (n.inputs[0].kind == Imported::Kind::Array && !n.inputs[0].value)
    if (auto shape = n.knownInts(2); shape && n.rank(n.in(2)) == 1)
      return n.result(at(n, contentsFor(n, 0, *elementShape(shape)), index));
  Value values = contents(n, 0);
  return index && values ? n.result(at(n, values, index)) : failure();
}

static LogicalResult listSet(NodeImport &n) {
  Value index = n.in(1), item = n.in(2);
  if (!index || !item)
    return failure();
  Value values = contentsFor(n, 0, n.type(item).getShape());
  auto info = n.inputs[0].array;
  if (!values)
    return failure();
  if (n.isSet("resize_if_index_out_of_bounds"))
    values = grow(n, values, n.add(n.reshape(n.toI64(index), {1}), 1.0));
  return array(n, put(n, values, n.reshape(n.toI64(index), {1}),
                      n.unsqueeze(item, {0})),
               info);
}

static LogicalResult listPush(NodeImport &n) {
  Value item = n.in(1);
  if (!item)
    return failure();
  Value values = contentsFor(n, 0, n.type(item).getShape());
  auto info = n.inputs[0].array;
  if (!values)
    return failure();
  Value row = n.unsqueeze(item, {0});
  return array(n, n.concat({fit(n, values, row), row}, 0), info);
}

static LogicalResult listPop(NodeImport &n) {
  Value values = contents(n, 0);
  if (!values)
    return failure();
  auto info = n.inputs[0].array;
  Value last = n.pick(values, 0, -1);
  Value rest = n.slice(values, 0, 0, -1);
  if (!last || !rest)
    return failure();
  n.made.push_back(Imported::makeArray(rest, info));
  return n.result(last);
}

static LogicalResult listLength(NodeImport &n) {
  if (n.inputs[0].kind != Imported::Kind::Array)
    return n.unsupported("found input 0 that is no list of this program");
  Value size = n.inputs[0].value
                   ? n.toScalar(n.sizeOf(n.inputs[0].value, 0))
                   : n.inputs[0].array->length;
  return n.result(n.cast(size, n.b.getI32Type()));
}

static LogicalResult listElementShape(NodeImport &n) {
  Value values = contents(n, 0);
  if (!values)
    return failure();
  Value shape = n.shapeSlice(values, 1, n.rank(values));
  return n.result(n.cast(shape, n.elementAttr("shape_type")));
}

static LogicalResult listConcat(NodeImport &n) {
  Value values = contents(n, 0);
  if (!values)
    return failure();
  int64_t rank = n.rank(values);
  if (rank < 2)
    return n.invalid("found scalars to join");
  Value shape = n.ints({-1});
  if (rank > 2)
    shape = n.concat({shape, n.shapeSlice(values, 2, rank)}, 0);
  Value lengths = n.expandTo(n.toScalar(n.sizeOf(values, 1)),
                             n.sizeOf(values, 0));
  return n.results({n.reshapeTo(values, shape), lengths});
}

static LogicalResult listSplit(NodeImport &n) {
  Value value = n.in(0);
  auto lengths = n.constantInts(2);
  if (!value || !lengths)
    return failure();
  if (lengths->empty() || !llvm::all_equal(*lengths))
    return n.unsupported("found parts of different lengths; possible are equal "
                         "ones");
  Value shape = n.ints({static_cast<int64_t>(lengths->size()),
                        lengths->front()});
  if (n.rank(value) > 1)
    shape = n.concat({shape, n.shapeSlice(value, 1, n.rank(value))}, 0);
  Value values = n.reshapeTo(value, shape);
  if (!values)
    return failure();
  auto info = std::make_shared<ArrayInfo>();
  info->element = n.element(values);
  info->shape = IntVector(n.type(values).getShape().drop_front());
  info->length = n.toScalar(n.sizeOf(values, 0));
  return array(n, values, info);
}

static LogicalResult listGather(NodeImport &n) {
  Value values = contents(n, 0);
  return values ? n.result(n.op<GatherOp>(values, n.in(1), n.number(0),
                                          n.number(0), n.flag(false)))
                : failure();
}

static LogicalResult listResize(NodeImport &n) {
  Value size = n.in(1), values = contents(n, 0);
  if (!size || !values)
    return failure();
  auto info = n.inputs[0].array;
  Value wanted = n.reshape(n.toI64(size), {1});
  Value grown = grow(n, values, wanted);
  return array(n,
               n.op<SliceOp>(grown, n.ints({0}), wanted, n.ints({1}),
                             n.list({0}), n.flag(false)),
               info);
}

ArrayRef<OpImport> weir::tf::listImports() {
  static const OpImport rows[] = {
      {"TensorArrayV3", tensorArray},
      {"TensorArrayWriteV3", arrayWrite},
      {"TensorArrayReadV3", arrayRead},
      {"TensorArrayGatherV3", arrayGather},
      {"TensorArrayScatterV3", arrayScatter},
      {"TensorArraySizeV3", arraySize},
      {"TensorArrayConcatV3", arrayConcat},
      {"TensorArraySplitV3", arraySplit},
      {"TensorArrayCloseV3", nothing},
      {"EmptyTensorList", emptyList},
      {"TensorListReserve", reserveList},
      {"TensorListFromTensor", listFromTensor},
      {"TensorListStack", listStack},
      {"TensorListGetItem", listGet},
      {"TensorListSetItem", listSet},
      {"TensorListPushBack", listPush},
      {"TensorListPopBack", listPop},
      {"TensorListLength", listLength},
      {"TensorListElementShape", listElementShape},
      {"TensorListConcat", listConcat},
      {"TensorListConcatV2", listConcat},
      {"TensorListSplit", listSplit},
      {"TensorListGather", listGather},
      {"TensorListResize", listResize},
  };
  return rows;
}

//===- ListImports.cpp - TensorList ---------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A list is a value: an operation that changes it makes the next one. What it
// is made of is in Arrays.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Arrays.h"
#include "compiler/frontend/tensorflow/Datasets.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static LogicalResult finish(NodeImport &n, bool done, ArrayEditor &list) {
  return done ? n.result(std::move(list.array)) : failure();
}

/// A list of the node's element type, of which nothing else is known.
static std::shared_ptr<ArrayInfo> newList(NodeImport &n) {
  auto info = std::make_shared<ArrayInfo>();
  const AttrValue *type = n.attr("element_dtype");
  if (type && type->type() == DataType::Variant) {
    info->isNested = true;
    return info;
  }
  info->element = n.elementAttr("element_dtype");
  if (info->element)
    return info;
  (void)n.unsupported("expected a list of tensors or lists, got handles");
  return nullptr;
}

static LogicalResult makeList(NodeImport &n, Value length, Value most = {}) {
  auto info = newList(n);
  if (!info || (most && !ArrayEditor(n, Imported::makeArray(info)).limit(most)))
    return failure();
  info->length = length;
  // A scalar shape of -1 says nothing; nor does that of lists.
  if (auto shape = n.knownInts(0); shape && n.rank(n.in(0)) == 1 && !info->isNested) {
    info->shape = elementShape(shape);
    info->isDeclared = true;
  }
  return n.result(makeUnwritten(info, n.b, n.loc));
}

static LogicalResult emptyList(NodeImport &n) {
  return n.in(0) && n.in(1) ? makeList(n, n.intScalar(0), n.in(1)) : failure();
}

static LogicalResult reserveList(NodeImport &n) {
  Value length = n.in(1);
  return n.in(0) && length ? makeList(n, length) : failure();
}

static LogicalResult listFromTensor(NodeImport &n) {
  auto info = newList(n);
  if (!info)
    return failure();
  ArrayEditor list(n, Imported::makeArray(info));
  return finish(n, list.unstack(n.in(0)), list);
}

/// What a node says of the elements of a list that nothing else says.
static Imported withShape(NodeImport &n, size_t input) {
  Imported list = n.inputs[0];
  if (list.kind == Imported::Kind::Array && list.parts.empty() && !list.array->isNested &&
      !list.array->shape && input < n.inputCount())
    if (auto shape = n.knownInts(input); shape && n.rank(n.in(input)) == 1)
      list.array->shape = elementShape(shape);
  return list;
}

static LogicalResult listStack(NodeImport &n) {
  Value all = ArrayEditor(n, withShape(n, 1)).stack();
  if (int64_t count = n.i("num_elements"); all && count >= 0)
    require(n, n.compare("eq", n.sizeOf(all, 0), double(count)),
            "found another number of elements than num_elements says");
  return n.result(all);
}

static LogicalResult listGather(NodeImport &n) {
  return n.result(ArrayEditor(n, withShape(n, 2)).gather(n.in(1)));
}

static LogicalResult listGet(NodeImport &n) {
  Imported element = ArrayEditor(n, withShape(n, 2)).read(n.in(1));
  return element.kind == Imported::Kind::None ? failure() : n.result(element);
}

/// An input that is to be an element: a tensor, or a list.
static Imported elementAt(NodeImport &n, size_t i) {
  if (i < n.inputCount() && n.inputs[i].kind == Imported::Kind::Array)
    return n.inputs[i];
  return Imported(n.in(i));
}

/// Whether an element is of another type than the list's: nothing in the file
/// says so, the run does. The list stays as it is.
static bool endsRun(NodeImport &n, const Imported &item) {
  const Imported &list = n.inputs[0];
  if (list.kind != Imported::Kind::Array || list.array->isNested ||
      item.kind != Imported::Kind::Tensor || n.element(item.value) == list.array->element)
    return false;
  AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), n.scalar(n.b.getI1Type(), 0),
                   n.b.getStringAttr("an element of another type than the "
                                     "list's"),
                   n.number(3), ValueRange()); // WEIR_INVALID_ARGUMENT
  return true;
}

static LogicalResult listSet(NodeImport &n) {
  Value index = n.in(1);
  Imported item = elementAt(n, 2);
  if (!index || item.kind == Imported::Kind::None)
    return failure();
  if (endsRun(n, item))
    return n.result(n.inputs[0]);
  ArrayEditor list(n, n.inputs[0]);
  if (!list.accept(item))
    return failure();
  bool grows = list.info().grows;
  list.info().grows = n.isSet("resize_if_index_out_of_bounds");
  bool done = list.write(index, item);
  list.info().grows = grows;
  return finish(n, done, list);
}

static LogicalResult listPush(NodeImport &n) {
  Imported item = elementAt(n, 1);
  if (item.kind == Imported::Kind::None)
    return failure();
  if (endsRun(n, item))
    return n.result(n.inputs[0]);
  ArrayEditor list(n, n.inputs[0]);
  return finish(n, list.push(item), list);
}

static LogicalResult listPop(NodeImport &n) {
  ArrayEditor list(n, withShape(n, 1));
  Imported last = list.pop();
  if (last.kind == Imported::Kind::None)
    return failure();
  n.made.push_back(std::move(list.array));
  return n.result(std::move(last));
}

static LogicalResult listLength(NodeImport &n) {
  if (n.inputs[0].kind != Imported::Kind::Array)
    return n.unsupported("found input 0 that is no list of this program");
  return n.result(n.cast(ArrayEditor(n, n.inputs[0]).length(), n.b.getI32Type()));
}

static LogicalResult listElementShape(NodeImport &n) {
  Type type = n.elementAttr("shape_type");
  if (n.inputs[0].kind == Imported::Kind::Array && type)
    if (auto &shape = n.inputs[0].array->shape) {
      IntVector dims = *shape; // -1 where it is open, as TensorFlow has it
      llvm::replace(dims, ShapedType::kDynamic, int64_t(-1));
      return n.result(n.cast(n.ints(dims), type));
    }
  return n.result(type ? n.scalar(type, -1) : Value()); // not known
}

static LogicalResult listConcat(NodeImport &n) {
  auto [joined, lengths] = ArrayEditor(n, n.inputs[0]).concat();
  // The first version's attribute, with the dimension that is joined.
  return n.results({narrowedTo(n, joined, 1, "element_shape", 1), lengths});
}

static LogicalResult listSplit(NodeImport &n) {
  auto info = newList(n);
  if (!info)
    return failure();
  ArrayEditor list(n, Imported::makeArray(info));
  return finish(n, list.split(n.in(0), n.in(2)), list);
}

static LogicalResult listScatter(NodeImport &n) {
  auto info = newList(n);
  Value items = n.in(0), indices = n.in(1);
  if (!info || !items || !indices)
    return failure();
  // As long as the largest index asks for, or as told.
  Value size = n.add(n.reduce(n.toI64(indices), "max", {0}, false), 1.0);
  if (n.inputCount() > 3 && n.in(3))
    size = n.maximum(size, n.toScalar(n.toI64(n.in(3))));
  info->length = size;
  ArrayEditor list(n, Imported::makeArray(info));
  return size ? finish(n, list.scatter(indices, items), list) : failure();
}

static LogicalResult listScatterInto(NodeImport &n) {
  ArrayEditor list(n, n.inputs[0]);
  return finish(n, list.scatter(n.in(2), n.in(1)), list);
}

static LogicalResult listResize(NodeImport &n) {
  ArrayEditor list(n, n.inputs[0]);
  return finish(n, list.resize(n.in(1)), list);
}

static LogicalResult listJoin(NodeImport &n) {
  ArrayEditor list(n, n.inputs[0]);
  return finish(n, list.append(n.inputs[1]), list);
}

//===----------------------------------------------------------------------===//
// Optionals: lists of one element or none
//===----------------------------------------------------------------------===//

static LogicalResult optionalNone(NodeImport &n) {
  auto info = std::make_shared<ArrayInfo>();
  info->isAny = true;
  info->length = n.intScalar(0);
  return n.result(Imported::makeArray(info));
}

static LogicalResult optionalFromValue(NodeImport &n) {
  if (n.inputCount() != 1)
    return n.unsupported("expected an optional of one value, got " + Twine(n.inputCount()));
  Imported item = elementAt(n, 0);
  if (item.kind == Imported::Kind::None)
    return failure();
  auto info = std::make_shared<ArrayInfo>();
  info->isNested = item.kind == Imported::Kind::Array;
  if (!info->isNested)
    info->element = n.element(item.value);
  info->length = n.intScalar(0);
  ArrayEditor list(n, Imported::makeArray(info));
  return finish(n, list.push(item), list);
}

static LogicalResult optionalGetValue(NodeImport &n) {
  // What an iterator gave, a sequence.
  if (Value box = boxedInput(n, 0)) {
    std::optional<SmallVector<Type>> types = typesOf(n, saidComponents(n));
    if (!types)
      return failure();
    Operation *made = n.kernelCall("weir_kernel_optional_values", *types, {box}, {});
    return n.results(SmallVector<Value>(made->getResults()));
  }
  const AttrValue *types = n.attr("output_types");
  if (types && types->list && types->list->ints.size() != 1)
    return n.unsupported("expected an optional of one value, got several");
  Imported value = ArrayEditor(n, n.inputs[0]).read(n.intScalar(0));
  return value.kind == Imported::Kind::None ? failure() : n.result(value);
}

static LogicalResult optionalHasValue(NodeImport &n) {
  if (Value box = boxedInput(n, 0))
    return n.result(n.compare("gt", n.toScalar(n.shapeOf(box)), 0));
  if (n.inputs[0].kind != Imported::Kind::Array)
    return n.unsupported("found input 0 that is no optional of this program");
  return n.result(n.compare("gt", ArrayEditor(n, n.inputs[0]).length(), 0));
}

ArrayRef<OpImport> weir::tf::listImports() {
  static const OpImport rows[] = {
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
      {"TensorListConcatLists", listJoin},
      {"OptionalNone", optionalNone},
      {"OptionalFromValue", optionalFromValue},
      {"OptionalGetValue", optionalGetValue},
      {"OptionalHasValue", optionalHasValue},
      {"TensorListSplit", listSplit},
      {"TensorListGather", listGather},
      {"TensorListScatter", listScatter},
      {"TensorListScatterV2", listScatter},
      {"TensorListScatterIntoExistingList", listScatterInto},
      {"TensorListResize", listResize},
  };
  return rows;
}

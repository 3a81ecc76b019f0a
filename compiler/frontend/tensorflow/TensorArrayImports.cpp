//===- TensorArrayImports.cpp - TensorArray version three, stacks ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Objects behind a handle, which belong to one run. TensorArray's operations
// are ordered by a scalar that flows from one to the next, those of stacks by
// control edges: the walk follows both, so the state of an object at a place is
// what the operation before left there (RegionState).
//
// An element of a TensorArray may be written once and, unless the node says
// otherwise, read once. What is known now is compared: reads and writes at
// constant indices outside of loops and branches.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Arrays.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static Imported makeHandle(NodeImport &n, std::shared_ptr<ArrayInfo> info) {
  Imported handle;
  handle.kind = Imported::Kind::Handle;
  handle.array = info;
  if (!info->home)
    info->home = n.g.state;
  return handle;
}

static std::shared_ptr<ArrayInfo> handleAt(NodeImport &n, size_t i) {
  if (i < n.inputCount() && n.inputs[i].kind == Imported::Kind::Handle)
    return n.inputs[i].array;
  (void)n.unsupported("found input " + Twine(i) +
                      " that is no TensorArray or stack of this program");
  return nullptr;
}

/// The object as it is here.
static Imported stateOf(NodeImport &n, const std::shared_ptr<ArrayInfo> &info) {
  if (const Imported *found = n.g.state->find(info.get()))
    return *found;
  return Imported::makeArray(info);
}

static void setState(NodeImport &n, Imported array) {
  n.g.state->objects[array.array.get()] = std::move(array);
}

/// The flow: an order, no value.
static Value flow(NodeImport &n) { return n.scalar(n.b.getF32Type(), 0); }

static LogicalResult finish(NodeImport &n, bool done, ArrayEditor &array) {
  if (!done)
    return failure();
  setState(n, std::move(array.array));
  return n.result(flow(n));
}

//===----------------------------------------------------------------------===//
// TensorArray
//===----------------------------------------------------------------------===//

static LogicalResult tensorArray(NodeImport &n) {
  auto info = std::make_shared<ArrayInfo>();
  info->element = n.elementAttr("dtype");
  info->grows = n.isSet("dynamic_size");
  info->readsOnce = n.isSet("clear_after_read");
  info->isAlike = n.isSet("identical_element_shapes");
  info->length = n.in(0);
  if (!info->length)
    return failure();
  if (!info->element)
    return n.unsupported("expected an array of tensors, got handles");
  const AttrValue *shape = n.attr("element_shape");
  if (shape && shape->shape && !shape->shape->unknownRank) {
    info->shape = elementShape(IntVector(shape->shape->dims.begin(), shape->shape->dims.end()));
    info->isDeclared = true;
  }
  n.made.push_back(makeHandle(n, info));
  setState(n, makeUnwritten(info, n.b, n.loc));
  return n.result(flow(n));
}

/// The array of an array's gradients: zeros of the same shapes, to which
/// writing adds. One for each source.
static LogicalResult gradientArray(NodeImport &n) {
  auto base = handleAt(n, 0);
  if (!base)
    return failure();
  auto &info = base->gradients[std::string(n.s("source"))];
  if (!info) {
    info = std::make_shared<ArrayInfo>(*base);
    info->gradients.clear();
    info->uses.clear();
    info->accumulates = true;
    info->readsOnce = false;
    info->grows = false;
    info->base = base;
    info->home = base->home;
  }
  n.made.push_back(makeHandle(n, info));
  return n.result(flow(n));
}

Imported GraphImporter::unwrittenGradients(const std::shared_ptr<ArrayInfo> &info, NodeImport &n) {
  Imported zeros = Imported::makeArray(info);
  const Imported *base = state->find(info->base.get());
  if (!base || !widen(*info, *info->base))
    return zeros;
  for (const ArrayPart &part : base->parts)
    zeros.parts.push_back(
        {n.expandTo(n.like(part.values, 0), n.shapeOf(part.values)), part.sizes, part.axes});
  return zeros;
}

static ArrayEditor arrayAt(NodeImport &n, const std::shared_ptr<ArrayInfo> &info) {
  if (info->base && !n.g.state->find(info.get()))
    return ArrayEditor(n, n.g.unwrittenGradients(info, n));
  return ArrayEditor(n, stateOf(n, info));
}

/// Compares a use of one element with those before. False, reported, where
/// TensorFlow ends the run.
static bool use(NodeImport &n, ArrayInfo &info, size_t input, bool writes) {
  auto index = n.knownInts(input);
  if (!index || index->size() != 1 || info.accumulates || info.home != n.g.state)
    return true;
  ArrayInfo::Use &before = info.uses[index->front()];
  if (before == ArrayInfo::Use::Cleared || (writes && before == ArrayInfo::Use::Written)) {
    (void)n.invalid("found element " + Twine(index->front()) + " of an array " +
                    (before == ArrayInfo::Use::Cleared
                         ? "used again, which was given up when it was read"
                         : "written twice"));
    return false;
  }
  if (writes)
    before = ArrayInfo::Use::Written;
  else if (info.readsOnce && before == ArrayInfo::Use::Written)
    before = ArrayInfo::Use::Cleared;
  return true;
}

static LogicalResult arrayWrite(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value index = n.in(1), item = n.in(2);
  if (!info || !index || !item || !use(n, *info, 1, true))
    return failure();
  ArrayEditor array = arrayAt(n, info);
  return finish(n, array.write(index, Imported(item)), array);
}

static LogicalResult arrayRead(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value index = n.in(1);
  if (!info || !index)
    return failure();
  ArrayEditor array = arrayAt(n, info);
  if (!info->shape && info->uses.empty() && info->home == n.g.state)
    return n.invalid("found an element that was not written, and whose shape "
                     "nothing says");
  if (!use(n, *info, 1, false))
    return failure();
  Imported element = array.read(index);
  return element.kind == Imported::Kind::None ? failure() : n.result(element);
}

static LogicalResult arrayGather(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value indices = n.in(1);
  if (!info || !indices)
    return failure();
  return n.result(narrowedTo(n, arrayAt(n, info).gather(indices), 1, "element_shape"));
}

/// Whether `indices` (input 1) are all of an array's, in order.
static bool areAll(NodeImport &n, Value indices, const ArrayInfo &info) {
  auto length = constantIntegers(info.length);
  if (auto known = n.knownInts(1))
    return llvm::equal(*known, llvm::seq<int64_t>(0, known->size())) && length &&
           (length->front() == static_cast<int64_t>(known->size()) ||
            (info.grows && length->front() == 0));
  // The idiom of unstacking: range(0, size) of the array's own size.
  auto range = indices.getDefiningOp<RangeOp>();
  if (!range)
    return false;
  auto start = constantIntegers(range.getStart()), delta = constantIntegers(range.getDelta());
  return start && delta && start->front() == 0 && delta->front() == 1 &&
         (range.getLimit() == info.length || info.grows);
}

static LogicalResult arrayScatter(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value indices = n.in(1), items = n.in(2);
  if (!info || !indices || !items)
    return failure();
  ArrayEditor array = arrayAt(n, info);
  if (areAll(n, indices, *info) && !info->accumulates) {
    Value length = info->length;
    bool done = array.unstack(items);
    if (!info->grows)
      info->length = length;
    return finish(n, done, array);
  }
  return finish(n, array.scatter(indices, items), array);
}

static LogicalResult arraySize(NodeImport &n) {
  auto info = handleAt(n, 0);
  if (!info)
    return failure();
  if (!info->grows)
    return n.result(n.cast(n.toScalar(info->length), n.b.getI32Type()));
  return n.result(n.cast(arrayAt(n, info).length(), n.b.getI32Type()));
}

static LogicalResult arrayConcat(NodeImport &n) {
  auto info = handleAt(n, 0);
  if (!info)
    return failure();
  auto [joined, lengths] = arrayAt(n, info).concat();
  return n.results({narrowedTo(n, joined, 1, "element_shape_except0"), lengths});
}

static LogicalResult arraySplit(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value value = n.in(1), lengths = n.in(2);
  if (!info || !value || !lengths)
    return failure();
  ArrayEditor array = arrayAt(n, info);
  if (!info->accumulates)
    return finish(n, array.split(value, lengths), array);
  // Gradients are added to what is there, element by element.
  Imported before = array.array;
  Value length = info->length;
  if (!array.split(value, lengths))
    return failure();
  info->length = length;
  addSizes(before, n.b, n.loc);
  addSizes(array.array, n.b, n.loc);
  for (auto [part, old] : llvm::zip(array.array.parts, before.parts)) {
    ArrayEditor::pad(n, part.values, old.values);
    part.values = n.add(part.values, old.values);
  }
  return finish(n, static_cast<bool>(array.array.parts[0].values), array);
}

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

static LogicalResult stack(NodeImport &n) {
  auto info = std::make_shared<ArrayInfo>();
  info->element = n.elementAttr("elem_type");
  info->length = n.intScalar(0);
  info->isFollowed = true;
  if (!info->element)
    return n.unsupported("expected a stack of tensors, got handles");
  ArrayEditor stack(n, Imported::makeArray(info));
  if (!n.in(0) || !stack.limit(n.in(0)))
    return failure();
  setState(n, std::move(stack.array));
  return n.result(makeHandle(n, info));
}

/// Follows a push or pop in the region that made the stack. False, reported, where another
/// region changes one whose elements no array holds.
static bool follow(NodeImport &n, ArrayInfo &info) {
  info.isFollowed &= info.home == n.g.state;
  if (info.isFollowed || !info.isApart)
    return true;
  (void)n.unsupported("found elements of different ranks in a stack that a loop or branch changes");
  return false;
}

static LogicalResult stackPush(NodeImport &n) {
  auto info = handleAt(n, 0);
  Value item = n.in(1);
  if (!info || !item || !follow(n, *info))
    return failure();
  if (info->isFollowed && info->element == n.element(item))
    info->isApart |= info->shape && static_cast<int64_t>(info->shape->size()) != n.rank(item);
  if (info->isApart) {
    auto count = static_cast<int64_t>(info->pushed.size());
    Value most = info->openMost ? info->openMost : n.intScalar(info->most);
    require(n,
            n.op<OrOp>(n.compare("lt", most, 0), n.compare("gt", most, static_cast<double>(count))),
            "found no room for a further element: max_size are there");
    info->pushed.push_back(item);
    return n.result(item);
  }
  ArrayEditor stack(n, stateOf(n, info));
  if (!stack.push(Imported(item)))
    return failure();
  if (info->isFollowed)
    info->pushed.push_back(item);
  setState(n, std::move(stack.array));
  return n.result(item);
}

static LogicalResult stackPop(NodeImport &n) {
  auto info = handleAt(n, 0);
  if (!info || !follow(n, *info))
    return failure();
  Value top = info->pushed.empty() ? Value() : info->pushed.back();
  if (top)
    info->pushed.pop_back();
  if (info->isApart)
    return top ? n.result(top) : n.invalid("found nothing left to take away");
  ArrayEditor stack(n, stateOf(n, info));
  Imported last = stack.pop();
  if (last.kind == Imported::Kind::None)
    return failure();
  setState(n, std::move(stack.array));
  return n.result(std::move(last));
}

static LogicalResult nothing(NodeImport &) { return success(); }

ArrayRef<OpImport> weir::tf::tensorArrayImports() {
  static const OpImport rows[] = {
      {"TensorArrayV3", tensorArray},
      {"TensorArrayGradV3", gradientArray},
      {"TensorArrayWriteV3", arrayWrite},
      {"TensorArrayReadV3", arrayRead},
      {"TensorArrayGatherV3", arrayGather},
      {"TensorArrayScatterV3", arrayScatter},
      {"TensorArraySizeV3", arraySize},
      {"TensorArrayConcatV3", arrayConcat},
      {"TensorArraySplitV3", arraySplit},
      {"TensorArrayCloseV3", nothing},
      {"StackV2", stack},
      {"StackPushV2", stackPush},
      {"StackPopV2", stackPop},
      {"StackCloseV2", nothing},
  };
  return rows;
}

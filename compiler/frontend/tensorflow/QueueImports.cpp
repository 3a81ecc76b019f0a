//===- QueueImports.cpp - queues
//--------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue is state of the session that the runtime's kernels keep under a name
// (runtime/include/weir/stores.h). Its handle is that name: a tensor of one
// string. What may have to wait becomes three calls: one that takes its place
// in the queue, the wait, at which the step is split, and one that gives the
// result.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/EdgeTypes.h"
#include "compiler/frontend/tensorflow/Queues.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

enum class QueueKind : int64_t { Fifo, Padding, Shuffle, Priority };

} // namespace

template <QueueKind kind> static LogicalResult makeQueue(NodeImport &n) {
  QueueInfo info;
  IntVector numbers; // of the components' types
  const AttrValue *types = n.attr("component_types"), *shapes = n.attr("shapes");
  if (kind == QueueKind::Priority) {
    info.types.push_back(n.b.getI64Type());
    info.shapes.emplace_back(IntVector());
    numbers.push_back(int64_t(DataType::Int64));
  }
  if (types && types->list)
    for (int64_t number : types->list->ints) {
      Type type = elementType(n.b.getContext(), toDataType(number));
      if (!type)
        return n.unsupported("found elements of a type that weir does not have");
      info.types.push_back(type);
      numbers.push_back(number);
    }
  if (info.types.empty())
    return n.invalid("found a queue of tuples without components");
  if (shapes && shapes->list)
    for (const Shape &shape : shapes->list->shapes) {
      info.shapes.emplace_back();
      if (!shape.unknownRank)
        info.shapes.back().emplace(shape.dims.begin(), shape.dims.end());
    }
  info.shapes.resize(info.types.size());
  int64_t seed = n.i("seed"), other = n.i("seed2");
  info.attributes = {int64_t(kind), n.i("capacity"), n.i("min_after_dequeue"), seed ? seed : other,
                     int64_t(info.types.size())};
  if (info.attributes[1] == 0)
    return n.invalid("found a queue of capacity 0");
  for (const std::optional<IntVector> &shape : info.shapes) {
    info.attributes.push_back(shape ? int64_t(shape->size()) : -1);
    if (shape)
      info.attributes.append(shape->begin(), shape->end());
  }
  info.attributes.append(numbers);
  std::string name = resourceName(n, 'q');
  auto [known, isNew] = n.g.queues.try_emplace(name, info);
  if (!isNew && known->second.attributes != info.attributes)
    return n.invalid("found a queue that another node of its shared name says is otherwise");
  return n.result(n.stringScalar(name));
}

std::string weir::tf::resourceName(NodeImport &n, char letter) {
  std::string name(1, letter);
  name += n.s("container");
  name += '\0';
  bool isShared = !n.s("shared_name").empty();
  name += isShared ? 's' : 'n';
  name += isShared ? std::string(n.s("shared_name")) : n.g.nameOf(n.node);
  return name;
}

bool weir::tf::waitsForever(NodeImport &n) {
  if (n.i("timeout_ms") == -1)
    return true;
  (void)n.unsupported("found a timeout of " + Twine(n.i("timeout_ms")) +
                      " ms; expected -1 (none), as TensorFlow does");
  return false;
}

std::optional<QueueAt> weir::tf::queueAt(NodeImport &n, size_t input) {
  Value handle = n.in(input);
  if (!handle)
    return std::nullopt;
  std::optional<std::string> name = knownString(handle);
  auto it = name && name->starts_with('q') ? n.g.queues.find(*name) : n.g.queues.end();
  if (it == n.g.queues.end()) {
    (void)n.unsupported("found an input " + Twine(input) +
                        " that is no queue known when compiling");
    return std::nullopt;
  }
  return QueueAt{handle, &it->second};
}

SmallVector<int64_t> weir::tf::queueAttributes(const QueueInfo &info, QueueMode mode) {
  SmallVector<int64_t> attributes{int64_t(mode)};
  attributes.append(info.attributes.begin(), info.attributes.end());
  return attributes;
}

/// Takes a place in the queue with `kernel`, waits, and has the result given.
static LogicalResult waitFor(NodeImport &n, const QueueAt &queue, QueueMode mode, StringRef kernel,
                             ValueRange operands, ArrayRef<Type> types) {
  SmallVector<int64_t> attributes = queueAttributes(*queue.info, mode);
  Operation *place = n.kernelCall(kernel, {RankedTensorType::get({}, n.b.getI64Type())}, operands,
                                  attributes, /*isPure=*/false);
  if (!place)
    return failure();
  Value ticket = place->getResult(0);
  n.kernelCall("weir_rt_wait", {}, {ticket}, {}, /*isPure=*/false);
  Operation *end =
      n.kernelCall("weir_kernel_queue_finish", types, {ticket}, attributes, /*isPure=*/false);
  return n.results(SmallVector<Value>(end->getResults()));
}

template <QueueMode mode> static LogicalResult enqueue(NodeImport &n) {
  std::optional<QueueAt> queue = queueAt(n, 0);
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!queue || operands.empty() || !waitsForever(n))
    return failure();
  if (operands.size() - 1 != queue->info->types.size())
    return n.invalid("found " + Twine(operands.size() - 1) +
                     " components for a queue of tuples of " + Twine(queue->info->types.size()));
  for (auto [i, type] : llvm::enumerate(queue->info->types))
    if (n.element(operands[i + 1]) != type)
      return n.invalid("found component " + Twine(i) + " of another type than the queue's");
  return waitFor(n, *queue, mode, "weir_kernel_queue_enqueue", operands, {});
}

/// The shape of a component that the queue of input 0 does not tell, as those
/// nodes of the graph do that put it in; none where they do not.
static std::optional<IntVector> shapeOfEnqueued(NodeImport &n, size_t component) {
  const Structure &structure = n.g.current->structure;
  Edge queue = structure.origin(n.node.inputs[0]);
  std::optional<IntVector> shape;
  bool isFirst = true;
  for (const Node &node : structure.graph.nodes) {
    StringRef op = node.op;
    if (!op.consume_front("QueueEnqueue") || node.inputs.size() <= component + 1 ||
        structure.origin(node.inputs[0]) != queue)
      continue;
    RankedTensorType type = typeOfEdge(n, node.inputs[component + 1]);
    bool isBatch = op.starts_with("Many");
    if (!type || (isBatch && type.getRank() == 0))
      continue;
    widenShape(shape, isFirst, type.getShape().drop_front(isBatch));
    isFirst = false;
  }
  return shape;
}

template <QueueMode mode> static LogicalResult dequeue(NodeImport &n) {
  std::optional<QueueAt> queue = queueAt(n, 0);
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!queue || operands.empty() || !waitsForever(n))
    return failure();
  SmallVector<Type> types;
  for (auto [i, type] : llvm::enumerate(queue->info->types)) {
    std::optional<IntVector> shape = queue->info->shapes[i];
    if (!shape)
      shape = shapeOfEnqueued(n, i);
    if (!shape)
      return n.unsupported("found a queue whose component " + Twine(i) +
                           " has a rank that neither `shapes` nor an enqueue of the graph tells");
    IntVector sizes;
    if (mode != QueueMode::Single) {
      // Fewer may come from a closed queue.
      std::optional<IntVector> known = n.knownInts(1);
      sizes.push_back(mode == QueueMode::Batch && known && known->size() == 1 && (*known)[0] >= 0
                          ? (*known)[0]
                          : ShapedType::kDynamic);
    }
    for (int64_t size : *shape)
      sizes.push_back(size < 0 ? ShapedType::kDynamic : size);
    types.push_back(RankedTensorType::get(sizes, type));
  }
  return waitFor(n, *queue, mode, "weir_kernel_queue_dequeue", operands, types);
}

static LogicalResult close(NodeImport &n) {
  std::optional<QueueAt> queue = queueAt(n, 0);
  if (!queue)
    return failure();
  return waitFor(n, *queue,
                 n.isSet("cancel_pending_enqueues") ? QueueMode::Batch : QueueMode::Single,
                 "weir_kernel_queue_close", {queue->handle}, {});
}

static LogicalResult ask(NodeImport &n, StringRef kernel, Type element) {
  std::optional<QueueAt> queue = queueAt(n, 0);
  if (!queue)
    return failure();
  Operation *made = n.kernelCall(kernel, {RankedTensorType::get({}, element)}, {queue->handle},
                                 queueAttributes(*queue->info, QueueMode::Single),
                                 /*isPure=*/false);
  return n.result(made->getResult(0));
}

static LogicalResult size(NodeImport &n) {
  return ask(n, "weir_kernel_queue_size", n.b.getI32Type());
}

static LogicalResult isClosed(NodeImport &n) {
  return ask(n, "weir_kernel_queue_is_closed", n.b.getI1Type());
}

static LogicalResult forward(NodeImport &n) { return n.result(n.in(0)); }

ArrayRef<OpImport> weir::tf::queueImports() {
  static const OpImport rows[] = {
      {"FIFOQueue", makeQueue<QueueKind::Fifo>},
      {"FIFOQueueV2", makeQueue<QueueKind::Fifo>},
      {"FakeQueue", forward},
      {"PaddingFIFOQueue", makeQueue<QueueKind::Padding>},
      {"PaddingFIFOQueueV2", makeQueue<QueueKind::Padding>},
      {"PriorityQueue", makeQueue<QueueKind::Priority>},
      {"PriorityQueueV2", makeQueue<QueueKind::Priority>},
      {"QueueClose", close},
      {"QueueCloseV2", close},
      {"QueueDequeue", dequeue<QueueMode::Single>},
      {"QueueDequeueMany", dequeue<QueueMode::Batch>},
      {"QueueDequeueManyV2", dequeue<QueueMode::Batch>},
      {"QueueDequeueUpTo", dequeue<QueueMode::UpTo>},
      {"QueueDequeueUpToV2", dequeue<QueueMode::UpTo>},
      {"QueueDequeueV2", dequeue<QueueMode::Single>},
      {"QueueEnqueue", enqueue<QueueMode::Single>},
      {"QueueEnqueueMany", enqueue<QueueMode::Batch>},
      {"QueueEnqueueManyV2", enqueue<QueueMode::Batch>},
      {"QueueEnqueueV2", enqueue<QueueMode::Single>},
      {"QueueIsClosed", isClosed},
      {"QueueIsClosedV2", isClosed},
      {"QueueSize", size},
      {"QueueSizeV2", size},
      {"RandomShuffleQueue", makeQueue<QueueKind::Shuffle>},
      {"RandomShuffleQueueV2", makeQueue<QueueKind::Shuffle>},
  };
  return rows;
}

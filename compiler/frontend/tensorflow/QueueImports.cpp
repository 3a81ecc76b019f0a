//===- QueueImports.cpp - queues
//--------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue is state of the session that the runtime's kernels keep under a name
// (runtime/include/weir/kernels.h). Its handle is that name: a tensor of one
// string. What may have to wait becomes three calls: one that takes its place
// in the queue, the wait, at which the step is split, and one that gives the
// result.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

enum class QueueKind : int64_t { Fifo, Padding, Shuffle, Priority };

/// How many elements a call is about; the first attribute of the kernels.
enum class Mode : int64_t { Single, Batch, UpTo };

struct QueueAt {
  Value handle;
  const QueueInfo *info;
};

} // namespace

template <QueueKind kind> static LogicalResult makeQueue(NodeImport &n) {
  QueueInfo info;
  const AttrValue *types = n.attr("component_types"), *shapes = n.attr("shapes");
  if (kind == QueueKind::Priority) {
    info.types.push_back(n.b.getI64Type());
    info.shapes.emplace_back(IntVector());
  }
  if (types && types->list)
    for (int64_t number : types->list->ints) {
      Type type = elementType(n.b.getContext(), toDataType(number));
      if (!type)
        return n.unsupported("found elements of a type that weir does not have");
      info.types.push_back(type);
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
  info.attributes = {int64_t(kind), n.i("capacity"), n.i("min_after_dequeue"),
                     n.i("seed") ? n.i("seed") : n.i("seed2"), int64_t(info.types.size())};
  if (info.attributes[1] == 0)
    return n.invalid("found a queue of capacity 0");
  for (const std::optional<IntVector> &shape : info.shapes) {
    info.attributes.push_back(shape ? int64_t(shape->size()) : -1);
    if (shape)
      info.attributes.append(shape->begin(), shape->end());
  }
  std::string name("q");
  name += n.s("container");
  name += '\0';
  bool isShared = !n.s("shared_name").empty();
  name += isShared ? 's' : 'n';
  name += isShared ? std::string(n.s("shared_name")) : n.g.nameOf(n.node);
  n.g.queues[name] = std::move(info);
  return n.result(n.stringScalar(name));
}

/// The queue that input 0 names.
static std::optional<QueueAt> queueAt(NodeImport &n) {
  Value handle = n.in(0);
  if (!handle)
    return std::nullopt;
  std::optional<std::string> name = knownString(handle);
  auto it = name ? n.g.queues.find(*name) : n.g.queues.end();
  if (it == n.g.queues.end()) {
    (void)n.unsupported("found an input 0 that is no queue known when compiling");
    return std::nullopt;
  }
  return QueueAt{handle, &it->second};
}

static SmallVector<int64_t> attributesOf(const QueueInfo &info, Mode mode) {
  SmallVector<int64_t> attributes{int64_t(mode)};
  attributes.append(info.attributes.begin(), info.attributes.end());
  return attributes;
}

/// Takes a place in the queue with `kernel`, waits, and has the result given.
static LogicalResult waitFor(NodeImport &n, const QueueAt &queue, Mode mode, StringRef kernel,
                             ValueRange operands, ArrayRef<Type> types) {
  SmallVector<int64_t> attributes = attributesOf(*queue.info, mode);
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

template <Mode mode> static LogicalResult enqueue(NodeImport &n) {
  std::optional<QueueAt> queue = queueAt(n);
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!queue || operands.empty())
    return failure();
  if (operands.size() - 1 != queue->info->types.size())
    return n.invalid("found " + Twine(operands.size() - 1) +
                     " components for a queue of tuples of " + Twine(queue->info->types.size()));
  for (auto [i, type] : llvm::enumerate(queue->info->types))
    if (n.element(operands[i + 1]) != type)
      return n.invalid("found component " + Twine(i) + " of another type than the queue's");
  return waitFor(n, *queue, mode, "weir_kernel_queue_enqueue", operands, {});
}

template <Mode mode> static LogicalResult dequeue(NodeImport &n) {
  std::optional<QueueAt> queue = queueAt(n);
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!queue || operands.empty())
    return failure();
  SmallVector<Type> types;
  for (auto [type, shape] : llvm::zip(queue->info->types, queue->info->shapes)) {
    if (!shape)
      return n.unsupported("found a queue that does not say the rank of its "
                           "elements; possible are such with `shapes`");
    IntVector sizes;
    if (mode != Mode::Single) {
      // Fewer may come from a closed queue.
      std::optional<IntVector> known = n.knownInts(1);
      sizes.push_back(mode == Mode::Batch && known && known->size() == 1 && (*known)[0] >= 0
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
  std::optional<QueueAt> queue = queueAt(n);
  if (!queue)
    return failure();
  return waitFor(n, *queue, n.isSet("cancel_pending_enqueues") ? Mode::Batch : Mode::Single,
                 "weir_kernel_queue_close", {queue->handle}, {});
}

static LogicalResult ask(NodeImport &n, StringRef kernel, Type element) {
  std::optional<QueueAt> queue = queueAt(n);
  if (!queue)
    return failure();
  Operation *made = n.kernelCall(kernel, {RankedTensorType::get({}, element)}, {queue->handle},
                                 attributesOf(*queue->info, Mode::Single),
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
      {"QueueDequeue", dequeue<Mode::Single>},
      {"QueueDequeueMany", dequeue<Mode::Batch>},
      {"QueueDequeueManyV2", dequeue<Mode::Batch>},
      {"QueueDequeueUpTo", dequeue<Mode::UpTo>},
      {"QueueDequeueUpToV2", dequeue<Mode::UpTo>},
      {"QueueDequeueV2", dequeue<Mode::Single>},
      {"QueueEnqueue", enqueue<Mode::Single>},
      {"QueueEnqueueMany", enqueue<Mode::Batch>},
      {"QueueEnqueueManyV2", enqueue<Mode::Batch>},
      {"QueueEnqueueV2", enqueue<Mode::Single>},
      {"QueueIsClosed", isClosed},
      {"QueueIsClosedV2", isClosed},
      {"QueueSize", size},
      {"QueueSizeV2", size},
      {"RandomShuffleQueue", makeQueue<QueueKind::Shuffle>},
      {"RandomShuffleQueueV2", makeQueue<QueueKind::Shuffle>},
  };
  return rows;
}

//===- cuda_work.cpp - work of a step, put as graphs --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_work.h"
#include "cuda/phases.h"
#include "cuda/work_records.h"

#include <stdlib.h>

namespace weir::rt::cuda {

//===----------------------------------------------------------------------===//
// Noting down
//===----------------------------------------------------------------------===//

WorkRecord *note(PendingWork &work, WorkKind kind, int64_t bytes, int32_t kernel) {
  if (work.bytes + bytes > work.capacity) {
    int64_t wanted = work.capacity < 4096 ? 4096 : work.capacity * 2;
    while (wanted < work.bytes + bytes)
      wanted *= 2;
    auto *grown = static_cast<uint8_t *>(realloc(work.records, size_t(wanted)));
    if (!grown)
      return nullptr;
    work.records = grown;
    work.capacity = wanted;
  }
  auto *record = reinterpret_cast<WorkRecord *>(work.records + work.bytes);
  memset(record, 0, size_t(bytes));
  record->bytes = int32_t(bytes);
  record->kind = kind;
  record->kernel = kernel;
  work.bytes += bytes;
  ++work.count;
  return record;
}

void discard(PendingWork &work) {
  work.bytes = 0;
  work.count = 0;
  work.conditions = 0;
}

//===----------------------------------------------------------------------===//
// Putting
//===----------------------------------------------------------------------===//

/// A value of one, two or four bytes; of eight one half of it.
static Result putStore(const Driver &driver, const StoreRecord &store, bool upper, Stream stream) {
  if (store.size == 1)
    return driver.set8Async(store.to, static_cast<unsigned char>(store.value), 1, stream);
  if (store.size == 2)
    return driver.set16Async(store.to, static_cast<unsigned short>(store.value), 1, stream);
  return driver.set32Async(store.to + (upper ? 4 : 0), unsigned(store.value >> (upper ? 32 : 0)), 1,
                           stream);
}

/// `follows`: behind another launch, with nothing in between. `upper`: the second part of what is
/// put as two.
static Result putRecord(CudaRun *part, const WorkRecord *record, bool follows, bool upper = false) {
  const CudaDevice &device = *part->device;
  const Driver &driver = *device.driver;
  switch (record->kind) {
  case WorkKind::Launch: {
    auto *launch = static_cast<const LaunchRecord *>(record);
    LaunchParameters parameters(*launch);
    // A launch of phases begins when all before it has ended: no page of the driver's says that
    // both go together. What follows it may begin early.
    bool together = launch->table > 0;
    if (together || (follows && device.mayBegin)) {
      LaunchAttribute attribute = {together ? launchTogether : launchMayBegin, {}, {1}};
      LaunchConfig config = {{launch->blocks, 1, 1},
                             {launch->threads, 1, 1},
                             launch->shared,
                             part->work,
                             &attribute,
                             1};
      return driver.launchWith(&config, launch->function, parameters.pointers, nullptr);
    }
    return driver.launch(launch->function, launch->blocks, 1, 1, launch->threads, 1, 1,
                         launch->shared, part->work, parameters.pointers, nullptr);
  }
  case WorkKind::Product: {
    auto *call = static_cast<const LibraryRecord *>(record);
    return putProduct(*device.products, *static_cast<ProductPlan *>(call->plan), call->operands,
                      part->work);
  }
  case WorkKind::Convolution: {
    auto *call = static_cast<const LibraryRecord *>(record);
    return putConvolution(*device.convolutions, *static_cast<ConvolutionPlan *>(call->plan),
                          call->operands, part->work);
  }
  case WorkKind::Pooling:
  case WorkKind::Attention: {
    auto *call = static_cast<const LibraryRecord *>(record);
    return putCall(*device.calls, *static_cast<DnnCall *>(call->plan), call->operands, part->work);
  }
  case WorkKind::Copy: {
    auto *copy = static_cast<const CopyRecord *>(record);
    return driver.copyAsync(copy->to, copy->from, copy->size, part->work);
  }
  case WorkKind::Store:
    return putStore(driver, *static_cast<const StoreRecord *>(record), upper, part->work);
  default: // borders are no work
    return 0;
  }
}

/// The node that was captured last; null: the driver does not tell, or there are several.
static GraphNode lastNode(CudaRun *part) {
  int status = 0;
  uint64_t id = 0;
  Graph graph = nullptr;
  const GraphNode *nodes = nullptr;
  size_t count = 0;
  Result error =
      part->device->driver->captureInfo(part->work, &status, &id, &graph, &nodes, &count);
  return !error && count == 1 ? nodes[0] : nullptr;
}

namespace {

/// Puts records one behind the other; those of loops and conditionals as nodes of the graph that is
/// captured, or, where none is, as the host finds conditions to be.
class Putter {
public:
  /// `nodes`: of the graph that is captured, where CUPTI watches; `recordNode`: gets the node of
  /// what may be set, two places a record, in their order. Null: nobody asks.
  Putter(CudaRun *part, WorkFailure *failure, bool captures, GraphNodes *nodes,
         GraphNode *recordNode)
      : part(part), work(part->pending), failure(failure), captures(captures),
        marks(part->timeline.on && !part->timeline.byActivity),
        pieces(part->timeline.byActivity && !nodes), nodes(nodes), recordNode(recordNode) {}

  bool putAll() {
    if (marks)
      mark(part, Timeline::start);
    return put(0, work.bytes, 0);
  }

private:
  /// Records from one place to another, `depth` deep in conditional nodes.
  bool put(int64_t from, int64_t to, int32_t depth) {
    bool follows = false;
    for (int64_t at = from; at < to;) {
      const WorkRecord *record = recordAt(work, at);
      if (isControl(record->kind)) {
        int64_t end = endOf(at);
        bool isLoop = record->kind == WorkKind::Loop;
        passed();
        if (!(isLoop ? putLoop(at, end, depth) : putBranch(at, end, depth)))
          return false;
        passed();
        at = end + recordAt(work, end)->bytes;
        follows = false;
        continue;
      }
      if (nodes)
        ++nodes->position;
      if (pieces)
        beginPiece(part, record->kernel);
      // Whether kernels of a conditional node's body may begin early is not said anywhere.
      bool isSettable = recordNode && depth == 0 && settableNodes(*record) > 0;
      GraphNode made[2] = {};
      Result error = putRecord(part, record, follows && !(captures && depth > 0));
      if (isSettable && !error)
        made[0] = lastNode(part);
      if (!error && settableNodes(*record) == 2) {
        error = putRecord(part, record, /*follows=*/false, /*upper=*/true);
        if (isSettable && !error)
          made[1] = lastNode(part);
      }
      follows = record->kind == WorkKind::Launch && !marks;
      if (!error)
        passed(made[0], made[1]);
      if (pieces)
        endPiece(part);
      if (error)
        return !failed(error, record);
      if (marks)
        mark(part, record->kernel);
      at += record->bytes;
    }
    return true;
  }

  /// Of a record that was put: the nodes of it that may be set.
  void passed(GraphNode node = nullptr, GraphNode second = nullptr) {
    if (!recordNode)
      return;
    *recordNode++ = node;
    *recordNode++ = second;
  }

  bool failed(Result error, const WorkRecord *record = nullptr) {
    if (error)
      *failure = {record ? record->kernel : -1, record ? record->kind : WorkKind::Launch, error};
    return error != 0;
  }

  Pointer conditionAt(int64_t at) const {
    return static_cast<const ConditionRecord *>(recordAt(work, at))->condition;
  }
  int64_t behind(int64_t at) const { return at + recordAt(work, at)->bytes; }

  /// Where what begins at `at` ends: its LoopEnd or BranchEnd; with `other`, its Else, which lies
  /// at the end where there is none.
  int64_t endOf(int64_t at, bool other = false) const {
    int32_t depth = 0;
    for (;; at = behind(at)) {
      WorkKind kind = recordAt(work, at)->kind;
      depth += kind == WorkKind::Loop || kind == WorkKind::Then;
      if (other && depth == 1 && kind == WorkKind::Else)
        return at;
      if ((kind == WorkKind::LoopEnd || kind == WorkKind::BranchEnd) && --depth == 0)
        return at;
    }
  }

  bool putLoop(int64_t at, int64_t end, int32_t depth) {
    if (captures) {
      ConditionalNode node;
      return !failed(captureCondition(part, conditionAt(at), /*isOther=*/false, &node)) &&
             putBody(behind(at), end, depth, /*isLoop=*/true, node);
    }
    for (int64_t condition = at;; condition = end) {
      bool holds;
      if (failed(readCondition(part, conditionAt(condition), &holds)))
        return false;
      if (!holds)
        return true;
      if (!put(behind(at), end, depth + 1))
        return false;
    }
  }

  bool putBranch(int64_t at, int64_t end, int32_t depth) {
    int64_t other = endOf(at, /*other=*/true);
    bool hasOther = other != end;
    if (!captures) {
      bool holds;
      if (failed(readCondition(part, conditionAt(at), &holds)))
        return false;
      return holds ? put(behind(at), other, depth + 1)
                   : !hasOther || put(behind(other), end, depth + 1);
    }
    // Both are set before either side may write over the condition. A node with two bodies is
    // newer than nodes with one (CUDA 12.8).
    ConditionalNode node, otherNode;
    if (failed(captureCondition(part, conditionAt(at), /*isOther=*/false, &node)) ||
        (hasOther && failed(captureCondition(part, conditionAt(at), /*isOther=*/true, &otherNode))))
      return false;
    if (!putBody(behind(at), other, depth, /*isLoop=*/false, node))
      return false;
    if (!hasOther)
      return true;
    passed();
    return putBody(behind(other), end, depth, /*isLoop=*/false, otherNode);
  }

  /// A conditional node around records. `to`: where they end, a LoopEnd of a loop.
  bool putBody(int64_t from, int64_t to, int32_t depth, bool isLoop, ConditionalNode &node) {
    if (depth >= CudaRun::mostOpen || failed(beginConditional(part, isLoop, depth, &node)))
      return false;
    bool good =
        put(from, to, depth + 1) && !(isLoop && failed(setCondition(part, conditionAt(to), node)));
    return !failed(endConditional(part, node)) && good;
  }

  CudaRun *part;
  const PendingWork &work;
  WorkFailure *failure;
  bool captures, marks, pieces;
  GraphNodes *nodes;
  GraphNode *recordNode;
};

} // namespace

bool putPending(CudaRun *part, WorkFailure *failure, bool captures, GraphNodes *nodes,
                GraphNode *recordNode) {
  return Putter(part, failure, captures, nodes, recordNode).putAll();
}

bool flush(CudaRun *part, WorkFailure *failure) {
  PendingWork &work = part->pending;
  if (work.count == 0)
    return true;
  ++work.flushes;
  joinPhases(part);
  CapturedWork *captured = findGraph(part);
  const Timeline &timeline = part->timeline;
  bool done;
  if (captured) {
    captured->used = work.flushes;
    if (timeline.byActivity)
      beginGraphPieces(part, captured->nodes);
    Result error = part->device->driver->graphLaunch(captured->graph, part->work);
    if (timeline.byActivity)
      endPiece(part);
    *failure = {-1, WorkKind::Launch, error};
    done = error == 0;
  } else {
    done = putPending(part, failure, /*captures=*/false, nullptr, nullptr);
  }
  discard(work);
  return done;
}

} // namespace weir::rt::cuda

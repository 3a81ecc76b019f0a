//===- cuda_work.cpp - work of a step, put as graphs --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_work.h"
#include "cuda/cuda_device.h"

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
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

static const WorkRecord *recordAt(const PendingWork &work, int64_t at) {
  return reinterpret_cast<const WorkRecord *>(work.records + at);
}

static void hashWork(const PendingWork &work, uint64_t *hash, uint64_t *form) {
  *hash = *form = uint64_t(work.count);
  for (int64_t at = 0; at < work.bytes; at += 8) {
    uint64_t word;
    memcpy(&word, work.records + at, 8);
    *hash = mix(*hash, word);
  }
  for (int64_t at = 0; at < work.bytes; at += recordAt(work, at)->bytes) {
    const WorkRecord *record = recordAt(work, at);
    *form = mix(*form, uint64_t(record->kind));
    if (record->kind == WorkKind::Launch)
      *form = mix(*form, uint64_t(static_cast<const LaunchRecord *>(record)->function));
    if (isLibrarys(record->kind))
      *form = mix(*form, uint64_t(static_cast<const LibraryRecord *>(record)->plan));
  }
}

//===----------------------------------------------------------------------===//
// Putting
//===----------------------------------------------------------------------===//

/// A value of one, two, four or eight bytes.
static Result putStore(const Driver &driver, const StoreRecord &store, Stream stream) {
  if (store.size == 1)
    return driver.set8Async(store.to, static_cast<unsigned char>(store.value), 1, stream);
  if (store.size == 2)
    return driver.set16Async(store.to, static_cast<unsigned short>(store.value), 1, stream);
  Result error = driver.set32Async(store.to, unsigned(store.value), 1, stream);
  if (!error && store.size == 8)
    error = driver.set32Async(store.to + 4, unsigned(store.value >> 32), 1, stream);
  return error;
}

/// The parameters of a launch, as the driver wants them.
struct LaunchParameters {
  static constexpr int32_t most = 512; // a kernel's parameters take up to 4 KiB
  void *pointers[most];

  explicit LaunchParameters(const LaunchRecord &launch) {
    auto *values = reinterpret_cast<const uint64_t *>(&launch + 1);
    constexpr int32_t mapWords = WEIR_CUDA_MAP_BYTES / 8;
    int32_t plain = launch.parameters - int32_t(launch.maps) * mapWords;
    for (int32_t i = 0; i < plain; ++i)
      pointers[i] = const_cast<uint64_t *>(values + i);
    for (int32_t i = 0; i < int32_t(launch.maps); ++i)
      pointers[plain + i] = const_cast<uint64_t *>(values + plain + i * mapWords);
  }
};

/// `follows`: behind another launch, with nothing in between.
static Result putRecord(CudaRun *part, const WorkRecord *record, bool follows) {
  const CudaDevice &device = *part->device;
  const Driver &driver = *device.driver;
  switch (record->kind) {
  case WorkKind::Launch: {
    auto *launch = static_cast<const LaunchRecord *>(record);
    LaunchParameters parameters(*launch);
    if (follows && device.mayBegin) {
      LaunchAttribute attribute = {launchMayBegin, {}, {1}};
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
    return putStore(driver, *static_cast<const StoreRecord *>(record), part->work);
  }
  return 0;
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

/// `nodes`: of the graph that is captured; null: nothing is, or nobody asks. `recordNode`: gets
/// the node of each launch that is captured; null: nobody asks.
static bool putAll(CudaRun *part, WorkFailure *failure, GraphNodes *nodes = nullptr,
                   GraphNode *recordNode = nullptr) {
  const PendingWork &work = part->pending;
  bool marks = part->timeline.on && !part->timeline.byActivity;
  bool pieces = part->timeline.byActivity && !nodes;
  bool follows = false;
  if (marks)
    mark(part, Timeline::start);
  for (int64_t at = 0; at < work.bytes; at += recordAt(work, at)->bytes) {
    const WorkRecord *record = recordAt(work, at);
    if (nodes)
      ++nodes->position;
    if (pieces)
      beginPiece(part, record->kernel);
    Result error = putRecord(part, record, follows);
    follows = record->kind == WorkKind::Launch && !marks;
    if (recordNode && !error)
      *recordNode++ = record->kind == WorkKind::Launch ? lastNode(part) : nullptr;
    if (pieces)
      endPiece(part);
    if (error) {
      *failure = {record->kernel, record->kind, error};
      return false;
    }
    if (marks)
      mark(part, record->kernel);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Others differ in length or, as a rule, early on: this costs less than a hash.
static CapturedWork *findCaptured(PendingWork &work) {
  for (int32_t i = 0; i < work.capturedCount; ++i) {
    CapturedWork &captured = work.captured[i];
    if (captured.bytes == work.bytes &&
        memcmp(captured.records, work.records, size_t(work.bytes)) == 0)
      return &captured;
  }
  return nullptr;
}

/// Whether the sequence came before, not long ago; notes that it did now.
static bool seenBefore(PendingWork &work, uint64_t hash) {
  for (uint64_t each : work.seen)
    if (each == hash)
      return true;
  work.seen[work.flushes % PendingWork::remembered] = hash;
  return false;
}

/// What a new graph replaces: the one of the same form that lay idle longest, if
/// there are enough of them; else a free place; else the idlest of all.
static CapturedWork *placeFor(PendingWork &work, uint64_t form) {
  CapturedWork *alike = nullptr, *idlest = nullptr;
  int32_t count = 0;
  for (int32_t i = 0; i < work.capturedCount; ++i) {
    CapturedWork *each = &work.captured[i];
    if (!idlest || each->used < idlest->used)
      idlest = each;
    if (each->form != form)
      continue;
    ++count;
    if (!alike || each->used < alike->used)
      alike = each;
  }
  if (count >= PendingWork::mostAlike)
    return alike;
  if (work.capturedCount < PendingWork::mostCaptured)
    return &work.captured[work.capturedCount++];
  return idlest;
}

static void drop(const Driver &driver, CapturedWork *captured) {
  if (captured->graph)
    driver.graphExecDestroy(captured->graph);
  if (captured->source)
    driver.graphDestroy(captured->source);
  free(captured->recordNode);
  free(captured->records);
  dropNodes(captured->nodes);
  *captured = {};
}

/// The graph of what was noted; null: there is none, and nothing was put.
static Graph record(CudaRun *part, GraphNodes *nodes, GraphNode *recordNode) {
  const Driver &driver = *part->device->driver;
  if (driver.captureBegin(part->work, captureRelaxed) != 0)
    return nullptr;
  WorkFailure ignored;
  Graph graph = nullptr;
  bool put = putAll(part, &ignored, nodes, recordNode);
  if (nodes)
    nodes->position = -1;
  bool ended = driver.captureEnd(part->work, &graph) == 0;
  if (put && ended)
    return graph;
  if (graph)
    driver.graphDestroy(graph);
  return nullptr;
}

/// Captures what was noted. Null: it did not work; then nothing was put. A
/// sequence that cannot be captured is put call by call, which says why if that
/// does not work either. `place`: where its graph is to be; null: any. Where CUPTI
/// tells, nodes are known by having been seen when the graph was made: one that was
/// made before is made again. An update keeps nodes, in their order.
static CapturedWork *capture(CudaRun *part, uint64_t form, CapturedWork *place) {
  PendingWork &work = part->pending;
  const Driver &driver = *part->device->driver;
  bool watched = part->timeline.byActivity;
  GraphNodes *nodes = watched ? beginNodes() : nullptr;
  auto *recordNode = static_cast<GraphNode *>(calloc(size_t(work.count), sizeof(GraphNode)));
  Graph graph = watched && !nodes ? nullptr : record(part, nodes, recordNode);
  if (!graph) {
    free(recordNode);
    dropNodes(endNodes(nodes));
    return nullptr;
  }
  place = place ? place : placeFor(work, form);
  GraphUpdate update = {};
  bool fits = place->graph && place->form == form && (!watched || place->nodes) &&
              driver.graphUpdate(place->graph, graph, &update) == 0;
  if (!fits) {
    drop(driver, place);
    fits = driver.graphInstantiate(&place->graph, graph, 0) == 0;
    nodes = endNodes(nodes);
    place->nodes = nodes;
    place->source = graph;
    place->recordNode = recordNode;
    if (!fits)
      place->graph = nullptr;
  } else {
    // It keeps the nodes of the graph that it was made of.
    dropNodes(endNodes(nodes));
    free(recordNode);
    driver.graphDestroy(graph);
  }
  fits = fits && (!watched || place->nodes);
  auto *records =
      fits ? static_cast<uint8_t *>(realloc(place->records, size_t(work.bytes))) : nullptr;
  if (!records) {
    // The place stays, empty, as no sequence is.
    drop(driver, place);
    return nullptr;
  }
  memcpy(records, work.records, size_t(work.bytes));
  *place = {place->graph, place->source, place->recordNode, records, work.bytes, form, 0,
            place->nodes};
  return place;
}

/// Whether `record` may take the place of `before` in a graph: a launch of the same function
/// with as many parameters.
static bool differsInParameters(const WorkRecord *record, const WorkRecord *before) {
  if (record->kind != WorkKind::Launch || before->kind != WorkKind::Launch ||
      record->bytes != before->bytes)
    return false;
  auto *launch = static_cast<const LaunchRecord *>(record),
       *other = static_cast<const LaunchRecord *>(before);
  return launch->function == other->function && launch->parameters == other->parameters &&
         launch->maps == other->maps;
}

/// Gives a graph of the same form that was used last what was noted: parameters and blocks of
/// launches, where at most half of all records differ, since each takes a call. Null: there is
/// none.
static CapturedWork *adjust(CudaRun *part, uint64_t form) {
  PendingWork &work = part->pending;
  CapturedWork *latest = nullptr;
  for (int32_t i = 0; i < work.capturedCount; ++i) {
    CapturedWork &each = work.captured[i];
    if (each.graph && each.form == form && each.bytes == work.bytes && each.recordNode &&
        (!latest || each.used > latest->used))
      latest = &each;
  }
  if (!latest)
    return nullptr;
  auto before = [&](int64_t at) {
    return reinterpret_cast<const WorkRecord *>(latest->records + at);
  };
  auto isSame = [&](int64_t at) {
    const WorkRecord *record = recordAt(work, at);
    return record->bytes == before(at)->bytes &&
           memcmp(record, before(at), size_t(record->bytes)) == 0;
  };
  int32_t different = 0, number = 0;
  for (int64_t at = 0; at < work.bytes; at += recordAt(work, at)->bytes, ++number) {
    if (isSame(at))
      continue;
    if (!differsInParameters(recordAt(work, at), before(at)) || !latest->recordNode[number])
      return nullptr;
    ++different;
  }
  if (different * 2 > work.count)
    return nullptr;
  number = 0;
  for (int64_t at = 0; at < work.bytes; at += recordAt(work, at)->bytes, ++number) {
    if (isSame(at))
      continue;
    auto *launch = static_cast<const LaunchRecord *>(recordAt(work, at));
    LaunchParameters parameters(*launch);
    KernelNode node = {launch->function,
                       {launch->blocks, 1, 1},
                       {launch->threads, 1, 1},
                       launch->shared,
                       parameters.pointers,
                       nullptr,
                       nullptr,
                       nullptr};
    if (part->device->driver->graphSetKernel(latest->graph, latest->recordNode[number], &node)) {
      // What it would do now is neither this nor that.
      drop(*part->device->driver, latest);
      return nullptr;
    }
  }
  memcpy(latest->records, work.records, size_t(work.bytes));
  return latest;
}

bool flush(CudaRun *part, WorkFailure *failure) {
  PendingWork &work = part->pending;
  if (work.count == 0)
    return true;
  ++work.flushes;
  CapturedWork *captured = nullptr;
  const Timeline &timeline = part->timeline;
  bool eachCall = timeline.on && !timeline.byActivity;
  if (!work.never && work.flushes >= work.notBefore && !eachCall &&
      work.count >= PendingWork::leastCaptured) {
    captured = findCaptured(work);
    bool isUnknown = captured && timeline.byActivity && !captured->nodes;
    if (isUnknown || !captured) {
      uint64_t hash, form;
      hashWork(work, &hash, &form);
      if (isUnknown || seenBefore(work, hash)) {
        captured = capture(part, form, captured);
        // Not again and again what the driver does not take; but memory may come back.
        if (!captured)
          work.notBefore = work.flushes + PendingWork::pause;
      } else {
        captured = adjust(part, form);
      }
    }
  }
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
    done = putAll(part, failure);
  }
  discard(work);
  return done;
}

void destroyWork(const Driver &driver, PendingWork &work) {
  for (int32_t i = 0; i < work.capturedCount; ++i)
    drop(driver, &work.captured[i]);
  free(work.records);
}

} // namespace weir::rt::cuda

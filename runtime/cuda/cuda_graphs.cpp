//===- cuda_graphs.cpp - graphs of a step's work ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/work_records.h"

#include <stdlib.h>

namespace weir::rt::cuda {

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
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

/// Sequences that differ in operands and sizes alone share a form: how many graphs are of one.
static int32_t countAlike(const PendingWork &work, uint64_t form) {
  int32_t count = 0;
  for (int32_t i = 0; i < work.capturedCount; ++i)
    count += work.captured[i].form == form;
  return count;
}

/// What a new graph replaces: the one of the same form that lay idle longest, if
/// there are enough of them; else a free place; else the idlest of all.
static CapturedWork *placeFor(PendingWork &work, uint64_t form) {
  CapturedWork *alike = nullptr, *idlest = nullptr;
  for (int32_t i = 0; i < work.capturedCount; ++i) {
    CapturedWork *each = &work.captured[i];
    if (!idlest || each->used < idlest->used)
      idlest = each;
    if (each->form == form && (!alike || each->used < alike->used))
      alike = each;
  }
  if (countAlike(work, form) >= PendingWork::mostAlike)
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
  bool put = putPending(part, &ignored, /*captures=*/true, nodes, recordNode);
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
  auto *recordNode = static_cast<GraphNode *>(calloc(2 * size_t(work.count), sizeof(GraphNode)));
  Graph graph = watched && !nodes ? nullptr : record(part, nodes, recordNode);
  if (!graph) {
    free(recordNode);
    dropNodes(endNodes(nodes));
    return nullptr;
  }
  place = place ? place : placeFor(work, form);
  GraphUpdate update = {};
  // What sets a condition knows it by its handle, which a graph has of its own.
  bool fits = !work.conditions && place->graph && place->form == form &&
              (!watched || place->nodes) && driver.graphUpdate(place->graph, graph, &update) == 0;
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
/// with as many parameters, a copy, a value as wide.
static bool differsInParameters(const WorkRecord *record, const WorkRecord *before) {
  if (record->kind != before->kind || record->bytes != before->bytes || !settableNodes(*record))
    return false;
  if (record->kind == WorkKind::Store)
    return static_cast<const StoreRecord *>(record)->size ==
           static_cast<const StoreRecord *>(before)->size;
  if (record->kind == WorkKind::Copy)
    return true;
  auto *launch = static_cast<const LaunchRecord *>(record),
       *other = static_cast<const LaunchRecord *>(before);
  return launch->function == other->function && launch->parameters == other->parameters &&
         launch->maps == other->maps && launch->table == other->table;
}

/// Gives the nodes of a graph what a record says. A CUresult.
static Result setNodes(const CudaDevice &device, GraphExec graph, GraphNode *nodes,
                       const WorkRecord *record) {
  const Driver &driver = *device.driver;
  if (record->kind == WorkKind::Copy) {
    auto *copy = static_cast<const CopyRecord *>(record);
    CopyNode node = {};
    node.from.type = node.to.type = memoryTypeDevice;
    node.from.device = copy->from;
    node.to.device = copy->to;
    node.width = size_t(copy->size);
    node.height = node.depth = 1;
    return driver.graphSetCopy(graph, nodes[0], &node, device.context);
  }
  if (record->kind == WorkKind::Store) {
    auto *store = static_cast<const StoreRecord *>(record);
    auto each = unsigned(store->size < 4 ? store->size : 4);
    Result error = 0;
    for (int32_t i = 0; !error && i < settableNodes(*record); ++i) {
      uint64_t value = store->value >> (32 * i);
      unsigned mask = each == 4 ? ~0u : (1u << (8 * each)) - 1;
      SetNode node = {store->to + 4 * uint64_t(i), 0, unsigned(value) & mask, each, 1, 1};
      error = driver.graphSetFill(graph, nodes[i], &node, device.context);
    }
    return error;
  }
  auto *launch = static_cast<const LaunchRecord *>(record);
  LaunchParameters parameters(*launch);
  KernelNode node = {launch->function,
                     {launch->blocks, 1, 1},
                     {launch->threads, 1, 1},
                     launch->shared,
                     parameters.pointers,
                     nullptr,
                     nullptr,
                     nullptr};
  return driver.graphSetKernel(graph, nodes[0], &node);
}

/// Gives a graph of the same form what was noted: parameters and blocks of launches, ends of
/// copies, values. Each record that differs takes a call, as putting it would; the GPU then has
/// them as one graph. `isSeen`: the sequence may come again, and takes the graph that lay idle
/// longest; else the one that was used last, from which a step that grows differs least. Null:
/// there is none.
static CapturedWork *adjust(CudaRun *part, uint64_t form, bool isSeen) {
  PendingWork &work = part->pending;
  CapturedWork *chosen = nullptr;
  for (int32_t i = 0; i < work.capturedCount; ++i) {
    CapturedWork &each = work.captured[i];
    if (each.graph && each.form == form && each.bytes == work.bytes && each.recordNode &&
        (!chosen || (each.used < chosen->used) == isSeen))
      chosen = &each;
  }
  if (!chosen)
    return nullptr;
  auto before = [&](int64_t at) {
    return reinterpret_cast<const WorkRecord *>(chosen->records + at);
  };
  auto isSame = [&](int64_t at) {
    const WorkRecord *record = recordAt(work, at);
    return record->bytes == before(at)->bytes &&
           memcmp(record, before(at), size_t(record->bytes)) == 0;
  };
  int32_t number = 0;
  for (int64_t at = 0; at < work.bytes; at += recordAt(work, at)->bytes, ++number) {
    if (isSame(at))
      continue;
    if (!differsInParameters(recordAt(work, at), before(at)) || !chosen->recordNode[2 * number])
      return nullptr;
  }
  number = 0;
  for (int64_t at = 0; at < work.bytes; at += recordAt(work, at)->bytes, ++number) {
    if (isSame(at))
      continue;
    if (setNodes(*part->device, chosen->graph, chosen->recordNode + 2 * number,
                 recordAt(work, at))) {
      // What it would do now is neither this nor that.
      drop(*part->device->driver, chosen);
      return nullptr;
    }
  }
  memcpy(chosen->records, work.records, size_t(work.bytes));
  return chosen;
}

CapturedWork *findGraph(CudaRun *part) {
  PendingWork &work = part->pending;
  const Timeline &timeline = part->timeline;
  // What comes by several times has no one time.
  bool eachCall = timeline.on && (!timeline.byActivity || work.conditions);
  bool isWorthIt = work.count >= PendingWork::leastCaptured || work.conditions;
  if (work.never || work.flushes < work.notBefore || eachCall || !isWorthIt ||
      (work.conditions && (part->device->waitsAlways || !hasControl(*part->device))))
    return nullptr;
  CapturedWork *known = findCaptured(work);
  bool isUnknown = known && timeline.byActivity && !known->nodes;
  if (known && !isUnknown)
    return known;
  uint64_t hash, form;
  hashWork(work, &hash, &form);
  bool isSeen = isUnknown || seenBefore(work, hash);
  // Sizes that come again have graphs of their own, as far as graphs are kept for them.
  bool hasOwn = isUnknown || (isSeen && countAlike(work, form) < PendingWork::mostAlike);
  CapturedWork *captured = hasOwn ? nullptr : adjust(part, form, isSeen);
  if (captured || (!isSeen && !work.conditions))
    return captured;
  captured = capture(part, form, known);
  // Not again and again what the driver does not take; but memory may come back.
  if (!captured)
    work.notBefore = work.flushes + PendingWork::pause;
  return captured;
}

void destroyWork(const Driver &driver, PendingWork &work) {
  for (int32_t i = 0; i < work.capturedCount; ++i)
    drop(driver, &work.captured[i]);
  free(work.records);
}

} // namespace weir::rt::cuda

//===- rendezvous.cpp - where tensors that cross devices meet -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/rendezvous.h"

#include "session/run.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Finalizer of SplitMix64.
static uint64_t hashOf(int32_t edge, int64_t iteration) {
  uint64_t hash =
      uint64_t(uint32_t(edge)) * 0x9e3779b97f4a7c15 + uint64_t(iteration);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

Arrival **Rendezvous::bucket(int32_t edge, int64_t iteration) {
  return &buckets[hashOf(edge, iteration) & uint64_t(bucketCount - 1)];
}

Arrival *Rendezvous::find(int32_t edge, int64_t iteration) {
  if (bucketCount == 0)
    return nullptr;
  Arrival *arrival = *bucket(edge, iteration);
  while (arrival && (arrival->edge != edge || arrival->iteration != iteration))
    arrival = arrival->next;
  return arrival;
}

bool Rendezvous::grow() {
  int64_t oldCount = bucketCount, newCount = oldCount ? oldCount * 2 : 16;
  auto *fresh =
      static_cast<Arrival **>(calloc(size_t(newCount), sizeof(Arrival *)));
  if (!fresh)
    return oldCount > 0; // fuller buckets will do
  Arrival **old = buckets;
  buckets = fresh;
  bucketCount = newCount;
  for (int64_t i = 0; i < oldCount; ++i)
    while (Arrival *arrival = old[i]) {
      old[i] = arrival->next;
      Arrival **link = bucket(arrival->edge, arrival->iteration);
      arrival->next = *link;
      *link = arrival;
    }
  free(old);
  return true;
}

Arrival *Rendezvous::add(int32_t edge, int64_t iteration) {
  if (count >= bucketCount && !grow())
    return nullptr;
  Arrival *arrival = unused;
  if (arrival)
    unused = arrival->next;
  else if (!(arrival = static_cast<Arrival *>(malloc(sizeof(Arrival)))))
    return nullptr;
  memset(static_cast<void *>(arrival), 0, sizeof(Arrival));
  arrival->edge = edge;
  arrival->iteration = iteration;
  Arrival **link = bucket(edge, iteration);
  arrival->next = *link;
  *link = arrival;
  ++count;
  return arrival;
}

void Rendezvous::remove(Arrival *arrival) {
  Arrival **link = bucket(arrival->edge, arrival->iteration);
  while (*link != arrival)
    link = &(*link)->next;
  *link = arrival->next;
  arrival->next = unused;
  unused = arrival;
  --count;
}

void Rendezvous::forEach(void (*visit)(void *, Arrival *), void *argument) {
  for (int64_t i = 0; i < bucketCount; ++i)
    for (Arrival *arrival = buckets[i]; arrival; arrival = arrival->next)
      visit(argument, arrival);
}

void Rendezvous::clear() {
  if (count == 0)
    return;
  for (int64_t i = 0; i < bucketCount; ++i)
    while (Arrival *arrival = buckets[i]) {
      buckets[i] = arrival->next;
      arrival->next = unused;
      unused = arrival;
    }
  count = 0;
}

void Rendezvous::destroy() {
  clear();
  while (Arrival *arrival = unused) {
    unused = arrival->next;
    free(arrival);
  }
  free(buckets);
  buckets = nullptr;
  bucketCount = 0;
}

//===----------------------------------------------------------------------===//
// Resuming
//===----------------------------------------------------------------------===//

static weir_trace_event receiveEvent(const Arrival &arrival) {
  const weir_run *run = arrival.receiver->run;
  return traceEvent(arrival.receiver, WEIR_TRACE_RECEIVE,
                    run->session->program->edges[arrival.edge].name, "");
}

/// A task. The coroutine may end or remove its arrival: what is needed of it is
/// read first.
static void resume(Task *task) {
  auto *arrival = reinterpret_cast<Arrival *>(task);
  weir_run *run = arrival->receiver->run;
  void *coroutine = arrival->coroutine;
  if (const weir_trace *trace = run->trace) {
    weir_trace_event event = receiveEvent(*arrival);
    trace->end(trace->self, &event);
  }
  (*static_cast<void (**)(void *)>(coroutine))(coroutine);
  endSegment(run);
}

namespace {

/// Receivers to resume, found under the run's lock and posted after it: the
/// caller's pool is not called with a lock held.
struct Wakeups {
  weir_run *run;
  Task *first = nullptr;

  /// The run's lock is held.
  void add(Arrival *arrival) {
    // Waits, and no task of it is on its way.
    if (!arrival->coroutine || arrival->task.run)
      return;
    arrival->task.run = resume;
    arrival->task.owner = run;
    arrival->task.next = first;
    first = &arrival->task;
    // The run cannot end before these do.
    ++run->segments;
  }

  void post() {
    while (Task *task = first) {
      first = task->next;
      run->session->executor->post(task);
    }
  }
};

} // namespace

int32_t abortRun(weir_run *run, int32_t encoded) {
  uint32_t none = 0;
  if (!run->aborted.compare_exchange_strong(none, uint32_t(encoded),
                                            std::memory_order_acq_rel))
    return int32_t(none);
  Wakeups wakeups{run};
  bool executing;
  {
    Lock lock(run->mutex);
    run->rendezvous.forEach(
        [](void *all, Arrival *arrival) {
          static_cast<Wakeups *>(all)->add(arrival);
        },
        &wakeups);
    wakeWaits(run, &wakeups.first);
    // As a segment the abort keeps the run from ending under it, and ends it
    // when no one else will.
    executing = run->executing;
    run->segments += executing;
    run->aborting = true;
  }
  wakeups.post();
  // Allocations that wait look at `aborted` when woken.
  for (int32_t i = 0; i < run->session->deviceCount; ++i)
    run->session->memory[i]->wake();
  if (executing)
    endSegment(run);
  return encoded;
}

} // namespace weir::rt

using namespace weir::rt;

//===----------------------------------------------------------------------===//
// What generated code calls
//===----------------------------------------------------------------------===//

static const char *edgeName(const weir_run *run, int32_t edge) {
  return run->session->program->edges[edge].name;
}

/// Misuse by generated code, or no memory for the table.
static int32_t failEdge(weir_run *run, int32_t edge, int32_t code,
                        const char *problem) {
  char text[256];
  Text(text, sizeof(text)) << "edge " << edgeName(run, edge) << ": " << problem;
  return abortRun(run, code, text);
}

/// To a device of another task.
static int32_t sendAway(weir_context *ctx, int32_t edge, int64_t iteration,
                        const weir_tensor &tensor) {
  weir_run *run = ctx->run;
  int64_t bytes = 0;
  void *block =
      transportHost.pack(run->session, int32_t(ctx->device), &tensor, &bytes);
  const char *name = edgeName(run, edge);
  if (!block)
    return abortRun(run, recordOutOfMemory(ctx, copyBytes(tensor), name, -1));
  const weir_transport *transport = run->session->transport;
  weir_status status = WEIR_STATUS_INIT;
  if (int32_t code =
          transport->send(transport->self, run->transfer, edge, iteration,
                          &tensor, block, bytes, /*owned=*/1, &status))
    return failEdge(run, edge, code, status.message);
  return WEIR_OK;
}

namespace weir::rt {

int64_t nextSent(weir_run *run, int32_t edge, int64_t iteration) {
  return iteration == WEIR_NEXT_ITERATION ? run->edgeCounts[edge].sent++
                                           : iteration;
}

int32_t passOn(weir_context *ctx, int32_t edge, int64_t iteration,
               const weir_tensor &tensor, Block *block) {
  weir_run *run = ctx->run;
  if (isLocal(run->session, run->session->program->edges[edge].destination))
    return deliverTensor(run, edge, iteration, tensor, block);
  int32_t code = sendAway(ctx, edge, iteration, tensor);
  block->memory->free(block);
  return code;
}

int32_t deliverTensor(weir_run *run, int32_t edge, int64_t iteration,
                      const weir_tensor &tensor, Block *block) {
  const char *problem = nullptr;
  Wakeups wakeups{run};
  {
    Lock lock(run->mutex);
    Arrival *arrival = run->rendezvous.find(edge, iteration);
    if (!arrival)
      arrival = run->rendezvous.add(edge, iteration);
    if (!arrival) {
      problem = "no memory for the rendezvous";
    } else if (arrival->sent) {
      problem = "sent twice in one iteration";
    } else {
      arrival->sent = true;
      arrival->tensor = tensor;
      arrival->tensor.data = block->data();
      arrival->block = block;
      wakeups.add(arrival);
    }
  }
  wakeups.post();
  if (!problem)
    return WEIR_OK;
  block->memory->free(block);
  return failEdge(run, edge, WEIR_INTERNAL, problem);
}

} // namespace weir::rt

int32_t weir_rt_send(weir_context *ctx, int32_t edge, int64_t iteration,
                     const weir_tensor *value) {
  weir_run *run = ctx->run;
  if (uint32_t code = run->aborted.load(std::memory_order_acquire))
    return int32_t(code);
  const weir_edge_desc &desc = run->session->program->edges[edge];
  const weir_tensor tensor = value ? *value : weir_tensor{};
  iteration = nextSent(run, edge, iteration);
  if (!isLocal(run->session, desc.destination))
    return sendAway(ctx, edge, iteration, tensor);
  // The memory is the receiver's; dims come along in the table.
  weir_context *receiver = &run->devices[desc.destination].context;
  int64_t bytes = copyBytes(tensor);
  Block *block = allocateForRun(receiver, bytes, desc.name,
                                hasContents(tensor.dtype) ? Block::ofRunKept
                                                            : Block::ofRun);
  if (!block)
    return abortRun(run, recordOutOfMemory(receiver, bytes, desc.name, -1));
  copyElements(tensor, block->data());
  return deliverTensor(run, edge, iteration, tensor, block);
}

int32_t weir_rt_receive_ready(weir_context *ctx, int32_t edge,
                              int64_t iteration, void *coroutine) {
  weir_run *run = ctx->run;
  if (iteration == WEIR_NEXT_ITERATION)
    iteration = run->edgeCounts[edge].received;
  const char *problem = nullptr;
  {
    Lock lock(run->mutex);
    // Under the lock: who aborts after this finds the receiver in the table.
    if (run->aborted.load(std::memory_order_acquire))
      return 1;
    Arrival *arrival = run->rendezvous.find(edge, iteration);
    if (arrival && arrival->sent)
      return 1;
    if (!arrival)
      arrival = run->rendezvous.add(edge, iteration);
    if (!arrival) {
      problem = "no memory for the rendezvous";
    } else if (arrival->coroutine) {
      problem = "received twice in one iteration";
    } else {
      arrival->coroutine = coroutine;
      arrival->receiver = ctx;
      // Before the lock is given up: the end may come at once.
      if (const weir_trace *trace = run->trace) {
        weir_trace_event event = receiveEvent(*arrival);
        trace->begin(trace->self, &event);
      }
      return 0;
    }
  }
  failEdge(run, edge, WEIR_INTERNAL, problem);
  return 1;
}

Block *weir::rt::takeArrival(weir_context *ctx, int32_t edge, int64_t iteration,
                             weir_tensor *out, int32_t *code) {
  weir_run *run = ctx->run;
  *code = int32_t(run->aborted.load(std::memory_order_acquire));
  if (*code)
    return nullptr;
  if (iteration == WEIR_NEXT_ITERATION)
    iteration = run->edgeCounts[edge].received++;
  Block *block = nullptr;
  {
    Lock lock(run->mutex);
    Arrival *arrival = run->rendezvous.find(edge, iteration);
    if (arrival && arrival->sent) {
      *out = arrival->tensor;
      block = arrival->block;
      run->rendezvous.remove(arrival);
    }
  }
  if (!block)
    *code = failEdge(run, edge, WEIR_INTERNAL, "received before it was there");
  return block;
}

int32_t weir_rt_receive(weir_context *ctx, int32_t edge, int64_t iteration,
                        weir_tensor *out) {
  int32_t code;
  Block *block = takeArrival(ctx, edge, iteration, out, &code);
  if (!block)
    return code;
  linkBlock(ctx->run, block);
  return WEIR_OK;
}

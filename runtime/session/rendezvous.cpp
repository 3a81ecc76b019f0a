//===- rendezvous.cpp - where tensors that cross devices meet -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/rendezvous.h"

#include "session/run.h"
#include "support/few_bytes.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Finalizer of SplitMix64.
static uint64_t hashOf(int32_t edge, int64_t iteration) {
  uint64_t hash = uint64_t(uint32_t(edge)) * 0x9e3779b97f4a7c15 + uint64_t(iteration);
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
  auto *fresh = static_cast<Arrival **>(calloc(size_t(newCount), sizeof(Arrival *)));
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

Arrival *Rendezvous::add(int32_t edge, int64_t iteration, Arrival **found) {
  if (count >= bucketCount && !grow())
    return nullptr;
  Arrival *arrival = unused;
  if (found && *found) {
    arrival = *found;
    *found = nullptr;
  } else if (arrival) {
    unused = arrival->next;
  } else if (!(arrival = static_cast<Arrival *>(malloc(sizeof(Arrival))))) {
    return nullptr;
  }
  memset(static_cast<void *>(arrival), 0, offsetof(Arrival, tensor));
  arrival->edge = edge;
  arrival->iteration = iteration;
  Arrival **link = bucket(edge, iteration);
  arrival->next = *link;
  *link = arrival;
  ++count;
  return arrival;
}

void Rendezvous::detach(Arrival *arrival) {
  Arrival **link = bucket(arrival->edge, arrival->iteration);
  while (*link != arrival)
    link = &(*link)->next;
  *link = arrival->next;
  --count;
}

void Rendezvous::keep(Arrival *arrival) {
  if (!arrival)
    return;
  arrival->next = unused;
  unused = arrival;
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
// Aborting
//===----------------------------------------------------------------------===//

int32_t abortRun(weir_run *run, int32_t encoded) {
  uint32_t none = 0;
  if (!run->aborted.compare_exchange_strong(none, uint32_t(encoded), std::memory_order_acq_rel))
    return int32_t(none);
  Task *tasks = nullptr;
  bool executing;
  {
    Lock lock(run->mutex);
    run->rendezvous.forEach(
        [](void *tasks, Arrival *arrival) { wake(arrival->receiver, static_cast<Task **>(tasks)); },
        &tasks);
    wakeWaits(run, &tasks);
    for (int32_t i = 0; i < run->session->deviceCount; ++i)
      wake(run->devices[i].sender, &tasks);
    // As a segment the abort keeps the run from ending under it, and ends it
    // when no one else will.
    executing = run->executing;
    addSegments(run, executing);
    run->aborting = true;
  }
  postTasks(tasks);
  // Allocations that wait look at `aborted` when woken.
  for (int32_t i = 0; i < run->session->deviceCount; ++i)
    run->session->memory[i]->wake();
  for (int32_t i = 0; executing && i < run->session->deviceCount; ++i)
    if (const Accelerator *accelerator = acceleratorOf(run->session, i);
        accelerator && accelerator->desc->driver->stop)
      accelerator->desc->driver->stop(run, i);
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
static int32_t failEdge(weir_run *run, int32_t edge, int32_t code, const char *problem) {
  char text[256];
  Text(text, sizeof(text)) << "edge " << edgeName(run, edge) << ": " << problem;
  return abortRun(run, code, text);
}

/// To a device of another task. `kept`: the elements may be read in place.
static int32_t sendAway(weir_context *ctx, int32_t edge, int64_t iteration,
                        const weir_tensor &tensor, bool kept) {
  weir_run *run = ctx->run;
  int64_t bytes = tensor.bytes;
  void *data = tensor.data;
  int32_t lifetime = hasContents(tensor.dtype) ? WEIR_SENT_OWNED
                     : bytes < copiedBytes     ? WEIR_SENT_BORROWED
                     : kept                    ? WEIR_SENT_KEPT
                                               : WEIR_SENT_OWNED;
  if (lifetime == WEIR_SENT_KEPT) {
    run->devices[ctx->device].kept.fetch_add(1, std::memory_order_relaxed);
  } else if (lifetime == WEIR_SENT_OWNED &&
             !(data = transportHost.pack(run->session, int32_t(ctx->device), &tensor, &bytes))) {
    return abortRun(run, recordOutOfMemory(ctx, copyBytes(tensor), edgeName(run, edge), -1));
  }
  const weir_transport *transport = run->session->transport;
  // Nothing is said where all is well: to clear the text would take as long as the
  // way of a small tensor.
  weir_status status;
  status.size = sizeof(status);
  status.code = WEIR_OK;
  status.message[0] = 0;
  if (int32_t code = transport->send(transport->self, run->transfer, edge, iteration, &tensor, data,
                                     bytes, lifetime, &status))
    return failEdge(run, edge, code, status.message);
  return WEIR_OK;
}

/// Whether a feed of the run is sent to an accelerator as a pointer to it.
static bool isLent(const weir_run *run, int32_t device, const weir_tensor &tensor) {
  const Accelerator *accelerator = acceleratorOf(run->session, device);
  if (!accelerator || accelerator->leastBorrowed <= 0 ||
      tensor.bytes < accelerator->leastBorrowed || hasContents(tensor.dtype))
    return false;
  for (int32_t i = 0; i < run->entry->feed_count; ++i)
    if (run->feeds[i].data == tensor.data)
      return true;
  return false;
}

/// To a device of this task.
static int32_t sendHere(weir_context *ctx, int32_t edge, int64_t iteration,
                        const weir_tensor &tensor) {
  weir_run *run = ctx->run;
  const weir_edge_desc &desc = run->session->program->edges[edge];
  // The memory is the receiver's; dims come along in the table.
  weir_context *receiver = &run->devices[desc.destination].context;
  // What is in the receiver's memory already comes as a pointer.
  const weir_tensor *direct = directTensor(run, edge, /*isFetch=*/false);
  if (!direct && isLent(run, desc.destination, tensor))
    direct = &tensor;
  int64_t bytes = direct ? int64_t(sizeof(void *)) : copyBytes(tensor);
  Block *block = allocateForRun(receiver, bytes, desc.name,
                                hasContents(tensor.dtype) ? Block::ofRunKept : Block::ofRun);
  if (!block)
    return abortRun(run, recordOutOfMemory(receiver, bytes, desc.name, -1));
  if (direct)
    memcpy(block->data(), &direct->data, sizeof(void *));
  else
    copyElements(tensor, block->data());
  // What a device gives to a part of its own goes on at once.
  bool isOwn = desc.source == desc.destination;
  return deliverTensor(run, edge, iteration, tensor, block, isOwn);
}

static int32_t send(weir_context *ctx, int32_t edge, int64_t iteration, const weir_tensor *value,
                    bool kept) {
  weir_run *run = ctx->run;
  if (uint32_t code = run->aborted.load(std::memory_order_acquire))
    return int32_t(code);
  static const weir_tensor nothing = {};
  const weir_tensor &tensor = value ? *value : nothing;
  iteration = nextSent(run, edge, iteration, tensor);
  auto give = [&] {
    return isLocal(run->session, run->session->program->edges[edge].destination)
               ? sendHere(ctx, edge, iteration, tensor)
               : sendAway(ctx, edge, iteration, tensor, kept);
  };
  const weir_trace *trace = run->trace;
  if (!trace)
    return give();
  weir_trace_event event = traceEvent(ctx, WEIR_TRACE_SEND, edgeName(run, edge), "");
  event.bytes = tensor.bytes;
  trace->begin(trace->self, &event);
  int32_t code = give();
  trace->end(trace->self, &event);
  return code;
}

namespace weir::rt {

int64_t nextSent(weir_run *run, int32_t edge, int64_t iteration, const weir_tensor &tensor) {
  EdgeCounts &counts = run->edgeCounts[edge];
  counts.window = windowOf(tensor);
  return iteration == WEIR_NEXT_ITERATION ? counts.sent++ : iteration;
}

int32_t passOn(weir_context *ctx, int32_t edge, int64_t iteration, const weir_tensor &tensor,
               Block *block) {
  weir_run *run = ctx->run;
  if (isLocal(run->session, run->session->program->edges[edge].destination))
    return deliverTensor(run, edge, iteration, tensor, block);
  int32_t code = sendAway(ctx, edge, iteration, tensor, /*kept=*/false);
  block->memory->free(block);
  return code;
}

int32_t deliverTensor(weir_run *run, int32_t edge, int64_t iteration, const weir_tensor &tensor,
                      Block *block, bool atOnce) {
  const char *problem = nullptr;
  Task *tasks = nullptr;
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
      copyTensor(arrival->tensor, tensor);
      arrival->tensor.data = block->data();
      arrival->block = block;
      wake(arrival->receiver, &tasks);
    }
  }
  postTasks(tasks, /*runsShort=*/atOnce);
  if (!problem)
    return WEIR_OK;
  block->memory->free(block);
  return failEdge(run, edge, WEIR_INTERNAL, problem);
}

bool deliverFew(weir_run *run, int32_t edge, int64_t iteration, const weir_tensor &tensor,
                Task **tasks) {
  int32_t device = run->session->program->edges[edge].destination;
  // An accelerator's part of the run frees what it takes when it is read.
  if (acceleratorOf(run->session, device))
    return false;
  Lock lock(run->mutex);
  Arrival *arrival = run->rendezvous.find(edge, iteration);
  if (arrival && arrival->sent)
    return false;
  Block *block = takeAtHandLocked(run, device, tensor.bytes);
  if (!block)
    return false;
  if (!arrival && !(arrival = run->rendezvous.add(edge, iteration))) {
    giveBack(block);
    return false;
  }
  copyFew(block->data(), tensor.data, size_t(tensor.bytes));
  arrival->sent = true;
  copyTensor(arrival->tensor, tensor);
  arrival->tensor.data = block->data();
  arrival->block = block;
  // The edge's one receiver comes next, and needs no lock to find it.
  if (arrival->counted && arrival->receiver.waits()) {
    run->rendezvous.detach(arrival);
    run->edgeCounts[edge].arrived = arrival;
  }
  wake(arrival->receiver, tasks);
  return true;
}

} // namespace weir::rt

int32_t weir_rt_send(weir_context *ctx, int32_t edge, int64_t iteration, const weir_tensor *value) {
  return send(ctx, edge, iteration, value, /*kept=*/false);
}

int32_t weir_rt_send_kept(weir_context *ctx, int32_t edge, int64_t iteration,
                          const weir_tensor *value) {
  return send(ctx, edge, iteration, value, /*kept=*/true);
}

int32_t weir_rt_sent_ready(weir_context *ctx, void *coroutine) {
  weir_run *run = ctx->run;
  DeviceRun &device = run->devices[ctx->device];
  if (device.kept.load(std::memory_order_acquire) == 0)
    return 1;
  Lock lock(run->mutex);
  // Under the lock: who releases or aborts after this finds the sender.
  if (device.kept.load(std::memory_order_acquire) == 0 ||
      run->aborted.load(std::memory_order_acquire))
    return 1;
  device.waitedEdge = DeviceRun::keptTensors;
  suspend(device.sender, ctx, coroutine, "sent");
  return 0;
}

int32_t weir_rt_send_ready(weir_context *ctx, int32_t edge, void *coroutine) {
  weir_run *run = ctx->run;
  DeviceRun &device = run->devices[ctx->device];
  const EdgeCounts &counts = run->edgeCounts[edge];
  Lock lock(run->mutex);
  if (counts.sent == counts.taken || counts.sent - counts.taken < counts.window ||
      run->aborted.load(std::memory_order_acquire))
    return 1;
  device.waitedEdge = edge;
  suspend(device.sender, ctx, coroutine, edgeName(run, edge));
  return 0;
}

void weir::rt::releaseKept(weir_run *run, int32_t edge) {
  DeviceRun &device = run->devices[run->session->program->edges[edge].source];
  if (device.kept.fetch_sub(1, std::memory_order_acq_rel) > 1)
    return;
  Task *tasks = nullptr;
  {
    Lock lock(run->mutex);
    if (device.waitedEdge == DeviceRun::keptTensors &&
        device.kept.load(std::memory_order_acquire) == 0)
      wake(device.sender, &tasks);
  }
  postTasks(tasks);
}

/// The run's lock is held.
static void countTaken(weir_run *run, int32_t edge, int64_t taken, Task **tasks) {
  EdgeCounts &counts = run->edgeCounts[edge];
  counts.taken = taken > counts.taken ? taken : counts.taken;
  DeviceRun &sender = run->devices[run->session->program->edges[edge].source];
  if (sender.waitedEdge == edge)
    wake(sender.sender, tasks);
}

void weir::rt::acknowledge(weir_run *run, int32_t edge, int64_t taken) {
  Task *tasks = nullptr;
  {
    Lock lock(run->mutex);
    countTaken(run, edge, taken, &tasks);
  }
  postTasks(tasks);
}

/// A receive that need not wait.
[[gnu::cold]] static void traceMoment(weir_context *ctx, const char *name) {
  const weir_trace *trace = ctx->run->trace;
  weir_trace_event event = traceEvent(ctx, WEIR_TRACE_RECEIVE, name, "");
  trace->begin(trace->self, &event);
  trace->end(trace->self, &event);
}

int32_t weir_rt_receive_ready(weir_context *ctx, int32_t edge, int64_t iteration, void *coroutine) {
  return receiveReady(ctx, edge, iteration, coroutine, /*isShort=*/false);
}

int32_t weir::rt::receiveReady(weir_context *ctx, int32_t edge, int64_t iteration, void *coroutine,
                               bool isShort) {
  weir_run *run = ctx->run;
  EdgeCounts &counts = run->edgeCounts[edge];
  bool counted = iteration == WEIR_NEXT_ITERATION;
  if (counted)
    iteration = counts.received;
  const char *problem = nullptr;
  {
    Lock lock(run->mutex);
    // Under the lock: who aborts after this finds the receiver in the table.
    if (run->aborted.load(std::memory_order_acquire))
      return 1;
    Arrival *arrival = run->rendezvous.find(edge, iteration);
    if (arrival && arrival->sent) {
      if (run->trace)
        traceMoment(ctx, edgeName(run, edge));
      return 1;
    }
    if (!arrival)
      arrival = run->rendezvous.add(edge, iteration, counted ? &counts.found : nullptr);
    if (!arrival) {
      problem = "no memory for the rendezvous";
    } else if (arrival->receiver.coroutine) {
      problem = "received twice in one iteration";
    } else {
      arrival->counted = counted;
      suspend(arrival->receiver, ctx, coroutine, edgeName(run, edge), isShort);
      return 0;
    }
  }
  failEdge(run, edge, WEIR_INTERNAL, problem);
  return 1;
}

Block *weir::rt::takeArrival(weir_context *ctx, int32_t edge, int64_t iteration, weir_tensor *out,
                             int32_t *code, bool linked) {
  weir_run *run = ctx->run;
  *code = int32_t(run->aborted.load(std::memory_order_acquire));
  if (*code)
    return nullptr;
  bool counted = iteration == WEIR_NEXT_ITERATION;
  EdgeCounts &counts = run->edgeCounts[edge];
  bool isHere = isLocal(run->session, run->session->program->edges[edge].source);
  if (counted)
    iteration = counts.received++;
  Block *block = nullptr;
  Task *tasks = nullptr;
  if (Arrival *arrival = counted ? counts.arrived : nullptr) {
    copyTensor(*out, arrival->tensor);
    block = arrival->block;
    counts.found = arrival;
    counts.arrived = nullptr;
  } else {
    Lock lock(run->mutex);
    arrival = run->rendezvous.find(edge, iteration);
    if (arrival && arrival->sent) {
      copyTensor(*out, arrival->tensor);
      block = arrival->block;
      run->rendezvous.remove(arrival);
      if (linked && block->kind != Block::atHand)
        linkBlockLocked(run, block);
      if (counted && isHere)
        countTaken(run, edge, iteration + 1, &tasks);
    }
  }
  postTasks(tasks);
  // The sender may go on with half a window.
  if (block && counted && !isHere && iteration + 1 - counts.told >= windowOf(*out) / 2) {
    counts.told = iteration + 1;
    const weir_transport *transport = run->session->transport;
    transport->taken(transport->self, run->transfer, edge, iteration + 1);
  }
  if (!block)
    *code = failEdge(run, edge, WEIR_INTERNAL, "received before it was there");
  return block;
}

int32_t weir_rt_receive(weir_context *ctx, int32_t edge, int64_t iteration, weir_tensor *out) {
  int32_t code;
  return takeArrival(ctx, edge, iteration, out, &code, /*linked=*/true) ? int32_t(WEIR_OK) : code;
}

//===- steps.cpp - what messages do ---------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/task_set.h"

#include <algorithm>
#include <string.h>

namespace weir::rt::cluster {

void describe(Header &header, const weir_tensor &tensor) {
  header.bytes = tensor.bytes;
  header.dtype = uint8_t(tensor.dtype);
  header.rank = uint8_t(tensor.rank);
  for (int32_t d = 0; d < tensor.rank; ++d)
    header.dims[d] = tensor.dims[d];
}

weir_tensor tensorOf(const Incoming &incoming) {
  weir_tensor tensor = {};
  tensor.data = incoming.block;
  tensor.bytes = incoming.header.bytes;
  tensor.dtype = incoming.header.dtype;
  tensor.rank = incoming.header.rank;
  for (int32_t d = 0; d < tensor.rank; ++d)
    tensor.dims[d] = incoming.header.dims[d];
  return tensor;
}

std::string textOf(const Incoming &incoming) {
  return std::string(static_cast<const char *>(incoming.block),
                     incoming.block ? size_t(incoming.bytes) : 0);
}

/// Called with the transport's lock held, too.
void *TaskSet::allocate(const Header &header, int64_t bytes) {
  int32_t device = 0;
  if (header.kind == Kind::tensor) {
    if (header.index < 0 || header.index >= theProgram->edge_count)
      return nullptr;
    device = theProgram->edges[header.index].destination;
  }
  return host->allocate(session, device, bytes);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

Step *TaskSet::findKnownStep(const StepKey &key) {
  for (Step &step : steps)
    if (step.key == key)
      return &step;
  return nullptr;
}

Step *TaskSet::findStep(const StepKey &key) {
  if (Step *known = findKnownStep(key))
    return known;
  if (key.leader == own || key.leader < 0 || size_t(key.leader) >= peers.size())
    return nullptr;
  const Peer &peer = peers[size_t(key.leader)];
  if (peer.incarnation == key.incarnation && key.number < peer.oldest)
    return nullptr;
  Step &made = steps.emplace_back();
  made.key = key;
  return &made;
}

void TaskSet::releaseHeld(Step &step) {
  for (Incoming *incoming : step.early)
    drop(incoming);
  step.early.clear();
  for (weir_tensor &feed : step.feeds)
    host->release(feed.data);
  step.feeds.clear();
}

void TaskSet::removeStep(Step *step) {
  releaseHeld(*step);
  steps.remove_if([&](const Step &other) { return &other == step; });
}

/// Steps of others that no message can come for any more.
void TaskSet::forgetEnded() {
  steps.remove_if([&](Step &step) {
    if (step.key.leader == own || (step.started && !step.dead))
      return false;
    const Peer &peer = peers[size_t(step.key.leader)];
    bool over = peer.incarnation == step.key.incarnation ? step.key.number < peer.oldest
                                                         : peer.state != Peer::away;
    if (over)
      releaseHeld(step);
    return over;
  });
}

bool TaskSet::enter(Step &step) {
  if (!step.run || step.ending)
    return false;
  ++step.users;
  return true;
}

void TaskSet::leave(Step &step) {
  Lock lock(mutex);
  --step.users;
  if (step.ending)
    changed.notifyAll();
}

void TaskSet::drop(Incoming *incoming) {
  if (incoming->block)
    host->release(incoming->block);
  delete incoming;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void TaskSet::handle(Incoming *incoming) {
  switch (incoming->header.kind) {
  case Kind::tensor:
    return handleTensor(incoming);
  case Kind::fetch:
    return handleFetch(incoming);
  case Kind::feed:
    return handleFeed(incoming);
  case Kind::run:
    handleRun(*incoming);
    break;
  case Kind::done:
    handleDone(*incoming);
    break;
  case Kind::abort:
    handleAbort(*incoming);
    break;
  case Kind::lost:
    handleLost(*incoming);
    break;
  case Kind::taken:
    handleTaken(*incoming);
    break;
  case Kind::state:
    handleState(*incoming);
    break;
  case Kind::answered:
    handleAnswered(*incoming);
    break;
  case Kind::pace:
    handlePace(incoming->header);
    break;
  case Kind::readable: // the connection's
  case Kind::finished:
    break;
  case Kind::heartbeat:
    handleHeartbeat(incoming->header);
    break;
  }
  drop(incoming);
}

/// A small tensor for a run that is there: one lock of this task set, one of
/// the run, and no memory is asked for. False: nothing was done.
bool TaskSet::deliverFew(const Incoming &incoming) {
  const Header &header = incoming.header;
  if (header.bytes != incoming.bytes || header.rank > Header::usualRank)
    return false;
  weir_tensor tensor;
  tensor.data = const_cast<unsigned char *>(incoming.inside);
  tensor.bytes = header.bytes;
  tensor.dtype = header.dtype;
  tensor.rank = header.rank;
  for (int d = 0; d < Header::usualRank; ++d)
    tensor.dims[d] = header.dims[d];
  void *woken = nullptr;
  {
    Lock lock(mutex);
    Step *step = findKnownStep(header.step);
    if (!step || !step->run || step->ending || step->dead ||
        !host->deliver_few(step->run, header.index, header.iteration, &tensor, &woken))
      return false;
  }
  // What was woken keeps the run from its end.
  if (woken)
    host->resume(woken);
  return true;
}

/// Makes a message like any other of one whose bytes are inside.
void TaskSet::giveBlock(Incoming *incoming) {
  if (!incoming->isFew)
    return;
  incoming->isFew = false;
  incoming->block = allocate(incoming->header, incoming->bytes);
  incoming->noMemory = !incoming->block;
  if (incoming->block)
    memcpy(incoming->block, incoming->inside, size_t(incoming->bytes));
}

void TaskSet::handleTensor(Incoming *incoming) {
  if (incoming->isFew && deliverFew(*incoming))
    return made.recycle(incoming);
  giveBlock(incoming);
  Step *step;
  {
    Lock lock(mutex);
    step = findStep(incoming->header.step);
    if (!step || step->dead || step->ending || (incoming->noMemory && !step->run)) {
      if (step && !step->dead && !step->problem)
        step->problem = {WEIR_RESOURCE_EXHAUSTED, "no memory for a tensor that another task sent"};
      return drop(incoming);
    }
    if (!enter(*step)) {
      step->early.push_back(incoming);
      return;
    }
  }
  if (incoming->noMemory) {
    host->abort(step->run, WEIR_RESOURCE_EXHAUSTED,
                "no memory for a tensor that another task sent");
  } else {
    weir_tensor tensor = tensorOf(*incoming);
    host->deliver(step->run, incoming->header.index, incoming->header.iteration, &tensor,
                  incoming->bytes);
  }
  leave(*step);
  made.recycle(incoming);
}

void TaskSet::handleRun(const Incoming &incoming) {
  const Header &header = incoming.header;
  std::vector<Incoming *> feeds;
  {
    Lock lock(mutex);
    Peer &peer = peers[size_t(header.task)];
    peer.oldest = std::max(peer.oldest, header.bytes);
    forgetEnded();
    Step *step = findStep(header.step);
    if (!step || step->dead || step->described)
      return;
    bool exists = header.index >= 0 && header.index < theProgram->entry_count;
    if (!exists || header.count != theProgram->entries[header.index].feed_count) {
      step->dead = true; // the program is the same: damage, and no one waits
      return;
    }
    step->described = true;
    step->entry = header.index;
    step->number = header.iteration;
    step->feeds.resize(size_t(header.count));
    for (Incoming *early : step->early)
      if (early->header.kind == Kind::feed)
        feeds.push_back(early);
    std::erase_if(step->early,
                  [](const Incoming *early) { return early->header.kind == Kind::feed; });
    startWhenWhole(*step);
  }
  for (Incoming *feed : feeds)
    handleFeed(feed);
}

void TaskSet::handleFeed(Incoming *incoming) {
  Lock lock(mutex);
  Step *step = findStep(incoming->header.step);
  if (!step || step->dead || step->started)
    return drop(incoming);
  if (!step->described) {
    step->early.push_back(incoming);
    return;
  }
  auto index = size_t(incoming->header.index);
  weir_tensor tensor = tensorOf(*incoming);
  if (index >= step->feeds.size() || step->feeds[index].data)
    return drop(incoming);
  if (incoming->noMemory || !host->unpack(&tensor, incoming->bytes)) {
    step->problem = incoming->noMemory ? Problem{WEIR_RESOURCE_EXHAUSTED, "no memory for a feed"}
                                       : Problem{WEIR_DATA_LOSS, "a feed came damaged"};
    tensor.data = nullptr;
    if (incoming->block)
      host->release(incoming->block);
  }
  step->feeds[index] = tensor;
  ++step->feedsCome;
  delete incoming;
  startWhenWhole(*step);
}

void TaskSet::handleAbort(const Incoming &incoming) {
  Problem problem = {incoming.header.index, textOf(incoming)};
  Step *step;
  {
    Lock lock(mutex);
    step = findStep(incoming.header.step);
    if (!step || step->dead)
      return;
    if (!enter(*step)) {
      step->problem = problem;
      if (!step->started) {
        step->dead = true;
        releaseHeld(*step);
      }
      return;
    }
  }
  host->abort(step->run, problem.code, problem.text.c_str());
  leave(*step);
}

void TaskSet::handleLost(const Incoming &incoming) {
  int32_t lost = incoming.header.index, sender = incoming.header.task;
  if (lost < 0 || size_t(lost) >= peers.size() || lost == own)
    return;
  std::vector<Step *> concerned;
  {
    Lock lock(mutex);
    for (Step &step : steps)
      if (step.key.leader == own && involves(step, lost) && involves(step, sender) && enter(step))
        concerned.push_back(&step);
  }
  std::string text = "task " + peers[size_t(lost)].name + ": task " + peers[size_t(sender)].name +
                     " has lost the connection with it";
  for (Step *step : concerned) {
    host->lost(step->run, lost, text.c_str());
    leave(*step);
  }
}

void TaskSet::handleTaken(const Incoming &incoming) {
  const Header &header = incoming.header;
  Step *step;
  {
    Lock lock(mutex);
    step = findStep(header.step);
    // What comes before its step, or after, waits for no window.
    if (!step || !enter(*step))
      return;
  }
  host->taken(step->run, header.index, header.iteration);
  leave(*step);
}

void TaskSet::handleReleased(const Released &released) {
  Step &step = *released.step;
  // The run lives while it is counted.
  if (released.kind == Kind::tensor)
    host->sent(step.run, released.index);
  step.pending.fetch_sub(1);
}

void TaskSet::forget(const Released &released) { released.step->pending.fetch_sub(1); }

//===----------------------------------------------------------------------===//
// What comes back to the leader
//===----------------------------------------------------------------------===//

static RemotePart *partOf(Step *step, int32_t task) {
  if (step)
    for (RemotePart &part : step->parts)
      if (part.task == task)
        return &part;
  return nullptr;
}

/// Tells the run once all of a part has come. Gives the lock up.
void TaskSet::finishPart(Step &step, RemotePart &part, std::unique_lock<LastingMutex> &lock) {
  if (part.done || part.expected < 0 || (!part.problem && part.fetches < part.expected))
    return;
  part.done = true;
  if (!enter(step))
    return;
  Problem problem = part.problem;
  lock.unlock();
  host->part_done(step.run, problem.code, problem.text.c_str());
  leave(step);
}

void TaskSet::handleDone(const Incoming &incoming) {
  std::unique_lock<LastingMutex> lock(mutex);
  Step *step = findStep(incoming.header.step);
  RemotePart *part = partOf(step, incoming.header.task);
  if (!part || part->expected >= 0)
    return;
  if (incoming.header.iteration > 0 && incoming.header.index == WEIR_OK)
    noteTimes(incoming.header.task, incoming.header.iteration, incoming.header.bytes);
  part->expected = std::max(incoming.header.count, 0);
  if (incoming.header.index != WEIR_OK)
    part->problem = {incoming.header.index, textOf(incoming)};
  finishPart(*step, *part, lock);
}

void TaskSet::handleFetch(Incoming *incoming) {
  std::unique_lock<LastingMutex> lock(mutex);
  Step *step = findStep(incoming->header.step);
  RemotePart *part = partOf(step, incoming->header.task);
  if (!part || !enter(*step))
    return drop(incoming);
  lock.unlock();
  if (incoming->noMemory) {
    host->abort(step->run, WEIR_RESOURCE_EXHAUSTED,
                "no memory for a fetch that another task computed");
  } else {
    weir_tensor tensor = tensorOf(*incoming);
    host->fetched(step->run, incoming->header.index, &tensor, incoming->bytes);
  }
  delete incoming;
  // Counted before anyone can take the step away.
  lock.lock();
  ++part->fetches;
  bool complete = !part->done && part->expected >= 0 && part->fetches >= part->expected;
  part->done |= complete;
  Problem problem = part->problem;
  lock.unlock();
  if (complete)
    host->part_done(step->run, problem.code, problem.text.c_str());
  leave(*step);
}

//===----------------------------------------------------------------------===//
// Running parts
//===----------------------------------------------------------------------===//

/// The lock is held.
void TaskSet::startWhenWhole(Step &step) {
  if (!step.described || step.started || size_t(step.feedsCome) < step.feeds.size())
    return;
  step.started = true;
  queue.push_back(&step);
  serverWanted = true;
  // One thread a step in progress: no step waits for another's end, which may
  // wait for it at a third task.
  if (idleServers < int32_t(queue.size()) && !serversStop)
    servers.emplace_back([this] { servingThread(); });
  changed.notifyAll();
}

void TaskSet::servingThread() {
  std::unique_lock<LastingMutex> lock(mutex);
  for (;;) {
    ++idleServers;
    if (!serverWanted) {
      // The next step is likely to come soon.
      lock.unlock();
      help(
          [](void *self) -> int32_t {
            return static_cast<TaskSet *>(self)->serverWanted.load(std::memory_order_relaxed);
          },
          this, betweenSteps);
      lock.lock();
    }
    changed.wait(mutex, [&] { return serversStop || !queue.empty(); });
    --idleServers;
    if (serversStop)
      return;
    Step *step = queue.front();
    queue.pop_front();
    serverWanted = serversStop || !queue.empty();
    lock.unlock();
    runPart(*step);
    lock.lock();
  }
}

void TaskSet::runPart(Step &step) {
  const weir_entry_desc &entry = theProgram->entries[step.entry];
  std::vector<weir_tensor> fetches(size_t(entry.fetch_count));
  weir_part part = {step.entry, int32_t(step.feeds.size()), step.feeds.data(), step.number, &step};
  weir_status status = WEIR_STATUS_INIT;
  int32_t code = host->run_part(session, &part, fetches.data(), &status);

  Header header = {};
  header.kind = Kind::fetch;
  header.step = step.key;
  int32_t count = 0;
  for (int32_t i = 0; i < entry.fetch_count && code == WEIR_OK; ++i) {
    weir_tensor &fetch = fetches[size_t(i)];
    if (fetch.dtype == WEIR_INVALID)
      continue;
    void *block = fetch.data;
    int64_t bytes = fetch.bytes;
    if (fetch.dtype == WEIR_STRING || fetch.dtype == WEIR_TENSOR) {
      block = host->pack(session, 0, &fetch, &bytes);
      host->release(fetch.data);
      if (!block)
        code = giveStatus(&status, WEIR_RESOURCE_EXHAUSTED,
                          "no memory for fetch \"" + std::string(entry.fetches[i].name) +
                              "\" on its way to the leading task");
    }
    if (!block)
      continue;
    header.index = i;
    describe(header, fetch);
    ucx.send(step.key.leader, header, {block, bytes, Payload::owned, nullptr});
    ++count;
  }
  header.kind = Kind::done;
  header.index = code;
  header.count = count;
  header.rank = 0;
  header.iteration = step.took;
  header.bytes = step.waited;
  auto bytes = int64_t(code ? strlen(status.message) : 0);
  ucx.send(step.key.leader, header, {status.message, bytes, Payload::borrowed, nullptr});

  Lock lock(mutex);
  step.dead = true;
  releaseHeld(step);
}

} // namespace weir::rt::cluster

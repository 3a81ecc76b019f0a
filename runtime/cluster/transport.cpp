//===- transport.cpp - what a session asks of its cluster -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/task_set.h"

#include <algorithm>
#include <string.h>
#include <unistd.h>

namespace weir::rt::cluster {

std::vector<int32_t> TaskSet::tasksOf(int32_t entry) const {
  std::vector<int32_t> tasks;
  for (size_t d = 0; d < taskOfDevice.size(); ++d)
    if (taskOfDevice[d] >= 0 && theProgram->entries[entry].steps[d])
      tasks.push_back(taskOfDevice[d]);
  std::sort(tasks.begin(), tasks.end());
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  return tasks;
}

bool TaskSet::involves(const Step &step, int32_t task) const {
  if (step.key.leader == task)
    return true;
  if (step.entry < 0)
    return false;
  std::vector<int32_t> tasks = tasksOf(step.entry);
  return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

//===----------------------------------------------------------------------===//
// Beginning
//===----------------------------------------------------------------------===//

/// The lock is held.
void TaskSet::findWays(Step &step, const std::vector<int32_t> &tasks) {
  step.ways.assign(peers.size(), nullptr);
  for (int32_t task : tasks)
    step.ways[size_t(task)] = ucx.connectionOf(task);
}

/// Sends bytes of a step's run, which it counts while they are read.
Sent TaskSet::sendFrom(Step &step, int32_t task, const Header &header, const Payload &payload) {
  Connection *way = step.ways[size_t(task)].get();
  if (!way) {
    if (payload.lifetime == Payload::owned)
      release(const_cast<void *>(payload.data));
    return Sent::closed;
  }
  if (payload.lifetime != Payload::kept)
    return way->send(header, payload);
  step.pending.fetch_add(1);
  Sent sent = way->send(header, payload);
  if (sent != Sent::later)
    step.pending.fetch_sub(1);
  return sent;
}

/// False: there is no memory.
bool TaskSet::sendFeed(Step &step, int32_t task, int32_t index, const weir_tensor &feed) {
  Header header = {};
  header.kind = Kind::feed;
  header.step = step.key;
  header.index = index;
  describe(header, feed);
  Payload payload = {feed.data, feed.bytes, Payload::kept, &step};
  if (feed.dtype == WEIR_STRING || feed.dtype == WEIR_TENSOR) {
    payload.lifetime = Payload::owned;
    payload.data = host->pack(session, 0, &feed, &payload.bytes);
    if (!payload.data)
      return false;
  }
  sendFrom(step, task, header, payload);
  return true;
}

int32_t TaskSet::lead(weir_run *run, const std::vector<int32_t> &tasks, int32_t entry,
                      int64_t number, const weir_tensor *feeds, int32_t feedCount, Step **handle,
                      weir_status *status) {
  if (Problem problem = waitFor(tasks))
    return giveStatus(status, problem.code, problem.text);
  Step *step;
  int64_t oldest;
  {
    Lock lock(mutex);
    for (int32_t task : tasks)
      if (peers[size_t(task)].state != Peer::here)
        return giveStatus(status, WEIR_UNAVAILABLE, describeAbsence(peers[size_t(task)]));
    // Told once: who runs a step then knows it.
    Problem problem = checkVariables(tasks);
    takeAsKnown(tasks);
    if (problem)
      return giveStatus(status, problem.code, problem.text);
    step = &steps.emplace_back();
    step->key = {incarnation, nextNumber++, own};
    step->entry = entry;
    step->run = run;
    step->began = table.times ? nowNs() : 0;
    for (int32_t task : tasks)
      step->parts.emplace_back().task = task;
    findWays(*step, tasks);
    oldest = oldestLed();
  }
  for (int32_t task : tasks) {
    Header header = {};
    header.kind = Kind::run;
    header.step = step->key;
    header.index = entry;
    header.count = feedCount;
    header.iteration = number;
    header.bytes = oldest;
    ucx.send(task, header);
    for (int32_t i = 0; i < feedCount; ++i)
      if (!sendFeed(*step, task, i, feeds[i])) {
        runs.fetch_add(1);
        end(step, WEIR_RESOURCE_EXHAUSTED, "no memory for a feed");
        return giveStatus(status, WEIR_RESOURCE_EXHAUSTED,
                          "no memory for feed \"" +
                              std::string(theProgram->entries[entry].feeds[i].name) +
                              "\" on its way to another task");
      }
  }
  *handle = step;
  runs.fetch_add(1);
  return WEIR_OK;
}

int32_t TaskSet::begin(weir_run *run, Step *part, int32_t entry, int64_t number,
                       const weir_tensor *feeds, int32_t feedCount, int32_t *parts, Step **handle,
                       weir_status *status) {
  std::vector<int32_t> tasks = tasksOf(entry);
  if (!part) {
    *parts = int32_t(tasks.size());
    *handle = nullptr;
    return tasks.empty() ? WEIR_OK
                         : lead(run, tasks, entry, number, feeds, feedCount, handle, status);
  }
  *parts = 0;
  *handle = part;
  if (Problem problem = waitFor(tasks))
    return giveStatus(status, problem.code, problem.text);
  std::vector<Incoming *> early;
  {
    Lock lock(mutex);
    if (part->problem)
      return giveStatus(status, part->problem.code, part->problem.text);
    if (serversStop)
      return giveStatus(status, WEIR_UNAVAILABLE, "the session of this task ends");
    findWays(*part, tasks);
    part->run = run;
    part->began = table.times ? nowNs() : 0;
    ++part->users;
    early.swap(part->early);
  }
  for (Incoming *incoming : early) {
    weir_tensor tensor = tensorOf(*incoming);
    host->deliver(run, incoming->header.index, incoming->header.iteration, &tensor,
                  incoming->bytes);
    delete incoming;
  }
  leave(*part);
  runs.fetch_add(1);
  return WEIR_OK;
}

//===----------------------------------------------------------------------===//
// In between, and the end
//===----------------------------------------------------------------------===//

int32_t TaskSet::send(Step *step, int32_t edge, int64_t iteration, const weir_tensor *tensor,
                      void *data, int64_t bytes, Payload::Lifetime lifetime, weir_status *status) {
  int32_t task = taskOfDevice[size_t(theProgram->edges[edge].destination)];
  if (Connection *way = step->ways[size_t(task)].get())
    if (lifetime == Payload::borrowed && bytes == tensor->bytes &&
        way->sendShort(step->key, edge, iteration, *tensor))
      return WEIR_OK;
  Header header = Header::of(Kind::tensor);
  header.step = step->key;
  header.index = edge;
  header.iteration = iteration;
  describe(header, *tensor);
  Payload payload = {data, bytes, lifetime, step};
  switch (sendFrom(*step, task, header, payload)) {
  case Sent::already:
    if (lifetime == Payload::kept)
      host->sent(step->run, edge);
    [[fallthrough]];
  case Sent::later:
    return WEIR_OK;
  case Sent::closed:
    break;
  }
  Lock lock(mutex);
  return giveStatus(status, WEIR_UNAVAILABLE, describeAbsence(peers[size_t(task)]));
}

void TaskSet::tellTaken(const Step &step, int32_t edge, int64_t count) {
  int32_t task = taskOfDevice[size_t(theProgram->edges[edge].source)];
  Header header = Header::of(Kind::taken);
  header.step = step.key;
  header.index = edge;
  header.iteration = count;
  if (Connection *way = step.ways[size_t(task)].get())
    way->send(header);
}

void TaskSet::end(Step *step, int32_t code, const char *text) {
  std::vector<int32_t> aborted;
  {
    std::unique_lock<LastingMutex> lock(mutex);
    step->ending = true;
    changed.wait(mutex, [&] { return step->users == 0; });
    for (const RemotePart &part : step->parts)
      if (!part.done && peers[size_t(part.task)].state == Peer::here)
        aborted.push_back(part.task);
  }
  for (int32_t task : aborted) {
    Header header = {};
    header.kind = Kind::abort;
    header.step = step->key;
    header.index = code ? code : int32_t(WEIR_ABORTED);
    ucx.send(task, header, {text, int64_t(strlen(text)), Payload::borrowed, nullptr});
  }
  // What is being sent reads the run's memory. It goes on, or ends with its
  // connection.
  auto isRead = [](void *step) -> int32_t {
    return static_cast<Step *>(step)->pending.load() == 0;
  };
  while (!isRead(step)) {
    help(isRead, step, inSteps);
    if (!isRead(step))
      usleep(50);
  }
  runs.fetch_sub(1);
  Lock lock(mutex);
  // Who leads it is told of the loss. A step that has come to its end goes on with what is gone.
  if (step->key.leader == own && code == WEIR_UNAVAILABLE)
    for (const RemotePart &part : step->parts)
      if (Peer &peer = peers[size_t(part.task)];
          peer.state != Peer::here || peer.known != peer.incarnation)
        peer.known = 0;
  if (step->began) {
    step->took = nowNs() - step->began;
    step->waited = host->waited(step->run);
    if (step->key.leader == own && code == WEIR_OK)
      noteTimes(own, step->took, step->waited);
  }
  step->run = nullptr;
  step->ways.clear();
  if (step->key.leader == own)
    removeStep(step);
}

} // namespace weir::rt::cluster

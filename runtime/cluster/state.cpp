//===- state.cpp - checkpoints of all tasks ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who leads asks all others at once, and is told when the last one has answered. Requests go the
// way of steps: what a task saves is what the steps before have left.
//
//===----------------------------------------------------------------------===//

#include "cluster/task_set.h"

#include <algorithm>
#include <string.h>

namespace weir::rt::cluster {

int32_t TaskSet::askForState(const weir_state_request &request, weir_run_done done, void *user,
                             int32_t *ownNumber, weir_status *status) {
  *ownNumber = own;
  std::vector<int32_t> tasks;
  for (int32_t task : taskOfDevice)
    if (task >= 0 && std::find(tasks.begin(), tasks.end(), task) == tasks.end() &&
        hasVariables(task))
      tasks.push_back(task);
  if (Problem problem = waitFor(tasks))
    return giveStatus(status, problem.code, problem.text);
  int64_t number;
  {
    Lock lock(mutex);
    for (int32_t task : tasks)
      if (peers[size_t(task)].state != Peer::here)
        return giveStatus(status, WEIR_UNAVAILABLE, describeAbsence(peers[size_t(task)]));
    // Initial values must not be saved as what the steps have left: the next step is told, too,
    // since it would begin with them. Where others' steps go on it is told once, of either.
    bool restores = request.what == WEIR_STATE_RESTORE;
    Problem problem = restores ? Problem() : checkVariables(tasks);
    if (request.what == WEIR_STATE_SAVE_RUNNING)
      takeAsKnown(tasks);
    if (problem)
      return giveStatus(status, problem.code, problem.text);
    number = nextNumber++;
    if (!tasks.empty())
      requests.push_back({number, restores, tasks, {}, done, user});
  }
  if (tasks.empty()) {
    weir_status good = WEIR_STATUS_INIT;
    done(user, &good);
  }
  Header header = Header::of(Kind::state);
  header.index = request.what;
  header.count = request.partial;
  header.iteration = number;
  auto bytes = int64_t(strlen(request.prefix));
  for (int32_t task : tasks)
    if (ucx.send(task, header, {request.prefix, bytes, Payload::borrowed, nullptr}) == Sent::closed)
      settleState(task, number, {WEIR_UNAVAILABLE, "the connection was lost"});
  return giveStatus(status, WEIR_OK, "");
}

void TaskSet::settleState(int32_t task, int64_t number, const Problem &problem) {
  std::vector<StateRequest> ended;
  {
    Lock lock(mutex);
    for (auto at = requests.begin(); at != requests.end();) {
      StateRequest &request = *at;
      auto found = std::find(request.waiting.begin(), request.waiting.end(), task);
      if (found == request.waiting.end() || (number >= 0 && number != request.number)) {
        ++at;
        continue;
      }
      request.waiting.erase(found);
      if (request.restores && !problem)
        takeAsKnown({task});
      if (!problem)
        peers[size_t(task)].isInitial = false;
      if (problem && !request.problem)
        request.problem = {problem.code, "task " + peers[size_t(task)].name + ": " + problem.text};
      if (request.waiting.empty()) {
        ended.push_back(request);
        at = requests.erase(at);
      } else {
        ++at;
      }
    }
  }
  for (const StateRequest &request : ended) {
    weir_status status = WEIR_STATUS_INIT;
    giveStatus(&status, request.problem.code, request.problem.text);
    request.done(request.user, &status);
  }
}

void TaskSet::handleAnswered(const Incoming &incoming) {
  Problem problem;
  if (incoming.header.index != WEIR_OK)
    problem = {incoming.header.index, textOf(incoming)};
  if (incoming.header.iteration >= 0)
    settleState(incoming.header.task, incoming.header.iteration, problem);
}

namespace {

/// Whom an answer goes to.
struct Asked {
  UcxTransport &ucx;
  int32_t task;
  int64_t number;

  static void done(void *self, const weir_status *status) {
    auto *asked = static_cast<Asked *>(self);
    Header header = Header::of(Kind::answered);
    header.index = status->code;
    header.iteration = asked->number;
    auto bytes = int64_t(status->code ? strlen(status->message) : 0);
    asked->ucx.send(asked->task, header, {status->message, bytes, Payload::borrowed, nullptr});
    delete asked;
  }
};

} // namespace

void TaskSet::handleState(const Incoming &incoming) {
  std::string prefix = textOf(incoming);
  const Header &header = incoming.header;
  weir_state_request request = {header.index, header.count, own, prefix.c_str()};
  auto *asked = new Asked{ucx, header.task, header.iteration};
  weir_status status = WEIR_STATUS_INIT;
  if (incoming.noMemory)
    giveStatus(&status, WEIR_RESOURCE_EXHAUSTED, "no memory for a checkpoint's name");
  else if (request.what < WEIR_STATE_SAVE || request.what > WEIR_STATE_SAVE_RUNNING)
    giveStatus(&status, WEIR_UNIMPLEMENTED, "it does not know what it is asked for");
  else {
    initial = false;
    host->state_part(session, &request, Asked::done, asked, &status);
  }
  if (status.code)
    Asked::done(asked, &status);
}

} // namespace weir::rt::cluster

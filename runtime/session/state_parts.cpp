//===- state_parts.cpp - checkpoints that several tasks write ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/state_parts.h"

#include "session/async.h"

#include <new>
#include <stdlib.h>
#include <time.h>

namespace weir::rt {

namespace {

/// What a task's part is called until all are there; with a final zero.
void writePartName(HeapText &out, const char *prefix, int32_t task) {
  char number[16];
  Text(number, sizeof(number)) << task;
  out.clear();
  out << prefix << ".task-" << number << '\0';
}

weir_string viewOf(const HeapText &name) { return {name.data(), name.size() - 1}; }

void removePart(const char *prefix, int32_t task) {
  HeapText name, shard;
  writePartName(name, prefix, task);
  if (name.failed())
    return;
  removeIndex(viewOf(name), nullptr);
  writeShardName(shard, viewOf(name), 0, 1);
  if (!shard.failed())
    unlink(shard.data());
}

/// Which of this process' variables a checkpoint takes, and which it gives, by slot. False: no
/// memory.
bool chooseOwn(const weir_session *session, bool saves, HeapList<uint8_t> &slots) {
  const weir_program_desc *program = session->program;
  if (saves && !chooseWritten(program, slots))
    return false;
  for (int32_t i = 0; i < program->slot_count; ++i) {
    bool isHere = isLocal(session, deviceOf(program->slots[i]));
    if (saves)
      slots[i] = slots[i] && isHere;
    else
      slots.push(isHere);
  }
  return !slots.failed();
}

int32_t refuseRuns(const weir_session *session, weir_status *status) {
  if (session->activeRuns.load(std::memory_order_acquire) == 0)
    return WEIR_OK;
  StatusText(status, WEIR_FAILED_PRECONDITION)
      << "variables of several tasks are saved between runs, and one is in progress";
  return WEIR_FAILED_PRECONDITION;
}

/// Parts of runs that have failed elsewhere may still be ending here, and assign.
int32_t waitForRuns(const weir_session *session, weir_status *status) {
  constexpr int64_t patience = 60000000000;
  for (int64_t give = now() + patience; session->activeRuns.load(std::memory_order_acquire) > 0;) {
    if (now() > give)
      return refuseRuns(session, status);
    timespec pause = {0, 500000};
    nanosleep(&pause, nullptr);
  }
  return WEIR_OK;
}

int32_t restoreOwn(weir_session *session, const char *prefix, bool partial, weir_status *status) {
  HeapList<uint8_t> slots;
  if (int32_t code = waitForRuns(session, status))
    return code;
  return chooseOwn(session, /*saves=*/false, slots)
             ? restoreValues(session, prefix, &slots, partial, /*withStates=*/false, status)
             : refuseMemory(status, "a checkpoint");
}

} // namespace

static int32_t refuseRelease(const char *function, weir_status *status) {
  StatusText(status, WEIR_UNIMPLEMENTED)
      << function
      << ": the program, or the transport, is of a release whose tasks do not save together";
  return WEIR_UNIMPLEMENTED;
}

/// Objects of older releases do not say which device has a variable.
static int32_t checkPlaces(const weir_session *session, const char *function, weir_status *status) {
  for (int32_t i = 0; i < session->program->slot_count; ++i)
    if (deviceOf(session->program->slots[i]) < 0)
      return refuseRelease(function, status);
  return WEIR_OK;
}

int32_t checkSharing(const weir_session *session, const char *function, weir_status *status) {
  const weir_transport *transport = session->transport;
  constexpr size_t end = offsetof(weir_transport, state) + sizeof(transport->state);
  bool isSaid = transport->size >= end && transport->state;
  return isSaid ? checkPlaces(session, function, status) : refuseRelease(function, status);
}

SharedState::~SharedState() { waitForOthers(nullptr); }

void SharedState::answered(void *self, const weir_status *status) {
  auto *state = static_cast<SharedState *>(self);
  Lock lock(state->mutex);
  state->result = *status;
  state->isOver = true;
  state->changed.notifyAll();
}

int32_t SharedState::ask(weir_session *session, int32_t what, const char *prefix, bool partial,
                         weir_status *status) {
  const weir_transport *transport = session->transport;
  weir_state_request request = {what, partial, 0, prefix};
  {
    Lock lock(mutex);
    isAsked = true;
    isOver = false;
  }
  int32_t code = transport->state(transport->self, &request, answered, this, &own, status);
  Lock lock(mutex);
  isAsked = code == WEIR_OK;
  return code;
}

int32_t SharedState::waitForOthers(weir_status *status) {
  Lock lock(mutex);
  if (!isAsked)
    return WEIR_OK;
  changed.wait(mutex, [&] { return isOver; });
  isAsked = false;
  if (result.code)
    StatusText(status, result.code) << result.message;
  return result.code;
}

int32_t SharedState::beginSave(weir_session *session, Snapshot &snapshot, const char *prefix,
                               bool partial, bool whileRunning, weir_status *status) {
  HeapList<uint8_t> slots;
  if (int32_t code = whileRunning ? int32_t(WEIR_OK) : refuseRuns(session, status))
    return code;
  if (!chooseOwn(session, /*saves=*/true, slots) || !snapshot.take(&slots, !whileRunning))
    return refuseMemory(status, "a checkpoint");
  return ask(session, whileRunning ? WEIR_STATE_SAVE_RUNNING : WEIR_STATE_SAVE, prefix, partial,
             status);
}

int32_t SharedState::finishSave(weir_session *session, const Snapshot &snapshot, const char *prefix,
                                bool partial, weir_status *status) {
  HeapText name;
  writePartName(name, prefix, own);
  int32_t code = name.failed() ? refuseMemory(status, "a checkpoint") : int32_t(WEIR_OK);
  // A program without variables has an empty checkpoint.
  bool ownPart = !snapshot.isEmpty() || session->program->slot_count == 0;
  if (!code && ownPart)
    code = snapshot.write(name.data(), partial, status);
  int32_t others = waitForOthers(code ? nullptr : status);
  code = code ? code : others;
  return code ? code : publish(session, ownPart, prefix, status);
}

/// Makes one checkpoint of the parts; on failure they are gone.
int32_t SharedState::publish(weir_session *session, bool ownPart, const char *prefix,
                             weir_status *status) {
  const weir_program_desc *program = session->program;
  HeapList<uint8_t> written;
  HeapList<int32_t> tasks;
  HeapText names; // with a zero behind each
  HeapList<weir_string> parts;
  bool isGood = chooseWritten(program, written);
  if (ownPart)
    tasks.push(own);
  for (int32_t i = 0; isGood && i < program->slot_count; ++i) {
    int32_t task = session->tasks[deviceOf(program->slots[i])];
    bool isNew = written[i] && task >= 0;
    for (int64_t t = 0; isNew && t < tasks.size(); ++t)
      isNew = tasks[t] != task;
    if (isNew)
      tasks.push(task);
  }
  HeapText name;
  for (int64_t t = 0; t < tasks.size(); ++t) {
    writePartName(name, prefix, tasks[t]);
    names << name.view();
  }
  if (!isGood || tasks.failed() || name.failed() || names.failed())
    return refuseMemory(status, "a checkpoint");
  int32_t code = WEIR_OK;
  const char *at = names.data();
  for (int64_t t = 0; t < tasks.size() && !code; ++t) {
    parts.push({at, int64_t(strlen(at))});
    at += strlen(at) + 1;
    if (!BundleReader::exists({parts[t].data, parts[t].size})) {
      StatusText(status, WEIR_FAILED_PRECONDITION)
          << "task " << tasks[t] << " has written its part of checkpoint \"" << prefix
          << "\" where this process does not find it; possible: a folder that all tasks share";
      code = WEIR_FAILED_PRECONDITION;
    }
  }
  if (!code) {
    Lock lock(session->saving);
    code = parts.failed() ? refuseMemory(status, "a checkpoint")
                          : mergeBundles(parts.data(), parts.size(),
                                         {prefix, int64_t(strlen(prefix))}, false, status);
  }
  for (int64_t t = 0; code && t < tasks.size(); ++t)
    removePart(prefix, tasks[t]);
  return code;
}

int32_t SharedState::restore(weir_session *session, const char *prefix, bool partial,
                             weir_status *status) {
  if (int32_t code = ask(session, WEIR_STATE_RESTORE, prefix, partial, status))
    return code;
  int32_t code = restoreOwn(session, prefix, partial, status);
  int32_t others = waitForOthers(code ? nullptr : status);
  return code ? code : others;
}

//===----------------------------------------------------------------------===//
// What another task leads
//===----------------------------------------------------------------------===//

namespace {

struct Part : AsyncWork {
  explicit Part(weir_session *session) : session(session), snapshot(session) {}

  weir_session *const session;
  Snapshot snapshot;
  weir_state_request request;
  HeapText prefix; ///< of the checkpoint; with a final zero
  weir_run_done done;
  void *self;

  int32_t finish(weir_status *status) {
    if (request.what == WEIR_STATE_RESTORE)
      return restoreOwn(session, prefix.data(), request.partial, status);
    HeapText name;
    writePartName(name, prefix.data(), request.task);
    if (name.failed() || !snapshot.takeStates())
      return refuseMemory(status, "a checkpoint");
    if (snapshot.isEmpty())
      return setStatus(status, WEIR_OK);
    int32_t code = snapshot.write(name.data(), request.partial, status);
    return code ? code : setStatus(status, WEIR_OK);
  }
};

} // namespace

int32_t restoreOwnPart(weir_session *session, const char *prefix, weir_status *status) {
  if (int32_t code = refuseFrozen(session, /*partial=*/false, status))
    return code;
  if (session->tasks)
    if (int32_t code = checkPlaces(session, "weir_session_options::restore", status))
      return code;
  return restoreOwn(session, prefix, /*partial=*/false, status);
}

int32_t runStatePart(weir_session *session, const weir_state_request *request, weir_run_done done,
                     void *self, weir_status *status) {
  void *memory = malloc(sizeof(Part));
  if (!memory)
    return refuseMemory(status, "a part of a checkpoint");
  auto *part = new (memory) Part(session);
  part->perform = finishAndTell<Part>;
  part->request = *request;
  part->prefix << request->prefix << '\0';
  part->done = done;
  part->self = self;
  bool saves = request->what != WEIR_STATE_RESTORE;
  HeapList<uint8_t> slots;
  int32_t code = request->what == WEIR_STATE_SAVE ? refuseRuns(session, status) : int32_t(WEIR_OK);
  // Where runs go on, iterators are ahead of what the variables have of their elements.
  bool withStates = request->what == WEIR_STATE_SAVE;
  if (!code && saves &&
      (!chooseOwn(session, saves, slots) || !part->snapshot.take(&slots, withStates)))
    code = refuseMemory(status, "a part of a checkpoint");
  if (!code)
    code = part->prefix.failed() ? refuseMemory(status, "a part of a checkpoint")
                                 : startWork(session, part, status);
  if (code) {
    part->~Part();
    free(part);
  }
  return code;
}

} // namespace weir::rt

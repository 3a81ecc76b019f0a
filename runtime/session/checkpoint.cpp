//===- checkpoint.cpp - a session's variables in files --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a program over several tasks either the task that has the first replica writes and reads all
// variables, or every task its own: the leader has the others write a part each, a bundle of its
// own beside the checkpoint's place, and makes one of all once they are on the disk. What is
// there under the checkpoint's name is whole at each moment.
//
//===----------------------------------------------------------------------===//

#include "checkpoint/state_file.h"
#include "session/async.h"
#include "session/handles.h"
#include "session/snapshot.h"
#include "session/state_parts.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

namespace {

weir_checkpoint_options optionsOf(const weir_checkpoint_options *options) {
  weir_checkpoint_options full = WEIR_CHECKPOINT_OPTIONS_INIT;
  if (options)
    memcpy(&full, options, options->size < sizeof(full) ? options->size : sizeof(full));
  return full;
}

/// `isShared`: each task is to write and read its own.
int32_t refuse(weir_status *status, const char *function, weir_session *session, const char *prefix,
               const weir_checkpoint_options *options, bool *isShared) {
  if (int32_t code = checkSession(session, function, status))
    return code;
  if (!prefix)
    return refuseNull(status, function, "prefix");
  // Files without a name would be hidden ones.
  if (size_t length = strlen(prefix); length == 0 || prefix[length - 1] == '/') {
    StatusText(status, WEIR_INVALID_ARGUMENT)
        << function << ": expected a folder and a name, as in models/step, got \"" << prefix
        << "\"";
    return WEIR_INVALID_ARGUMENT;
  }
  if (options && options->size < 2 * sizeof(uint32_t)) {
    StatusText(status, WEIR_INVALID_ARGUMENT)
        << function << ": found options without size (see WEIR_CHECKPOINT_OPTIONS_INIT)";
    return WEIR_INVALID_ARGUMENT;
  }
  if (int32_t code = refuseFrozen(session, optionsOf(options).partial, status))
    return code;
  *isShared = false;
  if (!session->transport)
    return WEIR_OK;
  const weir_program_desc *program = session->program;
  int32_t device = stateDevice(program);
  *isShared = optionsOf(options).by_task || device < 0;
  if (*isShared)
    return checkSharing(session, function, status);
  if (isLocal(session, device))
    return WEIR_OK;
  StatusText(status, WEIR_UNIMPLEMENTED)
      << function
      << ": variables of this program's replicas are saved and restored by the task that has "
         "device "
      << program->devices[device].name << ", or by all (weir_checkpoint_options::by_task)";
  return WEIR_UNIMPLEMENTED;
}

/// Has the folder's list name a checkpoint that was just written.
int32_t keep(weir_session *session, const char *prefix, const weir_checkpoint_options &options,
             weir_status *status) {
  Lock lock(session->saving);
  int32_t code = options.keep > 0
                     ? keepCheckpoints({prefix, int64_t(strlen(prefix))}, options.keep, status)
                     : int32_t(WEIR_OK);
  return code ? code : setStatus(status, WEIR_OK);
}

/// A checkpoint on its way.
struct Save : AsyncWork {
  explicit Save(weir_session *session) : session(session), snapshot(session) {}

  weir_session *const session;
  Snapshot snapshot;
  SharedState shared; ///< of all tasks; else not begun
  bool isShared = false;
  weir_checkpoint_options options;
  HeapText prefix; ///< with a final zero
  weir_run_done done = nullptr;
  void *self = nullptr;

  /// What is saved is what is there now.
  int32_t begin(const char *given, weir_status *status) {
    prefix << given << '\0';
    if (prefix.failed())
      return refuseMemory(status, "a checkpoint");
    if (isShared)
      return shared.beginSave(session, snapshot, given, options.partial, options.while_running,
                              status);
    return snapshot.take() ? int32_t(WEIR_OK) : refuseMemory(status, "a checkpoint");
  }
  int32_t finish(weir_status *status) {
    if (!snapshot.takeStates())
      return refuseMemory(status, "a checkpoint");
    int32_t code =
        isShared ? shared.finishSave(session, snapshot, prefix.data(), options.partial, status)
                 : snapshot.write(prefix.data(), options.partial, status);
    return code ? code : keep(session, prefix.data(), options, status);
  }
};

} // namespace

} // namespace weir::rt

using namespace weir::rt;

int32_t weir_session_save(weir_session *session, const char *prefix,
                          const weir_checkpoint_options *options, weir_status *status) {
  bool isShared;
  if (int32_t code = refuse(status, "weir_session_save", session, prefix, options, &isShared))
    return code;
  Save save(session);
  save.isShared = isShared;
  save.options = optionsOf(options);
  int32_t code = save.begin(prefix, status);
  return code ? code : save.finish(status);
}

int32_t weir_session_save_async(weir_session *session, const char *prefix,
                                const weir_checkpoint_options *options, weir_run_done done,
                                void *self, weir_status *status) {
  bool isShared;
  if (int32_t code = refuse(status, "weir_session_save_async", session, prefix, options, &isShared))
    return code;
  if (!done)
    return refuseNull(status, "weir_session_save_async", "done");
  void *memory = malloc(sizeof(Save));
  if (!memory)
    return refuseMemory(status, "a checkpoint");
  auto *save = new (memory) Save(session);
  save->perform = finishAndTell<Save>;
  save->isShared = isShared;
  save->options = optionsOf(options);
  save->done = done;
  save->self = self;
  int32_t code = save->begin(prefix, status);
  if (!code)
    code = startWork(session, save, status);
  if (code) {
    save->~Save();
    free(save);
  }
  return code;
}

int32_t weir_session_restore(weir_session *session, const char *prefix,
                             const weir_checkpoint_options *options, weir_status *status) {
  bool isShared;
  if (int32_t code = refuse(status, "weir_session_restore", session, prefix, options, &isShared))
    return code;
  weir_checkpoint_options given = optionsOf(options);
  if (isShared) {
    SharedState shared;
    return shared.restore(session, prefix, given.partial, status);
  }
  if (!session->transport)
    return restoreValues(session, prefix, nullptr, given.partial, /*withStates=*/true, status);
  // Other tasks' copies follow by an entry of the program.
  HeapList<uint8_t> own;
  for (int32_t i = 0; i < session->program->slot_count; ++i)
    own.push(!isCopy(session->program->slots[i]));
  return own.failed()
             ? refuseMemory(status, "a checkpoint")
             : restoreValues(session, prefix, &own, given.partial, /*withStates=*/false, status);
}

int32_t weir_latest_checkpoint(const char *folder, char *prefix, int64_t capacity,
                               weir_status *status) {
  if (!folder || (!prefix && capacity > 0))
    return refuseNull(status, "weir_latest_checkpoint", folder ? "prefix" : "folder");
  CheckpointState state;
  weir_string view{folder, int64_t(strlen(folder))};
  if (int32_t code = readState(view, &state, status))
    return code;
  HeapText path;
  if (state.latest.size() > 0 && state.latest[0] != '/' && view.size > 0)
    path << view << (folder[view.size - 1] == '/' ? "" : "/");
  path << state.latest.view() << '\0';
  if (path.failed())
    return refuseMemory(status, "a checkpoint");
  if (state.latest.size() == 0) {
    StatusText(status, WEIR_NOT_FOUND) << "folder \"" << folder << "\" has no checkpoint";
    return WEIR_NOT_FOUND;
  }
  if (path.size() > capacity) {
    StatusText(status, WEIR_OUT_OF_RANGE)
        << "the prefix takes " << path.size() << " bytes with its final zero";
    return WEIR_OUT_OF_RANGE;
  }
  memcpy(prefix, path.data(), size_t(path.size()));
  return setStatus(status, WEIR_OK);
}

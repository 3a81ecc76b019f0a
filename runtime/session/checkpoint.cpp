//===- checkpoint.cpp - a session's variables in files --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of variables never change: a snapshot is a reference to each, taken under the
// session's lock, and runs go on while it is written. What is restored is read whole before
// any variable gets its new value.
//
// Where iterators stand, and random operations in functions of data sets, is written down when
// the snapshot is taken (ResourceStates), and is a string in the checkpoint, under the
// resource's name with ".state/" before it.
//
//===----------------------------------------------------------------------===//

#include "checkpoint/object_graph.h"
#include "checkpoint/slices_file.h"
#include "checkpoint/state_file.h"
#include "session/async.h"
#include "session/handles.h"
#include "session/resources.h"
#include "session/session.h"

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

int32_t refuse(weir_status *status, const char *function, weir_session *session, const char *prefix,
               const weir_checkpoint_options *options) {
  if (int32_t code = checkSession(session, function, status))
    return code;
  if (!prefix)
    return refuseNull(status, function, "prefix");
  if (options && options->size < 2 * sizeof(uint32_t)) {
    StatusText(status, WEIR_INVALID_ARGUMENT)
        << function << ": found options without size (see WEIR_CHECKPOINT_OPTIONS_INIT)";
    return WEIR_INVALID_ARGUMENT;
  }
  const weir_program_desc *program = session->program;
  int32_t device = stateDevice(program);
  if (!session->transport || (device >= 0 && isLocal(session, device)))
    return WEIR_OK;
  StatusText out(status, WEIR_UNIMPLEMENTED);
  out << function << ": variables of ";
  if (device >= 0)
    out << "this program's replicas are saved and restored by the task that has device "
        << program->devices[device].name;
  else
    out << "a program over several tasks are saved and restored by its entries alone";
  return WEIR_UNIMPLEMENTED;
}

bool isCopy(const weir_slot_desc &slot) { return slot.flags & WEIR_SLOT_COPY; }

/// What a variable is called in a checkpoint: its name; where several have that, with
/// the container before it. A replica's copy is called as what it is one of.
void writeKey(HeapText &key, const weir_program_desc *program, int32_t slot) {
  const weir_slot_desc &desc = program->slots[slot];
  bool isUnique = true;
  for (int32_t i = 0; i < program->slot_count && isUnique; ++i)
    isUnique = i == slot || isCopy(program->slots[i]) || isCopy(desc) ||
               strcmp(program->slots[i].name, desc.name) != 0;
  key.clear();
  if (!isUnique && *desc.container)
    key << desc.container << '/';
  key << desc.name;
}

constexpr weir_string statePrefix = {".state/", 7};

/// References to values, by slot, and states of what is no variable.
class Snapshot {
public:
  explicit Snapshot(weir_session *session) : session(session) {}
  ~Snapshot() {
    for (int64_t i = 0; i < values.size(); ++i)
      releaseValue(values[i]);
  }
  Snapshot(const Snapshot &) = delete;
  Snapshot &operator=(const Snapshot &) = delete;

  /// The values of this moment. False: no memory.
  bool take() {
    int32_t count = session->program->slot_count;
    if (!values.reserve(count) || !resources.pause(session))
      return false;
    {
      Lock lock(session->mutex);
      for (int32_t i = 0; i < count; ++i) {
        VariableValue *value = session->slots[i];
        if (value && value->memory)
          value->references.fetch_add(1, std::memory_order_relaxed);
        values.push(value);
      }
    }
    return resources.write(session);
  }
  int32_t write(const char *prefix, const weir_checkpoint_options &options,
                weir_status *status) const;

private:
  int32_t add(BundleWriter &writer, int32_t slot, weir_status *status) const;
  int32_t addStates(BundleWriter &writer, weir_status *status) const;

  weir_session *const session;
  HeapList<VariableValue *> values; ///< null: never assigned
  ResourceStates resources;
};

int32_t Snapshot::addStates(BundleWriter &writer, weir_status *status) const {
  StateReader in(resources.states.view());
  int32_t code = WEIR_OK;
  while (!code && !in.isAtEnd()) {
    weir_string name = in.text(), state = in.text();
    HeapText key;
    key << statePrefix << name;
    code = key.failed()
               ? refuseMemory(status, "a checkpoint")
               : writer.add(key.view(), storedTypeOf(WEIR_STRING), StoredShape(), &state, status);
  }
  return code;
}

int32_t Snapshot::add(BundleWriter &writer, int32_t slot, weir_status *status) const {
  const VariableValue &value = *values[slot];
  const char *name = session->program->slots[slot].name;
  int32_t type = storedTypeOf(value.tensor.dtype);
  if (!type) {
    StatusText(status, WEIR_UNIMPLEMENTED)
        << "variable \"" << name << "\" is of type " << weir_dtype_name(value.tensor.dtype)
        << ", which checkpoints do not have";
    return WEIR_UNIMPLEMENTED;
  }
  StoredShape shape;
  shape.rank = value.tensor.rank;
  memcpy(shape.dims, value.tensor.dims, size_t(shape.rank) * sizeof(int64_t));
  HeapText key;
  HeapList<char> copy;
  writeKey(key, session->program, slot);
  const void *data = value.tensor.data;
  if (value.home) {
    if (!copy.reserve(value.tensor.bytes))
      return refuseMemory(status, "a checkpoint");
    if (int32_t code = value.home->desc->driver->readValue(&value, copy.data(), name, status))
      return code;
    data = copy.data();
  }
  return key.failed() ? refuseMemory(status, "a checkpoint")
                      : writer.add(key.view(), type, shape, data, status);
}

int32_t Snapshot::write(const char *prefix, const weir_checkpoint_options &options,
                        weir_status *status) const {
  // Two of one session at a time would be in each other's way under one prefix.
  Lock lock(session->saving);
  weir_string name{prefix, int64_t(strlen(prefix))};
  BundleWriter writer;
  int32_t code = writer.open(name, status);
  for (int32_t i = 0; i < session->program->slot_count && !code; ++i)
    if (isCopy(session->program->slots[i])) {
      continue;
    } else if (values[i]) {
      code = add(writer, i, status);
    } else if (!options.partial) {
      StatusText(status, WEIR_FAILED_PRECONDITION)
          << "variable \"" << session->program->slots[i].name << "\" was never assigned";
      code = WEIR_FAILED_PRECONDITION;
    }
  if (!code)
    code = addStates(writer, status);
  if (!code)
    code = writer.finish(status);
  if (!code && options.keep > 0)
    code = keepCheckpoints(name, options.keep, status);
  return code ? code : setStatus(status, WEIR_OK);
}

/// A checkpoint that is written by a thread of the session.
struct AsyncSave : AsyncWork {
  AsyncSave(weir_session *session) : snapshot(session) {}

  Snapshot snapshot;
  weir_checkpoint_options options;
  HeapText prefix;
  weir_run_done done;
  void *self;
};

void performSave(AsyncWork *work) {
  auto *save = static_cast<AsyncSave *>(work);
  weir_status status = WEIR_STATUS_INIT;
  save->snapshot.write(save->prefix.data(), save->options, &status);
  weir_run_done done = save->done;
  void *self = save->self;
  // The values go before the caller may destroy the session.
  save->~AsyncSave();
  free(save);
  callDone(done, self, &status);
}

//===----------------------------------------------------------------------===//
// Restoring
//===----------------------------------------------------------------------===//

/// Where values come from, of either format.
class Source {
public:
  explicit Source(const char *prefix) : prefix{prefix, int64_t(strlen(prefix))} {}

  int32_t open(weir_status *status) {
    isOld = !BundleReader::exists(prefix);
    if (isOld)
      return old.open(prefix, status);
    int32_t code = bundle.open(prefix, status);
    return code ? code : objects.read(bundle, status);
  }
  /// Type and shape of a variable's value; NOT_FOUND where there is none.
  int32_t find(const weir_string &name, weir_status *status) {
    key = name;
    if (isOld)
      return old.find(name, &entry.type, &entry.shape, status);
    // Checkpoints of objects have keys of their own.
    weir_string other;
    if (!bundle.contains(name) && objects.keyOf(name, &other))
      key = other;
    int32_t code = bundle.find(key, &entry, status);
    return code ? code : bundle.checkSize(key, entry, entry.shape.count(), status);
  }
  /// States of resources, as ResourceStates writes them.
  int32_t readStates(StateWriter &states, weir_status *status);
  int32_t type() const { return entry.type; }
  const StoredShape &shape() const { return entry.shape; }
  /// Reads what find() has found last.
  int32_t read(void *to, const StringMemory &memory, weir_status *status) {
    return isOld ? old.read(key, TensorSlice::whole(entry.shape.rank), to, memory, status)
                 : bundle.read(key, entry, nullptr, to, memory, /*asTensorFlow=*/false, status);
  }

private:
  const weir_string prefix;
  bool isOld = false;
  BundleReader bundle;
  ObjectGraph objects;
  SlicesReader old;
  BundleEntry entry;
  weir_string key{nullptr, 0};
};

/// Contents of strings, until who they are for has a copy.
struct StringBlocks {
  HeapList<void *> blocks;
  ~StringBlocks() {
    for (int64_t i = 0; i < blocks.size(); ++i)
      free(blocks[i]);
  }
  static char *make(void *self, int64_t bytes) {
    auto &blocks = static_cast<StringBlocks *>(self)->blocks;
    void *made = malloc(size_t(bytes | !bytes));
    if (made && !blocks.push(made)) {
      free(made);
      return nullptr;
    }
    return static_cast<char *>(made);
  }
};

int32_t Source::readStates(StateWriter &states, weir_status *status) {
  int32_t code = WEIR_OK;
  for (int64_t i = 0; !isOld && !code && i < bundle.size(); ++i) {
    key = bundle.key(i);
    if (key.size <= statePrefix.size ||
        memcmp(key.data, statePrefix.data, size_t(statePrefix.size)) != 0)
      continue;
    StringBlocks strings;
    weir_string state = {"", 0};
    code = bundle.find(key, &entry, status);
    if (!code && (entry.type != storedTypeOf(WEIR_STRING) || entry.shape.rank != 0))
      continue;
    if (!code)
      code = bundle.checkSize(key, entry, 1, status);
    if (!code)
      code = read(&state, {StringBlocks::make, &strings}, status);
    if (code)
      return code;
    states.text({key.data + statePrefix.size, key.size - statePrefix.size});
    states.text(state);
  }
  return code || !states.failed() ? code : refuseMemory(status, "a checkpoint");
}

/// New values on their way to variables, by slot; null: it keeps its own.
struct NewValues {
  HeapList<VariableValue *> values;
  ~NewValues() {
    for (int64_t i = 0; i < values.size(); ++i)
      releaseValue(values[i]);
  }
};

/// Reads a variable's value. NOT_FOUND where the checkpoint has none.
int32_t readVariable(weir_session *session, int32_t slot, Source &source, VariableValue **value,
                     weir_status *status) {
  const weir_slot_desc &desc = session->program->slots[slot];
  HeapText key;
  writeKey(key, session->program, slot);
  if (key.failed())
    return refuseMemory(status, "a checkpoint");
  if (int32_t code = source.find(key.view(), status))
    return code;
  weir_tensor tensor = {};
  tensor.dtype = storedType(source.type()).dtype;
  tensor.rank = source.shape().rank;
  memcpy(tensor.dims, source.shape().dims, size_t(tensor.rank) * sizeof(int64_t));
  tensor.bytes = source.shape().count() * weir_dtype_size(tensor.dtype);
  char text[512];
  Text problem(text, sizeof(text));
  if (!fitsSlot(desc, tensor, problem)) {
    StatusText(status, WEIR_INVALID_ARGUMENT) << text;
    return WEIR_INVALID_ARGUMENT;
  }
  HeapList<char> elements;
  StringBlocks strings;
  if (!elements.reserve(tensor.bytes))
    return refuseMemory(status, "a checkpoint");
  tensor.data = elements.data();
  if (int32_t code = source.read(tensor.data, {StringBlocks::make, &strings}, status))
    return code;
  return makeValue(session, slot, tensor, value, status);
}

} // namespace

} // namespace weir::rt

using namespace weir::rt;

int32_t weir_session_save(weir_session *session, const char *prefix,
                          const weir_checkpoint_options *options, weir_status *status) {
  if (int32_t code = refuse(status, "weir_session_save", session, prefix, options))
    return code;
  Snapshot snapshot(session);
  return snapshot.take() ? snapshot.write(prefix, optionsOf(options), status)
                         : refuseMemory(status, "a checkpoint");
}

int32_t weir_session_save_async(weir_session *session, const char *prefix,
                                const weir_checkpoint_options *options, weir_run_done done,
                                void *self, weir_status *status) {
  if (int32_t code = refuse(status, "weir_session_save_async", session, prefix, options))
    return code;
  if (!done)
    return refuseNull(status, "weir_session_save_async", "done");
  void *memory = malloc(sizeof(AsyncSave));
  if (!memory)
    return refuseMemory(status, "a checkpoint");
  auto *save = new (memory) AsyncSave(session);
  save->perform = performSave;
  save->options = optionsOf(options);
  save->prefix << prefix << '\0';
  save->done = done;
  save->self = self;
  int32_t code = save->snapshot.take() && !save->prefix.failed()
                     ? startWork(session, save, status)
                     : refuseMemory(status, "a checkpoint");
  if (code) {
    save->~AsyncSave();
    free(save);
  }
  return code;
}

int32_t weir_session_restore(weir_session *session, const char *prefix,
                             const weir_checkpoint_options *options, weir_status *status) {
  if (int32_t code = refuse(status, "weir_session_restore", session, prefix, options))
    return code;
  weir_checkpoint_options given = optionsOf(options);
  int32_t count = session->program->slot_count;
  Source source(prefix);
  NewValues fresh;
  if (!fresh.values.reserve(count))
    return refuseMemory(status, "a checkpoint");
  if (int32_t code = source.open(status))
    return code;
  for (int32_t i = 0; i < count; ++i) {
    VariableValue *value = nullptr;
    // Other tasks' copies follow by an entry of the program.
    bool isElsewhere = session->transport && isCopy(session->program->slots[i]);
    int32_t code =
        isElsewhere ? int32_t(WEIR_OK) : readVariable(session, i, source, &value, status);
    if (code && (code != WEIR_NOT_FOUND || !given.partial))
      return code;
    fresh.values.push(value);
  }
  StateWriter states;
  int32_t code = session->transport ? int32_t(WEIR_OK) : source.readStates(states, status);
  if (!code)
    code = restoreResources(session, states.view(), status);
  if (code)
    return code;
  {
    Lock lock(session->mutex);
    for (int32_t i = 0; i < count; ++i)
      if (VariableValue *value = fresh.values[i]) {
        fresh.values[i] = session->slots[i];
        session->slots[i] = value;
      }
  }
  return setStatus(status, WEIR_OK);
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

//===- restore_values.cpp - variables out of a checkpoint ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is restored is read whole before any variable gets its new value.
//
//===----------------------------------------------------------------------===//

#include "checkpoint/object_graph.h"
#include "checkpoint/slices_file.h"
#include "session/snapshot.h"

#include <stdlib.h>

namespace weir::rt {

namespace {

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
  /// Reads what find() has found last; of it `slice`, null: all.
  int32_t read(const TensorSlice *slice, void *to, const StringMemory &memory,
               weir_status *status) {
    return isOld ? old.read(key, slice ? *slice : TensorSlice::whole(entry.shape.rank), to, memory,
                            status)
                 : bundle.read(key, entry, slice, to, memory, /*asTensorFlow=*/false, status);
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
      code = read(nullptr, &state, {StringBlocks::make, &strings}, status);
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
  StoredShape shape = source.shape();
  TensorSlice slice;
  // Of a value that is no whole number of parts the slot's shape tells below.
  bool takesPart = isPart(desc) && shape.rank == desc.rank;
  if (takesPart) {
    StoredShape whole;
    whole.rank = desc.rank;
    memcpy(whole.dims, desc.dims, size_t(whole.rank) * sizeof(int64_t));
    slice = sliceOfPart(session->program, slot, whole);
    takesPart = whole == shape;
    if (takesPart)
      memcpy(shape.dims, desc.dims, size_t(shape.rank) * sizeof(int64_t));
  }
  tensor.rank = shape.rank;
  memcpy(tensor.dims, shape.dims, size_t(tensor.rank) * sizeof(int64_t));
  tensor.bytes = shape.count() * weir_dtype_size(tensor.dtype);
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
  if (int32_t code = source.read(takesPart ? &slice : nullptr, tensor.data,
                                 {StringBlocks::make, &strings}, status))
    return code;
  return makeValue(session, slot, tensor, value, status);
}

} // namespace

int32_t restoreValues(weir_session *session, const char *prefix, const HeapList<uint8_t> *slots,
                      bool partial, bool withStates, weir_status *status) {
  int32_t count = session->program->slot_count;
  Source source(prefix);
  NewValues fresh;
  if (!fresh.values.reserve(count))
    return refuseMemory(status, "a checkpoint");
  if (int32_t code = source.open(status))
    return code;
  for (int32_t i = 0; i < count; ++i) {
    VariableValue *value = nullptr;
    bool isWanted = !slots || (*slots)[i];
    int32_t code = isWanted ? readVariable(session, i, source, &value, status) : int32_t(WEIR_OK);
    if (code && (code != WEIR_NOT_FOUND || !partial))
      return code;
    fresh.values.push(value);
  }
  StateWriter states;
  int32_t code = withStates ? source.readStates(states, status) : int32_t(WEIR_OK);
  if (!code)
    code = restoreResources(session, states.view(), status);
  if (code)
    return code;
  Lock lock(session->mutex);
  for (int32_t i = 0; i < count; ++i)
    if (VariableValue *value = fresh.values[i]) {
      fresh.values[i] = session->slots[i];
      session->slots[i] = value;
    }
  return setStatus(status, WEIR_OK);
}

} // namespace weir::rt

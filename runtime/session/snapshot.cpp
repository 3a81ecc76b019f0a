//===- snapshot.cpp - variables on their way into a checkpoint -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of variables never change: a snapshot is a reference to each, taken under the
// session's lock, and runs go on while it is written.
//
// Where iterators stand, and random operations in functions of data sets, is written down once the
// elements are there that were being made then (ResourceStates), and is a string in the checkpoint,
// under the resource's name with ".state/" before it.
//
//===----------------------------------------------------------------------===//

#include "session/snapshot.h"

#include <stdlib.h>

namespace weir::rt {

void writeKey(HeapText &key, const weir_program_desc *program, int32_t slot) {
  const weir_slot_desc &desc = program->slots[slot];
  bool isUnique = true;
  for (int32_t i = 0; i < program->slot_count && isUnique; ++i)
    isUnique = i == slot || isCopy(program->slots[i]) || isCopy(desc) || isPart(desc) ||
               strcmp(program->slots[i].name, desc.name) != 0;
  key.clear();
  if (!isUnique && *desc.container)
    key << desc.container << '/';
  key << desc.name;
}

TensorSlice sliceOfPart(const weir_program_desc *program, int32_t slot, StoredShape &shape) {
  const weir_slot_desc &desc = program->slots[slot];
  constexpr char replica[] = "replica_";
  constexpr size_t length = sizeof(replica) - 1;
  int64_t number = strncmp(desc.container, replica, length) == 0
                       ? strtoll(desc.container + length, nullptr, 10)
                       : 0;
  int64_t count = 0;
  for (int32_t i = 0; i < program->slot_count; ++i)
    count += isPart(program->slots[i]) && strcmp(program->slots[i].name, desc.name) == 0;
  int32_t axis = desc.flags >> WEIR_SLOT_AXIS_SHIFT & (WEIR_MAX_RANK - 1);
  TensorSlice slice = TensorSlice::whole(shape.rank);
  slice.start[axis] = number * shape.dims[axis];
  slice.length[axis] = shape.dims[axis];
  shape.dims[axis] *= count;
  return slice;
}

//===----------------------------------------------------------------------===//
// Who writes what
//===----------------------------------------------------------------------===//

namespace {

/// Whether `copy`, of the same name, is a replica's copy of `slot`: its container is the
/// replica's, with the variable's own inside (passes/training/Replicate.cpp).
bool isCopyOf(const weir_slot_desc &copy, const weir_slot_desc &slot) {
  if (!isCopy(copy) || isCopy(slot))
    return false;
  const char *inside = strchr(copy.container, '/');
  return strcmp(inside ? inside + 1 : "", slot.container) == 0;
}

int compareNames(const void *a, const void *b, void *slots) {
  auto *descs = static_cast<const weir_slot_desc *>(slots);
  int32_t first = *static_cast<const int32_t *>(a), second = *static_cast<const int32_t *>(b);
  int order = strcmp(descs[first].name, descs[second].name);
  return order ? order : first < second ? -1 : first > second;
}

/// What of a size is not known counts as one.
int64_t bytesOf(const weir_slot_desc &slot) {
  int64_t bytes = weir_dtype_size(slot.dtype);
  for (int32_t d = 0; d < slot.rank; ++d)
    if (slot.dims[d] > 0 && __builtin_mul_overflow(bytes, slot.dims[d], &bytes))
      return INT64_MAX / 2;
  return bytes;
}

} // namespace

bool chooseWritten(const weir_program_desc *program, HeapList<uint8_t> &written) {
  const weir_slot_desc *slots = program->slots;
  int32_t count = program->slot_count;
  HeapList<int32_t> order;
  HeapList<int64_t> loads; // by device
  if (!order.reserve(count) || !written.reserve(count) || !loads.reserve(program->device_count))
    return false;
  for (int32_t i = 0; i < count; ++i) {
    order.push(i);
    written.push(0);
  }
  for (int32_t i = 0; i < program->device_count; ++i)
    loads.push(0);
  order.sort(compareNames, const_cast<weir_slot_desc *>(slots));
  for (int64_t begin = 0, end; begin < count; begin = end) {
    for (end = begin; end < count && !strcmp(slots[order[end]].name, slots[order[begin]].name);)
      ++end;
    for (int64_t i = begin; i < end; ++i) {
      int32_t best = order[i];
      if (isCopy(slots[best]))
        continue;
      for (int64_t j = begin; j < end; ++j)
        if (isCopyOf(slots[order[j]], slots[order[i]]) &&
            loads[deviceOf(slots[order[j]])] < loads[deviceOf(slots[best])])
          best = order[j];
      written[best] = 1;
      int64_t &load = loads[deviceOf(slots[best])];
      load = load > INT64_MAX / 2 ? load : load + bytesOf(slots[best]);
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Taking and writing
//===----------------------------------------------------------------------===//

int32_t refuseFrozen(const weir_session *session, bool partial, weir_status *status) {
  const weir_program_desc *program = session->program;
  int32_t frozen = frozenCount(program);
  if (!frozen || (partial && program->slot_count))
    return WEIR_OK;
  StatusText(status, WEIR_FAILED_PRECONDITION)
      << "program \"" << program->name << "\" has " << (program->slot_count ? "not all" : "no")
      << " variables: " << frozen << frozenVariables;
  return WEIR_FAILED_PRECONDITION;
}

Snapshot::~Snapshot() {
  for (int64_t i = 0; i < values.size(); ++i)
    releaseValue(values[i]);
}

bool Snapshot::take(const HeapList<uint8_t> *slots, bool withStates) {
  this->withStates = withStates;
  int32_t count = session->program->slot_count;
  if (!values.reserve(count) || !wanted.reserve(count) || (withStates && !resources.pause(session)))
    return false;
  for (int32_t i = 0; i < count; ++i) {
    wanted.push(slots ? (*slots)[i] : !isCopy(session->program->slots[i]));
    wantedCount += wanted[i];
  }
  {
    Lock lock(session->mutex);
    for (int32_t i = 0; i < count; ++i) {
      if (wanted[i])
        session->writtenOver.wait(session->mutex, [&] { return !session->taken[i]; });
      VariableValue *value = wanted[i] ? session->slots[i] : nullptr;
      if (value && value->memory)
        value->references.fetch_add(1, std::memory_order_relaxed);
      values.push(value);
    }
  }
  return true;
}

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
  if (key.failed())
    return refuseMemory(status, "a checkpoint");
  if (!isPart(session->program->slots[slot]))
    return writer.add(key.view(), type, shape, data, status);
  TensorSlice slice = sliceOfPart(session->program, slot, shape);
  return writer.addSlice(key.view(), type, shape, slice, data, status);
}

int32_t Snapshot::write(const char *prefix, bool partial, weir_status *status) const {
  // Two of one session at a time would be in each other's way under one prefix.
  Lock lock(session->saving);
  BundleWriter writer;
  int32_t code = writer.open({prefix, int64_t(strlen(prefix))}, status);
  for (int32_t i = 0; i < session->program->slot_count && !code; ++i)
    if (!wanted[i]) {
      continue;
    } else if (values[i]) {
      code = add(writer, i, status);
    } else if (!partial) {
      StatusText(status, WEIR_FAILED_PRECONDITION)
          << "variable \"" << session->program->slots[i].name << "\" was never assigned";
      code = WEIR_FAILED_PRECONDITION;
    }
  if (!code)
    code = addStates(writer, status);
  return code ? code : writer.finish(status);
}

} // namespace weir::rt

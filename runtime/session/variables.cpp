//===- variables.cpp - state that outlives a run --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/handles.h"
#include "session/mappings.h"
#include "session/resources.h"
#include "session/run.h"
#include "session/snapshot.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

/// Memory for a copy of `tensor`, with a header that describes it.
static VariableValue *makeRoom(BfcAllocator *memory, const weir_tensor &tensor, const char *tag,
                               int64_t deadline, const std::atomic<uint32_t> *stop) {
  // The value is headed by itself, rounded up so that the data is aligned.
  constexpr int64_t head = (int64_t(sizeof(VariableValue)) + 63) / 64 * 64;
  AllocationRequest request;
  request.bytes = head + copyBytes(tensor);
  request.tag = tag;
  request.deadline = deadline;
  request.stop = stop;
  void *data = memory->allocate(request);
  if (!data)
    return nullptr;
  auto *value = new (data) VariableValue{{1}, memory, tensor};
  value->tensor.data = static_cast<uint8_t *>(data) + head;
  return value;
}

VariableValue *copyValue(BfcAllocator *memory, const weir_tensor &tensor, const char *tag,
                         int64_t deadline, const std::atomic<uint32_t> *stop) {
  VariableValue *value = makeRoom(memory, tensor, tag, deadline, stop);
  if (value)
    copyElements(tensor, value->tensor.data);
  return value;
}

void releaseValue(VariableValue *value) {
  if (!value || !value->memory || value->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  if (value->home)
    value->home->desc->driver->dropValue(value);
  else
    value->memory->free(value);
}

int32_t makeValue(weir_session *session, int32_t slot, const weir_tensor &tensor,
                  VariableValue **value, weir_status *status) {
  const char *name = session->program->slots[slot].name;
  if (Accelerator *home = homeOf(session, slot))
    return home->desc->driver->makeValue(session, home, tensor, name, value, status);
  *value = copyValue(session->memory[0], tensor, name, 0, nullptr);
  if (*value)
    return WEIR_OK;
  StatusText(status, WEIR_RESOURCE_EXHAUSTED)
      << "no memory for a value of variable \"" << name << '"';
  return WEIR_RESOURCE_EXHAUSTED;
}

VariableValue *currentValue(weir_session *session, int32_t slot) {
  Lock lock(session->mutex);
  session->writtenOver.wait(session->mutex,
                            [&] { return session->taken[slot] != weir_session::writtenOverNow; });
  VariableValue *value = session->slots[slot];
  if (value && value->memory)
    value->references.fetch_add(1, std::memory_order_relaxed);
  return value;
}

/// Of a variable that no run updates: none does until letUpdate.
static void claim(weir_session *session, int32_t slot) {
  Lock lock(session->mutex);
  session->writtenOver.wait(session->mutex, [&] { return !session->taken[slot]; });
  session->taken[slot] = weir_session::updated;
}

/// The update is over.
static void letUpdate(weir_session *session, int32_t slot) {
  Lock lock(session->mutex);
  session->taken[slot] = 0;
  session->writtenOver.notifyAll();
}

/// Gives the variable a value; `waits`: not between what an update of another run reads and what
/// it writes, where this value would be lost.
static void replaceValue(weir_session *session, int32_t slot, VariableValue *value, bool waits) {
  VariableValue *old;
  {
    Lock lock(session->mutex);
    if (waits)
      session->writtenOver.wait(session->mutex, [&] { return !session->taken[slot]; });
    old = session->slots[slot];
    session->slots[slot] = value;
  }
  // The program's own initial value: whoever still reads it gets it from the file again.
  if (old && !old->memory)
    dropFilePages(old->tensor.data, old->tensor.bytes);
  releaseValue(old);
}

void replaceValue(weir_session *session, int32_t slot, VariableValue *value) {
  replaceValue(session, slot, value, false);
}

bool fitsSlot(const weir_slot_desc &slot, const weir_tensor &tensor, Text &out) {
  bool fits = tensor.dtype == slot.dtype && tensor.rank >= 0 && tensor.rank <= WEIR_MAX_RANK &&
              (slot.rank < 0 || slot.rank == tensor.rank);
  for (int32_t i = 0; fits && i < slot.rank; ++i)
    fits = slot.dims[i] < 0 || slot.dims[i] == tensor.dims[i];
  if (fits)
    return true;
  out << "variable \"" << slot.name << "\" holds " << weir_dtype_name(slot.dtype) << ' ';
  appendShape(out, slot.rank, slot.dims);
  out << ", and was to be assigned " << weir_dtype_name(tensor.dtype) << ' ';
  if (tensor.rank > WEIR_MAX_RANK)
    out << "of rank " << tensor.rank;
  else
    appendShape(out, tensor.rank, tensor.dims);
  return false;
}

/// Keeps a reference until the run ends. False: no memory.
static bool holdValue(weir_run *run, int32_t slot, VariableValue *value) {
  Lock lock(run->mutex);
  // A run that reads one value many times holds it once.
  if (run->latestHeld[slot] == value) {
    releaseValue(value);
    return true;
  }
  if (run->heldCount == run->heldCapacity) {
    int32_t capacity = run->heldCapacity ? run->heldCapacity * 2 : 16;
    void *grown =
        realloc(static_cast<void *>(run->held), size_t(capacity) * sizeof(VariableValue *));
    if (!grown)
      return false;
    run->held = static_cast<VariableValue **>(grown);
    run->heldCapacity = capacity;
  }
  run->held[run->heldCount++] = value;
  run->latestHeld[slot] = value;
  return true;
}

/// 0, or an error: the program's table has no such variable.
static int32_t checkSlot(weir_context *ctx, int32_t slot, int32_t site) {
  bool exists = slot >= 0 && slot < ctx->run->session->program->slot_count;
  return exists ? int32_t(WEIR_OK)
                : weir_rt_error_text(ctx, site, WEIR_INTERNAL, "variable {0} is not in the table",
                                     slot, 0);
}

VariableValue *holdCurrent(weir_context *ctx, int32_t slot, int32_t site, int32_t *code) {
  weir_run *run = ctx->run;
  if ((*code = checkSlot(ctx, slot, site)))
    return nullptr;
  VariableValue *value = currentValue(run->session, slot);
  // Values of the program's own live as long as the session.
  if (value && value->memory && !holdValue(run, slot, value)) {
    releaseValue(value);
    *code = weir_rt_error_text(ctx, site, WEIR_RESOURCE_EXHAUSTED, "no memory to hold a variable",
                               0, 0);
    return nullptr;
  }
  return value;
}

int32_t recordUnassigned(weir_context *ctx, int32_t slot, int32_t site) {
  char text[256];
  Text(text, sizeof(text)) << "variable \"" << ctx->run->session->program->slots[slot].name
                           << "\" is read before it was assigned";
  return recordError(ctx->run, WEIR_FAILED_PRECONDITION, site, text);
}

int32_t checkAssigned(weir_context *ctx, int32_t slot, int32_t site, const weir_tensor &value) {
  if (int32_t code = checkSlot(ctx, slot, site))
    return code;
  char text[512];
  Text problem(text, sizeof(text));
  return fitsSlot(ctx->run->session->program->slots[slot], value, problem)
             ? int32_t(WEIR_OK)
             : recordError(ctx->run, WEIR_INVALID_ARGUMENT, site, text);
}

/// A new value of the variable, the same as `tensor`. Null: there is no memory, and `code` is
/// what was recorded.
static VariableValue *newValue(weir_context *ctx, int32_t slot, int32_t site,
                               const weir_tensor &tensor, int32_t *code) {
  weir_run *run = ctx->run;
  weir_session *session = run->session;
  const char *name = session->program->slots[slot].name;
  BfcAllocator *memory = session->memory[ctx->device];
  VariableValue *copy = makeRoom(memory, tensor, name, 0, nullptr);
  if (!copy) {
    trimSession(session);
    int64_t deadline = now() + session->allocationWait;
    copy = makeRoom(memory, tensor, name, run->deadline < deadline ? run->deadline : deadline,
                    &run->aborted);
  }
  *code = copy ? int32_t(WEIR_OK) : recordOutOfMemory(ctx, tensor.bytes, name, site);
  auto *data = static_cast<const uint8_t *>(tensor.data);
  bool isInitial = data >= session->blobs && data < session->blobs + session->program->blob_bytes;
  if (copy && isInitial && !hasContents(tensor.dtype))
    copyAndDrop(data, tensor.bytes, copy->tensor.data);
  else if (copy)
    copyElements(tensor, copy->tensor.data);
  return copy;
}

/// Whether the session and this run, which holds it and updates the variable, are all who know
/// the value. It is written over then: who comes to read it waits.
static bool takeOver(weir_session *session, int32_t slot, VariableValue *value) {
  constexpr int32_t both = 2;
  Lock lock(session->mutex);
  if (!value->memory || session->slots[slot] != value ||
      value->references.load(std::memory_order_acquire) != both)
    return false;
  session->taken[slot] = weir_session::writtenOverNow;
  return true;
}

/// The variable is the last of those that the step updates.
static void addTaken(DeviceRun &device, WrittenValue *written, int32_t slot) {
  written[slot] = {0, nullptr};
  (device.taken ? written[device.lastTaken - 1].next : device.taken) = slot + 1;
  device.lastTaken = slot + 1;
}

/// Takes the variable out of those that the step updates; the first is found at once. False:
/// it is none of them.
static bool removeTaken(DeviceRun &device, WrittenValue *written, int32_t slot) {
  int32_t before = 0, at = device.taken;
  while (at && at != slot + 1) {
    before = at;
    at = written[at - 1].next;
  }
  if (!at)
    return false;
  (before ? written[before - 1].next : device.taken) = written[slot].next;
  if (device.lastTaken == at)
    device.lastTaken = before;
  return true;
}

void giveBackTaken(weir_context *ctx) {
  weir_run *run = ctx->run;
  DeviceRun &device = run->devices[ctx->device];
  while (int32_t first = device.taken) {
    WrittenValue &own = run->written[first - 1];
    device.taken = own.next;
    releaseValue(own.fresh);
    letUpdate(run->session, first - 1);
  }
  device.lastTaken = 0;
}

} // namespace weir::rt

using namespace weir::rt;

int32_t weir_rt_variable_read(weir_context *ctx, int32_t slot, int32_t site, weir_tensor *out) {
  int32_t code;
  VariableValue *value = holdCurrent(ctx, slot, site, &code);
  if (!value)
    return code ? code : recordUnassigned(ctx, slot, site);
  *out = value->tensor;
  return WEIR_OK;
}

int32_t weir_rt_variable_assign(weir_context *ctx, int32_t slot, int32_t site,
                                const weir_tensor *value) {
  if (int32_t code = checkAssigned(ctx, slot, site, *value))
    return code;
  int32_t code;
  VariableValue *copy = newValue(ctx, slot, site, *value, &code);
  if (!copy)
    return code;
  weir_run *run = ctx->run;
  if (removeTaken(run->devices[ctx->device], run->written, slot)) {
    replaceValue(run->session, slot, copy);
    letUpdate(run->session, slot);
  } else
    replaceValue(run->session, slot, copy, true);
  return WEIR_OK;
}

/// The variable's value, which no other run updates until this step gives it back. Null: `code`.
static VariableValue *beginUpdate(weir_context *ctx, int32_t slot, int32_t site, int32_t *code) {
  if ((*code = checkSlot(ctx, slot, site)))
    return nullptr;
  weir_run *run = ctx->run;
  claim(run->session, slot);
  addTaken(run->devices[ctx->device], run->written, slot);
  VariableValue *value = holdCurrent(ctx, slot, site, code);
  if (!value && !*code)
    *code = recordUnassigned(ctx, slot, site);
  return value;
}

int32_t weir_rt_variable_update(weir_context *ctx, int32_t slot, int32_t site, weir_tensor *out) {
  int32_t code;
  VariableValue *value = beginUpdate(ctx, slot, site, &code);
  if (value)
    *out = value->tensor;
  return code;
}

int32_t weir_rt_variable_take(weir_context *ctx, int32_t slot, int32_t site, weir_tensor *out) {
  int32_t code;
  VariableValue *value = beginUpdate(ctx, slot, site, &code);
  if (!value)
    return code;
  weir_run *run = ctx->run;
  if (!takeOver(run->session, slot, value)) {
    value = newValue(ctx, slot, site, value->tensor, &code);
    if (!value)
      return code;
    // The run reads it behind the assignment, too.
    value->references.store(2, std::memory_order_relaxed);
    if (!holdValue(run, slot, value)) {
      int64_t bytes = value->tensor.bytes;
      value->references.store(1, std::memory_order_relaxed);
      releaseValue(value);
      return recordOutOfMemory(ctx, bytes, run->session->program->slots[slot].name, site);
    }
    run->written[slot].fresh = value;
  }
  *out = value->tensor;
  return WEIR_OK;
}

void weir_rt_variable_put(weir_context *ctx, int32_t slot) {
  weir_run *run = ctx->run;
  if (!removeTaken(run->devices[ctx->device], run->written, slot))
    return;
  if (VariableValue *fresh = run->written[slot].fresh)
    replaceValue(run->session, slot, fresh);
  letUpdate(run->session, slot);
}

//===----------------------------------------------------------------------===//
// What users call
//===----------------------------------------------------------------------===//

/// Number of the variable, -1 with a status: none.
static int32_t findVariable(const weir_session *session, const char *name, weir_status *status) {
  const weir_program_desc *program = session->program;
  for (int32_t i = 0; i < program->slot_count; ++i)
    if (strcmp(program->slots[i].name, name) == 0)
      return i;
  StatusText out(status, WEIR_NOT_FOUND);
  out << "program \"" << program->name << "\" has no variable \"" << name << '"';
  if (int32_t frozen = frozenCount(program))
    out << ": " << frozen << frozenVariables;
  return -1;
}

/// Of several tasks only one has a variable's value, and the program does not
/// say which.
static int32_t refuseOverTasks(const weir_session *session, weir_status *status) {
  if (!session->transport)
    return WEIR_OK;
  StatusText(status, WEIR_UNIMPLEMENTED)
      << "variables of a program over several tasks are read and assigned by "
         "its entries alone";
  return WEIR_UNIMPLEMENTED;
}

/// Of what replicas hold in parts there is no whole value here.
static int32_t refusePart(const weir_session *session, int32_t slot, weir_status *status) {
  if (!isPart(session->program->slots[slot]))
    return WEIR_OK;
  StatusText(status, WEIR_UNIMPLEMENTED)
      << "variable \"" << session->program->slots[slot].name
      << "\" is held in parts by replicas; checkpoints have it whole";
  return WEIR_UNIMPLEMENTED;
}

int32_t weir_session_get_variable(weir_session *session, const char *name, weir_tensor *value,
                                  weir_status *status) {
  if (int32_t code = checkSession(session, "weir_session_get_variable", status))
    return code;
  if (!name || !value)
    return refuseNull(status, "weir_session_get_variable", name ? "value" : "name");
  if (int32_t code = refuseOverTasks(session, status))
    return code;
  int32_t slot = findVariable(session, name, status);
  if (slot < 0)
    return WEIR_NOT_FOUND;
  if (int32_t code = refusePart(session, slot, status))
    return code;
  VariableValue *current = currentValue(session, slot);
  if (!current) {
    StatusText(status, WEIR_FAILED_PRECONDITION)
        << "variable \"" << name << "\" was never assigned";
    return WEIR_FAILED_PRECONDITION;
  }
  const weir_tensor &tensor = current->tensor;
  void *data = value->data;
  Block *old = findResult(session, data), *made = nullptr;
  if (!data || value->bytes < tensor.bytes || hasContents(tensor.dtype)) {
    made = allocateBlock(session->memory[0], copyBytes(tensor), session->program->slots[slot].name,
                         Block::ofResult, 0, nullptr);
    if (!made) {
      releaseValue(current);
      StatusText(status, WEIR_RESOURCE_EXHAUSTED)
          << "no memory for a copy of variable \"" << name << '"';
      return WEIR_RESOURCE_EXHAUSTED;
    }
    data = made->data();
  }
  int32_t code = WEIR_OK;
  if (current->home)
    code = current->home->desc->driver->readValue(current, data, name, status);
  else
    copyElements(tensor, data);
  if (code) {
    if (made)
      made->memory->free(made);
    releaseValue(current);
    return code;
  }
  if (old && value->data != data)
    old->memory->free(old);
  *value = tensor;
  value->data = data;
  releaseValue(current);
  return setStatus(status, WEIR_OK);
}

int32_t weir_session_set_variable(weir_session *session, const char *name, const weir_tensor *value,
                                  weir_status *status) {
  if (int32_t code = checkSession(session, "weir_session_set_variable", status))
    return code;
  if (!name || !value)
    return refuseNull(status, "weir_session_set_variable", name ? "value" : "name");
  if (int32_t code = refuseOverTasks(session, status))
    return code;
  int32_t slot = findVariable(session, name, status);
  if (slot < 0)
    return WEIR_NOT_FOUND;
  if (int32_t code = refusePart(session, slot, status))
    return code;
  const weir_slot_desc &desc = session->program->slots[slot];
  {
    char text[512];
    Text problem(text, sizeof(text));
    int64_t bytes = 0;
    bool fits = fitsSlot(desc, *value, problem);
    if (fits) {
      int64_t count = elementCount(value->rank, value->dims);
      fits = count >= 0 && !__builtin_mul_overflow(count, weir_dtype_size(value->dtype), &bytes) &&
             value->bytes >= bytes && (value->data || bytes == 0);
      int64_t broken = fits ? brokenString(*value) : -1;
      if (broken >= 0) {
        fits = false;
        problem << "variable \"" << name << "\": string " << broken
                << " has a negative size, or no data";
      } else if (!fits)
        problem << "variable \"" << name << "\": the value has " << value->bytes
                << " bytes, and its shape needs " << bytes;
    }
    if (!fits) {
      StatusText(status, WEIR_INVALID_ARGUMENT) << text;
      return WEIR_INVALID_ARGUMENT;
    }
  }
  weir_tensor exact = *value;
  exact.bytes = elementCount(value->rank, value->dims) * weir_dtype_size(value->dtype);
  VariableValue *copy;
  if (int32_t code = makeValue(session, slot, exact, &copy, status))
    return code;
  replaceValue(session, slot, copy, true);
  return setStatus(status, WEIR_OK);
}

int32_t weir_session_reset(weir_session *session, weir_status *status) {
  if (int32_t code = checkSession(session, "weir_session_reset", status))
    return code;
  for (int32_t i = 0; i < session->program->slot_count; ++i) {
    VariableValue *initial = &session->initial[i], *value = initial;
    if (!initial->tensor.dtype)
      value = nullptr;
    else if (homeOf(session, i))
      if (int32_t code = makeValue(session, i, initial->tensor, &value, status))
        return code;
    replaceValue(session, i, value, true);
  }
  resetResources(session);
  return setStatus(status, WEIR_OK);
}

//===- cuda_variables.cpp - values that stay on a GPU ------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_variables.h"
#include "cuda/cuda_device.h"

#include <new>
#include <stddef.h>
#include <stdlib.h>

namespace weir::rt::cuda {

/// Copies are of whole vectors: values end at a multiple of them.
static constexpr int64_t vectorBytes = 16;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Variables *openVariables(const CudaDevice &device, Result *error) {
  const char *name = device.record->assign;
  Function assign = nullptr;
  if (name && (*error = device.driver->moduleFunction(&assign, device.module, name)))
    return nullptr;
  void *memory = calloc(1, sizeof(Variables));
  if (!memory)
    return nullptr;
  auto *variables = new (memory) Variables();
  variables->assign = assign;
  return variables;
}

void closeVariables(const CudaDevice &device, Variables *variables) {
  if (!variables)
    return;
  const Driver &driver = *device.driver;
  while (CudaValue *value = variables->all) {
    variables->all = value->next;
    driver.eventDestroy(value->written);
    free(value);
  }
  if (variables->stream)
    driver.streamDestroy(variables->stream);
  free(variables);
}

/// The head of a value, one that has gone or new. Null, with or without `error`: none.
/// The context is current.
static CudaValue *takeHead(const CudaDevice &device, Result *error) {
  Variables &variables = *device.variables;
  {
    Lock lock(variables.mutex);
    if (CudaValue *value = variables.free) {
      variables.free = value->nextFree;
      return value;
    }
  }
  void *memory = calloc(1, sizeof(CudaValue));
  if (!memory)
    return nullptr;
  auto *value = new (memory) CudaValue();
  if ((*error = device.driver->eventCreate(&value->written, eventDisableTiming))) {
    free(memory);
    return nullptr;
  }
  Lock lock(variables.mutex);
  value->next = variables.all;
  variables.all = value;
  return value;
}

static void giveHead(Variables &variables, CudaValue *value) {
  Lock lock(variables.mutex);
  value->nextFree = variables.free;
  variables.free = value;
}

/// Memory and head for a value like `tensor`, with one reference; null, with or
/// without `error`: there is none. The context is current.
static CudaValue *takeValue(weir_session *session, CudaDevice *device, const weir_tensor &tensor,
                            const AllocationRequest &request, Result *error) {
  CudaValue *value = takeHead(*device, error);
  if (!value)
    return nullptr;
  void *data = device->memory->allocate(request);
  if (!data) {
    trimSession(session);
    data = device->memory->allocate(request);
  }
  if (!data) {
    giveHead(*device->variables, value);
    return nullptr;
  }
  value->references.store(1, std::memory_order_relaxed);
  value->memory = device->memory;
  value->home = device;
  value->tensor = tensor;
  value->tensor.data = data;
  value->maker = nullptr;
  value->complete.store(false, std::memory_order_relaxed);
  return value;
}

/// Says into `text` that memory for a variable's value is missing.
template <size_t capacity>
static void explain(char (&text)[capacity], const CudaDevice &device, const char *variable,
                    const AllocationRequest &request) {
  Text(text, capacity) << "variable \"" << variable << "\": ";
  size_t begin = strlen(text);
  device.memory->explainFailure(request, text + begin, int64_t(capacity - begin));
}

static AllocationRequest requestFor(const weir_tensor &tensor, const char *variable) {
  AllocationRequest request;
  // A value without elements has a place, too.
  request.bytes = tensor.bytes < 1 ? 1 : tensor.bytes;
  request.tag = variable;
  request.exact = true; // it lives long
  return request;
}

void dropValue(VariableValue *value) {
  auto &device = *static_cast<CudaDevice *>(value->home);
  device.memory->free(value->tensor.data);
  giveHead(*device.variables, static_cast<CudaValue *>(value));
}

//===----------------------------------------------------------------------===//
// Copies that the host waits for
//===----------------------------------------------------------------------===//

static int32_t failTransfer(const CudaDevice &device, const char *variable, const char *what,
                            Result error, weir_status *status) {
  int32_t code = error == outOfMemory ? int32_t(WEIR_RESOURCE_EXHAUSTED) : int32_t(WEIR_INTERNAL);
  StatusText out(status, code);
  out << "variable \"" << variable << "\": " << what << ": ";
  appendError(out, *device.driver, error);
  return code;
}

/// Puts copies into the device's stream for them, by put(stream), and waits for their
/// end. The context is current.
template <typename Put> static Result transfer(const CudaDevice &device, Put put) {
  const Driver &driver = *device.driver;
  Variables &variables = *device.variables;
  Lock lock(variables.transfers);
  Result error = variables.stream ? 0 : driver.streamCreate(&variables.stream, streamNonBlocking);
  if (!error)
    error = put(variables.stream);
  // Where a copy was refused, one before it may be under way.
  Result ended = variables.stream ? driver.streamSynchronize(variables.stream) : 0;
  return error ? error : ended;
}

int32_t makeValue(weir_session *session, Accelerator *accelerator, const weir_tensor &tensor,
                  const char *variable, VariableValue **value, weir_status *status) {
  auto *device = static_cast<CudaDevice *>(accelerator);
  Current current(*device);
  Result error = 0;
  AllocationRequest request = requestFor(tensor, variable);
  CudaValue *made = takeValue(session, device, tensor, request, &error);
  if (!made && error)
    return failTransfer(*device, variable, "the GPU has no place for its value", error, status);
  if (!made) {
    char text[1016];
    explain(text, *device, variable, request);
    StatusText(status, WEIR_RESOURCE_EXHAUSTED) << text;
    return WEIR_RESOURCE_EXHAUSTED;
  }
  if (tensor.bytes > 0)
    error = transfer(*device, [&](Stream stream) {
      return device->driver->copyInAsync(Pointer(made->tensor.data), tensor.data,
                                         size_t(tensor.bytes), stream);
    });
  if (error) {
    dropValue(made);
    return failTransfer(*device, variable, "its value cannot be copied to the GPU", error, status);
  }
  made->complete.store(true, std::memory_order_relaxed);
  *value = made;
  return WEIR_OK;
}

int32_t readValue(const VariableValue *value, void *to, const char *variable, weir_status *status) {
  auto *source = static_cast<const CudaValue *>(value);
  auto *device = static_cast<const CudaDevice *>(value->home);
  const Driver &driver = *device->driver;
  if (value->tensor.bytes <= 0)
    return WEIR_OK;
  Current current(*device);
  Result error = transfer(*device, [&](Stream stream) {
    Result failed = source->complete.load(std::memory_order_acquire)
                        ? 0
                        : driver.streamWait(stream, source->written, 0);
    return failed ? failed
                  : driver.copyOutAsync(to, Pointer(value->tensor.data),
                                        size_t(value->tensor.bytes), stream);
  });
  return error ? failTransfer(*device, variable, "its value cannot be copied from the GPU", error,
                              status)
               : int32_t(WEIR_OK);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The value that the run's work finds, which stays to the run's end: what it has
/// assigned last, or else everybody's. Null: there is none, or `code` is an error.
static const VariableValue *valueForRun(weir_context *ctx, int32_t slot, int32_t site,
                                        int32_t *code) {
  CudaRun *part = partOf(ctx);
  *code = WEIR_OK;
  if (CudaValue *own = part->slots ? part->slots[slot].assigned : nullptr)
    return own;
  VariableValue *value = holdCurrent(ctx, slot, site, code);
  if (!value)
    return nullptr;
  auto *found = static_cast<CudaValue *>(value);
  if (found->maker == part || found->complete.load(std::memory_order_acquire))
    return value;
  // Work that was noted, and is put later, waits as well.
  Current current(*part->device);
  Result error = part->device->driver->streamWait(part->work, found->written, 0);
  if (!error)
    return value;
  *code = fail(ctx, "the run cannot wait for its value", error,
               ctx->run->session->program->slots[slot].name, "variable");
  return nullptr;
}

/// Notes what brings `from` into a value, if it is not there; `old` instead where a
/// kernel before it has failed, null: none may. False: no memory on the host.
static bool noteAssign(CudaRun *part, const CudaValue &value, const void *from,
                       const VariableValue *old) {
  auto bytes = uint64_t(value.tensor.bytes);
  if (bytes == 0 || (!old && from == value.tensor.data))
    return true;
  if (!old) {
    auto *copy =
        static_cast<CopyRecord *>(note(part->pending, WorkKind::Copy, sizeof(CopyRecord), -1));
    if (!copy)
      return false;
    copy->to = Pointer(value.tensor.data);
    copy->from = Pointer(from);
    copy->size = bytes;
    return true;
  }
  uint64_t vectors = (bytes + vectorBytes - 1) / vectorBytes;
  const uint64_t parameters[] = {part->errorOnDevice, uint64_t(from), uint64_t(old->tensor.data),
                                 uint64_t(value.tensor.data), vectors};
  auto *launch = static_cast<LaunchRecord *>(
      note(part->pending, WorkKind::Launch, sizeof(LaunchRecord) + sizeof(parameters), -1));
  if (!launch)
    return false;
  launch->parameters = sizeof(parameters) / sizeof(*parameters);
  launch->function = part->device->variables->assign;
  launch->blocks = uint32_t((vectors + WEIR_CUDA_ASSIGN_THREADS - 1) / WEIR_CUDA_ASSIGN_THREADS);
  launch->threads = WEIR_CUDA_ASSIGN_THREADS;
  memcpy(static_cast<void *>(launch + 1), parameters, sizeof(parameters));
  return true;
}

int32_t publishValues(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  weir_session *session = ctx->run->session;
  while (CudaValue *value = part->news) {
    CudaValue *&assigned = part->slots[value->slot].assigned;
    // Not one that the run has replaced itself.
    if (assigned == value) {
      if (Result error = part->device->driver->eventRecord(value->written, part->work))
        return fail(ctx, "its value cannot be assigned", error,
                    session->program->slots[value->slot].name, "variable");
      assigned = nullptr;
      value->references.fetch_add(1, std::memory_order_relaxed);
      replaceValue(session, value->slot, value);
    }
    part->news = value->nextNews;
  }
  return WEIR_OK;
}

void dropMade(CudaRun *part, bool good) {
  part->news = nullptr;
  while (CudaValue *value = part->made) {
    part->made = value->nextMade;
    part->slots[value->slot] = {};
    if (good)
      value->complete.store(true, std::memory_order_release);
    releaseValue(value);
  }
}

} // namespace weir::rt::cuda

using namespace weir::rt;
using namespace weir::rt::cuda;

int32_t weir_cuda_variable_read(weir_context *ctx, int32_t slot, int32_t site, weir_tensor *out) {
  int32_t code;
  const VariableValue *value = valueForRun(ctx, slot, site, &code);
  if (!value)
    return code ? code : recordUnassigned(ctx, slot, site);
  *out = value->tensor;
  return WEIR_OK;
}

/// Memory for a value that the run makes; null: `code` is an error.
static CudaValue *makeForRun(weir_context *ctx, int32_t slot, int32_t site,
                             const weir_tensor &tensor, int32_t *code) {
  weir_run *run = ctx->run;
  CudaRun *part = partOf(ctx);
  const weir_program_desc *program = run->session->program;
  const char *name = program->slots[slot].name;
  if (!part->slots)
    part->slots = static_cast<CudaSlot *>(calloc(size_t(program->slot_count), sizeof(CudaSlot)));
  Result error = part->slots ? 0 : outOfMemory;
  AllocationRequest request = requestFor(tensor, name);
  request.stop = &run->aborted;
  Current current(*part->device);
  CudaValue *value =
      error ? nullptr : takeValue(run->session, part->device, tensor, request, &error);
  if (error) {
    *code = fail(ctx, "there is no place for its value", error, name, "variable");
  } else if (!value) {
    char text[1016];
    explain(text, *part->device, name, request);
    *code = recordError(run, WEIR_RESOURCE_EXHAUSTED, site, text);
  } else {
    value->slot = slot;
    value->maker = part;
    value->nextMade = part->made;
    part->made = value;
  }
  return value;
}

void *weir_cuda_variable_place(weir_context *ctx, int32_t slot, int32_t site) {
  const weir_slot_desc &desc = ctx->run->session->program->slots[slot];
  weir_tensor tensor = {};
  tensor.dtype = desc.dtype;
  tensor.rank = desc.rank;
  memcpy(tensor.dims, desc.dims, size_t(desc.rank) * sizeof(int64_t));
  tensor.bytes = elementCount(desc.rank, desc.dims) * weir_dtype_size(desc.dtype);
  int32_t code = WEIR_OK;
  CudaValue *value = makeForRun(ctx, slot, site, tensor, &code);
  if (!value) {
    abortRun(ctx->run, code);
    return nullptr;
  }
  partOf(ctx)->slots[slot].placed = value;
  return value->tensor.data;
}

int32_t weir_cuda_variable_assign(weir_context *ctx, int32_t slot, int32_t site,
                                  const weir_tensor *tensor) {
  int32_t code = checkAssigned(ctx, slot, site, *tensor);
  if (code)
    return code;
  CudaRun *part = partOf(ctx);
  // What stays the value where a kernel before this fails.
  const VariableValue *old =
      part->device->variables->assign ? valueForRun(ctx, slot, site, &code) : nullptr;
  if (code)
    return code;
  CudaValue *value = part->slots ? part->slots[slot].placed : nullptr;
  if (!value || value->tensor.data != tensor->data)
    value = makeForRun(ctx, slot, site, *tensor, &code);
  if (!value)
    return code;
  part->slots[slot] = {value, nullptr};
  value->nextNews = part->news;
  part->news = value;
  if (old && old->tensor.bytes != tensor->bytes)
    old = nullptr;
  return noteAssign(part, *value, tensor->data, old)
             ? int32_t(WEIR_OK)
             : abortRun(ctx->run, WEIR_RESOURCE_EXHAUSTED, "no memory for a step's work");
}

int32_t weir_cuda_publish(weir_context *ctx) {
  Current current(*partOf(ctx)->device);
  return flushWork(ctx);
}

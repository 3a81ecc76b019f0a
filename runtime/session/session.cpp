//===- session.cpp - making and ending sessions ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/session.h"

#include "session/async.h"

#include "pool/registry.h"
#include "session/cpu_features.h"
#include "session/handles.h"
#include "session/mappings.h"
#include "session/resources.h"
#include "session/run.h"
#include "session/state_parts.h"

#include <new>
#include <stddef.h>
#include <stdlib.h>

namespace weir::rt {

static int32_t noMemory(weir_status *status) {
  StatusText(status, WEIR_RESOURCE_EXHAUSTED) << "no memory for a session";
  return WEIR_RESOURCE_EXHAUSTED;
}

/// Everything that must hold before a field of the program is believed. Then
/// `program` becomes what of it this processor runs.
static int32_t checkProgram(const weir_program_desc *&program, weir_status *status) {
  // Fields after these came later; they are read through functions.
  constexpr size_t first = offsetof(weir_program_desc, customs);
  bool isRead = program->abi_version >= WEIR_ABI_OLDEST &&
                program->abi_version <= WEIR_ABI_VERSION && program->size >= first;
  bool isAccelerated = isRead && program->abi_version < WEIR_ABI_OLDEST_ACCELERATORS &&
                       acceleratorCount(program) > 0;
  if (!isRead || isAccelerated) {
    StatusText out(status, WEIR_FAILED_PRECONDITION);
    out << "the object was compiled for runtime ABI " << int64_t(program->abi_version)
        << ", and this runtime (" << weir_runtime_version() << ") has " << int64_t(WEIR_ABI_VERSION)
        << (isAccelerated ? ", which does not read its code for accelerators" : "")
        << "; compile the model anew, or link the runtime it was compiled for";
    return WEIR_FAILED_PRECONDITION;
  }
  program = chooseVariant(program, status);
  if (!program)
    return WEIR_FAILED_PRECONDITION;
  uint64_t missing =
      program->required_cpu_features & ~usableCpuFeatures(program->required_cpu_features);
  if (missing) {
    StatusText out(status, WEIR_FAILED_PRECONDITION);
    out << "program \"" << program->name << "\" was compiled for a processor with";
    for (; missing; missing &= missing - 1)
      out << ' ' << cpuFeatureName(__builtin_ctzll(missing));
    out << ", which this one lacks, or the system does not let us use; "
           "compile with a lower --cpu, x86-64-v3 for one";
    return WEIR_FAILED_PRECONDITION;
  }
  if (program->device_count < 1) {
    StatusText(status, WEIR_FAILED_PRECONDITION)
        << "program \"" << program->name << "\" names no device";
    return WEIR_FAILED_PRECONDITION;
  }
  return WEIR_OK;
}

/// Whether `count` functions are there, each with a name.
static bool areNamed(const weir_custom_function *functions, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (!functions || !functions[i].name)
      return false;
  return true;
}

/// Why the options cannot be used; null: they can.
static const char *faultOf(const weir_session_options *options, const weir_session_options &given) {
  if (options && options->size < 2 * sizeof(uint32_t))
    return "options without size (see WEIR_SESSION_OPTIONS_INIT)";
  if (!areNamed(given.functions, given.function_count))
    return "a custom function without name";
  if (given.allocator && (given.allocator->size < sizeof(weir_allocator) ||
                          !given.allocator->allocate || !given.allocator->release))
    return "an allocator without size, allocate or release";
  return faultOf(given.trace);
}

static int32_t resolveCustoms(weir_session *session, const weir_session_options &options,
                              weir_status *status) {
  const weir_program_desc *program = session->program;
  int64_t count = customCount(program);
  if (count == 0)
    return WEIR_OK;
  session->customs = static_cast<weir_library_fn *>(calloc(size_t(count), sizeof(void *)));
  if (!session->customs)
    return noMemory(status);
  for (int64_t i = 0; i < count; ++i) {
    const weir_custom_desc &desc = program->customs[i];
    session->customs[i] = desc.fallback;
    for (int32_t f = 0; f < options.function_count; ++f)
      if (strcmp(options.functions[f].name, desc.name) == 0)
        session->customs[i] = options.functions[f].function;
    if (session->customs[i])
      continue;
    StatusText(status, WEIR_NOT_FOUND)
        << "custom operation \"" << desc.name << "\" of node \"" << desc.nodes
        << "\" has no function; hand it over in "
           "weir_session_options::functions";
    return WEIR_NOT_FOUND;
  }
  return WEIR_OK;
}

/// Finds out which devices are other tasks'.
static int32_t placeDevices(weir_session *session, const weir_session_options &options,
                            weir_status *status) {
  const weir_transport *transport = options.transport;
  if (!transport)
    return WEIR_OK;
  constexpr size_t first = offsetof(weir_transport, place);
  if (transport->size < first) {
    StatusText(status, WEIR_FAILED_PRECONDITION)
        << "the transport is of an older version than this runtime (" << weir_runtime_version()
        << ")";
    return WEIR_FAILED_PRECONDITION;
  }
  session->tasks =
      static_cast<int32_t *>(malloc(size_t(session->program->device_count) * sizeof(int32_t)));
  if (!session->tasks)
    return noMemory(status);
  for (int32_t i = 0; i < session->program->device_count; ++i)
    session->tasks[i] = -1;
  if (transport->size < first + sizeof(transport->place) || !transport->place)
    return WEIR_OK;
  return transport->place(transport->self, session->program, session->tasks, status);
}

/// Opens what the program has code for and the machine has, of this task.
static int32_t openAccelerators(weir_session *session, const weir_session_options &options,
                                weir_status *status) {
  const weir_program_desc *program = session->program;
  int64_t count = acceleratorCount(program);
  if (count == 0)
    return WEIR_OK;
  session->accelerators =
      static_cast<Accelerator **>(calloc(size_t(program->device_count), sizeof(Accelerator *)));
  if (!session->accelerators)
    return noMemory(status);
  // Those of an object of another release may be longer or shorter.
  auto *at = reinterpret_cast<const uint8_t *>(program->accelerators);
  for (int64_t i = 0; i < count; ++i) {
    auto &desc = *reinterpret_cast<const weir_accelerator_desc *>(at);
    at += desc.size;
    if (!isLocal(session, desc.device))
      continue;
    if (int32_t code = desc.driver->open(session, &desc, options.memory_limit,
                                         &session->accelerators[desc.device], status))
      return code;
  }
  return WEIR_OK;
}

static int32_t makeDevices(weir_session *session, const weir_session_options &options,
                           weir_status *status) {
  const weir_program_desc *program = session->program;
  session->memory =
      static_cast<BfcAllocator **>(calloc(size_t(program->device_count), sizeof(BfcAllocator *)));
  if (!session->memory)
    return noMemory(status);
  BfcOptions memoryOptions;
  memoryOptions.limit = options.memory_limit;
  SubAllocator source =
      options.allocator ? callerSubAllocator(options.allocator) : systemSubAllocator();
  for (int32_t i = 0; i < program->device_count; ++i) {
    void *memory = malloc(sizeof(BfcAllocator));
    if (!memory)
      return noMemory(status);
    const Accelerator *accelerator = acceleratorOf(session, i);
    session->memory[i] = new (memory) BfcAllocator(
        program->devices[i].name, accelerator ? accelerator->staging : source, memoryOptions);
    session->deviceCount = i + 1;
  }
  return WEIR_OK;
}

/// The last step of making a session: from here on other tasks may ask for
/// parts.
static int32_t attachTransport(weir_session *session, const weir_session_options &options,
                               weir_status *status) {
  if (!options.transport)
    return WEIR_OK;
  if (int32_t code = options.transport->attach(options.transport->self, session, &transportHost,
                                               session->program, session->tasks, status))
    return code;
  session->transport = options.transport;
  return WEIR_OK;
}

/// Whether `count` sizes and the contents that they claim are just `bytes`.
static bool stringsFit(const uint8_t *data, int64_t count, int64_t bytes) {
  int64_t rest = bytes;
  if (count > rest / int64_t(sizeof(int64_t)))
    return false;
  rest -= count * int64_t(sizeof(int64_t));
  for (int64_t i = 0; i < count; ++i) {
    int64_t size;
    memcpy(&size, data + i * int64_t(sizeof(size)), sizeof(size));
    if (size < 0 || size > rest)
      return false;
    rest -= size;
  }
  return rest == 0;
}

/// Elements for strings whose sizes and contents lie at `data`; null: no memory.
static weir_string *pointToStrings(const uint8_t *data, int64_t count) {
  auto *elements = static_cast<weir_string *>(malloc(size_t(count | !count) * sizeof(weir_string)));
  auto *contents = reinterpret_cast<const char *>(data + count * int64_t(sizeof(int64_t)));
  for (int64_t i = 0; elements && i < count; ++i) {
    int64_t size;
    memcpy(&size, data + i * int64_t(sizeof(size)), sizeof(size));
    elements[i] = {contents, size};
    contents += size;
  }
  return elements;
}

/// Finds out which devices keep values of variables.
static bool findHomes(weir_session *session) {
  for (int32_t i = 0; i < session->deviceCount; ++i) {
    Accelerator *accelerator = acceleratorOf(session, i);
    if (!accelerator)
      continue;
    const weir_accelerator_desc &desc = *accelerator->desc;
    if (desc.slot_count > 0 && !session->homes)
      session->homes = static_cast<Accelerator **>(
          calloc(size_t(session->program->slot_count), sizeof(Accelerator *)));
    for (int64_t s = 0; s < desc.slot_count; ++s) {
      if (!session->homes)
        return false;
      session->homes[desc.slots[s]] = accelerator;
    }
  }
  return true;
}

/// Bytes of a variable's initial value, -1: the description makes no sense.
static int64_t initialBytes(const weir_slot_desc &slot) {
  int64_t elements = slot.rank <= WEIR_MAX_RANK ? elementCount(slot.rank, slot.dims) : -1;
  return elements < 0 || hasContents(slot.dtype) ? -1 : elements * weir_dtype_size(slot.dtype);
}

/// All variables that begin with zeros read the same ones.
static bool makeZeros(weir_session *session) {
  const weir_program_desc *program = session->program;
  for (int32_t i = 0; i < program->slot_count; ++i)
    if (program->slots[i].initial == WEIR_INITIAL_ZEROS) {
      int64_t bytes = initialBytes(program->slots[i]);
      bytes = bytes < 1 ? 1 : bytes;
      session->zeroBytes = bytes > session->zeroBytes ? bytes : session->zeroBytes;
    }
  session->zeros = session->zeroBytes ? mapZeros(session->zeroBytes) : nullptr;
  return session->zeros || !session->zeroBytes;
}

/// Values that variables begin with lie in the blobs; no copies are made, but
/// for the elements of strings, and for devices that keep values.
static int32_t makeSlots(weir_session *session, weir_status *status) {
  const weir_program_desc *program = session->program;
  auto count = size_t(program->slot_count);
  if (count == 0)
    return WEIR_OK;
  if (!findHomes(session))
    return noMemory(status);
  session->slots = static_cast<VariableValue **>(calloc(count, sizeof(VariableValue *)));
  session->initial = static_cast<VariableValue *>(calloc(count, sizeof(VariableValue)));
  session->taken = static_cast<uint8_t *>(calloc(count, 1));
  if (!session->slots || !session->initial || !session->taken || !makeZeros(session))
    return noMemory(status);
  for (size_t i = 0; i < count; ++i) {
    const weir_slot_desc &slot = program->slots[i];
    bool isZeros = slot.initial == WEIR_INITIAL_ZEROS;
    if (slot.initial < 0 && !isZeros)
      continue;
    weir_tensor &tensor = session->initial[i].tensor;
    int64_t elements = slot.rank <= WEIR_MAX_RANK ? elementCount(slot.rank, slot.dims) : -1;
    int64_t bytes = isZeros ? initialBytes(slot) : slot.initial_bytes;
    bool isString = slot.dtype == WEIR_STRING;
    const uint8_t *data = isZeros ? session->zeros : session->blobs + slot.initial;
    if (slot.rank < 0 || bytes < 0 || elements < 0 || (hasContents(slot.dtype) && !isString) ||
        (!isZeros && slot.initial > program->blob_bytes - bytes) ||
        (isString ? !stringsFit(data, elements, bytes) : bytes != initialBytes(slot))) {
      StatusText(status, WEIR_INTERNAL)
          << "the initial value of variable \"" << slot.name << "\" contradicts its description";
      return WEIR_INTERNAL;
    }
    tensor.data = const_cast<uint8_t *>(data);
    tensor.bytes = bytes;
    if (isString) {
      tensor.bytes = elements * int64_t(sizeof(weir_string));
      tensor.data = pointToStrings(data, elements);
      if (!tensor.data)
        return noMemory(status);
    }
    tensor.dtype = slot.dtype;
    tensor.rank = slot.rank;
    for (int32_t d = 0; d < slot.rank; ++d)
      tensor.dims[d] = slot.dims[d];
    session->slots[i] = &session->initial[i];
    if (!homeOf(session, int32_t(i)))
      continue;
    if (int32_t code = makeValue(session, int32_t(i), tensor, &session->slots[i], status))
      return code;
    dropFilePages(tensor.data, tensor.bytes);
  }
  return WEIR_OK;
}

static int32_t countSymbols(const weir_program_desc *program) {
  int32_t count = 0;
  for (int32_t e = 0; e < entriesAndFunctions(program); ++e)
    for (int32_t f = 0; f < program->entries[e].feed_count; ++f) {
      const weir_tensor_desc &feed = program->entries[e].feeds[f];
      for (int32_t d = 0; feed.symbols && d < feed.rank; ++d)
        if (feed.symbols[d] >= count)
          count = feed.symbols[d] + 1;
    }
  return count;
}

static int32_t restoreOwnVariables(weir_session *session, const weir_session_options &options,
                                   weir_status *status) {
  if (!options.restore)
    return WEIR_OK;
  if (restoreOwnPart) {
    int32_t code = restoreOwnPart(session, options.restore, status);
    session->beganRestored = code == WEIR_OK;
    return code;
  }
  StatusText(status, WEIR_UNIMPLEMENTED)
      << "weir_session_options::restore: the program is linked without checkpoints";
  return WEIR_UNIMPLEMENTED;
}

static int32_t fillSession(weir_session *session, const weir_session_options &options,
                           weir_status *status) {
  const weir_program_desc *program = session->program;
  session->trace = options.trace;
  constexpr int64_t millisecond = 1000000;
  session->allocationWait = options.allocation_wait_ms == 0 ? 10000 * millisecond
                            : options.allocation_wait_ms < 0
                                ? 0
                                : options.allocation_wait_ms * millisecond;
  session->blobs = program->blobs;
  if (program->weights_file) {
    if (int32_t code = mapWeights(program, options.weights_file, &session->weights, status))
      return code;
    session->blobs = session->weights.data;
  }
  if (int32_t code = resolveCustoms(session, options, status))
    return code;
  if (int32_t code = placeDevices(session, options, status))
    return code;
  if (int32_t code = openAccelerators(session, options, status))
    return code;
  if (int32_t code = makeDevices(session, options, status))
    return code;
  if (int32_t code = makeSlots(session, status))
    return code;
  session->symbolCount = countSymbols(program);
  int32_t threads = options.threads > 0            ? options.threads
                    : program->default_threads > 0 ? program->default_threads
                                                   : usableProcessors();
  if (threads > maxThreads)
    threads = maxThreads;
  if (int32_t code = acquireExecutor(options, threads, &session->executor, status))
    return code;
  if (int32_t code = restoreOwnVariables(session, options, status))
    return code;
  return attachTransport(session, options, status);
}

static void destroyIdleRuns(weir_session *session) {
  for (;;) {
    weir_run *run;
    {
      Lock lock(session->mutex);
      run = session->idleRuns;
      if (!run)
        return;
      session->idleRuns = run->next;
    }
    destroyRun(run);
  }
}

void trimSession(weir_session *session) {
  destroyIdleRuns(session);
  for (int32_t i = 0; i < session->deviceCount; ++i) {
    session->memory[i]->collect();
    if (Accelerator *accelerator = acceleratorOf(session, i))
      accelerator->memory->collect();
  }
}

const char *acceleratorKind(const weir_session *session) {
  const weir_program_desc *program = session->program;
  return acceleratorCount(program) > 0 ? program->accelerators->driver->kind
                                       : "device beside the host";
}

/// A device's own memory, for statistics.
static BfcAllocator *memoryOf(weir_session *session, int32_t device) {
  Accelerator *accelerator = acceleratorOf(session, device);
  return accelerator ? accelerator->memory : session->memory[device];
}

} // namespace weir::rt

using namespace weir::rt;

static void destroySession(weir_session *session) {
  if (session->transport)
    session->transport->detach(session->transport->self);
  stopResources(session);
  endAsyncRuns(session->asyncRuns);
  destroyIdleRuns(session);
  if (session->executor)
    releaseExecutor(session->executor);
  destroyResources(session);
  // Values, results and all else that lies in the devices' memory goes with it.
  for (int32_t i = 0; i < session->deviceCount; ++i) {
    session->memory[i]->~BfcAllocator();
    free(session->memory[i]);
  }
  free(session->memory);
  free(session->tasks);
  for (int32_t i = 0; session->accelerators && i < session->program->device_count; ++i)
    if (Accelerator *accelerator = session->accelerators[i])
      accelerator->desc->driver->close(accelerator);
  free(session->accelerators);
  free(session->customs);
  free(session->slots);
  free(session->taken);
  free(session->homes);
  for (int32_t i = 0; session->initial && i < session->program->slot_count; ++i)
    if (session->initial[i].tensor.dtype == WEIR_STRING)
      free(session->initial[i].tensor.data);
  free(static_cast<void *>(session->initial));
  unmapZeros(session->zeros, session->zeroBytes);
  unmapWeights(&session->weights);
  session->~weir_session();
  free(session);
}

int32_t weir_session_create(const weir_program_desc *program, const weir_session_options *options,
                            weir_session **session, weir_status *status) {
  weir_session_options given = {};
  if (options)
    memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
  if (!program || !session)
    return refuseNull(status, "weir_session_create", program ? "session" : "program");
  if (const char *fault = faultOf(options, given)) {
    StatusText(status, WEIR_INVALID_ARGUMENT) << "weir_session_create: found " << fault;
    return WEIR_INVALID_ARGUMENT;
  }
  const weir_program_desc *whole = program;
  if (int32_t code = checkProgram(program, status))
    return code;
  void *memory = calloc(1, sizeof(weir_session));
  if (!memory)
    return noMemory(status);
  auto *made = new (memory) weir_session();
  made->program = program;
  made->given = whole;
  if (int32_t code = fillSession(made, given, status)) {
    destroySession(made);
    return code;
  }
  rememberHandle(made, HandleKind::Session);
  *session = made;
  return setStatus(status, WEIR_OK);
}

void weir_session_destroy(weir_session *session) {
  // Of two threads that destroy one session, or of two calls, one does it.
  if (forgetHandle(session, HandleKind::Session))
    destroySession(session);
}

const weir_program_desc *weir_session_program(const weir_session *session) {
  return isHandle(session, HandleKind::Session) ? session->program : nullptr;
}

int32_t weir_session_find_entry(const weir_session *session, const char *name) {
  if (!name || !isHandle(session, HandleKind::Session))
    return -1;
  for (int32_t i = 0; i < session->program->entry_count; ++i)
    if (strcmp(session->program->entries[i].name, name) == 0)
      return i;
  return -1;
}

int32_t weir_session_threads(const weir_session *session) {
  return isHandle(session, HandleKind::Session) ? session->executor->threads() : 0;
}

void weir_session_release(weir_session *session, weir_tensor *tensor) {
  bool exists = tensor && isHandle(session, HandleKind::Session);
  Block *block = exists ? findResult(session, tensor->data) : nullptr;
  if (!block)
    return;
  block->memory->free(block);
  tensor->data = nullptr;
}

void weir_session_trim(weir_session *session) {
  if (isHandle(session, HandleKind::Session))
    trimSession(session);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int32_t weir_session_memory(weir_session *session, int32_t device, weir_memory_stats *stats) {
  if (!isHandle(session, HandleKind::Session) || !stats || stats->size < 2 * sizeof(uint32_t))
    return WEIR_INVALID_ARGUMENT;
  if (device < 0 || device >= session->deviceCount)
    return WEIR_OUT_OF_RANGE;
  BfcStats s = memoryOf(session, device)->stats();
  weir_memory_stats full = {stats->size,   s.regions,   s.limit,       s.reserved,     s.inUse,
                            s.requested,   s.peakInUse, s.allocations, s.live,         s.largest,
                            s.largestFree, s.waits,     s.collected,   s.fragmentation};
  memcpy(stats, &full, stats->size < sizeof(full) ? stats->size : sizeof(full));
  return WEIR_OK;
}

int64_t weir_session_memory_report(weir_session *session, int32_t device, char *buffer,
                                   int64_t capacity) {
  if (!buffer)
    capacity = 0;
  if (!isHandle(session, HandleKind::Session) || device < 0 || device >= session->deviceCount) {
    if (capacity > 0)
      buffer[0] = 0;
    return 1;
  }
  return memoryOf(session, device)->report(buffer, capacity) + 1;
}

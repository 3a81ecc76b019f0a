//===- run.cpp - one execution of an entry --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/run.h"

#include "collectives/driver.h"
#include "session/handles.h"
#include "support/float_environment.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

//===----------------------------------------------------------------------===//
// Making and keeping runs
//===----------------------------------------------------------------------===//

static void *callocArray(int64_t count, size_t size) {
  return calloc(size_t(count < 1 ? 1 : count), size);
}

void destroyRun(weir_run *run) {
  for (int32_t i = 0; run->devices && i < run->session->deviceCount; ++i) {
    run->session->memory[i]->free(run->devices[i].arenaBlock);
    if (run->devices[i].onDevice)
      acceleratorOf(run->session, i)->desc->driver->release(run, i);
  }
  run->rendezvous.destroy();
  free(run->devices);
  free(run->feeds);
  free(run->symbols);
  free(run->results);
  free(run->latestHeld);
  free(run->written);
  free(run->edgeCounts);
  free(run->held);
  run->~weir_run();
  free(run);
}

/// A run without arenas, with room for any entry.
static weir_run *makeRun(weir_session *session) {
  const weir_program_desc *program = session->program;
  int32_t feeds = 0, fetches = 0;
  for (int32_t i = 0; i < entriesAndFunctions(program); ++i) {
    const weir_entry_desc &entry = program->entries[i];
    feeds = entry.feed_count > feeds ? entry.feed_count : feeds;
    fetches = entry.fetch_count > fetches ? entry.fetch_count : fetches;
  }
  void *memory = calloc(1, sizeof(weir_run));
  if (!memory)
    return nullptr;
  auto *run = new (memory) weir_run();
  run->session = session;
  run->devices = static_cast<DeviceRun *>(callocArray(session->deviceCount, sizeof(DeviceRun)));
  run->feeds = static_cast<weir_tensor *>(callocArray(feeds, sizeof(weir_tensor)));
  run->symbols = static_cast<int64_t *>(callocArray(session->symbolCount, sizeof(int64_t)));
  run->results = static_cast<FetchResult *>(callocArray(fetches, sizeof(FetchResult)));
  run->latestHeld =
      static_cast<VariableValue **>(callocArray(program->slot_count, sizeof(VariableValue *)));
  run->written =
      static_cast<WrittenValue *>(callocArray(program->slot_count, sizeof(WrittenValue)));
  run->edgeCounts = static_cast<EdgeCounts *>(callocArray(program->edge_count, sizeof(EdgeCounts)));
  if (!run->devices || !run->feeds || !run->symbols || !run->results || !run->latestHeld ||
      !run->written || !run->edgeCounts) {
    destroyRun(run);
    return nullptr;
  }
  for (int32_t i = 0; i < session->deviceCount; ++i) {
    weir_context &context = run->devices[i].context;
    context.size = sizeof(weir_context);
    context.device = uint32_t(i);
    context.blobs = session->blobs;
    context.feeds = run->feeds;
    context.run = run;
  }
  return run;
}

bool hasStep(const weir_run *run, int32_t device) {
  return run->entry->steps[device] && isLocal(run->session, device);
}

weir_run *takeRun(weir_session *session, const weir_entry_desc *entry) {
  weir_run *run;
  {
    Lock lock(session->mutex);
    run = session->idleRuns;
    if (run)
      session->idleRuns = run->next;
  }
  if (!run)
    run = makeRun(session);
  if (run)
    run->entry = entry;
  return run;
}

static void freeArrival(void *, Arrival *arrival) {
  if (arrival->block && arrival->block->kind != Block::atHand)
    arrival->block->memory->free(arrival->block);
}

void returnRun(weir_run *run) {
  while (Block *block = run->blocks) {
    run->blocks = block->next;
    block->memory->free(block);
  }
  dropWaits(run);
  run->rendezvous.forEach(freeArrival, nullptr);
  run->rendezvous.clear();
  for (int32_t i = 0; i < run->session->program->edge_count; ++i) {
    run->rendezvous.keep(run->edgeCounts[i].arrived);
    run->rendezvous.keep(run->edgeCounts[i].found);
    run->edgeCounts[i] = {};
  }
  for (int32_t i = 0; i < run->atHandCount; ++i)
    run->atHand[i]->memory->free(run->atHand[i]);
  run->atHandCount = 0;
  for (int32_t i = 0; i < run->session->deviceCount; ++i) {
    run->devices[i].kept.store(0, std::memory_order_relaxed);
    run->devices[i].sender = {};
  }
  for (int32_t i = 0; i < run->heldCount; ++i)
    releaseValue(run->held[i]);
  run->heldCount = 0;
  for (int32_t i = 0; i < run->session->program->slot_count; ++i)
    run->latestHeld[i] = nullptr;
  for (int32_t i = 0; i < run->errorCount; ++i)
    free(run->errors[i].text);
  run->errorCount = 0;
  run->aborted.store(0, std::memory_order_relaxed);
  run->done.store(false, std::memory_order_relaxed);
  run->aborting = false;

  weir_session *session = run->session;
  Lock lock(session->mutex);
  run->next = session->idleRuns;
  session->idleRuns = run;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void finishStep(weir_context *ctx, int32_t code) {
  weir_run *run = ctx->run;
  if (code != WEIR_OK) {
    giveBackTaken(ctx);
    abortRun(run, code);
  }
  Lock lock(run->mutex);
  DeviceRun &device = run->devices[ctx->device];
  if (!device.unfinished)
    return;
  device.unfinished = false;
  --run->unfinishedSteps;
}

void addUnfinished(weir_run *run, int32_t by) {
  Lock lock(run->mutex);
  run->unfinishedSteps += by;
}

void addSegments(weir_run *run, int32_t count) {
  if (run->idleSince && count > 0) {
    run->waited += now() - run->idleSince;
    run->idleSince = 0;
  }
  run->segments += count;
}

void beginSegment(weir_run *run) {
  Lock lock(run->mutex);
  addSegments(run, 1);
}

void endSegment(weir_run *run) {
  {
    Lock lock(run->mutex);
    if (--run->segments > 0)
      return;
    // After an abort has queued all who waited, no one waits: a step that is
    // still unfinished has been lost, and the run ends without it.
    if (run->unfinishedSteps == 0 || run->aborting) {
      run->executing = false;
      run->done.store(true, std::memory_order_release);
      // Under the lock, which the waiting thread takes before it goes on.
      run->notify();
      return;
    }
    // An abort from outside is about to look for those who wait; another task may
    // send what they wait for, and another run may bring it about.
    if (run->transfer || run->outsideWaits > 0 || run->aborted.load(std::memory_order_acquire)) {
      run->idleSince = run->timesWaits ? now() : 0;
      return;
    }
  }
  abortRun(run, WEIR_INTERNAL, "a receive waits for a tensor that no device will send");
}

static void runStep(weir_run *run, int32_t device) {
  weir_context *context = &run->devices[device].context;
  weir_step_fn step = run->entry->steps[device];
  if (Accelerator *accelerator = acceleratorOf(run->session, device))
    step = accelerator->desc->steps[run->entry - run->session->program->entries];
  int32_t code = step(context);
  if (code != WEIR_PENDING)
    finishStep(context, code);
  endSegment(run);
}

static void startDevice(Task *task) {
  auto *run = static_cast<weir_run *>(task->owner);
  for (int32_t i = 0; i < run->session->deviceCount; ++i)
    if (&run->devices[i].start == task)
      return runStep(run, i);
}

static bool isDone(TaskOwner &owner) {
  auto &run = static_cast<weir_run &>(owner);
  if (!run.done.load(std::memory_order_acquire))
    return false;
  // Who has set it is about to give the lock up.
  Lock lock(run.mutex);
  return true;
}

/// Tells the transport of a run. Sets how many parts of it other tasks run.
static int32_t beginTransfer(weir_run *run, int32_t feedCount, int64_t step, int32_t *parts,
                             weir_status *status) {
  const weir_transport *transport = run->session->transport;
  if (!transport)
    return WEIR_OK;
  auto entry = int32_t(run->entry - run->session->program->entries);
  return transport->begin(transport->self, run, run->part, entry, step, run->feeds, feedCount,
                          parts, &run->transfer, status);
}

/// After this nobody else touches the run.
static void endTransfer(weir_run *run) {
  if (!run->transfer)
    return;
  weir_status status = WEIR_STATUS_INIT;
  if (run->aborted.load(std::memory_order_acquire))
    describeError(run, &status);
  const weir_transport *transport = run->session->transport;
  transport->end(transport->self, run->transfer, status.code, status.message);
  run->transfer = nullptr;
}

/// Says which steps the run waits for, and holds it open with one segment more
/// until executeSteps has begun them. Returns the first device of this task, -1:
/// none.
static int32_t countSteps(weir_run *run) {
  int32_t first = -1, count = 0;
  for (int32_t i = 0; i < run->session->deviceCount; ++i) {
    bool active = hasStep(run, i);
    run->devices[i].unfinished = active;
    count += active;
    if (active && first < 0)
      first = i;
  }
  Lock lock(run->mutex);
  const weir_transport *transport = run->session->transport;
  constexpr size_t end = offsetof(weir_transport, times) + sizeof(transport->times);
  run->timesWaits = transport && transport->size >= end && transport->times;
  run->idleSince = run->waited = 0;
  run->segments = count + 1;
  run->unfinishedSteps = count;
  run->executing = true;
  return first;
}

static void forgetSteps(weir_run *run) {
  Lock lock(run->mutex);
  run->segments = run->unfinishedSteps = 0;
  run->executing = false;
}

/// Runs the steps of this task's devices to their ends, and waits for `parts`
/// of other tasks.
static void executeSteps(weir_run *run, int32_t first, int32_t parts) {
  Executor &executor = *run->session->executor;
  const weir_transport *transport = run->session->transport;
  IdleWork moving{transport ? transport->help : nullptr, transport ? transport->self : nullptr};
  const IdleWork *idle = run->transfer ? &moving : nullptr;
  {
    Lock lock(run->mutex);
    run->unfinishedSteps += parts;
  }
  // Before a step can send to one.
  if (collectiveCount(run->session->program) > 0)
    run->session->program->collective_driver->begin(run);
  for (int32_t i = first + 1; first >= 0 && i < run->session->deviceCount; ++i)
    if (run->devices[i].unfinished) {
      run->devices[i].start.run = startDevice;
      run->devices[i].start.owner = run;
      executor.post(&run->devices[i].start);
    }
  if (first >= 0)
    runStep(run, first);
  endSegment(run);
  if (executor.helpUntil(*run, isDone, run->deadline, idle))
    return;
  abortRun(run, WEIR_DEADLINE_EXCEEDED, "the time that the run was given is over");
  executor.helpUntil(*run, isDone, noDeadline, idle);
}

//===----------------------------------------------------------------------===//
// Fetches
//===----------------------------------------------------------------------===//

static void dropResults(weir_run *run) {
  for (int32_t i = 0; i < run->entry->fetch_count; ++i) {
    if (Block *block = run->results[i].block)
      block->memory->free(block);
    run->results[i].block = nullptr;
  }
}

/// Strings and sequences of a result point into memory of the run: copies
/// elements and contents to a result's.
static bool keepContents(weir_run *run, FetchResult &result, const weir_tensor_desc &desc) {
  const char *name = desc.name;
  weir_tensor tensor = {};
  tensor.data = result.data;
  tensor.bytes = result.bytes;
  tensor.dtype = desc.dtype;
  int64_t bytes = copyBytes(tensor);
  weir_context *context = &run->devices[0].context;
  Block *block = allocateForRun(context, bytes, name, Block::ofResult);
  if (!block) {
    abortRun(run, recordOutOfMemory(context, bytes, name, -1));
    return false;
  }
  copyElements(tensor, block->data());
  if (result.block)
    result.block->memory->free(result.block);
  result.block = block;
  result.data = block->data();
  return true;
}

/// Hands the results over, all or none. False: the run has failed.
static bool giveResults(weir_run *run, weir_tensor *fetches) {
  const weir_entry_desc &entry = *run->entry;
  for (int32_t i = 0; i < entry.fetch_count; ++i) {
    if (!run->results[i].written && run->part)
      continue;
    if (!run->results[i].written) {
      char text[256];
      Text(text, sizeof(text)) << "fetch \"" << entry.fetches[i].name << "\" was not computed";
      abortRun(run, WEIR_INTERNAL, text);
      return false;
    }
    if (hasContents(entry.fetches[i].dtype) &&
        !keepContents(run, run->results[i], entry.fetches[i]))
      return false;
  }
  for (int32_t i = 0; i < entry.fetch_count; ++i) {
    FetchResult &result = run->results[i];
    weir_tensor &fetch = fetches[i];
    if (!result.written) {
      fetch = {};
      continue;
    }
    if (result.data != fetch.data && fetch.data)
      if (Block *old = findResult(run->session, fetch.data))
        old->memory->free(old);
    fetch.data = result.data;
    fetch.bytes = result.bytes;
    fetch.dtype = entry.fetches[i].dtype;
    fetch.rank = result.rank;
    for (int32_t d = 0; d < WEIR_MAX_RANK; ++d)
      fetch.dims[d] = d < result.rank ? result.dims[d] : 0;
    result.block = nullptr;
  }
  return true;
}

} // namespace weir::rt

using namespace weir::rt;

void weir_rt_step_done(weir_context *ctx, int32_t code) { finishStep(ctx, code); }

/// Steps and results of a run that has all it needs.
static int32_t executeRun(weir_run *run, int32_t feedCount, int64_t step, weir_tensor *fetches,
                          weir_status *status) {
  int32_t first = countSteps(run), parts = 0;
  if (int32_t code = beginTransfer(run, feedCount, step, &parts, status)) {
    forgetSteps(run);
    return code;
  }
  weir_trace_event event;
  if (run->trace) {
    // A device of this task: others' events lie beside it in a trace of all.
    event = traceEvent(&run->devices[first < 0 ? 0 : first].context, WEIR_TRACE_RUN,
                       run->entry->name, "");
    run->trace->begin(run->trace->self, &event);
  }
  executeSteps(run, first, parts);
  endTransfer(run);
  // Asked once: what is cancelled from here on has succeeded.
  bool given = !run->aborted.load(std::memory_order_acquire) && giveResults(run, fetches);
  if (run->trace)
    run->trace->end(run->trace->self, &event);
  if (given)
    return setStatus(status, WEIR_OK);
  dropResults(run);
  return describeError(run, status);
}

/// Whether the run finds a size of what is described.
static bool isOpen(const weir_tensor_desc &desc) {
  for (int32_t i = 0; i < desc.rank; ++i)
    if (desc.dims[i] < 0)
      return true;
  return desc.rank < 0;
}

/// Fetches that begin where a feed does, of which `overFeedOf` does not say that they may. An
/// accelerator has read what it is fed before it writes.
static int32_t checkPlaces(const weir_run *run, const weir_tensor *feeds, weir_status *status) {
  const weir_entry_desc &entry = *run->entry;
  if (acceleratorCount(run->session->program))
    return WEIR_OK;
  for (int32_t i = 0; i < entry.fetch_count; ++i) {
    const weir_tensor &fetch = run->fetches[i];
    if (!fetch.data || !fetch.bytes || (run->fetchesOnDevice && run->fetchesOnDevice[i]))
      continue;
    for (int32_t k = 0; k < entry.feed_count; ++k) {
      if (feeds[k].data != fetch.data || !feeds[k].bytes)
        continue;
      if (overFeedOf(run->session->program, &entry, i) == k) {
        // Of an open size it may become larger than the feed, and would be made while that is read.
        if (fetch.bytes <= feeds[k].bytes || !(isOpen(entry.fetches[i]) || isOpen(entry.feeds[k])))
          continue;
        StatusText(status, WEIR_INVALID_ARGUMENT)
            << "fetch \"" << entry.fetches[i].name << "\" of entry \"" << entry.name << "\": found "
            << fetch.bytes << " bytes at the memory of feed \"" << entry.feeds[k].name
            << "\"; possible: its " << feeds[k].bytes << " bytes, or other memory";
        return WEIR_INVALID_ARGUMENT;
      }
      StatusText(status, WEIR_INVALID_ARGUMENT)
          << "fetch \"" << entry.fetches[i].name << "\" of entry \"" << entry.name
          << "\": found the memory of feed \"" << entry.feeds[k].name
          << "\", possible: memory that no feed has";
      return WEIR_INVALID_ARGUMENT;
    }
  }
  return WEIR_OK;
}

static int32_t runEntry(weir_run *run, const weir_tensor *feeds, int32_t feedCount,
                        weir_tensor *fetches, const weir_run_options &options,
                        const weir_part *part, weir_status *status) {
  auto entryIndex = int32_t(run->entry - run->session->program->entries);
  if (int32_t code =
          checkFeeds(run->session, entryIndex, feeds, feedCount, run->feeds, run->symbols, status))
    return code;
  // Before arenas: what begins the run on an accelerator looks at the stream.
  run->fetches = fetches;
  run->feedsOnDevice = options.feeds_on_gpu;
  run->fetchesOnDevice = options.fetches_on_gpu;
  run->deviceStream = options.cuda_stream;
  if (int32_t code = checkDirect(run, part != nullptr, status))
    return code;
  if (int32_t code = checkPlaces(run, feeds, status))
    return code;
  int64_t patience = now() + run->session->allocationWait;
  if (prepareArenas(run, run->deadline < patience ? run->deadline : patience))
    return describeError(run, status);
  run->part = part ? part->context : nullptr;
  for (int32_t i = 0; i < run->entry->fetch_count; ++i)
    run->results[i] = FetchResult{};
  int64_t step = part ? part->step : run->session->nextStep.fetch_add(1, std::memory_order_relaxed);
  for (int32_t i = 0; i < run->session->deviceCount; ++i) {
    run->devices[i].context.step = step;
    run->devices[i].librarySite = -1;
  }
  return executeRun(run, feedCount, step, fetches, status);
}

namespace weir::rt {

const char *faultOf(const weir_trace *trace) {
  if (!trace || (trace->size >= offsetof(weir_trace, span) && trace->begin && trace->end))
    return nullptr;
  return "a trace without size, begin or end";
}

int32_t checkRunOptions(const weir_run_options *options, const char *function,
                        weir_status *status) {
  weir_run_options given = {};
  if (options)
    memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
  const char *fault = options && options->size < 2 * sizeof(uint32_t)
                          ? "options without size (see WEIR_RUN_OPTIONS_INIT)"
                          : faultOf(given.trace);
  if (!fault && given.cancellation && !isHandle(given.cancellation, HandleKind::Cancellation))
    fault = "a cancellation that was destroyed, or is of another runtime";
  if (!fault)
    return WEIR_OK;
  StatusText(status, WEIR_INVALID_ARGUMENT) << function << ": found " << fault;
  return WEIR_INVALID_ARGUMENT;
}

int32_t runSession(weir_session *session, int32_t entry, const weir_tensor *feeds,
                   int32_t feedCount, weir_tensor *fetches, const weir_run_options &options,
                   const weir_part *part, weir_status *status) {
  int64_t deadline = noDeadline;
  if (options.timeout_ns > 0 && __builtin_add_overflow(now(), options.timeout_ns, &deadline))
    deadline = noDeadline;

  FloatEnvironment environment;
  weir_run *run = takeRun(session, &session->program->entries[entry]);
  if (!run) {
    StatusText(status, WEIR_RESOURCE_EXHAUSTED) << "no memory for a run";
    return WEIR_RESOURCE_EXHAUSTED;
  }
  session->activeRuns.fetch_add(1, std::memory_order_relaxed);
  run->deadline = deadline;
  run->trace = options.trace ? options.trace : __atomic_load_n(&session->trace, __ATOMIC_ACQUIRE);
  run->threads = session->executor->threads();
  if (options.threads > 0 && options.threads < run->threads)
    run->threads = options.threads;
  if (options.cancellation)
    enterCancellation(options.cancellation, run);
  int32_t code = runEntry(run, feeds, feedCount, fetches, options, part, status);
  if (options.cancellation)
    leaveCancellation(options.cancellation, run);
  returnRun(run);
  session->activeRuns.fetch_sub(1, std::memory_order_relaxed);
  return code;
}

int32_t runAsked(weir_session *session, int32_t entry, const weir_tensor *feeds, int32_t feed_count,
                 weir_tensor *fetches, int32_t fetch_count, const weir_run_options *options,
                 weir_status *status) {
  constexpr const char *function = "weir_session_run";
  if ((!feeds && feed_count > 0) || (!fetches && fetch_count > 0))
    return refuseNull(status, function, !feeds && feed_count > 0 ? "feeds" : "fetches");
  if (int32_t code = checkRunOptions(options, function, status))
    return code;
  const weir_program_desc *program = session->program;
  weir_run_options given = {};
  if (options)
    memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
  if (entry < 0 || entry >= program->entry_count) {
    StatusText(status, WEIR_OUT_OF_RANGE) << "entry " << entry << " of program \"" << program->name
                                          << "\" does not exist; it has " << program->entry_count;
    return WEIR_OUT_OF_RANGE;
  }
  const weir_entry_desc *desc = &program->entries[entry];
  if (fetch_count != desc->fetch_count) {
    StatusText(status, WEIR_INVALID_ARGUMENT)
        << "entry \"" << desc->name << "\" gives " << desc->fetch_count
        << (desc->fetch_count == 1 ? " fetch" : " fetches") << ", not " << fetch_count;
    return WEIR_INVALID_ARGUMENT;
  }
  return runSession(session, entry, feeds, feed_count, fetches, given, nullptr, status);
}

} // namespace weir::rt

int32_t weir_session_run(weir_session *session, int32_t entry, const weir_tensor *feeds,
                         int32_t feed_count, weir_tensor *fetches, int32_t fetch_count,
                         const weir_run_options *options, weir_status *status) {
  if (int32_t code = checkSession(session, "weir_session_run", status))
    return code;
  return runAsked(session, entry, feeds, feed_count, fetches, fetch_count, options, status);
}

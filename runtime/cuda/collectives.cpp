//===- collectives.cpp - what GPUs compute together ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/collectives.h"

#include <new>
#include <stddef.h>
#include <stdlib.h>

namespace weir::rt::cuda {

/// Calls visit(device) for each of a set, ascending.
template <typename Visit> static void forEachDevice(uint64_t devices, Visit visit) {
  for (; devices; devices &= devices - 1)
    visit(int32_t(__builtin_ctzll(devices)));
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

static Collectives *make(const weir_cuda_record &record) {
  const Nccl *nccl = loadNccl();
  void *memory = nccl ? calloc(1, sizeof(Collectives)) : nullptr;
  if (!memory)
    return nullptr;
  auto *all = new (memory) Collectives();
  all->nccl = nccl;
  all->descs = record.collectives;
  all->count = record.collective_count;
  all->byCollective = static_cast<Clique **>(calloc(size_t(all->count), sizeof(Clique *)));
  if (all->byCollective)
    return all;
  free(all);
  return nullptr;
}

static void release(Collectives *all) {
  while (Clique *clique = all->cliques) {
    all->cliques = clique->next;
    free(clique);
  }
  free(all->byCollective);
  free(all);
}

/// The communicators of a set of GPUs, all open; null: there are none.
static Clique *makeClique(const Collectives &all, uint64_t devices, CudaDevice *const *opened) {
  auto *clique = static_cast<Clique *>(calloc(1, sizeof(Clique)));
  if (!clique)
    return nullptr;
  clique->devices = devices;
  Communicator made[mostPeers] = {};
  int ordinals[mostPeers], count = 0;
  forEachDevice(devices, [&](int32_t device) { ordinals[count++] = opened[device]->ordinal; });
  Current current(*opened[__builtin_ctzll(devices)]);
  if (all.nccl->initAll(made, count, ordinals) != 0) {
    free(clique);
    return nullptr;
  }
  count = 0;
  forEachDevice(devices, [&](int32_t device) { clique->communicators[device] = made[count++]; });
  return clique;
}

void meetCollectives(weir_session *session, CudaDevice *device) {
  if (device->record->collective_count == 0 || device->desc->device >= mostPeers)
    return;
  CudaDevice *opened[mostPeers] = {};
  uint64_t there = 0;
  Collectives *all = nullptr;
  for (int32_t i = 0; i < session->program->device_count && i < mostPeers; ++i) {
    auto *each =
        i == device->desc->device ? device : static_cast<CudaDevice *>(session->accelerators[i]);
    if (!each || each->desc->driver != device->desc->driver)
      continue;
    opened[i] = each;
    there |= uint64_t(1) << i;
    if (each->collectives)
      all = each->collectives;
  }
  if (!all && !(all = make(*device->record)))
    return;
  device->collectives = all;
  ++all->users;
  for (int64_t i = 0; i < all->count; ++i) {
    uint64_t devices = all->descs[i].devices;
    // The last to be opened makes the communicators.
    if (!(devices >> device->desc->device & 1) || (devices & ~there) != 0)
      continue;
    Clique *clique = all->cliques;
    while (clique && clique->devices != devices)
      clique = clique->next;
    if (!clique) {
      // What is refused once takes long to be refused again.
      if (!(clique = makeClique(*all, devices, opened)))
        return;
      clique->next = all->cliques;
      all->cliques = clique;
    }
    all->byCollective[i] = clique;
  }
}

void leaveCollectives(CudaDevice &device) {
  Collectives *all = device.collectives;
  if (!all)
    return;
  device.collectives = nullptr;
  int32_t number = device.desc->device;
  for (Clique *clique = all->cliques; clique; clique = clique->next)
    if (clique->devices >> number & 1)
      for (Communicator &communicator : clique->communicators)
        if (communicator) {
          all->nccl->destroy(communicator);
          communicator = nullptr;
        }
  if (all->last[number])
    device.driver->eventDestroy(all->last[number]);
  if (--all->users == 0)
    release(all);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

bool mayReduceTogether(const CudaDevice &device) {
  return device.collectives && !device.collectives->broken.load(std::memory_order_acquire);
}

bool computesWith(const CudaDevice &device, int32_t other) {
  const weir_cuda_collective *descs = device.record->collectives;
  uint64_t both = uint64_t(1) << device.desc->device | uint64_t(1) << other;
  for (int64_t i = 0; i < device.record->collective_count; ++i)
    if ((descs[i].devices & both) == both)
      return true;
  return false;
}

bool lostCollectives(const CudaRun *part) {
  return part->reducedTogether && !mayReduceTogether(*part->device);
}

static CudaRun *partOn(const weir_run *run, int32_t device) {
  return static_cast<CudaRun *>(run->devices[device].onDevice);
}

static int typeOf(int32_t dtype) {
  switch (dtype) {
  case WEIR_I8:
    return nccl::int8;
  case WEIR_U8:
    return nccl::uint8;
  case WEIR_I32:
    return nccl::int32;
  case WEIR_U32:
    return nccl::uint32;
  case WEIR_I64:
    return nccl::int64;
  case WEIR_U64:
    return nccl::uint64;
  case WEIR_F16:
    return nccl::float16;
  case WEIR_F64:
    return nccl::float64;
  case WEIR_BF16:
    return nccl::bfloat16;
  default:
    return nccl::float32;
  }
}

static int operationOf(int32_t reduction) {
  return reduction == WEIR_CUDA_SUM    ? nccl::sum
         : reduction == WEIR_CUDA_PROD ? nccl::prod
         : reduction == WEIR_CUDA_MAX  ? nccl::max
                                       : nccl::min;
}

const weir_cuda_collective &collectiveOf(const CudaDevice &device, int32_t number) {
  return device.collectives->descs[number];
}

/// The GPU's collectives are one sequence, in whatever streams: the part's goes on behind the
/// one before.
static Result followLast(Collectives &all, const CudaRun *part, int32_t device) {
  const Driver &driver = *part->device->driver;
  Event &last = all.last[device];
  return last ? driver.streamWait(part->together, last, 0)
              : driver.eventCreate(&last, eventDisableTiming);
}

/// Records when the collective begins or ends, where the run's trace wants to know. Without an
/// event it has no time.
static void markShare(CudaRun *part, Share &share, bool isEnd) {
  const Driver &driver = *part->device->driver;
  if (!part->timeline.on)
    return;
  Event &event = isEnd ? share.end : share.begin;
  if (!event && driver.eventCreate(&event, 0) != 0)
    event = nullptr;
  bool isRecorded = event && driver.eventRecord(event, part->together) == 0;
  share.timed = isRecorded && (!isEnd || share.timed);
}

/// A device's place in a set of them.
static int rankOf(uint64_t devices, int32_t device) {
  return __builtin_popcountll(devices & ((uint64_t(1) << device) - 1));
}

/// Has all give and get what they said, as one group. An ncclResult_t.
static int32_t putGroup(const Collectives &all, const Clique &clique, int32_t number,
                        const weir_run *run) {
  const weir_cuda_collective &desc = all.descs[number];
  const Nccl &nccl = *all.nccl;
  int32_t error = nccl.groupStart();
  if (error)
    return error;
  forEachDevice(clique.devices, [&](int32_t device) {
    const CudaRun *part = partOn(run, device);
    const Share &share = part->shares[number];
    if (error)
      return;
    Communicator communicator = clique.communicators[device];
    auto count = size_t(share.count);
    int type = typeOf(desc.dtype), operation = operationOf(desc.reduction);
    error = desc.receiver > 0 ? nccl.reduce(share.value, share.result, count, type, operation,
                                            rankOf(clique.devices, desc.receiver - 1), communicator,
                                            part->together)
                              : nccl.allReduce(share.value, share.result, count, type, operation,
                                               communicator, part->together);
  });
  // A group that was begun is ended, whatever it holds.
  int32_t atEnd = nccl.groupEnd();
  return error ? error : atEnd;
}

/// Some GPUs may have begun what others never will: they are told to stop.
static void giveUp(Collectives &all, Clique &clique) {
  all.broken.store(true, std::memory_order_release);
  for (Communicator &communicator : clique.communicators)
    if (communicator) {
      all.nccl->abort(communicator);
      communicator = nullptr;
    }
}

void abandonCollectives(CudaRun *part) {
  Collectives &all = *part->device->collectives;
  Lock lock(all.order);
  for (Clique *clique = all.cliques; clique; clique = clique->next)
    if (clique->devices >> part->device->desc->device & 1)
      giveUp(all, *clique);
}

static int32_t failTogether(weir_run *run, const weir_cuda_collective &desc, const char *what) {
  char text[1016];
  Text out(text, sizeof(text));
  out << "node \"" << desc.node << "\": " << what << "; WEIR_NCCL=off does without it";
  return abortRun(run, WEIR_INTERNAL, text);
}

/// Whether all of a collective's GPUs give equally many elements; else the run
/// ends.
static bool haveOneSize(weir_run *run, const weir_cuda_collective &desc, int32_t number) {
  const weir_program_desc *program = run->session->program;
  int32_t first = __builtin_ctzll(desc.devices), odd = -1;
  auto countOn = [&](int32_t device) { return partOn(run, device)->shares[number].count; };
  forEachDevice(desc.devices, [&](int32_t device) {
    if (countOn(device) != countOn(first))
      odd = device;
  });
  if (odd < 0)
    return true;
  char text[1016];
  Text out(text, sizeof(text));
  out << "node \"" << desc.node << "\": found " << countOn(first) << " elements on "
      << program->devices[first].name << " and " << countOn(odd) << " on "
      << program->devices[odd].name << "; possible: tensors of one shape";
  abortRun(run, WEIR_INVALID_ARGUMENT, text);
  return false;
}

/// Puts a collective for which all have come. False: it was not put, or not on all, and the run
/// is aborted. `all.order` is held.
static bool putCollective(weir_run *run, int32_t number, Collectives &all) {
  Clique &clique = *all.byCollective[number];
  const weir_cuda_collective &desc = all.descs[number];
  if (!haveOneSize(run, desc, number))
    return false;
  if (all.broken.load(std::memory_order_acquire)) {
    failTogether(run, desc, "NCCL has failed in another run");
    return false;
  }
  Result failed = 0;
  int32_t failedOn = 0;
  auto onEach = [&](auto put) {
    forEachDevice(clique.devices, [&](int32_t device) {
      CudaRun *part = partOn(run, device);
      Current current(*part->device);
      if (failed || !(failed = put(part, part->shares[number], device)))
        return;
      failedOn = device;
    });
  };
  // Of no elements there is nothing to reduce.
  bool reduces = partOn(run, __builtin_ctzll(clique.devices))->shares[number].count > 0;
  if (reduces)
    onEach([&](CudaRun *part, Share &share, int32_t device) {
      part->reducedTogether = true;
      Result error = followLast(all, part, device);
      markShare(part, share, /*isEnd=*/false);
      return error;
    });
  if (!failed && reduces) {
    Current current(*partOn(run, __builtin_ctzll(clique.devices))->device);
    if (int32_t error = putGroup(all, clique, number, run)) {
      giveUp(all, clique);
      char text[512];
      Text(text, sizeof(text)) << "NCCL does not reduce (" << all.nccl->errorString(error) << ')';
      failTogether(run, desc, text);
      return false;
    }
  }
  onEach([&](CudaRun *part, Share &share, int32_t device) {
    const Driver &driver = *part->device->driver;
    if (reduces)
      markShare(part, share, /*isEnd=*/true);
    Result error = reduces ? driver.eventRecord(all.last[device], part->together) : 0;
    return error ? error : driver.eventRecord(share.reduced, part->together);
  });
  if (failed)
    fail(&run->devices[failedOn].context, "a reduction of several GPUs failed", failed, desc.node);
  return !failed;
}

/// What the run needs to give its share; kept for its next ones. The context is current.
static Result makeShare(weir_run *run, CudaRun *part, const Collectives &all, int32_t number) {
  const Driver &driver = *part->device->driver;
  if (!part->shares) {
    auto *shares = static_cast<Share *>(calloc(size_t(all.count), sizeof(Share)));
    if (!shares)
      return outOfMemory;
    // Other GPUs' threads look, under the lock, whether this one has given its share.
    Lock lock(run->mutex);
    part->shares = shares;
    part->shareCount = int32_t(all.count);
  }
  Result error = part->together ? 0 : driver.streamCreate(&part->together, streamNonBlocking);
  Share &share = part->shares[number];
  for (Event *event : {&part->joined, &share.given, &share.reduced})
    if (!error && !*event)
      error = driver.eventCreate(event, eventDisableTiming);
  return error;
}

void dropShares(CudaRun *part) {
  const Driver &driver = *part->device->driver;
  for (int32_t i = 0; i < part->shareCount; ++i)
    for (Event event : {part->shares[i].given, part->shares[i].reduced, part->shares[i].begin,
                        part->shares[i].end})
      if (event)
        driver.eventDestroy(event);
  if (part->joined)
    driver.eventDestroy(part->joined);
  if (part->together)
    driver.streamDestroy(part->together);
  free(part->shares);
}

Result closeCollectives(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  if (!part->gave)
    return 0;
  {
    // Who puts one has the first lock, and is through with this GPU's part behind it.
    Lock order(part->device->collectives->order);
    Lock lock(ctx->run->mutex);
    for (int32_t i = 0; i < part->shareCount; ++i)
      part->shares[i].state = Share::None;
  }
  const Driver &driver = *part->device->driver;
  Result error = driver.eventRecord(part->joined, part->together);
  return error ? error : driver.streamWait(part->work, part->joined, 0);
}

} // namespace weir::rt::cuda

using namespace weir::rt;
using namespace weir::rt::cuda;

int32_t weir_cuda_has_collective(weir_context *ctx, int32_t number) {
  const Collectives *all = partOf(ctx)->device->collectives;
  if (!all || !all->byCollective[number])
    return 0;
  // One of them knows for all: what is broken meanwhile is so for none of them.
  const CudaRun *first = partOn(ctx->run, __builtin_ctzll(all->descs[number].devices));
  return first && first->mayReduceTogether;
}

int32_t weir_cuda_all_reduce(weir_context *ctx, int32_t number, const void *value, void *result,
                             int64_t count) {
  weir_run *run = ctx->run;
  if (int32_t code = checkStop(run))
    return code;
  CudaRun *part = partOf(ctx);
  Collectives &all = *part->device->collectives;
  const weir_cuda_collective &desc = all.descs[number];
  const Driver &driver = *part->device->driver;
  {
    Current current(*part->device);
    if (int32_t code = flushWork(ctx))
      return code;
    // What the result lies over may still be on its way out.
    Result error = closeOut(part);
    if (!error)
      error = makeShare(run, part, all, number);
    part->gave = part->together && part->joined;
    if (!error)
      error = driver.eventRecord(part->shares[number].given, part->work);
    if (!error)
      error = driver.streamWait(part->together, part->shares[number].given, 0);
    if (error)
      return fail(ctx, "work cannot be put", error, desc.node);
  }
  Task *tasks = nullptr;
  {
    // Held until it has been put: whose step ends meanwhile waits for that.
    Lock order(all.order);
    bool haveAllCome = true;
    {
      Lock lock(run->mutex);
      if (uint32_t code = run->aborted.load(std::memory_order_acquire))
        return int32_t(code);
      Share &share = part->shares[number];
      share.state = Share::Given;
      share.value = value;
      share.result = result;
      share.count = count;
      forEachDevice(desc.devices, [&](int32_t device) {
        const CudaRun *other = partOn(run, device);
        haveAllCome &= other && other->shares && other->shares[number].state == Share::Given;
      });
    }
    if (!haveAllCome)
      return WEIR_OK;
    bool done = putCollective(run, number, all);
    Lock lock(run->mutex);
    forEachDevice(desc.devices, [&](int32_t device) {
      CudaRun *other = partOn(run, device);
      if (done)
        other->shares[number].state = Share::Put;
      if (other->awaited != number)
        return;
      other->awaited = -1;
      wake(run->devices[device].sender, &tasks);
    });
  }
  postTasks(tasks);
  return checkStop(run);
}

int32_t weir_cuda_await_reduce_ready(weir_context *ctx, int32_t number, void *coroutine) {
  weir_run *run = ctx->run;
  CudaRun *part = partOf(ctx);
  if (!part->gave)
    return 1;
  Lock lock(run->mutex);
  // Under the lock: who aborts after this finds the one who waits.
  if (part->shares[number].state != Share::Given || run->aborted.load(std::memory_order_acquire))
    return 1;
  DeviceRun &device = run->devices[ctx->device];
  part->awaited = number;
  device.waitedEdge = DeviceRun::otherDevices;
  suspend(device.sender, ctx, coroutine, part->device->collectives->descs[number].node);
  return 0;
}

int32_t weir_cuda_await_reduce(weir_context *ctx, int32_t number) {
  if (int32_t code = checkStop(ctx->run))
    return code;
  CudaRun *part = partOf(ctx);
  if (!part->gave)
    return WEIR_OK;
  Share &share = part->shares[number];
  {
    Lock lock(ctx->run->mutex);
    if (share.state != Share::Put)
      return WEIR_OK;
    share.state = Share::None;
  }
  const CudaDevice &device = *part->device;
  const char *node = collectiveOf(device, number).node;
  Current current(device);
  // What was noted before goes on beside it.
  if (int32_t code = flushWork(ctx))
    return code;
  if (Result error = device.driver->streamWait(part->work, share.reduced, 0))
    return fail(ctx, "work cannot be put", error, node);
  return device.waitsAlways ? awaitWork(ctx, node) : int32_t(WEIR_OK);
}

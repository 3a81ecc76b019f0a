//===- peers.cpp - tensors from one GPU to another -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A tensor goes into memory that the sender takes from the receiver's allocator, on
// the sender's stream for copies out. It is the receiver's at once: its work waits
// for an event behind the copy, and no host thread waits for anything. Memory that
// the receiver is done with goes back to its senders, with an event behind the work
// that used it, where a loop will need it again; else it is free with the run.
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_device.h"

#include <stdlib.h>

namespace weir::rt::cuda {

//===----------------------------------------------------------------------===//
// Who may write to whom
//===----------------------------------------------------------------------===//

static bool shareAnEdge(const weir_program_desc *program, int32_t a, int32_t b) {
  for (int32_t i = 0; i < program->edge_count; ++i) {
    const weir_edge_desc &edge = program->edges[i];
    if ((edge.source == a && edge.destination == b) || (edge.source == b && edge.destination == a))
      return true;
  }
  return false;
}

/// Whether copies of `from` may write to the memory of `to`, as of now.
static bool enable(CudaDevice *from, CudaDevice *to) {
  const Driver &driver = *from->driver;
  int can = 0;
  if (from->device == to->device || to->desc->device >= mostPeers ||
      driver.canAccessPeer(&can, from->device, to->device) != 0 || !can)
    return false;
  Current current(*from);
  Result error = driver.enablePeer(to->context, 0);
  return (error == 0 || error == peerAccessIsThere) && to->regions.admit(from->device);
}

void meetPeers(weir_session *session, CudaDevice *device) {
  const char *text = getenv("WEIR_CUDA_PEERS");
  bool isOff = text && strcmp(text, "off") == 0;
  int32_t number = device->desc->device;
  for (int32_t i = 0; i < session->program->device_count; ++i) {
    auto *other = static_cast<CudaDevice *>(session->accelerators[i]);
    if (!other || other == device || other->desc->driver != device->desc->driver)
      continue;
    bool sends = !isOff && shareAnEdge(session->program, i, number);
    // NCCL's kernels write to the buffers of others, whoever copies tensors.
    if (!sends && !computesWith(*device, i))
      continue;
    if (enable(device, other) && sends)
      device->peers |= uint64_t(1) << i;
    if (enable(other, device) && sends)
      other->peers |= uint64_t(1) << number;
  }
}

//===----------------------------------------------------------------------===//
// Events and memory that go from one to the other
//===----------------------------------------------------------------------===//

/// Null: `error` says why.
static PeerEvent *takeEvent(weir_run *run, CudaRun *part, Result *error) {
  {
    Lock lock(run->mutex);
    if (PeerEvent *event = part->freePeerEvents) {
      part->freePeerEvents = event->nextFree;
      return event;
    }
  }
  auto *event = static_cast<PeerEvent *>(calloc(1, sizeof(PeerEvent)));
  *error =
      event ? part->device->driver->eventCreate(&event->event, eventDisableTiming) : outOfMemory;
  if (*error) {
    free(event);
    return nullptr;
  }
  Lock lock(run->mutex);
  event->next = part->peerEvents;
  part->peerEvents = event;
  return event;
}

/// Whoever had to wait for it has been told to.
static void giveBack(weir_run *run, CudaRun *owner, PeerEvent *event) {
  Lock lock(run->mutex);
  event->nextFree = owner->freePeerEvents;
  owner->freePeerEvents = event;
}

static void freeList(CudaRun *part, Landing *list) {
  while (Landing *landing = list) {
    list = landing->next;
    part->device->memory->free(landing->piece->data);
    free(landing->piece);
    free(landing);
  }
}

void dropLandings(weir_run *run, CudaRun *part, bool all) {
  Landing *lists[2] = {};
  {
    Lock lock(run->mutex);
    lists[0] = part->returned;
    part->returned = nullptr;
    if (all) {
      lists[1] = part->incoming;
      part->incoming = nullptr;
      part->freePeerEvents = part->peerEvents;
      for (PeerEvent *event = part->peerEvents; event; event = event->next)
        event->nextFree = event->next;
    }
  }
  for (Landing *list : lists)
    freeList(part, list);
}

void destroyPeers(CudaRun *part) {
  freeList(part, part->returned);
  freeList(part, part->incoming);
  while (PeerEvent *event = part->peerEvents) {
    part->peerEvents = event->next;
    part->device->driver->eventDestroy(event->event);
    free(event);
  }
}

/// Memory of `to` for a tensor: what a turn before this one left, or new. Null: none.
static Landing *takeMemory(weir_context *ctx, CudaRun *to, int64_t bytes, const char *name) {
  weir_run *run = ctx->run;
  {
    Lock lock(run->mutex);
    for (Landing **at = &to->returned; *at; at = &(*at)->next) {
      Landing *landing = *at;
      if (landing->piece->bytes < bytes || landing->piece->bytes / 2 > bytes)
        continue;
      *at = landing->next;
      return landing;
    }
  }
  auto *landing = static_cast<Landing *>(calloc(1, sizeof(Landing)));
  auto *piece = static_cast<Piece *>(calloc(1, sizeof(Piece)));
  AllocationRequest request;
  request.bytes = bytes;
  request.tag = name;
  request.stop = &run->aborted;
  void *data = landing && piece ? to->device->memory->allocate(request) : nullptr;
  if (landing && piece && !data) {
    trimSession(run->session);
    data = to->device->memory->allocate(request);
  }
  if (!data) {
    free(landing);
    free(piece);
    return nullptr;
  }
  *piece = {nullptr, static_cast<uint8_t *>(data), bytes, false, true, true, false};
  landing->piece = piece;
  return landing;
}

/// Hands what the work put and noted so far was the last to use back to the senders.
static int32_t returnLandings(weir_context *ctx, const char *name) {
  weir_run *run = ctx->run;
  CudaRun *part = partOf(ctx);
  for (Piece **at = &part->pieces; *at;) {
    Piece *piece = *at;
    if (!piece->free || !piece->lands) {
      at = &piece->next;
      continue;
    }
    if (int32_t code = flushWork(ctx))
      return code;
    Result error = 0;
    auto *landing = static_cast<Landing *>(calloc(1, sizeof(Landing)));
    PeerEvent *event = landing ? takeEvent(run, part, &error) : nullptr;
    if (event)
      error = part->device->driver->eventRecord(event->event, part->work);
    if (!event || error) {
      free(landing);
      return fail(ctx, "memory cannot be handed back to another GPU", error ? error : outOfMemory,
                  name, "edge");
    }
    *at = piece->next;
    piece->free = false;
    *landing = {nullptr, nullptr, piece, part, event};
    Lock lock(run->mutex);
    landing->next = part->returned;
    part->returned = landing;
  }
  return WEIR_OK;
}

uint8_t *takeLanding(weir_context *ctx, Block *block, const char *name, bool isInLoop,
                     int32_t *code) {
  weir_run *run = ctx->run;
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  Landing *landing = nullptr;
  {
    Lock lock(run->mutex);
    Landing **at = &part->incoming;
    while (*at && (*at)->block != block)
      at = &(*at)->next;
    if (!*at)
      return nullptr;
    landing = *at;
    *at = landing->next;
  }
  block->memory->free(block);
  Current current(*part->device);
  Result error = driver.streamWait(part->work, landing->event->event, 0);
  giveBack(run, landing->owner, landing->event);
  uint8_t *data = landing->piece->data;
  landing->piece->next = part->pieces;
  part->pieces = landing->piece;
  free(landing);
  if (error)
    *code = fail(ctx, "what another GPU sent cannot be waited for", error, name, "edge");
  else if (isInLoop)
    *code = returnLandings(ctx, name);
  return data;
}

} // namespace weir::rt::cuda

using namespace weir::rt;
using namespace weir::rt::cuda;

int32_t weir_cuda_send_peer(weir_context *ctx, int32_t edge, int64_t iteration,
                            const weir_tensor *value) {
  weir_run *run = ctx->run;
  if (uint32_t code = run->aborted.load(std::memory_order_acquire))
    return int32_t(code);
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  const weir_edge_desc &desc = run->session->program->edges[edge];
  int32_t destination = desc.destination;
  auto *to = static_cast<CudaRun *>(run->devices[destination].onDevice);
  if (!isLocal(run->session, destination) || !to || destination >= mostPeers ||
      !(part->device->peers >> destination & 1) || value->bytes <= 0)
    return weir_cuda_send(ctx, edge, iteration, value);
  iteration = nextSent(run, edge, iteration, *value);
  Landing *landing = takeMemory(ctx, to, value->bytes, desc.name);
  if (!landing)
    return abortOutOfMemory(run, *to->device, value->bytes, desc.name);
  weir_context *receiver = &run->devices[destination].context;
  Block *block = allocateForRun(receiver, 1, desc.name, Block::ofRun);
  Current current(*part->device);
  int32_t code =
      block ? flushWork(ctx) : abortRun(run, recordOutOfMemory(receiver, 1, desc.name, -1));
  Result error = 0;
  PeerEvent *event = code ? nullptr : takeEvent(run, part, &error);
  if (event) {
    error = driver.eventRecord(part->worked, part->work);
    if (!error)
      error = driver.streamWait(part->out, part->worked, 0);
    if (!error && landing->event)
      error = driver.streamWait(part->out, landing->event->event, 0);
    if (!error) {
      beginCopy(part, part->out, /*isIn=*/false, desc.name, value->bytes);
      error = driver.copyPeerAsync(Pointer(landing->piece->data), to->device->context,
                                   Pointer(value->data), part->device->context,
                                   size_t(value->bytes), part->out);
      endCopy(part, part->out);
    }
    for (Event each : {event->event, part->left})
      if (!error)
        error = driver.eventRecord(each, part->out);
    part->outIsOpen = true;
  }
  if (landing->event)
    giveBack(run, landing->owner, landing->event);
  bool isSent = event && !error;
  {
    // Where something failed it stays until nothing of the run is in flight.
    Lock lock(run->mutex);
    *landing = {to->incoming, isSent ? block : nullptr, landing->piece, part, event};
    to->incoming = landing;
  }
  if (isSent)
    return deliverTensor(run, edge, iteration, *value, block);
  if (block)
    block->memory->free(block);
  return code ? code : fail(ctx, "a copy to another GPU failed", error, desc.name, "edge");
}

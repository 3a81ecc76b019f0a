//===- activity.cpp - what CUPTI says that GPUs did ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/activity.h"
#include "cuda/cuda_device.h"

#include <stdlib.h>

namespace weir::rt::cuda {

namespace {

/// An array that grows; no memory: what is added is lost.
template <typename T> struct Items {
  T *items;
  size_t count, capacity;

  bool add(const T &item) {
    if (count == capacity) {
      size_t wanted = capacity ? capacity * 2 : 256;
      auto *grown = static_cast<T *>(realloc(items, wanted * sizeof(T)));
      if (!grown)
        return false;
      items = grown;
      capacity = wanted;
    }
    items[count++] = item;
    return true;
  }
  void clear() {
    free(items);
    *this = {};
  }
};

/// A pushed id, and the call that was made under it.
struct Link {
  uint32_t correlation;
  uint64_t id;
};
struct Timed {
  uint32_t correlation;
  Activity activity;
};

constexpr size_t bufferBytes = 1 << 20;
/// Beyond as many, records of work that nobody traces are thrown away.
constexpr size_t mostPooled = 4 << 20;

/// Guarded by its lock, which is never held in a call of CUPTI that calls back.
struct Pool {
  Mutex mutex;
  Items<Link> links;
  Items<Timed> timed;
  int32_t running; ///< runs that take records
  uint32_t serial;
  uint64_t lost;
};
Pool pool;

/// The subscription. Guarded by its lock.
struct Subscription {
  Mutex mutex;
  const Cupti *cupti;
  cupti::Subscriber subscriber;
  int32_t devices;
};
Subscription subscription;

/// For callbacks, which come from calls that other threads make.
std::atomic<const Cupti *> library;

/// What threads capture now: callbacks come on the thread that made the call. A list
/// with a lock, as the runtime has no thread-local storage.
struct Captures {
  Mutex mutex;
  GraphNodes *first;
};
Captures captures;

long thisThread() { return syscall(SYS_gettid); }

} // namespace

//===----------------------------------------------------------------------===//
// Nodes of graphs
//===----------------------------------------------------------------------===//

static void addNode(GraphNodes &nodes, uint64_t id, int32_t position) {
  if (nodes.count == nodes.capacity) {
    int32_t wanted = nodes.capacity ? nodes.capacity * 2 : 64;
    auto *grown = static_cast<GraphNodes::Node *>(
        realloc(nodes.nodes, size_t(wanted) * sizeof(GraphNodes::Node)));
    if (!grown) {
      nodes.failed = true;
      return;
    }
    nodes.nodes = grown;
    nodes.capacity = wanted;
  }
  nodes.nodes[nodes.count++] = {id, position};
}

int32_t positionOf(const GraphNodes &nodes, uint64_t id) {
  for (int32_t i = nodes.count - 1; i >= 0; --i)
    if (nodes.nodes[i].id == id)
      return nodes.nodes[i].position;
  return -1;
}

static GraphNodes *capturedHere() {
  Lock lock(captures.mutex);
  GraphNodes *nodes = captures.first;
  for (long thread = nodes ? thisThread() : 0; nodes && nodes->thread != thread;)
    nodes = nodes->next;
  return nodes;
}

/// An executable graph has clones of the nodes that were captured; records name
/// the clones.
static void onResource(void *, int32_t domain, uint32_t id, const void *data) {
  GraphNodes *nodes = capturedHere();
  const Cupti *cupti = library.load(std::memory_order_acquire);
  if (!nodes || !cupti || domain != cupti::resourceDomain)
    return;
  const cupti::GraphData *graph = static_cast<const cupti::ResourceData *>(data)->graph;
  uint64_t made, original;
  if (id == cupti::nodeCreated && nodes->position >= 0) {
    if (cupti->graphNodeId(graph->node, &made) == 0)
      addNode(*nodes, made, nodes->position);
    else
      nodes->failed = true;
  }
  if (id == cupti::nodeCloned) {
    bool known = cupti->graphNodeId(graph->node, &made) == 0 &&
                 cupti->graphNodeId(graph->originalNode, &original) == 0;
    int32_t position = known ? positionOf(*nodes, original) : -1;
    if (position >= 0)
      addNode(*nodes, made, position);
    else
      nodes->failed = true;
  }
}

GraphNodes *beginNodes() {
  auto *nodes = static_cast<GraphNodes *>(calloc(1, sizeof(GraphNodes)));
  if (!nodes)
    return nullptr;
  nodes->references = 1;
  nodes->position = -1;
  nodes->thread = thisThread();
  Lock lock(captures.mutex);
  nodes->next = captures.first;
  captures.first = nodes;
  return nodes;
}

GraphNodes *endNodes(GraphNodes *nodes) {
  if (!nodes)
    return nullptr;
  {
    Lock lock(captures.mutex);
    GraphNodes **link = &captures.first;
    while (*link != nodes)
      link = &(*link)->next;
    *link = nodes->next;
  }
  if (!nodes->failed)
    return nodes;
  dropNodes(nodes);
  return nullptr;
}

void dropNodes(GraphNodes *nodes) {
  if (!nodes || --nodes->references > 0)
    return;
  free(nodes->nodes);
  free(nodes);
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

static void onRequested(uint8_t **buffer, size_t *size, size_t *mostRecords) {
  // Without memory CUPTI drops records, and counts them.
  *buffer = static_cast<uint8_t *>(malloc(bufferBytes));
  *size = *buffer ? bufferBytes : 0;
  *mostRecords = 0;
}

template <typename T> static void keep(const cupti::Record *record) {
  auto *piece = static_cast<const T *>(record);
  // A forced flush gives records that are not complete, too.
  if (piece->end == 0 || pool.timed.count >= mostPooled ||
      !pool.timed.add({piece->correlation, {0, piece->graphNode, piece->start, piece->end}}))
    ++pool.lost;
}

static void keepRecord(const cupti::Record *record) {
  switch (record->kind) {
  case cupti::kernelKind:
    return keep<cupti::KernelRecord>(record);
  case cupti::memcpyKind:
    return keep<cupti::CopyRecord>(record);
  case cupti::peerCopyKind:
    return keep<cupti::PeerCopyRecord>(record);
  case cupti::memsetKind:
    return keep<cupti::SetRecord>(record);
  case cupti::externalKind: {
    auto *link = static_cast<const cupti::ExternalRecord *>(record);
    if (link->externalKind == cupti::ownIds &&
        (pool.links.count >= mostPooled || !pool.links.add({link->correlation, link->id})))
      ++pool.lost;
    return;
  }
  default:
    return; // calls, which the ids need
  }
}

static void onCompleted(Context context, uint32_t stream, uint8_t *buffer, size_t, size_t valid) {
  const Cupti *cupti = library.load(std::memory_order_acquire);
  size_t dropped = 0;
  if (buffer && cupti) {
    Lock lock(pool.mutex);
    cupti::Record *record = nullptr;
    while (pool.running && valid && cupti->nextRecord(buffer, valid, &record) == 0)
      keepRecord(record);
    if (cupti->droppedRecords(context, stream, &dropped) == 0)
      pool.lost += dropped;
  }
  free(buffer);
}

uint32_t beginActivity() {
  Lock lock(pool.mutex);
  ++pool.running;
  return ++pool.serial;
}

uint64_t lostActivity() {
  Lock lock(pool.mutex);
  return pool.lost;
}

static int byCorrelation(const void *left, const void *right) {
  uint32_t a = static_cast<const Link *>(left)->correlation,
           b = static_cast<const Link *>(right)->correlation;
  return a < b ? -1 : a > b;
}

void takeActivity(uint32_t serial, void (*take)(void *self, const Activity &activity), void *self) {
  Lock lock(pool.mutex);
  if (pool.links.count == 0)
    return;
  // Links stay until the end: a record may come after its call's.
  qsort(pool.links.items, pool.links.count, sizeof(Link), byCorrelation);
  size_t left = 0;
  for (size_t i = 0; i < pool.timed.count; ++i) {
    Timed &timed = pool.timed.items[i];
    auto *link = static_cast<const Link *>(
        bsearch(&timed.correlation, pool.links.items, pool.links.count, sizeof(Link),
                [](const void *key, const void *item) {
                  uint32_t a = *static_cast<const uint32_t *>(key),
                           b = static_cast<const Link *>(item)->correlation;
                  return a < b ? -1 : int(a > b);
                }));
    if (link && link->id >> 32 == serial) {
      timed.activity.id = link->id;
      take(self, timed.activity);
    } else {
      pool.timed.items[left++] = timed;
    }
  }
  pool.timed.count = left;
}

void endActivity(uint32_t serial) {
  Lock lock(pool.mutex);
  if (--pool.running == 0) {
    pool.links.clear();
    pool.timed.clear();
    return;
  }
  size_t left = 0;
  for (size_t i = 0; i < pool.links.count; ++i)
    if (pool.links.items[i].id >> 32 != serial)
      pool.links.items[left++] = pool.links.items[i];
  pool.links.count = left;
}

//===----------------------------------------------------------------------===//
// The subscription
//===----------------------------------------------------------------------===//

/// What runs need of CUPTI. The last two make records of calls, with which those of
/// ids come.
static constexpr int32_t kinds[] = {cupti::kernelKind, cupti::memcpyKind,   cupti::peerCopyKind,
                                    cupti::memsetKind, cupti::externalKind, cupti::driverKind,
                                    cupti::runtimeKind};

static void unsubscribe() {
  const Cupti &cupti = *subscription.cupti;
  for (int32_t kind : kinds)
    cupti.disable(kind);
  // What CUPTI still holds comes now, and nothing later.
  cupti.flushAll(cupti::flushForced);
  cupti.unsubscribe(subscription.subscriber);
  subscription.cupti = nullptr;
}

/// Null, or why it cannot be used.
static const char *subscribe() {
  const Cupti *cupti = loadCupti();
  if (!cupti)
    return "times by events: there is no CUPTI";
  uint32_t version = 0;
  if (cupti->version(&version) != 0 || version < cupti::firstVersion ||
      version >= cupti::endVersion)
    return "times by events: the records of this version of CUPTI are not known";
  int32_t error = cupti->subscribe(&subscription.subscriber, onResource, nullptr);
  if (error == cupti::multipleSubscribers)
    return "times by events: another profiler uses CUPTI";
  if (error)
    return "times by events: CUPTI cannot be used";
  subscription.cupti = cupti;
  library.store(cupti, std::memory_order_release);
  for (uint32_t id : {cupti::nodeCreated, cupti::nodeCloned})
    if (!error)
      error = cupti->enableCallback(1, subscription.subscriber, cupti::resourceDomain, id);
  if (!error)
    error = cupti->registerBuffers(onRequested, onCompleted);
  for (int32_t kind : kinds)
    if (!error)
      error = cupti->enable(kind);
  if (!error)
    return nullptr;
  unsubscribe();
  return "times by events: CUPTI does not record what runs need";
}

void openActivity(CudaDevice &device) {
  Lock lock(subscription.mutex);
  if (device.cupti || device.noCupti)
    return;
  if (!subscription.cupti)
    device.noCupti = subscribe();
  if (device.noCupti)
    return;
  ++subscription.devices;
  device.cupti = subscription.cupti;
}

void closeActivity(CudaDevice &device) {
  Lock lock(subscription.mutex);
  if (device.cupti && --subscription.devices == 0)
    unsubscribe();
  device.cupti = nullptr;
}

} // namespace weir::rt::cuda

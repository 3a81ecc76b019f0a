//===- collectives.cpp - what devices and tasks compute together ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each device has a part in a collective: a coroutine written by hand, which waits for
// what the step gives, exchanges pieces with other devices' parts over edges as steps
// do, and sends the result to the step. It holds no thread while it waits, and goes on
// beside the step: on the thread that gives it what it waits for, so that a step that
// computes without a pause, with all threads that there are, does not keep it.
//
// Large tensors go around a ring (Patarasuk and Yuan, 2009): chunk c of as many as there
// are ranks begins at rank c+1, each next one combines it with its own, and rank c has
// the reduction of all, which goes around once more. Lanes of a chunk follow each other
// on their own, so that one is combined while the next is on its way. Small ones go up a
// binomial tree and down again. Two ranks exchange all that they have, up to a size, and
// both reduce it: one message's time in place of two. The orders hang on the number of
// ranks and the size alone, and so do the bits of a result.
//
//===----------------------------------------------------------------------===//

#include "collectives/combine.h"
#include "collectives/driver.h"
#include "session/run.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

namespace {

/// What more is worth a ring's many messages.
constexpr int64_t largestInTree = 32 << 10;
/// A lane's piece of a chunk.
constexpr int64_t pieceBytes = 512 << 10;
/// Beyond, each of two ranks reduces a half: reading and writing counts for more than a
/// message.
constexpr int64_t largestExchanged = pieceBytes;
constexpr int64_t mostLanes = 64;

struct Part;

/// One of several sequences of messages that make up a part. Resumed when what it waits
/// for has come.
struct Lane {
  void (*resume)(void *);
  Part *part;
  int32_t number;
  int32_t at; ///< receives done

  /// Goes on until something is to be waited for, or to the end.
  void run();
  /// Message `at` has come, or the run was aborted. False: the lane ends.
  bool take();
  void end();
};

/// What one device does of one collective in one run.
struct Part {
  void (*resume)(void *); ///< waits for what the step gives
  weir_context *ctx;
  const weir_collective_desc *desc;
  int32_t rank;
  bool isTree, isExchange;
  Combine combine;
  Block *block;                              ///< what is worked in, and the result in the end
  weir_tensor tensor;                        ///< its description; data: the block's
  int64_t elementBytes, count, chunk, piece; ///< the last three in elements
  std::atomic<int32_t> lanesLeft;
  Lane *lanes;

  const weir_collective_rank &own() const { return desc->ranks[rank]; }
  weir_run *run() const { return ctx->run; }
  int32_t ranks() const { return desc->count; }
  uint8_t *at(int64_t element) const {
    return static_cast<uint8_t *>(tensor.data) + element * elementBytes;
  }

  void begin();
  void end();
  bool takeInput();
  bool prepare(const weir_tensor &given);
  bool widen(const weir_tensor &given);
  bool fail(int32_t code, const char *text);
  void retire(Block *own);
  bool takeMemory(int64_t bytes, Block **made);
  void chooseLanes();

  // Messages of a lane: `at` counts what it receives.
  int32_t receives() const;
  int32_t edgeOf(int32_t at) const;
  int64_t iterationOf(const Lane &lane) const;
  bool isEmpty(const Lane &lane) const;
  bool sendFirst(const Lane &lane);
  bool use(const Lane &lane, Block *&arrived, const weir_tensor &tensor);

  // The ring. Hops count from 0; from ranks() - 1 on what goes around is final.
  int32_t firstHop() const { return desc->kind == WEIR_ALL_GATHER ? ranks() - 1 : 0; }
  int32_t hopsEnd() const {
    return desc->kind == WEIR_REDUCE_SCATTER ? ranks() - 1 : 2 * (ranks() - 1);
  }
  /// The chunk that arrives in a hop.
  int32_t chunkAt(int32_t hop) const {
    int32_t n = ranks();
    int32_t back = hop < n - 1 ? hop + 2 : hop - (n - 1) + 1;
    return (rank - back % n + n) % n;
  }
  void rangeOf(const Lane &lane, int32_t ofChunk, int64_t *from, int64_t *to) const;
  bool forward(Block *&block, int32_t edge, int64_t iteration, int64_t elements);

  // The exchange of two. What is copied as it is sent may be written over at once.
  bool isCopied() const { return tensor.bytes < copiedBytes; }
  bool exchange(Block *&arrived);

  // The tree.
  int32_t lowestBit() const { return rank ? rank & -rank : 1 << 30; }
  int32_t children() const;
  int32_t reducedChildren() const { return desc->kind == WEIR_BROADCAST ? 0 : children(); }
  bool sendWhole(int32_t edge, const Lane &lane);
  bool sendUp(const Lane &lane);
  bool sendDown(const Lane &lane);
};

void drop(Block *block) {
  if (!block)
    return;
  if (block->kind == Block::atHand)
    giveBack(block);
  else
    block->memory->free(block);
}

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

bool Part::fail(int32_t code, const char *text) {
  char message[384];
  Text(message, sizeof(message)) << "the collective of node \"" << desc->node << "\": " << text;
  abortRun(run(), code, message);
  return false;
}

bool Part::takeMemory(int64_t bytes, Block **made) {
  *made = allocateForRun(ctx, bytes, desc->node, Block::ofRun);
  if (!*made)
    abortRun(run(), recordOutOfMemory(ctx, bytes, desc->node, -1));
  return *made;
}

/// The step's tensor has come, or the run was aborted.
bool Part::takeInput() {
  weir_tensor given;
  int32_t code;
  block = takeArrival(ctx, own().input, 0, &given, &code);
  return block && prepare(given);
}

bool Part::prepare(const weir_tensor &given) {
  copyTensor(tensor, given);
  elementBytes = weir_dtype_size(given.dtype);
  if (elementBytes <= 0 || hasContents(given.dtype))
    return fail(WEIR_UNIMPLEMENTED, "elements of that type are not moved together");
  combine = combineFn(given.dtype, desc->reduction);
  bool reduces = desc->kind == WEIR_ALL_REDUCE || desc->kind == WEIR_REDUCE_SCATTER;
  if (reduces && !combine.behind)
    return fail(WEIR_UNIMPLEMENTED, "elements of that type are not reduced");
  if (desc->kind == WEIR_ALL_GATHER && !widen(given))
    return false;
  // Memory at hand is the run's, and small.
  if (block->kind == Block::atHand) {
    Block *fresh;
    if (!takeMemory(given.bytes, &fresh))
      return false;
    memcpy(fresh->data(), block->data(), size_t(given.bytes));
    drop(block);
    block = fresh;
  }
  tensor.data = block->data();
  count = tensor.bytes / elementBytes;
  if (desc->kind == WEIR_REDUCE_SCATTER && (tensor.rank < 1 || tensor.dims[0] % ranks() != 0))
    return fail(WEIR_INVALID_ARGUMENT, "the first dimension is no multiple of the devices");
  chooseLanes();
  return true;
}

/// Makes room for what all give, and puts this one's into its place.
bool Part::widen(const weir_tensor &given) {
  if (given.rank < 1)
    return fail(WEIR_INVALID_ARGUMENT, "scalars are not put one behind the other");
  Block *whole;
  int64_t bytes;
  if (__builtin_mul_overflow(given.bytes, int64_t(ranks()), &bytes))
    return fail(WEIR_RESOURCE_EXHAUSTED, "what all give is too large");
  if (!takeMemory(bytes, &whole))
    return false;
  if (given.bytes > 0)
    memcpy(static_cast<uint8_t *>(whole->data()) + rank * given.bytes, block->data(),
           size_t(given.bytes));
  drop(block);
  block = whole;
  tensor.bytes = bytes;
  tensor.dims[0] *= ranks();
  return true;
}

/// The same on all ranks: of the size alone.
void Part::chooseLanes() {
  int64_t laneCount = 1;
  isExchange = desc->kind == WEIR_ALL_REDUCE && ranks() == 2 && tensor.bytes <= largestExchanged;
  isTree = desc->kind == WEIR_BROADCAST ||
           (desc->kind == WEIR_ALL_REDUCE && !isExchange && tensor.bytes <= largestInTree);
  bool isWhole = desc->kind == WEIR_ALL_GATHER || desc->kind == WEIR_REDUCE_SCATTER;
  // A line of the cache is one rank's.
  int64_t unit = isWhole ? 1 : 64 / (elementBytes < 64 ? elementBytes : 64);
  auto rounded = [&](int64_t whole, int64_t parts) {
    return ((whole + parts - 1) / parts + unit - 1) / unit * unit;
  };
  chunk = isTree || isExchange ? count : rounded(count, ranks());
  laneCount = (chunk * elementBytes + pieceBytes - 1) / pieceBytes;
  laneCount = laneCount < 1 ? 1 : laneCount > mostLanes ? mostLanes : laneCount;
  if (isTree && desc->kind == WEIR_ALL_REDUCE)
    laneCount = 1;
  piece = rounded(chunk, laneCount);
  lanesLeft.store(int32_t(laneCount), std::memory_order_relaxed);
}

void Part::begin() {
  int32_t laneCount = 0;
  if (takeInput()) {
    laneCount = lanesLeft.load(std::memory_order_relaxed);
    lanes = static_cast<Lane *>(calloc(size_t(laneCount), sizeof(Lane)));
    if (!lanes)
      laneCount = fail(WEIR_RESOURCE_EXHAUSTED, "no memory");
  }
  if (laneCount == 0)
    return end();
  for (int32_t i = 0; i < laneCount; ++i) {
    lanes[i].part = this;
    lanes[i].number = i;
    lanes[i].resume = [](void *frame) {
      auto *lane = static_cast<Lane *>(frame);
      if (lane->take())
        lane->run();
      else
        lane->end();
    };
  }
  // The last one may end the part.
  for (int32_t i = 0; i < laneCount; ++i)
    if (sendFirst(lanes[i]))
      lanes[i].run();
    else
      lanes[i].end();
}

/// Drops the block that held what this device gave. Another task may still read it: then it
/// goes with the run.
void Part::retire(Block *own) {
  if (own && own->kind != Block::atHand &&
      run()->devices[ctx->device].kept.load(std::memory_order_acquire) != 0)
    return linkBlock(run(), own);
  drop(own);
}

void Part::end() {
  weir_run *ofRun = run();
  if (block && lanes && !ofRun->aborted.load(std::memory_order_acquire)) {
    if (desc->kind == WEIR_REDUCE_SCATTER) {
      memmove(tensor.data, at(rank * chunk), size_t(chunk * elementBytes));
      tensor.bytes = chunk * elementBytes;
      tensor.dims[0] /= ranks();
    }
    deliverTensor(ofRun, own().output, 0, tensor, block);
  } else {
    retire(block);
  }
  free(lanes);
  this->~Part();
  free(static_cast<void *>(this));
  addUnfinished(ofRun, -1);
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

void Lane::run() {
  for (int32_t all = part->receives(); at < all;) {
    if (part->isEmpty(*this)) {
      ++at;
      continue;
    }
    // Once suspended, the lane may be resumed, and end, before this call returns.
    if (!receiveReady(part->ctx, part->edgeOf(at), part->iterationOf(*this), this, true))
      return;
    if (!take())
      break;
  }
  end();
}

bool Lane::take() {
  weir_tensor tensor;
  int32_t code;
  Block *block = takeArrival(part->ctx, part->edgeOf(at), part->iterationOf(*this), &tensor, &code);
  if (!block)
    return false;
  bool good = tensor.dtype == part->tensor.dtype
                  ? part->use(*this, block, tensor)
                  : part->fail(WEIR_DATA_LOSS, "a piece is of another type than its own");
  drop(block);
  ++at;
  return good;
}

void Lane::end() {
  if (part->lanesLeft.fetch_sub(1, std::memory_order_acq_rel) == 1)
    part->end();
}

int32_t Part::receives() const {
  if (isExchange)
    return 1;
  if (!isTree)
    return hopsEnd() - firstHop();
  return reducedChildren() + (rank != 0);
}

int32_t Part::edgeOf(int32_t message) const {
  if (isExchange)
    return rank ? own().down : desc->ranks[1].up;
  if (!isTree)
    return desc->ranks[(rank + ranks() - 1) % ranks()].ring;
  return message < reducedChildren() ? desc->ranks[rank + (1 << message)].up : own().down;
}

int64_t Part::iterationOf(const Lane &lane) const {
  return isTree || isExchange ? lane.number
                              : lane.number * int64_t(2 * ranks()) + firstHop() + lane.at;
}

void Part::rangeOf(const Lane &lane, int32_t ofChunk, int64_t *from, int64_t *to) const {
  int64_t begin = ofChunk * chunk, last = begin + chunk < count ? begin + chunk : count;
  *from = begin + lane.number * piece;
  *to = *from + piece < last ? *from + piece : last;
}

/// Chunks of ranks behind the tensor's end are not sent.
bool Part::isEmpty(const Lane &lane) const {
  if (isTree)
    return false;
  int64_t from, to;
  rangeOf(lane, isExchange ? 0 : chunkAt(firstHop() + lane.at), &from, &to);
  return from >= to;
}

bool Part::sendFirst(const Lane &lane) {
  if (isTree)
    return reducedChildren() > 0 || (sendUp(lane) && (rank != 0 || sendDown(lane)));
  if (ranks() == 1)
    return true;
  int64_t from, to;
  rangeOf(lane,
          isExchange                      ? 0
          : desc->kind == WEIR_ALL_GATHER ? rank
                                          : (rank + ranks() - 1) % ranks(),
          &from, &to);
  if (from >= to)
    return true;
  weir_tensor sent = {};
  sent.data = at(from);
  sent.bytes = (to - from) * elementBytes;
  sent.dtype = tensor.dtype;
  sent.rank = 1;
  sent.dims[0] = to - from;
  if (isExchange) {
    int32_t edge = rank ? own().up : desc->ranks[1].down;
    return weir_rt_send_kept(ctx, edge, lane.number, &sent) == 0;
  }
  int64_t iteration = lane.number * int64_t(2 * ranks()) + firstHop();
  // Of an all-reduce it may be read in place: when its chunk comes back, reduced, to be
  // written here, the next rank has read it.
  return desc->kind == WEIR_ALL_REDUCE ? weir_rt_send_kept(ctx, own().ring, iteration, &sent) == 0
                                       : weir_rt_send(ctx, own().ring, iteration, &sent) == 0;
}

/// What is left in `arrived` is dropped.
bool Part::use(const Lane &lane, Block *&arrived, const weir_tensor &given) {
  int64_t from, to;
  int32_t hop = firstHop() + lane.at;
  rangeOf(lane, isTree || isExchange ? 0 : chunkAt(hop), &from, &to);
  if (given.bytes != (to > from ? to - from : 0) * elementBytes)
    return fail(WEIR_DATA_LOSS, "a piece is of another size than its own");
  if (isExchange)
    return exchange(arrived);
  if (isTree) {
    bool reduces = lane.at < reducedChildren();
    if (reduces)
      combine.behind(at(from), arrived->data(), to - from);
    else if (to > from)
      memcpy(at(from), arrived->data(), size_t(given.bytes));
    if (!reduces)
      return sendDown(lane);
    if (lane.at + 1 < reducedChildren())
      return true;
    return sendUp(lane) && (rank != 0 || sendDown(lane));
  }
  bool reduces = hop < ranks() - 1;
  if (reduces)
    combine.behind(arrived->data(), at(from), to - from);
  if (hop >= ranks() - 2)
    memcpy(at(from), arrived->data(), size_t(given.bytes));
  return hop + 1 == hopsEnd() || forward(arrived, own().ring, iterationOf(lane) + 1, to - from);
}

/// Rank 0's elements stand before rank 1's on both. What the other may still read stays as
/// it is: the block that has come becomes the result.
bool Part::exchange(Block *&arrived) {
  bool isFirst = rank == 0;
  if (isCopied()) {
    (isFirst ? combine.behind : combine.before)(tensor.data, arrived->data(), count);
    return true;
  }
  (isFirst ? combine.before : combine.behind)(arrived->data(), tensor.data, count);
  retire(block);
  block = arrived;
  arrived = nullptr;
  tensor.data = block->data();
  return true;
}

/// Hands a block on without a copy, if it may leave.
bool Part::forward(Block *&handed, int32_t edge, int64_t iteration, int64_t elements) {
  weir_tensor sent = {};
  sent.data = handed->data();
  sent.bytes = elements * elementBytes;
  sent.dtype = tensor.dtype;
  sent.rank = 1;
  sent.dims[0] = elements;
  const weir_session *session = run()->session;
  if (handed->kind == Block::atHand)
    return weir_rt_send(ctx, edge, iteration, &sent) == 0;
  Block *given = handed;
  handed = nullptr;
  if (isLocal(session, session->program->edges[edge].destination))
    return deliverTensor(run(), edge, iteration, sent, given) == 0;
  const weir_transport *transport = session->transport;
  weir_status status = WEIR_STATUS_INIT;
  int32_t code = transport->send(transport->self, run()->transfer, edge, iteration, &sent,
                                 given->data(), sent.bytes, WEIR_SENT_OWNED, &status);
  return code == WEIR_OK || fail(code, status.message);
}

//===----------------------------------------------------------------------===//
// The tree
//===----------------------------------------------------------------------===//

int32_t Part::children() const {
  int32_t found = 0;
  while ((1 << found) < lowestBit() && rank + (1 << found) < ranks())
    ++found;
  return found;
}

bool Part::sendWhole(int32_t edge, const Lane &lane) {
  int64_t from, to;
  rangeOf(lane, 0, &from, &to);
  weir_tensor sent = {};
  sent.data = at(from);
  sent.bytes = (to > from ? to - from : 0) * elementBytes;
  sent.dtype = tensor.dtype;
  sent.rank = 1;
  sent.dims[0] = sent.bytes / elementBytes;
  return weir_rt_send(ctx, edge, lane.number, &sent) == 0;
}

bool Part::sendUp(const Lane &lane) {
  return rank == 0 || desc->kind == WEIR_BROADCAST || sendWhole(own().up, lane);
}

bool Part::sendDown(const Lane &lane) {
  // The farthest first: it has most below it.
  for (int32_t child = children() - 1; child >= 0; --child)
    if (!sendWhole(desc->ranks[rank + (1 << child)].down, lane))
      return false;
  return true;
}

void beginPart(weir_run *run, const weir_collective_desc *desc, int32_t rank) {
  void *memory = calloc(1, sizeof(Part));
  if (!memory) {
    abortRun(run, WEIR_RESOURCE_EXHAUSTED, "no memory for a collective");
    return;
  }
  auto *part = new (memory) Part();
  part->resume = [](void *frame) { static_cast<Part *>(frame)->begin(); };
  part->ctx = &run->devices[desc->ranks[rank].device].context;
  part->desc = desc;
  part->rank = rank;
  addUnfinished(run, 1);
  if (receiveReady(part->ctx, desc->ranks[rank].input, 0, part, true))
    part->begin();
}

void beginCollectives(weir_run *run) {
  const weir_program_desc *program = run->session->program;
  for (int64_t i = 0; i < program->collective_count; ++i) {
    const weir_collective_desc *desc = &program->collectives[i];
    if (program->entries + desc->entry != run->entry)
      continue;
    for (int32_t rank = 0; rank < desc->count; ++rank)
      if (hasStep(run, desc->ranks[rank].device))
        beginPart(run, desc, rank);
  }
}

} // namespace

} // namespace weir::rt

const weir_collective_driver weir_collectives = {sizeof(weir_collective_driver), 0,
                                                 weir::rt::beginCollectives};

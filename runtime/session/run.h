//===- run.h - one execution of an entry ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_RUN_H
#define WEIR_RUNTIME_SESSION_RUN_H

#include "session/rendezvous.h"
#include "session/session.h"
#include "session/waits.h"

#include <stddef.h>
#include <string.h>

namespace weir::rt {

/// What went wrong at one place. Kept until the run ends, since what generated
/// code hands upwards is only a number.
struct ErrorRecord {
  int32_t code;
  int32_t site; ///< -1: none
  int64_t value0, value1;
  char *text; ///< instead of the site's message; owned
  bool fill;  ///< whether {0} and {1} stand for the values
};

/// One device's part of a run.
struct DeviceRun {
  weir_context context;
  Task start; ///< its step, when another thread begins it
  void *arenaBlock;
  int64_t arenaBytes; ///< of it
  bool hadArena;      ///< in a run before
  void *onDevice;     ///< the accelerator's part of the run, null: none yet
  bool unfinished;
  /// Tensors that other tasks read from where the step has them.
  std::atomic<int32_t> kept;
  /// Until `kept` is 0, there is room in waitedEdge, or other devices have come to
  /// what they do with this one.
  Suspension sender;
  static constexpr int32_t keptTensors = -1, otherDevices = -2;
  int32_t waitedEdge;  ///< or one of these
  int32_t librarySite; ///< site of the library call in progress, -1: none
  /// 1 + the first and the last of the variables that the step updates, in the order
  /// in which it asked for them; 0: none. `weir_run::written` has the others.
  int32_t taken, lastTaken;
};

/// What a run keeps of a variable that its step updates.
struct WrittenValue {
  int32_t next;         ///< 1 + the variable that was taken behind it; 0: it is the last
  /// A copy that is written over, and is to become the value; null: the session's is written over,
  /// or nothing is, and the value is assigned.
  VariableValue *fresh;
};

/// Tensors of an edge that were sent and received by count: each is touched by
/// one device's step alone.
struct EdgeCounts {
  int64_t sent, received;
  int64_t taken;  ///< as far as the sender knows; guarded by the run's lock
  int64_t window; ///< windowOf the last one that was sent
  int64_t told;   ///< how many taken ones the sender was told of
  /// What the receiver waited for, and will find here without a lock once it is
  /// resumed; and what it has found last, to be used again. Null: none.
  Arrival *arrived, *found;
};
/// How many tensors of an edge that counts may lie at its receiver once
/// `tensor` was sent. Memory is what bounds it, and word of every second small
/// one would cost as much as they do. The receiver tells after half the window
/// of the one it takes, counted from what it told last: the last one that was
/// sent is the last that is taken, so that who waits hears of it.
inline constexpr int64_t sendWindow = 4, fewSendWindow = 32;
inline int64_t windowOf(const weir_tensor &tensor) {
  bool few = tensor.bytes <= fewBytes && !hasContents(tensor.dtype);
  return few ? fewSendWindow : sendWindow;
}

/// Less is copied, when it is sent to another task, sooner than its sender could wait for it.
inline constexpr int64_t copiedBytes = 1 << 14;

/// Copies a tensor but for dims that it has not: most have few, and room for
/// WEIR_MAX_RANK.
inline void copyTensor(weir_tensor &to, const weir_tensor &from) {
  constexpr int32_t usual = 4;
  memcpy(static_cast<void *>(&to), &from, offsetof(weir_tensor, dims));
  memcpy(to.dims, from.dims, usual * sizeof(int64_t));
  if (from.rank > usual)
    memcpy(to.dims + usual, from.dims + usual, size_t(from.rank - usual) * sizeof(int64_t));
}

/// A fetch as the step produced it.
struct FetchResult {
  void *data;
  int64_t bytes;
  int32_t rank;
  bool written;
  bool arrived; ///< the caller's buffer has the elements already
  Block *block; ///< null: the caller's buffer
  int64_t dims[WEIR_MAX_RANK];
};

} // namespace weir::rt

/// Runs are kept by their session when they end, with their arenas, for the
/// next one of any entry.
struct weir_run : weir::rt::TaskOwner {
  static constexpr int32_t errorCapacity = 64;

  weir_session *session;
  const weir_entry_desc *entry;
  weir_run *next; ///< among idle runs, or those of a cancellation
  weir_run *cancellationPrevious, *cancellationNext;
  int32_t threads;
  int64_t deadline;
  const weir_trace *trace;
  weir_tensor *fetches; ///< the caller's; only read until the run succeeded
  weir::rt::DeviceRun *devices;

  void *part;         ///< the transport's, when another task leads this run
  void *transfer;     ///< the transport's handle of this run, null: none
  weir_tensor *feeds; ///< checked copies; room for the entry with most
  int64_t *symbols;
  weir::rt::FetchResult *results;
  weir::rt::VariableValue **latestHeld; ///< by slot: the last value read
  weir::rt::WrittenValue *written;      ///< by slot
  weir::rt::EdgeCounts *edgeCounts;     ///< by edge

  /// 0, or what the run ends with: set once, read without the lock.
  std::atomic<uint32_t> aborted;

  weir::rt::Mutex mutex; ///< guards what follows
  weir::rt::ErrorRecord errors[errorCapacity];
  int32_t errorCount;
  /// Steps or resumed parts of them that run or are queued, and aborts in
  /// progress. When none are left and a step is unfinished, nothing could ever
  /// resume it.
  int32_t segments;
  bool timesWaits;   ///< of when there are none, which is measured where the transport asks for it
  int64_t idleSince; ///< 0: there is one, or nothing is measured
  int64_t waited;    ///< nanoseconds without any so far
  /// Of this task's devices, and of other tasks' parts when it leads the run.
  int32_t unfinishedSteps;
  bool executing;          ///< steps have begun, and `done` is still to come
  bool aborting;           ///< who waited at the abort has been queued
  std::atomic<bool> done;  ///< set under the lock
  weir::rt::Block *blocks; ///< doubly linked, freed with the run
  /// For tensors of at most fewBytes: as many as an iteration of a loop has under
  /// way, with some more. Kept to the run's end, in use or not.
  static constexpr int32_t maxAtHand = 8;
  weir::rt::Block *atHand[maxAtHand];
  int32_t atHandCount;
  weir::rt::VariableValue **held;
  int32_t heldCount, heldCapacity;
  weir::rt::Rendezvous rendezvous;
  weir::rt::Wait *waits; ///< for what other runs bring about
  int32_t outsideWaits;  ///< of these, those that are not over

  /// As in weir_run_options, null: none.
  const uint8_t *feedsOnDevice, *fetchesOnDevice;
  void *deviceStream;
};

namespace weir::rt {

/// The feed (fetch) of the run that is in an accelerator's memory and crosses over `edge`;
/// null: that of the edge is on the host.
const weir_tensor *directTensor(const weir_run *run, int32_t edge, bool isFetch);

/// The number of the fetch of the run that an accelerator makes, and that the caller wants
/// on the host, over `edge`; -1: the edge has none.
int32_t hostFetch(const weir_run *run, int32_t edge);

/// Whether a block that has arrived for `tensor` holds a pointer to where its elements
/// lie in the caller's memory; see Accelerator::leastBorrowed.
inline bool isBorrowed(const Block &block, const weir_tensor &tensor) {
  return block.bytes == int64_t(sizeof(void *)) && tensor.bytes > block.bytes;
}

/// What generated code is handed for error record `index`: positive, with the
/// weir_code in the low byte.
inline int32_t encodeError(int32_t index, int32_t code) { return (index + 1) << 8 | (code & 0xff); }

/// Whether the device is of this task, and works in the run.
bool hasStep(const weir_run *run, int32_t device);

/// Checks that feeds and fetches that are said to be on an accelerator may be: a weir_code.
int32_t checkDirect(const weir_run *run, bool isPart, weir_status *status);
/// What weir_session_run does once entry and numbers of feeds and fetches are
/// known to be right; for a `part`, what this task does of a run that another
/// leads, with fetches of dtype 0 where others compute them.
int32_t runSession(weir_session *session, int32_t entry, const weir_tensor *feeds,
                   int32_t feedCount, weir_tensor *fetches, const weir_run_options &options,
                   const weir_part *part, weir_status *status);

/// weir_session_run of a session that is known to live.
int32_t runAsked(weir_session *session, int32_t entry, const weir_tensor *feeds, int32_t feedCount,
                 weir_tensor *fetches, int32_t fetchCount, const weir_run_options *options,
                 weir_status *status);

/// A run that is not in use, for the entry; null when there is no memory. Its
/// arenas come with prepareArenas.
weir_run *takeRun(weir_session *session, const weir_entry_desc *entry);
/// Gives each device that the entry uses its arena, if need be by giving up
/// idle runs, and then by waiting for others until `deadline`. Returns 0, or
/// aborts the run.
int32_t prepareArenas(weir_run *run, int64_t deadline);
/// Frees what the run holds and keeps it for the next.
void returnRun(weir_run *run);
/// Frees a run that is in no list.
void destroyRun(weir_run *run);

/// Records an error and returns its encoding. `text` is copied; null: the
/// site's.
int32_t recordError(weir_run *run, const ErrorRecord &error);
/// The same with a text that is taken as it is.
int32_t recordError(weir_run *run, int32_t code, int32_t site, const char *text);
/// The last error that was recorded at `site` with this code, encoded; 0: none.
int32_t recordedError(weir_run *run, int32_t code, int32_t site);
/// Makes `encoded` what the run ends with, unless there is one already, and
/// resumes all who wait. Returns what the run ends with.
int32_t abortRun(weir_run *run, int32_t encoded);
/// The same, with a message of its own.
int32_t abortRun(weir_run *run, int32_t code, const char *text);
/// Fills the status from what the run ended with. Returns the weir_code.
int32_t describeError(weir_run *run, weir_status *status);

/// 0, or why the run is to end now: asked at the beginning of each kernel.
int32_t checkStop(weir_run *run);

/// Allocation for the run: first without waiting, then with idle runs given up,
/// then waiting for concurrent runs. Null when all fails.
Block *allocateForRun(weir_context *ctx, int64_t bytes, const char *tag, uint64_t kind);
/// The message for what allocateForRun could not do, recorded against `site`.
int32_t recordOutOfMemory(weir_context *ctx, int64_t bytes, const char *tag, int32_t site);
/// Adds to, or takes off, the blocks that end with the run. The run's lock is
/// held for the first one.
void linkBlockLocked(weir_run *run, Block *block);
void linkBlock(weir_run *run, Block *block);
/// Takes the block off the run's, and frees it, or has it at hand for the next
/// small tensor.
void freeLinked(weir_run *run, Block *block);
/// A block that the run has at hand, with room for `bytes` in the device's
/// memory; null: none. The run's lock is held. Who has it gives it back without
/// a lock.
Block *takeAtHandLocked(weir_run *run, int32_t device, int64_t bytes);
inline void giveBack(Block *block) { block->used.store(0, std::memory_order_release); }
/// Frees what the run has at hand and nobody uses.
void freeAtHand(weir_run *run);
const char *nodeOf(const weir_run *run, int32_t site);

/// The value that a variable has now, which stays to the run's end. Null: it was never
/// assigned, or `code` is an error, recorded against `site`.
VariableValue *holdCurrent(weir_context *ctx, int32_t slot, int32_t site, int32_t *code);
/// Of a step that ended before it gave variables back (weir_rt_variable_take, _update): lets others
/// read and update them.
void giveBackTaken(weir_context *ctx);
/// The error of a read that finds no value.
int32_t recordUnassigned(weir_context *ctx, int32_t slot, int32_t site);
/// Whether the variable takes the tensor: 0, or the error.
int32_t checkAssigned(weir_context *ctx, int32_t slot, int32_t site, const weir_tensor &value);

/// A tensor has come, in `block`, which the run takes. Resumes who waits for it.
/// Returns 0, or aborts the run and frees the block. From any thread. `atOnce`: what is short
/// goes on here (postTasks).
int32_t deliverTensor(weir_run *run, int32_t edge, int64_t iteration, const weir_tensor &tensor,
                      Block *block, bool atOnce = false);
/// weir_rt_receive_ready, for a coroutine that goes on for a moment (Suspension::isShort).
int32_t receiveReady(weir_context *ctx, int32_t edge, int64_t iteration, void *coroutine,
                     bool isShort);
/// The same with a copy of the elements, at most fewBytes, if the run has
/// memory at hand. Links the task that resumes who waits before `*tasks`, for
/// postTasks. False: nothing was done.
bool deliverFew(weir_run *run, int32_t edge, int64_t iteration, const weir_tensor &tensor,
                Task **tasks);
/// The same for a receiver here or in another task.
int32_t passOn(weir_context *ctx, int32_t edge, int64_t iteration, const weir_tensor &tensor,
               Block *block);
/// `tensor` is about to be sent. Returns its iteration: the next number where
/// the one that is given is WEIR_NEXT_ITERATION.
int64_t nextSent(weir_run *run, int32_t edge, int64_t iteration, const weir_tensor &tensor);
/// The receiver of an edge that counts has taken that many: resumes a sender
/// that waits for it. From any thread.
void acknowledge(weir_run *run, int32_t edge, int64_t taken);
/// A tensor that was sent from where the step has it is read no more.
void releaseKept(weir_run *run, int32_t edge);
/// Takes what has arrived; null: the run was aborted, with `code`. `linked`: it
/// ends with the run.
Block *takeArrival(weir_context *ctx, int32_t edge, int64_t iteration, weir_tensor *out,
                   int32_t *code, bool linked = false);
/// Something beside the steps is to end before the run does, or (-1) has ended: in a
/// segment.
void addUnfinished(weir_run *run, int32_t by);
/// So many segments more; the run's lock is held.
void addSegments(weir_run *run, int32_t count);
/// Something outside of the run's threads is about to do work for it, which ends
/// with endSegment.
void beginSegment(weir_run *run);
/// A segment of a step has come back, its step ended or suspended.
void endSegment(weir_run *run);
void finishStep(weir_context *ctx, int32_t code);

/// Fills the part of an event that all kinds share.
weir_trace_event traceEvent(const weir_context *ctx, int32_t kind, const char *name,
                            const char *nodes);

//===----------------------------------------------------------------------===//
// Cancellation
//===----------------------------------------------------------------------===//

/// From here to leaveCancellation the run ends when the switch is thrown.
void enterCancellation(weir_cancellation *cancellation, weir_run *run);
void leaveCancellation(weir_cancellation *cancellation, weir_run *run);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_RUN_H

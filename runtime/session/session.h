//===- session.h - programs with state --------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_SESSION_H
#define WEIR_RUNTIME_SESSION_SESSION_H

#include "bfc/bfc_allocator.h"
#include "pool/executor.h"
#include "session/accelerator.h"
#include "session/status.h"
#include "weir/abi.h"
#include "weir/transport.h"

namespace weir::rt {

/// A value that a variable has or had. Never changes: an assignment makes a new
/// one, so that who holds a reference has one whole value.
struct VariableValue {
  std::atomic<int32_t> references;
  BfcAllocator *memory; ///< where this lies; null: the session's, immortal
  weir_tensor tensor;
  /// Whose memory has the elements, which its driver alone copies; null: the host's.
  Accelerator *home = nullptr;
};

/// Heads every block of memory that a run or a result has; 64 bytes, and the
/// data follows. Lies in the device's memory, so that one size holds both.
struct alignas(64) Block {
  Block *previous, *next; ///< in the run's list; null for results
  BfcAllocator *memory;
  int64_t bytes; ///< of the data
  uint64_t kind;
  std::atomic<uint32_t> used{0}; ///< of those at hand: not to be handed out

  static constexpr uint64_t ofRun = 0x52756e426c6f636b;
  /// Of a run, and not freed before it ends: contents of strings, which any
  /// number of tensors may point to.
  static constexpr uint64_t ofRunKept = 0x52756e4b65707421;
  /// One that the run has at hand for small tensors, and frees itself.
  static constexpr uint64_t atHand = 0x417448616e642121;
  static constexpr uint64_t ofResult = 0x526573756c742121;
  void *data() { return this + 1; }
  static Block *of(void *data) { return static_cast<Block *>(data) - 1; }
};
static_assert(sizeof(Block) == 64);

/// What goes into a block of the smallest size: more small tensors than others
/// are sent and received, and a run keeps some such blocks at hand.
inline constexpr int64_t fewBytes = granule - int64_t(sizeof(Block));
static_assert(fewBytes == WEIR_FEW_BYTES);

struct Resource;
struct HeldState;

/// The blobs, when they lie in a file of their own.
struct MappedFile {
  const uint8_t *data = nullptr;
  int64_t bytes = 0;
};

/// Maps the program's weights file. Returns a weir_code.
int32_t mapWeights(const weir_program_desc *program, const char *path, MappedFile *file,
                   weir_status *status);
void unmapWeights(MappedFile *file);

/// The fields of the descriptor that grew at its end.
int64_t customCount(const weir_program_desc *program);
int64_t acceleratorCount(const weir_program_desc *program);
int64_t collectiveCount(const weir_program_desc *program);
/// Where the variables of replicas are that are no copies; -1: there are none.
int32_t stateDevice(const weir_program_desc *program);
/// Variables of the model that are constants of the program.
int32_t frozenCount(const weir_program_desc *program);
/// What launches compute, by kernel; null: nothing is known.
const weir_launch_desc *launchesOf(const weir_program_desc *program);
/// The number of the feed whose memory that fetch may have; -1: none.
int32_t overFeedOf(const weir_program_desc *program, const weir_entry_desc *entry, int32_t fetch);
/// Bytes of a device's arena that a step of `entry` uses; all of it where nothing else is known.
int64_t arenaBytesOf(const weir_program_desc *program, const weir_entry_desc *entry,
                     int32_t device);
/// What reports of memory call a run's planned arena on a device.
const char *arenaTag(const weir_program_desc *program, int32_t device);

/// What of the program this machine's processor runs: the first variant that it
/// has all features for, else the program itself, which it may be unable to run,
/// too. $WEIR_CPU names one instead, whatever the processor. Null, with a status,
/// where it names none of them. The program's size has been checked.
const weir_program_desc *chooseVariant(const weir_program_desc *program, weir_status *status);

struct AsyncRuns;

/// Why the trace cannot be used; null: it can, or there is none.
const char *faultOf(const weir_trace *trace);
/// WEIR_OK, or INVALID_ARGUMENT with a status that names `function`. Null is fine.
int32_t checkRunOptions(const weir_run_options *options, const char *function, weir_status *status);

} // namespace weir::rt

struct weir_session {
  const weir_program_desc *program; ///< what this processor runs of
  const weir_program_desc *given;   ///< the one that the session was made of
  const uint8_t *blobs;
  weir::rt::MappedFile weights;
  weir::rt::Executor *executor;
  /// One allocator a device of the program, of memory that the host can read.
  weir::rt::BfcAllocator **memory;
  /// One a device, null where the host does the work; null: for all.
  weir::rt::Accelerator **accelerators;
  int32_t deviceCount;
  int64_t allocationWait;          ///< nanoseconds
  const weir_trace *trace;         ///< changes while runs go on (weir_session_set_observer)
  weir_library_fn *customs;        ///< by number of weir_custom_desc
  int32_t symbolCount;             ///< largest symbol of any entry, plus one
  const weir_transport *transport; ///< null: all devices are here
  /// By device: the task that has it, -1 for this one; null without transport.
  int32_t *tasks;
  bool beganRestored; ///< with variables of a checkpoint

  weir::rt::Mutex saving; ///< held while a checkpoint is written
  std::atomic<int64_t> nextStep;
  std::atomic<int64_t> nextName; ///< of what has none
  std::atomic<int32_t> activeRuns;

  weir::rt::Mutex mutex;           ///< guards what follows
  weir::rt::VariableValue **slots; ///< current values, null: none
  /// By slot: whether a run updates the variable, for as long as one kernel takes: who wants to
  /// update or assign it waits for `writtenOver`, and who reads it, where the value is written
  /// over.
  static constexpr uint8_t updated = 1, writtenOverNow = 2;
  uint8_t *taken;
  weir::rt::Condition writtenOver;
  weir::rt::VariableValue *initial; ///< initial values, by slot
  const uint8_t *zeros;             ///< of those that are zeros; null: none is
  int64_t zeroBytes;                ///< of the largest of them
  /// By slot: the device that keeps the values, null: the host; null: for all. Never
  /// changes.
  weir::rt::Accelerator **homes;
  weir_run *idleRuns;              ///< ready to be used again
  weir::rt::Resource *resources;   ///< what kernels keep, see resources.h
  weir::rt::HeldState *heldStates; ///< of resources that are still to be made
  weir::rt::AsyncRuns *asyncRuns;  ///< null: none was asked for
};

namespace weir::rt {

/// Entries of a program, and behind them those that library functions call and nobody
/// else (weir/datasets.h).
inline int32_t entriesAndFunctions(const weir_program_desc *program) {
  return program->entry_count + program->hidden_entry_count;
}

/// Whether this process runs the device's steps.
inline bool isLocal(const weir_session *session, int32_t device) {
  return !session->tasks || session->tasks[device] < 0;
}
/// What a transport may call.
extern const weir_transport_host transportHost;
/// Null: the host does the device's work.
inline Accelerator *acceleratorOf(const weir_session *session, int32_t device) {
  return session->accelerators ? session->accelerators[device] : nullptr;
}

/// Null: the host keeps the values of the slot.
inline Accelerator *homeOf(const weir_session *session, int32_t slot) {
  return session->homes ? session->homes[slot] : nullptr;
}

/// What the program's accelerators are called in messages.
const char *acceleratorKind(const weir_session *session);

/// Memory with a Block before it; null when there is none. `deadline` as in
/// AllocationRequest.
Block *allocateBlock(BfcAllocator *memory, int64_t bytes, const char *tag, uint64_t kind,
                     int64_t deadline, const std::atomic<uint32_t> *stop);
/// Whether `data` is a result of this session that was not released.
Block *findResult(weir_session *session, void *data);
/// Gives runs that are not in use, and idle regions, back.
void trimSession(weir_session *session);

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// A copy of `tensor` in memory of its own, string contents included; null when
/// there is none. One reference.
VariableValue *copyValue(BfcAllocator *memory, const weir_tensor &tensor, const char *tag,
                         int64_t deadline, const std::atomic<uint32_t> *stop);
void releaseValue(VariableValue *value);
/// The value that `slot` has now, with a reference; null: none.
VariableValue *currentValue(weir_session *session, int32_t slot);
/// Makes `value` (its reference moves here) the slot's.
void replaceValue(weir_session *session, int32_t slot, VariableValue *value);
/// A copy of a host's tensor where the slot's values are, with one reference.
/// Returns a weir_code.
int32_t makeValue(weir_session *session, int32_t slot, const weir_tensor &tensor,
                  VariableValue **value, weir_status *status);
/// Whether a tensor may be the value of a slot; says why not in `out`.
bool fitsSlot(const weir_slot_desc &slot, const weir_tensor &tensor, Text &out);

/// Bytes that a copy of a tensor takes: its elements, and the contents of its
/// strings.
int64_t copyBytes(const weir_tensor &tensor);
/// Whether elements point to something that is copied along.
bool hasContents(int32_t dtype);
/// Copies into `to`, which has copyBytes bytes.
void copyElements(const weir_tensor &tensor, void *to);
/// Makes offsets from `block` of all pointers in what copyElements wrote there.
void pointersToOffsets(const weir_tensor &tensor, void *block);
/// The other way round. False: an offset, size or type in the `bytes` bytes at
/// tensor.data contradicts them; no pointer was followed that could not be.
bool offsetsToPointers(const weir_tensor &tensor, int64_t bytes);
/// The first string of a negative size, or of some size without data; -1: none,
/// or no strings. The elements are there.
int64_t brokenString(const weir_tensor &tensor);
/// Number of elements, -1 when it overflows or a size is negative.
int64_t elementCount(int32_t rank, const int64_t *dims);

//===----------------------------------------------------------------------===//
// Feeds
//===----------------------------------------------------------------------===//

/// Checks feeds against the entry and copies them to `checked`, with `bytes`
/// exact. `symbols` has room for session->symbolCount sizes. Returns a
/// weir_code.
int32_t checkFeeds(const weir_session *session, int32_t entry, const weir_tensor *feeds,
                   int32_t count, weir_tensor *checked, int64_t *symbols, weir_status *status);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_SESSION_H

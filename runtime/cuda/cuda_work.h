//===- cuda_work.h - work of a step, put as graphs ---------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a step puts into its work stream is noted down first, up to the next
// place where order with another stream is made: a send, memory that is used
// again by a copy in, the step's end. What was noted is a sequence of records
// without pointers into the host, so that two sequences are the same work if they
// are the same bytes. A sequence that comes for the second time is captured as a
// CUDA graph, and launched as one from then on. One that differs from a captured
// one in operands and sizes alone, as a decoder's next step or another batch does, sets
// those in that graph, when it is new or there are enough of its kind. All else is
// put call by call. What has loops or conditionals that the GPU decides is a graph from the first
// time on: without one the host waits for each condition.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CUDA_WORK_H
#define WEIR_RUNTIME_CUDA_CUDA_WORK_H

#include "cuda/activity.h"
#include "cuda/convolutions.h"
#include "cuda/dnn_calls.h"
#include "cuda/products.h"

namespace weir::rt::cuda {

struct CudaRun;

enum class WorkKind : int32_t {
  Launch,
  Product,
  Convolution,
  Pooling,
  Attention,
  Copy,
  Store,
  Loop,      ///< to LoopEnd: a body, which is repeated
  LoopEnd,   ///< where the condition is read again
  Then,      ///< to Else, or BranchEnd: one side of a conditional
  Else,      ///< to BranchEnd: the other
  BranchEnd, ///< begins nothing
};

/// Whether it is a border of what comes by again, or not at all (cuda_control.h).
constexpr bool isControl(WorkKind kind) { return kind >= WorkKind::Loop; }

/// Whether a library does it.
constexpr bool isLibrarys(WorkKind kind) {
  return kind >= WorkKind::Product && kind <= WorkKind::Attention;
}

/// Begins each record; what follows depends on the kind. All of it is words of
/// eight bytes.
struct WorkRecord {
  int32_t bytes; ///< with this
  WorkKind kind;
  int32_t kernel;     ///< index into weir_program_desc::kernels, -1: none
  int32_t parameters; ///< of a launch: eight bytes each, behind it
};
struct LaunchRecord : WorkRecord {
  Function function;
  uint32_t blocks, threads;
  uint32_t shared; ///< bytes of a block's memory that the launch asks for
  uint32_t maps;   ///< parameters of WEIR_CUDA_MAP_BYTES, the last ones
  uint32_t table;  ///< words of the last parameter, of a launch of phases; 0: it is none
  int32_t phase;   ///< that the launch may be, see phaseNumber; 0: none
};

/// Phase `which` of set `set` of a program, as records have it.
constexpr int32_t phaseNumber(int32_t set, int32_t which) { return (set << 16 | which) + 1; }
constexpr int32_t setOfPhase(int32_t phase) { return (phase - 1) >> 16; }
constexpr int32_t caseOfPhase(int32_t phase) { return (phase - 1) & 0xffff; }

struct LibraryRecord : WorkRecord {
  void *plan; ///< ProductPlan, ConvolutionPlan or DnnCall
  LibraryOperands operands;
};
struct CopyRecord : WorkRecord {
  Pointer to, from;
  uint64_t size;
};
struct StoreRecord : WorkRecord {
  Pointer to;
  uint64_t size, value;
};

/// Of a loop, or a conditional.
struct ConditionRecord : WorkRecord {
  Pointer condition; ///< a byte; of Else and BranchEnd: not read
};

/// A sequence that is a graph.
struct CapturedWork {
  GraphExec graph;
  Graph source; ///< that it was made of, whose nodes are its own
  /// By record two: of a launch, copy or store, the second of a store of eight bytes; else null.
  /// Null: not known.
  GraphNode *recordNode;
  uint8_t *records;
  int64_t bytes;
  uint64_t form;     ///< a hash of what an update cannot change
  uint64_t used;     ///< when, in flushes
  GraphNodes *nodes; ///< null: CUPTI did not watch
};

/// The work of a run that has not been put, and what was captured in earlier
/// steps of the same run object. Zeroed memory is an empty one.
struct PendingWork {
  static constexpr int32_t mostCaptured = 32, mostAlike = 4, remembered = 64;
  static constexpr int32_t leastCaptured = 3; ///< records: fewer gain nothing

  uint8_t *records;
  int64_t bytes, capacity;
  int32_t count;
  int32_t conditions; ///< of these, borders of loops and conditionals
  uint64_t flushes;
  CapturedWork captured[mostCaptured];
  int32_t capturedCount;
  uint64_t seen[remembered];             ///< hashes of the last sequences, in a ring
  static constexpr uint64_t pause = 256; ///< flushes
  uint64_t notBefore;                    ///< flush; the driver has refused a graph
  bool never;                            ///< graphs are not wanted
};

/// Appends a record of `bytes`, zeroed but for its head; null: no memory.
WorkRecord *note(PendingWork &work, WorkKind kind, int64_t bytes, int32_t kernel);

/// Where an error came up: index of the kernel, -1: none.
struct WorkFailure {
  int32_t kernel;
  WorkKind kind; ///< isLibrarys: so is `error`
  int32_t error;
};

/// Puts what was noted into the run's work stream and forgets it. False: it was
/// not put, or not all of it. The device's context is current.
bool flush(CudaRun *part, WorkFailure *failure);
/// Forgets what was noted.
void discard(PendingWork &work);
/// Frees everything. Nothing of it is in flight. The context is current.
void destroyWork(const Driver &driver, PendingWork &work);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CUDA_WORK_H

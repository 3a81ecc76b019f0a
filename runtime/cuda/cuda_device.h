//===- cuda_device.h - GPUs of sessions and runs ------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A run has three streams on its GPU: copies in, work, copies out. Work is put
// in the order of the step; events join the streams; the host waits for none of
// them. Buffers that a step frees serve the same run again, in the order of its
// work, and go back to the session's allocator when the run has ended: then
// nothing of it is in flight.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CUDA_DEVICE_H
#define WEIR_RUNTIME_CUDA_CUDA_DEVICE_H

#include "cuda/cuda_control.h"
#include "cuda/cuda_variables.h"
#include "cuda/cuda_work.h"
#include "cuda/device_memory.h"
#include "cuda/driver_api.h"
#include "cuda/phases.h"
#include "cuda/timeline.h"
#include "cuda/wide_kernels.h"
#include "session/run.h"

namespace weir::rt::cuda {

/// Feeds and fetches of the host that are as large are copied from and to where the
/// caller has them; smaller ones go by way of staging memory in less time.
constexpr int64_t leastBorrowed = 64 << 10;

constexpr int32_t mostPeers = 64; ///< devices that one may copy to directly

struct Collectives;

/// Functions that kernels have beside their own, by number in the program's
/// list of names, which begins with the kernels' own: looked up once. Zeroed memory is empty; of
/// two whose numbers share a place one is looked up each time.
struct MoreFunctions {
  static constexpr int32_t places = 512;
  Mutex mutex;
  int32_t numbers[places];
  Function functions[places];
};

struct CudaDevice : Accelerator {
  const weir_cuda_record *record; ///< of `desc`
  const Driver *driver;
  Device device;
  int ordinal; ///< of the device, in the process
  Context context;
  Module module;
  Function *functions; ///< by kernel, null: not launched here
  MoreFunctions more;
  Control control;
  Pointer constants;
  DeviceMemory regions; ///< what the allocator's memory is
  Products *products;
  WideKernels *wideKernels;
  Phases *phases; ///< null: each launch is one
  DnnSession *dnn;
  Convolutions *convolutions;
  DnnCalls *calls;
  bool graphs;      ///< what comes again is captured
  bool mayBegin;    ///< kernels wait themselves for those before
  bool waitsAlways; ///< WEIR_CUDA_SYNC: every launch is waited for and checked
  bool hasContext;
  uint64_t peers;      ///< bit N: may write to the memory of the program's device N
  const Cupti *cupti;  ///< from its first traced run on; null: events tell times
  const char *noCupti; ///< why; null also before
  Variables *variables;
  Collectives *collectives; ///< null: it computes nothing together with others
};

/// Memory that a run holds beside its arena.
struct Piece {
  Piece *next;
  uint8_t *data;
  int64_t bytes;
  bool free;    ///< behind the work that was put before
  bool lands;   ///< a peer wrote to it
  bool touched; ///< taken in this run; else nothing in flight has it
  bool scratch; ///< a library's, which the next run will want as it is
};
struct CudaRun;

/// An event that goes from one GPU of a run to another, and back.
struct PeerEvent {
  PeerEvent *next, *nextFree;
  Event event;
};

/// Memory of a GPU that others of its run write to: a tensor on its way, or, where
/// `block` is null, what a tensor before it does not need any more.
struct Landing {
  Landing *next;
  Block *block; ///< stands for the tensor in the rendezvous
  Piece *piece;
  CudaRun *owner;   ///< of the event
  PeerEvent *event; ///< behind what was done with the memory
};

/// A place in pinned memory for a value that is not on the GPU for a while.
struct SwapSlot {
  Block *block;
  Event out, in; ///< behind the last copy of either kind
  bool cameBack; ///< in this run: `in` is recorded
};

/// What a GPU gives to a collective, and where it wants the result.
struct Share {
  enum State : int32_t { None, Given, Put };
  State state; ///< guarded by the run's lock
  const void *value;
  void *result;
  int64_t count;    ///< elements
  Event given;      ///< behind the work that makes the value
  Event reduced;    ///< behind the collective
  Event begin, end; ///< around it, where a trace wants to know
  bool timed;       ///< both were recorded in this run
};

struct CudaRun {
  CudaDevice *device;
  Stream work, in, out;
  PendingWork pending; ///< for the work stream
  static constexpr int32_t mostOpen = 16;
  Stream bodies[mostOpen]; ///< that bodies of conditional nodes are captured in, by depth
  int32_t open[mostOpen];  ///< loops whose bodies are being noted, -1: a conditional
  int32_t openCount;
  Timeline timeline;
  Event worked, arrived, left;
  Event called; ///< of `caller`, for a caller's stream that is another GPU's
  Context caller;
  /// Copies out read buffers that work put from now on could overwrite.
  bool outIsOpen;
  void *arena;
  Piece *pieces;
  SwapSlot *swaps; ///< kept from run to run, as the arena is
  int32_t swapCount;
  bool swapped;           ///< in this run
  CudaSlot *slots;        ///< null before the first value is made
  CudaValue *made;        ///< in this run, a reference to each
  CudaValue *news;        ///< assigned, and not published
  bool mayReduceTogether; ///< in this run, as of its begin
  bool reducedTogether;   ///< in this run: a collective was put
  // Guarded by the run's lock.
  PeerEvent *peerEvents, *freePeerEvents;
  Landing *incoming; ///< on their way, or left behind by a run that was aborted
  Landing *returned; ///< free for the next that comes
  Share *shares;     ///< by collective; null: none was given
  int32_t shareCount;
  int32_t awaited; ///< collective that the step is suspended for, -1: none
  // The run's own.
  bool gave;       ///< to a collective, in this run
  Stream together; ///< collectives, beside the work
  Event joined;
  Pointer errorOnDevice;
  Pointer barrierOnDevice; ///< a word, of launches of phases; 0: there are none
  bool errorIsZero;        ///< the GPU's, as the last run left it
  weir_cuda_error *error;  ///< pinned; what the GPU's has at the end; room for a condition behind
  uint32_t *stop;          ///< pinned, behind both; 1: loops are to end
  Result streamError;      ///< of the last callback
  void *coroutine;         ///< resumed by `resume` when the GPU is done
  Task resume;
};

/// Makes the device's context the thread's for a while.
class Current {
public:
  explicit Current(const CudaDevice &device) : device(device) {
    device.driver->contextPush(device.context);
  }
  ~Current() {
    Context ignored;
    device.driver->contextPop(&ignored);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

private:
  const CudaDevice &device;
};

inline CudaRun *partOf(weir_context *ctx) {
  return static_cast<CudaRun *>(ctx->run->devices[ctx->device].onDevice);
}

/// "CUDA_ERROR_X (what it says)".
void appendError(Text &out, const Driver &driver, Result error);

enum class PieceKind : uint8_t { Value, Scratch };

/// Memory of the GPU for the run: a free piece, or new. Null: none.
/// `mayBeUsed`: whether it may be one that work put before still reads; `used`:
/// whether it is one.
uint8_t *takePiece(weir_context *ctx, int64_t bytes, const char *tag, bool mayBeUsed, bool *used,
                   PieceKind kind = PieceKind::Value);
/// Gives pieces back: all, or those that the run has not touched.
void dropPieces(CudaRun *part, bool all);
/// At the run's end: what libraries had as scratch stays for the next one, which then
/// finds the same addresses, whatever other runs have, so that its graphs fit. The rest
/// is given back.
void keepScratch(CudaRun *part);

/// What a call of the driver reported, as the run's end; `name` is that of a
/// node, or of what `kind` says.
int32_t fail(weir_context *ctx, const char *what, Result error, const char *name = nullptr,
             const char *kind = "node");
/// Ends the run: the GPU has no `bytes` for `tag`. `site`: of the node that wants them,
/// -1: no node's. Returns what the run ends with.
int32_t abortOutOfMemory(weir_run *run, const CudaDevice &device, int64_t bytes, const char *tag,
                         int32_t site = -1);
/// Work that may write over what copies out still read comes after them.
Result closeOut(CudaRun *part);
/// The run's work comes after all copies to and from its slots.
Result closeSwaps(CudaRun *part);
/// Frees slots; nothing of them is in flight. The context is current.
void dropSwaps(CudaRun *part);
/// Finds out which GPUs of the session, opened before, `device` exchanges tensors
/// with directly: those that share an edge and can access each other's memory.
void meetPeers(weir_session *session, CudaDevice *device);
/// Takes what a peer has sent in `block`: null, or the memory, which the run's work
/// waits for. `code`: 0, or the run was aborted.
uint8_t *takeLanding(weir_context *ctx, Block *block, const char *name, bool isInLoop,
                     int32_t *code);
/// Frees what is free for peers; with `all`, which needs nothing of the run to be in
/// flight, also what is on its way.
void dropLandings(weir_run *run, CudaRun *part, bool all);
/// The same with all, and the events: before the part itself goes.
void destroyPeers(CudaRun *part);
/// Puts the work that was noted, and lets all others see what it assigns. Returns 0,
/// or aborts the run. The context is current.
int32_t flushWork(weir_context *ctx);
/// WEIR_CUDA_SYNC: puts what was noted last, waits for it and looks at what it
/// left.
int32_t awaitWork(weir_context *ctx, const char *nodes);
/// Finds out what `device` computes together with GPUs of the session, opened before.
void meetCollectives(weir_session *session, CudaDevice *device);
/// Before the device closes: it computes nothing together with others any more.
void leaveCollectives(CudaDevice &device);
bool mayReduceTogether(const CudaDevice &device);
/// Collective `number` of the device's.
const weir_cuda_collective &collectiveOf(const CudaDevice &device, int32_t number);
/// Whether `device` computes something together with number `other` of the program's
/// devices.
bool computesWith(const CudaDevice &device, int32_t other);
/// A GPU that the run reduced on has failed: others' kernels would wait for it for ever.
void abandonCollectives(CudaRun *part);
/// Whether a collective of the run may have been given up.
bool lostCollectives(const CudaRun *part);
/// At the step's end: nobody puts what was not awaited any more, and the work comes behind what
/// was put. The context is current.
Result closeCollectives(weir_context *ctx);
/// Frees what the run has for them; nothing is in flight. The context is current.
void dropShares(CudaRun *part);

int32_t beginRun(weir_run *run, int32_t device);
void releaseRun(weir_run *run, int32_t device);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CUDA_DEVICE_H

//===- cuda_variables.h - values that stay on a GPU -------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// As on the host a value never changes: an assignment makes a new one, and swaps a
// pointer. What orders two runs is an event behind the work that writes the value: a
// run that reads it lets its work wait for that. A value becomes the variable's when
// that work has been put, so that nobody waits for what may never come. Memory is given
// back when nobody refers to the value; the run that made it does until its streams
// are empty, as those that read it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CUDA_VARIABLES_H
#define WEIR_RUNTIME_CUDA_CUDA_VARIABLES_H

#include "cuda/driver_api.h"
#include "session/session.h"

namespace weir::rt::cuda {

struct CudaDevice;
struct CudaRun;

/// Head of a value; kept for the next when the value has gone.
struct CudaValue : VariableValue {
  CudaValue *next;     ///< of all of the device
  CudaValue *nextFree; ///< without a value
  CudaValue *nextMade; ///< of those that a run has made
  CudaValue *nextNews; ///< of those that it has assigned and others do not see
  const CudaRun *maker;
  int32_t slot;
  Event written;              ///< behind what writes it, in its maker's work
  std::atomic<bool> complete; ///< nobody needs to wait any more
};

/// What a run knows of a variable.
struct CudaSlot {
  CudaValue *assigned; ///< last, and nobody else sees it yet; null: nothing
  CudaValue *placed;   ///< last, to be assigned; null: nothing
};

/// What a GPU keeps for variables. Thread-safe where it is guarded.
struct Variables {
  Function assign; ///< weir_cuda_record::assign, null: there is none
  Mutex mutex;     ///< guards what follows
  CudaValue *all, *free;
  Mutex transfers; ///< guards `stream`, and what is in it
  Stream stream;   ///< for copies that the host waits for; null: none yet
};

/// Null: no memory, or `error`, and the image lacks a kernel. The context is current.
Variables *openVariables(const CudaDevice &device, Result *error);
/// Nobody refers to a value. The context is current.
void closeVariables(const CudaDevice &device, Variables *variables);

/// Makes what the run has assigned, and the work that was put has in it, its
/// variables' values. Returns 0, or aborts the run. The context is current.
int32_t publishValues(weir_context *ctx);
/// The run's streams are empty: what it has made is complete, and not its own any
/// more. `good`: all of its work was carried out.
void dropMade(CudaRun *part, bool good);

// Of weir_device_driver.
int32_t makeValue(weir_session *session, Accelerator *accelerator, const weir_tensor &tensor,
                  const char *variable, VariableValue **value, weir_status *status);
int32_t readValue(const VariableValue *value, void *to, const char *variable, weir_status *status);
void dropValue(VariableValue *value);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CUDA_VARIABLES_H

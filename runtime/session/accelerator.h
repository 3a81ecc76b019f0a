//===- accelerator.h - devices beside the host ------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What sessions and runs ask of a device with memory and code of its own. The
// functions come by way of the object's descriptor: a program without such
// devices links none of them.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_ACCELERATOR_H
#define WEIR_RUNTIME_SESSION_ACCELERATOR_H

#include "bfc/bfc_allocator.h"
#include "weir/abi.h"

namespace weir::rt {

struct VariableValue;

/// An open device of a session; drivers put more behind it.
struct Accelerator {
  const weir_accelerator_desc *desc;
  BfcAllocator *memory; ///< the device's own
  /// Host memory that copies to and from the device go through.
  SubAllocator staging;
  const uint8_t *blobs; ///< the device's copy
  /// Feeds of at least so many bytes come to it as a pointer to where the caller has
  /// them (isBorrowed); 0: none do.
  int64_t leastBorrowed;
};

} // namespace weir::rt

struct weir_device_driver {
  /// Opens the device for a session whose blobs are mapped. Leaves null in
  /// `accelerator` where the host's steps are to be used instead. Returns a
  /// weir_code.
  int32_t (*open)(weir_session *session, const weir_accelerator_desc *desc, int64_t memoryLimit,
                  weir::rt::Accelerator **accelerator, weir_status *status);
  /// After all runs, and what lies in `staging`, have gone.
  void (*close)(weir::rt::Accelerator *accelerator);
  /// Before the steps of a run: gives `context` its memory. Returns 0, or
  /// aborts the run.
  int32_t (*begin)(weir_run *run, int32_t device);
  /// Gives back what a run that is not in use has on the device.
  void (*release)(weir_run *run, int32_t device);
  /// What such a device is called in messages: the type in devices' names.
  const char *kind;
  // Values of weir_accelerator_desc::slots; null where the driver has none. All but
  // `dropValue` wait for the device: no step calls them. They return a weir_code, and
  // messages name `variable`.

  /// A copy of a host's tensor in the device's memory, with one reference.
  int32_t (*makeValue)(weir_session *session, weir::rt::Accelerator *accelerator,
                       const weir_tensor &tensor, const char *variable,
                       weir::rt::VariableValue **value, weir_status *status) = nullptr;
  /// Copies the elements to the host.
  int32_t (*readValue)(const weir::rt::VariableValue *value, void *to, const char *variable,
                       weir_status *status) = nullptr;
  /// Nobody refers to the value any more. Any thread.
  void (*dropValue)(weir::rt::VariableValue *value) = nullptr;

  /// A run that has not ended is aborted: what comes by again and again on the device is to come
  /// to its end. Any thread; null: nothing does.
  void (*stop)(weir_run *run, int32_t device) = nullptr;
};

#endif // WEIR_RUNTIME_SESSION_ACCELERATOR_H

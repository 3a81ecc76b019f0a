//===- sub_allocator.h - where the BFC allocator gets its regions -*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_BFC_SUB_ALLOCATOR_H
#define WEIR_RUNTIME_BFC_SUB_ALLOCATOR_H

#include "weir/weir.h"

namespace weir::rt {

/// A source of large pieces of memory, which need not be readable from the
/// host. A table of functions, not a class: a vtable with pure functions would
/// pull in the C++ runtime. Called with the allocator's lock held, so one at a
/// time for each allocator.
struct SubAllocator {
  void *self;
  /// Memory of at least `bytes` at a multiple of `alignment` (a power of two),
  /// or null. `received` gets how much it is, a multiple of 256 that is at
  /// least `bytes`.
  void *(*allocate)(void *self, int64_t alignment, int64_t bytes, int64_t *received);
  /// Gives back exactly what one `allocate` returned or, if `coalesces`, any
  /// number of such pieces that lie end to end.
  void (*release)(void *self, void *data, int64_t bytes);
  /// Pieces that happen to touch may be used as one.
  bool coalesces;
  /// As `allocate`, for memory that begins where a piece ends; null when there is
  /// none there. Null: not on offer. Only of a source that coalesces.
  void *(*extend)(void *self, void *end, int64_t bytes, int64_t *received) = nullptr;
  /// How much may be taken ahead of need: others want memory, too. Null: as much as
  /// there is.
  int64_t (*spare)(void *self) = nullptr;
  /// Of larger pages than usual that may lie behind memory; 0: there are none. `enlarge` asks for
  /// them, for whole ones.
  int64_t largePage = 0;
  void (*enlarge)(void *self, void *data, int64_t bytes) = nullptr;
};

/// Anonymous pages of the system. Pieces of 2 MiB and up are aligned to huge
/// pages; pages take no memory before they are written.
SubAllocator systemSubAllocator();

/// The caller's functions; `allocator` outlives what is returned.
SubAllocator callerSubAllocator(const weir_allocator *allocator);

} // namespace weir::rt

#endif // WEIR_RUNTIME_BFC_SUB_ALLOCATOR_H

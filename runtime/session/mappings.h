//===- mappings.h - what the process has mapped where ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_MAPPINGS_H
#define WEIR_RUNTIME_SESSION_MAPPINGS_H

#include "weir/abi.h"

#include <stddef.h>

namespace weir::rt {

inline constexpr size_t pathMax = 4096;

/// A line of /proc/self/maps.
struct Mapping {
  uintptr_t begin, end;
  bool isFileOnly;    ///< of a file, and never written: what is dropped comes back from it
  char path[pathMax]; ///< "": of no file
};

/// Finds what is mapped at `address`; false: nothing, or the system does not say. Reads all
/// lines before it, some 100 microseconds.
bool findMapping(const void *address, Mapping *found);

/// Has the system take back the whole pages in [data, data + bytes) where they only repeat a
/// file: they stay readable, by other threads meanwhile too, and come from the file again.
/// Does nothing with other memory, or less than 256 KiB, which is not worth the look.
void dropFilePages(const void *data, int64_t bytes);

/// `bytes` of zeros to read, which take no memory until then; null: the system has none.
/// unmapZeros gives them back.
const uint8_t *mapZeros(int64_t bytes);
void unmapZeros(const uint8_t *zeros, int64_t bytes);

/// memcpy of what nobody is expected to read again: a piece at a time, whose pages are
/// dropped behind it, so that both copies are never resident as a whole.
void copyAndDrop(const void *data, int64_t bytes, void *to);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_MAPPINGS_H

//===- few_bytes.h - copies of a few bytes ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SUPPORT_FEW_BYTES_H
#define WEIR_RUNTIME_SUPPORT_FEW_BYTES_H

#include <stddef.h>
#include <string.h>

namespace weir::rt {

/// memcpy, in line for the sizes of scalars and short shapes: a message makes
/// half a dozen such copies, whose calls would take longer than they do.
inline void copyFew(void *to, const void *from, size_t bytes) {
  if (bytes == 8) {
    memcpy(to, from, 8);
  } else if (bytes == 4) {
    memcpy(to, from, 4);
  } else if (bytes == 16) {
    memcpy(to, from, 16);
  } else if (bytes != 0) {
    memcpy(to, from, bytes);
  }
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_SUPPORT_FEW_BYTES_H

//===- sequence_support.h - elements of sequences ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_SEQUENCE_SUPPORT_H
#define WEIR_RUNTIME_KERNELS_SEQUENCE_SUPPORT_H

#include "kernels/kernel_support.h"

namespace weir::rt {

/// Room for an element of that type and shape, in memory that lives until the run
/// ends; null: the run has failed.
inline weir_tensor *newElement(weir_context *ctx, const weir_tensor &like, int64_t bytes) {
  // Its data stands this far behind its descriptor, both in one block.
  constexpr int64_t headBytes = (sizeof(weir_tensor) + 63) / 64 * 64;
  auto *made = static_cast<weir_tensor *>(weir_custom_alloc(ctx, headBytes + bytes));
  if (!made)
    return nullptr;
  *made = like;
  made->bytes = bytes;
  made->data = reinterpret_cast<char *>(made) + headBytes;
  return made;
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_SEQUENCE_SUPPORT_H

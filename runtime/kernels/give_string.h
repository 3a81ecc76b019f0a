//===- give_string.h - a result that is one string --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_GIVE_STRING_H
#define WEIR_RUNTIME_KERNELS_GIVE_STRING_H

#include "kernels/string_support.h"

namespace weir::rt {

/// Makes `result` one string. WEIR_OK, or the run has failed for want of memory.
inline int32_t giveString(weir_context *ctx, const Growing &text, weir_tensor &result) {
  Contents contents(ctx);
  if (text.failed() || !shapeResult(ctx, result, 0, nullptr) ||
      !contents.copy(text.data(), text.size(), stringResult(result)))
    return WEIR_RESOURCE_EXHAUSTED;
  return WEIR_OK;
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_GIVE_STRING_H

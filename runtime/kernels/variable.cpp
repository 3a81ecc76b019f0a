//===- variable.cpp - what a program asks of its session's variables ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"
#include "kernels/string_support.h"
#include "session/run.h"

#include <string.h>

using namespace weir::rt;

namespace {

/// The slot of the variable that two strings name (container, name); -1: none.
int32_t slotOf(const weir_session *session, const weir_tensor *operands) {
  for (int32_t i = 0; i < session->program->slot_count; ++i) {
    const weir_slot_desc &slot = session->program->slots[i];
    if (equalStrings(stringsOf(operands[0])[0], stringOf(slot.container)) &&
        equalStrings(stringsOf(operands[1])[0], stringOf(slot.name)))
      return i;
  }
  return -1;
}

} // namespace

int32_t weir_kernel_variable_destroy(weir_context *ctx, const weir_tensor *operands, int32_t,
                                     weir_tensor *, int32_t, const int64_t *attributes) {
  weir_session *session = ctx->run->session;
  int32_t slot = slotOf(session, operands);
  bool isThere = false;
  if (slot >= 0) {
    Lock lock(session->mutex);
    isThere = session->slots[slot] != nullptr;
  }
  if (!isThere)
    return attributes[0] ? WEIR_OK
                         : failMessage(ctx, WEIR_NOT_FOUND, "the variable does not exist");
  replaceValue(session, slot, nullptr);
  return WEIR_OK;
}

int32_t weir_kernel_variable_is_initialized(weir_context *ctx, const weir_tensor *operands, int32_t,
                                            weir_tensor *results, int32_t, const int64_t *) {
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  weir_session *session = ctx->run->session;
  bool found = false;
  if (int32_t slot = slotOf(session, operands); slot >= 0) {
    Lock lock(session->mutex);
    found = session->slots[slot] != nullptr;
  }
  *static_cast<uint8_t *>(results[0].data) = found;
  return WEIR_OK;
}

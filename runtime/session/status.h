//===- status.h - writing statuses ------------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_STATUS_H
#define WEIR_RUNTIME_SESSION_STATUS_H

#include "support/text.h"
#include "weir/weir.h"

namespace weir::rt {

/// Sets the code and empties the message. Null is fine. Returns `code`.
int32_t setStatus(weir_status *status, int32_t code);

/// Sets the code and writes the message: `StatusText(status, code) << …`. Null
/// is fine.
class StatusText : public Text {
public:
  StatusText(weir_status *status, int32_t code);
  /// Cuts a last character that the buffer's end has left incomplete.
  ~StatusText();
  StatusText(const StatusText &) = delete;
  StatusText &operator=(const StatusText &) = delete;

private:
  weir_status *const status;
};

/// RESOURCE_EXHAUSTED: "no memory for" `what`.
int32_t refuseMemory(weir_status *status, const char *what);

/// INVALID_ARGUMENT: `function` was given null where it needs `argument`.
int32_t refuseNull(weir_status *status, const char *function, const char *argument);

/// Writes `2x?x3`, `scalar` for rank 0, `of any rank` below 0; -1 as `?`.
void appendShape(Text &out, int32_t rank, const int64_t *dims);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_STATUS_H

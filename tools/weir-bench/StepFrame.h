//===- StepFrame.h - steps written by hand -----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step as LLVM's coroutines have it, which receives `count` times: the frame's first word
// resumes it. A frame has `resume`, `ctx`, `at`, `count`, and `isReady()`, whether a value is
// there (else it is resumed when one is), and `take()`, which receives it and counts it in `at`.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_STEPFRAME_H
#define WEIR_TOOLS_WEIR_BENCH_STEPFRAME_H

#include "weir/abi.h"

namespace weir::tools {

/// Takes what is there: WEIR_PENDING where more is to come.
template <typename Frame> int32_t advance(Frame &frame) {
  while (frame.at < frame.count) {
    if (!frame.isReady())
      return WEIR_PENDING;
    if (int32_t code = frame.take())
      return code;
  }
  return WEIR_OK;
}

/// What `resume` of a frame is.
template <typename Frame> void resumeFrame(void *frame) {
  auto *self = static_cast<Frame *>(frame);
  int32_t code = self->take();
  if (code == WEIR_OK)
    code = advance(*self);
  if (code == WEIR_PENDING)
    return;
  weir_context *ctx = self->ctx;
  delete self;
  weir_rt_step_done(ctx, code);
}

/// Runs a frame, made by new, whose first send gave `code`; what the step returns. A frame
/// that does not wait is deleted.
template <typename Frame> int32_t beginFrame(Frame *self, int32_t code) {
  if (code == WEIR_OK)
    code = advance(*self);
  if (code != WEIR_PENDING)
    delete self;
  return code;
}

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_BENCH_STEPFRAME_H

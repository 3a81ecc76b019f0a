//===- rendezvous_frames.h - steps that wait, written by hand ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Steps are coroutines. These are written by hand, in the form that LLVM's
// switched-resume lowering gives them: a frame whose first word is the function
// that resumes it.

#ifndef WEIR_TEST_UNIT_RUNTIME_RENDEZVOUS_FRAMES_H
#define WEIR_TEST_UNIT_RUNTIME_RENDEZVOUS_FRAMES_H

#include "session/run.h"
#include "test_program.h"

namespace weir::rt::test {

/// Receives `count` values over `edge` one after another, then sends their sum
/// over `answer` (unless < 0), then ends its step.
struct SumFrame {
  void (*resume)(void *);
  weir_context *ctx;
  int32_t edge, answer;
  int64_t count, at, sum;
  bool counted; ///< the runtime tells iterations apart

  int64_t iteration() const { return counted ? WEIR_NEXT_ITERATION : at; }

  /// Returns the step's code, or WEIR_PENDING when it was suspended.
  int32_t advance() {
    for (; at < count; ++at) {
      if (!weir_rt_receive_ready(ctx, edge, iteration(), this))
        return WEIR_PENDING;
      if (int32_t code = take())
        return code;
    }
    return answer < 0 ? 0 : send();
  }

  int32_t take() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, edge, iteration(), &value))
      return code;
    sum += *static_cast<int64_t *>(value.data);
    weir_rt_free(ctx, value.data);
    return 0;
  }

  int32_t send() {
    weir_tensor tensor = scalar(&sum);
    return weir_rt_send(ctx, answer, 0, &tensor);
  }

  static void resumed(void *frame) {
    auto *self = static_cast<SumFrame *>(frame);
    int32_t code = self->take();
    ++self->at;
    if (code == 0)
      code = self->advance();
    if (code == WEIR_PENDING)
      return;
    weir_context *ctx = self->ctx;
    delete self;
    weir_rt_step_done(ctx, code);
  }

  static int32_t start(weir_context *ctx, int32_t edge, int32_t answer, int64_t count,
                       bool counted = false) {
    auto *self = new SumFrame{resumed, ctx, edge, answer, count, 0, 0, counted};
    int32_t code = self->advance();
    if (code != WEIR_PENDING)
      delete self;
    return code;
  }
};

/// Ping-pong: device 0 sends, device 1 adds up and answers, device 0 fetches.
struct FetchFrame {
  void (*resume)(void *);
  weir_context *ctx;
  int32_t edge;

  int32_t finish() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, edge, 0, &value))
      return code;
    void *out = weir_rt_fetch(ctx, 0, 0, nullptr, 8);
    if (!out)
      return WEIR_INTERNAL;
    *static_cast<int64_t *>(out) = *static_cast<int64_t *>(value.data);
    return 0;
  }

  static void resumed(void *frame) {
    auto *self = static_cast<FetchFrame *>(frame);
    int32_t code = self->finish();
    weir_context *ctx = self->ctx;
    delete self;
    weir_rt_step_done(ctx, code);
  }

  static int32_t start(weir_context *ctx, int32_t edge) {
    auto *self = new FetchFrame{resumed, ctx, edge};
    if (!weir_rt_receive_ready(ctx, edge, 0, self))
      return WEIR_PENDING;
    int32_t code = self->finish();
    delete self;
    return code;
  }
};

inline constexpr int64_t rounds = 100;

inline int32_t sendNumbers(weir_context *ctx) {
  for (int64_t i = 0; i < rounds; ++i) {
    int64_t value = i + ctx->step;
    weir_tensor tensor = scalar(&value);
    if (int32_t code = weir_rt_send(ctx, 0, i, &tensor))
      return code;
  }
  return FetchFrame::start(ctx, 1);
}

inline int32_t addNumbers(weir_context *ctx) { return SumFrame::start(ctx, 0, 1, rounds); }

inline void addTwoDevices(TestProgram &program, weir_step_fn first, weir_step_fn second) {
  program.device("/job:localhost/task:0/device:CPU:1", 1024);
  program.edge("numbers;0->1", 0, 1);
  program.edge("sum;1->0", 1, 0);
  program.entry("main", {}, {{"sum", WEIR_I64}}, {first, second});
}

} // namespace weir::rt::test

#endif // WEIR_TEST_UNIT_RUNTIME_RENDEZVOUS_FRAMES_H

//===- main.cpp - one thread through everything ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// thread.pbtxt computes y = 3 (2^rounds x + 2^rounds - 1) + counter: a dynamic
// dimension, a loop on a second device, a variable that counts runs, a control
// dependency and a custom operation.
//
//===----------------------------------------------------------------------===//

#include "thread.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

static int failures = 0;

static void check(bool ok, const char *what, int run) {
  if (ok)
    return;
  std::printf("run %d: %s\n", run, what);
  ++failures;
}

static int32_t refuse(weir_context *ctx, const weir_tensor *, int32_t, weir_tensor *, int32_t,
                      const int64_t *) {
  return weir_custom_error(ctx, WEIR_UNAVAILABLE, "not today");
}

/// A function that the session is given comes before the linked one.
static void checkHandedOver() {
  weir_custom_function functions[] = {{"MyScale", refuse}};
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.functions = functions;
  options.function_count = 1;
  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  check(!thread_create(&options, &session, &status), status.message, 0);
  check(!thread_start(session, nullptr, nullptr, nullptr, &status), status.message, 0);
  float x[3] = {};
  int32_t rounds = 1;
  int64_t dims[] = {1, 3};
  weir_tensor feeds[] = {thread_step_x_tensor(x, dims), thread_step_rounds_tensor(&rounds)};
  weir_tensor fetches[2] = {};
  check(thread_step(session, feeds, fetches, nullptr, &status) == WEIR_UNAVAILABLE &&
            std::strstr(status.message, "not today"),
        "the function that was handed over is not called", 0);
  thread_destroy(session);
}

int main() {
  checkHandedOver();
  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  if (thread_create(nullptr, &session, &status)) {
    std::printf("create: %s\n", status.message);
    return 1;
  }
  auto run = [&](int64_t rows, int32_t rounds, weir_tensor *fetches) {
    std::vector<float> x(rows * 3);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = 0.5f * (float)i - 2;
    int64_t dims[] = {rows, 3};
    weir_tensor feeds[] = {thread_step_x_tensor(x.data(), dims),
                           thread_step_rounds_tensor(&rounds)};
    return thread_step(session, feeds, fetches, nullptr, &status);
  };
  weir_tensor fetches[2] = {};
  check(run(2, 1, fetches) == WEIR_FAILED_PRECONDITION,
        "reading an unassigned variable is not refused", 0);
  if (thread_start(session, nullptr, nullptr, nullptr, &status))
    check(false, status.message, 0);
  for (int i = 1; i <= 50; ++i) {
    int64_t rows = i % 7;
    int32_t rounds = i % 5;
    weir_tensor results[2] = {};
    if (run(rows, rounds, results)) {
      check(false, status.message, i);
      continue;
    }
    check(results[0].rank == 2 && results[0].dims[0] == rows && results[0].dims[1] == 3,
          "y has another shape", i);
    float power = std::ldexp(1.0f, rounds);
    for (int64_t k = 0; k < rows * 3; ++k) {
      float want = 3 * (power * (0.5f * (float)k - 2) + power - 1) + 1 + (float)i;
      check(((const float *)results[0].data)[k] == want, "y differs", i);
    }
    check(*(const float *)results[1].data == 1 + (float)i, "the counter differs", i);
    thread_release(session, results);
    thread_release(session, results + 1);
  }
  thread_destroy(session);
  std::printf("%d failures\n", failures);
  return failures != 0;
}

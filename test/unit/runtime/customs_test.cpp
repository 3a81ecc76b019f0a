//===- customs_test.cpp - custom operations that misbehave ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A custom operation that throws, or gives other results than it said, ends its run
// with a status that names the node; nothing is read past a buffer.

#include "test_program.h"

#include <atomic>
#include <exception>
#include <stdexcept>

using namespace weir::rt::test;

namespace {

/// What the operation does: it is given one result, f32 2x? .
weir_library_fn behaviour;
float elsewhere[64];

int32_t operation(weir_context *ctx, const weir_tensor *operands, int32_t operandCount,
                  weir_tensor *results, int32_t resultCount, const int64_t *attributes) {
  return behaviour(ctx, operands, operandCount, results, resultCount, attributes);
}

int32_t step(weir_context *ctx) {
  weir_tensor result = {};
  result.dtype = WEIR_F32;
  result.rank = 2;
  result.dims[0] = 2;
  result.dims[1] = -1;
  if (int32_t code = weir_rt_custom(ctx, 0, 0, ctx->feeds, 1, &result, 1, nullptr))
    return code;
  float *y = static_cast<float *>(weir_rt_fetch(ctx, 0, 2, result.dims, result.bytes));
  if (!y)
    return WEIR_INTERNAL;
  memcpy(y, result.data, size_t(result.bytes));
  weir_rt_free(ctx, result.data);
  return WEIR_OK;
}

class Customs : public testing::Test {
protected:
  Customs() {
    program.entry("main", {{"x", WEIR_F32, {-1}}}, {{"y", WEIR_F32, {2, -1}}}, {step});
    program.site("blur1", "Blur", "failed", WEIR_INTERNAL);
    program.custom("Blur", "blur1", operation);
  }

  /// Runs, and returns the status's message.
  std::string run(weir_library_fn what) {
    behaviour = what;
    TestSession session(program.get());
    std::vector<float> x = {1, 2, 3};
    weir_tensor feed = floats(x, {3}), fetch = {};
    code = weir_session_run(session, 0, &feed, 1, &fetch, 1, nullptr, &session.status);
    return session.message();
  }

  TestProgram program;
  int32_t code = 0;
};

#define OPERATION                                                                                  \
  [](weir_context * ctx, const weir_tensor *in, int32_t, weir_tensor *out, int32_t,                \
     const int64_t *)                                                                              \
      ->int32_t

TEST_F(Customs, AGoodOneRuns) {
  EXPECT_EQ(run(OPERATION {
              (void)in;
              out->dims[1] = 3;
              out->bytes = 24;
              out->data = weir_custom_alloc(ctx, 24);
              memset(out->data, 0, 24);
              return 0;
            }),
            "");
  EXPECT_EQ(code, WEIR_OK);
}

TEST_F(Customs, WhatItThrowsIsAStatus) {
  auto thrower = OPERATION {
    (void)ctx, (void)in, (void)out;
    throw std::runtime_error("no such filter");
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run(thrower),
              "node \"blur1\" (Blur): the function that computes it threw an exception");
    EXPECT_EQ(code, WEIR_UNKNOWN);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }
  EXPECT_EQ(run(OPERATION {
              (void)ctx, (void)in, (void)out;
              throw 42;
            }),
            "node \"blur1\" (Blur): the function that computes it threw an exception");
}

TEST_F(Customs, ResultsThatContradictTheDescription) {
  auto expectRefused = [&](weir_library_fn what, const char *message) {
    EXPECT_EQ(run(what),
              std::string("node \"blur1\" (Blur): its function gave result 0 ") + message);
    EXPECT_EQ(code, WEIR_INTERNAL);
  };
  expectRefused(
      OPERATION {
        (void)in;
        out->dims[0] = 5;
        out->dims[1] = 3;
        out->bytes = 60;
        out->data = weir_custom_alloc(ctx, 60);
        return 0;
      },
      "as f32 5x3; expected f32 2x?");
  expectRefused(
      OPERATION {
        (void)in;
        out->rank = 17;
        out->data = weir_custom_alloc(ctx, 24);
        return 0;
      },
      "as f32 of rank 17; expected f32 2x?");
  expectRefused(
      OPERATION {
        (void)in;
        out->dtype = WEIR_I64;
        out->dims[1] = 3;
        out->bytes = 48;
        out->data = weir_custom_alloc(ctx, 48);
        return 0;
      },
      "as i64 2x3; expected f32 2x?");
  expectRefused(
      OPERATION {
        (void)in;
        out->data = weir_custom_alloc(ctx, 24);
        out->bytes = 24;
        return 0;
      },
      "as f32 2x?; expected f32 2x?");
  expectRefused(
      OPERATION {
        (void)ctx, (void)in;
        out->dims[1] = 3;
        out->bytes = 24;
        return 0;
      },
      "without data");
  expectRefused(
      OPERATION {
        (void)in;
        out->dims[1] = INT64_MAX;
        out->bytes = 24;
        out->data = weir_custom_alloc(ctx, 24);
        return 0;
      },
      "as f32 2x9223372036854775807, more than any memory holds");
  expectRefused(
      OPERATION {
        (void)in;
        out->dims[1] = 1000;
        out->bytes = 8000;
        out->data = weir_custom_alloc(ctx, 24);
        return 0;
      },
      "in memory that weir_custom_alloc has not given it, or less than the 8000 bytes of its "
      "shape");
  expectRefused(
      OPERATION {
        (void)ctx, (void)in;
        out->dims[1] = 3;
        out->bytes = 24;
        out->data = elsewhere;
        return 0;
      },
      "in memory that weir_custom_alloc has not given it, or less than the 24 bytes of its shape");
  expectRefused(
      OPERATION {
        (void)ctx;
        out->dims[1] = 1;
        out->bytes = 8;
        out->data = in->data;
        return 0;
      },
      "in memory that weir_custom_alloc has not given it, or less than the 8 bytes of its shape");
  expectRefused(
      OPERATION {
        (void)in;
        out->dims[1] = 3;
        out->bytes = 4;
        out->data = weir_custom_alloc(ctx, 24);
        return 0;
      },
      "with 4 bytes, and its shape needs 24");
}

TEST_F(Customs, WhatACallbackThrowsEndsThere) {
  behaviour = OPERATION {
    (void)ctx, (void)in, (void)out;
    return weir_custom_error(ctx, WEIR_NOT_FOUND, "no filter");
  };
  TestSession session(program.get());
  std::vector<float> x = {1};
  weir_tensor feed = floats(x, {1}), fetch = {};
  std::atomic<int> calls{0};
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(weir_session_run_async(
                  session, 0, &feed, 1, &fetch, 1, nullptr,
                  [](void *self, const weir_status *status) {
                    EXPECT_STREQ(status->message, "node \"blur1\" (Blur): no filter");
                    ++*static_cast<std::atomic<int> *>(self);
                    throw std::runtime_error("of the callback");
                  },
                  &calls, &session.status),
              WEIR_OK);
  weir_session_destroy(session);
  session.session = nullptr;
  EXPECT_EQ(calls, 3);
}

} // namespace

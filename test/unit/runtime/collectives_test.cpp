//===- collectives_test.cpp - devices of one process that reduce together -===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "collective_steps.h"
#include "collectives/combine.h"

#include <cmath>
#include <limits>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

TEST(Collectives, AllKindsInTheDocumentedOrder) {
  for (int ranks : {1, 2, 3, 5, 8}) {
    CollectiveProgram program(ranks, false);
    TestSession session(program.get(), TestSession::defaults(2));
    ASSERT_EQ(session.code, WEIR_OK) << session.message();
    for (int kind = 0; kind < 4; ++kind)
      for (int64_t each : {0, 1, 3, 40, 2000, 20000, 70000, 130000, 400000}) {
        int64_t count = kind == WEIR_REDUCE_SCATTER ? each * ranks : each;
        program.check(kind, count, [&](weir_tensor fed, std::vector<weir_tensor> &fetches) {
          ASSERT_EQ(session.run({fed}, &fetches, nullptr, kind), WEIR_OK) << session.message();
        });
      }
    for (int device = 0; device < ranks; ++device) {
      weir_memory_stats stats = {};
      stats.size = sizeof(stats);
      weir_session_memory(session.session, device, &stats);
      EXPECT_EQ(stats.live, 1 + 4 * 9) << "the arena and results";
    }
  }
}

TEST(Collectives, WhatDoesNotFitEndsTheRunAndLeavesNothing) {
  CollectiveProgram program(3, false);
  TestSession session(program.get(), TestSession::defaults(2));
  std::vector<weir_tensor> fetches(3);
  int64_t fed = int64_t(WEIR_REDUCE_SCATTER) << 56 | 10;
  EXPECT_EQ(session.run({scalar(&fed)}, &fetches, nullptr, WEIR_REDUCE_SCATTER),
            WEIR_INVALID_ARGUMENT);
  EXPECT_NE(session.message().find("no multiple of the devices"), std::string::npos);
  EXPECT_NE(session.message().find("\"reduced\""), std::string::npos);
}

TEST(Collectives, ADeviceThatFailsEndsAllParts) {
  // Device 1 gives nothing: the other part is woken by the error.
  CollectiveProgram program(2, false);
  TestProgram &test = program.program;
  test.entry("silent", {{"count", WEIR_I64}}, {{"result0", WEIR_F32, {-1}}},
             {CollectiveProgram::step, [](weir_context *ctx) {
                return weir_rt_error_text(ctx, -1, WEIR_ABORTED, "no", 0, 0);
              }});
  test.collective(4, WEIR_ALL_REDUCE, WEIR_REDUCE_SUM, 2, &weir_collectives);
  TestSession session(program.get(), TestSession::defaults(2));
  std::vector<weir_tensor> fetches(1);
  int64_t fed = int64_t(4) << 56 | 100000;
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(session.run({scalar(&fed)}, &fetches, nullptr, 4), WEIR_ABORTED);
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  weir_session_memory(session.session, 0, &stats);
  EXPECT_LE(stats.live, 1);
}

template <typename T> void expectCombined(int32_t dtype, int32_t reduction, T a, T b, T result) {
  Combine combine = combineFn(dtype, reduction);
  for (CombineFn fn : {combine.behind, combine.before}) {
    ASSERT_NE(fn, nullptr);
    T values[3] = {a, a, a};
    T others[3] = {b, b, b};
    fn(values, others, 3);
    EXPECT_EQ(values[2], result) << dtype << ", " << reduction;
  }
}

TEST(Combine, TypesAndKinds) {
  expectCombined<float>(WEIR_F32, WEIR_REDUCE_SUM, 1.5f, 2, 3.5f);
  expectCombined<double>(WEIR_F64, WEIR_REDUCE_PROD, 1.5, 2, 3);
  expectCombined<int32_t>(WEIR_I32, WEIR_REDUCE_MAX, -7, 3, 3);
  expectCombined<int64_t>(WEIR_I64, WEIR_REDUCE_MIN, -7, 3, -7);
  expectCombined<int32_t>(WEIR_I32, WEIR_REDUCE_SUM, 0x7fffffff, 1, INT32_MIN);
  expectCombined<uint32_t>(WEIR_U32, WEIR_REDUCE_MAX, 0xffffffffu, 3, 0xffffffffu);
  expectCombined<uint16_t>(WEIR_F16, WEIR_REDUCE_SUM, 0x3c00, 0x3c00, 0x4000);
  expectCombined<uint16_t>(WEIR_BF16, WEIR_REDUCE_SUM, 0x3f80, 0x3f80, 0x4000);
  // 256 + 1 is halfway between two of bf16: to even.
  expectCombined<uint16_t>(WEIR_BF16, WEIR_REDUCE_SUM, 0x4380, 0x3f80, 0x4380);
  EXPECT_EQ(combineFn(WEIR_STRING, WEIR_REDUCE_SUM).behind, nullptr);
  EXPECT_EQ(combineFn(WEIR_F32, 17).behind, nullptr);
  float nan[1] = {std::numeric_limits<float>::quiet_NaN()}, one[1] = {1};
  combineFn(WEIR_F32, WEIR_REDUCE_MAX).behind(one, nan, 1);
  EXPECT_TRUE(std::isnan(one[0]));
  one[0] = 1;
  combineFn(WEIR_F32, WEIR_REDUCE_MIN).behind(nan, one, 1);
  EXPECT_TRUE(std::isnan(nan[0]));
  // Zeros are equal: the one behind is taken.
  float plus[1] = {0.0f}, minus[1] = {-0.0f};
  combineFn(WEIR_F32, WEIR_REDUCE_MAX).before(plus, minus, 1);
  EXPECT_FALSE(std::signbit(plus[0]));
  combineFn(WEIR_F32, WEIR_REDUCE_MAX).behind(plus, minus, 1);
  EXPECT_TRUE(std::signbit(plus[0]));
}

} // namespace

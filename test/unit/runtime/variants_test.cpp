//===- variants_test.cpp - which processor's code a session takes ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test_program.h"

#include <cstddef>
#include <cstdlib>

using namespace weir::rt::test;

namespace {

/// A bit that no processor of today has.
constexpr uint64_t tomorrow = UINT64_C(1) << 60;

/// y = NUMBER, and an arena that no other number has.
template <int number> int32_t numberStep(weir_context *ctx) {
  int64_t dims[] = {1};
  auto *y = static_cast<float *>(weir_rt_fetch(ctx, 0, 1, dims, sizeof(float)));
  if (!y)
    return WEIR_INTERNAL;
  // Memory as this code was planned for, to the last byte.
  ctx->arena[number * 4096 - 1] = 1;
  *y = number;
  return 0;
}

class Variants : public testing::Test {
protected:
  Variants() {
    add(small, 1, numberStep<1>, "x86-64-v2", 0);
    add(middle, 2, numberStep<2>, "x86-64-v3", 0);
    add(large, 3, numberStep<3>, "tomorrow", tomorrow);
    list[0] = large.get();
    list[1] = middle.get();
    small.get();
    small.desc.variants = list;
    small.desc.variant_count = 2;
    unsetenv("WEIR_CPU");
  }
  ~Variants() override { unsetenv("WEIR_CPU"); }

  static void add(TestProgram &program, int number, weir_step_fn step, const char *cpu,
                  uint64_t features) {
    program.arena(number * 4096);
    program.entry("main", {}, {{"y", WEIR_F32, {1}}}, {step});
    program.desc.cpu = cpu;
    program.desc.required_cpu_features = features;
  }

  /// What a session of the program computes; 0 where there is none.
  float number() {
    TestSession session(&small.desc);
    code = session.code;
    message = session.message();
    if (code != WEIR_OK)
      return 0;
    chosen = weir_session_program(session);
    std::vector<float> y(1);
    std::vector<weir_tensor> fetches = {tensorOf(y, WEIR_F32, {1})};
    EXPECT_EQ(session.run({}, &fetches), WEIR_OK) << session.message();
    EXPECT_EQ(weir_program_arena_bytes(&small.desc, 0), y[0] * 4096);
    return y[0];
  }

  TestProgram small, middle, large;
  const weir_program_desc *list[2];
  const weir_program_desc *chosen = nullptr;
  int32_t code = 0;
  std::string message;
};

TEST_F(Variants, TheFirstThatTheProcessorHas) {
  EXPECT_EQ(number(), 2);
  EXPECT_EQ(chosen, &middle.desc);
  large.desc.required_cpu_features = 0;
  EXPECT_EQ(number(), 3);
  large.desc.required_cpu_features = middle.desc.required_cpu_features = tomorrow;
  EXPECT_EQ(number(), 1);
}

TEST_F(Variants, NoneIsTheLeastDemandingOnesStatus) {
  for (TestProgram *program : {&small, &middle, &large})
    program->desc.required_cpu_features = tomorrow;
  EXPECT_EQ(number(), 0);
  EXPECT_EQ(code, WEIR_FAILED_PRECONDITION);
  EXPECT_NE(message.find("--cpu"), std::string::npos) << message;
}

TEST_F(Variants, ThatOfTheEnvironment) {
  setenv("WEIR_CPU", "x86-64-v2", 1);
  EXPECT_EQ(number(), 1);
  setenv("WEIR_CPU", "x86-64-v3", 1);
  EXPECT_EQ(number(), 2);
  // Named or not, code that the processor cannot run is not begun.
  setenv("WEIR_CPU", "tomorrow", 1);
  EXPECT_EQ(number(), 0);
  EXPECT_EQ(code, WEIR_FAILED_PRECONDITION);
  setenv("WEIR_CPU", "x86-64-v9", 1);
  EXPECT_EQ(number(), 0);
  EXPECT_EQ(code, WEIR_FAILED_PRECONDITION);
  EXPECT_NE(message.find("tomorrow, x86-64-v3, x86-64-v2"), std::string::npos) << message;
  EXPECT_EQ(weir_program_arena_bytes(&small.desc, 0), 0);
  // Programs for one processor do not ask.
  small.desc.variant_count = 0;
  EXPECT_EQ(weir_program_arena_bytes(&small.desc, 0), 4096);
  setenv("WEIR_CPU", "", 1);
  EXPECT_EQ(number(), 1);
}

TEST_F(Variants, OlderObjectsHaveNone) {
  small.desc.size = offsetof(weir_program_desc, cpu);
  EXPECT_EQ(number(), 1);
}

} // namespace

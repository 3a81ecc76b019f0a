//===- PlanCheckerTest.cpp - Every broken rule is found -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PlanChecker.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace weir::memory;

namespace {

TEST(PlanChecker, AcceptsNeighboursInSpaceAndInTime) {
  std::vector<PlacedBuffer> plan = {{0, 3, 4, 1, 0}, {0, 3, 4, 4, 4}, {3, 5, 8, 1, 0}};
  EXPECT_FALSE(checkPlan(plan, 8));
}

TEST(PlanChecker, RejectsOverlap) {
  std::vector<PlacedBuffer> plan = {{0, 3, 4, 1, 0}, {2, 5, 4, 1, 3}};
  auto error = checkPlan(plan, 16);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->first + error->second, 1);
  EXPECT_EQ(error->message, "overlap while both live");
}

TEST(PlanChecker, RejectsOverlapWithWhatSurroundsIt) {
  std::vector<PlacedBuffer> plan = {{0, 9, 64, 1, 0}, {3, 4, 1, 1, 32}};
  EXPECT_TRUE(checkPlan(plan, 64));
}

TEST(PlanChecker, RejectsWhatLeavesTheArena) {
  std::vector<PlacedBuffer> below = {{0, 1, 4, 1, -1}};
  std::vector<PlacedBuffer> beyond = {{0, 1, 4, 1, 5}};
  EXPECT_TRUE(checkPlan(below, 8));
  EXPECT_TRUE(checkPlan(beyond, 8));
}

TEST(PlanChecker, RejectsMisalignment) {
  std::vector<PlacedBuffer> plan = {{0, 1, 4, 64, 32}};
  auto error = checkPlan(plan, 64);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "not aligned");
}

TEST(PlanChecker, IgnoresWhatHasNoSizeOrLifetime) {
  std::vector<PlacedBuffer> plan = {{0, 9, 8, 1, 0}, {2, 3, 0, 1, 4}, {5, 5, 8, 1, 0}};
  EXPECT_FALSE(checkPlan(plan, 8));
}

// The sweep against the definition, on plans that are right and wrong.
TEST(PlanChecker, AgreesWithAllPairs) {
  std::mt19937 random(7);
  int wrong = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<PlacedBuffer> plan(2 + random() % 6);
    for (PlacedBuffer &b : plan) {
      b.lower = random() % 8;
      b.upper = b.lower + random() % 4;
      b.size = random() % 4;
      b.offset = random() % 13;
    }
    bool overlap = false;
    for (size_t i = 0; i < plan.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const PlacedBuffer &a = plan[i], &b = plan[j];
        overlap |= std::max(a.lower, b.lower) < std::min(a.upper, b.upper) &&
                   std::max(a.offset, b.offset) < std::min(a.offset + a.size, b.offset + b.size);
      }
    wrong += overlap;
    ASSERT_EQ(checkPlan(plan, 16).has_value(), overlap) << "round " << round;
  }
  EXPECT_GT(wrong, 300);
  EXPECT_LT(wrong, 2700);
}

TEST(PlanChecker, AcceptsAResultOverItsOperand) {
  // 0 is written, 1 takes its place as it is read, and is read.
  std::vector<Access> step = {
      {0, 0, 64, true}, {0, 0, 64, false}, {1, 0, 64, true}, {1, 0, 64, false}};
  EXPECT_FALSE(checkAccesses(step));
}

TEST(PlanChecker, RejectsAnOperandThatWasWrittenOver) {
  std::vector<Access> step = {{0, 0, 64, true}, {1, 0, 64, true}, {0, 0, 64, false}};
  auto error = checkAccesses(step);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->first, 2);
  EXPECT_EQ(error->message, "reads what another buffer wrote");
}

TEST(PlanChecker, RejectsAPartThatWasWrittenOver) {
  std::vector<Access> step = {{0, 0, 192, true}, {1, 64, 64, true}, {0, 0, 192, false}};
  EXPECT_TRUE(checkAccesses(step));
  // What is left on both sides still belongs to the first.
  std::vector<Access> rest = {
      {0, 0, 192, true}, {1, 64, 64, true}, {0, 0, 64, false}, {0, 128, 64, false}};
  EXPECT_FALSE(checkAccesses(rest));
}

TEST(PlanChecker, TakesAnythingForBytesThatNothingWrote) {
  std::vector<Access> step = {{0, 0, 64, false}, {1, 64, 64, true}, {0, 0, 64, false}};
  EXPECT_FALSE(checkAccesses(step));
}

TEST(PlanChecker, FollowsCopiesBesideTheStep) {
  using E = TransferEvent;
  auto first = [](std::vector<E> events) {
    auto error = checkTransfers(events);
    return error ? int(error->first) : -1;
  };
  E out{E::CopyOut, 0, 64, 64}, in{E::CopyIn, 1, 64, 64};
  E awaitOut{E::Await, 0, 0, 0}, awaitIn{E::Await, 1, 0, 0};
  E read{E::Read, -1, 0, 128}, write{E::Write, -1, 0, 65}, beside{E::Write, -1, 0, 64};
  // Reading what is copied out is free, writing it waits.
  EXPECT_EQ(first({out, read, beside, awaitOut, write}), -1);
  EXPECT_EQ(first({out, write}), 1);
  EXPECT_EQ(first({out, read, write, awaitOut}), 2);
  EXPECT_EQ(first({out, read}), -1);
  // What is copied back is nobody's until it is there.
  EXPECT_EQ(first({in, beside, awaitIn, read, write}), -1);
  EXPECT_EQ(first({in, read, awaitIn}), 1);
  EXPECT_EQ(first({in, write, awaitIn}), 1);
  EXPECT_EQ(first({in, beside}), 0);
  // Copies meet each other.
  EXPECT_EQ(first({out, in, awaitIn}), 1);
  EXPECT_EQ(first({out, awaitOut, in, awaitIn}), -1);
  EXPECT_EQ(first({in, out, awaitIn}), 1);
}

} // namespace

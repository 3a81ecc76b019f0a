//===- PtxAsyncCopyTest.cpp - cp.async of the interpreter -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/cuda/PtxKernel.h"

#include <gtest/gtest.h>

using namespace weir::test;

namespace {

const std::string copyBack = R"(
ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%mine];
st.global.v4.b32 [%to], {%r1, %r2, %r3, %r4};
)";

std::vector<uint8_t> firstBytes(const std::vector<uint8_t> &all, size_t count) {
  return {all.begin(), all.begin() + long(count)};
}

TEST(PtxAsyncCopy, ArrivesWhenWaitedFor) {
  for (const char *wait : {"cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;"}) {
    PtxKernel kernel(64);
    EXPECT_EQ(kernel.run(std::string("cp.async.cg.shared.global [%mine], [%from], 16;") + wait +
                         copyBack),
              "");
    EXPECT_EQ(kernel.to, kernel.from);
  }
}

TEST(PtxAsyncCopy, IsStaleWithoutTheWait) {
  // The second: a group that is not committed is none to wait for.
  for (const char *wait : {"cp.async.commit_group;", "cp.async.wait_group 0;",
                           "cp.async.commit_group; cp.async.wait_group 1;"}) {
    PtxKernel kernel(1);
    EXPECT_EQ(kernel.run(std::string("cp.async.cg.shared.global [%mine], [%from], 16;") + wait +
                         copyBack),
              "");
    EXPECT_EQ(kernel.to, std::vector<uint8_t>(16, 0xcd));
  }
}

TEST(PtxAsyncCopy, ReadsWhenIssued) {
  PtxKernel kernel(1);
  auto before = kernel.from;
  EXPECT_EQ(kernel.run(R"(
cp.async.cg.shared.global [%mine], [%from], 16;
mov.b32 %r1, 0;
st.global.v4.b32 [%from], {%r1, %r1, %r1, %r1};
cp.async.wait_all;)" + copyBack),
            "");
  EXPECT_EQ(kernel.to, before);
  ASSERT_FALSE(kernel.seen.empty());
  EXPECT_EQ(kernel.seen[0].address, uint64_t(kernel.from.data()));
  EXPECT_EQ(kernel.seen[0].bytes, 16);
  EXPECT_FALSE(kernel.seen[0].writes);
}

/// Two buffers in turn: each step loads what the next one adds. Every thread
/// reads what its neighbour has loaded. `from` has four parts, of a step each.
const char *pipeline = R"(
and.b32 %r1, %t, 31;
mul.wide.u32 %rd1, %r1, 4;
ld.param.u64 %rd2, [p0];
add.s64 %rd2, %rd2, %rd1;
add.s64 %rd3, %tile, %rd1;
xor.b32 %r2, %r1, 31;
mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd4, %tile, %rd4;
mov.b32 %r3, 0;
mov.b32 %r4, 0;
cp.async.ca.shared.global [%rd3], [%rd2], 4;
cp.async.commit_group;
LOOP:
add.s32 %r5, %r3, 1;
shl.b32 %r6, %r5, 7;
and.b32 %r7, %r6, 128;
cvt.u64.u32 %rd5, %r6;
add.s64 %rd5, %rd2, %rd5;
cvt.u64.u32 %rd6, %r7;
add.s64 %rd6, %rd3, %rd6;
setp.lt.u32 %p1, %r5, 4;
@%p1 cp.async.ca.shared.global [%rd6], [%rd5], 4;
cp.async.commit_group;
WAIT
bar.sync 0;
xor.b32 %r8, %r7, 128;
cvt.u64.u32 %rd7, %r8;
add.s64 %rd7, %rd4, %rd7;
ld.shared.b32 %r9, [%rd7];
add.s32 %r4, %r4, %r9;
END
mov.b32 %r3, %r5;
@%p1 bra LOOP;
st.global.b32 [%to], %r4;
)";

std::string pipelineWith(const std::string &wait, const std::string &end) {
  std::string text = pipeline;
  text.replace(text.find("WAIT"), 4, wait);
  text.replace(text.find("END"), 3, end);
  return text;
}

TEST(PtxAsyncCopy, Pipeline) {
  PtxKernel kernel(32);
  EXPECT_EQ(kernel.run(pipelineWith("cp.async.wait_group 1;", "bar.sync 0;")), "");
  for (size_t thread = 0; thread < 32; ++thread) {
    uint32_t expected = 0, sum;
    for (size_t step = 0; step < 4; ++step) {
      uint32_t part;
      std::memcpy(&part, &kernel.from[128 * step + 4 * (31 - thread)], 4);
      expected += part;
    }
    std::memcpy(&sum, &kernel.to[16 * thread], 4);
    EXPECT_EQ(sum, expected) << thread;
  }
}

TEST(PtxAsyncCopy, PipelineThatLoadsOverWhatIsRead) {
  // Without the barrier at the end of a step.
  expectFailure(32, pipelineWith("cp.async.wait_group 1;", ""), "a race");
}

TEST(PtxAsyncCopy, PipelineThatWaitsForTooLittle) {
  // The copy arrives a step late: after others have looked.
  expectFailure(32, pipelineWith("cp.async.wait_group 2;", "bar.sync 0;"),
                "that was not waited for");
}

TEST(PtxAsyncCopy, FillsWithZeros) {
  PtxKernel kernel(1);
  EXPECT_EQ(kernel.run("mov.b32 %r5, 5;"
                       "cp.async.cg.shared.global [%mine], [%from], 16, %r5;"
                       "cp.async.wait_all;" +
                       copyBack),
            "");
  std::vector<uint8_t> expected = firstBytes(kernel.from, 5);
  expected.resize(16);
  EXPECT_EQ(kernel.to, expected);
  EXPECT_EQ(kernel.seen[0].bytes, 5);
}

TEST(PtxAsyncCopy, DoesNotTouchASourceOfNothing) {
  PtxKernel kernel(1);
  EXPECT_EQ(kernel.run("mov.b64 %rd1, 64; mov.b32 %r5, 0;"
                       "cp.async.cg.shared.global [%mine], [%rd1], 16, %r5;"
                       "cp.async.wait_all;" +
                       copyBack),
            "");
  EXPECT_EQ(kernel.to, std::vector<uint8_t>(16));
  ASSERT_EQ(kernel.seen.size(), 4u); // the stores of the result
  EXPECT_TRUE(kernel.seen[0].writes);
}

TEST(PtxAsyncCopy, Sizes) {
  for (size_t bytes : {4, 8, 16}) {
    PtxKernel kernel(1);
    EXPECT_EQ(kernel.run("cp.async.ca.shared.global.L2::128B [%mine], [%from], " +
                         std::to_string(bytes) + "; cp.async.wait_all;" + copyBack),
              "");
    auto expected = firstBytes(kernel.from, bytes);
    expected.resize(16, 0xcd);
    EXPECT_EQ(kernel.to, expected);
  }
  expectFailure(1, "cp.async.cg.shared.global [%mine], [%from], 8;", "size");
  expectFailure(1, "cp.async.ca.shared.global [%mine], [%from], 12;", "size");
  expectFailure(1, "cp.async.ca.shared.global [%mine], [%from], 8, 9;",
                "larger than the destination");
}

TEST(PtxAsyncCopy, AddressesAreChecked) {
  for (const char *addresses : {"[%mine+8], [%from]", "[%mine], [%from+8]"})
    expectFailure(1, std::string("cp.async.cg.shared.global ") + addresses + ", 16;",
                  "not aligned");
  expectFailure(1, "cp.async.cg.shared.global [%mine+8192], [%from], 16;", "beyond");
  expectFailure(1, "cp.async.cg.shared.global [%to], [%from], 16;", "not in shared");
  expectFailure(1, "cp.async.cg.shared.global [%mine], [%mine], 16;", "not in global");
}

TEST(PtxAsyncCopy, OthersAreUnknown) {
  expectFailure(1,
                "cp.async.bulk.shared.global.mbarrier [%mine], [%from], "
                "16, [%to];",
                "unknown");
}

} // namespace

//===- PtxGridTest.cpp - races between blocks are found -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/cuda/PtxKernel.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace weir::test;

namespace {

std::string runTogether(const std::string &body, unsigned blocks = 3) {
  PtxKernel kernel(32, blocks);
  std::fill(kernel.to.begin(), kernel.to.end(), 0);
  kernel.together = true;
  return kernel.run(body);
}

/// Each block's threads write 4 bytes each of what lies at %from, at their block's place; %rd4:
/// where the next block writes; %rd3: a word for barriers, 0 at first; %p1: not the first thread.
const std::string begin = R"(
ld.param.u64 %rd1, [p0];
mul.wide.u32 %rd2, %ctaid.x, 128;
mul.wide.u32 %rd4, %t, 4;
add.s64 %rd1, %rd1, %rd4;
add.s64 %rd2, %rd1, %rd2;
add.u32 %r1, %ctaid.x, 1;
rem.u32 %r1, %r1, %nctaid.x;
mul.wide.u32 %rd4, %r1, 128;
add.s64 %rd4, %rd1, %rd4;
ld.param.u64 %rd3, [p1];
setp.ne.u32 %p1, %t, 0;
)";
const std::string write = "st.global.b32 [%rd2], %t;\n", read = "ld.global.b32 %r9, [%rd4];\n";

/// All blocks count to their number.
std::string meet(const std::string &before = "bar.sync 0;",
                 const std::string &add = "atom.acq_rel.gpu.global.add.u32 %r3, [%rd3], 1;",
                 const std::string &look = "ld.acquire.gpu.global.u32 %r4, [%rd3];",
                 const std::string &behind = "bar.sync 0;") {
  return before + "\n@%p1 bra $met;\n" + add + "\n$again:\n" + look + R"(
setp.ge.u32 %p2, %r4, %nctaid.x;
@%p2 bra $met;
nanosleep.u32 20;
bra $again;
$met:
)" + behind +
         "\n";
}

TEST(PtxGrid, BarriersOrderBlocks) {
  EXPECT_EQ(runTogether(begin + write + meet() + read), "");
  EXPECT_EQ(runTogether(begin + read + meet() + write), "");
}

TEST(PtxGrid, FindsWhatNothingOrders) {
  auto finds = [](const std::string &body) {
    std::string error = runTogether(begin + body);
    EXPECT_NE(error.find("a race between blocks"), std::string::npos) << error;
  };
  finds(write + read);
  finds(read + write);
  finds("st.global.b32 [%rd1], %t;");
  // Others have written when their block's first thread tells, and read when it knows.
  finds(write + meet("") + read);
  finds(write +
        meet("bar.sync 0;", "atom.acq_rel.gpu.global.add.u32 %r3, [%rd3], 1;",
             "ld.acquire.gpu.global.u32 %r4, [%rd3];", "") +
        read);
  // Neither is told, or asked, without an order.
  finds(write + meet("bar.sync 0;", "atom.relaxed.gpu.global.add.u32 %r3, [%rd3], 1;") + read);
  finds(write +
        meet("bar.sync 0;", "atom.acq_rel.gpu.global.add.u32 %r3, [%rd3], 1;",
             "ld.relaxed.gpu.global.u32 %r4, [%rd3];") +
        read);
  finds(write + meet("bar.sync 0;", "atom.acq_rel.cta.global.add.u32 %r3, [%rd3], 1;") + read);
  // What was written may be read by no path for constants.
  finds(write + meet() + "ld.global.nc.b32 %r9, [%rd4];");
  finds("ld.global.nc.b32 %r9, [%rd4];\n" + meet() + write);
}

TEST(PtxGrid, AtomicOperationsRaceWithOthersAlone) {
  EXPECT_EQ(runTogether(begin + "atom.global.add.u32 %r3, [%rd3], 1;"), "");
  EXPECT_NE(runTogether(begin + "atom.global.add.u32 %r3, [%rd3], 1;\nld.global.b32 %r4, [%rd3];"),
            "");
}

TEST(PtxGrid, BlocksThatWaitForEver) {
  EXPECT_NE(
      runTogether(begin + "setp.eq.u32 %p3, %ctaid.x, 1;\n@%p3 bra $left;\n" + meet() + "$left:\n")
          .find("threads wait for each other"),
      std::string::npos);
  PtxKernel apart(32, 3);
  std::fill(apart.to.begin(), apart.to.end(), 0);
  EXPECT_NE(apart.run(begin + meet()).find("need not run at the same time"), std::string::npos);
}

} // namespace

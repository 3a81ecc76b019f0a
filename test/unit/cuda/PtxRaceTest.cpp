//===- PtxRaceTest.cpp - races in shared memory are found -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/PtxShadow.h"
#include "test/unit/cuda/PtxKernel.h"

#include <gtest/gtest.h>

#include <random>

using namespace weir::test;

namespace {

bool races(unsigned threads, const std::string &body) {
  std::string error = PtxKernel(threads).run(body);
  // Anything else that goes wrong is no race.
  EXPECT_TRUE(error.empty() || error.find("a race in shared memory") != std::string::npos) << error;
  return !error.empty();
}

/// %rd1: the bytes of the next thread; of the last: the first's.
const std::string next = R"(
add.s32 %r1, %t, 1;
rem.u32 %r1, %r1, %ntid.x;
mul.wide.u32 %rd1, %r1, 16;
add.s64 %rd1, %tile, %rd1;
)";

TEST(PtxRace, NamesBothThreads) {
  EXPECT_EQ(PtxKernel(64).run(R"(st.shared.b32 [%mine], %t;
ld.shared.b32 %r2, [tile+32];)"),
            "kernel (line 18, st): a race in shared memory: thread 2 writes bytes 32 "
            "to 35 (line 18), thread 0 reads there (line 19), and no barrier is "
            "between");
}

TEST(PtxRace, BarriersOrder) {
  for (const char *barrier : {"bar.sync 0;", "barrier.sync 0;", "bar.sync 0, 64;"}) {
    const std::string kernel[] = {next + "st.shared.b32 [%mine], %t;", barrier,
                                  "ld.shared.b32 %r2, [%rd1];", barrier,
                                  "st.shared.b32 [%mine], %t;"};
    std::string all;
    for (const std::string &part : kernel)
      all += part;
    EXPECT_FALSE(races(64, all));
    EXPECT_TRUE(races(64, kernel[0] + kernel[2]));
    EXPECT_TRUE(races(64, kernel[0] + kernel[1] + kernel[2] + kernel[4]));
  }
  expectFailure(64, "bar.sync 0, 32;", "not a barrier of all");
}

TEST(PtxRace, BlocksHaveTheirOwn) {
  PtxKernel kernel(32, 3);
  EXPECT_EQ(kernel.run("setp.eq.u32 %p1, %t, %ctaid.x;"
                       "@%p1 st.shared.b32 [tile], %t;"),
            "");
}

TEST(PtxRace, WritesRace) {
  EXPECT_TRUE(races(2, "st.shared.b32 [tile], 0;"));
  EXPECT_FALSE(races(1, "st.shared.b32 [tile], 0; st.shared.b32 [tile], 1;"));
  EXPECT_FALSE(races(64, "ld.shared.b32 %r1, [tile];"));
}

TEST(PtxRace, EveryByteIsItsOwn) {
  const std::string bytes = R"(
cvt.u64.u32 %rd1, %t;
add.s64 %rd1, %tile, %rd1;
st.shared.b8 [%rd1], %t;
)";
  EXPECT_FALSE(races(64, bytes));
  EXPECT_TRUE(races(64, bytes + "ld.shared.b16 %r1, [tile+2];"));
}

TEST(PtxRace, OneOfManyReaders) {
  // Another reader before and after: of the same thread, warp, and another one.
  for (int reader : {0, 1, 33, 70}) {
    std::string kernel = "setp.eq.u32 %p1, %t, " + std::to_string(reader) + R"(;
setp.lt.u32 %p2, %t, 2;
setp.eq.u32 %p3, %t, 95;
@%p2 ld.shared.b32 %r1, [tile];
@%p1 ld.shared.b32 %r1, [tile];
@%p2 ld.shared.b32 %r1, [tile];
@%p3 st.shared.b32 [tile], 0;)";
    EXPECT_TRUE(races(96, kernel)) << reader;
  }
}

TEST(PtxRace, ShufflesDoNotOrder) {
  EXPECT_TRUE(races(32, next + R"(
st.shared.b32 [%mine], %t;
shfl.sync.idx.b32 %r2, %t, 0, 31, -1;
ld.shared.b32 %r3, [%rd1];)"));
}

TEST(PtxRace, BarriersOfAWarp) {
  const std::string neighbours = R"(
xor.b32 %r1, %t, OTHER;
mul.wide.u32 %rd1, %r1, 16;
add.s64 %rd1, %tile, %rd1;
st.shared.b32 [%mine], %t;
bar.warp.sync -1;
ld.shared.b32 %r3, [%rd1];
)";
  auto with = [&](const char *other) {
    std::string text = neighbours;
    return text.replace(text.find("OTHER"), 5, other);
  };
  EXPECT_FALSE(races(64, with("1")));
  EXPECT_TRUE(races(64, with("32")));
  // Nor is what comes after it before it.
  EXPECT_TRUE(races(64, with("1") + "st.shared.b32 [%mine], 0;"));
  EXPECT_FALSE(races(64, with("1") + "bar.warp.sync -1; st.shared.b32 [%mine], 0;"));
  // The first of two readers is before the write, the other one is not.
  EXPECT_TRUE(races(64, R"(
setp.eq.u32 %p1, %t, 1;
setp.eq.u32 %p2, %t, 40;
setp.eq.u32 %p3, %t, 2;
@%p1 ld.shared.b32 %r1, [tile];
@%p2 ld.shared.b32 %r1, [tile];
bar.warp.sync -1;
@%p3 st.shared.b32 [tile], 0;)"));
}

TEST(PtxRace, Atomics) {
  const std::string add = "atom.shared.add.u32 %r1, [tile], 1;";
  EXPECT_FALSE(races(64, add + add));
  EXPECT_TRUE(races(64, add + "ld.shared.b32 %r2, [tile];"));
  EXPECT_TRUE(races(64, "setp.eq.u32 %p1, %t, 5; @%p1 st.shared.b32 [tile], 0;" + add));
  EXPECT_FALSE(races(64, add + "bar.sync 0; ld.shared.b32 %r2, [tile];"));
}

TEST(PtxRace, GenericAddresses) { EXPECT_TRUE(races(2, "st.b32 [%tile], %t;")); }

TEST(PtxRace, Matrices) {
  const std::string write = "mov.b32 %r1, 0; st.shared.v4.b32 [%mine], {%r1, %r1, %r1, %r1};",
                    load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                           "{%r5, %r6, %r7, %r8}, [%mine];";
  EXPECT_TRUE(races(32, write + load));
  EXPECT_FALSE(races(64, write + "bar.warp.sync -1;" + load));
  EXPECT_FALSE(races(64, write + "bar.sync 0;" + load));
  EXPECT_TRUE(races(64, write + "bar.sync 0;" + load + write));
  // What other rows have is not read.
  EXPECT_FALSE(races(32, "st.shared.b32 [%mine+512], %t;" + load));
}

TEST(PtxRace, CopiesWriteWhenIssued) {
  const std::string copy = "cp.async.cg.shared.global [%mine], [%from], 16;";
  EXPECT_TRUE(races(32, next + copy + "ld.shared.b32 %r2, [%rd1+12];"));
  EXPECT_TRUE(races(32, next + "ld.shared.b32 %r2, [%rd1+12];" + copy));
  EXPECT_FALSE(races(32, next + "ld.shared.b32 %r2, [%rd1+12]; bar.sync 0;" + copy));
}

TEST(PtxRace, CopiesWriteUntilWaitedFor) {
  const std::string copy = "cp.async.cg.shared.global [%mine], [%from], 16;",
                    wait = "cp.async.wait_all;", barrier = "bar.sync 0;",
                    look = "ld.shared.b32 %r2, [%rd1];";
  EXPECT_FALSE(races(32, next + copy + wait + barrier + look));
  EXPECT_TRUE(races(32, next + copy + wait + look));
  EXPECT_TRUE(races(32, next + copy + barrier + wait + look));
  EXPECT_TRUE(races(32, next + copy + barrier + look + barrier + wait));
  // A thread's own instructions are not ordered with its copies either.
  EXPECT_TRUE(races(1, copy + "ld.shared.b32 %r2, [%mine];" + wait));
  EXPECT_TRUE(races(1, copy + copy + wait));
  EXPECT_FALSE(races(1, copy + wait + copy + wait + "ld.shared.b32 %r2, [%mine];"));
}

/// Keeps every access, and compares each with all before it.
struct AllAccesses {
  std::vector<ptx::Shadow::Access> accesses;
  uint32_t now = 1, barrier = 1;
  std::vector<uint32_t> warps = std::vector<uint32_t>(3);

  bool races(ptx::Shadow::Access access) {
    access.time = now;
    bool result = false;
    for (const ptx::Shadow::Access &old : accesses)
      result |= (old.kind != access.kind || access.kind == ptx::Shadow::Write) &&
                old.thread != access.thread && old.time >= barrier &&
                (old.thread / 32 != access.thread / 32 || old.time >= warps[old.thread / 32]);
    accesses.push_back(access);
    return result;
  }
};

TEST(PtxRace, AFewAccessesAreEnough) {
  std::mt19937 random(7);
  int found = 0;
  for (int round = 0; round < 20000; ++round) {
    ptx::Shadow shadow(4, 4, 96, 0);
    AllAccesses all;
    // Mostly what does not race with itself, so that some rounds are long.
    unsigned writes = random() % 8;
    for (int step = 0; step < 40; ++step) {
      unsigned what = random() % 16;
      if (what == 0) {
        shadow.meet();
        all.barrier = ++all.now;
      } else if (what < 5) {
        size_t warp = random() % 3;
        shadow.meetWarp(warp);
        all.warps[warp] = ++all.now;
      } else {
        bool common = random() % 8 >= writes / 2;
        ptx::Shadow::Access access;
        access.thread = uint16_t(random() % 3 * 32 + random() % 3);
        access.kind = common ? (writes % 2 ? ptx::Shadow::Read : ptx::Shadow::Atomic)
                             : ptx::Shadow::Kind(random() % 3);
        bool expected = all.races(access);
        ASSERT_EQ(shadow.touch(0, 4, access.kind, access.thread, 0) != nullptr, expected)
            << "round " << round << ", step " << step;
        found += expected;
        if (expected)
          break;
      }
    }
  }
  EXPECT_GT(found, 1000);
  EXPECT_LT(found, 19000);
}

} // namespace

//===- PtxMatrixTest.cpp - ldmatrix of the interpreter --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/cuda/PtxKernel.h"

#include <gtest/gtest.h>

using namespace weir::test;

namespace {

const std::string fill = R"(
ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%from];
st.shared.v4.b32 [%mine], {%r1, %r2, %r3, %r4};
bar.sync 0;
)";
const std::string store = R"(
st.global.v4.b32 [%to], {%r5, %r6, %r7, %r8};
)";

/// What the PTX ISA says of the register of matrix m in a lane, where row r of
/// m has the 16 bytes of `rowOf(m, r)`.
template <typename RowOf>
uint32_t fragment(const PtxKernel &kernel, size_t lane, size_t m, bool transposed, RowOf rowOf) {
  uint32_t bits = 0;
  for (size_t half = 0; half < 2; ++half) {
    size_t row = lane / 4, column = 2 * (lane % 4) + half;
    if (transposed)
      std::swap(row, column);
    uint16_t element;
    std::memcpy(&element, &kernel.from[16 * rowOf(m, row) + 2 * column], 2);
    bits |= uint32_t(element) << (16 * half);
  }
  return bits;
}

uint32_t result(const PtxKernel &kernel, size_t lane, size_t m) {
  uint32_t bits;
  std::memcpy(&bits, &kernel.to[16 * lane + 4 * m], 4);
  return bits;
}

size_t inOrder(size_t m, size_t r) { return 8 * m + r; }

TEST(PtxMatrix, FourPlainOrTransposed) {
  for (bool transposed : {false, true}) {
    PtxKernel kernel(32);
    std::string form = transposed ? "x4.trans.shared" : "x4.shared";
    ASSERT_EQ(kernel.run(fill + "ldmatrix.sync.aligned.m8n8." + form +
                         ".b16 {%r5, %r6, %r7, %r8}, [%mine];" + store),
              "");
    for (size_t lane = 0; lane < 32; ++lane)
      for (size_t m = 0; m < 4; ++m)
        EXPECT_EQ(result(kernel, lane, m), fragment(kernel, lane, m, transposed, inOrder))
            << form << " " << lane << " " << m;
  }
}

TEST(PtxMatrix, RowsAreWhereLanesSay) {
  PtxKernel kernel(32);
  ASSERT_EQ(kernel.run(fill + R"(
sub.s32 %r9, 30, %t;
mul.wide.s32 %rd1, %r9, 16;
add.s64 %rd1, %tile, %rd1;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%rd1+16];)" +
                       store),
            "");
  auto reversed = [](size_t m, size_t r) { return 31 - (8 * m + r); };
  for (size_t lane = 0; lane < 32; ++lane)
    for (size_t m = 0; m < 4; ++m)
      EXPECT_EQ(result(kernel, lane, m), fragment(kernel, lane, m, false, reversed));
}

TEST(PtxMatrix, OneAndTwoNeedFewAddresses) {
  // Addresses of other lanes may be anything.
  const std::string addresses = R"(
setp.ge.u32 %p1, %t, COUNT;
selp.b64 %rd1, 3, %mine, %p1;
mov.b32 %r5, 0;
mov.b32 %r6, 0;
)";
  for (size_t matrices : {1, 2}) {
    PtxKernel kernel(32);
    std::string lanes = addresses;
    lanes.replace(lanes.find("COUNT"), 5, std::to_string(8 * matrices));
    std::string load = matrices == 1 ? "x1.shared.b16 {%r5}" : "x2.trans.shared.b16 {%r5, %r6}";
    ASSERT_EQ(kernel.run(fill + lanes + "ldmatrix.sync.aligned.m8n8." + load + ", [%rd1];" + store),
              "");
    for (size_t lane = 0; lane < 32; ++lane)
      for (size_t m = 0; m < 2; ++m)
        EXPECT_EQ(result(kernel, lane, m),
                  m < matrices ? fragment(kernel, lane, m, matrices == 2, inOrder) : 0);
  }
}

TEST(PtxMatrix, EveryWarpHasItsOwn) {
  PtxKernel kernel(96);
  ASSERT_EQ(kernel.run(fill +
                       "ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                       "{%r5, %r6, %r7, %r8}, [%mine];" +
                       store),
            "");
  for (size_t thread = 0; thread < 96; ++thread) {
    auto rowOf = [&](size_t m, size_t r) { return thread / 32 * 32 + 8 * m + r; };
    EXPECT_EQ(result(kernel, thread, 3), fragment(kernel, thread % 32, 3, false, rowOf));
  }
}

TEST(PtxMatrix, AddressesAreChecked) {
  const std::string load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, ";
  expectFailure(32, fill + load + "[%mine+8];", "not aligned");
  expectFailure(32, fill + load + "[%mine+8192];", "beyond the end");
  expectFailure(32, fill + load + "[%from];", "not in shared memory");
}

TEST(PtxMatrix, ALaneThatIsElsewhere) {
  expectFailure(32, R"(
setp.eq.u32 %p1, %t, 5;
@%p1 bra END;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%mine];
END:)",
                "wait for each other");
}

} // namespace

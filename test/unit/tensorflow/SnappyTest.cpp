//===- SnappyTest.cpp - decompression and checksums ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Snappy.h"
#include "compiler/frontend/tensorflow/Crc32c.h"

#include <gtest/gtest.h>

using namespace weir::tf;

static bool expand(std::string_view block, std::string &out) {
  return snappyDecompress(block, 1 << 20, out);
}

TEST(Snappy, LiteralsAndCopies) {
  std::string out;
  // "abc", then four bytes from three back: overlapping.
  ASSERT_TRUE(expand(std::string_view("\x07\x08"
                                      "abc"
                                      "\x01\x03",
                                      7),
                     out));
  EXPECT_EQ(out, "abcabca");
}

TEST(Snappy, RefusesWhatLies) {
  std::string out;
  EXPECT_FALSE(expand(std::string_view("\x07\x08"
                                       "ab",
                                       4),
                      out)); // literal longer than the block
  EXPECT_FALSE(expand(std::string_view("\x04\x00"
                                       "a"
                                       "\x01\x05",
                                       5),
                      out)); // copy from before the beginning
  EXPECT_FALSE(expand(std::string_view("\xff\xff\xff\x7f", 4), out)); // limit
  EXPECT_FALSE(expand(std::string_view("\x05\x00"
                                       "a",
                                       3),
                      out)); // shorter than it says
}

TEST(Crc32c, KnownValues) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c("6789", crc32c("12345")), 0xe3069283u);
}

//===- FilesTest.cpp ------------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Files.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weir::tools;

namespace {

TEST(Files, APipeIsWrittenAndStays) {
  std::string path = testing::TempDir() + "weir-files-" + std::to_string(getpid()), error;
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(writeFile(path, "text", error)) << error;
  char bytes[8] = {};
  EXPECT_EQ(read(reader, bytes, sizeof(bytes)), 4);
  EXPECT_STREQ(bytes, "text");
  struct stat facts;
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_TRUE(S_ISFIFO(facts.st_mode));
  close(reader);
  unlink(path.c_str());
}

} // namespace

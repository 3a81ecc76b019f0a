//===- ForkServerTest.cpp -------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/execute/ForkServer.h"
#include "tools/common/Sanitized.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <unistd.h>

using namespace weir;

namespace {

using Results = std::map<size_t, ForkedResult>;

Results runAll(size_t count, const ForkOptions &options,
               const std::function<std::string(size_t)> &work) {
  Results results;
  EXPECT_TRUE(runForked(count, options, work, [&](size_t index, const ForkedResult &result) {
    EXPECT_TRUE(results.emplace(index, result).second);
  }));
  EXPECT_EQ(results.size(), count);
  return results;
}

TEST(ForkServer, EveryCaseComesBackOnce) {
  ForkOptions options;
  options.jobs = 3;
  options.casesPerChild = 4;
  Results results =
      runAll(50, options, [](size_t i) { return std::string(i * 1000, 'x') + std::to_string(i); });
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(results[i].kind, ForkedResult::Kind::Done);
    EXPECT_EQ(results[i].text, std::string(i * 1000, 'x') + std::to_string(i));
  }
}

TEST(ForkServer, ACrashLosesOneCase) {
  ForkOptions options;
  options.jobs = 2;
  Results results = runAll(20, options, [](size_t i) {
    if (i == 7) {
      std::fprintf(stderr, "the reason\n");
      std::abort();
    }
    if (i == 8)
      _exit(5);
    return std::to_string(i);
  });
  EXPECT_EQ(results[7].kind, ForkedResult::Kind::Crashed);
  EXPECT_EQ(results[7].text, "SIGABRT: the reason");
  EXPECT_EQ(results[8].kind, ForkedResult::Kind::Crashed);
  EXPECT_EQ(results[8].text, "exit status 5");
  for (size_t i : {0, 6, 9, 19})
    EXPECT_EQ(results[i].text, std::to_string(i));
}

TEST(ForkServer, AHangLosesOneCase) {
  ForkOptions options;
  options.secondsPerCase = 0.5;
  Results results = runAll(3, options, [](size_t i) {
    if (i == 1)
      for (;;)
        pause();
    return std::to_string(i);
  });
  EXPECT_EQ(results[1].kind, ForkedResult::Kind::TimedOut);
  EXPECT_EQ(results[0].text, "0");
  EXPECT_EQ(results[2].text, "2");
}

TEST(ForkServer, MemoryIsLimited) {
  if (tools::isSanitized)
    GTEST_SKIP() << "a sanitizer's memory cannot be limited";
  ForkOptions options;
  options.memoryLimit = int64_t(256) << 20;
  Results results = runAll(2, options, [](size_t i) {
    // Volatile: an allocation that nobody uses is none to the optimiser.
    void *volatile data = i == 0 ? std::malloc(size_t(1) << 30) : std::malloc(1024);
    return std::string(data ? "got" : "refused");
  });
  EXPECT_EQ(results[0].text, "refused");
  EXPECT_EQ(results[1].text, "got");
}

TEST(ForkServer, StateOfOneBatchDoesNotReachTheNext) {
  int counter = 0;
  ForkOptions options;
  options.casesPerChild = 2;
  Results results = runAll(4, options, [&](size_t) { return std::to_string(++counter); });
  EXPECT_EQ(results[0].text + results[1].text + results[2].text + results[3].text, "1212");
  EXPECT_EQ(counter, 0);
}

} // namespace

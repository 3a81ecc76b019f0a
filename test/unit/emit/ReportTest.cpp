//===- ReportTest.cpp - the report ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Report.h"
#include "compiler/emit/MemoryPicture.h"
#include "compiler/emit/PeakMoment.h"
#include "test/unit/emit/TestProgram.h"

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

using namespace weir;

namespace {

Report makeReport() {
  Program program = test::makeProgram();
  program.buffers = {{"small", 0, 64, 0, 1, 2}, {"large", 0, 4096, 64, 2, 3}};
  Report report;
  report.model = "net.onnx";
  report.operations = {{"conv", 2}, {"add", 5}};
  describeProgram(program, report);
  return report;
}

TEST(Report, FitsAScreenAndNamesTheLargestFirst) {
  std::string text = makeReport().text();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 50);
  EXPECT_LT(text.find("large"), text.find("small"));
  EXPECT_NE(text.find("5 add, 2 conv"), std::string::npos) << text;
  // The arena of 4,096 bytes against its bound of 4,000.
  EXPECT_NE(text.find("2.4 % above the bound"), std::string::npos) << text;
}

TEST(Report, JsonSaysTheSame) {
  auto json = llvm::json::parse(makeReport().json());
  ASSERT_TRUE(bool(json)) << llvm::toString(json.takeError());
  const llvm::json::Object &root = *json->getAsObject();
  EXPECT_EQ(root.getString("name"), "net");
  const llvm::json::Object &device = *(*root.getArray("devices"))[0].getAsObject();
  EXPECT_EQ(device.getInteger("arena_bytes"), 4096);
  EXPECT_EQ(device.getInteger("lower_bound"), 4000);
  EXPECT_EQ(root.getObject("operations")->getInteger("add"), 5);
  EXPECT_EQ((*root.getArray("buffers"))[0].getAsObject()->getString("node"), "large");
}

TEST(Report, NamesMayHoldAnyBytes) {
  Report report = makeReport();
  report.kernels[0].nodes = "\xff\xfe \"quoted\"";
  EXPECT_TRUE(bool(llvm::json::parse(report.json())));
}

TEST(MemoryPicture, FindsTheMomentAtWhichMostIsAlive) {
  std::vector<BufferInfo> buffers(4);
  auto set = [&](int i, const char *node, int64_t bytes, int64_t first, int64_t last) {
    buffers[i].node = node;
    buffers[i].bytes = bytes;
    buffers[i].firstUse = first;
    buffers[i].lastUse = last;
  };
  set(0, "a", 100, 0, 4);
  set(1, "b", 50, 4, 6); // begins as a ends
  set(2, "c", 30, 2, 5);
  set(3, "elsewhere", 1000, 0, 9);
  buffers[3].device = 1;
  PeakMoment peak = peakMoment(buffers, 0);
  EXPECT_EQ(peak.time, 2);
  EXPECT_EQ(peak.bytes, 130);
  ASSERT_EQ(peak.buffers.size(), 2u);
  EXPECT_EQ(peak.buffers[0]->node, "a");
  EXPECT_EQ(peak.buffers[1]->node, "c");
}

TEST(MemoryPicture, DrawsEveryBufferAndQuotesNames) {
  Report report;
  EXPECT_EQ(memoryPicture(report), "");
  for (int i = 0; i < 1000; ++i) {
    BufferInfo buffer;
    buffer.node = "node<" + std::to_string(i) + ">&\"";
    buffer.bytes = 64;
    buffer.offset = 64 * (i % 10);
    buffer.firstUse = i;
    buffer.lastUse = i + 10;
    report.buffers.push_back(buffer);
  }
  std::string page = memoryPicture(report);
  size_t count = 0;
  for (size_t at = 0; (at = page.find("<rect", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, 1000u);
  EXPECT_NE(page.find("node&lt;7&gt;&amp;&quot;"), std::string::npos);
  EXPECT_EQ(page.find("node<7>"), std::string::npos);
}

} // namespace

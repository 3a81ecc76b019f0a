//===- ReportTest.cpp - the report ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Report.h"
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
  const llvm::json::Object &device =
      *(*root.getArray("devices"))[0].getAsObject();
  EXPECT_EQ(device.getInteger("arena_bytes"), 4096);
  EXPECT_EQ(device.getInteger("lower_bound"), 4000);
  EXPECT_EQ(root.getObject("operations")->getInteger("add"), 5);
  EXPECT_EQ((*root.getArray("buffers"))[0].getAsObject()->getString("node"),
            "large");
}

TEST(Report, NamesMayHoldAnyBytes) {
  Report report = makeReport();
  report.kernels[0].nodes = "\xff\xfe \"quoted\"";
  EXPECT_TRUE(bool(llvm::json::parse(report.json())));
}

} // namespace

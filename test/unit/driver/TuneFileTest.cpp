//===- TuneFileTest.cpp ---------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/TuneFile.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace weir;
using namespace weir::driver;

namespace {

struct Read {
  bool good = false;
  TuneFile file;
  std::string message;
};

Read read(const std::string &text) {
  std::string path = testing::TempDir() + "weir-tune-" + std::to_string(getpid());
  std::ofstream(path) << text;
  Read result;
  DiagnosticSink sink;
  result.good = result.file.read(path, sink);
  for (const Diagnostic &diagnostic : sink.diagnostics()) {
    EXPECT_EQ(diagnostic.code, "W0131");
    EXPECT_EQ(diagnostic.file, path);
    result.message += diagnostic.message;
  }
  std::remove(path.c_str());
  EXPECT_EQ(result.good, result.message.empty());
  return result;
}

std::string oneKernel(const std::string &members) {
  return "{\"weir_tune\": 1, \"kernels\": [{" + members + "}]}";
}

TEST(TuneFile, WhatIsWrittenIsRead) {
  TuneFile file;
  TuneFile::Entry entry;
  entry.choice = *TileChoice::parse("winograd tile=8x3 part=4096");
  entry.microseconds = 12.3;
  entry.microsecondsBefore = 14.5;
  file.of("znver4/512")["convolution 1 by 2"] = entry;
  file.of("znver4/512")["a \"quoted\" one"].choice = *TileChoice::parse("depth=0 ahead=1");
  file.of("generic/256")["product"].choice = *TileChoice::parse("tile=6x2 part=70 depth=512");
  std::string text = file.text();
  Read again = read(text);
  ASSERT_TRUE(again.good) << again.message;
  EXPECT_EQ(again.file.text(), text);
  EXPECT_EQ(again.file.of("znver4/512")["convolution 1 by 2"].choice, entry.choice);
  EXPECT_EQ(again.file.names(), (std::vector<std::string>{"generic/256", "znver4/512"}));
}

TEST(TuneFile, WhatCannotBeUnderstoodIsRefused) {
  for (const auto &[text, why] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "is no JSON"},
           {"[]", "found no \"weir_tune\""},
           {"{\"kernels\": []}", "found no \"weir_tune\""},
           {"{\"weir_tune\": 7, \"kernels\": []}", "found \"weir_tune\": 7"},
           {"{\"weir_tune\": 1}", "found no list \"kernels\""},
           {"{\"weir_tune\": 1, \"kernels\": [], \"x\": 1}", "found \"x\""},
           {"{\"weir_tune\": 1, \"kernels\": [3]}", "found kernel 1 without"},
           {oneKernel("\"processor\": \"p\", \"kernel\": \"\", \"choice\": \"\""), "without"},
           {oneKernel("\"processor\": \"p\", \"kernel\": \"k\", \"choice\": \"tile=9\""),
            "found the choice \"tile=9\" of kernel 1"},
           {oneKernel("\"processor\": \"p\", \"kernel\": \"k\", \"choice\": \"\", \"y\": 1"),
            "found \"y\" of kernel 1"},
           {oneKernel("\"processor\": \"p\", \"kernel\": \"k\", \"choice\": \"\", \"us\": -1"),
            "found \"us\" of kernel 1"},
           {oneKernel("\"processor\": \"p\", \"kernel\": \"k\", \"choice\": \"direct\"}, "
                      "{\"processor\": \"p\", \"kernel\": \"k\", \"choice\": \"direct\""),
            "found kernel 2 twice"},
       }) {
    Read result = read(text);
    EXPECT_NE(result.message.find(why), std::string::npos) << text << "\n" << result.message;
  }
}

TEST(TuneFile, AFileThatIsNotThereIsRefused) {
  TuneFile file;
  DiagnosticSink sink;
  EXPECT_FALSE(file.read("/nonexistent/a.tune", sink));
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].code, "W0131");
}

TEST(TileChoice, TextAndBack) {
  for (const char *text :
       {"", "direct", "winograd tile=8x3 part=4096", "tile=14x2 part=140 depth=0", "tile=1x8",
        "part=16777216", "depth=512 ahead=1", "ahead=0"}) {
    std::optional<TileChoice> choice = TileChoice::parse(text);
    ASSERT_TRUE(choice.has_value()) << text;
    EXPECT_EQ(choice->str(), text);
    EXPECT_EQ(choice->isEmpty(), *text == 0);
  }
}

TEST(TileChoice, WhatNoKernelCouldBeMadeOfIsNothing) {
  for (const char *text : {"tile=0x1",
                           "tile=33x1",
                           "tile=1x9",
                           "tile=8x8",
                           "tile=8",
                           "tile=8x",
                           "tile=x2",
                           "tile=-1x2",
                           "part=0",
                           "part=16777217",
                           "depth=17",
                           "depth=-16",
                           "ahead=2",
                           "ahead=",
                           "fast",
                           "direct winograd",
                           "tile=8x2 tile=8x2",
                           "direct  part=1",
                           " direct",
                           "part=99999999999999999999"})
    EXPECT_FALSE(TileChoice::parse(text).has_value()) << text;
}

} // namespace

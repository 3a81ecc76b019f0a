//===- ToyFrontendTest.cpp - a format from its file to a run --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Nothing of weir knows the format but by what is registered here: its files, its flag,
// its operators, and what a model of it computes.

#include "ToyFrontend.h"

#include "compiler/driver/Driver.h"
#include "compiler/driver/Formats.h"
#include "compiler/driver/Frontends.h"
#include "test/unit/driver/Refusal.h"
#include "tools/common/LoadProgram.h"
#include "tools/common/Session.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace weir;

namespace {

constexpr const char *model = "toy 1\n"
                              "input x 2x3\n"
                              "input y 2x3\n"
                              "add s x y\n"
                              "mul p s x\n"
                              "neg z p\n"
                              "output z\n";

class ToyFormat : public testing::Test {
protected:
  static void SetUpTestSuite() {
    driver::allFrontends();
    registerFrontend(toy::frontend());
  }

  /// Writes a file, whose name ends in `suffix`, as the model to compile.
  void write(const std::string &suffix, const std::string &text) {
    path = testing::TempDir() + "toy-" + std::to_string(getpid()) + suffix;
    std::ofstream(path, std::ios::binary) << text;
    options.input = path;
    options.name = "model";
  }
  void TearDown() override { std::remove(path.c_str()); }

  std::string refusal() { return driver::refusalOf(options); }

  /// What the model gives for x = 1, 2, … and y = 10.
  std::vector<float> run() {
    DiagnosticSink sink;
    std::unique_ptr<tools::LoadedModel> loaded = tools::loadProgram(options, sink);
    for (const Diagnostic &diagnostic : sink.diagnostics())
      ADD_FAILURE() << diagnostic.str();
    if (!loaded)
      return {};
    weir_session_options how = WEIR_SESSION_OPTIONS_INIT;
    how.threads = 1;
    tools::RunStatus status;
    std::unique_ptr<tools::Session> session = tools::Session::create(*loaded, how, status);
    EXPECT_TRUE(session) << status.text();
    if (!session)
      return {};
    std::vector<tools::HostTensor> feeds;
    for (const tools::LoadedTensor &feed : session->entries()[0].feeds) {
      feeds.push_back(tools::makeTensor(feed.dtype, feed.dims));
      for (int64_t i = 0; i < feeds.back().count(); ++i)
        tools::setElement(feeds.back(), i, feed.name == "x" ? double(i + 1) : 10);
    }
    tools::NamedTensors fetches;
    status = session->run(0, feeds, fetches);
    EXPECT_TRUE(status.ok()) << status.text();
    if (fetches.size() != 1 || fetches[0].first != "z")
      return {};
    std::vector<float> z(size_t(fetches[0].second.count()));
    std::memcpy(z.data(), fetches[0].second.bytes.data(), z.size() * sizeof(float));
    return z;
  }

  std::string path;
  driver::Options options;
};

TEST_F(ToyFormat, IsRegisteredOnce) {
  EXPECT_FALSE(registerFrontend(toy::frontend()));
  EXPECT_NE(driver::modelFiles().find(".toy"), std::string::npos);
  EXPECT_NE(driver::supportedOperators().find("\ntoy add\ntoy mul\ntoy neg\n"), std::string::npos);
}

TEST_F(ToyFormat, ItsModelsCompileAndRun) {
  write(".toy", model);
  EXPECT_EQ(run(), (std::vector<float>{-11, -24, -39, -56, -75, -96}));
}

TEST_F(ToyFormat, FilesOfNoSuffixGoByHowTheyBegin) {
  write("", model);
  EXPECT_EQ(run().size(), 6u);
  write(".nothing", "toy 2\n");
  EXPECT_NE(refusal().find("error W0102: found a model file that ends in \".nothing\"; expected "
                           ".onnx, .pb, .pbtxt, .mlir, .toy, or the folder of a SavedModel"),
            std::string::npos);
  write(".toybox", "toy 1\n");
  EXPECT_NE(refusal().find("; unpack it"), std::string::npos);
}

TEST_F(ToyFormat, ItsFlagReachesItsImporterAlone) {
  write(".toy", model);
  options.frontendFlags["--toy-plus"] = {"s"};
  EXPECT_EQ(run(), (std::vector<float>{-1, -4, -9, -16, -25, -36}));
  options.frontendFlags["--tags"] = {"serve"};
  EXPECT_NE(refusal().find("error W0114: found --tags=serve, and no SavedModel; possible: none "
                           "for a file of toy"),
            std::string::npos);
}

// While nothing has registered a format yet: as programs without the compiler have them.
static const std::vector<FrontendFlag> flagsOfPrograms = driver::frontendFlags();

TEST_F(ToyFormat, FlagsOfOtherFormatsAreThoseThatProgramsKnow) {
  std::vector<std::string> own, known;
  for (const Frontend *format : driver::allFrontends())
    if (format->name() != "toy")
      for (const FrontendFlag &flag : format->flags())
        own.push_back(flag.flag);
  for (const FrontendFlag &flag : flagsOfPrograms)
    known.push_back(flag.flag);
  EXPECT_EQ(own, known);
  EXPECT_FALSE(known.empty());
}

TEST_F(ToyFormat, ShapesAndNamesAreThoseOfAllFormats) {
  write(".toy", model);
  options.shapes["x"] = {1, 3};
  options.shapes["y"] = {1, 3};
  EXPECT_EQ(run().size(), 3u);
  options.shapes["w"] = {1};
  EXPECT_NE(refusal().find("error W0114: found --shape=w=…, and nothing of that name; possible: "
                           "x, y"),
            std::string::npos);
}

TEST_F(ToyFormat, WhatItDoesNotHaveIsRefusedByName) {
  write(".toy", "toy 1\ninput x 2\nexp e x\noutput e\n");
  EXPECT_NE(refusal().find("node \"e\" (exp): found an operation that toys do not have"),
            std::string::npos);
}

/// What other formats begin with is theirs, and nobody's else.
TEST_F(ToyFormat, FormatsThatBeginAlikeAreToldApart) {
  struct {
    std::string head;
    const char *format; ///< null: nobody's
  } cases[] = {
      {std::string("\x08\x0a\x12\x07pytorch\x3a\x80\x20", 14), "onnx"},
      {std::string("\x08\x08\x3a\x80\x40", 5), "onnx"},
      {std::string("\x0a\x20\x0a\x01x\x12\x0bPlaceholder", 18), "tensorflow"},
      {"node {\n  name: \"x\"\n", "tensorflow"},
      {"// -----\nmodule {\n}\n", "mlir"},
      // A SavedModel's own file, text, nothing.
      {std::string("\x08\x01\x12\x80\x02\x0a\x10", 7), nullptr},
      {"hello", nullptr},
      {"", nullptr},
  };
  for (auto &[head, format] : cases) {
    write("", head);
    std::string why;
    const Frontend *found = driver::formatOf(path, why);
    EXPECT_EQ(found ? found->name().str() : "", format ? format : "") << head;
    EXPECT_TRUE(found || !why.empty());
  }
}

} // namespace

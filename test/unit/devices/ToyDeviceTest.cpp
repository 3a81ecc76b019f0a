//===- ToyDeviceTest.cpp - a kind of device from its flag to its run ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Nothing of weir knows the kind but by what is registered here: its flag, where
// nodes may be, an object with its code, and runs of that.

#include "Toy.h"

#include "compiler/codegen/device/DeviceBackend.h"
#include "compiler/driver/DeviceFlags.h"
#include "compiler/driver/Driver.h"
#include "compiler/execute/LinkedObject.h"
#include "test/unit/driver/Refusal.h"
#include "tools/common/LoadedModel.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace weir;

namespace {

constexpr const char *model = R"mlir(
module {
  func.func @main(%x: tensor<8x16xf32> {weir.name = "x"}) -> (tensor<8x16xf32> {weir.name = "z"})
      attributes {weir.entry = "main"} {
    %p = weir.pow %x, %x : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> loc("p")
    %z = weir.dot_general %p, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("z")
    return %z : tensor<8x16xf32>
  }
}
)mlir";

class ToyDevice : public testing::Test {
protected:
  static void SetUpTestSuite() { registerDeviceBackend(toy::backend()); }

  void SetUp() override {
    path = testing::TempDir() + "toy-" + std::to_string(getpid()) + ".mlir";
    std::string text = model;
    // A product with the weights 1 on and beside the diagonal.
    std::string weights = "dense<[";
    for (int i = 0; i < 16; ++i) {
      weights += i ? ", [" : "[";
      for (int j = 0; j < 16; ++j)
        weights += std::string(j ? ", " : "") + (i == j || i == j + 1 ? "1.0" : "0.0");
      weights += "]";
    }
    weights += "]> : tensor<16x16xf32>";
    size_t at = text.find("    %p");
    text.insert(at, "    %w = weir.constant " + weights + " loc(\"w\")\n");
    std::ofstream(path) << text;
    options.input = path;
    options.name = "toyed";
    options.deviceTargets["TOY"] = "tin";
    options.placer = "on:/device:TOY:0";
  }
  void TearDown() override { std::remove(path.c_str()); }

  std::string refusal() { return driver::refusalOf(options); }

  std::string path;
  driver::Options options;
};

TEST_F(ToyDevice, IsRegisteredOnceAndHasAFlag) {
  EXPECT_FALSE(registerDeviceBackend(toy::backend()));
  auto flag = driver::deviceFlagOf("/device:TOY:0");
  ASSERT_TRUE(flag);
  EXPECT_EQ(flag->flag, "--toy");
  EXPECT_NE(driver::firstDevices().find("TOY:0"), std::string::npos);
}

TEST_F(ToyDevice, ItsPassesStandInTheirSlotsOnce) {
  std::string text;
  llvm::raw_string_ostream os(text);
  driver::printPipeline(options, os);
  auto at = [&](const char *pass) { return text.find(std::string("  ") + pass + ":"); };
  ASSERT_NE(at("sccp"), std::string::npos);
  ASSERT_NE(at("symbol-dce"), std::string::npos);
  EXPECT_LT(at("weir-lower-precision"), at("sccp"));
  EXPECT_LT(at("sccp"), at("weir-place"));
  EXPECT_LT(at("verify-partitioned"), at("symbol-dce"));
  EXPECT_LT(at("symbol-dce"), at("weir-kernelize"));
  // Another kind names it, too.
  EXPECT_EQ(at("weir-split-reductions"), text.rfind("  weir-split-reductions:"));
}

TEST_F(ToyDevice, OtherTargetsAndMissingOnesAreRefused) {
  options.deviceTargets["TOY"] = "gold";
  EXPECT_NE(refusal().find("found --toy=gold; possible: wood, tin"), std::string::npos);
  options.deviceTargets.clear();
  options.deviceNames = {"/device:CPU:0", "/device:TOY:0"};
  EXPECT_NE(refusal().find("with --toy TOY devices"), std::string::npos);
}

TEST_F(ToyDevice, WhatItCannotDoStaysOnTheHost) {
  options.describePlacement = true;
  DiagnosticSink sink;
  driver::Result result;
  ASSERT_TRUE(driver::compile(options, sink, result));
  int seen = 0;
  for (const PlacedNode &node : result.report.placement.nodes) {
    bool isHard = node.name == "p";
    if (!isHard && node.name != "z")
      continue;
    ++seen;
    EXPECT_NE(node.device.find(isHard ? "CPU:0" : "TOY:0"), std::string::npos)
        << node.name << " is on " << node.device;
    std::string reasons;
    for (const std::string &reason : node.reasons)
      reasons += reason;
    EXPECT_EQ(reasons.find("is too hard for toys") != std::string::npos, isHard) << reasons;
  }
  EXPECT_EQ(seen, 2);
}

/// A compiled and linked program.
class Linked {
public:
  explicit Linked(const driver::Options &options) {
    DiagnosticSink sink;
    EXPECT_TRUE(driver::compile(options, sink, result));
    std::vector<LinkedObject::Symbol> symbols = toy::symbols();
    for (size_t i = 0; i < tools::runtimeSymbolCount; ++i)
      symbols.emplace_back(tools::runtimeSymbols[i].name, tools::runtimeSymbols[i].address);
    std::string error;
    object = LinkedObject::create(std::string_view(result.object.data(), result.object.size()),
                                  "toyed", symbols, error);
    EXPECT_TRUE(object) << error;
    if (object)
      describe =
          reinterpret_cast<const weir_program_desc *(*)()>(object->find("toyed_program", error));
    EXPECT_TRUE(describe) << error;
  }

  /// What a new session gives for `x`, twice.
  std::vector<float> run(std::vector<float> x) const {
    if (!describe)
      return {};
    weir_status status = WEIR_STATUS_INIT;
    weir_session_options how = WEIR_SESSION_OPTIONS_INIT;
    how.threads = 1;
    weir_session *session = nullptr;
    EXPECT_EQ(weir_session_create(describe(), &how, &session, &status), WEIR_OK) << status.message;
    weir_tensor feed = {}, fetch = {};
    feed.data = x.data();
    feed.bytes = int64_t(x.size() * sizeof(float));
    feed.dtype = WEIR_F32;
    feed.rank = 2;
    feed.dims[0] = 8;
    feed.dims[1] = 16;
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(weir_session_run(session, 0, &feed, 1, &fetch, 1, nullptr, &status), WEIR_OK)
          << status.message;
    auto *data = static_cast<float *>(fetch.data);
    std::vector<float> z(data, data + fetch.bytes / int64_t(sizeof(float)));
    weir_session_release(session, &fetch);
    weir_session_destroy(session);
    return z;
  }

  driver::Result result;
  std::unique_ptr<LinkedObject> object;
  const weir_program_desc *(*describe)() = nullptr;
};

std::vector<float> numbers() {
  std::vector<float> x(8 * 16);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 13) / 4 + 0.25f;
  return x;
}

TEST_F(ToyDevice, ItsStepsRunInItsMemoryAndGiveTheHostsBits) {
  Linked linked(options);
  std::vector<float> x = numbers();
  toy::counts = {};
  toy::isThere = false;
  std::vector<float> byHost = linked.run(x);
  EXPECT_EQ(toy::counts.finished, 0);
  toy::isThere = true;
  std::vector<float> byToy = linked.run(x);
  EXPECT_EQ(byToy, byHost);
  ASSERT_EQ(byToy.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    auto power = [&](size_t at) { return std::pow(x[at], x[at]); };
    float expected = power(i) + (i % 16 < 15 ? power(i + 1) : 0);
    EXPECT_NEAR(byToy[i], expected, 1e-5 * expected);
  }
  EXPECT_EQ(toy::counts.opened, 1);
  EXPECT_EQ(toy::counts.closed, 1);
  EXPECT_EQ(toy::counts.begun, 2);
  EXPECT_EQ(toy::counts.released, 1);
  EXPECT_EQ(toy::counts.finished, 2);
  EXPECT_EQ(toy::counts.image, "made of tin");
  EXPECT_EQ(toy::counts.negated, 0);
}

// What the object has for the library is a record that nobody else reads.
TEST_F(ToyDevice, ItsLibraryIsCalledByItsOwnRecord) {
  std::ofstream(path) << R"mlir(
module {
  func.func @main(%x: tensor<8x16xf32> {weir.name = "x"}) -> (tensor<8x16xf32> {weir.name = "z"})
      attributes {weir.entry = "main"} {
    %z = weir.neg %x : (tensor<8x16xf32>) -> tensor<8x16xf32> loc("minus")
    return %z : tensor<8x16xf32>
  }
}
)mlir";
  Linked linked(options);
  std::vector<float> x = numbers();
  toy::counts = {};
  toy::isThere = true;
  std::vector<float> z = linked.run(x);
  for (float &element : x)
    element = -element;
  EXPECT_EQ(z, x);
  EXPECT_EQ(toy::counts.negated, 2);
  EXPECT_EQ(toy::counts.node, "minus");
}

} // namespace

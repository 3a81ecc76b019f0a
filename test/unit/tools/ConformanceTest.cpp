//===- ConformanceTest.cpp ------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Files.h"
#include "tools/weir-conformance/Discovery.h"
#include "tools/weir-conformance/Scores.h"
#include "tools/weir-conformance/Tolerances.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

/// A folder of its own, removed at the end of the test.
class Conformance : public testing::Test {
protected:
  void SetUp() override {
    root = fs::path(testing::TempDir()) / ("weir-conformance-" + std::to_string(getpid()));
    fs::create_directories(root);
  }
  void TearDown() override { fs::remove_all(root); }

  void touch(const std::string &path, const std::string &text = "") {
    fs::create_directories((root / path).parent_path());
    std::string error;
    ASSERT_TRUE(writeFile((root / path).string(), text, error)) << error;
  }
  std::vector<Case> find(const std::string &path = "") {
    std::vector<Case> cases;
    std::string error;
    EXPECT_TRUE(findCases((root / path).string(), cases, error)) << error;
    return cases;
  }

  fs::path root;
};

TEST_F(Conformance, EveryLayoutIsRecognised) {
  touch("doubtful.tsv", "case\twhy\nonnx/node/test_b\trandom\n");
  touch("onnx/node/test_a/model.onnx");
  touch("onnx/node/test_a/test_data_set_0/input_0.pb");
  touch("onnx/node/test_b/model.onnx");
  touch("onnx/node/test_b/test_data_set_0/input_0.pb");
  touch("onnx/light/net.onnx");
  touch("onnx/light/net_output_0.pb");
  touch("models/speech/m.onnx");
  touch("models/speech/m.io/inputs.npz");
  touch("tf/frozen/op/case.1/frozen_model.pb");
  touch("tf/frozen/op/case.1/scope/y.prediction.csv");
  touch("tf/ops/Abs/f32.pb");
  touch("tf/ops/Abs/f32.npz");
  touch("tf/saved_model/half/00000123/saved_model.pb");
  touch("tf/saved_model/half/00000124/saved_model.pbtxt");
  touch("tf/saved_model/half.io/inputs.npz");
  touch("tf/graph-import/expect.tsv");
  touch("tf/graph-import/add.pbtxt");
  touch("tf/system/queues/fifo/case.json");
  touch("tf/system/queues/fifo/graph.pb");
  std::vector<Case> cases = find();
  std::vector<std::pair<std::string, Layout>> found,
      want = {
          {"models/speech/m", Layout::Model},       {"onnx/light/net", Layout::OnnxLight},
          {"onnx/node/test_a", Layout::OnnxTest},   {"onnx/node/test_b", Layout::OnnxTest},
          {"tf/frozen/op/case.1", Layout::Frozen},  {"tf/graph-import/add", Layout::GraphImport},
          {"tf/ops/Abs/f32", Layout::Operation},    {"tf/saved_model/half", Layout::Model},
          {"tf/system/queues/fifo", Layout::System}};
  for (const Case &test : cases) {
    found.emplace_back(test.id, test.layout);
    EXPECT_EQ(test.doubtful, test.id == "onnx/node/test_b") << test.id;
    if (test.id == "tf/saved_model/half")
      EXPECT_TRUE(test.path.ends_with("00000124")) << test.path;
  }
  EXPECT_EQ(found, want);
  // The same names, however a case is reached.
  EXPECT_EQ(find("tf/ops/Abs/f32.pb")[0].id, "tf/ops/Abs/f32");
  EXPECT_EQ(find("onnx/node/test_a")[0].id, "onnx/node/test_a");
}

TEST_F(Conformance, SuitesOfIds) {
  EXPECT_EQ(suiteOf("onnx/node-history/v1.16.0/test_abs"), "onnx/node-history");
  EXPECT_EQ(suiteOf("tf/system/queues/fifo"), "tf/system/queues");
  EXPECT_EQ(suiteOf("models/mnist/mnist"), "models");
}

/// Three cases of a suite with given outcomes.
std::vector<Scored> score(std::vector<Case> &cases, std::vector<Outcome> outcomes) {
  std::vector<Scored> results;
  for (size_t i = 0; i < outcomes.size(); ++i)
    results.push_back({&cases[i],
                       {outcomes[i],
                        outcomes[i] == Outcome::Passed ? "" : "a reason",
                        {"Op" + std::to_string(i % 2)}}});
  return results;
}

TEST_F(Conformance, ScoresMayOnlyRise) {
  std::vector<Case> cases(3);
  for (int i = 0; i < 3; ++i) {
    cases[i].id = "onnx/node/test_" + std::to_string(i);
    cases[i].suite = "onnx/node";
  }
  std::string table = (root / "scores.md").string(), error;
  ASSERT_TRUE(writeScores(
      table, score(cases, {Outcome::Passed, Outcome::Unsupported, Outcome::Failed}), error))
      << error;
  KnownScores known;
  ASSERT_TRUE(readScores(table, known, error)) << error;
  EXPECT_EQ(known.rows["onnx/node"], "| onnx/node | 3 | 1 | 1 | 1 | 0 | 0 | 33.3 % |\n");
  EXPECT_TRUE(known.lists("onnx/node/test_2", Outcome::Failed));
  EXPECT_NE(known.sections["onnx/node"].find("| Op0 | 2 | 1 | 50.0 % |"), std::string::npos);
  EXPECT_NE(known.sections["onnx/node"].find("| 2 | a reason |"), std::string::npos);
  auto regressions = [&](std::vector<Outcome> outcomes) {
    return findRegressions(known, score(cases, std::move(outcomes))).size();
  };
  using enum Outcome;
  EXPECT_EQ(regressions({Passed, Unsupported, Failed}), 0u);
  EXPECT_EQ(regressions({Passed, Passed, Passed}), 0u);
  EXPECT_EQ(regressions({Unsupported, Passed, Passed}), 1u);
  EXPECT_EQ(regressions({Passed, Failed, Failed}), 1u);
  EXPECT_EQ(regressions({Crashed, Crashed, Failed}), 2u);
}

TEST_F(Conformance, ARunOfOneSuiteLeavesTheOthers) {
  std::vector<Case> cases(2);
  cases[0].id = "onnx/node/test_a";
  cases[0].suite = "onnx/node";
  cases[1].id = "tf/ops/Abs/f32";
  cases[1].suite = "tf/ops";
  std::string table = (root / "scores.md").string(), error, before, after;
  ASSERT_TRUE(writeScores(table, score(cases, {Outcome::Failed, Outcome::Failed}), error));
  std::vector<Scored> one = {{&cases[1], {Outcome::Passed, "", {"Abs"}}}};
  ASSERT_TRUE(writeScores(table, one, error));
  KnownScores known;
  ASSERT_TRUE(readScores(table, known, error));
  EXPECT_TRUE(known.lists("onnx/node/test_a", Outcome::Failed));
  EXPECT_EQ(known.rest.count("tf/ops/Abs/f32"), 0u);
  EXPECT_NE(known.rows["tf/ops"].find("100.0 %"), std::string::npos);
  // Writing the same again changes nothing.
  ASSERT_TRUE(readFile(table, before, error));
  ASSERT_TRUE(writeScores(table, one, error));
  ASSERT_TRUE(readFile(table, after, error));
  EXPECT_EQ(before, after);
}

TEST_F(Conformance, SamplesAreAboutAsLargeAsAsked) {
  size_t count = 0;
  for (int i = 0; i < 10000; ++i)
    count += inSample("case" + std::to_string(i), 10);
  EXPECT_NEAR(static_cast<double>(count), 1000, 150);
}

TEST_F(Conformance, TolerancesGrowWithTheReduction) {
  NamedTensors inputs = {{"a", makeTensor(WEIR_F32, {64, 10000})},
                         {"b", makeTensor(WEIR_F32, {10000, 64})}};
  HostTensor output = makeTensor(WEIR_F32, {64, 64});
  double epsilon = epsilonOf(WEIR_F32);
  EXPECT_DOUBLE_EQ(operationTolerance("Add", inputs, output).relative, 16 * epsilon);
  EXPECT_DOUBLE_EQ(operationTolerance("Lgamma", inputs, output).relative, 64 * epsilon);
  EXPECT_DOUBLE_EQ(operationTolerance("MatMul", inputs, output).relative, 400 * epsilon);
  HostTensor bytes = makeTensor(WEIR_U8, {1});
  EXPECT_EQ(operationTolerance("QuantizeV2", inputs, bytes).steps, 1);
  EXPECT_EQ(operationTolerance("Cast", inputs, bytes).steps, 0);
}

} // namespace

//===- GradientTest.cpp - gradients against finite differences ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function is compiled beside the gradient that weir-differentiate makes
// of it; the gradient, seeded with fixed numbers, is compared element by element
// with central differences of the function itself, in f64.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Driver.h"
#include "test/unit/gradient/GradientCases.h"
#include "tools/common/Files.h"
#include "tools/common/HostTensor.h"
#include "tools/common/LoadedModel.h"
#include "tools/common/Session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

using namespace weir;
using namespace weir::tools;
using namespace weir::gradient_test;

namespace {

std::string typeOf(const Dims &dims) {
  std::string text = "tensor<";
  for (int64_t dim : dims)
    text += std::to_string(dim) + "x";
  return text + "f64>";
}

std::string textOf(const Function &f) {
  std::string text = "func.func @f(";
  for (size_t i = 0; i < f.arguments.size(); ++i)
    text += (i ? ", %" : "%") + std::string(1, char('a' + i)) + ": " + typeOf(f.arguments[i]) +
            " {weir.name = \"x" + std::to_string(i) + "\"}";
  text += ") -> (" + typeOf(f.result) +
          " {weir.name = \"y\"}) attributes {weir.entry = \"f\", "
          "weir.gradient = \"g\"} {\n";
  return text + f.body + "\n  return %y : " + typeOf(f.result) + "\n}\n";
}

/// Numbers without pattern, away from the corners of what is tested.
double numberAt(size_t tensor, size_t i) {
  return 0.3 + 0.9 * std::fabs(std::sin(1.7 * double(i) + 2.3 * double(tensor)));
}

HostTensor tensorOf(const Dims &dims, size_t which) {
  HostTensor tensor = makeTensor(WEIR_F64, dims);
  for (int64_t i = 0; i < tensor.count(); ++i)
    setElement(tensor, i, numberAt(which, i));
  return tensor;
}

class Gradient : public testing::TestWithParam<Function> {
protected:
  /// The only fetch, or all of them, of a run.
  NamedTensors run(Session &session, const char *entry, std::vector<HostTensor> feeds) {
    NamedTensors fetches;
    RunStatus status = session.run(session.findEntry(entry), feeds, fetches);
    EXPECT_TRUE(status.ok()) << status.text();
    return fetches;
  }
};

TEST_P(Gradient, IsThatOfFiniteDifferences) {
  const Function &f = GetParam();
  std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                 ("weir-gradient-" + std::to_string(getpid()) + "-" + f.name);
  std::filesystem::create_directories(folder);
  std::string file = (folder / "f.mlir").string(), error;
  ASSERT_TRUE(writeFile(file, textOf(f), error)) << error;
  driver::Options options;
  options.input = file;
  options.name = "model";
  DiagnosticSink sink;
  driver::Result result;
  bool compiled = driver::compile(options, sink, result);
  std::filesystem::remove_all(folder);
  std::string said;
  for (const Diagnostic &diagnostic : sink.diagnostics())
    said += diagnostic.str() + "\n";
  ASSERT_TRUE(compiled) << said;
  auto model = LoadedModel::link(std::string_view(result.object.data(), result.object.size()),
                                 result.symbolPrefix, error);
  ASSERT_TRUE(model) << error;
  weir_session_options sessionOptions = WEIR_SESSION_OPTIONS_INIT;
  sessionOptions.threads = 1;
  RunStatus status;
  auto session = Session::create(*model, sessionOptions, status);
  ASSERT_TRUE(session) << status.text();

  std::vector<HostTensor> arguments;
  for (size_t i = 0; i < f.arguments.size(); ++i)
    arguments.push_back(tensorOf(f.arguments[i], i));
  HostTensor seed = tensorOf(f.result, 7);
  auto value = [&] {
    NamedTensors y = run(*session, "f", arguments);
    double sum = 0;
    for (int64_t i = 0; i < seed.count() && !y.empty(); ++i)
      sum += elementAsDouble(y[0].second, i) * elementAsDouble(seed, i);
    return sum;
  };
  std::vector<HostTensor> feeds = arguments;
  feeds.push_back(seed);
  NamedTensors gradients = run(*session, "g", feeds);
  ASSERT_EQ(gradients.size(), arguments.size());
  constexpr double step = 1e-5;
  for (size_t a = 0; a < arguments.size(); ++a) {
    ASSERT_EQ(gradients[a].second.dims, f.arguments[a]);
    for (int64_t i = 0; i < arguments[a].count(); ++i) {
      double at = elementAsDouble(arguments[a], i);
      setElement(arguments[a], i, at + step);
      double above = value();
      setElement(arguments[a], i, at - step);
      double below = value();
      setElement(arguments[a], i, at);
      double expected = (above - below) / (2 * step);
      EXPECT_NEAR(elementAsDouble(gradients[a].second, i), expected,
                  1e-7 * (1 + std::fabs(expected)))
          << "argument " << a << ", element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, Gradient, testing::ValuesIn(allFunctions()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Differentiate, NamesWhatHasNoGradient) {
  std::filesystem::path file = std::filesystem::temp_directory_path() /
                               ("weir-gradient-" + std::to_string(getpid()) + ".mlir");
  std::string error;
  Function f = {"lgamma",
                {{2}},
                {2},
                "%y = weir.lgamma %a : (tensor<2xf64>) -> tensor<2xf64> "
                "loc(\"deep\")"};
  ASSERT_TRUE(writeFile(file.string(), textOf(f), error)) << error;
  driver::Options options;
  options.input = file.string();
  options.name = "model";
  DiagnosticSink sink;
  driver::Result result;
  EXPECT_FALSE(driver::compile(options, sink, result));
  std::filesystem::remove(file);
  ASSERT_FALSE(sink.diagnostics().empty());
  EXPECT_NE(sink.diagnostics()[0].str().find("deep"), std::string::npos)
      << sink.diagnostics()[0].str();
}

} // namespace

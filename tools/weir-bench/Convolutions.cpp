//===- Convolutions.cpp - weir-bench conv ---------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Convolutions.h"

#include "tools/common/Compare.h"
#include "tools/common/FlagParser.h"
#include "tools/common/Terminal.h"
#include "tools/weir-bench/Measure.h"
#include "tools/weir-bench/OneDnn.h"
#include "tools/weir-bench/OnnxFile.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-bench conv";
constexpr double roundMs = 60;

struct Row {
  ConvolutionShape shape;
  int count; ///< in the network
  Times ours, theirs;
  std::string difference;

  std::string name() const {
    std::string window = std::to_string(shape.window);
    return window + "x" + window + (shape.stride > 1 ? "/2 " : " ") +
           std::to_string(shape.channels) + "->" + std::to_string(shape.filters) + " at " +
           std::to_string(shape.size);
  }
  double ratio() const { return theirs.median > 0 ? ours.median / theirs.median : 0; }
};

/// He et al. 2015, arXiv:1512.03385, table 1; the 3x3 takes the stride. Without the
/// first convolution, which has a window of 7.
std::vector<Row> resnet50() {
  std::vector<Row> rows;
  auto add = [&](int count, ConvolutionShape shape) { rows.push_back({shape, count, {}, {}, ""}); };
  int64_t blocks[] = {3, 4, 6, 3}, channels = 64, size = 56;
  for (int stage = 0; stage < 4; ++stage) {
    int64_t width = int64_t(64) << stage, stride = stage ? 2 : 1;
    int more = static_cast<int>(blocks[stage]) - 1;
    add(1, {channels, size, width, 1, 1});
    if (stage)
      add(1, {width, size, width, 3, 2});
    // The first stage projects what comes in as its blocks do their last.
    add(stage ? 1 : 0, {channels, size, 4 * width, 1, stride});
    size /= stride;
    add(more + (stage ? 0 : 1), {width, size, width, 3, 1});
    add(more + (stage ? 1 : 2), {width, size, 4 * width, 1, 1});
    add(more, {4 * width, size, width, 1, 1});
    channels = 4 * width;
  }
  std::erase_if(rows, [](const Row &row) { return row.count == 0; });
  return rows;
}

struct Settings {
  driver::Options options;
  std::string filter;
  int64_t threads = 1, rounds = 7;
  bool json = false;
};

/// The convolution, its bias and ReLU between two transpositions, which cancel with
/// those that bring channels last: what is timed begins and ends with these.
bool writeModel(const std::string &path, const ConvolutionShape &shape,
                const std::vector<float> &filter, const std::vector<float> &bias,
                std::string &error) {
  OnnxFile file;
  int64_t pad = shape.window / 2;
  file.input("image", {1, shape.size, shape.size, shape.channels});
  file.constant("filter", {shape.filters, shape.channels, shape.window, shape.window}, filter);
  file.constant("bias", {shape.filters}, bias);
  file.node("Transpose", "first", {"image"}, {{"perm", {0, 3, 1, 2}}});
  file.node("Conv", "convolution", {"first", "filter", "bias"},
            {{"kernel_shape", {shape.window, shape.window}},
             {"pads", {pad, pad, pad, pad}},
             {"strides", {shape.stride, shape.stride}}});
  file.node("Relu", "relu", {"convolution"});
  file.node("Transpose", "y", {"relu"}, {{"perm", {0, 2, 3, 1}}});
  file.output("y", {1, shape.results(), shape.results(), shape.filters});
  return file.write(path, error);
}

bool measure(const Settings &settings, const std::string &folder, Row &row, DiagnosticSink &sink) {
  const ConvolutionShape &shape = row.shape;
  driver::Options options = settings.options;
  options.input = folder + "/convolution.onnx";
  options.name = "convolution";
  int64_t count = shape.filters * shape.channels * shape.window * shape.window;
  std::vector<float> filter = randomFloats(count, 1), bias = randomFloats(shape.filters, 2);
  std::string error;
  if (!writeModel(options.input, shape, filter, bias, error)) {
    sink.report({"W0806", options.input, "", "", "cannot be written: " + error, {}});
    return false;
  }
  Ours ours;
  int threads = static_cast<int>(settings.threads);
  if (!ours.load(options, threads, sink))
    return false;
  auto theirs =
      OneDnnConvolution::create(shape, threads, ours.given[0].second, filter, bias, error);
  if (!theirs) {
    sink.report({"W0806", "", "", "", "no oneDNN: " + error, {}});
    return false;
  }
  theirs->run();
  Tolerance tolerance;
  tolerance.relative = 1e-3;
  tolerance.absolute = 1e-4;
  if (auto difference = compareTensors(ours.outputs[0].second, theirs->result(), tolerance))
    row.difference = *difference;
  std::vector<Runner> runners{[&](int count) { return ours.run(count); },
                              [&](int count) {
                                std::vector<double> times;
                                for (int i = 0; i < count; ++i) {
                                  double begin = clockMs();
                                  theirs->run();
                                  times.push_back(clockMs() - begin);
                                }
                                return times;
                              }};
  std::vector<Times> times = measureInTurn(runners, settings.rounds, roundMs);
  row.ours = times[0];
  row.theirs = times[1];
  return true;
}

/// Mean of the ratios of windows of `window` (0: of all), each as often as it is in
/// the network.
double meanRatio(const std::vector<Row> &rows, int64_t window) {
  double sum = 0, count = 0;
  for (const Row &row : rows)
    if (row.theirs.median > 0 && (!window || row.shape.window == window)) {
      sum += row.ratio() * row.count;
      count += row.count;
    }
  return count > 0 ? sum / count : 0;
}

void printText(const Row &row) {
  double gflop = row.shape.flops() / 1e6;
  std::printf("%-24s x%d %8.3f / %8.3f ms %6.1f / %6.1f GFLOP/s  %.3f (best runs %.3f)%s%s\n",
              row.name().c_str(), row.count, row.ours.median, row.theirs.median,
              gflop / row.ours.median, gflop / row.theirs.median, row.ratio(),
              row.ours.least / row.theirs.least,
              row.difference.empty() ? "" : "  results differ: ", row.difference.c_str());
  std::fflush(stdout);
}

llvm::json::Value toJson(const Row &row) {
  return llvm::json::Object{{"convolution", row.name()},
                            {"count", row.count},
                            {"weir_ms", row.ours.median},
                            {"onednn_ms", row.theirs.median},
                            {"weir_least_ms", row.ours.least},
                            {"onednn_least_ms", row.theirs.least},
                            {"ratio", row.ratio()},
                            {"agrees", row.difference.empty()}};
}

} // namespace

int runConvolutionsBenchmark(int argc, char **argv) {
  Settings settings;
  FlagParser parser(toolName, "[flags]",
                    "Times ResNet-50's 1x1 and 3x3 convolutions with bias and ReLU, ours and "
                    "oneDNN's in turn, each in the layout that it prefers.");
  parser.group("Measurement");
  parser.text("--filter", "TEXT", "only convolutions whose name holds it: \"3x3\", \"at 14\"",
              settings.filter);
  parser.number("--threads", "N", "threads of both (default 1)", settings.threads, 1, 4096);
  parser.number("--rounds", "N", "rounds that count (default 7)", settings.rounds, 1, 1000);
  addClockFlag(parser);
  parser.flag("--json", "for programs", settings.json);
  parser.exitCode(0, "all convolutions were measured, and agree");
  parser.exitCode(1, "an error was printed, or results differ");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  Scratch scratch;
  std::vector<Row> rows = resnet50();
  std::erase_if(
      rows, [&](const Row &row) { return row.name().find(settings.filter) == std::string::npos; });
  llvm::json::Array all;
  for (Row &row : rows) {
    DiagnosticSink sink;
    bool good = measure(settings, scratch.path, row, sink);
    printDiagnostics(sink);
    if (!good || !row.difference.empty())
      status = 1;
    if (!good)
      break;
    if (settings.json)
      all.push_back(toJson(row));
    else
      printText(row);
  }
  if (settings.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << "\n";
  else
    std::printf("mean ratio to oneDNN %s, threads=%lld: %.3f (1x1 %.3f, 3x3 %.3f)\n",
                OneDnnConvolution::version().c_str(), static_cast<long long>(settings.threads),
                meanRatio(rows, 0), meanRatio(rows, 1), meanRatio(rows, 3));
  return status;
}

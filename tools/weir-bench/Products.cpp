//===- Products.cpp - weir-bench gemm -------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Products.h"

#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"
#include "tools/common/Terminal.h"
#include "tools/weir-bench/Measure.h"
#include "tools/weir-bench/OnnxFile.h"
#include "tools/weir-bench/PeakRate.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-bench gemm";
constexpr double roundMs = 200;

struct Size {
  int64_t rows, depth, columns;
};

/// One product, [rows, depth] by [depth, columns].
struct Row {
  Size size;
  bool isConstant; ///< the right operand: packed while compiling
  Times ours, peak;

  std::string name() const {
    return std::to_string(size.rows) + "x" + std::to_string(size.depth) + "x" +
           std::to_string(size.columns) + (isConstant ? " weights" : " tensors");
  }
  double flops() const {
    return 2.0 * static_cast<double>(size.rows) * static_cast<double>(size.depth) *
           static_cast<double>(size.columns);
  }
  /// GFLOP/s.
  double rate(double ms) const { return flops() / ms / 1e6; }
  double share() const { return rate(ours.median) * peak.median * 1e6 / peakLoopFlops(); }
};

struct Settings {
  driver::Options options;
  std::vector<Size> sizes{
      {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {128, 3072, 768}};
  int64_t rounds = 7;
  bool json = false;
};

std::string parseSizes(std::string_view text, std::vector<Size> &sizes) {
  sizes.clear();
  for (std::string_view field : splitFields(text, ',')) {
    std::vector<std::string_view> parts = splitFields(field, 'x');
    Size size{};
    constexpr int64_t largest = 1 << 16;
    if (parts.size() != 3 || !parseInteger(parts[0], 1, largest, size.rows) ||
        !parseInteger(parts[1], 1, largest, size.depth) ||
        !parseInteger(parts[2], 1, largest, size.columns))
      return "is no list of sizes; possible: ROWSxDEPTHxCOLUMNS,… of at most 65536 each";
    sizes.push_back(size);
  }
  return "";
}

bool measure(const Settings &settings, const std::string &folder, Row &row, DiagnosticSink &sink) {
  const Size &size = row.size;
  driver::Options options = settings.options;
  options.input = folder + "/product.onnx";
  options.name = "product";
  OnnxFile file(options.precision == "bf16");
  file.input("x", {size.rows, size.depth});
  if (row.isConstant)
    file.constant("w", {size.depth, size.columns}, randomFloats(size.depth * size.columns, 1));
  else
    file.input("w", {size.depth, size.columns});
  file.node("MatMul", "y", {"x", "w"});
  file.output("y", {size.rows, size.columns});
  std::string error;
  if (!file.write(options.input, error)) {
    sink.report({"W0806", options.input, "", "", "cannot be written: " + error, {}});
    return false;
  }
  Ours ours;
  if (!ours.load(options, /*threads=*/1, sink))
    return false;
  std::vector<Runner> runners{[&](int count) { return ours.run(count); },
                              [&](int) {
                                std::vector<double> times;
                                for (int i = 0; i < 7; ++i) {
                                  double begin = clockMs();
                                  runPeakLoop();
                                  times.push_back(clockMs() - begin);
                                }
                                return times;
                              }};
  std::vector<Times> times = measureInTurn(runners, settings.rounds, roundMs);
  row.ours = times[0];
  row.peak = times[1];
  return true;
}

void printText(const Row &row) {
  std::printf("%-24s %9.3f ms %7.1f GFLOP/s (best %.1f)  %5.1f %% of %.1f\n", row.name().c_str(),
              row.ours.median, row.rate(row.ours.median), row.rate(row.ours.least),
              100 * row.share(), peakLoopFlops() / row.peak.median / 1e6);
  std::fflush(stdout);
}

llvm::json::Value toJson(const Row &row) {
  return llvm::json::Object{{"rows", row.size.rows},
                            {"depth", row.size.depth},
                            {"columns", row.size.columns},
                            {"right_operand", row.isConstant ? "weights" : "tensor"},
                            {"median_ms", row.ours.median},
                            {"least_ms", row.ours.least},
                            {"gflops", row.rate(row.ours.median)},
                            {"fma_peak_gflops", peakLoopFlops() / row.peak.median / 1e6},
                            {"share", row.share()}};
}

} // namespace

int runProductsBenchmark(int argc, char **argv) {
  Settings settings;
  FlagParser parser(toolName, "[flags]",
                    "Times matrix products on one core, in turn with a loop of fused "
                    "multiplications and additions in registers: the share of its rate is what "
                    "counts. Each size twice: with a constant right operand, as networks have "
                    "their weights, and with two fed tensors.");
  parser.group("Measurement");
  parser.value("--sizes", "MxKxN,...", "other sizes",
               [&settings](std::string_view value) { return parseSizes(value, settings.sizes); });
  parser.value("--precision", "f32|bf16",
               "bf16: operands and results of it, constant right operands alone; the share stays "
               "that of f32's peak",
               [&settings](std::string_view value) -> std::string {
                 if (value != "f32" && value != "bf16")
                   return "is unknown; possible: f32, bf16";
                 settings.options.precision = value;
                 return "";
               });
  parser.number("--rounds", "N", "rounds that count (default 7)", settings.rounds, 1, 1000);
  addClockFlag(parser);
  parser.flag("--json", "for programs", settings.json);
  parser.exitCode(0, "all products were measured");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  Scratch scratch;
  llvm::json::Array all;
  for (const Size &size : settings.sizes)
    for (bool isConstant : {true, false}) {
      if (!isConstant && settings.options.precision == "bf16")
        continue;
      Row row{size, isConstant, {}, {}};
      DiagnosticSink sink;
      bool good = measure(settings, scratch.path, row, sink);
      printDiagnostics(sink);
      if (!good)
        status = 1;
      else if (settings.json)
        all.push_back(toJson(row));
      else
        printText(row);
    }
  if (settings.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << "\n";
  return status;
}

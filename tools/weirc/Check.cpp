//===- Check.cpp - weirc check --------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles in memory up to the plan, and writes nothing: what the compiler would refuse is what
// is listed, grouped by what is missing. Of a plan for CPUs code can be made; code for
// accelerators may be refused, and is made at -O0.
//
//===----------------------------------------------------------------------===//

#include "tools/weirc/Commands.h"

#include "compiler/driver/Driver.h"
#include "tools/common/HostTensor.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <map>
#include <set>
#include <tuple>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr size_t shownNodes = 8;

/// Diagnostics that say the same of several nodes.
struct Finding {
  const Diagnostic *first;
  std::vector<std::string> nodes;
};

std::vector<Finding> groupFindings(const DiagnosticSink &sink) {
  std::map<std::tuple<std::string, std::string, std::string>, size_t> known;
  std::vector<Finding> findings;
  for (const Diagnostic &diagnostic : sink.diagnostics()) {
    auto [at, isNew] =
        known.try_emplace({diagnostic.code, diagnostic.op, diagnostic.message}, findings.size());
    if (isNew)
      findings.push_back({&diagnostic, {}});
    if (!diagnostic.node.empty())
      findings[at->second].nodes.push_back(diagnostic.node);
  }
  return findings;
}

std::string bytesText(int64_t bytes) {
  char text[32];
  bool few = bytes < 100000;
  std::snprintf(text, sizeof(text), "%.1f %s", static_cast<double>(bytes) / (few ? 1e3 : 1e6),
                few ? "kB" : "MB");
  return text;
}

/// Kernels whose work depends on sizes that only the run knows.
int64_t openKernels(const Report &report) {
  int64_t count = 0;
  for (const KernelInfo &kernel : report.kernels)
    count += kernel.flops < 0;
  return count;
}

/// Floating-point operations of a run, -1 where no kernel says, or where those say nothing
/// whose sizes are known. A kernel that serves several nodes counts for each.
int64_t totalFlops(const Report &report) {
  int64_t total = -1;
  for (const KernelInfo &kernel : report.kernels)
    if (kernel.flops >= 0)
      total = std::max<int64_t>(total, 0) + kernel.flops * kernel.launches;
  return total == 0 && openKernels(report) ? -1 : total;
}

/// "0.602 GFLOP", "12.4 kFLOP"
std::string flopsText(int64_t flops) {
  static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  auto value = static_cast<double>(flops);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit)
    value /= 1000;
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g %s", value, units[unit]);
  return text;
}

int64_t totalArena(const Report &report) {
  int64_t total = 0;
  for (const DeviceInfo &device : report.devices)
    total += device.arenaBytes;
  return total;
}

/// A size that the model leaves open, and the flags that settle it.
struct OpenSize {
  std::string feed, symbol;
  size_t dimension;
  std::vector<std::string> flags;
};

/// Each name once, however many feeds have it; sizes without a name each.
std::vector<OpenSize> openSizes(const Report &report) {
  std::vector<OpenSize> open;
  std::set<std::string> named;
  for (const EntryInfo &entry : report.entries)
    for (const TensorInfo &feed : entry.feeds) {
      if (feed.dtype == WEIR_TENSOR) // a sequence is as long as it is
        continue;
      std::vector<int64_t> fixed = feed.dims;
      for (int64_t &size : fixed)
        size = std::max<int64_t>(size, 1);
      for (size_t d = 0; d < feed.dims.size(); ++d) {
        if (feed.dims[d] >= 0)
          continue;
        std::string symbol = d < feed.symbols.size() ? feed.symbols[d] : "";
        if (symbol.empty())
          open.push_back({feed.name, "", d, {"--shape=" + feed.name + "=" + shapeName(fixed)}});
        else if (named.insert(symbol).second)
          open.push_back(
              {feed.name, symbol, d, {"--dim=" + symbol + "=8", "--dim=" + symbol + "=1..8"}});
      }
    }
  return open;
}

void printText(const std::string &model, const std::vector<Finding> &findings, bool compiles,
               const Report &report) {
  for (const Finding &finding : findings) {
    Diagnostic shown = *finding.first;
    if (finding.nodes.size() > 1) {
      // The count stands where one node's name would.
      std::string all;
      for (size_t i = 0; i < finding.nodes.size() && i < shownNodes; ++i)
        all += (i ? ", " : "") + ("\"" + finding.nodes[i] + "\"");
      if (finding.nodes.size() > shownNodes)
        all += " and " + std::to_string(finding.nodes.size() - shownNodes) + " more";
      shown.notes.insert(shown.notes.begin(),
                         std::to_string(finding.nodes.size()) + " nodes: " + all);
    }
    printDiagnostic(shown);
  }
  if (!compiles)
    return;
  std::printf("%s: compiles; %zu entr%s, %zu kernels, weights %s, planned "
              "memory %s",
              model.c_str(), report.entries.size(), report.entries.size() == 1 ? "y" : "ies",
              report.kernels.size(), bytesText(report.weightBytes).c_str(),
              bytesText(totalArena(report)).c_str());
  if (int64_t flops = totalFlops(report); flops >= 0)
    std::printf(", %s a run", flopsText(flops).c_str());
  std::printf("\n");
  for (const OpenSize &size : openSizes(report)) {
    std::printf("  open: size %zu of \"%s\"", size.dimension, size.feed.c_str());
    if (!size.symbol.empty())
      std::printf(", \"%s\"", size.symbol.c_str());
    std::printf("; for example %s", size.flags[0].c_str());
    if (size.flags.size() > 1)
      std::printf(", or %s for memory planned ahead", size.flags[1].c_str());
    std::printf("\n");
  }
  if (int64_t count = openKernels(report))
    std::printf("  open: the work of %lld kernels, which depends on sizes; it is "
                "not among the operations above\n",
                static_cast<long long>(count));
}

void printJson(const std::string &model, const std::vector<Finding> &findings, bool compiles,
               const Report &report) {
  llvm::json::Array list;
  for (const Finding &finding : findings) {
    const Diagnostic &diagnostic = *finding.first;
    list.push_back(llvm::json::Object{
        {"code", diagnostic.code},
        {"severity", diagnostic.severity == Severity::Error ? "error" : "warning"},
        {"operation", diagnostic.op},
        {"message", diagnostic.message},
        {"nodes", llvm::json::Array(finding.nodes)},
        {"notes", llvm::json::Array(diagnostic.notes)}});
  }
  llvm::json::Object root{{"model", model}, {"compiles", compiles}, {"findings", std::move(list)}};
  if (compiles) {
    llvm::json::Object operations;
    for (const auto &[name, count] : report.operations)
      operations[name] = count;
    root["operations"] = std::move(operations);
    root["weight_bytes"] = report.weightBytes;
    root["arena_bytes"] = totalArena(report);
    root["flops"] = totalFlops(report);
    root["open_kernels"] = openKernels(report);
    llvm::json::Array open;
    for (const OpenSize &size : openSizes(report))
      open.push_back(llvm::json::Object{{"feed", size.feed},
                                        {"dimension", static_cast<int64_t>(size.dimension)},
                                        {"symbol", size.symbol},
                                        {"flags", llvm::json::Array(size.flags)}});
    root["open"] = std::move(open);
  }
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(root))) << "\n";
}

} // namespace

int weir::tools::runCheck(int argc, char **argv) {
  driver::Options options;
  options.optLevel = 0;
  options.reportOnly = true;
  FlagParser parser("weirc check", "MODEL [flags]",
                    "Lists all that is unsupported or unknown in a model, at "
                    "once, by node name.");
  std::vector<std::string> models;
  bool json = false;
  parser.positionals("MODEL", "as weirc takes it", 1, 1, models);
  parser.group("Output");
  parser.flag("--json", "for programs", json);
  addEntryFlags(parser, options, driver::frontendFlags());
  addTrainingFlags(parser, options);
  addCodeFlags(parser, options, driver::deviceFlags());
  addWarningFlags(parser, options);
  parser.exitCode(0, "the model compiles");
  parser.exitCode(1, "the command line is wrong");
  parser.exitCode(2, "something is unsupported, unknown or broken");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  options.input = models[0];
  options.name = "model";
  DiagnosticSink sink;
  driver::Result result;
  bool compiles = driver::compile(options, sink, result);
  std::vector<Finding> findings = groupFindings(sink);
  if (json)
    printJson(options.input, findings, compiles, result.report);
  else
    printText(options.input, findings, compiles, result.report);
  return compiles ? 0 : 2;
}

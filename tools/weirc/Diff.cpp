//===- Diff.cpp - weirc diff ----------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares what reports say, so that a compilation of another release, or of other flags,
// can be one side: its report.json.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Driver.h"
#include "tools/common/Files.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"
#include "tools/weirc/Commands.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>

using namespace weir;
using namespace weir::tools;

namespace {

/// What of a report is compared.
struct Side {
  std::string name, cpu;
  int64_t constants = 0, object = 0, arena = 0, flops = 0, bytes = 0;
  std::map<std::string, int64_t> operations;
  std::map<std::string, std::string> kernels;  ///< name → nodes
  std::map<std::string, std::string> kernelOf; ///< node → kernels
  std::map<std::string, std::string> devices;  ///< node → device
};

bool parseReport(const std::string &text, const std::string &name, Side &side) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return false;
  }
  const llvm::json::Object *root = parsed->getAsObject();
  if (!root || !root->getArray("kernels"))
    return false;
  side.name = name;
  side.cpu = root->getString("cpu").value_or("").str();
  if (const llvm::json::Object *constants = root->getObject("constants"))
    side.constants = constants->getInteger("bytes").value_or(0);
  if (const llvm::json::Object *object = root->getObject("object"))
    side.object = object->getInteger("bytes_without_constants").value_or(0);
  if (const llvm::json::Array *devices = root->getArray("devices"))
    for (const llvm::json::Value &device : *devices)
      side.arena += device.getAsObject()->getInteger("arena_bytes").value_or(0);
  if (const llvm::json::Object *operations = root->getObject("operations"))
    for (const auto &[key, count] : *operations)
      side.operations[key.str()] = count.getAsInteger().value_or(0);
  for (const llvm::json::Value &value : *root->getArray("kernels")) {
    const llvm::json::Object *kernel = value.getAsObject();
    if (!kernel)
      continue;
    std::string symbol = kernel->getString("name").value_or("").str(),
                nodes = kernel->getString("nodes").value_or("").str();
    side.kernels[symbol] = nodes;
    side.flops += std::max<int64_t>(kernel->getInteger("flops").value_or(0), 0);
    side.bytes += std::max<int64_t>(kernel->getInteger("bytes").value_or(0), 0);
    for (std::string_view node : splitFields(nodes, ';'))
      if (!node.empty()) {
        std::string &in = side.kernelOf[std::string(node)];
        in += (in.empty() ? "" : ", ") + symbol;
      }
  }
  if (const llvm::json::Object *placement = root->getObject("placement"))
    if (const llvm::json::Array *nodes = placement->getArray("nodes"))
      for (const llvm::json::Value &value : *nodes)
        if (const llvm::json::Object *node = value.getAsObject())
          side.devices[node->getString("name").value_or("").str()] =
              node->getString("device").value_or("").str();
  return true;
}

bool readSide(const std::string &path, const driver::Options &flags, DiagnosticSink &sink,
              Side &side) {
  std::string text, error;
  if (path.ends_with(".json")) {
    if (readFile(path, text, error) && parseReport(text, path, side))
      return true;
    sink.report({"W0153",
                 path,
                 "",
                 "",
                 "found no report" + (error.empty() ? "" : ": " + error) +
                     "; possible: the report.json of weirc --report, or a model",
                 {}});
    return false;
  }
  driver::Options options = flags;
  options.input = path;
  options.name = "model";
  options.describePlacement = true;
  driver::Result result;
  return driver::compile(options, sink, result) && parseReport(result.report.json(), path, side);
}

/// A figure of both sides.
struct Figure {
  std::string name;
  int64_t a, b;
};

struct Difference {
  std::vector<Figure> figures;
  std::vector<Figure> operations;
  std::vector<std::pair<std::string, std::string>> onlyA, onlyB; ///< kernels, their nodes
  /// Nodes that lie in other kernels, or on other devices: name, before, after.
  std::vector<std::array<std::string, 3>> moved, placed;
};

Difference compare(const Side &a, const Side &b) {
  Difference d;
  d.figures = {{"constants (bytes)", a.constants, b.constants},
               {"code (bytes)", a.object, b.object},
               {"planned memory (bytes)", a.arena, b.arena},
               {"operations of kernels", a.flops, b.flops},
               {"bytes of kernels", a.bytes, b.bytes},
               {"kernels", int64_t(a.kernels.size()), int64_t(b.kernels.size())}};
  std::set<std::string> names;
  for (const auto *side : {&a, &b})
    for (const auto &[name, count] : side->operations)
      names.insert(name);
  for (const std::string &name : names) {
    auto of = [&](const Side &side) {
      auto it = side.operations.find(name);
      return it == side.operations.end() ? 0 : it->second;
    };
    if (of(a) != of(b))
      d.operations.push_back({name, of(a), of(b)});
  }
  for (const auto &[name, nodes] : a.kernels)
    if (!b.kernels.count(name))
      d.onlyA.emplace_back(name, nodes);
  for (const auto &[name, nodes] : b.kernels)
    if (!a.kernels.count(name))
      d.onlyB.emplace_back(name, nodes);
  auto differing = [](const std::map<std::string, std::string> &one,
                      const std::map<std::string, std::string> &other, auto &list) {
    std::set<std::string> nodes;
    for (const auto *side : {&one, &other})
      for (const auto &[node, where] : *side)
        nodes.insert(node);
    for (const std::string &node : nodes) {
      auto x = one.find(node), y = other.find(node);
      std::string before = x == one.end() ? "none" : x->second,
                  after = y == other.end() ? "none" : y->second;
      if (before != after)
        list.push_back({node, before, after});
    }
  };
  differing(a.kernelOf, b.kernelOf, d.moved);
  differing(a.devices, b.devices, d.placed);
  return d;
}

void printText(const Side &a, const Side &b, const Difference &d) {
  llvm::outs() << "A: " << a.name << " for " << a.cpu << "\nB: " << b.name << " for " << b.cpu
               << "\n";
  for (const Figure &figure : d.figures) {
    llvm::outs() << llvm::format("%-24s %14lld %14lld", figure.name.c_str(), (long long)figure.a,
                                 (long long)figure.b);
    if (figure.a != figure.b && figure.a)
      llvm::outs() << llvm::format("  %+.1f %%",
                                   100.0 * double(figure.b - figure.a) / double(figure.a));
    llvm::outs() << "\n";
  }
  for (const Figure &figure : d.operations)
    llvm::outs() << "operation " << figure.name << ": " << figure.a << " in A, " << figure.b
                 << " in B\n";
  for (const auto &[name, nodes] : d.onlyA)
    llvm::outs() << "only in A: kernel " << name << " for " << nodes << "\n";
  for (const auto &[name, nodes] : d.onlyB)
    llvm::outs() << "only in B: kernel " << name << " for " << nodes << "\n";
  for (const auto &[node, before, after] : d.moved)
    llvm::outs() << "node " << node << ": " << before << " in A, " << after << " in B\n";
  for (const auto &[node, before, after] : d.placed)
    llvm::outs() << "node " << node << ": on " << before << " in A, on " << after << " in B\n";
}

void printJson(const Side &a, const Side &b, const Difference &d) {
  auto figures = [](const std::vector<Figure> &list) {
    llvm::json::Array array;
    for (const Figure &figure : list)
      array.push_back(llvm::json::Object{{"name", figure.name}, {"a", figure.a}, {"b", figure.b}});
    return array;
  };
  auto kernels = [](const auto &list) {
    llvm::json::Array array;
    for (const auto &[name, nodes] : list)
      array.push_back(llvm::json::Object{{"name", name}, {"nodes", nodes}});
    return array;
  };
  auto nodes = [](const auto &list) {
    llvm::json::Array array;
    for (const auto &[node, before, after] : list)
      array.push_back(llvm::json::Object{{"node", node}, {"a", before}, {"b", after}});
    return array;
  };
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                             {"a", a.name},
                                             {"b", b.name},
                                             {"figures", figures(d.figures)},
                                             {"operations", figures(d.operations)},
                                             {"kernels_only_a", kernels(d.onlyA)},
                                             {"kernels_only_b", kernels(d.onlyB)},
                                             {"kernel_of_node", nodes(d.moved)},
                                             {"device_of_node", nodes(d.placed)}}))
               << "\n";
}

} // namespace

int weir::tools::runDiff(int argc, char **argv) {
  driver::Options options;
  bool json = false;
  FlagParser parser("weirc diff", "A B [flags]",
                    "Says in what two compilations differ: kernels, placement, memory, work.");
  std::vector<std::string> sides;
  parser.positionals("A B", "models as weirc takes them (the flags are for both), or a report.json",
                     2, 2, sides);
  parser.group("Output");
  parser.flag("--json", "for programs", json);
  addEntryFlags(parser, options, driver::frontendFlags());
  addCodeFlags(parser, options, driver::deviceFlags());
  addWarningFlags(parser, options);
  parser.exitCode(0, "both were read");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  DiagnosticSink sink;
  Side a, b;
  bool good = readSide(sides[0], options, sink, a) && readSide(sides[1], options, sink, b);
  printDiagnostics(sink);
  if (!good)
    return 1;
  Difference difference = compare(a, b);
  if (json)
    printJson(a, b, difference);
  else
    printText(a, b, difference);
  return 0;
}

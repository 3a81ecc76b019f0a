//===- Explain.cpp - weirc explain ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weirc/Commands.h"

#include "compiler/driver/Driver.h"
#include "compiler/insight/ReportPage.h"
#include "tools/common/Files.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdio>
#include <set>

using namespace weir;
using namespace weir::tools;
namespace json = llvm::json;

namespace {

constexpr const char *toolName = "weirc explain";

/// Entries of a list of the report that `keep` takes.
template <typename Keep>
json::Array select(const json::Object &report, llvm::StringRef list, Keep keep) {
  json::Array found;
  if (const json::Array *all = report.getArray(list))
    for (const json::Value &value : *all)
      if (keep(*value.getAsObject()))
        found.push_back(value);
  return found;
}

bool isAmong(llvm::StringRef node, const json::Object &kernel) {
  std::vector<std::string_view> nodes =
      splitFields(std::string_view(kernel.getString("nodes").value_or("")), ';');
  return std::find(nodes.begin(), nodes.end(), std::string_view(node)) != nodes.end();
}

/// Null where placement has nothing of the node.
json::Value placementOf(const PlacementInfo &placement, const std::string &name) {
  for (const PlacedNode &node : placement.nodes)
    if (node.name == name)
      return insight::placementOf(placement, node);
  return nullptr;
}

/// All that is known of a node; without a fate where it is none of the model's.
json::Object answerFor(const json::Object &full, const Report &report, const std::string &node) {
  json::Object answer{{"model", full.getString("model").value_or("").str()}, {"node", node}};
  for (const json::Value &one : *full.getArray("nodes"))
    if (one.getAsObject()->getString("node") == node)
      for (const char *field : {"operation", "fate", "text", "device"})
        answer[field] = one.getAsObject()->getString(field).value_or("").str();
  answer["kernels"] =
      select(full, "kernels", [&](const json::Object &kernel) { return isAmong(node, kernel); });
  answer["buffers"] = select(full, "buffers", [&](const json::Object &buffer) {
    return buffer.getString("node") == node;
  });
  answer["boundaries"] = select(full, "boundaries", [&](const json::Object &boundary) {
    return boundary.getString("from") == node || boundary.getString("to") == node;
  });
  answer["placement"] =
      report.devices.size() > 1 ? placementOf(report.placement, node) : json::Value(nullptr);
  return answer;
}

void printPlacement(const json::Object &placement) {
  auto number = [&](const char *field) { return placement.getNumber(field).value_or(0); };
  auto text = [&](const json::Object &from, const char *field) {
    return from.getString(field).value_or("").str();
  };
  std::printf("runs on %s\n", text(placement, "device").c_str());
  std::printf("  %s %.3f us, from %.3f to %.3f us of a step of %.3f us\n",
              placement.getBoolean("is_measured").value_or(false) ? "measured" : "estimated",
              number("us"), number("begin_us"), number("end_us"), number("step_us"));
  if (placement.get("one_device_us"))
    std::printf("  the step on one device: %.3f us\n", number("one_device_us"));
  if (placement.get("waits_for"))
    std::printf("  its last input comes from node \"%s\" on %s\n",
                text(placement, "waits_for").c_str(), text(placement, "waits_for_device").c_str());
  for (const json::Value &other : *placement.getArray("others"))
    std::printf("  possible: %s, %.3f us\n", text(*other.getAsObject(), "device").c_str(),
                other.getAsObject()->getNumber("us").value_or(0));
  if (placement.getArray("others")->empty())
    std::printf("  no other device was possible\n");
  for (const json::Value &reason : *placement.getArray("reasons"))
    std::printf("  %s\n", reason.getAsString().value_or("").str().c_str());
}

void printKernel(const json::Object &kernel, const std::string &node) {
  auto text = [&](const char *field) { return kernel.getString(field).value_or("").str(); };
  std::printf("kernel %s\n", text("name").c_str());
  std::string nodes = text("nodes"), others;
  // Of a kernel that launches for other nodes share, those of this one's.
  if (const json::Array *launches = kernel.getArray("launch_nodes"))
    for (const json::Value &launch : *launches) {
      std::string list = launch.getAsString().value_or("").str();
      std::vector<std::string_view> names = splitFields(list, ';');
      if (std::find(names.begin(), names.end(), std::string_view(node)) != names.end())
        nodes = list;
    }
  for (std::string_view name : splitFields(nodes, ';'))
    if (name != node)
      others += " " + std::string(name);
  if (!others.empty())
    std::printf("  fused with%s\n", others.c_str());
  if (std::string how = text("schedule_text"); !how.empty())
    std::printf("  %s\n", how.c_str());
  int64_t flops = kernel.getInteger("flops").value_or(-1),
          bytes = kernel.getInteger("bytes").value_or(-1);
  if (flops >= 0)
    std::printf("  %lld floating-point operations", static_cast<long long>(flops));
  if (bytes >= 0)
    std::printf("%s%lld bytes read and written", flops >= 0 ? ", " : "  ",
                static_cast<long long>(bytes));
  if (flops >= 0 || bytes >= 0)
    std::printf("\n");
  if (auto predicted = kernel.getNumber("predicted_us"))
    std::printf("  predicted %.3f us a run, bound by %s\n", *predicted, text("bound").c_str());
  if (auto measured = kernel.getNumber("measured_us"))
    std::printf("  measured %.3f us a run", *measured);
  if (auto share = kernel.getNumber("roofline_share"))
    std::printf(", %.0f %% of the roofline", 100 * *share);
  if (kernel.get("measured_us"))
    std::printf("\n");
}

void printText(const json::Object &answer, const std::string &node, const Report &report) {
  if (const json::Object *placement = answer.getObject("placement"))
    printPlacement(*placement);
  const json::Array &kernels = *answer.getArray("kernels");
  for (const json::Value &kernel : kernels)
    printKernel(*kernel.getAsObject(), node);
  for (const json::Value &value : *answer.getArray("boundaries")) {
    const json::Object &boundary = *value.getAsObject();
    bool isReader = boundary.getString("to") == node;
    std::printf("apart from \"%s\", which %s: %s\n",
                boundary.getString(isReader ? "from" : "to")->str().c_str(),
                isReader ? "it reads" : "reads it", boundary.getString("rule")->str().c_str());
  }
  for (const json::Value &value : *answer.getArray("buffers")) {
    const json::Object &buffer = *value.getAsObject();
    auto number = [&](const char *field) {
      return static_cast<long long>(buffer.getInteger(field).value_or(0));
    };
    size_t device = size_t(number("device"));
    std::printf("buffer of %lld bytes at %lld of the arena of %s, live from step %lld to %lld\n",
                number("bytes"), number("offset"),
                device < report.devices.size() ? report.devices[device].name.c_str() : "a device",
                number("first_use"), number("last_use"));
  }
  if (kernels.empty())
    if (auto text = answer.getString("text"))
      std::printf("no kernel: %s\n", text->str().c_str());
  if (report.devices.size() == 1)
    std::printf("runs on %s, the only device of the program\n", report.devices[0].name.c_str());
}

/// Names that the answer could be about.
std::vector<std::string> namesOf(const json::Object &full) {
  std::set<std::string> names;
  for (const json::Value &node : *full.getArray("nodes"))
    names.insert(node.getAsObject()->getString("node").value_or("").str());
  for (const json::Value &kernel : *full.getArray("kernels"))
    for (llvm::StringRef rest = kernel.getAsObject()->getString("nodes").value_or("");
         !rest.empty();) {
      auto [name, more] = rest.split(';');
      names.insert(name.str());
      rest = more;
    }
  return {names.begin(), names.end()};
}

} // namespace

int weir::tools::runExplain(int argc, char **argv) {
  driver::Options options;
  FlagParser parser(toolName, "MODEL NODE [flags]",
                    "Says where a node of a model runs, with what it was fused and with what it "
                    "was not, what it costs, and with --profile what it takes.");
  std::vector<std::string> arguments;
  bool isJson = false;
  parser.positionals("MODEL NODE", "a model as weirc takes it; a node's name", 2, 2, arguments);
  parser.group("Output");
  parser.flag("--json", "for programs", isJson);
  addEntryFlags(parser, options, driver::frontendFlags());
  addTrainingFlags(parser, options);
  addCodeFlags(parser, options, driver::deviceFlags());
  addWarningFlags(parser, options);
  parser.exitCode(0, "the node was found");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  options.input = arguments[0];
  options.name = "model";
  options.describePlacement = true;
  DiagnosticSink sink;
  driver::Result result;
  std::optional<json::Value> full;
  if (driver::compile(options, sink, result))
    full = insight::fullReport(options, result.report, sink);
  printDiagnostics(sink);
  if (!full)
    return 1;
  const json::Object &report = *full->getAsObject();
  json::Object answer = answerFor(report, result.report, arguments[1]);
  if (!answer.get("fate") && answer.getArray("kernels")->empty() &&
      answer.getArray("buffers")->empty() && !answer.getObject("placement")) {
    std::string nearest = nearestTo(arguments[1], namesOf(report));
    printError(toolName,
               "the compiled program has no part of node \"" + arguments[1] + "\"" +
                   (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"),
               {"a node that nothing needs is not read"});
    return 1;
  }
  if (isJson)
    llvm::outs() << llvm::formatv("{0:2}", json::Value(std::move(answer))) << "\n";
  else
    printText(answer, arguments[1], result.report);
  return 0;
}

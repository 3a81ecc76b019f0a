//===- Model.cpp - weir-bench model ---------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Model.h"

#include "tools/common/Files.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"
#include "tools/weir-bench/Measure.h"
#include "tools/weir-bench/Peer.h"
#include "tools/weir-bench/ResultTable.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-bench model";
constexpr double roundMs = 300;

struct Settings {
  driver::Options options;
  std::vector<std::string> models, against;
  int64_t threads = 1, rounds = 7;
  bool json = false;
  std::string tsv; ///< the table that rows are added to; empty: none
};

/// One engine's figures for one model.
struct Figure {
  std::string engine, version, error;
  double medianMs = 0, leastMs = 0, loadMs = 0;
  std::string difference; ///< from ours; empty: agrees, or ours
};

/// Measures one model. False with errors in `sink`.
bool measure(const Settings &settings, const std::string &path, std::vector<Figure> &figures,
             DiagnosticSink &sink) {
  driver::Options options = settings.options;
  options.input = path;
  options.name = path.ends_with(".so") ? "" : "model";
  Ours ours;
  int threads = static_cast<int>(settings.threads);
  if (!ours.load(options, threads, sink))
    return false;
  figures.push_back({"weir", WEIR_VERSION, "", 0, 0, ours.loadMs, ""});

  Scratch scratch;
  std::string inputs = scratch.path + "/inputs.npz", error;
  if (!writeNpzFile(inputs, ours.given, error)) {
    sink.report({"W0806", inputs, "", "", "cannot be written: " + error, {}});
    return false;
  }
  std::vector<std::unique_ptr<Peer>> peers;
  for (const std::string &engine : settings.against) {
    Figure figure{engine, "", "", 0, 0, 0, ""};
    auto peer = std::make_unique<Peer>(engine, scratch.path);
    std::string outputs = scratch.path + "/" + engine + ".npz";
    if (peer->start(threads, figure.error) &&
        peer->load(fs::absolute(path).string(), inputs, outputs, figure.error)) {
      figure.version = peer->version();
      figure.loadMs = peer->loadMs();
      figure.difference = differenceOf(ours.outputs, outputs);
    } else {
      peer.reset();
    }
    peers.push_back(std::move(peer));
    figures.push_back(std::move(figure));
  }

  ProgressLine progress;
  std::vector<Runner> runners{[&](int count) { return ours.run(count); }};
  for (auto &peer : peers)
    runners.push_back(peer ? [&peer](int count) { return peer->run(count); } : Runner());
  std::vector<Times> times = measureInTurn(runners, settings.rounds, roundMs, [&](int64_t round) {
    progress.update(path + ": round " + std::to_string(round) + " of " +
                    std::to_string(settings.rounds));
  });
  for (size_t i = 0; i < figures.size(); ++i) {
    figures[i].medianMs = times[i].median;
    figures[i].leastMs = times[i].least;
    if (!runners[i] && figures[i].error.empty())
      figures[i].error = "the side process ended";
  }
  return true;
}

void printText(const std::string &path, const std::vector<Figure> &figures, int64_t threads) {
  const Figure &ours = figures[0];
  std::printf("%s: weir %.3f ms, threads=%lld\n", path.c_str(), ours.medianMs,
              static_cast<long long>(threads));
  for (size_t i = 1; i < figures.size(); ++i) {
    const Figure &peer = figures[i];
    if (!peer.error.empty()) {
      std::printf("  %s: left out: %s\n", peer.engine.c_str(), peer.error.c_str());
      continue;
    }
    std::printf("  %s %s: %.3f ms, weir/%s=%.3f%s%s\n", peer.engine.c_str(), peer.version.c_str(),
                peer.medianMs, peer.engine.c_str(), ours.medianMs / peer.medianMs,
                peer.difference.empty() ? "" : ", results differ: ", peer.difference.c_str());
  }
}

llvm::json::Value toJson(const std::string &path, const std::vector<Figure> &figures,
                         int64_t threads) {
  llvm::json::Array list;
  for (const Figure &figure : figures) {
    llvm::json::Object row{{"engine", figure.engine}};
    if (!figure.error.empty()) {
      row["error"] = llvm::json::fixUTF8(figure.error);
    } else {
      row["version"] = figure.version;
      row["median_ms"] = figure.medianMs;
      row["least_ms"] = figure.leastMs;
      row["load_ms"] = figure.loadMs;
      if (&figure != &figures[0]) {
        row["weir_over_this"] = figures[0].medianMs / figure.medianMs;
        row["agrees"] = figure.difference.empty();
      }
    }
    list.push_back(std::move(row));
  }
  return llvm::json::Object{{"model", path}, {"threads", threads}, {"engines", std::move(list)}};
}

/// A row an engine that ran: what docs/results/models.tsv holds.
void addRows(ResultTable &table, const Settings &settings, const std::string &path,
             const std::vector<Figure> &figures) {
  std::string name = fs::path(path).stem().string();
  if (settings.options.precision != "f32" && !settings.options.precision.empty())
    name += " --precision=" + settings.options.precision;
  for (const Figure &figure : figures)
    if (figure.error.empty())
      table.append({name, std::to_string(settings.threads), figure.engine, figure.version,
                    llvm::formatv("{0:f3}", figure.medianMs).str()});
}

} // namespace

int runModelBenchmark(int argc, char **argv) {
  Settings settings;
  FlagParser parser(toolName, "MODEL... [flags]",
                    "Times whole models: ours, and other engines that are "
                    "installed, in turn on the same inputs and threads.");
  parser.positionals("MODEL", "as weirc takes it, or a .so", 1, 0, settings.models);
  parser.group("Measurement");
  parser.value("--against", "ort,openvino,iree,tf",
               "engines to compare with, run by a Python side process "
               "(WEIR_PYTHON, else python3)",
               [&settings](std::string_view value) -> std::string {
                 for (std::string_view engine : splitFields(value, ',')) {
                   if (engine != "ort" && engine != "openvino" && engine != "iree" &&
                       engine != "tf")
                     return "names an engine that is unknown; possible: ort, "
                            "openvino, iree, tf";
                   settings.against.emplace_back(engine);
                 }
                 return "";
               });
  parser.number("--threads", "N", "threads of every engine (default 1)", settings.threads, 1, 4096);
  parser.number("--rounds", "N", "rounds that count (default 7)", settings.rounds, 1, 1000);
  parser.value("--precision", "f32|bf16",
               "ours, and that of engines that have a setting for it (openvino)",
               [&settings](std::string_view value) -> std::string {
                 if (value != "f32" && value != "bf16")
                   return "is unknown; possible: f32, bf16";
                 settings.options.precision = value;
                 // What the side process is told.
                 setenv("WEIR_BENCH_PRECISION", settings.options.precision.c_str(), 1);
                 return "";
               });
  addClockFlag(parser);
  parser.flag("--json", "for programs", settings.json);
  parser.text("--tsv", "FILE", "add a row an engine to a table, as docs/results/models.tsv is",
              settings.tsv);
  addEntryFlags(parser, settings.options, driver::frontendFlags());
  parser.exitCode(0, "all models were measured");
  parser.exitCode(1,
                  "an error was printed, or an engine was left out: the others' times are there");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  llvm::json::Array all;
  ResultTable table(settings.tsv, {"model", "threads", "engine", "version", "median_ms"}, 3);
  for (const std::string &path : settings.models) {
    DiagnosticSink sink;
    std::vector<Figure> figures;
    bool good = measure(settings, path, figures, sink);
    printDiagnostics(sink);
    if (!good) {
      status = 1;
      continue;
    }
    addRows(table, settings, path, figures);
    if (llvm::any_of(figures, [](const Figure &each) { return !each.error.empty(); }))
      status = 1;
    if (settings.json)
      all.push_back(toJson(path, figures, settings.threads));
    else
      printText(path, figures, settings.threads);
  }
  std::string error;
  if (!settings.tsv.empty() && !table.write(error)) {
    DiagnosticSink sink;
    sink.report({"W0806", settings.tsv, "", "", error, {}});
    printDiagnostics(sink);
    status = 1;
  }
  if (settings.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << "\n";
  return status;
}

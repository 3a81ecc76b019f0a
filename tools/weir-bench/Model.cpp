//===- Model.cpp - weir-bench model ---------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines take turns, round by round, so that a machine that slows down slows
// all of them; the first round of each warms up and does not count. A figure is
// the median over the runs of a round, then over rounds.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Model.h"

#include "tools/common/Compare.h"
#include "tools/common/Files.h"
#include "tools/common/LoadProgram.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Session.h"
#include "tools/common/Terminal.h"
#include "tools/weir-bench/Peer.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-bench model";
constexpr double roundMs = 300;
constexpr int leastRuns = 3, mostRuns = 2000;

struct Settings {
  driver::Options options;
  std::vector<std::string> models, against;
  int64_t threads = 1, rounds = 7;
  bool json = false;
};

/// One engine's figures for one model.
struct Figure {
  std::string engine, version, error;
  double medianMs = 0, loadMs = 0;
  std::string difference; ///< from ours; empty: agrees, or ours
};

double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A folder that is removed at the end.
struct Scratch {
  Scratch() {
    path = (fs::temp_directory_path() / "weir-bench-XXXXXX").string();
    if (!mkdtemp(path.data()))
      path.clear();
  }
  ~Scratch() {
    std::error_code code;
    if (!path.empty())
      fs::remove_all(path, code);
  }
  std::string path;
};

/// Ours: the model linked in memory, its inputs and its results.
class Ours {
public:
  bool load(const driver::Options &options, int threads, DiagnosticSink &sink) {
    double start = now();
    model = loadProgram(options, sink);
    if (!model)
      return false;
    compileMs = now() - start;
    start = now();
    weir_session_options sessionOptions = WEIR_SESSION_OPTIONS_INIT;
    sessionOptions.threads = threads;
    RunStatus status;
    session = Session::create(*model, sessionOptions, status);
    if (!session) {
      sink.report({"W0706",
                   options.input,
                   "",
                   "",
                   "no session can be made: " + status.text(),
                   {}});
      return false;
    }
    loadMs = now() - start;
    const LoadedEntry &entry = session->entries()[0];
    for (const LoadedTensor &feed : entry.feeds) {
      std::vector<int64_t> dims = feed.dims;
      for (size_t d = 0; d < dims.size(); ++d)
        if (dims[d] < 0)
          dims[d] = std::max<int64_t>(feed.lower[d], 1);
      given.emplace_back(feed.name,
                         randomTensor(feed.dtype, dims, given.size() + 1));
    }
    storage.resize(given.size());
    for (size_t i = 0; i < given.size(); ++i)
      views.push_back(viewOf(given[i].second, storage[i]));
    results.resize(entry.fetches.size());
    status = session->runRaw(0, views, results);
    if (!status.ok()) {
      sink.report({"W0704",
                   options.input,
                   "",
                   "",
                   "entry \"" + entry.name + "\" failed: " + status.text(),
                   {}});
      return false;
    }
    for (size_t i = 0; i < results.size(); ++i)
      outputs.emplace_back(entry.fetches[i].name, copyOf(results[i]));
    return true;
  }

  ~Ours() {
    if (session)
      session->release(results);
  }

  std::vector<double> run(int count) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      double start = now();
      session->runRaw(0, views, results);
      times.push_back(now() - start);
    }
    return times;
  }

  NamedTensors given, outputs;
  double compileMs = 0, loadMs = 0;

private:
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<Session> session;
  std::vector<ViewStorage> storage;
  std::vector<weir_tensor> views, results;
};

/// How a peer's results differ from ours, "" where they agree.
std::string differenceOf(NamedTensors &ours, const std::string &file) {
  NamedTensors theirs;
  std::string error;
  if (!readNpzFile(file, theirs, error))
    return error;
  Tolerance tolerance;
  tolerance.relative = 1e-3;
  tolerance.absolute = 1e-5;
  for (auto &[name, tensor] : theirs)
    if (HostTensor *mine = findTensor(ours, name))
      if (auto difference = compareTensors(*mine, tensor, tolerance))
        return "\"" + name + "\": " + *difference;
  return "";
}

int runsPerRound(double ms) {
  return std::clamp(static_cast<int>(roundMs / std::max(ms, 1e-3)), leastRuns,
                    mostRuns);
}

/// Measures one model. False with errors in `sink`.
bool measure(const Settings &settings, const std::string &path,
             std::vector<Figure> &figures, DiagnosticSink &sink) {
  driver::Options options = settings.options;
  options.input = path;
  options.name = path.ends_with(".so") ? "" : "model";
  Ours ours;
  int threads = static_cast<int>(settings.threads);
  if (!ours.load(options, threads, sink))
    return false;
  figures.push_back({"weir", WEIR_VERSION, "", 0, ours.loadMs, ""});

  Scratch scratch;
  std::string inputs = scratch.path + "/inputs.npz", error;
  if (!writeNpzFile(inputs, ours.given, error)) {
    sink.report({"W0806", inputs, "", "", "cannot be written: " + error, {}});
    return false;
  }
  std::vector<std::unique_ptr<Peer>> peers;
  for (const std::string &engine : settings.against) {
    Figure figure{engine, "", "", 0, 0, ""};
    auto peer = std::make_unique<Peer>(engine, scratch.path);
    std::string outputs = scratch.path + "/" + engine + ".npz";
    if (peer->start(fs::absolute(path).string(), inputs, outputs, threads,
                    figure.error)) {
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
  std::vector<std::vector<double>> medians(figures.size());
  std::vector<double> estimate(figures.size(), 0);
  for (int64_t round = 0; round <= settings.rounds; ++round) {
    progress.update(path + ": round " + std::to_string(round) + " of " +
                    std::to_string(settings.rounds));
    for (size_t i = 0; i < figures.size(); ++i) {
      if (i > 0 && !peers[i - 1])
        continue;
      int count = round == 0 ? leastRuns : runsPerRound(estimate[i]);
      std::vector<double> times =
          i == 0 ? ours.run(count) : peers[i - 1]->run(count);
      if (times.empty()) {
        figures[i].error = "the side process ended";
        peers[i - 1].reset();
        continue;
      }
      estimate[i] = medianOf(times);
      if (round > 0)
        medians[i].push_back(estimate[i]);
    }
  }
  for (size_t i = 0; i < figures.size(); ++i)
    figures[i].medianMs = medianOf(medians[i]);
  return true;
}

void printText(const std::string &path, const std::vector<Figure> &figures,
               int64_t threads) {
  const Figure &ours = figures[0];
  std::printf("%s: weir %.3f ms, threads=%lld\n", path.c_str(), ours.medianMs,
              static_cast<long long>(threads));
  for (size_t i = 1; i < figures.size(); ++i) {
    const Figure &peer = figures[i];
    if (!peer.error.empty()) {
      std::printf("  %s: left out: %s\n", peer.engine.c_str(),
                  peer.error.c_str());
      continue;
    }
    std::printf("  %s %s: %.3f ms, weir/%s=%.3f%s%s\n", peer.engine.c_str(),
                peer.version.c_str(), peer.medianMs, peer.engine.c_str(),
                ours.medianMs / peer.medianMs,
                peer.difference.empty() ? "" : ", results differ: ",
                peer.difference.c_str());
  }
}

llvm::json::Value toJson(const std::string &path,
                         const std::vector<Figure> &figures, int64_t threads) {
  llvm::json::Array list;
  for (const Figure &figure : figures) {
    llvm::json::Object row{{"engine", figure.engine}};
    if (!figure.error.empty()) {
      row["error"] = llvm::json::fixUTF8(figure.error);
    } else {
      row["version"] = figure.version;
      row["median_ms"] = figure.medianMs;
      row["load_ms"] = figure.loadMs;
      if (&figure != &figures[0]) {
        row["weir_over_this"] = figures[0].medianMs / figure.medianMs;
        row["agrees"] = figure.difference.empty();
      }
    }
    list.push_back(std::move(row));
  }
  return llvm::json::Object{
      {"model", path}, {"threads", threads}, {"engines", std::move(list)}};
}

} // namespace

int runModelBenchmark(int argc, char **argv) {
  Settings settings;
  FlagParser parser(toolName, "MODEL... [flags]",
                    "Times whole models: ours, and other engines that are "
                    "installed, in turn on the same inputs and threads.");
  parser.positionals("MODEL", "as weirc takes it, or a .so", 1, 0,
                     settings.models);
  parser.group("Measurement");
  parser.value("--against", "ort,openvino,iree,tf",
               "engines to compare with, run by a Python side process "
               "(WEIR_PYTHON, else python3)",
               [&settings](std::string_view value) -> std::string {
                 for (std::string_view engine : splitFields(value, ',')) {
                   if (engine != "ort" && engine != "openvino" &&
                       engine != "iree" && engine != "tf")
                     return "names an engine that is unknown; possible: ort, "
                            "openvino, iree, tf";
                   settings.against.emplace_back(engine);
                 }
                 return "";
               });
  parser.number("--threads", "N", "threads of every engine (default 1)",
                settings.threads, 1, 4096);
  parser.number("--rounds", "N", "rounds that count (default 7)",
                settings.rounds, 1, 1000);
  parser.flag("--json", "for programs", settings.json);
  addEntryFlags(parser, settings.options);
  parser.exitCode(0, "all models were measured");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  llvm::json::Array all;
  for (const std::string &path : settings.models) {
    DiagnosticSink sink;
    std::vector<Figure> figures;
    bool good = measure(settings, path, figures, sink);
    printDiagnostics(sink);
    if (!good) {
      status = 1;
      continue;
    }
    if (settings.json)
      all.push_back(toJson(path, figures, settings.threads));
    else
      printText(path, figures, settings.threads);
  }
  if (settings.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(all)))
                 << "\n";
  return status;
}

//===- Operations.cpp - weir-bench ops ------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of one node for each operation and size, which a script writes where
// Python has onnx. One side process serves all of them.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Operations.h"

#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"
#include "tools/common/Terminal.h"
#include "tools/weir-bench/Measure.h"
#include "tools/weir-bench/Peer.h"
#include "tools/weir-bench/ResultTable.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <cstdio>
#include <ctime>
#include <sys/wait.h>
#include <vector>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-bench ops";
constexpr double roundMs = 15;
/// What is slower than the peer by more than this wants a reason.
constexpr double tolerated = 3.0;

constexpr char script[] =
#include "operations.inc"
    ;

/// Why an operation is slower than tolerated, by its name in the table.
struct Reason {
  const char *name, *text;
};
const std::vector<Reason> reasons = {
#include "tools/weir-bench/Reasons.inc"
};

struct Settings {
  std::string filter, write;
  int64_t threads = 1, rounds = 5;
  bool json = false;
};

/// An operation at one size. Times are in milliseconds.
struct Row {
  std::string name, size, stem, error, difference;
  double ours = 0, theirs = 0;
  double ratio() const { return theirs > 0 ? ours / theirs : 0; }
  const char *reason() const {
    for (const Reason &reason : reasons)
      if (name == reason.name)
        return reason.text;
    return nullptr;
  }
};

/// Writes the models into `folder` and lists them. False with `error`.
bool writeModels(const std::string &folder, const std::string &filter, std::vector<Row> &rows,
                 std::string &error) {
  std::string path = folder + "/operations.py", list = folder + "/list.tsv";
  if (!writeFile(path, script, error))
    return false;
  pid_t pid = fork();
  if (pid == 0) {
    if (std::freopen(list.c_str(), "w", stdout))
      execlp(peerPython(), peerPython(), path.c_str(), folder.c_str(), filter.c_str(),
             static_cast<char *>(nullptr));
    _exit(127);
  }
  int status = 0;
  std::string text;
  if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0 || !readFile(list, text, error)) {
    error = std::string(peerPython()) + " does not write the models (it needs onnx)";
    return false;
  }
  for (std::string_view line : splitLines(text)) {
    std::vector<std::string_view> fields = splitFields(line, '\t');
    if (fields.size() == 3)
      rows.push_back(
          {std::string(fields[0]), std::string(fields[1]), std::string(fields[2]), "", ""});
  }
  return true;
}

void measure(const Settings &settings, const std::string &folder, Peer &peer, Row &row) {
  driver::Options options;
  options.input = folder + "/" + row.stem + ".onnx";
  options.name = "model";
  std::string inputs = folder + "/" + row.stem + ".npz", outputs = folder + "/out.npz";
  Ours ours;
  DiagnosticSink sink;
  if (!readNpzFile(inputs, ours.given, row.error))
    return;
  if (!ours.load(options, static_cast<int>(settings.threads), sink)) {
    row.error = "weir: " + (sink.diagnostics().empty() ? "?" : sink.diagnostics()[0].message);
    return;
  }
  if (!peer.load(options.input, inputs, outputs, row.error))
    return;
  row.difference = differenceOf(ours.outputs, outputs);
  std::vector<Runner> runners{[&](int count) { return ours.run(count); },
                              [&](int count) { return peer.run(count); }};
  std::vector<Times> figures = measureInTurn(runners, settings.rounds, roundMs);
  row.ours = figures[0].median;
  row.theirs = figures[1].median;
}

/// "12.3", in microseconds.
std::string micros(double ms) { return llvm::formatv(ms < 0.1 ? "{0:f1}" : "{0:f0}", ms * 1e3); }

/// The page: a line an operation, its sizes side by side.
std::string page(const Settings &settings, const std::vector<Row> &rows,
                 const std::string &version) {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::vector<double> ratios;
  for (const Row &row : rows)
    if (row.theirs > 0)
      ratios.push_back(row.ratio());
  os << "# Single operations\n\n"
     << "Made by `weir-bench ops --write=docs/performance-ops.md`: the most used operations at "
        "three\n"
     << "sizes, ours against ONNX Runtime " << version << " in turn, "
     << (settings.threads == 1 ? "one thread" : std::to_string(settings.threads) + " threads")
     << " each, medians of " << settings.rounds << "\nrounds, microseconds"
     << (takesProcessorTime() ? " of processor time" : "") << ", on " << today() << " ("
     << llvm::sys::getHostCPUName() << "). A cell is the size, ours / theirs, and the\n"
     << "ratio: below 1 is faster than ONNX Runtime. Theirs includes some five microseconds of its "
        "Python\n"
     << "interface. The median of all ratios is " << llvm::formatv("{0:f2}", medianOf(ratios))
     << ".\n\n| operation | small | medium | large |\n|---|---|---|---|\n";
  for (size_t i = 0; i < rows.size();) {
    os << "| " << rows[i].name << " |";
    std::string name = rows[i].name;
    for (; i < rows.size() && rows[i].name == name; ++i) {
      const Row &row = rows[i];
      os << " " << row.size << ": ";
      if (!row.error.empty()) {
        os << row.error << " |";
        continue;
      }
      const char *mark = row.ratio() > tolerated ? "**" : "";
      os << micros(row.ours) << " / " << micros(row.theirs) << " = " << mark
         << llvm::formatv("{0:f2}", row.ratio()) << mark
         << (row.difference.empty() ? "" : " (results differ)") << " |";
    }
    os << "\n";
  }
  os << "\n## More than three times slower, and why\n\n";
  bool any = false;
  std::string last;
  for (const Row &row : rows)
    if (row.ratio() > tolerated && row.name != last) {
      any = true;
      last = row.name;
      os << "- " << row.name << ": " << (row.reason() ? row.reason() : "no reason known") << "\n";
    }
  if (!any)
    os << "None.\n";
  return text;
}

void printText(const Row &row) {
  if (!row.error.empty()) {
    std::printf("%-28s %-22s %s\n", row.name.c_str(), row.size.c_str(), row.error.c_str());
    return;
  }
  std::printf("%-28s %-22s %10s %10s us %6.2f%s%s\n", row.name.c_str(), row.size.c_str(),
              micros(row.ours).c_str(), micros(row.theirs).c_str(), row.ratio(),
              row.difference.empty() ? "" : "  results differ: ", row.difference.c_str());
  if (row.ratio() > tolerated)
    std::printf("%-28s   %s\n", "", row.reason() ? row.reason() : "slow without a reason");
  std::fflush(stdout);
}

llvm::json::Value toJson(const Row &row) {
  llvm::json::Object object{{"operation", row.name}, {"size", row.size}};
  if (!row.error.empty()) {
    object["error"] = llvm::json::fixUTF8(row.error);
    return object;
  }
  object["weir_ms"] = row.ours;
  object["ort_ms"] = row.theirs;
  object["ratio"] = row.ratio();
  object["agrees"] = row.difference.empty();
  if (row.ratio() > tolerated && row.reason())
    object["reason"] = row.reason();
  return object;
}

} // namespace

int runOperationsBenchmark(int argc, char **argv) {
  Settings settings;
  FlagParser parser(toolName, "[flags]",
                    "Times the most used operations at three sizes each: ours, and ONNX "
                    "Runtime's in turn on the same inputs and threads. Needs a Python with "
                    "onnx and onnxruntime (WEIR_PYTHON, else python3).");
  parser.group("Measurement");
  parser.text("--filter", "REGEX", "only operations whose name it matches", settings.filter);
  parser.text("--write", "FILE.md", "write the page of results, too", settings.write);
  parser.number("--threads", "N", "threads of both engines (default 1)", settings.threads, 1, 4096);
  parser.number("--rounds", "N", "rounds that count (default 5)", settings.rounds, 1, 1000);
  addClockFlag(parser);
  parser.flag("--json", "for programs", settings.json);
  parser.exitCode(0, "all operations were measured, and agree");
  parser.exitCode(1, "an error was printed, an operation failed, or results differ");
  parser.exitCode(2, "an operation is more than 3 times slower, and no reason is known");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;

  Scratch scratch;
  std::vector<Row> rows;
  std::string error;
  Peer peer("ort", scratch.path);
  if (!writeModels(scratch.path, settings.filter, rows, error) ||
      !peer.start(static_cast<int>(settings.threads), error)) {
    printError(toolName, error);
    return 1;
  }
  ProgressLine progress;
  llvm::json::Array all;
  bool failed = rows.empty(), slow = false;
  for (Row &row : rows) {
    progress.update(row.name + " " + row.size);
    measure(settings, scratch.path, peer, row);
    failed |= !row.error.empty() || !row.difference.empty();
    slow |= row.ratio() > tolerated && !row.reason();
    progress.clear();
    if (settings.json)
      all.push_back(toJson(row));
    else
      printText(row);
  }
  if (settings.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << "\n";
  if (!settings.write.empty() &&
      !writeFile(settings.write, page(settings, rows, peer.version()), error)) {
    printError(toolName, settings.write + " cannot be written: " + error);
    return 1;
  }
  return failed ? 1 : slow ? 2 : 0;
}

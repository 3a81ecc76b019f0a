//===- Cliffs.cpp - weir-bench cliffs -------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of models that test/oracle/cliffs.py or cliff_shapes.py wrote, with list.tsv: operator,
// type, size, sizes (fixed, open, bounded), operands (fed, const), layout, file
// stem, floating-point operations, bounds of dimensions. A line is measured in turn
// with each peer that takes the model, and added to the results at once, so that a
// sweep that was stopped goes on where it was.
//
// Where no peer takes it, and beside the ratio where one does, stands how many times
// longer it takes than this machine needs to move its bytes and do its operations.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Cliffs.h"

#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"
#include "tools/common/Terminal.h"
#include "tools/weir-bench/Measure.h"
#include "tools/weir-bench/PeakRate.h"
#include "tools/weir-bench/Peer.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-bench cliffs";
constexpr double roundMs = 10;
/// A run of a session costs this much, whatever it computes.
constexpr double callMs = 2e-3;
/// More than the machine needs by this factor is a cliff.
constexpr double tolerated = 8;
constexpr size_t keyFields = 6;
constexpr const char *header = "operator\ttype\tsize\tsizes\toperands\tlayout\tweir_us\tort_us\t"
                               "openvino_us\tratio\tover_machine\tnote";

struct Settings {
  std::vector<std::string> folders;
  std::string filter = ".", write;
  int64_t rounds = 3;
};

/// What one core of this machine does.
struct Machine {
  double bytesPerMs = 0, flopsPerMs = 0;

  /// The best of a few, each some milliseconds.
  static Machine measured() {
    Machine machine;
    std::vector<char> from(size_t(32) << 20, 1), to(from.size());
    for (int i = 0; i < 7; ++i) {
      double start = clockMs();
      std::memcpy(to.data(), from.data(), from.size());
      double middle = clockMs();
      runPeakLoop();
      double end = clockMs();
      from[i] = to[i + 1]; // so that no copy is left out
      machine.bytesPerMs = std::max(machine.bytesPerMs, 2.0 * from.size() / (middle - start));
      machine.flopsPerMs = std::max(machine.flopsPerMs, peakLoopFlops() / (end - middle));
    }
    return machine;
  }
};

struct Row {
  std::vector<std::string> key; ///< the first `keyFields` columns
  std::string stem, bounds, note;
  double flops = 0, ours = 0, ort = 0, openvino = 0, over = 0;

  std::string name() const {
    std::string text;
    for (const std::string &part : key)
      text += (text.empty() ? "" : " ") + part;
    return text;
  }
  double best() const {
    return ort > 0 && openvino > 0 ? std::min(ort, openvino) : std::max(ort, openvino);
  }
  double ratio() const { return best() > 0 ? ours / best() : 0; }
};

/// Why a peer may well be faster, whatever we do: it computes less. None is known for most.
std::string reasonOf(const Row &row) {
  bool isBesideOpenVino = row.openvino > 0 && row.best() == row.openvino;
  if (row.key[1] == "float64" && isBesideOpenVino)
    return "OpenVINO computes f64 as f32";
  if (row.key[0] == "com.microsoft.CDist")
    return "differences are squared; ONNX Runtime takes a product from two norms, which cancels";
  if (row.key[0].rfind("Random", 0) == 0 && isBesideOpenVino)
    return "numbers of the Mersenne Twister, one after the other; OpenVINO's are Philox";
  if (row.ratio() <= 2)
    return "";
  static const std::map<std::string, const char *> ofOperators = {
      {"Hardmax", "an open axis may be empty: a copy has room for one element; lines of two"},
      {"RotaryEmbedding", "halves of lines are cast to f32 by kernels of their own"},
      {"Exp", "halves that are turned as they are read go one by one"},
      {"ConvInteger", "channels first: sums of 32 bits are transposed, and corrected behind that"},
      {"com.microsoft.DynamicQuantizeMatMul", "of bytes that are fed, with open depth: words"},
      {"com.microsoft.Inverse", "elimination by a loop of the graph, several kernels a column"},
      {"com.microsoft.WordConvEmbedding",
       "a tile is a line of eight, which reads all of the filter"},
      // Along axes of shapes: test/oracle/cliff_shapes.py.
      {"concat", "rows of a few elements, of open length, by calls that copy each"},
      {"gather", "a few bytes of each line, picked one by one"},
      {"matmul_with_itself", "sums of three, whose number is open: tiles are made for more"},
      {"reduce_max", "a few columns, or lines of a few elements, whose number is open"},
      {"reduce_sum", "lines of a few elements, whose number is open"},
      {"tile", "rows of a few elements, of open length, one by one"},
      {"top_k", "OpenVINO keeps the first few in registers; a function of the library finds them"},
      {"transpose", "a few columns fill no block, and are turned one by one"},
  };
  auto it = ofOperators.find(row.key[0].substr(0, row.key[0].find('-')));
  return it == ofOperators.end() ? "" : it->second;
}

std::string line(const Row &row) {
  std::string text;
  for (const std::string &part : row.key)
    text += part + "\t";
  for (double ms : {row.ours, row.ort, row.openvino})
    text += (ms > 0 ? llvm::formatv("{0:f1}", ms * 1e3).str() : "-") + "\t";
  text += (row.ratio() > 0 ? llvm::formatv("{0:f2}", row.ratio()).str() : "-") + "\t";
  text += (row.over > 0 ? llvm::formatv("{0:f1}", row.over).str() : "-") + "\t" + row.note;
  return text;
}

bool readList(const std::string &folder, const Settings &settings,
              const std::set<std::string> &done, std::vector<Row> &rows, std::string &error) {
  std::string text;
  if (!readFile(folder + "/list.tsv", text, error)) {
    error = folder + "/list.tsv: " + error;
    return false;
  }
  llvm::Regex filter(settings.filter);
  if (!filter.isValid(error)) {
    error = "--filter=" + settings.filter + ": " + error;
    return false;
  }
  for (std::string_view one : splitLines(text)) {
    std::vector<std::string_view> fields = splitFields(one, '\t');
    if (fields.size() != keyFields + 3)
      continue;
    Row row;
    row.key.assign(fields.begin(), fields.begin() + keyFields);
    row.stem = folder + "/" + std::string(fields[keyFields]);
    row.flops = std::strtod(std::string(fields[keyFields + 1]).c_str(), nullptr);
    row.bounds = fields[keyFields + 2];
    if (filter.match(row.name()) && !done.count(row.name()))
      rows.push_back(std::move(row));
  }
  return true;
}

double bytesOf(const NamedTensors &tensors) {
  double bytes = 0;
  for (const auto &[name, tensor] : tensors)
    bytes += static_cast<double>(tensor.bytes.size());
  return bytes;
}

void measure(const Settings &settings, const Machine &machine, const std::string &scratch,
             Peer *const peers[2], Row &row) {
  driver::Options options;
  options.input = row.stem + ".onnx";
  options.name = "model";
  llvm::SmallVector<llvm::StringRef> bounds;
  llvm::StringRef(row.bounds).split(bounds, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef bound : bounds) {
    std::string name;
    DimBinding binding;
    row.note = parseDimBinding(bound, name, binding);
    if (!row.note.empty())
      return;
    options.dims[name] = binding;
  }
  Ours ours;
  DiagnosticSink sink;
  if (!readNpzFile(row.stem + ".npz", ours.given, row.note))
    return;
  if (!ours.load(options, 1, sink)) {
    row.note = "weir: " + (sink.diagnostics().empty() ? "?" : sink.diagnostics()[0].str());
    std::replace(row.note.begin(), row.note.end(), '\n', ' ');
    std::replace(row.note.begin(), row.note.end(), '\t', ' ');
    return;
  }
  std::vector<Runner> runners{[&](int count) { return ours.run(count); }};
  for (int i = 0; i < 2; ++i) {
    std::string outputs = scratch + "/out.npz", error;
    if (!peers[i] || !peers[i]->load(options.input, row.stem + ".npz", outputs, error)) {
      runners.push_back(nullptr);
      continue;
    }
    std::string difference = i == 0 ? differenceOf(ours.outputs, outputs) : "";
    if (!difference.empty())
      row.note = "results differ: " + difference;
    runners.push_back([peer = peers[i]](int count) { return peer->run(count); });
  }
  std::vector<Times> figures = measureInTurn(runners, settings.rounds, roundMs);
  row.ours = figures[0].median;
  row.ort = figures[1].median;
  row.openvino = figures[2].median;
  std::error_code code;
  // Constants are in the file.
  double bytes = bytesOf(ours.given) + bytesOf(ours.outputs) +
                 static_cast<double>(std::filesystem::file_size(options.input, code));
  if (row.note.empty() && row.ratio() > 1)
    row.note = reasonOf(row);
  double rate = row.key[1] == "float64" ? machine.flopsPerMs / 2 : machine.flopsPerMs;
  row.over = row.ours / (callMs + std::max(bytes / machine.bytesPerMs, row.flops / rate));
}

/// The rows of a table with its header, those slowest beside a peer first, then those
/// without a peer by what the machine could do.
std::string sorted(std::vector<std::string> rows) {
  auto field = [](const std::string &row, size_t at) {
    std::vector<std::string_view> fields = splitFields(row, '\t');
    return at < fields.size() ? std::strtod(std::string(fields[at]).c_str(), nullptr) : 0.0;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const std::string &a, const std::string &b) {
    double x = field(a, keyFields + 3), y = field(b, keyFields + 3);
    return x != y ? x > y : field(a, keyFields + 4) > field(b, keyFields + 4);
  });
  std::string text = std::string(header) + "\n";
  for (const std::string &row : rows)
    text += row + "\n";
  return text;
}

} // namespace

int runCliffsBenchmark(int argc, char **argv) {
  Settings settings;
  FlagParser parser(
      toolName, "FOLDER [flags]",
      "Times the models that test/oracle/cliffs.py or cliff_shapes.py wrote into FOLDER: ours, "
      "ONNX Runtime's and OpenVINO's in turn, one thread each (WEIR_PYTHON, else python3).");
  parser.positionals("FOLDER", "with list.tsv", 1, 1, settings.folders);
  parser.group("Measurement");
  parser.text("--filter", "REGEX",
              "only lines that it matches: operator, type, size, sizes, operands, layout, with "
              "spaces between",
              settings.filter);
  parser.text("--write", "FILE.tsv", "where results go; lines that it has are not measured again",
              settings.write);
  parser.number("--rounds", "N", "rounds that count (default 3)", settings.rounds, 1, 1000);
  addClockFlag(parser);
  parser.exitCode(0, "all lines were measured");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;

  std::string text, error;
  std::vector<std::string> lines;
  std::set<std::string> done;
  if (!settings.write.empty() && readFile(settings.write, text, error))
    for (std::string_view one : splitLines(text))
      if (!one.empty() && one != header) {
        std::vector<std::string_view> fields = splitFields(one, '\t');
        Row row;
        row.key.assign(fields.begin(), fields.begin() + std::min(keyFields, fields.size()));
        done.insert(row.name());
        lines.emplace_back(one);
      }
  std::vector<Row> rows;
  if (!readList(settings.folders[0], settings, done, rows, error)) {
    printError(toolName, error);
    return 1;
  }
  Scratch scratch;
  Peer ort("ort", scratch.path), openvino("openvino", scratch.path);
  Peer *peers[2] = {ort.start(1, error) ? &ort : nullptr,
                    openvino.start(1, error) ? &openvino : nullptr};
  Machine machine = Machine::measured();
  ProgressLine progress;
  for (size_t i = 0; i < rows.size(); ++i) {
    Row &row = rows[i];
    progress.update("[" + std::to_string(i + 1) + "/" + std::to_string(rows.size()) + "] " +
                    row.name());
    measure(settings, machine, scratch.path, peers, row);
    progress.clear();
    lines.push_back(line(row));
    bool cliff = row.best() > 0 ? row.ratio() > tolerated : row.over > tolerated;
    std::printf("%s%s\n", lines.back().c_str(), cliff ? "\tCLIFF" : "");
    std::fflush(stdout);
    if (!settings.write.empty() && !writeFile(settings.write, sorted(lines), error)) {
      printError(toolName, settings.write + " cannot be written: " + error);
      return 1;
    }
  }
  return 0;
}

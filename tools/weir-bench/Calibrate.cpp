//===- Calibrate.cpp - weir-bench calibrate -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures what placement's cost model asks for with graphs of our own, through
// compiler and runtime: a product for operations a second, a sum of large
// tensors for bytes a second, chains of small kernels for the time of a launch,
// and chains that cross from device to device for links. Rates come from the
// difference of two sizes, so that what every run costs cancels out.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Calibrate.h"

#include "tools/common/FlagParser.h"
#include "tools/common/LoadProgram.h"
#include "tools/common/Session.h"
#include "tools/common/Terminal.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-bench calibrate";
constexpr int leastRuns = 5;
constexpr double leastMs = 200;

int fail(const std::string &message) {
  std::fprintf(stderr, "weir-bench: error W0853: %s\n", message.c_str());
  return 1;
}

std::string tensor(int64_t rows, int64_t columns) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
}

/// A function from one tensor to one tensor; `body` makes %y from %x.
std::string module(const std::string &from, const std::string &to, const std::string &body,
                   const std::string &requests = "") {
  return "module {\n  func.func @main(%x: " + from + " {weir.name = \"x\"}) -> (" + to +
         " {weir.name = \"y\"}) attributes {weir.entry = \"main\"" +
         (requests.empty() ? "" : ", weir.device_requests = {" + requests + "}") + "} {\n" + body +
         "    return %y : " + to + "\n  }\n}\n";
}

std::string productOf(const std::string &value, const std::string &type) {
  return "weir.dot_general " + value + ", " + value +
         " {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = "
         "array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32} : (" +
         type + ", " + type + ") -> " + type;
}

std::string negationOf(const std::string &value, const std::string &type) {
  return "weir.neg " + value + " : (" + type + ") -> " + type;
}

using Operation = std::string (*)(const std::string &, const std::string &);

/// One operation after the other. With `hops`, every second one is on the other
/// device, so that none fuse; products never do.
std::string chain(Operation operation, int64_t rows, int64_t columns, int count, bool hops) {
  std::string type = tensor(rows, columns), body, requests;
  for (int i = 0; i < count; ++i) {
    std::string from = i ? "%v" + std::to_string(i - 1) : "%x",
                to = i == count - 1 ? "%y" : "%v" + std::to_string(i),
                node = "n" + std::to_string(i);
    body += "    " + to + " = " + operation(from, type) + " loc(\"" + node + "\")\n";
    if (hops)
      requests += (i ? ", " : "") + node + " = \"/cpu:" + std::to_string(i % 2) + "\"";
  }
  return module(type, type, body, requests);
}

/// The shortest time of a run, in seconds; nothing after an error.
std::optional<double> timeOf(const std::string &text, DiagnosticSink &sink) {
  llvm::SmallString<128> path;
  int descriptor = -1;
  if (llvm::sys::fs::createTemporaryFile("weir-calibrate", "mlir", descriptor, path)) {
    sink.report({"W0853", "", "", "", "no temporary file can be made", {}});
    return std::nullopt;
  }
  {
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out << text;
  }
  driver::Options options;
  options.input = path.str().str();
  options.name = "calibration";
  std::unique_ptr<LoadedModel> model = loadProgram(options, sink);
  llvm::sys::fs::remove(path);
  if (!model)
    return std::nullopt;
  weir_session_options sessionOptions = WEIR_SESSION_OPTIONS_INIT;
  sessionOptions.threads = 1;
  RunStatus status;
  std::unique_ptr<Session> session = Session::create(*model, sessionOptions, status);
  if (!session) {
    sink.report({"W0853", "", "", "", "no session: " + status.text(), {}});
    return std::nullopt;
  }
  const LoadedTensor &feed = session->entries()[0].feeds[0];
  HostTensor input;
  input.dtype = feed.dtype;
  input.dims = feed.dims;
  input.bytes.assign(size_t(input.count()) * 4, 0);
  ViewStorage storage;
  std::vector<weir_tensor> feeds{viewOf(input, storage)}, fetches(1);
  double best = 1e30, total = 0;
  for (int runs = 0; runs < leastRuns || total < leastMs; ++runs) {
    auto begin = std::chrono::steady_clock::now();
    status = session->runRaw(0, feeds, fetches);
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (!status.ok()) {
      sink.report({"W0853", "", "", "", "a run failed: " + status.text(), {}});
      return std::nullopt;
    }
    best = std::min(best, took.count());
    total += took.count() * 1e3;
  }
  session->release(fetches);
  return best;
}

/// (work of large - work of small) / (time of large - time of small).
std::optional<double> rateOf(const std::string &small, const std::string &large, double work,
                             DiagnosticSink &sink) {
  std::optional<double> a = timeOf(small, sink), b = timeOf(large, sink);
  if (!a || !b)
    return std::nullopt;
  return work / std::max(*b - *a, 1e-9);
}

} // namespace

int runCalibrate(int argc, char **argv) {
  FlagParser parser(toolName, "[-o CLUSTER.json] [--count=N]",
                    "Measures this machine's processor and what lies between "
                    "two devices of a process, and writes a cluster file.");
  std::string output;
  int64_t count = 2;
  parser.group("Output");
  parser.text("-o", "CLUSTER.json", "the file (default: the terminal)", output);
  parser.number("--count", "N", "CPU devices in it (default 2)", count, 1, 256);
  parser.exitCode(0, "measured");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;

  DiagnosticSink sink;
  constexpr int64_t smallSide = 128, largeSide = 512;
  std::optional<double> flops =
      rateOf(chain(productOf, smallSide, smallSide, 1, false),
             chain(productOf, largeSide, largeSide, 1, false),
             2.0 * (largeSide * largeSide * largeSide - smallSide * smallSide * smallSide), sink);
  // Read once, written once.
  constexpr int64_t rows = 8192, columns = 1024;
  std::optional<double> bandwidth =
      rateOf(chain(negationOf, rows, columns, 1, false),
             chain(negationOf, 2 * rows, columns, 1, false), 2.0 * rows * columns * 4, sink);
  // Products so small that they cost nothing but their launch.
  constexpr int shortChain = 2, longChain = 34;
  constexpr double more = longChain - shortChain;
  std::optional<double> launches = rateOf(chain(productOf, 2, 2, shortChain, false),
                                          chain(productOf, 2, 2, longChain, false), more, sink);
  std::optional<double> messages = rateOf(chain(productOf, 2, 2, shortChain, true),
                                          chain(productOf, 2, 2, longChain, true), more, sink);
  constexpr double hopBytes = 1024.0 * columns * 4;
  std::optional<double> works = rateOf(chain(negationOf, 1, columns, 1, false),
                                       chain(negationOf, 1024, columns, 1, false), 1, sink);
  std::optional<double> crossings =
      rateOf(chain(negationOf, 1024, columns, shortChain, true),
             chain(negationOf, 1024, columns, shortChain + 8, true), 8, sink);
  printDiagnostics(sink);
  if (!flops || !bandwidth || !launches || !messages || !works || !crossings)
    return 1;
  double overhead = 1 / *launches;
  double latency = std::max(1 / *messages - overhead, 1e-9);
  double transfer = std::max(1 / *crossings - latency - 1 / *works, 1e-9);

  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 1);
  auto round = [](double value) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.4g", value);
    return std::strtod(digits, nullptr);
  };
  json.object([&] {
    json.attributeArray("devices", [&] {
      for (int64_t i = 0; i < count; ++i)
        json.object([&] {
          json.attribute("name", "/job:localhost/replica:0/task:0/device:CPU:" + std::to_string(i));
          json.attribute("flops", round(*flops));
          json.attribute("bandwidth", round(*bandwidth));
          json.attribute("overhead", round(overhead));
        });
    });
    json.attributeArray("links", [&] {
      json.object([&] {
        json.attribute("from", "*");
        json.attribute("to", "*");
        json.attribute("bandwidth", round(hopBytes / transfer));
        json.attribute("latency", round(latency));
      });
    });
  });
  text += "\n";
  if (output.empty()) {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  std::error_code error;
  llvm::raw_fd_ostream file(output, error);
  if (error)
    return fail(output + ": cannot write it: " + error.message());
  file << text;
  file.close();
  if (file.has_error()) {
    file.clear_error();
    return fail(output + ": cannot write it");
  }
  return 0;
}

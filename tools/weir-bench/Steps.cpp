//===- Steps.cpp - weir-bench steps ---------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain of products over two devices, each of one thread: while the second
// works on one step, the first can work on the next. Steps a second, one after
// the other and several in flight, measured in turn.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Steps.h"

#include "tools/common/FlagParser.h"
#include "tools/common/LoadProgram.h"
#include "tools/common/Session.h"
#include "tools/common/Terminal.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-bench steps";

int fail(const std::string &message) {
  std::fprintf(stderr, "weir-bench: error W0853: %s\n", message.c_str());
  return 1;
}

/// `count` products on each device.
std::string chain(int64_t size, int count) {
  std::string type = "tensor<" + std::to_string(size) + "x" + std::to_string(size) + "xf32>";
  std::string body, requests;
  for (int i = 0; i < 2 * count; ++i) {
    std::string from = i ? "%v" + std::to_string(i - 1) : "%x";
    std::string node = "n" + std::to_string(i);
    body += "    %v" + std::to_string(i) + " = weir.dot_general " + from +
            ", %x {lhs_batch = array<i64>, rhs_batch = array<i64>, "
            "lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, "
            "accumulator = f32} : (" +
            type + ", " + type + ") -> " + type + " loc(\"" + node + "\")\n";
    requests += (i ? ", " : "") + node + " = \"/cpu:" + std::to_string(i < count ? 0 : 1) + "\"";
  }
  return "module {\n  func.func @main(%x: " + type + " {weir.name = \"x\"}) -> (" + type +
         " {weir.name = \"y\"}) attributes {weir.entry = \"main\", "
         "weir.device_requests = {" +
         requests + "}} {\n" + body + "    return %v" + std::to_string(2 * count - 1) + " : " +
         type + "\n  }\n}\n";
}

std::unique_ptr<LoadedModel> compile(const std::string &text, DiagnosticSink &sink) {
  llvm::SmallString<128> path;
  int descriptor = -1;
  if (llvm::sys::fs::createTemporaryFile("weir-steps", "mlir", descriptor, path)) {
    sink.report({"W0853", "", "", "", "no temporary file can be made", {}});
    return nullptr;
  }
  {
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out << text;
  }
  driver::Options options;
  options.input = path.str().str();
  options.name = "steps";
  std::unique_ptr<LoadedModel> model = loadProgram(options, sink);
  llvm::sys::fs::remove(path);
  return model;
}

/// Steps a second with `inFlight` callers; 0 after an error.
double rate(Session &session, HostTensor &input, int inFlight, int64_t steps) {
  std::atomic<int64_t> next = 0;
  std::atomic<bool> good = true;
  auto work = [&] {
    ViewStorage storage;
    std::vector<weir_tensor> feeds{viewOf(input, storage)}, fetches(1);
    while (next.fetch_add(1) < steps)
      if (!session.runRaw(0, feeds, fetches).ok())
        good = false;
    session.release(fetches);
  };
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> callers;
  for (int i = 1; i < inFlight; ++i)
    callers.emplace_back(work);
  work();
  for (std::thread &caller : callers)
    caller.join();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return good ? double(steps) / took.count() : 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

} // namespace

int runSteps(int argc, char **argv) {
  int64_t inFlight = 8, steps = 64, rounds = 5, size = 384;
  FlagParser parser(toolName, "[flags]",
                    "Measures several steps in flight over a chain of two "
                    "devices against one at a time.");
  parser.group("Measuring");
  parser.number("--in-flight", "N", "steps at once", inFlight, 1, 256);
  parser.number("--steps", "N", "steps a round", steps, 1, 1000000);
  parser.number("--rounds", "N", "rounds, of which medians are taken", rounds, 1, 1000);
  parser.number("--size", "N", "rows and columns of the products", size, 1, 16384);
  parser.exitCode(0, "measured");
  parser.exitCode(1, "an error was printed");
  int code = 0;
  if (!parser.parse(argc, argv, code))
    return code;
  DiagnosticSink sink;
  std::unique_ptr<LoadedModel> model = compile(chain(size, 4), sink);
  printDiagnostics(sink);
  if (!model)
    return 1;
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = 1;
  RunStatus status;
  std::unique_ptr<Session> session = Session::create(*model, options, status);
  if (!session)
    return fail("no session: " + status.text());
  HostTensor input;
  input.dtype = WEIR_F32;
  input.dims = {size, size};
  input.bytes.assign(size_t(size * size) * 4, 0);
  std::vector<double> one, many;
  for (int64_t round = 0; round <= rounds; ++round) {
    double a = rate(*session, input, 1, steps), b = rate(*session, input, int(inFlight), steps);
    if (a == 0 || b == 0)
      return fail("a run failed");
    if (round == 0)
      continue; // warms up
    one.push_back(a);
    many.push_back(b);
  }
  std::printf("one_at_a_time=%.1f in_flight_%lld=%.1f steps/s ratio=%.2f\n", median(one),
              static_cast<long long>(inFlight), median(many), median(many) / median(one));
  return 0;
}

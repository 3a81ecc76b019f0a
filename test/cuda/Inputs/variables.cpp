//===- variables.cpp - variables that a GPU keeps, by many at once -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// variables THREADS RUNS POOL: sessions of variables.mlir and failing-variables.mlir.
// First one by one: what the API reads, sets and resets, and what runs that fail
// leave. Then THREADS threads run entries of one session, whose pool has POOL
// threads, RUNS times each, some of which are given up on their way, while others of
// them read and set the same variables: each must find one whole value. With 0 threads: what a
// run leaves whose first call of some kind the driver refuses. Prints how many checks were
// made, and exits 1 where one fails.
//
//===----------------------------------------------------------------------===//

#include "variables.h"
#include "failing.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

using Floats = std::vector<float>;

static std::atomic<int> checks, wrong;

static void check(bool good, const char *what, const char *message = "") {
  ++checks;
  if (good)
    return;
  std::printf("wrong: %s %s\n", what, message);
  ++wrong;
}

static bool isAll(const Floats &values, float value) {
  return std::all_of(values.begin(), values.end(), [&](float each) { return each == value; });
}

class Session {
public:
  using Create = int32_t (*)(const weir_session_options *, weir_session **, weir_status *);

  Session(Create create, int pool) {
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.threads = pool;
    if (create(&options, &session, &status)) {
      std::printf("no session: %s\n", status.message);
      std::exit(1);
    }
  }
  ~Session() { weir_session_destroy(session); }

  /// Copies of a caller have a status of their own.
  int32_t run(const char *entry, std::vector<weir_tensor> feeds, std::vector<Floats> &results,
              weir_status &status, int64_t timeout = 0) {
    weir_run_options options = WEIR_RUN_OPTIONS_INIT;
    options.timeout_ns = timeout;
    std::vector<weir_tensor> fetches(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      fetches[i].data = results[i].data();
      fetches[i].bytes = int64_t(results[i].size() * sizeof(float));
    }
    return weir_session_run(session, weir_session_find_entry(session, entry), feeds.data(),
                            int32_t(feeds.size()), fetches.data(), int32_t(fetches.size()),
                            &options, &status);
  }
  Floats get(const char *name, size_t count) {
    weir_status status = WEIR_STATUS_INIT;
    Floats values(count, -77);
    weir_tensor tensor = {};
    tensor.data = values.data();
    tensor.bytes = int64_t(count * sizeof(float));
    check(!weir_session_get_variable(session, name, &tensor, &status), name, status.message);
    return values;
  }
  void set(const char *name, const Floats &values) {
    weir_status status = WEIR_STATUS_INIT;
    int64_t count = int64_t(values.size());
    weir_tensor tensor = make(WEIR_F32, {count}, values.data());
    check(!weir_session_set_variable(session, name, &tensor, &status), name, status.message);
  }
  static weir_tensor make(int32_t dtype, std::vector<int64_t> dims, const void *data) {
    weir_tensor tensor = {};
    tensor.data = const_cast<void *>(data);
    tensor.dtype = dtype;
    tensor.rank = int32_t(dims.size());
    tensor.bytes = weir_dtype_size(dtype);
    for (size_t i = 0; i < dims.size(); ++i) {
      tensor.dims[i] = dims[i];
      tensor.bytes *= dims[i];
    }
    return tensor;
  }

  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
};

/// One by one.
static void checkAlone(int pool) {
  Session s(variables_create, pool);
  check(isAll(s.get("sum", 1000), 1), "the initial value");
  weir_tensor tensor = {};
  check(weir_session_get_variable(s.session, "pattern", &tensor, &s.status) ==
            WEIR_FAILED_PRECONDITION,
        "no value");
  Floats three(1000, 3);
  std::vector<Floats> two = {Floats(1000), Floats(1000)}, one = {Floats(3000)};
  check(s.run("load", {}, one, s.status) == WEIR_FAILED_PRECONDITION &&
            std::strstr(s.status.message,
                        "\"load.read\" (Variable): variable \"pattern\" is read before"),
        "read before it was assigned", s.status.message);
  for (int i = 0; i < 3; ++i) {
    check(!s.run("add", {Session::make(WEIR_F32, {1000}, three.data())}, two, s.status), "add",
          s.status.message);
    check(isAll(two[0], float(1 + 3 * i)) && isAll(two[1], float(4 + 3 * i)), "sums");
  }
  check(isAll(s.get("sum", 1000), 10), "what runs have made");
  s.set("sum", Floats(1000, 100));
  check(!s.run("add", {Session::make(WEIR_F32, {1000}, three.data())}, two, s.status) &&
            isAll(two[1], 103),
        "what was set");
  // A checkpoint: another session begins with this one's values.
  Session other(variables_create, pool);
  other.set("sum", s.get("sum", 1000));
  check(isAll(other.get("sum", 1000), 103), "restored");
  check(!weir_session_reset(s.session, &s.status), "reset", s.status.message);
  check(isAll(s.get("sum", 1000), 1) && isAll(other.get("sum", 1000), 103), "reset to");
  Floats few(999, 1);
  tensor = Session::make(WEIR_F32, {999}, few.data());
  check(weir_session_set_variable(s.session, "sum", &tensor, &s.status) == WEIR_INVALID_ARGUMENT,
        "another shape");
  // What comes behind an assertion that fails.
  Floats five(600, 5);
  std::vector<Floats> out = {Floats(600)};
  for (char ok : {0, 1}) {
    int32_t code = s.run(
        "assert", {Session::make(WEIR_BOOL, {}, &ok), Session::make(WEIR_F32, {600}, five.data())},
        out, s.status);
    check(code == (ok ? 0 : WEIR_INVALID_ARGUMENT), "assertion", s.status.message);
    check(isAll(s.get("left", 600), 5) && isAll(s.get("right", 600), ok ? 5 : 4),
          "assigned before and behind an assertion");
  }
}

/// A kernel that fails between two assignments.
static void checkFailures(int pool) {
  Session s(failing_create, pool);
  std::vector<Floats> found = {Floats(240)};
  float before = 1, behind = 2;
  for (int bad : {1, 0, 1, 1, 0}) {
    std::vector<int32_t> indices(30, 3);
    indices[17] = bad ? 10 : 9;
    int32_t code = s.run("main", {Session::make(WEIR_I32, {30}, indices.data())}, found, s.status);
    check(code == (bad ? WEIR_OUT_OF_RANGE : 0) || (bad && code == WEIR_INVALID_ARGUMENT), "lookup",
          s.status.message);
    before += 1;
    if (!bad)
      behind = 5;
    check(isAll(s.get("before", 70), before), "assigned before a kernel that fails");
    check(isAll(s.get("behind", 240), behind), "not assigned behind it");
  }
}

/// What the driver refuses once changes nothing.
static void checkRefused(int pool) {
  Session s(variables_create, pool);
  Floats three(1000, 3);
  std::vector<Floats> two = {Floats(1000), Floats(1000)};
  for (int i : {0, 1}) {
    int32_t code = s.run("add", {Session::make(WEIR_F32, {1000}, three.data())}, two, s.status);
    check(code == (i ? 0 : WEIR_INTERNAL), "refused once", s.status.message);
    check(isAll(s.get("sum", 1000), i ? 4 : 1), "what it leaves");
  }
}

/// All at once.
static void checkTogether(int threads, int runs, int pool) {
  Session s(variables_create, pool);
  s.set("pattern", Floats(3000, -1));
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t) + 7);
      weir_status status = WEIR_STATUS_INIT;
      Floats summand(1000, float(t + 1));
      std::vector<Floats> two = {Floats(1000), Floats(1000)}, one = {Floats(3000)},
                          pair = {Floats(600), Floats(600)}, turned = {Floats(1000)};
      auto isWhole = [](const Floats &values) { return isAll(values, values[0]); };
      for (int i = 0; i < runs; ++i) {
        float mine = float(t * 1000 + i);
        // Every third run may be given up on its way.
        int64_t timeout = i % 3 ? 0 : 1 + int64_t(random() % 3000) * 1000;
        auto succeeds = [&](const char *entry, std::vector<weir_tensor> feeds,
                            std::vector<Floats> &results) {
          int32_t code = s.run(entry, std::move(feeds), results, status, timeout);
          check(!code || (timeout && code == WEIR_DEADLINE_EXCEEDED), entry, status.message);
          return code == 0;
        };
        switch (random() % 7) {
        case 0:
          if (succeeds("store", {Session::make(WEIR_F32, {}, &mine)}, one))
            check(isWhole(one[0]), "a whole value behind an assignment");
          break;
        case 1:
          if (succeeds("load", {}, one))
            check(isWhole(one[0]), "a whole value");
          break;
        case 2:
          check(isWhole(s.get("pattern", 3000)), "a whole value that is read");
          break;
        case 3:
          s.set("pattern", Floats(3000, mine));
          break;
        case 4:
          if (succeeds("add", {Session::make(WEIR_F32, {1000}, summand.data())}, two))
            check(isWhole(two[0]) && isWhole(two[1]), "whole sums");
          break;
        case 5:
          if (succeeds("swap", {}, pair))
            check(isWhole(pair[0]) && isWhole(pair[1]), "both whole");
          break;
        case 6:
          if (succeeds("turns", {Session::make(WEIR_F32, {1000}, summand.data())}, turned))
            check(isWhole(turned[0]), "whole turns");
        }
      }
    });
  for (std::thread &worker : workers)
    worker.join();
  // Alone again, a run sees all that was assigned.
  std::vector<Floats> one = {Floats(3000)};
  float last = 5;
  check(!s.run("store", {Session::make(WEIR_F32, {}, &last)}, one, s.status) &&
            isAll(s.get("pattern", 3000), 5),
        "the last one");
}

int main(int, char **argv) {
  int threads = std::atoi(argv[1]), runs = std::atoi(argv[2]), pool = std::atoi(argv[3]);
  if (threads) {
    checkAlone(pool);
    checkFailures(pool);
    checkTogether(threads, runs, pool);
  } else {
    checkRefused(pool);
  }
  std::printf("%d checks, %d wrong\n", checks.load(), wrong.load());
  return wrong != 0;
}

//===- updates.cpp - runs that count at a time ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: updates RUNS THREADS
//
// Each entry of updates.py's program is run RUNS times by each of four threads, in a session of
// THREADS, with those beside it whose variables it shares. What is missing of a variable then was
// lost. Prints a line for each form of which something was.
//
//===----------------------------------------------------------------------===//

#include "updates.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

static constexpr int callers = 4;
static int failures = 0;

static void fail(const char *what, const char *why) {
  std::printf("%s: %s\n", what, why);
  ++failures;
}

/// What one run adds to the variable.
static int64_t addedBy(const std::string &entry) {
  size_t mark = entry.rfind('_');
  return mark != std::string::npos && mark + 2 == entry.size() ? std::atoi(&entry[mark + 1]) : 1;
}

/// The least and the greatest element.
static bool valueOf(weir_session *session, const char *name, int64_t (&ends)[2]) {
  weir_tensor value = {};
  weir_status status = WEIR_STATUS_INIT;
  if (weir_session_get_variable(session, name, &value, &status)) {
    fail(name, status.message);
    return false;
  }
  bool isFloat = value.dtype == WEIR_F32;
  int64_t count = value.bytes / (isFloat ? 4 : 8);
  for (int64_t i = 0; i < count; ++i) {
    int64_t is = isFloat ? int64_t(static_cast<const float *>(value.data)[i])
                         : static_cast<const int64_t *>(value.data)[i];
    ends[0] = i ? std::min(ends[0], is) : is;
    ends[1] = i ? std::max(ends[1], is) : is;
  }
  weir_session_release(session, &value);
  return true;
}

static void run(weir_session *session, int entry, int runs, std::atomic<int> *wrong) {
  weir_tensor fetches[4] = {};
  int count = weir_program_fetch_count(weir_session_program(session), entry);
  for (int i = 0; i < runs; ++i) {
    weir_status status = WEIR_STATUS_INIT;
    if (weir_session_run(session, entry, nullptr, 0, fetches, count, nullptr, &status) &&
        wrong->fetch_add(1) == 0)
      std::printf("entry %d: %s\n", entry, status.message);
  }
  for (int i = 0; i < count; ++i)
    weir_session_release(session, &fetches[i]);
}

int main(int argc, char **argv) {
  int runs = argc > 1 ? std::atoi(argv[1]) : 300;
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = argc > 2 ? std::atoi(argv[2]) : 1;
  weir_status status = WEIR_STATUS_INIT;
  weir_session *session = nullptr;
  if (updates_create(&options, &session, &status)) {
    fail("create", status.message);
    return 1;
  }
  const weir_program_desc *program = weir_session_program(session);
  std::map<std::string, int> entries;
  for (int i = 0; i < weir_program_entry_count(program); ++i)
    entries[weir_program_entry_name(program, i)] = i;
  std::atomic<int> wrong = 0;
  run(session, entries["start"], 1, &wrong);
  for (auto &[name, entry] : entries) {
    if (name == "start")
      continue;
    // Two entries count in both of their variables.
    bool isPair = name == "left_2" || name == "right_2";
    int beside = name == "left_2" ? entries["right_2"] : entry;
    if (name == "right_2")
      continue;
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; ++t)
      threads.emplace_back(run, session, t % 2 ? beside : entry, runs, &wrong);
    for (std::thread &thread : threads)
      thread.join();
    int64_t all = int64_t(callers) * runs * (isPair ? 1 : addedBy(name));
    std::vector<const char *> counted = {name.c_str()};
    if (isPair)
      counted.push_back("right_2");
    for (const char *each : counted) {
      int64_t ends[2] = {};
      if (!valueOf(session, each, ends))
        continue;
      if (ends[0] != all || ends[1] != all) {
        std::printf("%s: %lld to %lld of %lld\n", each, static_cast<long long>(ends[0]),
                    static_cast<long long>(ends[1]), static_cast<long long>(all));
        ++failures;
      }
    }
  }
  failures += wrong != 0;
  weir_session_destroy(session);
  std::printf("%d failures\n", failures);
  return failures != 0;
}

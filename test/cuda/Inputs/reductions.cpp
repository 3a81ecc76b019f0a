//===- reductions.cpp - many runs of one session that reduce ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// reductions THREADS RUNS POOL [DEADLINE_US]: THREADS threads run entries of one
// session, whose pool has POOL threads, RUNS times each. What succeeds must have the
// bits of a session that ran alone: of two GPUs a reduction has one order. Every
// second run may be given up to DEADLINE_US. Prints what came of them, and exits 1
// where something else did than a result, a deadline, or NCCL's failure.
//
//===----------------------------------------------------------------------===//

#include "reductions.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

static constexpr int rows = 30, columns = 50, mostFetches = 8;
using Results = std::vector<std::vector<float>>;

static std::atomic<int> good, late, failed, wrong;

static int32_t run(weir_session *session, bool isChain, const std::vector<float> &input,
                   Results &results, const weir_run_options *options, weir_status *status) {
  weir_tensor feed = reductions_chain_a_tensor(input.data());
  weir_tensor fetches[mostFetches] = {};
  results.assign(isChain ? 2 : mostFetches, std::vector<float>(rows * columns));
  for (size_t i = 0; i < results.size(); ++i)
    fetches[i] = reductions_chain_out0_tensor(results[i].data());
  return isChain ? reductions_chain(session, &feed, fetches, options, status)
                 : reductions_f32(session, &feed, fetches, options, status);
}

static weir_session *makeSession(int pool) {
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = pool;
  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  if (reductions_create(&options, &session, &status)) {
    std::printf("no session: %s\n", status.message);
    std::exit(1);
  }
  return session;
}

int main(int argc, char **argv) {
  int threads = std::atoi(argv[1]), runs = std::atoi(argv[2]), pool = std::atoi(argv[3]);
  int deadline = argc > 4 ? std::atoi(argv[4]) : 0;
  std::vector<float> input(rows * columns);
  std::mt19937 random(1);
  for (float &x : input)
    x = float(random() % 2048) / 1024 - 1;
  // By the host, which computes what GPUs without NCCL do.
  Results want[2];
  weir_status status = WEIR_STATUS_INIT;
  setenv("WEIR_CUDA", "off", 1);
  weir_session *session = makeSession(1);
  for (bool isChain : {false, true})
    if (run(session, isChain, input, want[isChain], nullptr, &status)) {
      std::printf("alone: %s\n", status.message);
      return 1;
    }
  reductions_destroy(session);
  setenv("WEIR_CUDA", "require", 1);
  session = makeSession(pool);
  std::string message;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      std::mt19937 own(static_cast<unsigned>(t) + 7);
      for (int i = 0; i < runs; ++i) {
        bool isChain = own() % 2;
        weir_run_options options = WEIR_RUN_OPTIONS_INIT;
        if (deadline && i % 2)
          options.timeout_ns = 1 + int64_t(own() % unsigned(deadline)) * 1000;
        Results got;
        weir_status status = WEIR_STATUS_INIT;
        int32_t code = run(session, isChain, input, got, &options, &status);
        double apart = 0;
        for (size_t k = 0; !code && k < got.size(); ++k)
          for (size_t j = 0; j < got[k].size(); ++j)
            apart = std::max(apart, double(std::abs(got[k][j] - want[isChain][k][j])));
        // The chain's functions are the GPU's own: some units in the last place of
        // numbers below 4.
        if (!code && apart <= (isChain ? 32 * 4 * 0x1p-24 : 0)) {
          ++good;
        } else if (code == WEIR_DEADLINE_EXCEEDED && options.timeout_ns) {
          ++late;
        } else if (code == WEIR_INTERNAL && std::strstr(status.message, "NCCL")) {
          std::printf("%s\n", status.message);
          ++failed;
        } else {
          std::printf("wrong: %s, %g apart\n", status.message, apart);
          ++wrong;
        }
      }
    });
  for (std::thread &worker : workers)
    worker.join();
  reductions_destroy(session);
  std::printf("%d good, %d late, %d failed, %d wrong\n", good.load(), late.load(), failed.load(),
              wrong.load());
  return wrong != 0;
}

//===- allreduce_gloo.cpp - Gloo's all-reduce by size ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// usage: allreduce_gloo FOLDER RANK RANKS LARGEST ADDRESS
//
// Prints bytes and microseconds of gloo::allreduce of floats over TCP (what torch.distributed's
// backend "gloo" calls), medians of rounds of eight. Processes find each other by files in FOLDER;
// ADDRESS is this one's.

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

int main(int argc, char **argv) {
  if (argc != 6)
    return 1;
  constexpr int rounds = 11, row = 8;
  int rank = atoi(argv[2]), ranks = atoi(argv[3]);
  long largest = atol(argv[4]);
  gloo::rendezvous::FileStore store(argv[1]);
  gloo::transport::tcp::attr attributes;
  attributes.hostname = argv[5];
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  for (long bytes = 1024; bytes <= largest; bytes *= 4) {
    std::vector<float> from(size_t(bytes / 4)), to(size_t(bytes / 4));
    gloo::AllreduceOptions options(context);
    options.setInput(from.data(), from.size());
    options.setOutput(to.data(), to.size());
    options.setReduceFunction(
        [](void *c, const void *a, const void *b, size_t n) { gloo::sum<float>(c, a, b, n); });
    gloo::BarrierOptions together(context);
    std::vector<double> seconds;
    for (int i = -1; i < rounds; ++i) {
      gloo::barrier(together);
      auto begin = std::chrono::steady_clock::now();
      for (int k = 0; k < row; ++k)
        gloo::allreduce(options);
      std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (i >= 0)
        seconds.push_back(took.count() / row);
    }
    std::sort(seconds.begin(), seconds.end());
    if (rank == 0)
      std::printf("%ld %.1f\n", bytes, seconds[rounds / 2] * 1e6);
  }
  return 0;
}

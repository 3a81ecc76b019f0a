//===- Direct.cpp - feeds and fetches in the GPU's memory -- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Direct.h"

#include <algorithm>

namespace weir::gpucheck {

static bool refuses(const std::pair<int32_t, std::string> &end) {
  return end.first == WEIR_INVALID_ARGUMENT &&
         end.second.find("memory of a GPU") != std::string::npos;
}

Direct::~Direct() {
  for (size_t i = 0; i < fetches.size(); ++i)
    if (!fetchesThere[i])
      weir_session_release(session, &fetches[i]);
  for (uint64_t data : memory)
    gpu.api->memFree(data);
}

bool Direct::put(uint8_t &flag, weir_tensor &tensor, int64_t bytes) {
  uint64_t data = 0;
  if (bytes <= 0 || gpu.api->memAlloc(&data, size_t(bytes + 15) / 16 * 16) != 0)
    return false;
  memory.push_back(data);
  tensor.data = reinterpret_cast<void *>(data);
  tensor.bytes = bytes;
  flag = 1;
  return true;
}

int Direct::place(std::vector<Feed> &feeds, const std::vector<int64_t> &sizes) {
  for (Feed &feed : feeds)
    given.push_back(feed.tensor);
  fetches.resize(sizes.size());
  feedsThere.resize(given.size() + 1);
  fetchesThere.resize(fetches.size() + 1);
  // A run that refuses says so before it begins.
  for (size_t i = 0; i < given.size(); ++i) {
    weir_tensor before = given[i];
    if (!put(feedsThere[i], given[i], before.bytes))
      continue;
    // What the stream does comes before the run.
    gpu.api->copyInAsync(uint64_t(given[i].data), before.data, size_t(before.bytes), gpu.stream);
    if (refuses(runOnce())) {
      feedsThere[i] = 0;
      given[i] = before;
    }
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    weir_session_release(session, &fetches[i]);
    if (!put(fetchesThere[i], fetches[i], sizes[i]))
      continue;
    if (refuses(runOnce())) {
      fetchesThere[i] = 0;
      fetches[i] = {};
    }
  }
  return int(std::count(feedsThere.begin(), feedsThere.end(), 1) +
             std::count(fetchesThere.begin(), fetchesThere.end(), 1));
}

int32_t Direct::start(Waiter &waiter, weir_status &status) {
  options.feeds_on_gpu = feedsThere.data();
  options.fetches_on_gpu = fetchesThere.data();
  options.cuda_stream = gpu.stream;
  options.trace = trace;
  return weir_session_run_async(session, entry, given.data(), int32_t(given.size()), fetches.data(),
                                int32_t(fetches.size()), &options, Waiter::tell, &waiter, &status);
}

std::pair<int32_t, std::string> Direct::runOnce() {
  Waiter waiter;
  weir_status status = WEIR_STATUS_INIT;
  if (start(waiter, status))
    return {status.code, status.message};
  waiter.wait();
  return {waiter.code, waiter.message};
}

weir_tensor Direct::read(size_t fetch, std::vector<uint64_t> &words) {
  weir_tensor value = fetches[fetch];
  if (!fetchesThere[fetch])
    return value;
  words.assign(size_t(value.bytes) / 8 + 1, 0);
  gpu.api->copyOutAsync(words.data(), uint64_t(value.data), size_t(value.bytes), gpu.stream);
  gpu.api->streamSynchronize(gpu.stream);
  value.data = words.data();
  return value;
}

std::vector<int64_t> sizesOf(const Outcome &outcome) {
  std::vector<int64_t> sizes;
  for (const weir_tensor &fetch : outcome.fetches)
    sizes.push_back(fetch.bytes);
  return sizes;
}

} // namespace weir::gpucheck

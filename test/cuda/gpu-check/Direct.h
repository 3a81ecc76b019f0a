//===- Direct.h - feeds and fetches in the GPU's memory ---- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_GPU_CHECK_DIRECT_H
#define WEIR_TEST_CUDA_GPU_CHECK_DIRECT_H

#include "Support.h"

#include <utility>

namespace weir::gpucheck {

/// An entry's tensors, in the GPU's memory where that is possible, and runs with
/// them in a stream of the caller's. One run at a time.
class Direct {
public:
  /// All must outlive it.
  Direct(weir_session *session, int32_t entry, Gpu &gpu)
      : session(session), entry(entry), gpu(gpu) {}
  /// Gives memory back; no run may be in progress.
  ~Direct();
  Direct(const Direct &) = delete;
  Direct &operator=(const Direct &) = delete;

  /// Copies feeds to the GPU, and finds out by runs which of them, and of fetches of
  /// `sizes` bytes, a run takes there. Returns how many.
  int place(std::vector<Feed> &feeds, const std::vector<int64_t> &sizes);

  /// Begins a run; `waiter` hears of its end. Not 0: there is none.
  int32_t start(Waiter &waiter, weir_status &status);
  /// A whole run: its code and message.
  std::pair<int32_t, std::string> runOnce();
  /// The value of a fetch; `words` keeps what lay on the GPU.
  weir_tensor read(size_t fetch, std::vector<uint64_t> &words);

  std::vector<weir_tensor> given, fetches;
  std::vector<uint8_t> feedsThere, fetchesThere; ///< one more than there are tensors
  const weir_trace *trace = nullptr;

private:
  bool put(uint8_t &flag, weir_tensor &tensor, int64_t bytes);

  weir_session *session;
  int32_t entry;
  Gpu &gpu;
  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  std::vector<uint64_t> memory;
};

/// The sizes of an outcome's fetches.
std::vector<int64_t> sizesOf(const Outcome &outcome);

} // namespace weir::gpucheck

#endif // WEIR_TEST_CUDA_GPU_CHECK_DIRECT_H

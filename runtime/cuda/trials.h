//===- trials.h - times what libraries propose -------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A library's heuristics put the likeliest way first, and know neither this GPU's
// clocks nor what else is on it. Where a person asks for it, the first few ways are
// timed, and the fastest is kept in the file of choices: which one that is may
// differ from time to time, and with it the last bits of results, until it is in
// the file.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_TRIALS_H
#define WEIR_RUNTIME_CUDA_TRIALS_H

#include "cuda/driver_api.h"

namespace weir::rt::cuda {

struct CudaDevice;

/// How many of a library's ways are timed, at most `mostTrials`: $WEIR_CUDA_TUNE. 0:
/// none, the first that works is taken.
int32_t wantedTrials();
inline constexpr int32_t mostTrials = 32;

/// Times work of one problem on a stream of its own, with memory of its own beside the
/// allocator's; both go with it. Used by one thread. The device's context is current.
class Trials {
public:
  explicit Trials(const CudaDevice &device);
  ~Trials();
  Trials(const Trials &) = delete;
  Trials &operator=(const Trials &) = delete;

  /// Memory that has small normal numbers of any float type; 0 where none is wanted, and
  /// where there is none, which isUsable tells.
  Pointer take(int64_t bytes);
  bool isUsable() const { return usable; }

  /// Median time of `put`, which puts the work into `stream` and returns 0, in
  /// milliseconds, with nothing of its operands in the second-level cache. Negative: it
  /// cannot be put, or fails.
  float time(int32_t (*put)(void *data, Stream stream), void *data);

  /// Whether a way is worth taking in place of one that the library likes better: it
  /// is faster by more than times scatter.
  static bool isFaster(float time, float best) {
    return time >= 0 && (best < 0 || time < 0.97f * best);
  }

private:
  float timeOnce(int32_t (*put)(void *data, Stream stream), void *data);

  static constexpr int32_t mostPieces = 16;
  const CudaDevice &device;
  Stream stream = nullptr;
  Event begin = nullptr, end = nullptr;
  Pointer pieces[mostPieces];
  int32_t count = 0;
  Pointer flushed = 0; ///< memory as large as the cache
  size_t flushedBytes = 0;
  bool usable = true;
};

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_TRIALS_H

//===- Support.h - tensors, runs, and the driver ------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_GPU_CHECK_SUPPORT_H
#define WEIR_TEST_CUDA_GPU_CHECK_SUPPORT_H

#include "cuda/driver_api.h"
#include "weir/plugin.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace weir::gpucheck {

using Clock = std::chrono::steady_clock;

inline double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

struct Feed {
  std::vector<uint64_t> words;
  weir_tensor tensor = {};
};

struct FeedKind {
  int64_t open = 2;      ///< what sizes are that the entry leaves open
  uint64_t integers = 3; ///< integers are below
};

/// Random feeds, equal in every call; false: some cannot be made. `isOpen`, if given,
/// is set where there are open sizes.
bool makeFeeds(const weir_program_desc *program, int32_t entry, std::vector<Feed> &feeds,
               const FeedKind &kind = {}, bool *isOpen = nullptr);

/// Elements as doubles, and what their type allows; false: a type that is compared
/// byte by byte.
bool toDoubles(const weir_tensor &tensor, std::vector<double> &values, double &tolerance);

/// What a type's tolerance is a share of.
enum class Closeness {
  Elements, ///< each element, and a twentieth of the largest
  /// The norm of the tensor, and for each element the largest: networks in f16 and
  /// bf16 round again and again, and a small sum of large numbers is off by theirs.
  Norm
};

/// "" or the first difference.
std::string compare(const weir_tensor &got, const weir_tensor &want,
                    Closeness closeness = Closeness::Elements);

struct Outcome {
  int32_t code = 0;
  std::string message;
  std::vector<weir_tensor> fetches; ///< the session's, until `release`
  std::vector<double> times;        ///< microseconds, a run each
};

/// Runs an entry `repeat` times, or until one fails, and waits for each.
Outcome run(const weir_plugin &plugin, weir_session *session, int32_t entry,
            std::vector<Feed> &feeds, int repeat);
void release(const weir_plugin &plugin, weir_session *session, Outcome &outcome);

struct OpenOptions {
  std::string weights;  ///< "": none, or beside the program
  int64_t gpuLimit = 0; ///< bytes for a GPU, 0: none. With one nothing waits for memory.
};

struct Opened {
  weir_session *session = nullptr; ///< null: see below
  int32_t code = 0;
  std::string message;
};

/// A session of two threads with $WEIR_CUDA as `policy`. Not thread-safe: it sets
/// variables of the environment.
Opened open(const weir_plugin &plugin, const char *policy, const OpenOptions &asked = {});

/// The first GPU, with its context on the thread that makes this, and a stream of
/// the caller's.
struct Gpu {
  const rt::cuda::Driver *api = nullptr;
  bool usable = false;
  rt::cuda::Device device = 0;
  rt::cuda::Stream stream = nullptr;

  Gpu();
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;
};

/// The end of a run that nobody waits for.
struct Waiter {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int32_t code = 0;
  std::string message;

  static void tell(void *self, const weir_status *status);
  void wait();
};

} // namespace weir::gpucheck

#endif // WEIR_TEST_CUDA_GPU_CHECK_SUPPORT_H

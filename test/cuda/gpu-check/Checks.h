//===- Checks.h - an entry on the GPU and on the host ------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_GPU_CHECK_CHECKS_H
#define WEIR_TEST_CUDA_GPU_CHECK_CHECKS_H

#include "Support.h"

namespace weir::gpucheck {

/// How much of each is done.
struct Counts {
  int repeat = 20;      ///< runs that are timed
  int concurrent = 100; ///< runs from four threads, in all
  int limits = 4;       ///< places where the GPU's memory ends
};

struct Case {
  const weir_plugin *plugin;
  int32_t entry;
  std::string weights; ///< "": within the program
  FeedKind kind = {};
  Closeness closeness = Closeness::Elements;
};

/// Runs an entry on the host and on the GPU: once, from four threads at once, with
/// many sizes, with tensors in the GPU's memory, with too little memory. Returns "",
/// "skipped" for feeds that cannot be made, or what is wrong; `note` gets figures.
std::string checkEntry(const Case &tested, weir_session *host, weir_session *gpu, Gpu &driver,
                       const Counts &counts, std::string &note);

/// `runs` runs of an entry from four threads; all must come to `want`.
std::string checkConcurrent(const Case &tested, weir_session *gpu, std::vector<Feed> &feeds,
                            const Outcome &want, int runs);

/// Sessions whose GPU has from next to none to nearly all of the memory that a run
/// takes, in `places` steps. A session or a run ends in RESOURCE_EXHAUSTED, a run's
/// with the name of a node or of the planned arena, or the result is right; the next run
/// of a session with enough memory is right. `note` gets how many ended so, and at how
/// many nodes (the arena is one).
std::string checkMemory(const Case &tested, std::vector<Feed> &feeds, const Outcome &want,
                        int places, std::string &note);

/// "" or the first difference between outcomes.
std::string compareAll(const Outcome &got, const Outcome &want, Closeness closeness);

} // namespace weir::gpucheck

#endif // WEIR_TEST_CUDA_GPU_CHECK_CHECKS_H

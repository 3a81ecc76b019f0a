//===- TuneSearch.h - which tiles are tried on which kernel -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy of --tune, which knows neither compilers nor clocks: a climb over the
// choices of each kernel, one thing changed at a time. Trials go to kernels by the
// time that they take.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_TUNESEARCH_H
#define WEIR_COMPILER_DRIVER_TUNESEARCH_H

#include "compiler/codegen/cpu/schedule/TileChoice.h"

#include <vector>

namespace weir::driver {

/// A kernel, and what has been found of it.
struct TuneTask {
  double launches = 1; ///< of a run
  double seconds = 0;  ///< of a launch: an estimate, then what was measured
  TileChoice first;    ///< what the search begins with
  TileChoice present;  ///< the best so far
  /// Of a launch with `first` and with `present`, measured in turn at the end;
  /// 0: `present` is `first`.
  double before = 0, after = 0;
};

struct TrialResult {
  enum class Kind {
    Measured,
    Same, ///< both come to the same code: nothing was run
    Lost, ///< one cannot be compiled or run
  };
  Kind kind = Kind::Lost;
  double from = 0, to = 0; ///< seconds of a launch
};

/// What a search asks for.
class TuneTrials {
public:
  virtual ~TuneTrials() = default;
  /// What can be tried from a choice on, the likely ones first.
  virtual std::vector<TileChoice> moves(size_t task, const TileChoice &from) = 0;
  /// Runs a kernel with two choices, in turn.
  virtual TrialResult measure(size_t task, const TileChoice &from, const TileChoice &to) = 0;
};

/// A choice is taken when it needs at most this share of the time, twice.
inline constexpr double clearWin = 0.98;

/// Searches with at most `steps` trials. Runs that confirm, and choices that come to
/// the same code, are none.
void searchTiles(std::vector<TuneTask> &tasks, int steps, TuneTrials &trials);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_TUNESEARCH_H

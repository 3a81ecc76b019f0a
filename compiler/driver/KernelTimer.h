//===- KernelTimer.h - how long kernels run ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_KERNELTIMER_H
#define WEIR_COMPILER_DRIVER_KERNELTIMER_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weir::driver {

/// A compiled kernel, and what it works on.
struct TimedKernel {
  /// As the runtime calls it.
  using Function = int32_t(void *context, void *const *buffers, const int64_t *dims, int64_t begin,
                           int64_t end);
  struct Buffer {
    int64_t bytes = 0;
    bool isConstant = false;
  };
  Function *function = nullptr;
  std::vector<Buffer> buffers; ///< operands, then results
  int64_t range = 0;
};

/// Seconds of processor time that two kernels need for their whole range, on one
/// thread of a child process: medians of runs in turn, on made-up data. Constants are
/// read from beyond the second-level cache, as in a program whose other kernels have
/// run in between. Nothing where the child crashes, hangs or an error comes back.
std::optional<std::pair<double, double>> timeInTurn(const TimedKernel &a, const TimedKernel &b);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_KERNELTIMER_H

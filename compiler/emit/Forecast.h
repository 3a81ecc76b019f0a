//===- Forecast.h - what accelerators' kernels should take -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_FORECAST_H
#define WEIR_COMPILER_EMIT_FORECAST_H

#include <string>
#include <vector>

namespace weir {

/// What an accelerator's kernel does in one launch, and the least time of that on devices of the
/// kind.
struct KernelForecast {
  std::string arithmetic;                     ///< what products are computed in
  double products = 0, others = 0, bytes = 0; ///< operations of products, and all others
  struct Time {
    std::string device;
    double microseconds = 0;
    bool isByMemory = false; ///< else by operations
  };
  std::vector<Time> devices;
};

} // namespace weir

#endif // WEIR_COMPILER_EMIT_FORECAST_H

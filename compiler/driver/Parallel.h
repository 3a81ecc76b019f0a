//===- Parallel.h - how devices share a training step ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_PARALLEL_H
#define WEIR_COMPILER_DRIVER_PARALLEL_H

#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Work.h"

namespace weir::driver {

/// With --parallel=auto: marks the module's training step for the way of sharing it over the
/// cluster's devices that ends soonest by the cost model; the report has all ways. Nothing
/// without. Before the simplify stage. False, with W0421, where there is no way.
bool chooseParallel(Work &work, Pipeline &pipeline);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_PARALLEL_H

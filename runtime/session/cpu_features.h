//===- cpu_features.h - what this processor can do --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_CPU_FEATURES_H
#define WEIR_RUNTIME_SESSION_CPU_FEATURES_H

#include <stdint.h>

namespace weir::rt {

/// The WEIR_CPU_… features that the processor has and the system lets us use.
/// Asks for the permission that AMX needs when `wanted` has an AMX feature.
uint64_t usableCpuFeatures(uint64_t wanted);

/// Name of one feature, as --cpu spells it.
const char *cpuFeatureName(int bit);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_CPU_FEATURES_H

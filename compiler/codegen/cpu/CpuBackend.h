//===- CpuBackend.h - CPUs as a kind of device -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_CPUBACKEND_H
#define WEIR_COMPILER_CODEGEN_CPU_CPUBACKEND_H

#include "compiler/codegen/device/DeviceBackend.h"

namespace weir {

/// The host: its steps run the program, and its strategies (schedule/Strategy.h) compute
/// kernels, those of accelerators that are missing, too. Lives as long as the process.
const DeviceBackend &cpuBackend();

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_CPUBACKEND_H

//===- KernelSchedules.cpp - how the host computes kernels ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/KernelSchedules.h"
#include "passes/analysis/DeviceKind.h"

using namespace weir;

const KernelSchedules *weir::hostSchedules() {
  const DeviceKind *host = hostKind();
  return host ? host->schedules() : nullptr;
}

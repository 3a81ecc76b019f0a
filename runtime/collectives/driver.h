//===- driver.h - what computes collectives of a run ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table that a program with collectives names. Sessions reach it through the
// program alone, so that others link nothing of it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_COLLECTIVES_DRIVER_H
#define WEIR_RUNTIME_COLLECTIVES_DRIVER_H

#include "weir/abi.h"

struct weir_collective_driver {
  uint32_t size, reserved;
  /// Steps of the run are about to begin: prepares the parts that this task's devices
  /// have in the entry's collectives. Each ends before the run does. Errors end the run.
  void (*begin)(weir_run *run);
};

extern "C" const weir_collective_driver weir_collectives;

#endif // WEIR_RUNTIME_COLLECTIVES_DRIVER_H

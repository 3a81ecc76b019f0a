//===- DeviceKernel.h - code of accelerators' kernels -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_DEVICEKERNEL_H
#define WEIR_COMPILER_EMIT_DEVICEKERNEL_H

#include <cstdint>
#include <string>

namespace weir {

/// A function of an accelerator's image that does a kernel's work, for one architecture. Numbers
/// are what the kind's assembler says of it; -1: it says nothing.
struct DeviceKernel {
  std::string architecture, function;
  std::string assembly;    ///< what the compiler wrote: PTX
  std::string machine;     ///< the machine's instructions, SASS; empty: nothing here reads them
  int64_t registers = -1;  ///< of a thread
  int64_t stackBytes = -1; ///< of a thread
  int64_t spillStoreBytes = -1, spillLoadBytes = -1; ///< of a thread, in the code
  int64_t sharedBytes = -1;                          ///< of a block, without what a launch adds
  int64_t constantBytes = -1;
};

} // namespace weir

#endif // WEIR_COMPILER_EMIT_DEVICEKERNEL_H

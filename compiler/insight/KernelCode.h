//===- KernelCode.h - machine code of kernels, to be read -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads functions back from an object, archive or shared object that was written: what is shown
// is what runs, whether it was made just now or came from the cache of kernels.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_KERNELCODE_H
#define WEIR_COMPILER_INSIGHT_KERNELCODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <string>

namespace weir::insight {

/// A function of the machine.
struct KernelCode {
  int64_t bytes = 0, instructions = 0;
  int64_t registers = 0, vectorRegisters = 0, maskRegisters = 0; ///< that it names, of each kind
  /// Stores to places in its own frame that it reads back by a fixed address, and those reads;
  /// -1: not told of this processor. Buffers of which it takes the address do not count.
  int64_t spills = -1, reloads = -1;
  int64_t frameBytes = -1; ///< that it takes of the stack at once; -1: not told
  std::string assembly;    ///< a line an instruction, which begins with its offset
};

/// The functions of an ELF file with such names; names that it does not have are left out. Of an
/// archive its first member is read. A kernel that jumps to a body that it shares with others is
/// that body. The names of what is called stand where the file tells them.
llvm::Expected<std::map<std::string, KernelCode>> readKernelCode(llvm::StringRef path,
                                                                 const llvm::StringSet<> &symbols);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_KERNELCODE_H

//===- Descriptors.h - read-only data that describes a program --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds to an LLVM module what an object needs besides its code:
// weir_program_desc and all it points to (weir/abi.h), and the few C functions
// that programs call. Nothing of it runs before main.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_DESCRIPTORS_H
#define WEIR_COMPILER_EMIT_DESCRIPTORS_H

#include "compiler/emit/Program.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace weir {

struct DescriptorOptions {
  std::string compiler;    ///< version of weirc
  std::string weightsFile; ///< non-empty: constants are not in the object
  /// Adds weir_plugin (weir/plugin.h), by which programs that do not know the
  /// model's name use a shared object.
  bool plugin = false;
  std::string cpu; ///< non-empty: one of several processors that there is code for
  /// Of the one descriptor that users see: symbols of those for other
  /// processors, the most demanding first.
  std::vector<std::string> variants;
  /// Non-empty: the descriptor is one of these, under this name. It has no
  /// functions, and refers to constants that another unit of the object defines.
  std::string symbol;
};

/// `text` as a C identifier: other characters become '_', a digit in front gets
/// one, a keyword of C or C++ gets one behind it. Never empty.
std::string cIdentifier(llvm::StringRef text);

/// A name for the section with the constants: from 1 GiB on it is one that
/// linkers put where nothing else must be near.
llvm::StringRef blobSectionName(int64_t blobBytes);

/// Builds the descriptor and functions, and hides every other definition of the
/// module. The module must define the steps that the program names. When the
/// program has constants, their section holds one byte that stands for them:
/// writeObject (ElfObject.h) puts them there.
llvm::Error emitDescriptors(const Program &program, const DescriptorOptions &options,
                            llvm::Module &module);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_DESCRIPTORS_H

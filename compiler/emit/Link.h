//===- Link.h - archives and shared objects ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_LINK_H
#define WEIR_COMPILER_EMIT_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace weir {

/// Writes a static library that holds one object, without times or owners: the
/// same bytes for the same object. `member` is the object's name in it.
llvm::Error writeArchive(llvm::StringRef object, llvm::StringRef member, llvm::StringRef archive);

struct SharedObjectOptions {
  /// libweir_runtime.a, linked in and hidden; empty: left undefined.
  std::string runtimeLibrary;
  /// Archives beside it (runtimeArchives) whose kernels stand in for the runtime's.
  std::vector<std::string> runtimeArchives;
  std::vector<std::string> exports; ///< all other symbols are hidden
  std::string soname;
};

/// Whether linkSharedObject uses LLVM's linker.
bool linksByLld();

/// Links an object into a shared one with the system's compiler driver
/// (clang-22, clang, gcc or cc, the first that is there).
llvm::Error linkSharedObject(llvm::StringRef object, llvm::StringRef output,
                             const SharedObjectOptions &options);

/// Names of the archives whose kernels stand in for the runtime's where a user asks for
/// them: "text" (regular expressions by RE2), "linalg" (decompositions by LAPACK).
std::vector<std::string> runtimeArchives();

/// Finds libweir_runtime.a: `given`, or beside the running program
/// (../lib, ../lib/*-linux-gnu), or where the build put it.
llvm::Expected<std::string> findRuntimeLibrary(llvm::StringRef given);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_LINK_H

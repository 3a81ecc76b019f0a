//===- CodeCache.h - machine code of earlier compilations -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_CODECACHE_H
#define WEIR_COMPILER_EMIT_CODECACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace weir {

/// A folder of objects, each under the hash of what it was made from. Any number
/// of processes and threads may use one folder: a file gets its name when it is
/// whole, and one that is damaged all the same is not believed. What cannot be
/// read or written is as if it were not there; nothing here is an error.
/// Thread-safe.
class CodeCache {
public:
  /// `limit`: bytes that the folder is cut down to, the longest unused first.
  CodeCache(std::string folder, int64_t limit);

  bool find(llvm::StringRef key, llvm::SmallVectorImpl<char> &bytes);
  void store(llvm::StringRef key, llvm::ArrayRef<char> bytes);
  void prune();

  static constexpr int64_t defaultLimit = int64_t(256) << 20;
  /// $XDG_CACHE_HOME/weir, or .cache/weir in the home folder; "" without either.
  static std::string defaultFolder();

private:
  std::string pathOf(llvm::StringRef key) const;

  std::string folder;
  int64_t limit;
};

} // namespace weir

#endif // WEIR_COMPILER_EMIT_CODECACHE_H

//===- choice_file.h - what a library chose, kept in a file -- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A text file: a first line that names GPU, driver and library, then a line for
// each problem, "problem = words in hexadecimal". Its own name is made from the
// first line; a file with another first line is not read. It is replaced as a
// whole, with what others have added meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CHOICE_FILE_H
#define WEIR_RUNTIME_CUDA_CHOICE_FILE_H

#include <stdint.h>

namespace weir::rt::cuda {

/// Not thread-safe.
class ChoiceFile {
public:
  /// `key`: one line. Null: there is no folder to keep it in ($WEIR_CUDA_CACHE,
  /// where "off" asks for none; else weir/ in $XDG_CACHE_HOME or ~/.cache), or no
  /// memory. A file that cannot be read is an empty one.
  static ChoiceFile *open(const char *kind, const char *key);
  ~ChoiceFile();
  ChoiceFile(const ChoiceFile &) = delete;
  ChoiceFile &operator=(const ChoiceFile &) = delete;

  /// The `count` words that are known for the problem, valid until the next
  /// call; null: there are none, or not as many.
  const uint64_t *find(const char *problem, int64_t count) const;
  /// The same with any number of words, which `count` receives.
  const uint64_t *findAny(const char *problem, int64_t *count) const;
  /// Replaces what is known.
  void add(const char *problem, const uint64_t *words, int64_t count);
  /// Writes if something was added. Failures are left at that: choices are made
  /// anew then.
  void save();
  /// Frees what `open` returned, after `save`.
  static void close(ChoiceFile *file);

private:
  struct Line;
  ChoiceFile() = default;
  void read(bool onlyNew);
  Line *lineOf(const char *problem, int64_t length) const;
  void append(const char *problem, int64_t length, const uint64_t *words, int64_t count);

  char path[1024];
  char *key = nullptr;
  Line *lines = nullptr;
  bool changed = false;
};

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CHOICE_FILE_H

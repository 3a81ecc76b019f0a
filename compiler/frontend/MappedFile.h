//===- MappedFile.h - a file's bytes, read only -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_MAPPEDFILE_H
#define WEIR_COMPILER_FRONTEND_MAPPEDFILE_H

#include <memory>
#include <string>
#include <string_view>

namespace weir {

/// A regular file mapped into memory for reading: its pages come when they are
/// touched and do not count as anonymous memory. Unmapped when destroyed.
/// Immutable, so any thread may read it.
class MappedFile {
public:
  /// Maps a file; null, with the reason in `error`, where it cannot be opened
  /// or is no regular file.
  static std::unique_ptr<MappedFile> open(const std::string &path, std::string &error);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::string_view bytes() const { return view; }
  const std::string &path() const { return name; }

private:
  MappedFile(std::string name, std::string_view view) : name(std::move(name)), view(view) {}
  std::string name;
  std::string_view view;
};

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_MAPPEDFILE_H

//===- OutputFile.h - files that appear whole or not at all -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_OUTPUTFILE_H
#define WEIR_COMPILER_EMIT_OUTPUTFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace weir {

/// A file being written under a temporary name beside its own; commit() renames
/// it, destruction without that removes it. A path that names something else
/// than a regular file (/dev/null, a pipe) is written in place; "-" is standard
/// output.
/// Not thread-safe.
class OutputFile {
public:
  static llvm::Expected<OutputFile> create(llvm::StringRef path);
  /// Whether `path` is there and is written in place: no regular file, or one of the system's.
  static bool writesInPlace(llvm::StringRef path);
  OutputFile(OutputFile &&other);
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  /// Appends.
  llvm::Error write(llvm::ArrayRef<char> bytes);
  /// Writes at an offset and leaves the end for write() alone. What is never
  /// written below the end is zero, and takes no space on disk.
  llvm::Error writeAt(int64_t offset, llvm::ArrayRef<char> bytes);
  /// Makes the file exactly that long.
  llvm::Error resize(int64_t size);
  /// Closes the file and gives it its name.
  llvm::Error commit();

  /// Where the bytes lie until commit().
  const std::string &temporaryPath() const { return temporary; }
  const std::string &path() const { return name; }

private:
  OutputFile(std::string name, std::string temporary, int fd, bool inPlace);
  std::string name, temporary;
  int fd = -1;
  bool inPlace = false;
  int64_t end = 0;
};

/// Writes a whole file at once.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef text);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_OUTPUTFILE_H

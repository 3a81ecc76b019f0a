//===- files.h - files that are read in pieces and written whole -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions return a weir_code and say in a weir_status (which may be null) what
// failed, by the file's name. Files are read by the system's calls, not mapped: one
// that another process cuts off would end the program with SIGBUS.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SUPPORT_FILES_H
#define WEIR_RUNTIME_SUPPORT_FILES_H

#include "support/list.h"
#include "weir/weir.h"

namespace weir::rt {

/// The weir_code of an `errno`, as TensorFlow has them: NOT_FOUND for what is not
/// there, RESOURCE_EXHAUSTED for a full disk.
int32_t codeOfErrno(int error);
/// Sets `status` to `path`: what `error` (an `errno`) means. Returns the code.
int32_t failFile(weir_status *status, const char *path, int error);

/// Writes all of the bytes to an open file, whatever signals come between. 0, or an `errno`.
int writeBytes(int file, const char *data, int64_t count);

/// A file, or bytes in memory, to be read from any place. Not thread-safe.
class InputFile {
public:
  InputFile() = default;
  ~InputFile() { close(); }
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  int32_t open(const char *path, weir_status *status);
  /// Reads from memory instead, which stays the caller's; `name` is for messages.
  void openMemory(const char *name, const void *data, int64_t bytes);
  void close();
  int64_t size() const { return bytes; }
  const char *path() const { return name.data(); }
  /// OUT_OF_RANGE where the file ends before `offset + count`.
  int32_t check(int64_t offset, int64_t count, weir_status *status) const;
  /// The same, and reads.
  int32_t read(int64_t offset, int64_t count, void *to, weir_status *status);

private:
  HeapText name; ///< with a final zero
  const char *memory = nullptr;
  int64_t bytes = 0;
  int file = -1;
};

/// A file that appears whole or not at all: it is written under a temporary name in
/// its folder, and takes the name that it is made for by commit().
class OutputFile {
public:
  OutputFile() = default;
  ~OutputFile() { discard(); }
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  int32_t create(const char *path, weir_status *status);
  int32_t write(const void *data, int64_t count, weir_status *status);
  /// Bytes written so far.
  int64_t size() const { return written; }
  /// Puts everything on the disk (fsync). The name is still the temporary one.
  int32_t sync(weir_status *status);
  /// sync(), unless nothing was written since, and the final name, in place of what has it.
  int32_t commit(weir_status *status);
  /// The name that it has meanwhile, until it is committed or discarded.
  const char *temporaryName() const { return temporary.data(); }
  /// Removes the temporary file; nothing where there is none, or none any more.
  void discard();

private:
  int32_t flush(weir_status *status);

  HeapText path, temporary; ///< with a final zero
  HeapList<char> buffer;
  int64_t written = 0;
  bool isSynced = false;
  int file = -1;
};

/// A path's folder: what is before the last slash; "" without one, "/" of "/x".
weir_string folderOf(const weir_string &path);
/// Makes the folder where it is not there; those around it must be. "" is the
/// working directory.
int32_t makeFolder(const weir_string &folder, weir_status *status);
/// Puts a folder's entries on the disk: names of files that were made or renamed.
int32_t syncFolder(const weir_string &folder, weir_status *status);

/// Names of all files that match `pattern`, sorted by their bytes. In each part of a
/// path `*` and `?` stand for characters, `[…]` for one of several, and a backslash takes
/// the next character as it is.
class MatchingFiles {
public:
  /// Adds what matches. None is no error.
  int32_t add(const weir_string &pattern, weir_status *status);
  /// After all were added.
  void sort();
  int64_t size() const { return names.size(); }
  const char *operator[](int64_t i) const { return text.data() + names[i]; }

private:
  bool note(HeapText &path);
  bool match(const char *rest, HeapText &path);

  HeapText text;           ///< zero-terminated names
  HeapList<int64_t> names; ///< where each begins
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_SUPPORT_FILES_H

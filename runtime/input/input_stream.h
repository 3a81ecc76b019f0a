//===- input_stream.h - a file that is read from front to back --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_INPUT_INPUT_STREAM_H
#define WEIR_RUNTIME_INPUT_INPUT_STREAM_H

#include "input/inflate.h"

namespace weir::rt {

/// How a file's bytes are encoded; the values are the kernels' attributes.
enum class Encoding : int64_t { None = 0, Zlib = 1, Gzip = 2 };

/// A file, read ahead in pieces of 256 KiB, decompressed if need be. Not
/// thread-safe. Closed, and all memory given back, by `close`; zeroed memory is
/// a closed one.
class InputStream {
public:
  /// What a read has come to besides bytes.
  enum class End : uint8_t {
    None,   ///< there may be more
    File,   ///< no further bytes
    Damage, ///< `damage` tells
    System, ///< `error` tells
    Memory
  };

  /// Opens a file; a closed stream. WEIR_OK, or what `error` stands for.
  int32_t open(const char *path, Encoding encoding);
  void close();
  bool isOpen() const { return opened; }

  /// Copies up to `size` bytes to `to` (null: skips them); fewer only at an end.
  int64_t read(uint8_t *to, int64_t size);
  /// Bytes up to the next '\n', which is left out, are given to `take` a piece
  /// at a time. False: the end came first. `isFound`: whether there was one.
  template <typename Take> bool readLine(Take take, bool *isFound);

  /// Bytes read or skipped so far.
  int64_t position() const { return at; }
  End end() const { return ended; }
  int error() const { return systemError; }
  const char *damage() const;

private:
  static constexpr int64_t pieceSize = 1 << 18;
  struct FileSupply : ByteSupply {
    InputStream *stream;
  };
  static bool refillSupply(ByteSupply *supply);
  int64_t readFile(uint8_t *to);
  bool fill();

  bool opened;
  End ended;
  int file;
  int systemError;
  int64_t at;
  const uint8_t *next, *limit; ///< what is read ahead
  uint8_t *piece;              ///< plain bytes
  uint8_t *packed;             ///< compressed ones
  Inflater *inflater;
  FileSupply supply;
};

template <typename Take> bool InputStream::readLine(Take take, bool *isFound) {
  *isFound = false;
  while (true) {
    if (next == limit && !fill())
      return ended == End::File;
    const uint8_t *stop = next;
    while (stop != limit && *stop != '\n')
      ++stop;
    if (!take(next, stop - next))
      return false;
    at += stop - next;
    next = stop;
    if (stop == limit)
      continue;
    ++next;
    ++at;
    *isFound = true;
    return true;
  }
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_INPUT_INPUT_STREAM_H

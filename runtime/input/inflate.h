//===- inflate.h - decompression of zlib and gzip streams -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DEFLATE (RFC 1951) in the frames of zlib (RFC 1950) and gzip (RFC 1952), of
// our own: a program that reads compressed records links nothing more than one
// that reads plain ones. Bytes are pulled: memory is the window of 32 KiB and
// the tables of two codes, however long the stream is.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_INPUT_INFLATE_H
#define WEIR_RUNTIME_INPUT_INFLATE_H

#include <stdint.h>

namespace weir::rt {

/// Compressed bytes, a piece at a time. Owned by the caller.
struct ByteSupply {
  const uint8_t *next = nullptr, *end = nullptr;
  /// Sets `next` and `end` to further bytes. False: there are none. Null: what
  /// is there is all.
  bool (*refill)(ByteSupply *supply) = nullptr;
};

class Inflater {
public:
  enum class Format : uint8_t { Zlib, Gzip };

  /// Begins a stream. `supply` outlives it.
  void init(Format format, ByteSupply *supply);

  /// Decompresses up to `size` bytes; fewer at the end of the stream, where the
  /// supply ends within it, and before what is damaged. Members of a gzip file
  /// are one stream. What stands behind a zlib stream is not looked at.
  int64_t read(uint8_t *to, int64_t size);

  /// What is wrong with the stream; null: nothing so far, or it is merely cut
  /// short.
  const char *damage() const { return problem; }

private:
  struct Code {
    uint16_t fast[512]; ///< by the next nine bits: symbol << 4 | length, 0: longer
    uint16_t counts[16];
    uint16_t symbols[288];
    bool build(const uint8_t *lengths, int32_t count);
  };
  enum class State : uint8_t { Header, Block, Stored, Coded, Trailer, End };

  bool fill(int32_t count);
  bool take(int32_t count, uint32_t *value);
  int32_t decode(const Code &code);
  bool fail(const char *what);
  bool readHeader();
  bool readBlock();
  bool readCodes();
  bool readTrailer();
  void put(uint8_t byte);
  void copyMatch();
  bool readCoded();
  bool readStored();

  ByteSupply *supply;
  const char *problem;
  Format format;
  State state;
  bool isLast;     ///< the block is the stream's last
  bool isCut;      ///< the supply has ended within the stream
  bool isFollower; ///< a gzip member before this one has ended
  int32_t bitCount;
  uint64_t bits;
  uint32_t checksum, memberSize;
  int64_t stored;                    ///< bytes left of a stored block
  uint32_t matchSize, matchDistance; ///< a copy that is under way
  uint32_t position;                 ///< in the window, of the next byte
  uint64_t total;                    ///< bytes of this member so far
  uint8_t *out;
  int64_t room;
  Code literals, distances;
  uint8_t window[1 << 15];
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_INPUT_INFLATE_H

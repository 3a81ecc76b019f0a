//===- input_stream.cpp - a file that is read from front to back ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/input_stream.h"

#include "support/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace weir::rt {

int32_t InputStream::open(const char *path, Encoding encoding) {
  memset(static_cast<void *>(this), 0, sizeof(*this));
  do
    file = ::open(path, O_RDONLY | O_CLOEXEC);
  while (file < 0 && errno == EINTR);
  if (file < 0) {
    systemError = errno;
    ended = End::System;
    return codeOfErrno(systemError);
  }
  opened = true;
  piece = static_cast<uint8_t *>(malloc(pieceSize));
  if (encoding != Encoding::None) {
    packed = static_cast<uint8_t *>(malloc(pieceSize));
    inflater = static_cast<Inflater *>(malloc(sizeof(Inflater)));
  }
  if (!piece || (encoding != Encoding::None && (!packed || !inflater))) {
    close();
    systemError = ENOMEM;
    ended = End::Memory;
    return WEIR_RESOURCE_EXHAUSTED;
  }
  if (inflater) {
    supply.refill = refillSupply;
    supply.stream = this;
    inflater->init(encoding == Encoding::Zlib ? Inflater::Format::Zlib : Inflater::Format::Gzip,
                   &supply);
  }
  return WEIR_OK;
}

void InputStream::close() {
  if (!opened)
    return;
  ::close(file);
  free(piece);
  free(packed);
  free(inflater);
  memset(static_cast<void *>(this), 0, sizeof(*this));
}

const char *InputStream::damage() const { return inflater ? inflater->damage() : nullptr; }

/// Up to a piece of the file; 0: its end, or `ended` tells.
int64_t InputStream::readFile(uint8_t *to) {
  int64_t size = 0;
  while (size < pieceSize) {
    ssize_t got = ::read(file, to + size, size_t(pieceSize - size));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      systemError = errno;
      ended = End::System;
    }
    if (got <= 0)
      break;
    size += got;
  }
  return size;
}

bool InputStream::refillSupply(ByteSupply *supply) {
  InputStream *stream = static_cast<FileSupply *>(supply)->stream;
  int64_t size = stream->readFile(stream->packed);
  supply->next = stream->packed;
  supply->end = stream->packed + size;
  return size > 0;
}

/// Reads ahead. False: at an end. What is damaged is found a piece ahead, and
/// before the bytes in front of it are given, as TensorFlow's streams have it.
bool InputStream::fill() {
  if (ended != End::None)
    return false;
  int64_t size = inflater ? inflater->read(piece, pieceSize) : readFile(piece);
  if (inflater && inflater->damage())
    ended = End::Damage;
  if (ended != End::None)
    return false;
  if (size == 0) {
    ended = End::File;
    return false;
  }
  next = piece;
  limit = piece + size;
  return true;
}

int64_t InputStream::read(uint8_t *to, int64_t size) {
  int64_t done = 0;
  while (done < size) {
    if (next == limit && !fill())
      break;
    int64_t part = limit - next < size - done ? limit - next : size - done;
    if (to)
      memcpy(to + done, next, size_t(part));
    next += part;
    done += part;
  }
  at += done;
  return done;
}

} // namespace weir::rt

//===- stream_text.cpp - what kernels read of files -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/stream_text.h"

#include "support/files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace weir::rt {

bool appendBytes(weir_context *ctx, InputStream &stream, Growing &to, int64_t size) {
  constexpr int64_t most = 1 << 16;
  Scratch<uint8_t> piece(ctx, size < most ? size : most);
  if (!piece.data)
    return false;
  while (size > 0) {
    int64_t part = size < most ? size : most;
    int64_t got = stream.read(piece.data, part);
    if (!to.append(reinterpret_cast<const char *>(piece.data), got) || got < part)
      return false;
    size -= part;
  }
  return true;
}

int32_t failSystem(weir_context *ctx, int error, const char *path) {
  char message[480], buffer[128];
  Text(message, sizeof(message)) << path << "; " << strerror_r(error, buffer, sizeof(buffer));
  return failMessage(ctx, codeOfErrno(error), message);
}

int32_t writeFile(weir_context *ctx, const char *path, int flags, const weir_string &bytes) {
  int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (file < 0)
    return failSystem(ctx, errno, path);
  int error = writeBytes(file, bytes.data, bytes.size);
  if (close(file) != 0 && !error)
    error = errno;
  return error ? failSystem(ctx, error, path) : int32_t(WEIR_OK);
}

int32_t failStream(weir_context *ctx, const InputStream &stream, const char *path) {
  switch (stream.end()) {
  case InputStream::End::Damage: {
    char message[120];
    Text(message, sizeof(message)) << "inflate() failed with error -3: " << stream.damage();
    return failMessage(ctx, WEIR_DATA_LOSS, message);
  }
  case InputStream::End::System:
    return failSystem(ctx, stream.error(), path);
  default:
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for reading a file");
  }
}

} // namespace weir::rt

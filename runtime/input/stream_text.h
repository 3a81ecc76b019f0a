//===- stream_text.h - what kernels read of files ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_INPUT_STREAM_TEXT_H
#define WEIR_RUNTIME_INPUT_STREAM_TEXT_H

#include "input/input_stream.h"
#include "kernels/string_support.h"

namespace weir::rt {

/// Appends up to `size` bytes of the stream, a piece at a time: a size that a
/// file claims asks for no memory before the bytes are there. False: fewer, or
/// `to` has failed.
bool appendBytes(weir_context *ctx, InputStream &stream, Growing &to, int64_t size);

/// Fails the run with what has ended the stream of the file `path`.
int32_t failStream(weir_context *ctx, const InputStream &stream, const char *path);

/// Fails the run with an error of the system: "path; No such file or directory".
int32_t failSystem(weir_context *ctx, int error, const char *path);

/// Writes the bytes to a file that is opened with `flags` (O_TRUNC, O_APPEND) and made where it is
/// not there. WEIR_OK, or the run has failed.
int32_t writeFile(weir_context *ctx, const char *path, int flags, const weir_string &bytes);

} // namespace weir::rt

#endif // WEIR_RUNTIME_INPUT_STREAM_TEXT_H

//===- files.cpp - whole files, and their names ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/stream_text.h"
#include "kernels/give_string.h"
#include "weir/input.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

using namespace weir::rt;

/// A name as C wants it. Null: no memory.
static const char *makePath(Growing &path, const weir_string &name) {
  path << name << '\0';
  return path.failed() ? nullptr : path.data();
}

int32_t weir_kernel_read_file(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                              weir_tensor *results, int32_t, const int64_t *) {
  weir_string name;
  if (!loadString(operands[0], &name))
    return failOperands(ctx, operands, operand_count);
  Growing path(ctx), text(ctx);
  if (!makePath(path, name))
    return WEIR_RESOURCE_EXHAUSTED;
  InputStream stream;
  int32_t code = stream.open(path.data(), Encoding::None);
  if (code == WEIR_OK)
    (void)appendBytes(ctx, stream, text, INT64_MAX);
  if (code != WEIR_OK || (stream.end() != InputStream::End::File && !text.failed()))
    code = failStream(ctx, stream, path.data());
  stream.close();
  return code == WEIR_OK ? giveString(ctx, text, results[0]) : code;
}

/// Makes the folders that a file of this name lies in. Puts a zero behind the
/// one that fails.
static bool makeFolders(char *path) {
  for (char *at = path + 1; *at; ++at) {
    if (*at != '/')
      continue;
    *at = 0;
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
      return false;
    *at = '/';
  }
  return true;
}

int32_t weir_kernel_write_file(weir_context *ctx, const weir_tensor *operands,
                               int32_t operand_count, weir_tensor *, int32_t, const int64_t *) {
  weir_string name, contents;
  if (operand_count != 2 || !loadString(operands[0], &name) || !loadString(operands[1], &contents))
    return failOperands(ctx, operands, operand_count);
  Growing path(ctx);
  if (!makePath(path, name))
    return WEIR_RESOURCE_EXHAUSTED;
  if (path[0] && !makeFolders(path.data()))
    return failSystem(ctx, errno, path.data());
  return writeFile(ctx, path.data(), O_TRUNC, contents);
}

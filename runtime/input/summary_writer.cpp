//===- summary_writer.cpp - files that TensorBoard reads ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each event is one write to the file, so that who looks on sees whole records; there
// is nothing to flush.
//
//===----------------------------------------------------------------------===//

#include "input/event_record.h"
#include "input/stream_text.h"
#include "kernels/give_string.h"
#include "session/resources.h"
#include "support/files.h"
#include "support/sync.h"
#include "weir/summaries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weir::rt;

namespace {

struct Writer : Resource {
  Mutex mutex;
  int file; ///< -1: closed

  void closeFile() {
    Lock lock(mutex);
    if (file >= 0)
      close(file);
    file = -1;
  }
};

Resource *makeWriter(void *) {
  void *memory = malloc(sizeof(Writer));
  if (!memory)
    return nullptr;
  auto *writer = new (memory) Writer();
  writer->file = -1;
  writer->reset = [](Resource *resource) { static_cast<Writer *>(resource)->closeFile(); };
  writer->destroy = [](Resource *resource) {
    auto *own = static_cast<Writer *>(resource);
    own->closeFile();
    own->~Writer();
    free(own);
  };
  return writer;
}

/// The writer of a call, or null: the run has failed, with `code`.
Writer *writerOf(weir_context *ctx, const weir_tensor &handle, bool makes, int32_t *code) {
  weir_string name;
  if (!loadString(handle, &name)) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT, "a summary writer's handle is not one");
    return nullptr;
  }
  Resource *known = resourceOf(ctx, name.data, name.size, makes ? makeWriter : nullptr, nullptr);
  if (!known)
    *code = makes ? failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a summary writer")
                  : failMessage(ctx, WEIR_NOT_FOUND, "the summary writer is not open");
  return static_cast<Writer *>(known);
}

/// Makes the folder, and those around it.
bool makeFolder(char *path) {
  for (char *at = path + 1; *at; ++at) {
    if (*at != '/')
      continue;
    *at = 0;
    bool good = mkdir(path, 0777) == 0 || errno == EEXIST;
    *at = '/';
    if (!good)
      return false;
  }
  return mkdir(path, 0777) == 0 || errno == EEXIST;
}

} // namespace

int32_t weir_kernel_summary_open(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *, int32_t, const int64_t *) {
  weir_string folder, suffix;
  if (operand_count != 3 || !loadString(operands[1], &folder) || !loadString(operands[2], &suffix))
    return failOperands(ctx, operands, operand_count);
  int32_t code = WEIR_OK;
  Writer *writer = writerOf(ctx, operands[0], /*makes=*/true, &code);
  if (!writer)
    return code;
  Lock lock(writer->mutex);
  if (writer->file >= 0)
    return WEIR_OK;
  Growing path(ctx), record(ctx), scratch(ctx);
  path << folder << '\0';
  if (path.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  if (folder.size > 0 && !makeFolder(path.data()))
    return failSystem(ctx, errno, path.data());
  path.resize(path.size() - 1);
  char host[256] = "localhost", place[320];
  gethostname(host, sizeof(host) - 1);
  // Two writers of one second are told apart by a number behind it.
  for (int number = 0;; ++number) {
    int64_t before = path.size();
    snprintf(place, sizeof(place), "/events.out.tfevents.%010lld.%s.%lld.%d",
             static_cast<long long>(time(nullptr)), host, static_cast<long long>(getpid()), number);
    path << place << suffix << '\0';
    if (path.failed())
      return WEIR_RESOURCE_EXHAUSTED;
    writer->file = open(path.data(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (writer->file >= 0)
      break;
    if (errno != EEXIST || number == 1000)
      return failSystem(ctx, errno, path.data());
    path.resize(before);
  }
  writeEvent(record, scratch, 0, EventField::Version,
             weir_string{eventVersion, sizeof(eventVersion) - 1});
  if (record.failed() || scratch.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  int error = writeBytes(writer->file, record.data(), record.size());
  return error ? failSystem(ctx, error, path.data()) : int32_t(WEIR_OK);
}

int32_t weir_kernel_summary_write(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *, int32_t,
                                  const int64_t *attributes) {
  weir_string message;
  if (operand_count != 3 || operands[1].dtype != WEIR_I64 || elementCountOf(operands[1]) != 1 ||
      !loadString(operands[2], &message))
    return failOperands(ctx, operands, operand_count);
  int32_t code = WEIR_OK;
  Writer *writer = writerOf(ctx, operands[0], /*makes=*/false, &code);
  if (!writer)
    return code;
  Growing record(ctx), scratch(ctx);
  if (attributes[0])
    writeEvent(record, scratch, *static_cast<const int64_t *>(operands[1].data),
               EventField(attributes[0]), message);
  else
    writeRecord(record, message);
  if (record.failed() || scratch.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  Lock lock(writer->mutex);
  if (writer->file < 0)
    return failMessage(ctx, WEIR_NOT_FOUND, "the summary writer is not open");
  int error = writeBytes(writer->file, record.data(), record.size());
  return error ? failSystem(ctx, error, "a summary") : int32_t(WEIR_OK);
}

int32_t weir_kernel_summary_close(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *, int32_t, const int64_t *) {
  if (operand_count != 1)
    return failOperands(ctx, operands, operand_count);
  int32_t code = WEIR_OK;
  Writer *writer = writerOf(ctx, operands[0], /*makes=*/true, &code);
  if (writer)
    writer->closeFile();
  return code;
}

int32_t weir_kernel_tensor_summary(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *attributes) {
  weir_string tag, tensor, metadata;
  if (operand_count != 3 || result_count != 1 || !loadString(operands[0], &tag) ||
      !loadString(operands[1], &tensor) || !loadString(operands[2], &metadata))
    return failOperands(ctx, operands, operand_count);
  constexpr uint32_t tagField = 1, tensorField = 8, metadataField = 9;
  Growing value(ctx), summary(ctx);
  if (tag.size > 0)
    writeBytes(value, tagField, tag);
  writeBytes(value, tensorField, tensor);
  if (metadata.size > 0 || attributes[0])
    writeBytes(value, metadataField, metadata);
  writeBytes(summary, 1, value.view());
  return value.failed() ? int32_t(WEIR_RESOURCE_EXHAUSTED) : giveString(ctx, summary, results[0]);
}

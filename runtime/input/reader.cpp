//===- reader.cpp - records of files whose names come from a queue --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/reader.h"

#include "checkpoint/crc32c.h"
#include "input/stream_text.h"
#include "kernels/give_string.h"
#include "support/wire_format.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

Reader::Reader(const Parameters &parameters) : parameters(parameters) {
  memset(static_cast<void *>(&stream), 0, sizeof(stream));
  produced = started = finished = 0;
}

Reader *Reader::create(const Parameters &parameters) {
  void *memory = malloc(sizeof(Reader));
  if (!memory)
    return nullptr;
  auto *reader = new (memory) Reader(parameters);
  reader->reset = resetReader;
  reader->destroy = destroyReader;
  return reader;
}

void Reader::resetReader(Resource *resource) {
  auto *reader = static_cast<Reader *>(resource);
  Lock lock(reader->mutex);
  reader->resetState();
}

void Reader::destroyReader(Resource *resource) {
  auto *reader = static_cast<Reader *>(resource);
  reader->resetState();
  free(reader);
}

void Reader::resetState() {
  produced = started = finished = 0;
  endWork();
  free(work);
  work = nullptr;
  workSize = 0;
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

void Reader::begin(ReaderAttempt *attempt) {
  Task *ready = nullptr;
  {
    Lock lock(lineMutex);
    attempt->following = nullptr;
    bool isFirst = !first;
    (isFirst ? first : last->following) = attempt;
    last = attempt;
    if (isFirst)
      endWait(attempt, &ready);
  }
  postTasks(ready);
}

void Reader::end(ReaderAttempt *attempt) {
  Task *ready = nullptr;
  {
    Lock lock(lineMutex);
    ReaderAttempt *before = nullptr;
    for (ReaderAttempt *at = first; at != attempt; at = at->following)
      before = at;
    (before ? before->following : first) = attempt->following;
    if (last == attempt)
      last = before;
    if (!before && first)
      endWait(first, &ready);
  }
  postTasks(ready);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

bool Reader::setName(const weir_string &name) {
  auto *copy = static_cast<char *>(malloc(size_t(name.size) + 1));
  if (!copy)
    return false;
  if (name.size > 0)
    memcpy(copy, name.data, size_t(name.size));
  copy[name.size] = 0;
  free(work);
  work = copy;
  workSize = name.size;
  return true;
}

int32_t Reader::startWork(weir_context *ctx, const weir_string &name) {
  if (!setName(name))
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for the name of a file");
  endWork();
  if (parameters.kind == WEIR_READER_LINES || parameters.kind == WEIR_READER_FIXED ||
      parameters.kind == WEIR_READER_RECORDS)
    if (int32_t code = openFile(ctx))
      return code;
  if (parameters.kind == WEIR_READER_FIXED) {
    ahead = static_cast<uint8_t *>(
        malloc(size_t(parameters.recordBytes) + size_t(parameters.footerBytes)));
    if (!ahead)
      return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a record");
    if (stream.read(nullptr, parameters.headerBytes) < parameters.headerBytes)
      return stream.end() == InputStream::End::File
                 ? failMessage(ctx, WEIR_OUT_OF_RANGE, "reached end of file")
                 : failStream(ctx);
  }
  bool isFound = true;
  if (parameters.kind == WEIR_READER_LINES)
    for (; isFound && number < parameters.skippedLines; ++number) {
      auto drop = [](const uint8_t *, int64_t) { return true; };
      if (!stream.readLine(drop, &isFound))
        return failStream(ctx);
    }
  ++started;
  return WEIR_OK;
}

/// Whatever is open of the work is closed.
void Reader::endWork() {
  stream.close();
  free(ahead);
  ahead = nullptr;
  aheadSize = 0;
  number = 0;
  offset = 0;
}

int32_t Reader::openFile(weir_context *ctx) {
  stream.close();
  if (stream.open(work, parameters.encoding) == WEIR_OK)
    return WEIR_OK;
  return failStream(ctx);
}

int32_t Reader::failStream(weir_context *ctx) { return rt::failStream(ctx, stream, work); }

int32_t Reader::failRecord(weir_context *ctx, const char *what, int64_t place, const char *more) {
  char message[200];
  Text(message, sizeof(message)) << what << " record at " << place << more;
  return failMessage(ctx, WEIR_DATA_LOSS, message);
}

void Reader::writeKey(Growing &key, int64_t place) {
  char digits[24];
  Text(digits, sizeof(digits)) << place;
  key << weir_string{work, workSize} << ':' << digits;
}

int32_t Reader::read(weir_context *ctx, Growing &key, Growing &value, bool *isProduced,
                     bool *isLast) {
  key.clear();
  value.clear();
  *isProduced = true;
  *isLast = false;
  int32_t code = WEIR_OK;
  switch (parameters.kind) {
  case WEIR_READER_IDENTITY:
    key << weir_string{work, workSize};
    value << weir_string{work, workSize};
    *isLast = true;
    break;
  case WEIR_READER_FILES:
    code = readWhole(ctx, value);
    key << weir_string{work, workSize};
    *isLast = true;
    break;
  case WEIR_READER_LINES:
    code = readLine(ctx, value, isProduced);
    writeKey(key, number);
    break;
  case WEIR_READER_FIXED:
    code = readFixed(ctx, value, isProduced);
    writeKey(key, number - 1);
    break;
  case WEIR_READER_RECORDS: {
    int64_t place = offset;
    code = readChecked(ctx, value, isProduced);
    writeKey(key, place);
    break;
  }
  }
  if (code != WEIR_OK)
    return code;
  if (key.failed() || value.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  *isLast |= !*isProduced;
  if (*isLast) {
    endWork();
    finished = started;
  }
  produced += *isProduced;
  return WEIR_OK;
}

int32_t Reader::readWhole(weir_context *ctx, Growing &value) {
  if (int32_t code = openFile(ctx))
    return code;
  (void)appendBytes(ctx, stream, value, INT64_MAX);
  return stream.end() == InputStream::End::File || value.failed() ? WEIR_OK : failStream(ctx);
}

int32_t Reader::readLine(weir_context *ctx, Growing &value, bool *isProduced) {
  bool isFound;
  auto add = [&](const uint8_t *bytes, int64_t size) {
    return value.append(reinterpret_cast<const char *>(bytes), size);
  };
  if (!stream.readLine(add, &isFound))
    return value.failed() ? int32_t(WEIR_RESOURCE_EXHAUSTED) : failStream(ctx);
  if (value.size() > 0 && value[value.size() - 1] == '\r')
    value.resize(value.size() - 1);
  *isProduced = isFound || value.size() > 0;
  ++number;
  return WEIR_OK;
}

int32_t Reader::readFixed(weir_context *ctx, Growing &value, bool *isProduced) {
  int64_t hop = parameters.hopBytes ? parameters.hopBytes : parameters.recordBytes;
  int64_t wanted = parameters.recordBytes + parameters.footerBytes;
  *isProduced = false;
  if (number > 0 && hop <= aheadSize) {
    aheadSize -= hop;
    memmove(ahead, ahead + hop, size_t(aheadSize));
  } else if (number > 0) {
    int64_t skipped = hop - aheadSize;
    aheadSize = 0;
    if (stream.read(nullptr, skipped) < skipped)
      return stream.end() == InputStream::End::File ? WEIR_OK : failStream(ctx);
  }
  aheadSize += stream.read(ahead + aheadSize, wanted - aheadSize);
  if (aheadSize < wanted)
    return stream.end() == InputStream::End::File ? WEIR_OK : failStream(ctx);
  value.append(reinterpret_cast<const char *>(ahead), parameters.recordBytes);
  *isProduced = true;
  ++number;
  return WEIR_OK;
}

/// A TFRecord: its size in 64 bits, that one's checksum, the bytes, their
/// checksum, all little-endian. A file that ends within the first two ends as
/// one does that ends before them. Where reading fails, the next read begins at
/// the same place anew.
int32_t Reader::readChecked(weir_context *ctx, Growing &value, bool *isProduced) {
  constexpr int64_t headerSize = 12, footerSize = 4;
  *isProduced = false;
  if (!stream.isOpen() || stream.position() != offset || stream.end() != InputStream::End::None) {
    if (int32_t code = openFile(ctx))
      return code;
    (void)stream.read(nullptr, offset);
  }
  uint8_t header[headerSize];
  if (stream.read(header, headerSize) < headerSize)
    return stream.end() == InputStream::End::File ? WEIR_OK : failStream(ctx);
  uint64_t size;
  uint32_t checksum;
  memcpy(&size, header, sizeof(size));
  memcpy(&checksum, header + sizeof(size), sizeof(checksum));
  if (checksum != maskCrc(crc32c(header, sizeof(size))) || size > uint64_t(INT64_MAX / 2))
    return failRecord(ctx, "corrupted", offset);
  if (!appendBytes(ctx, stream, value, int64_t(size) + footerSize)) {
    if (value.failed())
      return WEIR_RESOURCE_EXHAUSTED;
    if (stream.end() != InputStream::End::File)
      return failStream(ctx);
    return failRecord(ctx, "truncated", offset,
                      parameters.encoding == Encoding::None
                          ? "' failed with Read less bytes than requested"
                          : "' failed with EOF reached");
  }
  value.resize(int64_t(size));
  memcpy(&checksum, value.data() + size, sizeof(checksum));
  if (checksum != maskCrc(crc32c(value.data(), int64_t(size))))
    return failRecord(ctx, "corrupted", offset + headerSize);
  offset += headerSize + int64_t(size) + footerSize;
  *isProduced = true;
  return WEIR_OK;
}

//===----------------------------------------------------------------------===//
// State: TensorFlow's ReaderBaseState, which only readers have that are at no
// place within a file. 1: work_started, 2: work_finished,
// 3: num_records_produced, 4: current_work
//===----------------------------------------------------------------------===//

int32_t Reader::serialize(weir_context *ctx, weir_tensor &result) {
  if (parameters.kind != WEIR_READER_FILES && parameters.kind != WEIR_READER_IDENTITY)
    return failMessage(ctx, WEIR_UNIMPLEMENTED, "Reader SerializeState");
  Growing state(ctx);
  writeNumber(state, 1, started);
  writeNumber(state, 2, finished);
  writeNumber(state, 3, produced);
  if (workSize > 0)
    writeBytes(state, 4, {work, workSize});
  return giveString(ctx, state, result);
}

int32_t Reader::restore(weir_context *ctx, const weir_string &state) {
  // Also where it fails the reader begins anew.
  resetState();
  if (parameters.kind != WEIR_READER_FILES && parameters.kind != WEIR_READER_IDENTITY)
    return failMessage(ctx, WEIR_UNIMPLEMENTED, "Reader RestoreState");
  int64_t numbers[3] = {};
  weir_string name = {};
  MessageReader fields(state);
  while (fields.next())
    if (fields.number <= 3 && fields.type == MessageReader::varint)
      numbers[fields.number - 1] = int64_t(fields.value);
    else if (fields.is(4, MessageReader::bytes))
      name = fields.contents;
  if (fields.failed())
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Could not parse state of a reader");
  if (numbers[0] < 0 || numbers[1] < 0 || numbers[2] < 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Unexpected negative value when restoring");
  if (numbers[0] > numbers[1])
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "Inconsistent work started vs. finished when restoring");
  if (!setName(name))
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for the name of a file");
  started = numbers[0];
  finished = numbers[1];
  produced = numbers[2];
  return WEIR_OK;
}

} // namespace weir::rt

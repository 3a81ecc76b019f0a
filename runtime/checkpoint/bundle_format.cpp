//===- bundle_format.cpp - messages and names of bundles ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/bundle.h"
#include "checkpoint/crc32c.h"
#include "support/wire_format.h"

namespace weir::rt {

// BundleHeaderProto: 1: num_shards, 2: endianness (0: little), 3: VersionDef, which has
// 1: producer, 2: min_consumer.

void writeHeader(HeapText &out, const BundleHeader &header) {
  HeapText version;
  writeNumber(version, 1, uint64_t(header.producer));
  writeNumber(version, 2, uint64_t(header.minConsumer));
  writeNumber(out, 1, uint64_t(header.shards));
  writeNumber(out, 2, header.isBigEndian);
  writeBytes(out, 3, version.view());
}

bool readHeader(const weir_string &message, BundleHeader *header) {
  // More shards than anybody has are damage.
  constexpr uint64_t mostShards = 1 << 24;
  *header = {0, false, 0, 0};
  MessageReader fields(message);
  while (fields.next()) {
    if (fields.is(1, MessageReader::varint)) {
      if (fields.value > mostShards)
        return false;
      header->shards = int32_t(fields.value);
    } else if (fields.is(2, MessageReader::varint)) {
      header->isBigEndian = fields.value != 0;
    } else if (fields.is(3, MessageReader::bytes)) {
      MessageReader version(fields.contents);
      while (version.next())
        if (version.is(1, MessageReader::varint))
          header->producer = int32_t(version.value);
        else if (version.is(2, MessageReader::varint))
          header->minConsumer = int32_t(version.value);
      if (version.failed())
        return false;
    }
  }
  return !fields.failed();
}

// BundleEntryProto: 1: dtype, 2: shape, 3: shard_id, 4: offset, 5: size, 6: crc32c
// (fixed32), 7: slices…

void writeEntry(HeapText &out, const BundleEntry &entry) {
  HeapText part;
  writeNumber(out, 1, uint64_t(entry.type));
  writeShape(part, entry.shape);
  writeBytes(out, 2, part.view());
  writeNumber(out, 3, uint64_t(entry.shard));
  writeNumber(out, 4, uint64_t(entry.offset));
  writeNumber(out, 5, uint64_t(entry.size));
  if (entry.crc) {
    writeVarint(out, 6 << 3 | MessageReader::fixed32);
    out.append(reinterpret_cast<const char *>(&entry.crc), sizeof(entry.crc));
  }
  for (int64_t i = 0; i < entry.slices.size(); ++i) {
    part.clear();
    writeSlice(part, entry.slices[i]);
    writeBytes(out, 7, part.view());
  }
}

bool readEntry(const weir_string &message, BundleEntry *entry) {
  entry->type = 0;
  entry->shape.rank = 0;
  entry->shard = entry->offset = entry->size = 0;
  entry->crc = 0;
  entry->slices.clear();
  MessageReader fields(message);
  bool isGood = true;
  while (isGood && fields.next()) {
    auto value = int64_t(fields.value);
    if (fields.is(1, MessageReader::varint))
      entry->type = int32_t(value);
    else if (fields.is(2, MessageReader::bytes))
      isGood = readShape(fields.contents, &entry->shape);
    else if (fields.is(3, MessageReader::varint))
      entry->shard = value;
    else if (fields.is(4, MessageReader::varint))
      entry->offset = value;
    else if (fields.is(5, MessageReader::varint))
      entry->size = value;
    else if (fields.is(6, MessageReader::fixed32))
      entry->crc = uint32_t(fields.value);
    else if (fields.is(7, MessageReader::bytes)) {
      TensorSlice slice;
      isGood = readSlice(fields.contents, &slice) && entry->slices.push(slice);
    }
  }
  return isGood && !fields.failed();
}

void writeFiveDigits(HeapText &out, int64_t value) {
  char digits[24];
  Text text(digits, sizeof(digits));
  text << (value < 0 ? -value : value);
  if (value < 0)
    out << '-';
  for (int64_t width = text.size() + (value < 0); width < 5; ++width)
    out << '0';
  out << digits;
}

void writeIndexName(HeapText &out, const weir_string &prefix) {
  out.clear();
  out << prefix << ".index" << '\0';
}

void writeShardName(HeapText &out, const weir_string &prefix, int64_t shard, int64_t shards) {
  out.clear();
  out << prefix << ".data-";
  writeFiveDigits(out, shard);
  out << "-of-";
  writeFiveDigits(out, shards);
  out << '\0';
}

// All lengths as varints, a checksum of the lengths, then the bytes. The checksum counts
// each length as a fixed32 (a fixed64 if it needs one), then the stored checksum, then the
// bytes.
const char *splitStrings(const char *data, int64_t bytes, int64_t count, bool isSwapped,
                         weir_string *strings, uint32_t *crc) {
  const char *at = data, *end = data + bytes;
  *crc = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t length;
    if (!MessageReader::readVarint(at, end, length) || length > uint64_t(bytes))
      return "its strings are cut off";
    strings[i] = {nullptr, int64_t(length)};
    auto narrow = uint32_t(length);
    if (length > UINT32_MAX) {
      uint64_t counted = isSwapped ? __builtin_bswap64(length) : length;
      *crc = crc32c(&counted, sizeof(counted), *crc);
    } else {
      narrow = isSwapped ? __builtin_bswap32(narrow) : narrow;
      *crc = crc32c(&narrow, sizeof(narrow), *crc);
    }
  }
  uint32_t stored;
  if (end - at < int64_t(sizeof(stored)))
    return "its strings are cut off";
  memcpy(&stored, at, sizeof(stored));
  if (maskCrc(*crc) != (isSwapped ? __builtin_bswap32(stored) : stored))
    return "the checksum of its strings' lengths is wrong";
  *crc = crc32c(at, sizeof(stored), *crc);
  at += sizeof(stored);
  const char *contents = at;
  for (int64_t i = 0; i < count; ++i) {
    if (strings[i].size > end - at)
      return "its strings are cut off";
    strings[i].data = at;
    at += strings[i].size;
  }
  *crc = crc32c(contents, at - contents, *crc);
  return nullptr;
}

} // namespace weir::rt

//===- bundle_reader.cpp - reading checkpoints of format V2 ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/bundle.h"
#include "checkpoint/crc32c.h"
#include "session/status.h"

#include <unistd.h>

namespace weir::rt {

BundleReader::~BundleReader() = default;

bool BundleReader::exists(const weir_string &prefix) {
  HeapText name;
  writeIndexName(name, prefix);
  return !name.failed() && access(name.data(), F_OK) == 0;
}

int32_t BundleReader::open(const weir_string &name, weir_status *status) {
  prefix.clear();
  prefix << name << '\0';
  writeIndexName(indexName, name);
  entries.clear();
  for (Shard &shard : shards)
    shard.number = -1;
  if (prefix.failed() || indexName.failed())
    return refuseMemory(status, "a checkpoint");
  InputFile file;
  TableReader table;
  int32_t code = file.open(indexName.data(), status);
  if (!code)
    code = table.open(file, status);
  if (!code)
    code = table.readAll(entries, status);
  if (code)
    return code;
  if (entries.size() == 0 || entries.key(0).size != 0 || !readHeader(entries.value(0), &header)) {
    StatusText(status, WEIR_DATA_LOSS)
        << indexName.data() << " does not begin with the header of a checkpoint";
    return WEIR_DATA_LOSS;
  }
  if (header.minConsumer > 1) {
    StatusText(status, WEIR_INVALID_ARGUMENT) << indexName.data() << " wants a reader of version "
                                              << header.minConsumer << "; this one is of version 1";
    return WEIR_INVALID_ARGUMENT;
  }
  first = 1;
  return WEIR_OK;
}

int32_t BundleReader::damaged(const char *file, int64_t offset, const weir_string &key,
                              const char *what, weir_status *status) const {
  StatusText out(status, WEIR_DATA_LOSS);
  out << file << ": tensor ";
  out.quoted(key.data, key.size) << " at offset " << offset << ": " << what;
  return WEIR_DATA_LOSS;
}

int32_t BundleReader::lacksSlices(const weir_string &key, weir_status *status) const {
  StatusText out(status, WEIR_INVALID_ARGUMENT);
  out << "checkpoint \"" << prefix.data() << "\" does not have all slices of ";
  out.quoted(key.data, key.size) << " that are wanted";
  return WEIR_INVALID_ARGUMENT;
}

int32_t BundleReader::find(const weir_string &key, BundleEntry *entry, weir_status *status) const {
  int64_t i = entries.find(key);
  if (i < first) {
    StatusText out(status, WEIR_NOT_FOUND);
    out << "key ";
    out.quoted(key.data, key.size) << " is not in checkpoint \"" << prefix.data() << '"';
    return WEIR_NOT_FOUND;
  }
  if (readEntry(entries.value(i), entry))
    return WEIR_OK;
  if (entry->slices.failed())
    return refuseMemory(status, "what a checkpoint has");
  return damaged(indexName.data(), 0, key, "its entry is damaged", status);
}

int32_t BundleReader::shardOf(const weir_string &key, const BundleEntry &entry, InputFile **file,
                              weir_status *status) {
  if (entry.shard < 0 || entry.shard >= header.shards)
    return damaged(indexName.data(), 0, key, "it is in a shard that there is not", status);
  Shard &shard = shards[entry.shard % openFiles];
  *file = &shard.file;
  if (shard.number == entry.shard)
    return WEIR_OK;
  HeapText name;
  writeShardName(name, {prefix.data(), prefix.size() - 1}, entry.shard, header.shards);
  if (name.failed())
    return refuseMemory(status, "what a checkpoint has");
  shard.number = -1;
  if (int32_t code = shard.file.open(name.data(), status))
    return code;
  shard.number = entry.shard;
  return WEIR_OK;
}

int32_t BundleReader::checkSize(const weir_string &key, const BundleEntry &entry, int64_t count,
                                weir_status *status) {
  // A string takes a byte at least.
  int64_t bytes = storedType(entry.type).bytes ? storedType(entry.type).bytes : 1, stored = 0;
  BundleEntry piece;
  HeapText pieceKey;
  for (int64_t i = 0; i < entry.slices.size() || (i == 0 && entry.slices.size() == 0); ++i) {
    const BundleEntry *from = &entry;
    if (entry.slices.size() > 0) {
      pieceKey.clear();
      writeSliceKey(pieceKey, key, entry.slices[i]);
      if (entries.find(pieceKey.view()) < first)
        return damaged(indexName.data(), 0, key, "a slice of it is not there", status);
      if (int32_t code = find(pieceKey.view(), &piece, status))
        return code;
      from = &piece;
    }
    InputFile *file;
    if (int32_t code = shardOf(key, *from, &file, status))
      return code;
    if (int32_t code = file->check(from->offset, from->size, status))
      return code;
    stored += from->size;
  }
  if (count >= 0 && count <= stored / bytes)
    return WEIR_OK;
  return entry.slices.size() > 0 ? lacksSlices(key, status)
                                 : damaged(indexName.data(), 0, key,
                                           "it claims more elements than its shard has", status);
}

static void swapBytes(void *data, int64_t count, int64_t width) {
  auto *bytes = static_cast<char *>(data);
  for (int64_t i = 0; i < count; ++i, bytes += width)
    for (int64_t low = 0, high = width - 1; low < high; ++low, --high) {
      char kept = bytes[low];
      bytes[low] = bytes[high];
      bytes[high] = kept;
    }
}

/// All of what an entry says that it has.
int32_t BundleReader::readValue(const weir_string &key, const BundleEntry &entry, void *to,
                                const StringMemory &memory, weir_status *status) {
  InputFile *file;
  if (int32_t code = shardOf(key, entry, &file, status))
    return code;
  const StoredType &type = storedType(entry.type);
  int64_t count = entry.shape.count();
  const char *problem = nullptr;
  uint32_t crc = 0;
  if (entry.type == storedString) {
    // A string takes a byte at least.
    if (count < 0 || count > entry.size)
      return damaged(file->path(), entry.offset, key, "it claims more strings than bytes", status);
    if (int32_t code = file->check(entry.offset, entry.size, status))
      return code;
    HeapList<char> read;
    if (!read.reserve(entry.size))
      return refuseMemory(status, "what a checkpoint has");
    read.resize(entry.size);
    if (int32_t code = file->read(entry.offset, entry.size, read.data(), status))
      return code;
    auto *strings = static_cast<weir_string *>(to);
    problem = splitStrings(read.data(), entry.size, count, header.isBigEndian, strings, &crc);
    if (!problem && maskCrc(crc) == entry.crc) {
      char *contents = memory.make(memory.self, entry.size);
      if (!contents)
        return refuseMemory(status, "what a checkpoint has");
      memcpy(contents, read.data(), size_t(entry.size));
      for (int64_t i = 0; i < count; ++i)
        strings[i].data = contents + (strings[i].data - read.data());
    }
  } else {
    if (type.bytes == 0 || count < 0 || count > entry.size || count * type.bytes != entry.size)
      return damaged(file->path(), entry.offset, key,
                     "its size in bytes does not fit its type and shape", status);
    if (int32_t code = file->read(entry.offset, entry.size, to, status))
      return code;
    crc = crc32c(to, entry.size);
    if (header.isBigEndian && type.swapped > 1)
      swapBytes(to, entry.size / type.swapped, type.swapped);
  }
  if (!problem && maskCrc(crc) != entry.crc)
    problem = "its checksum is wrong";
  return problem ? damaged(file->path(), entry.offset, key, problem, status) : int32_t(WEIR_OK);
}

/// Elements of several stored slices. All boxes have lengths that are numbers.
int32_t BundleReader::readPart(const weir_string &key, const BundleEntry &entry,
                               const TensorSlice &wanted, void *to, weir_status *status) {
  const StoredType &type = storedType(entry.type);
  int64_t covered = 0;
  HeapText pieceKey;
  BundleEntry piece;
  HeapList<char> read;
  for (int64_t i = 0; i < entry.slices.size() || (i == 0 && entry.slices.size() == 0); ++i) {
    bool isCut = entry.slices.size() > 0;
    TensorSlice box = (isCut ? entry.slices[i] : TensorSlice::whole(entry.shape.rank));
    TensorSlice common, stored = box.within(entry.shape);
    if (!intersect(stored, wanted, &common))
      continue;
    const BundleEntry *from = &entry;
    if (isCut) {
      pieceKey.clear();
      writeSliceKey(pieceKey, key, box);
      if (int32_t code = find(pieceKey.view(), &piece, status))
        return code == WEIR_NOT_FOUND
                   ? damaged(indexName.data(), 0, key, "a slice of it is not there", status)
                   : code;
      from = &piece;
      bool isSame = piece.type == entry.type && piece.shape.rank == stored.rank;
      for (int32_t d = 0; isSame && d < stored.rank; ++d)
        isSame = piece.shape.dims[d] == stored.length[d];
      if (!isSame)
        return damaged(indexName.data(), 0, key, "a slice of it is of another type or shape",
                       status);
    }
    int64_t bytes = elementsOf(stored) * type.bytes;
    read.clear();
    if (from->size != bytes)
      return damaged(indexName.data(), 0, key, "its size in bytes does not fit its type and shape",
                     status);
    if (!read.reserve(bytes))
      return refuseMemory(status, "what a checkpoint has");
    if (int32_t code = readValue(key, *from, read.data(), {}, status))
      return code;
    copySlice(common, stored, read.data(), wanted, to, type.bytes);
    covered += elementsOf(common);
  }
  return covered == elementsOf(wanted) ? int32_t(WEIR_OK) : lacksSlices(key, status);
}

/// What is wrong with the slices of a tensor, null: they are apart, within the whole.
static const char *problemOf(const BundleEntry &entry) {
  for (int64_t i = 0; i < entry.slices.size(); ++i) {
    StoredShape shape;
    if (entry.slices[i].applyTo(entry.shape, &shape, nullptr))
      return "a slice of it is outside of it";
    for (int64_t k = 0; k < i; ++k) {
      TensorSlice common;
      if (intersect(entry.slices[i].within(entry.shape), entry.slices[k].within(entry.shape),
                    &common))
        return "slices of it overlap";
    }
  }
  return nullptr;
}

int32_t BundleReader::read(const weir_string &key, const BundleEntry &entry,
                           const TensorSlice *slice, void *to, const StringMemory &memory,
                           bool asTensorFlow, weir_status *status) {
  bool isCut = entry.slices.size() > 0, isAll = !slice || slice->isWhole(entry.shape);
  if (!isCut && isAll)
    return readValue(key, entry, to, memory, status);
  if (const char *problem = problemOf(entry)) {
    StatusText out(status, WEIR_INTERNAL);
    out << indexName.data() << ": tensor ";
    out.quoted(key.data, key.size) << ": " << problem;
    return WEIR_INTERNAL;
  }
  TensorSlice wanted = (slice ? *slice : TensorSlice::whole(entry.shape.rank)).within(entry.shape);
  // A slice as it is stored can be of any type.
  for (int64_t i = 0; i < entry.slices.size(); ++i)
    if (entry.slices[i].within(entry.shape) == wanted) {
      HeapText pieceKey;
      BundleEntry piece;
      writeSliceKey(pieceKey, key, entry.slices[i]);
      if (int32_t code = find(pieceKey.view(), &piece, status))
        return code;
      if (piece.type != entry.type || piece.shape.count() != elementsOf(wanted))
        return damaged(indexName.data(), 0, key, "a slice of it is of another type or shape",
                       status);
      return readValue(key, piece, to, memory, status);
    }
  const StoredType &type = storedType(entry.type);
  if (type.bytes == 0 || (asTensorFlow && !type.isSliced)) {
    StatusText out(status, WEIR_INVALID_ARGUMENT);
    out << "tensor ";
    out.quoted(key.data, key.size)
        << ": slices of type " << type.name << " are not put together or taken apart";
    return WEIR_INVALID_ARGUMENT;
  }
  return readPart(key, entry, wanted, to, status);
}

} // namespace weir::rt

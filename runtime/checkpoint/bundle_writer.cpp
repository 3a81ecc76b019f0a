//===- bundle_writer.cpp - writing checkpoints of format V2 ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/bundle.h"
#include "checkpoint/crc32c.h"
#include "session/status.h"
#include "support/wire_format.h"

namespace weir::rt {

static int32_t refuseKey(weir_status *status, const weir_string &key, const char *what) {
  StatusText out(status, WEIR_INVALID_ARGUMENT);
  out << "tensor ";
  out.quoted(key.data, key.size) << ": " << what;
  return WEIR_INVALID_ARGUMENT;
}

int32_t BundleWriter::open(const weir_string &name, weir_status *status) {
  prefix.clear();
  prefix << name;
  HeapText path;
  writeShardName(path, name, 0, 1);
  if (prefix.failed() || path.failed())
    return refuseMemory(status, "the index of a checkpoint");
  if (int32_t code = makeFolder(folderOf(name), status))
    return code;
  return data.create(path.data(), status);
}

int32_t BundleWriter::writeStrings(const weir_string *strings, int64_t count, BundleEntry &entry,
                                   weir_status *status) {
  HeapText lengths;
  uint32_t crc = 0;
  for (int64_t i = 0; i < count; ++i) {
    auto length = uint64_t(strings[i].size);
    writeVarint(lengths, length);
    crc = crc32c(&length, length > UINT32_MAX ? 8 : 4, crc);
  }
  uint32_t stored = maskCrc(crc);
  lengths.append(reinterpret_cast<const char *>(&stored), sizeof(stored));
  if (lengths.failed())
    return refuseMemory(status, "the index of a checkpoint");
  crc = crc32c(&stored, sizeof(stored), crc);
  int64_t begin = data.size();
  int32_t code = data.write(lengths.data(), lengths.size(), status);
  for (int64_t i = 0; i < count && !code; ++i) {
    crc = crc32c(strings[i].data, strings[i].size, crc);
    code = data.write(strings[i].data, strings[i].size, status);
  }
  entry.size = data.size() - begin;
  entry.crc = maskCrc(crc);
  return code;
}

int32_t BundleWriter::add(const weir_string &key, int32_t type, const StoredShape &shape,
                          const void *elements, weir_status *status) {
  const StoredType &info = storedType(type);
  int64_t count = shape.count();
  if (key.size == 0)
    return refuseKey(status, key, "a tensor of a checkpoint has a name");
  if (count < 0 || (info.bytes == 0 && type != storedString))
    return refuseKey(status, key, "checkpoints have no tensors of its type or size");
  BundleEntry entry;
  entry.type = type;
  entry.shape = shape;
  entry.offset = data.size();
  if (type == storedString) {
    if (int32_t code =
            writeStrings(static_cast<const weir_string *>(elements), count, entry, status))
      return code;
  } else {
    entry.size = count * info.bytes;
    entry.crc = maskCrc(crc32c(elements, entry.size));
    if (int32_t code = data.write(elements, entry.size, status))
      return code;
  }
  index.add(key, entry);
  return index.failed() ? refuseMemory(status, "the index of a checkpoint") : int32_t(WEIR_OK);
}

int32_t BundleWriter::addSlice(const weir_string &key, int32_t type, const StoredShape &shape,
                               const TensorSlice &slice, const void *elements,
                               weir_status *status) {
  if (slice.isWhole(shape))
    return add(key, type, shape, elements, status);
  if (key.size == 0)
    return refuseKey(status, key, "a tensor of a checkpoint has a name");
  index.addSlice(key, type, shape, slice);
  HeapText pieceKey;
  writeSliceKey(pieceKey, key, slice);
  StoredShape sliced;
  if (pieceKey.failed())
    return refuseMemory(status, "the index of a checkpoint");
  if (int32_t code = slice.applyTo(shape, &sliced, status))
    return code;
  return add(pieceKey.view(), type, sliced, elements, status);
}

int32_t BundleWriter::finish(weir_status *status) {
  if (int32_t code = data.sync(status))
    return code;
  HeapList<const char *> files;
  files.push(data.temporaryName());
  return files.failed() ? refuseMemory(status, "the index of a checkpoint")
                        : publishBundle(prefix.view(), {}, index, files, status);
}

} // namespace weir::rt

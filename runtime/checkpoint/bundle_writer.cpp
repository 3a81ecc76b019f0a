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

#include <errno.h>
#include <unistd.h>

namespace weir::rt {

static int32_t failMemory(weir_status *status) {
  StatusText(status, WEIR_RESOURCE_EXHAUSTED) << "no memory for the index of a checkpoint";
  return WEIR_RESOURCE_EXHAUSTED;
}

static int32_t refuseKey(weir_status *status, const weir_string &key, const char *what) {
  StatusText out(status, WEIR_INVALID_ARGUMENT);
  out << "tensor \"";
  out.append(key.data, key.size < 200 ? key.size : 200) << "\": " << what;
  return WEIR_INVALID_ARGUMENT;
}

//===----------------------------------------------------------------------===//
// The index
//===----------------------------------------------------------------------===//

void IndexBuilder::add(const weir_string &key, const BundleEntry &entry) {
  HeapText value;
  writeEntry(value, entry);
  order.push(list.size());
  list.add(key, value.view());
}

void IndexBuilder::addSlice(const weir_string &key, int32_t type, const StoredShape &shape,
                            const TensorSlice &slice) {
  BundleEntry entry;
  entry.type = type;
  entry.shape = shape;
  entry.slices.push(slice);
  add(key, entry);
}

int32_t IndexBuilder::write(OutputFile &file, const weir_string &prefix, const BundleHeader &header,
                            weir_status *status) {
  if (failed())
    return failMemory(status);
  // By key; of equal ones in the order they came in.
  qsort_r(
      order.data(), size_t(order.size()), sizeof(int64_t),
      [](const void *a, const void *b, void *self) {
        auto &list = *static_cast<const EntryList *>(self);
        int64_t i = *static_cast<const int64_t *>(a), k = *static_cast<const int64_t *>(b);
        int keys = compareBytes(list.key(i), list.key(k));
        return keys ? keys : i < k ? -1 : 1;
      },
      &list);
  HeapText name, value;
  writeIndexName(name, prefix);
  if (name.failed())
    return failMemory(status);
  if (int32_t code = file.create(name.data(), status))
    return code;
  TableWriter table(file);
  writeHeader(value, header);
  if (int32_t code = table.add({"", 0}, value.view(), status))
    return code;
  for (int64_t i = 0; i < order.size();) {
    weir_string key = list.key(order[i]);
    weir_string encoded = list.value(order[i]);
    int64_t next = i + 1;
    BundleEntry all, other;
    for (; next < order.size() && compareBytes(list.key(order[next]), key) == 0; ++next) {
      bool isFirst = next == i + 1;
      if ((isFirst && !readEntry(encoded, &all)) || !readEntry(list.value(order[next]), &other))
        return failMemory(status);
      if (all.slices.size() == 0 || other.slices.size() == 0)
        return refuseKey(status, key, "two tensors of a checkpoint have this name");
      if (all.type != other.type || !(all.shape == other.shape))
        return refuseKey(status, key, "its slices say different types or shapes of the whole");
      if (!all.slices.append(other.slices.data(), other.slices.size()))
        return failMemory(status);
    }
    if (next > i + 1) {
      value.clear();
      writeEntry(value, all);
      encoded = value.view();
    }
    if (int32_t code = table.add(key, encoded, status))
      return code;
    i = next;
  }
  int32_t code = table.finish(status);
  return code ? code : file.sync(status);
}

//===----------------------------------------------------------------------===//
// Bundles
//===----------------------------------------------------------------------===//

int32_t BundleWriter::open(const weir_string &name, weir_status *status) {
  prefix.clear();
  prefix << name;
  HeapText path;
  writeShardName(path, name, 0, 1);
  if (prefix.failed() || path.failed())
    return failMemory(status);
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
    return failMemory(status);
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
  return index.failed() ? failMemory(status) : int32_t(WEIR_OK);
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
    return failMemory(status);
  if (int32_t code = slice.applyTo(shape, &sliced, status))
    return code;
  return add(pieceKey.view(), type, sliced, elements, status);
}

int32_t removeIndex(const weir_string &prefix, weir_status *status) {
  HeapText name;
  writeIndexName(name, prefix);
  if (name.failed())
    return failMemory(status);
  if (unlink(name.data()) == 0)
    return syncFolder(folderOf(prefix), status);
  return errno == ENOENT ? int32_t(WEIR_OK) : failFile(status, name.data(), errno);
}

int32_t BundleWriter::finish(weir_status *status) {
  OutputFile indexFile;
  // What can fail for want of room does so before anything is replaced.
  int32_t code = data.sync(status);
  if (!code)
    code = index.write(indexFile, prefix.view(), {}, status);
  if (!code)
    code = removeIndex(prefix.view(), status);
  if (!code)
    code = data.commit(status);
  if (!code)
    code = syncFolder(folderOf(prefix.view()), status);
  if (!code)
    code = indexFile.commit(status);
  return code ? code : syncFolder(folderOf(prefix.view()), status);
}

} // namespace weir::rt

//===- table_reader.cpp - reading sorted string tables --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/crc32c.h"
#include "checkpoint/snappy.h"
#include "checkpoint/table.h"
#include "session/status.h"
#include "support/wire_format.h"

namespace weir::rt {

static constexpr int64_t footerBytes = 48, trailerBytes = 5;
static constexpr uint64_t magicNumber = 0xdb4775248b80fb57ull;
/// A message of protocol buffers has at most 2 GiB, and a block one too many.
static constexpr int64_t mostBlockBytes = int64_t(1) << 32;

int compareBytes(const weir_string &a, const weir_string &b) {
  int64_t common = a.size < b.size ? a.size : b.size;
  int order = common > 0 ? memcmp(a.data, b.data, size_t(common)) : 0;
  return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

bool EntryList::add(const weir_string &key, const weir_string &value) {
  rows.push({text.size(), key.size, value.size});
  text << key << value;
  return !failed();
}

void EntryList::clear() {
  text.clear();
  rows.clear();
}

int64_t EntryList::lowerBound(const weir_string &wanted) const {
  int64_t low = 0, high = size();
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (compareBytes(key(middle), wanted) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int64_t EntryList::find(const weir_string &wanted) const {
  int64_t i = lowerBound(wanted);
  return i < size() && compareBytes(key(i), wanted) == 0 ? i : -1;
}

int32_t TableReader::fail(int64_t offset, const char *what, weir_status *status) const {
  StatusText(status, WEIR_DATA_LOSS)
      << file->path() << ": it is damaged at offset " << offset << ": " << what;
  return WEIR_DATA_LOSS;
}

static uint32_t fixed32(const char *at) {
  uint32_t value;
  memcpy(&value, at, sizeof(value));
  return value;
}

/// Offsets and sizes beyond 2^62 are damage.
static bool readHandle(const char *&at, const char *end, int64_t *offset, int64_t *size) {
  uint64_t first, second;
  if (!MessageReader::readVarint(at, end, first) || !MessageReader::readVarint(at, end, second) ||
      first >> 62 || second >> 62)
    return false;
  *offset = int64_t(first);
  *size = int64_t(second);
  return true;
}

/// Leaves the contents of a block, checked and decompressed, in `block`.
int32_t TableReader::readBlock(Handle handle, weir_status *status) {
  int64_t size = file->size();
  if (handle.offset > size || handle.size > size - handle.offset ||
      size - handle.offset - handle.size < trailerBytes)
    return fail(handle.offset, "a block lies outside the file", status);
  if (handle.size > mostBlockBytes)
    return fail(handle.offset, "a block is larger than 4 GiB", status);
  raw.clear();
  if (!raw.reserve(handle.size + trailerBytes))
    return refuseMemory(status, "a table");
  raw.resize(handle.size + trailerBytes);
  if (int32_t code = file->read(handle.offset, raw.size(), raw.data(), status))
    return code;
  const char *trailer = raw.data() + handle.size;
  // The checksum is of the type, too.
  if (maskCrc(crc32c(raw.data(), handle.size + 1)) != fixed32(trailer + 1))
    return fail(handle.offset, "the checksum of a block is wrong", status);
  block.clear();
  switch (*trailer) {
  case 0:
    block.append(raw.data(), handle.size);
    break;
  case 1:
    if (!snappyDecompress(raw.data(), handle.size, mostBlockBytes, block) && !block.failed())
      return fail(handle.offset, "a Snappy block is damaged", status);
    break;
  default:
    return fail(handle.offset,
                "expected a block that is plain or compressed by Snappy, got another method",
                status);
  }
  return block.failed() ? refuseMemory(status, "a table") : int32_t(WEIR_OK);
}

/// Entries share prefixes with the one before; offsets at the end of the block only
/// serve searching.
int32_t TableReader::readEntries(Handle handle, EntryList &entries, weir_status *status) {
  if (int32_t code = readBlock(handle, status))
    return code;
  int64_t size = block.size();
  if (size < 4)
    return fail(handle.offset, "a block is too short", status);
  int64_t restarts = fixed32(block.data() + size - 4);
  if (restarts > (size - 4) / 4)
    return fail(handle.offset, "a block claims more restart points than it can hold", status);
  const char *at = block.data(), *end = at + size - 4 - restarts * 4;
  HeapText key;
  while (at != end) {
    uint64_t shared, unshared, length;
    if (!MessageReader::readVarint(at, end, shared) ||
        !MessageReader::readVarint(at, end, unshared) ||
        !MessageReader::readVarint(at, end, length))
      return fail(handle.offset, "an entry is cut off", status);
    auto left = uint64_t(end - at);
    if (shared > uint64_t(key.size()) || unshared > left || length > left - unshared)
      return fail(handle.offset, "an entry is cut off", status);
    key.resize(int64_t(shared));
    key.append(at, int64_t(unshared));
    if (!entries.add(key.view(), {at + unshared, int64_t(length)}) || key.failed())
      return refuseMemory(status, "a table");
    int64_t count = entries.size();
    if (count > 1 && compareBytes(entries.key(count - 2), key.view()) >= 0)
      return fail(handle.offset, "keys are not in order", status);
    at += unshared + length;
  }
  return WEIR_OK;
}

int32_t TableReader::open(InputFile &from, weir_status *status) {
  file = &from;
  index.clear();
  int64_t size = file->size();
  if (size < footerBytes) {
    StatusText(status, WEIR_DATA_LOSS) << file->path() << " is no table: it has " << size
                                       << " bytes, and the end alone takes " << footerBytes;
    return WEIR_DATA_LOSS;
  }
  char footer[footerBytes];
  if (int32_t code = file->read(size - footerBytes, footerBytes, footer, status))
    return code;
  uint64_t magic;
  memcpy(&magic, footer + 40, sizeof(magic));
  if (magic != magicNumber)
    return fail(size - 8, "a table ends with another number (it is cut off, or no table)", status);
  const char *at = footer;
  Handle meta, handle;
  if (!readHandle(at, footer + 40, &meta.offset, &meta.size) ||
      !readHandle(at, footer + 40, &handle.offset, &handle.size))
    return fail(size - footerBytes, "what says where the index is", status);
  indexOffset = handle.offset;
  return readEntries(handle, index, status);
}

int32_t TableReader::handleAt(int64_t i, Handle *handle, weir_status *status) const {
  weir_string value = index.value(i);
  const char *at = value.data;
  return readHandle(at, value.data + value.size, &handle->offset, &handle->size)
             ? int32_t(WEIR_OK)
             : fail(indexOffset, "the index does not say where a block is", status);
}

int32_t TableReader::readAll(EntryList &entries, weir_status *status) {
  for (int64_t i = 0; i < index.size(); ++i) {
    Handle handle;
    if (int32_t code = handleAt(i, &handle, status))
      return code;
    if (int32_t code = readEntries(handle, entries, status))
      return code;
  }
  return WEIR_OK;
}

int32_t TableReader::find(const weir_string &key, HeapText &value, weir_status *status) {
  int64_t i = index.lowerBound(key);
  if (i == index.size())
    return WEIR_NOT_FOUND;
  Handle handle;
  if (int32_t code = handleAt(i, &handle, status))
    return code;
  EntryList entries;
  if (int32_t code = readEntries(handle, entries, status))
    return code;
  int64_t found = entries.find(key);
  if (found < 0)
    return WEIR_NOT_FOUND;
  value.clear();
  value << entries.value(found);
  return value.failed() ? refuseMemory(status, "a table") : int32_t(WEIR_OK);
}

} // namespace weir::rt

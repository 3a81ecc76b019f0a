//===- TableReader.cpp - sorted string tables -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/TableReader.h"

#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/tensorflow/Crc32c.h"
#include "compiler/frontend/tensorflow/Snappy.h"

#include <cstring>

using namespace weir::tf;
using weir::frontend::WireReader;

static constexpr size_t kFooterSize = 48;
static constexpr size_t kTrailerSize = 5; // type byte, checksum
static constexpr uint64_t kMagic = 0xdb4775248b80fb57ull;
static constexpr size_t kMaxBlock = size_t(1) << 28;
static constexpr size_t kMaxTable = size_t(1) << 30;

namespace {

struct Handle {
  uint64_t offset = 0, size = 0;
};

class Reader {
public:
  Reader(std::string_view file, std::string &error) : file(file), error(error) {}
  bool read(TableEntries &entries);

private:
  bool block(Handle handle, std::string &contents);
  bool blockEntries(std::string_view contents, TableEntries &entries);
  bool fail(const char *what) {
    error = what;
    return false;
  }

  std::string_view file;
  std::string &error;
  size_t total = 0; ///< bytes of entries so far
};

} // namespace

static uint32_t fixed32(const char *at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

static bool readHandle(const char *&at, const char *end, Handle &handle) {
  return WireReader::readVarint(at, end, handle.offset) &&
         WireReader::readVarint(at, end, handle.size);
}

/// The contents of a block, checked and decompressed.
bool Reader::block(Handle handle, std::string &contents) {
  if (handle.offset > file.size() || handle.size > file.size() - handle.offset ||
      file.size() - handle.offset - handle.size < kTrailerSize)
    return fail("a block lies outside the file");
  std::string_view raw = file.substr(handle.offset, handle.size);
  const char *trailer = raw.data() + raw.size();
  uint32_t crc = crc32c(std::string_view(raw.data(), raw.size() + 1)); // and its type
  if (maskCrc(crc) != fixed32(trailer + 1))
    return fail("the checksum of a block is wrong");
  if (raw.size() > kMaxBlock)
    return fail("a block is larger than 256 MiB");
  switch (*trailer) {
  case 0:
    contents.assign(raw);
    return true;
  case 1:
    if (snappyDecompress(raw, kMaxBlock, contents))
      return true;
    return fail("a Snappy block is damaged");
  default:
    return fail("a block is compressed in an unknown way; possible are none "
                "and Snappy");
  }
}

/// Entries share prefixes with the one before; restart points at the end of
/// the block only serve searching.
bool Reader::blockEntries(std::string_view contents, TableEntries &entries) {
  if (contents.size() < 4)
    return fail("a block is too short");
  uint64_t restarts = fixed32(contents.data() + contents.size() - 4);
  if (restarts > (contents.size() - 4) / 4)
    return fail("a block claims more restart points than it can hold");
  const char *at = contents.data();
  const char *end = at + contents.size() - 4 - restarts * 4;
  std::string key;
  while (at != end) {
    uint64_t shared, unshared, length;
    if (!WireReader::readVarint(at, end, shared) || !WireReader::readVarint(at, end, unshared) ||
        !WireReader::readVarint(at, end, length))
      return fail("an entry is cut off");
    size_t left = static_cast<size_t>(end - at);
    if (shared > key.size() || unshared > left || length > left - unshared)
      return fail("an entry is cut off");
    key.resize(shared);
    key.append(at, unshared);
    total += key.size() + length;
    if (total > kMaxTable)
      return fail("the table is larger than 1 GiB");
    entries.emplace_back(key, std::string(at + unshared, length));
    at += unshared + length;
  }
  return true;
}

bool Reader::read(TableEntries &entries) {
  if (file.size() < kFooterSize)
    return fail("it is too short");
  const char *footer = file.data() + file.size() - kFooterSize;
  uint64_t magic;
  std::memcpy(&magic, footer + 40, sizeof magic);
  if (magic != kMagic)
    return fail("it does not end with a table's magic number");
  const char *at = footer;
  Handle meta, index;
  if (!readHandle(at, footer + 40, meta) || !readHandle(at, footer + 40, index))
    return fail("its footer is damaged");
  std::string contents;
  TableEntries handles;
  if (!block(index, contents) || !blockEntries(contents, handles))
    return false;
  for (const auto &[key, value] : handles) {
    const char *from = value.data();
    Handle handle;
    if (!readHandle(from, from + value.size(), handle))
      return fail("a block's handle is damaged");
    if (!block(handle, contents) || !blockEntries(contents, entries))
      return false;
  }
  return true;
}

bool weir::tf::readTable(std::string_view file, TableEntries &entries, std::string &error) {
  return Reader(file, error).read(entries);
}

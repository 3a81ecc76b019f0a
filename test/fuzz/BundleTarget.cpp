//===- BundleTarget.cpp - any bytes as a variable bundle --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is the length of the index (four bytes), the index, and one shard.
// Checksums would refuse nearly every change of one, so most changes are followed
// by putting them right: those of the table's blocks, and those that its entries
// give for values.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Bundle.h"
#include "runtime/checkpoint/crc32c.h"
#include "runtime/checkpoint/snappy.h"
#include "test/fuzz/ImportTarget.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

using namespace weir;

namespace {

constexpr size_t lengthBytes = 4, footerBytes = 48, trailerBytes = 5;

/// Index and shard of an input.
struct Parts {
  std::string index, shard;
};

Parts split(std::string_view input) {
  uint32_t length = 0;
  if (input.size() < lengthBytes)
    return {};
  std::memcpy(&length, input.data(), lengthBytes);
  input.remove_prefix(lengthBytes);
  length = std::min<size_t>(length, input.size());
  return {std::string(input.substr(0, length)), std::string(input.substr(length))};
}

std::string join(const Parts &parts) {
  uint32_t length = static_cast<uint32_t>(parts.index.size());
  std::string out(reinterpret_cast<const char *>(&length), lengthBytes);
  return out + parts.index + parts.shard;
}

std::optional<uint64_t> readVarint(std::string_view bytes, size_t &at) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    uint8_t byte = bytes[at++];
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  return std::nullopt;
}

/// Puts the checksum of an entry's value right: its field 6, of the bytes that
/// its fields 4 and 5 give.
void repairEntry(char *begin, size_t size, const std::string &shard) {
  std::string_view value(begin, size);
  uint64_t offset = 0, length = 0;
  char *checksum = nullptr;
  for (size_t at = 0; at < size;) {
    std::optional<uint64_t> tag = readVarint(value, at), number;
    if (!tag)
      return;
    switch (*tag & 7) {
    case 0:
      if (!(number = readVarint(value, at)))
        return;
      if (*tag >> 3 == 4)
        offset = *number;
      if (*tag >> 3 == 5)
        length = *number;
      break;
    case 2:
      if (!(number = readVarint(value, at)) || *number > size - at)
        return;
      at += *number;
      break;
    case 5:
      if (size - at < 4)
        return;
      if (*tag >> 3 == 6)
        checksum = begin + at;
      at += 4;
      break;
    default:
      return;
    }
  }
  if (!checksum || offset > shard.size() || length > shard.size() - offset)
    return;
  uint32_t crc = rt::maskCrc(rt::crc32c(shard.data() + offset, int64_t(length)));
  std::memcpy(checksum, &crc, sizeof crc);
}

/// Calls `visit` with each entry's value in a block that is not compressed.
template <typename Visitor> void forEachValue(char *block, size_t size, Visitor visit) {
  if (size < 4)
    return;
  uint32_t restarts;
  std::memcpy(&restarts, block + size - 4, sizeof restarts);
  if (restarts > (size - 4) / 4)
    return;
  std::string_view entries(block, size - 4 - restarts * 4);
  for (size_t at = 0; at < entries.size();) {
    auto shared = readVarint(entries, at), unshared = readVarint(entries, at),
         length = readVarint(entries, at);
    if (!shared || !unshared || !length || *unshared > entries.size() - at ||
        *length > entries.size() - at - *unshared)
      return;
    at += *unshared;
    visit(block + at, *length);
    at += *length;
  }
}

/// The block that the handle at `at` in `from` gives; null where it lies outside.
char *block(std::string &index, std::string_view from, size_t &at, uint64_t &size) {
  auto offset = readVarint(from, at), length = readVarint(from, at);
  if (!offset || !length || *offset > index.size() || *length > index.size() - *offset ||
      index.size() - *offset - *length < trailerBytes)
    return nullptr;
  size = *length;
  return index.data() + *offset;
}

void sign(char *block, uint64_t size) {
  uint32_t crc = rt::maskCrc(rt::crc32c(block, int64_t(size + 1)));
  std::memcpy(block + size + 1, &crc, sizeof crc);
}

void repair(Parts &parts) {
  if (parts.index.size() < footerBytes)
    return;
  std::string footer = parts.index.substr(parts.index.size() - footerBytes);
  size_t at = 0;
  uint64_t size;
  block(parts.index, footer, at, size); // of the meta-index, which nobody reads
  char *handles = block(parts.index, footer, at, size);
  if (!handles)
    return;
  if (handles[size] == 0)
    forEachValue(handles, size, [&](char *value, size_t length) {
      size_t from = 0;
      uint64_t inner;
      std::string handle(value, length);
      char *data = block(parts.index, handle, from, inner);
      if (!data)
        return;
      if (data[inner] == 0)
        forEachValue(data, inner,
                     [&](char *entry, size_t bytes) { repairEntry(entry, bytes, parts.shard); });
      sign(data, inner);
    });
  sign(handles, size);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view input(reinterpret_cast<const char *>(data), size);
  Parts parts = split(input);
  static const std::string prefix = fuzz::scratchFile("variables");
  fuzz::writeScratch(prefix + ".index", parts.index);
  fuzz::writeScratch(prefix + ".data-00000-of-00001", parts.shard);
  std::string error;
  if (auto bundle = tf::Bundle::open(prefix, error)) {
    for (const std::string &name : bundle->names()) {
      tf::BundleTensor tensor;
      error.clear();
      if (!bundle->read(name, tensor, error) && error.empty())
        std::abort();
    }
  } else if (error.empty()) {
    std::abort();
  }
  // What is in a Snappy block depends on every byte before it: also alone.
  rt::HeapList<char> out;
  if (rt::snappyDecompress(input.data(), int64_t(input.size()), 1 << 20, out) &&
      out.size() > 1 << 20)
    std::abort();
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  Parts parts = split({reinterpret_cast<char *>(data), size});
  if (parts.index.empty() || random() % 4 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string &part = random() % 4 ? parts.index : parts.shard;
  size_t old = part.size(), most = old + 16;
  part.resize(most);
  part.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(part.data()), old,
                               // Offsets in the index hold while its size does.
                               random() % 3 ? std::max<size_t>(old, 1) : most));
  repair(parts);
  std::string mutant = join(parts);
  if (mutant.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, mutant.data(), mutant.size());
  return mutant.size();
}

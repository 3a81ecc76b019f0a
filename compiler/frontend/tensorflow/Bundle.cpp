//===- Bundle.cpp - the variables of a SavedModel -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Bundle.h"

#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/tensorflow/Crc32c.h"
#include "compiler/frontend/tensorflow/GraphReader.h"
#include "compiler/frontend/tensorflow/TableReader.h"
#include "compiler/frontend/tensorflow/TensorDecoder.h"
#include "compiler/frontend/tensorflow/saved_model.pb.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace weir;
using namespace weir::tf;
using frontend::WireReader;

/// BundleEntryProto.
struct Bundle::Entry {
  DataType type = DataType::Invalid;
  std::vector<int64_t> dims;
  int64_t count = 0; ///< elements
  int64_t shard = 0, offset = 0, size = 0;
  uint32_t crc = 0;
  /// Per slice, per dimension: start and length.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> slices;
};

Bundle::~Bundle() = default;

static constexpr int kMaxShards = 100000;

std::unique_ptr<Bundle> Bundle::open(const std::string &prefix, std::string &error) {
  std::string path = prefix + ".index";
  auto index = MappedFile::open(path, error);
  if (!index) {
    error = path + ": " + error;
    return nullptr;
  }
  TableEntries table;
  if (!readTable(index->bytes(), table, error)) {
    error = path + ": " + error;
    return nullptr;
  }
  std::unique_ptr<Bundle> bundle(new Bundle());
  bundle->prefix = prefix;
  bool hasHeader = false;
  for (auto &[key, value] : table) {
    if (key.empty()) {
      proto::BundleHeader header;
      hasHeader = header.ParseFromString(value) && header.num_shards() > 0 &&
                  header.num_shards() <= kMaxShards;
      if (hasHeader && header.endianness() != proto::BundleHeader::LITTLE) {
        error = path + ": the values are big-endian; possible is little-endian";
        return nullptr;
      }
      if (hasHeader)
        bundle->shards.resize(header.num_shards());
      continue;
    }
    proto::BundleEntry message;
    if (!message.ParseFromString(value)) {
      error = path + ": the entry of \"" + key + "\" is damaged";
      return nullptr;
    }
    Entry entry;
    entry.type = toDataType(message.dtype());
    for (const auto &dim : message.shape().dim())
      entry.dims.push_back(dim.size());
    entry.count = elementCount(entry.dims);
    entry.shard = message.shard_id();
    entry.offset = message.offset();
    entry.size = message.size();
    entry.crc = message.crc32c();
    for (const auto &slice : message.slices()) {
      auto &extents = entry.slices.emplace_back();
      for (const auto &extent : slice.extent())
        extents.emplace_back(extent.start(),
                             extent.has_length_case() == proto::TensorSliceProto::Extent::kLength
                                 ? extent.length()
                                 : -1);
    }
    bundle->entries.emplace(std::move(key), std::move(entry));
  }
  if (!hasHeader) {
    error = path + ": the header is missing or damaged";
    return nullptr;
  }
  return bundle;
}

bool Bundle::contains(std::string_view name) const { return entries.find(name) != entries.end(); }

std::vector<std::string> Bundle::names() const {
  std::vector<std::string> list;
  for (const auto &[name, entry] : entries)
    list.push_back(name);
  return list;
}

const MappedFile *Bundle::shard(int64_t number, std::string &error) {
  if (number < 0 || number >= static_cast<int64_t>(shards.size())) {
    error = "it lies in shard " + std::to_string(number) + " of " + std::to_string(shards.size());
    return nullptr;
  }
  if (!shards[number]) {
    char suffix[40];
    std::snprintf(suffix, sizeof suffix, ".data-%05d-of-%05d", static_cast<int>(number),
                  static_cast<int>(shards.size()));
    shards[number] = MappedFile::open(prefix + suffix, error);
    if (!shards[number])
      error = prefix + suffix + ": " + error;
  }
  return shards[number].get();
}

/// Variable-length strings: all lengths as varints, a checksum of the lengths,
/// then the bytes. The checksum counts each length as a fixed32 (a fixed64 if
/// it needs one), then the stored checksum, then the bytes.
bool Bundle::readStrings(const Entry &entry, BundleTensor &tensor, std::string &error) {
  const char *at = tensor.bytes.data(), *end = at + tensor.bytes.size();
  if (entry.count > static_cast<int64_t>(tensor.bytes.size())) {
    error = "it claims more strings than bytes";
    return false;
  }
  std::vector<uint64_t> lengths(entry.count);
  uint32_t crc = 0;
  for (uint64_t &length : lengths) {
    if (!WireReader::readVarint(at, end, length)) {
      error = "its strings are cut off";
      return false;
    }
    bool isWide = length > UINT32_MAX;
    crc = crc32c(std::string_view(reinterpret_cast<const char *>(&length), isWide ? 8 : 4), crc);
  }
  uint32_t stored;
  if (end - at < 4) {
    error = "its strings are cut off";
    return false;
  }
  std::memcpy(&stored, at, 4);
  if (stored != maskCrc(crc)) {
    error = "the checksum of its strings' lengths is wrong";
    return false;
  }
  crc = crc32c(std::string_view(at, 4), crc);
  at += 4;
  for (uint64_t length : lengths) {
    if (length > static_cast<uint64_t>(end - at)) {
      error = "its strings are cut off";
      return false;
    }
    tensor.strings.emplace_back(at, length);
    crc = crc32c(tensor.strings.back(), crc);
    at += length;
  }
  if (maskCrc(crc) == entry.crc)
    return true;
  error = "its checksum is wrong";
  return false;
}

bool Bundle::readWhole(const Entry &entry, BundleTensor &tensor, std::string &error) {
  const MappedFile *data = shard(entry.shard, error);
  if (!data)
    return false;
  int64_t available = static_cast<int64_t>(data->bytes().size());
  if (entry.offset < 0 || entry.size < 0 || entry.offset > available ||
      entry.size > available - entry.offset) {
    error = data->path() + " has " + std::to_string(available) + " bytes; the values claim " +
            std::to_string(entry.size) + " from " + std::to_string(entry.offset) + " on";
    return false;
  }
  tensor.type = entry.type;
  tensor.dims = entry.dims;
  tensor.bytes = data->bytes().substr(entry.offset, entry.size);
  tensor.file = data->path();
  tensor.offset = entry.offset;
  if (entry.type == DataType::String)
    return readStrings(entry, tensor, error);
  int64_t size = elementBytes(entry.type);
  if (size == 0 || entry.count < 0 || entry.count > entry.size ||
      entry.count * size != entry.size) {
    error = "found " + std::to_string(entry.size) + " bytes, which do not fit its type (" +
            std::string(typeName(entry.type)) + ") and shape";
    return false;
  }
  if (maskCrc(crc32c(tensor.bytes)) == entry.crc)
    return true;
  error = "its checksum is wrong";
  return false;
}

/// Copies a slice to its place in the whole tensor, row by row.
static bool placeSlice(const BundleTensor &slice, const std::vector<int64_t> &dims,
                       std::vector<std::pair<int64_t, int64_t>> extents, std::string &whole) {
  if (extents.size() != dims.size())
    return false;
  size_t size = elementBytes(slice.type);
  for (size_t d = 0; d < dims.size(); ++d) {
    auto &[start, length] = extents[d];
    if (length < 0) {
      start = 0;
      length = dims[d];
    }
    if (start < 0 || start > dims[d] || length > dims[d] - start)
      return false;
  }
  int64_t row = dims.empty() ? 1 : extents.back().second;
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < dims.size(); ++d)
    rows *= extents[d].second;
  if (static_cast<uint64_t>(rows * row) * size != slice.bytes.size())
    return false;
  std::vector<int64_t> index(dims.size(), 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      at = at * dims[d] + extents[d].first + index[d];
    std::memcpy(whole.data() + at * size, slice.bytes.data() + r * row * size, row * size);
    for (size_t d = dims.size() - 1; d-- > 0;) {
      if (++index[d] < extents[d].second)
        break;
      index[d] = 0;
    }
  }
  return true;
}

bool Bundle::readSlices(std::string_view name, const Entry &entry, BundleTensor &tensor,
                        std::string &error) {
  int64_t size = elementBytes(entry.type);
  // The slices together hold all values, so their sizes bound the claim.
  int64_t stored = 0;
  std::vector<BundleTensor> parts;
  for (const auto &extents : entry.slices) {
    auto part = entries.find(sliceKey(name, extents));
    if (part == entries.end()) {
      error = "the bundle lists a slice of it that it does not hold";
      return false;
    }
    if (!readWhole(part->second, parts.emplace_back(), error))
      return false;
    if (parts.back().type != entry.type || entry.type == DataType::String) {
      error = "a slice of it is of another type, or of strings";
      return false;
    }
    stored += static_cast<int64_t>(parts.back().bytes.size());
  }
  if (size == 0 || entry.count < 0 || entry.count > stored / size) {
    error = "its slices do not cover it";
    return false;
  }
  tensor.type = entry.type;
  tensor.dims = entry.dims;
  tensor.storage.assign(entry.count * size, '\0');
  for (size_t i = 0; i < parts.size(); ++i)
    if (!placeSlice(parts[i], entry.dims, entry.slices[i], tensor.storage)) {
      error = "a slice of it lies outside it";
      return false;
    }
  return true;
}

bool Bundle::read(std::string_view name, BundleTensor &tensor, std::string &error) {
  tensor = BundleTensor();
  auto it = entries.find(name);
  if (it == entries.end()) {
    error = "the bundle does not hold it";
    return false;
  }
  const Entry &entry = it->second;
  return entry.slices.empty() ? readWhole(entry, tensor, error)
                              : readSlices(name, entry, tensor, error);
}

//===- Bundle.cpp - the variables of a SavedModel -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Bundle.h"

#include "runtime/checkpoint/bundle.h"
#include "runtime/checkpoint/crc32c.h"

#include <map>

using namespace weir;
using namespace weir::tf;

/// The index, and the shards that were looked at, by number.
struct Bundle::Files {
  std::string prefix;
  rt::BundleReader reader;
  std::map<int64_t, std::unique_ptr<MappedFile>> shards;

  const MappedFile *shard(int64_t number, std::string &error);
  bool readWhole(const rt::BundleEntry &entry, BundleTensor &tensor, std::string &error);
  bool readSlices(weir_string name, const rt::BundleEntry &entry, BundleTensor &tensor,
                  std::string &error);
  bool readPart(weir_string name, const rt::BundleEntry &entry, const rt::TensorSlice &part,
                BundleTensor &tensor, std::string &error);
};

/// Where a slice's elements begin in the whole tensor if they lie together there; -1
/// where they do not. Lengths are numbers.
static int64_t togetherAt(const rt::TensorSlice &slice, const rt::StoredShape &shape) {
  int64_t at = 0;
  bool isCut = false; // in a dimension before this one that has several
  for (int32_t d = 0; d < shape.rank; ++d) {
    if (isCut && slice.length[d] != shape.dims[d])
      return -1;
    isCut |= slice.length[d] > 1;
    at = at * shape.dims[d] + slice.start[d];
  }
  return at;
}

Bundle::Bundle() : files(std::make_unique<Files>()) {}
Bundle::~Bundle() = default;

static weir_string viewOf(std::string_view text) {
  return {text.data(), static_cast<int64_t>(text.size())};
}
static std::string_view viewOf(const weir_string &text) {
  return {text.data, static_cast<size_t>(text.size)};
}

std::unique_ptr<Bundle> Bundle::open(const std::string &prefix, std::string &error) {
  std::unique_ptr<Bundle> bundle(new Bundle());
  weir_status status = WEIR_STATUS_INIT;
  bundle->files->prefix = prefix;
  if (bundle->files->reader.open(viewOf(prefix), &status)) {
    error = status.message;
    return nullptr;
  }
  if (bundle->files->reader.info().isBigEndian) {
    error = prefix + ".index: expected little-endian values, got big-endian ones";
    return nullptr;
  }
  return bundle;
}

bool Bundle::contains(std::string_view name) const { return files->reader.contains(viewOf(name)); }

std::vector<std::string> Bundle::names() const {
  std::vector<std::string> list;
  for (int64_t i = 0; i < files->reader.size(); ++i)
    list.emplace_back(viewOf(files->reader.key(i)));
  return list;
}

const MappedFile *Bundle::Files::shard(int64_t number, std::string &error) {
  int64_t count = reader.info().shards;
  if (number < 0 || number >= count) {
    error = "it lies in shard " + std::to_string(number) + " of " + std::to_string(count);
    return nullptr;
  }
  std::unique_ptr<MappedFile> &file = shards[number];
  if (!file) {
    rt::HeapText name;
    rt::writeShardName(name, viewOf(prefix), number, count);
    file = MappedFile::open(name.data(), error);
    if (!file)
      error = std::string(name.data()) + ": " + error;
  }
  return file.get();
}

bool Bundle::Files::readWhole(const rt::BundleEntry &entry, BundleTensor &tensor,
                              std::string &error) {
  const MappedFile *data = shard(entry.shard, error);
  if (!data)
    return false;
  auto available = static_cast<int64_t>(data->bytes().size());
  if (entry.offset < 0 || entry.size < 0 || entry.offset > available ||
      entry.size > available - entry.offset) {
    error = data->path() + " has " + std::to_string(available) + " bytes; the values claim " +
            std::to_string(entry.size) + " from " + std::to_string(entry.offset) + " on";
    return false;
  }
  tensor.bytes = data->bytes().substr(entry.offset, entry.size);
  tensor.file = data->path();
  tensor.offset = entry.offset;
  int64_t count = entry.shape.count(), size = elementBytes(tensor.type);
  uint32_t crc = 0;
  if (tensor.type == DataType::String) {
    // A string takes a byte at least.
    if (count < 0 || count > entry.size) {
      error = "it claims more strings than bytes";
      return false;
    }
    std::vector<weir_string> strings(count);
    if (const char *problem =
            rt::splitStrings(tensor.bytes.data(), entry.size, count, false, strings.data(), &crc)) {
      error = problem;
      return false;
    }
    for (const weir_string &string : strings)
      tensor.strings.push_back(viewOf(string));
  } else if (size == 0 || count < 0 || count > entry.size || count * size != entry.size) {
    error = "found " + std::to_string(entry.size) + " bytes, which do not fit its type (" +
            std::string(typeName(tensor.type)) + ") and shape";
    return false;
  } else {
    crc = rt::crc32c(tensor.bytes.data(), entry.size);
  }
  if (rt::maskCrc(crc) == entry.crc)
    return true;
  error = "its checksum is wrong";
  return false;
}

bool Bundle::Files::readSlices(weir_string name, const rt::BundleEntry &entry, BundleTensor &tensor,
                               std::string &error) {
  if (tensor.type == DataType::String) {
    error = "it is strings in slices";
    return false;
  }
  weir_status status = WEIR_STATUS_INIT;
  int64_t count = entry.shape.count();
  if (reader.checkSize(name, entry, count, &status)) {
    error = status.message;
    return false;
  }
  tensor.storage.assign(count * elementBytes(tensor.type), '\0');
  if (!reader.read(name, entry, nullptr, tensor.storage.data(), {}, false, &status))
    return true;
  error = status.message;
  return false;
}

bool Bundle::read(std::string_view name, BundleTensor &tensor, std::string &error) {
  tensor = BundleTensor();
  rt::BundleEntry entry;
  weir_status status = WEIR_STATUS_INIT;
  if (int32_t code = files->reader.find(viewOf(name), &entry, &status)) {
    error = code == WEIR_NOT_FOUND ? "the bundle does not hold it" : status.message;
    return false;
  }
  tensor.type = toDataType(entry.type);
  tensor.dims.assign(entry.shape.dims, entry.shape.dims + entry.shape.rank);
  return entry.slices.size() == 0 ? files->readWhole(entry, tensor, error)
                                  : files->readSlices(viewOf(name), entry, tensor, error);
}

bool Bundle::Files::readPart(weir_string name, const rt::BundleEntry &entry,
                             const rt::TensorSlice &part, BundleTensor &tensor,
                             std::string &error) {
  rt::TensorSlice box = part.within(entry.shape);
  int64_t count = rt::elementsOf(box);
  // As it was stored: it stays where it is.
  for (int64_t i = 0; i < entry.slices.size(); ++i) {
    if (!(entry.slices[i].within(entry.shape) == box))
      continue;
    rt::HeapText key;
    rt::writeSliceKey(key, name, entry.slices[i]);
    rt::BundleEntry piece;
    weir_status status = WEIR_STATUS_INIT;
    if (reader.find(key.view(), &piece, &status) || piece.type != entry.type ||
        piece.shape.count() != count) {
      error = "a slice of it is missing, or of another type or shape";
      return false;
    }
    return readWhole(piece, tensor, error);
  }
  int64_t size = elementBytes(tensor.type);
  if (entry.slices.size() == 0) {
    if (!readWhole(entry, tensor, error))
      return false;
    rt::TensorSlice all = rt::TensorSlice::whole(entry.shape.rank).within(entry.shape);
    if (tensor.type == DataType::String) {
      std::vector<std::string_view> cut(count);
      rt::copySlice(box, all, tensor.strings.data(), box, cut.data(), sizeof(std::string_view));
      tensor.strings = std::move(cut);
      return true;
    }
    if (int64_t at = togetherAt(box, entry.shape); at >= 0 || count == 0) {
      at = count == 0 ? 0 : at * size;
      tensor.bytes = tensor.bytes.substr(at, count * size);
      tensor.offset += at;
      return true;
    }
    tensor.storage.assign(count * size, '\0');
    rt::copySlice(box, all, tensor.bytes.data(), box, tensor.storage.data(), size);
    tensor.bytes = {};
    return true;
  }
  if (tensor.type == DataType::String) {
    error = "it is strings in slices";
    return false;
  }
  weir_status status = WEIR_STATUS_INIT;
  if (!reader.checkSize(name, entry, entry.shape.count(), &status)) {
    tensor.storage.assign(count * size, '\0');
    if (!reader.read(name, entry, &part, tensor.storage.data(), {}, false, &status))
      return true;
  }
  error = status.message;
  return false;
}

std::optional<std::vector<int64_t>> Bundle::shapeOf(std::string_view name,
                                                    std::string_view part) const {
  rt::BundleEntry entry;
  rt::StoredShape whole, shape;
  rt::TensorSlice slice;
  weir_status status = WEIR_STATUS_INIT;
  if (files->reader.find(viewOf(name), &entry, &status))
    return std::nullopt;
  shape = entry.shape;
  if (!part.empty() && rt::parseShapeAndSlice(viewOf(part), &whole, &slice, &shape, &status))
    return std::nullopt;
  return std::vector<int64_t>(shape.dims, shape.dims + shape.rank);
}

bool Bundle::read(std::string_view name, std::string_view part, BundleTensor &tensor,
                  std::string &error) {
  if (part.empty())
    return read(name, tensor, error);
  tensor = BundleTensor();
  rt::BundleEntry entry;
  rt::StoredShape whole, shape;
  rt::TensorSlice slice;
  weir_status status = WEIR_STATUS_INIT;
  if (int32_t code = files->reader.find(viewOf(name), &entry, &status)) {
    error = code == WEIR_NOT_FOUND ? "the bundle does not hold it" : status.message;
    return false;
  }
  if (rt::parseShapeAndSlice(viewOf(part), &whole, &slice, &shape, &status)) {
    error = status.message;
    return false;
  }
  if (!(whole == entry.shape)) {
    char text[200];
    rt::Text out(text, sizeof(text));
    out << "it is of shape " << entry.shape << ", and is asked for as part of one of shape "
        << whole;
    error = text;
    return false;
  }
  if (slice.isWhole(whole))
    return read(name, tensor, error);
  tensor.type = toDataType(entry.type);
  tensor.dims.assign(shape.dims, shape.dims + shape.rank);
  return files->readPart(viewOf(name), entry, slice, tensor, error);
}

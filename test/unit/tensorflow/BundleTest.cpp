//===- BundleTest.cpp - tables and the variables in them ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Bundle.h"
#include "runtime/checkpoint/bundle.h"
#include "runtime/checkpoint/crc32c.h"
#include "test/unit/tensorflow/GraphWriter.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace weir::tf;
using namespace weir::tf::test;
using weir::rt::maskCrc;
namespace fs = std::filesystem;

namespace {

using TableEntries = std::vector<std::pair<std::string, std::string>>;

uint32_t crc32c(std::string_view bytes, uint32_t seed = 0) {
  return weir::rt::crc32c(bytes.data(), int64_t(bytes.size()), seed);
}

std::string sliceKey(const std::string &name,
                     const std::vector<std::pair<int64_t, int64_t>> &extents) {
  weir::rt::TensorSlice slice;
  for (auto [start, length] : extents) {
    slice.start[slice.rank] = start;
    slice.length[slice.rank++] = length;
  }
  weir::rt::HeapText key;
  weir::rt::writeSliceKey(key, {name.data(), int64_t(name.size())}, slice);
  return {key.data(), size_t(key.size())};
}

bool isTable(const std::string &bytes) {
  weir::rt::InputFile file;
  weir::rt::TableReader table;
  weir::rt::EntryList entries;
  file.openMemory("t", bytes.data(), int64_t(bytes.size()));
  return !table.open(file, nullptr) && !table.readAll(entries, nullptr);
}

std::string fixed32(uint32_t value) { return raw<uint32_t>({value}); }

/// A block of entries without shared prefixes, with type and checksum.
std::string block(const TableEntries &entries) {
  std::string out;
  for (const auto &[key, value] : entries)
    out += varint(0) + varint(key.size()) + varint(value.size()) + key + value;
  out += fixed32(0) + fixed32(1) + std::string(1, '\0');
  return out + fixed32(maskCrc(crc32c(out)));
}

std::string table(const TableEntries &entries) {
  std::string out = block(entries);
  std::string handle = varint(0) + varint(out.size() - 5);
  std::string index = block({{"zzz", handle}});
  std::string meta = block({});
  uint64_t metaAt = out.size();
  out += meta;
  uint64_t indexAt = out.size();
  out += index;
  std::string footer =
      varint(metaAt) + varint(meta.size() - 5) + varint(indexAt) + varint(index.size() - 5);
  footer.resize(40, '\0');
  return out + footer + raw<uint64_t>({0xdb4775248b80fb57ull});
}

struct Folder {
  fs::path path;
  Folder() {
    path = fs::temp_directory_path() / ("weir-bundle-" + std::to_string(getpid()));
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string prefix() const { return (path / "v").string(); }
  void write(const std::string &name, const std::string &contents) {
    std::ofstream(path / name, std::ios::binary) << contents;
  }
};

std::string entry(int64_t type, const std::vector<int64_t> &dims, int64_t offset,
                  const std::string &data, int64_t shard = 0) {
  return number(1, type) + bytes(2, shape(dims)) + number(3, shard) + number(4, offset) +
         number(5, static_cast<int64_t>(data.size())) + varint(6 << 3 | 5) +
         fixed32(maskCrc(crc32c(data)));
}

const std::string kHeader = number(1, 2) + bytes(3, number(1, 1));

} // namespace

TEST(Bundle, ReadsTensorsFromShards) {
  Folder folder;
  std::string a = raw<float>({1, 2, 3}), b = raw<int64_t>({7});
  folder.write("v.index",
               table({{"", kHeader}, {"a", entry(1, {3}, 0, a)}, {"b", entry(9, {}, 4, b, 1)}}));
  folder.write("v.data-00000-of-00002", a);
  folder.write("v.data-00001-of-00002", "skip" + b);
  std::string error;
  auto bundle = Bundle::open(folder.prefix(), error);
  ASSERT_TRUE(bundle) << error;
  BundleTensor tensor;
  ASSERT_TRUE(bundle->read("a", tensor, error)) << error;
  EXPECT_EQ(tensor.bytes, a);
  EXPECT_EQ(tensor.dims, std::vector<int64_t>{3});
  ASSERT_TRUE(bundle->read("b", tensor, error)) << error;
  EXPECT_EQ(tensor.bytes, b);
  EXPECT_EQ(tensor.offset, 4);
  EXPECT_FALSE(bundle->read("c", tensor, error));
}

TEST(Bundle, ReadsStrings) {
  Folder folder;
  uint32_t lengths = crc32c(raw<uint32_t>({2, 0}));
  std::string stored = fixed32(maskCrc(lengths));
  std::string data = varint(2) + varint(0) + stored + "hi";
  uint32_t crc = crc32c("hi", crc32c(stored, lengths));
  std::string meta = number(1, 7) + bytes(2, shape({2})) +
                     number(5, static_cast<int64_t>(data.size())) + varint(6 << 3 | 5) +
                     fixed32(maskCrc(crc));
  folder.write("v.index", table({{"", kHeader}, {"s", meta}}));
  folder.write("v.data-00000-of-00002", data);
  std::string error;
  auto bundle = Bundle::open(folder.prefix(), error);
  ASSERT_TRUE(bundle) << error;
  BundleTensor tensor;
  ASSERT_TRUE(bundle->read("s", tensor, error)) << error;
  EXPECT_EQ(tensor.strings, (std::vector<std::string_view>{"hi", ""}));
}

TEST(Bundle, PutsSlicesTogether) {
  Folder folder;
  // [2, 4] in two halves of the second dimension.
  std::string left = raw<float>({1, 2, 5, 6}), right = raw<float>({3, 4, 7, 8});
  auto extent = [](int64_t start, int64_t length) {
    return bytes(1, (start ? number(1, start) : "") + number(2, length));
  };
  std::string whole = number(1, 1) + bytes(2, shape({2, 4})) +
                      bytes(7, bytes(1, "") + extent(0, 2)) + bytes(7, bytes(1, "") + extent(2, 2));
  folder.write("v.index", table({{"", kHeader},
                                 {sliceKey("w", {{0, -1}, {0, 2}}), entry(1, {2, 2}, 0, left)},
                                 {sliceKey("w", {{0, -1}, {2, 2}}), entry(1, {2, 2}, 16, right)},
                                 {"w", whole}}));
  folder.write("v.data-00000-of-00002", left + right);
  std::string error;
  auto bundle = Bundle::open(folder.prefix(), error);
  ASSERT_TRUE(bundle) << error;
  BundleTensor tensor;
  ASSERT_TRUE(bundle->read("w", tensor, error)) << error;
  EXPECT_EQ(tensor.storage, raw<float>({1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Bundle, NoticesDamage) {
  Folder folder;
  std::string a = raw<float>({1, 2, 3});
  std::string index = table({{"", kHeader},
                             {"a", entry(1, {3}, 0, a)},
                             {"big", entry(1, {int64_t(1) << 40}, 0, a)},
                             {"far", entry(1, {3}, 1000, a)}});
  folder.write("v.index", index);
  std::string damaged = a;
  damaged[5] ^= 1;
  folder.write("v.data-00000-of-00002", damaged);
  std::string error;
  auto bundle = Bundle::open(folder.prefix(), error);
  ASSERT_TRUE(bundle) << error;
  BundleTensor tensor;
  EXPECT_FALSE(bundle->read("a", tensor, error));
  EXPECT_NE(error.find("checksum"), std::string::npos);
  EXPECT_FALSE(bundle->read("big", tensor, error));
  EXPECT_FALSE(bundle->read("far", tensor, error));
  // Every single flipped bit of the index is noticed, or changes nothing that
  // is read; nothing crashes.
  for (size_t i = 0; i < index.size(); ++i) {
    std::string other = index;
    other[i] ^= 0x10;
    (void)isTable(other);
  }
  EXPECT_TRUE(isTable(index));
  std::string other = index;
  other[3] ^= 1;
  EXPECT_FALSE(isTable(other));
  EXPECT_FALSE(isTable(index.substr(0, index.size() - 1)));
  EXPECT_FALSE(isTable(""));
}

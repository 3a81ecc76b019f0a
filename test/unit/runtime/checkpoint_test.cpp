//===- checkpoint_test.cpp - files that checkpoints are ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/crc32c.h"
#include "checkpoint/slices_file.h"
#include "checkpoint/snappy.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace weir::rt;
namespace fs = std::filesystem;

namespace {

weir_string viewOf(const std::string &text) { return {text.data(), int64_t(text.size())}; }
std::string stringOf(const weir_string &text) { return {text.data, size_t(text.size)}; }

/// A folder of the test's own.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "weir-checkpoint-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string &name) const { return (path / name).string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file())
        names.push_back(fs::relative(entry.path(), path).string());
    std::sort(names.begin(), names.end());
    return names;
  }
};

std::string read(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

StoredShape shapeOf(std::initializer_list<int64_t> dims) {
  StoredShape shape;
  for (int64_t size : dims)
    shape.dims[shape.rank++] = size;
  return shape;
}

/// Contents of strings that are read.
struct Arena {
  std::vector<std::unique_ptr<char[]>> blocks;
  static char *make(void *self, int64_t bytes) {
    auto &blocks = static_cast<Arena *>(self)->blocks;
    blocks.push_back(std::make_unique<char[]>(size_t(bytes) + 1));
    return blocks.back().get();
  }
  StringMemory memory() { return {make, this}; }
};

/// What a bundle has of a key, or the code of the failure.
std::string readBundle(const std::string &prefix, const std::string &key,
                       const char *slice = nullptr, bool asTensorFlow = true) {
  BundleReader bundle;
  BundleEntry entry;
  weir_status status = WEIR_STATUS_INIT;
  int32_t code = bundle.open(viewOf(prefix), &status);
  if (!code)
    code = bundle.find(viewOf(key), &entry, &status);
  StoredShape shape, sliced = entry.shape;
  TensorSlice box;
  if (!code && slice)
    code = parseShapeAndSlice(viewOf(slice), &shape, &box, &sliced, &status);
  if (code)
    return weir_code_name(code);
  Arena arena;
  bool areStrings = entry.type == storedString;
  size_t size = areStrings ? sizeof(weir_string) : size_t(storedType(entry.type).bytes);
  std::string out(size_t(sliced.count()) * size, '?');
  code = bundle.read(viewOf(key), entry, slice ? &box : nullptr, out.data(), arena.memory(),
                     asTensorFlow, &status);
  if (code)
    return weir_code_name(code);
  if (!areStrings)
    return out;
  std::string all;
  for (int64_t i = 0; i < sliced.count(); ++i)
    all += stringOf(reinterpret_cast<weir_string *>(out.data())[i]) + ";";
  return all;
}

/// As weir_string, which the vector's strings outlive.
std::vector<weir_string> viewsOf(const std::vector<std::string> &texts) {
  std::vector<weir_string> views;
  for (const std::string &text : texts)
    views.push_back(viewOf(text));
  return views;
}

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

void writeBundle(const std::string &prefix, const std::string &key,
                 const std::vector<float> &values) {
  BundleWriter writer;
  weir_status status = WEIR_STATUS_INIT;
  ASSERT_EQ(writer.open(viewOf(prefix), &status), WEIR_OK) << status.message;
  ASSERT_EQ(writer.add(viewOf(key), 1, shapeOf({int64_t(values.size())}), values.data(), &status),
            WEIR_OK);
  ASSERT_EQ(writer.finish(&status), WEIR_OK) << status.message;
}

bool expand(const std::string &block, std::string &out) {
  HeapList<char> list;
  bool isGood = snappyDecompress(block.data(), int64_t(block.size()), 1 << 20, list);
  out.assign(list.data() ? list.data() : "", size_t(list.size()));
  return isGood;
}

} // namespace

TEST(Crc32c, KnownValues) {
  // RFC 3720, B.4.
  auto crc = [](const std::string &bytes, uint32_t seed = 0) {
    return crc32c(bytes.data(), int64_t(bytes.size()), seed);
  };
  EXPECT_EQ(crc(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc("123456789"), 0xe3069283u);
  EXPECT_EQ(crc("6789", crc("12345")), 0xe3069283u);
}

TEST(Snappy, LiteralsAndCopies) {
  std::string out;
  // "abc", then four bytes from three back: overlapping.
  ASSERT_TRUE(expand(std::string("\x07\x08"
                                 "abc"
                                 "\x01\x03",
                                 7),
                     out));
  EXPECT_EQ(out, "abcabca");
}

TEST(Snappy, RefusesWhatLies) {
  std::string out;
  EXPECT_FALSE(expand(std::string("\x07\x08"
                                  "ab",
                                  4),
                      out)); // literal longer than the block
  EXPECT_FALSE(expand(std::string("\x04\x00"
                                  "a"
                                  "\x01\x05",
                                  5),
                      out));                     // from before the beginning
  EXPECT_FALSE(expand("\xff\xff\xff\x7f", out)); // limit
  EXPECT_FALSE(expand(std::string("\x05\x00"
                                  "a",
                                  3),
                      out)); // shorter than it says
}

TEST(Table, KeepsManyEntries) {
  Folder folder;
  std::mt19937 random(1);
  std::map<std::string, std::string> entries{{"", "head"}};
  for (int i = 0; i < 20000; ++i) {
    std::string key = "layer/" + std::to_string(random() % 100000), value;
    for (unsigned n = random() % 60; n; --n)
      value += char(random());
    entries[key] = value;
  }
  OutputFile out;
  ASSERT_EQ(out.create((folder / "t").c_str(), nullptr), WEIR_OK);
  TableWriter writer(out);
  for (const auto &[key, value] : entries)
    ASSERT_EQ(writer.add(viewOf(key), viewOf(value), nullptr), WEIR_OK);
  ASSERT_EQ(writer.finish(nullptr), WEIR_OK);
  ASSERT_EQ(out.commit(nullptr), WEIR_OK);
  InputFile file;
  TableReader reader;
  EntryList list;
  ASSERT_EQ(file.open((folder / "t").c_str(), nullptr), WEIR_OK);
  ASSERT_EQ(reader.open(file, nullptr), WEIR_OK);
  ASSERT_EQ(reader.readAll(list, nullptr), WEIR_OK);
  ASSERT_EQ(size_t(list.size()), entries.size());
  int64_t i = 0;
  for (const auto &[key, value] : entries) {
    EXPECT_EQ(stringOf(list.key(i)), key);
    EXPECT_EQ(stringOf(list.value(i++)), value);
  }
  HeapText value;
  EXPECT_EQ(reader.find(viewOf(entries.rbegin()->first), value, nullptr), WEIR_OK);
  EXPECT_EQ(stringOf(value.view()), entries.rbegin()->second);
  EXPECT_EQ(reader.find(viewOf("layer/x"), value, nullptr), WEIR_NOT_FOUND);
}

TEST(Slice, KeysAndText) {
  // Number 0, name, rank 2, then 0 -1 and 64 2.
  TensorSlice slice = TensorSlice::whole(2);
  slice.start[1] = 64;
  slice.length[1] = 2;
  HeapText key;
  writeSliceKey(key, {"w", 1}, slice);
  EXPECT_EQ(stringOf(key.view()), std::string("\x00w\x00\x01\x01\x02\x80\x7f\xc0\x40\x82", 11));

  StoredShape shape, sliced;
  auto parse = [&](const char *text) {
    return parseShapeAndSlice(viewOf(text), &shape, &slice, &sliced, nullptr);
  };
  EXPECT_EQ(parse("7 4 0,3:-"), WEIR_OK);
  EXPECT_TRUE(shape == shapeOf({7, 4}));
  EXPECT_TRUE(sliced == shapeOf({3, 4}));
  for (const char *bad : {"7 4 0,0:-", "7 4 -1,1:-", "x 4 0,1:-", "-", " ", "7  4 0,1:-",
                          "7 4 0,1:- ", "7 4 1:-", "-7 4 0,1:-", ""})
    EXPECT_EQ(parse(bad), WEIR_INVALID_ARGUMENT) << bad;
  for (const char *outside : {"7 4 7,1:-", "7 4 0,8:-", "7 4 0,1", "7 4 -:-:-"})
    EXPECT_EQ(parse(outside), WEIR_INTERNAL) << outside;
}

TEST(CheckpointBundle, AllTypesAndShapes) {
  Folder folder;
  std::string prefix = folder / "new/p";
  BundleWriter writer;
  weir_status status = WEIR_STATUS_INIT;
  ASSERT_EQ(writer.open(viewOf(prefix), &status), WEIR_OK) << status.message;
  std::map<std::string, std::string> expected;
  for (int32_t type = 1; type < 40; ++type) {
    int64_t bytes = storedType(type).bytes;
    if (!bytes)
      continue;
    std::string all;
    for (int64_t i = 0; i < 6 * bytes; ++i)
      all += char(17 * i + type);
    std::string name = std::string("\xc3\xa4/") + storedType(type).name;
    ASSERT_EQ(writer.add(viewOf(name), type, shapeOf({2, 3}), all.data(), &status), WEIR_OK);
    ASSERT_EQ(writer.add(viewOf(name + "/scalar"), type, {}, all.data(), &status), WEIR_OK);
    ASSERT_EQ(writer.add(viewOf(name + "/empty"), type, shapeOf({0, 2}), nullptr, &status),
              WEIR_OK);
    expected[name] = all;
    expected[name + "/scalar"] = all.substr(0, size_t(bytes));
    expected[name + "/empty"] = "";
  }
  auto texts = std::vector<std::string>{"", std::string("a\0b", 3), std::string(300, 'x')};
  ASSERT_EQ(writer.add({"text", 4}, storedString, shapeOf({3}), viewsOf(texts).data(), &status),
            WEIR_OK);
  ASSERT_EQ(writer.add({"none", 4}, storedString, shapeOf({0}), nullptr, &status), WEIR_OK);
  expected["text"] = ";" + texts[1] + ";" + texts[2] + ";";
  expected["none"] = "";
  // Nothing is there before the end.
  for (const std::string &file : folder.files())
    EXPECT_NE(file.find(".tempstate"), std::string::npos) << file;
  ASSERT_EQ(writer.finish(&status), WEIR_OK) << status.message;
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"new/p.data-00000-of-00001", "new/p.index"}));
  for (const auto &[name, bytes] : expected)
    EXPECT_EQ(readBundle(prefix, name), bytes) << name;
  EXPECT_EQ(readBundle(prefix, "other"), "NOT_FOUND");
}

TEST(CheckpointBundle, LargeOnesStandBehindSmallOnes) {
  // Sizes around what is written in one piece, and around half of it.
  Folder folder;
  std::string prefix = folder / "p";
  BundleWriter writer;
  ASSERT_EQ(writer.open(viewOf(prefix), nullptr), WEIR_OK);
  std::map<std::string, std::vector<float>> expected;
  for (int64_t size : {3, 33000, 64, 40000, 32768, 5, 32769, 65536, 1, 70000, 2, 65535, 65537, 7}) {
    std::string name = "t" + std::to_string(expected.size());
    std::vector<float> &values = expected[name];
    for (int64_t i = 0; i < size; ++i)
      values.push_back(float(i % 1013) + float(expected.size()) / 32);
    ASSERT_EQ(writer.add(viewOf(name), 1, shapeOf({size}), values.data(), nullptr), WEIR_OK);
  }
  ASSERT_EQ(writer.finish(nullptr), WEIR_OK);
  for (auto &[name, values] : expected)
    EXPECT_EQ(readBundle(prefix, name), bytesOf(values)) << name;
}

TEST(CheckpointBundle, SlicesAreTakenApartAndPutTogether) {
  Folder folder;
  std::string prefix = folder / "p";
  std::vector<int32_t> whole(7 * 4);
  for (size_t i = 0; i < whole.size(); ++i)
    whole[i] = int32_t(i);
  BundleWriter writer;
  ASSERT_EQ(writer.open(viewOf(prefix), nullptr), WEIR_OK);
  for (const char *text : {"7 4 5,2:-", "7 4 0,3:-", "7 4 3,2:-"}) {
    StoredShape shape, sliced;
    TensorSlice slice;
    ASSERT_EQ(parseShapeAndSlice(viewOf(text), &shape, &slice, &sliced, nullptr), WEIR_OK);
    ASSERT_EQ(
        writer.addSlice({"t", 1}, 3, shape, slice, &whole[size_t(slice.start[0]) * 4], nullptr),
        WEIR_OK);
  }
  ASSERT_EQ(writer.finish(nullptr), WEIR_OK);
  EXPECT_EQ(readBundle(prefix, "t"), bytesOf(whole));
  EXPECT_EQ(readBundle(prefix, "t", "7 4 2,4:1,2"),
            bytesOf<int32_t>({9, 10, 13, 14, 17, 18, 21, 22}));
  EXPECT_EQ(readBundle(prefix, "t", "7 4 -:3,1"), bytesOf<int32_t>({3, 7, 11, 15, 19, 23, 27}));
  EXPECT_EQ(readBundle(prefix, "t", "7 4 3,2:-").size(), 32u);
}

TEST(CheckpointBundle, GapsOverlapsAndTypes) {
  Folder folder;
  std::vector<float> values(8);
  auto save = [&](const std::string &name, int32_t type, std::vector<const char *> slices) {
    BundleWriter writer;
    writer.open(viewOf(folder / name), nullptr);
    int32_t code = WEIR_OK;
    for (const char *text : slices) {
      StoredShape shape, sliced;
      TensorSlice slice;
      parseShapeAndSlice(viewOf(text), &shape, &slice, &sliced, nullptr);
      code = code ? code : writer.addSlice({"t", 1}, type, shape, slice, values.data(), nullptr);
    }
    return code ? code : writer.finish(nullptr);
  };
  EXPECT_EQ(save("gap", 1, {"6 0,2", "6 4,2"}), WEIR_OK);
  EXPECT_EQ(readBundle(folder / "gap", "t"), "INVALID_ARGUMENT");
  EXPECT_EQ(readBundle(folder / "gap", "t", "6 4,1").size(), 4u);
  EXPECT_EQ(save("overlap", 1, {"6 0,3", "6 2,4"}), WEIR_OK);
  EXPECT_EQ(readBundle(folder / "overlap", "t"), "INTERNAL");
  EXPECT_EQ(save("twice", 1, {"6 0,3", "6 0,3"}), WEIR_INVALID_ARGUMENT);
  // What TensorFlow does not put together is only refused where its ways are asked for.
  EXPECT_EQ(save("half", 19, {"6 0,3", "6 3,3"}), WEIR_OK);
  EXPECT_EQ(readBundle(folder / "half", "t"), "INVALID_ARGUMENT");
  EXPECT_EQ(readBundle(folder / "half", "t", nullptr, false).size(), 12u);
  EXPECT_EQ(readBundle(folder / "half", "t", "6 3,3").size(), 6u);
}

TEST(CheckpointBundle, DamageIsNoticed) {
  Folder folder;
  std::string prefix = folder / "p";
  writeBundle(prefix, "x", {1, 2, 3, 4});
  std::string index = read(prefix + ".index"), data = read(prefix + ".data-00000-of-00001");
  auto outcome = [&](const std::string &newIndex, const std::string &newData) {
    write(prefix + ".index", newIndex);
    write(prefix + ".data-00000-of-00001", newData);
    return readBundle(prefix, "x");
  };
  EXPECT_EQ(outcome(index, data), data);
  EXPECT_EQ(outcome(index, data + "more"), data);
  for (size_t length = 0; length < data.size(); ++length)
    EXPECT_EQ(outcome(index, data.substr(0, length)), "OUT_OF_RANGE");
  for (size_t length = 0; length < index.size(); ++length)
    EXPECT_EQ(outcome(index.substr(0, length), data), "DATA_LOSS");
  for (size_t i = 0; i < data.size(); ++i) {
    std::string other = data;
    other[i] ^= 1;
    EXPECT_EQ(outcome(index, other), "DATA_LOSS");
  }
  // Only the block that describes others, where there is nothing to describe, and the
  // footer's filling mean nothing.
  size_t ignored = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    std::string other = index;
    other[i] ^= 0x10;
    std::string found = outcome(other, data);
    ignored += found == data;
    EXPECT_TRUE(found == "DATA_LOSS" || found == data) << i << found;
  }
  EXPECT_LE(ignored, 13u + 38u);
  EXPECT_EQ(outcome(index, data), data);
  fs::remove(prefix + ".data-00000-of-00001");
  EXPECT_EQ(readBundle(prefix, "x"), "NOT_FOUND");
  EXPECT_EQ(readBundle(folder / "none", "x"), "NOT_FOUND");
}

TEST(CheckpointBundle, DoesNotTakeTheNameOfAPipe) {
  Folder folder;
  std::string index = folder / "ckpt.index";
  ASSERT_EQ(mkfifo(index.c_str(), 0600), 0);
  BundleWriter writer;
  weir_status status = WEIR_STATUS_INIT;
  float value = 1;
  std::string prefix = folder / "ckpt";
  int32_t code = writer.open(viewOf(prefix), &status);
  if (code == WEIR_OK)
    code = writer.add(viewOf("x"), 1, shapeOf({1}), &value, &status);
  if (code == WEIR_OK)
    code = writer.finish(&status);
  EXPECT_EQ(code, WEIR_FAILED_PRECONDITION) << status.message;
  EXPECT_TRUE(fs::is_fifo(index));
}

TEST(CheckpointBundle, MergesShards) {
  Folder folder;
  for (int i = 0; i < 3; ++i)
    writeBundle(folder / ("parts/p" + std::to_string(i)), "v" + std::to_string(i), {float(i)});
  std::vector<std::string> prefixes{folder / "parts/p2", folder / "parts/p0", folder / "none",
                                    folder / "parts/p1"};
  auto views = viewsOf(prefixes);
  weir_status status = WEIR_STATUS_INIT;
  EXPECT_EQ(mergeBundles(views.data(), 4, viewOf(folder / "m"), false, &status),
            WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(folder.files().size(), 6u);
  ASSERT_EQ(mergeBundles(views.data(), 4, viewOf(folder / "m"), true, &status), WEIR_OK)
      << status.message;
  EXPECT_EQ(folder.files(),
            (std::vector<std::string>{"m.data-00000-of-00003", "m.data-00001-of-00003",
                                      "m.data-00002-of-00003", "m.index"}));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(readBundle(folder / "m", "v" + std::to_string(i)), bytesOf<float>({float(i)}));
  EXPECT_EQ(mergeBundles(views.data() + 2, 1, viewOf(folder / "n"), true, &status),
            WEIR_INVALID_ARGUMENT);
}

TEST(CheckpointBundle, BigEndianFilesAreTurnedAround) {
  Folder folder;
  std::string prefix = folder / "p";
  // The data of an index that says so: 1.0f, and the strings "ab", "".
  std::string data("\x3f\x80\x00\x00", 4);
  uint32_t lengths[] = {__builtin_bswap32(2), 0};
  uint32_t crc = crc32c(lengths, sizeof(lengths)), stored = __builtin_bswap32(maskCrc(crc));
  std::string text("\x02\x00", 2);
  text.append(reinterpret_cast<char *>(&stored), 4);
  crc = crc32c(&stored, 4, crc);
  text += "ab";
  crc = crc32c("ab", 2, crc);
  IndexBuilder builder;
  BundleEntry entry;
  entry.type = 1;
  entry.size = 4;
  entry.crc = maskCrc(crc32c(data.data(), 4));
  builder.add({"f", 1}, entry);
  entry.type = storedString;
  entry.shape = shapeOf({2});
  entry.offset = 4;
  entry.size = int64_t(text.size());
  entry.crc = maskCrc(crc);
  builder.add({"s", 1}, entry);
  OutputFile index;
  ASSERT_EQ(builder.write(index, viewOf(prefix), {1, true, 1, 0}, 0, nullptr), WEIR_OK);
  ASSERT_EQ(index.commit(nullptr), WEIR_OK);
  write(prefix + ".data-00000-of-00001", data + text);
  EXPECT_EQ(readBundle(prefix, "f"), bytesOf<float>({1}));
  EXPECT_EQ(readBundle(prefix, "s"), "ab;;");
}

TEST(OutputFile, AFullDiskLeavesWhatWasThere) {
  Folder folder;
  std::string prefix = folder / "p";
  writeBundle(prefix, "x", {1, 2});
  auto before = folder.files();
  // A limit of the process stands for the disk's.
  rlimit old, small{1 << 16, RLIM_INFINITY};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  small.rlim_max = old.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    std::vector<float> large(1 << 20);
    BundleWriter writer;
    int32_t code = writer.open(viewOf(prefix), nullptr);
    if (!code)
      code = writer.add({"x", 1}, 1, shapeOf({1 << 20}), large.data(), nullptr);
    if (!code)
      code = writer.finish(nullptr);
    EXPECT_NE(code, WEIR_OK);
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_EQ(folder.files(), before);
  EXPECT_EQ(readBundle(prefix, "x"), bytesOf<float>({1, 2}));
}

TEST(SlicesFile, AllTypes) {
  Folder folder;
  std::string path = folder / "v1";
  SlicesWriter writer;
  weir_status status = WEIR_STATUS_INIT;
  ASSERT_EQ(writer.open(viewOf(path), &status), WEIR_OK) << status.message;
  std::map<int32_t, std::string> expected;
  for (int32_t type = 10; type < 40; ++type) { // names in rising order
    const StoredType &info = storedType(type);
    if (!info.bytes)
      continue;
    std::string all(size_t(6 * info.bytes), '\0');
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = info.dtype == WEIR_BOOL ? char(i & 1) : char(77 * i + 131);
    int32_t code = writer.add(viewOf(std::to_string(type)), type, shapeOf({2, 3}),
                              TensorSlice::whole(2), all.data(), &status);
    ASSERT_EQ(code, info.field ? WEIR_OK : WEIR_UNIMPLEMENTED) << info.name;
    if (info.field)
      expected[type] = all;
  }
  std::vector<std::string> texts{"", "abc", std::string("\0x", 2)};
  ASSERT_EQ(writer.add({"s", 1}, storedString, shapeOf({3}), TensorSlice::whole(1),
                       viewsOf(texts).data(), &status),
            WEIR_OK);
  ASSERT_EQ(writer.finish(&status), WEIR_OK) << status.message;
  EXPECT_EQ(folder.files(), std::vector<std::string>{"v1"});
  SlicesReader reader;
  ASSERT_EQ(reader.open(viewOf(folder / "v?"), &status), WEIR_OK) << status.message;
  Arena arena;
  for (const auto &[type, bytes] : expected) {
    int32_t found;
    StoredShape shape;
    ASSERT_EQ(reader.find(viewOf(std::to_string(type)), &found, &shape, &status), WEIR_OK);
    EXPECT_EQ(found, type);
    std::string out(bytes.size(), '?');
    ASSERT_EQ(reader.read(viewOf(std::to_string(type)), TensorSlice::whole(2), out.data(),
                          arena.memory(), &status),
              WEIR_OK)
        << status.message;
    EXPECT_EQ(out, bytes) << storedType(type).name;
  }
  weir_string strings[3];
  ASSERT_EQ(reader.read({"s", 1}, TensorSlice::whole(1), strings, arena.memory(), &status),
            WEIR_OK);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(stringOf(strings[i]), texts[size_t(i)]);
}

TEST(SlicesFile, SlicesOfSeveralFiles) {
  Folder folder;
  weir_status status = WEIR_STATUS_INIT;
  auto save = [&](const std::string &name, StoredShape shape, std::vector<int64_t> starts,
                  std::vector<float> values) {
    SlicesWriter writer;
    writer.open(viewOf(folder / name), &status);
    for (int64_t start : starts) {
      TensorSlice slice = TensorSlice::whole(1);
      slice.start[0] = start;
      slice.length[0] = 2;
      writer.add({"t", 1}, 1, shape, slice, &values[size_t(start)], &status);
    }
    return writer.finish(&status);
  };
  auto load = [&](const std::string &pattern, TensorSlice slice, std::vector<float> &out) {
    SlicesReader reader;
    int32_t code = reader.open(viewOf(folder / pattern), &status);
    return code ? code : reader.read({"t", 1}, slice, out.data(), {}, &status);
  };
  std::vector<float> values{1, 2, 3, 4, 5, 6}, out(6);
  ASSERT_EQ(save("a0", shapeOf({6}), {0, 4}, values), WEIR_OK);
  ASSERT_EQ(save("a1", shapeOf({6}), {2}, values), WEIR_OK);
  EXPECT_EQ(load("a?", TensorSlice::whole(1), out), WEIR_OK) << status.message;
  EXPECT_EQ(out, values);
  EXPECT_EQ(load("a0", TensorSlice::whole(1), out), WEIR_INVALID_ARGUMENT);
  // Contradictions, and what is no file of that kind.
  ASSERT_EQ(save("a2", shapeOf({60}), {2}, values), WEIR_OK);
  EXPECT_EQ(load("a*", TensorSlice::whole(1), out), WEIR_INTERNAL);
  EXPECT_EQ(load("a[12]", TensorSlice::whole(1), out), WEIR_INTERNAL);
  fs::create_directory(folder / "b");
  EXPECT_EQ(load("b", TensorSlice::whole(1), out), WEIR_DATA_LOSS);
  EXPECT_EQ(load("c", TensorSlice::whole(1), out), WEIR_NOT_FOUND);
  // Damage is noticed wherever it is.
  std::string whole = read(folder / "a1");
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string other = whole;
    other[i] ^= 4;
    write(folder / "d", other);
    int32_t code = load("d", TensorSlice::whole(1), out);
    EXPECT_NE(code, WEIR_NOT_FOUND);
  }
}

TEST(MatchingFiles, PartsOfPaths) {
  Folder folder;
  for (const char *name : {"a/x1", "a/x2", "b/x1", ".h", "b/[y]"}) {
    fs::create_directories(fs::path(folder / name).parent_path());
    write(folder / name, "");
  }
  auto found = [&](const std::string &pattern) {
    MatchingFiles files;
    EXPECT_EQ(files.add(viewOf(folder / pattern), nullptr), WEIR_OK);
    files.sort();
    std::string all;
    for (int64_t i = 0; i < files.size(); ++i)
      all += fs::relative(files[i], folder.path).string() + " ";
    return all;
  };
  EXPECT_EQ(found("*/x?"), "a/x1 a/x2 b/x1 ");
  EXPECT_EQ(found("[ab]/x1"), "a/x1 b/x1 ");
  EXPECT_EQ(found("*"), ".h a b ");
  EXPECT_EQ(found("a/x1"), "a/x1 ");
  EXPECT_EQ(found("b/\\[y]"), "b/[y] ");
  EXPECT_EQ(found("c/*"), "");
}

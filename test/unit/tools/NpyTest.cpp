//===- NpyTest.cpp --------------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Npy.h"
#include "tools/common/Files.h"
#include "tools/common/Zip.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace weir::tools;

namespace {

std::string temporary(const char *name) {
  return testing::TempDir() + "weir-npy-" + std::to_string(getpid()) + name;
}

/// A .npy file by hand, version 1.
std::string npy(const std::string &header, const std::string &data) {
  std::string out("\x93NUMPY\x01\x00", 8);
  uint16_t size = static_cast<uint16_t>(header.size());
  out.append(reinterpret_cast<char *>(&size), 2);
  return out + header + data;
}

TEST(Npy, EveryTypeComesBackFromAnArchive) {
  NamedTensors tensors;
  for (int32_t dtype = WEIR_F32; dtype <= WEIR_I2; ++dtype) {
    HostTensor tensor =
        dtype == WEIR_STRING ? makeTensor(dtype, {2, 1}) : randomTensor(dtype, {2, 3}, 7);
    if (dtype == WEIR_STRING)
      tensor.strings = {"", "two words"};
    tensors.emplace_back("t" + std::to_string(dtype), std::move(tensor));
  }
  tensors.emplace_back("a/b:0", randomTensor(WEIR_F64, {}, 1));
  tensors.emplace_back("empty", makeTensor(WEIR_I32, {0, 4}));
  std::string path = temporary(".npz"), error;
  ASSERT_TRUE(writeNpzFile(path, tensors, error)) << error;
  NamedTensors back;
  ASSERT_TRUE(readNpzFile(path, back, error)) << error;
  EXPECT_EQ(back, tensors);
  std::remove(path.c_str());
}

TEST(Npy, TypesThatNumpyLacksAreNamedInTheKey) {
  std::string path = temporary("-bf16.npz"), error;
  ASSERT_TRUE(writeNpzFile(path, {{"x", makeTensor(WEIR_BF16, {2})}}, error));
  std::string bytes;
  ASSERT_TRUE(readFile(path, bytes, error));
  ZipEntries entries;
  ASSERT_TRUE(readZip(bytes, entries, error));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].first, "x|bfloat16.npy");
  EXPECT_NE(entries[0].second.find("'<u2'"), std::string::npos);
  std::remove(path.c_str());
}

TEST(Npy, ColumnMajorIsTurned) {
  // [[1, 2, 3], [4, 5, 6]] by columns.
  std::string header = "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }\n";
  HostTensor tensor;
  std::string error;
  ASSERT_TRUE(readNpy(npy(header, "\1\4\2\5\3\6"), tensor, error)) << error;
  EXPECT_EQ(tensor.bytes, "\1\2\3\4\5\6");
}

TEST(Npy, UnicodeBecomesUtf8) {
  std::string header = "{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }\n";
  uint32_t letters[2] = {0xe4, 0x1f600};
  HostTensor tensor;
  std::string error;
  ASSERT_TRUE(readNpy(npy(header, std::string((char *)letters, 8)), tensor, error));
  EXPECT_EQ(tensor.strings[0], "\xc3\xa4\xf0\x9f\x98\x80");
}

TEST(Npy, WhatLiesIsRefused) {
  HostTensor tensor;
  std::string error;
  EXPECT_FALSE(readNpy("short", tensor, error));
  // 2^60 elements in 4 bytes.
  EXPECT_FALSE(readNpy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                           "(1152921504606846976,), }\n",
                           "abcd"),
                       tensor, error));
  EXPECT_FALSE(readNpy(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }\n", "abcd"),
                       tensor, error));
  EXPECT_NE(error.find(">f4"), std::string::npos);
  EXPECT_FALSE(readNpy(npy("{'descr': 'O'}\n", ""), tensor, error));
}

TEST(Zip, DeflatesWhatRepeatsAndStoresTheRest) {
  ZipEntries entries = {{"zeros", std::string(100000, '\0')}, {"one", "1"}};
  std::string archive = writeZip(entries), error;
  EXPECT_LT(archive.size(), 1000u);
  EXPECT_EQ(writeZip(entries), archive);
  ZipEntries back;
  ASSERT_TRUE(readZip(archive, back, error)) << error;
  EXPECT_EQ(back, entries);
}

TEST(Zip, AnArchiveMayHoldNothing) {
  ZipEntries back;
  std::string error;
  EXPECT_TRUE(readZip(writeZip({}), back, error)) << error;
  EXPECT_TRUE(back.empty());
}

TEST(Zip, DamageIsFound) {
  std::string archive = writeZip({{"a", "some contents"}}), error;
  ZipEntries entries;
  std::string damaged = archive;
  damaged[33] ^= 1; // in the contents
  EXPECT_FALSE(readZip(damaged, entries, error));
  EXPECT_NE(error.find("checksum"), std::string::npos);
  for (size_t size = 0; size < archive.size(); ++size)
    EXPECT_FALSE(readZip(archive.substr(0, size), entries, error)) << size;
}

} // namespace

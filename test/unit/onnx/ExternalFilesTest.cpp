//===- ExternalFilesTest.cpp ----------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/ExternalFiles.h"
#include "test/unit/onnx/ProtoWriter.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace weir::onnx;
using namespace weir::onnx::test;
namespace fs = std::filesystem;

namespace {

class ExternalFilesTest : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("weir-external-" + std::to_string(getpid()));
    fs::create_directories(folder / "model");
    std::ofstream(folder / "model" / "weights.bin") << "0123456789abcdef";
    std::ofstream(folder / "secret.bin") << "0123456789abcdef";
    fs::create_symlink(folder / "secret.bin", folder / "model" / "link.bin");
  }
  void TearDown() override { fs::remove_all(folder); }

  /// Two floats in a file; what find says.
  std::string find(const std::string &location, const char *offset, const char *length = nullptr) {
    Proto proto = Proto().number(1, 2).number(2, 1).bytes(8, "w").number(14, 1);
    auto entry = [&](const char *key, const std::string &value) {
      proto.message(13, Proto().bytes(1, key).bytes(2, value));
    };
    entry("location", location);
    entry("offset", offset);
    if (length)
      entry("length", length);
    Tensor tensor;
    if (MaybeProblem problem = readTensor(proto.data, tensor))
      return std::to_string(problem->code) + problem->text;
    ExternalFiles files((folder / "model" / "m.onnx").string());
    ExternalFiles::Place place;
    if (MaybeProblem problem = files.find(tensor, place))
      return std::to_string(problem->code) + problem->text;
    return std::string(place.bytes);
  }

  fs::path folder;
};

TEST_F(ExternalFilesTest, FindsBytes) {
  EXPECT_EQ(find("weights.bin", "0"), "01234567");
  EXPECT_EQ(find("weights.bin", "8", "8"), "89abcdef");
  EXPECT_EQ(find("./weights.bin", "1"), "12345678");
}

TEST_F(ExternalFilesTest, RefusesWhatLiesOutside) {
  for (const std::string &location :
       {std::string("../secret.bin"), (folder / "secret.bin").string(), std::string("link.bin"),
        std::string("a/../../secret.bin"), std::string(""), std::string("nothing.bin"),
        std::string("."), std::string("weights.bin\0", 12)})
    EXPECT_EQ(find(location, "0").substr(0, 3), "307") << location;
}

TEST_F(ExternalFilesTest, RefusesSizesThatLie) {
  for (const char *offset : {"9", "-1", "9223372036854775807", "x", "99999999999999999999", ""})
    EXPECT_EQ(find("weights.bin", offset).substr(0, 3), "307") << offset;
  EXPECT_EQ(find("weights.bin", "0", "7").substr(0, 3), "307");
  EXPECT_EQ(find("weights.bin", "0", "9223372036854775807").substr(0, 3), "307");
}

} // namespace

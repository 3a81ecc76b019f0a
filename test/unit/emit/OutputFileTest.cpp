//===- OutputFileTest.cpp - files that appear whole or not at all ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace weir;

namespace {

class Output : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("weir-output", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string path() { return (folder + "/out").str(); }
  std::string content() {
    auto file = llvm::MemoryBuffer::getFile(path());
    return file ? (*file)->getBuffer().str() : "no file";
  }
  unsigned filesInFolder() {
    unsigned count = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator i(folder, code), end; i != end; i.increment(code))
      ++count;
    return count;
  }

  llvm::SmallString<128> folder;
};

TEST_F(Output, AppearsWhenCommitted) {
  OutputFile file = llvm::cantFail(OutputFile::create(path()));
  llvm::cantFail(file.write({"ab", 2}));
  EXPECT_EQ(content(), "no file");
  llvm::cantFail(file.write({"cd", 2}));
  llvm::cantFail(file.commit());
  EXPECT_EQ(content(), "abcd");
  EXPECT_EQ(filesInFolder(), 1u);
}

TEST_F(Output, TakesThePlaceOfWhatWasThere) {
  llvm::cantFail(writeFile(path(), "old, and longer"));
  llvm::cantFail(writeFile(path(), "new"));
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(filesInFolder(), 1u);
}

TEST_F(Output, TakesThePlaceOfALink) {
  std::string target = (folder + "/target").str();
  llvm::cantFail(writeFile(target, "old"));
  ASSERT_FALSE(llvm::sys::fs::create_link(target, path()));
  llvm::cantFail(writeFile(path(), "new"));
  EXPECT_EQ(content(), "new");
  EXPECT_EQ((*llvm::MemoryBuffer::getFile(target))->getBuffer(), "old");
  EXPECT_EQ(filesInFolder(), 2u);
}

TEST_F(Output, LeavesWhatWasThereWhenGivenUp) {
  llvm::cantFail(writeFile(path(), "old"));
  {
    OutputFile file = llvm::cantFail(OutputFile::create(path()));
    llvm::cantFail(file.write({"new", 3}));
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(filesInFolder(), 1u);
}

TEST_F(Output, HolesAreZero) {
  OutputFile file = llvm::cantFail(OutputFile::create(path()));
  llvm::cantFail(file.resize(4));
  llvm::cantFail(file.writeAt(1, {"x", 1}));
  llvm::cantFail(file.write({"end", 3}));
  llvm::cantFail(file.commit());
  EXPECT_EQ(content(), std::string("\0x\0\0end", 7));
}

TEST_F(Output, SaysWhyNot) {
  llvm::Expected<OutputFile> file = OutputFile::create((folder + "/no/such/folder").str());
  ASSERT_FALSE(bool(file));
  std::string error = llvm::toString(file.takeError());
  EXPECT_NE(error.find("/no/such/folder"), std::string::npos) << error;
}

TEST_F(Output, DevicesAreWrittenInPlace) {
  llvm::cantFail(writeFile("/dev/null", "text"));
  EXPECT_EQ(filesInFolder(), 0u);
}

} // namespace

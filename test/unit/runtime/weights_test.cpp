//===- weights_test.cpp - weights in a file beside the object -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test_program.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace weir::rt::test;

namespace {

class Weights : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "weir-weights-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    program.desc.weights_file = "m.weights";
    program.blobs<int64_t>({1, 2, 3});
    program.entry("main", {}, {{"n", WEIR_I64}}, {[](weir_context *ctx) {
                    return giveScalar(ctx, reinterpret_cast<const int64_t *>(ctx->blobs)[1]);
                  }});
    program.get();
    program.desc.blobs = nullptr;
  }
  void TearDown() override {
    unsetenv("WEIR_WEIGHTS_DIR");
    std::remove(path().c_str());
    rmdir(folder.c_str());
  }

  std::string path() const { return folder + "/m.weights"; }

  void write(uint64_t hash) {
    std::vector<char> bytes(64 + sizeof(weir_weights_trailer));
    int64_t values[] = {10, 20, 30};
    std::memcpy(bytes.data(), values, sizeof(values));
    weir_weights_trailer trailer = {{'W', 'E', 'I', 'R', 'W', 'T', 'S', '1'}, {hash, 0x5678}, 24};
    std::memcpy(bytes.data() + 64, &trailer, sizeof(trailer));
    FILE *file = std::fopen(path().c_str(), "wb");
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
  }

  TestProgram program;
  std::string folder;
};

TEST_F(Weights, AreMappedFromWhereTheOptionsSay) {
  write(0x1234);
  weir_session_options options = TestSession::defaults();
  std::string at = path();
  options.weights_file = at.c_str();
  TestSession session(&program.desc, options);
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  int64_t n = 0;
  std::vector<weir_tensor> fetches = {scalar(&n)};
  EXPECT_EQ(session.run({}, &fetches), WEIR_OK);
  EXPECT_EQ(n, 20);
}

TEST_F(Weights, AreFoundThroughTheEnvironment) {
  write(0x1234);
  setenv("WEIR_WEIGHTS_DIR", folder.c_str(), 1);
  TestSession session(&program.desc);
  EXPECT_EQ(session.code, WEIR_OK) << session.message();
}

TEST_F(Weights, OfAnotherProgramAreRefused) {
  write(0x9999);
  setenv("WEIR_WEIGHTS_DIR", folder.c_str(), 1);
  TestSession session(&program.desc);
  EXPECT_EQ(session.code, WEIR_FAILED_PRECONDITION);
  EXPECT_NE(session.message().find(path()), std::string::npos);
  ASSERT_EQ(truncate(path().c_str(), 70), 0);
  TestSession cut(&program.desc);
  EXPECT_EQ(cut.code, WEIR_DATA_LOSS);
}

TEST_F(Weights, ThatAreMissingAreNamed) {
  TestSession session(&program.desc);
  EXPECT_EQ(session.code, WEIR_NOT_FOUND);
  EXPECT_NE(session.message().find("m.weights"), std::string::npos);
}

} // namespace

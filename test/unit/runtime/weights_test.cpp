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
#include <fcntl.h>
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

/// How many pages of the range are resident in this process.
int64_t residentPages(const void *data, int64_t bytes) {
  constexpr uintptr_t page = 4096;
  int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(file, 0);
  int64_t count = 0;
  for (uintptr_t at = uintptr_t(data) / page; at < (uintptr_t(data) + uintptr_t(bytes)) / page;
       ++at) {
    uint64_t entry = 0;
    EXPECT_EQ(pread(file, &entry, sizeof(entry), off_t(at * sizeof(entry))), 8);
    count += int64_t(entry >> 63);
  }
  close(file);
  return count;
}

constexpr int64_t many = int64_t(3) << 20; ///< numbers, 24 MiB

int32_t sumOfVariable(weir_context *ctx) {
  weir_tensor value;
  if (int32_t code = weir_rt_variable_read(ctx, 0, 0, &value))
    return code;
  int64_t sum = 0;
  for (int64_t i = 0; i < many; ++i)
    sum += static_cast<const int64_t *>(value.data)[i];
  return giveScalar(ctx, sum);
}

/// Adds 1 to each number in place; gives how many pages of the initial value are left.
int32_t growVariable(weir_context *ctx) {
  weir_tensor value;
  if (int32_t code = weir_rt_variable_take(ctx, 0, 0, &value))
    return code;
  for (int64_t i = 0; i < many; ++i)
    ++static_cast<int64_t *>(value.data)[i];
  weir_rt_variable_put(ctx, 0);
  return giveScalar(ctx, residentPages(ctx->blobs, many * 8));
}

/// The same by an assignment.
int32_t assignVariable(weir_context *ctx) {
  std::vector<int64_t> ones(size_t(many), 1);
  weir_tensor tensor = tensorOf(ones, WEIR_I64, {many});
  if (int32_t code = weir_rt_variable_assign(ctx, 0, 0, &tensor))
    return code;
  return giveScalar(ctx, residentPages(ctx->blobs, many * 8));
}

TEST_F(Weights, InitialValuesGiveTheirMemoryBackOnceTheyAreReplaced) {
  TestProgram own;
  own.desc.weights_file = "m.weights";
  std::vector<int64_t> numbers(size_t(many) + 8 + sizeof(weir_weights_trailer) / 8);
  int64_t sum = 0;
  for (int64_t i = 0; i < many; ++i)
    sum += numbers[size_t(i)] = i % 1000;
  own.blobs(numbers);
  own.blobBytes.resize(size_t(many) * 8);
  own.slot("w", WEIR_I64, {many}, 0, many * 8);
  own.site("w/read", "ReadVariableOp", "?", WEIR_INTERNAL);
  own.entry("sum", {}, {{"n", WEIR_I64}}, {sumOfVariable});
  own.entry("grow", {}, {{"n", WEIR_I64}}, {growVariable});
  own.entry("assign", {}, {{"n", WEIR_I64}}, {assignVariable});
  own.get();
  own.desc.blobs = nullptr;
  weir_weights_trailer trailer = {
      {'W', 'E', 'I', 'R', 'W', 'T', 'S', '1'}, {own.desc.hash[0], own.desc.hash[1]}, many * 8};
  std::memcpy(numbers.data() + many, &trailer, sizeof(trailer));
  FILE *file = std::fopen(path().c_str(), "wb");
  std::fwrite(numbers.data(), 8, numbers.size(), file);
  std::fclose(file);
  setenv("WEIR_WEIGHTS_DIR", folder.c_str(), 1);
  TestSession session(&own.desc), other(&own.desc);
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  ASSERT_EQ(other.code, WEIR_OK) << other.message();
  auto run = [&](TestSession &of, int32_t entry) {
    int64_t n = -1;
    std::vector<weir_tensor> fetches = {scalar(&n)};
    EXPECT_EQ(of.run({}, &fetches, nullptr, entry), WEIR_OK) << of.message();
    return n;
  };
  EXPECT_EQ(run(session, 0), sum);
  EXPECT_EQ(run(session, 1), 0) << "pages of the file stay where a step wrote over a copy";
  EXPECT_EQ(run(session, 0), sum + many);
  // The first value is the file's still, here and in other sessions.
  EXPECT_EQ(run(other, 0), sum);
  EXPECT_EQ(weir_session_reset(session, nullptr), WEIR_OK);
  EXPECT_EQ(run(session, 0), sum);
  EXPECT_EQ(run(session, 2), 0) << "pages of the file stay where a step assigned another value";
  EXPECT_EQ(run(session, 0), many);
}

TEST(Variables, KeepAnInitialValueThatIsOfNoFile) {
  TestProgram own;
  own.blobs(std::vector<int64_t>(size_t(many), 7));
  own.slot("w", WEIR_I64, {many}, 0, many * 8);
  own.site("w/read", "ReadVariableOp", "?", WEIR_INTERNAL);
  own.entry("sum", {}, {{"n", WEIR_I64}}, {sumOfVariable});
  own.entry("grow", {}, {{"n", WEIR_I64}}, {growVariable});
  TestSession session(own.get());
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  int64_t n = 0;
  std::vector<weir_tensor> fetches = {scalar(&n)};
  EXPECT_EQ(session.run({}, &fetches, nullptr, 1), WEIR_OK);
  EXPECT_EQ(weir_session_reset(session, nullptr), WEIR_OK);
  EXPECT_EQ(session.run({}, &fetches), WEIR_OK);
  EXPECT_EQ(n, 7 * many);
}

} // namespace

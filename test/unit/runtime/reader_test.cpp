//===- reader_test.cpp - readers over queues of names ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/crc32c.h"
#include "test_program.h"

#include "weir/input.h"
#include "weir/stores.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

/// A session with a queue of names and a reader. A run is a function that calls
/// kernels; no call here has to wait, so that tickets are over when they are given.
class ReaderTest : public ::testing::Test {
protected:
  ReaderTest() {
    program.site("the/node", "TheOp", "?", WEIR_INTERNAL);
    program.entry("main", {}, {}, {step});
  }

  /// What the kernels are told: of the reader, and of the queue, behind the mode: its element
  /// is one string.
  std::vector<int64_t> reader = {WEIR_READER_LINES, 0, 0, 0, 0, 0, 0};
  const std::vector<int64_t> queue = {0, WEIR_QUEUE_FIFO, -1, 0, 0, 1, 0, WEIR_STRING};

  int32_t call(weir_library_fn function, std::vector<weir_tensor> operands,
               std::vector<int32_t> types, const std::vector<int64_t> &attributes,
               std::vector<weir_tensor> *results = nullptr) {
    std::vector<weir_tensor> made(types.size() + 1, weir_tensor{});
    for (size_t i = 0; i < types.size(); ++i)
      made[i].dtype = types[i];
    int32_t code = weir_rt_library(context, function, 0, operands.data(), int32_t(operands.size()),
                                   made.data(), int32_t(types.size()), attributes.data());
    if (results)
      *results = made;
    return code;
  }

  /// Runs `body` in the session; its status.
  int32_t run(std::function<int32_t()> body) {
    if (!session)
      session = std::make_unique<TestSession>(program.get(), TestSession::defaults(1));
    current = this;
    steps = std::move(body);
    return session->run({}, nullptr);
  }

  weir_tensor text(const std::string &value) {
    kept.push_back(std::make_unique<Text>(Text{value, {}}));
    Text &made = *kept.back();
    made.string = {made.value.data(), int64_t(made.value.size())};
    weir_tensor tensor = {};
    tensor.data = &made.string;
    tensor.bytes = sizeof(weir_string);
    tensor.dtype = WEIR_STRING;
    return tensor;
  }

  void put(const std::vector<std::string> &names) {
    for (const std::string &name : names)
      EXPECT_EQ(run([&] {
                  std::vector<weir_tensor> ticket;
                  if (int32_t code = call(weir_kernel_queue_enqueue, {text("qnames"), text(name)},
                                          {WEIR_I64}, queue, &ticket))
                    return code;
                  return call(weir_kernel_queue_finish, {ticket[0]}, {}, queue);
                }),
                WEIR_OK);
  }

  /// One record as "key=value"; or the status' code name.
  std::string read() {
    std::string record;
    int32_t code = run([&]() -> int32_t {
      std::vector<weir_tensor> turn, results;
      if (int32_t failure =
              call(weir_kernel_reader_begin, {text("rreader")}, {WEIR_I64}, reader, &turn))
        return failure;
      do {
        if (int32_t failure = call(weir_kernel_reader_advance, {turn[0], text("qnames")},
                                   {WEIR_I64, WEIR_STRING, WEIR_STRING}, queue, &results))
          return failure;
      } while (*static_cast<int64_t *>(results[0].data) != 0);
      for (int i : {1, 2}) {
        auto &string = *static_cast<weir_string *>(results[size_t(i)].data);
        record += std::string(string.data, size_t(string.size)) + (i == 1 ? "=" : "");
      }
      return WEIR_OK;
    });
    return code == WEIR_OK ? record : weir_code_name(code);
  }

  int64_t count(int64_t what) {
    int64_t value = -1;
    run([&] {
      std::vector<int64_t> attributes = reader;
      attributes.push_back(what);
      std::vector<weir_tensor> results;
      int32_t code =
          call(weir_kernel_reader_count, {text("rreader")}, {WEIR_I64}, attributes, &results);
      if (code == WEIR_OK)
        value = *static_cast<int64_t *>(results[0].data);
      return code;
    });
    return value;
  }

  std::string file(const std::string &name, const std::string &contents) {
    std::string path = ::testing::TempDir() + "reader_test_" + name;
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

  std::unique_ptr<TestSession> session;

private:
  struct Text {
    std::string value;
    weir_string string;
  };
  static int32_t step(weir_context *ctx) {
    current->context = ctx;
    return current->steps();
  }

  inline static ReaderTest *current = nullptr;
  TestProgram program;
  weir_context *context = nullptr;
  std::function<int32_t()> steps;
  std::vector<std::unique_ptr<Text>> kept;
};

std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i)
    out.push_back(char(value >> (8 * i)));
  return out;
}

std::string record(const std::string &data) {
  std::string size = little(data.size(), 8);
  auto sum = [](const std::string &bytes) {
    return little(maskCrc(crc32c(bytes.data(), int64_t(bytes.size()))), 4);
  };
  return size + sum(size) + data + sum(data);
}

TEST_F(ReaderTest, GoesThroughLinesAndFiles) {
  std::string a = file("a", "1\r\n\n3"), empty = file("empty", ""), b = file("b", "x\n");
  put({a, empty, "/no/such/file", b});
  EXPECT_EQ(read(), a + ":1=1");
  EXPECT_EQ(read(), a + ":2=");
  EXPECT_EQ(count(0), 2);
  EXPECT_EQ(count(1), 0);
  EXPECT_EQ(read(), a + ":3=3");
  EXPECT_EQ(read(), "NOT_FOUND");
  EXPECT_EQ(count(1), 2);
  EXPECT_EQ(read(), b + ":1=x");
  EXPECT_EQ(count(0), 4);
}

TEST_F(ReaderTest, SaysWhereRecordsAreBroken) {
  reader[0] = WEIR_READER_RECORDS;
  std::string wrong = record("one") + record("two");
  wrong[wrong.size() - 6] ^= 1;
  std::string bad = file("bad", wrong);
  std::string cut = file("cut", record("one") + record("two").substr(0, 14));
  std::string header = file("header", record("one") + record("two").substr(0, 5));
  put({header, cut});
  EXPECT_EQ(read(), header + ":0=one");
  EXPECT_EQ(read(), cut + ":0=one");
  EXPECT_EQ(read(), "DATA_LOSS");
  EXPECT_NE(session->message().find("truncated record at 19"), std::string::npos);
  EXPECT_EQ(read(), "DATA_LOSS");
  EXPECT_EQ(run([&] { return call(weir_kernel_reader_reset, {text("rreader")}, {}, reader); }),
            WEIR_OK);
  EXPECT_EQ(count(0), 0);
  put({bad});
  EXPECT_EQ(read(), bad + ":0=one");
  EXPECT_EQ(read(), "DATA_LOSS");
  EXPECT_NE(session->message().find("corrupted record at 31"), std::string::npos);
}

TEST_F(ReaderTest, CutsRecordsOfOneSize) {
  reader = {WEIR_READER_FIXED, 0, 4, 1, 2, 6, 0};
  std::string a = file("fixed", "Habcdefghijklmn"), rest = file("rest", "Hxyz");
  put({a, rest, a});
  EXPECT_EQ(read(), a + ":0=abcd");
  EXPECT_EQ(read(), a + ":1=ghij");
  EXPECT_EQ(read(), a + ":0=abcd");
}

TEST_F(ReaderTest, KeepsItsStateWhereItHasOne) {
  reader[0] = WEIR_READER_IDENTITY;
  put({"name"});
  EXPECT_EQ(read(), "name=name");
  std::string state;
  EXPECT_EQ(run([&] {
              std::vector<weir_tensor> results;
              int32_t code = call(weir_kernel_reader_serialize, {text("rreader")}, {WEIR_STRING},
                                  reader, &results);
              if (code == WEIR_OK) {
                auto &string = *static_cast<weir_string *>(results[0].data);
                state.assign(string.data, size_t(string.size));
              }
              return code;
            }),
            WEIR_OK);
  EXPECT_EQ(state, "\x08\x01\x10\x01\x18\x01\x22\x04name");
  auto restore = [&](const std::string &from) {
    return run([&] {
      return call(weir_kernel_reader_restore, {text("rreader"), text(from)}, {}, reader);
    });
  };
  EXPECT_EQ(restore("\x08\x05\x10\x05\x18\x07"), WEIR_OK);
  EXPECT_EQ(count(0), 7);
  EXPECT_EQ(restore("\x08\x05\x10\x01"), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(restore("\xff"), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(count(0), 0);
}

} // namespace

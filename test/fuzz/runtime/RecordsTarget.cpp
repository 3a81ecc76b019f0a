//===- RecordsTarget.cpp - libFuzzer: records and examples ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first byte says what is read: a file by a reader (records of TensorFlow, lines, records of
// one size; plain, zlib or gzip), or an example.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/runtime/Scratch.h"
#include "test/unit/runtime/kernel_call.h"

#include "input/reader.h"
#include "weir/input.h"

using namespace weir::rt;
using namespace weir::rt::test;

static int32_t readAll(weir_context *ctx, Reader &reader, const std::string &path) {
  if (int32_t code = reader.startWork(ctx, {path.data(), int64_t(path.size())}))
    return code;
  for (int i = 0; i < 1000; ++i) {
    Growing key(ctx), value(ctx);
    bool isProduced = false, isLast = false;
    if (int32_t code = reader.read(ctx, key, value, &isProduced, &isLast))
      return code;
    if (isLast)
      break;
  }
  return WEIR_OK;
}

namespace {
Reader::Parameters parameters;
std::string file;
} // namespace

static int32_t step(weir_context *ctx) {
  Reader *reader = Reader::create(parameters);
  if (!reader)
    return WEIR_RESOURCE_EXHAUSTED;
  int32_t code = readAll(ctx, *reader, file);
  reader->endWork();
  reader->destroy(reader);
  return code;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  const int kind = data[0] % 4;
  if (kind == 0) {
    std::vector<weir_string> serialized = {
        {reinterpret_cast<const char *>(data + 1), int64_t(size - 1)}};
    std::vector<weir_string> none, sparse = {{"s", 1}}, densed = {{"d", 1}};
    std::vector<float> standard = {1, 2};
    Call call(weir_kernel_parse_example,
              {dense(serialized, WEIR_STRING, {1}), dense(none, WEIR_STRING, {0}),
               dense(sparse, WEIR_STRING, {1}), dense(densed, WEIR_STRING, {1}),
               dense(none, WEIR_STRING, {0}), dense(standard, WEIR_F32, {2})},
              {WEIR_I64, WEIR_I64, WEIR_I64, WEIR_F32}, {1, 1, 0, 1, 2});
    if (call.code && call.message.empty())
      std::abort();
    return 0;
  }
  file = weir::fuzz::scratchPath(".records");
  weir::fuzz::writeScratch(file, data + 2, size - 2);
  const weir_reader_kind kinds[] = {WEIR_READER_RECORDS, WEIR_READER_RECORDS, WEIR_READER_LINES,
                                    WEIR_READER_FIXED};
  parameters = {
      kinds[kind], Encoding(data[1] % 3), 1 + data[1] % 7, data[1] % 5, data[1] % 2, 0, 0};
  static auto *program = [] {
    auto *made = new TestProgram;
    made->site("the/node", "TheOp", "?", WEIR_INTERNAL);
    made->entry("main", {}, {}, {step});
    return made;
  }();
  TestSession session(program->get(), TestSession::defaults(1));
  if (session.run({}, nullptr) && std::string(session.message()).empty())
    std::abort();
  return 0;
}

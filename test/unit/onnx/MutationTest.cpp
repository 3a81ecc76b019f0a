//===- MutationTest.cpp - damaged files -----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bits flipped, bytes replaced by lengths that lie, pieces cut out: whatever
// comes of it is read, or refused with a diagnostic. Run under
// AddressSanitizer, a read outside of the buffer is found, too.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/frontend/onnx/ModelVerifier.h"
#include "test/unit/onnx/ProtoWriter.h"

#include <gtest/gtest.h>
#include <random>

using namespace weir;
using namespace weir::onnx;
using namespace weir::onnx::test;

namespace {

/// A model with something of everything that the reader knows.
std::string seedModel() {
  Proto branch =
      Proto().message(1, node("Add", {"x", "w"}, {"z"}, "add")).message(12, value("z", {2}));
  Proto conditional = node("If", {"c"}, {"y"}, "if");
  for (const char *name : {"then_branch", "else_branch"})
    conditional.message(5, Proto().bytes(1, name).number(20, 5).message(6, branch));
  Proto sparse = Proto()
                     .message(1, tensor("s", 1, {1}, raw<float>({1})))
                     .message(2, tensor("", 7, {1}, raw<int64_t>({3})))
                     .number(3, 4);
  Proto constant = node("Constant", {}, {"k"}, "k");
  constant.message(5, Proto().bytes(1, "value_ints").number(20, 7).bytes(8, varint(5)));
  Proto graph = Proto()
                    .message(1, conditional)
                    .message(1, constant)
                    .message(5, tensor("w", 1, {2}, raw<float>({1, 2})))
                    .message(5, Proto().number(1, 2).number(2, 7).bytes(8, "v").bytes(
                                    7, varint(1) + varint(300)))
                    .message(15, sparse)
                    .message(11, value("x", {2}))
                    .message(11, value("c", {}))
                    .message(12, value("y", {2}));
  Proto function = Proto()
                       .bytes(1, "f")
                       .bytes(4, "a")
                       .bytes(5, "b")
                       .message(7, node("Relu", {"a"}, {"b"}))
                       .message(9, Proto().bytes(1, "").number(2, 21))
                       .bytes(10, "d");
  return model(graph) + Proto().message(25, function).data;
}

TEST(Mutation, SeedIsGood) {
  DiagnosticSink sink;
  std::string bytes = seedModel();
  std::unique_ptr<Model> model = readModel(bytes, "m.onnx", sink);
  ASSERT_TRUE(model);
  EXPECT_TRUE(verifyModel(*model, "m.onnx", sink));
}

TEST(Mutation, DamagedFilesAreReadOrRefused) {
  const std::string seed = seedModel();
  std::mt19937 random(20240607);
  size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = seed;
    for (int times = 1 + random() % 4; times > 0; --times) {
      size_t at = random() % bytes.size();
      switch (random() % 4) {
      case 0:
        bytes[at] ^= 1 << random() % 8;
        break;
      case 1:
        bytes[at] = static_cast<char>(0xff);
        break;
      case 2:
        bytes.insert(at, varint(uint64_t(1) << random() % 64));
        break;
      case 3:
        bytes.erase(at, 1 + random() % 8);
        break;
      }
      if (bytes.empty())
        break;
    }
    // A buffer of its own, so that a sanitizer sees its end.
    std::vector<char> exact(bytes.begin(), bytes.end());
    DiagnosticSink sink;
    std::unique_ptr<Model> model =
        readModel(std::string_view(exact.data(), exact.size()), "m.onnx", sink);
    bool good = model && verifyModel(*model, "m.onnx", sink);
    EXPECT_EQ(!good, sink.hasErrors());
    for (const Diagnostic &diagnostic : sink.diagnostics())
      EXPECT_EQ(diagnostic.code.substr(0, 3), "W03");
    refused += !good;
  }
  // A mutation that damages nothing tests nothing.
  EXPECT_GT(refused, 10000u);
}

} // namespace

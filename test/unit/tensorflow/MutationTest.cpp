//===- MutationTest.cpp - damaged files end in a diagnostic -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Graph.h"
#include "compiler/frontend/tensorflow/GraphReader.h"
#include "compiler/frontend/tensorflow/TensorDecoder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace weir;
using namespace weir::tf;

namespace {

std::string readFile(const char *path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream contents;
  contents << stream.rdbuf();
  return contents.str();
}

/// Reads and builds everything; false where something was refused.
bool readAll(const std::string &bytes, DiagnosticSink &sink) {
  static const std::string file = "mutated.pb";
  GraphDef def;
  std::string error;
  if (!readGraphDef(bytes, def, error)) {
    EXPECT_FALSE(error.empty());
    return false;
  }
  Library library(def, file, sink);
  auto graph = buildGraph(def, library, file, sink);
  if (!graph) {
    EXPECT_TRUE(sink.hasErrors()) << "refused without a diagnostic";
    return false;
  }
  for (const Node &node : graph->nodes) {
    const AttrValue *value = node.attr("value");
    TensorValues values;
    if (value && value->tensor && !decodeTensor(*value->tensor, values, error))
      return false;
  }
  return true;
}

} // namespace

TEST(Mutation, FlippedBitsCutsAndLengthsAreSurvived) {
  std::string file = readFile("test/digits/digits.pb");
  ASSERT_FALSE(file.empty());
  DiagnosticSink whole;
  ASSERT_TRUE(readAll(file, whole));
  std::mt19937 random(20240607);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string other = file;
    // Most of the file is weights: aim at the structure between them, too.
    size_t at = random() % (round % 2 ? file.size() : 600);
    switch (round % 4) {
    case 0:
      other[at] ^= static_cast<char>(1 << (random() % 8));
      break;
    case 1:
      other.resize(at);
      break;
    case 2:
      other[at] = static_cast<char>(random());
      other[random() % file.size()] = static_cast<char>(0xff);
      break;
    default:
      other.insert(at, std::string(random() % 16, static_cast<char>(0x80)));
      break;
    }
    DiagnosticSink sink;
    refused += !readAll(other, sink);
  }
  // Flips inside of weights are no errors; cuts and lies are.
  EXPECT_GT(refused, 500);
}

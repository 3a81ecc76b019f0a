//===- OnnxFile.cpp - small ONNX models to measure ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/OnnxFile.h"

#include "tools/common/Files.h"

#include <random>

using namespace weir::tools;

namespace {

// Of onnx.proto.
constexpr int floatType = 1, brainType = 16, intAttribute = 2, intsAttribute = 7, irVersion = 8,
              opset = 17;

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7)
    text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}
std::string integer(int field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}
std::string bytes(int field, const std::string &value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string packed(int field, const std::vector<int64_t> &values) {
  std::string all;
  for (int64_t value : values)
    all += varint(static_cast<uint64_t>(value));
  return bytes(field, all);
}

} // namespace

void OnnxFile::port(int field, const std::string &name, const Dims &dims) {
  std::string shape;
  for (int64_t dim : dims)
    shape += bytes(1, integer(1, dim));
  std::string tensor = integer(1, isBrain ? brainType : floatType) + bytes(2, shape);
  graph += bytes(field, bytes(1, name) + bytes(2, bytes(1, tensor)));
}

void OnnxFile::constant(const std::string &name, const Dims &dims,
                        const std::vector<float> &values) {
  std::string raw(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  if (isBrain) {
    // The upper halves; the machine is little-endian, as the format is.
    for (size_t i = 0; i < values.size(); ++i)
      raw.replace(2 * i, 2, raw, 4 * i + 2, 2);
    raw.resize(2 * values.size());
  }
  graph += bytes(5, packed(1, dims) + integer(2, isBrain ? brainType : floatType) + bytes(8, name) +
                        bytes(9, raw));
}

void OnnxFile::node(const std::string &operation, const std::string &name,
                    const std::vector<std::string> &operands, const Attributes &attributes) {
  std::string text;
  for (const std::string &operand : operands)
    text += bytes(1, operand);
  text += bytes(2, name) + bytes(3, name) + bytes(4, operation);
  for (const auto &[key, values] : attributes)
    text +=
        bytes(5, bytes(1, key) + (key == "group" ? integer(3, values[0]) + integer(20, intAttribute)
                                                 : packed(8, values) + integer(20, intsAttribute)));
  graph += bytes(1, text);
}

bool OnnxFile::write(const std::string &path, std::string &error) const {
  return writeFile(path,
                   integer(1, irVersion) + bytes(7, bytes(2, "measured") + graph) +
                       bytes(8, bytes(1, "") + integer(2, opset)),
                   error);
}

std::vector<float> weir::tools::randomFloats(int64_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(static_cast<double>(generator() >> 40) / (1 << 23) - 1);
  return values;
}

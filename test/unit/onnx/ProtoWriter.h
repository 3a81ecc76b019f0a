//===- ProtoWriter.h - ONNX files written by tests --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages as a chain of fields: Proto().bytes(1, "x").number(2, 7). Nothing is
// checked, so that malformed files can be written as easily.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_ONNX_PROTOWRITER_H
#define WEIR_TEST_UNIT_ONNX_PROTOWRITER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace weir::onnx::test {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

struct Proto {
  std::string data;

  Proto &number(uint32_t field, int64_t value) {
    data += varint(field << 3) + varint(static_cast<uint64_t>(value));
    return *this;
  }
  Proto &bytes(uint32_t field, std::string_view value) {
    data += varint(field << 3 | 2) + varint(value.size());
    data += value;
    return *this;
  }
  Proto &message(uint32_t field, const Proto &value) { return bytes(field, value.data); }
  Proto &real(uint32_t field, float value) {
    data += varint(field << 3 | 5);
    data.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
};

template <typename T> std::string raw(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

/// TensorProto with raw_data.
inline Proto tensor(std::string_view name, int type, const std::vector<int64_t> &dims,
                    std::string_view data) {
  Proto proto;
  for (int64_t dim : dims)
    proto.number(1, dim);
  return proto.number(2, type).bytes(8, name).bytes(9, data);
}

inline Proto node(std::string_view op, const std::vector<std::string> &inputs,
                  const std::vector<std::string> &outputs, std::string_view name = "") {
  Proto proto;
  for (const std::string &input : inputs)
    proto.bytes(1, input);
  for (const std::string &output : outputs)
    proto.bytes(2, output);
  if (!name.empty())
    proto.bytes(3, name);
  return proto.bytes(4, op);
}

/// ValueInfoProto of a float tensor.
inline Proto value(std::string_view name, const std::vector<int64_t> &dims) {
  Proto shape;
  for (int64_t dim : dims)
    shape.message(1, Proto().number(1, dim));
  Proto tensorType = Proto().number(1, 1).message(2, shape);
  return Proto().bytes(1, name).message(2, Proto().message(1, tensorType));
}

/// ModelProto with one graph.
inline std::string model(const Proto &graph, int64_t opset = 21) {
  Proto import = Proto().bytes(1, "").number(2, opset);
  return Proto().number(1, 10).message(7, graph).message(8, import).data;
}

} // namespace weir::onnx::test

#endif // WEIR_TEST_UNIT_ONNX_PROTOWRITER_H

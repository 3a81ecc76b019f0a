//===- GraphWriter.h - TensorFlow messages for tests ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes messages byte by byte, so that tests can also write what no library
// would.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_TENSORFLOW_GRAPHWRITER_H
#define WEIR_TEST_UNIT_TENSORFLOW_GRAPHWRITER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tf::test {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

inline std::string number(uint32_t field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}

inline std::string bytes(uint32_t field, std::string_view value) {
  return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}

template <typename T> std::string raw(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

inline std::string shape(const std::vector<int64_t> &dims) {
  std::string out;
  for (int64_t dim : dims)
    out += bytes(2, number(1, dim));
  return out;
}

/// A TensorProto's type and shape; values are appended.
inline std::string tensor(int64_t type, const std::vector<int64_t> &dims) {
  return number(1, type) + bytes(2, shape(dims));
}

inline std::string attr(std::string_view name, const std::string &value) {
  return bytes(5, bytes(1, name) + bytes(2, value));
}
inline std::string typeAttr(std::string_view name, int64_t type) {
  return attr(name, number(6, type));
}

inline std::string node(std::string_view name, std::string_view op,
                        const std::vector<std::string> &inputs = {},
                        const std::string &attrs = "") {
  std::string out = bytes(1, name) + bytes(2, op);
  for (const std::string &input : inputs)
    out += bytes(3, input);
  return out + attrs;
}

inline std::string placeholder(std::string_view name) {
  return bytes(1, node(name, "Placeholder", {}, typeAttr("dtype", 1)));
}
inline std::string unary(std::string_view name, std::string_view op, const std::string &input) {
  return bytes(1, node(name, op, {input}, typeAttr("T", 1)));
}

} // namespace weir::tf::test

#endif // WEIR_TEST_UNIT_TENSORFLOW_GRAPHWRITER_H

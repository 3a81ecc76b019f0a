//===- OnnxFile.h - small ONNX models to measure ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_ONNXFILE_H
#define WEIR_TOOLS_WEIR_BENCH_ONNXFILE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir::tools {

/// A graph of f32, or of bf16, in the making, in the wire format of onnx.proto (opset 17).
/// Values are called by name; the same calls give the same bytes.
class OnnxFile {
public:
  using Dims = std::vector<int64_t>;
  using Attributes = std::vector<std::pair<std::string, Dims>>;

  explicit OnnxFile(bool isBrain = false) : isBrain(isBrain) {}

  void input(const std::string &name, const Dims &dims) { port(11, name, dims); }
  void output(const std::string &name, const Dims &dims) { port(12, name, dims); }
  /// Of bf16: cut, not rounded.
  void constant(const std::string &name, const Dims &dims, const std::vector<float> &values);
  /// A node of one result, which bears its name. An attribute of one number that
  /// is called "group" is an integer, all others are lists.
  void node(const std::string &operation, const std::string &name,
            const std::vector<std::string> &operands, const Attributes &attributes = {});

  /// False, with the reason in `error`.
  bool write(const std::string &path, std::string &error) const;

private:
  void port(int field, const std::string &name, const Dims &dims);

  bool isBrain;
  std::string graph;
};

/// `count` numbers between -1 and 1, evenly distributed; the same for a seed.
std::vector<float> randomFloats(int64_t count, uint64_t seed);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_BENCH_ONNXFILE_H

//===- TensorReader.h - ONNX tensors in a file ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads TensorProto and SparseTensorProto. What a tensor claims (dimensions,
// element type) is compared with the values that its message really holds
// before anybody allocates for it: a tensor of 2^60 elements in a hundred bytes
// is refused here. Values in raw_data are never copied; values in typed fields
// (varints) are decoded on request.
//
// Functions return what is wrong, or nothing. Thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_TENSORREADER_H
#define WEIR_COMPILER_FRONTEND_ONNX_TENSORREADER_H

#include "compiler/frontend/onnx/Model.h"

#include <optional>
#include <string>

namespace weir::onnx {

/// What is wrong with a part of a file: the number of a diagnostic (0301 is
/// W0301) and its text, which does not name the node yet.
struct Problem {
  int code;
  std::string text;
};
using MaybeProblem = std::optional<Problem>;

/// Reads a serialized TensorProto, of which `tensor` keeps views.
MaybeProblem readTensor(std::string_view message, Tensor &tensor);

/// Reads a serialized SparseTensorProto.
MaybeProblem readSparseTensor(std::string_view message, SparseTensor &tensor);

/// Product of `dims`, in `count`. Refuses negative sizes, and products of 2^62
/// or more, which no file can back.
MaybeProblem countElements(const std::vector<int64_t> &dims, int64_t &count);

/// Appends the values of a tensor to `out` as a host lays them out, whichever
/// field they lie in: little-endian, bool as one byte, sub-byte types packed
/// with the first in the low bits. Not for strings, and not for tensors in a
/// file of their own (ExternalFiles::bytes finds those).
MaybeProblem decodeTensor(const Tensor &tensor, std::string &out);

/// The values of a string tensor, views into the file.
MaybeProblem readStrings(const Tensor &tensor, std::vector<std::string_view> &out);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_TENSORREADER_H

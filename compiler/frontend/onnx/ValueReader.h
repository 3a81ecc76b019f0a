//===- ValueReader.h - ONNX values in files of their own --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the data that ONNX ships beside models: a TensorProto, SequenceProto or
// OptionalProto a file (test_data_set_0/input_0.pb). The bytes do not say which
// of the three they are; the model's input type does.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_VALUEREADER_H
#define WEIR_COMPILER_FRONTEND_ONNX_VALUEREADER_H

#include "compiler/frontend/onnx/TensorReader.h"

namespace weir::onnx {

/// A value: a tensor, or a sequence of values, or a value that may be absent
/// (then `elements` is empty or holds the one). Keeps views into the bytes.
struct DataValue {
  enum class Kind : uint8_t { Tensor, Sequence, Optional };
  Kind kind = Kind::Tensor;
  std::string_view name;
  Tensor tensor;
  std::vector<DataValue> elements;
};

/// Reads a serialized value of the given kind.
MaybeProblem readValue(std::string_view bytes, DataValue::Kind kind, DataValue &value);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_VALUEREADER_H

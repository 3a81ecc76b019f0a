//===- DataType.h - ONNX element types --------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_DATATYPE_H
#define WEIR_COMPILER_FRONTEND_ONNX_DATATYPE_H

#include <cstdint>
#include <string_view>

namespace weir::onnx {

/// TensorProto.DataType, with its numbers. The runtime's ABI uses the same.
enum class DataType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};

/// The field of TensorProto that holds an element type's values when raw_data
/// does not.
enum class ValueField : uint8_t { None, Float, Int32, Int64, Double, UInt64, String };

struct DataTypeInfo {
  std::string_view name; ///< as users write it: f32, i64, ui8, string
  uint16_t bits;         ///< of one element in raw_data; 0 for strings
  ValueField field;
};

/// Facts about a type number; null for a number that ONNX does not define.
const DataTypeInfo *dataTypeInfo(DataType type);

/// Name of a type for messages, also of undefined numbers ("type 99").
std::string_view dataTypeName(DataType type);

/// Bytes of `count` elements in raw_data, sub-byte elements packed with the
/// first in the low bits. False where the product does not fit in 63 bits.
bool rawByteSize(DataType type, int64_t count, int64_t &bytes);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_DATATYPE_H

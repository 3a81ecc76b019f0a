//===- DataType.h - TensorFlow's element types ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of types.proto. A reference type (the mutable tensors of version
// one) is its base type's number plus 100.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_DATATYPE_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_DATATYPE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::tf {

enum class DataType : uint8_t {
  Invalid = 0,
  Float = 1,
  Double = 2,
  Int32 = 3,
  UInt8 = 4,
  Int16 = 5,
  Int8 = 6,
  String = 7,
  Complex64 = 8,
  Int64 = 9,
  Bool = 10,
  QInt8 = 11,
  QUInt8 = 12,
  QInt32 = 13,
  BFloat16 = 14,
  QInt16 = 15,
  QUInt16 = 16,
  UInt16 = 17,
  Complex128 = 18,
  Half = 19,
  Resource = 20,
  Variant = 21,
  UInt32 = 22,
  UInt64 = 23,
  Float8E5M2 = 24,
  Float8E4M3FN = 25,
  Float8E4M3FNUZ = 26,
  Float8E4M3B11FNUZ = 27,
  Float8E5M2FNUZ = 28,
  Int4 = 29,
  UInt4 = 30,
  Int2 = 31,
  UInt2 = 32,
};

/// The type of a file's number; Invalid for numbers that TensorFlow does not
/// have. A reference type comes back as its base type.
DataType toDataType(int64_t number);

/// Whether a file's number stands for a reference type.
inline bool isRefType(int64_t number) { return number > 100 && number < 200; }

/// The name without its prefix, lower case: `float`, `int32`, `bool`.
std::string_view typeName(DataType type);

/// The type of a name as op tables write it (`float`, `qint8`), or Invalid.
DataType typeOfName(std::string_view name);

/// Bytes of an element in memory; 0 for strings, resources, variants.
/// The 4- and 2-bit integers take a byte each, as in TensorFlow.
unsigned elementBytes(DataType type);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_DATATYPE_H

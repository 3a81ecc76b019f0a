//===- DataType.cpp - TensorFlow's element types --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/DataType.h"

#include <array>

using namespace weir::tf;

namespace {
struct Row {
  std::string_view name;
  unsigned bytes;
};
} // namespace

// By number.
static constexpr std::array<Row, 33> kTypes = {{
    {"invalid", 0},
    {"float", 4},
    {"double", 8},
    {"int32", 4},
    {"uint8", 1},
    {"int16", 2},
    {"int8", 1},
    {"string", 0},
    {"complex64", 8},
    {"int64", 8},
    {"bool", 1},
    {"qint8", 1},
    {"quint8", 1},
    {"qint32", 4},
    {"bfloat16", 2},
    {"qint16", 2},
    {"quint16", 2},
    {"uint16", 2},
    {"complex128", 16},
    {"half", 2},
    {"resource", 0},
    {"variant", 0},
    {"uint32", 4},
    {"uint64", 8},
    {"float8_e5m2", 1},
    {"float8_e4m3fn", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e4m3b11fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"int4", 1},
    {"uint4", 1},
    {"int2", 1},
    {"uint2", 1},
}};

DataType weir::tf::toDataType(int64_t number) {
  if (isRefType(number))
    number -= 100;
  if (number <= 0 || number >= static_cast<int64_t>(kTypes.size()))
    return DataType::Invalid;
  return static_cast<DataType>(number);
}

std::string_view weir::tf::typeName(DataType type) {
  return kTypes[static_cast<size_t>(type)].name;
}

DataType weir::tf::typeOfName(std::string_view name) {
  for (size_t i = 1; i < kTypes.size(); ++i)
    if (kTypes[i].name == name)
      return static_cast<DataType>(i);
  return DataType::Invalid;
}

unsigned weir::tf::elementBytes(DataType type) { return kTypes[static_cast<size_t>(type)].bytes; }

//===- DataType.cpp - ONNX element types ----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/DataType.h"

using namespace weir::onnx;

namespace {
// Indexed by TensorProto.DataType.
constexpr DataTypeInfo infos[] = {
    {"undefined", 0, ValueField::None},   {"f32", 32, ValueField::Float},
    {"ui8", 8, ValueField::Int32},        {"i8", 8, ValueField::Int32},
    {"ui16", 16, ValueField::Int32},      {"i16", 16, ValueField::Int32},
    {"i32", 32, ValueField::Int32},       {"i64", 64, ValueField::Int64},
    {"string", 0, ValueField::String},    {"bool", 8, ValueField::Int32},
    {"f16", 16, ValueField::Int32},       {"f64", 64, ValueField::Double},
    {"ui32", 32, ValueField::UInt64},     {"ui64", 64, ValueField::UInt64},
    {"complex64", 64, ValueField::Float}, {"complex128", 128, ValueField::Double},
    {"bf16", 16, ValueField::Int32},      {"f8E4M3FN", 8, ValueField::Int32},
    {"f8E4M3FNUZ", 8, ValueField::Int32}, {"f8E5M2", 8, ValueField::Int32},
    {"f8E5M2FNUZ", 8, ValueField::Int32}, {"ui4", 4, ValueField::Int32},
    {"i4", 4, ValueField::Int32},         {"f4E2M1FN", 4, ValueField::Int32},
    {"f8E8M0FNU", 8, ValueField::Int32},  {"ui2", 2, ValueField::Int32},
    {"i2", 2, ValueField::Int32},         {"f6E2M3FN", 6, ValueField::Int32},
    {"f6E3M2FN", 6, ValueField::Int32},
};
} // namespace

const DataTypeInfo *weir::onnx::dataTypeInfo(DataType type) {
  auto number = static_cast<uint32_t>(type);
  if (number == 0 || number >= sizeof infos / sizeof infos[0])
    return nullptr;
  return &infos[number];
}

std::string_view weir::onnx::dataTypeName(DataType type) {
  const DataTypeInfo *info = dataTypeInfo(type);
  return info ? info->name : std::string_view("an undefined type");
}

bool weir::onnx::rawByteSize(DataType type, int64_t count, int64_t &bytes) {
  const DataTypeInfo *info = dataTypeInfo(type);
  int64_t bits;
  if (!info || count < 0 ||
      __builtin_mul_overflow(count, static_cast<int64_t>(info->bits), &bits) ||
      __builtin_add_overflow(bits, int64_t(7), &bits))
    return false;
  bytes = bits / 8;
  return true;
}

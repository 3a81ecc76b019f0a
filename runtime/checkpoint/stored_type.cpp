//===- stored_type.cpp - element types of checkpoints ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/stored_type.h"
#include "weir/weir.h"

namespace weir::rt {

// By number. Quantised integers are the integers that hold them.
static const StoredType types[] = {
    {"invalid", 0, 0, 0, false, 0},
    {"float", 4, 4, WEIR_F32, true, 5},
    {"double", 8, 8, WEIR_F64, true, 6},
    {"int32", 4, 4, WEIR_I32, true, 7},
    {"uint8", 1, 1, WEIR_U8, true, 7},
    {"int16", 2, 2, WEIR_I16, true, 7},
    {"int8", 1, 1, WEIR_I8, true, 7},
    {"string", 0, 0, WEIR_STRING, false, 8},
    {"complex64", 8, 4, WEIR_C64, true, 9},
    {"int64", 8, 8, WEIR_I64, true, 10},
    {"bool", 1, 1, WEIR_BOOL, true, 11},
    {"qint8", 1, 1, WEIR_I8, true, 7},
    {"quint8", 1, 1, WEIR_U8, true, 7},
    {"qint32", 4, 4, WEIR_I32, true, 7},
    {"bfloat16", 2, 2, WEIR_BF16, true, 0},
    {"qint16", 2, 2, WEIR_I16, false, 0},
    {"quint16", 2, 2, WEIR_U16, false, 0},
    {"uint16", 2, 2, WEIR_U16, false, 7},
    {"complex128", 16, 8, WEIR_C128, true, 12},
    {"half", 2, 2, WEIR_F16, false, 13},
    {"resource", 0, 0, 0, false, 0},
    {"variant", 0, 0, 0, false, 0},
    {"uint32", 4, 4, WEIR_U32, false, 0},
    {"uint64", 8, 8, WEIR_U64, false, 0},
    {"float8_e5m2", 1, 1, WEIR_F8E5M2, false, 0},
    {"float8_e4m3fn", 1, 1, WEIR_F8E4M3FN, false, 0},
    {"float8_e4m3fnuz", 1, 1, WEIR_F8E4M3FNUZ, false, 0},
    {"float8_e4m3b11fnuz", 1, 1, 0, false, 0},
    {"float8_e5m2fnuz", 1, 1, WEIR_F8E5M2FNUZ, false, 0},
    {"int4", 1, 1, WEIR_I4, false, 0},
    {"uint4", 1, 1, WEIR_U4, false, 0},
    {"int2", 1, 1, WEIR_I2, false, 0},
    {"uint2", 1, 1, WEIR_U2, false, 0},
    {"float4_e2m1fn", 1, 1, WEIR_F4E2M1, false, 0},
};
static constexpr int32_t typeCount = sizeof(types) / sizeof(types[0]);

const StoredType &storedType(int32_t number) {
  return types[number > 0 && number < typeCount ? number : 0];
}

int32_t storedTypeOf(int32_t dtype) {
  // The first, which is none of the quantised ones where there is another.
  for (int32_t number = 1; number < typeCount && dtype; ++number)
    if (types[number].dtype == dtype)
      return number;
  return 0;
}

} // namespace weir::rt

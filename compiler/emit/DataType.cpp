//===- DataType.cpp - element types as the runtime numbers them -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Program.h"
#include "dialects/weir/Weir.h"
#include "weir/weir.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

static int integerType(IntegerType type) {
  bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return WEIR_BOOL;
  case 2:
    return isUnsigned ? WEIR_U2 : WEIR_I2;
  case 4:
    return isUnsigned ? WEIR_U4 : WEIR_I4;
  case 8:
    return isUnsigned ? WEIR_U8 : WEIR_I8;
  case 16:
    return isUnsigned ? WEIR_U16 : WEIR_I16;
  case 32:
    return isUnsigned ? WEIR_U32 : WEIR_I32;
  case 64:
    return isUnsigned ? WEIR_U64 : WEIR_I64;
  default:
    return WEIR_INVALID;
  }
}

int weir::dtypeOf(Type type) {
  return llvm::TypeSwitch<Type, int>(type)
      .Case<IntegerType>(integerType)
      .Case<IndexType>([](auto) { return WEIR_I64; })
      .Case<Float32Type>([](auto) { return WEIR_F32; })
      .Case<Float64Type>([](auto) { return WEIR_F64; })
      .Case<Float16Type>([](auto) { return WEIR_F16; })
      .Case<BFloat16Type>([](auto) { return WEIR_BF16; })
      .Case<Float8E4M3FNType>([](auto) { return WEIR_F8E4M3FN; })
      .Case<Float8E4M3FNUZType>([](auto) { return WEIR_F8E4M3FNUZ; })
      .Case<Float8E5M2Type>([](auto) { return WEIR_F8E5M2; })
      .Case<Float8E5M2FNUZType>([](auto) { return WEIR_F8E5M2FNUZ; })
      .Case<Float8E8M0FNUType>([](auto) { return WEIR_F8E8M0; })
      .Case<Float4E2M1FNType>([](auto) { return WEIR_F4E2M1; })
      .Case<StringType>([](auto) { return WEIR_STRING; })
      // A box, in the graph and in buffers.
      .Case<BoxType, LLVM::LLVMPointerType>([](auto) { return WEIR_TENSOR; })
      .Case<ComplexType>([](ComplexType complex) {
        if (complex.getElementType().isF32())
          return WEIR_C64;
        return complex.getElementType().isF64() ? WEIR_C128 : WEIR_INVALID;
      })
      .Default([](auto) { return WEIR_INVALID; });
}

int64_t weir::dtypeBytes(int dtype) {
  switch (dtype) {
  case WEIR_INVALID:
    return 0;
  case WEIR_U16:
  case WEIR_I16:
  case WEIR_F16:
  case WEIR_BF16:
    return 2;
  case WEIR_F32:
  case WEIR_I32:
  case WEIR_U32:
    return 4;
  case WEIR_I64:
  case WEIR_U64:
  case WEIR_F64:
  case WEIR_C64:
    return 8;
  case WEIR_C128:
    return 16;
  case WEIR_STRING:
    return sizeof(weir_string);
  case WEIR_TENSOR:
    return sizeof(weir_tensor_ref);
  default:
    return 1;
  }
}

int64_t weir::elementBytes(Type type) { return dtypeBytes(dtypeOf(type)); }

llvm::StringRef weir::dtypeName(int dtype) {
  static const char *const names[] = {
      "?",          "f32",    "u8",         "i8",  "u16", "i16",    "i32",    "i64",  "string",
      "bool",       "f16",    "f64",        "u32", "u64", "c64",    "c128",   "bf16", "f8e4m3fn",
      "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4",  "i4",  "f4e2m1", "f8e8m0", "u2",   "i2"};
  if (dtype == WEIR_TENSOR)
    return "tensor";
  if (dtype < 0 || dtype >= int(std::size(names)))
    return "?";
  return names[dtype];
}

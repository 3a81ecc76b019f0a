//===- OnnxTarget.cpp - any bytes as an ONNX model --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/OnnxFrontend.h"
#include "test/fuzz/ImportTarget.h"
#include "test/fuzz/MessageTarget.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  weir::fuzz::importBytes(weir::onnxFrontend(), ".onnx", data, size);
  return 0;
}

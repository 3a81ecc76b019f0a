//===- ImagesTarget.cpp - libFuzzer: files of images ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first byte is the operation (weir/input.h), the second how many channels; the rest is the
// file.
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/kernel_call.h"

#include "weir/input.h"

using namespace weir::rt::test;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  const int64_t operation = data[0] % 8, channels = data[1] % 5, window[] = {0, 0, 3, 2};
  std::vector<weir_string> file = {{reinterpret_cast<const char *>(data + 2), int64_t(size - 2)}};
  std::vector<int64_t> crop(window, window + 4);
  std::vector<weir_tensor> operands = {dense(file, WEIR_STRING, {})};
  if (operation == 6)
    operands.push_back(dense(crop, WEIR_I64, {4}));
  Call call(
      weir_kernel_decode_image, operands, {WEIR_U8},
      {operation, channels, 1, 1, 1, data[1] / 128, 8, 0, 0, operation == 3 ? 4 : 3, WEIR_U8});
  if (call.code && call.message.empty())
    std::abort();
  return 0;
}

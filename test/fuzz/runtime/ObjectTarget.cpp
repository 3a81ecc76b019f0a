//===- ObjectTarget.cpp - libFuzzer: what may be a .so --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The check that weir-run makes before it opens a shared object.
//
//===----------------------------------------------------------------------===//

#include "tools/common/ElfCheck.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  weir::tools::faultOfSharedObject({reinterpret_cast<const char *>(data), size});
  return 0;
}

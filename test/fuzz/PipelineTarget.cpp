//===- PipelineTarget.cpp - any choices as a graph that is compiled -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Differential.h"
#include "test/fuzz/ImportTarget.h"

#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::string model = weir::fuzz::scratchFile("generated.onnx");
  weir::fuzz::DifferentialOptions options;
  options.model = model;
  options.sanitizeAddress = true;
  options.steps = 8;
  std::string problem = weir::fuzz::compareForms(
      std::string_view(reinterpret_cast<const char *>(data), size), options);
  if (problem.empty())
    return 0;
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::abort();
}

//===- Differential.h - one graph, compiled in several ways -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph is compiled at -O3 and run by four threads. That is compared with
//   - the same object run by one thread: the same bits;
//   - the same file at -O0;
//   - the computation in a form that leaves weir's own passes little to do: open
//     sizes, constants fed, every value fetched, at -O0 or -O3 in turn;
//   - what TensorFlow has words for, as a GraphDef.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_FUZZ_DIFFERENTIAL_H
#define WEIR_TEST_FUZZ_DIFFERENTIAL_H

#include "test/fuzz/GraphGenerator.h"

#include <string>
#include <string_view>

namespace weir::fuzz {

struct DifferentialOptions {
  std::string model; ///< file to write models to, which ends in .onnx
  unsigned steps = 12;
  bool sanitizeAddress = false; ///< objects with checks of their own
};

/// What is wrong with how the graph of `choices` was compiled and run, in one
/// line; empty where nothing is. Being refused is wrong, too.
std::string compareForms(std::string_view choices, const DifferentialOptions &options);

} // namespace weir::fuzz

#endif // WEIR_TEST_FUZZ_DIFFERENTIAL_H

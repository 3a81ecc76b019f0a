//===- GradientCases.h - functions whose gradients are tested ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_GRADIENT_GRADIENTCASES_H
#define WEIR_TEST_UNIT_GRADIENT_GRADIENTCASES_H

#include <cstdint>
#include <vector>

namespace weir::gradient_test {

using Dims = std::vector<int64_t>;

struct Function {
  const char *name;
  std::vector<Dims> arguments; ///< of f64
  Dims result;                 ///< of f64
  const char *body;            ///< %a, %b, %c to %y
};

/// At least one for each operation that has a gradient.
std::vector<Function> allFunctions();

} // namespace weir::gradient_test

#endif // WEIR_TEST_UNIT_GRADIENT_GRADIENTCASES_H

//===- Refusal.h - what a compilation that fails says -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_DRIVER_REFUSAL_H
#define WEIR_TEST_UNIT_DRIVER_REFUSAL_H

#include "compiler/driver/Driver.h"

#include <gtest/gtest.h>
#include <string>

namespace weir::driver {

/// The messages, a line each, of a compilation that must fail.
inline std::string refusalOf(const Options &options) {
  DiagnosticSink sink;
  Result result;
  EXPECT_FALSE(compile(options, sink, result));
  std::string text;
  for (const Diagnostic &diagnostic : sink.diagnostics())
    text += diagnostic.str() + "\n";
  return text;
}

} // namespace weir::driver

#endif // WEIR_TEST_UNIT_DRIVER_REFUSAL_H

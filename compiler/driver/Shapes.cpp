//===- Shapes.cpp - sizes that users say ----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Shapes.h"

#include <algorithm>

using namespace weir;

void driver::checkShape(const ShapeSpec &shape, const std::string &flag, const Options &options,
                        DiagnosticSink &sink) {
  if (std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= -1; }))
    return;
  sink.report({"W0113",
               options.input,
               "",
               "",
               "found a negative size in " + flag +
                   "; possible: sizes from 0 on, and -1 for one that is not fixed",
               {}});
}

bool driver::checkShapes(const Options &options, DiagnosticSink &sink) {
  size_t before = sink.errorCount();
  for (const auto &[name, shape] : options.shapes)
    checkShape(shape, "--shape=" + name, options, sink);
  return sink.errorCount() == before;
}

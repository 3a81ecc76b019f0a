//===- Shapes.h - sizes that users say --------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_SHAPES_H
#define WEIR_COMPILER_DRIVER_SHAPES_H

#include "compiler/driver/Options.h"

namespace weir::driver {

/// W0113 where a size is negative, and not the -1 of one that is not fixed. `flag`: where it is.
void checkShape(const ShapeSpec &shape, const std::string &flag, const Options &options,
                DiagnosticSink &sink);

/// The same of all that --shape says; false after a report.
bool checkShapes(const Options &options, DiagnosticSink &sink);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_SHAPES_H

//===- ScalarForm.h - which values are scalars of the step -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_SCALARFORM_H
#define WEIR_PASSES_ANALYSIS_SCALARFORM_H

#include "mlir/IR/Types.h"

namespace weir::plan {

/// Whether values of this type are kept as scalars of the step: shapes, counters and
/// conditions, integers of static shape with at most 16 elements.
bool isScalarForm(mlir::Type type);

} // namespace weir::plan

#endif // WEIR_PASSES_ANALYSIS_SCALARFORM_H

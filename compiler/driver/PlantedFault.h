//===- PlantedFault.h - faults for tests ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests of what finds faults: a pass is made to leave a wrong program. Nothing else
// uses it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_PLANTEDFAULT_H
#define WEIR_COMPILER_DRIVER_PLANTEDFAULT_H

#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace weir::driver {

/// A fault behind a pass, at the operations that serve a node.
struct PlantedFault {
  std::string pass; ///< as the pipeline names it
  int run = 1;      ///< behind which run of the pass; 1: the first
  std::string node;
  std::string kind;
  bool planted = false;

  /// Parses "PASS[#RUN]:NODE:KIND". False where it is none. Kinds: `value` (results are a
  /// hundredth larger), `round` (results are rounded to bf16), `drop` (an operation is
  /// left out), `swap` (its first two operands change places), `nan` (results are NaN),
  /// `overlap` (a buffer takes another's place), `place` (behind weir-partition: an operation
  /// is on a device that nobody sent its operand to, and reads zeros there), each also as
  /// KIND@N: only where a dimension has the size N. Kernels whose strategies take no more
  /// operations are left alone. A `?` before all: where there is nothing
  /// to spoil so, nothing is.
  bool parse(llvm::StringRef text, std::string &possible);
  /// To be added to each stage's pass manager. The fault must outlive it.
  std::unique_ptr<mlir::PassInstrumentation> instrumentation();

  /// Whether the pass has run and left no operation to spoil.
  bool wasMissed() const { return isNeeded && seen >= run && !planted; }

private:
  friend class FaultInstrumentation;
  int64_t size = 0; ///< 0: wherever
  bool isNeeded = true;
  int seen = 0;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_PLANTEDFAULT_H

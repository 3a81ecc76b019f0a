//===- ElementMachine.h - runs operations element by element ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the code that an operation emits for its sizes and its elements, on
// plain arrays, without a code generator: scalar operations by their folders,
// loops and branches by walking them. Every read is checked against the bounds.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_DIALECTS_ELEMENTMACHINE_H
#define WEIR_TEST_UNIT_DIALECTS_ELEMENTMACHINE_H

#include "dialects/weir/Weir.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>
#include <string>
#include <vector>

namespace weir::test {

/// A tensor: `type` is an MLIR element type in text. Booleans and integers are
/// numbers, too; complex elements take two.
struct Array {
  std::string type;
  std::vector<int64_t> shape;
  std::vector<double> values;

  bool operator==(const Array &other) const = default;
};
std::ostream &operator<<(std::ostream &os, const Array &array);

Array f32(std::vector<int64_t> shape, std::vector<double> values);
Array i64(std::vector<int64_t> shape, std::vector<double> values);
/// f32 values that differ: 0.5, 1.5, … modulo a prime, some negative.
Array sample(std::vector<int64_t> shape, int64_t seed = 1);

struct Outcome {
  std::vector<Array> results;
  /// Messages of failed requirements, and of reads outside of bounds.
  std::vector<std::string> errors;
};

/// How operand types are written: with their sizes, or with all of them open
/// but for one-dimensional i64 parameters. Constant: the operands after the
/// first are weir.constant.
enum class Typing { Static, Dynamic, Constant };

class Machine {
public:
  Machine();
  /// `text`: name, operands %0, %1, … and attributes of a weir operation; for
  /// conversions, which infer nothing, then " -> " and the element type.
  Outcome run(const std::string &text, const std::vector<Array> &operands, Typing typing,
              unsigned results = 1);
  /// What the constant evaluator makes of it, on f32 and integers.
  std::optional<Array> evaluate(const std::string &text, const std::vector<Array> &operands);
  /// What the evaluator of large constants makes of it.
  std::optional<Array> evaluateLarge(const std::string &text, const std::vector<Array> &operands);
  /// What inference makes of the operation: types in text, or the diagnostic.
  std::string infer(const std::string &text, const std::vector<std::string> &operandTypes,
                    unsigned results = 1);
  /// The text parsed as a module; null with a failed expectation otherwise.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);

  mlir::MLIRContext context;
  std::string diagnostics;

private:
  /// The operation of constants, in `module`; null with a failed expectation.
  mlir::Operation *buildOfConstants(const std::string &text, const std::vector<Array> &operands,
                                    mlir::OwningOpRef<mlir::ModuleOp> &module);
  mlir::Operation *build(mlir::ModuleOp module, unsigned results);
};

} // namespace weir::test

#endif // WEIR_TEST_UNIT_DIALECTS_ELEMENTMACHINE_H

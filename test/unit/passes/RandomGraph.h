//===- RandomGraph.h - graphs to try passes on -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_PASSES_RANDOMGRAPH_H
#define WEIR_TEST_UNIT_PASSES_RANDOMGRAPH_H

#include "dialects/weir/Weir.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <random>
#include <string>
#include <vector>

namespace weir::test {

/// Builds functions of weir operations that the constant evaluator knows, with
/// conditionals, counted loops and variables. Few values are used often, so that
/// equal ones are common.
class RandomGraph {
public:
  RandomGraph(mlir::MLIRContext &context, unsigned seed);

  mlir::OwningOpRef<mlir::ModuleOp> make(unsigned operations);

  /// Computes `value` (in the block that `b` is in) once more, another way: with
  /// operands commuted, identities inserted, and regions built anew.
  static mlir::Value again(mlir::OpBuilder &b, mlir::Value value, std::mt19937 &random,
                           std::map<const void *, mlir::Value> &done);

private:
  using Pool = std::vector<mlir::Value>;
  void fill(mlir::OpBuilder &b, Pool pool, unsigned operations, unsigned depth, Pool *out);
  mlir::Value any(const Pool &pool, mlir::Type type, mlir::OpBuilder &b);
  mlir::Value constant(mlir::OpBuilder &b, mlir::Type type, int64_t value);
  mlir::Value makeIf(mlir::OpBuilder &b, const Pool &pool, unsigned depth);
  void makeWhile(mlir::OpBuilder &b, const Pool &pool, unsigned depth, Pool &made);
  unsigned below(unsigned bound) { return random() % bound; }

  mlir::MLIRContext &context;
  std::mt19937 random;
  mlir::Type integers, floats, count, flag;
};

/// Runs a function of such operations on constants: its results, then the values
/// of variables by name. Empty where an operation cannot be
/// evaluated, or a loop does not end.
std::vector<std::string> interpret(mlir::func::FuncOp function,
                                   llvm::ArrayRef<mlir::Attribute> arguments);

} // namespace weir::test

#endif // WEIR_TEST_UNIT_PASSES_RANDOMGRAPH_H

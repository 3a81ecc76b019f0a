//===- StepLowering.h - step functions become LLVM ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_HOST_STEPLOWERING_H
#define WEIR_COMPILER_CODEGEN_HOST_STEPLOWERING_H

#include "compiler/codegen/host/LaunchRows.h"
#include "compiler/codegen/kernel/KernelBuilder.h"

#include <functional>
#include <memory>

namespace llvm {
class Module;
} // namespace llvm

namespace weir {

class StepRewriter;
struct StepTables;

/// Makes the rewriter of a step, which says how its device does things; null:
/// the host's.
using StepRewriterFactory =
    std::function<std::unique_ptr<StepRewriter>(mlir::func::FuncOp, StepTables &)>;

/// What step functions refer to by number.
struct StepTables {
  /// Constants that the program has already keep their places.
  StepTables(SiteTable &sites, Program &program);

  SiteTable &sites;
  Program &program;
  llvm::DenseMap<mlir::Attribute, int64_t> blobOffsets;
  std::vector<mlir::DenseStringElementsAttr> stringTables; ///< by number
  llvm::StringMap<int> kernelIndex;                        ///< by the kernel's symbol in the plan
  llvm::StringMap<std::string> kernelSymbol;
  LaunchRows launches;

  /// Offset in the constants of `value`, which is added when it is new.
  int64_t blobOffset(mlir::Attribute value);
  int blobIndex(mlir::Attribute value);
  /// Number of a custom operation that `op` calls, added when it is new.
  int customIndex(mlir::Operation *op, llvm::StringRef operation, llvm::StringRef callee);
  /// The symbol of a constant of strings' elements, which `fillStringTables`
  /// gives its contents when the module is LLVM's.
  std::string stringTable(mlir::DenseStringElementsAttr strings);
  void fillStringTables(llvm::Module &module) const;
  static std::string nodeOf(mlir::Operation *op);
};

/// Gives every step function its context argument and code as result, and turns
/// the plan's operations in it into LLVM's. Control flow must be of cf already.
mlir::LogicalResult lowerSteps(mlir::ModuleOp module, StepTables &tables,
                               const StepRewriterFactory &others = {});

/// Folds what a step computes of sizes, which a graph says again and again: equal values are
/// one, no size is negative, and a check is made once. Control flow must be of cf already.
void foldSizes(mlir::func::FuncOp step);

/// Declares functions that steps of other devices call, where the builder stands.
using FunctionDeclarer = std::function<void(mlir::OpBuilder &, mlir::ModuleOp)>;

/// Declares the runtime's functions that generated code calls.
void declareRuntime(mlir::ModuleOp module, const FunctionDeclarer &others);
/// Declares one, unless the module has it, where `b` stands.
void declareFunction(mlir::OpBuilder &b, mlir::ModuleOp module, llvm::StringRef name,
                     mlir::Type result, llvm::ArrayRef<mlir::Type> arguments);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_HOST_STEPLOWERING_H

//===- InlinePtx.h - assembly within kernels -------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// PTX that LLVM has no instructions for, or that must stay together as it is. Names of
// registers are those of one block in braces; what it names itself begins with "w_".
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_INLINEPTX_H
#define WEIR_COMPILER_CODEGEN_CUDA_INLINEPTX_H

#include "compiler/codegen/cuda/CudaKernel.h"

namespace weir {

class InlinePtx {
public:
  /// With so many results, which are named before anything else.
  InlinePtx(CudaReader &r, int64_t outputs) : r(r), outputs(outputs) {}

  /// What the text calls the next result, which is written before operands are read for
  /// the last time.
  std::string output(mlir::Type type);
  /// The same of a result that is `value` to begin with.
  std::string update(mlir::Value value);
  /// What the text calls an operand.
  std::string input(mlir::Value value);
  InlinePtx &line(const std::string &text);
  /// A place of the text to branch to.
  InlinePtx &label(llvm::StringRef name);
  InlinePtx &branch(llvm::StringRef predicate, llvm::StringRef name);
  /// Puts it where the reader's builder is. It is never moved, repeated or left out.
  llvm::SmallVector<mlir::Value> emit();

private:
  CudaReader &r;
  int64_t outputs;
  std::string text;
  llvm::SmallVector<std::string> constraints, ofUpdated;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Value> inputs, updated;
};

/// Where a block's memory begins whose size the launch says: an address of shared memory,
/// i64, a multiple of 1,024.
mlir::Value dynamicShared(CudaReader &r);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_INLINEPTX_H

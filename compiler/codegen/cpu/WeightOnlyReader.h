//===- WeightOnlyReader.h - numbers of weights of a few bits -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the emitters of products by weights of a few bits share: the panels of numbers, of
// scales and zero points, the parts of the range, and where results go.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_WEIGHTONLYREADER_H
#define WEIR_COMPILER_CODEGEN_CPU_WEIGHTONLYREADER_H

#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/WeightOnlyPanels.h"

namespace weir {

class WeightOnlyReader {
protected:
  WeightOnlyReader(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                   DequantizeBlocksOp weights);

  /// `count` rows from `first` on by a panel.
  struct Part {
    mlir::Value first, count, panel, column;
    int64_t vectors; ///< of the panel, that hold columns, behind those that are skipped
    int64_t skipped = 0;
    bool isStreamed = false; ///< few rows read them, so that memory is what they wait for
    mlir::Value limit;       ///< of the last one columns from there on do not exist; null: all do
  };

  mlir::VectorType floats() { return mlir::VectorType::get({lanes}, b.getF32Type()); }
  mlir::VectorType words() { return mlir::VectorType::get({lanes}, b.getI32Type()); }
  mlir::Value splat(int32_t value);
  mlir::Value splat(float value);

  /// The words of the panel's row `word`, a vector of them for each of the part's vectors.
  llvm::SmallVector<mlir::Value> loadWords(const Part &part, mlir::Value word);
  /// Block `number` of scales or zero points as floats, those of the part's vector `v`.
  mlir::Value shared(const ColumnsOperand &operand, const Part &part, mlir::Value number,
                     int64_t v);
  /// Row `row` of the left operand, in elements.
  mlir::Value rowAddress(mlir::Value row) { return r.mul(row, step); }
  /// The result's indices of that row but the last.
  llvm::SmallVector<mlir::Value> indicesOf(mlir::Value row);
  /// The rows of all of the left operand's dimensions but the last.
  mlir::Value rowCount();
  /// Calls `body` for the whole or cut panel at `part.column`, whose `vectors` and `limit` it
  /// sets.
  void forPanel(Part &part, llvm::function_ref<void()> body);

  KernelBuilder &r;
  mlir::OpBuilder &b;
  plan::KernelOp kernel;
  DotGeneralOp dot;
  DequantizeBlocksOp weights;
  const KernelBuilder::Buffer lhs, target;
  KernelBuilder::Buffer packed;
  ColumnsOperand scales;
  std::optional<ColumnsOperand> zeros; ///< none: `zero` is all of them
  float zero = 0;
  llvm::ArrayRef<int64_t> tile, parts;
  int64_t bits, block, depth, lanes, perWord;
  mlir::Value step; ///< elements from a row of the left operand to the next
};

/// Products whose rows become bytes (addsBytes), for parts from `begin` to `end`.
void emitWeightOnlyBytes(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                         DequantizeBlocksOp weights, mlir::Value begin, mlir::Value end);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_WEIGHTONLYREADER_H

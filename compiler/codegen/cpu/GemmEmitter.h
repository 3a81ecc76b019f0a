//===- GemmEmitter.h - matrix products --------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Gemm.cpp and GemmPackedRows.cpp share.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_GEMMEMITTER_H
#define WEIR_COMPILER_CODEGEN_CPU_GEMMEMITTER_H

#include "compiler/codegen/cpu/Tiles.h"

namespace weir {

/// A product as a kernel computes it, part by part of its range.
class GemmEmitter {
public:
  GemmEmitter(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot);

  /// The parts from `begin` to before `end`.
  void emit(mlir::Value begin, mlir::Value end);

private:
  /// A block of rows by a panel of columns, in one matrix of the batch.
  struct Part {
    llvm::SmallVector<mlir::Value> outer; ///< indices of the matrix in the batch
    mlir::Value panel;                    ///< the panel's number
    mlir::Value matrix;                   ///< its number in the batch
    mlir::Value left, right;    ///< the matrices' first elements; of the right one, its first line
    mlir::Value matrixRows;     ///< rows of all matrices of the right operand
    mlir::Value firstRow, rows; ///< of the block
    mlir::Value column;         ///< the panel's first
    llvm::SmallVector<mlir::Value> line; ///< indices of the line that the rows are of; none: of any
    mlir::Value inLine;                  ///< the block's first row in it
  };

  /// Rows of the right operand that are summed at once: `count` from `from` on.
  struct DepthRange {
    mlir::Value from, count;
    bool isWhole, isLast;
  };

  /// Some vectors of a panel's columns; those from `limit` on do not exist (null: all do).
  struct Columns {
    int64_t vectors;
    mlir::Value limit;
  };

  Part partOf(llvm::ArrayRef<mlir::Value> at);
  void emitLine(mlir::Value number);
  void emitPart(const Part &part);
  void emitRows(const Part &part, const Columns &wanted);
  void emitDepthBlocks(llvm::function_ref<void(const DepthRange &)> emit);
  void emitDepth(const Part &part, const Columns &wanted, const DepthRange &range);
  void copyColumns(const Part &part, const Columns &wanted, const DepthRange &range);
  void emitTileRows(const Part &part, const Columns &wanted, const DepthRange &range,
                    mlir::Value offset, int64_t tileRows);
  // Where rows are packed (GemmPackedRows.cpp).
  void emitPackedRows(mlir::Value begin, mlir::Value end);
  void packRows(const Part &part, const DepthRange &range);
  void packTile(const Part &part, const DepthRange &range, mlir::Value offset, int64_t tileRows);
  void fetchAhead(const Part &part, const DepthRange &range, mlir::Value offset, int64_t tileRows,
                  mlir::Value k);
  PartialSums sumsInResult(const Part &part, const DepthRange &range, mlir::Value offset);
  mlir::Value packedTile(mlir::Value offset);

  llvm::SmallVector<mlir::Value> indexOfRow(const Part &part, mlir::Value row);
  llvm::SmallVector<mlir::Value> indexBehind(llvm::SmallVector<mlir::Value> indices);
  bool hasWholeBlocks();

  int64_t blockRows() const { return blocks[batch]; }

  KernelBuilder &r;
  plan::KernelOp kernel;
  DotGeneralOp dot;
  llvm::ArrayRef<int64_t> blocks; ///< of each dimension of the range
  TileShape shape;
  const KernelBuilder::Buffer target, lhs;
  ColumnsOperand rhs;
  mlir::Type element;
  int64_t batch, rowDims;           ///< how many dimensions
  mlir::Value rows, columns, depth; ///< rows of several dimensions count as one
  mlir::Value step;                 ///< from one row of the left operand to the next
  mlir::Value stride;               ///< the same along the sum
  int64_t steps;                    ///< of the sum, as the types say
  bool isLeftTurned;                ///< the left operand lies as [batch…, K, M]
  bool isUniform;                   ///< a row is known by its number alone
  int64_t running;                  ///< the dimension of rows that runs on over the others
  int64_t tilesInPanel;
  std::optional<int64_t> depthBlock; ///< rows of a block of the sum; none: it is one
  mlir::Value sums;                  ///< between blocks of the sum; null: there is one
  mlir::Value packedRows;            ///< a block of the left operand; null: it is read as it lies
  mlir::Value copied;                ///< a panel's copy; null: none is made
  mlir::Value copies;                ///< whether it is made; null: in any case
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_GEMMEMITTER_H

//===- CudaLineFold.h - what the elements of a line come to ------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction, a search for an extreme and a scan have one thing in common: the
// elements of a line are combined, by an operation that is associative, into few
// numbers. What these are and how two of them become one is said here once; who walks along
// which part of a line is the emitters' concern.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDALINEFOLD_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDALINEFOLD_H

#include "compiler/codegen/cuda/CudaKernel.h"

namespace weir {

/// The lines of one reduce, arg_reduce or cumulative, and what is known of a part of one: a
/// value in the accumulator's type, of arg_reduce also the place where it lies (i64).
class LineFold {
public:
  using State = LineState;

  /// The only such operation of the kernel, all of whose results have its shape, if its
  /// elements are integers and floats of up to 64 bits; null: it has none, or several.
  static mlir::Operation *find(plan::KernelOp kernel);
  /// Whether neighbouring lines' elements lie next to each other, not a line's own.
  static bool liesAcross(mlir::Operation *op);
  /// The dimensions along which its lines lie, ascending.
  static llvm::SmallVector<int64_t> axesOf(mlir::Operation *op);
  /// Threads that share a line: one, where neighbours' elements lie side by side or lines are
  /// short; a warp's; a block's.
  static int64_t threadsOf(mlir::Operation *op);
  /// Elements of a line, and lines, as far as the model tells; -1: open.
  static int64_t knownLength(mlir::Operation *op);
  static int64_t knownCount(mlir::Operation *op);

  /// `op` as `find` has it.
  LineFold(const CudaKernel &k, mlir::Operation *op);

  /// What no element changes.
  State start();
  /// What element `place` of the line is alone; a scan that goes backwards counts from the end.
  /// `kept`: the line's indices along the dimensions that are not reduced.
  State read(mlir::ValueRange kept, mlir::Value place);
  /// What two parts come to, in either order.
  State combine(llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b);
  /// The operation's element, in compute form. A mean divides by the line's length.
  mlir::Value result(llvm::ArrayRef<mlir::Value> state);

  /// `init` and elements `from`, `from` + `step`, ... below `to`, one after the other, with
  /// several reads under way at a time.
  State walk(mlir::ValueRange kept, mlir::Value from, mlir::Value to, mlir::Value step, State init);

  mlir::Operation *op() const { return operation; }
  bool isScan() const { return llvm::isa<CumulativeOp>(operation); }
  bool liesAcross() const { return liesAcross(operation); }
  int64_t knownLength() const { return knownLength(operation); }
  mlir::Value length(); ///< elements of a line
  mlir::Value count();  ///< lines
  /// The indices along kept dimensions of line number `line`, in the order of results.
  llvm::SmallVector<mlir::Value> keptIndices(mlir::Value line);
  /// The same of the line that makes the result, of no scan, at `indices`.
  llvm::SmallVector<mlir::Value> keptOf(mlir::ValueRange indices) const;
  /// The indices at which the operation's result has what becomes of a line; of a scan, of its
  /// element `place`.
  llvm::SmallVector<mlir::Value> resultIndices(mlir::ValueRange kept, mlir::Value place = {});

  // States in memory: each number has 8 bytes.
  int64_t stateBytes() const { return 8 * int64_t(types.size()); }
  void storeState(llvm::ArrayRef<mlir::Value> state, mlir::Value memory, mlir::Value number);
  State loadState(mlir::Value memory, mlir::Value number);

private:
  llvm::SmallVector<mlir::Value> operandIndices(mlir::ValueRange kept, mlir::Value place);
  mlir::Value operand() const { return operation->getOperand(0); }
  llvm::SmallVector<mlir::Value> sizes(llvm::ArrayRef<int64_t> dims); ///< of the operand

  const CudaKernel &k;
  CudaReader &r;
  mlir::Operation *operation;
  mlir::Type element, wide;
  ScalarBuilder s;
  ReduceKind kind;
  llvm::SmallVector<int64_t> axes; ///< ascending
  llvm::SmallVector<int64_t> kept; ///< the other dimensions, ascending
  llvm::SmallVector<mlir::Type, 2> types;
};

/// The same of a fold's states.
inline LineState combineLine(const CudaKernel &k, LineFold &fold, LineState state, bool byBlock) {
  return combineLine(
      k, std::move(state), [&](auto a, auto b) { return fold.combine(a, b); }, byBlock);
}

/// Emits a kernel around one arg_reduce. False: it is around something else.
bool emitArgReduce(const CudaKernel &k);
/// Emits a kernel around one cumulative. False: it is around something else.
bool emitScan(const CudaKernel &k);
/// Emits the kernels by which few long lines of `kernel`, launched as `shape` otherwise, are cut
/// into parts, if it has such lines, or may turn out to have; see weir_cuda_split. Else
/// shape.split stays as it is.
void emitSplitLines(plan::KernelOp kernel, llvm::StringRef symbol, mlir::gpu::GPUModuleOp module,
                    SiteTable &sites, LaunchShape &shape);

/// Emits line `line`'s elements from `from` to `to` of a scan, behind `carried`, by the threads
/// of a warp or, `byBlock`, of a block, and stores results where `exists`.
void emitScanTiles(const CudaKernel &k, LineFold &fold, mlir::ValueRange kept, mlir::Value lane,
                   mlir::Value from, mlir::Value to, LineFold::State carried, bool byBlock,
                   mlir::Value exists);
/// The same by one thread, one element after the other.
void emitScanWalk(const CudaKernel &k, LineFold &fold, mlir::ValueRange kept, mlir::Value from,
                  mlir::Value to, LineFold::State carried);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDALINEFOLD_H

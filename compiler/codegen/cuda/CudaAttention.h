//===- CudaAttention.h - attention by blocks of keys ---------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// softmax(f(Q K^T)) V for a tile of queries a block. Keys and values come by
// blocks into shared memory; scores, weights and what is summed so far stay in
// registers, with each query's running maximum and sum. Where a block of keys
// raises the maximum, the sums are scaled down (Dao et al. 2022,
// arXiv:2205.14135).
//
// A query whose logits are all -inf has weights 0 in every block, and 0 / 0 in
// the end: the NaN that the definition gives.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAATTENTION_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAATTENTION_H

#include "compiler/codegen/cuda/CudaKernel.h"
#include "passes/analysis/Attention.h"

namespace weir {

/// What both forms share: which queries are whose, logits, weights, results.
class AttentionEmitter {
public:
  AttentionEmitter(const CudaKernel &k, Attention found)
      : k(k), r(k.reader), b(r.b), attention(std::move(found)), target(k.first()),
        f32(b.getF32Type()), rank(target.type.getRank()), scoreScalars(r, attention.scores, f32),
        productScalars(r, attention.product, f32) {
    auto logits = mlir::cast<mlir::RankedTensorType>(attention.product.getLhs().getType());
    knownRows = logits.getDimSize(rank - 2);
    knownKeys = logits.getDimSize(rank - 1);
    size =
        mlir::cast<mlir::RankedTensorType>(attention.scores.getLhs().getType()).getShape().back();
    columns = target.type.getShape().back();
  }

protected:
  /// One query of a thread: its place, and what of its keys the thread has
  /// seen.
  struct Row {
    llvm::SmallVector<mlir::Value> batch; ///< its batch and head
    mlir::Value index;                    ///< beyond the end: the last one
    mlir::Value exists, blind;
    mlir::Value most, sum;
  };

  /// Shapes the launch, and takes the block's tile. Left alone, ptxas spills a
  /// few words where that makes room for one more block. Heads of at most
  /// `widest`, which fit otherwise, get the registers that `resident` threads
  /// on a multiprocessor leave.
  /// With `parts`, so many blocks share a tile. Where query heads share keys and values, and a
  /// tile has room for whole groups of them, its rows are the queries of all heads of a group.
  void place(int64_t threads, int64_t rows, int64_t keys, int64_t resident, int64_t widest,
             mlir::Value parts = {});

  /// How many query heads share a head of keys and values, and a tile of so many rows; 1:
  /// each has tiles of its own.
  int64_t headsOfTile(int64_t rows) const;
  int64_t queriesOfTile() const { return tileRows / groupHeads; }
  /// Sets sizes, and what all rows have in common.
  void placeSizes(int64_t rows, int64_t keys);
  /// The first key that no query of the tile looks at: of `causal` attention, the one behind
  /// the tile's last query.
  mlir::Value keysEnd();

  Row rowAt(mlir::Value inTile);
  /// The row's place alone: its batch, head and query.
  Row placedRow(mlir::Value inTile);
  /// The row's head and query, of those of the tile.
  std::pair<mlir::Value, mlir::Value> headAndQuery(mlir::Value inTile);

  mlir::Value index(int64_t value) { return r.constant(value); }
  mlir::Value number(double value) {
    return mlir::arith::ConstantOp::create(b, r.loc, b.getF32FloatAttr(float(value)));
  }
  mlir::Value multiply(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulFOp::create(b, r.loc, x, y);
  }
  mlir::Value plus(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddFOp::create(b, r.loc, x, y);
  }
  mlir::Value choose(mlir::Value condition, mlir::Value x, mlir::Value y) {
    if (mlir::matchPattern(condition, mlir::m_One()))
      return x;
    return mlir::arith::SelectOp::create(b, r.loc, condition, x, y);
  }

  llvm::SmallVector<mlir::Value> at(mlir::Value before, mlir::Value last) const {
    llvm::SmallVector<mlir::Value> indices(batch);
    indices.append({before, last});
    return indices;
  }
  static llvm::SmallVector<mlir::Value> at(const Row &row, mlir::Value last) {
    llvm::SmallVector<mlir::Value> indices(row.batch);
    indices.append({row.index, last});
    return indices;
  }

  /// The element of an operand at `indices`. Those along dimension `tiled` may
  /// be beyond its end, unless tiles are `isWhole`, and those along others
  /// where they are stretched: that is the last element.
  mlir::Value read(const AttentionOperand &operand, llvm::ArrayRef<mlir::Value> indices,
                   int64_t tiled, bool isWhole);
  mlir::Value queryAt(const AttentionOperand &operand, const Row &row, mlir::Value place,
                      bool isWhole) {
    return read(operand, at(row, place), rank - 2, isWhole);
  }
  mlir::Value keyAt(const AttentionOperand &operand, mlir::Value key, mlir::Value place) {
    bool isLast = attention.scores.getRhsContract()[0] == rank - 1;
    return read(operand, isLast ? at(key, place) : at(place, key), isLast ? rank - 2 : rank - 1,
                wholeKeys);
  }
  mlir::Value valueAt(const AttentionOperand &operand, mlir::Value key, mlir::Value column) {
    bool isLast = attention.product.getRhsContract()[0] == rank - 1;
    return read(operand, isLast ? at(column, key) : at(key, column), isLast ? rank - 1 : rank - 2,
                wholeKeys);
  }
  /// Where along dimension `dim` the operand's source has what the operand has
  /// at `place`.
  mlir::Value sourceIndex(const AttentionOperand &operand, int64_t dim, mlir::Value place) {
    return operand.times > 1 && dim == operand.repeated ? r.divide(place, index(operand.times))
                                                        : place;
  }
  /// `body` of a place along a dimension of `size`, `otherwise` beyond it. With
  /// `isWhole` none is.
  mlir::Value within(int64_t size, bool isWhole, mlir::Value place, mlir::Value otherwise,
                     llvm::function_ref<mlir::Value(mlir::Value)> body) {
    if (isWhole)
      return body(place);
    return choose(r.less(place, index(size)), body(r.minimum(place, index(size - 1))), otherwise);
  }

  /// What the softmax sees of a score of `row` and `key`, -inf beyond the last
  /// key.
  mlir::Value logitOf(mlir::Value score, const Row &row, mlir::Value key);

  /// Takes in logits of the row, of which `lanes` neighbours have as many each:
  /// they become weights. Returns what earlier sums are scaled by.
  mlir::Value weigh(llvm::MutableArrayRef<mlir::Value> logits, Row &row, int64_t lanes);

  /// What is subtracted from logits of at most `top`: -inf minus itself is no
  /// number, yet all of the row may be masked so far.
  mlir::Value shiftOf(mlir::Value top);
  mlir::Value exponential(mlir::Value value, mlir::Value shift);

  /// What sums of weighted values are divided by. A sum over no keys is 0.
  mlir::Value divisorOf(const Row &row, int64_t lanes);

  /// Where the kernel's result has what the product has there.
  llvm::SmallVector<mlir::Value> placeOf(const Row &row, mlir::Value column) const;
  void store(const Row &row, mlir::Value column, bool isInside, mlir::Value value);

  /// The words of the weights that come of `scores`, of which tensor cores have left a lane two
  /// neighbours of each of two rows for each eight keys from `first` on: for each 16 keys four,
  /// as the left operand of the next product, of type `operand`. Scores are `scale` times that.
  /// `pair`: number of the lane's neighbours among the four of eight keys. Scales earlier sums.
  llvm::SmallVector<mlir::Value> weightsOf(llvm::SmallVector<mlir::Value> scores, double scale,
                                           mlir::Type operand, mlir::Value first, mlir::Value pair,
                                           llvm::SmallVector<Row> &rows,
                                           llvm::SmallVector<mlir::Value> &sums);

  /// Runs `body` for `count` items, a multiple of the block's threads, a few of
  /// each thread's at a time.
  void forItems(int64_t count, llvm::function_ref<void(mlir::Value item)> body);

  /// A loop over blocks of `step` of the keys [from, to) that carries each
  /// row's state and `sums`. `body` gets the first key, and changes both.
  llvm::SmallVector<mlir::Value>
  alongKeys(mlir::Value from, mlir::Value to, int64_t step, llvm::SmallVector<Row> &rows,
            llvm::SmallVector<mlir::Value> sums,
            llvm::function_ref<void(mlir::Value, llvm::SmallVector<mlir::Value> &)> body);

  const CudaKernel &k;
  CudaReader &r;
  mlir::OpBuilder &b;
  Attention attention;
  const KernelBuilder::Buffer target;
  mlir::Type f32;
  int64_t rank;
  ScalarBuilder scoreScalars, productScalars;
  int64_t knownRows = 0, knownKeys = 0, size = 1, columns = 1;
  int64_t tileRows = 1, tileKeys = 1;
  int64_t groupHeads = 1;   ///< query heads that share the tile
  bool mayShareTile = true; ///< heads of a group
  bool isRounded = false;   ///< weights are rounded to halves: so may functions be, to 2^-22
  int64_t itemsAtOnce = 8;  ///< that a thread brings into shared memory
  bool wholeRows = false, wholeKeys = false;
  mlir::Value yes, zero, lowest, rowCount, keyCount, thread, firstRow;
  mlir::Value tile;                     ///< number of the block's batch
  mlir::Value part;                     ///< of those that share the tile
  llvm::SmallVector<mlir::Value> batch; ///< of a group, its first head
};

/// What `value` is before it is rounded or made wide.
mlir::Value withoutCasts(mlir::Value value);

/// Whether queries look at keys up to their own number alone: what is behind the diagonal is
/// -inf, whatever else there is.
bool isCausal(const Attention &attention);

/// Emits the attention in threads that each have rows and columns of both
/// products, in f32.
void emitAttentionOnThreads(const CudaKernel &k, Attention attention);

/// Emits it by tensor cores. Returns false, and emits nothing, where operands
/// are not all f16 or all bf16, or where weights may not be rounded to that.
bool emitAttentionOnTensorCores(const CudaKernel &k, const Attention &attention);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAATTENTION_H

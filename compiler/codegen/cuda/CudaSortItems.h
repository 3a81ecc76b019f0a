//===- CudaSortItems.h - what sorts compare ---------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An item is a key, a number whose order is the elements', and the element's index. No two
// are equal, because indices differ, so any way to sort them is stable, and gives the
// host's results. Keys are made as runtime/kernels/ordering.cpp makes them: every NaN is the
// largest number, both zeros are equal.
//
// The network is K. E. Batcher's bitonic one (1968), in the form whose comparisons
// all put the lesser item first: a merge begins with pairs that mirror each
// other, and goes on with halved distances. So a line that is no power of two
// long can be taken for one that ends in items beyond all others. These never
// move, and need neither memory nor comparisons.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDASORTITEMS_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDASORTITEMS_H

#include "compiler/codegen/cuda/CudaKernel.h"

namespace weir {

/// Key and index as they lie in memory: one integer, or, of `keyBits` = 64, two.
struct ItemLayout {
  /// What a block may have of shared memory without being asked for more.
  static constexpr int64_t sharedBytes = 48 << 10;

  unsigned keyBits; ///< as many as the element has in memory
  /// Lines are longer than an index of 16 bits tells.
  bool isLong = false;

  bool isWide() const { return keyBits == 64; }
  /// Bits of the index, below the key.
  unsigned indexBits() const { return keyBits == 32 || isLong ? 32 : 16; }
  unsigned wordBits() const { return keyBits < 32 && !isLong ? 32 : 64; }
  int64_t bytes() const { return wordBits() / 8 + (isWide() ? 4 : 0); }
  int64_t mostElements() const { return sharedBytes / bytes(); }
};

/// None: elements of the type are not sorted by a kernel.
std::optional<ItemLayout> itemLayout(mlir::Type element);

/// Emits what is done with items of one top_k.
class SortItems {
public:
  using Item = std::pair<mlir::Value, mlir::Value>; ///< what orders it; its index (i32)

  /// Places for items: memory that a block shares, or the GPU's.
  struct Memory {
    bool isShared;
    mlir::Value items, numbers; ///< memrefs, or pointers; the second of wide ones alone
  };

protected:
  SortItems(const CudaKernel &k, TopKOp op, ItemLayout layout);

  mlir::Value number(mlir::Type type, uint64_t value);
  mlir::Value word(mlir::Value index);    ///< i32 of an index
  mlir::Value fromWord(mlir::Value word); ///< and back
  template <typename Op> mlir::Value with(mlir::Value a, mlir::Value c) {
    return Op::create(b, r.loc, a, c);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value c) {
    return mlir::arith::CmpIOp::create(b, r.loc, predicate, a, c);
  }

  Memory sharedMemory(int64_t items);
  /// `items` places from `pointer` on.
  Memory deviceMemory(mlir::Value pointer, mlir::Value items);
  Item loadItem(const Memory &memory, mlir::Value place);
  void storeItem(const Memory &memory, mlir::Value place, const Item &item);
  /// The operand's element at `at`, as item number `index` (index) of its line.
  Item itemOf(mlir::ValueRange at, mlir::Value index);
  /// One beyond all others.
  Item noItem();
  mlir::Value isBehind(const Item &a, const Item &c);
  Item choose(mlir::Value condition, llvm::function_ref<Item()> onTrue,
              llvm::function_ref<Item()> onFalse);
  /// Indices of the operand's element number `i` of the line at `outer`, which has no axis.
  llvm::SmallVector<mlir::Value> elementAt(llvm::ArrayRef<mlir::Value> outer, mlir::Value i);
  /// Element number `index` of the line, and that number, become results at `at`.
  void storeResults(llvm::ArrayRef<mlir::Value> outer, mlir::Value index, mlir::ValueRange at);

  /// Levels [`first`, `end`) (i32) of the network over the items from place `begin` on, of which
  /// there are `count` (i32), by `each` threads, of which this one is number `lane` (i32), with
  /// up to `pairs` comparisons a step. With `mirrors` (i1) a level's first pairs mirror each other.
  /// All threads of the block come here.
  struct Network {
    mlir::Value first, end, mirrors, begin, count, lane, exists;
    int64_t pairs, each;
  };
  void sort(const Memory &memory, const Network &network);

  const CudaKernel &k;
  CudaReader &r;
  mlir::OpBuilder &b;
  TopKOp op;
  ItemLayout layout;
  int64_t axis;
  mlir::Type element, keyType, wordType;

private:
  mlir::Value key(mlir::Value bits);
  void forWords(mlir::Value begin, mlir::Value end, int64_t step,
                llvm::function_ref<void(mlir::Value)> body);
  void orderPair(const Memory &memory, const Network &network, mlir::Value pair,
                 mlir::Value distance, mlir::Value across);
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDASORTITEMS_H

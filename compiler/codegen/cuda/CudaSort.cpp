//===- CudaSort.cpp - lines in order ---------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A block has a line of the axis, or several short ones, in shared memory, as items
// (CudaSortItems.h) that a network puts in order. Values are read again by index, with all of
// their bits.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaSort.h"
#include "compiler/codegen/cuda/CudaSortItems.h"
#include "dialects/weir/Pch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t mostThreads = 1024, fewThreads = 128;

class SortEmitter : public SortItems {
public:
  SortEmitter(const CudaKernel &k, TopKOp op)
      : SortItems(k, op, *itemLayout(getElementTypeOrSelf(op.getOperand().getType()))),
        size(cast<RankedTensorType>(op.getOperand().getType()).getDimSize(axis)) {}

  void emit() {
    placeLine();
    alongLine(size, [&](Value i) { storeItem(items, shared(i), itemOf(elementAt(outer, i), i)); });
    r.barrier();
    if (size > 1) {
      Type i32 = b.getI32Type();
      sort(items, {number(i32, 0), number(i32, llvm::Log2_64_Ceil(uint64_t(size))), Value(), first,
                   number(i32, uint64_t(size)), word(lane), exists, pairs, each});
    }
    int64_t wanted = cast<RankedTensorType>(op.getValues().getType()).getDimSize(axis);
    alongLine(wanted, [&](Value i) {
      storeResults(outer, fromWord(loadItem(items, shared(i)).second), elementAt(outer, i));
    });
  }

private:
  /// Shapes the launch: `each` threads a line, of which a block has `lines`.
  void placeLine() {
    pairs = int64_t(llvm::PowerOf2Ceil(uint64_t(size))) / 2;
    each = std::clamp<int64_t>(pairs, 1, mostThreads);
    int64_t lines = std::max<int64_t>(1, fewThreads / each);
    k.shape.threads = lines * each;
    LaunchShape::Axis all;
    SmallVector<Value> dims;
    for (int64_t i = 0; i < k.first().type.getRank(); ++i)
      if (i != axis) {
        all.dims.push_back(i);
        dims.push_back(k.first().dims[size_t(i)]);
      }
    all.divisor = lines;
    k.shape.axes = {all};

    Value thread = r.threadId(), own = r.divide(thread, r.constant(each)),
          line = r.add(r.mul(r.blockId(), r.constant(lines)), own), count = r.constant(1);
    lane = r.remainder(thread, r.constant(each));
    first = r.mul(own, r.constant(size));
    for (Value dim : dims)
      count = r.mul(count, dim);
    exists = r.less(line, count);
    outer = r.delinearize(line, dims);
    items = sharedMemory(lines * size);
  }

  /// The threads of a line that exists take turns over [0, count).
  void alongLine(int64_t count, function_ref<void(Value)> body) {
    r.onlyIf(exists, [&] {
      auto loop = scf::ForOp::create(b, r.loc, lane, r.constant(count), r.constant(each));
      b.setInsertionPointToStart(loop.getBody());
      body(loop.getInductionVar());
    });
  }

  /// The place of item `i` of the line.
  Value shared(Value i) { return r.add(first, i); }

  int64_t size, pairs = 0, each = 0;
  Value lane, first, exists; ///< of the thread in its line; see placeLine
  SmallVector<Value> outer;  ///< the line's indices, without the axis
  Memory items;
};

/// The sizes of a sort's lines, and of what is wanted of each; -1: open.
std::pair<int64_t, int64_t> sizesOf(TopKOp sort) {
  auto known = [&](Value value) {
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(int64_t(sort.getAxis()));
    return ShapedType::isDynamic(size) ? -1 : size;
  };
  return {known(sort.getOperand()), known(sort.getValues())};
}

} // namespace

bool weir::isLongSort(TopKOp sort) {
  auto [size, count] = sizesOf(sort);
  std::optional<ItemLayout> layout = itemLayout(getElementTypeOrSelf(sort.getOperand().getType()));
  return layout && (size < 0 || count < 0 || size > layout->mostElements());
}

std::string weir::whyNotSort(TopKOp sort) {
  auto [size, count] = sizesOf(sort);
  if (!itemLayout(getElementTypeOrSelf(sort.getOperand().getType())))
    return "sorts elements of a type that has no GPU kernel";
  if (size == 0)
    return "sorts lines without elements";
  if (size > INT32_MAX)
    return "sorts lines of " + std::to_string(size) + " elements, and kernels up to " +
           std::to_string(INT32_MAX);
  // The host's order is that of a heap.
  if (!sort.getSorted() && count != 1 && (count != size || count < 0))
    return "takes the first of each line in no order";
  return "";
}

bool weir::emitSort(const CudaKernel &k) {
  auto sorts = k.body().getOps<TopKOp>();
  if (sorts.empty())
    return false;
  SortEmitter(k, *sorts.begin()).emit();
  return true;
}

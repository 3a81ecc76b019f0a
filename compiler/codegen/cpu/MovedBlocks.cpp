//===- MovedBlocks.cpp - blocks that movement leaves whole ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/MovedBlocks.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/SlicePlaces.h"

using namespace mlir;
using namespace weir;

/// The first dimension from which on neighbours of the result are neighbours in the operand.
static std::optional<int64_t> firstWhole(Operation *op) {
  if (auto reverse = dyn_cast_if_present<ReverseOp>(op))
    return reverse.getAxes().empty() ? 0 : *llvm::max_element(reverse.getAxes()) + 1;
  if (auto pad = dyn_cast_if_present<PadOp>(op)) {
    std::optional<SmallVector<int64_t>> pads = constantIntegers(pad.getPads());
    if (pad.getMode() != PadMode::Constant || !pads ||
        llvm::any_of(*pads, [](int64_t amount) { return amount < 0; }))
      return std::nullopt;
    size_t rank = pads->size() / 2, first = rank;
    while (first > 0 && (*pads)[first - 1] == 0 && (*pads)[rank + first - 1] == 0)
      --first;
    return std::max<int64_t>(first - 1, 0);
  }
  auto slice = dyn_cast_if_present<SliceOp>(op);
  std::optional<SmallVector<int64_t>> steps =
      slice ? constantIntegers(slice.getSteps()) : std::nullopt;
  if (!steps)
    return std::nullopt;
  int64_t first = 0;
  for (auto [axis, step] : llvm::zip_equal(slice.getAxes(), *steps))
    first = std::max(first, axis + (step != 1));
  return first;
}

std::optional<MovedBlocks> weir::movedBlocksOf(KernelBuilder &r, Value tensor) {
  Operation *op = tensor.getDefiningOp();
  std::optional<int64_t> first = firstWhole(op);
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = type.getElementType();
  // Of a single line vectors are as good, where it is not all.
  if (!first || (*first > 0 && *first + 1 >= type.getRank()) || type.getRank() == 0 ||
      !isWholeBuffer(r, op->getOperand(0)))
    return std::nullopt;
  ArrayRef<Value> dims = r.bufferOf(tensor).dims;
  MovedBlocks blocks{op, *first, r.constant(1), {}};
  for (Value dim : dims.drop_front(*first))
    blocks.elements = r.mul(blocks.elements, dim);
  constexpr int64_t worthACall = 64;
  Value bytes = r.mul(blocks.elements, r.constant(elementBytes(element)));
  if (std::optional<int64_t> known = getConstantIntValue(bytes))
    return *known < worthACall ? std::nullopt : std::optional(blocks);
  blocks.holds = r.less(r.constant(worthACall - 1), bytes);
  return blocks;
}

namespace {
/// Writes the blocks of a result.
class BlockWriter {
public:
  BlockWriter(KernelBuilder &r, const MovedBlocks &blocks, const KernelBuilder::Buffer &target)
      : r(r), blocks(blocks), source(r.bufferOf(blocks.op->getOperand(0))), target(target),
        pad(dyn_cast<PadOp>(blocks.op)) {
    if (!pad)
      return;
    value = r.element(pad.getValue(), {});
    // Elements of a block before what is the operand's, and its own.
    Value behind = r.constant(1);
    for (Value dim : ArrayRef(target.dims).drop_front(blocks.first + 1))
      behind = r.mul(behind, dim);
    before = r.mul(shape::entry(r, pad.getPads(), blocks.first), behind);
    own = r.mul(source.dims[blocks.first], behind);
  }

  void emit(Value begin, Value end) {
    // None is copied of what has no elements, whose range is empty.
    Value elements = r.maximum(blocks.elements, r.constant(1));
    scf::ForOp loop = createBlockLoop(r, begin, end, elements);
    OpBuilder::InsertionGuard guard(r.b);
    r.b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    base = r.mul(number, elements);
    SmallVector<Value> at = r.blockIndices(number, ArrayRef(target.dims).take_front(blocks.first));
    Value from = r.maximum(r.sub(begin, base), r.constant(0));
    Value to = r.minimum(r.sub(end, base), elements);
    if (!pad)
      return copy(r.linearIndex(source, placeOf(at)), from, to, from);
    SmallVector<Value> inside;
    Value isInside = insidePadding(r, at, pad, inside);
    auto bordered = [&] {
      Value first = within(before, from, to), last = within(r.add(before, own), from, to);
      inside.resize(source.dims.size(), r.constant(0));
      fill(from, first);
      emitEither(
          r, r.less(first, last),
          [&] { copy(r.linearIndex(source, inside), first, last, r.sub(first, before)); }, [] {});
      fill(last, to);
    };
    if (!isInside)
      return bordered();
    emitEither(r, isInside, bordered, [&] { fill(from, to); });
  }

private:
  Value within(Value i, Value from, Value to) { return r.minimum(r.maximum(i, from), to); }

  /// Where the operand has the block at the indices `at`.
  SmallVector<Value> placeOf(ArrayRef<Value> at) {
    SmallVector<Value> place(at);
    place.resize(source.dims.size(), r.constant(0));
    if (auto reverse = dyn_cast<ReverseOp>(blocks.op)) {
      for (int64_t axis : reverse.getAxes())
        place[axis] = r.sub(r.sub(source.dims[axis], r.constant(1)), place[axis]);
      return place;
    }
    auto slice = cast<SliceOp>(blocks.op);
    for (auto [i, axis] : llvm::enumerate(slice.getAxes()))
      place[axis] =
          r.add(sliceStart(slice, r, i), r.mul(place[axis], shape::entry(r, slice.getSteps(), i)));
    return place;
  }

  /// Elements [from, to) of the current block are those of the operand from `skipped` behind the
  /// one that `lies` says on.
  void copy(Value lies, Value from, Value to, Value skipped) {
    copyElements(r, source, r.add(lies, skipped), target, r.add(base, from), r.sub(to, from));
  }
  void fill(Value from, Value to) {
    emitStepLoop(r, r.add(base, from), r.add(base, to), 1, [&](Value i) {
      BufferAccess::store(r, value, target.pointer, target.type.getElementType(), i);
    });
  }

  KernelBuilder &r;
  const MovedBlocks &blocks;
  const KernelBuilder::Buffer source, target;
  PadOp pad; ///< or null
  Value value, before, own;
  Value base; ///< elements before the current block
};
} // namespace

void weir::emitMovedBlocks(KernelBuilder &r, const MovedBlocks &blocks,
                           const KernelBuilder::Buffer &target, Value begin, Value end) {
  BlockWriter(r, blocks, target).emit(begin, end);
}

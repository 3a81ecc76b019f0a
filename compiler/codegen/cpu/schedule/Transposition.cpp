//===- Transposition.cpp - transpositions by blocks in registers ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/InterleavedImage.h"
#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/KernelForms.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// The transposition that is all of the kernel, when it moves the last dimension
/// and its elements fill the lanes of vectors.
static TransposeOp blockTransposition(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto op = body.getTerminator()->getOperand(0).getDefiningOp<TransposeOp>();
  if (!op || &body.front() != op || !isa<BlockArgument>(op.getOperand()))
    return {};
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  auto permutation = op.getPermutation();
  return isTurnedInBlocks(element) && permutation.back() != (int64_t)permutation.size() - 1
             ? op
             : TransposeOp();
}

/// The image that is all of the kernel, channels of which it makes the last dimension.
static std::optional<InterleavedImage> interleavedImage(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto turn = body.getTerminator()->getOperand(0).getDefiningOp<TransposeOp>();
  bool isAlone = turn && body.getTerminator()->getNumOperands() == 1;
  return isAlone ? interleavedImageOf(turn) : std::nullopt;
}

/// Cuts the range into blocks of the operand's last dimension by the result's. The
/// longest run of dimensions that stay together counts as one.
static SmallVector<int64_t> transpositionTiles(ScheduleBuilder &s, TransposeOp op,
                                               const VectorUnit &unit) {
  constexpr int64_t blockColumns = 64;
  ArrayRef<int64_t> permutation = op.getPermutation();
  // Narrow elements are turned in vectors of 16 bytes.
  int64_t bytes =
      std::max<int64_t>(cast<RankedTensorType>(op.getType()).getElementTypeBitWidth() / 8, 1);
  int64_t rank = permutation.size(), lanes = bytes < 4 ? 16 / bytes : unit.bytes / bytes;
  int64_t first = 0, last = 1;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t j = i + 1;
    while (j < rank && permutation[j] == permutation[j - 1] + 1)
      ++j;
    if (j - i > last - first)
      first = i, last = j;
  }
  int64_t across = llvm::find(permutation, rank - 1) - permutation.begin();
  if (last - first > 1)
    s.set(schedule::merged, {first, last});
  int64_t joined = last - first - 1;
  if (across >= first && across < last)
    across = first;
  else if (across >= last)
    across -= joined;
  SmallVector<int64_t> tiles(rank - joined, 1);
  tiles.back() = blockColumns;
  tiles[across] = lanes;
  s.set(schedule::tile, {lanes, 1, lanes});
  return tiles;
}

namespace {
class Transposition final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Transposition; }
  StringRef summary() const override { return "a transposition by blocks that caches keep"; }

  bool matches(const KernelRequest &request) const override {
    return blockTransposition(request.kernel) ||
           (request.isHost && interleavedImage(request.kernel));
  }

  bool readsOnce(OpOperand &use) const override {
    auto turn = dyn_cast<TransposeOp>(use.getOwner());
    return turn && interleavedImageOf(turn);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    if (auto image = request.isHost ? interleavedImage(request.kernel) : std::nullopt) {
      s.set(schedule::tile, {1, 1, image->lanes});
      SmallVector<int64_t> line(request.type.getRank(), 1);
      llvm::copy(request.type.getShape().take_back(2), line.end() - 2);
      return line;
    }
    return transpositionTiles(s, blockTransposition(request.kernel), request.unit);
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    auto image = interleavedImage(kernel);
    // Blocks have as many rows as lanes.
    if (!image || kernel.getSchedule()[schedule::tile][0] > 1)
      return emitTransposition(r, kernel, begin, end);
    emitInterleavedImage(r, *image, kernel.getSchedule()[schedule::parts], begin, end);
    return success();
  }
};
} // namespace

namespace weir {
const KernelStrategy &transpositionStrategy() {
  static const Transposition made;
  return made;
}
} // namespace weir

//===- Attention.cpp - two products around a softmax, by blocks -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/AttentionGradient.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// As many as make blocks of one size, `most` at most.
static int64_t evenly(int64_t size, int64_t most) {
  return ShapedType::isDynamic(size) ? most : llvm::divideCeil(size, llvm::divideCeil(size, most));
}
constexpr int64_t whole = int64_t(1) << 40;
/// Words of the vectors that add pairs of products of bf16 here.
constexpr int64_t lanesOfPairs = 16;

/// Chooses tiles, and blocks of queries and keys; none of these where the attention is not on
/// vectors. Returns how the result's dimensions are cut.
static SmallVector<int64_t> attentionTiles(ScheduleBuilder &s, Attention &attention,
                                           const VectorUnit &unit) {
  // Scores of a block of queries by one of keys, with the keys' values, fill a share of
  // the second-level cache.
  constexpr int64_t mostQueries = 64, mostKeys = 256;
  ArrayRef<int64_t> shape = typeOf(attention.logits).getShape();
  int64_t rank = shape.size(), queries = shape[rank - 2], keys = shape[rank - 1];
  int64_t columns = typeOf(attention.product).getShape().back();
  // Heads that share keys are a part together, and their queries rows of it: keys are read once for
  // them. Few heads, or a single one of keys would be one part.
  constexpr int64_t mostHeads = 8;
  int64_t group = std::min(attention.group, mostHeads);
  while (attention.group % group)
    --group;
  int64_t block = evenly(queries, std::max<int64_t>(mostQueries / group, 1));
  int64_t rows = group * block;
  SmallVector<int64_t> cut(rank, 1), tiles(rank);
  if (group > 1)
    cut[rank - 3] = group;
  cut[rank - 2] = block;
  cut[rank - 1] = whole;
  for (int64_t i = 0; i < rank; ++i)
    tiles[i] = cut[attention.order ? attention.order.getPermutation()[i] : i];
  if (!attention.isPlain)
    return tiles;
  SmallVector<int64_t> tile = registerTile(unit, rows, evenly(keys, mostKeys), 0, {});
  SmallVector<int64_t> valueTile = registerTile(unit, rows, columns, 0, {});
  // A gradient computes scores again, of f32, and would take them for those of the maxima and sums
  // that it is given.
  bool mayRound = attention.scores->hasAttr(mayRoundAttribute) &&
                  attention.product->hasAttr(mayRoundAttribute) && attention.statistics().empty();
  if (mayRound && tile[2] == lanesOfPairs &&
      typeOf(attention.scores.getLhs()).getShape().back() % 2 == 0)
    s.set(schedule::rounded, true);
  s.set(schedule::tile, tile);
  s.set(schedule::valueTile, valueTile);
  s.set(schedule::blocks,
        {rows, int64_t(llvm::alignTo(evenly(keys, mostKeys), tile[1] * tile[2]))});
  return tiles;
}

/// The same for its gradient, of which a part is a head.
static SmallVector<int64_t> gradientTiles(ScheduleBuilder &s, AttentionGradient &gradient,
                                          KernelOp kernel, const VectorUnit &unit) {
  ArrayRef<int64_t> shape = typeOf(gradient.scores).getShape();
  int64_t rank = shape.size(), size = typeOf(gradient.query).getShape().back(),
          columns = typeOf(gradient.gradient).getShape().back();
  // Ten blocks of lines lie on the stack.
  int64_t mostQueries = 64, mostKeys = std::max(size, columns) > 128 ? 64 : 128;
  int64_t rows = evenly(shape[rank - 2], mostQueries), keys = evenly(shape[rank - 1], mostKeys);
  SmallVector<int64_t> tile = registerTile(unit, rows, keys, 0, {});
  s.set(schedule::tile, tile);
  s.set(schedule::valueTile, registerTile(unit, rows, size, 0, {}));
  s.set(schedule::blocks, {rows, int64_t(llvm::alignTo(keys, tile[1] * tile[2]))});
  Value first = kernel.getBody().front().getTerminator()->getOperand(0);
  SmallVector<int64_t> tiles(rank, 1);
  for (int64_t i = 0; i < rank; ++i) {
    auto order = first.getDefiningOp<TransposeOp>();
    if ((order ? order.getPermutation()[i] : i) >= rank - 2)
      tiles[i] = whole;
  }
  return tiles;
}

namespace {
class AttentionStrategy final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Attention; }
  StringRef summary() const override {
    return "attention, or its gradient, block by block, without the matrix of scores";
  }

  bool matches(const KernelRequest &request) const override {
    return attentionGradientOf(request.kernel) || hostAttentionOf(request.kernel);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    if (std::optional<AttentionGradient> gradient = attentionGradientOf(request.kernel))
      return gradientTiles(s, *gradient, request.kernel, request.unit);
    std::optional<Attention> attention = hostAttentionOf(request.kernel);
    return attentionTiles(s, *attention, request.unit);
  }

  /// Reads stretched operands as they are.
  void requireSizes(KernelBuilder &, KernelOp, SizeEqualities &) const override {}

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitAttention(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &attentionStrategy() {
  static const AttentionStrategy made;
  return made;
}
} // namespace weir

//===- Lanes.cpp - kernels whose vectors hold results ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/LaneWindows.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "compiler/codegen/cpu/schedule/WordBounds.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// How many results next to each other in a line are computed together: they share what
/// their windows overlap in, and the filter; 1: each by itself.
static int64_t positionsOf(Operation *anchor, const VectorUnit &unit) {
  // The window's elements are written out for each of them. Of groups each of these is several
  // products in a row, and few results would wait for their own sums: measured with 2 to 8.
  constexpr int64_t mostOfElements = 64, mostOfGroups = 160;
  int64_t mostSteps = mostOfElements;
  WindowLine line = windowLinesOf(anchor).back();
  int64_t most = unit.registers == 32 ? 6 : 4, steps = std::max<int64_t>(line.window, 1);
  if (auto conv = dyn_cast<ConvOp>(anchor)) {
    Group group = groupOf(conv);
    int64_t lanes = lanesFor(anchor, unit);
    most /= group.lanes(lanes) / lanes;
    steps *= group.inputs;
    if (group.inputs > 1)
      mostSteps = mostOfGroups;
  }
  most = std::min(most, mostSteps / steps);
  // Of an open line kernels find out which blocks are whole.
  if (!line.isKnown())
    return std::max<int64_t>(most, 1);
  if (most < 2 || line.output < 2)
    return 1;
  // Fewer, where with the most a block before the last would have cut windows, too.
  for (; most > 1; --most) {
    int64_t positions = llvm::divideCeil(line.output, llvm::divideCeil(line.output, most));
    if (positions > 1 && line.endsFor(positions).areAll)
      return positions;
  }
  return 1;
}

/// Sets the tile, and returns how the range is cut. Windows: `positions` where results next
/// to each other along the last spatial dimension are computed together. Reductions:
/// `streams` where sums wait in memory while several rows pass by at a time.
static SmallVector<int64_t> laneTiles(ScheduleBuilder &s, Operation *anchor,
                                      const VectorUnit &unit) {
  auto type = cast<RankedTensorType>(anchor->getResult(0).getType());
  int64_t lanes = lanesFor(anchor, unit), columns = type.getShape().back();
  SmallVector<int64_t> tiles(type.getRank(), 1);
  if (!ShapedType::isDynamic(columns))
    tiles.back() = std::max<int64_t>(columns, 1);
  if (isa<ArgReduceOp>(anchor)) {
    // Extremes and where they lie: half as many as sums.
    if (ShapedType::isDynamic(columns))
      tiles.back() = openColumns;
    // Positions of narrow elements take several registers for each of theirs.
    int64_t most = unit.registers / 8 * (unit.bytes / 4);
    while (2 * lanes <= std::min(columns, most))
      lanes *= 2;
    if (!ShapedType::isDynamic(columns))
      tiles.back() = lanes;
  } else if (auto reduce = dyn_cast<ReduceOp>(anchor)) {
    // Of a tensor that caches do not hold, whole pages in their order. Else several
    // vectors at once: sums do not wait for each other. Of open columns a part finds out.
    constexpr int64_t muchOfTheCache = streamedElements, streamed = openColumns;
    auto operand = cast<RankedTensorType>(reduce.getOperand().getType());
    if (ShapedType::isDynamic(columns)) {
      tiles.back() = streamed;
    } else if (operand.hasStaticShape() && operand.getNumElements() > muchOfTheCache &&
               columns >= streamed && columns % lanes == 0) {
      s.set(schedule::streams, true);
      tiles.back() = streamed;
    } else {
      for (int64_t most = unit.registers / 2; most > 1 && 2 * lanes <= columns; most /= 2)
        lanes *= 2;
      tiles.back() = lanes;
    }
  } else if (auto conv = dyn_cast<ConvOp>(anchor)) {
    lanes = groupOf(conv).lanes(lanes);
  }
  if (int64_t positions = isa<ReduceOp, ArgReduceOp>(anchor) ? 1 : positionsOf(anchor, unit);
      positions > 1) {
    s.set(schedule::positions, positions);
    tiles[type.getRank() - 2] = positions;
  }
  s.set(schedule::tile, {1, 1, lanes});
  return tiles;
}

/// Of a depthwise convolution of bytes with a constant filter, whose windows are added by quads.
static std::optional<QuadWindows> quadsOf(const KernelRequest &request) {
  auto conv = dyn_cast<ConvOp>(request.anchor);
  if (!conv || !request.isHost || !request.constantOf(conv.getFilter()))
    return std::nullopt;
  return quadWindowsOf(conv, request.unit);
}

/// Whether the kernel does nothing else.
static bool isAlone(KernelOp kernel, Operation *anchor) {
  Block &body = kernel.getBody().front();
  return &body.front() == anchor && anchor->getNextNode() == body.getTerminator();
}

namespace {
class Lanes final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Lanes; }
  StringRef summary() const override {
    return "windows or columns, with neighbouring results side by side in vectors";
  }

  bool matches(const KernelRequest &request) const override {
    Operation *anchor = request.anchor;
    if (anchor && isBytePool(anchor))
      return request.isHost && isAlone(request.kernel, anchor);
    // Accelerators compute what a reduction sums up in their own way.
    return anchor && isLanes(anchor, request.unit) &&
           (isVectorEpilogue(request.kernel, anchor) ||
            (isOfIntegers(anchor, request.unit) && isAlone(request.kernel, anchor))) &&
           (request.isHost ||
            (isa<BlockArgument>(anchor->getOperand(0)) && !isOfIntegers(anchor, request.unit) &&
             !getElementTypeOrSelf(anchor->getOperand(0).getType()).isF64())) &&
           (isa<ReduceOp, ArgReduceOp>(anchor) ||
            !request.type.isDynamicDim(request.type.getRank() - 1));
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    std::optional<QuadWindows> quads = quadsOf(request);
    if (!quads)
      return laneTiles(s, request.anchor, request.unit);
    s.set(schedule::positions, quads->positions);
    s.set(schedule::tile, {1, 1, quads->lanes()});
    return SmallVector<int64_t>{1, 1, quads->stretch, request.type.getShape().back()};
  }

  Operation *packOperands(KernelRequest &request) const override {
    if (!quadsOf(request))
      return nullptr;
    noteWords(request);
    packWindows(request.b, cast<ConvOp>(request.anchor), request.operands);
    return nullptr;
  }

  bool takesPart(KernelOp kernel, unsigned, ArrayRef<int64_t>) const override {
    return hasOneResult(kernel);
  }

  /// Not where windows by quads compute some channels twice: the second time they would read
  /// results.
  bool readsInPlace(KernelOp kernel, unsigned argument, unsigned result) const override {
    constexpr int64_t quad = 4;
    for (auto conv : kernel.getBody().getOps<ConvOp>())
      if (!isa<BlockArgument>(conv.getFilter()) &&
          conv.getGroups() % (quad * kernel.getSchedule()[schedule::tile][2]))
        return false;
    return KernelStrategy::readsInPlace(kernel, argument, result);
  }

  StageForm stageForm(KernelOp) const override { return StageForm::Window; }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitLanes(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &lanesStrategy() {
  static const Lanes made;
  return made;
}
} // namespace weir

//===- Convolution.cpp - convolutions by register tiles -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/FilterGradient.h"
#include "compiler/codegen/cpu/schedule/LaneWindows.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/PlainConvolution.h"
#include "compiler/codegen/cpu/schedule/ProductTiles.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/Clusters.h"
#include "passes/plan/LaunchWork.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Whether groups are no whole vectors: a part is then a group, whose last tile has columns of
/// fewer lanes, and a panel of the filter is the group's columns.
static bool isByGroup(ConvOp conv, const VectorUnit &unit) {
  return conv.getGroups() > 1 && groupOf(conv).outputs % unit.lanes() != 0;
}

/// Whether lanes that each are a channel of their own (lanesStrategy) are better than a tile of
/// this group, whose last vector is not full: narrow groups, measured with 2 to 40 channels.
static bool areLanesBetter(ConvOp conv, const VectorUnit &unit) {
  return isLanes(conv, unit) && 4 * groupOf(conv).outputs < 3 * unit.lanes();
}

bool weir::mindsBorder(ConvOp conv, ArrayRef<int64_t> pads) {
  // Below a line of the cache it is loops that take the time. Tiles at a line's ends, where a row
  // may be outside for some taps, have code of their own for each tap.
  constexpr int64_t fewestChannels = 16, mostTaps = 8, mostPad = 8;
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto type = cast<RankedTensorType>(conv.getType());
  if (!conv.getChannelsLast() || conv.getGroups() != 1 || multipliesPairs(conv) ||
      input.getRank() != 4 || !input.hasStaticShape() || !filter.hasStaticShape() ||
      !type.hasStaticShape() || !isa<FloatType>(input.getElementType()) ||
      !isGemmElement(input.getElementType()) || input.getElementType() != filter.getElementType() ||
      input.getElementType() != type.getElementType())
    return false;
  auto isOne = [](int64_t value) { return value == 1; };
  ArrayRef<int64_t> window = filter.getShape().take_front(2);
  int64_t channels = filter.getDimSize(2);
  // Winograd's form, of such windows, reads squares with their border.
  bool mayBeWinograd = window[0] == 3 && window[1] == 3 && llvm::all_of(conv.getStrides(), isOne) &&
                       llvm::all_of(conv.getDilations(), isOne);
  return !mayBeWinograd && !llvm::all_of(window, isOne) && channels >= fewestChannels &&
         window[1] <= mostTaps &&
         llvm::all_of(pads, [](int64_t pad) { return pad >= 0 && pad <= mostPad; });
}

/// Channels last, two or three spatial dimensions, no padding that is not minded; groups of which
/// no tile belongs to two, and which are no matter of lanes.
static bool isPlainConvolution(ConvOp conv, const VectorUnit &unit) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t groups = conv.getGroups();
  return conv.getChannelsLast() && (input.getRank() == 4 || input.getRank() == 5) &&
         isGemmElement(input.getElementType()) &&
         input.getElementType() == filter.getElementType() &&
         input.getElementType() == getElementTypeOrSelf(conv.getType()) &&
         (groups == 1 || filter.hasStaticShape()) && isa<BlockArgument>(conv.getInput()) &&
         isa<BlockArgument>(conv.getFilter()) &&
         (llvm::all_of(conv.getPads(), [](int64_t pad) { return pad == 0; }) ||
          mindsBorder(conv, conv.getPads())) &&
         (!isByGroup(conv, unit) || (!multipliesPairs(conv) && !areLanesBetter(conv, unit)));
}

ConvOp weir::plainConvolutionOf(const KernelRequest &request) {
  auto conv = dyn_cast_or_null<ConvOp>(request.anchor);
  return conv && isGemmElement(getElementTypeOrSelf(conv.getType())) &&
                 isPlainConvolution(conv, unitFor(request.unit, conv)) &&
                 isVectorEpilogue(request.kernel, conv)
             ? conv
             : ConvOp();
}

/// A window of one element that visits every position: the convolution is a
/// product of [H * W, C] by [C, O], and its tiles may run across lines where
/// what follows it reads operands of the same shape, or the same for all
/// positions of a plane.
static bool isPointwise(KernelOp kernel, ConvOp conv) {
  auto type = cast<RankedTensorType>(conv.getType());
  int64_t rank = type.getRank(), line = rank - 3;
  if (!visitsEachPosition(conv) || type.isDynamicDim(line) || type.isDynamicDim(line + 1))
    return false;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto other = cast<RankedTensorType>(argument.getType());
    if (argument == conv.getInput() || argument == conv.getFilter() ||
        other.getShape() == type.getShape())
      continue;
    for (int64_t i = 0, own = other.getRank(); i + 1 < own; ++i)
      if (i + rank - own >= line && other.getDimSize(i) != 1)
        return false;
  }
  return true;
}

/// Whether parts that are a panel of a whole image each, `panels` of them over all images, are few
/// enough that threads may wait for each other, and lines worth counting. `tiles` are of a panel.
static bool countsPanelLines(ConvOp conv, int64_t panels, int64_t tiles) {
  constexpr int64_t manyPanels = 64;
  return panels < manyPanels && tiles > 1 && conv.getFlops() >= 2 * workOfThread;
}

/// Sets the register tile of a convolution and returns how its range is cut:
/// images (and planes), lines, whole lines, channels. Each part holds many positions, so
/// that a panel of the filter is read once for them.
SmallVector<int64_t> weir::convolutionTiles(ScheduleBuilder &s, KernelOp kernel, ConvOp conv,
                                            const VectorUnit &unit, const TileChoice &choice) {
  int64_t positions = choice.part ? choice.part : partPositions;
  auto type = cast<RankedTensorType>(conv.getType());
  int64_t line = type.getRank() - 3;
  int64_t height = type.getDimSize(line), width = type.getDimSize(line + 1);
  bool byGroup = isByGroup(conv, unit);
  int64_t columns = byGroup ? groupOf(conv).outputs : type.getShape().back();
  auto cut = [&](int64_t lines, SmallVector<int64_t> tile) -> SmallVector<int64_t> {
    // A panel lies within a group.
    while (conv.getGroups() > 1 && !byGroup && groupOf(conv).outputs % (tile[1] * tile[2]))
      --tile[1];
    s.set(schedule::tile, tile);
    if (!ShapedType::isDynamic(height))
      lines = std::min(lines, height);
    int64_t whole = ShapedType::isDynamic(width) ? 1 << 20 : std::max<int64_t>(width, 1);
    int64_t panel = byGroup ? columns : tile[1] * tile[2];
    if (lines == height && type.hasStaticShape() && !byGroup && !s.find(schedule::lines)) {
      int64_t panels = llvm::divideCeil(columns, panel);
      for (int64_t size : type.getShape().take_front(line))
        panels *= size;
      int64_t inPanel = llvm::divideCeil(height * whole, tile[0]);
      if (countsPanelLines(conv, panels, inPanel)) {
        s.set(schedule::blockTiles, inPanel);
        lines = 1;
      }
    }
    SmallVector<int64_t> tiles(line, 1);
    tiles.append({std::max<int64_t>(lines, 1), whole, panel});
    return tiles;
  };
  int64_t channels = stepsAlong(conv);
  int64_t pitch =
      ShapedType::isDynamic(channels) ? 0 : channels * conv.getStrides().back() * unit.elementBytes;
  // Rows of the input that lie in one set of the first-level cache: of a window each tile reads all
  // of a long panel, from the second level, so fewer rows cost more than some that are read twice.
  constexpr int64_t manyWays = 12;
  auto isOne = [](int64_t value) { return value == 1; };
  ArrayRef<int64_t> window = cast<RankedTensorType>(conv.getFilter().getType()).getShape();
  if (unit.firstLevelWays >= manyWays && !llvm::all_of(window.drop_back(2), isOne))
    pitch = ShapedType::isDynamic(pitch) ? pitch : 0;
  // How many lines are a block, parts find out.
  if (ShapedType::isDynamic(width))
    return cut(1, registerTile(unit, width, columns, pitch, choice));
  int64_t lines = std::max<int64_t>(1, positions / std::max<int64_t>(width, 1));
  // Blocks of as many lines: a last one of what is left would keep a thread waiting for others.
  if (height > 0)
    lines = llvm::divideCeil(height, llvm::divideCeil(height, lines));
  if (isPointwise(kernel, conv)) {
    s.set(schedule::pointwise, true);
    int64_t rows = std::min(lines, height) * width;
    return cut(lines, widestTile(unit, conv, rows, columns, pitch, choice));
  }
  auto tile = registerTile(unit, ShapedType::kDynamic, columns, pitch, choice);
  if (width == 0 || width >= tile[0])
    return cut(lines, registerTile(unit, width, columns, pitch, choice));
  // Short lines: a tile holds several whole ones.
  int64_t together = tile[0] / width;
  if (!ShapedType::isDynamic(height))
    together = std::max<int64_t>(1, std::min(together, height));
  tile[0] = together * width;
  if (together > 1)
    s.set(schedule::lines, together);
  return cut(llvm::alignTo(lines, together), tile);
}

namespace {
class Convolution final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Convolution; }
  StringRef summary() const override {
    return "a convolution, in tiles of the image that stay in registers";
  }

  bool matches(const KernelRequest &request) const override {
    return plainConvolutionOf(request) || filterGradientOf(request);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    auto conv = cast<ConvOp>(request.anchor);
    if (filterGradientOf(request))
      return filterGradientTiles(s, conv, request.unit);
    noteChoice(s, request.choice);
    int64_t columns = cast<RankedTensorType>(conv.getType()).getShape().back();
    VectorUnit unit = conv.getGroups() == 1 ? unitForColumns(request.unit, conv, columns)
                                            : unitFor(request.unit, conv);
    return convolutionTiles(s, request.kernel, conv, unit, request.choice);
  }

  Operation *packOperands(KernelRequest &request) const override {
    if (ConvOp gradient = filterGradientOf(request)) {
      readUnturned(request, gradient);
      return nullptr;
    }
    return packColumns(request.b, request.kernel, request.operands);
  }

  bool takesPart(KernelOp kernel, unsigned index, ArrayRef<int64_t> extents) const override {
    return !filterGradientOf(kernel) &&
           takesPartOfTiles(kernel, index, extents, !kernel.getSchedule()[schedule::pointwise]);
  }

  StageForm stageForm(KernelOp kernel) const override {
    return kernel.getSchedule()[schedule::pointwise] ? StageForm::Position : StageForm::None;
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    ConvOp gradient = filterGradientOf(kernel);
    if (!gradient)
      return emitConvolution(r, kernel, begin, end);
    emitFilterGradient(r, kernel, gradient, begin, end);
    return success();
  }
};
} // namespace

namespace weir {
const KernelStrategy &convolutionStrategy() {
  static const Convolution made;
  return made;
}
} // namespace weir

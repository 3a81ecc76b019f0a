//===- Winograd.cpp - convolutions with fewer multiplications -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/Winograd.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "passes/kernelize/TileChoice.h"

using namespace mlir;
using namespace weir;

namespace {

/// Transformed operands of a block are on the stack, 64 bytes for each.
constexpr int64_t mostElements = 32768;
/// With fewer tiles the transformed filter, larger than the filter, is read for too few.
constexpr int64_t fewestTiles = 48, fewestChannels = 32;
/// Of a transformed filter, in memory while compiling.
constexpr int64_t mostFilterBytes = int64_t(1) << 26;

/// Tiles of 2x2 results that a block has: lines of them, and how many of a
/// line.
struct Cut {
  int64_t lines, across;
};

std::optional<Cut> cutOf(ConvOp conv, const VectorUnit &unit, const TileChoice &choice) {
  // Transformed operands of a block stay in the second-level cache.
  int64_t elements = choice.part ? std::min(choice.part, mostElements) : winogradElements(unit);
  auto input = dyn_cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto type = cast<RankedTensorType>(conv.getType());
  auto isOne = [](int64_t value) { return value == 1; };
  if (type.getRank() != 4 || !type.hasStaticShape() || !input.hasStaticShape() ||
      filter.getDimSize(0) != 3 || filter.getDimSize(1) != 3 || conv.getGroups() != 1 ||
      !llvm::all_of(conv.getStrides(), isOne) || !llvm::all_of(conv.getDilations(), isOne))
    return std::nullopt;
  int64_t height = type.getDimSize(1), width = type.getDimSize(2), lanes = unit.bytes / 4;
  int64_t channels = filter.getDimSize(2), columns = filter.getDimSize(3);
  if (height % 2 || width % 2 || channels % lanes || columns % lanes || channels < fewestChannels ||
      columns < fewestChannels || height / 2 * (width / 2) < fewestTiles ||
      16 * channels * columns * 4 > mostFilterBytes)
    return std::nullopt;
  Cut cut{1, width / 2};
  while (cut.across > 1 && (cut.across * channels > elements || width / 2 % cut.across))
    --cut.across;
  if (cut.across * channels > elements || cut.across < 6)
    return std::nullopt;
  cut.lines = std::min(height / 2, elements / (cut.across * channels));
  return cut;
}

/// G g G^T of each [3, 3] of a filter [3, 3, C, K], in panels of `width` columns.
TypedAttr transformed(ArrayRef<float> filter, int64_t channels, int64_t columns, int64_t width,
                      MLIRContext *context) {
  int64_t panels = llvm::divideCeil(columns, width);
  std::vector<float> made(panels * 16 * channels * width, 0.0f);
  // Rows of G.
  constexpr double matrix[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t k = 0; k < columns; ++k) {
      double half[4][3];
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t x = 0; x < 3; ++x) {
          half[i][x] = 0;
          for (int64_t y = 0; y < 3; ++y)
            half[i][x] += matrix[i][y] * filter[((y * 3 + x) * channels + c) * columns + k];
        }
      float *to = &made[(k / width * 16 * channels + c) * width + k % width];
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 4; ++j)
          to[(i * 4 + j) * channels * width] = static_cast<float>(
              half[i][0] * matrix[j][0] + half[i][1] * matrix[j][1] + half[i][2] * matrix[j][2]);
    }
  auto type = RankedTensorType::get({panels, 16, channels, width}, Float32Type::get(context));
  return DenseElementsAttr::get(type, ArrayRef<float>(made));
}

} // namespace

bool weir::useWinograd(OpBuilder &b, plan::KernelOp kernel, SmallVectorImpl<Value> &operands,
                       const VectorUnit &unit, const TileChoice &choice) {
  if (kernel.getSchedule().getKind() != plan::ScheduleKind::Convolution ||
      choice.form == TileChoice::Form::Direct)
    return false;
  ConvOp conv = *kernel.getBody().front().getOps<ConvOp>().begin();
  if (!getElementTypeOrSelf(conv.getType()).isF32())
    return false;
  auto argument = dyn_cast<BlockArgument>(conv.getFilter());
  auto constant = argument && argument.hasOneUse()
                      ? operands[argument.getArgNumber()].getDefiningOp<ConstantOp>()
                      : ConstantOp();
  std::optional<Cut> cut = constant ? cutOf(conv, unit, choice) : std::nullopt;
  DenseElementsAttr filter =
      cut ? materializedConstant(cast<TypedAttr>(constant.getValue())) : DenseElementsAttr();
  if (!filter)
    return false;
  auto filterType = cast<RankedTensorType>(argument.getType());
  int64_t channels = filterType.getDimSize(2), columns = filterType.getDimSize(3);
  SmallVector<int64_t> tile =
      registerTile(unit, cut->lines * cut->across, columns, channels * 4, choice);
  int64_t width = tile[1] * tile[2];
  plan::ScheduleBuilder s(b.getContext(), plan::ScheduleKind::Winograd);
  s.set(plan::schedule::tile, tile);
  s.set(plan::schedule::parts, {1, 2, 2 * cut->across, width});
  s.set(plan::schedule::blockLines, cut->lines);
  s.set(plan::schedule::grain, 1);
  noteChoice(s, choice);
  kernel.setScheduleAttr(s.get());

  SmallVector<float> values(filter.getValues<float>());
  TypedAttr made = transformed(values, channels, columns, width, b.getContext());
  auto replaced = ConstantOp::create(b, constant.getLoc(), made);
  if (Attribute device = constant->getAttr("weir.device"))
    replaced->setAttr("weir.device", device);
  operands[argument.getArgNumber()] = replaced;
  argument.setType(made.getType());
  OpBuilder inside(conv);
  auto cast = UnrealizedConversionCastOp::create(inside, conv.getLoc(), filterType, argument);
  conv.getFilterMutable().assign(cast.getResult(0));
  return true;
}

//===- Winograd.cpp - convolutions with fewer multiplications -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(2x2, 3x3) of Lavin and Gray 2015, arXiv:1509.09308: 16 multiplications instead of 36 for
// each 2x2 results. It pays for windows of 3x3 that move by one, with a constant filter, f32
// or f32 that is rounded to bf16, channels that fill vectors, and enough of everything. Sizes may
// be open, or odd: of the last tiles a line or a column is not stored.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/PlainConvolution.h"
#include "compiler/codegen/cpu/schedule/ProductTiles.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Halves.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Transformed operands of a block are on the stack, 64 bytes for each.
constexpr int64_t mostElements = 32768;
/// With fewer tiles the transformed filter, larger than the filter, is read for too few.
constexpr int64_t fewestTiles = 48, fewestChannels = 32;
/// Tiles of a line that are multiplied together.
constexpr int64_t fewestAcross = 6;
/// Of a transformed filter, in memory while compiling; where the image is open, and may be small,
/// less: networks have large filters where images are small.
constexpr int64_t mostFilterBytes = int64_t(1) << 26, mostFilterBytesOpen = int64_t(1) << 23;
/// Of a line whose length is open.
constexpr int64_t mostAcrossOpen = 64;

/// Tiles of 2x2 results that a block has, and how many of a line: all that its lines have, or,
/// where the length is open, at most.
struct Cut {
  int64_t tiles, across;
};

std::optional<Cut> cutOf(ConvOp conv, const VectorUnit &unit, const TileChoice &choice) {
  // Transformed operands of a block stay in the second-level cache.
  int64_t elements = choice.part ? std::min(choice.part, mostElements) : winogradElements(unit);
  if (multipliesPairs(conv))
    elements *= 2;
  auto input = dyn_cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto type = cast<RankedTensorType>(conv.getType());
  auto isOne = [](int64_t value) { return value == 1; };
  if (type.getRank() != 4 || filter.getDimSize(0) != 3 || filter.getDimSize(1) != 3 ||
      conv.getGroups() != 1 || !llvm::all_of(conv.getStrides(), isOne) ||
      !llvm::all_of(conv.getDilations(), isOne))
    return std::nullopt;
  int64_t height = type.getDimSize(1), width = type.getDimSize(2), lanes = unit.bytes / 4;
  int64_t channels = filter.getDimSize(2), columns = filter.getDimSize(3);
  bool isOpen = ShapedType::isDynamic(height) || ShapedType::isDynamic(width);
  if (!filter.hasStaticShape() || input.getDimSize(3) != channels || channels % lanes ||
      columns % lanes || channels < fewestChannels || columns < fewestChannels ||
      16 * channels * columns * 4 > (isOpen ? mostFilterBytesOpen : mostFilterBytes))
    return std::nullopt;
  int64_t most = elements / channels;
  if (ShapedType::isDynamic(width)) {
    Cut cut{most, std::min(most, mostAcrossOpen)};
    return cut.across < fewestAcross ? std::nullopt : std::optional(cut);
  }
  int64_t all = llvm::divideCeil(width, 2), across = all;
  while (across > 1 && (across > most || all % across))
    --across;
  if (across > most || across < fewestAcross)
    return std::nullopt;
  int64_t lines = most / across;
  if (!isOpen) {
    int64_t down = llvm::divideCeil(height, 2);
    if (down * all < fewestTiles)
      return std::nullopt;
    lines = std::min(down, lines);
  }
  return Cut{lines * across, across};
}

/// G g G^T of each [3, 3] of a filter [3, 3, C, K], in panels of `width` columns; where pairs
/// are multiplied rounded to bf16, two channels side by side.
TypedAttr transformed(ArrayRef<float> filter, int64_t channels, int64_t columns, int64_t width,
                      bool isPairs, MLIRContext *context) {
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
  if (!isPairs) {
    auto type = RankedTensorType::get({panels, 16, channels, width}, Float32Type::get(context));
    return DenseElementsAttr::get(type, ArrayRef<float>(made));
  }
  std::vector<uint16_t> pairs(made.size());
  for (int64_t row = 0; row < panels * 16 * channels; ++row)
    for (int64_t k = 0; k < width; ++k)
      pairs[(row / 2 * width + k) * 2 + row % 2] =
          brainFromFloat(llvm::bit_cast<uint32_t>(made[row * width + k]));
  auto type =
      RankedTensorType::get({panels, 16, channels / 2, width, 2}, BFloat16Type::get(context));
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef<char>(reinterpret_cast<const char *>(pairs.data()), pairs.size() * 2));
}

/// The convolution where pairs of products of bf16 are added, and rounding is what was asked
/// for: its filter is f32 that is rounded here, once. Null: there is none.
ConvOp roundedConvolutionOf(const KernelRequest &request) {
  auto conv = dyn_cast_or_null<ConvOp>(request.anchor);
  return conv && multipliesPairs(conv) && isa<BlockArgument>(conv.getInput()) &&
                 isVectorEpilogue(request.kernel, conv)
             ? conv
             : ConvOp();
}

/// The constant filter where Winograd's form pays for the kernel's convolution; else null.
DenseElementsAttr filterOf(const KernelRequest &request) {
  if (!request.isHost || request.choice.form == TileChoice::Form::Direct)
    return {};
  ConvOp rounded = roundedConvolutionOf(request);
  ConvOp conv = rounded ? rounded : plainConvolutionOf(request);
  if (!conv || !getElementTypeOrSelf(conv.getType()).isF32())
    return {};
  // Where a run finds that sums are stretched, a kernel goes by elements, which a transformed
  // filter does not have.
  plan::KernelOp kernel = request.kernel;
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  if (!hasSizesOf(result, conv.getResult()))
    return {};
  ConstantOp constant = request.constantOf(conv.getFilter());
  if (!constant || !cutOf(conv, request.unit, request.choice))
    return {};
  auto value = cast<TypedAttr>(constant.getValue());
  // Of bf16 from a model there is nothing to round.
  if (rounded &&
      (!(value = inTypeOfSource(value)) || !getElementTypeOrSelf(value.getType()).isF32()))
    return {};
  return materializedConstant(value);
}

} // namespace

namespace {
class Winograd final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Winograd; }
  StringRef summary() const override {
    return "a convolution with fewer multiplications (Winograd)";
  }

  bool matches(const KernelRequest &request) const override { return bool(filterOf(request)); }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    auto conv = cast<ConvOp>(request.anchor);
    Cut cut = *cutOf(conv, request.unit, request.choice);
    auto filter = cast<RankedTensorType>(conv.getFilter().getType());
    int64_t columns = filter.getDimSize(3);
    bool isOpen = cast<RankedTensorType>(conv.getType()).isDynamicDim(2);
    SmallVector<int64_t> tile =
        registerTile(request.unit, isOpen ? ShapedType::kDynamic : cut.tiles, columns,
                     stepsAlong(conv) * 4, request.choice);
    s.set(schedule::tile, tile);
    s.set(schedule::blockTiles, cut.tiles);
    s.set(schedule::grain, 1);
    noteChoice(s, request.choice);
    return SmallVector<int64_t>{1, 2, 2 * cut.across, tile[1] * tile[2]};
  }

  /// The filter's constant is replaced by the transformed one, in panels
  /// [ceil(K / width), 16, C, width], or [ceil(K / width), 16, C / 2, width, 2], zero beyond K;
  /// in the kernel it stands behind an
  /// unrealized_conversion_cast.
  Operation *packOperands(KernelRequest &request) const override {
    auto conv = cast<ConvOp>(request.anchor);
    auto argument = cast<BlockArgument>(conv.getFilter());
    auto filterType = cast<RankedTensorType>(argument.getType());
    ArrayRef<int64_t> tile = request.kernel.getSchedule()[schedule::tile];
    SmallVector<float> values(filterOf(request).getValues<float>());
    TypedAttr made = transformed(values, filterType.getDimSize(2), filterType.getDimSize(3),
                                 tile[1] * tile[2], multipliesPairs(conv), conv.getContext());
    replaceConstant(request.b, made, argument, request.operands[argument.getArgNumber()]);
    OpBuilder inside(conv);
    auto cast = UnrealizedConversionCastOp::create(inside, conv.getLoc(), filterType, argument);
    conv.getFilterMutable().assign(cast.getResult(0));
    return nullptr;
  }

  bool takesPart(KernelOp kernel, unsigned index, ArrayRef<int64_t> extents) const override {
    Block &body = kernel.getBody().front();
    if (!hasOneResult(kernel))
      return false;
    // All that is multiplied is transformed.
    return index >= body.getNumArguments() ||
           llvm::none_of(body.getArgument(index).getUsers(),
                         llvm::IsaPred<ConvOp, UnrealizedConversionCastOp>);
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitWinograd(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &winogradStrategy() {
  static const Winograd made;
  return made;
}
} // namespace weir

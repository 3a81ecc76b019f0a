//===- Winograd.cpp - convolutions with fewer multiplications -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(2x2, 3x3) and F(4x4, 3x3) of Lavin and Gray 2015, arXiv:1509.09308: 16 multiplications
// instead of 36 for each 2x2 results, or 36 instead of 144 for each 4x4. They pay for windows of
// 3x3 that move by one, with a constant filter, f32 or (2x2 alone) f32 that is rounded to bf16,
// channels that fill vectors, and enough of everything. Sizes may be open, or odd: of the last
// tiles lines and columns are not stored.
//
// Tiles of 4x4 are where they save another seventh of the multiplications, and where no column of
// the filter makes roundings of the transformed products larger than `mostAmplified` of the sum of
// the products' magnitudes (WinogradForm::amplification); or as --winograd says.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/PlainConvolution.h"
#include "compiler/codegen/cpu/schedule/ProductTiles.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Scaled.h"
#include "dialects/weir/Target.h"
#include "dialects/weir/WinogradFilter.h"

#include <cstring>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Of the transformed operands of a block, which are on the stack.
constexpr int64_t mostBytes = int64_t(2) << 20;
/// With fewer tiles the transformed filter, larger than the filter by 16/9, or by 4, is read for
/// too few.
constexpr int64_t fewestTiles = 16, fewestTiles4 = 48;
/// Tiles of a line that are multiplied together.
constexpr int64_t fewestAcross = 4;
/// Of a transformed filter; where the image is open, and may be small, less: networks have large
/// filters where images are small. The one of 4x4 grows by four, and is of the object's size.
constexpr int64_t mostFilterBytes = int64_t(1) << 26, mostFilterBytesOpen = int64_t(1) << 25;
constexpr int64_t mostFilterBytes4 = 10000000, mostFilterBytes4Open = 2500000;
/// Filters of networks have 30 to 60 in tiles of 4x4 results, and results that are off by 6 to 10
/// roundings at most; a filter that is one tap in a corner has 175.
constexpr double mostAmplified = 96;
/// Of a line whose length is open.
constexpr int64_t mostAcrossOpen = 64;

/// Tiles that a block has, and how many of a line: all that its lines have, or, where the length is
/// open, at most.
struct Cut {
  int64_t tiles, across;
};

std::optional<Cut> cutOf(ConvOp conv, WinogradForm form, const VectorUnit &unit,
                         const TileChoice &choice) {
  const bool isWide = form.results == 4;
  // Transformed operands of a block stay in the second-level cache.
  int64_t elements = choice.part ? std::min(choice.part, mostBytes / 4 / form.matrices())
                                 : winogradElements(unit, form.results);
  if (multipliesPairs(conv)) {
    if (isWide) // sums of rounded operands would be off by a hundred of their roundings
      return std::nullopt;
    elements *= 2;
  }
  auto input = dyn_cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto type = cast<RankedTensorType>(conv.getType());
  if (type.getRank() != 4 ||
      !hasWinogradForm(conv, filter.getShape().take_front(2), filter.getDimSize(2),
                       filter.getDimSize(3), unit.bytes / 4))
    return std::nullopt;
  int64_t height = type.getDimSize(1), width = type.getDimSize(2);
  int64_t channels = filter.getDimSize(2), columns = filter.getDimSize(3);
  bool isOpen = ShapedType::isDynamic(height) || ShapedType::isDynamic(width);
  if (input.getDimSize(3) != channels ||
      form.matrices() * channels * columns * 4 >
          (isWide ? (isOpen ? mostFilterBytes4Open : mostFilterBytes4)
                  : (isOpen ? mostFilterBytesOpen : mostFilterBytes)))
    return std::nullopt;
  int64_t most = elements / channels;
  if (ShapedType::isDynamic(width)) {
    Cut cut{most, std::min(most, mostAcrossOpen)};
    return cut.across < fewestAcross ? std::nullopt : std::optional(cut);
  }
  auto tilesOf = [](int64_t size, int64_t results) {
    return static_cast<int64_t>(llvm::divideCeil(size, results));
  };
  int64_t all = tilesOf(width, form.results), across = all;
  while (across > 1 && (across > most || all % across))
    --across;
  if (across > most || across < fewestAcross)
    return std::nullopt;
  int64_t lines = most / across;
  if (!isOpen) {
    int64_t down = tilesOf(height, form.results);
    if (down * all < (isWide ? fewestTiles4 : fewestTiles))
      return std::nullopt;
    // What tiles compute beyond the image counts, too.
    if (isWide &&
        7 * form.matrices() * down * all > 6 * 16 * tilesOf(height, 2) * tilesOf(width, 2))
      return std::nullopt;
    lines = std::min(down, lines);
  }
  return Cut{lines * across, across};
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

/// Results across of the tiles that --winograd, or a measured choice, asks for; nothing: it is left
/// to what pays and to the error.
std::optional<int64_t> resultsAskedFor(const KernelRequest &request) {
  if (request.choice.form == TileChoice::Form::Winograd)
    return 2;
  if (request.choice.form == TileChoice::Form::Winograd4)
    return 4;
  auto module = request.kernel->getParentOfType<ModuleOp>();
  auto said = module ? module->getAttrOfType<IntegerAttr>(winogradAttribute) : IntegerAttr();
  return said ? std::optional(said.getInt()) : std::nullopt;
}

/// Whether no element has all bits of `exponent`, those of infinities and NaN. Without an end in
/// between, so that it goes by vectors.
template <typename T> bool lacksExponent(ArrayRef<char> bytes, T exponent) {
  T found = 0;
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T bits;
    std::memcpy(&bits, bytes.data() + i, sizeof(T));
    found |= (bits & exponent) == exponent;
  }
  return !found;
}

/// The largest magnitude of numbers of f32, wherever they lie; infinite or NaN where one of them
/// is.
float largest(ArrayRef<char> bytes) {
  int32_t found = 0;
  for (size_t i = 0; i + sizeof(int32_t) <= bytes.size(); i += sizeof(int32_t)) {
    int32_t bits;
    std::memcpy(&bits, bytes.data() + i, sizeof(int32_t));
    found = std::max(found, bits & 0x7fffffff);
  }
  return llvm::bit_cast<float>(found);
}

/// Whether all numbers of the filter are finite: the transformed one has differences of them, and
/// an infinity would make NaN of these. Orders are no matter, so that nothing is brought into one.
bool isFinite(TypedAttr filter) {
  ArrayRef<char> bytes;
  if (auto dense = dyn_cast<DenseElementsAttr>(filter)) {
    bytes = dense.getRawData(); // of a splat its one number
  } else if (auto source = sourceBytes(filter)) {
    bytes = *source;
  } else {
    llvm::consumeError(source.takeError());
    return false;
  }
  TypedAttr root = rootOf(filter);
  if (auto scaled = dyn_cast<ScaledAttr>(root)) {
    // No product is larger than that of the largest ones; rarely is that infinite, and each to be
    // computed.
    ArrayRef<float> factors = scaled.getFactors().asArrayRef();
    auto isLess = [](float a, float b) { return std::abs(a) < std::abs(b); };
    if (llvm::all_of(factors, [](float factor) { return std::isfinite(factor); }) &&
        !factors.empty() &&
        std::isfinite(largest(bytes) * *std::max_element(factors.begin(), factors.end(), isLess)))
      return true;
    bool isFinite = true;
    llvm::Error failure = scaleBytes(scaled, bytes, [&](ArrayRef<char> piece) {
      isFinite &= lacksExponent<uint32_t>(piece, 0x7f800000);
      return llvm::Error::success();
    });
    isFinite &= !failure;
    llvm::consumeError(std::move(failure));
    return isFinite;
  }
  Type element = getElementTypeOrSelf(root.getType());
  if (element.isF32())
    return lacksExponent<uint32_t>(bytes, 0x7f800000);
  return lacksExponent<uint16_t>(bytes, element.isF16() ? 0x7c00 : 0x7f80);
}

/// The constant filter, of f32, where Winograd's form pays for the kernel's convolution, if all of
/// it is finite; else null.
TypedAttr filterOf(const KernelRequest &request) {
  if (!request.isHost || request.choice.form == TileChoice::Form::Direct ||
      resultsAskedFor(request) == 0)
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
  if (!constant || (!cutOf(conv, {2}, request.unit, request.choice) &&
                    !cutOf(conv, {4}, request.unit, request.choice)))
    return {};
  auto value = cast<TypedAttr>(constant.getValue());
  // Panels are not read by strides; nothing puts a filter into some before this.
  if (auto arranged = dyn_cast<ArrangedAttr>(value); arranged && !arranged.getPanel().empty())
    return {};
  // Of bf16 from a model there is nothing to round.
  if (rounded &&
      (!(value = inTypeOfSource(value)) || !getElementTypeOrSelf(value.getType()).isF32()))
    return {};
  return value;
}

/// The form for the convolution, of a kernel that filterOf has a filter of.
WinogradForm formOf(const KernelRequest &request, ConvOp conv) {
  constexpr WinogradForm narrow{2}, wide{4};
  if (!cutOf(conv, wide, request.unit, request.choice))
    return narrow;
  std::optional<int64_t> asked = resultsAskedFor(request);
  if (!cutOf(conv, narrow, request.unit, request.choice) || asked == 4)
    return wide;
  if (asked)
    return narrow;
  llvm::Expected<FilterTaps> filter = FilterTaps::of(filterOf(request));
  if (!filter) {
    llvm::consumeError(filter.takeError());
    return narrow;
  }
  double amplified = wide.amplification(*filter, filter->channels(), filter->columns());
  return amplified <= mostAmplified ? wide : narrow;
}

} // namespace

namespace {
class Winograd final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Winograd; }
  StringRef summary() const override {
    return "a convolution with fewer multiplications (Winograd)";
  }

  bool matches(const KernelRequest &request) const override {
    TypedAttr filter = filterOf(request);
    return filter && isFinite(filter);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    auto conv = cast<ConvOp>(request.anchor);
    const WinogradForm form = formOf(request, conv);
    Cut cut = *cutOf(conv, form, request.unit, request.choice);
    auto filter = cast<RankedTensorType>(conv.getFilter().getType());
    int64_t columns = filter.getDimSize(3);
    bool isOpen = cast<RankedTensorType>(conv.getType()).isDynamicDim(2);
    SmallVector<int64_t> tile =
        registerTile(request.unit, isOpen ? ShapedType::kDynamic : cut.tiles, columns,
                     stepsAlong(conv) * 4, request.choice);
    s.set(schedule::tile, tile);
    s.set(schedule::blockTiles, cut.tiles);
    s.set(schedule::square, form.results);
    s.set(schedule::grain, 1);
    noteChoice(s, request.choice);
    return SmallVector<int64_t>{1, form.results, form.results * cut.across, tile[1] * tile[2]};
  }

  /// The filter's constant is replaced by the transformed one, in panels
  /// [ceil(K / width), M, C, width], or [ceil(K / width), M, C / 2, width, 2], zero beyond K, of M
  /// matrices; in the kernel it stands behind an unrealized_conversion_cast.
  Operation *packOperands(KernelRequest &request) const override {
    auto conv = cast<ConvOp>(request.anchor);
    auto argument = cast<BlockArgument>(conv.getFilter());
    auto filterType = cast<RankedTensorType>(argument.getType());
    ArrayRef<int64_t> tile = request.kernel.getSchedule()[schedule::tile];
    TypedAttr made =
        winogradConstant(filterOf(request), request.kernel.getSchedule()[schedule::square],
                         tile[1] * tile[2], multipliesPairs(conv));
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

//===- InterleavedImage.cpp - images of few channels, channels last ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/InterleavedImage.h"
#include "compiler/codegen/cpu/PackedBytes.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/RegisterTiles.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/analysis/Clusters.h"

using namespace mlir;
using namespace weir;

/// Four vectors of words become one of bytes.
static constexpr int64_t quarters = 4;

/// Whether vectors compute `real`, of `type`'s shape: f32 elementwise operations on what lies along
/// lines of that shape, or is one number for each, in memory or a kernel's operand.
static bool isVectorReal(Value real, RankedTensorType type) {
  auto own = dyn_cast<RankedTensorType>(real.getType());
  if (!own || !own.getElementType().isF32() || !own.hasStaticShape())
    return false;
  Operation *def = real.getDefiningOp();
  if (def && isF32EpilogueElementwise(def))
    return llvm::all_of(def->getOperands(),
                        [&](Value operand) { return isVectorReal(operand, type); });
  if (own.getRank() > 0 && own.getShape().back() != 1 &&
      own.getShape().back() != type.getShape().back())
    return false;
  if (auto constant = dyn_cast_if_present<ConstantOp>(def)) {
    auto elements = dyn_cast<ElementsAttr>(constant.getValue());
    return own.getRank() > 0 || (elements && elements.isSplat());
  }
  // Others might join the kernel.
  auto elemental = dyn_cast_if_present<ElementalOpInterface>(def);
  return !elemental || elemental.isElementExpensive();
}

/// Whether a border has known amounts, behind channels but not before them, and none of images.
static bool isImageBorder(PadOp pad) {
  std::optional<SmallVector<int64_t>> amounts = constantIntegers(pad.getPads());
  if (!amounts || pad.getMode() != PadMode::Constant ||
      cast<RankedTensorType>(pad.getValue().getType()).getRank() != 0)
    return false;
  int64_t rank = amounts->size() / 2;
  return (*amounts)[0] == 0 && (*amounts)[1] == 0 && (*amounts)[rank] == 0 &&
         llvm::all_of(*amounts, [](int64_t amount) { return amount >= 0; });
}

std::optional<InterleavedImage> weir::interleavedImageOf(TransposeOp turn) {
  constexpr int64_t mostChannels = 4;
  auto type = cast<RankedTensorType>(turn.getType());
  int64_t rank = type.getRank(), channels = rank > 0 ? type.getShape().back() : 0;
  auto module = turn->getParentOfType<ModuleOp>();
  if (rank < 3 || !type.hasStaticShape() || type.getNumElements() == 0 || channels < 2 ||
      channels > mostChannels || !type.getElementType().isInteger(8) || !module ||
      !vectorUnitOf(module).hasByteQuads)
    return std::nullopt;
  ArrayRef<int64_t> order = turn.getPermutation();
  for (int64_t i = 0; i < rank; ++i)
    if (order[i] != (i == 0 ? 0 : i + 1 < rank ? i + 1 : 1))
      return std::nullopt;
  InterleavedImage image{turn, turn.getOperand().getDefiningOp<PadOp>(), turn.getOperand()};
  if (image.pad && !isImageBorder(image.pad))
    return std::nullopt;
  if (image.pad)
    image.bytes = image.pad.getOperand();
  auto inside = cast<RankedTensorType>(image.bytes.getType());
  std::optional<RoundedByte> rounded = roundedByteOf(image.bytes);
  if (!inside.hasStaticShape() || inside.getNumElements() == 0 ||
      (rounded ? !isVectorReal(rounded->real, inside) : !isa<BlockArgument>(image.bytes)))
    return std::nullopt;
  constexpr int64_t narrowest = 16, widest = 64;
  image.lanes = std::min<int64_t>(widest, llvm::bit_floor<uint64_t>(inside.getShape().back()));
  return image.lanes < narrowest ? std::nullopt : std::optional(image);
}

/// Bytes of planes, of each a vector, in turn.
static SmallVector<Value> interleaved(OpBuilder &b, Location loc, ArrayRef<Value> planes) {
  if (planes.size() == 2)
    return {vector::InterleaveOp::create(b, loc, planes[0], planes[1])};
  if (planes.size() == 4)
    return {interleavedFours(b, loc, planes)};
  int64_t lanes = cast<VectorType>(planes[0].getType()).getDimSize(0), count = planes.size();
  SmallVector<Value> made;
  for (int64_t part = 0; part < count; ++part) {
    Value all = planes[0];
    for (int64_t plane = 1; plane < count; ++plane) {
      SmallVector<int64_t> from;
      for (int64_t i = part * lanes; i < (part + 1) * lanes; ++i) {
        int64_t own = i / count, isLater = i % count == plane;
        from.push_back(isLater ? lanes + own : plane == 1 ? own : i - part * lanes);
      }
      all = vector::ShuffleOp::create(b, loc, all, planes[plane], from);
    }
    made.push_back(all);
  }
  return made;
}

namespace {
class ImageEmitter {
public:
  ImageEmitter(KernelBuilder &r, InterleavedImage image)
      : r(r), image(image), target(r.bufferOf(image.turn.getResult())),
        inside(cast<RankedTensorType>(image.bytes.getType())), rank(inside.getRank()),
        rounded(roundedByteOf(image.bytes)) {
    before.assign(rank, 0);
    if (image.pad) {
      auto amounts = *constantIntegers(image.pad.getPads());
      before.assign(amounts.begin(), amounts.begin() + rank);
      border = r.element(image.pad.getValue(), {});
    }
  }

  /// The line whose first pixel and channel is at `at`.
  void line(ArrayRef<Value> at) {
    Value isInside;
    own = {at[0], Value()};
    for (int64_t i = 2; i + 1 < rank; ++i) {
      own.push_back(r.sub(at[i - 1], r.constant(before[i])));
      if (inside.getDimSize(i) == target.type.getDimSize(i - 1))
        continue;
      Value one = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ult, own.back(),
                                                  r.constant(inside.getDimSize(i)));
      isInside = isInside ? Value(arith::AndIOp::create(r.b, r.loc, isInside, one)) : one;
    }
    own.push_back(Value());
    first = r.linearIndex(target, at);
    int64_t wide = target.type.getDimSize(rank - 2);
    if (!isInside)
      return pixels();
    emitEither(r, isInside, [&] { pixels(); }, [&] { fill(0, wide); });
  }

private:
  int64_t channels() const { return target.type.getShape().back(); }
  Value address(Value byte) {
    return BufferAccess::address(r, target.pointer, target.type.getElementType(), byte);
  }

  /// The border from pixel `from` to `to` of the line.
  void fill(int64_t from, int64_t to) {
    if (from == to)
      return;
    emitStepLoop(r, r.constant(from * channels()), r.constant(to * channels()), 1, [&](Value i) {
      BufferAccess::store(r, border, target.pointer, target.type.getElementType(), r.add(first, i));
    });
  }

  void pixels() {
    int64_t left = before.back(), count = inside.getShape().back();
    fill(0, left);
    // The last vectors begin earlier.
    emitStepLoop(r, r.constant(0), r.constant(count), image.lanes, [&](Value from) {
      Value x = r.minimum(from, r.constant(count - image.lanes));
      SmallVector<Value> planes;
      for (int64_t channel = 0; channel < channels(); ++channel)
        planes.push_back(plane(channel, x));
      Value to = r.add(first, r.mul(r.add(x, r.constant(left)), r.constant(channels())));
      for (Value bytes : interleaved(r.b, r.loc, planes)) {
        LLVM::StoreOp::create(r.b, r.loc, bytes, address(to), /*alignment=*/1);
        to = r.add(to, r.constant(cast<VectorType>(bytes.getType()).getDimSize(0)));
      }
    });
    fill(left + count, target.type.getDimSize(rank - 2));
  }

  /// A vector of bytes of a channel, from pixel `x` of the line inside on.
  Value plane(int64_t channel, Value x) {
    auto type = VectorType::get({image.lanes}, r.b.getI8Type());
    if (channel >= inside.getDimSize(1))
      return vector::BroadcastOp::create(r.b, r.loc, type, border);
    SmallVector<Value> indices(own);
    indices[1] = r.constant(channel);
    indices.back() = x;
    if (!rounded) {
      const KernelBuilder::Buffer &source = r.bufferOf(image.bytes);
      Value from = BufferAccess::address(r, source.pointer, source.type.getElementType(),
                                         r.linearIndex(source, indices));
      return LLVM::LoadOp::create(r.b, r.loc, type, from, /*alignment=*/1);
    }
    int64_t lanes = image.lanes / quarters;
    VectorReader reader(r, lanes);
    SmallVector<Value> words;
    for (int64_t i = 0; i < quarters; ++i) {
      indices.back() = r.add(x, r.constant(i * lanes));
      reader.setLanes(indices.back(), Value());
      words.push_back(nearestWords(r.b, r.loc,
                                   reader.broadcast(reader.element(rounded->real, indices)),
                                   rounded->isInWords));
    }
    Value bytes = packedBytes(r.b, r.loc, words, rounded->zero, rounded->isUnsigned);
    return LLVM::BitcastOp::create(r.b, r.loc, type, bytes);
  }

  KernelBuilder &r;
  InterleavedImage image;
  const KernelBuilder::Buffer target;
  RankedTensorType inside;
  int64_t rank;
  std::optional<RoundedByte> rounded;
  SmallVector<int64_t> before; ///< of the border, by dimensions of `inside`
  Value border;                ///< null where there is none
  SmallVector<Value> own;      ///< indices into `inside` of the present line, but channel and pixel
  Value first;                 ///< byte of the present line
};
} // namespace

void weir::emitInterleavedImage(KernelBuilder &r, InterleavedImage image, ArrayRef<int64_t> parts,
                                Value begin, Value end) {
  TransposeOp turn = image.turn;
  const KernelBuilder::Buffer target = r.bufferOf(turn.getResult());
  ImageEmitter emitter(r, image);
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, target.dims, parts);
    at[at.size() - 2] = at.back() = r.constant(0);
    emitter.line(at);
  });
}

//===- FoldBatchNorm.cpp - scales move into weights -----------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// (conv(x, W) + a) * s + b = conv(x, W * s) + (a * s + b) for a, s and b that
// hold one number a channel. Constants are worked out in double and rounded
// once. With f16 and bf16 the shift and scale stand between casts, which go:
// their weights are rounded once more, the result of the convolution and what
// follows once less.
//
// (conv(x, W) + a) + (conv(y, V) + b) = (conv(x, W) + conv(y, V)) + (a + b):
// where two branches meet there is one shift.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Halves.h"
#include "dialects/weir/HostTensor.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Scaled.h"
#include "passes/simplify/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRFOLDBATCHNORMPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// Constants of more channels stay what they are.
constexpr int64_t mostChannels = 1 << 20;

/// Scaled weights that are no blob of f32 are held in memory until they are written. So many bytes
/// of them a module, in the order of its operations, whatever the model's size.
constexpr int64_t mostBytes = 192 << 20;

/// Weights of up to so many bytes are held, too: folding reads them.
constexpr int64_t fewBytes = 1 << 12;

/// Where the weights of a contraction are, and which of their dimensions becomes
/// the channels of the result.
struct Weights {
  OpOperand *operand = nullptr;
  int64_t axis = 0;       ///< of the weights
  int64_t resultAxis = 0; ///< of the result
  int64_t channels = 0;
};

std::optional<Weights> weightsOf(Operation *op) {
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!result)
    return std::nullopt;
  Weights w;
  if (auto conv = dyn_cast<ConvOp>(op)) {
    w.operand = &conv.getFilterMutable();
    w.axis = conv.getChannelsLast() ? result.getRank() - 1 : 0;
    w.resultAxis = conv.getChannelsLast() ? result.getRank() - 1 : 1;
  } else if (auto conv = dyn_cast<ConvTransposeOp>(op)) {
    // With groups a channel of the filter serves several of the result.
    if (conv.getGroups() != 1)
      return std::nullopt;
    w.operand = &conv.getFilterMutable();
    w.axis = conv.getChannelsLast() ? result.getRank() - 2 : 1;
    w.resultAxis = conv.getChannelsLast() ? result.getRank() - 1 : 1;
  } else if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    auto rhs = dyn_cast<RankedTensorType>(dot.getRhs().getType());
    if (!rhs || !dot.getRhsBatch().empty() ||
        rhs.getRank() != (int64_t)dot.getRhsContract().size() + 1)
      return std::nullopt;
    w.operand = &dot.getRhsMutable();
    while (llvm::is_contained(dot.getRhsContract(), w.axis))
      ++w.axis;
    w.resultAxis = result.getRank() - 1;
  } else {
    return std::nullopt;
  }
  auto constant = w.operand->get().getDefiningOp<ConstantOp>();
  if (!constant || !constant->hasOneUse())
    return std::nullopt;
  auto type = cast<RankedTensorType>(constant.getType());
  w.channels = type.getDimSize(w.axis);
  if (w.channels > mostChannels || type.getElementType() != result.getElementType() ||
      !isa<Float32Type, Float64Type, Float16Type, BFloat16Type>(result.getElementType()))
    return std::nullopt;
  return w;
}

/// The constant `value` as one number for each channel of a result of rank
/// `rank`; nothing where it is no constant or differs along another dimension.
std::optional<SmallVector<double>> perChannel(Value value, const Weights &w, int64_t rank) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!constant || type.getRank() > rank)
    return std::nullopt;
  // Broadcasting aligns the last dimensions.
  int64_t skipped = rank - type.getRank();
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.getDimSize(i) != 1 &&
        (i + skipped != w.resultAxis || type.getDimSize(i) != w.channels))
      return std::nullopt;
  auto numbers = HostTensor::read(constant.getValue(), mostChannels);
  if (!numbers)
    return std::nullopt;
  SmallVector<double> result;
  for (const Number &number : numbers->elements)
    result.push_back(number.real);
  if (result.size() == 1)
    result.assign(w.channels, result[0]);
  return result;
}

/// Scales `count` elements of type `T`, `behind` of them by each factor in
/// turn; `scaled` makes one of an element and its factor.
template <typename T, typename F, typename Scaled>
void scaleElements(ArrayRef<char> from, SmallVectorImpl<char> &to, ArrayRef<double> factors,
                   int64_t behind, Scaled scaled) {
  to.resize_for_overwrite(from.size());
  // What is written may be anything but these, so that the loop goes by vectors.
  const char *source = from.data();
  char *target = to.data();
  int64_t count = from.size() / sizeof(T), channel = 0;
  for (int64_t begin = 0; begin < count; begin += behind) {
    F factor = static_cast<F>(factors[channel]);
    for (int64_t i = begin; i < begin + behind; ++i) {
      // A blob lies anywhere in its file: elements are not aligned.
      T value;
      std::memcpy(&value, source + i * sizeof(T), sizeof(T));
      value = scaled(value, factor);
      std::memcpy(target + i * sizeof(T), &value, sizeof(T));
    }
    channel = channel + 1 == (int64_t)factors.size() ? 0 : channel + 1;
  }
}

template <uint32_t (*widen)(uint16_t), uint16_t (*narrow)(uint32_t)>
void scaleHalves(ArrayRef<char> from, SmallVectorImpl<char> &to, ArrayRef<double> factors,
                 int64_t behind) {
  scaleElements<uint16_t, float>(from, to, factors, behind, [](uint16_t bits, float factor) {
    return narrow(llvm::bit_cast<uint32_t>(llvm::bit_cast<float>(widen(bits)) * factor));
  });
}

/// Whether f16 holds scaled weights as well as others: none is infinite, and
/// the largest of a channel is normal, so that what is lost below it is as much
/// as is rounded off it anyway.
bool fitsHalves(ArrayRef<char> scaled, int64_t channels, int64_t behind) {
  SmallVector<uint16_t> largest(channels, 0);
  const auto *bits = reinterpret_cast<const uint16_t *>(scaled.data());
  int64_t count = scaled.size() / 2;
  for (int64_t begin = 0, channel = 0; begin < count; begin += behind) {
    for (int64_t i = begin; i < begin + behind; ++i)
      largest[channel] = std::max<uint16_t>(largest[channel], bits[i] & 0x7fff);
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
  return llvm::all_of(largest,
                      [](uint16_t each) { return each == 0 || (each >= 0x0400 && each < 0x7c00); });
}

/// `value`, of floats, times one factor for each entry of dimension `axis`;
/// null where its bytes cannot be read or its type does not hold the result.
/// `scaled` is room that the next one takes again, of which no page is new then.
DenseElementsAttr scaledWeights(Attribute value, ArrayRef<double> factors, int64_t axis,
                                SmallVectorImpl<char> &scaled) {
  auto type = cast<RankedTensorType>(cast<TypedAttr>(value).getType());
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return {};
  if (!isa<weir::BlobAttr, DenseElementsAttr>(value) || type.getNumElements() == 0)
    return {};
  auto bytes = sourceBytes(cast<TypedAttr>(value));
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return {};
  }
  int64_t behind = 1;
  for (int64_t i = axis + 1; i < type.getRank(); ++i)
    behind *= type.getDimSize(i);
  scaled.clear();
  auto product = [](auto element, auto factor) { return element * factor; };
  Type element = type.getElementType();
  if (element.isF32())
    scaleElements<float, float>(*bytes, scaled, factors, behind, product);
  else if (element.isF64())
    scaleElements<double, double>(*bytes, scaled, factors, behind, product);
  else if (element.isBF16())
    scaleHalves<floatFromBrain, brainFromFloat>(*bytes, scaled, factors, behind);
  else
    scaleHalves<floatFromHalf, halfFromFloat>(*bytes, scaled, factors, behind);
  if (element.isF16() && !fitsHalves(scaled, factors.size(), behind))
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, scaled);
}

/// A constant of `numbers` that broadcasts along the result's channels; null
/// where one is beyond the type.
DenseElementsAttr channelConstant(ArrayRef<double> numbers, FloatType element,
                                  int64_t dimensionsBehind) {
  SmallVector<int64_t> shape(1 + dimensionsBehind, 1);
  shape[0] = numbers.size();
  SmallVector<APFloat> rounded;
  for (double number : numbers) {
    APFloat &value = rounded.emplace_back(number);
    bool lost;
    value.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    if (!value.isFinite() && element.isF16())
      return {};
  }
  return DenseElementsAttr::get(RankedTensorType::get(shape, element), rounded);
}

/// A chain of shifts and scales by constants that starts at a contraction. One
/// of f16 or bf16 may go on in f32.
struct Chain {
  SmallVector<Operation *> ops; ///< the contraction first
  SmallVector<double> scale, shift;
  bool hasScale = false;
};

bool isHalf(Type element) { return element.isF16() || element.isBF16(); }

/// A cast of halves to f32, or back to the halves that the chain began with.
bool isChainCast(Operation *user, const Chain &chain) {
  auto cast = dyn_cast<CastOp>(user);
  if (!cast)
    return false;
  Type from = getElementTypeOrSelf(cast.getOperand().getType()),
       to = getElementTypeOrSelf(cast.getType()),
       first = getElementTypeOrSelf(chain.ops.front()->getResult(0).getType());
  return isHalf(first) && ((from == first && to.isF32()) || (from.isF32() && to == first));
}

/// The chain's next operation: the only user of its last one's result.
bool extend(Chain &chain, const Weights &w) {
  Value value = chain.ops.back()->getResult(0);
  if (!value.hasOneUse())
    return false;
  OpOperand &use = *value.use_begin();
  Operation *user = use.getOwner();
  if (user->getBlock() != chain.ops.front()->getBlock() ||
      user->getAttr("weir.device") != chain.ops.front()->getAttr("weir.device"))
    return false;
  if (isChainCast(user, chain)) {
    chain.ops.push_back(user);
    return true;
  }
  if (!isa<AddOp, SubOp, MulOp>(user) || user->getResult(0).getType() != value.getType())
    return false;
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  auto numbers = perChannel(user->getOperand(1 - use.getOperandNumber()), w, rank);
  if (!numbers)
    return false;
  // constant - x has the sign on the other side.
  bool isReversed = isa<SubOp>(user) && use.getOperandNumber() == 1;
  for (auto [i, number] : llvm::enumerate(*numbers)) {
    if (isa<MulOp>(user)) {
      double size = std::fabs(number);
      if (size != 0 && !(size > 1e-12 && size < 1e12))
        return false;
    } else if (!std::isfinite(number)) {
      return false;
    }
  }
  for (auto [i, number] : llvm::enumerate(*numbers)) {
    if (isa<MulOp>(user)) {
      chain.scale[i] *= number;
      chain.shift[i] *= number;
    } else if (isReversed) {
      chain.scale[i] = -chain.scale[i];
      chain.shift[i] = number - chain.shift[i];
    } else {
      chain.shift[i] += isa<SubOp>(user) ? -number : number;
    }
  }
  chain.hasScale |= isa<MulOp>(user);
  chain.ops.push_back(user);
  return true;
}

/// The longest chain behind a contraction that ends in its type, and scales.
/// One factor for all channels, and no shift, is no reason to round halves once more.
std::optional<Chain> chainOf(Operation *contraction, const Weights &w) {
  Chain chain;
  chain.ops.push_back(contraction);
  chain.scale.assign(w.channels, 1.0);
  chain.shift.assign(w.channels, 0.0);
  std::optional<Chain> longest;
  Type type = contraction->getResult(0).getType();
  while (extend(chain, w))
    if (chain.hasScale && chain.ops.back()->getResult(0).getType() == type)
      longest = chain;
  if (longest && isHalf(getElementTypeOrSelf(type)) && llvm::all_equal(longest->scale) &&
      llvm::all_of(longest->shift, [](double shift) { return shift == 0; }))
    return std::nullopt;
  return longest;
}

/// Takes what it folds off `budget`; `room` is that of scaledWeights.
void foldScales(Operation *contraction, int64_t &budget, SmallVectorImpl<char> &room) {
  auto w = weightsOf(contraction);
  auto chain = w ? chainOf(contraction, *w) : std::nullopt;
  if (!chain)
    return;
  auto type = cast<RankedTensorType>(contraction->getResult(0).getType());
  auto element = cast<FloatType>(type.getElementType());
  auto constant = w->operand->get().getDefiningOp<ConstantOp>();
  int64_t bytes = cast<RankedTensorType>(constant.getType()).getNumElements() *
                  element.getIntOrFloatBitWidth() / 8;
  // Many are left where they are, and multiplied when they are written.
  TypedAttr scaled;
  if (bytes > fewBytes)
    scaled = scaledConstant(cast<TypedAttr>(constant.getValue()),
                            SmallVector<float>(chain->scale.begin(), chain->scale.end()), w->axis);
  const bool isHeld = !scaled;
  if (isHeld && bytes > budget)
    return;
  if (isHeld)
    scaled = scaledWeights(constant.getValue(), chain->scale, w->axis, room);
  DenseElementsAttr shifts =
      channelConstant(chain->shift, element, type.getRank() - 1 - w->resultAxis);
  if (!scaled || !shifts)
    return;
  if (isHeld)
    budget -= bytes;

  OpBuilder b(chain->ops.back());
  SmallVector<Location> locations;
  for (Operation *op : chain->ops)
    locations.push_back(op->getLoc());
  Location loc = b.getFusedLoc(locations);
  Value replaced = ConstantOp::create(b, constant.getLoc(), scaled);
  Operation *made = b.clone(*contraction);
  made->setLoc(loc);
  made->setOperand(w->operand->getOperandNumber(), replaced);
  Value result = made->getResult(0);
  if (llvm::any_of(chain->shift, [](double shift) { return shift != 0; })) {
    Value shift = ConstantOp::create(b, loc, shifts);
    auto sum = AddOp::create(b, loc, type, result, shift);
    if (Attribute device = contraction->getAttr("weir.device"))
      sum->setAttr("weir.device", device);
    result = sum;
  }
  chain->ops.back()->getResult(0).replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(chain->ops))
    op->erase();
  constant.erase();
}

/// The shift by a constant behind a contraction, used once; null where `value`
/// is none.
AddOp shiftBehind(Value value) {
  auto add = value.getDefiningOp<AddOp>();
  bool matches =
      add && add->hasOneUse() && add.getOperand(1).getDefiningOp<ConstantOp>() &&
      add.getOperand(0).hasOneUse() && add.getOperand(0).getType() == add.getType() &&
      isa_and_nonnull<ConvOp, ConvTransposeOp, DotGeneralOp>(add.getOperand(0).getDefiningOp());
  return matches ? add : AddOp();
}

/// Makes the shifts of two branches that `meet` one behind it.
void joinShifts(AddOp meet) {
  AddOp left = shiftBehind(meet.getOperand(0)), right = shiftBehind(meet.getOperand(1));
  if (!left || !right || left == right || left.getType() != meet.getType() ||
      right.getType() != meet.getType() ||
      left.getOperand(1).getType() != right.getOperand(1).getType() ||
      left->getBlock() != meet->getBlock() || right->getBlock() != meet->getBlock())
    return;
  auto type = cast<RankedTensorType>(left.getOperand(1).getType());
  auto element = dyn_cast<FloatType>(type.getElementType());
  auto read = [](AddOp add) {
    return HostTensor::read(add.getOperand(1).getDefiningOp<ConstantOp>().getValue(), mostChannels);
  };
  auto a = read(left), b = read(right);
  if (!element || !a || !b)
    return;
  SmallVector<double> sum;
  for (auto [x, y] : llvm::zip(a->elements, b->elements))
    sum.push_back(x.real + y.real);
  DenseElementsAttr shifts = channelConstant(sum, element, 0);
  if (!shifts)
    return;
  OpBuilder builder(meet);
  Location loc = builder.getFusedLoc({left.getLoc(), right.getLoc(), meet.getLoc()});
  Value shift = ConstantOp::create(builder, loc, shifts.reshape(type));
  auto both = cast<AddOp>(builder.clone(*meet));
  both->setOperands({left.getOperand(0), right.getOperand(0)});
  meet->setOperands({both.getResult(), shift});
  left->erase();
  right->erase();
}

struct FoldBatchNormPass : weir::impl::WeirFoldBatchNormPassBase<FoldBatchNormPass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<ConvOp, ConvTransposeOp, DotGeneralOp>(op))
        work.push_back(op);
    });
    int64_t budget = mostBytes;
    SmallVector<char, 0> room;
    for (Operation *op : work)
      foldScales(op, budget, room);
    SmallVector<AddOp> sums;
    getOperation().walk([&](AddOp add) { sums.push_back(add); });
    for (AddOp add : sums)
      joinShifts(add);
  }
};

} // namespace

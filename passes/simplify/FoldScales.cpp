//===- FoldScales.cpp - scales move into weights -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// (conv(x, W) + a) * s + b = conv(x, W * s) + (a * s + b) for a, s and b that hold
// one number a channel. Constants are worked out in double and rounded once.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/HostTensor.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRFOLDSCALESPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// Constants of more channels stay what they are.
constexpr int64_t mostChannels = 1 << 20;

/// Scaled weights are held in memory until they are written. So many bytes of
/// them a module, in the order of its operations, whatever the model's size.
constexpr int64_t mostBytes = 192 << 20;

/// Where the weights of a contraction are, and which of their dimensions becomes
/// the channels of the result.
struct Weights {
  OpOperand *operand = nullptr;
  int64_t axis = 0;          ///< of the weights
  int64_t resultAxis = 0;    ///< of the result
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
      (!result.getElementType().isF32() && !result.getElementType().isF64()))
    return std::nullopt;
  return w;
}

/// The constant `value` as one number for each channel of a result of rank
/// `rank`; nothing where it is no constant or differs along another dimension.
std::optional<SmallVector<double>> perChannel(Value value, const Weights &w,
                                              int64_t rank) {
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

template <typename T>
void scaleElements(ArrayRef<char> from, std::vector<char> &to,
                   ArrayRef<double> factors, int64_t behind) {
  to.resize(from.size());
  int64_t count = from.size() / sizeof(T), channel = 0;
  for (int64_t begin = 0; begin < count; begin += behind) {
    T factor = static_cast<T>(factors[channel]);
    for (int64_t i = begin; i < begin + behind; ++i) {
      // A blob lies anywhere in its file: elements are not aligned.
      T value;
      std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
      value *= factor;
      std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
    }
    channel = channel + 1 == (int64_t)factors.size() ? 0 : channel + 1;
  }
}

/// `value`, of f32 or f64, times one factor for each entry of dimension `axis`;
/// null where its bytes cannot be read.
DenseElementsAttr scaledWeights(Attribute value, ArrayRef<double> factors,
                                int64_t axis) {
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
  std::vector<char> scaled;
  if (type.getElementType().isF32())
    scaleElements<float>(*bytes, scaled, factors, behind);
  else
    scaleElements<double>(*bytes, scaled, factors, behind);
  return DenseElementsAttr::getFromRawBuffer(type, scaled);
}

/// A constant of `numbers` that broadcasts along the result's channels.
DenseElementsAttr channelConstant(ArrayRef<double> numbers, Type element,
                                  int64_t dimensionsBehind) {
  SmallVector<int64_t> shape(1 + dimensionsBehind, 1);
  shape[0] = numbers.size();
  auto type = RankedTensorType::get(shape, element);
  if (element.isF64())
    return DenseElementsAttr::get(type, numbers);
  SmallVector<float> rounded(numbers.begin(), numbers.end());
  return DenseElementsAttr::get(type, ArrayRef<float>(rounded));
}

/// A chain of shifts and scales by constants that starts at a contraction.
struct Chain {
  SmallVector<Operation *> ops; ///< the contraction first
  SmallVector<double> scale, shift;
  bool hasScale = false;
};

/// The chain's next operation: the only user of its last one's result.
bool extend(Chain &chain, const Weights &w) {
  Value value = chain.ops.back()->getResult(0);
  if (!value.hasOneUse())
    return false;
  OpOperand &use = *value.use_begin();
  Operation *user = use.getOwner();
  if (!isa<AddOp, SubOp, MulOp>(user) || user->getResult(0).getType() != value.getType() ||
      user->getBlock() != chain.ops.front()->getBlock() ||
      user->getAttr("weir.device") != chain.ops.front()->getAttr("weir.device"))
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

/// Takes what it folds off `budget`.
void foldScales(Operation *contraction, int64_t &budget) {
  auto w = weightsOf(contraction);
  if (!w)
    return;
  Chain chain;
  chain.ops.push_back(contraction);
  chain.scale.assign(w->channels, 1.0);
  chain.shift.assign(w->channels, 0.0);
  while (extend(chain, *w))
    ;
  if (!chain.hasScale)
    return;
  auto type = cast<RankedTensorType>(contraction->getResult(0).getType());
  Type element = type.getElementType();
  auto constant = w->operand->get().getDefiningOp<ConstantOp>();
  int64_t bytes = cast<RankedTensorType>(constant.getType()).getNumElements() *
                  element.getIntOrFloatBitWidth() / 8;
  if (bytes > budget)
    return;
  DenseElementsAttr scaled = scaledWeights(constant.getValue(), chain.scale, w->axis);
  if (!scaled)
    return;
  budget -= bytes;

  OpBuilder b(chain.ops.back());
  SmallVector<Location> locations;
  for (Operation *op : chain.ops)
    locations.push_back(op->getLoc());
  Location loc = b.getFusedLoc(locations);
  Value replaced = ConstantOp::create(b, constant.getLoc(), scaled);
  Operation *made = b.clone(*contraction);
  made->setLoc(loc);
  made->setOperand(w->operand->getOperandNumber(), replaced);
  Value result = made->getResult(0);
  if (llvm::any_of(chain.shift, [](double shift) { return shift != 0; })) {
    Value shift = ConstantOp::create(
        b, loc, channelConstant(chain.shift, element, type.getRank() - 1 - w->resultAxis));
    auto sum = AddOp::create(b, loc, type, result, shift);
    if (Attribute device = contraction->getAttr("weir.device"))
      sum->setAttr("weir.device", device);
    result = sum;
  }
  chain.ops.back()->getResult(0).replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(chain.ops))
    op->erase();
  constant.erase();
}

struct FoldScalesPass : weir::impl::WeirFoldScalesPassBase<FoldScalesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<ConvOp, ConvTransposeOp, DotGeneralOp>(op))
        work.push_back(op);
    });
    int64_t budget = mostBytes;
    for (Operation *op : work)
      foldScales(op, budget);
  }
};

} // namespace

//===- LowerPrecision.cpp - operands of products in bf16 ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"
#include "passes/analysis/Attention.h"
#include "passes/layout/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <limits>

namespace weir {
#define GEN_PASS_DEF_WEIRLOWERPRECISIONPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// What a product must have to be computed of bf16.
struct UnitSizes {
  int64_t step;    ///< rows of the sum at a time: fewer do not pay
  int64_t columns; ///< fewer do not pay
  int64_t rows;    ///< fewer do not pay
  int64_t mostRows; ///< more are for another unit, and open ones may be more
};
constexpr int64_t anyRows = std::numeric_limits<int64_t>::max();

/// Blocks of matrices have 32 columns, and up to 32 rows of the sum.
constexpr UnitSizes ofBlocks = {24, 16, 8, anyRows};
/// A single row reads half of the memory that f32 takes.
constexpr UnitSizes ofPairs = {2, 16, 1, anyRows};
/// The vectors of processors with blocks, which multiply pairs no faster than f32: for rows that
/// are too few for blocks, and take the time of reading their weights.
constexpr UnitSizes ofFewRows = {2, 16, 1, ofBlocks.rows - 1};
/// Shorter sums of a window's element are mostly the loop around them.
constexpr int64_t fewestChannels = 6;

/// Of f32, and of a known number of columns.
bool isF32(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isF32() && tensor.getRank() > 0 &&
         !tensor.isDynamicDim(tensor.getRank() - 1);
}

/// Whether a right operand, a matrix or a filter, has sizes for `unit`; of a filter `wide` pixels
/// of a line lie next to each other in the left operand.
bool fits(const UnitSizes &unit, RankedTensorType right, RankedTensorType result, int64_t wide) {
  int64_t rank = right.getRank();
  if (!right.hasStaticShape())
    return false;
  int64_t depth = right.getDimSize(rank - 2), columns = right.getDimSize(rank - 1);
  // What is left in f32 of a network of small channels is computed strip by strip with depthwise
  // convolutions, which is worth more than tiles that are not full.
  bool isPointwise = rank > 2 && right.getDimSize(0) * right.getDimSize(1) == 1;
  if (isPointwise && unit.step > ofPairs.step && (depth % matrixPanel || columns % matrixPanel))
    return false;
  bool hasSizes = depth >= fewestChannels && depth % ofPairs.step == 0 &&
                  pairStep(wide * depth) >= unit.step && columns >= unit.columns;
  if (!hasSizes || !result.hasStaticShape())
    return hasSizes && unit.mostRows == anyRows;
  int64_t rows = result.getNumElements() / columns;
  return rows >= unit.rows && rows <= unit.mostRows;
}

/// A convolution whose window tiles can read, but for its sizes.
bool isOfWindows(ConvOp conv) {
  return conv.getChannelsLast() && cast<RankedTensorType>(conv.getType()).getRank() == 4 &&
         conv.getGroups() == 1 &&
         llvm::all_of(conv.getPads(), [](int64_t pad) { return pad == 0; });
}

/// The right operand where the operation has the sizes, else null.
OpOperand *weightsOf(Operation *op, const UnitSizes &unit) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !isF32(type) || !llvm::all_of(op->getOperandTypes(), isF32))
    return nullptr;
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
    auto rhs = cast<RankedTensorType>(dot.getRhs().getType());
    bool isMatrix = dot.getLhsBatch().empty() && rhs.getRank() == 2 && lhs.getRank() >= 2 &&
                    dot.getLhsContract() == ArrayRef<int64_t>{lhs.getRank() - 1} &&
                    dot.getRhsContract() == ArrayRef<int64_t>{0};
    return isMatrix && fits(unit, rhs, type, 1) ? &dot.getRhsMutable() : nullptr;
  }
  auto conv = cast<ConvOp>(op);
  if (!isOfWindows(conv))
    return nullptr;
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t wide = conv.getDilations()[1] == 1 ? filter.getDimSize(1) : 1;
  return fits(unit, filter, type, wide) ? &conv.getFilterMutable() : nullptr;
}

/// Of a convolution of few channels whose window moves by several pixels along a line, the one
/// of as many channels times those pixels: lines of three channels that move by two become lines
/// of six, half as long. The filter gets zeros for pixels that fill up its window, so an
/// infinity there is NaN, as in Winograd's form. Whether there is such a one, of sizes for `unit`;
/// then `conv` is it.
bool mergePixels(ConvOp conv, const UnitSizes &unit) {
  auto type = dyn_cast<RankedTensorType>(conv.getType());
  auto input = dyn_cast<RankedTensorType>(conv.getInput().getType());
  auto filter = dyn_cast<RankedTensorType>(conv.getFilter().getType());
  auto constant = conv.getFilter().getDefiningOp<ConstantOp>();
  auto areImagesFixed = [](RankedTensorType type) {
    return type && type.getRank() == 4 && !ShapedType::isDynamicShape(type.getShape().drop_front());
  };
  if (!constant || !areImagesFixed(type) || !areImagesFixed(input) || !isOfWindows(conv) ||
      conv.getDilations()[1] != 1 || !type.getElementType().isF32())
    return false;
  int64_t together = conv.getStrides()[1], line = input.getDimSize(2);
  int64_t high = filter.getDimSize(0), wide = filter.getDimSize(1), channels = filter.getDimSize(2),
          columns = filter.getDimSize(3), merged = llvm::divideCeil(wide, together);
  if (together < 2 || channels >= fewestChannels || channels * together % ofPairs.step ||
      channels * together < fewestChannels || wide < together || line % together ||
      line / together - merged + 1 != type.getDimSize(2))
    return false;
  OpBuilder b(conv);
  auto shape = RankedTensorType::get({high, merged, together * channels, columns}, b.getF32Type());
  if (!fits(unit, shape, type, merged))
    return false;
  DenseElementsAttr known = materializedConstant(cast<TypedAttr>(constant.getValue()));
  if (!known || known.isSplat())
    return false;
  SmallVector<float> old(known.getValues<float>());
  std::vector<float> made(high * merged * together * channels * columns, 0.0f);
  for (int64_t y = 0; y < high; ++y)
    std::copy_n(old.begin() + y * wide * channels * columns, wide * channels * columns,
                made.begin() + y * merged * together * channels * columns);
  auto replaced = ConstantOp::create(b, constant.getLoc(),
                                     DenseElementsAttr::get(shape, ArrayRef<float>(made)));
  copyDevice(constant, replaced);
  SmallVector<int64_t> sizes(input.getShape());
  sizes[0] = ShapedType::isDynamic(sizes[0]) ? -1 : sizes[0];
  sizes[2] /= together;
  sizes[3] *= together;
  Value pixels =
      ReshapeOp::create(b, conv.getLoc(), conv.getInput(), integers(b, conv.getLoc(), sizes));
  copyDevice(conv, pixels);
  conv.getInputMutable().assign(pixels);
  conv.getFilterMutable().assign(replaced);
  conv.setStrides({conv.getStrides()[0], 1});
  return true;
}

bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat() && elements.getElementType().isF32() &&
         elements.getSplatValue<APFloat>().isPosZero();
}

struct LowerPrecisionPass : weir::impl::WeirLowerPrecisionPassBase<LowerPrecisionPass> {
  using WeirLowerPrecisionPassBase::WeirLowerPrecisionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    TargetAttr target = targetOf(module);
    Bf16Products products = target.getBf16Products();
    if (!rounds && !(target.getWidensHalves() && products != Bf16Products::None))
      return;
    hasBlocks = products != Bf16Products::Pairs;
    llvm::StringSet<> kept;
    for (const std::string &name : keepF32)
      kept.insert(name);
    auto mayRound = [&](Operation *op) {
      llvm::SetVector<StringRef> names;
      collectNodeNames(op->getLoc(), names);
      return llvm::none_of(names, [&](StringRef name) { return kept.contains(name); });
    };
    SmallVector<Operation *> work;
    module.walk([&](Operation *op) {
      if (isa<DotGeneralOp, ConvOp>(op) && mayRound(op))
        work.push_back(op);
    });
    if (rounds && !hasBlocks)
      for (Operation *op : work)
        markAttention(op, mayRound);
    for (Operation *op : work)
      rewrite(op);
    for (auto [wide, narrow] : llvm::make_early_inc_range(narrowed))
      storeNarrow(wide, narrow);
    SmallVector<AddOp> sums;
    if (rounds)
      module.walk([&](AddOp add) { sums.push_back(add); });
    for (AddOp add : sums)
      storeSummand(add);
  }

  /// Of an attention whose last product `op` is the operands of both products are computed, and so
  /// rounded by the kernel that brings them into order.
  static void markAttention(Operation *op, function_ref<bool(Operation *)> mayRound) {
    auto product = dyn_cast<DotGeneralOp>(op);
    std::optional<Attention> attention =
        product ? matchAttention(product, AttentionForm::Plain, /*ofHost=*/true) : std::nullopt;
    if (!attention || !mayRound(attention->scores))
      return;
    for (DotGeneralOp dot : {attention->scores, product})
      dot->setAttr(mayRoundAttribute, UnitAttr::get(dot->getContext()));
  }

  void rewrite(Operation *op) {
    const UnitSizes &unit = hasBlocks ? ofBlocks : ofPairs;
    OpOperand *weights = weightsOf(op, unit);
    if (auto conv = dyn_cast<ConvOp>(op); conv && !weights && rounds)
      weights = mergePixels(conv, unit) ? weightsOf(op, unit) : nullptr;
    bool areFew = rounds && hasBlocks && !weights && isa<DotGeneralOp>(op);
    if (areFew)
      weights = weightsOf(op, ofFewRows);
    auto constant = weights ? weights->get().getDefiningOp<ConstantOp>() : nullptr;
    if (!constant || !(rounds || isExact(op, cast<TypedAttr>(constant.getValue()))))
      return;
    TypedAttr value = narrowedConstant(cast<TypedAttr>(constant.getValue()));
    OpBuilder b(op);
    if (!value || !interleavedConstant(value, rowsOfWord(b.getBF16Type()), matrixPanel))
      return;
    auto replaced = ConstantOp::create(b, constant.getLoc(), value);
    copyDevice(constant, replaced);
    weights->set(replaced);
    OpOperand &left = op->getOpOperand(0);
    Value wide = left.get();
    left.set(narrow(wide, op));
    // Paddings and views of the wide value would keep it.
    for (Operation *def = wide.getDefiningOp();
         def && isa<PadOp, ReshapeOp>(def) && def->use_empty();) {
      Operation *dead = std::exchange(def, def->getOperand(0).getDefiningOp());
      dead->erase();
    }
    op->setAttr(tileUnitAttribute,
                hasBlocks && !areFew ? Attribute(b.getUnitAttr()) : b.getStringAttr(orderOfPairs));
  }

  /// Whether both operands are bf16 that was widened.
  static bool isExact(Operation *op, TypedAttr weights) {
    if (!isWidenedBrain(weights))
      return false;
    Operation *maker = op->getOperand(0).getDefiningOp();
    while (maker && (isa<ReshapeOp, TransposeOp>(maker) ||
                     (isa<PadOp>(maker) && isZero(cast<PadOp>(maker).getValue()))))
      maker = maker->getOperand(0).getDefiningOp();
    auto widening = dyn_cast_or_null<CastOp>(maker);
    return widening && getElementTypeOrSelf(widening.getOperand().getType()).isBF16();
  }

  /// `value` in bf16, made where it is made. Padding and views come after the
  /// rounding, which then happens in the kernel that computes the value.
  Value narrow(Value value, Operation *user) {
    if (Value known = narrowed.lookup(value))
      return known;
    if (auto widening = value.getDefiningOp<CastOp>())
      if (getElementTypeOrSelf(widening.getOperand().getType()).isBF16())
        return widening.getOperand();
    OpBuilder b(user);
    b.setInsertionPointAfterValue(value);
    Location loc = value.getLoc();
    Type bf16 = b.getBF16Type();
    Value result;
    if (auto pad = value.getDefiningOp<PadOp>();
        pad && value.hasOneUse() && isZero(pad.getValue())) {
      Value inner = narrow(pad.getOperand(), pad);
      b.setInsertionPoint(pad);
      Value zero = ConstantOp::create(b, loc,
                                      SplatElementsAttr::get(RankedTensorType::get({}, bf16),
                                                             APFloat::getZero(APFloat::BFloat())));
      result = PadOp::create(b, loc, inner, pad.getPads(), zero, pad.getMode());
      copyDevice(pad, result);
      return result;
    }
    if (auto reshape = value.getDefiningOp<ReshapeOp>(); reshape && value.hasOneUse()) {
      Value inner = narrow(reshape.getOperand(), reshape);
      b.setInsertionPoint(reshape);
      result = ReshapeOp::create(b, loc, inner, reshape.getShape());
      copyDevice(reshape, result);
      return result;
    }
    auto type = cast<RankedTensorType>(value.getType());
    result = CastOp::create(b, loc, type.clone(bf16), value, b.getBoolAttr(false));
    copyDevice(value.getDefiningOp() ? value.getDefiningOp() : user, result);
    narrowed[value] = result;
    return result;
  }

  /// Elementwise operations read what is stored: the wide value then needs no
  /// memory. Where something else reads it, both are stored.
  void storeNarrow(Value wide, Value narrow) {
    SmallVector<OpOperand *> others;
    for (OpOperand &use : wide.getUses()) {
      if (use.getOwner() == narrow.getDefiningOp())
        continue;
      if (!isa<ElementwiseOpInterface>(use.getOwner()) || isa<CastOp>(use.getOwner()) ||
          !wide.getDefiningOp())
        return;
      others.push_back(&use);
    }
    for (OpOperand *use : others) {
      OpBuilder b(use->getOwner());
      Value again = CastOp::create(b, use->getOwner()->getLoc(), wide.getType(), narrow,
                                   b.getBoolAttr(false));
      copyDevice(use->getOwner(), again);
      use->set(again);
    }
  }

  /// The product of bf16 whose sums become `value` by elementwise operations alone, or null.
  static Operation *productBehind(Value value) {
    Operation *def = value.hasOneUse() ? value.getDefiningOp() : nullptr;
    if (def && def->hasAttr(tileUnitAttribute))
      return def;
    if (!def || !isa<ElementwiseOpInterface>(def))
      return nullptr;
    for (Value operand : def->getOperands())
      if (Operation *product = productBehind(operand))
        return product;
    return nullptr;
  }

  /// Of two products' results that are added to what is rounded itself, one goes on in registers;
  /// the other, the one that comes first, is stored rounded, too.
  void storeSummand(AddOp add) {
    Value sum = add.getResult();
    while (!narrowed.count(sum)) {
      if (!sum.hasOneUse() || !isa<ElementwiseOpInterface>(*sum.user_begin()))
        return;
      sum = sum.user_begin()->getResult(0);
    }
    Operation *left = productBehind(add.getLhs()), *right = productBehind(add.getRhs());
    if (!left || !right || left == right || left->getBlock() != right->getBlock() ||
        add.getLhs().getType() != add.getRhs().getType())
      return;
    OpOperand &first = add->getOpOperand(left->isBeforeInBlock(right) ? 0 : 1);
    OpBuilder b(add);
    b.setInsertionPointAfterValue(first.get());
    auto wide = cast<RankedTensorType>(first.get().getType());
    auto stored = CastOp::create(b, add.getLoc(), wide.clone(b.getBF16Type()), first.get(),
                                 b.getBoolAttr(false));
    stored->setAttr(storedAttribute, b.getUnitAttr());
    copyDevice(first.get().getDefiningOp(), stored);
    b.setInsertionPoint(add);
    Value again = CastOp::create(b, add.getLoc(), wide, stored, b.getBoolAttr(false));
    copyDevice(add, again);
    first.set(again);
  }

  llvm::MapVector<Value, Value> narrowed;
  bool hasBlocks = false; ///< blocks of matrices are multiplied, else pairs
};
} // namespace

//===- Folding.cpp - what operations fold to ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Folding.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Boundary.h"
#include "dialects/weir/ConstantEvaluator.h"
#include "dialects/weir/KeptSizes.h"
#include "dialects/weir/KnownIntegers.h"
#include "dialects/weir/OperationFacts.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Quantized.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/Training.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

namespace {

bool isAll(Value integers, int64_t value) {
  auto known = knownIntegers(integers);
  return known && llvm::all_of(*known, [&](auto entry) { return entry == value; });
}

/// Whether every size of `shape` is the size of `operand` at the same place.
/// One entry may be -1, to be derived.
bool isShapeOf(Value shape, Value operand) {
  auto type = ranked(operand);
  auto wanted = followIntegers(shape);
  if (!type || !wanted || (int64_t)wanted->size() != type.getRank())
    return false;
  int64_t derived = 0;
  for (auto [i, entry] : llvm::enumerate(*wanted)) {
    if (entry.value == -1) {
      ++derived;
      continue;
    }
    bool same = entry.isSymbol() ? entry.tensor == operand && entry.dimension == (int64_t)i
                                 : entry.value == type.getDimSize(i);
    if (!same)
      return false;
  }
  return derived <= 1;
}

bool takesAll(SliceOp op) {
  auto type = ranked(op.getOperand()), resultType = ranked(op.getResult());
  auto starts = knownIntegers(op.getStarts()), ends = knownIntegers(op.getEnds());
  if (!isAll(op.getSteps(), 1) || !type || !resultType)
    return false;
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    if (!type.isDynamicDim(axis) && type.getDimSize(axis) == resultType.getDimSize(axis))
      continue; // all of them, one by one
    // Past any size: no dimension has so many elements.
    if (op.getStrict() || !starts || !ends || (*starts)[i] != 0 || !(*ends)[i] ||
        *(*ends)[i] < INT32_MAX)
      return false;
  }
  return true;
}

/// The operand that the result of `op` equals in every bit, or null. Its type
/// is checked by the caller.
Value sameAsOperand(Operation *op, ArrayRef<Attribute> operands) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return op->getOperand(0).getType() == op->getResult(0).getType() &&
                   (ranked(reshape.getOperand()).hasStaticShape() ||
                    isShapeOf(reshape.getShape(), reshape.getOperand()))
               ? reshape.getOperand()
               : Value();
  if (auto broadcast = dyn_cast<BroadcastToOp>(op)) {
    auto type = ranked(broadcast.getOperand());
    return type && (type.hasStaticShape() ||
                    (isShapeOf(broadcast.getShape(), broadcast.getOperand()) &&
                     !isAll(broadcast.getShape(), -1)))
               ? broadcast.getOperand()
               : Value();
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [i, source] : llvm::enumerate(transpose.getPermutation()))
      if ((int64_t)i != source)
        return {};
    return transpose.getOperand();
  }
  if (auto slice = dyn_cast<SliceOp>(op))
    return takesAll(slice) ? slice.getOperand() : Value();
  if (auto pad = dyn_cast<PadOp>(op))
    return isAll(pad.getPads(), 0) ? pad.getOperand() : Value();
  if (auto tile = dyn_cast<TileOp>(op))
    return isAll(tile.getRepeats(), 1) ? tile.getOperand() : Value();
  if (auto concat = dyn_cast<ConcatOp>(op))
    return concat.getInputs().size() == 1 ? concat.getInputs()[0] : Value();
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return repeat.getTimes() == 1 ? repeat.getOperand() : Value();
  if (auto reverse = dyn_cast<ReverseOp>(op))
    return reverse.getAxes().empty() ? reverse.getOperand() : Value();
  if (auto select = dyn_cast<SelectOp>(op)) {
    auto condition = dyn_cast_or_null<DenseElementsAttr>(operands[0]);
    bool isKnown = condition && condition.isSplat();
    if (!isKnown && select.getOnTrue() != select.getOnFalse())
      return {};
    bool isTrue = !isKnown || condition.getSplatValue<bool>();
    Value chosen = isTrue ? select.getOnTrue() : select.getOnFalse();
    // A kernel, where alone sizes are marked, gives what it computes, not what it is given.
    bool isGiven = isa<BlockArgument>(chosen) && op->hasAttr(equalSizesAttribute);
    return keepsSizesOf(op, chosen) && !isGiven ? chosen : Value();
  }
  // Neutral operands. Not x + 0 for floats, which makes 0 of -0.
  bool isFloat = op->getNumOperands() && isa<FloatType>(elementOf(op->getOperand(0)));
  if (isa<AddOp, SubOp>(op) && (!isFloat || isa<SubOp>(op)) && isSplatOf(operands[1], 0))
    return op->getOperand(0);
  if (isa<AddOp>(op) && !isFloat && isSplatOf(operands[0], 0))
    return op->getOperand(1);
  if (isa<MulOp, DivOp>(op) && isSplatOf(operands[1], 1))
    return op->getOperand(0);
  if (isa<MulOp>(op) && isSplatOf(operands[0], 1))
    return op->getOperand(1);
  if (op->hasTrait<traits::RoundsToIntegral>() && !isFloat)
    return op->getOperand(0);
  return {};
}

/// Whether `op` makes words of as many bytes as products of bytes are worth their while for
/// (weir-quantized-gemms looks for them), to dequantize them: a few hundred are a first
/// convolution's filter. What is left of them becomes reals in weir-fold-weights.
bool isWeightsOfBytes(Operation *op, RankedTensorType type) {
  constexpr int64_t fewest = 16 * 8;
  bool isLine = llvm::is_contained(type.getShape(), type.getNumElements()); // zero points
  bool isDequantized = llvm::all_of(op->getUsers(), llvm::IsaPred<SubOp, CastOp>);
  return isa<CastOp>(op) && isDequantized && !isLine && type.getElementType().isInteger(32) &&
         isByte(elementOf(op->getOperand(0))) && type.getNumElements() >= fewest;
}

/// A constant of any size under another shape.
Attribute constantOfShape(Attribute constant, RankedTensorType type) {
  if (isa_and_nonnull<weir::BlobAttr, ScaledAttr, ArrangedAttr>(constant))
    return reshapedConstant(cast<TypedAttr>(constant), type);
  auto elements = dyn_cast_or_null<DenseElementsAttr>(constant);
  if (!elements || elements.getNumElements() != type.getNumElements())
    return {};
  if (auto strings = dyn_cast<DenseStringElementsAttr>(elements))
    return DenseStringElementsAttr::get(type, strings.getRawStringData());
  return elements.reshape(type);
}

} // namespace

/// Whether a run may find operands that do not fit: of open sizes, or indices.
static bool mayRefuse(Operation *op) {
  return canFail(op) || llvm::any_of(op->getOperandTypes(), [](Type type) {
           auto tensor = dyn_cast<RankedTensorType>(type);
           return !tensor || !tensor.hasStaticShape();
         });
}

LogicalResult WeirFolder::fold(Operation *op, ArrayRef<Attribute> operands,
                               SmallVectorImpl<OpFoldResult> &results) const {
  if (op->getNumResults() != 1 || op->getNumRegions() || isa<ConstantOp>(op) ||
      !isa<TensorType>(op->getResult(0).getType()) || !isPure(op))
    return failure();
  if (Value same = sameAsOperand(op, operands);
      same && same.getType() == op->getResult(0).getType() && same != op->getResult(0)) {
    results.push_back(same);
    return success();
  }
  auto type = ranked(op->getResult(0));
  if (!type || !type.hasStaticShape())
    return failure();
  if (isa<ReshapeOp>(op))
    if (Attribute constant = constantOfShape(operands[0], type)) {
      results.push_back(constant);
      return success();
    }
  // Counting is cheaper than reading what was counted.
  if (isa<IotaOp>(op) && type.getNumElements() > 64)
    return failure();
  if (isWeightsOfBytes(op, type))
    return failure();
  if (auto constants = evaluateConstants(op, operands)) {
    results.push_back(constants->front());
    return success();
  }
  // Of no elements nothing is to be known, but operands may not fit.
  if (type.getNumElements() == 0 && mayRefuse(op))
    return failure();
  // Shapes of dynamic tensors may be known in part.
  if (isa<IntegerType>(type.getElementType()) && type.getNumElements() <= maxKnownIntegers)
    if (Attribute constant = knownConstant(op->getResult(0))) {
      results.push_back(constant);
      return success();
    }
  return failure();
}

//===----------------------------------------------------------------------===//
// Folders of their own
//===----------------------------------------------------------------------===//

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  // To a wider integer and back.
  auto inner = getOperand().getDefiningOp<CastOp>();
  if (!inner || inner.getOperand().getType() != getType())
    return {};
  auto narrow = dyn_cast<IntegerType>(elementOf(getResult()));
  auto wide = dyn_cast<IntegerType>(elementOf(getOperand()));
  if (!narrow || !wide || wide.getWidth() <= narrow.getWidth() || narrow.getWidth() == 1)
    return {};
  // A saturating cast of a negative number to an unsigned type is not undone.
  if (narrow.isUnsigned() != wide.isUnsigned() && !narrow.isUnsigned())
    return {};
  return inner.getOperand();
}

OpFoldResult GateOp::fold(FoldAdaptor adaptor) {
  if (!getTokens().empty())
    return {};
  // Constants need no code, on whichever side they are.
  if (isBoundary(*this))
    return adaptor.getValue();
  if (isTrainingMark(*this) || isReplicaMark(*this))
    return {};
  return getValue();
}

Value weir::acrossBoundary(OpBuilder &b, Location loc, Value value) {
  if (!isa<TensorType>(value.getType()) || value.getDefiningOp<ConstantOp>())
    return value;
  auto gate = GateOp::create(b, loc, value.getType(), value, ValueRange());
  gate->setAttr(boundaryAttr, b.getUnitAttr());
  return gate;
}

//===----------------------------------------------------------------------===//
// Canonical forms
//===----------------------------------------------------------------------===//

namespace {

/// The elements keep their order: only the last shape counts.
struct ReshapeOfReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!inner)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getOperandMutable().assign(inner.getOperand()); });
    return success();
  }
};

struct TransposeOfTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> permutation;
    for (int64_t i : op.getPermutation())
      permutation.push_back(inner.getPermutation()[i]);
    rewriter.modifyOpInPlace(op, [&] {
      op.getOperandMutable().assign(inner.getOperand());
      op.setPermutation(permutation);
    });
    return success();
  }
};

/// One index a slice: a gather, which kernels of what reads the slices go through.
struct GatherOfOneIndex : OpRewritePattern<GatherNdOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherNdOp op, PatternRewriter &rewriter) const override {
    auto operand = ranked(op.getOperand()), indices = ranked(op.getIndices());
    if (!operand || !indices || indices.getShape().back() != 1)
      return failure();
    Location loc = op.getLoc();
    int64_t batch = op.getBatchDims();
    SmallVector<MadeSize> sizes;
    for (int64_t i = 0; i + 1 < indices.getRank(); ++i)
      sizes.push_back({.from = i});
    Value places = reshaped(rewriter, loc, op.getIndices(), sizes);
    auto gather = GatherOp::create(rewriter, loc, op.getType(), op.getOperand(), places, batch,
                                   batch, op.getWrapNegative());
    copyDevice(op, places);
    copyDevice(op, gather);
    rewriter.replaceOp(op, gather);
    return success();
  }
};

/// Of nothing nobody asks where it lay.
struct SliceOfNothing : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto type = ranked(op.getResult());
    if (!type || !type.hasStaticShape() || type.getNumElements() != 0 || op.getStrict() ||
        !type.getElementType().isIntOrFloat())
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op,
                                            DenseElementsAttr::get(type, ArrayRef<Attribute>()));
    return success();
  }
};

/// A square or cube is a product: as exact as the function to one unit in the last
/// place, and what vectors compute. Halves would round a cube's square on the way.
struct PowerOfFew : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    auto constant = op.getRhs().getDefiningOp<ConstantOp>();
    auto number =
        constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
    Value x = op.getLhs();
    if (!number || !number.isSplat() || x.getType() != op.getType())
      return failure();
    APFloat exponent = number.getSplatValue<APFloat>();
    bool isCube = exponent.isExactlyValue(3);
    if (!isCube && !exponent.isExactlyValue(2))
      return failure();
    if (isCube && elementOf(x).getIntOrFloatBitWidth() < 32)
      return failure();
    rewriter.replaceOp(op, powerAsProduct(rewriter, op, isCube));
    return success();
  }
};

} // namespace

Value weir::powerAsProduct(OpBuilder &b, PowOp power, bool isCube) {
  Value x = power.getLhs();
  auto timesX = [&](Value a) {
    auto made = MulOp::create(b, power.getLoc(), power.getType(), a, x);
    if (Attribute device = power->getAttr("weir.device"))
      made->setAttr("weir.device", device);
    return made.getResult();
  };
  Value square = timesX(x);
  return isCube ? timesX(square) : square;
}

void WeirDialect::getCanonicalizationPatterns(RewritePatternSet &results) const {
  results.add<ReshapeOfReshape, TransposeOfTranspose, GatherOfOneIndex, SliceOfNothing, PowerOfFew>(
      getContext());
}

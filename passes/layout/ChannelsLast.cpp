//===- ChannelsLast.cpp - channels as the last dimension --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/layout/Passes.h"
#include "passes/layout/TransposedConvolutions.h"

namespace weir {
#define GEN_PASS_DEF_WEIRCHANNELSLASTPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// Where dimension i of a transposed value comes to lie before it.
SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [i, from] : llvm::enumerate(permutation))
    result[from] = i;
  return result;
}

/// One to three spatial dimensions.
bool hasSpace(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() >= 3 && tensor.getRank() <= 5;
}

/// The same, of floats.
bool isImage(Type type) { return hasSpace(type) && isa<FloatType>(getElementTypeOrSelf(type)); }

/// Whether the host computes it faster with channels last, whoever makes the filter.
bool gainsOnHost(ConvOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  bool knowsGroups =
      op.getGroups() == 1 || cast<RankedTensorType>(op.getFilter().getType()).hasStaticShape();
  return knowsGroups && !mayBeOffloaded(op) && (element.isF32() || element.isF64());
}

/// Gives `made`, of which dimension permutation[i] is dimension i of what `op` makes, the sizes
/// that are known of that: a terminator that reads it was made for no more of them.
void keepType(Operation *op, Value made, ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape(type.getRank());
  for (auto [i, from] : llvm::enumerate(permutation))
    shape[from] = type.getDimSize(i);
  made.setType(type.clone(shape));
}

struct ConvToLast : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &b) const override {
    // A filter that the program computes is moved in every run, which on the host costs
    // little beside what that gains.
    if (op.getChannelsLast() || !isImage(op.getType()) ||
        (!op.getFilter().getDefiningOp<ConstantOp>() && !gainsOnHost(op)))
      return failure();
    Location loc = op.getLoc();
    int64_t rank = cast<RankedTensorType>(op.getType()).getRank();
    Value input = transposed(b, loc, op.getInput(), channelsToLast(rank));
    SmallVector<int64_t> order;
    for (int64_t i = 2; i < rank; ++i)
      order.push_back(i);
    order.append({1, 0});
    Value filter = transposed(b, loc, op.getFilter(), order);
    Value made = ConvOp::create(b, loc, input, filter, op.getStridesAttr(), op.getPadsAttr(),
                                op.getDilationsAttr(), op.getGroupsAttr(), b.getBoolAttr(true),
                                op.getAccumulatorAttr());
    keepType(op, made, channelsToFirst(rank));
    copyDevice(op, made);
    b.replaceOp(op, transposed(b, loc, made, channelsToFirst(rank)));
    return success();
  }
};

/// Where the input is there in that order already, or has so many channels that
/// windows that run along them pay for both transpositions.
bool wantsLast(PoolOp op) {
  if (op.getChannelsLast() || !hasSpace(op.getType()))
    return false;
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  if (auto transpose = op.getOperand().getDefiningOp<TransposeOp>())
    if (transpose.getPermutation() == ArrayRef<int64_t>(channelsToFirst(type.getRank())))
      return true;
  constexpr int64_t manyChannels = 8;
  return isImage(type) && (type.getElementType().isF32() || !mayBeOffloaded(op)) &&
         type.getDimSize(1) >= manyChannels && op.getKind() != PoolKind::Lp;
}

struct PoolToLast : OpRewritePattern<PoolOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PoolOp op, PatternRewriter &b) const override {
    if (!wantsLast(op))
      return failure();
    Location loc = op.getLoc();
    int64_t rank = cast<RankedTensorType>(op.getType()).getRank();
    Value input = op.getOperand();
    auto transpose = input.getDefiningOp<TransposeOp>();
    if (transpose && transpose.getPermutation() == ArrayRef<int64_t>(channelsToFirst(rank)))
      input = transpose.getOperand();
    else
      input = transposed(b, loc, input, channelsToLast(rank));
    Value made =
        PoolOp::create(b, loc, input, op.getKindAttr(), op.getWindowAttr(), op.getStridesAttr(),
                       op.getPadsAttr(), op.getDilationsAttr(), op.getCeilModeAttr(),
                       op.getCountIncludePadAttr(), op.getPAttr(), b.getBoolAttr(true));
    keepType(op, made, channelsToFirst(rank));
    copyDevice(op, made);
    b.replaceOp(op, transposed(b, loc, made, channelsToFirst(rank)));
    return success();
  }
};

/// A value under `permutation`'s inverse that costs nothing: it is transposed
/// already, is a constant, or has at most one dimension that is not 1, or such as stay in order.
bool isFree(Value value, ArrayRef<int64_t> permutation) {
  if (auto transpose = value.getDefiningOp<TransposeOp>())
    return transpose.getPermutation() == permutation;
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == (int64_t)permutation.size() && isNoMove(type, inverse(permutation)))
    return true;
  if (!type.hasStaticShape())
    return type.getRank() == 0;
  return value.getDefiningOp<ConstantOp>() ||
         llvm::count_if(type.getShape(), [](int64_t size) { return size != 1; }) <= 1;
}

Value untransposed(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> permutation) {
  if (auto transpose = value.getDefiningOp<TransposeOp>())
    if (transpose.getPermutation() == permutation)
      return transpose.getOperand();
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 0)
    return value;
  if (type.getRank() == (int64_t)permutation.size())
    return transposed(b, loc, value, inverse(permutation));
  // Broadcasting aligns trailing dimensions: fill in those in front.
  SmallVector<int64_t> shape(permutation.size() - type.getRank(), 1);
  shape.append(type.getShape().begin(), type.getShape().end());
  return transposed(b, loc, reshaped(b, loc, value, shape), inverse(permutation));
}

/// op(transpose(x), …) = transpose(op(x, …)) for elementwise operations.
struct SinkThroughElementwise : RewritePattern {
  explicit SinkThroughElementwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    if (!isa<ElementwiseOpInterface>(op) || op->getNumResults() != 1)
      return failure();
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    TransposeOp found;
    for (Value operand : op->getOperands())
      if (auto transpose = operand.getDefiningOp<TransposeOp>())
        if (type && cast<RankedTensorType>(transpose.getType()).getRank() == type.getRank())
          found = transpose;
    if (!found)
      return failure();
    ArrayRef<int64_t> permutation = found.getPermutation();
    for (Value operand : op->getOperands())
      if (!isFree(operand, permutation))
        return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(untransposed(b, op->getLoc(), operand, permutation));
    SmallVector<int64_t> shape;
    for (int64_t from : inverse(permutation))
      shape.push_back(type.getDimSize(from));
    OperationState state(op->getLoc(), op->getName(), operands, TypeRange{type.clone(shape)},
                         op->getAttrs());
    Operation *made = b.create(state);
    b.replaceOp(op, TransposeOp::create(b, op->getLoc(), made->getResult(0),
                                        b.getDenseI64ArrayAttr(permutation)));
    return success();
  }
};

/// `made` is what `op` makes of operands that `transpose` has not moved yet.
LogicalResult replaceByTransposed(Operation *op, Value made, TransposeOp transpose,
                                  PatternRewriter &b) {
  keepType(op, made, transpose.getPermutation());
  copyDevice(op, made);
  b.replaceOp(op, TransposeOp::create(b, op->getLoc(), made, transpose.getPermutationAttr()));
  return success();
}

/// The operation's axes in the tensor that `transpose` moves.
SmallVector<int64_t> axesBefore(TransposeOp transpose, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> moved;
  for (int64_t axis : axes)
    moved.push_back(transpose.getPermutation()[axis]);
  return moved;
}

struct SinkThroughConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &b) const override {
    auto first = op.getInputs().front().getDefiningOp<TransposeOp>();
    if (!first)
      return failure();
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto transpose = input.getDefiningOp<TransposeOp>();
      if (!transpose || transpose.getPermutation() != first.getPermutation())
        return failure();
      inputs.push_back(transpose.getOperand());
    }
    Value made = ConcatOp::create(b, op.getLoc(), inputs, first.getPermutation()[op.getAxis()]);
    return replaceByTransposed(op, made, first, b);
  }
};

struct SinkThroughPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &b) const override {
    auto transpose = op.getOperand().getDefiningOp<TransposeOp>();
    auto pads = constantIntegers(op.getPads());
    if (!transpose || !pads)
      return failure();
    int64_t rank = transpose.getPermutation().size();
    SmallVector<int64_t> amounts(2 * rank);
    for (auto [i, from] : llvm::enumerate(transpose.getPermutation())) {
      amounts[from] = (*pads)[i];
      amounts[rank + from] = (*pads)[rank + i];
    }
    Value made = PadOp::create(b, op.getLoc(), transpose.getOperand(),
                               integers(b, op.getLoc(), amounts), op.getValue(), op.getModeAttr());
    return replaceByTransposed(op, made, transpose, b);
  }
};

/// Slices of channels that are last in memory are taken there.
struct SinkThroughSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &b) const override {
    auto transpose = op.getOperand().getDefiningOp<TransposeOp>();
    if (!transpose || op.getAxes().size() != 1)
      return failure();
    SmallVector<int64_t> axes = axesBefore(transpose, op.getAxes());
    if (axes[0] + 1 != (int64_t)transpose.getPermutation().size())
      return failure();
    Value made = SliceOp::create(b, op.getLoc(), transpose.getOperand(), op.getStarts(),
                                 op.getEnds(), op.getSteps(), axes, op.getStrict());
    return replaceByTransposed(op, made, transpose, b);
  }
};

struct SinkThroughResize : OpRewritePattern<ResizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ResizeOp op, PatternRewriter &b) const override {
    auto transpose = op.getOperand().getDefiningOp<TransposeOp>();
    if (!transpose)
      return failure();
    Value made =
        ResizeOp::create(b, op.getLoc(), transpose.getOperand(), op.getSizes(), op.getScales(),
                         op.getRoi(), axesBefore(transpose, op.getAxes()), op.getMode(),
                         op.getCoordinates(), op.getNearest(), op.getCubicCoefficient(),
                         op.getExcludeOutside(), op.getExtrapolationValue(), op.getAntialias());
    return replaceByTransposed(op, made, transpose, b);
  }
};

/// Whether the reduction goes along lines that are next to each other only behind the
/// transposition: before it few results lie side by side, a part of a vector. A softmax over the
/// keys of a few heads, which a product has put last, is such.
bool reducesLines(ReduceOp op, TransposeOp transpose) {
  constexpr int64_t fewResults = 8, longLine = 16;
  auto isLong = [](int64_t size) { return ShapedType::isDynamic(size) || size >= longLine; };
  int64_t rank = transpose.getPermutation().size();
  int64_t results = cast<RankedTensorType>(transpose.getOperand().getType()).getShape().back();
  return !ShapedType::isDynamic(results) && results > 1 && results < fewResults &&
         llvm::is_contained(op.getAxes(), rank - 1) &&
         !llvm::is_contained(axesBefore(transpose, op.getAxes()), rank - 1) &&
         isLong(cast<RankedTensorType>(transpose.getType()).getShape().back());
}

/// A reduction of a transposed value reduces other axes of the value; its result
/// is transposed as far as what is kept is in another order.
struct SinkThroughReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &b) const override {
    auto transpose = op.getOperand().getDefiningOp<TransposeOp>();
    if (!transpose || reducesLines(op, transpose))
      return failure();
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    SmallVector<int64_t> axes = axesBefore(transpose, op.getAxes());
    llvm::sort(axes);
    SmallVector<int64_t> order;
    if (op.getKeepDims()) {
      order.assign(permutation.begin(), permutation.end());
    } else {
      SmallVector<int64_t> kept;
      for (int64_t i = 0; i < (int64_t)permutation.size(); ++i)
        if (!llvm::is_contained(axes, i))
          kept.push_back(i);
      for (auto [i, from] : llvm::enumerate(permutation))
        if (!llvm::is_contained(op.getAxes(), (int64_t)i))
          order.push_back(llvm::find(kept, from) - kept.begin());
    }
    Value made = ReduceOp::create(b, op.getLoc(), transpose.getOperand(), op.getKindAttr(),
                                  b.getDenseI64ArrayAttr(axes), op.getKeepDimsAttr());
    keepType(op, made, order);
    copyDevice(op, made);
    b.replaceOp(op, transposed(b, op.getLoc(), made, order));
    return success();
  }
};

/// Neighbouring dimensions [first, end) of a shape, and [toFirst, toEnd) of what it is reshaped to,
/// which have the same elements. One of them is one dimension.
struct Regrouped {
  int64_t first, end, toFirst, toEnd;
};

/// How dimensions of `from` are split and joined in `to`, the last ones first; nothing where that
/// is more than the known sizes tell, or several become several.
std::optional<SmallVector<Regrouped>> regroupingOf(RankedTensorType from, RankedTensorType to) {
  SmallVector<Regrouped> groups;
  int64_t i = from.getRank(), j = to.getRank();
  while (i > 0 && j > 0) {
    Regrouped group{i - 1, i, j - 1, j};
    int64_t size = from.getDimSize(--i), toSize = to.getDimSize(--j);
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(toSize)) {
      // All others are known, and alike.
      if (i > 0 || j > 0 || size != toSize)
        return std::nullopt;
    }
    while (size != toSize) {
      if (size < toSize && i > 0 && !from.isDynamicDim(i - 1))
        size *= from.getDimSize(--i);
      else if (toSize < size && j > 0 && !to.isDynamicDim(j - 1))
        toSize *= to.getDimSize(--j);
      else
        return std::nullopt;
    }
    group.first = i;
    group.toFirst = j;
    if (size == 0 || (group.end - i > 1 && group.toEnd - j > 1))
      return std::nullopt;
    groups.push_back(group);
  }
  if (i > 0 || j > 0)
    return std::nullopt;
  return groups;
}

/// Splitting dimensions of a transposed value, or joining such as lie next to each other before it
/// is moved, may come first: what a network makes of tokens or of an image's positions.
struct SinkThroughReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &b) const override {
    auto transpose = op.getOperand().getDefiningOp<TransposeOp>();
    auto type = cast<RankedTensorType>(op.getType());
    // What else reads the elements would have them moved, too.
    if (!transpose || !llvm::all_of(transpose->getUsers(), [&](Operation *user) {
          return user == op.getOperation() || isa<ShapeOfOp>(user);
        }))
      return failure();
    std::optional<SmallVector<Regrouped>> groups =
        regroupingOf(cast<RankedTensorType>(transpose.getType()), type);
    if (!groups)
      return failure();
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    SmallVector<const Regrouped *> groupOf(permutation.size());
    for (const Regrouped &group : *groups)
      for (int64_t i = group.first; i < group.end; ++i) {
        if (permutation[i] != permutation[group.first] + i - group.first)
          return failure();
        groupOf[permutation[i]] = &group;
      }
    // The reshaped dimensions in the order in which they lie before.
    SmallVector<MadeSize> shape;
    SmallVector<int64_t> order(type.getRank());
    for (auto [from, group] : llvm::enumerate(groupOf)) {
      if (permutation[group->first] != (int64_t)from)
        continue;
      for (int64_t to = group->toFirst; to < group->toEnd; ++to) {
        order[to] = shape.size();
        shape.push_back(type.isDynamicDim(to) ? MadeSize{1, (int64_t)from}
                                              : MadeSize{type.getDimSize(to)});
      }
    }
    Value made = reshaped(b, op.getLoc(), transpose.getOperand(), shape);
    copyDevice(op, made);
    b.replaceOp(op, transposed(b, op.getLoc(), made, order));
    return success();
  }
};

/// Two transpositions are one, or none.
struct Combine : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &b) const override {
    auto before = op.getOperand().getDefiningOp<TransposeOp>();
    if (!before) {
      if (!isNoMove(cast<RankedTensorType>(op.getOperand().getType()), op.getPermutation()))
        return failure();
      b.replaceOp(op, transposed(b, op.getLoc(), op.getOperand(), op.getPermutation()));
      return success();
    }
    SmallVector<int64_t> permutation;
    for (int64_t from : op.getPermutation())
      permutation.push_back(before.getPermutation()[from]);
    b.replaceOp(op, transposed(b, op.getLoc(), before.getOperand(), permutation));
    return success();
  }
};

struct ChannelsLastPass : weir::impl::WeirChannelsLastPassBase<ChannelsLastPass> {
  void runOnOperation() override {
    bool any = false;
    getOperation().walk(
        [&](ConvOp op) { any |= !op.getChannelsLast() || op->hasAttr(tileUnitAttribute); });
    getOperation().walk([&](PoolOp op) { any |= wantsLast(op); });
    any |= getOperation()
               .walk([](ConvTransposeOp) { return WalkResult::interrupt(); })
               .wasInterrupted();
    if (!any)
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<ConvToLast, PoolToLast, SinkThroughConcat, SinkThroughPad, SinkThroughResize,
                 SinkThroughSlice, SinkThroughReduce, SinkThroughReshape, Combine>(&getContext());
    patterns.add<SinkThroughElementwise>(&getContext());
    addTransposedConvolutions(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

//===- QuantizedGemms.cpp - products of bytes -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quantized model says sum (x - zx) sx * (w - zw) sw, in reals. The bytes' sum
// sum x (w - zw) - zx sum (w - zw), in words of 32 bits, is exact, and times sx sw
// what the reals' sum rounds to. What follows from the weights alone is computed
// here. Where no signed byte holds w - zw, there is an offset o of each column for which
// one holds v = w - zw - o, and sum x (w - zw) = sum x v + o sum x; that last sum is
// a product of bytes by ones.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"
#include "passes/layout/ByteOperands.h"
#include "passes/layout/Passes.h"
#include <cmath>

namespace weir {
#define GEN_PASS_DEF_WEIRQUANTIZEDGEMMSPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// Of a sum of products of bytes so long no part exceeds a word of 32 bits.
constexpr int64_t longestSum = INT32_MAX / (255 * 128);
/// With fewer, a panel of columns, or a step of the sum, is mostly empty: floats are no slower.
constexpr int64_t fewestColumns = 8, shortestSum = 16;
/// Images of fewer lines take less time by pairs of bytes than in Winograd's form of floats, with
/// vectors of 32 bytes: where hardly a pair saturates, and where few do and the filter, sixteen
/// times as large in that form, is more than caches hold.
constexpr int64_t linesOfPaired = 15, linesOfBounded = 8, largeFilter = 1 << 20;
/// Of weights that are computed a panel lies on the stack.
constexpr int64_t deepestPanel = 16384;

bool isUnsigned(Type type) { return getElementTypeOrSelf(type).isUnsignedInteger(); }

struct QuantizedGemmsPass : weir::impl::WeirQuantizedGemmsPassBase<QuantizedGemmsPass> {
  void runOnOperation() override {
    TargetAttr target = targetOf(getOperation());
    // Offload devices multiply 8-bit floats, hosts none.
    if (target.getMayOffload())
      rewriteNarrowFloatGemms(getOperation());
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<DotGeneralOp, ConvOp>(op))
        work.push_back(op);
    });
    if (target.getByteProducts() == ByteProducts::None) {
      for (Operation *op : work)
        warnOfReals(op, "the processor that code is for multiplies no bytes; --cpu= names others");
      return;
    }
    inBlocks = target.getByteProducts() == ByteProducts::Blocks;
    // Offload devices multiply bytes, whatever the host does.
    isPairs = target.getByteProducts() == ByteProducts::Pairs && !target.getMayOffload();
    for (Operation *op : work)
      if (auto conv = dyn_cast<ConvOp>(op))
        moveBorderToBytes(conv);
    // Blocks are multiplied with a sign, too.
    if (!inBlocks && !target.getMayOffload())
      makeBytesUnsigned(getOperation(), work);
    for (Operation *op : work)
      rewrite(op);
    if (read.empty())
      return;
    // Pools between products of bytes.
    SmallVector<PoolOp> pools;
    getOperation().walk([&](PoolOp op) { pools.push_back(op); });
    for (PoolOp op : pools)
      if (Value byte = movePoolToBytes(op))
        noteRead(byte);
    getOperation().walk([&](Operation *op) {
      if (isa<ElementwiseOpInterface>(op))
        storeAllButLast(op);
    });
    SmallVector<CastOp> casts;
    getOperation().walk([&](CastOp op) { casts.push_back(op); });
    for (CastOp op : casts)
      simplifyRounding(op, read.contains(op));
  }

  /// A product or convolution while it is rewritten.
  struct Work {
    Operation *op;
    ByteShape shape;
    ByteOperand left, right;
    std::optional<double> zero; ///< the left operand's, where it is known
    bool isBounded = false;     ///< see boundedPairs
    bool isTooDeep = false;     ///< for pairs of halves
    bool isWindow = false;      ///< pairs, and as floats Winograd's form: see takesWinogradForm
    bool isWords() const { return !left.scale; }
    bool isCentred() const { return zero && *zero == 0; }
  };

  /// The right operand as signed bytes, and what of it belongs to columns.
  struct Right {
    Value bytes;
    Value offset; ///< words: what `bytes` are less than the weights; null: nothing
    Value sums;   ///< words: of the weights; null where nobody asks
  };

  void rewrite(Operation *op) {
    std::optional<ByteShape> shape = byteShapeOf(op, inBlocks);
    Work work{op, shape.value_or(ByteShape()), {}, {}, 0.0};
    work.left = shape ? leftByteOperand(op) : ByteOperand();
    work.right = work.left ? rightByteOperand(op) : ByteOperand();
    if (!work.right || !work.left.scale != !work.right.scale)
      return warnOfReals(op, "its depth, its filter or its groups are open, or a zero point is "
                             "none for the whole or for each column; fix them");
    int64_t length = shape->window * shape->depth;
    work.isWindow = isPairs && !work.isWords() && takesWinogradForm(op);
    if (!work.isWords() && shape->isDepthwise) {
      if (!addsWindows(cast<ConvOp>(op), *shape))
        return; // sums of one channel each are floats
    } else if (!work.isWords() && (length < shortestSum || shape->columns < fewestColumns ||
                                   (work.isWindow && !mayBePairs(work)))) {
      return; // floats are no slower
    }
    auto staysReal = [&](StringRef why) {
      if (!work.isWindow)
        warnOfReals(op, why);
    };
    if (!work.isWords() && length > longestSum)
      return staysReal("its sums are too long for 32 bits; split it");
    if (work.left.zero)
      work.zero = numberOf(work.left.zero);
    SmallVector<float> scales;
    if (work.left.scale && (scales = byteScales(work.left, work.right, *shape)).empty())
      return staysReal("a scale is computed, or none for the whole or for each column; make "
                       "it a constant");
    OpBuilder b(op);
    std::optional<Right> right =
        constantOf(work.right.byte) ? constantRight(b, work) : computedRight(b, work);
    if (!right && work.isTooDeep)
      return staysReal("its sums are too long for the processor that code is for; split it, "
                       "or name another processor by --cpu=");
    if (!right)
      return staysReal("its weights or zero points are computed in a way that bytes do not "
                       "follow; make them constants");
    Location loc = op->getLoc();
    Value sum = sumOf(b, work, right->bytes);
    auto add = [&](Value term, bool isTaken) {
      sum = isTaken ? Value(SubOp::create(b, loc, sum, term))
                    : Value(AddOp::create(b, loc, sum, term));
      copyDevice(op, sum);
    };
    if (right->offset)
      add(times(b, work, sumOf(b, work, ones(b, work)), right->offset), false);
    if (!work.isCentred())
      add(work.zero ? right->sums : times(b, work, right->sums, work.left.zero), true);
    if (work.left.scale) {
      auto type = cast<RankedTensorType>(sum.getType()).clone(b.getF32Type());
      copyDevice(op, sum = CastOp::create(b, loc, type, sum, b.getBoolAttr(false)));
      Value scale = stored(b, work,
                           DenseElementsAttr::get(columnsType(work, b.getF32Type(), scales.size()),
                                                  ArrayRef<float>(scales)));
      copyDevice(op, sum = MulOp::create(b, loc, sum, scale));
    }
    if (sum.getType() != op->getResult(0).getType())
      sum.setType(op->getResult(0).getType());
    noteRead(work.left.byte);
    noteRead(work.right.byte);
    SmallVector<Value> operands(op->getOperands());
    op->getResult(0).replaceAllUsesWith(sum);
    op->erase();
    eraseDead(operands);
  }

  /// Out of how many vectors of weights one may have pairs that saturate: with more, halves, or
  /// floats, are multiplied in less time.
  static int64_t shareOfLists(const Work &work) {
    constexpr int64_t share = 4, shareOfWindow = 32;
    bool isLarge = work.shape.window * work.shape.depth * work.shape.columns >= largeFilter;
    return work.isWindow && !(isLarge && isSmallImage(work.op, linesOfBounded)) ? shareOfWindow
                                                                                : share;
  }

  /// Whether a window that Winograd's form serves may take less time by pairs of bytes.
  static bool mayBePairs(const Work &work) {
    constexpr int64_t widest = 64;
    return targetOf(work.op).getVectorBytes() < widest && isSmallImage(work.op, linesOfPaired) &&
           constantOf(work.right.byte);
  }

  /// Whether vectors add a depthwise convolution's windows by quads of bytes, with a constant
  /// filter, so that floats are slower.
  bool addsWindows(ConvOp conv, const ByteShape &shape) {
    constexpr int64_t widest = 64, fewestChannels = 16;
    TargetAttr target = targetOf(getOperation());
    auto filter = cast<RankedTensorType>(conv.getFilter().getType());
    return !isPairs && target.getVectorBytes() == widest && !target.getMayOffload() &&
           shape.columns >= fewestChannels && filter.getRank() == 4 && filter.getDimSize(2) > 1 &&
           constantOf(rightByteOperand(conv).byte);
  }

  /// Whether bytes could be faster than floats, as far as sizes say: no product of nothing, no
  /// short sums, no narrow results, no filter of one channel for each group.
  static bool mayGain(Operation *op) {
    auto left = cast<RankedTensorType>(op->getOperand(0).getType());
    auto right = cast<RankedTensorType>(op->getOperand(1).getType());
    if (llvm::is_contained(left.getShape(), 0) || llvm::is_contained(right.getShape(), 0))
      return false;
    int64_t length = 1, columns = 1;
    auto times = [](int64_t &product, int64_t size) {
      product = ShapedType::isDynamic(product) || ShapedType::isDynamic(size) ? ShapedType::kDynamic
                                                                              : product * size;
    };
    auto dot = dyn_cast<DotGeneralOp>(op);
    for (auto [axis, size] : llvm::enumerate(right.getShape())) {
      bool isColumn = dot ? !llvm::is_contained(dot.getRhsContract(), int64_t(axis)) : axis == 0;
      if (!dot || !llvm::is_contained(dot.getRhsBatch(), int64_t(axis)))
        times(isColumn ? columns : length, size);
    }
    if (auto conv = dyn_cast<ConvOp>(op); conv && conv.getGroups() > 1 && right.getDimSize(1) == 1)
      return false;
    return (ShapedType::isDynamic(length) || length >= shortestSum) &&
           (ShapedType::isDynamic(columns) || columns >= fewestColumns);
  }

  /// Whether elements of `value` share scales: bytes that are multiplied with a tensor of as many
  /// elements are no quantised ones.
  static bool isDequantized(Value value, const ByteOperand &operand) {
    if (!operand.scale)
      return false;
    Value scale = operand.scale;
    for (Operation *def;
         (def = scale.getDefiningOp()) && isa<ReshapeOp, TransposeOp, BroadcastToOp, CastOp>(def);)
      scale = def->getOperand(0);
    auto own = dyn_cast<RankedTensorType>(scale.getType());
    auto type = cast<RankedTensorType>(value.getType());
    if (constantOf(scale) || !own || own.getRank() < type.getRank())
      return true;
    for (auto [size, of] :
         llvm::zip_equal(own.getShape(), type.getShape().take_back(own.getRank())))
      if (size == 1 && of != 1)
        return true;
    return type.hasStaticShape() && type.getNumElements() == 1;
  }

  /// Warns where both operands of a product are bytes with scales, and it is computed
  /// in reals nevertheless: that takes many times as long.
  void warnOfReals(Operation *op, const Twine &why) {
    auto dot = dyn_cast<DotGeneralOp>(op);
    bool isRanked = llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
    if (!isRanked || (dot && dot.getRhsContract().empty()) || !mayGain(op))
      return;
    if (!isDequantized(op->getOperand(0), leftByteOperand(op)) ||
        !isDequantized(op->getOperand(1), rightByteOperand(op)))
      return;
    op->emitWarning("W0501: found a product of quantised operands that is computed in f32: ")
        << why;
  }

  void noteRead(Value byte) {
    for (Operation *def; (def = byte.getDefiningOp()) && isa<ReshapeOp, TransposeOp>(def);)
      byte = def->getOperand(0);
    if (!constantOf(byte))
      read.insert(byte);
  }

  Value stored(OpBuilder &b, const Work &work, TypedAttr value) {
    Value made = ConstantOp::create(b, work.op->getLoc(), value);
    copyDevice(work.op, made);
    return made;
  }

  Value times(OpBuilder &b, const Work &work, Value x, Value y) {
    Value made = MulOp::create(b, work.op->getLoc(), x, y);
    copyDevice(work.op, made);
    return made;
  }

  /// One number, or one a column: those have so many dimensions behind them.
  RankedTensorType columnsType(const Work &work, Type element, int64_t count) {
    SmallVector<int64_t> sizes;
    if (count > 1) {
      int64_t rank = cast<RankedTensorType>(work.op->getResult(0).getType()).getRank();
      sizes.assign(isa<ConvOp>(work.op) ? rank - 1 : 1, 1);
      sizes[0] = count;
    }
    return RankedTensorType::get(sizes, element);
  }

  Value wordsOf(OpBuilder &b, const Work &work, ArrayRef<int32_t> words) {
    bool isOne = llvm::all_equal(words);
    auto type = columnsType(work, b.getI32Type(), isOne ? 1 : words.size());
    return stored(b, work, DenseElementsAttr::get(type, isOne ? words.take_front() : words));
  }

  std::optional<Right> constantRight(OpBuilder &b, Work &work) {
    if (auto dot = dyn_cast<DotGeneralOp>(work.op); dot && !dot.getLhsBatch().empty())
      return std::nullopt; // as many matrices as there are batches
    // A zero point that is computed is one number; it is part of the offset.
    ByteOperand known = work.right;
    Value computed = knownZeros(known.zero) ? Value() : known.zero;
    if (computed) {
      if (cast<RankedTensorType>(computed.getType()).getRank() != 0)
        return std::nullopt;
      known.zero = {};
    }
    std::optional<ByteWeights> weights = byteWeightsOf(known, work.shape, !work.isCentred());
    if (!weights)
      return std::nullopt;
    work.isBounded = isPairs && seldomSaturates(*weights, work.shape, shareOfLists(work));
    if (work.isWindow && !work.isBounded)
      return std::nullopt;
    work.isTooDeep = !work.isBounded && areTooDeep(work);
    if (work.isTooDeep)
      return std::nullopt;
    Right right{stored(b, work, weights->value), {}, {}};
    if (!weights->offsets.empty())
      right.offset = wordsOf(b, work, weights->offsets);
    if (!work.isCentred()) {
      int32_t factor = work.zero && !computed ? static_cast<int32_t>(*work.zero) : 1;
      for (int32_t &sum : weights->sums)
        sum *= factor;
      right.sums = wordsOf(b, work, weights->sums);
    }
    if (!computed)
      return right;
    int32_t count = work.shape.window * work.shape.depth;
    right.offset = minus(b, work, right.offset ? right.offset : wordsOf(b, work, {0}), computed);
    if (right.sums)
      right.sums = timesZero(
          b, work, minus(b, work, right.sums, times(b, work, computed, wordsOf(b, work, {count}))));
    return right;
  }

  /// Whether panels would have to be spread to halves of words, and are too deep for that. Words
  /// are multiplied as bytes nevertheless.
  bool areTooDeep(const Work &work) const {
    return isPairs && !work.isWords() &&
           work.shape.filledWindow() * work.shape.padded > deepestWide;
  }

  Value minus(OpBuilder &b, const Work &work, Value x, Value y) {
    Value made = SubOp::create(b, work.op->getLoc(), x, y);
    copyDevice(work.op, made);
    return made;
  }

  /// `sums` times the left operand's zero point, where that is known.
  Value timesZero(OpBuilder &b, const Work &work, Value sums) {
    if (!work.zero)
      return sums;
    return times(b, work, sums, wordsOf(b, work, {static_cast<int32_t>(*work.zero)}));
  }

  /// Weights that the program computes, as signed bytes in rows of columns, with rows of
  /// zeros that fill up the depth; unsigned ones are moved by `moved`.
  Value computedRows(OpBuilder &b, const Work &work, int32_t moved) {
    Location loc = work.op->getLoc();
    Value byte = work.right.byte;
    auto type = cast<RankedTensorType>(byte.getType());
    if (moved) {
      Value word = CastOp::create(b, loc, type.clone(b.getI32Type()), byte, b.getBoolAttr(false));
      copyDevice(work.op, word);
      Value less = minus(b, work, word, wordsOf(b, work, {moved}));
      byte = CastOp::create(b, loc, type.clone(b.getI8Type()), less, b.getBoolAttr(false));
      copyDevice(work.op, byte);
    }
    Value matrix = transposed(b, loc, byte, work.shape.weightsOrder);
    if (matrix != byte)
      copyDevice(work.op, matrix);
    SmallVector<int64_t> amounts(2 * type.getRank(), 0);
    amounts[amounts.size() - 2] = work.shape.padded - work.shape.depth;
    return bordered(b, work.op, matrix, amounts, b.getI8Type(), {});
  }

  /// What weights that were moved by `moved` lack; null: nothing.
  Value computedOffset(OpBuilder &b, const Work &work, int32_t moved) {
    std::optional<double> number = work.right.zero ? numberOf(work.right.zero) : 0.0;
    if (!number)
      return minus(b, work, wordsOf(b, work, {moved}), work.right.zero);
    if (*number == moved)
      return {};
    return wordsOf(b, work, {moved - static_cast<int32_t>(*number)});
  }

  /// `sums` of the columns of moved weights, of `count` each, as the left operand's zero
  /// point asks for.
  Value computedSums(OpBuilder &b, const Work &work, Value sums, Value offset, int64_t count) {
    if (offset) {
      sums = AddOp::create(b, work.op->getLoc(), sums,
                           times(b, work, offset, wordsOf(b, work, {static_cast<int32_t>(count)})));
      copyDevice(work.op, sums);
    }
    return timesZero(b, work, sums);
  }

  /// A filter that the program computes, of one group.
  std::optional<Right> computedFilter(OpBuilder &b, Work &work) {
    const ByteShape &shape = work.shape;
    Value zero = work.right.zero;
    if (shape.groups != 1 || shape.window * shape.padded > deepestPanel ||
        (zero && !numberOf(zero) && cast<RankedTensorType>(zero.getType()).getRank() != 0))
      return std::nullopt;
    int32_t moved = isUnsigned(work.right.byte.getType()) ? 128 : 0;
    Right right{computedRows(b, work, moved), computedOffset(b, work, moved), {}};
    if (work.isCentred())
      return right;
    Location loc = work.op->getLoc();
    int64_t rows = shape.window * shape.padded;
    Value matrix = reshaped(b, loc, right.bytes, ArrayRef<int64_t>{rows, shape.columns});
    copyDevice(work.op, matrix);
    auto row = RankedTensorType::get({1, rows}, b.getI8Type());
    Value sums =
        product(b, work.op, stored(b, work, DenseElementsAttr::get(row, int8_t(1))), matrix);
    sums = reshaped(b, loc, sums, columnsType(work, b.getI32Type(), shape.columns).getShape());
    copyDevice(work.op, sums);
    right.sums = computedSums(b, work, sums, right.offset, shape.window * shape.depth);
    return right;
  }

  /// Weights that the program computes.
  std::optional<Right> computedRight(OpBuilder &b, Work &work) {
    auto dot = dyn_cast<DotGeneralOp>(work.op);
    work.shape.padded = llvm::alignTo(work.shape.depth, 4);
    work.isTooDeep = areTooDeep(work);
    if (work.isTooDeep)
      return std::nullopt;
    if (!dot)
      return computedFilter(b, work);
    if (work.shape.padded > deepestPanel)
      return std::nullopt;
    auto type = cast<RankedTensorType>(work.right.byte.getType());
    ArrayRef<int64_t> batch = type.getShape().take_front(dot.getLhsBatch().size());
    // Sums of columns are rows of their own, which must stretch over the others.
    int64_t leftRank = cast<RankedTensorType>(work.left.byte.getType()).getRank();
    bool wantsSums = !work.isCentred();
    if (wantsSums && !batch.empty() &&
        (llvm::any_of(batch, ShapedType::isDynamic) || leftRank > type.getRank()))
      return std::nullopt;
    int32_t moved = isUnsigned(type) ? 128 : 0;
    Right right{computedRows(b, work, moved), computedOffset(b, work, moved), {}};
    if (!wantsSums)
      return right;
    // A row of ones times the matrix.
    SmallVector<int64_t> sizes(batch);
    sizes.append({1, work.shape.padded});
    auto row = RankedTensorType::get(sizes, b.getI8Type());
    Value sums =
        product(b, dot, stored(b, work, DenseElementsAttr::get(row, int8_t(1))), right.bytes);
    right.sums = computedSums(b, work, sums, right.offset, work.shape.depth);
    return right;
  }

  /// Ones in the place of weights: one column where all columns add the same.
  Value ones(OpBuilder &b, const Work &work) {
    SmallVector<int64_t> window;
    if (auto conv = dyn_cast<ConvOp>(work.op))
      llvm::append_range(
          window, cast<RankedTensorType>(conv.getFilter().getType()).getShape().drop_front(2));
    return stored(b, work,
                  byteOnes(b.getContext(), work.shape, window,
                           work.shape.groups == 1 ? 1 : work.shape.columns));
  }

  /// The sum of the left operand's bytes times signed ones.
  Value sumOf(OpBuilder &b, const Work &work, Value weights) {
    Value byte = work.left.byte;
    if (auto conv = dyn_cast<ConvOp>(work.op))
      return convolution(b, conv, work, weights);
    SmallVector<int64_t> amounts(2 * cast<RankedTensorType>(byte.getType()).getRank(), 0);
    amounts.back() = work.shape.padded - work.shape.depth;
    Type element = getElementTypeOrSelf(byte.getType());
    return product(b, work.op, bordered(b, work.op, byte, amounts, element, {}), weights,
                   work.isBounded);
  }

  /// `byte` with a border of `fill`, a word, or null for zeros.
  Value bordered(OpBuilder &b, Operation *op, Value byte, ArrayRef<int64_t> amounts, Type element,
                 Value fill) {
    if (llvm::all_of(amounts, [](int64_t amount) { return amount == 0; }))
      return byte;
    Location loc = op->getLoc();
    Value border = byteBorder(b, op, fill, element);
    Value made = PadOp::create(b, loc, byte, integers(b, loc, amounts), border, PadMode::Constant);
    copyDevice(op, made);
    return made;
  }

  /// Columns that an image with its border lacks for what fills up lines of the window: the last
  /// window ends before the image does where it moves by several columns. They may hold anything.
  static int64_t unreached(ConvOp conv, const ByteShape &shape) {
    auto input = cast<RankedTensorType>(conv.getInput().getType());
    int64_t wide = input.getShape().back();
    if (shape.filling == 0 || ShapedType::isDynamic(wide))
      return shape.filling;
    wide += conv.getPads().drop_back().back() + conv.getPads().back();
    int64_t rest = (wide - shape.across) % conv.getStrides().back();
    return std::max<int64_t>(0, shape.filling - rest);
  }

  /// The sum of a convolution, channels first as before; bytes lie channels last, and
  /// have the border, and channels that fill them up, of zero points.
  Value convolution(OpBuilder &b, ConvOp conv, const Work &work, Value filter) {
    Location loc = conv.getLoc();
    Value byte = work.left.byte;
    int64_t rank = cast<RankedTensorType>(byte.getType()).getRank();
    ArrayRef<int64_t> pads = conv.getPads();
    Value image = transposed(b, loc, byte, channelsToLast(rank));
    if (image != byte)
      copyDevice(conv, image);
    SmallVector<int64_t> amounts(2 * rank, 0);
    for (int64_t i = 0; i + 2 < rank; ++i) {
      amounts[1 + i] = pads[2 * i];
      amounts[rank + 1 + i] = pads[2 * i + 1];
    }
    const ByteShape &shape = work.shape;
    int64_t groups = shape.groups / shape.joined;
    amounts.back() = shape.padded * groups - shape.depth * shape.groups;
    amounts[2 * rank - 2] += unreached(conv, shape);
    // Windows of single channels mind a border of zeros themselves.
    bool hasBorder = shape.isDepthwise && work.isCentred();
    if (hasBorder)
      amounts.assign(2 * rank, 0);
    image = bordered(b, conv, image, amounts, getElementTypeOrSelf(byte.getType()), work.left.zero);
    Value sum = ConvOp::create(
        b, loc, image, filter, conv.getStridesAttr(),
        hasBorder ? conv.getPadsAttr() : b.getDenseI64ArrayAttr(SmallVector<int64_t>(pads.size())),
        conv.getDilationsAttr(), b.getI64IntegerAttr(groups), b.getBoolAttr(true),
        TypeAttr::get(b.getI32Type()));
    copyDevice(conv, sum);
    sum.getDefiningOp()->setAttr(tileUnitAttribute, unitOf(b, work.isBounded));
    Value made = transposed(b, loc, sum, channelsToFirst(rank));
    if (made != sum)
      copyDevice(conv, made);
    return made;
  }

  /// tileUnitAttribute's value.
  static Attribute unitOf(OpBuilder &b, bool isBounded) {
    return isBounded ? Attribute(b.getStringAttr(boundedPairs)) : b.getUnitAttr();
  }

  /// Rows by a matrix, or by as many matrices as both have.
  Value product(OpBuilder &b, Operation *op, Value rows, Value matrix, bool isBounded = false) {
    int64_t rank = cast<RankedTensorType>(rows.getType()).getRank();
    int64_t batch = cast<RankedTensorType>(matrix.getType()).getRank() - 2;
    auto leading = b.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(0, batch)));
    Value sum = DotGeneralOp::create(
        b, op->getLoc(), rows, matrix, leading, leading, b.getDenseI64ArrayAttr({rank - 1}),
        b.getDenseI64ArrayAttr({batch}), TypeAttr::get(b.getI32Type()));
    copyDevice(op, sum);
    sum.getDefiningOp()->setAttr(tileUnitAttribute, unitOf(b, isBounded));
    return sum;
  }

  /// Of several values of bytes that an operation adds, say, one may be computed in its
  /// kernel: the others are stored, as bytes.
  void storeAllButLast(Operation *op) {
    SmallVector<CastOp> made;
    for (Value operand : op->getOperands()) {
      auto mul = operand.getDefiningOp<MulOp>();
      CentredByte found = mul ? byteBehind(mul.getOperand(0)) : CentredByte();
      auto quantize = found ? found.byte.getDefiningOp<CastOp>() : CastOp();
      if (quantize && quantize->getBlock() == op->getBlock() && !llvm::is_contained(made, quantize))
        made.push_back(quantize);
    }
    llvm::sort(made, [](CastOp a, CastOp b) { return a->isBeforeInBlock(b); });
    for (CastOp quantize : ArrayRef<CastOp>(made).drop_back(made.empty() ? 0 : 1)) {
      quantize->setAttr(storedAttribute, UnitAttr::get(&getContext()));
      read.insert(quantize);
    }
  }

  bool inBlocks = false, isPairs = false;
  llvm::SetVector<Value> read; ///< bytes that are stored
};
} // namespace

//===- IntegerProducts.cpp - products of bytes -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quantized model says sum (x - zx) sx * (w - zw) sw, in reals. The bytes' sum
// sum x (w - zw) - zx sum (w - zw), in words of 32 bits, is exact, and times sx sw
// what the reals' sum rounds to. What follows from the weights alone is computed
// here.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "passes/layout/Quantized.h"
#include "passes/layout/Rearrange.h"
#include <cmath>

namespace weir {
#define GEN_PASS_DEF_WEIRINTEGERPRODUCTSPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// Of a sum of products of bytes so long no part exceeds a word of 32 bits.
constexpr int64_t longestSum = INT32_MAX / (255 * 128);
/// With fewer, a panel of columns, or a step of the sum, is mostly empty.
constexpr int64_t fewestColumns = 8, shortestSum = 16;
/// Weights that are computed anew, in memory while compiling.
constexpr int64_t mostBytes = int64_t(1) << 28;

bool isUnsigned(Type type) { return getElementTypeOrSelf(type).isUnsignedInteger(); }

/// An operand of a product: (byte - zero) * scale; `scale` is null where the sum is
/// one of words.
struct Operand : CentredByte {
  Value scale;
};

Operand operandOf(Value value) {
  Operand found;
  if (auto mul = value.getDefiningOp<MulOp>()) {
    static_cast<CentredByte &>(found) = byteBehind(mul.getOperand(0));
    found.scale = mul.getOperand(1);
    if (mul.getType() != mul.getOperand(0).getType())
      return {};
  } else {
    static_cast<CentredByte &>(found) = byteBehindWord(value);
  }
  // A zero point of several values would change the shape, or the sum's terms.
  if (found.zero && !numberOf(found.zero)) {
    auto type = dyn_cast<RankedTensorType>(found.zero.getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() != 1)
      return {};
  }
  return found;
}

/// Where a product's or convolution's sizes are, and how its bytes will lie.
struct Shape {
  SmallVector<int64_t> weightsOrder; ///< to [window…, depth, columns]
  int64_t columnDim = 0;             ///< of the weights as they are
  int64_t depth = 0, columns = 0;
  int64_t window = 1; ///< elements of a convolution's window
  int64_t across = 1; ///< of them next to each other in memory
};

std::optional<Shape> shapeOf(Operation *op) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getNumElements() > 0;
  };
  if (!llvm::all_of(op->getOperandTypes(), isStatic) || !isStatic(op->getResult(0).getType()))
    return std::nullopt;
  auto weights = cast<RankedTensorType>(op->getOperand(1).getType());
  Shape shape;
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    int64_t rank = cast<RankedTensorType>(dot.getLhs().getType()).getRank();
    if (!dot.getLhsBatch().empty() || weights.getRank() != 2 || rank < 2 ||
        dot.getLhsContract() != ArrayRef<int64_t>{rank - 1} || dot.getRhsContract().size() != 1)
      return std::nullopt;
    int64_t contract = dot.getRhsContract()[0];
    shape.columnDim = 1 - contract;
    shape.weightsOrder = {contract, shape.columnDim};
    shape.depth = weights.getDimSize(contract);
    shape.columns = weights.getDimSize(shape.columnDim);
    return shape;
  }
  auto conv = cast<ConvOp>(op);
  if (conv.getChannelsLast() || weights.getRank() != 4 || conv.getGroups() != 1 ||
      llvm::any_of(conv.getPads(), [](int64_t pad) { return pad < 0; }))
    return std::nullopt;
  shape.weightsOrder = {2, 3, 1, 0};
  shape.depth = weights.getDimSize(1);
  shape.columns = weights.getDimSize(0);
  shape.window = weights.getDimSize(2) * weights.getDimSize(3);
  shape.across = conv.getDilations()[1] == 1 ? weights.getDimSize(3) : 1;
  return shape;
}

/// `depth` filled up to a size of which few steps are made.
int64_t paddedDepth(const Shape &shape, bool isTiles) {
  int64_t best = llvm::alignTo(shape.depth, 4);
  auto steps = [&](int64_t depth) { return shape.across * depth / quadStep(shape.across * depth); };
  for (int64_t alignment = 8; isTiles && alignment <= 64; alignment *= 2) {
    int64_t depth = llvm::alignTo(shape.depth, alignment);
    if (steps(depth) < steps(best))
      best = depth;
  }
  return best;
}

/// Weights less their zero point, [window…, depth, columns], and the sum of each
/// column where it was asked for.
struct Weights {
  TypedAttr value;
  SmallVector<int32_t> sums;
};

std::optional<Weights> weightsOf(const Operand &right, const Shape &shape, int64_t depth,
                                 bool wantSums) {
  TypedAttr source = constantOf(right.byte);
  std::optional<double> zero = right.zero ? numberOf(right.zero) : 0.0;
  TypedAttr view = source && zero ? transposedConstant(source, shape.weightsOrder) : TypedAttr();
  if (!view)
    return std::nullopt;
  bool isPlain = *zero == 0 && !isUnsigned(source.getType()) && depth == shape.depth;
  if (isPlain && !wantSums)
    return Weights{view, {}};
  auto type = cast<RankedTensorType>(view.getType());
  if (type.getNumElements() / shape.depth * depth > mostBytes)
    return std::nullopt;
  DenseElementsAttr dense = materializedConstant(view);
  if (!dense || (int64_t)dense.getRawData().size() != type.getNumElements())
    return std::nullopt;
  ArrayRef<char> raw = dense.getRawData();
  Weights made{view, SmallVector<int32_t>(shape.columns, 0)};
  std::vector<char> bytes(shape.window * depth * shape.columns, 0);
  for (int64_t i = 0, rows = shape.window * shape.depth; i < rows; ++i)
    for (int64_t n = 0; n < shape.columns; ++n) {
      char byte = raw[i * shape.columns + n];
      int value = isUnsigned(source.getType()) ? static_cast<unsigned char>(byte)
                                               : static_cast<signed char>(byte);
      value -= static_cast<int>(*zero);
      if (value < -128 || value > 127)
        return std::nullopt;
      made.sums[n] += value;
      int64_t row = i / shape.depth * depth + i % shape.depth;
      bytes[row * shape.columns + n] = static_cast<char>(value);
    }
  if (isPlain)
    return made;
  SmallVector<int64_t> sizes(type.getShape());
  sizes[sizes.size() - 2] = depth;
  auto word = IntegerType::get(type.getContext(), 8);
  made.value = DenseElementsAttr::getFromRawBuffer(RankedTensorType::get(sizes, word), bytes);
  return made;
}

/// sx * sw, one or one for each column; empty where it is neither.
SmallVector<float> scalesOf(const Operand &left, const Operand &right, const Shape &shape) {
  std::optional<double> own = numberOf(left.scale);
  TypedAttr constant = constantOf(right.scale);
  DenseElementsAttr scales = constant ? materializedConstant(constant) : DenseElementsAttr();
  if (!own || !scales || !scales.getElementType().isF32())
    return {};
  auto weights = cast<RankedTensorType>(right.byte.getType());
  auto type = cast<RankedTensorType>(scales.getType());
  int64_t missing = weights.getRank() - type.getRank();
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.getDimSize(i) != 1 && i + missing != shape.columnDim)
      return {};
  SmallVector<float> made;
  for (float scale : scales.getValues<float>()) {
    made.push_back(static_cast<float>(*own * scale));
    if (scales.isSplat())
      break;
  }
  return made;
}

struct IntegerProductsPass : weir::impl::WeirIntegerProductsPassBase<IntegerProductsPass> {
  void runOnOperation() override {
    auto unit = getOperation()->getAttrOfType<StringAttr>(integerUnitAttribute);
    if (!unit)
      return;
    isTiles = unit.getValue() == "amx";
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<DotGeneralOp, ConvOp>(op))
        work.push_back(op);
    });
    for (Operation *op : work)
      rewrite(op);
    if (read.empty())
      return;
    getOperation().walk([&](Operation *op) {
      if (isa<ElementwiseOpInterface>(op))
        storeAllButLast(op);
    });
    SmallVector<CastOp> casts;
    getOperation().walk([&](CastOp op) { casts.push_back(op); });
    for (CastOp op : casts)
      simplifyRounding(op);
  }

  void rewrite(Operation *op) {
    std::optional<Shape> shape = shapeOf(op);
    Operand left = shape ? operandOf(op->getOperand(0)) : Operand();
    Operand right = left ? operandOf(op->getOperand(1)) : Operand();
    if (!right || !left.scale != !right.scale || shape->columns < fewestColumns ||
        shape->window * shape->depth < shortestSum || shape->window * shape->depth > longestSum)
      return;
    SmallVector<float> scales;
    if (left.scale && (scales = scalesOf(left, right, *shape)).empty())
      return;
    std::optional<double> zero = left.zero ? numberOf(left.zero) : 0.0;
    auto conv = dyn_cast<ConvOp>(op);
    bool hasBorder = conv && llvm::any_of(conv.getPads(), [](int64_t pad) { return pad != 0; });
    if (hasBorder && !zero)
      return; // filled with what is only known when it runs
    int64_t depth = paddedDepth(*shape, isTiles);
    bool isCentred = zero && *zero == 0;
    std::optional<Weights> weights = weightsOf(right, *shape, depth, !isCentred);
    if (!weights)
      return;

    OpBuilder b(op);
    Location loc = op->getLoc();
    auto stored = [&](TypedAttr value) -> Value {
      Value made = ConstantOp::create(b, loc, value);
      copyDevice(op, made);
      return made;
    };
    // Along columns, which the result has in front of `behind` dimensions.
    int64_t behind = conv ? 2 : 0;
    auto columnsType = [&](Type element, int64_t count) {
      SmallVector<int64_t> sizes;
      if (count > 1) {
        sizes.assign(behind + 1, 1);
        sizes[0] = count;
      }
      return RankedTensorType::get(sizes, element);
    };
    Value sum = conv ? convolution(b, conv, left.byte, stored(weights->value), depth - shape->depth,
                                   zero.value_or(0))
                     : product(b, cast<DotGeneralOp>(op), left.byte, stored(weights->value),
                               depth - shape->depth);
    if (!isCentred) {
      SmallVector<int32_t> shares(weights->sums);
      for (int32_t &share : shares)
        share *= zero ? static_cast<int32_t>(*zero) : 1;
      Value share = stored(DenseElementsAttr::get(columnsType(b.getI32Type(), shape->columns),
                                                  ArrayRef<int32_t>(shares)));
      if (!zero)
        copyDevice(op, share = MulOp::create(b, loc, share, left.zero));
      copyDevice(op, sum = SubOp::create(b, loc, sum, share));
    }
    if (left.scale) {
      auto type = cast<RankedTensorType>(sum.getType()).clone(b.getF32Type());
      copyDevice(op, sum = CastOp::create(b, loc, type, sum, b.getBoolAttr(false)));
      Value scale = stored(DenseElementsAttr::get(columnsType(b.getF32Type(), scales.size()),
                                                  ArrayRef<float>(scales)));
      copyDevice(op, sum = MulOp::create(b, loc, sum, scale));
    }
    Value byte = left.byte;
    for (Operation *def; (def = byte.getDefiningOp()) && isa<ReshapeOp, TransposeOp>(def);)
      byte = def->getOperand(0);
    read.insert(byte);
    SmallVector<Value> operands(op->getOperands());
    op->getResult(0).replaceAllUsesWith(sum);
    op->erase();
    for (Value operand : operands)
      eraseDead(operand);
  }

  Value bordered(OpBuilder &b, Operation *op, Value byte, ArrayRef<int64_t> amounts, double zero) {
    if (llvm::all_of(amounts, [](int64_t amount) { return amount == 0; }))
      return byte;
    Type element = getElementTypeOrSelf(byte.getType());
    Value fill =
        ConstantOp::create(b, op->getLoc(),
                           DenseElementsAttr::get(RankedTensorType::get({}, element),
                                                  APInt(8, static_cast<int64_t>(zero), zero < 0,
                                                        /*implicitTrunc=*/true)));
    Value made =
        PadOp::create(b, op->getLoc(), byte, integers(b, op->getLoc(), amounts), fill, "constant");
    copyDevice(op, made);
    return made;
  }

  /// The sum of a convolution, channels first as before; bytes lie channels last, and
  /// have the border, and `more` channels, of zero points.
  Value convolution(OpBuilder &b, ConvOp conv, Value byte, Value filter, int64_t more,
                    double zero) {
    Location loc = conv.getLoc();
    constexpr int64_t rank = 4;
    ArrayRef<int64_t> pads = conv.getPads();
    Value image = transposed(b, loc, byte, channelsToLast(rank));
    if (image != byte)
      copyDevice(conv, image);
    image = bordered(b, conv, image, {0, pads[0], pads[2], 0, 0, pads[1], pads[3], more}, zero);
    Value sum =
        ConvOp::create(b, loc, image, filter, conv.getStridesAttr(),
                       b.getDenseI64ArrayAttr({0, 0, 0, 0}), conv.getDilationsAttr(),
                       b.getI64IntegerAttr(1), b.getBoolAttr(true), TypeAttr::get(b.getI32Type()));
    copyDevice(conv, sum);
    sum.getDefiningOp()->setAttr(matrixAttribute, b.getUnitAttr());
    Value made = transposed(b, loc, sum, channelsToFirst(rank));
    if (made != sum)
      copyDevice(conv, made);
    return made;
  }

  Value product(OpBuilder &b, DotGeneralOp dot, Value byte, Value matrix, int64_t more) {
    int64_t rank = cast<RankedTensorType>(byte.getType()).getRank();
    SmallVector<int64_t> amounts(2 * rank, 0);
    amounts.back() = more;
    Value rows = bordered(b, dot, byte, amounts, 0);
    Value sum = DotGeneralOp::create(b, dot.getLoc(), rows, matrix, b.getDenseI64ArrayAttr({}),
                                     b.getDenseI64ArrayAttr({}), b.getDenseI64ArrayAttr({rank - 1}),
                                     b.getDenseI64ArrayAttr({0}), TypeAttr::get(b.getI32Type()));
    copyDevice(dot, sum);
    sum.getDefiningOp()->setAttr(matrixAttribute, b.getUnitAttr());
    return sum;
  }

  void eraseDead(Value value) {
    Operation *def = value.getDefiningOp();
    if (!def || !isOpTriviallyDead(def))
      return;
    SmallVector<Value> operands(def->getOperands());
    def->erase();
    for (Value operand : operands)
      eraseDead(operand);
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

  /// What rounds to a byte: a division by the scale becomes part of what the sum is
  /// multiplied with. The cast to a byte that is stored clamps by itself; where the
  /// float goes on, the limits tell that it fits a byte.
  void simplifyRounding(CastOp quantize) {
    Value byte = quantize;
    if (!quantize.getSaturate() || !isByte(getElementTypeOrSelf(byte.getType())))
      return;
    double lowest = isUnsigned(byte.getType()) ? 0 : -128;
    auto high = quantize.getOperand().getDefiningOp<MinimumOp>();
    auto low = high ? high.getOperand(0).getDefiningOp<MaximumOp>() : MaximumOp();
    if (!low || numberOf(low.getOperand(1)) != lowest ||
        numberOf(high.getOperand(1)) != lowest + 255)
      return;
    Value inside = low.getOperand(0);
    if (read.contains(byte)) {
      quantize.getOperandMutable().assign(inside);
      eraseDead(high);
    }
    if (auto shifted = inside.getDefiningOp<AddOp>(); shifted && numberOf(shifted.getOperand(1)))
      inside = shifted.getOperand(0);
    auto rounded = inside.getDefiningOp<RoundEvenOp>();
    auto divided = rounded ? rounded.getOperand().getDefiningOp<DivOp>() : DivOp();
    std::optional<double> scale = divided ? numberOf(divided.getOperand(1)) : std::nullopt;
    if (!scale || !divided->hasOneUse() || !std::isnormal(*scale) ||
        !std::isnormal(static_cast<float>(1 / *scale)))
      return;
    Value made = multiplied(divided.getOperand(0), 1 / *scale, divided);
    Value old = divided;
    old.replaceAllUsesWith(made);
    eraseDead(old);
  }

  /// `value` times `factor`: constants that it was multiplied with, and to which it was
  /// added, take the factor up.
  Value multiplied(Value value, double factor, Operation *user) {
    OpBuilder b(user);
    Location loc = user->getLoc();
    auto scaled = [&](Value constant) -> Value {
      TypedAttr source = constantOf(constant);
      DenseElementsAttr elements = source ? materializedConstant(source) : DenseElementsAttr();
      if (!elements || !elements.getElementType().isF32())
        return {};
      SmallVector<float> values;
      for (float element : elements.getValues<float>())
        values.push_back(static_cast<float>(element * factor));
      Value made = ConstantOp::create(
          b, loc, DenseElementsAttr::get(elements.getType(), ArrayRef<float>(values)));
      copyDevice(user, made);
      return made;
    };
    Value made;
    if (auto mul = value.getDefiningOp<MulOp>(); mul && mul->hasOneUse()) {
      if (Value constant = scaled(mul.getOperand(1)))
        made = MulOp::create(b, loc, mul.getOperand(0), constant);
    } else if (auto add = value.getDefiningOp<AddOp>(); add && add->hasOneUse()) {
      auto first = add.getOperand(0).getDefiningOp<MulOp>();
      Value constant =
          first && constantOf(first.getOperand(1)) ? scaled(add.getOperand(1)) : Value();
      if (constant)
        made = AddOp::create(b, loc, multiplied(first, factor, user), constant);
    }
    if (!made) {
      auto type = RankedTensorType::get({}, b.getF32Type());
      Value constant =
          ConstantOp::create(b, loc, DenseElementsAttr::get(type, static_cast<float>(factor)));
      copyDevice(user, constant);
      made = MulOp::create(b, loc, value, constant);
    }
    copyDevice(user, made);
    return made;
  }

  bool isTiles = false;
  llvm::SetVector<Value> read; ///< bytes that are stored
};
} // namespace

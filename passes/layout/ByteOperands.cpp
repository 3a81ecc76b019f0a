//===- ByteOperands.cpp - operands of products of bytes ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/ByteOperands.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"
#include "dialects/weir/WinogradFilter.h"
#include <cmath>

using namespace mlir;
using namespace weir;

/// Columns of a panel, and rows that lie side by side in it.
static constexpr int64_t quad = 4;
/// Weights that are computed anew, in memory while compiling.
static constexpr int64_t mostBytes = int64_t(1) << 28;

static bool isUnsigned(Type type) { return getElementTypeOrSelf(type).isUnsignedInteger(); }

/// Whether `value` is one number, whatever its shape.
static bool isSingle(Value value) {
  if (numberOf(value))
    return true;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

bool weir::runsAlong(Value value, RankedTensorType type, int64_t dim) {
  auto own = dyn_cast<RankedTensorType>(value.getType());
  int64_t missing = own ? type.getRank() - own.getRank() : -1;
  if (missing < 0)
    return false;
  for (int64_t i = 0; i < own.getRank(); ++i)
    if (own.getDimSize(i) != 1 && i + missing != dim)
      return false;
  return true;
}

static ByteOperand operandOf(Value value) {
  ByteOperand found;
  if (auto mul = value.getDefiningOp<MulOp>()) {
    if (mul.getType() != mul.getOperand(0).getType())
      return {};
    static_cast<CentredByte &>(found) = byteBehind(mul.getOperand(0));
    if (found)
      found.scale = mul.getOperand(1);
  } else {
    static_cast<CentredByte &>(found) = byteBehindWord(value);
  }
  return found;
}

ByteOperand weir::leftByteOperand(Operation *op) {
  ByteOperand found = operandOf(op->getOperand(0));
  if (!found || !found.zero || isSingle(found.zero))
    return found;
  // Others would be part of the sum's terms.
  auto zero = cast<RankedTensorType>(found.zero.getType());
  bool isOfRows = isa<DotGeneralOp>(op) && zero.getRank() > 0 && zero.getShape().back() == 1;
  return isOfRows ? found : ByteOperand();
}

Value weir::byteBorder(OpBuilder &b, Operation *op, Value zero, Type element) {
  Location loc = op->getLoc();
  auto type = RankedTensorType::get({}, element);
  std::optional<double> number = zero ? numberOf(zero) : 0.0;
  Value border;
  if (number) {
    APInt bits(8, static_cast<int64_t>(*number), *number < 0, /*implicitTrunc=*/true);
    border = ConstantOp::create(b, loc, DenseElementsAttr::get(type, bits));
  } else {
    Value one = zero;
    if (cast<RankedTensorType>(zero.getType()).getRank() != 0)
      copyDevice(op, one = reshaped(b, loc, zero, ArrayRef<int64_t>()));
    border = CastOp::create(b, loc, type, one, b.getBoolAttr(false));
  }
  copyDevice(op, border);
  return border;
}

/// `value`, which operations make of `byte` element by element, made of `other` instead.
static Value madeOf(OpBuilder &b, Value value, Value byte, Value other) {
  if (value == byte)
    return other;
  Operation *op = value.getDefiningOp();
  Value operand = madeOf(b, op->getOperand(0), byte, other);
  Operation *made = b.clone(*op);
  made->setOperand(0, operand);
  made->getResult(0).setType(
      cast<RankedTensorType>(operand.getType()).clone(getElementTypeOrSelf(value.getType())));
  return made->getResult(0);
}

void weir::moveBorderToBytes(ConvOp conv) {
  auto pad = conv.getInput().getDefiningOp<PadOp>();
  if (!pad || pad.getMode() != PadMode::Constant || numberOf(pad.getValue()) != 0.0)
    return;
  ByteOperand found = operandOf(pad.getOperand());
  std::optional<double> scale = found && found.scale ? numberOf(found.scale) : 1.0;
  if (!found || (found.zero && !isSingle(found.zero)) || !scale || !std::isfinite(*scale))
    return;
  OpBuilder b(pad);
  auto type = cast<RankedTensorType>(found.byte.getType());
  Value border = byteBorder(b, pad, found.zero, type.getElementType());
  Value bytes = PadOp::create(b, pad.getLoc(),
                              cast<RankedTensorType>(pad.getType()).clone(type.getElementType()),
                              found.byte, pad.getPads(), border, pad.getMode());
  copyDevice(pad, bytes);
  conv.getInputMutable().assign(madeOf(b, pad.getOperand(), found.byte, bytes));
  if (pad->use_empty())
    pad->erase();
}

Value weir::movePoolToBytes(PoolOp pool) {
  ByteOperand found = operandOf(pool.getOperand());
  std::optional<double> scale = found && found.scale ? numberOf(found.scale) : std::nullopt;
  if (pool.getKind() != PoolKind::Max || pool.getCeilMode() || !scale || !std::isfinite(*scale) ||
      !(*scale > 0) || (found.zero && !isSingle(found.zero)))
    return {};
  // No window may lie in the border as a whole: there it is below every byte.
  for (auto [i, pad] : llvm::enumerate(pool.getPads()))
    if (pad >= pool.getWindow()[i / 2])
      return {};
  OpBuilder b(pool);
  Type element = getElementTypeOrSelf(found.byte.getType());
  Value bytes = PoolOp::create(
      b, pool.getLoc(), cast<RankedTensorType>(pool.getType()).clone(element), found.byte,
      pool.getKind(), pool.getWindow(), pool.getStrides(), pool.getPads(), pool.getDilations(),
      pool.getCeilMode(), pool.getCountIncludePad(), pool.getP(), pool.getChannelsLast());
  copyDevice(pool, bytes);
  pool.getResult().replaceAllUsesWith(madeOf(b, pool.getOperand(), found.byte, bytes));
  pool.erase();
  return found.byte;
}

/// The dimension of the right operand whose entries are columns.
static int64_t columnDimOf(Operation *op) {
  auto dot = dyn_cast<DotGeneralOp>(op);
  if (!dot)
    return 0;
  int64_t batch = dot.getRhsBatch().size();
  return dot.getRhsContract()[0] == batch ? batch + 1 : batch;
}

ByteOperand weir::rightByteOperand(Operation *op) {
  Value value = op->getOperand(1);
  ByteOperand found = operandOf(value);
  auto type = cast<RankedTensorType>(value.getType());
  // Few words are made of bytes while compiling.
  if (!found && type.getElementType().isInteger(32) && constantOf(value))
    static_cast<CentredByte &>(found) = {value, Value()};
  if (found && found.zero && !isSingle(found.zero) && !runsAlong(found.zero, type, columnDimOf(op)))
    return {};
  return found;
}

/// The depth of so many joined groups, filled up to a size of which few steps are made.
static int64_t paddedDepth(const ByteShape &shape, bool inBlocks) {
  int64_t depth = shape.depth * shape.joined, best = llvm::alignTo(depth, quad);
  auto steps = [&](int64_t depth) { return shape.across * depth / quadStep(shape.across * depth); };
  for (int64_t alignment = 8; inBlocks && alignment <= 64; alignment *= 2)
    if (int64_t wider = llvm::alignTo(depth, alignment); steps(wider) < steps(best))
      best = wider;
  return best;
}

/// Fills up the lines of the window of one group where that takes no more bytes, and no more steps,
/// than filling up channels does: three channels of seven elements become 24 bytes, not 28.
static void fillLines(ByteShape &shape, bool inBlocks) {
  if (shape.across == 1 || shape.depth % quad == 0)
    return;
  int64_t filling = 1;
  while ((shape.across + filling) * shape.depth % quad != 0)
    ++filling;
  int64_t run = (shape.across + filling) * shape.depth, before = shape.across * shape.padded;
  if (run > before || (inBlocks && run / quadStep(run) > before / quadStep(before)))
    return;
  shape.filling = filling;
  shape.padded = shape.depth;
}

/// Which groups are computed as one: as few as fill panels of columns and fours of rows. Each by
/// itself where `mayStayApart` and panels that only its own columns are in have fewer to spare.
static void joinGroups(ByteShape &shape, bool mayStayApart) {
  int64_t each = shape.columns / shape.groups;
  for (shape.joined = 1; shape.joined < shape.groups; ++shape.joined)
    if (shape.groups % shape.joined == 0 && each * shape.joined % matrixPanel == 0 &&
        shape.depth * shape.joined % quad == 0)
      break;
  if (mayStayApart && shape.depth % quad == 0 &&
      llvm::alignTo(each, matrixPanel) < uint64_t(each * shape.joined))
    shape.joined = 1;
  if (shape.joined != shape.groups)
    shape.across = 1; // other groups' channels lie in between
}

static std::optional<ByteShape> shapeOf(DotGeneralOp dot, bool inBlocks) {
  auto left = cast<RankedTensorType>(dot.getLhs().getType());
  auto right = cast<RankedTensorType>(dot.getRhs().getType());
  int64_t batch = dot.getLhsBatch().size();
  auto isLeading = [](ArrayRef<int64_t> dims) {
    return llvm::all_of(llvm::enumerate(dims),
                        [](auto dim) { return dim.value() == int64_t(dim.index()); });
  };
  if (!isLeading(dot.getLhsBatch()) || !isLeading(dot.getRhsBatch()) ||
      right.getRank() != batch + 2 || left.getRank() < batch + 2 ||
      dot.getLhsContract() != ArrayRef<int64_t>{left.getRank() - 1} ||
      dot.getRhsContract().size() != 1)
    return std::nullopt;
  ByteShape shape;
  int64_t contract = dot.getRhsContract()[0];
  shape.columnDim = columnDimOf(dot);
  shape.weightsOrder = llvm::to_vector(llvm::seq<int64_t>(0, batch));
  shape.weightsOrder.append({contract, shape.columnDim});
  shape.depth = left.getShape().back();
  if (ShapedType::isDynamic(shape.depth))
    shape.depth = right.getDimSize(contract);
  shape.columns = right.getDimSize(shape.columnDim);
  if (ShapedType::isDynamic(left.getShape().back()) ||
      ShapedType::isDynamic(right.getDimSize(contract)) || shape.depth == 0)
    return std::nullopt;
  shape.padded = paddedDepth(shape, inBlocks);
  return shape;
}

/// Whether f32 holds all sums of so many products of bytes.
static bool isExactInFloats(int64_t count) { return count * 255 * 128 < int64_t(1) << 24; }

static std::optional<ByteShape> shapeOf(ConvOp conv, bool inBlocks) {
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  int64_t rank = filter.getRank();
  if (conv.getChannelsLast() || (rank != 3 && rank != 4) || !filter.hasStaticShape() ||
      input.getRank() != rank || filter.getNumElements() == 0 || input.isDynamicDim(1) ||
      llvm::any_of(conv.getPads(), [](int64_t pad) { return pad < 0; }))
    return std::nullopt;
  ByteShape shape;
  for (int64_t i = 2; i < rank; ++i) {
    shape.weightsOrder.push_back(i);
    shape.window *= filter.getDimSize(i);
  }
  shape.weightsOrder.append({1, 0});
  shape.depth = filter.getDimSize(1);
  shape.columns = filter.getDimSize(0);
  shape.groups = conv.getGroups();
  shape.across = conv.getDilations().back() == 1 ? filter.getShape().back() : 1;
  shape.isDepthwise = shape.groups > 1 && shape.depth == 1 && shape.columns == shape.groups &&
                      isExactInFloats(shape.window);
  if (shape.isDepthwise) {
    shape.padded = 1;
    return shape;
  }
  joinGroups(shape, /*mayStayApart=*/!mayBeOffloaded(conv));
  shape.padded =
      shape.joined == shape.groups ? paddedDepth(shape, inBlocks) : shape.depth * shape.joined;
  if (shape.groups == 1 && !mayBeOffloaded(conv) && constantOf(rightByteOperand(conv).byte))
    fillLines(shape, inBlocks);
  return shape;
}

std::optional<ByteShape> weir::byteShapeOf(Operation *op, bool inBlocks) {
  for (Type type :
       {op->getOperand(0).getType(), op->getOperand(1).getType(), op->getResult(0).getType()}) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || llvm::is_contained(tensor.getShape(), 0))
      return std::nullopt;
  }
  if (auto dot = dyn_cast<DotGeneralOp>(op))
    return shapeOf(dot, inBlocks);
  return shapeOf(cast<ConvOp>(op), inBlocks);
}

std::optional<SmallVector<int64_t>> weir::knownZeros(Value zero) {
  if (!zero)
    return SmallVector<int64_t>{0};
  if (std::optional<double> number = numberOf(zero))
    return SmallVector<int64_t>{static_cast<int64_t>(*number)};
  // Of many columns the words are not folded, but lie behind their bytes.
  while (Operation *def = zero.getDefiningOp()) {
    auto widening = dyn_cast<CastOp>(def);
    bool isWider = widening &&
                   isa<IntegerType>(getElementTypeOrSelf(def->getOperand(0).getType())) &&
                   getElementTypeOrSelf(zero.getType()).isInteger(32);
    if (!isWider && !isa<ReshapeOp>(def))
      break;
    zero = def->getOperand(0);
  }
  TypedAttr constant = constantOf(zero);
  DenseElementsAttr elements = constant ? materializedConstant(constant) : DenseElementsAttr();
  if (!elements || !isa<IntegerType>(elements.getElementType()) ||
      elements.getElementType().getIntOrFloatBitWidth() > 32)
    return std::nullopt;
  SmallVector<int64_t> zeros;
  for (APInt number : elements.getValues<APInt>())
    zeros.push_back(isUnsigned(elements.getElementType())
                        ? static_cast<int64_t>(number.getZExtValue())
                        : number.getSExtValue());
  return zeros;
}

/// Where the weights of element `i` of the window and `d` of the depth lie, for column `n`.
static int64_t rowOf(const ByteShape &shape, int64_t i, int64_t d, int64_t n) {
  int64_t group = n / (shape.columns / shape.groups) % shape.joined;
  int64_t filled = i + i / shape.across * shape.filling;
  return filled * shape.padded + group * shape.depth + d;
}

/// The sizes of a window with what fills up its lines.
static SmallVector<int64_t> filled(const ByteShape &shape, ArrayRef<int64_t> window) {
  SmallVector<int64_t> sizes(window);
  if (shape.filling)
    sizes.back() += shape.filling;
  return sizes;
}

/// Bytes in the order [window…, depth, columns] as a constant of that shape.
static TypedAttr constantOfBytes(ArrayRef<char> bytes, ArrayRef<int64_t> window, int64_t depth,
                                 int64_t columns, MLIRContext *context) {
  SmallVector<int64_t> sizes(window);
  sizes.append({depth, columns});
  return DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get(sizes, IntegerType::get(context, 8)), bytes);
}

namespace {
/// Weights less their zero points, line by line.
class WeightLines {
public:
  /// `weights`: [rows, `columns`] of bytes or words, or of a splat one of them. `zeros`: of each
  /// column, or of all.
  WeightLines(ArrayRef<char> weights, bool isSplat, Type element, ArrayRef<int64_t> zeros,
              int64_t columns)
      : weights(weights), isSplat(isSplat), element(element), zeros(columns), line(columns) {
    for (int64_t n = 0; n < columns; ++n)
      this->zeros[n] = static_cast<uint32_t>(zeros[zeros.size() == 1 ? 0 : n]);
  }

  /// Line `row`, until the next is read.
  ArrayRef<int32_t> read(int64_t row) {
    if (element.getIntOrFloatBitWidth() == 32)
      readOf<int32_t>(row);
    else if (isUnsigned(element))
      readOf<uint8_t>(row);
    else
      readOf<int8_t>(row);
    return line;
  }

private:
  template <typename T> void readOf(int64_t row) {
    const size_t columns = line.size();
    const char *from = weights.data() + (isSplat ? 0 : row * columns * sizeof(T));
    auto numberAt = [&](size_t i) {
      T number;
      std::memcpy(&number, from + i * sizeof(T), sizeof(T));
      return static_cast<uint32_t>(number);
    };
    // Words go round. Two loops, so that the usual one is of vectors.
    if (isSplat)
      for (size_t n = 0; n < columns; ++n)
        line[n] = static_cast<int32_t>(numberAt(0) - zeros[n]);
    else
      for (size_t n = 0; n < columns; ++n)
        line[n] = static_cast<int32_t>(numberAt(n) - zeros[n]);
  }

  ArrayRef<char> weights;
  bool isSplat;
  Type element;
  std::vector<uint32_t> zeros;
  std::vector<int32_t> line;
};
} // namespace

std::optional<ByteWeights> weir::byteWeightsOf(const ByteOperand &right, const ByteShape &shape,
                                               bool wantsSums) {
  TypedAttr source = constantOf(right.byte);
  std::optional<SmallVector<int64_t>> zeros = knownZeros(right.zero);
  auto dense = dyn_cast_or_null<DenseElementsAttr>(source);
  bool isSplat = dense && dense.isSplat();
  TypedAttr view;
  if (source && zeros)
    view = isSplat ? source : transposedConstant(source, shape.weightsOrder);
  if (!view)
    return std::nullopt;
  Type element = getElementTypeOrSelf(source.getType());
  bool isPlain = zeros->size() == 1 && zeros->front() == 0 && element.isInteger(8) &&
                 !isUnsigned(element) && !isSplat && shape.padded == shape.depth &&
                 shape.joined == 1 && shape.filling == 0;
  if (isPlain && !wantsSums)
    return ByteWeights{view, {}, {}};
  auto type = cast<RankedTensorType>(view.getType());
  int64_t columns = shape.columns, size = element.getIntOrFloatBitWidth() / 8;
  if (shape.filledWindow() * shape.padded * columns > mostBytes ||
      (zeros->size() != 1 && (int64_t)zeros->size() != columns))
    return std::nullopt;
  // Only looked at: as an attribute they would be copied and hashed for it.
  SmallVector<char, 0> room;
  std::optional<ArrayRef<char>> known =
      isSplat ? dense.getRawData() : materializedBytes(view, room);
  if (!known || (!isSplat && (int64_t)known->size() != type.getNumElements() * size))
    return std::nullopt;
  WeightLines lines(*known, isSplat, element, *zeros, columns);
  ByteWeights made{view, SmallVector<int32_t>(columns, 0), SmallVector<int32_t>(columns, 0)};
  SmallVector<int32_t> least(columns, INT32_MAX), most(columns, INT32_MIN);
  int64_t rows = shape.window * shape.depth;
  for (int64_t i = 0; i < rows; ++i) {
    // Pointers, so that the loop is one over vectors.
    const int32_t *line = lines.read(i).data();
    int32_t *sums = made.sums.data(), *low = least.data(), *high = most.data();
    for (int64_t n = 0; n < columns; ++n) {
      sums[n] =
          static_cast<int32_t>(static_cast<uint32_t>(sums[n]) + static_cast<uint32_t>(line[n]));
      low[n] = std::min(low[n], line[n]);
      high[n] = std::max(high[n], line[n]);
    }
  }
  bool isOffset = false;
  for (int64_t n = 0; n < columns; ++n) {
    const int64_t low = least[n], high = most[n];
    if (high - low > 255)
      return std::nullopt;
    // Weights that are near to zero saturate least.
    if (low < -128 || high > 127)
      made.offsets[n] =
          static_cast<int32_t>(std::clamp<int64_t>(made.sums[n] / rows, high - 127, low + 128));
    isOffset |= made.offsets[n] != 0;
  }
  if (isPlain) {
    made.offsets.clear();
    return made;
  }
  std::vector<char> bytes(shape.filledWindow() * shape.padded * columns, 0);
  // Groups that are joined have rows of their own.
  const int64_t each = columns / shape.groups;
  ArrayRef<int32_t> offsets = made.offsets;
  for (int64_t i = 0; i < rows; ++i) {
    ArrayRef<int32_t> line = lines.read(i);
    for (int64_t first = 0; first < columns; first += each) {
      char *to = &bytes[rowOf(shape, i / shape.depth, i % shape.depth, first) * columns];
      for (int64_t n = first; n < first + each; ++n)
        to[n] = static_cast<char>(line[n] - offsets[n]);
    }
  }
  if (!isOffset)
    made.offsets.clear();
  SmallVector<int64_t> window;
  for (int64_t dim : ArrayRef(shape.weightsOrder).drop_back(2))
    window.push_back(cast<RankedTensorType>(source.getType()).getDimSize(dim));
  made.value =
      constantOfBytes(bytes, filled(shape, window), shape.padded, columns, type.getContext());
  return made;
}

bool weir::seldomSaturates(const ByteWeights &weights, const ByteShape &shape, int64_t share) {
  constexpr int64_t vector = 8;
  int64_t rows = shape.filledWindow() * shape.padded, columns = shape.columns;
  DenseElementsAttr plain = materializedConstant(weights.value);
  if (!plain || rows > deepestBounded || rows % quad != 0)
    return false;
  if (plain.isSplat())
    return std::abs(2 * int64_t(plain.getSplatValue<int8_t>())) <= mostOfPair;
  auto *bytes = reinterpret_cast<const int8_t *>(plain.getRawData().data());
  int64_t groups = 0, beyond = 0;
  for (int64_t row = 0; row < rows; row += quad)
    for (int64_t first = 0; first < columns; first += vector, ++groups) {
      bool any = false;
      for (int64_t n = first; n < std::min(first + vector, columns); ++n)
        for (int64_t pair = row; pair < row + quad; pair += 2)
          any |= exceedsHalf(bytes[pair * columns + n], bytes[(pair + 1) * columns + n]);
      beyond += any;
    }
  return share * beyond <= groups;
}

bool weir::isSmallImage(Operation *op, int64_t lines) {
  auto isSmall = [&](int64_t size) { return !ShapedType::isDynamic(size) && size < lines; };
  return llvm::any_of(cast<RankedTensorType>(op->getResult(0).getType()).getShape().take_back(2),
                      isSmall);
}

bool weir::takesWinogradForm(Operation *op) {
  constexpr int64_t fewestLines = 7;
  auto conv = dyn_cast<ConvOp>(op);
  auto said = op->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(winogradAttribute);
  if (!conv || (said && said.getInt() == 0))
    return false;
  ArrayRef<int64_t> filter = cast<RankedTensorType>(conv.getFilter().getType()).getShape();
  // A target need not say what vectors it has.
  int64_t lanes = std::max<int64_t>(targetOf(op).getVectorBytes() / 4, 1);
  return filter.size() == 4 &&
         hasWinogradForm(conv, filter.drop_front(2), filter[1], filter[0], lanes) &&
         !isSmallImage(op, fewestLines);
}

TypedAttr weir::byteOnes(MLIRContext *context, const ByteShape &shape, ArrayRef<int64_t> window,
                         int64_t columns) {
  std::vector<char> bytes(shape.filledWindow() * shape.padded * columns, 0);
  for (int64_t i = 0; i < shape.window; ++i)
    for (int64_t d = 0; d < shape.depth; ++d)
      for (int64_t n = 0; n < columns; ++n)
        bytes[rowOf(shape, i, d, n) * columns + n] = 1;
  return constantOfBytes(bytes, filled(shape, window), shape.padded, columns, context);
}

SmallVector<float> weir::byteScales(const ByteOperand &left, const ByteOperand &right,
                                    const ByteShape &shape) {
  std::optional<double> own = numberOf(left.scale);
  TypedAttr constant = constantOf(right.scale);
  DenseElementsAttr scales = constant ? materializedConstant(constant) : DenseElementsAttr();
  if (!own || !scales || !scales.getElementType().isF32())
    return {};
  if (!runsAlong(right.scale, cast<RankedTensorType>(right.byte.getType()), shape.columnDim))
    return {};
  SmallVector<float> made;
  for (float scale : scales.getValues<float>()) {
    made.push_back(static_cast<float>(*own * scale));
    if (scales.isSplat())
      break;
  }
  return made;
}

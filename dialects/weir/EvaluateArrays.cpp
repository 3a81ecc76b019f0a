//===- EvaluateArrays.cpp - arithmetic on large constants -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/ArrayWalk.h"
#include "dialects/weir/ConstantArray.h"
#include "dialects/weir/Elemental.h"
#include "dialects/weir/Halves.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/SliceBounds.h"
#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::arrays;

namespace {

using Operands = ArrayRef<const ConstantArray *>;
using Result = std::optional<ConstantArray>;

/// A line of a result, of `count` elements, of lines of the operands: where they begin, and
/// how far apart their elements are.
using Line = void (*)(int64_t count, const double *const *from, const int64_t *strides, double *to);

template <double (*of)(double)>
void unaryLine(int64_t count, const double *const *from, const int64_t *strides, double *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = of(from[0][i * strides[0]]);
}

template <double (*of)(double, double)>
void binaryLine(int64_t count, const double *const *from, const int64_t *strides, double *to) {
  const double *a = from[0], *b = from[1];
  // What is most of the time goes by vectors.
  if (strides[0] == 1 && strides[1] == 1) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = of(a[i], b[i]);
  } else if (strides[0] == 1 && strides[1] == 0) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = of(a[i], *b);
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i] = of(a[i * strides[0]], b[i * strides[1]]);
  }
}

void selectLine(int64_t count, const double *const *from, const int64_t *strides, double *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = from[0][i * strides[0]] != 0 ? from[1][i * strides[1]] : from[2][i * strides[2]];
}

double add(double a, double b) { return a + b; }
double sub(double a, double b) { return a - b; }
double mul(double a, double b) { return a * b; }
double div(double a, double b) { return a / b; }
/// The larger one; NaN where one is; of zeros the positive one.
double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
double minimum(double a, double b) { return -maximum(-a, -b); }
double neg(double a) { return -a; }
double absolute(double a) { return std::fabs(a); }
double sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
double squareRoot(double a) { return std::sqrt(a); }
/// As code of f32 has it: the root is rounded before it divides.
double inverseRootOfFloat(double a) { return 1.0 / static_cast<float>(std::sqrt(a)); }
double inverseRoot(double a) { return 1.0 / std::sqrt(a); }
double relu(double a) { return maximum(a, 0); }
double floorOf(double a) { return std::floor(a); }
double ceilOf(double a) { return std::ceil(a); }
double truncOf(double a) { return std::trunc(a); }
double roundOf(double a) { return std::round(a); }
double roundEvenOf(double a) { return std::nearbyint(a); }
double same(double a) { return a; }
double isNotZero(double a) { return a != 0; }
double isZero(double a) { return a == 0; }
double both(double a, double b) { return a != 0 && b != 0; }
double either(double a, double b) { return a != 0 || b != 0; }
double equal(double a, double b) { return a == b; }
double unequal(double a, double b) { return a != b; }
double less(double a, double b) { return a < b; }
double lessEqual(double a, double b) { return a <= b; }
double greater(double a, double b) { return a > b; }
double greaterEqual(double a, double b) { return a >= b; }

double bitAnd(double a, double b) { return static_cast<double>(int64_t(a) & int64_t(b)); }
double bitOr(double a, double b) { return static_cast<double>(int64_t(a) | int64_t(b)); }
double bitXor(double a, double b) { return static_cast<double>(int64_t(a) ^ int64_t(b)); }
template <typename T> double bitNot(double a) { return static_cast<double>(T(~T(a))); }
/// Counts of the width or more leave nothing.
template <typename T> double shiftLeft(double a, double b) {
  return b < 0 || b >= 8 * sizeof(T) ? 0 : static_cast<double>(T(uint64_t(int64_t(a)) << int(b)));
}
/// Or the sign.
template <typename T> double shiftRight(double a, double b) {
  int count = b < 0 || b >= 8 * sizeof(T) ? 63 : int(b);
  return static_cast<double>(int64_t(a) >> count);
}

template <typename T> Line bitLineOf(Operation *op) {
  using Maker = llvm::TypeSwitch<Operation *, Line>;
  return Maker(op)
      .Case<AndOp>([](auto) { return binaryLine<bitAnd>; })
      .template Case<OrOp>([](auto) { return binaryLine<bitOr>; })
      .template Case<XorOp>([](auto) { return binaryLine<bitXor>; })
      .template Case<NotOp>([](auto) { return unaryLine<bitNot<T>>; })
      .template Case<ShlOp>([](auto) { return binaryLine<shiftLeft<T>>; })
      .template Case<ShrOp>([](auto) { return binaryLine<shiftRight<T>>; })
      .Default([](auto) { return nullptr; });
}

/// What moves and masks the bits of integers, as weights of a few bits are unpacked; of up to 32
/// bits, which a double holds whatever they are.
Line bitLine(Operation *op, Type element) {
  bool isUnsigned = element.isUnsignedInteger();
  switch (element.getIntOrFloatBitWidth()) {
  case 8:
    return isUnsigned ? bitLineOf<uint8_t>(op) : bitLineOf<int8_t>(op);
  case 16:
    return isUnsigned ? bitLineOf<uint16_t>(op) : bitLineOf<int16_t>(op);
  case 32:
    return isUnsigned ? bitLineOf<uint32_t>(op) : bitLineOf<int32_t>(op);
  default:
    return nullptr;
  }
}

Line compareLine(StringRef predicate) {
  return llvm::StringSwitch<Line>(predicate)
      .Case("eq", binaryLine<equal>)
      .Case("ne", binaryLine<unequal>)
      .Case("lt", binaryLine<less>)
      .Case("le", binaryLine<lessEqual>)
      .Case("gt", binaryLine<greater>)
      .Case("ge", binaryLine<greaterEqual>)
      .Default(nullptr);
}

/// How a line of the elementwise operation is computed, or null.
Line lineOf(Operation *op) {
  Type from = getElementTypeOrSelf(op->getOperand(op->getNumOperands() - 1).getType());
  bool isFloat = isa<FloatType>(from), isBool = from.isInteger(1);
  using Maker = llvm::TypeSwitch<Operation *, Line>;
  if (isa<SelectOp>(op))
    return selectLine;
  if (auto compare = dyn_cast<CompareOp>(op))
    return compareLine(compare.getPredicate());
  if (auto cast = dyn_cast<CastOp>(op)) {
    Type to = getElementTypeOrSelf(cast.getType());
    if (to.isInteger(1))
      return unaryLine<isNotZero>;
    return isFloat && !isa<FloatType>(to) ? unaryLine<truncOf> : unaryLine<same>;
  }
  if (isBool)
    return Maker(op)
        .Case<AndOp>([](auto) { return binaryLine<both>; })
        .Case<OrOp>([](auto) { return binaryLine<either>; })
        .Case<XorOp>([](auto) { return binaryLine<unequal>; })
        .Case<NotOp>([](auto) { return unaryLine<isZero>; })
        .Default([](auto) { return nullptr; });
  Line any = Maker(op)
                 .Case<AddOp>([](auto) { return binaryLine<add>; })
                 .Case<SubOp>([](auto) { return binaryLine<sub>; })
                 .Case<MulOp>([](auto) { return binaryLine<mul>; })
                 .Case<MaximumOp>([](auto) { return binaryLine<maximum>; })
                 .Case<MinimumOp>([](auto) { return binaryLine<minimum>; })
                 .Case<NegOp>([](auto) { return unaryLine<neg>; })
                 .Case<AbsOp>([](auto) { return unaryLine<absolute>; })
                 .Case<SignOp>([](auto) { return unaryLine<sign>; })
                 .Case<ReluOp>([](auto) { return unaryLine<relu>; })
                 .Default([](auto) { return nullptr; });
  if (any || !isFloat)
    return any ? any : bitLine(op, from);
  return Maker(op)
      .Case<DivOp>([](auto) { return binaryLine<div>; })
      .Case<SqrtOp>([](auto) { return unaryLine<squareRoot>; })
      .Case<RsqrtOp>([&](auto) {
        return from.isF64() ? unaryLine<inverseRoot> : unaryLine<inverseRootOfFloat>;
      })
      .Case<FloorOp>([](auto) { return unaryLine<floorOf>; })
      .Case<CeilOp>([](auto) { return unaryLine<ceilOf>; })
      .Case<TruncOp>([](auto) { return unaryLine<truncOf>; })
      .Case<RoundOp>([](auto) { return unaryLine<roundOf>; })
      .Case<RoundEvenOp>([](auto) { return unaryLine<roundEvenOf>; })
      .Default([](auto) { return nullptr; });
}

/// Rounds to `element` as a run does; false: an integer type does not hold a number.
bool roundLine(MutableArrayRef<double> line, Type element) {
  if (element.isF64())
    return true;
  if (isa<FloatType>(element)) {
    for (double &number : line)
      number = static_cast<float>(number);
    if (element.isF32())
      return true;
    bool isF16 = element.isF16();
    for (double &number : line) {
      auto bits = llvm::bit_cast<uint32_t>(static_cast<float>(number));
      bits = isF16 ? floatFromHalf(halfFromFloat(bits)) : floatFromBrain(brainFromFloat(bits));
      number = llvm::bit_cast<float>(bits);
    }
    return true;
  }
  IntegerRange range(element);
  for (double &number : line) {
    if (!range.holds(number))
      return false;
    number += 0.0; // integers have one zero
  }
  return true;
}

Result elementwise(Operation *op, Operands operands, RankedTensorType type) {
  Line line = lineOf(op);
  ConstantArray result(type, *operands[0]->pool);
  SmallVector<Strides> strides{rowMajor(type.getShape())};
  for (const ConstantArray *operand : operands)
    strides.push_back(spread(operand->shape(), type.getShape()));
  Walk walk(type.getShape(), strides);
  bool isHeld = true;
  SmallVector<int64_t> apart;
  for (size_t i = 0; i < operands.size(); ++i)
    apart.push_back(walk.lineStride(i + 1));
  walk.forEachLine([&](Sizes places) {
    SmallVector<const double *> from;
    for (auto [operand, place] : llvm::zip_equal(operands, places.drop_front()))
      from.push_back(operand->elements.data() + place);
    // Pieces that stay in the cache until they are rounded.
    constexpr int64_t piece = 2048;
    double *to = result.elements.data() + places[0];
    for (int64_t at = 0; at < walk.lineLength(); at += piece) {
      int64_t count = std::min(piece, walk.lineLength() - at);
      line(count, from.data(), apart.data(), to + at);
      isHeld = roundLine(MutableArrayRef(to + at, count), type.getElementType()) && isHeld;
      for (auto [pointer, stride] : llvm::zip_equal(from, apart))
        pointer += count * stride;
    }
  });
  return isHeld ? Result(std::move(result)) : std::nullopt;
}

/// Copies elements of `shape` to and from where they lie apart as `to` and `from` say.
void copyElements(Sizes shape, double *result, Strides to, const double *source, Strides from) {
  Walk walk(shape, {std::move(to), std::move(from)});
  const int64_t apart = walk.lineStride(0), fromApart = walk.lineStride(1);
  walk.forEachLine([&](Sizes places) {
    for (int64_t i = 0; i < walk.lineLength(); ++i)
      result[places[0] + i * apart] = source[places[1] + i * fromApart];
  });
}

/// The elements of `source` from `offset` on, `strides` apart along the result's dimensions.
ConstantArray picked(const ConstantArray &source, RankedTensorType type, int64_t offset,
                     Strides strides) {
  ConstantArray result(type, *source.pool);
  copyElements(type.getShape(), result.elements.data(), rowMajor(type.getShape()),
               source.elements.data() + offset, std::move(strides));
  return result;
}

/// Writes `source` into `result` from `offset` on.
void place(const ConstantArray &source, ConstantArray &result, int64_t offset) {
  copyElements(source.shape(), result.elements.data() + offset, rowMajor(result.shape()),
               source.elements.data(), rowMajor(source.shape()));
}

Result sliced(SliceOp op, const ConstantArray &source, RankedTensorType type) {
  auto starts = constantIntegers(op.getStarts()), ends = constantIntegers(op.getEnds()),
       steps = constantIntegers(op.getSteps());
  if (!starts || !ends || !steps)
    return std::nullopt;
  Strides strides = rowMajor(source.shape());
  int64_t offset = 0;
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    int64_t size = source.shape()[axis], start = (*starts)[i], end = (*ends)[i];
    if ((*steps)[i] == 0 ||
        (op.getStrict() && (start < 0 || start > size || end < 0 || end > size)))
      return std::nullopt;
    offset += clampSlice(start, end, (*steps)[i], size).start * strides[axis];
    strides[axis] *= (*steps)[i];
  }
  return picked(source, type, offset, std::move(strides));
}

Result padded(PadOp op, Operands operands, RankedTensorType type) {
  auto pads = constantIntegers(op.getPads());
  if (!pads || operands[1]->elements.size() != 1 ||
      llvm::any_of(*pads, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  ConstantArray result(type, *operands[0]->pool);
  llvm::fill(result.elements, operands[1]->elements[0]);
  int64_t offset = 0;
  for (auto [before, stride] : llvm::zip(*pads, rowMajor(type.getShape())))
    offset += before * stride;
  place(*operands[0], result, offset);
  return result;
}

Result concatenated(ConcatOp op, Operands operands, RankedTensorType type) {
  ConstantArray result(type, *operands[0]->pool);
  int64_t stride = rowMajor(type.getShape())[op.getAxis()], at = 0;
  for (const ConstantArray *operand : operands) {
    place(*operand, result, at * stride);
    at += operand->shape()[op.getAxis()];
  }
  return result;
}

Result gathered(GatherOp op, const ConstantArray &source, RankedTensorType type) {
  auto indices = constantIntegers(op.getIndices());
  if (!indices || op.getBatchDims() != 0)
    return std::nullopt;
  int64_t axis = op.getAxis(), size = source.shape()[axis], before = 1, behind = 1;
  for (auto [i, each] : llvm::enumerate(source.shape()))
    (static_cast<int64_t>(i) < axis ? before : behind) *=
        static_cast<int64_t>(i) == axis ? 1 : each;
  ConstantArray result(type, *source.pool);
  double *to = result.elements.data();
  for (int64_t outer = 0; outer < before; ++outer)
    for (int64_t index : *indices) {
      if (index < 0 && op.getWrapNegative())
        index += size;
      if (index < 0 || index >= size)
        return std::nullopt;
      to = std::copy_n(source.elements.data() + (outer * size + index) * behind, behind, to);
    }
  return result;
}

Result moved(Operation *op, Operands operands, RankedTensorType type) {
  const ConstantArray &source = *operands[0];
  if (isa<ReshapeOp>(op)) {
    ConstantArray result(type, *source.pool);
    llvm::copy(source.elements, result.elements.begin());
    return result;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Strides own = rowMajor(source.shape()), strides;
    for (int64_t from : transpose.getPermutation())
      strides.push_back(own[from]);
    return picked(source, type, 0, std::move(strides));
  }
  if (isa<BroadcastToOp>(op))
    return picked(source, type, 0, spread(source.shape(), type.getShape()));
  if (auto slice = dyn_cast<SliceOp>(op))
    return sliced(slice, source, type);
  if (auto pad = dyn_cast<PadOp>(op))
    return padded(pad, operands, type);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return concatenated(concat, operands, type);
  return gathered(cast<GatherOp>(op), source, type);
}

/// Operand dimensions in the result's order and those summed over, as strides of one walk.
struct DotStrides {
  Strides sizes, left, right, result;
  DotStrides(DotGeneralOp op, Sizes leftShape, Sizes rightShape, Sizes resultShape) {
    Strides leftOwn = rowMajor(leftShape), rightOwn = rowMajor(rightShape),
            resultOwn = rowMajor(resultShape);
    auto append = [&](int64_t size, int64_t leftStride, int64_t rightStride, int64_t apart) {
      sizes.push_back(size);
      left.push_back(leftStride);
      right.push_back(rightStride);
      result.push_back(apart);
    };
    int64_t next = 0;
    for (auto [l, r] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
      append(leftShape[l], leftOwn[l], rightOwn[r], resultOwn[next++]);
    for (int64_t i = 0; i < static_cast<int64_t>(leftShape.size()); ++i)
      if (!llvm::is_contained(op.getLhsBatch(), i) && !llvm::is_contained(op.getLhsContract(), i))
        append(leftShape[i], leftOwn[i], 0, resultOwn[next++]);
    // Sums go between, so that a line of the result is added to again and again.
    for (auto [l, r] : llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
      append(leftShape[l], leftOwn[l], rightOwn[r], 0);
    for (int64_t i = 0; i < static_cast<int64_t>(rightShape.size()); ++i)
      if (!llvm::is_contained(op.getRhsBatch(), i) && !llvm::is_contained(op.getRhsContract(), i))
        append(rightShape[i], 0, rightOwn[i], resultOwn[next++]);
  }
};

Result multiplied(DotGeneralOp op, Operands operands, RankedTensorType type) {
  DotStrides strides(op, operands[0]->shape(), operands[1]->shape(), type.getShape());
  ConstantArray result(type, *operands[0]->pool);
  llvm::fill(result.elements, 0.0);
  Walk walk(strides.sizes, {strides.left, strides.right, strides.result});
  const int64_t a = walk.lineStride(0), b = walk.lineStride(1), c = walk.lineStride(2);
  walk.forEachLine([&](Sizes places) {
    const double *left = operands[0]->elements.data() + places[0];
    const double *right = operands[1]->elements.data() + places[1];
    double *to = result.elements.data() + places[2];
    if (a == 0 && b == 1 && c == 1)
      for (int64_t i = 0; i < walk.lineLength(); ++i)
        to[i] += *left * right[i];
    else
      for (int64_t i = 0; i < walk.lineLength(); ++i)
        to[i * c] += left[i * a] * right[i * b];
  });
  roundLine(result.elements, type.getElementType());
  return result;
}

bool isArray(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return false;
  return isArrayType(type.getElementType());
}

} // namespace

ConstantArray weir::reducedArray(const ConstantArray &source, StringRef kind,
                                 ArrayRef<int64_t> axes, RankedTensorType type) {
  ConstantArray result(type, *source.pool);
  llvm::fill(result.elements, kind == "prod"  ? 1.0
                              : kind == "max" ? -INFINITY
                              : kind == "min" ? INFINITY
                                              : 0.0);
  // How far apart results of neighbours along each dimension lie; not at all along the axes.
  Strides apart(source.shape().size(), 0);
  int64_t stride = 1, count = 1;
  for (int64_t i = static_cast<int64_t>(apart.size()) - 1; i >= 0; --i) {
    if (llvm::is_contained(axes, i)) {
      count *= source.shape()[i];
      continue;
    }
    apart[i] = stride;
    stride *= source.shape()[i];
  }
  Walk walk(source.shape(), {rowMajor(source.shape()), apart});
  auto combine = [&](auto of) {
    walk.forEachLine([&](Sizes places) {
      const double *from = source.elements.data() + places[0];
      double *to = result.elements.data() + places[1];
      if (walk.lineStride(1) == 0) {
        double total = *to;
        for (int64_t i = 0; i < walk.lineLength(); ++i)
          total = of(total, from[i]);
        *to = total;
      } else {
        for (int64_t i = 0; i < walk.lineLength(); ++i)
          to[i * walk.lineStride(1)] = of(to[i * walk.lineStride(1)], from[i]);
      }
    });
  };
  if (kind == "max")
    combine([](double a, double b) { return maximum(a, b); });
  else if (kind == "min")
    combine([](double a, double b) { return minimum(a, b); });
  else if (kind == "prod")
    combine([](double a, double b) { return a * b; });
  else
    combine([](double a, double b) { return a + b; });
  if (kind == "mean")
    for (double &total : result.elements)
      total /= static_cast<double>(count);
  roundLine(result.elements, type.getElementType());
  return result;
}

bool weir::isMovementOfArrays(Operation *op) {
  return isa<ReshapeOp, TransposeOp, BroadcastToOp, SliceOp, PadOp, ConcatOp, GatherOp>(op);
}

SmallVector<Value> weir::dataOperands(Operation *op) {
  if (auto pad = dyn_cast<PadOp>(op))
    return {pad.getOperand(), pad.getValue()};
  if (isa<ReshapeOp, BroadcastToOp, SliceOp, GatherOp>(op))
    return {op->getOperand(0)};
  return SmallVector<Value>(op->getOperands());
}

bool weir::isEvaluatedOnArrays(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() || !op->getNumOperands() || !isPure(op) ||
      !isArray(op->getResult(0)))
    return false;
  SmallVector<Value> data = dataOperands(op);
  if (data.empty() || !llvm::all_of(data, isArray))
    return false;
  for (Value parameter : op->getOperands().drop_front(isMovementOfArrays(op) ? data.size() : 0))
    if (!llvm::is_contained(data, parameter) && !parameter.getDefiningOp<ConstantOp>())
      return false;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (auto pad = dyn_cast<PadOp>(op))
    return pad.getMode() == PadMode::Constant;
  if (isMovementOfArrays(op))
    return true;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isa<FloatType>(element) &&
           !llvm::is_contained({ReduceKind::Any, ReduceKind::All}, reduce.getKind());
  if (isa<DotGeneralOp>(op))
    return isa<FloatType>(element) && llvm::all_of(data, [](Value value) {
             return isa<FloatType>(getElementTypeOrSelf(value.getType()));
           });
  return isa<ElementwiseOpInterface>(op) && lineOf(op);
}

int64_t weir::stepsOnArrays(Operation *op) {
  auto count = [](Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); };
  int64_t most = count(op->getResult(0));
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    auto left = cast<RankedTensorType>(dot.getLhs().getType());
    for (int64_t axis : dot.getLhsContract())
      most *= left.getDimSize(axis);
    return most;
  }
  for (Value value : dataOperands(op))
    most = std::max(most, count(value));
  return most;
}

std::optional<ConstantArray> weir::evaluateArrays(Operation *op,
                                                  ArrayRef<const ConstantArray *> operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (isMovementOfArrays(op))
    return moved(op, operands, type);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reducedArray(*operands[0], stringifyReduceKind(reduce.getKind()), reduce.getAxes(),
                        type);
  if (auto dot = dyn_cast<DotGeneralOp>(op))
    return multiplied(dot, operands, type);
  return elementwise(op, operands, type);
}

//===- KnownIntegers.cpp - shape computations at compile time -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/KnownIntegers.h"
#include "dialects/weir/ConstantEvaluator.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/SliceBounds.h"
#include "dialects/weir/Training.h"
#include "dialects/weir/Weir.h"
#include <map>

using namespace mlir;
using namespace weir;

namespace {

using Elements = SmallVector<KnownInteger>;

/// Follows definitions upwards. Keeps what it found, so that a value with many
/// uses is followed once; gives up (unknown) beyond a depth that no model's
/// shape arithmetic reaches.
class Follower {
public:
  explicit Follower(SizeOfDimension sizeOf, SizeIsPrefix isPrefix = nullptr)
      : sizeOf(sizeOf), isPrefix(isPrefix) {}

  const std::optional<Elements> &follow(Value tensor) {
    auto it = found.find(tensor.getAsOpaquePointer());
    if (it != found.end())
      return it->second;
    if (depth >= maxDepth)
      return nothing;
    ++depth;
    std::optional<Elements> result = compute(tensor);
    --depth;
    if (result && (int64_t)result->size() > maxKnownIntegers)
      result.reset();
    return found.try_emplace(tensor.getAsOpaquePointer(), std::move(result)).first->second;
  }

private:
  static constexpr int maxDepth = 64;

  std::optional<Elements> compute(Value tensor) {
    auto type = dyn_cast<TensorType>(tensor.getType());
    if (!type || !isa<IntegerType>(type.getElementType()))
      return std::nullopt;
    std::optional<Elements> result = computeFrom(tensor);
    auto shaped = dyn_cast<RankedTensorType>(type);
    if (!shaped || !shaped.hasStaticShape())
      return result;
    // What a file claims may not fit 64 bits.
    int64_t count = shape::sizeProduct(shaped.getShape());
    if (!shape::isKnown(count) || count > maxKnownIntegers)
      return std::nullopt;
    // Their number at least is known.
    if (!result || (int64_t)result->size() != count)
      result = Elements(count);
    return result;
  }

  std::optional<Elements> computeFrom(Value tensor) {
    Operation *op = tensor.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto constant = dyn_cast<ConstantOp>(op))
      return numbers(constant.getValue(), tensor.getType());
    if (auto shapeOf = dyn_cast<ShapeOfOp>(op))
      return sizesOf(shapeOf.getOperand());
    if (isa<ReshapeOp, BitcastOp>(op)) {
      if (isa<BitcastOp>(op) && op->getOperand(0).getType() != tensor.getType())
        return std::nullopt;
      return follow(op->getOperand(0));
    }
    // What stands for another value is not known by the one that it was put around.
    if (auto gate = dyn_cast<GateOp>(op))
      return isReplicaMark(gate) ? std::nullopt : follow(gate.getValue());
    if (auto cast = dyn_cast<CastOp>(op))
      return followCast(cast);
    if (auto concat = dyn_cast<ConcatOp>(op))
      return followConcat(concat);
    if (auto gather = dyn_cast<GatherOp>(op))
      return followGather(gather);
    if (auto slice = dyn_cast<SliceOp>(op))
      return followSlice(slice);
    if (auto broadcast = dyn_cast<BroadcastToOp>(op))
      return followBroadcast(broadcast);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return followReduce(reduce);
    if (auto select = dyn_cast<SelectOp>(op))
      return followSelect(select);
    if (isa<ElementwiseOpInterface>(op))
      return followElementwise(op);
    return evaluated(op);
  }

  std::optional<Elements> numbers(Attribute attribute, Type type) {
    auto values = integersOf(attribute, maxKnownIntegers);
    if (!values)
      return std::nullopt;
    Elements result;
    for (int64_t value : *values)
      result.push_back({value, {}, 0});
    return result;
  }

  std::optional<Elements> sizesOf(Value operand) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      return std::nullopt;
    Elements result;
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      if (ShapedType::isDynamic(size))
        result.push_back(sizeOf ? sizeOf(operand, i)
                                : KnownInteger{std::nullopt, operand, (int64_t)i});
      else
        result.push_back({size, {}, 0});
    }
    return result;
  }

  std::optional<Elements> followCast(CastOp cast) {
    Type from = getElementTypeOrSelf(cast.getOperand().getType());
    if (!isa<IntegerType>(from))
      return evaluated(cast);
    std::optional<Elements> result = follow(cast.getOperand());
    if (!result)
      return std::nullopt;
    unsigned width = getElementTypeOrSelf(cast.getType()).getIntOrFloatBitWidth();
    bool isUnsigned = getElementTypeOrSelf(cast.getType()).isUnsignedInteger();
    for (KnownInteger &element : *result) {
      // Sizes of dimensions fit 32 bits in the models that say so.
      if (element.isSymbol() && width < 32)
        element = {};
      if (!element.value || width >= 64)
        continue;
      int64_t value = *element.value;
      if (width == 1)
        element.value = value != 0;
      else if (isUnsigned ? (value < 0 || (value >> width) != 0)
                          : (value >> (width - 1)) != (value < 0 ? -1 : 0))
        element = {}; // does not fit: left to the run
    }
    return result;
  }

  std::optional<Elements> followConcat(ConcatOp concat) {
    auto type = dyn_cast<RankedTensorType>(concat.getType());
    if (!type || (type.getRank() != 1 && concat.getAxis() != 0))
      return evaluated(concat);
    Elements result;
    for (Value input : concat.getInputs()) {
      const std::optional<Elements> &part = follow(input);
      if (!part)
        return std::nullopt;
      result.append(*part);
    }
    return result;
  }

  std::optional<Elements> followGather(GatherOp gather) {
    auto operandType = dyn_cast<RankedTensorType>(gather.getOperand().getType());
    if (!operandType || operandType.getRank() != 1 || gather.getBatchDims())
      return evaluated(gather);
    std::optional<Elements> operand = follow(gather.getOperand());
    const std::optional<Elements> &indices = follow(gather.getIndices());
    if (!operand || !indices)
      return std::nullopt;
    Elements result;
    int64_t count = operand->size();
    for (const KnownInteger &index : *indices) {
      int64_t i = index.value.value_or(-count - 1);
      if (i < 0 && gather.getWrapNegative())
        i += count;
      result.push_back(i >= 0 && i < count ? (*operand)[i] : KnownInteger());
    }
    return result;
  }

  std::optional<Elements> followSlice(SliceOp slice) {
    auto operandType = dyn_cast<RankedTensorType>(slice.getOperand().getType());
    if (!operandType || operandType.getRank() != 1 || slice.getAxes().size() != 1)
      return evaluated(slice);
    std::optional<Elements> operand = follow(slice.getOperand());
    std::optional<int64_t> start = single(slice.getStarts()), end = single(slice.getEnds()),
                           step = single(slice.getSteps());
    if (!operand || !start || !end || !step || *step == 0)
      return std::nullopt;
    SliceBounds bounds = clampSlice(*start, *end, *step, operand->size());
    Elements result;
    for (int64_t i = 0; i < bounds.count; ++i)
      result.push_back((*operand)[bounds.start + i * *step]);
    return result;
  }

  std::optional<Elements> followBroadcast(BroadcastToOp broadcast) {
    std::optional<Elements> operand = follow(broadcast.getOperand());
    auto type = dyn_cast<RankedTensorType>(broadcast.getType());
    if (!operand || !type || !type.hasStaticShape() || type.getNumElements() > maxKnownIntegers)
      return std::nullopt;
    if (operand->size() == 1)
      return Elements(type.getNumElements(), (*operand)[0]);
    return type.getRank() == 1 ? operand : evaluated(broadcast);
  }

  std::optional<Elements> followReduce(ReduceOp reduce) {
    auto type = dyn_cast<RankedTensorType>(reduce.getOperand().getType());
    ReduceKind kind = reduce.getKind();
    if (!type || type.getRank() != (int64_t)reduce.getAxes().size() || !combines(kind))
      return evaluated(reduce);
    const std::optional<Elements> &operand = follow(reduce.getOperand());
    if (!operand || operand->empty())
      return std::nullopt;
    KnownInteger result = {kind == ReduceKind::Prod ? 1 : 0, {}, 0};
    if (kind == ReduceKind::Max || kind == ReduceKind::Min)
      result = operand->front();
    for (const KnownInteger &element : *operand)
      result = combine(mnemonicOfStep(kind), result, element);
    return Elements{result};
  }

  std::optional<Elements> followSelect(SelectOp select) {
    const std::optional<Elements> condition = follow(select.getCondition());
    const std::optional<Elements> a = follow(select.getOnTrue());
    const std::optional<Elements> b = follow(select.getOnFalse());
    if (!condition || !a || !b)
      return std::nullopt;
    auto count = elementwiseCount({&*condition, &*a, &*b});
    if (!count || !areAligned(select))
      return std::nullopt;
    Elements result;
    for (int64_t i = 0; i < *count; ++i) {
      KnownInteger c = at(*condition, i), x = at(*a, i), y = at(*b, i);
      if (c.value)
        result.push_back(*c.value ? x : y);
      else
        result.push_back(x == y || isSizeOrPart(select, i, x, y) ? y : KnownInteger());
    }
    return result;
  }

  /// Whether element `i` of `select` is `whole` either way, as it is of `whole == 1 ? part : whole`
  /// with a prefix: where `whole` is 1, `part` has no other size. ONNX's Expand asks so.
  bool isSizeOrPart(SelectOp select, int64_t i, const KnownInteger &part,
                    const KnownInteger &whole) {
    auto compare = select.getCondition().getDefiningOp<CompareOp>();
    if (!isPrefix || !compare || compare.getPredicate() != "eq" || !isPrefix(part, whole))
      return false;
    const std::optional<Elements> size = follow(compare.getLhs());
    const std::optional<Elements> one = follow(compare.getRhs());
    return size && one && at(*size, i) == whole && at(*one, i).value == 1;
  }

  std::optional<Elements> followElementwise(Operation *op) {
    if (op->getNumOperands() == 1) {
      if (!(isa<NegOp, AbsOp>(op) || op->hasTrait<traits::RoundsToIntegral>()) ||
          !isa<IntegerType>(getElementTypeOrSelf(op->getOperand(0).getType())))
        return evaluated(op);
      std::optional<Elements> result = follow(op->getOperand(0));
      if (!result)
        return std::nullopt;
      for (KnownInteger &element : *result) {
        if (isa<AbsOp>(op) && element.value)
          element.value = std::abs(*element.value);
        else if (isa<NegOp>(op))
          element = element.value ? KnownInteger{-*element.value, {}, 0} : KnownInteger();
      }
      return result;
    }
    if (op->getNumOperands() != 2 ||
        !isa<IntegerType>(getElementTypeOrSelf(op->getOperand(0).getType())))
      return evaluated(op);
    // Nothing is said of what these give. Generators of random numbers have hundreds in a row.
    if (isa<XorOp, ShlOp, ShrOp>(op))
      return std::nullopt;
    const std::optional<Elements> a = follow(op->getOperand(0));
    const std::optional<Elements> b = follow(op->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    auto count = elementwiseCount({&*a, &*b});
    if (!count || !areAligned(op))
      return std::nullopt;
    StringRef kind = op->getName().stripDialect();
    if (auto compare = dyn_cast<CompareOp>(op))
      kind = compare.getPredicate();
    Elements result;
    for (int64_t i = 0; i < *count; ++i)
      result.push_back(combine(kind, at(*a, i), at(*b, i)));
    return result;
  }

  /// Whether operands of several elements meet element by element: those of a column and a row
  /// are as many, and meet each with each.
  bool areAligned(Operation *op) {
    std::optional<SmallVector<int64_t>> common;
    for (Value operand : op->getOperands()) {
      if (follow(operand)->size() == 1)
        continue;
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type)
        return false;
      ArrayRef<int64_t> shape = type.getShape().drop_while([](int64_t d) { return d == 1; });
      // Of one dimension the count says all.
      SmallVector<int64_t> own(shape);
      if (own.size() == 1)
        own[0] = ShapedType::kDynamic;
      else if (!type.hasStaticShape())
        return false;
      if (common && *common != own)
        return false;
      common = own;
    }
    return true;
  }

  /// Equal counts, or single elements that are repeated.
  static std::optional<int64_t> elementwiseCount(std::initializer_list<const Elements *> operands) {
    std::optional<int64_t> count;
    for (const Elements *operand : operands) {
      int64_t own = operand->size();
      if (!count || *count == 1)
        count = own;
      else if (own != *count && own != 1)
        return std::nullopt;
    }
    return count;
  }
  static KnownInteger at(const Elements &elements, int64_t i) {
    return elements[elements.size() == 1 ? 0 : i];
  }

  static KnownInteger combine(StringRef kind, const KnownInteger &a, const KnownInteger &b) {
    if (a.value && b.value) {
      std::optional<int64_t> value = compute(kind, *a.value, *b.value);
      return value ? KnownInteger{*value, {}, 0} : KnownInteger();
    }
    // What leaves a size as it is, and what absorbs it.
    auto is = [](const KnownInteger &x, int64_t v) { return x.value == v; };
    if (kind == "mul") {
      if (is(a, 0) || is(b, 0))
        return {0, {}, 0};
      return is(a, 1) ? b : is(b, 1) ? a : KnownInteger();
    }
    if (kind == "add")
      return is(a, 0) ? b : is(b, 0) ? a : KnownInteger();
    if (kind == "sub")
      return is(b, 0) ? a : a.isSymbol() && a == b ? KnownInteger{0, {}, 0} : KnownInteger();
    if (kind == "div" || kind == "floor_div")
      return is(b, 1) ? a : KnownInteger();
    if (kind == "maximum") {
      // Sizes are never negative.
      if (a.isSymbol() && b.value && *b.value <= 0)
        return a;
      if (b.isSymbol() && a.value && *a.value <= 0)
        return b;
      return a.isSymbol() && a == b ? a : KnownInteger();
    }
    if (kind == "minimum")
      return a.isSymbol() && a == b ? a : KnownInteger();
    if (kind == "eq" || kind == "ne") {
      bool equal = kind == "eq";
      if (a.isSymbol() && a == b)
        return {equal, {}, 0};
      if ((a.isSymbol() && b.value && *b.value < 0) || (b.isSymbol() && a.value && *a.value < 0))
        return {!equal, {}, 0};
    }
    return {};
  }

  static std::optional<int64_t> compute(StringRef kind, int64_t a, int64_t b) {
    int64_t value;
    if (kind == "add")
      return __builtin_add_overflow(a, b, &value) ? std::nullopt : std::optional(value);
    if (kind == "sub")
      return __builtin_sub_overflow(a, b, &value) ? std::nullopt : std::optional(value);
    if (kind == "mul")
      return __builtin_mul_overflow(a, b, &value) ? std::nullopt : std::optional(value);
    if (kind == "maximum")
      return std::max(a, b);
    if (kind == "minimum")
      return std::min(a, b);
    if (kind == "eq")
      return a == b;
    if (kind == "ne")
      return a != b;
    if (kind == "lt")
      return a < b;
    if (kind == "le")
      return a <= b;
    if (kind == "gt")
      return a > b;
    if (kind == "ge")
      return a >= b;
    if (kind == "and")
      return a & b;
    if (kind == "or")
      return a | b;
    if (b == 0 || b == -1)
      return kind == "div" && b == -1 && a != INT64_MIN ? std::optional(-a) : std::nullopt;
    if (kind == "div")
      return a / b;
    if (kind == "rem")
      return a % b;
    if (kind == "floor_div")
      return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
    if (kind == "floor_mod")
      return a % b + ((a % b != 0 && (a % b < 0) != (b < 0)) ? b : 0);
    return std::nullopt;
  }

  std::optional<int64_t> single(Value tensor) {
    const std::optional<Elements> &elements = follow(tensor);
    if (!elements || elements->size() != 1)
      return std::nullopt;
    return elements->front().value;
  }

  /// Any other operation, when all of its operands are constants.
  std::optional<Elements> evaluated(Operation *op) {
    if (op->getNumResults() != 1)
      return std::nullopt;
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands()) {
      Attribute attribute;
      if (auto constant = operand.getDefiningOp<ConstantOp>())
        attribute = constant.getValue();
      else if (auto elements = known(operand))
        attribute = elements;
      else
        return std::nullopt;
      operands.push_back(attribute);
    }
    auto results = evaluateConstants(op, operands);
    if (!results)
      return std::nullopt;
    return numbers((*results)[0], op->getResult(0).getType());
  }

  /// A value that is wholly known, as a constant.
  Attribute known(Value tensor) {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    const std::optional<Elements> &elements = follow(tensor);
    if (!type || !type.hasStaticShape() || !elements)
      return {};
    return integerElements(type, *elements);
  }

public:
  static DenseElementsAttr integerElements(RankedTensorType type, ArrayRef<KnownInteger> elements) {
    SmallVector<APInt> values;
    unsigned width = type.getElementTypeBitWidth();
    for (const KnownInteger &element : elements) {
      if (!element.value)
        return {};
      values.push_back(APInt(width, *element.value, /*isSigned=*/true,
                             /*implicitTrunc=*/true));
    }
    return DenseElementsAttr::get(type, values);
  }

private:
  SizeOfDimension sizeOf;
  SizeIsPrefix isPrefix;
  const std::optional<Elements> nothing;
  /// Node-based, as references to its values are held while it grows.
  std::map<const void *, std::optional<Elements>> found;
  int depth = 0;
};

} // namespace

std::optional<SmallVector<KnownInteger>> weir::followIntegers(Value tensor, SizeOfDimension sizeOf,
                                                              SizeIsPrefix isPrefix) {
  if (!tensor)
    return std::nullopt;
  return Follower(sizeOf, isPrefix).follow(tensor);
}

std::optional<SmallVector<std::optional<int64_t>>> weir::knownIntegers(Value tensor) {
  auto elements = followIntegers(tensor);
  if (!elements)
    return std::nullopt;
  SmallVector<std::optional<int64_t>> result;
  for (const KnownInteger &element : *elements)
    result.push_back(element.value);
  return result;
}

std::optional<SmallVector<int64_t>> weir::constantIntegers(Value tensor) {
  if (!tensor)
    return std::nullopt;
  // One number of a file may stand for any number of elements.
  constexpr int64_t mostListed = int64_t(1) << 22;
  if (auto constant = tensor.getDefiningOp<ConstantOp>())
    return integersOf(constant.getValue(), mostListed);
  auto elements = followIntegers(tensor);
  if (!elements)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (const KnownInteger &element : *elements) {
    if (!element.value)
      return std::nullopt;
    result.push_back(*element.value);
  }
  return result;
}

Attribute weir::knownConstant(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || !type.hasStaticShape() || !isa<IntegerType>(type.getElementType()))
    return {};
  auto elements = followIntegers(tensor);
  return elements ? Follower::integerElements(type, *elements) : DenseElementsAttr();
}

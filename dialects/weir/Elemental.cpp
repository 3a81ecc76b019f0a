//===- Elemental.cpp - how operations compute single elements -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Elemental.h"
#include "dialects/weir/ComparisonKey.h"
#include "dialects/weir/Exponentials.h"
#include "dialects/weir/KeptSizes.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;

ElementReader::~ElementReader() = default;

template <typename Op> Value ElementReader::arithmetic(ValueRange operands) {
  EmittedValues::Key key(mlir::TypeID::get<Op>().getAsOpaquePointer());
  key.add(operands);
  if (Value known = emitted.find(key, b))
    return known;
  Value made = b.createOrFold<Op>(loc, operands.front().getType(), operands);
  emitted.insert(key, made);
  return made;
}

Value ElementReader::constant(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}
Value ElementReader::add(Value x, Value y) { return arithmetic<arith::AddIOp>({x, y}); }
Value ElementReader::sub(Value x, Value y) { return arithmetic<arith::SubIOp>({x, y}); }
Value ElementReader::mul(Value x, Value y) { return arithmetic<arith::MulIOp>({x, y}); }
Value ElementReader::divide(Value x, Value y) { return arithmetic<arith::DivUIOp>({x, y}); }
Value ElementReader::remainder(Value x, Value y) {
  if (matchPattern(y, m_One()))
    return constant(0);
  return arithmetic<arith::RemUIOp>({x, y});
}
Value ElementReader::minimum(Value x, Value y) { return arithmetic<arith::MinSIOp>({x, y}); }
Value ElementReader::maximum(Value x, Value y) { return arithmetic<arith::MaxSIOp>({x, y}); }
EmittedValues::Key weir::comparisonKey(arith::CmpIPredicate predicate, Value x, Value y) {
  static const char kinds[16] = {};
  return EmittedValues::Key(&kinds[(unsigned)predicate]).add(x).add(y);
}
Value ElementReader::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  EmittedValues::Key key = comparisonKey(predicate, x, y);
  if (Value known = emitted.find(key, b))
    return known;
  Value made = b.createOrFold<arith::CmpIOp>(loc, predicate, x, y);
  emitted.insert(key, made);
  return made;
}
Value ElementReader::less(Value x, Value y) { return compare(arith::CmpIPredicate::slt, x, y); }
Value ElementReader::equal(Value x, Value y) { return compare(arith::CmpIPredicate::eq, x, y); }
Value ElementReader::select(Value condition, Value x, Value y) {
  // Constants are equal by value: nothing hangs on the condition then.
  APInt first, second;
  if (matchPattern(x, m_ConstantInt(&first)) && matchPattern(y, m_ConstantInt(&second)) &&
      first == second)
    return x;
  static const char kind = 0;
  EmittedValues::Key key(&kind);
  key.add(condition).add(x).add(y);
  if (Value known = emitted.find(key, b))
    return known;
  Value made = b.createOrFold<arith::SelectOp>(loc, condition, x, y);
  emitted.insert(key, made);
  return made;
}
Value ElementReader::logicalAnd(Value x, Value y) { return arithmetic<arith::AndIOp>({x, y}); }

Value ElementReader::safeIndex(Operation *op, Value index, Value size) {
  Value ok = compare(arith::CmpIPredicate::ult, index, size);
  if (matchPattern(ok, m_One()))
    return index;
  require(op, ok, "index {0} is outside of [0, {1})", WEIR_INVALID_ARGUMENT, index, size);
  return select(ok, index, constant(0));
}

Value ElementReader::elementAsIndex(Value tensor, ValueRange indices) {
  Value value = element(tensor, indices);
  if (getElementTypeOrSelf(tensor.getType()).isUnsignedInteger())
    return b.createOrFold<arith::IndexCastUIOp>(loc, b.getIndexType(), value);
  return b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), value);
}

SmallVector<Value> ElementReader::dims(Value tensor) {
  SmallVector<Value> result;
  for (int64_t i = 0; i < cast<RankedTensorType>(tensor.getType()).getRank(); ++i)
    result.push_back(dim(tensor, i));
  return result;
}

SmallVector<Value>
weir::emitReductionLoops(ElementReader &r, ArrayRef<Value> sizes, ValueRange inits,
                         function_ref<SmallVector<Value>(ValueRange, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(r.b);
  SmallVector<Value> indices;
  SmallVector<scf::ForOp> loops;
  ValueRange carried = inits;
  Value zero = r.constant(0), one = r.constant(1);
  for (Value size : sizes) {
    auto loop = scf::ForOp::create(r.b, r.loc, zero, size, one, carried);
    loops.push_back(loop);
    indices.push_back(loop.getInductionVar());
    carried = loop.getRegionIterArgs();
    r.b.setInsertionPointToStart(loop.getBody());
  }
  SmallVector<Value> next = body(indices, carried);
  for (scf::ForOp loop : llvm::reverse(loops)) {
    r.b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(r.b, r.loc, next);
    next.assign(loop.result_begin(), loop.result_end());
  }
  return next;
}

Value weir::emitReductionLoops(ElementReader &r, ArrayRef<Value> sizes, Value init,
                               function_ref<Value(ValueRange, Value)> body) {
  return emitReductionLoops(r, sizes, ValueRange{init},
                            [&](ValueRange indices, ValueRange carried) -> SmallVector<Value> {
                              return {body(indices, carried[0])};
                            })[0];
}

Value weir::emitIf(ElementReader &r, Value condition, function_ref<Value()> onTrue,
                   function_ref<Value()> onFalse) {
  if (matchPattern(condition, m_One()))
    return onTrue();
  if (matchPattern(condition, m_Zero()))
    return onFalse();
  OpBuilder::InsertionGuard guard(r.b);
  // The result type is known once the first region has been emitted, which
  // needs an operation around it: emit into a scratch scf.if and rebuild it.
  auto before = r.b.saveInsertionPoint();
  auto scratch = scf::IfOp::create(r.b, r.loc, TypeRange{}, condition, true);
  r.b.setInsertionPointToStart(&scratch.getThenRegion().front());
  Value a = onTrue();
  r.b.setInsertionPointToStart(&scratch.getElseRegion().front());
  Value c = onFalse();
  r.b.restoreInsertionPoint(before);
  r.b.setInsertionPoint(scratch);
  auto result = scf::IfOp::create(r.b, r.loc, TypeRange{a.getType()}, condition, true);
  auto move = [&](Block &from, Block &to, Value value) {
    if (!from.empty() && from.back().hasTrait<OpTrait::IsTerminator>())
      from.back().erase();
    if (!to.empty() && to.back().hasTrait<OpTrait::IsTerminator>())
      to.back().erase();
    to.getOperations().splice(to.end(), from.getOperations());
    r.b.setInsertionPointToEnd(&to);
    scf::YieldOp::create(r.b, r.loc, value);
  };
  move(scratch.getThenRegion().front(), result.getThenRegion().front(), a);
  move(scratch.getElseRegion().front(), result.getElseRegion().front(), c);
  scratch.erase();
  return result.getResult(0);
}

Type weir::computeType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Type weir::accumulatorType(Type element) {
  if (auto type = dyn_cast<FloatType>(element))
    if (type.getWidth() < 32)
      return Float32Type::get(element.getContext());
  return element;
}

//===----------------------------------------------------------------------===//
// What the rows of the elementwise table share
//===----------------------------------------------------------------------===//

int64_t weir::detail::elementCountOfResults(Operation *op) {
  int64_t count = 0;
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return -1;
    count += tensor.getNumElements();
  }
  return count;
}

bool weir::detail::areCompatibleTypes(TypeRange lhs, TypeRange rhs) {
  if (lhs.size() != rhs.size())
    return false;
  for (auto [l, r] : llvm::zip(lhs, rhs))
    if (getElementTypeOrSelf(l) != getElementTypeOrSelf(r) || failed(verifyCompatibleShape(l, r)))
      return false;
  return true;
}

LogicalResult weir::detail::inferBroadcast(std::optional<Location> loc, ValueRange operands,
                                           Type element, SmallVectorImpl<Type> &types) {
  if (operands.empty())
    return emitOptionalError(loc, "there are no operands");
  if (!element)
    element = getElementTypeOrSelf(operands[0].getType());
  SmallVector<int64_t> shape;
  for (Value operand : operands) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type) {
      types.push_back(UnrankedTensorType::get(element));
      return success();
    }
    if ((int64_t)shape.size() < type.getRank())
      shape.insert(shape.begin(), type.getRank() - shape.size(), 1);
    int64_t offset = shape.size() - type.getRank();
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      int64_t &known = shape[offset + i];
      if (size == known || size == 1)
        continue;
      if (known == 1)
        known = size;
      else if (ShapedType::isDynamic(known))
        known = size;
      else if (!ShapedType::isDynamic(size))
        return emitOptionalError(loc, "operands do not broadcast: dimension ", offset + i, " is ",
                                 known, " and ", size);
    }
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

Type weir::detail::realType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (auto complexType = dyn_cast<ComplexType>(element))
    return complexType.getElementType();
  return element;
}

bool weir::keepsOpenSizes(Operation *op) {
  if (op->hasAttr(equalSizesAttribute))
    return true;
  // One operand alone has the open sizes.
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  bool isFound = false;
  for (Value operand : op->getOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    int64_t missing = result.getRank() - type.getRank();
    bool hasOpen = false;
    for (int64_t i = 0; i < type.getRank(); ++i) {
      if (type.isDynamicDim(i) && !result.isDynamicDim(i + missing))
        return false;
      hasOpen |= result.isDynamicDim(i + missing) && type.getDimSize(i) != 1;
    }
    if (hasOpen && isFound)
      return false;
    isFound |= hasOpen;
  }
  return true;
}

bool weir::hasSizesOf(Value value, Value origin) {
  auto shapeOf = [](Value v) { return cast<RankedTensorType>(v.getType()).getShape(); };
  // Paths part and meet again: each value once.
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] == origin)
      return true;
    Operation *op = reached[i].getDefiningOp();
    if (!isa_and_nonnull<ElementwiseOpInterface>(op))
      continue;
    bool isStatic = cast<RankedTensorType>(reached[i].getType()).hasStaticShape();
    for (Value operand : op->getOperands())
      if ((isStatic || keepsOpenSizes(op)) && shapeOf(operand) == shapeOf(value))
        reached.insert(operand);
  }
  return false;
}

bool weir::keepsSizesOf(Operation *op, Value operand) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (operand.getType() != type)
    return false;
  if (type.hasStaticShape() || keepsOpenSizes(op))
    return true;
  return llvm::all_of(op->getOperands(), [&](Value other) {
    auto sizes = cast<RankedTensorType>(other.getType()).getShape();
    return llvm::all_of(sizes, [](int64_t size) { return size == 1; }) ||
           hasSizesOf(other, operand) || hasSizesOf(operand, other);
  });
}

Value weir::detail::broadcastElement(ElementReader &r, Value operand, ValueRange indices,
                                     bool keepsSizes) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<Value> own;
  ValueRange trailing = indices.take_back(type.getRank());
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (size == 1)
      own.push_back(r.constant(0));
    else if (ShapedType::isDynamic(size) && !keepsSizes) // may turn out to be 1
      own.push_back(
          r.select(r.equal(r.dim(operand, i), r.constant(1)), r.constant(0), trailing[i]));
    else
      own.push_back(trailing[i]);
  }
  return r.element(operand, own);
}

/// An index of `result` as the operation behind it had it, before it asked whether `result`
/// stretches along dimension `i`. Where it does, so do the operands of an elementwise operation:
/// each asks for itself, and all that lead to one operand ask for the same element.
static Value beforeStretch(ElementReader &r, Value index, Value result, unsigned i) {
  auto choice = index.getDefiningOp<arith::SelectOp>();
  auto isOne = choice ? choice.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!isOne || isOne.getPredicate() != arith::CmpIPredicate::eq ||
      !matchPattern(choice.getTrueValue(), m_Zero()) || !matchPattern(isOne.getRhs(), m_One()) ||
      isOne.getLhs() != r.dim(result, i))
    return index;
  return choice.getFalseValue();
}

Value weir::detail::emitElementwise(Operation *op, ElementReader &r, ValueRange place) {
  SmallVector<Value> args, indices(place);
  bool keepsSizes = keepsOpenSizes(op);
  if (!keepsSizes)
    for (auto [i, index] : llvm::enumerate(indices))
      index = beforeStretch(r, index, op->getResult(0), i);
  Type first = getElementTypeOrSelf(op->getOperand(0).getType());
  Type resultType = getElementTypeOrSelf(op->getResult(0).getType());
  ScalarBuilder s(r, op, first);
  bool convert = isa<CastOp>(op);
  for (Value operand : op->getOperands()) {
    Value value = broadcastElement(r, operand, indices, keepsSizes);
    Type type = getElementTypeOrSelf(operand.getType());
    if (auto floatType = dyn_cast<FloatType>(type))
      if (floatType.getWidth() < 32 && !convert)
        value = s.cast(value, type, r.b.getF32Type(), false);
    args.push_back(value);
  }
  Value result = cast<ElementwiseOpInterface>(op).emitScalar(s, args);
  if (auto exp = result.getDefiningOp<math::ExpOp>(); exp && op->hasAttr(ofSoftmaxAttribute))
    exp->setAttr(ofSoftmaxAttribute, op->getAttr(ofSoftmaxAttribute));
  if (auto floatType = dyn_cast<FloatType>(resultType))
    if (floatType.getWidth() < 32 && !convert)
      result = s.cast(result, r.b.getF32Type(), resultType, false);
  return result;
}

LogicalResult weir::detail::reifyBroadcast(Operation *op, ElementReader &r,
                                           SmallVectorImpl<Value> &dims) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t i = 0; i < result.getRank(); ++i) {
    if (!result.isDynamicDim(i)) {
      Value size = r.constant(result.getDimSize(i));
      dims.push_back(size);
      // What a type leaves open must go with what another one says.
      for (Value operand : op->getOperands()) {
        auto type = cast<RankedTensorType>(operand.getType());
        int64_t own = i - (result.getRank() - type.getRank());
        if (own < 0 || !type.isDynamicDim(own))
          continue;
        Value next = r.dim(operand, own);
        Value ok = r.b.createOrFold<arith::OrIOp>(r.loc, r.equal(next, size),
                                                  r.equal(next, r.constant(1)));
        if (!matchPattern(ok, m_One()))
          r.require(op, ok, "operands do not broadcast: sizes {0} and {1}", WEIR_INVALID_ARGUMENT,
                    next, size);
      }
      continue;
    }
    // Where two operands both leave the size open they must agree, or one is 1.
    Value size;
    for (Value operand : op->getOperands()) {
      auto type = cast<RankedTensorType>(operand.getType());
      int64_t own = i - (result.getRank() - type.getRank());
      if (own < 0 || type.getDimSize(own) == 1)
        continue;
      Value next = r.dim(operand, own);
      if (!size) {
        size = next;
        continue;
      }
      if (size == next)
        continue;
      Value isOne = r.equal(size, r.constant(1));
      Value nextIsOne = r.equal(next, r.constant(1));
      Value ok = r.b.createOrFold<arith::OrIOp>(
          r.loc, r.equal(size, next), r.b.createOrFold<arith::OrIOp>(r.loc, isOne, nextIsOne));
      r.require(op, ok, "operands do not broadcast: sizes {0} and {1}", WEIR_INVALID_ARGUMENT, size,
                next);
      size = r.select(isOne, next, size);
    }
    dims.push_back(size);
  }
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (!combines(getKind()))
    return emitOpError("unknown kind of reduction '") << stringifyReduceKind(getKind()) << "'";
  Type element = getElementTypeOrSelf(getType());
  if (llvm::any_of(getInputs(),
                   [&](Value input) { return getElementTypeOrSelf(input.getType()) != element; }))
    return emitOpError("reduces tensors of several element types");
  return success();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value CastOp::emitElement(ElementReader &reader, unsigned, ValueRange indices) {
  return weir::detail::emitElementwise(*this, reader, indices);
}
Value CastOp::emitScalar(ScalarBuilder &s, ValueRange args) {
  return s.cast(args[0], getElementTypeOrSelf(getOperand().getType()),
                getElementTypeOrSelf(getType()), getSaturate());
}
LogicalResult CastOp::reifyShape(ElementReader &reader, unsigned, SmallVectorImpl<Value> &dims) {
  return weir::detail::reifyBroadcast(*this, reader, dims);
}

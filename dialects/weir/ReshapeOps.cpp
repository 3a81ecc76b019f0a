//===- ReshapeOps.cpp - shapes, reshape, transpose, tile ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/KnownIntegers.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

//===----------------------------------------------------------------------===//
// shape_of
//===----------------------------------------------------------------------===//

LogicalResult ShapeOfOp::inferReturnTypes(MLIRContext *, OptionalLocation, Adaptor adaptor,
                                          Types &types) {
  auto type = ranked(adaptor.getOperand());
  return inferred(types, {type ? type.getRank() : unknown}, adaptor.getIndexType());
}

Value ShapeOfOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  int64_t rank = ranked(getOperand()).getRank();
  Type element = getElementTypeOrSelf(getType());
  APInt index;
  if (matchPattern(indices[0], m_ConstantInt(&index)) && index.ult(rank))
    return indexTo(r, *this, r.dim(getOperand(), index.getZExtValue()), element);
  Value size = r.constant(0);
  for (int64_t i = 0; i < rank; ++i)
    size = r.select(r.equal(indices[0], r.constant(i)), r.dim(getOperand(), i), size);
  return indexTo(r, *this, size, element);
}

LogicalResult ShapeOfOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  dims.push_back(r.constant(ranked(getOperand()).getRank()));
  return success();
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

/// Removes the sizes that occur in both lists: what is left must be equal, too.
static void cancel(SmallVectorImpl<KnownInteger> &a, SmallVectorImpl<KnownInteger> &b) {
  for (size_t i = 0; i < a.size();) {
    auto *it = a[i].isSymbol() ? llvm::find(b, a[i]) : b.end();
    if (it == b.end()) {
      ++i;
      continue;
    }
    b.erase(it);
    a.erase(a.begin() + i);
  }
}

static SmallVector<KnownInteger> sizesAsIntegers(Value tensor) {
  SmallVector<KnownInteger> result;
  for (auto [i, size] : llvm::enumerate(ranked(tensor).getShape())) {
    if (isKnown(size))
      result.push_back({size, {}, 0});
    else
      result.push_back({std::nullopt, tensor, (int64_t)i});
  }
  return result;
}

/// The product of the sizes that are numbers; `unknown` where it does not fit.
static int64_t knownProduct(ArrayRef<KnownInteger> sizes) {
  Sizes numbers;
  for (const KnownInteger &size : sizes)
    if (size.value)
      numbers.push_back(*size.value);
  return sizeProduct(numbers);
}

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                          Types &types) {
  Value operand = adaptor.getOperand();
  Type element = elementOf(operand);
  auto wanted = followIntegers(adaptor.getShape());
  if (!wanted) {
    int64_t count = entryCount(adaptor.getShape());
    // A file may claim any number of dimensions.
    constexpr int64_t most = 1 << 10;
    if (isKnown(count) && count > most)
      return emitOptionalError(loc, "expected a shape of at most ", most, " dimensions, got ",
                               count);
    if (!isKnown(count))
      return inferredUnranked(types, element);
    return inferred(types, Sizes(count, unknown), element);
  }
  // An entry that is open, or -1, follows from the others when it is the only
  // one. Sizes that stay open in both shapes cancel.
  Sizes shape;
  SmallVector<KnownInteger> others;
  int64_t open = -1, opens = 0, derived = 0;
  for (auto [i, size] : llvm::enumerate(*wanted)) {
    bool derive = size.value == -1;
    derived += derive;
    if (size.value && *size.value < -1)
      return emitOptionalError(loc, "shape has a negative size ", *size.value, " for dimension ",
                               i);
    shape.push_back(derive ? unknown : size.value.value_or(unknown));
    if (derive || (!size.value && !size.isSymbol())) {
      open = i;
      ++opens;
    } else {
      others.push_back(size);
    }
  }
  if (derived > 1)
    return emitOptionalError(loc, "shape leaves ", derived,
                             " dimensions to derive, at most 1 can be");
  auto operandType = ranked(operand);
  if (!operandType)
    return inferred(types, shape, element);
  SmallVector<KnownInteger> sizes = sizesAsIntegers(operand);
  cancel(sizes, others);
  auto multiply = [](ArrayRef<KnownInteger> list) {
    Sizes values;
    for (const KnownInteger &size : list)
      values.push_back(size.value.value_or(unknown));
    return sizeProduct(values);
  };
  int64_t have = multiply(sizes), rest = multiply(others);
  if (opens == 0 && isKnown(have) && isKnown(rest) && have != rest)
    return emitOptionalError(loc, "cannot reshape ", shapeText(operandType.getShape()), " to ",
                             shapeText(shape), ": element counts differ");
  if (opens == 1 && isKnown(have) && isKnown(rest)) {
    if (rest == 0 ? have != 0 || derived : have % rest != 0)
      return emitOptionalError(loc, "cannot reshape ", shapeText(operandType.getShape()), " to ",
                               shapeText(shape), ": no size of dimension ", open, " fits");
    if (rest != 0)
      shape[open] = have / rest;
  }
  // One size that is open only by name: a symbol of another tensor.
  if (opens == 0 && isKnown(have) && rest == unknown && have != 0) {
    int64_t symbol = -1, symbols = 0;
    for (auto [i, size] : llvm::enumerate(*wanted))
      if (size.isSymbol() && llvm::is_contained(others, size)) {
        symbol = i;
        ++symbols;
      }
    int64_t known = knownProduct(others);
    if (symbols == 1 && isKnown(known) && known != 0 && have % known == 0 &&
        sizes.size() == (size_t)operandType.getRank())
      shape[symbol] = have / known;
  }
  return inferred(types, shape, element);
}

namespace {
/// Dimensions [operandBegin, operandEnd) of the operand hold the same elements
/// as [resultBegin, resultEnd) of the result.
struct Group {
  int64_t operandBegin, operandEnd, resultBegin, resultEnd;
};
} // namespace

/// Splits a reshape into as small groups of dimensions as can be told apart.
static SmallVector<Group> groupDimensions(ArrayRef<KnownInteger> operand,
                                          ArrayRef<KnownInteger> result) {
  SmallVector<Group> groups;
  int64_t i = 0, j = 0, m = operand.size(), n = result.size();
  while (i < m || j < n) {
    Group group{i, i, j, j};
    int64_t countA = 1, countB = 1;
    SmallVector<KnownInteger> symbolsA, symbolsB;
    auto take = [](const KnownInteger &size, int64_t &count,
                   SmallVectorImpl<KnownInteger> &symbols) {
      if (size.value)
        count = sizeProduct({count, std::max<int64_t>(*size.value, 1)});
      else
        symbols.push_back(size);
    };
    auto takeOperand = [&] { take(operand[i++], countA, symbolsA); };
    auto takeResult = [&] { take(result[j++], countB, symbolsB); };
    // A dimension of size 1 goes by itself.
    if (i < m && operand[i].value == 1) {
      ++i;
    } else if (j < n && result[j].value == 1) {
      ++j;
    } else {
      if (i < m)
        takeOperand();
      if (j < n)
        takeResult();
      while (true) {
        cancel(symbolsA, symbolsB);
        if (symbolsA.empty() && symbolsB.empty() && countA == countB)
          break;
        bool more = symbolsA.empty() ? symbolsB.empty() && countB < countA
                                     : symbolsB.empty() || countB < countA;
        // `more`: the operand's side holds more, so the result's must grow.
        if (more ? j < n : i >= m && j < n)
          takeResult();
        else if (i < m)
          takeOperand();
        else
          break;
      }
    }
    group.operandEnd = i;
    group.resultEnd = j;
    groups.push_back(group);
  }
  return groups;
}

Value ReshapeOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  SmallVector<KnownInteger> operandSizes = sizesAsIntegers(getOperand());
  SmallVector<KnownInteger> resultSizes = sizesAsIntegers(getResult());
  // Which open sizes of the result are sizes of the operand.
  if (auto wanted = followIntegers(getShape()); wanted && wanted->size() == resultSizes.size())
    for (auto [size, entry] : llvm::zip(resultSizes, *wanted))
      if (!size.value && entry.isSymbol() && entry.tensor == getOperand())
        size = entry;
  // With one left on each side, and equal counts otherwise, they are the same.
  auto isOpen = [](const KnownInteger &size) { return !size.value; };
  if (llvm::count_if(operandSizes, isOpen) == 1 && llvm::count_if(resultSizes, isOpen) == 1 &&
      knownProduct(operandSizes) == knownProduct(resultSizes) &&
      isKnown(knownProduct(operandSizes)) && knownProduct(operandSizes) != 0)
    *llvm::find_if(resultSizes, isOpen) = *llvm::find_if(operandSizes, isOpen);

  SmallVector<Value> own(operandSizes.size(), r.constant(0));
  for (Group group : groupDimensions(operandSizes, resultSizes)) {
    SmallVector<int64_t> from, to;
    for (int64_t i = group.operandBegin; i < group.operandEnd; ++i)
      if (operandSizes[i].value != 1)
        from.push_back(i);
    for (int64_t j = group.resultBegin; j < group.resultEnd; ++j)
      if (resultSizes[j].value != 1)
        to.push_back(j);
    if (from.empty())
      continue;
    Value linear = r.constant(0);
    for (auto [k, j] : llvm::enumerate(to))
      linear = k == 0 ? Value(indices[j]) : r.add(r.mul(linear, r.dim(getResult(), j)), indices[j]);
    for (int64_t i : llvm::reverse(ArrayRef(from).drop_front())) {
      Value size = r.dim(getOperand(), i);
      own[i] = r.remainder(linear, size);
      linear = r.divide(linear, size);
    }
    own[from.front()] = linear;
  }
  return r.element(getOperand(), own);
}

LogicalResult ReshapeOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  auto type = ranked(getResult()), operandType = ranked(getOperand());
  if (type.hasStaticShape() && operandType.hasStaticShape())
    return dimsOf(r, getResult(), dims);
  requireEntries(r, *this, getShape(), type.getRank());
  Value total = product(r, r.dims(getOperand()));
  Value zero = r.constant(0), one = r.constant(1), known = one;
  SmallVector<Value> wanted;
  bool mayDerive = false;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    Value size = type.isDynamicDim(i) ? entry(r, getShape(), i) : r.constant(type.getDimSize(i));
    wanted.push_back(size);
    APInt constant;
    bool isConstant = matchPattern(size, m_ConstantInt(&constant));
    if (isConstant && constant.isNonNegative()) {
      known = r.mul(known, size);
      continue;
    }
    mayDerive = true;
    Value negative = r.less(size, zero);
    if (!isConstant)
      r.require(*this, r.less(r.constant(-2), size), "shape has a negative size {0}",
                WEIR_INVALID_ARGUMENT, size);
    known = r.mul(known, r.select(negative, one, size));
  }
  // Two entries of -1 get a product that does not match, unless it is 1 anyway.
  Value derived;
  if (mayDerive)
    derived = r.divide(total, r.maximum(known, one));
  for (Value size : wanted) {
    Value actual = size;
    if (mayDerive)
      actual = r.select(r.less(size, zero), derived, size);
    dims.push_back(actual);
  }
  requireEqual(r, *this, boundedProduct(r, dims), total,
               "cannot reshape: {0} elements wanted, {1} there");
  return success();
}

//===----------------------------------------------------------------------===//
// broadcast_to
//===----------------------------------------------------------------------===//

LogicalResult BroadcastToOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                              Types &types) {
  Type element = elementOf(adaptor.getOperand());
  auto shape = entries(adaptor.getShape());
  if (!shape)
    return inferredUnranked(types, element);
  if (auto type = ranked(adaptor.getOperand())) {
    int64_t offset = shape->size() - type.getRank();
    if (offset < 0)
      return emitOptionalError(loc, "cannot broadcast ", shapeText(type.getShape()),
                               " to the fewer dimensions ", shapeText(*shape));
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      int64_t &wanted = (*shape)[offset + i];
      if (!isKnown(wanted) && isKnown(size) && size != 1)
        wanted = size;
      if (isKnown(wanted) && isKnown(size) && size != 1 && size != wanted)
        return emitOptionalError(loc, "cannot broadcast ", shapeText(type.getShape()), " to ",
                                 shapeText(*shape), ": dimension ", offset + i, " is ", size);
    }
  }
  for (auto [i, size] : llvm::enumerate(*shape))
    if (isKnown(size) && size < 0)
      return emitOptionalError(loc, "shape has a negative size ", size, " for dimension ", i);
  return inferred(types, *shape, element);
}

Value BroadcastToOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  auto type = ranked(getOperand()), resultType = ranked(getResult());
  SmallVector<Value> own;
  int64_t offset = resultType.getRank() - type.getRank();
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    Value index = indices[offset + i];
    if (size == 1)
      index = r.constant(0);
    else if (!isKnown(size))
      index = r.select(r.equal(r.dim(getOperand(), i), r.constant(1)), r.constant(0), index);
    own.push_back(index);
  }
  return r.element(getOperand(), own);
}

LogicalResult BroadcastToOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  auto type = ranked(getOperand()), resultType = ranked(getResult());
  int64_t offset = resultType.getRank() - type.getRank();
  Value zero = r.constant(0);
  requireEntries(r, *this, getShape(), resultType.getRank());
  for (int64_t i = 0; i < resultType.getRank(); ++i) {
    bool isStatic = !resultType.isDynamicDim(i);
    Value size = isStatic ? r.constant(resultType.getDimSize(i)) : entry(r, getShape(), i);
    if (!isStatic) {
      Value ok = r.less(r.constant(-1), size);
      if (!matchPattern(ok, m_One()))
        r.require(*this, ok, "shape has a negative size {0}", WEIR_INVALID_ARGUMENT, size);
      size = r.maximum(size, zero);
    }
    dims.push_back(size);
    int64_t own = i - offset;
    if (own < 0 || type.getDimSize(own) == 1 || (isStatic && !type.isDynamicDim(own)))
      continue;
    Value have = r.dim(getOperand(), own);
    Value ok =
        r.b.createOrFold<arith::OrIOp>(r.loc, r.equal(have, size), r.equal(have, r.constant(1)));
    r.require(*this, ok, "cannot broadcast size {0} to {1}", WEIR_INVALID_ARGUMENT, have, size);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                            Types &types) {
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  auto type = ranked(adaptor.getOperand());
  Type element = elementOf(adaptor.getOperand());
  if (!isPermutationVector(permutation))
    return emitOptionalError(loc, "permutation ", shapeText(permutation),
                             " must hold each dimension once");
  if (!type)
    return inferred(types, Sizes(permutation.size(), unknown), element);
  if (type.getRank() != (int64_t)permutation.size())
    return emitOptionalError(loc, "permutation of ", permutation.size(),
                             " dimensions for an operand of ", type.getRank());
  Sizes shape;
  for (int64_t i : permutation)
    shape.push_back(type.getDimSize(i));
  return inferred(types, shape, element);
}

Value TransposeOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  SmallVector<Value> own(indices.size());
  for (auto [i, source] : llvm::enumerate(getPermutation()))
    own[source] = indices[i];
  return r.element(getOperand(), own);
}

LogicalResult TransposeOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  for (int64_t i : getPermutation())
    dims.push_back(r.dim(getOperand(), i));
  return success();
}

//===----------------------------------------------------------------------===//
// unpack_panels
//===----------------------------------------------------------------------===//

LogicalResult UnpackPanelsOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                               Types &types) {
  auto type = ranked(adaptor.getOperand());
  Type element = elementOf(adaptor.getOperand());
  if (!type)
    return inferredUnranked(types, element);
  if (type.getRank() < 2)
    return emitOptionalError(loc, "panels have at least two dimensions, found ", type.getRank());
  int64_t panels = type.getDimSize(0), width = type.getShape().back();
  int64_t columns = adaptor.getColumns();
  if (!ShapedType::isDynamic(panels) && !ShapedType::isDynamic(width) &&
      (columns < 0 || columns > panels * width))
    return emitOptionalError(loc, columns, " columns do not fit ", panels, " panels of ", width);
  Sizes shape(type.getShape().drop_front());
  shape.back() = columns;
  return inferred(types, shape, element);
}

Value UnpackPanelsOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  int64_t rank = ranked(getOperand()).getRank();
  Value width = r.dim(getOperand(), rank - 1);
  SmallVector<Value> own{r.divide(indices.back(), width)};
  llvm::append_range(own, indices.drop_back());
  own.push_back(r.remainder(indices.back(), width));
  return r.element(getOperand(), own);
}

LogicalResult UnpackPanelsOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  int64_t rank = ranked(getOperand()).getRank();
  for (int64_t i = 1; i + 1 < rank; ++i)
    dims.push_back(r.dim(getOperand(), i));
  dims.push_back(r.constant(getColumns()));
  return success();
}

//===----------------------------------------------------------------------===//
// tile, reverse
//===----------------------------------------------------------------------===//

LogicalResult TileOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                       Types &types) {
  auto type = ranked(adaptor.getOperand());
  Type element = elementOf(adaptor.getOperand());
  auto repeats = entries(adaptor.getRepeats());
  if (!type && !repeats)
    return inferredUnranked(types, element);
  if (!type)
    return inferred(types, Sizes(repeats->size(), unknown), element);
  Sizes shape(type.getRank(), unknown);
  if (repeats) {
    if ((int64_t)repeats->size() != type.getRank())
      return emitOptionalError(loc, repeats->size(), " repeats for ", type.getRank(),
                               " dimensions");
    for (auto [i, count] : llvm::enumerate(*repeats)) {
      if (isKnown(count) && count < 0)
        return emitOptionalError(loc, "negative repeat ", count, " of dimension ", i);
      shape[i] = sizeProduct({type.getDimSize(i), count});
    }
  }
  return inferred(types, shape, element);
}

Value TileOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  auto type = ranked(getOperand()), resultType = ranked(getResult());
  auto repeats = entries(getRepeats());
  SmallVector<Value> own;
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (size == 1)
      own.push_back(r.constant(0));
    else if ((repeats && (*repeats)[i] == 1) || (isKnown(size) && size == resultType.getDimSize(i)))
      own.push_back(indices[i]);
    else
      own.push_back(r.remainder(indices[i], r.dim(getOperand(), i)));
  }
  return r.element(getOperand(), own);
}

LogicalResult TileOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  auto resultType = ranked(getResult());
  requireEntries(r, *this, getRepeats(), resultType.getRank());
  for (int64_t i = 0; i < resultType.getRank(); ++i) {
    if (!resultType.isDynamicDim(i)) {
      dims.push_back(r.constant(resultType.getDimSize(i)));
      continue;
    }
    Value count = entry(r, getRepeats(), i);
    Value ok = r.less(r.constant(-1), count);
    if (!matchPattern(ok, m_One()))
      r.require(*this, ok, "negative repeat {0}", WEIR_INVALID_ARGUMENT, count);
    dims.push_back(boundedProduct(r, {r.dim(getOperand(), i), r.maximum(count, r.constant(0))}));
  }
  return success();
}

LogicalResult RepeatOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                         Types &types) {
  auto axis = int64_t(adaptor.getAxis()), times = int64_t(adaptor.getTimes());
  if (times < 1)
    return emitOptionalError(loc, "found ", times, " repetitions, possible: 1 and more");
  auto type = ranked(adaptor.getOperand());
  if (!type) {
    types.push_back(adaptor.getOperand().getType());
    return success();
  }
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
  SmallVector<int64_t> shape(type.getShape());
  if (isKnown(shape[axis]) && llvm::MulOverflow(shape[axis], times, shape[axis]))
    return emitOptionalError(loc, "found ", times, " repetitions of ", type.getDimSize(axis),
                             " slices, possible: fewer than 2^63 in all");
  return inferred(types, shape, type.getElementType());
}

Value RepeatOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  auto axis = int64_t(getAxis());
  SmallVector<Value> own(indices);
  own[axis] = ranked(getOperand()).getDimSize(axis) == 1
                  ? r.constant(0)
                  : r.divide(indices[axis], r.constant(getTimes()));
  return r.element(getOperand(), own);
}

LogicalResult RepeatOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  if (failed(dimsOf(r, getOperand(), dims)))
    return failure();
  auto axis = int64_t(getAxis());
  dims[axis] = boundedProduct(r, {dims[axis], r.constant(getTimes())});
  return success();
}

LogicalResult ReverseOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                          Types &types) {
  if (auto type = ranked(adaptor.getOperand()))
    for (int64_t axis : adaptor.getAxes())
      if (axis < 0 || axis >= type.getRank())
        return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
  types.push_back(adaptor.getOperand().getType());
  return success();
}

Value ReverseOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  SmallVector<Value> own(indices);
  for (int64_t axis : getAxes())
    own[axis] = r.sub(r.sub(r.dim(getOperand(), axis), r.constant(1)), indices[axis]);
  return r.element(getOperand(), own);
}

LogicalResult ReverseOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  return dimsOf(r, getOperand(), dims);
}

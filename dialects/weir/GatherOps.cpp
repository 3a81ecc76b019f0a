//===- GatherOps.cpp - gathers and scatters -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/PickedLines.h"
#include "dialects/weir/ShapeSupport.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

/// An index as the model gives it, counted from the end where that is allowed,
/// and checked.
static Value checkedIndex(ElementReader &r, Operation *op, Value index, Value size,
                          bool wrapNegative) {
  if (wrapNegative)
    index = r.select(r.less(index, r.constant(0)), r.add(index, size), index);
  return r.safeIndex(op, index, size);
}

/// A null string or box in the form that generators choose for it, by name: the header of LLVM's
/// dialect takes longer to read than all that is here.
static Value nullOf(ElementReader &r, Type form) {
  OperationState state(r.loc, "llvm.mlir.zero");
  state.addTypes(form);
  return r.b.create(state)->getResult(0);
}

/// The element of `operand` at `picked`, or 0.
static Value readPicked(ElementReader &r, Value operand, const PickedPlace &picked) {
  if (!picked.isThere)
    return r.element(operand, picked.at);
  bool hasForm = isa<StringType, BoxType>(elementOf(operand));
  // What nobody reads: the loop has no turns, or the run reported the index. But a string's form is
  // known from reading one.
  if (hasForm && matchPattern(picked.isThere, m_Zero())) {
    auto never =
        scf::IfOp::create(r.b, r.loc, TypeRange{}, picked.isThere, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(r.b);
    r.b.setInsertionPointToStart(&never.getThenRegion().front());
    Type form = r.element(operand, picked.at).getType();
    r.b.setInsertionPointAfter(never);
    return nullOf(r, form);
  }
  Type form; // of a string or box, generators choose it
  return emitIf(
      r, picked.isThere,
      [&] {
        Value value = r.element(operand, picked.at);
        form = value.getType();
        return value;
      },
      [&]() -> Value {
        if (hasForm)
          return nullOf(r, form);
        return reductionStart(r, elementOf(operand), ReduceKind::Sum);
      });
}

/// The place `own` of `operand`, of which indices chose in `dimensions`. An index into one that is
/// empty, or turned out to be, was reported by the run (in a branch that is not taken it is no
/// fault), and there is nothing that could be read instead: those that may be are tested.
static PickedPlace placeIn(ElementReader &r, Value operand, ArrayRef<Value> own,
                           ArrayRef<int64_t> dimensions) {
  PickedPlace picked{llvm::to_vector(own), {}};
  for (int64_t i : dimensions) {
    if (ranked(operand).getDimSize(i) > 0)
      continue;
    Value some = r.less(r.constant(0), r.dim(operand, i));
    picked.isThere = picked.isThere ? r.logicalAnd(picked.isThere, some) : some;
  }
  return picked;
}

/// Merges dimension `i` of an operand into a list of sizes; false when they
/// differ.
static bool mergeInto(int64_t &size, int64_t other) {
  auto merged = mergeSizes(size, other);
  if (merged)
    size = *merged;
  return merged.has_value();
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                         Types &types) {
  auto type = ranked(adaptor.getOperand()), indices = ranked(adaptor.getIndices());
  Type element = elementOf(adaptor.getOperand());
  if (!type || !indices)
    return inferredUnranked(types, element);
  int64_t axis = adaptor.getAxis(), batch = adaptor.getBatchDims();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
  if (batch < 0 || batch > axis || batch > indices.getRank())
    return emitOptionalError(loc, batch, " batch dimensions with axis ", axis, " and indices of ",
                             indices.getRank(), " dimensions");
  Sizes shape(type.getShape().take_front(axis));
  for (int64_t i = 0; i < batch; ++i)
    if (!mergeInto(shape[i], indices.getDimSize(i)))
      return emitOptionalError(loc, "batch dimension ", i, " is ", shape[i],
                               " and, of the indices, ", indices.getDimSize(i));
  llvm::append_range(shape, indices.getShape().drop_front(batch));
  llvm::append_range(shape, type.getShape().drop_front(axis + 1));
  return inferred(types, shape, element);
}

static PickedPlace placeOf(ElementReader &r, GatherOp op, ValueRange indices) {
  int64_t axis = op.getAxis(), batch = op.getBatchDims();
  int64_t count = ranked(op.getIndices()).getRank() - batch;
  SmallVector<Value> place(indices.take_front(batch));
  llvm::append_range(place, indices.slice(axis, count));
  Value index = checkedIndex(r, op, r.elementAsIndex(op.getIndices(), place),
                             r.dim(op.getOperand(), axis), op.getWrapNegative());
  SmallVector<Value> own(indices.take_front(axis));
  own.push_back(index);
  llvm::append_range(own, indices.drop_front(axis + count));
  return placeIn(r, op.getOperand(), own, axis);
}

Value GatherOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  return readPicked(r, getOperand(), placeOf(r, *this, indices));
}

LogicalResult GatherOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  int64_t axis = getAxis(), batch = getBatchDims();
  auto type = ranked(getOperand()), indices = ranked(getIndices());
  for (int64_t i = 0; i < axis; ++i) {
    dims.push_back(r.dim(getOperand(), i));
    if (i < batch)
      requireEqual(r, *this, dims.back(), r.dim(getIndices(), i), "batch sizes {0} and {1} differ");
  }
  for (int64_t i = batch; i < indices.getRank(); ++i)
    dims.push_back(r.dim(getIndices(), i));
  for (int64_t i = axis + 1; i < type.getRank(); ++i)
    dims.push_back(r.dim(getOperand(), i));
  return success();
}

//===----------------------------------------------------------------------===//
// gather_elements
//===----------------------------------------------------------------------===//

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, OptionalLocation loc,
                                                 Adaptor adaptor, Types &types) {
  auto type = ranked(adaptor.getOperand()), indices = ranked(adaptor.getIndices());
  Type element = elementOf(adaptor.getOperand());
  if (!indices)
    return inferredUnranked(types, element);
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= indices.getRank())
    return emitOptionalError(loc, "axis ", axis, " of ", indices.getRank(), " dimensions");
  if (type) {
    if (type.getRank() != indices.getRank())
      return emitOptionalError(loc, "indices of ", indices.getRank(),
                               " dimensions for an operand of ", type.getRank());
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (i != axis && isKnown(type.getDimSize(i)) && isKnown(indices.getDimSize(i)) &&
          indices.getDimSize(i) > type.getDimSize(i))
        return emitOptionalError(loc, "indices have ", indices.getDimSize(i), " in dimension ", i,
                                 ", the operand ", type.getDimSize(i));
  }
  return inferred(types, indices.getShape(), element);
}

Value GatherElementsOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  SmallVector<Value> own(indices);
  own[getAxis()] = checkedIndex(r, *this, r.elementAsIndex(getIndices(), indices),
                                r.dim(getOperand(), getAxis()), getWrapNegative());
  return readPicked(r, getOperand(), placeIn(r, getOperand(), own, (int64_t)getAxis()));
}

LogicalResult GatherElementsOp::reifyShape(ElementReader &r, unsigned,
                                           SmallVectorImpl<Value> &dims) {
  auto type = ranked(getOperand()), indices = ranked(getIndices());
  for (int64_t i = 0; i < type.getRank(); ++i) {
    Value size = r.dim(getIndices(), i);
    if (i != (int64_t)getAxis() && (type.isDynamicDim(i) || indices.isDynamicDim(i))) {
      // What lies outside is not read: the result is cut.
      Value have = r.dim(getOperand(), i);
      r.require(
          *this, r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::sle, size, have),
          "indices have {0} entries along a dimension of {1}", WEIR_INVALID_ARGUMENT, size, have);
      size = indices.isDynamicDim(i) ? r.minimum(size, have) : size;
    }
    dims.push_back(size);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// gather_nd
//===----------------------------------------------------------------------===//

LogicalResult GatherNdOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                           Types &types) {
  auto type = ranked(adaptor.getOperand()), indices = ranked(adaptor.getIndices());
  Type element = elementOf(adaptor.getOperand());
  int64_t batch = adaptor.getBatchDims();
  if (!type || !indices)
    return inferredUnranked(types, element);
  if (indices.getRank() < 1 || batch < 0 || batch >= indices.getRank() || batch > type.getRank())
    return emitOptionalError(loc, "indices of ", indices.getRank(), " dimensions with ", batch,
                             " batch dimensions");
  int64_t depth = indices.getShape().back();
  if (!isKnown(depth))
    return inferredUnranked(types, element);
  if (batch + depth > type.getRank())
    return emitOptionalError(loc, "index tuples of ", depth, " for ", type.getRank() - batch,
                             " dimensions");
  Sizes shape(indices.getShape().drop_back());
  for (int64_t i = 0; i < batch; ++i)
    if (!mergeInto(shape[i], type.getDimSize(i)))
      return emitOptionalError(loc, "batch dimension ", i, " is ", type.getDimSize(i),
                               " and, of the indices, ", shape[i]);
  llvm::append_range(shape, type.getShape().drop_front(batch + depth));
  return inferred(types, shape, element);
}

static PickedPlace placeOf(ElementReader &r, GatherNdOp op, ValueRange indices) {
  auto type = ranked(op.getIndices());
  int64_t depth = type.getShape().back(), batch = op.getBatchDims(), outer = type.getRank() - 1;
  SmallVector<Value> own(indices.take_front(batch));
  for (int64_t k = 0; k < depth; ++k) {
    SmallVector<Value> place(indices.take_front(outer));
    place.push_back(r.constant(k));
    own.push_back(checkedIndex(r, op, r.elementAsIndex(op.getIndices(), place),
                               r.dim(op.getOperand(), batch + k), op.getWrapNegative()));
  }
  llvm::append_range(own, indices.drop_front(outer));
  return placeIn(r, op.getOperand(), own,
                 llvm::to_vector(llvm::seq<int64_t>(batch, batch + depth)));
}

Value GatherNdOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  return readPicked(r, getOperand(), placeOf(r, *this, indices));
}

bool weir::picksLines(Operation *op) {
  if (auto gather = dyn_cast_or_null<GatherOp>(op))
    return int64_t(gather.getAxis()) + 1 < ranked(gather.getOperand()).getRank();
  auto gather = dyn_cast_or_null<GatherNdOp>(op);
  return gather && int64_t(gather.getBatchDims()) + ranked(gather.getIndices()).getShape().back() <
                       ranked(gather.getOperand()).getRank();
}

PickedPlace weir::pickedPlace(ElementReader &r, Operation *op, ValueRange indices) {
  if (auto gather = dyn_cast<GatherOp>(op))
    return placeOf(r, gather, indices);
  return placeOf(r, cast<GatherNdOp>(op), indices);
}

LogicalResult GatherNdOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  auto type = ranked(getIndices());
  int64_t batch = getBatchDims();
  for (int64_t i = 0; i + 1 < type.getRank(); ++i) {
    dims.push_back(r.dim(getIndices(), i));
    if (i < batch)
      requireEqual(r, *this, r.dim(getOperand(), i), dims.back(), "batch sizes {0} and {1} differ");
  }
  for (int64_t i = batch + type.getShape().back(); i < ranked(getOperand()).getRank(); ++i)
    dims.push_back(r.dim(getOperand(), i));
  return success();
}

//===----------------------------------------------------------------------===//
// Scatters: results are like their operands
//===----------------------------------------------------------------------===//

LogicalResult ScatterNdOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                            Types &types) {
  auto type = ranked(adaptor.getOperand()), indices = ranked(adaptor.getIndices()),
       updates = ranked(adaptor.getUpdates());
  types.push_back(adaptor.getOperand().getType());
  if (elementOf(adaptor.getOperand()) != elementOf(adaptor.getUpdates()))
    return emitOptionalError(loc, "updates of ", elementOf(adaptor.getUpdates()),
                             " for elements of ", elementOf(adaptor.getOperand()));
  if (!type || !indices || !updates)
    return success();
  if (indices.getRank() < 1)
    return emitOptionalError(loc, "indices must have at least one dimension");
  int64_t depth = indices.getShape().back();
  if (!isKnown(depth))
    return success();
  if (depth > type.getRank())
    return emitOptionalError(loc, "index tuples of ", depth, " for ", type.getRank(),
                             " dimensions");
  Sizes wanted(indices.getShape().drop_back());
  llvm::append_range(wanted, type.getShape().drop_front(depth));
  if (failed(verifyCompatibleShape(wanted, updates.getShape())))
    return emitOptionalError(loc, "updates have shape ", shapeText(updates.getShape()),
                             " instead of ", shapeText(wanted));
  return success();
}

LogicalResult ScatterNdOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  // Updates are read as the indices and the operand say how many there are.
  int64_t tuples = ranked(getIndices()).getRank() - 1;
  int64_t depth = ranked(getIndices()).getShape().back();
  for (int64_t i = 0; isKnown(depth) && i < ranked(getUpdates()).getRank(); ++i)
    requireEqual(r, *this, r.dim(getUpdates(), i),
                 i < tuples ? r.dim(getIndices(), i) : r.dim(getOperand(), i - tuples + depth),
                 "updates have size {0} where {1} is wanted");
  return dimsOf(r, getOperand(), dims);
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *, OptionalLocation loc,
                                                  Adaptor adaptor, Types &types) {
  auto type = ranked(adaptor.getOperand()), indices = ranked(adaptor.getIndices()),
       updates = ranked(adaptor.getUpdates());
  types.push_back(adaptor.getOperand().getType());
  if (elementOf(adaptor.getOperand()) != elementOf(adaptor.getUpdates()))
    return emitOptionalError(loc, "updates of ", elementOf(adaptor.getUpdates()),
                             " for elements of ", elementOf(adaptor.getOperand()));
  if (!type || !indices || !updates)
    return success();
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
  if (indices.getRank() != type.getRank())
    return emitOptionalError(loc, "indices of ", indices.getRank(),
                             " dimensions for an operand of ", type.getRank());
  if (failed(verifyCompatibleShape(indices.getShape(), updates.getShape())))
    return emitOptionalError(loc, "updates have shape ", shapeText(updates.getShape()),
                             ", indices ", shapeText(indices.getShape()));
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis && isKnown(type.getDimSize(i)) && isKnown(indices.getDimSize(i)) &&
        indices.getDimSize(i) > type.getDimSize(i))
      return emitOptionalError(loc, "indices have ", indices.getDimSize(i), " in dimension ", i,
                               ", the operand ", type.getDimSize(i));
  return success();
}

LogicalResult ScatterElementsOp::reifyShape(ElementReader &r, unsigned,
                                            SmallVectorImpl<Value> &dims) {
  for (int64_t i = 0; i < ranked(getIndices()).getRank(); ++i) {
    Value size = r.dim(getIndices(), i);
    requireEqual(r, *this, r.dim(getUpdates(), i), size, "updates have size {0}, indices {1}");
    if (i == (int64_t)getAxis())
      continue;
    Value have = r.dim(getOperand(), i);
    Value ok = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::sle, size, have);
    if (!matchPattern(ok, m_One()))
      r.require(*this, ok, "indices have {0} entries along a dimension of {1}",
                WEIR_INVALID_ARGUMENT, size, have);
  }
  return dimsOf(r, getOperand(), dims);
}

//===- TreeEnsembleOps.cpp - ensembles of decision trees ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/ScalarBuilder.h"
#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/TreeEnsemble.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

#define GET_OP_CLASSES
#include "dialects/weir/TreeEnsembleOps.cpp.inc"

LogicalResult TreeEnsembleOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                               Types &types) {
  auto samples = ranked(adaptor.getSamples()), nodes = ranked(adaptor.getNodes()),
       trees = ranked(adaptor.getTrees()), weights = ranked(adaptor.getWeights());
  auto isMatrix = [](RankedTensorType type) { return type && type.getRank() == 2; };
  if (!isMatrix(samples) || !isMatrix(nodes) || !isMatrix(trees) || !isMatrix(weights))
    return emitOptionalError(loc, "samples, nodes, trees and weights must be matrices");
  if (!nodes.getElementType().isSignlessInteger(32) ||
      !trees.getElementType().isSignlessInteger(32) ||
      (nodes.getDimSize(1) != trees::narrowWords && nodes.getDimSize(1) != trees::wideWords) ||
      trees.getDimSize(1) != trees::columns)
    return emitOptionalError(loc, "nodes must be [M, 2] or [M, 4] of i32, trees [T, ",
                             int64_t(trees::columns), "]");
  if (!isa<Float32Type, Float64Type>(weights.getElementType()))
    return emitOptionalError(loc, "weights must be f32 or f64");
  std::optional<ReduceKind> kind = symbolizeReduceKind(adaptor.getKindAttr().getValue());
  if (!kind || (*kind != ReduceKind::Sum && *kind != ReduceKind::Max && *kind != ReduceKind::Min))
    return emitOptionalError(loc, "expected sum, max or min, got '",
                             adaptor.getKindAttr().getValue(), "'");
  int64_t features = samples.getDimSize(1), wanted = adaptor.getFeatures();
  if (isKnown(features) && features < wanted)
    return emitOptionalError(loc, "expected ", wanted, " features at least, got ", features);
  return inferred(types, {samples.getDimSize(0), int64_t(adaptor.getTargets())},
                  weights.getElementType());
}

LogicalResult TreeEnsembleOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  dims.push_back(r.dim(getSamples(), 0));
  dims.push_back(r.constant(getTargets()));
  return success();
}

/// Comparisons, and twice as much around each.
int64_t TreeEnsembleOp::getFlops() {
  constexpr int64_t ofStep = 3;
  auto type = ranked(getSamples());
  return type.isDynamicDim(0) ? -1 : type.getDimSize(0) * int64_t(getSteps()) * ofStep;
}

Value TreeEnsembleOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type wide = elementOf(getWeights());
  ScalarBuilder s(r, *this, wide);
  trees::Walker walker(r, *this);
  Value row = indices[0], target = indices[1], start = reductionStart(r, wide, getKind());
  auto said = [&](Value tree, Value sum) {
    Value at = emitReductionLoops(r, {walker.column(tree, trees::farthest)},
                                  walker.column(tree, trees::root), [&](ValueRange, Value at) {
                                    return walker.step(at, [&](Value feature) {
                                      return r.element(getSamples(), {row, feature});
                                    });
                                  });
    Value leaf = walker.leafAt(at);
    Value which = r.sub(target, walker.column(tree, trees::firstTarget));
    Value isMeant = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ult, which,
                                                    r.dim(getWeights(), 1));
    Value weight = r.element(getWeights(), {leaf, r.select(isMeant, which, r.constant(0))});
    return r.select(isMeant, reductionStep(r, s, getKind(), sum, weight, /*reassociate=*/false),
                    sum);
  };
  auto all = [&] {
    return emitReductionLoops(r, {r.dim(getTrees(), 0)}, start,
                              [&](ValueRange tree, Value sum) { return said(tree[0], sum); });
  };
  Value hasAll = requireFeatures(r);
  return hasAll ? emitIf(r, hasAll, all, [&] { return start; }) : all();
}

Value TreeEnsembleOp::requireFeatures(ElementReader &r) {
  if (!ranked(getSamples()).isDynamicDim(1))
    return {};
  Value size = r.dim(getSamples(), 1), wanted = r.constant(getFeatures());
  Value hasAll = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::sge, size, wanted);
  r.require(*this, hasAll, "expected {0} features at least, got {1}", WEIR_INVALID_ARGUMENT, wanted,
            size);
  return hasAll;
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

trees::Walker::Walker(ElementReader &r, TreeEnsembleOp op)
    : r(r), op(op), isWide(ranked(op.getNodes()).getDimSize(1) == wideWords) {}

Value trees::Walker::word(Value node, int64_t i) {
  return r.element(op.getNodes(), {node, r.constant(i)});
}

/// Bits of a word, `shift` above the lowest; all above for a `count` of 0.
Value trees::Walker::bits(Value word, int64_t shift, int64_t count) {
  auto number = [&](uint32_t value) {
    return arith::ConstantOp::create(r.b, r.loc, r.b.getI32IntegerAttr(int32_t(value)));
  };
  if (shift)
    word = r.b.createOrFold<arith::ShRUIOp>(r.loc, word, number(uint32_t(shift)));
  return count ? r.b.createOrFold<arith::AndIOp>(r.loc, word,
                                                 number(llvm::maskTrailingOnes<uint32_t>(count)))
               : word;
}

Value trees::Walker::toIndex(Value word) {
  return r.b.createOrFold<arith::IndexCastUIOp>(r.loc, r.b.getIndexType(), word);
}

Value trees::Walker::column(Value tree, Column column) {
  return toIndex(r.element(op.getTrees(), {tree, r.constant(column)}));
}

Value trees::Walker::threshold(Value node) {
  Type i64 = r.b.getI64Type();
  if (!isWide)
    return r.b.createOrFold<arith::BitcastOp>(r.loc, r.b.getF32Type(), word(node, 0));
  Value low = r.b.createOrFold<arith::ExtUIOp>(r.loc, i64, word(node, 0)),
        high = r.b.createOrFold<arith::ExtUIOp>(r.loc, i64, word(node, 1)),
        half = arith::ConstantOp::create(r.b, r.loc, r.b.getI64IntegerAttr(32));
  Value both = r.b.createOrFold<arith::OrIOp>(r.loc, low,
                                              r.b.createOrFold<arith::ShLIOp>(r.loc, high, half));
  return r.b.createOrFold<arith::BitcastOp>(r.loc, r.b.getF64Type(), both);
}

/// Whether a walk goes on behind the child of a node.
Value trees::Walker::isBehind(Value node, Value flag, Value value) {
  Value limit = threshold(node);
  auto type = cast<FloatType>(value.getType()), other = cast<FloatType>(limit.getType());
  if (type.getWidth() < other.getWidth())
    value = r.b.createOrFold<arith::ExtFOp>(r.loc, other, value);
  else if (type.getWidth() > other.getWidth())
    limit = r.b.createOrFold<arith::ExtFOp>(r.loc, type, limit);
  auto compare = [&](arith::CmpFPredicate predicate) {
    return r.b.createOrFold<arith::CmpFOp>(r.loc, predicate, value, limit);
  };
  if (!flag)
    return compare(arith::CmpFPredicate::UGT);
  Value isStrict = r.b.createOrFold<arith::CmpIOp>(
      r.loc, arith::CmpIPredicate::eq, flag,
      arith::ConstantOp::create(r.b, r.loc, r.b.getI32IntegerAttr(0)));
  Value unordered =
      r.b.createOrFold<arith::AndIOp>(r.loc, compare(arith::CmpFPredicate::UNO), isStrict);
  return r.b.createOrFold<arith::OrIOp>(r.loc, compare(arith::CmpFPredicate::OGT), unordered);
}

Value trees::Walker::step(Value node, function_ref<Value(Value)> sample) {
  Value places = word(node, isWide ? 2 : 1), flag;
  int64_t moved = op.getMissing() ? 1 : 0, featureBits = op.getFeatureBits();
  if (moved && !isPaired)
    flag = bits(places, 0, 1);
  Value feature = isPaired ? bits(places, 0, isWide ? 0 : moved + featureBits)
                           : bits(places, moved, isWide ? 0 : featureBits);
  Value child = isWide ? word(node, 3) : bits(places, moved + featureBits, 0);
  Type wide = elementOf(op.getWeights()), own = isPaired ? wide : elementOf(op.getSamples());
  ScalarBuilder s(r, op, wide);
  Value value = s.cast(sample(toIndex(feature)), own, wide, false);
  Value behind = isBehind(node, flag, value);
  return r.add(toIndex(child),
               r.b.createOrFold<arith::IndexCastUIOp>(r.loc, r.b.getIndexType(), behind));
}

Value trees::Walker::leafAt(Value node) {
  Value low = word(node, 0);
  return toIndex(isWide ? low : bits(low, 0, narrowLeafBits));
}

//===- Gradient.cpp - reverse-mode differentiation ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/gradient/Gradient.h"
#include "dialects/weir/KnownIntegers.h"
#include "passes/gradient/GradientRules.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weir;
using namespace weir::gradient;

//===----------------------------------------------------------------------===//
// Short ways to write operations
//===----------------------------------------------------------------------===//

Value Adjoint::ints(Ints values) {
  return ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(
          RankedTensorType::get({static_cast<int64_t>(values.size())}, b.getI64Type()), values));
}

Value Adjoint::number(Value like, double value) {
  Type element = type(like).getElementType();
  if (auto complex = dyn_cast<ComplexType>(element)) {
    SmallVector<Attribute> parts = {b.getFloatAttr(complex.getElementType(), value),
                                    b.getFloatAttr(complex.getElementType(), 0)};
    return ConstantOp::create(b, loc,
                              DenseElementsAttr::get(RankedTensorType::get({}, element),
                                                     ArrayRef<Attribute>(b.getArrayAttr(parts))));
  }
  Attribute attribute = isa<FloatType>(element)
                            ? Attribute(b.getFloatAttr(element, value))
                            : Attribute(b.getIntegerAttr(element, static_cast<int64_t>(value)));
  return ConstantOp::create(b, loc,
                            DenseElementsAttr::get(RankedTensorType::get({}, element), attribute));
}

Value Adjoint::cast(Value v, Type element) {
  if (type(v).getElementType() == element)
    return v;
  if (isa<ComplexType>(type(v).getElementType()) && !isa<ComplexType>(element))
    return cast(op<RealOp>(v), element);
  return CastOp::create(b, loc, type(v).clone(element), v, b.getBoolAttr(true));
}

Value Adjoint::conj(Value v) {
  return isa<ComplexType>(type(v).getElementType()) ? op<ConjOp>(v) : v;
}

Value Adjoint::compare(StringRef predicate, Value x, Value y) {
  return op<CompareOp>(x, y, predicate);
}

Value Adjoint::where(Value condition, Value x) { return op<SelectOp>(condition, x, number(x, 0)); }

Value Adjoint::reduce(Value v, ReduceKind kind, Ints axes, bool keepDims) {
  return op<ReduceOp>(v, kind, axes, keepDims);
}

Value Adjoint::shapeOf(Value v) { return sizes(v, 0, rank(v)); }

Value Adjoint::sizes(Value v, int64_t begin, int64_t end) {
  Ints shape = type(v).getShape().slice(begin, end - begin);
  if (llvm::none_of(shape, ShapedType::isDynamic))
    return ints(shape);
  Value all = op<ShapeOfOp>(v, TypeAttr::get(b.getI64Type()));
  if (begin == 0 && end == rank(v))
    return all;
  return op<SliceOp>(all, ints({begin}), ints({end}), ints({1}), Ints{0}, false);
}

Value Adjoint::reshapeLike(Value v, Value like) {
  if (type(v).getShape() == type(like).getShape() && type(v).hasStaticShape())
    return v;
  auto wanted = type(like).clone(type(v).getElementType());
  return ReshapeOp::create(b, loc, wanted, v, shapeOf(like));
}

Value Adjoint::zeros(Value like) { return op<BroadcastToOp>(number(like, 0), shapeOf(like)); }

Value Adjoint::transpose(Value v, Ints permutation) {
  if (llvm::is_sorted(permutation))
    return v;
  return op<TransposeOp>(v, permutation);
}

Value Adjoint::concat(ArrayRef<Value> parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : op<ConcatOp>(ValueRange(parts), axis);
}

Value Adjoint::count(Value v, Ints axes, Value like) {
  Value product;
  for (int64_t axis : axes) {
    Value size = sizes(v, axis, axis + 1);
    product = product ? times(product, size) : size;
  }
  if (!product)
    return number(like, 1);
  return cast(reshape(product, ints({})), type(like).getElementType());
}

/// Whether dimension `i` of `x` and `j` of `y` are known to be of one size.
static bool areEqual(Adjoint &a, Value x, int64_t i, Value y, int64_t j) {
  auto known = [&](Value v) {
    return followIntegers(a.op<ShapeOfOp>(v, TypeAttr::get(a.b.getI64Type())));
  };
  auto xs = known(x), ys = known(y);
  return xs && ys && (*xs)[i] == (*ys)[j] && ((*xs)[i].value || (*xs)[i].isSymbol());
}

Value Adjoint::sumTo(Value v, Value like) {
  if (type(v).getShape() == type(like).getShape() && type(v).hasStaticShape())
    return v;
  IntVector axes;
  int64_t lead = rank(v) - rank(like);
  for (int64_t i = 0; i < lead; ++i)
    axes.push_back(i);
  if (!axes.empty())
    v = reduce(v, ReduceKind::Sum, axes, false);
  axes.clear();
  IntVector open;
  for (int64_t i = 0; i < rank(like); ++i) {
    int64_t from = type(v).getDimSize(i), to = type(like).getDimSize(i);
    if (to == 1 && from != 1)
      axes.push_back(i);
    else if (ShapedType::isDynamic(to) && from != 1 && !areEqual(*this, v, i, like, i))
      open.push_back(i);
  }
  if (!axes.empty())
    v = reduce(v, ReduceKind::Sum, axes, true);
  // Where only the run knows whether there was one, it decides.
  for (int64_t axis : open) {
    IntVector shape(type(v).getShape());
    shape[axis] = ShapedType::kDynamic;
    auto result = type(v).clone(shape);
    Value isOne =
        compare("eq", reshape(sizes(like, axis, axis + 1), ints({})), reshape(ints({1}), ints({})));
    OperationState state(loc, IfOp::getOperationName());
    state.addOperands(isOne);
    state.addTypes(Type(result));
    for (bool summed : {true, false}) {
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(state.addRegion());
      Value value = summed ? reduce(v, ReduceKind::Sum, {axis}, true) : v;
      Value same = ReshapeOp::create(b, loc, result, value, shapeOf(value));
      YieldOp::create(b, loc, ValueRange(same));
    }
    v = b.create(state)->getResult(0);
  }
  return v;
}

/// The sum of two gradients that slices side by side have left, zeros around both: their
/// parts in a row, with less around them; null where they are not that. Slices that make up
/// the whole so become one concatenation.
static Value joined(Adjoint &a, Value x, Value y) {
  auto first = x.getDefiningOp<PadOp>(), second = y.getDefiningOp<PadOp>();
  auto isZero = [](PadOp pad) {
    return pad.getMode() == PadMode::Constant && matchPattern(pad.getValue(), m_AnyZeroFloat());
  };
  if (!first || !second || !isZero(first) || !isZero(second))
    return {};
  auto xs = constantIntegers(first.getPads()), ys = constantIntegers(second.getPads());
  int64_t rank = a.rank(x), axis = -1;
  if (!xs || !ys || !a.type(x).hasStaticShape() || a.type(x) != a.type(y))
    return {};
  for (int64_t i = 0; i < rank; ++i) {
    if ((*xs)[i] == (*ys)[i] && (*xs)[rank + i] == (*ys)[rank + i])
      continue;
    if (axis >= 0)
      return {};
    axis = i;
  }
  if (axis < 0)
    return {};
  if ((*xs)[axis] > (*ys)[axis]) {
    std::swap(first, second);
    std::swap(xs, ys);
  }
  int64_t part = a.type(first.getOperand()).getDimSize(axis);
  IntVector pads(*xs);
  if (llvm::any_of(pads, [](int64_t pad) { return pad < 0; }) || (*ys)[rank + axis] < 0 ||
      (*xs)[axis] + part != (*ys)[axis])
    return {};
  pads[rank + axis] = (*ys)[rank + axis];
  Value both = a.concat({first.getOperand(), second.getOperand()}, axis);
  return a.op<PadOp>(both, a.ints(pads), a.number(both, 0), PadMode::Constant);
}

bool gradient::isZeros(Value v) {
  if (auto stretched = v.getDefiningOp<BroadcastToOp>())
    v = stretched.getOperand();
  return matchPattern(v, m_AnyZeroFloat());
}

Value Adjoint::accumulate(Value sum, Value gradient) {
  auto isRows = [](Value v) {
    auto scatter = v.getDefiningOp<ScatterNdOp>();
    return scatter && v.use_empty() && scatter.getReduction() == "add" &&
           isZeros(scatter.getOperand());
  };
  if (sum.getType() != gradient.getType() || (!isRows(gradient) && !isRows(sum)))
    return plus(sum, gradient);
  if (!isRows(gradient))
    std::swap(sum, gradient);
  auto rows = gradient.getDefiningOp<ScatterNdOp>();
  return op<ScatterNdOp>(sum, rows.getIndices(), rows.getUpdates(), "add", rows.getWrapNegative(),
                         rows.getDropOutOfBounds());
}

void Adjoint::add(Value v, Value gradient) {
  if (!wants(v) || !gradient)
    return;
  gradient = cast(sumTo(gradient, v), type(v).getElementType());
  Value &sum = gradients[v];
  Value whole = sum ? joined(*this, sum, gradient) : gradient;
  sum = whole ? whole : accumulate(sum, gradient);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

static Rule findRule(Operation *op) {
  static const auto *table = [] {
    auto *map = new llvm::StringMap<Rule>();
    for (ArrayRef<Row> family :
         {elementwiseRules(), movementRules(), reductionRules(), windowRules(), controlRules()})
      for (const Row &row : family)
        map->try_emplace(("weir." + row.operation).str(), row.rule);
    return map;
  }();
  auto it = table->find(op->getName().getStringRef());
  return it == table->end() ? nullptr : it->second;
}

static bool isComplex(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && isa<ComplexType>(type.getElementType());
}

/// Whether a gradient may belong to a value. Those of complex ones are followed
/// so that they are refused, not lost.
static bool isFloat(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && isa<FloatType, ComplexType>(type.getElementType());
}

/// Operations whose rules hold for complex numbers, too.
static bool isComplexRule(Operation *op) {
  static const llvm::StringSet<> names = {
      "add",        "sub",         "mul",       "div",     "neg",          "conj",
      "real",       "imag",        "complex",   "cast",    "gate",         "select",
      "reshape",    "pad",         "transpose", "reverse", "broadcast_to", "concat",
      "slice",      "tile",        "gather",    "repeat",  "gather_nd",    "gather_elements",
      "scatter_nd", "dot_general", "if",        "while",   "cumulative"};
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReduceKind::Sum || reduce.getKind() == ReduceKind::Mean ||
           reduce.getKind() == ReduceKind::Prod;
  StringRef name = op->getName().getStringRef();
  return name.consume_front("weir.") && names.contains(name);
}

/// Whether an operation is on a way of gradients that no rule knows.
static bool isRefused(Operation *op) {
  return op->hasAttr(noGradientAttr) || ((llvm::any_of(op->getOperands(), isComplex) ||
                                          llvm::any_of(op->getResults(), isComplex)) &&
                                         !isComplexRule(op));
}

/// The operations of `block` that the ys are made of, in the block's order.
static SmallVector<Operation *> operationsBehind(ValueRange ys, Block *block) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> work;
  auto visit = [&](Value v) {
    Operation *op = v.getDefiningOp();
    if (op && op->getBlock() == block && seen.insert(op).second)
      work.push_back(op);
  };
  for (Value y : ys)
    visit(y);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        visit(operand);
    });
  }
  SmallVector<Operation *> order(seen.begin(), seen.end());
  llvm::sort(order, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  return order;
}

/// Marks what depends on an x through floats.
static void markActive(ArrayRef<Operation *> order, ValueRange xs, llvm::DenseSet<Value> &active) {
  for (Value x : xs)
    if (isFloat(x))
      active.insert(x);
  for (Operation *op : order) {
    bool depends = false;
    if (op->hasAttr(stopGradientAttr))
      continue;
    op->walk([&](Operation *inner) {
      depends |= llvm::any_of(inner->getOperands(),
                              [&](Value operand) { return active.contains(operand); });
    });
    for (Value result : op->getResults())
      if (depends && isFloat(result))
        active.insert(result);
  }
}

FailureOr<SmallVector<Value>> weir::differentiate(ValueRange ys, ValueRange seeds, ValueRange xs,
                                                  OpBuilder &b) {
  Adjoint a(b, b.getUnknownLoc());
  SmallVector<Value> results(ys);
  // Composites become what they are made of, until all have a rule.
  SmallVector<Operation *> order;
  for (bool expanded = true; expanded;) {
    expanded = false;
    order = operationsBehind(results, b.getInsertionBlock());
    a.active.clear();
    markActive(order, xs, a.active);
    for (Operation *op : order) {
      auto composite = dyn_cast<DecomposeOpInterface>(op);
      if (!composite || findRule(op) ||
          llvm::none_of(op->getResults(), [&](Value v) { return a.active.contains(v); }))
        continue;
      OpBuilder before(op);
      auto parts = composite.decompose(before);
      if (failed(parts))
        return op->emitError("has no gradient"), failure();
      for (Value &result : results)
        if (result.getDefiningOp() == op)
          result = (*parts)[cast<OpResult>(result).getResultNumber()];
      // It stays, unused: others may hold its results as values.
      op->replaceAllUsesWith(*parts);
      expanded = true;
      break;
    }
  }
  for (auto [y, seed] : llvm::zip(results, seeds))
    a.add(y, seed);
  for (Operation *op : llvm::reverse(order)) {
    SmallVector<Value> gradients;
    bool any = false, depends = false;
    for (Value result : op->getResults()) {
      gradients.push_back(a.gradients.lookup(result));
      any |= static_cast<bool>(gradients.back());
      depends |= a.active.contains(result);
    }
    // An x that an operation makes is an x, not a way to others, for itself;
    // further xs may lie behind it.
    if (!any || !depends)
      continue;
    bool leads = false;
    op->walk([&](Operation *inner) {
      leads |= llvm::any_of(inner->getOperands(),
                            [&](Value operand) { return a.active.contains(operand); });
    });
    if (!leads)
      continue;
    a.loc = op->getLoc();
    Rule rule = findRule(op);
    if (!rule || isRefused(op) || failed(rule(op, gradients, a)))
      return op->emitError("has no gradient"), failure();
  }
  SmallVector<Value> found;
  for (Value x : xs)
    found.push_back(a.gradients.lookup(x));
  return found;
}

void weir::dropGivenGradients(Block &block) {
  SmallVector<WhileOp> all;
  block.walk([&](WhileOp op) {
    if (op->hasAttr(givenGradientAttr))
      all.push_back(op);
  });
  for (WhileOp op : all) {
    op->replaceAllUsesWith(op.getInits());
    op->erase();
  }
}

//===- Loops.cpp - building weir.if and weir.while ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"

using namespace mlir;
using namespace weir;
using namespace weir::frontend;

RankedTensorType weir::frontend::joinTypes(Type x, Type y) {
  auto a = dyn_cast<RankedTensorType>(x), b = dyn_cast<RankedTensorType>(y);
  if (!a || !b || a.getRank() != b.getRank() || a.getElementType() != b.getElementType())
    return {};
  SmallVector<int64_t> shape;
  for (auto [s, t] : llvm::zip(a.getShape(), b.getShape()))
    shape.push_back(s == t ? s : ShapedType::kDynamic);
  return RankedTensorType::get(shape, a.getElementType());
}

bool weir::frontend::haveOneElement(RankedTensorType x, RankedTensorType y) {
  auto isOne = [](RankedTensorType type) {
    return type.hasStaticShape() && type.getNumElements() == 1;
  };
  return x.getElementType() == y.getElementType() && isOne(x) && isOne(y);
}

Value weir::frontend::relax(TensorBuilder &t, Value v, Type type) {
  if (!v || v.getType() == type)
    return v;
  // A conversion to the same element type moves nothing; it only forgets sizes.
  return CastOp::create(t.b, t.loc, type, v, t.flag(false));
}

Value weir::frontend::makeEntries(TensorBuilder &t, Value count, RankedTensorType type) {
  return t.expandTo(t.scalar(type.getElementType(), 0),
                    t.concat({count, t.ints(type.getShape())}, 0));
}

Value weir::frontend::writeEntry(TensorBuilder &t, Value entries, Value index, Value v) {
  return t.op<ScatterNdOp>(entries, t.reshape(index, {1, 1}), t.unsqueeze(v, {0}), t.text("none"),
                           t.flag(false), t.flag(false));
}

namespace {

/// A region under construction: what is built goes to its block until `end`.
class RegionBuilder {
public:
  RegionBuilder(TensorBuilder &t, Region *region, TypeRange types)
      : t(t), guard(t.b), block(new Block) {
    region->push_back(block);
    for (Type type : types)
      block->addArgument(type, t.loc);
    t.b.setInsertionPointToEnd(block);
  }
  Values arguments() { return Values(block->args_begin(), block->args_end()); }
  void yield(ValueRange values) {
    OperationState state(t.loc, YieldOp::getOperationName());
    state.addOperands(values);
    t.b.create(state);
  }

private:
  TensorBuilder &t;
  OpBuilder::InsertionGuard guard;
  Block *block;
};

bool anyNull(const Values &values) {
  return llvm::any_of(values, [](Value v) { return !v; });
}

/// One try at a loop, with given types of the carried values. On success
/// `state` is complete; otherwise `types` are wider, or null for a failure.
bool tryLoop(TensorBuilder &t, Value count, bool conditional, size_t carried,
             SmallVector<Type> &types, LoopBody body, OperationState &state, bool &failed) {
  // Carried: number of the iteration, condition, values of the body.
  {
    RegionBuilder region(t, state.addRegion(), types);
    Values args = region.arguments();
    Value more = conditional ? args[1] : Value();
    if (count) {
      Value left = t.compare("lt", args[0], count);
      more = more ? t.op<AndOp>(left, more) : left;
    }
    if (!more)
      more = args[1];
    region.yield(more);
  }
  RegionBuilder region(t, state.addRegion(), types);
  Values args = region.arguments();
  FailureOr<Values> next = body(args[0], Values(args.begin() + 2, args.end()));
  failed = mlir::failed(next) || anyNull(*next);
  if (failed)
    return false;
  Values yielded = {t.add(args[0], 1.0), next->size() > carried ? next->back() : args[1]};
  for (size_t i = 0; i < carried; ++i) {
    RankedTensorType joined = joinTypes((*next)[i].getType(), types[i + 2]);
    if (!joined) {
      (void)emitError(t.loc, "a value of the loop changes its rank or type");
      failed = true;
      return false;
    }
    if (joined != types[i + 2]) {
      types[i + 2] = joined;
      next.value()[i] = nullptr;
      continue;
    }
    yielded.push_back(relax(t, (*next)[i], types[i + 2]));
  }
  if (yielded.size() != carried + 2)
    return false;
  region.yield(yielded);
  return true;
}

} // namespace

FailureOr<Values> weir::frontend::buildLoop(TensorBuilder &t, Value count, Value condition,
                                            Values inits, LoopBody body) {
  if (anyNull(inits))
    return failure();
  size_t carried = inits.size();
  SmallVector<Type> types = {RankedTensorType::get({}, t.b.getI64Type()),
                             RankedTensorType::get({}, t.b.getI1Type())};
  for (Value init : inits)
    types.push_back(init.getType());
  // Each try leaves at least one more dimension open, so they end.
  while (true) {
    OperationState state(t.loc, WhileOp::getOperationName());
    bool failed = false;
    if (!tryLoop(t, count, static_cast<bool>(condition), carried, types, body, state, failed)) {
      if (failed)
        return failure();
      continue;
    }
    Values operands = {t.intScalar(0), condition ? condition : t.scalar(t.b.getI1Type(), 1)};
    for (size_t i = 0; i < carried; ++i)
      operands.push_back(relax(t, inits[i], types[i + 2]));
    state.addOperands(operands);
    state.addTypes(types);
    Operation *made = t.b.create(state);
    return Values(made->result_begin() + 2, made->result_end());
  }
}

FailureOr<Values> weir::frontend::buildIf(TensorBuilder &t, Value condition,
                                          function_ref<FailureOr<Values>()> onTrue,
                                          function_ref<FailureOr<Values>()> onFalse) {
  if (!condition)
    return failure();
  OperationState state(t.loc, IfOp::getOperationName());
  state.addOperands(condition);
  Values values[2];
  for (int branch = 0; branch < 2; ++branch) {
    RegionBuilder region(t, state.addRegion(), {});
    FailureOr<Values> made = branch ? onFalse() : onTrue();
    if (failed(made) || anyNull(*made))
      return failure();
    values[branch] = *made;
  }
  if (values[0].size() != values[1].size())
    return emitError(t.loc, "the branches give different numbers of values");
  SmallVector<Type> types;
  for (auto [x, y] : llvm::zip(values[0], values[1])) {
    RankedTensorType joined = joinTypes(x.getType(), y.getType());
    if (!joined)
      return emitError(t.loc, "the branches give values of different types or "
                              "ranks: ")
             << x.getType() << " and " << y.getType();
    types.push_back(joined);
  }
  for (int branch = 0; branch < 2; ++branch) {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToEnd(&state.regions[branch]->front());
    Values yielded;
    for (auto [v, type] : llvm::zip(values[branch], types))
      yielded.push_back(relax(t, v, type));
    OperationState yield(t.loc, YieldOp::getOperationName());
    yield.addOperands(yielded);
    t.b.create(yield);
  }
  state.addTypes(types);
  Operation *made = t.b.create(state);
  return Values(made->result_begin(), made->result_end());
}

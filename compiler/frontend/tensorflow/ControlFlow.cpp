//===- ControlFlow.cpp - building weir.if and weir.while ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// The narrowest type that holds values of both; null for different ranks.
RankedTensorType GraphImporter::join(RankedTensorType x,
                                     RankedTensorType y) const {
  if (x.getRank() != y.getRank() || x.getElementType() != y.getElementType())
    return {};
  IntVector shape;
  for (auto [a, b] : llvm::zip(x.getShape(), y.getShape()))
    shape.push_back(a == b ? a : ShapedType::kDynamic);
  return RankedTensorType::get(shape, x.getElementType());
}

static RankedTensorType typeOf(const Imported &value) {
  return cast<RankedTensorType>(value.value.getType());
}

static bool isCarried(const Imported &value) {
  return (value.kind == Imported::Kind::Tensor ||
          value.kind == Imported::Kind::Array) &&
         value.value;
}

/// Truth of a scalar as If and While take it: numbers other than zero are true.
static Value truth(Value condition, NodeImport &t) {
  if (!condition)
    return {};
  if (!t.isBool(condition)) {
    if (t.isString(condition))
      return {};
    condition = t.compare("ne", condition, 0);
  }
  if (condition && t.rank(condition) != 0)
    condition = t.toScalar(condition);
  return condition;
}

Value GraphImporter::materialize(const ArrayInfo &info, OpBuilder &b,
                                 Location loc) {
  if (!info.shape || !info.element || isa<StringType>(info.element))
    return {};
  onnx::TensorBuilder t(b, loc);
  // A size that is not known yet is nothing: the first write makes room.
  IntVector shape = *info.shape;
  llvm::replace(shape, ShapedType::kDynamic, int64_t(0));
  auto known = constantIntegers(info.length);
  if (known && known->size() == 1 && known->front() >= 0) {
    shape.insert(shape.begin(), known->front());
    return t.splat(info.element, shape, 0);
  }
  Value sizes = t.concat({t.reshape(t.cast(info.length, b.getI64Type()), {1}),
                          t.ints(shape)},
                         0);
  return t.expandTo(t.scalar(info.element, 0), sizes);
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// Makes two lists of values agree in kind and type, at the ends of their
/// regions. False, reported, where they cannot.
bool GraphImporter::agree(std::vector<Imported> &xs, std::vector<Imported> &ys,
                          const Node &node, OpBuilder &bx, OpBuilder &by,
                          Location loc) {
  NodeImport tx(*this, node, {}, bx, loc), ty(*this, node, {}, by, loc);
  for (size_t i = 0; i < xs.size(); ++i) {
    Imported &x = xs[i], &y = ys[i];
    // A version-one variable that one side passes on is read there.
    for (auto [value, t] : {std::pair(&x, &tx), std::pair(&y, &ty)})
      if (value->kind == Imported::Kind::Resource && value->isRef) {
        t->inputs = {*value};
        *value = Imported(t->in(0));
      }
    if (x.kind == Imported::Kind::Array && y.kind == Imported::Kind::Array) {
      if (!x.value && y.value)
        x.value = materialize(*x.array, bx, loc);
      if (!y.value && x.value)
        y.value = materialize(*y.array, by, loc);
    }
    if (!isCarried(x) || !isCarried(y))
      continue;
    RankedTensorType joined = join(typeOf(x), typeOf(y));
    if (!joined) {
      (void)report(node, "W0251",
                   "found branches whose results differ in type or rank");
      return false;
    }
    x.value = tx.generalize(x.value, joined);
    y.value = ty.generalize(y.value, joined);
  }
  return true;
}

/// Zeros of a type, for the side on which nobody looks at a value.
static Value placeholderValue(RankedTensorType type, NodeImport &t) {
  IntVector shape(type.getShape());
  llvm::replace(shape, ShapedType::kDynamic, int64_t(0));
  if (isa<StringType>(type.getElementType())) {
    auto known = RankedTensorType::get(shape, type.getElementType());
    SmallVector<StringRef> strings(known.getNumElements(), "");
    return t.generalize(
        t.constant(DenseElementsAttr::get(known, ArrayRef<StringRef>(strings))),
        type);
  }
  return t.generalize(t.splat(type.getElementType(), shape, 0), type);
}

FailureOr<std::vector<Imported>>
GraphImporter::buildIf(Value condition, Part thenPart, Part elsePart,
                       const Node &node, OpBuilder &b, Location loc) {
  NodeImport t(*this, node, {}, b, loc);
  condition = truth(condition, t);
  if (!condition) {
    (void)report(node, "W0251", "found a condition that is no number");
    return failure();
  }
  if (auto known = constantIntegers(condition); known && known->size() == 1)
    return known->front() ? thenPart(b) : elsePart(b);

  mlir::Region thenRegion, elseRegion;
  OpBuilder bx(context), by(context);
  bx.setInsertionPointToEnd(&thenRegion.emplaceBlock());
  by.setInsertionPointToEnd(&elseRegion.emplaceBlock());
  auto xs = thenPart(bx);
  auto ys = elsePart(by);
  if (failed(xs) || failed(ys))
    return failure();
  if (xs->size() != ys->size()) {
    (void)report(node, "W0224", "found branches with different results");
    return failure();
  }
  // What only one side has gets a value nobody looks at on the other.
  NodeImport tx(*this, node, {}, bx, loc), ty(*this, node, {}, by, loc);
  for (size_t i = 0; i < xs->size(); ++i) {
    Imported &x = (*xs)[i], &y = (*ys)[i];
    if (x.kind == Imported::Kind::None && y.kind == Imported::Kind::Tensor)
      x = Imported(placeholderValue(typeOf(y), tx));
    else if (y.kind == Imported::Kind::None && x.kind == Imported::Kind::Tensor)
      y = Imported(placeholderValue(typeOf(x), ty));
  }
  if (!agree(*xs, *ys, node, bx, by, loc))
    return failure();
  SmallVector<Value> thenYield, elseYield;
  SmallVector<Type> types;
  for (size_t i = 0; i < xs->size(); ++i)
    if (isCarried((*xs)[i]) && isCarried((*ys)[i])) {
      thenYield.push_back((*xs)[i].value);
      elseYield.push_back((*ys)[i].value);
      types.push_back((*xs)[i].value.getType());
    }
  YieldOp::create(bx, loc, ValueRange(thenYield));
  YieldOp::create(by, loc, ValueRange(elseYield));
  OperationState state(loc, IfOp::getOperationName());
  state.addOperands(condition);
  state.addTypes(types);
  state.addRegion()->takeBody(thenRegion);
  state.addRegion()->takeBody(elseRegion);
  Operation *made = b.create(state);
  std::vector<Imported> results;
  unsigned next = 0;
  for (size_t i = 0; i < xs->size(); ++i) {
    Imported result = (*xs)[i];
    if (isCarried((*xs)[i]) && isCarried((*ys)[i]))
      result.value = made->getResult(next++);
    else if (result.kind == Imported::Kind::Resource &&
             result.value != (*ys)[i].value)
      result = Imported(); // either of two variables: not followed
    results.push_back(std::move(result));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// While
//===----------------------------------------------------------------------===//

static constexpr int kMaxAttempts = 8;

FailureOr<std::vector<Imported>>
GraphImporter::buildWhile(std::vector<Imported> inits, LoopPart condition,
                          LoopPart body, const Node &node, OpBuilder &b,
                          Location loc) {
  NodeImport t(*this, node, {}, b, loc);
  // A version-one variable that a loop carries is its value.
  for (Imported &init : inits)
    if (init.kind == Imported::Kind::Resource && init.isRef) {
      t.inputs = {init};
      init = Imported(t.in(0));
    }
  DiagnosticSink *outer = sink;
  for (int attempt = 0;; ++attempt) {
    // Types that turn out too narrow make an attempt void, with all it said.
    DiagnosticSink inner;
    sink = &inner;
    auto giveUp = [&]() -> FailureOr<std::vector<Imported>> {
      sink = outer;
      for (const weir::Diagnostic &diagnostic : inner.diagnostics())
        outer->report(diagnostic);
      return failure();
    };
    bool changed = false;
    // An array whose elements became known is made before the loop.
    auto settle = [&](Imported &init) {
      if (init.kind != Imported::Kind::Array || init.value ||
          !init.array->shape)
        return;
      init.value = materialize(*init.array, b, loc);
      changed |= static_cast<bool>(init.value);
    };

    mlir::Region bodyRegion, conditionRegion;
    auto open = [&](mlir::Region &region, std::vector<Imported> &arguments) {
      Block &block = region.emplaceBlock();
      arguments = inits;
      for (Imported &argument : arguments)
        if (isCarried(argument))
          argument.value = block.addArgument(argument.value.getType(), loc);
      // A region that no operation owns yet knows no context.
      OpBuilder builder(context);
      builder.setInsertionPointToEnd(&block);
      return builder;
    };
    std::vector<Imported> arguments;
    OpBuilder bodyBuilder = open(bodyRegion, arguments);
    auto next = body(arguments, bodyBuilder);
    for (Imported &init : inits)
      settle(init);
    if (failed(next) && !changed)
      return giveUp();
    if (succeeded(next) && next->size() != inits.size()) {
      (void)report(node, "W0224", "found a loop body with " +
                                      std::to_string(next->size()) +
                                      " results for " +
                                      std::to_string(inits.size()) +
                                      " variables");
      return giveUp();
    }
    if (succeeded(next) && !changed) {
      NodeImport in(*this, node, {}, bodyBuilder, loc);
      for (size_t i = 0; i < inits.size(); ++i) {
        Imported &to = inits[i], &from = (*next)[i];
        if (!isCarried(to))
          continue;
        if (from.kind == Imported::Kind::Resource && from.isRef) {
          in.inputs = {from};
          from = Imported(in.in(0));
        }
        if (!isCarried(from)) {
          (void)report(node, "W0251",
                       "found a loop variable that changes its kind");
          return giveUp();
        }
        RankedTensorType joined = join(typeOf(to), typeOf(from));
        if (!joined || attempt == kMaxAttempts) {
          (void)report(node, "W0251",
                       "found a loop variable whose rank or type changes; "
                       "possible is a change of sizes");
          return giveUp();
        }
        if (joined != typeOf(to)) {
          to.value = t.generalize(to.value, joined);
          changed = true;
        }
        from.value = in.generalize(from.value, joined);
      }
    }
    if (changed) {
      sink = outer;
      if (attempt < kMaxAttempts)
        continue;
      return giveUp();
    }

    OpBuilder conditionBuilder = open(conditionRegion, arguments);
    auto test = condition(arguments, conditionBuilder);
    if (failed(test))
      return giveUp();
    NodeImport ct(*this, node, {}, conditionBuilder, loc);
    ct.inputs = *test;
    Value flag = truth(test->empty() ? Value() : ct.in(0), ct);
    if (!flag) {
      (void)report(node, "W0251", "found a condition that is no number");
      return giveUp();
    }
    YieldOp::create(conditionBuilder, loc, ValueRange(flag));
    SmallVector<Value> carried, yields;
    SmallVector<Type> types;
    for (size_t i = 0; i < inits.size(); ++i)
      if (isCarried(inits[i])) {
        carried.push_back(inits[i].value);
        yields.push_back((*next)[i].value);
        types.push_back(inits[i].value.getType());
      }
    YieldOp::create(bodyBuilder, loc, ValueRange(yields));
    OperationState state(loc, WhileOp::getOperationName());
    state.addOperands(carried);
    state.addTypes(types);
    state.addRegion()->takeBody(conditionRegion);
    state.addRegion()->takeBody(bodyRegion);
    Operation *made = b.create(state);
    unsigned at = 0;
    for (Imported &init : inits)
      if (isCarried(init))
        init.value = made->getResult(at++);
    sink = outer;
    for (const weir::Diagnostic &diagnostic : inner.diagnostics())
      outer->report(diagnostic);
    return inits;
  }
}

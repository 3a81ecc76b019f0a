//===- ControlFlow.cpp - building weir.if and weir.while ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Arrays.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"

#include <utility>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// The narrowest type that holds values of both; null for different ranks.
RankedTensorType GraphImporter::join(RankedTensorType x, RankedTensorType y) const {
  if (x.getRank() != y.getRank() || x.getElementType() != y.getElementType())
    return {};
  IntVector shape;
  for (auto [a, b] : llvm::zip(x.getShape(), y.getShape()))
    shape.push_back(a == b ? a : ShapedType::kDynamic);
  return RankedTensorType::get(shape, x.getElementType());
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value weir::tf::truth(NodeImport &t, Value condition) {
  if (!condition)
    return {};
  // Of a tensor: whether it has any elements.
  if (t.rank(condition) > 0)
    return t.toScalar(t.compare("ne", t.sizeProduct(condition, 0, t.rank(condition)), 0));
  if (t.isBool(condition))
    return condition;
  if (t.isString(condition))
    return t.logicalNot(t.equalStrings(condition, t.stringScalar("")));
  // TensorFlow's list: no other type of scalars is true or false.
  Type type = t.element(condition);
  auto integer = dyn_cast<IntegerType>(type);
  if (type.isF32() || type.isF64() ||
      (integer && (!integer.isUnsigned() || integer.getWidth() == 8)))
    return t.compare("ne", condition, 0);
  std::string name;
  llvm::raw_string_ostream(name) << type;
  (void)t.invalid(
      "expected a scalar that is true or false: a string, a boolean, or a number of f32, "
      "f64, 8 bits or signed ones, got " +
      Twine(name));
  return {};
}

const Imported *GraphImporter::RegionState::find(ArrayInfo *info) const {
  for (const RegionState *at = this; at; at = at->outer)
    if (auto it = at->objects.find(info); it != at->objects.end())
      return &it->second;
  return nullptr;
}

std::vector<std::shared_ptr<ArrayInfo>> GraphImporter::RegionState::changed() const {
  std::vector<std::shared_ptr<ArrayInfo>> all;
  for (auto &[info, array] : objects)
    if (info->home != this)
      all.push_back(array.array);
  return all;
}

//===----------------------------------------------------------------------===//
// Values that meet
//===----------------------------------------------------------------------===//

FailureOr<bool> GraphImporter::unify(Imported &x, Imported &y, NodeImport &tx, NodeImport &ty) {
  // A version-one variable that is handed on is read there.
  for (auto [value, t] : {std::pair(&x, &tx), std::pair(&y, &ty)})
    if (value->kind == Imported::Kind::Resource && value->isRef) {
      t->inputs = {*value};
      *value = Imported(t->in(0));
    }
  // What only the run knows the rank of is handed on in a box.
  bool changed = false;
  for (auto [value, t] : {std::pair(&x, &tx), std::pair(&y, &ty)})
    if (value->isOpenRank()) {
      changed |= value == &x;
      t->inputs = {*value};
      *value = Imported(asBox(*t, 0));
    }
  if (x.kind == Imported::Kind::Array && y.kind == Imported::Kind::Array) {
    if (x.array != y.array) {
      if (!widen(*x.array, *y.array) || !widen(*y.array, *x.array))
        return failure();
    }
    if (x.parts.empty() && !y.parts.empty()) {
      x = makeUnwritten(x.array, tx.b, tx.loc);
      changed = !x.parts.empty();
    }
    if (y.parts.empty() && !x.parts.empty())
      y = makeUnwritten(y.array, ty.b, ty.loc);
    bool anySizes = llvm::any_of(x.parts, [](auto &p) { return !!p.sizes; }) ||
                    llvm::any_of(y.parts, [](auto &p) { return !!p.sizes; });
    if (anySizes) {
      auto sizes = [](const Imported &array) {
        return SmallVector<Value>(
            llvm::map_range(array.parts, [](const ArrayPart &part) { return part.sizes; }));
      };
      SmallVector<Value> before = sizes(x);
      if (!addSizes(x, tx.b, tx.loc) || !addSizes(y, ty.b, ty.loc))
        return failure();
      changed |= before != sizes(x);
    }
  }
  if (!x.isCarried() || !y.isCarried())
    return changed;
  SmallVector<Value *> xs = x.tensors(), ys = y.tensors();
  if (x.kind != y.kind || xs.size() != ys.size())
    return failure();
  for (auto [a, b] : llvm::zip(xs, ys)) {
    // Ranks that only the run tells apart.
    bool isBox[] = {isa<BoxType>(tx.element(*a)), isa<BoxType>(ty.element(*b))};
    if (x.kind == Imported::Kind::Tensor && tx.rank(*a) >= 0 && ty.rank(*b) >= 0 &&
        (isBox[0] != isBox[1] ||
         (tx.element(*a) == ty.element(*b) && tx.rank(*a) != ty.rank(*b)))) {
      changed |= !isBox[0];
      *a = isBox[0] ? *a : boxOf(tx, *a);
      *b = isBox[1] ? *b : boxOf(ty, *b);
      if (!*a || !*b)
        return failure();
      continue;
    }
    if (tx.rank(*a) < 0 || ty.rank(*b) < 0)
      return failure();
    RankedTensorType joined = join(typeOf(*a), typeOf(*b));
    if (!joined)
      return failure();
    changed |= joined != typeOf(*a);
    *a = tx.generalize(*a, joined);
    *b = ty.generalize(*b, joined);
  }
  return changed;
}

/// An operation that takes the bodies of two regions.
template <typename Op>
static Operation *createOfRegions(OpBuilder &b, Location loc, ValueRange operands, TypeRange types,
                                  Region &first, Region &second) {
  OperationState operation(loc, Op::getOperationName());
  operation.addOperands(operands);
  operation.addTypes(types);
  operation.addRegion()->takeBody(first);
  operation.addRegion()->takeBody(second);
  return b.create(operation);
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// Makes two lists of values agree in kind and type, at the ends of their
/// regions. False, reported, where they cannot.
bool GraphImporter::agree(std::vector<Imported> &xs, std::vector<Imported> &ys, const Node &node,
                          OpBuilder &bx, OpBuilder &by, Location loc) {
  NodeImport tx(*this, node, {}, bx, loc), ty(*this, node, {}, by, loc);
  for (size_t i = 0; i < xs.size(); ++i)
    if (failed(unify(xs[i], ys[i], tx, ty))) {
      (void)report(node, "W0251", "found branches whose results differ in type or rank");
      return false;
    }
  return true;
}

/// Zeros of a type, for the side on which nobody looks at a value.
static Value placeholderValue(RankedTensorType type, NodeImport &t) {
  IntVector shape(type.getShape());
  llvm::replace(shape, ShapedType::kDynamic, int64_t(0));
  return t.generalize(t.splat(type.getElementType(), shape, 0), type);
}

FailureOr<std::vector<Imported>> GraphImporter::buildIf(Value condition, Part thenPart,
                                                        Part elsePart, const Node &node,
                                                        OpBuilder &b, Location loc) {
  NodeImport t(*this, node, {}, b, loc);
  condition = truth(t, condition);
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
  RegionState thenState(state), elseState(state);
  state = &thenState;
  auto xs = thenPart(bx);
  state = &elseState;
  auto ys = elsePart(by);
  state = thenState.outer;
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
      x = Imported(placeholderValue(typeOf(y.value), tx));
    else if (y.kind == Imported::Kind::None && x.kind == Imported::Kind::Tensor)
      y = Imported(placeholderValue(typeOf(x.value), ty));
  }
  // Objects that a side changed, behind the results.
  size_t declared = xs->size();
  std::vector<std::shared_ptr<ArrayInfo>> objects = thenState.changed();
  for (std::shared_ptr<ArrayInfo> &object : elseState.changed())
    if (!llvm::is_contained(objects, object))
      objects.push_back(object);
  for (std::shared_ptr<ArrayInfo> &object : objects)
    for (auto [side, values] : {std::pair(&thenState, &*xs), std::pair(&elseState, &*ys)}) {
      const Imported *found = side->find(object.get());
      values->push_back(found ? *found : Imported::makeArray(object));
    }
  if (!agree(*xs, *ys, node, bx, by, loc))
    return failure();
  SmallVector<Value> thenYield, elseYield;
  SmallVector<Type> types;
  for (size_t i = 0; i < xs->size(); ++i)
    if ((*xs)[i].isCarried() && (*ys)[i].isCarried())
      for (auto [x, y] : llvm::zip((*xs)[i].tensors(), (*ys)[i].tensors())) {
        thenYield.push_back(*x);
        elseYield.push_back(*y);
        types.push_back(x->getType());
      }
  YieldOp::create(bx, loc, ValueRange(thenYield));
  YieldOp::create(by, loc, ValueRange(elseYield));
  Operation *made = createOfRegions<IfOp>(b, loc, condition, types, thenRegion, elseRegion);
  std::vector<Imported> results;
  unsigned next = 0;
  for (size_t i = 0; i < xs->size(); ++i) {
    Imported result = (*xs)[i];
    if (result.isCarried() && (*ys)[i].isCarried()) {
      for (Value *tensor : result.tensors())
        *tensor = made->getResult(next++);
    } else if (result.kind == Imported::Kind::Resource && result.value != (*ys)[i].value) {
      result = Imported(); // either of two variables: not followed
    }
    results.push_back(std::move(result));
  }
  for (size_t i = declared; i < results.size(); ++i)
    state->objects[results[i].array.get()] = results[i];
  results.resize(declared);
  return results;
}

//===----------------------------------------------------------------------===//
// While
//===----------------------------------------------------------------------===//

static constexpr int kMaxAttempts = 8;

/// A block whose arguments are what is carried; at its end.
static OpBuilder openRegion(mlir::Region &region, const std::vector<Imported> &inits,
                            std::vector<Imported> &arguments, const OpBuilder &b, Location loc) {
  Block &block = region.emplaceBlock();
  arguments = inits;
  for (Imported &argument : arguments)
    if (argument.isCarried())
      for (Value *tensor : argument.tensors())
        *tensor = block.addArgument(tensor->getType(), loc);
  // A region that no operation owns yet knows no context.
  OpBuilder builder(b.getContext());
  builder.setInsertionPointToEnd(&block);
  return builder;
}

FailureOr<std::vector<Imported>> GraphImporter::runPart(LoopPart part,
                                                        std::vector<Imported> arguments,
                                                        size_t declared, RegionState &inside,
                                                        OpBuilder &b) {
  for (size_t i = declared; i < arguments.size(); ++i)
    inside.objects[arguments[i].array.get()] = arguments[i];
  arguments.resize(declared);
  RegionState *outside = std::exchange(state, &inside);
  auto values = part(std::move(arguments), b);
  state = outside;
  return values;
}

/// The loop of finished regions; what is carried becomes its results.
static void createWhile(std::vector<Imported> &inits, mlir::Region &condition, mlir::Region &body,
                        OpBuilder &b, Location loc) {
  SmallVector<Value> carried;
  SmallVector<Type> types;
  for (Imported &init : inits)
    if (init.isCarried())
      for (Value *tensor : init.tensors()) {
        carried.push_back(*tensor);
        types.push_back(tensor->getType());
      }
  Operation *made = createOfRegions<WhileOp>(b, loc, carried, types, condition, body);
  unsigned at = 0;
  for (Imported &init : inits)
    if (init.isCarried())
      for (Value *tensor : init.tensors())
        *tensor = made->getResult(at++);
}

bool GraphImporter::carryChanged(std::vector<Imported> &inits, size_t declared,
                                 const RegionState &inside, NodeImport &t) {
  bool added = false;
  for (std::shared_ptr<ArrayInfo> &object : inside.changed())
    if (llvm::none_of(ArrayRef<Imported>(inits).drop_front(declared),
                      [&](const Imported &i) { return i.array == object; })) {
      const Imported *before = inside.outer->find(object.get());
      if (!before && object->base)
        inits.push_back(unwrittenGradients(object, t));
      else
        inits.push_back(before ? *before : Imported::makeArray(object));
      added = true;
    }
  return added;
}

FailureOr<bool> GraphImporter::widenCarried(std::vector<Imported> &inits,
                                            std::vector<Imported> &next, const Node &node,
                                            NodeImport &t, OpBuilder &b, bool mayWiden) {
  NodeImport in(*this, node, {}, b, t.loc);
  bool changed = false;
  for (size_t i = 0; i < inits.size(); ++i) {
    if (!inits[i].isCarried())
      continue;
    // The type of the variable, as it is and as it becomes.
    FailureOr<bool> wider = unify(inits[i], next[i], t, in);
    if (succeeded(wider) && !next[i].isCarried()) {
      (void)report(node, "W0251", "found a loop variable that changes its kind");
      return failure();
    }
    if (failed(wider) || (*wider && !mayWiden)) {
      (void)report(node, "W0251",
                   "expected a loop variable of one rank and type, got one that changes them");
      return failure();
    }
    changed |= *wider;
  }
  return changed;
}

FailureOr<std::vector<Imported>> GraphImporter::buildWhile(std::vector<Imported> inits,
                                                           LoopPart condition, LoopPart body,
                                                           const Node &node, OpBuilder &b,
                                                           Location loc) {
  NodeImport t(*this, node, {}, b, loc);
  // A version-one variable that a loop carries is its value.
  for (Imported &init : inits)
    if (init.kind == Imported::Kind::Resource && init.isRef) {
      t.inputs = {init};
      init = Imported(t.in(0));
    }
  // Behind them come the objects that the body changes, once that is known.
  const size_t declared = inits.size();
  RegionState *outside = state;
  DiagnosticSink *outer = sink;
  for (int attempt = 0;; ++attempt) {
    // Types that turn out too narrow make an attempt void, with all it said.
    DiagnosticSink inner;
    sink = &inner;
    auto giveUp = [&]() -> FailureOr<std::vector<Imported>> {
      sink = outer;
      state = outside;
      for (const weir::Diagnostic &diagnostic : inner.diagnostics())
        outer->report(diagnostic);
      return failure();
    };
    bool changed = false;
    // An array whose elements became known is made before the loop.
    auto settle = [&](Imported &init) {
      if (init.kind != Imported::Kind::Array || !init.parts.empty())
        return;
      init = makeUnwritten(init.array, b, loc);
      changed |= !init.parts.empty();
    };

    mlir::Region bodyRegion, conditionRegion;
    std::vector<Imported> arguments;
    OpBuilder bodyBuilder = openRegion(bodyRegion, inits, arguments, b, loc);
    RegionState bodyState(outside);
    auto next = runPart(body, arguments, declared, bodyState, bodyBuilder);
    changed |= carryChanged(inits, declared, bodyState, t);
    for (Imported &init : inits)
      settle(init);
    if (failed(next) && !changed)
      return giveUp();
    if (succeeded(next) && next->size() != declared) {
      (void)report(node, "W0224",
                   "found a loop body with " + std::to_string(next->size()) + " results for " +
                       std::to_string(declared) + " variables");
      return giveUp();
    }
    if (succeeded(next) && !changed) {
      for (size_t i = declared; i < inits.size(); ++i)
        next->push_back(*bodyState.find(inits[i].array.get()));
      FailureOr<bool> wider =
          widenCarried(inits, *next, node, t, bodyBuilder, /*mayWiden=*/attempt < kMaxAttempts);
      if (failed(wider))
        return giveUp();
      changed |= *wider;
    }
    if (changed) {
      sink = outer;
      if (attempt < kMaxAttempts)
        continue;
      return giveUp();
    }

    OpBuilder conditionBuilder = openRegion(conditionRegion, inits, arguments, b, loc);
    RegionState conditionState(outside);
    auto test = runPart(condition, arguments, declared, conditionState, conditionBuilder);
    if (failed(test))
      return giveUp();
    NodeImport ct(*this, node, {}, conditionBuilder, loc);
    ct.inputs = *test;
    Value flag = truth(ct, test->empty() ? Value() : ct.in(0));
    if (!flag) {
      (void)report(node, "W0251", "found a condition that is no number");
      return giveUp();
    }
    YieldOp::create(conditionBuilder, loc, ValueRange(flag));
    SmallVector<Value> yields;
    for (size_t i = 0; i < inits.size(); ++i)
      if (inits[i].isCarried())
        for (Value *to : (*next)[i].tensors())
          yields.push_back(*to);
    YieldOp::create(bodyBuilder, loc, ValueRange(yields));
    createWhile(inits, conditionRegion, bodyRegion, b, loc);
    sink = outer;
    for (const weir::Diagnostic &diagnostic : inner.diagnostics())
      outer->report(diagnostic);
    for (size_t i = declared; i < inits.size(); ++i)
      state->objects[inits[i].array.get()] = inits[i];
    inits.resize(declared);
    return inits;
  }
}

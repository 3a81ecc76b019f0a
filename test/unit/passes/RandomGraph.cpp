//===- RandomGraph.cpp - graphs to try passes on --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/passes/RandomGraph.h"
#include "dialects/weir/ConstantEvaluator.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weir;

namespace weir::test {

RandomGraph::RandomGraph(MLIRContext &context, unsigned seed) : context(context), random(seed) {
  Builder b(&context);
  integers = RankedTensorType::get({2}, b.getI32Type());
  floats = RankedTensorType::get({2}, b.getF32Type());
  count = RankedTensorType::get({}, b.getI32Type());
  flag = RankedTensorType::get({}, b.getI1Type());
}

static Operation *makeOp(OpBuilder &b, StringRef name, Type result, ValueRange operands,
                         ArrayRef<NamedAttribute> attributes = {}) {
  OperationState state(b.getUnknownLoc(), ("weir." + name).str());
  state.addOperands(operands);
  state.addTypes(result);
  state.addAttributes(attributes);
  return b.create(state);
}

Value RandomGraph::constant(OpBuilder &b, Type type, int64_t value) {
  auto tensor = cast<RankedTensorType>(type);
  Attribute element = isa<FloatType>(tensor.getElementType())
                          ? Attribute(b.getF32FloatAttr(value))
                          : b.getIntegerAttr(tensor.getElementType(), value);
  return ConstantOp::create(b, b.getUnknownLoc(),
                            cast<TypedAttr>(DenseElementsAttr::get(tensor, element)));
}

Value RandomGraph::any(const Pool &pool, Type type, OpBuilder &b) {
  Pool fitting;
  for (Value value : pool)
    if (value.getType() == type)
      fitting.push_back(value);
  if (fitting.empty() || below(8) == 0)
    return constant(b, type, int(below(4)) - 1);
  // The older the likelier: equal terms come about by chance.
  return fitting[std::min<size_t>(below(fitting.size()), below(fitting.size()))];
}

Value RandomGraph::makeIf(OpBuilder &b, const Pool &pool, unsigned depth) {
  Value x = any(pool, count, b), y = any(pool, count, b);
  Value condition =
      makeOp(b, "compare", flag, {x, y}, b.getNamedAttr("predicate", b.getStringAttr("lt")))
          ->getResult(0);
  Type type = below(2) ? integers : floats;
  auto op = IfOp::create(b, b.getUnknownLoc(), type, condition);
  for (Region *region : {&op.getThenRegion(), &op.getElseRegion()}) {
    OpBuilder inner = OpBuilder::atBlockEnd(b.createBlock(region));
    Pool made = pool;
    fill(inner, pool, 1 + below(4), depth + 1, &made);
    YieldOp::create(inner, b.getUnknownLoc(), any(made, type, inner));
  }
  b.setInsertionPointAfter(op);
  return op.getResult(0);
}

void RandomGraph::makeWhile(OpBuilder &b, const Pool &pool, unsigned depth, Pool &made) {
  SmallVector<Value> inits{constant(b, count, 1 + below(3))};
  for (unsigned i = 0, n = 1 + below(4); i < n; ++i) {
    Value init = any(pool, below(2) ? integers : floats, b);
    // Often the same: what a loop carries twice.
    inits.push_back(i && below(2) ? inits.back() : init);
  }
  SmallVector<Type> types(ValueRange(inits).getTypes());
  SmallVector<Location> locations(types.size(), b.getUnknownLoc());
  auto op = WhileOp::create(b, b.getUnknownLoc(), types, inits);
  {
    OpBuilder inner(b);
    Block *block = inner.createBlock(&op.getCondition(), {}, types, locations);
    Value go = makeOp(inner, "compare", flag, {block->getArgument(0), constant(inner, count, 0)},
                      b.getNamedAttr("predicate", b.getStringAttr("gt")))
                   ->getResult(0);
    YieldOp::create(inner, b.getUnknownLoc(), go);
  }
  OpBuilder inner(b);
  Block *block = inner.createBlock(&op.getBody(), {}, types, locations);
  Pool visible(block->args_begin() + 1, block->args_end()), all = visible;
  visible.insert(visible.end(), pool.begin(), pool.end());
  fill(inner, visible, 1 + below(5), depth + 1, &all);
  SmallVector<Value> next{
      makeOp(inner, "sub", count, {block->getArgument(0), constant(inner, count, 1)})
          ->getResult(0)};
  for (Type type : ArrayRef(types).drop_front())
    next.push_back(any(all, type, inner));
  YieldOp::create(inner, b.getUnknownLoc(), next);
  made.insert(made.end(), op.result_begin() + 1, op.result_end());
}

void RandomGraph::fill(OpBuilder &b, Pool pool, unsigned operations, unsigned depth, Pool *out) {
  Pool made;
  auto variable = [&] {
    return makeOp(b, "variable", ResourceType::get(&context), {},
                  {b.getNamedAttr("name", b.getStringAttr(below(2) ? "v" : "w")),
                   b.getNamedAttr("container", b.getStringAttr("")),
                   b.getNamedAttr("type", TypeAttr::get(integers))})
        ->getResult(0);
  };
  for (unsigned i = 0; i < operations; ++i) {
    size_t before = made.size();
    Type type = below(3) == 0 ? floats : below(4) ? integers : count;
    switch (below(depth < 2 ? 14 : 10)) {
    case 0:
      made.push_back(makeOp(b, "variable_read", integers, variable())->getResult(0));
      break;
    case 1: {
      Value target = variable(), value = any(pool, integers, b);
      makeOp(b, "variable_assign", TokenType::get(&context), {target, value});
      break;
    }
    case 2: {
      StringRef unary[] = {"neg", "abs", "neg", "relu"};
      made.push_back(makeOp(b, unary[below(4)], type, any(pool, type, b))->getResult(0));
      break;
    }
    case 3: {
      Type flags = RankedTensorType::get({2}, b.getI1Type());
      type = type == count ? integers : type;
      StringRef predicates[] = {"lt", "gt", "le", "ge", "eq", "ne"};
      Value condition = makeOp(b, "compare", flags, {any(pool, type, b), any(pool, type, b)},
                               b.getNamedAttr("predicate", b.getStringAttr(predicates[below(6)])))
                            ->getResult(0);
      made.push_back(makeOp(b, "select", type, {condition, any(pool, type, b), any(pool, type, b)})
                         ->getResult(0));
      break;
    }
    case 10:
    case 11:
      made.push_back(makeIf(b, pool, depth));
      break;
    case 12:
    case 13:
      makeWhile(b, pool, depth, made);
      break;
    default: {
      StringRef binary[] = {"add", "sub", "mul", "maximum", "minimum", "add", "sub", "and", "xor"};
      StringRef name = binary[below(type == floats ? 7 : 9)];
      made.push_back(makeOp(b, name, type, {any(pool, type, b), any(pool, type, b)})->getResult(0));
    }
    }
    pool.insert(pool.end(), made.begin() + before, made.end());
  }
  out->insert(out->end(), made.begin(), made.end());
}

OwningOpRef<ModuleOp> RandomGraph::make(unsigned operations) {
  OpBuilder b(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> inputs{integers, integers, floats, floats, count, count};
  auto function = func::FuncOp::create(b, b.getUnknownLoc(), "f", b.getFunctionType(inputs, {}));
  Block *body = function.addEntryBlock();
  b.setInsertionPointToEnd(body);
  Pool pool(body->args_begin(), body->args_end()), all;
  fill(b, pool, operations, 0, &all);
  func::ReturnOp::create(b, b.getUnknownLoc(), all);
  function.setType(b.getFunctionType(inputs, ValueRange(all).getTypes()));
  return module;
}

Value RandomGraph::again(OpBuilder &b, Value value, std::mt19937 &random,
                         std::map<const void *, Value> &done) {
  auto it = done.find(value.getAsOpaquePointer());
  if (it != done.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  if (!op)
    return value;
  if (isa<VariableReadOp, VariableOp>(op))
    return value;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, again(b, operand, random, done));
  Operation *copy = b.clone(*op, mapping);
  // Equal operations inside of regions, in other words.
  copy->walk([&](Operation *inner) {
    if (inner->hasTrait<OpTrait::IsCommutative>() && random() % 2) {
      Value first = inner->getOperand(0);
      inner->setOperand(0, inner->getOperand(1));
      inner->setOperand(1, first);
    }
  });
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults())) {
    Value other = to;
    if (isa<TensorType>(to.getType()) && !isa<ConstantOp>(op) && random() % 2 &&
        !getElementTypeOrSelf(to.getType()).isInteger(1))
      other = makeOp(b, "neg", to.getType(), makeOp(b, "neg", to.getType(), to)->getResult(0))
                  ->getResult(0);
    done[from.getAsOpaquePointer()] = other;
  }
  return done[value.getAsOpaquePointer()];
}

//===----------------------------------------------------------------------===//
// Interpreter
//===----------------------------------------------------------------------===//

namespace {
struct Interpreter {
  llvm::DenseMap<Value, Attribute> values;
  std::map<std::string, Attribute> variables;

  bool truth(Value value) { return cast<DenseElementsAttr>(values[value]).getSplatValue<bool>(); }

  bool run(Block &block) {
    for (Operation &op : block)
      if (!run(op))
        return false;
    return true;
  }

  void hand(ValueRange from, ValueRange to) {
    SmallVector<Attribute> all;
    for (Value value : from)
      all.push_back(values[value]);
    for (auto [value, target] : llvm::zip(all, to))
      values[target] = value;
  }

  bool run(Operation &op) {
    if (op.hasTrait<OpTrait::IsTerminator>() || isa<VariableOp>(op))
      return true;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      values[constant] = constant.getValue();
      return true;
    }
    if (auto read = dyn_cast<VariableReadOp>(op)) {
      Attribute &value = variables[nameOf(read.getResource())];
      if (!value)
        value = DenseElementsAttr::get(cast<ShapedType>(read.getType()), int32_t(7));
      values[read] = value;
      return true;
    }
    if (auto assign = dyn_cast<VariableAssignOp>(op)) {
      variables[nameOf(assign.getResource())] = values[assign.getValue()];
      return true;
    }
    if (auto conditional = dyn_cast<IfOp>(op)) {
      Block &way = (truth(conditional.getCondition()) ? conditional.getThenRegion()
                                                      : conditional.getElseRegion())
                       .front();
      if (!run(way))
        return false;
      hand(way.getTerminator()->getOperands(), op.getResults());
      return true;
    }
    if (auto loop = dyn_cast<WhileOp>(op)) {
      Block &condition = loop.getCondition().front(), &body = loop.getBody().front();
      hand(loop.getInits(), condition.getArguments());
      for (int iteration = 0;; ++iteration) {
        if (iteration > 100 || !run(condition))
          return false;
        hand(condition.getArguments(), body.getArguments());
        if (!truth(condition.getTerminator()->getOperand(0)))
          break;
        if (!run(body))
          return false;
        hand(body.getTerminator()->getOperands(), condition.getArguments());
      }
      hand(condition.getArguments(), op.getResults());
      return true;
    }
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    auto results = evaluateConstants(&op, operands);
    if (!results)
      return false;
    values[op.getResult(0)] = results->front();
    return true;
  }

  static std::string nameOf(Value resource) {
    return resource.getDefiningOp<VariableOp>().getName().str();
  }
};

std::string text(Attribute value) {
  // Sign and payload of NaN are nobody's business.
  auto dense = cast<DenseElementsAttr>(value);
  std::string out;
  llvm::raw_string_ostream os(out);
  if (isa<FloatType>(dense.getElementType())) {
    for (const APFloat &x : dense.getValues<APFloat>())
      if (x.isNaN())
        os << "nan ";
      else
        os << x.bitcastToAPInt() << ' ';
  } else {
    os << value;
  }
  return out;
}
} // namespace

std::vector<std::string> interpret(func::FuncOp function, ArrayRef<Attribute> arguments) {
  Interpreter interpreter;
  Block &body = function.getBody().front();
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    interpreter.values[argument] = value;
  if (!interpreter.run(body))
    return {};
  std::vector<std::string> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(text(interpreter.values[value]));
  for (auto &[name, value] : interpreter.variables)
    results.push_back(name + " " + text(value));
  return results;
}

} // namespace weir::test

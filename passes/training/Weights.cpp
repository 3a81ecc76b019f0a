//===- Weights.cpp - weights of a model as variables ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/training/Training.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weir;
using namespace weir::training;

static bool isTrainableType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && isa<FloatType>(tensor.getElementType());
}

/// Variables that `function` reads and does not change, each with one read.
static void findVariables(func::FuncOp function, std::vector<Weight> &weights) {
  using Key = std::pair<StringRef, StringRef>;
  llvm::MapVector<Key, SmallVector<VariableReadOp>> reads;
  llvm::DenseSet<Key> changed;
  auto keyOf = [](Value resource) -> std::optional<Key> {
    auto variable = resource.getDefiningOp<VariableOp>();
    if (!variable)
      return std::nullopt;
    return Key(variable.getContainer(), variable.getName());
  };
  function.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      std::optional<Key> key = isa<ResourceType>(operand.getType()) ? keyOf(operand) : std::nullopt;
      if (!key)
        continue;
      if (auto read = dyn_cast<VariableReadOp>(op); read && isTrainableType(read.getType()))
        reads[*key].push_back(read);
      else
        changed.insert(*key);
    }
  });
  for (auto &[key, found] : reads) {
    auto made = found.front().getResource().getDefiningOp<VariableOp>();
    auto type = cast<RankedTensorType>(found.front().getType());
    if (changed.contains(key) ||
        llvm::any_of(found, [&](VariableReadOp read) { return read.getType() != type; }))
      continue;
    OpBuilder b = OpBuilder::atBlockBegin(&function.front());
    auto head = cast<VariableOp>(b.clone(*made));
    auto value = VariableReadOp::create(b, made.getLoc(), type, head.getResource(), ValueRange());
    for (VariableReadOp read : found) {
      read.replaceAllUsesWith(value.getResult());
      read.erase();
    }
    weights.push_back({key.second.str(), key.first.str(), type, head.getInitialAttr(),
                       value.getResult(), !head->hasAttr(notTrainedAttr)});
  }
}

std::vector<Weight> training::findWeights(func::FuncOp function) {
  std::vector<Weight> weights;
  findVariables(function, weights);
  std::set<std::string> names;
  for (const Weight &weight : weights)
    names.insert(weight.name);
  function.walk([&](GateOp gate) {
    auto name = gate->getAttrOfType<StringAttr>(weightAttr);
    auto constant = name ? gate.getValue().getDefiningOp<ConstantOp>() : ConstantOp();
    if (!constant || !isTrainableType(gate.getType()))
      return;
    std::string unique = name.str();
    for (int number = 2; !names.insert(unique).second; ++number)
      unique = name.str() + "_" + std::to_string(number);
    weights.push_back({unique, "", cast<RankedTensorType>(gate.getType()), constant.getValue(),
                       gate.getResult()});
    weights.back().isPart = gate->hasAttr(weightPartAttr);
  });
  llvm::DenseSet<Value> statistics;
  function.walk([&](BatchNormOp op) {
    statistics.insert(op.getMean());
    statistics.insert(op.getVariance());
  });
  for (Weight &weight : weights)
    weight.isStatistic = statistics.contains(weight.value);
  return weights;
}

State training::variable(OpBuilder &b, Location loc, StringRef name, StringRef container,
                         RankedTensorType type, Attribute initial) {
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.getInsertionBlock();
  while (!isa<func::FuncOp>(block->getParentOp()))
    block = block->getParentOp()->getBlock();
  b.setInsertionPointToStart(block);
  auto made = VariableOp::create(b, loc, ResourceType::get(b.getContext()), b.getStringAttr(name),
                                 b.getStringAttr(container), TypeAttr::get(type), initial);
  auto read = VariableReadOp::create(b, loc, type, made.getResource(), ValueRange());
  return {made.getResource(), read.getResult()};
}

State training::variable(OpBuilder &b, Location loc, StringRef name, RankedTensorType type,
                         double initial) {
  Type element = type.getElementType();
  Attribute value = isa<FloatType>(element)
                        ? Attribute(b.getFloatAttr(element, initial))
                        : Attribute(b.getIntegerAttr(element, static_cast<int64_t>(initial)));
  return variable(b, loc, name, "", type, DenseElementsAttr::get(type, value));
}

void training::assign(Adjoint &a, const State &state, Value value) {
  VariableAssignOp::create(a.b, a.loc, TokenType::get(a.b.getContext()), state.resource, value,
                           ValueRange());
}

Value training::scalar(Adjoint &a, Type element, double value) {
  Attribute attribute = isa<FloatType>(element)
                            ? Attribute(a.b.getFloatAttr(element, value))
                            : Attribute(a.b.getIntegerAttr(element, static_cast<int64_t>(value)));
  return ConstantOp::create(a.b, a.loc,
                            DenseElementsAttr::get(RankedTensorType::get({}, element), attribute));
}

void training::settleWeights(std::vector<Weight> &weights, const std::set<std::string> &variables) {
  for (Weight &weight : weights) {
    auto gate = weight.value.getDefiningOp<GateOp>();
    if (!gate)
      continue;
    Value settled = gate.getValue();
    if (variables.count(weight.name)) {
      OpBuilder b(gate);
      settled =
          variable(b, gate.getLoc(), weight.name, weight.container, weight.type, weight.initial)
              .value;
    }
    gate.getResult().replaceAllUsesWith(settled);
    gate.erase();
    weight.value = settled;
  }
}

void training::dropMarks(func::FuncOp function) {
  SmallVector<GateOp> marks;
  function.walk([&](Operation *op) {
    if (auto gate = dyn_cast<GateOp>(op); gate && isTrainingMark(gate))
      marks.push_back(gate);
    for (StringRef name : {momentumAttr, unbiasedAttr, batchStatisticsAttr, notTrainedAttr})
      op->removeAttr(name);
  });
  for (GateOp gate : marks) {
    gate.getResult().replaceAllUsesWith(gate.getValue());
    gate.erase();
  }
}

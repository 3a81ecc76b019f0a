//===- FreezeVariables.cpp - variables that nothing changes -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Target.h"
#include "passes/analysis/Variables.h"
#include "passes/simplify/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace weir {
#define GEN_PASS_DEF_WEIRFREEZEVARIABLESPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// What the module does with one variable, whatever the entry.
struct Variable {
  TypedAttr value; ///< in a new session; null: it has none, or not one for all
  SmallVector<VariableReadOp> reads;
  bool isOnlyRead = true;
};

/// The variable's value as a constant; null where it says less or more than the variable does.
TypedAttr initialValue(VariableOp variable) {
  auto value = dyn_cast_if_present<TypedAttr>(variable.getInitial().value_or(Attribute()));
  return value && value.getType() == variable.getType() ? value : TypedAttr();
}

void take(Variable &known, VariableOp variable, bool isFirst) {
  TypedAttr value = initialValue(variable);
  known.value = isFirst || known.value == value ? value : TypedAttr();
  for (Operation *user : variable->getUsers()) {
    auto read = dyn_cast<VariableReadOp>(user);
    known.isOnlyRead &= read && read.getType() == variable.getType();
    if (read)
      known.reads.push_back(read);
  }
}

/// Whether devices are of several tasks: these are planned around where each variable lies.
bool hasTasks(ModuleOp module) {
  auto cluster = module->getAttrOfType<DictionaryAttr>("weir.cluster");
  auto devices = cluster ? cluster.getAs<ArrayAttr>("devices") : ArrayAttr();
  llvm::StringSet<> tasks;
  if (devices)
    for (auto device : devices.getAsRange<DictionaryAttr>())
      tasks.insert(device.getAs<StringAttr>("name").getValue().rsplit("/device:").first);
  return tasks.size() > 1;
}

/// Whether a checkpoint of the program has something beside variables: where iterators stand.
bool hasIterators(ModuleOp module) {
  return module
      .walk([](CustomCallOp call) {
        return call.getCallee().starts_with("weir_kernel_iterator_") ? WalkResult::interrupt()
                                                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

struct FreezeVariablesPass : weir::impl::WeirFreezeVariablesPassBase<FreezeVariablesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto said = module->getAttrOfType<BoolAttr>(freezeAttribute);
    if (said ? !said.getValue() : hasTasks(module) || hasIterators(module))
      return;
    llvm::MapVector<VariableName, Variable> variables;
    module.walk([&](VariableOp variable) {
      VariableName name(variable.getNameAttr(), variable.getContainerAttr());
      bool isFirst = !variables.contains(name);
      take(variables[name], variable, isFirst);
    });
    // A program that changes a variable is one whose state is saved: all of it, then.
    if (!said && llvm::any_of(variables, [](auto &known) { return !known.second.isOnlyRead; }))
      return;
    int64_t frozen = 0;
    for (auto &[name, known] : variables)
      if (known.value && known.isOnlyRead) {
        ++frozen;
        for (VariableReadOp read : known.reads)
          freeze(read, known.value);
      }
    if (frozen)
      module->setAttr(frozenAttribute, Builder(module.getContext()).getI64IntegerAttr(frozen));
  }

  static void freeze(VariableReadOp read, TypedAttr value) {
    OpBuilder b(read);
    Value constant = ConstantOp::create(b, read.getLoc(), value);
    if (!read.getTokens().empty())
      constant = GateOp::create(b, read.getLoc(), read.getType(), constant, read.getTokens());
    read.replaceAllUsesWith(constant);
    auto variable = read.getResource().getDefiningOp<VariableOp>();
    read.erase();
    if (variable->use_empty())
      variable.erase();
  }
};

} // namespace

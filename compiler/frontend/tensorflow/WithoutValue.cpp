//===- WithoutValue.cpp - what nothing gives a value ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/InitialState.h"

#include "dialects/weir/NodeName.h"

#include <set>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// The name of a table whose handle is a constant, "" for others. A handle is a
/// letter, the container, a zero, a letter, and the name.
static std::string constantHandle(Value handle) { return knownString(handle).value_or(""); }

std::vector<weir::Diagnostic> weir::tf::readsWithoutValue(func::FuncOp entry,
                                                          const std::string &file) {
  std::set<std::string> assigned, filled, reported;
  auto module = entry->getParentOfType<ModuleOp>();
  module.walk([&](Operation *op) {
    if (auto variable = dyn_cast<VariableOp>(op); variable && variable.getInitial())
      assigned.insert(variableKey(variable));
    if (auto assign = dyn_cast<VariableAssignOp>(op))
      if (auto variable = assign.getResource().getDefiningOp<VariableOp>())
        assigned.insert(variableKey(variable));
    if (auto call = dyn_cast<CustomCallOp>(op);
        call && call.getCallee() == "weir_kernel_table_insert")
      filled.insert(constantHandle(call.getOperand(0)));
  });
  std::vector<weir::Diagnostic> found;
  auto report = [&](Operation *op, const std::string &what) {
    if (!reported.insert(what).second)
      return;
    found.push_back({"W0219",
                     file,
                     nodeName(op->getLoc()).str(),
                     operationOf(op).str(),
                     "found " + what +
                         ", which neither the model's restore and init operations "
                         "nor an entry give a value",
                     {}});
  };
  entry.walk([&](Operation *op) {
    if (auto read = dyn_cast<VariableReadOp>(op)) {
      auto variable = read.getResource().getDefiningOp<VariableOp>();
      if (variable && !assigned.count(variableKey(variable)))
        report(op, "variable \"" + variable.getName().str() + "\"");
    }
    auto call = dyn_cast<CustomCallOp>(op);
    if (!call || (call.getCallee() != "weir_kernel_table_find" &&
                  call.getCallee() != "weir_kernel_table_export"))
      return;
    std::string name = constantHandle(call.getOperand(0));
    if (name.empty() || name.front() == 'm' || filled.count(name) || filled.count(""))
      return;
    report(op, "table \"" + name.substr(name.find('\0') + 2) + "\"");
  });
  return found;
}

//===- Variables.cpp - the variables a node reads and changes -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Variables.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

std::string weir::tf::variableName(const NodeImport &n) {
  std::string_view shared = n.s("shared_name");
  if (shared.empty() && n.node.op != "VarHandleOp")
    return n.g.nameOf(n.node);
  return std::string(shared);
}

Imported *weir::tf::variableAt(NodeImport &n, size_t i) {
  if (i < n.inputs.size() && n.inputs[i].kind == Imported::Kind::Resource) {
    if (n.inputs[i].type)
      return &n.inputs[i];
    (void)n.unsupported("expected a shape of variable \"" + Twine(n.inputs[i].variable) +
                        "\" from the graph, a stored value or an assignment, got none");
    return nullptr;
  }
  (void)n.unsupported("found input " + Twine(i) + " that is no variable of this program");
  return nullptr;
}

Value weir::tf::currentValue(NodeImport &n, const Imported &variable) {
  return VariableReadOp::create(n.b, n.loc, variable.type, variable.value, ValueRange())
      .getResult();
}

LogicalResult weir::tf::assignValue(NodeImport &n, const Imported &variable, Value value) {
  if (!value)
    return failure();
  if (n.element(value) != variable.type.getElementType())
    return n.invalid("found a value of another type than the variable's");
  VariableAssignOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), variable.value, value,
                           ValueRange());
  return success();
}

LogicalResult weir::tf::passOn(NodeImport &n, const Imported &variable) {
  if (variable.isRef)
    n.made.push_back(variable);
  return success();
}

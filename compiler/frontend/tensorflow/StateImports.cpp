//===- StateImports.cpp - variables of both generations -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Version one has references: VariableV2's output is the variable, and an
// operation that takes a tensor reads it when it runs. Version two has handles
// and explicit reads. Both become weir.variable.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"
#include "compiler/frontend/tensorflow/Variables.h"
#include "dialects/weir/Training.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// The type that the graph's first handle of a name has: another one's is
/// wrong.
static bool contradicts(NodeImport &n, DataType type) {
  auto textOf = [](const Node &node, std::string_view name) {
    const AttrValue *value = node.attr(name);
    return value ? value->s : std::string_view();
  };
  if (n.node.op != "VarHandleOp" || !n.g.current)
    return false;
  auto &first = n.g.handleTypes[&n.g.current->graph()];
  if (first.empty())
    for (const Node &node : n.g.current->graph().nodes)
      if (const AttrValue *dtype = node.attr("dtype"); dtype && node.op == "VarHandleOp")
        first.try_emplace({textOf(node, "container"), textOf(node, "shared_name")}, dtype->type());
  auto it = first.find({n.s("container"), n.s("shared_name")});
  return it != first.end() && it->second != type;
}

static LogicalResult variable(NodeImport &n) {
  bool isRef = n.node.op != "VarHandleOp";
  std::string name = variableName(n);
  Imported result;
  result.kind = Imported::Kind::Resource;
  result.isRef = isRef;
  const AttrValue *dtype = n.attr("dtype"), *shape = n.attr("shape");
  if (!dtype)
    return n.invalid("found no type");
  Shape unknown;
  unknown.unknownRank = true;
  result.type =
      tensorType(n.b.getContext(), dtype->type(), shape && shape->shape ? *shape->shape : unknown);
  if (contradicts(n, dtype->type()))
    return n.invalid("found a variable that another node says is of another "
                     "type");
  InitialValue initial;
  if (n.g.initialValue)
    initial = n.g.initialValue(name, n.node);
  if (initial.type && initial.type.getElementType() != elementType(n.b.getContext(), dtype->type()))
    return n.invalid("found a stored value of another type");
  bool isOfShape =
      result.type && initial.type && succeeded(verifyCompatibleShape(result.type, initial.type));
  // References are assigned values of their shape; handles take any.
  if (isRef && result.type && initial.type && !isOfShape)
    return n.invalid("found a stored value of another shape than the variable's");
  if (initial.type && (!isOfShape || !result.type.hasStaticShape()))
    result.type = initial.type;
  if (n.g.variableTypes)
    if (auto it = n.g.variableTypes->find(name); it != n.g.variableTypes->end())
      result.type = it->second;
  if (!result.type) {
    if (!n.g.variableTypes || !elementType(n.b.getContext(), dtype->type()))
      return n.unsupported("expected a variable whose shape the graph or a stored value gives, got "
                           "an unknown shape");
    result.variable = name; // an assignment says it
    return n.result(result);
  }
  auto made = VariableOp::create(
      n.b, n.loc, ResourceType::get(n.b.getContext()), n.b.getStringAttr(name),
      n.b.getStringAttr(StringRef(n.s("container").data(), n.s("container").size())),
      TypeAttr::get(result.type), initial.value);
  if (!initial.isTrained)
    made->setAttr(notTrainedAttr, n.b.getUnitAttr());
  result.value = made.getResource();
  return n.result(result);
}

/// An argument of a graph that was a function: a handle stands for a variable
/// of the argument's name.
static LogicalResult argument(NodeImport &n) {
  const AttrValue *types = n.attr("_handle_dtypes"), *shapes = n.attr("_handle_shapes");
  if (n.node.outputTypes.empty() || n.node.outputTypes[0] != DataType::Resource || !types ||
      !types->list || !shapes || !shapes->list || types->list->ints.empty() ||
      shapes->list->shapes.empty())
    return n.unsupported("expected --feed=" + Twine(std::string(n.node.name)) +
                         ", since the argument is needed, got no such feed");
  Imported result;
  result.kind = Imported::Kind::Resource;
  result.type =
      tensorType(n.b.getContext(), toDataType(types->list->ints[0]), shapes->list->shapes[0]);
  if (!result.type)
    return n.unsupported("found a variable whose shape is not known");
  result.value = VariableOp::create(n.b, n.loc, ResourceType::get(n.b.getContext()),
                                    n.b.getStringAttr(n.g.nameOf(n.node)), n.b.getStringAttr(""),
                                    TypeAttr::get(result.type), Attribute())
                     .getResource();
  return n.result(result);
}

static LogicalResult readVariable(NodeImport &n) {
  Imported *variable = variableAt(n, 0);
  if (!variable)
    return failure();
  Value value = currentValue(n, *variable);
  if (Type type = n.elementAttr("dtype"); type && type != n.element(value))
    return n.invalid("found a read of another type than the variable's");
  return n.result(value);
}

/// Refuses, now or when it runs, what is not exactly of the variable's shape.
static bool isOfShape(NodeImport &n, const Imported &variable, Value before, Value value) {
  Ints mine = variable.type.getShape(), theirs = n.sizes(value);
  bool isKnown = mine == theirs && n.isStatic(value);
  for (size_t i = 0; mine.size() == theirs.size() && i < mine.size(); ++i)
    if (mine[i] != theirs[i] && !ShapedType::isDynamic(mine[i]) &&
        !ShapedType::isDynamic(theirs[i]))
      isKnown = true;
  if (mine.size() != theirs.size() || (isKnown && mine != theirs)) {
    (void)n.invalid("found a value of another shape than the variable's");
    return false;
  }
  if (!isKnown)
    AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()),
                     n.compare("eq", n.shapeOf(before), n.shapeOf(value)),
                     n.b.getStringAttr("a value of another shape than the "
                                       "variable's"),
                     n.number(3), ValueRange()); // WEIR_INVALID_ARGUMENT
  return true;
}

/// An assignment that does not compare shapes gives the variable another one:
/// from then on its sizes are open. False where types have nothing in common.
static bool learnType(NodeImport &n, const Imported &variable, Value value) {
  if (n.isSet("validate_shape") || !n.g.variableTypes)
    return true;
  RankedTensorType type = n.type(value);
  std::string name = variable.variable;
  if (variable.type) {
    auto made = variable.value.getDefiningOp<VariableOp>();
    if (!made || type.getElementType() != variable.type.getElementType())
      return true;
    if (type.getRank() != variable.type.getRank()) {
      (void)n.unsupported("expected a variable to keep its rank, got values of another rank");
      return false;
    }
    IntVector shape;
    for (auto [is, comes] : llvm::zip(variable.type.getShape(), type.getShape()))
      shape.push_back(is == comes || ShapedType::isDynamic(comes) ? is : ShapedType::kDynamic);
    type = type.clone(shape);
    if (type == variable.type)
      return true;
    name = made.getName().str();
  }
  (*n.g.variableTypes)[name] = type;
  n.g.hasLearned = true;
  return true;
}

static LogicalResult assign(NodeImport &n) {
  Value value = n.in(1);
  if (value && !n.inputs.empty() && n.inputs[0].kind == Imported::Kind::Resource) {
    if (!learnType(n, n.inputs[0], value))
      return failure();
    if (!n.inputs[0].type && n.g.hasLearned)
      return passOn(n, n.inputs[0]);
  }
  Imported *variable = variableAt(n, 0);
  if (!variable || !value)
    return failure();
  // An open variable may hold any sizes; these are to be those that it has.
  if (n.node.op == "AssignVariableOp" && n.isSet("validate_shape") &&
      !variable->type.hasStaticShape() &&
      !isOfShape(n, *variable, currentValue(n, *variable), value))
    return failure();
  if (failed(assignValue(n, *variable, value)))
    return failure();
  return passOn(n, *variable);
}

template <typename Op> static LogicalResult update(NodeImport &n) {
  Imported *variable = variableAt(n, 0);
  Value value = n.in(1);
  if (!variable || !value)
    return failure();
  Value before = currentValue(n, *variable);
  if (!isOfShape(n, *variable, before, value) ||
      failed(assignValue(n, *variable, n.op<Op>(before, value))))
    return failure();
  return passOn(n, *variable);
}

/// Adds one, unless the limit is reached; the value before is the result.
static LogicalResult countUpTo(NodeImport &n) {
  Imported *variable = variableAt(n, 0);
  if (!variable)
    return failure();
  Value value = currentValue(n, *variable);
  int64_t limit = n.i("limit");
  AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()),
                   n.compare("lt", value, static_cast<double>(limit)),
                   n.b.getStringAttr("Reached limit of " + Twine(limit)), n.number(outOfRange),
                   ValueRange());
  if (failed(assignValue(n, *variable, n.add(value, 1.0))))
    return failure();
  return n.result(value);
}

/// variable[slice] = value
static LogicalResult assignSlice(NodeImport &n) {
  Imported *variable = variableAt(n, 0);
  Value value = n.in(4);
  if (!variable || !value)
    return failure();
  Value after = updatedSlice(n, currentValue(n, *variable), value);
  if (!after || failed(assignValue(n, *variable, after)))
    return failure();
  return passOn(n, *variable);
}

/// One of several variables, which the run picks.
static LogicalResult selectVariable(NodeImport &n) {
  Value index = n.in(0);
  if (!index)
    return failure();
  Imported choice;
  choice.kind = Imported::Kind::Resource;
  choice.isRef = true;
  choice.value = n.toScalar(index);
  choice.choices = std::make_shared<std::vector<Imported>>();
  for (size_t i = 1; i < n.inputCount(); ++i) {
    Imported *variable = variableAt(n, i);
    if (!variable)
      return failure();
    choice.choices->push_back(*variable);
  }
  double last = static_cast<double>(choice.choices->size()) - 1;
  Value isGood = n.op<AndOp>(n.compare("ge", choice.value, 0), n.compare("le", choice.value, last));
  AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), isGood,
                   n.b.getStringAttr("the index is not that of an input"), n.number(3),
                   ValueRange()); // WEIR_INVALID_ARGUMENT
  return n.result(choice);
}

static LogicalResult isInitialized(NodeImport &n) {
  Imported *variable = variableAt(n, 0);
  if (!variable)
    return failure();
  auto made = variable->value.getDefiningOp<VariableOp>();
  if (!made)
    return n.unsupported("found a variable that is chosen in the run");
  // A stored value, once there, never goes away.
  if (made.getInitial())
    return n.result(n.scalar(n.b.getI1Type(), 1));
  Operation *asked = n.kernelCall(
      "weir_kernel_variable_is_initialized", {RankedTensorType::get({}, n.b.getI1Type())},
      {n.stringScalar(made.getContainer()), n.stringScalar(made.getName())}, {},
      /*isPure=*/false);
  return n.result(asked->getResult(0));
}

static LogicalResult variableShape(NodeImport &n) {
  Imported *variable = variableAt(n, 0);
  if (!variable)
    return failure();
  Value shape = n.shapeOf(currentValue(n, *variable));
  return n.result(n.cast(shape, n.elementAttr("out_type")));
}

static LogicalResult nothing(NodeImport &) { return success(); }

static LogicalResult destroyVariable(NodeImport &n) {
  Imported &handle = n.inputs[0];
  auto made = handle.kind == Imported::Kind::Resource && handle.value
                  ? handle.value.getDefiningOp<VariableOp>()
                  : VariableOp();
  if (!made) // a table, a queue: they stay as long as their session
    return success();
  if (made.getInitial())
    return n.unsupported("found a variable with a stored value, which stays");
  n.kernelCall("weir_kernel_variable_destroy", {},
               {n.stringScalar(made.getContainer()), n.stringScalar(made.getName())},
               {n.isSet("ignore_lookup_error")}, /*isPure=*/false);
  return success();
}

static LogicalResult readTemporary(NodeImport &n) { return n.result(n.in(0)); }

//===----------------------------------------------------------------------===//
// Parts of variables
//===----------------------------------------------------------------------===//

static LogicalResult resourceGather(NodeImport &n) {
  Imported *variable = variableAt(n, 0);
  Value indices = n.in(1);
  if (!variable || !indices)
    return failure();
  int64_t batch = n.i("batch_dims");
  return n.result(n.op<GatherOp>(currentValue(n, *variable), indices, n.number(batch),
                                 n.number(batch), n.flag(false)));
}

static LogicalResult resourceGatherNd(NodeImport &n) {
  Imported *variable = variableAt(n, 0);
  if (!variable)
    return failure();
  Value x = currentValue(n, *variable), indices = n.in(1);
  if (x && indices && n.rank(indices) > 0 &&
      ShapedType::isDynamic(n.dim(indices, n.rank(indices) - 1)))
    return n.result(gatherNdOfOpenDepth(n, x, indices));
  requireReadable(n, x, indices);
  return n.result(n.op<GatherNdOp>(x, indices, n.number(0), n.flag(false)));
}

namespace {
struct Reduction {
  static constexpr char none[] = "none", add[] = "add", sub[] = "sub", mul[] = "mul", div[] = "div",
                        max[] = "max_or_old", min[] = "min_or_old";
};
} // namespace

template <const char *reduction, bool isNd> static LogicalResult scatter(NodeImport &n) {
  Imported *variable = variableAt(n, 0);
  Value indices = n.in(1), updates = n.in(2);
  if (!variable || !indices || !updates)
    return failure();
  Value before = currentValue(n, *variable);
  if (!isNd) {
    // A scalar update is the same for all rows.
    if (n.rank(updates) == 0) {
      Value shape = n.shapeOf(indices);
      if (n.rank(before) > 1)
        shape = n.concat({shape, n.shapeSlice(before, 1, n.rank(before))}, 0);
      updates = n.expandTo(updates, shape);
    }
    indices = n.unsqueeze(indices, {n.rank(indices)});
  } else {
    Value tuples = n.tuplesOfKnownLength(before, indices, updates);
    if (!tuples)
      return n.invalid("found updates of rank " + Twine(n.rank(updates)) +
                       " for a variable of rank " + Twine(n.rank(before)));
    indices = tuples;
    requireRoomFor(n, before, indices, updates);
  }
  bool ignore = isNd && n.s("bad_indices_policy") == "IGNORE";
  // Before anything is divided. Of variables by reference, floats become infinite.
  if (StringRef(reduction) == "div" &&
      (n.node.op == "ResourceScatterDiv" || isa<IntegerType>(n.element(updates))))
    require(n, n.compare("ne", updates, 0), "an update is 0");
  Value after =
      n.op<ScatterNdOp>(before, indices, updates, n.text(reduction), n.flag(false), n.flag(ignore));
  if (failed(assignValue(n, *variable, after)))
    return failure();
  return passOn(n, *variable);
}

ArrayRef<OpImport> weir::tf::stateImports() {
  using R = Reduction;
  static const OpImport rows[] = {
      {"_Arg", argument},
      {"VarHandleOp", variable},
      {"Variable", variable},
      {"VariableV2", variable},
      {"ReadVariableOp", readVariable},
      {"Assign", assign},
      {"AssignVariableOp", assign},
      {"AssignAdd", update<AddOp>},
      {"AssignSub", update<SubOp>},
      {"AssignAddVariableOp", update<AddOp>},
      {"AssignSubVariableOp", update<SubOp>},
      {"VarIsInitializedOp", isInitialized},
      {"IsVariableInitialized", isInitialized},
      {"VariableShape", variableShape},
      {"CountUpTo", countUpTo},
      {"ResourceCountUpTo", countUpTo},
      {"StridedSliceAssign", assignSlice},
      {"ResourceStridedSliceAssign", assignSlice},
      {"RefSelect", selectVariable},
      {"DestroyResourceOp", destroyVariable},
      {"TemporaryVariable", variable},
      {"DestroyTemporaryVariable", readTemporary},
      {"ScatterNdMin", scatter<R::min, true>},
      {"ScatterNdMax", scatter<R::max, true>},
      {"DisableCopyOnRead", nothing},
      {"ResourceGather", resourceGather},
      {"ResourceGatherNd", resourceGatherNd},
      {"ResourceScatterUpdate", scatter<R::none, false>},
      {"ResourceScatterAdd", scatter<R::add, false>},
      {"ResourceScatterSub", scatter<R::sub, false>},
      {"ResourceScatterMul", scatter<R::mul, false>},
      {"ResourceScatterDiv", scatter<R::div, false>},
      {"ResourceScatterMin", scatter<R::min, false>},
      {"ResourceScatterMax", scatter<R::max, false>},
      {"ResourceScatterNdUpdate", scatter<R::none, true>},
      {"ResourceScatterNdAdd", scatter<R::add, true>},
      {"ResourceScatterNdSub", scatter<R::sub, true>},
      {"ResourceScatterNdMin", scatter<R::min, true>},
      {"ResourceScatterNdMax", scatter<R::max, true>},
      {"ScatterUpdate", scatter<R::none, false>},
      {"ScatterAdd", scatter<R::add, false>},
      {"ScatterSub", scatter<R::sub, false>},
      {"ScatterMul", scatter<R::mul, false>},
      {"ScatterDiv", scatter<R::div, false>},
      {"ScatterMin", scatter<R::min, false>},
      {"ScatterMax", scatter<R::max, false>},
      {"ScatterNdUpdate", scatter<R::none, true>},
      {"ScatterNdAdd", scatter<R::add, true>},
      {"ScatterNdSub", scatter<R::sub, true>},
  };
  return rows;
}

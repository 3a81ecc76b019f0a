//===- InitialState.cpp - what a loader leaves in a session ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/InitialState.h"

#include "compiler/frontend/tensorflow/Constants.h"
#include "compiler/frontend/tensorflow/Variables.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/ConstantEvaluator.h"
#include "dialects/weir/NodeName.h"

#include "llvm/ADT/ScopeExit.h"

#include <filesystem>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Calls that stand for what only a loader does: the n-th stored tensor, and an
/// assignment to a variable whose type only its value says.
static constexpr char kRestored[] = "weir.restored", kAssigned[] = "weir.assigned";
static constexpr char kVariable[] = "variable";

static std::string variableKeyOf(StringRef container, StringRef name) {
  return (container + Twine('\0') + name).str();
}

std::string weir::tf::variableKey(VariableOp variable) {
  return variableKeyOf(variable.getContainer(), variable.getName());
}

static std::string inQuotes(StringRef text) { return ("\"" + text + "\"").str(); }

StringRef weir::tf::operationOf(Operation *op) {
  if (auto outer = dyn_cast<NameLoc>(op->getLoc()))
    if (auto inner = dyn_cast<NameLoc>(outer.getChildLoc()))
      return inner.getName().strref();
  return "";
}

/// `node "x" (Op)`, as messages name a node.
static std::string nodeText(Operation *op) {
  std::string text = "node " + inQuotes(nodeName(op->getLoc()));
  StringRef operation = operationOf(op);
  return operation.empty() ? text : text + " (" + operation.str() + ")";
}

//===----------------------------------------------------------------------===//
// Import of the two operations
//===----------------------------------------------------------------------===//

Bundle *InitialState::bundleAt(const std::string &prefix, std::string &error) {
  if (prefix == model.variablesPrefix()) {
    if (!model.variables)
      error = "found no file variables/variables.index beside it";
    return model.variables.get();
  }
  auto [it, isNew] = bundles.try_emplace(prefix);
  if (!it->second)
    it->second = Bundle::open(prefix, error);
  return it->second.get();
}

/// RestoreV2: its outputs are named; nothing is read.
LogicalResult InitialState::restore(NodeImport &n) {
  std::optional<std::string> prefix = knownString(n.in(0));
  std::optional<std::vector<std::string>> names = n.constantStrings(1),
                                          parts = n.constantStrings(2);
  if (!prefix || !names || !parts)
    return n.g.report(n.node, "W0252",
                      "expected a constant file and constant names, got ones that are computed "
                      "when the model is loaded");
  for (auto [i, type] : llvm::enumerate(n.node.outputTypes)) {
    Stored &one = stored.emplace_back();
    one.type = type;
    one.bundle = bundleAt(*prefix, one.missing);
    one.key = i < names->size() ? (*names)[i] : std::string();
    one.part = i < parts->size() ? (*parts)[i] : std::string();
    Shape shape;
    if (one.bundle)
      shape.dims = one.bundle->shapeOf(one.key, one.part).value_or(shape.dims);
    RankedTensorType result = tensorType(&context, type, shape);
    if (!result) {
      (void)n.unsupported("found stored values of type " + Twine(typeName(type).data()) +
                          ", which weir does not have");
      n.made.emplace_back();
      continue;
    }
    n.made.emplace_back(n.kernelCall(kRestored, {result}, {},
                                     {static_cast<int64_t>(stored.size() - 1)},
                                     /*isPure=*/true)
                            ->getResult(0));
  }
  return success();
}

/// What a loader does otherwise than an entry. Nothing: the same.
std::optional<LogicalResult> InitialState::importNode(NodeImport &n) {
  StringRef op(n.node.op.data(), n.node.op.size());
  if (op == "RestoreV2")
    return restore(n);
  // A variable whose shape only its value says.
  if (op == "VarHandleOp" || op == "Variable" || op == "VariableV2") {
    const AttrValue *dtype = n.attr("dtype"), *shape = n.attr("shape");
    bool isOpen = !shape || !shape->shape || shape->shape->unknownRank ||
                  llvm::is_contained(shape->shape->dims, -1);
    std::string name = variableName(n);
    if (!dtype || !isOpen || variables.count(variableKeyOf(n.s("container"), name)))
      return std::nullopt;
    Imported result;
    result.kind = Imported::Kind::Resource;
    result.isRef = op != "VarHandleOp";
    result.variable = variableKeyOf(n.s("container"), name);
    return n.result(std::move(result));
  }
  if ((op == "Assign" || op == "AssignVariableOp") && n.inputs.size() > 1 &&
      n.inputs[0].kind == Imported::Kind::Resource && !n.inputs[0].type &&
      !n.inputs[0].variable.empty()) {
    Value value = n.in(1);
    if (!value)
      return failure();
    n.kernelCall(kAssigned, {}, {value}, {}, /*isPure=*/false)
        ->setAttr(kVariable, n.b.getStringAttr(n.inputs[0].variable));
    return passOn(n, n.inputs[0]);
  }
  return std::nullopt;
}

/// Imports an operation like an entry, with some strings fed, and follows it.
void InitialState::follow(const std::string &op, ModuleOp module, const char *what,
                          const ImportOptions &options,
                          const std::map<std::string, std::string> &strings, DiagnosticSink &sink) {
  int64_t node = op.empty() ? -1 : graph.find(op);
  if (node < 0) {
    if (!op.empty())
      sink.report({"W0213",
                   file,
                   "",
                   "",
                   "found no node \"" + op + "\", the model's " + what + " operation",
                   {}});
    return;
  }
  OpBuilder b(&context);
  b.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(b, module.getLoc(), what, b.getFunctionType({}, {}));
  llvm::scope_exit dropFunction([&] { function->erase(); });
  b.setInsertionPointToStart(function.addEntryBlock());
  DiagnosticSink found;
  problems = &found;
  GraphImporter importer(*model.source, library, file, found, &context);
  importer.options = &options;
  importer.customOperations = &options.customOperations;
  importer.keepsGoing = true;
  importer.instead = [&](NodeImport &n) { return importNode(n); };
  importer.initialValue = [&](const std::string &name, const Node &at) {
    InitialValue value;
    const AttrValue *container = at.attr("container");
    auto it = variables.find(variableKeyOf(container ? container->s : "", name));
    if (it != variables.end())
      (void)materialize(it->second, value);
    return value;
  };
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    importer.noteReason(diagnostic.str());
    return success();
  });
  Structure structure(graph);
  GraphImporter::Body body{structure, nullptr, "", nullptr};
  GraphImporter::Scope scope;
  for (auto &[tensor, text] : strings) {
    TensorName name = parseTensorName(tensor);
    int64_t at = graph.find(name.node);
    if (at < 0 || name.port < 0) {
      found.report({"W0213",
                    file,
                    "",
                    "",
                    "found no tensor \"" + tensor + "\", which is to be fed with \"" + text + "\"",
                    {}});
      continue;
    }
    TensorBuilder t(b, function.getLoc());
    scope.set({uint32_t(at), uint32_t(name.port)}, Imported(t.stringScalar(text)));
    scope.ran.insert(uint32_t(at));
  }
  importer.import(body, 0, {}, {uint32_t(node)}, scope, b);
  known.clear();
  interpret(function.getBody().front());
  known.clear();
  problems = nullptr;
  for (weir::Diagnostic diagnostic : found.diagnostics()) {
    // A loader would fail, too, without a vocabulary.
    if (diagnostic.code != "W0218") {
      diagnostic.severity = Severity::Warning;
      diagnostic.notes.push_back("what the model's " + std::string(what) +
                                 " operation does is left out as far as it needs this node");
    }
    sink.report(std::move(diagnostic));
  }
}

void InitialState::read(ModuleOp module, const ImportOptions &options, DiagnosticSink &sink) {
  std::map<std::string, std::string> prefix;
  if (!model.filenameTensor.empty())
    prefix[model.filenameTensor] = model.variablesPrefix();
  // Without variables a loader leaves the operation alone, which may be gone then.
  if (model.variables || graph.find(model.restoreOp) >= 0)
    follow(model.restoreOp, module, "restore", options, prefix, sink);
  follow(model.initOp, module, "init", options, model.assets, sink);
}

//===----------------------------------------------------------------------===//
// Following an imported operation
//===----------------------------------------------------------------------===//

InitialState::Content InitialState::contentOf(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Content content;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    content.value = cast<TypedAttr>(constant.getValue());
  else
    content.problem = op ? nodeText(op) + " computes it in a run" : "a loop computes it in a run";
  return content;
}

std::optional<std::string> InitialState::stringOf(Value value) {
  InitialValue read;
  if (materialize(contentOf(value), read) || !read.value)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(read.value);
  if (!elements || !isa<StringType>(elements.getElementType()) || elements.getNumElements() != 1)
    return std::nullopt;
  return elements.getSplatValue<StringRef>().str();
}

void InitialState::interpret(Block &block) {
  for (Operation &op : block)
    interpret(&op);
}

void InitialState::interpret(Operation *op) {
  if (isa<ConstantOp, VariableOp>(op))
    return;
  if (auto read = dyn_cast<VariableReadOp>(op)) {
    auto variable = read.getResource().getDefiningOp<VariableOp>();
    auto it = variable ? variables.find(variableKey(variable)) : variables.end();
    Content &content = known[read.getResult()];
    if (it != variables.end())
      content = it->second;
    else
      content.problem = nodeText(op) + " reads a variable that has no value yet";
    return;
  }
  if (auto assign = dyn_cast<VariableAssignOp>(op)) {
    if (auto variable = assign.getResource().getDefiningOp<VariableOp>())
      variables[variableKey(variable)] = contentOf(assign.getValue());
    else
      problems->report({"W0219",
                        file,
                        nodeName(op->getLoc()).str(),
                        "",
                        "found an assignment to a variable that only the run knows",
                        {}});
    return;
  }
  if (auto custom = dyn_cast<CustomCallOp>(op))
    return call(custom);
  if (auto branch = dyn_cast<IfOp>(op)) {
    InitialValue condition;
    auto side = materialize(contentOf(branch.getCondition()), condition)
                    ? std::nullopt
                    : integersOf(condition.value, 1);
    if (!side || side->size() != 1)
      return lose(op);
    Block &taken = (side->front() ? branch.getThenRegion() : branch.getElseRegion()).front();
    interpret(taken);
    for (auto [result, value] :
         llvm::zip(branch.getResults(), taken.getTerminator()->getOperands()))
      known[result] = contentOf(value);
    return;
  }
  if (op->getNumRegions())
    return lose(op);
  evaluate(op);
}

/// A region that only a run decides about: what it may change is not known.
void InitialState::lose(Operation *region) {
  std::string problem = nodeText(region) + " changes it, or not, as only a run knows";
  region->walk([&](VariableAssignOp assign) {
    if (auto variable = assign.getResource().getDefiningOp<VariableOp>())
      variables[variableKey(variable)].problem = problem;
  });
  region->walk([&](CustomCallOp call) {
    if (call.getCallee() == kAssigned)
      variables[call->getAttrOfType<StringAttr>(kVariable).str()].problem = problem;
    if (call.getCallee() == "weir_kernel_table_insert" ||
        call.getCallee() == "weir_kernel_table_remove")
      if (auto name = stringOf(call.getOperand(0)))
        tables[*name].keys.problem = problem;
  });
}

void InitialState::call(CustomCallOp op) {
  StringRef callee = op.getCallee();
  if (callee == kRestored) {
    known[op.getResult(0)].stored = op.getParameters()[0];
    return;
  }
  if (callee == kAssigned) {
    variables[op->getAttrOfType<StringAttr>(kVariable).str()] = contentOf(op.getOperand(0));
    return;
  }
  if (callee == "weir_kernel_variable_is_initialized") {
    auto container = stringOf(op.getOperand(0)), name = stringOf(op.getOperand(1));
    if (container && name)
      known[op.getResult(0)].value =
          DenseElementsAttr::get(RankedTensorType::get({}, IntegerType::get(&context, 1)),
                                 variables.count(variableKeyOf(*container, *name)) > 0);
    return;
  }
  if (callee == "weir_kernel_table_insert")
    return insert(op);
  if (callee == "weir_kernel_table_remove") {
    // An import takes out the keys that mark free places; entries do that, too.
    if (!operationOf(op).starts_with("LookupTableRemove"))
      return;
    if (auto name = stringOf(op.getOperand(0)))
      tables[*name].keys.problem = nodeText(op) + " takes entries away";
    return;
  }
  // Looking things up changes nothing; the results are not known, and say so.
  if (op.getPure() || callee.starts_with("weir_kernel_table_"))
    return;
  problems->report({"W0219",
                    file,
                    nodeName(op->getLoc()).str(),
                    "",
                    "found an effect other than values for variables and tables",
                    {}});
}

/// Two tensors along the first dimension; null for those without bytes.
static TypedAttr joined(TypedAttr first, TypedAttr second) {
  auto type = dyn_cast<RankedTensorType>(first.getType());
  auto other = dyn_cast<RankedTensorType>(second.getType());
  DenseElementsAttr a = materializedConstant(first), b = materializedConstant(second);
  if (!a || !b || !type || !other || type.getRank() != other.getRank() || type.getRank() == 0 ||
      type.getShape().drop_front() != other.getShape().drop_front())
    return {};
  SmallVector<int64_t> shape(type.getShape());
  shape[0] += other.getDimSize(0);
  type = RankedTensorType::get(shape, type.getElementType());
  SmallVector<Attribute> values(a.getValues<Attribute>());
  llvm::append_range(values, b.getValues<Attribute>());
  if (!isa<StringType>(type.getElementType()))
    return DenseElementsAttr::get(type, values);
  SmallVector<StringRef> strings;
  for (Attribute value : values)
    strings.push_back(cast<StringAttr>(value).getValue());
  return DenseElementsAttr::get(type, strings);
}

void InitialState::insert(CustomCallOp op) {
  std::optional<std::string> name = stringOf(op.getOperand(0));
  if (!name) {
    problems->report({"W0219",
                      file,
                      nodeName(op->getLoc()).str(),
                      "",
                      "found entries for a table that only the run knows",
                      {}});
    return;
  }
  auto [it, isNew] = tables.try_emplace(*name);
  Table &table = it->second;
  bool areAll = op.getParameters().back() & 1, isMutable = name->front() == 'm';
  Content keys = contentOf(op.getOperand(1)), values = contentOf(op.getOperand(2));
  if (isNew || (areAll && isMutable)) {
    table = {std::move(keys), std::move(values), {}};
    return;
  }
  if (areAll) // initialized again, which changes nothing
    return;
  InitialValue had[2], comes[2];
  auto problem = materialize(table.keys, had[0]);
  for (auto [content, value] :
       {std::pair(&table.values, &had[1]), {&keys, &comes[0]}, {&values, &comes[1]}})
    if (!problem)
      problem = materialize(*content, *value);
  TypedAttr allKeys = problem ? TypedAttr() : joined(had[0].value, comes[0].value);
  TypedAttr allValues = problem ? TypedAttr() : joined(had[1].value, comes[1].value);
  table.keys = {allKeys, -1, ""};
  table.values = {allValues, -1, ""};
  if (!allKeys || !allValues)
    table.keys.problem = problem ? problem->text : nodeText(op) + " adds entries of another shape";
}

/// A pure operation, where it can be computed now.
void InitialState::evaluate(Operation *op) {
  if (auto assertion = dyn_cast<AssertOp>(op)) {
    InitialValue condition;
    if (materialize(contentOf(assertion.getCondition()), condition))
      return;
    auto isGood = integersOf(condition.value, 1);
    if (isGood && isGood->size() == 1 && !isGood->front())
      problems->report({"W0219",
                        file,
                        nodeName(op->getLoc()).str(),
                        "",
                        "found an assertion that does not hold: " + assertion.getMessage().str(),
                        {}});
    return;
  }
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    InitialValue value;
    if (isa<TensorType>(operand.getType()))
      if (auto problem = materialize(contentOf(operand), value)) {
        for (Value result : op->getResults())
          known[result].problem = problem->text;
        return;
      }
    operands.push_back(value.value);
  }
  // What is everywhere the same needs no evaluation element by element.
  if (auto broadcast = dyn_cast<BroadcastToOp>(op)) {
    auto type = dyn_cast<RankedTensorType>(broadcast.getType());
    auto sizes = integersOf(operands[1], 64);
    auto dense = dyn_cast_or_null<DenseElementsAttr>(operands[0]);
    if (type && !type.hasStaticShape() && sizes)
      type = RankedTensorType::get(*sizes, type.getElementType());
    if (type && type.hasStaticShape() && dense && dense.isSplat()) {
      known[op->getResult(0)].value = dense.resizeSplat(type);
      return;
    }
  }
  // A new shape costs nothing, whatever the size.
  if (SmallVector<OpFoldResult> folded;
      succeeded(op->fold(operands, folded)) && folded.size() == 1 && isa<Attribute>(folded[0])) {
    known[op->getResult(0)].value = cast<TypedAttr>(cast<Attribute>(folded[0]));
    return;
  }
  auto results = evaluateConstants(op, operands);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (auto value = results ? dyn_cast_or_null<TypedAttr>((*results)[i]) : TypedAttr())
      known[result].value = value;
    else
      known[result].problem = nodeText(op) + " computes it in a run";
}

//===----------------------------------------------------------------------===//
// What entries ask for
//===----------------------------------------------------------------------===//

std::optional<InitialState::Problem> InitialState::materialize(const Content &content,
                                                               InitialValue &value) {
  if (!content.problem.empty())
    return Problem{"W0219", content.problem};
  if (content.value) {
    value = {content.value, cast<RankedTensorType>(content.value.getType())};
    return std::nullopt;
  }
  if (content.stored < 0)
    return Problem{"W0219", "nothing gives it one"};
  Stored &from = stored[content.stored];
  if (!from.value.value) {
    BundleTensor tensor;
    std::string reason = from.missing;
    if (!from.bundle || !from.bundle->read(from.key, from.part, tensor, reason))
      return Problem{"W0214", inQuotes(from.key) + ": " + reason};
    if (from.type != DataType::Invalid && tensor.type != from.type)
      return Problem{"W0214", inQuotes(from.key) + ": it is of type " +
                                  std::string(typeName(tensor.type)) + ", and is read as " +
                                  std::string(typeName(from.type))};
    Shape shape;
    shape.dims = tensor.dims;
    RankedTensorType type = tensorType(&context, tensor.type, shape);
    if (!type)
      return Problem{"W0251", "it is of type " + std::string(typeName(tensor.type)) +
                                  ", which weir does not have"};
    from.value = {storedAttr(type, tensor), type};
  }
  value = from.value;
  return std::nullopt;
}

static void reportValue(const Node &node, const std::string &file, const char *code,
                        const std::string &text, DiagnosticSink &into) {
  into.report({code, file, std::string(node.name), std::string(node.op), text, {}});
}

const ObjectGraph &InitialState::objectGraph() {
  if (!objects)
    objects = std::make_unique<ObjectGraph>(model, graph);
  return *objects;
}

bool InitialState::isTrained(const Node &node) { return objectGraph().isTrained(node); }

InitialValue InitialState::variable(const std::string &name, const Node &node,
                                    DiagnosticSink &into) {
  const AttrValue *container = node.attr("container");
  std::string key = variableKeyOf(container ? container->s : "", name);
  auto it = variables.find(key);
  if (it == variables.end()) {
    std::string storedAs = objectGraph().keyOf(node, "VARIABLE_VALUE");
    if (storedAs.empty())
      return {};
    const AttrValue *dtype = node.attr("dtype");
    Stored &one = stored.emplace_back();
    one.bundle = model.variables.get();
    one.key = storedAs;
    one.type = dtype ? dtype->type() : DataType::Invalid;
    it = variables.try_emplace(key).first;
    it->second.stored = static_cast<int64_t>(stored.size()) - 1;
  }
  InitialValue value;
  if (auto problem = materialize(it->second, value))
    reportValue(node, file, problem->code,
                (StringRef(problem->code) == "W0219"
                     ? "its value in a new session is not known: " + problem->text
                     : "its value " + problem->text),
                into);
  return value;
}

const TableEntries *InitialState::table(const std::string &name, const Node &node,
                                        DiagnosticSink &into) {
  auto it = tables.find(name);
  if (it == tables.end()) {
    std::string storedAs = objectGraph().keyOf(node, "table");
    if (storedAs.empty())
      return nullptr;
    it = tables.try_emplace(name).first;
    for (auto [content, suffix] :
         {std::pair(&it->second.keys, "-keys"), {&it->second.values, "-values"}}) {
      Stored &one = stored.emplace_back();
      one.bundle = model.variables.get();
      one.key = storedAs + suffix;
      content->stored = static_cast<int64_t>(stored.size()) - 1;
    }
  }
  Table &table = it->second;
  if (!table.entries.keys) {
    InitialValue keys, values;
    auto problem = materialize(table.keys, keys);
    if (!problem)
      problem = materialize(table.values, values);
    if (problem) {
      reportValue(node, file, problem->code,
                  "what the table holds in a new session is not known: " + problem->text, into);
      return nullptr;
    }
    table.entries = {keys.value, values.value};
  }
  return &table.entries;
}

//===- NodeImport.cpp - one TensorFlow node on its way to weir ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NodeImport.h"
#include "compiler/frontend/Axis.h"
#include "compiler/frontend/ConstantReals.h"
#include "compiler/frontend/tensorflow/Datasets.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/InputImports.h"
#include "compiler/frontend/tensorflow/NumericImports.h"
#include "compiler/frontend/tensorflow/TensorFlowFrontend.h"
#include "compiler/frontend/tensorflow/UnusedAttributes.h"

#include "mlir/IR/Matchers.h"
#include "passes/gradient/Gradient.h"

#include <unordered_map>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

Value NodeImport::in(size_t i) {
  if (i >= inputs.size()) {
    (void)invalid("found no input " + Twine(i));
    return {};
  }
  Imported &input = inputs[i];
  switch (input.kind) {
  case Imported::Kind::Tensor:
    if (isa<BoxType>(element(input.value))) {
      if (Value image = openImage(*this, input.value))
        return image;
      (void)unsupported("expected a tensor of known rank as input " + Twine(i) +
                        ", which a Reshape or EnsureShape before it gives, got one whose rank only "
                        "the run knows");
      return {};
    }
    return input.value;
  case Imported::Kind::Resource:
    if (input.isRef && input.type) {
      // A variable is read where it is, whatever device its reader asks for.
      Operation *variable = input.value.getDefiningOp();
      Location place = variable ? variable->getLoc() : loc;
      input = Imported(
          VariableReadOp::create(b, place, input.type, input.value, ValueRange()).getResult());
      return input.value;
    }
    [[fallthrough]];
  default:
    if (input.kind == Imported::Kind::Group)
      (void)unsupported("expected a tensor of known rank, got several tensors in one, or one whose "
                        "rank only the run knows, as input " +
                        Twine(i));
    else
      (void)unsupported("expected a tensor, got a variable, an array or a handle as input " +
                        Twine(i));
    return {};
  }
}

Value NodeImport::stopGradient(Value v) {
  if (!v || !isFloat(v))
    return v;
  auto stopped = GateOp::create(b, loc, v.getType(), v, ValueRange());
  stopped->setAttr(stopGradientAttr, b.getUnitAttr());
  return stopped.getResult();
}

SmallVector<Value> NodeImport::tensors(size_t first, size_t end) {
  SmallVector<Value> values;
  for (size_t i = first; i < end; ++i) {
    values.push_back(in(i));
    if (!values.back())
      return {};
  }
  return values;
}

const AttrValue *NodeImport::attr(std::string_view name) const {
  for (const Attr &attr : node.attrs)
    if (attr.first == name) {
      asked.push_back(attr.first);
      return &attr.second;
    }
  return nullptr;
}

void NodeImport::warnOfUnused() const {
  if (!node.def)
    return;
  for (const AttrDef &def : node.def->attrs) {
    const AttrValue *value = node.attr(def.name);
    // Types and numbers of operands were compared when the graph was read.
    bool isCompared =
        def.kind == "type" || def.kind == "list(type)" || isOfArguments(*node.def, def);
    if (!value || isCompared || llvm::is_contained(asked, def.name) || isDefault(*value, def) ||
        changesNothing(node.op, def.name))
      continue;
    g.sink->report({"W0256",
                    g.file,
                    g.nameOf(node),
                    std::string(node.op),
                    "found attribute \"" + std::string(def.name) +
                        "\", which changes nothing here; leave it out",
                    {},
                    Severity::Warning});
  }
}

int64_t NodeImport::i(std::string_view name) const {
  const AttrValue *value = attr(name);
  return value ? value->i : 0;
}

double NodeImport::f(std::string_view name) const {
  const AttrValue *value = attr(name);
  return value ? value->f : 0;
}

bool NodeImport::isSet(std::string_view name) const {
  const AttrValue *value = attr(name);
  return value && value->b;
}

std::string_view NodeImport::s(std::string_view name) const {
  const AttrValue *value = attr(name);
  return value ? value->s : std::string_view();
}

IntVector NodeImport::is(std::string_view name) const {
  const AttrValue *value = attr(name);
  if (!value || !value->list)
    return {};
  return IntVector(value->list->ints.begin(), value->list->ints.end());
}

Type NodeImport::elementAttr(std::string_view name) const {
  const AttrValue *value = attr(name);
  return value ? elementType(b.getContext(), value->type()) : Type();
}

std::optional<IntVector> NodeImport::knownInts(size_t i) {
  if (i >= inputs.size() || inputs[i].kind != Imported::Kind::Tensor)
    return std::nullopt;
  return constantIntegers(inputs[i].value);
}

/// The name of an input in the operation's signature.
static std::string inputName(const Node &node, size_t i) {
  if (node.def && i < node.def->inputs.size())
    return std::string(node.def->inputs[i].name);
  return "input " + std::to_string(i);
}

std::optional<IntVector> NodeImport::constantInts(size_t i) {
  std::optional<IntVector> values = knownInts(i);
  if (!values)
    (void)g.report(node, "W0252",
                   "expected a constant, got " + inputName(node, i) +
                       " computed from the program's inputs");
  return values;
}

std::optional<int64_t> NodeImport::constantInt(size_t i) {
  std::optional<IntVector> values = constantInts(i);
  if (values && values->size() == 1)
    return values->front();
  if (values)
    (void)invalid("expected one value for " + inputName(node, i) + ", got " +
                  Twine(values->size()));
  return std::nullopt;
}

std::optional<SmallVector<double>> NodeImport::constantFloats(size_t i) {
  if (i < inputs.size() && inputs[i].kind == Imported::Kind::Tensor)
    if (auto values = frontend::constantReals(inputs[i].value))
      return values;
  (void)g.report(node, "W0252",
                 "expected a constant, got " + inputName(node, i) +
                     " computed from the program's inputs");
  return std::nullopt;
}

std::optional<std::vector<std::string>> NodeImport::constantStrings(size_t i) {
  DenseElementsAttr values;
  if (i >= inputs.size() || inputs[i].kind != Imported::Kind::Tensor ||
      !matchPattern(inputs[i].value, m_Constant(&values)) ||
      !isa<StringType>(values.getElementType()))
    return std::nullopt;
  std::vector<std::string> strings;
  for (StringRef text : values.getValues<StringRef>())
    strings.push_back(text.str());
  return strings;
}

std::optional<int64_t> NodeImport::axis(int64_t given, int64_t rank) {
  return frontend::checkedAxis(*this, given, rank);
}

std::optional<int64_t> NodeImport::constantAxis(size_t i, int64_t rank) {
  std::optional<int64_t> given = constantInt(i);
  return given ? axis(*given, rank) : std::nullopt;
}

LogicalResult NodeImport::results(ArrayRef<Value> values) {
  for (Value value : values) {
    if (!value)
      return failure();
    made.emplace_back(value);
  }
  return success();
}

LogicalResult NodeImport::unsupported(const Twine &what) {
  return g.report(node, "W0251", what.str());
}

LogicalResult NodeImport::invalid(const Twine &what) { return g.report(node, "W0224", what.str()); }

Value NodeImport::generalize(Value v, RankedTensorType wanted) {
  if (!v || v.getType() == wanted)
    return v;
  return ReshapeOp::create(b, loc, wanted, v, shapeOf(v));
}

Value NodeImport::stack(ArrayRef<Value> values, int64_t axis) {
  SmallVector<Value> parts;
  for (Value value : values) {
    parts.push_back(unsqueeze(value, {axis}));
    if (!parts.back())
      return {};
  }
  return concat(parts, axis);
}

bool NodeImport::hasRank(Value x, int64_t rank) {
  if (!x)
    return false;
  if (this->rank(x) == rank)
    return true;
  (void)invalid("expected a tensor of rank " + Twine(rank) + ", got " + Twine(this->rank(x)));
  return false;
}

RankedTensorType NodeImport::typeShapedBy(size_t i, Type element) {
  if (!element) {
    (void)unsupported("found a result type that weir does not have");
    return {};
  }
  if (auto sizes = knownInts(i); sizes &&
                                 llvm::all_of(*sizes, [](int64_t size) { return size >= 0; }) &&
                                 frontend::canBe(*sizes))
    return RankedTensorType::get(*sizes, element);
  Value shape = in(i);
  int64_t rank = shape && this->rank(shape) == 1 ? dim(shape, 0) : ShapedType::kDynamic;
  // More are none that a tensor has.
  if (ShapedType::isDynamic(rank) || rank > 64) {
    (void)unsupported("found a shape of unknown rank");
    return {};
  }
  return RankedTensorType::get(IntVector(rank, ShapedType::kDynamic), element);
}

using ImportIndex = std::unordered_map<std::string_view, const OpImport *>;

static const ImportIndex &importIndex() {
  static const ImportIndex index = [] {
    ImportIndex map;
    for (ArrayRef<OpImport> family : {arrayImports(),
                                      sliceImports(),
                                      blockImports(),
                                      scatterImports(),
                                      controlImports(),
                                      collectiveImports(),
                                      convolutionImports(),
                                      convolutionGradientImports(),
                                      elementwiseImports(),
                                      imageImports(),
                                      indexingImports(),
                                      linalgImports(),
                                      listImports(),
                                      networkImports(),
                                      reductionImports(),
                                      gradientImports(),
                                      recurrentImports(),
                                      optimizerImports(),
                                      stateImports(),
                                      einsumImports(),
                                      factorizationImports(),
                                      fourierImports(),
                                      poolGradientImports(),
                                      quantizationImports(),
                                      quantizedImports(),
                                      uniformImports(),
                                      audioImports(),
                                      fusedImports(),
                                      imageGradientImports(),
                                      imageSamplingImports(),
                                      recurrentGradientImports(),
                                      windowGradientImports(),
                                      randomImports(),
                                      specialImports(),
                                      tensorArrayImports(),
                                      raggedImports(),
                                      samplingImports(),
                                      setImports(),
                                      sparseImports(),
                                      sparseMatrixImports(),
                                      sparseStructureImports(),
                                      ctcImports(),
                                      crossImports(),
                                      drawnImports(),
                                      shapeImports(),
                                      decompositionImports(),
                                      generatorImports(),
                                      mapImports(),
                                      specialFunctionImports(),
                                      stringImports(),
                                      tableImports(),
                                      queueImports(),
                                      storeImports(),
                                      datasetImports(),
                                      iteratorImports(),
                                      checkpointImports(),
                                      readerImports(),
                                      exampleImports(),
                                      serializedImports(),
                                      imageFileImports(),
                                      summaryImports()})
      for (const OpImport &row : family)
        map.emplace(row.op, &row);
    return map;
  }();
  return index;
}

const OpImport *weir::tf::findImport(std::string_view op) {
  auto it = importIndex().find(op);
  return it == importIndex().end() ? nullptr : it->second;
}

std::vector<weir::SupportedOperator> weir::tf::supportedOperators() {
  std::vector<SupportedOperator> all;
  for (const auto &[name, row] : importIndex())
    all.push_back({"", std::string(name)});
  // What makes branches and loops of the graph's structure (Structure.h).
  for (const char *name : {"Switch", "Merge", "Enter", "Exit", "NextIteration"})
    for (const char *prefix : {"", "Ref"})
      all.push_back({"", std::string(prefix) + name});
  llvm::sort(
      all, [](const SupportedOperator &a, const SupportedOperator &b) { return a.name < b.name; });
  return all;
}

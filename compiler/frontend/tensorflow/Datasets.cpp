//===- Datasets.cpp - elements and functions of data sets -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Datasets.h"

#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "dialects/weir/CalledFunctions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Attributes of weir_kernel_dataset that the runtime reads.
static constexpr size_t headerSize = 6;

RankedTensorType weir::tf::sequenceType(MLIRContext *context, int64_t size) {
  return RankedTensorType::get({size}, BoxType::get(context));
}

RankedTensorType weir::tf::typeOf(MLIRContext *context, const Component &component) {
  if (component.type == DataType::Variant)
    return sequenceType(context, ShapedType::kDynamic);
  Type element = elementType(context, component.type);
  if (!element)
    return {};
  return component.shape ? RankedTensorType::get(*component.shape, element)
                         : sequenceType(context, 1);
}

std::optional<SmallVector<Type>> weir::tf::typesOf(NodeImport &n, const Components &components) {
  SmallVector<Type> types;
  for (const Component &component : components) {
    types.push_back(typeOf(n.b.getContext(), component));
    if (types.back())
      continue;
    (void)n.unsupported("found elements of type " + Twine(StringRef(typeName(component.type))) +
                        ", which weir does not have");
    return std::nullopt;
  }
  return types;
}

Components weir::tf::saidComponents(NodeImport &n, std::string_view types,
                                    std::string_view shapes) {
  Components all;
  const AttrValue *type = n.attr(types), *shape = n.attr(shapes);
  for (int64_t number : type && type->list ? type->list->ints : std::vector<int64_t>()) {
    Component &one = all.emplace_back();
    one.type = toDataType(number);
    size_t i = all.size() - 1;
    if (one.type == DataType::Variant || !shape || !shape->list ||
        i >= shape->list->shapes.size() || shape->list->shapes[i].unknownRank)
      continue;
    one.shape.emplace();
    for (int64_t size : shape->list->shapes[i].dims)
      one.shape->push_back(size < 0 ? ShapedType::kDynamic : size);
  }
  return all;
}

std::optional<Components> weir::tf::elementsOf(Value dataset) {
  auto call = dataset ? dataset.getDefiningOp<CustomCallOp>() : CustomCallOp();
  if (!call || call.getCallee() != "weir_kernel_dataset")
    return std::nullopt;
  ArrayRef<int64_t> rest = call.getParameters();
  rest = rest.drop_front(headerSize);
  Components all(size_t(rest.front()));
  rest = rest.drop_front();
  for (Component &one : all) {
    one.type = DataType(rest[0]);
    int64_t rank = rest[1];
    rest = rest.drop_front(2);
    if (rank < 0)
      continue;
    one.shape.emplace(rest.take_front(rank));
    rest = rest.drop_front(rank);
  }
  return all;
}

Components weir::tf::componentsOf(ArrayRef<Value> values, const Components &said) {
  Components all;
  for (auto [value, own] : llvm::zip(values, said)) {
    Component &one = all.emplace_back();
    one.type = own.type;
    auto type = cast<RankedTensorType>(value.getType());
    if (!isa<BoxType>(type.getElementType()))
      one.shape.emplace(type.getShape());
  }
  return all;
}

Value weir::tf::datasetAt(NodeImport &n, size_t i) {
  if (Value box = boxedInput(n, i))
    return box;
  (void)n.unsupported("found an input " + Twine(i) + " that is no data set of this program");
  return {};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// What a function knows of its own accord, and is not handed: null where it is not so.
static Value recreate(Value outside, OpBuilder &inside, Location loc) {
  if (std::optional<std::string> text = knownString(outside))
    return TensorBuilder(inside, loc).stringScalar(*text);
  Operation *made = outside.getDefiningOp();
  if (!made || made->getNumOperands() != 0 || made->getNumRegions() != 0 ||
      made->getNumResults() != 1 || !(isa<ConstantOp>(made) || isa<VariableOp>(made)))
    return {};
  return inside.clone(*made)->getResult(0);
}

namespace {

/// The function while it is made.
class FunctionBuilder {
public:
  FunctionBuilder(NodeImport &n, func::FuncOp function, Block *block)
      : n(n), function(function), block(block), b(OpBuilder::atBlockEnd(block)) {}

  Value feed(Type type) {
    Value made = block->addArgument(type, n.loc);
    return made;
  }

  LogicalResult capture(const Imported &input, DatasetFunction &made,
                        std::vector<Imported> &arguments) {
    bool isKnown = input.kind == Imported::Kind::Tensor || input.kind == Imported::Kind::Resource;
    if (!isKnown || input.choices || !input.value)
      return n.unsupported("expected a data set's function to take tensors, variables and tables "
                           "from outside, got a list, an array or a choice of variables");
    Imported inside = input;
    inside.value = recreate(input.value, b, n.loc);
    if (!inside.value && input.kind == Imported::Kind::Resource)
      return n.unsupported("found a function of a data set that takes something from outside that "
                           "is made in the run");
    if (!inside.value) {
      inside.value = feed(input.value.getType());
      made.captures.push_back(input.value);
    }
    arguments.push_back(std::move(inside));
    return success();
  }

  /// Imports the body and returns its results.
  LogicalResult finish(const AttrValue &callee, std::vector<Imported> arguments,
                       DatasetFunction &made) {
    GraphImporter::RegionState own;
    GraphImporter::RegionState *outside = std::exchange(n.g.state, &own);
    auto values = n.g.inlineFunction(callee, std::move(arguments), n.node, b);
    n.g.state = outside;
    if (failed(values))
      return failure();
    NodeImport reader(n.g, n.node, *values, b, n.loc);
    for (size_t i = 0; i < values->size(); ++i) {
      Value box = asBox(reader, i);
      Value result = box ? box : reader.in(i);
      if (!result)
        return failure();
      if (box && cast<RankedTensorType>(box.getType()).getDimSize(0) == 1) {
        if (i >= 63)
          return n.unsupported("found more than 63 results with ranks that only the run knows");
        made.boxed |= int64_t(1) << i;
      }
      made.results.push_back(result);
    }
    func::ReturnOp::create(b, n.loc, made.results);
    function.setType(
        b.getFunctionType(block->getArgumentTypes(), ValueRange(made.results).getTypes()));
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.setArgAttr(i, "weir.name", b.getStringAttr("argument" + Twine(i)));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.setResultAttr(i, "weir.name", b.getStringAttr("result" + Twine(i)));
    return success();
  }

private:
  NodeImport &n;
  func::FuncOp function;
  Block *block;
  OpBuilder b;
};

} // namespace

FailureOr<DatasetFunction> weir::tf::datasetFunction(NodeImport &n, std::string_view attribute,
                                                     const Components &components, size_t first,
                                                     size_t end) {
  const AttrValue *callee = n.attr(attribute);
  if (!callee || callee->kind != AttrValue::Kind::Func)
    return n.invalid("found no function in attribute " + Twine(StringRef(attribute)));
  if (!n.g.module)
    return n.unsupported("found a data set with a function in a program that is differentiated, "
                         "or beside a queue whose elements are looked for");
  std::optional<SmallVector<Type>> types = typesOf(n, components);
  if (!types)
    return failure();
  OpBuilder outer = OpBuilder::atBlockEnd(n.g.module.getBody());
  // A number of its own: symbols of code are told apart by letters and digits alone.
  int64_t number = llvm::count_if(n.g.module.getOps<func::FuncOp>(), [](func::FuncOp other) {
    return isCalledFunction(other.getSymName());
  });
  std::string name = (calledFunctionPrefix + Twine(number) + "." + n.g.nameOf(n.node)).str();
  auto function = func::FuncOp::create(outer, n.loc, name, outer.getFunctionType({}, {}));
  function->setAttr("weir.entry", outer.getStringAttr(name));
  FunctionBuilder builder(n, function, function.addEntryBlock());

  DatasetFunction made;
  std::vector<Imported> arguments;
  for (Type type : *types)
    arguments.emplace_back(builder.feed(type));
  LogicalResult result = success();
  for (size_t i = first; succeeded(result) && i < end; ++i)
    result = builder.capture(n.inputs[i], made, arguments);
  if (succeeded(result))
    result = builder.finish(*callee, std::move(arguments), made);
  if (failed(result)) {
    function.erase();
    return failure();
  }
  made.name = n.stringScalar(name);
  return made;
}

RandomState weir::tf::randomState(NodeImport &n, Value blocks) {
  RandomState state{n.i("seed"), n.i("seed2"), {}};
  Operation *parent = n.b.getInsertionBlock() ? n.b.getInsertionBlock()->getParentOp() : nullptr;
  while (parent && !isa<func::FuncOp>(parent))
    parent = parent->getParentOp();
  auto function = dyn_cast_or_null<func::FuncOp>(parent);
  if (!function || !isCalledFunction(function.getSymName()))
    return state;
  std::string name = "p" + function.getSymName().str() + "/" + n.g.nameOf(n.node);
  if (state.seed == 0 && state.seed2 == 0)
    state.seed = int64_t(llvm::xxh3_64bits(n.g.nameOf(n.node)));
  Operation *drawn =
      n.kernelCall("weir_kernel_random_reserve", {RankedTensorType::get({}, n.b.getI64Type())},
                   {n.stringScalar(name), n.toScalar(blocks)}, {}, /*isPure=*/false);
  state.drawn = drawn ? drawn->getResult(0) : Value();
  return state;
}

void weir::tf::dropUnusedFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> called;
  for (auto function : module.getOps<func::FuncOp>())
    if (isCalledFunction(function.getSymName()))
      called.push_back(function);
  if (called.empty())
    return;
  llvm::StringSet<> named;
  SmallVector<func::FuncOp> reached;
  for (auto function : module.getOps<func::FuncOp>())
    if (!isCalledFunction(function.getSymName()))
      reached.push_back(function);
  while (!reached.empty())
    reached.pop_back_val().walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (std::optional<std::string> text = knownString(operand))
          if (isCalledFunction(*text) && named.insert(*text).second)
            if (auto function = module.lookupSymbol<func::FuncOp>(*text))
              reached.push_back(function);
    });
  for (func::FuncOp function : called)
    if (!named.contains(function.getSymName()))
      function.erase();
}

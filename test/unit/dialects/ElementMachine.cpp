//===- ElementMachine.cpp - runs operations element by element ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/dialects/ElementMachine.h"
#include "dialects/weir/ConstantArray.h"
#include "dialects/weir/ConstantEvaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace weir;
using namespace weir::test;

std::ostream &weir::test::operator<<(std::ostream &os, const Array &array) {
  os << array.type << " [";
  for (int64_t size : array.shape)
    os << size << ' ';
  os << "] {";
  for (double value : array.values)
    os << value << ", ";
  return os << '}';
}
Array weir::test::f32(std::vector<int64_t> shape, std::vector<double> values) {
  return {"f32", std::move(shape), std::move(values)};
}
Array weir::test::i64(std::vector<int64_t> shape, std::vector<double> values) {
  return {"i64", std::move(shape), std::move(values)};
}
Array weir::test::sample(std::vector<int64_t> shape, int64_t seed) {
  Array array{"f32", shape, {}};
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  for (int64_t i = 0; i < count; ++i)
    array.values.push_back((double)((i * 37 + seed * 11) % 101) - 50 + 0.5);
  return array;
}

namespace {

/// Reads become test.load, requirements test.require.
struct Recorder : ElementReader {
  using ElementReader::ElementReader;
  Value element(Value tensor, ValueRange indices) override {
    OperationState state(loc, "test.load");
    state.addOperands(tensor);
    state.addOperands(indices);
    state.addTypes(computeType(getElementTypeOrSelf(tensor.getType())));
    return b.create(state)->getResult(0);
  }
  Value dim(Value tensor, unsigned i) override {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (!type.isDynamicDim(i))
      return constant(type.getDimSize(i));
    OperationState state(loc, "test.dim");
    state.addOperands(tensor);
    state.addAttribute("index", b.getI64IntegerAttr(i));
    state.addTypes(b.getIndexType());
    return b.create(state)->getResult(0);
  }
  void require(Operation *, Value ok, StringRef message, int, Value, Value) override {
    OperationState state(loc, "test.require");
    state.addOperands(ok);
    state.addAttribute("message", b.getStringAttr(message));
    b.create(state);
  }
};

/// Walks emitted code. Values are attributes, as folders take and give them.
class Walker {
public:
  Walker(const DenseMap<Value, const Array *> &arrays, std::vector<std::string> &errors)
      : arrays(arrays), errors(errors) {}

  void set(Value value, Attribute attribute) { values[value] = attribute; }
  Attribute get(Value value) const { return values.lookup(value); }

  /// Runs a block; what its terminator yields.
  SmallVector<Attribute> run(Block &block) {
    for (Operation &op : block) {
      if (auto yield = dyn_cast<scf::YieldOp>(op)) {
        SmallVector<Attribute> results;
        for (Value value : yield.getResults())
          results.push_back(values.lookup(value));
        return results;
      }
      step(&op);
    }
    return {};
  }

private:
  int64_t number(Value value) { return cast<IntegerAttr>(values.lookup(value)).getInt(); }

  void step(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      SmallVector<Attribute> carried;
      for (Value init : loop.getInitArgs())
        carried.push_back(values.lookup(init));
      int64_t end = number(loop.getUpperBound());
      for (int64_t i = number(loop.getLowerBound()); i < end; i += number(loop.getStep())) {
        set(loop.getInductionVar(), IntegerAttr::get(IndexType::get(op->getContext()), i));
        for (auto [argument, attribute] : llvm::zip(loop.getRegionIterArgs(), carried))
          set(argument, attribute);
        carried = run(*loop.getBody());
      }
      for (auto [result, attribute] : llvm::zip(op->getResults(), carried))
        set(result, attribute);
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Region &region = cast<IntegerAttr>(get(branch.getCondition())).getValue().isZero()
                           ? branch.getElseRegion()
                           : branch.getThenRegion();
      auto results = run(region.front());
      for (auto [result, attribute] : llvm::zip(op->getResults(), results))
        set(result, attribute);
      return;
    }
    StringRef name = op->getName().getStringRef();
    if (name == "test.load")
      return load(op);
    if (name == "test.dim") {
      const Array *array = arrays.lookup(op->getOperand(0));
      set(op->getResult(0),
          IntegerAttr::get(IndexType::get(op->getContext()),
                           array->shape[op->getAttrOfType<IntegerAttr>("index").getInt()]));
      return;
    }
    if (name == "test.require") {
      if (cast<IntegerAttr>(get(op->getOperand(0))).getValue().isZero())
        errors.push_back(op->getAttrOfType<StringAttr>("message").str());
      return;
    }
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      operands.push_back(get(operand));
    // Folders may move constants among the operands: they get a copy.
    Operation *copy = op->clone();
    SmallVector<OpFoldResult> results;
    for (int attempt = 0; attempt < 3 && results.empty(); ++attempt) {
      if (failed(copy->fold(operands, results)))
        break;
      operands.clear();
      for (Value operand : copy->getOperands())
        operands.push_back(get(operand));
    }
    if (results.empty()) {
      std::string text;
      llvm::raw_string_ostream(text) << "not folded: " << *op;
      ADD_FAILURE() << text;
    }
    for (auto [result, folded] : llvm::zip(op->getResults(), results)) {
      if (auto attribute = dyn_cast<Attribute>(folded))
        set(result, attribute);
      else
        set(result, get(cast<Value>(folded)));
    }
    copy->erase();
  }

  void load(Operation *op) {
    const Array *array = arrays.lookup(op->getOperand(0));
    Type type = op->getResult(0).getType();
    int64_t place = 0;
    for (auto [i, index] : llvm::enumerate(op->getOperands().drop_front())) {
      int64_t at = number(index);
      if (at < 0 || at >= array->shape[i]) {
        errors.push_back("read outside of bounds");
        at = 0;
      }
      place = place * array->shape[i] + at;
    }
    if (isa<ComplexType>(type)) {
      Type part = cast<ComplexType>(type).getElementType();
      set(op->getResult(0),
          ArrayAttr::get(op->getContext(), {FloatAttr::get(part, array->values[2 * place]),
                                            FloatAttr::get(part, array->values[2 * place + 1])}));
      return;
    }
    double value = place < (int64_t)array->values.size() ? array->values[place] : 0;
    if (auto floatType = dyn_cast<FloatType>(type))
      set(op->getResult(0), FloatAttr::get(floatType, value));
    else
      set(op->getResult(0),
          IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), (int64_t)value, true, true)));
  }

  const DenseMap<Value, const Array *> &arrays;
  std::vector<std::string> &errors;
  DenseMap<Value, Attribute> values;
};

std::string typeText(const Array &array, bool isStatic) {
  std::string text = "tensor<";
  for (int64_t size : array.shape)
    text += (isStatic ? std::to_string(size) : "?") + "x";
  return text + array.type + ">";
}

/// A literal of an element: of NaN and infinities, of f32, the bits.
std::string literal(double value, const std::string &type) {
  char text[40];
  if (type[0] != 'f' && type[0] != 'b')
    std::snprintf(text, sizeof(text), "%.0f", value);
  else if (!std::isfinite(value) && type == "f32")
    std::snprintf(text, sizeof(text), "0x%08X",
                  llvm::bit_cast<uint32_t>(static_cast<float>(value)));
  else
    std::snprintf(text, sizeof(text), "%.17e", value);
  return text;
}

std::string elementsText(const Array &array) {
  std::string text = "dense<";
  std::function<void(size_t, size_t &)> list = [&](size_t dim, size_t &next) {
    if (dim == array.shape.size()) {
      text += literal(array.values[next++], array.type);
      return;
    }
    text += "[";
    for (int64_t i = 0; i < array.shape[dim]; ++i) {
      text += i ? ", " : "";
      list(dim + 1, next);
    }
    text += "]";
  };
  size_t next = 0;
  if (!array.values.empty())
    list(0, next);
  return text + "> : " + typeText(array, true);
}

double numberOf(Attribute attribute, Type type) {
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  const APInt value = cast<IntegerAttr>(attribute).getValue();
  return type.isUnsignedInteger() || value.getBitWidth() == 1 ? (double)value.getZExtValue()
                                                              : (double)value.getSExtValue();
}

} // namespace

Machine::Machine() {
  context.loadDialect<WeirDialect, arith::ArithDialect, scf::SCFDialect, math::MathDialect,
                      complex::ComplexDialect, func::FuncDialect>();
  context.allowUnregisteredDialects();
  context.disableMultithreading();
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return success();
  });
}

OwningOpRef<ModuleOp> Machine::parse(const std::string &text) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << diagnostics << "\nin\n" << text;
  return module;
}

/// A module with one function: the operation `text` on its arguments, or on
/// constants for those that have one.
static std::string moduleText(const std::string &text, const std::vector<std::string> &types,
                              const std::vector<std::string> &constants, unsigned results) {
  std::string arguments, operandTypes, body;
  for (size_t i = 0; i < types.size(); ++i) {
    bool isConstant = i < constants.size() && !constants[i].empty();
    if (isConstant)
      body += "  %c" + std::to_string(i) + " = weir.constant " + constants[i] + "\n";
    arguments += (i ? ", %a" : "%a") + std::to_string(i) + ": " + types[i];
    operandTypes += (i ? ", " : "") + types[i];
  }
  std::string call = text.substr(0, text.find(" -> ")), element = "f32";
  if (call.size() != text.size())
    element = text.substr(call.size() + 4);
  for (size_t i = types.size(); i-- > 0;) {
    std::string from = "%" + std::to_string(i);
    bool isConstant = i < constants.size() && !constants[i].empty();
    for (size_t at = 0; (at = call.find(from, at)) != std::string::npos; at += 2)
      call.replace(at, from.size(), (isConstant ? "%c" : "%a") + std::to_string(i));
  }
  std::string resultTypes;
  for (unsigned i = 0; i < results; ++i)
    resultTypes += (i ? ", tensor<*x" : "tensor<*x") + element + ">";
  return "func.func private @f(" + arguments + ") {\n" + body + "  %r" +
         (results > 1 ? ":" + std::to_string(results) : "") + " = weir." + call + " : (" +
         operandTypes + ") -> (" + resultTypes + ")\n  return\n}";
}

Operation *Machine::build(ModuleOp module, unsigned results) {
  Operation *op = nullptr;
  module.walk([&](Operation *candidate) {
    if (isa_and_nonnull<WeirDialect>(candidate->getDialect()) && !isa<ConstantOp>(candidate))
      op = candidate;
  });
  auto infer = dyn_cast<InferTypeOpInterface>(op);
  if (!infer) { // a conversion: the shape of its operand
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    op->getResult(0).setType(type.clone(getElementTypeOrSelf(op->getResult(0).getType())));
    return op;
  }
  SmallVector<Type> types;
  if (failed(infer.inferReturnTypes(&context, op->getLoc(), op->getOperands(),
                                    op->getAttrDictionary(), op->getPropertiesStorage(),
                                    op->getRegions(), types)))
    return nullptr;
  for (auto [result, type] : llvm::zip(op->getResults(), types))
    result.setType(type);
  return op;
}

/// Unverified, as result types are still to be inferred.
static OwningOpRef<ModuleOp> parseFitting(Machine &machine, const std::string &text) {
  ParserConfig config(&machine.context, /*verifyAfterParse=*/false);
  auto module = parseSourceString<ModuleOp>(text, config);
  EXPECT_TRUE(module) << machine.diagnostics << "\nin\n" << text;
  return module;
}

std::string Machine::infer(const std::string &text, const std::vector<std::string> &operandTypes,
                           unsigned results) {
  diagnostics.clear();
  // An operand "c: dense<…>" is a constant.
  std::vector<std::string> types, constants;
  for (const std::string &type : operandTypes) {
    bool isConstant = type.starts_with("dense<");
    constants.push_back(isConstant ? type : "");
    types.push_back(isConstant ? type.substr(type.rfind("tensor<")) : type);
  }
  auto module = parseFitting(*this, moduleText(text, types, constants, results));
  if (!module)
    return "does not parse";
  Operation *op = build(*module, results);
  if (!op)
    return "error: " + diagnostics.substr(0, diagnostics.find('\n'));
  std::string all;
  llvm::raw_string_ostream os(all);
  llvm::interleave(op->getResultTypes(), os, ", ");
  return all;
}

Operation *Machine::buildOfConstants(const std::string &text, const std::vector<Array> &operands,
                                     OwningOpRef<ModuleOp> &module) {
  std::vector<std::string> types, constants;
  for (const Array &operand : operands) {
    types.push_back(typeText(operand, true));
    constants.push_back(elementsText(operand));
  }
  module = parseFitting(*this, moduleText(text, types, constants, 1));
  return module ? build(*module, 1) : nullptr;
}

static Attribute constantBehind(Value value) {
  return value.getDefiningOp<ConstantOp>().getValue();
}

static Array arrayOf(DenseElementsAttr elements) {
  Array array;
  array.shape = elements.getType().getShape().vec();
  llvm::raw_string_ostream(array.type) << elements.getElementType();
  for (Attribute value : elements.getValues<Attribute>())
    array.values.push_back(numberOf(value, elements.getElementType()));
  return array;
}

std::optional<Array> Machine::evaluate(const std::string &text,
                                       const std::vector<Array> &operands) {
  OwningOpRef<ModuleOp> module;
  Operation *op = buildOfConstants(text, operands, module);
  if (!op)
    return std::nullopt;
  auto attributes = llvm::map_to_vector(op->getOperands(), constantBehind);
  auto results = evaluateConstants(op, attributes);
  return results ? std::optional(arrayOf(cast<DenseElementsAttr>(results->front()))) : std::nullopt;
}

std::optional<Array> Machine::evaluateLarge(const std::string &text,
                                            const std::vector<Array> &operands) {
  OwningOpRef<ModuleOp> module;
  Operation *op = buildOfConstants(text, operands, module);
  if (!op || !isEvaluatedOnArrays(op))
    return std::nullopt;
  ArrayPool pool;
  std::vector<ConstantArray> arrays;
  for (Value operand : dataOperands(op)) {
    auto array = ConstantArray::read(constantBehind(operand), pool);
    if (!array)
      return std::nullopt;
    arrays.push_back(std::move(*array));
  }
  std::vector<const ConstantArray *> pointers;
  for (const ConstantArray &array : arrays)
    pointers.push_back(&array);
  auto result = evaluateArrays(op, pointers);
  DenseElementsAttr elements = result ? result->attribute() : DenseElementsAttr();
  return elements ? std::optional(arrayOf(elements)) : std::nullopt;
}

Outcome Machine::run(const std::string &text, const std::vector<Array> &operands, Typing typing,
                     unsigned results) {
  Outcome outcome;
  diagnostics.clear();
  std::vector<std::string> types, constants;
  for (size_t i = 0; i < operands.size(); ++i) {
    // How many parameters there are is always known.
    bool isParameter = i && operands[i].type == "i64" && operands[i].shape.size() == 1;
    types.push_back(typeText(operands[i], typing != Typing::Dynamic || isParameter));
    constants.push_back(typing == Typing::Constant && i ? elementsText(operands[i]) : "");
  }
  auto module = parseFitting(*this, moduleText(text, types, constants, results));
  if (!module)
    return outcome;
  Operation *op = build(*module, results);
  if (!op) {
    outcome.errors.push_back(diagnostics);
    return outcome;
  }
  for (Type type : op->getResultTypes())
    if (!isa<RankedTensorType>(type)) {
      ADD_FAILURE() << "unranked result of " << text;
      return outcome;
    }
  DenseMap<Value, const Array *> arrays;
  for (auto [operand, array] : llvm::zip(op->getOperands(), operands))
    arrays[operand] = &array;
  std::vector<Array> made(results);
  for (unsigned k = 0; k < results; ++k) {
    // Sizes first, then one function for all elements.
    Block sizes;
    OpBuilder b(&context);
    b.setInsertionPointToStart(&sizes);
    Recorder recorder(b, op->getLoc());
    SmallVector<Value> dims;
    EXPECT_TRUE(succeeded(cast<ReifyShapeOpInterface>(op).reifyShape(recorder, k, dims)));
    Walker walker(arrays, outcome.errors);
    walker.run(sizes);
    auto type = cast<RankedTensorType>(op->getResult(k).getType());
    EXPECT_EQ((int64_t)dims.size(), type.getRank());
    for (auto [i, dim] : llvm::enumerate(dims)) {
      int64_t size = cast<IntegerAttr>(walker.get(dim)).getInt();
      EXPECT_TRUE(type.isDynamicDim(i) || type.getDimSize(i) == size)
          << "dimension " << i << " is " << type.getDimSize(i) << " by type, " << size
          << " by code";
      made[k].shape.push_back(size);
    }
    llvm::raw_string_ostream(made[k].type) << type.getElementType();
    arrays[op->getResult(k)] = &made[k];
    if (!isa<ElementalOpInterface>(op) || !outcome.errors.empty())
      continue;

    Block body;
    b.setInsertionPointToStart(&body);
    SmallVector<Value> indices;
    for (int64_t i = 0; i < type.getRank(); ++i)
      indices.push_back(body.addArgument(b.getIndexType(), op->getLoc()));
    Value element = cast<ElementalOpInterface>(op).emitElement(recorder, k, indices);
    int64_t count = 1;
    for (int64_t size : made[k].shape)
      count *= size;
    for (int64_t linear = 0; linear < count; ++linear) {
      int64_t rest = linear;
      for (int64_t i = type.getRank(); i-- > 0; rest /= made[k].shape[i])
        walker.set(indices[i], b.getIndexAttr(rest % made[k].shape[i]));
      walker.run(body);
      Attribute value = walker.get(element);
      if (auto parts = dyn_cast<ArrayAttr>(value))
        for (Attribute part : parts)
          made[k].values.push_back(numberOf(part, cast<FloatAttr>(part).getType()));
      else
        made[k].values.push_back(numberOf(value, type.getElementType()));
    }
    body.dropAllReferences();
    while (!body.empty())
      body.back().erase();
    sizes.dropAllReferences();
    while (!sizes.empty())
      sizes.back().erase();
  }
  outcome.results = made;
  return outcome;
}

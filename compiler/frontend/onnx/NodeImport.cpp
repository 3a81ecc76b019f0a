//===- NodeImport.cpp - one ONNX node on its way to weir ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/NodeImport.h"
#include "compiler/frontend/Axis.h"
#include "compiler/frontend/ConstantReals.h"
#include "compiler/frontend/onnx/GraphImporter.h"

#include <charconv>
#include <cstring>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

NodeImport::NodeImport(GraphImporter &graph, const Node &node, int64_t version,
                       std::optional<OperatorSpec> spec, OpBuilder &b, Location loc)
    : TensorBuilder(b, loc), graph(graph), node(node), version(version), spec(spec),
      made(node.outputs.size()) {}

Value NodeImport::in(size_t i) {
  look(i);
  if (i < inputs.size() && inputs[i].kind == Imported::Kind::Tensor)
    return inputs[i].tensor;
  std::string name = spec ? spec->inputName(i) : "input " + std::to_string(i);
  if (!has(i))
    (void)invalid("found no " + name + "; the operator cannot do without it");
  else
    (void)unsupported("expected a tensor, got a sequence or optional as " + name);
  return {};
}

SmallVector<Value> NodeImport::tensors() {
  SmallVector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(in(i));
    if (!values.back())
      return {};
  }
  return values;
}

void NodeImport::set(size_t i, Imported value) {
  if (i < made.size())
    made[i] = std::move(value);
}

std::optional<int64_t> NodeImport::declaredRank(size_t i) const {
  return wants(i) ? graph.declaredRank(node.outputs[i]) : std::nullopt;
}

std::optional<int64_t> NodeImport::rankBound() const {
  return wants(0) ? graph.rankBound(node.outputs[0]) : std::nullopt;
}

LogicalResult NodeImport::results(ArrayRef<Value> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!wants(i))
      continue;
    if (!values[i])
      return failure();
    made[i] = Imported(values[i]);
  }
  return success();
}

const NodeAttribute *NodeImport::attr(std::string_view name) const {
  const NodeAttribute *found = node.attribute(name);
  if (found)
    asked.insert(StringRef(name.data(), name.size()));
  return found ? graph.resolve(*found) : nullptr;
}

namespace {
template <typename T> T parse(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<std::string_view> defaultOf(const std::optional<OperatorSpec> &spec,
                                          std::string_view name) {
  if (!spec)
    return std::nullopt;
  std::optional<AttributeSpec> known = spec->attribute(name);
  return known ? known->defaultValue : std::nullopt;
}

template <typename T>
std::optional<SmallVector<T>> defaultList(const std::optional<OperatorSpec> &spec,
                                          std::string_view name) {
  std::optional<std::string_view> text = defaultOf(spec, name);
  if (!text)
    return std::nullopt;
  SmallVector<T> values;
  while (!text->empty()) {
    size_t comma = text->find(',');
    values.push_back(parse<T>(text->substr(0, comma)));
    *text = comma == std::string_view::npos ? std::string_view() : text->substr(comma + 1);
  }
  return values;
}
} // namespace

int64_t NodeImport::i(std::string_view name) const {
  if (const NodeAttribute *found = attr(name))
    return found->i;
  return parse<int64_t>(defaultOf(spec, name).value_or("0"));
}

double NodeImport::f(std::string_view name) const {
  if (const NodeAttribute *found = attr(name))
    return found->f;
  // The table's text is that of a float, not of a double.
  return parse<float>(defaultOf(spec, name).value_or("0"));
}

std::string_view NodeImport::s(std::string_view name) const {
  if (const NodeAttribute *found = attr(name))
    return found->s;
  return defaultOf(spec, name).value_or("");
}

std::optional<SmallVector<int64_t>> NodeImport::is(std::string_view name) const {
  if (const NodeAttribute *found = attr(name))
    return SmallVector<int64_t>(found->ints.begin(), found->ints.end());
  return defaultList<int64_t>(spec, name);
}

std::optional<SmallVector<double>> NodeImport::fs(std::string_view name) const {
  if (const NodeAttribute *found = attr(name))
    return SmallVector<double>(found->floats.begin(), found->floats.end());
  return defaultList<double>(spec, name);
}

std::vector<std::string_view> NodeImport::ss(std::string_view name) const {
  const NodeAttribute *found = attr(name);
  return found ? found->strings : std::vector<std::string_view>();
}

std::optional<SmallVector<int64_t>> NodeImport::knownInts(size_t i) {
  look(i);
  if (!has(i) || inputs[i].kind != Imported::Kind::Tensor)
    return std::nullopt;
  return constantIntegers(inputs[i].tensor);
}

std::optional<SmallVector<int64_t>> NodeImport::constantInts(size_t i) {
  std::optional<SmallVector<int64_t>> values = knownInts(i);
  std::string name = spec ? spec->inputName(i) : "input " + std::to_string(i);
  if (!values)
    (void)graph.report(
        node, 353, "expected a constant, got " + name + " computed by the model from its inputs");
  return values;
}

std::optional<SmallVector<double>> NodeImport::constantFloats(size_t i) {
  look(i);
  if (has(i) && inputs[i].kind == Imported::Kind::Tensor)
    return frontend::constantReals(inputs[i].tensor);
  return std::nullopt;
}

std::optional<int64_t> NodeImport::axis(int64_t given, int64_t rank) {
  return frontend::checkedAxis(*this, given, rank);
}

std::optional<SmallVector<int64_t>> NodeImport::axes(std::optional<SmallVector<int64_t>> given,
                                                     int64_t rank) {
  if (!given)
    return axesFrom(0, rank);
  SmallVector<int64_t> result;
  for (int64_t one : *given) {
    std::optional<int64_t> checked = axis(one, rank);
    if (!checked)
      return std::nullopt;
    result.push_back(*checked);
  }
  llvm::sort(result);
  if (llvm::unique(result) != result.end()) {
    (void)invalid("expected each axis once, got one twice");
    return std::nullopt;
  }
  return result;
}

SmallVector<double> NodeImport::tensorNumbers(const Tensor &tensor) {
  SmallVector<double> numbers;
  std::string data;
  if (tensor.isExternal || tensor.type == DataType::String || decodeTensor(tensor, data)) {
    (void)unsupported("found an attribute whose numbers are not in it");
    return numbers;
  }
  auto read = [&](auto zero) {
    for (size_t at = 0; at + sizeof zero <= data.size(); at += sizeof zero) {
      std::memcpy(&zero, data.data() + at, sizeof zero);
      numbers.push_back(static_cast<double>(zero));
    }
  };
  switch (tensor.type) {
  case DataType::Float:
    read(0.0f);
    break;
  case DataType::Double:
    read(0.0);
    break;
  case DataType::UInt8:
  case DataType::Bool:
    read(uint8_t());
    break;
  case DataType::Int8:
    read(int8_t());
    break;
  case DataType::Int32:
    read(int32_t());
    break;
  case DataType::Int64:
    read(int64_t());
    break;
  default:
    (void)unsupported("found an attribute of type " + Twine(dataTypeName(tensor.type)));
  }
  return numbers;
}

Value NodeImport::tensorConstant(const Tensor &tensor) {
  return graph.constant(tensor, b, loc, &node);
}

void NodeImport::require(Value condition, StringRef text, int64_t code) {
  if (condition)
    AssertOp::create(b, loc, TokenType::get(b.getContext()), condition, this->text(text),
                     number(code), ValueRange());
}

bool NodeImport::isCount(StringRef name, int64_t value, int64_t most) {
  bool fits = value >= 1 && value <= most;
  if (!fits)
    (void)invalid("expected " + name + " from 1 to " + Twine(most) + ", got " + Twine(value));
  return fits;
}

bool NodeImport::isMultiple(Value x, int64_t axis, int64_t divisor, StringRef parts) {
  int64_t size = dim(x, axis);
  if (!x || divisor < 1 || (!ShapedType::isDynamic(size) && size % divisor)) {
    (void)invalid("expected a number of " + parts + " that divides the dimension's size " +
                  sizeText(size) + ", got " + Twine(divisor));
    return false;
  }
  if (ShapedType::isDynamic(size) && divisor > 1) {
    Value rest = op<RemOp>(toScalar(sizeOf(x, axis)), intScalar(divisor));
    require(compare("eq", rest, 0.0),
            (Twine(divisor) + " " + parts + " do not divide dimension " + Twine(axis)).str());
  }
  return true;
}

bool NodeImport::hasSize(Value x, int64_t axis, int64_t size, StringRef what) {
  if (!x)
    return false;
  int64_t given = dim(x, axis);
  if (ShapedType::isDynamic(given))
    require(compare("eq", toScalar(sizeOf(x, axis)), static_cast<double>(size)),
            ("dimension " + Twine(axis) + " of the " + what + " is not " + Twine(size)).str());
  else if (given != size)
    (void)invalid("expected size " + Twine(size) + " of dimension " + Twine(axis) + " of the " +
                  what + ", got " + Twine(given));
  return ShapedType::isDynamic(given) || given == size;
}

bool NodeImport::hasSize(Value x, int64_t axis, Value size, StringRef what) {
  if (!x || !size)
    return false;
  if (auto known = constantIntegers(size))
    return hasSize(x, axis, known->front(), what);
  require(
      toScalar(compare("eq", sizeOf(x, axis), size)),
      ("dimension " + Twine(axis) + " of the " + what + " does not go with the operands").str());
  return true;
}

Value NodeImport::settled(Value sizes) {
  auto known = sizes ? constantIntegers(sizes) : std::nullopt;
  return known ? ints(*known) : sizes;
}

bool NodeImport::isAsLarge(Value x, int64_t axis, Value y, int64_t other, StringRef what) {
  if (!x || !y)
    return false;
  int64_t size = dim(y, other);
  if (!ShapedType::isDynamic(size))
    return hasSize(x, axis, size, what);
  if (int64_t given = dim(x, axis); !ShapedType::isDynamic(given))
    return hasSize(y, other, given, what);
  require(toScalar(compare("eq", sizeOf(x, axis), sizeOf(y, other))),
          ("sizes of the " + what + " differ").str());
  return true;
}

bool NodeImport::isOneOrAsLarge(Value x, int64_t axis, Value y, int64_t other, StringRef what) {
  if (!x || !y)
    return false;
  int64_t size = dim(x, axis);
  if (size == 1)
    return true;
  if (!ShapedType::isDynamic(size))
    return ShapedType::isDynamic(dim(y, other)) ? hasSize(y, other, size, what)
                                                : hasSize(x, axis, dim(y, other), what);
  Value given = sizeOf(x, axis), isSame = compare("eq", given, sizeOf(y, other));
  require(toScalar(op<OrOp>(isSame, compare("eq", given, 1.0))),
          ("sizes of the " + what + " differ").str());
  return true;
}

bool NodeImport::hasRank(Value v, int64_t rank, StringRef what) {
  if (v && this->rank(v) != rank)
    (void)invalid("expected rank " + Twine(rank) + " of the " + what + ", got " +
                  Twine(this->rank(v)));
  return v && this->rank(v) == rank;
}

bool NodeImport::hasEntries(Value v, int64_t count, StringRef what) {
  return hasRank(v, 1, what) && hasSize(v, 0, count, what);
}

Value NodeImport::ofLength(Value v, int64_t count, StringRef what) {
  if (!hasEntries(v, count, what))
    return {};
  return isStatic(v) ? v : reshape(v, {count});
}

bool NodeImport::hasOneEach(Value v, Value x, int64_t axis, StringRef what) {
  if (axis < 0) {
    (void)invalid("found a scalar, which has no dimension for its " + what);
    return false;
  }
  return hasRank(v, 1, what) && isAsLarge(v, 0, x, axis, what);
}

bool NodeImport::isSameShape(Value x, Value y, StringRef what, int64_t begin) {
  if (!x || !y || !hasRank(x, rank(y), what))
    return false;
  for (int64_t axis = begin; axis < rank(y); ++axis)
    if (!isAsLarge(x, axis, y, axis, what))
      return false;
  return true;
}

bool NodeImport::stretchesTo(Value v, Value x, StringRef what) {
  if (!v || !x)
    return false;
  int64_t before = rank(x) - rank(v);
  if (before < 0) {
    (void)invalid("expected up to " + Twine(rank(x)) + " dimensions of the " + what + ", got " +
                  Twine(rank(v)));
    return false;
  }
  for (int64_t axis = 0; axis < rank(v); ++axis)
    if (!isOneOrAsLarge(v, axis, x, before + axis, what))
      return false;
  return true;
}

namespace {
/// What says how exactly or how fast to compute, or what holds whatever it says, of all
/// operators or of one; an input by its name.
struct Hint {
  std::string_view op, name;
};
constexpr Hint hints[] = {
    {"", "consumed_inputs"},           {"", "stash_type"}, // results are rounded once, from f32
    {"", "softmax_precision"},         {"", "precision"},
    {"MatMulNBits", "accuracy_level"}, {"QMoE", "accuracy_level"},
};

/// Whether a number or text says what the operator's version has by default.
bool isDefault(const NodeAttribute &attr, const std::optional<OperatorSpec> &spec) {
  std::optional<std::string_view> text = defaultOf(spec, attr.name);
  switch (attr.kind) {
  case AttributeKind::Int:
    return attr.i == parse<int64_t>(text.value_or("0"));
  case AttributeKind::Float:
    return float(attr.f) == parse<float>(text.value_or("0"));
  case AttributeKind::String:
    return attr.s == text.value_or("");
  default:
    return false;
  }
}
} // namespace

void NodeImport::warnOfUnused() const {
  auto isHint = [&](std::string_view name) {
    return llvm::any_of(hints, [&](const Hint &hint) {
      return hint.name == name && (hint.op.empty() || hint.op == node.op);
    });
  };
  for (const NodeAttribute &attr : node.attributes)
    if (!asked.contains(StringRef(attr.name.data(), attr.name.size())) && !isHint(attr.name) &&
        attr.graphs.empty() && !isDefault(attr, spec)) // a branch that is never taken is none
      graph.warn(node, 325,
                 "found attribute \"" + std::string(attr.name) +
                     "\", which changes nothing here; leave it out");
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name = spec ? spec->inputName(i) : "input " + std::to_string(i);
    if (has(i) && (i >= used.size() || !used.test(i)) && !isHint(name))
      graph.warn(node, 325, "found " + name + ", which changes nothing here; leave it out");
  }
}

LogicalResult NodeImport::unsupported(const Twine &what) {
  return graph.report(node, 351, what.str());
}

LogicalResult NodeImport::invalid(const Twine &what) { return graph.report(node, 322, what.str()); }

//===- GraphBuilder.cpp - a graph while it is generated -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/GraphDefForm.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace weir;
using namespace weir::fuzz;
using namespace weir::tools;

bool Value::isInteger() const { return type != WEIR_BOOL && type != WEIR_STRING && !isFloat(); }

std::string weir::fuzz::choicesOfSeed(uint64_t seed) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    uint64_t word = splitMix(seed);
    bytes.append(reinterpret_cast<const char *>(&word), sizeof word);
  }
  return bytes;
}

uint32_t GraphBuilder::below(uint32_t bound) {
  uint32_t value = 0;
  for (uint32_t range = 1; range < bound && !choices.empty(); range <<= 8) {
    value = value << 8 | static_cast<uint8_t>(choices.front());
    choices.remove_prefix(1);
  }
  return bound ? value % bound : 0;
}

std::optional<Value> GraphBuilder::find(const std::function<bool(const Value &)> &fits) {
  std::vector<const Value *> fitting;
  for (const Value &value : pool)
    if (fits(value))
      fitting.push_back(&value);
  if (fitting.empty())
    return std::nullopt;
  // Of two the later one: chains grow, and some values are used often.
  uint32_t size = static_cast<uint32_t>(fitting.size());
  return *fitting[std::max(below(size), below(size))];
}

static HostTensor randomNumbers(int32_t type, const Dims &dims, double low, double high,
                                uint64_t seed) {
  HostTensor tensor = makeTensor(type, dims);
  for (int64_t i = 0, n = tensor.count(); i < n; ++i) {
    double part = double(splitMix(seed) >> 11) * 0x1p-53;
    double value = low + part * (high - low);
    if (type == WEIR_BOOL)
      value = part < 0.5;
    else if (!isFloat(type))
      value = std::min(high, std::floor(low + part * (high - low + 1)));
    setElement(tensor, i, value);
  }
  return tensor;
}

std::string GraphBuilder::fresh(const char *prefix) { return prefix + std::to_string(++count); }

Value GraphBuilder::data(int32_t type, const Dims &dims, double low, double high) {
  if (oneIn(3))
    return feed(type, dims, low, high);
  uint64_t seed = below(65536);
  return constant(randomNumbers(type, dims, low, high, seed), Role::Data);
}

Proto GraphBuilder::feedType(const std::string &name, const HostTensor &tensor,
                             bool openSizes) const {
  Proto shape;
  // Ones decide what broadcasts: of most feeds they stay ones, of some numbers the run finds them.
  bool mayStretch = openSizes && isFloat(tensor.dtype) && count % 3 == 0;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    int64_t size = tensor.dims[i];
    // Equal sizes get one name, as exporters do.
    if (openSizes && size > 1)
      shape.message(1, Proto().bytes(2, "D" + std::to_string(size)));
    else if (mayStretch && size == 1)
      shape.message(1, Proto().bytes(2, name + "_" + std::to_string(i)));
    else
      shape.message(1, Proto().number(1, size));
  }
  Proto type = Proto().number(1, tensor.dtype).message(2, shape);
  return Proto().bytes(1, name).message(2, Proto().message(1, type));
}

static double magnitude(const HostTensor &tensor) {
  double bound = 0;
  for (int64_t i = 0, n = tensor.count(); i < n; ++i)
    bound = std::max(bound, std::abs(elementAsDouble(tensor, i)));
  return bound;
}

Value GraphBuilder::feed(int32_t type, const Dims &dims, double low, double high) {
  Value value{fresh("x"), type, dims, 0, 0};
  HostTensor tensor = randomNumbers(type, dims, low, high, below(65536));
  value.bound = magnitude(tensor);
  inputs += Proto().message(11, feedType(value.name, tensor, form.openSizes)).data;
  feeds.emplace_back(value.name, std::move(tensor));
  values[value.name] = value;
  return value;
}

Value GraphBuilder::constant(const HostTensor &tensor, Role role) {
  Value value{fresh("c"), tensor.dtype, tensor.dims, magnitude(tensor), 0};
  if (form.constantsFed && role != Role::Parameter) {
    // Weights have the sizes that they have.
    inputs += Proto().message(11, feedType(value.name, tensor, false)).data;
    feeds.emplace_back(value.name, tensor);
  } else {
    initializers +=
        Proto()
            .message(5, onnx::test::tensor(value.name, tensor.dtype, tensor.dims, tensor.bytes))
            .data;
    constants.emplace_back(value.name, tensor);
  }
  values[value.name] = value;
  return value;
}

Value GraphBuilder::integers(const std::vector<int64_t> &values, Role role) {
  HostTensor tensor = makeTensor(WEIR_I64, {int64_t(values.size())});
  if (!values.empty())
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return constant(tensor, role);
}

Value GraphBuilder::integer(int64_t value, Role role) {
  HostTensor tensor = makeTensor(WEIR_I64, {});
  std::memcpy(tensor.bytes.data(), &value, sizeof value);
  return constant(tensor, role);
}

Value GraphBuilder::number(int32_t type, double value) {
  HostTensor tensor = makeTensor(type, {});
  setElement(tensor, 0, value);
  return constant(tensor, Role::Data);
}

std::vector<std::string> GraphBuilder::node(const std::string &operation,
                                            const std::vector<std::string> &inputs,
                                            const std::vector<Proto> &attributes, size_t outputs) {
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i)
    names.push_back(fresh("v"));
  Proto proto = onnx::test::node(operation, inputs, names, fresh("n"));
  for (const Proto &attribute : attributes)
    proto.message(5, attribute);
  scopes.back().nodes += Proto().message(1, proto).data;
  if (depth() == 0)
    recorded.push_back({operation, inputs, names, attributes});
  return names;
}

Value GraphBuilder::make(const std::string &operation, const std::vector<Value> &inputs,
                         int32_t type, Dims dims, double bound, double error,
                         const std::vector<Proto> &attributes) {
  std::vector<std::string> names;
  for (const Value &input : inputs)
    names.push_back(input.name);
  Value value{node(operation, names, attributes)[0], type, std::move(dims), bound, error};
  values[value.name] = value;
  return value;
}

bool GraphBuilder::add(Value value) {
  if (value.isFloat()) {
    double limit = value.type == WEIR_F16 ? 500 : 1e5;
    if (value.bound > limit)
      value = make("Tanh", {value}, value.type, value.dims, 1, value.error + 8 * value.epsilon());
    if (!(value.error <= 0.02 * std::max(1.0, value.bound)))
      return true;
  }
  if (depth() == 0)
    made.push_back(value);
  values[value.name] = value;
  pool.push_back(std::move(value));
  return true;
}

Proto GraphBuilder::attribute(const std::string &name, int64_t value) {
  return Proto().bytes(1, name).number(3, value).number(20, 2);
}
Proto GraphBuilder::attribute(const std::string &name, const Dims &values) {
  Proto proto = Proto().bytes(1, name);
  for (int64_t value : values)
    proto.number(8, value);
  return proto.number(20, 7);
}
Proto GraphBuilder::attribute(const std::string &name, float value) {
  return Proto().bytes(1, name).real(2, value).number(20, 1);
}
Proto GraphBuilder::attribute(const std::string &name, const char *value) {
  return Proto().bytes(1, name).bytes(4, value).number(20, 3);
}
Proto GraphBuilder::attribute(const std::string &name, const Proto &graph) {
  return Proto().bytes(1, name).message(6, graph).number(20, 5);
}

void GraphBuilder::beginGraph(const std::vector<Value> &parameters) {
  Scope scope;
  scope.firstValue = pool.size();
  scopes.push_back(scope);
  pool.insert(pool.end(), parameters.begin(), parameters.end());
}

/// ValueInfoProto of a value whose sizes the reader has to find out.
static Proto typeOnly(const Value &value) {
  Proto shape;
  for (size_t i = 0; i < value.rank(); ++i)
    shape.message(1, Proto());
  Proto type = Proto().number(1, value.type).message(2, shape);
  return Proto().bytes(1, value.name).message(2, Proto().message(1, type));
}

Proto GraphBuilder::endGraph(const std::vector<Value> &parameters,
                             const std::vector<Value> &outputs) {
  Proto graph;
  graph.data = scopes.back().nodes;
  graph.bytes(2, fresh("g"));
  for (const Value &parameter : parameters)
    graph.message(11, typeOnly(parameter));
  for (const Value &output : outputs)
    graph.message(12, typeOnly(output));
  pool.resize(scopes.back().firstValue);
  scopes.pop_back();
  return graph;
}

bool GraphBuilder::isInner(const Value &value) const {
  for (size_t i = scopes.back().firstValue; i < pool.size(); ++i)
    if (pool[i].name == value.name)
      return true;
  return false;
}

GeneratedGraph GraphBuilder::finishGraphDef(GeneratedGraph graph) const {
  std::set<std::string> said;
  graph.model = writeGraphDef({recorded, values, constants, graph.feeds}, said);
  std::erase_if(graph.errors, [&](const auto &error) { return !said.count(error.first); });
  return graph;
}

GeneratedGraph GraphBuilder::finish(unsigned steps) {
  GeneratedGraph graph;
  // Which values the first form fetches is drawn for every form alike.
  std::vector<const Value *> fetched;
  for (size_t i = 0; i < made.size(); ++i)
    if (bool chosen = oneIn(4); chosen || form.fetchAll || i + 1 == made.size())
      fetched.push_back(&made[i]);
  Proto proto;
  proto.data = scopes.front().nodes;
  proto.bytes(2, "generated");
  proto.data += initializers + inputs;
  for (const Value *value : fetched) {
    proto.message(12, typeOnly(*value));
    graph.errors[value->name] = value->error;
  }
  graph.model = onnx::test::model(proto, 22);
  graph.feeds = std::move(feeds);
  graph.steps = steps;
  return form.graphDef ? finishGraphDef(std::move(graph)) : graph;
}

GeneratedGraph weir::fuzz::generateGraph(std::string_view choices, const GraphForm &form,
                                         unsigned steps) {
  GraphBuilder g(choices, form);
  bool isLarge = g.oneIn(8);
  if (isLarge)
    g.setMost(200000);
  // What is there to begin with.
  for (uint32_t i = 0, n = 1 + g.below(3); i < n; ++i) {
    Dims dims;
    for (uint32_t rank = g.below(5); dims.size() < rank;)
      dims.push_back(isLarge ? g.pick<int64_t>({1, 3, 16, 31, 64, 100, 129, 300})
                             : g.pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 13, 16, 17}));
    while (productOf(dims) > g.most() * 3 / 4)
      dims.pop_back();
    int32_t type = g.pick<int32_t>({WEIR_F32, WEIR_F32, WEIR_F32, WEIR_F32, WEIR_F64, WEIR_F16,
                                    WEIR_BF16, WEIR_I32, WEIR_I64, WEIR_I8, WEIR_U8, WEIR_BOOL,
                                    WEIR_U32, WEIR_I16, WEIR_U64});
    bool isSigned = type != WEIR_U8 && type != WEIR_U32 && type != WEIR_U64;
    double high = isFloat(type) ? 2 : 100;
    g.add(g.feed(type, dims, isSigned ? -high : 0, high));
  }
  unsigned done = 0, failures = 0;
  while (done < steps && !g.exhausted() && failures < 200)
    anyStep(g) ? ++done : ++failures;
  return g.finish(done);
}

//===- GeneratorImports.cpp - random numbers of generators in variables ---===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A variable of three i64 is a Philox generator: the counter's low and high half,
// and the key. Who draws n numbers sets 256 n blocks aside, and draws as the
// stateless operations do.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NumericImports.h"
#include "compiler/frontend/tensorflow/RegisteredGradients.h"
#include "compiler/frontend/tensorflow/Variables.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static Value bits(NodeImport &n, Value v, bool isSigned) {
  Type type = isSigned ? n.b.getI64Type() : n.b.getIntegerType(64, false);
  return n.cast(v, type, /*saturate=*/false);
}

/// Steps the generator in input 0 on by what `count` numbers (scalar i64) need; its
/// state before, tensor<3xi64>.
static Value takeState(NodeImport &n, size_t algorithmInput, Value count) {
  Imported *variable = variableAt(n, 0);
  if (!variable || !count || !isPhilox(n, algorithmInput))
    return {};
  Value before = currentValue(n, *variable);
  if (!n.hasRank(before, 1) || !n.element(before).isInteger(64))
    return {};
  int64_t size = n.dim(before, 0);
  if (ShapedType::isDynamic(size) || size < 3) {
    (void)n.unsupported("found a generator whose state is not known to be 3 numbers");
    return {};
  }
  auto word = [&](int64_t i) { return bits(n, n.slice(before, 0, i, i + 1), false); };
  Value step = bits(n, n.mul(n.reshape(count, {1}), 256.0), false);
  Value low = n.add(word(0), step);
  Value carry = n.cast(n.compare("lt", low, word(0)), n.element(low));
  Value high = n.add(word(1), carry);
  Value after = n.concat({bits(n, low, true), bits(n, high, true), n.slice(before, 0, 2, size)}, 0);
  if (failed(assignValue(n, *variable, after)))
    return {};
  return n.slice(before, 0, 0, 3);
}

static LogicalResult readAndSkip(NodeImport &n) {
  Value count = n.in(2);
  return count ? n.result(takeState(n, 1, bits(n, n.toScalar(count), true))) : failure();
}

static LogicalResult skip(NodeImport &n) {
  Value count = n.in(2);
  return count && takeState(n, 1, n.toI64(n.toScalar(count))) ? success() : failure();
}

/// A stateful operation as the stateless one of name `op`, its further inputs behind.
static LogicalResult drawAs(NodeImport &n, std::string_view op) {
  Value shape = n.in(2);
  if (!shape)
    return failure();
  Value state = takeState(n, 1, n.reduce(n.toI64(shape), "prod", {0}, false));
  if (!state)
    return failure();
  SmallVector<Value> inputs = {shape, bits(n, n.slice(state, 0, 2, 3), false),
                               bits(n, n.slice(state, 0, 0, 2), false),
                               n.scalar(n.b.getI32Type(), 1)};
  for (size_t i = 3; i < n.inputCount(); ++i)
    inputs.push_back(n.in(i));
  return n.result(Differentiated{n, {}, {}, {}}.call(op, inputs));
}

/// TensorFlow steps on as if each parameter had its samples by fours, of up to 100 pairs.
static LogicalResult statefulBinomial(NodeImport &n) {
  Value shape = n.in(2);
  auto [counts, chances] = binomialParameters(n, n.in(3), n.in(4));
  if (!shape || !counts)
    return failure();
  Value all = n.reduce(n.toI64(shape), "prod", {0}, false);
  Value parameters = n.reduce(n.shapeOf(counts), "prod", {0}, false);
  Value each = n.div(all, n.maximum(parameters, 1.0));
  Value steps = n.div(n.mul(n.mul(parameters, 200.0), n.add(each, 3.0)), n.intScalar(4));
  Value state = takeState(n, 1, steps);
  if (!state)
    return failure();
  // The kernel takes the key first.
  state = n.concat({n.slice(state, 0, 2, 3), n.slice(state, 0, 0, 2)}, 0);
  return n.result(drawBinomial(n, 2, state, counts, chances));
}

template <const char *const *op> static LogicalResult draw(NodeImport &n) { return drawAs(n, *op); }

static constexpr const char *uniform = "StatelessRandomUniformV2";
static constexpr const char *normal = "StatelessRandomNormalV2";
static constexpr const char *truncated = "StatelessTruncatedNormalV2";
static constexpr const char *ints = "StatelessRandomUniformIntV2";
static constexpr const char *fullInts = "StatelessRandomUniformFullIntV2";

ArrayRef<OpImport> weir::tf::generatorImports() {
  static const OpImport rows[] = {
      {"RngReadAndSkip", readAndSkip},
      {"RngSkip", skip},
      {"StatefulUniform", draw<&uniform>},
      {"StatefulStandardNormalV2", draw<&normal>},
      {"StatefulTruncatedNormal", draw<&truncated>},
      {"StatefulUniformInt", draw<&ints>},
      {"StatefulUniformFullInt", draw<&fullInts>},
      {"StatefulRandomBinomial", statefulBinomial},
  };
  return rows;
}

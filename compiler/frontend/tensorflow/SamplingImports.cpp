//===- SamplingImports.cpp - random numbers that are drawn until they fit -===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's kernels draw them (runtime/include/weir/kernels.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Datasets.h"
#include "compiler/frontend/tensorflow/NumericImports.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// The kernels' generator: a seed, or key and counter (i64 [2] or [3]).
static Value seedState(NodeImport &n, size_t seed) {
  Value v = n.in(seed);
  return v ? n.toI64(v) : Value();
}

static Value keyState(NodeImport &n, size_t first) {
  SmallVector<Value> rest = n.tensors(first, first + 2);
  if (rest.empty() || !isPhilox(n, first + 2))
    return {};
  auto bits = [&](Value v) { return n.cast(v, n.b.getI64Type(), false); };
  return n.concat({n.slice(bits(rest[0]), 0, 0, 1), n.slice(bits(rest[1]), 0, 0, 2)}, 0);
}

/// Of a stateful operation that draws so many blocks: it begins anew in each run, but in a
/// function of a data set.
static Value attributeState(NodeImport &n, Value blocks) {
  RandomState state = randomState(n, blocks);
  if (!state.drawn)
    return n.ints({state.seed, 0, state.seed2});
  return n.concat({n.ints({state.seed}), n.reshape(state.drawn, {1}), n.ints({state.seed2})}, 0);
}

/// Blocks for as many results as the product of a shape, and of the elements of `more`.
static Value blocksFor(NodeImport &n, Value shape, Value more = {}) {
  Value count = shape ? n.reduce(n.toI64(shape), "prod", {0}, true) : Value();
  if (count && more)
    count = n.mul(count, n.reduce(n.shapeOf(more), "prod", {0}, true));
  return count ? n.mul(count, double(blocksPerResult)) : Value();
}

static LogicalResult truncatedNormal(NodeImport &n, Value state) {
  RankedTensorType type = n.typeShapedBy(0, n.elementAttr("dtype"));
  Value shape = n.in(0);
  if (!type || !state || !shape)
    return failure();
  Operation *made =
      n.kernelCall("weir_kernel_random_truncated_normal", type, {state, n.toI64(shape)});
  return made ? n.result(made->getResult(0)) : failure();
}

static LogicalResult statelessTruncated(NodeImport &n) {
  return truncatedNormal(n, seedState(n, 1));
}
static LogicalResult statelessTruncatedV2(NodeImport &n) {
  return truncatedNormal(n, keyState(n, 1));
}
static LogicalResult statefulTruncated(NodeImport &n) {
  return truncatedNormal(n, attributeState(n, blocksFor(n, n.in(0))));
}

/// Fails unless `shape` ends with the sizes of `parameter`. Where `mayBeEmpty`, a result of
/// nothing has any shape: TensorFlow returns it before it looks.
static LogicalResult requireTail(NodeImport &n, Value shape, Value parameter, bool mayBeEmpty) {
  if (!shape || !parameter)
    return failure();
  int64_t rank = n.dim(shape, 0), own = n.rank(parameter);
  if (ShapedType::isDynamic(rank) || own == 0)
    return success(); // the kernel looks at the number of elements
  Value isEmpty;
  if (mayBeEmpty) {
    auto known = constantIntegers(shape);
    if (known && llvm::is_contained(*known, 0))
      return success();
    if (!known)
      isEmpty = n.reduce(n.compare("eq", shape, 0), "any", {0}, false);
  }
  if (!isEmpty && rank < own)
    return n.invalid("expected a shape that ends with that of the parameters, got fewer sizes");
  if (!isEmpty)
    return requireShape(n, parameter, n.toI64(n.slice(shape, 0, rank - own, rank)), "parameters");
  Value fits = n.scalar(n.b.getI1Type(), 0);
  if (rank >= own)
    fits = n.reduce(
        n.compare("eq", n.shapeOf(parameter), n.toI64(n.slice(shape, 0, rank - own, rank))), "all",
        {0}, false);
  require(n, n.op<OrOp>(isEmpty, fits), "the shape does not end with that of the parameters");
  return success();
}

static LogicalResult gamma(NodeImport &n, Value state, size_t alphaInput) {
  RankedTensorType type = n.typeShapedBy(0, n.elementAttr("dtype"));
  Value shape = n.in(0), alpha = n.in(alphaInput);
  if (!type || !state || failed(requireTail(n, shape, alpha, true)))
    return failure();
  Operation *made = n.kernelCall("weir_kernel_random_gamma", type,
                                 {state, n.toI64(shape), n.cast(alpha, n.b.getF64Type())});
  return made ? n.result(made->getResult(0)) : failure();
}

static LogicalResult gammaV2(NodeImport &n) { return gamma(n, seedState(n, 1), 2); }
static LogicalResult gammaV3(NodeImport &n) { return gamma(n, keyState(n, 1), 4); }

/// The same where the shape is that of one parameter's samples: it comes behind.
static LogicalResult perParameter(NodeImport &n, const char *kernel, Type element) {
  Value shape = n.in(0), parameter = n.in(1);
  RankedTensorType samples = n.typeShapedBy(0, element);
  if (!samples || !parameter)
    return failure();
  IntVector sizes(samples.getShape());
  llvm::append_range(sizes, n.sizes(parameter));
  Operation *made = n.kernelCall(kernel, RankedTensorType::get(sizes, element),
                                 {attributeState(n, blocksFor(n, shape, parameter)),
                                  n.concat({n.toI64(shape), n.shapeOf(parameter)}, 0),
                                  n.cast(parameter, n.b.getF64Type())});
  return made ? n.result(made->getResult(0)) : failure();
}

static LogicalResult statefulGamma(NodeImport &n) {
  return perParameter(n, "weir_kernel_random_gamma", n.elementAttr("T"));
}
static LogicalResult statefulPoisson(NodeImport &n) {
  return perParameter(n, "weir_kernel_random_poisson", n.elementAttr("dtype"));
}

static LogicalResult statelessPoisson(NodeImport &n) {
  RankedTensorType type = n.typeShapedBy(0, n.elementAttr("dtype"));
  Value shape = n.in(0), state = seedState(n, 1), rate = n.in(2);
  if (!type || !state || failed(requireTail(n, shape, rate, true)))
    return failure();
  Operation *made = n.kernelCall("weir_kernel_random_poisson", type,
                                 {state, n.toI64(shape), n.cast(rate, n.b.getF64Type())});
  return made ? n.result(made->getResult(0)) : failure();
}

std::pair<Value, Value> weir::tf::binomialParameters(NodeImport &n, Value counts, Value chances) {
  if (!counts || !chances)
    return {};
  Type element = n.isFloat(counts) && !n.element(counts).isF64() ? Type(n.b.getF32Type())
                                                                 : Type(n.b.getF64Type());
  counts = n.cast(counts, element);
  chances = n.cast(chances, element);
  Value common = n.shapeOf(n.mul(n.add(counts, chances), 0.0));
  return {n.expandTo(counts, common), n.expandTo(chances, common)};
}

Value weir::tf::drawBinomial(NodeImport &n, size_t shapeInput, Value state, Value counts,
                             Value chances) {
  RankedTensorType type = n.typeShapedBy(shapeInput, n.elementAttr("dtype"));
  Value shape = n.in(shapeInput);
  if (!type || !state || !chances || failed(requireTail(n, shape, counts, false)))
    return {};
  Operation *made =
      n.kernelCall("weir_kernel_random_binomial", type, {state, n.toI64(shape), counts, chances});
  return made ? made->getResult(0) : Value();
}

static LogicalResult binomial(NodeImport &n) {
  auto [counts, chances] = binomialParameters(n, n.in(2), n.in(3));
  return n.result(drawBinomial(n, 0, seedState(n, 1), counts, chances));
}

static LogicalResult multinomial(NodeImport &n, Value state) {
  Value logits = n.in(0), samples = n.in(1);
  Type element = n.elementAttr("output_dtype");
  if (!state || !logits || !samples || !element)
    return failure();
  if (n.rank(logits) != 2)
    return n.invalid("expected logits of rank 2, got " + Twine(n.rank(logits)));
  auto known = n.knownInts(1);
  int64_t count = known && known->size() == 1 ? known->front() : ShapedType::kDynamic;
  auto type = RankedTensorType::get({n.dim(logits, 0), count}, element);
  Operation *made = n.kernelCall("weir_kernel_random_multinomial", type,
                                 {state, n.cast(logits, n.b.getF64Type()), samples});
  return made ? n.result(made->getResult(0)) : failure();
}

static LogicalResult statelessMultinomial(NodeImport &n) { return multinomial(n, seedState(n, 2)); }
static LogicalResult statefulMultinomial(NodeImport &n) {
  Value rows = n.in(0), samples = n.in(1);
  if (!rows || !samples)
    return failure();
  // Samples are drawn by fours, each of a double.
  Value rounds = n.div(n.add(n.toI64(samples), 3.0), n.intScalar(4));
  Value count = n.mul(n.toScalar(n.sizeOf(rows, 0)), n.mul(rounds, 8.0 * blocksPerResult));
  return multinomial(n, attributeState(n, count));
}

/// Slices along the first dimension in random order.
static LogicalResult shuffle(NodeImport &n, Value state) {
  Value x = n.in(0);
  if (!x || !state)
    return failure();
  if (n.rank(x) == 0)
    return n.result(x);
  auto type = RankedTensorType::get({n.dim(x, 0)}, n.b.getI64Type());
  Operation *order = n.kernelCall("weir_kernel_random_permutation", type, {state, n.sizeOf(x, 0)});
  return order ? n.result(n.gather(x, order->getResult(0), 0)) : failure();
}

static LogicalResult statelessShuffle(NodeImport &n) { return shuffle(n, keyState(n, 1)); }
static LogicalResult statefulShuffle(NodeImport &n) {
  Value x = n.in(0);
  if (!x || n.rank(x) == 0)
    return shuffle(n, x);
  // A block is four numbers.
  Value blocks = n.div(n.add(n.toScalar(n.sizeOf(x, 0)), 3.0), n.intScalar(4));
  return shuffle(n, attributeState(n, blocks));
}

static LogicalResult indexShuffle(NodeImport &n) {
  Value index = n.in(0), seed = n.in(1), most = n.in(2);
  if (!index || !seed || !most)
    return failure();
  for (Value v : {index, most})
    if (!n.isUnsigned(v))
      require(n, n.compare("ge", v, 0.0), "index and max_index must not be negative");
  Type i64 = n.b.getI64Type();
  Operation *made =
      n.kernelCall("weir_kernel_index_shuffle", n.type(index).clone(i64),
                   {n.cast(index, i64, false), n.cast(seed, n.b.getIntegerType(32, false), false),
                    n.cast(most, i64, false)},
                   {n.i("rounds")});
  return made ? n.result(n.cast(made->getResult(0), n.element(index), false)) : failure();
}

/// Numbers between bounds, of which each batch may have its own.
static LogicalResult bounded(NodeImport &n, Value state, size_t firstParameter, bool isLast) {
  RankedTensorType type = n.typeShapedBy(0, n.elementAttr("dtype"));
  Value shape = n.in(0);
  SmallVector<Value> parameters = n.tensors(firstParameter, firstParameter + 4);
  if (!type || !state || !shape || parameters.empty())
    return failure();
  if (isLast) {
    Value all = parameters[0];
    for (Value one : ArrayRef(parameters).drop_front())
      all = n.add(all, one);
    Value common = all ? n.shapeOf(all) : Value();
    for (Value &one : parameters)
      one = common ? n.expandTo(one, common) : Value();
    if (failed(requireTail(n, shape, parameters[0], false)))
      return failure();
  }
  SmallVector<Value> operands{state, n.toI64(shape)};
  llvm::append_range(operands, parameters);
  Operation *made =
      n.kernelCall("weir_kernel_parameterized_truncated_normal", type, operands, {isLast});
  return made ? n.result(made->getResult(0)) : failure();
}

static LogicalResult statelessBounded(NodeImport &n) {
  return bounded(n, seedState(n, 1), 2, true);
}

/// Each batch sets 2000 draws aside for a number, and as many for three more; scalar parameters
/// have batches of 100.
static LogicalResult statefulBounded(NodeImport &n) {
  SmallVector<Value> in = n.tensors(0, 5);
  if (in.empty() || !n.hasRank(in[0], 1))
    return failure();
  auto isOne = [&](Value v) { return n.rank(v) == 0 || n.dim(v, 0) == 1; };
  bool areScalars = isOne(in[1]) && isOne(in[2]) && n.rank(in[3]) == 0 && n.rank(in[4]) == 0;
  Value sizes = n.toI64(in[0]), all = n.reduce(sizes, "prod", {0}, false);
  Value batches =
      areScalars ? n.div(n.add(all, 99.0), n.intScalar(100)) : n.toScalar(n.slice(sizes, 0, 0, 1));
  Value each = areScalars ? n.intScalar(100) : n.div(all, n.maximum(batches, 1.0));
  Value blocks = n.div(n.mul(n.mul(batches, 2000.0), n.add(each, 3.0)), n.intScalar(4));
  return bounded(n, attributeState(n, blocks), 1, false);
}

/// Its generator takes the counter's first number for the key, and the key for the counter's
/// upper half.
static LogicalResult stochasticCast(NodeImport &n) {
  Value x = n.in(0), state = keyState(n, 1);
  Type element = n.elementAttr("Tout");
  if (!x || !state || !element)
    return failure();
  state = n.concat({n.slice(state, 0, 1, 2), n.ints({0}), n.slice(state, 0, 0, 1)}, 0);
  Operation *made =
      n.kernelCall("weir_kernel_stochastic_cast", n.type(x).clone(element), {state, x});
  return made ? n.result(made->getResult(0)) : failure();
}

ArrayRef<OpImport> weir::tf::samplingImports() {
  static const OpImport rows[] = {
      {"StatelessTruncatedNormal", statelessTruncated},
      {"StatelessTruncatedNormalV2", statelessTruncatedV2},
      {"TruncatedNormal", statefulTruncated},
      {"StatelessRandomGammaV2", gammaV2},
      {"StatelessRandomGammaV3", gammaV3},
      {"RandomGamma", statefulGamma},
      {"RandomPoisson", statefulPoisson},
      {"RandomPoissonV2", statefulPoisson},
      {"StatelessRandomPoisson", statelessPoisson},
      {"ParameterizedTruncatedNormal", statefulBounded},
      {"StatelessParameterizedTruncatedNormal", statelessBounded},
      {"StatelessRandomBinomial", binomial},
      {"StatelessMultinomial", statelessMultinomial},
      {"Multinomial", statefulMultinomial},
      {"StatelessShuffle", statelessShuffle},
      {"RandomShuffle", statefulShuffle},
      {"RandomIndexShuffle", indexShuffle},
      {"StochasticCastToInt", stochasticCast},
  };
  return rows;
}

//===- RandomImports.cpp - numbers from Philox ----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox 4x32, ten rounds (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011), with the counters and the conversions that TensorFlow uses,
// so that stateless operations give its very bits. Stateful ones with a seed
// begin where TensorFlow's do, at each run; without a seed they use seed 0. In
// functions of data sets they go on from call to call.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Datasets.h"
#include "compiler/frontend/tensorflow/NumericImports.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <array>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// Tensors of 32-bit words, each in the low half of an i64.
struct Words {
  Value w[4];
};

struct Stream {
  Value key[2];
  Words counter; ///< of the first block
};

} // namespace

static constexpr int64_t kMask = 0xffffffff;
static constexpr int64_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;
static constexpr int64_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

static Value constantWord(NodeImport &n, int64_t value) { return n.intScalar(value); }

static Value low(NodeImport &n, Value v) { return n.op<AndOp>(v, constantWord(n, kMask)); }

/// The high word of a 64-bit number whose sign bit may be set.
static Value high(NodeImport &n, Value v) { return low(n, n.op<ShrOp>(v, n.intScalar(32))); }

static Words philox(NodeImport &n, Words c, Value key0, Value key1) {
  for (int round = 0; round < 10; ++round) {
    // Products of 32-bit words fit 64 bits; the sign does not matter.
    Value p0 = n.mul(c.w[0], constantWord(n, kMul0));
    Value p1 = n.mul(c.w[2], constantWord(n, kMul1));
    c = {{n.op<XorOp>(n.op<XorOp>(high(n, p1), c.w[1]), key0), low(n, p1),
          n.op<XorOp>(n.op<XorOp>(high(n, p0), c.w[3]), key1), low(n, p0)}};
    key0 = low(n, n.add(key0, constantWord(n, kWeyl0)));
    key1 = low(n, n.add(key1, constantWord(n, kWeyl1)));
  }
  return c;
}

/// Words 0 and 1 of a seed's two numbers.
static std::array<Value, 4> seedWords(NodeImport &n, Value seed) {
  Value wide = n.toI64(seed);
  Value first = n.toScalar(n.slice(wide, 0, 0, 1)), second = n.toScalar(n.slice(wide, 0, 1, 2));
  return {low(n, first), high(n, first), low(n, second), high(n, second)};
}

/// TensorFlow scrambles a stateless seed by one block under a fixed key.
static Stream fromSeed(NodeImport &n, Value seed) {
  auto words = seedWords(n, seed);
  Words mixed = philox(n, {{words[0], words[1], words[2], words[3]}}, constantWord(n, 0x3ec8f720),
                       constantWord(n, 0x02461e29));
  Value zero = constantWord(n, 0);
  return {{mixed.w[0], mixed.w[1]}, {{zero, zero, mixed.w[2], mixed.w[3]}}};
}

/// The blocks at `index` (i64) beyond the counter, one for each of its elements.
static Words blocksAt(NodeImport &n, const Stream &stream, Value index) {
  // Behind its last number a counter begins anew.
  Value sum = n.add(index, stream.counter.w[0]);
  Value second = n.add(high(n, sum), stream.counter.w[1]);
  Value third = n.add(high(n, second), stream.counter.w[2]);
  Value fourth = n.add(high(n, third), stream.counter.w[3]);
  Words c = {{low(n, sum), low(n, second), low(n, third), low(n, fourth)}};
  return philox(n, c, stream.key[0], stream.key[1]);
}

/// Positions 0 to count - 1 of numbers in a stream, i64.
static Value positions(NodeImport &n, Value count) {
  return n.op<IotaOp>(count, n.number(0), n.typeAttr(n.b.getI64Type()));
}

/// The word at each position of a stream, four to a block. Each position computes its whole block
/// and keeps one word of it: that is one kernel over vectors, which takes less time than blocks
/// whose words are interleaved through memory.
static Value wordsAt(NodeImport &n, const Stream &stream, Value position) {
  Value lane = n.op<AndOp>(position, constantWord(n, 3));
  Words made = blocksAt(n, stream, n.op<ShrOp>(position, constantWord(n, 2)));
  Value isOdd = n.compare("ne", n.op<AndOp>(lane, constantWord(n, 1)), 0);
  return n.select(n.compare("lt", lane, 2), n.select(isOdd, made.w[1], made.w[0]),
                  n.select(isOdd, made.w[3], made.w[2]));
}

/// The pair of words at each position of a stream, two pairs to a block.
static std::pair<Value, Value> pairsAt(NodeImport &n, const Stream &stream, Value position) {
  Words made = blocksAt(n, stream, n.op<ShrOp>(position, constantWord(n, 1)));
  Value isSecond = n.compare("ne", n.op<AndOp>(position, constantWord(n, 1)), 0);
  return {n.select(isSecond, made.w[2], made.w[0]), n.select(isSecond, made.w[3], made.w[1])};
}

/// f32 in [0, 1) from the low 23 bits.
static Value uniformFloat(NodeImport &n, Value word) {
  Value bits =
      n.op<OrOp>(n.op<AndOp>(word, constantWord(n, 0x7fffff)), constantWord(n, 0x3f800000));
  Value narrow = n.cast(bits, n.b.getI32Type(), false);
  if (!narrow)
    return {};
  Value number =
      BitcastOp::create(n.b, n.loc, n.type(narrow).clone(n.b.getF32Type()), narrow).getResult();
  return n.sub(number, 1.0);
}

/// f64 in [0, 1): 52 bits, twenty of the first word and all of the second.
static Value uniformDouble(NodeImport &n, Value first, Value second) {
  Value upper =
      n.op<OrOp>(n.op<AndOp>(first, constantWord(n, 0xfffff)), constantWord(n, 0x3ff00000));
  Value bits = n.op<OrOp>(n.op<ShlOp>(upper, n.intScalar(32)), second);
  if (!bits)
    return {};
  Value number =
      BitcastOp::create(n.b, n.loc, n.type(bits).clone(n.b.getF64Type()), bits).getResult();
  return n.sub(number, 1.0);
}

/// Narrow floats: the mantissa's bits under the exponent of 1.
static Value uniformNarrow(NodeImport &n, Value word, Type element) {
  bool isBf16 = element.isBF16();
  Value bits = n.op<OrOp>(n.op<AndOp>(word, constantWord(n, isBf16 ? 0x7f : 0x3ff)),
                          constantWord(n, isBf16 ? 0x3f80 : 0x3c00));
  Value narrow = n.cast(bits, n.b.getIntegerType(16), false);
  if (!narrow)
    return {};
  Value number = BitcastOp::create(n.b, n.loc, n.type(narrow).clone(element), narrow).getResult();
  return n.sub(number, 1.0);
}

static constexpr double kLeastFloat = 1.0e-7;

/// The sine's and the cosine's normal number from two uniform ones: Box and Muller.
static std::pair<Value, Value> boxMuller(NodeImport &n, Value u1, Value u2) {
  Value radius = n.sqrt(n.mul(n.op<LogOp>(n.maximum(u1, kLeastFloat)), -2.0));
  // The product is rounded once, as TensorFlow has it: near whole halves of a turn the sine is as
  // small as what the second rounding would change.
  Value angle = n.cast(n.mul(n.cast(u2, n.b.getF64Type()), 2 * M_PI), n.element(u2));
  return {n.mul(n.op<SinOp>(angle), radius), n.mul(n.op<CosOp>(angle), radius)};
}

/// `count` normal numbers, f32. Each position computes both of its pair's numbers and keeps one,
/// in one kernel over vectors, as `wordsAt` does.
static Value normalFloats(NodeImport &n, const Stream &stream, Value count) {
  Value position = positions(n, count);
  auto [first, second] = pairsAt(n, stream, n.op<ShrOp>(position, constantWord(n, 1)));
  auto [sine, cosine] = boxMuller(n, uniformFloat(n, first), uniformFloat(n, second));
  return n.select(n.compare("eq", n.op<AndOp>(position, constantWord(n, 1)), 0), sine, cosine);
}

/// `count` normal numbers, f64. Their sines and cosines are so dear that none is computed twice.
static Value normalDoubles(NodeImport &n, const Stream &stream, Value count) {
  Words made = blocksAt(n, stream, positions(n, n.div(n.add(count, n.ints({1})), n.ints({2}))));
  auto [sine, cosine] =
      boxMuller(n, uniformDouble(n, made.w[0], made.w[1]), uniformDouble(n, made.w[2], made.w[3]));
  return n.op<SliceOp>(n.reshape(n.stack({sine, cosine}, 1), {-1}), n.ints({0}), count, n.ints({1}),
                       n.list({0}), n.flag(false));
}

/// A shape of results as i64, without a negative size: two of them would make a number of results.
static Value sizesToDraw(NodeImport &n, Value shape) {
  shape = n.toI64(shape);
  if (shape)
    require(n, n.compare("ge", shape, 0), "a size of the results is negative");
  return shape;
}

/// Values of `element` in `shape`, uniform or normal.
static Value sample(NodeImport &n, const Stream &stream, Value shape, Type element, bool normal) {
  shape = sizesToDraw(n, shape);
  if (!shape)
    return {};
  Value count = n.reduce(shape, "prod", {0}, true), values;
  if (!count)
    return {};
  if (normal)
    return n.reshapeTo(element.isF64() ? normalDoubles(n, stream, count)
                                       : n.cast(normalFloats(n, stream, count), element),
                       shape);
  Value position = positions(n, count);
  if (element.isF64()) {
    auto [first, second] = pairsAt(n, stream, position);
    values = uniformDouble(n, first, second);
  } else {
    Value word = wordsAt(n, stream, position);
    values = element.isF32() ? uniformFloat(n, word) : uniformNarrow(n, word, element);
  }
  return n.reshapeTo(values, shape);
}

/// The type of the results; null: none that has such numbers, which is told.
static Type floatAttr(NodeImport &n) {
  Type element = n.elementAttr("dtype");
  if (element && (element.isF16() || element.isBF16() || element.isF32() || element.isF64()))
    return element;
  (void)n.unsupported("found a dtype that is no float of 16, 32 or 64 bits");
  return {};
}

template <bool normal> static LogicalResult stateless(NodeImport &n) {
  Value shape = n.in(0), seed = n.in(1);
  Type element = floatAttr(n);
  if (!shape || !seed || !element)
    return failure();
  return n.result(sample(n, fromSeed(n, seed), shape, element, normal));
}

/// Key and counter given: counter low and high, key.
static Stream fromKey(NodeImport &n, Value key, Value counter) {
  key = n.toScalar(n.slice(n.toI64(key), 0, 0, 1));
  counter = n.toI64(counter);
  Value first = n.toScalar(n.slice(counter, 0, 0, 1)),
        second = n.toScalar(n.slice(counter, 0, 1, 2));
  return {{low(n, key), high(n, key)},
          {{low(n, first), high(n, first), low(n, second), high(n, second)}}};
}

bool weir::tf::isPhilox(NodeImport &n, size_t input) {
  if (Value given = n.in(input); given && !n.knownInts(input)) {
    if (!n.hasRank(given, 0))
      return false;
    require(n, n.op<OrOp>(n.compare("eq", given, 1), n.compare("eq", given, 3)),
            "the algorithm is neither 1 nor 3, which are Philox");
    return true;
  }
  auto algorithm = n.constantInt(input);
  bool known = algorithm && (*algorithm == 1 || *algorithm == 3);
  if (algorithm && !known)
    (void)n.unsupported("expected algorithm 1 or 3, which are Philox, got " + Twine(*algorithm));
  return known;
}

/// The stream of inputs 1 to 3; reports what is not Philox.
static std::optional<Stream> keyedStream(NodeImport &n) {
  SmallVector<Value> rest = n.tensors(1, 3);
  if (rest.empty() || !isPhilox(n, 3))
    return std::nullopt;
  auto bits = [&](Value v) { return n.cast(v, n.b.getI64Type(), false); };
  return fromKey(n, bits(rest[0]), bits(rest[1]));
}

template <bool normal> static LogicalResult statelessV2(NodeImport &n) {
  Value shape = n.in(0);
  Type element = floatAttr(n);
  auto stream = keyedStream(n);
  if (!shape || !stream || !element)
    return failure();
  return n.result(sample(n, *stream, shape, element, normal));
}

/// The stream that a stateful operation's attributes name, at input 0's shape of results.
static Stream attributeStream(NodeImport &n) {
  Value shape = n.toI64(n.in(0));
  Value blocks =
      shape ? n.mul(n.reduce(shape, "prod", {0}, true), double(blocksPerResult)) : Value();
  RandomState state = randomState(n, blocks);
  auto word = [&](int64_t value, int shift) { return constantWord(n, (value >> shift) & kMask); };
  Value zero = constantWord(n, 0);
  return {{word(state.seed, 0), word(state.seed, 32)},
          {{state.drawn ? low(n, state.drawn) : zero, state.drawn ? high(n, state.drawn) : zero,
            word(state.seed2, 0), word(state.seed2, 32)}}};
}

template <bool normal> static LogicalResult stateful(NodeImport &n) {
  Value shape = n.in(0);
  Type element = floatAttr(n);
  if (!shape || !element)
    return failure();
  return n.result(sample(n, attributeStream(n), shape, element, normal));
}

//===----------------------------------------------------------------------===//
// Integers, keys
//===----------------------------------------------------------------------===//

/// Integers of all bits, as `wide` unsigned bits in the shape given.
static Value sampleBits(NodeImport &n, const Stream &stream, Value shape, bool wide) {
  shape = sizesToDraw(n, shape);
  if (!shape)
    return {};
  Value position = positions(n, n.reduce(shape, "prod", {0}, true)), bits;
  if (!position)
    return {};
  if (wide) {
    auto [first, second] = pairsAt(n, stream, position);
    bits = n.op<OrOp>(first, n.op<ShlOp>(second, n.intScalar(32)));
  } else {
    bits = wordsAt(n, stream, position);
  }
  return n.reshapeTo(n.cast(bits, n.b.getIntegerType(wide ? 64 : 32, false), false), shape);
}

static Value wrapTo(NodeImport &n, Value v, Type element) { return n.cast(v, element, false); }

static LogicalResult fullInts(NodeImport &n, const Stream &stream) {
  auto element = dyn_cast_if_present<IntegerType>(n.elementAttr("dtype"));
  if (!element)
    return n.invalid("found a dtype that is no integer");
  bool wide = element.getWidth() == 64;
  return n.result(wrapTo(n, sampleBits(n, stream, n.in(0), wide), element));
}

/// Uniform in [low, high): the remainder by the range.
static LogicalResult rangedInts(NodeImport &n, const Stream &stream, Value low, Value high) {
  if (!low || !high)
    return failure();
  auto element = dyn_cast<IntegerType>(n.element(low));
  if (!element)
    return n.invalid("found bounds that are no integers");
  bool wide = element.getWidth() == 64;
  Value bits = sampleBits(n, stream, n.in(0), wide);
  if (!bits)
    return failure();
  Value range = n.sub(wrapTo(n, high, n.element(bits)), wrapTo(n, low, n.element(bits)));
  Value good = n.reshape(n.compare("lt", low, high), {});
  if (good)
    AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), good,
                     n.text("Need minval < maxval"), n.number(3), ValueRange());
  Value offset = wrapTo(n, n.op<RemOp>(bits, range), element);
  return n.result(n.add(low, offset));
}

static LogicalResult statelessFullInt(NodeImport &n) {
  Value seed = n.in(1);
  return seed ? fullInts(n, fromSeed(n, seed)) : failure();
}

static LogicalResult statelessInt(NodeImport &n) {
  Value seed = n.in(1);
  return seed ? rangedInts(n, fromSeed(n, seed), n.in(2), n.in(3)) : failure();
}

static LogicalResult statelessFullIntV2(NodeImport &n) {
  auto stream = keyedStream(n);
  return stream ? fullInts(n, *stream) : failure();
}

static LogicalResult statelessIntV2(NodeImport &n) {
  auto stream = keyedStream(n);
  return stream ? rangedInts(n, *stream, n.in(4), n.in(5)) : failure();
}

static LogicalResult keyCounter(NodeImport &n) {
  Value seed = n.in(0);
  if (!seed)
    return failure();
  Stream stream = fromSeed(n, seed);
  auto join = [&](Value low, Value high) {
    Value both = n.op<OrOp>(low, n.op<ShlOp>(high, n.intScalar(32)));
    return n.cast(n.reshape(both, {1}), n.b.getIntegerType(64, false), false);
  };
  Value key = join(stream.key[0], stream.key[1]);
  Value counter = n.concat({join(stream.counter.w[0], stream.counter.w[1]),
                            join(stream.counter.w[2], stream.counter.w[3])},
                           0);
  if (n.node.op == "StatelessRandomGetKeyCounter")
    return n.results({key, counter});
  return n.results({key, counter, n.scalar(n.b.getI32Type(), 1)});
}

static LogicalResult algorithm(NodeImport &n) { return n.result(n.scalar(n.b.getI32Type(), 1)); }

static LogicalResult statefulInt(NodeImport &n) {
  return rangedInts(n, attributeStream(n), n.in(1), n.in(2));
}

ArrayRef<OpImport> weir::tf::randomImports() {
  static const OpImport rows[] = {
      {"StatelessRandomUniform", stateless<false>},
      {"StatelessRandomNormal", stateless<true>},
      {"StatelessRandomUniformV2", statelessV2<false>},
      {"StatelessRandomNormalV2", statelessV2<true>},
      {"StatelessRandomUniformFullInt", statelessFullInt},
      {"StatelessRandomUniformInt", statelessInt},
      {"StatelessRandomUniformFullIntV2", statelessFullIntV2},
      {"StatelessRandomUniformIntV2", statelessIntV2},
      {"StatelessRandomGetKeyCounter", keyCounter},
      {"StatelessRandomGetKeyCounterAlg", keyCounter},
      {"StatelessRandomGetAlg", algorithm},
      {"RandomUniformInt", statefulInt},
      {"RandomUniform", stateful<false>},
      {"RandomStandardNormal", stateful<true>},
  };
  return rows;
}

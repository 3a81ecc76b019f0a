//===- MixtureOfExperts.cpp - com.microsoft's MoE and QMoE ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers of experts. A loop passes over the experts that some token chose.
// Where all weights are constants, a tree of conditions leads to the expert's
// products, whose weights then are constants as those of any product: packed,
// and of few bits in memory. Weights that are fed are looked up by number.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/BlockQuantized.h"
#include "compiler/frontend/onnx/Microsoft.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildIf;
using frontend::buildLoop;
using frontend::Values;

namespace {

/// The inputs of one of an expert's products.
struct ExpertInputs {
  size_t weights, bias;
  size_t scales = 0, zeros = 0; ///< of quantised weights
  std::string_view bits = {};   ///< the attribute that says their width
};

/// An expert: its number as a tensor, and where it is known as it is.
struct Expert {
  Value index;
  std::optional<int64_t> known = {};
};

/// A layer of experts, of which each token is given to the k likeliest. Each
/// expert computes on the tokens that chose it, and on none where there are none.
class Mixture {
public:
  explicit Mixture(NodeImport &n)
      : n(n), isQuantized(n.node.op == "QMoE"),
        first(isQuantized ? ExpertInputs{2, 4, 3, 11, "fc1_expert_weight_bits"}
                          : ExpertInputs{2, 3}),
        second(isQuantized ? ExpertInputs{5, 7, 6, 12, "fc2_expert_weight_bits"}
                           : ExpertInputs{4, 5}),
        third(isQuantized ? ExpertInputs{8, 10, 9, 13, "fc3_expert_weight_bits"}
                          : ExpertInputs{6, 7}) {}
  LogicalResult run();

private:
  LogicalResult check();
  LogicalResult checkQuantized();
  /// How many bits a number of the weights has.
  int64_t bitsOf(const ExpertInputs &of) const {
    return n.hasAttr(of.bits) ? n.i(of.bits) : intOr(n, "expert_weight_bits", 4);
  }
  Value dequantized(const ExpertInputs &of, Value index);
  /// Weights [depth, columns] of an expert that is known, of few bits, where hasBlocks.
  Value blocks(const ExpertInputs &of, int64_t index);
  /// Whether scales and zero points lie as those of constants of other products.
  bool hasBlocks(const ExpertInputs &of);
  /// Whether what one of an expert's products reads goes together.
  bool fits(const ExpertInputs &of, Value experts);
  /// Whether all that belongs to the experts is constant, and can be cut into theirs.
  bool isConstant();
  Value entry(size_t input, const Expert &expert);
  /// The weights of each expert for each token, [experts, tokens].
  Value table(Value experts);
  void route(Value router);
  Value layer(Value rows, const ExpertInputs &of, const Expert &expert);
  Value activated(Value y, Value rows, const Expert &expert);
  Value gated(Value gate, Value linear);
  /// What an expert makes of rows.
  Value output(Value rows, const Expert &expert);
  /// The same of one of experts [begin, end), each of which has its own constants.
  Value among(Value rows, Value index, int64_t begin, int64_t end);

  NodeImport &n;
  const bool isQuantized;
  const ExpertInputs first, second, third;
  StringRef activation;
  Value chosen, shares; ///< [tokens, k]: experts, and their weights
};

/// What the operator has beside integers, in blocks or columns, in the order of rows.
LogicalResult Mixture::checkQuantized() {
  std::string_view type = n.hasAttr("quant_type") ? n.s("quant_type") : "int";
  if (type != "int")
    return n.unsupported("expected quant_type int, got \"" + Twine(StringRef(type)) + "\"");
  if (intOr(n, "weights_prepacked", -1) == 1)
    return n.unsupported("expected weights in rows, got weights_prepacked 1");
  for (size_t i = 15; i <= 20; ++i)
    if (n.has(i))
      return n.unsupported("found scales of activations or of whole experts, which quant_type int "
                           "does not have");
  for (const ExpertInputs *of : {&first, &second, &third}) {
    if (!n.has(of->weights))
      continue;
    int64_t bits = bitsOf(*of);
    if (bits != 2 && bits != 4 && bits != 8)
      return n.unsupported("expected weights of 2, 4 or 8 bits, got " + Twine(bits));
    if (!n.has(of->scales) || n.rank(n.in(of->weights)) != 3)
      return n.invalid("found quantised weights without scales, or that are not of rank 3");
  }
  return success();
}

/// An expert's weights [columns, depth] as f32: bytes that hold numbers along the depth, a
/// scale for each column or each block of it, and zero points that are packed as they are.
Value Mixture::dequantized(const ExpertInputs &of, Value index) {
  int64_t bits = bitsOf(of), block = n.i("block_size");
  Type f32 = n.b.getF32Type();
  Value q = n.cast(unpackBits(n, n.gather(n.in(of.weights), index, 0), bits), f32);
  Value scales = n.widen(n.gather(n.in(of.scales), index, 0));
  if (!q || !scales)
    return {};
  bool isBlocked = n.rank(scales) == 2;
  if (isBlocked != (block > 0)) {
    (void)n.invalid("found scales of " + Twine(isBlocked ? "blocks" : "columns") +
                    " with block_size " + Twine(block));
    return {};
  }
  Value zeros = n.scalar(f32, double(1 << (bits - 1)));
  if (n.has(of.zeros)) {
    Value all = n.cast(unpackBits(n, n.gather(n.in(of.zeros), index, 0), bits), f32);
    // What fills the last byte is none.
    int64_t axis = isBlocked ? 1 : 0;
    zeros = all ? n.op<SliceOp>(all, n.ints({0}), n.sizeOf(scales, axis), n.ints({1}),
                                n.list({axis}), n.flag(false))
                : Value();
    if (!zeros)
      return {};
  }
  Value whole = n.shapeOf(q);
  if (isBlocked) // [columns, blocks, block]
    q = n.reshapeTo(q, n.concat({n.shapeOf(scales), n.ints({block})}, 0));
  auto along = [&](Value v) { return n.rank(v) == 0 ? v : n.unsqueeze(v, {n.rank(v)}); };
  return n.reshapeTo(n.mul(n.sub(q, along(zeros)), along(scales)), whole);
}

bool Mixture::hasBlocks(const ExpertInputs &of) {
  int64_t bits = bitsOf(of), block = n.i("block_size");
  Value weights = n.in(of.weights), scales = n.in(of.scales);
  if (!n.isStatic(weights) || !n.isStatic(scales) || n.dim(weights, 1) == 0)
    return false;
  int64_t depth = n.dim(weights, 2) * 8 / bits;
  if (n.rank(scales) == 2)
    return block <= 0 && !n.has(of.zeros) && n.dim(scales, 1) == n.dim(weights, 1);
  return block > 0 && block % (8 / bits) == 0 && n.rank(scales) == 3 &&
         n.dim(scales, 1) == n.dim(weights, 1) &&
         n.dim(scales, 2) == int64_t(llvm::divideCeil(depth, block)) &&
         (!n.has(of.zeros) || n.rank(n.in(of.zeros)) == 3);
}

Value Mixture::blocks(const ExpertInputs &of, int64_t index) {
  int64_t bits = bitsOf(of), block = n.i("block_size");
  BlockOperands operands{constantEntry(n, n.in(of.weights), index),
                         constantEntry(n, n.in(of.scales), index),
                         n.has(of.zeros) ? constantEntry(n, n.in(of.zeros), index) : Value()};
  int64_t columns = n.dim(n.in(of.weights), 1), depth = n.dim(n.in(of.weights), 2) * 8 / bits;
  Value weights = blockWeights(n, operands, columns, depth, bits, block > 0 ? block : depth);
  markByteRows(n, weights);
  return weights;
}

bool Mixture::fits(const ExpertInputs &of, Value experts) {
  Value weights = n.in(of.weights);
  auto perColumn = [&](size_t input, StringRef what) {
    return n.isAsLarge(n.in(input), 0, experts, 0, "experts") &&
           n.isAsLarge(n.in(input), 1, weights, 1, what);
  };
  if (!n.hasRank(weights, 3, "weights") || !n.isAsLarge(weights, 0, experts, 0, "experts") ||
      (n.has(of.bias) && (!n.hasRank(n.in(of.bias), 2, "bias") || !perColumn(of.bias, "bias"))))
    return false;
  if (!isQuantized)
    return true;
  Value scales = n.in(of.scales);
  if (n.rank(scales) != 2 && !n.hasRank(scales, 3, "scales"))
    return false;
  if (!perColumn(of.scales, "scales") || !n.has(of.zeros))
    return scales != nullptr && n.isAsLarge(scales, 1, weights, 1, "scales");
  // Packed along blocks, or along columns where each has one.
  Value zeros = n.in(of.zeros);
  int64_t each = 8 / bitsOf(of), last = n.rank(scales) - 1;
  if (!n.hasRank(zeros, last + 1, "zero points") || !n.isAsLarge(zeros, 0, experts, 0, "experts") ||
      (last == 2 && !n.isAsLarge(zeros, 1, weights, 1, "zero points")))
    return false;
  int64_t numbers = n.dim(scales, last);
  if (!ShapedType::isDynamic(numbers))
    return n.hasSize(zeros, last, llvm::divideCeil(numbers, each), "zero points");
  Value bytes = n.div(n.add(n.sizeOf(scales, last), double(each - 1)), double(each));
  n.require(n.toScalar(n.compare("eq", n.sizeOf(zeros, last), bytes)),
            "zero points are not one for each scale");
  return true;
}

bool Mixture::isConstant() {
  // With more of them compiling costs more than looking weights up.
  constexpr int64_t most = 1024;
  int64_t experts = n.dim(n.in(first.weights), 0);
  if (ShapedType::isDynamic(experts) || experts < 1 || experts > most)
    return false;
  for (const ExpertInputs *of : {&first, &second, &third}) {
    if (!n.has(of->weights))
      continue;
    if (isQuantized && !hasBlocks(*of))
      return false;
    for (size_t input : {of->weights, of->bias, of->scales, of->zeros})
      if (input && n.has(input) && !isCuttableConstant(n.in(input)))
        return false;
  }
  return true;
}

/// What an input holds for an expert.
Value Mixture::entry(size_t input, const Expert &expert) {
  return expert.known ? constantEntry(n, n.in(input), *expert.known)
                      : n.gather(n.in(input), expert.index, 0);
}

/// rows · wᵀ + b of the expert, as f32.
Value Mixture::layer(Value rows, const ExpertInputs &of, const Expert &expert) {
  Value y;
  if (isQuantized && expert.known) {
    y = n.matmul(rows, blocks(of, *expert.known));
  } else {
    Value w = isQuantized ? dequantized(of, expert.index) : n.widen(entry(of.weights, expert));
    if (!w)
      return {};
    y = n.op<DotGeneralOp>(rows, w, n.list({}), n.list({}), n.list({1}), n.list({1}),
                           n.typeAttr(n.element(rows)));
  }
  return n.has(of.bias) ? n.add(y, n.widen(entry(of.bias, expert))) : y;
}

LogicalResult Mixture::check() {
  std::string_view name = n.hasAttr("activation_type") ? n.s("activation_type") : "relu";
  activation = StringRef(name.data(), name.size());
  if (!llvm::is_contained(ArrayRef<StringRef>{"relu", "gelu", "silu", "swiglu", "identity"},
                          activation))
    return n.unsupported("expected activation_type relu, gelu, silu, swiglu or identity, got \"" +
                         activation + "\"");
  if (n.i("use_sparse_mixer"))
    return n.unsupported("expected the softmax of all experts, got use_sparse_mixer 1");
  if (int64_t count = intOr(n, "k", 1); count < 1)
    return n.invalid("expected k to be at least 1, got " + Twine(count));
  int64_t fusion = n.i("swiglu_fusion");
  bool hasThird = n.has(third.weights);
  if (activation == "swiglu" && (fusion < 0 || fusion > 2 || (fusion == 0) != hasThird))
    return n.invalid("found swiglu_fusion " + Twine(fusion) + (hasThird ? " with" : " without") +
                     " fc3_experts_weights");
  if (n.rank(n.in(1)) != 2 || n.rank(n.in(first.weights)) != 3 ||
      n.rank(n.in(second.weights)) != 3 || n.rank(n.in(0)) < 2)
    return n.invalid("found operands whose ranks do not go together");
  return isQuantized ? checkQuantized() : success();
}

void Mixture::route(Value router) {
  Type i64 = n.b.getI64Type();
  // Of experts that are as likely as each other the last is taken.
  Value last = n.sub(n.toScalar(n.sizeOf(router, 1)), 1.0);
  Value back = n.sub(last, n.op<IotaOp>(n.sizeOf(router, 1), n.number(0), n.typeAttr(i64)));
  Value likely = n.gather(n.softmax(n.widen(router), 1), back, 1);
  if (!likely)
    return;
  Operation *best = n.multi<TopKOp, 2>(likely, n.ints({intOr(n, "k", 1)}), n.number(1),
                                       n.flag(true), n.flag(true), n.typeAttr(i64));
  if (!best)
    return;
  shares = best->getResult(0);
  chosen = n.sub(last, best->getResult(1));
  if (isQuantized && n.has(14)) // others decide how much each counts
    shares = n.op<GatherElementsOp>(n.widen(n.in(14)), chosen, n.number(1), n.flag(true));
  // Of quantised experts ONNX Runtime takes the softmax of those that are chosen.
  if (n.i("normalize_routing_weights") || (isQuantized && !n.has(14)))
    shares = n.div(shares, n.reduce(shares, "sum", {1}, true));
}

Value Mixture::table(Value experts) {
  Value each = n.op<IotaOp>(n.sizeOf(experts, 0), n.number(0), n.typeAttr(n.b.getI64Type()));
  Value mine = n.compare("eq", n.unsqueeze(chosen, {0}), n.unsqueeze(each, {1, 2}));
  return n.reduce(n.select(mine, n.unsqueeze(shares, {0}), n.like(shares, 0)), "sum", {2}, false);
}

Value Mixture::gated(Value gate, Value linear) {
  double alpha = realOr(n, "activation_alpha", 1);
  bool limited = n.hasAttr("swiglu_limit");
  bool after = limited && n.i("swiglu_limit_after_activation");
  double limit = n.f("swiglu_limit");
  if (limited) {
    linear = n.minimum(n.maximum(linear, -limit), limit);
    gate = after ? gate : n.minimum(gate, limit);
  }
  Value opened = n.mul(gate, n.op<LogisticOp>(n.mul(gate, alpha)));
  if (after)
    opened = n.minimum(opened, limit);
  return n.mul(opened, n.add(linear, realOr(n, "activation_beta", 0)));
}

Value Mixture::activated(Value y, Value rows, const Expert &expert) {
  if (activation == "swiglu") {
    if (n.has(third.weights))
      return gated(y, layer(rows, third, expert));
    bool halves = n.i("swiglu_fusion") == 2; // else pairs
    Value two = n.ints({2}), width = n.div(n.sizeOf(y, 1), 2.0);
    Value both =
        n.reshapeTo(y, n.concat({n.sizeOf(y, 0), halves ? two : width, halves ? width : two}, 0));
    return gated(n.pick(both, halves ? 1 : 2, 0), n.pick(both, halves ? 1 : 2, 1));
  }
  if (activation == "relu")
    y = n.maximum(y, 0.0);
  else if (activation == "gelu")
    y = n.op<GeluOp>(y, n.flag(true));
  else if (activation == "silu")
    y = n.mul(y, n.op<LogisticOp>(y));
  return n.has(third.weights) ? n.mul(y, layer(rows, third, expert)) : y;
}

Value Mixture::output(Value rows, const Expert &expert) {
  Value hidden = layer(rows, first, expert);
  return hidden ? layer(activated(hidden, rows, expert), second, expert) : Value();
}

Value Mixture::among(Value rows, Value index, int64_t begin, int64_t end) {
  if (end - begin == 1)
    return output(rows, {index, begin});
  int64_t middle = begin + (end - begin) / 2;
  auto branch = [&](int64_t from, int64_t to) -> FailureOr<Values> {
    Value y = among(rows, index, from, to);
    if (!y)
      return failure();
    return Values{y};
  };
  FailureOr<Values> made = buildIf(
      n, n.compare("lt", index, double(middle)), [&] { return branch(begin, middle); },
      [&] { return branch(middle, end); });
  return failed(made) ? Value() : made->front();
}

LogicalResult Mixture::run() {
  Value given = n.in(0), router = n.in(1), experts = n.in(first.weights);
  if (!given || !router || !experts || !n.in(second.weights) || failed(check()))
    return failure();
  int64_t last = n.rank(given) - 1;
  Value x = n.widen(
      n.reshapeTo(given, n.concat({n.sizeProduct(given, 0, last), n.sizeOf(given, last)}, 0)));
  if (!x || !n.isAsLarge(router, 0, x, 0, "tokens and their routes") ||
      !n.isAsLarge(router, 1, experts, 0, "experts"))
    return failure();
  for (const ExpertInputs *of : {&first, &second, &third})
    if (n.has(of->weights) && !fits(*of, experts))
      return failure();
  if (isQuantized && n.has(14) && !n.isSameShape(n.in(14), router, "router_weights"))
    return failure();
  route(router);
  if (!shares)
    return failure();
  Value weights = table(experts);
  Value used = n.reduce(n.compare("gt", weights, 0.0), "any", {1}, false);
  Value active = n.squeeze(n.op<NonZeroOp>(used), {1});
  bool cut = isConstant();
  auto expert = [&](Value at, Values sums) -> FailureOr<Values> {
    Value index = n.gather(active, at, 0), weight = n.gather(weights, index, 0);
    Value places = n.squeeze(n.op<NonZeroOp>(n.compare("gt", weight, 0.0)), {1});
    Value rows = n.gather(x, places, 0);
    Value y = cut ? among(rows, index, 0, n.dim(experts, 0)) : output(rows, {index});
    y = n.mul(y, n.unsqueeze(n.gather(weight, places, 0), {1}));
    Value sum = n.op<ScatterNdOp>(sums[0], n.unsqueeze(places, {1}), y, n.text("add"),
                                  n.flag(false), n.flag(false));
    if (!sum)
      return failure();
    return Values{sum};
  };
  Value none = n.expandTo(n.like(x, 0), n.shapeOf(x));
  FailureOr<Values> made = buildLoop(n, n.toScalar(n.sizeOf(active, 0)), {}, {none}, expert);
  if (failed(made))
    return failure();
  return n.result(n.reshapeTo(n.cast((*made)[0], n.element(given)), n.shapeOf(given)));
}

} // namespace

LogicalResult weir::onnx::mixtureOfExperts(NodeImport &n) { return Mixture(n).run(); }

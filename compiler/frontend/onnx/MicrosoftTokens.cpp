//===- MicrosoftTokens.cpp - com.microsoft on packed tokens ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hashes of the last tokens, convolutions over sequences that lie one behind the
// other, and pools that end where a mask does.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Microsoft.h"
#include "compiler/frontend/onnx/Window.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

//===----------------------------------------------------------------------===//
// NGramHashMapping
//===----------------------------------------------------------------------===//

/// Inputs: 0 input_ids, 1 multipliers, 2 vocab_sizes, 3 past_ids, 4 head_offsets, 5 eos_token_id,
/// 6 segment_ids.
class NGramHash {
public:
  explicit NGramHash(NodeImport &n) : n(n) {}
  LogicalResult run();

private:
  bool operands();
  /// Of each token the one `back` places before it, as far as the history goes.
  Value shifted(int64_t back);

  NodeImport &n;
  int64_t orders = 0, heads = 0; ///< the longest, and hashes of each length
  Value ids, all, missing;       ///< tokens [batch, length]; behind those before them; else this
  Value begins;                  ///< how many tokens before each belong to it, [batch, length]
};

bool NGramHash::operands() {
  ids = n.in(0);
  orders = n.i("max_ngram_size"), heads = n.i("n_head_per_ngram");
  if (!n.hasRank(ids, 2, "input_ids"))
    return false;
  constexpr int64_t most = 1024;
  if (!n.isCount("max_ngram_size", orders, most) || !n.isCount("n_head_per_ngram", heads, most))
    return false;
  if (orders < 2) {
    (void)n.invalid("expected a max_ngram_size of at least 2, got " + Twine(orders));
    return false;
  }
  int64_t known = n.dim(n.in(1), 0);
  if (!n.hasRank(n.in(1), 1, "multipliers") ||
      !n.hasEntries(n.in(2), (orders - 1) * heads, "vocab_sizes") ||
      (n.has(4) && !n.hasEntries(n.in(4), (orders - 1) * heads, "head_offsets")) ||
      (n.has(5) && !n.hasRank(n.in(5), 0, "eos_token_id")) ||
      (n.has(6) && !n.isSameShape(n.in(6), ids, "segment_ids")))
    return false;
  if (!ShapedType::isDynamic(known) && known < orders) {
    (void)n.invalid("expected a multiplier for each of " + Twine(orders) + " tokens, got " +
                    Twine(known));
    return false;
  }
  n.require(n.reduce(n.compare("gt", n.in(2), 0.0), "all", {0}, false),
            "vocab_sizes are not above 0");
  missing = n.has(5) ? n.in(5) : n.like(ids, double(n.i("pad_id")));
  Value before;
  if (n.has(3)) {
    before = n.in(3);
    if (!n.hasRank(before, 2, "past_ids") || !n.isAsLarge(before, 0, ids, 0, "past_ids") ||
        !n.hasSize(before, 1, orders - 1, "past_ids"))
      return false;
  } else {
    before = n.expandTo(missing, n.concat({n.sizeOf(ids, 0), n.ints({orders - 1})}, 0));
  }
  all = n.concat({before, ids}, 1);
  return all != nullptr;
}

Value NGramHash::shifted(int64_t back) {
  Value begin = n.ints({orders - 1 - back});
  Value x = n.op<SliceOp>(all, begin, n.add(begin, n.sizeOf(ids, 1)), n.ints({1}), n.list({1}),
                          n.flag(true));
  return back && begins ? n.select(n.compare("ge", begins, double(back)), x, missing) : x;
}

LogicalResult NGramHash::run() {
  if (!operands())
    return failure();
  // A place that history does not reach behind: one after an end, or where a segment begins.
  Value place = n.unsqueeze(upTo(n, n.sizeOf(all, 1)), {0}), edges;
  if (n.has(5) && n.i("reset_on_eos")) {
    Value ends = n.select(n.compare("eq", all, missing), n.add(place, 1.0), n.like(place, 0));
    // Of a token, ends strictly before it count.
    Value last = n.op<CumulativeOp>(ends, n.text("max"), n.number(1), n.flag(true), n.flag(false));
    Value begin = n.ints({orders - 1});
    edges = n.maximum(n.op<SliceOp>(last, begin, n.add(begin, n.sizeOf(ids, 1)), n.ints({1}),
                                    n.list({1}), n.flag(true)),
                      0.0);
  }
  Value own = n.add(n.unsqueeze(upTo(n, n.sizeOf(ids, 1)), {0}), double(orders - 1));
  if (n.has(6)) {
    Value length = n.sizeOf(ids, 1);
    Value first = n.slice(n.in(6), 1, 0, 1);
    Value earlier = n.op<SliceOp>(n.concat({first, n.in(6)}, 1), n.ints({0}), length, n.ints({1}),
                                  n.list({1}), n.flag(true));
    Value starts = n.select(n.compare("ne", n.in(6), earlier), own, n.like(own, 0));
    Value last =
        n.op<CumulativeOp>(starts, n.text("max"), n.number(1), n.flag(false), n.flag(false));
    edges = edges ? n.maximum(edges, last) : last;
  }
  if (edges)
    begins = n.sub(own, edges);
  Value factors = n.in(1), mix, vocabulary = n.in(2);
  SmallVector<Value> hashes;
  for (int64_t k = 0; k < orders; ++k) {
    Value term = n.mul(shifted(k), n.pick(factors, 0, k));
    mix = mix ? n.op<XorOp>(mix, term) : term;
    if (k == 0)
      continue;
    Value sizes = n.slice(vocabulary, 0, (k - 1) * heads, k * heads);
    Value hash = n.op<FloorModOp>(n.unsqueeze(mix, {2}), sizes);
    if (n.has(4))
      hash = n.add(hash, n.slice(n.in(4), 0, (k - 1) * heads, k * heads));
    hashes.push_back(hash);
  }
  Value present;
  if (n.wants(1))
    present = n.slice(all, 1, -(orders - 1), std::numeric_limits<int64_t>::max());
  return n.results({n.concat(hashes, 2), present});
}

LogicalResult ngramHash(NodeImport &n) { return NGramHash(n).run(); }

//===----------------------------------------------------------------------===//
// VarlenCausalConvWithState
//===----------------------------------------------------------------------===//

/// Inputs: 0 input [tokens, channels], 1 weight, 2 cumulative_sequence_length, 3 bias,
/// 4 initial_state, 5 capture_count, 6 kernel_delta, 7 previous_mask. Each sequence is convolved
/// with what its state holds before it.
LogicalResult packedConv(NodeImport &n) {
  Value x = n.in(0), weight = n.in(1), state = n.in(4);
  if (!n.hasRank(x, 2, "input") || !n.hasRank(weight, 3, "weight") ||
      !n.hasRank(state, 3, "initial_state") || !n.hasRank(n.in(2), 1, "cumulative_sequence_length"))
    return failure();
  if (n.has(6) || n.has(7))
    return n.unsupported("expected weights that are the same for all tokens, got kernel_delta or "
                         "previous_mask");
  int64_t capacity = intOr(n, "state_update_capacity", 0), dilation = intOr(n, "dilation", 1);
  int64_t taps = n.dim(weight, 2);
  if (capacity < 0 || capacity > 8 || (capacity > 0) != n.has(5))
    return n.invalid("expected a state_update_capacity from 0 to 8, with a capture_count where it "
                     "is above 0, got " +
                     Twine(capacity));
  if (n.wants(2) && capacity == 0)
    return n.invalid("found a state_update of a state_update_capacity that is 0");
  if (!n.isCount("dilation", dilation))
    return failure();
  if (ShapedType::isDynamic(taps) || taps < 1)
    return n.unsupported("expected a known number of taps of at least 1, got " + sizeText(taps));
  constexpr int64_t most = 256; // each is operations of its own
  if (taps > most)
    return n.unsupported("expected " + Twine(most) + " taps at most, got " + Twine(taps));
  int64_t length = (taps - 1) * dilation;
  if (!n.isAsLarge(weight, 0, x, 1, "channels") || !n.hasSize(weight, 1, 1, "weight") ||
      !n.isAsLarge(state, 1, x, 1, "channels") || !n.hasSize(state, 2, length, "initial_state") ||
      (n.has(3) && !n.hasOneEach(n.in(3), x, 1, "bias")))
    return failure();
  Type i64 = n.b.getI64Type();
  Value offsets = n.cast(n.in(2), i64), batch = n.sizeOf(state, 0), tokens = n.sizeOf(x, 0);
  n.require(n.toScalar(n.compare("eq", n.sizeOf(offsets, 0), n.add(batch, 1.0))),
            "cumulative_sequence_length has not one entry more than there are states");
  Value begins = n.op<SliceOp>(offsets, n.ints({0}), batch, n.ints({1}), n.list({0}), n.flag(true));
  Value ends = n.op<SliceOp>(offsets, n.ints({1}), n.add(batch, 1.0), n.ints({1}), n.list({0}),
                             n.flag(true));
  Value whole = n.op<AndOp>(
      n.compare("eq", n.toScalar(n.slice(offsets, 0, 0, 1)), 0.0),
      n.compare("eq", n.toScalar(n.slice(offsets, 0, -1, std::numeric_limits<int64_t>::max())),
                n.toScalar(tokens)));
  n.require(n.op<AndOp>(whole, n.reduce(n.compare("le", begins, ends), "all", {0}, false)),
            "cumulative_sequence_length falls, or does not go from 0 to the number of tokens");

  // Of states [batch, length, channels] and tokens, one behind the other, both are rows to look up.
  Value held = n.transpose(state, {0, 2, 1});
  Value rows = n.concat(
      {n.reshapeTo(held, n.concat({n.mul(batch, double(length)), n.sizeOf(x, 1)}, 0)), x}, 0);
  Value behindStates = n.toScalar(n.mul(batch, double(length)));
  Value token = upTo(n, tokens);
  Value owner =
      n.reduce(n.cast(n.compare("le", n.unsqueeze(ends, {0}), n.unsqueeze(token, {1})), i64), "sum",
               {1}, false);
  // Place `local` of a sequence, which may lie before its first token.
  auto rowOf = [&](Value sequence, Value begin, Value local) {
    Value before = n.add(n.mul(sequence, double(length)), n.add(local, double(length)));
    Value within = n.add(n.add(begin, local), behindStates);
    return n.select(n.compare("lt", local, 0.0), before, within);
  };
  Value begin = n.gather(begins, owner, 0), local = n.sub(token, begin);
  Value wide = n.widen(weight), y;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Value at = n.sub(local, double((taps - 1 - tap) * dilation));
    Value sample = n.widen(n.gather(rows, rowOf(owner, begin, at), 0));
    Value term = n.mul(sample, n.reshape(n.slice(wide, 2, tap, tap + 1), {-1}));
    y = y ? n.add(y, term) : term;
  }
  if (n.has(3))
    y = n.add(y, n.widen(n.in(3)));
  std::string_view activation = n.s("activation");
  if (activation == "silu" || activation == "swish")
    y = n.mul(y, n.op<LogisticOp>(y));
  else if (!activation.empty() && activation != "none")
    return n.invalid("expected the activation silu, swish or none, got \"" + Twine(activation) +
                     "\"");

  Value sequence = n.unsqueeze(upTo(n, batch), {1}), own = n.sub(ends, begins);
  Value last = n.add(n.unsqueeze(own, {1}),
                     n.sub(n.unsqueeze(upTo(n, n.ints({length})), {0}), double(length)));
  Value after = n.gather(rows, rowOf(sequence, n.unsqueeze(begins, {1}), last), 0);
  Value update;
  if (n.wants(2)) {
    if (!n.isAsLarge(n.in(5), 0, state, 0, "capture_count"))
      return failure();
    Value slot = n.unsqueeze(upTo(n, n.ints({capacity})), {0});
    Value count = n.minimum(n.cast(n.in(5), i64), own);
    Value at = n.minimum(n.add(n.unsqueeze(begins, {1}), slot), n.sub(n.toScalar(tokens), 1.0));
    Value kept = n.compare("lt", slot, n.unsqueeze(count, {1}));
    update = n.select(n.unsqueeze(kept, {2}), n.gather(x, at, 0), n.like(x, 0));
  }
  return n.results({n.cast(y, n.element(x)), n.transpose(after, {0, 2, 1}), update});
}

//===----------------------------------------------------------------------===//
// MaxpoolWithMask
//===----------------------------------------------------------------------===//

/// The largest of each window, each row of which ends where the mask, which all channels share, is
/// zero; in images the first element is there whatever the mask says.
LogicalResult maskedMaxPool(NodeImport &n) {
  Value x = n.in(0), mask = n.in(1);
  std::optional<SmallVector<int64_t>> size = n.is("kernel_shape");
  if (!x || !mask || !size)
    return x && mask ? n.invalid("found no kernel_shape") : failure();
  int64_t spatial = size->size(), rank = spatial + 2, elements = 1;
  if (spatial < 1 || spatial > 3 || !n.hasRank(x, rank, "input") || !n.hasRank(mask, rank, "mask"))
    return spatial < 1 || spatial > 3
               ? n.unsupported("expected 1 to 3 spatial dimensions, got " + Twine(spatial))
               : failure();
  // Of several masks ONNX Runtime reads the first ones, from an element on that has nothing to do
  // with the image's number.
  constexpr StringLiteral oneMask = "expected one mask for all images and channels, [1, 1, ...]";
  for (int64_t axis : {0, 1}) {
    int64_t count = n.dim(mask, axis);
    if (ShapedType::isDynamic(count))
      n.require(n.compare("eq", n.toScalar(n.sizeOf(mask, axis)), 1.0), oneMask, unimplemented);
    else if (count != 1)
      return n.unsupported(oneMask + ", got " + Twine(count) + " of dimension " + Twine(axis));
  }
  for (int64_t axis = 2; axis < rank; ++axis)
    if (!n.isAsLarge(mask, axis, x, axis, "mask"))
      return failure();
  std::optional<Window> w = window(n, x, *size);
  if (!w)
    return failure();
  for (int64_t extent : w->size)
    elements *= extent > 0 ? std::min<int64_t>(extent, 1 << 12) : 1;
  if (elements > 1024)
    return n.unsupported("expected windows of 1024 elements at most, got more");
  Type flag = n.b.getI1Type();
  Value open = n.compare("ne", mask, 0.0);
  if (spatial > 1) {
    Value isFirst = n.compare("eq", upTo(n, n.sizeProduct(mask, 2, rank)), 0.0);
    open = n.op<OrOp>(open, n.reshapeTo(isFirst, n.shapeOf(mask)));
  }
  // What lies around the image is left out, and ends nothing.
  SmallVector<int64_t> pads(2 * rank, 0);
  for (int64_t i = 0; i < spatial; ++i)
    pads[2 + i] = w->pads[2 * i], pads[rank + 2 + i] = w->pads[2 * i + 1];
  auto padded = [&](Value v, double fill) {
    return n.op<PadOp>(v, n.ints(pads), n.like(v, fill), n.text("constant"));
  };
  double least = std::numeric_limits<float>::lowest();
  Value image = padded(x, least), goesOn = n.cast(padded(n.cast(open, n.b.getI32Type()), 1), flag);
  SmallVector<int64_t> axes = axesFrom(2, rank), at(spatial, 0);
  SmallVector<Value> counts;
  for (int64_t i = 0; i < spatial; ++i) {
    Value room = n.sub(n.sizeOf(image, 2 + i), double(w->size[i]));
    counts.push_back(n.add(n.mul(n.div(room, double(w->strides[i])), double(w->strides[i])), 1.0));
  }
  Value ends = n.concat(counts, 0);
  auto part = [&](Value v) {
    return n.op<SliceOp>(v, n.ints(at), n.add(ends, n.ints(at)), n.ints(w->strides), n.list(axes),
                         n.flag(false));
  };
  Value best, alive;
  for (bool more = true; more;) {
    alive = at.back() == 0 ? part(goesOn) : n.op<AndOp>(alive, part(goesOn));
    Value seen = n.select(alive, part(image), n.like(image, least));
    best = best ? n.maximum(best, seen) : seen;
    int64_t axis = spatial - 1;
    for (; axis >= 0 && ++at[axis] == w->size[axis]; --axis)
      at[axis] = 0;
    more = axis >= 0;
  }
  return n.result(best);
}

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "MaxpoolWithMask", 1, 0, maskedMaxPool},
    {microsoft, "NGramHashMapping", 1, 0, ngramHash},
    {microsoft, "VarlenCausalConvWithState", 1, 0, packedConv},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::microsoftTokenImports() { return table; }

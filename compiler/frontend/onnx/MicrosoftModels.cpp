//===- MicrosoftModels.cpp - com.microsoft for particular models ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that one kind of model each is exported with:
// aligned audio, drafts of translations, words made of characters.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/Microsoft.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildLoop;
using frontend::Values;
using frontend::writeEntry;

namespace {

//===----------------------------------------------------------------------===//
// DynamicTimeWarping
//===----------------------------------------------------------------------===//

/// The cheapest path through a matrix from its first entry to its last. Costs are
/// summed one antidiagonal after the other, each in one go; then the path is read
/// backwards (Sakoe and Chiba, "Dynamic programming algorithm optimization for
/// spoken word recognition", 1978).
LogicalResult timeWarping(NodeImport &n) {
  Value cost = n.in(0);
  if (!cost || (n.rank(cost) != 2 && !(n.rank(cost) == 3 && n.dim(cost, 0) == 1)))
    return n.invalid("found costs that are not one matrix");
  cost = n.rank(cost) == 3 ? n.squeeze(cost, {0}) : cost;
  Type i64 = n.b.getI64Type();
  Value rows = n.toScalar(n.sizeOf(cost, 0)), columns = n.toScalar(n.sizeOf(cost, 1));
  Value line1 = n.add(n.sizeOf(cost, 0), 1.0);
  Value endless = n.scalar(n.element(cost), std::numeric_limits<double>::infinity());
  // Entry i of antidiagonal d is row i, column d - i, both counted from 1.
  Value row = n.op<IotaOp>(line1, n.number(0), n.typeAttr(i64));
  Value before = n.op<IotaOp>(line1, n.number(0), n.typeAttr(i64));
  before = n.maximum(n.sub(before, 1.0), 0.0);
  // One entry more, so that there is one to read where the matrix has none.
  Value flat = n.concat({n.reshape(cost, {-1}), n.reshape(n.like(cost, 0), {1})}, 0);
  Value start = n.select(n.compare("eq", row, 0.0), n.like(cost, 0), endless);
  Value count1 = n.add(n.sizeOf(cost, 0), n.sizeOf(cost, 1));
  Value count = n.toScalar(count1);
  Value moves = n.expandTo(n.intScalar(0), n.concat({n.add(count1, 1.0), line1}, 0));
  auto shifted = [&](Value v) {
    return n.select(n.compare("eq", row, 0.0), endless, n.gather(v, before, 0));
  };
  Value nothing = n.expandTo(endless, line1);
  auto sweep = [&](Value index, Values args) -> FailureOr<Values> {
    Value d = n.add(index, 1.0), column = n.sub(d, row);
    Value diagonal = shifted(args[0]), above = shifted(args[1]), beside = args[1];
    Value first = n.op<AndOp>(n.compare("lt", diagonal, above), n.compare("lt", diagonal, beside));
    Value second = n.op<AndOp>(n.compare("lt", above, diagonal), n.compare("lt", above, beside));
    Value least = n.select(first, diagonal, n.select(second, above, beside));
    Value move = n.select(first, n.intScalar(0), n.select(second, n.intScalar(1), n.intScalar(2)));
    Value inside = n.op<AndOp>(n.op<AndOp>(n.compare("ge", row, 1.0), n.compare("ge", column, 1.0)),
                               n.compare("le", column, columns));
    Value at = n.add(n.mul(n.sub(row, 1.0), columns), n.sub(column, 1.0));
    at = n.select(inside, at, n.like(at, 0));
    Value next = n.select(inside, n.add(least, n.gather(flat, at, 0)), endless);
    return Values{args[1], next, writeEntry(n, args[2], d, move)};
  };
  FailureOr<Values> swept = buildLoop(n, count, {}, {nothing, start, moves}, sweep);
  if (failed(swept))
    return failure();
  moves = (*swept)[2];
  Value path = n.expandTo(n.intScalar(0), n.concat({n.add(count1, 1.0), n.ints({2})}, 0));
  auto back = [&](Value, Values args) -> FailureOr<Values> {
    Value i = args[0], j = args[1], length = args[2];
    Value inside = n.op<AndOp>(n.compare("gt", i, 0.0), n.compare("gt", j, 0.0));
    Value move = n.gather(n.gather(moves, n.add(i, j), 0), i, 0);
    Value point = n.concat({n.reshape(n.sub(i, 1.0), {1}), n.reshape(n.sub(j, 1.0), {1})}, 0);
    Value at = n.minimum(length, n.sub(count, 1.0));
    Value old = n.gather(args[3], at, 0);
    Value written = writeEntry(n, args[3], at, n.select(inside, point, old));
    Value up = n.cast(n.op<AndOp>(inside, n.compare("ne", move, 2.0)), i64);
    Value left = n.cast(n.op<AndOp>(inside, n.compare("ne", move, 1.0)), i64);
    return Values{n.sub(i, up), n.sub(j, left), n.add(length, n.cast(inside, i64)), written};
  };
  FailureOr<Values> walked = buildLoop(n, count, {}, {rows, columns, n.intScalar(0), path}, back);
  if (failed(walked))
    return failure();
  Value length = n.reshape((*walked)[2], {1});
  Value order = n.op<IotaOp>(length, n.number(0), n.typeAttr(i64));
  Value points = n.gather((*walked)[3], n.sub(n.sub(length, 1.0), order), 0);
  return n.result(n.cast(n.transpose(points, {1, 0}), n.b.getI32Type()));
}

//===----------------------------------------------------------------------===//
// BifurcationDetector
//===----------------------------------------------------------------------===//

/// The place of `part` (the last `size` of `tokens`) in `source` at or behind `from`
/// (tensor<i64>), and whether there is one.
std::pair<Value, Value> findSuffix(NodeImport &n, Value source, Value tokens, int64_t size,
                                   Value from) {
  Type i64 = n.b.getI64Type();
  Value place = n.op<IotaOp>(n.shapeOf(source), n.number(0), n.typeAttr(i64));
  Value last = n.sub(n.toScalar(n.sizeOf(source, 0)), 1.0);
  Value equal =
      n.op<AndOp>(n.compare("ge", place, from), n.compare("le", place, n.sub(last, size - 1.0)));
  for (int64_t j = 0; j < size; ++j) {
    Value of = n.maximum(n.sub(n.toScalar(n.sizeOf(tokens, 0)), double(size - j)), 0.0);
    Value there = n.gather(source, n.minimum(n.add(place, double(j)), last), 0);
    equal = n.op<AndOp>(equal, n.compare("eq", there, n.gather(tokens, of, 0)));
  }
  Value found = n.reduce(equal, "any", {0}, false);
  Value first =
      n.reduce(n.select(equal, place, n.toScalar(n.sizeOf(source, 0))), "min", {0}, false);
  return {first, found};
}

/// Takes over predicted tokens up to the first that is not in the source, and looks
/// for the place in the source where the last of them stand once.
LogicalResult bifurcation(NodeImport &n) {
  Value source = n.in(0), tokens = n.in(1), previous = n.in(2);
  if (!source || !tokens || !previous)
    return failure();
  int64_t least = intOr(n, "min_ngram_size", 1), most = intOr(n, "max_ngram_size", 3);
  if (n.rank(source) != 1 || n.rank(tokens) != 1 || least < 1 || most < least || most > 64)
    return n.invalid("found tokens that are no vectors, or n-grams of " + Twine(least) + " to " +
                     Twine(most));
  if (n.dim(source, 0) == 0)
    return n.unsupported("found no source tokens");
  if (n.has(3)) {
    Value draft = n.in(3), from = n.reshape(previous, {1});
    Value rest = n.sub(n.sizeOf(source, 0), from);
    n.require(n.toScalar(n.compare("ge", from, 0.0)), "prev_suffix_match_idx is negative");
    n.require(n.toScalar(n.compare("eq", n.sizeOf(draft, 0), n.add(rest, 1.0))),
              "pred_tokens have not the length of the rest of src_tokens and one");
    Value tail =
        n.op<SliceOp>(source, from, n.sizeOf(source, 0), n.ints({1}), n.list({0}), n.flag(false));
    Value head = n.op<SliceOp>(draft, n.ints({0}), rest, n.ints({1}), n.list({0}), n.flag(false));
    Value same = n.cast(n.compare("eq", tail, head), n.b.getI64Type());
    Value agreed = n.reduce(
        n.op<CumulativeOp>(same, n.text("prod"), n.number(0), n.flag(false), n.flag(false)), "sum",
        {0}, true);
    Value taken = n.op<SliceOp>(draft, n.ints({0}), n.add(agreed, 1.0), n.ints({1}), n.list({0}),
                                n.flag(false));
    tokens = n.concat({tokens, taken}, 0);
  }
  Value size = n.toScalar(n.sizeOf(source, 0)), length = n.toScalar(n.sizeOf(tokens, 0));
  Value match = n.intScalar(-1), ended = n.scalar(n.b.getI1Type(), 0);
  for (int64_t gram = least; gram <= most && ended; ++gram) {
    ended = n.op<OrOp>(ended, n.compare("lt", length, double(gram)));
    auto [first, found] = findSuffix(n, source, tokens, gram, n.intScalar(0));
    ended = n.op<OrOp>(ended, n.logicalNot(found));
    Value behind = n.add(first, double(gram));
    Value again = findSuffix(n, source, tokens, gram, n.add(first, 1.0)).second;
    Value isLast = n.compare("ge", behind, size);
    Value next = n.select(n.op<AndOp>(n.logicalNot(isLast), again), n.intScalar(-1), behind);
    match = n.select(ended, match, next);
    ended = n.op<OrOp>(ended, isLast);
  }
  return n.results({tokens, n.reshapeTo(match, n.shapeOf(previous))});
}

//===----------------------------------------------------------------------===//
// WordConvEmbedding
//===----------------------------------------------------------------------===//

/// Words [words, characters] as vectors: a convolution over the embeddings of their
/// characters, tanh, and the largest of the places that the word fills. Characters
/// count from 1; a word that begins with 0 is none, and its vector is zero.
LogicalResult wordEmbedding(NodeImport &n) {
  Value words = n.in(0), filter = n.in(1), bias = n.in(2), table = n.in(3);
  if (!words || !filter || !bias || !table)
    return failure();
  if (!n.hasRank(words, 2, "words") || !n.hasRank(filter, 4, "filter") ||
      !n.hasRank(bias, 1, "bias") || !n.hasRank(table, 2, "table of characters") ||
      !n.hasSize(filter, 1, 1, "filter"))
    return failure();
  std::tuple<const char *, Value, int64_t, const char *> claims[] = {
      {"embedding_size", filter, 0, "filter"},
      {"conv_window_size", filter, 2, "filter"},
      {"char_embedding_size", table, 1, "table of characters"}};
  for (auto [name, of, dim, what] : claims)
    if (int64_t size = intOr(n, name, -1); size >= 0 && !n.hasSize(of, dim, size, what))
      return failure();
  if (!n.isAsLarge(bias, 0, filter, 0, "bias and the filter") ||
      !n.isAsLarge(filter, 3, table, 1, "filter and the table of characters"))
    return failure();
  int64_t window = n.dim(filter, 2), most = n.dim(words, 1);
  Value width = n.toScalar(n.sizeOf(filter, 2));
  if (ShapedType::isDynamic(window) || ShapedType::isDynamic(most)) {
    Value room = n.toScalar(n.sizeOf(words, 1));
    n.require(n.op<AndOp>(n.compare("ge", width, 1), n.compare("ge", room, width)),
              "words have not as many characters as the filter's window, or that has none");
  } else if (window < 1 || most < window) {
    return n.invalid("expected words of as many characters as the filter's window has, from 1 on, "
                     "got " +
                     Twine(most) + " and " + Twine(window));
  }
  Type i64 = n.b.getI64Type();
  n.require(n.reduce(n.compare("ge", words, 0.0), "all", {0, 1}, false), "a character is negative");
  Value isCharacter = n.compare("gt", words, 0.0);
  Value length = n.reduce(n.cast(isCharacter, i64), "sum", {1}, false);
  length = n.select(n.pick(isCharacter, 1, 0), length, n.like(length, 0));
  Value characters = n.transpose(n.gather(table, n.maximum(words, 0.0), 0), {0, 2, 1});
  Value kernel = n.transpose(n.squeeze(filter, {1}), {0, 2, 1});
  Value y = n.op<ConvOp>(characters, kernel, n.list({1}), n.list({0, 0}), n.list({1}), n.number(1),
                         n.flag(false), n.typeAttr(n.element(table)));
  y = n.op<TanhOp>(n.add(y, n.unsqueeze(bias, {1})));
  if (!y)
    return failure();
  Value place = n.op<IotaOp>(n.shapeOf(y), n.number(2), n.typeAttr(i64));
  Value places = n.add(n.sub(n.maximum(length, width), width), 1.0);
  Value filled = n.compare("lt", place, n.unsqueeze(places, {1, 2}));
  y = n.reduce(n.select(filled, y, n.like(y, -1e12)), "max", {2}, false);
  return n.result(n.select(n.unsqueeze(n.compare("gt", length, 0.0), {1}), y, n.like(y, 0)));
}

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "BifurcationDetector", 1, 0, bifurcation},
    {microsoft, "DynamicTimeWarping", 1, 0, timeWarping},
    {microsoft, "MoE", 1, 0, mixtureOfExperts},
    {microsoft, "QMoE", 1, 0, mixtureOfExperts},
    {microsoft, "WordConvEmbedding", 1, 0, wordEmbedding},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::microsoftModelImports() { return table; }

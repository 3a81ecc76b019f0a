//===- EinsumImports.cpp - sums of products by letters --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Letters name dimensions; "..." stands for those that broadcast. Each operand
// is brought to one dimension a letter (a repeated one is a diagonal, one that
// nobody else has is summed away); two operands then are one dot_general.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/BatchProduct.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <algorithm>
#include <string>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// A tensor and the letter of each of its dimensions. Dimensions of "..." are
/// the characters from 1 on, the last of them 1.
struct Labelled {
  Value value;
  std::string labels;
};

} // namespace

static constexpr char kMaxEllipsis = 32;

/// Spells out "..." for a tensor of rank `rank` (-1: for `ellipsis` of them).
static std::optional<std::string> spell(std::string_view text, int64_t rank, int64_t &ellipsis) {
  std::string labels;
  size_t dots = text.find("...");
  int64_t letters = static_cast<int64_t>(text.size()) - (dots == text.npos ? 0 : 3);
  int64_t count = rank < 0 ? ellipsis : rank - letters;
  if (dots == std::string_view::npos) {
    if (rank >= 0 && count != 0)
      return std::nullopt;
    return std::string(text);
  }
  if (count < 0 || count >= kMaxEllipsis)
    return std::nullopt;
  labels = text.substr(0, dots);
  for (int64_t i = count; i > 0; --i)
    labels += static_cast<char>(i);
  labels += text.substr(dots + 3);
  ellipsis = std::max(ellipsis, count);
  return labels;
}

/// Two dimensions of one letter have one size: false after a report where they
/// have not, a check in the run where only it knows.
static bool requireOneSize(NodeImport &n, char label, Value x, size_t at, Value y, size_t other) {
  int64_t size = n.dim(x, at), otherSize = n.dim(y, other);
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(otherSize)) {
    require(n, n.compare("eq", n.sizeOf(x, at), n.sizeOf(y, other)),
            ("letter " + Twine(label) + " stands for two sizes").str());
    return true;
  }
  if (size != otherSize)
    (void)n.invalid("found sizes " + Twine(size) + " and " + Twine(otherSize) + " for letter " +
                    Twine(label));
  return size == otherSize;
}

/// Diagonals for letters that stand twice; false after a report.
static bool takeDiagonals(NodeImport &n, Labelled &x) {
  for (size_t i = 0; x.value && i < x.labels.size(); ++i) {
    size_t other = x.labels.find(x.labels[i], i + 1);
    if (other == std::string::npos)
      continue;
    if (!requireOneSize(n, x.labels[i], x.value, i, x.value, other))
      return false;
    // Zero off the diagonal, then the sum over the second one.
    int64_t rank = n.rank(x.value);
    auto index = [&](size_t dim) {
      Value iota = n.op<IotaOp>(n.sizeOf(x.value, dim), n.number(0), n.typeAttr(n.b.getI64Type()));
      return n.unsqueeze(iota, axesFrom(1, rank - dim));
    };
    Value on = n.compare("eq", index(i), index(other));
    x.value = n.reduce(n.select(on, x.value, n.like(x.value, 0)), "sum",
                       {static_cast<int64_t>(other)}, false);
    x.labels.erase(other, 1);
    --i;
  }
  return true;
}

/// Sums over letters that neither `other` nor the result has.
static void sumAway(NodeImport &n, Labelled &x, const std::string &keep) {
  IntVector axes;
  std::string rest;
  for (size_t i = 0; i < x.labels.size(); ++i)
    if (keep.find(x.labels[i]) == std::string::npos)
      axes.push_back(static_cast<int64_t>(i));
    else
      rest += x.labels[i];
  if (!axes.empty() && x.value)
    x.value = n.reduce(x.value, "sum", axes, false);
  x.labels = rest;
}

/// The dimensions in the order of `labels`, new ones (of size 1) among them.
static Value arrange(NodeImport &n, const Labelled &x, const std::string &labels) {
  IntVector order, fresh;
  for (size_t i = 0; i < labels.size(); ++i) {
    size_t at = x.labels.find(labels[i]);
    if (at == std::string::npos)
      fresh.push_back(static_cast<int64_t>(i));
    else
      order.push_back(static_cast<int64_t>(at));
  }
  return n.unsqueeze(n.transpose(x.value, order), fresh);
}

static Labelled contract(NodeImport &n, Labelled x, Labelled y, const std::string &result) {
  sumAway(n, x, y.labels + result);
  sumAway(n, y, x.labels + result);
  IntVector xBatch, yBatch, xSum, ySum;
  std::string batch, xFree, yFree;
  bool broadcasts = false;
  for (size_t i = 0; x.value && y.value && i < x.labels.size(); ++i) {
    char label = x.labels[i];
    size_t at = y.labels.find(label);
    if (at == std::string::npos) {
      xFree += label;
      continue;
    }
    // Dimensions of "..." may be 1 on one side, open ones in the run.
    int64_t size = n.dim(x.value, i);
    if (label < kMaxEllipsis && (ShapedType::isDynamic(size) || size != n.dim(y.value, at)))
      broadcasts = true;
    bool kept = result.find(label) != std::string::npos;
    (kept ? xBatch : xSum).push_back(static_cast<int64_t>(i));
    (kept ? yBatch : ySum).push_back(static_cast<int64_t>(at));
    if (kept)
      batch += label;
  }
  for (char label : y.labels)
    if (x.labels.find(label) == std::string::npos)
      yFree += label;
  if (broadcasts || xSum.empty()) {
    // A product with broadcasting, which letters do not.
    for (size_t i = 0; i < x.labels.size(); ++i) {
      size_t at = y.labels.find(x.labels[i]);
      if (at != std::string::npos && x.labels[i] >= kMaxEllipsis &&
          !requireOneSize(n, x.labels[i], x.value, i, y.value, at))
        return {};
    }
    std::string all = batch + xFree + yFree;
    if (xSum.empty())
      return {n.mul(arrange(n, x, all), arrange(n, y, all)), all};
    std::string summed;
    for (int64_t axis : xSum)
      summed += x.labels[axis];
    return {frontend::batchProduct(n, arrange(n, x, batch + xFree + summed),
                                   arrange(n, y, batch + summed + yFree), batch.size(),
                                   summed.size()),
            all};
  }
  Value product = n.op<DotGeneralOp>(x.value, y.value, n.list(xBatch), n.list(yBatch), n.list(xSum),
                                     n.list(ySum), n.typeAttr(n.element(x.value)));
  return {product, batch + xFree + yFree};
}

static LogicalResult einsum(NodeImport &n) {
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (operands.empty())
    return failure();
  std::string equation;
  for (char c : n.s("equation"))
    if (c != ' ')
      equation += c;
  size_t arrow = equation.find("->");
  if (arrow == std::string::npos)
    return n.invalid("found an equation without a result");
  std::string_view left = std::string_view(equation).substr(0, arrow);
  int64_t ellipsis = 0;
  SmallVector<Labelled> terms;
  for (Value operand : operands) {
    size_t comma = left.find(',');
    auto labels = spell(left.substr(0, comma), n.rank(operand), ellipsis);
    left.remove_prefix(comma == std::string_view::npos ? left.size() : comma + 1);
    if (!labels)
      return n.invalid("found a tensor of rank " + Twine(n.rank(operand)) + " for its part of " +
                       Twine(equation));
    terms.push_back({operand, *labels});
    if (!takeDiagonals(n, terms.back()))
      return failure();
  }
  auto result = spell(std::string_view(equation).substr(arrow + 2), -1, ellipsis);
  if (!result)
    return n.invalid("found equation " + Twine(equation));
  if (ellipsis && equation.find("...", arrow) == std::string::npos)
    return n.invalid("expected \"...\" in the result, for it stands for dimensions of operands, "
                     "got equation " +
                     Twine(equation));
  if (terms.size() > 2)
    return n.unsupported("expected two operands, got " + Twine(terms.size()));
  Labelled product = terms[0];
  if (terms.size() == 2)
    product = contract(n, terms[0], terms[1], *result);
  else
    sumAway(n, product, *result);
  if (!product.value)
    return failure();
  for (char label : *result)
    if (product.labels.find(label) == std::string::npos ||
        std::count(result->begin(), result->end(), label) != 1)
      return n.unsupported("found a letter in the result that stands twice or "
                           "in no operand");
  return n.result(arrange(n, product, *result));
}

ArrayRef<OpImport> weir::tf::einsumImports() {
  static const OpImport rows[] = {
      {"Einsum", einsum},
  };
  return rows;
}

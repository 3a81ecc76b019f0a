//===- LossImports.cpp - losses, einsum ------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/BatchProduct.h"
#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/NodeImport.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// The negative log likelihood of `target` under log probabilities `x`
/// [N, C, d…], reduced as the node says.
Value likelihoodLoss(NodeImport &n, Value x, Value target, Value weight) {
  if (!x || !target)
    return {};
  if (n.rank(x) < 2 || !n.hasRank(target, n.rank(x) - 1, "labels") ||
      (weight && !n.hasOneEach(weight, x, 1, "weights")))
    return {};
  for (int64_t axis = 0; axis < n.rank(target); ++axis)
    if (!n.isAsLarge(target, axis, x, axis ? axis + 1 : 0, "labels and scores"))
      return {};
  Type i64 = n.b.getI64Type();
  target = n.cast(target, i64);
  Value ignored;
  if (n.hasAttr("ignore_index")) {
    ignored = n.compare("eq", target, double(n.i("ignore_index")));
    // Any class serves where the result is not used.
    target = n.select(ignored, n.like(target, 0), target);
  }
  Value picked = n.op<GatherElementsOp>(x, n.unsqueeze(target, {1}), n.number(1), n.flag(false));
  Value loss = n.op<NegOp>(n.squeeze(picked, {1}));
  Value weights = weight ? n.gather(weight, target, 0) : Value();
  if (ignored) {
    if (!weights)
      weights = n.expandTo(n.like(x, 1), n.shapeOf(target));
    weights = n.select(ignored, n.like(x, 0), weights);
  }
  if (weights)
    loss = n.mul(loss, weights);
  if (ignored && loss)
    loss = n.select(ignored, n.like(loss, 0), loss);
  std::string_view reduction = n.s("reduction");
  if (!loss || reduction == "none")
    return loss;
  SmallVector<int64_t> all = axesFrom(0, n.rank(loss));
  if (reduction == "sum")
    return n.reduce(loss, "sum", all, false);
  if (!weights)
    return n.reduce(loss, "mean", all, false);
  return n.div(n.reduce(loss, "sum", all, false), n.reduce(weights, "sum", all, false));
}

LogicalResult negativeLogLikelihood(NodeImport &n) {
  Value weight = n.has(2) ? n.in(2) : Value();
  return n.result(likelihoodLoss(n, n.in(0), n.in(1), weight));
}

LogicalResult softmaxCrossEntropy(NodeImport &n) {
  Value logarithms = n.softmax(n.in(0), 1, /*log=*/true);
  Value weight = n.has(2) ? n.in(2) : Value();
  return n.results({likelihoodLoss(n, logarithms, n.in(1), weight), logarithms});
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

/// A tensor whose dimensions are labelled. Dimensions under an ellipsis have
/// the labels from '\1' on, counted from the last.
struct Term {
  Value v;
  std::string labels;
};

class Einsum {
public:
  explicit Einsum(NodeImport &n) : n(n) {}
  LogicalResult run();

private:
  bool parse(std::string_view equation);
  bool expand(std::string &labels, int64_t rank);
  bool requireSame(const Term &x, size_t i, const Term &y, size_t j);
  bool diagonals(Term &term);
  bool stretch(Term &x, Term &y, const std::string &labels);
  Term contract(Term x, Term y, const std::string &kept);
  Value broadcastProduct(const Term &x, const Term &y, const std::string &batch,
                         const std::string &freeX, const std::string &freeY);
  void drop(Term &term, const std::string &kept);
  bool contractNext(std::vector<Term> &terms);

  NodeImport &n;
  std::vector<std::string> inputs;
  std::string output;
  bool explicitOutput = false;
  std::optional<int64_t> ellipsis; ///< how many dimensions it stands for
};

bool Einsum::parse(std::string_view equation) {
  std::string text;
  for (char c : equation)
    if (c != ' ')
      text += c;
  size_t arrow = text.find("->");
  explicitOutput = arrow != std::string::npos;
  std::string left = text.substr(0, arrow);
  output = explicitOutput ? text.substr(arrow + 2) : "";
  for (size_t at = 0;;) {
    size_t comma = left.find(',', at);
    inputs.push_back(left.substr(at, comma - at));
    if (comma == std::string::npos)
      break;
    at = comma + 1;
  }
  return inputs.size() == n.inputCount();
}

/// Replaces an ellipsis by labels for the dimensions it stands for.
bool Einsum::expand(std::string &labels, int64_t rank) {
  size_t dots = labels.find("...");
  if (dots == std::string::npos)
    return rank < 0 || static_cast<int64_t>(labels.size()) == rank;
  int64_t count = rank < 0 ? ellipsis.value_or(0) : rank - static_cast<int64_t>(labels.size() - 3);
  if (count < 0 || count > 30)
    return false;
  // Everywhere it stands for as many.
  if (rank >= 0 && ellipsis.value_or(count) != count) {
    (void)n.invalid(
        "expected an ellipsis that stands for as many dimensions of each operand, got " +
        Twine(*ellipsis) + " and " + Twine(count));
    return false;
  }
  ellipsis = count;
  std::string names;
  for (int64_t i = count; i > 0; --i)
    names += static_cast<char>(i);
  labels.replace(dots, 3, names);
  return true;
}

/// Dimensions of one label are of one size: false after a report where they are
/// not, a check in the run where only it knows.
bool Einsum::requireSame(const Term &x, size_t i, const Term &y, size_t j) {
  int64_t one = n.dim(x.v, i), other = n.dim(y.v, j);
  if (ShapedType::isDynamic(one) || ShapedType::isDynamic(other)) {
    n.require(n.compare("eq", n.toScalar(n.sizeOf(x.v, i)), n.toScalar(n.sizeOf(y.v, j))),
              "a label stands for two sizes");
    return true;
  }
  if (one != other)
    (void)n.invalid("found sizes " + Twine(one) + " and " + Twine(other) +
                    " for one label of an operand");
  return one == other;
}

/// A label that occurs twice in a term takes the diagonal.
bool Einsum::diagonals(Term &term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    size_t j = term.labels.find(term.labels[i], i + 1);
    while (j != std::string::npos) {
      if (!requireSame(term, i, term, j))
        return false;
      auto index = n.typeAttr(n.b.getI64Type());
      Value shape = n.shapeOf(term.v);
      Value same = n.compare("eq", n.op<IotaOp>(shape, n.number(i), index),
                             n.op<IotaOp>(shape, n.number(j), index));
      Value kept = n.select(same, term.v, n.like(term.v, 0));
      term.v = n.reduce(kept, "sum", {static_cast<int64_t>(j)}, false);
      if (!term.v)
        return false;
      term.labels.erase(j, 1);
      j = term.labels.find(term.labels[i], i + 1);
    }
  }
  return true;
}

/// Sums over the dimensions whose labels nobody needs.
void Einsum::drop(Term &term, const std::string &kept) {
  SmallVector<int64_t> axes;
  std::string labels;
  for (auto [i, label] : llvm::enumerate(term.labels)) {
    if (kept.find(label) == std::string::npos)
      axes.push_back(i);
    else
      labels += label;
  }
  if (!axes.empty())
    term.v = n.reduce(term.v, "sum", axes, false);
  term.labels = labels;
}

/// The product as [batch, freeX, freeY], by one of matrices whose batch is broadcast in the run.
Value Einsum::broadcastProduct(const Term &x, const Term &y, const std::string &batch,
                               const std::string &freeX, const std::string &freeY) {
  std::string summed;
  for (auto [i, label] : llvm::enumerate(x.labels)) {
    size_t at = y.labels.find(label);
    if (at == std::string::npos || batch.find(label) != std::string::npos)
      continue;
    summed += label;
    if (!requireSame(x, i, y, at))
      return {};
  }
  auto inOrder = [&](const Term &term, const std::string &order) {
    SmallVector<int64_t> permutation;
    for (char label : order)
      permutation.push_back(term.labels.find(label));
    return n.transpose(term.v, permutation);
  };
  return frontend::batchProduct(n, inOrder(x, batch + freeX + summed),
                                inOrder(y, batch + summed + freeY), batch.size(), summed.size());
}

/// Dimensions of `labels`, each of which is 1 on one side or of one size on both, brought to
/// one size in the run; where they are of one already, nothing is copied.
bool Einsum::stretch(Term &x, Term &y, const std::string &labels) {
  Value isSame;
  for (char label : labels) {
    Value same = n.compare("eq", n.toScalar(n.sizeOf(x.v, x.labels.find(label))),
                           n.toScalar(n.sizeOf(y.v, y.labels.find(label))));
    isSame = isSame ? n.op<AndOp>(isSame, same) : same;
  }
  auto stretched = [&](const Term &own, const Term &other) {
    SmallVector<Value> sizes;
    for (auto [i, label] : llvm::enumerate(own.labels)) {
      Value size = n.sizeOf(own.v, i);
      if (labels.find(label) != std::string::npos) {
        Value beside = n.sizeOf(other.v, other.labels.find(label));
        size = n.select(n.compare("eq", size, 1), beside, size);
      }
      sizes.push_back(size);
    }
    return n.expandTo(own.v, n.concat(sizes, 0));
  };
  auto made = frontend::buildIf(
      n, isSame, [&]() -> FailureOr<frontend::Values> { return frontend::Values{x.v, y.v}; },
      [&]() -> FailureOr<frontend::Values> {
        return frontend::Values{stretched(x, y), stretched(y, x)};
      });
  if (failed(made))
    return false;
  x.v = (*made)[0];
  y.v = (*made)[1];
  return x.v && y.v;
}

Term Einsum::contract(Term x, Term y, const std::string &kept) {
  drop(x, kept + y.labels);
  drop(y, kept + x.labels);
  if (!x.v || !y.v)
    return {};
  // A dimension of size 1 against a larger one is broadcast: drop it.
  for (auto *pair : {&x, &y}) {
    Term &own = *pair, &other = pair == &x ? y : x;
    for (size_t i = 0; i < own.labels.size();) {
      size_t at = other.labels.find(own.labels[i]);
      if (at != std::string::npos && n.dim(own.v, i) == 1 && n.dim(other.v, at) != 1) {
        own.v = n.squeeze(own.v, {static_cast<int64_t>(i)});
        own.labels.erase(i, 1);
      } else {
        ++i;
      }
    }
  }
  SmallVector<int64_t> xBatch, yBatch, xContract, yContract;
  std::string batch, freeX, freeY, openBatch, openSummed;
  bool broadcasts = false; // an ellipsis may, in the run
  for (auto [i, label] : llvm::enumerate(x.labels)) {
    size_t at = y.labels.find(label);
    if (at == std::string::npos) {
      freeX += label;
      continue;
    }
    bool isOpen = ShapedType::isDynamic(n.dim(x.v, i)) || ShapedType::isDynamic(n.dim(y.v, at));
    bool isBatch = kept.find(label) != std::string::npos;
    if (isBatch)
      batch += label;
    (isBatch ? xBatch : xContract).push_back(i);
    (isBatch ? yBatch : yContract).push_back(at);
    if (isOpen)
      (isBatch ? openBatch : openSummed) += label;
    broadcasts |= isOpen && isBatch && label <= 30;
  }
  for (char label : y.labels)
    if (x.labels.find(label) == std::string::npos)
      freeY += label;
  if (std::string open = openSummed + (broadcasts ? "" : openBatch);
      !open.empty() && !stretch(x, y, open))
    return {};
  if (broadcasts)
    return {broadcastProduct(x, y, batch, freeX, freeY), batch + freeX + freeY};
  Value v = n.op<DotGeneralOp>(x.v, y.v, n.list(xBatch), n.list(yBatch), n.list(xContract),
                               n.list(yContract), n.typeAttr(n.element(x.v)));
  return {v, batch + freeX + freeY};
}

/// Contracts two of the terms: constants among themselves, which the compiler computes;
/// else the first one with the next that shares a label, so that nothing grows by an outer
/// product that a later contraction would have spared. What only one term has is summed
/// before. False after a report.
bool Einsum::contractNext(std::vector<Term> &terms) {
  auto keptBeside = [&](size_t i, size_t j) {
    std::string kept = output;
    for (size_t k = 0; k < terms.size(); ++k)
      if (k != i && k != j)
        kept += terms[k].labels;
    return kept;
  };
  for (size_t i = 0; i < terms.size(); ++i) {
    drop(terms[i], keptBeside(i, i));
    if (!terms[i].v)
      return false;
  }
  auto share = [&](size_t i, size_t j) {
    return terms[i].labels.find_first_of(terms[j].labels) != std::string::npos;
  };
  auto isConstant = [&](size_t i) { return bool(terms[i].v.getDefiningOp<ConstantOp>()); };
  size_t first = 0, second = 0;
  for (size_t i = 0; i < terms.size() && !second; ++i)
    for (size_t j = i + 1; j < terms.size() && !second; ++j)
      if (isConstant(i) && isConstant(j) && share(i, j))
        first = i, second = j;
  for (size_t j = 1; j < terms.size() && !second; ++j)
    if (share(0, j))
      second = j;
  second = std::max<size_t>(second, 1);
  terms[first] = contract(terms[first], terms[second], keptBeside(first, second));
  terms.erase(terms.begin() + second);
  return bool(terms[first].v);
}

LogicalResult Einsum::run() {
  SmallVector<Value> values = n.tensors();
  if (values.empty() || !parse(n.s("equation")))
    return n.invalid("found an equation that does not go with the inputs");
  for (auto [labels, value] : llvm::zip(inputs, values))
    if (!expand(labels, n.rank(value)))
      return n.invalid("found \"" + Twine(labels) + "\" for rank " + Twine(n.rank(value)));
  if (explicitOutput) {
    expand(output, -1);
  } else {
    // Dimensions of the ellipsis, then labels that occur once, sorted.
    std::string all;
    for (const std::string &labels : inputs)
      all += labels;
    std::string once;
    for (char label : all)
      if (label > 30 && llvm::count(all, label) == 1)
        once += label;
    llvm::sort(once);
    for (int64_t i = ellipsis.value_or(0); i > 0; --i)
      output += static_cast<char>(i);
    output += once;
  }
  std::vector<Term> terms;
  for (auto [labels, value] : llvm::zip(inputs, values)) {
    terms.push_back({value, labels});
    if (!diagonals(terms.back()))
      return failure();
  }
  while (terms.size() > 1)
    if (!contractNext(terms))
      return failure();
  Term &result = terms[0];
  drop(result, output);
  if (result.labels.size() != output.size())
    return n.invalid("found an output label that no input has");
  SmallVector<int64_t> permutation;
  for (char label : output)
    permutation.push_back(result.labels.find(label));
  return n.result(n.transpose(result.v, permutation));
}

LogicalResult einsum(NodeImport &n) { return Einsum(n).run(); }

constexpr OperatorImport table[] = {
    {"", "Einsum", 12, 0, einsum},
    {"", "NegativeLogLikelihoodLoss", 12, 0, negativeLogLikelihood},
    {"", "SoftmaxCrossEntropyLoss", 12, 0, softmaxCrossEntropy},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::lossImports() { return table; }

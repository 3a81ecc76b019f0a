//===- Trees.cpp - ensembles of decision trees ----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Trees.h"
#include "compiler/frontend/onnx/TreeTables.h"
#include "dialects/weir/TreeEnsemble.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

std::optional<std::vector<int64_t>> weir::onnx::orderOf(const Trees &trees) {
  auto count = static_cast<int64_t>(trees.size());
  // Nodes may be shared; one that is met again before it is done closes a circle.
  enum class State : uint8_t { Unseen, Open, Done };
  std::vector<State> states(count, State::Unseen);
  std::vector<int64_t> order;
  for (int64_t root : trees.roots) {
    SmallVector<int64_t> way{root};
    while (!way.empty()) {
      int64_t node = way.back();
      if (node < 0 || node >= count)
        return std::nullopt;
      if (states[node] == State::Unseen && trees.branch[node] != Branch::Leaf) {
        states[node] = State::Open;
        for (int64_t child : {trees.onTrue[node], trees.onFalse[node]}) {
          if (child < 0 || child >= count || states[child] == State::Open)
            return std::nullopt;
          if (states[child] == State::Unseen)
            way.push_back(child);
        }
        continue;
      }
      way.pop_back();
      if (states[node] != State::Done)
        order.push_back(node);
      states[node] = State::Done;
    }
  }
  return order;
}

/// A constant matrix of words.
template <typename Word>
static Value wordMatrix(NodeImport &n, const std::vector<Word> &words, int64_t columns) {
  auto type = RankedTensorType::get({int64_t(words.size()) / columns, columns}, n.b.getI32Type());
  ArrayRef<char> bytes(reinterpret_cast<const char *>(words.data()), words.size() * sizeof(Word));
  return n.constant(DenseElementsAttr::getFromRawBuffer(type, bytes));
}

static Value sumTrees(NodeImport &n, Value x, const Trees &trees, Aggregate aggregate,
                      ArrayRef<int64_t> order) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto type = cast<FloatType>(n.isFloat(x) ? n.element(x) : n.b.getF32Type());
  Type wide = type.getWidth() < 32 ? n.b.getF32Type() : type;
  bool extreme = aggregate == Aggregate::Min || aggregate == Aggregate::Max;
  double silent = !extreme ? 0 : aggregate == Aggregate::Min ? infinity : -infinity;
  ReduceKind kind = !extreme                      ? ReduceKind::Sum
                    : aggregate == Aggregate::Min ? ReduceKind::Min
                                                  : ReduceKind::Max;
  TreeTables tables = treeTables(trees, order, type, silent, extreme);
  Value weights = n.reshape(n.cast(n.floats(tables.weights, type), wide), {-1, tables.width});
  Value result = n.op<TreeEnsembleOp>(
      x, wordMatrix(n, tables.nodes, tables.isWide ? trees::wideWords : trees::narrowWords),
      wordMatrix(n, tables.trees, trees::columns), weights, kind, trees.targets, tables.features,
      tables.featureBits, tables.missing, tables.steps);
  result = n.cast(result, type);
  if (extreme) // a target that no leaf speaks to
    result = n.select(n.op<IsInfOp>(result), n.like(result, 0), result);
  return aggregate == Aggregate::Average ? n.div(result, double(trees.roots.size())) : result;
}

Value weir::onnx::scoreTrees(NodeImport &n, Value x, const Trees &trees, Aggregate aggregate) {
  if (!x)
    return {};
  if (n.rank(x) == 1)
    x = n.unsqueeze(x, {0});
  int64_t features = n.dim(x, n.rank(x) - 1);
  int64_t asked = 0;
  for (size_t i = 0; i < trees.size(); ++i) {
    if (trees.branch[i] == Branch::Leaf)
      continue;
    asked = std::max(asked, trees.feature[i] + 1);
    if (trees.feature[i] < 0 ||
        (!ShapedType::isDynamic(features) && trees.feature[i] >= features)) {
      (void)n.invalid("found feature " + Twine(trees.feature[i]) + " of a number that is " +
                      sizeText(features));
      return {};
    }
  }
  // Where there are rows the kernel looks, and says how many features it found.
  if (ShapedType::isDynamic(features) && asked) {
    Value isEmpty = n.compare("eq", n.sizeOf(x, 0), 0);
    Value found = n.select(isEmpty, n.sizeOf(x, n.rank(x) - 1), n.ints({asked}));
    n.require(n.toScalar(n.compare("ge", found, double(asked))),
              "rows have no feature " + std::to_string(asked - 1));
  }
  for (const Trees::Vote &vote : trees.votes)
    if (vote.target < 0 || vote.target >= trees.targets || vote.node < 0 ||
        vote.node >= static_cast<int64_t>(trees.size())) {
      (void)n.invalid("found a leaf for target " + Twine(vote.target) + " of " +
                      Twine(trees.targets));
      return {};
    }
  std::optional<std::vector<int64_t>> order = orderOf(trees);
  if (!order) {
    (void)n.invalid("expected nodes that lead to leaves, which several may share, got a cycle, or "
                    "a node that leads nowhere");
    return {};
  }
  return sumTrees(n, x, trees, aggregate, *order);
}

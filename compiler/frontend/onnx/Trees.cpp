//===- Trees.cpp - ensembles of decision trees ----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Trees.h"
#include "compiler/frontend/Loops.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildLoop;
using frontend::Values;

std::optional<int64_t> weir::onnx::depthOf(const Trees &trees) {
  auto count = static_cast<int64_t>(trees.size());
  // The longest way to a leaf, each node after those below it. Nodes may be
  // shared; one that is met again before it is done closes a circle.
  constexpr int64_t unseen = -1, open = -2;
  std::vector<int64_t> height(count, unseen);
  int64_t depth = 0;
  for (int64_t root : trees.roots) {
    SmallVector<int64_t> way{root};
    while (!way.empty()) {
      int64_t node = way.back();
      if (node < 0 || node >= count)
        return std::nullopt;
      if (height[node] >= 0) {
        way.pop_back();
        continue;
      }
      bool isLeaf = trees.branch[node] == Branch::Leaf, isReady = true;
      int64_t below = -1;
      for (int64_t child : {trees.onTrue[node], trees.onFalse[node]}) {
        if (isLeaf)
          break;
        if (child < 0 || child >= count || height[child] == open)
          return std::nullopt;
        if (height[child] == unseen) {
          isReady = false;
          way.push_back(child);
        } else {
          below = std::max(below, height[child]);
        }
      }
      if (isReady) {
        height[node] = below + 1;
        way.pop_back();
      } else {
        height[node] = open;
      }
    }
    depth = std::max(depth, height[root]);
  }
  return depth;
}

namespace {

class Scorer {
public:
  Scorer(NodeImport &n, Value x, const Trees &trees) : n(n), trees(trees) {
    type = n.isFloat(x) ? n.element(x) : n.b.getF32Type();
    this->x = n.cast(x, type);
    i64 = n.b.getI64Type();
  }

  Value run(Aggregate aggregate, int64_t depth);

private:
  Value step(Value at);
  Value table(function_ref<double(size_t)> value, Type element) {
    SmallVector<double> values;
    for (size_t i = 0; i < trees.size(); ++i)
      values.push_back(value(i));
    return n.floats(values, element);
  }
  Value integers(ArrayRef<int64_t> values) { return n.ints(values); }
  bool uses(Branch branch) const { return llvm::is_contained(trees.branch, branch); }
  Value membership(Value at, Value value);

  NodeImport &n;
  const Trees &trees;
  Value x;
  Type type, i64;
};

/// Whether each value is one of its node's members.
Value Scorer::membership(Value at, Value value) {
  size_t most = 1;
  for (const auto &set : trees.members)
    most = std::max(most, set.size());
  SmallVector<double> flat;
  for (size_t i = 0; i < trees.size(); ++i)
    for (size_t k = 0; k < most; ++k)
      flat.push_back(i < trees.members.size() && k < trees.members[i].size()
                         ? trees.members[i][k]
                         : std::numeric_limits<double>::quiet_NaN());
  Value sets = n.reshape(n.floats(flat, type),
                         {static_cast<int64_t>(trees.size()), static_cast<int64_t>(most)});
  Value hit = n.compare("eq", n.unsqueeze(value, {2}), n.gather(sets, at, 0));
  return n.reduce(hit, "any", {2}, false);
}

/// The nodes that come after `at` [samples, trees].
Value Scorer::step(Value at) {
  Value feature = n.gather(integers(trees.feature), at, 0);
  Value value = n.op<GatherElementsOp>(x, feature, n.number(1), n.flag(false));
  Value limit = n.gather(table([&](size_t i) { return trees.threshold[i]; }, type), at, 0);
  Value kind =
      n.gather(table([&](size_t i) { return static_cast<double>(trees.branch[i]); }, i64), at, 0);
  Value taken;
  auto add = [&](Branch branch, function_ref<Value()> test) {
    if (!uses(branch))
      return;
    Value result = test();
    taken = taken ? n.select(n.compare("eq", kind, double(branch)), result, taken) : result;
  };
  auto comparison = [&](Branch branch, const char *predicate) {
    add(branch, [&] { return n.compare(predicate, value, limit); });
  };
  comparison(Branch::Leq, "le");
  comparison(Branch::Lt, "lt");
  comparison(Branch::Gte, "ge");
  comparison(Branch::Gt, "gt");
  comparison(Branch::Eq, "eq");
  comparison(Branch::Neq, "ne");
  add(Branch::Member, [&] { return membership(at, value); });
  if (!taken)
    return at;
  if (llvm::is_contained(trees.missingIsTrue, true)) {
    Value missing =
        n.gather(table([&](size_t i) { return trees.missingIsTrue[i]; }, n.b.getI1Type()), at, 0);
    taken = n.op<OrOp>(taken, n.op<AndOp>(n.op<IsNanOp>(value), missing));
  }
  return n.select(taken, n.gather(integers(trees.onTrue), at, 0),
                  n.gather(integers(trees.onFalse), at, 0));
}

Value Scorer::run(Aggregate aggregate, int64_t depth) {
  auto count = static_cast<int64_t>(trees.roots.size());
  Value start = n.expandTo(integers(trees.roots), n.concat({n.sizeOf(x, 0), n.ints({count})}, 0));
  FailureOr<Values> made =
      buildLoop(n, n.intScalar(depth), {}, {start},
                [&](Value, Values at) -> FailureOr<Values> { return Values{step(at[0])}; });
  if (failed(made))
    return {};
  // What each node says to each target: nothing, but for leaves.
  bool extreme = aggregate == Aggregate::Min || aggregate == Aggregate::Max;
  double silent = 0;
  if (extreme)
    silent = aggregate == Aggregate::Min ? std::numeric_limits<double>::infinity()
                                         : -std::numeric_limits<double>::infinity();
  SmallVector<double> says(trees.size() * trees.targets, silent);
  for (const Trees::Vote &vote : trees.votes) {
    double &value = says[vote.node * trees.targets + vote.target];
    value = extreme ? vote.weight : value + vote.weight;
  }
  Value weights =
      n.reshape(n.floats(says, type), {static_cast<int64_t>(trees.size()), trees.targets});
  Value heard = n.gather(weights, (*made)[0], 0);
  Value result = n.reduce(heard,
                          !extreme                      ? "sum"
                          : aggregate == Aggregate::Min ? "min"
                                                        : "max",
                          {1}, false);
  if (extreme) // a target that no leaf speaks to
    result = n.select(n.op<IsInfOp>(result), n.like(result, 0), result);
  return aggregate == Aggregate::Average ? n.div(result, double(count)) : result;
}

} // namespace

Value weir::onnx::scoreTrees(NodeImport &n, Value x, const Trees &trees, Aggregate aggregate) {
  if (!x)
    return {};
  if (n.rank(x) == 1)
    x = n.unsqueeze(x, {0});
  int64_t features = n.dim(x, n.rank(x) - 1);
  for (size_t i = 0; i < trees.size(); ++i)
    if (trees.branch[i] != Branch::Leaf &&
        (trees.feature[i] < 0 ||
         (!ShapedType::isDynamic(features) && trees.feature[i] >= features))) {
      (void)n.invalid("found feature " + Twine(trees.feature[i]) + " of a number that is " +
                      sizeText(features));
      return {};
    }
  for (const Trees::Vote &vote : trees.votes)
    if (vote.target < 0 || vote.target >= trees.targets || vote.node < 0 ||
        vote.node >= static_cast<int64_t>(trees.size())) {
      (void)n.invalid("found a leaf for target " + Twine(vote.target) + " of " +
                      Twine(trees.targets));
      return {};
    }
  std::optional<int64_t> depth = depthOf(trees);
  if (!depth) {
    (void)n.invalid("expected nodes that lead to leaves, which several may share, got a cycle, or "
                    "a node that leads nowhere");
    return {};
  }
  return Scorer(n, x, trees).run(aggregate, *depth);
}

//===- TreeImports.cpp - TreeEnsemble and its older forms -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/PostTransform.h"
#include "compiler/frontend/onnx/Trees.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// A list of floats, from an attribute or its form as a tensor.
SmallVector<double> numbers(NodeImport &n, std::string_view name) {
  if (const NodeAttribute *attr = n.attr(std::string(name) + "_as_tensor");
      attr && attr->kind == AttributeKind::Tensor)
    return n.tensorNumbers(attr->tensors[0]);
  if (const NodeAttribute *attr = n.attr(name); attr && attr->kind == AttributeKind::Tensor)
    return n.tensorNumbers(attr->tensors[0]);
  return n.fs(name).value_or(SmallVector<double>());
}

SmallVector<int64_t> integers(NodeImport &n, std::string_view name) {
  return n.is(name).value_or(SmallVector<int64_t>());
}

/// Version 5: nodes and leaves are numbered apart, and both in one list here.
std::optional<Trees> readTrees(NodeImport &n) {
  Trees t;
  SmallVector<double> modes = numbers(n, "nodes_modes");
  t.threshold = numbers(n, "nodes_splits");
  t.feature = integers(n, "nodes_featureids");
  SmallVector<int64_t> onTrue = integers(n, "nodes_truenodeids"),
                       onFalse = integers(n, "nodes_falsenodeids"),
                       trueLeaf = integers(n, "nodes_trueleafs"),
                       falseLeaf = integers(n, "nodes_falseleafs"),
                       missing = integers(n, "nodes_missing_value_tracks_true"),
                       targets = integers(n, "leaf_targetids");
  SmallVector<double> weights = numbers(n, "leaf_weights"),
                      members = numbers(n, "membership_values");
  size_t nodes = modes.size(), leaves = targets.size();
  if (t.threshold.size() != nodes || t.feature.size() != nodes || onTrue.size() != nodes ||
      onFalse.size() != nodes || trueLeaf.size() != nodes || falseLeaf.size() != nodes ||
      (!missing.empty() && missing.size() != nodes) || weights.size() != leaves) {
    (void)n.invalid("found lists of nodes or leaves of different lengths");
    return std::nullopt;
  }
  t.targets = std::max<int64_t>(n.i("n_targets"), 1);
  t.members.resize(nodes);
  size_t member = 0;
  for (size_t i = 0; i < nodes; ++i) {
    if (modes[i] < 0 || modes[i] > 6) {
      (void)n.invalid("found a mode that is not 0 to 6");
      return std::nullopt;
    }
    t.branch.push_back(static_cast<Branch>(static_cast<int>(modes[i])));
    // A node's set ends with a NaN.
    if (t.branch.back() == Branch::Member)
      for (; member < members.size(); ++member) {
        if (std::isnan(members[member])) {
          ++member;
          break;
        }
        t.members[i].push_back(members[member]);
      }
    t.missingIsTrue.push_back(!missing.empty() && missing[i]);
    t.onTrue.push_back(onTrue[i] + (trueLeaf[i] ? nodes : 0));
    t.onFalse.push_back(onFalse[i] + (falseLeaf[i] ? nodes : 0));
  }
  for (size_t i = 0; i < leaves; ++i) {
    auto at = static_cast<int64_t>(nodes + i);
    t.branch.push_back(Branch::Leaf);
    t.feature.push_back(0);
    t.threshold.push_back(0);
    t.missingIsTrue.push_back(false);
    t.onTrue.push_back(at);
    t.onFalse.push_back(at);
    t.votes.push_back({at, targets[i], weights[i]});
  }
  t.roots = integers(n, "tree_roots");
  return t;
}

std::optional<Branch> branchByName(std::string_view name) {
  static constexpr std::string_view names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                               "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  for (auto [i, known] : llvm::enumerate(names))
    if (known == name)
      return static_cast<Branch>(i);
  return name == "LEAF" ? std::optional(Branch::Leaf) : std::nullopt;
}

/// Versions 1 and 3: nodes are named by tree and number. `votes` begins the
/// names of the leaves' lists ("class", "target").
std::optional<Trees> readOldTrees(NodeImport &n, const std::string &votes) {
  Trees t;
  SmallVector<int64_t> trees = integers(n, "nodes_treeids"), ids = integers(n, "nodes_nodeids"),
                       onTrue = integers(n, "nodes_truenodeids"),
                       onFalse = integers(n, "nodes_falsenodeids"),
                       missing = integers(n, "nodes_missing_value_tracks_true");
  t.feature = integers(n, "nodes_featureids");
  t.threshold = numbers(n, "nodes_values");
  std::vector<std::string_view> modes = n.ss("nodes_modes");
  size_t nodes = ids.size();
  SmallVector<int64_t> voteTrees = integers(n, votes + "_treeids"),
                       voteNodes = integers(n, votes + "_nodeids"),
                       voteIds = integers(n, votes + "_ids");
  SmallVector<double> weights = numbers(n, votes + "_weights");
  size_t count = weights.size();
  if (trees.size() != nodes || onTrue.size() != nodes || onFalse.size() != nodes ||
      t.feature.size() != nodes || t.threshold.size() != nodes || modes.size() != nodes ||
      (!missing.empty() && missing.size() != nodes) || voteTrees.size() != count ||
      voteNodes.size() != count || voteIds.size() != count) {
    (void)n.invalid("found lists of nodes or leaves of different lengths");
    return std::nullopt;
  }
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  for (size_t i = 0; i < nodes; ++i)
    places[{trees[i], ids[i]}] = i;
  auto place = [&](int64_t tree, int64_t id) {
    auto found = places.find({tree, id});
    return found == places.end() ? int64_t(-1) : found->second;
  };
  std::vector<bool> isChild(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    std::optional<Branch> branch = branchByName(modes[i]);
    if (!branch) {
      (void)n.invalid("found mode \"" + Twine(modes[i]) + "\"");
      return std::nullopt;
    }
    t.branch.push_back(*branch);
    bool leaf = *branch == Branch::Leaf;
    t.onTrue.push_back(leaf ? i : place(trees[i], onTrue[i]));
    t.onFalse.push_back(leaf ? i : place(trees[i], onFalse[i]));
    for (int64_t child : {t.onTrue.back(), t.onFalse.back()})
      if (!leaf && child >= 0)
        isChild[child] = true;
    t.missingIsTrue.push_back(!missing.empty() && missing[i]);
    if (leaf)
      t.feature[i] = 0;
  }
  // A tree's root is its first node that is nobody's child; the file's order of
  // trees.
  std::map<int64_t, bool> hasRoot;
  for (size_t i = 0; i < nodes; ++i)
    if (bool &found = hasRoot[trees[i]]; !isChild[i] && !found) {
      t.roots.push_back(i);
      found = true;
    }
  for (auto [tree, found] : hasRoot)
    if (!found) {
      (void)n.invalid("expected a tree without cycles, got tree " + Twine(tree) +
                      " without a root");
      return std::nullopt;
    }
  for (size_t i = 0; i < count; ++i)
    t.votes.push_back({place(voteTrees[i], voteNodes[i]), voteIds[i], weights[i]});
  return t;
}

Value addBase(NodeImport &n, Value scores, ArrayRef<double> base) {
  return base.empty() || !scores ? scores : n.add(scores, n.floats(base, n.element(scores)));
}

LogicalResult treeEnsemble(NodeImport &n) {
  std::optional<Trees> trees = readTrees(n);
  if (!trees)
    return failure();
  int64_t aggregate = n.i("aggregate_function"), after = n.i("post_transform");
  if (aggregate < 0 || aggregate > 3 || after < 0 || after > 4)
    return n.invalid("found an aggregate_function or post_transform that does "
                     "not exist");
  static constexpr const char *transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                               "PROBIT"};
  Value scores = scoreTrees(n, n.in(0), *trees, static_cast<Aggregate>(aggregate));
  return n.result(postTransform(n, scores, transforms[after]));
}

LogicalResult treeRegressor(NodeImport &n) {
  std::optional<Trees> trees = readOldTrees(n, "target");
  if (!trees)
    return failure();
  trees->targets = std::max<int64_t>(n.i("n_targets"), 1);
  std::string_view name = n.s("aggregate_function");
  Aggregate aggregate = name == "AVERAGE" ? Aggregate::Average
                        : name == "MIN"   ? Aggregate::Min
                        : name == "MAX"   ? Aggregate::Max
                                          : Aggregate::Sum;
  Value scores = addBase(n, scoreTrees(n, n.in(0), *trees, aggregate), numbers(n, "base_values"));
  return n.result(postTransform(n, n.cast(scores, n.b.getF32Type()), n.s("post_transform")));
}

/// Two classes whose leaves all speak to one, `target`. ONNX does not say what the other one's
/// score is, nor above what the answer is the second: this is ONNX Runtime's way, for which
/// exporters of binary classifiers write. Weights that are all positive make a probability.
LogicalResult binaryTrees(NodeImport &n, Trees &trees, int64_t target, ArrayRef<double> base,
                          Value labels, bool isPositive) {
  for (Trees::Vote &vote : trees.votes)
    vote.target = 0;
  trees.targets = 1;
  Value score = scoreTrees(n, n.in(0), trees, Aggregate::Sum);
  if (target == 0)
    score = addBase(n, score, base.take_front(1));
  Value label = labelOf(n, score, labels, isPositive ? 0.5 : 0);
  score = n.cast(score, n.b.getF32Type());
  if (!score || !label)
    return failure();
  std::string_view transform = n.s("post_transform");
  if (target == 0 && base.size() < 2)
    return n.results({label, pairOfScores(n, score, transform, isPositive)});
  // A score for each class, of which one is no leaf's.
  Value none = n.expandTo(n.like(score, 0), n.shapeOf(score));
  Value both = target == 0 ? n.concat({score, none}, 1) : n.concat({none, score}, 1);
  return n.results({label, postTransform(n, both, transform)});
}

LogicalResult treeClassifier(NodeImport &n) {
  std::optional<Trees> trees = readOldTrees(n, "class");
  if (!trees)
    return failure();
  Value labels = classLabels(n, "classlabels_int64s");
  if (!labels)
    return failure();
  int64_t classes = n.dim(labels, 0);
  SmallVector<double> base = numbers(n, "base_values");
  auto given = static_cast<int64_t>(base.size());
  if (given && given != classes && (given != 1 || classes != 2))
    return n.invalid("expected a number of base_values for each of " + Twine(classes) +
                     " classes, got " + Twine(given));
  int64_t only = trees->votes.empty() ? 0 : trees->votes.front().target;
  bool isSingle = classes == 2 && (only == 0 || only == 1), isPositive = true;
  for (const Trees::Vote &vote : trees->votes) {
    isSingle &= vote.target == only;
    isPositive &= vote.weight >= 0;
  }
  // Where the second class has a base of its own, both have a score.
  if (isSingle && (only == 0 || given < 2))
    return binaryTrees(n, *trees, only, base, labels, isPositive);
  trees->targets = classes;
  // One number beside two classes is the first one's, as in ONNX Runtime.
  base.resize(given ? classes : 0);
  Value scores = addBase(n, scoreTrees(n, n.in(0), *trees, Aggregate::Sum), base);
  scores = n.cast(scores, n.b.getF32Type());
  // A single class that is called 1 has another beside it, 0.
  if (n.is("classlabels_int64s") == SmallVector<int64_t>{1})
    return n.results(
        {labelOf(n, scores, n.ints({0, 1}), 0), postTransform(n, scores, n.s("post_transform"))});
  return classify(n, scores, labels);
}

constexpr std::string_view ml = "ai.onnx.ml";

constexpr OperatorImport table[] = {
    {ml, "TreeEnsemble", 5, 0, treeEnsemble},
    {ml, "TreeEnsembleClassifier", 1, 0, treeClassifier},
    {ml, "TreeEnsembleRegressor", 1, 0, treeRegressor},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::treeImports() { return table; }

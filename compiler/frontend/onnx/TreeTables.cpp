//===- TreeTables.cpp - the tables of a tree_ensemble ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever a node asks of its feature, the answer changes at some numbers: a set of values cuts
// the numbers into ranges that lead to one child or the other. A range ends at a number of the
// feature's type, so x < t is x <= the number before t, and to find a range is a few comparisons
// of one kind, for as many members as a set may have.
//
// A tree's nodes lie in pairs: what a node leads to lies side by side, and the node needs one place
// for both. A node that several lead to has a copy in each pair, but what it
// leads to itself is there once.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/TreeTables.h"
#include "dialects/weir/TreeEnsemble.h"

#include "llvm/ADT/bit.h"

#include <cmath>
#include <deque>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Numbers up to `upper`, from the range before on, lead to `place`.
struct Range {
  double upper;
  int64_t place;
};

/// Turns nodes into decisions.
class Decider {
public:
  Decider(const Trees &trees, FloatType type) : trees(trees), type(type), placeOf(trees.size()) {}

  /// Decides as `node` does, which leads to nodes that were decided.
  void decide(int64_t node);

  struct Way {
    int64_t nearest = 0, farthest = 0;
    double mean = 0;
  };
  Way way(int64_t place) const { return place < 0 ? Way() : ways[place]; }

  const Trees &trees;
  FloatType type;
  std::vector<int64_t> placeOf; ///< of nodes
  std::vector<Decision> decisions;
  std::vector<Way> ways; ///< from decisions on

private:
  double rounded(double value) const;
  double before(double value) const {
    return type.isF64() ? std::nextafter(value, -infinity)
                        : double(std::nextafter(float(value), -float(infinity)));
  }
  void until(double upper, int64_t place);
  void below(double value, int64_t place) {
    if (value > -infinity)
      until(before(value), place);
  }
  void members(ArrayRef<double> values, int64_t in, int64_t out);
  int64_t search(ArrayRef<Range> all, int64_t feature, int64_t ofNan, bool isLast);
  int64_t add(Decision made);

  SmallVector<Range> ranges;
};

double Decider::rounded(double value) const {
  APFloat number(value);
  bool lost;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

/// Numbers that no range has yet, up to `upper`, lead to `place`.
void Decider::until(double upper, int64_t place) {
  if (!ranges.empty() && ranges.back().upper >= upper)
    return;
  if (!ranges.empty() && ranges.back().place == place)
    ranges.back().upper = upper;
  else
    ranges.push_back({upper, place});
}

void Decider::members(ArrayRef<double> values, int64_t in, int64_t out) {
  SmallVector<double> sorted;
  for (double value : values)
    if (double number = rounded(value); !std::isnan(number))
      sorted.push_back(number);
  llvm::sort(sorted);
  for (double value : sorted) {
    below(value, out);
    until(value, in);
  }
  until(infinity, out);
}

int64_t Decider::add(Decision made) {
  Way low = way(made.low), high = way(made.high);
  ways.push_back({1 + std::min(low.nearest, high.nearest),
                  1 + std::max(low.farthest, high.farthest), 1 + (low.mean + high.mean) / 2});
  decisions.push_back(made);
  return int64_t(decisions.size()) - 1;
}

/// Decisions that find the range of a number. A NaN goes high all the way to the last two ranges,
/// one of which is the place for it.
int64_t Decider::search(ArrayRef<Range> all, int64_t feature, int64_t ofNan, bool isLast) {
  if (all.size() == 1)
    return all[0].place;
  size_t half = all.size() / 2;
  int64_t low = search(all.take_front(half), feature, ofNan, false),
          high = search(all.drop_front(half), feature, ofNan, isLast);
  bool nanIsLow = isLast && all.size() == 2 && low == ofNan && high != ofNan;
  return add({feature, all[half - 1].upper, low, high, nanIsLow});
}

void Decider::decide(int64_t node) {
  if (trees.branch[node] == Branch::Leaf) {
    placeOf[node] = ~node;
    return;
  }
  int64_t yes = placeOf[trees.onTrue[node]], no = placeOf[trees.onFalse[node]],
          ofNan = trees.missingIsTrue[node] ? yes : no;
  double limit = rounded(trees.threshold[node]);
  ranges.clear();
  Branch branch = trees.branch[node];
  if (branch == Branch::Neq) {
    ofNan = yes;
    members(limit, no, yes);
  } else if (branch == Branch::Eq) {
    members(limit, yes, no);
  } else if (branch == Branch::Member) {
    members(size_t(node) < trees.members.size() ? trees.members[node] : SmallVector<double>(), yes,
            no);
  } else if (std::isnan(limit)) {
    until(infinity, no);
  } else {
    bool isLow = branch == Branch::Leq || branch == Branch::Lt;
    if (branch == Branch::Leq || branch == Branch::Gt)
      until(limit, isLow ? yes : no);
    else
      below(limit, isLow ? yes : no);
    until(infinity, isLow ? no : yes);
  }
  int64_t feature = trees.feature[node], alone = ranges[0].place;
  if (ranges.size() > 1)
    placeOf[node] = search(ranges, feature, ofNan, true);
  else
    placeOf[node] = alone == ofNan ? alone : add({feature, infinity, alone, ofNan, false});
}

/// Lays decisions out as nodes.
class Layout {
public:
  Layout(const Decider &decider, TreeTables &tables) : decider(decider), tables(tables) {}

  /// The tree's target is left open.
  void addTree(int64_t root);
  void finish();

  std::vector<int64_t> leaves; ///< nodes of the ensemble

private:
  /// Narrow nodes of a cache line.
  static constexpr size_t lineNodes = 8;

  struct Record {
    double limit = 0;
    int64_t leaf = 0; ///< of decisions -1
    int64_t feature = 0, child = 0;
    bool nanIsLow = false;
  };

  void place(int64_t root);

  const Decider &decider;
  TreeTables &tables;
  std::vector<Record> records;
  // Of the tree that is added: what lies where, with a feature that may be read there, and where
  // the pairs are that decisions lead to.
  std::vector<std::pair<int64_t, int64_t>> places;
  llvm::DenseMap<int64_t, int64_t> pairs;
  double steps = 0;
};

/// Pairs come in the order in which walks need them: behind one, in its cache line, those that its
/// nodes lead to, then whole subtrees, one behind the other. A walk through a tree that no cache
/// holds reads half the lines that it would breadth first.
void Layout::place(int64_t root) {
  std::deque<int64_t> line;
  std::vector<int64_t> left;
  auto want = [&](int64_t place) {
    if (place >= 0 && !pairs.contains(place))
      line.push_back(place);
  };
  want(root);
  while (!line.empty() || !left.empty()) {
    if (places.size() % lineNodes == 0) {
      left.insert(left.end(), line.rbegin(), line.rend());
      line.clear();
    }
    int64_t next = line.empty() ? left.back() : line.front();
    if (line.empty())
      left.pop_back();
    else
      line.pop_front();
    if (!pairs.try_emplace(next, int64_t(places.size())).second)
      continue;
    const Decision &own = decider.decisions[next];
    for (int64_t child : {own.low, own.high})
      places.push_back({child, own.feature});
    for (int64_t child : {own.low, own.high})
      want(child);
  }
}

void Layout::addTree(int64_t root) {
  // The first place is nobody's: the root has a pair for itself.
  places.assign({{~int64_t(0), 0}, {root, 0}});
  pairs.clear();
  place(root);
  records.resize(llvm::alignTo(records.size(), lineNodes));
  int64_t first = records.size();
  llvm::DenseMap<int64_t, int64_t> numbers;
  records.emplace_back();
  for (int64_t i = 1; i < int64_t(places.size()); ++i) {
    auto [place, feature] = places[i];
    Record made;
    if (place < 0) {
      auto [number, isNew] = numbers.try_emplace(place, int64_t(leaves.size()));
      if (isNew)
        leaves.push_back(~place);
      made = {0, number->second, feature, first + i - 1, false};
    } else {
      const Decision &own = decider.decisions[place];
      made = {own.limit, -1, own.feature, first + pairs[place], own.nanIsLow};
      tables.features = std::max(tables.features, own.feature + 1);
      tables.missing |= own.nanIsLow;
    }
    records.push_back(made);
  }
  Decider::Way way = decider.way(root);
  steps += way.mean;
  for (int64_t number : {first + 1, int64_t(0), way.nearest, way.farthest})
    tables.trees.push_back(int32_t(number));
}

void Layout::finish() {
  tables.steps = std::max<int64_t>(1, std::llround(steps));
  int64_t moved = tables.missing ? 1 : 0,
          bits = llvm::bit_width(uint64_t(std::max<int64_t>(tables.features - 1, 0))),
          childBits = llvm::bit_width(uint64_t(records.size()));
  tables.featureBits = std::max<int64_t>(bits, 1);
  tables.isWide = decider.type.isF64() || moved + tables.featureBits + childBits > 32 ||
                  leaves.size() >> trees::narrowLeafBits;
  for (const Record &own : records) {
    auto flagged = uint32_t(own.feature << moved | (own.nanIsLow ? 1 : 0));
    if (tables.isWide) {
      uint64_t limit = own.leaf < 0 ? llvm::bit_cast<uint64_t>(own.limit)
                                    : 0x7ff8000000000000 | uint64_t(own.leaf);
      for (uint32_t word : {uint32_t(limit), uint32_t(limit >> 32), flagged, uint32_t(own.child)})
        tables.nodes.push_back(word);
    } else {
      tables.nodes.push_back(own.leaf < 0 ? llvm::bit_cast<uint32_t>(float(own.limit))
                                          : 0x7fc00000 | uint32_t(own.leaf));
      tables.nodes.push_back(uint32_t(own.child) << (moved + tables.featureBits) | flagged);
    }
  }
}

/// Votes by leaf.
using VotesOf = llvm::DenseMap<int64_t, SmallVector<const Trees::Vote *, 1>>;

} // namespace

/// The one target that leaves speak to; -1 where they speak to several.
static int64_t targetOf(ArrayRef<int64_t> leaves, const VotesOf &votes) {
  int64_t target = -1;
  for (int64_t leaf : leaves)
    for (const Trees::Vote *vote : votes.lookup(leaf)) {
      if (target >= 0 && vote->target != target)
        return -1;
      target = vote->target;
    }
  return std::max<int64_t>(target, 0);
}

TreeTables weir::onnx::treeTables(const Trees &trees, ArrayRef<int64_t> order, FloatType type,
                                  double silent, bool lastVoteCounts) {
  TreeTables tables;
  Decider decider(trees, type);
  for (int64_t node : order)
    decider.decide(node);
  Layout layout(decider, tables);
  VotesOf votes;
  for (const Trees::Vote &vote : trees.votes)
    votes[vote.node].push_back(&vote);
  bool isOfOne = true;
  std::vector<int32_t> targets;
  for (int64_t root : trees.roots) {
    size_t before = layout.leaves.size();
    layout.addTree(decider.placeOf[root]);
    int64_t target = targetOf(ArrayRef(layout.leaves).drop_front(before), votes);
    isOfOne &= target >= 0;
    targets.push_back(int32_t(target));
  }
  layout.finish();
  tables.width = isOfOne ? 1 : trees.targets;
  for (auto [tree, target] : llvm::enumerate(targets))
    tables.trees[tree * trees::columns + trees::firstTarget] = isOfOne ? target : 0;
  tables.weights.resize(layout.leaves.size() * tables.width, silent);
  for (auto [i, leaf] : llvm::enumerate(layout.leaves))
    for (const Trees::Vote *vote : votes.lookup(leaf)) {
      double &said = tables.weights[i * tables.width + (isOfOne ? 0 : vote->target)];
      said = lastVoteCounts ? vote->weight : said + vote->weight;
    }
  return tables;
}

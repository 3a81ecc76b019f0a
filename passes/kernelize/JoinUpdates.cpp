//===- JoinUpdates.cpp - what updates variables, in few kernels -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is launched where its last root stands. So a kernel joins a later one if nobody asks
// for its results before that place but the later one itself, and assignments, which can wait.
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/JoinUpdates.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/OperationFacts.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/RecursiveReader.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/Variables.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace weir;

/// Operations of one variable's update: what many more gain by staying in registers is small.
static constexpr size_t mostOperations = 64;
/// Elements up to which the work of an update is no more than some launches.
static constexpr int64_t mostElements = 2048;
/// Operations on elements of a kernel of several variables: some 20 microseconds of one thread,
/// from which on it would be shared among threads, were they apart.
static constexpr int64_t mostWork = 1 << 17;
/// Kernels that become one of several variables: more would save little, and each is asked whether
/// it may wait for the others.
static constexpr size_t mostTogether = 64;

namespace {

class Joiner {
public:
  Joiner(Block &block, std::vector<Cluster> &clusters, unsigned mostInputs,
         const KernelSchedules *schedules)
      : block(block), clusters(clusters), mostInputs(mostInputs), schedules(schedules),
        joins(clusters.size()) {
    for (auto [i, op] : llvm::enumerate(block)) {
      order[&op] = int64_t(i);
      if (!isMemoryEffectFree(&op))
        effects.push_back(&op);
    }
    for (auto [i, cluster] : llvm::enumerate(clusters)) {
      byRoot[cluster.root()] = i;
      places.push_back(order.lookup(cluster.root()));
      for (Operation *op : cluster.operations)
        owners[op].push_back(i);
    }
  }

  void run() {
    for (size_t i = clusters.size(); i-- > 0;)
      if (!joins[i] && isElementwise(i))
        joinWhatItReads(i);
    if (hasUpdates)
      batchSmall();
    llvm::erase_if(clusters, [](const Cluster &cluster) { return cluster.operations.empty(); });
  }

private:
  /// Kernels that become one: all but the last are before it, by root.
  using Group = SmallVector<size_t>;

  Value resultOf(size_t i) { return clusters[i].root()->getResult(0); }
  ArrayRef<int64_t> shapeOf(size_t i) {
    return cast<RankedTensorType>(resultOf(i).getType()).getShape();
  }

  static bool isPlain(Operation *op) {
    bool isSplat = isa<BroadcastToOp>(op) && constantElements(op->getOperand(0)) &&
                   constantElements(op->getOperand(0)).isSplat();
    if (isa<ConstantOp>(op) || isSplat)
      return true;
    auto elemental = dyn_cast<ElementalOpInterface>(op);
    return isa<ElementwiseOpInterface, TransposeOp>(op) && op->getNumResults() == 1 && elemental &&
           !elemental.isElementExpensive() && !checksElements(op) &&
           cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape();
  }

  bool isOfOneResult(size_t i) {
    Operation *root = clusters[i].root();
    return clusters[i].others.empty() && root->getNumResults() == 1 && !isOffloaded(root) &&
           cast<RankedTensorType>(resultOf(i).getType()).hasStaticShape();
  }

  bool isElementwise(size_t i) {
    return isOfOneResult(i) && isa<ElementwiseOpInterface>(clusters[i].root()) &&
           llvm::all_of(clusters[i].operations, isPlain);
  }

  /// A sum of few numbers, as of the squares of a gradient; to a scalar, which no strategy but
  /// loops computes on its own either, so that the order of the sum stays.
  bool isSmallSum(size_t i) {
    auto reduce = dyn_cast<ReduceOp>(clusters[i].root());
    if (!reduce || !isOfOneResult(i) || cast<RankedTensorType>(reduce.getType()).getRank() != 0)
      return false;
    auto count = staticCount(reduce.getOperand().getType());
    return count && *count <= mostElements &&
           llvm::all_of(ArrayRef(clusters[i].operations).drop_back(), isPlain);
  }

  static bool isAssigned(Value value) {
    return llvm::any_of(value.getUsers(), llvm::IsaPred<VariableAssignOp>);
  }

  /// Whether the assignment may stand behind `end` instead: what lies between reads and writes
  /// other variables, and cannot end the step.
  bool mayWait(VariableAssignOp assign, int64_t end) {
    auto isLater = [&](Operation *user) {
      Operation *at = block.findAncestorOpInBlock(*user);
      return at && order.lookup(at) > end;
    };
    VariableName variable = variableName(assign.getResource());
    if (assign->getBlock() != &block || !variable.first ||
        !llvm::all_of(assign->getUsers(), isLater))
      return false;
    auto *next = llvm::upper_bound(effects, assign.getOperation(), [&](auto *a, auto *b) {
      return order.lookup(a) < order.lookup(b);
    });
    for (; next != effects.end() && order.lookup(*next) < end; ++next) {
      VariableName other;
      if (auto read = dyn_cast<VariableReadOp>(*next))
        other = variableName(read.getResource());
      else if (auto write = dyn_cast<VariableAssignOp>(*next))
        other = variableName(write.getResource());
      if (!other.first || other == variable)
        return false;
    }
    return true;
  }

  /// Whether a launch at `end` is early enough for `user`, which is none of `group`.
  bool isInTime(Operation *user, int64_t end, const Group &group) {
    if (auto assign = dyn_cast<VariableAssignOp>(user))
      if (order.lookup(user) > end || mayWait(assign, end))
        return true;
    auto owned = owners.find(user);
    if (owned != owners.end())
      return llvm::all_of(
          owned->second, [&](size_t i) { return places[i] > end || llvm::is_contained(group, i); });
    Operation *at = block.findAncestorOpInBlock(*user);
    return at && order.lookup(at) > end;
  }

  /// Whether `user` is computed by kernels of `group` alone, at each index of `value`.
  bool isInside(Operation *user, Value value, const Group &group) {
    auto owned = owners.find(user);
    if (owned == owners.end() || !isa<ElementwiseOpInterface>(user) ||
        cast<RankedTensorType>(user->getResult(0).getType()).getShape() !=
            cast<RankedTensorType>(value.getType()).getShape())
      return false;
    return llvm::all_of(owned->second, [&](size_t i) { return llvm::is_contained(group, i); });
  }

  bool fits(const Group &group) {
    llvm::SmallPtrSet<Operation *, 32> members;
    llvm::SmallPtrSet<Value, 16> inputs;
    size_t count = 0;
    for (size_t i : group)
      members.insert(clusters[i].operations.begin(), clusters[i].operations.end());
    for (Operation *op : members) {
      count += !isa<ConstantOp>(op);
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp();
            !members.contains(def) && !isa_and_nonnull<ConstantOp, VariableReadOp>(def))
          inputs.insert(operand);
    }
    return count <= mostOperations && (!mostInputs || inputs.size() <= mostInputs);
  }

  /// Brings into the kernel of `last` those of variables that it computes with, and, where it
  /// updates any, those whose results are for it alone.
  void joinWhatItReads(size_t last) {
    Group group{last};
    bool updates = isAssigned(resultOf(last)), hasGrown = true;
    // Who was refused for a user outside may be let in once that is a member.
    while (std::exchange(hasGrown, false))
      for (size_t at = 0; at < group.size(); ++at)
        for (Operation *op : llvm::reverse(clusters[group[at]].operations))
          for (Value operand : op->getOperands()) {
            auto found = byRoot.find(operand.getDefiningOp());
            if (found == byRoot.end() || !mayJoin(found->second, group, updates))
              continue;
            group.push_back(found->second);
            updates |= isAssigned(operand);
            hasGrown = true;
          }
    hasUpdates |= updates;
    if (group.size() > 1)
      join(group, last);
  }

  /// The product of a kernel that ends with it, or elementwise; null: it is none, or has several.
  DotGeneralOp productOf(size_t i) {
    DotGeneralOp found;
    for (Operation *op : clusters[i].operations) {
      auto dot = dyn_cast<DotGeneralOp>(op);
      if (dot ? bool(found) : !isPlain(op))
        return {};
      found = dot ? dot : found;
    }
    return isOfOneResult(i) ? found : DotGeneralOp();
  }

  /// Whether the product of kernel `i`, a gradient, may be in one kernel with what makes new values
  /// of it: then it needs no memory of its own.
  bool mayJoinProduct(size_t i, const Group &group) {
    DotGeneralOp dot = schedules ? productOf(i) : DotGeneralOp();
    if (!dot)
      return false;
    SmallVector<Operation *> all(clusters[i].operations);
    for (size_t other : group) {
      if (productOf(other))
        return false;
      llvm::append_range(all, clusters[other].operations);
    }
    return schedules->mayGiveSeveral(all, dot);
  }

  bool mayJoin(size_t i, const Group &group, bool updates) {
    size_t last = group.front();
    if (llvm::is_contained(group, i) || joins[i] ||
        !(isElementwise(i) || mayJoinProduct(i, group)) || shapeOf(i) != shapeOf(last) ||
        clusters[i].root()->hasAttr(storedAttribute))
      return false;
    Value value = resultOf(i);
    bool isUpdate = isAssigned(value);
    Group with(group);
    with.push_back(i);
    return (isUpdate || updates) &&
           llvm::all_of(value.getUsers(),
                        [&](Operation *user) {
                          return isInside(user, value, with) ||
                                 (isUpdate && isInTime(user, places[last], with));
                        }) &&
           fits(with);
  }

  /// Makes the kernels of `group` one, in the place of `last`.
  void join(const Group &group, size_t last) {
    llvm::SetVector<Operation *> all;
    SmallVector<Value> results, others;
    for (size_t i : group) {
      all.insert(clusters[i].operations.begin(), clusters[i].operations.end());
      llvm::append_range(results, clusters[i].results());
    }
    Operation *root = clusters[last].root();
    for (Value result : results)
      if (result.getDefiningOp() != root &&
          !llvm::all_of(result.getUsers(), [&](Operation *user) { return all.contains(user); }))
        others.push_back(result);
    SmallVector<Operation *> sorted(all.begin(), all.end());
    llvm::sort(sorted, [&](Operation *a, Operation *b) { return rank(a) < rank(b); });
    Operation *behind = root;
    for (Value result : others)
      for (Operation *user : llvm::to_vector(result.getUsers()))
        if (isa<VariableAssignOp>(user) && user->getBlock() == &block &&
            user->isBeforeInBlock(root)) {
          user->moveAfter(behind);
          behind = user;
        }
    for (size_t i : group) {
      for (Operation *op : clusters[i].operations) {
        SmallVector<size_t, 1> &own = owners[op];
        llvm::erase(own, i);
        own.push_back(last);
      }
      joins[i] = true;
      if (i != last)
        clusters[i] = {};
    }
    clusters[last] = {std::move(sorted), std::move(others)};
  }

  /// Constants may come from enclosing blocks: they go first.
  int64_t rank(Operation *op) {
    auto it = order.find(op);
    return it == order.end() ? -1 : it->second;
  }

  /// How many operations on elements the kernel is; nothing: it is not one of the small.
  std::optional<int64_t> smallWork(size_t i) {
    if (clusters[i].operations.empty() ||
        llvm::any_of(clusters[i].operations, llvm::IsaPred<DotGeneralOp>))
      return std::nullopt;
    bool isSum = isSmallSum(i), isUpdate = llvm::any_of(clusters[i].results(), isAssigned);
    if (!isSum && !(joins[i] ? isUpdate : isElementwise(i)))
      return std::nullopt;
    Value whole = isSum ? clusters[i].root()->getOperand(0) : resultOf(i);
    int64_t elements = *staticCount(whole.getType());
    if (elements > mostElements || !(isSum || isUpdate || elements == 1))
      return std::nullopt;
    return elements * int64_t(clusters[i].operations.size());
  }

  /// Small kernels, one behind the other, become one as long as none reads another's result.
  void batchSmall() {
    Group group;
    int64_t work = 0;
    auto end = [&] {
      if (group.size() > 1)
        join(group, group.back());
      group.clear();
      work = 0;
    };
    for (size_t i = 0; i < clusters.size(); ++i) {
      std::optional<int64_t> own = smallWork(i);
      if (!own)
        continue;
      auto isInTimeForAll = [&](Value value) {
        return llvm::all_of(value.getUsers(), [&](Operation *user) {
          auto owned = owners.find(user);
          bool isHere = owned != owners.end() && llvm::is_contained(owned->second, i);
          return !isHere && isInTime(user, places[i], group);
        });
      };
      bool areFree = llvm::all_of(group, [&](size_t before) {
        return llvm::all_of(clusters[before].results(), isInTimeForAll);
      });
      if (!areFree || work + *own > mostWork || group.size() == mostTogether)
        end();
      group.push_back(i);
      work += *own;
    }
    end();
  }

  Block &block;
  std::vector<Cluster> &clusters;
  unsigned mostInputs;
  const KernelSchedules *schedules; ///< null: products stay by themselves
  SmallVector<bool> joins;          ///< whether the kernel is one of several
  bool hasUpdates = false;
  SmallVector<int64_t> places; ///< where kernels are launched
  SmallVector<Operation *> effects;
  DenseMap<Operation *, int64_t> order;
  DenseMap<Operation *, size_t> byRoot;
  DenseMap<Operation *, SmallVector<size_t, 1>> owners;
};

} // namespace

void weir::joinUpdates(Block &block, std::vector<Cluster> &clusters, unsigned mostInputs,
                       const KernelSchedules *schedules) {
  if (!block.getOps<VariableAssignOp>().empty())
    Joiner(block, clusters, mostInputs, schedules).run();
}

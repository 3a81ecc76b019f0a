//===- Clusters.cpp - which operations will share a kernel -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/Clusters.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/HalfWidener.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/RecursiveReader.h"
#include "dialects/weir/Weir.h"
#include "passes/analysis/AttentionGradient.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/ElementCopies.h"
#include "passes/analysis/KernelForms.h"
#include "passes/analysis/KernelSchedules.h"
#include "passes/analysis/RowReduction.h"
#include "passes/analysis/WeightOnly.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace weir;

/// Operations up to which a kernel grows: what many more gain by staying in
/// registers is small beside their arithmetic, while registers, and the time of a
/// compiler of native code, do not last for functions of any length.
/// Arithmetic on bits and integers is cheap, and few of its values are alive at a time where it
/// reads few, as that of generators of random numbers: `integersPerOperation` of it count as one
/// operation in kernels of up to `fewInputs`.
static constexpr unsigned mostOperations = 64, integersPerOperation = 6, fewInputs = 32;

namespace {

bool sameDims(Type a, Type b) {
  auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
  return x && y && x.getShape() == y.getShape();
}

/// Reads every operand element at most once for each element of the result, at
/// the same index: what may follow an expensive producer.
bool isIdentityUse(OpOperand &use) {
  Operation *user = use.getOwner();
  return isa<ElementwiseOpInterface>(user) &&
         sameDims(use.get().getType(), user->getResult(0).getType());
}

bool keepsShape(OpOperand &use, int depth = 0);

/// Whether `value` has the shape of `origin` because elementwise operations lead
/// from one to the other.
bool hasShapeOf(Value value, Value origin, int depth) {
  if (value == origin)
    return true;
  Operation *def = value.getDefiningOp();
  if (!def || depth > 16 || !isa<ElementwiseOpInterface>(def))
    return false;
  return llvm::any_of(def->getOpOperands(), [&](OpOperand &operand) {
    return keepsShape(operand, depth + 1) && hasShapeOf(operand.get(), origin, depth + 1);
  });
}

/// An identity use whose operand has the result's shape when the program runs,
/// too: in dimensions of unknown size no other operand can stretch it.
bool keepsShape(OpOperand &use, int depth) {
  if (!isIdentityUse(use))
    return false;
  auto type = cast<RankedTensorType>(use.get().getType());
  if (type.hasStaticShape() || keepsOpenSizes(use.getOwner()))
    return true;
  for (OpOperand &other : use.getOwner()->getOpOperands()) {
    auto otherType = cast<RankedTensorType>(other.get().getType());
    int64_t missing = type.getRank() - otherType.getRank();
    bool stretches = false;
    for (int64_t i = 0; i < otherType.getRank(); ++i)
      stretches |= type.isDynamicDim(i + missing) && otherType.getDimSize(i) != 1;
    if (stretches && other.get() != use.get() && !hasShapeOf(other.get(), use.get(), depth + 1))
      return false;
  }
  return true;
}

/// Whether the operation that defines the used value, a costly one, may be followed
/// by the user in its kernel. Where it cannot be told that nothing stretches the
/// value, kernels look when they run, and compute the rare case in another way; a
/// last dimension of known size is what computing several results at once needs.
bool mayFollow(OpOperand &use) {
  if (!isIdentityUse(use))
    return false;
  auto type = cast<RankedTensorType>(use.get().getType());
  bool lastIsKnown = type.getRank() > 0 && !type.isDynamicDim(type.getRank() - 1);
  return lastIsKnown || keepsShape(use);
}

bool sameShape(Type a, Type b) {
  auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
  return x && y && x.hasStaticShape() && x.getShape() == y.getShape();
}

/// Nothing to compute: worth repeating in every kernel rather than storing.
bool isTrivial(Operation *op) {
  if (isa<IotaOp>(op) || isWeightOnly(op))
    return true;
  if (isa<BroadcastToOp>(op)) {
    Value source = op->getOperand(0);
    ElementsAttr constant = constantElements(source);
    return constant && constant.isSplat();
  }
  return false;
}

/// A sum, difference or product of one tensor that is stored anyway, and others that are small
/// beside it (a mean of channels, a scale): where several kernels read the result, each had
/// better compute it again than read it from memory, where it would have to be written first.
/// So a few of these in a row, with an activation's function behind them, which its gradient reads,
/// too, where caches do not hold what would be stored; and a comparison of small tensors with each
/// other (which class is a row's label).
bool isCheapLeaf(Operation *op, int before = 0) {
  constexpr int64_t fewest = 4096, share = 8, beyondCaches = 1 << 20;
  constexpr int mostBefore = 3;
  auto count = staticCount(op->getResult(0).getType());
  if (!count || *count < fewest || isOffloaded(op))
    return false;
  if (isa<CompareOp>(op))
    return llvm::all_of(op->getOperandTypes(), [&](Type type) {
      return staticCount(type).value_or(*count) <= *count / share;
    });
  bool isFunction = isa<ErfOp, ErfcOp, ExpOp, TanhOp>(op) && *count >= beyondCaches;
  if (!(isFunction || isa<AddOp, SubOp, MulOp, NegOp>(op)) ||
      !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
    return false;
  Value large;
  for (Value operand : op->getOperands()) {
    auto own = staticCount(operand.getType());
    if (own && *own <= *count / share)
      continue;
    if (large || !own || *own != *count)
      return false;
    large = operand;
  }
  Operation *def = large ? large.getDefiningOp() : nullptr;
  return large && (!def || !large.hasOneUse() || roleOf(def) != OperationRole::Kernel ||
                   (before < mostBefore && isCheapLeaf(def, before + 1)));
}

/// The costly operation from which elementwise operations lead to `op`, or null:
/// they are best computed on what that one leaves in registers.
Operation *anchorBefore(Operation *op, int depth = 0) {
  constexpr int longest = 32;
  if (depth == longest || !isa<ElementwiseOpInterface>(op))
    return nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *def = operand.get().getDefiningOp();
    if (!def || !def->hasOneUse() || !isIdentityUse(operand) || def->hasAttr(storedAttribute))
      continue;
    auto elemental = dyn_cast<ElementalOpInterface>(def);
    if (elemental && elemental.isElementExpensive())
      return def;
    if (Operation *anchor = anchorBefore(def, depth + 1))
      return anchor;
  }
  return nullptr;
}

/// A part of what is stored anyway: to read it there costs no more than to read a copy of it.
bool isPartOfStored(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  auto steps = slice ? constantIntegers(slice.getSteps()) : std::nullopt;
  if (!steps || llvm::any_of(*steps, [](int64_t step) { return step != 1; }))
    return false;
  Value source = slice.getOperand();
  while (auto view = source.getDefiningOp<ReshapeOp>())
    source = view.getOperand();
  Operation *def = source.getDefiningOp();
  auto elemental = dyn_cast_if_present<ElementalOpInterface>(def);
  return !elemental || elemental.isElementExpensive() || anchorBefore(def);
}

/// Whether the strategy that computes the user on the host reads each element once after all.
bool isReadOnce(OpOperand &use) {
  const KernelSchedules *host = hostSchedules();
  return host && !isOffloaded(use.getOwner()) && host->readsOnce(use);
}

/// Why `producer` may not be computed inside of the kernel of its user; null: it may.
const char *obstacle(Operation *producer, OpOperand &use) {
  Operation *user = use.getOwner();
  auto unless = [](bool isGood, const char *why) { return isGood ? nullptr : why; };
  // An offload device reads each update once, many at a time; the host goes through them one
  // by one, and would compute alone what many could.
  if (isa<ScatterNdOp, ScatterElementsOp>(user))
    return unless(use.getOperandNumber() == 2 && isOffloaded(user) &&
                      isa<ElementwiseOpInterface>(producer) && producer->getNumResults() == 1 &&
                      !anchorBefore(producer),
                  "what a scatter writes is computed before, by many threads");
  auto elemental = dyn_cast<ElementalOpInterface>(producer);
  auto userElemental = dyn_cast<ElementalOpInterface>(user);
  if (!elemental || !userElemental || producer->getNumResults() != 1)
    return "one of them does not compute its result element by element";
  if (producer->hasAttr(storedAttribute))
    return "a pass before asks for the value to be stored";
  if (elemental.isElementExpensive())
    return unless(mayFollow(use), "its elements are costly, and are read in another order, more "
                                  "than once, or stretched");
  if (joinsMany(producer) && !isa<ConcatOp>(user))
    return "each element would look for its operand among many: rows are copied operand by operand";
  if (isBlockTransposition(producer) || (isBlockTransposition(user) && !isReadOnce(use)))
    return "a transposition of many elements is a kernel of its own, which goes by blocks";
  if (!isa<ElementwiseOpInterface>(user) && anchorBefore(producer))
    return "it stays with the costly operation before it, whose results are in registers";
  // What a GEMM adds to its sums is read from memory, several at once: anything but
  // elementwise operations is computed before.
  if (!isa<ElementwiseOpInterface>(producer) && !isTrivial(producer) &&
      isa_and_nonnull<DotGeneralOp, ConvOp>(anchorBefore(user)))
    return "what a product or convolution takes in at its end is read from memory";
  if (user->hasTrait<traits::ReadsElementsRepeatedly>() && !isReadOnce(use))
    return "each element is read many times: it is computed before, once";
  if (isWeightOnly(user))
    return "several kernels would compute it: it is read from memory";
  if (isa<TileOp, BroadcastToOp>(user) || (isa<SliceOp>(user) && padsLines(producer)))
    return "elements would be computed again for each copy of them";
  // Indices are read once an element of the result: compute them before.
  if (user->hasTrait<traits::ChecksIndices>())
    return unless(use.getOperandNumber() == 0 &&
                      sameShape(use.get().getType(), user->getResult(0).getType()),
                  "indices, and what is gathered more than once, are computed before");
  // Under broadcasting an operand's element is read again and again.
  if (isa<ElementwiseOpInterface>(user) && !isIdentityUse(use)) {
    auto count = staticCount(use.get().getType());
    auto total = staticCount(user->getResult(0).getType());
    return unless(isTrivial(producer) || isPartOfStored(producer) ||
                      (count && total && *count == *total),
                  "under broadcasting each element would be computed again and again");
  }
  return nullptr;
}

/// Whether `producer` may be computed inside of the kernel of its user.
bool mayFuse(Operation *producer, OpOperand &use) { return !obstacle(producer, use); }

class Clusterer {
public:
  Clusterer(Block &block, unsigned mostInputs) : block(block), mostInputs(mostInputs) {
    for (auto [i, op] : llvm::enumerate(block)) {
      order[&op] = i;
      if (roleOf(&op) == OperationRole::Kernel)
        clusterOf[&op] = &op;
    }
    formAttentions();
  }

  std::vector<Operation *> findHalves() {
    llvm::DenseSet<Operation *> attentions;
    for (auto &[root, members] : formed)
      attentions.insert(root);
    formRowReductions(/*withHalves=*/true);
    std::vector<Operation *> halves;
    for (auto &[root, members] : formed)
      if (!attentions.contains(root))
        llvm::copy_if(members, std::back_inserter(halves), isHalfArithmetic);
    llvm::sort(halves, [&](Operation *a, Operation *b) { return rank(a) < rank(b); });
    return halves;
  }

  std::vector<Cluster> run() {
    formRowReductions(/*withHalves=*/false);
    // Users before producers, so that a producer sees its users' clusters.
    for (Operation &op : llvm::reverse(block))
      if (clusterOf.count(&op))
        place(&op);
    return collect();
  }

private:
  /// Attentions, and their gradients, are kernels of their own shape, found before anything else
  /// fuses with their parts; nothing joins them. However many tensors they read, their parts would
  /// take more.
  void formAttentions() {
    llvm::DenseSet<Operation *> inside;
    auto form = [&](Operation *root, llvm::SetVector<Operation *> &&operations,
                    ArrayRef<Operation *> conditions, SmallVector<Value> further) {
      // A product that ends one attention begins no other. Conditions are
      // everyone's.
      if (llvm::any_of(operations, [&](Operation *member) {
            return inside.contains(member) && !repeated.contains(member);
          }))
        return;
      for (Operation *member : operations)
        clusterOf[member] = root;
      inside.insert(operations.begin(), operations.end());
      repeated.insert(conditions.begin(), conditions.end());
      formed[root] = std::move(operations);
      others[root] = std::move(further);
    };
    for (Operation &op : block) {
      if (auto dot = dyn_cast<DotGeneralOp>(op)) {
        if (std::optional<Attention> attention = attentionAt(dot))
          form(attention->root, std::move(attention->operations), attention->conditions,
               attention->statistics());
      } else if (auto product = dyn_cast<MulOp>(op)) {
        if (std::optional<AttentionGradient> gradient = matchAttentionGradient(product))
          form(gradient->lastRoot(), std::move(gradient->operations), gradient->conditions,
               gradient->otherResults());
      }
    }
    // A condition that others read, too, has a kernel, and is read from its buffer.
    for (Operation &op : llvm::reverse(block)) {
      if (!repeated.contains(&op))
        continue;
      clusterOf[&op] = &op;
      if (llvm::all_of(op.getUsers(), [&](Operation *user) { return inside.contains(user); }))
        continue;
      repeated.erase(&op);
      inside.erase(&op);
      for (auto &[root, members] : formed)
        members.remove(&op);
    }
  }

  /// Softmax, normalisations and the like go along a line in one kernel, and nothing
  /// joins them. What follows a product or convolution in its kernel stays there.
  void formRowReductions(bool withHalves) {
    llvm::DenseSet<Operation *> visited;
    auto isFree = [&](Operation *op) {
      auto own = clusterOf.find(op);
      if (own == clusterOf.end() || own->second != op || formed.count(op) || repeated.contains(op))
        return false;
      Operation *anchor = anchorBefore(op);
      return !anchor || isa<ReduceOp>(anchor) || widensForRowReductions(op);
    };
    auto isInside = [&](Operation *op) { return isFree(op) && !op->hasAttr(storedAttribute); };
    for (Operation &op : llvm::reverse(block)) {
      if (visited.contains(&op) || !isFree(&op))
        continue;
      std::optional<RowReductionForm> lines = matchRowReduction(&op, isInside, visited, withHalves);
      if (!lines)
        continue;
      Kernel kernel;
      for (Operation *member : lines->operations) // users first, as kernels grow
        kernel.add(member, &op);
      if (mostInputs && kernel.inputs.size() > mostInputs)
        continue;
      for (Operation *member : lines->operations)
        clusterOf[member] = &op;
      formed[&op] = std::move(lines->operations);
      others[&op] = std::move(lines->others);
    }
  }

  /// Fuses `op` into the cluster of its users, when they share one.
  void place(Operation *op) {
    if (op->use_empty() || isTrivial(op) || formed.count(clusterOf[op]) || repeated.contains(op))
      return;
    llvm::SmallSetVector<Operation *, 4> targets;
    for (OpOperand &use : op->getUses()) {
      Operation *user = use.getOwner();
      auto it = clusterOf.find(user);
      auto leaf = leaves.find(user);
      if (user->getBlock() != &block || (it == clusterOf.end() && leaf == leaves.end()) ||
          !mayFuse(op, use) || (it != clusterOf.end() && formed.count(it->second)))
        return;
      if (leaf != leaves.end())
        targets.insert(leaf->second.begin(), leaf->second.end());
      else
        targets.insert(it->second);
    }
    if (targets.size() > 1)
      return repeatLeaf(op, targets.getArrayRef());
    Operation *target = targets.front();
    // A costly element is computed once, before the elementwise operations
    // between it and the kernel's result.
    if (isExpensive(op) && (!op->hasOneUse() || expensive.count(target) || isExpensive(target) ||
                            !leadsElementwise(*op->user_begin(), target)))
      return;
    Kernel &kernel = kernelOf(target);
    if (kernel.isFull() || !fitsGemm(op, target, kernel) || !kernel.copies.fitsOften(op) ||
        (mostInputs && !keepsFew(op, kernel)))
      return;
    clusterOf[op] = target;
    // Users come before producers: nothing has been fused into `op` yet.
    kernel.add(op, target);
    if (isExpensive(op))
      expensive.insert(target);
  }

  /// Has each of the kernels of `targets` compute `op` for itself, if that costs them little.
  void repeatLeaf(Operation *op, ArrayRef<Operation *> targets) {
    if (!isCheapLeaf(op) || !llvm::all_of(targets, [&](Operation *target) {
          Kernel &kernel = kernelOf(target);
          return !kernel.isFull() && fitsGemm(op, target, kernel) && kernel.copies.fitsOften(op);
        }))
      return;
    for (Operation *target : targets)
      kernelOf(target).add(op, target);
    leaves[op].assign(targets.begin(), targets.end());
    clusterOf.erase(op);
  }

  /// What later decisions need to know of the operations of a kernel.
  struct Kernel {
    bool isFull() const {
      return size >= mostOperations * integersPerOperation ||
             (operations >= mostOperations && inputs.size() > fewInputs);
    }

    unsigned operations = 0;
    unsigned size = 0;      ///< in integer operations
    bool hasGemm = false;   ///< some product or convolution whose sums stay in registers
    bool isEpilogue = true; ///< all else is computed on them, over the root's shape
    /// Values read from outside, constants and trivial ones left out.
    llvm::SmallDenseSet<Value> inputs;
    ElementCopies copies;

    void add(Operation *op, Operation *root) {
      copies.add(op);
      if (isTiledGemm(op))
        hasGemm = true;
      else
        isEpilogue &= isEpilogueOf(op, root);
      for (Value result : op->getResults())
        inputs.erase(result);
      for (Value operand : op->getOperands())
        if (countsAsInput(operand))
          inputs.insert(operand);
      ++operations;
      size += isIntegerArithmetic(op) ? 1 : integersPerOperation;
    }
  };

  Kernel &kernelOf(Operation *root) {
    auto [it, isNew] = kernels.try_emplace(root);
    if (isNew)
      it->second.add(root, root);
    return it->second;
  }

  static bool isEpilogueOf(Operation *op, Operation *root) {
    return isEpilogueElementwise(op) &&
           (isa<CastOp>(op) || sameDims(op->getResult(0).getType(), root->getResult(0).getType()));
  }
  /// Variables, as constants, are alive whoever reads them.
  static bool countsAsInput(Value operand) {
    Operation *def = operand.getDefiningOp();
    return !def || (!isa<ConstantOp, VariableReadOp>(def) && !isTrivial(def));
  }

  /// A product or convolution keeps its sums in registers only where all that
  /// shares its kernel is computed on them: whether that holds
  /// with `op` in the kernel of `root`.
  static bool fitsGemm(Operation *op, Operation *root, const Kernel &kernel) {
    bool isOwn = isTiledGemm(op);
    if (!isOwn && !kernel.hasGemm)
      return true;
    return kernel.isEpilogue && (isOwn || isEpilogueOf(op, root));
  }

  /// Whether the kernel would read only so many tensors with `op` inside, or no
  /// more than before.
  bool keepsFew(Operation *op, const Kernel &kernel) {
    unsigned after = kernel.inputs.size();
    for (Value result : op->getResults())
      after -= kernel.inputs.count(result);
    llvm::SmallDenseSet<Value> added;
    for (Value operand : op->getOperands())
      if (countsAsInput(operand) && !kernel.inputs.count(operand))
        added.insert(operand);
    after += added.size();
    return after <= std::max<unsigned>(mostInputs, kernel.inputs.size());
  }

  static bool isExpensive(Operation *op) {
    auto elemental = dyn_cast<ElementalOpInterface>(op);
    return elemental && elemental.isElementExpensive();
  }
  /// Whether all that follows from `from` are elementwise operations of `root`'s
  /// cluster, over one shape. Paths may part and meet again.
  bool leadsElementwise(Operation *from, Operation *root) {
    llvm::SetVector<Operation *> seen;
    seen.insert(from);
    for (size_t i = 0; i < seen.size(); ++i) {
      Operation *op = seen[i];
      auto it = clusterOf.find(op);
      if (!isa<ElementwiseOpInterface>(op) || it == clusterOf.end() || it->second != root)
        return false;
      if (op == root)
        continue;
      for (OpOperand &use : op->getUses()) {
        if (!mayFollow(use))
          return false;
        seen.insert(use.getOwner());
      }
    }
    return true;
  }

  std::vector<Cluster> collect() {
    DenseMap<Operation *, llvm::SetVector<Operation *>> members;
    SmallVector<Operation *> roots;
    for (Operation &op : block) {
      auto it = clusterOf.find(&op);
      if (it == clusterOf.end())
        continue;
      if (it->second == &op)
        roots.push_back(&op);
      members[it->second].insert(&op);
    }
    std::vector<Cluster> clusters;
    for (Operation *root : roots) {
      if (repeated.contains(root))
        continue;
      // A trivial root whose users all repeat it needs no kernel of its own.
      if (isTrivial(root) && llvm::all_of(root->getUsers(), [&](Operation *user) {
            return user->getBlock() == &block && (clusterOf.count(user) || leaves.count(user)) &&
                   !isa<TopKOp>(user);
          }))
        continue;
      llvm::SetVector<Operation *> all;
      auto whole = formed.find(root);
      bool isWhole = whole != formed.end();
      // What follows a product reads tables several elements at a time, too.
      bool readsTables = isWhole || kernelOf(root).hasGemm;
      for (Operation *member : isWhole ? whole->second : members[root])
        addWithLeaves(member, all, readsTables);
      SmallVector<Operation *> sorted(all.begin(), all.end());
      llvm::sort(sorted, [&](Operation *a, Operation *b) { return rank(a) < rank(b); });
      clusters.push_back({std::move(sorted), others.lookup(root)});
    }
    return clusters;
  }

  /// `readsTables`: masks are read from buffers, several elements at a time.
  void addWithLeaves(Operation *op, llvm::SetVector<Operation *> &all, bool readsTables) {
    if (!all.insert(op))
      return;
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      // A GEMM reads weights from memory, whatever is in them.
      if (isa<DotGeneralOp, ConvOp, ConvTransposeOp>(op) && def && isa<ConstantOp>(def))
        continue;
      if (isa<DequantizeBlocksOp>(op) && def && isa<ConstantOp>(def) &&
          (isTable(def) || operand != op->getOperand(2)))
        continue;
      if (auto slice = dyn_cast<SliceOp>(op);
          slice && (operand == slice.getStarts() || operand == slice.getEnds()) &&
          isOneOfMany(slice))
        continue;
      // So does the function that sorts in the host's form of a step.
      if (isa<TopKOp>(op) && operand == op->getOperand(0))
        continue;
      if (readsTables && constantElements(operand) && !constantElements(operand).isSplat())
        continue;
      // So do the operations behind them.
      if (def && isa<ConstantOp>(def) && isTable(def) &&
          isa_and_nonnull<DotGeneralOp, ConvOp>(anchorBefore(op)))
        continue;
      if (def && (isInlineConstant(def) || leaves.count(def) ||
                  (isTrivial(def) && def->getBlock() == &block)))
        addWithLeaves(def, all, readsTables);
    }
  }
  /// Constants may come from enclosing blocks: they go first.
  int64_t rank(Operation *op) {
    auto it = order.find(op);
    return it == order.end() ? -1 : it->second;
  }

  Block &block;
  unsigned mostInputs; ///< 0: any number
  DenseMap<Operation *, int64_t> order;
  DenseMap<Operation *, Operation *> clusterOf;
  DenseMap<Operation *, Kernel> kernels; ///< by root
  /// Attentions and lines by root: kernels of their own shape.
  DenseMap<Operation *, llvm::SetVector<Operation *>> formed;
  DenseMap<Operation *, SmallVector<Value>> others; ///< further results, by root
  /// Cheap ones that several kernels compute for themselves: the roots of those.
  DenseMap<Operation *, SmallVector<Operation *, 4>> leaves;
  /// What every attention that reads it computes for itself.
  llvm::DenseSet<Operation *> repeated;
  llvm::DenseSet<Operation *> expensive;
};

} // namespace

std::vector<Operation *> weir::halvesOfRowReductions(Block &block, unsigned mostInputs) {
  return Clusterer(block, mostInputs).findHalves();
}

std::vector<Cluster> weir::clusterBlock(Block &block, unsigned mostInputs) {
  return Clusterer(block, mostInputs).run();
}

const char *weir::fusionObstacle(OpOperand &use) {
  Operation *producer = use.get().getDefiningOp();
  return producer ? obstacle(producer, use) : nullptr;
}

//===- PoolBuffers.cpp - buffers of open sizes in one piece of memory -----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan for usual sizes says more than its offsets: which buffers lie above which of those that
// live at the same time. Offsets that keep to this are right for any sizes, and where all sizes
// grow alike, as with a batch, they are as good as the plan.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/memory/OffsetPlanner.h"
#include "passes/memory/PlanChecker.h"
#include "passes/plan/Guards.h"
#include "passes/plan/Passes.h"
#include "passes/plan/StepTimes.h"
#include "passes/plan/SubviewForwarding.h"
#include "passes/plan/SubviewPlaces.h"
#include "llvm/ADT/BitVector.h"

namespace weir {
#define GEN_PASS_DEF_WEIRPOOLBUFFERSPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Whether all that is done with `buffer` is done when the step goes on, and whoever made it
/// gives it back.
static bool isUsedAtOnce(Value buffer) {
  SmallVector<Value> aliases{buffer};
  while (!aliases.empty())
    for (Operation *user : aliases.pop_back_val().getUsers()) {
      if (isa<ViewOp>(user))
        aliases.push_back(user->getResult(0));
      else if (!user->hasTrait<plan::traits::UsesAtOnce>())
        return false;
    }
  return true;
}

/// Of each buffer, those that it rests on in the plan, but for what lies below another of these
/// anyway.
static std::vector<SmallVector<size_t>> supportsOf(ArrayRef<memory::Buffer> buffers,
                                                   ArrayRef<int64_t> offsets) {
  size_t count = buffers.size();
  SmallVector<size_t> upwards = llvm::to_vector(llvm::seq<size_t>(0, count));
  llvm::stable_sort(upwards, [&](size_t x, size_t y) { return offsets[x] < offsets[y]; });
  std::vector<SmallVector<size_t>> supports(count);
  std::vector<llvm::BitVector> below(count, llvm::BitVector(count));
  for (size_t at = 0; at < count; ++at) {
    size_t own = upwards[at];
    for (size_t i = at; i-- > 0;) {
      size_t other = upwards[i];
      bool meets =
          buffers[own].lower < buffers[other].upper && buffers[other].lower < buffers[own].upper;
      if (!meets || below[own].test(other))
        continue;
      supports[own].push_back(other);
      below[own] |= below[other];
      below[own].set(other);
    }
  }
  return supports;
}

namespace {

/// The buffers of a block that become pieces of one.
class Pool {
public:
  /// Begins in front of `first`, with which it begins.
  Pool(AllocOp first, bool guards) : first(first), guards(guards) {}

  /// Looks for buffers among `candidates` whose sizes are known where the pool begins, and for
  /// checks that can be made there.
  void collect(const llvm::SetVector<AllocOp> &candidates);
  ArrayRef<AllocOp> members() const { return allocs; }

  /// Puts the pool in place of its members; `usual` bytes and lives are those of the members.
  LogicalResult make(func::FuncOp function, ArrayRef<memory::Buffer> usual);

private:
  bool isKnown(Value value) const {
    Operation *def = value.getDefiningOp();
    return !def || def->getBlock() != first->getBlock() || def->isBeforeInBlock(first) ||
           known.contains(def);
  }
  /// Moves what members' sizes and checks are computed by, and these, in front of the pool.
  void bringInFront();
  LogicalResult check(func::FuncOp function, ArrayRef<memory::Buffer> usual,
                      ArrayRef<Value> offsets, ArrayRef<Value> bytes);

  AllocOp first;
  bool guards;
  SmallVector<AllocOp> allocs;
  SmallVector<RequireOp> checks;
  llvm::SetVector<Operation *> known; ///< behind the begin, and can be computed there, in order
};

struct PoolBuffersPass : weir::impl::WeirPoolBuffersPassBase<PoolBuffersPass> {
  using WeirPoolBuffersPassBase::WeirPoolBuffersPassBase;

  void runOnOperation() override {
    pooled = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !isOffloaded(function) && failed(visit(function)))
        return signalPassFailure();
    OpBuilder b(&getContext());
    getOperation()->setAttr(
        "weir_plan.pooled",
        b.getDictionaryAttr({b.getNamedAttr("buffers", b.getI64IntegerAttr(pooled))}));
  }

  LogicalResult visit(func::FuncOp function);

  int64_t pooled = 0;
};
} // namespace

void Pool::collect(const llvm::SetVector<AllocOp> &candidates) {
  bool isUndisturbed = true;
  auto areKnown = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value value) { return isKnown(value); });
  };
  for (Operation &op : llvm::make_range(Block::iterator(first), first->getBlock()->end())) {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      if (candidates.contains(alloc) && areKnown(alloc.getSizes()) &&
          int64_t(allocs.size()) < mostPieces)
        allocs.push_back(alloc);
    } else if (auto require = dyn_cast<RequireOp>(op)) {
      // A size that a check refuses asks for no memory.
      if (isUndisturbed && areKnown(require->getOperands()))
        checks.push_back(require);
    } else if (isa<memref::DimOp>(op) || isa<arith::ArithDialect>(op.getDialect())) {
      if (isPure(&op) && areKnown(op.getOperands()))
        known.insert(&op);
    } else if (!isa<RunOp, CopyOp, LoadOp, StoreOp, FetchOp, BufferOp>(op)) {
      isUndisturbed &= isMemoryEffectFree(&op);
    }
  }
}

void Pool::bringInFront() {
  llvm::DenseSet<Operation *> wanted;
  SmallVector<Operation *> users(checks.begin(), checks.end());
  users.append(allocs.begin(), allocs.end());
  while (!users.empty())
    for (Value operand : users.pop_back_val()->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && known.contains(def) && wanted.insert(def).second)
        users.push_back(def);
  for (Operation *op : known)
    if (wanted.contains(op))
      op->moveBefore(first);
  for (RequireOp require : checks)
    require->moveBefore(first);
}

LogicalResult Pool::make(func::FuncOp function, ArrayRef<memory::Buffer> usual) {
  bringInFront();
  memory::Plan plan = memory::planOffsets(usual);
  std::vector<SmallVector<size_t>> supports = supportsOf(usual, plan.offsets);
  SmallVector<size_t> upwards = llvm::to_vector(llvm::seq<size_t>(0, allocs.size()));
  llvm::stable_sort(upwards, [&](size_t x, size_t y) { return plan.offsets[x] < plan.offsets[y]; });

  // What is computed for several nodes is none's; memory is asked for by the largest's.
  auto largest = llvm::max_element(
      usual, [](const memory::Buffer &x, const memory::Buffer &y) { return x.size < y.size; });
  Location loc = UnknownLoc::get(first.getContext());
  OpBuilder b(first);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto higher = [&](Value x, Value y) {
    return !x ? y : b.createOrFold<arith::MaxUIOp>(loc, x, y);
  };
  Value zero = number(0);
  SmallVector<Value> bytes(allocs.size()), offsets(allocs.size()), ends(allocs.size());
  llvm::BitVector isTop(allocs.size(), true);
  for (size_t i : upwards) {
    bytes[i] = PaddedBytesOp::create(b, loc, b.getIndexType(), TypeAttr::get(allocs[i].getType()),
                                     allocs[i].getSizes());
    if (guards)
      bytes[i] = b.createOrFold<arith::AddIOp>(loc, bytes[i], number(2 * guardBytes));
    for (size_t below : supports[i]) {
      offsets[i] = higher(offsets[i], ends[below]);
      isTop.reset(below);
    }
    if (!offsets[i])
      offsets[i] = zero;
    ends[i] = b.createOrFold<arith::AddIOp>(loc, offsets[i], bytes[i]);
  }
  Value total;
  for (size_t i : isTop.set_bits())
    total = higher(total, ends[i]);
  // What no memory holds stays that.
  Value isTooMuch =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, total, number(mostPooled));
  total = arith::SelectOp::create(b, loc, isTooMuch, number(INT64_MAX), total);
  auto pool =
      AllocOp::create(b, allocs[largest - usual.begin()].getLoc(),
                      MemRefType::get({ShapedType::kDynamic}, b.getI8Type()), ValueRange(total));
  if (failed(check(function, usual, offsets, bytes)))
    return failure();
  for (auto [alloc, offset] : llvm::zip(allocs, offsets)) {
    b.setInsertionPoint(alloc);
    if (guards)
      offset = b.createOrFold<arith::AddIOp>(loc, offset, number(guardBytes));
    auto piece = PieceOp::create(b, alloc.getLoc(), alloc.getType(), pool.getResult(), offset,
                                 alloc.getSizes());
    alloc.replaceAllUsesWith(piece.getResult());
    alloc.erase();
    if (guards)
      guard(piece);
  }
  return success();
}

/// Computes offsets for some sizes of the feeds, with code that shares nothing with the planner:
/// buffers whose lives meet lie apart.
LogicalResult Pool::check(func::FuncOp function, ArrayRef<memory::Buffer> usual,
                          ArrayRef<Value> offsets, ArrayRef<Value> bytes) {
  for (int64_t side : {1, 7, 64, 1000}) {
    std::map<FeedDim, int64_t> sizes;
    function.walk([&](FeedOp feed) {
      auto type = dyn_cast<MemRefType>(feed.getType());
      for (int64_t i = 0; type && i < type.getRank(); ++i)
        if (type.isDynamicDim(i))
          sizes[{int64_t(feed.getIndex()), i}] = side;
    });
    SizeValues values(function, sizes);
    std::vector<memory::PlacedBuffer> placed;
    int64_t end = 0;
    for (auto [i, buffer] : llvm::enumerate(usual)) {
      std::optional<int64_t> offset = values.of(offsets[i]), size = values.of(bytes[i]);
      if (!offset || !size)
        continue;
      placed.push_back({buffer.lower, buffer.upper, *size, buffer.alignment, *offset});
      end = std::max(end, *offset + *size);
    }
    if (auto error = memory::checkPlan(placed, end))
      return first.emitError("memory plan: with feeds of ") << side << ": " << error->message;
  }
  return success();
}

LogicalResult PoolBuffersPass::visit(func::FuncOp function) {
  // Sizes of memory are those that it was asked for with.
  function.walk([](memref::DimOp dim) {
    auto alloc = dim.getSource().getDefiningOp<AllocOp>();
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!alloc || !index || !alloc.getType().isDynamicDim(*index))
      return;
    dim.getResult().replaceAllUsesWith(
        alloc.getSizes()[alloc.getType().getDynamicDimIndex(*index)]);
    dim.erase();
  });
  UsualBytes usualBytes(function);
  StepTimes times(function);
  llvm::SetVector<AllocOp> candidates;
  llvm::DenseMap<Operation *, memory::Buffer> usual;
  function.walk([&](AllocOp alloc) {
    std::optional<int64_t> bytes = isOpenBuffer(alloc) ? usualBytes.of(alloc) : std::nullopt;
    if (!bytes || !isUsedAtOnce(alloc))
      return;
    auto [lower, upper] = guards ? guardedLifetime(alloc, times) : times.lifetime(alloc);
    usual[alloc] = {lower, upper, *bytes + (guards ? 2 * guardBytes : 0), arenaAlignment};
    candidates.insert(alloc);
  });
  while (!candidates.empty()) {
    Pool pool(candidates.front(), guards);
    pool.collect(candidates);
    SmallVector<memory::Buffer> own;
    for (AllocOp alloc : pool.members()) {
      own.push_back(usual.lookup(alloc));
      candidates.remove(alloc);
    }
    if (own.size() < 2)
      continue;
    pooled += int64_t(own.size());
    if (failed(pool.make(function, own)))
      return failure();
  }
  return success();
}

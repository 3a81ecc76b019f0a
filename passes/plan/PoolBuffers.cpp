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
// Buffers of fixed size have an arena of their own, beside such memory. Where they live when little
// of it is in use, they are pieces of it, too.
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

/// A plan at usual sizes. Sizes of a run are hardly ever these, so that a proof that no plan is
/// smaller is not worth what it costs.
static memory::Plan planUsual(ArrayRef<memory::Buffer> buffers) {
  return memory::planOffsets(buffers, {.steps = 3'000'000});
}

namespace {

/// A plan at usual sizes, and the order of buffers in it, which is kept at others.
struct Order {
  explicit Order(ArrayRef<memory::Buffer> buffers)
      : plan(planUsual(buffers)), supports(buffers.size()) {
    upwards = llvm::to_vector(llvm::seq<size_t>(0, buffers.size()));
    llvm::stable_sort(upwards,
                      [&](size_t x, size_t y) { return plan.offsets[x] < plan.offsets[y]; });
    findSupports(buffers);
  }

  /// The bytes that it takes where the first `open` buffers are `times` as large.
  int64_t bytes(ArrayRef<memory::Buffer> buffers, size_t open, int64_t times) const;

  memory::Plan plan;
  SmallVector<size_t> upwards;
  /// Of each buffer, those that it rests on, but for what lies below another of these anyway.
  std::vector<SmallVector<size_t>> supports;

private:
  void findSupports(ArrayRef<memory::Buffer> buffers);
};

} // namespace

void Order::findSupports(ArrayRef<memory::Buffer> buffers) {
  size_t count = buffers.size();
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
}

int64_t Order::bytes(ArrayRef<memory::Buffer> buffers, size_t open, int64_t times) const {
  SmallVector<int64_t> ends(buffers.size());
  for (size_t i : upwards) {
    for (size_t below : supports[i])
      ends[i] = std::max(ends[i], ends[below]);
    ends[i] += llvm::alignTo(buffers[i].size, arenaAlignment) * (i < open ? times : 1);
  }
  return ends.empty() ? 0 : *llvm::max_element(ends);
}

namespace {

/// A buffer, and what is planned of it at usual sizes.
struct Planned {
  Operation *op;
  memory::Buffer usual;
};

/// The buffers of a block that become pieces of one.
class Pool {
public:
  /// Begins in front of `first`, with which it begins.
  Pool(AllocOp first, bool guards) : first(first), guards(guards) {}

  /// Looks for buffers among `candidates` whose sizes are known where the pool begins, and for
  /// checks that can be made there.
  void collect(const llvm::SetVector<AllocOp> &candidates);
  ArrayRef<Operation *> members() const { return buffers; }
  /// Takes those of fixed size out of `fixed` that take less memory as pieces, and notes what is
  /// planned of them behind that of its members. Returns the order of all.
  Order takeFixed(SmallVector<Planned> &fixed, SmallVector<memory::Buffer> &usual);

  /// Puts the pool in place of its members; `usual` bytes and lives are those of the members.
  LogicalResult make(func::FuncOp function, ArrayRef<memory::Buffer> usual, const Order &order);

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
  SmallVector<Operation *> buffers;
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
          int64_t(buffers.size()) < mostPieces)
        buffers.push_back(alloc);
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
  users.append(buffers.begin(), buffers.end());
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

Order Pool::takeFixed(SmallVector<Planned> &fixed, SmallVector<memory::Buffer> &usual) {
  SmallVector<Planned> joining, staying;
  SmallVector<memory::Buffer> apart, left, together(usual);
  for (const Planned &each : fixed) {
    bool mayJoin = each.op->getBlock() == first->getBlock() && first->isBeforeInBlock(each.op) &&
                   isUsedAtOnce(each.op->getResult(0)) &&
                   int64_t(buffers.size() + joining.size()) < mostPieces;
    (mayJoin ? joining : staying).push_back(each);
    (mayJoin ? together : left).push_back(each.usual);
    apart.push_back(each.usual);
  }
  Order own(usual);
  if (joining.empty())
    return own;
  // An order that is good at usual sizes must not be dear at others.
  constexpr int64_t larger = 16;
  size_t open = usual.size();
  Order joint(together);
  int64_t arena = planUsual(apart).peak, smaller = planUsual(left).peak;
  if (joint.plan.peak + smaller >= own.plan.peak + arena ||
      joint.bytes(together, open, larger) + smaller > own.bytes(usual, open, larger) + arena)
    return own;
  for (const Planned &each : joining)
    buffers.push_back(each.op);
  usual = std::move(together);
  fixed = std::move(staying);
  return joint;
}

/// A buffer of bytes as large as one of `type`, of its open sizes and one for all known ones:
/// buffers that are equally large have equal sizes computed once.
static MemRefType asBytes(MemRefType type) {
  SmallVector<int64_t> shape(type.getNumDynamicDims(), ShapedType::kDynamic);
  shape.push_back(std::min(knownBytes(type), mostPooled));
  return MemRefType::get(shape, IntegerType::get(type.getContext(), 8));
}

LogicalResult Pool::make(func::FuncOp function, ArrayRef<memory::Buffer> usual,
                         const Order &order) {
  bringInFront();

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
  SmallVector<Value> bytes(buffers.size()), offsets(buffers.size()), ends(buffers.size());
  llvm::BitVector isTop(buffers.size(), true);
  for (size_t i : order.upwards) {
    auto type = cast<MemRefType>(buffers[i]->getResult(0).getType());
    bytes[i] = b.createOrFold<PaddedBytesOp>(loc, b.getIndexType(), TypeAttr::get(asBytes(type)),
                                             buffers[i]->getOperands());
    if (guards)
      bytes[i] = b.createOrFold<arith::AddIOp>(loc, bytes[i], number(2 * guardBytes));
    for (size_t below : order.supports[i]) {
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
      AllocOp::create(b, buffers[largest - usual.begin()]->getLoc(),
                      MemRefType::get({ShapedType::kDynamic}, b.getI8Type()), ValueRange(total));
  if (failed(check(function, usual, offsets, bytes)))
    return failure();
  for (auto [buffer, offset] : llvm::zip(buffers, offsets)) {
    b.setInsertionPoint(buffer);
    if (guards)
      offset = b.createOrFold<arith::AddIOp>(loc, offset, number(guardBytes));
    auto piece = PieceOp::create(b, buffer->getLoc(), buffer->getResult(0).getType(),
                                 pool.getResult(), offset, buffer->getOperands());
    buffer->getResult(0).replaceAllUsesWith(piece.getResult());
    buffer->erase();
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
  auto planned = [&](Value buffer, int64_t bytes) -> memory::Buffer {
    auto [lower, upper] = guards ? guardedLifetime(buffer, times) : times.lifetime(buffer);
    return {lower, upper, bytes + (guards ? 2 * guardBytes : 0), arenaAlignment};
  };
  llvm::SetVector<AllocOp> candidates;
  llvm::DenseMap<Operation *, memory::Buffer> usual;
  function.walk([&](AllocOp alloc) {
    std::optional<int64_t> bytes = isOpenBuffer(alloc) ? usualBytes.of(alloc) : std::nullopt;
    if (!bytes || !isUsedAtOnce(alloc))
      return;
    usual[alloc] = planned(alloc, *bytes);
    candidates.insert(alloc);
  });
  SmallVector<Planned> fixed;
  if (!candidates.empty())
    function.walk([&](BufferOp op) {
      fixed.push_back({op, planned(op, arenaBytes(cast<MemRefType>(op.getType())))});
    });
  while (!candidates.empty()) {
    Pool pool(candidates.front(), guards);
    pool.collect(candidates);
    SmallVector<memory::Buffer> own;
    for (Operation *alloc : pool.members()) {
      own.push_back(usual.lookup(alloc));
      candidates.remove(cast<AllocOp>(alloc));
    }
    if (own.size() < 2)
      continue;
    pooled += int64_t(own.size());
    Order order = pool.takeFixed(fixed, own);
    if (failed(pool.make(function, own, order)))
      return failure();
  }
  return success();
}

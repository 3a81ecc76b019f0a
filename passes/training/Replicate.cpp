//===- Replicate.cpp - a training step on several devices -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function has all replicas, operation by operation side by side; the partition cuts
// it into a step for each. Replica 0 keeps the names of nodes and variables. Where they
// meet is passes/training/ReplicaMeetings.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Training.h"
#include "passes/analysis/CollectiveLevels.h"
#include "passes/analysis/DeviceName.h"
#include "passes/training/Passes.h"
#include "passes/training/ReplicaMeetings.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace weir {
#define GEN_PASS_DEF_WEIRREPLICATEPASS
#include "passes/training/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::training;

static constexpr int64_t invalidArgument = 3; // WEIR_INVALID_ARGUMENT

namespace {

class Replicator {
public:
  Replicator(func::FuncOp step, std::vector<std::string> devices)
      : step(step), devices(std::move(devices)), b(step.getContext()), maps(this->devices.size()) {}

  LogicalResult run();

private:
  size_t count() const { return devices.size(); }
  LogicalResult shareFeeds();
  LogicalResult checkShared(const llvm::StringSet<> &named);
  Value partOf(BlockArgument feed, size_t replica);
  Operation *copy(Operation &op, size_t replica);
  Operation *folded(Operation *op);
  void settle(Operation *op, size_t replica);
  Location renamed(Location loc, size_t replica);
  Value place(Value value, size_t replica);

  func::FuncOp step;
  std::vector<std::string> devices; ///< by replica
  OpBuilder b;
  std::vector<IRMapping> maps;
};

std::string prefixOf(size_t replica) { return "replica_" + std::to_string(replica) + "/"; }

} // namespace

Location Replicator::renamed(Location loc, size_t replica) {
  if (replica == 0)
    return loc;
  if (auto name = dyn_cast<NameLoc>(loc))
    return NameLoc::get(b.getStringAttr(prefixOf(replica) + name.getName().str()));
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    SmallVector<Location> parts;
    for (Location part : fused.getLocations())
      parts.push_back(renamed(part, replica));
    return FusedLoc::get(b.getContext(), parts, fused.getMetadata());
  }
  return loc;
}

Value Replicator::place(Value value, size_t replica) {
  if (Operation *op = value.getDefiningOp())
    op->setAttr("weir.device", b.getStringAttr(devices[replica]));
  return value;
}

/// Gives a copied operation, and what is inside of it, its replica's name and device.
void Replicator::settle(Operation *op, size_t replica) {
  op->walk([&](Operation *inner) {
    inner->setLoc(renamed(inner->getLoc(), replica));
    inner->setAttr("weir.device", b.getStringAttr(devices[replica]));
    auto variable = dyn_cast<VariableOp>(inner);
    if (!variable || replica == 0)
      return;
    std::string container = "replica_" + std::to_string(replica);
    if (!variable.getContainer().empty())
      container += "/" + variable.getContainer().str();
    variable.setContainer(container);
    if (!variable->hasAttr(shardAttr))
      variable->setAttr(copyAttr, b.getUnitAttr());
  });
}

//===----------------------------------------------------------------------===//
// Feeds
//===----------------------------------------------------------------------===//

LogicalResult Replicator::checkShared(const llvm::StringSet<> &named) {
  std::string possible;
  llvm::StringSet<> known;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto name = step.getArgAttrOfType<StringAttr>(i, "weir.name");
    auto type = dyn_cast<RankedTensorType>(step.getArgument(i).getType());
    if (!name || !type || type.getRank() == 0)
      continue;
    known.insert(name.getValue());
    possible += (possible.empty() ? "\"" : ", \"") + name.str() + "\"";
  }
  for (const auto &one : named)
    if (!known.contains(one.getKey())) {
      emitError(UnknownLoc::get(b.getContext()))
          << "W0417: found no feed \"" << one.getKey()
          << "\" of train_step to divide among replicas; possible: " << possible;
      return failure();
    }
  return success();
}

/// The replica's rows of a feed, as many as others'.
Value Replicator::partOf(BlockArgument feed, size_t replica) {
  auto type = cast<RankedTensorType>(feed.getType());
  auto name = step.getArgAttrOfType<StringAttr>(feed.getArgNumber(), "weir.name");
  Location loc = NameLoc::get(b.getStringAttr(
      prefixOf(replica) + (name ? name.str() : "feed" + std::to_string(feed.getArgNumber()))));
  auto n = int64_t(count()), at = int64_t(replica);
  SmallVector<int64_t> shape(type.getShape());
  Value begin, end;
  if (!type.isDynamicDim(0)) {
    shape[0] = type.getDimSize(0) / n;
    begin = integers(b, loc, {at * shape[0]});
    end = integers(b, loc, {(at + 1) * shape[0]});
  } else {
    auto vector = RankedTensorType::get({1}, b.getI64Type());
    Value sizes =
        place(ShapeOfOp::create(b, loc, RankedTensorType::get({type.getRank()}, b.getI64Type()),
                                feed, TypeAttr::get(b.getI64Type())),
              replica);
    Value rows = place(SliceOp::create(b, loc, vector, sizes, integers(b, loc, {0}),
                                       integers(b, loc, {1}), integers(b, loc, {1}),
                                       b.getDenseI64ArrayAttr({0}), b.getBoolAttr(false)),
                       replica);
    Value each = place(DivOp::create(b, loc, vector, rows, integers(b, loc, {n})), replica);
    Value whole = place(MulOp::create(b, loc, vector, each, integers(b, loc, {n})), replica);
    auto flag = RankedTensorType::get({1}, b.getI1Type());
    Value fits =
        place(CompareOp::create(b, loc, flag, whole, rows, b.getStringAttr("eq")), replica);
    auto check = AssertOp::create(
        b, loc, TokenType::get(b.getContext()), fits,
        b.getStringAttr("a batch that cannot be divided by the number of replicas"),
        b.getI64IntegerAttr(invalidArgument), ValueRange());
    check->setAttr("weir.device", b.getStringAttr(devices[replica]));
    begin = place(MulOp::create(b, loc, vector, each, integers(b, loc, {at})), replica);
    end = place(AddOp::create(b, loc, vector, begin, each), replica);
  }
  return place(SliceOp::create(b, loc, type.clone(shape), feed, begin, end, integers(b, loc, {1}),
                               b.getDenseI64ArrayAttr({0}), b.getBoolAttr(false)),
               replica);
}

/// A feed of fixed size gets as many rows as all replicas have together.
LogicalResult Replicator::shareFeeds() {
  llvm::StringSet<> named;
  if (auto list = step->getAttrOfType<ArrayAttr>(shardedAttr))
    for (auto name : list.getAsRange<StringAttr>())
      named.insert(name.getValue());
  if (failed(checkShared(named)))
    return failure();
  b.setInsertionPointToStart(&step.front());
  for (BlockArgument feed : step.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(feed.getType());
    auto name = step.getArgAttrOfType<StringAttr>(feed.getArgNumber(), "weir.name");
    if (!type || type.getRank() == 0 ||
        (!named.empty() && !(name && named.contains(name.getValue()))))
      continue;
    SmallVector<int64_t> shape(type.getShape());
    if (!type.isDynamicDim(0))
      shape[0] *= int64_t(count());
    feed.setType(type.clone(shape));
    for (size_t replica = 0; replica < count(); ++replica)
      maps[replica].map(feed, partOf(feed, replica));
  }
  step.setType(b.getFunctionType(step.front().getArgumentTypes(), step.getResultTypes()));
  return success();
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

Operation *Replicator::copy(Operation &op, size_t replica) {
  if (auto gate = dyn_cast<GateOp>(op); gate && gate->hasAttr(replicaIndexAttr)) {
    auto type = cast<RankedTensorType>(gate.getType());
    auto value =
        DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), int64_t(replica)));
    Operation *made = ConstantOp::create(b, gate.getLoc(), value);
    maps[replica].map(gate.getResult(), made->getResult(0));
    return made;
  }
  Operation *made = b.clone(op, maps[replica]);
  if (Operation *constant = folded(made)) {
    maps[replica].map(op.getResult(0), constant->getResult(0));
    return constant;
  }
  settle(made, replica);
  return made;
}

/// What hangs on a replica's number alone, parts' bounds for example, is a number; null: it is
/// none, and stays.
Operation *Replicator::folded(Operation *op) {
  constexpr int64_t mostElements = 16;
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                       : RankedTensorType();
  bool isNumber = type && type.hasStaticShape() && type.getElementType().isInteger(64) &&
                  type.getNumElements() <= mostElements && op->getNumOperands() > 0 &&
                  llvm::all_of(op->getOperands(),
                               [](Value operand) { return operand.getDefiningOp<ConstantOp>(); });
  SmallVector<OpFoldResult> results;
  if (!isNumber || failed(op->fold(results)) || results.size() != 1)
    return nullptr;
  auto value = dyn_cast<Attribute>(results.front());
  if (!value && !matchPattern(cast<Value>(results.front()), m_Constant(&value)))
    return nullptr;
  Operation *constant = ConstantOp::create(b, op->getLoc(), cast<DenseElementsAttr>(value));
  op->erase();
  return constant;
}

LogicalResult Replicator::run() {
  Block &body = step.front();
  sortByCollectives(body, isMeeting);
  Meetings meetings(devices, b);
  SmallVector<Operation *> originals;
  for (Operation &op : body.without_terminator())
    originals.push_back(&op);
  if (failed(shareFeeds()))
    return failure();
  b.setInsertionPoint(body.getTerminator());
  for (Operation *op : originals) {
    SmallVector<GateOp> marks;
    for (size_t replica = 0; replica < count(); ++replica) {
      Operation *made = copy(*op, replica);
      if (isMeeting(made))
        marks.push_back(cast<GateOp>(made));
    }
    if (!marks.empty())
      meetings.add(marks);
  }
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    result.set(maps[0].lookupOrDefault(result.get()));
  for (Operation *op : llvm::reverse(originals))
    op->erase();
  meetings.run();
  step->removeAttr(replicasAttr);
  step->removeAttr(shardedAttr);
  return success();
}

namespace {

struct ReplicatePass : weir::impl::WeirReplicatePassBase<ReplicatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      auto asked = function->getAttrOfType<IntegerAttr>(replicasAttr);
      if (!asked)
        continue;
      std::vector<std::string> devices = devicesFor(module, asked.getInt());
      if (devices.empty() || failed(Replicator(function, devices).run()))
        return signalPassFailure();
      bool isShared = llvm::any_of(function.getOps<VariableOp>(), [](VariableOp variable) {
        return variable->hasAttr(shardAttr);
      });
      if (!isShared)
        module->setAttr(stateDeviceAttr, StringAttr::get(module.getContext(), devices.front()));
      synchronize(function, devices);
      keepOthersOn(module, devices.front());
    }
  }

private:
  /// The user's, in their order, or the first CPU of as many tasks. None after an error.
  static std::vector<std::string> devicesFor(ModuleOp module, int64_t count) {
    std::vector<std::string> devices;
    auto cluster = module->getAttrOfType<DictionaryAttr>("weir.cluster");
    auto given = cluster ? cluster.getAs<ArrayAttr>("devices") : ArrayAttr();
    for (int64_t i = 0; i < count && !given; ++i)
      devices.push_back("/job:worker/replica:0/task:" + std::to_string(i) + "/device:CPU:0");
    for (Attribute entry : given ? given.getValue() : ArrayRef<Attribute>())
      if (int64_t(devices.size()) < count)
        devices.push_back(DeviceName::parse(cast<DictionaryAttr>(entry).getAs<StringAttr>("name"))
                              .value_or(DeviceName())
                              .completedBy(DeviceName::cpu(0))
                              .str());
    if (int64_t(devices.size()) == count) {
      if (!given)
        nameDevices(module, devices);
      return devices;
    }
    emitError(UnknownLoc::get(module.getContext()))
        << "W0418: found " << devices.size() << " devices for --replicas=" << count
        << "; possible: as many devices, or fewer replicas";
    return {};
  }

  /// The program has these devices and no other: each is a task's.
  static void nameDevices(ModuleOp module, ArrayRef<std::string> devices) {
    Builder b(module.getContext());
    SmallVector<Attribute> list;
    for (const std::string &name : devices)
      list.push_back(b.getDictionaryAttr(b.getNamedAttr("name", b.getStringAttr(name))));
    NamedAttrList cluster(module->getAttrOfType<DictionaryAttr>("weir.cluster"));
    cluster.set("devices", b.getArrayAttr(list));
    module->setAttr("weir.cluster", cluster.getDictionary(b.getContext()));
  }

  /// What is no training step works where the variables are that have no copies.
  static void keepOthersOn(ModuleOp module, StringRef device) {
    module.walk([&](Operation *op) {
      if (!isa<ModuleOp, func::FuncOp, ConstantOp>(op) && !op->hasAttr("weir.device"))
        op->setAttr("weir.device", StringAttr::get(op->getContext(), device));
    });
  }

  /// All variables of the others become the first one's, but for parts.
  static void synchronize(func::FuncOp step, ArrayRef<std::string> devices) {
    OpBuilder b(step->getContext());
    b.setInsertionPointAfter(step);
    auto function =
        func::FuncOp::create(b, step.getLoc(), "synchronize", b.getFunctionType({}, {}));
    function->setAttr("weir.entry", b.getStringAttr("synchronize"));
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    llvm::MapVector<StringRef, Value> values;
    llvm::DenseSet<std::pair<StringRef, StringRef>> done;
    auto own = llvm::to_vector(step.getOps<VariableOp>());
    auto handle = [&](VariableOp variable) {
      return cast<VariableOp>(b.clone(*variable)).getResource();
    };
    for (VariableOp variable : own)
      if (!variable->hasAttr(copyAttr) && !variable->hasAttr(shardAttr) &&
          !values.contains(variable.getName())) {
        auto read = VariableReadOp::create(b, variable.getLoc(), variable.getType(),
                                           handle(variable), ValueRange());
        read->setAttr("weir.device", b.getStringAttr(devices.front()));
        values[variable.getName()] = read;
      }
    for (VariableOp variable : own) {
      if (!variable->hasAttr(copyAttr) || !values.contains(variable.getName()) ||
          !done.insert({variable.getContainer(), variable.getName()}).second)
        continue;
      auto assign =
          VariableAssignOp::create(b, variable.getLoc(), TokenType::get(b.getContext()),
                                   handle(variable), values[variable.getName()], ValueRange());
      assign->setAttr("weir.device", variable->getAttr("weir.device"));
    }
    func::ReturnOp::create(b, step.getLoc());
  }
};

} // namespace

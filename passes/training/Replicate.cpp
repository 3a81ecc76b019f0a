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
// A replica has a place for each device of each of its stages: one, or as many as share the
// stage's products. What is no part of such a product is in the stage's first place.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "passes/analysis/CollectiveLevels.h"
#include "passes/analysis/DeviceName.h"
#include "passes/analysis/ShardMembers.h"
#include "passes/analysis/StepParts.h"
#include "passes/training/Passes.h"
#include "passes/training/ReplicaMeetings.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace weir {
#define GEN_PASS_DEF_WEIRREPLICATEPASS
#include "passes/training/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::training;

namespace {

class Replicator {
public:
  /// `devices`: of `places` places each replica's, one replica behind the other.
  Replicator(func::FuncOp step, std::vector<std::string> devices, int64_t places)
      : step(step), devices(std::move(devices)), places(places), b(step.getContext()),
        maps(this->devices.size() / size_t(places)) {}

  LogicalResult run();

private:
  size_t count() const { return maps.size(); }
  StringAttr deviceOf(size_t replica, int64_t place) {
    return b.getStringAttr(devices[replica * size_t(places) + size_t(place)]);
  }
  void setPlaces();
  LogicalResult shareFeeds();
  Operation *copy(Operation &op, size_t replica);
  Operation *folded(Operation *op);
  void settle(Operation *op, size_t replica);

  func::FuncOp step;
  std::vector<std::string> devices; ///< by replica and place
  int64_t places;
  OpBuilder b;
  std::vector<IRMapping> maps;
};

std::string prefixOf(size_t replica) { return "replica_" + std::to_string(replica) + "/"; }

} // namespace

/// The place that an operation is in; 0: there is one, or it may be in any.
static int64_t placeOf(Operation *op) {
  auto place = op->getAttrOfType<IntegerAttr>(placeAttr);
  return place ? place.getInt() : 0;
}

/// From stages, and what devices of one share.
void Replicator::setPlaces() {
  ShardMembers members(step);
  for (Operation &op : step.front().without_terminator()) {
    auto stage = op.getAttrOfType<IntegerAttr>(stageAttr);
    int64_t member = members.of(&op);
    op.removeAttr(stageAttr);
    if (stage || member > 0)
      op.setAttr(placeAttr,
                 b.getI64IntegerAttr((stage ? stage.getInt() : 0) * members.count() + member));
  }
}

/// Gives a copied operation, and what is inside of it, its replica's name and device.
void Replicator::settle(Operation *op, size_t replica) {
  StringAttr device = deviceOf(replica, placeOf(op));
  op->walk([&](Operation *inner) {
    if (replica > 0)
      inner->setLoc(prefixed(inner->getLoc(), prefixOf(replica)));
    inner->setAttr("weir.device", device);
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

/// The place of who uses a feed first.
static int64_t placeOfFeed(BlockArgument feed) {
  int64_t place = -1;
  for (Operation *user : feed.getUsers())
    if (int64_t own = placeOf(user); user->hasAttr(placeAttr) && (place < 0 || own < place))
      place = own;
  return std::max<int64_t>(place, 0);
}

/// A feed of fixed size gets as many rows as all replicas have together.
LogicalResult Replicator::shareFeeds() {
  FailureOr<SmallVector<BlockArgument>> feeds = dividedFeeds(step);
  if (failed(feeds))
    return failure();
  if (count() == 1)
    return success();
  multiplyRows(step, *feeds, int64_t(count()));
  b.setInsertionPointToStart(&step.front());
  for (BlockArgument feed : *feeds) {
    int64_t place = placeOfFeed(feed);
    for (size_t replica = 0; replica < count(); ++replica)
      maps[replica].map(
          feed, rowsOf(b, NameLoc::get(b.getStringAttr(prefixOf(replica) + feedName(feed))), feed,
                       {int64_t(replica), int64_t(count()), "replicas"}, [&](Operation *made) {
                         made->setAttr("weir.device", deviceOf(replica, place));
                       }));
  }
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
  setPlaces();
  sortByCollectives(body, isMeeting);
  Meetings meetings(devices, places, b);
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
  for (StringRef name : {replicasAttr, shardedAttr, stagesAttr})
    step->removeAttr(name);
  // Kernels of different places may be the same.
  step.walk([](Operation *op) { op->removeAttr(placeAttr); });
  return success();
}

namespace {

struct ReplicatePass : weir::impl::WeirReplicatePassBase<ReplicatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      auto numberOf = [&](StringRef name) {
        auto number = function->getAttrOfType<IntegerAttr>(name);
        return number ? number.getInt() : int64_t(1);
      };
      int64_t replicas = numberOf(replicasAttr), stages = numberOf(stagesAttr),
              places = stages * numberOf(shardCountAttr);
      if (replicas * stages == 1)
        continue;
      std::vector<std::string> devices = devicesFor(module, replicas, stages, replicas * places);
      warnAboutRequests(function);
      if (devices.empty() || failed(Replicator(function, devices, places).run()))
        return signalPassFailure();
      bool isShared = places > 1 || llvm::any_of(function.getOps<VariableOp>(), [](VariableOp own) {
                        return own->hasAttr(shardAttr);
                      });
      if (!isShared)
        module->setAttr(stateDeviceAttr, StringAttr::get(module.getContext(), devices.front()));
      if (replicas > 1)
        synchronize(function);
      // Each place has its variables, and what else reads them is placed.
      if (places == 1)
        keepOthersOn(module, devices.front());
    }
    for (auto function : module.getOps<func::FuncOp>())
      ShardMembers::removeFrom(function);
  }

private:
  /// The user's, in their order, or the first CPU of as many tasks. None after an error.
  static std::vector<std::string> devicesFor(ModuleOp module, int64_t replicas, int64_t stages,
                                             int64_t count) {
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
        << "W0418: found " << devices.size() << " devices for --replicas=" << replicas
        << (stages > 1 ? " --pipeline=" + std::to_string(stages) : "")
        << "; possible: as many devices, or fewer replicas" << (stages > 1 ? " and stages" : "");
    return {};
  }

  /// Devices that the model names for its nodes are none of a replica's.
  static void warnAboutRequests(func::FuncOp step) {
    auto table = step->getAttrOfType<DictionaryAttr>("weir.device_requests");
    llvm::MapVector<StringRef, StringRef> asked;
    step.walk([&](Operation *op) {
      StringRef name = nodeName(op->getLoc());
      if (auto device = table ? table.getAs<StringAttr>(name) : StringAttr())
        asked[name] = device.getValue();
    });
    step->removeAttr("weir.device_requests");
    if (asked.empty())
      return;
    auto [node, device] = asked.front();
    auto warning = emitWarning(UnknownLoc::get(step.getContext()))
                   << "W0422: found node \"" << node << "\" to ask for device \"" << device << "\"";
    if (asked.size() > 1)
      warning << ", and " << asked.size() - 1 << " more to ask for devices";
    warning << "; --replicas and --pipeline give all nodes theirs";
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
  static void synchronize(func::FuncOp step) {
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
        read->setAttr("weir.device", variable->getAttr("weir.device"));
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

//===- Partition.cpp - one function a device ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sends stand right behind what they send, or later where times of a simulated
// step are known (LateTransfers.h), and receives right before the first use. All
// functions keep the entry's order, so the sequences of all devices are
// projections of one order and cannot wait for each other in a circle.
//
// A loop or conditional whose regions hold operations of several devices exists
// on each of them, with that device's operations inside. Where the condition is
// computed it is sent to all others: in a loop, once an iteration. A value that
// is carried lives on one device, its home; others that use it get it inside of
// the region. Both ends of an edge run as often as each other and in the same
// order, so that a count of its tensors tells iterations apart.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/partition/Homes.h"
#include "passes/partition/LateTransfers.h"
#include "passes/partition/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRPARTITIONPASS
#include "passes/partition/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

using Devices = llvm::SetVector<int64_t>;

/// Devices that have a part in an operation.
static void collectDevices(Operation *op, Devices &devices) {
  if (isFree(op) || op->hasTrait<OpTrait::IsTerminator>())
    return;
  if (!isControl(op)) {
    devices.insert(deviceOf(op));
    return;
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    devices.insert(homeOf(op, i));
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front())
      collectDevices(&inner, devices);
}

static Devices devicesOf(Operation *op) {
  Devices devices;
  collectDevices(op, devices);
  if (devices.empty())
    devices.insert(0);
  return devices;
}

using NeedFn = llvm::function_ref<void(Value, int64_t)>;

/// Calls need(value, device) for everything that an operation, and what is
/// inside of it, needs on some device.
static void forEachNeed(Operation *op, NeedFn need) {
  if (isFree(op))
    return;
  if (!isControl(op)) {
    for (Value operand : op->getOperands())
      need(operand, deviceOf(op));
    // Regions that are no control flow run whole, and use values around them.
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (inner != op && !op->isAncestor(operand.getParentBlock()->getParentOp()))
          need(operand, deviceOf(op));
    });
    return;
  }
  if (auto branch = dyn_cast<IfOp>(op))
    for (int64_t device : devicesOf(op))
      need(branch.getCondition(), device);
  if (auto loop = dyn_cast<WhileOp>(op)) {
    for (auto [i, init] : llvm::enumerate(loop.getInits()))
      need(init, homeOf(op, i));
    for (int64_t device : devicesOf(op))
      need(loop.getCondition().front().getTerminator()->getOperand(0), device);
  }
  for (Region &region : op->getRegions()) {
    for (Operation &inner : region.front().without_terminator())
      forEachNeed(&inner, need);
    if (isa<WhileOp>(op) && region.getRegionNumber() == 0)
      continue;
    for (auto [i, value] : llvm::enumerate(region.front().getTerminator()->getOperands()))
      need(value, homeOf(op, i));
  }
}

namespace {

/// What one device's function has so far.
struct Part {
  func::FuncOp function;
  Block *block = nullptr; ///< which grows at its end
  IRMapping mapping;
  SmallVector<Value> results;
  SmallVector<int64_t> fetches, feeds;
};

class Splitter {
public:
  Splitter(func::FuncOp source, ArrayAttr devices, const DeviceSet &cluster,
           SmallVector<Attribute> &edges)
      : source(source), devices(devices), cluster(cluster), edges(edges), b(source) {}

  void run(const Devices &used) {
    SmallVector<Attribute> feeds, fetches;
    auto describe = [&](Type type, DictionaryAttr attributes) {
      NamedAttrList entry(attributes ? attributes : b.getDictionaryAttr({}));
      entry.set("type", TypeAttr::get(type));
      return entry.getDictionary(b.getContext());
    };
    for (unsigned i = 0; i < source.getNumArguments(); ++i)
      feeds.push_back(describe(source.getArgumentTypes()[i], source.getArgAttrDict(i)));
    for (unsigned i = 0; i < source.getNumResults(); ++i)
      fetches.push_back(describe(source.getResultTypes()[i], source.getResultAttrDict(i)));
    Devices all = used;
    for (int64_t device : used)
      all.insert(feeder(device));
    for (int64_t device : all) {
      Part &part = parts[device];
      part.function = func::FuncOp::create(
          b, source.getLoc(), (source.getSymName() + "__" + std::to_string(device)).str(),
          b.getFunctionType({}, {}));
      part.function->setAttr("weir.device_index", b.getI64IntegerAttr(device));
      part.function->setAttr("weir.entry_feeds", b.getArrayAttr(feeds));
      part.function->setAttr("weir.entry_fetches", b.getArrayAttr(fetches));
      Attribute name = source->getAttr("weir.entry");
      part.function->setAttr("weir.entry", name ? name : b.getStringAttr(source.getSymName()));
      if (source->hasAttr(keepsOrderAttr))
        part.function->setAttr(keepsOrderAttr, b.getUnitAttr());
      part.block = part.function.addEntryBlock();
    }
    Block &body = source.getBody().front();
    for (auto [i, op] : llvm::enumerate(body))
      places[&op] = int64_t(i);
    visitBlock(body);
    consumer = nullptr;
    noteMemory(body);
    late.delay([&](const LateTransfers::Transfer &transfer, Operation *before) {
      return ask(transfer, before);
    });
    for (OpOperand &operand : body.getTerminator()->getOpOperands()) {
      int64_t device = deviceOf(operand.get());
      if (device < 0)
        device = parts.begin()->first;
      device = feeder(device);
      provide(operand.get(), device);
      Part &part = parts[device];
      part.results.push_back(part.mapping.lookup(operand.get()));
      part.fetches.push_back(operand.getOperandNumber());
    }
    for (auto &[device, part] : parts)
      finish(part);
    source.erase();
  }

  const LateTransfers &transfers() const { return late; }

private:
  /// Where the feeds of a device are, and the fetches that it makes.
  int64_t feeder(int64_t device) {
    auto module = source->getParentOfType<ModuleOp>();
    return isOffloadDevice(module, device) ? hostOf(module, device) : device;
  }

  void finish(Part &part) {
    b.setInsertionPointToEnd(part.block);
    func::ReturnOp::create(b, source.getLoc(), part.results);
    SmallVector<Type> arguments, results;
    for (BlockArgument argument : part.function.getBody().getArguments())
      arguments.push_back(argument.getType());
    for (Value value : part.results)
      results.push_back(value.getType());
    part.function.setType(b.getFunctionType(arguments, results));
    for (auto [i, feed] : llvm::enumerate(part.feeds))
      part.function.setArgAttr(i, "weir.feed_index", b.getI64IntegerAttr(feed));
    for (auto [i, fetch] : llvm::enumerate(part.fetches))
      part.function.setResultAttr(i, "weir.fetch_index", b.getI64IntegerAttr(fetch));
  }

  void visitBlock(Block &block) {
    for (Operation &op : block.without_terminator()) {
      if (isFree(&op))
        continue; // every device has its own
      // What is given to a collective is sent at once, and no place for others.
      if (!places.count(&op) || isa<weir::SendOp>(op)) {
        visit(op);
        continue;
      }
      std::map<int64_t, Operation *> last;
      for (int64_t device : devicesOf(&op)) {
        Block &program = *parts[device].block;
        last[device] = program.empty() ? nullptr : &program.back();
      }
      consumer = &op;
      visit(op);
      consumer = nullptr;
      for (auto [device, before] : last)
        late.passed(device, places[&op],
                    before ? before->getNextNode() : &parts[device].block->front(), timesOf(&op));
    }
  }

  void visit(Operation &op) {
    // What comes from outside of a region is received before it.
    forEachNeed(&op, [&](Value value, int64_t device) {
      if (!op.isAncestor(value.getParentBlock()->getParentOp()))
        provide(value, device);
    });
    if (isControl(&op)) {
      visitControl(&op);
      return;
    }
    Part &part = parts[deviceOf(&op)];
    b.setInsertionPointToEnd(part.block);
    b.clone(op, part.mapping);
  }

  /// Begins a region on every device that has a part, with arguments for what
  /// lives there.
  void enter(Operation *op, Region &from, unsigned number, std::map<int64_t, Operation *> &made) {
    for (auto &[device, copy] : made) {
      Part &part = parts[device];
      part.block = b.createBlock(&copy->getRegion(number));
      for (BlockArgument argument : from.getArguments())
        if (homeOf(op, argument.getArgNumber()) == device)
          part.mapping.map(argument,
                           part.block->addArgument(argument.getType(), argument.getLoc()));
    }
    visitBlock(from.front());
  }

  void visitControl(Operation *op) {
    // What crosses inside crosses in every iteration.
    consumer = nullptr;
    std::map<int64_t, Operation *> made;
    std::map<int64_t, Block *> around;
    for (int64_t device : devicesOf(op)) {
      Part &part = parts[device];
      around[device] = part.block;
      b.setInsertionPointToEnd(part.block);
      OperationState state(op->getLoc(), op->getName());
      if (Attribute decided = op->getAttr(decidedOnDeviceAttr))
        state.addAttribute(decidedOnDeviceAttr, decided);
      if (auto branch = dyn_cast<IfOp>(op))
        state.addOperands(part.mapping.lookup(branch.getCondition()));
      for (unsigned i = 0; i < op->getNumResults(); ++i) {
        if (homeOf(op, i) != device)
          continue;
        state.addTypes(op->getResult(i).getType());
        if (auto loop = dyn_cast<WhileOp>(op))
          state.addOperands(part.mapping.lookup(loop.getInits()[i]));
      }
      for (unsigned i = 0; i < op->getNumRegions(); ++i)
        state.addRegion();
      made[device] = b.create(state);
    }
    for (auto [number, region] : llvm::enumerate(op->getRegions())) {
      enter(op, region, number, made);
      Operation *end = region.front().getTerminator();
      bool isCondition = isa<WhileOp>(op) && number == 0;
      for (auto &[device, copy] : made) {
        SmallVector<Value> yields;
        for (auto [i, value] : llvm::enumerate(end->getOperands()))
          if (isCondition || homeOf(op, i) == device) {
            provide(value, device);
            yields.push_back(parts[device].mapping.lookup(value));
          }
        b.setInsertionPointToEnd(parts[device].block);
        YieldOp::create(b, end->getLoc(), yields);
      }
      // Each device's own copies, and what arrived inside, end with the region.
      for (auto &[device, copy] : made)
        parts[device].block = around[device];
    }
    for (auto &[device, copy] : made) {
      unsigned next = 0;
      for (unsigned i = 0; i < op->getNumResults(); ++i)
        if (homeOf(op, i) == device)
          parts[device].mapping.map(op->getResult(i), copy->getResult(next++));
    }
  }

  /// Makes `value` known on `device`, at the end of its block: a feed, data of
  /// its own, or received.
  void provide(Value value, int64_t device) {
    Part &part = parts[device];
    if (Value known = part.mapping.lookupOrNull(value);
        known && known.getParentRegion()->isAncestor(part.block->getParent()))
      return;
    b.setInsertionPointToEnd(part.block);
    auto argument = dyn_cast<BlockArgument>(value);
    int64_t host = feeder(device);
    bool isFeed = argument && argument.getOwner() == &source.getBody().front();
    if (isFeed && host != device) {
      // The caller's memory is the host's.
      provide(value, host);
      b.setInsertionPointToEnd(part.block);
    } else if (isFeed) {
      Block &entry = part.function.getBody().front();
      part.mapping.map(value, entry.addArgument(value.getType(), value.getLoc()));
      part.feeds.push_back(argument.getArgNumber());
      return;
    }
    if (Operation *def = value.getDefiningOp(); def && isFree(def)) {
      b.clone(*def, part.mapping);
      return;
    }
    int64_t from = isFeed ? host : deviceOf(value);
    std::string key = keyOf(value, from, device);
    int64_t edge = addEdge(key, from, device);
    bool small = isCompressed(value.getType(), from, device);
    Type crosses = value.getType();
    if (small)
      crosses = cast<RankedTensorType>(crosses).clone(unsignedType(16));
    Value arrived = weir::ReceiveOp::create(b, value.getLoc(), crosses, edge, key);
    part.mapping.map(value, small ? fillWithZeros(arrived) : arrived);
    Value sent = parts[from].mapping.lookup(value);
    b.setInsertionPointAfterValue(sent);
    if (small)
      sent = truncate(sent);
    auto send = weir::SendOp::create(b, value.getLoc(), sent, edge, key);
    delayLater(send, value, from, device);
  }

  int64_t addEdge(StringRef key, int64_t from, int64_t to) {
    edges.push_back(b.getDictionaryAttr({b.getNamedAttr("destination", b.getI64IntegerAttr(to)),
                                         b.getNamedAttr("name", b.getStringAttr(key)),
                                         b.getNamedAttr("source", b.getI64IntegerAttr(from))}));
    return int64_t(edges.size()) - 1;
  }

  /// Notes a send to the operation at hand, whose times say how long it can wait.
  /// What goes to or from an offload device goes at once: its queue overlaps with
  /// the copy.
  void delayLater(weir::SendOp send, Value value, int64_t from, int64_t to) {
    auto module = source->getParentOfType<ModuleOp>();
    std::optional<SimulatedTimes> use;
    if (consumer && isa<TensorType>(value.getType()))
      use = timesOf(consumer);
    if (!use || isOffloadDevice(module, from) || isOffloadDevice(module, to))
      return;
    LateTransfers::Transfer transfer;
    transfer.send = send;
    transfer.from = from;
    transfer.to = to;
    if (Operation *def = value.getDefiningOp())
      transfer.producer = places.lookup(def);
    transfer.consumer = places.lookup(consumer);
    transfer.bytes = bytesOf(value.getType());
    placement::Link link = cluster.between(from, to);
    transfer.latest = use->latest - link.latency - transfer.bytes * link.timePerSize;
    transfer.askLatency = cluster.between(to, from).latency;
    transfer.useStart = use->earliest;
    transfer.senderEnd = lastUse(value, from);
    transfer.receiverEnd = lastUse(value, to);
    late.sent(transfer);
  }

  /// When a device is through with a value in the simulated step; when it is
  /// made, where that device has no use of it.
  double lastUse(Value value, int64_t device) {
    double end = 0;
    if (Operation *def = value.getDefiningOp())
      if (auto times = timesOf(def))
        end = times->earliestEnd();
    for (Operation *user : value.getUsers()) {
      Operation *at = source.getBody().front().findAncestorOpInBlock(*user);
      auto times = timesOf(at);
      if (times && (isControl(at) ? devicesOf(at).contains(device) : deviceOf(at) == device))
        end = std::max(end, times->earliestEnd());
    }
    return end;
  }

  /// What devices hold beside what they send and receive.
  void noteMemory(Block &body) {
    for (Operation &op : body.without_terminator())
      if (auto times = timesOf(&op); times && times->stored > 0) {
        double end = times->earliestEnd();
        for (Value result : op.getResults())
          end = std::max(end, lastUse(result, deviceOf(&op)));
        late.holds(deviceOf(&op), times->earliest, end, times->stored);
      }
  }

  /// The receiver asks for a tensor before it comes to `before`.
  Value ask(const LateTransfers::Transfer &transfer, Operation *before) {
    weir::SendOp send = transfer.send;
    std::string key = ("request " + send.getKey().split(';').first + ";" +
                       cast<StringAttr>(devices[transfer.to]).getValue() + ";" +
                       cast<StringAttr>(devices[transfer.from]).getValue())
                          .str();
    int64_t edge = addEdge(key, transfer.to, transfer.from);
    b.setInsertionPoint(before);
    LateTransfers::keepPlace(weir::SendOp::create(b, send.getLoc(), ValueRange(), edge, key));
    b.setInsertionPoint(send);
    return weir::ReceiveOp::create(b, send.getLoc(), TokenType::get(b.getContext()), edge, key);
  }

  bool isCompressed(Type type, int64_t from, int64_t to) const {
    size_t count = cluster.devices.size();
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getElementType().isF32() && count == devices.size() &&
           cluster.compressed[size_t(from) * count + size_t(to)];
  }

  Type unsignedType(unsigned bits) {
    return IntegerType::get(b.getContext(), bits, IntegerType::Unsigned);
  }
  Value sixteen(Location loc) {
    auto type = RankedTensorType::get({}, unsignedType(32));
    return ConstantOp::create(b, loc, DenseElementsAttr::get(type, APInt(32, 16)));
  }
  /// The upper half of each f32's bits, as the white paper's lossy transfer has
  /// it (section 5.5): no rounding.
  Value truncate(Value value) {
    Location loc = value.getLoc();
    auto type = cast<RankedTensorType>(value.getType());
    Type wide = type.clone(unsignedType(32));
    Value bits = BitcastOp::create(b, loc, wide, value);
    Value upper = ShrOp::create(b, loc, wide, bits, sixteen(loc));
    return CastOp::create(b, loc, type.clone(unsignedType(16)), upper,
                          /*saturate=*/false);
  }
  Value fillWithZeros(Value value) {
    Location loc = value.getLoc();
    auto type = cast<RankedTensorType>(value.getType());
    Type wide = type.clone(unsignedType(32));
    Value bits = CastOp::create(b, loc, wide, value, /*saturate=*/false);
    Value upper = ShlOp::create(b, loc, wide, bits, sixteen(loc));
    return BitcastOp::create(b, loc, type.clone(b.getF32Type()), upper);
  }

  /// "node:port;source device;destination device". What a loop carries is named
  /// by the loop's node.
  std::string keyOf(Value value, int64_t from, int64_t to) {
    Location loc = value.getLoc();
    unsigned port = 0;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      loc = argument.getOwner()->getParentOp()->getLoc();
      port = argument.getArgNumber();
    } else {
      port = cast<OpResult>(value).getResultNumber();
    }
    return (nodeName(loc) + ":" + std::to_string(port) + ";" +
            cast<StringAttr>(devices[from]).getValue() + ";" +
            cast<StringAttr>(devices[to]).getValue())
        .str();
  }

  func::FuncOp source;
  ArrayAttr devices;
  const DeviceSet &cluster;
  SmallVector<Attribute> &edges;
  OpBuilder b;
  std::map<int64_t, Part> parts;
  DenseMap<Operation *, int64_t> places; ///< of the function's own operations
  Operation *consumer = nullptr;         ///< of these, what is being provided for
  LateTransfers late;
};

struct PartitionPass : weir::impl::WeirPartitionPassBase<PartitionPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder b(module.getContext());
    auto devices = module->getAttrOfType<ArrayAttr>("weir_plan.devices");
    DeviceSet cluster = DeviceSet::of(module, {});
    // Those of collectives are there already.
    SmallVector<Attribute> edges;
    if (auto made = module->getAttrOfType<ArrayAttr>("weir_plan.edges"))
      edges.assign(made.begin(), made.end());
    int64_t moved = 0, asked = 0;
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      Devices used;
      for (Operation &op : function.getBody().front().without_terminator())
        collectDevices(&op, used);
      bool offloads =
          llvm::any_of(used, [&](int64_t device) { return isOffloadDevice(module, device); });
      if (used.size() > 1 || offloads) {
        Splitter splitter(function, devices, cluster, edges);
        splitter.run(used);
        moved += splitter.transfers().moved;
        asked += splitter.transfers().asked;
        continue;
      }
      int64_t device = used.empty() ? 0 : used.front();
      function->setAttr("weir.device_index", b.getI64IntegerAttr(device));
    }
    module->setAttr("weir_plan.edges", b.getArrayAttr(edges));
    if (moved || asked)
      module->setAttr("weir_plan.late_transfers",
                      b.getDictionaryAttr({b.getNamedAttr("asked", b.getI64IntegerAttr(asked)),
                                           b.getNamedAttr("moved", b.getI64IntegerAttr(moved))}));
    // They have done their service, and say nothing true of copies.
    removeTimes(module);
    module.walk([](Operation *op) {
      op->removeAttr("weir.homes");
      // Kernels that differ in nothing else are one.
      if (!isa<func::FuncOp>(op))
        op->removeAttr("weir.device_index");
    });
  }
};
} // namespace

//===- CostModel.cpp - a module as a placement problem --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/partition/CostModel.h"
#include "dialects/weir/CustomAttributes.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "passes/analysis/Clusters.h"

using namespace mlir;
using namespace weir;

/// What is not known before a run: how often a loop repeats, how large a
/// dimension is, how many bytes a string has.
static constexpr double usualTrips = 8;
static constexpr int64_t openSize = 32, stringBytes = 16;
/// Bytes that a link's latency stands for in each further iteration.
static constexpr double latencyBytes = 25e3;

double weir::bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  double bytes = stringBytes;
  Type element = tensor.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    bytes = 2 * llvm::divideCeil(complex.getElementType().getIntOrFloatBitWidth(), 8u);
  else if (element.isIntOrFloat())
    bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8u);
  for (int64_t size : tensor.getShape())
    bytes *= double(ShapedType::isDynamic(size) ? openSize : size);
  return bytes;
}

static double elementsOf(Operation *op) {
  double count = 0;
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      double each = 1;
      for (int64_t size : tensor.getShape())
        each *= double(ShapedType::isDynamic(size) ? openSize : size);
      count += each;
    }
  return count;
}

DenseMap<Operation *, Operation *> weir::kernelRoots(ModuleOp module) {
  DenseMap<Operation *, Operation *> roots;
  module.walk([&](Block *block) {
    if (isa<ModuleOp>(block->getParentOp()))
      return;
    for (const Cluster &cluster : clusterBlock(*block))
      for (Operation *op : cluster.operations) {
        if (isFree(op) || op->getBlock() != block)
          continue;
        // What several kernels compute belongs to none.
        auto [it, isNew] = roots.try_emplace(op, cluster.root());
        if (!isNew)
          it->second = op;
      }
  });
  return roots;
}

DenseMap<Operation *, Operation *> weir::uniteKernels(ModuleOp module, Constraints &constraints) {
  DenseMap<Operation *, Operation *> roots = kernelRoots(module);
  module.walk([&](Operation *op) {
    if (auto it = roots.find(op); it != roots.end())
      constraints.tryUnite(op, it->second);
  });
  return roots;
}

namespace {

class ModelBuilder {
public:
  ModelBuilder(ModuleOp module, const Constraints &constraints,
               const DenseMap<Operation *, Operation *> &kernelOf)
      : module(module), constraints(constraints), kernelOf(kernelOf) {}

  CostModel build() {
    const DeviceSet &cluster = constraints.cluster();
    model.problem.links = cluster.links;
    for (const ClusterDevice &device : cluster.devices)
      model.problem.memoryLimits.push_back(device.memory);
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<ModuleOp, func::FuncOp>(op) || !isPlaced(op))
        return WalkResult::advance();
      numbers[op] = int32_t(model.operations.size());
      model.operations.push_back(op);
      return op->getNumRegions() ? WalkResult::skip() : WalkResult::advance();
    });
    if (auto profile = module->getAttrOfType<DictionaryAttr>("weir.profile")) {
      // A node's time is shared by the operations that it became.
      for (Operation *op : model.operations)
        ++operationsOf[nodeName(op->getLoc())];
      for (NamedAttribute entry : profile)
        seconds[entry.getName().getValue()] = cast<FloatAttr>(entry.getValue()).getValueAsDouble();
    }
    for (Operation *op : model.operations)
      addNode(op);
    for (Operation *op : model.operations)
      addEdges(op);
    return std::move(model);
  }

private:
  static double trips(Operation *op) {
    double count = 1;
    for (Operation *at = op->getParentOp(); at; at = at->getParentOp())
      if (isa<WhileOp>(at))
        count *= usualTrips;
    return count;
  }

  /// The root of the kernel that computes `op`: what may be on another device
  /// than the root is a kernel of its own.
  Operation *kernel(Operation *op) const {
    auto it = kernelOf.find(op);
    if (it == kernelOf.end())
      return nullptr;
    bool together = constraints.groupOf(it->second) == constraints.groupOf(op);
    return together ? it->second : op;
  }
  bool together(Operation *a, Operation *b) const {
    return a && b && kernel(a) && kernel(a) == kernel(b);
  }

  /// Whether any user is outside of the kernel: then the result is stored.
  bool isStored(Operation *op) const {
    for (Operation *user : op->getUsers())
      if (!together(op, user))
        return true;
    return false;
  }

  void addNode(Operation *op) {
    OperationRole role = roleOf(op);
    double bytes = 0, weights = 0, results = 0;
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!together(op, def))
        bytes += bytesOf(operand.getType());
      if (def && isa<ConstantOp>(def))
        weights += bytesOf(operand.getType());
    }
    if (isStored(op))
      for (Type type : op->getResultTypes())
        results += bytesOf(type);
    double flops = elementsOf(op);
    if (auto cost = dyn_cast<CostOpInterface>(op))
      if (int64_t counted = cost.getFlops(); counted >= 0)
        flops = double(counted);
    if (auto each = op->getAttrOfType<FloatAttr>(customFlopsAttr))
      flops = each.getValueAsDouble() * elementsOf(op);
    bool launches = role == OperationRole::Kernel
                        ? kernel(op) == op || !kernel(op)
                        : role == OperationRole::Step && !isa<ReshapeOp>(op);
    bool works = role == OperationRole::Kernel ||
                 (role == OperationRole::Step && !isa<ReshapeOp>(op) && op->getNumResults() > 0 &&
                  isa<TensorType>(op->getResult(0).getType()));
    placement::Node node;
    const DeviceSet &cluster = constraints.cluster();
    double repeat = trips(op);
    for (const ClusterDevice &device : cluster.devices) {
      double time =
          works ? std::max(flops / device.flops, (bytes + results) / device.bandwidth) : 0;
      node.times.push_back(repeat * (time + (launches ? device.overhead : 0)));
    }
    // Measured on a device like the first one.
    StringRef name = nodeName(op->getLoc());
    auto profiled = seconds.find(name);
    bool isMeasured = profiled != seconds.end();
    if (isMeasured) {
      double base = node.times[0], time = profiled->second / operationsOf.lookup(name);
      for (double &each : node.times)
        each = base > 0 ? time * each / base : time;
    }
    int32_t group = constraints.groupOf(op);
    llvm::ArrayRef<int32_t> candidates = constraints.candidates(group);
    for (size_t d = 0; d < node.times.size(); ++d)
      if (!llvm::is_contained(candidates, int32_t(d)))
        node.times[d] = placement::never;
    node.memory = weights + results;
    model.stored.push_back(results);
    node.group = group;
    model.problem.nodes.push_back(std::move(node));
    model.measured.push_back(isMeasured);
  }

  /// Calls visit for every placed operation that may compute `value`. Back
  /// edges of loops are left out: iterations are one node.
  void forEachSource(Value value, llvm::DenseSet<Value> &seen,
                     llvm::function_ref<void(Operation *)> visit) {
    if (!seen.insert(value).second)
      return;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto loop = dyn_cast<WhileOp>(argument.getOwner()->getParentOp()))
        forEachSource(loop.getInits()[argument.getArgNumber()], seen, visit);
      return;
    }
    Operation *def = value.getDefiningOp();
    unsigned index = cast<OpResult>(value).getResultNumber();
    if (isControl(def)) {
      for (Region &region : def->getRegions())
        if (auto *end = region.front().getTerminator();
            end->getNumOperands() > index && !(isa<WhileOp>(def) && region.getRegionNumber() == 0))
          forEachSource(end->getOperand(index), seen, visit);
      if (auto loop = dyn_cast<WhileOp>(def))
        forEachSource(loop.getInits()[index], seen, visit);
      return;
    }
    if (numbers.count(def))
      visit(def);
  }

  void addEdge(Value value, double bytes, Operation *user) {
    llvm::DenseSet<Value> seen;
    int32_t to = numbers.lookup(user);
    forEachSource(value, seen, [&](Operation *def) {
      int32_t from = numbers.lookup(def);
      if (from == to)
        return;
      double repeat = std::min(trips(def), trips(user));
      model.problem.edges.push_back({from, to, bytes * repeat + (repeat - 1) * latencyBytes});
    });
  }

  void addEdges(Operation *op) {
    for (Value operand : op->getOperands())
      addEdge(operand, bytesOf(operand.getType()), op);
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (inner != op && operand.getParentBlock() == op->getBlock())
          addEdge(operand, bytesOf(operand.getType()), op);
    });
    // Whether it runs at all.
    for (Operation *at = op; !isa<func::FuncOp>(at->getParentOp()); at = at->getParentOp()) {
      Operation *parent = at->getParentOp();
      if (auto branch = dyn_cast<IfOp>(parent))
        addEdge(branch.getCondition(), 1, op);
      else if (auto loop = dyn_cast<WhileOp>(parent))
        if (at->getParentRegion() == &loop.getBody())
          addEdge(loop.getCondition().front().getTerminator()->getOperand(0), 1, op);
    }
  }

  ModuleOp module;
  const Constraints &constraints;
  const DenseMap<Operation *, Operation *> &kernelOf;
  DenseMap<Operation *, int32_t> numbers;
  llvm::StringMap<double> seconds;
  llvm::StringMap<int32_t> operationsOf;
  CostModel model;
};

} // namespace

CostModel weir::buildCostModel(ModuleOp module, const Constraints &constraints,
                               const DenseMap<Operation *, Operation *> &kernelOf) {
  return ModelBuilder(module, constraints, kernelOf).build();
}

//===- MarkDeviceControl.cpp - loops that devices decide themselves -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   while |x| > tolerance { x = step(x) }
//
// |x| > tolerance is an integer that a device computes. As the host's it would be copied
// there, and the answer back, each time the loop comes by.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/DeviceSet.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/ScalarForm.h"
#include "passes/partition/Constraints.h"
#include "passes/partition/Passes.h"
#include "llvm/ADT/StringMap.h"

namespace weir {
#define GEN_PASS_DEF_WEIRMARKDEVICECONTROLPASS
#include "passes/partition/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

struct MarkDeviceControlPass : weir::impl::WeirMarkDeviceControlPassBase<MarkDeviceControlPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    DeviceSet devices = DeviceSet::of(module, {});
    for (const ClusterDevice &device : devices.devices)
      if (const DeviceKind *kind = kindOf(device.name);
          kind && kind->decidesControl() && !llvm::is_contained(kinds, kind))
        kinds.push_back(kind);
    if (kinds.empty())
      return;
    gatherRequests(module);
    for (auto function : module.getOps<func::FuncOp>())
      function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (!isControl(op) || llvm::none_of(kinds, [&](auto *kind) { return mark(op, *kind); }))
          return WalkResult::advance();
        return WalkResult::skip();
      });
  }

private:
  /// What nodes ask for, by name; colocated ones are tied to nodes that nobody here looks at.
  void gatherRequests(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>()) {
      if (auto table = function->getAttrOfType<DictionaryAttr>("weir.device_requests"))
        for (NamedAttribute entry : table)
          requests[entry.getName().getValue()] = cast<StringAttr>(entry.getValue()).str();
      if (auto table = function->getAttrOfType<DictionaryAttr>("weir.colocations"))
        for (NamedAttribute entry : table) {
          tied.insert(entry.getName().getValue());
          for (auto with : cast<ArrayAttr>(entry.getValue()).getAsRange<StringAttr>())
            tied.insert(with.getValue());
        }
    }
    module.walk([&](Operation *op) {
      if (auto request = op->getAttrOfType<StringAttr>("weir.device"))
        requests[nodeName(op->getLoc())] = request.str();
    });
    if (auto locks = module->getAttrOfType<DictionaryAttr>("weir.locks"))
      for (NamedAttribute entry : locks)
        requests[entry.getName().getValue()] = cast<StringAttr>(entry.getValue()).str();
  }

  /// Whether all of them may be on one device of the kind.
  bool suitRequests(ArrayRef<Operation *> operations, const DeviceKind &kind) const {
    DeviceName asked;
    for (Operation *op : operations) {
      StringRef node = nodeName(op->getLoc());
      if (tied.contains(node))
        return false;
      auto it = requests.find(node);
      if (it == requests.end())
        continue;
      std::optional<DeviceName> own = DeviceName::parse(it->second);
      std::optional<DeviceName> both = own ? asked.intersect(*own) : std::nullopt;
      if (!both)
        return false;
      asked = *both;
    }
    return !asked.type || *asked.type == kind.type();
  }

  static bool isOfKnownSize(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat() &&
           tensor.getElementType().getIntOrFloatBitWidth() <= 64;
  }

  static std::string sentence(Operation *op, const std::string &why) {
    return "node \"" + nodeName(op->getLoc()).str() + "\" " + why;
  }

  /// Why no kernel of the device computes `op`, which has its mark; empty: one does.
  static std::string whyNoKernel(const DeviceKind &kind, Operation *op) {
    // Where nothing inside assigns, a value that is read is the same in all turns.
    bool isRead = isa<VariableReadOp>(op);
    if (isa<VariableAssignOp>(op))
      return sentence(op, "assigns a variable");
    if (op->getNumRegions() != 0 || (!isRead && !isMemoryEffectFree(op)))
      return sentence(op, "has effects");
    if (!llvm::all_of(op->getResultTypes(), isOfKnownSize))
      return sentence(op, "has a result whose size is open");
    std::string why = whyNotOn(kind, op);
    if (!why.empty())
      return sentence(op, why);
    return isRead || roleOf(op) == OperationRole::Kernel || isa<ReshapeOp>(op)
               ? ""
               : sentence(op, "is computed by the step");
  }

  /// The same for all that lies in a loop or conditional, in which others may lie.
  static std::string whyNotAll(const DeviceKind &kind, Operation *control, int depth) {
    if (depth > mostDecidedDepth)
      return sentence(control, "lies too deep in others");
    if (!llvm::all_of(control->getResultTypes(), isOfKnownSize))
      return sentence(control, "carries values whose size is open");
    for (Region &region : control->getRegions())
      for (Operation &op : region.front().without_terminator()) {
        std::string why;
        if (isControl(&op))
          why = whyNotAll(kind, &op, depth + 1);
        else if (!isa<ConstantOp>(op) || !isOfKnownSize(op.getResult(0).getType()))
          why = whyNoKernel(kind, &op);
        if (!why.empty())
          return why;
      }
    return "";
  }

  /// Whether the host would read an integer that `op` makes of the device's data.
  static bool makesForHost(const DeviceKind &kind, Operation *op) {
    return !isControl(op) && !isFree(op) &&
           llvm::any_of(op->getResultTypes(), plan::isScalarForm) && !whyNotOn(kind, op).empty();
  }

  /// Whether `op` makes few integers of such, too: by up to so many operations in between.
  static bool followsData(const DeviceKind &kind, Operation *op) {
    constexpr int deepest = 16;
    llvm::DenseSet<Operation *> seen;
    SmallVector<Operation *> level{op};
    for (int depth = 0; depth < deepest && !level.empty(); ++depth) {
      SmallVector<Operation *> next;
      for (Operation *each : level) {
        if (!each || isControl(each) || isFree(each) || !seen.insert(each).second)
          continue;
        if (makesForHost(kind, each))
          return true;
        if (roleOf(each) == OperationRole::Scalar)
          for (Value operand : each->getOperands())
            next.push_back(operand.getDefiningOp());
      }
      level = std::move(next);
    }
    return false;
  }

  /// What computes a conditional's condition of the device's data, last one first; empty: the
  /// step knows it.
  static SmallVector<Operation *> conditionOf(const DeviceKind &kind, IfOp branch) {
    SmallVector<Operation *> found;
    auto add = [&](Value value) {
      Operation *def = value.getDefiningOp();
      if (followsData(kind, def) && !llvm::is_contained(found, def))
        found.push_back(def);
    };
    add(branch.getCondition());
    for (size_t i = 0; i < found.size(); ++i)
      for (Value operand : found[i]->getOperands())
        add(operand);
    return found;
  }

  bool mark(Operation *control, const DeviceKind &kind) {
    SmallVector<Operation *> marked{control}, inside;
    bool isWanted = false;
    control->walk([&](Operation *op) {
      if (isPlaced(op))
        inside.push_back(op);
      isWanted |= op != control && makesForHost(kind, op);
    });
    if (auto branch = dyn_cast<IfOp>(control)) {
      SmallVector<Operation *> condition = conditionOf(kind, branch);
      // Inside alone nothing is won: the step knows which side it takes.
      if (condition.empty())
        return false;
      isWanted = true;
      marked.append(condition);
      inside.append(condition);
    }
    if (!isWanted || inside.empty() || !suitRequests(inside, kind))
      return false;
    for (Operation *op : marked)
      op->setAttr(decidedOnDeviceAttr, UnitAttr::get(op->getContext()));
    std::string why = whyNotAll(kind, control, 1);
    for (Operation *op : ArrayRef(marked).drop_front())
      if (why.empty())
        why = whyNoKernel(kind, op);
    if (why.empty())
      return true;
    for (Operation *op : marked)
      op->removeAttr(decidedOnDeviceAttr);
    control->setAttr(
        notDecidedAttr,
        StringAttr::get(control->getContext(),
                        "the host decides \"" + nodeName(control->getLoc()).str() + "\": " + why));
    return false;
  }

  SmallVector<const DeviceKind *> kinds;
  llvm::StringMap<std::string> requests;
  llvm::StringSet<> tied;
};

} // namespace

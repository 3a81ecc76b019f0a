//===- Constraints.cpp - which nodes go together, and where they may ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/partition/Constraints.h"
#include "dialects/plan/Plan.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/Variables.h"

using namespace mlir;
using namespace weir;

/// Devices that a model's own names may call for without a cluster file.
static constexpr int64_t mostImpliedDevices = 256;

bool weir::isFree(Operation *op) { return isa<ConstantOp, VariableOp, plan::HasCollectiveOp>(op); }

bool weir::isControl(Operation *op) { return isa<IfOp, WhileOp>(op); }

bool weir::isPlaced(Operation *op) {
  return !isFree(op) && !isControl(op) && !op->hasTrait<OpTrait::IsTerminator>();
}

int32_t Constraints::find(int32_t element) const {
  while (elements[element].parent != element) {
    int32_t &parent = elements[element].parent;
    parent = elements[parent].parent;
    element = parent;
  }
  return element;
}

int32_t Constraints::element(StringRef name) {
  auto [it, isNew] = known.try_emplace(name, int32_t(elements.size()));
  if (isNew) {
    Element fresh;
    fresh.name = name.str();
    fresh.parent = it->second;
    fresh.members = {it->second};
    elements.push_back(std::move(fresh));
  }
  return it->second;
}

void Constraints::unite(int32_t a, int32_t b, std::string reason) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  // The first node's name stays the group's.
  if (b < a)
    std::swap(a, b);
  Element &into = elements[a], &from = elements[b];
  from.parent = a;
  into.members.insert(into.members.end(), from.members.begin(), from.members.end());
  into.reasons.insert(into.reasons.end(), from.reasons.begin(), from.reasons.end());
  if (!reason.empty())
    into.reasons.push_back(std::move(reason));
}

Location Constraints::locationOf(int32_t element) const {
  auto it = locations.find(element);
  if (it != locations.end())
    return it->second;
  return NameLoc::get(StringAttr::get(module->getContext(), elements[element].name));
}

InFlightDiagnostic Constraints::fail(int32_t element, const Twine &message) {
  return emitError(locationOf(element)) << message;
}

LogicalResult Constraints::gather() {
  gatherOperations();
  if (failed(gatherRequests()))
    return failure();
  gatherColocations();
  gatherResources();
  gatherControl();
  gatherAbilities();
  if (failed(intersect()))
    return failure();
  return findCandidates();
}

void Constraints::gatherOperations() {
  int32_t unnamed = 0;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ModuleOp, func::FuncOp>(op) || !isPlaced(op))
      return WalkResult::advance();
    StringRef name = nodeName(op->getLoc());
    int32_t index = name == "?" ? element("?" + std::to_string(unnamed++)) : element(name);
    elementOf[op] = index;
    locations.try_emplace(index, op->getLoc());
    if (auto request = op->getAttrOfType<StringAttr>("weir.device"))
      if (elements[index].request.empty()) {
        elements[index].request = request.str();
        elements[index].requestFrom = "the model";
      }
    // What else has regions runs whole.
    return op->getNumRegions() ? WalkResult::skip() : WalkResult::advance();
  });
}

LogicalResult Constraints::gatherRequests() {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto table = function->getAttrOfType<DictionaryAttr>("weir.device_requests"))
      for (NamedAttribute entry : table) {
        Element &node = elements[element(entry.getName().getValue())];
        if (node.request.empty()) {
          node.request = cast<StringAttr>(entry.getValue()).str();
          node.requestFrom = "the model";
        }
      }
  if (auto locks = module->getAttrOfType<DictionaryAttr>("weir.locks"))
    for (NamedAttribute entry : locks) {
      auto it = known.find(entry.getName().getValue());
      if (it == known.end())
        continue; // the driver knows which nodes there are
      elements[it->second].request = cast<StringAttr>(entry.getValue()).str();
      elements[it->second].requestFrom = "the placement file";
      elements[it->second].locked = true;
    }
  SmallVector<DeviceName> asked;
  bool good = true;
  for (int32_t i = 0; i < int32_t(elements.size()); ++i) {
    Element &node = elements[i];
    if (node.request.empty())
      continue;
    std::optional<DeviceName> name = DeviceName::parse(node.request);
    if (!name) {
      fail(i, "W0601: found device \"" + node.request +
                  "\", which cannot be read; possible: "
                  "/job:worker/replica:0/task:0/device:CPU:0, any part may be "
                  "missing");
      good = false;
    } else if (name->id.value_or(0) >= mostImpliedDevices && !module->hasAttr("weir.cluster")) {
      fail(i, "W0601: found device \"" + node.request +
                  "\"; possible without a file of devices: numbers up to " +
                  Twine(mostImpliedDevices - 1));
      good = false;
    } else {
      asked.push_back(*name);
    }
  }
  devices = DeviceSet::of(module, asked);
  return success(good);
}

void Constraints::gatherColocations() {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto table = function->getAttrOfType<DictionaryAttr>("weir.colocations"))
      for (NamedAttribute entry : table)
        for (auto with : cast<ArrayAttr>(entry.getValue()).getAsRange<StringAttr>()) {
          StringRef name = entry.getName().getValue();
          unite(element(name), element(with.getValue()),
                "\"" + name.str() + "\" is colocated with \"" + with.getValue().str() + "\"");
        }
}

void Constraints::gatherResources() {
  // In the order of operations: groups are to come out the same every time.
  int32_t effects = -1;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto it = elementOf.find(op);
    if (it == elementOf.end())
      return;
    if (auto call = dyn_cast<CustomCallOp>(op); call && !call.getPure()) {
      // Their order is the model's, and no token carries it.
      if (effects >= 0)
        unite(effects, it->second, "both are calls with effects");
      effects = it->second;
      // Queues and tables are the session's: kernels of the runtime find them
      // wherever they run. What a user's function touches only its user knows.
      elements[effects].yields |=
          !call->hasAttr("weir.operation") && call.getCallee().starts_with("weir_kernel_");
    }
    for (Value operand : op->getOperands()) {
      if (!isa<ResourceType>(operand.getType()))
        continue;
      VariableOp variable = variableOf(operand);
      if (!variable)
        continue;
      int32_t owner = element(nodeName(variable.getLoc()));
      // One variable may have several handles.
      int32_t shared =
          element("variable " + variable.getContainer().str() + "/" + variable.getName().str());
      unite(owner, shared, "");
      // What uses a resource runs where it lives, whatever it asks for.
      elements[it->second].yields |= it->second != owner;
      unite(owner, it->second,
            "\"" + elements[it->second].name + "\" uses variable \"" + elements[owner].name + "\"");
    }
  });
}

void Constraints::gatherControl() {
  int32_t first = -1;
  auto join = [&](Operation *op) {
    auto it = elementOf.find(op);
    if (it == elementOf.end())
      return;
    if (first >= 0)
      unite(first, it->second,
            "\"" + elements[first].name + "\" and \"" + elements[it->second].name +
                "\" belong to a loop or conditional that a device decides itself");
    first = it->second;
  };
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isControl(op) || !op->hasAttr(decidedOnDeviceAttr))
      return WalkResult::advance();
    first = -1;
    op->walk(join);
    // What computes a conditional's condition has the mark itself.
    SmallVector<Operation *> computing;
    if (auto branch = dyn_cast<IfOp>(op))
      computing.push_back(branch.getCondition().getDefiningOp());
    for (size_t i = 0; i < computing.size(); ++i)
      if (Operation *each = computing[i];
          each && !isControl(each) && each->hasAttr(decidedOnDeviceAttr)) {
        join(each);
        for (Value operand : each->getOperands())
          computing.push_back(operand.getDefiningOp());
      }
    return WalkResult::skip();
  });
}

void Constraints::gatherAbilities() {
  for (const ClusterDevice &device : devices.devices)
    if (const DeviceKind *kind = kindOf(device.name); kind && !llvm::is_contained(kinds, kind))
      kinds.push_back(kind);
  if (kinds.empty())
    return;
  for (Element &node : elements)
    node.refusals.resize(kinds.size());
  module.walk([&](Operation *op) {
    auto it = elementOf.find(op);
    if (it == elementOf.end())
      return;
    for (auto [kind, refusal] : llvm::zip(kinds, elements[it->second].refusals))
      if (refusal.empty())
        refusal = whyNotOn(*kind, op);
  });
  // Why what the host reads of a device's data inside of a loop is not the device's own.
  module.walk([&](Operation *control) {
    auto why = control->getAttrOfType<StringAttr>(notDecidedAttr);
    if (!why)
      return;
    control->walk([&](Operation *op) {
      auto it = elementOf.find(op);
      if (it != elementOf.end() && isRefused(elements[find(it->second)], kinds.front()))
        elements[find(it->second)].reasons.push_back(why.getValue().str());
    });
  });
}

bool Constraints::isRefused(const Element &root, const DeviceKind *kind) const {
  auto at = size_t(llvm::find(kinds, kind) - kinds.begin());
  return llvm::any_of(root.members,
                      [&](int32_t member) { return !elements[member].refusals[at].empty(); });
}

LogicalResult Constraints::intersect() {
  // What the user locked comes first, and what gives way to its group last.
  auto turnOf = [](const Element &node) { return node.locked ? 0 : node.yields ? 2 : 1; };
  bool good = true;
  for (int turn : {0, 1, 2})
    for (int32_t i = 0; i < int32_t(elements.size()); ++i) {
      Element &node = elements[i];
      if (node.request.empty() || turnOf(node) != turn)
        continue;
      Element &root = elements[find(i)];
      DeviceName asked = *DeviceName::parse(node.request);
      if (auto both = root.asked.intersect(asked)) {
        root.asked = *both;
      } else if (turn == 0 || (turn == 1 && !soft)) {
        InFlightDiagnostic error =
            fail(i, "W0602: found device \"" + node.request +
                        "\", but the nodes that it is colocated with ask for " + root.asked.str() +
                        "; possible: one device for all of them");
        for (const std::string &line : describe(find(i)))
          error.attachNote() << line;
        good = false;
      }
    }
  return success(good);
}

LogicalResult Constraints::findCandidates() {
  bool good = true;
  for (int32_t i = 0; i < int32_t(elements.size()); ++i) {
    if (find(i) != i)
      continue;
    Element &root = elements[i];
    auto collect = [&](const DeviceName &asked) {
      for (size_t d = 0; d < devices.devices.size(); ++d) {
        const DeviceName &name = devices.devices[d].name;
        const DeviceKind *kind = kindOf(name);
        if (asked.matches(name) && !(kind && isRefused(root, kind)))
          root.candidates.push_back(int32_t(d));
      }
    };
    collect(root.asked);
    bool locked =
        llvm::any_of(root.members, [&](int32_t member) { return elements[member].locked; });
    if (root.candidates.empty() && soft && !locked) {
      DeviceName task = root.asked;
      task.type.reset();
      task.id.reset();
      collect(task);
    }
    if (!root.candidates.empty())
      continue;
    InFlightDiagnostic error = fail(i, "W0601: found device \"" + root.asked.str() +
                                           "\", which is not there; possible: " + devices.list());
    if (root.members.size() > 1 ||
        llvm::any_of(kinds, [&](auto *kind) { return isRefused(root, kind); }))
      for (const std::string &line : describe(i))
        error.attachNote() << line;
    good = false;
  }
  return success(good);
}

void Constraints::tryUnite(Operation *a, Operation *b) {
  int32_t x = groupOf(a), y = groupOf(b);
  if (x == y)
    return;
  std::vector<int32_t> both;
  std::set_intersection(elements[x].candidates.begin(), elements[x].candidates.end(),
                        elements[y].candidates.begin(), elements[y].candidates.end(),
                        std::back_inserter(both));
  if (both.empty())
    return;
  unite(x, y,
        "\"" + nodeName(a->getLoc()).str() + "\" and \"" + nodeName(b->getLoc()).str() +
            "\" share a kernel");
  elements[find(x)].candidates = std::move(both);
}

std::vector<std::string> Constraints::describe(int32_t group) const {
  const Element &root = elements[find(group)];
  std::vector<std::string> lines;
  for (int32_t member : root.members)
    if (const Element &node = elements[member]; !node.request.empty())
      lines.push_back("node \"" + node.name + "\" asks for " + node.request + " (" +
                      node.requestFrom + ")");
  for (int32_t member : root.members)
    for (auto [k, refusal] : llvm::enumerate(elements[member].refusals))
      // What the host must do is the same for all kinds.
      if (!refusal.empty() &&
          !llvm::is_contained(llvm::ArrayRef(elements[member].refusals).take_front(k), refusal))
        lines.push_back("node \"" + elements[member].name + "\" stays on the host: it " + refusal);
  lines.insert(lines.end(), root.reasons.begin(), root.reasons.end());
  constexpr size_t most = 24;
  if (lines.size() > most) {
    size_t more = lines.size() - most;
    lines.resize(most);
    lines.push_back("and " + std::to_string(more) + " more");
  }
  return lines;
}

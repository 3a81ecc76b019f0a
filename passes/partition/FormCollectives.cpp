//===- FormCollectives.cpp - reductions that several devices share --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An all_reduce on devices 1 and 2 becomes a conditional that both have a part
// in, with a result for each:
//
//   if has_collective { 1: r1 = all_reduce a    2: r2 = all_reduce b }
//   else              { 1: r = a + (b from 2)   and to 2 }
//
// What the other side sends is made inside of it (weir.gate), so that nothing
// crosses where the devices reduce together. Where only one device uses the
// result it alone gets it; that is worth a collective from three devices on: of
// two one sends its value to the other, which adds it where it reads it.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/ScalarForm.h"
#include "passes/partition/Homes.h"
#include "passes/partition/HostCollectives.h"
#include "passes/partition/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRFORMCOLLECTIVESPASS
#include "passes/partition/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

/// Devices beyond these take part in none: runtimes keep sets of them in a
/// word.
static constexpr int64_t mostDevices = 64;
/// Of a reduction that one of them gets.
static constexpr size_t fewestSenders = 2;

namespace {

struct FormCollectivesPass : weir::impl::WeirFormCollectivesPassBase<FormCollectivesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto devices = module->getAttrOfType<ArrayAttr>("weir_plan.devices");
    names.clear();
    collectives.clear();
    for (Attribute name : devices ? devices.getValue() : ArrayRef<Attribute>())
      names.push_back(DeviceName::parse(cast<StringAttr>(name).getValue()).value_or(DeviceName()));
    if (names.size() < 2)
      return;
    formHostCollectives(module);
    // A loop or conditional comes by equally often on all devices that have a part of it, and in
    // one order: so do its reductions.
    SmallVector<AllReduceOp> found;
    module.walk([&](AllReduceOp op) { found.push_back(op); });
    for (AllReduceOp op : found)
      if (Parties parties = partiesOf(op); !parties.devices.empty())
        form(op, parties);
    if (!collectives.empty())
      module->setAttr("weir_plan.collectives", ArrayAttr::get(module.getContext(), collectives));
  }

private:
  struct Parties {
    std::vector<int64_t> devices;
    int64_t home = 0;     ///< the one that computes alone, where they do not
    bool isForAll = true; ///< else `home` alone gets the result
  };

  /// The devices of the inputs, where they may reduce together and it pays;
  /// else none.
  Parties partiesOf(AllReduceOp op) {
    Parties parties;
    std::vector<int64_t> &participants = parties.devices;
    auto type = dyn_cast<RankedTensorType>(op.getType());
    // The host reads few integers where they are made.
    if (!type || op.getInputs().size() < 2 || plan::isScalarForm(type))
      return {};
    const DeviceKind *kind = nullptr;
    for (Value input : op.getInputs()) {
      int64_t device = deviceOf(input);
      if (device < 0 || device >= mostDevices || input.getType() != type ||
          llvm::is_contained(participants, device))
        return {};
      const DeviceName &name = names[device],
                       &first = names[participants.empty() ? device : participants.front()];
      const DeviceKind *own = kindOf(name);
      if (!own || (kind && own != kind) || name.job != first.job || name.replica != first.replica ||
          name.task != first.task)
        return {};
      kind = own;
      participants.push_back(device);
    }
    llvm::SmallSetVector<int64_t, 8> users;
    for (OpOperand &use : op->getUses())
      if (int64_t device = deviceOfUse(use); llvm::is_contained(participants, device))
        users.insert(device);
    parties.home = deviceOf(op.getOperation());
    if (users.size() == 1)
      parties.home = users.front();
    else if (!llvm::is_contained(participants, parties.home))
      parties.home = participants.front();
    parties.isForAll = users.size() > 1;
    if ((!parties.isForAll && participants.size() <= fewestSenders) ||
        !kind->reducesTogether(type.getElementType()))
      return {};
    return parties;
  }

  void form(AllReduceOp op, const Parties &parties) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    auto number = int64_t(collectives.size());
    int64_t home = parties.home;
    ArrayRef<int64_t> participants = parties.devices,
                      getters = parties.isForAll ? participants : ArrayRef(home);
    Value together =
        plan::HasCollectiveOp::create(b, loc, RankedTensorType::get({}, b.getI1Type()), number);
    OperationState state(loc, IfOp::getOperationName());
    state.addOperands(together);
    state.addTypes(SmallVector<Type>(getters.size(), op.getType()));
    state.addRegion();
    state.addRegion();
    auto made = cast<IfOp>(b.create(state));
    made->setAttr("weir.homes", b.getDenseI64ArrayAttr(getters));

    b.createBlock(&made.getThenRegion());
    SmallVector<Value> results;
    for (auto [device, input] : llvm::zip(participants, op.getInputs())) {
      bool gets = llvm::is_contained(getters, device);
      auto part =
          plan::AllReduceOp::create(b, loc, gets ? op.getType() : Type(), number, input, Value());
      setDevice(part, device);
      if (gets)
        results.push_back(part.getResult());
    }
    YieldOp::create(b, loc, results);

    b.createBlock(&made.getElseRegion());
    IRMapping mapping;
    for (auto [device, input] : llvm::zip(participants, op.getInputs())) {
      if (device == home)
        continue;
      auto gate = GateOp::create(b, input.getLoc(), input, ValueRange());
      setDevice(gate, device);
      mapping.map(input, gate.getResult());
    }
    Operation *alone = b.clone(*op, mapping);
    setDevice(alone, home);
    YieldOp::create(b, loc, SmallVector<Value>(getters.size(), alone->getResult(0)));

    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      int64_t device = deviceOfUse(use);
      const auto *at = llvm::find(getters, device);
      if (at == getters.end())
        at = llvm::find(getters, home);
      use.set(made.getResult(at - getters.begin()));
    }
    describe(op, parties);
    op.erase();
  }

  /// For code generation, and for `weirc explain` where that was asked for.
  void describe(AllReduceOp op, const Parties &parties) {
    Builder b(op.getContext());
    int64_t receiver = parties.isForAll ? -1 : parties.home;
    StringRef node = nodeName(op.getLoc());
    Type element = cast<RankedTensorType>(op.getType()).getElementType();
    collectives.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("devices", b.getDenseI64ArrayAttr(parties.devices)),
         b.getNamedAttr("element", TypeAttr::get(element)),
         b.getNamedAttr("kind", op.getKindAttr()), b.getNamedAttr("node", b.getStringAttr(node)),
         b.getNamedAttr("receiver", b.getI64IntegerAttr(receiver))}));
    auto rows = getOperation()->getAttrOfType<ArrayAttr>("weir_plan.placement");
    if (!rows)
      return;
    std::string line = "its devices reduce together where the machine can:";
    for (int64_t device : parties.devices)
      line += " " + names[device].str();
    if (receiver >= 0)
      line += ", for " + names[receiver].str();
    SmallVector<Attribute> described(rows.begin(), rows.end());
    for (Attribute &each : described) {
      NamedAttrList row(cast<DictionaryAttr>(each));
      if (cast<StringAttr>(row.get("node")).getValue() != node)
        continue;
      SmallVector<Attribute> reasons(cast<ArrayAttr>(row.get("reasons")).getValue());
      reasons.push_back(b.getStringAttr(line));
      row.set("reasons", b.getArrayAttr(reasons));
      each = row.getDictionary(b.getContext());
    }
    getOperation()->setAttr("weir_plan.placement", b.getArrayAttr(described));
  }

  std::vector<DeviceName> names; ///< by device
  SmallVector<Attribute> collectives;
};
} // namespace

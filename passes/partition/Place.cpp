//===- Place.cpp - gives every operation a device ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "passes/partition/DeviceName.h"

namespace weir {
#define GEN_PASS_DEF_WEIRPLACEPASS
#include "passes/partition/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {
struct PlacePass : weir::impl::WeirPlacePassBase<PlacePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::set<int64_t> requested{0};
    bool failedAny = false;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      DenseMap<Value, int64_t> resourceDevice;
      for (Operation &op : function.getBody().front().without_terminator()) {
        auto index = place(&op, resourceDevice);
        failedAny |= failed(index);
        if (failed(index))
          continue;
        requested.insert(*index);
        op.setAttr("weir.device_index",
                   IntegerAttr::get(IntegerType::get(&getContext(), 64), *index));
        for (Value result : op.getResults())
          if (isa<ResourceType>(result.getType()))
            resourceDevice[result] = *index;
      }
    }
    if (failedAny)
      return signalPassFailure();
    // Devices are numbered densely up to the highest that is asked for.
    Builder b(&getContext());
    SmallVector<Attribute> names;
    for (int64_t i = 0; i <= *requested.rbegin(); ++i)
      names.push_back(b.getStringAttr(DeviceName::cpu(i).str()));
    module->setAttr("weir_plan.devices", b.getArrayAttr(names));
  }

  FailureOr<int64_t> place(Operation *op, DenseMap<Value, int64_t> &resources) {
    // What uses a resource runs where it lives.
    for (Value operand : op->getOperands())
      if (auto it = resources.find(operand); it != resources.end())
        return it->second;
    if (auto request = op->getAttrOfType<StringAttr>("weir.device");
        request && !request.empty()) {
      std::optional<DeviceName> name = DeviceName::parse(request.getValue());
      if (!name) {
        op->emitError("device name \"")
            << request.getValue()
            << "\" cannot be read; possible: /job:worker/task:0/device:CPU:0, any part may be missing";
        return failure();
      }
      // This build has CPUs only: what asks for another kind runs on the first.
      if (name->type && *name->type != "CPU")
        return 0;
      if (name->id)
        return *name->id;
    }
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && !isa<ConstantOp>(def))
        if (auto index = def->getAttrOfType<IntegerAttr>("weir.device_index"))
          return index.getInt();
    return 0;
  }
};
} // namespace

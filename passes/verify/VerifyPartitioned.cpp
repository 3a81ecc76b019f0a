//===- VerifyPartitioned.cpp - what holds of devices and edges ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "passes/verify/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace weir {
#define GEN_PASS_DEF_VERIFYPARTITIONEDPASS
#include "passes/verify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {
/// What sends and receives an edge.
struct Ends {
  SmallVector<weir::SendOp> sends;
  SmallVector<weir::ReceiveOp> receives;
};

int64_t deviceIndexOf(func::FuncOp function) {
  auto index = function->getAttrOfType<IntegerAttr>("weir.device_index");
  return index ? index.getInt() : -1;
}

/// What goes over the edge: null where only the event does, which arrives as a token.
Type sentType(weir::SendOp send) {
  if (send.getValue().empty() || isa<TokenType>(send.getValue().front().getType()))
    return {};
  return send.getValue().front().getType();
}
Type receivedType(weir::ReceiveOp receive) {
  Type type = receive.getResult().getType();
  return isa<TokenType>(type) ? Type() : type;
}

struct VerifyPartitionedPass : weir::impl::VerifyPartitionedPassBase<VerifyPartitionedPass> {
  bool isGood = true;

  InFlightDiagnostic refuse(Operation *op) {
    isGood = false;
    return op->emitError("verify-partitioned: ");
  }

  void runOnOperation() override {
    isGood = true;
    ModuleOp module = getOperation();
    auto devices = module->getAttrOfType<ArrayAttr>("weir_plan.devices");
    int64_t deviceCount = devices ? devices.size() : 1;
    llvm::MapVector<int64_t, Ends> edges;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      int64_t device = deviceIndexOf(function);
      if (device < 0 || device >= deviceCount)
        refuse(function) << "a function of no device";
      function.walk([&](Operation *op) {
        auto own = op->getAttrOfType<IntegerAttr>("weir.device_index");
        if (own && own.getInt() != device)
          refuse(op) << "an operation of device " << own.getInt() << " in a function of device "
                     << device;
        if (auto send = dyn_cast<weir::SendOp>(op))
          edges[send.getEdge()].sends.push_back(send);
        if (auto receive = dyn_cast<weir::ReceiveOp>(op))
          edges[receive.getEdge()].receives.push_back(receive);
      });
    }
    joinCollectives(module, edges);
    auto table = module->getAttrOfType<ArrayAttr>("weir_plan.edges");
    for (auto &[edge, ends] : edges)
      checkEdge(edge, ends, table);
    if (!isGood)
      signalPassFailure();
  }

  /// What a step gives to a collective comes back over another edge, reduced.
  static void joinCollectives(ModuleOp module, llvm::MapVector<int64_t, Ends> &edges) {
    auto list = module->getAttrOfType<ArrayAttr>("weir_plan.host_collectives");
    for (Attribute attribute : list ? list.getValue() : ArrayRef<Attribute>()) {
      auto collective = cast<DictionaryAttr>(attribute);
      auto inputs = collective.getAs<DenseI64ArrayAttr>("inputs"),
           outputs = collective.getAs<DenseI64ArrayAttr>("outputs");
      for (auto [input, output] : llvm::zip(inputs.asArrayRef(), outputs.asArrayRef())) {
        auto received = edges.find(output);
        // A device may have no use for what it helps to compute: the run drops it.
        if (received == edges.end()) {
          edges.erase(input);
          continue;
        }
        auto receives = received->second.receives;
        edges.erase(received);
        // What comes back is of another size than what was given.
        bool isReduced = collective.getAs<StringAttr>("way").getValue() == "all_reduce";
        if (!isReduced && edges[input].sends.size() == 1 && receives.size() == 1)
          edges.erase(input);
        else
          llvm::append_range(edges[input].receives, receives);
      }
    }
  }

  void checkEdge(int64_t edge, Ends &ends, ArrayAttr table) {
    Operation *any = ends.sends.empty() ? ends.receives.front().getOperation()
                                        : ends.sends.front().getOperation();
    if (ends.sends.empty() || ends.receives.empty()) {
      refuse(any) << "edge " << edge << " is "
                  << (ends.sends.empty() ? "received and never sent" : "sent and never received");
      return;
    }
    if (!table || edge < 0 || edge >= int64_t(table.size())) {
      refuse(any) << "edge " << edge << " is not in weir_plan.edges";
      return;
    }
    auto entry = cast<DictionaryAttr>(table[edge]);
    auto checkPlace = [&](Operation *op, StringRef end) {
      int64_t wanted = entry.getAs<IntegerAttr>(end).getInt();
      int64_t found = deviceIndexOf(op->getParentOfType<func::FuncOp>());
      if (found != wanted)
        refuse(op) << "edge " << edge << " has its " << end << " on device " << wanted
                   << ", and this is on device " << found;
    };
    Type type = sentType(ends.sends.front());
    llvm::DenseSet<Block *> blocks;
    for (weir::SendOp send : ends.sends) {
      checkPlace(send, "source");
      if (sentType(send) != type)
        refuse(send) << "edge " << edge << " is sent with several types";
      if (!blocks.insert(send->getBlock()).second)
        refuse(send) << "edge " << edge << " is sent twice";
    }
    for (weir::ReceiveOp receive : ends.receives) {
      checkPlace(receive, "destination");
      if (receivedType(receive) != type)
        refuse(receive) << "edge " << edge << " is received as another type than it is sent";
    }
  }
};
} // namespace

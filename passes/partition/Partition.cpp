//===- Partition.cpp - one function a device ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sends stand right behind what they send and receives right before the first
// use. All functions keep the entry's order, so the sequences of all devices are
// projections of one order and cannot wait for each other in a circle.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace weir {
#define GEN_PASS_DEF_WEIRPARTITIONPASS
#include "passes/partition/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

static int64_t deviceOf(Operation *op) {
  auto index = op->getAttrOfType<IntegerAttr>("weir.device_index");
  return index ? index.getInt() : 0;
}

namespace {

/// What one device's function has so far.
struct Part {
  func::FuncOp function;
  IRMapping mapping;
  SmallVector<Value> results;
  SmallVector<int64_t> fetches, feeds;
};

struct PartitionPass : weir::impl::WeirPartitionPassBase<PartitionPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder b(module.getContext());
    auto devices = module->getAttrOfType<ArrayAttr>("weir_plan.devices");
    edges.clear();
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      std::map<int64_t, Part> parts;
      for (Operation &op : function.getBody().front().without_terminator())
        if (!isa<ConstantOp>(op))
          parts.try_emplace(deviceOf(&op));
      if (parts.size() <= 1) {
        int64_t device = parts.empty() ? 0 : parts.begin()->first;
        function->setAttr("weir.device_index", b.getI64IntegerAttr(device));
        continue;
      }
      split(function, parts, devices);
    }
    module->setAttr("weir_plan.edges", b.getArrayAttr(edges));
  }

  void split(func::FuncOp source, std::map<int64_t, Part> &parts, ArrayAttr devices) {
    OpBuilder b(source);
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
    for (auto &[device, part] : parts) {
      part.function = func::FuncOp::create(
          b, source.getLoc(), (source.getSymName() + "__" + std::to_string(device)).str(),
          b.getFunctionType({}, {}));
      part.function->setAttr("weir.device_index", b.getI64IntegerAttr(device));
      part.function->setAttr("weir.entry_feeds", b.getArrayAttr(feeds));
      part.function->setAttr("weir.entry_fetches", b.getArrayAttr(fetches));
      Attribute name = source->getAttr("weir.entry");
      part.function->setAttr("weir.entry", name ? name : b.getStringAttr(source.getSymName()));
      part.function.addEntryBlock();
    }
    Block &body = source.getBody().front();
    for (Operation &op : body.without_terminator()) {
      if (isa<ConstantOp>(op))
        continue; // every device has its own
      int64_t device = deviceOf(&op);
      Part &part = parts[device];
      // Regions use values from around them.
      llvm::SetVector<Value> used(op.operand_begin(), op.operand_end());
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (operand.getParentBlock() == &body)
            used.insert(operand);
      });
      for (Value value : used)
        provide(value, device, parts, devices);
      b.setInsertionPointToEnd(&part.function.getBody().front());
      b.clone(op, part.mapping);
    }
    for (OpOperand &operand : body.getTerminator()->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      int64_t device = def && !isa<ConstantOp>(def) ? deviceOf(def) : parts.begin()->first;
      Part &part = parts[device];
      provide(operand.get(), device, parts, devices);
      part.results.push_back(part.mapping.lookup(operand.get()));
      part.fetches.push_back(operand.getOperandNumber());
    }
    for (auto &[device, part] : parts) {
      b.setInsertionPointToEnd(&part.function.getBody().front());
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
    source.erase();
  }

  /// Makes `value` known on `device`: a feed, a constant, or received.
  void provide(Value value, int64_t device, std::map<int64_t, Part> &parts, ArrayAttr devices) {
    Part &part = parts[device];
    if (part.mapping.contains(value))
      return;
    Block &block = part.function.getBody().front();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      part.mapping.map(value, block.addArgument(value.getType(), value.getLoc()));
      part.feeds.push_back(argument.getArgNumber());
      return;
    }
    Operation *def = value.getDefiningOp();
    OpBuilder b(value.getContext());
    b.setInsertionPointToEnd(&block);
    if (isa<ConstantOp>(def)) {
      b.clone(*def, part.mapping);
      return;
    }
    int64_t from = deviceOf(def);
    int64_t edge = edges.size();
    std::string key = (nodeName(def->getLoc()) + ":" + std::to_string(cast<OpResult>(value).getResultNumber()) + ";" +
                       cast<StringAttr>(devices[from]).getValue() + ";" +
                       cast<StringAttr>(devices[device]).getValue()).str();
    edges.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("destination", b.getI64IntegerAttr(device)),
         b.getNamedAttr("name", b.getStringAttr(key)),
         b.getNamedAttr("source", b.getI64IntegerAttr(from))}));
    auto receive = weir::ReceiveOp::create(b, value.getLoc(), value.getType(), edge, key);
    part.mapping.map(value, receive.getResult());
    Part &sender = parts[from];
    Value sent = sender.mapping.lookup(value);
    b.setInsertionPointAfterValue(sent);
    weir::SendOp::create(b, value.getLoc(), sent, edge, key);
  }

  SmallVector<Attribute> edges;
};
} // namespace

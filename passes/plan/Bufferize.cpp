//===- Bufferize.cpp - every tensor of a step gets a buffer ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/plan/Passes.h"
#include "passes/plan/StepBuilder.h"

namespace weir {
#define GEN_PASS_DEF_WEIRBUFFERIZEPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// What the program says of a feed or fetch: its type and the names and bounds
/// that the importer gave.
static Attribute describe(OpBuilder &b, Type type, DictionaryAttr attributes) {
  NamedAttrList entry(attributes);
  entry.set("type", TypeAttr::get(type));
  return entry.getDictionary(b.getContext());
}

namespace {
struct BufferizePass : weir::impl::WeirBufferizePassBase<BufferizePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SlotTable slots;
    OpBuilder b(module.getContext());
    for (auto source : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (source->hasAttr("weir_plan.feeds") || source.isExternal())
        continue;
      std::string name = source.getSymName().str();
      source.setSymName((name + "__tensors").c_str());
      b.setInsertionPoint(source);
      auto target = func::FuncOp::create(b, source.getLoc(), name, b.getFunctionType({}, {}));
      // Partition has written down the whole entry; an entry of one device
      // describes itself.
      SmallVector<Attribute> feeds, fetches;
      for (unsigned i = 0; i < source.getNumArguments(); ++i)
        feeds.push_back(describe(b, source.getArgumentTypes()[i],
                                 source.getArgAttrDict(i) ? source.getArgAttrDict(i)
                                                          : b.getDictionaryAttr({})));
      for (unsigned i = 0; i < source.getNumResults(); ++i)
        fetches.push_back(describe(b, source.getResultTypes()[i],
                                   source.getResultAttrDict(i) ? source.getResultAttrDict(i)
                                                               : b.getDictionaryAttr({})));
      Attribute allFeeds = source->getAttr("weir.entry_feeds"),
                allFetches = source->getAttr("weir.entry_fetches");
      target->setAttr("weir_plan.feeds", allFeeds ? allFeeds : b.getArrayAttr(feeds));
      target->setAttr("weir_plan.fetches", allFetches ? allFetches : b.getArrayAttr(fetches));
      for (StringRef key : {"weir.entry", "weir.device_index"})
        if (Attribute value = source->getAttr(key))
          target->setAttr(key, value);
      StepBuilder builder(b, symbols, slots);
      if (failed(builder.build(source, target)))
        return signalPassFailure();
      source.erase();
    }
    SmallVector<Attribute> described;
    for (const SlotTable::Slot &slot : slots.slots) {
      NamedAttrList entry;
      entry.set("name", b.getStringAttr(slot.name));
      entry.set("container", b.getStringAttr(slot.container));
      entry.set("type", TypeAttr::get(slot.type));
      if (slot.device)
        entry.set("device", b.getI64IntegerAttr(slot.device));
      if (slot.isCopy)
        entry.set("copy", b.getUnitAttr());
      if (slot.shard >= 0)
        entry.set("shard", b.getI64IntegerAttr(slot.shard));
      if (slot.initial)
        entry.set("initial", slot.initial);
      described.push_back(entry.getDictionary(b.getContext()));
    }
    module->setAttr("weir_plan.slots", b.getArrayAttr(described));
  }
};
} // namespace

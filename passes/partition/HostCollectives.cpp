//===- HostCollectives.cpp - reductions that tasks share ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1: send a over (1 to 1)        2: send b over (2 to 2)
//   …                              …
//   1: r1 = receive over (1 to 1)  2: r2 = receive over (2 to 2)
//
// A part of a sum is a sum of which each device uses its own part alone, a concat of what all have
// goes the same way. To the steps these are edges like others. What comes out of the second is what
// the runtime's part of each device has made of all of them (runtime/collectives).
//
//===----------------------------------------------------------------------===//

#include "passes/partition/HostCollectives.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Training.h"
#include "dialects/weir/Weir.h"
#include "passes/analysis/CollectiveLevels.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/StaticSlice.h"
#include "passes/partition/Homes.h"

using namespace mlir;
using namespace weir;

namespace {

class Former {
public:
  explicit Former(ModuleOp module) : module(module), b(module.getContext()) {
    auto devices = module->getAttrOfType<ArrayAttr>("weir_plan.devices");
    for (Attribute name : devices ? devices.getValue() : ArrayRef<Attribute>())
      names.push_back(cast<StringAttr>(name).str());
  }

  void run() {
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Block &body = function.getBody().front();
      auto marked = [&](Operation *op) {
        return isa<AllReduceOp, ConcatOp>(op) && op->hasAttr(collectiveAttr) && isTogether(op);
      };
      if (llvm::none_of(body, [&](Operation &op) { return marked(&op); }))
        continue;
      sortByCollectives(body, marked);
      SmallVector<Operation *> found;
      for (Operation &op : body)
        if (marked(&op))
          found.push_back(&op);
      for (Operation *op : found)
        form(function, op);
    }
    if (collectives.empty())
      return;
    module->setAttr("weir_plan.edges", b.getArrayAttr(edges));
    module->setAttr("weir_plan.host_collectives", b.getArrayAttr(collectives));
  }

private:
  /// Whether each operand is on a CPU of its own.
  bool isTogether(Operation *op) {
    llvm::SmallDenseSet<int64_t> seen;
    for (Value input : op->getOperands()) {
      int64_t device = deviceOf(input);
      if (device < 0 || device >= int64_t(names.size()) || !seen.insert(device).second)
        return false;
      std::optional<DeviceName> name = DeviceName::parse(names[device]);
      if (!name || isOffloadDevice(module, device))
        return false;
    }
    return seen.size() > 1;
  }

  int64_t edge(const std::string &what, int64_t from, int64_t to) {
    std::string key = what + ";" + names[from] + ";" + names[to];
    edges.push_back(b.getDictionaryAttr({b.getNamedAttr("destination", b.getI64IntegerAttr(to)),
                                         b.getNamedAttr("name", b.getStringAttr(key)),
                                         b.getNamedAttr("source", b.getI64IntegerAttr(from))}));
    return int64_t(edges.size()) - 1;
  }
  StringRef keyOf(int64_t number) {
    return cast<DictionaryAttr>(edges[number]).getAs<StringAttr>("name").getValue();
  }

  void form(func::FuncOp function, Operation *op) {
    Location loc = op->getLoc();
    std::string node = nodeName(loc).str();
    SmallVector<int64_t> devices, inputs, outputs, ring, up, down;
    for (Value input : op->getOperands())
      devices.push_back(deviceOf(input));
    StringRef way = isa<ConcatOp>(op)         ? "all_gather"
                    : takesParts(op, devices) ? "reduce_scatter"
                                              : "all_reduce";
    auto count = int64_t(devices.size());
    for (int64_t rank = 0; rank < count; ++rank) {
      int64_t own = devices[rank], next = devices[(rank + 1) % count],
              parent = devices[rank & (rank - 1)];
      inputs.push_back(edge(node + ":0", own, own));
      outputs.push_back(edge(node + ":sum", own, own));
      ring.push_back(edge(node + ":ring", own, next));
      up.push_back(rank ? edge(node + ":up", own, parent) : -1);
      down.push_back(rank ? edge(node + ":down", parent, own) : -1);
    }
    for (int64_t rank = 0; rank < count; ++rank) {
      b.setInsertionPoint(op);
      Value input = op->getOperand(unsigned(rank));
      auto send = weir::SendOp::create(b, loc, ValueRange(input), inputs[rank],
                                       b.getStringAttr(keyOf(inputs[rank])));
      setDevice(send, devices[rank]);
    }
    if (way == "reduce_scatter")
      receiveParts(op, devices, outputs);
    else
      receive(op, devices, outputs);
    auto kind = op->getAttr("kind");
    Attribute name = function->getAttr("weir.entry");
    collectives.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("devices", b.getDenseI64ArrayAttr(devices)),
         b.getNamedAttr("down", b.getDenseI64ArrayAttr(down)),
         b.getNamedAttr("entry", name ? name : b.getStringAttr(function.getSymName())),
         b.getNamedAttr("inputs", b.getDenseI64ArrayAttr(inputs)),
         b.getNamedAttr("kind", kind ? kind : b.getStringAttr("sum")),
         b.getNamedAttr("node", b.getStringAttr(node)),
         b.getNamedAttr("outputs", b.getDenseI64ArrayAttr(outputs)),
         b.getNamedAttr("ring", b.getDenseI64ArrayAttr(ring)),
         b.getNamedAttr("up", b.getDenseI64ArrayAttr(up)),
         b.getNamedAttr("way", b.getStringAttr(way))}));
    op->erase();
  }

  /// Whether each device uses nothing of a vector but slices of its own part.
  static bool takesParts(Operation *op, ArrayRef<int64_t> devices) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    auto count = int64_t(devices.size());
    if (type.getRank() != 1 || !type.hasStaticShape() || type.getDimSize(0) % count != 0)
      return false;
    int64_t each = type.getDimSize(0) / count;
    return !op->use_empty() && llvm::all_of(op->getUses(), [&](OpOperand &use) {
      auto slice = dyn_cast<SliceOp>(use.getOwner());
      auto bounds = slice && use.getOperandNumber() == 0 ? staticSlice(slice) : std::nullopt;
      const auto *device = llvm::find(devices, deviceOfUse(use));
      int64_t begin = (device - devices.begin()) * each;
      return bounds && device != devices.end() && bounds->begin >= begin &&
             bounds->end >= bounds->begin && bounds->end <= begin + each;
    });
  }

  /// Where a result is first used. A device without a use receives it at the end of what
  /// goes on meanwhile: parts are not to outlive a step.
  void receive(Operation *op, ArrayRef<int64_t> devices, ArrayRef<int64_t> outputs) {
    Block *block = op->getBlock();
    for (auto [device, output] : llvm::zip(devices, outputs)) {
      Operation *first = nullptr;
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : op->getUses()) {
        // A fetch, and who is none of them, take the first one's.
        int64_t user = deviceOfUse(use);
        bool isOther = !llvm::is_contained(devices, user);
        if (user != device && !(isOther && device == devices.front()))
          continue;
        uses.push_back(&use);
        Operation *at = block->findAncestorOpInBlock(*use.getOwner());
        if (!first || at->isBeforeInBlock(first))
          first = at;
      }
      b.setInsertionPoint(first ? first : block->getTerminator());
      Value made = receiveAt(op, op->getResult(0).getType(), device, output);
      for (OpOperand *use : uses)
        use->set(made);
    }
  }

  /// Here, on a device.
  Value receiveAt(Operation *op, Type type, int64_t device, int64_t output) {
    auto made =
        weir::ReceiveOp::create(b, op->getLoc(), type, output, b.getStringAttr(keyOf(output)));
    setDevice(made, device);
    return made.getResult();
  }

  /// Slices of the whole become slices of the device's own part.
  void receiveParts(Operation *op, ArrayRef<int64_t> devices, ArrayRef<int64_t> outputs) {
    Block *block = op->getBlock();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    int64_t each = type.getDimSize(0) / int64_t(devices.size());
    for (auto [rank, device] : llvm::enumerate(devices)) {
      SmallVector<SliceOp> slices;
      for (OpOperand &use : op->getUses())
        if (deviceOfUse(use) == device)
          slices.push_back(cast<SliceOp>(use.getOwner()));
      llvm::sort(slices, [](SliceOp x, SliceOp y) { return x->isBeforeInBlock(y); });
      if (slices.empty())
        b.setInsertionPoint(block->getTerminator());
      else
        b.setInsertionPoint(slices.front());
      Value own = receiveAt(op, type.clone({each}), device, outputs[rank]);
      int64_t before = int64_t(rank) * each;
      for (SliceOp slice : slices) {
        auto [axis, begin, end] = *staticSlice(slice);
        if (end - begin == each) {
          slice.getResult().replaceAllUsesWith(own);
          slice.erase();
          continue;
        }
        b.setInsertionPoint(slice);
        slice.getOperandMutable().assign(own);
        slice.getStartsMutable().assign(integers(b, slice.getLoc(), {begin - before}));
        slice.getEndsMutable().assign(integers(b, slice.getLoc(), {end - before}));
      }
    }
  }

  ModuleOp module;
  OpBuilder b;
  std::vector<std::string> names;
  SmallVector<Attribute> edges, collectives;
};

} // namespace

void weir::formHostCollectives(ModuleOp module) { Former(module).run(); }

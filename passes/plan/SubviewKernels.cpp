//===- SubviewKernels.cpp - kernels that work on parts of a buffer --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/SubviewKernels.h"
#include "dialects/plan/Buffers.h"
#include "dialects/weir/Elemental.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/KernelSchedules.h"
#include "passes/plan/LaunchWork.h"
#include "passes/plan/SubviewForwarding.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

bool plan::hasInnerGaps(ArrayRef<int64_t> extents, ArrayRef<int64_t> shape) {
  for (size_t i = 1; i + 1 < extents.size(); ++i)
    if (extents[i] != shape[i])
      return true;
  return false;
}

MemRefType plan::withExtents(MemRefType type, const Extents &extents) {
  if (extents.empty())
    return type;
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t i = type.getRank() - 2; i >= 0; --i)
    strides[i] = ShapedType::isDynamic(strides[i + 1]) || isOpenExtent(extents[i + 1])
                     ? ShapedType::kDynamic
                     : strides[i + 1] * extents[i + 1];
  return MemRefType::get(type.getShape(), type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), 0, strides));
}

SmallVector<Value> plan::buffersOf(RunOp run) {
  SmallVector<Value> buffers(run.getInputs());
  llvm::append_range(buffers, run.getOutputs());
  return buffers;
}

Value plan::wholeOf(Value value) {
  auto type = cast<MemRefType>(value.getType());
  Value root = rootOf(value);
  if (root == value)
    return root;
  auto whole = cast<MemRefType>(root.getType());
  auto bytes = [](MemRefType type) {
    return type.getNumElements() * elementSize(type.getElementType());
  };
  return type.hasStaticShape() && whole.hasStaticShape() && bytes(type) == bytes(whole) ? root
                                                                                        : Value();
}

int64_t plan::offsetInRoot(Value value) {
  int64_t bytes = 0;
  for (ViewOp view; (view = value.getDefiningOp<ViewOp>()); value = view.getSource())
    if (auto offset = view->getAttrOfType<IntegerAttr>(viewOffsetAttribute))
      bytes += offset.getInt();
  return bytes;
}

Extents PartKernels::of(RunOp run, unsigned index) const {
  auto it = extents.find(run);
  return it == extents.end() ? Extents() : it->second[index];
}

void PartKernels::set(RunOp run, unsigned index, const Extents &own) {
  SmallVector<Extents> &all = extents[run];
  all.resize(buffersOf(run).size());
  all[index] = own;
}

/// Calls `visit` with each stage of a chain that has buffer `index` of the
/// chain, and what that is among the stage's own.
static void forEachStage(KernelOp chain, unsigned index,
                         function_ref<void(LaunchOp, unsigned)> visit) {
  Block &body = chain.getBody().front();
  if (index < body.getNumArguments()) {
    for (OpOperand &use : body.getArgument(index).getUses())
      visit(cast<LaunchOp>(use.getOwner()), use.getOperandNumber());
    return;
  }
  auto last = body.getTerminator()->getOperand(0).getDefiningOp<LaunchOp>();
  visit(last, last.getInputs().size());
}

bool PartKernels::canWorkOn(RunOp run, unsigned index, const Extents &own) {
  const KernelSchedules *schedules = hostSchedules();
  size_t rank = cast<MemRefType>(buffersOf(run)[index].getType()).getRank();
  return schedules && schedules->takesPart(kernelOf(run), index, ArrayRef(own).take_front(rank));
}

/// A kernel that runs over all elements as one row runs over rows instead.
static void inRows(KernelOp kernel) {
  if (kernel.getSchedule().has(schedule::parts))
    return;
  Block &body = kernel.getBody().front();
  auto type = cast<RankedTensorType>(body.getTerminator()->getOperand(0).getType());
  SmallVector<int64_t> parts(type.getRank() - 1, 1);
  kernel.setScheduleAttr(ScheduleBuilder(kernel.getSchedule()).set(schedule::parts, parts).get());
}

/// The range counts the first `count` dimensions of the run's result.
static void setRange(RunOp run, int64_t count, int64_t grain) {
  OpBuilder b(run);
  Value result = run.getOutputs()[0];
  auto type = cast<MemRefType>(result.getType());
  int64_t known = 1;
  for (int64_t size : type.getShape().take_front(count))
    known *= ShapedType::isDynamic(size) ? 1 : size;
  Value range = arith::ConstantIndexOp::create(b, run.getLoc(), known);
  for (int64_t i = 0; i < count; ++i)
    if (type.isDynamicDim(i)) {
      Value size = result.getDefiningOp()->getOperand(type.getDynamicDimIndex(i));
      range = b.createOrFold<arith::MulIOp>(run.getLoc(), size, range);
    }
  run.getRangeMutable().assign(range);
  run.setGrain(std::max<int64_t>(1, grain));
}

KernelOp PartKernels::partOf(KernelOp kernel, ArrayRef<Extents> own) {
  std::string name = kernel.getSymName().str() + ".part";
  SmallVector<Attribute> all;
  for (const Extents &each : own) {
    all.push_back(DenseI64ArrayAttr::get(kernel.getContext(), each));
    name += each.empty() ? "_0" : "_";
    llvm::raw_string_ostream os(name);
    auto write = [&](int64_t size) {
      if (!isOpenExtent(size))
        os << size;
      else if (int64_t more = beyondPart(size))
        os << "d" << more;
      else
        os << "d";
    };
    llvm::interleave(each, os, write, "x");
  }
  if (auto known = symbols.lookup<KernelOp>(name))
    return known;
  auto made = cast<KernelOp>(kernel->clone());
  made.setExtentsAttr(ArrayAttr::get(kernel.getContext(), all));
  made.setSymName(name);
  inRows(made);
  symbols.insert(made, std::next(Block::iterator(kernel)));
  if (kernel.getBody().getOps<LaunchOp>().empty())
    return made;
  DenseMap<Operation *, SmallVector<Extents>> ofStages;
  for (auto [index, each] : llvm::enumerate(own))
    if (!each.empty())
      forEachStage(made, index, [&](LaunchOp stage, unsigned buffer) {
        ofStages[stage].resize(stage.getInputs().size() + 1);
        ofStages[stage][buffer] = each;
      });
  for (auto stage : made.getBody().front().getOps<LaunchOp>())
    if (auto it = ofStages.find(stage); it != ofStages.end())
      stage.setKernel(partOf(symbols.lookup<KernelOp>(stage.getKernel()), it->second).getSymName());
  return made;
}

void PartKernels::make(func::FuncOp function) {
  function.walk([&](RunOp run) {
    auto it = extents.find(run);
    if (it == extents.end())
      return;
    KernelOp kernel = kernelOf(run), used = partOf(kernel, it->second);
    run.setKernel(used.getSymName());
    if (!kernel.getSchedule().has(schedule::parts)) {
      Block &body = used.getBody().front();
      auto type = cast<RankedTensorType>(body.getTerminator()->getOperand(0).getType());
      int64_t row = type.getShape().back();
      setRange(run, type.getRank() - 1, run.getGrain() / std::max<int64_t>(row, 1));
    }
  });
}

/// Elements that a part of the range over the first `last` dimensions writes, open sizes taken for
/// one.
static int64_t borderOfPart(PadOp pad, int64_t last, ArrayRef<int64_t> copied) {
  auto count = [](Type type, size_t first, size_t end) {
    int64_t elements = 1;
    for (int64_t size : cast<RankedTensorType>(type).getShape().slice(first, end - first))
      elements *= ShapedType::isDynamic(size) ? 1 : size;
    return elements;
  };
  int64_t rank = pad.getType().getRank();
  if (!pad.getType().hasStaticShape()) {
    std::optional<SmallVector<int64_t>> pads = constantIntegers(pad.getPads());
    return ((*pads)[last] + (*pads)[rank + last]) * count(pad.getType(), last + 1, rank);
  }
  int64_t inside = count(pad.getOperand().getType(), 0, rank);
  if (auto concat = pad.getOperand().getDefiningOp<ConcatOp>())
    for (int64_t operand : copied)
      inside -= count(concat.getInputs()[operand].getType(), 0, rank);
  return (count(pad.getType(), 0, rank) - inside) /
         std::max<int64_t>(count(pad.getType(), 0, last), 1);
}

void PartKernels::writePadBorder(RunOp run, PadOp pad, ArrayRef<int64_t> copied) {
  KernelOp kernel = kernelOf(run);
  std::string name = kernel.getSymName().str() + ".border";
  for (int64_t operand : copied)
    name += "_" + std::to_string(operand);
  SmallVector<int64_t> pads = *constantIntegers(pad.getPads());
  auto type = cast<RankedTensorType>(pad.getType());
  int64_t rank = type.getRank(), last = rank - 1;
  while (last > 0 && !pads[last] && !pads[rank + last])
    --last;
  auto border = symbols.lookup<KernelOp>(name);
  if (!border) {
    border = cast<KernelOp>(kernel->clone());
    border.setSymName(name);
    ScheduleBuilder s(run.getContext(), ScheduleKind::PadBorder);
    s.set(schedule::parts, SmallVector<int64_t>(last, 1));
    if (!copied.empty())
      s.set(schedule::copied, copied);
    border.setScheduleAttr(s.get());
    symbols.insert(border, std::next(Block::iterator(kernel)));
  }
  run.setKernel(name);
  run->removeAttr(workAttribute);
  setRange(run, last, workOfThread / std::max<int64_t>(1, borderOfPart(pad, last, copied)));
}

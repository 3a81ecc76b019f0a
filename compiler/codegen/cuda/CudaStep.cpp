//===- CudaStep.cpp - steps that feed a GPU --------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaStep.h"
#include "compiler/codegen/cuda/DirectEdges.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/ScalarForm.h"
#include "passes/plan/PlaceValues.h"
#include "weir/cuda.h"
#include <cstddef>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

void weir::declareCudaFunctions(OpBuilder &b, ModuleOp module) {
  Type p = LLVM::LLVMPointerType::get(b.getContext());
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Type none = LLVM::LLVMVoidType::get(b.getContext());
  auto declare = [&](StringRef name, Type result, ArrayRef<Type> arguments) {
    declareFunction(b, module, name, result, arguments);
  };
  declare("weir_cuda_launch", i32, {p, i32, p, i32, p, i32, i64, i32});
  declare("weir_cuda_launch_parts", i32, {p, i32, p, i32, p, i32, i64, i32, p});
  declare("weir_cuda_launch_split", i32, {p, i32, p, i32, p, i32, i64, i32, p});
  declare("weir_cuda_launch_sort", i32, {p, i32, p, i32, p, i32, i64, i32, p});
  declare("weir_cuda_alloc", p, {p, i64, i32});
  declare("weir_cuda_fetch_place", p, {p, i32, i64, p});
  declare("weir_cuda_fetch_over", p, {p, i32, i32, i64, p});
  declare("weir_cuda_alloc_fetch", p, {p, i32, i32, i64, i32});
  declare("weir_cuda_free", none, {p, p});
  declare("weir_cuda_copy", i32, {p, p, p, i64});
  declare("weir_cuda_store", i32, {p, p, i32, i64});
  declare("weir_cuda_variable_read", i32, {p, i32, i32, p});
  declare("weir_cuda_variable_assign", i32, {p, i32, i32, p});
  declare("weir_cuda_variable_place", p, {p, i32, i32});
  declare("weir_cuda_publish", i32, {p});
  declare("weir_cuda_loop", i32, {p, i32, p});
  declare("weir_cuda_branch", i32, {p, i32, p});
  declare("weir_cuda_swap_out", i32, {p, i32, p, i64});
  declare("weir_cuda_swap_in", i32, {p, i32, p, i64});
  declare("weir_cuda_await_swap", i32, {p, i32});
  declare("weir_cuda_send", i32, {p, i32, i64, p});
  declare("weir_cuda_send_peer", i32, {p, i32, i64, p});
  declare("weir_cuda_receive", i32, {p, i32, i64, p});
  declare("weir_cuda_has_collective", i32, {p, i32});
  declare("weir_cuda_all_reduce", i32, {p, i32, p, p, i64});
  declare("weir_cuda_await_reduce_ready", i32, {p, i32, p});
  declare("weir_cuda_await_reduce", i32, {p, i32});
  declare("weir_cuda_finish_ready", i32, {p, p});
  declare("weir_cuda_finish", i32, {p, i32});
}

/// What the plan reads in host memory was marked so.
static bool isOfHost(Operation *op) { return op->hasAttr("weir.host"); }

AcceleratorInfo &CudaStepRewriter::accelerator() {
  int64_t device = function->getAttrOfType<IntegerAttr>("weir.device_index").getInt();
  auto it =
      llvm::find_if(tables.program.accelerators, [&](auto &each) { return each.device == device; });
  assert(it != tables.program.accelerators.end() && "generateCuda listed the step's device");
  return *it;
}

int64_t CudaStepRewriter::deviceOffset(BlobOp op) {
  int64_t source = tables.blobOffset(op.getValue());
  auto type = cast<MemRefType>(op.getType());
  int64_t bytes = type.getNumElements() * elementBytes(type.getElementType());
  AcceleratorInfo &info = accelerator();
  for (const AcceleratorInfo::Segment &segment : info.segments)
    if (segment.source == source)
      return segment.target;
  int64_t target = info.segmentBytes;
  info.segments.push_back({source, bytes, target});
  info.segmentBytes = llvm::alignTo(target + std::max<int64_t>(bytes, 1), 256);
  return target;
}

/// All of a variable's users are in steps of one device: its values are, too.
void CudaStepRewriter::keepOnDevice(int64_t slot) {
  std::vector<int> &slots = accelerator().slots;
  if (!llvm::is_contained(slots, int(slot)))
    slots.push_back(int(slot));
}

static SmallVector<Value> along(ArrayRef<Value> sizes, ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return sizes[dim]; });
}

SmallVector<Value> CudaStepRewriter::addOperands(ValueRange inputs, ValueRange outputs,
                                                 Parameters &to) {
  SmallVector<Value> buffers(inputs), firstSizes;
  llvm::append_range(buffers, outputs);
  for (auto [i, memref] : llvm::enumerate(buffers)) {
    Buffer buffer = unpack(memref);
    to.pointers.push_back(buffer.pointer);
    for (int64_t d = 0; d < buffer.type.getRank(); ++d)
      if (buffer.type.isDynamicDim(d))
        to.sizes.push_back(buffer.dims[d]);
    if (i == inputs.size())
      firstSizes = buffer.dims;
  }
  return firstSizes;
}

Value CudaStepRewriter::blocksOf(const LaunchShape &shape, ArrayRef<Value> firstSizes) {
  Value blocks = i64(1);
  for (const LaunchShape::Axis &axis : shape.axes) {
    Value count = productOf(along(firstSizes, axis.dims));
    if (axis.divisor != 1)
      count = LLVM::UDivOp::create(
          b, loc, LLVM::AddOp::create(b, loc, count, i64(axis.divisor - 1)), i64(axis.divisor));
    blocks = LLVM::MulOp::create(b, loc, blocks, count);
  }
  return blocks;
}

SmallVector<Value> CudaStepRewriter::argumentsOf(int kernel, const Parameters &parameters,
                                                 Value blocks, int64_t threads) {
  auto list = [&](ArrayRef<Value> values) {
    Value space = stack(int64_t(8 * values.size()));
    for (auto [i, value] : llvm::enumerate(values))
      storeField(value, space, int64_t(8 * i));
    return space;
  };
  Value pointers = list(parameters.pointers), sizes = list(parameters.sizes);
  return {context,  i32(kernel),
          pointers, i32(int64_t(parameters.pointers.size())),
          sizes,    i32(int64_t(parameters.sizes.size())),
          blocks,   i32(threads)};
}

int CudaStepRewriter::rowOf(const FusedKernel &kernel) {
  std::vector<KernelInfo> &rows = tables.program.kernels;
  // The image has them in this order behind the plan's kernels.
  for (const FusedKernel &each : fused) {
    if (size_t(each.number) < rows.size())
      continue;
    assert(size_t(each.number) == rows.size() && "all kernels of the plan have their rows");
    KernelInfo row;
    row.name = each.name;
    row.flops = row.bytes = 0;
    for (const std::string &member : each.members) {
      const KernelInfo &own = rows[size_t(tables.kernelIndex[member])];
      row.nodes += (row.nodes.empty() ? "" : ";") + own.nodes;
      row.flops = own.flops < 0 || row.flops < 0 ? -1 : row.flops + own.flops;
      row.bytes = own.bytes < 0 || row.bytes < 0 ? -1 : row.bytes + own.bytes;
    }
    rows.push_back(std::move(row));
  }
  return kernel.number;
}

void CudaStepRewriter::launchFused(RunOp op, ArrayAttr members) {
  const FusedKernel *kernel = &fusedKernelOf(fused, members);
  Parameters parameters;
  SmallVector<Value> before; // blocks in front of each member's
  Value blocks = i64(0);
  ValueRange inputs = op.getInputs(), outputs = op.getOutputs();
  for (auto [member, counts] : llvm::zip(kernel->members, kernel->operands)) {
    auto [inputCount, outputCount] = counts;
    SmallVector<Value> sizes =
        addOperands(inputs.take_front(inputCount), outputs.take_front(outputCount), parameters);
    inputs = inputs.drop_front(inputCount);
    outputs = outputs.drop_front(outputCount);
    before.push_back(blocks);
    blocks = LLVM::AddOp::create(b, loc, blocks, blocksOf(launches.find(member)->second, sizes));
  }
  parameters.sizes.append(before.begin() + 1, before.end());
  returnIfError(call("weir_cuda_launch", b.getI32Type(),
                     argumentsOf(rowOf(*kernel), parameters, blocks, kernel->threads)));
  op.erase();
}

void CudaStepRewriter::launch(RunOp op) {
  // Kernels that the runtime alone launches have their rows, too.
  if (!fused.empty())
    rowOf(fused.back());
  if (auto members = op->getAttrOfType<ArrayAttr>(fusedLaunchesAttribute))
    return launchFused(op, members);
  const LaunchShape &shape = launches.find(op.getKernel())->second;
  Parameters parameters;
  SmallVector<Value> firstSizes = addOperands(op.getInputs(), op.getOutputs(), parameters);
  SmallVector<Value> arguments = argumentsOf(tables.kernelIndex[op.getKernel()], parameters,
                                             blocksOf(shape, firstSizes), shape.threads);
  StringRef function = "weir_cuda_launch";
  if (shape.parts) {
    function = "weir_cuda_launch_parts";
    arguments.push_back(describeParts(op, shape, firstSizes));
  } else if (shape.split) {
    function = "weir_cuda_launch_split";
    arguments.push_back(describeSplit(op, *shape.split, firstSizes));
  } else if (shape.sort) {
    function = "weir_cuda_launch_sort";
    arguments.push_back(describeSort(op, *shape.sort, firstSizes));
  }
  returnIfError(call(function, b.getI32Type(), arguments));
  op.erase();
}

/// The product of sizes, but for that of `without`; -1: of all.
Value CudaStepRewriter::productOf(ArrayRef<Value> sizes, int64_t without) {
  Value count = i64(1);
  for (auto [i, size] : llvm::enumerate(sizes))
    if (int64_t(i) != without)
      count = LLVM::MulOp::create(b, loc, count, size);
  return count;
}

/// A weir_cuda_split on the stack.
Value CudaStepRewriter::describeSplit(RunOp op, const LaunchSplit &split, ArrayRef<Value> sizes) {
  Value desc = stack(sizeof(weir_cuda_split)), elements = i64(0);
  auto store = [&](Value value, size_t offset) { storeField(value, desc, int64_t(offset)); };
  for (Value input : op.getInputs())
    elements = LLVM::UMaxOp::create(b, loc, elements, productOf(unpack(input).dims));
  store(i32(split.partNumber), offsetof(weir_cuda_split, part));
  store(i32(split.joinNumber), offsetof(weir_cuda_split, join));
  store(i32(split.threads), offsetof(weir_cuda_split, threads));
  store(i32(split.joinThreads), offsetof(weir_cuda_split, join_threads));
  store(i32(split.across), offsetof(weir_cuda_split, across));
  store(i32(split.axis >= 0), offsetof(weir_cuda_split, joins_parts));
  store(i64(split.state), offsetof(weir_cuda_split, state));
  store(i64(split.mostParts), offsetof(weir_cuda_split, most_parts));
  store(productOf(sizes, split.axis), offsetof(weir_cuda_split, lines));
  store(elements, offsetof(weir_cuda_split, elements));
  return desc;
}

/// A weir_cuda_sort on the stack.
Value CudaStepRewriter::describeSort(RunOp op, const LaunchSort &sort, ArrayRef<Value> sizes) {
  Value desc = stack(sizeof(weir_cuda_sort));
  auto store = [&](Value value, size_t offset) { storeField(value, desc, int64_t(offset)); };
  store(i32(sort.runNumber), offsetof(weir_cuda_sort, run));
  store(i32(sort.mergeNumber), offsetof(weir_cuda_sort, merge));
  store(i32(sort.mergesNumber), offsetof(weir_cuda_sort, merges));
  store(i32(sort.threads), offsetof(weir_cuda_sort, threads));
  store(i32(sort.mergeThreads), offsetof(weir_cuda_sort, merge_threads));
  store(i32(sort.itemBytes), offsetof(weir_cuda_sort, item_bytes));
  store(i64(sort.runElements), offsetof(weir_cuda_sort, run_elements));
  store(productOf(sizes, sort.axis), offsetof(weir_cuda_sort, lines));
  store(unpack(op.getInputs()[sort.operand]).dims[sort.axis], offsetof(weir_cuda_sort, size));
  store(sizes[sort.axis], offsetof(weir_cuda_sort, wanted));
  return desc;
}

/// A weir_cuda_parts on the stack.
Value CudaStepRewriter::describeParts(RunOp op, const LaunchShape &shape, ArrayRef<Value> sizes) {
  const LaunchParts &parts = *shape.parts;
  Value desc = stack(sizeof(weir_cuda_parts));
  auto store = [&](Value value, size_t offset) { storeField(value, desc, int64_t(offset)); };
  Value keys =
      parts.keys ? i64(*parts.keys) : unpack(op.getInputs()[parts.keysOperand]).dims[parts.keysDim];
  store(i32(parts.partNumber), offsetof(weir_cuda_parts, part));
  store(i32(parts.joinNumber), offsetof(weir_cuda_parts, join));
  store(i32(parts.threads), offsetof(weir_cuda_parts, threads));
  store(i32(parts.joinThreads), offsetof(weir_cuda_parts, join_threads));
  store(i64(parts.rows), offsetof(weir_cuda_parts, rows));
  store(i64(parts.mostQueries), offsetof(weir_cuda_parts, most_queries));
  store(i64(parts.state), offsetof(weir_cuda_parts, state));
  store(productOf(along(sizes, shape.axes[0].dims)), offsetof(weir_cuda_parts, batches));
  store(productOf(along(sizes, shape.axes[1].dims)), offsetof(weir_cuda_parts, queries));
  store(keys, offsetof(weir_cuda_parts, keys));
  return desc;
}

/// Whether a step of another GPU takes the tensor, and not its host, which reads few
/// integers where they arrive.
bool CudaStepRewriter::goesToPeer(plan::SendOp send) {
  int destination = tables.program.edges[send.getEdge()].destination;
  auto type = cast<MemRefType>(send.getValue()[0].getType());
  return !isScalarForm(RankedTensorType::get(type.getShape(), type.getElementType())) &&
         llvm::any_of(tables.program.accelerators,
                      [&](const AcceleratorInfo &each) { return each.device == destination; });
}

/// A copy's token becomes its number: twice the slot, one more for the way back.
bool CudaStepRewriter::rewriteSwap(Operation *op) {
  Type t32 = b.getI32Type();
  auto copy = [&](StringRef function, Value slot, Value memref) {
    Buffer buffer = unpack(memref);
    returnIfError(
        call(function, t32, {context, slot, buffer.pointer, bytesOf(buffer.type, buffer.dims)}));
  };
  if (auto out = dyn_cast<SwapOutOp>(op)) {
    copy("weir_cuda_swap_out", i32(*out.getSlot()), out.getValue());
    out.getSaved().replaceAllUsesWith(i32(2 * *out.getSlot()));
  } else if (auto in = dyn_cast<SwapInOp>(op)) {
    Value number = in->getOperand(0);
    copy("weir_cuda_swap_in", LLVM::LShrOp::create(b, loc, number, i32(1)), in.getTarget());
    in.getCopied().replaceAllUsesWith(LLVM::AddOp::create(b, loc, number, i32(1)).getResult());
  } else if (isa<AwaitSwapOp>(op)) {
    returnIfError(call("weir_cuda_await_swap", t32, {context, op->getOperand(0)}));
  } else {
    return false;
  }
  op->erase();
  return true;
}

// What noteBothSides leaves for the rewriter.
static constexpr StringRef loopAttribute = "weir.cuda_loop", partAttribute = "weir.cuda_part";

void weir::noteBothSides(func::FuncOp step) {
  llvm::SetVector<Operation *> decided; // one load may serve several
  step.walk([&](LoadOp load) {
    if (load->hasAttr(conditionAttribute))
      decided.insert(load->user_begin(), load->user_end());
  });
  OpBuilder b(step.getContext());
  int32_t loops = 0;
  for (Operation *op : decided) {
    assert((isa<scf::ConditionOp, scf::IfOp>(op)) && "nothing else reads such a condition");
    auto load = op->getOperand(0).getDefiningOp<LoadOp>();
    Location loc = op->getLoc();
    auto readAt = [&](StringRef name, int32_t number) {
      Operation *copy = b.clone(*load);
      copy->setAttr(name, b.getI32IntegerAttr(number));
      return copy->getResult(0);
    };
    b.setInsertionPoint(op);
    if (auto condition = dyn_cast<scf::ConditionOp>(op)) {
      condition.getConditionMutable().assign(readAt(loopAttribute, loops++));
      continue;
    }
    auto branch = cast<scf::IfOp>(op);
    branch.getConditionMutable().assign(readAt(partAttribute, WEIR_CUDA_THEN));
    b.setInsertionPointAfter(branch);
    if (!branch.getElseRegion().empty()) {
      auto other = scf::IfOp::create(b, loc, TypeRange(), readAt(partAttribute, WEIR_CUDA_ELSE),
                                     /*withElse=*/false);
      other.getThenRegion().takeBody(branch.getElseRegion());
      b.setInsertionPointAfter(other);
    }
    auto end = CopyOp::create(b, loc, load.getBuffer(), load.getBuffer());
    end->setAttr(partAttribute, b.getI32IntegerAttr(WEIR_CUDA_END));
  }
  step.walk([&](LoadOp load) {
    if (load->hasAttr(conditionAttribute) && load->use_empty())
      load->erase();
  });
}

/// A condition that the GPU decides becomes what the host notes next.
bool CudaStepRewriter::rewriteControl(Operation *op) {
  auto number = [&](StringRef name) { return op->getAttrOfType<IntegerAttr>(name); };
  IntegerAttr loop = number(loopAttribute), part = number(partAttribute);
  if (!loop && !part)
    return false;
  Value answer =
      call(loop ? "weir_cuda_loop" : "weir_cuda_branch", b.getI32Type(),
           {context, i32((loop ? loop : part).getInt()), unpack(op->getOperand(0)).pointer});
  if (isa<LoadOp>(op))
    op->getResult(0).replaceAllUsesWith(
        LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, answer, i32(0)));
  op->erase();
  return true;
}

/// The step goes on: the last device that comes puts the collective.
void CudaStepRewriter::reduceTogether(plan::AllReduceOp op) {
  Value collective = i32(op.getCollective());
  Buffer value = unpack(op.getValue());
  // Without a target this device gives, and gets nothing.
  Value target = op.getTarget() ? unpack(op.getTarget()).pointer
                                : Value(LLVM::ZeroOp::create(b, loc, pointer));
  returnIfError(call("weir_cuda_all_reduce", b.getI32Type(),
                     {context, collective, value.pointer, target, productOf(value.dims)}));
  op.erase();
}

/// The step is suspended until the collective's other devices have come, too.
void CudaStepRewriter::awaitTogether(plan::AwaitReduceOp op) {
  Value collective = i32(op.getCollective());
  Value save = beginSuspension();
  suspendUnless(call("weir_cuda_await_reduce_ready", b.getI32Type(), {context, collective, handle}),
                save);
  returnIfError(call("weir_cuda_await_reduce", b.getI32Type(), {context, collective}));
  op.erase();
}

/// What devices of a task reduce together.
bool CudaStepRewriter::rewriteCollective(Operation *op) {
  if (auto has = dyn_cast<plan::HasCollectiveOp>(op)) {
    Value answer =
        call("weir_cuda_has_collective", b.getI32Type(), {context, i32(has.getCollective())});
    has.getResult().replaceAllUsesWith(
        LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, answer, i32(0)));
    op->erase();
  } else if (auto reduce = dyn_cast<plan::AllReduceOp>(op)) {
    reduceTogether(reduce);
  } else if (auto await = dyn_cast<plan::AwaitReduceOp>(op)) {
    awaitTogether(await);
  } else {
    return false;
  }
  return true;
}

/// A buffer that a fetch reads may be the caller's own.
void CudaStepRewriter::placeFetched(BufferOp op, IntegerAttr edge) {
  auto type = cast<MemRefType>(op.getType());
  Value base = loadField(context, offsetof(weir_context, arena), pointer);
  Value planned = behind(base, op.getOffset().value_or(0));
  SmallVector<Value> dims = sizesOf(type);
  SmallVector<Value> arguments = {context, i32(edge.getInt()), bytesOf(type, dims), planned};
  auto over = op->getAttrOfType<IntegerAttr>(fetchOverAttribute);
  if (over)
    arguments.insert(arguments.begin() + 2, i32(over.getInt()));
  Value data = call(over ? "weir_cuda_fetch_over" : "weir_cuda_fetch_place", pointer, arguments);
  op.getResult().replaceAllUsesWith(pack(type, data, dims));
  op.erase();
}

/// Memory of a size known when the step runs: a variable's, a fetch's, or the step's own.
void CudaStepRewriter::allocate(AllocOp op) {
  auto type = cast<MemRefType>(op.getType());
  SmallVector<Value> dims = sizesOf(type, op.getSizes());
  Value bytes = boundedBytesOf(type, dims), data;
  Value where = i32(site(op, "out of memory", WEIR_RESOURCE_EXHAUSTED));
  if (auto slot = op->getAttrOfType<IntegerAttr>(slotAttribute)) {
    keepOnDevice(slot.getInt());
    data = call("weir_cuda_variable_place", pointer, {context, i32(slot.getInt()), where});
  } else if (auto edge = op->getAttrOfType<IntegerAttr>(fetchEdgeAttribute)) {
    auto over = op->getAttrOfType<IntegerAttr>(fetchOverAttribute);
    data = call("weir_cuda_alloc_fetch", pointer,
                {context, i32(edge.getInt()), i32(over ? over.getInt() : -1), bytes, where});
  } else {
    data = call("weir_cuda_alloc", pointer, {context, bytes, where});
  }
  requireMemory(data);
  op.getResult().replaceAllUsesWith(pack(type, data, dims));
  op.erase();
}

/// One element, which the host has.
void CudaStepRewriter::storeElement(plan::StoreOp op) {
  Buffer buffer = unpack(op.getBuffer());
  int64_t bytes = elementBytes(buffer.type.getElementType());
  Value linear = linearIndex(buffer, op.getIndices());
  Value where = LLVM::GEPOp::create(
      b, loc, pointer, b.getI8Type(), buffer.pointer,
      ArrayRef<LLVM::GEPArg>{LLVM::MulOp::create(b, loc, linear, i64(bytes)).getResult()});
  Value value = op.getValue();
  if (isa<IntegerType>(value.getType()) && value.getType().getIntOrFloatBitWidth() < 64) {
    auto integer = cast<IntegerType>(buffer.type.getElementType());
    bool isSigned = integer.getWidth() > 1 && !integer.isUnsigned();
    value = isSigned ? LLVM::SExtOp::create(b, loc, b.getI64Type(), value).getResult()
                     : LLVM::ZExtOp::create(b, loc, b.getI64Type(), value).getResult();
  }
  returnIfError(call("weir_cuda_store", b.getI32Type(), {context, where, i32(bytes), value}));
  op.erase();
}

/// Buffers in the device's memory: where they lie, and what the step itself writes there.
bool CudaStepRewriter::rewriteMemory(Operation *op) {
  if (auto blob = dyn_cast<BlobOp>(op); blob && !isOfHost(op)) {
    Value base = loadField(context, offsetof(weir_context, device_blobs), pointer);
    Value data = behind(base, deviceOffset(blob));
    auto type = cast<MemRefType>(blob.getType());
    blob.getResult().replaceAllUsesWith(pack(type, data, sizesOf(type)));
    op->erase();
  } else if (auto edge = op->getAttrOfType<IntegerAttr>(fetchEdgeAttribute);
             edge && isa<BufferOp>(op)) {
    placeFetched(cast<BufferOp>(op), edge);
  } else if (auto alloc = dyn_cast<AllocOp>(op)) {
    allocate(alloc);
  } else if (auto free = dyn_cast<FreeOp>(op); free && !isOfHost(op)) {
    call("weir_cuda_free", {}, {context, unpack(free.getBuffer()).pointer});
    op->erase();
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    Buffer source = unpack(copy.getSource()), target = unpack(copy.getTarget());
    returnIfError(
        call("weir_cuda_copy", b.getI32Type(),
             {context, target.pointer, source.pointer, bytesOf(source.type, source.dims)}));
    op->erase();
  } else if (auto store = dyn_cast<plan::StoreOp>(op)) {
    storeElement(store);
  } else {
    return false;
  }
  return true;
}

/// What the step sends and receives.
bool CudaStepRewriter::rewriteMessage(Operation *op) {
  if (auto send = dyn_cast<plan::SendOp>(op)) {
    if (send.getValue().empty()) {
      // Who gets the message may tell other runs.
      if (assigns)
        returnIfError(call("weir_cuda_publish", b.getI32Type(), {context}));
      return false;
    }
    awaitRoom(send);
    Value tensor = tensorOnStack(unpack(send.getValue()[0]));
    returnIfError(call(goesToPeer(send) ? "weir_cuda_send_peer" : "weir_cuda_send", b.getI32Type(),
                       {context, i32(send.getEdge()), toI64(send.getIteration()), tensor}));
    op->erase();
    return true;
  }
  auto receive = dyn_cast<plan::ReceiveOp>(op);
  if (!receive || !receive.getResult() || isOfHost(op))
    return false;
  rewriteReceive(receive, "weir_cuda_receive");
  return true;
}

bool CudaStepRewriter::rewriteOtherwise(Operation *op) {
  if (auto run = dyn_cast<RunOp>(op)) {
    launch(run);
    return true;
  }
  if (auto read = dyn_cast<plan::VariableReadOp>(op))
    keepOnDevice(read.getSlot());
  else if (auto assign = dyn_cast<plan::VariableAssignOp>(op))
    keepOnDevice(assign.getSlot());
  return rewriteSwap(op) || rewriteControl(op) || rewriteCollective(op) || rewriteMemory(op) ||
         rewriteMessage(op);
}

Value CudaStepRewriter::finish(Value code) {
  // Buffers are in use until the GPU is done, whatever became of the step.
  Value save = beginSuspension();
  Value ready = call("weir_cuda_finish_ready", b.getI32Type(), {context, handle});
  suspendUnless(ready, save);
  return call("weir_cuda_finish", b.getI32Type(), {context, code});
}

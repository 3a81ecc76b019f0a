//===- StepPatterns.cpp - how the host performs a plan ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pattern for each operation of the plan: what it becomes in a step of the host, and of
// other devices where these have no pattern of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/host/KernelRows.h"
#include "compiler/codegen/host/StepRewriter.h"
#include "compiler/codegen/kernel/LibraryCall.h"
#include "dialects/plan/Buffers.h"
#include "dialects/weir/Pch.h"
#include "passes/plan/FeedUpdates.h"
#include "passes/plan/SubviewForwarding.h"
#include "passes/plan/VariableUpdates.h"
#include "weir/abi.h"
#include <cstddef>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

template <typename OpT> class HostPattern : public StepPattern<OpT> {
public:
  explicit HostPattern(StepRewriter &step)
      : StepPattern<OpT>(step, hostBenefit), b(step.b), context(step.context) {}

protected:
  Location loc() const { return this->step.loc; }
  Type word() const { return b.getI64Type(); }
  Type code() const { return b.getI32Type(); }
  Value i32(int64_t value) const { return this->step.i32(value); }
  Value i64(int64_t value) const { return this->step.i64(value); }
  Value call(StringRef name, Type result, ValueRange arguments) const {
    return this->step.call(name, result, arguments);
  }
  Value behind(Value base, int64_t bytes) const { return this->step.behind(base, bytes); }
  /// Where a field of the run's context points.
  Value contextPointer(size_t field) const {
    return this->step.loadField(context, field, this->step.pointer);
  }
  SmallVector<Value> sizesOf(MemRefType type, ValueRange open = {}) const {
    return this->step.sizesOf(type, open);
  }
  /// What is computed for several nodes at once is no line of one.
  void belongsToStep() const { this->step.loc = UnknownLoc::get(b.getContext()); }
  void requireMemory(Value data) const { this->step.requireMemory(data); }
  LogicalResult replaced(Operation *op, Value value) const {
    this->step.replace(op, value);
    return success();
  }
  LogicalResult erased(Operation *op) const {
    this->step.erase(op);
    return success();
  }

  OpBuilder &b;
  Value context;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

struct FeedPattern : HostPattern<FeedOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(FeedOp op) const override {
    Value feeds = contextPointer(offsetof(weir_context, feeds));
    return replaced(op,
                    step.packFromTensor(cast<MemRefType>(op.getType()),
                                        step.offset(feeds, op.getIndex() * sizeof(weir_tensor))));
  }
};

struct BlobPattern : HostPattern<BlobOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(BlobOp op) const override {
    auto type = cast<MemRefType>(op.getType());
    if (auto strings = dyn_cast<DenseStringElementsAttr>(op.getValue())) {
      SmallVector<Value> dims = sizesOf(type);
      return replaced(op, step.pack(type, step.stringTable(strings), dims));
    }
    Value base = contextPointer(offsetof(weir_context, blobs));
    Value data = behind(base, step.tables.blobOffset(op.getValue()));
    return replaced(op, step.pack(type, data, sizesOf(type)));
  }
};

struct BufferPattern : HostPattern<BufferOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(BufferOp op) const override {
    auto type = cast<MemRefType>(op.getType());
    Value base = contextPointer(offsetof(weir_context, arena));
    Value data = behind(base, op.getOffset().value_or(0));
    return replaced(op, step.pack(type, data, sizesOf(type)));
  }
};

struct ViewPattern : HostPattern<ViewOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(ViewOp op) const override {
    auto type = cast<MemRefType>(op.getType());
    SmallVector<Value> dims = sizesOf(type, op->getOperands().drop_front());
    Value data = step.unpack(op.getSource()).pointer;
    if (auto offset = op->getAttrOfType<IntegerAttr>(viewOffsetAttribute))
      data = behind(data, offset.getInt());
    return replaced(op, step.pack(type, data, dims));
  }
};

struct AllocPattern : HostPattern<AllocOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(AllocOp op) const override {
    if (llvm::any_of(op->getUsers(), llvm::IsaPred<PieceOp>))
      belongsToStep();
    auto type = cast<MemRefType>(op.getType());
    SmallVector<Value> dims = sizesOf(type, op->getOperands());
    Value bytes = step.boundedBytesOf(type, dims);
    Value data =
        call("weir_rt_alloc", step.pointer,
             {context, bytes, i32(step.site(op, "out of memory", WEIR_RESOURCE_EXHAUSTED))});
    requireMemory(data);
    return replaced(op, step.pack(type, data, dims));
  }
};

struct PaddedBytesPattern : HostPattern<PaddedBytesOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(PaddedBytesOp op) const override {
    auto type = cast<MemRefType>(op.getBuffer());
    Value bytes = step.boundedBytesOf(type, sizesOf(type, op.getSizes()));
    bytes = LLVM::SMinOp::create(b, loc(), bytes, i64(mostPooled));
    bytes = LLVM::SMaxOp::create(b, loc(), bytes, i64(1));
    bytes = LLVM::AddOp::create(b, loc(), bytes, i64(arenaAlignment - 1));
    bytes = LLVM::AndOp::create(b, loc(), bytes, i64(-arenaAlignment));
    return replaced(op, arith::IndexCastOp::create(b, loc(), b.getIndexType(), bytes));
  }
};

struct PiecePattern : HostPattern<PieceOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(PieceOp op) const override {
    belongsToStep();
    auto type = cast<MemRefType>(op.getType());
    Value data = LLVM::GEPOp::create(b, loc(), step.pointer, b.getI8Type(),
                                     step.unpack(op.getPool()).pointer,
                                     ArrayRef<LLVM::GEPArg>{step.toI64(op.getOffset())});
    return replaced(op, step.pack(type, data, sizesOf(type, op.getSizes())));
  }
};

struct FetchPattern : HostPattern<FetchOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(FetchOp op) const override {
    auto type = cast<MemRefType>(op.getType());
    SmallVector<Value> dims = sizesOf(type, op->getOperands());
    Value bytes = step.boundedBytesOf(type, dims);
    Value shape = step.stack(8 * dims.size());
    for (auto [i, dim] : llvm::enumerate(dims))
      step.storeField(dim, shape, 8 * i);
    Value data = call("weir_rt_fetch", step.pointer,
                      {context, i32(op.getIndex()), i32(type.getRank()), shape, bytes});
    requireMemory(data);
    return replaced(op, step.pack(type, data, dims));
  }
};

struct FreePattern : HostPattern<FreeOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(FreeOp op) const override {
    call("weir_rt_free", {}, {context, step.unpack(op.getBuffer()).pointer});
    return erased(op);
  }
};

struct CopyPattern : HostPattern<CopyOp> {
  using HostPattern::HostPattern;
  Value bytesToCopy(CopyOp op, const StepRewriter::Buffer &source,
                    const StepRewriter::Buffer &target) const {
    Value bytes = step.bytesOf(source.type, source.dims);
    if (!op->hasAttr(unlessSameAttribute))
      return bytes;
    Value isDone =
        LLVM::ICmpOp::create(b, loc(), LLVM::ICmpPredicate::eq, source.pointer, target.pointer);
    if (!target.type.hasStaticShape() || !source.type.hasStaticShape()) {
      Value differs = LLVM::ICmpOp::create(b, loc(), LLVM::ICmpPredicate::ne, bytes,
                                           step.bytesOf(target.type, target.dims));
      isDone = LLVM::OrOp::create(b, loc(), isDone, differs);
    }
    return LLVM::SelectOp::create(b, loc(), isDone, i64(0), bytes);
  }
  LogicalResult convert(CopyOp op) const override {
    StepRewriter::Buffer source = step.unpack(op.getSource()), target = step.unpack(op.getTarget());
    if (auto index = op->getAttrOfType<IntegerAttr>("weir.received_fetch"))
      call("weir_rt_fetch_received", {},
           {context, i32(index.getInt()), target.pointer, source.pointer,
            step.bytesOf(source.type, source.dims)});
    else
      call("memcpy", step.pointer,
           {target.pointer, source.pointer, bytesToCopy(op, source, target)});
    return erased(op);
  }
};

/// Elements are read and written without a kernel around.
struct Access : ElementReader {
  using ElementReader::ElementReader;
  Value element(Value, ValueRange) override { return {}; }
  Value dim(Value, unsigned) override { return {}; }
  void require(Operation *, Value, StringRef, int, Value, Value) override {}
};

struct LoadPattern : HostPattern<plan::LoadOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(plan::LoadOp op) const override {
    Access access(b, loc());
    StepRewriter::Buffer buffer = step.unpack(op->getOperand(0));
    Value linear = arith::IndexCastOp::create(
        b, loc(), b.getIndexType(), step.linearIndex(buffer, op->getOperands().drop_front(1)));
    return replaced(
        op, BufferAccess::load(access, buffer.pointer, buffer.type.getElementType(), linear));
  }
};

struct StorePattern : HostPattern<plan::StoreOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(plan::StoreOp op) const override {
    Access access(b, loc());
    StepRewriter::Buffer buffer = step.unpack(op->getOperand(1));
    Value linear = arith::IndexCastOp::create(
        b, loc(), b.getIndexType(), step.linearIndex(buffer, op->getOperands().drop_front(2)));
    BufferAccess::store(access, op->getOperand(0), buffer.pointer, buffer.type.getElementType(),
                        linear);
    return erased(op);
  }
};

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

struct RunPattern : HostPattern<RunOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(RunOp op) const override {
    SmallVector<Value> buffers(op.getInputs().begin(), op.getInputs().end());
    buffers.append(op.getOutputs().begin(), op.getOutputs().end());
    Value places = step.pointers.of(step, 8 * buffers.size());
    SmallVector<Value> dims;
    for (auto [i, memref] : llvm::enumerate(buffers)) {
      StepRewriter::Buffer buffer = step.unpack(memref);
      step.storeField(buffer.pointer, places, 8 * i);
      for (int64_t d = 0; d < buffer.type.getRank(); ++d)
        if (buffer.type.isDynamicDim(d))
          dims.push_back(buffer.dims[d]);
    }
    Value lengths = step.sizes.of(step, 8 * dims.size());
    for (auto [i, dim] : llvm::enumerate(dims))
      step.storeField(dim, lengths, 8 * i);
    StringRef kernel = op.getKernel();
    Value function =
        LLVM::AddressOfOp::create(b, loc(), step.pointer, step.tables.kernelSymbol[kernel]);
    Value range = step.toI64(op.getRange());
    step.returnIfError(
        call("weir_rt_parallel", code(),
             {context, function, places, lengths, range, step.grainOf(op, range, dims),
              i32(kernelRow(step.tables, kernel, op.getLoc()))}));
    return erased(op);
  }
};

/// A wait for what other runs bring about; a kernel gave the ticket.
struct WaitPattern : HostPattern<LibraryOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(LibraryOp op) const override {
    if (!op->hasAttr("waits"))
      return failure();
    Value ticket = LLVM::LoadOp::create(b, loc(), word(), step.unpack(op.getInputs()[0]).pointer);
    Value save = step.beginSuspension();
    step.suspendUnless(call("weir_rt_wait_ready", code(), {context, ticket, step.handle}), save);
    return erased(op);
  }
};

struct LibraryPattern : HostPattern<LibraryOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(LibraryOp op) const override {
    if (op->hasAttr("waits"))
      return failure();
    // The user's own functions are called through the session, which may have
    // been given another one; the descriptor names the one that is linked.
    auto custom = op->getAttrOfType<StringAttr>("weir.custom");
    if (!custom)
      declareLibraryFunction(step.function->getParentOfType<ModuleOp>(), loc(), op.getCallee());
    Value operands = step.stack(sizeof(weir_tensor) * op.getInputs().size());
    for (auto [i, input] : llvm::enumerate(op.getInputs()))
      copyInto(operands, i, step.unpack(input));
    Value results = step.stack(sizeof(weir_tensor) * op.getNumResults());
    Value null = LLVM::ZeroOp::create(b, loc(), step.pointer);
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      // The callee allocates; dtype and what is known of the sizes are given.
      StepRewriter::Buffer buffer;
      buffer.type = cast<MemRefType>(result.getType());
      buffer.pointer = null;
      for (int64_t size : buffer.type.getShape())
        buffer.dims.push_back(i64(ShapedType::isDynamic(size) ? -1 : size));
      copyInto(results, i, buffer);
    }
    Value parameters = step.stack(8 * op.getParameters().size());
    for (auto [i, parameter] : llvm::enumerate(op.getParameters()))
      step.storeField(i64(parameter), parameters, 8 * i);
    Value callee =
        custom ? i32(step.tables.customIndex(op, custom.getValue(), op.getCallee()))
               : LLVM::AddressOfOp::create(b, loc(), step.pointer, op.getCallee()).getResult();
    step.returnIfError(
        call(custom ? "weir_rt_custom" : "weir_rt_library", code(),
             {context, callee, i32(step.site(op, "failed", WEIR_INTERNAL)), operands,
              i32(op.getInputs().size()), results, i32(op.getNumResults()), parameters}));
    SmallVector<Value> values;
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      values.push_back(step.packFromTensor(cast<MemRefType>(result.getType()),
                                           step.offset(results, i * sizeof(weir_tensor))));
    step.replace(op, values);
    return success();
  }

private:
  void copyInto(Value array, int64_t i, const StepRewriter::Buffer &buffer) const {
    Value tensor = step.tensorOnStack(buffer);
    call("memcpy", step.pointer,
         {step.offset(array, i * sizeof(weir_tensor)), tensor, i64(sizeof(weir_tensor))});
  }
};

struct RequirePattern : HostPattern<RequireOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(RequireOp op) const override {
    int number = step.tables.sites.add(op.getNode(), op.getKind(), op.getMessage(), op.getCode());
    SmallVector<Value> arguments{context, i32(number)};
    for (Value value : op.getValues()) {
      if (value.getType().isIndex())
        value = step.toI64(value);
      else if (value.getType().getIntOrFloatBitWidth() < 64)
        value = arith::ExtSIOp::create(b, loc(), word(), value);
      arguments.push_back(value);
    }
    while (arguments.size() < 4)
      arguments.push_back(i64(0));
    Block *block = b.getInsertionBlock();
    Block *rest = block->splitBlock(b.getInsertionPoint());
    Block *bad = b.createBlock(rest);
    b.setInsertionPointToEnd(block);
    cf::CondBranchOp::create(b, loc(), op.getCondition(), rest, ValueRange{}, bad, ValueRange{});
    b.setInsertionPointToEnd(bad);
    Value failed = call("weir_rt_error", code(), arguments);
    cf::BranchOp::create(b, loc(), step.failBlock, ValueRange{failed});
    return erased(op);
  }
};

//===----------------------------------------------------------------------===//
// Variables, other devices
//===----------------------------------------------------------------------===//

struct VariableReadPattern : HostPattern<plan::VariableReadOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(plan::VariableReadOp op) const override {
    Value tensor = step.stack(sizeof(weir_tensor));
    int number = step.tables.sites.add(
        op.getNode(), "Variable", "read before it was assigned a value", WEIR_FAILED_PRECONDITION);
    StringRef function = op->hasAttr(takenAttribute)  ? "weir_rt_variable_take"
                         : op->hasAttr(heldAttribute) ? "weir_rt_variable_update"
                                                      : step.readFunction();
    step.returnIfError(call(function, code(), {context, i32(op.getSlot()), i32(number), tensor}));
    return replaced(op, step.packFromTensor(cast<MemRefType>(op.getType()), tensor));
  }
};

struct VariableAssignPattern : HostPattern<plan::VariableAssignOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(plan::VariableAssignOp op) const override {
    if (op->hasAttr(takenAttribute)) {
      call("weir_rt_variable_put", {}, {context, i32(op.getSlot())});
      return erased(op);
    }
    Value tensor = step.tensorOnStack(step.unpack(op.getValue()));
    int number =
        step.tables.sites.add(op.getNode(), "Assign", "out of memory", WEIR_RESOURCE_EXHAUSTED);
    step.returnIfError(
        call(step.assignFunction(), code(), {context, i32(op.getSlot()), i32(number), tensor}));
    return erased(op);
  }
};

struct SendPattern : HostPattern<plan::SendOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(plan::SendOp op) const override {
    step.awaitRoom(op);
    Value tensor = op.getValue().empty() ? LLVM::ZeroOp::create(b, loc(), step.pointer).getResult()
                                         : step.tensorOnStack(step.unpack(op.getValue()[0]));
    step.returnIfError(call(op.getKept() ? "weir_rt_send_kept" : "weir_rt_send", code(),
                            {context, i32(op.getEdge()), step.toI64(op.getIteration()), tensor}));
    return erased(op);
  }
};

struct ReceivePattern : HostPattern<plan::ReceiveOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(plan::ReceiveOp op) const override {
    step.rewriteReceive(op, "weir_rt_receive");
    return success();
  }
};

struct AwaitSentPattern : HostPattern<plan::AwaitSentOp> {
  using HostPattern::HostPattern;
  LogicalResult convert(plan::AwaitSentOp op) const override {
    Value save = step.beginSuspension();
    step.suspendUnless(call("weir_rt_sent_ready", code(), {context, step.handle}), save);
    return erased(op);
  }
};

} // namespace

void weir::addHostPatterns(RewritePatternSet &patterns, StepRewriter &step) {
  patterns
      .add<FeedPattern, BlobPattern, BufferPattern, ViewPattern, AllocPattern, PaddedBytesPattern,
           PiecePattern, FetchPattern, FreePattern, CopyPattern, LoadPattern, StorePattern,
           RunPattern, WaitPattern, LibraryPattern, RequirePattern, VariableReadPattern,
           VariableAssignPattern, SendPattern, ReceivePattern, AwaitSentPattern>(step);
}

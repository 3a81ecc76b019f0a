//===- StepRewriter.cpp - one step function becomes LLVM ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/host/StepRewriter.h"
#include "compiler/codegen/kernel/LibraryCall.h"
#include "dialects/plan/Buffers.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Transforms/DialectConversion.h"
#include "weir/abi.h"
#include <cstddef>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

StepRewriter::StepRewriter(func::FuncOp function, StepTables &tables)
    : function(function), tables(tables), b(function.getContext()), loc(function.getLoc()),
      pointer(LLVM::LLVMPointerType::get(function.getContext())) {}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value StepRewriter::i32(int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(value));
}
Value StepRewriter::i64(int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value));
}
Value StepRewriter::toI64(Value index) {
  return b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), index);
}
Value StepRewriter::offset(Value base, int64_t bytes) {
  return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{(int32_t)bytes});
}

Value StepRewriter::behind(Value base, int64_t bytes) {
  return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{i64(bytes)});
}

SmallVector<Value> StepRewriter::sizesOf(MemRefType type, ValueRange open) {
  SmallVector<Value> dims;
  unsigned next = 0;
  for (int64_t size : type.getShape())
    dims.push_back(ShapedType::isDynamic(size) ? toI64(open[next++]) : i64(size));
  return dims;
}

void StepRewriter::requireMemory(Value data) {
  Value null = LLVM::ZeroOp::create(b, loc, pointer);
  Value missing = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, data, null);
  returnIfError(LLVM::ZExtOp::create(b, loc, b.getI32Type(), missing));
}
Value StepRewriter::loadField(Value base, int64_t bytes, Type type) {
  return LLVM::LoadOp::create(b, loc, type, offset(base, bytes));
}
void StepRewriter::storeField(Value value, Value base, int64_t bytes) {
  LLVM::StoreOp::create(b, loc, value, offset(base, bytes));
}
Value StepRewriter::call(StringRef name, Type result, ValueRange arguments) {
  SmallVector<Type> types;
  if (result)
    types.push_back(result);
  auto op =
      LLVM::CallOp::create(b, loc, types, SymbolRefAttr::get(b.getContext(), name), arguments);
  return result ? op.getResult() : Value();
}

Value StepRewriter::stack(int64_t bytes) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(head);
  return LLVM::AllocaOp::create(b, loc, pointer, b.getI8Type(), i64(std::max<int64_t>(bytes, 8)),
                                16);
}

Value StepRewriter::Scratch::of(StepRewriter &rewriter, int64_t bytes) {
  if (!space)
    space = rewriter.stack(bytes);
  auto length =
      space.getDefiningOp<LLVM::AllocaOp>().getArraySize().getDefiningOp<LLVM::ConstantOp>();
  if (cast<IntegerAttr>(length.getValue()).getInt() < bytes)
    length.setValueAttr(rewriter.b.getI64IntegerAttr(bytes));
  return space;
}

/// What upstream's conversions take in place of a buffer of strings, which they
/// do not know: pairs of words. Descriptors do not say what elements are.
static MemRefType plainType(MemRefType type) {
  if (!isa<StringType>(type.getElementType()))
    return type;
  return MemRefType::get(type.getShape(),
                         ComplexType::get(IntegerType::get(type.getContext(), 64)));
}

static Type descriptorType(MemRefType type) {
  return LLVMTypeConverter(type.getContext()).convertType(plainType(type));
}

/// What `pack` put into the descriptor of `memref` at `position`, if it was made here.
static Value packedPart(Value memref, ArrayRef<int64_t> position) {
  auto cast = memref.getDefiningOp<UnrealizedConversionCastOp>();
  Value descriptor = cast && cast->getNumOperands() == 1 ? cast->getOperand(0) : Value();
  while (descriptor) {
    auto insert = descriptor.getDefiningOp<LLVM::InsertValueOp>();
    if (insert && insert.getPosition() == position)
      return insert.getValue();
    descriptor = insert ? insert.getContainer() : Value();
  }
  return {};
}

StepRewriter::Buffer StepRewriter::unpack(Value memref) {
  Buffer buffer;
  buffer.type = cast<MemRefType>(memref.getType());
  constexpr int64_t alignedPointer = 1; // of MLIR's descriptors
  buffer.pointer = packedPart(memref, alignedPointer);
  if (!buffer.pointer) {
    auto base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
    buffer.pointer = LLVM::IntToPtrOp::create(b, loc, pointer, toI64(base));
  }
  constexpr int64_t sizes = 3;
  for (int64_t i = 0; i < buffer.type.getRank(); ++i) {
    Value dim = buffer.type.isDynamicDim(i) ? packedPart(memref, {sizes, i})
                                            : i64(buffer.type.getDimSize(i));
    buffer.dims.push_back(dim ? dim : toI64(memref::DimOp::create(b, loc, memref, i)));
  }
  return buffer;
}

Value StepRewriter::pack(MemRefType type, Value data, ValueRange dims) {
  SmallVector<Value> strides(dims.size());
  Value stride = i64(1);
  for (int64_t i = (int64_t)dims.size() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride = LLVM::MulOp::create(b, loc, stride, dims[i]);
  }
  auto descriptor = MemRefDescriptor::poison(b, loc, descriptorType(type));
  descriptor.setAllocatedPtr(b, loc, data);
  descriptor.setAlignedPtr(b, loc, data);
  descriptor.setConstantOffset(b, loc, 0);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    descriptor.setSize(b, loc, i, dim);
    descriptor.setStride(b, loc, i, strides[i]);
  }
  return UnrealizedConversionCastOp::create(b, loc, TypeRange{type}, ValueRange{descriptor})
      .getResult(0);
}

Value StepRewriter::bytesOf(MemRefType type, ValueRange dims) {
  Value bytes = i64(elementBytes(type.getElementType()));
  for (Value dim : dims)
    bytes = LLVM::MulOp::create(b, loc, bytes, dim);
  return bytes;
}

Value StepRewriter::boundedBytesOf(MemRefType type, ValueRange dims) {
  if (type.hasStaticShape())
    return bytesOf(type, dims);
  Value bytes = i64(plan::knownBytes(type)), most = i64(std::numeric_limits<int64_t>::max());
  auto pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {b.getI64Type(), b.getI1Type()});
  for (auto [dim, size] : llvm::zip(dims, type.getShape())) {
    if (!ShapedType::isDynamic(size))
      continue;
    Value both = LLVM::SMulWithOverflowOp::create(b, loc, pair, bytes, dim);
    Value product = LLVM::ExtractValueOp::create(b, loc, both, 0),
          isTooMuch = LLVM::ExtractValueOp::create(b, loc, both, 1);
    bytes = LLVM::SelectOp::create(b, loc, isTooMuch, most, product);
  }
  return bytes;
}

Value StepRewriter::tensorOnStack(const Buffer &buffer) {
  Value tensor = stack(sizeof(weir_tensor));
  storeTensor(b, loc, tensor, buffer.pointer, buffer.type.getElementType(), buffer.dims);
  return tensor;
}

Value StepRewriter::packFromTensor(MemRefType type, Value tensor) {
  SmallVector<Value> dims;
  for (int64_t i = 0; i < type.getRank(); ++i)
    dims.push_back(type.isDynamicDim(i)
                       ? loadField(tensor, offsetof(weir_tensor, dims) + 8 * i, b.getI64Type())
                       : i64(type.getDimSize(i)));
  return pack(type, loadField(tensor, offsetof(weir_tensor, data), pointer), dims);
}

Value StepRewriter::linearIndex(const Buffer &buffer, ValueRange indices) {
  Value linear = i64(0);
  for (auto [index, dim] : llvm::zip(indices, buffer.dims))
    linear = LLVM::AddOp::create(b, loc, LLVM::MulOp::create(b, loc, linear, dim), toI64(index));
  return linear;
}

Value StepRewriter::stringTable(DenseStringElementsAttr strings) {
  std::string name = tables.stringTable(strings);
  auto module = function->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(name)) {
    // Declared here, filled once LLVM has it: building the table from single
    // insertions would take time that grows with its square.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    Type element = BufferAccess::storageType(StringType::get(b.getContext()));
    LLVM::GlobalOp::create(b, loc, LLVM::LLVMArrayType::get(element, strings.getNumElements()),
                           /*isConstant=*/true, LLVM::Linkage::External, name, Attribute(), 64);
  }
  return LLVM::AddressOfOp::create(b, loc, pointer, name);
}

void StepRewriter::eraseUnreadDescriptors() {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isa<UnrealizedConversionCastOp, LLVM::InsertValueOp>(op) && op->use_empty())
      op->erase();
  });
}

void StepRewriter::makeStringsPlain() {
  auto convert = [](Value value) {
    if (auto type = dyn_cast<MemRefType>(value.getType()))
      value.setType(plainType(type));
  };
  for (Block &block : function.getBody()) {
    llvm::for_each(block.getArguments(), convert);
    for (Operation &op : block)
      llvm::for_each(op.getResults(), convert);
  }
}

int StepRewriter::site(Operation *op, StringRef message, int code) {
  return tables.sites.add(nodeName(op->getLoc()), op->getName().stripDialect(), message, code);
}

void StepRewriter::returnIfError(Value code) {
  Value bad = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, code, i32(0));
  Block *block = b.getInsertionBlock();
  Block *rest = block->splitBlock(b.getInsertionPoint());
  b.setInsertionPointToEnd(block);
  cf::CondBranchOp::create(b, loc, bad, failBlock, ValueRange{code}, rest, ValueRange{});
  b.setInsertionPointToStart(rest);
}

//===----------------------------------------------------------------------===//
// Coroutines: a step that waits is split at its waits by LLVM
//===----------------------------------------------------------------------===//

void StepRewriter::beginCoroutine() {
  Type token = LLVM::LLVMTokenType::get(b.getContext());
  Value null = LLVM::ZeroOp::create(b, loc, pointer);
  coroutineId = LLVM::CoroIdOp::create(b, loc, token, i32(16), null, null, null);
  Value size = LLVM::CoroSizeOp::create(b, loc, b.getI64Type());
  // The frame belongs to the run and is freed with it: a resumed step may end
  // the run before its last instruction returns.
  Value frame =
      call("weir_rt_alloc", pointer,
           {context, size, i32(site(function, "the step's frame", WEIR_RESOURCE_EXHAUSTED))});
  handle = LLVM::CoroBeginOp::create(b, loc, pointer, coroutineId, frame);
}

void StepRewriter::suspend(Value save) {
  Value no = LLVM::ConstantOp::create(b, loc, b.getI1Type(), b.getBoolAttr(false));
  Value way = LLVM::CoroSuspendOp::create(b, loc, b.getI8Type(), save, no);
  Value way32 = LLVM::SExtOp::create(b, loc, b.getI32Type(), way);
  Block *block = b.getInsertionBlock();
  Block *rest = block->splitBlock(b.getInsertionPoint());
  b.setInsertionPointToEnd(block);
  // 0: resumed; 1: destroyed, which the runtime never asks for; else suspended.
  SmallVector<int32_t> cases{0, 1};
  SmallVector<Block *> targets{rest, suspendBlock};
  cf::SwitchOp::create(b, loc, way32, suspendBlock, ValueRange{}, cases, targets,
                       SmallVector<ValueRange>{ValueRange{}, ValueRange{}});
  b.setInsertionPointToStart(rest);
}

Value StepRewriter::beginSuspension() {
  // Before the call: once it returned 0 another thread may be in this frame. A
  // step that then finds its tensor ready reports its end twice, which is fine.
  Value yes = LLVM::ConstantOp::create(b, loc, b.getI1Type(), b.getBoolAttr(true));
  LLVM::StoreOp::create(b, loc, yes, everSuspended);
  Type token = LLVM::LLVMTokenType::get(b.getContext());
  return LLVM::CoroSaveOp::create(b, loc, token, handle);
}

void StepRewriter::suspendUnless(Value ready, Value save) {
  Value isReady = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, ready, i32(0));
  Block *block = b.getInsertionBlock();
  Block *rest = block->splitBlock(b.getInsertionPoint());
  Block *wait = b.createBlock(rest);
  b.setInsertionPointToEnd(block);
  cf::CondBranchOp::create(b, loc, isReady, rest, ValueRange{}, wait, ValueRange{});
  b.setInsertionPointToStart(wait);
  cf::BranchOp::create(b, loc, rest);
  b.setInsertionPointToStart(wait);
  suspend(save);
  b.setInsertionPointToStart(rest);
}

void StepRewriter::rewriteReceive(plan::ReceiveOp op, StringRef take) {
  Value edge = i32(op.getEdge()), iteration = toI64(op.getIteration());
  Value save = beginSuspension();
  suspendUnless(call("weir_rt_receive_ready", b.getI32Type(), {context, edge, iteration, handle}),
                save);
  Value tensor = stack(sizeof(weir_tensor));
  returnIfError(call(take, b.getI32Type(), {context, edge, iteration, tensor}));
  if (op.getResult())
    replace(op, packFromTensor(cast<MemRefType>(op.getResult().getType()), tensor));
  else
    erase(op);
}

/// Whether an edge is used more than once in a step: such ones count.
static bool isRepeated(plan::SendOp send) { return !matchPattern(send.getIteration(), m_Zero()); }

void StepRewriter::awaitRoom(plan::SendOp send) {
  if (!isRepeated(send))
    return;
  Value save = beginSuspension();
  suspendUnless(call("weir_rt_send_ready", b.getI32Type(), {context, i32(send.getEdge()), handle}),
                save);
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

void StepRewriter::begin(Operation *op, RewriterBase &rewriter) {
  this->rewriter = &rewriter;
  b.setListener(rewriter.getListener());
  b.setInsertionPoint(op);
  loc = op->getLoc();
}
void StepRewriter::replace(Operation *op, ValueRange values) { rewriter->replaceOp(op, values); }
void StepRewriter::erase(Operation *op) { rewriter->eraseOp(op); }

namespace weir {

/// A device's way for operations of all kinds.
class OtherwisePattern : public RewritePattern {
public:
  explicit OtherwisePattern(StepRewriter &step)
      : RewritePattern(MatchAnyOpTypeTag(), deviceBenefit, step.function.getContext()), step(step) {
  }
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    step.begin(op, rewriter);
    return success(step.rewriteOtherwise(op));
  }

private:
  StepRewriter &step;
};

} // namespace weir

LogicalResult StepRewriter::convert() {
  RewritePatternSet patterns(b.getContext());
  addHostPatterns(patterns, *this);
  addPatterns(patterns);
  patterns.add<OtherwisePattern>(*this);
  ConversionTarget target(*b.getContext());
  target.addIllegalDialect<WeirPlanDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  // In the order in which they stand: it is the order of what they put into tables.
  SmallVector<Operation *> work;
  function.walk([&](Operation *op) {
    if (isa<WeirPlanDialect>(op->getDialect()))
      work.push_back(op);
  });
  ConversionConfig config;
  config.allowPatternRollback = false;
  config.foldingMode = DialectConversionFoldingMode::Never;
  LogicalResult result = applyPartialConversion(work, target, std::move(patterns), config);
  rewriter = nullptr;
  b.setListener(nullptr);
  return result;
}

LogicalResult StepRewriter::run() {
  isCoroutine = alwaysWaits();
  function.walk([&](Operation *op) {
    isCoroutine |= isa<plan::ReceiveOp, plan::AwaitSentOp>(op) || op->hasAttr("waits");
    if (auto send = dyn_cast<plan::SendOp>(op))
      isCoroutine |= isRepeated(send);
  });
  function.setType(FunctionType::get(b.getContext(), {pointer}, {b.getI32Type()}));
  Block &entry = function.getBody().front();
  context = entry.addArgument(pointer, loc);
  // Frame space lies in a block of its own before everything.
  Block *first = entry.splitBlock(entry.begin());
  head = &entry;
  failBlock = b.createBlock(&function.getBody(), function.getBody().end(), {b.getI32Type()}, {loc});
  b.setInsertionPointToEnd(head);
  if (isCoroutine) {
    suspendBlock = b.createBlock(&function.getBody(), function.getBody().end());
    b.setInsertionPointToEnd(head);
    beginCoroutine();
    everSuspended = LLVM::AllocaOp::create(b, loc, pointer, b.getI1Type(), i64(1));
    LLVM::StoreOp::create(b, loc,
                          LLVM::ConstantOp::create(b, loc, b.getI1Type(), b.getBoolAttr(false)),
                          everSuspended);
  }
  cf::BranchOp::create(b, loc, first);

  if (launchesByTable())
    tabulateLaunches();
  if (failed(convert()))
    return failure();
  eraseUnreadDescriptors();
  makeStringsPlain();
  end();
  return success();
}

void StepRewriter::end() {
  for (auto ret : llvm::to_vector(function.getOps<func::ReturnOp>())) {
    b.setInsertionPoint(ret);
    loc = ret.getLoc();
    cf::BranchOp::create(b, loc, failBlock, ValueRange{i32(0)});
    ret.erase();
  }
  loc = function.getLoc();
  b.setInsertionPointToEnd(failBlock);
  Value code = finish(failBlock->getArgument(0));
  if (!isCoroutine) {
    func::ReturnOp::create(b, loc, code);
    return;
  }
  // Finished: report it where an earlier return said "pending".
  Block *last = b.getInsertionBlock();
  Block *report = b.createBlock(suspendBlock),
        *end =
            b.createBlock(&function.getBody(), function.getBody().end(), {b.getI32Type()}, {loc});
  b.setInsertionPointToEnd(last);
  Value was = LLVM::LoadOp::create(b, loc, b.getI1Type(), everSuspended);
  cf::CondBranchOp::create(b, loc, was, report, ValueRange{}, end, ValueRange{code});
  b.setInsertionPointToEnd(report);
  call("weir_rt_step_done", {}, {context, code});
  cf::BranchOp::create(b, loc, end, ValueRange{code});
  b.setInsertionPointToEnd(suspendBlock);
  cf::BranchOp::create(b, loc, end, ValueRange{i32(WEIR_PENDING)});
  b.setInsertionPointToEnd(end);
  Value no = LLVM::ConstantOp::create(b, loc, b.getI1Type(), b.getBoolAttr(false));
  Value none = LLVM::NoneTokenOp::create(b, loc);
  LLVM::CoroEndOp::create(b, loc, b.getI1Type(), handle, no, none);
  func::ReturnOp::create(b, loc, end->getArgument(0));
  function->setAttr("passthrough", b.getArrayAttr({b.getStringAttr("presplitcoroutine")}));
}

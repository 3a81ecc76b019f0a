//===- StepBuilder.cpp - tensors of a step become buffers --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/StepBuilder.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/Training.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/plan/LaunchWork.h"
#include "weir/weir.h"
#include <map>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

MemRefType plan::bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  // A box is a pointer, which conversions to LLVM know as an element.
  if (isa<BoxType>(element))
    element = LLVM::LLVMPointerType::get(type.getContext());
  return MemRefType::get(tensor.getShape(), element);
}

int64_t SlotTable::add(VariableOp op) {
  auto it = llvm::find_if(slots, [&](const Slot &slot) {
    return slot.name == op.getName() && slot.container == op.getContainer();
  });
  if (it == slots.end()) {
    auto device =
        op->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>("weir.device_index");
    slots.push_back({op.getName().str(), op.getContainer().str(), op.getType(), op.getInitialAttr(),
                     op->hasAttr(copyAttr), device ? device.getInt() : 0});
    if (auto axis = op->getAttrOfType<IntegerAttr>(shardAttr))
      slots.back().shard = axis.getInt();
    return slots.size() - 1;
  }
  if (!it->initial)
    it->initial = op.getInitialAttr();
  return it - slots.begin();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TensorState &StepBuilder::stateOf(Value tensor) { return states[tensor]; }

SmallVector<Value> StepBuilder::dimsOfBuffer(Value buffer) {
  SmallVector<Value> dims;
  auto type = cast<MemRefType>(buffer.getType());
  for (int64_t i = 0; i < type.getRank(); ++i)
    dims.push_back(type.isDynamicDim(i) ? memref::DimOp::create(b, loc, buffer, i).getResult()
                                        : constant(type.getDimSize(i)));
  return dims;
}

void StepBuilder::setBuffer(Value tensor, Value buffer) {
  TensorState state;
  state.buffer = buffer;
  state.dims = dimsOfBuffer(buffer);
  states[tensor] = state;
}

SmallVector<Value> StepBuilder::dynamicOnly(Type type, ValueRange dims) {
  SmallVector<Value> result;
  auto tensor = cast<RankedTensorType>(type);
  for (auto [i, dim] : llvm::enumerate(dims))
    if (tensor.isDynamicDim(i))
      result.push_back(dim);
  return result;
}

Value StepBuilder::allocate(Type type, ValueRange dims) {
  MemRefType buffer = bufferType(type);
  if (buffer.hasStaticShape())
    return BufferOp::create(b, loc, buffer, IntegerAttr());
  return AllocOp::create(b, loc, buffer, dynamicOnly(type, dims));
}

Value StepBuilder::blob(Attribute value, Type type) {
  Value &known = blobs[value];
  if (!known) {
    // At the head, where it dominates every use.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&function.getBody().front());
    known = BlobOp::create(b, loc, bufferType(type), value);
  }
  return known;
}

Value StepBuilder::bufferOf(Value tensor) {
  if (auto constant = tensor.getDefiningOp<ConstantOp>())
    return blob(constant.getValue(), tensor.getType());
  TensorState &state = states[tensor];
  if (state.buffer)
    return state.buffer;
  // The scalars dominate this point; a later use elsewhere may not be
  // dominated by it, so the buffer is not remembered across blocks.
  Value buffer = allocate(tensor.getType(), state.dims);
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [i, scalar] : llvm::enumerate(state.scalars)) {
    SmallVector<Value> indices;
    int64_t rest = i;
    for (int64_t size : llvm::reverse(type.getShape())) {
      indices.insert(indices.begin(), constant(rest % size));
      rest /= size;
    }
    StoreOp::create(b, loc, scalar, buffer, indices);
  }
  return buffer;
}

SmallVector<Value> StepBuilder::scalarsOf(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> result;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> indices;
    int64_t rest = i;
    for (int64_t size : llvm::reverse(type.getShape())) {
      indices.insert(indices.begin(), constant(rest % size));
      rest /= size;
    }
    result.push_back(element(tensor, indices));
  }
  return result;
}

Value StepBuilder::leafElement(Value tensor, ValueRange indices) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (tensor.getDefiningOp<ConstantOp>())
    return LoadOp::create(b, loc, computeType(type.getElementType()), bufferOf(tensor), indices);
  TensorState &state = states[tensor];
  if (state.hasScalars) {
    if (state.scalars.empty()) // never reached
      return shape::reductionStart(*this, type.getElementType(), ReduceKind::Sum);
    Value linear = constant(0);
    for (auto [index, size] : llvm::zip(indices, type.getShape()))
      linear = add(mul(linear, constant(size)), index);
    APInt known;
    if (matchPattern(linear, m_ConstantInt(&known)) && known.ult(state.scalars.size()))
      return state.scalars[known.getZExtValue()];
    Value result = state.scalars[0];
    for (size_t i = 1; i < state.scalars.size(); ++i)
      result = select(equal(linear, constant(i)), state.scalars[i], result);
    return result;
  }
  return LoadOp::create(b, loc, computeType(type.getElementType()), state.buffer, indices);
}

Value StepBuilder::leafDim(Value tensor, unsigned i) { return states[tensor].dims[i]; }

Value StepBuilder::constantElement(Value tensor, ElementsAttr value, ValueRange indices) {
  return LoadOp::create(b, loc, computeType(value.getElementType()), bufferOf(tensor), indices);
}

/// The node that `op` stands for. An operation inside of a kernel that serves
/// several launches is of the node that this launch has in its place.
StringRef StepBuilder::nameOf(Operation *op) {
  StringRef name = nodeName(op->getLoc());
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel || !launch)
    return name;
  llvm::SetVector<StringRef> first, own;
  collectNodeNames(kernel.getLoc(), first);
  collectNodeNames(launch.getLoc(), own);
  if (own.empty() || own.contains(name))
    return name;
  auto it = llvm::find(first, name);
  return first.size() == own.size() && it != first.end() ? own[it - first.begin()] : own.front();
}

void StepBuilder::require(Operation *op, Value ok, StringRef message, int code, Value value0,
                          Value value1) {
  if (quiet || matchPattern(ok, m_One()))
    return;
  SmallVector<Value> values;
  for (Value value : {value0, value1})
    if (value)
      values.push_back(value);
  RequireOp::create(b, loc, ok, nameOf(op), op->getName().stripDialect(), message, code, values);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult StepBuilder::build(func::FuncOp source, func::FuncOp target) {
  function = target;
  Block *body = target.addEntryBlock();
  b.setInsertionPointToStart(body);
  for (BlockArgument argument : source.getArguments()) {
    loc = argument.getLoc();
    auto feedIndex =
        source.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "weir.feed_index");
    int64_t index = feedIndex ? feedIndex.getInt() : argument.getArgNumber();
    setBuffer(argument,
              FeedOp::create(b, loc, bufferType(argument.getType()), b.getI64IntegerAttr(index)));
  }
  return visitBlock(source.getBody().front());
}

LogicalResult StepBuilder::visitBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>() && !isa<func::ReturnOp>(op))
      break;
    loc = op.getLoc();
    if (failed(visit(&op)))
      return failure();
  }
  return success();
}

LogicalResult StepBuilder::visit(Operation *op) {
  // Buffers are written between operations, and launches bind a kernel's
  // operands anew.
  forgetAll();
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ConstantOp, DoneOp>([](auto) { return success(); })
      .Case<LaunchOp>([&](auto o) { return visitLaunch(o); })
      .Case<IfOp>([&](auto o) { return visitIf(o); })
      .Case<WhileOp>([&](auto o) { return visitWhile(o); })
      .Case<AssertOp>([&](auto o) { return visitAssert(o); })
      .Case<func::ReturnOp>([&](auto o) { return visitReturn(o); })
      .Case<GateOp>([&](GateOp gate) {
        if (!gate.getValue().getDefiningOp<ConstantOp>()) {
          states[gate.getResult()] = TensorState(states[gate.getValue()]);
          return success();
        }
        setBuffer(gate.getResult(), bufferOf(gate.getValue()));
        return success();
      })
      .Case<VariableOp>([&](VariableOp variable) {
        resources[variable.getResource()] = slots.add(variable);
        return success();
      })
      .Case<weir::VariableReadOp>([&](weir::VariableReadOp read) {
        setBuffer(read.getResult(), plan::VariableReadOp::create(
                                        b, loc, bufferType(read.getType()),
                                        b.getI64IntegerAttr(resources.lookup(read.getResource())),
                                        b.getStringAttr(nodeName(loc))));
        return success();
      })
      .Case<weir::VariableAssignOp>([&](weir::VariableAssignOp assign) {
        plan::VariableAssignOp::create(b, loc,
                                       b.getI64IntegerAttr(resources.lookup(assign.getResource())),
                                       b.getStringAttr(nodeName(loc)), bufferOf(assign.getValue()));
        return success();
      })
      .Case<SwapOutOp>([&](SwapOutOp swap) {
        auto slot = b.getI64IntegerAttr(saved.size());
        saved[swap.getSaved()] =
            SwapOutOp::create(b, loc, swap.getSaved().getType(), bufferOf(swap.getValue()), slot);
        return success();
      })
      .Case<SwapInOp>([&](SwapInOp swap) {
        Value value = swap.getValue();
        Value buffer = allocate(value.getType(), {});
        SwapInOp::create(b, loc, Type(), swap.getSaved().getType(), saved.lookup(swap.getSaved()),
                         buffer);
        setBuffer(value, buffer);
        return success();
      })
      .Case<HasCollectiveOp>([&](HasCollectiveOp has) {
        TensorState state;
        state.scalars = {HasCollectiveOp::create(b, loc, b.getI1Type(), has.getCollectiveAttr())};
        state.hasScalars = true;
        states[has.getResult()] = state;
        return success();
      })
      .Case<plan::AllReduceOp>([&](auto o) { return visitAllReduce(o); })
      .Case<weir::SendOp>([&](auto o) { return visitSend(o); })
      .Case<weir::ReceiveOp>([&](auto o) { return visitReceive(o); })
      .Default([&](Operation *other) -> LogicalResult {
        if (auto reshape = dyn_cast<ReshapeOp>(other))
          if (!isScalarForm(reshape.getType()) || isDecidedOnDevice(reshape.getOperation()))
            return visitReshape(reshape);
        if (roleOf(other) == OperationRole::Scalar)
          return visitScalar(other);
        return visitLibrary(other);
      });
}

LogicalResult StepBuilder::visitAllReduce(plan::AllReduceOp reduce) {
  Value value = bufferOf(reduce.getValue()), result = reduce.getResult(), target;
  if (result) {
    target = allocate(result.getType(), stateOf(reduce.getValue()).dims);
    setBuffer(result, target);
  }
  plan::AllReduceOp::create(b, loc, Type(), reduce.getCollectiveAttr(), value, target);
  return success();
}

LogicalResult StepBuilder::visitSend(weir::SendOp send) {
  SmallVector<Value> buffers;
  for (Value value : send.getValue())
    if (isa<TensorType>(value.getType()))
      buffers.push_back(bufferOf(value));
  plan::SendOp::create(b, loc, send.getEdgeAttr(), iterationOf(send), buffers);
  return success();
}

LogicalResult StepBuilder::visitReceive(weir::ReceiveOp receive) {
  bool isTensor = isa<TensorType>(receive.getType());
  auto op = plan::ReceiveOp::create(b, loc, isTensor ? Type(bufferType(receive.getType())) : Type(),
                                    receive.getEdgeAttr(), iterationOf(receive));
  if (isTensor)
    setBuffer(receive.getResult(), op.getResult());
  // An offload device's step reads few integers on the host, where they
  // arrive, and its kernels what the step writes for them.
  if (isTensor && isScalarForm(receive.getType()) && isOffloaded(receive)) {
    TensorState state;
    state.scalars = scalarsOf(receive.getResult());
    state.dims = stateOf(receive.getResult()).dims;
    state.hasScalars = true;
    states[receive.getResult()] = state;
  }
  return success();
}

Value StepBuilder::iterationOf(Operation *op) {
  return constant(isa<func::FuncOp>(op->getParentOp()) ? 0 : -1);
}

LogicalResult StepBuilder::visitScalar(Operation *op) {
  // The operation's elements first, the results' states after: until then the
  // results are no leaves.
  SmallVector<TensorState> made;
  for (OpResult result : op->getResults()) {
    TensorState state;
    state.hasScalars = true;
    auto type = cast<RankedTensorType>(result.getType());
    for (int64_t size : type.getShape())
      state.dims.push_back(constant(size));
    state.scalars = scalarsOf(result);
    made.push_back(state);
  }
  // Checks that the operation makes of its sizes.
  if (auto reify = dyn_cast<ReifyShapeOpInterface>(op)) {
    SmallVector<Value> ignored;
    (void)reify.reifyShape(*this, 0, ignored);
  }
  for (auto [result, state] : llvm::zip(op->getResults(), made))
    states[result] = state;
  return success();
}

LogicalResult StepBuilder::visitReshape(ReshapeOp op) {
  SmallVector<Value> dims;
  if (failed(op.reifyShape(*this, 0, dims)))
    return op.emitError("the result's sizes cannot be derived");
  Value source = bufferOf(op.getOperand());
  TensorState state;
  state.buffer =
      ViewOp::create(b, loc, bufferType(op.getType()), source, dynamicOnly(op.getType(), dims));
  state.dims = dims;
  states[op.getResult()] = state;
  return success();
}

/// Emits what an operation inside of a kernel asks of sizes that only the run
/// knows.
void StepBuilder::checkSizes(Operation *op) {
  auto reify = dyn_cast<ReifyShapeOpInterface>(op);
  auto isOpen = [](Value tensor) {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    return type && !type.hasStaticShape();
  };
  if (!reify || llvm::none_of(op->getOperands(), isOpen) || isa<plan::ReturnOp>(*op->user_begin()))
    return;
  for (OpResult result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    // Once, whoever asks.
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i)) {
        (void)dim(result, i);
        break;
      }
    SmallVector<Value> ignored;
    if (type.hasStaticShape())
      (void)reify.reifyShape(*this, result.getResultNumber(), ignored);
  }
}

LogicalResult StepBuilder::visitLaunch(LaunchOp op) {
  auto kernel = symbols.lookup<KernelOp>(op.getKernel());
  Block &body = kernel.getBody().front();
  SmallVector<Value> inputs, outputs;
  for (auto [argument, input] : llvm::zip(body.getArguments(), op.getInputs())) {
    Value buffer = bufferOf(input);
    inputs.push_back(buffer);
    TensorState state;
    if (states.count(input))
      state = states[input];
    state.buffer = buffer;
    if (state.dims.empty())
      state.dims = dimsOfBuffer(buffer);
    states[argument] = state;
  }
  launch = op;
  SmallVector<SizedWork> work;
  for (auto stage : body.getOps<LaunchOp>())
    if (failed(visitStage(stage, work)))
      return failure();
  SmallVector<SmallVector<Value>> sizes;
  if (failed(sizesOfResults(body, sizes)))
    return op.emitError("a result's sizes cannot be derived");
  launch = {};
  if (work.empty())
    work = workOfBody(kernel);
  ArrayAttr openWork = numberedWork(kernel, sizes, work);
  for (BlockArgument argument : body.getArguments())
    states.erase(argument);
  for (auto stage : body.getOps<LaunchOp>())
    states.erase(stage->getResult(0));
  for (auto [result, dims] : llvm::zip(op.getResults(), sizes)) {
    TensorState state;
    state.buffer = allocate(result.getType(), dims);
    state.dims = dims;
    outputs.push_back(state.buffer);
    states[result] = state;
  }
  int64_t grain = kernel.getSchedule().find(schedule::grain).value_or(1);
  auto run =
      RunOp::create(b, loc, op.getKernel(), rangeOf(kernel, sizes.front()), grain, inputs, outputs);
  if (openWork)
    run->setAttr(workAttribute, openWork);
  return success();
}

/// The sizes of what a kernel makes, whose arguments have states; with the checks that its
/// operations make of them, those of what no result's size depends on, too: the kernel reads it.
LogicalResult StepBuilder::sizesOfResults(Block &body, SmallVector<SmallVector<Value>> &sizes) {
  for (Operation &inner : body.without_terminator())
    checkSizes(&inner);
  for (Value result : body.getTerminator()->getOperands()) {
    auto opResult = cast<OpResult>(result);
    SmallVector<Value> dims;
    if (auto reify = dyn_cast<ReifyShapeOpInterface>(opResult.getOwner())) {
      if (failed(reify.reifyShape(*this, opResult.getResultNumber(), dims)))
        return failure();
    } else { // of a chain, whose last stage makes it
      dims = states[result].dims;
    }
    for (auto [i, size] : llvm::enumerate(cast<RankedTensorType>(result.getType()).getShape()))
      if (!ShapedType::isDynamic(size))
        dims[i] = constant(size);
    sizes.push_back(dims);
  }
  return success();
}

/// Notes the sizes of what a stage of a chain makes, and what it computes. Its kernel may be
/// another stage's, too.
LogicalResult StepBuilder::visitStage(LaunchOp stage, SmallVector<SizedWork> &work) {
  auto kernel = symbols.lookup<KernelOp>(stage.getKernel());
  Block &body = kernel.getBody().front();
  forgetAll();
  for (auto [argument, input] : llvm::zip(body.getArguments(), stage.getInputs())) {
    TensorState state = states[input];
    states[argument] = state;
  }
  SmallVector<SmallVector<Value>> sizes;
  if (failed(sizesOfResults(body, sizes)))
    return stage.emitError("a stage's sizes cannot be derived");
  llvm::append_range(work, workOfBody(kernel));
  for (BlockArgument argument : body.getArguments())
    states.erase(argument);
  TensorState made;
  made.dims = sizes.front();
  states[stage->getResult(0)] = made;
  return success();
}

SmallVector<StepBuilder::SizedWork> StepBuilder::workOfBody(KernelOp kernel) {
  SmallVector<SizedWork> work;
  ++quiet;
  for (const WorkTerm &term : workOf(kernel)) {
    SizedWork own{term.factor, {}};
    for (auto [tensor, i] : term.sizes)
      own.sizes.push_back(dim(tensor, i));
    work.push_back(std::move(own));
  }
  --quiet;
  return work;
}

ArrayAttr StepBuilder::numberedWork(KernelOp kernel, ArrayRef<SmallVector<Value>> results,
                                    ArrayRef<SizedWork> work) {
  Block &body = kernel.getBody().front();
  // The first of equal sizes stands for all.
  llvm::SmallDenseMap<Value, int64_t> numbers;
  int64_t next = 0;
  auto number = [&](Type type, ArrayRef<Value> dims) {
    for (auto [i, size] : llvm::enumerate(cast<RankedTensorType>(type).getShape()))
      if (ShapedType::isDynamic(size))
        numbers.try_emplace(dims[i], next++);
  };
  for (BlockArgument argument : body.getArguments())
    number(argument.getType(), states[argument].dims);
  for (auto [result, dims] : llvm::zip(body.getTerminator()->getOperands(), results))
    number(result.getType(), dims);
  if (next == 0)
    return {};
  // Sizes that are those of no buffer: a few elements.
  constexpr int64_t unknownSize = 16;
  std::map<SmallVector<int64_t>, int64_t> factors; // by the sizes they go with
  for (const SizedWork &term : work) {
    int64_t factor = term.factor;
    SmallVector<int64_t> sizes;
    for (Value size : term.sizes) {
      APInt known;
      if (matchPattern(size, m_ConstantInt(&known)))
        factor *= known.getSExtValue();
      else if (auto it = numbers.find(size); it != numbers.end())
        sizes.push_back(it->second);
      else
        factor *= unknownSize;
    }
    llvm::sort(sizes);
    factors[sizes] += factor;
  }
  SmallVector<Attribute> terms;
  for (auto &[sizes, factor] : factors) {
    SmallVector<int64_t> term{factor};
    llvm::append_range(term, sizes);
    terms.push_back(b.getDenseI64ArrayAttr(term));
  }
  return b.getArrayAttr(terms);
}

Value StepBuilder::rangeOf(KernelOp kernel, ValueRange sizes) {
  std::optional<ArrayRef<int64_t>> parts = kernel.getSchedule().find(schedule::parts);
  Value range = constant(1);
  SmallVector<Value> dims(sizes);
  // Dimensions [first, last) are cut as one.
  if (ArrayRef<int64_t> merged = kernel.getSchedule()[schedule::merged]; !merged.empty()) {
    for (int64_t i = merged[0] + 1; i < merged[1]; ++i)
      dims[merged[0]] = mul(dims[merged[0]], dims[i]);
    dims.erase(dims.begin() + merged[0] + 1, dims.begin() + merged[1]);
  }
  if (!parts) // the whole, element by element
    for (Value dim : dims)
      range = mul(range, dim);
  else {
    for (auto [dim, size] : llvm::zip(dims, *parts)) {
      Value count = size == 1 ? dim : divide(add(dim, constant(size - 1)), constant(size));
      range = mul(range, count);
    }
    // Nothing to do when a dimension within the parts is empty.
    for (Value dim : ArrayRef(dims).drop_front(parts->size())) {
      APInt known;
      if (matchPattern(dim, m_ConstantInt(&known)) && !known.isZero())
        continue;
      range = select(equal(dim, constant(0)), constant(0), range);
    }
  }
  return range;
}

LogicalResult StepBuilder::visitAssert(AssertOp op) {
  Value condition = op.getCondition();
  auto type = cast<RankedTensorType>(condition.getType());
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    sizes.push_back(dim(condition, i));
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  Value all = emitReductionLoops(*this, sizes, yes, [&](ValueRange indices, Value carried) {
    return logicalAnd(carried, element(condition, indices));
  });
  require(op, all, op.getMessage(), op.getCode(), {}, {});
  return success();
}

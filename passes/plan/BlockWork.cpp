//===- BlockWork.cpp - the launches of a block as work to order -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/BlockWork.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceKind.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/Variables.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/StepBuilder.h"
#include "passes/plan/StepTimes.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

int64_t plan::receivedBytes(func::FuncOp function) {
  constexpr int64_t granule = 256; // of the allocator
  int64_t bytes = 0;
  if (isOffloaded(function))
    function.walk([&](Operation *op) {
      if (!isa<weir::ReceiveOp, plan::ReceiveOp>(op) || op->getNumResults() == 0)
        return;
      auto type = dyn_cast<ShapedType>(op->getResult(0).getType());
      if (!type || !type.hasStaticShape())
        return;
      // The host reads few integers where they arrive.
      auto tensor = RankedTensorType::get(type.getShape(), type.getElementType());
      if (!isScalarForm(tensor))
        bytes += llvm::alignTo(arenaBytes(bufferType(tensor)), granule);
    });
  return bytes;
}

int64_t BlockWork::sizeOf(Value value) const {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  // Variables lie elsewhere, and what an offload device receives.
  if (!tensor || !tensor.hasStaticShape() || isScalarForm(tensor) ||
      value.getDefiningOp<weir::VariableReadOp>() ||
      (offloaded && value.getDefiningOp<weir::ReceiveOp>()))
    return 0;
  return arenaBytes(bufferType(tensor));
}

BlockWork::BlockWork(Block &block, SymbolTable &symbols, const DenseMap<Block *, int64_t> &peaks)
    : block(block), symbols(symbols), offloaded(isOffloaded(block.getParentOp())) {
  // Constants stay at the head: nothing runs for them.
  for (Operation &op : block.without_terminator())
    if (!isa<ConstantOp>(op) && (op.getNumResults() != 1 || !isView(op.getResult(0))))
      add(&op, peaks);
  waitForReaders();
  Operation *end = block.getTerminator();
  for (Value value : end->getOperands()) {
    SmallVector<int> reads;
    addReads(value, reads);
    for (int v : reads)
      values[v].outlives = true;
    // A result that is a launch's own is written where the caller wants it.
    auto it = numbers.find(value);
    if (it == numbers.end() || !isa<func::ReturnOp>(end) || !value.getDefiningOp<LaunchOp>())
      continue;
    returned += values[it->second].size;
    leaveToCaller(it->second, false);
  }
}

/// Takes `value`, a launch's, out of the arena, and what comes to lie within it: the parts that a
/// launch only joins to it (SubviewForwarding.h), and what it is written over: of the whole, a
/// product (ReuseBuffers.cpp).
void BlockWork::leaveToCaller(int value, bool isPart) {
  int64_t bytes = std::exchange(values[value].size, 0);
  auto writer = llvm::find_if(
      nodes, [&](const memory::OrderNode &n) { return llvm::is_contained(n.writes, value); });
  auto launch = cast<LaunchOp>(operations[writer - nodes.begin()]);
  if (int over = writer->inPlace; over >= 0) {
    bool isOnlyHere = llvm::count_if(nodes, [&](const memory::OrderNode &node) {
                        return llvm::is_contained(node.reads, over);
                      }) == 1;
    if (isOnlyHere && !values[over].outlives && values[over].size == bytes &&
        isLaunched(over, /*byProduct=*/!isPart))
      leaveToCaller(over, isPart);
    return;
  }
  if (!isJoin(launch))
    return;
  for (int part : writer->reads)
    if (!values[part].outlives && values[part].size % arenaAlignment == 0 &&
        isLaunched(part, false))
      leaveToCaller(part, true);
}

/// Whether a launch makes `value`, one of a product or convolution where that is asked for.
bool BlockWork::isLaunched(int value, bool byProduct) const {
  for (auto [op, node] : llvm::zip(operations, nodes)) {
    if (!llvm::is_contained(node.writes, value))
      continue;
    auto launch = dyn_cast<LaunchOp>(op);
    auto kernel = launch ? symbols.lookup<KernelOp>(launch.getKernel()) : KernelOp();
    return kernel && (!byProduct || llvm::any_of(kernel.getBody().front(), [](Operation &inner) {
             return isa<DotGeneralOp, ConvOp>(inner);
           }));
  }
  return false;
}

/// Whether a launch does no more than join tensors that lie one behind the other in the result.
bool BlockWork::isJoin(LaunchOp launch) const {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  if (!kernel)
    return false;
  auto concat = kernel.getBody().front().getTerminator()->getOperand(0).getDefiningOp<ConcatOp>();
  if (!concat || !cast<RankedTensorType>(concat.getType()).hasStaticShape())
    return false;
  auto isArgument = [](Value value) { return isa<BlockArgument>(value); };
  auto shape = cast<RankedTensorType>(concat.getType()).getShape();
  return llvm::all_of(concat.getInputs(), isArgument) &&
         llvm::all_of(shape.take_front(concat.getAxis()), [](int64_t size) { return size == 1; });
}

bool BlockWork::isView(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == &block && isa<RankedTensorType>(value.getType()) &&
         (isa<GateOp>(op) || (isa<ReshapeOp>(op) && !isScalarForm(value.getType())));
}

/// The values that reading `value` reads.
void BlockWork::addReads(Value value, SmallVectorImpl<int> &reads) const {
  if (isView(value)) {
    for (Value operand : value.getDefiningOp()->getOperands())
      addReads(operand, reads);
    return;
  }
  if (auto it = numbers.find(value); it != numbers.end())
    if (!llvm::is_contained(reads, it->second))
      reads.push_back(it->second);
}

void BlockWork::add(Operation *op, const DenseMap<Block *, int64_t> &peaks) {
  memory::OrderNode node;
  SmallVector<int> reads;
  // What regions inside use is used by the operation.
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      addReads(operand, reads);
  });
  node.reads.assign(reads.begin(), reads.end());
  for (Region &region : op->getRegions())
    for (Block &inner : region)
      node.scratch = std::max(node.scratch, peaks.lookup(&inner));
  if (!isMemoryEffectFree(op)) {
    if (lastEffect >= 0)
      node.after.push_back(lastEffect);
    lastEffect = nodes.size();
  }
  for (Value result : op->getResults()) {
    numbers[result] = values.size();
    node.writes.push_back(values.size());
    values.push_back({sizeOf(result), false});
  }
  if (auto launch = dyn_cast<LaunchOp>(op); launch && node.writes.size() == 1)
    if (auto kernel = symbols.lookup<KernelOp>(launch.getKernel()))
      for (auto [i, input] : llvm::enumerate(launch.getInputs())) {
        while (isView(input))
          input = input.getDefiningOp()->getOperand(0);
        auto it = numbers.find(input);
        if (it != numbers.end() && node.inPlace < 0 &&
            values[it->second].size == values[node.writes[0]].size &&
            mayWriteOver(launch, kernel, i))
          node.inPlace = it->second;
      }
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    bool isUpdate = false;
    for (auto [result, value] : llvm::zip(launch.getResults(), node.writes))
      if (std::optional<int> read = overwrittenRead(launch, result)) {
        values[value].size = 0;
        updates.push_back({int(nodes.size()), *read});
        isUpdate = true;
      }
    // It runs where the variables are assigned, so that nothing else finds them half written.
    if (isUpdate) {
      if (lastEffect >= 0)
        node.after.push_back(lastEffect);
      lastEffect = nodes.size();
    }
  }
  operations.push_back(op);
  nodes.push_back(std::move(node));
}

/// The value of a variable, by number, in whose own memory the result comes to lie: the launch
/// reads it, and assigns the result, if the order allows it (VariableUpdates.h).
std::optional<int> BlockWork::overwrittenRead(LaunchOp launch, OpResult result) const {
  const DeviceKind *kind = kindAround(block.getParentOp());
  if (!isa<func::FuncOp>(block.getParentOp()) || (kind && kind->keepsVariables()))
    return std::nullopt;
  VariableName variable;
  for (Operation *user : result.getUsers())
    if (auto assign = dyn_cast<weir::VariableAssignOp>(user); assign && user->getBlock() == &block)
      variable = variableName(assign.getResource());
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  if (!variable.first || !kernel)
    return std::nullopt;
  for (auto [i, input] : llvm::enumerate(launch.getInputs())) {
    Value value = input;
    while (isView(value))
      value = value.getDefiningOp()->getOperand(0);
    auto read = value.getDefiningOp<weir::VariableReadOp>();
    auto number = numbers.find(value);
    if (read && number != numbers.end() && value.getType() == result.getType() &&
        variableName(read.getResource()) == variable &&
        mayWriteOver(launch, kernel, unsigned(i), result.getResultNumber()))
      return number->second;
  }
  return std::nullopt;
}

/// Who reads a value comes before who writes over it.
void BlockWork::waitForReaders() {
  for (auto [update, value] : updates) {
    nodes[update].overwrites.push_back(value);
    for (int n = 0; n < update; ++n)
      if (llvm::is_contained(nodes[n].reads, value))
        nodes[update].after.push_back(n);
  }
}

/// Launches that write over variables move to the first of their assignments, and the others to
/// that one, as far as they only pass what has no effect.
void BlockWork::settleUpdates() {
  for (auto [update, value] : updates) {
    Operation *launch = operations[update];
    SmallVector<Operation *> assigns(launch->getUsers());
    bool areAll = llvm::all_of(assigns, [&](Operation *user) {
      return isa<weir::VariableAssignOp>(user) && user->getBlock() == &block;
    });
    if (!areAll)
      continue;
    llvm::sort(assigns, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    launch->moveBefore(assigns.front());
    for (auto [before, assign] : llvm::zip(assigns, ArrayRef(assigns).drop_front())) {
      Operation *at = assign->getPrevNode();
      while (at != before && isMemoryEffectFree(at))
        at = at->getPrevNode();
      if (at == before)
        assign->moveAfter(before);
    }
  }
}

/// In the unit of costs(). `repeatable`: whether all of it is of fixed size, and
/// numbers.
double BlockWork::timeOf(LaunchOp launch, const ClusterDevice *device, bool *repeatable) const {
  double flops = 0, bytes = 0;
  *repeatable = true;
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  kernel.getBody().walk(
      [&](CostOpInterface inner) { flops += double(std::max<int64_t>(inner.getFlops(), 0)); });
  auto count = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    *repeatable &=
        tensor && tensor.hasStaticShape() && !isa<StringType, BoxType>(tensor.getElementType());
    if (*repeatable)
      bytes += double(arenaBytes(bufferType(type)));
  };
  for (Type type : launch->getOperandTypes())
    count(type);
  for (Type type : launch->getResultTypes())
    count(type);
  if (!device)
    return 1000 + flops + 4 * bytes; // 1000: of the launch itself
  return 1e9 * (std::max(flops / device->flops, bytes / device->bandwidth) + device->overhead);
}

std::vector<double> BlockWork::costs(const ClusterDevice *device) const {
  std::vector<double> costs;
  for (Operation *op : operations) {
    auto launch = dyn_cast<LaunchOp>(op);
    bool repeatable = false;
    double time =
        launch && symbols.lookup(launch.getKernel()) ? timeOf(launch, device, &repeatable) : 0;
    costs.push_back(repeatable ? time : -1);
  }
  // What they read is gone.
  for (auto [update, value] : updates)
    costs[update] = -1;
  return costs;
}

memory::Transfers BlockWork::transfers(const ClusterDevice &device, const placement::Link &out,
                                       const placement::Link &in) const {
  memory::Transfers transfers;
  auto time = [](int64_t bytes, const placement::Link &link) {
    return 1e9 * (link.latency + double(bytes) * link.timePerSize);
  };
  for (Operation *op : operations) {
    auto launch = dyn_cast<LaunchOp>(op);
    bool ignored;
    transfers.work.push_back(launch ? timeOf(launch, &device, &ignored) : 0);
    for (Value result : op->getResults()) {
      // Only launches' results have a buffer of the plan that nothing else owns.
      int64_t bytes = launch ? sizeOf(result) : 0;
      transfers.out.push_back(bytes ? time(bytes, out) : -1);
      transfers.in.push_back(bytes ? time(bytes, in) : -1);
    }
  }
  return transfers;
}

std::pair<Operation *, int64_t> BlockWork::largest() const {
  std::pair<Operation *, int64_t> largest(nullptr, 0);
  for (auto [op, node] : llvm::zip(operations, nodes)) {
    int64_t bytes = node.scratch;
    for (int v : node.reads)
      if (v != node.inPlace)
        bytes += values[v].size;
    for (int v : node.writes)
      bytes += values[v].size;
    if (bytes > largest.second)
      largest = {op, bytes};
  }
  return largest;
}

void BlockWork::reorder(ArrayRef<int> order) {
  memory::Recomputation made;
  std::vector<int> place(nodes.size());
  for (auto [p, n] : llvm::enumerate(order))
    place[n] = p;
  made.finals.assign(values.size(), -1);
  for (auto [n, node] : llvm::enumerate(nodes))
    for (int v : node.writes)
      made.finals[v] = place[n];
  for (int n : order) {
    memory::Execution execution{n, {}};
    for (int v : nodes[n].reads)
      execution.sources.push_back(made.finals[v]);
    made.executions.push_back(std::move(execution));
  }
  rewrite(made);
}

void BlockWork::rewrite(const memory::Recomputation &made) {
  Operation *end = block.getTerminator();
  SmallVector<Operation *> views;
  for (Operation &op : block.without_terminator())
    if (op.getNumResults() == 1 && isView(op.getResult(0)))
      views.push_back(&op);
  OpBuilder b(end);
  llvm::DenseSet<Operation *> emitted;
  std::vector<Operation *> operationOf;                        ///< of executions
  DenseMap<std::pair<Operation *, Operation *>, Value> viewOf; ///< of what makes it
  llvm::function_ref<int(int)> sourceOf;                       ///< of what is emitted now, by value
  // Operands as they were: those of what is emitted change.
  DenseMap<Operation *, SmallVector<Value>> originals;
  for (Operation *view : views)
    originals[view] = view->getOperands();

  // What stands for `value` where it is read now.
  std::function<Value(Value)> resolve = [&](Value value) -> Value {
    if (!isView(value)) {
      auto it = numbers.find(value);
      if (it == numbers.end())
        return value;
      Operation *op = operationOf[sourceOf(it->second)];
      if (isa<SwapInOp>(op) && !isa<SwapInOp>(value.getDefiningOp()))
        return op->getResult(0);
      return op->getResult(cast<OpResult>(value).getResultNumber());
    }
    Operation *view = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : originals.lookup(view))
      operands.push_back(resolve(operand));
    Value &known = viewOf[{view, operands[0].getDefiningOp()}];
    if (known)
      return known;
    Operation *op = view;
    if (emitted.insert(view).second)
      view->moveBefore(end);
    else
      op = b.clone(*view);
    op->setOperands(operands);
    return known = op->getResult(0);
  };
  auto readBy = [&](Operation *op) {
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (Value value = operand.get(); numbers.count(value) || isView(value))
          operand.set(resolve(value));
    });
  };

  // Saved as soon as it is made: the copy has all of the time until its bytes are
  // wanted.
  DenseMap<Value, Value> savedAs;
  auto copyBack = [&](const memory::Execution &execution) {
    Operation *source = operationOf[execution.sources[0]];
    const auto &writes = nodes[made.executions[execution.sources[0]].node].writes;
    Value value = source->getResult(llvm::find(writes, execution.value) - writes.begin());
    Value &saved = savedAs[value];
    OpBuilder::InsertionGuard guard(b);
    if (!saved) {
      b.setInsertionPointAfter(source);
      saved = SwapOutOp::create(b, value.getLoc(), TokenType::get(b.getContext()), value,
                                IntegerAttr());
    }
    b.setInsertionPoint(end);
    return SwapInOp::create(b, value.getLoc(), value.getType(), Type(), saved, Value());
  };

  for (const memory::Execution &execution : made.executions) {
    if (execution.value >= 0) {
      operationOf.push_back(copyBack(execution));
      continue;
    }
    Operation *op = operations[execution.node];
    if (emitted.insert(op).second) {
      originals[op] = op->getOperands();
    } else {
      op = b.clone(*op);
      op->setOperands(originals[operations[execution.node]]);
    }
    auto source = [&](int value) {
      const auto &reads = nodes[execution.node].reads;
      size_t at = llvm::find(reads, value) - reads.begin();
      return execution.sources[at];
    };
    sourceOf = source;
    readBy(op);
    op->moveBefore(end);
    operationOf.push_back(op);
  }
  auto final = [&](int value) { return made.finals[value]; };
  sourceOf = final;
  readBy(end);
  for (Operation *view : llvm::reverse(views))
    if (!emitted.count(view))
      view->erase();
  settleUpdates();
}

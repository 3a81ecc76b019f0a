//===- DepthFirst.cpp - kernels that go through an image together -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strip is some lines of the last stage's result. For each, in turn, stages are called
// for the lines that it needs and that are not there. What is between two of them is a
// window of lines on the stack, which moves down with the strips: lines that the next strip
// needs, too, move to its front. A stage gets the address at which its whole image would
// begin, were the window a part of it, so that it finds lines by the numbers they have.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/DepthFirst.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/kernelize/DepthFirst.h"

using namespace mlir;
using namespace weir;

namespace {

class DepthFirstEmitter {
public:
  DepthFirstEmitter(OpBuilder &b, Location loc, plan::KernelOp kernel,
                    ArrayRef<DepthFirstStage> stages)
      : b(b), loc(loc), kernel(kernel), stages(stages),
        strip(kernel.getSchedule()[plan::schedule::parts][1]),
        pointer(LLVM::LLVMPointerType::get(b.getContext())) {
    SmallVector<plan::KernelOp> kernels;
    for (const DepthFirstStage &stage : stages)
      kernels.push_back(stage.kernel);
    inUse = linesInUse(kernels, strip);
    for (plan::KernelOp each : kernels) {
      Value result = each.getBody().front().getTerminator()->getOperand(0);
      shapes.push_back(cast<RankedTensorType>(result.getType()).getShape());
      pitches.push_back(lineBytes(each));
    }
  }

  /// The loop over strips from `begin` to `end`; `inputs` are the kernel's buffers, the
  /// result's behind them, `sizes` its open sizes, all of them the number of images. Returns
  /// the first code that is not 0.
  Value emit(Value context, ValueRange inputs, Value sizes, Value begin, Value end);

private:
  /// Lines of a stage's result.
  struct Lines {
    Value first, last;
  };
  /// What strip `number` of an image uses of each stage.
  SmallVector<Lines> linesOf(Value number);
  void runStage(size_t i, Value context, ValueRange inputs, Value image, Lines from,
                Value beginLine);

  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI64Type(), value);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, int64_t y) { return arith::MulIOp::create(b, loc, x, constant(y)); }
  Value least(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
  Value most(Value x, Value y) { return arith::MaxSIOp::create(b, loc, x, y); }
  Value behind(Value from, Value bytes) {
    return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), from, ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value stack(int64_t bytes) {
    return LLVM::AllocaOp::create(b, loc, pointer, b.getI8Type(), constant(bytes),
                                  /*alignment=*/64);
  }

  OpBuilder &b;
  Location loc;
  plan::KernelOp kernel;
  ArrayRef<DepthFirstStage> stages;
  int64_t strip;
  Type pointer;
  SmallVector<ArrayRef<int64_t>> shapes; ///< of stages' results
  SmallVector<int64_t> pitches, inUse;   ///< bytes of a line; lines of a strip
  SmallVector<Value> windows;            ///< of all stages but the last
  SmallVector<Value> wholes;             ///< where a stage's result would begin
  Value places, code;
  Value counts; ///< stages' open sizes
};

} // namespace

SmallVector<DepthFirstEmitter::Lines> DepthFirstEmitter::linesOf(Value number) {
  SmallVector<Lines> lines(stages.size());
  Value first = mul(number, strip);
  lines.back() = {first, least(add(first, constant(strip)), constant(shapes.back()[1]))};
  for (size_t i = stages.size() - 1; i > 0; --i) {
    LineWindow window = lineWindowOf(stages[i].kernel);
    Value from = sub(mul(lines[i].first, window.stride), constant(window.pad));
    Value to = add(mul(sub(lines[i].last, constant(1)), window.stride),
                   constant(window.span - window.pad));
    lines[i - 1] = {most(from, constant(0)), least(to, constant(shapes[i - 1][1]))};
  }
  return lines;
}

void DepthFirstEmitter::runStage(size_t i, Value context, ValueRange inputs, Value image,
                                 Lines lines, Value from) {
  plan::KernelOp own = stages[i].kernel;
  plan::LaunchOp launch = stages[i].launch;
  auto put = [&](size_t at, Value where) {
    Value slot =
        LLVM::GEPOp::create(b, loc, pointer, pointer, places, ArrayRef<LLVM::GEPArg>{int32_t(at)});
    LLVM::StoreOp::create(b, loc, where, slot);
  };
  for (auto [at, input] : llvm::enumerate(launch.getInputs())) {
    auto argument = dyn_cast<BlockArgument>(input);
    put(at, argument ? inputs[argument.getArgNumber()] : wholes[i - 1]);
  }
  bool isLast = i + 1 == stages.size();
  // Lines of all images count on.
  Value imageLine = mul(image, shapes[i][1]);
  if (isLast) {
    put(launch.getInputs().size(), inputs.back());
  } else {
    Value skipped = mul(add(imageLine, lines.first), -pitches[i]);
    wholes.push_back(behind(windows[i], skipped));
    put(launch.getInputs().size(), wholes.back());
  }
  int64_t parts = 1;
  auto tiles = own.getSchedule()[plan::schedule::parts];
  for (size_t d = 2; d < tiles.size(); ++d)
    parts *= llvm::divideCeil(shapes[i][d], tiles[d]);
  Value begin = mul(add(imageLine, from), parts), end = mul(add(imageLine, lines.last), parts);
  auto called = LLVM::CallOp::create(b, loc, TypeRange{b.getI32Type()}, stages[i].symbol,
                                     ValueRange{context, places, counts, begin, end});
  Value before = LLVM::LoadOp::create(b, loc, b.getI32Type(), code);
  Value zero = arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0);
  Value isGood = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, before, zero);
  LLVM::StoreOp::create(b, loc, arith::SelectOp::create(b, loc, isGood, called.getResult(), before),
                        code);
}

Value DepthFirstEmitter::emit(Value context, ValueRange inputs, Value sizes, Value begin,
                              Value end) {
  size_t mostPlaces = 0, mostOpen = 0;
  for (const DepthFirstStage &stage : stages)
    mostPlaces = std::max<size_t>(mostPlaces, plan::LaunchOp(stage.launch).getInputs().size() + 1);
  for (const DepthFirstStage &stage : stages) {
    size_t open = isOfOpenBatch(plan::LaunchOp(stage.launch)->getResult(0).getType());
    for (Value input : plan::LaunchOp(stage.launch).getInputs())
      open += isOfOpenBatch(input.getType());
    mostOpen = std::max(mostOpen, open);
  }
  places = stack(8 * mostPlaces);
  counts = mostOpen ? stack(8 * mostOpen) : LLVM::ZeroOp::create(b, loc, pointer).getResult();
  if (mostOpen) {
    Value images = LLVM::LoadOp::create(b, loc, b.getI64Type(), sizes);
    for (size_t i = 0; i < mostOpen; ++i)
      LLVM::StoreOp::create(b, loc, images, behind(counts, constant(8 * i)));
  }
  code = stack(4);
  LLVM::StoreOp::create(b, loc, arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0), code);
  for (size_t i = 0; i + 1 < stages.size(); ++i)
    windows.push_back(stack(inUse[i] * pitches[i]));

  Value inImage = constant(llvm::divideCeil(shapes.back()[1], strip)), one = constant(1);
  auto loop = scf::ForOp::create(b, loc, begin, end, one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  Value image = arith::DivSIOp::create(b, loc, number, inImage);
  Value inner = arith::RemSIOp::create(b, loc, number, inImage);
  SmallVector<Lines> lines = linesOf(inner), before = linesOf(sub(inner, one));
  // Another part has the strip before a part's first one.
  Value goesOn = arith::AndIOp::create(
      b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, number, begin),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, inner, constant(0)));
  wholes.clear();
  for (size_t i = 0; i < stages.size(); ++i) {
    Value from = lines[i].first;
    if (i + 1 < stages.size()) {
      Value there = arith::SelectOp::create(b, loc, goesOn, before[i].last, from);
      Value kept = most(sub(there, from), constant(0));
      Value skipped = sub(from, before[i].first);
      Value hasSome = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, kept, constant(0));
      auto branch = scf::IfOp::create(b, loc, hasSome, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard inBranch(b);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
      LLVM::MemmoveOp::create(b, loc, windows[i], behind(windows[i], mul(skipped, pitches[i])),
                              mul(kept, pitches[i]), /*isVolatile=*/false);
      b.setInsertionPointAfter(branch);
      from = add(from, kept);
    }
    runStage(i, context, inputs, image, lines[i], from);
  }
  return code;
}

void weir::emitDepthFirst(plan::KernelOp kernel, StringRef symbol,
                          ArrayRef<DepthFirstStage> stages) {
  Location loc = kernel.getLoc();
  OpBuilder b(kernel);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  size_t count = kernel.getBody().front().getNumArguments() + 1;
  std::string bodyName = symbol.str() + ".body";
  auto function = func::FuncOp::create(
      b, loc, bodyName, b.getFunctionType({pointer, pointer, pointer, i64, i64}, {i32}));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  SmallVector<Value> inputs;
  for (size_t i = 0; i < count; ++i) {
    Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, entry->getArgument(1),
                                     ArrayRef<LLVM::GEPArg>{int32_t(i)});
    inputs.push_back(LLVM::LoadOp::create(b, loc, pointer, slot));
  }
  Value code = DepthFirstEmitter(b, loc, kernel, stages)
                   .emit(entry->getArgument(0), inputs, entry->getArgument(2),
                         entry->getArgument(3), entry->getArgument(4));
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b, loc, Value(LLVM::LoadOp::create(b, loc, i32, code)));

  // The entry point that the runtime calls.
  b.setInsertionPoint(kernel);
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer, i64, i64});
  auto wrapper = LLVM::LLVMFuncOp::create(b, loc, symbol, type, LLVM::Linkage::Internal);
  Block *block = wrapper.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  auto call = func::CallOp::create(b, loc, bodyName, TypeRange{i32}, block->getArguments());
  LLVM::ReturnOp::create(b, loc, call.getResult(0));
}

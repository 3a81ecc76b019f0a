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
// Where lines are of open length, strips of the range go in as many parts of equal height as let
// windows fit on the stack; where those of single lines do not, windows are memory of the run.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/DepthFirst.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/kernelize/DepthFirst.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;

namespace {

class DepthFirstEmitter {
public:
  DepthFirstEmitter(OpBuilder &b, Location loc, plan::KernelOp kernel,
                    ArrayRef<DepthFirstStage> stages, SiteTable &sites)
      : b(b), loc(loc), kernel(kernel), stages(stages), sites(sites),
        mostLines(kernel.getSchedule()[plan::schedule::parts][1]),
        pointer(LLVM::LLVMPointerType::get(b.getContext())) {
    for (const DepthFirstStage &stage : stages) {
      kernels.push_back(stage.kernel);
      images.push_back(resultOf(stage.kernel));
    }
    isOpen = llvm::any_of(images, [](RankedTensorType type) {
      return ShapedType::isDynamicShape(type.getShape().drop_front());
    });
  }

  /// The loop over strips from `begin` to `end`; `inputs` are the kernel's buffers, the
  /// result's behind them, `sizes` its open sizes. Returns the first code that is not 0.
  Value emit(Value context, ValueRange inputs, Value sizes, Value begin, Value end);

private:
  /// Lines of a stage's result.
  struct Lines {
    Value first, last;
  };
  void readSizes(Value sizes);
  Value sizeBehind(size_t i, unsigned dim, Value size);
  void makeWindows(Value context);
  Value windowBytes(int64_t lines);
  /// What strip `number` of an image uses of each stage.
  SmallVector<Lines> linesOf(Value number);
  void emitStrip(Value context, ValueRange inputs, Value begin, Value number);
  void runStage(size_t i, Value context, ValueRange inputs, Value image, Lines from,
                Value beginLine);

  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI64Type(), value);
  }
  template <typename Op> Value fold(Value x, Value y) { return b.createOrFold<Op>(loc, x, y); }
  Value add(Value x, Value y) { return fold<arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return fold<arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) { return fold<arith::MulIOp>(x, y); }
  Value mul(Value x, int64_t y) { return mul(x, constant(y)); }
  Value divide(Value x, Value y) { return fold<arith::DivSIOp>(x, y); }
  Value divideUp(Value x, int64_t y) { return divide(add(x, constant(y - 1)), constant(y)); }
  Value least(Value x, Value y) { return fold<arith::MinSIOp>(x, y); }
  Value most(Value x, Value y) { return fold<arith::MaxSIOp>(x, y); }
  Value is(arith::CmpIPredicate how, Value x, Value y) {
    return b.createOrFold<arith::CmpIOp>(loc, how, x, y);
  }
  Value choose(Value condition, Value x, Value y) {
    return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
  }
  Value behind(Value from, Value bytes) {
    return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), from, ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value stack(int64_t bytes) {
    return LLVM::AllocaOp::create(b, loc, pointer, b.getI8Type(), constant(bytes),
                                  /*alignment=*/64);
  }
  Value loadSize(Value sizes, int64_t i) {
    return LLVM::LoadOp::create(b, loc, b.getI64Type(), behind(sizes, constant(8 * i)));
  }

  OpBuilder &b;
  Location loc;
  plan::KernelOp kernel;
  ArrayRef<DepthFirstStage> stages;
  SiteTable &sites;
  int64_t mostLines; ///< of a strip of the range
  Type pointer;
  SmallVector<plan::KernelOp> kernels;
  SmallVector<RankedTensorType> images;      ///< stages' results
  bool isOpen;                               ///< whether an image's sides are
  SmallVector<SmallVector<Value>> arguments; ///< sizes of the kernel's
  SmallVector<SmallVector<Value>> shapes;    ///< of stages' results
  SmallVector<Value> pitches;                ///< bytes of a line
  Value strip, inStrip;       ///< lines that go at once; how often, in one of the range
  SmallVector<Value> windows; ///< of all stages but the last
  SmallVector<Value> wholes;  ///< where a stage's result would begin
  Value places, code;
  SmallVector<Value> counts; ///< of each stage: its open sizes
  Value lent;                ///< windows that are memory of the run; null: none are
  Value mayRun;              ///< whether they are there; null: they lie on the stack
};

} // namespace

/// The size along `dim` (0: lines, 1: a line's elements) of what stage `i` makes of an image that
/// has `size` there.
Value DepthFirstEmitter::sizeBehind(size_t i, unsigned dim, Value size) {
  int64_t known = images[i].getDimSize(1 + dim);
  if (!ShapedType::isDynamic(known))
    return constant(known);
  LineWindow window = lineWindowOf(stages[i].kernel, dim);
  Value room = add(size, constant(window.pad + window.padBehind - window.span));
  return add(divide(room, constant(window.stride)), constant(1));
}

/// The kernel's sizes, and those that stages have; stages' own open ones to the stack, as their
/// functions take them.
void DepthFirstEmitter::readSizes(Value sizes) {
  int64_t next = 0;
  auto read = [&](RankedTensorType type) {
    SmallVector<Value> shape;
    for (int64_t size : type.getShape())
      shape.push_back(ShapedType::isDynamic(size) ? loadSize(sizes, next++) : constant(size));
    return shape;
  };
  for (BlockArgument argument : kernel.getBody().getArguments())
    arguments.push_back(read(cast<RankedTensorType>(argument.getType())));
  for (size_t i = 0; i < stages.size(); ++i) {
    plan::LaunchOp launch = stages[i].launch;
    auto sizesOf = [&](Value input) -> ArrayRef<Value> {
      auto argument = dyn_cast<BlockArgument>(input);
      return argument ? arguments[argument.getArgNumber()] : shapes[i - 1];
    };
    ArrayRef<Value> image = sizesOf(launch.getInputs()[imageOf(stages[i].kernel)]);
    if (i + 1 == stages.size())
      shapes.push_back(read(images[i]));
    else
      shapes.push_back({image[0], sizeBehind(i, 0, image[1]), sizeBehind(i, 1, image[2]),
                        constant(images[i].getDimSize(3))});
    pitches.push_back(mul(mul(shapes[i][2], shapes[i][3]), images[i].getElementTypeBitWidth() / 8));
    SmallVector<Value> open;
    auto append = [&](Type type, ArrayRef<Value> shape) {
      for (auto [size, value] : llvm::zip(cast<RankedTensorType>(type).getShape(), shape))
        if (ShapedType::isDynamic(size))
          open.push_back(value);
    };
    for (Value input : launch.getInputs())
      append(input.getType(), sizesOf(input));
    append(images[i], shapes[i]);
    counts.push_back(open.empty() ? LLVM::ZeroOp::create(b, loc, pointer).getResult()
                                  : stack(8 * open.size()));
    for (auto [at, size] : llvm::enumerate(open))
      LLVM::StoreOp::create(b, loc, size, behind(counts.back(), constant(8 * at)));
  }
}

/// Of the windows between stages, for strips of so many lines.
Value DepthFirstEmitter::windowBytes(int64_t lines) {
  Value bytes = constant(0);
  for (auto [pitch, count] :
       llvm::zip(ArrayRef(pitches).drop_back(), linesInUse(kernels, images, lines)))
    bytes = add(bytes, mul(pitch, count));
  return bytes;
}

void DepthFirstEmitter::makeWindows(Value context) {
  int64_t between = int64_t(stages.size()) - 1;
  SmallVector<int64_t> inUse = linesInUse(kernels, images, mostLines);
  strip = constant(mostLines), inStrip = constant(1);
  if (!isOpen) {
    for (int64_t i = 0; i < between; ++i)
      windows.push_back(stack(inUse[i] * lineBytes(images[i])));
    return;
  }
  SmallVector<Value> lines;
  for (int64_t count : inUse)
    lines.push_back(constant(count));
  Value all = windowBytes(mostLines), most = constant(mostWindowBytes);
  for (int64_t fewer = mostLines / 2; fewer > 0; fewer /= 2) {
    Value isTooMuch = is(arith::CmpIPredicate::sgt, all, most);
    strip = choose(isTooMuch, constant(fewer), strip);
    inStrip = choose(isTooMuch, constant(mostLines / fewer), inStrip);
    for (auto [line, count] : llvm::zip(lines, linesInUse(kernels, images, fewer)))
      line = choose(isTooMuch, constant(count), line);
    all = choose(isTooMuch, windowBytes(fewer), all);
  }
  Value isTooMuch = is(arith::CmpIPredicate::sgt, all, most);
  Value own = stack(mostWindowBytes);
  int site = sites.add(nodeName(loc), "depth_first", "out of memory", WEIR_RESOURCE_EXHAUSTED);
  auto branch = scf::IfOp::create(b, loc, TypeRange{pointer}, isTooMuch, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    Value number = arith::ConstantIntOp::create(b, loc, b.getI32Type(), site);
    Value made = LLVM::CallOp::create(b, loc, TypeRange{pointer}, "weir_rt_alloc",
                                      ValueRange{context, all, number})
                     .getResult();
    scf::YieldOp::create(b, loc, made);
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(b, loc, own);
  }
  Value from = branch.getResult(0), none = LLVM::ZeroOp::create(b, loc, pointer);
  lent = choose(isTooMuch, from, none);
  mayRun = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, from, none);
  Value failed = arith::ConstantIntOp::create(b, loc, b.getI32Type(), WEIR_RESOURCE_EXHAUSTED);
  Value good = arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0);
  LLVM::StoreOp::create(b, loc, choose(mayRun, good, failed), code);
  for (int64_t i = 0; i < between; ++i) {
    windows.push_back(from);
    from = behind(from, mul(lines[i], pitches[i]));
  }
}

SmallVector<DepthFirstEmitter::Lines> DepthFirstEmitter::linesOf(Value number) {
  SmallVector<Lines> lines(stages.size());
  Value first = mul(number, strip);
  lines.back() = {first, least(add(first, strip), shapes.back()[1])};
  for (size_t i = stages.size() - 1; i > 0; --i) {
    LineWindow window = lineWindowOf(stages[i].kernel);
    Value from = sub(mul(lines[i].first, window.stride), constant(window.pad));
    Value to = add(mul(sub(lines[i].last, constant(1)), window.stride),
                   constant(window.span - window.pad));
    lines[i - 1] = {most(from, constant(0)), least(to, shapes[i - 1][1])};
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
    Value skipped = mul(add(imageLine, lines.first), pitches[i]);
    wholes.push_back(behind(windows[i], sub(constant(0), skipped)));
    put(launch.getInputs().size(), wholes.back());
  }
  // Of a line: blocks along it by blocks of channels, or panels of these.
  Value parts = constant(1);
  auto tiles = own.getSchedule()[plan::schedule::parts];
  if (own.getSchedule().getKind() == plan::ScheduleKind::Gemm)
    parts = divideUp(shapes[i][3], tiles.back());
  else
    for (size_t d = 2; d < tiles.size(); ++d)
      parts = mul(parts, divideUp(shapes[i][d], tiles[d]));
  Value begin = mul(add(imageLine, from), parts), end = mul(add(imageLine, lines.last), parts);
  auto called = LLVM::CallOp::create(b, loc, TypeRange{b.getI32Type()}, stages[i].symbol,
                                     ValueRange{context, places, counts[i], begin, end});
  Value before = LLVM::LoadOp::create(b, loc, b.getI32Type(), code);
  Value zero = arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0);
  Value isGood = is(arith::CmpIPredicate::eq, before, zero);
  LLVM::StoreOp::create(b, loc, choose(isGood, called.getResult(), before), code);
}

/// Strip `number`, counted over all images; a part's first one is `begin`.
void DepthFirstEmitter::emitStrip(Value context, ValueRange inputs, Value begin, Value number) {
  Value inImage = mul(divideUp(shapes.back()[1], mostLines), inStrip), zero = constant(0);
  Value image = divide(number, inImage);
  Value inner = fold<arith::RemSIOp>(number, inImage);
  OpBuilder::InsertionGuard guard(b);
  if (isOpen) { // the last one of the range may have less than goes at once
    Value isThere = is(arith::CmpIPredicate::slt, mul(inner, strip), shapes.back()[1]);
    auto branch = scf::IfOp::create(b, loc, isThere, /*withElseRegion=*/false);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
  }
  SmallVector<Lines> lines = linesOf(inner), before = linesOf(sub(inner, constant(1)));
  // Another part has the strip before a part's first one.
  Value goesOn = fold<arith::AndIOp>(is(arith::CmpIPredicate::sgt, number, begin),
                                     is(arith::CmpIPredicate::sgt, inner, zero));
  wholes.clear();
  for (size_t i = 0; i < stages.size(); ++i) {
    Value from = lines[i].first;
    if (i + 1 < stages.size()) {
      Value there = choose(goesOn, before[i].last, from);
      Value kept = most(sub(there, from), zero);
      Value skipped = sub(from, before[i].first);
      auto branch = scf::IfOp::create(b, loc, is(arith::CmpIPredicate::sgt, kept, zero),
                                      /*withElseRegion=*/false);
      OpBuilder::InsertionGuard inBranch(b);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
      LLVM::MemmoveOp::create(b, loc, windows[i], behind(windows[i], mul(skipped, pitches[i])),
                              mul(kept, pitches[i]), /*isVolatile=*/false);
      b.setInsertionPointAfter(branch);
      from = add(from, kept);
    }
    runStage(i, context, inputs, image, lines[i], from);
  }
}

Value DepthFirstEmitter::emit(Value context, ValueRange inputs, Value sizes, Value begin,
                              Value end) {
  size_t mostPlaces = 0;
  for (const DepthFirstStage &stage : stages)
    mostPlaces = std::max<size_t>(mostPlaces, plan::LaunchOp(stage.launch).getInputs().size() + 1);
  places = stack(8 * mostPlaces);
  code = stack(4);
  LLVM::StoreOp::create(b, loc, arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0), code);
  readSizes(sizes);
  makeWindows(context);
  begin = mul(begin, inStrip), end = mul(end, inStrip);
  if (mayRun)
    end = choose(mayRun, end, begin);
  auto loop = scf::ForOp::create(b, loc, begin, end, constant(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    emitStrip(context, inputs, begin, loop.getInductionVar());
  }
  if (lent)
    LLVM::CallOp::create(b, loc, TypeRange{}, "weir_rt_free", ValueRange{context, lent});
  return code;
}

void weir::emitDepthFirst(plan::KernelOp kernel, StringRef symbol, ArrayRef<DepthFirstStage> stages,
                          SiteTable &sites) {
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
  Value code = DepthFirstEmitter(b, loc, kernel, stages, sites)
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

//===- SliceReads.cpp - slices that products read where they lie ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/SliceReads.h"
#include "dialects/plan/Buffers.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/KernelSchedules.h"
#include "passes/plan/LaunchWork.h"
#include "passes/plan/StepTimes.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// A run that copies a part of `whole` to `part`, and what its kernel does.
struct SliceCopy {
  RunOp run;
  SliceOp slice;
  Value whole, part;
  /// What the slice's bounds are read from, by the slice's operand; null: a constant.
  SmallVector<Value, 4> bounds;
};

/// A run that reads the part as its input `index`.
struct Reader {
  RunOp run;
  unsigned index;
};

class SliceForwarder {
public:
  SliceForwarder(func::FuncOp function, SymbolTable &symbols) : symbols(symbols), times(function) {}

  bool forward(RunOp run) {
    std::optional<SliceCopy> copy = copyOf(run);
    if (!copy)
      return false;
    SmallVector<Reader> readers;
    if (!findReaders(*copy, readers) || !stays(*copy, readers))
      return false;
    SmallVector<ArrayAttr> works;
    for (const Reader &reader : readers) {
      std::optional<ArrayAttr> work = workFrom(*copy, reader);
      if (!work)
        return false;
      works.push_back(*work);
    }
    for (auto [reader, work] : llvm::zip(readers, works))
      readWhole(*copy, reader, work);
    run.erase();
    for (Value part = copy->part; part && part.use_empty();) {
      Operation *made = part.getDefiningOp();
      part = isa<ViewOp>(made) ? cast<ViewOp>(made).getSource() : Value();
      made->erase();
    }
    return true;
  }

private:
  KernelOp kernelOf(RunOp run) { return symbols.lookup<KernelOp>(run.getKernel()); }

  /// What `run` cuts out, where it does nothing else, along one axis and by steps of 1.
  std::optional<SliceCopy> copyOf(RunOp run) {
    KernelOp kernel = kernelOf(run);
    SliceCopy copy{run, {}, {}, {}, {}};
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      if (isa<ConstantOp>(op))
        continue;
      if (copy.slice || !isa<SliceOp>(op))
        return std::nullopt;
      copy.slice = cast<SliceOp>(op);
    }
    if (!copy.slice || copy.slice.getAxes().size() != 1 || copy.slice.getStrict() ||
        run.getOutputs().size() != 1 || kernel.getExtentsAttr())
      return std::nullopt;
    auto steps = constantIntegers(copy.slice.getSteps());
    if (!steps || (*steps)[0] != 1)
      return std::nullopt;
    for (Value operand : copy.slice->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument && !operand.getDefiningOp<ConstantOp>())
        return std::nullopt;
      copy.bounds.push_back(argument ? run.getInputs()[argument.getArgNumber()] : Value());
    }
    std::swap(copy.whole, copy.bounds.front());
    copy.part = run.getOutputs()[0];
    if (!copy.whole || rootOf(copy.whole) == rootOf(copy.part) ||
        !cast<MemRefType>(copy.whole.getType()).getLayout().isIdentity() ||
        !isa_and_nonnull<BufferOp, AllocOp>(rootOf(copy.part).getDefiningOp()))
      return std::nullopt;
    // The numbers of sizes change by that of the cut alone.
    auto whole = cast<MemRefType>(copy.whole.getType()),
         part = cast<MemRefType>(copy.part.getType());
    for (int64_t d = 0; d < part.getRank(); ++d)
      if (d != copy.slice.getAxes()[0] && whole.isDynamicDim(d) != part.isDynamicDim(d))
        return std::nullopt;
    return copy;
  }

  /// All that reads the part, in the order in which it does; false where one needs the copy.
  bool findReaders(SliceCopy &copy, SmallVectorImpl<Reader> &readers) {
    const KernelSchedules *schedules = hostSchedules();
    Value root = rootOf(copy.part);
    if (!schedules || (root != copy.part && !root.hasOneUse()))
      return false;
    for (OpOperand &use : copy.part.getUses()) {
      auto run = dyn_cast<RunOp>(use.getOwner());
      if (run == copy.run)
        continue;
      if (!run || run->getBlock() != copy.run->getBlock() || isWritten(use) ||
          !copy.run->isBeforeInBlock(run))
        return false;
      unsigned index = use.getOperandNumber() - 1; // behind the range
      ArrayAttr extents = kernelOf(run).getExtentsAttr();
      bool isPart = extents && !cast<DenseI64ArrayAttr>(extents[index]).empty();
      if (isPart || llvm::count(run.getInputs(), copy.part) != 1 ||
          !schedules->readsSlice(kernelOf(run), index, copy.slice.getAxes()[0]))
        return false;
      readers.push_back({run, index});
    }
    llvm::sort(readers,
               [](const Reader &a, const Reader &b) { return a.run->isBeforeInBlock(b.run); });
    return !readers.empty();
  }

  /// Whether the whole and the bounds are still what they were when the last one reads, without
  /// that a buffer lives longer.
  bool stays(SliceCopy &copy, ArrayRef<Reader> readers) {
    StepTimes::Interval between = {times.of(copy.run).first, times.of(readers.back().run).second};
    auto isUntouched = [&](Value value) {
      SmallVector<Value> aliases{rootOf(value)};
      while (!aliases.empty())
        for (OpOperand &use : aliases.pop_back_val().getUses()) {
          if (isa<ViewOp>(use.getOwner())) {
            aliases.push_back(use.getOwner()->getResult(0));
            continue;
          }
          StepTimes::Interval own = times.of(use.getOwner());
          if (own.first < between.second && between.first < own.second &&
              (!isa<RunOp>(use.getOwner()) || isWritten(use)))
            return false;
        }
      return true;
    };
    Operation *source = rootOf(copy.whole).getDefiningOp();
    if (!isa_and_nonnull<BufferOp, AllocOp, FeedOp, BlobOp, FetchOp>(source))
      return false;
    if (isa<BufferOp, AllocOp>(source) &&
        times.lifetime(source->getResult(0)).second < between.second)
      return false;
    // A bound is a number, whose life does not count.
    for (Value bound : copy.bounds)
      if (bound && (!isa_and_nonnull<BufferOp, FeedOp, BlobOp>(rootOf(bound).getDefiningOp()) ||
                    !cast<MemRefType>(bound.getType()).hasStaticShape() || !isUntouched(bound)))
        return false;
    return isUntouched(copy.whole);
  }

  /// What tells the size of dimension `i` of `buffer`; null: its type, or nothing here.
  static Value sizeOf(Value buffer, int64_t i) {
    auto type = cast<MemRefType>(buffer.getType());
    Operation *made = buffer.getDefiningOp();
    if (!type.isDynamicDim(i))
      return {};
    ValueRange sizes;
    if (auto alloc = dyn_cast_if_present<AllocOp>(made))
      sizes = alloc.getSizes();
    else if (auto view = dyn_cast_if_present<ViewOp>(made))
      sizes = view.getSizes();
    return sizes.empty() ? Value() : sizes[type.getDynamicDimIndex(i)];
  }

  /// Whether the kernel exchanges the last two dimensions of its argument, whose lines are columns
  /// of the result then.
  static bool hasLinesAsColumns(KernelOp kernel, unsigned index) {
    Block &body = kernel.getBody().front();
    return llvm::all_of(body.without_terminator(), [&](Operation &op) {
      bool isOfArgument = op.getNumOperands() && op.getOperand(0) == body.getArgument(index);
      return isa<TransposeOp>(op) == isOfArgument && !isa<ReshapeOp>(op);
    });
  }

  /// The reader's work when it reads the whole (null: it has none), its sizes numbered anew. None
  /// where it depends on a size that no buffer tells any more.
  std::optional<ArrayAttr> workFrom(SliceCopy &copy, const Reader &reader) {
    RunOp run = reader.run;
    auto work = run->getAttrOfType<ArrayAttr>(workAttribute);
    if (!work)
      return ArrayAttr();
    const int64_t axis = copy.slice.getAxes()[0];
    SmallVector<Value> buffers(run.getInputs());
    llvm::append_range(buffers, run.getOutputs());
    SmallVector<int64_t> numbers; // new ones by old ones
    std::optional<int64_t> cut;   // which of them is that of the part
    Value size = sizeOf(copy.part, axis);
    auto result = cast<MemRefType>(buffers.back().getType());
    bool isColumns = hasLinesAsColumns(kernelOf(run), reader.index);
    int64_t next = 0, same = -1;
    for (auto [i, buffer] : llvm::enumerate(buffers)) {
      auto type = cast<MemRefType>(buffer.getType());
      for (int64_t d = 0; d < type.getRank(); ++d) {
        bool isCut = i == reader.index && d == axis;
        if (isCut && type.isDynamicDim(d))
          cut = numbers.size();
        bool isLast = i + 1 == buffers.size() && d + 1 == result.getRank();
        if (!isCut && same < 0 && type.isDynamicDim(d) &&
            ((size && sizeOf(buffer, d) == size) || (isColumns && isLast)))
          same = next;
        if (type.isDynamicDim(d))
          numbers.push_back(next);
        next += (isCut ? cast<MemRefType>(copy.whole.getType()) : type).isDynamicDim(d);
      }
    }
    if (cut)
      numbers[*cut] = same;
    OpBuilder b(run.getContext());
    SmallVector<Attribute> terms;
    for (auto term : work.getAsRange<DenseI64ArrayAttr>()) {
      SmallVector<int64_t> own(term.asArrayRef());
      for (int64_t &number : MutableArrayRef(own).drop_front()) {
        number = numbers[number];
        if (number < 0)
          return std::nullopt;
      }
      terms.push_back(b.getDenseI64ArrayAttr(own));
    }
    return b.getArrayAttr(terms);
  }

  /// Lets the reader run a kernel that cuts the slice out of the whole.
  void readWhole(SliceCopy &copy, const Reader &reader, ArrayAttr work) {
    RunOp run = reader.run;
    run.setKernel(slicingKernel(kernelOf(run), copy, reader.index).getSymName());
    run.getInputsMutable()[reader.index].set(copy.whole);
    SmallVector<Value> added;
    llvm::copy_if(copy.bounds, std::back_inserter(added), [](Value bound) { return bool(bound); });
    const unsigned before = run.getInputs().size();
    run.getInputsMutable().append(added);
    if (work)
      run->setAttr(workAttribute, work);
    // The check of the plan leaves out what has no number.
    if (auto known = run->getAttrOfType<DenseI64ArrayAttr>("weir_plan.locations")) {
      SmallVector<int64_t> locations(known.asArrayRef());
      locations[reader.index] = -1;
      locations.insert(locations.begin() + before, added.size(), -1);
      run->setAttr("weir_plan.locations", DenseI64ArrayAttr::get(run.getContext(), locations));
    }
  }

  /// The nodes of all of them, each once.
  static std::string nodesOf(ArrayRef<KernelOp> kernels) {
    SmallVector<StringRef> names;
    for (KernelOp each : kernels)
      each.getNodes().split(names, ';', -1, /*KeepEmpty=*/false);
    llvm::SetVector<StringRef> once(names.begin(), names.end());
    return llvm::join(once, ";");
  }

  /// The kernel, made or known from another run, whose argument `index` is the whole, and which
  /// reads bounds that are no constants as arguments behind its own.
  KernelOp slicingKernel(KernelOp kernel, SliceCopy &copy, unsigned index) {
    Block &cutting = copy.slice->getParentRegion()->front();
    Type whole = cast<BlockArgument>(copy.slice.getOperand()).getType();
    std::string key;
    llvm::raw_string_ostream os(key);
    os << kernel.getSymName() << ".slice" << index << "_" << kernelOf(copy.run).getSymName();
    if (auto known = symbols.lookup<KernelOp>(key))
      return known;
    auto made = cast<KernelOp>(kernel->clone());
    made.setSymName(key);
    made.setNodes(nodesOf({kernelOf(copy.run), kernel}));
    Block &body = made.getBody().front();
    BlockArgument argument = body.getArgument(index);
    argument.setType(whole);
    IRMapping inside;
    for (auto [operand, bound] :
         llvm::zip(copy.slice->getOperands().drop_front(), ArrayRef(copy.bounds).drop_front()))
      if (bound)
        inside.map(operand, body.addArgument(operand.getType(), copy.slice.getLoc()));
    inside.map(copy.slice.getOperand(), argument);
    OpBuilder b(&body, body.begin());
    for (Operation &op : cutting.without_terminator())
      b.clone(op, inside);
    Value cut = inside.lookup(copy.slice.getResult());
    argument.replaceAllUsesExcept(cut, cut.getDefiningOp());
    if (auto extents = made.getExtentsAttr()) {
      SmallVector<Attribute> all(extents.getValue());
      unsigned added = llvm::count_if(copy.bounds, [](Value bound) { return bool(bound); });
      all.insert(all.begin() + kernel.getBody().getNumArguments(), added,
                 b.getDenseI64ArrayAttr({}));
      made.setExtentsAttr(b.getArrayAttr(all));
    }
    symbols.insert(made, std::next(Block::iterator(kernel)));
    return made;
  }

  SymbolTable &symbols;
  StepTimes times;
};

} // namespace

int64_t plan::readSlicesInPlace(func::FuncOp function, SymbolTable &symbols) {
  SmallVector<RunOp> runs;
  function.walk([&](RunOp op) { runs.push_back(op); });
  SliceForwarder forwarder(function, symbols);
  return llvm::count_if(runs, [&](RunOp run) { return forwarder.forward(run); });
}

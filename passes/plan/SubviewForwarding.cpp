//===- SubviewForwarding.cpp - parts of a tensor in its own buffer ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/SubviewForwarding.h"
#include "dialects/weir/Elemental.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/RecursiveReader.h"
#include "dialects/weir/SliceBounds.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/plan/SliceReads.h"
#include "passes/plan/StepTimes.h"
#include "passes/plan/SubviewKernels.h"
#include "passes/plan/SubviewPlaces.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Parts of a whole.
struct Parts {
  SmallVector<Value> buffers;
  SmallVector<Place> places;
};

class PartPlacer {
public:
  PartPlacer(func::FuncOp function, SymbolTable &symbols)
      : function(function), kernels(symbols), times(function), bytes(function) {
    function.walk([&](Operation *op) {
      if (isa<ViewOp, FreeOp, memref::DimOp>(op))
        return;
      for (Value operand : op->getOperands())
        if (isa<MemRefType>(operand.getType())) {
          auto &list = accesses[rootOf(operand)];
          if (list.empty() || list.back() != op)
            list.push_back(op);
        }
    });
    function.walk([&](Operation *op) {
      if (op->getNumResults() != 1 || !(isa<BufferOp>(op) || isOpenBuffer(op->getResult(0))) ||
          !bytes.of(op->getResult(0)))
        return;
      Value buffer = op->getResult(0);
      lives[buffer] = times.lifetime(buffer);
      add(lives[buffer], *bytes.of(buffer));
    });
    peak = live.empty() ? 0 : *llvm::max_element(live);
    budget = 64 * (int64_t)live.size() + (1 << 20);
  }

  int64_t run() {
    SmallVector<RunOp> runs;
    function.walk([&](RunOp op) { runs.push_back(op); });
    int64_t gone = 0;
    auto place = [&](RunOp &op, bool nested) {
      if (!op || !onlyOperation<ConcatOp>(op) || (!nested && joinsJoined(op)) ||
          !placeConcatenation(op))
        return;
      ++gone;
      op = {};
    };
    // The last ones first: what is joined with more and more lies where all of it
    // goes, and what was joined on the way is a part of that. What joins results of
    // others comes when these are in place.
    for (RunOp &op : llvm::reverse(runs))
      place(op, false);
    for (RunOp &op : runs)
      place(op, true);
    for (RunOp &op : runs)
      if (op && (viewConcatenation(op) || viewSlice(op))) {
        ++gone;
        op = {};
      }
    for (RunOp op : runs)
      gone += op && placePadding(op);
    kernels.make(function);
    return gone;
  }

private:
  using Interval = StepTimes::Interval;

  /// The operation of type `Op` that is all of the run's kernel, constants aside.
  template <typename Op> Op onlyOperation(RunOp run) {
    Op found;
    for (Operation &op : kernels.kernelOf(run).getBody().front().without_terminator()) {
      if (isa<ConstantOp>(op))
        continue;
      if (found || !isa<Op>(op))
        return {};
      found = cast<Op>(op);
    }
    return found;
  }

  /// Of fixed size: others have a bound only.
  static bool isBuffer(Value value) {
    return value.getDefiningOp<BufferOp>() && cast<MemRefType>(value.getType()).hasStaticShape();
  }
  /// The same, or memory of an open size that the step asks for.
  bool isOwn(Value value) {
    return isBuffer(value) || (isOpenBuffer(value) && lives.contains(value));
  }
  /// The same, or a result of the step, which lies in the caller's memory.
  bool isPlace(Value value) {
    return isOwn(value) ||
           (value.getDefiningOp<FetchOp>() && cast<MemRefType>(value.getType()).hasStaticShape());
  }
  static bool writes(Operation *op, Value root) {
    auto run = dyn_cast<RunOp>(op);
    return !run ||
           llvm::any_of(run.getOutputs(), [&](Value output) { return rootOf(output) == root; });
  }

  //===--------------------------------------------------------------------===//
  // Live bytes
  //===--------------------------------------------------------------------===//

  void add(Interval interval, int64_t bytes) {
    if (interval.second > (int64_t)live.size())
      live.resize(interval.second, 0);
    for (int64_t t = interval.first; t < interval.second; ++t)
      live[t] += bytes;
  }

  /// Gives `grown` the life `wanted` and drops `dropped`, unless that makes some
  /// moment fuller than the fullest.
  bool change(Value grown, Interval wanted, ArrayRef<Value> dropped) {
    Interval range = wanted;
    auto include = [&](Interval other) {
      range = {std::min(range.first, other.first), std::max(range.second, other.second)};
    };
    for (Value value : dropped)
      include(lives[value]);
    budget -= range.second - range.first;
    if (budget < 0)
      return false;
    auto apply = [&](int64_t sign) {
      for (Value value : dropped)
        add(lives[value], -sign * *bytes.of(value));
      if (!isOwn(grown))
        return;
      add(lives[grown], -sign * *bytes.of(grown));
      add(wanted, sign * *bytes.of(grown));
    };
    apply(1);
    int64_t most = *std::max_element(live.begin() + range.first, live.begin() + range.second);
    if (most > peak) {
      apply(-1);
      return false;
    }
    lives[grown] = wanted;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // What works on parts
  //===--------------------------------------------------------------------===//

  /// Whether all that works on `part`, but for `without`, can work on it at `place`.
  bool canMove(Value part, Place place, Operation *without) {
    for (Operation *op : accesses[part]) {
      if (op == without)
        continue;
      auto run = dyn_cast<RunOp>(op);
      if (!run || run->getBlock() != part.getParentBlock())
        return false;
      for (auto [i, operand] : llvm::enumerate(buffersOf(run))) {
        if (rootOf(operand) != part)
          continue;
        bool isView = operand != part;
        if (!cast<MemRefType>(operand.getType()).hasStaticShape() && isView)
          return false;
        // A view that is not one of ours has another shape, which only what is contiguous can
        // have, and contiguous parts of what lies apart would have gaps. Where a view's rows
        // lie apart the place may only change by how far.
        auto shape = cast<MemRefType>(operand.getType()).getShape();
        if (isView && !place.extents.empty() &&
            (!operand.getDefiningOp()->hasAttr(viewOffsetAttribute) || kernels.of(run, i).empty() ||
             hasInnerGaps(place.extents, shape)))
          return false;
        if (!place.extents.empty() && !kernels.canWorkOn(run, i, place.extents))
          return false;
      }
    }
    return true;
  }

  /// Lets all that works on `part` work on its place in `whole`.
  void move(Value part, Value whole, Place place, std::optional<int64_t> location) {
    int64_t bytes = elementSize(cast<MemRefType>(part.getType()).getElementType());
    SmallVector<Operation *> moved = accesses[part];
    for (Operation *op : moved) {
      auto run = cast<RunOp>(op);
      auto known = run->getAttrOfType<DenseI64ArrayAttr>("weir_plan.locations");
      SmallVector<int64_t> locations(known ? known.asArrayRef() : ArrayRef<int64_t>());
      unsigned first = 1; // the range
      for (auto [i, operand] : llvm::enumerate(buffersOf(run))) {
        if (rootOf(operand) != part)
          continue;
        auto old = operand.getDefiningOp<ViewOp>();
        int64_t offset = place.offset * bytes + offsetInRoot(operand);
        auto type = cast<MemRefType>(operand.getType());
        Extents extents = place.extents.empty() ? kernels.of(run, i) : place.extents;
        OpBuilder b(run);
        SmallVector<Value> sizes;
        if (!type.hasStaticShape())
          sizes.assign(part.getDefiningOp()->operand_begin(), part.getDefiningOp()->operand_end());
        auto view = ViewOp::create(b, run.getLoc(), withExtents(type, extents), whole, sizes);
        view->setAttr(viewOffsetAttribute, b.getI64IntegerAttr(offset));
        run->setOperand(first + i, view);
        if (!extents.empty())
          kernels.set(run, i, extents);
        if (location && i < locations.size())
          locations[i] = *location;
        while (old && old->use_empty()) {
          auto next = old.getSource().getDefiningOp<ViewOp>();
          old->erase();
          old = next;
        }
      }
      if (known)
        run->setAttr("weir_plan.locations", DenseI64ArrayAttr::get(op->getContext(), locations));
      accesses[whole].push_back(op);
    }
    accesses.erase(part);
  }

  /// The number that the run's check knows buffer `index` by.
  static std::optional<int64_t> locationOf(RunOp run, unsigned index) {
    auto locations = run->getAttrOfType<DenseI64ArrayAttr>("weir_plan.locations");
    if (!locations || index >= (unsigned)locations.size() || locations[index] < 0)
      return std::nullopt;
    return locations[index];
  }

  void forget(RunOp run) {
    for (Value buffer : buffersOf(run))
      llvm::erase(accesses[rootOf(buffer)], run.getOperation());
    kernels.forget(run);
    SmallVector<Value> buffers = buffersOf(run);
    run.erase();
    for (Value buffer : llvm::SmallSetVector<Value, 8>(buffers.begin(), buffers.end()))
      if (auto view = buffer.getDefiningOp<ViewOp>(); view && view->use_empty())
        view.erase();
  }

  //===--------------------------------------------------------------------===//
  // Concatenations, slices and paddings
  //===--------------------------------------------------------------------===//

  /// Whether some operand is made by a concatenation that is still to be placed.
  bool joinsJoined(RunOp run) {
    for (Value input : run.getInputs())
      for (Operation *op : accesses.lookup(rootOf(input))) {
        auto other = dyn_cast<RunOp>(op);
        if (other && other != run && writes(other, rootOf(input)) && onlyOperation<ConcatOp>(other))
          return true;
      }
    return false;
  }

  /// The buffer that the run reads `operand` of its kernel from.
  static Value bufferOf(RunOp run, Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument ? run.getInputs()[argument.getArgNumber()] : Value();
  }

  /// Whether the run's result, `whole`, can lie where it does from before the run on.
  bool isWhole(RunOp run, Value whole) {
    return isPlace(whole) && whole.getParentBlock() == run->getBlock() &&
           llvm::none_of(accesses[whole], [&](Operation *op) {
             return op != run && times.of(op).first < times.of(run).first;
           });
  }

  /// Whether `part` can be made at `place` in the run's result. What is written later than
  /// by the run is no part, and none is read later where another writes to the whole.
  bool isPart(RunOp run, Value whole, Value part, Place place) {
    if (!part || !isOwn(part) || part == whole || part.getParentBlock() != run->getBlock() ||
        !areSizesKnownAt(whole, part.getDefiningOp()) || !canMove(part, place, run))
      return false;
    bool isFinal = llvm::none_of(accesses[whole],
                                 [&](Operation *op) { return op != run && writes(op, whole); });
    return llvm::none_of(accesses[part], [&](Operation *op) {
      return op != run && times.of(op).first > times.of(run).first &&
             (!isFinal || writes(op, part));
    });
  }

  /// Lets the whole live from when its parts are made, unless that takes too much room.
  bool growFor(Value whole, Parts &parts) {
    if (parts.buffers.empty())
      return false;
    // A result of the step is there all the time.
    Interval wanted = lives[isOwn(whole) ? whole : parts.buffers.front()];
    for (Value part : parts.buffers)
      wanted = {std::min(wanted.first, lives[part].first),
                std::max(wanted.second, lives[part].second)};
    return change(whole, wanted, parts.buffers);
  }

  void moveAll(Parts &parts, Value whole, std::optional<int64_t> location) {
    if (!isBuffer(whole)) // no number: the check leaves it out
      location = -1;
    for (auto [part, place] : llvm::zip(parts.buffers, parts.places)) {
      Operation *made = part.getDefiningOp();
      bringInFront(whole, made);
      move(part, whole, place, location);
      made->erase();
    }
  }

  bool placeConcatenation(RunOp run) {
    auto concat = onlyOperation<ConcatOp>(run);
    if (!concat || run.getOutputs().size() != 1 || kernels.hasParts(run))
      return false;
    Value whole = run.getOutputs()[0];
    if (!isWhole(run, whole))
      return false;
    Parts parts;
    int64_t start = 0, axis = concat.getAxis();
    for (Value input : concat.getInputs()) {
      Value read = bufferOf(run, input), part = read ? wholeOf(read) : Value();
      if (!part || !isOwn(part))
        return false;
      auto type = cast<MemRefType>(read.getType());
      auto place = placeOf(cast<MemRefType>(whole.getType()), type, axis, start);
      // Rows that lie apart are those of the shape that is joined.
      bool isItself = read == part || (place && place->extents.empty());
      if (!place || !isItself || llvm::is_contained(parts.buffers, part) ||
          !isPart(run, whole, part, *place))
        return false;
      start += type.getDimSize(axis);
      parts.buffers.push_back(part);
      parts.places.push_back(*place);
    }
    if (!growFor(whole, parts))
      return false;
    std::optional<int64_t> location = locationOf(run, run.getInputs().size());
    forget(run);
    moveAll(parts, whole, location);
    return true;
  }

  /// A concatenation of parts that lie in order in one whole is a part of it.
  bool viewConcatenation(RunOp run) {
    auto concat = onlyOperation<ConcatOp>(run);
    if (!concat || run.getOutputs().size() != 1)
      return false;
    Value result = run.getOutputs()[0], whole;
    if (!isOwn(result) || result.getParentBlock() != run->getBlock())
      return false;
    auto type = cast<MemRefType>(result.getType());
    int64_t bytes = elementSize(type.getElementType()), axis = concat.getAxis(), behind = 1;
    if (ShapedType::isDynamicShape(type.getShape().drop_front(axis)))
      return false;
    for (int64_t i = axis; i + 1 < type.getRank(); ++i)
      behind *= type.getDimSize(i + 1);
    Place place;
    std::optional<int64_t> next;
    llvm::SmallDenseSet<int64_t> offsets;
    for (Value input : concat.getInputs()) {
      auto argument = dyn_cast<BlockArgument>(input);
      if (!argument)
        return false;
      Value part = run.getInputs()[argument.getArgNumber()];
      auto view = part.getDefiningOp<ViewOp>();
      auto begin = view ? view->getAttrOfType<IntegerAttr>(viewOffsetAttribute) : IntegerAttr();
      if (!begin || (next && (*next != begin.getInt() || whole != view.getSource())))
        return false;
      Extents extents = kernels.of(run, argument.getArgNumber());
      if (!next) {
        whole = view.getSource();
        place = {begin.getInt() / bytes, extents};
      }
      if (extents != place.extents || (!extents.empty() && axis + 1 != type.getRank()))
        return false;
      offsets.insert(begin.getInt());
      next = begin.getInt() + cast<MemRefType>(part.getType()).getDimSize(axis) * behind * bytes;
    }
    if (!next || !isOwn(whole) || result == whole || whole.getParentBlock() != run->getBlock())
      return false;
    if (place.extents.empty())
      for (int64_t i = 0; i < axis; ++i)
        if (type.getDimSize(i) != 1)
          return false;
    if (!canMove(result, place, run))
      return false;
    for (Operation *op : accesses[result])
      if (op != run && writes(op, result))
        return false;
    // What is joined must stay as it is.
    Interval now = times.of(run);
    for (Operation *op : accesses[whole]) {
      if (times.of(op).first <= now.first)
        continue;
      auto other = dyn_cast<RunOp>(op);
      for (Value output : other ? other.getOutputs() : ValueRange()) {
        if (rootOf(output) != whole)
          continue;
        auto view = output.getDefiningOp<ViewOp>();
        auto begin = view ? view->getAttrOfType<IntegerAttr>(viewOffsetAttribute) : IntegerAttr();
        if (!begin || offsets.contains(begin.getInt()))
          return false;
      }
      if (!other)
        return false;
    }
    Interval wanted = {std::min(lives[whole].first, lives[result].first),
                       std::max(lives[whole].second, lives[result].second)};
    if (!change(whole, wanted, {result}))
      return false;
    std::optional<int64_t> location = locationOf(run, 0);
    forget(run);
    move(result, whole, place, location);
    result.getDefiningOp()->erase();
    return true;
  }

  bool viewSlice(RunOp run) {
    auto slice = onlyOperation<SliceOp>(run);
    if (!slice || run.getOutputs().size() != 1 || kernels.hasParts(run))
      return false;
    auto argument = dyn_cast<BlockArgument>(slice.getOperand());
    auto starts = constantIntegers(slice.getStarts()), ends = constantIntegers(slice.getEnds()),
         steps = constantIntegers(slice.getSteps());
    if (!argument || slice.getAxes().size() != 1 || !starts || !ends || !steps || (*steps)[0] != 1)
      return false;
    Value whole = run.getInputs()[argument.getArgNumber()], part = run.getOutputs()[0];
    Operation *source = whole.getDefiningOp();
    if (!isa_and_nonnull<BufferOp, FeedOp, BlobOp>(source) || !isBuffer(part) ||
        part.getParentBlock() != run->getBlock() ||
        (isBuffer(whole) && whole.getParentBlock() != run->getBlock()))
      return false;
    auto type = cast<MemRefType>(whole.getType());
    int64_t axis = slice.getAxes()[0];
    if (!type.hasStaticShape())
      return false;
    SliceBounds bounds = clampSlice((*starts)[0], (*ends)[0], 1, type.getDimSize(axis));
    auto place = placeOf(type, cast<MemRefType>(part.getType()), axis, bounds.start);
    if (!place || !canMove(part, *place, run))
      return false;
    Interval now = times.of(run);
    for (Operation *op : accesses[part])
      if (op != run && writes(op, part))
        return false;
    if (isBuffer(whole))
      for (Operation *op : accesses[whole])
        if (op != run && times.of(op).second > now.first && writes(op, whole))
          return false;
    Interval wanted = isBuffer(whole) ? lives[whole] : now;
    if (isBuffer(whole))
      wanted = {std::min(wanted.first, lives[part].first),
                std::max(wanted.second, lives[part].second)};
    if (!change(whole, wanted, {part}))
      return false;
    // Feeds and constants have no number: the check leaves them out.
    std::optional<int64_t> location = locationOf(run, 0);
    forget(run);
    move(part, whole, *place, isBuffer(whole) ? location : std::optional<int64_t>(-1));
    part.getDefiningOp()->erase();
    return true;
  }

  /// The padding that is all of the run's kernel, but for a concatenation that it pads.
  PadOp onlyPadding(RunOp run) {
    Operation *result = kernels.kernelOf(run).getBody().front().getTerminator();
    auto pad = result->getOperand(0).getDefiningOp<PadOp>();
    if (!pad || result->getNumOperands() != 1)
      return {};
    Operation *padded = pad.getOperand().getDefiningOp();
    for (Operation &op : kernels.kernelOf(run).getBody().front().without_terminator())
      if (!isa<ConstantOp>(op) && &op != pad && &op != padded)
        return {};
    return pad;
  }

  /// What is only to be padded, or joined and padded, is computed inside of the padded
  /// tensor's buffer, and the run writes the border. Of what is joined along the last
  /// dimension it copies those that cannot be.
  bool placePadding(RunOp run) {
    PadOp pad = onlyPadding(run);
    if (!pad || pad.getMode() != PadMode::Constant || run.getOutputs().size() != 1 ||
        kernels.hasParts(run))
      return false;
    std::optional<SmallVector<int64_t>> pads = constantIntegers(pad.getPads());
    Value whole = run.getOutputs()[0];
    auto type = cast<MemRefType>(whole.getType());
    if (!pads || !constantElements(pad.getValue()) || type.getRank() < 2 ||
        (type.hasStaticShape() && type.getNumElements() == 0) || !isWhole(run, whole) ||
        llvm::any_of(*pads, [](int64_t size) { return size < 0; }))
      return false;
    Parts parts;
    SmallVector<int64_t> copied;
    int64_t axis = 0, joined = 0;
    auto add = [&](Value operand) {
      Value part = bufferOf(run, operand);
      if (!part || llvm::is_contained(parts.buffers, part) || !isOwn(part))
        return false;
      auto own = cast<MemRefType>(part.getType());
      std::optional<Place> place = placeInside(type, own, *pads, axis, joined);
      if (!place || own.getShape().back() < shortestRow || !isPart(run, whole, part, *place))
        return false;
      parts.buffers.push_back(part);
      parts.places.push_back(*place);
      return true;
    };
    if (auto concat = pad.getOperand().getDefiningOp<ConcatOp>()) {
      // That operands have the same sizes is known where these are numbers.
      if (!type.hasStaticShape())
        return false;
      axis = concat.getAxis();
      for (auto [i, input] : llvm::enumerate(concat.getInputs())) {
        if (!add(input)) {
          if (axis + 1 != type.getRank() || !isa<BlockArgument>(input))
            return false;
          copied.push_back(i);
        }
        joined += cast<RankedTensorType>(input.getType()).getDimSize(axis);
      }
    } else if (!add(pad.getOperand())) {
      return false;
    }
    // What is joined twice is neither here nor there.
    if (parts.buffers.size() + copied.size() != run.getInputs().size() || !growFor(whole, parts))
      return false;
    std::optional<int64_t> location = locationOf(run, run.getInputs().size());
    kernels.writePadBorder(run, pad, copied);
    moveAll(parts, whole, location);
    kernels.forget(run);
    return true;
  }

  func::FuncOp function;
  PartKernels kernels;
  StepTimes times;
  UsualBytes bytes;
  DenseMap<Value, SmallVector<Operation *>> accesses; ///< by root
  DenseMap<Value, Interval> lives;
  std::vector<int64_t> live; ///< bytes, by moment
  int64_t peak = 0;
  int64_t budget = 0; ///< moments that may still be looked at
};

} // namespace

int64_t plan::forwardSubviews(ModuleOp module, SymbolTable &symbols) {
  auto called = [&] {
    llvm::SetVector<Operation *> kernels;
    module.walk([&](RunOp run) { kernels.insert(symbols.lookup(run.getKernel())); });
    return kernels;
  };
  llvm::SetVector<Operation *> before = called();
  int64_t gone = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !isOffloaded(function)) {
      gone += PartPlacer(function, symbols).run();
      gone += readSlicesInPlace(function, symbols);
    }
  // Kernels that nothing runs any more.
  llvm::SetVector<Operation *> after = called();
  for (Operation *kernel : before)
    if (!after.contains(kernel))
      symbols.erase(kernel);
  return gone;
}

//===- PlaceParts.cpp - parts of a tensor in its own buffer ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/PlaceParts.h"
#include "dialects/weir/Elemental.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/SliceBounds.h"
#include "passes/partition/Accelerators.h"
#include "passes/plan/StepTimes.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Rows shorter than this are not worth a loop of their own.
constexpr int64_t shortestRow = 8;

/// Where a part lies in a whole.
struct Place {
  int64_t offset = 0; ///< elements
  int64_t pitch = 0;  ///< see pitchesAttribute
};

/// The part [start, start + count) of `whole` along `axis`, if it is one that views
/// can show.
std::optional<Place> placeOf(MemRefType whole, MemRefType part, int64_t axis, int64_t start) {
  int64_t before = 1, behind = 1, rank = whole.getRank();
  for (int64_t i = 0; i < axis; ++i)
    before *= whole.getDimSize(i);
  for (int64_t i = axis + 1; i < rank; ++i)
    behind *= whole.getDimSize(i);
  Place place{start * behind, 0};
  if (before == 1)
    return place.offset * elementSize(whole.getElementType()) % arenaAlignment == 0
               ? std::optional(place) : std::nullopt;
  if (axis + 1 != rank || part.getShape().back() < shortestRow)
    return std::nullopt;
  place.pitch = whole.getShape().back();
  return place;
}

class PartPlacer {
public:
  PartPlacer(func::FuncOp function, SymbolTable &symbols)
      : function(function), symbols(symbols), times(function) {
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
    function.walk([&](BufferOp op) {
      lives[op] = times.lifetime(op);
      add(lives[op], arenaBytes(cast<MemRefType>(op.getType())));
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
    for (RunOp op : runs)
      gone += op && (viewConcatenation(op) || viewSlice(op));
    makeKernels();
    return gone;
  }

private:
  using Interval = StepTimes::Interval;

  KernelOp kernelOf(RunOp run) { return symbols.lookup<KernelOp>(run.getKernel()); }

  /// The operation of type `Op` that is all of the run's kernel, constants aside.
  template <typename Op> Op onlyOperation(RunOp run) {
    Op found;
    for (Operation &op : kernelOf(run).getBody().front().without_terminator()) {
      if (isa<ConstantOp>(op))
        continue;
      if (found || !isa<Op>(op))
        return {};
      found = cast<Op>(op);
    }
    return found;
  }

  static bool isBuffer(Value value) {
    return value.getDefiningOp<BufferOp>() != nullptr;
  }
  static bool writes(Operation *op, Value root) {
    auto run = dyn_cast<RunOp>(op);
    return !run || llvm::any_of(run.getOutputs(), [&](Value output) {
             return rootOf(output) == root;
           });
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
        add(lives[value], -sign * arenaBytes(cast<MemRefType>(value.getType())));
      if (!isBuffer(grown))
        return;
      int64_t bytes = arenaBytes(cast<MemRefType>(grown.getType()));
      add(lives[grown], -sign * bytes);
      add(wanted, sign * bytes);
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

  /// Whether the kernel finds the elements of buffer `index` (inputs first) by the
  /// general rule for indices, or as rows of a left operand.
  bool readsByIndex(RunOp run, unsigned index) {
    KernelOp kernel = kernelOf(run);
    StringRef strategy = kernel.getStrategy();
    if (strategy != "loops" && strategy != "lanes" && strategy != "product" &&
        strategy != "convolution" && strategy != "winograd")
      return false;
    Block &body = kernel.getBody().front();
    if (body.getTerminator()->getNumOperands() != 1)
      return false;
    if (index >= body.getNumArguments() || strategy == "loops" || strategy == "lanes")
      return true;
    // Weights and right operands are read by panels; Winograd's form transforms all
    // that it multiplies.
    bool isTransformed = strategy == "winograd";
    return llvm::none_of(body.getArgument(index).getUses(), [&](OpOperand &use) {
      if (isTransformed)
        return isa<ConvOp, UnrealizedConversionCastOp>(use.getOwner());
      return isa<DotGeneralOp, ConvOp>(use.getOwner()) && use.getOperandNumber() > 0;
    });
  }

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
        auto it = pitches.find(run);
        bool hasPitch = it != pitches.end() && it->second[i];
        // A view that is not one of ours has another shape, and contiguous parts of
        // what gets a pitch would have gaps.
        if (isView && (!operand.getDefiningOp()->hasAttr(viewOffsetAttribute) ||
                       (place.pitch && !hasPitch)))
          return false;
        if (place.pitch && !readsByIndex(run, i))
          return false;
      }
    }
    return true;
  }

  static SmallVector<Value> buffersOf(RunOp run) {
    SmallVector<Value> buffers(run.getInputs());
    llvm::append_range(buffers, run.getOutputs());
    return buffers;
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
        Operation *old = operand.getDefiningOp();
        int64_t offset = place.offset * bytes;
        auto type = cast<MemRefType>(operand.getType());
        int64_t pitch = 0;
        if (auto it = pitches.find(run); it != pitches.end())
          pitch = it->second[i];
        if (isa<ViewOp>(old))
          offset += old->getAttrOfType<IntegerAttr>(viewOffsetAttribute).getInt();
        if (place.pitch)
          pitch = place.pitch;
        OpBuilder b(run);
        auto view = ViewOp::create(b, run.getLoc(), withPitch(type, pitch), whole, ValueRange());
        view->setAttr(viewOffsetAttribute, b.getI64IntegerAttr(offset));
        run->setOperand(first + i, view);
        if (pitch) {
          auto &own = pitches[run];
          own.resize(buffersOf(run).size(), 0);
          own[i] = pitch;
        }
        if (location && i < locations.size())
          locations[i] = *location;
        if (isa<ViewOp>(old) && old->use_empty())
          old->erase();
      }
      if (known)
        run->setAttr("weir_plan.locations", DenseI64ArrayAttr::get(op->getContext(), locations));
      accesses[whole].push_back(op);
    }
    accesses.erase(part);
  }

  static MemRefType withPitch(MemRefType type, int64_t pitch) {
    if (!pitch)
      return type;
    SmallVector<int64_t> strides(type.getRank(), 1);
    int64_t stride = pitch;
    for (int64_t i = type.getRank() - 2; i >= 0; --i) {
      strides[i] = stride;
      stride *= type.getDimSize(i);
    }
    return MemRefType::get(type.getShape(), type.getElementType(),
                           StridedLayoutAttr::get(type.getContext(), 0, strides));
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
    pitches.erase(run);
    SmallVector<Value> buffers = buffersOf(run);
    run.erase();
    for (Value buffer : llvm::SmallSetVector<Value, 8>(buffers.begin(), buffers.end()))
      if (auto view = buffer.getDefiningOp<ViewOp>(); view && view->use_empty())
        view.erase();
  }

  //===--------------------------------------------------------------------===//
  // Concatenations and slices
  //===--------------------------------------------------------------------===//

  /// Whether some operand is made by a concatenation that is still to be placed.
  bool joinsJoined(RunOp run) {
    for (Value input : run.getInputs())
      for (Operation *op : accesses.lookup(input)) {
        auto other = dyn_cast<RunOp>(op);
        if (other && other != run && writes(other, input) && onlyOperation<ConcatOp>(other))
          return true;
      }
    return false;
  }

  bool placeConcatenation(RunOp run) {
    auto concat = onlyOperation<ConcatOp>(run);
    if (!concat || run.getOutputs().size() != 1 || pitches.count(run))
      return false;
    Value whole = run.getOutputs()[0];
    if (!isBuffer(whole) || whole.getParentBlock() != run->getBlock())
      return false;
    auto wholeType = cast<MemRefType>(whole.getType());
    Interval now = times.of(run), wanted = lives[whole];
    bool onlyWriter = true;
    for (Operation *op : accesses[whole]) {
      if (op != run && times.of(op).first < now.first)
        return false;
      onlyWriter &= op == run || !writes(op, whole);
    }
    SmallVector<Value> parts;
    SmallVector<Place> places;
    int64_t start = 0, axis = concat.getAxis();
    for (Value input : concat.getInputs()) {
      auto argument = dyn_cast<BlockArgument>(input);
      Value part = argument ? run.getInputs()[argument.getArgNumber()] : Value();
      if (!part || !isBuffer(part) || part == whole || llvm::is_contained(parts, part) ||
          part.getParentBlock() != run->getBlock())
        return false;
      auto type = cast<MemRefType>(part.getType());
      auto place = placeOf(wholeType, type, axis, start);
      if (!place || !canMove(part, *place, run))
        return false;
      for (Operation *op : accesses[part])
        if (op != run && times.of(op).first > now.first && (!onlyWriter || writes(op, part)))
          return false;
      start += type.getDimSize(axis);
      wanted = {std::min(wanted.first, lives[part].first),
                std::max(wanted.second, lives[part].second)};
      parts.push_back(part);
      places.push_back(*place);
    }
    if (parts.empty() || !change(whole, wanted, parts))
      return false;
    std::optional<int64_t> location = locationOf(run, run.getInputs().size());
    forget(run);
    for (auto [part, place] : llvm::zip(parts, places)) {
      Operation *made = part.getDefiningOp();
      if (made->isBeforeInBlock(whole.getDefiningOp()))
        whole.getDefiningOp()->moveBefore(made);
      move(part, whole, place, location);
      made->erase();
    }
    return true;
  }

  /// A concatenation of parts that lie in order in one whole is a part of it.
  bool viewConcatenation(RunOp run) {
    auto concat = onlyOperation<ConcatOp>(run);
    if (!concat || run.getOutputs().size() != 1)
      return false;
    Value result = run.getOutputs()[0], whole;
    if (!isBuffer(result) || result.getParentBlock() != run->getBlock())
      return false;
    auto type = cast<MemRefType>(result.getType());
    int64_t bytes = elementSize(type.getElementType()), axis = concat.getAxis(), behind = 1;
    for (int64_t i = axis; i + 1 < type.getRank(); ++i)
      behind *= type.getDimSize(i + 1);
    auto known = pitches.find(run);
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
      int64_t pitch = known == pitches.end() ? 0 : known->second[argument.getArgNumber()];
      if (!next) {
        whole = view.getSource();
        place = {begin.getInt() / bytes, pitch};
      }
      if (pitch != place.pitch || (pitch && axis + 1 != type.getRank()))
        return false;
      offsets.insert(begin.getInt());
      next = begin.getInt() +
             cast<MemRefType>(part.getType()).getDimSize(axis) * behind * bytes;
    }
    if (!next || !isBuffer(whole) || result == whole ||
        whole.getParentBlock() != run->getBlock())
      return false;
    if (!place.pitch)
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
    if (!slice || run.getOutputs().size() != 1 || pitches.count(run))
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

  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  /// A kernel that works on parts is a function of its own: pitches are known when
  /// it is compiled.
  void makeKernels() {
    std::map<std::pair<Operation *, std::vector<int64_t>>, KernelOp> made;
    function.walk([&](RunOp run) {
      auto it = pitches.find(run);
      if (it == pitches.end())
        return;
      KernelOp kernel = kernelOf(run);
      std::vector<int64_t> own(it->second.begin(), it->second.end());
      KernelOp &used = made[{kernel, own}];
      if (!used) {
        used = cast<KernelOp>(kernel->clone());
        used->setAttr(pitchesAttribute, DenseI64ArrayAttr::get(run.getContext(), own));
        std::string name = kernel.getSymName().str() + ".part";
        for (int64_t pitch : own)
          name += "_" + std::to_string(pitch);
        if (auto known = symbols.lookup<KernelOp>(name)) {
          used->erase(); // another step's
          used = known;
        } else {
          used.setSymName(name);
          inRows(used);
          symbols.insert(used, std::next(Block::iterator(kernel)));
        }
      }
      run.setKernel(used.getSymName());
      if (kernel.getStrategy() == "loops" && !kernel->hasAttr("tiles")) {
        OpBuilder b(run);
        Block &body = used.getBody().front();
        auto type = cast<RankedTensorType>(body.getTerminator()->getOperand(0).getType());
        int64_t rows = 1, row = type.getShape().back();
        for (int64_t size : type.getShape().drop_back())
          rows *= size;
        run.getRangeMutable().assign(
            arith::ConstantIndexOp::create(b, run.getLoc(), rows).getResult());
        run.setGrain(std::max<int64_t>(1, run.getGrain() / std::max<int64_t>(row, 1)));
      }
    });
  }

  /// A kernel that runs over all elements as one row runs over rows instead.
  static void inRows(KernelOp kernel) {
    if (kernel.getStrategy() != "loops" || kernel->hasAttr("tiles"))
      return;
    Block &body = kernel.getBody().front();
    auto type = cast<RankedTensorType>(body.getTerminator()->getOperand(0).getType());
    SmallVector<int64_t> tiles(type.getRank() - 1, 1);
    kernel->setAttr("tiles", DenseI64ArrayAttr::get(kernel.getContext(), tiles));
  }

  func::FuncOp function;
  SymbolTable &symbols;
  StepTimes times;
  DenseMap<Value, SmallVector<Operation *>> accesses; ///< by root
  DenseMap<Value, Interval> lives;
  /// Of runs that work on parts whose rows lie apart: see pitchesAttribute.
  DenseMap<Operation *, SmallVector<int64_t>> pitches;
  std::vector<int64_t> live; ///< bytes, by moment
  int64_t peak = 0;
  int64_t budget = 0; ///< moments that may still be looked at
};

} // namespace

int64_t plan::placeParts(ModuleOp module, SymbolTable &symbols) {
  auto called = [&] {
    llvm::SetVector<Operation *> kernels;
    module.walk([&](RunOp run) { kernels.insert(symbols.lookup(run.getKernel())); });
    return kernels;
  };
  llvm::SetVector<Operation *> before = called();
  int64_t gone = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !isOnAccelerator(function))
      gone += PartPlacer(function, symbols).run();
  // Kernels that nothing runs any more.
  llvm::SetVector<Operation *> after = called();
  for (Operation *kernel : before)
    if (!after.contains(kernel))
      symbols.erase(kernel);
  return gone;
}

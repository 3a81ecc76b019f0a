//===- SplitReductions.cpp - reductions in steps -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel reduces a line by threads that work together, and anything else by a thread an
// element of its result. Where that leaves most of an offload device idle, a reduction
// becomes several: of parts, then of what they leave. Mean and variance of what is
// more than a line come from one pass over the elements: each part has its own
// mean, and squares of the distances from that (Chan, Golub and LeVeque 1983).
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Weir.h"
#include "passes/analysis/Attention.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/kernelize/Passes.h"
#include "passes/kernelize/ReshapedElementwise.h"

namespace weir {
#define GEN_PASS_DEF_WEIRSPLITREDUCTIONSPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Neighbouring dimensions that are reduced together, or kept together.
struct Group {
  int64_t size;
  bool isReduced;
};
using Groups = SmallVector<Group>;

Groups groupsOf(ReduceOp reduce) {
  Groups groups;
  for (auto [i, size] : llvm::enumerate(typeOf(reduce.getOperand()).getShape())) {
    bool isReduced = llvm::is_contained(reduce.getAxes(), int64_t(i));
    if (size == 1)
      continue;
    if (!groups.empty() && groups.back().isReduced == isReduced)
      groups.back().size *= size;
    else
      groups.push_back({size, isReduced});
  }
  return groups;
}

int64_t countOf(ArrayRef<Group> groups, bool isReduced) {
  int64_t count = 1;
  for (const Group &group : groups)
    count *= group.isReduced == isReduced ? group.size : 1;
  return count;
}

SmallVector<int64_t> sizesOf(ArrayRef<Group> groups) {
  return llvm::map_to_vector(groups, [](const Group &group) { return group.size; });
}

/// Of the divisors of `count` from `least` to `most` the largest that leaves `many`
/// parts, else the smallest; 0: there is none.
int64_t partOf(int64_t count, int64_t least, int64_t most, int64_t many) {
  int64_t smallest = 0, best = 0;
  for (int64_t part = least; part <= std::min(most, count); ++part) {
    if (count % part)
      continue;
    smallest = smallest ? smallest : part;
    if (count / part >= many)
      best = part;
  }
  return best ? best : smallest;
}

/// How long the parts are in which `lines` lines of `length` elements are reduced.
int64_t partOfLine(const ReductionLimits &limits, int64_t lines, int64_t length) {
  int64_t many = llvm::divideCeil(limits.manyLines, lines);
  if (length <= limits.longestLine && (many == 1 || length < 2 * limits.shortestPart))
    return length;
  int64_t part = partOf(length, limits.shortestPart, limits.longestLine, many);
  return part || length > limits.longestLine ? part : length;
}

class Splitter {
public:
  Splitter(func::FuncOp function, const ReductionLimits &limits)
      : function(function), limits(limits) {}

  void run() {
    function.walk([&](DotGeneralOp dot) {
      if (std::optional<Attention> attention = attentionAt(dot))
        inside.insert(attention->operations.begin(), attention->operations.end());
    });
    for (ReduceOp reduce : reductions())
      splitStatistics(reduce);
    sweep();
    for (ReduceOp reduce : reductions())
      split(reduce);
    sweep();
  }

private:
  SmallVector<ReduceOp> reductions() {
    SmallVector<ReduceOp> all;
    function.walk([&](ReduceOp reduce) {
      auto type = dyn_cast<RankedTensorType>(reduce.getOperand().getType());
      if (type && type.hasStaticShape() && isa<FloatType>(type.getElementType()) &&
          !inside.contains(reduce) &&
          llvm::is_contained({ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min},
                             reduce.getKind()))
        all.push_back(reduce);
    });
    return all;
  }

  //===--------------------------------------------------------------------===//
  // Reductions in steps
  //===--------------------------------------------------------------------===//

  /// What is reduced first: dimension `axis` of the operand in `shape`.
  struct Step {
    SmallVector<int64_t> shape;
    int64_t axis;
  };

  /// Nothing: a kernel does it all.
  std::optional<Step> firstStep(ArrayRef<Group> groups) const {
    if (groups.empty())
      return std::nullopt;
    size_t last = groups.size() - 1, chosen = last, count = 0;
    int64_t kept = countOf(groups, false), reduced = countOf(groups, true);
    for (auto [i, group] : llvm::enumerate(groups))
      count += group.isReduced;
    if (count == 0 || kept * reduced < limits.fewElements)
      return std::nullopt;
    bool byLines = groups.back().isReduced && groups.back().size >= limits.shortestLine;
    if (!byLines)
      for (auto [i, group] : llvm::enumerate(groups))
        if (group.isReduced && (!groups[chosen].isReduced || group.size > groups[chosen].size))
          chosen = i;
    int64_t length = groups[chosen].size, others = kept * reduced / length, part = 0;
    bool isWide = others >= limits.manyResults || length < limits.fewRows;
    if (byLines && length > limits.longestLine && others < limits.manyLines)
      part = partOfLine(limits, others, length);
    else if (!byLines && !isWide)
      part = partOf(length, limits.shortestColumn, length / 2,
                    llvm::divideCeil(limits.manyResults, others));
    // Many results are work enough, each by itself.
    if (part == 0 && (count == 1 || kept >= limits.manyResults))
      return std::nullopt;
    Step step = {sizesOf(groups), int64_t(chosen)};
    if (part) {
      step.shape[chosen] = part;
      step.shape.insert(step.shape.begin() + chosen, length / part);
      ++step.axis;
    }
    return step;
  }

  void split(ReduceOp reduce) {
    Groups groups = groupsOf(reduce);
    std::optional<Step> step = firstStep(groups);
    if (!step)
      return;
    OpBuilder b(reduce);
    Location loc = reduce.getLoc();
    Value operand = Reshaper(b, step->shape).make(reduce.getOperand());
    if (!operand)
      return;
    Type element = typeOf(operand).getElementType();
    // Sums between kernels are not rounded to the result's type.
    if (element.getIntOrFloatBitWidth() == 16)
      operand = CastOp::create(b, loc, typeOf(operand).clone(b.getF32Type()), operand,
                               b.getBoolAttr(false));
    while (step) {
      operand = reduced(b, loc, operand, reduce.getKind(), step->axis);
      // What was cut in parts has as many as are left of it; what was not is gone.
      groups = groupsBehind(groups, *step);
      step = firstStep(groups);
      if (step)
        operand = reshaped(b, loc, operand, step->shape);
    }
    SmallVector<int64_t> left;
    for (auto [i, group] : llvm::enumerate(groups))
      if (group.isReduced)
        left.push_back(i);
    if (!left.empty())
      operand = reduced(b, loc, reshaped(b, loc, operand, sizesOf(groups)), reduce.getKind(), left);
    if (typeOf(operand).getElementType() != element)
      operand =
          CastOp::create(b, loc, typeOf(operand).clone(element), operand, b.getBoolAttr(false));
    give(b, reduce, operand);
  }

  static Groups groupsBehind(ArrayRef<Group> groups, const Step &step) {
    Groups behind;
    bool isCut = step.shape.size() > groups.size();
    size_t at = step.axis - isCut;
    for (auto [i, group] : llvm::enumerate(groups)) {
      Group left = group;
      if (i == at)
        left.size = isCut ? step.shape[at] : 1;
      if (left.size == 1)
        continue;
      if (!behind.empty() && behind.back().isReduced == left.isReduced)
        behind.back().size *= left.size;
      else
        behind.push_back(left);
    }
    return behind;
  }

  //===--------------------------------------------------------------------===//
  // Mean and variance
  //===--------------------------------------------------------------------===//

  struct Statistics {
    ReduceOp mean, variance;
    SubOp centred;
    Value values;
  };

  /// The mean of (x - mean of x)², over the same dimensions.
  static std::optional<Statistics> statisticsOf(ReduceOp variance) {
    auto square = variance.getOperand().getDefiningOp<MulOp>();
    auto centred = square && square.getLhs() == square.getRhs()
                       ? square.getLhs().getDefiningOp<SubOp>()
                       : SubOp();
    if (!centred || variance.getKind() != ReduceKind::Mean ||
        !typeOf(variance).getElementType().isF32())
      return std::nullopt;
    Value x = centred.getLhs(), subtrahend = centred.getRhs();
    auto reshape = subtrahend.getDefiningOp<ReshapeOp>();
    auto mean = (reshape ? reshape.getOperand() : subtrahend).getDefiningOp<ReduceOp>();
    if (!mean || mean.getKind() != ReduceKind::Mean || mean.getOperand() != x ||
        x.getType() != variance.getOperand().getType() || mean.getAxes() != variance.getAxes())
      return std::nullopt;
    // Each element has its own mean subtracted.
    SmallVector<int64_t> kept(typeOf(x).getShape()), own(kept.size(), 1);
    for (int64_t axis : mean.getAxes())
      kept[axis] = 1;
    ArrayRef<int64_t> shape = typeOf(subtrahend).getShape();
    llvm::copy(shape, own.end() - shape.size());
    if (own != kept)
      return std::nullopt;
    return Statistics{mean, variance, centred, x};
  }

  /// Whether the last dimensions are reduced, and no others.
  static bool reducesLines(ReduceOp reduce) {
    SmallVector<int64_t> axes(reduce.getAxes());
    llvm::sort(axes);
    int64_t first = typeOf(reduce.getOperand()).getRank() - int64_t(axes.size());
    return llvm::equal(axes, llvm::seq(first, first + int64_t(axes.size())));
  }

  void splitStatistics(ReduceOp variance) {
    std::optional<Statistics> found = statisticsOf(variance);
    Groups groups = found ? groupsOf(variance) : Groups();
    if (!groups.empty() && !groups.back().isReduced)
      return splitColumns(*found, groups);
    if (groups.empty() || groups.back().size < limits.shortestLine)
      return;
    int64_t elements = typeOf(found->values).getNumElements(), length = groups.back().size;
    ElementRegion region =
        regionBehind(found->centred, found->values, variance.getOperand().getDefiningOp());
    if (reducesLines(variance) && length <= limits.longestLine) {
      // A row reduction has all of it, but for what comes behind a reshape.
      if (!region.hasReshapes && variance.getAxes().size() > 1 && region.result)
        return flatten(*found, region);
      if (variance.getAxes().size() == 1 && (!region.hasReshapes || elements < limits.manyElements))
        return;
    }
    int64_t kept = countOf(groups, false), part = partOfLine(limits, elements / length, length);
    if (part == 0 || (elements / kept > part && elements < limits.fewElements))
      return;
    OpBuilder b(found->mean);
    auto [mean, square] = statisticsOfParts(b, *found, groups, part);
    give(b, *found, mean, square);
    if (region.hasReshapes)
      computeIn(*region.shape, region, {});
  }

  /// Normalisations over several dimensions become those of lines: a kernel each.
  void flatten(Statistics found, const ElementRegion &region) {
    ReduceOp reduce = found.mean;
    SmallVector<int64_t> shape(typeOf(found.values).getShape().drop_back(reduce.getAxes().size()));
    shape.push_back(typeOf(found.values).getNumElements() /
                    std::max<int64_t>(1, typeOf(reduce).getNumElements()));
    OpBuilder b(reduce);
    Value x = Reshaper(b, shape).make(found.values);
    auto [mean, square] = statistics(b, reduce.getLoc(), x, int64_t(shape.size()) - 1, Value());
    give(b, found, mean, square);
    computeIn(shape, region, {found.values, x});
  }

  /// Computes a region in another shape, in which `known` is there: a value, and what
  /// it is.
  static void computeIn(ArrayRef<int64_t> shape, const ElementRegion &region,
                        std::pair<Value, Value> known) {
    OpBuilder b(region.result.getDefiningOp());
    Reshaper reshaper(b, shape);
    if (known.first)
      reshaper.know(known.first, known.second);
    Value result = region.result;
    if (Value made = reshaper.make(result, region))
      result.replaceAllUsesWith(reshaped(b, result.getLoc(), made, typeOf(result).getShape()));
  }

  /// Columns: parts that a thread keeps in registers, then parts of what these leave.
  void splitColumns(Statistics found, ArrayRef<Group> groups) const {
    int64_t at = 0, left = 0;
    for (auto [i, group] : llvm::enumerate(groups))
      if (group.isReduced) {
        if (left)
          return;
        at = int64_t(i);
        left = group.size;
      }
    if (left < limits.fewRows || typeOf(found.values).getNumElements() < limits.fewElements ||
        partOf(left, limits.shortestAcross, limits.longestAcross, 1) == 0)
      return;
    ReduceOp reduce = found.mean;
    OpBuilder b(reduce);
    Value mean, square;
    while (left > 1) {
      int64_t part = partOf(left, 2, limits.longestAcross, 1);
      part = part ? part : left;
      left /= part;
      SmallVector<int64_t> shape = sizesOf(groups);
      shape[at] = part;
      shape.insert(shape.begin() + at, left);
      Location loc = b.getFusedLoc({reduce.getLoc(), found.variance.getLoc()});
      Value x = mean ? reshaped(b, loc, mean, shape) : Reshaper(b, shape).make(found.values);
      Value spread = mean ? reshaped(b, loc, square, shape) : Value();
      std::tie(mean, square) = statistics(b, loc, x, at + 1, spread);
    }
    give(b, found, mean, square);
  }

  /// Mean and variance of each line, from those of parts of `part` elements.
  static std::pair<Value, Value> statisticsOfParts(OpBuilder &b, Statistics found,
                                                   ArrayRef<Group> groups, int64_t part) {
    SmallVector<int64_t> shape = sizesOf(groups);
    shape.back() = part;
    shape.insert(shape.end() - 1, groups.back().size / part);
    Location loc = b.getFusedLoc({found.mean.getLoc(), found.variance.getLoc()});
    Value x = Reshaper(b, shape).make(found.values);
    std::pair<Value, Value> ofParts = statistics(b, loc, x, int64_t(shape.size()) - 1, Value());
    int64_t parts = countOf(groups, true) / part;
    if (parts == 1)
      return ofParts;
    // What is kept comes first: the parts of each are a line.
    SmallVector<int64_t> order;
    for (bool isReduced : {false, true})
      for (auto [i, group] : llvm::enumerate(groups))
        if (group.isReduced == isReduced)
          order.push_back(i);
    auto line = [&](Value value) {
      Value whole = reshaped(b, loc, value, ArrayRef(shape).drop_back());
      return reshaped(b, loc, transposed(b, loc, whole, order), {countOf(groups, false), parts});
    };
    Value spread = line(ofParts.second);
    return statistics(b, loc, line(ofParts.first), 1, spread);
  }

  /// Mean and variance along `axis`, of what has means `x` and variances `spread`
  /// itself; null: of numbers.
  static std::pair<Value, Value> statistics(OpBuilder &b, Location loc, Value x, int64_t axis,
                                            Value spread) {
    Value mean = reduced(b, loc, x, ReduceKind::Mean, axis);
    Value distance = SubOp::create(b, loc, x.getType(), x, mean);
    Value square = MulOp::create(b, loc, x.getType(), distance, distance);
    if (spread)
      square = AddOp::create(b, loc, x.getType(), square, spread);
    return {mean, reduced(b, loc, square, ReduceKind::Mean, axis)};
  }

  static Value reduced(OpBuilder &b, Location loc, Value value, ReduceKind kind,
                       ArrayRef<int64_t> axes) {
    SmallVector<int64_t> shape(typeOf(value).getShape());
    for (int64_t axis : axes)
      shape[axis] = 1;
    return ReduceOp::create(b, loc, typeOf(value).clone(shape), value, kind, axes, true);
  }

  /// Lets all that reads `old` read `value`.
  static void give(OpBuilder &b, ReduceOp old, Value value) {
    old.getResult().replaceAllUsesWith(reshaped(b, old.getLoc(), value, typeOf(old).getShape()));
  }

  /// One kernel may have both where all that reads them comes behind.
  static void give(OpBuilder &b, Statistics found, Value mean, Value variance) {
    give(b, found.variance, variance);
    give(b, found.mean, mean);
    Operation *square = found.variance.getOperand().getDefiningOp(), *first = nullptr;
    for (Operation *user : found.centred->getUsers()) {
      if (user->getBlock() != square->getBlock())
        return;
      if (user != square && (!first || user->isBeforeInBlock(first)))
        first = user;
    }
    found.variance.erase();
    if (!square->use_empty())
      return;
    square->erase();
    if (first)
      found.centred->moveBefore(first);
  }

  /// Erases what nothing reads any more.
  void sweep() {
    SmallVector<Operation *> all;
    function.walk([&](Operation *op) { all.push_back(op); });
    for (Operation *op : llvm::reverse(all))
      if (isOpTriviallyDead(op))
        op->erase();
  }

  func::FuncOp function;
  const ReductionLimits limits;       ///< of the function's device
  llvm::DenseSet<Operation *> inside; ///< of attentions
};

struct SplitReductionsPass : weir::impl::WeirSplitReductionsPassBase<SplitReductionsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (const DeviceKind *kind = function.isExternal() ? nullptr : kindAround(function))
        Splitter(function, kind->reductionLimits()).run();
  }
};

} // namespace

//===- CollapseDimensions.cpp - neighbouring dimensions become one --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops run over the last dimension, and other dimensions cost divisions and calls for
// each line of it. Where an operation treats neighbouring dimensions alike, it is computed
// in a shape where they are one: views of the same elements, whatever the sizes.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Elemental.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"
#include "passes/layout/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRCOLLAPSEDIMENSIONSPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Dimensions [first, end) of a tensor that become one.
struct Group {
  int64_t first, end;
  int64_t kind; ///< what the operation does along them; neighbours of one kind are joined
};
using Groups = SmallVector<Group>;

/// Dimensions by what an operation does along each. Those known to be of size 1 join
/// whatever is beside them, where `onesJoin`.
Groups groupsOf(RankedTensorType type, function_ref<int64_t(int64_t)> kindOf,
                bool onesJoin = true) {
  Groups groups;
  bool isOpen = false; // only ones so far: of any kind
  for (int64_t i = 0; i < type.getRank(); ++i) {
    bool isOne = onesJoin && type.getDimSize(i) == 1;
    int64_t kind = kindOf(i);
    if (!groups.empty() && (isOne || isOpen || groups.back().kind == kind)) {
      groups.back().end = i + 1;
      if (isOpen && !isOne)
        groups.back().kind = kind, isOpen = false;
      continue;
    }
    groups.push_back({i, i + 1, kind});
    isOpen = isOne;
  }
  return groups;
}

/// Sizes and views; reads sizes of open dimensions when the program runs.
class Views {
public:
  Views(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  /// A size of a shape: of dimension `dim` of `value`, plus `more`.
  struct Size {
    Value value;
    int64_t dim = 0, more = 0;
  };

  Value collapsed(Value value, ArrayRef<Group> groups) {
    SmallVector<SmallVector<Size>> factors;
    for (const Group &group : groups) {
      factors.emplace_back();
      for (int64_t i = group.first; i < group.end; ++i)
        factors.back().push_back({value, i});
    }
    return reshaped(value, factors);
  }
  /// `value` in the shape of `type`, whose open sizes are those of `sizes`.
  Value expanded(Value value, RankedTensorType type, ArrayRef<Size> sizes) {
    if (type.hasStaticShape())
      return weir::reshaped(b, loc, value, type.getShape());
    SmallVector<Value> parts;
    for (auto [size, from] : llvm::zip(type.getShape(), sizes))
      parts.push_back(ShapedType::isDynamic(size) ? sizeOf(from) : integers(b, loc, size));
    return ReshapeOp::create(b, loc, type, value, ConcatOp::create(b, loc, ValueRange(parts), 0));
  }

private:
  Value reshaped(Value value, ArrayRef<SmallVector<Size>> factors) {
    SmallVector<Value> parts;
    SmallVector<int64_t> shape;
    for (ArrayRef<Size> group : factors) {
      int64_t known = 1;
      Value part;
      for (const Size &size : group) {
        int64_t own = typeOf(size.value).getDimSize(size.dim);
        if (!ShapedType::isDynamic(own))
          known *= own;
        else
          part = part ? MulOp::create(b, loc, part, sizeOf(size)).getResult() : sizeOf(size);
      }
      shape.push_back(part ? ShapedType::kDynamic : known);
      if (part && known != 1)
        part = MulOp::create(b, loc, part, integers(b, loc, known));
      parts.push_back(part ? part : integers(b, loc, known));
    }
    if (llvm::none_of(shape, ShapedType::isDynamic))
      return weir::reshaped(b, loc, value, shape);
    return ReshapeOp::create(b, loc, typeOf(value).clone(shape), value,
                             ConcatOp::create(b, loc, ValueRange(parts), 0));
  }
  Value sizeOf(const Size &size) {
    Value &all = shapes[size.value];
    if (!all)
      all = ShapeOfOp::create(b, loc, size.value, TypeAttr::get(b.getI64Type()));
    Value own =
        SliceOp::create(b, loc, all, integers(b, loc, size.dim), integers(b, loc, size.dim + 1),
                        integers(b, loc, 1), ArrayRef<int64_t>{0}, false);
    return size.more ? AddOp::create(b, loc, own, integers(b, loc, size.more)).getResult() : own;
  }

  OpBuilder &b;
  Location loc;
  llvm::DenseMap<Value, Value> shapes;
};

/// Whether the operation makes an element of one at the same place, and of others that are one
/// number.
bool isUnary(Operation *op) {
  if (!isa_and_nonnull<ElementwiseOpInterface>(op) || op->getNumResults() != 1)
    return false;
  llvm::SmallDenseSet<Value> tensors; // a square reads one twice
  auto isOne = [](RankedTensorType type) {
    return type.hasStaticShape() && type.getNumElements() == 1;
  };
  bool makesOne = isOne(typeOf(op->getResult(0)));
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      return false;
    if (isOne(type) && (!makesOne || operand.getDefiningOp<ConstantOp>()))
      continue;
    if (type.getShape() != typeOf(op->getResult(0)).getShape())
      return false;
    tensors.insert(operand);
  }
  return tensors.size() == 1;
}

bool hasOneUser(Value value) { return !value.use_empty() && llvm::all_equal(value.getUsers()); }

Value onlyTensor(Operation *op) {
  for (Value operand : op->getOperands())
    if (typeOf(operand).getShape() == typeOf(op->getResult(0)).getShape() &&
        !operand.getDefiningOp<ConstantOp>())
      return operand;
  return {};
}

/// What the kernel of an operation would compute along with it, as far as views pass it.
struct Surroundings {
  SmallVector<Operation *> before; ///< the last one first
  Value source;                    ///< what they read
  SmallVector<Operation *> after;  ///< the first one first

  /// What is computed last, before which all operands are there.
  Operation *last(Operation *op) const { return after.empty() ? op : after.back(); }
};

/// Whether elementwise operations around `op` are computed in its kernel.
bool sharesKernels(Operation *op) {
  return isa<ElementwiseOpInterface>(op) || op->hasTrait<traits::ComputedByTiles>();
}

/// Nothing where the operation would lose a kernel that it shares; one that `isApart` shares none.
std::optional<Surroundings> surroundingsOf(Operation *op, bool isApart = false) {
  constexpr size_t most = 4;
  Surroundings found;
  found.source = op->getOperand(0);
  while (isUnary(found.source.getDefiningOp()) && hasOneUser(found.source) &&
         found.before.size() < most && onlyTensor(found.source.getDefiningOp())) {
    found.before.push_back(found.source.getDefiningOp());
    found.source = onlyTensor(found.before.back());
  }
  Operation *def = found.source.getDefiningOp();
  if (def && (isa<ConstantOp>(def) || (sharesKernels(def) && hasOneUser(found.source))))
    return std::nullopt;
  Value result = op->getResult(0);
  auto goesOn = [&](Operation *user) {
    return user->getBlock() == op->getBlock() && isUnary(user) && onlyTensor(user) == result;
  };
  while (hasOneUser(result) && goesOn(*result.user_begin()) && found.after.size() < most) {
    found.after.push_back(*result.user_begin());
    result = found.after.back()->getResult(0);
  }
  auto type = typeOf(result);
  bool isSingle = type.hasStaticShape() && type.getNumElements() == 1;
  for (Operation *user : result.getUsers())
    if (!isSingle && !isApart && sharesKernels(user))
      return std::nullopt;
  return found;
}

/// `op` on `value`, which has the elements of what it reads as `from` in another shape.
Value inShapeOf(OpBuilder &b, Operation *op, Value from, Value value) {
  // Others are one number; of more dimensions than are left it would make a larger result.
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (operand != from && typeOf(operand).getRank() > typeOf(value).getRank())
      mapping.map(operand, weir::reshaped(b, op->getLoc(), operand, ArrayRef<int64_t>()));
  mapping.map(from, value);
  Operation *made = b.clone(*op, mapping);
  made->getResult(0).setType(typeOf(op->getResult(0)).clone(typeOf(value).getShape()));
  return made->getResult(0);
}

/// The operations before `op` in the collapsed shape.
Value collapsedOperand(OpBuilder &b, Views &views, const Surroundings &around,
                       ArrayRef<Group> groups) {
  Value value = views.collapsed(around.source, groups);
  for (Operation *op : llvm::reverse(around.before))
    value = inShapeOf(b, op, onlyTensor(op), value);
  return value;
}

/// Puts `made` in the place of the operation and what is around it. The open sizes of what `op`
/// made are `sizes`.
void replace(OpBuilder &b, Views &views, Operation *op, const Surroundings &around, Value made,
             ArrayRef<Views::Size> sizes) {
  Value from = op->getResult(0);
  for (Operation *after : around.after) {
    made = inShapeOf(b, after, from, made);
    from = after->getResult(0);
  }
  from.replaceAllUsesWith(views.expanded(made, typeOf(from), sizes));
  for (Operation *after : llvm::reverse(around.after))
    after->erase();
  op->erase();
  for (Operation *before : around.before)
    before->erase();
}

/// Whether it matters: dimensions are joined that are more than outer loops.
bool isWorthIt(ArrayRef<Group> groups, RankedTensorType type, bool outerMatters) {
  for (auto [i, group] : llvm::enumerate(groups)) {
    int64_t joined = 0;
    for (int64_t k = group.first; k < group.end; ++k)
      joined += type.getDimSize(k) != 1;
    if (joined > 1 && (i > 0 || outerMatters))
      return true;
  }
  return false;
}

/// Whether it goes over the last dimensions, of which there are several, to an open size: no kernel
/// of lines takes those, with or without what is around.
bool isOverOpenPlanes(ReduceOp op) {
  auto type = typeOf(op.getOperand());
  int64_t joined = 0;
  bool isOpen = false;
  for (int64_t i = type.getRank(); i-- > 0 && llvm::is_contained(op.getAxes(), i);) {
    joined += type.getDimSize(i) != 1;
    isOpen |= type.isDynamicDim(i);
  }
  return isOpen && joined > 1;
}

void collapse(ReduceOp op) {
  auto type = typeOf(op.getOperand()), resultType = typeOf(op.getResult());
  auto isReduced = [&](int64_t i) { return llvm::is_contained(op.getAxes(), i); };
  Groups groups = groupsOf(type, [&](int64_t i) { return int64_t(isReduced(i)); });
  std::optional<Surroundings> around = surroundingsOf(op, isOverOpenPlanes(op));
  if (!around || groups.empty() || !isWorthIt(groups, type, groups[0].kind != 0))
    return;
  // Of all elements it does not matter in which order they lie.
  bool isAll = groups.size() == 1;
  while (isAll && around->source.getDefiningOp<TransposeOp>())
    around->source = around->source.getDefiningOp()->getOperand(0);
  OpBuilder b(around->last(op));
  Views views(b, op.getLoc());
  Value operand = collapsedOperand(b, views, *around, groups);
  // With sizes of 1, as kernels along lines want them.
  SmallVector<int64_t> axes, kept(typeOf(operand).getShape());
  for (auto [i, group] : llvm::enumerate(groups))
    if (group.kind) {
      axes.push_back(i);
      kept[i] = 1;
    }
  Value made = ReduceOp::create(b, op.getLoc(), resultType.clone(kept), operand, op.getKindAttr(),
                                b.getDenseI64ArrayAttr(axes), b.getBoolAttr(true));
  SmallVector<Views::Size> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!isReduced(i) || op.getKeepDims())
      sizes.push_back({around->source, i});
  replace(b, views, op, *around, made, sizes);
}

/// Dimensions before an axis, it, and those behind it.
Groups aroundAxis(RankedTensorType type, int64_t axis) {
  return groupsOf(
      type, [&](int64_t i) { return i < axis    ? 0
                                    : i == axis ? 1
                                                : 2; }, /*onesJoin=*/false);
}

/// What goes along one axis. `make` gets the collapsed operand and the axis in it;
/// `keepsAxis`: the result has the axis, too.
template <typename Op>
void collapseAroundAxis(Op op, bool keepsAxis,
                        function_ref<Value(OpBuilder &, Value, int64_t)> make) {
  auto type = typeOf(op.getOperand());
  int64_t axis = op.getAxis();
  Groups groups = aroundAxis(type, axis);
  std::optional<Surroundings> around = surroundingsOf(op);
  if (!around || !isWorthIt(groups, type, false))
    return;
  OpBuilder b(around->last(op));
  Views views(b, op.getLoc());
  Value made = make(b, collapsedOperand(b, views, *around, groups), axis > 0);
  SmallVector<Views::Size> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis || keepsAxis)
      sizes.push_back({around->source, i});
  replace(b, views, op, *around, made, sizes);
}

void collapse(CumulativeOp op) {
  collapseAroundAxis(op, /*keepsAxis=*/true, [&](OpBuilder &b, Value operand, int64_t axis) {
    return CumulativeOp::create(b, op.getLoc(), typeOf(op).clone(typeOf(operand).getShape()),
                                operand, op.getKindAttr(), b.getI64IntegerAttr(axis),
                                op.getExclusiveAttr(), op.getReverseAttr())
        .getResult();
  });
}

void collapse(ArgReduceOp op) {
  collapseAroundAxis(op, op.getKeepDims(), [&](OpBuilder &b, Value operand, int64_t axis) {
    SmallVector<int64_t> kept(typeOf(operand).getShape());
    kept.erase(kept.begin() + axis);
    return ArgReduceOp::create(b, op.getLoc(), typeOf(op).clone(kept), operand, op.getLargestAttr(),
                               b.getI64IntegerAttr(axis), b.getBoolAttr(false),
                               op.getSelectLastAttr(), op.getIndexTypeAttr())
        .getResult();
  });
}

/// Borders: dimensions without one are joined, and with the one before them that has one,
/// where their size is known: its border is so many times as wide.
void collapse(PadOp op) {
  auto type = typeOf(op.getOperand());
  std::optional<SmallVector<int64_t>> pads = constantIntegers(op.getPads());
  int64_t rank = type.getRank();
  if (!pads || op.getMode() != PadMode::Constant)
    return;
  auto isPadded = [&](int64_t i) { return (*pads)[i] != 0 || (*pads)[rank + i] != 0; };
  Groups groups;
  SmallVector<int64_t> before, after;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = type.getDimSize(i);
    if (!groups.empty() && !isPadded(i)) {
      Group &last = groups.back();
      bool isPlain = before.back() == 0 && after.back() == 0;
      if (isPlain || !ShapedType::isDynamic(size)) {
        last.end = i + 1;
        before.back() *= ShapedType::isDynamic(size) ? 1 : size;
        after.back() *= ShapedType::isDynamic(size) ? 1 : size;
        continue;
      }
    }
    groups.push_back({i, i + 1, 0});
    before.push_back((*pads)[i]);
    after.push_back((*pads)[rank + i]);
  }
  std::optional<Surroundings> around = surroundingsOf(op);
  if (!around || !isWorthIt(groups, type, true))
    return;
  OpBuilder b(around->last(op));
  Views views(b, op.getLoc());
  Value operand = collapsedOperand(b, views, *around, groups);
  SmallVector<int64_t> shape, all(before);
  llvm::append_range(all, after);
  for (auto [i, size] : llvm::enumerate(typeOf(operand).getShape()))
    shape.push_back(ShapedType::isDynamic(size) ? size : size + before[i] + after[i]);
  Value made = PadOp::create(b, op.getLoc(), typeOf(op).clone(shape), operand,
                             integers(b, op.getLoc(), all), op.getValue(), op.getModeAttr());
  SmallVector<Views::Size> sizes;
  for (int64_t i = 0; i < rank; ++i)
    sizes.push_back({around->source, i, (*pads)[i] + (*pads)[rank + i]});
  replace(b, views, op, *around, made, sizes);
}

/// What is behind the dimensions that indices choose from, `first` on, is copied as one line:
/// `make` gets the operand with it in one dimension, and the result's shape, and `indices` are so
/// many dimensions of the result, behind `before` of the operand's.
template <typename Op>
void collapseLines(Op op, int64_t first, int64_t before, int64_t indices,
                   function_ref<Value(OpBuilder &, RankedTensorType, Value)> make) {
  auto type = typeOf(op.getOperand());
  if (op.getBatchDims() != 0 || first >= type.getRank())
    return;
  Groups groups;
  for (int64_t i = 0; i < first; ++i)
    groups.push_back({i, i + 1, 0});
  groups.push_back({first, type.getRank(), 1});
  std::optional<Surroundings> around = surroundingsOf(op);
  if (!around || !isWorthIt(groups, type, true))
    return;
  OpBuilder b(around->last(op));
  Views views(b, op.getLoc());
  Value operand = collapsedOperand(b, views, *around, groups);
  SmallVector<int64_t> shape(typeOf(op.getResult()).getShape().take_front(before + indices));
  shape.push_back(typeOf(operand).getShape().back());
  SmallVector<Views::Size> sizes;
  for (int64_t i = 0; i < before; ++i)
    sizes.push_back({around->source, i});
  for (int64_t i = 0; i < indices; ++i)
    sizes.push_back({op.getIndices(), i});
  for (int64_t i = first; i < type.getRank(); ++i)
    sizes.push_back({around->source, i});
  Value made = make(b, typeOf(op.getResult()).clone(shape), operand);
  replace(b, views, op, *around, made, sizes);
}

void collapse(GatherOp op) {
  int64_t axis = op.getAxis();
  collapseLines(op, axis + 1, axis, typeOf(op.getIndices()).getRank(),
                [&](OpBuilder &b, RankedTensorType type, Value operand) {
                  return GatherOp::create(b, op.getLoc(), type, operand, op.getIndices(),
                                          op.getAxisAttr(), op.getBatchDimsAttr(),
                                          op.getWrapNegativeAttr())
                      .getResult();
                });
}

void collapse(GatherNdOp op) {
  auto indices = typeOf(op.getIndices());
  if (indices.getRank() == 0 || indices.isDynamicDim(indices.getRank() - 1))
    return;
  collapseLines(op, indices.getShape().back(), 0, indices.getRank() - 1,
                [&](OpBuilder &b, RankedTensorType type, Value operand) {
                  return GatherNdOp::create(b, op.getLoc(), type, operand, op.getIndices(),
                                            op.getBatchDimsAttr(), op.getWrapNegativeAttr())
                      .getResult();
                });
}

/// Where only dimensions of size 1 change their places, elements do not.
void collapse(TransposeOp op) {
  auto type = typeOf(op.getOperand());
  SmallVector<int64_t> places(op.getPermutation());
  llvm::erase_if(places, [&](int64_t i) { return type.getDimSize(i) == 1; });
  if (!llvm::is_sorted(places))
    return;
  OpBuilder b(op);
  Views views(b, op.getLoc());
  SmallVector<Views::Size> sizes;
  for (int64_t i : op.getPermutation())
    sizes.push_back({op.getOperand(), i});
  op.replaceAllUsesWith(views.expanded(op.getOperand(), typeOf(op), sizes));
  op.erase();
}

/// The transposition whose result `operand` is, but for what is computed on each of its elements
/// (`between`, the last one first), where nothing else reads any of that.
TransposeOp transpositionBehind(Value operand, SmallVectorImpl<Operation *> &between) {
  while (hasOneUser(operand) && isUnary(operand.getDefiningOp()) &&
         onlyTensor(operand.getDefiningOp())) {
    between.push_back(operand.getDefiningOp());
    operand = onlyTensor(between.back());
  }
  auto transpose = operand.getDefiningOp<TransposeOp>();
  return transpose && hasOneUser(operand) ? transpose : TransposeOp();
}

/// Whether so little of an operand is left that it is better moved then.
bool leavesLittle(Value operand, Value result) {
  constexpr int64_t little = 4;
  auto from = typeOf(operand), to = typeOf(result);
  return from.hasStaticShape() && to.hasStaticShape() &&
         to.getNumElements() * little <= from.getNumElements();
}

/// Moves `op` in front of what moves its operand: `make` gets the operand as it lies, and where
/// dimensions of the moved one lie in it; what it makes keeps the dimensions.
void moveBefore(Operation *op, function_ref<Value(OpBuilder &, Value, ArrayRef<int64_t>)> make) {
  SmallVector<Operation *> between;
  TransposeOp transpose = transpositionBehind(op->getOperand(0), between);
  if (!transpose || !leavesLittle(transpose, op->getResult(0)))
    return;
  OpBuilder b(op);
  Value value = transpose.getOperand();
  for (Operation *own : llvm::reverse(between))
    value = inShapeOf(b, own, onlyTensor(own), value);
  ArrayRef<int64_t> order = transpose.getPermutation();
  Value made = transposed(b, transpose.getLoc(), make(b, value, order), order);
  op->getResult(0).replaceAllUsesWith(
      weir::reshaped(b, op->getLoc(), made, typeOf(op->getResult(0)).getShape()));
  op->erase();
  for (Operation *own : between)
    own->erase();
  transpose.erase();
}

/// Reductions to little, and small slices, of what is transposed: the result is, instead.
void moveBeforeTranspositions(Operation *top) {
  SmallVector<Operation *> work;
  top->walk([&](Operation *op) {
    if (isa<ReduceOp, SliceOp>(op))
      work.push_back(op);
  });
  for (Operation *op : work) {
    moveBefore(op, [&](OpBuilder &b, Value value, ArrayRef<int64_t> order) -> Value {
      SmallVector<int64_t> shape(typeOf(value).getShape()), axes;
      if (auto reduce = dyn_cast<ReduceOp>(op)) {
        for (int64_t axis : reduce.getAxes())
          shape[axes.emplace_back(order[axis])] = 1;
        llvm::sort(axes);
        return ReduceOp::create(b, op->getLoc(), typeOf(reduce).clone(shape), value,
                                reduce.getKindAttr(), b.getDenseI64ArrayAttr(axes),
                                b.getBoolAttr(true));
      }
      auto slice = cast<SliceOp>(op);
      for (auto [i, from] : llvm::enumerate(order))
        shape[from] = typeOf(slice).getDimSize(i);
      for (int64_t axis : slice.getAxes())
        axes.push_back(order[axis]);
      return SliceOp::create(b, op->getLoc(), typeOf(slice).clone(shape), value, slice.getStarts(),
                             slice.getEnds(), slice.getSteps(), b.getDenseI64ArrayAttr(axes),
                             slice.getStrictAttr());
    });
  }
}

struct CollapseDimensionsPass : weir::impl::WeirCollapseDimensionsPassBase<CollapseDimensionsPass> {
  void runOnOperation() override {
    if (mayBeOffloaded(getOperation()))
      return;
    moveBeforeTranspositions(getOperation());
    // What collapsing one erases is never another.
    SmallVector<std::function<void()>> work;
    auto note = [&](auto own) {
      work.push_back([own]() mutable {
        if (typeOf(own->getOperand(0)).getRank() > 1)
          collapse(own);
      });
    };
    getOperation().walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<ReduceOp, CumulativeOp, ArgReduceOp, PadOp, GatherOp, GatherNdOp, TransposeOp>(
              note);
    });
    for (const std::function<void()> &collapseOne : work)
      collapseOne();
  }
};

} // namespace

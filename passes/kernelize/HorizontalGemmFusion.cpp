//===- HorizontalGemmFusion.cpp - products of one operand become one ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x W1 + b1, x W2 + b2, … = slices of x [W1 W2 …] + [b1 b2 …], for constant
// weights: queries, keys and values of an attention, or the two sides of a
// gated unit. One product fills an offload device better than three, and is one
// launch. It pays where kernels read the slices in place, and no others would
// be the products' own: attentions, elementwise operations that have all of them, and what
// moves heads, turns and appends them.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Weir.h"
#include "passes/analysis/Attention.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/kernelize/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace weir {
#define GEN_PASS_DEF_WEIRHORIZONTALGEMMFUSIONPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// Joined weights are held in memory until they are written: so many bytes a
/// module.
constexpr int64_t mostBytes = 512 << 20;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Where columns `start` and those behind of `from` are cut into heads, as in `type`: the
/// dimension of `type` that counts them. Of `from`, reshaped so that this dimension has all of its
/// columns, they are then a slice along it. None: they are not whole there.
std::optional<int64_t> headsOf(RankedTensorType type, RankedTensorType from, int64_t start) {
  if (!type.hasStaticShape() || !from.hasStaticShape() || from.getRank() == 0)
    return std::nullopt;
  int64_t rows = from.getNumElements() / std::max<int64_t>(from.getShape().back(), 1), before = 1;
  for (int64_t axis = 0; axis + 1 < type.getRank(); ++axis) {
    int64_t head = 1;
    for (int64_t size : type.getShape().drop_front(axis + 1))
      head *= size;
    // Of several dimensions, that which has heads: those of size one in front count nothing.
    bool counts = type.getDimSize(axis) > 1 || axis + 2 == type.getRank();
    if (counts && before == rows && head > 0 && from.getShape().back() % head == 0 &&
        start % head == 0)
      return axis;
    before *= type.getDimSize(axis);
  }
  return std::nullopt;
}

/// A product with constant weights, and what is added to each of its columns.
struct Branch {
  DotGeneralOp dot;
  AddOp bias;       ///< null: none
  int64_t axis = 0; ///< of the weights: columns of the result

  Value result() const { return bias ? bias->getResult(0) : dot->getResult(0); }
  Value weights() const { return dot->getOperand(1); }
  Value addend() const {
    return bias->getOperand(bias->getOperand(1) == dot->getResult(0) ? 0 : 1);
  }
  int64_t columns() const { return typeOf(weights()).getDimSize(axis); }
};

bool isWholeConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && typeOf(value).hasStaticShape() &&
         typeOf(value).getElementType().isIntOrFloat() &&
         typeOf(value).getElementTypeBitWidth() % 8 == 0;
}

/// Constant, one number a column: as joined ones are.
bool isBiasOf(Value value, int64_t columns) {
  return isWholeConstant(value) && typeOf(value).getRank() > 0 &&
         typeOf(value).getShape().back() == columns && typeOf(value).getNumElements() == columns;
}

std::optional<Branch> branchAt(DotGeneralOp dot) {
  auto type = dyn_cast<RankedTensorType>(dot.getType());
  if (!type || !isWholeConstant(dot.getRhs()) || !dot.getRhsBatch().empty() ||
      typeOf(dot.getRhs()).getRank() != int64_t(dot.getRhsContract().size()) + 1)
    return std::nullopt;
  Branch branch;
  branch.dot = dot;
  while (llvm::is_contained(dot.getRhsContract(), branch.axis))
    ++branch.axis;
  if (!dot->hasOneUse())
    return branch;
  auto add = dyn_cast<AddOp>(*dot->user_begin());
  if (add && add.getType() == dot.getType() && add->getBlock() == dot->getBlock()) {
    branch.bias = add;
    if (add.getLhs() == add.getRhs() || !isBiasOf(branch.addend(), branch.columns()))
      branch.bias = {};
  }
  return branch;
}

/// `parts` side by side along `axis`; null where their bytes cannot be read.
TypedAttr joined(ArrayRef<Value> parts, int64_t axis) {
  SmallVector<DenseElementsAttr> values;
  SmallVector<int64_t> shape(typeOf(parts.front()).getShape());
  shape[axis] = 0;
  for (Value part : parts) {
    auto value = materializedConstant(cast<TypedAttr>(part.getDefiningOp<ConstantOp>().getValue()));
    if (!value)
      return {};
    values.push_back(value);
    shape[axis] += typeOf(part).getDimSize(axis);
  }
  auto type = RankedTensorType::get(shape, typeOf(parts.front()).getElementType());
  int64_t width = type.getElementTypeBitWidth() / 8, inner = width, outer = 1;
  for (int64_t i = 0; i < type.getRank(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  std::vector<char> bytes;
  bytes.reserve(type.getNumElements() * width);
  for (int64_t o = 0; o < outer; ++o)
    for (DenseElementsAttr value : values) {
      ArrayRef<char> raw = value.getRawData();
      int64_t row = value.getType().getDimSize(axis) * inner;
      if (value.isSplat()) // one element stands for all
        for (int64_t i = 0; i < row; i += width)
          bytes.insert(bytes.end(), raw.begin(), raw.end());
      else
        bytes.insert(bytes.end(), raw.begin() + o * row, raw.begin() + (o + 1) * row);
    }
  return DenseElementsAttr::getFromRawBuffer(type, bytes);
}

class Joiner {
public:
  explicit Joiner(func::FuncOp function) : function(function) {}

  void run(int64_t &budget) {
    function.walk([&](DotGeneralOp dot) {
      if (std::optional<Attention> attention = attentionAt(dot))
        inside.insert(attention->operations.begin(), attention->operations.end());
    });
    llvm::MapVector<std::tuple<Value, Block *, Attribute, Type, int>, SmallVector<Branch>> groups;
    function.walk([&](DotGeneralOp dot) {
      std::optional<Branch> branch = branchAt(dot);
      if (!branch)
        return;
      SmallVector<int64_t> shape(typeOf(branch->weights()).getShape());
      shape[branch->axis] = 1;
      Type lines = typeOf(branch->weights()).clone(shape);
      groups[{dot.getLhs(), dot->getBlock(), dot->getAttrDictionary(), lines, bool(branch->bias)}]
          .push_back(*branch);
    });
    for (auto &[key, branches] : groups)
      if (branches.size() > 1 && (areHeads(branches) || meet(branches)))
        join(branches, budget);
  }

private:
  /// Whether kernels read all of the results as heads: attentions, through what moves nothing
  /// along their columns, or others, behind a reshape that keeps heads whole.
  bool areHeads(ArrayRef<Branch> branches) const {
    int64_t columns = 0;
    for (const Branch &branch : branches)
      columns += branch.columns();
    int64_t begin = 0;
    return llvm::all_of(branches, [&](const Branch &branch) {
      bool good = reachesAttention(branch.result()) || isCut(branch, begin, columns);
      begin += branch.columns();
      return good;
    });
  }
  bool reachesAttention(Value value) const {
    if (!value.hasOneUse())
      return false;
    Operation *user = *value.user_begin();
    if (inside.contains(user))
      return true;
    auto reshape = dyn_cast<ReshapeOp>(user);
    return reshape && typeOf(reshape).hasStaticShape() && reachesAttention(reshape.getResult());
  }
  /// Whether all that reads the result cuts it into heads that are whole in the joined one, too,
  /// and is then read by kernels that look at each element about once.
  static bool isCut(const Branch &branch, int64_t begin, int64_t columns) {
    Value result = branch.result();
    SmallVector<int64_t> shape(typeOf(result).getShape());
    shape.back() = columns;
    auto joinedType = typeOf(result).clone(shape);
    return !result.use_empty() && llvm::all_of(result.getUsers(), [&](Operation *user) {
      auto reshape = dyn_cast<ReshapeOp>(user);
      return reshape && headsOf(typeOf(reshape), cast<RankedTensorType>(joinedType), begin) &&
             llvm::all_of(reshape->getUsers(), [](Operation *reader) {
               auto elemental = dyn_cast<ElementalOpInterface>(reader);
               return elemental && !elemental.isElementExpensive() &&
                      !reader->hasTrait<traits::ReadsElementsRepeatedly>() &&
                      !reader->hasTrait<traits::ChecksIndices>();
             });
    });
  }

  /// Whether elementwise operations lead from all of the results to one that
  /// has them all: no product could compute that by itself.
  static bool meet(ArrayRef<Branch> branches) {
    llvm::SetVector<Operation *> common;
    for (auto [i, branch] : llvm::enumerate(branches)) {
      llvm::SetVector<Operation *> reached;
      if (!followed(branch.result(), reached))
        return false;
      if (i == 0)
        common = reached;
      else
        common.remove_if([&](Operation *op) { return !reached.contains(op); });
    }
    return !common.empty();
  }
  /// All that elementwise operations make of `value`, over its shape; false:
  /// something else reads it before it is one value.
  static bool followed(Value value, llvm::SetVector<Operation *> &reached) {
    constexpr size_t most = 16;
    for (Operation *user : value.getUsers()) {
      if (!isa<ElementwiseOpInterface>(user) || user->getNumResults() != 1 ||
          user->getBlock() != value.getParentBlock() || reached.size() == most ||
          typeOf(user->getResult(0)).getShape() != typeOf(value).getShape())
        return !reached.empty();
      if (reached.insert(user) && !followed(user->getResult(0), reached))
        return false;
    }
    return !value.use_empty();
  }

  void join(ArrayRef<Branch> branches, int64_t &budget) {
    const Branch &first = branches.front();
    int64_t bytes = 0, columns = 0;
    SmallVector<Value> weights, addends;
    SmallVector<Location> locations, biases;
    for (const Branch &branch : branches) {
      weights.push_back(branch.weights());
      columns += branch.columns();
      bytes += typeOf(branch.weights()).getNumElements() *
               typeOf(branch.weights()).getElementTypeBitWidth() / 8;
      locations.push_back(branch.dot->getLoc());
      if (!branch.bias)
        continue;
      addends.push_back(branch.addend());
      biases.push_back(branch.bias->getLoc());
    }
    bool sameRank = llvm::all_equal(
        llvm::map_range(addends, [](Value addend) { return typeOf(addend).getRank(); }));
    if (bytes > budget || !sameRank)
      return;
    TypedAttr all = joined(weights, first.axis);
    TypedAttr bias =
        addends.empty() ? TypedAttr() : joined(addends, typeOf(addends.front()).getRank() - 1);
    if (!all || (!addends.empty() && !bias))
      return;
    budget -= bytes;

    DotGeneralOp dot = first.dot;
    OpBuilder b(dot);
    Location loc = b.getFusedLoc(locations);
    SmallVector<int64_t> shape(typeOf(dot).getShape());
    shape.back() = columns;
    Value wide = constant(b, first.weights().getLoc(), all, dot);
    auto made = cast<DotGeneralOp>(b.clone(*dot));
    made->setLoc(loc);
    made->setOperand(1, wide);
    made.getResult().setType(typeOf(dot).clone(shape));
    Value result = made;
    if (bias) {
      Value addend = constant(b, addends.front().getLoc(), bias, dot);
      result = like(AddOp::create(b, b.getFusedLoc(biases), result.getType(), result, addend), dot);
    }
    int64_t begin = 0, axis = int64_t(shape.size()) - 1;
    for (const Branch &branch : branches) {
      int64_t end = begin + branch.columns();
      Value from = branch.result();
      from.replaceAllUsesWith(
          like(SliceOp::create(b, from.getLoc(), from.getType(), result,
                               integers(b, from.getLoc(), {begin}),
                               integers(b, from.getLoc(), {end}), integers(b, from.getLoc(), {1}),
                               b.getDenseI64ArrayAttr({axis}), b.getBoolAttr(false)),
               dot));
      begin = end;
    }
    for (const Branch &branch : branches) {
      if (branch.bias)
        branch.bias->erase();
      branch.dot->erase();
    }
  }

  static Value like(Operation *op, Operation *other) {
    if (Attribute device = other->getAttr("weir.device"))
      op->setAttr("weir.device", device);
    return op->getResult(0);
  }
  static Value constant(OpBuilder &b, Location loc, TypedAttr value, Operation *other) {
    return like(ConstantOp::create(b, loc, value), other);
  }

  func::FuncOp function;
  llvm::DenseSet<Operation *> inside; ///< of attentions
};

/// Columns that are sliced and then cut into heads are heads of which some are
/// taken: a view, which `views` has of each operand, and a slice of its own for
/// each reader, so that kernels read through it.
void sliceHeads(ReshapeOp reshape, llvm::DenseMap<std::pair<Value, Type>, Value> &views) {
  auto slice = reshape.getOperand().getDefiningOp<SliceOp>();
  auto part = slice ? knownPart(slice) : std::nullopt;
  if (!part)
    return;
  auto [columns, start] = *part;
  auto from = typeOf(slice.getOperand()), type = typeOf(reshape);
  std::optional<int64_t> heads =
      columns + 1 == from.getRank() ? headsOf(type, from, start) : std::optional<int64_t>();
  if (!heads)
    return;
  int64_t axis = *heads;
  SmallVector<int64_t> shape(type.getShape());
  int64_t head = typeOf(slice).getShape().back() / type.getDimSize(axis);
  shape[axis] = from.getShape().back() / head;
  OpBuilder b(reshape);
  Location loc = reshape.getLoc();
  Value &view = views[{slice.getOperand(), type.clone(shape)}];
  if (!view) {
    b.setInsertionPointAfterValue(slice.getOperand());
    view = reshaped(b, loc, slice.getOperand(), shape);
    copyDevice(reshape, view);
    b.setInsertionPoint(reshape);
  }
  Value begin = integers(b, loc, {start / head}), step = integers(b, loc, {1}),
        end = integers(b, loc, {start / head + type.getDimSize(axis)});
  for (OpOperand &use : llvm::make_early_inc_range(reshape->getUses())) {
    Value taken = SliceOp::create(b, loc, type, view, begin, end, step,
                                  b.getDenseI64ArrayAttr({axis}), b.getBoolAttr(false));
    copyDevice(reshape, taken);
    use.set(taken);
  }
  reshape.erase();
  if (slice->use_empty())
    slice.erase();
}

struct HorizontalGemmFusionPass
    : weir::impl::WeirHorizontalGemmFusionPassBase<HorizontalGemmFusionPass> {
  void runOnOperation() override {
    int64_t budget = mostBytes;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isOffloaded(&function.getBody().front().front()))
        continue;
      Joiner(function).run(budget);
      SmallVector<ReshapeOp> reshapes;
      function.walk([&](ReshapeOp reshape) { reshapes.push_back(reshape); });
      llvm::DenseMap<std::pair<Value, Type>, Value> views;
      for (ReshapeOp reshape : reshapes)
        sliceHeads(reshape, views);
    }
  }
};

} // namespace

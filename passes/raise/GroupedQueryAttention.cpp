//===- GroupedQueryAttention.cpp - several query heads of one of keys ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245) as models
// spell it: keys and values of each head stretched over its group, a copy for
// each query head. What stretches them becomes one operation that kernels read
// through; and a decoder's single query a head becomes one of several queries
// of the head of keys, so that nothing is stretched at all:
//
//   [b, k g, 1, d] by [b, k -> k g, s, d]  =  [b, k, g, d] by [b, k, s, d]
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/RecursiveReader.h"
#include "dialects/weir/SizeOrigins.h"
#include "passes/raise/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRGROUPEDQUERYATTENTIONPASS
#include "passes/raise/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

RankedTensorType typeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// What stretches heads
//===----------------------------------------------------------------------===//

/// `root` = reshape(broadcast_to(reshape(source))): […, n, …], […, n, 1, …],
/// […, n, times, …], […, n times, …].
struct Stretch {
  ReshapeOp root;
  Value source;
  int64_t axis = 0, times = 1;
  /// Known sizes of `root` but for the axis, to which the source may have to be stretched, too:
  /// of an open length it may turn out to have one element. Empty: it has them.
  SmallVector<int64_t> shape;
};

/// Whether the dimensions `from` of one tensor have the sizes of `to` of
/// another, all but `mayDiffer` of them for certain.
bool haveSizesOf(SizeOrigins &origins, Value tensor, ArrayRef<int64_t> from, Value other,
                 ArrayRef<int64_t> to, int64_t mayDiffer) {
  for (auto [i, j] : llvm::zip_equal(from, to)) {
    KnownInteger a = origins.of(tensor, i), b = origins.of(other, j);
    if (!(a == b) && (a.value && b.value ? true : --mayDiffer < 0))
      return false;
  }
  return true;
}

std::optional<Stretch> stretchAt(ReshapeOp root, SizeOrigins &origins) {
  auto broadcast = root.getOperand().getDefiningOp<BroadcastToOp>();
  auto narrow = broadcast ? broadcast.getOperand().getDefiningOp<ReshapeOp>() : ReshapeOp();
  if (!narrow)
    return std::nullopt;
  Value source = narrow.getOperand();
  auto type = typeOf(root), wide = typeOf(broadcast), split = typeOf(narrow),
       given = typeOf(source);
  if (!type || !wide || !split || !given || given.getRank() != type.getRank() ||
      split.getRank() != type.getRank() + 1 || wide.getRank() != split.getRank())
    return std::nullopt;
  int64_t at = 1;
  while (at < wide.getRank() && !(split.getDimSize(at) == 1 && wide.getDimSize(at) > 1))
    ++at;
  if (at == wide.getRank())
    return std::nullopt;
  int64_t axis = at - 1, heads = given.getDimSize(axis), times = wide.getDimSize(at);
  if (heads < 1 || split.getDimSize(axis) != heads || wide.getDimSize(axis) != heads ||
      type.getDimSize(axis) != heads * times)
    return std::nullopt;
  // All else stays. Of a reshape's sizes one follows from the others.
  SmallVector<int64_t> own, wideOwn;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis) {
      own.push_back(i);
      wideOwn.push_back(i < axis ? i : i + 1);
    }
  if (!haveSizesOf(origins, source, own, narrow, wideOwn, 1) ||
      !haveSizesOf(origins, broadcast, wideOwn, root, own, 1))
    return std::nullopt;
  Stretch found{root, source, axis, times, {}};
  if (haveSizesOf(origins, narrow, wideOwn, broadcast, wideOwn, 0))
    return found;
  found.shape.assign(wide.getShape().begin(), wide.getShape().end());
  found.shape.erase(found.shape.begin() + at);
  if (ShapedType::isDynamicShape(found.shape))
    return std::nullopt;
  return found;
}

/// Whether `op` makes of each element of its first operand one of its own,
/// whatever heads that is of: a number scales it, or its type changes.
bool isOfElements(Operation *op) {
  if (isa<CastOp>(op))
    return true;
  ElementsAttr number =
      isa<MulOp, DivOp>(op) ? constantElements(op->getOperand(1)) : ElementsAttr();
  return number && number.isSplat() && op->getOperand(0).getType() == op->getResult(0).getType();
}

/// Whether products alone use `value`, as their second operand, with dimension
/// `axis` as the last one that they go along together.
bool isForProducts(Value value, int64_t axis) {
  return !value.use_empty() && llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto dot = dyn_cast<DotGeneralOp>(user))
      return use.getOperandNumber() == 1 && !dot.getRhsBatch().empty() &&
             dot.getRhsBatch().back() == axis;
    if (auto transpose = dyn_cast<TransposeOp>(user))
      return isForProducts(transpose.getResult(), llvm::find(transpose.getPermutation(), axis) -
                                                      transpose.getPermutation().begin());
    return use.getOperandNumber() == 0 && isOfElements(user) &&
           isForProducts(user->getResult(0), axis);
  });
}

//===----------------------------------------------------------------------===//
// Single queries
//===----------------------------------------------------------------------===//

/// Gives values of [b…, k g, 1, n] the form [b…, k, g, n], from a product of
/// weights and stretched values back to that of queries and stretched keys.
class Grouping {
public:
  /// Replaces what uses `dot` where it is such a product.
  static void rewrite(DotGeneralOp dot) {
    std::optional<Product> product = productAt(dot);
    if (!product)
      return;
    Grouping grouping(*product);
    OpBuilder b(dot);
    Value old = dot.getResult(), result = grouping.multiply(b, *product);
    // What rounds the result is the last of its kernel.
    while (auto cast = old.hasOneUse() ? dyn_cast<CastOp>(*old.user_begin()) : CastOp()) {
      if (!result || cast->getBlock() != dot->getBlock())
        break;
      b.setInsertionPoint(cast);
      result = grouping.copied(b, cast, result);
      old = cast.getResult();
    }
    Value back = result ? grouping.reshapedTo(b, result, old) : Value();
    if (!back)
      return;
    for (Operation *user : llvm::make_early_inc_range(old.getUsers()))
      if (auto transpose = dyn_cast<TransposeOp>(user);
          transpose && isNoMove(typeOf(back), transpose.getPermutation())) {
        b.setInsertionPoint(transpose);
        Value still = transposed(b, transpose.getLoc(), back, transpose.getPermutation());
        copyDevice(transpose, still);
        transpose.replaceAllUsesWith(still);
      }
    old.replaceAllUsesWith(back);
  }

private:
  struct Product {
    DotGeneralOp dot;
    RepeatOp repeat;
    SmallVector<Operation *> between; ///< from `repeat` to the product
  };

  explicit Grouping(Product product)
      : root(product.dot), times(product.repeat.getTimes()),
        heads(typeOf(product.repeat.getOperand()).getDimSize(product.repeat.getAxis())),
        batch(product.dot.getLhsBatch().size()) {
    collect();
  }

  /// A product by stretched heads, which is of one row for each of them.
  static std::optional<Product> productAt(DotGeneralOp dot) {
    auto lhs = typeOf(dot.getLhs()), rhs = typeOf(dot.getRhs());
    auto batch = int64_t(dot.getLhsBatch().size());
    if (!lhs || !rhs || batch == 0 || lhs.getRank() != batch + 2 || rhs.getRank() != batch + 2 ||
        lhs.getDimSize(batch) != 1 || dot.getLhsContract() != ArrayRef<int64_t>{batch + 1})
      return std::nullopt;
    for (int64_t i = 0; i < batch; ++i)
      if (dot.getLhsBatch()[i] != i || dot.getRhsBatch()[i] != i)
        return std::nullopt;
    Product product{dot, {}, {}};
    Value value = dot.getRhs();
    int64_t axis = batch - 1;
    while (Operation *op = value.getDefiningOp()) {
      if ((product.repeat = dyn_cast<RepeatOp>(op)))
        break;
      auto transpose = dyn_cast<TransposeOp>(op);
      if (!transpose && !isOfElements(op))
        return std::nullopt;
      if (transpose)
        axis = transpose.getPermutation()[axis];
      product.between.push_back(op);
      value = op->getOperand(0);
    }
    if (!product.repeat || int64_t(product.repeat.getAxis()) != axis)
      return std::nullopt;
    std::reverse(product.between.begin(), product.between.end());
    return product;
  }

  /// What may take the other form: all of its users do.
  void collect() {
    members.insert(root);
    for (size_t i = 0; i < members.size(); ++i)
      for (Value operand : members[i]->getOperands()) {
        Operation *op = operand.getDefiningOp();
        if (op && op->getBlock() == root->getBlock() && isGrouped(operand) && mayBeMember(op) &&
            llvm::all_of(op->getUsers(), [&](Operation *user) { return members.contains(user); }))
          members.insert(op);
      }
  }
  bool mayBeMember(Operation *op) const {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return reduce.getKeepDims() && reduce.getAxes() == ArrayRef<int64_t>{batch + 1} &&
             typeOf(reduce).getRank() == batch + 2;
    if (auto dot = dyn_cast<DotGeneralOp>(op)) {
      auto product = productAt(dot);
      return product && int64_t(product->repeat.getTimes()) == times &&
             int64_t(dot.getLhsBatch().size()) == batch;
    }
    return isa<ElementwiseOpInterface>(op) && op->getNumResults() == 1;
  }

  /// Whether `value` has something for each query head.
  bool isGrouped(Value value) const {
    auto type = typeOf(value);
    return type && type.getRank() >= 3 && type.getDimSize(type.getRank() - 3) == heads * times &&
           type.getDimSize(type.getRank() - 2) == 1;
  }

  /// The result of `op`, which has its operand's shape, for another operand.
  static Value copied(OpBuilder &b, Operation *op, Value operand) {
    IRMapping mapping;
    mapping.map(op->getOperand(0), operand);
    Value result = b.clone(*op, mapping)->getResult(0);
    result.setType(typeOf(operand).clone(getElementTypeOrSelf(result)));
    return result;
  }

  /// `value` in the other form; null: it has sizes that do not tell.
  Value grouped(OpBuilder &b, Value value) {
    auto type = typeOf(value);
    if (!type)
      return {};
    int64_t rank = type.getRank();
    if (rank < 3 || type.getDimSize(rank - 3) == 1)
      return rank < 2 || type.getDimSize(rank - 2) == 1 ? value : Value();
    if (!isGrouped(value))
      return {};
    Value &made = forms[value];
    if (made)
      return made;
    Operation *op = value.getDefiningOp();
    Value form;
    if (!op || !members.contains(op)) {
      // What moves only the single query moves nothing.
      auto transpose = value.getDefiningOp<TransposeOp>();
      bool isStill =
          transpose && isNoMove(typeOf(transpose.getOperand()), transpose.getPermutation());
      SmallVector<MadeSize> sizes(rank);
      for (int64_t i = 0; i < rank; ++i)
        sizes[i] = {1, isStill ? transpose.getPermutation()[i] : i};
      sizes[rank - 3] = {heads, -1};
      sizes[rank - 2] = {times, -1};
      form = reshaped(b, value.getLoc(), isStill ? transpose.getOperand() : value, sizes);
      copyDevice(op ? op : root.getOperation(), form);
    } else if (auto dot = dyn_cast<DotGeneralOp>(op)) {
      form = multiply(b, *productAt(dot));
    } else {
      IRMapping mapping;
      for (Value operand : op->getOperands()) {
        Value own = grouped(b, operand);
        if (!own)
          return {};
        mapping.map(operand, own);
      }
      Operation *copy = b.clone(*op, mapping);
      SmallVector<int64_t> shape(type.getShape());
      shape[rank - 3] = heads;
      shape[rank - 2] = times;
      copy->getResult(0).setType(type.clone(shape));
      form = copy->getResult(0);
    }
    return forms[value] = form;
  }

  /// Whether a number that scales keys may scale queries: it makes none larger.
  static bool scalesDown(Operation *op) {
    if (!isa<MulOp, DivOp>(op) || !isa<FloatType>(typeOf(op->getResult(0)).getElementType()))
      return false;
    APFloat number = constantElements(op->getOperand(1)).getSplatValue<APFloat>();
    APFloat one(number.getSemantics(), 1);
    APFloat::cmpResult order = abs(number).compare(one);
    return order == APFloat::cmpEqual ||
           order == (isa<MulOp>(op) ? APFloat::cmpLessThan : APFloat::cmpGreaterThan);
  }

  /// The product of grouped rows by what is not stretched. There are fewer rows
  /// than keys: what scales these scales the rows.
  Value multiply(OpBuilder &b, Product product) {
    DotGeneralOp dot = product.dot;
    Value rows = grouped(b, dot.getLhs());
    if (!rows)
      return {};
    Value own = product.repeat.getOperand();
    auto axis = int64_t(product.repeat.getAxis());
    for (Operation *op : product.between) {
      if (scalesDown(op) && getElementTypeOrSelf(rows) == getElementTypeOrSelf(own)) {
        rows = copied(b, op, rows);
        continue;
      }
      IRMapping mapping;
      mapping.map(op->getOperand(0), own);
      Operation *copy = b.clone(*op, mapping);
      if (auto transpose = dyn_cast<TransposeOp>(op))
        axis = llvm::find(transpose.getPermutation(), axis) - transpose.getPermutation().begin();
      auto type = typeOf(op->getResult(0));
      SmallVector<int64_t> shape(type.getShape());
      shape[axis] = heads;
      copy->getResult(0).setType(type.clone(shape));
      own = copy->getResult(0);
    }
    auto made =
        DotGeneralOp::create(b, dot.getLoc(), rows, own, dot.getLhsBatch(), dot.getRhsBatch(),
                             dot.getLhsContract(), dot.getRhsContract(), dot.getAccumulator());
    copyDevice(dot, made);
    return made;
  }

  /// Back: [b…, k, g, n] to [b…, k g, 1, n].
  Value reshapedTo(OpBuilder &b, Value value, Value like) {
    SmallVector<MadeSize> sizes(batch + 2);
    for (int64_t i = 0; i < batch + 2; ++i)
      sizes[i] = {1, i};
    sizes[batch - 1] = {heads * times, -1};
    sizes[batch] = {1, -1};
    Value back = reshaped(b, value.getLoc(), value, sizes);
    copyDevice(root, back);
    return back.getType() == like.getType() ? back : Value();
  }

  DotGeneralOp root;
  int64_t times, heads, batch;
  llvm::SetVector<Operation *> members;
  llvm::DenseMap<Value, Value> forms;
};

struct GroupedQueryAttentionPass
    : weir::impl::WeirGroupedQueryAttentionPassBase<GroupedQueryAttentionPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      SizeOrigins origins;
      origins.takeFeeds(function);
      SmallVector<Stretch> found;
      find(function.getBody().front(), origins, /*alwaysRuns=*/true, found);
      for (Stretch &stretch : found)
        replace(stretch);
      // The last product of an attention first: it takes the others along.
      SmallVector<DotGeneralOp> dots;
      function.walk([&](DotGeneralOp dot) { dots.push_back(dot); });
      for (DotGeneralOp dot : llvm::reverse(dots))
        if (!dot->use_empty())
          Grouping::rewrite(dot);
    }
  }

private:
  static void find(Block &block, SizeOrigins &origins, bool alwaysRuns,
                   SmallVectorImpl<Stretch> &found) {
    for (Operation &op : block) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          find(inner, origins, /*alwaysRuns=*/false, found);
      origins.take(&op, alwaysRuns);
      auto reshape = dyn_cast<ReshapeOp>(op);
      auto stretch = reshape ? stretchAt(reshape, origins) : std::nullopt;
      if (stretch && isForProducts(reshape, stretch->axis))
        found.push_back(*stretch);
    }
  }

  static void replace(Stretch &stretch) {
    OpBuilder b(stretch.root);
    Location loc = stretch.root.getLoc();
    Value source = stretch.source;
    if (!stretch.shape.empty()) {
      source = BroadcastToOp::create(b, loc, typeOf(source).clone(stretch.shape), source,
                                     integers(b, loc, stretch.shape));
      copyDevice(stretch.root, source);
    }
    Value repeat = RepeatOp::create(b, loc, source, stretch.axis, stretch.times);
    copyDevice(stretch.root, repeat);
    // What is known of sizes stays known.
    repeat.setType(stretch.root.getType());
    stretch.root.replaceAllUsesWith(repeat);
  }
};

} // namespace

//===- AttentionGradients.cpp - attention's gradient in one kernel's form -===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient that weir-differentiate makes reads the forward pass's weights, a matrix of
// queries by keys. Here it gets weights of its own, from scores that are computed again and from
// each query's largest logit and sum; and the mean of weights' gradients by the result, which is
// there, rather than by a matrix: sum over keys of P dP = sum over columns of O dO. What is left of
// the forward pass is an attention that nothing looks into.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/RecursiveReader.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/AttentionGradient.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/KernelForms.h"
#include "passes/kernelize/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRATTENTIONGRADIENTSPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {

using Order = SmallVector<int64_t>;

/// A product that one matrix is an operand of.
struct MatrixUse {
  DotGeneralOp dot;
  bool overQueries = false; ///< else over keys
  bool isTurned = false;    ///< the result has the matrix's free dimension last
  Turned other;             ///< [batch…, what is summed over, free]
};

class Former {
public:
  explicit Former(MulOp product) : product(product), rank(typeOf(product).getRank()) {
    for (int64_t i = 0; i < rank; ++i)
      plain.push_back(i);
    swapped = plain;
    if (rank > 1)
      std::swap(swapped[rank - 2], swapped[rank - 1]);
  }

  bool form() {
    if (rank < 2 || !pays() || !findSoftmax() || !findProducts() || !findPlace())
      return false;
    build();
    return settle();
  }

private:
  /// Whether matrices of queries by keys are too large for caches: scores that are computed again
  /// are a sixth more products.
  bool pays() {
    constexpr int64_t fewest = 1 << 18; // elements, of one of the three
    auto type = typeOf(product);
    return !type.hasStaticShape() || type.getNumElements() >= fewest;
  }

  bool isPlain(DotGeneralOp dot) const {
    return dot && isPlainForm(dot) && typeOf(dot).getRank() == rank &&
           dot->getBlock() == product->getBlock();
  }

  //===--------------------------------------------------------------------===//
  // Finding
  //===--------------------------------------------------------------------===//

  /// dS = W (dP - sum(W dP)), W = exp(L - max) / sum, which a product reads, too.
  bool findSoftmax() {
    for (int i : {0, 1}) {
      weights = product->getOperand(i);
      auto less = product->getOperand(1 - i).getDefiningOp<SubOp>();
      auto mean = less ? less.getRhs().getDefiningOp<ReduceOp>() : ReduceOp();
      auto terms = mean ? mean.getOperand().getDefiningOp<MulOp>() : MulOp();
      if (!terms || mean.getKind() != ReduceKind::Sum || !mean.getKeepDims() ||
          mean.getAxes() != ArrayRef<int64_t>{rank - 1})
        continue;
      weightGradient = less.getLhs().getDefiningOp<DotGeneralOp>();
      bool isSame = (terms.getLhs() == weights && terms.getRhs() == less.getLhs()) ||
                    (terms.getRhs() == weights && terms.getLhs() == less.getLhs());
      if (isSame && isPlain(weightGradient) && findWeights(terms))
        return true;
    }
    return false;
  }

  bool findWeights(MulOp terms) {
    auto quotient = quotientOf(weights);
    auto exp = quotient ? quotient->numerator.getDefiningOp<ExpOp>() : ExpOp();
    auto shifted = exp ? exp.getOperand().getDefiningOp<SubOp>() : SubOp();
    sum = quotient ? quotient->denominator.getDefiningOp<ReduceOp>() : ReduceOp();
    maximum = shifted ? shifted.getRhs().getDefiningOp<ReduceOp>() : ReduceOp();
    if (!sum || !maximum)
      return false;
    logits = shifted.getLhs();
    int others = 0;
    for (Operation *user : weights.getUsers()) {
      auto dot = dyn_cast<DotGeneralOp>(user);
      if (isPlain(dot) && dot.getLhs() == weights && dot.getRhs() != weights) {
        if (forward)
          return false;
        forward = dot;
      } else if (user != terms && user != product) {
        ++others; // the values' gradient
      }
    }
    if (!forward || others != 1)
      return false;
    scores = scoresBehind(logits);
    return isPlain(scores) && leadsAlongLines(logits, scores, /*isLast=*/true, path, conditions);
  }

  std::optional<MatrixUse> useOf(Operation *user, Value matrix) const {
    auto transpose = dyn_cast<TransposeOp>(user);
    if (transpose && (!transpose->hasOneUse() || Order(transpose.getPermutation()) != swapped))
      return std::nullopt;
    Value read = transpose ? transpose.getResult() : matrix;
    auto dot = dyn_cast<DotGeneralOp>(transpose ? *transpose->user_begin() : user);
    if (!isPlain(dot) || dot.getLhs() == dot.getRhs())
      return std::nullopt;
    bool isRight = dot.getRhs() == read;
    // The left operand is summed over its last dimension, the right one over the one before.
    return MatrixUse{dot, isRight != bool(transpose), isRight,
                     turned(isRight ? dot.getLhs() : dot.getRhs(), isRight ? swapped : plain)};
  }

  bool findProducts() {
    gradient = turned(weightGradient.getLhs(), plain);
    for (Operation *user : weights.getUsers())
      if (auto use = useOf(user, weights); use && use->overQueries)
        valueUse = use;
    // Elementwise operations lead to what the other two products read.
    scoreGradient = product;
    while (scoreGradient.hasOneUse()) {
      Operation *next = *scoreGradient.user_begin();
      if (!isa<ElementwiseOpInterface>(next) || next->getNumResults() != 1 ||
          next->getBlock() != product->getBlock() ||
          typeOf(next->getResult(0)).getShape() != typeOf(product).getShape())
        return false;
      scoreGradient = next->getResult(0);
    }
    for (Operation *user : scoreGradient.getUsers())
      if (auto use = useOf(user, scoreGradient))
        (use->overQueries ? keyUse : queryUse) = use;
    return scoreGradient.hasNUses(2) && queryUse && keyUse && valueUse &&
           leadsAlongLines(scoreGradient, product, /*isLast=*/true, pathBack, conditionsBack) &&
           queryUse->other == turned(scores.getRhs(), swapped) &&
           keyUse->other == turned(scores.getLhs(), plain) && valueUse->other == gradient &&
           turned(weightGradient.getRhs(), swapped) == turned(forward.getRhs(), plain);
  }

  /// Behind all that is read, and in front of all that reads results.
  bool findPlace() {
    place = weightGradient;
    auto after = [&](Operation *op) {
      if (op && op->getBlock() == place->getBlock() && place->isBeforeInBlock(op))
        place = op;
    };
    for (Operation *op : pathBack)
      for (Value operand : op->getOperands())
        if (!pathBack.contains(operand.getDefiningOp()) && operand != product.getResult())
          after(operand.getDefiningOp());
    for (Operation *op : conditionsBack)
      after(op);
    Block *block = place->getBlock();
    auto isBehind = [&](Operation *user) {
      Operation *at = block->findAncestorOpInBlock(*user);
      return at && place->isBeforeInBlock(at);
    };
    for (const auto &use : {queryUse, keyUse, valueUse})
      for (Operation *user : use->dot->getUsers())
        if (!isBehind(user) &&
            !(isa<TransposeOp>(user) && llvm::all_of(user->getUsers(), isBehind)))
          return false;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Building
  //===--------------------------------------------------------------------===//

  template <typename OpT, typename... Args> OpT make(Args &&...args) {
    auto op = OpT::create(*b, product.getLoc(), std::forward<Args>(args)...);
    made.push_back(op);
    return op;
  }

  /// `value` in that order, by operations of its own, lines along the last dimension.
  Value own(Value value, ArrayRef<int64_t> wanted) {
    auto [base, order] = turned(value, wanted);
    value = base;
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<MulOp, DivOp>(op) && isF32EpilogueElementwise(op) &&
        op->getOperand(0).getType() == value.getType() && constantElements(op->getOperand(1)) &&
        constantElements(op->getOperand(1)).isSplat()) {
      Value before = own(op->getOperand(0), order);
      IRMapping mapping;
      mapping.map(op->getOperand(0), before);
      Operation *copy = b->clone(*op, mapping);
      copy->getResult(0).setType(before.getType());
      made.push_back(copy);
      return copy->getResult(0);
    }
    if (order == plain)
      return value;
    auto transpose = make<TransposeOp>(value, order);
    if (order.back() + 1 != rank)
      transpose->setAttr(storedAttribute, b->getUnitAttr());
    return transpose;
  }

  Value swap(Value value) { return make<TransposeOp>(value, swapped); }

  DotGeneralOp multiply(Value x, Value y) {
    Order batch(ArrayRef(plain).take_front(rank - 2));
    return make<DotGeneralOp>(x, y, batch, batch, ArrayRef<int64_t>{rank - 1},
                              ArrayRef<int64_t>{rank - 2}, b->getF32Type());
  }

  /// The elementwise operations of `path`, from `from` on anew behind `to`.
  Value follow(const llvm::SetVector<Operation *> &path, ArrayRef<Operation *> conditions,
               Value from, Value to, Value end) {
    IRMapping mapping;
    mapping.map(from, to);
    for (Operation *op : path)
      if (!llvm::is_contained(conditions, op))
        made.push_back(b->clone(*op, mapping));
    return mapping.lookupOrDefault(end);
  }

  /// sum over columns of O dO, [batch…, queries, 1]; of O as it is stored.
  Value meanOf(Value dO) {
    Value result = forward;
    Order order = plain;
    if (auto transpose =
            result.hasOneUse() ? dyn_cast<TransposeOp>(*result.user_begin()) : TransposeOp();
        transpose && transpose.getPermutation().back() + 1 == rank) {
      result = transpose;
      order = Order(transpose.getPermutation());
    }
    Value terms = make<MulOp>(result, own(dO, order));
    Value mean = make<ReduceOp>(terms, ReduceKind::Sum, ArrayRef<int64_t>{rank - 1}, true);
    if (order == plain)
      return mean;
    Order back(rank);
    for (auto [to, from] : llvm::enumerate(order))
      back[from] = to;
    return make<TransposeOp>(mean, back);
  }

  void build() {
    OpBuilder builder(product->getContext());
    builder.setInsertionPointAfter(place);
    b = &builder;
    Value query = own(scores.getLhs(), plain), key = own(scores.getRhs(), swapped),
          value = own(forward.getRhs(), plain), dO = own(weightGradient.getLhs(), plain);
    Value mean = meanOf(weightGradient.getLhs());
    Value one = make<ConstantOp>(
        SplatElementsAttr::get(RankedTensorType::get({}, b->getF32Type()), b->getF32FloatAttr(1)));
    Value inverse = make<DivOp>(one, sum.getResult());
    DotGeneralOp again = multiply(query, swap(key));
    Value logit = follow(path, conditions, scores, again, logits);
    Value shifted = make<SubOp>(logit, maximum.getResult());
    Value weight = make<MulOp>(make<ExpOp>(shifted).getResult(), inverse);
    DotGeneralOp dP = multiply(dO, swap(value));
    softmaxGradient = make<MulOp>(weight, make<SubOp>(dP.getResult(), mean).getResult());
    softmaxGradient->setAttr(attentionGradientAttr, b->getUnitAttr());
    Value dL = follow(pathBack, conditionsBack, product, softmaxGradient, scoreGradient);
    ownWeights = weight;
    Value ofQuery = multiply(dL, key), ofKey = multiply(swap(dL), query),
          ofValue = multiply(swap(weight), dO);
    replace(*queryUse, ofQuery);
    replace(*keyUse, ofKey);
    replace(*valueUse, ofValue);
    b = nullptr;
  }

  /// Notes what stands for the product's result, in the order in which it is read.
  void replace(const MatrixUse &use, Value result) {
    Value old = DotGeneralOp(use.dot).getResult();
    Order order = use.isTurned ? swapped : plain;
    if (auto transpose =
            old.hasOneUse() ? dyn_cast<TransposeOp>(*old.user_begin()) : TransposeOp()) {
      old = transpose;
      Order before = order;
      for (int64_t i = 0; i < rank; ++i)
        order[i] = before[transpose.getPermutation()[i]];
    }
    replaced.emplace_back(old, order == plain ? result : make<TransposeOp>(result, order));
  }

  /// Takes all of it back where no kernel would be formed of it.
  bool settle() {
    bool isGood = matchAttentionGradient(softmaxGradient).has_value();
    auto isOld = [&](OpOperand &use) { return use.getOwner() != forward; };
    if (isGood) {
      weights.replaceUsesWithIf(ownWeights, isOld);
      isGood = matchAttention(forward).has_value();
    }
    if (isGood) {
      for (auto [old, result] : replaced)
        old.replaceAllUsesWith(result);
      return true;
    }
    llvm::DenseSet<Operation *> mine(made.begin(), made.end());
    ownWeights.replaceUsesWithIf(weights,
                                 [&](OpOperand &use) { return !mine.contains(use.getOwner()); });
    for (Operation *op : llvm::reverse(made))
      op->erase();
    return false;
  }

  MulOp product; ///< dS
  int64_t rank;
  Order plain, swapped;
  Value weights, logits, scoreGradient;
  DotGeneralOp weightGradient, forward, scores;
  ReduceOp sum, maximum;
  Turned gradient;
  std::optional<MatrixUse> queryUse, keyUse, valueUse;
  llvm::SetVector<Operation *> path, pathBack;
  SmallVector<Operation *> conditions, conditionsBack;
  Operation *place = nullptr;
  OpBuilder *b = nullptr;
  SmallVector<Operation *> made;
  MulOp softmaxGradient;
  Value ownWeights;
  SmallVector<std::pair<Value, Value>> replaced;
};

struct AttentionGradientsPass : weir::impl::WeirAttentionGradientsPassBase<AttentionGradientsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || isOffloaded(&function.getBody().front().front()))
        continue;
      SmallVector<MulOp> products;
      function.walk([&](MulOp product) {
        if (isa<RankedTensorType>(product.getType()))
          products.push_back(product);
      });
      llvm::SmallSetVector<Block *, 4> changed;
      for (MulOp product : products) {
        Block *block = product->getBlock();
        if (Former(product).form())
          changed.insert(block);
      }
      for (Block *block : changed)
        for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
          if (isOpTriviallyDead(&op))
            op.erase();
    }
  }
};

} // namespace

//===- RaiseNormalizations.cpp - softmax and layer normalisation ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What exporters for operator sets without these operations write:
//
//   softmax       e / sum(e), e = exp(x - max(x))
//   log softmax   s - log(sum(exp(s))), s = x - max(x)
//   layer_norm    c / sqrt(mean(c^2) + epsilon) * scale + bias, c = x - mean(x)
//
// Quotients may be products with an inverse.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Quantized.h"
#include "dialects/weir/Rearrange.h"
#include "passes/raise/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRRAISENORMALIZATIONSPASS
#include "passes/raise/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// A reduction of the given kind that keeps dimensions, read `uses` times; null: it is none.
ReduceOp reductionOf(Value value, ReduceKind kind, unsigned uses = 1) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  return reduce && reduce.getKind() == kind && reduce.getKeepDims() && value.hasNUses(uses)
             ? reduce
             : ReduceOp();
}

/// What is divided by what; nothing where `op` is no quotient.
struct Quotient {
  Value numerator, divisor;
  /// The inverse of the divisor, where it is computed; read once.
  DivOp inverse;
};
std::optional<Quotient> quotientOf(Operation *op) {
  if (auto div = dyn_cast<DivOp>(op))
    return Quotient{div.getLhs(), div.getRhs(), {}};
  auto mul = dyn_cast<MulOp>(op);
  for (int i : {1, 0}) {
    auto inverse = mul ? mul->getOperand(i).getDefiningOp<DivOp>() : DivOp();
    if (inverse && inverse->hasOneUse() && numberOf(inverse.getLhs()) == 1.0)
      return Quotient{mul->getOperand(1 - i), inverse.getRhs(), inverse};
  }
  return std::nullopt;
}

/// A composite in the place of operations, of which the last is `root`.
class Raiser {
public:
  explicit Raiser(Operation *root) : root(root) {}

  /// Whether `root` was the last operation of a composite, which is there instead.
  bool raise() {
    auto type = dyn_cast<RankedTensorType>(root->getResult(0).getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return false;
    Value made = softmax();
    if (!made)
      made = logSoftmax();
    if (!made)
      made = layerNorm();
    if (!made)
      return false;
    copyDevice(root, made);
    root->replaceAllUsesWith(made.getDefiningOp());
    return true;
  }

private:
  /// Whether all of the operations may be one: they are of one block and one device.
  /// Notes where they come from.
  bool areOne(ArrayRef<Operation *> operations) {
    for (Operation *op : operations) {
      if (!op)
        continue;
      if (op->getBlock() != root->getBlock() ||
          op->getAttr("weir.device") != root->getAttr("weir.device"))
        return false;
      locations.push_back(op->getLoc());
    }
    return true;
  }

  template <typename Op, typename... Args> Value make(Args &&...args) {
    OpBuilder b(root);
    return Op::create(b, b.getFusedLoc(locations), std::forward<Args>(args)...);
  }

  /// The operand and axis of x - max(x), where nothing else reads the maximum.
  std::optional<std::pair<Value, int64_t>> shifted(SubOp sub) {
    auto max = sub ? reductionOf(sub.getRhs(), ReduceKind::Max) : ReduceOp();
    if (!max || max.getOperand() != sub.getLhs() || max.getAxes().size() != 1 ||
        sub.getType() != sub.getLhs().getType() || !areOne({root, sub, max}))
      return std::nullopt;
    return std::pair<Value, int64_t>(sub.getLhs(), max.getAxes()[0]);
  }

  Value softmax() {
    locations.clear();
    auto quotient = quotientOf(root);
    auto exp = quotient ? quotient->numerator.getDefiningOp<ExpOp>() : ExpOp();
    auto sum = exp ? reductionOf(quotient->divisor, ReduceKind::Sum) : ReduceOp();
    auto sub = sum ? exp.getOperand().getDefiningOp<SubOp>() : SubOp();
    if (!sub || sum.getOperand() != exp.getResult() || !exp.getResult().hasNUses(2) ||
        !sub->hasOneUse())
      return {};
    auto of = shifted(sub);
    if (!of || sum.getAxes() != ArrayRef<int64_t>{of->second} ||
        root->getResult(0).getType() != of->first.getType() ||
        !areOne({exp, sum, quotient->inverse}))
      return {};
    return make<SoftmaxOp>(of->first, of->second, false);
  }

  Value logSoftmax() {
    locations.clear();
    auto difference = dyn_cast<SubOp>(root);
    auto log = difference ? difference.getRhs().getDefiningOp<LogOp>() : LogOp();
    auto sum =
        log && log->hasOneUse() ? reductionOf(log.getOperand(), ReduceKind::Sum) : ReduceOp();
    auto exp = sum ? sum.getOperand().getDefiningOp<ExpOp>() : ExpOp();
    auto sub = exp && exp->hasOneUse() ? exp.getOperand().getDefiningOp<SubOp>() : SubOp();
    if (!sub || difference.getLhs() != sub.getResult() || !sub.getResult().hasNUses(2))
      return {};
    auto of = shifted(sub);
    if (!of || sum.getAxes() != ArrayRef<int64_t>{of->second} ||
        difference.getType() != of->first.getType() || !areOne({log, sum, exp}))
      return {};
    return make<SoftmaxOp>(of->first, of->second, true);
  }

  /// The root of a variance and a number: what operations lead to it, and both.
  struct Deviation {
    Value squares;
    SmallVector<int64_t> axes;
    double epsilon;
  };
  std::optional<Deviation> deviationOf(Value value) {
    auto sqrt = value.getDefiningOp<SqrtOp>();
    auto add = sqrt && sqrt->hasOneUse() ? sqrt.getOperand().getDefiningOp<AddOp>() : AddOp();
    if (!add || !add->hasOneUse())
      return std::nullopt;
    for (int i : {0, 1}) {
      auto variance = reductionOf(add->getOperand(i), ReduceKind::Mean);
      std::optional<double> epsilon = numberOf(add->getOperand(1 - i));
      if (variance && epsilon && areOne({sqrt, add, variance}))
        return Deviation{variance.getOperand(), llvm::to_vector(variance.getAxes()), *epsilon};
    }
    return std::nullopt;
  }

  /// Whether `value` is the square of `base`, for one reader; `uses` counts those of base.
  bool isSquare(Value value, Value base, unsigned &uses) {
    Operation *op = value.getDefiningOp();
    if (!op || !op->hasOneUse() || !areOne(op))
      return false;
    uses = isa<MulOp>(op) ? 2 : 1;
    if (isa<MulOp>(op))
      return op->getOperand(0) == base && op->getOperand(1) == base;
    return isa<PowOp>(op) && op->getOperand(0) == base && numberOf(op->getOperand(1)) == 2.0;
  }

  /// Whether `value` stretches to the type of what is normalised, and no further.
  static bool spreads(Value value, RankedTensorType type) {
    auto own = dyn_cast<RankedTensorType>(value.getType());
    if (!own || own.getElementType() != type.getElementType() || own.getRank() > type.getRank())
      return false;
    return llvm::all_of(llvm::zip(llvm::reverse(own.getShape()), llvm::reverse(type.getShape())),
                        [](auto sizes) {
                          auto [size, whole] = sizes;
                          return size == 1 || (size == whole && !ShapedType::isDynamic(size));
                        });
  }

  /// `root` shifts, or is last of, what a normalisation scales.
  Value layerNorm() {
    auto shift = dyn_cast<AddOp>(root);
    for (int i = 0; shift && i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        locations.assign(1, root->getLoc());
        auto scaling = shift->getOperand(i).getDefiningOp<MulOp>();
        if (!scaling || !scaling->hasOneUse() || !areOne({scaling}))
          continue;
        if (Value made = layerNorm(scaling->getOperand(j), scaling->getOperand(1 - j),
                                   shift->getOperand(1 - i)))
          return made;
      }
    return {};
  }
  Value layerNorm(Value normalised, Value scale, Value bias) {
    Operation *last = normalised.getDefiningOp();
    auto quotient = last && last->hasOneUse() ? quotientOf(last) : std::nullopt;
    auto centred = quotient ? quotient->numerator.getDefiningOp<SubOp>() : SubOp();
    if (!centred || !areOne({last, centred, quotient->inverse}))
      return {};
    Value x = centred.getLhs();
    auto type = dyn_cast<RankedTensorType>(x.getType());
    auto mean = reductionOf(centred.getRhs(), ReduceKind::Mean);
    auto deviation = mean ? deviationOf(quotient->divisor) : std::nullopt;
    unsigned uses = 0;
    if (!type || !deviation || mean.getOperand() != x || !areOne({mean}) ||
        !isSquare(deviation->squares, centred, uses) || !centred.getResult().hasNUses(uses + 1))
      return {};
    // Over the last dimensions, all of them from one on.
    SmallVector<int64_t> axes = deviation->axes;
    llvm::sort(axes);
    SmallVector<int64_t> own(mean.getAxes());
    llvm::sort(own);
    if (axes.empty() || axes != llvm::to_vector(llvm::seq(axes.front(), type.getRank())) ||
        own != axes || root->getResult(0).getType() != type || !spreads(scale, type) ||
        !spreads(bias, type))
      return {};
    return make<LayerNormOp>(x, scale, bias, uint64_t(axes.front()), APFloat(deviation->epsilon));
  }

  Operation *root;
  SmallVector<Location> locations;
};

struct RaiseNormalizationsPass
    : weir::impl::WeirRaiseNormalizationsPassBase<RaiseNormalizationsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> roots;
    getOperation().walk([&](Operation *op) {
      if (isa<ElementwiseOpInterface>(op) && op->getNumOperands() == 2)
        roots.push_back(op);
    });
    llvm::DenseSet<Operation *> erased;
    // Roots last to first: what is erased comes before.
    for (Operation *root : llvm::reverse(roots)) {
      if (erased.contains(root) || !Raiser(root).raise())
        continue;
      SmallVector<Operation *> pending{root};
      while (!pending.empty()) {
        Operation *op = pending.pop_back_val();
        if (erased.contains(op) || !isOpTriviallyDead(op))
          continue;
        llvm::append_range(pending,
                           llvm::make_filter_range(
                               llvm::map_range(op->getOperands(),
                                               [](Value value) { return value.getDefiningOp(); }),
                               [](Operation *def) { return def != nullptr; }));
        erased.insert(op);
        op->erase();
      }
    }
  }
};

} // namespace

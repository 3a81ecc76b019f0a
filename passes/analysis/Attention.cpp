//===- Attention.cpp - weights that are never stored ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/Attention.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/RecursiveReader.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/KernelForms.h"

using namespace mlir;
using namespace weir;

namespace {

/// Those of the kind whose devices compute attentions so.
AttentionLimits limitsOf(AttentionForm form) {
  for (const DeviceKind *kind : deviceKinds()) {
    AttentionLimits limits = kind->attentionLimits();
    if ((kind->isHost() || kind->takesAttention()) && limits.form == form)
      return limits;
  }
  return {};
}

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool isSplat(Value value) {
  ElementsAttr constant = constantElements(value);
  return constant && constant.isSplat();
}

/// The number that all elements of a constant of floats are.
std::optional<APFloat> splatNumber(Value value) {
  ElementsAttr constant = constantElements(value);
  if (!constant || !constant.isSplat() || !isa<FloatType>(constant.getElementType()))
    return std::nullopt;
  return constant.getSplatValue<APFloat>();
}
/// A constant of floats whose elements are all `number`, zero only with that sign.
bool isAll(Value value, float number) {
  std::optional<APFloat> splat = splatNumber(value);
  if (!splat)
    return false;
  APFloat same(number);
  bool isInexact = false;
  same.convert(splat->getSemantics(), APFloat::rmNearestTiesToEven, &isInexact);
  return !isInexact && splat->bitwiseIsEqual(same);
}
bool isZero(Value value) { return isAll(value, 0); }
bool isOne(Value value) { return isAll(value, 1); }

bool isNarrow(Type element) { return element.isF16() || element.isBF16(); }
bool isFloat(Type element) { return element.isF32() || isNarrow(element); }

/// Of the general form: a product as isPlainForm has it, of any floats, with the
/// right operand's depth in either dimension.
bool isGeneralForm(DotGeneralOp dot) {
  auto lhs = typeOf(dot.getLhs()), rhs = typeOf(dot.getRhs());
  int64_t batch = dot.getLhsBatch().size();
  auto leads = [&](ArrayRef<int64_t> dims) {
    return llvm::all_of(llvm::enumerate(dims),
                        [](auto dim) { return dim.value() == int64_t(dim.index()); });
  };
  return isFloat(lhs.getElementType()) && isFloat(rhs.getElementType()) &&
         isFloat(dot.getAccumulator()) && dot.getLhsContract().size() == 1 &&
         lhs.getRank() == batch + 2 && rhs.getRank() == batch + 2 && leads(dot.getLhsBatch()) &&
         leads(dot.getRhsBatch()) && dot.getLhsContract()[0] == batch + 1 &&
         dot.getRhsContract()[0] >= batch;
}

bool isEnough(int64_t size, int64_t fewest) {
  return ShapedType::isDynamic(size) || size >= fewest;
}

bool isReduction(ReduceOp op, ReduceKind kind, int64_t axis) {
  return op && op.getKind() == kind && op.getKeepDims() && op.getAxes().size() == 1 &&
         op.getAxes()[0] == axis;
}

class Matcher {
public:
  Matcher(AttentionForm form, bool ofHost)
      : isGeneral(form == AttentionForm::General), ofHost(ofHost), limits(limitsOf(form)) {
    found.isPlain = !isGeneral;
  }

  std::optional<Attention> match(DotGeneralOp product) {
    auto type = typeOf(product);
    if (!isProduct(product) || type.getRank() != (int64_t)product.getLhsBatch().size() + 2 ||
        !isHeadSize(type.getShape().back()))
      return std::nullopt;
    found.product = product;
    last = type.getRank() - 1;
    Value weights = matchNaN(matchRounding(matchBlind(matchRounding(product.getLhs()))));
    if (!matchSoftmax(weights) || !typeOf(found.logits).getElementType().isF32() ||
        !leadsToScores(found.logits))
      return std::nullopt;
    auto logits = typeOf(found.logits);
    if (logits.getRank() != type.getRank() ||
        !pays(logits.getDimSize(last - 1), logits.getDimSize(last)) ||
        !isHeadSize(typeOf(found.scores.getLhs()).getShape().back()))
      return std::nullopt;
    found.operations.insert(product);
    if (!sharesHeads())
      absorbOperands();
    findRoot();
    return std::move(found);
  }

private:
  bool isProduct(DotGeneralOp dot) const {
    return isGeneral ? isGeneralForm(dot) : isPlainForm(dot);
  }

  bool isHeadSize(int64_t size) const { return size > 0 && size <= limits.mostHeadSize; }

  /// Whether sizes, as far as they are known, are worth one kernel.
  bool pays(int64_t queries, int64_t keys) const {
    bool isSquare = !ShapedType::isDynamic(keys) && queries >= keys;
    return isEnough(keys, limits.fewestKeys) &&
           isEnough(queries, isSquare ? limits.fewestSquareQueries : limits.fewestQueries);
  }

  /// The weights before they are rounded to the values' type, if they are.
  Value matchRounding(Value weights) {
    auto cast = weights.getDefiningOp<CastOp>();
    if (!isGeneral || !cast || !cast->hasOneUse() || !isNarrow(typeOf(weights).getElementType()) ||
        !typeOf(cast.getOperand()).getElementType().isF32())
      return weights;
    found.operations.insert(cast);
    return cast.getOperand();
  }

  /// What selects 0 for whole queries, if anything does: returns the weights before.
  Value matchBlind(Value weights) {
    auto select = weights.getDefiningOp<SelectOp>();
    if (!select || !select->hasOneUse() || !isZero(select.getOnTrue()) ||
        typeOf(select.getCondition()).getRank() == 0 ||
        typeOf(select.getCondition()).getShape().back() != 1)
      return weights;
    found.blind = select.getCondition();
    found.operations.insert(select);
    return select.getOnFalse();
  }

  /// What selects 0 where weights are no numbers, if anything does: returns the weights before.
  Value matchNaN(Value weights) {
    auto select = weights.getDefiningOp<SelectOp>();
    auto isNaN = select ? select.getCondition().getDefiningOp<IsNanOp>() : IsNanOp();
    if (!ofHost || !isNaN || !select->hasOneUse() || !isNaN->hasOneUse() ||
        isNaN.getOperand() != select.getOnFalse() || !isZero(select.getOnTrue()))
      return weights;
    found.dropsNaN = true;
    found.operations.insert(select);
    found.operations.insert(isNaN);
    return select.getOnFalse();
  }

  /// exp(x - max) / sum along the last dimension.
  bool matchSoftmax(Value weights) {
    auto quotient = quotientOf(weights);
    auto exp = quotient ? quotient->numerator.getDefiningOp<ExpOp>() : ExpOp();
    auto sub = exp ? exp.getOperand().getDefiningOp<SubOp>() : SubOp();
    auto sum = quotient ? quotient->denominator.getDefiningOp<ReduceOp>() : ReduceOp();
    if (quotient && quotient->inverse && !quotient->inverse->hasOneUse())
      return false;
    auto max = sub ? sub.getRhs().getDefiningOp<ReduceOp>() : ReduceOp();
    if (!isReduction(sum, ReduceKind::Sum, last) || !isReduction(max, ReduceKind::Max, last) ||
        sum.getOperand() != exp.getResult() || max.getOperand() != sub.getLhs() ||
        !weights.hasNUses(found.dropsNaN ? 2 : 1) || !sub->hasOneUse() ||
        !exp.getResult().hasNUses(2) || !sub.getLhs().hasNUses(2) ||
        (isGeneral && (!sum->hasOneUse() || !max->hasOneUse())))
      return false;
    found.logits = sub.getLhs();
    found.maximum = max;
    found.sum = sum;
    for (Operation *op : {max.getOperation(), sub.getOperation(), exp.getOperation(),
                          sum.getOperation(), quotient->inverse, weights.getDefiningOp()})
      if (op)
        found.operations.insert(op);
    return true;
  }

  /// Whether elementwise operations lead from a product to `value`, which lines along
  /// the keys serve to compute. Notes those of the path.
  bool leadsToScores(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || (value != found.logits && !llvm::all_equal(value.getUsers())) ||
        typeOf(value).getRank() != last + 1)
      return false;
    if (auto dot = dyn_cast<DotGeneralOp>(op)) {
      // Nothing has the product's shape for certain but what it is the only operand of.
      if (!isProduct(dot) || typeOf(dot).getRank() != (int64_t)dot.getLhsBatch().size() + 2)
        return false;
      found.scores = dot;
      found.operations.insert(op);
      return true;
    }
    Type element = typeOf(value).getElementType();
    bool selects = isa<SelectOp>(op) && (element.isF32() || (isGeneral && isNarrow(element)));
    if (!selects && !isOfFloats(op))
      return false;
    for (OpOperand &path : op->getOpOperands()) {
      if ((selects && path.getOperandNumber() == 0) || !leadsToScores(path.get()))
        continue;
      bool fits = true;
      for (OpOperand &other : op->getOpOperands())
        fits &= &other == &path || isReadAlongKeys(other.get());
      if (!fits)
        return false;
      found.operations.insert(op);
      return true;
    }
    return false;
  }

  /// Whether each element of the result follows from one of each operand, by floats.
  bool isOfFloats(Operation *op) const {
    if (!isGeneral)
      return isF32EpilogueElementwise(op) && !isa<CastOp>(op);
    auto isOne = [](Value value) { return isFloat(typeOf(value).getElementType()); };
    return isa<ElementwiseOpInterface>(op) && op->getNumResults() == 1 && isOne(op->getResult(0)) &&
           llvm::all_of(op->getOperands(), isOne);
  }

  bool isReadAlongKeys(Value value) {
    return readsAlongKeys(value, found.operations, found.conditions) ||
           (isGeneral && isNarrow(typeOf(value).getElementType()));
  }

  void absorbOperands() {
    DotGeneralOp scores = found.scores, product = found.product;
    absorb(scores.getLhs(), last, /*mayScale=*/true);
    absorb(scores.getRhs(), scores.getRhsContract()[0], /*mayScale=*/true);
    absorb(product.getRhs(), 2 * last - 1 - product.getRhsContract()[0], /*mayScale=*/false);
  }

  /// Takes in what computes the operands, where one repetition of heads lies behind keys and values
  /// each, and both belong to the kernel: it knows by them which heads share keys.
  bool sharesHeads() {
    if (!ofHost || last <= 2)
      return false;
    RepeatOp keys = repetitionOf(found.scores.getRhs()),
             values = repetitionOf(found.product.getRhs());
    if (!keys || !values || keys.getTimes() != values.getTimes())
      return false;
    llvm::SetVector<Operation *> before = found.operations;
    found.group = keys.getTimes();
    absorbOperands();
    if (found.operations.contains(keys) && found.operations.contains(values))
      return true;
    found.operations = std::move(before);
    found.group = 1;
    return false;
  }

  /// What repeats the heads of an operand of products, which nothing else reads; null: nothing.
  RepeatOp repetitionOf(Value value) const {
    int64_t heads = last - 2;
    while (Operation *op = value.hasOneUse() ? value.getDefiningOp() : nullptr) {
      if (auto repeat = dyn_cast<RepeatOp>(op))
        return int64_t(repeat.getAxis()) == heads ? repeat : RepeatOp();
      auto transpose = dyn_cast<TransposeOp>(op);
      auto slice = dyn_cast<SliceOp>(op);
      bool cuts = slice && isPrefix(slice) && !llvm::is_contained(slice.getAxes(), heads);
      if (!transpose && !isScaling(op) && !isWidening(op) && !cuts)
        break;
      if (transpose)
        heads = transpose.getPermutation()[heads];
      value = op->getOperand(0);
    }
    return {};
  }
  static bool isWidening(Operation *op) {
    return isa<CastOp>(op) && typeOf(op->getResult(0)).getElementType().isF32() &&
           isNarrow(typeOf(op->getOperand(0)).getElementType());
  }
  bool isScaling(Operation *op) const {
    return isa<MulOp, DivOp>(op) && isSplat(op->getOperand(1)) &&
           op->getOperand(0).getType() == op->getResult(0).getType() &&
           (isF32EpilogueElementwise(op) ||
            (isGeneral && isNarrow(typeOf(op->getResult(0)).getElementType())));
  }

  /// Whether elements of the slice have the indices that they have before.
  static bool isPrefix(SliceOp slice) {
    auto starts = constantIntegers(slice.getStarts()), steps = constantIntegers(slice.getSteps());
    return starts && steps && llvm::all_of(*starts, [](int64_t i) { return i == 0; }) &&
           llvm::all_of(*steps, [](int64_t i) { return i == 1; });
  }

  /// Takes in what computes `value` for this attention alone, as long as lines along
  /// `dimension`, which they are read along then, lie along the last one of memory.
  void absorb(Value value, int64_t dimension, bool mayScale) {
    SmallVector<Operation *> pending;
    while (Operation *op = value.getDefiningOp()) {
      bool scales = mayScale && isScaling(op);
      bool widens = (isGeneral || ofHost) && isWidening(op);
      auto transpose = dyn_cast<TransposeOp>(op);
      auto slice = dyn_cast<SliceOp>(op);
      bool slices = slice && (isGeneral ? typeOf(slice).hasStaticShape() && knownPart(slice)
                                        : ofHost && isPrefix(slice));
      // The head is found by a division; what of a head lies in lines stays.
      auto repeat = dyn_cast<RepeatOp>(op);
      bool repeats =
          (isGeneral || found.group > 1) && repeat && int64_t(repeat.getAxis()) < last - 1;
      if (!value.hasOneUse() || (!scales && !widens && !slices && !repeats && !transpose))
        return;
      if (transpose && transpose.getPermutation()[dimension] != last)
        return;
      if (transpose)
        dimension = last;
      pending.push_back(op);
      value = op->getOperand(0);
      if (dimension == last)
        found.operations.insert(pending.begin(), pending.end());
    }
  }

  /// Whether `value` is read once, by an operation of the same block.
  static Operation *onlyUser(Value value) {
    Operation *user = value.hasOneUse() ? *value.user_begin() : nullptr;
    return user && user->getBlock() == value.getParentBlock() ? user : nullptr;
  }
  /// What rounds the kernel's result, and nothing else: it becomes the root.
  void takeRounding() {
    auto rounded = dyn_cast_or_null<CastOp>(onlyUser(found.root->getResult(0)));
    if (!rounded)
      return;
    Type element = typeOf(rounded).getElementType();
    if (element.isBF16() || (isGeneral && element.isF16()))
      found.root = rounded;
  }
  void findRoot() {
    found.root = found.product;
    if (isGeneral)
      takeRounding();
    found.operations.insert(found.root);
    if (auto transpose = dyn_cast_or_null<TransposeOp>(onlyUser(found.root->getResult(0))))
      if (transpose.getPermutation().back() == last) {
        found.order = transpose;
        found.root = transpose;
      }
    if (found.order)
      found.operations.insert(found.order);
    if (typeOf(found.root->getResult(0)).getElementType().isF32())
      takeRounding();
    found.operations.insert(found.root);
  }

  Attention found;
  bool isGeneral, ofHost;
  AttentionLimits limits;
  int64_t last = 0; ///< the scores' dimension of keys
};

/// Whether `value` is computed from positions and numbers alone.
bool isOfPositions(Value value, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 8)
    return false;
  if (isa<IotaOp>(op) || isSplat(value))
    return true;
  return (isa<CompareOp, AddOp, SubOp>(op) || op->hasTrait<traits::BitLogic>()) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isOfPositions(operand, depth + 1); });
}

void noteConditions(Operation *op, llvm::SetVector<Operation *> &operations,
                    SmallVectorImpl<Operation *> &conditions) {
  if (isa<ConstantOp, IotaOp>(op))
    return;
  for (Value operand : op->getOperands())
    noteConditions(operand.getDefiningOp(), operations, conditions);
  if (operations.insert(op))
    conditions.push_back(op);
}

} // namespace

bool weir::readsAlongKeys(Value value, llvm::SetVector<Operation *> &operations,
                          SmallVectorImpl<Operation *> &conditions) {
  Type element = typeOf(value).getElementType();
  if (isSplat(value))
    return true;
  if (element.isInteger(1) && isOfPositions(value))
    noteConditions(value.getDefiningOp(), operations, conditions);
  return element.isF32() || element.isInteger(1);
}

std::optional<Quotient> weir::quotientOf(Value value) {
  if (auto div = value.getDefiningOp<DivOp>())
    return Quotient{div.getLhs(), div.getRhs(), nullptr};
  auto mul = value.getDefiningOp<MulOp>();
  for (int i : {1, 0}) {
    auto inverse = mul ? mul->getOperand(i).getDefiningOp<DivOp>() : DivOp();
    if (inverse && isOne(inverse.getLhs()))
      return Quotient{mul->getOperand(1 - i), inverse.getRhs(), inverse};
  }
  return std::nullopt;
}

std::optional<KnownPart> weir::knownPart(SliceOp slice) {
  auto starts = constantIntegers(slice.getStarts()), steps = constantIntegers(slice.getSteps());
  if (slice.getAxes().size() != 1 || !starts || !steps || (*steps)[0] != 1 ||
      !constantIntegers(slice.getEnds()))
    return std::nullopt;
  int64_t axis = slice.getAxes()[0], size = typeOf(slice.getOperand()).getDimSize(axis);
  if (ShapedType::isDynamic(size) || typeOf(slice).getDimSize(axis) == 0)
    return std::nullopt;
  int64_t start = (*starts)[0];
  return KnownPart{axis, std::clamp<int64_t>(start < 0 ? start + size : start, 0, size)};
}

bool Attention::keysAreRows() const {
  DotGeneralOp dot = scores;
  return operations.contains(dot.getRhs().getDefiningOp()) ||
         dot.getRhsContract()[0] + 1 == typeOf(dot.getRhs()).getRank();
}

SmallVector<Value> Attention::statistics() const {
  SmallVector<Value> read;
  for (ReduceOp statistic : {maximum, sum}) {
    Value value = ReduceOp(statistic).getResult();
    if (llvm::any_of(value.getUsers(), [&](Operation *user) { return !operations.contains(user); }))
      read.push_back(value);
  }
  return read;
}

std::optional<Attention> weir::matchAttention(DotGeneralOp product, AttentionForm form,
                                              bool ofHost) {
  std::optional<Attention> attention = Matcher(form, ofHost).match(product);
  if (!attention)
    return std::nullopt;
  // A kernel's operations are of one block.
  for (Operation *op : attention->operations)
    if (op->getBlock() != product->getBlock())
      return std::nullopt;
  // What it writes beside its root is there behind that.
  for (ReduceOp statistic : {attention->maximum, attention->sum})
    for (Operation *user : statistic->getUsers())
      if (!attention->operations.contains(user) &&
          (user->getBlock() != product->getBlock() || !attention->root->isBeforeInBlock(user)))
        return std::nullopt;
  return attention;
}

std::optional<Attention> weir::attentionAt(DotGeneralOp product) {
  const DeviceKind *kind = kindAround(product);
  if (kind && !kind->takesAttention())
    return std::nullopt;
  if (!kind)
    return matchAttention(product, AttentionForm::Plain, /*ofHost=*/true);
  std::optional<Attention> plain = matchAttention(product);
  auto general = matchAttention(product, AttentionForm::General);
  // The plain form is the host's, too, but does not read through these.
  return plain && !llvm::any_of(general->operations, llvm::IsaPred<SliceOp, RepeatOp>) ? plain
                                                                                       : general;
}

/// Whether the kernel ends with the attention's root. What may follow it in the plain form, a
/// rounding to f16 in another device's kernel, belongs to the general one.
static bool isResult(const Attention &attention, Block &body) {
  return body.getTerminator()->getOperand(0) == attention.root->getResult(0);
}

std::optional<Attention> weir::hostAttentionOf(plan::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  for (auto dot : body.getOps<DotGeneralOp>()) {
    auto attention = matchAttention(dot, AttentionForm::Plain, /*ofHost=*/true);
    auto isRead = [&](Operation &op) {
      return !isa<SliceOp, RepeatOp>(op) || attention->operations.contains(&op);
    };
    if (attention && llvm::all_of(body, isRead) && isResult(*attention, body))
      return attention;
  }
  return attentionOf(kernel);
}

std::optional<Attention> weir::attentionOf(plan::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  bool hasSlices = !body.getOps<SliceOp>().empty() || !body.getOps<RepeatOp>().empty();
  for (AttentionForm form : {AttentionForm::Plain, AttentionForm::General})
    for (auto dot : body.getOps<DotGeneralOp>())
      if (auto attention =
              hasSlices && form == AttentionForm::Plain ? std::nullopt : matchAttention(dot, form);
          attention && (form == AttentionForm::General || isResult(*attention, body)))
        return attention;
  return std::nullopt;
}

AttentionOperand weir::attentionOperand(Value operand) {
  AttentionOperand found;
  found.source = operand;
  for (int64_t i = 0, rank = typeOf(operand).getRank(); i < rank; ++i)
    found.order.push_back(i);
  while (Operation *op = found.source.getDefiningOp()) {
    Type element = typeOf(found.source).getElementType();
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      SmallVector<int64_t> order(found.order.size());
      for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
        order[dim] = found.order[i];
      found.order = std::move(order);
    } else if (auto repeat = dyn_cast<RepeatOp>(op)) {
      int64_t dim = found.order[repeat.getAxis()];
      if (found.times > 1 && dim != found.repeated)
        break;
      found.repeated = dim;
      found.times *= repeat.getTimes();
    } else if (isa<MulOp, DivOp>(op) && isFloat(element) && splatNumber(op->getOperand(1)) &&
               op->getOperand(0).getType() == found.source.getType()) {
      double number = splatNumber(op->getOperand(1))->convertToFloat();
      found.scale = isa<MulOp>(op) ? found.scale * number : found.scale / number;
    } else if (!isa<CastOp>(op) || !element.isF32() ||
               !isNarrow(typeOf(op->getOperand(0)).getElementType())) {
      break;
    }
    found.source = op->getOperand(0);
  }
  return found;
}

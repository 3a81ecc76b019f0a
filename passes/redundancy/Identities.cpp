//===- Identities.cpp - folding and algebra on classes --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only what is equal in every bit: floats are not regrouped, and x + 0 is not x
// for them, since it makes 0 of -0. Here, unlike in canonical forms, an operand
// counts as constant, negated and so on when its class is, which holds under
// the assumptions that a loop is numbered with.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Boundary.h"
#include "dialects/weir/ConstantEvaluator.h"
#include "dialects/weir/KeptSizes.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "dialects/weir/Weir.h"
#include "passes/redundancy/ValueTable.h"

using namespace mlir;
using namespace weir;
using namespace weir::redundancy;

/// Operands of a regrouped sum beyond this many are left as they are.
static constexpr size_t mostOperands = 16;

static bool isStatic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

static Type elementType(Type type) { return getElementTypeOrSelf(type); }

static TypedAttr sumOf(DenseIntElementsAttr a, DenseIntElementsAttr b) {
  SmallVector<APInt> sums;
  for (auto [x, y] : llvm::zip(a.getValues<APInt>(), b.getValues<APInt>()))
    sums.push_back(x + y);
  return cast<TypedAttr>(DenseElementsAttr::get(cast<ShapedType>(a.getType()), sums));
}

Class ValueTable::splat(Type type, int64_t value) {
  auto tensor = cast<RankedTensorType>(type);
  auto element = cast<IntegerType>(tensor.getElementType());
  return constant(cast<TypedAttr>(
      DenseElementsAttr::get(tensor, APInt(element.getWidth(), value, /*isSigned=*/true,
                                           /*implicitTrunc=*/true))));
}

bool ValueTable::isSplat(Class c, double value) const {
  return isSplatOf(classes[c].constant, value);
}

bool ValueTable::isAll(Class integers, int64_t value) const {
  if (!classes[integers].constant)
    return false;
  auto known = integersOf(classes[integers].constant, maxEvaluatedElements);
  return known && llvm::all_of(*known, [&](int64_t i) { return i == value; });
}

Class ValueTable::simplify(Operation *op, Term &term) {
  if (!isa_and_present<WeirDialect>(op->getDialect()))
    return 0;
  // Counting is cheaper than reading what was counted.
  auto tensor = dyn_cast<RankedTensorType>(term.type);
  bool evaluates =
      tensor && tensor.hasStaticShape() && !(isa<IotaOp>(op) && tensor.getNumElements() > 64);
  if (evaluates &&
      (isa<ShapeOfOp>(op) || (!term.operands.empty() && llvm::all_of(term.operands, [&](Class c) {
         return bool(classes[c].constant);
       })))) {
    SmallVector<Attribute> operands;
    for (Class c : term.operands)
      operands.push_back(classes[c].constant);
    if (auto constants = evaluateConstants(op, operands))
      if (auto value = dyn_cast<TypedAttr>(constants->front());
          value && value.getType() == term.type)
        return constant(value);
  }
  if (isa<ElementwiseOpInterface>(op))
    return simplifyElementwise(op, term);
  if (auto gate = dyn_cast<GateOp>(op)) {
    std::sort(term.operands.begin() + 1, term.operands.end());
    term.operands.erase(std::unique(term.operands.begin() + 1, term.operands.end()),
                        term.operands.end());
    bool stays = isReplicaMark(gate) || (isBoundary(gate) && !classes[term.operands[0]].constant);
    return term.operands.size() == 1 && !stays ? term.operands[0] : 0;
  }
  if (isa<DoneOp>(op)) {
    llvm::sort(term.operands);
    term.operands.erase(llvm::unique(term.operands), term.operands.end());
    return 0;
  }
  return simplifyMovement(op, term);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// The operation broadcasts by itself: an operand need not be repeated where
/// the others give the result its shape.
void ValueTable::dropBroadcasts(RankedTensorType result, Term &term) {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Class c : term.operands) {
    if (!isStatic(typeOf(c)))
      return;
    shapes.push_back(cast<RankedTensorType>(typeOf(c)).getShape());
  }
  for (auto [i, c] : llvm::enumerate(term.operands)) {
    if (!has(c, broadcastHead) || !isStatic(typeOf(termOf(c).operands[0])))
      continue;
    Class source = termOf(c).operands[0];
    ArrayRef<int64_t> before = shapes[i];
    shapes[i] = cast<RankedTensorType>(typeOf(source)).getShape();
    bool same = true;
    for (int64_t d = 0; d < result.getRank() && same; ++d) {
      int64_t size = 1;
      for (ArrayRef<int64_t> shape : shapes)
        if (d < (int64_t)shape.size() && shape[shape.size() - 1 - d] != 1)
          size = shape[shape.size() - 1 - d];
      same = size == result.getDimSize(result.getRank() - 1 - d);
    }
    same &= llvm::any_of(
        shapes, [&](ArrayRef<int64_t> shape) { return (int64_t)shape.size() == result.getRank(); });
    if (same)
      c = source;
    else
      shapes[i] = before;
  }
}

Class ValueTable::negated(Operation *op, Class c) {
  if (has(c, negHead))
    return termOf(c).operands[0];
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(classes[c].constant))
    return constant(cast<TypedAttr>(
        dense.mapValues(dense.getElementType(), [](const APInt &value) { return -value; })));
  Term term;
  term.head = negHead;
  term.attributes = DictionaryAttr::get(op->getContext());
  term.type = typeOf(c);
  term.operands = {c};
  return intern(std::move(term));
}

Class ValueTable::simplifyAssociative(Operation *op, Term &term) {
  Type type = term.type;
  auto same = [&](Class c) { return typeOf(c) == type; };
  if (!isStatic(type) || !llvm::all_of(term.operands, same))
    return 0;
  if (isa<SubOp>(op)) {
    // a - b is a + (-b), modulo 2^width.
    term.operands[1] = negated(op, term.operands[1]);
    term.head = headOf(OperationName(AddOp::getOperationName(), op->getContext()));
  }
  bool isSum = isa<AddOp, SubOp>(op);
  SmallVector<Class> flat;
  for (Class c : term.operands) {
    if (has(c, term.head) && termOf(c).attributes == term.attributes &&
        termOf(c).operands.size() + flat.size() < mostOperands)
      flat.append(termOf(c).operands.begin(), termOf(c).operands.end());
    else
      flat.push_back(c);
  }
  // Constants come together. Every operand has the type of the result, as the
  // operation has that of its own.
  TypedAttr folded;
  SmallVector<Class> rest;
  for (Class c : flat) {
    auto value = dyn_cast_or_null<DenseIntElementsAttr>(classes[c].constant);
    if (!value) {
      rest.push_back(c);
      continue;
    }
    if (!folded) {
      folded = cast<TypedAttr>(value);
      continue;
    }
    // What is left of a difference is a sum.
    auto both =
        isa<SubOp>(op) ? std::nullopt : evaluateConstants(op, {folded, cast<TypedAttr>(value)});
    if (both)
      folded = cast<TypedAttr>(both->front());
    else if (isa<SubOp>(op) && isStatic(type) && value.getNumElements() <= maxEvaluatedElements)
      folded = sumOf(cast<DenseIntElementsAttr>(folded), value);
    else
      rest.push_back(c);
  }
  llvm::sort(rest);
  SmallVector<Class> kept;
  if (isSum || isa<XorOp>(op)) {
    // x - x is 0, and so is x ^ x.
    std::vector<bool> gone(rest.size());
    for (size_t i = 0; i < rest.size(); ++i)
      for (size_t j = i + 1; j < rest.size() && !gone[i]; ++j)
        if (!gone[j] &&
            (isSum ? (has(rest[j], negHead) && termOf(rest[j]).operands[0] == rest[i]) ||
                         (has(rest[i], negHead) && termOf(rest[i]).operands[0] == rest[j])
                   : rest[i] == rest[j]))
          gone[i] = gone[j] = true;
    for (size_t i = 0; i < rest.size(); ++i)
      if (!gone[i])
        kept.push_back(rest[i]);
  } else {
    kept = rest;
    if (op->hasTrait<traits::Idempotent>())
      kept.erase(llvm::unique(kept), kept.end());
  }
  auto isConstant = [&](int64_t value) {
    auto dense = dyn_cast_or_null<DenseIntElementsAttr>(folded);
    return dense && dense.isSplat() &&
           dense.getSplatValue<APInt>() ==
               APInt(dense.getElementType().getIntOrFloatBitWidth(), value, true, true);
  };
  if ((isa<MulOp, AndOp>(op) && isConstant(0)) || (isa<OrOp>(op) && isConstant(-1)))
    return constant(folded);
  bool neutral = isa<MulOp>(op)   ? isConstant(1) && !elementType(type).isInteger(1)
                 : isa<AndOp>(op) ? isConstant(-1)
                                  : op->hasTrait<traits::ZeroIsNeutral>() && isConstant(0);
  if (folded && !neutral)
    kept.push_back(constant(folded));
  if (kept.empty())
    return isa<AndOp>(op) || isa<MulOp>(op) ? constant(folded) : splat(type, 0);
  if (kept.size() == 1)
    return kept[0];
  llvm::sort(kept);
  term.operands.assign(kept.begin(), kept.end());
  return 0;
}

Class ValueTable::simplifyCompare(CompareOp compare, Term &term) {
  SmallVectorImpl<Class> &operands = term.operands;
  auto result = dyn_cast<RankedTensorType>(term.type);
  bool isInteger = isa<IntegerType>(elementType(typeOf(operands[0])));
  StringRef predicate = compare.getPredicate();
  if (isInteger && operands[0] == operands[1] && result && result.hasStaticShape())
    return splat(term.type, predicate == "eq" || predicate == "le" || predicate == "ge");
  if (operands[0] > operands[1]) {
    std::swap(operands[0], operands[1]);
    StringRef swapped = llvm::StringSwitch<StringRef>(predicate)
                            .Case("lt", "gt")
                            .Case("gt", "lt")
                            .Case("le", "ge")
                            .Case("ge", "le")
                            .Default(predicate);
    NamedAttrList attributes(term.attributes);
    attributes.set("predicate", StringAttr::get(compare.getContext(), swapped));
    term.attributes = attributes.getDictionary(compare.getContext());
  }
  return 0;
}

Class ValueTable::simplifySelect(SelectOp select, Term &term) {
  SmallVectorImpl<Class> &operands = term.operands;
  auto known = dyn_cast_or_null<DenseElementsAttr>(classes[operands[0]].constant);
  bool isKnown = known && known.isSplat();
  if (isKnown || operands[1] == operands[2]) {
    bool isTrue = !isKnown || known.getSplatValue<bool>();
    // What is not chosen may stretch what is.
    if (keepsSizesOf(select, isTrue ? select.getOnTrue() : select.getOnFalse()))
      if (Class same = ofTermsType(term, operands[isTrue ? 1 : 2]))
        return same;
  }
  if (has(operands[0], notHead)) {
    operands[0] = termOf(operands[0]).operands[0];
    std::swap(operands[1], operands[2]);
  }
  return 0;
}

Class ValueTable::simplifyCast(Term &term) {
  SmallVectorImpl<Class> &operands = term.operands;
  if (Class same = ofTermsType(term, operands[0]))
    return same;
  // To a wider integer and back; see the operation's folder.
  auto narrow = dyn_cast<IntegerType>(elementType(term.type));
  auto wide = dyn_cast<IntegerType>(elementType(typeOf(operands[0])));
  if (has(operands[0], castHead) && narrow && wide && wide.getWidth() > narrow.getWidth() &&
      narrow.getWidth() != 1 && (narrow.isUnsigned() == wide.isUnsigned() || narrow.isUnsigned()))
    return ofTermsType(term, termOf(operands[0]).operands[0]);
  return 0;
}

Class ValueTable::simplifyElementwise(Operation *op, Term &term) {
  auto result = dyn_cast<RankedTensorType>(term.type);
  SmallVectorImpl<Class> &operands = term.operands;
  if (operands.size() > 1 && result && result.hasStaticShape())
    dropBroadcasts(result, term);
  Type element = elementType(typeOf(operands[0]));
  bool isInteger = isa<IntegerType>(element);
  auto as = [&](Class c) { return ofTermsType(term, c); };

  if (isInteger && op->hasTrait<traits::AssociativeOnIntegers>())
    if (Class same = simplifyAssociative(op, term))
      return same;
  if (isInteger && op->hasTrait<traits::RoundsToIntegral>())
    return as(operands[0]);
  if (isa<NegOp, NotOp, ConjOp>(op) && has(operands[0], term.head))
    return as(termOf(operands[0]).operands[0]);
  if (isa<NegOp>(op) && isInteger && result && result.hasStaticShape())
    return negated(op, operands[0]);
  bool isIdempotent = op->hasTrait<traits::Idempotent>();
  if (isIdempotent && operands.size() == 1 && has(operands[0], term.head))
    return as(operands[0]);
  if (isa<AbsOp>(op) && has(operands[0], negHead))
    operands[0] = termOf(operands[0]).operands[0];
  if (isIdempotent && operands.size() == 2 && operands[0] == operands[1])
    if (Class same = as(operands[0]))
      return same;
  if (isa<FloatType>(element)) {
    if (isa<MulOp>(op) && has(operands[0], negHead) && has(operands[1], negHead))
      for (Class &c : operands)
        c = termOf(c).operands[0];
    // a + (-b) and a - (-b): the other one's form.
    for (unsigned i = isa<SubOp>(op); isa<AddOp, SubOp>(op) && i < 2; ++i) {
      if (!has(operands[i], negHead))
        continue;
      Class inner = termOf(operands[i]).operands[0];
      operands.assign({operands[1 - i], inner});
      StringRef other = isa<AddOp>(op) ? SubOp::getOperationName() : AddOp::getOperationName();
      term.head = headOf(OperationName(other, op->getContext()));
      if (isa<SubOp>(op))
        llvm::sort(operands);
      return 0;
    }
    if (isa<MulOp>(op) && isSplat(operands[0], 1))
      if (Class same = as(operands[1]))
        return same;
    if ((isa<MulOp>(op) && isSplat(operands[1], 1)) || (isa<SubOp>(op) && isSplat(operands[1], 0)))
      if (Class same = as(operands[0]))
        return same;
  }
  if ((isa<DivOp>(op) && isSplat(operands[1], 1)) ||
      (isa<ShlOp, ShrOp>(op) && isSplat(operands[1], 0)))
    if (Class same = as(operands[0]))
      return same;

  if (auto compare = dyn_cast<CompareOp>(op))
    return simplifyCompare(compare, term);
  if (auto select = dyn_cast<SelectOp>(op))
    return simplifySelect(select, term);
  if (isa<CastOp>(op))
    return simplifyCast(term);
  if (op->hasTrait<OpTrait::IsCommutative>())
    llvm::sort(operands);
  return 0;
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

Class ValueTable::simplifyMovement(Operation *op, Term &term) {
  SmallVectorImpl<Class> &operands = term.operands;
  auto as = [&](Class c) { return typeOf(c) == term.type ? c : 0; };
  bool known = isStatic(term.type);
  if (isa<ReshapeOp>(op) && known && isStatic(typeOf(operands[0]))) {
    // The type says all that the shape operand does.
    Class root = operands[0];
    if (has(root, reshapeHead) && isStatic(typeOf(termOf(root).operands[0])))
      root = termOf(root).operands[0];
    operands.assign({root});
    return as(root);
  }
  if (isa<BroadcastToOp>(op) && known && isStatic(typeOf(operands[0]))) {
    Class root = operands[0];
    if (has(root, broadcastHead) && isStatic(typeOf(termOf(root).operands[0])))
      root = termOf(root).operands[0];
    operands.assign({root});
    return as(root);
  }
  if (isa<IotaOp>(op) && known) {
    operands.clear();
    return 0;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<int64_t> permutation(transpose.getPermutation());
    if (has(operands[0], transposeHead)) {
      const Term &inner = termOf(operands[0]);
      auto first = cast<DenseI64ArrayAttr>(inner.attributes.get("permutation"));
      for (int64_t &i : permutation)
        i = first[i];
      NamedAttrList attributes(term.attributes);
      attributes.set("permutation", DenseI64ArrayAttr::get(op->getContext(), permutation));
      term.attributes = attributes.getDictionary(op->getContext());
      operands[0] = Class(inner.operands[0]);
    }
    for (auto [i, source] : llvm::enumerate(permutation))
      if ((int64_t)i != source)
        return 0;
    return as(operands[0]);
  }
  if (isa<SliceOp>(op))
    return known && isAll(operands[3], 1) ? as(operands[0]) : 0;
  if (isa<PadOp>(op))
    return isAll(operands[1], 0) ? as(operands[0]) : 0;
  if (isa<TileOp>(op))
    return isAll(operands[1], 1) ? as(operands[0]) : 0;
  if (isa<ConcatOp>(op))
    return operands.size() == 1 ? as(operands[0]) : 0;
  if (auto reverse = dyn_cast<ReverseOp>(op)) {
    if (has(operands[0], term.head) && termOf(operands[0]).attributes == term.attributes)
      return as(termOf(operands[0]).operands[0]);
    return reverse.getAxes().empty() ? as(operands[0]) : 0;
  }
  return 0;
}

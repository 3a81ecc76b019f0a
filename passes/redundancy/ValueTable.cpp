//===- ValueTable.cpp - congruence classes of terms -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/redundancy/ValueTable.h"
#include "dialects/weir/BlobStore.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::redundancy;

/// Splats are written out to be compared with blobs up to this size.
static constexpr int64_t largestSplatBytes = 1 << 16;

uint64_t redundancy::headOf(OperationName name) {
  return reinterpret_cast<uint64_t>(name.getAsOpaquePointer());
}

ValueTable::ValueTable(MLIRContext *context) {
  classes.emplace_back(); // 0 is no class
  auto head = [&](StringRef name) { return headOf(OperationName(name, context)); };
  negHead = head(NegOp::getOperationName());
  notHead = head(NotOp::getOperationName());
  transposeHead = head(TransposeOp::getOperationName());
  reshapeHead = head(ReshapeOp::getOperationName());
  broadcastHead = head(BroadcastToOp::getOperationName());
  castHead = head(CastOp::getOperationName());
  conjHead = head(ConjOp::getOperationName());
}

static size_t hashOf(const Term &term) {
  return llvm::hash_combine(term.head, term.attributes.getAsOpaquePointer(),
                            term.type.getAsOpaquePointer(),
                            llvm::hash_combine_range(term.operands.begin(), term.operands.end()),
                            llvm::hash_combine_range(term.extra.begin(), term.extra.end()));
}

Class ValueTable::intern(Term term) {
  size_t hash = hashOf(term);
  auto [begin, end] = known.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (classes[it->second].term == term)
      return it->second;
  Class made = classes.size();
  classes.push_back({std::move(term), {}, hash, true});
  known.emplace(hash, made);
  return made;
}

Class ValueTable::fresh(Type type) {
  Class made = classes.size();
  classes.emplace_back();
  classes.back().term.type = type;
  return made;
}

void ValueTable::rollBack(size_t mark) {
  for (; classes.size() > mark; classes.pop_back()) {
    if (!classes.back().interned)
      continue;
    auto [begin, end] = known.equal_range(classes.back().hash);
    known.erase(std::find_if(
        begin, end, [&](const auto &entry) { return entry.second == classes.size() - 1; }));
  }
}

/// Equal numbers for equal bytes, wherever they come from; attributes that have
/// no bytes stand for themselves.
uint64_t ValueTable::contentsOf(TypedAttr value) {
  auto [it, isNew] = contents.try_emplace(value, 0);
  if (!isNew)
    return it->second;
  std::string key;
  Type element = cast<ShapedType>(value.getType()).getElementType();
  int64_t elementBytes = blobElementSize(element);
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (auto blob = dyn_cast<BlobAttr>(value)) {
    key = (blob.getHash() + Twine(blob.getLength())).str();
  } else if (dense && !isa<DenseStringElementsAttr>(value) && elementBytes > 0 &&
             (!dense.isSplat() || dense.getNumElements() * elementBytes <= largestSplatBytes)) {
    std::vector<char> bytes;
    ArrayRef<char> raw = dense.getRawData();
    if (element.isInteger(1)) // packed here, a byte each in blobs
      for (bool bit : dense.getValues<bool>())
        bytes.push_back(bit);
    else if (dense.isSplat())
      for (int64_t i = 0; i < dense.getNumElements(); ++i)
        bytes.insert(bytes.end(), raw.begin(), raw.end());
    else
      bytes.assign(raw.begin(), raw.end());
    key = blobHash(bytes) + std::to_string(bytes.size());
  } else {
    return it->second = contents.size() * 2;
  }
  // Odd, and the others even: the two kinds never meet.
  return it->second = contentsByHash.try_emplace(key, contentsByHash.size() * 2 + 1).first->second;
}

Class ValueTable::constant(TypedAttr value) {
  Term term;
  term.head = constantHead;
  term.type = value.getType();
  term.extra = {contentsOf(value)};
  Class c = intern(std::move(term));
  // An attribute can be folded with, a blob only read.
  if (!classes[c].constant || (isa<BlobAttr>(classes[c].constant) && !isa<BlobAttr>(value)))
    classes[c].constant = value;
  return c;
}

Class ValueTable::number(Operation *op, ArrayRef<Class> operands, unsigned result) {
  if (auto constantOp = dyn_cast<ConstantOp>(op))
    return constant(cast<TypedAttr>(constantOp.getValue()));
  Term term;
  term.head = headOf(op->getName());
  term.attributes = op->getAttrDictionary();
  if (op->hasAttr("weir.device")) {
    NamedAttrList rest(term.attributes);
    rest.erase("weir.device");
    term.attributes = rest.getDictionary(op->getContext());
  }
  term.type = op->getResult(result).getType();
  term.operands.assign(operands.begin(), operands.end());
  if (op->getNumResults() > 1)
    term.extra.push_back(result);
  else if (Class same = simplify(op, term))
    return same;
  return intern(std::move(term));
}

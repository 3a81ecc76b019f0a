//===- ValueTable.h - congruence classes of terms ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Terms (an operation applied to classes) and the classes they belong to. Equal
// terms, after folding and algebraic identities, have one class. What has been
// entered since a mark can be taken back: a loop is numbered under assumptions
// that may prove wrong.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_REDUNDANCY_VALUETABLE_H
#define WEIR_PASSES_REDUNDANCY_VALUETABLE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <unordered_map>
#include <vector>

namespace weir {
class CompareOp;
} // namespace weir

namespace weir::redundancy {

/// A set of values that are equal whatever is fed; 0 is none. Numbers follow
/// the order of the program, so that whatever is sorted by them is determined.
using Class = unsigned;

/// What a term applies: an operation (its name's address), or one of these.
enum Head : uint64_t {
  constantHead = 1, ///< extra: number of the contents
  loopHead,         ///< a loop, by what it begins with; extra: number, types
  argumentHead,     ///< carried value; operand: the loop, extra: place
  resultHead,       ///< the same, behind the loop
  choiceHead,       ///< condition, value if true, value if false
  readHead,         ///< extra: variable, number of its last write
};

struct Term {
  uint64_t head = 0;
  mlir::DictionaryAttr attributes;
  mlir::Type type;
  llvm::SmallVector<Class, 4> operands;
  llvm::SmallVector<uint64_t, 2> extra;

  bool operator==(const Term &other) const = default;
};

uint64_t headOf(mlir::OperationName name);

class ValueTable {
public:
  explicit ValueTable(mlir::MLIRContext *context);

  /// The class of result `result` of an operation without regions or effects.
  Class number(mlir::Operation *op, llvm::ArrayRef<Class> operands, unsigned result);
  Class intern(Term term);
  /// A class that nothing else belongs to.
  Class fresh(mlir::Type type);
  Class constant(mlir::TypedAttr value);

  mlir::Type typeOf(Class c) const { return classes[c].term.type; }
  const Term &termOf(Class c) const { return classes[c].term; }
  /// The value of all members, or null.
  mlir::TypedAttr constantOf(Class c) const { return classes[c].constant; }

  size_t mark() const { return classes.size(); }
  /// Forgets all classes made since `mark`.
  void rollBack(size_t mark);

private:
  struct ClassInfo {
    Term term;
    mlir::TypedAttr constant;
    size_t hash = 0;
    bool interned = false;
  };

  /// Folding and identities (Identities.cpp): the class that the term equals,
  /// or 0; else `term` is in normal form.
  Class simplify(mlir::Operation *op, Term &term);
  Class simplifyElementwise(mlir::Operation *op, Term &term);
  Class simplifyCompare(CompareOp compare, Term &term);
  Class simplifySelect(SelectOp select, Term &term);
  Class simplifyCast(Term &term);
  /// What equals a term in value must have its type, too: the class, or 0.
  Class ofTermsType(const Term &term, Class c) const { return typeOf(c) == term.type ? c : 0; }
  Class simplifyMovement(mlir::Operation *op, Term &term);
  /// Sums, products and the like of integers: order and grouping are free.
  Class simplifyAssociative(mlir::Operation *op, Term &term);
  Class negated(mlir::Operation *op, Class c);
  void dropBroadcasts(mlir::RankedTensorType result, Term &term);
  Class splat(mlir::Type type, int64_t value);
  bool isSplat(Class c, double value) const;
  bool isAll(Class integers, int64_t value) const;
  bool has(Class c, uint64_t head) const { return classes[c].term.head == head; }
  uint64_t contentsOf(mlir::TypedAttr value);

  std::vector<ClassInfo> classes;
  std::unordered_multimap<size_t, Class> known;
  llvm::DenseMap<mlir::Attribute, uint64_t> contents;
  llvm::StringMap<uint64_t> contentsByHash;
  uint64_t negHead, notHead, transposeHead, reshapeHead, broadcastHead, castHead, conjHead;
};

} // namespace weir::redundancy

#endif // WEIR_PASSES_REDUNDANCY_VALUETABLE_H

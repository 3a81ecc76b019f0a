//===- EmittedValues.h - what was emitted is used again ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations ask for elements and sizes of their operands without knowing who
// asked before. Where many lead to the same operand, emitting it for each of
// them takes time and code that double with every level of a graph.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_EMITTEDVALUES_H
#define WEIR_DIALECTS_WEIR_EMITTEDVALUES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/Hashing.h"
#include <unordered_map>

namespace weir {

/// Values by what they are made of, found again where they dominate. Holds only
/// values whose operations stay: none of its keys' or values' operations may be
/// erased before `clear`.
class EmittedValues {
public:
  /// What a value is made of: a kind, and operands. Integer constants of one type
  /// are the same operand when they have the same value.
  class Key {
  public:
    explicit Key(const void *kind) { words.push_back((uint64_t)kind); }
    Key &add(mlir::Value operand);
    Key &add(mlir::ValueRange operands);
    bool operator==(const Key &other) const { return words == other.words; }

  private:
    friend class EmittedValues;
    llvm::SmallVector<uint64_t, 12> words;
  };

  /// The value of `key` when it dominates the builder's insertion point.
  mlir::Value find(const Key &key, mlir::OpBuilder &b) const;
  void insert(const Key &key, mlir::Value value) { values[key] = value; }
  void clear() { values.clear(); }

private:
  struct Hash {
    size_t operator()(const Key &key) const {
      return llvm::hash_combine_range(key.words.begin(), key.words.end());
    }
  };
  std::unordered_map<Key, mlir::Value, Hash> values;
};

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_EMITTEDVALUES_H

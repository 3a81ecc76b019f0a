//===- EmittedValues.cpp - what was emitted is used again -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/EmittedValues.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

EmittedValues::Key &EmittedValues::Key::add(Value operand) {
  APInt number;
  bool isConstant = matchPattern(operand, m_ConstantInt(&number)) && number.getBitWidth() <= 64;
  // Types are aligned: a set lowest bit tells constants from other values.
  words.push_back(isConstant ? (uint64_t)operand.getType().getAsOpaquePointer() | 1 : 0);
  words.push_back(isConstant ? number.getZExtValue() : (uint64_t)operand.getAsOpaquePointer());
  return *this;
}

EmittedValues::Key &EmittedValues::Key::add(ValueRange operands) {
  for (Value operand : operands)
    add(operand);
  return *this;
}

/// Emitted code is structured: a value dominates what follows it in its block,
/// regions included.
static bool dominates(Value value, OpBuilder &b) {
  Block *home = value.getParentBlock(), *at = b.getInsertionBlock();
  Block::iterator point = b.getInsertionPoint();
  while (at != home) {
    Operation *parent = at->getParentOp();
    if (!parent || !parent->getBlock())
      return false;
    point = parent->getIterator();
    at = parent->getBlock();
  }
  Operation *def = value.getDefiningOp();
  return !def || point == at->end() || def->isBeforeInBlock(&*point);
}

Value EmittedValues::find(const Key &key, OpBuilder &b) const {
  auto it = values.find(key);
  return it != values.end() && dominates(it->second, b) ? it->second : Value();
}

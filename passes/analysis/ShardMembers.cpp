//===- ShardMembers.cpp - who has which part of a product -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/ShardMembers.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"

using namespace mlir;
using namespace weir;

ShardMembers::ShardMembers(func::FuncOp step)
    : table(step->getAttrOfType<DictionaryAttr>(shardMembersAttr)) {
  if (auto count = step->getAttrOfType<IntegerAttr>(shardCountAttr))
    members = count.getInt();
}

void ShardMembers::removeFrom(func::FuncOp step) {
  step->removeAttr(shardMembersAttr);
  step->removeAttr(shardCountAttr);
}

std::optional<NamedAttribute> ShardMembers::find(Operation *op) const {
  if (!table)
    return std::nullopt;
  StringRef name = nodeName(op->getLoc());
  if (auto found = table.getNamed(name))
    return found;
  // passes/partition/FormPipeline.cpp puts the micro-batch before it.
  return name.starts_with("micro_") ? table.getNamed(name.split('/').second) : std::nullopt;
}

int64_t ShardMembers::of(Operation *op) const {
  auto found = find(op);
  return found ? cast<IntegerAttr>(found->getValue()).getInt() : 0;
}

StringRef ShardMembers::nodeOf(Operation *op) const {
  auto found = find(op);
  return found ? found->getName().getValue().rsplit('/').first : StringRef();
}

//===- PadBorder.cpp - borders around what is there already ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
class PadBorder final : public KernelStrategy {
public:
  /// Made where what is padded is computed inside of the result (passes/plan).
  ScheduleKind kind() const override { return ScheduleKind::PadBorder; }
  StringRef summary() const override { return "a border around what lies in the result already"; }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitPadBorder(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &padBorderStrategy() {
  static const PadBorder made;
  return made;
}
} // namespace weir

//===- Kinds.h - kinds of reductions, windows and borders -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_KINDS_H
#define WEIR_DIALECTS_WEIR_KINDS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMapInfo.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/LogicalResult.h"
#include <optional>

#include "dialects/weir/WeirKinds.h.inc"

namespace weir {

/// Whether two elements make one by it, which a third joins: what a scan, and a reduction of
/// several tensors, is of.
inline bool combines(ReduceKind kind) {
  return kind == ReduceKind::Sum || kind == ReduceKind::Prod || kind == ReduceKind::Max ||
         kind == ReduceKind::Min;
}

/// The elementwise operation, by its name in the dialect, that a reduction repeats.
inline llvm::StringRef mnemonicOfStep(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return "add";
  case ReduceKind::Prod:
    return "mul";
  case ReduceKind::Max:
    return "maximum";
  case ReduceKind::Min:
    return "minimum";
  case ReduceKind::Any:
    return "or";
  case ReduceKind::All:
    break;
  }
  return "and";
}

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_KINDS_H

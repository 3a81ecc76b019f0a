//===- NodeName.h - names of the model's nodes ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_NODENAME_H
#define WEIR_DIALECTS_WEIR_NODENAME_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"
#include <string>

namespace weir {

/// Appends the names of the model's nodes that a location stands for, each
/// once.
void collectNodeNames(mlir::Location loc, llvm::SetVector<llvm::StringRef> &names);
/// The first of them; "?" when there is none.
llvm::StringRef nodeName(mlir::Location loc);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_NODENAME_H

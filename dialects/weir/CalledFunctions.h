//===- CalledFunctions.h - entries that library functions call --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What goes through a data set's elements is an entry of its own, which no user sees:
// a library function looks it up by its name (runtime/include/weir/datasets.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_CALLEDFUNCTIONS_H
#define WEIR_DIALECTS_WEIR_CALLEDFUNCTIONS_H

#include "llvm/ADT/StringRef.h"

namespace weir {

/// What names of such entries begin with. No model's entry is called that.
inline constexpr llvm::StringLiteral calledFunctionPrefix = "weir.function.";

inline bool isCalledFunction(llvm::StringRef entry) {
  return entry.starts_with(calledFunctionPrefix);
}

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_CALLEDFUNCTIONS_H

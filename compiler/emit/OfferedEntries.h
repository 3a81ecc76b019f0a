//===- OfferedEntries.h - the entries that users see ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_OFFEREDENTRIES_H
#define WEIR_COMPILER_EMIT_OFFEREDENTRIES_H

#include "compiler/emit/Program.h"
#include "dialects/weir/CalledFunctions.h"

#include "llvm/ADT/ArrayRef.h"

namespace weir {

/// The entries but for those behind them that library functions alone call.
inline llvm::ArrayRef<EntryInfo> offeredEntries(const Program &program) {
  return llvm::ArrayRef(program.entries).take_while([](const EntryInfo &entry) {
    return !isCalledFunction(entry.name);
  });
}

} // namespace weir

#endif // WEIR_COMPILER_EMIT_OFFEREDENTRIES_H

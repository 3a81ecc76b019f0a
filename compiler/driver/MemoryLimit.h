//===- MemoryLimit.h - what --memory-limit says ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_MEMORYLIMIT_H
#define WEIR_COMPILER_DRIVER_MEMORYLIMIT_H

#include "compiler/emit/Report.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace weir::driver {

/// "1536", "512M", "1.5GiB": bytes; nothing for anything else.
std::optional<int64_t> parseSize(llvm::StringRef text);

/// What the plan does about values of nodes to stay within the limit, the dearest first.
std::vector<Report::MemoryChoice> memoryChoicesOf(mlir::ModuleOp module);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_MEMORYLIMIT_H

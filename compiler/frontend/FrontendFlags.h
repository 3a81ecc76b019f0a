//===- FrontendFlags.h - the flags that formats have ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_FRONTENDFLAGS_H
#define WEIR_COMPILER_FRONTEND_FRONTENDFLAGS_H

#include "compiler/frontend/EntrySpec.h"

namespace weir {

/// Makes a format's flags known to all that read command lines; those of a name that is there
/// already are left alone. Thread-safe, as what follows.
void registerFrontendFlag(const std::vector<FrontendFlag> &flags);
/// In the order in which they were registered.
std::vector<FrontendFlag> registeredFrontendFlags();

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_FRONTENDFLAGS_H

//===- FlagRules.h - flags that do not go together --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_RUN_FLAGRULES_H
#define WEIR_TOOLS_WEIR_RUN_FLAGRULES_H

#include "tools/common/FlagParser.h"

namespace weir::tools {

/// "found …" for a flag that was given and that nothing would read: one that says how to
/// compile, of a library; one that says how to run, where the values of nodes are asked for;
/// one that belongs to another, which is missing. Empty: there is none.
std::string whyIgnored(const FlagParser &parser, bool isLibrary, bool showsNumbers);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_RUN_FLAGRULES_H

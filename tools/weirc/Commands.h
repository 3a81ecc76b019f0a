//===- Commands.h - weirc's subcommands -------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRC_COMMANDS_H
#define WEIR_TOOLS_WEIRC_COMMANDS_H

namespace weir::tools {

/// `check MODEL`: argv[0] is "check". Prints all that is unsupported or
/// unknown; returns 0, 2 where there is something, 1 for a wrong command line.
int runCheck(int argc, char **argv);

/// `explain MODEL NODE`: argv[0] is "explain".
int runExplain(int argc, char **argv);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRC_COMMANDS_H

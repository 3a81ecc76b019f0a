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

/// `show MODEL|FILE.so|FILE.o`: what a program offers; argv[0] is "show".
int runShow(int argc, char **argv);

/// `custom-op new NAME|check FILE`; argv[0] is "custom-op".
int runCustomOp(int argc, char **argv);

/// `explain MODEL NODE`: argv[0] is "explain".
int runExplain(int argc, char **argv);

/// `cut MODEL --from=… --to=… -o PART`: writes a part of a model.
int runCut(int argc, char **argv);

/// `anonymize MODEL -o OUT`: writes a model without names and weights.
int runAnonymize(int argc, char **argv);

/// `bisect MODEL --input=…`: finds where a program goes wrong; returns 2 where it does.
int runBisect(int argc, char **argv);

/// `trace-node MODEL [NODE]`: a node through all passes.
int runTraceNode(int argc, char **argv);

/// `why MODEL A B`: what two nodes share, and why.
int runWhy(int argc, char **argv);

/// `diff A B`: what two compilations have in common, and what not.
int runDiff(int argc, char **argv);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRC_COMMANDS_H

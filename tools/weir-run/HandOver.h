//===- HandOver.h - weir-run becomes the one that compiles ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_HANDOVER_H
#define WEIR_TOOLS_WEIRRUN_HANDOVER_H

namespace weir::tools {

/// Puts weir-run-model, which lies in this program's installation or build tree, in the place of
/// this process, with the same arguments. Comes back only where that cannot be done, with an exit
/// status, after a message.
int handOver(char **argv);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_HANDOVER_H

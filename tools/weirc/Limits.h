//===- Limits.h - memory and time that a compilation may take ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For models of strangers, and machines that many share: who asks for more than a limit
// ends with a number (W0119, W0120), exit status 1 and no output, rather than with a signal
// from the system or never.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRC_LIMITS_H
#define WEIR_TOOLS_WEIRC_LIMITS_H

#include <cstdint>
#include <string>

namespace weir::tools {

struct Limits {
  int64_t memoryMegabytes = 0; ///< of address space, beyond what the tool begins with; 0: none
  int64_t seconds = 0;         ///< of wall-clock time; 0: none
};

/// Puts the limits into force for the rest of the process. `input` is the model's name, for
/// the message. Empty, or what the system refused.
std::string enforce(const Limits &limits, const std::string &input);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRC_LIMITS_H

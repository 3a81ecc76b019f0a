//===- ElfCheck.h - whether an ELF file is whole ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_ELFCHECK_H
#define WEIR_TOOLS_COMMON_ELFCHECK_H

#include <string>
#include <string_view>

namespace weir::tools {

/// What is wrong with a shared object of this machine's class, as the end of a
/// sentence that begins with its name; empty: nothing. The system's loader maps what
/// the headers name, and dies of a page that a file that was cut does not have.
std::string faultOfSharedObject(std::string_view bytes);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_ELFCHECK_H

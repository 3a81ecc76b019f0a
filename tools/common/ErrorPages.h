//===- ErrorPages.h - the pages of errors and warnings ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/errors, made part of the tools by error-pages.cmake.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_ERRORPAGES_H
#define WEIR_TOOLS_COMMON_ERRORPAGES_H

#include <string_view>

namespace weir::tools {

/// The page of a number, "W0605", as Markdown; empty where there is none.
std::string_view errorPage(std::string_view number);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_ERRORPAGES_H

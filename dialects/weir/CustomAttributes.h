//===- CustomAttributes.h - what is known of users' calls -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_CUSTOMATTRIBUTES_H
#define WEIR_DIALECTS_WEIR_CUSTOMATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace weir {

/// On a custom_call, two strings: the operation that computes its gradient, and
/// that one's function.
inline constexpr llvm::StringLiteral customGradientAttr = "weir.custom_gradient";
/// On a custom_call, a float: operations of arithmetic for each element of the
/// results.
inline constexpr llvm::StringLiteral customFlopsAttr = "weir.flops_per_element";
/// On a custom_call, an integer: so many of its last inputs are attributes of the node,
/// and no values of the graph.
inline constexpr llvm::StringLiteral customConstantsAttr = "weir.custom_constants";

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_CUSTOMATTRIBUTES_H

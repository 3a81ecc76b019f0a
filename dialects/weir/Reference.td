//===- Reference.td - what the reference page describes -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weir.td, and operations whose code is generated apart.
//
//===----------------------------------------------------------------------===//

include "dialects/weir/BlockQuantized.td"
include "dialects/weir/TreeEnsemble.td"
include "dialects/weir/Weir.td"

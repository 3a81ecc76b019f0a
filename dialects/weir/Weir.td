//===- Weir.td - all of the weir dialect -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/weir/Control.td"
include "dialects/weir/DataMovement.td"
include "dialects/weir/Elementwise.td"
include "dialects/weir/Structured.td"

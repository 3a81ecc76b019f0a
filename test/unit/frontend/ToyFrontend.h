//===- ToyFrontend.h - a format for tests -----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text, a word of what follows in each line: `toy 1` first, then `input NAME SHAPE` (of
// f32), `add NAME A B`, `mul NAME A B`, `neg NAME A` and `output NAME`. With
// --toy-plus=NAME an `add` of that name is left out: its value is its first operand.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_FRONTEND_TOYFRONTEND_H
#define WEIR_TEST_UNIT_FRONTEND_TOYFRONTEND_H

#include "compiler/frontend/Frontend.h"

namespace toy {

const weir::Frontend &frontend();

} // namespace toy

#endif // WEIR_TEST_UNIT_FRONTEND_TOYFRONTEND_H

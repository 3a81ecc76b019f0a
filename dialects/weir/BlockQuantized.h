//===- BlockQuantized.h - weights of a few bits ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_BLOCKQUANTIZED_H
#define WEIR_DIALECTS_WEIR_BLOCKQUANTIZED_H

#include "dialects/weir/Weir.h"

#define GET_OP_CLASSES
#include "dialects/weir/BlockQuantizedOps.h.inc"

#endif // WEIR_DIALECTS_WEIR_BLOCKQUANTIZED_H

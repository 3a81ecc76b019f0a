//===- TypeConstraints.h - which types attributes may have ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_TYPECONSTRAINTS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_TYPECONSTRAINTS_H

#include "compiler/frontend/tensorflow/OpTable.h"

namespace weir::tf {

/// The types that an attribute of the table (OpTable.h) may be, a bit for each by its
/// number; 0: any. Thread-safe.
uint64_t allowedTypes(const AttrDef &def);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_TYPECONSTRAINTS_H

//===- UnusedAttributes.h - attributes that say nothing here ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_UNUSEDATTRIBUTES_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_UNUSEDATTRIBUTES_H

#include "compiler/frontend/tensorflow/OpTable.h"

namespace weir::tf {

/// Whether an attribute says how many operands or results there are, or of which types.
bool isOfArguments(const OpDef &op, const AttrDef &attr);

/// Whether a value is the attribute's default. Of an attribute without one: false, or empty.
bool isDefault(const AttrValue &value, const AttrDef &attr);

/// Whether attributes.txt says that the attribute has no effect on what is computed,
/// whatever it says. Thread-safe.
bool changesNothing(std::string_view op, std::string_view attr);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_UNUSEDATTRIBUTES_H

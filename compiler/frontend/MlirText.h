//===- MlirText.h - what of MLIR's messages users read ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_MLIRTEXT_H
#define WEIR_COMPILER_FRONTEND_MLIRTEXT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace weir {

/// Takes MLIR's "'weir.conv' op " off the front of a message; the operation's
/// name, empty where the message has no such front.
std::string takeOperationName(std::string &message);

/// Whether a message is one of MLIR's or LLVM's own, about operands, results,
/// types and values of theirs: it says nothing to who has only a model. What weir
/// says of a model is in the model's words.
bool isForeignText(llvm::StringRef message);

/// `message` with types of tensors as who has a model says them: 'tensor<4x?xf32>'
/// becomes f32 [4, open].
std::string withPlainTypes(llvm::StringRef message);

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_MLIRTEXT_H

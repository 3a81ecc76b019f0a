//===- MlirText.cpp - what of MLIR's messages users read ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/MlirText.h"
#include "llvm/ADT/STLExtras.h"

using namespace weir;

std::string weir::takeOperationName(std::string &message) {
  llvm::StringRef text(message);
  if (!text.consume_front("'"))
    return "";
  auto [operation, rest] = text.split('\'');
  if (!rest.consume_front(" op "))
    return "";
  std::string name = operation.str();
  message = rest.str();
  return name;
}

bool weir::isForeignText(llvm::StringRef message) {
  // Parts of the sentences in which MLIR's traits, its conversions and LLVM's
  // verifier speak.
  static constexpr llvm::StringRef parts[] = {"operand #",
                                              "result #",
                                              "failed to verify that",
                                              "requires the same",
                                              "requires all",
                                              "requires compatible",
                                              "failed to legalize",
                                              "failed to satisfy",
                                              "unrealized_conversion",
                                              "does not dominate",
                                              "binary operator",
                                              "llvm.",
                                              "LLVM",
                                              "incompatible with return type",
                                              "failed to infer returned types",
                                              "type of return operand",
                                              "expects the same",
                                              "to have same type",
                                              "must have the same type",
                                              "operand type",
                                              "result type",
                                              "memref<",
                                              "block argument"};
  return llvm::any_of(parts, [&](llvm::StringRef part) { return message.contains(part); });
}

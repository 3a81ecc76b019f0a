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

/// What stands between `tensor<` and its `>`, plainly.
static std::string plainType(llvm::StringRef inner) {
  std::string sizes;
  while (!inner.empty()) {
    size_t digits = inner.find_first_not_of("0123456789");
    llvm::StringRef size = inner.starts_with("?") ? "?" : inner.take_front(digits);
    llvm::StringRef rest = inner.drop_front(std::min(size.size(), inner.size()));
    if (size.empty() || !rest.consume_front("x"))
      break;
    sizes += (sizes.empty() ? "" : ", ") + (size == "?" ? "open" : size.str());
    inner = rest;
  }
  bool unranked = inner.consume_front("*x");
  return inner.str() + (unranked ? " of an unknown rank" : " [" + sizes + "]");
}

std::string weir::withPlainTypes(llvm::StringRef message) {
  static constexpr llvm::StringRef word = "tensor<";
  std::string text;
  for (size_t at; (at = message.find(word)) != llvm::StringRef::npos;) {
    size_t end = at + word.size();
    for (int depth = 1; end < message.size() && depth; ++end)
      depth += message[end] == '<' ? 1 : message[end] == '>' ? -1 : 0;
    llvm::StringRef before = message.take_front(at);
    llvm::StringRef inner = message.slice(at + word.size(), end - 1);
    message = message.drop_front(end);
    if (before.ends_with("'") && message.starts_with("'")) {
      before = before.drop_back();
      message = message.drop_front();
    }
    text += before.str() + plainType(inner);
  }
  return text + message.str();
}

//===- OperatorTable.h - what ONNX says of its operators --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The signatures of all operators of ONNX's own domains in all their versions:
// how many inputs and outputs, which attributes with which defaults. A model
// imports an opset; each of its operators then means the newest version at or
// before that opset. The rows (OperatorTable.inc) are generated from ONNX's
// published schemas. Immutable data, thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_OPERATORTABLE_H
#define WEIR_COMPILER_FRONTEND_ONNX_OPERATORTABLE_H

#include "compiler/frontend/onnx/Model.h"

#include <optional>
#include <string>
#include <vector>

namespace weir::onnx {

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind;
  bool required;
  /// As text; lists are separated by commas. Without a value: no default.
  std::optional<std::string_view> defaultValue;
};

struct OperatorSpec {
  std::string_view domain, name;
  int64_t since;               ///< the version this is, not the opset asked for
  int leastInputs, mostInputs; ///< most: -1 is any number
  int leastOutputs, mostOutputs;
  /// Parameters separated by spaces; `?` may be left out, `*` repeats.
  std::string_view inputs, outputs;
  std::string_view attributeText;

  /// The attributes, in order of their names.
  std::vector<AttributeSpec> attributes() const;
  /// The attribute of that name, if the operator has it.
  std::optional<AttributeSpec> attribute(std::string_view attributeName) const;
  /// The name of an input for messages: "axes", "inputs[2]".
  std::string inputName(size_t index) const;
  /// Whether an input may be left out.
  bool isOptional(size_t index) const;
};

/// The operator that `name` means at an opset of its domain; nothing where the
/// domain has no such operator, or only later.
std::optional<OperatorSpec> findOperator(std::string_view domain, std::string_view name,
                                         int64_t opset);

/// The version in which a domain's operator first appears; 0 where it has none.
int64_t firstVersion(std::string_view domain, std::string_view name);

/// Names of a domain's operators, each at least once.
std::vector<std::string_view> operatorNames(std::string_view domain);

/// The domain of ONNX Runtime's own operators. The table has the signatures that
/// one of its releases has; files may hold others.
inline constexpr std::string_view microsoftDomain = "com.microsoft";

/// Whether a domain is ONNX's own: the table then has all of its operators.
bool isKnownDomain(std::string_view domain);

/// The newest opset of the standard domain that the table knows.
int64_t newestOpset();

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_OPERATORTABLE_H

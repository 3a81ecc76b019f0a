//===- Entry.h - feeds and fetches of an ONNX model -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_ENTRY_H
#define WEIR_COMPILER_FRONTEND_ONNX_ENTRY_H

#include "compiler/frontend/Import.h"
#include "compiler/frontend/onnx/Model.h"

#include "mlir/IR/BuiltinTypes.h"

namespace weir::onnx {

struct PlannedFeed {
  std::string_view value; ///< name in the model
  mlir::RankedTensorType type;
  /// Of a sequence or optional, whose elements are then boxes; else null.
  const TypeInfo *nested;
  /// Which part of a map: its keys, its values; else None.
  enum class Part : uint8_t { None, Keys, Values } part;
  std::vector<mlir::NamedAttribute> attributes;
};

struct PlannedFetch {
  std::string_view value;
  std::string name;
  bool isFurther = false; ///< EntrySpec::further
};

/// What an entry computes: what comes in, what goes out, and the nodes between,
/// in the model's order.
struct EntryPlan {
  std::string name;
  std::vector<PlannedFeed> feeds;
  std::vector<PlannedFetch> fetches;
  std::vector<const Node *> needed;
};

/// Resolves an entry against a model. Without feeds, the model's inputs that no
/// initializer gives a value are fed; without fetches, its outputs are fetched.
/// Nothing, with errors in `sink`, where a name or a type does not exist.
std::optional<EntryPlan> planEntry(const Model &model, const EntrySpec &spec,
                                   const ImportOptions &options, mlir::MLIRContext &context,
                                   const std::string &file, DiagnosticSink &sink);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_ENTRY_H

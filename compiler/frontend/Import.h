//===- Import.h - from model files to the weir dialect ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What importers take and give. An imported module holds one func.func an
// entry:
//   func.func @NAME(%x: tensor<?x3xf32> {weir.name = "x", weir.dims = ["N", ""]})
//       -> (tensor<?x10xf32> {weir.name = "y"}) attributes {weir.entry = "NAME"}
// `weir.name` is the name users feed or fetch by, `weir.entry` that of the entry
// as the user knows it. `weir.dims` (optional) names dimensions that are not
// fixed: equal names in one entry are equal sizes at run time, "" is any size.
// `weir.lower` and `weir.upper` (optional, arrays of i64, one value a dimension)
// bound them; upper -1 is no bound. Locations are node names: NameLoc around
// a FileLineColLoc of the model file.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_IMPORT_H
#define WEIR_COMPILER_FRONTEND_IMPORT_H

#include "compiler/frontend/CustomOperation.h"
#include "compiler/frontend/Diagnostic.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir {

/// A value of the graph that the caller provides.
struct FeedSpec {
  std::string value; ///< "node:port", or an ONNX value's name
  std::string name;  ///< what users call it; empty: derived from `value`
  /// Overrides the shape in the file; -1: not fixed.
  std::optional<std::vector<int64_t>> shape;
  std::string dtype; ///< "f32", "i64", … ; empty: as in the file
};

/// A value of the graph that the caller gets.
struct FetchSpec {
  std::string value;
  std::string name;
  /// What the file does not say: how many dimensions there are; -1: not fixed.
  std::optional<std::vector<int64_t>> shape = std::nullopt;
};

/// A function of the compiled program. Without feeds and fetches: those of the
/// model, or of its signature.
struct EntrySpec {
  std::string name;      ///< empty: the format's default
  std::string signature; ///< of a SavedModel
  std::vector<FeedSpec> feeds;
  std::vector<FetchSpec> fetches;
  /// Fetched beside these, or beside those of the model, unless there is one of the
  /// name: what training needs (dialects/weir/Training.h).
  std::vector<FetchSpec> further;
};

/// The sizes that a named dimension may have; lower = upper fixes it.
struct DimBinding {
  int64_t lower = 0;
  int64_t upper = -1; ///< -1: no bound
};

struct ImportOptions {
  std::vector<EntrySpec> entries;                     ///< empty: what the model itself offers
  std::map<std::string, std::vector<int64_t>> shapes; ///< by feed's name
  std::map<std::string, DimBinding> dims;             ///< by dimension's name
  std::vector<CustomOperation> customOperations;
  /// Of a SavedModel that holds several graphs; empty: the one tagged `serve`.
  std::vector<std::string> tags;
  /// Whether entries are to be trained: importers mark weights, and what computes
  /// otherwise in training.
  bool training = false;
  /// Where given, gets all that names in `shapes` and `dims` may say: feeds and
  /// dimensions of the entries that were imported.
  std::set<std::string> *offered = nullptr;

  /// Where given, gets the paths of the files that were read beside the model: those of
  /// an ONNX model's external tensors. A SavedModel's are all in its folder.
  std::set<std::string> *files = nullptr;

  void offer(const std::string &name) const {
    if (offered && !name.empty())
      offered->insert(name);
  }
};

/// Imports an ONNX model. Null, with errors in `sink`, where it is malformed or
/// holds what cannot be imported; then every such node has its diagnostic. The
/// module's constants refer to the bytes of the file, which must stay as it is.
/// A context is used by one import at a time; several contexts are independent.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, const std::string &path,
                                             const ImportOptions &options, DiagnosticSink &sink);

/// Imports a GraphDef (.pb, .pbtxt) or a SavedModel's folder, likewise.
mlir::OwningOpRef<mlir::ModuleOp> importTensorFlow(mlir::MLIRContext &context,
                                                   const std::string &path,
                                                   const ImportOptions &options,
                                                   DiagnosticSink &sink);

/// Versions of an operator that an importer takes. It may still refuse a use of
/// it, by the node's name.
struct SupportedOperator {
  std::string domain; ///< ONNX's; empty for its own domain and for TensorFlow
  std::string name;
  int64_t first = 1; ///< opset; the operator may be older
  int64_t last = 0;  ///< 0: up to the newest
};

/// All that the import tables hold, sorted.
std::vector<SupportedOperator> supportedOnnxOperators();
std::vector<SupportedOperator> supportedTensorFlowOperations();

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_IMPORT_H

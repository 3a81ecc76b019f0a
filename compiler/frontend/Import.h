//===- Import.h - from model files to the weir dialect ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What importers of all formats (Frontend.h) take and give. An imported module holds one func.func
// an entry:
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
#include "compiler/frontend/EntrySpec.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weir {

struct ImportOptions {
  std::vector<EntrySpec> entries;          ///< empty: what the model itself offers
  std::map<std::string, ShapeSpec> shapes; ///< by feed's name
  std::map<std::string, DimBinding> dims;  ///< by dimension's name
  FrontendFlagValues flags;                ///< of the format's own flags
  std::vector<CustomOperation> customOperations;
  /// Whether entries are to be trained: importers mark weights, and what computes
  /// otherwise in training.
  bool training = false;
  unsigned jobs = 1; ///< threads that read a model's constants

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

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_IMPORT_H

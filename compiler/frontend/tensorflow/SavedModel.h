//===- SavedModel.h - a SavedModel's folder ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `saved_model.pb` or `.pbtxt`, `variables/`, `assets/`. A folder may hold
// several graphs, told apart by tags; one is chosen. What variables and tables
// hold is found by following the graph's own restore operation (InitialState.h)
// and, where that does not say, the object graph (ObjectGraph.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_SAVEDMODEL_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_SAVEDMODEL_H

#include "compiler/frontend/tensorflow/Bundle.h"
#include "compiler/frontend/tensorflow/Graph.h"
#include "compiler/frontend/tensorflow/Source.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::tf {

/// TensorInfo: a tensor of the graph behind a signature's name. A composite one is
/// several, called after the attributes that its Python class has for them:
/// `NAME.values`, `NAME.row_splits` (`NAME.row_splits_0` … from the outermost, where
/// there are more) of a RaggedTensor; `NAME.indices`, `NAME.values`,
/// `NAME.dense_shape` of a SparseTensor and of IndexedSlices (in that class's order,
/// the shape may be missing); `NAME.0` … of any other class.
struct SignatureTensor {
  std::string name;   ///< what users call it
  std::string tensor; ///< `node:port`; empty where the file names none
  DataType type = DataType::Invalid;
  Shape shape;
};

struct Signature {
  std::string key, method;
  std::vector<SignatureTensor> inputs, outputs; ///< sorted by name
};

struct SavedModel {
  std::string folder;
  std::unique_ptr<Source> source;
  GraphDef graph;
  std::string_view objectGraph; ///< a SavedObjectGraph; empty where there is none
  std::vector<std::string> tags;
  std::vector<Signature> signatures; ///< sorted by key
  /// Node names, empty where there is none.
  std::string restoreOp, initOp;
  std::string filenameTensor;
  /// Tensors fed with the paths of assets when the init operation runs.
  std::map<std::string, std::string> assets;
  /// Null where the model has no variables.
  std::unique_ptr<Bundle> variables;

  /// Where its bundle is, or would be.
  std::string variablesPrefix() const { return folder + "/variables/variables"; }

  const Signature *signature(std::string_view key) const {
    for (const Signature &signature : signatures)
      if (signature.key == key)
        return &signature;
    return nullptr;
  }
};

/// The folder of the model itself: `path`, or its numbered sub-folder with the
/// largest number (as serving systems lay out versions). Empty if neither holds
/// a saved_model file.
std::string findSavedModel(const std::string &path);

/// Reads a SavedModel. `tags` empty: the graph tagged `serve` alone, else the
/// one tagged so among other tags, else the only one; otherwise the one that has
/// exactly these. Null after diagnostics (W0201 to W0204, W0213, W0214).
std::unique_ptr<SavedModel> readSavedModel(const std::string &folder,
                                           const std::vector<std::string> &tags,
                                           DiagnosticSink &sink);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_SAVEDMODEL_H

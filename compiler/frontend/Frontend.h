//===- Frontend.h - a format of models, to the compiler ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that the compiler knows of a format of model files: which files it reads, its
// flags, its operators, its importer. A format is a folder beside this file, and a
// line in compiler/driver/Frontends.cpp (docs/formats.md).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_FRONTEND_H
#define WEIR_COMPILER_FRONTEND_FRONTEND_H

#include "compiler/frontend/Import.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace weir {

/// Versions of an operator that an importer takes. It may still refuse a use of
/// it, by the node's name.
struct SupportedOperator {
  std::string domain; ///< empty: the format has none
  std::string name;
  int64_t first = 0; ///< version of the operator set; the operator may be older; 0: it has none
  int64_t last = 0;  ///< 0: up to the newest
};

/// Stateless: one object a format, used by several compilations at once.
class Frontend {
public:
  virtual ~Frontend();

  /// One word, for lists: "onnx".
  virtual llvm::StringRef name() const = 0;
  /// The files that it reads, for help: ".pb or .pbtxt (GraphDef), a SavedModel's folder".
  virtual llvm::StringRef files() const = 0;
  /// How names of its files end, with the dot.
  virtual llvm::ArrayRef<llvm::StringRef> suffixes() const = 0;
  /// What a folder that it reads is, "the folder of a SavedModel"; empty: it reads none.
  virtual llvm::StringRef folder() const { return ""; }
  /// Whether a folder looks like one of its: asked where several formats read folders.
  virtual bool ownsFolder(llvm::StringRef) const { return false; }
  /// Whether a file of no known suffix that begins with `head` (up to sniffedBytes of it) is
  /// one of its. Only what nothing else begins with: two formats that both say so are told of.
  virtual bool sniffs(llvm::StringRef) const { return false; }
  /// How a file of this suffix, which is not read but which users of the format have,
  /// becomes one that is; empty: nobody knows.
  virtual llvm::StringRef wayFrom(llvm::StringRef) const { return ""; }
  /// Flags beside those of every format. Importers find their values in
  /// ImportOptions::flags.
  virtual std::vector<FrontendFlag> flags() const { return {}; }
  /// All that the import tables hold, in an order that stays.
  virtual std::vector<SupportedOperator> operators() const { return {}; }
  /// Whether a file holds weir's own IR, after whatever stage: then what MLIR says of it
  /// are messages for its author, and it has no nodes of a model.
  virtual bool isOwnIr() const { return false; }

  /// Imports a file or folder. Null, with errors in `sink`, where it is malformed or
  /// holds what cannot be imported; then every such node has its diagnostic. The
  /// module's constants may refer to the bytes of the file, which must stay as it is.
  /// A context is used by one import at a time; several contexts are independent.
  virtual mlir::OwningOpRef<mlir::ModuleOp> import(mlir::MLIRContext &context,
                                                   const std::string &path,
                                                   const ImportOptions &options,
                                                   DiagnosticSink &sink) const = 0;
};

constexpr size_t sniffedBytes = 4096;

/// Makes a format known to all that read models. False: one of its name or with one of its
/// suffixes is there already. `frontend` must live as long as the program. Thread-safe.
bool registerFrontend(const Frontend &frontend);
/// In the order in which they were registered. Thread-safe.
llvm::SmallVector<const Frontend *> frontends();

/// The files of formats, for messages: ".onnx, .pb, or the folder of a SavedModel".
std::string possibleFiles(llvm::ArrayRef<const Frontend *> formats);

/// The format of a file or folder: by its suffix, else by how it begins. Null: none, and
/// `why` says what was found and what is possible.
const Frontend *frontendOf(const std::string &path, std::string &why);

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_FRONTEND_H

//===- Datasets.h - data sets of the graph ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A data set is a value: a sequence that the runtime's kernels make and read
// (runtime/include/weir/datasets.h), whose attributes also say, for the importer, what its
// elements are. Functions that elements go through become functions of the module
// (dialects/weir/CalledFunctions.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_DATASETS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_DATASETS_H

#include "compiler/frontend/tensorflow/GraphImporter.h"

namespace weir::tf {

/// Kinds of data sets; numbers are those of weir_dataset_kind.
enum class DatasetKind : int64_t {
  Tensors,
  Slices,
  Range,
  Records,
  Lines,
  Fixed,
  Map,
  Batch,
  Padded,
  Shuffle,
  Repeat,
  Take,
  Skip,
  Zip,
  Concatenate,
  Interleave,
  Filter,
  Scan,
  TakeWhile,
  Prefetch,
  Cache,
  Shard,
  Unbatch
};

/// One tensor of an element. Without a shape its rank is known in the run only, and its
/// value is a sequence of one tensor; a data set has none either.
struct Component {
  DataType type = DataType::Invalid;
  std::optional<IntVector> shape; ///< kDynamic: an open size
};
using Components = llvm::SmallVector<Component>;

/// The types of a sequence that stands for a data set, or of one tensor.
mlir::RankedTensorType sequenceType(mlir::MLIRContext *context, int64_t size);
/// The type of a component's value; null: weir has none for its elements.
mlir::RankedTensorType typeOf(mlir::MLIRContext *context, const Component &component);
/// The types of all; nothing after a report.
std::optional<llvm::SmallVector<Type>> typesOf(NodeImport &n, const Components &components);

/// What the node says of elements, by its attributes of these names.
Components saidComponents(NodeImport &n, std::string_view types = "output_types",
                          std::string_view shapes = "output_shapes");
/// What a data set's elements are; none where its value comes from somewhere else.
std::optional<Components> elementsOf(Value dataset);
/// What components are, by their values; types as `said` has them.
Components componentsOf(llvm::ArrayRef<Value> values, const Components &said);

/// Input `i`, a data set; null after a report.
Value datasetAt(NodeImport &n, size_t i);

/// A function of the module that elements go through.
struct DatasetFunction {
  Value name;                        ///< a string
  llvm::SmallVector<Value> captures; ///< what it takes behind an element's components
  llvm::SmallVector<Value> results;  ///< values inside of it: for their types
  int64_t boxed = 0;                 ///< bits of results that are sequences of one tensor
};

/// Imports the function that an attribute names, for arguments that are `components`;
/// inputs [first, end) of the node are what else it takes. Failure after a report.
mlir::FailureOr<DatasetFunction> datasetFunction(NodeImport &n, std::string_view attribute,
                                                 const Components &components, size_t first,
                                                 size_t end);

/// Where a stateful random operation begins: its seeds, and how many blocks it has drawn
/// before. That is null where it begins anew in each run; in a function of elements it
/// goes on, and draws `blocks` (i64). Seeds that are not given are others for each node
/// there.
struct RandomState {
  int64_t seed, seed2;
  Value drawn;
};
RandomState randomState(NodeImport &n, Value blocks);
/// The numbers that a random operation draws for each result, in TensorFlow's count.
inline constexpr int64_t blocksPerResult = 256;

/// Erases functions of the module that no entry's data set names.
void dropUnusedFunctions(mlir::ModuleOp module);

llvm::ArrayRef<OpImport> datasetImports();
llvm::ArrayRef<OpImport> iteratorImports();

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_DATASETS_H

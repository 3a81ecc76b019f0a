//===- EdgeTypes.h - types of edges outside of the program ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_EDGETYPES_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_EDGETYPES_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// The type of an edge of the graph that is being imported, whether or not the
/// program needs it: what one entry puts into a queue or a staging area another
/// takes out. It is imported apart, with its placeholders as the graph describes
/// them, and thrown away. Null where that cannot be, or inside of a loop.
mlir::RankedTensorType typeOfEdge(NodeImport &n, Edge edge);

/// A shape that fits tensors of `other` as well as what `shape` has fitted so far
/// (`isFirst`: nothing yet): sizes that differ are open; none where ranks differ.
void widenShape(std::optional<IntVector> &shape, bool isFirst, llvm::ArrayRef<int64_t> other);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_EDGETYPES_H

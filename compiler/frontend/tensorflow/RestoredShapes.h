//===- RestoredShapes.h - shapes of what a run restores ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is in a checkpoint only the run knows. A program's tensors have a rank, and are
// faster with sizes: both are looked for where the graph has them.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_RESTOREDSHAPES_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_RESTOREDSHAPES_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// An output of a node that restores tensors. Views live as long as the graph.
struct RestoredTensor {
  uint32_t node = 0, port = 0;
  std::optional<std::string> prefix, name, slice; ///< where they are known now
};

struct RestoredShape {
  Shape shape;
  /// What a run ends with that finds another shape: INVALID_ARGUMENT where TensorFlow would
  /// refuse it, too; UNIMPLEMENTED where it would go on.
  int64_t code = 12;
};

/// The shape of what is restored, in the graph that is being imported: as the user says
/// (--shape), as its slice says, as the variable has it that is assigned or the user says of the
/// fetch, as the graph saves a tensor of that name, or as a checkpoint has it that is there now
/// (its rank). Nothing where none of these tells.
std::optional<RestoredShape> restoredShape(NodeImport &n, const RestoredTensor &tensor);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_RESTOREDSHAPES_H

//===- RegisteredGradients.h - gradients as TensorFlow has them -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow has a function for the gradient of each operation, which is not
// always the derivative of what the operation is made of here: at kinks, at
// poles, where a loss hands on a gradient of its own, or of matrices. Where a
// program is differentiated, results of such nodes go through a loop that never
// runs, whose body is that function (givenGradientAttr, passes/gradient).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_REGISTEREDGRADIENTS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_REGISTEREDGRADIENTS_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// A node that is differentiated: its tensors, and the gradients of its results.
struct Differentiated {
  NodeImport &n; ///< writes inside of the region
  llvm::ArrayRef<Value> x, y, dy;

  /// The result `port` of another operation of TensorFlow, with the node's own
  /// attributes where names agree; null after a report.
  Value call(std::string_view op, llvm::ArrayRef<Value> inputs, size_t port = 0,
             std::vector<Attr> attributes = {}) const;
};

/// The gradients by the node's inputs; null for none.
using RegisteredGradient = llvm::SmallVector<Value> (*)(const Differentiated &d);

struct GradientRow {
  std::string_view op;
  RegisteredGradient gradient;
};

/// The families, each in a file of its name.
llvm::ArrayRef<GradientRow> activationGradients();
llvm::ArrayRef<GradientRow> secondGradients();
llvm::ArrayRef<GradientRow> matrixGradients();
llvm::ArrayRef<GradientRow> fourierGradients();
llvm::ArrayRef<GradientRow> selectionGradients();

/// Makes of a node's results those that have its registered gradient. Leaves
/// them where there is none. Failure after a report.
LogicalResult attachGradient(NodeImport &n);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_REGISTEREDGRADIENTS_H

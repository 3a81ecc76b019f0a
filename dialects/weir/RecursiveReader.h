//===- RecursiveReader.h - elements of fused operations ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An ElementReader over a tree of operations: an operand is a leaf, which the
// generator reads from a buffer, or is computed by the operation that defines
// it. Serves kernels (leaves are the kernel's buffers) and the shape arithmetic
// of steps (leaves are buffers or scalars of the step).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_RECURSIVEREADER_H
#define WEIR_DIALECTS_WEIR_RECURSIVEREADER_H

#include "dialects/weir/Weir.h"
#include "llvm/ADT/DenseMap.h"

namespace weir {

class RecursiveReader : public ElementReader {
public:
  using ElementReader::ElementReader;

  mlir::Value element(mlir::Value tensor, mlir::ValueRange indices) override;
  mlir::Value dim(mlir::Value tensor, unsigned i) override;

protected:
  /// Whether `tensor` is read from outside rather than computed.
  virtual bool isLeaf(mlir::Value tensor) = 0;
  virtual mlir::Value leafElement(mlir::Value tensor, mlir::ValueRange indices) = 0;
  virtual mlir::Value leafDim(mlir::Value tensor, unsigned i) = 0;
  /// An element of a constant at a place known only at run time.
  virtual mlir::Value constantElement(mlir::Value tensor, mlir::ElementsAttr value,
                                      mlir::ValueRange indices) = 0;
  /// What elements are read as has changed: those emitted so far count no more.
  void forgetElements() { elements.clear(); }
  /// Sizes, too.
  void forgetAll() {
    elements.clear();
    emitted.clear();
  }

private:
  EmittedValues elements;
};

/// The constant that defines `tensor`, when it has its elements at hand.
mlir::ElementsAttr constantElements(mlir::Value tensor);
/// An attribute of a constant's element as a value in compute form.
mlir::Value materializeElement(mlir::OpBuilder &b, mlir::Location loc, mlir::Attribute element,
                               mlir::Type type);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_RECURSIVEREADER_H

//===- PickedConstant.h - some entries of a constant ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_PICKEDCONSTANT_H
#define WEIR_DIALECTS_WEIR_PICKEDCONSTANT_H

#include "dialects/weir/Weir.h"

namespace weir {

/// As many of a constant's elements as `type` has, where all are equal; else null.
mlir::TypedAttr ofEqualElements(mlir::Attribute value, mlir::RankedTensorType type);

/// Entries `indices`, which exist, of dimension `axis` of a constant, in an attribute of their own
/// of type `result`: a copy of the bytes. Null where its elements are not of whole bytes, where
/// they cannot be read, and above 256 MiB.
mlir::TypedAttr pickedConstant(mlir::TypedAttr value, mlir::RankedTensorType result, int64_t axis,
                               llvm::ArrayRef<int64_t> indices);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_PICKEDCONSTANT_H

//===- Constants.h - values as attributes -----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_CONSTANTS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_CONSTANTS_H

#include "compiler/frontend/tensorflow/Bundle.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>
#include <string_view>

namespace weir::tf {

/// An elements attribute of little-endian bytes, row by row; a single element's
/// bytes stand for all. Booleans are a byte each.
mlir::TypedAttr denseAttr(mlir::RankedTensorType type, std::string_view data);

/// A blob: `bytes` lie at `offset` of the file `path`.
mlir::TypedAttr blobAttr(mlir::RankedTensorType type, const std::string &path, int64_t offset,
                         std::string_view bytes);

/// What a bundle holds, by value where it is small or its bytes are not those of a
/// file, else as a blob.
mlir::TypedAttr storedAttr(mlir::RankedTensorType type, const BundleTensor &tensor);

/// Strings; a single one stands for all.
mlir::TypedAttr stringsAttr(mlir::RankedTensorType type, llvm::ArrayRef<std::string_view> strings);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_CONSTANTS_H

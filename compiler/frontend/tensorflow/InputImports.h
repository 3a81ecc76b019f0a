//===- InputImports.h - operations that bring data in -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_INPUTIMPORTS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_INPUTIMPORTS_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// The picture of a DecodeImage whose file may be an animation, for an operation that
/// wants a rank: an animation is an error of the run. Null where `box` is no such.
Value openImage(NodeImport &n, Value box);

// Families of operations, each in a file of its name.
llvm::ArrayRef<OpImport> exampleImports();
llvm::ArrayRef<OpImport> imageFileImports();
llvm::ArrayRef<OpImport> readerImports();
llvm::ArrayRef<OpImport> serializedImports();
llvm::ArrayRef<OpImport> storeImports();
llvm::ArrayRef<OpImport> summaryImports();

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_INPUTIMPORTS_H

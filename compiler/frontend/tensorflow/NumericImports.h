//===- NumericImports.h - numeric families of importers ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_NUMERICIMPORTS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_NUMERICIMPORTS_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

// Further families of importers; see NodeImport.h.
llvm::ArrayRef<OpImport> crossImports();
llvm::ArrayRef<OpImport> ctcImports();
llvm::ArrayRef<OpImport> decompositionImports();
llvm::ArrayRef<OpImport> drawnImports();
llvm::ArrayRef<OpImport> generatorImports();
llvm::ArrayRef<OpImport> shapeImports();
llvm::ArrayRef<OpImport> specialFunctionImports();

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_NUMERICIMPORTS_H

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
llvm::ArrayRef<OpImport> mapImports();
llvm::ArrayRef<OpImport> shapeImports();
llvm::ArrayRef<OpImport> specialFunctionImports();

/// Whether the constant integer in input `input` names the generator Philox, by itself or as the
/// one that the machine prefers; reports where it does not.
bool isPhilox(NodeImport &n, size_t input);

/// Numbers of trials and chances of success as weir_kernel_random_binomial takes them:
/// f32 or f64, both in the shape of the two. Null where one is null.
std::pair<Value, Value> binomialParameters(NodeImport &n, Value counts, Value chances);
/// Samples of the node's `dtype` in the shape of input `shapeInput`; `state` as the
/// kernels take it (i64 [2] or [3]). Null, mostly with a report, where something is missing.
Value drawBinomial(NodeImport &n, size_t shapeInput, Value state, Value counts, Value chances);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_NUMERICIMPORTS_H

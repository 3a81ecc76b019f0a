//===- Activations.h - activation functions in weir -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that operators and the gates of recurrent operators share.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_ACTIVATIONS_H
#define WEIR_COMPILER_FRONTEND_ONNX_ACTIVATIONS_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

Value leakyRelu(TensorBuilder &t, Value x, double alpha);
Value elu(TensorBuilder &t, Value x, double alpha);
Value softplus(TensorBuilder &t, Value x);
Value hardSigmoid(TensorBuilder &t, Value x, double alpha, double beta);
Value softsign(TensorBuilder &t, Value x);

/// An activation by its name in lower case, with the parameters that a node
/// gives it.
struct Activation {
  std::string name;
  double alpha, beta;
};

/// Whether recurrent operators know an activation of that name (lower case).
bool isActivation(llvm::StringRef name);
/// The activation with the standard's parameters.
Activation activationOf(std::string name);
Value applyActivation(TensorBuilder &t, const Activation &f, Value x);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_ACTIVATIONS_H

//===- OperatorNames.h - what operators are called --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_OPERATORNAMES_H
#define WEIR_COMPILER_FRONTEND_ONNX_OPERATORNAMES_H

#include <string_view>
#include <vector>

namespace weir::onnx {

/// Names of a domain's operators, each at least once.
std::vector<std::string_view> operatorNames(std::string_view domain);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_OPERATORNAMES_H

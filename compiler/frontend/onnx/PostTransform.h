//===- PostTransform.h - from scores to answers -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_POSTTRANSFORM_H
#define WEIR_COMPILER_FRONTEND_ONNX_POSTTRANSFORM_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// Scores [samples, targets] through ai.onnx.ml's post_transform of that name;
/// reports a name that is none.
Value postTransform(NodeImport &n, Value scores, std::string_view name);

/// The two results of a classifier: labels [samples] and scores [samples,
/// classes], transformed as the node says. With one score for two classes the
/// other one's follows from it; `positive`: scores are probabilities, divided
/// at one half, not at zero.
mlir::LogicalResult classify(NodeImport &n, Value scores, Value labels, bool positive);

/// The names of a classifier's classes, a vector: the integers of attribute
/// `integers`, or the strings of classlabels_strings. Null, with a report, where
/// the node has neither.
Value classLabels(NodeImport &n, std::string_view integers);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_POSTTRANSFORM_H

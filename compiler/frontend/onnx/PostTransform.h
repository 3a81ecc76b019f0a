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

/// The two results of a classifier of scores [samples, classes]: the label of the largest, and the
/// scores, transformed as the node says.
mlir::LogicalResult classify(NodeImport &n, Value scores, Value labels);

/// Of two labels [2] the second for a score [samples, 1] above `limit`.
Value labelOf(NodeImport &n, Value score, Value labels, double limit);

/// A score [samples, 1] for the second of two classes, and beside it the first one's, as ONNX
/// Runtime transforms them, for ONNX does not say: the logistic function of both signs, or no
/// transformation of what is left of 1 (of 0 where not `ofOne`) and the score. What PROBIT takes is
/// a probability: it is of what is left of 1, where ONNX Runtime leaves a number unwritten.
Value pairOfScores(NodeImport &n, Value score, std::string_view transform, bool ofOne);

/// The names of a classifier's classes, a vector: the integers of attribute
/// `integers`, or the strings of classlabels_strings. Null, with a report, where
/// the node has neither.
Value classLabels(NodeImport &n, std::string_view integers);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_POSTTRANSFORM_H

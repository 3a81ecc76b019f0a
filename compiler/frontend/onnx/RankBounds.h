//===- RankBounds.h - ranks that a graph's declarations allow ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_RANKBOUNDS_H
#define WEIR_COMPILER_FRONTEND_ONNX_RANKBOUNDS_H

#include "compiler/frontend/onnx/Model.h"

#include <string_view>
#include <unordered_map>

namespace weir::onnx {

/// The most dimensions that each value of `graph` can have, so that what is computed from it has
/// the ranks that the graph declares: a result of an elementwise operation has no fewer dimensions
/// than its operands, a slice as many. Values of which nothing follows are left out. Takes time
/// linear in the graph. For graphs that orderGraph has accepted.
std::unordered_map<std::string_view, int64_t> rankBounds(const Graph &graph);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_RANKBOUNDS_H

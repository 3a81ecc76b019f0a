//===- Entry.h - feeds and fetches of a TensorFlow graph --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_ENTRY_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_ENTRY_H

#include "compiler/frontend/Import.h"
#include "compiler/frontend/tensorflow/SavedModel.h"

namespace weir::tf {

struct PlannedFeed {
  Edge edge;
  bool isSeed = false; ///< the gradient of `edge`, fed as `d(edge)`
  std::string name;
  DataType type = DataType::Invalid;
  Shape shape; ///< of known rank
};

struct PlannedFetch {
  Edge edge;
  std::string name;
  std::optional<Shape> shape; ///< as the user says
  /// Of a gradient, `d(y, …)/d(edge)`: the ys, whose sum it is of.
  std::vector<Edge> ys;
  bool isTarget = false;  ///< run for its effects: `^node`, or one without outputs
  bool isFurther = false; ///< EntrySpec::further
};

/// What an entry computes. One without name is no entry (reported).
struct EntryPlan {
  std::string name;
  std::vector<PlannedFeed> feeds;
  std::vector<PlannedFetch> fetches;
};

/// Resolves an entry against a graph. A fetch `d(y:0,…)/d(x:0)` is the gradient
/// of the sum of the ys with respect to x; a feed `d(y:0)` is what y's elements
/// count in that sum (1 where it is not fed). Without feeds, Placeholders that the
/// fetches need are fed; without fetches, what nothing uses is fetched.
/// `signature` may be null. Errors: W0212 for names, W0253 for types and shapes
/// that are not known.
std::optional<EntryPlan> planEntry(const Graph &graph, const Versions &versions,
                                   const EntrySpec &spec, const Signature *signature,
                                   const ImportOptions &options, const std::string &file,
                                   DiagnosticSink &sink);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_ENTRY_H

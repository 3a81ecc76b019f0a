//===- GraphDefForm.h - a generated graph in TensorFlow's words -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same computation as a GraphDef, as far as TensorFlow has operations for it:
// what another importer makes of it has to compute the same. A node that it cannot
// say is left out, and with it what depends on it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_FUZZ_GRAPHDEFFORM_H
#define WEIR_TEST_FUZZ_GRAPHDEFFORM_H

#include "test/fuzz/GraphBuilder.h"

namespace weir::fuzz {

/// The nodes of the outermost graph, in order, and what is known of their values.
struct RecordedGraph {
  std::vector<RecordedNode> nodes;
  const std::map<std::string, Value> &values;
  const tools::NamedTensors &constants, &feeds;
};

/// A GraphDef; values that it has are in `said`, under their names in the graph.
std::string writeGraphDef(const RecordedGraph &graph, std::set<std::string> &said);

} // namespace weir::fuzz

#endif // WEIR_TEST_FUZZ_GRAPHDEFFORM_H

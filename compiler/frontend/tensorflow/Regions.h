//===- Regions.h - what runs in a region while it is imported ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_REGIONS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_REGIONS_H

#include "compiler/frontend/tensorflow/GraphImporter.h"

#include <unordered_map>

namespace weir::tf {

/// A node, or an inner loop as a whole.
struct GraphImporter::Item {
  uint32_t node = 0;
  uint32_t loop = 0; ///< the frame; 0: no loop
  std::vector<uint32_t> needs;
  Branches branches;
  /// Of a merge: the predicate that decides it, and for either side of that
  /// the edge that arrives, with its number among the merge's inputs: known, or
  /// (of a merge of several of them) the edge after it.
  std::pair<uint32_t, uint32_t> mergeOf = {UINT32_MAX, 0};
  struct Arrival {
    Edge edge;
    int64_t number = -1;
  };
  Arrival arrivals[2];
  /// Where the merge's value goes; its number is one port further.
  Edge merged;
  bool done = false;
};

/// The items that a region's goals need, in an order that runs.
struct GraphImporter::Region {
  Body &body;
  uint32_t frame;
  Scope &scope;
  std::vector<Item> items;
  std::vector<uint32_t> order;
  std::vector<Edge> goals;
  /// By node, or 2^40 + frame for loops.
  std::unordered_map<uint64_t, uint32_t> itemOf;
};

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_REGIONS_H

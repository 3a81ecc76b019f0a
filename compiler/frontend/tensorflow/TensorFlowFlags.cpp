//===- TensorFlowFlags.cpp - what users say of TensorFlow's files ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/TensorFlowFlags.h"

using namespace weir;

std::vector<FrontendFlag> weir::tensorFlowFlags() {
  return {{tf::tagsFlag, "TAG[,TAG…]",
           "of a SavedModel that holds several graphs, the one that has exactly these tags "
           "(default: the one tagged serve)",
           "SavedModel"},
          {tf::fedFetchesFlag, "give|refuse",
           "an edge that is fed and fetched: what was fed comes back, as of TensorFlow's clients "
           "(the default), or it is an error, as of its runtime",
           "TensorFlow model"}};
}

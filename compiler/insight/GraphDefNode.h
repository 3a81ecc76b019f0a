//===- GraphDefNode.h - nodes of a graph as messages ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_GRAPHDEFNODE_H
#define WEIR_COMPILER_INSIGHT_GRAPHDEFNODE_H

#include "compiler/frontend/tensorflow/Graph.h"

#include <string>
#include <vector>

namespace weir::insight {

/// The NodeDef of a node that no message of the file is (InlineCalls.h), with `inputs` as a
/// NodeDef writes them, those of control behind the others.
std::string nodeMessage(const tf::Node &node, const std::vector<std::string> &inputs);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_GRAPHDEFNODE_H

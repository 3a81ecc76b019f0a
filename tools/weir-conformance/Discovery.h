//===- Discovery.h - finding cases by what lies there -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_DISCOVERY_H
#define WEIR_TOOLS_CONFORMANCE_DISCOVERY_H

#include "tools/weir-conformance/Case.h"

namespace weir::conformance {

/// Appends all cases at and below `path` (a folder, or one case's file), sorted
/// by id, each once. False, with a line in `error`, where there is no such
/// path.
bool findCases(const std::string &path, std::vector<Case> &cases, std::string &error);

/// The part of an id that scores are kept by: "onnx/node", "tf/system/queues".
std::string suiteOf(std::string_view id);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_DISCOVERY_H

//===- TensorFlowFlags.h - what users say of TensorFlow's files -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_TENSORFLOWFLAGS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_TENSORFLOWFLAGS_H

#include "compiler/frontend/EntrySpec.h"

#include <vector>

namespace weir {

std::vector<FrontendFlag> tensorFlowFlags();

namespace tf {
/// Which of a SavedModel's graphs: the one that has exactly the flag's tags.
inline constexpr char tagsFlag[] = "--tags";
/// Whether an edge that is fed may be fetched, too: `give` or `refuse`.
inline constexpr char fedFetchesFlag[] = "--fed-fetches";
} // namespace tf

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_TENSORFLOWFLAGS_H

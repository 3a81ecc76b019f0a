//===- RaggedRows.h - ragged answers that are recorded as text --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of arrays cannot hold rows that differ in length: they are recorded as one
// string a row, as NumPy prints it: `[1.5 2.]`, `[[1 2] [3]]`, `[b'x' b'yz']`. A
// program has such a tensor as its parts, NAME.values and NAME.row_splits.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_RAGGEDROWS_H
#define WEIR_TOOLS_CONFORMANCE_RAGGEDROWS_H

#include "tools/common/Npy.h"

#include <string>

namespace weir::conformance {

/// Whether `got` has a ragged tensor of that name as its parts.
bool isRagged(tools::NamedTensors &got, const std::string &name);

/// The parts of a ragged tensor whose rows were recorded, of the types and numbers of
/// splits that `got` has. Returns what is wrong, or "".
std::string readRaggedRows(const std::string &name, const tools::HostTensor &rows,
                           tools::NamedTensors &got, tools::NamedTensors &wanted);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_RAGGEDROWS_H

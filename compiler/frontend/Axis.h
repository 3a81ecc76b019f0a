//===- Axis.h - axes that nodes are given ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_AXIS_H
#define WEIR_COMPILER_FRONTEND_AXIS_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/LogicalResult.h"
#include <cstdint>
#include <optional>

namespace weir::frontend {

/// The axis `given` (from the end where it is negative) of a tensor of that rank, as a
/// number from 0 on; rank < 0: not known. Else nothing, and `n`, an importer's node, has
/// said why.
template <typename Node> std::optional<int64_t> checkedAxis(Node &n, int64_t given, int64_t rank) {
  using llvm::Twine;
  int64_t axis = given < 0 ? given + rank : given;
  if (axis >= 0 && axis < rank)
    return axis;
  if (rank < 0)
    (void)n.unsupported(
        "found axis " + Twine(given) +
        " of a tensor whose rank is not known; a shape given by --shape may settle it");
  else if (rank == 0)
    (void)n.invalid("found axis " + Twine(given) + " of a scalar, which has none");
  else
    (void)n.invalid("expected an axis from -" + Twine(rank) + " to " + Twine(rank - 1) + ", got " +
                    Twine(given));
  return std::nullopt;
}

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_AXIS_H

//===- Compare.h - is a result the recorded one? ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_COMPARE_H
#define WEIR_TOOLS_COMMON_COMPARE_H

#include "tools/common/HostTensor.h"

#include <optional>

namespace weir::tools {

/// A floating-point element is right when
///   |got - want| <= relative * (|want| + ofMax * max|want|) + absolute
/// where the maximum is over the finite elements of the wanted tensor: an
/// element that is small by cancellation is judged by its neighbours' size.
/// NaN and infinities must stand in the same places; the sign of zero is free;
/// magnitudes below the type's smallest normal number equal zero. Integers may
/// differ by `steps`; bool and strings not at all.
struct Tolerance {
  double relative = 0;
  double ofMax = 0.05;
  double absolute = 0;
  int64_t steps = 0;
};

/// Distance between 1 and the next larger number of a floating-point type (or
/// of a complex type's parts), 0 for other types.
double epsilonOf(int32_t dtype);

/// What is wrong with `got`, in one line (type, shape, or how many elements
/// differ and where the worst of them is); nothing where it is right.
std::optional<std::string> compareTensors(const HostTensor &got, const HostTensor &want,
                                          const Tolerance &tolerance);

/// Sorts the rows (slices of the first dimension) of a tensor by their bytes,
/// for results whose order is not defined.
HostTensor sortRows(const HostTensor &tensor);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_COMPARE_H

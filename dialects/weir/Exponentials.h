//===- Exponentials.h - what is known of an exponential's operand -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_EXPONENTIALS_H
#define WEIR_DIALECTS_WEIR_EXPONENTIALS_H

namespace weir {

/// Marks a `weir.exp`, or the `math.exp` that it becomes, of a softmax: its operand is 0 at most,
/// or no number, and where the result is below the smallest normal number it is 0. Beside the 1
/// that is in every sum that is nothing, but arithmetic with such numbers takes a processor a
/// hundred times as long.
inline constexpr char ofSoftmaxAttribute[] = "weir.of_softmax";

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_EXPONENTIALS_H

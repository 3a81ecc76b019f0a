//===- PeakMoment.h - who holds an arena when it is fullest --------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_PEAKMOMENT_H
#define WEIR_COMPILER_EMIT_PEAKMOMENT_H

#include "compiler/emit/Program.h"

namespace weir {

/// The moment of a step at which the most bytes are alive.
struct PeakMoment {
  int64_t time = 0;
  int64_t bytes = 0;
  std::vector<const BufferInfo *> buffers; ///< alive then, largest first
};
PeakMoment peakMoment(const std::vector<BufferInfo> &buffers, int device);

/// What reports of the running program call a device's arena: whose values take
/// most of it when it is fullest.
std::string arenaTag(const std::vector<BufferInfo> &buffers, int device);

/// As people read it: "250.0 KiB".
std::string byteText(int64_t bytes);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_PEAKMOMENT_H

//===- MemoryPicture.h - buffers over time and offset ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_MEMORYPICTURE_H
#define WEIR_COMPILER_EMIT_MEMORYPICTURE_H

#include "compiler/emit/Report.h"

namespace weir {

/// An HTML page that stands alone: for each step of each device a picture of its
/// buffers, time from left to right and offsets upwards, above it the bytes that
/// are alive. What lies under the pointer is named; names are searched as one
/// types. Empty where nothing is planned.
std::string memoryPicture(const Report &report);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_MEMORYPICTURE_H

//===- faults.h - calls of the system that fail on request -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime asks of the C library goes through here (the linker's --wrap), so that
// any one call can be made to fail as it does when memory, a disk or threads run out, and
// so that memory that is not given back is seen. Thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_SOAK_FAULTS_H
#define WEIR_TEST_SOAK_FAULTS_H

#include <cstddef>
#include <cstdint>

namespace soak {

enum class Kind { Memory, Files, Threads };
constexpr Kind kinds[] = {Kind::Memory, Kind::Files, Kind::Threads};
const char *nameOf(Kind kind);

/// The `count`-th call of that kind from now on fails, once, on whichever thread; 0: none.
void failAt(Kind kind, int64_t count);
/// Every `rate`-th call of any kind fails; 0: none.
void failOften(int64_t rate);
/// How many calls failed so far.
int64_t failed();
/// Calls of that kind so far.
int64_t calls(Kind kind);
/// Blocks that the runtime holds.
size_t blocksHeld();

} // namespace soak

#endif // WEIR_TEST_SOAK_FAULTS_H

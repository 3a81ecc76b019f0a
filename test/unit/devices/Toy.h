//===- Toy.h - a kind of device for tests -------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices of type TOY work in memory of their own on the host, by the host's code,
// and count what they are asked. What they cannot do is raise to a power. They have a
// library that negates, which is called in place of kernels that do just that.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_DEVICES_TOY_H
#define WEIR_TEST_UNIT_DEVICES_TOY_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir {
class DeviceBackend;
} // namespace weir

namespace toy {

const weir::DeviceBackend &backend();

/// weir_accelerator_desc::record of such a device, which nobody else knows.
struct Negation {
  int32_t kernel, reserved;
  int64_t elements; ///< f32
  const char *node;
};
struct Record {
  uint32_t size, version;
  const Negation *negations;
  int64_t count;
};
constexpr uint32_t recordVersion = 3;

/// What the run-time part has been asked, since the process began.
struct Counts {
  int opened = 0, closed = 0, begun = 0, released = 0, finished = 0, negated = 0;
  std::string image; ///< of the session opened last
  std::string node;  ///< of the last call of the library
};
extern Counts counts;
/// Whether sessions find a device; else the host does its work.
extern bool isThere;

/// Symbols that an object with code for such devices refers to.
std::vector<std::pair<const char *, void *>> symbols();

} // namespace toy

#endif // WEIR_TEST_UNIT_DEVICES_TOY_H

//===- DeviceName.h - TensorFlow's device names ------------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_DEVICENAME_H
#define WEIR_PASSES_ANALYSIS_DEVICENAME_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace weir {

/// A device's name, of which any part may be missing:
/// /job:worker/replica:0/task:1/device:CPU:0, "*" for any, and the older form,
/// /cpu:0, of all kinds that are known.
struct DeviceName {
  std::optional<std::string> job;
  std::optional<int64_t> replica, task;
  std::optional<std::string> type; ///< upper case
  std::optional<int64_t> id;

  static std::optional<DeviceName> parse(llvm::StringRef text);
  static DeviceName cpu(int64_t id);
  std::string str() const;

  /// Whether every part that this name has is the same in `other`.
  bool matches(const DeviceName &other) const;
  /// What both names ask for; nothing when they contradict each other.
  std::optional<DeviceName> intersect(const DeviceName &other) const;
  /// Missing parts taken from `other`.
  DeviceName completedBy(const DeviceName &other) const;
  bool isComplete() const { return job && replica && task && type && id; }
};

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_DEVICENAME_H

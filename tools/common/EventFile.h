//===- EventFile.h - what TensorBoard reads ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of TensorFlow's Event messages (runtime/input/event_record.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_EVENTFILE_H
#define WEIR_TOOLS_COMMON_EVENTFILE_H

#include "tools/common/HostTensor.h"

#include <cstdio>
#include <memory>
#include <string>

namespace weir::rt {
enum class EventField : uint32_t;
} // namespace weir::rt

namespace weir::tools {

/// One file of a run. Not thread-safe; what is written is in the file when a call
/// returns, so that one may look on.
class EventFile {
public:
  /// Makes the folder, and in it `events.out.tfevents.SECONDS.HOST`; null with the
  /// reason in `error`.
  static std::unique_ptr<EventFile> create(const std::string &folder, std::string &error);
  ~EventFile();

  /// False with the reason in `error`.
  bool scalar(int64_t step, const std::string &tag, double value, std::string &error);
  /// Of the numbers of a tensor that are neither NaN nor infinite.
  bool histogram(int64_t step, const std::string &tag, const HostTensor &tensor,
                 std::string &error);
  /// A serialized GraphDef.
  bool graph(const std::string &graphDef, std::string &error);
  /// A serialized RunMetadata of a step.
  bool runMetadata(int64_t step, const std::string &tag, const std::string &metadata,
                   std::string &error);
  const std::string &path() const { return name; }

private:
  EventFile(std::FILE *file, std::string name) : file(file), name(std::move(name)) {}
  bool event(int64_t step, rt::EventField field, const char *data, int64_t bytes,
             std::string &error);

  std::FILE *file;
  std::string name;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_EVENTFILE_H

//===- event_record.h - what TensorBoard reads ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's Event messages: 1: wall_time (double), 2: step, 3: file_version (of a
// file's first one), 4: graph_def, 5: summary, 8: tagged_run_metadata. Each is a TFRecord: length,
// its checksum, data, its checksum.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_INPUT_EVENT_RECORD_H
#define WEIR_RUNTIME_INPUT_EVENT_RECORD_H

#include "checkpoint/crc32c.h"
#include "support/wire_format.h"

#include <time.h>

namespace weir::rt {

enum class EventField : uint32_t { Version = 3, Graph = 4, Summary = 5, RunMetadata = 8 };

/// What a file's first event says.
inline constexpr char eventVersion[] = "brain.Event:2";

/// Appends a message as a TFRecord to any GrowingText.
template <typename Text> void writeRecord(Text &record, const weir_string &message) {
  auto length = uint64_t(message.size);
  uint32_t lengthCrc = maskCrc(crc32c(&length, sizeof(length)));
  uint32_t crc = maskCrc(crc32c(message.data, message.size));
  record.append(reinterpret_cast<const char *>(&length), sizeof(length));
  record.append(reinterpret_cast<const char *>(&lengthCrc), sizeof(lengthCrc));
  record << message;
  record.append(reinterpret_cast<const char *>(&crc), sizeof(crc));
}

/// Appends an event of this moment; `scratch` is empty, and is used up.
template <typename Text>
void writeEvent(Text &record, Text &scratch, int64_t step, EventField field,
                const weir_string &contents) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  double seconds = double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
  writeVarint(scratch, 1 << 3 | 1);
  scratch.append(reinterpret_cast<const char *>(&seconds), sizeof(seconds));
  writeNumber(scratch, 2, uint64_t(step));
  writeBytes(scratch, uint32_t(field), contents);
  writeRecord(record, scratch.view());
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_INPUT_EVENT_RECORD_H

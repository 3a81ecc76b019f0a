//===- status.cpp - statuses, codes and element types ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/status.h"

namespace weir::rt {

/// Whether the caller's structure has a code; one without a size has nothing.
static bool hasCode(const weir_status *status) {
  return status && status->size >= offsetof(weir_status, message);
}

static int64_t messageCapacity(const weir_status *status) {
  constexpr auto offset = int64_t(offsetof(weir_status, message));
  if (!status || status->size <= offset)
    return 0;
  return int64_t(status->size) - offset;
}

int32_t setStatus(weir_status *status, int32_t code) {
  if (hasCode(status)) {
    status->code = code;
    if (messageCapacity(status) > 0)
      status->message[0] = 0;
  }
  return code;
}

StatusText::StatusText(weir_status *status, int32_t code)
    : Text(status ? status->message : nullptr, messageCapacity(status)), status(status) {
  if (hasCode(status))
    status->code = code;
}

StatusText::~StatusText() {
  int64_t capacity = messageCapacity(status);
  if (size() < capacity || capacity < 2)
    return;
  char *message = status->message;
  int64_t end = capacity - 1, first = end;
  // Back over continuation bytes (10xxxxxx) to the character's first.
  do
    --first;
  while (first > 0 && (message[first] & 0xc0) == 0x80);
  auto lead = static_cast<unsigned char>(message[first]);
  int64_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (first + length > end)
    message[first] = 0;
}

int32_t refuseMemory(weir_status *status, const char *what) {
  StatusText(status, WEIR_RESOURCE_EXHAUSTED) << "no memory for " << what;
  return WEIR_RESOURCE_EXHAUSTED;
}

int32_t refuseNull(weir_status *status, const char *function, const char *argument) {
  StatusText(status, WEIR_INVALID_ARGUMENT) << function << ": " << argument << " is null";
  return WEIR_INVALID_ARGUMENT;
}

void appendShape(Text &out, int32_t rank, const int64_t *dims) {
  if (rank < 0) {
    out << "of any rank";
    return;
  }
  if (rank == 0)
    out << "scalar";
  for (int32_t i = 0; i < rank; ++i) {
    if (i > 0)
      out << 'x';
    if (dims[i] < 0)
      out << '?';
    else
      out << dims[i];
  }
}

} // namespace weir::rt

const char *weir_code_name(int32_t code) {
  static const char names[][24] = {"OK",
                                   "CANCELLED",
                                   "UNKNOWN",
                                   "INVALID_ARGUMENT",
                                   "DEADLINE_EXCEEDED",
                                   "NOT_FOUND",
                                   "ALREADY_EXISTS",
                                   "PERMISSION_DENIED",
                                   "RESOURCE_EXHAUSTED",
                                   "FAILED_PRECONDITION",
                                   "ABORTED",
                                   "OUT_OF_RANGE",
                                   "UNIMPLEMENTED",
                                   "INTERNAL",
                                   "UNAVAILABLE",
                                   "DATA_LOSS",
                                   "UNAUTHENTICATED"};
  bool known = code >= 0 && size_t(code) < sizeof(names) / sizeof(names[0]);
  return names[known ? code : WEIR_UNKNOWN];
}

namespace {
struct ElementType {
  char name[14];
  int8_t bytes;
};
} // namespace

static const ElementType elementTypes[] = {
    {"?", 0},          {"f32", 4},    {"u8", 1},
    {"i8", 1},         {"u16", 2},    {"i16", 2},
    {"i32", 4},        {"i64", 8},    {"string", sizeof(weir_string)},
    {"bool", 1},       {"f16", 2},    {"f64", 8},
    {"u32", 4},        {"u64", 8},    {"c64", 8},
    {"c128", 16},      {"bf16", 2},   {"f8e4m3fn", 1},
    {"f8e4m3fnuz", 1}, {"f8e5m2", 1}, {"f8e5m2fnuz", 1},
    {"u4", 1},         {"i4", 1},     {"f4e2m1", 1},
    {"f8e8m0", 1},     {"u2", 1},     {"i2", 1}};

static const ElementType &elementType(int32_t dtype) {
  static const ElementType reference = {"tensor", sizeof(weir_tensor_ref)};
  if (dtype == WEIR_TENSOR)
    return reference;
  constexpr int32_t count = sizeof(elementTypes) / sizeof(elementTypes[0]);
  return elementTypes[dtype >= 0 && dtype < count ? dtype : 0];
}

int64_t weir_dtype_size(int32_t dtype) { return elementType(dtype).bytes; }
const char *weir_dtype_name(int32_t dtype) { return elementType(dtype).name; }

const char *weir_runtime_version(void) { return "0.1.0"; }

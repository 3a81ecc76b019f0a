//===- state_bytes.h - where something stands, as bytes ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a checkpoint keeps of a session beside variables: numbers of 64 bits and texts behind
// their lengths, little-endian, without a schema. Who reads them was written by who wrote
// them; whatever contradicts itself is refused.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_STATE_BYTES_H
#define WEIR_RUNTIME_SESSION_STATE_BYTES_H

#include "support/list.h"

namespace weir::rt {

class StateWriter {
public:
  void number(int64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), int64_t(sizeof(value)));
  }
  void text(const weir_string &value) {
    number(value.size);
    bytes << value;
  }
  /// What another one has written.
  void raw(const weir_string &state) { bytes << state; }
  weir_string view() const { return bytes.view(); }
  bool failed() const { return bytes.failed(); } ///< no memory
  void fail() { bytes.fail(); }

private:
  HeapText bytes;
};

class StateReader {
public:
  explicit StateReader(const weir_string &bytes) : next(bytes.data), left(bytes.size) {}

  /// 0 behind the end.
  int64_t number() {
    int64_t value = 0;
    if (take(int64_t(sizeof(value))))
      memcpy(&value, next - sizeof(value), sizeof(value));
    return value;
  }
  /// Points into the bytes.
  weir_string text() {
    int64_t size = number();
    return take(size) ? weir_string{next - size, size} : weir_string{"", 0};
  }
  /// How many things follow that take a number each at least.
  int64_t count() {
    int64_t value = number();
    if (value < 0 || value > left / int64_t(sizeof(int64_t)))
      return fail(), 0;
    return value;
  }
  bool isAtEnd() const { return left == 0; }
  bool failed() const { return isBroken; }
  void fail() { isBroken = true; }

private:
  bool take(int64_t size) {
    if (isBroken || size < 0 || size > left)
      return fail(), false;
    next += size;
    left -= size;
    return true;
  }

  const char *next;
  int64_t left;
  bool isBroken = false;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_STATE_BYTES_H

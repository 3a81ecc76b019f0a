//===- unicode.h - code points, their properties and encodings ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_UNICODE_H
#define WEIR_RUNTIME_KERNELS_UNICODE_H

#include "weir/weir.h"

namespace weir::rt {

/// What stands for a byte, or bytes, that encode nothing.
inline constexpr uint32_t badCodePoint = 0xffffffff;
inline constexpr uint32_t lastCodePoint = 0x10ffff;

inline bool isCodePoint(uint32_t code) {
  return code <= lastCodePoint && (code < 0xd800 || code > 0xdfff);
}

/// Reads one code point of UTF-8 from [at, end), which is not empty. Returns how
/// many bytes it takes; of what is ill-formed the longest beginning of a
/// character (Unicode Standard 3.9, "maximal subpart"), as badCodePoint.
int32_t decodeUtf8(const char *at, const char *end, uint32_t *code);
/// Writes up to 4 bytes; returns how many. `code` is a code point.
int32_t encodeUtf8(uint32_t code, char *to);
inline bool isContinuation(char c) { return (uint8_t(c) & 0xc0) == 0x80; }
/// Bytes that begin a character, well-formed or not.
int64_t countUtf8(const weir_string &string);

//===----------------------------------------------------------------------===//
// Encodings
//===----------------------------------------------------------------------===//

struct CodePage;

/// An encoding that text is read from.
struct Encoding {
  enum class Form : uint8_t {
    None,
    Utf8,
    Utf16, ///< big-endian unless `isLittle`
    Utf32,
    Ascii,
    Latin1,
    CodePage,
  };
  Form form = Form::None;
  bool isLittle = false;
  /// The order of bytes is what a mark at the beginning says.
  bool hasMark = false;
  const CodePage *page = nullptr;
};

/// The encoding of a name, as ICU spells names: letters and digits count, their
/// case and what stands between them do not. False: none of that name.
bool findEncoding(const weir_string &name, Encoding *encoding);
/// Reads one code point; as decodeUtf8. `encoding` learns the order of bytes at
/// a mark. A mark is consumed, `code` is then `skipCodePoint`.
int32_t decodeOne(Encoding &encoding, const char *begin, const char *at, const char *end,
                  uint32_t *code);
inline constexpr uint32_t skipCodePoint = 0xfffffffe;

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

/// Two letters: "Lu", "Nd", ….
const char *generalCategory(uint32_t code);
/// ICU's number of a code point's script; -1 for none.
int32_t scriptOf(uint32_t code);
/// The number of a script by its name; -1: none.
int32_t findScript(const char *name, int64_t size);
/// Calls range(lo, hi) for all code points of a category ("L", "Lu", …) or
/// script, in ascending order. False: there is none of that name.
bool forEachInClass(const char *name, int64_t size,
                    void (*range)(void *data, uint32_t lo, uint32_t hi), void *data);

/// Case mappings of one code point to one; itself where there is none.
uint32_t lowerCase(uint32_t code);
uint32_t upperCase(uint32_t code);
/// Full case mappings, up to 3 code points; returns how many.
int32_t fullLowerCase(uint32_t code, uint32_t to[3]);
int32_t fullUpperCase(uint32_t code, uint32_t to[3]);
/// For the final sigma: letters with case, and what may stand between them.
bool isCased(uint32_t code);
bool isCaseIgnorable(uint32_t code);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_UNICODE_H

//===- unicode_encodings.cpp - text that comes in other encodings -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/unicode.h"

#include <string.h>

namespace weir::rt {

/// An encoding of one byte a character that agrees with ASCII below 128.
struct CodePage {
  const char *name, *alias;
  uint16_t upper[128]; ///< 0: not assigned
};

} // namespace weir::rt

namespace {

using weir::rt::CodePage;
#include "kernels/code_pages.inc"

/// Names that are equal up to case and what is neither letter nor digit; zeros
/// before digits do not count either ("iso-8859-01").
bool sameName(const weir_string &given, const char *name) {
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  auto fold = [&](char c) {
    return c >= 'A' && c <= 'Z' ? char(c + 32) : (c >= 'a' && c <= 'z') || isDigit(c) ? c : char(0);
  };
  int64_t i = 0, j = 0, size = int64_t(strlen(name));
  bool wasDigit = false;
  for (;;) {
    while (i < given.size &&
           (!fold(given.data[i]) || (given.data[i] == '0' && !wasDigit && i + 1 < given.size &&
                                     isDigit(given.data[i + 1]))))
      ++i;
    while (j < size && !fold(name[j]))
      ++j;
    if (i == given.size || j == size)
      return i == given.size && j == size;
    if (fold(given.data[i]) != fold(name[j]))
      return false;
    wasDigit = isDigit(name[j]);
    ++i;
    ++j;
  }
}

uint32_t unit16(const char *at, bool isLittle) {
  auto *bytes = reinterpret_cast<const uint8_t *>(at);
  return isLittle ? uint32_t(bytes[1]) << 8 | bytes[0] : uint32_t(bytes[0]) << 8 | bytes[1];
}

uint32_t unit32(const char *at, bool isLittle) {
  uint32_t high = unit16(at + (isLittle ? 2 : 0), isLittle);
  uint32_t low = unit16(at + (isLittle ? 0 : 2), isLittle);
  return high << 16 | low;
}

} // namespace

namespace weir::rt {

bool findEncoding(const weir_string &name, Encoding *encoding) {
  using Form = Encoding::Form;
  struct Known {
    const char *name;
    Form form;
    bool isLittle, hasMark;
  };
  static const Known known[] = {
      {"utf-8", Form::Utf8, false, false},      {"utf-16", Form::Utf16, false, true},
      {"utf-16be", Form::Utf16, false, false},  {"utf-16le", Form::Utf16, true, false},
      {"utf-32", Form::Utf32, false, true},     {"utf-32be", Form::Utf32, false, false},
      {"utf-32le", Form::Utf32, true, false},   {"us-ascii", Form::Ascii, false, false},
      {"ascii", Form::Ascii, false, false},     {"ansi-x3.4-1968", Form::Ascii, false, false},
      {"iso646-us", Form::Ascii, false, false}, {"iso-8859-1", Form::Latin1, false, false},
      {"latin1", Form::Latin1, false, false},   {"l1", Form::Latin1, false, false},
      {"ibm819", Form::Latin1, false, false},
  };
  *encoding = {};
  for (const Known &row : known)
    if (sameName(name, row.name)) {
      encoding->form = row.form;
      encoding->isLittle = row.isLittle;
      encoding->hasMark = row.hasMark;
      return true;
    }
  for (const CodePage &page : codePages)
    if (sameName(name, page.name) || (page.alias[0] && sameName(name, page.alias))) {
      encoding->form = Form::CodePage;
      encoding->page = &page;
      return true;
    }
  return false;
}

int32_t decodeOne(Encoding &encoding, const char *begin, const char *at, const char *end,
                  uint32_t *code) {
  auto byte = uint8_t(*at);
  int64_t left = end - at;
  *code = badCodePoint;
  switch (encoding.form) {
  case Encoding::Form::Utf8:
    return decodeUtf8(at, end, code);
  case Encoding::Form::Utf16: {
    if (left < 2)
      return int32_t(left);
    uint32_t unit = unit16(at, encoding.isLittle);
    if (encoding.hasMark && at == begin && (unit == 0xfeff || unit == 0xfffe)) {
      encoding.isLittle ^= unit == 0xfffe;
      *code = skipCodePoint;
      return 2;
    }
    if (unit < 0xd800 || unit > 0xdfff) {
      *code = unit;
      return 2;
    }
    if (unit > 0xdbff)
      return 2;
    if (left < 4)
      return left == 2 ? 2 : int32_t(left);
    uint32_t next = unit16(at + 2, encoding.isLittle);
    if (next < 0xdc00 || next > 0xdfff)
      return 2;
    *code = 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00);
    return 4;
  }
  case Encoding::Form::Utf32: {
    if (left < 4)
      return int32_t(left);
    uint32_t unit = unit32(at, encoding.isLittle);
    if (encoding.hasMark && at == begin && (unit == 0xfeff || unit == 0xfffe0000)) {
      encoding.isLittle ^= unit != 0xfeff;
      *code = skipCodePoint;
      return 4;
    }
    if (isCodePoint(unit))
      *code = unit;
    return 4;
  }
  case Encoding::Form::Ascii:
    if (byte < 128)
      *code = byte;
    return 1;
  case Encoding::Form::Latin1:
    *code = byte;
    return 1;
  case Encoding::Form::CodePage:
    if (byte < 128)
      *code = byte;
    else if (uint16_t unit = encoding.page->upper[byte - 128])
      *code = unit;
    return 1;
  case Encoding::Form::None:
    break;
  }
  return 1;
}

} // namespace weir::rt

//===- string_case.cpp - lower and upper case, white space, lengths ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"
#include "kernels/unicode.h"

using namespace weir::rt;

namespace {

/// Sets the one result to a string for each string of the one operand.
template <typename Convert>
int32_t mapStrings(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                   weir_tensor *results, int32_t result_count, Convert convert) {
  if (int32_t code = openStringMap(ctx, operands, operand_count, results, result_count))
    return code;
  int64_t count = elementCountOf(operands[0]);
  Contents contents(ctx);
  for (int64_t i = 0; i < count; ++i)
    if (!convert(contents, stringsOf(operands[0])[i], &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  return WEIR_OK;
}

bool asciiCase(Contents &contents, const weir_string &in, weir_string *out, char first, char last) {
  char *to = contents.make(in.size);
  if (!to)
    return false;
  for (int64_t i = 0; i < in.size; ++i) {
    char c = in.data[i];
    to[i] = c >= first && c <= last ? char(c ^ 0x20) : c;
  }
  *out = {to, in.size};
  return true;
}

/// Whether the sigma at [at, after) ends a word: a letter with case before it
/// and none after, whatever of no case stands between (Unicode Standard 3.13).
bool isFinalSigma(const weir_string &text, const char *at, const char *after) {
  const char *begin = text.data, *end = text.data + text.size;
  uint32_t code = 0;
  bool isAfterLetter = false;
  for (const char *p = at; p > begin;) {
    do
      --p;
    while (p > begin && isContinuation(*p));
    decodeUtf8(p, at, &code);
    if (code != badCodePoint && isCaseIgnorable(code))
      continue;
    isAfterLetter = code != badCodePoint && isCased(code);
    break;
  }
  if (!isAfterLetter)
    return false;
  for (const char *p = after; p < end;) {
    p += decodeUtf8(p, end, &code);
    if (code != badCodePoint && isCaseIgnorable(code))
      continue;
    return code == badCodePoint || !isCased(code);
  }
  return true;
}

bool unicodeCase(weir_context *ctx, Contents &contents, const weir_string &in, weir_string *out,
                 bool isUpper) {
  Growing text(ctx);
  const char *end = in.data + in.size;
  for (const char *at = in.data; at < end;) {
    uint32_t code, to[3];
    int32_t size = decodeUtf8(at, end, &code), count;
    if (code == badCodePoint) {
      to[0] = 0xfffd;
      count = 1;
    } else if (isUpper) {
      count = fullUpperCase(code, to);
    } else if (code == 0x3a3) {
      to[0] = isFinalSigma(in, at, at + size) ? 0x3c2 : 0x3c3;
      count = 1;
    } else {
      count = fullLowerCase(code, to);
    }
    for (int32_t i = 0; i < count; ++i) {
      char bytes[4];
      text.append(bytes, encodeUtf8(to[i], bytes));
    }
    at += size;
  }
  return !text.failed() && contents.copy(text.data(), text.size(), out);
}

int32_t changeCase(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                   weir_tensor *results, int32_t result_count, bool isUtf8, bool isUpper) {
  return mapStrings(ctx, operands, operand_count, results, result_count,
                    [&](Contents &contents, const weir_string &in, weir_string *out) {
                      if (isUtf8)
                        return unicodeCase(ctx, contents, in, out, isUpper);
                      return isUpper ? asciiCase(contents, in, out, 'a', 'z')
                                     : asciiCase(contents, in, out, 'A', 'Z');
                    });
}

} // namespace

int32_t weir_kernel_string_lower(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t result_count,
                                 const int64_t *attributes) {
  return changeCase(ctx, operands, operand_count, results, result_count, attributes[0], false);
}

int32_t weir_kernel_string_upper(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t result_count,
                                 const int64_t *attributes) {
  return changeCase(ctx, operands, operand_count, results, result_count, attributes[0], true);
}

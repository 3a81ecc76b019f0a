//===- string_regex.cpp - matching and replacing -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/regex_engine.h"
#include "kernels/unicode.h"

using namespace weir::rt;

static int32_t failPattern(weir_context *ctx, const Regex &regex, const weir_string &pattern) {
  if (!regex.error[0])
    return WEIR_RESOURCE_EXHAUSTED; // recorded where memory was asked for
  char text[160];
  Text(text, sizeof(text)) << " is no pattern: " << regex.error;
  return failString(ctx, "", pattern, text);
}

int32_t weir_kernel_regex_full_match(weir_context *ctx, const weir_tensor *operands,
                                     int32_t operand_count, weir_tensor *results,
                                     int32_t result_count, const int64_t *) {
  weir_string pattern;
  if (operand_count != 2 || result_count != 1 || !allStrings(operands, 2) ||
      !loadString(operands[1], &pattern) || results[0].dtype != WEIR_BOOL)
    return failOperands(ctx, operands, operand_count);
  Regex regex(ctx);
  if (!regex.compile(ctx, pattern))
    return failPattern(ctx, regex, pattern);
  RegexMatcher matcher(ctx, regex, -1);
  if (matcher.failed() || !shapeResult(ctx, results[0], operands[0].rank, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t count = elementCountOf(operands[0]);
  for (int64_t i = 0; i < count; ++i)
    static_cast<uint8_t *>(results[0].data)[i] = matcher.matchesAll(stringsOf(operands[0])[i]);
  return WEIR_OK;
}

/// What is put in place of a match: text in which \1 to \9 stand for groups, \0
/// for the match, \\ for a backslash. False: it is none of that.
static bool rewrite(Growing &out, const weir_string &with, const weir_string &text,
                    const int64_t *spans, int32_t groups) {
  for (int64_t i = 0; i < with.size; ++i) {
    char c = with.data[i];
    if (c != '\\') {
      out << c;
      continue;
    }
    c = ++i < with.size ? with.data[i] : char(0);
    if (c == '\\') {
      out << c;
      continue;
    }
    int32_t group = c - '0';
    if (c < '0' || c > '9' || group > groups)
      return false;
    if (spans[2 * group] >= 0)
      out.append(text.data + spans[2 * group], spans[2 * group + 1] - spans[2 * group]);
  }
  return true;
}

/// The largest group that a rewriting names.
static int32_t largestGroup(const weir_string &with) {
  int32_t most = 0;
  for (int64_t i = 0; i < with.size; ++i) {
    if (with.data[i] != '\\')
      continue;
    char c = ++i < with.size ? with.data[i] : char(0);
    if (c >= '0' && c <= '9')
      most = c - '0' > most ? c - '0' : most;
  }
  return most;
}

/// All matches that do not overlap, or the first only.
static void replace(RegexMatcher &matcher, const weir_string &text, const weir_string &with,
                    int32_t groups, bool all, Growing &out) {
  out.clear();
  int64_t at = 0, lastEnd = -1;
  while (at <= text.size && matcher.search(text, at)) {
    int64_t begin = matcher.spans[0], end = matcher.spans[1];
    out.append(text.data + at, begin - at);
    if (begin == lastEnd && end == begin) {
      // Nothing, right behind a match: a character on.
      if (begin == text.size) {
        at = begin;
        break;
      }
      uint32_t code;
      int32_t size = decodeUtf8(text.data + begin, text.data + text.size, &code);
      size = code == badCodePoint ? 1 : size;
      out.append(text.data + begin, size);
      at = begin + size;
      continue;
    }
    bool isGood = rewrite(out, with, text, matcher.spans, groups);
    at = lastEnd = end;
    if (!all) {
      if (!isGood) { // then nothing is replaced
        out.clear();
        at = 0;
      }
      break;
    }
  }
  out.append(text.data + at, text.size - at);
}

int32_t weir_kernel_regex_replace(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  weir_string pattern, with;
  if (operand_count != 3 || result_count != 1 || !allStrings(operands, 3) ||
      !loadString(operands[1], &pattern) || !loadString(operands[2], &with) ||
      results[0].dtype != WEIR_STRING)
    return failOperands(ctx, operands, operand_count);
  Regex regex(ctx);
  if (!regex.compile(ctx, pattern))
    return failPattern(ctx, regex, pattern);
  int32_t groups = largestGroup(with);
  // A group that the pattern does not have: nothing is replaced.
  bool isPossible = groups <= regex.groups;
  RegexMatcher matcher(ctx, regex, isPossible ? groups : 0);
  if (matcher.failed() || !shapeResult(ctx, results[0], operands[0].rank, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  Contents contents(ctx);
  Growing out(ctx);
  int64_t count = elementCountOf(operands[0]);
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &text = stringsOf(operands[0])[i];
    if (isPossible)
      replace(matcher, text, with, groups, attributes[0], out);
    else {
      out.clear();
      out << text;
    }
    if (out.failed() || !contents.copy(out.data(), out.size(), &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

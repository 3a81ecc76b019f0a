//===- string_tokens.cpp - strings cut into tokens --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/regex_engine.h"
#include "kernels/unicode.h"

using namespace weir::rt;

namespace {

/// What makes a token; the numbers are the kernel's attribute.
enum Mode : int64_t { BetweenMatches = 0, Matches = 1, Characters = 2 };

int64_t characterSize(const weir_string &text, int64_t at) {
  uint32_t code;
  return decodeUtf8(text.data + at, text.data + text.size, &code);
}

bool isText(const weir_string &text) {
  for (int64_t at = 0; at < text.size;) {
    uint32_t code;
    at += decodeUtf8(text.data + at, text.data + text.size, &code);
    if (code == badCodePoint)
      return false;
  }
  return true;
}

/// Appends [begin, end) of a text, unless it has fewer characters than wanted.
void keep(List<weir_string> &tokens, const weir_string &text, int64_t begin, int64_t end,
          int64_t fewest) {
  weir_string token{text.data + begin, end - begin};
  if (countUtf8(token) >= fewest)
    tokens.push(token);
}

/// The matches of a pattern in `text`, or what lies between them. A match of
/// nothing drops a character, as ONNX Runtime does.
void cut(RegexMatcher &matcher, const weir_string &text, bool areMatches, int64_t fewest,
         List<weir_string> &tokens) {
  int64_t at = 0;
  while (matcher.search(text, at)) {
    int64_t begin = matcher.spans[0], end = matcher.spans[1];
    if (areMatches)
      keep(tokens, text, begin, end, fewest);
    else
      keep(tokens, text, at, begin, fewest);
    at = end;
    if (begin < end)
      continue;
    if (end >= text.size)
      return;
    at += characterSize(text, end);
  }
  if (!areMatches)
    keep(tokens, text, at, text.size, fewest);
}

class Tokenizer {
public:
  Tokenizer(weir_context *ctx, const int64_t *attributes)
      : ctx(ctx), mode(attributes[0]), fewest(attributes[1]), tokens(ctx), ends(ctx), swap(ctx) {}

  int32_t run(const weir_tensor &data, const weir_tensor &patterns);
  /// Tokens of all strings in a row, where each string's end, and the most of any.
  weir_context *ctx;
  int64_t mode, fewest, most = 0;
  List<weir_string> tokens;
  List<int64_t> ends;

private:
  int32_t cutAll(const weir_string &pattern, int64_t count);
  List<weir_string> swap;
};

/// Cuts what there is by one more pattern.
int32_t Tokenizer::cutAll(const weir_string &pattern, int64_t count) {
  Regex regex(ctx);
  if (!regex.compile(ctx, pattern)) {
    if (!regex.error[0])
      return WEIR_RESOURCE_EXHAUSTED;
    char text[160];
    Text(text, sizeof(text)) << " is no pattern: " << regex.error;
    return failString(ctx, "", pattern, text);
  }
  RegexMatcher matcher(ctx, regex, 0);
  if (matcher.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  swap.clear();
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    for (; at < ends[i]; ++at)
      cut(matcher, tokens[at], mode == Matches, fewest, swap);
    ends[i] = swap.size();
  }
  tokens.clear();
  tokens.append(swap.data(), swap.size());
  return tokens.failed() || swap.failed() ? WEIR_RESOURCE_EXHAUSTED : WEIR_OK;
}

int32_t Tokenizer::run(const weir_tensor &data, const weir_tensor &patterns) {
  int64_t count = elementCountOf(data);
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &text = stringsOf(data)[i];
    if (!isText(text))
      return failString(ctx, "", text, " is not UTF-8");
    for (int64_t at = 0; mode == Characters && at < text.size;) {
      int64_t size = characterSize(text, at);
      tokens.push({text.data + at, size});
      at += size;
    }
    if (mode != Characters)
      tokens.push(text);
    if (tokens.failed() || !ends.push(tokens.size()))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  for (int64_t p = 0; mode != Characters && p < elementCountOf(patterns); ++p)
    if (int32_t code = cutAll(stringsOf(patterns)[p], count); code != WEIR_OK)
      return code;
  for (int64_t i = 0; i < count; ++i) {
    int64_t own = ends[i] - (i ? ends[i - 1] : 0);
    most = own > most ? own : most;
  }
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_string_tokenize(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *attributes) {
  weir_string padding;
  const weir_tensor &data = operands[0];
  if (operand_count != 3 || result_count != 1 || !allStrings(operands, 3) ||
      !loadString(operands[2], &padding) || results[0].dtype != WEIR_STRING ||
      data.rank >= WEIR_MAX_RANK)
    return failOperands(ctx, operands, operand_count);
  Tokenizer tokenizer(ctx, attributes);
  if (int32_t code = tokenizer.run(data, operands[1]); code != WEIR_OK)
    return code;
  // Marks stand around tokens, where any string has some.
  bool isMarked = attributes[2] && tokenizer.most > 0;
  int64_t width = tokenizer.most + (isMarked ? 2 : 0);
  int64_t dims[WEIR_MAX_RANK];
  for (int32_t d = 0; d < data.rank; ++d)
    dims[d] = data.dims[d];
  dims[data.rank] = width;
  if (!shapeResult(ctx, results[0], data.rank + 1, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  Contents contents(ctx);
  weir_string pad, begin, end;
  if (!contents.copy(padding.data, padding.size, &pad) || !contents.copy("\x02", 1, &begin) ||
      !contents.copy("\x03", 1, &end))
    return WEIR_RESOURCE_EXHAUSTED;
  weir_string *out = stringResult(results[0]);
  int64_t count = elementCountOf(data), at = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t column = 0;
    if (isMarked)
      out[column++] = begin;
    for (; at < tokenizer.ends[i]; ++at) {
      const weir_string &token = tokenizer.tokens[at];
      if (!contents.copy(token.data, token.size, &out[column++]))
        return WEIR_RESOURCE_EXHAUSTED;
    }
    if (isMarked)
      out[column++] = end;
    while (column < width)
      out[column++] = pad;
    out += width;
  }
  return WEIR_OK;
}

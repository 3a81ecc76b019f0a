//===- string_split_sparse.cpp - tokens with their places, and n-grams -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"

using namespace weir::rt;

namespace {

struct Token {
  int64_t row, column;
  weir_string text;
};

/// Between any of the bytes in `delimiters`; each byte for itself where there
/// are none.
void splitAtBytes(const weir_string &text, const weir_string &delimiters, bool skipEmpty,
                  List<Token> &tokens, int64_t row) {
  int64_t column = 0;
  auto add = [&](int64_t begin, int64_t end) {
    if (end > begin || !skipEmpty)
      tokens.push({row, column++, {text.data + begin, end - begin}});
  };
  if (delimiters.size == 0) {
    for (int64_t i = 0; i < text.size; ++i)
      add(i, i + 1);
    return;
  }
  int64_t begin = 0;
  for (int64_t i = 0; text.size > 0 && i <= text.size; ++i) {
    if (i < text.size && !memchr(delimiters.data, text.data[i], size_t(delimiters.size)))
      continue;
    add(begin, i);
    begin = i + 1;
  }
}

/// Between whole separators, at most `most` times (negative: always); between
/// runs of white space where the separator is empty.
void splitAtString(const weir_string &text, const weir_string &separator, int64_t most,
                   List<Token> &tokens, int64_t row) {
  int64_t column = 0, at = 0, size = text.size;
  auto add = [&](int64_t begin, int64_t end) {
    tokens.push({row, column++, {text.data + begin, end - begin}});
  };
  if (most == 0)
    return add(0, size);
  auto skipSpace = [&] {
    while (at < size && isSpace(text.data[at]))
      ++at;
  };
  if (separator.size == 0) {
    skipSpace();
    while (at < size) {
      int64_t begin = at;
      while (at < size && !isSpace(text.data[at]))
        ++at;
      add(begin, at);
      skipSpace();
      if (column == most)
        return add(at, size);
    }
    return;
  }
  for (int64_t end = 0; end + separator.size <= size && column != most;) {
    if (memcmp(text.data + end, separator.data, size_t(separator.size))) {
      ++end;
      continue;
    }
    add(at, end);
    at = end += separator.size;
  }
  add(at, size);
}

} // namespace

int32_t weir_kernel_string_split_sparse(weir_context *ctx, const weir_tensor *operands,
                                        int32_t operand_count, weir_tensor *results,
                                        int32_t result_count, const int64_t *attributes) {
  weir_string separator;
  if (operand_count != 2 || result_count != 3 || !allStrings(operands, 2) ||
      !loadString(operands[1], &separator) || results[0].dtype != WEIR_I64 ||
      results[1].dtype != WEIR_STRING || results[2].dtype != WEIR_I64)
    return failOperands(ctx, operands, operand_count);
  List<Token> tokens(ctx);
  int64_t rows = elementCountOf(operands[0]), columns = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const weir_string &text = stringsOf(operands[0])[row];
    if (attributes[0])
      splitAtString(text, separator, attributes[1], tokens, row);
    else
      splitAtBytes(text, separator, attributes[1] != 0, tokens, row);
  }
  int64_t count = tokens.size(), pairs[2] = {count, 2}, two = 2;
  if (tokens.failed() || !shapeResult(ctx, results[0], 2, pairs) ||
      !shapeResult(ctx, results[1], 1, pairs) || !shapeResult(ctx, results[2], 1, &two))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *indices = static_cast<int64_t *>(results[0].data);
  Contents contents(ctx);
  for (int64_t i = 0; i < count; ++i) {
    indices[2 * i] = tokens[i].row;
    indices[2 * i + 1] = tokens[i].column;
    if (tokens[i].column >= columns)
      columns = tokens[i].column + 1;
    if (!contents.copy(tokens[i].text.data, tokens[i].text.size, &stringResult(results[1])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  auto *shape = static_cast<int64_t *>(results[2].data);
  shape[0] = rows;
  shape[1] = columns;
  return WEIR_OK;
}

namespace {

/// Writes n-grams of one row. An n-gram near an end has pads in place of the
/// tokens that are not there.
struct NGrams {
  const weir_string &separator, &leftPad, &rightPad;
  int64_t padWidth;
  Growing &text;

  int64_t padOf(int64_t width) const {
    return padWidth < 0 || padWidth > width - 1 ? width - 1 : padWidth;
  }
  int64_t countOf(int64_t length, int64_t width) const {
    int64_t count = length + 2 * padOf(width) - width + 1;
    return count > 0 ? count : 0;
  }
  void write(const weir_string *row, int64_t index, int64_t count, int64_t width) {
    int64_t pad = padOf(width);
    int64_t left = pad > index ? pad - index : 0;
    int64_t right = pad > count - index - 1 ? pad - (count - index - 1) : 0;
    int64_t tokens = width - left - right;
    int64_t first = left > 0 ? 0 : index - pad;
    text.clear();
    bool begun = false;
    auto add = [&](const weir_string &part) {
      if (begun)
        text << separator;
      begun = true;
      text << part;
    };
    for (int64_t i = 0; i < left; ++i)
      add(leftPad);
    for (int64_t i = 0; i < tokens; ++i)
      add(row[first + i]);
    for (int64_t i = 0; i < right; ++i)
      add(rightPad);
  }
};

} // namespace

int32_t weir_kernel_string_ngrams(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  weir_string separator, leftPad, rightPad;
  if (operand_count != 5 || result_count != 2 || !allStrings(operands, 1) ||
      !loadString(operands[2], &separator) || !loadString(operands[3], &leftPad) ||
      !loadString(operands[4], &rightPad) || results[0].dtype != WEIR_STRING ||
      !isIndexType(results[1].dtype))
    return failOperands(ctx, operands, 1);
  const weir_tensor &splits = operands[1];
  int64_t splitCount = elementCountOf(splits), size = elementCountOf(operands[0]);
  int64_t previous = 0;
  for (int64_t i = 0; i < splitCount; ++i) {
    int64_t split = integerAt(splits, i);
    if (split < previous || split > size || (i == 0 && split != 0) ||
        (i + 1 == splitCount && split != size)) {
      char message[160];
      Text(message, sizeof(message))
          << "row split " << i << " is " << split
          << "; they begin with 0, never fall, and end with the number of "
             "tokens, "
          << size;
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
    previous = split;
  }
  // Without a token there is no n-gram, of paddings either, as TensorFlow has it.
  int64_t padWidth = attributes[0], widthCount = size > 0 ? attributes[2] : 0;
  bool preserveShort = attributes[1];
  const int64_t *widths = attributes + 3;
  Growing text(ctx);
  NGrams grams{separator, leftPad, rightPad, padWidth, text};
  // What a row has too few tokens for is one n-gram of all of them.
  auto countOf = [&](int64_t length) {
    int64_t count = 0;
    for (int64_t w = 0; w < widthCount; ++w)
      count += grams.countOf(length, widths[w]);
    return preserveShort && length > 0 && count == 0 ? 1 : count;
  };
  int64_t total = 0;
  for (int64_t i = 0; i + 1 < splitCount; ++i)
    total += countOf(integerAt(splits, i + 1) - integerAt(splits, i));
  if (!shapeResult(ctx, results[0], 1, &total) || !shapeResult(ctx, results[1], 1, &splitCount))
    return WEIR_RESOURCE_EXHAUSTED;
  Contents contents(ctx);
  int64_t at = 0;
  auto add = [&](const weir_string *row, int64_t index, int64_t count, int64_t width) {
    grams.write(row, index, count, width);
    return !text.failed() &&
           contents.copy(text.data(), text.size(), &stringResult(results[0])[at++]);
  };
  if (splitCount > 0)
    storeIndex(results[1], 0, 0);
  for (int64_t i = 0; i + 1 < splitCount; ++i) {
    int64_t begin = integerAt(splits, i);
    int64_t length = integerAt(splits, i + 1) - begin, before = at;
    const weir_string *row = stringsOf(operands[0]) + begin;
    for (int64_t w = 0; w < widthCount; ++w) {
      int64_t count = grams.countOf(length, widths[w]);
      for (int64_t k = 0; k < count; ++k)
        if (!add(row, k, count, widths[w]))
          return WEIR_RESOURCE_EXHAUSTED;
    }
    if (at == before && countOf(length) == 1 &&
        !add(row, 0, 1, length + 2 * (padWidth > 0 ? padWidth : 0)))
      return WEIR_RESOURCE_EXHAUSTED;
    storeIndex(results[1], i + 1, at);
  }
  return WEIR_OK;
}

//===- string_format.cpp - tensors in running text -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/number_text.h"
#include "kernels/unicode.h"

#include <stdio.h>

using namespace weir::rt;

namespace {

/// Writes the first and last elements of each dimension, in brackets.
class TensorPrinter {
public:
  TensorPrinter(const weir_tensor &tensor, int64_t ends, Growing &out) : tensor(tensor), out(out) {
    int64_t count = elementCountOf(tensor);
    this->ends = ends < 0 || ends > count ? count : ends;
  }

  void print() {
    if (tensor.rank > 0)
      return printDimension(0, 0);
    if (ends > 0)
      printElement(0);
    if (elementCountOf(tensor) > ends)
      out << "...";
  }

private:
  void printDimension(int32_t d, int64_t at) {
    if (d == tensor.rank)
      return printElement(at);
    int64_t size = tensor.dims[d], stride = 1;
    for (int32_t i = d + 1; i < tensor.rank; ++i)
      stride *= tensor.dims[i];
    out << '[';
    for (int64_t i = 0; i < ends && i < size; ++i) {
      if (i > 0)
        space(d);
      printDimension(d + 1, at + i * stride);
    }
    if (size > 2 * ends) {
      space(d);
      out << "...";
    }
    for (int64_t i = size - ends > ends ? size - ends : ends; i < size; ++i) {
      space(d);
      printDimension(d + 1, at + i * stride);
    }
    out << ']';
  }

  void space(int32_t d) {
    if (d == tensor.rank - 1) {
      out << ' ';
      return;
    }
    for (int32_t i = d; i < tensor.rank - 1; ++i)
      out << '\n';
    for (int32_t i = 0; i <= d; ++i)
      out << ' ';
  }

  void printElement(int64_t i) {
    if (tensor.dtype == WEIR_STRING)
      return printString(stringsOf(tensor)[i]);
    Number number = numberAt(tensor, i);
    char text[64];
    switch (number.kind) {
    case Number::Kind::Signed:
      snprintf(text, sizeof(text), "%lld", (long long)number.integer);
      break;
    case Number::Kind::Unsigned:
      snprintf(text, sizeof(text), "%llu", (unsigned long long)number.integer);
      break;
    case Number::Kind::Bool:
      snprintf(text, sizeof(text), "%d", int(number.integer != 0));
      break;
    case Number::Kind::Float: {
      bool narrow = isNarrow(tensor.dtype);
      printShortest(number.real, narrow, narrow ? 6 : 15, false, text, sizeof(text));
      break;
    }
    default:
      snprintf(text, sizeof(text), "?");
    }
    out << text;
  }

  /// In quotes, with C's escapes for what is neither printable nor UTF-8.
  void printString(const weir_string &string) {
    out << '"';
    for (int64_t i = 0; i < string.size; ++i) {
      char c = string.data[i];
      const char *escape = c == '\n'   ? "\\n"
                           : c == '\r' ? "\\r"
                           : c == '\t' ? "\\t"
                           : c == '"'  ? "\\\""
                           : c == '\'' ? "\\'"
                           : c == '\\' ? "\\\\"
                                       : nullptr;
      if (escape) {
        out << escape;
      } else if (uint8_t(c) < 0x20 || c == 0x7f) {
        char octal[8];
        snprintf(octal, sizeof(octal), "\\%03o", unsigned(uint8_t(c)));
        out << octal;
      } else {
        out << c;
      }
    }
    out << '"';
  }

  const weir_tensor &tensor;
  int64_t ends;
  Growing &out;
};

} // namespace

int32_t weir_kernel_string_format(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  weir_string pattern, placeholder;
  if (operand_count < 2 || result_count != 1 || results[0].dtype != WEIR_STRING ||
      !loadString(operands[0], &pattern) || !loadString(operands[1], &placeholder))
    return failOperands(ctx, operands, 2);
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  PlainLocale locale;
  Growing text(ctx);
  int32_t next = 2;
  int64_t found = 0;
  for (int64_t i = 0; i < pattern.size;) {
    if (placeholder.size == 0 || i + placeholder.size > pattern.size ||
        memcmp(pattern.data + i, placeholder.data, size_t(placeholder.size))) {
      text << pattern.data[i++];
      continue;
    }
    i += placeholder.size;
    ++found;
    if (next < operand_count)
      TensorPrinter(operands[next++], attributes[0], text).print();
  }
  if (found != operand_count - 2) {
    char message[128];
    Text(message, sizeof(message))
        << "the template has " << found << " placeholders for " << operand_count - 2 << " tensors";
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  Contents contents(ctx);
  if (text.failed() || !contents.copy(text.data(), text.size(), stringResult(results[0])))
    return WEIR_RESOURCE_EXHAUSTED;
  return WEIR_OK;
}

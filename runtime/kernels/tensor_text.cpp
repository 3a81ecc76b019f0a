//===- tensor_text.cpp - tensors as text ----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/tensor_text.h"
#include "kernels/number_text.h"

#include <stdio.h>

using namespace weir::rt;

namespace {

/// With C's escapes for what is not printable; `allBytes`: for bytes beyond ASCII, too.
void printEscaped(const weir_string &string, bool allBytes, Growing &out) {
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
    } else if (uint8_t(c) < 0x20 || uint8_t(c) == 0x7f || (allBytes && uint8_t(c) > 0x7f)) {
      char octal[8];
      snprintf(octal, sizeof(octal), "\\%03o", unsigned(uint8_t(c)));
      out << octal;
    } else {
      out << c;
    }
  }
}

/// A number; six or fifteen digits where they read back as it, else all.
void printNumber(const weir_tensor &tensor, int64_t i, Growing &out) {
  Number number = numberAt(tensor, i);
  bool narrow = isNarrow(tensor.dtype);
  char text[64] = "?";
  if (number.kind == Number::Kind::Signed)
    snprintf(text, sizeof(text), "%lld", (long long)number.integer);
  else if (number.kind == Number::Kind::Unsigned)
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number.integer);
  else if (number.kind == Number::Kind::Bool)
    snprintf(text, sizeof(text), "%d", int(number.integer != 0));
  else if (number.kind == Number::Kind::Float)
    printShortest(number.real, narrow, narrow ? 6 : 15, false, text, sizeof(text));
  out << text;
}

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
    if (tensor.dtype == WEIR_STRING) {
      out << '"';
      printEscaped(stringsOf(tensor)[i], false, out);
      out << '"';
      return;
    }
    printNumber(tensor, i, out);
  }

  const weir_tensor &tensor;
  int64_t ends;
  Growing &out;
};

/// Writes elements in row-major order until `most` are written.
class FirstElements {
public:
  FirstElements(const weir_tensor &tensor, int64_t most, Growing &out)
      : tensor(tensor), count(elementCountOf(tensor)),
        most(most < 0 || most > count ? count : most), out(out) {}

  void print() {
    if (tensor.rank > 0)
      printDimension(0);
    else if (most > 0)
      printElement();
    if (count > most)
      out << "...";
  }

private:
  void printDimension(int32_t d) {
    int64_t size = tensor.dims[d];
    if (d == tensor.rank - 1) {
      for (int64_t i = 0; i < size; ++i) {
        if (next >= most) {
          if (d > 0) // of the outermost the end says it
            out << "...";
          return;
        }
        if (i > 0)
          out << ' ';
        printElement();
      }
      return;
    }
    for (int64_t i = 0; i < size && next < most; ++i) {
      out << '[';
      printDimension(d + 1);
      out << ']';
    }
  }

  void printElement() {
    int64_t i = next++;
    if (tensor.dtype == WEIR_STRING)
      return printEscaped(stringsOf(tensor)[i], true, out);
    printNumber(tensor, i, out);
  }

  const weir_tensor &tensor;
  const int64_t count, most;
  int64_t next = 0;
  Growing &out;
};

} // namespace

void weir::rt::printEnds(const weir_tensor &tensor, int64_t ends, Growing &out) {
  TensorPrinter(tensor, ends, out).print();
}

void weir::rt::printFirst(const weir_tensor &tensor, int64_t most, Growing &out) {
  FirstElements(tensor, most, out).print();
}

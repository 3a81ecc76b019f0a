//===- string_support.h - what kernels of strings share ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_STRING_SUPPORT_H
#define WEIR_RUNTIME_KERNELS_STRING_SUPPORT_H

#include "kernels/kernel_support.h"
#include "support/list.h"

#include <locale.h>

namespace weir::rt {

inline const weir_string *stringsOf(const weir_tensor &tensor) {
  return static_cast<const weir_string *>(tensor.data);
}
inline weir_string *stringResult(weir_tensor &tensor) {
  return static_cast<weir_string *>(tensor.data);
}
inline bool equalStrings(const weir_string &a, const weir_string &b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, size_t(a.size)) == 0);
}
inline weir_string stringOf(const char *text) { return {text, int64_t(strlen(text))}; }
inline bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool allStrings(const weir_tensor *operands, int32_t count);
/// Whether a tensor is one string; sets `value`.
bool loadString(const weir_tensor &tensor, weir_string *value);
/// Element `i` of an integer tensor of any type.
int64_t integerAt(const weir_tensor &tensor, int64_t i);

/// Fails because an operand is no tensor of strings, or else because the
/// operands' shapes do not fit.
int32_t failOperands(weir_context *ctx, const weir_tensor *operands, int32_t count);
/// Begins a kernel from one tensor of strings to another of its shape: checks
/// the operands and shapes the result. WEIR_OK, or the failure's code.
int32_t openStringMap(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                      weir_tensor *results, int32_t result_count);
/// INVALID_ARGUMENT: `before`, the string (what fits of it), `after`.
int32_t failString(weir_context *ctx, const char *before, const weir_string &string,
                   const char *after = "");

inline bool sameShape(const weir_tensor &a, const weir_tensor &b) {
  return a.rank == b.rank && memcmp(a.dims, b.dims, size_t(a.rank) * sizeof(int64_t)) == 0;
}

/// Reads operands as if they had the shape that they broadcast to.
class Broadcast {
public:
  /// False: the shapes do not fit each other.
  bool init(const weir_tensor *tensors, int32_t count);
  int64_t count() const;
  /// Number of the element of operand `t` that belongs to element `index` of
  /// the whole.
  int64_t element(int32_t t, int64_t index) const;
  const weir_string &at(int32_t t, int64_t index) const {
    return stringsOf(operands[t])[element(t, index)];
  }

  int32_t rank = 0;
  int64_t dims[WEIR_MAX_RANK] = {};

private:
  /// Size of operand `t` in dimension `d` of the whole, aligned at the right.
  int64_t sizeOf(int32_t t, int32_t d) const {
    int32_t own = d - (rank - operands[t].rank);
    return own < 0 ? 1 : operands[t].dims[own];
  }

  const weir_tensor *operands = nullptr;
};

/// Where the contents of a kernel's results lie: pieces of memory that end with
/// the run, so that elements may be copied freely.
class Contents {
public:
  explicit Contents(weir_context *ctx) : ctx(ctx) {}

  /// Room for `size` bytes; null when there is none (the run has failed).
  char *make(int64_t size);
  /// A copy of a string. False: no memory.
  bool copy(const char *data, int64_t size, weir_string *out) {
    char *to = make(size);
    if (!to)
      return false;
    if (size > 0)
      memcpy(to, data, size_t(size));
    *out = {to, size};
    return true;
  }

private:
  weir_context *const ctx;
  char *next = nullptr;
  int64_t left = 0, piece = 256;
};

/// Memory of the run, given back by its users or with it.
struct RunMemory {
  weir_context *ctx;
  void *allocate(int64_t bytes) { return weir_custom_alloc(ctx, bytes); }
  void release(void *data) { weir_rt_free(ctx, data); }
};

/// A list in scratch memory. Where it fails to grow the run has failed.
template <typename T> class List : public BasicList<T, RunMemory> {
public:
  explicit List(weir_context *ctx) : BasicList<T, RunMemory>(RunMemory{ctx}) {}
};

/// A string that grows.
using Growing = GrowingText<List<char>>;

/// Numbers are written and read as in the C locale while this lives, whatever
/// the program has chosen.
class PlainLocale {
public:
  PlainLocale()
      : made(newlocale(LC_ALL_MASK, "C", locale_t(0))),
        before(made ? uselocale(made) : locale_t(0)) {}
  ~PlainLocale() {
    if (!made)
      return;
    uselocale(before);
    freelocale(made);
  }
  PlainLocale(const PlainLocale &) = delete;
  PlainLocale &operator=(const PlainLocale &) = delete;

private:
  locale_t made, before;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_STRING_SUPPORT_H

//===- regex_compiler.h - patterns become programs -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_REGEX_COMPILER_H
#define WEIR_RUNTIME_KERNELS_REGEX_COMPILER_H

#include "kernels/regex.h"

#include <stdint.h>

namespace weir::rt {

/// Reads a pattern and writes its steps in one pass: what an operator behind an
/// expression asks for is made by moving or copying the expression's steps.
class RegexCompiler {
public:
  RegexCompiler(weir_context *ctx, Regex &regex, const weir_string &pattern)
      : regex(regex), set(ctx), at(pattern.data), end(pattern.data + pattern.size) {}

  bool compile();

private:
  struct Flags {
    bool anyCase = false, multiLine = false, dotAll = false, lazy = false;
  };
  bool fail(const char *what, const char *from, const char *to);
  bool isBad();
  void emit(RegexStep::Op op, int32_t x = 0, int32_t y = 0, bool flag = false);
  int64_t here() const { return regex.steps.size(); }
  /// Makes room for one step at `where`.
  void insert(int64_t where, RegexStep step);

  //===--------------------------------------------------------------------===//
  // Structure
  //===--------------------------------------------------------------------===//

  /// a|b|c: split to a and on, a, jump to the end, …
  bool alternatives();
  /// An expression and the operators behind it.
  bool piece();
  /// Reads *, +, ?, {n}, {n,} or {n,m}; a brace that begins none is a letter.
  bool repetition(int32_t *low, int32_t *high);
  static RegexStep split(bool lazy, int32_t preferred, int32_t other);
  void copy(int64_t begin, int64_t size);
  void repeat(int64_t begin, int32_t low, int32_t high, bool lazy);

  //===--------------------------------------------------------------------===//
  // Expressions of one character, groups, assertions
  //===--------------------------------------------------------------------===//

  void assertion(RegexAssertion what) { emit(RegexStep::Assert, int32_t(what)); }
  void character(uint32_t code) { emit(RegexStep::Character, int32_t(code), 0, flags.anyCase); }

  bool readCode(uint32_t *code);
  bool atom(bool &isExpression);
  bool group(bool &isExpression);
  static bool isNameLetter(char c);
  bool inner(const char *from);
  /// i, m, s and U behind "(?", "-" before those that are turned off.
  bool groupFlags(const char *from, bool *isFlagsOnly);
  bool escape();
  static int32_t hexDigit(char c);
  /// A backslash and what stands for one character.
  bool characterEscape(uint32_t *code);

  //===--------------------------------------------------------------------===//
  // Classes
  //===--------------------------------------------------------------------===//

  void range(uint32_t low, uint32_t high) { set.push({low, high}); }

  /// Sorts `set` from `from` on, and joins what overlaps or touches.
  void normalize(int64_t from);
  /// Replaces `set` from `from` on by what is not in it.
  void negate(int64_t from);
  bool finishClass(bool isNegated);
  /// \d, \pL and their kin, appended to `set`.
  bool classEscape(bool *isClass);
  bool property(int64_t from);
  /// [:alpha:] and its kin. True with `isClass` unset: none begins here.
  bool namedClass(bool *isClass);
  bool bracket();
  bool classCharacter(uint32_t *code);

  Regex &regex;
  List<RegexRange> set; ///< of the class that is being read
  const char *at, *end;
  Flags flags;
  int32_t depth = 0;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_REGEX_COMPILER_H

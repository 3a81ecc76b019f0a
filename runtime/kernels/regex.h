//===- regex.h - regular expressions in linear time --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The syntax of RE2 (github.com/google/re2/wiki/Syntax), over UTF-8. A pattern
// becomes a program for a machine that follows all ways of matching at once, a
// character at a time, in the order in which a backtracking matcher would try
// them (Thompson 1968; Pike's extension for groups; R. Cox, "Regular Expression
// Matching: the Virtual Machine Approach"): time grows with the text times the
// pattern, whatever they are.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_REGEX_H
#define WEIR_RUNTIME_KERNELS_REGEX_H

#include "kernels/string_support.h"

namespace weir::rt {

/// One step of a program. Targets are relative, so that code can be moved and
/// copied whole.
struct RegexStep {
  enum Op : uint8_t {
    Character, ///< code point `x`; `flag`: in any case
    Class,     ///< a code point of class `x`; `flag`: in any case
    Byte,      ///< any one byte
    Split,     ///< at `x`, and then at `y`
    Jump,      ///< to `x`
    Save,      ///< the position, in slot `x`
    Assert,    ///< `x` is a RegexAssertion
    Match,
  };
  Op op;
  bool flag;
  int32_t x, y;
};

enum class RegexAssertion : int32_t {
  BeginText,
  EndText,
  BeginLine,
  EndLine,
  WordBoundary,
  NoWordBoundary,
};

struct RegexRange {
  uint32_t low, high;
};
/// Ranges [first, first + count), ascending and apart.
struct RegexClass {
  int64_t first, count;
};

/// A compiled pattern.
class Regex {
public:
  explicit Regex(weir_context *ctx) : steps(ctx), ranges(ctx), classes(ctx) {}

  /// False: `error` says what is wrong with the pattern, or there was no memory.
  bool compile(weir_context *ctx, const weir_string &pattern);
  bool hasClass(int32_t number, uint32_t code, bool anyCase) const;

  List<RegexStep> steps;
  List<RegexRange> ranges;
  List<RegexClass> classes;
  int32_t groups = 0; ///< without the whole
  char error[120] = {};
};

/// Runs a pattern over texts. Not to be shared between threads.
class RegexMatcher {
public:
  /// Positions of groups 0 to `groups` are told; -1: not even of the whole.
  RegexMatcher(weir_context *ctx, const Regex &regex, int32_t groups);
  bool failed() const { return outOfMemory; }

  /// Whether the whole text matches.
  bool matchesAll(const weir_string &text);
  /// Finds the first match that begins at `from` or later. `spans[2 * g]` and
  /// `spans[2 * g + 1]` are begin and end of group g, -1 when it took no part.
  bool search(const weir_string &text, int64_t from);
  int64_t *spans;

private:
  struct Item {
    int32_t step;
    int32_t slot; ///< not negative: put `position` back into it
    int64_t position;
  };
  /// The threads that wait at one position, in order of preference.
  struct Threads {
    List<int32_t> steps;
    List<int64_t> slots;
    explicit Threads(weir_context *ctx) : steps(ctx), slots(ctx) {}
  };
  struct Around {
    int64_t position;
    uint32_t before, after;
    bool atBegin, atEnd;
  };
  bool run(const weir_string &text, int64_t from, bool whole);
  void add(Threads &to, int32_t step, const Around &around);
  static bool holds(RegexAssertion assertion, const Around &around);

  const Regex &regex;
  const int32_t slotCount;
  Threads current, next;
  List<uint32_t> seen;
  List<Item> stack;
  List<int64_t> working, found;
  uint32_t generation = 0;
  bool outOfMemory = false;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_REGEX_H

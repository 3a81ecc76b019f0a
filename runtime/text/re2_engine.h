//===- re2_engine.h - regular expressions by RE2 ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels over regular expressions see of RE2 (github.com/google/re2): classes with the
// names and members of the runtime's own (kernels/regex.h), in a namespace of their own, so
// that both may be in one program. RE2 allocates with malloc, not from the session, and ends
// the process where there is no memory; a pattern may take 8 MiB.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_TEXT_RE2_ENGINE_H
#define WEIR_RUNTIME_TEXT_RE2_ENGINE_H

#include "kernels/string_support.h"

namespace weir::rt {
inline namespace by_re2 {

/// A compiled pattern.
class Regex {
public:
  explicit Regex(weir_context *) {}
  ~Regex();
  Regex(const Regex &) = delete;
  Regex &operator=(const Regex &) = delete;

  /// False: `error` says what is wrong with the pattern.
  bool compile(weir_context *ctx, const weir_string &pattern);

  void *program = nullptr; ///< an RE2
  int32_t groups = 0;      ///< without the whole
  char error[120] = {};
};

/// Runs a pattern over texts. Not to be shared between threads.
class RegexMatcher {
public:
  /// Positions of groups 0 to `groups` are told; -1: not even of the whole.
  RegexMatcher(weir_context *ctx, const Regex &regex, int32_t groups);
  bool failed() const { return !found.data || !pieces.data; }

  /// Whether the whole text matches.
  bool matchesAll(const weir_string &text);
  /// Finds the first match that begins at `from` or later. `spans[2 * g]` and
  /// `spans[2 * g + 1]` are begin and end of group g, -1 when it took no part.
  bool search(const weir_string &text, int64_t from);

private:
  const Regex &regex;
  const int32_t count; ///< groups that are told, the whole among them
  Scratch<int64_t> found;
  Scratch<char> pieces; ///< room for as many StringPieces

public:
  int64_t *const spans;
};

} // namespace by_re2
} // namespace weir::rt

#endif // WEIR_RUNTIME_TEXT_RE2_ENGINE_H

//===- re2_engine.cpp - regular expressions by RE2 ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "text/re2_engine.h"

#include <re2/re2.h>

#include <new>

using namespace weir::rt;

using re2::RE2;
using re2::StringPiece;

static const RE2 &programOf(const Regex &regex) { return *static_cast<const RE2 *>(regex.program); }

/// No piece without data: RE2 tells groups that took no part by that.
static StringPiece pieceOf(const weir_string &text) {
  return {text.data ? text.data : "", size_t(text.size)};
}

Regex::~Regex() { delete static_cast<RE2 *>(program); }

bool Regex::compile(weir_context *, const weir_string &pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto *made = new RE2(pieceOf(pattern), options);
  program = made;
  if (!made->ok()) {
    Text(error, sizeof(error)) << made->error().c_str();
    return false;
  }
  groups = made->NumberOfCapturingGroups();
  return true;
}

RegexMatcher::RegexMatcher(weir_context *ctx, const Regex &regex, int32_t groups)
    : regex(regex), count(groups + 1), found(ctx, 2 * int64_t(count)),
      pieces(ctx, int64_t(sizeof(StringPiece)) * count), spans(found.data) {}

bool RegexMatcher::matchesAll(const weir_string &text) {
  return RE2::FullMatchN(pieceOf(text), programOf(regex), nullptr, 0);
}

bool RegexMatcher::search(const weir_string &text, int64_t from) {
  StringPiece whole = pieceOf(text);
  auto *groups = reinterpret_cast<StringPiece *>(pieces.data);
  for (int32_t i = 0; i < count; ++i)
    new (groups + i) StringPiece();
  if (!programOf(regex).Match(whole, size_t(from), whole.size(), RE2::UNANCHORED, groups, count))
    return false;
  for (int32_t i = 0; i < count; ++i) {
    bool took = groups[i].data();
    spans[2 * i] = took ? groups[i].data() - whole.data() : -1;
    spans[2 * i + 1] = took ? spans[2 * i] + int64_t(groups[i].size()) : -1;
  }
  return true;
}

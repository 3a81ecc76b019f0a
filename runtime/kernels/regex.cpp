//===- regex.cpp - patterns become programs --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/regex_compiler.h"

#include "kernels/unicode.h"

using namespace weir::rt;

/// Steps that a pattern may have, and how deep groups may lie in each other.
static constexpr int64_t maxSteps = 1 << 17;
static constexpr int32_t maxDepth = 250, maxRepeat = 1000;

bool RegexCompiler::compile() {
  emit(RegexStep::Save, 0);
  if (!alternatives())
    return false;
  if (at < end)
    return fail("unexpected )", at, end);
  emit(RegexStep::Save, 1);
  emit(RegexStep::Match);
  return !isBad();
}

bool RegexCompiler::fail(const char *what, const char *from, const char *to) {
  if (regex.error[0])
    return false;
  Text text(regex.error, sizeof(regex.error));
  text << what;
  if (from) {
    text << ": ";
    text.append(from, to - from < 60 ? to - from : 60);
  }
  return false;
}

bool RegexCompiler::isBad() {
  if (regex.steps.size() > maxSteps)
    fail("pattern too large - compile failed", nullptr, nullptr);
  return regex.error[0] || regex.steps.failed() || regex.ranges.failed() ||
         regex.classes.failed() || set.failed();
}

void RegexCompiler::emit(RegexStep::Op op, int32_t x, int32_t y, bool flag) {
  regex.steps.push({op, flag, x, y});
}

void RegexCompiler::insert(int64_t where, RegexStep step) {
  emit(RegexStep::Jump);
  if (regex.steps.failed())
    return;
  RegexStep *steps = regex.steps.data();
  memmove(steps + where + 1, steps + where, size_t(here() - 1 - where) * sizeof(RegexStep));
  steps[where] = step;
}

bool RegexCompiler::alternatives() {
  if (++depth > maxDepth)
    return fail("nesting too deep", nullptr, nullptr);
  Flags outer = flags;
  int64_t branch = here(), lastJump = -1;
  for (;;) {
    while (at < end && *at != '|' && *at != ')')
      if (!piece() || isBad())
        return false;
    if (at == end || *at == ')')
      break;
    ++at;
    insert(branch, {RegexStep::Split, false, 1, int32_t(here() - branch) + 2});
    // Jumps to the end are linked by `y` until the end is known.
    emit(RegexStep::Jump, 0, int32_t(lastJump));
    lastJump = here() - 1;
    branch = here();
    if (isBad())
      return false;
  }
  while (lastJump >= 0) {
    RegexStep &jump = regex.steps[lastJump];
    int64_t previous = jump.y;
    jump.x = int32_t(here() - lastJump);
    jump.y = 0;
    lastJump = previous;
  }
  flags = outer;
  --depth;
  return true;
}

bool RegexCompiler::piece() {
  if (*at == '*' || *at == '+' || *at == '?')
    return fail("no argument for repetition operator", at, at + 1);
  int64_t begin = here();
  bool isExpression = true;
  if (!atom(isExpression))
    return false;
  bool wasRepeated = false;
  const char *operatorBegin = at;
  while (at < end) {
    int32_t low, high;
    const char *before = at;
    if (!repetition(&low, &high))
      break;
    if (low > maxRepeat || high > maxRepeat || (high >= 0 && low > high))
      return fail("invalid repetition size", before, at);
    bool lazy = flags.lazy;
    if (at < end && *at == '?') {
      lazy = !lazy;
      ++at;
    }
    if (wasRepeated)
      return fail("bad repetition operator", operatorBegin, at);
    if (!isExpression)
      return fail("no argument for repetition operator", before, at);
    repeat(begin, low, high, lazy);
    wasRepeated = true;
    operatorBegin = before;
    if (isBad())
      return false;
  }
  return true;
}

bool RegexCompiler::repetition(int32_t *low, int32_t *high) {
  *low = 0;
  *high = -1;
  if (*at == '*' || *at == '+' || *at == '?') {
    *low = *at == '+';
    *high = *at == '?' ? 1 : -1;
    ++at;
    return true;
  }
  if (*at != '{')
    return false;
  const char *p = at + 1;
  auto number = [&](int32_t *value) {
    const char *digits = p;
    *value = 0;
    for (; p < end && *p >= '0' && *p <= '9'; ++p)
      *value = *value > maxRepeat ? *value : *value * 10 + (*p - '0');
    return p > digits;
  };
  if (!number(low))
    return false;
  *high = *low;
  if (p < end && *p == ',') {
    ++p;
    *high = -1;
    if (p < end && *p != '}' && !number(high))
      return false;
  }
  if (p == end || *p != '}')
    return false;
  at = p + 1;
  return true;
}

RegexStep RegexCompiler::split(bool lazy, int32_t preferred, int32_t other) {
  return {RegexStep::Split, false, lazy ? other : preferred, lazy ? preferred : other};
}

void RegexCompiler::copy(int64_t begin, int64_t size) {
  for (int64_t i = 0; i < size && !regex.steps.failed() && regex.steps.size() <= maxSteps; ++i)
    regex.steps.push(regex.steps[begin + i]);
}

void RegexCompiler::repeat(int64_t begin, int32_t low, int32_t high, bool lazy) {
  int64_t size = here() - begin;
  if (high == 0) { // nothing is left of it but its groups' numbers
    regex.steps.resize(begin);
    return;
  }
  if (low == 0 && high < 0) {
    // (x+)?, not a loop around x: where x takes nothing, that is a match of
    // the whole, which a way back to the first split would not find.
    insert(begin, split(lazy, 1, int32_t(size) + 2));
    regex.steps.push(split(lazy, -int32_t(size), 1));
    return;
  }
  for (int32_t i = 1; i < low; ++i)
    copy(begin, size);
  if (high < 0) { // the last one again and again
    regex.steps.push(split(lazy, -int32_t(size), 1));
    return;
  }
  // x(x(x)?)?: from the inside, each may end it all.
  int32_t optional = high - low;
  if (low == 0) {
    // All are optional: the first becomes what follows it.
    int32_t total = int32_t(size) + 1;
    if (int64_t(total) * optional > maxSteps) {
      fail("pattern too large - compile failed", nullptr, nullptr);
      return;
    }
    insert(begin, split(lazy, 1, total * optional));
    for (int32_t i = 1; i < optional; ++i) {
      regex.steps.push(split(lazy, 1, total * (optional - i)));
      copy(begin + 1, size);
    }
    return;
  }
  int32_t total = int32_t(size) + 1;
  if (int64_t(total) * optional > maxSteps) {
    fail("pattern too large - compile failed", nullptr, nullptr);
    return;
  }
  for (int32_t i = 0; i < optional; ++i) {
    regex.steps.push(split(lazy, 1, total * (optional - i)));
    copy(begin, size);
  }
}

bool RegexCompiler::readCode(uint32_t *code) {
  at += decodeUtf8(at, end, code);
  if (*code == badCodePoint)
    return fail("invalid UTF-8", nullptr, nullptr);
  return true;
}

bool RegexCompiler::atom(bool &isExpression) {
  char c = *at;
  switch (c) {
  case '(':
    return group(isExpression);
  case '[':
    return bracket();
  case '.':
    ++at;
    set.clear();
    if (flags.dotAll) {
      set.push({0, lastCodePoint});
    } else {
      set.push({0, '\n' - 1});
      set.push({'\n' + 1, lastCodePoint});
    }
    return finishClass(false);
  case '^':
    ++at;
    assertion(flags.multiLine ? RegexAssertion::BeginLine : RegexAssertion::BeginText);
    return true;
  case '$':
    ++at;
    assertion(flags.multiLine ? RegexAssertion::EndLine : RegexAssertion::EndText);
    return true;
  case '\\':
    return escape();
  default: {
    uint32_t code;
    if (!readCode(&code))
      return false;
    character(code);
    return true;
  }
  }
}

bool RegexCompiler::group(bool &isExpression) {
  const char *from = at++;
  bool isCapture = true;
  if (at < end && *at == '?') {
    ++at;
    bool isNamed = end - at > 1 && at[0] == 'P' && at[1] == '<';
    isNamed |= at < end && *at == '<' && !(end - at > 1 && (at[1] == '=' || at[1] == '!'));
    if (isNamed) {
      at += *at == 'P' ? 2 : 1;
      const char *name = at;
      while (at < end && isNameLetter(*at))
        ++at;
      if (at == end || *at != '>' || at == name)
        return fail("invalid named capture group", from, at < end ? at + 1 : at);
      ++at;
    } else {
      isCapture = false;
      bool isFlagsOnly = false;
      Flags outer = flags;
      if (!groupFlags(from, &isFlagsOnly))
        return false;
      if (isFlagsOnly) { // holds to the end of the group around
        isExpression = false;
        return true;
      }
      if (!inner(from))
        return false;
      flags = outer;
      return true;
    }
  }
  int32_t number = ++regex.groups;
  if (isCapture)
    emit(RegexStep::Save, 2 * number);
  if (!inner(from))
    return false;
  emit(RegexStep::Save, 2 * number + 1);
  return true;
}

bool RegexCompiler::isNameLetter(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         uint8_t(c) >= 0x80;
}

bool RegexCompiler::inner(const char *from) {
  if (!alternatives())
    return false;
  if (at == end)
    return fail("missing )", from, end);
  ++at;
  return true;
}

bool RegexCompiler::groupFlags(const char *from, bool *isFlagsOnly) {
  bool value = true, any = false;
  for (; at < end; ++at) {
    switch (*at) {
    case 'i':
      flags.anyCase = value;
      break;
    case 'm':
      flags.multiLine = value;
      break;
    case 's':
      flags.dotAll = value;
      break;
    case 'U':
      flags.lazy = value;
      break;
    case '-':
      if (!value)
        return fail("invalid perl operator", from, at + 1);
      value = false;
      any = false;
      continue;
    case ':':
    case ')':
      if (!value && !any)
        return fail("missing argument to perl operator", from, at + 1);
      *isFlagsOnly = *at == ')';
      ++at;
      return true;
    default:
      return fail("invalid perl operator", from, at + 1);
    }
    any = true;
  }
  return fail("missing )", from, end);
}

bool RegexCompiler::escape() {
  if (end - at < 2)
    return fail("trailing \\", nullptr, nullptr);
  switch (at[1]) {
  case 'b':
    at += 2;
    assertion(RegexAssertion::WordBoundary);
    return true;
  case 'B':
    at += 2;
    assertion(RegexAssertion::NoWordBoundary);
    return true;
  case 'A':
    at += 2;
    assertion(RegexAssertion::BeginText);
    return true;
  case 'z':
    at += 2;
    assertion(RegexAssertion::EndText);
    return true;
  case 'C':
    at += 2;
    emit(RegexStep::Byte);
    return true;
  case 'Q': // letters up to \E
    at += 2;
    while (at < end && !(end - at > 1 && at[0] == '\\' && at[1] == 'E')) {
      uint32_t code;
      if (!readCode(&code))
        return false;
      character(code);
    }
    at = end - at > 1 ? at + 2 : end;
    return true;
  default:
    break;
  }
  set.clear();
  bool isClass = false;
  if (!classEscape(&isClass))
    return false;
  if (isClass)
    return finishClass(false);
  uint32_t code;
  if (!characterEscape(&code))
    return false;
  character(code);
  return true;
}

bool Regex::compile(weir_context *ctx, const weir_string &pattern) {
  return RegexCompiler(ctx, *this, pattern).compile();
}

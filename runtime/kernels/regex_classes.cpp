//===- regex_classes.cpp - characters and classes of patterns ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/regex_compiler.h"

#include "kernels/unicode.h"

using namespace weir::rt;

int32_t RegexCompiler::hexDigit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

bool RegexCompiler::characterEscape(uint32_t *code) {
  const char *from = at++;
  if (at == end)
    return fail("trailing \\", nullptr, nullptr);
  char c = *at++;
  auto bad = [&] { return fail("invalid escape sequence", from, at); };
  switch (c) {
  case 'a':
    *code = 7;
    return true;
  case 'f':
    *code = '\f';
    return true;
  case 'n':
    *code = '\n';
    return true;
  case 'r':
    *code = '\r';
    return true;
  case 't':
    *code = '\t';
    return true;
  case 'v':
    *code = '\v';
    return true;
  case 'x': {
    *code = 0;
    if (at < end && *at == '{') {
      const char *digits = ++at;
      for (; at < end && hexDigit(*at) >= 0 && *code <= lastCodePoint; ++at)
        *code = *code * 16 + uint32_t(hexDigit(*at));
      if (at == end || *at != '}' || at == digits || *code > lastCodePoint)
        return bad();
      ++at;
      return true;
    }
    if (end - at < 2 || hexDigit(at[0]) < 0 || hexDigit(at[1]) < 0)
      return bad();
    *code = uint32_t(hexDigit(at[0]) * 16 + hexDigit(at[1]));
    at += 2;
    return true;
  }
  default:
    break;
  }
  auto isOctal = [&] { return at < end && *at >= '0' && *at <= '7'; };
  if (c >= '0' && c <= '7') {
    // One digit but 0 would be a reference to a group, which there is none of.
    if (c != '0' && !isOctal())
      return bad();
    *code = uint32_t(c - '0');
    for (int i = 0; i < 2 && isOctal(); ++i)
      *code = *code * 8 + uint32_t(*at++ - '0');
    return true;
  }
  if (uint8_t(c) < 0x80 && !isNameLetter(c)) {
    *code = uint8_t(c);
    return true;
  }
  return bad();
}

void RegexCompiler::normalize(int64_t from) {
  // Heap sort: patterns come from users, and tables are long.
  RegexRange *items = set.data() + from;
  int64_t count = set.size() - from;
  auto sift = [&](int64_t root, int64_t size) {
    for (int64_t child; (child = 2 * root + 1) < size; root = child) {
      if (child + 1 < size && items[child + 1].low > items[child].low)
        ++child;
      if (items[root].low >= items[child].low)
        return;
      RegexRange kept = items[root];
      items[root] = items[child];
      items[child] = kept;
    }
  };
  for (int64_t i = count / 2; i-- > 0;)
    sift(i, count);
  for (int64_t i = count; i-- > 1;) {
    RegexRange kept = items[0];
    items[0] = items[i];
    items[i] = kept;
    sift(0, i);
  }
  int64_t out = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (out > 0 && items[i].low <= items[out - 1].high + 1) {
      if (items[i].high > items[out - 1].high)
        items[out - 1].high = items[i].high;
      continue;
    }
    items[out++] = items[i];
  }
  set.resize(from + out);
}

void RegexCompiler::negate(int64_t from) {
  normalize(from);
  int64_t count = set.size() - from;
  uint32_t next = 0;
  for (int64_t i = 0; i < count; ++i) {
    RegexRange item = set[from + i];
    if (item.low > next)
      set.push({next, item.low - 1});
    next = item.high + 1;
  }
  if (next <= lastCodePoint)
    set.push({next, lastCodePoint});
  if (set.failed())
    return;
  int64_t made = set.size() - from - count;
  memmove(set.data() + from, set.data() + from + count, size_t(made) * sizeof(RegexRange));
  set.resize(from + made);
}

bool RegexCompiler::finishClass(bool isNegated) {
  if (set.failed())
    return false;
  if (isNegated)
    negate(0);
  else
    normalize(0);
  regex.classes.push({regex.ranges.size(), set.size()});
  regex.ranges.append(set.data(), set.size());
  emit(RegexStep::Class, int32_t(regex.classes.size() - 1), 0, flags.anyCase);
  return true;
}

bool RegexCompiler::classEscape(bool *isClass) {
  *isClass = false;
  if (end - at < 2)
    return true;
  int64_t from = set.size();
  char c = at[1];
  switch (c) {
  case 'd':
  case 'D':
    range('0', '9');
    break;
  case 's':
  case 'S':
    range('\t', '\n');
    range('\f', '\r');
    range(' ', ' ');
    break;
  case 'w':
  case 'W':
    range('0', '9');
    range('A', 'Z');
    range('_', '_');
    range('a', 'z');
    break;
  case 'p':
  case 'P':
    *isClass = true;
    return property(from);
  default:
    return true;
  }
  *isClass = true;
  at += 2;
  if (c < 'a')
    negate(from);
  return true;
}

bool RegexCompiler::property(int64_t from) {
  const char *begin = at;
  bool isNegated = at[1] == 'P';
  at += 2;
  const char *name = at;
  int64_t size;
  if (at < end && *at == '{') {
    name = ++at;
    while (at < end && *at != '}')
      ++at;
    if (at == end)
      return fail("invalid character class range", begin, end);
    size = at++ - name;
    if (size > 0 && *name == '^') {
      isNegated = !isNegated;
      ++name;
      --size;
    }
  } else {
    if (at == end)
      return fail("invalid character class range", begin, end);
    uint32_t code;
    if (!readCode(&code))
      return false;
    size = at - name;
  }
  bool isKnown = forEachInClass(
      name, size,
      [](void *data, uint32_t low, uint32_t high) {
        static_cast<RegexCompiler *>(data)->range(low, high);
      },
      this);
  if (!isKnown)
    return fail("invalid character class range", begin, at);
  if (isNegated)
    negate(from);
  return true;
}

bool RegexCompiler::namedClass(bool *isClass) {
  *isClass = false;
  if (end - at < 4 || at[0] != '[' || at[1] != ':')
    return true;
  const char *close = at + 2;
  while (close + 1 < end && !(close[0] == ':' && close[1] == ']'))
    ++close;
  if (close + 1 >= end)
    return true;
  const char *name = at + 2;
  bool isNegated = *name == '^';
  name += isNegated;
  struct Named {
    const char *name;
    const char *pairs; ///< low and high in turn
  };
  static const Named known[] = {
      {"alnum", "09AZaz"},
      {"alpha", "AZaz"},
      {"ascii", "\x01\x7f"},
      {"blank", "\t\t  "},
      {"cntrl", "\x01\x1f\x7f\x7f"},
      {"digit", "09"},
      {"graph", "!~"},
      {"lower", "az"},
      {"print", " ~"},
      {"punct", "!/:@[`{~"},
      {"space", "\t\r  "},
      {"upper", "AZ"},
      {"word", "09AZaz__"},
      {"xdigit", "09AFaf"},
  };
  int64_t from = set.size();
  for (const Named &row : known) {
    if (int64_t(strlen(row.name)) != close - name || memcmp(row.name, name, size_t(close - name)))
      continue;
    if (row.pairs[0] == 1) // these two have the character 0, too
      range(0, 0);
    for (const char *pair = row.pairs; *pair; pair += 2)
      range(uint8_t(pair[0]), uint8_t(pair[1]));
    if (isNegated)
      negate(from);
    *isClass = true;
    at = close + 2;
    return true;
  }
  return fail("invalid character class range", at, close + 2);
}

bool RegexCompiler::bracket() {
  const char *from = at++;
  bool isNegated = at < end && *at == '^';
  at += isNegated;
  set.clear();
  bool isFirst = true;
  for (; at < end && (*at != ']' || isFirst); isFirst = false) {
    bool isClass;
    if (!namedClass(&isClass))
      return false;
    if (isClass)
      continue;
    if (*at == '\\') {
      if (!classEscape(&isClass))
        return false;
      if (isClass)
        continue;
    }
    const char *begin = at;
    // A minus stands for itself at either end only.
    if (*at == '-' && !isFirst && end - at > 1 && at[1] != ']') {
      const char *after = at + 1;
      uint32_t code;
      after += decodeUtf8(after, end, &code);
      return fail("invalid character class range", at, after);
    }
    uint32_t low, high;
    if (!classCharacter(&low))
      return false;
    high = low;
    if (end - at > 1 && at[0] == '-' && at[1] != ']') {
      ++at;
      if (!classCharacter(&high))
        return false;
      if (high < low)
        return fail("invalid character class range", begin, at);
    }
    range(low, high);
  }
  if (at == end)
    return fail("missing ]", from, end);
  ++at;
  return finishClass(isNegated);
}

bool RegexCompiler::classCharacter(uint32_t *code) {
  return *at == '\\' ? characterEscape(code) : readCode(code);
}

//===- regex.cpp - patterns become programs --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/regex.h"
#include "kernels/unicode.h"

using namespace weir::rt;

namespace {

/// Steps that a pattern may have, and how deep groups may lie in each other.
constexpr int64_t maxSteps = 1 << 17;
constexpr int32_t maxDepth = 250, maxRepeat = 1000;

/// Reads a pattern and writes its steps in one pass: what an operator behind an
/// expression asks for is made by moving or copying the expression's steps.
class Compiler {
public:
  Compiler(weir_context *ctx, Regex &regex, const weir_string &pattern)
      : regex(regex), set(ctx), at(pattern.data), end(pattern.data + pattern.size) {}

  bool compile() {
    emit(RegexStep::Save, 0);
    if (!alternatives())
      return false;
    if (at < end)
      return fail("unexpected )", at, end);
    emit(RegexStep::Save, 1);
    emit(RegexStep::Match);
    return !isBad();
  }

private:
  struct Flags {
    bool anyCase = false, multiLine = false, dotAll = false, lazy = false;
  };

  bool fail(const char *what, const char *from, const char *to) {
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
  bool isBad() {
    if (regex.steps.size() > maxSteps)
      fail("pattern too large - compile failed", nullptr, nullptr);
    return regex.error[0] || regex.steps.failed() || regex.ranges.failed() ||
           regex.classes.failed() || set.failed();
  }

  void emit(RegexStep::Op op, int32_t x = 0, int32_t y = 0, bool flag = false) {
    regex.steps.push({op, flag, x, y});
  }
  int64_t here() const { return regex.steps.size(); }
  /// Makes room for one step at `where`.
  void insert(int64_t where, RegexStep step) {
    emit(RegexStep::Jump);
    if (regex.steps.failed())
      return;
    RegexStep *steps = regex.steps.data();
    memmove(steps + where + 1, steps + where, size_t(here() - 1 - where) * sizeof(RegexStep));
    steps[where] = step;
  }

  //===--------------------------------------------------------------------===//
  // Structure
  //===--------------------------------------------------------------------===//

  /// a|b|c: split to a and on, a, jump to the end, …
  bool alternatives() {
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

  /// An expression and the operators behind it.
  bool piece() {
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

  /// Reads *, +, ?, {n}, {n,} or {n,m}; a brace that begins none is a letter.
  bool repetition(int32_t *low, int32_t *high) {
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

  static RegexStep split(bool lazy, int32_t preferred, int32_t other) {
    return {RegexStep::Split, false, lazy ? other : preferred, lazy ? preferred : other};
  }

  void copy(int64_t begin, int64_t size) {
    for (int64_t i = 0; i < size && !regex.steps.failed() && regex.steps.size() <= maxSteps; ++i)
      regex.steps.push(regex.steps[begin + i]);
  }

  void repeat(int64_t begin, int32_t low, int32_t high, bool lazy) {
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

  //===--------------------------------------------------------------------===//
  // Expressions of one character, groups, assertions
  //===--------------------------------------------------------------------===//

  void assertion(RegexAssertion what) { emit(RegexStep::Assert, int32_t(what)); }
  void character(uint32_t code) { emit(RegexStep::Character, int32_t(code), 0, flags.anyCase); }

  bool readCode(uint32_t *code) {
    at += decodeUtf8(at, end, code);
    if (*code == badCodePoint)
      return fail("invalid UTF-8", nullptr, nullptr);
    return true;
  }

  bool atom(bool &isExpression) {
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

  bool group(bool &isExpression) {
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

  static bool isNameLetter(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           uint8_t(c) >= 0x80;
  }

  bool inner(const char *from) {
    if (!alternatives())
      return false;
    if (at == end)
      return fail("missing )", from, end);
    ++at;
    return true;
  }

  /// i, m, s and U behind "(?", "-" before those that are turned off.
  bool groupFlags(const char *from, bool *isFlagsOnly) {
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

  bool escape() {
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

  static int32_t hexDigit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  }

  /// A backslash and what stands for one character.
  bool characterEscape(uint32_t *code) {
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

  //===--------------------------------------------------------------------===//
  // Classes
  //===--------------------------------------------------------------------===//

  void range(uint32_t low, uint32_t high) { set.push({low, high}); }

  /// Sorts `set` from `from` on, and joins what overlaps or touches.
  void normalize(int64_t from) {
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

  /// Replaces `set` from `from` on by what is not in it.
  void negate(int64_t from) {
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

  bool finishClass(bool isNegated) {
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

  /// \d, \pL and their kin, appended to `set`.
  bool classEscape(bool *isClass) {
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

  bool property(int64_t from) {
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
          static_cast<Compiler *>(data)->range(low, high);
        },
        this);
    if (!isKnown)
      return fail("invalid character class range", begin, at);
    if (isNegated)
      negate(from);
    return true;
  }

  /// [:alpha:] and its kin. True with `isClass` unset: none begins here.
  bool namedClass(bool *isClass) {
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

  bool bracket() {
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

  bool classCharacter(uint32_t *code) {
    return *at == '\\' ? characterEscape(code) : readCode(code);
  }

  Regex &regex;
  List<RegexRange> set; ///< of the class that is being read
  const char *at, *end;
  Flags flags;
  int32_t depth = 0;
};

} // namespace

bool Regex::compile(weir_context *ctx, const weir_string &pattern) {
  return Compiler(ctx, *this, pattern).compile();
}

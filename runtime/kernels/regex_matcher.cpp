//===- regex_matcher.cpp - regular expressions in linear time -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/regex.h"
#include "kernels/unicode.h"

namespace weir::rt {

RegexMatcher::RegexMatcher(weir_context *ctx, const Regex &regex, int32_t groups)
    : regex(regex), slotCount(2 * (groups + 1)), current(ctx), next(ctx), seen(ctx), stack(ctx),
      working(ctx), found(ctx) {
  int64_t count = regex.steps.size();
  Threads *both[] = {&current, &next};
  for (Threads *threads : both)
    outOfMemory |= !threads->steps.reserve(count) || !threads->slots.reserve(count * slotCount + 1);
  outOfMemory |= !seen.reserve(count) || !stack.reserve(2 * count + 2) ||
                 !working.reserve(slotCount + 1) || !found.reserve(slotCount + 1);
  if (outOfMemory)
    return;
  for (int64_t i = 0; i < count; ++i)
    seen.push(0);
  spans = found.data();
}

static bool isWord(uint32_t code) {
  return code == '_' || (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
         (code >= 'a' && code <= 'z');
}

bool RegexMatcher::holds(RegexAssertion assertion, const Around &around) {
  switch (assertion) {
  case RegexAssertion::BeginText:
    return around.atBegin;
  case RegexAssertion::EndText:
    return around.atEnd;
  case RegexAssertion::BeginLine:
    return around.atBegin || around.before == '\n';
  case RegexAssertion::EndLine:
    return around.atEnd || around.after == '\n';
  case RegexAssertion::WordBoundary:
  case RegexAssertion::NoWordBoundary: {
    bool differs =
        (!around.atBegin && isWord(around.before)) != (!around.atEnd && isWord(around.after));
    return differs == (assertion == RegexAssertion::WordBoundary);
  }
  }
  return false;
}

/// Follows what takes no character from `step` on; threads end up in `to` once
/// each, the preferred first.
void RegexMatcher::add(Threads &to, int32_t first, const Around &around) {
  stack.clear();
  stack.push({first, -1, 0});
  while (stack.size() > 0) {
    Item item = stack[stack.size() - 1];
    stack.resize(stack.size() - 1);
    if (item.slot >= 0) {
      working.data()[item.slot] = item.position;
      continue;
    }
    int32_t at = item.step;
    while (seen[at] != generation) {
      seen[at] = generation;
      const RegexStep &step = regex.steps[at];
      if (step.op == RegexStep::Jump) {
        at += step.x;
      } else if (step.op == RegexStep::Split) {
        stack.push({at + step.y, -1, 0});
        at += step.x;
      } else if (step.op == RegexStep::Save) {
        if (step.x < slotCount) {
          stack.push({0, step.x, working.data()[step.x]});
          working.data()[step.x] = around.position;
        }
        ++at;
      } else if (step.op == RegexStep::Assert) {
        if (!holds(RegexAssertion(step.x), around))
          break;
        ++at;
      } else {
        to.steps.push(at);
        to.slots.append(working.data(), slotCount);
        break;
      }
    }
  }
}

bool RegexMatcher::run(const weir_string &text, int64_t from, bool whole) {
  const char *end = text.data + text.size;
  Threads *now = &current, *later = &next;
  now->steps.clear();
  now->slots.clear();
  auto fresh = [&] {
    // Zero means never: start over where the counter wraps.
    if (++generation == 0) {
      memset(seen.data(), 0, size_t(seen.size()) * sizeof(uint32_t));
      generation = 1;
    }
  };
  uint32_t before = badCodePoint;
  for (int64_t i = from; i > 0;) {
    // The character before the first one, for the assertions.
    do
      --i;
    while (i > 0 && isContinuation(text.data[i]));
    decodeUtf8(text.data + i, text.data + from, &before);
    break;
  }
  bool matched = false;
  fresh();
  for (int64_t position = from;;) {
    bool atEnd = position == text.size;
    uint32_t code = badCodePoint;
    int32_t size = atEnd ? 0 : decodeUtf8(text.data + position, end, &code);
    if (code == badCodePoint && size > 1)
      size = 1;
    Around here{position, before, code, position == 0, atEnd};
    if (!matched && (!whole || position == from)) {
      // A match may begin here, less preferred than those that have begun.
      for (int32_t i = 0; i < slotCount; ++i)
        working.data()[i] = -1;
      add(*now, 0, here);
    }
    if (now->steps.size() == 0 && (matched || whole))
      break;
    fresh();
    later->steps.clear();
    later->slots.clear();
    Around after{position + size, code, badCodePoint, false, position + size == text.size};
    if (!after.atEnd)
      decodeUtf8(text.data + after.position, end, &after.after);
    for (int64_t t = 0; t < now->steps.size(); ++t) {
      int32_t at = now->steps[t];
      const RegexStep &step = regex.steps[at];
      const int64_t *slots = now->slots.data() + t * slotCount;
      bool goesOn = false;
      switch (step.op) {
      case RegexStep::Character: {
        auto wanted = uint32_t(step.x);
        goesOn = code == wanted;
        if (!goesOn && step.flag && code != badCodePoint)
          goesOn = lowerCase(code) == lowerCase(wanted) || upperCase(code) == upperCase(wanted);
        break;
      }
      case RegexStep::Class:
        goesOn = code != badCodePoint && regex.hasClass(step.x, code, step.flag);
        break;
      case RegexStep::Byte:
        goesOn = !atEnd;
        break;
      case RegexStep::Match:
        if (whole && !atEnd)
          break;
        matched = true;
        memcpy(found.data(), slots, size_t(slotCount) * sizeof(int64_t));
        break;
      default:
        break;
      }
      if (step.op == RegexStep::Match && matched)
        break; // those behind are less preferred
      if (atEnd || !goesOn)
        continue;
      memcpy(working.data(), slots, size_t(slotCount) * sizeof(int64_t));
      add(*later, at + 1, after);
    }
    if (atEnd)
      break;
    Threads *kept = now;
    now = later;
    later = kept;
    before = code;
    position += size;
  }
  return matched;
}

bool RegexMatcher::matchesAll(const weir_string &text) { return run(text, 0, true); }

bool RegexMatcher::search(const weir_string &text, int64_t from) { return run(text, from, false); }

bool Regex::hasClass(int32_t number, uint32_t code, bool anyCase) const {
  const RegexClass &set = classes[number];
  auto has = [&](uint32_t wanted) {
    int64_t low = set.first, high = set.first + set.count;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (wanted > ranges[middle].high)
        low = middle + 1;
      else if (wanted < ranges[middle].low)
        high = middle;
      else
        return true;
    }
    return false;
  };
  if (has(code))
    return true;
  if (!anyCase)
    return false;
  uint32_t lower = lowerCase(code), upper = upperCase(code);
  return has(lower) || has(upper) || has(lowerCase(upper)) || has(upperCase(lower));
}

} // namespace weir::rt

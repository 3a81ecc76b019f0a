//===- unicode_properties.cpp - categories, scripts, case ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/unicode.h"

#include <string.h>

namespace {

struct ScriptName {
  int32_t script;
  const char *name;
};
/// Code points first, first + step, … last move by `delta`.
struct CaseRun {
  uint32_t first, last;
  int32_t step, delta;
};
struct CaseExpansion {
  uint32_t code;
  uint32_t to[3]; ///< ends with 0, or has 3
};

#include "kernels/unicode_tables.inc"

/// The run that holds a code point: runs are `begin << 8 | value`, ascending.
template <size_t count> size_t findRun(const uint32_t (&runs)[count], uint32_t code) {
  size_t low = 0, high = count;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    (runs[middle] >> 8 <= code ? low : high) = middle;
  }
  return low;
}

template <size_t count> uint32_t mapCase(const CaseRun (&runs)[count], uint32_t code) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const CaseRun &run = runs[middle];
    if (code > run.last)
      low = middle + 1;
    else if (code < run.first)
      high = middle;
    else
      return (code - run.first) % uint32_t(run.step) == 0 ? uint32_t(int32_t(code) + run.delta)
                                                          : code;
  }
  return code;
}

template <size_t count, size_t expansionCount>
int32_t mapFully(const CaseRun (&runs)[count], const CaseExpansion (&expansions)[expansionCount],
                 uint32_t code, uint32_t to[3]) {
  for (const CaseExpansion &expansion : expansions) {
    if (expansion.code != code)
      continue;
    int32_t size = 0;
    for (; size < 3 && expansion.to[size]; ++size)
      to[size] = expansion.to[size];
    return size;
  }
  to[0] = mapCase(runs, code);
  return 1;
}

bool namesEqual(const char *name, const char *text, int64_t size) {
  return int64_t(strlen(name)) == size && memcmp(name, text, size_t(size)) == 0;
}

} // namespace

namespace weir::rt {

const char *generalCategory(uint32_t code) {
  return categoryNames[categoryRuns[findRun(categoryRuns, code)] & 0xff];
}

int32_t scriptOf(uint32_t code) {
  if (code > lastCodePoint)
    return -1;
  return int32_t(scriptRuns[findRun(scriptRuns, code)] & 0xff);
}

int32_t findScript(const char *name, int64_t size) {
  for (const ScriptName &script : scriptNames)
    if (namesEqual(script.name, name, size))
      return script.script;
  return -1;
}

template <size_t count, typename Matches>
static void forRuns(const uint32_t (&runs)[count], Matches matches,
                    void (*range)(void *, uint32_t, uint32_t), void *data) {
  for (size_t i = 0; i < count; ++i)
    if (matches(runs[i] & 0xff))
      range(data, runs[i] >> 8, i + 1 < count ? (runs[i + 1] >> 8) - 1 : lastCodePoint);
}

bool forEachInClass(const char *name, int64_t size, void (*range)(void *, uint32_t, uint32_t),
                    void *data) {
  if (namesEqual("Any", name, size)) {
    range(data, 0, lastCodePoint);
    return true;
  }
  if (size == 1 || size == 2) {
    bool isKnown = false;
    for (const auto &category : categoryNames)
      isKnown |= memcmp(category, name, size_t(size)) == 0;
    if (isKnown) {
      forRuns(
          categoryRuns,
          [&](uint32_t value) { return memcmp(categoryNames[value], name, size_t(size)) == 0; },
          range, data);
      return true;
    }
  }
  int32_t script = findScript(name, size);
  if (script < 0)
    return false;
  forRuns(scriptRuns, [&](uint32_t value) { return int32_t(value) == script; }, range, data);
  return true;
}

uint32_t lowerCase(uint32_t code) { return mapCase(lowerRuns, code); }
uint32_t upperCase(uint32_t code) { return mapCase(upperRuns, code); }

int32_t fullLowerCase(uint32_t code, uint32_t to[3]) {
  return mapFully(lowerRuns, lowerExpansions, code, to);
}
int32_t fullUpperCase(uint32_t code, uint32_t to[3]) {
  return mapFully(upperRuns, upperExpansions, code, to);
}

bool isCased(uint32_t code) {
  const char *category = generalCategory(code);
  return category[0] == 'L' && (category[1] == 'u' || category[1] == 'l' || category[1] == 't');
}

bool isCaseIgnorable(uint32_t code) {
  if (code == '\'' || code == '.' || code == ':' || code == 0xb7 || code == 0x2019)
    return true;
  const char *category = generalCategory(code);
  return !memcmp(category, "Mn", 2) || !memcmp(category, "Me", 2) || !memcmp(category, "Cf", 2) ||
         !memcmp(category, "Lm", 2) || !memcmp(category, "Sk", 2);
}

} // namespace weir::rt

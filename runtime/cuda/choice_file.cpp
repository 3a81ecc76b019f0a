//===- choice_file.cpp - what a library chose, kept in a file -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/choice_file.h"
#include "support/text.h"

#include <fcntl.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::rt::cuda {

/// A problem: its words behind it, and then its text.
struct ChoiceFile::Line {
  Line *next;
  int64_t length, count;
  uint64_t *words() { return reinterpret_cast<uint64_t *>(this + 1); }
  char *text() { return reinterpret_cast<char *>(words() + count); }
  bool isOf(const char *problem, int64_t size) {
    return length == size && memcmp(text(), problem, size_t(size)) == 0;
  }
};

/// Folder of files that only save time; false: none.
static bool folder(char *out, int64_t capacity) {
  Text text(out, capacity);
  if (const char *chosen = getenv("WEIR_CUDA_CACHE"); chosen && *chosen) {
    if (strcmp(chosen, "off") == 0)
      return false;
    text << chosen;
  } else if (const char *caches = getenv("XDG_CACHE_HOME"); caches && *caches) {
    text << caches << "/weir";
  } else if (const char *home = getenv("HOME"); home && *home) {
    text << home << "/.cache/weir";
  } else {
    return false;
  }
  return text.size() < capacity;
}

static uint64_t hashOf(const char *text) {
  uint64_t hash = 14695981039346656037u;
  for (; *text; ++text)
    hash = (hash ^ uint8_t(*text)) * 1099511628211u;
  return hash;
}

ChoiceFile *ChoiceFile::open(const char *kind, const char *key) {
  char where[900];
  if (!folder(where, sizeof(where)))
    return nullptr;
  void *memory = malloc(sizeof(ChoiceFile));
  if (!memory)
    return nullptr;
  auto *file = new (memory) ChoiceFile();
  file->key = strdup(key);
  if (!file->key) {
    close(file);
    return nullptr;
  }
  Text path(file->path, sizeof(file->path));
  path << where << '/' << kind << '-';
  path.hex(hashOf(key));
  file->read(/*onlyNew=*/false);
  return file;
}

ChoiceFile::~ChoiceFile() {
  while (Line *line = lines) {
    lines = line->next;
    free(line);
  }
  free(key);
}

void ChoiceFile::close(ChoiceFile *file) {
  if (!file)
    return;
  if (file->key)
    file->save();
  file->~ChoiceFile();
  free(file);
}

ChoiceFile::Line *ChoiceFile::lineOf(const char *problem, int64_t length) const {
  for (Line *line = lines; line; line = line->next)
    if (line->isOf(problem, length))
      return line;
  return nullptr;
}

void ChoiceFile::append(const char *problem, int64_t length, const uint64_t *words, int64_t count) {
  auto *line = static_cast<Line *>(malloc(sizeof(Line) + size_t(count) * 8 + size_t(length)));
  if (!line)
    return;
  line->length = length;
  line->count = count;
  memcpy(line->words(), words, size_t(count) * 8);
  memcpy(line->text(), problem, size_t(length));
  line->next = lines;
  lines = line;
}

/// Reads hexadecimal words up to the line's end; returns how many, -1: it is not
/// words alone.
static int64_t parseWords(const char *at, uint64_t *words, int64_t capacity) {
  int64_t count = 0;
  while (*at != '\n') {
    char *end;
    uint64_t word = strtoull(at, &end, 16);
    if (end == at || count == capacity)
      return -1;
    words[count++] = word;
    at = end;
  }
  return count;
}

void ChoiceFile::read(bool onlyNew) {
  FILE *file = fopen(path, "re");
  if (!file)
    return;
  char *text = nullptr;
  size_t capacity = 0;
  auto next = [&] { return getline(&text, &capacity, file) > 0; };
  bool known = next() && strncmp(text, key, strlen(key)) == 0 && text[strlen(key)] == '\n';
  while (known && next()) {
    char *equals = strstr(text, " = ");
    // A line that was cut off ends what can be believed.
    if (!equals || text[strlen(text) - 1] != '\n')
      break;
    // A word takes two characters at least.
    auto most = int64_t(strlen(equals) / 2);
    auto *words = static_cast<uint64_t *>(malloc(size_t(most) * 8));
    int64_t count = words ? parseWords(equals + 3, words, most) : -1;
    if (count >= 0 && !(onlyNew && lineOf(text, equals - text)))
      append(text, equals - text, words, count);
    free(words);
  }
  free(text);
  fclose(file);
}

const uint64_t *ChoiceFile::findAny(const char *problem, int64_t *count) const {
  Line *line = lineOf(problem, int64_t(strlen(problem)));
  *count = line ? line->count : 0;
  return line ? line->words() : nullptr;
}

const uint64_t *ChoiceFile::find(const char *problem, int64_t count) const {
  int64_t known;
  const uint64_t *words = findAny(problem, &known);
  return known == count ? words : nullptr;
}

void ChoiceFile::add(const char *problem, const uint64_t *words, int64_t count) {
  auto length = int64_t(strlen(problem));
  changed = true;
  for (Line **at = &lines; *at; at = &(*at)->next) {
    Line *line = *at;
    if (!line->isOf(problem, length))
      continue;
    *at = line->next;
    free(line);
    break;
  }
  append(problem, length, words, count);
}

void ChoiceFile::save() {
  if (!changed)
    return;
  changed = false;
  read(/*onlyNew=*/true);
  // Who names /dev/null wants no file, and keeps the device.
  struct stat facts;
  if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode))
    return;
  // The folders above it, as far as they are missing.
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0777);
    *slash = '/';
  }
  char temporary[1100];
  Text name(temporary, sizeof(temporary));
  name << path << '.' << int64_t(getpid());
  int descriptor = ::open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  FILE *file = descriptor < 0 ? nullptr : fdopen(descriptor, "w");
  if (!file)
    return;
  fprintf(file, "%s\n", key);
  for (Line *line = lines; line; line = line->next) {
    fprintf(file, "%.*s =", int(line->length), line->text());
    for (int64_t i = 0; i < line->count; ++i)
      fprintf(file, " %llx", static_cast<unsigned long long>(line->words()[i]));
    fputc('\n', file);
  }
  bool written = !ferror(file);
  if (fclose(file) != 0 || !written || rename(temporary, path) != 0)
    unlink(temporary);
}

} // namespace weir::rt::cuda

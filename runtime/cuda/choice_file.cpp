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

/// A problem, its text behind it.
struct ChoiceFile::Line {
  static constexpr int32_t most = 16;
  Line *next;
  int64_t length;
  int32_t count;
  uint64_t words[most];
  char *text() { return reinterpret_cast<char *>(this + 1); }
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
    if (line->length == length &&
        memcmp(line->text(), problem, size_t(length)) == 0)
      return line;
  return nullptr;
}

ChoiceFile::Line *ChoiceFile::append(const char *problem, int64_t length,
                                     const uint64_t *words, int32_t count) {
  auto *line = static_cast<Line *>(malloc(sizeof(Line) + size_t(length)));
  if (!line)
    return nullptr;
  line->length = length;
  line->count = count;
  memcpy(line->words, words, size_t(count) * 8);
  memcpy(line->text(), problem, size_t(length));
  line->next = lines;
  return lines = line;
}

void ChoiceFile::read(bool onlyNew) {
  FILE *file = fopen(path, "re");
  if (!file)
    return;
  char text[2048];
  bool known = fgets(text, sizeof(text), file) &&
               strncmp(text, key, strlen(key)) == 0 && text[strlen(key)] == '\n';
  while (known && fgets(text, sizeof(text), file)) {
    char *equals = strstr(text, " = ");
    // A line that was cut off ends what can be believed.
    if (!equals || text[strlen(text) - 1] != '\n')
      break;
    uint64_t words[Line::most];
    int32_t count = 0;
    char *at = equals + 3;
    while (count < Line::most && *at != '\n') {
      char *end;
      words[count] = strtoull(at, &end, 16);
      if (end == at)
        break;
      ++count;
      at = end;
    }
    if (*at == '\n' && !(onlyNew && lineOf(text, equals - text)))
      append(text, equals - text, words, count);
  }
  fclose(file);
}

bool ChoiceFile::find(const char *problem, uint64_t *words, int32_t count) const {
  Line *line = lineOf(problem, int64_t(strlen(problem)));
  if (!line || line->count != count)
    return false;
  memcpy(words, line->words, size_t(count) * 8);
  return true;
}

void ChoiceFile::add(const char *problem, const uint64_t *words, int32_t count) {
  auto length = int64_t(strlen(problem));
  changed = true;
  if (Line *line = lineOf(problem, length)) {
    line->count = count;
    memcpy(line->words, words, size_t(count) * 8);
    return;
  }
  append(problem, length, words, count);
}

void ChoiceFile::save() {
  if (!changed)
    return;
  changed = false;
  read(/*onlyNew=*/true);
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
    for (int32_t i = 0; i < line->count; ++i)
      fprintf(file, " %llx", static_cast<unsigned long long>(line->words[i]));
    fputc('\n', file);
  }
  bool written = !ferror(file);
  if (fclose(file) != 0 || !written || rename(temporary, path) != 0)
    unlink(temporary);
}

} // namespace weir::rt::cuda

//===- matching_files.cpp - files by a pattern of their names -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Unlike the C library's glob, and like TensorFlow, hidden files match `*`, a pattern with
// an empty part matches nothing, and a slash at the end of one means nothing. glob also
// takes the database of users along into static programs.
//
//===----------------------------------------------------------------------===//

#include "support/files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <sys/stat.h>

namespace weir::rt {

static bool hasPattern(const char *part, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    if (strchr("*?[\\", part[i]))
      return true;
  return false;
}

/// Adds `path` if there is a file of that name. False: no memory.
bool MatchingFiles::note(HeapText &path) {
  path << '\0';
  if (path.failed())
    return false;
  struct stat info;
  if (stat(path.data(), &info) == 0) {
    names.push(text.size());
    text << path.view();
  }
  path.resize(path.size() - 1);
  return !names.failed() && !text.failed();
}

/// `path` is the folder that is looked at, with its final slash, `rest` the pattern behind
/// it. False: no memory.
bool MatchingFiles::match(const char *rest, HeapText &path) {
  auto size = int64_t(strcspn(rest, "/"));
  if (size == 0)
    return true; // a part without a name is nobody's
  bool isLast = !rest[size];
  int64_t before = path.size();
  auto enter = [&](const char *name, int64_t count) {
    path.append(name, count);
    if (!isLast)
      path << '/';
    bool isGood = !path.failed() && (isLast ? note(path) : match(rest + size + 1, path));
    path.resize(before);
    return isGood;
  };
  if (!hasPattern(rest, size))
    return enter(rest, size);
  HeapText part;
  part << weir_string{rest, size} << '\0';
  path << (before ? "" : ".") << '\0';
  if (part.failed() || path.failed())
    return false;
  DIR *folder = opendir(path.data());
  path.resize(before);
  bool isGood = true;
  while (dirent *entry = folder && isGood ? readdir(folder) : nullptr) {
    const char *name = entry->d_name;
    bool isDots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    if (!isDots && fnmatch(part.data(), name, 0) == 0)
      isGood = enter(name, int64_t(strlen(name)));
  }
  if (folder)
    closedir(folder);
  return isGood;
}

int32_t MatchingFiles::add(const weir_string &pattern, weir_status *status) {
  // No path is longer; so the search is no deeper than the stack bears.
  if (pattern.size > PATH_MAX)
    return WEIR_OK;
  HeapText path, rest;
  bool isPlain = !hasPattern(pattern.data, pattern.size), isGood = true;
  if (isPlain) {
    path << pattern;
    isGood = pattern.size == 0 || note(path);
  } else {
    int64_t size = pattern.size;
    while (size > 1 && pattern.data[size - 1] == '/')
      --size;
    rest << weir_string{pattern.data, size} << '\0';
    if (!rest.failed() && rest[0] == '/')
      path << '/';
    isGood = !rest.failed() && match(rest.data() + path.size(), path);
  }
  return isGood ? int32_t(WEIR_OK) : failFile(status, "a pattern of names", ENOMEM);
}

void MatchingFiles::sort() {
  names.sort(
      [](const void *a, const void *b, void *base) {
        auto *begin = static_cast<const char *>(base);
        return strcmp(begin + *static_cast<const int64_t *>(a),
                      begin + *static_cast<const int64_t *>(b));
      },
      text.data());
}

} // namespace weir::rt

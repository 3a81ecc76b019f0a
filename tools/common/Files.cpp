//===- Files.cpp - whole files --------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace weir::tools;

bool weir::tools::readFile(const std::string &path, std::string &bytes, std::string &error) {
  FILE *file = std::fopen(path.c_str(), "rb");
  if (!file) {
    error = std::strerror(errno);
    return false;
  }
  struct stat facts;
  if (fstat(fileno(file), &facts) == 0 && S_ISDIR(facts.st_mode)) {
    std::fclose(file);
    error = std::strerror(EISDIR);
    return false;
  }
  bytes.clear();
  if (facts.st_size > 0)
    bytes.reserve(facts.st_size + 1);
  char buffer[1 << 16];
  size_t got;
  while ((got = std::fread(buffer, 1, sizeof(buffer), file)) > 0)
    bytes.append(buffer, got);
  bool good = !std::ferror(file);
  if (!good)
    error = std::strerror(errno);
  std::fclose(file);
  return good;
}

/// Whether a file must not take the name's place: /dev/null, /dev/stdout, a pipe.
static bool isInPlace(const std::string &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0)
    return false;
  bool isSystems = path.starts_with("/dev/") || path.starts_with("/proc/");
  return !S_ISREG(facts.st_mode) || (isSystems && !path.starts_with("/dev/shm/"));
}

bool weir::tools::writeFile(const std::string &path, std::string_view bytes, std::string &error) {
  bool inPlace = isInPlace(path);
  std::string temporary = inPlace ? path : path + ".tmp" + std::to_string(getpid());
  FILE *file = std::fopen(temporary.c_str(), "wb");
  if (!file) {
    error = std::strerror(errno);
    return false;
  }
  bool good = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  good = std::fclose(file) == 0 && good;
  good = good && (inPlace || std::rename(temporary.c_str(), path.c_str()) == 0);
  if (!good) {
    error = std::strerror(errno);
    if (!inPlace)
      std::remove(temporary.c_str());
  }
  return good;
}

std::vector<std::string_view> weir::tools::splitLines(std::string_view text) {
  std::vector<std::string_view> lines = splitFields(text, '\n');
  if (!lines.empty() && lines.back().empty())
    lines.pop_back();
  for (std::string_view &line : lines)
    if (line.ends_with('\r'))
      line.remove_suffix(1);
  return lines;
}

std::vector<std::string_view> weir::tools::splitFields(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  size_t start = 0, end;
  while ((end = line.find(separator, start)) != std::string_view::npos) {
    fields.push_back(line.substr(start, end - start));
    start = end + 1;
  }
  fields.push_back(line.substr(start));
  return fields;
}

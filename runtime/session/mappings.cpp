//===- mappings.cpp - what the process has mapped where -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/mappings.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weir::rt {

static constexpr uintptr_t pageBytes = 4096;
static constexpr int64_t leastDropped = 256 << 10, pieceBytes = 1 << 20;

/// A line `begin-end perms offset device inode   path` that has `address`.
static bool readLine(const char *line, uintptr_t address, Mapping *found) {
  char *rest = nullptr;
  found->begin = uintptr_t(strtoull(line, &rest, 16));
  found->end = uintptr_t(*rest == '-' ? strtoull(rest + 1, &rest, 16) : 0);
  if (address < found->begin || address >= found->end)
    return false;
  const char *path = strchr(rest, '/');
  bool isFile = path && strlen(path) < pathMax;
  strcpy(found->path, isFile ? path : "");
  found->isFileOnly = isFile && rest[0] == ' ' && rest[1] == 'r' && rest[2] == '-';
  return true;
}

bool findMapping(const void *address, Mapping *found) {
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  char text[2 * pathMax];
  size_t held = 0;
  bool isFound = false;
  while (!isFound) {
    ssize_t count = read(file, text + held, sizeof(text) - 1 - held);
    if (count <= 0)
      break;
    held += size_t(count);
    text[held] = 0;
    char *line = text;
    for (char *end; !isFound && (end = strchr(line, '\n')); line = end + 1) {
      *end = 0;
      isFound = readLine(line, uintptr_t(address), found);
    }
    held = size_t(text + held - line);
    memmove(text, line, held);
    if (held == sizeof(text) - 1)
      break; // a line longer than any path
  }
  close(file);
  return isFound;
}

/// The whole pages of the range that only repeat a file; false: there are none.
static bool filePages(const void *data, int64_t bytes, uintptr_t *begin, uintptr_t *end) {
  if (bytes < leastDropped)
    return false;
  Mapping mapping;
  auto first = uintptr_t(data), last = first + uintptr_t(bytes);
  if (!findMapping(data, &mapping) || !mapping.isFileOnly || last > mapping.end)
    return false;
  *begin = (first + pageBytes - 1) / pageBytes * pageBytes;
  *end = last / pageBytes * pageBytes;
  return true;
}

static void drop(uintptr_t begin, uintptr_t end) {
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

void dropFilePages(const void *data, int64_t bytes) {
  uintptr_t begin, end;
  if (filePages(data, bytes, &begin, &end))
    drop(begin, end);
}

const uint8_t *mapZeros(int64_t bytes) {
  void *zeros = mmap(nullptr, size_t(bytes), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return zeros == MAP_FAILED ? nullptr : static_cast<uint8_t *>(zeros);
}

void unmapZeros(const uint8_t *zeros, int64_t bytes) {
  if (zeros)
    munmap(const_cast<uint8_t *>(zeros), size_t(bytes));
}

void copyAndDrop(const void *data, int64_t bytes, void *to) {
  uintptr_t begin = 0, end = 0;
  if (!filePages(data, bytes, &begin, &end)) {
    memcpy(to, data, size_t(bytes));
    return;
  }
  auto *from = static_cast<const uint8_t *>(data);
  for (int64_t at = 0; at < bytes;) {
    int64_t size = bytes - at < pieceBytes ? bytes - at : pieceBytes;
    memcpy(static_cast<uint8_t *>(to) + at, from + at, size_t(size));
    at += size;
    uintptr_t done = uintptr_t(from + at) / pageBytes * pageBytes;
    done = done < end ? done : end;
    if (done > begin)
      drop(begin, done);
    begin = done > begin ? done : begin;
  }
}

} // namespace weir::rt

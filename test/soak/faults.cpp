//===- faults.cpp - calls of the system that fail on request -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "faults.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/types.h>
#include <unordered_set>

using namespace soak;

namespace {

std::atomic<int64_t> seen[3], until[3], rate, total, fired;

/// Whether this call is to fail.
bool fails(Kind kind) {
  auto k = static_cast<size_t>(kind);
  seen[k].fetch_add(1, std::memory_order_relaxed);
  // It passes zero once, whoever counts it down.
  bool now = until[k].load(std::memory_order_relaxed) > 0 && until[k].fetch_sub(1) == 1;
  if (int64_t each = rate.load(std::memory_order_relaxed); each > 0)
    now |= total.fetch_add(1) % each == each - 1;
  if (now)
    fired.fetch_add(1);
  return now;
}

/// Blocks by address, in parts so that threads seldom wait for each other.
struct Shard {
  std::mutex mutex;
  std::unordered_set<void *> held;
};
std::array<Shard, 64> &shards() {
  static auto *all = new std::array<Shard, 64>; // outlives what ends the process
  return *all;
}
Shard &shardOf(void *data) { return shards()[(reinterpret_cast<uintptr_t>(data) >> 6) % 64]; }

void *remember(void *data) {
  if (data) {
    Shard &shard = shardOf(data);
    std::lock_guard lock(shard.mutex);
    shard.held.insert(data);
  }
  return data;
}
void forget(void *data) {
  if (!data)
    return;
  Shard &shard = shardOf(data);
  std::lock_guard lock(shard.mutex);
  shard.held.erase(data); // what the C library allocated is not there
}

} // namespace

const char *soak::nameOf(Kind kind) {
  return kind == Kind::Memory ? "memory" : kind == Kind::Files ? "files" : "threads";
}
void soak::failAt(Kind kind, int64_t count) { until[static_cast<size_t>(kind)] = count; }
void soak::failOften(int64_t each) { rate = each; }
int64_t soak::failed() { return fired; }
int64_t soak::calls(Kind kind) { return seen[static_cast<size_t>(kind)]; }
size_t soak::blocksHeld() {
  size_t count = 0;
  for (Shard &shard : shards()) {
    std::lock_guard lock(shard.mutex);
    count += shard.held.size();
  }
  return count;
}

// NOLINTBEGIN: names are the linker's.
extern "C" {

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void __real_free(void *);
char *__real_strdup(const char *);
int __real_posix_memalign(void **, size_t, size_t);
void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __real_open(const char *, int, mode_t);
FILE *__real_fopen(const char *, const char *);
FILE *__real_fdopen(int, const char *);
ssize_t __real_read(int, void *, size_t);
ssize_t __real_pread(int, void *, size_t, off_t);
ssize_t __real_write(int, const void *, size_t);
int __real_fsync(int);
int __real_rename(const char *, const char *);
int __real_link(const char *, const char *);
int __real_mkdir(const char *, mode_t);

static bool refuses(Kind kind, int code) {
  if (!fails(kind))
    return false;
  errno = code;
  return true;
}

void *__wrap_malloc(size_t size) {
  return refuses(Kind::Memory, ENOMEM) ? nullptr : remember(__real_malloc(size));
}
void *__wrap_calloc(size_t count, size_t size) {
  return refuses(Kind::Memory, ENOMEM) ? nullptr : remember(__real_calloc(count, size));
}
void *__wrap_realloc(void *data, size_t size) {
  if (refuses(Kind::Memory, ENOMEM))
    return nullptr;
  forget(data);
  void *moved = __real_realloc(data, size);
  remember(moved || size == 0 ? moved : data);
  return moved;
}
void __wrap_free(void *data) {
  forget(data);
  __real_free(data);
}
char *__wrap_strdup(const char *text) {
  return refuses(Kind::Memory, ENOMEM) ? nullptr
                                       : static_cast<char *>(remember(__real_strdup(text)));
}
int __wrap_posix_memalign(void **data, size_t alignment, size_t size) {
  if (fails(Kind::Memory))
    return ENOMEM;
  int code = __real_posix_memalign(data, alignment, size);
  if (code == 0)
    remember(*data);
  return code;
}
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  return refuses(Kind::Memory, ENOMEM) ? MAP_FAILED
                                       : __real_mmap(at, size, protection, flags, file, offset);
}
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument) {
  return fails(Kind::Threads) ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}
int __wrap_open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return refuses(Kind::Files, EMFILE) ? -1 : __real_open(path, flags, mode);
}
FILE *__wrap_fopen(const char *path, const char *mode) {
  return refuses(Kind::Files, EMFILE) ? nullptr : __real_fopen(path, mode);
}
FILE *__wrap_fdopen(int file, const char *mode) {
  return refuses(Kind::Files, ENOMEM) ? nullptr : __real_fdopen(file, mode);
}
ssize_t __wrap_read(int file, void *data, size_t size) {
  return refuses(Kind::Files, EIO) ? -1 : __real_read(file, data, size);
}
ssize_t __wrap_pread(int file, void *data, size_t size, off_t offset) {
  return refuses(Kind::Files, EIO) ? -1 : __real_pread(file, data, size, offset);
}
ssize_t __wrap_write(int file, const void *data, size_t size) {
  return refuses(Kind::Files, ENOSPC) ? -1 : __real_write(file, data, size);
}
int __wrap_fsync(int file) { return refuses(Kind::Files, EIO) ? -1 : __real_fsync(file); }
int __wrap_rename(const char *from, const char *to) {
  return refuses(Kind::Files, EIO) ? -1 : __real_rename(from, to);
}
int __wrap_link(const char *from, const char *to) {
  return refuses(Kind::Files, EIO) ? -1 : __real_link(from, to);
}
int __wrap_mkdir(const char *path, mode_t mode) {
  return refuses(Kind::Files, EIO) ? -1 : __real_mkdir(path, mode);
}

} // extern "C"
// NOLINTEND

//===- MappedFile.cpp - a file's bytes, read only -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weir;

std::unique_ptr<MappedFile> MappedFile::open(const std::string &path, std::string &error) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    error = std::strerror(errno);
    return nullptr;
  }
  struct stat status;
  void *address = nullptr;
  size_t size = 0;
  bool good = false;
  if (fstat(fd, &status) != 0) {
    error = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    error = "not a regular file";
  } else {
    size = static_cast<size_t>(status.st_size);
    // An empty file cannot be mapped, and needs no mapping.
    address = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
    good = address != MAP_FAILED;
    if (!good) {
      error = std::strerror(errno);
      // As where `new` finds no memory: who has set a limit says so.
      if (std::new_handler handler = errno == ENOMEM ? std::get_new_handler() : nullptr)
        handler();
    }
  }
  ::close(fd);
  if (!good)
    return nullptr;
  return std::unique_ptr<MappedFile>(
      new MappedFile(path, std::string_view(static_cast<const char *>(address), size)));
}

MappedFile::~MappedFile() {
  if (!view.empty())
    munmap(const_cast<char *>(view.data()), view.size());
}

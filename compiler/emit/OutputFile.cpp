//===- OutputFile.cpp - files that appear whole or not at all -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/OutputFile.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weir;

static llvm::Error failed(llvm::StringRef path, int code) {
  return llvm::createStringError(std::error_code(code, std::generic_category()),
                                 "cannot write " + path + ": " + llvm::Twine(std::strerror(code)));
}

OutputFile::OutputFile(std::string name, std::string temporary, int fd, bool inPlace)
    : name(std::move(name)), temporary(std::move(temporary)), fd(fd), inPlace(inPlace) {}

OutputFile::OutputFile(OutputFile &&other)
    : name(std::move(other.name)), temporary(std::move(other.temporary)), fd(other.fd),
      inPlace(other.inPlace), end(other.end) {
  other.fd = -1;
}

OutputFile::~OutputFile() {
  if (fd < 0)
    return;
  ::close(fd);
  if (!inPlace) {
    ::unlink(temporary.c_str());
    llvm::sys::DontRemoveFileOnSignal(temporary);
  }
}

bool OutputFile::writesInPlace(llvm::StringRef path) {
  struct stat status;
  if (::stat(path.str().c_str(), &status) != 0)
    return false;
  // Links that the system keeps there must not be replaced by files; /dev/shm is for files.
  bool isSystems = path.starts_with("/dev/") || path.starts_with("/proc/");
  return !S_ISREG(status.st_mode) || (isSystems && !path.starts_with("/dev/shm/"));
}

llvm::Expected<OutputFile> OutputFile::create(llvm::StringRef path) {
  std::string name = path.str();
  // A second opening would begin anew what standard output is redirected to.
  if (path == "-" || path == "/dev/stdout") {
    int fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
      return failed(path, errno);
    return OutputFile(name, name, fd, /*inPlace=*/true);
  }
  if (writesInPlace(path)) {
    int fd = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
      return failed(path, errno);
    return OutputFile(name, name, fd, /*inPlace=*/true);
  }
  // Not mkstemp, whose files are private: an object has the rights that any
  // other new file has.
  static std::atomic<unsigned> counter{0};
  std::string temporary;
  int fd = -1;
  do {
    // Short, so that every name that fits does so as a temporary one, too.
    temporary = (llvm::StringRef(name).take_front(name.rfind('/') + 1) + ".weir-" +
                 llvm::Twine(::getpid()) + "-" + llvm::Twine(counter++))
                    .str();
    fd = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  if (fd < 0)
    return failed(path, errno);
  // Who interrupts the compiler finds nothing that is half written.
  llvm::sys::RemoveFileOnSignal(temporary);
  return OutputFile(name, temporary, fd, /*inPlace=*/false);
}

llvm::Error OutputFile::write(llvm::ArrayRef<char> bytes) {
  if (inPlace) { // may be a pipe, which has no offsets
    while (!bytes.empty()) {
      ssize_t n = ::write(fd, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return failed(name, n < 0 ? errno : EIO);
      bytes = bytes.drop_front(n);
    }
    return llvm::Error::success();
  }
  int64_t offset = end;
  end += bytes.size();
  return writeAt(offset, bytes);
}

llvm::Error OutputFile::writeAt(int64_t offset, llvm::ArrayRef<char> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return failed(name, n < 0 ? errno : EIO);
    bytes = bytes.drop_front(n);
    offset += n;
  }
  return llvm::Error::success();
}

llvm::Error OutputFile::resize(int64_t size) {
  if (!inPlace && ::ftruncate(fd, size) != 0)
    return failed(name, errno);
  end = size;
  return llvm::Error::success();
}

/// Gives a file its name; false, with errno, where that cannot be. The file that has the name goes
/// by way of an exchange: ext4 sends a file to the disk that is renamed over another one, and who
/// writes a large object would wait for that, although the system writes it in its own time.
static bool takePlace(const std::string &temporary, const std::string &name) {
#ifdef RENAME_EXCHANGE
  // What is no file any more, a folder say, is for rename to refuse.
  struct stat status;
  if (::lstat(name.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
      ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) == 0) {
    ::unlink(temporary.c_str());
    return true;
  }
#endif
  return ::rename(temporary.c_str(), name.c_str()) == 0;
}

llvm::Error OutputFile::commit() {
  int closing = fd;
  fd = -1;
  // A full disk or a quota may only show here.
  bool good = ::close(closing) == 0;
  if (good && (inPlace || takePlace(temporary, name))) {
    if (!inPlace)
      llvm::sys::DontRemoveFileOnSignal(temporary);
    return llvm::Error::success();
  }
  int code = errno;
  if (!inPlace) {
    ::unlink(temporary.c_str());
    llvm::sys::DontRemoveFileOnSignal(temporary);
  }
  return failed(name, code);
}

llvm::Error weir::writeFile(llvm::StringRef path, llvm::StringRef text) {
  llvm::Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  if (llvm::Error error = file->write({text.data(), text.size()}))
    return error;
  return file->commit();
}

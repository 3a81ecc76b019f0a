//===- files.cpp - files that are read in pieces and written whole --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "support/files.h"
#include "session/status.h"

#include <atomic>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::rt {

int32_t codeOfErrno(int error) {
  switch (error) {
  case EINVAL:
  case ENAMETOOLONG:
  case EFAULT:
  case EILSEQ:
  case ESPIPE:
    return WEIR_INVALID_ARGUMENT;
  case ENOENT:
  case ENODEV:
  case ENXIO:
    return WEIR_NOT_FOUND;
  case EEXIST:
    return WEIR_ALREADY_EXISTS;
  case EPERM:
  case EACCES:
  case EROFS:
    return WEIR_PERMISSION_DENIED;
  case ENOTEMPTY:
  case EISDIR:
  case ENOTDIR:
  case EBADF:
  case EBUSY:
  case EPIPE:
  case ETXTBSY:
    return WEIR_FAILED_PRECONDITION;
  case ENOSPC:
  case EDQUOT:
  case EMFILE:
  case EMLINK:
  case ENFILE:
  case ENOMEM:
    return WEIR_RESOURCE_EXHAUSTED;
  case EFBIG:
  case EOVERFLOW:
  case ERANGE:
    return WEIR_OUT_OF_RANGE;
  case ENOSYS:
  case ENOTSUP:
  case EXDEV:
    return WEIR_UNIMPLEMENTED;
  case EAGAIN:
  case EINTR:
    return WEIR_UNAVAILABLE;
  case ESTALE:
  case EDEADLK:
    return WEIR_ABORTED;
  default:
    return WEIR_UNKNOWN;
  }
}

int32_t failFile(weir_status *status, const char *path, int error) {
  char text[128] = "";
  // GNU's variant, which returns the text.
  const char *meaning = strerror_r(error, text, sizeof(text));
  StatusText(status, codeOfErrno(error)) << path << ": " << meaning;
  return codeOfErrno(error);
}

static int32_t failMemory(weir_status *status, const char *path) {
  return failFile(status, path, ENOMEM);
}

/// A copy with a final zero. False: no memory.
static bool setPath(HeapText &text, const weir_string &path) {
  text.clear();
  text << path << '\0';
  return !text.failed();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

int32_t InputFile::open(const char *path, weir_status *status) {
  close();
  if (!setPath(name, {path, int64_t(strlen(path))}))
    return failMemory(status, path);
  // Nobody may ever write to a pipe, and its bytes have no offsets.
  file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) {
    int error = errno;
    close();
    return failFile(status, path, error);
  }
  if (S_ISDIR(info.st_mode) || S_ISFIFO(info.st_mode)) {
    close();
    return failFile(status, path, S_ISDIR(info.st_mode) ? EISDIR : ESPIPE);
  }
  bytes = int64_t(info.st_size);
  return WEIR_OK;
}

void InputFile::openMemory(const char *path, const void *data, int64_t size) {
  close();
  setPath(name, {path, int64_t(strlen(path))});
  memory = static_cast<const char *>(data);
  bytes = size;
}

void InputFile::close() {
  if (file >= 0)
    ::close(file);
  file = -1;
  memory = nullptr;
  bytes = 0;
}

static int32_t failEnd(const InputFile &file, int64_t offset, int64_t count, weir_status *status) {
  StatusText(status, WEIR_OUT_OF_RANGE)
      << file.path() << " has " << file.size() << " bytes; wanted are " << count << " from "
      << offset << " on";
  return WEIR_OUT_OF_RANGE;
}

int32_t InputFile::check(int64_t offset, int64_t count, weir_status *status) const {
  bool fits = offset >= 0 && count >= 0 && offset <= bytes && count <= bytes - offset;
  return fits ? int32_t(WEIR_OK) : failEnd(*this, offset, count, status);
}

int32_t InputFile::read(int64_t offset, int64_t count, void *to, weir_status *status) {
  if (int32_t code = check(offset, count, status))
    return code;
  if (memory) {
    if (count > 0)
      memcpy(to, memory + offset, size_t(count));
    return WEIR_OK;
  }
  for (int64_t done = 0; done < count;) {
    ssize_t got =
        pread(file, static_cast<char *>(to) + done, size_t(count - done), off_t(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failFile(status, path(), errno);
    if (got == 0) // it was cut off meanwhile
      return failEnd(*this, offset, count, status);
    done += got;
  }
  return WEIR_OK;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static constexpr int64_t bufferBytes = 1 << 18;

int32_t OutputFile::create(const char *name, weir_status *status) {
  discard();
  weir_string view{name, int64_t(strlen(name))};
  if (!setPath(path, view) || !buffer.reserve(bufferBytes))
    return failMemory(status, name);
  written = 0;
  isSynced = false;
  buffer.clear();
  // Its name would be taken from a device or a pipe, for everyone.
  struct stat facts;
  if (stat(name, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
    StatusText(status, WEIR_FAILED_PRECONDITION)
        << name << ": found a device or a pipe, expected a file";
    return WEIR_FAILED_PRECONDITION;
  }
  // What a killed process has left behind may have the same number.
  static std::atomic<uint32_t> last{0};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    char suffix[64];
    Text(suffix, sizeof(suffix)) << ".tempstate" << int64_t(getpid()) << '-'
                                 << int64_t(last.fetch_add(1, std::memory_order_relaxed));
    temporary.clear();
    temporary << view << suffix << '\0';
    if (temporary.failed())
      return failMemory(status, name);
    file = ::open(temporary.data(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0)
      return WEIR_OK;
    if (errno != EEXIST)
      break;
  }
  int error = errno;
  int32_t code = failFile(status, temporary.data(), error);
  temporary.clear();
  return code;
}

int writeBytes(int file, const char *data, int64_t count) {
  while (count > 0) {
    ssize_t put = ::write(file, data, size_t(count));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return errno;
    data += put;
    count -= put;
  }
  return 0;
}

static int32_t writeAll(int file, const char *data, int64_t count, const char *name,
                        weir_status *status) {
  int error = writeBytes(file, data, count);
  return error ? failFile(status, name, error) : int32_t(WEIR_OK);
}

int32_t OutputFile::flush(weir_status *status) {
  int32_t code = writeAll(file, buffer.data(), buffer.size(), temporary.data(), status);
  buffer.clear();
  return code;
}

int32_t OutputFile::write(const void *data, int64_t count, weir_status *status) {
  written += count;
  isSynced = false;
  // What is large goes by the buffer, behind what is in it.
  bool isLarge = count > bufferBytes / 2;
  if (isLarge || buffer.size() + count > bufferBytes)
    if (int32_t code = flush(status))
      return code;
  if (isLarge)
    return writeAll(file, static_cast<const char *>(data), count, temporary.data(), status);
  buffer.append(static_cast<const char *>(data), count);
  return WEIR_OK;
}

int32_t OutputFile::sync(weir_status *status) {
  if (isSynced)
    return WEIR_OK;
  if (int32_t code = flush(status))
    return code;
  // Some file systems have nothing to synchronize, and say so.
  if (fsync(file) != 0 && errno != EINVAL && errno != EROFS)
    return failFile(status, temporary.data(), errno);
  isSynced = true;
  return WEIR_OK;
}

int32_t OutputFile::commit(weir_status *status) {
  if (int32_t code = sync(status))
    return code;
  int closed = ::close(file);
  file = -1;
  // A network's file system may tell of a full disk only here.
  if (closed != 0 || rename(temporary.data(), path.data()) != 0)
    return failFile(status, path.data(), errno);
  temporary.clear();
  return WEIR_OK;
}

void OutputFile::discard() {
  if (file >= 0)
    ::close(file);
  file = -1;
  if (temporary.size() > 0)
    unlink(temporary.data());
  temporary.clear();
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

weir_string folderOf(const weir_string &path) {
  int64_t end = path.size;
  while (end > 0 && path.data[end - 1] != '/')
    --end;
  // Without the slash, but for the root's.
  return {path.data, end > 1 ? end - 1 : end};
}

int32_t makeFolder(const weir_string &folder, weir_status *status) {
  HeapText path;
  if (folder.size == 0)
    return WEIR_OK;
  if (!setPath(path, folder))
    return failMemory(status, "a folder");
  if (mkdir(path.data(), 0777) == 0 || errno == EEXIST)
    return WEIR_OK;
  return failFile(status, path.data(), errno);
}

int32_t syncFolder(const weir_string &folder, weir_status *status) {
  HeapText path;
  if (!setPath(path, folder.size ? folder : weir_string{".", 1}))
    return failMemory(status, "a folder");
  int file = ::open(path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0)
    return failFile(status, path.data(), errno);
  // Not all file systems can; then there is nothing to wait for.
  bool isDone = fsync(file) == 0 || errno == EINVAL || errno == EROFS || errno == EBADF;
  int error = errno;
  ::close(file);
  return isDone ? int32_t(WEIR_OK) : failFile(status, path.data(), error);
}

} // namespace weir::rt

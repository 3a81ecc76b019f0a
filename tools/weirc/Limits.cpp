//===- Limits.cpp - memory and time that a compilation may take -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weirc/Limits.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

using namespace weir;

namespace {

// What is printed when memory is gone is made while there is some.
char memoryText[1024], timeText[1024];
std::atomic<bool> ending{false};

/// Prints, removes what was being written, and ends; may be called by a signal handler.
[[noreturn]] void end(const char *text) {
  if (!ending.exchange(true)) {
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
    llvm::sys::RunInterruptHandlers();
  }
  _exit(1);
}

/// Whether there is no address space for so many bytes more; may be called by a signal handler.
bool isMemoryGone(size_t bytes) {
  void *at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    return errno == ENOMEM;
  munmap(at, bytes);
  return false;
}

constexpr size_t megabyte = size_t(1) << 20;

/// Parts of MLIR use what malloc returns without a look, so memory that is gone may show as an
/// access to address zero. All else is a crash as it ever is.
void handleFault(int signal) {
  if (isMemoryGone(megabyte))
    end(memoryText);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Ends where one more thread finds no room for its stack; returns where it does.
void checkRoomForThread() {
  rlimit stack = {};
  getrlimit(RLIMIT_STACK, &stack);
  size_t room = stack.rlim_cur == RLIM_INFINITY ? 8 * megabyte : size_t(stack.rlim_cur);
  if (isMemoryGone(room + megabyte))
    end(memoryText);
}

/// A thread whose stack finds no room is an exception, which the compiler has nobody to catch.
[[noreturn]] void handleException() {
  checkRoomForThread();
  std::abort();
}

/// Megabytes of address space that the process has now.
int64_t megabytesNow() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE) / (1 << 20);
}

} // namespace

std::string weir::tools::enforce(const Limits &limits, const std::string &input) {
  if (limits.memoryMegabytes > 0) {
    std::snprintf(memoryText, sizeof(memoryText),
                  "%.800s: error W0119: compiling takes more than --max-memory=%lld MB\n",
                  input.c_str(), static_cast<long long>(limits.memoryMegabytes));
    rlimit limit = {};
    getrlimit(RLIMIT_AS, &limit);
    // Libraries that are mapped count as address space, too, and say nothing of the model.
    limit.rlim_cur = static_cast<rlim_t>(megabytesNow() + limits.memoryMegabytes) << 20;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
      return std::string("--max-memory cannot be kept: ") + std::strerror(errno);
    std::set_new_handler([] { end(memoryText); });
    llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { end(memoryText); });
    struct sigaction action = {};
    action.sa_handler = handleFault;
    sigaction(SIGSEGV, &action, nullptr);
    std::set_terminate(handleException);
    // A thread of MLIR's is an error of LLVM's instead.
    llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
      checkRoomForThread();
      std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    });
  }
  if (limits.seconds > 0) {
    std::snprintf(timeText, sizeof(timeText),
                  "%.800s: error W0120: compiling takes longer than --max-time=%lld s\n",
                  input.c_str(), static_cast<long long>(limits.seconds));
    struct sigaction action = {};
    action.sa_handler = [](int) { end(timeText); };
    sigaction(SIGALRM, &action, nullptr);
    itimerval timer = {};
    timer.it_value.tv_sec = static_cast<time_t>(limits.seconds);
    if (setitimer(ITIMER_REAL, &timer, nullptr) != 0)
      return std::string("--max-time cannot be kept: ") + std::strerror(errno);
  }
  return "";
}

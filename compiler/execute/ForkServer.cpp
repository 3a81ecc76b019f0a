//===- ForkServer.cpp - cases in processes of their own -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/execute/ForkServer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace weir;

namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<std::string(size_t)>;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool readAll(int fd, void *data, size_t size) {
  char *at = static_cast<char *>(data);
  while (size != 0) {
    ssize_t got = read(fd, at, size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got;
    size -= got;
  }
  return true;
}

bool writeAll(int fd, const void *data, size_t size) {
  const char *at = static_cast<const char *>(data);
  while (size != 0) {
    ssize_t put = write(fd, at, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    at += put;
    size -= put;
  }
  return true;
}

/// A child and its pipes.
struct Worker {
  pid_t pid = -1;
  int toChild = -1, fromChild = -1, output = -1;
  size_t current = 0;
  bool busy = false;
  unsigned taken = 0;
  Clock::time_point start;
  /// What has come of the current result: its length in 8 bytes, then its text.
  std::string received;
};

/// Body of a child: takes case numbers until its pipe is closed.
[[noreturn]] void serve(int in, int out, int output, pid_t parent, const ForkOptions &options,
                        const Work &work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(0);
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (options.memoryLimit > 0) {
    // Private writable memory; address space alone costs nothing.
    rlimit limit = {static_cast<rlim_t>(options.memoryLimit),
                    static_cast<rlim_t>(options.memoryLimit)};
    setrlimit(RLIMIT_DATA, &limit);
  }
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  uint64_t index;
  while (readAll(in, &index, sizeof(index))) {
    std::string result = work(index);
    std::fflush(stdout);
    uint64_t size = result.size();
    if (!writeAll(out, &size, sizeof(size)) || !writeAll(out, result.data(), size))
      break;
  }
  // Nothing is torn down: the process's end does that faster.
  _exit(0);
}

bool start(Worker &worker, const std::vector<Worker> &all, const ForkOptions &options,
           const Work &work) {
  int down[2], up[2];
  if (pipe(down) != 0)
    return false;
  if (pipe(up) != 0) {
    close(down[0]);
    close(down[1]);
    return false;
  }
  worker.output = memfd_create("output", MFD_CLOEXEC);
  std::fflush(stdout);
  std::fflush(stderr);
  pid_t parent = getpid();
  worker.pid = fork();
  if (worker.pid == 0) {
    close(down[1]);
    close(up[0]);
    // A sibling's pipe that stays open here would keep it from seeing its end.
    for (const Worker &other : all)
      if (&other != &worker && other.pid > 0) {
        close(other.toChild);
        close(other.fromChild);
      }
    serve(down[0], up[1], worker.output, parent, options, work);
  }
  close(down[0]);
  close(up[1]);
  worker.toChild = down[1];
  worker.fromChild = up[0];
  worker.taken = 0;
  worker.busy = false;
  worker.received.clear();
  if (worker.pid > 0)
    return true;
  close(worker.toChild);
  close(worker.fromChild);
  close(worker.output);
  return false;
}

/// The last line with letters in it that a child wrote. Stack traces are left
/// out: what stands before them tells more.
std::string lastWords(int output) {
  off_t size = lseek(output, 0, SEEK_END);
  off_t from = std::max<off_t>(0, size - 16384);
  std::string text(size - from, '\0');
  ssize_t got = pread(output, text.data(), text.size(), from);
  text.resize(std::max<ssize_t>(got, 0));
  for (const char *trace : {"PLEASE submit a bug", "Stack dump:", " #0 0x"})
    if (size_t at = text.find(trace); at != std::string::npos)
      text.resize(at);
  while (!text.empty()) {
    size_t end = text.find_last_not_of("\n ");
    if (end == std::string::npos)
      return "";
    text.resize(end + 1);
    size_t begin = text.rfind('\n');
    std::string line = text.substr(begin == std::string::npos ? 0 : begin + 1);
    if (line.size() > 3)
      return line.substr(0, 300);
    text.resize(begin == std::string::npos ? 0 : begin);
  }
  return "";
}

/// Reaps a child and says how it ended.
std::string end(Worker &worker) {
  int status = 0;
  close(worker.toChild);
  while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  std::string words = lastWords(worker.output), text;
  if (WIFSIGNALED(status)) {
    const char *name = sigabbrev_np(WTERMSIG(status));
    text = name ? "SIG" + std::string(name) : "signal " + std::to_string(WTERMSIG(status));
  } else {
    text = "exit status " + std::to_string(WEXITSTATUS(status));
  }
  close(worker.fromChild);
  close(worker.output);
  worker.pid = -1;
  worker.busy = false;
  return words.empty() ? text : text + ": " + words;
}

/// Reads what has come. True once the result is whole; `closed` is set where
/// the child is gone.
bool receive(Worker &worker, std::string &result, bool &closed) {
  char buffer[1 << 16];
  ssize_t got = read(worker.fromChild, buffer, sizeof(buffer));
  if (got <= 0) {
    closed = got == 0 || errno != EINTR;
    return false;
  }
  worker.received.append(buffer, got);
  uint64_t size;
  if (worker.received.size() < sizeof(size))
    return false;
  std::memcpy(&size, worker.received.data(), sizeof(size));
  if (worker.received.size() < sizeof(size) + size)
    return false;
  result = worker.received.substr(sizeof(size), size);
  worker.received.clear();
  return true;
}

} // namespace

bool weir::runForked(size_t count, const ForkOptions &options, const Work &work,
                     const std::function<void(size_t, const ForkedResult &)> &done) {
  // A child that died between two cases must not take the parent along.
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);

  size_t jobs = std::min<size_t>(std::max(options.jobs, 1u), count);
  std::vector<Worker> workers(jobs);
  size_t next = 0, finished = 0;
  bool good = true;
  while (finished < count) {
    for (Worker &worker : workers) {
      if (worker.busy || next == count)
        continue;
      if (worker.pid > 0 && worker.taken >= options.casesPerChild)
        end(worker);
      if (worker.pid < 0 && !start(worker, workers, options, work)) {
        good = false;
        break;
      }
      // Before the child knows its case, and may write again.
      if (ftruncate(worker.output, 0) == 0)
        lseek(worker.output, 0, SEEK_SET);
      uint64_t index = next;
      if (!writeAll(worker.toChild, &index, sizeof(index))) {
        end(worker); // died while idle: a new child takes the case
        continue;
      }
      worker.current = next++;
      worker.busy = true;
      ++worker.taken;
      worker.start = Clock::now();
    }
    if (!good)
      break;
    std::vector<pollfd> polls;
    std::vector<Worker *> polled;
    double wait = options.secondsPerCase;
    for (Worker &worker : workers)
      if (worker.busy) {
        polls.push_back({worker.fromChild, POLLIN, 0});
        polled.push_back(&worker);
        wait = std::min(wait, options.secondsPerCase - secondsSince(worker.start));
      }
    if (polls.empty())
      continue;
    poll(polls.data(), polls.size(), static_cast<int>(std::max(wait, 0.0) * 1000) + 1);
    for (size_t p = 0; p < polls.size(); ++p) {
      Worker &worker = *polled[p];
      ForkedResult result;
      bool closed = false;
      bool ready = (polls[p].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
      if (ready && receive(worker, result.text, closed)) {
        worker.busy = false;
      } else if (closed) {
        result.kind = ForkedResult::Kind::Crashed;
        result.text = end(worker);
      } else if (secondsSince(worker.start) > options.secondsPerCase) {
        kill(worker.pid, SIGKILL);
        end(worker);
        result.kind = ForkedResult::Kind::TimedOut;
        char limit[32];
        std::snprintf(limit, sizeof(limit), "%g", options.secondsPerCase);
        result.text = "not finished after " + std::string(limit) + " s";
      } else {
        continue;
      }
      result.seconds = secondsSince(worker.start);
      ++finished;
      done(worker.current, result);
    }
  }
  for (Worker &worker : workers)
    if (worker.pid > 0) {
      if (worker.busy)
        kill(worker.pid, SIGKILL);
      end(worker);
    }
  sigaction(SIGPIPE, &before, nullptr);
  return good;
}

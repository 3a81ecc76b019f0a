//===- cluster_members.h - tasks of a test's cluster ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_RUNTIME_CLUSTER_MEMBERS_H
#define WEIR_TEST_UNIT_RUNTIME_CLUSTER_MEMBERS_H

#include "test_program.h"
#include "tools/common/FreePort.h"
#include "weir/cluster.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace weir::rt::test {

/// Where the tasks of a test are.
struct Tasks {
  explicit Tasks(int count) : Tasks(tools::freePorts(count)) {}
  explicit Tasks(const std::vector<int> &ports) {
    for (int port : ports) {
      names.push_back("worker:" + std::to_string(names.size()));
      addresses.push_back("127.0.0.1:" + std::to_string(port));
    }
    for (size_t i = 0; i < names.size(); ++i)
      tasks.push_back({names[i].c_str(), addresses[i].c_str()});
  }
  weir_cluster_options options(int task) const {
    weir_cluster_options made = WEIR_CLUSTER_OPTIONS_INIT;
    made.task = task;
    made.task_count = int32_t(tasks.size());
    made.tasks = tasks.data();
    made.heartbeat_ms = 100;
    made.timeout_ms = 2000;
    made.connect_ms = connectMs;
    made.secret = secret.empty() ? nullptr : secret.data();
    made.secret_bytes = int64_t(secret.size());
    return made;
  }
  std::vector<std::string> names, addresses;
  std::vector<weir_cluster_task> tasks;
  int32_t connectMs = 20000;
  int32_t threads = 2; ///< of each task's session
  std::string secret;
};

inline int portOf(const std::string &address) {
  return atoi(address.substr(address.find(':') + 1).c_str());
}

/// A task with its session.
struct Member {
  Member(const Tasks &tasks, int task, const weir_program_desc *program,
         const weir_cluster_options *given = nullptr)
      : threads(tasks.threads) {
    weir_cluster_options options = given ? *given : tasks.options(task);
    code = weir_cluster_join(&options, &cluster, &status);
    if (!code)
      renew(program);
  }
  /// A new session in place of the one that there is.
  int32_t renew(const weir_program_desc *program) {
    weir_session_destroy(session);
    session = nullptr;
    weir_session_options sessionOptions = TestSession::defaults(threads);
    sessionOptions.transport = weir_cluster_transport(cluster);
    return code = weir_session_create(program, &sessionOptions, &session, &status);
  }
  ~Member() {
    weir_session_destroy(session);
    weir_cluster_leave(cluster);
  }
  int32_t run(std::vector<weir_tensor> feeds, std::vector<weir_tensor> &fetches, int32_t entry = 0,
              weir_run_options *options = nullptr) {
    return weir_session_run(session, entry, feeds.data(), int32_t(feeds.size()), fetches.data(),
                            int32_t(fetches.size()), options, &status);
  }
  const int32_t threads;
  weir_cluster *cluster = nullptr;
  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  int32_t code = 0;
};

/// Forks a process that dies with this one. What other threads hold at that moment, UCX's locks
/// among it, nobody gives back in the new process: with threads it is a failure of the test.
inline pid_t forkAlone() {
  auto countThreads = [] {
    int count = 0;
    for ([[maybe_unused]] const auto &thread :
         std::filesystem::directory_iterator("/proc/self/task"))
      ++count;
    return count;
  };
  // A thread that was joined is listed until the kernel has taken it down.
  int threads = countThreads();
  for (int tries = 0; threads > 1 && tries < 1000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    threads = countThreads();
  }
  EXPECT_EQ(threads, 1) << "a process with threads forks";
  pid_t pid = fork();
  if (pid == 0)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  return pid;
}

/// A forked worker; killed with the scope.
struct Worker {
  /// Whether it joins at once, or when begin() is called: by then this process may have threads.
  enum Start { now, later };
  /// Exits with what serving ended with.
  Worker(const Tasks &tasks, int task, const weir_program_desc *program, Start start = now) {
    int gate[2] = {-1, -1};
    if (start == later && pipe(gate) != 0)
      return;
    pid = forkAlone();
    if (pid) {
      close(gate[0]);
      beginning = gate[1];
      return;
    }
    char byte;
    if (start == later && read(gate[0], &byte, 1) != 1)
      _exit(1);
    int32_t code;
    {
      Member member(tasks, task, program);
      code = member.code;
      // A leader that is lost may come back, and devices may be divided anew.
      while (!code || code == WEIR_UNAVAILABLE || code == WEIR_ABORTED) {
        if (code == WEIR_ABORTED && member.renew(program))
          break;
        code = weir_cluster_serve(member.cluster, &member.status);
        if (code == WEIR_OK)
          break;
      }
    }
    _exit(code);
  }
  void begin() { EXPECT_EQ(write(beginning, "", 1), 1); }
  ~Worker() { end(); }
  Worker(const Worker &) = delete;
  void end() {
    if (pid > 0) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    pid = -1;
    if (beginning >= 0)
      close(beginning);
    beginning = -1;
  }
  /// The exit code, -1: it was killed, -2: it does not end.
  int wait() {
    for (int i = 0; i < 2000; ++i) {
      int status = 0;
      if (waitpid(pid, &status, WNOHANG) == pid) {
        pid = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return -2;
  }
  pid_t pid = -1;
  int beginning = -1; ///< where begin() writes to
};

/// Awaits a tensor over `edge`, hands it on: `then` gets it.
struct Relay {
  void (*resume)(void *);
  weir_context *ctx;
  int32_t edge;
  int32_t (*then)(weir_context *ctx, const weir_tensor &value);

  int32_t finish() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, edge, 0, &value))
      return code;
    return then(ctx, value);
  }
  static void resumed(void *frame) {
    auto *self = static_cast<Relay *>(frame);
    int32_t code = self->finish();
    weir_context *ctx = self->ctx;
    delete self;
    weir_rt_step_done(ctx, code);
  }
  static int32_t start(weir_context *ctx, int32_t edge,
                       int32_t (*then)(weir_context *, const weir_tensor &)) {
    auto *self = new Relay{resumed, ctx, edge, then};
    if (!weir_rt_receive_ready(ctx, edge, 0, self))
      return WEIR_PENDING;
    int32_t code = self->finish();
    delete self;
    return code;
  }
};

inline int32_t fetch(weir_context *ctx, int32_t index, const weir_tensor &value) {
  void *out = weir_rt_fetch(ctx, index, value.rank, value.dims, value.bytes);
  if (!out)
    return WEIR_INTERNAL;
  memcpy(out, value.data, size_t(value.bytes));
  return 0;
}

} // namespace weir::rt::test

#endif // WEIR_TEST_UNIT_RUNTIME_CLUSTER_MEMBERS_H

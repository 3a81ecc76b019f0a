//===- cluster_test.cpp - one program in several processes ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Real processes: each test forks its workers before it has a thread, and leads
// steps itself. Set UCX_TLS to choose how messages go.

#include "test_program.h"
#include "weir/cluster.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weir::rt::test;
using Clock = std::chrono::steady_clock;

namespace {

const char *const deviceNames[] = {
    "/job:worker/replica:0/task:0/device:CPU:0",
    "/job:worker/replica:0/task:1/device:CPU:0",
    "/job:worker/replica:0/task:2/device:CPU:0"};

/// A port that nobody listens at now.
int freePort() {
  int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(s, reinterpret_cast<sockaddr *>(&address), sizeof(address));
  socklen_t size = sizeof(address);
  getsockname(s, reinterpret_cast<sockaddr *>(&address), &size);
  close(s);
  return ntohs(address.sin_port);
}

/// Where the tasks of a test are.
struct Tasks {
  explicit Tasks(int count) {
    for (int i = 0; i < count; ++i) {
      names.push_back("worker:" + std::to_string(i));
      addresses.push_back("127.0.0.1:" + std::to_string(freePort()));
    }
    for (int i = 0; i < count; ++i)
      tasks.push_back({names[i].c_str(), addresses[i].c_str()});
  }
  weir_cluster_options options(int task) const {
    weir_cluster_options made = WEIR_CLUSTER_OPTIONS_INIT;
    made.task = task;
    made.task_count = int32_t(tasks.size());
    made.tasks = tasks.data();
    made.heartbeat_ms = 100;
    made.timeout_ms = 2000;
    made.connect_ms = 20000;
    return made;
  }
  std::vector<std::string> names, addresses;
  std::vector<weir_cluster_task> tasks;
};

/// A task with its session.
struct Member {
  Member(const Tasks &tasks, int task, const weir_program_desc *program,
         const weir_cluster_options *given = nullptr) {
    weir_cluster_options options = given ? *given : tasks.options(task);
    code = weir_cluster_join(&options, &cluster, &status);
    if (code)
      return;
    weir_session_options sessionOptions = TestSession::defaults(2);
    sessionOptions.transport = weir_cluster_transport(cluster);
    code = weir_session_create(program, &sessionOptions, &session, &status);
  }
  ~Member() {
    weir_session_destroy(session);
    weir_cluster_leave(cluster);
  }
  int32_t run(std::vector<weir_tensor> feeds, std::vector<weir_tensor> &fetches,
              int32_t entry = 0, weir_run_options *options = nullptr) {
    return weir_session_run(session, entry, feeds.data(), int32_t(feeds.size()),
                            fetches.data(), int32_t(fetches.size()), options,
                            &status);
  }
  weir_cluster *cluster = nullptr;
  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  int32_t code = 0;
};

/// A forked worker; killed with the scope.
struct Worker {
  /// Exits with what serving ended with.
  Worker(const Tasks &tasks, int task, const weir_program_desc *program) {
    pid = fork();
    if (pid)
      return;
    int32_t code;
    {
      Member member(tasks, task, program);
      code = member.code;
      // A leader that is lost may come back.
      if (!code)
        do
          code = weir_cluster_serve(member.cluster, &member.status);
        while (code == WEIR_UNAVAILABLE);
    }
    _exit(code);
  }
  ~Worker() { end(); }
  Worker(const Worker &) = delete;
  void end() {
    if (pid > 0) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    pid = -1;
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

int32_t fetch(weir_context *ctx, int32_t index, const weir_tensor &value) {
  void *out = weir_rt_fetch(ctx, index, value.rank, value.dims, value.bytes);
  if (!out)
    return WEIR_INTERNAL;
  memcpy(out, value.data, size_t(value.bytes));
  return 0;
}

/// A ring: device i adds 1 to what it got and sends it to the next; the last
/// sends it to the first, which fetches. Device 1 fetches what it got, too.
int32_t plusOne(weir_context *ctx, const weir_tensor &value, int32_t edge) {
  std::vector<float> sums(size_t(value.bytes / 4));
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = static_cast<const float *>(value.data)[i] + 1;
  weir_tensor tensor = value;
  tensor.data = sums.data();
  return weir_rt_send(ctx, edge, 0, &tensor);
}

template <int tasks> int32_t ringFirst(weir_context *ctx) {
  if (int32_t code = plusOne(ctx, ctx->feeds[0], 0))
    return code;
  return Relay::start(ctx, tasks - 1,
                      [](weir_context *ctx, const weir_tensor &value) {
                        return fetch(ctx, 0, value);
                      });
}
template <int device> int32_t ringNext(weir_context *ctx) {
  return Relay::start(ctx, device - 1,
                      [](weir_context *ctx, const weir_tensor &value) {
                        if (device == 1)
                          if (int32_t code = fetch(ctx, 1, value))
                            return code;
                        return plusOne(ctx, value, device);
                      });
}

struct Ring {
  explicit Ring(int tasks) {
    program.rename(0, deviceNames[0]);
    for (int i = 1; i < tasks; ++i)
      program.device(deviceNames[i], 4096);
    for (int i = 0; i < tasks; ++i) {
      keys.push_back("sum" + std::to_string(i) + ":0;" + deviceNames[i] + ";" +
                     deviceNames[(i + 1) % tasks]);
    }
    for (int i = 0; i < tasks; ++i)
      program.edge(keys[size_t(i)].c_str(), i, (i + 1) % tasks);
    std::vector<weir_step_fn> steps = {tasks == 2 ? ringFirst<2> : ringFirst<3>,
                                       ringNext<1>};
    if (tasks == 3)
      steps.push_back(ringNext<2>);
    program.entry("main", {{"x", WEIR_F32, {-1}}},
                  {{"sum", WEIR_F32, {-1}}, {"middle", WEIR_F32, {-1}}}, steps);
  }
  TestProgram program;
  std::vector<std::string> keys;
};

void checkRing(Member &leader, int tasks, size_t count) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i)
    x[i] = float(i % 1000);
  std::vector<weir_tensor> fetches(2);
  ASSERT_EQ(leader.run({floats(x, {int64_t(count)})}, fetches), WEIR_OK)
      << leader.status.message;
  ASSERT_EQ(fetches[0].bytes, int64_t(count * 4));
  ASSERT_EQ(fetches[1].bytes, int64_t(count * 4));
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(static_cast<float *>(fetches[0].data)[i], x[i] + float(tasks));
    ASSERT_EQ(static_cast<float *>(fetches[1].data)[i], x[i] + 1);
  }
  for (weir_tensor &tensor : fetches)
    weir_session_release(leader.session, &tensor);
}

TEST(Cluster, TensorsOfAllSizesGoAroundTwoAndThreeTasks) {
  for (int count : {2, 3}) {
    Ring ring(count);
    Tasks tasks(count);
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 1; i < count; ++i)
      workers.push_back(std::make_unique<Worker>(tasks, i, ring.program.get()));
    {
      Member leader(tasks, 0, ring.program.get());
      ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
      for (size_t size : {1, 0, 7, 1000, 100000, 1, 5000000})
        checkRing(leader, count, size);
      weir_memory_stats stats = {};
      stats.size = sizeof(stats);
      weir_session_memory(leader.session, 0, &stats);
      EXPECT_EQ(stats.live, 1) << "only the arena is left";
    }
    // The leader said goodbye.
    for (auto &worker : workers)
      EXPECT_EQ(worker->wait(), 0);
  }
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Leads steps until one fails, and returns its status.
weir_status leadUntilFailure(Member &leader, double limit) {
  std::vector<float> x(20000, 1.0f);
  Clock::time_point start = Clock::now();
  while (secondsSince(start) < limit) {
    std::vector<weir_tensor> fetches(2);
    if (leader.run({floats(x, {20000})}, fetches) != WEIR_OK)
      return leader.status;
    for (weir_tensor &tensor : fetches)
      weir_session_release(leader.session, &tensor);
  }
  return WEIR_STATUS_INIT;
}

/// More with WEIR_TEST_ROUNDS in the environment.
int rounds(int usual) {
  const char *given = getenv("WEIR_TEST_ROUNDS");
  return given ? atoi(given) : usual;
}

/// A worker falls silent at a random moment of a running loop. The leader gets a
/// status in bounded time that names the task, and can go on.
void silence(int signal, int rounds) {
  Ring ring(3);
  std::mt19937 random(5);
  for (int round = 0; round < rounds; ++round) {
    Tasks tasks(3);
    // Forked before this process has threads of its own: it has none between
    // rounds.
    Worker first(tasks, 1, ring.program.get());
    Worker second(tasks, 2, ring.program.get());
    Worker &victim = random() % 2 ? first : second;
    int index = &victim == &first ? 1 : 2;
    auto delay = std::chrono::microseconds(random() % 300000);
    pid_t killer = fork();
    if (killer == 0) {
      // The leader's first step may take a moment.
      std::this_thread::sleep_for(std::chrono::milliseconds(200) + delay);
      kill(victim.pid, signal);
      _exit(0);
    }
    Member leader(tasks, 0, ring.program.get());
    ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
    weir_status status = leadUntilFailure(leader, 20);
    ASSERT_EQ(status.code, WEIR_UNAVAILABLE) << status.message;
    std::string text = status.message;
    EXPECT_NE(text.find("/job:worker/replica:0/task:" + std::to_string(index)),
              std::string::npos)
        << text;
    waitpid(killer, nullptr, 0);
    if (signal == SIGSTOP) {
      // It goes on, finds itself given up, and is taken back.
      kill(victim.pid, SIGCONT);
      checkRing(leader, 3, 1000);
    }
  }
}

TEST(Cluster, KilledWorkersEndRunsWithTheirNames) {
  silence(SIGKILL, rounds(5));
}
TEST(Cluster, StoppedWorkersEndRunsAndComeBack) { silence(SIGSTOP, rounds(2)); }

} // namespace

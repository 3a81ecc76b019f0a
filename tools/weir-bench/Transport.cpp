//===- Transport.cpp - weir-bench transport -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two processes, a device each, and a program whose steps do nothing but send
// and receive: there and back for latency, a row in one direction for bandwidth.
// All of it goes the way of a model's tensors: sessions, rendezvous, transport.
// UCX's own ucx_perftest is measured in turn with it, where it is installed: its
// tests of active messages, which is what tensors go by. Of round trips both give
// a percentile: the median, or a lower one where others use the processors.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Transport.h"

#include "tools/common/ClusterTasks.h"
#include "tools/common/FlagParser.h"
#include "tools/common/FreePort.h"
#include "tools/common/Terminal.h"
#include "tools/weir-bench/StepFrame.h"
#include "weir/abi.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-bench transport";

int fail(const std::string &message) {
  std::fprintf(stderr, "weir-bench: error W0853: %s\n", message.c_str());
  return 1;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

double nowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A clock that takes no part of a round trip, as ucx_perftest's: the processor's
/// where there is one that may be asked without a call.
uint64_t nowTicks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return uint64_t(nowSeconds() * 1e9);
#endif
}

/// When the leading task received each answer.
std::vector<uint64_t> arrivals;

/// Receives over `in` and sends over `out` in turn, `count` times.
struct Exchange {
  void (*resume)(void *);
  weir_context *ctx;
  int32_t in, out;
  int64_t count, at;
  weir_tensor sent;
  bool sendsFirst, answersOnce;

  int32_t send() { return weir_rt_send(ctx, out, WEIR_NEXT_ITERATION, &sent); }
  /// After the receive is ready.
  int32_t take() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, in, WEIR_NEXT_ITERATION, &value))
      return code;
    weir_rt_free(ctx, value.data);
    if (sendsFirst)
      arrivals.push_back(nowTicks());
    ++at;
    bool answers = answersOnce ? at == count : !sendsFirst || at < count;
    return answers ? send() : int32_t(WEIR_OK);
  }
  bool isReady() { return weir_rt_receive_ready(ctx, in, WEIR_NEXT_ITERATION, this); }
  static int32_t start(const Exchange &made) {
    auto *self = new Exchange(made);
    self->resume = resumeFrame<Exchange>;
    return beginFrame(self, self->sendsFirst ? self->send() : int32_t(WEIR_OK));
  }
};

/// Feeds: what is sent, and how often.
int64_t countOf(weir_context *ctx) { return *static_cast<const int64_t *>(ctx->feeds[1].data); }
weir_tensor little(weir_context *ctx) {
  weir_tensor tensor = ctx->feeds[1];
  return tensor;
}

int32_t pingFirst(weir_context *ctx) {
  return Exchange::start({nullptr, ctx, 1, 0, countOf(ctx), 0, ctx->feeds[0], true, false});
}
int32_t pingSecond(weir_context *ctx) {
  return Exchange::start({nullptr, ctx, 0, 1, countOf(ctx), 0, ctx->feeds[0], false, false});
}
/// A row of tensors, and one small answer.
int32_t rowFirst(weir_context *ctx) {
  weir_tensor data = ctx->feeds[0];
  for (int64_t i = 0; i < countOf(ctx); ++i)
    if (int32_t code = weir_rt_send_kept(ctx, 0, WEIR_NEXT_ITERATION, &data))
      return code;
  return Exchange::start({nullptr, ctx, 1, 0, 1, 0, little(ctx), false, /*answersOnce=*/false});
}
int32_t rowSecond(weir_context *ctx) {
  return Exchange::start({nullptr, ctx, 0, 1, countOf(ctx), 0, little(ctx), false, true});
}

const char *const deviceNames[] = {"/job:bench/replica:0/task:0/device:CPU:0",
                                   "/job:bench/replica:0/task:1/device:CPU:0"};

struct Program {
  Program() {
    desc.size = sizeof(desc);
    desc.abi_version = WEIR_ABI_VERSION;
    desc.name = "transport";
    desc.compiler = weir_runtime_version();
    desc.device_count = desc.entry_count = desc.edge_count = 2;
    desc.devices = devices;
    desc.entries = entries;
    desc.edges = edges;
  }
  int64_t any = -1;
  weir_tensor_desc feeds[2] = {{"data", WEIR_U8, 1, &any, nullptr, nullptr, nullptr},
                               {"count", WEIR_I64, 0, nullptr, nullptr, nullptr, nullptr}};
  weir_device_desc devices[2] = {{deviceNames[0], 0, 64}, {deviceNames[1], 0, 64}};
  weir_edge_desc edges[2] = {{"there:0;0;1", 0, 1}, {"back:0;1;0", 1, 0}};
  weir_step_fn ping[2] = {pingFirst, pingSecond};
  weir_step_fn row[2] = {rowFirst, rowSecond};
  weir_entry_desc entries[2] = {{"ping", 2, 0, feeds, nullptr, ping, 2},
                                {"row", 2, 0, feeds, nullptr, row, 2}};
  weir_program_desc desc = {};
};

//===----------------------------------------------------------------------===//
// The processes
//===----------------------------------------------------------------------===//

/// The processors that this process may use.
std::vector<int> processors() {
  std::vector<int> found;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set))
        found.push_back(i);
  return found;
}

void stayOn(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

/// This process as a task, with its session; ends in the right order.
struct Member {
  std::unique_ptr<ClusterTask> task;
  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;

  bool join(const std::string &file, int number, const Program &program, int core,
            DiagnosticSink &sink) {
    task = ClusterTask::join(file, "bench:" + std::to_string(number), sink);
    if (!task)
      return false;
    // The threads that are to come stay there, too; the task has counted the
    // processors before.
    if (core >= 0)
      stayOn(core);
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.threads = 1;
    options.transport = task->transport();
    return weir_session_create(&program.desc, &options, &session, &status) == WEIR_OK;
  }
  ~Member() { weir_session_destroy(session); }
};

/// Seconds of a run; nothing after an error.
std::optional<double> timeRun(Member &member, int entry, std::vector<uint8_t> &data,
                              int64_t count) {
  weir_tensor feeds[2] = {};
  feeds[0].data = data.data();
  feeds[0].bytes = int64_t(data.size());
  feeds[0].dtype = WEIR_U8;
  feeds[0].rank = 1;
  feeds[0].dims[0] = int64_t(data.size());
  feeds[1].data = &count;
  feeds[1].bytes = sizeof(count);
  feeds[1].dtype = WEIR_I64;
  double begin = nowSeconds();
  int32_t code =
      weir_session_run(member.session, entry, feeds, 2, nullptr, 0, nullptr, &member.status);
  if (code != WEIR_OK)
    return std::nullopt;
  return nowSeconds() - begin;
}

/// Seconds for one of `count`: of two runs the difference, so that feeds and
/// the step's begin and end cancel out.
std::optional<double> timeEach(Member &member, int entry, int64_t bytes, int64_t few,
                               int64_t many) {
  std::vector<uint8_t> data(size_t(bytes), 1);
  auto a = timeRun(member, entry, data, few), b = timeRun(member, entry, data, many);
  if (!a || !b)
    return std::nullopt;
  return (*b - *a) / double(many - few);
}

/// What `rank` percent of the values lie below.
double percentile(std::vector<double> values, int64_t rank) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() * size_t(rank) / 100];
}
double median(std::vector<double> values) { return percentile(std::move(values), 50); }

/// Seconds of a round trip of 8 bytes, of `count` the one that `rank` percent
/// are shorter than.
std::optional<double> timeTrip(Member &member, int64_t count, int64_t rank) {
  std::vector<uint8_t> data(8, 1);
  arrivals.clear();
  uint64_t beginTicks = nowTicks();
  auto seconds = timeRun(member, 0, data, count);
  if (!seconds)
    return std::nullopt;
  double tick = *seconds / double(nowTicks() - beginTicks);
  std::vector<double> trips;
  for (size_t i = 1; i < arrivals.size(); ++i)
    trips.push_back(double(arrivals[i] - arrivals[i - 1]) * tick);
  return percentile(std::move(trips), rank);
}

/// What ucx_perftest says: microseconds one way (at the rank), and MiB a
/// second.
struct Peer {
  double microseconds = 0, mebibytes = 0;
};
std::optional<Peer> perftest(const char *test, int64_t bytes, int64_t count, int64_t rank,
                             const int *cores) {
  int port = freePort();
  std::string common = " -p " + std::to_string(port) + " 2>/dev/null";
  auto program = [&](int end) {
    return (cores ? "taskset -c " + std::to_string(cores[end]) + " " : "") + "ucx_perftest";
  };
  std::string server = program(1) + common + " >/dev/null";
  std::thread serving([&] {
    if (std::system(server.c_str()) != 0)
      return;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::string client = program(0) + " 127.0.0.1 -t " + test + " -s " + std::to_string(bytes) +
                       " -n " + std::to_string(count) + " -w " +
                       std::to_string(std::max<int64_t>(count / 10, 1)) + " -R " +
                       std::to_string(rank) + common;
  std::optional<Peer> found;
  if (FILE *out = popen(client.c_str(), "r")) {
    char line[512];
    while (std::fgets(line, sizeof(line), out)) {
      long long iterations = 0;
      double percentile = 0, average = 0, overall = 0, rate = 0, total = 0;
      if (std::sscanf(line, "Final: %lld %lf %lf %lf %lf %lf", &iterations, &percentile, &average,
                      &overall, &rate, &total) == 6)
        found = Peer{percentile, total};
    }
    pclose(out);
  }
  serving.join();
  return found;
}

struct Settings {
  int64_t rounds = 5, trips = 5000, rank = 50, bytes = 64 << 20;
  bool alone = false, pin = false;
  int cores[2] = {-1, -1}; ///< of the two processes, when they are pinned
};

int lead(const Settings &settings, Member &member) {
  bool peer = !settings.alone && (std::system("ucx_perftest -h >/dev/null 2>&1") == 0 ||
                                  std::system("command -v ucx_perftest >/dev/null") == 0);
  std::vector<double> trips, peerTrips, rates, peerRates;
  for (int64_t round = 0; round <= settings.rounds; ++round) {
    auto trip = timeTrip(member, settings.trips, settings.rank);
    auto row = timeEach(member, 1, settings.bytes, 2, 10);
    if (!trip || !row)
      return fail(std::string("a run failed: ") + member.status.message);
    std::optional<Peer> peerTrip, peerRow;
    if (peer) {
      const int *cores = settings.pin ? settings.cores : nullptr;
      peerTrip = perftest("ucp_am_lat", 8, settings.trips, settings.rank, cores);
      peerRow = perftest("ucp_am_bw", settings.bytes, 10, settings.rank, cores);
    }
    if (round == 0)
      continue; // warms up
    trips.push_back(*trip * 1e6);
    rates.push_back(double(settings.bytes) / *row / (1 << 20));
    if (peerTrip && peerRow) {
      peerTrips.push_back(2 * peerTrip->microseconds);
      peerRates.push_back(peerRow->mebibytes);
    }
  }
  std::printf("round_trip_us=%.2f bandwidth_mib_s=%.0f bytes=%lld\n", median(trips), median(rates),
              static_cast<long long>(settings.bytes));
  if (!peerTrips.empty())
    std::printf("ucx_perftest: round_trip_us=%.2f bandwidth_mib_s=%.0f; ours "
                "take %.2f times as long, and carry %.0f %%\n",
                median(peerTrips), median(peerRates), median(trips) / median(peerTrips),
                100 * median(rates) / median(peerRates));
  else if (!settings.alone)
    std::printf("ucx_perftest is not there (Debian's ucx-utils)\n");
  return 0;
}

} // namespace

int runTransport(int argc, char **argv) {
  Settings settings;
  FlagParser parser(toolName, "[flags]",
                    "Measures tensors between two processes of this host: a "
                    "round trip of 8 bytes, and bytes a second of large ones.");
  parser.group("Measuring");
  parser.number("--rounds", "N", "rounds, of which medians are taken", settings.rounds, 1, 1000);
  parser.number("--trips", "N", "round trips a round", settings.trips, 2, int64_t(1) << 24);
  parser.number("--rank", "P",
                "the round trip to report, in percent of a round's shorter "
                "ones: 50 is the median, 10 leaves other load out",
                settings.rank, 1, 99);
  parser.number("--bytes", "N", "size of large tensors", settings.bytes, 1, int64_t(1) << 32);
  parser.flag("--pin",
              "keeps each process on a processor of its own, ucx_perftest's, "
              "too",
              settings.pin);
  parser.flag("--alone", "leaves ucx_perftest out", settings.alone);
  parser.exitCode(0, "measured");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  if (settings.pin) {
    std::vector<int> found = processors();
    if (found.size() < 2)
      return fail("--pin: found one processor that may be used, two are needed");
    settings.cores[0] = found.front();
    settings.cores[1] = found.back();
  }
  char path[] = "/tmp/weir-transport-XXXXXX";
  int descriptor = mkstemp(path);
  if (descriptor < 0)
    return fail("no temporary file can be made");
  dprintf(descriptor,
          "{\"tasks\": [{\"name\": \"bench:0\", \"address\": \"127.0.0.1:%d\"},"
          " {\"name\": \"bench:1\", \"address\": \"127.0.0.1:0\"}]}",
          freePort());
  close(descriptor);
  Program program;
  // Forked before this process has threads.
  pid_t child = fork();
  DiagnosticSink sink;
  int code = 1;
  {
    Member member;
    int number = child ? 0 : 1;
    if (!member.join(path, number, program, settings.cores[number], sink))
      fail(std::string("no session: ") + member.status.message);
    else if (child)
      code = lead(settings, member);
    else
      code = member.task->serve().ok() ? 0 : 1;
  }
  printDiagnostics(sink);
  if (!child)
    _exit(code);
  unlink(path);
  if (code)
    kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return code;
}

//===- Collectives.cpp - weir-bench collectives ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As many processes as are asked for, a device each, and a program whose steps do
// nothing but reduce tensors together, a row of them one after the other: of rows of two
// lengths the difference, so that a run's begin and end cancel out. Beside it the
// transport alone: the same bytes around the same ring, a chunk at a time, and nothing
// computed.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Collectives.h"

#include "runtime/collectives/driver.h"
#include "tools/common/ClusterTasks.h"
#include "tools/common/FlagParser.h"
#include "tools/common/FreePort.h"
#include "tools/common/Terminal.h"
#include "tools/weir-bench/StepFrame.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr int fewReductions = 2, manyReductions = 10;

int fail(const std::string &message) {
  std::fprintf(stderr, "weir-bench: error W0853: %s\n", message.c_str());
  return 1;
}

/// The program that steps are of: there is one a process.
const weir_program_desc *theProgram = nullptr;

int64_t elementsOf(weir_context *ctx) { return *static_cast<const int64_t *>(ctx->feeds[0].data); }
int64_t countOf(weir_context *ctx) { return *static_cast<const int64_t *>(ctx->feeds[1].data); }

weir_tensor vectorOf(std::vector<float> &values) {
  weir_tensor tensor = {};
  tensor.data = values.data();
  tensor.bytes = int64_t(values.size() * sizeof(float));
  tensor.dtype = WEIR_F32;
  tensor.rank = 1;
  tensor.dims[0] = int64_t(values.size());
  return tensor;
}

/// Gives a tensor to each of a row of collectives, and takes what comes.
struct Reducer {
  void (*resume)(void *);
  weir_context *ctx;
  int64_t at, count;
  std::vector<float> values;

  const weir_collective_rank &rank() const {
    return theProgram->collectives[at].ranks[ctx->device];
  }
  int32_t send() {
    weir_tensor tensor = vectorOf(values);
    return weir_rt_send(ctx, rank().input, 0, &tensor);
  }
  int32_t take() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, rank().output, 0, &value))
      return code;
    weir_rt_free(ctx, value.data);
    ++at;
    return at < count ? send() : int32_t(WEIR_OK);
  }
  bool isReady() { return weir_rt_receive_ready(ctx, rank().output, 0, this); }
  static int32_t start(weir_context *ctx) {
    auto *self = new Reducer{resumeFrame<Reducer>, ctx, 0, countOf(ctx),
                             std::vector<float>(size_t(elementsOf(ctx)), 1.0f)};
    return beginFrame(self, self->send());
  }
};

/// Sends chunks to the next task, and takes the previous one's, as often as a ring's
/// all-reduce does.
struct Forwarder {
  void (*resume)(void *);
  weir_context *ctx;
  int64_t at, count; ///< chunks
  int32_t to, from;
  std::vector<float> &values;

  int32_t send() {
    weir_tensor tensor = vectorOf(values);
    return weir_rt_send_kept(ctx, to, at, &tensor);
  }
  int32_t take() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, from, at, &value))
      return code;
    weir_rt_free(ctx, value.data);
    ++at;
    return at < count ? send() : int32_t(WEIR_OK);
  }
  bool isReady() { return weir_rt_receive_ready(ctx, from, at, this); }
  static int32_t start(weir_context *ctx) {
    const weir_collective_desc &desc = theProgram->collectives[0];
    int64_t ranks = desc.count, hops = 2 * (ranks - 1);
    auto own = int64_t(ctx->device);
    int64_t chunk = std::max<int64_t>(elementsOf(ctx) / ranks, 1);
    // Read where it lies until the run's end: longer than this frame.
    static std::vector<float> values;
    values.assign(size_t(chunk), 1.0f);
    // The edges of the first collective, which is none of this entry's.
    auto *self = new Forwarder{resumeFrame<Forwarder>,
                               ctx,
                               0,
                               countOf(ctx) * hops,
                               desc.ranks[own].ring,
                               desc.ranks[(own + ranks - 1) % ranks].ring,
                               values};
    return beginFrame(self, self->send());
  }
};

struct Program {
  explicit Program(int tasks) {
    for (int i = 0; i < tasks; ++i)
      names.push_back("/job:bench/replica:0/task:" + std::to_string(i) + "/device:CPU:0");
    for (const std::string &name : names)
      devices.push_back({name.c_str(), 0, 64});
    auto edge = [&](int32_t from, int32_t to) {
      edges.push_back({"value:0", from, to});
      return int32_t(edges.size()) - 1;
    };
    for (int k = 0; k < manyReductions; ++k) {
      auto &made = ranks.emplace_back();
      for (int32_t r = 0; r < tasks; ++r) {
        int32_t parent = r & (r - 1);
        made.push_back({r, edge(r, r), edge(r, r), edge(r, (r + 1) % tasks),
                        r ? edge(r, parent) : -1, r ? edge(parent, r) : -1});
      }
      // Rows of either length have the parts that they use.
      for (int32_t entry : {0, 1})
        if (entry == 1 || k < fewReductions)
          collectives.push_back(
              {"value", entry, WEIR_ALL_REDUCE, WEIR_REDUCE_SUM, tasks, made.data()});
    }
    // Those of an entry, in order: steps number them from the begin of the table.
    std::stable_sort(collectives.begin(), collectives.end(),
                     [](const auto &a, const auto &b) { return a.entry > b.entry; });
    reduce.assign(size_t(tasks), Reducer::start);
    forward.assign(size_t(tasks), Forwarder::start);
    entries = {{"few", 2, 0, feeds, nullptr, reduce.data(), 0},
               {"many", 2, 0, feeds, nullptr, reduce.data(), 0},
               {"ring", 2, 0, feeds, nullptr, forward.data(), 0}};
    desc.size = sizeof(desc);
    desc.abi_version = WEIR_ABI_VERSION;
    desc.name = "collectives";
    desc.compiler = weir_runtime_version();
    desc.device_count = tasks;
    desc.entry_count = int32_t(entries.size());
    desc.edge_count = int32_t(edges.size());
    desc.devices = devices.data();
    desc.entries = entries.data();
    desc.edges = edges.data();
    desc.collectives = collectives.data();
    desc.collective_count = int64_t(collectives.size());
    desc.collective_driver = &weir_collectives;
    theProgram = &desc;
  }
  Program(const Program &) = delete;

  std::vector<std::string> names;
  std::vector<weir_device_desc> devices;
  std::vector<weir_edge_desc> edges;
  std::deque<std::vector<weir_collective_rank>> ranks;
  std::vector<weir_collective_desc> collectives;
  weir_tensor_desc feeds[2] = {{"elements", WEIR_I64, 0, nullptr, nullptr, nullptr, nullptr},
                               {"count", WEIR_I64, 0, nullptr, nullptr, nullptr, nullptr}};
  std::vector<weir_step_fn> reduce, forward;
  std::vector<weir_entry_desc> entries;
  weir_program_desc desc = {};
};

/// This process as a task, with its session; ends in the right order.
struct Member {
  std::unique_ptr<ClusterTask> task;
  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;

  bool join(const std::string &file, int number, const Program &program, DiagnosticSink &sink) {
    task = ClusterTask::join(file, "bench:" + std::to_string(number), sink);
    if (!task)
      return false;
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.threads = 1;
    options.transport = task->transport();
    return weir_session_create(&program.desc, &options, &session, &status) == WEIR_OK;
  }
  ~Member() { weir_session_destroy(session); }
};

/// Seconds; nothing after an error.
std::optional<double> timeRun(Member &member, int entry, int64_t elements, int64_t count) {
  weir_tensor feeds[2] = {};
  for (auto [feed, value] : {std::pair{&feeds[0], &elements}, std::pair{&feeds[1], &count}}) {
    feed->data = value;
    feed->bytes = sizeof(int64_t);
    feed->dtype = WEIR_I64;
  }
  auto begin = std::chrono::steady_clock::now();
  if (weir_session_run(member.session, entry, feeds, 2, nullptr, 0, nullptr, &member.status))
    return std::nullopt;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Settings {
  int64_t tasks = 2, rounds = 11, largest = 64 << 20;
};

int lead(const Settings &settings, Member &member) {
  std::printf("%10s %12s %12s %12s %12s\n", "bytes", "us", "MiB/s", "ring us", "ring MiB/s");
  double share = 2.0 * double(settings.tasks - 1) / double(settings.tasks);
  for (int64_t bytes = 1024; bytes <= settings.largest; bytes *= 4) {
    int64_t elements = bytes / 4;
    std::vector<double> own, ring;
    for (int64_t round = 0; round <= settings.rounds; ++round) {
      auto few = timeRun(member, 0, elements, fewReductions);
      auto many = timeRun(member, 1, elements, manyReductions);
      auto fewChunks = timeRun(member, 2, elements, fewReductions);
      auto manyChunks = timeRun(member, 2, elements, manyReductions);
      if (!few || !many || !fewChunks || !manyChunks)
        return fail(std::string("a run failed: ") + member.status.message);
      if (round == 0)
        continue; // warms up
      own.push_back((*many - *few) / (manyReductions - fewReductions));
      ring.push_back((*manyChunks - *fewChunks) / (manyReductions - fewReductions));
    }
    auto rate = [&](double seconds) { return share * double(bytes) / seconds / (1 << 20); };
    std::printf("%10lld %12.1f %12.1f %12.1f %12.1f\n", static_cast<long long>(bytes),
                median(own) * 1e6, rate(median(own)), median(ring) * 1e6, rate(median(ring)));
    std::fflush(stdout);
  }
  return 0;
}

/// Task 0 measures, the others serve it.
int takePart(const Settings &settings, const std::string &file, int number, const Program &program,
             DiagnosticSink &sink) {
  Member member;
  if (!member.join(file, number, program, sink))
    return fail(std::string("no session: ") + member.status.message);
  if (number == 0)
    return lead(settings, member);
  return member.task->serve().ok() ? 0 : 1;
}

} // namespace

int runCollectives(int argc, char **argv) {
  Settings settings;
  FlagParser parser("weir-bench collectives", "[flags]",
                    "Measures all_reduce of f32 among processes, by size: "
                    "microseconds, the bytes a second that each task sends, and those that the "
                    "same messages take with nothing computed. Processes are this host's, or one "
                    "a call, with --cluster and --task: task 0 prints.");
  parser.group("Measuring");
  parser.number("--tasks", "N", "processes", settings.tasks, 2, 64);
  parser.number("--rounds", "N", "rounds, of which medians are taken", settings.rounds, 1, 1000);
  parser.number("--largest", "BYTES", "sizes go from 1 KiB to this, four times each",
                settings.largest, 1024, int64_t(1) << 32);
  std::string cluster;
  int64_t task = -1;
  parser.text("--cluster", "FILE", "tasks bench:0, bench:1 and so on, as many as --tasks", cluster);
  parser.number("--task", "N", "with --cluster: which of them this process is", task, 0, 63);
  parser.exitCode(0, "measured");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  if (cluster.empty() != (task < 0) || task >= settings.tasks)
    return fail(task < settings.tasks ? "found one of --cluster and --task; possible: both"
                                      : "found --task=" + std::to_string(task) + " of " +
                                            std::to_string(settings.tasks) + " tasks");
  if (!cluster.empty()) {
    Program program(int(settings.tasks));
    DiagnosticSink sink;
    int code = takePart(settings, cluster, int(task), program, sink);
    printDiagnostics(sink);
    return code;
  }
  char path[] = "/tmp/weir-collectives-XXXXXX";
  int descriptor = mkstemp(path);
  if (descriptor < 0)
    return fail("no temporary file can be made");
  std::string text = "{\"tasks\": [";
  std::vector<int> ports = freePorts(int(settings.tasks));
  for (int i = 0; i < int(settings.tasks); ++i)
    text += std::string(i ? ", " : "") + "{\"name\": \"bench:" + std::to_string(i) +
            "\", \"address\": \"127.0.0.1:" + std::to_string(ports[size_t(i)]) + "\"}";
  dprintf(descriptor, "%s]}", text.c_str());
  close(descriptor);
  Program program(int(settings.tasks));
  // Forked before this process has threads.
  std::vector<pid_t> children;
  int number = 0;
  for (int i = 1; i < int(settings.tasks) && number == 0; ++i) {
    pid_t child = fork();
    if (child == 0)
      number = i;
    else
      children.push_back(child);
  }
  DiagnosticSink sink;
  int code = takePart(settings, path, number, program, sink);
  printDiagnostics(sink);
  if (number != 0)
    _exit(code);
  unlink(path);
  for (pid_t child : children) {
    if (code)
      kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return code;
}

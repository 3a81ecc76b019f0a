//===- PlacedRun.cpp - the same program over several devices --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/PlacedRun.h"

#include "tools/common/ClusterTasks.h"
#include "tools/common/Files.h"
#include "tools/common/FreePort.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

static RandomPlacement placement;

void weir::conformance::setRandomPlacement(RandomPlacement chosen) { placement = chosen; }

const RandomPlacement &weir::conformance::randomPlacement() { return placement; }

static std::string deviceName(int32_t number) {
  std::string text = std::to_string(number);
  return placement.inProcesses ? "/job:worker/task:" + text + "/device:CPU:0"
                               : "/device:CPU:" + text;
}

driver::Options weir::conformance::placedAtRandom(driver::Options options) {
  for (int32_t i = 0; i < placement.devices; ++i)
    options.deviceNames.push_back(deviceName(i));
  options.placer = "random:" + std::to_string(placement.seed);
  return options;
}

/// Empty: all the same bits.
static std::string differenceOf(NamedTensors &got, NamedTensors &want) {
  for (const auto &[name, tensor] : want) {
    HostTensor *other = findTensor(got, name);
    if (other && *other == tensor)
      continue;
    std::optional<std::string> difference;
    if (other)
      difference = compareTensors(*other, tensor, {});
    return "\"" + name + "\": " + difference.value_or("other bits");
  }
  return "";
}

namespace {

/// A run whose devices are processes. They are forked for it, the leader, too:
/// what UCX leaves in a process does not outlive it.
class TaskRun {
public:
  TaskRun(CompiledCase &compiled, int entry, std::vector<HostTensor> &feeds, NamedTensors &want)
      : compiled(compiled), entry(entry), feeds(feeds), want(want) {}

  /// What went wrong; empty: nothing.
  std::string run() {
    std::string problem = writeCluster();
    if (!problem.empty())
      return problem;
    int ends[2];
    if (pipe(ends) != 0)
      return "no pipe can be made";
    std::vector<pid_t> tasks;
    pid_t parent = getpid();
    for (int32_t task = 0; task < placement.devices; ++task) {
      pid_t pid = fork();
      if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
          _exit(0);
        close(ends[0]);
        std::string text = work(task);
        if (!text.empty())
          text = "task " + std::to_string(task) + ": " + text + "\n";
        // Shorter than what a pipe takes at once.
        text.resize(std::min<size_t>(text.size(), 2048));
        _exit(write(ends[1], text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1);
      }
      if (pid > 0)
        tasks.push_back(pid);
      else
        problem = "no process can be made";
    }
    close(ends[1]);
    if (!problem.empty())
      for (pid_t pid : tasks)
        kill(pid, SIGKILL);
    for (size_t task = 0; task < tasks.size(); ++task) {
      int status = 0;
      if (task == 0)
        waitpid(tasks[task], &status, 0);
      else
        reapSoon(tasks[task], status);
      if (status != 0 && problem.empty())
        problem = WIFSIGNALED(status) ? "a task ended by signal " + std::to_string(WTERMSIG(status))
                                      : "a task ended with an error";
    }
    std::string said;
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;)
      said.append(buffer, size_t(got));
    close(ends[0]);
    if (!said.empty())
      problem = said;
    std::error_code code;
    std::filesystem::remove(file, code);
    return problem;
  }

private:
  /// Tasks leave when the leader does. Who has no part in the program may not
  /// even have met it by then: such a one is ended.
  static void reapSoon(pid_t task, int &status) {
    for (int turn = 0; turn < 200; ++turn) {
      if (waitpid(task, &status, WNOHANG) != 0)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill(task, SIGKILL);
    waitpid(task, nullptr, 0);
  }

  /// The file of tasks, at ports that are free.
  std::string writeCluster() {
    std::vector<int> ports = freePorts(placement.devices);
    if (int32_t(ports.size()) < placement.devices)
      return "no port is free";
    std::string list;
    for (size_t task = 0; task < ports.size(); ++task)
      list += (task ? ", " : "") + ("{\"name\": \"worker:" + std::to_string(task)) +
              "\", \"address\": \"127.0.0.1:" + std::to_string(ports[task]) + "\"}";
    file = (std::filesystem::temp_directory_path() /
            ("weir-tasks-" + std::to_string(getpid()) + ".json"))
               .string();
    std::string error;
    return writeFile(file,
                     "{\"tasks\": [" + list + "], \"timing\": {\"timeout\": 30, \"connect\": 60}}",
                     error)
               ? ""
               : error;
  }

  std::string work(int32_t number) {
    DiagnosticSink sink;
    auto task = ClusterTask::join(file, "worker:" + std::to_string(number), sink);
    if (!task)
      return sink.diagnostics().front().str();
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.transport = task->transport();
    RunStatus status;
    std::unique_ptr<Session> session = Session::create(*compiled.placedModel, options, status);
    std::string problem;
    NamedTensors got;
    if (status.ok())
      status = task->leads() ? session->run(entry, feeds, got) : task->serve();
    // Who joins when the leader has done its step finds nobody; were a part of the
    // step missing, the leader would say so.
    if (!task->leads() && status.code == WEIR_UNAVAILABLE)
      status = {};
    if (!status.ok())
      problem = status.text();
    else if (task->leads())
      problem = differenceOf(got, want);
    session.reset();
    task.reset();
    return problem;
  }

  CompiledCase &compiled;
  int entry;
  std::vector<HostTensor> &feeds;
  NamedTensors &want;
  std::string file;
};

} // namespace

std::optional<Verdict> weir::conformance::runPlaced(CompiledCase &compiled, int entry,
                                                    std::vector<HostTensor> &feeds,
                                                    NamedTensors &want) {
  std::string problem;
  if (placement.inProcesses) {
    problem = TaskRun(compiled, entry, feeds, want).run();
  } else {
    NamedTensors got;
    RunStatus status = compiled.placedSession->run(entry, feeds, got);
    problem = status.ok() ? differenceOf(got, want) : status.text();
  }
  if (problem.empty())
    return std::nullopt;
  return Verdict::failed("placed at random: " + problem);
}

//===- Run.cpp - what weir-run does ---------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Run.h"

#include "compiler/driver/Shapes.h"
#include "tools/common/ClusterTasks.h"
#include "tools/common/Files.h"
#include "tools/common/Inputs.h"
#include "tools/common/Terminal.h"
#include "tools/weir-run/HandOver.h"
#include "tools/weir-run/TaskReport.h"
#include "tools/weir-run/Top.h"
#include "tools/weir-run/Trace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <new>

using namespace weir;
using namespace weir::tools;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// Milliseconds that the process has computed since it was made. At the start
/// of main that is what loading took, up to pages that were not in memory.
double processMilliseconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

bool writeText(const std::string &path, const std::string &text, DiagnosticSink &sink) {
  std::string error;
  if (path.empty() || writeFile(path, text, error))
    return true;
  sink.report({"W0707", path, "", "", "cannot be written: " + error, {}});
  return false;
}

std::vector<std::string> deviceNames(const LoadedModel &model) {
  std::vector<std::string> names;
  for (int32_t d = 0; d < weir_program_device_count(model.program()); ++d)
    names.emplace_back(weir_program_device_name(model.program(), d));
  return names;
}

/// `task`: null where the program runs in one process. Its session may be gone.
bool writeTrace(const Settings &settings, const TraceRecorder &recorder, const ClusterTask *task,
                const LoadedModel &model, DiagnosticSink &sink) {
  if (settings.trace.empty() || !task)
    return writeText(settings.trace, settings.trace.empty() ? "" : recorder.traceJson(), sink);
  weir_task_figures leader = task->figures(task->leader());
  TraceRecorder::Shared shared = {task->leaderProcess(), leader.clock_offset, leader.clock_error,
                                  deviceNames(model)};
  std::string error;
  if (recorder.writeShared(settings.trace, shared, error))
    return true;
  sink.report({"W0707", settings.trace, "", "", "cannot be written: " + error, {}});
  return false;
}

bool writeDeviceProfiles(const std::map<std::string, std::string> &files, ModelTools *tools,
                         DiagnosticSink &sink) {
  for (const auto &[type, path] : files) {
    if (path.empty())
      continue;
    std::string why;
    std::optional<std::string> text = tools->deviceProfile(type, why);
    if (!text)
      sink.report({"W0707", path, "", "", "cannot be written: " + why, {}});
    if (!text || !writeText(path, *text + '\n', sink))
      return false;
  }
  return true;
}

/// What rounding did to a result: the largest distance, and the root of the mean
/// square of distances over that of the values.
void printDistance(const std::string &name, const HostTensor &wide, const HostTensor &narrow) {
  if (!isFloat(wide.dtype) || wide.dims != narrow.dims)
    return;
  double largest = 0, most = 0, error = 0, energy = 0;
  for (int64_t i = 0; i < wide.count(); ++i) {
    double value = elementAsDouble(wide, i);
    double distance = std::abs(value - elementAsDouble(narrow, i));
    largest = std::max(largest, distance);
    most = std::max(most, std::abs(value));
    error += distance * distance;
    energy += value * value;
  }
  std::printf("%s: largest error %.3g of %.3g, relative %.5f\n", name.c_str(), largest, most,
              energy > 0 ? std::sqrt(error / energy) : 0.0);
}

/// Runs the same entries with the same feeds in f32.
bool compareWithF32(const Settings &settings, ModelTools &tools, InputSet &inputs,
                    const NamedTensors &results, DiagnosticSink &sink) {
  driver::Options options = settings.options;
  options.precision = "f32";
  std::unique_ptr<LoadedModel> model = tools.load(options, JitListener::None, sink);
  if (!model)
    return false;
  RunStatus status;
  weir_session_options sessionOptions = WEIR_SESSION_OPTIONS_INIT;
  sessionOptions.threads = options.threads;
  std::unique_ptr<Session> session = Session::create(*model, sessionOptions, status);
  NamedTensors wide;
  for (const std::string &name : settings.entries) {
    if (!session || !status.ok())
      break;
    int entry = session->findEntry(name);
    std::vector<HostTensor> feeds;
    if (!inputs.collect(options.input, session->entries()[entry], feeds, sink))
      return false;
    NamedTensors fetches;
    status = session->run(entry, feeds, fetches);
    wide.insert(wide.end(), fetches.begin(), fetches.end());
  }
  if (!status.ok()) {
    sink.report({"W0704", options.input, "", "", "in f32 the model failed: " + status.text(), {}});
    return false;
  }
  for (size_t i = 0; i < std::min(wide.size(), results.size()); ++i)
    printDistance(wide[i].first, wide[i].second, results[i].second);
  return true;
}

/// Null after a report.
std::unique_ptr<Metrics> serveMetrics(const Settings &settings, Session &session,
                                      const ClusterTask *task, int32_t devices,
                                      DiagnosticSink &sink) {
  std::string error;
  std::unique_ptr<Metrics> metrics = Metrics::create(int(settings.metricsPort), error);
  if (!metrics) {
    sink.report({"W0707",
                 "--metrics=" + std::to_string(settings.metricsPort),
                 "",
                 "",
                 "cannot listen there: " + error,
                 {}});
    return nullptr;
  }
  metrics->onAsked([&session, task, devices](Metrics &made) {
    if (task)
      TaskReport(*task).set(made);
    for (int32_t d = 0; d < devices; ++d)
      made.set("weir_peak_bytes", "The most that a device's allocator had handed out.",
               static_cast<double>(session.peakMemory(d)), "device=\"" + std::to_string(d) + "\"");
  });
  return metrics;
}

/// A run of a model, from its file to what is written of it: all that follows the command line.
/// What fails is in `sink`.
class ModelRun {
public:
  /// `tools` null: what is run is a shared library.
  ModelRun(Settings &settings, ModelTools *tools, DiagnosticSink &sink)
      : settings(settings), input(settings.options.input), tools(tools), sink(sink) {}

  bool run(Clock::time_point start, double beforeMain) {
    if (!load() || !openSession())
      return false;
    bool isReady = prepare();
    loadMs = beforeMain + milliseconds(Clock::now() - start);
    if (!leads)
      return endServing();
    bool good = isReady && runEntries() && finish();
    if (!good && task && checkpoints->recovers())
      vanish();
    return good;
  }

private:
  bool load();
  bool createSession(weir_session_options options);
  bool openSession();
  bool prepare();
  bool endServing();
  bool runEntries();
  bool runEntry(const std::string &name);
  bool giveResults();
  bool finish();
  void chooseEntry();
  void printMemory();
  [[noreturn]] void vanish();

  Settings &settings;
  const std::string &input;
  ModelTools *tools;
  DiagnosticSink &sink;
  // What is named later ends earlier.
  InputSet inputs;
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<ClusterTask> task; ///< null: the program runs in one process
  TraceRecorder recorder;
  TopTable top;
  RunStatus status;
  std::unique_ptr<Session> session;
  std::unique_ptr<Metrics> metrics; ///< null: nobody asks
  std::optional<Members> members;
  std::optional<Checkpoints> checkpoints;
  bool leads = true; ///< else the task has served until it was told to end
  double loadMs = 0;
  NamedTensors all;  ///< results of all entries; with --recover of the last one's last step
  std::string times; ///< what measurements print
};

/// Inputs, the program, and the task of a cluster.
bool ModelRun::load() {
  for (const std::string &flag : settings.inputs)
    if (!inputs.add(flag, sink))
      return false;
  model = isLibrary(input) ? openProgram(settings.options, sink)
                           : tools->load(settings.options, settings.listener, sink);
  if (!model)
    return false;
  if (!settings.cluster.empty())
    task = ClusterTask::join(settings.cluster, settings.task, sink, settings.secret,
                             /*timesSteps=*/settings.steps.steps > 0);
  return settings.cluster.empty() || task;
}

/// False after a report.
bool ModelRun::createSession(weir_session_options options) {
  // Who takes the place of a task that was lost has what it had before others see it.
  bool replaces =
      task && !settings.checkpoints.elastic && (settings.steps.areOwn || !task->leads());
  std::string from, tried;
  do {
    tried = from;
    if (RunStatus found =
            replaces ? checkpointToGoOnFrom(settings.checkpoints, *model, from) : RunStatus();
        !found.ok()) {
      sink.report({"W0710",
                   input,
                   "",
                   "",
                   "checkpoint \"" + settings.checkpoints.folder() + "\": " + found.text(),
                   {}});
      return false;
    }
    options.restore = from.empty() ? nullptr : from.c_str();
    session = Session::create(*model, options, status);
  } while (!session && from != tried); // a newer one may have replaced it
  // Who leads restores all, where one does, and says what is wrong with it.
  if (!session && !from.empty() && !settings.steps.areOwn) {
    options.restore = nullptr;
    session = Session::create(*model, options, status);
  }
  if (!session)
    sink.report({"W0706", input, "", "", "no session can be made: " + status.text(), {}});
  return session != nullptr;
}

/// The session, and who watches it.
bool ModelRun::openSession() {
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.transport = task ? task->transport() : nullptr;
  options.threads = settings.options.threads;
  if (!settings.trace.empty() || !settings.profile.empty() || !settings.tensorBoard.empty())
    options.trace = recorder.hooks();
  if (settings.topSeconds)
    options.trace = top.hooks();
  if (!createSession(options))
    return false;
  if (!settings.trace.empty())
    recorder.watchMemory(deviceNames(*model), [this](int32_t device) {
      return session ? session->memoryInUse(device) : 0;
    });
  if (settings.metricsPort > 0)
    metrics = serveMetrics(settings, *session, task.get(),
                           weir_program_device_count(model->program()), sink);
  return settings.metricsPort <= 0 || metrics;
}

/// Shapes that a library leaves open, and state: a task that does not lead serves here.
bool ModelRun::prepare() {
  const driver::Options &options = settings.options;
  if (isLibrary(input) && (!driver::checkShapes(options, sink) ||
                           !inputs.setShapes(input, session->entries(), options.shapes, sink)))
    return false;
  if (task)
    members.emplace(*task, *session, settings.checkpoints.elastic, settings.checkpoints.recover,
                    settings.checkpoints.folder() + "/leader");
  checkpoints.emplace(settings.checkpoints, *model, input, members ? &*members : nullptr,
                      settings.steps.areOwn ? StepsOf::Several : StepsOf::One,
                      !task || !settings.steps.areOwn || task->leads());
  leads = !task || task->leads() || settings.steps.areOwn || members->serve(status);
  if (leads && members)
    if (RunStatus failed = members->beginToLead(); !failed.ok()) {
      sink.report({"W0709", input, "", "", "this task cannot lead: " + failed.text(), {}});
      return false;
    }
  // What is run before the steps, of others, too, where they have their own, may give variables
  // their values.
  bool isFirst = settings.entries.size() <= 1 && !settings.steps.areOwn;
  return !leads || (checkpoints->restore(*session, sink) &&
                    (!isFirst || checkpoints->saveFirst(*session, sink)));
}

bool ModelRun::endServing() {
  if (metrics)
    metrics->stopRefreshing();
  session.reset();
  if (!status.ok())
    sink.report({"W0709", input, "", "", "serving ended: " + status.text(), {}});
  return status.ok() && writeTrace(settings, recorder, task.get(), *model, sink);
}

/// Without --entry: a training's step where steps are asked for, else the first.
void ModelRun::chooseEntry() {
  if (!settings.entries.empty())
    return;
  if (settings.steps.steps && session->findEntry("train_step") >= 0)
    settings.entries.push_back("train_step");
  else
    settings.entries.push_back(session->entries().empty() ? std::string()
                                                          : session->entries()[0].name);
}

bool ModelRun::runEntries() {
  chooseEntry();
  if (task)
    if (RunStatus failed = synchronizeReplicas(*session);
        !failed.ok() && !checkpoints->recover(*session, failed, sink)) {
      sink.report({"W0704", input, "", "", "replicas cannot be made alike: " + failed.text(), {}});
      return false;
    }
  if (!inputs.checkNames(input, session->entries(), settings.entries, sink))
    return false;
  // Variables have their values, which what was run before the steps must not give them again.
  bool hasBegun = checkpoints->goesOn() && (!settings.steps.areOwn || task->leads());
  for (const std::string &name : settings.entries) {
    bool isLast = &name == &settings.entries.back();
    if (hasBegun && !isLast)
      std::fprintf(stderr, "--run=%s was run before checkpoint %lld, and is not run again\n",
                   name.c_str(), static_cast<long long>(checkpoints->count()));
    else if ((isLast && !settings.steps.areOwn && !checkpoints->saveFirst(*session, sink)) ||
             !runEntry(name))
      return false;
  }
  return checkpoints->finish(*session, sink);
}

/// Runs an entry as often as is asked for.
bool ModelRun::runEntry(const std::string &name) {
  int entry = session->findEntry(name);
  if (entry < 0) {
    std::string names;
    for (const LoadedEntry &candidate : session->entries())
      names += (names.empty() ? "" : ", ") + candidate.name;
    sink.report(
        {"W0708", input, "", "", "found no entry \"" + name + "\"; possible: " + names, {}});
    return false;
  }
  std::vector<HostTensor> feeds;
  if (!inputs.collect(input, session->entries()[entry], feeds, sink))
    return false;
  NamedTensors fetches;
  RunStatus ran;
  bool isLast = &name == &settings.entries.back();
  bool timed = settings.measure.repeat > 0 && isLast, steps = settings.steps.steps > 0 && isLast;
  Pace pace(settings.steps.areOwn ? task.get() : nullptr, settings.steps.staleness,
            checkpoints->recovers());
  auto print = [&] {
    if (settings.output.empty() && !timed && !settings.topSeconds)
      for (const auto &[fetch, tensor] : fetches)
        std::printf("%s\n", summaryOf(fetch, tensor).c_str());
  };
  // Who begins anew behind the last checkpoint has nothing left to run, and no results.
  auto whenDone = [&](NamedTensors &results) {
    fetches.swap(results);
    if (!checkpoints->recovers())
      return true;
    all = fetches;
    print();
    std::fflush(stdout);
    return giveResults();
  };
  if (steps && !runSteps(settings.steps, input, *session, entry, feeds, *checkpoints, pace,
                         whenDone, metrics.get(), sink))
    return false;
  if (timed) {
    Times measured;
    ran = measure(*session, entry, feeds, settings.measure, *checkpoints, fetches, measured);
    if (ran.ok() && (settings.measure.latencies || settings.measure.streams > 1))
      times = measured.latencyLine(settings.measure.streams);
    if (ran.ok())
      times += measured.line(loadMs);
  } else if (settings.topSeconds && isLast) {
    ran = top.watch(*session, entry, feeds, double(settings.topSeconds), fetches);
  } else if (!steps) {
    ran = session->run(entry, feeds, fetches);
  }
  // Steps alone count where a process goes on that another has begun.
  if (ran.ok() && !timed && !steps && !checkpoints->recovers())
    checkpoints->afterRun(*session);
  if (!ran.ok()) {
    sink.report({"W0704", input, "", "", "entry \"" + name + "\" failed: " + ran.text(), {}});
    return false;
  }
  if (!steps || !checkpoints->recovers())
    print();
  if (!checkpoints->recovers())
    all.insert(all.end(), fetches.begin(), fetches.end());
  return true;
}

/// Compares and writes what was fetched.
bool ModelRun::giveResults() {
  return meetsExpectations(settings.expect, all, sink) &&
         (settings.output.empty() || writeOutputs(settings.output, all, sink));
}

void ModelRun::printMemory() {
  const weir_program_desc *program = model->program();
  for (int32_t d = 0; d < weir_program_device_count(program); ++d)
    std::printf("memory device=%d peak_bytes=%lld arena_bytes=%lld\n", d,
                static_cast<long long>(session->peakMemory(d)),
                static_cast<long long>(weir_program_arena_bytes(program, d)));
}

/// Ends the process as one that died: a task that leads, and says goodbye, ends those that serve
/// it, with success, where a launcher may begin this one anew.
void ModelRun::vanish() {
  checkpoints.reset(); // waits for what is being written
  printDiagnostics(sink);
  std::fflush(nullptr);
  std::_Exit(1);
}

/// What is printed, compared and written of a run that went well.
bool ModelRun::finish() {
  if (task && settings.steps.steps)
    std::fputs(TaskReport(*task).text().c_str(), stderr);
  if (settings.memory)
    printMemory();
  bool isGood = checkpoints->recovers() || giveResults();
  std::fputs(times.c_str(), stdout);
  if (!isGood)
    return false;
  // The end of its session is this one's goodbye.
  if (checkpoints->recovers() && task && task->leads())
    members->awaitServing(settings.steps.areOwn);
  if (metrics)
    metrics->stopRefreshing();
  if (!settings.tensorBoard.empty() && !tools->writeTensorBoard(settings, recorder, *session, sink))
    return false;
  session.reset();
  if (settings.compareF32 && !compareWithF32(settings, *tools, inputs, all, sink))
    return false;
  return writeTrace(settings, recorder, task.get(), *model, sink) &&
         writeText(settings.profile, settings.profile.empty() ? "" : recorder.profileJson(),
                   sink) &&
         writeDeviceProfiles(settings.deviceProfiles, tools, sink);
}

} // namespace

/// Whether all that is asked for is a shared library's to do.
static bool doesWithoutCompiler(const Settings &settings) {
  return isLibrary(settings.options.input) &&
         std::all_of(settings.deviceProfiles.begin(), settings.deviceProfiles.end(),
                     [](const auto &profile) { return profile.second.empty(); });
}

int weir::tools::runTool(int argc, char **argv, ModelTools *tools) {
  double beforeMain = processMilliseconds();
  Clock::time_point start = Clock::now();
  Settings settings;
  int status = 0;
  if (!parseCommandLine(argc, argv, settings, status))
    return status;
  if (!tools && !doesWithoutCompiler(settings))
    return handOver(argv);
  DiagnosticSink sink;
  settings.numerics.inputs = settings.inputs;
  bool good = false;
  try {
    good = settings.showNumbers ? tools->showNumbers(settings, sink)
                                : ModelRun(settings, tools, sink).run(start, beforeMain);
  } catch (const std::bad_alloc &) {
    std::string why = "RESOURCE_EXHAUSTED: no memory for inputs or results of these sizes";
    sink.report({"W0704", settings.options.input, "", "", why, {}});
  }
  printDiagnostics(sink);
  return good ? 0 : 1;
}

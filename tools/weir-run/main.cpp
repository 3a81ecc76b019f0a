//===- main.cpp - weir-run ------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a model, or a shared library that holds one. docs/tools.md is the
// manual.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Specs.h"
#include "tools/common/ClusterTasks.h"
#include "tools/common/Files.h"
#include "tools/common/Inputs.h"
#include "tools/common/LoadProgram.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"
#include "tools/insight/Numerics.h"
#include "tools/weir-run/Checkpoints.h"
#include "tools/weir-run/Drift.h"
#include "tools/weir-run/Expect.h"
#include "tools/weir-run/FlagRules.h"
#include "tools/weir-run/Measure.h"
#include "tools/weir-run/Steps.h"
#include "tools/weir-run/TaskReport.h"
#include "tools/weir-run/TensorBoard.h"
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
constexpr const char *toolName = "weir-run";

struct Settings {
  driver::Options options;
  std::vector<std::string> inputs, entries;
  std::string output, trace, profile, tensorBoard, cluster, task, secret;
  std::map<std::string, std::string> deviceProfiles; ///< files, by type of device
  CheckpointFlags checkpoints;
  StepFlags steps;
  MeasureFlags measure;
  ExpectFlags expect;
  int64_t metricsPort = 0; ///< 0: none
  int64_t topSeconds = 0;  ///< 0: no table of kernels
  bool memory = false;
  JitListener listener = JitListener::None;
  bool compareF32 = false;
  bool showNumbers = false; ///< values of nodes instead of results
  NumericsOptions numerics;
};

void addNumericsFlags(FlagParser &parser, Settings &settings) {
  parser.optionalValue("--numerics", "stop",
                       "prints range, mean, NaNs, infinities, subnormals and error of every node's "
                       "value; stop: the first node that makes a NaN is an error",
                       [&settings](std::string_view value) -> std::string {
                         if (!value.empty() && value != "stop")
                           return "is unknown; possible: stop, or nothing";
                         settings.showNumbers = true;
                         settings.numerics.stopAtNan |= value == "stop";
                         return "";
                       });
  parser.value("--compare", "f64|O0|ort|tf|x.npz",
               "the same, and the first node that is not as the reference has it is an error: "
               "computed in f64, without optimisations, by ONNX Runtime, by TensorFlow, in a file",
               [&settings](std::string_view value) {
                 settings.showNumbers = settings.numerics.compareOnly = true;
                 return Reference::parse(value, settings.numerics.reference.emplace());
               });
  parser.value("--tolerance", "REL", "of --compare (default 1e-3)",
               [&settings](std::string_view value) -> std::string {
                 std::string text(value);
                 char *end;
                 settings.numerics.tolerance = std::strtod(text.c_str(), &end);
                 return *end || text.empty() ? "is no tolerance; possible: 1e-3" : "";
               });
  parser.text("--numerics-out", "F.json", "writes that, and a histogram of each value",
              settings.numerics.json);
}

/// Where a run goes: a device, a cluster, what others may ask of it.
void addPlaceFlags(FlagParser &parser, Settings &settings) {
  parser.value("--device", "NAME",
               "where to run: of " + driver::firstDevices() +
                   " the one that gets all that may be there (of a .so: where "
                   "it was compiled for)",
               [&settings](std::string_view value) -> std::string {
                 if (value.ends_with("CPU:0")) {
                   for (const driver::DeviceFlag &kind : driver::deviceFlags())
                     setenv(kind.variable.c_str(), "off", /*overwrite=*/1);
                   return "";
                 }
                 auto kind = driver::deviceFlagOf(value);
                 if (!kind)
                   return "is not there; possible: " + driver::firstDevices();
                 setenv(kind->variable.c_str(), "require", /*overwrite=*/1);
                 std::string &targets = settings.options.deviceTargets[kind->type];
                 if (targets.empty())
                   targets = kind->usualTargets;
                 settings.options.placer = "on:/device:" + kind->first();
                 return "";
               });
  parser.text("--cluster", "C.json", "runs over the file's tasks; its devices are --devices, too",
              settings.cluster);
  parser.text("--task", "worker:0",
              "which of them this process is (default: the rank that mpirun or "
              "srun gave it). The file's first leads; others do their parts "
              "until it leaves",
              settings.task);
  parser.text("--secret", "FILE",
              "with --cluster: all tasks prove that they know this file's bytes (16 or more), and "
              "turn away whoever does not",
              settings.secret);
  parser.number("--metrics", "PORT",
                "answers GET /metrics (Prometheus' text: steps, seconds, loss, recoveries, memory) "
                "and GET /healthz while it runs",
                settings.metricsPort, 1, 65535);
}

/// What of the command line does not go together; empty: all does.
std::string whyNotTogether(const Settings &settings, const FlagParser &parser) {
  bool isCompiled = isLibrary(settings.options.input);
  if (!settings.tensorBoard.empty() && isCompiled)
    return "found --tensorboard with a .so, which has no nodes left; possible: the model";
  if (settings.listener != JitListener::None && isCompiled)
    return "found --jit-events with a .so, whose symbols tell as much; possible: the model";
  if (settings.showNumbers && isCompiled)
    return "found --numerics or --compare with a .so, which has no nodes left; possible: the model";
  if (std::string why = whyIgnored(parser, isCompiled, settings.showNumbers); !why.empty())
    return why;
  if (settings.cluster.empty() && !(settings.task.empty() && settings.secret.empty()))
    return std::string("found --") + (settings.task.empty() ? "secret" : "task") +
           " without --cluster";
  if (settings.checkpoints.every > 0 && settings.checkpoints.save.empty())
    return "found --save-every without --save";
  const StepFlags &steps = settings.steps;
  if (settings.checkpoints.recover > 0 &&
      (!settings.checkpoints.every || !steps.steps || settings.checkpoints.keep == 0))
    return "found --recover without --steps and --save-every, or with --keep=0";
  if (settings.checkpoints.elastic && (!settings.checkpoints.recover || settings.cluster.empty()))
    return "found --elastic without --recover and --cluster";
  if (settings.checkpoints.byTask && settings.cluster.empty())
    return "found --save-by-task without --cluster";
  if (steps.areOwn && (!steps.steps || settings.cluster.empty()))
    return "found --own-steps without --steps and --cluster";
  if (steps.areOwn && settings.checkpoints.recover)
    return "found --own-steps beside --recover: one task alone can go back to a checkpoint; "
           "possible: without, the command again";
  if (steps.staleness >= 0 && !steps.areOwn)
    return "found --staleness without --own-steps";
  const char *alone =
      !steps.steps && steps.batch              ? "--batch without --steps"
      : !steps.steps && !steps.summary.empty() ? "--summary without --steps"
      : !steps.batch && steps.shuffle          ? "--shuffle without --batch"
      : steps.steps && settings.measure.repeat ? "--steps beside --repeat"
      : settings.topSeconds && (steps.steps || settings.measure.repeat || !settings.trace.empty() ||
                                !settings.profile.empty())
          ? "--top beside --steps, --repeat, --trace or --profile-out"
          : nullptr;
  if (alone)
    return std::string("found ") + alone;
  bool isTimed = settings.measure.repeat > 0;
  const char *lonely = isTimed                        ? nullptr
                       : settings.measure.warmUp > 0  ? "--warm-up"
                       : settings.measure.streams > 1 ? "--streams"
                       : settings.measure.latencies   ? "--latencies"
                                                      : nullptr;
  if (lonely)
    return std::string("found ") + lonely + " without --repeat";
  if (settings.options.sanitizeAddress)
    return "found --sanitize=address, which is for programs that are linked with it; expected "
           "weirc --sanitize=address, and -fsanitize=address for the program";
  return "";
}

bool parseCommandLine(int argc, char **argv, Settings &settings, int &status) {
  FlagParser parser(toolName, "MODEL|FILE.so [flags]",
                    "Runs a model (compiled and linked in memory), or a shared "
                    "library that weirc made.");
  std::vector<std::string> models;
  parser.positionals("MODEL|FILE.so", "a model as weirc takes it, or a .so", 1, 1, models);
  parser.group("Run");
  parser.value("--input", "name=x.npy|name=x.raw|all.npz|random:SEED",
               "values of feeds; random: of all feeds that no other names. "
               "ENTRY/name is one entry's. Repeatable",
               [&settings](std::string_view value) {
                 settings.inputs.emplace_back(value);
                 return std::string();
               });
  parser.text("--output", "DIR|out.npz", "where results go (default: a line each on the terminal)",
              settings.output);
  parser.value("--run", "ENTRY",
               "which entry (default: the first). Repeatable: run one after "
               "the other in one session",
               [&settings](std::string_view value) {
                 settings.entries.emplace_back(value);
                 return std::string();
               });
  parser.flag("--memory", "prints the most bytes that each device's allocator handed out",
              settings.memory);
  parser.text("--trace", "t.json", "writes what ran when, for ui.perfetto.dev or chrome://tracing",
              settings.trace);
  parser.text("--profile-out", "F", "writes the time of every kernel, for weirc --profile",
              settings.profile);
  parser.text("--tensorboard", "DIR",
              "writes an event file with the model's graph, and the last run's times and memory by "
              "node",
              settings.tensorBoard);
  parser.value("--jit-events", "perf|gdb",
               "tells perf (by a jitdump), or gdb and lldb, which functions the program in memory "
               "has",
               [&settings](std::string_view value) -> std::string {
                 if (value != "perf" && value != "gdb")
                   return "is unknown; possible: perf, gdb";
                 settings.listener = value == "perf" ? JitListener::Perf : JitListener::Debugger;
                 return "";
               });
  parser.optionalValue("--top", "SECONDS",
                       "runs over and over for SECONDS (default 10), and prints each second which "
                       "kernels take the time, with the processor's counters where there are any",
                       [&settings](std::string_view value) -> std::string {
                         std::string text(value);
                         char *end = text.data();
                         settings.topSeconds =
                             text.empty() ? 10 : std::strtoll(text.c_str(), &end, 10);
                         bool isGood =
                             !*end && settings.topSeconds > 0 && settings.topSeconds <= 86400;
                         return isGood ? "" : "is no time; possible: seconds from 1 to 86400";
                       });
  for (const driver::DeviceFlag &kind : driver::deviceFlags())
    if (!kind.profileFlag.empty())
      parser.text(kind.profileFlag + "-out", "F", kind.profileOutHelp,
                  settings.deviceProfiles[kind.type]);
  parser.flag("--compare-f32",
              "runs the model without --precision, too, and prints how far "
              "results are apart",
              settings.compareF32);
  addNumericsFlags(parser, settings);
  parser.text("--name", "IDENT", "the name that the program in a .so must have",
              settings.options.name);
  addPlaceFlags(parser, settings);
  addStepFlags(parser, settings.steps);
  addMeasureFlags(parser, settings.measure);
  addExpectFlags(parser, settings.expect);
  addCheckpointFlags(parser, settings.checkpoints);
  addEntryFlags(parser, settings.options, driver::frontendFlags());
  addTrainingFlags(parser, settings.options);
  addCodeFlags(parser, settings.options, driver::deviceFlags());
  addWarningFlags(parser, settings.options);
  addTestFlags(parser, settings.options);
  parser.exitCode(0, "all runs succeeded");
  parser.exitCode(1, "an error was printed");
  if (!parser.parse(argc, argv, status))
    return false;
  settings.options.input = models[0];
  if (std::string why = whyNotTogether(settings, parser); !why.empty()) {
    printError(toolName, why);
    status = 1;
    return false;
  }
  if (settings.options.devicesFile.empty())
    settings.options.devicesFile = settings.cluster;
  return true;
}

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

bool writeDeviceProfiles(const std::map<std::string, std::string> &files, DiagnosticSink &sink) {
  for (const auto &[type, path] : files) {
    if (path.empty())
      continue;
    std::string why;
    std::optional<std::string> text = driver::deviceProfile(type, why);
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
bool compareWithF32(const Settings &settings, InputSet &inputs, const NamedTensors &results,
                    DiagnosticSink &sink) {
  driver::Options options = settings.options;
  options.precision = "f32";
  std::unique_ptr<LoadedModel> model = loadProgram(options, sink);
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

/// Runs an entry as often as is asked for, and adds its results to `all`; what a
/// measurement prints becomes `times`. False with errors in `sink`.
bool runEntry(const Settings &settings, const std::string &name, Session &session, InputSet &inputs,
              Checkpoints &checkpoints, ClusterTask *task, Metrics *metrics, TopTable &top,
              double loadMs, NamedTensors &all, std::string &times, DiagnosticSink &sink) {
  const std::string &input = settings.options.input;
  RunStatus status;
  int entry = session.findEntry(name);
  if (entry < 0) {
    std::string names;
    for (const LoadedEntry &candidate : session.entries())
      names += (names.empty() ? "" : ", ") + candidate.name;
    sink.report(
        {"W0708", input, "", "", "found no entry \"" + name + "\"; possible: " + names, {}});
    return false;
  }
  std::vector<HostTensor> feeds;
  if (!inputs.collect(input, session.entries()[entry], feeds, sink))
    return false;
  NamedTensors fetches;
  bool timed = settings.measure.repeat > 0 && &name == &settings.entries.back();
  bool steps = settings.steps.steps > 0 && &name == &settings.entries.back();
  Pace pace(settings.steps.areOwn ? task : nullptr, settings.steps.staleness);
  if (steps && !runSteps(settings.steps, input, session, entry, feeds, checkpoints, pace, fetches,
                         metrics, sink))
    return false;
  if (timed) {
    Times measured;
    status = measure(session, entry, feeds, settings.measure, checkpoints, fetches, measured);
    if (status.ok() && (settings.measure.latencies || settings.measure.streams > 1))
      times = measured.latencyLine(settings.measure.streams);
    if (status.ok())
      times += measured.line(loadMs);
  } else if (settings.topSeconds && &name == &settings.entries.back()) {
    status = top.watch(session, entry, feeds, double(settings.topSeconds), fetches);
  } else if (!steps) {
    status = session.run(entry, feeds, fetches);
  }
  if (status.ok() && !timed && !steps)
    checkpoints.afterRun(session);
  if (!status.ok()) {
    sink.report({"W0704", input, "", "", "entry \"" + name + "\" failed: " + status.text(), {}});
    return false;
  }
  if (settings.output.empty() && !timed && !settings.topSeconds)
    for (const auto &[fetch, tensor] : fetches)
      std::printf("%s\n", summaryOf(fetch, tensor).c_str());
  all.insert(all.end(), fetches.begin(), fetches.end());
  return true;
}

/// Without --entry: a training's step where steps are asked for, else the first.
void chooseEntry(Settings &settings, const Session &session) {
  if (!settings.entries.empty())
    return;
  if (settings.steps.steps && session.findEntry("train_step") >= 0)
    settings.entries.push_back("train_step");
  else
    settings.entries.push_back(session.entries().empty() ? std::string()
                                                         : session.entries()[0].name);
}

void printMemory(Session &session, const weir_program_desc *program) {
  for (int32_t d = 0; d < weir_program_device_count(program); ++d)
    std::printf("memory device=%d peak_bytes=%lld arena_bytes=%lld\n", d,
                static_cast<long long>(session.peakMemory(d)),
                static_cast<long long>(weir_program_arena_bytes(program, d)));
}

/// Everything after the command line. False with errors in `sink`.
bool run(Settings &settings, Clock::time_point start, double beforeMain, DiagnosticSink &sink) {
  const std::string &input = settings.options.input;
  InputSet inputs;
  for (const std::string &flag : settings.inputs)
    if (!inputs.add(flag, sink))
      return false;
  Report report;
  std::unique_ptr<LoadedModel> model =
      loadProgram(settings.options, sink, &report, settings.listener);
  if (!model)
    return false;
  std::unique_ptr<ClusterTask> task;
  if (!settings.cluster.empty()) {
    task = ClusterTask::join(settings.cluster, settings.task, sink, settings.secret,
                             /*timesSteps=*/settings.steps.steps > 0);
    if (!task)
      return false;
  }

  TraceRecorder recorder;
  weir_session_options sessionOptions = WEIR_SESSION_OPTIONS_INIT;
  sessionOptions.transport = task ? task->transport() : nullptr;
  sessionOptions.threads = settings.options.threads;
  if (!settings.trace.empty() || !settings.profile.empty() || !settings.tensorBoard.empty())
    sessionOptions.trace = recorder.hooks();
  TopTable top;
  if (settings.topSeconds)
    sessionOptions.trace = top.hooks();
  RunStatus status;
  std::unique_ptr<Session> session = Session::create(*model, sessionOptions, status);
  if (!session) {
    sink.report({"W0706", input, "", "", "no session can be made: " + status.text(), {}});
    return false;
  }
  if (!settings.trace.empty())
    recorder.watchMemory(deviceNames(*model), [&session](int32_t device) {
      return session ? session->memoryInUse(device) : 0;
    });
  std::unique_ptr<Metrics> metrics;
  if (settings.metricsPort > 0 &&
      !(metrics = serveMetrics(settings, *session, task.get(),
                               weir_program_device_count(model->program()), sink)))
    return false;
  // What importers fix in a model, a library may leave open.
  ImportOptions given;
  if (isLibrary(input) && (!driver::importOptions(settings.options, sink, given) ||
                           !inputs.setShapes(input, session->entries(), given.shapes, sink)))
    return false;
  std::optional<Members> members;
  if (task)
    members.emplace(*task, *session, settings.checkpoints.elastic, settings.checkpoints.recover,
                    settings.checkpoints.folder() + "/leader");
  Checkpoints checkpoints(settings.checkpoints, *model, input, members ? &*members : nullptr);
  bool leads = !task || task->leads() || settings.steps.areOwn || members->serve(status);
  if (leads && members)
    if (RunStatus failed = members->beginToLead(); !failed.ok()) {
      sink.report({"W0709", input, "", "", "this task cannot lead: " + failed.text(), {}});
      return false;
    }
  if (leads && !checkpoints.restore(*session, sink))
    return false;
  double loadMs = beforeMain + milliseconds(Clock::now() - start);
  if (!leads) {
    if (metrics)
      metrics->stopRefreshing();
    session.reset();
    if (!status.ok())
      sink.report({"W0709", input, "", "", "serving ended: " + status.text(), {}});
    return status.ok() && writeTrace(settings, recorder, task.get(), *model, sink);
  }

  chooseEntry(settings, *session);
  if (task)
    if (RunStatus failed = synchronizeReplicas(*session);
        !failed.ok() && !checkpoints.recover(*session, failed, sink)) {
      sink.report({"W0704", input, "", "", "replicas cannot be made alike: " + failed.text(), {}});
      return false;
    }
  NamedTensors all;
  std::string times;
  if (!inputs.checkNames(input, session->entries(), settings.entries, sink))
    return false;
  for (const std::string &name : settings.entries)
    if (!runEntry(settings, name, *session, inputs, checkpoints, task.get(), metrics.get(), top,
                  loadMs, all, times, sink))
      return false;
  if (!checkpoints.finish(*session, sink))
    return false;
  if (task && settings.steps.steps)
    std::fputs(TaskReport(*task).text().c_str(), stderr);
  if (settings.memory)
    printMemory(*session, model->program());
  bool asExpected = meetsExpectations(settings.expect, all, sink);
  std::fputs(times.c_str(), stdout);
  if (!asExpected)
    return false;
  if (!settings.output.empty() && !writeOutputs(settings.output, all, sink))
    return false;
  if (metrics)
    metrics->stopRefreshing();
  if (!settings.tensorBoard.empty() &&
      !writeTensorBoard(settings.tensorBoard, settings.options, report, recorder, *session, sink))
    return false;
  session.reset();
  if (settings.compareF32 && !compareWithF32(settings, inputs, all, sink))
    return false;
  return writeTrace(settings, recorder, task.get(), *model, sink) &&
         writeText(settings.profile, settings.profile.empty() ? "" : recorder.profileJson(),
                   sink) &&
         writeDeviceProfiles(settings.deviceProfiles, sink);
}

} // namespace

static int runTool(int argc, char **argv) {
  double beforeMain = processMilliseconds();
  Clock::time_point start = Clock::now();
  Settings settings;
  int status = 0;
  if (!parseCommandLine(argc, argv, settings, status))
    return status;
  DiagnosticSink sink;
  settings.numerics.inputs = settings.inputs;
  bool good = false;
  try {
    if (!settings.showNumbers)
      good = run(settings, start, beforeMain, sink);
    else if (settings.steps.steps)
      good = printDrift(settings.options, settings.numerics, settings.steps,
                        settings.entries.empty() ? "" : settings.entries.back(), sink);
    else
      good = printNumerics(settings.options, settings.numerics, sink);
  } catch (const std::bad_alloc &) {
    std::string why = "RESOURCE_EXHAUSTED: no memory for inputs or results of these sizes";
    sink.report({"W0704", settings.options.input, "", "", why, {}});
  }
  printDiagnostics(sink);
  return good ? 0 : 1;
}

int main(int argc, char **argv) { return finishOutput(toolName, runTool(argc, argv)); }

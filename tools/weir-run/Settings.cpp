//===- Settings.cpp - the command line of weir-run ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Settings.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"
#include "tools/weir-run/FlagRules.h"

using namespace weir;
using namespace weir::tools;

namespace {

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
  if (steps.areOwn && settings.checkpoints.elastic)
    return "found --own-steps beside --elastic: others cannot lead a task's own steps; possible: "
           "--recover alone, and a launcher that begins it anew";
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

} // namespace

bool tools::parseCommandLine(int argc, char **argv, Settings &settings, int &status) {
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
  // What is saved, restored or drawn is a variable.
  bool asksForVariables = !settings.checkpoints.restore.empty() ||
                          !settings.checkpoints.save.empty() || !settings.steps.summary.empty();
  if (asksForVariables && settings.options.freeze.empty())
    settings.options.freeze = "none";
  return true;
}

//===- Steps.cpp - many runs of one entry on batches ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Steps.h"
#include "tools/common/EventFile.h"
#include "tools/common/Files.h"
#include "tools/common/Terminal.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>

using namespace weir;
using namespace weir::tools;

using Clock = std::chrono::steady_clock;

void weir::tools::addStepFlags(FlagParser &parser, StepFlags &flags) {
  parser.group("Steps");
  parser.number("--steps", "N",
                "runs the last --run (default: train_step) N times, and shows steps a second, its "
                "loss and the time left",
                flags.steps, 1, int64_t(1) << 40);
  parser.number("--batch", "N",
                "with --steps: each takes the next N rows of inputs that have more (default: "
                "inputs as they are)",
                flags.batch, 1, int64_t(1) << 40);
  parser.number("--shuffle", "SEED", "with --batch: in another order each time around",
                flags.shuffle, 1, int64_t(1) << 62);
  parser.text("--summary", "DIR",
              "with --steps: writes scalars that are fetched, and histograms of variables, for "
              "TensorBoard",
              flags.summary);
  parser.flag("--own-steps",
              "with --steps and --cluster: this task leads steps of its own, beside those of other "
              "tasks of its job, and does not serve (asynchronous workers)",
              flags.areOwn);
  parser.number("--staleness", "K",
                "with --own-steps: waits while another task of the job is more than K steps behind",
                flags.staleness, 0, int64_t(1) << 40);
}

int64_t Pace::earlier() const {
  return task && recovers ? task->figures(task->rank()).own_steps : -1;
}

/// Whether one that has not done so many is away.
bool Pace::isLost(int64_t steps) const {
  std::vector<int32_t> presence = task->presence();
  for (int32_t other : task->ownJob())
    if (presence[size_t(other)] < 0 && task->figures(other).own_steps < steps)
      return true;
  return false;
}

RunStatus Pace::awaitOthers() {
  using Seconds = std::chrono::duration<double>;
  auto give = Clock::now() + Seconds(task ? task->connect() : 0);
  for (;;) {
    int32_t away = -1;
    bool waits = false;
    for (int32_t other : task ? task->ownJob() : std::vector<int32_t>()) {
      weir_task_figures figures = task->figures(other);
      if (other == task->rank() || figures.own_steps >= 0)
        continue;
      waits = true;
      away = figures.is_here ? away : other;
    }
    if (!waits)
      return {};
    if (away >= 0 && Clock::now() >= give)
      return {WEIR_UNAVAILABLE, "task " + task->allNames()[size_t(away)] + " does not come"};
    if (away < 0)
      give = Clock::now() + Seconds(task->connect());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Waits until all others have done `steps`. Tasks that come again are waited for as long as a
/// connection may take, and then gone without.
RunStatus Pace::meet(int64_t steps) {
  if (!task)
    return {};
  RunStatus status = task->keepPace(steps, 0);
  while (recovers && status.ok() && isLost(steps)) {
    if (!task->await([&] { return !isLost(steps); }))
      break;
    status = task->keepPace(steps, 0);
  }
  if (!recovers || status.code != WEIR_UNAVAILABLE)
    return status;
  std::fprintf(stderr, "goes on without a task: %s\n", status.text().c_str());
  return {};
}

const std::vector<int64_t> &Batches::of(int64_t step) {
  int64_t each = std::max<int64_t>(rows / batch, 1), around = step / each;
  if (order.empty()) {
    order.resize(size_t(rows));
    std::iota(order.begin(), order.end(), 0);
  }
  if (seed && shuffled != around) {
    std::iota(order.begin(), order.end(), 0);
    // SplitMix64 (Steele, Lea and Flood, 2014), begun anew for each time around.
    uint64_t state = uint64_t(seed) * 0xd1342543de82ef95u + uint64_t(around);
    auto draw = [&] {
      uint64_t z = state += 0x9e3779b97f4a7c15u;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      return z ^ (z >> 31);
    };
    for (int64_t i = rows - 1; i > 0; --i)
      std::swap(order[size_t(i)], order[draw() % uint64_t(i + 1)]);
    shuffled = around;
  }
  auto first = order.begin() + (step % each) * batch;
  taken.assign(first, first + std::min(batch, rows));
  return taken;
}

bool Feeder::prepare(const StepFlags &flags, const std::string &model, const LoadedEntry &entry,
                     const std::vector<HostTensor> &all, DiagnosticSink &sink) {
  feeds = all;
  sources.assign(all.size(), nullptr);
  int64_t rows = -1;
  for (size_t i = 0; i < all.size(); ++i) {
    const HostTensor &tensor = all[i];
    if (!flags.batch || tensor.dims.empty() || tensor.dims[0] == flags.batch ||
        !elementSize(tensor.dtype))
      continue;
    if (tensor.dims[0] < flags.batch || (rows >= 0 && tensor.dims[0] != rows)) {
      sink.report({"W0701",
                   model,
                   "",
                   "",
                   "input \"" + entry.feeds[i].name + "\" has " + std::to_string(tensor.dims[0]) +
                       " rows, for --batch=" + std::to_string(flags.batch) +
                       "; possible: as many as a batch has, or more and as many as others",
                   {}});
      return false;
    }
    rows = tensor.dims[0];
    sources[i] = &tensor;
    feeds[i].dims[0] = flags.batch;
    feeds[i].bytes.resize(tensor.bytes.size() / size_t(rows) * size_t(flags.batch));
  }
  if (rows >= 0)
    batches.emplace(rows, flags.batch, flags.shuffle);
  return true;
}

std::vector<HostTensor> &Feeder::of(int64_t step) {
  if (!batches)
    return feeds;
  const std::vector<int64_t> &rows = batches->of(step);
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (!sources[i])
      continue;
    size_t bytes = sources[i]->bytes.size() / size_t(sources[i]->dims[0]);
    for (size_t r = 0; r < rows.size(); ++r)
      std::memcpy(feeds[i].bytes.data() + r * bytes,
                  sources[i]->bytes.data() + size_t(rows[r]) * bytes, bytes);
  }
  return feeds;
}

static bool isScalar(const HostTensor &tensor) {
  return tensor.count() == 1 && isFloat(tensor.dtype);
}

/// The fetch called `loss`, else the first number.
static const std::pair<std::string, HostTensor> *lossOf(const NamedTensors &fetches) {
  const std::pair<std::string, HostTensor> *found = nullptr;
  for (const auto &fetch : fetches)
    if (isScalar(fetch.second) && (!found || fetch.first == "loss"))
      found = &fetch;
  return found;
}

static std::string duration(double seconds) {
  char text[32];
  auto whole = static_cast<long long>(seconds + 0.5);
  if (whole >= 3600)
    std::snprintf(text, sizeof(text), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  else
    std::snprintf(text, sizeof(text), "%lld:%02lld", whole / 60, whole % 60);
  return text;
}

/// `own`: steps of this process, which took `seconds`.
static std::string progressText(int64_t done, int64_t own, const StepFlags &flags, double seconds,
                                const NamedTensors &fetches) {
  char text[256];
  double rate = seconds > 0 && own > 0 ? double(own) / seconds : 0;
  int used = std::snprintf(text, sizeof(text), "step %lld of %lld: %.4g steps/s",
                           static_cast<long long>(done), static_cast<long long>(flags.steps), rate);
  if (const auto *loss = lossOf(fetches))
    std::snprintf(text + used, sizeof(text) - size_t(used), ", %.80s %.6g", loss->first.c_str(),
                  elementAsDouble(loss->second, 0));
  std::string line = text;
  if (done < flags.steps && rate > 0)
    line += ", " + duration(double(flags.steps - done) / rate) + " left";
  return line;
}

/// What a step's fetches and, where `withVariables`, the session's variables are.
static bool writeSummaries(EventFile &events, int64_t step, const NamedTensors &fetches,
                           Session &session, bool withVariables, std::string &error) {
  for (const auto &[name, tensor] : fetches)
    if (isScalar(tensor) && !events.scalar(step, name, elementAsDouble(tensor, 0), error))
      return false;
  if (!withVariables)
    return true;
  for (const std::string &name : session.variables()) {
    HostTensor value;
    if (session.getVariable(name, value).ok() && isFloat(value.dtype) && value.count() > 1 &&
        !events.histogram(step, name, value, error))
      return false;
  }
  return true;
}

static void noteStep(Metrics &metrics, int64_t step, double seconds, const NamedTensors &fetches) {
  metrics.count("weir_steps_total", "Steps of this process.");
  metrics.count("weir_step_seconds_total", "Seconds in these steps.", seconds);
  metrics.set("weir_step", "Number of the last step, with those before a checkpoint.",
              static_cast<double>(step));
  metrics.set("weir_last_step_seconds", "Seconds of the last step.", seconds);
  if (const auto *loss = lossOf(fetches))
    metrics.set("weir_loss", "The last step's loss.", elementAsDouble(loss->second, 0));
}

bool weir::tools::runSteps(const StepFlags &flags, const std::string &model, Session &session,
                           int entry, const std::vector<HostTensor> &feeds,
                           Checkpoints &checkpoints, Pace &pace,
                           const std::function<bool(NamedTensors &)> &whenDone, Metrics *metrics,
                           DiagnosticSink &sink) {
  const LoadedEntry &loaded = session.entries()[size_t(entry)];
  Feeder feeder;
  if (!feeder.prepare(flags, model, loaded, feeds, sink))
    return false;
  std::string error;
  std::unique_ptr<EventFile> events;
  auto cannotWrite = [&] {
    sink.report({"W0707", flags.summary, "", "", "cannot be written: " + error, {}});
    return false;
  };
  if (!flags.summary.empty()) {
    events = EventFile::create(flags.summary, error);
    std::string graph;
    // A GraphDef is what TensorBoard draws.
    if (events && model.ends_with(".pb") && readFile(model, graph, error))
      events->graph(graph, error);
    if (!events)
      return cannotWrite();
  }
  int64_t tenth = std::max<int64_t>(flags.steps / 10, 1);
  ProgressLine line;
  Clock::time_point start = Clock::now(), shown = start;
  // One that may begin anew counts from the first step of all.
  const int64_t first = checkpoints.recovers() ? 0 : checkpoints.count();
  auto keepsPace = [&](const RunStatus &status) {
    if (!status.ok())
      sink.report({"W0709", model, "", "", "other tasks' steps: " + status.text(), {}});
    return status.ok();
  };
  // What others have run before their steps is in the first checkpoint, and none is without one.
  if (checkpoints.needsFirst() &&
      (!keepsPace(pace.awaitOthers()) || !checkpoints.saveFirst(session, sink)))
    return false;
  if (!keepsPace(pace.begin()) || !checkpoints.begin(sink))
    return false;
  if (int64_t earlier = pace.earlier(); earlier >= 0)
    checkpoints.goOnBehind(first + std::min(earlier, flags.steps));
  const int64_t begun = checkpoints.count();
  if (begun > first && !keepsPace(pace.done(begun - first)))
    return false;
  NamedTensors fetches;
  bool hasRun = false;
  for (;;) {
    int64_t step = checkpoints.count();
    if (step - first >= flags.steps) {
      if (!keepsPace(pace.end()) || (hasRun && !whenDone(fetches)))
        return false;
      RunStatus unsaved = checkpoints.saveLast(session);
      if (unsaved.ok() && !keepsPace(pace.leave()))
        return false;
      if (unsaved.ok())
        break;
      if (!checkpoints.recover(session, unsaved, sink)) {
        sink.report({"W0710", model, "", "", "the last checkpoint: " + unsaved.text(), {}});
        return false;
      }
      continue;
    }
    fetches.clear();
    Clock::time_point stepStart = Clock::now();
    RunStatus status = session.run(entry, feeder.of(step), fetches);
    if (!status.ok()) {
      line.clear();
      if (checkpoints.recover(session, status, sink)) {
        if (metrics)
          metrics->count("weir_recoveries_total", "Times that the job went back to a checkpoint.");
        continue;
      }
      sink.report({"W0704",
                   model,
                   "",
                   "",
                   "entry \"" + loaded.name + "\" failed in step " + std::to_string(step + 1) +
                       ": " + status.text(),
                   {}});
      return false;
    }
    hasRun = true;
    int64_t done = step + 1 - first;
    if (!keepsPace(pace.done(done)))
      return false;
    bool isTenth = done % tenth == 0 || done == flags.steps;
    if (events && !writeSummaries(*events, step + 1, fetches, session, isTenth, error))
      return cannotWrite();
    Clock::time_point now = Clock::now();
    double seconds = std::chrono::duration<double>(now - start).count();
    if (metrics)
      noteStep(*metrics, step + 1, std::chrono::duration<double>(now - stepStart).count(), fetches);
    if (stderrHasColours() && now - shown > std::chrono::milliseconds(100)) {
      line.update(progressText(done, step + 1 - begun, flags, seconds, fetches));
      shown = now;
    } else if (isTenth && (!stderrHasColours() || done == flags.steps)) {
      line.clear();
      std::fprintf(stderr, "%s\n",
                   progressText(done, step + 1 - begun, flags, seconds, fetches).c_str());
    }
    if (!checkpoints.afterRun(session, done == flags.steps))
      break; // finish() says why
  }
  return true;
}

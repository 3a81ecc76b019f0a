//===- Checkpoints.cpp - what weir-run saves and restores -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Checkpoints.h"

#include <chrono>
#include <filesystem>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::tools;

void weir::tools::addCheckpointFlags(FlagParser &parser, CheckpointFlags &flags) {
  parser.group("Checkpoints");
  parser.text("--restore", "P",
              "begins with the variables of checkpoint P (a prefix), or of the latest one of "
              "folder P",
              flags.restore);
  parser.text("--save", "P", "saves the variables as checkpoint P after the last run", flags.save);
  parser.number(
      "--save-every", "N",
      "with --repeat or --steps: saves them after every N runs, as P-RUN, while runs go on",
      flags.every, 1, 1000000000);
  parser.number("--keep", "K",
                "how many checkpoints stay in the folder; its file `checkpoint` names them "
                "(default: 5; 0: all, and no such file)",
                flags.keep, 0, 1000000);
  parser.number(
      "--recover", "N",
      "with --steps, --save-every and --cluster: after a task was lost waits for its "
      "replacement and goes on at the latest checkpoint of the folder of --save, which a "
      "new process begins at, too; N times at most. --steps then counts all steps. A task "
      "that does not lead waits for the next leader as often. With --own-steps nobody goes back: a "
      "task that begins anew has its variables from the latest checkpoint",
      flags.recover, 0, 1000000000);
  parser.flag("--elastic",
              "with --recover: goes on with fewer processes where a task does not come back in the "
              "time that the cluster file says; others get its devices, and lead in its place",
              flags.elastic);
  parser.flag(
      "--save-by-task",
      "with --cluster: each task writes its part of a checkpoint, and reads what it needs of "
      "one, in a folder that all share (default: the one that leads does, where it can)",
      flags.byTask);
}

RunStatus weir::tools::synchronizeReplicas(Session &session) {
  int entry = session.findEntry("synchronize");
  if (entry < 0)
    return {};
  NamedTensors none;
  std::vector<HostTensor> feeds;
  return session.run(entry, feeds, none);
}

bool Checkpoints::report(const std::string &what, const RunStatus &failed,
                         DiagnosticSink &sink) const {
  if (failed.ok())
    return true;
  sink.report({"W0710", input, "", "", "checkpoint \"" + what + "\": " + failed.text(), {}});
  return false;
}

static bool hasLatest(const CheckpointFlags &flags) {
  std::error_code ignored;
  // What cannot be looked for is there as far as one knows: to begin anew would write over it.
  bool exists = fs::exists(fs::path(flags.folder()) / "checkpoint", ignored);
  return flags.recover > 0 && (exists || ignored);
}

static RunStatus findLatest(const LoadedModel &model, const std::string &folder,
                            std::string &prefix) {
  weir_status result = WEIR_STATUS_INIT;
  std::string latest(4096, '\0');
  if (model.runtime().latestCheckpoint(folder.c_str(), latest.data(), int64_t(latest.size()),
                                       &result) == WEIR_OK)
    prefix = latest.c_str();
  return {result.code, result.message};
}

RunStatus weir::tools::checkpointToGoOnFrom(const CheckpointFlags &flags, const LoadedModel &model,
                                            std::string &prefix) {
  prefix.clear();
  if (!hasLatest(flags) || !model.runtime().latestCheckpoint)
    return {};
  return findLatest(model, flags.folder(), prefix);
}

bool Checkpoints::restore(Session &session, DiagnosticSink &sink) {
  const RuntimeFunctions &runtime = model.runtime();
  if ((!flags.restore.empty() || !flags.save.empty()) && !runtime.restore)
    return report(flags.restore + flags.save,
                  {WEIR_UNIMPLEMENTED, "the library is of a release without checkpoints"}, sink);
  hasGoneOn = mayHaveLeft = hasLatest(flags);
  if (hasGoneOn && areOwn) {
    std::string latest;
    RunStatus found = checkpointToGoOnFrom(flags, model, latest);
    if (found.ok())
      countFrom(latest);
    return report(flags.folder(), found, sink);
  }
  if (!hasGoneOn && flags.restore.empty())
    return true;
  std::string from = hasGoneOn ? flags.folder() : flags.restore;
  RunStatus failed = restoreFrom(session, from);
  // A task that was waited for in vain may still come.
  if (mayGoOn(failed) && hasGoneOn)
    return recover(session, failed, sink) || report(from, failed, sink);
  return report(from, failed, sink);
}

bool Checkpoints::saveFirst(Session &session, DiagnosticSink &sink) {
  if (!needsFirst())
    return true;
  save(session, flags.save + "-" + std::to_string(step));
  wait();
  return report(prefix, status, sink);
}

std::string CheckpointFlags::folder() const {
  std::string parent = fs::path(save).parent_path().string();
  return parent.empty() ? "." : parent;
}

weir_checkpoint_options Checkpoints::options() const {
  weir_checkpoint_options options = WEIR_CHECKPOINT_OPTIONS_INIT;
  options.keep = static_cast<int32_t>(flags.keep);
  options.by_task = flags.byTask || areOwn;
  options.while_running = areOwn;
  return options;
}

bool Checkpoints::mayGoOn(const RunStatus &why) const {
  return why.code == WEIR_UNAVAILABLE ||
         (why.code == WEIR_ABORTED && members && members->isOutdated());
}

/// Where tasks lead their own steps none restores another's variables.
RunStatus Checkpoints::refuseForgetful() const {
  std::string name = areOwn && members && hasLatest(flags) ? members->whoForgot() : "";
  if (name.empty())
    return {};
  return {WEIR_FAILED_PRECONDITION, "task " + name +
                                        " has begun anew without it, with initial values; "
                                        "possible: --save, --save-every and --recover for that "
                                        "task, too"};
}

bool Checkpoints::begin(DiagnosticSink &sink) {
  if (!areOwn || !members)
    return true;
  if (!hasGoneOn) {
    members->noteBegin();
    return true;
  }
  members->awaitOtherJobs();
  return report(flags.folder(), refuseForgetful(), sink);
}

bool Checkpoints::recover(Session &session, const RunStatus &failed, DiagnosticSink &sink) {
  RunStatus why = failed;
  if (areOwn) {
    if (!mayGoOn(why) || recovered >= flags.recover)
      return false;
    ++recovered;
    std::fprintf(stderr, "step %lld: %s; runs it again\n", static_cast<long long>(step + 1),
                 why.text().c_str());
    members->awaitOtherJobs();
    return report(flags.folder(), refuseForgetful(), sink);
  }
  auto begin = std::chrono::steady_clock::now();
  for (bool waited = false; mayGoOn(why) && recovered < flags.recover; waited = true) {
    ++recovered;
    std::fprintf(stderr, "step %lld: %s\n", static_cast<long long>(step + 1), why.text().c_str());
    wait();
    int64_t before = step;
    RunStatus changed;
    if (members && members->isOutdated())
      changed = members->renew();
    else if (members && waited)
      changed = members->goOnWithout();
    if (!changed.ok())
      return report(flags.folder(), changed, sink);
    std::string from = flags.folder();
    // Both wait for tasks that are not there, as long as the cluster file says.
    why = restoreFrom(session, from);
    if (!why.ok() && !mayGoOn(why))
      return report(from, why, sink);
    if (why.ok())
      why = synchronizeReplicas(session);
    if (!why.ok())
      continue;
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::fprintf(stderr, "goes on behind step %lld, of %lld, after %.1f s\n",
                 static_cast<long long>(step), static_cast<long long>(before), seconds);
    return true;
  }
  return false;
}

/// `from` becomes the checkpoint's prefix.
RunStatus Checkpoints::restoreFrom(Session &session, std::string &from) {
  std::error_code ignored;
  if (fs::is_directory(from, ignored))
    if (RunStatus failed = findLatest(model, from, from); !failed.ok())
      return failed;
  weir_checkpoint_options given = options();
  RunStatus restored = session.restore(from, &given);
  if (restored.ok())
    countFrom(from);
  return restored;
}

/// Numbers go on.
void Checkpoints::countFrom(const std::string &from) {
  size_t dash = from.rfind('-');
  int64_t number = 0;
  if (dash != std::string::npos &&
      parseInteger(std::string_view(from).substr(dash + 1), 0, int64_t(1) << 60, number))
    step = number;
}

void Checkpoints::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return !isSaving; });
}

/// What tasks had begun to write of earlier checkpoints when they, or this one, were lost: files
/// SAVE-NUMBER.task-… and those under a name for the meantime. No other checkpoint is being
/// written.
void Checkpoints::removeLeftovers() {
  std::string stem = fs::path(flags.save).filename().string() + "-";
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(flags.folder(), ignored)) {
    std::string name = entry.path().filename().string();
    size_t digits = name.find_first_not_of("0123456789", stem.size());
    int64_t number;
    if (!name.starts_with(stem) || digits == std::string::npos || name[digits] != '.' ||
        !parseInteger(std::string_view(name).substr(stem.size(), digits - stem.size()), 0, step,
                      number))
      continue;
    if (name.compare(digits, 6, ".task-") == 0 || name.find(".tempstate", digits) != name.npos)
      fs::remove(entry.path(), ignored);
  }
  mayHaveLeft = false;
}

void Checkpoints::save(Session &session, const std::string &to) {
  wait(); // one at a time: no more of the past is kept than one checkpoint
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (status.ok() && members)
      status = members->whyDeposed();
    prefix = to;
    if (!status.ok())
      return;
    isSaving = true;
  }
  if (mayHaveLeft)
    removeLeftovers();
  std::error_code ignored; // the runtime says what is wrong
  if (fs::path folder = fs::path(to).parent_path(); !folder.empty())
    fs::create_directories(folder, ignored);
  auto done = [](void *self, const weir_status *result) {
    auto &checkpoints = *static_cast<Checkpoints *>(self);
    std::lock_guard<std::mutex> lock(checkpoints.mutex);
    checkpoints.status = {result->code, result->message};
    checkpoints.mayHaveLeft |= checkpoints.flags.recover > 0 && result->code != WEIR_OK;
    checkpoints.isSaving = false;
    checkpoints.changed.notify_all();
  };
  RunStatus started = session.saveAsync(to, options(), done, this);
  if (!started.ok()) {
    std::lock_guard<std::mutex> lock(mutex);
    status = started;
    isSaving = false;
  }
  saved = step;
}

bool Checkpoints::afterRun(Session &session, bool isLast) {
  ++step;
  bool waits = isLast && flags.recover > 0;
  if (saves() && flags.every > 0 && step % flags.every == 0 && !waits)
    save(session, flags.save + "-" + std::to_string(step));
  std::lock_guard<std::mutex> lock(mutex);
  if (isSaving || status.ok())
    return true;
  if (recovered >= flags.recover || (members && !members->whyDeposed().ok()))
    return false;
  if (RunStatus refused = refuseForgetful(); !refused.ok()) {
    status = refused;
    return false;
  }
  // A disk that is full may have room for the next one; of a task that is gone the next step tells.
  ++recovered;
  std::fprintf(stderr, "checkpoint \"%s\": %s; goes on without it\n", prefix.c_str(),
               status.text().c_str());
  status = {};
  saved = -1;
  return true;
}

RunStatus Checkpoints::saveLast(Session &session) {
  if (flags.recover > 0 && saves() && saved != step)
    save(session, flags.save + "-" + std::to_string(step));
  wait();
  std::lock_guard<std::mutex> lock(mutex);
  if (!mayGoOn(status))
    return {};
  RunStatus failed = status;
  status = {};
  saved = -1;
  return failed;
}

bool Checkpoints::finish(Session &session, DiagnosticSink &sink) {
  if (saves() && saved != step)
    save(session, flags.every > 0 ? flags.save + "-" + std::to_string(step) : flags.save);
  wait();
  return report(prefix, status, sink);
}

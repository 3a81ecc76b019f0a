//===- ClusterTasks.cpp - a process as one task of a cluster --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/ClusterTasks.h"

#include "passes/analysis/DeviceName.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <dlfcn.h>
#include <filesystem>
#include <thread>

using namespace weir;
using namespace weir::tools;

namespace json = llvm::json;

namespace {

/// "/job:worker/replica:0/task:1" of "worker:1" or a partial name; nothing when
/// it is neither.
std::optional<std::string> completeTask(llvm::StringRef text) {
  std::string full = text.str();
  if (!text.starts_with("/")) {
    auto [job, task] = text.split(':');
    full = ("/job:" + job + "/task:" + task).str();
  }
  std::optional<DeviceName> name = DeviceName::parse(full);
  if (!name || !name->job || !name->task || name->type)
    return std::nullopt;
  return "/job:" + *name->job + "/replica:" + std::to_string(name->replica.value_or(0)) +
         "/task:" + std::to_string(*name->task);
}

void refuse(DiagnosticSink &sink, const char *number, const std::string &file,
            const std::string &text) {
  sink.report({number, file, "", "", text, {}});
}

/// The library lies beside the tools, or where the system looks.
void *openLibrary() {
  // UCX reads these when it is loaded. Its own handlers of signals and its
  // messages are not for a tool's terminal.
  setenv("UCX_HANDLE_ERRORS", "none", /*overwrite=*/0);
  setenv("UCX_LOG_LEVEL", "fatal", /*overwrite=*/0);
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  // Of programs in bin, and of those in libexec/weir.
  std::filesystem::path folder = self.parent_path().parent_path();
  for (const std::filesystem::path &prefix : {folder, folder.parent_path()})
    if (void *library =
            dlopen((prefix / "lib" / "libweir_cluster.so").c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  return dlopen("libweir_cluster.so", RTLD_NOW | RTLD_LOCAL);
}

} // namespace

bool ClusterTask::read(const std::string &file, const std::string &task, DiagnosticSink &sink) {
  auto no = [&](const std::string &text) {
    refuse(sink, "W0604", file, text);
    return false;
  };
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return no("cannot be read: " + buffer.getError().message());
  auto value = json::parse((*buffer)->getBuffer());
  if (!value)
    return no("is no JSON: " + llvm::toString(value.takeError()));
  const json::Object *root = value->getAsObject();
  if (root)
    for (auto &[key, entry] : *root)
      if (!llvm::is_contained({"devices", "links", "tasks", "timing"}, llvm::StringRef(key)))
        return no("found \"" + llvm::StringRef(key).str() +
                  "\" of the file; possible: devices, links, tasks, timing");
  const json::Array *list = root ? root->getArray("tasks") : nullptr;
  if (!list || list->empty())
    return no("found no \"tasks\"; possible: an array with \"name\" and "
              "\"address\" of each process");
  std::string possible;
  std::optional<std::string> own = completeTask(task);
  options.task = -1;
  for (const json::Value &entry : *list) {
    const json::Object *object = entry.getAsObject();
    auto name = object ? object->getString("name") : std::nullopt;
    auto address = object ? object->getString("address") : std::nullopt;
    // A launcher knows addresses itself.
    if (!name || (!address && !task.empty()) || object->size() != (address ? 2 : 1))
      return no("found a task that has not just \"name\" and \"address\"");
    std::optional<std::string> full = completeTask(*name);
    if (!full)
      return no("found task \"" + name->str() + "\"; possible: /job:worker/task:0, worker:0");
    if (own == full)
      options.task = int32_t(names.size());
    possible += (possible.empty() ? "" : ", ") + *full;
    names.push_back(*full);
    addresses.push_back(address ? address->str() : "");
  }
  if (options.task < 0 && !task.empty())
    return no("found no task \"" + task + "\"; possible: " + possible);
  const json::Object *timing = root->getObject("timing");
  if (root->get("timing") && !timing)
    return no("found a \"timing\" that is no object");
  if (timing)
    for (auto &[key, entry] : *timing) {
      llvm::StringRef name = key;
      std::optional<double> seconds = entry.getAsNumber();
      int64_t *target = name == "heartbeat" ? &options.heartbeat_ms
                        : name == "timeout" ? &options.timeout_ms
                        : name == "connect" ? &options.connect_ms
                                            : nullptr;
      if (!target)
        return no("found \"" + name.str() + "\" of timing; possible: heartbeat, timeout, connect");
      if (!seconds || !(*seconds >= 0.001) || *seconds > 1e6)
        return no("found " + name.str() + " of timing; possible: seconds from 0.001 on");
      *target = int64_t(*seconds * 1000);
    }
  return true;
}

bool ClusterTask::readSecret(const std::string &file, DiagnosticSink &sink) {
  if (file.empty())
    return true;
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer) {
    refuse(sink, "W0709", file, "cannot be read: " + buffer.getError().message());
    return false;
  }
  secret = (*buffer)->getBuffer().rtrim("\r\n").str();
  options.secret = secret.data();
  options.secret_bytes = int64_t(secret.size());
  return true;
}

bool ClusterTask::open(DiagnosticSink &sink) {
  void *library = openLibrary();
  if (!library) {
    refuse(sink, "W0709", "libweir_cluster.so", std::string("cannot be opened: ") + dlerror());
    return false;
  }
  functions = static_cast<const weir_cluster_functions *>(dlsym(library, "weir_cluster_table"));
  if (functions && functions->size >= sizeof(weir_cluster_functions))
    return true;
  refuse(sink, "W0709", "libweir_cluster.so", "is of another version than this tool");
  return false;
}

std::unique_ptr<ClusterTask> ClusterTask::join(const std::string &file, const std::string &task,
                                               DiagnosticSink &sink, const std::string &secretFile,
                                               bool timesSteps) {
  std::unique_ptr<ClusterTask> made(new ClusterTask());
  if (!made->read(file, task, sink) || !made->readSecret(secretFile, sink) || !made->open(sink))
    return nullptr;
  for (size_t i = 0; i < made->names.size(); ++i)
    made->tasks.push_back(
        {made->names[i].c_str(), task.empty() ? nullptr : made->addresses[i].c_str()});
  made->options.times = timesSteps;
  made->options.tasks = made->tasks.data();
  made->options.task_count = int32_t(made->tasks.size());
  weir_status status = WEIR_STATUS_INIT;
  if (made->functions->join(&made->options, &made->cluster, &status)) {
    refuse(sink, "W0709", file,
           (task.empty() ? std::string("a task") : "task \"" + task + "\"") +
               " cannot join: " + weir_code_name(status.code) + ": " + status.message);
    return nullptr;
  }
  return made;
}

ClusterTask::~ClusterTask() {
  if (cluster)
    functions->leave(cluster);
}

bool ClusterTask::await(const std::function<bool()> &isSo) const {
  using Clock = std::chrono::steady_clock;
  auto give = Clock::now() + std::chrono::duration<double>(connect());
  while (!isSo()) {
    if (Clock::now() >= give)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

RunStatus ClusterTask::serve() {
  weir_status status = WEIR_STATUS_INIT;
  functions->serve(cluster, &status);
  return {status.code, status.message};
}

std::vector<int32_t> ClusterTask::ownJob() const {
  auto jobOf = [&](size_t task) { return DeviceName::parse(names[task])->job; };
  std::vector<int32_t> tasks;
  for (size_t i = 0; i < names.size(); ++i)
    if (jobOf(i) == jobOf(size_t(rank())))
      tasks.push_back(int32_t(i));
  return tasks;
}

RunStatus ClusterTask::keepPace(int64_t step, int64_t bound) {
  weir_status status = WEIR_STATUS_INIT;
  std::vector<int32_t> tasks = ownJob();
  functions->keep_pace(cluster, tasks.data(), int32_t(tasks.size()), step, bound, &status);
  return {status.code, status.message};
}

std::vector<int32_t> ClusterTask::presence() const {
  std::vector<int32_t> visits(names.size());
  functions->presence(cluster, visits.data(), int32_t(visits.size()));
  return visits;
}

RunStatus ClusterTask::reassign(const std::vector<int32_t> &owners, int32_t leader) {
  weir_status status = WEIR_STATUS_INIT;
  functions->reassign(cluster, owners.data(), int32_t(owners.size()), leader, &status);
  return {status.code, status.message};
}

weir_task_figures ClusterTask::figures(int32_t task) const {
  weir_task_figures figures = {};
  figures.size = sizeof(figures);
  functions->figures(cluster, task, &figures);
  return figures;
}

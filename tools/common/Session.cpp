//===- Session.cpp - runs of a loaded program by tensor names -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Session.h"

using namespace weir::tools;

namespace {

LoadedTensor describe(const weir_tensor_info &info) {
  LoadedTensor out;
  out.name = info.name;
  out.dtype = info.dtype;
  out.ranked = info.rank >= 0;
  for (int32_t d = 0; d < info.rank; ++d) {
    out.dims.push_back(info.dims[d]);
    out.lower.push_back(info.lower ? info.lower[d] : 0);
    out.upper.push_back(info.upper ? info.upper[d] : -1);
  }
  return out;
}

RunStatus statusOf(const weir_status &status) { return {status.code, status.message}; }

} // namespace

std::string RunStatus::text() const { return std::string(weir_code_name(code)) + ": " + message; }

std::vector<LoadedEntry> weir::tools::describeEntries(const weir_program_desc *program) {
  std::vector<LoadedEntry> entries;
  for (int32_t e = 0; e < weir_program_entry_count(program); ++e) {
    LoadedEntry entry;
    entry.name = weir_program_entry_name(program, e);
    weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
    for (int32_t i = 0; i < weir_program_feed_count(program, e); ++i)
      if (weir_program_feed(program, e, i, &info) == WEIR_OK)
        entry.feeds.push_back(describe(info));
    for (int32_t i = 0; i < weir_program_fetch_count(program, e); ++i)
      if (weir_program_fetch(program, e, i, &info) == WEIR_OK)
        entry.fetches.push_back(describe(info));
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::unique_ptr<Session> Session::create(const LoadedModel &model,
                                         const weir_session_options &options, RunStatus &status) {
  std::unique_ptr<Session> made(new Session(model, options));
  status = made->renew();
  if (!status.ok())
    return nullptr;
  made->options.restore = nullptr; // one made anew begins with the initial values
  made->descriptions = describeEntries(model.program());
  return made;
}

Session::~Session() {
  if (session)
    model.runtime().sessionDestroy(session);
}

int Session::findEntry(std::string_view name) const {
  for (size_t e = 0; e < descriptions.size(); ++e)
    if (descriptions[e].name == name)
      return static_cast<int>(e);
  return -1;
}

RunStatus Session::runRaw(int entry, const std::vector<weir_tensor> &feeds,
                          std::vector<weir_tensor> &fetches, const weir_run_options *options) {
  weir_status status = WEIR_STATUS_INIT;
  model.runtime().sessionRun(session, entry, feeds.data(), static_cast<int32_t>(feeds.size()),
                             fetches.data(), static_cast<int32_t>(fetches.size()), options,
                             &status);
  return statusOf(status);
}

void Session::release(std::vector<weir_tensor> &fetches) {
  for (weir_tensor &fetch : fetches)
    model.runtime().sessionRelease(session, &fetch);
}

RunStatus Session::renew() {
  std::lock_guard<std::mutex> lock(renewing);
  if (session)
    model.runtime().sessionDestroy(session);
  session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  model.runtime().sessionCreate(model.program(), &options, &session, &status);
  return statusOf(status);
}

/// Zeros while a session is made anew.
weir_memory_stats Session::memoryOf(int32_t device) const {
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  std::unique_lock<std::mutex> lock(renewing, std::try_to_lock);
  if (!lock.owns_lock() || !session ||
      model.runtime().sessionMemory(session, device, &stats) != WEIR_OK)
    return {};
  return stats;
}

int64_t Session::peakMemory(int32_t device) const { return memoryOf(device).peak_in_use; }

int64_t Session::memoryInUse(int32_t device) const { return memoryOf(device).in_use; }

std::vector<std::string> Session::variables() const {
  std::vector<std::string> names;
  int32_t count = weir_program_variable_count(model.program());
  for (int32_t i = 0; i < count; ++i) {
    weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
    if (weir_program_variable(model.program(), i, &info) == WEIR_OK)
      names.emplace_back(info.name);
  }
  return names;
}

RunStatus Session::getVariable(const std::string &name, HostTensor &value) {
  weir_status status = WEIR_STATUS_INIT;
  std::vector<weir_tensor> result(1);
  model.runtime().getVariable(session, name.c_str(), &result[0], &status);
  RunStatus made = statusOf(status);
  if (made.ok())
    value = copyOf(result[0]);
  release(result);
  return made;
}

RunStatus Session::setVariable(const std::string &name, HostTensor &value) {
  weir_status status = WEIR_STATUS_INIT;
  ViewStorage storage;
  weir_tensor view = viewOf(value, storage);
  model.runtime().setVariable(session, name.c_str(), &view, &status);
  return statusOf(status);
}

RunStatus Session::restore(const std::string &prefix, const weir_checkpoint_options *options) {
  weir_status status = WEIR_STATUS_INIT;
  model.runtime().restore(session, prefix.c_str(), options, &status);
  return statusOf(status);
}

RunStatus Session::saveAsync(const std::string &prefix, const weir_checkpoint_options &options,
                             weir_run_done done, void *self) {
  weir_status status = WEIR_STATUS_INIT;
  model.runtime().saveAsync(session, prefix.c_str(), &options, done, self, &status);
  return statusOf(status);
}

RunStatus Session::run(int entry, std::vector<HostTensor> &feeds, NamedTensors &fetches,
                       const weir_run_options *options) {
  std::vector<ViewStorage> storage(feeds.size());
  std::vector<weir_tensor> views;
  for (size_t i = 0; i < feeds.size(); ++i)
    views.push_back(viewOf(feeds[i], storage[i]));
  const std::vector<LoadedTensor> &outputs = descriptions[entry].fetches;
  std::vector<weir_tensor> results(outputs.size());
  RunStatus status = runRaw(entry, views, results, options);
  fetches.clear();
  if (status.ok())
    for (size_t i = 0; i < outputs.size(); ++i)
      fetches.emplace_back(outputs[i].name, copyOf(results[i]));
  release(results);
  return status;
}

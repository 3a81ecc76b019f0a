//===- Session.h - runs of a loaded program by tensor names -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_SESSION_H
#define WEIR_TOOLS_COMMON_SESSION_H

#include "tools/common/LoadedModel.h"
#include "tools/common/Npy.h"

#include <memory>
#include <mutex>

namespace weir::tools {

/// How a call of the runtime ended.
struct RunStatus {
  int32_t code = WEIR_OK;
  std::string message;
  bool ok() const { return code == WEIR_OK; }
  /// "INVALID_ARGUMENT: …"
  std::string text() const;
};

/// A feed or fetch of an entry.
struct LoadedTensor {
  std::string name;
  int32_t dtype = WEIR_INVALID;
  bool ranked = true;
  std::vector<int64_t> dims;  ///< -1: not fixed
  std::vector<int64_t> lower; ///< as dims
  std::vector<int64_t> upper; ///< as dims, -1: no bound
};

struct LoadedEntry {
  std::string name;
  std::vector<LoadedTensor> feeds, fetches;
};

/// What a program offers.
std::vector<LoadedEntry> describeEntries(const weir_program_desc *program);

/// A session that takes and gives HostTensors. The model must outlive it.
/// Calls from several threads at once are fine.
class Session {
public:
  /// Null, with the reason in `status`.
  static std::unique_ptr<Session> create(const LoadedModel &model,
                                         const weir_session_options &options, RunStatus &status);
  ~Session();

  const std::vector<LoadedEntry> &entries() const { return descriptions; }

  /// Begins anew, with the variables' initial values: what a transport wants whose tasks have
  /// other devices now. No call may be in progress, but for peakMemory, which says 0 meanwhile.
  /// After a failure there is no session, and every call fails.
  RunStatus renew();

  /// Index of an entry, -1: none.
  int findEntry(std::string_view name) const;

  /// Runs an entry. `feeds` are in the entry's order; `fetches` becomes the
  /// entry's fetches with their names.
  RunStatus run(int entry, std::vector<HostTensor> &feeds, NamedTensors &fetches,
                const weir_run_options *options = nullptr);

  /// A run whose results stay where the runtime put them: what a measurement
  /// repeats. `fetches` must be as many as the entry's, zeroed before the first
  /// run, and given to release at the end.
  RunStatus runRaw(int entry, const std::vector<weir_tensor> &feeds,
                   std::vector<weir_tensor> &fetches, const weir_run_options *options = nullptr);
  void release(std::vector<weir_tensor> &fetches);

  /// The most bytes that the device's allocator had handed out at once.
  int64_t peakMemory(int32_t device) const;
  /// The bytes that it has handed out now.
  int64_t memoryInUse(int32_t device) const;

  /// The names of the program's variables.
  std::vector<std::string> variables() const;
  /// A copy of a variable's value; FAILED_PRECONDITION: it has none.
  RunStatus getVariable(const std::string &name, HostTensor &value);
  RunStatus setVariable(const std::string &name, HostTensor &value);
  /// Of models whose runtime has them (LoadedModel.h).
  RunStatus restore(const std::string &prefix, const weir_checkpoint_options *options = nullptr);
  RunStatus saveAsync(const std::string &prefix, const weir_checkpoint_options &options,
                      weir_run_done done, void *self);

private:
  weir_memory_stats memoryOf(int32_t device) const;
  Session(const LoadedModel &model, const weir_session_options &options)
      : model(model), options(options) {}
  const LoadedModel &model;
  weir_session_options options;
  mutable std::mutex renewing;
  weir_session *session = nullptr;
  std::vector<LoadedEntry> descriptions;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_SESSION_H

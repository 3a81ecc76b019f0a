//===- batches.h - requests that come together run together ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of one input and one output of floats, whose batch is open. Each processor has a
// thread, which takes all rows that wait, and runs them at once.
//
//===----------------------------------------------------------------------===//

#include "weir/plugin.h"

#include <condition_variable>
#include <deque>
#include <dlfcn.h>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Batches {
public:
  static constexpr size_t most = 64; ///< rows that run at once

  /// Throws where the file is no such model. Its threads run until the process ends.
  explicit Batches(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    model = library ? (const weir_plugin *)dlsym(library, WEIR_PLUGIN_SYMBOL) : nullptr;
    if (!model || model->program_feed(model->program, 0, 0, &input) ||
        model->program_fetch(model->program, 0, 0, &output))
      throw std::runtime_error(std::string("expected a .so by weirc, got ") + path);
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.threads = 1; // of a run: there are as many runs at once as processors
    weir_status status = WEIR_STATUS_INIT;
    if (model->session_create(model->program, &options, &session, &status))
      throw std::runtime_error(status.message);
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
      std::thread(&Batches::work, this).detach();
  }
  const char *name() const { return model->program_name(model->program); }

  /// Results of some rows, at most `most` of them; throws what the run says.
  std::vector<float> run(std::vector<float> numbers, size_t rows) {
    Job job{std::move(numbers), rows, {}};
    std::future<std::vector<float>> done = job.done.get_future();
    std::unique_lock lock(mutex);
    jobs.push_back(std::move(job));
    lock.unlock();
    arrived.notify_one();
    return done.get();
  }

  weir_tensor_info input = WEIR_TENSOR_INFO_INIT, output = WEIR_TENSOR_INFO_INIT;

private:
  struct Job {
    std::vector<float> numbers;
    size_t rows;
    std::promise<std::vector<float>> done;
  };

  void work() {
    for (std::vector<float> numbers;; numbers.clear()) {
      std::vector<Job> batch;
      size_t rows = 0;
      std::unique_lock lock(mutex);
      arrived.wait(lock, [&] { return !jobs.empty(); });
      for (; !jobs.empty() && rows + jobs[0].rows <= most; jobs.pop_front()) {
        rows += jobs[0].rows;
        numbers.insert(numbers.end(), jobs[0].numbers.begin(), jobs[0].numbers.end());
        batch.push_back(std::move(jobs[0]));
      }
      lock.unlock();
      weir_tensor feed = {numbers.data(), int64_t(numbers.size() * 4), WEIR_F32, input.rank, {}};
      std::copy(input.dims, input.dims + input.rank, feed.dims);
      feed.dims[0] = int64_t(rows);
      weir_tensor fetch = {}; // the runtime's memory, until it is released
      weir_status status = WEIR_STATUS_INIT;
      int code = model->session_run(session, 0, &feed, 1, &fetch, 1, nullptr, &status);
      const float *at = static_cast<const float *>(fetch.data);
      for (Job &job : batch)
        if (const float *begin = at; !code)
          job.done.set_value({begin, at += fetch.bytes / 4 / rows * job.rows});
        else
          job.done.set_exception(std::make_exception_ptr(std::runtime_error(status.message)));
      model->session_release(session, &fetch);
    }
  }

  const weir_plugin *model = nullptr;
  weir_session *session = nullptr;
  std::deque<Job> jobs;
  std::mutex mutex;
  std::condition_variable arrived;
};

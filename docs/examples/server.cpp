//===- server.cpp - a model behind HTTP -----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serves a model by version 2 of KServe's protocol, with numbers as JSON or as bytes, so that
// clients of other servers work. Requests that come together run together: each processor has
// a thread that takes all that wait, up to 64 rows.
//
//   apt install libcpp-httplib-dev nlohmann-json3-dev
//   weirc test/digits/digits.onnx -o digits.o
//   c++ -std=c++17 -O2 server.cpp digits.o libweir_runtime.a -pthread -o server
//     $(pkg-config --cflags --libs cpp-httplib)
//   ./server 8000, and then http://localhost:8000/v2/models/digits
//
//===----------------------------------------------------------------------===//

#include "digits.h"
#include "kserve.h"

#include <condition_variable>
#include <deque>
#include <future>

using nlohmann::json;

constexpr size_t pixels = 64, classes = 10, most = 64;
static const kserve::Tensor image{"image", {1, 8, 8}}, probabilities{"probabilities", {classes}};

struct Job {
  std::vector<float> images;
  std::promise<std::vector<float>> done;
};
static std::deque<Job> jobs;
static std::mutex mutex;
static std::condition_variable arrived;

/// Runs batches until the process ends.
static void work(digits::Model model) {
  std::vector<float> images;
  for (;;) {
    std::deque<Job> batch;
    images.clear();
    std::unique_lock lock(mutex);
    arrived.wait(lock, [] { return !jobs.empty(); });
    while (!jobs.empty() && images.size() + jobs[0].images.size() <= most * pixels) {
      images.insert(images.end(), jobs[0].images.begin(), jobs[0].images.end());
      batch.push_back(std::move(jobs[0]));
      jobs.pop_front();
    }
    lock.unlock();
    auto status = model.bind_image(images.data(), {int64_t(images.size() / pixels), 1, 8, 8});
    if (status)
      status = model.run();
    const float *p = model.probabilities().data();
    for (Job &job : batch)
      if (const float *begin = p; status)
        job.done.set_value({begin, p += job.images.size() / pixels * classes});
      else
        job.done.set_exception(std::make_exception_ptr(std::runtime_error(status.message())));
  }
}

static void infer(const httplib::Request &in, httplib::Response &out) {
  kserve::Request request = kserve::parse(in, image, most);
  Job job{std::move(request.numbers), {}};
  auto done = job.done.get_future();
  std::unique_lock lock(mutex);
  jobs.push_back(std::move(job));
  lock.unlock();
  arrived.notify_one();
  kserve::answer(out, "digits", request, probabilities, done.get());
}

int main(int argc, char **argv) {
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = 1; // of a run: there are as many runs at once as processors
  digits::Model model(&options);
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    std::thread(work, model.view()).detach();
  const std::string about = kserve::about("digits", image, probabilities);
  httplib::Server server;
  server.set_tcp_nodelay(true);
  for (const char *path :
       {"/v2/health/live", "/v2/health/ready", "/v2/models/digits/ready", "/v2/models/digits"})
    server.Get(path, [&](auto &, auto &out) { out.set_content(about, "application/json"); });
  server.Post("/v2/models/digits/infer", [](auto &in, auto &out) {
    try {
      infer(in, out);
    } catch (const std::exception &error) {
      out.status = 400;
      out.set_content(json{{"error", error.what()}}.dump(), "application/json");
    }
  });
  return server.listen("localhost", argc > 1 ? std::atoi(argv[1]) : 8000) ? 0 : 1;
}

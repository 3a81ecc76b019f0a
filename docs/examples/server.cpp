//===- server.cpp - a model behind HTTP -----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serves a model by version 2 of KServe's protocol (JSON), so that clients of other servers
// work. Requests that come together run together: one thread takes all that wait, up to 64 rows.
//
//   apt install libcpp-httplib-dev nlohmann-json3-dev
//   weirc test/digits/digits.onnx -o digits.o
//   c++ -std=c++17 server.cpp digits.o libweir_runtime.a -lcpp-httplib -pthread -o server
//   ./server 8000, and then http://localhost:8000/v2/models/digits
//
//===----------------------------------------------------------------------===//

#include "digits.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <httplib.h>
#include <nlohmann/json.hpp>

using nlohmann::json;
constexpr size_t pixels = 64, classes = 10, most = 64;

struct Job {
  std::vector<float> images;
  std::promise<std::vector<float>> done;
};
static std::deque<Job> jobs;
static std::mutex mutex;
static std::condition_variable arrived;
static const char about[] = R"({"name": "digits", "platform": "weir",
  "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}],
  "outputs": [{"name": "probabilities", "datatype": "FP32", "shape": [-1, 10]}]})";

/// Runs batches until the process ends.
static void work() {
  digits::Model model;
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
    for (Job &job : batch) {
      if (!status) {
        job.done.set_exception(std::make_exception_ptr(std::runtime_error(status.message())));
        continue;
      }
      job.done.set_value({p, p + job.images.size() / pixels * classes});
      p += job.images.size() / pixels * classes;
    }
  }
}

/// Numbers of a list, nested or not.
static void append(const json &list, std::vector<float> &to) {
  for (const json &item : list)
    item.is_array() ? append(item, to) : to.push_back(item.get<float>());
}

static json infer(const json &request) {
  const json &input = request.at("inputs").at(0);
  if (input.at("name") != "image" || input.at("datatype") != "FP32")
    throw std::invalid_argument("expected input \"image\" of FP32");
  Job job;
  append(input.at("data"), job.images);
  const size_t rows = job.images.size() / pixels;
  if (rows < 1 || rows > most || job.images.size() % pixels ||
      input.at("shape") != json({rows, 1, 8, 8}))
    throw std::invalid_argument("expected shape [1..64, 1, 8, 8], and as much data");
  auto done = job.done.get_future();
  std::unique_lock lock(mutex);
  jobs.push_back(std::move(job));
  lock.unlock();
  arrived.notify_one();
  json output = {{"name", "probabilities"}, {"datatype", "FP32"}, {"shape", {rows, classes}}};
  output["data"] = done.get();
  return {{"model_name", "digits"}, {"id", request.value("id", "")}, {"outputs", {output}}};
}

int main(int argc, char **argv) {
  std::thread(work).detach();
  httplib::Server server;
  auto answer = [](auto &out, const json &what) {
    out.set_content(what.dump(), "application/json");
  };
  for (const char *path : {"/v2/health/live", "/v2/health/ready", "/v2/models/digits/ready"})
    server.Get(path, [&](auto &, auto &out) { answer(out, json::object()); });
  server.Get("/v2/models/digits", [&](auto &, auto &out) { answer(out, json::parse(about)); });
  server.Post("/v2/models/digits/infer", [&](auto &in, auto &out) {
    try {
      answer(out, infer(json::parse(in.body)));
    } catch (const std::exception &error) {
      out.status = 400;
      answer(out, {{"error", error.what()}});
    }
  });
  return server.listen("localhost", argc > 1 ? std::atoi(argv[1]) : 8000) ? 0 : 1;
}

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

#include <condition_variable>
#include <cstring>
#include <deque>
#include <future>
#include <httplib.h>
#include <nlohmann/json.hpp>

using nlohmann::json;
constexpr size_t pixels = 64, classes = 10, most = 64;
static const char lengthOfJson[] = "Inference-Header-Content-Length";

struct Job {
  std::vector<float> images;
  std::promise<std::vector<float>> done;
};
static std::deque<Job> jobs;
static std::mutex mutex;
static std::condition_variable arrived;
static const char about[] = R"({"name": "digits", "platform": "weir", "versions": ["1"],
  "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}],
  "outputs": [{"name": "probabilities", "datatype": "FP32", "shape": [-1, 10]}]})";

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

/// Numbers of a list, nested or not.
static void append(const json &list, std::vector<float> &to) {
  for (const json &item : list)
    item.is_array() ? append(item, to) : to.push_back(item.get<float>());
}

static void infer(const httplib::Request &in, httplib::Response &out) {
  const std::string length = in.get_header_value(lengthOfJson); // where bytes follow
  const size_t size = length.empty() ? in.body.size() : std::stoul(length);
  const std::string bytes = in.body.substr(size);
  const json request = json::parse(in.body.substr(0, size)), none = json::object();
  const json &input = request.at("inputs").at(0);
  Job job;
  job.images.resize(bytes.size() / 4);
  std::memcpy(job.images.data(), bytes.data(), job.images.size() * 4);
  append(input.value("data", json::array()), job.images);
  const size_t rows = job.images.size() / pixels;
  if (input.at("name") != "image" || input.at("datatype") != "FP32" || rows < 1 || rows > most ||
      input.at("shape") != json({rows, 1, 8, 8}) || job.images.size() != rows * pixels)
    throw std::invalid_argument("expected \"image\", FP32 [1..64, 1, 8, 8], and as much data");
  auto done = job.done.get_future();
  std::unique_lock lock(mutex);
  jobs.push_back(std::move(job));
  lock.unlock();
  arrived.notify_one();
  bool asBytes = request.value("parameters", none).value("binary_data_output", false);
  for (const json &one : request.value("outputs", json::array()))
    asBytes = one.value("parameters", none).value("binary_data", asBytes);
  json output = {{"name", "probabilities"}, {"datatype", "FP32"}, {"shape", {rows, classes}}};
  const std::vector<float> found = done.get();
  asBytes ? output["parameters"]["binary_data_size"] = found.size() * 4 : output["data"] = found;
  json answer = {{"model_name", "digits"}, {"id", request.value("id", "")}};
  answer["outputs"] = json::array({output});
  std::string body = answer.dump();
  if (asBytes) {
    out.set_header(lengthOfJson, std::to_string(body.size()));
    body.append(reinterpret_cast<const char *>(found.data()), found.size() * 4);
  }
  out.set_content(body, asBytes ? "application/octet-stream" : "application/json");
}

int main(int argc, char **argv) {
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = 1; // of a run: there are as many runs at once as processors
  digits::Model model(&options);
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    std::thread(work, model.view()).detach();
  httplib::Server server;
  server.set_tcp_nodelay(true);
  for (const char *path :
       {"/v2/health/live", "/v2/health/ready", "/v2/models/digits/ready", "/v2/models/digits"})
    server.Get(path, [](auto &, auto &out) { out.set_content(about, "application/json"); });
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

//===- server.cpp - a model behind HTTP -----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serves a model of one input and one output of floats, whose batch is open, by version 2 of
// KServe's protocol, so that clients of other servers work. Requests that come together run
// together (batches.h).
//
//   apt install libcpp-httplib-dev nlohmann-json3-dev
//   weirc test/digits/digits.onnx -o digits.so
//   c++ -std=c++17 -O2 -Iinclude server.cpp -pthread $(pkg-config --cflags --libs cpp-httplib)
//     -o server
//   ./server digits.so 8000, and then http://localhost:8000/v2/models/digits
//
//===----------------------------------------------------------------------===//

#include "batches.h"
#include "kserve.h"

static kserve::Tensor described(const weir_tensor_info &info) {
  return {info.name, {info.dims + 1, info.dims + info.rank}};
}

static int serve(const char *file, int port) {
  Batches model(file);
  const kserve::Tensor input = described(model.input), output = described(model.output);
  const std::string about = kserve::about(model.name(), input, output);
  const std::string path = std::string("/v2/models/") + model.name();
  httplib::Server server;
  server.set_tcp_nodelay(true);
  for (const std::string &at :
       {path, path + "/ready", std::string("/v2/health/live"), std::string("/v2/health/ready")})
    server.Get(at, [&](auto &, auto &out) { out.set_content(about, "application/json"); });
  server.Post(path + "/infer", [&](const httplib::Request &in, httplib::Response &out) {
    try {
      kserve::Request asked = kserve::parse(in, input, Batches::most);
      std::vector<float> found = model.run(std::move(asked.numbers), asked.rows);
      kserve::answer(out, model.name(), asked, output, found);
    } catch (const std::exception &error) {
      out.status = 400;
      out.set_content(kserve::json{{"error", error.what()}}.dump(), "application/json");
    }
  });
  return server.listen("localhost", port) ? 0 : 1;
}

int main(int argc, char **argv) {
  try {
    return argc < 2 ? 2 : serve(argv[1], argc > 2 ? std::atoi(argv[2]) : 8000);
  } catch (const std::exception &error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}

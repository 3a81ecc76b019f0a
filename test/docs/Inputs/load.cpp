//===- load.cpp - what a server of docs/examples can do ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: load PORT PID IMAGES.f32 SECONDS CONNECTIONS ROWS
//
// Asks server.cpp from CONNECTIONS threads for ROWS pictures at a time, as bytes. Prints
// answers a second, and what share of the machine's processors the server (process PID), this
// program and all processes took: 100 % is a machine without idle time.
//
//   c++ -std=c++17 -O2 load.cpp $(pkg-config --cflags --libs cpp-httplib) -pthread -o load
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <chrono>
#include <fstream>
#include <httplib.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

/// Ticks that a process took.
double ticksOf(const std::string &pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  double user = 0, system = 0;
  for (int i = 0; i < 11; ++i)
    fields >> skipped;
  fields >> user >> system;
  return user + system;
}

/// Ticks of all processors: of any work, and idle ones.
std::pair<double, double> machine() {
  std::ifstream file("/proc/stat");
  std::string word;
  double busy = 0, idle = 0, value = 0;
  file >> word;
  for (int i = 0; i < 8 && file >> value; ++i)
    (i == 3 || i == 4 ? idle : busy) += value;
  return {busy, idle};
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 7)
    return std::puts("usage: load PORT PID IMAGES.f32 SECONDS CONNECTIONS ROWS"), 2;
  std::ifstream file(argv[3], std::ios::binary);
  const int rows = std::atoi(argv[6]);
  std::string pixels(size_t(rows) * 256, '\0');
  file.read(pixels.data(), std::streamsize(pixels.size()));
  const std::string json =
      R"({"parameters":{"binary_data_output":true},"inputs":[{"name":"image","datatype":"FP32","shape":[)" +
      std::to_string(rows) + R"(,1,8,8],"parameters":{"binary_data_size":)" +
      std::to_string(pixels.size()) + "}}]}";
  for (int i = 0; i < 100; ++i) { // it may just have been started
    if (httplib::Client("localhost", std::atoi(argv[1])).Get("/v2/health/ready"))
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::atomic<bool> stop{false};
  std::atomic<int64_t> answers{0}, failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < std::atoi(argv[5]); ++t)
    threads.emplace_back([&] {
      httplib::Client client("localhost", std::atoi(argv[1]));
      client.set_keep_alive(true);
      client.set_tcp_nodelay(true);
      const httplib::Headers headers{
          {"Inference-Header-Content-Length", std::to_string(json.size())}};
      while (!stop) {
        auto answer = client.Post("/v2/models/digits/infer", headers, json + pixels,
                                  "application/octet-stream");
        ++(answer && answer->status == 200 ? answers : failed);
      }
    });
  const double server = ticksOf(argv[2]), own = ticksOf("self");
  const auto [busy, idle] = machine();
  const int64_t before = answers;
  std::this_thread::sleep_for(std::chrono::seconds(std::atoi(argv[4])));
  const auto [busyEnd, idleEnd] = machine();
  const double all = busyEnd - busy + idleEnd - idle;
  std::printf("%.0f answers a second, %.0f pictures; server %.1f %%, load %.1f %%, all processes "
              "%.1f %% of the processors; %lld failed\n",
              double(answers - before) / std::atoi(argv[4]),
              double((answers - before) * rows) / std::atoi(argv[4]),
              100 * (ticksOf(argv[2]) - server) / all, 100 * (ticksOf("self") - own) / all,
              100 * (busyEnd - busy) / all, (long long)failed);
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  return failed ? 1 : 0;
}

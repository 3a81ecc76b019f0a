//===- gpu_check.cpp - GPU code against the CPU's, on any machine -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of `tools/gpu-check`'s bundle that runs: needs the C and C++ libraries
// and a driver. Every case is a shared object with both forms of its steps. Each
// entry is run on the host and on the GPU with the same random feeds, and results
// are compared: integers and strings exactly, floats within a tolerance of their
// type; a run that ends in a status must end in the same one.
//
//===----------------------------------------------------------------------===//

#include "weir/plugin.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// What the host's code calls to round to bf16, on processors that cannot. GCC's
/// library has it from version 13 on; cases take it from here.
extern "C" __attribute__((visibility("default"))) __bf16 __truncsfbf2(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint16_t narrow = std::isnan(value) ? uint16_t(bits >> 16 | 0x40)
                                      : uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  __bf16 result;
  std::memcpy(&result, &narrow, 2);
  return result;
}

namespace {

using Clock = std::chrono::steady_clock;

struct Feed {
  std::vector<uint64_t> words;
  weir_tensor tensor = {};
};

/// SplitMix64.
uint64_t next(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

float toFloat(int32_t dtype, const uint8_t *at) {
  uint16_t half;
  std::memcpy(&half, at, 2);
  if (dtype == WEIR_BF16) {
    uint32_t bits = uint32_t(half) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  uint32_t exponent = (half >> 10) & 31, fraction = half & 1023;
  float value = exponent == 31  ? (fraction ? NAN : INFINITY)
                : exponent == 0 ? std::ldexp(float(fraction), -24)
                                : std::ldexp(float(fraction + 1024), int(exponent) - 25);
  return half & 0x8000 ? -value : value;
}

/// Elements as doubles; false: a type that is compared byte by byte.
bool toDoubles(const weir_tensor &tensor, std::vector<double> &values,
               double &tolerance) {
  auto *data = static_cast<const uint8_t *>(tensor.data);
  auto read = [&](auto zero, double allowed) {
    using T = decltype(zero);
    tolerance = allowed;
    for (int64_t i = 0; i + int64_t(sizeof(T)) <= tensor.bytes; i += sizeof(T)) {
      T value;
      std::memcpy(&value, data + i, sizeof(T));
      values.push_back(double(value));
    }
    return true;
  };
  switch (tensor.dtype) {
  case WEIR_F32:
  case WEIR_C64:
    return read(0.0f, 1e-4);
  case WEIR_F64:
  case WEIR_C128:
    return read(0.0, 1e-9);
  case WEIR_F16:
  case WEIR_BF16:
    tolerance = tensor.dtype == WEIR_F16 ? 4e-3 : 3e-2;
    for (int64_t i = 0; i + 2 <= tensor.bytes; i += 2)
      values.push_back(toFloat(tensor.dtype, data + i));
    return true;
  default:
    return false;
  }
}

/// "" or the first difference.
std::string compare(const weir_tensor &got, const weir_tensor &want) {
  if (got.dtype != want.dtype || got.rank != want.rank || got.bytes != want.bytes)
    return "another type or size";
  for (int32_t d = 0; d < got.rank; ++d)
    if (got.dims[d] != want.dims[d])
      return "another shape";
  std::vector<double> a, b;
  double tolerance = 0;
  if (!toDoubles(got, a, tolerance) || !toDoubles(want, b, tolerance)) {
    if (got.dtype == WEIR_STRING || got.dtype == WEIR_TENSOR)
      return ""; // the host's in both
    return std::memcmp(got.data, want.data, size_t(got.bytes)) ? "other integers" : "";
  }
  double largest = 0;
  for (double value : b)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) == std::isnan(b[i]) &&
        (std::isnan(a[i]) || a[i] == b[i] ||
         std::fabs(a[i] - b[i]) <= tolerance * (std::fabs(b[i]) + 0.05 * largest) + 1e-7))
      continue;
    char text[128];
    std::snprintf(text, sizeof(text), "element %zu is %.9g, on the host %.9g", i, a[i], b[i]);
    return text;
  }
  return "";
}

struct Case {
  void *library = nullptr;
  const weir_plugin *plugin = nullptr;
};

/// Random feeds, open sizes being `open`; false: some cannot be made. `isOpen`, if
/// given, is set where there are such sizes.
bool makeFeeds(const weir_program_desc *program, int32_t entry, std::vector<Feed> &feeds,
               int64_t open = 2, bool *isOpen = nullptr) {
  int32_t count = weir_program_feed_count(program, entry);
  feeds.resize(size_t(count));
  uint64_t state = 1;
  for (int32_t i = 0; i < count; ++i) {
    weir_tensor_info info = {};
    info.size = sizeof(info);
    weir_program_feed(program, entry, i, &info);
    if (info.rank < 0 || info.dtype == WEIR_STRING || info.dtype == WEIR_TENSOR)
      return false;
    Feed &feed = feeds[size_t(i)];
    int64_t elements = 1;
    feed.tensor.dtype = info.dtype;
    feed.tensor.rank = info.rank;
    for (int32_t d = 0; d < info.rank; ++d) {
      int64_t size = info.dims[d] >= 0 ? info.dims[d] : open;
      if (isOpen && info.dims[d] < 0)
        *isOpen = true;
      elements *= feed.tensor.dims[d] = size;
    }
    int64_t each = weir_dtype_size(info.dtype);
    feed.tensor.bytes = elements * each;
    feed.words.assign(size_t(feed.tensor.bytes) / 8 + 1, 0);
    feed.tensor.data = feed.words.data();
    auto *bytes = reinterpret_cast<uint8_t *>(feed.words.data());
    for (int64_t e = 0; e < elements; ++e) {
      uint64_t bits = next(state);
      double unit = double(bits >> 11) * 0x1p-53;
      uint8_t *at = bytes + e * each;
      auto put = [&](auto value) { std::memcpy(at, &value, sizeof(value)); };
      switch (info.dtype) {
      case WEIR_F32: put(float(unit)); break;
      case WEIR_F64: put(unit); break;
      case WEIR_BF16: {
        auto narrow = float(unit);
        uint32_t whole;
        std::memcpy(&whole, &narrow, 4);
        put(uint16_t(whole >> 16));
        break;
      }
      case WEIR_F16: put(uint16_t(0x3800 | (bits & 0x3ff))); break; // [0.5, 1)
      case WEIR_C64: put(float(unit)); at += 4; put(float(unit / 2)); break;
      case WEIR_C128: put(unit); at += 8; put(unit / 2); break;
      case WEIR_BOOL: put(uint8_t(bits & 1)); break;
      default: {
        uint64_t small = bits % 3;
        std::memcpy(at, &small, size_t(each));
      }
      }
    }
  }
  return true;
}

struct Outcome {
  int32_t code = 0;
  std::string message;
  std::vector<weir_tensor> fetches;
  double best = 0; ///< microseconds
};

Outcome run(const weir_plugin &plugin, weir_session *session, int32_t entry,
            std::vector<Feed> &feeds, int repeat) {
  Outcome outcome;
  std::vector<weir_tensor> given;
  for (Feed &feed : feeds)
    given.push_back(feed.tensor);
  outcome.fetches.resize(size_t(weir_program_fetch_count(plugin.program, entry)));
  for (int i = 0; i < repeat; ++i) {
    weir_status status = {};
    status.size = sizeof(status);
    auto begin = Clock::now();
    outcome.code = plugin.session_run(session, entry, given.data(), int32_t(given.size()),
                                      outcome.fetches.data(), int32_t(outcome.fetches.size()),
                                      nullptr, &status);
    double time = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    outcome.best = i ? std::min(outcome.best, time) : time;
    outcome.message = status.message;
    if (outcome.code)
      return outcome;
  }
  return outcome;
}

weir_session *open(const weir_plugin &plugin, const char *policy, std::string &message) {
  setenv("WEIR_CUDA", policy, 1);
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = 2;
  weir_status status = {};
  status.size = sizeof(status);
  weir_session *session = nullptr;
  if (plugin.session_create(plugin.program, &options, &session, &status)) {
    message = status.message;
    return nullptr;
  }
  return session;
}

/// Runs an entry with many sizes in turn, each again and again: steps that come as
/// graphs are those of their sizes. Returns "" or what is wrong.
std::string checkSizes(const weir_plugin &plugin, int32_t entry, weir_session *host,
                       weir_session *gpu) {
  for (int round = 0; round < 3; ++round)
    for (int64_t size = 3; size < 10; ++size) {
      std::vector<Feed> feeds;
      makeFeeds(plugin.program, entry, feeds, size);
      Outcome want = run(plugin, host, entry, feeds, 1), got = run(plugin, gpu, entry, feeds, 1);
      std::string problem = got.code != want.code ? got.message : "";
      for (size_t i = 0; problem.empty() && !got.code && i < got.fetches.size(); ++i)
        problem = compare(got.fetches[i], want.fetches[i]);
      for (Outcome *outcome : {&want, &got})
        for (weir_tensor &fetch : outcome->fetches)
          plugin.session_release(outcome == &want ? host : gpu, &fetch);
      if (!problem.empty())
        return "with open sizes of " + std::to_string(size) + ": " + problem;
    }
  return "";
}

/// The driver, for memory and a stream of the caller's.
struct Gpu {
  bool usable = false;
  int (*memAlloc)(uint64_t *, size_t);
  int (*memFree)(uint64_t);
  int (*copyIn)(uint64_t, const void *, size_t, void *);
  int (*copyOut)(void *, uint64_t, size_t, void *);
  int (*synchronize)(void *);
  int (*streamDestroy)(void *);
  int (*contextRelease)(int);
  void *stream = nullptr;

  Gpu() {
    const char *name = std::getenv("WEIR_CUDA_DRIVER");
    void *library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return;
    auto find = [&](auto &function, const char *symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
      return function != nullptr;
    };
    int (*init)(unsigned), (*retain)(void **, int), (*push)(void *), (*streamCreate)(void **, unsigned);
    if (!find(init, "cuInit") || !find(retain, "cuDevicePrimaryCtxRetain") ||
        !find(push, "cuCtxPushCurrent_v2") || !find(streamCreate, "cuStreamCreate") ||
        !find(memAlloc, "cuMemAlloc_v2") || !find(memFree, "cuMemFree_v2") ||
        !find(copyIn, "cuMemcpyHtoDAsync_v2") || !find(copyOut, "cuMemcpyDtoHAsync_v2") ||
        !find(synchronize, "cuStreamSynchronize") || !find(streamDestroy, "cuStreamDestroy_v2") ||
        !find(contextRelease, "cuDevicePrimaryCtxRelease_v2"))
      return;
    void *context;
    usable = init(0) == 0 && retain(&context, 0) == 0 && push(context) == 0 &&
             streamCreate(&stream, 1) == 0;
  }
  ~Gpu() {
    if (!usable)
      return;
    streamDestroy(stream);
    contextRelease(0);
  }
};

/// A run that nobody waits for, and its end.
struct Waiter {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int32_t code = 0;
  std::string message;

  static void tell(void *self, const weir_status *status) {
    auto *waiter = static_cast<Waiter *>(self);
    std::lock_guard<std::mutex> lock(waiter->mutex);
    waiter->done = true;
    waiter->code = status->code;
    waiter->message = status->message;
    waiter->changed.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return done; });
  }
};

/// Runs an entry with feeds and fetches in the GPU's memory where that is possible,
/// in a stream, without waiting. Returns "" or what is wrong; `direct` gets how
/// many were there.
std::string checkDirect(const weir_plugin &plugin, int32_t entry, weir_session *session, Gpu &gpu,
                        std::vector<Feed> &feeds, const Outcome &want, int &direct) {
  std::vector<weir_tensor> given, fetches(want.fetches.size());
  for (Feed &feed : feeds)
    given.push_back(feed.tensor);
  std::vector<uint8_t> feedsThere(given.size() + 1), fetchesThere(fetches.size() + 1);
  std::vector<uint64_t> memory;
  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  options.feeds_on_gpu = feedsThere.data();
  options.fetches_on_gpu = fetchesThere.data();
  options.cuda_stream = gpu.stream;
  auto runOnce = [&] {
    Waiter waiter;
    weir_status status = WEIR_STATUS_INIT;
    if (weir_session_run_async(session, entry, given.data(), int32_t(given.size()), fetches.data(),
                               int32_t(fetches.size()), &options, Waiter::tell, &waiter, &status))
      return std::make_pair(status.code, std::string(status.message));
    waiter.wait();
    return std::make_pair(waiter.code, waiter.message);
  };
  // Which of them may be there: a run that refuses says so before it begins.
  auto put = [&](uint8_t &flag, weir_tensor &tensor, int64_t bytes) {
    uint64_t data = 0;
    if (bytes <= 0 || gpu.memAlloc(&data, size_t(bytes + 15) / 16 * 16) != 0)
      return false;
    memory.push_back(data);
    tensor.data = reinterpret_cast<void *>(data);
    tensor.bytes = bytes;
    flag = 1;
    return true;
  };
  auto refuses = [&](const std::pair<int32_t, std::string> &end) {
    return end.first == WEIR_INVALID_ARGUMENT && end.second.find("memory of a GPU") != std::string::npos;
  };
  for (size_t i = 0; i < given.size(); ++i) {
    weir_tensor before = given[i];
    if (!put(feedsThere[i], given[i], before.bytes))
      continue;
    // What the stream does comes before the run.
    gpu.copyIn(uint64_t(given[i].data), feeds[i].tensor.data, size_t(before.bytes), gpu.stream);
    if (refuses(runOnce())) {
      feedsThere[i] = 0;
      given[i] = before;
    }
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    plugin.session_release(session, &fetches[i]);
    if (!put(fetchesThere[i], fetches[i], want.fetches[i].bytes))
      continue;
    if (refuses(runOnce())) {
      fetchesThere[i] = 0;
      fetches[i] = {};
    }
  }
  auto end = runOnce();
  std::string problem = end.first ? "direct: " + end.second : "";
  for (size_t i = 0; i < fetches.size(); ++i) {
    weir_tensor got = fetches[i];
    std::vector<uint64_t> words(size_t(got.bytes) / 8 + 1);
    if (fetchesThere[i]) {
      gpu.copyOut(words.data(), uint64_t(got.data), size_t(got.bytes), gpu.stream);
      gpu.synchronize(gpu.stream);
      got.data = words.data();
    }
    std::string difference = problem.empty() ? compare(got, want.fetches[i]) : "";
    if (!difference.empty())
      problem = "direct fetch " + std::to_string(i) + ": " + difference;
    if (!fetchesThere[i])
      plugin.session_release(session, &fetches[i]);
  }
  // A fetch over a feed, which is read before it is written.
  auto sharesMemory = [&]() -> std::string {
    for (size_t j = 0; j < fetches.size(); ++j)
      for (size_t i = 0; i < given.size(); ++i) {
        if (!fetchesThere[j] || !feedsThere[i] ||
            fetches[j].bytes != given[i].bytes)
          continue;
        fetches[j].data = given[i].data;
        end = runOnce();
        if (end.first)
          return "fetch over a feed: " + end.second;
        std::vector<uint64_t> words(size_t(fetches[j].bytes) / 8 + 1);
        gpu.copyOut(words.data(), uint64_t(fetches[j].data),
                    size_t(fetches[j].bytes), gpu.stream);
        gpu.synchronize(gpu.stream);
        weir_tensor got = fetches[j];
        got.data = words.data();
        std::string difference = compare(got, want.fetches[j]);
        return difference.empty() ? "" : "fetch over a feed: " + difference;
      }
    return "";
  };
  if (problem.empty())
    problem = sharesMemory();
  for (size_t i = 0; i < fetches.size(); ++i)
    if (!fetchesThere[i])
      plugin.session_release(session, &fetches[i]);
  for (uint64_t data : memory)
    gpu.memFree(data);
  direct = int(std::count(feedsThere.begin(), feedsThere.end(), 1) +
               std::count(fetchesThere.begin(), fetchesThere.end(), 1));
  return problem;
}

/// "" or what is wrong with one entry; `times` gets a line.
std::string check(const weir_plugin &plugin, int32_t entry, weir_session *host,
                  weir_session *gpu, Gpu &driver, int repeat, std::string &times) {
  std::vector<Feed> feeds;
  bool isOpen = false;
  if (!makeFeeds(plugin.program, entry, feeds, 2, &isOpen))
    return "skipped";
  Outcome want = run(plugin, host, entry, feeds, 1), got = run(plugin, gpu, entry, feeds, 1);
  std::string problem;
  if (got.code != want.code || (got.code && got.message != want.message))
    problem = "ends with \"" + got.message + "\", on the host with \"" + want.message + "\"";
  for (size_t i = 0; problem.empty() && !got.code && i < got.fetches.size(); ++i)
    if (std::string difference = compare(got.fetches[i], want.fetches[i]); !difference.empty())
      problem = "fetch " + std::to_string(i) + ": " + difference;
  if (problem.empty() && !got.code) {
    // Concurrent runs of one session come to the same.
    std::vector<std::thread> threads;
    std::vector<std::string> bad(4);
    for (std::string &mine : bad)
      threads.emplace_back([&] {
        Outcome other = run(plugin, gpu, entry, feeds, 2);
        mine = other.code ? other.message : "";
        for (size_t i = 0; mine.empty() && i < other.fetches.size(); ++i)
          mine = compare(other.fetches[i], want.fetches[i]);
        for (weir_tensor &fetch : other.fetches)
          plugin.session_release(gpu, &fetch);
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::string &mine : bad)
      if (problem.empty() && !mine.empty())
        problem = "concurrent: " + mine;
    if (problem.empty() && isOpen)
      problem = checkSizes(plugin, entry, host, gpu);
    int direct = 0;
    if (problem.empty() && driver.usable)
      problem = checkDirect(plugin, entry, gpu, driver, feeds, want, direct);
    Outcome slow = run(plugin, host, entry, feeds, repeat), fast = run(plugin, gpu, entry, feeds, repeat);
    char text[96];
    std::snprintf(text, sizeof(text), "host_us=%.1f gpu_us=%.1f direct=%d", slow.best, fast.best,
                  direct);
    times = text;
    for (Outcome *outcome : {&slow, &fast})
      for (weir_tensor &fetch : outcome->fetches)
        plugin.session_release(outcome == &slow ? host : gpu, &fetch);
  }
  for (weir_tensor &fetch : want.fetches)
    plugin.session_release(host, &fetch);
  for (weir_tensor &fetch : got.fetches)
    plugin.session_release(gpu, &fetch);
  return problem;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s RESULT.txt CASE.so... (each run on the host and on the GPU)\n"
                         "WEIR_GPU_CHECK_REPEAT=N: runs that are timed (20)\n", argv[0]);
    return 2;
  }
  const char *text = std::getenv("WEIR_GPU_CHECK_REPEAT");
  int repeat = std::max(1, text ? std::atoi(text) : 20);
  std::ofstream result(argv[1]);
  int passed = 0, failed = 0, skipped = 0;
  auto line = [&](const std::string &what) {
    result << what << std::endl;
    std::printf("%s\n", what.c_str());
  };
  line(std::string("runtime ") + weir_runtime_version());
  Gpu driver;
  for (int i = 2; i < argc; ++i) {
    std::string name = argv[i];
    name = name.substr(name.rfind('/') + 1);
    void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    auto *plugin = library ? static_cast<const weir_plugin *>(dlsym(library, WEIR_PLUGIN_SYMBOL)) : nullptr;
    if (!plugin) {
      line("failed " + name + ": " + dlerror());
      ++failed;
      continue;
    }
    std::string message;
    weir_session *host = open(*plugin, "off", message), *gpu = open(*plugin, "require", message);
    for (int32_t entry = 0; host && gpu && entry < weir_program_entry_count(plugin->program); ++entry) {
      std::string label = name + " " + weir_program_entry_name(plugin->program, entry), times;
      std::string problem = check(*plugin, entry, host, gpu, driver, repeat, times);
      bool good = problem.empty(), left = problem == "skipped";
      line((good ? "passed " : left ? "skipped " : "failed ") + label +
           (good ? " " + times : left ? "" : ": " + problem));
      ++(good ? passed : left ? skipped : failed);
    }
    if (!host || !gpu) {
      line("failed " + name + ": " + message);
      ++failed;
    }
    if (gpu)
      plugin->session_destroy(gpu);
    if (host)
      plugin->session_destroy(host);
    dlclose(library);
  }
  line(std::to_string(passed) + " passed, " + std::to_string(failed) + " failed, " +
       std::to_string(skipped) + " skipped");
  return failed ? 1 : 0;
}

//===- Support.cpp - tensors, runs, and the driver ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

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

namespace weir::gpucheck {

/// SplitMix64.
static uint64_t next(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static float toFloat(int32_t dtype, const uint8_t *at) {
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

bool toDoubles(const weir_tensor &tensor, std::vector<double> &values, double &tolerance) {
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

std::string compare(const weir_tensor &got, const weir_tensor &want, Closeness closeness) {
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
  double largest = 0, error = 0, norm = 0;
  for (size_t i = 0; i < b.size(); ++i)
    if (std::isfinite(b[i])) {
      largest = std::max(largest, std::fabs(b[i]));
      norm += b[i] * b[i];
      error += (a[i] - b[i]) * (a[i] - b[i]);
    }
  bool byNorm = closeness == Closeness::Norm;
  for (size_t i = 0; i < a.size(); ++i) {
    double scale = byNorm ? largest : std::fabs(b[i]) + 0.05 * largest;
    if (std::isnan(a[i]) == std::isnan(b[i]) &&
        (std::isnan(a[i]) || a[i] == b[i] || std::fabs(a[i] - b[i]) <= tolerance * scale + 1e-7))
      continue;
    char text[128];
    std::snprintf(text, sizeof(text), "element %zu is %.9g, on the host %.9g", i, a[i], b[i]);
    return text;
  }
  if (byNorm && !(error <= tolerance * tolerance * norm))
    return "the difference's norm is " + std::to_string(std::sqrt(error / norm)) + " of the host's";
  return "";
}

bool makeFeeds(const weir_program_desc *program, int32_t entry, std::vector<Feed> &feeds,
               const FeedKind &kind, bool *isOpen) {
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
      int64_t size = info.dims[d] >= 0 ? info.dims[d] : kind.open;
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
      case WEIR_F32:
        put(float(unit));
        break;
      case WEIR_F64:
        put(unit);
        break;
      case WEIR_BF16: {
        auto narrow = float(unit);
        uint32_t whole;
        std::memcpy(&whole, &narrow, 4);
        put(uint16_t(whole >> 16));
        break;
      }
      case WEIR_F16:
        put(uint16_t(0x3800 | (bits & 0x3ff)));
        break; // [0.5, 1)
      case WEIR_C64:
        put(float(unit));
        at += 4;
        put(float(unit / 2));
        break;
      case WEIR_C128:
        put(unit);
        at += 8;
        put(unit / 2);
        break;
      case WEIR_BOOL:
        put(uint8_t(bits & 1));
        break;
      default: {
        uint64_t small = bits % kind.integers;
        std::memcpy(at, &small, size_t(each));
      }
      }
    }
  }
  return true;
}

Outcome run(const weir_plugin &plugin, weir_session *session, int32_t entry,
            std::vector<Feed> &feeds, int repeat) {
  Outcome outcome;
  std::vector<weir_tensor> given;
  for (Feed &feed : feeds)
    given.push_back(feed.tensor);
  outcome.fetches.resize(size_t(weir_program_fetch_count(plugin.program, entry)));
  for (int i = 0; i < repeat; ++i) {
    weir_status status = WEIR_STATUS_INIT;
    auto begin = Clock::now();
    outcome.code = plugin.session_run(session, entry, given.data(), int32_t(given.size()),
                                      outcome.fetches.data(), int32_t(outcome.fetches.size()),
                                      nullptr, &status);
    outcome.times.push_back(microseconds(Clock::now() - begin));
    outcome.message = status.message;
    if (outcome.code)
      return outcome;
  }
  return outcome;
}

/// A variable of the environment for as long as this lives; "": as it is.
class Setting {
public:
  Setting(const char *name, const std::string &value) : name(name) {
    if (value.empty())
      return;
    const char *now = std::getenv(name);
    before = now ? now : "";
    set = true;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (set && before.empty())
      unsetenv(name);
    else if (set)
      setenv(name, before.c_str(), 1);
  }

private:
  const char *name;
  std::string before;
  bool set = false;
};

Opened open(const weir_plugin &plugin, const char *policy, const OpenOptions &asked) {
  Setting use("WEIR_CUDA", policy);
  Setting limit("WEIR_CUDA_MEMORY", asked.gpuLimit ? std::to_string(asked.gpuLimit) : "");
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = 2;
  options.weights_file = asked.weights.empty() ? nullptr : asked.weights.c_str();
  options.allocation_wait_ms = asked.gpuLimit ? -1 : 0;
  weir_status status = WEIR_STATUS_INIT;
  Opened opened;
  opened.code = plugin.session_create(plugin.program, &options, &opened.session, &status);
  opened.message = status.message;
  return opened;
}

void release(const weir_plugin &plugin, weir_session *session, Outcome &outcome) {
  for (weir_tensor &fetch : outcome.fetches)
    plugin.session_release(session, &fetch);
}

Gpu::Gpu() {
  const char *why = nullptr;
  api = rt::cuda::loadDriver(&why);
  if (!api)
    return;
  rt::cuda::Context context = nullptr;
  usable = api->deviceGet(&device, 0) == 0 && api->contextRetain(&context, device) == 0 &&
           api->contextPush(context) == 0 &&
           api->streamCreate(&stream, rt::cuda::streamNonBlocking) == 0;
}

Gpu::~Gpu() {
  if (!usable)
    return;
  api->streamDestroy(stream);
  rt::cuda::Context context = nullptr;
  api->contextPop(&context);
  api->contextRelease(device);
}

void Waiter::tell(void *self, const weir_status *status) {
  auto *waiter = static_cast<Waiter *>(self);
  std::lock_guard<std::mutex> lock(waiter->mutex);
  waiter->done = true;
  waiter->code = status->code;
  waiter->message = status->message;
  waiter->changed.notify_all();
}

void Waiter::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return done; });
}

} // namespace weir::gpucheck

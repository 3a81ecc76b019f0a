//===- drive.cpp - feeds entries with data that they must refuse -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every entry is called as the node that it computes, and takes feeds that begin
// with `x` (any numbers) and with `i` (what can be wrong: indices, steps,
// divisors, counts). With ones in `i` an entry succeeds. With numbers far out of
// range (zeros, where its name begins with `zero`) it returns a status that names
// the node, the same with one thread and with three, and works on afterwards.
// The program is linked with AddressSanitizer, and so is the model's object: an
// access outside of a buffer ends it.
//
//===----------------------------------------------------------------------===//

#include "bad.h"
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

static int failures = 0;

static void fail(const std::string &what) {
  std::printf("%s\n", what.c_str());
  ++failures;
}

struct Feed {
  weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
  std::vector<char> bytes; ///< of its own, so that the sanitizer knows its end
  weir_tensor tensor;

  void fill(int64_t number) {
    int64_t size = weir_dtype_size(info.dtype);
    for (size_t at = 0; at < bytes.size(); at += size) {
      if (info.dtype == WEIR_F32) {
        float value = float(number);
        std::memcpy(&bytes[at], &value, 4);
      } else {
        std::memcpy(&bytes[at], &number, size); // little-endian
      }
    }
  }
};

static std::vector<Feed> makeFeeds(const weir_program_desc *program, int32_t entry) {
  std::vector<Feed> feeds(weir_program_feed_count(program, entry));
  for (size_t f = 0; f < feeds.size(); ++f) {
    Feed &feed = feeds[f];
    weir_program_feed(program, entry, int32_t(f), &feed.info);
    std::memset(&feed.tensor, 0, sizeof(feed.tensor));
    int64_t count = 1;
    for (int32_t d = 0; d < feed.info.rank; ++d)
      count *= feed.tensor.dims[d] = feed.info.dims[d];
    feed.bytes.resize(count * weir_dtype_size(feed.info.dtype));
    feed.tensor.data = feed.bytes.data();
    feed.tensor.bytes = int64_t(feed.bytes.size());
    feed.tensor.dtype = feed.info.dtype;
    feed.tensor.rank = feed.info.rank;
    feed.fill(1);
  }
  return feeds;
}

static int32_t run(weir_session *session, int32_t entry, const std::vector<Feed> &feeds,
                   weir_status *status, int32_t threads = 0) {
  std::vector<weir_tensor> tensors;
  for (const Feed &feed : feeds)
    tensors.push_back(feed.tensor);
  weir_tensor fetch = {};
  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  options.threads = threads;
  int32_t code = weir_session_run(session, entry, tensors.data(), int32_t(tensors.size()), &fetch,
                                  1, &options, status);
  weir_session_release(session, &fetch);
  return code;
}

static void checkEntry(weir_session *session, int32_t entry) {
  const weir_program_desc *program = weir_session_program(session);
  std::string name = weir_program_entry_name(program, entry);
  std::vector<Feed> feeds = makeFeeds(program, entry);
  weir_status status = WEIR_STATUS_INIT;
  bool isZero = name.compare(0, 4, "zero") == 0;
  auto each = [&](char kind, int64_t number) {
    for (Feed &feed : feeds)
      if (feed.info.name[0] == kind)
        feed.fill(number);
  };
  if (run(session, entry, feeds, &status))
    fail(name + " does not run: " + status.message);
  std::vector<int64_t> bad = {1000, -1000, std::numeric_limits<int32_t>::max(),
                              std::numeric_limits<int32_t>::min()};
  if (isZero)
    bad = {0};
  for (int64_t number : bad) {
    each('i', number);
    int32_t code = run(session, entry, feeds, &status, 1);
    std::string what = name + " with " + std::to_string(number), message = status.message;
    if (code == WEIR_OK)
      fail(what + " is not refused");
    else if (message.find("node \"" + name + "\"") == std::string::npos)
      fail(what + ": the message names no node: " + message);
    if (run(session, entry, feeds, &status, 3) != code || message != status.message)
      fail(what + ": another message with three threads: " + status.message);
  }
  if (isZero) {
    // The one quotient that does not fit its type: any result, but no trap.
    each('x', std::numeric_limits<int32_t>::min());
    each('i', -1);
    run(session, entry, feeds, &status);
    each('x', 1);
  }
  each('i', 1);
  if (run(session, entry, feeds, &status))
    fail(name + " does not run any more: " + status.message);
}

/// Feeds that contradict the entry, each INVALID_ARGUMENT, naming the feed.
static void checkFeeds(weir_session *session, int32_t entry) {
  const weir_program_desc *program = weir_session_program(session);
  std::vector<Feed> good = makeFeeds(program, entry);
  for (size_t f = 0; f < good.size(); ++f) {
    auto expect = [&](const char *what, auto change) {
      std::vector<Feed> feeds = makeFeeds(program, entry);
      change(feeds[f].tensor);
      weir_status status = WEIR_STATUS_INIT;
      int32_t code = run(session, entry, feeds, &status);
      if (code != WEIR_INVALID_ARGUMENT || !std::strstr(status.message, feeds[f].info.name))
        fail(std::string(what) + " of feed " + feeds[f].info.name + ": " + status.message);
    };
    expect("another type", [](weir_tensor &t) { t.dtype = WEIR_U8; });
    expect("no type", [](weir_tensor &t) { t.dtype = 1000; });
    expect("a rank too much", [](weir_tensor &t) { t.dims[t.rank++] = 1; });
    expect("too many dimensions", [](weir_tensor &t) { t.rank = 1000; });
    expect("a negative rank", [](weir_tensor &t) { t.rank = -1; });
    expect("too few bytes", [](weir_tensor &t) { t.bytes -= 1; });
    expect("no bytes", [](weir_tensor &t) { t.bytes = 0; });
    expect("no data", [](weir_tensor &t) { t.data = nullptr; });
    if (good[f].info.rank == 0)
      continue;
    expect("a rank too few", [](weir_tensor &t) { --t.rank; });
    expect("another size", [](weir_tensor &t) { t.dims[0] += 1; });
    expect("a negative size", [](weir_tensor &t) { t.dims[0] = -1; });
    expect("a size that overflows", [](weir_tensor &t) { t.dims[0] = int64_t(1) << 62; });
  }
  weir_tensor none;
  weir_status status = WEIR_STATUS_INIT;
  if (weir_session_run(session, entry, &none, 0, &none, 1, nullptr, &status) == WEIR_OK)
    fail("a run without feeds succeeds");
  if (weir_session_run(session, 1000, nullptr, 0, nullptr, 0, nullptr, &status) == WEIR_OK ||
      weir_session_run(session, -1, nullptr, 0, nullptr, 0, nullptr, &status) == WEIR_OK)
    fail("an entry that does not exist runs");
}

int main() {
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = 3;
  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  if (bad_create(&options, &session, &status))
    return std::puts(status.message), 1;
  int32_t entries = weir_program_entry_count(weir_session_program(session));
  for (int32_t entry = 0; entry < entries; ++entry) {
    checkEntry(session, entry);
    checkFeeds(session, entry);
  }
  weir_session_destroy(session);
  std::printf("%d entries, %d failures\n", entries, failures);
  return failures != 0;
}

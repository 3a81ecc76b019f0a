//===- sizes.cpp - feeds entries with sizes that may not go together -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every entry is called as the node that it computes. Each size that it leaves open
// becomes 0, 1, 2 and 3, in all combinations; feeds that begin with `s` hold sizes,
// counts or bounds, and become small, negative and huge numbers. A run succeeds, or
// its status names the node (or the feed). Of each entry at least one run must
// succeed, and one must be refused. Program and object are linked with
// AddressSanitizer: reading past the end of a feed ends the program.
//
//===----------------------------------------------------------------------===//

#include "sizes.h"
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

struct Entry {
  weir_session *session;
  int32_t number;
  std::string name;
  int good = 0, refused = 0;

  /// One run with these sizes in place of open ones, in order, and `parameter` in
  /// all feeds that begin with `s`, but `last` in their last place, or in all of `st`.
  void run(const std::vector<int64_t> &sizes, int64_t parameter, int64_t last) {
    const weir_program_desc *program = weir_session_program(session);
    std::vector<weir_tensor> feeds(weir_program_feed_count(program, number));
    std::vector<std::vector<char>> bytes(feeds.size()); // each with an end of its own
    std::string what = name;
    size_t next = 0;
    for (size_t f = 0; f < feeds.size(); ++f) {
      weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
      weir_program_feed(program, number, int32_t(f), &info);
      std::memset(&feeds[f], 0, sizeof(feeds[f]));
      int64_t count = 1, size = weir_dtype_size(info.dtype);
      what += std::string(" ") + info.name + "[";
      for (int32_t d = 0; d < info.rank; ++d) {
        count *= feeds[f].dims[d] = info.dims[d] >= 0 ? info.dims[d] : sizes[next++];
        what += " " + std::to_string(feeds[f].dims[d]);
      }
      what += " ]";
      bytes[f].resize(count * size);
      for (int64_t i = 0; i < count; ++i) {
        bool isLast = count > 1 ? i + 1 == count : info.name[1] == 't';
        int64_t value = info.name[0] != 's' ? 0 : isLast ? last : parameter;
        if (info.dtype == WEIR_F32) {
          float real = info.name[0] == 's' ? float(value) : 1;
          std::memcpy(&bytes[f][i * size], &real, size);
        } else {
          std::memcpy(&bytes[f][i * size], &value, size);
        }
      }
      feeds[f].data = bytes[f].data();
      feeds[f].bytes = int64_t(bytes[f].size());
      feeds[f].dtype = info.dtype;
      feeds[f].rank = info.rank;
    }
    weir_tensor fetch = {};
    weir_status status = WEIR_STATUS_INIT;
    int32_t code = weir_session_run(session, number, feeds.data(), int32_t(feeds.size()), &fetch, 1,
                                    nullptr, &status);
    weir_session_release(session, &fetch);
    what += " (" + std::to_string(parameter) + ", " + std::to_string(last) + ")";
    if (code == WEIR_OK) {
      ++good;
      return;
    }
    ++refused;
    if (!std::strstr(status.message, ("node \"" + name + "\"").c_str()) &&
        !std::strstr(status.message, "feed \"") && !std::strstr(status.message, "fetch \"") &&
        !std::strstr(status.message, "out of memory"))
      fail(what + ": the message names nothing: " + status.message);
    if (code == WEIR_INTERNAL)
      fail(what + ": " + status.message);
  }

  void runAll() {
    const weir_program_desc *program = weir_session_program(session);
    size_t open = 0;
    bool hasParameters = false;
    for (int32_t f = 0; f < weir_program_feed_count(program, number); ++f) {
      weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
      weir_program_feed(program, number, f, &info);
      hasParameters |= info.name[0] == 's';
      for (int32_t d = 0; d < info.rank; ++d)
        open += info.dims[d] < 0;
    }
    std::vector<int64_t> parameters = {1};
    if (hasParameters)
      parameters = {-2,
                    -1,
                    0,
                    1,
                    2,
                    int64_t(1) << 31,
                    int64_t(1) << 62,
                    std::numeric_limits<int64_t>::max(),
                    std::numeric_limits<int64_t>::min()};
    std::vector<int64_t> sizes(open);
    for (bool more = true; more;) {
      for (int64_t parameter : parameters)
        for (int64_t last : parameters)
          run(sizes, parameter, last);
      more = false;
      for (int64_t &size : sizes) {
        if (++size <= 3) {
          more = true;
          break;
        }
        size = 0;
      }
    }
    if (!good || !refused)
      fail(name + ": " + std::to_string(good) + " succeed, " + std::to_string(refused) +
           " are refused");
  }
};

int main() {
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = 2;
  options.memory_limit = 64 << 20;
  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  if (sizes_create(&options, &session, &status))
    return std::puts(status.message), 1;
  const weir_program_desc *program = weir_session_program(session);
  int32_t entries = weir_program_entry_count(program);
  for (int32_t entry = 0; entry < entries; ++entry)
    Entry{session, entry, weir_program_entry_name(program, entry)}.runAll();
  weir_session_destroy(session);
  std::printf("%d entries, %d failures\n", entries, failures);
  return failures != 0;
}

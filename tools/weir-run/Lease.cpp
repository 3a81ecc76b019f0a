//===- Lease.cpp - one process leads a job -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Lease.h"
#include "tools/common/Files.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

namespace fs = std::filesystem;
using namespace weir::tools;

using Seconds = std::chrono::duration<double>;

/// What the file holds; empty: it is not there.
static std::string contentOf(const std::string &file) {
  std::string text, ignored;
  return readFile(file, text, ignored) ? text : std::string();
}

bool Lease::exists(const std::string &file) { return !contentOf(file).empty(); }

/// Under another name first: nobody reads half of it.
bool Lease::write(std::string &reason) {
  std::string fresh = file + "." + id;
  if (!writeFile(fresh, id + " " + std::to_string(++count) + "\n", reason))
    return false;
  if (std::rename(fresh.c_str(), file.c_str()) == 0)
    return true;
  reason = std::strerror(errno);
  return false;
}

bool Lease::take(double patience, std::string &reason) {
  std::random_device random;
  id = std::to_string((uint64_t(random()) << 32) | random());
  std::error_code ignored;
  if (fs::path folder = fs::path(file).parent_path(); !folder.empty())
    fs::create_directories(folder, ignored);
  auto standsStill = [&] {
    std::string before = contentOf(file);
    auto give = std::chrono::steady_clock::now() + Seconds(patience);
    while (!before.empty() && std::chrono::steady_clock::now() < give) {
      std::this_thread::sleep_for(Seconds(patience / 20));
      if (std::string now = contentOf(file); now != before && !now.empty())
        return false;
    }
    return true;
  };
  reason = "another process leads this job, by " + file;
  if (!standsStill() || !write(reason))
    return false;
  // Another that saw it stand still has written by now.
  std::this_thread::sleep_for(Seconds(patience / 10));
  if (!contentOf(file).starts_with(id + " "))
    return false;
  thread = std::thread([this, patience] { renew(patience / 5); });
  return true;
}

void Lease::renew(double interval) {
  int failures = 0;
  std::unique_lock<std::mutex> lock(mutex);
  while (!changed.wait_for(lock, Seconds(interval), [&] { return stop; })) {
    // A folder that is not reached for a moment, or full, is no other leader.
    std::string now = contentOf(file), ignored;
    if (!now.empty() && !now.starts_with(id + " ")) {
      lost = true;
      return;
    }
    failures = write(ignored) ? 0 : failures + 1;
    if (failures > 4)
      lost = true;
  }
}

Lease::~Lease() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stop = true;
  }
  changed.notify_all();
  thread.join();
  if (!lost && contentOf(file).starts_with(id + " "))
    std::remove(file.c_str());
}

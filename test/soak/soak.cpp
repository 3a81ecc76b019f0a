//===- soak.cpp - everything fails once, and then many at once --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: soak IMAGES.f32 LABELS.u8 FOLDER [RUNS [THREADS]]
//
// Is linked with the digits network that trains. First a session lives once for each call
// that it makes of the C library, and in each life another of these calls fails: every
// function returns a status, nothing is left, and what was saved is whole. Then THREADS
// threads (8) make RUNS runs (20,000) on sessions that come and go, while one call of 97
// fails. Prints what happened as lines of a table; 1: something was wrong.
//
//===----------------------------------------------------------------------===//

#include "digits.h"
#include "faults.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

using namespace soak;

namespace {

std::vector<char> images, labels;
std::string folder;
std::vector<float> expected; ///< of all images
std::atomic<int64_t> wrong{0}, refused{0};

const float *pixels() { return reinterpret_cast<const float *>(images.data()); }

void complain(const char *what, const char *why) {
  if (wrong.fetch_add(1) < 20)
    std::fprintf(stderr, "soak: %s: %s\n", what, why);
}

/// Whether the call succeeded; one that failed must say why.
bool good(int32_t code, const weir_status &status, const char *what) {
  if (code != status.code)
    complain(what, "the code returned is not the status's");
  if (code != WEIR_OK && !*status.message)
    complain(what, "a failure without a message");
  refused += code != WEIR_OK;
  return code == WEIR_OK;
}

/// Of `count` images from `first` on: whether predict says what it said at first, by the
/// weights of the model file. False: it failed.
bool predict(weir_session *session, int64_t first, int64_t count) {
  float out[64 * 10];
  weir_status status = WEIR_STATUS_INIT;
  const int64_t dims[] = {count, 1, 8, 8};
  weir_tensor feed = digits_predict_image_tensor(pixels() + 64 * first, dims);
  weir_tensor fetch = digits_predict_probabilities_tensor(out, count * 40);
  if (!good(digits_predict(session, &feed, &fetch, nullptr, &status), status, "predict"))
    return false;
  if (std::memcmp(out, &expected[size_t(first) * 10], size_t(count) * 40) != 0)
    complain("predict", "another result");
  return true;
}

bool train(weir_session *session) {
  float loss = 0;
  int64_t classes[8];
  for (int i = 0; i < 8; ++i)
    classes[i] = labels[size_t(i)];
  weir_status status = WEIR_STATUS_INIT;
  const int64_t dims[] = {8, 1, 8, 8}, rows[] = {8};
  weir_tensor feeds[] = {digits_train_step_image_tensor(pixels(), dims),
                         digits_train_step_labels_tensor(classes, rows)};
  weir_tensor fetch = digits_train_step_loss_tensor(&loss);
  return good(digits_train_step(session, feeds, &fetch, nullptr, &status), status, "train_step");
}

/// A run in the background whose end is waited for, if it has begun.
bool later(weir_session *session) {
  float out[20];
  std::binary_semaphore ended(0);
  weir_status status = WEIR_STATUS_INIT;
  const int64_t dims[] = {2, 1, 8, 8};
  weir_tensor feed = digits_predict_image_tensor(pixels(), dims);
  weir_tensor fetch = digits_predict_probabilities_tensor(out, sizeof(out));
  auto done = [](void *self, const weir_status *end) {
    refused += end->code != WEIR_OK;
    static_cast<std::binary_semaphore *>(self)->release();
  };
  if (!good(weir_session_run_async(session, 0, &feed, 1, &fetch, 1, nullptr, done, &ended, &status),
            status, "run_async"))
    return false;
  ended.acquire();
  return true;
}

/// One session from its making to its end. False: something failed.
bool life(int32_t threads) {
  weir_status status = WEIR_STATUS_INIT;
  weir_session *session = nullptr;
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = threads;
  if (!good(digits_create(&options, &session, &status), status, "create"))
    return false;
  bool all = predict(session, 0, 48);
  all &= train(session);
  all &= later(session);
  const std::string prefix = folder + "/m";
  all &= good(weir_session_save(session, prefix.c_str(), nullptr, &status), status, "save");
  all &= good(weir_session_restore(session, prefix.c_str(), nullptr, &status), status, "restore");
  if (good(weir_session_reset(session, &status), status, "reset"))
    all &= predict(session, 3, 7);
  else
    all = false;
  digits_destroy(session);
  return all;
}

/// What all images come to.
void expect() {
  weir_status status = WEIR_STATUS_INIT;
  weir_session *session = nullptr;
  expected.resize(10 * labels.size());
  const int64_t dims[] = {int64_t(labels.size()), 1, 8, 8};
  weir_tensor feed = digits_predict_image_tensor(pixels(), dims);
  weir_tensor fetch = digits_predict_probabilities_tensor(expected.data(), dims[0] * 40);
  if (!good(digits_create(nullptr, &session, &status), status, "create") ||
      !good(digits_predict(session, &feed, &fetch, nullptr, &status), status, "predict"))
    complain("without faults", status.message);
  digits_destroy(session);
}

/// A checkpoint that was being written when something failed is the one before, or the new one.
void restoreWhole() {
  weir_status status = WEIR_STATUS_INIT;
  weir_session *session = nullptr;
  if (!good(digits_create(nullptr, &session, &status), status, "create") ||
      !good(weir_session_restore(session, (folder + "/m").c_str(), nullptr, &status), status,
            "restore"))
    complain("what was saved", status.message);
  digits_destroy(session);
}

void everyCallOnce() {
  life(3); // what is made once a process
  for (Kind kind : kinds) {
    const int64_t before = failed(), began = refused;
    for (int64_t n = 1;; ++n) {
      const int64_t fired = failed();
      const size_t held = blocksHeld();
      failAt(kind, n);
      life(3);
      failAt(kind, 0);
      if (failed() == fired)
        break;
      if (kind == Kind::Files)
        restoreWhole();
      if (blocksHeld() > held)
        complain(nameOf(kind), ("call " + std::to_string(n) + " leaves memory").c_str());
      if (n > 100000)
        return complain(nameOf(kind), "there is no end");
    }
    if (!life(3))
      complain(nameOf(kind), "fails without a fault");
    std::printf("each call of %s fails once\t%lld faults\t%lld statuses\n", nameOf(kind),
                (long long)(failed() - before), (long long)(refused - began));
  }
}

void manyAtOnce(int64_t runs, int threads) {
  const int64_t before = failed(), began = refused;
  const size_t held = blocksHeld();
  std::atomic<int64_t> left{runs}, sessions{0};
  auto start = std::chrono::steady_clock::now();
  failOften(97);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      while (left > 0) {
        weir_session *session = nullptr;
        weir_status status = WEIR_STATUS_INIT;
        weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
        options.threads = 1 + t % 2;
        if (!good(digits_create(&options, &session, &status), status, "create"))
          continue;
        ++sessions;
        for (int i = 0; i < 50 && left-- > 0; ++i) {
          if (i % 16 == 15)
            later(session);
          else
            predict(session, (t + i) % 300, 1 + i % 4);
        }
        digits_destroy(session);
      }
    });
  for (std::thread &worker : workers)
    worker.join();
  failOften(0);
  if (blocksHeld() > held)
    complain("threads", "memory is left");
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%lld runs, %d threads, %lld sessions\t%lld faults\t%lld statuses\t%.0f s\n",
              (long long)runs, threads, (long long)sessions.load(), (long long)(failed() - before),
              (long long)(refused - began), took.count());
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4)
    return std::puts("usage: soak IMAGES.f32 LABELS.u8 FOLDER [RUNS [THREADS]]"), 2;
  auto bytesOf = [](const char *path) {
    std::ifstream file(path, std::ios::binary);
    return std::vector<char>{std::istreambuf_iterator<char>(file), {}};
  };
  images = bytesOf(argv[1]);
  labels = bytesOf(argv[2]);
  folder = argv[3];
  if (labels.size() < 360)
    return std::puts("soak: expected 360 images"), 2;
  expect();
  everyCallOnce();
  manyAtOnce(argc > 4 ? std::atoll(argv[4]) : 20000, argc > 5 ? std::atoi(argv[5]) : 8);
  std::puts(wrong ? "soak: failed" : "soak: passed");
  return wrong ? 1 : 0;
}

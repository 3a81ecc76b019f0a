//===- test_program.h - programs put together by hand -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What weirc would emit, built from C++ so that a test can say what it needs. A
// TestProgram owns all storage of its descriptor.

#ifndef WEIR_TEST_UNIT_RUNTIME_TEST_PROGRAM_H
#define WEIR_TEST_UNIT_RUNTIME_TEST_PROGRAM_H

#include "weir/abi.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

namespace weir::rt::test {

/// What a step's frame on the heap is resumed by: does what it waited for (take()s what
/// came, most often), advance()s, and, unless it waits again, deletes the frame and ends
/// the step.
template <typename Frame, int32_t (Frame::*next)() = &Frame::take> void resumeFrame(void *frame) {
  auto *self = static_cast<Frame *>(frame);
  int32_t code = (self->*next)();
  if (code == WEIR_OK)
    code = self->advance();
  if (code == WEIR_PENDING)
    return;
  weir_context *ctx = self->ctx;
  delete self;
  weir_rt_step_done(ctx, code);
}

struct TestTensor {
  std::string name;
  int32_t dtype = WEIR_F32;
  std::vector<int64_t> dims = {};
  std::vector<int64_t> lower = {}, upper = {};
  std::vector<int32_t> symbols = {};
  int32_t rank = -2; ///< -2: as many as dims
};

class TestProgram {
public:
  TestProgram() {
    desc.size = sizeof(desc);
    desc.abi_version = WEIR_ABI_VERSION;
    desc.name = "test";
    desc.compiler = "0.1.0";
    desc.hash[0] = 0x1234;
    desc.hash[1] = 0x5678;
    device("/job:localhost/task:0/device:CPU:0", 4096);
  }
  TestProgram(const TestProgram &) = delete;

  void device(const char *name, int64_t arenaBytes) { devices.push_back({name, arenaBytes, 64}); }
  void freeze(int32_t variables) { desc.frozen_count = variables; }
  void rename(int32_t device, const char *name) { devices[size_t(device)].name = name; }
  /// Replaces device 0's arena.
  void arena(int64_t bytes, int64_t align = 64) {
    devices[0].arena_bytes = bytes;
    devices[0].arena_align = align;
  }

  void entry(const char *name, std::vector<TestTensor> feeds, std::vector<TestTensor> fetches,
             std::vector<weir_step_fn> steps) {
    auto &f = tensors(std::move(feeds));
    auto &g = tensors(std::move(fetches));
    auto &s = stepLists.emplace_back(std::move(steps));
    entries.push_back(
        {name, int32_t(f.size()), int32_t(g.size()), f.data(), g.data(), s.data(), 0});
  }

  int32_t site(const char *node, const char *operation, const char *message, int32_t code) {
    sites.push_back({node, operation, message, code, 0});
    return int32_t(sites.size()) - 1;
  }

  int32_t kernel(const char *name, const char *nodes) {
    kernels.push_back({name, nodes, 100, 200});
    return int32_t(kernels.size()) - 1;
  }

  int32_t edge(const char *name, int32_t source, int32_t destination) {
    edges.push_back({name, source, destination});
    return int32_t(edges.size()) - 1;
  }

  /// A collective of devices 0 to `ranks` - 1, with edges of its own. `driver` is
  /// &weir_collectives.
  const weir_collective_desc &collective(int32_t entry, int32_t kind, int32_t reduction,
                                         int32_t ranks, const weir_collective_driver *driver) {
    auto &made = rankLists.emplace_back();
    for (int32_t r = 0; r < ranks; ++r) {
      int32_t parent = r & (r - 1);
      made.push_back({r, edge("input", r, r), edge("output", r, r),
                      edge("ring", r, (r + 1) % ranks), r ? edge("up", r, parent) : -1,
                      r ? edge("down", parent, r) : -1});
    }
    desc.collective_driver = driver;
    return collectives.emplace_back(
        weir_collective_desc{"reduced", entry, kind, reduction, ranks, made.data()});
  }

  int32_t custom(const char *name, const char *nodes, weir_library_fn fallback = nullptr) {
    customs.push_back({name, nodes, fallback});
    return int32_t(customs.size()) - 1;
  }

  /// `initial` < 0: none.
  int32_t slot(const char *name, int32_t dtype, std::vector<int64_t> dims, int64_t initial,
               int64_t bytes, int32_t flags = 0) {
    auto &d = dimLists.emplace_back(std::move(dims));
    slots.push_back({name, "", "", WEIR_SLOT_VARIABLE, dtype, int32_t(d.size()), flags, d.data(),
                     initial, bytes});
    return int32_t(slots.size()) - 1;
  }

  template <typename T> void blobs(const std::vector<T> &values) {
    blobBytes.assign(reinterpret_cast<const uint8_t *>(values.data()),
                     reinterpret_cast<const uint8_t *>(values.data() + values.size()));
  }

  const weir_program_desc *get() {
    desc.device_count = int32_t(devices.size());
    desc.entry_count = int32_t(entries.size());
    desc.slot_count = int32_t(slots.size());
    desc.site_count = int32_t(sites.size());
    desc.kernel_count = int32_t(kernels.size());
    desc.edge_count = int32_t(edges.size());
    desc.custom_count = int64_t(customs.size());
    desc.devices = devices.data();
    desc.entries = entries.data();
    desc.slots = slots.data();
    desc.sites = sites.data();
    desc.kernels = kernels.data();
    desc.edges = edges.data();
    desc.customs = customs.data();
    desc.collectives = collectives.data();
    desc.collective_count = int64_t(collectives.size());
    desc.blobs = blobBytes.data();
    desc.blob_bytes = int64_t(blobBytes.size());
    return &desc;
  }

  weir_program_desc desc = {};
  std::vector<uint8_t> blobBytes;

private:
  std::vector<weir_tensor_desc> &tensors(std::vector<TestTensor> list) {
    auto &descs = tensorLists.emplace_back();
    for (TestTensor &tensor : list) {
      TestTensor &t = kept.emplace_back(std::move(tensor));
      int32_t rank = t.rank == -2 ? int32_t(t.dims.size()) : t.rank;
      descs.push_back({t.name.c_str(), t.dtype, rank, t.dims.data(),
                       t.lower.empty() ? nullptr : t.lower.data(),
                       t.upper.empty() ? nullptr : t.upper.data(),
                       t.symbols.empty() ? nullptr : t.symbols.data()});
    }
    return descs;
  }

  std::deque<TestTensor> kept;
  std::deque<std::vector<weir_tensor_desc>> tensorLists;
  std::deque<std::vector<weir_step_fn>> stepLists;
  std::deque<std::vector<int64_t>> dimLists;
  std::vector<weir_device_desc> devices;
  std::vector<weir_entry_desc> entries;
  std::vector<weir_slot_desc> slots;
  std::vector<weir_error_site> sites;
  std::vector<weir_kernel_desc> kernels;
  std::vector<weir_edge_desc> edges;
  std::vector<weir_custom_desc> customs;
  std::deque<std::vector<weir_collective_rank>> rankLists;
  std::vector<weir_collective_desc> collectives;
};

/// A session that is destroyed with the scope.
class TestSession {
public:
  explicit TestSession(const weir_program_desc *program) : TestSession(program, defaults()) {}
  TestSession(const weir_program_desc *program, weir_session_options options) {
    code = weir_session_create(program, &options, &session, &status);
  }
  ~TestSession() { weir_session_destroy(session); }
  TestSession(const TestSession &) = delete;

  static weir_session_options defaults(int32_t threads = 2) {
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.threads = threads;
    return options;
  }

  int32_t run(std::vector<weir_tensor> feeds, std::vector<weir_tensor> *fetches,
              const weir_run_options *options = nullptr, int32_t entry = 0) {
    return weir_session_run(session, entry, feeds.data(), int32_t(feeds.size()),
                            fetches ? fetches->data() : nullptr,
                            fetches ? int32_t(fetches->size()) : 0, options, &status);
  }

  operator weir_session *() { return session; }
  std::string message() const { return status.message; }

  weir_session *session = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  int32_t code = 0;
};

template <typename T>
weir_tensor tensorOf(std::vector<T> &values, int32_t dtype, std::vector<int64_t> dims) {
  weir_tensor tensor = {};
  tensor.data = values.data();
  tensor.bytes = int64_t(values.size() * sizeof(T));
  tensor.dtype = dtype;
  tensor.rank = int32_t(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    tensor.dims[i] = dims[i];
  return tensor;
}

inline weir_tensor floats(std::vector<float> &values, std::vector<int64_t> dims) {
  return tensorOf(values, WEIR_F32, std::move(dims));
}

/// An i64 scalar in the caller's memory.
inline weir_tensor scalar(int64_t *value) {
  weir_tensor tensor = {};
  tensor.data = value;
  tensor.bytes = 8;
  tensor.dtype = WEIR_I64;
  return tensor;
}

/// What a step gives as its first fetch, an i64 scalar.
inline int32_t giveScalar(weir_context *ctx, int64_t value) {
  void *out = weir_rt_fetch(ctx, 0, 0, nullptr, 8);
  if (!out)
    return WEIR_INTERNAL;
  std::memcpy(out, &value, 8);
  return 0;
}

} // namespace weir::rt::test

#endif // WEIR_TEST_UNIT_RUNTIME_TEST_PROGRAM_H

//===- pipelines.h - a program over data sets, put together by hand -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_RUNTIME_PIPELINES_H
#define WEIR_TEST_UNIT_RUNTIME_PIPELINES_H

#include "kernel_call.h"
#include "weir/datasets.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>
#include <tuple>

namespace weir::rt::test {

namespace fs = std::filesystem;

/// A folder that goes with the test.
struct Folder {
  std::string path = fs::temp_directory_path() / "weir-datasets-XXXXXX";
  Folder() { path = mkdtemp(path.data()); }
  ~Folder() { fs::remove_all(path); }
  std::string in(const char *name) const { return path + "/" + name; }
};

/// Something that one thread waits for, and another does.
class Event {
public:
  void happen() { happened = true; }
  void wait() const {
    while (!happened)
      std::this_thread::yield();
  }

private:
  std::atomic<bool> happened{false};
};

inline weir_tensor textOf(weir_string &text, const char *characters) {
  text = {characters, int64_t(strlen(characters))};
  weir_tensor tensor = {};
  tensor.data = &text;
  tensor.bytes = sizeof(text);
  tensor.dtype = WEIR_STRING;
  return tensor;
}

inline int32_t call(weir_context *ctx, weir_library_fn function, std::vector<weir_tensor> operands,
                    weir_tensor *result, std::vector<int64_t> attributes) {
  return weir_rt_library(ctx, function, 0, operands.data(), int32_t(operands.size()), result,
                         result ? 1 : 0, attributes.data());
}

/// A data set over others, with a function of the program (null: none) and integers.
struct Made {
  weir_context *ctx;
  int32_t code = WEIR_OK;

  weir_tensor operator()(weir_dataset_kind kind, std::vector<weir_tensor> inputs,
                         const char *function, std::vector<int64_t> parameters) {
    weir_tensor result = {};
    result.dtype = WEIR_TENSOR;
    result.rank = 1;
    result.dims[0] = -1;
    if (code)
      return result;
    std::vector<int64_t> attributes = {kind, 0, int64_t(inputs.size()), function != nullptr, 0, 0};
    weir_string text;
    if (function)
      inputs.push_back(textOf(text, function));
    for (int64_t &parameter : parameters)
      inputs.push_back(integer(parameter));
    code = call(ctx, weir_kernel_dataset, inputs, &result, attributes);
    return result;
  }
  weir_tensor range(int64_t stop, int64_t start = 0) {
    return (*this)(WEIR_DATASET_RANGE, {}, nullptr, {start, stop, 1, 0});
  }
};

using MakePipeline = std::function<weir_tensor(Made &)>;
inline MakePipeline pipelines[2];                ///< of iterators "a" and "b"
inline std::function<int32_t(int64_t &)> mapped; ///< what the function "map" does
inline constexpr const char *names[] = {"a", "b"};

template <int which> int32_t beginStep(weir_context *ctx) {
  Made made{ctx};
  weir_tensor dataset = pipelines[which](made);
  weir_string text;
  return made.code ? made.code
                   : call(ctx, weir_kernel_iterator_make, {textOf(text, names[which]), dataset},
                          nullptr, {});
}

/// Waits for an element of an iterator, which is an integer.
struct NextFrame {
  void (*resume)(void *);
  weir_context *ctx;
  const char *name;
  int64_t ticket = 0;
  bool isAsked = false;

  int32_t advance() {
    if (!isAsked) {
      isAsked = true;
      weir_string text;
      weir_tensor result = {};
      result.dtype = WEIR_I64;
      if (int32_t code = call(ctx, weir_kernel_iterator_next, {textOf(text, name)}, &result, {}))
        return code;
      ticket = *static_cast<int64_t *>(result.data);
      if (!weir_rt_wait_ready(ctx, ticket, this))
        return WEIR_PENDING;
      return take();
    }
    return WEIR_OK;
  }
  int32_t take() {
    weir_tensor result = {};
    result.dtype = WEIR_I64;
    if (int32_t code = call(ctx, weir_kernel_iterator_finish, {integer(ticket)}, &result, {0}))
      return code;
    return giveScalar(ctx, *static_cast<int64_t *>(result.data));
  }
};

template <int which> int32_t nextStep(weir_context *ctx) {
  auto *frame = new NextFrame{resumeFrame<NextFrame>, ctx, names[which]};
  int32_t code = frame->advance();
  if (code != WEIR_PENDING)
    delete frame;
  return code;
}

/// The iterator "once" over the data set of the function "make", and its next element.
inline int32_t onceStep(weir_context *ctx) {
  weir_string name, function;
  if (int32_t code = call(ctx, weir_kernel_iterator_make_once,
                          {textOf(name, "once"), textOf(function, "make")}, nullptr, {}))
    return code;
  auto *frame = new NextFrame{resumeFrame<NextFrame>, ctx, "once"};
  int32_t code = frame->advance();
  if (code != WEIR_PENDING)
    delete frame;
  return code;
}

inline int32_t reserve(weir_context *ctx, int64_t blocks, int64_t *before) {
  weir_string text;
  weir_tensor result = {};
  result.dtype = WEIR_I64;
  int32_t code = call(ctx, weir_kernel_random_reserve, {textOf(text, "0 random"), integer(blocks)},
                      &result, {});
  if (!code)
    *before = *static_cast<int64_t *>(result.data);
  return code;
}

inline int32_t drawnStep(weir_context *ctx) {
  int64_t drawn;
  int32_t code = reserve(ctx, 0, &drawn);
  return code ? code : giveScalar(ctx, drawn);
}

inline int32_t giveDataset(weir_context *ctx, const weir_tensor &dataset) {
  void *out = weir_rt_fetch(ctx, 0, dataset.rank, dataset.dims, dataset.bytes);
  if (!out)
    return WEIR_INTERNAL;
  std::memcpy(out, dataset.data, size_t(dataset.bytes));
  return WEIR_OK;
}

inline int64_t argument(weir_context *ctx) {
  return *static_cast<const int64_t *>(ctx->feeds[0].data);
}

inline int32_t mapStep(weir_context *ctx) {
  int64_t value = argument(ctx);
  if (int32_t code = mapped(value))
    return weir_rt_error_text(ctx, 0, code, "as the test wants it", 0, 0);
  return giveScalar(ctx, value);
}

/// Two integers from ten times the argument on; what it draws is of no use.
inline int32_t spreadStep(weir_context *ctx) {
  Made made{ctx};
  int64_t value = argument(ctx), drawn = 0;
  if (int32_t code = mapped(value))
    return weir_rt_error_text(ctx, 0, code, "as the test wants it", 0, 0);
  weir_tensor dataset = made.range(10 * value + 2, 10 * value);
  int32_t code = made.code ? made.code : reserve(ctx, 1, &drawn);
  return code ? code : giveDataset(ctx, dataset);
}

inline int32_t makeStep(weir_context *ctx) {
  Made made{ctx};
  int64_t value = 0;
  std::ignore = mapped(value);
  weir_tensor dataset = made.range(10);
  return made.code ? made.code : giveDataset(ctx, dataset);
}

/// Happens when "nested" is called for another element than the first three; null: nothing does.
inline Event *nestedAsks;

/// The next element of "b", whatever the argument is.
inline int32_t nestedStep(weir_context *ctx) {
  if (nestedAsks && argument(ctx) > 2)
    nestedAsks->happen();
  return nextStep<1>(ctx);
}

enum Entry : int32_t { BeginA, BeginB, NextA, NextB, Once, Drawn };

/// Entries over all of these, and the functions "map", "spread", "make" and "nested".
struct Pipelines : TestProgram {
  Pipelines() {
    mapped = [](int64_t &) { return WEIR_OK; };
    site("the/node", "TheOp", "?", WEIR_INTERNAL);
    TestTensor number = {"y", WEIR_I64, {}}, dataset = {"y", WEIR_TENSOR, {-1}};
    entry("begin a", {}, {}, {beginStep<0>});
    entry("begin b", {}, {}, {beginStep<1>});
    entry("next a", {}, {number}, {nextStep<0>});
    entry("next b", {}, {number}, {nextStep<1>});
    entry("once", {}, {number}, {onceStep});
    entry("drawn", {}, {number}, {drawnStep});
    entry("map", {{"x", WEIR_I64, {}}}, {number}, {mapStep});
    entry("spread", {{"x", WEIR_I64, {}}}, {dataset}, {spreadStep});
    entry("make", {}, {dataset}, {makeStep});
    entry("nested", {{"x", WEIR_I64, {}}}, {number}, {nestedStep});
    get();
    constexpr int32_t functions = 4;
    desc.entry_count -= functions;
    desc.hidden_entry_count = functions;
  }
};

struct Session : TestSession {
  explicit Session(Pipelines &program) : TestSession(&program.desc) {}

  /// What an entry gives, or minus its error.
  int64_t give(Entry entry, const weir_run_options *options = nullptr) {
    int64_t value = 0;
    std::vector<weir_tensor> fetches = {scalar(&value)};
    weir_status own = WEIR_STATUS_INIT;
    int32_t code = weir_session_run(session, entry, nullptr, 0, fetches.data(), 1, options, &own);
    return code ? -int64_t(code) : value;
  }
  int32_t begin(Entry entry) { return run({}, nullptr, nullptr, entry); }
  int32_t save(const std::string &prefix) {
    weir_status own = WEIR_STATUS_INIT;
    return weir_session_save(session, prefix.c_str(), nullptr, &own);
  }
  int32_t restore(const std::string &prefix) {
    return weir_session_restore(session, prefix.c_str(), nullptr, &status);
  }
};

} // namespace weir::rt::test

#endif // WEIR_TEST_UNIT_RUNTIME_PIPELINES_H

//===- Nccl.cpp - an NCCL that computes on the host ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libnccl.so.2 beside the recording driver: $WEIR_NCCL names it. A
// collective is two operations in each of its streams: one gives what the GPU has,
// the other waits for all that was given, and takes the result. Both are accesses
// that the driver checks. Sums begin with another GPU in each piece, as a ring's
// do. Refused, and told as problems: groups without all of a clique's GPUs, calls
// that do not agree, streams of other GPUs, and collectives of one GPU that streams
// and events do not order.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/nccl_api.h"
#include "test/cuda/recorder/Numbers.h"
#include "test/cuda/recorder/Recorder.h"

#include <algorithm>
#include <memory>

using namespace recorder;

namespace weir::rt::cuda {
struct CommunicatorTag {
  std::shared_ptr<std::vector<CommunicatorTag *>> clique; ///< by rank
  int rank, device;
};
} // namespace weir::rt::cuda

extern "C" Result cuCtxPushCurrent_v2(Context context);
extern "C" Result cuCtxPopCurrent_v2(Context *context);

namespace {

constexpr int32_t cudaError = 1, invalidArgument = 4, invalidUsage = 5;
constexpr size_t pieceElements = 100;

struct Call {
  uint64_t from, to;
  size_t count;
  int type, operation;
  int root; ///< rank that alone gets the result; -1: all do
  Communicator communicator;
  Stream stream;
};

/// Of the thread: calls of the group that it has begun.
thread_local int depth = 0;
thread_local int32_t failed = 0; ///< of one of its calls: then none is carried out
thread_local std::vector<Call> group;

/// The collective that was put last, by GPU. Guarded by the recorder's mutex.
struct Last {
  StreamTag *stream;
  uint64_t number;
};
std::map<int, Last> lastOn;

size_t bytesOf(int type) {
  constexpr size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return bytes[type];
}

template <typename T> T combine(int operation, T a, T b) {
  if (operation == nccl::max || operation == nccl::min)
    return operation == nccl::max ? std::max(a, b) : std::min(a, b);
  if constexpr (std::is_integral_v<T>) { // modulo its width
    auto x = std::make_unsigned_t<T>(a), y = std::make_unsigned_t<T>(b);
    return T(operation == nccl::sum ? uint64_t(x) + y : uint64_t(x) * y);
  } else {
    return operation == nccl::sum ? a + b : a * b;
  }
}

using Given = std::vector<std::vector<uint8_t>>; ///< by rank

template <typename T> void reduceIntegers(const Given &given, const Call &call, uint8_t *out) {
  for (size_t i = 0; i < call.count; ++i) {
    T all = 0;
    for (size_t turn = 0; turn < given.size(); ++turn) {
      T value;
      std::memcpy(&value, given[turn].data() + i * sizeof(T), sizeof(T));
      all = turn ? combine(call.operation, all, value) : value;
    }
    std::memcpy(out + i * sizeof(T), &all, sizeof(T));
  }
}

/// Rounded to the type at each step.
void reduceFloats(const Given &given, const Call &call, uint8_t *out) {
  Form form = call.type == nccl::float64   ? Form::F64
              : call.type == nccl::float32 ? Form::F32
              : call.type == nccl::float16 ? Form::F16
                                           : Form::Bf16;
  auto to = uint64_t(out);
  for (size_t i = 0; i < call.count; ++i)
    for (size_t turn = 0; turn < given.size(); ++turn) {
      size_t rank = (i / pieceElements + 1 + turn) % given.size();
      double value = load(form, uint64_t(given[rank].data()), int64_t(i));
      store(form, to, int64_t(i),
            turn ? combine(call.operation, load(form, to, int64_t(i)), value) : value);
    }
}

void reduce(const Given &given, const Call &call) {
  recorder::recorder().touch(call.to, call.count * bytesOf(call.type), true);
  auto *out = reinterpret_cast<uint8_t *>(call.to);
  switch (call.type) {
  case nccl::int8:
    return reduceIntegers<int8_t>(given, call, out);
  case nccl::uint8:
    return reduceIntegers<uint8_t>(given, call, out);
  case nccl::int32:
    return reduceIntegers<int32_t>(given, call, out);
  case nccl::uint32:
    return reduceIntegers<uint32_t>(given, call, out);
  case nccl::int64:
    return reduceIntegers<int64_t>(given, call, out);
  case nccl::uint64:
    return reduceIntegers<uint64_t>(given, call, out);
  default:
    return reduceFloats(given, call, out);
  }
}

/// Puts an operation into a stream of whatever GPU. The mutex is held.
void put(Stream stream, const char *what, std::function<void(Operation &)> work) {
  Recorder &r = recorder::recorder();
  cuCtxPushCurrent_v2(&r.contexts[stream->device]);
  r.put(stream, what, std::move(work));
  Context ignored;
  cuCtxPopCurrent_v2(&ignored);
}

/// Puts one call of each rank. The mutex is held.
void putCollective(const std::vector<Call> &calls) {
  auto given = std::make_shared<Given>(calls.size());
  Clock all;
  for (size_t rank = 0; rank < calls.size(); ++rank) {
    const Call &call = calls[rank];
    int device = call.stream->device;
    auto found = lastOn.find(device);
    Last before = found == lastOn.end() ? Last{nullptr, 0} : found->second;
    put(call.stream, "NCCL", [given, call, rank, before](Operation &operation) {
      Recorder &r = recorder::recorder();
      if (before.stream && before.stream != operation.stream &&
          operation.clock[before.stream] < before.number)
        throw std::runtime_error("two collectives of one GPU are not ordered");
      size_t bytes = call.count * bytesOf(call.type);
      r.touch(call.from, bytes, false);
      auto *from = reinterpret_cast<const uint8_t *>(call.from);
      (*given)[rank].assign(from, from + bytes);
    });
    all[call.stream] = call.stream->put;
  }
  for (const Call &call : calls) {
    bool gets = call.root < 0 || call.root == call.communicator->rank;
    put(call.stream, "NCCL", [given, call, gets](Operation &) {
      if (gets)
        reduce(*given, call);
    });
    call.stream->queue.back().target = all;
    lastOn[call.stream->device] = {call.stream, call.stream->put};
  }
}

/// The calls of one clique in a group, by rank and in their order; empty: told why
/// they are refused.
std::vector<std::vector<Call>> sortCalls(const std::vector<Communicator> &clique) {
  Recorder &r = recorder::recorder();
  std::vector<std::vector<Call>> byRank(clique.size());
  for (const Call &call : group)
    if (call.communicator->clique.get() == &clique)
      byRank[size_t(call.communicator->rank)].push_back(call);
  for (const std::vector<Call> &calls : byRank) {
    if (calls.size() != byRank[0].size()) {
      r.problem("a group without all of a clique's GPUs");
      return {};
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      const Call &call = calls[i], &first = byRank[0][i];
      if (call.count != first.count || call.type != first.type ||
          call.operation != first.operation || call.root != first.root) {
        r.problem("calls of one collective do not agree");
        return {};
      }
      if (call.stream->device != call.communicator->device || call.stream->capturing) {
        r.problem("a collective in a stream that is another GPU's, or captures");
        return {};
      }
    }
  }
  return byRank;
}

} // namespace

#define ENTER_LIBRARY(name)                                                                        \
  if (recorder::recorder().failsLibrary(name))                                                     \
    return cudaError;

extern "C" {

const char *ncclGetErrorString(int32_t error) {
  return error == invalidUsage ? "invalid usage" : "unhandled cuda error";
}

int32_t ncclCommInitAll(Communicator *communicators, int count, const int *devices) {
  ENTER_LIBRARY("ncclCommInitAll")
  Recorder &r = recorder::recorder();
  std::lock_guard<std::mutex> lock(r.mutex);
  auto clique = std::make_shared<std::vector<CommunicatorTag *>>();
  for (int rank = 0; rank < count; ++rank) {
    if (std::count(devices, devices + count, devices[rank]) != 1)
      return invalidUsage;
    lastOn.erase(devices[rank]);
    clique->push_back(new CommunicatorTag{clique, rank, devices[rank]});
  }
  std::copy(clique->begin(), clique->end(), communicators);
  return 0;
}

static int32_t drop(Communicator communicator) {
  // The last one of a clique lets go of it.
  auto clique = communicator->clique;
  (*clique)[size_t(communicator->rank)] = nullptr;
  communicator->clique.reset();
  delete communicator;
  return 0;
}
int32_t ncclCommDestroy(Communicator communicator) {
  ENTER_LIBRARY("ncclCommDestroy")
  return drop(communicator);
}
int32_t ncclCommAbort(Communicator communicator) {
  ENTER_LIBRARY("ncclCommAbort")
  return drop(communicator);
}

int32_t ncclGroupStart() {
  ENTER_LIBRARY("ncclGroupStart")
  ++depth;
  return 0;
}

static int32_t join(const char *name, const Call &call) {
  if (recorder::recorder().failsLibrary(name))
    return failed = cudaError;
  if (call.type < nccl::int8 || call.type > nccl::bfloat16 || call.operation < nccl::sum ||
      call.operation > nccl::min || call.root >= int(call.communicator->clique->size()))
    return invalidArgument;
  if (depth == 0) {
    Recorder &r = recorder::recorder();
    std::lock_guard<std::mutex> lock(r.mutex);
    r.problem("a collective outside of a group, which would wait for the other GPUs");
    return invalidUsage;
  }
  group.push_back(call);
  return 0;
}

int32_t ncclAllReduce(const void *from, void *to, size_t count, int type, int operation,
                      Communicator communicator, Stream stream) {
  return join("ncclAllReduce",
              {uint64_t(from), uint64_t(to), count, type, operation, -1, communicator, stream});
}
int32_t ncclReduce(const void *from, void *to, size_t count, int type, int operation, int root,
                   Communicator communicator, Stream stream) {
  if (root < 0)
    return invalidArgument;
  return join("ncclReduce",
              {uint64_t(from), uint64_t(to), count, type, operation, root, communicator, stream});
}

int32_t ncclGroupEnd() {
  bool fails = recorder::recorder().failsLibrary("ncclGroupEnd");
  if (--depth > 0)
    return fails ? cudaError : 0;
  if (!fails)
    fails = failed;
  failed = 0;
  Recorder &r = recorder::recorder();
  std::lock_guard<std::mutex> lock(r.mutex);
  int32_t error = fails ? cudaError : 0;
  std::set<std::vector<CommunicatorTag *> *> done;
  for (const Call &call : group) {
    auto *clique = call.communicator->clique.get();
    if (error || !done.insert(clique).second)
      continue;
    auto byRank = sortCalls(*clique);
    if (byRank.empty())
      error = invalidUsage;
    for (size_t i = 0; !error && i < byRank[0].size(); ++i) {
      std::vector<Call> calls;
      for (const std::vector<Call> &each : byRank)
        calls.push_back(each[i]);
      putCollective(calls);
    }
  }
  group.clear();
  return error;
}

} // extern "C"

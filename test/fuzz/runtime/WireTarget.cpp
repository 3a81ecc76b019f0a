//===- WireTarget.cpp - libFuzzer: messages between tasks -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two tasks of one process know each other. The input is a list of messages that the second one
// has the first one receive, as UCX hands them over: with headers of fields that may be right, or
// of any bytes. The first task drops what makes no sense, or ends the step that it belongs to; what
// comes in the end is a run that the second task leads, of which the first does its part.
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/cluster_members.h"

#include "cluster/task_set.h"

#include <cstdio>
#include <fuzzer/FuzzedDataProvider.h>

using namespace weir::rt::test;

namespace weir::rt::cluster {

/// Hands its reads to the run, and the other task's answer back.
static int32_t answer(weir_context *ctx, const weir_tensor &value) {
  int32_t code = weir_rt_send(ctx, 0, 0, &value);
  return code ? code : fetch(ctx, 0, value);
}
static int32_t step(weir_context *ctx) { return Relay::start(ctx, 1, answer); }

class WireFuzzer {
public:
  WireFuzzer() : tasks(2) {
    program.rename(0, "/job:worker/replica:0/task:0/device:CPU:0");
    program.device("/job:worker/replica:0/task:1/device:CPU:0", 0);
    program.edge("answer:0;here;there", 0, 1);
    program.edge("value:0;there;here", 1, 0);
    program.entry("main", {{"x", WEIR_F32, {-1}}}, {{"y", WEIR_F32, {-1}}}, {step, nullptr});
    std::thread other([&] { second = join(1); });
    first = join(0);
    other.join();
    // From here on this thread alone moves the first task's messages.
    while (!first.set->turn.tryTake())
      sched_yield();
  }

  void run(const uint8_t *data, size_t size) {
    std::shared_ptr<Connection> connection = await();
    FuzzedDataProvider in(data, size);
    for (int i = 0; i < 16 && in.remaining_bytes() > 0; ++i)
      say(*connection, in);
    settle(connection);
  }

private:
  struct Task {
    std::unique_ptr<TaskSet> set;
    weir_session *session = nullptr;
  };

  Task join(int own) {
    weir_cluster_options options = tasks.options(own);
    options.timeout_ms = 60000;
    Problem problem;
    Task made;
    made.set = TaskSet::create(options, problem);
    weir_session_options sessionOptions = TestSession::defaults(1);
    weir_status status = WEIR_STATUS_INIT;
    sessionOptions.transport = made.set ? made.set->transport() : nullptr;
    if (!made.set || weir_session_create(program.get(), &sessionOptions, &made.session, &status)) {
      fprintf(stderr, "no task: %s%s\n", problem.text.c_str(), status.message);
      abort();
    }
    return made;
  }

  /// The connection, which a message may have ended.
  std::shared_ptr<Connection> await() {
    // Where many others compute a handshake may take several turns.
    for (int i = 0; i < 300000; ++i) {
      {
        Lock lock(first.set->mutex);
        Peer &peer = first.set->peers[1];
        // What it said of its steps is of the input before.
        peer.oldest = 0;
        if (peer.state == Peer::here)
          if (auto connection = first.set->ucx.connectionOf(1))
            return connection;
      }
      pump();
      usleep(1000);
    }
    fprintf(stderr, "the tasks do not find each other again\n");
    abort();
  }

  StepKey keyOf(FuzzedDataProvider &in) {
    uint8_t which = in.ConsumeIntegral<uint8_t>();
    StepKey key;
    key.incarnation = which % 8 == 7   ? in.ConsumeIntegral<uint64_t>()
                      : which % 8 == 6 ? first.set->incarnation
                                       : second.set->incarnation;
    key.number = which & 8 ? in.ConsumeIntegral<int64_t>() : in.ConsumeIntegralInRange(1, 4);
    key.leader = which & 16 ? in.ConsumeIntegral<int8_t>() : which & 32 ? 0 : 1;
    return key;
  }

  void say(Connection &connection, FuzzedDataProvider &in) {
    uint8_t how = in.ConsumeIntegral<uint8_t>();
    std::string header, bytes;
    if (how % 8 == 0) {
      ShortHeader made;
      memset(&made, 0, sizeof(made));
      in.ConsumeData(&made, sizeof(made));
      if (how & 8) {
        made.number = made.number % 4 + 1;
        made.edge %= 2;
        made.rank %= 5;
      }
      made.nonce = uint32_t(connection.mine);
      bytes.assign(reinterpret_cast<char *>(&made), sizeof(made));
      bytes += in.ConsumeBytesAsString(in.ConsumeIntegralInRange<size_t>(0, 200));
      return hand(connection, Connection::onShort, header, bytes);
    }
    Header made = {};
    if (how % 8 == 1) {
      in.ConsumeData(&made, sizeof(made));
    } else {
      made.kind = Kind(in.ConsumeIntegralInRange<uint8_t>(0, uint8_t(Kind::last) + 1));
      made.dtype = how & 8 ? in.ConsumeIntegral<uint8_t>() : uint8_t(WEIR_F32);
      made.rank = how & 16 ? in.ConsumeIntegral<uint8_t>() : 1;
      made.index = how & 32 ? in.ConsumeIntegral<int32_t>() : in.ConsumeIntegralInRange(0, 1);
      made.step = keyOf(in);
      made.iteration = how & 64 ? in.ConsumeIntegral<int64_t>() : 0;
      made.count = in.ConsumeIntegralInRange<int32_t>(-1, 2);
      bytes = in.ConsumeBytesAsString(in.ConsumeIntegralInRange<size_t>(0, 260));
      made.bytes = how & 128 ? in.ConsumeIntegral<int64_t>() : int64_t(bytes.size());
      made.dims[0] = how & 64 ? in.ConsumeIntegral<int64_t>() : made.bytes / 4;
      for (int d = 1; d < made.rank && d < WEIR_MAX_RANK; ++d)
        made.dims[d] = in.ConsumeIntegralInRange<int64_t>(-1, 3);
    }
    if (how % 8 == 2) {
      made.refers = true;
      Reference reference = {1, in.ConsumeIntegral<uint64_t>(), in.ConsumeIntegral<int64_t>()};
      // What the host's memory bears is not what is tried here.
      if (reference.bytes > 1 << 20 && reference.bytes < int64_t(1) << 50)
        reference.bytes %= 1 << 20;
      if (in.ConsumeBool())
        reference.address = uint64_t(uintptr_t(readable));
      bytes.assign(reinterpret_cast<char *>(&reference), sizeof(reference));
    }
    if (how % 8 != 1 || made.rank % 2) {
      made.nonce = connection.mine;
      made.task = 1;
    }
    size_t length = how % 16 == 9 ? in.ConsumeIntegralInRange<size_t>(0, sizeof(Header))
                                  : std::min(made.sentBytes(), sizeof(Header));
    header.assign(reinterpret_cast<char *>(&made), length);
    hand(connection, Connection::onMessage, header, bytes);
  }

  template <typename Callback>
  void hand(Connection &connection, Callback callback, const std::string &header,
            const std::string &bytes) {
    // Of their own, so that one byte too many is seen.
    std::unique_ptr<char[]> ownHeader(new char[header.size()]), ownBytes(new char[bytes.size()]);
    memcpy(ownHeader.get(), header.data(), header.size());
    memcpy(ownBytes.get(), bytes.data(), bytes.size());
    ucp_am_recv_param_t param = {};
    Lock lock(connection.mutex);
    if (connection.worker)
      callback(&connection, ownHeader.get(), header.size(), ownBytes.get(), bytes.size(), &param);
  }

  /// What has come does its work.
  void pump() {
    while (first.set->progressOnce()) {
    }
    first.set->lookAfter(nowNs());
  }

  /// All steps that the messages have begun end when their leader says so, or is gone.
  void settle(const std::shared_ptr<Connection> &connection) {
    pump();
    for (int i = 0;; ++i) {
      std::vector<StepKey> keys;
      {
        Lock lock(first.set->mutex);
        first.set->forgetEnded();
        for (Step &each : first.set->steps)
          if (each.started && !each.dead)
            keys.push_back(each.key);
          else if (each.key.leader != 0)
            first.set->releaseHeld(each);
        if (keys.empty()) {
          first.set->steps.remove_if([](const Step &each) { return each.key.leader != 0; });
          return;
        }
      }
      for (const StepKey &key : keys) {
        Header header = Header::of(Kind::abort);
        header.nonce = connection->mine;
        header.task = 1;
        header.index = WEIR_CANCELLED;
        header.step = key;
        hand(*connection, Connection::onMessage,
             std::string(reinterpret_cast<char *>(&header), header.sentBytes()), "ended");
      }
      pump();
      if (i > 20000) {
        fprintf(stderr, "a step does not end\n");
        abort();
      }
      usleep(i < 50 ? 20 : 1000);
    }
  }

  TestProgram program;
  Tasks tasks;
  Task first, second;
  char readable[64] = {};
};

} // namespace weir::rt::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Lives as long as the process: its threads are the tasks'.
  static auto *fuzzer = new weir::rt::cluster::WireFuzzer;
  fuzzer->run(data, size);
  return 0;
}

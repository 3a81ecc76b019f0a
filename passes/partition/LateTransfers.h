//===- LateTransfers.h - receives as late as the step allows ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scheduling of receives, as the TensorFlow white paper has it in section 5.2:
// what a device receives lies in its memory from then on, so it should come no
// sooner than the critical path asks for. A tensor goes to its receiver when it
// is sent, so it is the send that is put off:
//
//  - to its place in the sender's order, by the latest start of the first use in
//    the simulated step, less the transfer's time;
//  - where the sender's program has nothing behind that place, until the
//    receiver asks: an empty message, sent that long before.
//
// Until then the tensor lies at the sender, whose arena may grow for it. So a
// send is put off only where the peaks of that arena and of what the receiver
// has received, in the simulated step, add up to less: the search starts from all at once and from
// all as late as can be, and turns one after the other as long as that gains. What it finds is done
// where it saves a thirty-second of all peaks or more.
//
// All that is moved stays between what makes the tensor and its first use, in
// the one order whose projections the devices' programs are: nobody waits in a
// circle, whatever the times. As long as times are those of the cost model the
// step takes no longer: it could run as late as all this allows, and devices
// that start as soon as they can are never behind that.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_LATETRANSFERS_H
#define WEIR_PASSES_PARTITION_LATETRANSFERS_H

#include "dialects/weir/Weir.h"
#include "passes/partition/StaticOrder.h"
#include <map>

namespace weir {

class LateTransfers {
public:
  /// A tensor that crosses at the function's top level.
  struct Transfer {
    SendOp send;
    int64_t from = 0, to = 0;
    int64_t producer = -1; ///< place in the order; -1: there from the beginning
    int64_t consumer = 0;  ///< place of the first use
    double latest = 0;     ///< start, in seconds of the simulated step
    double bytes = 0;
    double askLatency = 0; ///< of a message from receiver to sender
    /// In the simulated step: when its first use starts, and when sender and
    /// receiver are through with it; the sender without regard to the transfer.
    double useStart = 0, senderEnd = 0, receiverEnd = 0;
  };

  /// Tells of an operation at `place` of the order that `device` takes part in;
  /// `first` is what stands first of it in that device's program.
  void passed(int64_t device, int64_t place, mlir::Operation *first,
              std::optional<SimulatedTimes> times);
  void sent(Transfer transfer) { transfers.push_back(transfer); }
  /// Tells of bytes that lie in a device's arena during some of the step.
  void holds(int64_t device, double begin, double end, double bytes) {
    if (bytes > 0 && begin < end)
      held.push_back({device, begin, end, bytes});
  }

  /// Has the receiver ask for a tensor in front of `before`; returns the token
  /// that the sender gets.
  using AskFn = llvm::function_ref<mlir::Value(const Transfer &transfer, mlir::Operation *before)>;
  /// Moves sends, once all programs are there. What stands before them there is
  /// made an operand: no later pass then brings them forward.
  void delay(AskFn ask);

  int64_t moved = 0, asked = 0; ///< sends

  /// Ties `send` to the last value that is stored before it.
  static void keepPlace(SendOp send);

private:
  struct Passed {
    int64_t place;
    mlir::Operation *first;
    std::optional<SimulatedTimes> times;
  };
  struct Held {
    int64_t device;
    double begin, end, bytes;
  };
  /// Where a send would be put, and when it would then be sent.
  struct Choice {
    mlir::Operation *before = nullptr; ///< null: at the end
    mlir::Operation *asks = nullptr;   ///< null: nobody has to ask
    double early = 0, late = 0;        ///< seconds of the simulated step
    bool taken = false;
  };

  Choice latestOf(const Transfer &transfer) const;
  void choose(std::vector<Choice> &choices) const;

  std::map<int64_t, std::vector<Passed>> programs; ///< by device
  std::vector<Transfer> transfers;
  std::vector<Held> held;
};

} // namespace weir

#endif // WEIR_PASSES_PARTITION_LATETRANSFERS_H

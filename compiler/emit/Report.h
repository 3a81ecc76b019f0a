//===- Report.h - what a compilation made ------------------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The report: one screen of text for people, JSON for programs. Sizes are in
// bytes, counts of work in floating-point operations a run.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_REPORT_H
#define WEIR_COMPILER_EMIT_REPORT_H

#include "compiler/emit/DeviceKernel.h"
#include "compiler/emit/Forecast.h"
#include "compiler/emit/Program.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weir {

/// A node that placement gave a device, with the cost model's times in seconds.
struct PlacedNode {
  std::string name, device;
  double seconds = 0, start = 0, end = 0;
  bool measured = false; ///< by an earlier run, not by the model
  /// The node whose result came last, and where it is; empty: none.
  std::string waitsFor, waitsForDevice;
  /// Devices that were possible, too, and the node's time there.
  std::vector<std::pair<std::string, double>> others;
  /// Requests and colocations of the node's group.
  std::vector<std::string> reasons;
};

/// A stage of a training step that micro-batches go through; seconds and bytes by the cost model.
struct PipelineStage {
  std::string first, last; ///< nodes of the forward pass
  std::string order;       ///< "F0 F1 B0 …": passes of micro-batches
  double forward = 0, backward = 0;
  int64_t bytes = 0, sends = 0; ///< held at most; to later stages, of a micro-batch
};

/// A way for devices to share a training step; seconds and bytes by the cost model.
struct ParallelWay {
  std::string text;
  double seconds = 0; ///< of a step, of as many rows in each way
  int64_t bytes = 0;  ///< of the device that holds most
  std::string whyNot; ///< empty: it is possible
  bool isChosen = false;
};

struct PlacementInfo {
  std::vector<PlacedNode> nodes; ///< by name; empty: not asked for
  double makespan = -1;          ///< of one step, as the cost model has it
  double oneDeviceMakespan = -1; ///< -1: it cannot run on one device
  /// Messages between devices; tensors that are sent later than they could be,
  /// and of them those that the receiver asks for.
  int64_t transfers = 0, delayed = 0, asked = 0;
  std::vector<ParallelWay> ways;     ///< that --parallel=auto has chosen among
  std::vector<PipelineStage> stages; ///< empty: the program has no pipeline
  int64_t microBatches = 1;
  double bubble = 0; ///< the share of the passes' time in which a stage waits, in the mean
};

struct Report {
  std::string model;  ///< input file, as the user named it
  std::string name;   ///< symbol prefix
  std::string cpu;    ///< what code was generated for
  std::string target; ///< triple

  std::vector<EntryInfo> entries;
  std::vector<SlotInfo> slots;
  std::vector<DeviceInfo> devices;
  std::vector<KernelInfo> kernels;
  std::map<std::string, KernelForecast> forecasts; ///< of accelerators, by kernel's name
  std::map<std::string, std::vector<DeviceKernel>> deviceCode; ///< the same; empty: not asked for
  std::vector<CustomInfo> customs;
  std::vector<BufferInfo> buffers; ///< planned ones, all devices
  int64_t weightBytes = 0;
  int64_t weightCount = 0;
  int64_t objectBytes = 0; ///< 0: not written
  int64_t codeBytes = 0;   ///< the object without its constants
  /// Operations of the graph after simplification, by name.
  std::map<std::string, int64_t> operations;
  /// Operations that value numbering removed, and those that it moved out of
  /// regions: nodes by operation.
  std::map<std::string, std::vector<std::string>> removed, hoisted;
  PlacementInfo placement;
  /// Most bytes of results alive at once, in the graph's order and in the chosen
  /// one; buffers that others took the place of, and copies left out.
  int64_t givenPeak = 0, chosenPeak = 0;
  bool orderProved = false; ///< no order of the launches has a smaller peak
  int64_t reusedBuffers = 0, reusedBytes = 0, savedCopies = 0;
  /// Buffers of run-time size: planned for their bounds, and left to the allocator.
  int64_t boundedBuffers = 0, dynamicBuffers = 0;
  int64_t pooledBuffers = 0; ///< of the dynamic ones
  /// What a device may use, 0: anything; launches that run again for it, and
  /// their work in thousandths of the rest.
  int64_t memoryLimit = 0, repeatedLaunches = 0, repeatedWork = 0;
  /// Loops keep what every n-th trip begins with for their gradients, to stay within it.
  bool loopsInSegments = false;
  /// Operations that are computed part by part of their rows, to stay within it.
  int64_t dividedOperations = 0;
  /// Values that wait in the host's memory meanwhile, copies back, bytes of all copies.
  int64_t swappedValues = 0, swapReturns = 0, swappedBytes = 0;
  /// What was done about the values of a node to stay within the limit.
  struct MemoryChoice {
    std::string node;
    bool isCopied = false;                  ///< to the host and back; else computed again
    int64_t times = 0, bytes = 0, work = 0; ///< work of computing again in thousandths of the rest
  };
  std::vector<MemoryChoice> memoryChoices;
  std::vector<std::string> notes;

  std::string text() const;
  std::string json() const;
};

/// Takes over what the program says; the rest stays as it is.
void describeProgram(const Program &program, Report &report);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_REPORT_H

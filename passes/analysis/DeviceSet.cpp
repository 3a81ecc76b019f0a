//===- DeviceSet.cpp - the devices of a module
//------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/DeviceSet.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"

using namespace mlir;
using namespace weir;

/// A link within one process: a copy, and what it takes to wake a step.
static constexpr placement::Link usualLink{5e-6, 1 / 5e9};

static void readNumber(DictionaryAttr from, StringRef key, double &into) {
  if (auto number = from.getAs<FloatAttr>(key))
    into = number.getValueAsDouble();
  else if (auto integer = from.getAs<IntegerAttr>(key))
    into = double(integer.getInt());
}

DeviceSet DeviceSet::of(ModuleOp module, ArrayRef<DeviceName> requests) {
  DeviceSet cluster;
  auto given = module->getAttrOfType<DictionaryAttr>("weir.cluster");
  cluster.given = bool(given);
  if (!given) {
    // By task, the number of devices that are asked for.
    std::map<std::tuple<std::string, int64_t, int64_t>, int64_t> counts;
    counts[{"localhost", 0, 0}] = 1;
    for (const DeviceName &asked : requests) {
      DeviceName name = asked.completedBy(DeviceName::cpu(0));
      // The host stands in for devices of kinds that there are none of.
      int64_t id = *name.type == "CPU" ? *name.id : 0;
      int64_t &count = counts[{*name.job, *name.replica, *name.task}];
      count = std::max(count, id + 1);
    }
    // The local task comes first: its first device is the default.
    for (bool isLocal : {true, false})
      for (auto &[task, count] : counts) {
        if ((std::get<0>(task) == "localhost") != isLocal)
          continue;
        for (int64_t id = 0; id < count; ++id) {
          ClusterDevice device;
          device.name = DeviceName::cpu(id);
          std::tie(device.name.job, device.name.replica, device.name.task) = task;
          cluster.devices.push_back(device);
        }
      }
  } else if (auto devices = given.getAs<ArrayAttr>("devices")) {
    for (auto entry : devices.getAsRange<DictionaryAttr>()) {
      ClusterDevice device;
      if (auto name = entry.getAs<StringAttr>("name"))
        if (auto parsed = DeviceName::parse(name.getValue()))
          device.name = parsed->completedBy(DeviceName::cpu(0));
      readNumber(entry, "flops", device.flops);
      readNumber(entry, "bandwidth", device.bandwidth);
      readNumber(entry, "overhead", device.overhead);
      readNumber(entry, "memory", device.memory);
      cluster.devices.push_back(device);
    }
  }
  size_t count = cluster.devices.size();
  cluster.links.assign(count * count, usualLink);
  cluster.compressed.assign(count * count, false);
  auto links = given ? given.getAs<ArrayAttr>("links") : ArrayAttr();
  if (links)
    for (auto entry : links.getAsRange<DictionaryAttr>()) {
      double from = -1, to = -1, bandwidth = 1 / usualLink.timePerSize;
      placement::Link link = usualLink;
      readNumber(entry, "source", from);
      readNumber(entry, "destination", to);
      readNumber(entry, "bandwidth", bandwidth);
      readNumber(entry, "latency", link.latency);
      link.timePerSize = 1 / bandwidth;
      if (from < 0 || to < 0 || from >= double(count) || to >= double(count))
        continue;
      size_t index = size_t(from) * count + size_t(to);
      auto compress = entry.getAs<BoolAttr>("compress");
      cluster.compressed[index] = compress && compress.getValue();
      // Most of what crosses is f32, and half as large then.
      if (cluster.compressed[index])
        link.timePerSize /= 2;
      cluster.links[index] = link;
    }
  return cluster;
}

placement::Link DeviceSet::between(int64_t from, int64_t to) const {
  int64_t count = int64_t(devices.size());
  return from < count && to < count ? links[size_t(from * count + to)] : usualLink;
}

std::string DeviceSet::list() const {
  std::string text;
  for (const ClusterDevice &device : devices)
    text += (text.empty() ? "" : ", ") + device.name.str();
  return text;
}

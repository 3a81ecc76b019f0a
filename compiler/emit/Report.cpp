//===- Report.cpp - what a compilation made -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Report.h"
#include "compiler/emit/OfferedEntries.h"
#include "compiler/emit/PeakMoment.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace weir;

/// So many of a long list are on the screen; JSON has all.
static constexpr size_t shown = 8;

static std::string count(double value) {
  static const char *const units[] = {"", " k", " M", " G", " T"};
  unsigned unit = 0;
  while (value >= 1000 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(unit ? "%.2f" : "%.0f", value) << units[unit];
  return text;
}

static std::string typeText(const TensorInfo &tensor) {
  std::string text = dtypeName(tensor.dtype).str() + " [";
  if (!tensor.ranked)
    text += "*";
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    text += i ? ", " : "";
    if (tensor.dims[i] >= 0)
      text += std::to_string(tensor.dims[i]);
    else if (i < tensor.symbols.size() && !tensor.symbols[i].empty())
      text += tensor.symbols[i];
    else
      text += "?";
  }
  return text + "]";
}

/// "a;b;c" as at most `width` characters.
static std::string shortened(llvm::StringRef text, size_t width) {
  if (text.size() <= width)
    return text.str();
  return text.take_front(width - 3).str() + "...";
}

static std::vector<const BufferInfo *> largestBuffers(const Report &report) {
  std::vector<const BufferInfo *> list;
  for (const BufferInfo &buffer : report.buffers)
    list.push_back(&buffer);
  // Equal ones stay in order, which is that of their addresses.
  llvm::sort(list, [](const BufferInfo *a, const BufferInfo *b) {
    return std::pair(-a->bytes, a) < std::pair(-b->bytes, b);
  });
  return list;
}

static std::vector<const KernelInfo *> heaviestKernels(const Report &report) {
  std::vector<const KernelInfo *> list;
  for (const KernelInfo &kernel : report.kernels)
    list.push_back(&kernel);
  llvm::sort(list, [](const KernelInfo *a, const KernelInfo *b) {
    return std::pair(-a->flops, a) < std::pair(-b->flops, b);
  });
  return list;
}

/// What constants and memory take, and what was done about it.
static void writeSizes(llvm::raw_ostream &os, const Report &report) {
  os << "\nconstants   " << byteText(report.weightBytes) << " in " << report.weightCount << "\n";
  if (!report.slots.empty())
    os << "variables   " << report.slots.size() << "\n";
  for (const DeviceInfo &device : report.devices) {
    os << "arena       " << byteText(device.arenaBytes) << " on " << device.name;
    if (device.lowerBound > 0 && device.arenaBytes == device.lowerBound)
      os << ", which is the lower bound";
    else if (device.lowerBound > 0)
      os << llvm::format(", %.1f %% above the bound of ",
                         100.0 * double(device.arenaBytes - device.lowerBound) /
                             double(device.lowerBound))
         << byteText(device.lowerBound);
    os << "\n";
  }
  if (report.placement.transfers) {
    os << "transfers   " << report.placement.transfers << " between devices";
    if (report.placement.delayed)
      os << ", " << report.placement.delayed << " tensors sent late, " << report.placement.asked
         << " of them when asked for";
    os << "\n";
  }
  if (report.placement.makespan >= 0 && report.devices.size() > 1) {
    os << llvm::format("step        %.1f us", report.placement.makespan * 1e6)
       << " by the cost model";
    if (report.placement.oneDeviceMakespan >= 0)
      os << llvm::format(", %.1f us on one device", report.placement.oneDeviceMakespan * 1e6);
    os << "\n";
  }
  for (const ParallelWay &way : report.placement.ways) {
    os << (way.isChosen ? "parallel    " : "  possible  ") << way.text;
    if (way.whyNot.empty())
      os << llvm::format(": %.1f us, ", way.seconds * 1e6) << byteText(way.bytes);
    else
      os << ": no, " << way.whyNot;
    os << "\n";
  }
  if (!report.placement.stages.empty()) {
    os << "pipeline    " << report.placement.stages.size()
       << (report.placement.stages.size() == 1 ? " stage, " : " stages, ")
       << report.placement.microBatches << " micro-batches"
       << llvm::format("; a stage waits %.0f %% of the time\n", report.placement.bubble * 100);
    for (auto [number, stage] : llvm::enumerate(report.placement.stages))
      os << "  stage " << number << "   \"" << stage.first << "\" to \"" << stage.last << "\""
         << llvm::format(", F %.1f us, B %.1f us, ", stage.forward * 1e6, stage.backward * 1e6)
         << byteText(stage.bytes) << ": " << stage.order << "\n";
  }
  if (report.reusedBuffers)
    os << "reuse       " << report.reusedBuffers << " results over operands, "
       << byteText(report.reusedBytes) << "; " << report.savedCopies << " copies left out\n";
  if (report.boundedBuffers || report.dynamicBuffers)
    os << "run-time    " << report.boundedBuffers
       << " buffers planned for the bounds of their sizes, " << report.dynamicBuffers
       << " left to the allocator"
       << (report.pooledBuffers ? ", " + std::to_string(report.pooledBuffers) + " of them together"
                                : "")
       << '\n';
  if (report.repeatedLaunches)
    os << "recompute   " << report.repeatedLaunches << " launches run again to stay within "
       << byteText(report.memoryLimit) << ": " << report.repeatedWork / 10 << '.'
       << report.repeatedWork % 10 << " % more work\n";
  if (report.loopsInSegments)
    os << "segments    loops keep what the first trip of each segment begins with, to stay within "
       << byteText(report.memoryLimit) << ", and run each again for its gradient\n";
  if (report.dividedOperations)
    os << "rows        " << report.dividedOperations
       << " operations go part by part of their rows, to stay within "
       << byteText(report.memoryLimit) << "\n";
  if (report.swappedValues)
    os << "swap        " << report.swappedValues
       << " values wait in the host's memory to stay within " << byteText(report.memoryLimit)
       << ": " << report.swapReturns << " copies back, " << byteText(report.swappedBytes)
       << " moved\n";
  constexpr size_t mostChoices = 8;
  for (const Report::MemoryChoice &choice :
       llvm::ArrayRef(report.memoryChoices).take_front(mostChoices)) {
    os << "            " << shortened(choice.node, 40) << ": " << byteText(choice.bytes)
       << (choice.isCopied ? " copied to the host and back" : " computed again");
    if (!choice.isCopied)
      os << ", " << choice.work / 10 << '.' << choice.work % 10 << " % more work";
    os << "\n";
  }
  if (report.memoryChoices.size() > mostChoices)
    os << "            and " << report.memoryChoices.size() - mostChoices << " more\n";
  if (report.chosenPeak < report.givenPeak)
    os << "order       at most " << byteText(report.chosenPeak) << " alive, "
       << byteText(report.givenPeak) << " in the graph's order\n";
  for (auto [i, device] : llvm::enumerate(report.devices)) {
    PeakMoment peak = peakMoment(report.buffers, i);
    if (peak.buffers.empty())
      continue;
    os << "peak        at moment " << peak.time << ":";
    for (size_t k = 0; k < peak.buffers.size() && k < 4; ++k)
      os << (k ? ", " : " ") << shortened(peak.buffers[k]->node, 30) << " ("
         << byteText(peak.buffers[k]->bytes) << ")";
    os << (peak.buffers.size() > 4 ? ", …\n" : "\n");
  }
  if (report.objectBytes)
    os << "object      " << byteText(report.objectBytes) << ", " << byteText(report.codeBytes)
       << " without constants\n";
}

/// The largest of buffers, kernels and operations.
static void writeLists(llvm::raw_ostream &os, const Report &report) {
  if (!report.buffers.empty()) {
    os << "\nlargest buffers of " << report.buffers.size() << "\n";
    std::vector<const BufferInfo *> list = largestBuffers(report);
    for (size_t i = 0; i < list.size() && i < shown; ++i)
      os << llvm::format("  %10s  ", byteText(list[i]->bytes).c_str())
         << shortened(list[i]->node, 60) << "\n";
  }
  if (!report.kernels.empty()) {
    os << "\nheaviest kernels of " << report.kernels.size()
       << ", floating-point operations a launch\n";
    std::vector<const KernelInfo *> list = heaviestKernels(report);
    for (size_t i = 0; i < list.size() && i < shown; ++i)
      os << llvm::format("  %10s  ",
                         list[i]->flops < 0 ? "?" : count(double(list[i]->flops)).c_str())
         << shortened(list[i]->name, 40) << "  " << shortened(list[i]->nodes, 40) << "\n";
  }
  if (!report.customs.empty()) {
    os << "\ncustom operations\n";
    for (const CustomInfo &custom : report.customs)
      os << "  " << custom.name << ": "
         << (custom.fallback.empty() ? "handed over by the program" : custom.fallback + "()")
         << "  " << shortened(custom.nodes, 40) << "\n";
  }
  if (!report.operations.empty()) {
    std::vector<std::pair<std::string, int64_t>> list(report.operations.begin(),
                                                      report.operations.end());
    llvm::sort(list, [](const auto &a, const auto &b) {
      return std::tie(b.second, a.first) < std::tie(a.second, b.first);
    });
    os << "\noperations ";
    for (size_t i = 0; i < list.size() && i < 2 * shown; ++i)
      os << (i ? ", " : " ") << list[i].second << ' ' << list[i].first;
    if (list.size() > 2 * shown)
      os << ", and " << list.size() - 2 * shown << " other kinds";
    os << "\n";
  }
  auto counts = [&](const char *what, const auto &nodes) {
    size_t total = 0;
    std::vector<std::pair<size_t, std::string>> list;
    for (const auto &[operation, names] : nodes) {
      total += names.size();
      list.push_back({names.size(), operation});
    }
    if (list.empty())
      return;
    llvm::sort(list, [](const auto &a, const auto &b) {
      return std::pair(-int64_t(a.first), a.second) < std::pair(-int64_t(b.first), b.second);
    });
    os << what << total << ":";
    for (size_t i = 0; i < list.size() && i < shown; ++i)
      os << (i ? ", " : " ") << list[i].first << ' ' << list[i].second;
    os << (list.size() > shown ? ", …\n" : "\n");
  };
  counts("computed once instead of twice  ", report.removed);
  counts("moved out of loops and branches ", report.hoisted);
}

std::string Report::text() const {
  std::string out;
  llvm::raw_string_ostream os(out);
  os << name << ", from " << model << ", for " << cpu << " (" << target << ")\n";
  for (const EntryInfo &entry : entries) {
    os << "\nentry " << entry.name << "\n";
    auto list = [&](const char *kind, const std::vector<TensorInfo> &tensors) {
      for (size_t i = 0; i < tensors.size() && i < shown; ++i)
        os << "  " << kind << ' ' << tensors[i].name << ": " << typeText(tensors[i]) << "\n";
      if (tensors.size() > shown)
        os << "  and " << tensors.size() - shown << " more\n";
    };
    list("feed ", entry.feeds);
    list("fetch", entry.fetches);
  }

  writeSizes(os, *this);
  writeLists(os, *this);
  for (const std::string &note : notes)
    os << "\nnote: " << note << "\n";
  return out;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Names come from model files, which may hold any bytes.
static std::string utf8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

static void writeTensors(llvm::json::OStream &json, llvm::StringRef key,
                         const std::vector<TensorInfo> &tensors) {
  json.attributeArray(key, [&] {
    for (const TensorInfo &tensor : tensors)
      json.object([&] {
        json.attribute("name", utf8(tensor.name));
        json.attribute("dtype", dtypeName(tensor.dtype));
        if (tensor.ranked)
          json.attributeArray("dims", [&] {
            for (int64_t dim : tensor.dims)
              json.value(dim);
          });
        if (!tensor.symbols.empty())
          json.attributeArray("symbols", [&] {
            for (const std::string &symbol : tensor.symbols)
              json.value(utf8(symbol));
          });
      });
  });
}

/// How the program was placed, and what its memory is.
static void writePlan(llvm::json::OStream &json, const Report &report) {
  json.attributeObject("placement", [&] {
    if (report.placement.makespan >= 0)
      json.attribute("makespan_us", report.placement.makespan * 1e6);
    if (report.placement.oneDeviceMakespan >= 0)
      json.attribute("one_device_makespan_us", report.placement.oneDeviceMakespan * 1e6);
    json.attribute("transfers", report.placement.transfers);
    json.attribute("delayed", report.placement.delayed);
    json.attribute("asked", report.placement.asked);
    if (!report.placement.ways.empty())
      json.attributeArray("ways", [&] {
        for (const ParallelWay &way : report.placement.ways)
          json.object([&] {
            json.attribute("way", utf8(way.text));
            json.attribute("chosen", way.isChosen);
            if (way.whyNot.empty()) {
              json.attribute("us", way.seconds * 1e6);
              json.attribute("bytes", way.bytes);
            } else {
              json.attribute("why_not", utf8(way.whyNot));
            }
          });
      });
    if (report.placement.stages.empty())
      return;
    json.attribute("micro_batches", report.placement.microBatches);
    json.attribute("bubble", report.placement.bubble);
    json.attributeArray("stages", [&] {
      for (const PipelineStage &stage : report.placement.stages)
        json.object([&] {
          json.attribute("first", utf8(stage.first));
          json.attribute("last", utf8(stage.last));
          json.attribute("forward_us", stage.forward * 1e6);
          json.attribute("backward_us", stage.backward * 1e6);
          json.attribute("bytes", stage.bytes);
          json.attribute("sends", stage.sends);
          json.attribute("order", stage.order);
        });
    });
  });
  json.attributeObject("memory", [&] {
    json.attribute("peak_as_given", report.givenPeak);
    json.attribute("peak_as_ordered", report.chosenPeak);
    json.attribute("order_proved", report.orderProved);
    json.attribute("reused_buffers", report.reusedBuffers);
    json.attribute("reused_bytes", report.reusedBytes);
    json.attribute("saved_copies", report.savedCopies);
    json.attribute("bounded_buffers", report.boundedBuffers);
    json.attribute("dynamic_buffers", report.dynamicBuffers);
    json.attribute("pooled_buffers", report.pooledBuffers);
    json.attribute("limit", report.memoryLimit);
    json.attribute("repeated_launches", report.repeatedLaunches);
    json.attribute("repeated_work_per_mille", report.repeatedWork);
    json.attribute("loops_in_segments", report.loopsInSegments);
    json.attribute("divided_operations", report.dividedOperations);
    json.attribute("swapped_values", report.swappedValues);
    json.attribute("swap_returns", report.swapReturns);
    json.attribute("swapped_bytes", report.swappedBytes);
    json.attributeArray("choices", [&] {
      for (const Report::MemoryChoice &choice : report.memoryChoices)
        json.object([&] {
          json.attribute("node", utf8(choice.node));
          json.attribute("how", choice.isCopied ? "copied" : "computed again");
          json.attribute("times", choice.times);
          json.attribute("bytes", choice.bytes);
          json.attribute("work_per_mille", choice.work);
        });
    });
  });
}

static void writeForecast(llvm::json::OStream &json, const KernelForecast &forecast) {
  json.attributeObject("accelerator", [&] {
    json.attribute("arithmetic", forecast.arithmetic);
    json.attribute("products", forecast.products);
    json.attribute("others", forecast.others);
    json.attribute("bytes", forecast.bytes);
    json.attributeArray("predicted", [&] {
      for (const KernelForecast::Time &time : forecast.devices)
        json.object([&] {
          json.attribute("device", time.device);
          json.attribute("us", time.microseconds);
          json.attribute("bound", time.isByMemory ? "memory" : "arithmetic");
        });
    });
  });
}

/// Buffers, kernels and custom operations, one by one.
static void writeParts(llvm::json::OStream &json, const Report &report) {
  json.attributeArray("buffers", [&] {
    for (const BufferInfo *buffer : largestBuffers(report))
      json.object([&] {
        json.attribute("node", utf8(buffer->node));
        json.attribute("device", buffer->device);
        json.attribute("step", buffer->step);
        json.attribute("bytes", buffer->bytes);
        json.attribute("offset", buffer->offset);
        json.attribute("first_use", buffer->firstUse);
        json.attribute("last_use", buffer->lastUse);
      });
  });
  json.attributeArray("kernels", [&] {
    for (const KernelInfo &kernel : report.kernels)
      json.object([&] {
        json.attribute("name", utf8(kernel.name));
        json.attribute("nodes", utf8(kernel.nodes));
        json.attribute("flops", kernel.flops);
        json.attribute("bytes", kernel.bytes);
        json.attribute("launches", kernel.launches);
        if (auto forecast = report.forecasts.find(kernel.name); forecast != report.forecasts.end())
          writeForecast(json, forecast->second);
      });
  });
  json.attributeArray("customs", [&] {
    for (const CustomInfo &custom : report.customs)
      json.object([&] {
        json.attribute("name", utf8(custom.name));
        json.attribute("function", utf8(custom.fallback));
        json.attribute("nodes", utf8(custom.nodes));
      });
  });
}

std::string Report::json() const {
  std::string out;
  llvm::raw_string_ostream os(out);
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("model", utf8(model));
    json.attribute("name", name);
    json.attribute("cpu", cpu);
    json.attribute("target", target);
    json.attributeArray("entries", [&] {
      for (const EntryInfo &entry : entries)
        json.object([&] {
          json.attribute("name", utf8(entry.name));
          writeTensors(json, "feeds", entry.feeds);
          writeTensors(json, "fetches", entry.fetches);
          json.attributeArray("arena_bytes", [&] {
            for (int64_t bytes : entry.arenas)
              json.value(bytes);
          });
        });
    });
    json.attributeObject("constants", [&] {
      json.attribute("bytes", weightBytes);
      json.attribute("count", weightCount);
    });
    json.attributeObject("object", [&] {
      json.attribute("bytes", objectBytes);
      json.attribute("bytes_without_constants", codeBytes);
    });
    json.attributeArray("variables", [&] {
      for (const SlotInfo &slot : slots)
        json.object([&] {
          json.attribute("name", utf8(slot.name));
          json.attribute("dtype", dtypeName(slot.dtype));
        });
    });
    json.attributeArray("devices", [&] {
      for (const DeviceInfo &device : devices)
        json.object([&] {
          json.attribute("name", device.name);
          json.attribute("arena_bytes", device.arenaBytes);
          json.attribute("lower_bound", device.lowerBound);
          PeakMoment peak = peakMoment(buffers, int(&device - devices.data()));
          json.attributeObject("peak", [&] {
            json.attribute("moment", peak.time);
            json.attribute("bytes", peak.bytes);
            json.attributeArray("nodes", [&] {
              for (const BufferInfo *buffer : peak.buffers)
                json.value(utf8(buffer->node));
            });
          });
        });
    });
    writePlan(json, *this);
    for (auto [key, nodes] : {std::pair("removed", &removed), {"hoisted", &hoisted}})
      json.attributeObject(key, [&, nodes = nodes] {
        for (const auto &[operation, names] : *nodes)
          json.attributeArray(operation, [&, names = &names] {
            for (const std::string &name : *names)
              json.value(utf8(name));
          });
      });
    writeParts(json, *this);
    json.attributeObject("operations", [&] {
      for (const auto &[operation, number] : operations)
        json.attribute(operation, number);
    });
    json.attributeArray("notes", [&] {
      for (const std::string &note : notes)
        json.value(utf8(note));
    });
  });
  os << "\n";
  return out;
}

/// One row a kernel, with the nodes of all of its launches.
static std::vector<KernelInfo> kernelsOf(const Program &program) {
  std::vector<KernelInfo> kernels;
  std::vector<llvm::SetVector<llvm::StringRef>> names; // of each that several rows are of
  llvm::StringMap<size_t> known;
  auto addNames = [&](size_t kernel, llvm::StringRef list) {
    llvm::SmallVector<llvm::StringRef> parts;
    list.split(parts, ';', -1, /*KeepEmpty=*/false);
    names[kernel].insert(parts.begin(), parts.end());
  };
  std::vector<const KernelInfo *> first;
  for (const KernelInfo &row : program.kernels) {
    auto [at, isNew] = known.try_emplace(row.symbol, kernels.size());
    if (isNew || row.symbol.empty()) {
      kernels.push_back(row);
      names.emplace_back();
      first.push_back(&row);
      continue;
    }
    size_t kernel = at->second;
    kernels[kernel].launches += row.launches;
    if (names[kernel].empty())
      addNames(kernel, first[kernel]->nodes);
    addNames(kernel, row.nodes);
  }
  for (auto [kernel, joined] : llvm::zip(kernels, names))
    if (!joined.empty())
      kernel.nodes = llvm::join(joined, ";");
  return kernels;
}

void weir::describeProgram(const Program &program, Report &report) {
  report.name = program.name;
  report.entries = offeredEntries(program).vec();
  report.slots = program.slots;
  report.devices = program.devices;
  report.kernels = kernelsOf(program);
  report.customs = program.customs;
  report.buffers = program.buffers;
  report.weightBytes = program.blobBytes;
  report.weightCount = int64_t(program.blobs.size());
}

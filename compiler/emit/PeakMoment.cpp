//===- PeakMoment.cpp - who holds an arena when it is fullest --------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/PeakMoment.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace weir;

PeakMoment weir::peakMoment(const std::vector<BufferInfo> &buffers, int device) {
  // Changes in order of time; deaths before births.
  std::map<std::pair<int, int64_t>, int64_t> changes;
  for (const BufferInfo &buffer : buffers)
    if (buffer.device == device) {
      changes[{buffer.step, buffer.firstUse}] += buffer.bytes;
      changes[{buffer.step, std::max(buffer.lastUse, buffer.firstUse + 1)}] -= buffer.bytes;
    }
  PeakMoment peak;
  int64_t live = 0;
  int step = -1;
  for (auto &[at, change] : changes) {
    live += change;
    if (live > peak.bytes) {
      peak.bytes = live;
      std::tie(step, peak.time) = at;
    }
  }
  for (const BufferInfo &buffer : buffers)
    if (buffer.device == device && buffer.step == step && buffer.firstUse <= peak.time &&
        peak.time < std::max(buffer.lastUse, buffer.firstUse + 1))
      peak.buffers.push_back(&buffer);
  llvm::sort(peak.buffers, [](const BufferInfo *a, const BufferInfo *b) {
    return std::pair(-a->bytes, a) < std::pair(-b->bytes, b);
  });
  return peak;
}

std::string weir::byteText(int64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  unsigned unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(unit ? "%.1f " : "%.0f ", value) << units[unit];
  return text;
}

std::string weir::arenaTag(const std::vector<BufferInfo> &buffers, int device) {
  constexpr size_t mostNamed = 3;
  std::string tag = "the planned arena of a run";
  PeakMoment peak = peakMoment(buffers, device);
  for (size_t i = 0; i < peak.buffers.size() && i < mostNamed; ++i)
    tag += (i ? ", \"" : " (\"") + peak.buffers[i]->node + "\" " + byteText(peak.buffers[i]->bytes);
  if (peak.buffers.size() > mostNamed)
    tag += ", …";
  return peak.buffers.empty() ? tag : tag + ")";
}

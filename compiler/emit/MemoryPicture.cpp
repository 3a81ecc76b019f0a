//===- MemoryPicture.cpp - buffers over time and offset -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/MemoryPicture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <map>

using namespace weir;

/// Of a picture, in its own units; pages scale it.
static constexpr double width = 1600, height = 800, profileHeight = 120;
/// Room for what axes say: at the left, and below.
static constexpr double axisWidth = 80, axisHeight = 24;
/// Rectangles smaller than this have their names in the tooltip alone.
static constexpr double labelWidth = 70, labelHeight = 12;

static std::string escaped(llvm::StringRef text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += (unsigned char)c < 0x20 ? ' ' : c;
    }
  return out;
}

/// Colours that neighbours are unlikely to share, and runs agree about.
static int hueOf(llvm::StringRef node) { return llvm::xxh3_64bits(node) % 360; }

/// "57.0 kB"
static std::string amountOf(double bytes) {
  static const char *const units[] = {"B", "kB", "MB", "GB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit)
    bytes /= 1000;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(unit ? "%.1f " : "%.0f ", bytes) << units[unit];
  return text;
}

/// Ticks of offsets (bytes of the arena) and of time (the step's operations, from `begin` to
/// `end`), and where most bytes are alive.
static void drawAxes(llvm::raw_ostream &os, int64_t arena, int64_t begin, int64_t end,
                     int64_t peakAt, int64_t peak) {
  constexpr int ticks = 4;
  double bottom = profileHeight + 10 + height;
  auto number = [](double value) { return llvm::format("%.2f", value); };
  auto text = [&](double x, double y, const char *anchor, const std::string &what) {
    os << "<text x=\"" << number(x) << "\" y=\"" << number(y) << "\" text-anchor=\"" << anchor
       << "\">" << what << "</text>";
  };
  for (int i = 0; i <= ticks; ++i) {
    double share = double(i) / ticks, y = bottom - share * height, x = share * width;
    os << "<line x1=\"-5\" x2=\"0\" y1=\"" << number(y) << "\" y2=\"" << number(y) << "\"/>";
    text(-8, y + 4, "end", amountOf(share * double(arena)));
    os << "<line y1=\"" << number(bottom) << "\" y2=\"" << number(bottom + 5) << "\" x1=\""
       << number(x) << "\" x2=\"" << number(x) << "\"/>";
    text(x, bottom + 17,
         i == 0       ? "start"
         : i == ticks ? "end"
                      : "middle",
         (i == 0 ? "operation " : "") +
             std::to_string(begin + int64_t(share * double(end - begin))));
  }
  double x = double(peakAt - begin) / double(std::max<int64_t>(end - begin, 1)) * width;
  os << "<line class=\"peak\" y1=\"0\" y2=\"" << number(bottom) << "\" x1=\"" << number(x)
     << "\" x2=\"" << number(x) << "\"/>";
  text(x > width / 2 ? x - 4 : x + 4, 10, x > width / 2 ? "end" : "start",
       "peak: " + amountOf(double(peak)) + " alive");
  os << "\n";
}

static void draw(llvm::raw_ostream &os, llvm::ArrayRef<const BufferInfo *> buffers, int64_t arena,
                 int64_t bound) {
  int64_t begin = INT64_MAX, end = 0;
  std::map<int64_t, int64_t> changes;
  for (const BufferInfo *buffer : buffers) {
    begin = std::min(begin, buffer->firstUse);
    int64_t last = std::max(buffer->lastUse, buffer->firstUse + 1);
    end = std::max(end, last);
    changes[buffer->firstUse] += buffer->bytes;
    changes[last] -= buffer->bytes;
  }
  double right = width / double(std::max<int64_t>(end - begin, 1));
  double up = height / double(std::max<int64_t>(arena, 1));
  auto number = [](double value) { return llvm::format("%.2f", value); };
  os << "<svg viewBox=\"" << -int(axisWidth) << " 0 " << int(width + axisWidth) << ' '
     << int(height + profileHeight + 10 + axisHeight)
     << "\" xmlns=\"http://www.w3.org/2000/svg\">\n";
  // Bytes alive, on the same scale of time.
  os << "<path class=\"live\" d=\"M0 " << int(profileHeight);
  int64_t live = 0, peak = 0, peakAt = begin;
  double scale = profileHeight / double(std::max<int64_t>(arena, 1)), y = profileHeight;
  for (auto &[at, change] : changes) {
    double x = double(at - begin) * right;
    os << " L" << number(x) << ' ' << number(y);
    live += change;
    if (live > peak) {
      peak = live;
      peakAt = at;
    }
    y = profileHeight - double(live) * scale;
    os << " L" << number(x) << ' ' << number(y);
  }
  os << " L" << int(width) << ' ' << int(profileHeight) << " Z\"><title>bytes alive, at most "
     << bound << "</title></path>\n";
  for (const BufferInfo *buffer : buffers) {
    int64_t last = std::max(buffer->lastUse, buffer->firstUse + 1);
    double x = double(buffer->firstUse - begin) * right,
           w = double(last - buffer->firstUse) * right;
    double h = double(buffer->bytes) * up;
    double top = profileHeight + 10 + height - double(buffer->offset) * up - h;
    std::string name = escaped(buffer->node);
    os << "<g data-node=\"" << name << "\"><rect x=\"" << number(x) << "\" y=\"" << number(top)
       << "\" width=\"" << number(w) << "\" height=\"" << number(h) << "\" fill=\"hsl("
       << hueOf(buffer->node) << ",60%,72%)\"><title>" << name << "\n"
       << buffer->bytes << " bytes at " << buffer->offset << ", from " << buffer->firstUse << " to "
       << last << "</title></rect>";
    if (w >= labelWidth && h >= labelHeight) {
      std::string label = buffer->node.substr(0, size_t(w / 7));
      os << "<text x=\"" << number(x + 3) << "\" y=\"" << number(top + std::min(h, 14.0) - 3)
         << "\">" << escaped(label) << "</text>";
    }
    os << "</g>\n";
  }
  drawAxes(os, arena, begin, end, peakAt, peak);
  os << "</svg>\n";
}

std::string weir::memoryPicture(const Report &report) {
  std::map<std::pair<int, int>, std::vector<const BufferInfo *>> steps;
  for (const BufferInfo &buffer : report.buffers)
    steps[{buffer.device, buffer.step}].push_back(&buffer);
  if (steps.empty())
    return {};
  std::string out;
  llvm::raw_string_ostream os(out);
  os << "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>" << escaped(report.name)
     << ": memory</title>\n<style>\n"
        "body { font: 14px sans-serif; margin: 1em; }\n"
        "svg { width: 100%; background: #f4f4f4; }\n"
        "rect { stroke: #555; stroke-width: 0.5; vector-effect: non-scaling-stroke; }\n"
        "text { font-size: 11px; pointer-events: none; }\n"
        ".live { fill: #9ab; }\n"
        "line { stroke: #555; } .peak { stroke: #c22; stroke-dasharray: 6 4; }\n"
        ".other { opacity: 0.15; }\n"
        "g:hover rect { stroke: #000; stroke-width: 2; }\n"
        "</style></head><body>\n<h1>"
     << escaped(report.name)
     << "</h1>\n<p>Time from left to right, offsets upwards; above, the "
        "bytes alive. <input id=\"find\" placeholder=\"find a node\"></p>\n";
  for (auto &[key, buffers] : steps) {
    const DeviceInfo *device =
        key.first < int(report.devices.size()) ? &report.devices[key.first] : nullptr;
    int64_t arena = device ? device->arenaBytes : 0;
    for (const BufferInfo *buffer : buffers)
      arena = std::max(arena, buffer->offset + buffer->bytes);
    os << "<h2>" << escaped(device ? device->name : "device") << ", step " << key.second << ": "
       << buffers.size() << " buffers in " << arena << " bytes";
    if (device)
      os << ", bound " << device->lowerBound;
    os << "</h2>\n";
    draw(os, buffers, arena, device ? device->lowerBound : 0);
  }
  os << "<script>\n"
        "document.getElementById('find').addEventListener('input', e => {\n"
        "  const text = e.target.value;\n"
        "  for (const g of document.querySelectorAll('g'))\n"
        "    g.classList.toggle('other', text !== '' && !g.dataset.node.includes(text));\n"
        "});\n</script>\n</body></html>\n";
  return out;
}

//===- bfc_report.cpp - who holds the memory ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "bfc/bfc_allocator.h"
#include "support/text.h"

#include <stdlib.h>

namespace weir::rt {

namespace {

/// What all allocations with one tag hold together.
struct Holder {
  const char *tag;
  int64_t bytes;
  int64_t count;
};

int compareTags(const void *a, const void *b) {
  return strcmp(static_cast<const Holder *>(a)->tag, static_cast<const Holder *>(b)->tag);
}

/// The largest first; equal ones by tag, so that reports can be compared.
int compareBytes(const void *a, const void *b) {
  auto &x = *static_cast<const Holder *>(a), &y = *static_cast<const Holder *>(b);
  if (x.bytes != y.bytes)
    return x.bytes < y.bytes ? 1 : -1;
  return strcmp(x.tag, y.tag);
}

} // namespace

/// Reads the allocator's tables; the caller holds its lock.
class BfcReport {
public:
  BfcReport(BfcAllocator &allocator, Text &out) : allocator(allocator), out(out) {
    collectHolders();
  }
  ~BfcReport() { ::free(holders); }
  BfcReport(const BfcReport &) = delete;
  BfcReport &operator=(const BfcReport &) = delete;

  void summary();
  void holdersTable(int64_t most);
  void binsTable();
  void regionsTable();
  void remedies(const AllocationRequest &request, int64_t rounded);

private:
  void collectHolders();
  void map(const Region &region);

  BfcAllocator &allocator;
  Text &out;
  Holder *holders = nullptr;
  int64_t holderCount = 0;
};

void BfcReport::collectHolders() {
  BfcAllocator &a = allocator;
  if (a.live == 0)
    return;
  // Beside the allocator's own memory; without any the table is left out.
  holders = static_cast<Holder *>(malloc(size_t(a.live) * sizeof(Holder)));
  if (!holders)
    return;
  int64_t count = 0;
  for (int32_t i = 0; i < a.regions.count(); ++i)
    for (ChunkHandle handle = a.regions[i].handles[0]; handle != noChunk;
         handle = a.chunks[handle].next)
      if (a.chunks[handle].inUse())
        holders[count++] = {a.chunks[handle].tag, a.chunks[handle].size, 1};
  qsort(holders, size_t(count), sizeof(Holder), compareTags);
  for (int64_t i = 0; i < count; ++i) {
    if (holderCount > 0 && strcmp(holders[holderCount - 1].tag, holders[i].tag) == 0) {
      holders[holderCount - 1].bytes += holders[i].bytes;
      ++holders[holderCount - 1].count;
    } else {
      holders[holderCount++] = holders[i];
    }
  }
  qsort(holders, size_t(holderCount), sizeof(Holder), compareBytes);
}

void BfcReport::summary() {
  BfcAllocator &a = allocator;
  out << "in use ";
  out.bytes(a.inUse) << " (peak ";
  out.bytes(a.peakInUse) << ") of ";
  out.bytes(a.reserved) << " held in " << a.regions.count()
                        << (a.regions.count() == 1 ? " region" : " regions") << ", limit ";
  if (a.options.limit > 0)
    out.bytes(a.options.limit);
  else
    out << "none";
  out << "; largest free chunk ";
  out.bytes(a.largestFree()) << ", fragmentation ";
  out.fixed(a.fragmentation() * 100) << " %\n";
}

void BfcReport::holdersTable(int64_t most) {
  int64_t shown = holderCount < most ? holderCount : most;
  for (int64_t i = 0; i < shown; ++i) {
    out << "  ";
    out.bytes(holders[i].bytes).column(14);
    if (holders[i].count > 1)
      out << holders[i].count << " x ";
    out << (*holders[i].tag ? holders[i].tag : "(not named)") << '\n';
  }
  if (shown < holderCount) {
    int64_t rest = 0;
    for (int64_t i = shown; i < holderCount; ++i)
      rest += holders[i].bytes;
    out << "  ";
    out.bytes(rest).column(14) << "by " << holderCount - shown << " others\n";
  }
}

void BfcReport::binsTable() {
  BfcAllocator &a = allocator;
  int64_t used[binCount] = {}, free[binCount] = {}, usedBytes[binCount] = {},
          freeBytes[binCount] = {};
  for (int32_t i = 0; i < a.regions.count(); ++i)
    for (ChunkHandle handle = a.regions[i].handles[0]; handle != noChunk;
         handle = a.chunks[handle].next) {
      const Chunk &chunk = a.chunks[handle];
      int bin = binOf(chunk.size);
      ++(chunk.inUse() ? used : free)[bin];
      (chunk.inUse() ? usedBytes : freeBytes)[bin] += chunk.size;
    }
  out << "chunks by size\n";
  for (int bin = 0; bin < binCount; ++bin) {
    if (used[bin] + free[bin] == 0)
      continue;
    out << "  from ";
    out.bytes(binBegin(bin)).column(20) << used[bin] << " in use, ";
    out.bytes(usedBytes[bin]).column(46) << free[bin] << " free, ";
    out.bytes(freeBytes[bin]) << '\n';
  }
}

/// A hundred characters, each a hundredth of the region: what most of it is.
void BfcReport::map(const Region &region) {
  constexpr int width = 100;
  int64_t used[width] = {}, padding[width] = {};
  auto spread = [&](int64_t begin, int64_t end, int64_t *into) {
    while (begin < end) {
      auto cell = int64_t(__int128(begin) * width / region.bytes);
      auto cellEnd = int64_t((__int128(cell + 1) * region.bytes + width - 1) / width);
      int64_t stop = end < cellEnd ? end : cellEnd;
      into[cell] += stop - begin;
      begin = stop;
    }
  };
  for (ChunkHandle handle = region.handles[0]; handle != noChunk;
       handle = allocator.chunks[handle].next) {
    const Chunk &chunk = allocator.chunks[handle];
    if (!chunk.inUse())
      continue;
    int64_t begin = chunk.data - region.base;
    spread(begin, begin + chunk.requested, used);
    spread(begin + chunk.requested, begin + chunk.size, padding);
  }
  out << "  ";
  for (int cell = 0; cell < width; ++cell) {
    auto begin = int64_t(__int128(cell) * region.bytes / width);
    auto end = int64_t(__int128(cell + 1) * region.bytes / width);
    int64_t free = end - begin - used[cell] - padding[cell];
    if (used[cell] >= padding[cell] && used[cell] >= free && used[cell] > 0)
      out << '*';
    else
      out << (padding[cell] > free ? 'x' : '_');
  }
  out << '\n';
}

void BfcReport::regionsTable() {
  BfcAllocator &a = allocator;
  constexpr int32_t most = 16;
  out << "regions, by address (* in use, x padding, _ free)\n";
  for (int32_t i = 0; i < a.regions.count() && i < most; ++i) {
    int64_t free = 0, largest = 0;
    for (ChunkHandle handle = a.regions[i].handles[0]; handle != noChunk;
         handle = a.chunks[handle].next)
      if (const Chunk &chunk = a.chunks[handle]; !chunk.inUse()) {
        free += chunk.size;
        largest = chunk.size > largest ? chunk.size : largest;
      }
    out << "  ";
    out.bytes(a.regions[i].bytes) << ", free ";
    out.bytes(free) << ", largest free chunk ";
    out.bytes(largest) << '\n';
    map(a.regions[i]);
  }
  if (a.regions.count() > most)
    out << "  and " << a.regions.count() - most << " more\n";
}

/// What a person can do; each line only where it would have helped.
void BfcReport::remedies(const AllocationRequest &request, int64_t rounded) {
  BfcAllocator &a = allocator;
  int64_t free = a.reserved - a.inUse;
  int64_t available = a.limit - a.reserved;
  out << "What may help:\n";
  if (a.limit <= a.inUse + rounded && a.options.limit > 0) {
    out << "  - a memory limit of ";
    out.bytes(a.inUse + rounded) << " or more\n";
  } else if (free + (a.options.limit > 0 ? available : 0) >= rounded) {
    out << "  - memory is free, but in pieces: bounds for dynamic dimensions "
           "(weirc --dim=N=1..M) let buffers be planned ahead\n";
  } else {
    out << "  - the system has no more memory: smaller feeds, or another "
           "machine\n";
  }
  if (holderCount > 0 && holders[0].count > 1 && a.live > 1)
    out << "  - fewer runs at once, results released sooner "
           "(weir_session_release)\n";
  if (request.bytes >= a.inUse / 8)
    out << "  - a smaller batch, or weirc --schedule=memory\n";
}

int64_t BfcAllocator::report(char *buffer, int64_t capacity) {
  Lock lock(mutex);
  Text out(buffer, capacity);
  BfcReport report(*this, out);
  out << "memory of " << name << '\n' << "  ";
  report.summary();
  out << "held, largest first\n";
  report.holdersTable(64);
  report.binsTable();
  report.regionsTable();
  return out.size();
}

void BfcAllocator::explainFailure(const AllocationRequest &request, char *buffer,
                                  int64_t capacity) {
  Lock lock(mutex);
  Text out(buffer, capacity);
  BfcReport report(*this, out);
  out << "out of memory on " << name << ": ";
  out.bytes(request.bytes) << " for " << request.tag << "; ";
  report.summary();
  if (live > 0)
    out << "Held by:\n";
  report.holdersTable(5);
  report.remedies(request, roundUpToGranule(request.bytes));
}

} // namespace weir::rt

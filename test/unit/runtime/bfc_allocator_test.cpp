//===- bfc_allocator_test.cpp - the allocator's policy, one rule a test ---===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "bfc/bfc_allocator.h"
#include "fake_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace weir::rt;
using weir::rt::test::FakeMemory;

namespace {

constexpr int64_t mebibyte = 1 << 20;
constexpr int64_t plenty = int64_t(1) << 40;

uint64_t allocate(BfcAllocator &allocator, int64_t bytes, const char *tag = "n") {
  AllocationRequest request;
  request.bytes = bytes;
  request.tag = tag;
  return reinterpret_cast<uint64_t>(allocator.allocate(request));
}

/// Leaves what a chunk has beyond that free.
uint64_t allocateExactly(BfcAllocator &allocator, int64_t bytes) {
  AllocationRequest request;
  request.bytes = bytes;
  request.exact = true;
  return reinterpret_cast<uint64_t>(allocator.allocate(request));
}

bool release(BfcAllocator &allocator, uint64_t data) {
  return allocator.free(reinterpret_cast<void *>(data));
}

TEST(Bins, BeginAtPowersOfTwoGranules) {
  EXPECT_EQ(binOf(1), 0);
  EXPECT_EQ(binOf(256), 0);
  EXPECT_EQ(binOf(511), 0);
  EXPECT_EQ(binOf(512), 1);
  EXPECT_EQ(binOf(256 * mebibyte - 1), 19);
  EXPECT_EQ(binOf(256 * mebibyte), 20);
  EXPECT_EQ(binOf(plenty), 20);
  for (int bin = 0; bin < binCount; ++bin)
    EXPECT_EQ(binOf(binBegin(bin)), bin);
}

TEST(Bfc, RoundsToGranulesAndKeepsWhatWasAsked) {
  FakeMemory memory(plenty, false);
  BfcAllocator allocator("d", memory.source(), {});
  EXPECT_EQ(allocate(allocator, 0), 0u);
  EXPECT_EQ(allocate(allocator, -1), 0u);
  EXPECT_EQ(allocate(allocator, INT64_MAX), 0u);
  uint64_t a = allocate(allocator, 1), b = allocate(allocator, 257);
  EXPECT_EQ(b - a, 256u);
  EXPECT_EQ(allocator.stats().inUse, 256 + 512);
  EXPECT_EQ(allocator.stats().requested, 258);
  EXPECT_EQ(allocator.requestedSize(reinterpret_cast<void *>(b)), 257);
  EXPECT_EQ(allocator.requestedSize(reinterpret_cast<void *>(b + 256)), -1);
  EXPECT_FALSE(release(allocator, b + 256)) << "not an allocation's beginning";
  EXPECT_FALSE(release(allocator, 77));
  EXPECT_TRUE(release(allocator, 0));
}

TEST(Bfc, GrowsByDoublingFromTwoMebibytes) {
  FakeMemory memory(plenty, false);
  BfcAllocator allocator("d", memory.source(), {});
  allocate(allocator, mebibyte);
  EXPECT_EQ(memory.held, 2 * mebibyte);
  allocate(allocator, 2 * mebibyte);
  EXPECT_EQ(memory.held, 6 * mebibyte);
  // Doubled until it fits, and not once more.
  allocate(allocator, 20 * mebibyte);
  EXPECT_EQ(memory.held, 38 * mebibyte);
  allocate(allocator, 32 * mebibyte);
  EXPECT_EQ(memory.held, 70 * mebibyte);
}

TEST(Bfc, BacksOffByTenthsWhenTheSystemHasLess) {
  // After 2 MiB the next region would be 4 MiB; nine tenths thereof fit.
  FakeMemory memory(2 * mebibyte + 3900000, false);
  BfcAllocator allocator("d", memory.source(), {});
  EXPECT_NE(allocate(allocator, 2 * mebibyte), 0u);
  EXPECT_NE(allocate(allocator, 3 * mebibyte), 0u);
  EXPECT_EQ(memory.held, 2 * mebibyte + 4 * mebibyte / 10 * 9 / 256 * 256);
  // What is asked for is tried exactly, too.
  FakeMemory exact(3 * mebibyte, false);
  BfcAllocator last("d", exact.source(), {});
  EXPECT_NE(allocate(last, 3 * mebibyte), 0u);
}

TEST(Bfc, TakesTheSmallestThatFitsAndTheLowestOfThose) {
  FakeMemory memory(plenty, false);
  BfcAllocator allocator("d", memory.source(), {});
  uint64_t gaps[4], walls[4];
  int64_t sizes[] = {4096, 2048, 2048, 8192};
  for (int i = 0; i < 4; ++i) {
    gaps[i] = allocate(allocator, sizes[i]);
    walls[i] = allocate(allocator, 256);
  }
  for (uint64_t gap : gaps)
    release(allocator, gap);
  EXPECT_EQ(allocate(allocator, 1800), gaps[1]);
  EXPECT_EQ(allocate(allocator, 2048), gaps[2]);
  EXPECT_EQ(allocate(allocator, 2304), gaps[0]);
  EXPECT_EQ(walls[3] - gaps[3], 8192u);
}

TEST(Bfc, SplitsAtTwiceTheSizeOrALargeSurplus) {
  FakeMemory memory(plenty, false);
  BfcOptions options;
  options.splitSurplus = mebibyte;
  options.firstRegion = 4 * mebibyte;
  BfcAllocator allocator("d", memory.source(), options);
  uint64_t whole = allocate(allocator, 4 * mebibyte);
  release(allocator, whole);
  // 4 MiB for 3.5: neither; for 2.5: 1.5 MiB are left over, enough.
  uint64_t most = allocate(allocator, 7 * mebibyte / 2);
  EXPECT_EQ(allocator.stats().inUse, 4 * mebibyte);
  release(allocator, most);
  uint64_t less = allocate(allocator, 5 * mebibyte / 2);
  EXPECT_EQ(allocator.stats().inUse, 5 * mebibyte / 2);
  release(allocator, less);
  EXPECT_EQ(allocator.stats().largestFree, 4 * mebibyte);
}

TEST(Bfc, KeepsASurplusBelow128MebibytesUnlessItIsHalf) {
  FakeMemory memory(plenty, false);
  BfcOptions options;
  options.firstRegion = 1024 * mebibyte;
  BfcAllocator allocator("d", memory.source(), options);
  uint64_t most = allocate(allocator, 896 * mebibyte + 256);
  EXPECT_EQ(allocator.stats().inUse, 1024 * mebibyte);
  release(allocator, most);
  allocate(allocator, 896 * mebibyte);
  EXPECT_EQ(allocator.stats().inUse, 896 * mebibyte);
  EXPECT_EQ(allocator.stats().largestFree, 128 * mebibyte);
}

TEST(Bfc, SplitsOffAnySurplusForExactRequests) {
  FakeMemory memory(plenty, false);
  BfcOptions options;
  options.firstRegion = 4 * mebibyte;
  BfcAllocator allocator("d", memory.source(), options);
  AllocationRequest request;
  request.bytes = 3 * mebibyte;
  request.exact = true;
  ASSERT_TRUE(allocator.allocate(request));
  EXPECT_EQ(allocator.stats().peakInUse, 3 * mebibyte);
  EXPECT_EQ(allocator.stats().largestFree, mebibyte);
}

TEST(Bfc, CutsFromTheHighEndOnRequest) {
  FakeMemory memory(plenty, false);
  BfcAllocator allocator("d", memory.source(), {});
  uint64_t low = allocate(allocator, 256);
  AllocationRequest request;
  request.bytes = 512;
  request.end = ChunkEnd::High;
  auto high = reinterpret_cast<uint64_t>(allocator.allocate(request));
  EXPECT_EQ(high, low + 2 * mebibyte - 512);
  EXPECT_EQ(allocate(allocator, 256), low + 256);
  EXPECT_EQ(allocator.checkInvariants(), nullptr);
}

TEST(Bfc, RegionsThatTouchBecomeOne) {
  FakeMemory memory(plenty, true);
  BfcAllocator allocator("d", memory.source(), {});
  uint64_t small = allocate(allocator, mebibyte);
  // 1 MiB is free at the end; 4 MiB come behind it, and make one chunk with it.
  EXPECT_EQ(allocate(allocator, 4 * mebibyte), small + mebibyte);
  EXPECT_EQ(allocator.stats().regions, 1);
  EXPECT_EQ(allocator.stats().inUse, 6 * mebibyte);
  EXPECT_EQ(allocator.stats().reserved, 6 * mebibyte);
  EXPECT_EQ(allocator.checkInvariants(), nullptr);
  release(allocator, small);
}

TEST(Bfc, GrowsAtARegionsEndByWhatIsMissing) {
  FakeMemory memory(11 * mebibyte, true);
  SubAllocator source = memory.source();
  source.extend = [](void *self, void *end, int64_t bytes, int64_t *received) -> void * {
    auto &memory = *static_cast<FakeMemory *>(self);
    *received = bytes;
    return reinterpret_cast<uint64_t>(end) == memory.next ? memory.allocate(bytes) : nullptr;
  };
  BfcAllocator allocator("d", source, {});
  uint64_t six = allocateExactly(allocator, 6 * mebibyte);
  EXPECT_EQ(memory.held, 8 * mebibyte);
  // No further region of 5 MiB fits; 2 MiB are free at the end, and 3 more do.
  EXPECT_EQ(allocate(allocator, 5 * mebibyte), six + 6 * mebibyte);
  EXPECT_EQ(memory.held, 11 * mebibyte);
  EXPECT_EQ(allocator.stats().regions, 1);
  EXPECT_EQ(allocator.stats().reserved, 11 * mebibyte);
  EXPECT_EQ(allocator.checkInvariants(), nullptr);
  EXPECT_EQ(allocate(allocator, mebibyte), 0u);
}

TEST(Bfc, AsksOnceForLargePagesThatAreTakenByHalf) {
  static std::vector<uint64_t> asked;
  asked.clear();
  FakeMemory memory(plenty, true);
  SubAllocator source = memory.source();
  source.largePage = 2 * mebibyte;
  source.enlarge = [](void *, void *data, int64_t bytes) {
    EXPECT_EQ(bytes, 2 * mebibyte);
    asked.push_back(reinterpret_cast<uint64_t>(data));
  };
  BfcAllocator allocator("d", source, {});
  uint64_t table = allocateExactly(allocator, 4 * mebibyte + 768 * 1024);
  std::vector<uint64_t> pages = {table, table + 2 * mebibyte};
  EXPECT_EQ(asked, pages) << "of the third page it takes three eighths";
  EXPECT_EQ(allocateExactly(allocator, 256 * 1024), table + 4 * mebibyte + 768 * 1024);
  EXPECT_EQ(asked, pages) << "small ones ask for nothing";
  // The rest of 8 MiB, which a region behind makes longer: from the middle of the third page on.
  EXPECT_EQ(allocateExactly(allocator, 5 * mebibyte), table + 5 * mebibyte);
  pages.insert(pages.end(), {table + 4 * mebibyte, table + 6 * mebibyte, table + 8 * mebibyte});
  EXPECT_EQ(asked, pages);
  release(allocator, table);
  EXPECT_EQ(allocateExactly(allocator, 4 * mebibyte), table);
  EXPECT_EQ(asked, pages) << "asked for already";
  EXPECT_EQ(allocator.checkInvariants(), nullptr);
}

TEST(Bfc, AsksForNoLargePagesOfASurplus) {
  static std::vector<uint64_t> asked;
  asked.clear();
  FakeMemory memory(plenty, true);
  SubAllocator source = memory.source();
  source.largePage = 2 * mebibyte;
  source.enlarge = [](void *, void *data, int64_t) {
    asked.push_back(reinterpret_cast<uint64_t>(data));
  };
  BfcAllocator allocator("d", source, {});
  // A region of 8 MiB, all of which the chunk keeps.
  uint64_t table = allocate(allocator, 4 * mebibyte + 768 * 1024);
  EXPECT_EQ(allocator.stats().inUse, 8 * mebibyte);
  std::vector<uint64_t> pages = {table, table + 2 * mebibyte};
  EXPECT_EQ(asked, pages);
  release(allocator, table);
  EXPECT_EQ(allocate(allocator, 7 * mebibyte), table);
  pages.insert(pages.end(), {table + 4 * mebibyte, table + 6 * mebibyte});
  EXPECT_EQ(asked, pages) << "what the next one takes of it";
  EXPECT_EQ(allocator.checkInvariants(), nullptr);
}

TEST(Bfc, ExtendsNoRegionBeyondTheLimit) {
  FakeMemory memory(plenty, true);
  SubAllocator source = memory.source();
  source.extend = [](void *self, void *, int64_t bytes, int64_t *received) {
    *received = bytes;
    return static_cast<FakeMemory *>(self)->allocate(bytes);
  };
  BfcOptions options;
  options.limit = 10 * mebibyte;
  BfcAllocator allocator("d", source, options);
  allocateExactly(allocator, 7 * mebibyte);
  EXPECT_EQ(memory.held, 8 * mebibyte);
  EXPECT_EQ(allocate(allocator, 4 * mebibyte), 0u);
  EXPECT_NE(allocate(allocator, 3 * mebibyte), 0u);
  EXPECT_EQ(memory.held, 10 * mebibyte);
  EXPECT_EQ(allocator.checkInvariants(), nullptr);
}

TEST(Bfc, CollectsIdleRegionsWhenThatMakesRoom) {
  FakeMemory memory(plenty, false);
  BfcOptions options;
  options.limit = 12 * mebibyte;
  BfcAllocator allocator("d", memory.source(), options);
  uint64_t two = allocate(allocator, 2 * mebibyte);
  uint64_t four = allocate(allocator, 4 * mebibyte);
  release(allocator, two);
  release(allocator, four);
  EXPECT_EQ(allocator.stats().regions, 2);
  uint64_t ten = allocate(allocator, 10 * mebibyte);
  EXPECT_NE(ten, 0u);
  EXPECT_EQ(allocator.stats().collected, 6 * mebibyte);
  EXPECT_EQ(allocate(allocator, 13 * mebibyte), 0u) << "beyond the limit nothing is given up";
  release(allocator, ten);
  EXPECT_EQ(allocate(allocator, 13 * mebibyte), 0u);
  EXPECT_GT(memory.held, 0) << "idle regions are not given up for what cannot fit";
  EXPECT_GT(allocator.collect(), 0);
  EXPECT_EQ(memory.held, 0);
  EXPECT_GE(allocator.stats().collected, 16 * mebibyte);
}

TEST(Bfc, ALimitIsKeptInWholeGranules) {
  FakeMemory memory(plenty, false);
  BfcOptions options;
  options.limit = 3 * mebibyte + 100;
  BfcAllocator allocator("d", memory.source(), options);
  EXPECT_NE(allocate(allocator, 5 * mebibyte / 2), 0u);
  EXPECT_EQ(allocator.stats().reserved, 3 * mebibyte);
  EXPECT_EQ(allocator.checkInvariants(), nullptr);
  EXPECT_EQ(allocate(allocator, mebibyte), 0u);
  EXPECT_EQ(allocator.stats().largest, 5 * mebibyte / 2);
}

TEST(Bfc, DoesNotWaitWhereNobodyCouldFree) {
  FakeMemory memory(mebibyte, false);
  BfcAllocator allocator("d", memory.source(), {});
  AllocationRequest request;
  request.bytes = 2 * mebibyte;
  request.deadline = now() + int64_t(60) * 1000 * 1000 * 1000;
  EXPECT_EQ(allocator.allocate(request), nullptr);
  EXPECT_LT(now(), request.deadline - int64_t(30) * 1000 * 1000 * 1000);
}

TEST(Bfc, AMovingFrontierWakesWhoWaits) {
  FakeMemory memory(plenty, false);
  std::atomic<uint64_t> clock = 5;
  BfcOptions options;
  options.clock = &clock;
  options.limit = 2 * mebibyte;
  BfcAllocator allocator("gpu", memory.source(), options);
  uint64_t kept = allocate(allocator, mebibyte);
  uint64_t freed = allocate(allocator, mebibyte);
  release(allocator, freed); // at 5
  AllocationRequest early;
  early.bytes = mebibyte;
  early.freedBy = 3;
  early.deadline = now() + int64_t(60) * 1000 * 1000 * 1000;
  std::thread moving([&] {
    while (allocator.stats().waits < 1)
      std::this_thread::yield();
    allocator.setSafeFrontier(5);
  });
  EXPECT_EQ(reinterpret_cast<uint64_t>(allocator.allocate(early)), freed);
  EXPECT_LT(now(), early.deadline - int64_t(30) * 1000 * 1000 * 1000);
  moving.join();
  release(allocator, kept);
}

TEST(Bfc, StampsKeepMemoryApartUntilTheFrontierPasses) {
  FakeMemory memory(plenty, false);
  std::atomic<uint64_t> clock = 5;
  BfcOptions options;
  options.clock = &clock;
  options.limit = 2 * mebibyte;
  BfcAllocator allocator("gpu", memory.source(), options);
  uint64_t a = allocate(allocator, mebibyte);
  uint64_t b = allocate(allocator, mebibyte);
  release(allocator, a); // freed at 5
  clock = 9;
  release(allocator, b); // freed at 9
  EXPECT_EQ(allocator.stats().largestFree, mebibyte) << "not merged yet";

  AllocationRequest early;
  early.bytes = 2 * mebibyte;
  early.freedBy = 7;
  EXPECT_EQ(allocator.allocate(early), nullptr);
  early.bytes = mebibyte;
  auto first = reinterpret_cast<uint64_t>(allocator.allocate(early));
  EXPECT_EQ(first, a) << "freed at 5, before 7; b was freed at 9";
  EXPECT_EQ(allocator.allocate(early), nullptr);
  release(allocator, first); // freed at 9, now

  // Who is ordered after everything may have it merged.
  uint64_t all = allocate(allocator, 2 * mebibyte);
  EXPECT_EQ(all, a);
  clock = 12;
  release(allocator, all);
  EXPECT_EQ(allocator.collect(), 0) << "may still be read";
  allocator.setSafeFrontier(12);
  EXPECT_EQ(allocator.collect(), 2 * mebibyte);
}

TEST(Bfc, WaitsForFreesUntilTheDeadline) {
  FakeMemory memory(plenty, false);
  BfcOptions options;
  options.limit = 2 * mebibyte;
  BfcAllocator allocator("d", memory.source(), options);
  uint64_t all = allocate(allocator, 2 * mebibyte);
  AllocationRequest request;
  request.bytes = mebibyte;
  request.deadline = now() + 5 * 1000 * 1000;
  EXPECT_EQ(allocator.allocate(request), nullptr);
  EXPECT_GE(now(), request.deadline);
  EXPECT_EQ(allocator.stats().waits, 1);

  request.deadline = noDeadline;
  std::thread freeing([&] {
    while (allocator.stats().waits < 2)
      std::this_thread::yield();
    release(allocator, all);
  });
  void *data = allocator.allocate(request);
  EXPECT_NE(data, nullptr) << "woken by the free";
  freeing.join();

  // Stopped from outside.
  request.bytes = 2 * mebibyte;
  std::atomic<uint32_t> stop = 0;
  request.stop = &stop;
  std::thread stopping([&] {
    while (allocator.stats().waits < 3)
      std::this_thread::yield();
    stop = 1;
    allocator.wake();
  });
  EXPECT_EQ(allocator.allocate(request), nullptr);
  stopping.join();
  // What can never fit is not waited for.
  request.bytes = 3 * mebibyte;
  request.stop = nullptr;
  EXPECT_EQ(allocator.allocate(request), nullptr);
}

TEST(Bfc, ReportsFragmentation) {
  FakeMemory memory(plenty, false);
  BfcAllocator allocator("d", memory.source(), {});
  EXPECT_EQ(allocator.stats().fragmentation, 0) << "nothing is free";
  std::vector<uint64_t> pieces;
  for (int i = 0; i < 8; ++i)
    pieces.push_back(allocate(allocator, 256 << 10));
  EXPECT_EQ(allocator.stats().fragmentation, 0);
  for (size_t i = 0; i < 8; i += 2)
    release(allocator, pieces[i]);
  EXPECT_DOUBLE_EQ(allocator.stats().fragmentation, 0.75);
}

TEST(Bfc, ExplainsAFailureByNodes) {
  FakeMemory memory(plenty, false);
  BfcOptions options;
  options.limit = 8 * mebibyte;
  BfcAllocator allocator("/device:CPU:0", memory.source(), options);
  std::vector<uint64_t> pieces;
  for (int i = 0; i < 3; ++i)
    pieces.push_back(allocate(allocator, mebibyte, "conv1"));
  pieces.push_back(allocate(allocator, 3 * mebibyte / 2, "dense"));
  AllocationRequest request;
  request.bytes = 4 * mebibyte;
  request.tag = "concat";
  ASSERT_EQ(allocator.allocate(request), nullptr);
  char text[1016];
  allocator.explainFailure(request, text, sizeof(text));
  EXPECT_STREQ(text, "out of memory on /device:CPU:0: 4.0 MiB for concat; in use 4.5 "
                     "MiB (peak 4.5 MiB) of 6.0 MiB held in 2 regions, limit 8.0 "
                     "MiB; largest free chunk 1.5 MiB, fragmentation 0.0 %\n"
                     "Held by:\n"
                     "  3.0 MiB     3 x conv1\n"
                     "  1.5 MiB     dense\n"
                     "What may help:\n"
                     "  - a memory limit of 8.5 MiB or more\n"
                     "  - fewer runs at once, results released sooner "
                     "(weir_session_release)\n"
                     "  - a smaller batch, or weirc --schedule=memory\n");

  std::string report(4096, '\0');
  int64_t size = allocator.report(report.data(), int64_t(report.size()));
  ASSERT_LT(size, 4096);
  report.resize(size_t(size));
  EXPECT_NE(report.find("memory of /device:CPU:0"), std::string::npos);
  EXPECT_NE(report.find("4 in use, 4.5 MiB"), std::string::npos) << report;
  // 2 MiB: all conv1. 4 MiB: conv1, then dense: 62.5 of a hundred.
  EXPECT_NE(report.find(" " + std::string(62, '*') + std::string(38, '_')), std::string::npos)
      << report;
}

TEST(Bfc, ThreadsShareRealMemory) {
  BfcOptions options;
  options.limit = 48 * mebibyte;
  BfcAllocator allocator("d", systemSubAllocator(), options);
  std::vector<std::thread> threads;
  std::atomic<int> damaged = 0, failed = 0;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(unsigned(t) + 1);
      struct Live {
        uint8_t *data;
        size_t bytes;
      };
      std::vector<Live> live;
      for (int step = 0; step < 4000; ++step) {
        if (live.size() < 12 && random() % 3 != 0) {
          AllocationRequest request;
          request.bytes = 1 + int64_t(random() % (random() % 8 ? 4096 : 2 * mebibyte));
          request.deadline = step % 2 ? 0 : now() + 2000 * 1000;
          auto *data = static_cast<uint8_t *>(allocator.allocate(request));
          if (!data) {
            ++failed;
          } else {
            // Both ends suffice to see an overlap with any neighbour.
            data[0] = data[request.bytes - 1] = uint8_t(t + 1);
            live.push_back({data, size_t(request.bytes)});
          }
        } else if (!live.empty()) {
          size_t index = random() % live.size();
          damaged += live[index].data[0] != uint8_t(t + 1);
          damaged += live[index].data[live[index].bytes - 1] != uint8_t(t + 1);
          damaged += !allocator.free(live[index].data);
          live[index] = live.back();
          live.pop_back();
        }
        if (step % 500 == 0)
          allocator.collect();
      }
      for (const Live &one : live)
        damaged += !allocator.free(one.data);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(allocator.checkInvariants(), nullptr);
  EXPECT_EQ(allocator.stats().live, 0);
  allocator.collect();
  EXPECT_EQ(allocator.stats().reserved, 0);
}

} // namespace

//===- bfc_property_test.cpp - the allocator against a plain model --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Random operations on the allocator and on a model of its policy that is plain
// enough to be seen right: a list of chunks that is searched from end to end.
// Without stamps both must agree on every address; with stamps (where the order
// of merging is not part of the contract) the model keeps who freed what when,
// and every answer is judged.

#include "bfc/bfc_allocator.h"
#include "fake_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <list>
#include <random>
#include <vector>

using namespace weir::rt;
using weir::rt::test::FakeMemory;

namespace {

constexpr int64_t mebibyte = 1 << 20;

/// Operations over all cases; a million unless WEIR_BFC_OPERATIONS says
/// otherwise.
int64_t operations() {
  const char *text = std::getenv("WEIR_BFC_OPERATIONS");
  return text ? std::atoll(text) : 1000000;
}

struct Case {
  const char *name;
  int64_t limit, capacity;
  bool growth, collect, adjacent;
};

const Case cases[] = {
    {"growing", 0, int64_t(1) << 40, true, true, false},
    {"adjacent", 0, int64_t(1) << 40, true, true, true},
    {"limited", 24 * mebibyte, int64_t(1) << 40, true, true, false},
    {"limited_adjacent", 24 * mebibyte, int64_t(1) << 40, true, true, true},
    {"scarce", 0, 19 * mebibyte, true, true, false},
    {"one_region", 16 * mebibyte, int64_t(1) << 40, false, false, false},
    {"no_collection", 20 * mebibyte, 15 * mebibyte, true, false, true},
};

int64_t rounded(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// The policy, in as few ideas as it takes.
class Model {
public:
  Model(const Case &c)
      : c(c), memory(c.capacity, c.adjacent), limit(c.limit ? c.limit : int64_t(1) << 62),
        nextRegion(c.growth ? 2 * mebibyte : limit) {}

  uint64_t allocate(int64_t bytes, bool high) {
    int64_t size = rounded(bytes);
    if (uint64_t data = take(size, high))
      return data;
    if (extend(size))
      return take(size, high);
    if (!c.collect || size > limit - memory.held + idle() || !collect())
      return 0;
    return extend(size) ? take(size, high) : 0;
  }

  void free(uint64_t data) {
    for (Chunk &chunk : chunks)
      if (chunk.data == data)
        chunk.used = false;
    merge();
  }

  bool collect() {
    bool any = false;
    for (auto i = chunks.begin(); i != chunks.end();)
      if (!i->used && i->begins && i->size == i->begins) {
        memory.release(reinterpret_cast<void *>(i->data), i->size);
        i = chunks.erase(i);
        any = true;
      } else {
        ++i;
      }
    if (any && c.growth)
      nextRegion = 2 * mebibyte;
    return any;
  }

  const Case &c;
  FakeMemory memory;

private:
  struct Chunk {
    uint64_t data;
    int64_t size;
    bool used;
    int64_t begins; ///< size of the region that begins here, 0: none does
  };

  uint64_t take(int64_t size, bool high) {
    auto best = chunks.end();
    for (auto i = chunks.begin(); i != chunks.end(); ++i)
      if (!i->used && i->size >= size && (best == chunks.end() || i->size < best->size))
        best = i;
    if (best == chunks.end())
      return 0;
    int64_t surplus = best->size - size;
    if (surplus >= size || surplus >= 128 * mebibyte) {
      int64_t low = high ? surplus : size;
      chunks.insert(std::next(best), Chunk{best->data + uint64_t(low), best->size - low, false, 0});
      best->size = low;
      if (high)
        ++best;
    }
    best->used = true;
    return best->data;
  }

  bool extend(int64_t size) {
    int64_t available = limit - memory.held;
    if (size > available)
      return false;
    bool doubled = nextRegion < size;
    while (nextRegion < size)
      nextRegion *= 2;
    int64_t bytes = std::min(nextRegion, available);
    void *data = memory.allocate(bytes);
    while (!data && bytes > size) {
      bytes = std::max(bytes / 10 * 9 / 256 * 256, size);
      data = memory.allocate(bytes);
    }
    if (!data)
      return false;
    if (c.growth && !doubled && nextRegion < int64_t(1) << 61)
      nextRegion *= 2;
    auto address = reinterpret_cast<uint64_t>(data);
    // Fake memory grows upwards: what is new comes last.
    int64_t begins = bytes;
    if (c.adjacent && !chunks.empty() &&
        chunks.back().data + uint64_t(chunks.back().size) == address) {
      auto region = std::prev(chunks.end());
      while (!region->begins)
        --region;
      region->begins += bytes;
      begins = 0;
    }
    chunks.push_back({address, bytes, false, begins});
    merge();
    return true;
  }

  int64_t idle() const {
    int64_t bytes = 0;
    for (const Chunk &chunk : chunks)
      if (!chunk.used && chunk.begins == chunk.size)
        bytes += chunk.size;
    return bytes;
  }

  void merge() {
    for (auto i = chunks.begin(); i != chunks.end(); ++i)
      for (auto next = std::next(i);
           next != chunks.end() && !i->used && !next->used && !next->begins; next = std::next(i)) {
        i->size += next->size;
        chunks.erase(next);
      }
  }

  std::list<Chunk> chunks;
  const int64_t limit;
  int64_t nextRegion;
};

/// Sizes as programs have them: mostly small, some large, some equal.
int64_t randomSize(std::mt19937_64 &random) {
  switch (random() % 8) {
  case 0:
    return 1 + int64_t(random() % 256);
  case 1:
    return 256 << (random() % 12);
  case 2:
    return 1 + int64_t(random() % (4 * mebibyte));
  default:
    return 1 + int64_t(random() % (64 << 10));
  }
}

class BfcAgainstModel : public testing::TestWithParam<Case> {};

TEST_P(BfcAgainstModel, AgreesOnEveryAddress) {
  const Case &c = GetParam();
  Model model(c);
  FakeMemory memory(c.capacity, c.adjacent);
  std::mt19937_64 random(20 + c.capacity + c.limit);
  struct Live {
    uint64_t data;
    int64_t bytes;
  };
  std::vector<Live> live;
  int64_t requested = 0, peak = 0, failures = 0;
  {
    BfcOptions options;
    options.limit = c.limit;
    options.growth = c.growth;
    options.collect = c.collect;
    BfcAllocator allocator("fake", memory.source(), options);
    int64_t count = operations() / int64_t(2 * std::size(cases));
    size_t wanted = 0;
    for (int64_t step = 0; step < count; ++step) {
      // The population swells and shrinks, and is sometimes let go whole.
      if (step % 512 == 0)
        wanted = random() % 200;
      if (random() % 4096 == 0)
        wanted = 0;
      if (live.size() <= wanted && random() % 8 != 0) {
        AllocationRequest request;
        request.bytes = randomSize(random);
        request.end = random() % 4 == 0 ? ChunkEnd::High : ChunkEnd::Low;
        auto data = reinterpret_cast<uint64_t>(allocator.allocate(request));
        ASSERT_EQ(data, model.allocate(request.bytes, request.end == ChunkEnd::High))
            << "operation " << step << ", " << request.bytes << " bytes";
        if (data) {
          live.push_back({data, request.bytes});
          requested += request.bytes;
        } else {
          ++failures;
          wanted = 0;
        }
      } else if (!live.empty()) {
        size_t index = random() % live.size();
        auto *data = reinterpret_cast<void *>(live[index].data);
        ASSERT_EQ(allocator.requestedSize(data), live[index].bytes);
        ASSERT_TRUE(allocator.free(data));
        ASSERT_FALSE(allocator.free(data)) << "freed twice";
        model.free(live[index].data);
        requested -= live[index].bytes;
        live[index] = live.back();
        live.pop_back();
      } else if (random() % 16 == 0) {
        ASSERT_EQ(allocator.collect() > 0, model.collect());
      }
      if (step % 101 == 0) {
        const char *broken = allocator.checkInvariants();
        ASSERT_EQ(broken, nullptr) << broken << ", operation " << step;
        BfcStats stats = allocator.stats();
        ASSERT_EQ(stats.requested, requested);
        ASSERT_EQ(stats.live, int64_t(live.size()));
        ASSERT_EQ(stats.reserved, model.memory.held);
        ASSERT_GE(stats.peakInUse, stats.inUse);
        ASSERT_GE(stats.peakInUse, peak);
        ASSERT_GE(stats.fragmentation, 0);
        ASSERT_LE(stats.fragmentation, 1);
        peak = stats.peakInUse;
      }
    }
  }
  EXPECT_EQ(memory.held, 0) << "regions were not given back";
  EXPECT_FALSE(memory.wrongReleases);
  if (c.limit || c.capacity < int64_t(1) << 40) {
    EXPECT_GT(failures, 0) << "the case never ran out of memory";
  }
}

TEST_P(BfcAgainstModel, KeepsStampedMemoryFromWhoMayNotHaveIt) {
  const Case &c = GetParam();
  // So small that requests fail, and stamped chunks are merged for some.
  constexpr int64_t scale = 8;
  FakeMemory memory(c.capacity / scale, c.adjacent);
  std::atomic<uint64_t> clock = 1;
  std::mt19937_64 random(7 + c.capacity + c.limit);
  struct Live {
    uint64_t data;
    int64_t bytes;
  };
  std::vector<Live> live;
  // When each granule was freed last; absent: never in use, or again in use.
  std::map<uint64_t, uint64_t> freedAt;
  uint64_t frontier = 0;
  int64_t bounded = 0, failures = 0;
  BfcOptions options;
  options.limit = c.limit / scale;
  options.firstRegion = 2 * mebibyte / scale;
  options.growth = c.growth;
  options.collect = c.collect;
  options.clock = &clock;
  BfcAllocator allocator("fake", memory.source(), options);
  int64_t count = operations() / int64_t(2 * std::size(cases));
  size_t wanted = 0;
  for (int64_t step = 0; step < count; ++step) {
    if (step % 512 == 0)
      wanted = random() % 60;
    switch (random() % 8) {
    case 0:
      clock += random() % 4;
      break;
    case 1:
      if (random() % 4 == 0) {
        uint64_t moved = frontier + random() % (clock - frontier + 1);
        frontier = std::max(frontier, moved);
        allocator.setSafeFrontier(frontier);
      }
      break;
    default:
      if (live.size() < wanted) {
        AllocationRequest request;
        request.bytes = 1 + int64_t(random() % (random() % 16 ? 20000 : 900000));
        if (random() % 2) {
          request.freedBy = 1 + random() % clock;
          ++bounded;
        }
        auto data = reinterpret_cast<uint64_t>(allocator.allocate(request));
        if (!data) {
          ++failures;
          wanted /= 2;
          break;
        }
        auto end = data + uint64_t(rounded(request.bytes));
        auto granuleFreed = freedAt.lower_bound(data);
        while (granuleFreed != freedAt.end() && granuleFreed->first < end) {
          if (request.freedBy && granuleFreed->second > frontier) {
            ASSERT_LE(granuleFreed->second, request.freedBy) << "operation " << step;
          }
          granuleFreed = freedAt.erase(granuleFreed);
        }
        for (const Live &other : live)
          ASSERT_FALSE(data < other.data + uint64_t(rounded(other.bytes)) && other.data < end)
              << "overlap, operation " << step;
        live.push_back({data, request.bytes});
      } else if (!live.empty()) {
        size_t index = random() % live.size();
        for (int64_t at = 0; at < live[index].bytes; at += 256)
          freedAt[live[index].data + uint64_t(at)] = clock;
        ASSERT_TRUE(allocator.free(reinterpret_cast<void *>(live[index].data)));
        live[index] = live.back();
        live.pop_back();
      }
    }
    if (step % 101 == 0) {
      const char *broken = allocator.checkInvariants();
      ASSERT_EQ(broken, nullptr) << broken << ", operation " << step;
    }
  }
  EXPECT_GT(bounded, count / 100);
  if (c.limit || c.capacity < int64_t(1) << 40) {
    EXPECT_GT(failures, 0) << "the case never ran out of memory";
  }
  // Once everything is freed and passed, everything merges.
  for (const Live &one : live)
    allocator.free(reinterpret_cast<void *>(one.data));
  allocator.setSafeFrontier(clock);
  allocator.collect();
  EXPECT_EQ(memory.held, 0);
  EXPECT_FALSE(memory.wrongReleases);
}

INSTANTIATE_TEST_SUITE_P(Cases, BfcAgainstModel, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

} // namespace

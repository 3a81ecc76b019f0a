//===- PtxShared.cpp - shared memory, copies into it -------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/PtxBlock.h"

#include <algorithm>

using namespace ptx;

/// The bytes that a kernel's narrowest access to shared memory may have.
static size_t granuleOf(const Function &function) {
  size_t granule = 16;
  for (const Instruction &i : function.code) {
    bool elsewhere = i.has("global") || i.has("param") || i.has("local") || i.has("const");
    if (i.op == Atom || ((i.op == Ld || i.op == St) && !elsewhere))
      granule = std::min(granule, size_t(bytesOf(i.type)));
    else if (i.op == Mbarrier)
      granule = std::min<size_t>(granule, 8);
    else if (i.op == LdMatrix)
      granule = std::min<size_t>(granule, 2);
    else if (i.op == CpAsync)
      granule = std::min<size_t>(granule, 4);
  }
  return granule;
}

/// Who touches shared memory beside threads: tensor cores for each group of warps, and the
/// copy engine for each barrier.
static size_t agentsOf(const Function &function, unsigned threads) {
  for (const Instruction &i : function.code)
    if (i.op == Mbarrier)
      return threads / groupThreads + mostPhases;
  return 0;
}

Block::Block(const Function &function, const std::vector<uint8_t> &parameters, const Launch &launch,
             Watcher &watcher, GridShadow *grid)
    : function(function), parameters(parameters), watcher(watcher), grid(grid), all(launch.threads),
      shared(size_t(function.sharedBytes) + launch.shared),
      shadow(shared.size(), granuleOf(function), launch.threads,
             agentsOf(function, launch.threads)),
      launch(launch), warpGroups(launch.threads / groupThreads), fenced(launch.threads),
      initFenced(launch.threads) {
  for (size_t number = 0; number < all.size(); ++number)
    all[number].number = uint16_t(number);
}

void Block::failRace(const Instruction &i, const Shadow::Access &access, size_t at, size_t bytes,
                     const Shadow::Access &other, const char *how) {
  auto describe = [&](const Shadow::Access &access, const std::string &where) {
    const char *verbs[] = {" reads ", " writes ", " changes "};
    std::string who = access.thread < all.size() ? "thread " + std::to_string(access.thread)
                      : access.thread < all.size() + warpGroups.size() ? "a group's wgmma"
                                                                       : "the copy engine";
    return who + verbs[access.kind] + where + " (line " + std::to_string(access.line) + ")";
  };
  std::string where = "bytes " + std::to_string(at) + " to " + std::to_string(at + bytes - 1);
  fail(i, "a race in shared memory: " + describe(access, where) + ", " + describe(other, "there") +
              ", and " + how);
}

uint8_t *Block::placeShared(const Instruction &i, uint64_t address, int bytes) {
  if (!isShared(address))
    fail(i, "an address that is not in shared memory");
  if (address % uint64_t(bytes))
    fail(i, "an address that is not aligned");
  if (address - sharedBase + uint64_t(bytes) > shared.size())
    fail(i, "beyond the end of its memory");
  return shared.data() + (address - sharedBase);
}

void Block::touchShared(const Thread &thread, const Instruction &i, size_t at, size_t bytes,
                        Shadow::Kind kind) {
  if (const Shadow::Access *other = shadow.touch(at, bytes, kind, thread.number, i.line))
    failRace(i, {0, thread.number, kind, i.line}, at, bytes, *other, "no barrier is between");
}

void Block::meetWarp(const Instruction &i, size_t first, size_t count) {
  for (size_t lane = 0; lane < count; ++lane) {
    Thread &thread = all[first + lane];
    if (uint32_t(value(thread, i.operands.at(0))) != 0xffffffff)
      fail(i, "not all lanes take part");
    ++thread.at;
    thread.state = State::Running;
  }
  shadow.meetWarp(first / 32);
}

void Block::loadMatrices(const Instruction &i, size_t first, size_t count) {
  size_t matrices = i.has("x4") ? 4 : i.has("x2") ? 2 : i.has("x1") ? 1 : 0;
  bool transposed = i.has("trans");
  if (count != 32 || !matrices || !i.has("m8n8") || i.type != Type::B16 || i.operands.size() != 2 ||
      i.operands[0].parts.size() != matrices)
    fail(i, "unknown");
  // Addresses of rows first: a lane's result may be in the register of its
  // address.
  uint64_t rows[32];
  for (size_t lane = 0; lane < 8 * matrices; ++lane) {
    rows[lane] = addressOf(all[first + lane], i.operands[1]);
    placeShared(i, rows[lane], 16);
  }
  for (size_t lane = 0; lane < 32; ++lane) {
    Thread &thread = all[first + lane];
    for (size_t m = 0; m < matrices; ++m) {
      uint32_t both = 0;
      for (size_t half = 0; half < 2; ++half) {
        size_t row = lane / 4, column = 2 * (lane % 4) + half;
        if (transposed)
          std::swap(row, column);
        size_t at = rows[8 * m + row] - sharedBase + 2 * column;
        uint16_t element;
        std::memcpy(&element, &shared[at], 2);
        both |= uint32_t(element) << (16 * half);
        // Lanes read what they get, whoever had the address.
        touchShared(thread, i, at, 2, Shadow::Read);
      }
      thread.registers[size_t(i.operands[0].parts[m])] = both;
    }
    ++thread.at;
    thread.state = State::Running;
  }
}

void Block::asyncCopy(Thread &thread, const Instruction &i) {
  if (i.has("commit_group")) {
    ++thread.groups;
    return;
  }
  if (i.has("wait_all"))
    return finishCopies(thread, i, thread.groups + 1);
  if (i.has("wait_group")) {
    uint64_t recent = value(thread, i.operands.at(0));
    return finishCopies(thread, i, thread.groups - std::min(thread.groups, recent));
  }
  bool l1 = i.has("ca");
  if (!(l1 || i.has("cg")) || !i.has("shared") || !i.has("global") || i.operands.size() < 3 ||
      i.operands.size() > 4)
    fail(i, "unknown");
  uint64_t to = addressOf(thread, i.operands[0]), from = addressOf(thread, i.operands[1]),
           bytes = i.operands[2].value;
  if (bytes != 16 && !(l1 && (bytes == 4 || bytes == 8)))
    fail(i, "a size that it does not have");
  uint64_t given = bytes;
  if (i.operands.size() == 4)
    given = uint32_t(value(thread, i.operands[3]));
  if (given > bytes)
    fail(i, "a source that is larger than the destination");
  placeShared(i, to, int(bytes));
  if (from % bytes)
    fail(i, "an address that is not aligned");
  Copy copy;
  copy.at = size_t(to - sharedBase);
  copy.bytes = size_t(bytes);
  copy.group = thread.groups;
  copy.line = i.line;
  // The rest is zeros; the source may end before it.
  if (given) {
    if (from >= sharedBase)
      fail(i, "a source that is not in global memory");
    accessGlobal(thread, i, from, int(given), false);
    std::memcpy(copy.data, reinterpret_cast<const void *>(from), size_t(given));
  }
  touchShared(thread, i, copy.at, copy.bytes, Shadow::Write);
  copy.issued = shadow.mark();
  thread.copies.push_back(copy);
}

void Block::finishCopies(Thread &thread, const Instruction &i, uint64_t groups) {
  auto copy = thread.copies.begin();
  for (; copy != thread.copies.end() && copy->group < groups; ++copy) {
    // It may have been done at any time since it was put: even its own thread
    // must not look there before now.
    Shadow::Access access{0, thread.number, Shadow::Write, copy->line};
    const Shadow::Access *other = shadow.findLater(copy->at, copy->bytes, copy->issued);
    if (other)
      failRace(i, access, copy->at, copy->bytes, *other,
               "the first is a copy that was not waited for");
    std::memcpy(&shared[copy->at], copy->data, copy->bytes);
    touchShared(thread, i, copy->at, copy->bytes, Shadow::Write);
  }
  thread.copies.erase(thread.copies.begin(), copy);
}

//===- PtxMachine.cpp - runs PTX ----------------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/PtxBlock.h"
#include "test/cuda/recorder/TensorCore.h"

#include <algorithm>

using namespace ptx;

void Block::beginBlock(unsigned which) {
  number = which;
  std::fill(shared.begin(), shared.end(), uint8_t(0xcd));
  shadow.begin();
  phases.clear();
  requests.clear();
  warpGroups.assign(warpGroups.size(), {});
  std::fill(fenced.begin(), fenced.end(), 0);
  std::fill(initFenced.begin(), initFenced.end(), 0);
  uint64_t id = 0;
  for (Thread &thread : all) {
    thread.registers.assign(size_t(function.registers), 0);
    auto put = [&](int reg, uint64_t value) {
      if (reg >= 0)
        thread.registers[size_t(reg)] = value;
    };
    put(function.tid, id);
    put(function.lane, id % 32);
    put(function.ctaid, number);
    put(function.ntid, all.size());
    put(function.nctaid, launch.blocks);
    for (auto [reg, value] : function.constants)
      put(reg, value);
    ++id;
    thread.local.assign(size_t(function.localBytes) + 16, 0);
    thread.copies.clear();
    thread.waited = false;
    thread.groups = 0;
    thread.at = 0;
    thread.state = State::Running;
  }
}

bool Block::goOn() {
  bool any = false;
  for (;;) {
    bool moved = false;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].state == State::Running ||
          (all[i].state == State::AtMbarrier && isOver(all[i], function.code[size_t(all[i].at)]))) {
        all[i].state = State::Running;
        runThread(all[i]);
        moved = true;
      }
    moved |= shuffle();
    moved |= meetGroups();
    moved |= release();
    // Copies come as late as they may.
    if (!moved && !finishBulkCopy())
      break;
    any = true;
  }
  // Who sleeps looks once more, at what other blocks have done meanwhile.
  for (Thread &thread : all)
    if (thread.state == State::Asleep) {
      thread.state = State::Running;
      runThread(thread);
      any |= thread.state != State::Asleep;
    }
  return any;
}

bool Block::isDone() const {
  return std::all_of(all.begin(), all.end(),
                     [](const Thread &thread) { return thread.state == State::Done; });
}

void Block::endBlock() {
  if (!isDone())
    throw std::runtime_error(function.name + ": threads wait for each other");
  for (const WarpGroup &group : warpGroups)
    if (!group.products.empty())
      throw std::runtime_error(function.name + ": products that nobody waited for");
  for (const auto &[at, barrier] : phases)
    if (barrier.bytes != 0)
      throw std::runtime_error(function.name + ": copies that nobody waited for");
}

void Block::fail(const Instruction &i, const std::string &what) {
  throw std::runtime_error(function.name + " (line " + std::to_string(i.line) + ", " + i.name +
                           "): " + what);
}

bool Block::release() {
  bool any = false;
  for (Thread &thread : all) {
    if (thread.state == State::Done)
      continue;
    if (thread.state != State::AtBarrier)
      return false;
    any = true;
  }
  for (Thread &thread : all)
    if (thread.state == State::AtBarrier)
      thread.state = State::Running;
  if (any)
    shadow.meet();
  if (any && grid)
    grid->meet(number);
  return any;
}

bool Block::shuffle() {
  bool any = false;
  for (size_t first = 0; first < all.size(); first += 32) {
    size_t count = std::min<size_t>(32, all.size() - first);
    bool ready = true;
    for (size_t lane = 0; lane < count; ++lane)
      ready &= all[first + lane].state == State::AtShuffle;
    if (!ready)
      continue;
    const Instruction &i = function.code[size_t(all[first].at)];
    for (size_t lane = 0; lane < count; ++lane)
      if (all[first + lane].at != all[first].at)
        fail(i, "threads of a warp are at different shuffles");
    any = true;
    if (i.op != Shfl) {
      i.op == Mma        ? multiply(i, first, count)
      : i.op == Vote     ? vote(i, first, count)
      : i.op == LdMatrix ? loadMatrices(i, first, count)
                         : meetWarp(i, first, count);
      continue;
    }
    bool pair = i.has("pair");
    size_t source = pair ? 2 : 1;
    std::vector<uint64_t> values(count);
    for (size_t lane = 0; lane < count; ++lane)
      values[lane] = value(all[first + lane], i.operands[source]);
    for (size_t lane = 0; lane < count; ++lane) {
      Thread &thread = all[first + lane];
      auto b = uint32_t(value(thread, i.operands[source + 1]));
      auto c = uint32_t(value(thread, i.operands[source + 2]));
      if (uint32_t(value(thread, i.operands[source + 3])) != 0xffffffff)
        fail(i, "not all lanes take part");
      uint32_t segment = (c >> 8) & 31, clamp = c & 31;
      auto own = uint32_t(lane);
      uint32_t low = own & segment, high = low | (clamp & ~segment);
      uint32_t from;
      bool inside;
      if (i.has("bfly")) {
        from = own ^ b;
        inside = from <= high;
      } else if (i.has("down")) {
        from = own + b;
        inside = from <= high;
      } else if (i.has("up")) {
        from = own - b;
        inside = int32_t(from) >= int32_t(high);
      } else {
        from = low | (b & ~segment);
        inside = from <= high;
      }
      thread.registers[size_t(i.operands[0].reg)] =
          inside && from < count ? values[from] : values[lane];
      if (pair)
        thread.registers[size_t(i.operands[1].reg)] = inside;
    }
    for (size_t lane = 0; lane < count; ++lane) {
      ++all[first + lane].at;
      all[first + lane].state = State::Running;
    }
  }
  return any;
}

void Block::vote(const Instruction &i, size_t first, size_t count) {
  if (!i.has("ballot") || i.type != Type::B32 || i.operands.size() != 3)
    fail(i, "unknown");
  uint64_t ballot = 0;
  for (size_t lane = 0; lane < count; ++lane) {
    Thread &thread = all[first + lane];
    const Operand &predicate = i.operands[1];
    if (uint32_t(value(thread, i.operands[2])) != 0xffffffff)
      fail(i, "not all lanes take part");
    ballot |= uint64_t((value(thread, predicate) & 1) != predicate.negated) << lane;
  }
  for (size_t lane = 0; lane < count; ++lane) {
    Thread &thread = all[first + lane];
    set(thread, i, ballot);
    ++thread.at;
    thread.state = State::Running;
  }
}

void Block::multiply(const Instruction &i, size_t first, size_t count) {
  // sync.aligned.SHAPE.row.col.sums.left.right.sums
  bool isBrain = i.from == Type::BF16, ofBytes = i.has("m16n8k32");
  auto typeOf = [&](size_t word) { return i.words.size() == 9 ? i.words[word] : ""; };
  auto isByte = [](const std::string &type) { return type == "s8" || type == "u8"; };
  auto isNarrow = [](const std::string &type) { return type == "e4m3" || type == "e5m2"; };
  bool ofNarrow = ofBytes && typeOf(5) == "f32" && isNarrow(typeOf(6)) && isNarrow(typeOf(7));
  bool isKnown = ofBytes
                     ? ofNarrow || (typeOf(5) == "s32" && isByte(typeOf(6)) && isByte(typeOf(7)))
                     : i.has("m16n8k16") && i.type == Type::F32 && (isBrain || i.from == Type::F16);
  if (count != 32 || !isKnown || !i.has("row") || !i.has("col") || i.operands.size() != 4)
    fail(i, "unknown");
  MmaLane lanes[32];
  for (size_t lane = 0; lane < 32; ++lane) {
    auto read = [&](size_t operand, size_t part) {
      return uint32_t(all[first + lane].registers[size_t(i.operands[operand].parts.at(part))]);
    };
    for (size_t k = 0; k < 4; ++k) {
      lanes[lane].a[k] = read(1, k);
      lanes[lane].c[k] = read(3, k);
    }
    for (size_t k = 0; k < 2; ++k)
      lanes[lane].b[k] = read(2, k);
  }
  if (ofNarrow)
    mmaOfNarrow(lanes, typeOf(6) == std::string("e5m2"), typeOf(7) == std::string("e5m2"));
  else if (ofBytes)
    mma16x8x32(lanes, typeOf(6) == "s8", typeOf(7) == "s8");
  else
    mma16x8x16(lanes, isBrain);
  for (size_t lane = 0; lane < 32; ++lane) {
    Thread &thread = all[first + lane];
    for (size_t k = 0; k < 4; ++k)
      thread.registers[size_t(i.operands[0].parts.at(k))] = lanes[lane].c[k];
    ++thread.at;
    thread.state = State::Running;
  }
}

uint8_t *Block::place(Thread &thread, const Instruction &i, uint64_t address, int bytes,
                      bool writes, bool isParameter) {
  auto inside = [&](uint64_t base, size_t size) {
    if (address - base + uint64_t(bytes) > size)
      fail(i, "beyond the end of its memory");
    return size_t(address - base);
  };
  if (address % uint64_t(bytes))
    fail(i, "an address that is not aligned");
  if ((isParameter && !(address & localBase)) || (address & paramBase))
    return const_cast<uint8_t *>(parameters.data()) + inside(paramBase, parameters.size());
  if (address & localBase)
    return thread.local.data() + inside(localBase, thread.local.size());
  if (address & sharedBase) {
    size_t at = inside(sharedBase, shared.size());
    touchShared(thread, i, at, size_t(bytes),
                i.op == Atom ? Shadow::Atomic
                : writes     ? Shadow::Write
                             : Shadow::Read);
    return shared.data() + at;
  }
  accessGlobal(thread, i, address, bytes, writes);
  return reinterpret_cast<uint8_t *>(address);
}

void Block::accessGlobal(const Thread &thread, const Instruction &i, uint64_t address, int bytes,
                         bool writes) {
  if (launch.mayBegin && !thread.waited)
    fail(i, "touches memory that kernels before may still write: no griddepcontrol.wait is before");
  watcher.access(address, bytes, writes);
  if (!grid)
    return;
  bool isAtomic = i.op == Atom || i.has("acquire") || i.has("release");
  GridShadow::Kind kind = isAtomic      ? GridShadow::Atomic
                          : writes      ? GridShadow::Write
                          : i.has("nc") ? GridShadow::ReadConstant
                                        : GridShadow::Read;
  const GridShadow::Access *other =
      grid->touch(address, size_t(bytes), kind, number, thread.number, i.line);
  if (!other)
    return;
  auto verb = [](GridShadow::Kind kind) {
    return kind == GridShadow::Read           ? "reads"
           : kind == GridShadow::ReadConstant ? "reads as a constant"
           : kind == GridShadow::Write        ? "writes"
                                              : "changes";
  };
  fail(i, "a race between blocks: block " + std::to_string(number) + " " + verb(kind) +
              " what block " + std::to_string(other->block) + " " + verb(other->kind) + " (line " +
              std::to_string(other->line) + "), and nothing orders them");
}

void Block::synchronize(const Thread &thread, const Instruction &i, uint64_t address) {
  if (!grid || !(i.has("gpu") || i.has("sys")))
    return;
  if (i.has("acquire") || i.has("acq_rel"))
    grid->acquire(address, number, thread.number);
  if (i.has("release") || i.has("acq_rel"))
    grid->release(address, number, thread.number);
}

void Block::runThread(Thread &thread) {
  for (;;) {
    const Instruction &i = function.code[size_t(thread.at)];
    if (i.predicate >= 0) {
      bool holds = thread.registers[size_t(i.predicate)] & 1;
      if (holds == i.predicateNegated) {
        ++thread.at;
        continue;
      }
    }
    switch (i.op) {
    case Bar:
      // What a barrier of some threads orders is not what one of all does.
      if (!i.has("sync") || (i.operands.size() > 1 && value(thread, i.operands[1]) != all.size()))
        fail(i, "not a barrier of all threads");
      ++thread.at;
      thread.state = State::AtBarrier;
      return;
    case Shfl:
    case Vote:
    case Mma:
    case LdMatrix:
    case WarpBar:
      thread.state = State::AtShuffle;
      return;
    case Wgmma:
    case SetMaxNReg:
      thread.state = State::AtGroup;
      return;
    case Mbarrier:
      if (!mbarrier(thread, i)) {
        thread.state = State::AtMbarrier;
        return;
      }
      ++thread.at;
      continue;
    case NanoSleep:
      if (!grid)
        fail(i, "waits for others in a launch whose blocks need not run at the same time");
      ++thread.at;
      thread.state = State::Asleep;
      return;
    case Ret:
    case Exit:
      thread.state = State::Done;
      return;
    case Bra:
      thread.at = i.target;
      continue;
    case Brx:
      thread.at = i.targets.at(size_t(value(thread, i.operands[0])));
      continue;
    default:
      if (i.isSingle)
        set(thread, i, std::bit_cast<uint32_t>(computeSingle(thread, i)));
      else
        execute(thread, i);
      ++thread.at;
    }
  }
}

void ptx::run(const Function &function, const std::vector<uint8_t> &parameters,
              const Launch &launch, Watcher &watcher) {
  if (!launch.together) {
    Block block(function, parameters, launch, watcher, nullptr);
    for (unsigned number = 0; number < launch.blocks; ++number) {
      block.beginBlock(number);
      while (block.goOn())
        ;
      block.endBlock();
    }
    return;
  }
  GridShadow grid(launch.blocks);
  std::vector<std::unique_ptr<Block>> blocks;
  for (unsigned number = 0; number < launch.blocks; ++number) {
    blocks.push_back(std::make_unique<Block>(function, parameters, launch, watcher, &grid));
    blocks.back()->beginBlock(number);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (auto &block : blocks)
      moved |= !block->isDone() && block->goOn();
  }
  for (auto &block : blocks)
    block->endBlock();
}

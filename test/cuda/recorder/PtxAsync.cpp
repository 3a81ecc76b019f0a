//===- PtxAsync.cpp - the copy engine and groups of warps ----------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers of some threads and of bytes (mbarrier), tensors that the copy engine brings
// (cp.async.bulk.tensor), products of four warps (wgmma). What is asked for is carried out
// as late as it may be: a copy when no thread can go on, a product when it is waited for.
// Until then sums are no numbers, so that a wait that is missing shows.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/PtxBlock.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace ptx;

static constexpr uint32_t noNumber = 0x7fbadbad;

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Phases &Block::phasesAt(Thread &thread, const Instruction &i, uint64_t address) {
  placeShared(i, address, 8);
  auto it = phases.find(size_t(address - sharedBase));
  if (it == phases.end())
    fail(i, "no barrier was made there");
  touchShared(thread, i, it->first, 8, Shadow::Atomic);
  return it->second;
}

bool Block::isOver(Thread &thread, const Instruction &i) {
  const Operand &where = i.operands.at(1);
  uint32_t parity = uint32_t(value(thread, i.operands.at(2)));
  if (parity > 1)
    fail(i, "a parity that is none");
  return phasesAt(thread, i, addressOf(thread, where)).parity != parity;
}

/// Ends a phase where everybody has come, and every byte.
void Block::endPhase(Phases &p) {
  if (p.missing != 0 || p.bytes != 0)
    return;
  Shadow::join(p.over, p.came);
  std::fill(p.came.begin(), p.came.end(), 0);
  p.missing = p.count;
  p.parity ^= 1;
}

bool Block::mbarrier(Thread &thread, const Instruction &i) {
  if (!i.has("shared") || i.type != Type::B64)
    fail(i, "unknown");
  if (i.has("init")) {
    uint64_t address = addressOf(thread, i.operands.at(0));
    placeShared(i, address, 8);
    touchShared(thread, i, size_t(address - sharedBase), 8, Shadow::Write);
    if (phases.size() == mostPhases || phases.count(size_t(address - sharedBase)))
      fail(i, "too many barriers, or one made twice");
    Phases &p = phases[size_t(address - sharedBase)];
    p.number = phases.size() - 1;
    p.maker = thread.number;
    p.line = i.line;
    p.made = shadow.tick();
    p.count = p.missing = uint32_t(value(thread, i.operands.at(1)));
    p.came.assign(shadow.agents(), 0);
    p.over = p.came;
    return true;
  }
  if (i.has("try_wait") && i.has("parity")) {
    if (!isOver(thread, i))
      return false;
    Phases &p = phasesAt(thread, i, addressOf(thread, i.operands[1]));
    Shadow::join(shadow.clockOf(thread.number), p.over);
    set(thread, i, 1);
    return true;
  }
  if (!i.has("arrive") || i.operands.size() < 2)
    fail(i, "unknown");
  Phases &p = phasesAt(thread, i, addressOf(thread, i.operands[1]));
  if (i.has("expect_tx"))
    p.bytes += int64_t(value(thread, i.operands.at(2)));
  if (p.missing == 0)
    fail(i, "more arrivals than the barrier counts");
  --p.missing;
  Shadow::join(p.came, shadow.clockNow(thread.number));
  endPhase(p);
  return true;
}

void Block::fence(Thread &thread, const Instruction &i) {
  bool isProxy = i.has("proxy") && i.has("async");
  if (isProxy)
    fenced[thread.number] = shadow.tick();
  if (isProxy || i.has("mbarrier_init"))
    initFenced[thread.number] = shadow.tick();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Of a box.
static size_t linesOf(const TensorMap &m) {
  size_t lines = m.isWindow ? m.pixels : 1;
  for (uint32_t d = 1; d < m.rank && !m.isWindow; ++d)
    lines *= size_t((m.box[d] + m.steps[d] - 1) / m.steps[d]);
  return lines;
}

/// Goes to a box' next line; `at`: coordinates.
static void advance(const BulkRequest &request, int64_t *at) {
  const TensorMap &m = request.map;
  for (uint32_t d = 1; d < m.rank; ++d) {
    at[d] += m.isWindow && d + 1 == m.rank ? 1 : m.steps[d];
    // From the end of a line of windows to the next one's begin.
    int64_t end = m.isWindow ? d + 1 == m.rank ? INT64_MAX : int64_t(m.sizes[d]) + m.high[d - 1]
                             : int64_t(request.coordinates[d]) + m.box[d];
    if (at[d] < end)
      return;
    at[d] = m.isWindow ? m.low[d - 1] : request.coordinates[d];
  }
}

void Block::bulkCopy(Thread &thread, const Instruction &i) {
  // cp.async.bulk.tensor.Nd.shared.global.mbarrier.complete_tx.bytes [to], [map, {…}], [barrier]
  // Of windows: behind that {offsets of a place}.
  bool isWindow = i.has("im2col");
  if (!i.has("complete_tx") || !i.has("global") || i.operands.size() != (isWindow ? 4 : 3))
    fail(i, "unknown");
  BulkRequest request;
  uint64_t map = addressOf(thread, i.operands[1]);
  if (!(map & paramBase) || map - paramBase + 128 > parameters.size() || map % 64)
    fail(i, "a description that is no parameter, or not aligned");
  std::memcpy(&request.map, parameters.data() + (map - paramBase), sizeof(TensorMap));
  const TensorMap &m = request.map;
  if (m.magic != TensorMap::mark || !i.has(std::string_view(std::to_string(m.rank) + "d")) ||
      i.operands[1].parts.size() != m.rank || bool(m.isWindow) != isWindow)
    fail(i, "a description of another tensor, or none");
  if (launch.mayBegin && !thread.waited)
    fail(i, "reads memory that kernels before may still write: no griddepcontrol.wait is before");
  request.to = addressOf(thread, i.operands[0]);
  size_t bytes = linesOf(m) * m.box[0] * m.elementBytes;
  for (uint32_t d = 0; isWindow && d + 2 < m.rank; ++d)
    request.offsets[d] = uint16_t(thread.registers[size_t(i.operands[3].parts.at(d))]);
  for (uint32_t d = 0; d < m.rank; ++d) {
    request.coordinates[d] = int32_t(uint32_t(thread.registers[size_t(i.operands[1].parts[d])]));
  }
  placeShared(i, request.to, 16);
  if (request.to % 128 || request.to - sharedBase + bytes > shared.size())
    fail(i, "a place that is not aligned, or beyond the end of its memory");
  Phases &p = phasesAt(thread, i, addressOf(thread, i.operands[2]));
  if (initFenced[p.maker] <= p.made)
    fail(i, "the barrier of line " + std::to_string(p.line) +
                " was not made known to the copy engine (fence.mbarrier_init)");
  request.barrier = size_t(addressOf(thread, i.operands[2]) - sharedBase);
  request.by = &i;
  // From now on it may write: after all that its thread knows of.
  size_t at = size_t(request.to - sharedBase);
  auto agent = uint16_t(all.size() + warpGroups.size() + p.number);
  shadow.clockOf(agent) = shadow.clockNow(thread.number);
  if (const Shadow::Access *own = shadow.findUnfenced(at, bytes, fenced))
    failRace(i, {0, agent, Shadow::Write, i.line}, at, bytes, *own,
             "no fence.proxy.async is between");
  if (const Shadow::Access *other = shadow.touch(at, bytes, Shadow::Write, agent, i.line))
    failRace(i, {0, agent, Shadow::Write, i.line}, at, bytes, *other, "no barrier is between");
  shadow.tick();
  std::memset(&shared[at], 0xcd, bytes);
  requests.push_back(request);
}

bool Block::finishBulkCopy() {
  if (requests.empty())
    return false;
  random = random * 6364136223846793005u + 1442695040888963407u;
  size_t chosen = size_t(random >> 33) % requests.size();
  BulkRequest request = requests[chosen];
  requests.erase(requests.begin() + long(chosen));
  const TensorMap &m = request.map;
  int64_t at[TensorMap::most];
  std::copy_n(request.coordinates, m.rank, at);
  size_t lines = linesOf(m), lineBytes = size_t(m.box[0]) * m.elementBytes;
  for (size_t line = 0; line < lines; ++line, advance(request, at)) {
    bool inside = true;
    uint64_t from = m.base;
    for (uint32_t d = 1; d < m.rank; ++d) {
      int64_t index = at[d] + (m.isWindow && d + 1 < m.rank ? request.offsets[d - 1] : 0);
      inside &= index >= 0 && index < int64_t(m.sizes[d]);
      from += uint64_t(index) * m.strides[d - 1];
    }
    // What is outside is zeros.
    uint8_t bytes[128] = {};
    int64_t begin = std::max<int64_t>(0, -at[0]),
            end = std::min<int64_t>(m.box[0], int64_t(m.sizes[0]) - at[0]);
    if (inside && begin < end) {
      uint64_t first = from + uint64_t(at[0] + begin) * m.elementBytes;
      size_t count = size_t(end - begin) * m.elementBytes;
      watcher.access(first, int(count), false);
      std::memcpy(bytes + size_t(begin) * m.elementBytes, reinterpret_cast<const void *>(first),
                  count);
    }
    for (size_t b = 0; b < lineBytes; b += 16)
      std::memcpy(&shared[size_t(turned128(request.to - sharedBase + line * lineBytes + b))],
                  bytes + b, 16);
  }
  Phases &p = phases.at(request.barrier);
  size_t agent = all.size() + warpGroups.size() + p.number;
  p.came[agent] = std::max(p.came[agent], shadow.tick());
  p.bytes -= int64_t(lines * lineBytes);
  endPhase(p);
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

bool Block::meetGroups() {
  bool any = false;
  for (size_t g = 0; g < warpGroups.size(); ++g) {
    size_t first = g * groupThreads;
    bool ready = true;
    for (size_t t = first; t < first + groupThreads; ++t)
      ready &= all[t].state == State::AtGroup;
    if (!ready)
      continue;
    const Instruction &i = function.code[size_t(all[first].at)];
    for (size_t t = first; t < first + groupThreads; ++t)
      if (all[t].at != all[first].at)
        fail(i, "threads of a group of warps are at different instructions");
    any = true;
    WarpGroup &group = warpGroups[g];
    if (i.op == SetMaxNReg) {
      uint64_t count = value(all[first], i.operands.at(0));
      if (count < 24 || count > 256 || count % 8)
        fail(i, "a number of registers that it does not take");
    } else if (i.has("fence")) {
      group.fenced = true;
    } else if (i.has("commit_group")) {
      ++group.committed;
    } else if (i.has("wait_group")) {
      finishProducts(i, first, value(all[first], i.operands.at(0)));
    } else if (i.has("mma_async")) {
      beginProduct(i, first);
    } else {
      fail(i, "unknown");
    }
    for (size_t t = first; t < first + groupThreads; ++t) {
      ++all[t].at;
      all[t].state = State::Running;
    }
  }
  return any;
}

namespace {
/// What the words of an instruction say.
struct GroupShape {
  size_t columns = 0, depth = 0, bytes = 0; ///< of an element
  std::string left, right;
  bool isInteger = false, leftAcross = false, rightAcross = false;
  bool leftInRegisters = false; ///< four words a thread
};
} // namespace

/// Empty: unknown.
static GroupShape shapeOf(const Instruction &i) {
  GroupShape s;
  // mma_async.sync.aligned.m64nNkK.sums.left.right
  if (i.words.size() != 7)
    return {};
  unsigned n = 0, k = 0;
  if (std::sscanf(i.words[3].c_str(), "m64n%uk%u", &n, &k) != 2 || n < 8 || n > 256 || n % 8)
    return {};
  s.columns = n;
  s.depth = k;
  s.left = i.words[5];
  s.right = i.words[6];
  s.isInteger = i.words[4] == "s32";
  bool isHalf = s.left == "f16" || s.left == "bf16";
  auto isByte = [&](const std::string &name) {
    return s.isInteger ? name == "s8" || name == "u8" : name == "e4m3" || name == "e5m2";
  };
  s.bytes = isHalf ? 2 : 1;
  s.leftInRegisters = i.operands.size() > 1 && i.operands[1].parts.size() == 4;
  // Of halves in registers there is no word that says whether they lie across.
  size_t operands = s.leftInRegisters ? 7 : 8;
  bool fits =
      isHalf ? s.left == s.right && i.words[4] == "f32" && k == 16 && i.operands.size() == operands
             : !s.leftInRegisters && isByte(s.left) && isByte(s.right) && k == 32 &&
                   (s.isInteger ? i.operands.size() == 4
                                : i.words[4] == "f32" && i.operands.size() == 6);
  if (!fits || i.operands[0].parts.size() != s.columns / 2 ||
      (!s.isInteger && (i.operands[4].value != 1 || i.operands[5].value != 1)))
    return {};
  if (isHalf) {
    s.leftAcross = !s.leftInRegisters && i.operands[6].value;
    s.rightAcross = i.operands[operands - 1].value;
  }
  return s;
}

size_t Block::operandAt(const Instruction &i, uint64_t descriptor, bool across, size_t line,
                        size_t place, size_t bytes) {
  constexpr uint64_t turn128 = 1;
  uint64_t start = (descriptor & 0x3fff) << 4, leading = (descriptor >> 16 & 0x3fff) << 4,
           stride = (descriptor >> 32 & 0x3fff) << 4;
  if (descriptor >> 62 != turn128 || (descriptor >> 49 & 7) != 0)
    fail(i, "a layout that is not that of 128-byte swizzle");
  // Canonical layouts (PTX ISA): eight lines of 128 bytes lie together; along the depth
  // they are rows (columns), across they are places of the depth.
  uint64_t at = across ? start + line / 64 * leading + place / 8 * stride + place % 8 * 128 +
                             line % 64 * bytes
                       : start + line / 8 * stride + line % 8 * 128 + place * bytes;
  at = turned128(at);
  if (at + bytes > shared.size())
    fail(i, "beyond the end of its memory");
  return size_t(at);
}

void Block::touchOperand(const Instruction &i, uint64_t descriptor, bool across, size_t lines,
                         size_t places, size_t bytes, uint16_t agent) {
  // By chunks of 16 bytes, which stay together.
  size_t chunk = 16 / bytes;
  size_t outer = across ? places : lines, inner = across ? lines : places;
  for (size_t o = 0; o < outer; ++o)
    for (size_t n = 0; n < inner; n += chunk) {
      size_t at = operandAt(i, descriptor, across, across ? n : o, across ? o : n, bytes);
      if (const Shadow::Access *own = shadow.findUnfenced(at, 16, fenced))
        failRace(i, {0, agent, Shadow::Read, i.line}, at, 16, *own,
                 "no fence.proxy.async is between");
      if (const Shadow::Access *other = shadow.touch(at, 16, Shadow::Read, agent, i.line))
        failRace(i, {0, agent, Shadow::Read, i.line}, at, 16, *other, "no barrier is between");
    }
}

/// The left operand in registers, of each thread in turn.
std::vector<uint32_t> Block::wordsOf(const Instruction &i, size_t first) const {
  std::vector<uint32_t> words;
  for (size_t t = first; t < first + groupThreads; ++t)
    for (int reg : i.operands[1].parts)
      words.push_back(uint32_t(all[t].registers[size_t(reg)]));
  return words;
}

void Block::beginProduct(const Instruction &i, size_t first) {
  GroupShape shape = shapeOf(i);
  if (!shape.columns)
    fail(i, "unknown");
  WarpGroup &group = warpGroups[first / groupThreads];
  GroupProduct product;
  product.by = &i;
  if (!shape.leftInRegisters)
    product.left = value(all[first], i.operands[1]);
  product.right = value(all[first], i.operands[2]);
  product.adds = value(all[first], i.operands[3]) & 1;
  product.group = group.committed;
  for (size_t t = first; t < first + groupThreads; ++t)
    if ((!shape.leftInRegisters && value(all[t], i.operands[1]) != product.left) ||
        value(all[t], i.operands[2]) != product.right ||
        (value(all[t], i.operands[3]) & 1) != product.adds)
      fail(i, "threads of a group of warps do not agree");
  const std::vector<int> &registers = i.operands[0].parts;
  for (const GroupProduct &other : group.products)
    if (other.sums->registers == registers)
      product.sums = other.sums;
    else
      for (int reg : registers)
        if (std::find(other.sums->registers.begin(), other.sums->registers.end(), reg) !=
            other.sums->registers.end())
          fail(i, "sums that overlap those of another product");
  if (!product.sums) {
    if (!group.fenced)
      fail(i, "sums may be written by threads until now: no wgmma.fence is between");
    product.sums = std::make_shared<GroupSums>();
    product.sums->registers = registers;
    for (size_t t = first; t < first + groupThreads; ++t)
      for (int reg : registers) {
        product.sums->values.push_back(uint32_t(all[t].registers[size_t(reg)]));
        all[t].registers[size_t(reg)] = noNumber;
      }
  }
  ++product.sums->users;
  if (shape.leftInRegisters) {
    if (!group.fenced)
      fail(i, "operands may be written by threads until now: no wgmma.fence is between");
    product.words = wordsOf(i, first);
  }
  // It reads what all of its threads know of.
  auto agent = uint16_t(all.size() + first / groupThreads);
  Shadow::Clock &clock = shadow.clockOf(agent);
  clock = shadow.clockOf(first);
  for (size_t t = first + 1; t < first + groupThreads; ++t) {
    const Shadow::Clock &other = shadow.clockOf(t);
    for (size_t a = 0; a < clock.size(); ++a)
      clock[a] = std::min(clock[a], other[a]);
  }
  product.began = shadow.tick();
  if (!shape.leftInRegisters)
    touchOperand(i, product.left, shape.leftAcross, 64, shape.depth, shape.bytes, agent);
  touchOperand(i, product.right, shape.rightAcross, shape.columns, shape.depth, shape.bytes, agent);
  group.products.push_back(std::move(product));
}

static double numberOf(const std::string &type, uint32_t bits) {
  if (type == "f16")
    return halfToFloat(uint16_t(bits));
  if (type == "bf16")
    return brainToFloat(uint16_t(bits));
  if (type == "s8")
    return int8_t(bits);
  if (type == "u8")
    return uint8_t(bits);
  return byteToFloat(bits, type == "e5m2");
}

void Block::compute(const GroupProduct &product) {
  const Instruction &i = *product.by;
  GroupShape s = shapeOf(i);
  auto read = [&](uint64_t descriptor, bool across, size_t lines, const std::string &type) {
    std::vector<float> values(lines * s.depth);
    for (size_t line = 0; line < lines; ++line)
      for (size_t place = 0; place < s.depth; ++place) {
        uint32_t bits = 0;
        std::memcpy(&bits, &shared[operandAt(i, descriptor, across, line, place, s.bytes)],
                    s.bytes);
        values[place * lines + line] = float(numberOf(type, bits));
      }
    return values;
  };
  std::vector<float> right = read(product.right, s.rightAcross, s.columns, s.right), left;
  if (s.leftInRegisters) {
    // With g = lane / 4 and t = lane % 4, a lane's words have rows g and g + 8 of the warp's 16,
    // places 2 t and 2 t + 1, then eight behind (PTX ISA).
    left.resize(64 * s.depth);
    for (size_t t = 0; t < groupThreads; ++t)
      for (size_t w = 0; w < 8; ++w) {
        size_t row = t / 32 * 16 + t % 32 / 4 + w / 2 % 2 * 8,
               place = t % 4 * 2 + w % 2 + w / 4 * 8;
        uint32_t bits = product.words[t * 4 + w / 2] >> (w % 2 * 16) & 0xffff;
        left[place * 64 + row] = float(numberOf(s.left, bits));
      }
  } else {
    left = read(product.left, s.leftAcross, 64, s.left);
  }
  // With g = lane / 4 and t = lane % 4, a warp's lane has rows g and g + 8 of the warp's 16,
  // columns 2 t and 2 t + 1 of each eight (PTX ISA).
  std::vector<uint32_t> &values = product.sums->values;
  auto sumAt = [&](size_t row, size_t column) -> uint32_t & {
    size_t lane = row % 8 * 4 + column % 8 / 2, thread = row / 16 * 32 + lane;
    return values[thread * (s.columns / 2) + column / 8 * 4 + row / 8 % 2 * 2 + column % 2];
  };
  std::vector<float> sums(s.columns);
  std::vector<int64_t> whole(s.columns);
  for (size_t row = 0; row < 64; ++row) {
    for (size_t c = 0; c < s.columns; ++c) {
      sums[c] = product.adds ? std::bit_cast<float>(sumAt(row, c)) : 0;
      whole[c] = product.adds ? int32_t(sumAt(row, c)) : 0;
    }
    for (size_t k = 0; k < s.depth; ++k) {
      float a = left[k * 64 + row];
      const float *b = &right[k * s.columns];
      if (s.isInteger)
        for (size_t c = 0; c < s.columns; ++c)
          whole[c] += int64_t(a) * int64_t(b[c]);
      else
        for (size_t c = 0; c < s.columns; ++c)
          sums[c] += a * b[c];
    }
    for (size_t c = 0; c < s.columns; ++c)
      sumAt(row, c) = s.isInteger ? uint32_t(whole[c]) : std::bit_cast<uint32_t>(sums[c]);
  }
}

void Block::finishProducts(const Instruction &i, size_t first, uint64_t recent) {
  WarpGroup &group = warpGroups[first / groupThreads];
  uint64_t done = group.committed - std::min(group.committed, recent);
  for (const GroupProduct &product : group.products)
    if (recent == 0 && product.group >= group.committed)
      fail(i, "a product that no group was made of");
  auto product = group.products.begin();
  for (; product != group.products.end() && product->group < done; ++product) {
    if (!product->words.empty() && product->words != wordsOf(*product->by, first))
      fail(*product->by, "operands in registers were written before the product was waited for");
    compute(*product);
    if (--product->sums->users > 0)
      continue;
    const GroupSums &sums = *product->sums;
    for (size_t t = 0; t < groupThreads; ++t)
      for (size_t r = 0; r < sums.registers.size(); ++r)
        all[first + t].registers[size_t(sums.registers[r])] =
            sums.values[t * sums.registers.size() + r];
  }
  group.products.erase(group.products.begin(), product);
  // What is done has read its operands.
  size_t agent = all.size() + first / groupThreads;
  uint32_t until = group.products.empty() ? shadow.tick() : group.products.front().began;
  for (size_t t = first; t < first + groupThreads; ++t)
    shadow.clockOf(t)[agent] = std::max(shadow.clockOf(t)[agent], until);
  group.fenced &= !group.products.empty();
}

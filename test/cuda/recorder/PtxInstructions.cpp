//===- PtxInstructions.cpp - what a thread does ------------------ -*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/PtxBlock.h"

#include <algorithm>
#include <cmath>

using namespace ptx;

float Block::computeSingle(Thread &thread, const Instruction &i) const {
  auto arg = [&](size_t n) {
    const Operand &o = i.operands[n];
    return o.kind != Operand::Register && o.isReal
               ? float(o.real)
               : std::bit_cast<float>(uint32_t(value(thread, o)));
  };
  switch (i.op) {
  case Add:
    return arg(1) + arg(2);
  case Sub:
    return arg(1) - arg(2);
  case Mul:
    return arg(1) * arg(2);
  default:
    return std::fma(arg(1), arg(2), arg(3));
  }
}

void Block::executeReal(Thread &thread, const Instruction &i) {
  Type half = i.half;
  if (half == Type::None)
    return set(thread, i, computeReal(i, i.type, [&](size_t n) {
                 return real(thread, i.operands[n], i.type);
               }));
  uint64_t both = 0;
  for (int shift : {0, 16})
    both |= computeReal(i, half,
                        [&](size_t n) {
                          return toReal(half, value(thread, i.operands[n]) >> shift & 0xffff);
                        })
            << shift;
  set(thread, i, both);
}

/// The bits of what an instruction makes of its operands' values.
template <typename Arg> uint64_t Block::computeReal(const Instruction &i, Type type, Arg arg) {
  auto f = [&](size_t n) { return float(arg(n)); };
  bool wide = type == Type::F64;
  double result = 0;
  switch (i.op) {
  // In the type's own precision: rounding twice would be another result.
  case Add:
    result = wide ? arg(1) + arg(2) : double(f(1) + f(2));
    break;
  case Sub:
    result = wide ? arg(1) - arg(2) : double(f(1) - f(2));
    break;
  case Mul:
    result = wide ? arg(1) * arg(2) : double(f(1) * f(2));
    break;
  case Div:
    result = wide ? arg(1) / arg(2) : double(f(1) / f(2));
    break;
  case Mad:
  case Fma: {
    if (!wide && i.has("rm")) {
      // Rounded towards negative infinity, by way of doubles.
      double exact = double(f(1)) * double(f(2)) + double(f(3));
      auto down = float(exact);
      result = double(down) > exact ? std::nextafter(down, -INFINITY) : down;
      break;
    }
    result = wide ? std::fma(arg(1), arg(2), arg(3)) : double(std::fma(f(1), f(2), f(3)));
    break;
  }
  case Min:
  case Max: {
    double a = arg(1), b = arg(2);
    if (i.has("NaN") && (std::isnan(a) || std::isnan(b)))
      result = NAN;
    else if (a == 0 && b == 0)
      result = i.op == Min ? (std::signbit(a) ? a : b) : (std::signbit(a) ? b : a);
    else
      result = i.op == Min ? std::fmin(a, b) : std::fmax(a, b);
    break;
  }
  case Abs:
    result = std::fabs(arg(1));
    break;
  case Neg:
    result = -arg(1);
    break;
  case Sqrt:
    result = wide ? std::sqrt(arg(1)) : double(std::sqrt(f(1)));
    break;
  case Rcp:
    result = wide ? 1 / arg(1) : double(1 / f(1));
    break;
  case Rsqrt:
    result = 1 / std::sqrt(arg(1));
    break;
  case Ex2:
    result = std::exp2(arg(1));
    break;
  case Lg2:
    result = std::log2(arg(1));
    break;
  case Sin:
    result = std::sin(arg(1));
    break;
  case Cos:
    result = std::cos(arg(1));
    break;
  case Tanh:
    result = std::tanh(arg(1));
    break;
  case Copysign:
    result = std::copysign(arg(2), arg(1));
    break;
  default:
    fail(i, "unknown on floats");
  }
  if (i.has("sat"))
    result = std::isnan(result) ? 0 : std::fmin(std::fmax(result, 0.0), 1.0);
  return fromReal(type, result);
}

void Block::compare(Thread &thread, const Instruction &i) {
  // setp.CMP[.BOOL].type p[|q], a, b[, c]
  size_t first = i.has("pair") ? 2 : 1;
  Type type = i.type;
  if (i.half != Type::None)
    fail(i, "unknown on two halves");
  bool less, equal, unordered = false;
  if (isFloat(type)) {
    double a = real(thread, i.operands[first], type), b = real(thread, i.operands[first + 1], type);
    less = a < b;
    equal = a == b;
    unordered = std::isnan(a) || std::isnan(b);
  } else {
    uint64_t a = mask(type, value(thread, i.operands[first])),
             b = mask(type, value(thread, i.operands[first + 1]));
    equal = a == b;
    less = isSigned(type) ? toSigned(type, a) < toSigned(type, b) : a < b;
  }
  bool result = false;
  switch (i.relation) {
  case Relation::Eq:
    result = equal;
    break;
  case Relation::Ne:
    result = !equal && !unordered;
    break;
  case Relation::Lt:
    result = less;
    break;
  case Relation::Le:
    result = less || equal;
    break;
  case Relation::Gt:
    result = !less && !equal && !unordered;
    break;
  case Relation::Ge:
    result = !less && !unordered;
    break;
  case Relation::Num:
    result = !unordered;
    break;
  case Relation::Nan:
    result = unordered;
    break;
  case Relation::Unknown:
    fail(i, "unknown comparison");
  }
  result |= i.orUnordered && unordered;
  bool other = !result;
  if (i.operands.size() > first + 2) {
    const Operand &o = i.operands[first + 2];
    bool c = (value(thread, o) & 1) != o.negated;
    auto join = [&](bool x) { return i.has("and") ? (x && c) : i.has("or") ? (x || c) : (x != c); };
    result = join(result);
    other = join(other);
  }
  set(thread, i, result);
  if (first == 2)
    thread.registers[size_t(i.operands[1].reg)] = other;
}

void Block::convert(Thread &thread, const Instruction &i) {
  // cvt.[modes].to.from
  Type to = i.from == Type::None ? i.type : i.from, from = i.type;
  uint64_t bits = value(thread, i.operands[1]);
  auto round = [&](double x) {
    return i.has("rni")   ? std::nearbyint(x)
           : i.has("rmi") ? std::floor(x)
           : i.has("rpi") ? std::ceil(x)
                          : std::trunc(x);
  };
  if (i.has("f16x2") || i.has("bf16x2")) {
    // Two of f32, the first one above.
    Type half = i.has("f16x2") ? Type::F16 : Type::BF16;
    uint64_t high = fromReal(half, real(thread, i.operands[1], from)),
             low = fromReal(half, real(thread, i.operands[2], from));
    return set(thread, i, high << 16 | low);
  }
  if (isFloat(to) && isFloat(from)) {
    double x = real(thread, i.operands[1], from);
    if (i.has("rni") || i.has("rmi") || i.has("rpi") || i.has("rzi"))
      x = round(x);
    if (i.has("sat"))
      x = std::isnan(x) ? 0 : std::fmin(std::fmax(x, 0.0), 1.0);
    // Doubles are rounded once.
    uint64_t result = fromReal(to, x);
    if (i.has("rz") && std::fabs(toReal(to, result)) > std::fabs(x))
      fail(i, "rounding towards zero is unknown");
    if (from == Type::F64 && (to == Type::F16))
      result = [&] {
        auto h = _Float16(x);
        uint16_t b;
        std::memcpy(&b, &h, 2);
        return uint64_t(b);
      }();
    return set(thread, i, result);
  }
  if (isFloat(to)) {
    uint64_t whole = mask(from, bits);
    if (isSigned(from)) {
      int64_t x = toSigned(from, whole);
      return set(thread, i,
                 to == Type::F64   ? std::bit_cast<uint64_t>(double(x))
                 : to == Type::F32 ? std::bit_cast<uint32_t>(float(x))
                                   : fromReal(to, double(x)));
    }
    return set(thread, i,
               to == Type::F64   ? std::bit_cast<uint64_t>(double(whole))
               : to == Type::F32 ? std::bit_cast<uint32_t>(float(whole))
                                 : fromReal(to, double(whole)));
  }
  if (isFloat(from)) {
    double x = round(real(thread, i.operands[1], from));
    int width = 8 * bytesOf(to);
    uint64_t result;
    if (isSigned(to)) {
      double limit = std::ldexp(1.0, width - 1);
      result = std::isnan(x) ? (width == 64 ? uint64_t(1) << 63 : 0)
               : x >= limit  ? (uint64_t(1) << (width - 1)) - 1
               : x < -limit  ? uint64_t(1) << (width - 1)
                             : uint64_t(int64_t(x));
    } else {
      double limit = std::ldexp(1.0, width);
      result = std::isnan(x) ? (width == 64 ? uint64_t(1) << 63 : 0)
               : x >= limit  ? ~uint64_t(0)
               : x <= 0      ? 0
                             : uint64_t(x);
    }
    return set(thread, i, mask(to, result));
  }
  uint64_t whole = mask(from, bits);
  if (isSigned(from))
    whole = uint64_t(toSigned(from, whole));
  if (i.has("sat"))
    fail(i, "saturation of integers is unknown");
  // Registers hold what is narrower with its sign.
  set(thread, i, isSigned(to) ? uint64_t(toSigned(to, whole)) : mask(to, whole));
}

void Block::move(Thread &thread, const Instruction &i) {
  const Operand &to = i.operands[0], &from = i.operands[1];
  if (to.kind == Operand::Vector || from.kind == Operand::Vector) {
    // Packs or unpacks.
    if (to.kind == Operand::Vector) {
      int width = 8 * bytesOf(i.type) / int(to.parts.size());
      uint64_t bits = value(thread, from);
      for (size_t p = 0; p < to.parts.size(); ++p)
        thread.registers[size_t(to.parts[p])] =
            (bits >> (int(p) * width)) & ((uint64_t(1) << width) - 1);
      return;
    }
    int width = 8 * bytesOf(i.type) / int(from.parts.size());
    uint64_t bits = 0;
    for (size_t p = 0; p < from.parts.size(); ++p)
      bits |= (thread.registers[size_t(from.parts[p])] & ((uint64_t(1) << width) - 1))
              << (int(p) * width);
    return set(thread, i, bits);
  }
  set(thread, i, mask(i.type, value(thread, from)));
}

void Block::memory(Thread &thread, const Instruction &i) {
  bool load = i.op == Ld;
  const Operand &where = i.operands[load ? 1 : 0], &what = i.operands[load ? 0 : 1];
  uint64_t address = addressOf(thread, where);
  int bytes = bytesOf(i.type);
  size_t count = what.kind == Operand::Vector ? what.parts.size() : 1;
  if (address % (uint64_t(bytes) * count))
    fail(i, "a vector that is not aligned");
  for (size_t p = 0; p < count; ++p) {
    uint8_t *at = place(thread, i, address + p * uint64_t(bytes), bytes, !load, i.has("param"));
    if (load) {
      uint64_t bits = 0;
      std::memcpy(&bits, at, size_t(bytes));
      if (isSigned(i.type))
        bits = uint64_t(toSigned(i.type, bits));
      int reg = what.kind == Operand::Vector ? what.parts[p] : what.reg;
      thread.registers[size_t(reg)] = bits;
      if (grid)
        synchronize(thread, i, address);
    } else {
      uint64_t bits = what.kind == Operand::Vector ? thread.registers[size_t(what.parts[p])]
                      : what.isReal
                          ? fromReal(i.type == Type::B64 ? Type::F64 : Type::F32, what.real)
                          : value(thread, what);
      std::memcpy(at, &bits, size_t(bytes));
    }
  }
}

void Block::atomic(Thread &thread, const Instruction &i) {
  const Operand &where = i.operands[1];
  uint64_t address = addressOf(thread, where);
  int bytes = bytesOf(i.type);
  uint8_t *at = place(thread, i, address, bytes, true, false);
  uint64_t old = 0;
  std::memcpy(&old, at, size_t(bytes));
  uint64_t b = value(thread, i.operands[2]), next;
  if (i.has("cas"))
    next = mask(i.type, old) == mask(i.type, b) ? value(thread, i.operands[3]) : old;
  else if (i.has("exch"))
    next = b;
  else if (i.has("add") && !isFloat(i.type))
    next = old + b;
  else
    fail(i, "unknown atomic operation");
  std::memcpy(at, &next, size_t(bytes));
  set(thread, i, old);
  synchronize(thread, i, address);
}

void Block::setCondition(Thread &thread, const Instruction &i) {
  uint64_t handle;
  uint32_t what;
  std::memcpy(&handle, place(thread, i, i.operands[0].value, 8, false, true), 8);
  std::memcpy(&what, place(thread, i, i.operands[1].value, 4, false, true), 4);
  watcher.setCondition(handle, what);
}

void Block::execute(Thread &thread, const Instruction &i) {
  Type type = i.type;
  auto bits = [&](size_t n) { return mask(type, value(thread, i.operands[n])); };
  auto number = [&](size_t n) { return toSigned(type, value(thread, i.operands[n])); };
  switch (i.op) {
  case Mov:
    return move(thread, i);
  case Ld:
  case St:
    return memory(thread, i);
  case Atom:
    return atomic(thread, i);
  case CpAsync:
    return asyncCopy(thread, i);
  case Cvt:
    return convert(thread, i);
  case Setp:
    return compare(thread, i);
  case Membar:
    return;
  case Call:
    return setCondition(thread, i);
  case GridDep:
    thread.waited |= i.has("wait");
    return;
  case Fence:
    return fence(thread, i);
  case BulkCopy:
    return bulkCopy(thread, i);
  case Trap:
    fail(i, "a trap");
  case Cvta:
    return set(thread, i, value(thread, i.operands[1]));
  case Selp: {
    bool c = (value(thread, i.operands[3]) & 1) != i.operands[3].negated;
    const Operand &chosen = i.operands[c ? 1 : 2];
    return set(thread, i,
               chosen.isReal ? fromReal(isFloat(type)        ? type
                                        : bytesOf(type) == 8 ? Type::F64
                                                             : Type::F32,
                                        chosen.real)
                             : mask(type, value(thread, chosen)));
  }
  case Testp: {
    double x = real(thread, i.operands[1], type);
    bool result = i.has("finite")       ? std::isfinite(x)
                  : i.has("infinite")   ? std::isinf(x)
                  : i.has("notanumber") ? std::isnan(x)
                                        : !std::isnan(x);
    return set(thread, i, result);
  }
  case Copysign:
    return executeReal(thread, i);
  default:
    break;
  }
  if (isFloat(type) || i.half != Type::None)
    return executeReal(thread, i);
  bool isSignedType = isSigned(type);
  int width = 8 * bytesOf(type);
  if (type == Type::Pred)
    width = 1;
  uint64_t result;
  switch (i.op) {
  case Add:
    result = bits(1) + bits(2);
    break;
  case Sub:
    result = bits(1) - bits(2);
    break;
  case Mul:
  case Mad: {
    bool wide = i.has("wide"), high = i.has("hi");
    __int128 product = isSignedType ? __int128(number(1)) * number(2)
                                    : __int128((unsigned __int128)(bits(1)) * bits(2));
    if (high) {
      result = uint64_t(product >> width);
    } else {
      result = uint64_t(product);
    }
    if (i.op == Mad)
      result += value(thread, i.operands[3]);
    if (wide)
      return set(thread, i, width == 32 ? result : result & 0xffffffff);
    break;
  }
  case Div:
    if (bits(2) == 0)
      result = ~uint64_t(0);
    else if (isSignedType)
      result = number(2) == -1 ? uint64_t(0) - bits(1) : uint64_t(number(1) / number(2));
    else
      result = bits(1) / bits(2);
    break;
  case Rem:
    if (bits(2) == 0)
      result = bits(1);
    else if (isSignedType)
      result = number(2) == -1 ? 0 : uint64_t(number(1) % number(2));
    else
      result = bits(1) % bits(2);
    break;
  case Min:
    result = isSignedType ? uint64_t(std::min(number(1), number(2))) : std::min(bits(1), bits(2));
    break;
  case Max:
    result = isSignedType ? uint64_t(std::max(number(1), number(2))) : std::max(bits(1), bits(2));
    break;
  case Abs:
    result = number(1) < 0 ? uint64_t(0) - uint64_t(number(1)) : uint64_t(number(1));
    break;
  case Neg:
    result = uint64_t(0) - bits(1);
    break;
  case And:
    result = bits(1) & bits(2);
    break;
  case Or:
    result = bits(1) | bits(2);
    break;
  case Xor:
    result = bits(1) ^ bits(2);
    break;
  case Not:
    result = type == Type::Pred ? !(bits(1) & 1) : ~bits(1);
    break;
  case Shl: {
    auto by = uint32_t(value(thread, i.operands[2]));
    result = by >= uint32_t(width) ? 0 : bits(1) << by;
    break;
  }
  case Shr: {
    auto by = std::min<uint32_t>(uint32_t(value(thread, i.operands[2])), uint32_t(width));
    if (isSignedType)
      result = uint64_t(number(1) >> std::min<uint32_t>(by, 63));
    else
      result = by >= uint32_t(width) ? 0 : bits(1) >> by;
    break;
  }
  case Popc:
    return set(thread, i, uint64_t(std::popcount(bits(1))));
  case Clz:
    return set(thread, i, uint64_t(std::countl_zero(bits(1)) - (64 - width)));
  case Brev: {
    uint64_t x = bits(1);
    result = 0;
    for (int b = 0; b < width; ++b)
      result |= ((x >> b) & 1) << (width - 1 - b);
    break;
  }
  case Bfind: {
    uint64_t x = isSignedType && number(1) < 0 ? ~bits(1) : bits(1);
    x = mask(type, x);
    int found = x ? 63 - std::countl_zero(x) : -1;
    if (i.has("shiftamt") && found >= 0)
      found = width - 1 - found;
    return set(thread, i, uint32_t(found));
  }
  case Bfe: {
    auto pos = uint32_t(value(thread, i.operands[2])) & 255;
    auto len = uint32_t(value(thread, i.operands[3])) & 255;
    uint64_t x = pos >= 64 ? 0 : bits(1) >> pos;
    result = len >= 64 ? x : x & ((uint64_t(1) << len) - 1);
    if (isSignedType && len && len < 64 && ((result >> (len - 1)) & 1))
      result |= ~uint64_t(0) << len;
    break;
  }
  case Prmt: {
    uint64_t both =
        (value(thread, i.operands[1]) & 0xffffffff) | (value(thread, i.operands[2]) << 32);
    auto selector = uint32_t(value(thread, i.operands[3]));
    result = 0;
    for (int b = 0; b < 4; ++b) {
      uint32_t pick = (selector >> (4 * b)) & 15;
      auto byte = uint8_t(both >> (8 * (pick & 7)));
      if (pick & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= uint64_t(byte) << (8 * b);
    }
    break;
  }
  case Shf: {
    uint64_t both =
        (value(thread, i.operands[1]) & 0xffffffff) | (value(thread, i.operands[2]) << 32);
    auto by = uint32_t(value(thread, i.operands[3]));
    by = i.has("wrap") ? by & 31 : std::min<uint32_t>(by, 32);
    result = i.has("l") ? (both << by) >> 32 : both >> by;
    result &= 0xffffffff;
    break;
  }
  case Lop3: {
    uint64_t a = bits(1), b = bits(2), c = bits(3);
    auto table = uint32_t(i.operands[4].value);
    result = 0;
    for (int n = 0; n < width; ++n) {
      auto row = ((a >> n) & 1) << 2 | ((b >> n) & 1) << 1 | ((c >> n) & 1);
      result |= uint64_t((table >> row) & 1) << n;
    }
    break;
  }
  default:
    fail(i, "unknown");
  }
  set(thread, i, mask(type, result));
}

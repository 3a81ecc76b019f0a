//===- PtxBlock.h - the threads that run PTX --------------------- -*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the interpreter's files share: numbers as instructions see them, and a
// block of threads.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_PTXBLOCK_H
#define WEIR_TEST_CUDA_RECORDER_PTXBLOCK_H

#include "test/cuda/recorder/Narrow.h"
#include "test/cuda/recorder/Ptx.h"
#include "test/cuda/recorder/PtxShadow.h"

#include <bit>
#include <cstring>

namespace ptx {

inline double toReal(Type type, uint64_t bits) {
  switch (type) {
  case Type::F16:
    return halfToFloat(uint16_t(bits));
  case Type::BF16:
    return brainToFloat(uint16_t(bits));
  case Type::F64:
    return std::bit_cast<double>(bits);
  default:
    return std::bit_cast<float>(uint32_t(bits));
  }
}
inline uint64_t fromReal(Type type, double value) {
  switch (type) {
  case Type::F16:
    return floatToHalf(float(value));
  case Type::BF16:
    return floatToBrain(float(value));
  case Type::F64:
    return std::bit_cast<uint64_t>(value);
  default:
    return std::bit_cast<uint32_t>(float(value));
  }
}
inline int64_t toSigned(Type type, uint64_t bits) {
  switch (bytesOf(type)) {
  case 1:
    return int8_t(bits);
  case 2:
    return int16_t(bits);
  case 4:
    return int32_t(bits);
  default:
    return int64_t(bits);
  }
}
inline uint64_t mask(Type type, uint64_t bits) {
  int bytes = bytesOf(type);
  return bytes == 8 ? bits : bits & ((uint64_t(1) << (8 * bytes)) - 1);
}

constexpr uint64_t sharedBase = uint64_t(1) << 60, localBase = uint64_t(1) << 61,
                   paramBase = uint64_t(1) << 62;

inline bool isShared(uint64_t address) {
  return (address & (sharedBase | localBase | paramBase)) == sharedBase;
}

enum Op {
  Add,
  Sub,
  Mul,
  Mad,
  Fma,
  Div,
  Rem,
  Min,
  Max,
  Abs,
  Neg,
  Sqrt,
  Rcp,
  Ex2,
  Lg2,
  Rsqrt,
  Sin,
  Cos,
  Tanh,
  Setp,
  Set,
  Selp,
  And,
  Or,
  Xor,
  Not,
  Shl,
  Shr,
  Cvt,
  Mov,
  Cvta,
  Ld,
  St,
  Prmt,
  Popc,
  Clz,
  Brev,
  Bfind,
  Bfe,
  Copysign,
  Testp,
  Bra,
  Brx,
  Ret,
  Exit,
  Bar,
  WarpBar,
  Shfl,
  Vote,
  Mma,
  LdMatrix,
  CpAsync,
  Atom,
  Membar,
  Shf,
  Lop3,
  Trap,
  Slct,
  Unknown
};
enum class State : uint8_t { Running, AtBarrier, AtShuffle, Done };

/// A copy into shared memory that was issued: its bytes arrive when its thread
/// waits for its group, no sooner, so that a forgotten wait shows.
struct Copy {
  size_t at = 0, bytes = 0; ///< in shared memory
  uint8_t data[16] = {};
  uint64_t group = 0;
  uint32_t issued = 0; ///< the shadow's time
  int line = 0;
};

struct Thread {
  std::vector<uint64_t> registers;
  std::vector<uint8_t> local;
  std::vector<Copy> copies; ///< that were not waited for, in order
  uint64_t groups = 0;      ///< of copies, committed
  int at = 0;
  uint16_t number = 0;
  State state = State::Running;
};

class Block {
public:
  Block(const Function &function, const std::vector<uint8_t> &parameters, unsigned threads,
        unsigned blocks, Watcher &watcher);

  void run(unsigned number);

private:
  [[noreturn]] void fail(const Instruction &i, const std::string &what);

  /// A barrier that all threads which have not ended are at.
  bool release();

  /// Warps whose threads are all at a shuffle, or another instruction that they
  /// carry out together, do so.
  bool shuffle();

  /// A warp's predicates as a word, all lanes taking part.
  void vote(const Instruction &i, size_t first, size_t count);

  /// A warp's product, all lanes taking part.
  void multiply(const Instruction &i, size_t first, size_t count);

  /// A warp's matrices from shared memory, all lanes taking part.
  void loadMatrices(const Instruction &i, size_t first, size_t count);

  /// A barrier of a warp, all lanes taking part.
  void meetWarp(const Instruction &i, size_t first, size_t count);

  /// Issues a copy into shared memory, ends a group of them, or waits.
  void asyncCopy(Thread &thread, const Instruction &i);

  /// The thread's copies in its first groups arrive.
  void finishCopies(Thread &thread, const Instruction &i, uint64_t groups);

  uint64_t value(Thread &thread, const Operand &o) const {
    return o.kind == Operand::Register ? thread.registers[size_t(o.reg)] : o.value;
  }

  /// The address that an operand in brackets means.
  uint64_t addressOf(const Thread &thread, const Operand &o) const {
    return o.value + (o.reg >= 0 ? thread.registers[size_t(o.reg)] : 0);
  }

  /// Where an address of shared memory lies on the host. Notes no access.
  uint8_t *placeShared(const Instruction &i, uint64_t address, int bytes);

  /// Notes an access to shared memory: fails where it races with another.
  void touchShared(const Thread &thread, const Instruction &i, size_t at, size_t bytes,
                   Shadow::Kind kind);
  [[noreturn]] void failRace(const Instruction &i, const Shadow::Access &access, size_t at,
                             size_t bytes, const Shadow::Access &other, const char *how);

  /// Where an address of any space lies on the host.
  uint8_t *place(Thread &thread, const Instruction &i, uint64_t address, int bytes, bool writes,
                 bool isParameter);

  void runThread(Thread &thread);

  double real(Thread &thread, const Operand &o, Type type) const {
    if (o.kind == Operand::Register)
      return toReal(type, thread.registers[size_t(o.reg)]);
    return o.isReal ? o.real : toReal(type, o.value);
  }

  void set(Thread &thread, const Instruction &i, uint64_t bits) {
    thread.registers[size_t(i.operands[0].reg)] = bits;
  }

  void execute(Thread &thread, const Instruction &i);
  void executeReal(Thread &thread, const Instruction &i);
  template <typename Arg> uint64_t computeReal(const Instruction &i, Type type, Arg arg);
  void compare(Thread &thread, const Instruction &i);
  void convert(Thread &thread, const Instruction &i);
  void move(Thread &thread, const Instruction &i);
  void memory(Thread &thread, const Instruction &i);
  void atomic(Thread &thread, const Instruction &i);

  const Function &function;
  const std::vector<uint8_t> &parameters;
  Watcher &watcher;
  std::vector<Thread> all;
  std::vector<uint8_t> shared;
  Shadow shadow;
  unsigned blocks;
};

} // namespace ptx

#endif // WEIR_TEST_CUDA_RECORDER_PTXBLOCK_H

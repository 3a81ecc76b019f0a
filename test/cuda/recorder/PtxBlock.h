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
#include "test/cuda/recorder/PtxGrid.h"
#include "test/cuda/recorder/PtxShadow.h"
#include "test/cuda/recorder/TensorMap.h"

#include <bit>
#include <cstring>
#include <map>
#include <memory>

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
  Mbarrier,
  BulkCopy,
  Wgmma,
  SetMaxNReg,
  Fence,
  GridDep,
  Call,
  NanoSleep,
  Unknown
};
enum class State : uint8_t { Running, AtBarrier, AtShuffle, AtMbarrier, AtGroup, Asleep, Done };

/// A copy into shared memory that was issued: its bytes arrive when its thread
/// waits for its group, no sooner, so that a forgotten wait shows.
struct Copy {
  size_t at = 0, bytes = 0; ///< in shared memory
  uint8_t data[16] = {};
  uint64_t group = 0;
  uint32_t issued = 0; ///< the shadow's time
  int line = 0;
};

/// A barrier of some threads and of bytes that are on their way (mbarrier).
struct Phases {
  size_t number = 0; ///< among the block's: its copies are this agent's
  uint16_t maker = 0;
  int32_t line = 0;
  uint32_t made = 0;               ///< when it was initialised
  uint32_t count = 0, missing = 0; ///< arrivals of a phase
  int64_t bytes = 0;               ///< on their way
  unsigned parity = 0;             ///< of the phase that is not over
  Shadow::Clock came, over;        ///< what those who came knew, of this phase, of those before
};

/// A copy that the engine was asked for. It is carried out as late as can be.
struct BulkRequest {
  TensorMap map;
  uint64_t to = 0;
  size_t barrier = 0;
  int32_t coordinates[TensorMap::most] = {};
  uint16_t offsets[TensorMap::most - 2] = {}; ///< of a window's place
  const Instruction *by = nullptr;
};

/// Sums of a group of four warps that tensor cores have.
struct GroupSums {
  std::vector<int> registers;
  std::vector<uint32_t> values; ///< of each thread in turn
  int users = 0;
};
struct GroupProduct {
  std::shared_ptr<GroupSums> sums;
  const Instruction *by = nullptr;
  uint64_t left = 0, right = 0, group = 0;
  std::vector<uint32_t> words; ///< of the left operand, where that is in registers
  bool adds = false;
  uint32_t began = 0;
};

/// Four warps that multiply together (wgmma).
struct WarpGroup {
  bool fenced = false;
  uint64_t committed = 0;
  std::vector<GroupProduct> products; ///< that were not waited for, in order
};

struct Thread {
  std::vector<uint64_t> registers;
  std::vector<uint8_t> local;
  std::vector<Copy> copies; ///< that were not waited for, in order
  uint64_t groups = 0;      ///< of copies, committed
  int at = 0;
  uint16_t number = 0;
  State state = State::Running;
  bool waited = false; ///< for kernels before
};

constexpr size_t groupThreads = 128, mostPhases = 64;

class Block {
public:
  Block(const Function &function, const std::vector<uint8_t> &parameters, const Launch &launch,
        Watcher &watcher, GridShadow *grid);

  void beginBlock(unsigned number);
  /// Lets all threads go on as far as they can. False: none has come further.
  bool goOn();
  bool isDone() const;
  /// Throws where something is left that was to be waited for.
  void endBlock();

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

  void accessGlobal(const Thread &thread, const Instruction &i, uint64_t address, int bytes,
                    bool writes);
  /// What a load or an atomic operation tells other blocks, and learns of them.
  void synchronize(const Thread &thread, const Instruction &i, uint64_t address);
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
  // PtxAsync.cpp: what is not a thread's, and barriers for it.
  /// False: the thread is to wait.
  bool mbarrier(Thread &thread, const Instruction &i);
  Phases &phasesAt(Thread &thread, const Instruction &i, uint64_t address);
  bool isOver(Thread &thread, const Instruction &i);
  void endPhase(Phases &phases);
  void bulkCopy(Thread &thread, const Instruction &i);
  void fence(Thread &thread, const Instruction &i);
  /// Carries out a copy that was asked for; false: there is none.
  bool finishBulkCopy();
  /// Groups whose threads are all at an instruction of theirs carry it out.
  bool meetGroups();
  void beginProduct(const Instruction &i, size_t first);
  std::vector<uint32_t> wordsOf(const Instruction &i, size_t first) const;
  void finishProducts(const Instruction &i, size_t first, uint64_t recent);
  void compute(const GroupProduct &product);
  /// What a descriptor means, as the instruction reads it: bytes' places in shared memory.
  size_t operandAt(const Instruction &i, uint64_t descriptor, bool across, size_t line,
                   size_t place, size_t bytes);
  void touchOperand(const Instruction &i, uint64_t descriptor, bool across, size_t lines,
                    size_t places, size_t bytes, uint16_t agent);

  /// What nearly all of a kernel's arithmetic is (Instruction::isSingle).
  float computeSingle(Thread &thread, const Instruction &i) const;
  template <typename Arg> uint64_t computeReal(const Instruction &i, Type type, Arg arg);
  void compare(Thread &thread, const Instruction &i);
  void convert(Thread &thread, const Instruction &i);
  void move(Thread &thread, const Instruction &i);
  void memory(Thread &thread, const Instruction &i);
  void atomic(Thread &thread, const Instruction &i);
  void setCondition(Thread &thread, const Instruction &i);

  const Function &function;
  const std::vector<uint8_t> &parameters;
  Watcher &watcher;
  GridShadow *grid; ///< null: blocks do not run at the same time
  unsigned number = 0;
  std::vector<Thread> all;
  std::vector<uint8_t> shared;
  Shadow shadow;
  const Launch launch;
  std::map<size_t, Phases> phases; ///< by place in shared memory
  std::vector<BulkRequest> requests;
  std::vector<WarpGroup> warpGroups;
  std::vector<uint32_t> fenced; ///< by thread: its writes before are seen by what is no thread
  std::vector<uint32_t> initFenced;
  uint64_t random = 1;
};

} // namespace ptx

#endif // WEIR_TEST_CUDA_RECORDER_PTXBLOCK_H

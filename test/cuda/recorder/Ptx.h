//===- Ptx.h - runs PTX on the host --------------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A parser and an interpreter of the PTX that LLVM writes for weir's kernels, so
// that what would run on a GPU can be run, and checked, without one. Threads of a
// block take turns at barriers and shuffles. What it does not know is an error, and
// so are races in shared memory.
// The meaning of instructions is that of NVIDIA's PTX ISA reference.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_PTX_H
#define WEIR_TEST_CUDA_RECORDER_PTX_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F32,
  F64
};
// Asked for each operand of each instruction that runs.
constexpr int bytesOf(Type type) {
  constexpr int8_t bytes[] = {4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  static_assert(sizeof(bytes) == size_t(Type::F64) + 1);
  return bytes[size_t(type)];
}
constexpr bool isFloat(Type type) { return type >= Type::F16; }
constexpr bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }

struct Operand {
  enum Kind : uint8_t { Register, Immediate, Address, Vector } kind = Immediate;
  bool negated = false; ///< of a predicate: !%p
  int reg = -1;         ///< Register; of Address: base, -1: none
  uint64_t value = 0;   ///< Immediate; of Address: offset or symbol's address
  double real = 0;      ///< Immediate that was written as a float
  bool isReal = false;
  std::vector<int> parts; ///< Vector; of Address: a tensor's coordinates
};

/// How setp compares.
enum class Relation : uint8_t { Unknown, Eq, Ne, Lt, Le, Gt, Ge, Num, Nan };

/// A modifier as a number, which literals are when this is compiled.
struct Word {
  uint64_t code;
  constexpr Word(std::string_view word) : code(14695981039346656037u) {
    for (char each : word)
      code = (code ^ uint8_t(each)) * 1099511628211u;
  }
  consteval Word(const char *word) : Word(std::string_view(word)) {}
  constexpr uint64_t bit() const { return uint64_t(1) << (code >> 58); }
};

struct Instruction {
  std::string name;               ///< without modifiers
  std::vector<std::string> words; ///< modifiers
  Type type = Type::None;         ///< the last type among them
  Type from = Type::None;         ///< of cvt, set: the one before
  std::vector<Operand> operands;
  int predicate = -1;
  bool predicateNegated = false;
  int target = -1;          ///< of bra
  std::vector<int> targets; ///< of brx.idx
  int line = 0;
  // What is made of name and words, once, by decode().
  int op = -1;
  Type half = Type::None; ///< of two in a word, each with its own result
  Relation relation = Relation::Unknown;
  bool orUnordered = false;    ///< the relation holds of what is no number, too
  bool isSingle = false;       ///< a sum, product or both of f32, rounded to the nearest
  std::vector<uint64_t> codes; ///< of modifiers
  uint64_t seen = 0;           ///< a bit for each of them, which others may share
  bool has(Word word) const {
    return (seen & word.bit()) && std::find(codes.begin(), codes.end(), word.code) != codes.end();
  }
};

struct Parameter {
  std::string name;
  int offset, bytes;
};

struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  /// Registers that tell threads apart, -1: not read.
  int tid = -1, ctaid = -1, ntid = -1, nctaid = -1, lane = -1;
  std::map<int, uint64_t> constants; ///< registers that stand for numbers
  int parameterBytes = 0, registers = 0, localBytes = 0, sharedBytes = 0;
  std::vector<Instruction> code;
};

/// Looks at every access of a kernel to global memory, and throws where it may
/// not be.
struct Watcher {
  virtual ~Watcher() = default;
  virtual void access(uint64_t address, int bytes, bool writes) = 0;
  /// cudaGraphSetConditional.
  virtual void setCondition(uint64_t handle, uint32_t value) {
    throw std::runtime_error("sets condition " + std::to_string(handle) + " to " +
                             std::to_string(value) + ", of no graph");
  }
};

struct Module {
  std::map<std::string, Function> functions;
  /// Module-level memory; addresses are those of the host.
  std::vector<std::unique_ptr<std::vector<uint64_t>>> globals;
};

/// Finds out what an instruction does.
void decode(Instruction &instruction);

/// Lets values that live apart share registers.
void shareRegisters(Function &function);

/// Throws std::runtime_error with the line that it does not understand.
Module parse(const std::string &text);

struct Launch {
  unsigned blocks, threads;
  unsigned shared; ///< bytes of a block's memory beside what the kernel declares
  bool mayBegin;   ///< while others are at work that the kernel is to wait for itself
  bool together;   ///< all blocks run at the same time: they may wait for each other
};

/// Runs all blocks of a kernel, one after the other, or in turn.
void run(const Function &function, const std::vector<uint8_t> &parameters, const Launch &launch,
         Watcher &watcher);

} // namespace ptx

#endif // WEIR_TEST_CUDA_RECORDER_PTX_H

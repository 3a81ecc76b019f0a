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

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
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
int bytesOf(Type type);
bool isFloat(Type type);
bool isSigned(Type type);

struct Operand {
  enum Kind : uint8_t { Register, Immediate, Address, Vector } kind = Immediate;
  bool negated = false; ///< of a predicate: !%p
  int reg = -1;         ///< Register; of Address: base, -1: none
  uint64_t value = 0;   ///< Immediate; of Address: offset or symbol's address
  double real = 0;      ///< Immediate that was written as a float
  bool isReal = false;
  std::vector<int> parts; ///< Vector; of Address: a tensor's coordinates
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
  int op = -1;
  int line = 0;
  uint64_t seen = 0; ///< a bit for each modifier, which others may share
  static constexpr uint64_t bitOf(const char *word) {
    uint32_t hash = 2166136261u;
    for (; *word; ++word)
      hash = (hash ^ uint8_t(*word)) * 16777619u;
    return uint64_t(1) << (hash >> 26);
  }
  bool has(const char *word) const { return (seen & bitOf(word)) && find(word); }
  bool find(const char *word) const;
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

//===- Target.h - the processor that code is generated for ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_TARGET_H
#define WEIR_COMPILER_DRIVER_TARGET_H

#include "compiler/driver/Options.h"
#include "compiler/emit/MachineCode.h"
#include "compiler/frontend/Diagnostic.h"
#include "dialects/weir/Kinds.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Target/TargetMachine.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::driver {

struct Target {
  std::string triple;
  std::string name; ///< as --cpu spells it
  std::string cpu;  ///< for people: "native (znver4)"
  CodeTarget code;
  uint64_t requiredFeatures = 0; ///< WEIR_CPU_…
  bool hasByteTiles = false;     ///< AMX for bytes, which code must ask for
  bool hasBrainTiles = false;    ///< AMX for bf16, likewise
  bool hasBrainPairs = false;    ///< vectors multiply bf16 faster than f32
  bool passesHalves = false;     ///< vectors of 64 bytes take twice the time of 32
  int firstLevelWays = 0;        ///< of a set of the first-level cache; 0: not known
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// The features among those given that code may use: ones whose presence the
/// runtime checks when a session is made, with the bits it checks them by. All
/// of AVX-512's base or none of AVX-512.
std::string usableFeatures(const llvm::StringMap<bool> &has, uint64_t &bits);

/// Chooses by --cpu, --target and -O. False, with a diagnostic, for names that
/// are unknown or not supported. Thread-safe.
bool selectTarget(const Options &options, DiagnosticSink &sink, Target &target);

/// One for each processor that --cpu lists, the most demanding first: that with
/// the most features, among equals as listed. False, with a diagnostic, too,
/// for two between which no machine could choose. Thread-safe.
bool selectTargets(const Options &options, DiagnosticSink &sink, std::vector<Target> &targets);

/// Whether products are to round their operands: that pays only where bf16 is multiplied
/// faster than f32.
bool roundsToBf16(const Options &options, const Target &target);

/// What multiplies bytes there: AMX blocks, VNNI fours, AVX2 pairs, as words of 16 bits; None:
/// nothing gains by it.
ByteProducts byteProducts(const Target &target);

/// What multiplies bf16 there: AMX blocks, vectors that add pairs; None: it is computed in f32.
Bf16Products bf16Products(const Target &target);

/// Lets code use an extension of matrix tiles, amx-int8 or amx-bf16; machines without it
/// then refuse the code.
void requireFeature(const Options &options, Target &target, llvm::StringRef feature);

/// Another code generator for a selected target: each serves one thread.
std::unique_ptr<llvm::TargetMachine> makeMachine(const Options &options, const Target &target);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_TARGET_H

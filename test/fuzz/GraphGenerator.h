//===- GraphGenerator.h - random graphs that are valid ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX models that any implementation has to take, with data to feed them and a
// bound on how far two right implementations may come apart. What a graph
// consists of is decided by a string of bytes: a fuzzer can change it, and a
// seeded generator can write it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_FUZZ_GRAPHGENERATOR_H
#define WEIR_TEST_FUZZ_GRAPHGENERATOR_H

#include "tools/common/Compare.h"
#include "tools/common/Npy.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weir::fuzz {

/// How one and the same computation is put into a file. Optimisations that the
/// first form allows (folding, hoisting, fusion across values nobody sees, code
/// for known sizes) are impossible in the others.
struct GraphForm {
  bool openSizes = false;    ///< dimensions of feeds are names
  bool constantsFed = false; ///< constants that hold data are feeds
  bool fetchAll = false;     ///< every value is fetched
  bool graphDef = false;     ///< what TensorFlow can say of it, as a GraphDef
};

struct GeneratedGraph {
  std::string model; ///< a ModelProto, or a GraphDef
  tools::NamedTensors feeds;
  /// Of each fetch: by how much an element may differ between two compilations.
  /// Tracked from operation to operation: the magnitude of its operands, their
  /// own errors, the type's epsilon, how many terms are summed. 0: not at all.
  std::map<std::string, double> errors;
  unsigned steps = 0; ///< how many operations (or small groups of them)
};

/// The graph that `choices` stand for, of at most `steps` steps. With fewer
/// steps it is the beginning of the same graph.
GeneratedGraph generateGraph(std::string_view choices, const GraphForm &form, unsigned steps);

/// The choices of a seed.
std::string choicesOfSeed(uint64_t seed);

/// A good generator of 64 bits from a counter (SplitMix64, Steele et al. 2014).
inline uint64_t splitMix(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

} // namespace weir::fuzz

#endif // WEIR_TEST_FUZZ_GRAPHGENERATOR_H

//===- PairedSteps.h - weights of bytes, two steps at a time --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// VPMADDUBSW makes a half of a word of two products of an unsigned byte by a signed one. Two
// such halves, of four rows of the weights and four others, may be added before they become
// words where the four weights above zero add to 128 at most, and those below to -128 at
// least: 255 times that is a half yet. Any two steps of four rows may be such a pair, so each
// panel of columns has an order of its own, and seldom a weight that fits nowhere.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PAIREDSTEPS_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PAIREDSTEPS_H

#include "dialects/plan/Plan.h"

namespace weir {

/// How what is beside the weights lies: of each panel words of 32 bits, and then, of all, the
/// lists' entries.
struct PairedStepsLayout {
  static constexpr int64_t quad = 4;   ///< rows of a step
  static constexpr int64_t width = 32; ///< columns of a panel

  int64_t panels;
  int64_t steps; ///< of the sum
  int64_t lanes; ///< columns of a vector

  int64_t vectors() const { return width / lanes; }

  // Of a panel, in bytes from its begin on.
  /// Which steps of the left operand those of the panel belong to. Two that follow each other are
  /// added; of an odd number the last is alone.
  int64_t order() const { return 0; }
  /// Of each column, -128 times the sum of its weights.
  int64_t sums() const { return steps * 4; }
  /// Where the list of a vector begins among all entries, and how many it has.
  int64_t list(int64_t vector) const { return sums() + width * 4 + vector * 8; }
  /// From a panel to the next.
  int64_t pitch() const { return list(vectors()); }

  // Behind the panels: of each entry the step, then the weights, four rows of each column side by
  // side.
  int64_t places() const { return panels * pitch(); }
  int64_t weights(int64_t room) const { return places() + room * 4; }
  int64_t bytes(int64_t room) const { return weights(room) + room * lanes * quad; }
  /// How many entries there is room for where all that is `bytes`.
  int64_t roomOf(int64_t bytes) const { return (bytes - places()) / (4 + lanes * quad); }
};

/// Weights [rows, columns] without what is in lists, the steps of each panel in its order, and what
/// is beside them.
struct PairedSteps {
  std::vector<char> weights;
  std::vector<char> beside;
};

/// Nothing where too many weights would be in lists for that to take less time than to multiply
/// pair by pair. `rows` is a multiple of four. The context's threads share the panels.
std::optional<PairedSteps> pairSteps(mlir::MLIRContext *context, llvm::ArrayRef<int8_t> weights,
                                     int64_t rows, int64_t columns, int64_t lanes);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PAIREDSTEPS_H

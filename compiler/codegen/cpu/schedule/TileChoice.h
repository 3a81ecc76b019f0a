//===- TileChoice.h - what measurements say of a kernel's tiles --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model chooses tiles (RegisterTiles.h). A module may say otherwise: its
// attribute `weir.tiles` has choices as text, by the shape of what they are for.
// Every choice that can be written computes the same as any other, up to rounding.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_TILECHOICE_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_TILECHOICE_H

#include "compiler/codegen/cpu/schedule/RegisterTiles.h"
#include "dialects/plan/Plan.h"

#include <optional>
#include <string>
#include <vector>

namespace weir {

inline constexpr const char *tilesAttribute = "weir.tiles";
/// Of the module, where it is known: ways of a set of the processor's first-level cache (i64).
inline constexpr const char *firstLevelWaysAttribute = "weir.first_level_ways";

/// How the products and convolutions of a shape are computed. What is not said is
/// the cost model's.
struct TileChoice {
  enum class Form { Any, Direct, Winograd, Winograd4 };
  Form form = Form::Any;
  /// The register tile; 0: not said.
  int64_t rows = 0, vectors = 0;
  /// What a part of the range holds: rows of a product, positions of a direct
  /// convolution, elements of one of Winograd's matrices. 0: not said.
  int64_t part = 0;
  /// How much of a product's sum is computed at once, 0: all.
  std::optional<int64_t> depth;
  /// Whether blocks of a product's left operand are packed on the stack.
  std::optional<bool> packed;
  /// Whether a part's tiles fetch the constants of the next part.
  std::optional<bool> ahead;

  bool isEmpty() const { return *this == TileChoice(); }
  bool operator==(const TileChoice &) const = default;

  /// "winograd tile=8x3 part=4096 depth=0 packed=0 ahead=1", as much as is said.
  std::string str() const;
  /// Nothing for other text, and for what no kernel could be made of.
  static std::optional<TileChoice> parse(llvm::StringRef text);
};

/// What choices are kept by: operation, shapes and whether the right operand is a
/// constant, of a product or a convolution whose tiles can be chosen; else "".
std::string tileKey(mlir::Operation *anchor, bool isConstant);

/// The choice of the module for that key.
TileChoice tileChoiceFor(mlir::ModuleOp module, llvm::StringRef key);

/// Writes down a choice that the schedule heeds.
void noteChoice(plan::ScheduleBuilder &s, const TileChoice &choice);

/// What of a kernel a search may choose.
struct TileSpace {
  TileChoice present; ///< all of it said
  bool hasDepth = false, hasAhead = false, hasWinograd = false, packsRows = false;
  int64_t rows = 0, columns = 0, depth = 0; ///< as registerTile has them
};

/// Of a kernel whose weights are packed; nothing where there is nothing to choose.
std::optional<TileSpace> tileSpaceOf(plan::KernelOp kernel);

/// Choices that differ from the present one in one thing, the likely ones first; of
/// tiles those that the cost model holds for good ones.
std::vector<TileChoice> tileMoves(const TileSpace &space, const VectorUnit &unit);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_TILECHOICE_H

//===- RegisterTiles.h - sums that are in registers at a time ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_REGISTERTILES_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_REGISTERTILES_H

#include "dialects/plan/Plan.h"
#include "dialects/weir/Weir.h"

#include "llvm/ADT/SmallPtrSet.h"
#include <optional>

namespace weir {

/// The vector unit that tiles are chosen for.
struct VectorUnit {
  int64_t bytes = 32;           ///< of a register
  int64_t elementBytes = 4;     ///< of what its lanes hold
  int64_t registers = 16;       ///< how many there are
  int64_t firstLevelWays = 8;   ///< of the first-level cache
  bool hasByteTiles = false;    ///< matrix tiles of bytes
  bool hasBytePairs = false;    ///< bytes are multiplied as pairs of words of 16 bits
  bool hasByteProducts = false; ///< vectors of 32 bytes and more multiply bytes, by any instruction
  bool hasByteQuads = false;    ///< vectors of 64 bytes add four products of bytes to each word
  bool passesHalves = false;    ///< whole vectors take twice the time of halves
  bool hasLargeCache = false;   ///< the second-level cache has 1 MiB and more

  int64_t lanes() const { return bytes / elementBytes; }
};
/// As the module's `weir.target` describes it.
VectorUnit vectorUnitOf(mlir::ModuleOp module);

struct TileChoice;

/// Without a choice a part of a product's range holds so many rows, and one of
/// a convolution's so many positions.
inline constexpr int64_t partRows = 140, partPositions = 224;
/// Rows an open distance apart have a pointer each, of which the 16 registers for addresses hold
/// so many beside what else a loop needs.
inline constexpr int64_t mostPointers = 8;
/// Without a choice a block in Winograd's form of tiles of 2x2, or 4x4, results has so many
/// elements of each of the 16, or 36, matrices: 256 KiB in all, 784 (882) where the second-level
/// cache is large.
inline int64_t winogradElements(const VectorUnit &unit, int64_t results) {
  int64_t elements = unit.hasLargeCache ? 12544 : 4096;
  return results == 2 ? elements : elements / 2;
}

/// `unit` with lanes for the elements that `anchor` makes.
VectorUnit unitFor(const VectorUnit &unit, mlir::Operation *anchor);
/// The same for a tile of so many columns (may be ShapedType::kDynamic): of a unit that passes its
/// vectors by halves, such halves, where whole ones would compute one that has no columns.
VectorUnit unitForColumns(const VectorUnit &unit, mlir::Operation *anchor, int64_t columns);

/// What a strategy stores of a vector of its sums.
enum class EpilogueResults {
  One,
  Several, ///< all of the anchor's shape
};

/// Whether every operation of the kernel but `anchor` can be computed on vectors
/// of anchor's results: elementwise, f32 or words, operands that run along the last
/// dimension or do not depend on it; casts between these, bf16 and bytes.
bool isVectorEpilogue(plan::KernelOp kernel, mlir::Operation *anchor,
                      EpilogueResults results = EpilogueResults::One);
/// The same of operations that are to be a kernel, before it is formed.
bool isVectorEpilogue(llvm::ArrayRef<mlir::Operation *> operations, mlir::Operation *anchor);

/// The operations of its kernel that a reduction's operand is computed of, where vectors
/// along the last dimension are computed like their elements; else nothing.
std::optional<llvm::SmallPtrSet<mlir::Operation *, 8>> vectorPrologue(mlir::Operation *reduction);

/// [rows, vectors, lanes] of a register tile for so many rows and columns (either may
/// be ShapedType::kDynamic). `pitch` is the distance of rows in bytes, 0: unknown, kDynamic: open.
llvm::SmallVector<int64_t> registerTile(const VectorUnit &unit, int64_t rows, int64_t columns,
                                        int64_t pitch, const TileChoice &choice);
/// The same for a product whose rows lie behind each other, a convolution by a window of one
/// element or a matrix product. Of two that take as many steps the one that loads less is faster,
/// by far where another thread has a share of the processor's first-level cache: the left operand
/// is read half as often by four vectors of columns.
llvm::SmallVector<int64_t> widestTile(const VectorUnit &unit, mlir::Operation *product,
                                      int64_t rows, int64_t columns, int64_t pitch,
                                      const TileChoice &choice);
/// What that tile costs, in steps; registerTile takes the cheapest.
int64_t registerTileCost(const VectorUnit &unit, int64_t tileRows, int64_t tileVectors,
                         int64_t rows, int64_t columns);
/// Whether all rows are one tile.
bool isSkinny(const VectorUnit &unit, int64_t rows);

/// Whether a window is one element, which visits every position of the input.
bool visitsEachPosition(ConvOp conv);

/// Whether threads share a convolution by a window of one element, in tiles of `rows` positions,
/// by lines, not by panels of its filter: they have lines of the kernels around it then, and what
/// they would read of each other's images is more than the filter, which each reads whole.
bool isSharedByLines(ConvOp conv, int64_t rows);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_REGISTERTILES_H

//===- Schedule.h - the parameters of kernel schedules -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `#weir_plan.schedule<kind, {parameters}>` says how a kernel is computed. It is made and
// read through the typed parameters below:
//
//   ScheduleAttr schedule = kernel.getSchedule();
//   llvm::ArrayRef<int64_t> tile = schedule[schedule::tile];
//   bool isPointwise = schedule[schedule::pointwise];
//
//   kernel.setScheduleAttr(ScheduleBuilder(context, ScheduleKind::Gemm)
//                              .set(schedule::tile, {14, 2, 16}).set(schedule::parts, parts)
//                              .get());
//
// Which kinds must and may have which is a table in Schedule.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_PLAN_SCHEDULE_H
#define WEIR_DIALECTS_PLAN_SCHEDULE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OperationSupport.h"
#include <optional>

#include "dialects/plan/PlanEnums.h.inc"

namespace weir::plan {

class ScheduleAttr;

/// What a parameter may be beside a number (int64_t), a truth value (bool) and text
/// (llvm::StringRef).
struct Sizes; ///< read and given as llvm::ArrayRef<int64_t>
struct Flag;  ///< there or not: read and given as bool

/// How values of T are read, given and kept.
template <typename T> struct ParameterForm {
  using Value = T;
};
template <> struct ParameterForm<Sizes> {
  using Value = llvm::ArrayRef<int64_t>;
};
template <> struct ParameterForm<Flag> {
  using Value = bool;
};

/// A parameter of schedules: its name, and the form of its value.
template <typename T> struct ScheduleParameter {
  using Value = typename ParameterForm<T>::Value;
  llvm::StringLiteral name;

  static Value read(mlir::Attribute value) {
    if constexpr (std::is_same_v<T, Sizes>)
      return llvm::cast<mlir::DenseI64ArrayAttr>(value).asArrayRef();
    else if constexpr (std::is_same_v<T, Flag>)
      return true;
    else if constexpr (std::is_same_v<T, bool>)
      return llvm::cast<mlir::BoolAttr>(value).getValue();
    else if constexpr (std::is_same_v<T, int64_t>)
      return llvm::cast<mlir::IntegerAttr>(value).getInt();
    else
      return llvm::cast<mlir::StringAttr>(value).getValue();
  }
  /// Null: a flag that is not there.
  static mlir::Attribute write(mlir::MLIRContext *context, Value value) {
    mlir::Builder b(context);
    if constexpr (std::is_same_v<T, Sizes>)
      return b.getDenseI64ArrayAttr(value);
    else if constexpr (std::is_same_v<T, Flag>)
      return value ? b.getUnitAttr() : mlir::Attribute();
    else if constexpr (std::is_same_v<T, bool>)
      return b.getBoolAttr(value);
    else if constexpr (std::is_same_v<T, int64_t>)
      return b.getI64IntegerAttr(value);
    else
      return b.getStringAttr(value);
  }
};

namespace schedule {

// How the range is cut, which plans read, too.

/// The parts of the leading result dimensions that make the parallel range, in elements of
/// each; without it the range counts elements, and with no sizes in it there is one part.
inline constexpr ScheduleParameter<Sizes> parts{"parts"};
/// [first, last): result dimensions that `parts` cuts as one.
inline constexpr ScheduleParameter<Sizes> merged{"merged"};
/// How many parts are worth a thread.
inline constexpr ScheduleParameter<int64_t> grain{"grain"};

// Register tiles.

/// [rows, vectors, lanes]: results whose sums are in registers at a time.
inline constexpr ScheduleParameter<Sizes> tile{"tile"};
/// How much of a long sum is computed at once.
inline constexpr ScheduleParameter<int64_t> depthBlock{"depth_block"};
/// The left operand's rows of a part by `depth_block` of the sum, or its windows by all of it
/// (matrix tiles), lie on the stack in the order in which tiles read them, for all panels that a
/// thread multiplies with them. Sums of a product wait in the result.
inline constexpr ScheduleParameter<Flag> packsRows{"packs_rows"};
/// A part copies its panel of the right operand, which the program computes, to the stack.
inline constexpr ScheduleParameter<Flag> copiesPanels{"copies_panels"};
/// Products of bytes: steps of four rows are added two at a time, in an order of each panel's
/// (PairedSteps), which the last operand has.
inline constexpr ScheduleParameter<Flag> pairedSteps{"paired_steps"};
/// Beside copiesPanels: only where the sizes, which are open, make it pay.
inline constexpr ScheduleParameter<Flag> whereItPays{"where_it_pays"};
/// Whether tiles fetch the constants of the next panel, where that was chosen.
inline constexpr ScheduleParameter<bool> fetchAhead{"fetch_ahead"};
/// What measurements chose, as text (TileChoice).
inline constexpr ScheduleParameter<llvm::StringRef> tuned{"tuned"};

// Convolutions.

/// The window is one element: tiles run across lines.
inline constexpr ScheduleParameter<Flag> pointwise{"pointwise"};
/// How many whole lines a tile holds; of a product that is a stage of a chain: a part, whose rows
/// are the positions of an image's line.
inline constexpr ScheduleParameter<int64_t> lines{"lines"};
/// Winograd's form: tiles that a block has at most; of whole lines of `parts`, where these are
/// known. Of a direct convolution: those of a panel of a whole image, whose lines the range counts
/// panel by panel; what a part has of a panel goes at once. 1, in a chain: the range counts lines.
inline constexpr ScheduleParameter<int64_t> blockTiles{"block_tiles"};
/// Beside that: results across of a tile, 2 or 4.
inline constexpr ScheduleParameter<int64_t> square{"square"};

// Attention.

/// The register tile of the product with the values; `tile` is that of the scores.
inline constexpr ScheduleParameter<Sizes> valueTile{"value_tile"};
/// [queries, keys] that are worked on at once.
inline constexpr ScheduleParameter<Sizes> blocks{"blocks"};
/// Both products round their operands to bf16, and add two products of them to a sum at a time.
inline constexpr ScheduleParameter<Flag> rounded{"rounded"};

// Lines, windows and what runs down columns.

/// Lanes of a row reduction's vectors.
inline constexpr ScheduleParameter<int64_t> lanes{"lanes"};
/// How many results next to each other in a line of windows are computed together.
inline constexpr ScheduleParameter<int64_t> positions{"positions"};
/// Sums of columns wait in memory while several rows pass by at a time.
inline constexpr ScheduleParameter<Flag> streams{"streams"};
/// Neighbouring lines of a scan go side by side.
inline constexpr ScheduleParameter<Flag> columns{"columns"};
/// Numbers of the operands of a concatenation that are copied with a padding's border.
inline constexpr ScheduleParameter<Sizes> copied{"copied"};

} // namespace schedule

/// A schedule in the making.
class ScheduleBuilder {
public:
  explicit ScheduleBuilder(mlir::MLIRContext *context, ScheduleKind kind)
      : context(context), kind(kind) {}
  /// From another one, to change it.
  explicit ScheduleBuilder(ScheduleAttr from);

  template <typename T>
  ScheduleBuilder &set(ScheduleParameter<T> parameter, typename ScheduleParameter<T>::Value value) {
    if (mlir::Attribute attribute = ScheduleParameter<T>::write(context, value))
      parameters.set(parameter.name, attribute);
    else
      parameters.erase(parameter.name);
    return *this;
  }
  ScheduleBuilder &set(ScheduleParameter<Sizes> parameter, std::initializer_list<int64_t> value) {
    return set(parameter, llvm::ArrayRef<int64_t>(value.begin(), value.size()));
  }
  template <typename T>
  std::optional<typename ScheduleParameter<T>::Value> find(ScheduleParameter<T> parameter) const {
    mlir::Attribute value = parameters.get(parameter.name);
    if (!value)
      return std::nullopt;
    return ScheduleParameter<T>::read(value);
  }
  template <typename T>
  typename ScheduleParameter<T>::Value operator[](ScheduleParameter<T> parameter) const {
    return find(parameter).value_or(typename ScheduleParameter<T>::Value());
  }
  ScheduleAttr get() const;

private:
  mlir::MLIRContext *context;
  ScheduleKind kind;
  mlir::NamedAttrList parameters;
};

/// The shape that `parts` cuts: `shape` with the dimensions `merged`, where there are such,
/// as one.
llvm::SmallVector<int64_t> partShape(llvm::ArrayRef<int64_t> merged, llvm::ArrayRef<int64_t> shape);

} // namespace weir::plan

#endif // WEIR_DIALECTS_PLAN_SCHEDULE_H

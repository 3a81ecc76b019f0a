//===- Schedule.cpp - what schedules must and may say ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

ScheduleBuilder::ScheduleBuilder(ScheduleAttr from)
    : context(from.getContext()), kind(from.getKind()), parameters(from.getParameters()) {}

ScheduleAttr ScheduleBuilder::get() const {
  return ScheduleAttr::get(
      context, kind, parameters.empty() ? DictionaryAttr() : parameters.getDictionary(context));
}

SmallVector<int64_t> plan::partShape(ArrayRef<int64_t> merged, ArrayRef<int64_t> shape) {
  if (merged.empty())
    return SmallVector<int64_t>(shape);
  int64_t first = merged[0], last = merged[1], size = 1;
  for (int64_t i = first; i < last; ++i)
    size = ShapedType::isDynamic(size) || ShapedType::isDynamic(shape[i]) ? ShapedType::kDynamic
                                                                          : size * shape[i];
  SmallVector<int64_t> parts(shape.take_front(first));
  parts.push_back(size);
  llvm::append_range(parts, shape.drop_front(last));
  return parts;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {

/// What a parameter's value must be.
enum class Form {
  Sizes,   ///< each at least 1
  Tile,    ///< three of them
  Pair,    ///< two of them
  Range,   ///< two indices, the second larger
  Indices, ///< each at least 0
  Amount,  ///< at least 1
  Truth,
  Flag,
  Text,
};

struct Rule {
  StringRef name;
  Form form;
};

constexpr Rule rules[] = {
    {schedule::parts.name, Form::Sizes},       {schedule::merged.name, Form::Range},
    {schedule::grain.name, Form::Amount},      {schedule::tile.name, Form::Tile},
    {schedule::depthBlock.name, Form::Amount}, {schedule::copiesPanels.name, Form::Flag},
    {schedule::whereItPays.name, Form::Flag},  {schedule::fetchAhead.name, Form::Truth},
    {schedule::tuned.name, Form::Text},        {schedule::pointwise.name, Form::Flag},
    {schedule::lines.name, Form::Amount},      {schedule::blockTiles.name, Form::Amount},
    {schedule::square.name, Form::Amount},     {schedule::valueTile.name, Form::Tile},
    {schedule::blocks.name, Form::Pair},       {schedule::lanes.name, Form::Amount},
    {schedule::positions.name, Form::Amount},  {schedule::streams.name, Form::Flag},
    {schedule::columns.name, Form::Flag},      {schedule::copied.name, Form::Indices},
    {schedule::packsRows.name, Form::Flag},    {schedule::pairedSteps.name, Form::Flag},
    {schedule::rounded.name, Form::Flag},
};

/// What a kind's schedules have beside a grain, which all may have. Of a kind that has no rule
/// of its own: parts, and maybe a register tile.
struct KindRule {
  SmallVector<StringRef> needed, possible;
};

} // namespace

static KindRule ruleOf(ScheduleKind kind) {
  using namespace schedule;
  switch (kind) {
  case ScheduleKind::Loops:
    return {{}, {parts.name}};
  case ScheduleKind::ByteTable:
    return {{}, {}};
  case ScheduleKind::Gemm:
    return {{parts.name, tile.name},
            {merged.name, depthBlock.name, copiesPanels.name, whereItPays.name, fetchAhead.name,
             tuned.name, lines.name, packsRows.name}};
  case ScheduleKind::GemmAmxBf16:
    return {{parts.name, tile.name},
            {merged.name, depthBlock.name, copiesPanels.name, packsRows.name}};
  case ScheduleKind::GemmInt8:
    return {{parts.name, tile.name},
            {merged.name, depthBlock.name, copiesPanels.name, packsRows.name, pairedSteps.name}};
  case ScheduleKind::GemmBf16:
    return {{parts.name, tile.name},
            {merged.name, depthBlock.name, pointwise.name, lines.name, blockTiles.name}};
  case ScheduleKind::WeightOnly:
  case ScheduleKind::Transposition:
    return {{parts.name, tile.name}, {merged.name}};
  case ScheduleKind::Convolution:
    return {{parts.name, tile.name},
            {pointwise.name, lines.name, blockTiles.name, fetchAhead.name, tuned.name}};
  case ScheduleKind::Winograd:
    return {{parts.name, tile.name, blockTiles.name, square.name}, {fetchAhead.name, tuned.name}};
  case ScheduleKind::Attention:
    return {{parts.name}, {tile.name, valueTile.name, blocks.name, rounded.name}};
  case ScheduleKind::RowReduction:
    return {{parts.name, lanes.name}, {}};
  case ScheduleKind::Lanes:
    return {{parts.name, tile.name}, {streams.name, positions.name}};
  case ScheduleKind::Scan:
    return {{parts.name}, {columns.name}};
  case ScheduleKind::PadBorder:
    return {{parts.name}, {copied.name}};
  default:
    return {{parts.name}, {tile.name}};
  }
}

/// What the value must be, as a noun; empty: it is.
static StringRef whatItLacks(Form form, Attribute value) {
  auto sizes = dyn_cast<DenseI64ArrayAttr>(value);
  auto areAtLeast = [&](int64_t least) {
    return sizes && llvm::all_of(sizes.asArrayRef(), [&](int64_t size) { return size >= least; });
  };
  auto integer = dyn_cast<IntegerAttr>(value);
  switch (form) {
  case Form::Sizes:
    return areAtLeast(1) ? "" : "sizes of at least 1";
  case Form::Tile:
    return areAtLeast(1) && sizes.size() == 3 ? "" : "[rows, vectors, lanes] of at least 1";
  case Form::Pair:
    return areAtLeast(1) && sizes.size() == 2 ? "" : "two sizes of at least 1";
  case Form::Range:
    return areAtLeast(0) && sizes.size() == 2 && sizes[0] < sizes[1] ? "" : "[first, last)";
  case Form::Indices:
    return areAtLeast(0) ? "" : "numbers of at least 0";
  case Form::Amount:
    return integer && integer.getType().isInteger(64) && integer.getInt() >= 1
               ? ""
               : "a number of at least 1";
  case Form::Truth:
    return isa<BoolAttr>(value) ? "" : "true or false";
  case Form::Flag:
    return isa<UnitAttr>(value) ? "" : "without a value";
  case Form::Text:
    return isa<StringAttr>(value) ? "" : "text";
  }
  llvm_unreachable("all forms are above");
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, ScheduleKind kind,
                                   DictionaryAttr parameters) {
  KindRule rule = ruleOf(kind);
  StringRef name = stringifyScheduleKind(kind);
  for (StringRef needed : rule.needed)
    if (!parameters || !parameters.contains(needed))
      return emitError() << "a schedule of kind " << name << " needs `" << needed << "`";
  if (!parameters)
    return success();
  if (parameters.empty())
    return emitError() << "a schedule without parameters has no list of them";
  for (NamedAttribute parameter : parameters) {
    StringRef own = parameter.getName();
    const Rule *found = llvm::find_if(rules, [&](const Rule &each) { return each.name == own; });
    bool isOwn = own == schedule::grain.name || llvm::is_contained(rule.needed, own) ||
                 llvm::is_contained(rule.possible, own);
    if (!isOwn || found == std::end(rules))
      return emitError() << "a schedule of kind " << name << " has no `" << own << "`";
    if (StringRef lacking = whatItLacks(found->form, parameter.getValue()); !lacking.empty())
      return emitError() << "`" << own << "` of a schedule must be " << lacking;
  }
  return success();
}

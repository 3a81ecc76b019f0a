//===- TileChoice.cpp - what measurements say of a kernel's tiles ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/TileChoice.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

#include <tuple>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

/// Sums of a tile of so many registers are kept in them or nearly so; a part or a
/// block of a sum beyond this is all there is.
static constexpr int64_t mostTileRows = 32, mostTileVectors = 8, mostTileRegisters = 32;
static constexpr int64_t mostAmount = 1 << 24;
/// Blocks of a sum are multiples of this.
static constexpr int64_t depthStep = 16;

std::string TileChoice::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto next = [&]() -> llvm::raw_ostream & { return os << (text.empty() ? "" : " "); };
  if (form != Form::Any)
    next() << (form == Form::Direct ? "direct" : form == Form::Winograd ? "winograd" : "winograd4");
  if (rows)
    next() << "tile=" << rows << 'x' << vectors;
  if (part)
    next() << "part=" << part;
  if (depth)
    next() << "depth=" << *depth;
  if (packed)
    next() << "packed=" << *packed;
  if (ahead)
    next() << "ahead=" << *ahead;
  return text;
}

std::optional<TileChoice> TileChoice::parse(StringRef text) {
  TileChoice choice;
  SmallVector<StringRef> words;
  if (!text.empty())
    text.split(words, ' ');
  auto number = [](StringRef digits, int64_t least, int64_t most, int64_t &into) {
    return !digits.getAsInteger(10, into) && into >= least && into <= most;
  };
  for (StringRef word : words) {
    auto [name, value] = word.split('=');
    int64_t amount = 0;
    if (word == "direct" && choice.form == Form::Any) {
      choice.form = Form::Direct;
    } else if (word == "winograd" && choice.form == Form::Any) {
      choice.form = Form::Winograd;
    } else if (word == "winograd4" && choice.form == Form::Any) {
      choice.form = Form::Winograd4;
    } else if (name == "tile" && !choice.rows) {
      auto [rows, vectors] = value.split('x');
      if (!number(rows, 1, mostTileRows, choice.rows) ||
          !number(vectors, 1, mostTileVectors, choice.vectors) ||
          choice.rows * choice.vectors > mostTileRegisters)
        return std::nullopt;
    } else if (name == "part" && !choice.part) {
      if (!number(value, 1, mostAmount, choice.part))
        return std::nullopt;
    } else if (name == "depth" && !choice.depth) {
      if (!number(value, 0, mostAmount, amount) || amount % depthStep)
        return std::nullopt;
      choice.depth = amount;
    } else if (name == "packed" && !choice.packed) {
      if (!number(value, 0, 1, amount))
        return std::nullopt;
      choice.packed = amount != 0;
    } else if (name == "ahead" && !choice.ahead) {
      if (!number(value, 0, 1, amount))
        return std::nullopt;
      choice.ahead = amount != 0;
    } else {
      return std::nullopt;
    }
  }
  return choice;
}

//===----------------------------------------------------------------------===//
// By shape
//===----------------------------------------------------------------------===//

static std::string sizes(ArrayRef<int64_t> values) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(values, os, "x");
  return text;
}

std::string weir::tileKey(Operation *anchor, bool isConstant) {
  if (!isa<DotGeneralOp, ConvOp>(anchor) || anchor->hasAttr(tileUnitAttribute))
    return "";
  auto left = dyn_cast<RankedTensorType>(anchor->getOperand(0).getType());
  auto right = dyn_cast<RankedTensorType>(anchor->getOperand(1).getType());
  auto result = dyn_cast<RankedTensorType>(anchor->getResult(0).getType());
  if (!left || !right || !result || !left.hasStaticShape() || !right.hasStaticShape() ||
      !result.hasStaticShape() || !left.getElementType().isF32() || !right.getElementType().isF32())
    return "";
  std::string key;
  llvm::raw_string_ostream os(key);
  os << (isa<ConvOp>(anchor) ? "convolution " : "product ") << sizes(left.getShape()) << " by "
     << sizes(right.getShape());
  if (auto conv = dyn_cast<ConvOp>(anchor)) {
    os << " to " << sizes(result.getShape()) << " strides " << sizes(conv.getStrides());
    if (llvm::any_of(conv.getDilations(), [](int64_t each) { return each != 1; }))
      os << " dilations " << sizes(conv.getDilations());
    if (conv.getGroups() > 1)
      os << " groups " << conv.getGroups();
  } else if (size_t batch = cast<DotGeneralOp>(anchor).getLhsBatch().size()) {
    os << " batch " << batch;
  }
  if (isConstant)
    os << " constant";
  return key;
}

TileChoice weir::tileChoiceFor(ModuleOp module, StringRef key) {
  auto choices = module->getAttrOfType<DictionaryAttr>(tilesAttribute);
  auto text = choices ? choices.getAs<StringAttr>(key) : StringAttr();
  return text ? TileChoice::parse(text.getValue()).value_or(TileChoice()) : TileChoice();
}

void weir::noteChoice(ScheduleBuilder &s, const TileChoice &choice) {
  if (choice.isEmpty())
    return;
  s.set(schedule::tuned, choice.str());
  if (choice.ahead)
    s.set(schedule::fetchAhead, *choice.ahead);
}

//===----------------------------------------------------------------------===//
// What can be chosen
//===----------------------------------------------------------------------===//

std::optional<TileSpace> weir::tileSpaceOf(KernelOp kernel) {
  ScheduleAttr schedule = kernel.getSchedule();
  bool isProduct = schedule.getKind() == ScheduleKind::Gemm;
  bool isWinograd = schedule.getKind() == ScheduleKind::Winograd;
  if (!isProduct && !isWinograd && schedule.getKind() != ScheduleKind::Convolution)
    return std::nullopt;
  TileSpace space;
  space.present = TileChoice::parse(schedule[schedule::tuned]).value_or(TileChoice());
  TileChoice &present = space.present;
  ArrayRef<int64_t> tile = schedule[schedule::tile];
  present.rows = tile[0];
  present.vectors = tile[1];
  Block &body = kernel.getBody().front();
  // Panels of constants are fetched ahead.
  space.hasAhead = !isWinograd && !body.getOps<UnpackPanelsOp>().empty();
  if (isProduct) {
    DotGeneralOp dot = *body.getOps<DotGeneralOp>().begin();
    auto type = cast<RankedTensorType>(dot.getType());
    int64_t batch = dot.getLhsBatch().size();
    space.rows = partShape(schedule[schedule::merged], type.getShape())[batch];
    space.columns = type.getShape().back();
    space.depth = cast<RankedTensorType>(dot.getLhs().getType()).getShape().back();
    space.hasDepth = space.rows > tile[0];
    present.depth = schedule[schedule::depthBlock];
    space.packsRows = schedule[schedule::packsRows];
    if (space.packsRows)
      present.packed = true;
    int64_t usual =
        space.packsRows ? ArrayRef<int64_t>(schedule[schedule::parts])[batch] : partRows;
    present.part = present.part ? present.part : usual;
    return space;
  }
  ConvOp conv = *body.getOps<ConvOp>().begin();
  // The gradient of a filter has its tile from its shape alone.
  if (conv.getInput().getDefiningOp<TransposeOp>())
    return std::nullopt;
  auto type = cast<RankedTensorType>(conv.getType());
  ArrayRef<int64_t> shape = type.getShape();
  space.columns = shape.back();
  space.hasWinograd = isWinograd;
  int64_t results = isWinograd ? schedule[schedule::square] : 0;
  present.form = results == 4   ? TileChoice::Form::Winograd4
                 : results == 2 ? TileChoice::Form::Winograd
                                : TileChoice::Form::Direct;
  if (!present.part) {
    VectorUnit unit = vectorUnitOf(kernel->getParentOfType<ModuleOp>());
    present.part = isWinograd ? winogradElements(unit, results) : partPositions;
  }
  int64_t width = shape[shape.size() - 2], height = shape[shape.size() - 3];
  space.rows = isWinograd || schedule[schedule::pointwise] ? height * width : width;
  if (schedule.has(schedule::lines))
    space.rows = ShapedType::kDynamic;
  return space;
}

namespace {

/// Takes turns: a few trials see something of everything.
std::vector<TileChoice> interleaved(ArrayRef<std::vector<TileChoice>> lists) {
  std::vector<TileChoice> all;
  size_t longest = 0;
  for (const std::vector<TileChoice> &list : lists)
    longest = std::max(longest, list.size());
  for (size_t i = 0; i < longest; ++i)
    for (const std::vector<TileChoice> &list : lists)
      if (i < list.size())
        all.push_back(list[i]);
  return all;
}

/// The present choice with other register tiles, cheap ones first.
std::vector<TileChoice> otherTiles(const TileSpace &space, const VectorUnit &unit) {
  struct Candidate {
    int64_t cost;
    TileChoice choice;
  };
  std::vector<Candidate> candidates;
  bool isFew = isSkinny(unit, space.rows);
  int64_t most =
      std::min<int64_t>(mostTileVectors, llvm::divideCeil(space.columns, unit.bytes / 4));
  for (int64_t vectors = 1; vectors <= most; ++vectors)
    for (int64_t rows = 1; rows <= mostTileRows; ++rows) {
      int64_t sums = rows * vectors;
      // Sums and a row of vectors are in registers; too few sums wait for each other.
      if (sums + vectors > unit.registers)
        break;
      if (isFew ? rows != space.rows
                : (rows > space.rows && space.rows > 0) || sums < unit.registers / 4)
        continue;
      TileChoice choice = space.present;
      if (choice.rows == rows && choice.vectors == vectors)
        continue;
      choice.rows = rows;
      choice.vectors = vectors;
      candidates.push_back(
          {registerTileCost(unit, rows, vectors, space.rows, space.columns), choice});
    }
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::tuple(a.cost, a.choice.vectors, a.choice.rows) <
           std::tuple(b.cost, b.choice.vectors, b.choice.rows);
  });
  // The model is no worse than that.
  constexpr size_t mostTiles = 12;
  std::vector<TileChoice> tiles;
  for (size_t i = 0; i < candidates.size() && i < mostTiles; ++i)
    tiles.push_back(candidates[i].choice);
  return tiles;
}

} // namespace

std::vector<TileChoice> weir::tileMoves(const TileSpace &space, const VectorUnit &unit) {
  const TileChoice &present = space.present;
  std::vector<TileChoice> forms, parts, depths, aheads;
  if (space.hasWinograd) {
    using Form = TileChoice::Form;
    // Tiles of 4x4 results are no worse than those of 2x2 were found to be: none is tried that
    // the bound does not allow.
    if (present.form == Form::Winograd4)
      forms.emplace_back().form = Form::Winograd;
    forms.emplace_back().form = Form::Direct;
  }
  if (space.packsRows)
    forms.emplace_back().packed = false;
  for (int64_t part : {present.part * 2, present.part / 2, present.part * 4, present.part / 4}) {
    if (part < present.rows || part > mostAmount)
      continue;
    parts.push_back(present);
    parts.back().part = part;
  }
  for (int64_t depth : {0, 512, 256, 1024, 128}) {
    if (!space.hasDepth || depth >= space.depth || present.depth == depth)
      continue;
    depths.push_back(present);
    depths.back().depth = depth;
  }
  for (bool ahead : {false, true}) {
    if (!space.hasAhead || present.ahead == ahead)
      continue;
    aheads.push_back(present);
    aheads.back().ahead = ahead;
  }
  return interleaved({forms, otherTiles(space, unit), parts, depths, aheads});
}

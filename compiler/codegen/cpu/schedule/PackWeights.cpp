//===- PackWeights.cpp - constant right operands in panels ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/LaneWindows.h"
#include "compiler/codegen/cpu/schedule/PairedSteps.h"
#include "compiler/codegen/cpu/schedule/RegisterTiles.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/KernelForms.h"

using namespace mlir;
using namespace weir;

/// The operand of the kernel's anchor that its tiles read by columns.
static OpOperand *columnsOperand(plan::KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto dot = dyn_cast<DotGeneralOp>(op))
      return &dot.getRhsMutable();
    if (auto conv = dyn_cast<ConvOp>(op))
      return &conv.getFilterMutable();
  }
  return nullptr;
}

void weir::replaceConstant(OpBuilder &b, TypedAttr packed, BlockArgument argument, Value &operand) {
  Operation *constant = operand.getDefiningOp();
  auto replaced = ConstantOp::create(b, constant->getLoc(), packed);
  if (Attribute device = constant->getAttr("weir.device"))
    replaced->setAttr("weir.device", device);
  operand = replaced;
  argument.setType(packed.getType());
}

void weir::packRows(OpBuilder &b, OpOperand *weights, BlockArgument argument, Value &operand,
                    int64_t width) {
  auto constant = operand.getDefiningOp<ConstantOp>();
  auto type = cast<RankedTensorType>(argument.getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t rows = rowsOfWord(type.getElementType());
  TypedAttr packed = constant
                         ? interleavedConstant(cast<TypedAttr>(constant.getValue()), rows, width)
                         : TypedAttr();
  assert(packed && "what marks the operation has asked before");
  replaceConstant(b, packed, argument, operand);
  OpBuilder inside(weights->getOwner());
  Location loc = weights->getOwner()->getLoc();
  int64_t inner = type.getRank() - 1; // dimensions but the columns
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, inner + 1));
  order.append({inner + 2, inner + 1});
  Value plain = TransposeOp::create(inside, loc, argument, inside.getDenseI64ArrayAttr(order));
  SmallVector<int64_t> split(shape);
  split[inner - 1] /= rows;
  split.insert(split.end() - 1, rows);
  plain = UnpackPanelsOp::create(inside, loc, type.clone(split), plain,
                                 inside.getI64IntegerAttr(shape.back()));
  weights->set(ReshapeOp::create(inside, loc, plain, integers(inside, loc, shape)));
}

void weir::readPanels(OpOperand *weights, BlockArgument argument, Type packed) {
  Type whole = argument.getType();
  argument.setType(packed);
  OpBuilder inside(weights->getOwner());
  int64_t columns = cast<RankedTensorType>(whole).getShape().back();
  weights->set(UnpackPanelsOp::create(inside, weights->getOwner()->getLoc(), whole, argument,
                                      inside.getI64IntegerAttr(columns)));
}

/// [A…, K, N] in whole panels: [N / width, A…, K, width].
static TransposeOp panelsOf(OpBuilder &b, Location loc, Value operand, int64_t width) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(operand.getType()).getShape()), order;
  int64_t rank = shape.size();
  shape.back() /= width;
  shape.push_back(width);
  order.push_back(rank - 1);
  for (int64_t i = 0; i + 1 < rank; ++i)
    order.push_back(i);
  order.push_back(rank);
  Value split = ReshapeOp::create(b, loc, operand, integers(b, loc, shape));
  return TransposeOp::create(b, loc, split, b.getDenseI64ArrayAttr(order));
}

/// The same of an operand [A…, N, K] whose last two dimensions are to be exchanged: at once.
static TransposeOp panelsOfExchanged(OpBuilder &b, Location loc, Value operand, int64_t width) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(operand.getType()).getShape());
  int64_t rank = shape.size();
  shape.insert(shape.end() - 1, width);
  shape[rank - 2] /= width;
  SmallVector<int64_t> order{rank - 2};
  llvm::append_range(order, llvm::seq<int64_t>(0, rank - 2));
  order.append({rank, rank - 1});
  Value split = ReshapeOp::create(b, loc, operand, integers(b, loc, shape));
  return TransposeOp::create(b, loc, split, b.getDenseI64ArrayAttr(order));
}

TransposeOp weir::transpositionOf(plan::KernelOp user, Value operand) {
  auto launch = operand.getDefiningOp<plan::LaunchOp>();
  if (!launch || launch.getInputs().size() != 1)
    return {};
  auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(user, launch.getKernelAttr());
  if (!kernel)
    return {};
  Block &body = kernel.getBody().front();
  auto transpose = dyn_cast<TransposeOp>(body.front());
  return transpose && transpose->getNextNode() == body.getTerminator() ? transpose : TransposeOp();
}

/// The launch of a lone kernel that exchanges the last two dimensions of what it reads; or null.
static plan::LaunchOp exchangeOf(plan::KernelOp user, Value operand) {
  TransposeOp transpose = transpositionOf(user, operand);
  if (!transpose)
    return {};
  auto launch = operand.getDefiningOp<plan::LaunchOp>();
  ArrayRef<int64_t> order = transpose.getPermutation();
  int64_t rank = order.size();
  for (int64_t i = 0; i + 2 < rank; ++i)
    if (order[i] != i)
      return {};
  return rank >= 2 && order[rank - 2] == rank - 1 ? launch : plan::LaunchOp();
}

/// `use`, an operand of its kernel's product, becomes the exchange of `operand`'s last two
/// dimensions inside of the kernel, whose argument `operand` is from now on.
static void exchangeInside(OpOperand &use, BlockArgument argument, Value operand) {
  argument.setType(operand.getType());
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(operand.getType()).getRank()));
  std::swap(order.back(), order[order.size() - 2]);
  OpBuilder inside(use.getOwner());
  use.set(TransposeOp::create(inside, use.getOwner()->getLoc(), argument,
                              inside.getDenseI64ArrayAttr(order)));
}

void weir::readLeftTurned(plan::KernelOp kernel, DotGeneralOp dot,
                          SmallVectorImpl<Value> &operands) {
  auto argument = dyn_cast<BlockArgument>(dot.getLhs());
  auto type = cast<RankedTensorType>(dot.getType());
  if (!argument || !argument.hasOneUse() || !type.hasStaticShape() ||
      type.getRank() != int64_t(dot.getLhsBatch().size()) + 2)
    return;
  Value &operand = operands[argument.getArgNumber()];
  auto isLeft = [&](Operation *user) {
    auto other = dyn_cast<DotGeneralOp>(user);
    return other && other.getLhs() == operand && other.getRhs() != operand &&
           isInPlainOrder(other) && isGemmOfOneType(other);
  };
  // One that reads it as it lies keeps it in memory.
  plan::LaunchOp launch =
      llvm::all_of(operand.getUsers(), isLeft) ? exchangeOf(kernel, operand) : plan::LaunchOp();
  if (!launch)
    return;
  operand = launch.getInputs()[0];
  exchangeInside(dot->getOpOperand(0), argument, operand);
}

/// A right operand that another kernel turns for this one alone, whose lines lie along the
/// depth: parts turn panels as they copy them, which is less than to turn all of it in memory
/// unless many parts of rows would each do so. Returns whether they do.
static bool readTurned(plan::KernelOp kernel, OpOperand *weights, BlockArgument argument,
                       Value &operand, int64_t rows, ArrayRef<int64_t> parts) {
  constexpr int64_t mostTurns = 4;
  auto dot = cast<DotGeneralOp>(weights->getOwner());
  int64_t batch = dot.getLhsBatch().size();
  if (!ShapedType::isDynamic(rows) && rows > mostTurns * parts[batch])
    return false;
  plan::LaunchOp launch = operand.hasOneUse() ? exchangeOf(kernel, operand) : plan::LaunchOp();
  if (!launch)
    return false;
  operand = launch.getInputs()[0];
  exchangeInside(*weights, argument, operand);
  kernel.setScheduleAttr(plan::ScheduleBuilder(kernel.getSchedule())
                             .set(plan::schedule::copiesPanels, true)
                             .set(plan::schedule::parts, parts)
                             .get());
  return true;
}

/// Right operands that the program computes, beyond what the first-level cache holds
/// anyway, where each panel serves many tiles. For many parts of rows they are brought
/// into panels once, by the operation that is returned; otherwise kernels copy a panel
/// to their stack, and parts have more rows, for which a copy serves.
static TransposeOp packComputed(OpBuilder &b, plan::KernelOp kernel, OpOperand *weights,
                                BlockArgument argument, Value &operand) {
  // Bytes: rows of a part share the second-level cache with panels.
  constexpr int64_t leftShare = 1 << 20;
  constexpr int64_t mostRows = 280, mostCopies = 2;
  auto dot = cast<DotGeneralOp>(weights->getOwner());
  auto left = cast<RankedTensorType>(dot.getLhs().getType());
  auto right = cast<RankedTensorType>(argument.getType());
  int64_t depth = left.getShape().back(), columns = right.getShape().back();
  plan::ScheduleAttr schedule = kernel.getSchedule();
  ArrayRef<int64_t> tile = schedule[plan::schedule::tile];
  int64_t batch = dot.getLhsBatch().size(), width = tile[1] * tile[2];
  int64_t rows = plan::partShape(schedule[plan::schedule::merged],
                                 cast<RankedTensorType>(dot.getType()).getShape())[batch];
  int64_t bytes = right.getElementTypeBitWidth() / 8;
  bool isOpen =
      ShapedType::isDynamic(rows) || ShapedType::isDynamic(depth) || ShapedType::isDynamic(columns);
  // What is known, and what may be.
  int64_t most = std::numeric_limits<int32_t>::max();
  auto atMost = [&](int64_t size) { return ShapedType::isDynamic(size) ? most : size; };
  SmallVector<int64_t> parts(schedule[plan::schedule::parts]);
  int64_t shared = ShapedType::isDynamic(depth) ? schedule[plan::schedule::depthBlock] : depth;
  int64_t &rowsOfPart = parts[batch];
  // Packed rows are a share of the second-level cache already.
  if (!schedule[plan::schedule::packsRows]) {
    int64_t many = std::min(leftShare / (bytes * std::max<int64_t>(shared, 1)), mostRows);
    rowsOfPart =
        std::max(rowsOfPart, std::min<int64_t>(atMost(rows), llvm::alignTo(many, tile[0])));
  }
  if (shared > 0 && readTurned(kernel, weights, argument, operand, rows, parts))
    return {};
  if (atMost(columns) <= width || atMost(rows) < fewTilesOfRows * tile[0] ||
      (!isOpen && depth * columns * bytes <= smallRightOperand))
    return {};
  auto copies = [&](bool whereItPays) -> TransposeOp {
    kernel.setScheduleAttr(plan::ScheduleBuilder(schedule)
                               .set(plan::schedule::copiesPanels, true)
                               .set(plan::schedule::whereItPays, whereItPays)
                               .set(plan::schedule::parts, parts)
                               .get());
    return {};
  };
  if (isOpen)
    return copies(/*whereItPays=*/true);
  if (rows > mostCopies * rowsOfPart && columns % width == 0 && right.hasStaticShape()) {
    plan::LaunchOp exchange = operand.hasOneUse() ? exchangeOf(kernel, operand) : plan::LaunchOp();
    TransposeOp packed = exchange
                             ? panelsOfExchanged(b, dot.getLoc(), exchange.getInputs()[0], width)
                             : panelsOf(b, dot.getLoc(), operand, width);
    operand = packed;
    readPanels(weights, argument, packed.getType());
    return packed;
  }
  return copies(/*whereItPays=*/false);
}

int64_t weir::columnsOfLooseGroup(Operation *anchor) {
  auto conv = dyn_cast<ConvOp>(anchor);
  if (!conv || conv.getGroups() == 1)
    return 0;
  int64_t each = groupOf(conv).outputs;
  return each % matrixPanel ? each : 0;
}

/// Fills the columns of each group, `each` of them, up to whole panels: the kernel drops what
/// was added. Returns what reads the filled constant.
static OpOperand *fillGroups(OpBuilder &b, OpOperand *weights, BlockArgument argument,
                             Value &operand, int64_t each) {
  auto type = cast<RankedTensorType>(argument.getType());
  int64_t columns = type.getShape().back(), groups = columns / each;
  int64_t filled = llvm::alignTo(each, matrixPanel);
  auto constant = operand.getDefiningOp<ConstantOp>();
  // Views of constants are cut into panels once, which is still to come.
  DenseElementsAttr plain = materializedConstant(cast<TypedAttr>(constant.getValue()));
  ArrayRef<char> raw = plain.getRawData();
  std::vector<char> bytes(type.getNumElements() / each * filled, 0);
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    bytes[i / each * filled + i % each] = raw[plain.isSplat() ? 0 : i];
  SmallVector<int64_t> shape(type.getShape()), parted(type.getShape());
  shape.back() = groups * filled;
  replaceConstant(b, DenseElementsAttr::getFromRawBuffer(type.clone(shape), bytes), argument,
                  operand);
  OpBuilder inside(weights->getOwner());
  Location loc = weights->getOwner()->getLoc();
  parted.back() = groups;
  parted.push_back(filled);
  auto split = ReshapeOp::create(inside, loc, argument, integers(inside, loc, parted));
  auto number = [&](int64_t value) { return integers(inside, loc, {value}); };
  Value own = SliceOp::create(inside, loc, split, number(0), number(each), number(1),
                              inside.getDenseI64ArrayAttr({type.getRank()}), /*strict=*/false);
  weights->set(ReshapeOp::create(inside, loc, own, integers(inside, loc, type.getShape())));
  return &split->getOpOperand(0);
}

/// Makes one dimension of a filter's last but the columns where channels alone are no fours: lines
/// of the window are. Returns what reads the constant.
static OpOperand *joinLines(OpBuilder &b, OpOperand *weights, BlockArgument argument,
                            Value &operand) {
  auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t rank = shape.size();
  shape[rank - 2] *= shape[rank - 3];
  shape[rank - 3] = 1;
  DenseElementsAttr plain =
      materializedConstant(cast<TypedAttr>(operand.getDefiningOp<ConstantOp>().getValue()));
  replaceConstant(b, plain.reshape(type.clone(shape)), argument, operand);
  OpBuilder inside(weights->getOwner());
  Location loc = weights->getOwner()->getLoc();
  auto apart = ReshapeOp::create(inside, loc, argument, integers(inside, loc, type.getShape()));
  weights->set(apart);
  return &apart->getOpOperand(0);
}

/// Weights that bytes are multiplied by in pairs, whose steps are added two at a time where that
/// pays (PairedSteps): what is beside them is one more operand.
static void pairStepsOf(OpBuilder &b, plan::KernelOp kernel, BlockArgument argument,
                        SmallVectorImpl<Value> &operands) {
  Value &operand = operands[argument.getArgNumber()];
  auto type = cast<RankedTensorType>(argument.getType());
  int64_t columns = type.getShape().back(), rows = type.getNumElements() / columns;
  DenseElementsAttr plain =
      materializedConstant(cast<TypedAttr>(operand.getDefiningOp<ConstantOp>().getValue()));
  if (!plain || plain.isSplat())
    return;
  ArrayRef raw(reinterpret_cast<const int8_t *>(plain.getRawData().data()), rows * columns);
  int64_t lanes = vectorUnitOf(kernel->getParentOfType<ModuleOp>()).bytes / 4;
  std::optional<PairedSteps> paired = pairSteps(b.getContext(), raw, rows, columns, lanes);
  if (!paired)
    return;
  Location loc = operand.getLoc();
  replaceConstant(b, DenseElementsAttr::getFromRawBuffer(type, paired->weights), argument, operand);
  auto beside = RankedTensorType::get({int64_t(paired->beside.size())}, type.getElementType());
  auto added =
      ConstantOp::create(b, loc, DenseElementsAttr::getFromRawBuffer(beside, paired->beside));
  if (Attribute device = operand.getDefiningOp()->getAttr("weir.device"))
    added->setAttr("weir.device", device);
  operands.push_back(added);
  kernel.getBody().front().addArgument(beside, loc);
  plan::ScheduleBuilder schedule(kernel.getSchedule());
  schedule.set(plan::schedule::pairedSteps, true);
  if (lanes * vectorsOfPairedSteps == PairedStepsLayout::width)
    schedule.set(plan::schedule::tile, {rowsOfPairedSteps, vectorsOfPairedSteps, lanes});
  kernel.setScheduleAttr(schedule.get());
}

void weir::packPanels(OpBuilder &b, plan::KernelOp kernel, SmallVectorImpl<Value> &operands) {
  OpOperand *weights = columnsOperand(kernel);
  Operation *anchor = weights->getOwner();
  auto argument = cast<BlockArgument>(weights->get());
  Value &operand = operands[argument.getArgNumber()];
  // Bytes that the program computes become panels on the stack.
  if (!operand.getDefiningOp<ConstantOp>()) {
    kernel.setScheduleAttr(
        plan::ScheduleBuilder(kernel.getSchedule()).set(plan::schedule::copiesPanels, true).get());
  } else {
    int64_t each = columnsOfLooseGroup(anchor);
    if (each)
      weights = fillGroups(b, weights, argument, operand, each);
    auto type = cast<RankedTensorType>(argument.getType());
    int64_t rank = type.getRank();
    if (isa<ConvOp>(anchor) && type.getDimSize(rank - 2) % rowsOfWord(type.getElementType()) != 0)
      weights = joinLines(b, weights, argument, operand);
    if (hasBoundedPairs(anchor) && !each)
      pairStepsOf(b, kernel, argument, operands);
    packRows(b, weights, argument, operands[argument.getArgNumber()], matrixPanel);
  }
}

void weir::packWindows(OpBuilder &b, ConvOp conv, SmallVectorImpl<Value> &operands) {
  constexpr int64_t quad = 4;
  auto argument = cast<BlockArgument>(conv.getFilter());
  Value &operand = operands[argument.getArgNumber()];
  auto type = cast<RankedTensorType>(argument.getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t high = shape[0], wide = shape[1], channels = shape.back();
  int64_t quads = llvm::divideCeil(high, quad);
  DenseElementsAttr plain =
      materializedConstant(cast<TypedAttr>(operand.getDefiningOp<ConstantOp>().getValue()));
  ArrayRef<char> raw = plain.getRawData();
  std::vector<char> bytes(quads * wide * channels * quad, 0);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    int64_t line = i / (wide * channels), at = i % (wide * channels);
    bytes[(line / quad * wide * channels + at) * quad + line % quad] = raw[plain.isSplat() ? 0 : i];
  }
  SmallVector<int64_t> packed{quads, wide, channels, quad};
  replaceConstant(b, DenseElementsAttr::getFromRawBuffer(type.clone(packed), bytes), argument,
                  operand);
  OpBuilder inside(conv);
  Location loc = conv.getLoc();
  Value lines =
      TransposeOp::create(inside, loc, argument, inside.getDenseI64ArrayAttr({0, 3, 1, 2}));
  lines = ReshapeOp::create(inside, loc, lines,
                            integers(inside, loc, {quads * quad, wide, 1, channels}));
  auto number = [&](int64_t value) { return integers(inside, loc, {value}); };
  conv.getFilterMutable().assign(SliceOp::create(inside, loc, lines, number(0), number(high),
                                                 number(1), inside.getDenseI64ArrayAttr({0}),
                                                 /*strict=*/false));
}

void weir::packPairs(OpBuilder &b, plan::KernelOp kernel, SmallVectorImpl<Value> &operands) {
  OpOperand *weights = columnsOperand(kernel);
  auto argument = cast<BlockArgument>(weights->get());
  ArrayRef<int64_t> tile = kernel.getSchedule()[plan::schedule::tile];
  packRows(b, weights, argument, operands[argument.getArgNumber()], tile[1] * tile[2]);
}

/// Weights of f16 and bf16 as they are, where they become f32 in registers: of products that
/// have few rows, or may have, whose time is that of reading their weights. f16 needs an
/// instruction, which every processor with AVX-512 has; bf16 is a shift.
static TypedAttr narrowWeights(plan::KernelOp kernel, Operation *anchor, TypedAttr value) {
  constexpr int64_t fewRows = 8, widest = 64;
  auto dot = dyn_cast<DotGeneralOp>(anchor);
  TypedAttr narrow = dot ? inTypeOfSource(value) : TypedAttr();
  if (!narrow)
    return {};
  ArrayRef<int64_t> result = cast<RankedTensorType>(dot.getType()).getShape();
  int64_t rows = plan::partShape(kernel.getSchedule()[plan::schedule::merged],
                                 result)[dot.getLhsBatch().size()];
  bool isCheap = getElementTypeOrSelf(narrow.getType()).isBF16() ||
                 vectorUnitOf(kernel->getParentOfType<ModuleOp>()).bytes == widest;
  return isCheap && (ShapedType::isDynamic(rows) || rows <= fewRows) ? narrow : TypedAttr();
}

TransposeOp weir::packColumns(OpBuilder &b, plan::KernelOp kernel,
                              SmallVectorImpl<Value> &operands) {
  OpOperand *weights = columnsOperand(kernel);
  auto argument = dyn_cast<BlockArgument>(weights->get());
  if (!argument || !argument.hasOneUse())
    return {};
  Value &operand = operands[argument.getArgNumber()];
  auto constant = operand.getDefiningOp<ConstantOp>();
  if (!constant && isa<DotGeneralOp>(weights->getOwner()))
    return packComputed(b, kernel, weights, argument, operand);
  ArrayRef<int64_t> tile = kernel.getSchedule()[plan::schedule::tile];
  int64_t width = tile[1] * tile[2];
  // Groups that are no whole vectors, which parts are then, have a panel each.
  if (auto conv = dyn_cast<ConvOp>(weights->getOwner()); conv && conv.getGroups() > 1)
    width = ArrayRef<int64_t>(kernel.getSchedule()[plan::schedule::parts]).back();
  int64_t columns = cast<RankedTensorType>(argument.getType()).getShape().back();
  // One panel without a rest lies as it is wanted.
  if (!constant || columns == width)
    return {};
  auto value = cast<TypedAttr>(constant.getValue());
  TypedAttr narrow = narrowWeights(kernel, weights->getOwner(), value);
  TypedAttr packed = packedConstant(narrow ? narrow : value, width);
  if (!packed)
    return {};
  Type wide = argument.getType();
  if (narrow)
    argument.setType(narrow.getType());
  readPanels(weights, argument, packed.getType());
  if (narrow) {
    OpBuilder inside(weights->getOwner());
    weights->set(CastOp::create(inside, weights->getOwner()->getLoc(), wide, weights->get(),
                                inside.getBoolAttr(false)));
  }
  replaceConstant(b, packed, argument, operand);
  return {};
}

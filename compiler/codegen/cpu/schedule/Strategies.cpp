//===- Strategies.cpp - the ways to compute kernels on a CPU --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/PlainConvolution.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "passes/plan/LaunchWork.h"
#include "passes/plan/SubviewForwarding.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

// In the order in which kernels are offered to them. Each is a function of that name and
// `Strategy` in a file of this folder.
#define WEIR_CPU_STRATEGIES(STRATEGY)                                                              \
  STRATEGY(attention)                                                                              \
  STRATEGY(rowReduction)                                                                           \
  STRATEGY(gemmInt8)                                                                               \
  STRATEGY(gemmAmxBf16)                                                                            \
  STRATEGY(scatter)                                                                                \
  STRATEGY(sort)                                                                                   \
  STRATEGY(weightOnly)                                                                             \
  STRATEGY(gemm)                                                                                   \
  STRATEGY(winograd)                                                                               \
  STRATEGY(gemmBf16)                                                                               \
  STRATEGY(convolution)                                                                            \
  STRATEGY(lanes)                                                                                  \
  STRATEGY(transposition)                                                                          \
  STRATEGY(scan)                                                                                   \
  STRATEGY(trees)                                                                                  \
  STRATEGY(padBorder)                                                                              \
  STRATEGY(depthFirst)                                                                             \
  STRATEGY(byteTable)                                                                              \
  STRATEGY(loops) /* everything */

namespace weir {
#define DECLARE(NAME) const KernelStrategy &NAME##Strategy();
WEIR_CPU_STRATEGIES(DECLARE)
#undef DECLARE
} // namespace weir

static ArrayRef<const KernelStrategy *> strategies() {
#define ADDRESS(NAME) &NAME##Strategy(),
  static const KernelStrategy *const all[] = {WEIR_CPU_STRATEGIES(ADDRESS)};
#undef ADDRESS
  return all;
}

const KernelStrategy &weir::strategyOf(ScheduleKind kind) {
  static const auto byKind = [] {
    std::array<const KernelStrategy *, getMaxEnumValForScheduleKind() + 1> table{};
    for (const KernelStrategy *strategy : strategies())
      table[size_t(strategy->kind())] = strategy;
    return table;
  }();
  const KernelStrategy *found = byKind[size_t(kind)];
  assert(found && "every kind is in the table");
  return *found;
}

//===----------------------------------------------------------------------===//
// Kernels that need one
//===----------------------------------------------------------------------===//

bool weir::hasOpenOperand(Block &body) {
  return llvm::any_of(body.getArguments(), [](BlockArgument argument) {
    return !cast<RankedTensorType>(argument.getType()).hasStaticShape();
  });
}

bool weir::isOnlyShape(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    return isa<BroadcastToOp>(use.getOwner()) && use.getOperandNumber() == 1;
  });
}

/// Whether all results have the shape of `type` and are made element by element, of constants that
/// are one number, too, and of what is stretched.
static bool isAllElementwise(Block &body, RankedTensorType type) {
  for (Value result : body.getTerminator()->getOperands())
    if (cast<RankedTensorType>(result.getType()).getShape() != type.getShape())
      return false;
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    ElementsAttr constant = op.getNumResults() == 1 ? constantElements(op.getResult(0)) : nullptr;
    if (constant)
      return constant.isSplat() || isOnlyShape(op.getResult(0));
    auto stretch = dyn_cast<BroadcastToOp>(op);
    return stretch ? isOnlyShape(stretch.getShape()) : isa<ElementwiseOpInterface>(op);
  });
}

/// Whether types say that the last dimensions that every operand has whole, or is stretched along,
/// are a short row, whatever open sizes are (but for those of 1, in which the result is small).
static bool isShortByTypes(Block &body, RankedTensorType type) {
  ArrayRef<int64_t> shape = type.getShape();
  int64_t row = 1;
  SmallVector<bool> moves(body.getNumArguments()), stays(body.getNumArguments());
  for (size_t i = shape.size(); i-- > 0;) {
    for (auto [at, argument] : llvm::enumerate(body.getArguments())) {
      auto own = cast<RankedTensorType>(argument.getType());
      int64_t dim = int64_t(i) - (type.getRank() - own.getRank());
      if (shape[i] == 1 || isOnlyShape(argument) ||
          (own.hasStaticShape() && own.getNumElements() == 1))
        continue;
      bool isStretched = dim < 0 || own.getDimSize(dim) == 1;
      (isStretched ? stays : moves)[at] = true;
      if (moves[at] && stays[at])
        return row < shortRow;
    }
    if (ShapedType::isDynamic(shape[i]) || (row *= shape[i]) >= shortRow)
      return false;
  }
  return false;
}

/// Whether the kernel is of elementwise operations whose dimensions only running can collapse
/// into loops that are long enough (emitFlatElements).
static bool isOpenElementwise(Block &body, RankedTensorType type) {
  bool isStretched = !body.getOps<BroadcastToOp>().empty();
  if (type.getRank() < (isStretched ? 1 : 2) || !hasOpenOperand(body))
    return false;
  bool isLongRow = !type.isDynamicDim(type.getRank() - 1) && type.getShape().back() >= shortRow;
  return (!isLongRow || isStretched) && isAllElementwise(body, type) &&
         (isStretched || !isShortByTypes(body, type));
}

bool weir::isStretchedElementwise(Block &body) {
  auto type = cast<RankedTensorType>(body.getTerminator()->getOperand(0).getType());
  if (!type.hasStaticShape() || type.getRank() < 2 || type.getShape().back() >= shortRow ||
      hasOpenOperand(body) || !isAllElementwise(body, type))
    return false;
  SmallVector<ArrayRef<int64_t>> shapes;
  for (BlockArgument argument : body.getArguments())
    if (auto own = cast<RankedTensorType>(argument.getType());
        own.getNumElements() != 1 && !isOnlyShape(argument))
      shapes.push_back(own.getShape());
  if (llvm::all_of(shapes, [&](ArrayRef<int64_t> shape) { return shape == type.getShape(); }))
    return false;
  // The last dimensions that every operand has whole, or is stretched along.
  int64_t length = 1, row = 1;
  auto fits = [&](ArrayRef<int64_t> shape, size_t count) {
    ArrayRef<int64_t> own = shape.take_back(count);
    auto isOne = [](int64_t size) { return size == 1; };
    return llvm::all_of(own, isOne) || own == type.getShape().take_back(count);
  };
  for (int64_t count = 1; count <= type.getRank(); ++count) {
    row *= type.getShape()[type.getRank() - count];
    if (llvm::all_of(shapes, [&](ArrayRef<int64_t> shape) { return fits(shape, count); }))
      length = row;
  }
  return length >= shortRow;
}

bool weir::isElementwiseOver(Operation *op, RankedTensorType type) {
  if (!isa<ElementwiseOpInterface>(op))
    return false;
  auto isOver = [&](Type other) {
    auto tensor = cast<RankedTensorType>(other);
    return tensor.getShape() == type.getShape() ||
           (tensor.hasStaticShape() && tensor.getNumElements() == 1);
  };
  if (cast<RankedTensorType>(op->getResult(0).getType()).getShape() != type.getShape())
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    ElementsAttr constant = constantElements(operand);
    return isOver(operand.getType()) && (!constant || constant.isSplat());
  });
}

/// What measurements say of the kernel's tiles.
static TileChoice choiceFor(ModuleOp module, KernelOp kernel, ArrayRef<Value> operands) {
  if (!module->hasAttr(tilesAttribute))
    return {};
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto right =
        op.getNumOperands() > 1 ? dyn_cast<BlockArgument>(op.getOperand(1)) : BlockArgument();
    bool isConstant = right && operands[right.getArgNumber()].getDefiningOp<ConstantOp>();
    std::string key = tileKey(&op, isConstant);
    if (!key.empty())
      return tileChoiceFor(module, key);
  }
  return {};
}

KernelRequest::KernelRequest(const FormedKernel &formed)
    : b(formed.b), kernel(formed.kernel), operands(formed.operands), isHost(formed.isHost) {
  KernelOp own = kernel;
  auto module = own->getParentOfType<ModuleOp>();
  unit = vectorUnitOf(module);
  choice = choiceFor(module, own, operands);
  type = cast<RankedTensorType>(body().getTerminator()->getOperand(0).getType());
  isFlat = type.hasStaticShape();
  for (Operation &op : body().without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    isFlat = isFlat && isElementwiseOver(&op, type);
    if (auto cost = dyn_cast<CostOpInterface>(op))
      flops += std::max<int64_t>(cost.getFlops(), 0);
    if (op.hasTrait<traits::KernelAnchor>())
      anchor = &op;
  }
  // An accelerator's forms count parts.
  isFlat =
      isFlat || (isHost && (isOpenElementwise(body(), type) || isStretchedElementwise(body())));
}

Block &KernelRequest::body() const {
  KernelOp own = kernel;
  return own.getBody().front();
}

ConstantOp KernelRequest::constantOf(Value argument) const {
  auto own = dyn_cast<BlockArgument>(argument);
  return own && own.hasOneUse() ? operands[own.getArgNumber()].getDefiningOp<ConstantOp>()
                                : ConstantOp();
}

/// Some 20 microseconds of work at a modest 4 operations a nanosecond. To move an element is
/// one, too.
static int64_t grainOf(const KernelRequest &request, const ScheduleBuilder &s) {
  constexpr int64_t openParts = 16;
  RankedTensorType type = request.type;
  int64_t items = 1, flops = request.flops;
  if (std::optional<ArrayRef<int64_t>> parts = s.find(schedule::parts)) {
    for (auto [size, tile] : llvm::zip(partShape(s[schedule::merged], type.getShape()), *parts))
      items *= ShapedType::isDynamic(size) ? openParts : llvm::divideCeil(size, tile);
  } else {
    for (int64_t size : type.getShape())
      items *= ShapedType::isDynamic(size) ? openParts : size;
  }
  if (type.hasStaticShape())
    flops = std::max(flops, type.getNumElements());
  int64_t each = std::max<int64_t>(1, flops / std::max<int64_t>(items, 1));
  return std::max<int64_t>(1, workOfThread / each);
}

//===----------------------------------------------------------------------===//
// What passes ask
//===----------------------------------------------------------------------===//

/// Whether sizes say that there is nothing to compute, or nothing to compute of, and loops do it:
/// other strategies divide by sizes.
static bool isOfNothing(Block &body) {
  if (!llvm::all_of(body.without_terminator(),
                    [](Operation &op) { return isa<ElementalOpInterface, ConstantOp>(op); }))
    return false;
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && llvm::is_contained(tensor.getShape(), 0);
  };
  return llvm::any_of(body.getArgumentTypes(), isEmpty) ||
         llvm::any_of(body.getTerminator()->getOperandTypes(), isEmpty);
}

static const KernelStrategy &strategyFor(const KernelRequest &request) {
  if (isOfNothing(request.body()))
    return loopsStrategy();
  const auto *found = llvm::find_if(
      strategies(), [&](const KernelStrategy *each) { return each->matches(request); });
  assert(found != strategies().end() && "loops compute everything");
  return **found;
}

namespace {
class CpuSchedules final : public KernelSchedules {
public:
  Operation *schedule(FormedKernel formed) const override {
    KernelRequest request(formed);
    const KernelStrategy &strategy = strategyFor(request);
    ScheduleBuilder s(formed.kernel.getContext(), strategy.kind());
    if (std::optional<SmallVector<int64_t>> parts = strategy.schedule(s, request))
      s.set(schedule::parts, *parts);
    if (!s.find(schedule::grain))
      s.set(schedule::grain, grainOf(request, s));
    formed.kernel.setScheduleAttr(s.get());
    // Panels are made for the vectors of a CPU.
    return request.isHost ? strategy.packOperands(request) : nullptr;
  }

  bool readsOnce(OpOperand &use) const override {
    return llvm::any_of(strategies(),
                        [&](const KernelStrategy *each) { return each->readsOnce(use); });
  }

  bool mindsBorder(ConvOp conv, ArrayRef<int64_t> pads) const override {
    return weir::mindsBorder(conv, pads);
  }

  bool mayGiveSeveral(ArrayRef<Operation *> operations, DotGeneralOp dot) const override {
    return isGemmOfSeveral(operations, dot);
  }

  bool takesPart(KernelOp kernel, unsigned index, ArrayRef<int64_t> extents) const override {
    return strategyOf(kernel).takesPart(kernel, index, extents);
  }

  bool readsSlice(KernelOp kernel, unsigned index, int64_t axis) const override {
    return strategyOf(kernel).readsSlice(kernel, index, axis);
  }

  bool readsInPlace(KernelOp kernel, unsigned argument, unsigned result) const override {
    return (hasOneResult(kernel) || strategyOf(kernel).storesLast()) &&
           strategyOf(kernel).readsInPlace(kernel, argument, result);
  }

  StringRef describe(KernelOp kernel) const override { return strategyOf(kernel).summary(); }

  StageForm stageForm(KernelOp kernel) const override {
    ScheduleAttr schedule = kernel.getSchedule();
    ArrayRef<int64_t> parts = schedule[schedule::parts];
    bool areOfLines = parts.size() == 4 && parts[0] == 1;
    // Positions that run on from line to line can also end with each.
    bool areOfPositions = schedule[schedule::merged] == ArrayRef<int64_t>{0, 3};
    return areOfLines || areOfPositions ? strategyOf(kernel).stageForm(kernel) : StageForm::None;
  }

  std::optional<ChainSchedule> chain(ArrayRef<KernelOp> stages,
                                     ArrayRef<RankedTensorType> images) const override {
    return chainSchedule(stages, images);
  }
};
} // namespace

const KernelSchedules &weir::cpuSchedules() {
  static const CpuSchedules made;
  return made;
}

SmallVector<StringRef> weir::featuresOf(ModuleOp module) {
  llvm::SetVector<StringRef> features;
  for (const KernelStrategy *strategy : strategies())
    for (auto kernel : module.getOps<KernelOp>())
      if (kernel.getSchedule().getKind() == strategy->kind())
        if (StringRef feature = strategy->feature(kernel); !feature.empty())
          features.insert(feature);
  return features.takeVector();
}

//===----------------------------------------------------------------------===//
// What strategies do unless they say otherwise
//===----------------------------------------------------------------------===//

bool weir::hasOneResult(KernelOp kernel) {
  return kernel.getBody().front().getTerminator()->getNumOperands() == 1;
}

bool KernelStrategy::readsInPlace(KernelOp kernel, unsigned argument, unsigned result) const {
  Block &body = kernel.getBody().front();
  Operation *terminator = body.getTerminator();
  auto type = cast<RankedTensorType>(terminator->getOperand(result).getType());
  if (body.getArgument(argument).getType() != type)
    return false;
  // Paths part and meet again: each value once.
  llvm::SetVector<Value> reached;
  reached.insert(body.getArgument(argument));
  for (size_t i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (user == terminator || mayReadAhead(user))
        continue;
      auto result = user->getNumResults() == 1
                        ? dyn_cast<RankedTensorType>(user->getResult(0).getType())
                        : RankedTensorType();
      if (!isa<ElementwiseOpInterface>(user) || !result || result.getShape() != type.getShape())
        return false;
      reached.insert(user->getResult(0));
    }
  return true;
}

bool weir::takesPartOfTiles(KernelOp kernel, unsigned index, ArrayRef<int64_t> extents,
                            bool seesLines) {
  Block &body = kernel.getBody().front();
  if (!hasOneResult(kernel))
    return false;
  if (index >= body.getNumArguments())
    return true;
  // Weights and right operands are read by panels. Rows of a left operand are at one distance
  // from each other, but for convolutions that see lines.
  BlockArgument argument = body.getArgument(index);
  auto shape = cast<RankedTensorType>(argument.getType()).getShape();
  bool hasGaps = hasInnerGaps(extents, shape) && !seesLines;
  return llvm::none_of(argument.getUses(), [&](OpOperand &use) {
    // What a product turns itself has no gaps.
    if (isa<TransposeOp>(use.getOwner()) &&
        llvm::any_of(use.getOwner()->getUsers(), llvm::IsaPred<DotGeneralOp>))
      return hasInnerGaps(extents, shape);
    return isa<DotGeneralOp, ConvOp>(use.getOwner()) && (hasGaps || use.getOperandNumber() > 0);
  });
}

void SizeEqualities::add(Value x, Value y) {
  if (x == y)
    return;
  Value same = r.equal(x, y);
  every = every ? r.logicalAnd(every, same) : same;
}

void SizeEqualities::addSizes(Value tensor, unsigned i, Value like, unsigned j) {
  // The sizes that come with a result's buffer are values of their own: those that follow from
  // operands may tell more.
  llvm::SaveAndRestore quiet(r.quiet, true);
  if (r.RecursiveReader::dim(tensor, i) != r.RecursiveReader::dim(like, j))
    add(r.dim(tensor, i), r.dim(like, j));
}

void SizeEqualities::addShape(Value tensor, Value like) {
  if (hasSizesOf(like, tensor))
    return;
  auto type = cast<RankedTensorType>(tensor.getType());
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      addSizes(tensor, i, like, i);
}

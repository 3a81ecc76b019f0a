//===- PlantedFault.cpp - faults for tests --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/PlantedFault.h"
#include "dialects/plan/Plan.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Weir.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::driver;

static constexpr llvm::StringLiteral kinds[] = {"value", "round",   "drop", "swap",
                                                "nan",   "overlap", "place"};

bool PlantedFault::parse(llvm::StringRef text, std::string &possible) {
  possible = "PASS:NODE:KIND with " + llvm::join(std::begin(kinds), std::end(kinds), ", ");
  isNeeded = !text.consume_front("?");
  auto [before, after] = text.split(':');
  auto [named, what] = after.rsplit(':');
  auto [what1, where] = what.split('@');
  auto [pass1, count] = before.split('#');
  pass = pass1.str();
  node = named.str();
  kind = what1.str();
  return !pass.empty() && !node.empty() && llvm::is_contained(kinds, kind) &&
         (where.empty() || !where.getAsInteger(10, size)) &&
         (count.empty() || !count.getAsInteger(10, run));
}

static bool serves(Operation *op, llvm::StringRef node) {
  llvm::SetVector<llvm::StringRef> names;
  collectNodeNames(op->getLoc(), names);
  return names.contains(node);
}

static bool isFloatTensor(Type type) {
  return isa<RankedTensorType>(type) && isa<FloatType>(getElementTypeOrSelf(type));
}

/// Whether the operation may get others behind it. A kernel that is formed already is computed as
/// its schedule says: of these strategies the operations behind the one that they are made for
/// are computed element by element, whatever they are. All others know each operation by its place.
static bool mayBeFollowed(Operation *op) {
  auto kernel = op->getParentOfType<plan::KernelOp>();
  if (!kernel)
    return true;
  switch (kernel.getSchedule().getKind()) {
  case plan::ScheduleKind::Loops:
  case plan::ScheduleKind::Gemm:
  case plan::ScheduleKind::GemmAmxBf16:
  case plan::ScheduleKind::GemmBf16:
  case plan::ScheduleKind::GemmInt8:
  case plan::ScheduleKind::Convolution:
  case plan::ScheduleKind::Winograd:
  case plan::ScheduleKind::RowReduction:
  case plan::ScheduleKind::Lanes:
    return true;
  default:
    return false;
  }
}

/// A tensor of one element, to compute with `type`.
static Value scalar(OpBuilder &b, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  auto rank0 = RankedTensorType::get({}, element);
  auto attribute =
      isa<FloatType>(element)
          ? DenseElementsAttr::get(rank0, b.getFloatAttr(element, value).getValue())
          : DenseElementsAttr::get(rank0, APInt(element.getIntOrFloatBitWidth(), int64_t(value)));
  return ConstantOp::create(b, loc, cast<TypedAttr>(Attribute(attribute)));
}

/// Puts something else in the place of what an operation makes.
static bool replaceResult(Operation *op, llvm::StringRef kind) {
  Value result = op->getResult(0);
  Type type = result.getType();
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  Value made;
  Operation *first = nullptr;
  if (kind == "drop") {
    for (Value operand : op->getOperands())
      if (operand.getType() == type)
        made = operand;
  } else if (kind == "round" && isFloatTensor(type)) {
    Type narrow = cast<ShapedType>(type).clone(b.getBF16Type());
    Value rounded = CastOp::create(b, op->getLoc(), narrow, result, b.getBoolAttr(false));
    first = rounded.getDefiningOp();
    made = CastOp::create(b, op->getLoc(), type, rounded, b.getBoolAttr(false));
  } else if (kind == "value" || kind == "nan") {
    bool isFloat = isFloatTensor(type);
    Value other = scalar(b, op->getLoc(), type, kind == "nan" ? NAN : isFloat ? 1.01 : 1);
    made = isFloat ? MulOp::create(b, op->getLoc(), type, result, other).getResult()
                   : AddOp::create(b, op->getLoc(), type, result, other).getResult();
    first = made.getDefiningOp();
  }
  if (!made)
    return false;
  result.replaceUsesWithIf(made, [&](OpOperand &use) { return use.getOwner() != first; });
  return true;
}

/// Puts zeros in the place of what an operation reads of another device.
static bool loseOperand(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!operand.get().getDefiningOp<ReceiveOp>() || !type || !type.hasStaticShape() ||
        !type.getElementType().isIntOrFloat())
      continue;
    OpBuilder b(op);
    auto zeros = DenseElementsAttr::get(type, b.getZeroAttr(type.getElementType()));
    operand.set(ConstantOp::create(b, op->getLoc(), cast<TypedAttr>(Attribute(zeros))));
    return true;
  }
  return false;
}

/// Lets a buffer of the node begin where another one lies that is alive with it: the nearest
/// before it, which is most often what it is made of, so that making it destroys that.
static bool overlap(ModuleOp module, llvm::StringRef node) {
  SmallVector<plan::BufferOp> before;
  auto areAlive = [](plan::BufferOp a, plan::BufferOp b) {
    auto first = a->getAttrOfType<DenseI64ArrayAttr>("lives"),
         second = b->getAttrOfType<DenseI64ArrayAttr>("lives");
    return !first || !second || (first[0] <= second[1] && second[0] <= first[1]);
  };
  bool done = false;
  module.walk([&](plan::BufferOp buffer) {
    if (!buffer.getOffset() || done)
      return;
    for (plan::BufferOp other : llvm::reverse(before))
      if (serves(buffer, node) && !done && other->getBlock() == buffer->getBlock() &&
          areAlive(other, buffer)) {
        buffer.setOffset(other.getOffset());
        done = true;
      }
    before.push_back(buffer);
  });
  return done;
}

namespace weir::driver {

class FaultInstrumentation : public PassInstrumentation {
public:
  explicit FaultInstrumentation(PlantedFault &fault) : fault(fault) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!module || pass->getArgument() != fault.pass || ++fault.seen != fault.run)
      return;
    if (fault.kind == "overlap") {
      fault.planted = overlap(module, fault.node);
      return;
    }
    SmallVector<Operation *> candidates;
    module.walk([&](Operation *at) {
      if (at->getName().getDialectNamespace() == "weir" && at->getNumResults() &&
          at->getNumRegions() == 0 && isa<RankedTensorType>(at->getResult(0).getType()) &&
          getElementTypeOrSelf(at->getResult(0).getType()).isIntOrFloat() &&
          (!at->hasTrait<OpTrait::ConstantLike>() ||
           fault.pass.find("fold") != std::string::npos) &&
          serves(at, fault.node) && hasSize(at) && mayBeFollowed(at))
        candidates.push_back(at);
    });
    // The last one makes what the node does.
    while (!candidates.empty() && !fault.planted) {
      Operation *at = candidates.pop_back_val();
      if (fault.kind == "place") {
        fault.planted = loseOperand(at);
      } else if (fault.kind != "swap") {
        fault.planted = replaceResult(at, fault.kind);
      } else if (at->getNumOperands() > 1 &&
                 at->getOperand(0).getType() == at->getOperand(1).getType()) {
        Value lhs = at->getOperand(0);
        at->setOperand(0, at->getOperand(1));
        at->setOperand(1, lhs);
        fault.planted = true;
      }
    }
  }

private:
  bool hasSize(Operation *op) const {
    auto shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
    return !fault.size || llvm::is_contained(shape, fault.size);
  }

  PlantedFault &fault;
};

} // namespace weir::driver

std::unique_ptr<PassInstrumentation> PlantedFault::instrumentation() {
  return std::make_unique<FaultInstrumentation>(*this);
}

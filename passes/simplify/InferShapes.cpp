//===- InferShapes.cpp - derives result types --------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/simplify/Passes.h"
#include "weir/weir.h"

namespace weir {
#define GEN_PASS_DEF_WEIRINFERSHAPESPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

/// The type that says what both say; `a` where they contradict each other.
static Type refine(Type a, Type b) {
  auto x = dyn_cast<TensorType>(a), y = dyn_cast<TensorType>(b);
  if (!x || !y || x.getElementType() != y.getElementType() || !y.hasRank())
    return a;
  if (!x.hasRank())
    return b;
  if (x.getRank() != y.getRank())
    return a;
  SmallVector<int64_t> shape(x.getShape());
  for (auto [size, other] : llvm::zip(shape, y.getShape()))
    if (ShapedType::isDynamic(size))
      size = other;
  return RankedTensorType::get(shape, x.getElementType());
}

namespace {
/// Whether sizes may be computed by it: a few numbers, made by nothing but what it reads.
bool mayBeSizes(Operation *op) {
  constexpr int64_t most = 64;
  if (op->getNumResults() != 1 || isa<ConstantOp>(op) || !isPure(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.hasStaticShape() && type.getNumElements() <= most &&
         type.getElementType().isIntOrFloat();
}

struct InferShapesPass : weir::impl::WeirInferShapesPassBase<InferShapesPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet patterns(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(patterns);
    for (RegisteredOperationName name : context->getRegisteredOperations())
      name.getCanonicalizationPatterns(patterns, context);
    canonical = std::move(patterns);
    return success();
  }

  void runOnOperation() override {
    tentative = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // A function that is called keeps the types that its calls rely on.
      if (function.isExternal() || function.isPrivate())
        continue;
      inferBlock(function.getBody().front());
      auto terminator = function.getBody().front().getTerminator();
      function.setType(FunctionType::get(&getContext(), function.getArgumentTypes(),
                                         terminator->getOperandTypes()));
      for (BlockArgument argument : function.getArguments())
        if (failed(checkExtent(argument)))
          return signalPassFailure();
      WalkResult result = function.walk([&](Operation *op) {
        for (Value value : op->getResults()) {
          if (isa<UnrankedTensorType>(value.getType())) {
            op->emitError("the rank of a result is not known at compile time");
            return WalkResult::interrupt();
          }
          if (failed(checkExtent(value)))
            return WalkResult::interrupt();
        }
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        signalPassFailure();
    }
  }

  /// What describes a tensor in the runtime has so many dimensions, and sizes in
  /// bytes are computed in 64 bits, also where several are added up.
  static LogicalResult checkExtent(Value value) {
    constexpr int64_t mostElements = int64_t(1) << 44;
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (!tensor)
      return success();
    if (tensor.getRank() > WEIR_MAX_RANK)
      return emitError(value.getLoc()) << "W0500: expected at most " << WEIR_MAX_RANK
                                       << " dimensions, got a tensor of " << tensor.getRank();
    ArrayRef<int64_t> shape = tensor.getShape();
    int64_t elements = llvm::is_contained(shape, 0) ? 0 : 1;
    for (int64_t size : shape)
      if (!ShapedType::isDynamic(size) &&
          (__builtin_mul_overflow(elements, size, &elements) || elements > mostElements))
        return emitError(value.getLoc())
               << "W0500: expected at most 2^44 elements, got a tensor of type " << tensor;
    return success();
  }

  void inferBlock(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      inferOperation(&op);
      if (tentative == 0 && mayBeSizes(&op))
        fold(&op);
    }
  }

  /// Sizes that become known decide what the operations behind them make, whose sizes decide
  /// others': a chain of them is as long as a network that computes its own borders.
  void fold(Operation *op) {
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps);
    // Not to have converged is no fault: the rest folds later.
    (void)applyOpPatternsGreedily(op, canonical, config);
  }

  void inferOperation(Operation *op) {
    if (auto loop = dyn_cast<WhileOp>(op))
      return inferWhile(loop);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        inferBlock(block);
    if (auto branch = dyn_cast<IfOp>(op)) {
      auto thenTypes = branch.getThenRegion().front().getTerminator()->getOperandTypes();
      auto elseTypes = branch.getElseRegion().front().getTerminator()->getOperandTypes();
      for (auto [result, a, b] : llvm::zip(op->getResults(), thenTypes, elseTypes))
        if (a == b)
          result.setType(refine(result.getType(), a));
      return;
    }
    if (isa<CastOp>(op)) {
      auto operand = cast<TensorType>(op->getOperand(0).getType());
      if (operand.hasRank())
        op->getResult(0).setType(
            refine(op->getResult(0).getType(),
                   operand.clone(getElementTypeOrSelf(op->getResult(0).getType()))));
      return;
    }
    if (isa<GateOp>(op)) {
      op->getResult(0).setType(op->getOperand(0).getType());
      return;
    }
    auto infer = dyn_cast<InferTypeOpInterface>(op);
    if (!infer)
      return;
    SmallVector<Type> types;
    if (failed(infer.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                      op->getAttrDictionary(), op->getPropertiesStorage(),
                                      op->getRegions(), types)))
      return;
    for (auto [result, type] : llvm::zip(op->getResults(), types))
      result.setType(refine(result.getType(), type));
  }

  /// What is carried keeps its type unless the body proves the initial one to
  /// be invariant: assume the initial types, and give up, one value at a time,
  /// those that the body does not keep.
  void inferWhile(WhileOp loop) {
    Block &condition = loop.getCondition().front(), &body = loop.getBody().front();
    SmallVector<Type> types(loop.getInits().getTypes());
    // What folds by types that are given up again would stay folded.
    ++tentative;
    for (unsigned attempt = 0; attempt <= types.size(); ++attempt) {
      for (auto [i, type] : llvm::enumerate(types)) {
        condition.getArgument(i).setType(type);
        body.getArgument(i).setType(type);
        loop.getResult(i).setType(type);
      }
      inferBlock(condition);
      inferBlock(body);
      bool stable = true;
      for (auto [type, yielded] : llvm::zip(types, body.getTerminator()->getOperandTypes())) {
        if (type == yielded)
          continue;
        Type wider = widen(type, yielded);
        stable = stable && wider == type;
        type = wider;
      }
      if (stable)
        break;
      forget(body);
      forget(condition);
    }
    --tentative;
  }

  /// Resets results inside to what their operations say without context.
  void forget(Block &block) {
    for (Operation &op : block)
      op.walk([&](Operation *inner) {
        if (isa<InferTypeOpInterface>(inner))
          for (Value result : inner->getResults())
            if (auto tensor = dyn_cast<TensorType>(result.getType()))
              result.setType(UnrankedTensorType::get(tensor.getElementType()));
      });
  }

  static Type widen(Type a, Type b) {
    auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
    if (!x || !y)
      return isa<UnrankedTensorType>(a) ? a : b;
    if (x.getRank() != y.getRank())
      return UnrankedTensorType::get(x.getElementType());
    SmallVector<int64_t> shape(x.getShape());
    for (auto [size, other] : llvm::zip(shape, y.getShape()))
      if (size != other)
        size = ShapedType::kDynamic;
    return RankedTensorType::get(shape, x.getElementType());
  }

  FrozenRewritePatternSet canonical;
  int tentative = 0; ///< loops around what is inferred whose types are assumed
};
} // namespace

//===- ConvertBodies.cpp - what functions hold, into LLVM's dialect --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/ConvertBodies.h"
#include "dialects/weir/Pch.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

/// Whether `type` is no vector, or one of one dimension.
static bool isLine(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return !vector || (vector.getRank() == 1 && !vector.isScalable());
}

/// Whether an operation on vectors is one of LLVM's, or as good as one.
static bool isPlain(Operation *op) {
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return !isa<VectorType>(broadcast.getSourceType()) && isLine(broadcast.getType());
  return isa<vector::FMAOp, vector::ShuffleOp, vector::BitCastOp, vector::ReductionOp>(op) &&
         llvm::all_of(op->getOperandTypes(), isLine) && llvm::all_of(op->getResultTypes(), isLine);
}

/// Operations of a kernel in vectors from which on LLVM's passes take more than a moment.
static constexpr size_t longFunction = 200;

/// Whether a position is a number of the user's, which nobody has looked at yet.
static bool isOfData(Value value) {
  return isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp>(value.getDefiningOp());
}

/// Says of what computes positions in a kernel that it does not overflow: positions are within
/// tensors, or off by a window. LLVM would look for that at every one of a tile's hundreds of sums,
/// through all that they are computed of, and cannot see it of open sizes. What counts a loop's
/// turns is left to it: of that it would ask whether the turn before was the last but one.
static void keepOverflowOut(Operation *op) {
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) ||
      !getElementTypeOrSelf(op->getResult(0).getType()).isIndex() ||
      llvm::any_of(op->getOperands(), isOfData) ||
      llvm::any_of(op->getUsers(), llvm::IsaPred<cf::BranchOp, cf::CondBranchOp>))
    return;
  op->setAttr("overflowFlags", arith::IntegerOverflowFlagsAttr::get(
                                   op->getContext(), arith::IntegerOverflowFlags::nsw));
}

bool weir::hasMathFunctions(Operation *within) {
  return within
      ->walk([](Operation *op) {
        bool isOther = isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
                       !isa<math::AbsFOp, math::FmaOp, math::SqrtOp>(op);
        return isOther ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {

struct ConvertBodies : PassWrapper<ConvertBodies, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertBodies)

  StringRef getName() const override { return "ConvertBodies"; }

  LogicalResult initialize(MLIRContext *context) override {
    converter = std::make_shared<LLVMTypeConverter>(context);
    target = std::make_shared<LLVMConversionTarget>(*context);
    target->addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, math::MathDialect,
                              vector::VectorDialect>();
    RewritePatternSet set(context);
    arith::populateCeilFloorDivExpandOpsPatterns(set);
    arith::populateArithToLLVMConversionPatterns(*converter, set);
    cf::populateControlFlowToLLVMConversionPatterns(*converter, set);
    populateMathToLLVMConversionPatterns(*converter, set);
    populateVectorToLLVMConversionPatterns(*converter, set, /*reassociateFPReductions=*/false,
                                           /*force32BitVectorIndices=*/true);
    patterns = std::move(set);
    withoutMemrefs = std::make_shared<LLVMConversionTarget>(*context);
    withoutMemrefs->addIllegalDialect<memref::MemRefDialect>();
    RewritePatternSet ofMemrefs(context);
    populateFinalizeMemRefToLLVMConversionPatterns(*converter, ofMemrefs);
    memrefs = std::move(ofMemrefs);
    return success();
  }

  void runOnOperation() override {
    Operation *function = getOperation();
    if (function->getNumRegions() == 0 || function->getRegion(0).empty())
      return;
    bool isOfLines = true, hasMemrefs = false, hasVectors = false;
    size_t count = 0;
    function->walk([&](Operation *op) {
      ++count;
      Dialect *dialect = op->getDialect();
      if (isa_and_nonnull<vector::VectorDialect>(dialect)) {
        isOfLines &= isPlain(op);
        hasVectors = true;
      }
      hasMemrefs |= isa_and_nonnull<memref::MemRefDialect>(dialect);
    });
    // Of less code LLVM makes more where it knows how long loops are.
    auto named = dyn_cast<SymbolOpInterface>(function);
    if (hasVectors && count >= longFunction && named && named.getName().ends_with(".body"))
      function->walk(keepOverflowOut);
    // Steps alone have any: kernels need not be gone through for that.
    if (hasMemrefs && failed(applyPartialConversion(function, *withoutMemrefs, memrefs)))
      return signalPassFailure();
    if (!isOfLines) {
      OpPassManager vectors(function->getName());
      vectors.addPass(createConvertVectorToLLVMPass());
      if (failed(runPipeline(vectors, function)))
        return signalPassFailure();
    }
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyPartialConversion(function, *target, patterns, config)))
      signalPassFailure();
  }

private:
  // Copies of the pass, for other threads, share what `initialize` made: only the first runs it.
  std::shared_ptr<LLVMTypeConverter> converter;
  std::shared_ptr<LLVMConversionTarget> target, withoutMemrefs;
  FrozenRewritePatternSet patterns, memrefs;
};

} // namespace

std::unique_ptr<Pass> weir::createConvertBodies() { return std::make_unique<ConvertBodies>(); }

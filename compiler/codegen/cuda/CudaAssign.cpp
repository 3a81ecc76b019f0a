//===- CudaAssign.cpp - values of variables, unless a step has failed -----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaStep.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/plan/PlaceValues.h"
#include "weir/cuda.h"
#include <cstddef>

using namespace mlir;
using namespace weir;

/// Whether a kernel of the image may leave a record of an error.
static bool mayFail(gpu::GPUModuleOp module) {
  return llvm::any_of(module.getOps<gpu::GPUFuncOp>(),
                      [](gpu::GPUFuncOp kernel) { return !kernel.getArgument(0).use_empty(); });
}

static bool assigns(func::FuncOp step) {
  auto found = [](plan::VariableAssignOp) { return WalkResult::interrupt(); };
  return step.walk(found).wasInterrupted();
}

void weir::keepValues(func::FuncOp step) {
  step.walk([](plan::AllocOp place) {
    if (!place->hasAttr(plan::slotAttribute))
      return;
    for (Operation *user : llvm::make_early_inc_range(place->getUsers()))
      if (isa<plan::FreeOp>(user))
        user->erase();
  });
}

std::string weir::emitAssignKernel(gpu::GPUModuleOp module, ArrayRef<func::FuncOp> steps) {
  if (!llvm::any_of(steps, assigns) || !mayFail(module))
    return "";
  constexpr int32_t threads = WEIR_CUDA_ASSIGN_THREADS;
  MLIRContext *context = module.getContext();
  Location loc = module.getLoc();
  OpBuilder b(context);
  b.setInsertionPointToEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(context), i32 = b.getI32Type();
  Type vector = VectorType::get(4, i32); // 16 bytes
  auto function = gpu::GPUFuncOp::create(
      b, loc, "assign",
      b.getFunctionType({pointer, pointer, pointer, pointer, b.getI64Type()}, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  for (unsigned i = 1; i < 4; ++i)
    function.setArgAttr(i, "llvm.align", b.getI64IntegerAttr(16));
  Block *entry = &function.getBody().front();
  b.setInsertionPointToStart(entry);
  Value index = arith::AddIOp::create(
      b, loc,
      arith::MulIOp::create(b, loc, gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
                            arith::ConstantIndexOp::create(b, loc, threads)),
      gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
  Value count = arith::IndexCastOp::create(b, loc, b.getIndexType(), entry->getArgument(4));
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, count);
  auto guarded = scf::IfOp::create(b, loc, inside, /*withElseRegion=*/false);
  b.setInsertionPointToStart(&guarded.getThenRegion().front());
  static_assert(offsetof(weir_cuda_error, taken) == 0);
  Value taken = LLVM::LoadOp::create(b, loc, i32, entry->getArgument(0));
  Value failed = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, taken,
                                       arith::ConstantIntOp::create(b, loc, i32, 0));
  Value from =
      arith::SelectOp::create(b, loc, failed, entry->getArgument(2), entry->getArgument(1));
  // What was computed where it stays is there.
  Value moves = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, from, entry->getArgument(3));
  auto moved = scf::IfOp::create(b, loc, moves, /*withElseRegion=*/false);
  b.setInsertionPointToStart(&moved.getThenRegion().front());
  Value at = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  auto element = [&](Value base) -> Value {
    return LLVM::GEPOp::create(b, loc, pointer, vector, base, ArrayRef<LLVM::GEPArg>{at});
  };
  Value value = LLVM::LoadOp::create(b, loc, vector, element(from), /*alignment=*/16);
  LLVM::StoreOp::create(b, loc, value, element(entry->getArgument(3)), /*alignment=*/16);
  b.setInsertionPointToEnd(entry);
  gpu::ReturnOp::create(b, loc);
  function.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
  return "assign";
}

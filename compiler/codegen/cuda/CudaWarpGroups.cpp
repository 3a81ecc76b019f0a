//===- CudaWarpGroups.cpp - kernels of groups of warps ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaWarpGroups.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "weir/cuda.h"

using namespace mlir;
using namespace weir;

/// Of a function: so many of its last parameters are descriptions of tensors.
static constexpr StringLiteral mapsAttribute = "weir.maps";

void warp_groups::shapeLaunch(const CudaKernel &k, int64_t maps) {
  CudaReader &r = k.reader;
  r.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), r.b.getI32IntegerAttr(1));
  r.function->setAttr(mapsAttribute, r.b.getI64IntegerAttr(maps));
  k.shape.threads = threads;
}

/// Registers of a thread that copies, and of one that multiplies: 65,536 in all.
static constexpr int64_t fewRegisters = 40, manyRegisters = 232;

/// "dec" or "inc", to `count`: all warps of a group come here.
static void setRegisters(CudaReader &r, StringRef way, int64_t count) {
  InlinePtx(r, 0)
      .line("setmaxnreg." + way.str() + ".sync.aligned.u32 " + std::to_string(count) + ";")
      .emit();
}

void warp_groups::inRoles(CudaReader &r, Value thread, function_ref<void()> copy,
                          function_ref<void(Value own)> multiply) {
  Value group = r.divide(thread, r.constant(groupThreads));
  auto roles =
      scf::IfOp::create(r.b, r.loc, r.equal(group, r.constant(0)), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(r.b);
  r.b.setInsertionPointToStart(&roles.getThenRegion().front());
  setRegisters(r, "dec", fewRegisters);
  r.onlyIf(r.equal(thread, r.constant(0)), copy);
  r.b.setInsertionPointToStart(&roles.getElseRegion().front());
  setRegisters(r, "inc", manyRegisters);
  multiply(r.sub(group, r.constant(1)));
}

Value warp_groups::word(CudaReader &r, int64_t value) {
  return arith::ConstantIntOp::create(r.b, r.loc, r.b.getI32Type(), value);
}

Value warp_groups::toWord(CudaReader &r, Value value) {
  return arith::IndexCastOp::create(r.b, r.loc, r.b.getI32Type(), value);
}

Value warp_groups::sharedAt(CudaReader &r, Value base, Value bytes) {
  return arith::AddIOp::create(r.b, r.loc, base,
                               arith::IndexCastOp::create(r.b, r.loc, r.b.getI64Type(), bytes));
}

Value warp_groups::sharedAt(CudaReader &r, Value base, int64_t bytes) {
  return sharedAt(r, base, r.constant(bytes));
}

void warp_groups::makeBarriers(CudaReader &r, Value thread, Value base,
                               ArrayRef<std::pair<int64_t, int64_t>> offsetsAndCounts) {
  r.onlyIf(r.equal(thread, r.constant(0)), [&] {
    InlinePtx ptx(r, 0);
    std::string at = ptx.input(base);
    for (auto [offset, count] : offsetsAndCounts)
      ptx.line("mbarrier.init.shared::cta.b64 [" + at + "+" + std::to_string(offset) + "], " +
               std::to_string(count) + ";");
    ptx.line("fence.mbarrier_init.release.cluster;").emit();
  });
  r.barrier();
}

void warp_groups::waitForPhase(InlinePtx &ptx, StringRef name, const std::string &address,
                               const std::string &parity) {
  ptx.label(name)
      .line("mbarrier.try_wait.parity.shared::cta.b64 w_p, [" + address + "], " + parity + ";")
      .branch("@!w_p", name);
}

void warp_groups::describeOperand(InlinePtx &ptx, const std::string &name, const std::string &at,
                                  int64_t acrossBytes) {
  uint64_t swizzle = uint64_t(1) << 62, eight = uint64_t(1024 >> 4) << 32,
           across = uint64_t(acrossBytes ? acrossBytes >> 4 : 1) << 16;
  ptx.line("shr.u64 " + name + ", " + at + ", 4;")
      .line("and.b64 " + name + ", " + name + ", 16383;")
      .line("or.b64 " + name + ", " + name + ", " + std::to_string(swizzle | eight | across) + ";");
}

void warp_groups::alongTiles(CudaReader &r, Value tiles, int64_t carried,
                             function_ref<void(Value, SmallVector<Value> &)> step) {
  OpBuilder &b = r.b;
  Value blocks = gpu::GridDimOp::create(b, r.loc, gpu::Dimension::x);
  SmallVector<Value> first(carried, word(r, 0));
  auto loop = scf::ForOp::create(b, r.loc, r.blockId(), tiles, blocks, first);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> state(loop.getRegionIterArgs());
  step(loop.getInductionVar(), state);
  scf::YieldOp::create(b, r.loc, state);
}

void warp_groups::meetWarp(CudaReader &r) { InlinePtx(r, 0).line("bar.warp.sync -1;").emit(); }

Value warp_groups::stagedPlace(CudaReader &r, Value staging, Value row, Value column) {
  OpBuilder &b = r.b;
  Value bytes = r.mul(r.add(r.mul(row, r.constant(stagedLine)), column), r.constant(4));
  return LLVM::IntToPtrOp::create(b, r.loc, LLVM::LLVMPointerType::get(b.getContext(), 3),
                                  sharedAt(r, staging, bytes));
}

void warp_groups::passMapsByValue(gpu::GPUModuleOp module) {
  OpBuilder b(module.getContext());
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    auto maps = function->getAttrOfType<IntegerAttr>(mapsAttribute);
    if (!maps)
      continue;
    auto type = LLVM::LLVMArrayType::get(b.getI64Type(), WEIR_CUDA_MAP_BYTES / 8);
    unsigned count = function.getNumArguments();
    for (unsigned i = count - unsigned(maps.getInt()); i < count; ++i) {
      function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type));
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
      function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
    }
    function->removeAttr(mapsAttribute);
  }
}

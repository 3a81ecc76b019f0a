//===- Sort.cpp - the host's form of kernels that sort ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A sort is a kernel where accelerators compute it. On the host, which may stand
// in for them, that kernel calls the function that steps of the host call
// themselves.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/kernel/LibraryCall.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;

namespace {

/// Memory in the kernel's frame that the call reads.
struct Frame {
  Value space(int64_t bytes) {
    Value count = LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(bytes));
    return LLVM::AllocaOp::create(b, loc, pointer, b.getI8Type(), count, 16);
  }
  Value at(Value base, int64_t bytes) {
    return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
  }
  void store(int64_t number, Value place) {
    LLVM::StoreOp::create(
        b, loc, LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(number)),
        place);
  }
  void store(const KernelBuilder::Buffer &buffer, Value place) {
    SmallVector<Value> dims;
    for (Value dim : buffer.dims)
      dims.push_back(b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), dim));
    storeTensor(b, loc, place, buffer.pointer, buffer.type.getElementType(), dims);
  }

  OpBuilder &b;
  Location loc;
  Type pointer;
};

} // namespace

void weir::emitSortCall(KernelBuilder &r, plan::KernelOp kernel, SiteTable &sites) {
  TopKOp sort = *kernel.getBody().front().getOps<TopKOp>().begin();
  OpBuilder &b = r.b;
  Location loc = r.loc = sort.getLoc();
  Frame frame{b, loc, LLVM::LLVMPointerType::get(b.getContext())};
  const char *callee = "weir_kernel_top_k";
  declareLibraryFunction(kernel->getParentOfType<ModuleOp>(), loc, callee);

  constexpr int64_t each = sizeof(weir_tensor);
  const KernelBuilder::Buffer values = r.bufferOf(sort.getValues());
  Value operands = frame.space(2 * each), results = frame.space(2 * each), count = frame.space(8),
        parameters = frame.space(3 * 8);
  LLVM::StoreOp::create(
      b, loc,
      b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), values.dims[size_t(sort.getAxis())]),
      count);
  frame.store(r.bufferOf(sort.getOperand()), operands);
  storeTensor(b, loc, frame.at(operands, each), count, b.getI64Type(), {});
  frame.store(values, results);
  frame.store(r.bufferOf(sort.getIndices()), frame.at(results, each));
  int64_t place = 0;
  for (int64_t parameter :
       {int64_t(sort.getAxis()), int64_t(sort.getLargest()), int64_t(sort.getSorted())})
    frame.store(parameter, frame.at(parameters, 8 * place++));

  auto word = [&](int64_t value) {
    return LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(int32_t(value)));
  };
  int site = sites.add(nodeName(loc), sort->getName().stripDialect(), "failed", WEIR_INTERNAL);
  Value function = LLVM::AddressOfOp::create(b, loc, frame.pointer, callee);
  Value code = LLVM::CallOp::create(b, loc, TypeRange{b.getI32Type()},
                                    SymbolRefAttr::get(b.getContext(), "weir_rt_library"),
                                    ValueRange{r.context, function, word(site), operands, word(2),
                                               results, word(2), parameters})
                   .getResult();
  LLVM::StoreOp::create(b, loc, code, r.errorSlot);
}

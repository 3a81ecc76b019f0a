//===- KernelEmitter.cpp - a kernel's function -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel becomes two functions: `symbol.body`, whose operands are pointers
// that do not alias and sizes, and `symbol`, the weir_kernel_fn that unpacks the
// runtime's arrays and calls it. LLVM inlines the one into the other and keeps
// what it learned of aliasing.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

/// The parts of [0, range) that a kernel without its own tiling is called for.
void emitLoops(KernelReader &r, plan::KernelOp kernel, Value begin, Value end) {
  Block &body = kernel.getBody().front();
  auto results = body.getTerminator()->getOperands();
  const KernelReader::Buffer &first = r.bufferOf(results.front());
  int64_t rank = first.type.getRank();
  Value one = r.constant(1);

  // What follows a costly operation reads it at the result's own index.
  ElementalOpInterface hero;
  for (Operation &op : body.without_terminator())
    if (auto elemental = dyn_cast<ElementalOpInterface>(op))
      if (elemental.isElementExpensive() && elemental != results.front().getDefiningOp())
        hero = elemental;

  auto emitElement = [&](ValueRange indices) {
    if (hero) {
      r.setHero({}, {});
      r.loc = hero.getLoc();
      Value value = hero.emitElement(r, 0, indices);
      r.setHero(hero->getResult(0), value);
    }
    for (Value result : results) {
      auto opResult = cast<OpResult>(result);
      auto op = cast<ElementalOpInterface>(opResult.getOwner());
      r.loc = op.getLoc();
      Value value = op.emitElement(r, opResult.getResultNumber(), indices);
      r.store(value, r.bufferOf(result), indices);
    }
  };

  auto outer = scf::ForOp::create(r.b, r.loc, begin, end, one);
  r.b.setInsertionPointToStart(outer.getBody());
  Value iv = outer.getInductionVar();
  auto tiles = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles");
  if (!tiles) {
    r.setFlatIndex(iv);
    SmallVector<Value> indices(rank, r.constant(0));
    emitElement(indices);
    return;
  }
  // The range runs over the leading dimensions, row-major.
  int64_t parallel = tiles.size();
  SmallVector<Value> indices =
      r.blockIndices(iv, ArrayRef(first.dims).take_front(parallel));
  for (int64_t i = parallel; i < rank; ++i) {
    auto inner = scf::ForOp::create(r.b, r.loc, r.constant(0), first.dims[i], one);
    r.b.setInsertionPointToStart(inner.getBody());
    indices.push_back(inner.getInductionVar());
  }
  emitElement(indices);
}

} // namespace

LogicalResult weir::emitKernel(plan::KernelOp kernel, StringRef symbol,
                               SiteTable &sites) {
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  OpBuilder b(kernel);
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type i32 = b.getI32Type(), i64 = b.getI64Type(), index = b.getIndexType();
  Block &source = kernel.getBody().front();
  auto results = source.getTerminator()->getOperands();

  SmallVector<Value> tensors(source.getArguments().begin(),
                             source.getArguments().end());
  tensors.append(results.begin(), results.end());
  int64_t dynamicCount = 0;
  for (Value tensor : tensors)
    dynamicCount += cast<RankedTensorType>(tensor.getType()).getNumDynamicDims();

  // The body.
  SmallVector<Type> types{pointer};
  types.append(tensors.size(), pointer);
  types.append(dynamicCount + 2, index);
  std::string bodyName = symbol.str() + ".body";
  auto function = func::FuncOp::create(b, loc, bodyName,
                                       b.getFunctionType(types, {i32}));
  function.setPrivate();
  for (size_t i = 0; i < tensors.size(); ++i) {
    function.setArgAttr(i + 1, "llvm.noalias", b.getUnitAttr());
    if (i < source.getNumArguments())
      function.setArgAttr(i + 1, "llvm.readonly", b.getUnitAttr());
  }
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  KernelReader reader(b, loc, sites);
  reader.context = entry->getArgument(0);
  Value zero = arith::ConstantIntOp::create(b, loc, i32, 0);
  Value one64 = arith::ConstantIntOp::create(b, loc, i64, 1);
  reader.errorSlot = LLVM::AllocaOp::create(b, loc, pointer, i32, one64);
  LLVM::StoreOp::create(b, loc, zero, reader.errorSlot);
  unsigned next = 1 + tensors.size();
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    KernelReader::Buffer buffer;
    // What is read in place is read through the pointer that is written to: that
    // the others do not alias stays true.
    auto inPlace = kernel->getAttrOfType<IntegerAttr>("in_place");
    bool overwritten = inPlace && inPlace.getInt() == int64_t(i);
    buffer.pointer = entry->getArgument((overwritten ? source.getNumArguments() : i) + 1);
    buffer.type = cast<RankedTensorType>(tensor.getType());
    for (int64_t size : buffer.type.getShape())
      buffer.dims.push_back(ShapedType::isDynamic(size)
                                ? Value(entry->getArgument(next++))
                                : reader.constant(size));
    reader.bind(tensor, buffer);
  }
  Value begin = entry->getArgument(next), end = entry->getArgument(next + 1);
  if (failed(emitByStrategy(reader, kernel, begin, end)))
    return failure();
  b.setInsertionPointToEnd(entry);
  Value code = LLVM::LoadOp::create(b, loc, i32, reader.errorSlot);
  func::ReturnOp::create(b, loc, code);

  // The entry point that the runtime calls.
  b.setInsertionPoint(kernel);
  auto type = LLVM::LLVMFunctionType::get(
      i32, {pointer, pointer, pointer, i64, i64});
  auto wrapper = LLVM::LLVMFuncOp::create(b, loc, symbol, type,
                                          LLVM::Linkage::Internal);
  Block *block = wrapper.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> arguments{block->getArgument(0)};
  auto element = [&](Value array, Type elementType, int64_t i) -> Value {
    Value where = LLVM::GEPOp::create(b, loc, pointer, elementType, array,
                                      ArrayRef<LLVM::GEPArg>{(int32_t)i});
    return LLVM::LoadOp::create(b, loc, elementType, where);
  };
  for (size_t i = 0; i < tensors.size(); ++i)
    arguments.push_back(element(block->getArgument(1), pointer, i));
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, loc, index, value);
  };
  for (int64_t i = 0; i < dynamicCount; ++i)
    arguments.push_back(toIndex(element(block->getArgument(2), i64, i)));
  arguments.push_back(toIndex(block->getArgument(3)));
  arguments.push_back(toIndex(block->getArgument(4)));
  auto call = func::CallOp::create(b, loc, bodyName, TypeRange{i32}, arguments);
  LLVM::ReturnOp::create(b, loc, call.getResult(0));
  return success();
}

LogicalResult weir::emitByStrategy(KernelReader &reader, plan::KernelOp kernel,
                                   Value begin, Value end) {
  StringRef strategy = kernel.getStrategy();
  if (strategy == "scatter")
    return emitScatter(reader, kernel);
  if (strategy == "product")
    return emitProduct(reader, kernel, begin, end);
  if (strategy == "convolution")
    return emitConvolution(reader, kernel, begin, end);
  if (strategy == "matrix")
    return emitMatrix(reader, kernel, begin, end);
  if (strategy == "lanes")
    return emitLanes(reader, kernel, begin, end);
  emitLoops(reader, kernel, begin, end);
  return success();
}

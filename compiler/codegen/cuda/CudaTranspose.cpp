//===- CudaTranspose.cpp - transpositions in tiles -------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Threads next to each other read along the operand's last dimension and write
// along the result's. In between lie tiles of 32 x 32 in shared memory, whose
// lines are one element longer, so that columns fall into different banks.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaKernel.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

static constexpr int64_t tile = 32, lines = 8;

bool weir::emitTranspose(const CudaKernel &k) {
  CudaReader &r = k.reader;
  auto transpose = dyn_cast_or_null<TransposeOp>(k.results().front().getDefiningOp());
  if (!transpose || !isa<BlockArgument>(transpose.getOperand()) || k.results().size() != 1 ||
      k.kernel.getInPlaceAttr())
    return false;
  const KernelBuilder::Buffer target = k.first(), source = r.bufferOf(transpose.getOperand());
  int64_t rank = target.type.getRank();
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  Type element = target.type.getElementType();
  if (rank < 2 || permutation.back() == rank - 1 || isa<ComplexType>(element))
    return false;
  // Result dimension `across` is the operand's last one.
  int64_t across = llvm::find(permutation, rank - 1) - permutation.begin();
  auto isShort = [&](int64_t dim) {
    return !target.type.isDynamicDim(dim) && target.type.getDimSize(dim) < 8;
  };
  if (isShort(across) || isShort(rank - 1))
    return false; // mostly empty tiles

  k.shape.threads = tile * lines;
  LaunchShape::Axis batch;
  for (int64_t i = 0; i + 1 < rank; ++i)
    if (i != across)
      batch.dims.push_back(i);
  k.shape.axes = {batch, {{across}, tile}, {{rank - 1}, tile}};

  r.loc = transpose.getLoc();
  // As they lie in memory: values are only moved.
  Type storage = BufferAccess::storageType(element);
  if (isa<FloatType>(storage))
    storage = r.b.getIntegerType(storage.getIntOrFloatBitWidth());
  Value memory = r.shared(storage, {tile, tile + 1});
  Value thread = r.threadId();
  Value x = r.remainder(thread, r.constant(tile)), y = r.divide(thread, r.constant(tile));
  SmallVector<Value> counts = r.axisBlocks(k.shape, target.dims);
  SmallVector<Value> block = r.delinearize(r.blockId(), counts);
  SmallVector<Value> outer = r.delinearize(block[0], sizesAlong(target, batch.dims));
  Value acrossBase = r.mul(block[1], r.constant(tile)),
        lastBase = r.mul(block[2], r.constant(tile));
  auto indicesAt = [&](Value acrossIndex, Value lastIndex) {
    SmallVector<Value> indices(rank);
    setIndices(indices, batch.dims, outer);
    indices[across] = acrossIndex;
    indices[rank - 1] = lastIndex;
    return indices;
  };
  auto inside = [&](Value acrossIndex, Value lastIndex) {
    return r.logicalAnd(r.less(acrossIndex, target.dims[across]),
                        r.less(lastIndex, target.dims[rank - 1]));
  };
  auto addressOf = [&](const KernelBuilder::Buffer &buffer, ValueRange indices) {
    return BufferAccess::address(r, buffer.pointer, element, r.linearIndex(buffer, indices));
  };
  for (int64_t i = 0; i < tile; i += lines) {
    Value row = r.add(y, r.constant(i));
    Value a = r.add(acrossBase, x), l = r.add(lastBase, row);
    r.onlyIf(inside(a, l), [&] {
      SmallVector<Value> indices = indicesAt(a, l), from(rank);
      for (int64_t d = 0; d < rank; ++d)
        from[permutation[d]] = indices[d];
      Value value = LLVM::LoadOp::create(r.b, r.loc, storage, addressOf(source, from));
      memref::StoreOp::create(r.b, r.loc, value, memory, ValueRange{row, x});
    });
  }
  r.barrier();
  for (int64_t i = 0; i < tile; i += lines) {
    Value row = r.add(y, r.constant(i));
    Value a = r.add(acrossBase, row), l = r.add(lastBase, x);
    r.onlyIf(inside(a, l), [&] {
      Value value = memref::LoadOp::create(r.b, r.loc, memory, ValueRange{x, row});
      LLVM::StoreOp::create(r.b, r.loc, value, addressOf(target, indicesAt(a, l)));
    });
  }
  return true;
}

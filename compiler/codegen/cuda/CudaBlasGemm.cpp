//===- CudaBlasGemm.cpp - products that a library may compute ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaBlasGemm.h"
#include "compiler/codegen/cuda/CudaGemm.h"
#include "compiler/codegen/cuda/CudaLibrary.h"
#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include <cmath>

using namespace mlir;
using namespace weir;

namespace {

/// Dimensions of `type` that count, in the group's own order.
SmallVector<int64_t> withoutOnes(RankedTensorType type, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> result;
  for (int64_t dim : dims)
    if (type.isDynamicDim(dim) || type.getDimSize(dim) != 1)
      result.push_back(dim);
  return result;
}

/// Whether the dimensions of a group follow each other in memory as they do in
/// the result, so that they are like one.
bool isOneDimension(RankedTensorType type, ArrayRef<int64_t> group) {
  for (size_t i = 0; i + 1 < group.size(); ++i) {
    if (group[i] >= group[i + 1])
      return false;
    for (int64_t between = group[i] + 1; between < group[i + 1]; ++between)
      if (type.getDimSize(between) != 1)
        return false;
  }
  return true;
}

/// Whether neighbours of the group lie next to each other.
bool isInnermost(RankedTensorType type, ArrayRef<int64_t> group) {
  if (group.empty())
    return false;
  for (int64_t i = group.back() + 1; i < type.getRank(); ++i)
    if (type.getDimSize(i) != 1)
      return false;
  return true;
}

/// Describes an operand, `lines` by `across` for each of `batch`.
bool describe(const LaunchSizes &sizes, Value tensor, ArrayRef<int64_t> batchDims,
              ArrayRef<int64_t> lineDims, ArrayRef<int64_t> acrossDims, weir_cuda_matrix &out) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> batch = withoutOnes(type, batchDims), lines = withoutOnes(type, lineDims),
                       across = withoutOnes(type, acrossDims);
  if (!isOneDimension(type, batch) || !isOneDimension(type, lines) || !isOneDimension(type, across))
    return false;
  out.buffer = sizes.bufferOf(tensor);
  out.batch = fixedExtent(0);
  if (!batch.empty() && !sizes.stride(tensor, batch.back(), out.batch))
    return false;
  // A single line is dense whatever else the tensor has.
  if (isInnermost(type, across) || (across.empty() && !isInnermost(type, lines))) {
    out.transposed = 0;
    return lines.empty() ? sizes.extent(tensor, across, out.line)
                         : sizes.stride(tensor, lines.back(), out.line);
  }
  if (!lines.empty() && !isInnermost(type, lines))
    return false;
  out.transposed = 1;
  return across.empty() ? sizes.extent(tensor, lines, out.line)
                        : sizes.stride(tensor, across.back(), out.line);
}

/// What is multiplied: the dimensions of each group, by operand.
struct Contraction {
  Value lhs, rhs, result;
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract, rows, columns;
};

Contraction contractionOf(DotGeneralOp dot) {
  Contraction c = {dot.getLhs(),
                   dot.getRhs(),
                   dot.getResult(),
                   llvm::to_vector(dot.getLhsBatch()),
                   llvm::to_vector(dot.getRhsBatch()),
                   llvm::to_vector(dot.getLhsContract()),
                   llvm::to_vector(dot.getRhsContract()),
                   {},
                   {}};
  c.rows = freeDims(cast<RankedTensorType>(c.lhs.getType()).getRank(), c.lhsBatch, c.lhsContract);
  c.columns =
      freeDims(cast<RankedTensorType>(c.rhs.getType()).getRank(), c.rhsBatch, c.rhsContract);
  return c;
}

/// A convolution whose window is one position, channels last: images' positions are
/// rows, and the filter is the right operand.
std::optional<Contraction> contractionOf(ConvOp conv) {
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t rank = filter.getRank();
  auto isOne = [](int64_t number) { return number == 1; };
  if (!conv.getChannelsLast() || conv.getGroups() != 1 ||
      !llvm::all_of(filter.getShape().drop_back(2), isOne) ||
      !llvm::all_of(conv.getStrides(), isOne) ||
      !llvm::all_of(conv.getPads(), [](int64_t pad) { return pad == 0; }))
    return std::nullopt;
  return Contraction{conv.getInput(),
                     conv.getFilter(),
                     conv.getResult(),
                     {},
                     {},
                     {rank - 1},
                     {rank - 2},
                     llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)),
                     {rank - 1}};
}

/// That of the kernel's one product; nothing: it has none, or several.
std::optional<Contraction> onlyContraction(plan::KernelOp kernel) {
  Operation *anchor = onlyProduct(kernel);
  if (!anchor)
    return std::nullopt;
  auto dot = dyn_cast<DotGeneralOp>(anchor);
  return dot ? contractionOf(dot) : contractionOf(cast<ConvOp>(anchor));
}

/// Sizes that are open on one side alone were not compared by anyone.
bool sameOrder(const Contraction &c) {
  auto left = cast<RankedTensorType>(c.lhs.getType()),
       right = cast<RankedTensorType>(c.rhs.getType());
  auto agree = [&](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    for (auto [i, j] : llvm::zip(a, b))
      if (left.isDynamicDim(i) != right.isDynamicDim(j))
        return false;
    return true;
  };
  return agree(c.lhsContract, c.rhsContract) && agree(c.lhsBatch, c.rhsBatch);
}

/// Fills in sizes and operands. False: they do not lie as matrices do.
bool describeMatrices(const LaunchSizes &sizes, const Contraction &c, weir_cuda_product &desc) {
  return sizes.extent(c.lhs, c.rows, desc.rows) && sizes.extent(c.rhs, c.columns, desc.columns) &&
         sizes.extent(c.lhs, c.lhsContract, desc.depth) &&
         sizes.extent(c.lhs, c.lhsBatch, desc.batches) && sameOrder(c) &&
         describe(sizes, c.lhs, c.lhsBatch, c.rows, c.lhsContract, desc.left) &&
         describe(sizes, c.rhs, c.rhsBatch, c.rhsContract, c.columns, desc.right);
}

class Matcher {
public:
  Matcher(plan::KernelOp kernel, bool tf32) : kernel(kernel), tf32(tf32), sizes(kernel) {}

  std::optional<LibraryProduct> match() {
    std::optional<Contraction> contraction = onlyContraction(kernel);
    if (!contraction || !describeProduct(*contraction))
      return std::nullopt;
    auto isBias = [&](RankedTensorType type) {
      return isBiasOf(type, cast<RankedTensorType>(contraction->result.getType()));
    };
    Epilogue epilogue(kernel, sizes, contraction->result, product.desc.dtype, isBias);
    while (absorb(epilogue))
      ;
    weir_cuda_product &desc = product.desc;
    if (!epilogue.place(product.hasRest, desc.result, desc.rest_count))
      return std::nullopt;
    desc.bias = epilogue.bias;
    desc.addend.buffer = epilogue.addend;
    desc.activation = epilogue.activation;
    product.end = epilogue.end;
    // Columns that one row writes are read by all.
    std::optional<unsigned> inPlace = kernel.overwritten();
    if (inPlace && int32_t(*inPlace) == desc.bias)
      return std::nullopt;
    return product;
  }

private:
  bool describeProduct(const Contraction &c) {
    weir_cuda_product &desc = product.desc;
    Value lhs = c.lhs, rhs = c.rhs;
    auto left = cast<RankedTensorType>(lhs.getType()),
         right = cast<RankedTensorType>(rhs.getType());
    Type element = left.getElementType();
    if (!isa<BlockArgument>(lhs) || !isa<BlockArgument>(rhs) || element != right.getElementType() ||
        !isa<Float32Type, Float64Type, Float16Type, BFloat16Type>(element) || c.lhsContract.empty())
      return false;
    Type result = getElementTypeOrSelf(c.result.getType());
    // Narrow operands may have a wide result.
    if (result != element && !(result.isF32() && element.getIntOrFloatBitWidth() == 16))
      return false;
    desc.size = sizeof(weir_cuda_product);
    desc.dtype = dtypeOf(element);
    desc.result_dtype = dtypeOf(result);
    desc.flags = tf32 && element.isF32() ? WEIR_CUDA_TF32 : 0;
    desc.bias = desc.addend.buffer = -1;
    desc.addend.line = desc.addend.batch = fixedExtent(0);
    desc.scale = 1;
    desc.rest_count = fixedExtent(0);
    columnCount = 1;
    columnRank = int64_t(c.columns.size());
    for (int64_t dim : c.columns)
      columnCount =
          columnCount < 0 || right.isDynamicDim(dim) ? -1 : columnCount * right.getDimSize(dim);
    return describeMatrices(sizes, c, desc);
  }

  /// Takes what reads the library's result along, if the library knows it.
  bool absorb(Epilogue &epilogue) {
    // Epilogues are those of f32 and narrower.
    if (getElementTypeOrSelf(epilogue.end.getType()).isF64())
      return false;
    Operation *user = epilogue.next();
    if (!user)
      return false;
    if (epilogue.takeCast(user)) {
      product.desc.result_dtype = product.desc.dtype;
      return true;
    }
    if (isa<MulOp, DivOp>(user))
      return absorbScale(epilogue, user);
    if (isa<ReluOp>(user))
      return epilogue.takeActivation(user, WEIR_CUDA_RELU);
    if (auto gelu = dyn_cast<GeluOp>(user))
      return gelu.getApproximate() && epilogue.takeActivation(user, WEIR_CUDA_GELU);
    return epilogue.takeAdd(user);
  }

  bool absorbScale(Epilogue &epilogue, Operation *user) {
    bool isDiv = isa<DivOp>(user);
    if (!epilogue.isPlain())
      return false;
    Value other = user->getOperand(user->getOperand(0) == epilogue.end ? 1 : 0);
    auto factor = splatOf(other);
    if (!factor || (isDiv && user->getOperand(0) != epilogue.end))
      return false;
    // A quotient is a product only where the inverse is exact.
    int exponent;
    if (isDiv && (*factor == 0 || std::abs(std::frexp(*factor, &exponent)) != 0.5))
      return false;
    product.desc.scale *= isDiv ? 1 / *factor : *factor;
    epilogue.moveTo(user);
    return true;
  }

  bool isBiasOf(RankedTensorType type, RankedTensorType result) const {
    if (columnCount < 0 || columnRank == 0 || type.getNumElements() != columnCount ||
        type.getRank() < columnRank)
      return false;
    return type.getShape().take_back(columnRank) == result.getShape().take_back(columnRank);
  }

  plan::KernelOp kernel;
  bool tf32;
  LaunchSizes sizes;
  LibraryProduct product;
  int64_t columnCount = 1, columnRank = 0;
};

} // namespace

std::optional<MatrixProduct> weir::matrixProductOf(plan::KernelOp kernel) {
  std::optional<Contraction> c = onlyContraction(kernel);
  MatrixProduct product;
  if (!c || !isa<BlockArgument>(c->lhs) || !isa<BlockArgument>(c->rhs) || c->lhsContract.empty() ||
      !describeMatrices(LaunchSizes(kernel), *c, product.desc))
    return std::nullopt;
  product.op = c->result.getDefiningOp();
  product.left = getElementTypeOrSelf(c->lhs.getType());
  product.right = getElementTypeOrSelf(c->rhs.getType());
  int64_t next = 0;
  for (auto [dims, count] : {std::pair(&product.batchDims, c->lhsBatch.size()),
                             std::pair(&product.rowDims, c->rows.size()),
                             std::pair(&product.columnDims, c->columns.size())})
    for (size_t i = 0; i < count; ++i)
      dims->push_back(next++);
  return product;
}

std::optional<LibraryProduct> weir::matchGemm(plan::KernelOp kernel, bool tf32) {
  return Matcher(kernel, tf32).match();
}

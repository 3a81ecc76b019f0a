//===- CudaProduct.cpp - products that a library may compute ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaProduct.h"
#include "dialects/weir/Pch.h"
#include <cmath>

using namespace mlir;
using namespace weir;

namespace {

/// Sizes of a kernel's tensors, as a launch has them: open ones are numbered in
/// the order of operands, results and dimensions.
class Sizes {
public:
  explicit Sizes(plan::KernelOp kernel) {
    Block &body = kernel.getBody().front();
    int32_t next = 0;
    auto add = [&](Value tensor, unsigned number) {
      auto type = cast<RankedTensorType>(tensor.getType());
      buffers.try_emplace(tensor, number);
      first.try_emplace(tensor, next);
      next += int32_t(type.getNumDynamicDims());
    };
    for (BlockArgument argument : body.getArguments())
      add(argument, argument.getArgNumber());
    unsigned number = body.getNumArguments();
    for (Value result : body.getTerminator()->getOperands())
      add(result, number++);
  }

  int32_t bufferOf(Value tensor) const { return int32_t(buffers.lookup(tensor)); }

  /// The product of the sizes of `dims`. False: too many are open.
  bool extent(Value tensor, ArrayRef<int64_t> dims, weir_extent &out) const {
    auto type = cast<RankedTensorType>(tensor.getType());
    out.factor = 1;
    size_t count = 0;
    std::fill(std::begin(out.open), std::end(out.open), -1);
    for (int64_t dim : dims) {
      if (!type.isDynamicDim(dim)) {
        out.factor *= type.getDimSize(dim);
        continue;
      }
      if (count == std::size(out.open))
        return false;
      int32_t number = first.lookup(tensor);
      for (int64_t i = 0; i < dim; ++i)
        number += type.isDynamicDim(i);
      out.open[count++] = number;
    }
    return true;
  }

  /// Elements from one index of `dim` to the next.
  bool stride(Value tensor, int64_t dim, weir_extent &out) const {
    SmallVector<int64_t> inner;
    for (int64_t i = dim + 1; i < cast<RankedTensorType>(tensor.getType()).getRank(); ++i)
      inner.push_back(i);
    return extent(tensor, inner, out);
  }

private:
  DenseMap<Value, unsigned> buffers;
  DenseMap<Value, int32_t> first;
};

weir_extent number(int64_t value) { return {value, {-1, -1, -1, -1}}; }

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
bool describe(const Sizes &sizes, Value tensor, ArrayRef<int64_t> batchDims,
              ArrayRef<int64_t> lineDims, ArrayRef<int64_t> acrossDims,
              weir_cuda_matrix &out) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> batch = withoutOnes(type, batchDims),
                       lines = withoutOnes(type, lineDims),
                       across = withoutOnes(type, acrossDims);
  if (!isOneDimension(type, batch) || !isOneDimension(type, lines) ||
      !isOneDimension(type, across))
    return false;
  out.buffer = sizes.bufferOf(tensor);
  out.batch = number(0);
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

SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(a, i) && !llvm::is_contained(b, i))
      dims.push_back(i);
  return dims;
}

/// A float that all elements are.
std::optional<double> splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

class Matcher {
public:
  Matcher(plan::KernelOp kernel, bool tf32)
      : kernel(kernel), tf32(tf32), sizes(kernel) {}

  std::optional<LibraryProduct> match() {
    DotGeneralOp dot;
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (auto each = dyn_cast<DotGeneralOp>(op)) {
        if (dot)
          return std::nullopt;
        dot = each;
      }
    if (!dot || !describeProduct(dot))
      return std::nullopt;
    end = dot.getResult();
    while (absorb())
      ;
    if (!place())
      return std::nullopt;
    product.end = end;
    // Columns that one row writes are read by all.
    auto inPlace = kernel->getAttrOfType<IntegerAttr>("in_place");
    if (inPlace && inPlace.getInt() == product.desc.bias)
      return std::nullopt;
    return product;
  }

private:
  bool describeProduct(DotGeneralOp dot) {
    weir_cuda_product &desc = product.desc;
    Value lhs = dot.getLhs(), rhs = dot.getRhs();
    auto left = cast<RankedTensorType>(lhs.getType()),
         right = cast<RankedTensorType>(rhs.getType());
    Type element = left.getElementType();
    if (!isa<BlockArgument>(lhs) || !isa<BlockArgument>(rhs) ||
        element != right.getElementType() ||
        !isa<Float32Type, Float64Type, Float16Type, BFloat16Type>(element) ||
        dot.getLhsContract().empty())
      return false;
    Type result = getElementTypeOrSelf(dot.getType());
    // Narrow operands may have a wide result.
    if (result != element && !(result.isF32() && element.getIntOrFloatBitWidth() == 16))
      return false;
    desc.size = sizeof(weir_cuda_product);
    desc.dtype = dtypeOf(element);
    desc.result_dtype = dtypeOf(result);
    desc.flags = tf32 && element.isF32() ? WEIR_CUDA_TF32 : 0;
    desc.bias = desc.addend.buffer = -1;
    desc.addend.line = desc.addend.batch = number(0);
    desc.scale = 1;
    desc.rest_count = number(0);
    SmallVector<int64_t> rows = freeDims(left.getRank(), dot.getLhsBatch(), dot.getLhsContract()),
                         columns = freeDims(right.getRank(), dot.getRhsBatch(), dot.getRhsContract());
    columnCount = 1;
    columnRank = int64_t(columns.size());
    for (int64_t dim : columns)
      columnCount = columnCount < 0 || right.isDynamicDim(dim)
                        ? -1 : columnCount * right.getDimSize(dim);
    return sizes.extent(lhs, rows, desc.rows) &&
           sizes.extent(rhs, columns, desc.columns) &&
           sizes.extent(lhs, dot.getLhsContract(), desc.depth) &&
           sizes.extent(lhs, dot.getLhsBatch(), desc.batches) &&
           sameOrder(dot) &&
           describe(sizes, lhs, dot.getLhsBatch(), rows, dot.getLhsContract(), desc.left) &&
           describe(sizes, rhs, dot.getRhsBatch(), dot.getRhsContract(), columns, desc.right);
  }

  /// Sizes that are open on one side alone were not compared by anyone.
  static bool sameOrder(DotGeneralOp dot) {
    auto left = cast<RankedTensorType>(dot.getLhs().getType()),
         right = cast<RankedTensorType>(dot.getRhs().getType());
    auto agree = [&](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
      for (auto [i, j] : llvm::zip(a, b))
        if (left.isDynamicDim(i) != right.isDynamicDim(j))
          return false;
      return true;
    };
    return agree(dot.getLhsContract(), dot.getRhsContract()) &&
           agree(dot.getLhsBatch(), dot.getRhsBatch());
  }

  /// Takes what reads the library's result along, if the library knows it.
  bool absorb() {
    weir_cuda_product &desc = product.desc;
    if (!end.hasOneUse())
      return false;
    Operation *user = *end.user_begin();
    auto type = cast<RankedTensorType>(end.getType());
    if (user->getNumResults() != 1 ||
        cast<RankedTensorType>(user->getResult(0).getType()).getShape() != type.getShape())
      return false;
    Type element = type.getElementType();
    bool isPlain = desc.bias < 0 && desc.addend.buffer < 0 && desc.activation == 0;
    // Epilogues are those of f32 and narrower.
    if (element.isF64())
      return false;
    if (auto cast = dyn_cast<CastOp>(user)) {
      // Bias and addend are of the result's type.
      Type narrow = getElementTypeOrSelf(cast.getType());
      if (desc.bias >= 0 || desc.addend.buffer >= 0 || !element.isF32() ||
          dtypeOf(narrow) != desc.dtype || desc.dtype == WEIR_F32)
        return false;
      desc.result_dtype = desc.dtype;
    } else if (isa<MulOp, DivOp>(user)) {
      bool isDiv = isa<DivOp>(user);
      if (!isPlain)
        return false;
      Value other = user->getOperand(user->getOperand(0) == end ? 1 : 0);
      auto factor = splatOf(other);
      if (!factor || (isDiv && user->getOperand(0) != end))
        return false;
      // A quotient is a product only where the inverse is exact.
      int exponent;
      if (isDiv && (*factor == 0 || std::abs(std::frexp(*factor, &exponent)) != 0.5))
        return false;
      desc.scale *= isDiv ? 1 / *factor : *factor;
    } else if (isa<AddOp>(user)) {
      Value other = user->getOperand(user->getOperand(0) == end ? 1 : 0);
      if (desc.activation != 0 || !isa<BlockArgument>(other) || !add(other, type))
        return false;
    } else if (isa<ReluOp>(user)) {
      if (desc.activation != 0)
        return false;
      desc.activation = WEIR_CUDA_RELU;
    } else if (auto gelu = dyn_cast<GeluOp>(user)) {
      if (desc.activation != 0 || !gelu.getApproximate())
        return false;
      desc.activation = WEIR_CUDA_GELU;
    } else {
      return false;
    }
    end = user->getResult(0);
    return true;
  }

  bool add(Value other, RankedTensorType type) {
    weir_cuda_product &desc = product.desc;
    auto otherType = cast<RankedTensorType>(other.getType());
    if (otherType.getElementType() != type.getElementType())
      return false;
    // An open size may turn out to be one, and stretch.
    if (otherType == type && type.hasStaticShape() && desc.addend.buffer < 0) {
      desc.addend.buffer = sizes.bufferOf(other);
      return true;
    }
    if (desc.bias >= 0 || columnCount < 0 || columnRank == 0 || !otherType.hasStaticShape() ||
        otherType.getNumElements() != columnCount || otherType.getRank() < columnRank)
      return false;
    if (otherType.getShape().take_back(columnRank) != type.getShape().take_back(columnRank))
      return false;
    desc.bias = sizes.bufferOf(other);
    return true;
  }

  /// Where the library's result goes. False: the rest cannot be launched.
  bool place() {
    weir_cuda_product &desc = product.desc;
    Block &body = kernel.getBody().front();
    auto results = body.getTerminator()->getOperands();
    product.hasRest = results.size() != 1 || results.front() != end;
    desc.result = int32_t(body.getNumArguments());
    if (!product.hasRest)
      return true;
    // In the result's own place, unless that is still read, or of other size.
    auto inPlace = kernel->getAttrOfType<IntegerAttr>("in_place");
    bool fits = results.front().getType() == end.getType() && !inPlace;
    for (Operation &op : body.without_terminator())
      fits = fits && isa<ElementwiseOpInterface, ConstantOp, DotGeneralOp>(op);
    if (!fits)
      desc.result = -1;
    auto all = llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(results.front().getType()).getRank()));
    return sizes.extent(results.front(), all, desc.rest_count);
  }

  plan::KernelOp kernel;
  bool tf32;
  Sizes sizes;
  LibraryProduct product;
  Value end;
  int64_t columnCount = 1, columnRank = 0;
};

} // namespace

std::optional<LibraryProduct> weir::matchProduct(plan::KernelOp kernel, bool tf32) {
  return Matcher(kernel, tf32).match();
}

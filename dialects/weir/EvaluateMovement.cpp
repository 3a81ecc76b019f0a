//===- EvaluateMovement.cpp - rearrangement at compile time ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Evaluate.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/SliceBounds.h"
#include "dialects/weir/Weir.h"
#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::evaluate;

int64_t evaluate::linear(Index shape, Index index) {
  int64_t place = 0;
  for (auto [size, i] : llvm::zip_equal(shape, index))
    place = place * size + i;
  return place;
}

bool evaluate::forEachIndex(Index shape, function_ref<bool(Index)> visit) {
  if (llvm::is_contained(shape, 0))
    return true;
  SmallVector<int64_t> index(shape.size());
  while (true) {
    if (!visit(index))
      return false;
    int64_t i = shape.size() - 1;
    while (i >= 0 && ++index[i] == shape[i])
      index[i--] = 0;
    if (i < 0)
      return true;
  }
}

namespace {
using Result = std::optional<HostTensor>;

/// A tensor of `type` whose element at an index is the one of `source` at the
/// index that `map` makes of it; nothing when `map` fails.
Result remap(const HostTensor &source, RankedTensorType type,
             function_ref<bool(SmallVectorImpl<int64_t> &)> map) {
  HostTensor result(type);
  auto next = result.elements.begin();
  bool done = forEachIndex(type.getShape(), [&](Index index) {
    SmallVector<int64_t> own(index);
    if (!map(own))
      return false;
    if (own.size() != source.shape().size())
      return false;
    for (auto [i, size] : llvm::zip(own, source.shape()))
      if (i < 0 || i >= size)
        return false;
    *next++ = source.elements[linear(source.shape(), own)];
    return true;
  });
  return done ? Result(std::move(result)) : std::nullopt;
}

Result slice(SliceOp op, Operands operands, RankedTensorType type) {
  const HostTensor &source = *operands[0];
  if (!operands[1] || !operands[2] || !operands[3])
    return std::nullopt;
  SmallVector<int64_t> starts(source.shape().size(), 0), steps(source.shape().size(), 1);
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    int64_t step = operands[3]->elements[i].integer, size = source.shape()[axis];
    int64_t start = operands[1]->elements[i].integer, end = operands[2]->elements[i].integer;
    if (step == 0 || (op.getStrict() && (start < 0 || start > size || end < 0 || end > size)))
      return std::nullopt;
    starts[axis] = clampSlice(start, end, step, size).start;
    steps[axis] = step;
  }
  return remap(source, type, [&](SmallVectorImpl<int64_t> &index) {
    for (auto [i, start, step] : llvm::zip(index, starts, steps))
      i = start + i * step;
    return true;
  });
}

Result pad(PadOp op, Operands operands, RankedTensorType type) {
  const HostTensor &source = *operands[0];
  if (!operands[1] || !operands[2] || op.getMode() != PadMode::Constant ||
      operands[2]->elements.empty())
    return std::nullopt;
  HostTensor result(type);
  auto next = result.elements.begin();
  forEachIndex(type.getShape(), [&](Index index) {
    SmallVector<int64_t> own(index);
    bool inside = true;
    for (auto [i, size] : llvm::enumerate(source.shape())) {
      own[i] -= operands[1]->elements[i].integer;
      inside &= own[i] >= 0 && own[i] < size;
    }
    *next++ = inside ? source.elements[linear(source.shape(), own)] : operands[2]->elements[0];
    return true;
  });
  return result;
}

Result concat(ConcatOp op, Operands operands, RankedTensorType type) {
  int64_t axis = op.getAxis();
  HostTensor result(type);
  auto next = result.elements.begin();
  bool done = forEachIndex(type.getShape(), [&](Index index) {
    SmallVector<int64_t> own(index);
    for (const std::optional<HostTensor> &operand : operands) {
      if (!operand)
        return false;
      int64_t size = operand->shape()[axis];
      if (own[axis] < size) {
        *next++ = operand->elements[linear(operand->shape(), own)];
        return true;
      }
      own[axis] -= size;
    }
    return false;
  });
  return done ? Result(std::move(result)) : std::nullopt;
}

int64_t wrapped(int64_t index, int64_t size, bool wrapNegative) {
  return index < 0 && wrapNegative ? index + size : index;
}

Result gather(GatherOp op, Operands operands, RankedTensorType type) {
  const HostTensor &source = *operands[0];
  if (!operands[1])
    return std::nullopt;
  const HostTensor &picks = *operands[1];
  int64_t axis = op.getAxis(), batch = op.getBatchDims(), count = picks.shape().size() - batch;
  return remap(source, type, [&](SmallVectorImpl<int64_t> &index) {
    SmallVector<int64_t> place(index.begin(), index.begin() + batch);
    place.append(index.begin() + axis, index.begin() + axis + count);
    int64_t i = picks.elements[linear(picks.shape(), place)].integer;
    index.erase(index.begin() + axis, index.begin() + axis + count);
    index.insert(index.begin() + axis, wrapped(i, source.shape()[axis], op.getWrapNegative()));
    return true;
  });
}

Result gatherElements(GatherElementsOp op, Operands operands, RankedTensorType type) {
  const HostTensor &source = *operands[0];
  if (!operands[1])
    return std::nullopt;
  int64_t axis = op.getAxis();
  return remap(source, type, [&](SmallVectorImpl<int64_t> &index) {
    int64_t i = operands[1]->elements[linear(operands[1]->shape(), index)].integer;
    index[axis] = wrapped(i, source.shape()[axis], op.getWrapNegative());
    return true;
  });
}

Result gatherNd(GatherNdOp op, Operands operands, RankedTensorType type) {
  const HostTensor &source = *operands[0];
  if (!operands[1])
    return std::nullopt;
  const HostTensor &picks = *operands[1];
  int64_t outer = picks.shape().size() - 1, depth = picks.shape().back(), batch = op.getBatchDims();
  return remap(source, type, [&](SmallVectorImpl<int64_t> &index) {
    SmallVector<int64_t> own(index.begin(), index.begin() + batch);
    SmallVector<int64_t> place(index.begin(), index.begin() + outer);
    place.push_back(0);
    for (int64_t k = 0; k < depth; ++k) {
      place.back() = k;
      int64_t i = picks.elements[linear(picks.shape(), place)].integer;
      own.push_back(wrapped(i, source.shape()[batch + k], op.getWrapNegative()));
    }
    own.append(index.begin() + outer, index.end());
    index = own;
    return true;
  });
}

Result scatterNd(ScatterNdOp op, Operands operands, RankedTensorType type) {
  if (!operands[1] || !operands[2] || op.getReduction() != "none")
    return std::nullopt;
  HostTensor result = *operands[0];
  const HostTensor &places = *operands[1], &updates = *operands[2];
  int64_t outer = places.shape().size() - 1, depth = places.shape().back();
  auto next = updates.elements.begin();
  bool done = forEachIndex(updates.shape(), [&](Index index) {
    SmallVector<int64_t> own;
    SmallVector<int64_t> place(index.begin(), index.begin() + outer);
    place.push_back(0);
    bool inside = true;
    for (int64_t k = 0; k < depth; ++k) {
      place.back() = k;
      int64_t size = result.shape()[k];
      int64_t i = wrapped(places.elements[linear(places.shape(), place)].integer, size,
                          op.getWrapNegative());
      inside &= i >= 0 && i < size;
      own.push_back(i);
    }
    own.append(index.begin() + outer, index.end());
    if (inside)
      result.elements[linear(result.shape(), own)] = *next;
    ++next;
    return inside || op.getDropOutOfBounds();
  });
  return done ? Result(std::move(result)) : std::nullopt;
}

Result range(Operands operands, RankedTensorType type) {
  for (const std::optional<HostTensor> &operand : operands)
    if (!operand || operand->elements.size() != 1)
      return std::nullopt;
  if (type.getElementTypeBitWidth() < 32 && isa<FloatType>(type.getElementType()))
    return std::nullopt;
  HostTensor result(type);
  for (auto [i, element] : llvm::enumerate(result.elements)) {
    Number index = inType({(int64_t)i, (double)i}, type.getElementType());
    auto step = binary("mul", index, operands[2]->elements[0], type.getElementType());
    element = *binary("add", operands[0]->elements[0], *step, type.getElementType());
  }
  return result;
}
} // namespace

std::optional<HostTensor> evaluate::movement(Operation *op, Operands operands,
                                             RankedTensorType type) {
  if (auto shapeOf = dyn_cast<ShapeOfOp>(op)) {
    auto operand = dyn_cast<RankedTensorType>(shapeOf.getOperand().getType());
    if (!operand || !operand.hasStaticShape())
      return std::nullopt;
    HostTensor result(type);
    for (auto [element, size] : llvm::zip(result.elements, operand.getShape()))
      element = inType({size, 0}, type.getElementType());
    return result;
  }
  if (auto iota = dyn_cast<IotaOp>(op)) {
    HostTensor result(type);
    auto next = result.elements.begin();
    forEachIndex(type.getShape(), [&](Index index) {
      int64_t i = index[iota.getAxis()];
      *next++ = inType({i, (double)i}, type.getElementType());
      return true;
    });
    return result;
  }
  if (auto concatOp = dyn_cast<ConcatOp>(op))
    return concat(concatOp, operands, type);
  if (isa<RangeOp>(op))
    return range(operands, type);
  if (operands.empty() || !operands[0])
    return std::nullopt;
  const HostTensor &source = *operands[0];
  if (isa<ReshapeOp, GateOp>(op)) {
    if (source.elements.size() != (size_t)type.getNumElements())
      return std::nullopt;
    HostTensor result = source;
    result.type = type;
    return result;
  }
  if (isa<BroadcastToOp>(op))
    return remap(source, type, [&](SmallVectorImpl<int64_t> &index) {
      index.erase(index.begin(), index.end() - source.shape().size());
      for (auto [i, size] : llvm::zip(index, source.shape()))
        i = size == 1 ? 0 : i;
      return true;
    });
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return remap(source, type, [&](SmallVectorImpl<int64_t> &index) {
      SmallVector<int64_t> own(index.size());
      for (auto [i, from] : llvm::enumerate(transpose.getPermutation()))
        own[from] = index[i];
      index = own;
      return true;
    });
  if (isa<TileOp>(op))
    return remap(source, type, [&](SmallVectorImpl<int64_t> &index) {
      for (auto [i, size] : llvm::zip(index, source.shape()))
        i %= std::max<int64_t>(size, 1);
      return true;
    });
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return remap(source, type, [&](SmallVectorImpl<int64_t> &index) {
      index[repeat.getAxis()] /= int64_t(repeat.getTimes());
      return true;
    });
  if (auto reverse = dyn_cast<ReverseOp>(op))
    return remap(source, type, [&](SmallVectorImpl<int64_t> &index) {
      for (int64_t axis : reverse.getAxes())
        index[axis] = source.shape()[axis] - 1 - index[axis];
      return true;
    });
  if (auto sliceOp = dyn_cast<SliceOp>(op))
    return slice(sliceOp, operands, type);
  if (auto padOp = dyn_cast<PadOp>(op))
    return pad(padOp, operands, type);
  if (auto gatherOp = dyn_cast<GatherOp>(op))
    return gather(gatherOp, operands, type);
  if (auto gatherOp = dyn_cast<GatherElementsOp>(op))
    return gatherElements(gatherOp, operands, type);
  if (auto gatherOp = dyn_cast<GatherNdOp>(op))
    return gatherNd(gatherOp, operands, type);
  if (auto scatter = dyn_cast<ScatterNdOp>(op))
    return scatterNd(scatter, operands, type);
  return std::nullopt;
}

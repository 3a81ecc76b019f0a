//===- edit_distance.cpp - how far sequences are from each other -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"

using namespace weir::rt;

namespace {

/// A sparse tensor of sequences: their places are all coordinates but the last.
struct Sequences {
  const weir_tensor &indices, &values, &shape;
  int64_t next = 0;

  int32_t rank() const { return int32_t(elementCountOf(shape)); }
  int64_t size(int32_t d) const { return integerAt(shape, d); }
  int64_t entries() const { return indices.dims[0]; }
  int64_t coordinate(int64_t entry, int32_t d) const {
    return static_cast<const int64_t *>(indices.data)[entry * rank() + d];
  }
  /// Row-major number of an entry's place in `dims`; -1: outside.
  int64_t place(int64_t entry, const int64_t *dims) const {
    int64_t linear = 0;
    for (int32_t d = 0; d + 1 < rank(); ++d) {
      int64_t at = coordinate(entry, d);
      if (at < 0 || at >= dims[d])
        return -1;
      linear = linear * dims[d] + at;
    }
    return linear;
  }
  bool areSame(int64_t i, const Sequences &other, int64_t j) const {
    int64_t size = weir_dtype_size(values.dtype);
    if (values.dtype == WEIR_STRING)
      return equalStrings(stringsOf(values)[i], stringsOf(other.values)[j]);
    return memcmp(static_cast<const uint8_t *>(values.data) + i * size,
                  static_cast<const uint8_t *>(other.values.data) + j * size, size_t(size)) == 0;
  }
};

/// Levenshtein's distance, a row of the table at a time; -1: no memory.
int64_t distance(weir_context *ctx, const Sequences &a, int64_t beginA, int64_t endA,
                 const Sequences &b, int64_t beginB, int64_t endB) {
  int64_t width = endB - beginB;
  Scratch<int64_t> row(ctx, width + 1);
  if (!row.data)
    return -1;
  for (int64_t j = 0; j <= width; ++j)
    row[j] = j;
  for (int64_t i = beginA; i < endA; ++i) {
    int64_t diagonal = row[0];
    row[0] = i - beginA + 1;
    for (int64_t j = 1; j <= width; ++j) {
      int64_t best = diagonal + !a.areSame(i, b, beginB + j - 1);
      best = row[j] + 1 < best ? row[j] + 1 : best;
      best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[width];
}

} // namespace

int32_t weir_kernel_edit_distance(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  if (operand_count != 6 || result_count != 1 || results[0].dtype != WEIR_F32 ||
      operands[0].dtype != WEIR_I64 || operands[3].dtype != WEIR_I64 ||
      operands[1].dtype != operands[4].dtype)
    return failDtype(ctx, "a sequence", operands[1].dtype);
  Sequences hypothesis{operands[0], operands[1], operands[2]},
      truth{operands[3], operands[4], operands[5]};
  int32_t rank = hypothesis.rank();
  const Sequences *sides[] = {&hypothesis, &truth};
  for (const Sequences *side : sides)
    if (side->indices.rank != 2 || side->indices.dims[1] != side->rank() ||
        elementCountOf(side->values) != side->entries() || side->rank() != rank || rank < 2 ||
        rank > WEIR_MAX_RANK)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "indices, values and shapes of the two sparse tensors "
                         "do not fit each other, or have less than 2 dimensions");
  int64_t dims[WEIR_MAX_RANK], count = 1;
  for (int32_t d = 0; d + 1 < rank; ++d) {
    int64_t a = hypothesis.size(d), b = truth.size(d);
    dims[d] = a > b ? a : b;
    if (a < 0 || b < 0 || __builtin_mul_overflow(count, dims[d], &count))
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a size is negative, or the result too large");
  }
  for (const Sequences *side : sides) {
    int64_t elements = 1;
    for (int32_t d = 0; d < rank; ++d)
      if (side->size(d) < 0 || __builtin_mul_overflow(elements, side->size(d), &elements))
        return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a size is negative, or a shape too large");
  }
  if (!shapeResult(ctx, results[0], rank - 1, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *out = static_cast<float *>(results[0].data);
  memset(out, 0, size_t(count) * sizeof(float));
  // The entries of one place follow each other; places ascend.
  int64_t before[2] = {-1, -1};
  auto next = [&](Sequences &side, int64_t *begin) {
    *begin = side.next;
    int64_t at = side.next < side.entries() ? side.place(side.next, dims) : INT64_MAX;
    while (side.next < side.entries() && side.place(side.next, dims) == at)
      ++side.next;
    return at;
  };
  int64_t beginA = 0, beginB = 0;
  int64_t placeA = next(hypothesis, &beginA), placeB = next(truth, &beginB);
  while (placeA != INT64_MAX || placeB != INT64_MAX) {
    if (placeA <= before[0] || placeB <= before[1])
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "an index is outside of the shape, or the indices "
                         "are not in order");
    int64_t at = placeA < placeB ? placeA : placeB;
    int64_t sizeA = placeA == at ? hypothesis.next - beginA : 0;
    int64_t sizeB = placeB == at ? truth.next - beginB : 0;
    int64_t edits =
        distance(ctx, hypothesis, beginA, beginA + sizeA, truth, beginB, beginB + sizeB);
    if (edits < 0)
      return WEIR_RESOURCE_EXHAUSTED;
    out[at] = float(edits);
    if (attributes[0])
      out[at] = sizeB ? out[at] / float(sizeB) : __builtin_inff();
    if (placeA == at) {
      before[0] = at;
      placeA = next(hypothesis, &beginA);
    }
    if (placeB == at) {
      before[1] = at;
      placeB = next(truth, &beginB);
    }
  }
  return WEIR_OK;
}

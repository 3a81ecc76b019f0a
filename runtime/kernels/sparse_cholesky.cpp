//===- sparse_cholesky.cpp - factors of sparse Hermitian matrices ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row by row: the places of a row are what the elimination tree reaches from the
// matrix's own (Liu, "The role of elimination trees in sparse factorization", 1990), its
// numbers a triangular solve with the rows above (Davis, "Direct methods for sparse linear
// systems", 2006, chapter 4). In f64, whatever the type.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"
#include "weir/numerics.h"

#include <math.h>

using namespace weir::rt;

namespace {

struct Number {
  double re, im;
};
Number operator*(Number a, Number b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Number conjugate(Number a) { return {a.re, -a.im}; }

Number load(const weir_tensor &values, int64_t i) {
  switch (values.dtype) {
  case WEIR_F32:
    return {double(static_cast<const float *>(values.data)[i]), 0};
  case WEIR_F64:
    return {static_cast<const double *>(values.data)[i], 0};
  case WEIR_C64: {
    const float *at = static_cast<const float *>(values.data) + 2 * i;
    return {double(at[0]), double(at[1])};
  }
  default: {
    const double *at = static_cast<const double *>(values.data) + 2 * i;
    return {at[0], at[1]};
  }
  }
}

void store(weir_tensor &values, int64_t i, Number x) {
  switch (values.dtype) {
  case WEIR_F32:
    static_cast<float *>(values.data)[i] = float(x.re);
    break;
  case WEIR_F64:
    static_cast<double *>(values.data)[i] = x.re;
    break;
  case WEIR_C64:
    static_cast<float *>(values.data)[2 * i] = float(x.re);
    static_cast<float *>(values.data)[2 * i + 1] = float(x.im);
    break;
  default:
    static_cast<double *>(values.data)[2 * i] = x.re;
    static_cast<double *>(values.data)[2 * i + 1] = x.im;
  }
}

/// One matrix of n rows: its lower half in the new order, by rows, and its factor.
class Factor {
public:
  Factor(weir_context *ctx, int64_t n, int64_t elements)
      : n(n), place(ctx, n + 1), parent(ctx, n + 1), seen(ctx, n + 1), begins(ctx, n + 2),
        columns(ctx, elements + 1), counts(ctx, n + 2), fill(ctx, n + 1), reach(ctx, n + 1),
        values(ctx, elements + 1), row(ctx, n + 1), diagonal(ctx, n + 1) {}
  bool isGood() const {
    return place.data && parent.data && seen.data && begins.data && columns.data && counts.data &&
           fill.data && reach.data && values.data && row.data && diagonal.data;
  }

  /// False where `order` is no order of the rows.
  bool setOrder(const int64_t *order) {
    for (int64_t i = 0; i < n; ++i)
      place[i] = -1;
    for (int64_t i = 0; i < n; ++i) {
      if (order[i] < 0 || order[i] >= n || place[order[i]] >= 0)
        return false;
      place[order[i]] = i;
    }
    return true;
  }

  /// The elements [first, last) of the lower half, to their new places.
  void setElements(const int64_t *coordinates, int64_t rank, const weir_tensor &from, int64_t first,
                   int64_t last) {
    for (int64_t i = 0; i <= n; ++i)
      begins[i] = 0;
    for (int64_t pass = 0; pass < 2; ++pass) {
      for (int64_t e = first; e < last; ++e) {
        const int64_t *at = coordinates + e * rank + rank - 2;
        if (at[1] > at[0])
          continue;
        int64_t r = place[at[0]], c = place[at[1]];
        bool isTurned = c > r;
        if (!pass) {
          ++begins[(isTurned ? c : r) + 1];
          continue;
        }
        int64_t to = fill[isTurned ? c : r]++;
        Number x = load(from, e);
        columns[to] = isTurned ? r : c;
        values[to] = isTurned ? conjugate(x) : x;
      }
      for (int64_t i = 0; !pass && i < n; ++i) {
        begins[i + 1] += begins[i];
        fill[i] = begins[i];
      }
    }
  }

  /// The elimination tree, and how many elements each column of the factor has below the
  /// diagonal. Their sum, without the diagonal.
  int64_t analyse() {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      parent[i] = -1;
      seen[i] = -1;
      counts[i] = 0;
    }
    for (int64_t k = 0; k < n; ++k) {
      seen[k] = k;
      for (int64_t e = begins[k]; e < begins[k + 1]; ++e)
        for (int64_t i = columns[e]; i < k && seen[i] != k; i = parent[i]) {
          if (parent[i] < 0)
            parent[i] = k;
          seen[i] = k;
          ++counts[i];
          ++sum;
        }
    }
    return sum;
  }

  /// Writes the factor's elements from number `at` on; false: it has none.
  bool compute(int64_t *below, Number *belowValues, int64_t batch, int64_t rank,
               weir_tensor &places, weir_tensor &numbers, int64_t *at) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      fill[i] = counts[i]; // the end of what is there of a column
      counts[i] = sum;
      sum += fill[i];
      fill[i] = counts[i];
      seen[i] = -1;
      row[i] = {0, 0};
    }
    for (int64_t k = 0; k < n; ++k) {
      int64_t found = 0;
      double rest = 0;
      seen[k] = k;
      for (int64_t e = begins[k]; e < begins[k + 1]; ++e) {
        if (columns[e] == k) {
          rest = values[e].re;
          continue;
        }
        row[columns[e]] = values[e];
        for (int64_t i = columns[e]; seen[i] != k; i = parent[i]) {
          seen[i] = k;
          reach[found++] = i;
        }
      }
      sort(found);
      for (int64_t f = 0; f < found; ++f) {
        int64_t i = reach[f];
        Number x = {row[i].re / diagonal[i], row[i].im / diagonal[i]};
        row[i] = {0, 0};
        for (int64_t p = counts[i]; p < fill[i]; ++p) {
          Number part = x * conjugate(belowValues[p]);
          row[below[p]].re -= part.re;
          row[below[p]].im -= part.im;
        }
        rest -= x.re * x.re + x.im * x.im;
        below[fill[i]] = k;
        belowValues[fill[i]++] = x;
        write(places, numbers, (*at)++, batch, rank, k, i, x);
      }
      if (!(rest > 0))
        return false;
      diagonal[k] = sqrt(rest);
      write(places, numbers, (*at)++, batch, rank, k, k, {diagonal[k], 0});
    }
    return true;
  }

private:
  /// The first `count` of `reach`, by their size (heaps).
  void sort(int64_t count) {
    auto sink = [&](int64_t i, int64_t end) {
      for (int64_t child; (child = 2 * i + 1) < end; i = child) {
        if (child + 1 < end && reach[child] < reach[child + 1])
          ++child;
        if (reach[i] >= reach[child])
          return;
        swap(i, child);
      }
    };
    for (int64_t i = count / 2 - 1; i >= 0; --i)
      sink(i, count);
    for (int64_t end = count - 1; end > 0; --end) {
      swap(0, end);
      sink(0, end);
    }
  }
  void swap(int64_t i, int64_t j) {
    int64_t held = reach[i];
    reach[i] = reach[j];
    reach[j] = held;
  }
  static void write(weir_tensor &places, weir_tensor &numbers, int64_t i, int64_t batch,
                    int64_t rank, int64_t r, int64_t c, Number x) {
    int64_t *to = static_cast<int64_t *>(places.data) + i * rank;
    if (rank == 3)
      *to++ = batch;
    to[0] = r;
    to[1] = c;
    store(numbers, i, x);
  }

  const int64_t n;
  Scratch<int64_t> place, parent, seen, begins, columns, counts, fill, reach;
  Scratch<Number> values, row;
  Scratch<double> diagonal;
};

} // namespace

int32_t weir_kernel_sparse_cholesky(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *) {
  if (operand_count != 4 || result_count != 2 || operands[0].dtype != WEIR_I64 ||
      operands[0].rank != 2 || operands[2].dtype != WEIR_I64 || operands[3].dtype != WEIR_I64)
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  const weir_tensor &values = operands[1], &orders = operands[3];
  if (values.dtype != WEIR_F32 && values.dtype != WEIR_F64 && values.dtype != WEIR_C64 &&
      values.dtype != WEIR_C128)
    return failDtype(ctx, "a sparse matrix", values.dtype);
  int64_t rank = elementCountOf(operands[2]), elements = elementCountOf(values);
  if ((rank != 2 && rank != 3) || operands[0].dims[1] != rank || operands[0].dims[0] != elements)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "sparse matrix must have rank 2 or 3");
  auto *sizes = static_cast<const int64_t *>(operands[2].data);
  auto *coordinates = static_cast<const int64_t *>(operands[0].data);
  auto *order = static_cast<const int64_t *>(orders.data);
  int64_t batches = rank == 3 ? sizes[0] : 1, n = sizes[rank - 1];
  if (n != sizes[rank - 2])
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "sparse matrix must be square");
  if (orders.rank != rank - 1 || orders.dims[rank - 2] != n ||
      (rank == 3 && orders.dims[0] != batches))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "permutation must have as many elements as the matrices have rows");
  Factor factor(ctx, n, elements);
  if (!factor.isGood())
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t total = 0, most = 0;
  // Twice: how many elements there will be must be known before they are written.
  for (int pass = 0; pass < 2; ++pass) {
    Scratch<int64_t> below(ctx, pass ? most + 1 : 1);
    Scratch<Number> belowValues(ctx, pass ? most + 1 : 1);
    if (!below.data || !belowValues.data)
      return WEIR_RESOURCE_EXHAUSTED;
    int64_t dims[2] = {total, rank}, written = 0;
    if (pass && (!shapeResult(ctx, results[0], 2, dims) || !shapeResult(ctx, results[1], 1, dims)))
      return WEIR_RESOURCE_EXHAUSTED;
    for (int64_t b = 0, first = 0, last = 0; b < batches; ++b, first = last) {
      while (last < elements && (rank == 2 || coordinates[last * rank] == b))
        ++last;
      if (!factor.setOrder(order + b * n))
        return failMessage(ctx, WEIR_INVALID_ARGUMENT, "permutation is no order of the rows");
      factor.setElements(coordinates, rank, values, first, last);
      int64_t count = factor.analyse();
      most = count > most ? count : most;
      total += pass ? 0 : count + n;
      if (pass &&
          !factor.compute(below.data, belowValues.data, b, rank, results[0], results[1], &written))
        return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                           "Sparse Cholesky factorization failed. The input might not be valid.");
    }
  }
  return WEIR_OK;
}

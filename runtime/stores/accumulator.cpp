//===- accumulator.cpp - sums of gradients that wait for enough -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's ConditionalAccumulator and SparseConditionalAccumulator: of
// synchronous replicas the first N gradients of a step count, those of earlier
// steps are dropped. Sums are made in the gradients' own type, in the order in
// which they come; the mean of a sparse one is over those that had the row.
//
//===----------------------------------------------------------------------===//

#include "stores/store.h"

#include <stdlib.h>
#include <string.h>

using namespace weir::rt;

namespace {

/// A gradient, or the sum of some: of a sparse one the rows `indices`.
struct Gradient {
  weir_tensor values = {}; ///< owned
  int64_t *indices = nullptr;
  int64_t *counts = nullptr; ///< gradients that had the row
  int64_t rows = 0;

  int64_t rowElements() const { return rows > 0 ? elementCountOf(values) / rows : 0; }
  void clear() {
    free(values.data);
    free(indices);
    free(counts);
    *this = Gradient();
  }
  /// Memory for `rows` rows like those of `like`. False: none; it is empty then.
  bool makeRows(const weir_tensor &like, int64_t count) {
    values = like;
    values.dims[0] = count;
    values.bytes = elementCountOf(values) * weir_dtype_size(like.dtype);
    values.data = malloc(size_t(values.bytes ? values.bytes : 1));
    indices = static_cast<int64_t *>(malloc(size_t(count + 1) * sizeof(int64_t)));
    counts = static_cast<int64_t *>(malloc(size_t(count + 1) * sizeof(int64_t)));
    rows = count;
    if (values.data && indices && counts)
      return true;
    clear();
    return false;
  }
};

float loadValue(const float *at) { return *at; }
double loadValue(const double *at) { return *at; }
float loadValue(const uint16_t *at) { return floatOfHalf(*at); }
void storeValue(float *at, float value) { *at = value; }
void storeValue(double *at, double value) { *at = value; }
void storeValue(uint16_t *at, float value) { *at = halfOfFloat(value); }

template <typename T> void addTo(void *sum, const void *more, int64_t count) {
  auto *to = static_cast<T *>(sum);
  auto *from = static_cast<const T *>(more);
  for (int64_t i = 0; i < count; ++i)
    storeValue(to + i, loadValue(to + i) + loadValue(from + i));
}

template <typename T> void divide(void *sum, int64_t by, int64_t count) {
  auto *to = static_cast<T *>(sum);
  for (int64_t i = 0; i < count; ++i)
    storeValue(to + i, loadValue(to + i) / decltype(loadValue(to))(by));
}

void addValues(int32_t dtype, void *sum, const void *more, int64_t count) {
  if (dtype == WEIR_F64)
    addTo<double>(sum, more, count);
  else if (dtype == WEIR_F16)
    addTo<uint16_t>(sum, more, count);
  else
    addTo<float>(sum, more, count);
}

void divideValues(int32_t dtype, void *sum, int64_t by, int64_t count) {
  if (dtype == WEIR_F64)
    divide<double>(sum, by, count);
  else if (dtype == WEIR_F16)
    divide<uint16_t>(sum, by, count);
  else
    divide<float>(sum, by, count);
}

struct Parameters {
  bool isSparse, isMean;
  int32_t rank;
  int64_t dims[WEIR_MAX_RANK];

  explicit Parameters(const int64_t *a)
      : isSparse(a[0] != 0), isMean(a[1] != 0), rank(int32_t(a[2])), dims{} {
    for (int32_t d = 0; d < rank && d < WEIR_MAX_RANK; ++d)
      dims[d] = a[3 + d];
  }
  /// Whether the dims from `first` on are possible ones.
  bool fits(const weir_tensor &tensor, int32_t first) const {
    if (rank < 0)
      return true;
    bool same = rank == tensor.rank;
    for (int32_t d = first; same && d < rank; ++d)
      same = dims[d] < 0 || dims[d] == tensor.dims[d];
    return same;
  }
};

class Accumulator : public Store {
public:
  explicit Accumulator(const Parameters &parameters) : Store(true), given(parameters) {}

  const Parameters given;
  Gradient sum;
  int64_t count = 0; ///< of gradients in the sum
  int64_t step = 0;

  int32_t addDense(weir_context *ctx, const weir_tensor &gradient);
  int32_t addSparse(weir_context *ctx, const weir_tensor &indices, const weir_tensor &values);
  bool takesShape(const weir_tensor &indices, const weir_tensor &shape) const;
  void finishSum();

  void clear() {
    sum.clear();
    count = 0;
  }
  ~Accumulator() { clear(); }
  void startAnew() {
    clear();
    step = 0;
  }
  static Resource *make(void *data) {
    return newStore<Accumulator>(*static_cast<const Parameters *>(data));
  }
};

int32_t Accumulator::addDense(weir_context *ctx, const weir_tensor &gradient) {
  bool isLike =
      count == 0 || (sum.values.dtype == gradient.dtype && sameShape(sum.values, gradient));
  if (!given.fits(gradient, 0) || !isLike)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "shape mismatch: the gradient is not of the accumulator's shape");
  if (count > 0) {
    addValues(sum.values.dtype, sum.values.data, gradient.data, elementCountOf(gradient));
  } else {
    sum.values = gradient;
    sum.values.data = malloc(size_t(gradient.bytes ? gradient.bytes : 1));
    if (!sum.values.data)
      return failStoreMemory(ctx);
    if (gradient.bytes > 0)
      memcpy(sum.values.data, gradient.data, size_t(gradient.bytes));
  }
  ++count;
  return WEIR_OK;
}

/// Whether a sparse gradient can be of the shape that it says (none: it says nothing), and
/// its rows lie within the accumulator's.
bool Accumulator::takesShape(const weir_tensor &indices, const weir_tensor &shape) const {
  if (given.rank < 0)
    return true;
  int64_t said = elementCountOf(shape);
  bool fits = said == 0 || said >= given.rank;
  for (int32_t d = 0; fits && said > 0 && d < given.rank; ++d)
    fits = given.dims[d] < 0 || given.dims[d] == static_cast<const int64_t *>(shape.data)[d];
  bool isBounded = given.rank > 0 && given.dims[0] >= 0;
  for (int64_t i = 0; fits && isBounded && i < elementCountOf(indices); ++i)
    fits = static_cast<const int64_t *>(indices.data)[i] < given.dims[0];
  return fits;
}

/// Merges rows, of which each list is ascending as TensorFlow demands.
int32_t Accumulator::addSparse(weir_context *ctx, const weir_tensor &indices,
                               const weir_tensor &values) {
  bool fits = indices.rank == 1 && values.rank >= 1 && indices.dims[0] == values.dims[0] &&
              given.fits(values, 1);
  if (fits && sum.rows > 0)
    fits = sum.values.rank == values.rank && sum.values.dtype == values.dtype;
  for (int32_t d = 1; fits && sum.rows > 0 && d < values.rank; ++d)
    fits = sum.values.dims[d] == values.dims[d];
  if (!fits)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "shape mismatch: the gradient's rows are not those of the accumulator");
  const auto *mine = static_cast<const int64_t *>(indices.data);
  int64_t more = indices.dims[0], i = 0, j = 0, rows = 0;
  Gradient merged;
  if (!merged.makeRows(values, sum.rows + more))
    return failStoreMemory(ctx);
  int64_t elements = merged.rowElements();
  int64_t bytes = elements * weir_dtype_size(values.dtype);
  auto rowOf = [&](const weir_tensor &tensor, int64_t row) {
    return static_cast<char *>(tensor.data) + row * bytes;
  };
  while (i < sum.rows || j < more) {
    bool fromSum = i < sum.rows && (j == more || sum.indices[i] <= mine[j]);
    bool fromBoth = fromSum && j < more && sum.indices[i] == mine[j];
    merged.indices[rows] = fromSum ? sum.indices[i] : mine[j];
    merged.counts[rows] = fromSum ? sum.counts[i] + fromBoth : 1;
    if (bytes > 0) {
      char *to = rowOf(merged.values, rows);
      memcpy(to, fromSum ? rowOf(sum.values, i) : rowOf(values, j), size_t(bytes));
      if (fromBoth)
        addValues(values.dtype, to, rowOf(values, j), elements);
    }
    i += fromSum;
    j += !fromSum || fromBoth;
    ++rows;
  }
  merged.rows = rows;
  merged.values.dims[0] = rows;
  merged.values.bytes = rows * bytes;
  sum.clear();
  sum = merged;
  ++count;
  return WEIR_OK;
}

void Accumulator::finishSum() {
  if (!given.isMean)
    return;
  if (!given.isSparse)
    return divideValues(sum.values.dtype, sum.values.data, count, elementCountOf(sum.values));
  int64_t elements = sum.rowElements(), bytes = elements * weir_dtype_size(sum.values.dtype);
  for (int64_t i = 0; i < sum.rows; ++i)
    divideValues(sum.values.dtype, static_cast<char *>(sum.values.data) + i * bytes, sum.counts[i],
                 elements);
}

struct TakeAttempt : StoreAttempt {
  int64_t required;
  Gradient taken;
};

bool take(StoreAttempt &self, bool &) {
  auto &attempt = static_cast<TakeAttempt &>(self);
  auto &accumulator = *static_cast<Accumulator *>(attempt.store);
  if (accumulator.count < attempt.required)
    return false;
  accumulator.finishSum();
  attempt.taken = accumulator.sum;
  accumulator.sum = Gradient();
  accumulator.count = 0;
  ++accumulator.step;
  return true;
}

void discardTaken(StoreAttempt &self) { static_cast<TakeAttempt &>(self).taken.clear(); }

Accumulator *openAccumulator(weir_context *ctx, const weir_tensor &name, const int64_t *attributes,
                             int32_t *code) {
  Parameters parameters(attributes);
  auto *known =
      static_cast<Accumulator *>(openStore(ctx, name, Accumulator::make, &parameters, code));
  if (known && known->given.isSparse != parameters.isSparse) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT,
                        "the accumulator of this shared name is of another kind");
    return nullptr;
  }
  return known;
}

weir_tensor vectorOf(int64_t *data, int64_t count) {
  weir_tensor vector = {};
  vector.data = data;
  vector.bytes = count * int64_t(sizeof(int64_t));
  vector.dtype = WEIR_I64;
  vector.rank = 1;
  vector.dims[0] = count;
  return vector;
}

} // namespace

int32_t weir_kernel_accumulator_apply(weir_context *ctx, const weir_tensor *operands, int32_t,
                                      weir_tensor *, int32_t, const int64_t *attributes) {
  int32_t code;
  Accumulator *accumulator = openAccumulator(ctx, operands[0], attributes, &code);
  if (!accumulator)
    return code;
  int64_t step;
  if (!loadInteger(operands[1], &step))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "local_step must be a scalar");
  const weir_tensor &values = operands[accumulator->given.isSparse ? 3 : 2];
  if (values.dtype != WEIR_F16 && values.dtype != WEIR_F32 && values.dtype != WEIR_F64)
    return failDtype(ctx, "a gradient", values.dtype);
  Task *ready = nullptr;
  {
    Lock lock(accumulator->mutex);
    if (step < accumulator->step)
      return WEIR_OK;
    if (accumulator->given.isSparse && !accumulator->takesShape(operands[2], operands[4]))
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "shape mismatch: the gradient is not of the accumulator's shape");
    code = accumulator->given.isSparse ? accumulator->addSparse(ctx, operands[2], values)
                                       : accumulator->addDense(ctx, values);
    accumulator->serve(&ready);
  }
  postTasks(ready);
  return code;
}

int32_t weir_kernel_accumulator_take(weir_context *ctx, const weir_tensor *operands, int32_t,
                                     weir_tensor *results, int32_t, const int64_t *attributes) {
  int32_t code;
  Accumulator *accumulator = openAccumulator(ctx, operands[0], attributes, &code);
  if (!accumulator)
    return code;
  int64_t required;
  if (!loadInteger(operands[1], &required) || required <= 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Argument num_required must be positive");
  auto *attempt = makeAttemptOf<TakeAttempt>(ctx, accumulator, results[0], &code);
  if (!attempt)
    return code;
  attempt->attempt = take;
  attempt->discard = discardTaken;
  attempt->required = required;
  accumulator->begin(ctx, attempt);
  return WEIR_OK;
}

int32_t weir_kernel_accumulator_finish(weir_context *ctx, const weir_tensor *operands, int32_t,
                                       weir_tensor *results, int32_t, const int64_t *attributes) {
  int32_t code;
  auto *attempt = static_cast<TakeAttempt *>(endedAttempt(ctx, operands[0], &code));
  if (!attempt)
    return code;
  Parameters given(attributes);
  Gradient &taken = attempt->taken;
  if (!given.isSparse) {
    code = giveTensor(ctx, taken.values, results[0]);
  } else {
    // The number of rows of the whole is what the accumulator was said to have.
    int64_t shape[WEIR_MAX_RANK];
    for (int32_t d = 0; d < taken.values.rank; ++d)
      shape[d] = d > 0 ? taken.values.dims[d] : given.rank > 0 ? given.dims[0] : -1;
    code = giveTensor(ctx, vectorOf(taken.indices, taken.rows), results[0]);
    if (code == WEIR_OK)
      code = giveTensor(ctx, taken.values, results[1]);
    if (code == WEIR_OK)
      code = giveTensor(ctx, vectorOf(shape, taken.values.rank), results[2]);
  }
  freeAttempt(attempt);
  return code;
}

int32_t weir_kernel_accumulator_size(weir_context *ctx, const weir_tensor *operands, int32_t,
                                     weir_tensor *results, int32_t, const int64_t *attributes) {
  int32_t code;
  Accumulator *accumulator = openAccumulator(ctx, operands[0], attributes, &code);
  if (!accumulator)
    return code;
  return giveCount(ctx, *accumulator, results[0], [&] { return accumulator->count; });
}

int32_t weir_kernel_accumulator_step(weir_context *ctx, const weir_tensor *operands, int32_t,
                                     weir_tensor *, int32_t, const int64_t *attributes) {
  int32_t code;
  Accumulator *accumulator = openAccumulator(ctx, operands[0], attributes, &code);
  if (!accumulator)
    return code;
  int64_t step;
  if (!loadInteger(operands[1], &step))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "new_global_step must be a scalar");
  Lock lock(accumulator->mutex);
  accumulator->step = step;
  return WEIR_OK;
}

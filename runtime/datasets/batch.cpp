//===- batch.cpp - elements put together ----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/dataset.h"
#include "kernels/string_support.h"
#include "session/status.h"

#include <string.h>

namespace weir::rt {

namespace {

/// Elements of a batch, until they are one.
struct Rows {
  Element **list = nullptr;
  int64_t count = 0, capacity = 0;

  ~Rows() {
    for (int64_t i = 0; i < count; ++i)
      release(list[i]);
    free(list);
  }
  bool add(Element *element) {
    if (count == capacity) {
      int64_t wanted = capacity ? capacity * 2 : 16;
      auto *grown = static_cast<Element **>(realloc(list, size_t(wanted) * sizeof(Element *)));
      if (!grown) {
        release(element);
        return false;
      }
      list = grown;
      capacity = wanted;
    }
    list[count++] = element;
    return true;
  }
};

struct Batch : OverInput {
  /// What a component's batch is like; `dims` of one row.
  struct Plan {
    int32_t rank;
    int64_t dims[WEIR_MAX_RANK];
  };

  bool isPadded() const { return dataset->kind == WEIR_DATASET_PADDED; }
  int32_t paddedComponents() const { return (dataset->parameters->count - 2) / 2; }

  bool failShape(const weir_tensor &first, const weir_tensor &other, int32_t component, int64_t row,
                 Failure &failure) {
    Text out = failure.fail(WEIR_INVALID_ARGUMENT);
    out << "Cannot batch tensors with different shapes in component " << component
        << ". First element had shape ";
    appendShape(out, first.rank, first.dims);
    out << " and element " << row << " had shape ";
    appendShape(out, other.rank, other.dims);
    out << ".";
    return false;
  }

  /// The rows of a component have one shape.
  bool planEqual(const Rows &rows, int32_t c, Plan &plan, Failure &failure) {
    const weir_tensor &first = rows.list[0]->components[c];
    for (int64_t i = 1; i < rows.count; ++i)
      if (!sameShape(first, rows.list[i]->components[c]))
        return failShape(first, rows.list[i]->components[c], c, i, failure);
    plan.rank = first.rank;
    memcpy(plan.dims, first.dims, sizeof(plan.dims));
    return true;
  }

  /// Each is as large as the largest row, or as it is said to be.
  bool planPadded(const Rows &rows, int32_t c, Plan &plan, Failure &failure) {
    const weir_tensor &given = dataset->parameters->components[2 + c];
    plan.rank = int32_t(elementCountOf(given));
    for (int32_t d = 0; d < plan.rank && d < WEIR_MAX_RANK; ++d) {
      int64_t said = integerAt(given, d);
      plan.dims[d] = said < 0 ? 0 : said;
    }
    for (int64_t i = 0; i < rows.count; ++i) {
      const weir_tensor &row = rows.list[i]->components[c];
      if (row.rank != plan.rank) {
        failure.fail(WEIR_INVALID_ARGUMENT)
            << "All elements in a batch must have the same rank as the padded shape for component"
            << c << ": expected rank " << plan.rank << " but got element with rank " << row.rank;
        return false;
      }
      for (int32_t d = 0; d < plan.rank; ++d) {
        if (integerAt(given, d) < 0) {
          plan.dims[d] = row.dims[d] > plan.dims[d] ? row.dims[d] : plan.dims[d];
        } else if (row.dims[d] > plan.dims[d]) {
          failure.fail(WEIR_DATA_LOSS)
              << "Attempted to pad to a smaller size than the input element.";
          return false;
        }
      }
    }
    return true;
  }

  /// Copies a row into the front corner of its place.
  static void place(const weir_tensor &row, const uint8_t *&from, uint8_t *to, const int64_t *dims,
                    int32_t d) {
    int64_t size = weir_dtype_size(row.dtype);
    if (d == row.rank) {
      memcpy(to, from, size_t(size));
      from += size;
      return;
    }
    int64_t stride = size;
    for (int32_t e = d + 1; e < row.rank; ++e)
      stride *= dims[e];
    if (d + 1 == row.rank) {
      if (row.dims[d] > 0)
        memcpy(to, from, size_t(size * row.dims[d]));
      from += size * row.dims[d];
      return;
    }
    for (int64_t i = 0; i < row.dims[d]; ++i)
      place(row, from, to + i * stride, dims, d + 1);
  }

  /// Elements of a batch into `to`; those of strings still point to the rows'.
  void gather(const Rows &rows, int32_t c, const Plan &plan, int64_t rowBytes, uint8_t *to) {
    int64_t size = weir_dtype_size(rows.list[0]->components[c].dtype);
    if (isPadded() && rowBytes > 0) {
      auto *value =
          static_cast<uint8_t *>(dataset->parameters->components[2 + paddedComponents() + c].data);
      for (int64_t at = 0; at < rowBytes * rows.count; at += size)
        memcpy(to + at, value, size_t(size));
    }
    for (int64_t i = 0; i < rows.count; ++i) {
      const weir_tensor &row = rows.list[i]->components[c];
      const auto *from = static_cast<const uint8_t *>(row.data);
      if (elementCountOf(row) == 0)
        continue;
      if (isPadded())
        place(row, from, to + i * rowBytes, plan.dims, 0);
      else
        memcpy(to + i * rowBytes, from, size_t(rowBytes));
    }
  }

  Element *build(const Rows &rows, const Plan *plans, Failure &failure) {
    int32_t count = rows.list[0]->count;
    int64_t bytes = 0;
    auto tensorOf = [&](int32_t c) {
      weir_tensor one = {};
      one.dtype = rows.list[0]->components[c].dtype;
      one.rank = plans[c].rank + 1;
      one.dims[0] = rows.count;
      for (int32_t d = 0; d < plans[c].rank; ++d)
        one.dims[d + 1] = plans[c].dims[d];
      one.bytes = elementCountOf(one) * weir_dtype_size(one.dtype);
      return one;
    };
    for (int32_t c = 0; c < count; ++c)
      bytes += hasContents(tensorOf(c).dtype) ? 0 : alignedBytes(tensorOf(c).bytes);
    Element *made = newElement(count, bytes);
    uint8_t *room = made ? made->room : nullptr;
    for (int32_t c = 0; made && c < count; ++c) {
      weir_tensor one = tensorOf(c);
      bool points = hasContents(one.dtype);
      auto *to = points ? static_cast<uint8_t *>(malloc(size_t(one.bytes | !one.bytes))) : room;
      if (!to) {
        release(made);
        made = nullptr;
        break;
      }
      gather(rows, c, plans[c], one.bytes / rows.count, to);
      one.data = to;
      if (!points) {
        made->components[c] = one;
        room += alignedBytes(one.bytes);
        continue;
      }
      // With all that it points to, in one piece.
      Element *copied = copyToElement(&one, 1);
      free(to);
      if (copied)
        made->share(c, copied->components[0], copied);
      release(copied);
      if (!copied) {
        release(made);
        made = nullptr;
      }
    }
    if (!made)
      failure.noMemory();
    return made;
  }

  Next give(Element **element, Failure &failure) {
    int64_t size = dataset->number(0);
    Rows rows;
    while (rows.count < size) {
      Element *row = nullptr;
      Next got = pull(input, &row, failure);
      if (got == Next::Failed)
        return got;
      if (got == Next::End)
        break;
      if (!rows.add(row))
        return failure.noMemory(), Next::Failed;
    }
    if (rows.count == 0 || (rows.count < size && dataset->truth(1)))
      return Next::End;
    int32_t count = rows.list[0]->count;
    auto *plans = static_cast<Plan *>(calloc(size_t(count | !count), sizeof(Plan)));
    if (!plans)
      return failure.noMemory(), Next::Failed;
    bool fits = true;
    for (int32_t c = 0; fits && c < count; ++c) {
      fits = isPadded() ? planPadded(rows, c, plans[c], failure)
                        : planEqual(rows, c, plans[c], failure);
      if (fits && plans[c].rank >= WEIR_MAX_RANK) {
        failure.fail(WEIR_UNIMPLEMENTED) << "a batch would have too many dimensions";
        fits = false;
      }
    }
    *element = fits ? build(rows, plans, failure) : nullptr;
    free(plans);
    return *element ? Next::Element : Next::Failed;
  }
};

} // namespace

Source *makeBatch(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  return newOverInput<Batch>(pipeline, dataset, failure);
}

} // namespace weir::rt

//===- unique.cpp - distinct elements and slices --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"
#include "kernels/ordering.h"

using namespace weir::rt;

namespace {

/// What is compared: `count` items, each a slice of `outer` runs of `inner`
/// elements; a flattened tensor's items are single elements.
struct Items {
  const weir_tensor &data;
  AxisView view;
  const uint64_t *keys; ///< of all elements; null for strings

  int64_t count() const { return view.size; }
  int64_t element(int64_t item, int64_t outer, int64_t inner) const {
    return (outer * view.size + item) * view.inner + inner;
  }

  int compareElements(int64_t a, int64_t b) const {
    if (keys)
      return keys[a] < keys[b] ? -1 : keys[a] > keys[b];
    auto *strings = static_cast<const weir_string *>(data.data);
    const weir_string &x = strings[a], &y = strings[b];
    int64_t shorter = x.size < y.size ? x.size : y.size;
    int order = shorter > 0 ? memcmp(x.data, y.data, size_t(shorter)) : 0;
    return order != 0 ? order : x.size < y.size ? -1 : x.size > y.size;
  }

  static int compare(const void *self, int64_t a, int64_t b) {
    auto &items = *static_cast<const Items *>(self);
    for (int64_t outer = 0; outer < items.view.outer; ++outer)
      for (int64_t inner = 0; inner < items.view.inner; ++inner)
        if (int order = items.compareElements(items.element(a, outer, inner),
                                              items.element(b, outer, inner)))
          return order;
    return 0;
  }
};

/// A value: where it occurs first, and how often.
struct Group {
  int64_t first;
  int64_t count;
};

/// Numbers the items' values: groupOf[item], and the groups in order of their
/// number. `order` holds the items, equal ones together, each run by index.
int64_t makeGroups(const Items &items, const int64_t *order, int64_t *groupOf, Group *groups) {
  int64_t count = 0;
  for (int64_t i = 0; i < items.count(); ++i) {
    if (i == 0 || Items::compare(&items, order[i - 1], order[i]) != 0)
      groups[count++] = {order[i], 0};
    ++groups[count - 1].count;
    groupOf[order[i]] = count - 1;
  }
  return count;
}

/// Renumbers groups by first occurrence. A pass over the items meets the groups
/// in that order; `renumbered` maps old to new.
void orderByOccurrence(const Items &items, int64_t *groupOf, Group *groups, int64_t groupCount,
                       Group *sorted, int64_t *renumbered) {
  int64_t next = 0;
  for (int64_t i = 0; i < items.count(); ++i) {
    int64_t group = groupOf[i];
    if (groups[group].first == i) {
      sorted[next] = groups[group];
      renumbered[group] = next++;
    }
    groupOf[i] = renumbered[group];
  }
  memcpy(groups, sorted, size_t(groupCount) * sizeof(Group));
}

int32_t writeResults(weir_context *ctx, const Items &items, bool flattened, const int64_t *groupOf,
                     const Group *groups, int64_t groupCount, weir_tensor *results) {
  int64_t itemCount = items.count();
  int64_t dims[WEIR_MAX_RANK];
  int32_t rank = flattened ? 1 : items.data.rank;
  for (int32_t i = 0; i < rank; ++i)
    dims[i] = flattened || i == items.view.axis ? groupCount : items.data.dims[i];
  if (!shapeResult(ctx, results[0], rank, dims) || !shapeResult(ctx, results[1], 1, &groupCount) ||
      !shapeResult(ctx, results[2], 1, &itemCount) || !shapeResult(ctx, results[3], 1, &groupCount))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t run = items.view.inner * weir_dtype_size(items.data.dtype);
  for (int64_t g = 0; g < groupCount; ++g) {
    for (int64_t outer = 0; outer < items.view.outer && run > 0; ++outer)
      memcpy(static_cast<char *>(results[0].data) + (outer * groupCount + g) * run,
             static_cast<const char *>(items.data.data) +
                 (outer * itemCount + groups[g].first) * run,
             size_t(run));
    storeIndex(results[1], g, groups[g].first);
    storeIndex(results[3], g, groups[g].count);
  }
  for (int64_t i = 0; i < itemCount; ++i)
    storeIndex(results[2], i, groupOf[i]);
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_unique(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                           weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  const weir_tensor &data = operands[0];
  bool isString = data.dtype == WEIR_STRING, sorted = attributes[1] != 0;
  if (operand_count != 1 || result_count != 4 || results[0].dtype != data.dtype ||
      !isIndexType(results[1].dtype) || !isIndexType(results[2].dtype) ||
      !isIndexType(results[3].dtype))
    return failMessage(ctx, WEIR_INTERNAL, "the results are not values and three indices");
  if (!isString && !hasKeys(data.dtype))
    return failDtype(ctx, "unique elements", data.dtype);

  int64_t elements = elementCountOf(data);
  bool flattened = attributes[0] < 0;
  AxisView view;
  view.axis = 0;
  view.size = elements;
  if (!flattened && !viewAlong(data, attributes[0], &view))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the axis does not exist");

  int64_t count = view.size;
  Scratch<uint64_t> keys(ctx, isString ? 0 : elements);
  Scratch<int64_t> order(ctx, count), groupOf(ctx, count);
  Scratch<Group> groups(ctx, count);
  if (!keys.data || !order.data || !groupOf.data || !groups.data)
    return WEIR_RESOURCE_EXHAUSTED;
  Items items{data, view, isString ? nullptr : keys.data};
  if (!isString)
    makeKeys(data.dtype, data.data, 1, elements, false, keys.data);

  if (!isString && view.outer * view.inner == 1) {
    Scratch<KeyIndex> pairs(ctx, count);
    if (!pairs.data)
      return WEIR_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < count; ++i)
      pairs[i] = {keys[i], i};
    sortKeys(pairs.data, count);
    for (int64_t i = 0; i < count; ++i)
      order[i] = pairs[i].index;
  } else {
    Scratch<int64_t> scratch(ctx, count);
    if (!scratch.data)
      return WEIR_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < count; ++i)
      order[i] = i;
    sortIndices(order.data, scratch.data, count, Items::compare, &items);
  }
  int64_t groupCount = makeGroups(items, order.data, groupOf.data, groups.data);
  if (!sorted) {
    Scratch<Group> byOccurrence(ctx, groupCount);
    if (!byOccurrence.data)
      return WEIR_RESOURCE_EXHAUSTED;
    // `order` has served.
    orderByOccurrence(items, groupOf.data, groups.data, groupCount, byOccurrence.data, order.data);
  }
  return writeResults(ctx, items, flattened, groupOf.data, groups.data, groupCount, results);
}

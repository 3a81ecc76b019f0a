//===- lookup.cpp - operations on a session's lookup tables ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/lookup_table.h"

#include <new>
#include <stdlib.h>

using namespace weir::rt;

namespace {

/// A table of a session.
struct Table : Resource {
  Table(bool isMutable, int32_t keyType, int32_t valueType, int32_t rank, const int64_t *dims,
        int64_t valueCount)
      : map(keyType, valueType, valueCount), isMutable(isMutable), valueRank(rank) {
    for (int32_t d = 0; d < rank; ++d)
      valueDims[d] = dims[d];
  }

  Mutex mutex;
  LookupMap map;
  const bool isMutable;
  bool isInitialized = false;
  const int32_t valueRank;
  int64_t valueDims[WEIR_MAX_RANK] = {};
};

Table *tableOf(Resource *resource) { return static_cast<Table *>(resource); }

void resetTable(Resource *resource) {
  Table *table = tableOf(resource);
  Lock lock(table->mutex);
  table->map.clear();
  table->isInitialized = false;
}

void destroyTable(Resource *resource) {
  Table *table = tableOf(resource);
  table->~Table();
  free(table);
}

/// What every operation says of its table. A type that it does not know is
/// WEIR_INVALID: then the table is not made where there is none yet.
struct Call {
  bool isMutable = false; ///< what the name begins with
  int32_t valueRank;
  const int64_t *valueDims;
  const int64_t *more; ///< the operation's own attributes
  int32_t keyType, valueType;

  Call(const int64_t *a, int32_t keyType, int32_t valueType)
      : valueRank(int32_t(a[0])), valueDims(a + 1), more(a + 1 + a[0]), keyType(keyType),
        valueType(valueType) {}
  bool fits(const Table &table) const {
    return (!keyType || keyType == table.map.keyType) &&
           (!valueType || valueType == table.map.valueType);
  }
};

Resource *makeTable(void *data) {
  auto *call = static_cast<const Call *>(data);
  int64_t count = 1;
  for (int32_t d = 0; d < call->valueRank; ++d)
    if (__builtin_mul_overflow(count, call->valueDims[d], &count))
      return nullptr;
  void *memory = malloc(sizeof(Table));
  if (!memory)
    return nullptr;
  auto *table = new (memory) Table(call->isMutable, call->keyType, call->valueType, call->valueRank,
                                   call->valueDims, count);
  table->reset = resetTable;
  table->destroy = destroyTable;
  return table;
}

/// The table of a call; null: there is none, or, with `code` set, the run has
/// failed.
Table *open(weir_context *ctx, const weir_tensor *operands, const Call &call, int32_t *code) {
  weir_string name;
  if (!loadString(operands[0], &name)) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT, "a table's handle is not one");
    return nullptr;
  }
  *code = WEIR_OK;
  Call copy = call;
  copy.isMutable = name.size > 0 && name.data[0] == 'm';
  bool mayMake = call.keyType && call.valueType;
  Resource *resource = resourceOf(ctx, name.data, name.size, mayMake ? makeTable : nullptr, &copy);
  if (!resource && !mayMake)
    return nullptr;
  if (!resource) {
    *code = failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a table");
    return nullptr;
  }
  Table *table = tableOf(resource);
  if (!call.fits(*table)) {
    char text[200];
    Text(text, sizeof(text)) << "the table maps " << weir_dtype_name(table->map.keyType) << " to "
                             << weir_dtype_name(table->map.valueType)
                             << "; that is not what is asked for";
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT, text);
    return nullptr;
  }
  return table;
}

const void *elementAt(const weir_tensor &tensor, int64_t i) {
  return static_cast<const uint8_t *>(tensor.data) + i * weir_dtype_size(tensor.dtype);
}

/// Copies elements, contents of strings included.
bool copyOut(Contents &contents, int32_t dtype, weir_tensor &to, int64_t at, const void *from,
             int64_t count) {
  auto *out = static_cast<uint8_t *>(to.data) + at * weir_dtype_size(dtype);
  if (dtype != WEIR_STRING) {
    memcpy(out, from, size_t(count * weir_dtype_size(dtype)));
    return true;
  }
  auto *strings = static_cast<const weir_string *>(from);
  for (int64_t i = 0; i < count; ++i)
    if (!contents.copy(strings[i].data, strings[i].size, reinterpret_cast<weir_string *>(out) + i))
      return false;
  return true;
}

int32_t failMemory(weir_context *ctx) {
  return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a table");
}

int32_t failEntries(weir_context *ctx) {
  return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                     "the values are not one for each key, of the table's shape");
}

/// Whether `values` are the shape of `keys` and then that of the table's values.
bool valuesFit(const Table &table, const weir_tensor &keys, const weir_tensor &values) {
  bool fits = values.rank == keys.rank + table.valueRank;
  for (int32_t d = 0; fits && d < values.rank; ++d)
    fits = values.dims[d] == (d < keys.rank ? keys.dims[d] : table.valueDims[d - keys.rank]);
  return fits;
}

} // namespace

int32_t weir_kernel_table_find(weir_context *ctx, const weir_tensor *operands, int32_t,
                               weir_tensor *results, int32_t, const int64_t *attributes) {
  Call call(attributes, operands[1].dtype, operands[2].dtype);
  int32_t code;
  Table *table = open(ctx, operands, call, &code);
  if (!table)
    return code;
  const weir_tensor &keys = operands[1], &other = operands[2];
  int64_t count = elementCountOf(keys), width = table->map.valueCount;
  // One default for all, or one for each key.
  bool isSingle = other.rank == table->valueRank;
  for (int32_t d = 0; isSingle && d < other.rank; ++d)
    isSingle = other.dims[d] == table->valueDims[d];
  if (!isSingle && !valuesFit(*table, keys, other))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "the default is neither one value of the table nor one "
                       "for each key");
  int64_t dims[WEIR_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < keys.rank + table->valueRank; ++d)
    dims[rank++] = d < keys.rank ? keys.dims[d] : table->valueDims[d - keys.rank];
  if (!shapeResult(ctx, results[0], rank, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  Contents contents(ctx);
  Lock lock(table->mutex);
  if (!table->isMutable && !table->isInitialized)
    return failMessage(ctx, WEIR_FAILED_PRECONDITION, "the table is not initialized");
  for (int64_t i = 0; i < count; ++i) {
    int64_t entry = table->map.find(elementAt(keys, i));
    const void *value =
        entry >= 0 ? table->map.valueAt(entry) : elementAt(other, isSingle ? 0 : i * width);
    if (!copyOut(contents, call.valueType, results[0], i * width, value, width))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

int32_t weir_kernel_table_insert(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *, int32_t, const int64_t *attributes) {
  Call call(attributes, operands[1].dtype, operands[2].dtype);
  int32_t code;
  Table *table = open(ctx, operands, call, &code);
  if (!table)
    return code;
  const weir_tensor &keys = operands[1], &values = operands[2];
  bool isInitial = call.more[0] & 1;
  bool onlyOnce = call.more[0] & 2;
  int64_t count = elementCountOf(keys), width = table->map.valueCount;
  if (!valuesFit(*table, keys, values))
    return failEntries(ctx);
  Lock lock(table->mutex);
  if (table->isMutable) {
    // What a new session finds in it is put in once, whatever is done to it later.
    if (onlyOnce && table->isInitialized)
      return WEIR_OK;
    table->isInitialized |= onlyOnce;
    if (isInitial)
      table->map.clear();
    for (int64_t i = 0; i < count; ++i)
      if (!table->map.insert(elementAt(keys, i), elementAt(values, i * width)))
        return failMemory(ctx);
    return WEIR_OK;
  }
  if (!isInitial)
    return failMessage(ctx, WEIR_UNIMPLEMENTED,
                       "a table that is initialized once takes no insertions");
  if (table->isInitialized) {
    // As often as one likes, with as many entries.
    if (onlyOnce || table->map.size() == count)
      return WEIR_OK;
    return failMessage(ctx, WEIR_FAILED_PRECONDITION,
                       "the table was initialized with other entries before");
  }
  for (int64_t i = 0; i < count; ++i) {
    const void *key = elementAt(keys, i), *value = elementAt(values, i * width);
    int64_t entry = table->map.find(key);
    bool isGood = entry < 0 ? table->map.insert(key, value) : table->map.hasValue(entry, value);
    if (isGood)
      continue;
    table->map.clear();
    if (entry < 0)
      return failMemory(ctx);
    char text[96];
    Text(text, sizeof(text)) << "key " << i << " is there twice, with different values";
    return failMessage(ctx, WEIR_FAILED_PRECONDITION, text);
  }
  table->isInitialized = true;
  return WEIR_OK;
}

int32_t weir_kernel_table_remove(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *, int32_t, const int64_t *attributes) {
  Call call(attributes, operands[1].dtype, WEIR_INVALID);
  int32_t code;
  Table *table = open(ctx, operands, call, &code);
  if (!table)
    return code;
  if (!table->isMutable)
    return failMessage(ctx, WEIR_UNIMPLEMENTED,
                       "nothing is removed from a table that is initialized once");
  int64_t count = elementCountOf(operands[1]);
  Lock lock(table->mutex);
  for (int64_t i = 0; i < count; ++i)
    table->map.remove(elementAt(operands[1], i));
  return WEIR_OK;
}

int32_t weir_kernel_table_size(weir_context *ctx, const weir_tensor *operands, int32_t,
                               weir_tensor *results, int32_t, const int64_t *attributes) {
  Call call(attributes, WEIR_INVALID, WEIR_INVALID);
  int32_t code;
  Table *table = open(ctx, operands, call, &code);
  if (code)
    return code;
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  storeIndex(results[0], 0, 0);
  if (!table)
    return WEIR_OK;
  Lock lock(table->mutex);
  storeIndex(results[0], 0, table->map.size());
  return WEIR_OK;
}

int32_t weir_kernel_table_export(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *results, int32_t, const int64_t *attributes) {
  Call call(attributes, results[0].dtype, results[1].dtype);
  int32_t code;
  Table *table = open(ctx, operands, call, &code);
  if (!table)
    return code;
  Contents contents(ctx);
  Lock lock(table->mutex);
  if (!table->isMutable && !table->isInitialized)
    return failMessage(ctx, WEIR_ABORTED, "the table is not initialized");
  int64_t count = table->map.size(), width = table->map.valueCount;
  int64_t dims[WEIR_MAX_RANK + 1] = {count};
  for (int32_t d = 0; d < table->valueRank; ++d)
    dims[d + 1] = table->valueDims[d];
  if (!shapeResult(ctx, results[0], 1, dims) ||
      !shapeResult(ctx, results[1], 1 + table->valueRank, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < count; ++i)
    if (!copyOut(contents, call.keyType, results[0], i, table->map.keyAt(i), 1) ||
        !copyOut(contents, call.valueType, results[1], i * width, table->map.valueAt(i), width))
      return WEIR_RESOURCE_EXHAUSTED;
  return WEIR_OK;
}

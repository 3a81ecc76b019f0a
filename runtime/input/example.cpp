//===- example.cpp - features out of serialized examples ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/example.h"

#include <new>

namespace weir::rt {

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Feature::Feature(const weir_string &message) {
  if (message.size == 0)
    return;
  // The first list is the feature; what follows it is not looked at.
  MessageReader fields(message);
  dtype = unknown;
  if ((!fields.next() && !fields.hasOverrun()) || fields.type != MessageReader::bytes)
    return;
  dtype = fields.number == 1   ? int32_t(WEIR_STRING)
          : fields.number == 2 ? int32_t(WEIR_F32)
          : fields.number == 3 ? int32_t(WEIR_I64)
                               : unknown;
  list = fields.contents;
}

bool Feature::append(Growing &values, int64_t *count) const {
  int64_t size = weir_dtype_size(dtype), before = values.size();
  auto add = [&](const void *value) {
    return values.append(static_cast<const char *>(value), size);
  };
  MessageReader fields(list);
  while (fields.next()) {
    if (fields.number != 1)
      return false;
    if (dtype == WEIR_STRING) {
      if (fields.type != MessageReader::bytes || !add(&fields.contents))
        return false;
      continue;
    }
    if (fields.type == (dtype == WEIR_F32 ? MessageReader::fixed32 : MessageReader::varint)) {
      if (!add(&fields.value))
        return false;
      continue;
    }
    if (fields.type != MessageReader::bytes)
      return false;
    PackedReader packed(fields.contents);
    while (!packed.atEnd()) {
      uint64_t value = 0;
      uint32_t half;
      if (dtype == WEIR_F32 ? !packed.fixed(&half, 4) : !packed.varint(&value))
        return false;
      if (!add(dtype == WEIR_F32 ? static_cast<void *>(&half) : &value))
        return false;
    }
  }
  *count = (values.size() - before) / size;
  return !fields.failed() && !values.failed();
}

static bool readEntry(const weir_string &message, List<Entry> &entries) {
  Entry entry = {};
  int32_t count = 0;
  MessageReader parts(message);
  for (; parts.next(); ++count)
    if (parts.is(1, MessageReader::bytes))
      entry.key = parts.contents;
    else if (parts.is(2, MessageReader::bytes))
      entry.value = parts.contents;
    else
      return false;
  return !parts.failed() && count == 2 && entries.push(entry);
}

bool readEntries(const weir_string &map, List<Entry> &entries) {
  MessageReader fields(map);
  while (fields.next())
    if (!fields.is(1, MessageReader::bytes) || !readEntry(fields.contents, entries))
      return false;
  // Here, too, what there is counts and not what is claimed.
  return !fields.failed() ||
         (fields.hasOverrun() && fields.number == 1 && readEntry(fields.contents, entries));
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

bool Columns::init(int64_t wanted) {
  if (wanted == 0)
    return true;
  columns = static_cast<Column *>(weir_custom_alloc(ctx, wanted * int64_t(sizeof(Column))));
  if (!columns)
    return false;
  for (; count < wanted; ++count)
    new (&columns[count]) Column(ctx);
  return true;
}

Columns::~Columns() {
  for (int64_t i = 0; i < count; ++i)
    columns[i].~Column();
  weir_rt_free(ctx, columns);
  weir_rt_free(ctx, table);
}

/// FNV-1a.
uint64_t hashKey(const weir_string &key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int64_t i = 0; i < key.size; ++i)
    hash = (hash ^ uint8_t(key.data[i])) * 0x100000001b3;
  return hash;
}

bool Columns::index() {
  int64_t slots = 4;
  while (slots < count * 2)
    slots *= 2;
  table = static_cast<int32_t *>(weir_custom_alloc(ctx, slots * int64_t(sizeof(int32_t))));
  if (!table)
    return false;
  mask = uint64_t(slots) - 1;
  for (int64_t i = 0; i < slots; ++i)
    table[i] = -1;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t at = hashKey(columns[i].key);
    while (table[at & mask] >= 0)
      ++at;
    table[at & mask] = int32_t(i);
  }
  return true;
}

Column *Columns::find(const weir_string &key, uint64_t *at) {
  while (true) {
    int32_t found = table[(*at)++ & mask];
    if (found < 0)
      return nullptr;
    if (equalStrings(columns[found].key, key))
      return &columns[found];
  }
}

const int64_t *describeDense(Column &column, const int64_t *attributes) {
  column.kind = Column::Kind::Dense;
  column.rank = int32_t(attributes[0]);
  column.shape = attributes + 1;
  column.isVariable = column.rank > 0 && column.shape[0] < 0;
  for (int32_t d = column.isVariable; d < column.rank; ++d)
    column.stride *= column.shape[d];
  return attributes + 1 + column.rank;
}

const char *typeName(int32_t dtype) {
  return dtype == WEIR_F32 ? "float" : dtype == WEIR_I64 ? "int64" : "string";
}

Text &operator<<(Text &text, const Column &column) {
  text << '[';
  for (int32_t d = 0; d < column.rank; ++d) {
    text << (d ? "," : "");
    if (column.shape[d] < 0)
      text << '?';
    else
      text << column.shape[d];
  }
  return text << ']';
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

bool giveValues(weir_context *ctx, const Column &column, weir_tensor &result) {
  int64_t size = column.size();
  if (!shapeResult(ctx, result, 1, &size))
    return false;
  if (size > 0)
    memcpy(result.data, &column.values[0], size_t(column.values.size()));
  return true;
}

bool giveSplits(weir_context *ctx, const List<int64_t> &counts, weir_tensor &splits) {
  int64_t size = counts.size() + 1, sum = 0;
  if (!shapeResult(ctx, splits, 1, &size))
    return false;
  storeIndex(splits, 0, 0);
  for (int64_t i = 0; i < counts.size(); ++i)
    storeIndex(splits, i + 1, sum += counts[i]);
  return true;
}

bool giveSparse(weir_context *ctx, const Column &column, int64_t batch, weir_tensor &indices,
                weir_tensor &values, weir_tensor &shape) {
  bool isBatch = batch >= 0;
  int64_t dims[2] = {column.size(), isBatch ? 2 : 1}, rank = dims[1], most = 0;
  if (!giveValues(ctx, column, values) || !shapeResult(ctx, indices, 2, dims) ||
      !shapeResult(ctx, shape, 1, &rank))
    return false;
  auto *to = static_cast<int64_t *>(indices.data);
  for (int64_t e = 0; e < column.counts.size(); ++e) {
    most = column.counts[e] > most ? column.counts[e] : most;
    for (int64_t i = 0; i < column.counts[e]; ++i) {
      if (isBatch)
        *to++ = e;
      *to++ = i;
    }
  }
  auto *sizes = static_cast<int64_t *>(shape.data);
  if (isBatch)
    *sizes++ = batch;
  *sizes = most;
  return true;
}

void fillWith(const Column &column, uint8_t *to, int64_t count) {
  int64_t size = weir_dtype_size(column.dtype);
  int64_t given = column.standard ? elementCountOf(*column.standard) : 0;
  for (int64_t i = 0; i < count; ++i, to += size)
    if (given > 0)
      memcpy(to, static_cast<const uint8_t *>(column.standard->data) + i % given * size,
             size_t(size));
    else
      memset(to, 0, size_t(size));
}

bool giveDense(weir_context *ctx, const Column &column, int64_t batch, weir_tensor &result) {
  int64_t dims[WEIR_MAX_RANK];
  int32_t rank = 0;
  if (batch >= 0)
    dims[rank++] = batch;
  int64_t most = column.stride;
  if (column.isVariable)
    for (int64_t e = 0; e < column.counts.size(); ++e)
      most = column.counts[e] > most || e == 0 ? column.counts[e] : most;
  if (column.isVariable && column.counts.size() == 0)
    most = 0;
  for (int32_t d = 0; d < column.rank; ++d)
    dims[rank++] = column.shape[d];
  if (column.isVariable)
    dims[rank - column.rank] = column.stride > 0 ? most / column.stride : 0;
  if (!shapeResult(ctx, result, rank, dims))
    return false;
  int64_t size = weir_dtype_size(column.dtype);
  auto *to = static_cast<uint8_t *>(result.data);
  const char *from = column.values.size() > 0 ? &column.values[0] : nullptr;
  if (!column.isVariable) {
    if (from)
      memcpy(to, from, size_t(column.values.size()));
    return true;
  }
  for (int64_t e = 0; e < column.counts.size(); ++e) {
    int64_t own = column.counts[e] * size;
    if (own > 0)
      memcpy(to, from, size_t(own));
    from += own;
    fillWith(column, to + own, most - column.counts[e]);
    to += most * size;
  }
  return true;
}

bool giveRagged(weir_context *ctx, const Column &column, int64_t batch, weir_tensor &values,
                weir_tensor &splits) {
  if (!giveValues(ctx, column, values))
    return false;
  int64_t none = 0;
  return batch < 0 ? shapeResult(ctx, splits, 1, &none) : giveSplits(ctx, column.counts, splits);
}

} // namespace weir::rt

//===- parse_sequence_example.cpp - sequence examples as tensors ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/example.h"
#include "weir/input.h"

using namespace weir::rt;

namespace {

class Parser {
public:
  Parser(weir_context *ctx, const weir_tensor &serialized, const weir_tensor &names)
      : context(ctx), lists(ctx), ctx(ctx), serialized(serialized), names(names), entries(ctx),
        listEntries(ctx) {}

  int32_t checkOperands();
  int32_t parse(int64_t number);
  bool giveLists(int64_t batch, weir_tensor *results, bool hasLengths, int64_t sparse,
                 int64_t dense, int64_t ragged);

  Columns context, lists;

private:
  bool readExample(const weir_string &message);
  Text &where(Text &out, int64_t number, const char *what, const Column &column) const;
  int32_t failBroken(int64_t number) const;
  int32_t take(int64_t number, const weir_string &value, Column &column);
  int32_t takeList(int64_t number, const weir_string &value, Column &column);
  int32_t takeFrame(int64_t number, int64_t frame, const weir_string &value, Column &column);
  int32_t miss(int64_t number, Column &column);
  int32_t missList(int64_t number, Column &column);
  bool giveSparseList(const Column &column, int64_t batch, weir_tensor &indices,
                      weir_tensor &values, weir_tensor &shape);
  bool giveDenseList(const Column &column, int64_t batch, weir_tensor &result,
                     weir_tensor *lengths);

  weir_context *const ctx;
  const weir_tensor &serialized, &names;
  List<Entry> entries, listEntries;
};

int32_t Parser::checkOperands() {
  int64_t named = elementCountOf(names);
  if (serialized.rank > 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Expected serialized to be a scalar or vector");
  if (named > 0 && named != elementCountOf(serialized))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "example_names must be empty or have the correct number of elements");
  for (int64_t i = 0; i < context.size(); ++i) {
    Column &column = context[i];
    if (column.kind != Column::Kind::Dense)
      continue;
    const weir_tensor &standard = *column.standard;
    bool fits = standard.rank == column.rank;
    for (int32_t d = 0; fits && d < column.rank; ++d)
      fits = standard.dims[d] == column.shape[d];
    if (standard.dtype != column.dtype)
      return failDtype(ctx, "a default", standard.dtype);
    if (fits || elementCountOf(standard) == 0)
      continue;
    char message[240];
    Text out(message, sizeof(message));
    out << "the default of \"";
    out.append(column.key.data, column.key.size < 100 ? column.key.size : 100)
        << "\" does not have the feature's shape " << column;
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  return WEIR_OK;
}

/// Collects the features and the feature lists of a message.
bool Parser::readExample(const weir_string &message) {
  entries.clear();
  listEntries.clear();
  MessageReader fields(message);
  while (fields.next())
    if (fields.type == MessageReader::bytes && fields.number <= 2 &&
        !readEntries(fields.contents, fields.number == 1 ? entries : listEntries))
      return false;
  return !fields.failed() || (fields.hasOverrun() && fields.number > 2);
}

/// "Name: n, Feature list: k"
Text &Parser::where(Text &out, int64_t number, const char *what, const Column &column) const {
  weir_string name = stringOf("<unknown>");
  if (elementCountOf(names) > 0)
    name = stringsOf(names)[number];
  out << "Name: ";
  out.append(name.data, name.size < 100 ? name.size : 100) << ", " << what;
  return out.append(column.key.data, column.key.size < 100 ? column.key.size : 100);
}

int32_t Parser::failBroken(int64_t number) const {
  char message[200];
  Text out(message, sizeof(message));
  out << "Invalid protocol message input, example id: ";
  if (elementCountOf(names) > 0)
    out.append(stringsOf(names)[number].data,
               stringsOf(names)[number].size < 100 ? stringsOf(names)[number].size : 100);
  else
    out << "<unknown>";
  return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
}

int32_t Parser::take(int64_t number, const weir_string &value, Column &column) {
  if (column.last == number)
    return WEIR_OK;
  column.last = number;
  Feature feature(value);
  char message[400];
  Text out(message, sizeof(message));
  int64_t count = 0;
  if (feature.dtype != Feature::none) {
    if (feature.dtype != column.dtype) {
      where(out, number, "Context feature: ", column)
          << ".  Data types don't match. Expected type: " << typeName(column.dtype);
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
    if (!feature.append(column.values, &count))
      return column.values.failed() ? int32_t(WEIR_RESOURCE_EXHAUSTED) : failBroken(number);
  }
  if (column.kind == Column::Kind::Dense && count != column.stride) {
    where(out, number, "Key: ", column)
        << ", Index: " << number << ".  Number of " << typeName(column.dtype)
        << " values != expected.  values size: " << count << " but output shape: " << column;
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  return column.counts.push(count) ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
}

int32_t Parser::miss(int64_t number, Column &column) {
  if (column.kind != Column::Kind::Dense)
    return column.counts.push(0) ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
  int64_t count = elementCountOf(*column.standard);
  if (count == 0 && column.stride > 0) {
    char message[400];
    Text out(message, sizeof(message));
    where(out, number, "Feature: ", column)
        << " (data type: " << typeName(column.dtype) << ") is required but could not be found.";
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  column.values.append(static_cast<const char *>(column.standard->data),
                       count * weir_dtype_size(column.dtype));
  return column.counts.push(count) && !column.values.failed() ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
}

int32_t Parser::takeFrame(int64_t number, int64_t frame, const weir_string &value, Column &column) {
  Feature feature(value);
  int64_t count = 0;
  char message[400];
  Text out(message, sizeof(message));
  if (feature.dtype != Feature::none) {
    if (feature.dtype != column.dtype) {
      where(out, number, "Feature list: ", column)
          << ", Index: " << frame
          << ".  Data types don't match. Expected type: " << typeName(column.dtype);
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
    if (!feature.append(column.values, &count))
      return column.values.failed() ? int32_t(WEIR_RESOURCE_EXHAUSTED) : failBroken(number);
  }
  if (column.kind == Column::Kind::Dense && count != column.stride) {
    where(out, number, "Key: ", column)
        << ", Index: " << frame << ".  Number of " << typeName(column.dtype)
        << " values != expected.  values size: " << count << " but output shape: " << column;
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  return column.counts.push(count) ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
}

int32_t Parser::takeList(int64_t number, const weir_string &value, Column &column) {
  if (column.last == number)
    return WEIR_OK;
  column.last = number;
  int64_t frame = 0;
  MessageReader fields(value);
  while (fields.next()) {
    if (!fields.is(1, MessageReader::bytes))
      return failBroken(number);
    if (int32_t code = takeFrame(number, frame++, fields.contents, column))
      return code;
  }
  if (fields.failed())
    return failBroken(number);
  return column.frames.push(frame) ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
}

int32_t Parser::missList(int64_t number, Column &column) {
  if (column.kind == Column::Kind::Dense && !column.mayMiss) {
    char message[400];
    Text out(message, sizeof(message));
    where(out, number, "Feature list '", column)
        << "' is required but could not be found.  Did you mean to include it in "
           "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?";
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  return column.frames.push(0) ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
}

int32_t Parser::parse(int64_t number) {
  if (!readExample(stringsOf(serialized)[number]))
    return entries.failed() || listEntries.failed() ? int32_t(WEIR_RESOURCE_EXHAUSTED)
                                                    : failBroken(number);
  for (int64_t i = entries.size(); i-- > 0;) {
    uint64_t at = hashKey(entries[i].key);
    while (Column *column = context.find(entries[i].key, &at))
      if (int32_t code = take(number, entries[i].value, *column))
        return code;
  }
  for (int64_t i = 0; i < context.size(); ++i)
    if (context[i].last != number)
      if (int32_t code = miss(number, context[i]))
        return code;
  for (int64_t i = listEntries.size(); i-- > 0;) {
    uint64_t at = hashKey(listEntries[i].key);
    while (Column *column = lists.find(listEntries[i].key, &at))
      if (int32_t code = takeList(number, listEntries[i].value, *column))
        return code;
  }
  for (int64_t i = 0; i < lists.size(); ++i)
    if (lists[i].last != number)
      if (int32_t code = missList(number, lists[i]))
        return code;
  return WEIR_OK;
}

//===----------------------------------------------------------------------===//
// Results of lists
//===----------------------------------------------------------------------===//

bool Parser::giveSparseList(const Column &column, int64_t batch, weir_tensor &indices,
                            weir_tensor &values, weir_tensor &shape) {
  bool isBatch = batch >= 0;
  int64_t dims[2] = {column.size(), isBatch ? 3 : 2}, most = 0, longest = 0, frame = 0;
  if (!giveValues(ctx, column, values) || !shapeResult(ctx, indices, 2, dims) ||
      !shapeResult(ctx, shape, 1, &dims[1]))
    return false;
  auto *to = static_cast<int64_t *>(indices.data);
  for (int64_t e = 0; e < column.frames.size(); ++e) {
    longest = column.frames[e] > longest ? column.frames[e] : longest;
    for (int64_t f = 0; f < column.frames[e]; ++f, ++frame) {
      most = column.counts[frame] > most ? column.counts[frame] : most;
      for (int64_t i = 0; i < column.counts[frame]; ++i) {
        if (isBatch)
          *to++ = e;
        *to++ = f;
        *to++ = i;
      }
    }
  }
  auto *sizes = static_cast<int64_t *>(shape.data);
  if (isBatch)
    *sizes++ = batch;
  sizes[0] = longest;
  sizes[1] = most;
  return true;
}

/// Frames that an example does not have are zeros, or empty strings.
bool Parser::giveDenseList(const Column &column, int64_t batch, weir_tensor &result,
                           weir_tensor *lengths) {
  int64_t dims[WEIR_MAX_RANK], longest = 0;
  int32_t rank = 0;
  bool isBatch = batch >= 0;
  for (int64_t e = 0; e < column.frames.size(); ++e)
    longest = column.frames[e] > longest ? column.frames[e] : longest;
  if (isBatch)
    dims[rank++] = batch;
  dims[rank++] = longest;
  for (int32_t d = 0; d < column.rank; ++d)
    dims[rank++] = column.shape[d];
  if (!shapeResult(ctx, result, rank, dims) ||
      (lengths && !shapeResult(ctx, *lengths, isBatch ? 1 : 0, &batch)))
    return false;
  int64_t size = column.stride * weir_dtype_size(column.dtype);
  auto *to = static_cast<uint8_t *>(result.data);
  const char *from = column.values.size() > 0 ? &column.values[0] : nullptr;
  for (int64_t e = 0; e < column.frames.size(); ++e) {
    int64_t own = column.frames[e] * size, whole = longest * size;
    if (own > 0)
      memcpy(to, from, size_t(own));
    if (whole > own)
      memset(to + own, 0, size_t(whole - own));
    from += own;
    to += whole;
    if (lengths)
      storeIndex(*lengths, e, column.frames[e]);
  }
  return true;
}

bool Parser::giveLists(int64_t batch, weir_tensor *results, bool hasLengths, int64_t sparse,
                       int64_t dense, int64_t ragged) {
  for (int64_t i = 0; i < sparse; ++i)
    if (!giveSparseList(lists[i], batch, results[i], results[sparse + i], results[2 * sparse + i]))
      return false;
  results += 3 * sparse;
  for (int64_t i = 0; i < dense; ++i)
    if (!giveDenseList(lists[sparse + i], batch, results[i],
                       hasLengths ? &results[dense + i] : nullptr))
      return false;
  results += hasLengths ? 2 * dense : dense;
  for (int64_t i = 0; i < ragged; ++i) {
    const Column &column = lists[sparse + dense + i];
    weir_tensor &outer = results[ragged + i];
    if (!giveValues(ctx, column, results[i]) ||
        !giveSplits(ctx, column.counts, results[2 * ragged + i]))
      return false;
    if (batch >= 0 ? !giveSplits(ctx, column.frames, outer) : !shapeResult(ctx, outer, 0, nullptr))
      return false;
    if (batch < 0)
      storeIndex(outer, 0, 0);
  }
  return true;
}

/// Whether a dense list need not be there: a boolean for each, or the names of
/// those.
bool mayMiss(const weir_tensor &missing, int64_t index, const weir_string &key) {
  int64_t count = elementCountOf(missing);
  if (missing.dtype != WEIR_STRING)
    return index < count && static_cast<const uint8_t *>(missing.data)[index];
  for (int64_t i = 0; i < count; ++i)
    if (equalStrings(stringsOf(missing)[i], key))
      return true;
  return false;
}

} // namespace

int32_t weir_kernel_parse_sequence_example(weir_context *ctx, const weir_tensor *operands,
                                           int32_t operand_count, weir_tensor *results,
                                           int32_t result_count, const int64_t *attributes) {
  const int64_t *counts = attributes; // context, then lists: sparse, dense, ragged
  bool hasLengths = attributes[6];
  int64_t listResults = 3 * counts[3] + (hasLengths ? 2 : 1) * counts[4] + 3 * counts[5];
  bool fits = operand_count == 9 + counts[1] && allStrings(operands, 8) &&
              result_count == 3 * counts[0] + counts[1] + 2 * counts[2] + listResults;
  for (int32_t kind = 0; fits && kind < 6; ++kind)
    fits = elementCountOf(operands[2 + kind]) == counts[kind];
  const weir_tensor &missing = operands[8];
  if (!fits)
    return failOperands(ctx, operands, 8);
  if (missing.dtype != WEIR_STRING && elementCountOf(missing) != counts[4])
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "Expected len(feature_list_dense_missing_assumed_empty) to match "
                       "Nfeature_list_dense");
  Parser parser(ctx, operands[0], operands[1]);
  weir_tensor *contextDense = results + 3 * counts[0], *contextRagged = contextDense + counts[1];
  weir_tensor *ofLists = contextRagged + 2 * counts[2];
  const int64_t *shapes = attributes + 7;
  // The results that hold values, of each kind.
  weir_tensor *values[6] = {
      results + counts[0],     contextDense,
      contextRagged,           ofLists + counts[3],
      ofLists + 3 * counts[3], ofLists + 3 * counts[3] + (hasLengths ? 2 : 1) * counts[4]};
  for (int32_t half = 0; half < 2; ++half) {
    Columns &columns = half ? parser.lists : parser.context;
    const int64_t *own = counts + 3 * half;
    if (!columns.init(own[0] + own[1] + own[2]))
      return WEIR_RESOURCE_EXHAUSTED;
    int64_t at = 0;
    for (int32_t kind = 0; kind < 3; ++kind)
      for (int64_t i = 0; i < own[kind]; ++i) {
        Column &column = columns[at++];
        column.kind = Column::Kind(kind);
        column.key = stringsOf(operands[2 + 3 * half + kind])[i];
        column.dtype = values[3 * half + kind][i].dtype;
        if (column.kind != Column::Kind::Dense)
          continue;
        shapes = describeDense(column, shapes);
        if (half)
          column.mayMiss = mayMiss(missing, i, column.key);
        else
          column.standard = &operands[9 + i];
      }
    if (!columns.index())
      return WEIR_RESOURCE_EXHAUSTED;
  }
  if (int32_t code = parser.checkOperands())
    return code;
  int64_t count = elementCountOf(operands[0]);
  for (int64_t i = 0; i < count; ++i)
    if (int32_t code = parser.parse(i))
      return code;
  int64_t batch = operands[0].rank == 1 ? count : -1;
  Columns &context = parser.context;
  bool good = true;
  for (int64_t i = 0; i < counts[0]; ++i)
    good = good && giveSparse(ctx, context[i], batch, results[i], results[counts[0] + i],
                              results[2 * counts[0] + i]);
  for (int64_t i = 0; i < counts[1]; ++i)
    good = good && giveDense(ctx, context[counts[0] + i], batch, contextDense[i]);
  for (int64_t i = 0; i < counts[2]; ++i) {
    const Column &column = context[counts[0] + counts[1] + i];
    weir_tensor &splits = contextRagged[counts[2] + i];
    good =
        good && giveValues(ctx, column, contextRagged[i]) &&
        (batch < 0 ? shapeResult(ctx, splits, 0, nullptr) : giveSplits(ctx, column.counts, splits));
    if (good && batch < 0)
      storeIndex(splits, 0, 0);
  }
  good = good && parser.giveLists(batch, ofLists, hasLengths, counts[3], counts[4], counts[5]);
  return good ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
}

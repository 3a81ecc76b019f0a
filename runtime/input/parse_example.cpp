//===- parse_example.cpp - examples as tensors ----------------------------===//
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
      : columns(ctx), ctx(ctx), serialized(serialized), names(names), isBatch(serialized.rank == 1),
        entries(ctx) {}

  int32_t checkOperands();
  int32_t parse(int64_t number);

  Columns columns;

private:
  const weir_string &text(int64_t number) const { return stringsOf(serialized)[number]; }
  bool readExample(const weir_string &message);
  int32_t take(int64_t number, const weir_string &value, Column &column);
  int32_t miss(int64_t number, Column &column);
  Text &where(Text &text, int64_t number) const;

  weir_context *const ctx;
  const weir_tensor &serialized, &names;
  const bool isBatch;
  List<Entry> entries;
};

int32_t Parser::checkOperands() {
  int64_t named = elementCountOf(names);
  if (serialized.rank > 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Expected serialized to be a scalar or vector");
  if (named > 0 && isBatch && named != elementCountOf(serialized))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "Expected names have the same size as serialized");
  char message[240];
  Text out(message, sizeof(message));
  for (int64_t i = 0; i < columns.size(); ++i) {
    Column &column = columns[i];
    if (column.kind != Column::Kind::Dense)
      continue;
    const weir_tensor &standard = *column.standard;
    int64_t given = elementCountOf(standard);
    if (standard.dtype != column.dtype)
      return failDtype(ctx, "a default", standard.dtype);
    if (column.isVariable) {
      if (given == 1)
        continue;
      out << "dense_shape of \"";
      out.append(column.key.data, column.key.size < 100 ? column.key.size : 100)
          << "\" is a variable length shape: " << column
          << ", therefore its default must contain a single element (the padding element)";
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
    bool fits = standard.rank == column.rank;
    for (int32_t d = 0; fits && d < column.rank; ++d)
      fits = standard.dims[d] == column.shape[d];
    if (given == 0 || fits)
      continue;
    out << "the default of \"";
    out.append(column.key.data, column.key.size < 100 ? column.key.size : 100)
        << "\" does not have the feature's shape " << column;
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  return WEIR_OK;
}

/// "Name: n, Key: k, Index: 0.  ", of a batch; else "Key: k.  ".
Text &Parser::where(Text &out, int64_t number) const {
  if (!isBatch)
    return out;
  weir_string name = stringOf("<unknown>");
  if (elementCountOf(names) > 0)
    name = stringsOf(names)[number];
  out << "Name: ";
  return out.append(name.data, name.size < 100 ? name.size : 100) << ", ";
}

/// Collects the features of a message; several written one behind the other are
/// one.
bool Parser::readExample(const weir_string &message) {
  entries.clear();
  MessageReader fields(message);
  while (fields.next())
    if (fields.is(1, MessageReader::bytes) && !readEntries(fields.contents, entries))
      return false;
  if (!fields.failed())
    return true;
  // A field may claim more than there is where what there is makes sense, as
  // TensorFlow's reader has it.
  return fields.hasOverrun() && (fields.number != 1 || readEntries(fields.contents, entries));
}

int32_t Parser::take(int64_t number, const weir_string &value, Column &column) {
  Feature feature(value);
  if (feature.dtype == Feature::none || column.last == number)
    return WEIR_OK;
  column.last = number;
  char message[400];
  Text out(message, sizeof(message));
  where(out, number) << "Key: ";
  out.append(column.key.data, column.key.size < 100 ? column.key.size : 100);
  if (isBatch)
    out << ", Index: " << number;
  out << ".  ";
  if (feature.dtype == Feature::unknown) {
    out << "Unsupported datatype.";
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  if (feature.dtype != column.dtype) {
    out << "Data types don't match. Data type: " << typeName(feature.dtype)
        << " but expected type: " << typeName(column.dtype);
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  int64_t count;
  if (!feature.append(column.values, &count)) {
    if (column.values.failed())
      return WEIR_RESOURCE_EXHAUSTED;
    out << "Can't parse serialized Example.";
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  if (column.kind == Column::Kind::Dense) {
    bool fits = !column.isVariable ? count == column.stride
                                   : column.stride > 0 && count % column.stride == 0;
    if (!fits) {
      out << "Number of " << typeName(column.dtype)
          << (column.isVariable ? " values is not a multiple of stride length. Values size: "
                                : " values != expected.  Values size: ")
          << count << " but output shape: " << column;
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
  }
  return column.counts.push(count) ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
}

/// A feature that an example does not have.
int32_t Parser::miss(int64_t number, Column &column) {
  int64_t count = 0;
  if (column.kind == Column::Kind::Dense && !column.isVariable) {
    const weir_tensor &standard = *column.standard;
    count = elementCountOf(standard);
    if (count == 0 && column.stride > 0) {
      char message[300];
      Text out(message, sizeof(message));
      where(out, number) << "Feature: ";
      out.append(column.key.data, column.key.size < 100 ? column.key.size : 100)
          << " (data type: " << typeName(column.dtype) << ") is required but could not be found.";
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
    column.values.append(static_cast<const char *>(standard.data),
                         count * weir_dtype_size(column.dtype));
  }
  return column.counts.push(count) && !column.values.failed() ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
}

int32_t Parser::parse(int64_t number) {
  if (!readExample(text(number)))
    return entries.failed()
               ? int32_t(WEIR_RESOURCE_EXHAUSTED)
               : failString(ctx, "Could not parse example input, value: ", text(number));
  // Of entries of one name the last counts.
  for (int64_t i = entries.size(); i-- > 0;) {
    uint64_t at = hashKey(entries[i].key);
    while (Column *column = columns.find(entries[i].key, &at))
      if (int32_t code = take(number, entries[i].value, *column))
        return code;
  }
  for (int64_t i = 0; i < columns.size(); ++i)
    if (columns[i].last != number)
      if (int32_t code = miss(number, columns[i]))
        return code;
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_parse_example(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  int64_t sparse = attributes[0], dense = attributes[1], ragged = attributes[2];
  if (operand_count != 5 + dense || result_count != 3 * sparse + dense + 2 * ragged ||
      !allStrings(operands, 5) || elementCountOf(operands[2]) != sparse ||
      elementCountOf(operands[3]) != dense || elementCountOf(operands[4]) != ragged)
    return failOperands(ctx, operands, 5);
  Parser parser(ctx, operands[0], operands[1]);
  Columns &columns = parser.columns;
  if (!columns.init(sparse + dense + ragged))
    return WEIR_RESOURCE_EXHAUSTED;
  weir_tensor *denseResults = results + 3 * sparse, *raggedResults = denseResults + dense;
  const int64_t *shapes = attributes + 3;
  for (int64_t i = 0; i < columns.size(); ++i) {
    Column &column = columns[i];
    if (i < sparse) {
      column.kind = Column::Kind::Sparse;
      column.key = stringsOf(operands[2])[i];
      column.dtype = results[sparse + i].dtype;
    } else if (i < sparse + dense) {
      column.key = stringsOf(operands[3])[i - sparse];
      column.dtype = denseResults[i - sparse].dtype;
      column.standard = &operands[5 + i - sparse];
      shapes = describeDense(column, shapes);
    } else {
      column.kind = Column::Kind::Ragged;
      column.key = stringsOf(operands[4])[i - sparse - dense];
      column.dtype = raggedResults[i - sparse - dense].dtype;
    }
  }
  if (!columns.index())
    return WEIR_RESOURCE_EXHAUSTED;
  if (int32_t code = parser.checkOperands())
    return code;
  int64_t count = elementCountOf(operands[0]);
  for (int64_t i = 0; i < count; ++i)
    if (int32_t code = parser.parse(i))
      return code;
  int64_t batch = operands[0].rank == 1 ? count : -1;
  bool good = true;
  for (int64_t i = 0; i < sparse; ++i)
    good = good && giveSparse(ctx, columns[i], batch, results[i], results[sparse + i],
                              results[2 * sparse + i]);
  for (int64_t i = 0; i < dense; ++i)
    good = good && giveDense(ctx, columns[sparse + i], batch, denseResults[i]);
  for (int64_t i = 0; i < ragged; ++i)
    good = good && giveRagged(ctx, columns[sparse + dense + i], batch, raggedResults[i],
                              raggedResults[ragged + i]);
  return good ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
}

//===- decode_csv.cpp - lines of text as columns --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/number_text.h"
#include "kernels/string_support.h"
#include "weir/input.h"

using namespace weir::rt;

namespace {

/// RFC 4180, a record at a time, as TensorFlow reads it.
class Record {
public:
  Record(weir_context *ctx, const int64_t *attributes)
      : fields(ctx), text(ctx), ctx(ctx), delimiter(char(attributes[0])), quotes(attributes[1]),
        chosenCount(attributes[2]), chosen(attributes + 3) {}

  /// Cuts a record into its fields, those that are chosen.
  int32_t split(const weir_string &record);
  int64_t size() const { return fields.size(); }
  weir_string field(int64_t i) const {
    int64_t begin = i ? fields[i - 1] : 0;
    return {fields[i] > begin ? &text[begin] : nullptr, fields[i] - begin};
  }

private:
  int32_t fail(const char *message) { return failMessage(ctx, WEIR_INVALID_ARGUMENT, message); }
  bool isChosen(int64_t column) const {
    return chosenCount == 0 || chosen[fields.size()] == column;
  }
  int32_t readPlain(const weir_string &record, int64_t *at, bool isWanted);
  int32_t readQuoted(const weir_string &record, int64_t *at, bool isWanted);

  List<int64_t> fields; ///< where each one ends in the text
  Growing text;
  weir_context *const ctx;
  const char delimiter;
  const bool quotes;
  const int64_t chosenCount;
  const int64_t *chosen;
};

int32_t Record::readPlain(const weir_string &record, int64_t *at, bool isWanted) {
  for (; *at < record.size && record.data[*at] != delimiter; ++*at) {
    char c = record.data[*at];
    if ((quotes && c == '"') || c == '\n' || c == '\r')
      return fail("Unquoted fields cannot have quotes/CRLFs inside");
    if (isWanted)
      text << c;
  }
  ++*at;
  return WEIR_OK;
}

/// From behind the first quote.
int32_t Record::readQuoted(const weir_string &record, int64_t *at, bool isWanted) {
  const char *data = record.data;
  int64_t last = record.size - 1;
  while (*at < last && (data[*at] != '"' || data[*at + 1] != delimiter)) {
    if (data[*at] == '"' && data[*at + 1] != '"')
      return fail("Quote inside a string has to be escaped by another quote");
    if (isWanted)
      text << data[*at];
    *at += data[*at] == '"' ? 2 : 1;
  }
  if (*at > last || data[*at] != '"' || (*at != last && data[*at + 1] != delimiter))
    return fail("Quoted field has to end with quote followed by delim or end");
  *at += 2;
  return WEIR_OK;
}

int32_t Record::split(const weir_string &record) {
  fields.clear();
  text.clear();
  int64_t column = 0;
  for (int64_t at = 0; at < record.size;) {
    if (record.data[at] == '\n' || record.data[at] == '\r') {
      ++at;
      continue;
    }
    bool isWanted = isChosen(column++);
    bool isQuoted = quotes && record.data[at] == '"';
    at += isQuoted;
    if (int32_t code =
            isQuoted ? readQuoted(record, &at, isWanted) : readPlain(record, &at, isWanted))
      return code;
    if (isWanted && !fields.push(text.size()))
      return WEIR_RESOURCE_EXHAUSTED;
    if (isWanted && chosenCount > 0 && fields.size() == chosenCount)
      break;
  }
  bool isFull = chosenCount > 0 && fields.size() == chosenCount;
  // A delimiter at the end has an empty field behind it.
  if (record.size > 0 && !isFull && isChosen(column) && record.data[record.size - 1] == delimiter)
    fields.push(text.size());
  return text.failed() || fields.failed() ? int32_t(WEIR_RESOURCE_EXHAUSTED) : int32_t(WEIR_OK);
}

/// Element `i` of a result from a field. False: it is no number of that type.
bool store(const weir_string &field, weir_tensor &result, int64_t i, Contents &contents) {
  double real = 0;
  int64_t integer = 0;
  switch (result.dtype) {
  case WEIR_F32:
    if (!parseFloat(field, true, &real))
      return false;
    static_cast<float *>(result.data)[i] = float(real);
    return true;
  case WEIR_F64:
    if (!parseFloat(field, false, &real))
      return false;
    static_cast<double *>(result.data)[i] = real;
    return true;
  case WEIR_I32:
    if (!parseInteger(field, INT32_MIN, INT32_MAX, &integer))
      return false;
    static_cast<int32_t *>(result.data)[i] = int32_t(integer);
    return true;
  case WEIR_I64:
    if (!parseInteger(field, INT64_MIN, INT64_MAX, &integer))
      return false;
    static_cast<int64_t *>(result.data)[i] = integer;
    return true;
  default:
    return contents.copy(field.data, field.size, &stringResult(result)[i]);
  }
}

const char *nameOf(int32_t dtype) {
  return dtype == WEIR_F32   ? "float"
         : dtype == WEIR_F64 ? "double"
         : dtype == WEIR_I32 ? "int32"
                             : "int64";
}

} // namespace

int32_t weir_kernel_decode_csv(weir_context *ctx, const weir_tensor *operands,
                               int32_t operand_count, weir_tensor *results, int32_t result_count,
                               const int64_t *attributes) {
  weir_string absent;
  if (operand_count != 2 + result_count || !allStrings(operands, 1) ||
      !loadString(operands[1], &absent))
    return failOperands(ctx, operands, operand_count);
  const weir_tensor &records = operands[0], *defaults = operands + 2;
  char message[400];
  for (int32_t f = 0; f < result_count; ++f) {
    if (elementCountOf(defaults[f]) > 1) {
      Text(message, sizeof(message)) << "There should only be 1 default per field but field " << f
                                     << " has " << elementCountOf(defaults[f]);
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
    if (defaults[f].dtype != results[f].dtype)
      return failDtype(ctx, "a default", defaults[f].dtype);
    if (!shapeResult(ctx, results[f], records.rank, records.dims))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  PlainLocale locale;
  Record record(ctx, attributes);
  Contents contents(ctx);
  int64_t count = elementCountOf(records);
  for (int64_t i = 0; i < count; ++i) {
    if (int32_t code = record.split(stringsOf(records)[i]))
      return code;
    Text out(message, sizeof(message));
    if (record.size() != result_count) {
      out << "Expect " << result_count << " fields but have " << record.size() << " in record "
          << i;
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
    for (int32_t f = 0; f < result_count; ++f) {
      weir_string field = record.field(f);
      if (field.size == 0 || equalStrings(field, absent)) {
        if (elementCountOf(defaults[f]) != 1) {
          out << "Field " << f << " is required but missing in record " << i << "!";
          return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
        }
        int64_t size = weir_dtype_size(results[f].dtype);
        memcpy(static_cast<uint8_t *>(results[f].data) + i * size, defaults[f].data, size_t(size));
        continue;
      }
      if (store(field, results[f], i, contents))
        continue;
      if (results[f].dtype == WEIR_STRING)
        return WEIR_RESOURCE_EXHAUSTED;
      out << "Field " << f << " in record " << i << " is not a valid " << nameOf(results[f].dtype)
          << ": ";
      out.append(field.data, field.size < 200 ? field.size : 200);
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
  }
  return WEIR_OK;
}

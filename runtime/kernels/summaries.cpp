//===- summaries.cpp - values and histograms for those who watch a model ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's Summary messages, in the wire format of protocol buffers:
//   Summary    1: Value…
//   Value      1: tag, 2: simple_value (float), 5: HistogramProto
//   Histogram  1: min, 2: max, 3: num, 4: sum, 5: sum_squares, 6: bucket_limit…,
//              7: bucket… (doubles; zeros are left out)
//
//===----------------------------------------------------------------------===//

#include "kernels/give_string.h"
#include "kernels/number_text.h"
#include "support/wire_format.h"

#include <float.h>

using namespace weir::rt;

namespace {

void writeDouble(Growing &out, uint32_t field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  if (!bits)
    return;
  writeVarint(out, field << 3 | 1);
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

double valueAt(const weir_tensor &tensor, int64_t i) {
  Number number = numberAt(tensor, i);
  switch (number.kind) {
  case Number::Kind::Float:
    return number.real;
  case Number::Kind::Unsigned:
    return double(uint64_t(number.integer));
  default:
    return double(number.integer);
  }
}

/// Counts values between limits that grow by a tenth, from 1e-12 to 1e20 on both
/// sides of 0.
class Histogram {
public:
  explicit Histogram(weir_context *ctx) : limits(ctx), counts(ctx) {
    List<double> positive(ctx);
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1)
      positive.push(limit);
    positive.push(DBL_MAX);
    for (int64_t i = positive.size(); i-- > 0;)
      limits.push(-positive[i]);
    limits.push(0);
    limits.append(positive.data(), positive.size());
    for (int64_t i = 0; i < limits.size(); ++i)
      counts.push(0);
  }
  bool failed() const { return limits.failed() || counts.failed(); }

  void add(double value) {
    int64_t low = 0, high = limits.size();
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (limits[middle] <= value)
        low = middle + 1;
      else
        high = middle;
    }
    counts[low < counts.size() ? low : counts.size() - 1] += 1;
    least = value < least ? value : least;
    most = value > most ? value : most;
    number += 1;
    sum += value;
    squares += value * value;
  }

  void write(Growing &out) const {
    writeDouble(out, 1, least);
    writeDouble(out, 2, most);
    writeDouble(out, 3, number);
    writeDouble(out, 4, sum);
    writeDouble(out, 5, squares);
    writePacked(out, 6, limits);
    writePacked(out, 7, counts);
  }

private:
  /// The values of one list; of empty buckets that follow each other the last.
  void writePacked(Growing &out, uint32_t field, const List<double> &list) const {
    auto isWritten = [&](int64_t i) {
      return counts[i] > 0 || i + 1 == counts.size() || counts[i + 1] > 0;
    };
    uint64_t count = 0;
    for (int64_t i = 0; i < list.size(); ++i)
      count += isWritten(i);
    writeVarint(out, field << 3 | 2);
    writeVarint(out, count * sizeof(double));
    for (int64_t i = 0; i < list.size(); ++i)
      if (isWritten(i))
        out.append(reinterpret_cast<const char *>(&list[i]), sizeof(double));
  }

  List<double> limits, counts;
  double least = DBL_MAX, most = -DBL_MAX, number = 0, sum = 0, squares = 0;
};

} // namespace

int32_t weir_kernel_scalar_summary(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *) {
  if (operand_count != 2 || result_count != 1 || !allStrings(operands, 1) ||
      elementCountOf(operands[0]) != elementCountOf(operands[1]) || results[0].dtype != WEIR_STRING)
    return failOperands(ctx, operands, 1);
  Growing summary(ctx), entry(ctx);
  int64_t count = elementCountOf(operands[0]);
  for (int64_t i = 0; i < count; ++i) {
    auto value = float(valueAt(operands[1], i));
    entry.clear();
    if (stringsOf(operands[0])[i].size > 0)
      writeBytes(entry, 1, stringsOf(operands[0])[i]);
    writeVarint(entry, 2 << 3 | 5);
    entry.append(reinterpret_cast<const char *>(&value), sizeof(value));
    writeBytes(summary, 1, entry.view());
  }
  return giveString(ctx, summary, results[0]);
}

int32_t weir_kernel_histogram_summary(weir_context *ctx, const weir_tensor *operands,
                                      int32_t operand_count, weir_tensor *results,
                                      int32_t result_count, const int64_t *) {
  weir_string tag;
  if (operand_count != 2 || result_count != 1 || !loadString(operands[0], &tag) ||
      results[0].dtype != WEIR_STRING)
    return failOperands(ctx, operands, 1);
  Histogram histogram(ctx);
  if (histogram.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t count = elementCountOf(operands[1]);
  for (int64_t i = 0; i < count; ++i) {
    double value = valueAt(operands[1], i);
    if (!(value >= -DBL_MAX && value <= DBL_MAX))
      return failString(ctx, "", tag, ": a histogram of NaN or infinity");
    histogram.add(value);
  }
  Growing summary(ctx), entry(ctx), body(ctx);
  histogram.write(body);
  if (tag.size > 0)
    writeBytes(entry, 1, tag);
  writeBytes(entry, 5, body.view());
  writeBytes(summary, 1, entry.view());
  return giveString(ctx, summary, results[0]);
}

int32_t weir_kernel_merge_summary(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *) {
  if (result_count != 1 || !allStrings(operands, operand_count) || results[0].dtype != WEIR_STRING)
    return failOperands(ctx, operands, operand_count);
  Growing summary(ctx);
  List<weir_string> tags(ctx);
  for (int32_t t = 0; t < operand_count; ++t)
    for (int64_t i = 0; i < elementCountOf(operands[t]); ++i) {
      const weir_string &text = stringsOf(operands[t])[i];
      MessageReader fields(text);
      while (fields.next()) {
        if (!fields.is(1, MessageReader::bytes))
          continue;
        weir_string value = fields.contents, tag = {"", 0};
        MessageReader parts(value);
        while (parts.next())
          if (parts.is(1, MessageReader::bytes))
            tag = parts.contents;
        if (parts.failed())
          return failMessage(ctx, WEIR_INVALID_ARGUMENT, "an input is no serialized summary");
        for (int64_t k = 0; tag.size > 0 && k < tags.size(); ++k)
          if (equalStrings(tags[k], tag))
            return failString(ctx, "tag ", tag, " is there twice");
        tags.push(tag);
        writeBytes(summary, 1, value);
      }
      if (fields.failed())
        return failMessage(ctx, WEIR_INVALID_ARGUMENT, "an input is no serialized summary");
    }
  return giveString(ctx, summary, results[0]);
}

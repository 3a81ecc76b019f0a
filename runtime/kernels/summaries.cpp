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
//
//===----------------------------------------------------------------------===//

#include "kernels/give_string.h"
#include "kernels/number_text.h"
#include "support/histogram.h"

using namespace weir::rt;

namespace {

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
  List<double> limits(ctx), counts(ctx);
  Histogram histogram(limits, counts);
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

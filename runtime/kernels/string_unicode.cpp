//===- string_unicode.cpp - text as code points, and from one encoding to another -===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"
#include "kernels/unicode.h"

using namespace weir::rt;

namespace {

enum class Errors : int64_t { Strict, Replace, Ignore };

/// What is done with what is no text.
struct Policy {
  Errors errors;
  uint32_t replacement;
  bool replaceControls;
  bool foundBad = false;

  /// Whether anything is left of a code point, which may change.
  bool take(uint32_t &code) {
    if (isCodePoint(code) && !(replaceControls && code <= 0x1f))
      return true;
    foundBad = true;
    code = replacement;
    return errors != Errors::Ignore;
  }
  bool mayGoOn() const { return errors != Errors::Strict || !foundBad; }
};

Policy policyOf(const int64_t *attributes) {
  return {Errors(attributes[0]), uint32_t(attributes[1]), attributes[2] != 0};
}

/// Calls each(code, offset) for what is left of a text.
template <typename Each>
void forEachCode(const Encoding &as, const weir_string &text, Policy &policy, Each each) {
  Encoding encoding = as;
  const char *end = text.data + text.size;
  for (const char *at = text.data; at < end;) {
    uint32_t code;
    int32_t size = decodeOne(encoding, text.data, at, end, &code);
    if (code != skipCodePoint && policy.take(code))
      each(code, at - text.data);
    at += size;
  }
}

/// Output forms: UTF-8, big-endian UTF-16 and UTF-32.
enum class Form : int64_t { Utf8, Utf16, Utf32 };

void append(Growing &out, uint32_t code, Form form) {
  char bytes[4];
  switch (form) {
  case Form::Utf8:
    out.append(bytes, encodeUtf8(code, bytes));
    return;
  case Form::Utf16:
    if (code >= 0x10000) {
      append(out, 0xd800 + ((code - 0x10000) >> 10), form);
      append(out, 0xdc00 + (code & 0x3ff), form);
      return;
    }
    out << char(code >> 8) << char(code);
    return;
  case Form::Utf32:
    out << char(0) << char(code >> 16) << char(code >> 8) << char(code);
    return;
  }
}

int32_t failText(weir_context *ctx) {
  return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a string is not text in its encoding");
}

} // namespace

int32_t weir_kernel_unicode_decode(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *attributes) {
  weir_string name;
  Encoding encoding;
  if (operand_count != 2 || result_count < 2 || result_count > 3 || !allStrings(operands, 2) ||
      !loadString(operands[1], &name) || !isIndexType(results[0].dtype) ||
      results[1].dtype != WEIR_I32)
    return failOperands(ctx, operands, operand_count);
  if (!findEncoding(name, &encoding))
    return failString(ctx, "the encoding ", name, " is not known");
  Policy policy = policyOf(attributes);
  int64_t count = elementCountOf(operands[0]), splits = count + 1;
  List<int32_t> codes(ctx);
  List<int64_t> offsets(ctx);
  if (!shapeResult(ctx, results[0], 1, &splits))
    return WEIR_RESOURCE_EXHAUSTED;
  storeIndex(results[0], 0, 0);
  for (int64_t i = 0; i < count; ++i) {
    forEachCode(encoding, stringsOf(operands[0])[i], policy, [&](uint32_t code, int64_t offset) {
      codes.push(int32_t(code));
      if (result_count == 3)
        offsets.push(offset);
    });
    if (!policy.mayGoOn())
      return failText(ctx);
    storeIndex(results[0], i + 1, codes.size());
  }
  int64_t size = codes.size();
  if (codes.failed() || offsets.failed() || !shapeResult(ctx, results[1], 1, &size) ||
      (result_count == 3 && !shapeResult(ctx, results[2], 1, &size)))
    return WEIR_RESOURCE_EXHAUSTED;
  if (size > 0)
    memcpy(results[1].data, codes.data(), size_t(size) * sizeof(int32_t));
  if (size > 0 && result_count == 3)
    memcpy(results[2].data, offsets.data(), size_t(size) * sizeof(int64_t));
  return WEIR_OK;
}

int32_t weir_kernel_unicode_encode(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *attributes) {
  if (operand_count != 2 || result_count != 1 || operands[0].dtype != WEIR_I32 ||
      results[0].dtype != WEIR_STRING)
    return failDtype(ctx, "code points", operands[0].dtype);
  Policy policy = policyOf(attributes);
  auto form = Form(attributes[3]);
  const weir_tensor &splits = operands[1];
  int64_t size = elementCountOf(operands[0]), splitCount = elementCountOf(splits);
  int64_t count = splitCount > 0 ? splitCount - 1 : 0;
  bool isGood = splitCount > 0 && integerAt(splits, 0) == 0 && integerAt(splits, count) == size;
  for (int64_t i = 0; isGood && i < count; ++i)
    isGood = integerAt(splits, i) <= integerAt(splits, i + 1);
  if (!isGood)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "row splits begin with 0, never fall, and end with the "
                       "number of code points");
  if (!shapeResult(ctx, results[0], 1, &count))
    return WEIR_RESOURCE_EXHAUSTED;
  Contents contents(ctx);
  Growing out(ctx);
  for (int64_t i = 0; i < count; ++i) {
    out.clear();
    for (int64_t k = integerAt(splits, i); k < integerAt(splits, i + 1); ++k) {
      auto code = uint32_t(integerAt(operands[0], k));
      if (policy.take(code))
        append(out, code, form);
    }
    if (!policy.mayGoOn())
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a value is no Unicode code point");
    if (out.failed() || !contents.copy(out.data(), out.size(), &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

int32_t weir_kernel_unicode_transcode(weir_context *ctx, const weir_tensor *operands,
                                      int32_t operand_count, weir_tensor *results,
                                      int32_t result_count, const int64_t *attributes) {
  weir_string name;
  Encoding encoding;
  if (operand_count != 2 || result_count != 1 || !allStrings(operands, 2) ||
      !loadString(operands[1], &name) || results[0].dtype != WEIR_STRING)
    return failOperands(ctx, operands, operand_count);
  if (!findEncoding(name, &encoding))
    return failString(ctx, "the encoding ", name, " is not known");
  Policy policy = policyOf(attributes);
  auto form = Form(attributes[3]);
  if (!shapeResult(ctx, results[0], operands[0].rank, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  Contents contents(ctx);
  Growing out(ctx);
  int64_t count = elementCountOf(operands[0]);
  for (int64_t i = 0; i < count; ++i) {
    out.clear();
    forEachCode(encoding, stringsOf(operands[0])[i], policy,
                [&](uint32_t code, int64_t) { append(out, code, form); });
    if (!policy.mayGoOn())
      return failText(ctx);
    if (out.failed() || !contents.copy(out.data(), out.size(), &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

int32_t weir_kernel_unicode_script(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *) {
  if (operand_count != 1 || result_count != 1 || operands[0].dtype != WEIR_I32 ||
      results[0].dtype != WEIR_I32)
    return failDtype(ctx, "code points", operands[0].dtype);
  if (!shapeResult(ctx, results[0], operands[0].rank, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t count = elementCountOf(operands[0]);
  for (int64_t i = 0; i < count; ++i)
    static_cast<int32_t *>(results[0].data)[i] = scriptOf(uint32_t(integerAt(operands[0], i)));
  return WEIR_OK;
}

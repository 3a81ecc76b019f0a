//===- string_features.cpp - what ONNX makes of strings before a model ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/lookup_table.h"
#include "kernels/unicode.h"

using namespace weir::rt;

int32_t weir_kernel_label_index(weir_context *ctx, const weir_tensor *operands,
                                int32_t operand_count, weir_tensor *results, int32_t result_count,
                                const int64_t *) {
  if (operand_count != 2 || result_count != 1 || operands[0].dtype != operands[1].dtype ||
      results[0].dtype != WEIR_I64)
    return failDtype(ctx, "a label", operands[0].dtype);
  const weir_tensor &data = operands[0], &keys = operands[1];
  if (!shapeResult(ctx, results[0], data.rank, data.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  LookupMap map(keys.dtype, WEIR_I64, 1);
  int64_t size = weir_dtype_size(keys.dtype), keyCount = elementCountOf(keys);
  auto *bytes = static_cast<const uint8_t *>(keys.data);
  for (int64_t i = 0; i < keyCount; ++i)
    if (map.find(bytes + i * size) < 0 && !map.insert(bytes + i * size, &i))
      return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for labels");
  bytes = static_cast<const uint8_t *>(data.data);
  int64_t count = elementCountOf(data);
  for (int64_t i = 0; i < count; ++i) {
    int64_t entry = map.find(bytes + i * size);
    static_cast<int64_t *>(results[0].data)[i] =
        entry < 0 ? -1 : *static_cast<const int64_t *>(map.valueAt(entry));
  }
  return WEIR_OK;
}

/// Changes the case of all of a text, as far as that is one code point for one.
static bool changeCase(Growing &out, const weir_string &text, bool isUpper) {
  out.clear();
  const char *end = text.data + text.size;
  for (const char *at = text.data; at < end;) {
    uint32_t code, to[3];
    int32_t size = decodeUtf8(at, end, &code);
    if (code == badCodePoint) {
      out.append(at, size);
    } else {
      int32_t count = isUpper ? fullUpperCase(code, to) : fullLowerCase(code, to);
      for (int32_t i = 0; i < count; ++i) {
        char bytes[4];
        out.append(bytes, encodeUtf8(to[i], bytes));
      }
    }
    at += size;
  }
  return !out.failed();
}

int32_t weir_kernel_string_normalize(weir_context *ctx, const weir_tensor *operands,
                                     int32_t operand_count, weir_tensor *results,
                                     int32_t result_count, const int64_t *attributes) {
  const weir_tensor &data = operands[0];
  if (operand_count != 2 || result_count != 1 || !allStrings(operands, 2) ||
      results[0].dtype != WEIR_STRING || data.rank < 1 || data.rank > 2 ||
      (data.rank == 2 && data.dims[0] != 1))
    return failOperands(ctx, operands, operand_count);
  bool isSensitive = attributes[0];
  int64_t action = attributes[1]; // 0: none, 1: lower, 2: upper
  int64_t count = elementCountOf(data), stopCount = elementCountOf(operands[1]);
  Contents contents(ctx);
  Growing text(ctx);
  List<weir_string> stops(ctx), kept(ctx);
  auto folded = [&](const weir_string &in, weir_string *out) {
    if (isSensitive) {
      *out = in;
      return true;
    }
    return changeCase(text, in, false) && contents.copy(text.data(), text.size(), out);
  };
  for (int64_t i = 0; i < stopCount; ++i) {
    weir_string stop;
    if (!folded(stringsOf(operands[1])[i], &stop) || !stops.push(stop))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &word = stringsOf(data)[i];
    weir_string compared;
    if (!folded(word, &compared))
      return WEIR_RESOURCE_EXHAUSTED;
    bool isStop = false;
    for (int64_t s = 0; s < stopCount; ++s)
      isStop |= equalStrings(stops[s], compared);
    if (isStop)
      continue;
    text.clear();
    if (action == 0)
      text << word;
    else
      changeCase(text, word, action == 2);
    weir_string out;
    if (text.failed() || !contents.copy(text.data(), text.size(), &out) || !kept.push(out))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  // Nothing left is one empty string.
  if (kept.size() == 0) {
    weir_string empty;
    if (!contents.copy("", 0, &empty) || !kept.push(empty))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  int64_t dims[2] = {1, kept.size()};
  if (!shapeResult(ctx, results[0], data.rank, dims + 2 - data.rank))
    return WEIR_RESOURCE_EXHAUSTED;
  memcpy(results[0].data, kept.data(), size_t(kept.size()) * sizeof(weir_string));
  return WEIR_OK;
}

int32_t weir_kernel_ngram_counts(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t result_count,
                                 const int64_t *attributes) {
  const weir_tensor &data = operands[0], &pool = operands[1];
  if (operand_count != 4 || result_count != 1 || data.dtype != pool.dtype ||
      results[0].dtype != WEIR_F32 || data.rank > 2)
    return failDtype(ctx, "a sequence", data.dtype);
  // The pool holds all 1-grams, then all 2-grams, …; `begins` where each length
  // begins, `columns` the output column of each n-gram.
  int64_t shortest = attributes[0], longest = attributes[1], skips = attributes[2],
          width = attributes[3];
  const weir_tensor &begins = operands[2], &columns = operands[3];
  int64_t lengths = elementCountOf(begins), poolSize = elementCountOf(pool);
  int64_t rows = data.rank == 2 ? data.dims[0] : 1;
  int64_t size = data.rank ? data.dims[data.rank - 1] : 1;
  int64_t dims[2] = {rows, width};
  if (!shapeResult(ctx, results[0], data.rank == 2 ? 2 : 1, dims + (data.rank == 2 ? 0 : 1)))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *out = static_cast<float *>(results[0].data);
  memset(out, 0, size_t(rows * width) * sizeof(float));
  int64_t bytes = weir_dtype_size(data.dtype);
  auto areEqual = [&](int64_t word, int64_t entry) {
    auto *a = static_cast<const uint8_t *>(data.data) + word * bytes;
    auto *b = static_cast<const uint8_t *>(pool.data) + entry * bytes;
    return data.dtype == WEIR_STRING ? equalStrings(*reinterpret_cast<const weir_string *>(a),
                                                    *reinterpret_cast<const weir_string *>(b))
                                     : memcmp(a, b, size_t(bytes)) == 0;
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t n = shortest; n <= longest && n <= lengths; ++n) {
      int64_t begin = integerAt(begins, n - 1);
      int64_t end = n < lengths ? integerAt(begins, n) : poolSize;
      // The number of the first n-gram of this length among all.
      int64_t first = 0;
      for (int64_t k = 1; k < n; ++k)
        first += (integerAt(begins, k) - integerAt(begins, k - 1)) / k;
      // Words of single ones have no distance.
      int64_t maxSkip = n == 1 ? 0 : skips;
      for (int64_t skip = 0; skip <= maxSkip; ++skip)
        for (int64_t at = 0; at + (n - 1) * (skip + 1) < size; ++at)
          for (int64_t entry = begin; entry + n <= end; entry += n) {
            bool isHit = true;
            for (int64_t k = 0; isHit && k < n; ++k)
              isHit = areEqual(row * size + at + k * (skip + 1), entry + k);
            int64_t column = isHit ? integerAt(columns, first + (entry - begin) / n) : -1;
            if (column >= 0 && column < width)
              out[row * width + column] += 1;
          }
    }
  return WEIR_OK;
}

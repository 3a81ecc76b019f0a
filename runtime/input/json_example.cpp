//===- json_example.cpp - examples written as JSON ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON form of tf.train.Example (example.h), as protocol buffers define it:
//   {"features": {"feature": {NAME: {"floatList": {"value": [1.5, …]}}}}}
// with bytesList (base64) and int64List (numbers or text) likewise. Also what
// TensorFlow's parser is content with: names in snake case, without quotes or in
// single ones, a comma too many, one value without its list. What comes out is in
// the order of what comes in.
//
//===----------------------------------------------------------------------===//

#include "kernels/number_text.h"
#include "kernels/string_support.h"
#include "support/wire_format.h"
#include "weir/input.h"

#include <math.h>
#include <stdlib.h>

using namespace weir::rt;

namespace {

enum class Kind : uint32_t { Bytes = 1, Floats = 2, Integers = 3 };

class JsonExample {
public:
  JsonExample(weir_context *ctx, const weir_string &text)
      : ctx(ctx), at(text.data), end(text.data + text.size) {}

  /// Appends the message. False: the text is none.
  bool read(Growing &out) {
    auto take = [&](const weir_string &name) {
      Growing features(ctx);
      if (!is(name, "features", "features"))
        return false;
      if (isNull())
        return true;
      bool good = readFeatures(features);
      writeBytes(out, 1, features.view());
      return good;
    };
    if (!readObject(take))
      return false;
    skipBlanks();
    return at == end;
  }

private:
  static bool is(const weir_string &name, const char *camel, const char *snake) {
    return equalStrings(name, stringOf(camel)) || equalStrings(name, stringOf(snake));
  }
  void skipBlanks() {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
      ++at;
  }
  bool next(char c) {
    skipBlanks();
    if (at == end || *at != c)
      return false;
    ++at;
    return true;
  }
  bool isNull() {
    skipBlanks();
    if (end - at < 4 || memcmp(at, "null", 4) != 0)
      return false;
    at += 4;
    return true;
  }

  bool readString(Growing &out);
  bool readName(Growing &out);
  bool readCodePoint(uint32_t *point);
  template <typename Take> bool readObject(Take take);
  bool readFeatures(Growing &out);
  bool readMap(Growing &out);
  bool readFeature(Growing &out);
  bool readList(Kind kind, Growing &out);
  bool readValue(Kind kind, Growing &out);
  bool readToken(Growing &token);

  weir_context *const ctx;
  const char *at, *const end;
};

/// Four hexadecimal digits.
bool JsonExample::readCodePoint(uint32_t *point) {
  *point = 0;
  for (int32_t i = 0; i < 4; ++i, ++at) {
    if (at == end)
      return false;
    char c = *at;
    int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
    if (digit < 0)
      return false;
    *point = *point << 4 | uint32_t(digit);
  }
  return true;
}

void appendUtf8(Growing &out, uint32_t point) {
  if (point < 0x80) {
    out << char(point);
    return;
  }
  int32_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  static constexpr uint32_t heads[] = {0, 0xc0, 0xe0, 0xf0};
  out << char(heads[more] | point >> (6 * more));
  while (more-- > 0)
    out << char(0x80 | (point >> (6 * more) & 0x3f));
}

/// What stands between two quotes.
bool JsonExample::readString(Growing &out) {
  skipBlanks();
  if (at == end || (*at != '"' && *at != '\''))
    return false;
  char quote = *at++;
  while (at != end && *at != quote) {
    if (*at != '\\') {
      out << *at++;
      continue;
    }
    if (++at == end)
      return false;
    char c = *at++;
    uint32_t point, low;
    switch (c) {
    case 'u':
      if (!readCodePoint(&point))
        return false;
      if (point >= 0xd800 && point < 0xdc00) {
        if (end - at < 2 || at[0] != '\\' || at[1] != 'u')
          return false;
        at += 2;
        if (!readCodePoint(&low) || low < 0xdc00 || low > 0xdfff)
          return false;
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
      }
      appendUtf8(out, point);
      break;
    case 'n':
      out << '\n';
      break;
    case 't':
      out << '\t';
      break;
    case 'r':
      out << '\r';
      break;
    case 'b':
      out << '\b';
      break;
    case 'f':
      out << '\f';
      break;
    default:
      out << c;
    }
  }
  return at++ != end && !out.failed();
}

bool JsonExample::readName(Growing &out) {
  skipBlanks();
  if (at != end && (*at == '"' || *at == '\''))
    return readString(out);
  while (at != end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                       (*at >= '0' && *at <= '9') || *at == '_' || *at == '$'))
    out << *at++;
  return out.size() > 0 && !out.failed();
}

/// Calls `take` with each name, to read what stands behind it.
template <typename Take> bool JsonExample::readObject(Take take) {
  if (!next('{'))
    return false;
  while (!next('}')) {
    Growing name(ctx);
    if (!readName(name) || !next(':') || !take(name.view()))
      return false;
    if (!next(','))
      return next('}');
  }
  return true;
}

bool JsonExample::readFeatures(Growing &out) {
  return readObject([&](const weir_string &name) {
    return is(name, "feature", "feature") && (isNull() || readMap(out));
  });
}

int compareKeys(const void *a, const void *b) {
  auto &x = *static_cast<const weir_string *>(a), &y = *static_cast<const weir_string *>(b);
  int64_t least = x.size < y.size ? x.size : y.size;
  int order = least > 0 ? memcmp(x.data, y.data, size_t(least)) : 0;
  return order ? order : x.size < y.size ? -1 : x.size > y.size;
}

bool JsonExample::readMap(Growing &out) {
  List<weir_string> keys(ctx);
  Contents contents(ctx);
  bool good = readObject([&](const weir_string &name) {
    Growing entry(ctx), feature(ctx);
    weir_string key;
    writeBytes(entry, 1, name);
    if (!isNull()) {
      if (!readFeature(feature))
        return false;
      writeBytes(entry, 2, feature.view());
    }
    writeBytes(out, 1, entry.view());
    return contents.copy(name.data, name.size, &key) && keys.push(key);
  });
  if (keys.size() > 1)
    qsort(keys.data(), size_t(keys.size()), sizeof(weir_string), compareKeys);
  for (int64_t i = 1; i < keys.size(); ++i)
    good = good && !equalStrings(keys[i - 1], keys[i]);
  return good;
}

bool JsonExample::readFeature(Growing &out) {
  return readObject([&](const weir_string &name) {
    Kind kind = is(name, "bytesList", "bytes_list")   ? Kind::Bytes
                : is(name, "floatList", "float_list") ? Kind::Floats
                                                      : Kind::Integers;
    if (kind == Kind::Integers && !is(name, "int64List", "int64_list"))
      return false;
    if (isNull())
      return true;
    // A feature is one list.
    Growing list(ctx);
    if (out.size() > 0 || !readList(kind, list))
      return false;
    writeBytes(out, uint32_t(kind), list.view());
    return true;
  });
}

bool JsonExample::readList(Kind kind, Growing &out) {
  return readObject([&](const weir_string &name) {
    if (!is(name, "value", "value"))
      return false;
    if (isNull())
      return true;
    if (!next('['))
      return readValue(kind, out);
    while (!next(']')) {
      if (!readValue(kind, out))
        return false;
      if (!next(','))
        return next(']');
    }
    return true;
  });
}

/// A number, or a string.
bool JsonExample::readToken(Growing &token) {
  skipBlanks();
  if (at != end && (*at == '"' || *at == '\''))
    return readString(token);
  while (at != end && ((*at >= '0' && *at <= '9') || *at == '-' || *at == '+' || *at == '.' ||
                       *at == 'e' || *at == 'E'))
    token << *at++;
  // As JSON has it: a digit before the point, and no zero before a digit.
  int64_t first = token.size() > 0 && token[0] == '-';
  if (first >= token.size() || token[first] < '0' || token[first] > '9')
    return false;
  bool isLong = token.size() > first + 1 && token[first + 1] >= '0' && token[first + 1] <= '9';
  return !(token[first] == '0' && isLong) && !token.failed();
}

/// RFC 4648, both alphabets, with or without padding. False: it is none.
bool appendBase64(const weir_string &text, Growing &out) {
  uint32_t bits = 0;
  int32_t count = 0;
  int64_t size = text.size;
  for (int32_t pad = 0; pad < 2 && size > 0 && text.data[size - 1] == '='; ++pad)
    --size;
  for (int64_t i = 0; i < size; ++i) {
    char c = text.data[i];
    int32_t digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                    : c >= 'a' && c <= 'z' ? c - 'a' + 26
                    : c >= '0' && c <= '9' ? c - '0' + 52
                    : c == '+' || c == '-' ? 62
                    : c == '/' || c == '_' ? 63
                                           : -1;
    if (digit < 0)
      return false;
    bits = bits << 6 | uint32_t(digit);
    count += 6;
    if (count < 8)
      continue;
    count -= 8;
    out << char(bits >> count);
  }
  return size % 4 != 1;
}

bool JsonExample::readValue(Kind kind, Growing &out) {
  if (isNull()) { // the default
    if (kind == Kind::Floats)
      out << weir_string{"\x0d\0\0\0\0", 5};
    else
      out << weir_string{kind == Kind::Bytes ? "\x0a\0" : "\x08\0", 2};
    return true;
  }
  Growing token(ctx);
  skipBlanks();
  bool isQuoted = at != end && (*at == '"' || *at == '\'');
  if (!readToken(token))
    return false;
  weir_string text = token.view();
  if (kind == Kind::Bytes) {
    Growing bytes(ctx);
    if (!isQuoted || !appendBase64(text, bytes))
      return false;
    writeBytes(out, 1, bytes.view());
    return true;
  }
  double real = 0;
  int64_t integer = 0;
  if (kind == Kind::Floats) {
    if (!parseFloat(text, true, &real))
      return false;
    bool isNamed = text.size > 0 && (text.data[text.size - 1] == 'y' || text.data[0] == 'N');
    if (!isfinite(real) && !(isQuoted && isNamed))
      return false;
    auto value = float(real);
    out << '\x0d';
    out.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return true;
  }
  if (!parseInteger(text, INT64_MIN, INT64_MAX, &integer)) {
    // A number with a point or an exponent that is an integer nevertheless.
    if (!parseFloat(text, false, &real) || real != floor(real) || fabs(real) >= 0x1p63)
      return false;
    integer = int64_t(real);
  }
  out << '\x08';
  writeVarint(out, uint64_t(integer));
  return true;
}

} // namespace

int32_t weir_kernel_decode_json_example(weir_context *ctx, const weir_tensor *operands,
                                        int32_t operand_count, weir_tensor *results,
                                        int32_t result_count, const int64_t *) {
  if (int32_t code = openStringMap(ctx, operands, operand_count, results, result_count))
    return code;
  PlainLocale locale;
  Contents contents(ctx);
  for (int64_t i = 0; i < elementCountOf(operands[0]); ++i) {
    const weir_string &text = stringsOf(operands[0])[i];
    Growing message(ctx);
    if (!JsonExample(ctx, text).read(message))
      return failString(ctx, "Error while parsing JSON: ", text);
    if (message.failed() ||
        !contents.copy(message.data(), message.size(), &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

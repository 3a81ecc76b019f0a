//===- slice.cpp - parts of tensors ---------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/slice.h"
#include "session/status.h"
#include "support/wire_format.h"

namespace weir::rt {

bool StoredShape::operator==(const StoredShape &other) const {
  return rank == other.rank && memcmp(dims, other.dims, size_t(rank) * sizeof(int64_t)) == 0;
}

int64_t StoredShape::count() const {
  int64_t product = 1;
  bool isEmpty = false;
  for (int32_t i = 0; i < rank; ++i)
    isEmpty |= dims[i] == 0;
  for (int32_t i = 0; i < rank && !isEmpty; ++i)
    if (__builtin_mul_overflow(product, dims[i], &product) || product >> 62)
      return -1;
  return isEmpty ? 0 : product;
}

Text &operator<<(Text &out, const StoredShape &shape) {
  out << '[';
  for (int32_t i = 0; i < shape.rank; ++i)
    out << (i ? "," : "") << shape.dims[i];
  return out << ']';
}

TensorSlice TensorSlice::whole(int32_t rank) {
  TensorSlice slice;
  slice.rank = rank;
  for (int32_t i = 0; i < rank; ++i)
    slice.length[i] = -1;
  return slice;
}

bool TensorSlice::operator==(const TensorSlice &other) const {
  size_t bytes = size_t(rank) * sizeof(int64_t);
  return rank == other.rank && memcmp(start, other.start, bytes) == 0 &&
         memcmp(length, other.length, bytes) == 0;
}

TensorSlice TensorSlice::within(const StoredShape &shape) const {
  TensorSlice box = *this;
  for (int32_t i = 0; i < rank; ++i)
    if (length[i] < 0) {
      box.start[i] = 0;
      box.length[i] = shape.dims[i];
    }
  return box;
}

bool TensorSlice::isWhole(const StoredShape &shape) const {
  TensorSlice box = within(shape);
  for (int32_t i = 0; i < rank; ++i)
    if (box.start[i] != 0 || box.length[i] != shape.dims[i])
      return false;
  return rank == shape.rank;
}

int32_t TensorSlice::applyTo(const StoredShape &shape, StoredShape *out,
                             weir_status *status) const {
  if (rank != shape.rank) {
    StatusText(status, WEIR_INTERNAL)
        << "mismatching ranks: shape = " << shape << ", slice = " << *this;
    return WEIR_INTERNAL;
  }
  TensorSlice box = within(shape);
  out->rank = rank;
  for (int32_t i = 0; i < rank; ++i) {
    int64_t from = box.start[i], size = box.length[i];
    if (from < 0 || size < 0 || from > shape.dims[i] || size > shape.dims[i] - from) {
      StatusText(status, WEIR_INTERNAL)
          << "extent in dimension " << i << " out of bounds: shape = " << shape
          << ", slice = " << *this;
      return WEIR_INTERNAL;
    }
    out->dims[i] = size;
  }
  return WEIR_OK;
}

Text &operator<<(Text &out, const TensorSlice &slice) {
  for (int32_t i = 0; i < slice.rank; ++i) {
    out << (i ? ":" : "");
    if (slice.length[i] < 0)
      out << '-';
    else
      out << slice.start[i] << ',' << slice.length[i];
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static bool parseNumber(const char *at, const char *end, int64_t *value) {
  bool isNegative = at != end && *at == '-';
  at += isNegative;
  if (at == end || end - at > 18)
    return false;
  *value = 0;
  for (; at != end; ++at) {
    if (*at < '0' || *at > '9')
      return false;
    *value = *value * 10 + (*at - '0');
  }
  *value = isNegative ? -*value : *value;
  return true;
}

static int32_t refuse(weir_status *status, const char *reason, const weir_string &text) {
  StatusText(status, WEIR_INVALID_ARGUMENT)
      .append(reason, int64_t(strlen(reason)))
      .append(text.data, text.size < 300 ? text.size : 300);
  return WEIR_INVALID_ARGUMENT;
}

static const char *find(const char *at, const char *end, char c) {
  while (at != end && *at != c)
    ++at;
  return at;
}

static int32_t parseSlice(const weir_string &text, TensorSlice *slice, weir_status *status) {
  slice->rank = 0;
  const char *at = text.data, *end = at + text.size;
  while (at < end) {
    const char *stop = find(at, end, ':');
    weir_string part{at, stop - at};
    at = stop < end ? stop + 1 : end;
    if (part.size == 0)
      continue;
    if (slice->rank == WEIR_MAX_RANK)
      return refuse(status, "found a slice of more than 16 dimensions: ", text);
    int64_t start = 0, length = -1;
    if (part.size != 1 || part.data[0] != '-') {
      const char *last = part.data + part.size, *comma = find(part.data, last, ',');
      if (comma == last || !parseNumber(part.data, comma, &start) ||
          !parseNumber(comma + 1, last, &length))
        return refuse(status, "expected a pair of numbers or '-': string = ", text);
      if (start < 0 || length <= 0)
        return refuse(status,
                      "expected a non-negative start and a positive length: string = ", text);
    }
    slice->start[slice->rank] = start;
    slice->length[slice->rank++] = length;
  }
  return WEIR_OK;
}

int32_t parseShapeAndSlice(const weir_string &text, StoredShape *shape, TensorSlice *slice,
                           StoredShape *sliced, weir_status *status) {
  const char *at = text.data, *end = at + text.size, *last = end;
  while (last > at && last[-1] != ' ')
    --last;
  if (last == at)
    return refuse(status, "need two elements at least in a shape_and_slice specification: ", text);
  shape->rank = 0;
  while (at < last) {
    const char *stop = find(at, last, ' ');
    if (shape->rank == WEIR_MAX_RANK)
      return refuse(status, "found a shape of more than 16 dimensions: ", text);
    int64_t size;
    if (!parseNumber(at, stop, &size) || size < 0)
      return refuse(status, "found a dimension that is no number in shape_and_slice: ", text);
    shape->dims[shape->rank++] = size;
    at = stop + 1;
  }
  if (last == end)
    return refuse(status, "found a dimension that is no number in shape_and_slice: ", text);
  if (int32_t code = parseSlice({last, end - last}, slice, status))
    return code;
  return slice->applyTo(*shape, sliced, status);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

// Numbers: a byte with the count of bytes, then those, big-endian. Names: 00
// becomes 00 FF, FF becomes FF 00, 00 01 ends. Signed numbers of n bytes: the
// two's complement, big-endian, with n leading ones laid over it by exclusive
// or (for negative numbers, which have ones there, n zeros come out).

static int bitWidth(uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }

static void appendNumber(HeapText &key, uint64_t value) {
  int bytes = (bitWidth(value) + 7) / 8;
  key << char(bytes);
  for (int i = bytes; i-- > 0;)
    key << char(value >> (8 * i));
}

static void appendString(HeapText &key, const weir_string &text) {
  for (int64_t i = 0; i < text.size; ++i) {
    char c = text.data[i];
    key << c;
    if (c == '\0')
      key << '\xff';
    else if (c == '\xff')
      key << '\0';
  }
  key << '\0' << '\x01';
}

static void appendSigned(HeapText &key, int64_t value) {
  auto magnitude = uint64_t(value < 0 ? ~value : value);
  // n bytes hold 7n - 1 bits and a sign.
  int bytes = bitWidth(magnitude) / 7 + 1;
  for (int i = bytes; i-- > 0;) {
    auto byte = uint8_t(i >= 8 ? (value < 0 ? 0xff : 0) : uint64_t(value) >> (8 * i));
    int ones = bytes - 8 * (bytes - 1 - i);
    if (ones > 0)
      byte ^= uint8_t(ones >= 8 ? 0xff : 0xff << (8 - ones));
    key << char(byte);
  }
}

void writeSliceKey(HeapText &key, const weir_string &name, const TensorSlice &slice) {
  appendNumber(key, 0);
  appendString(key, name);
  appendNumber(key, uint64_t(slice.rank));
  for (int32_t i = 0; i < slice.rank; ++i) {
    appendSigned(key, slice.start[i]);
    appendSigned(key, slice.length[i]);
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

// TensorShapeProto: 2: dim…, each 1: size. TensorSliceProto: 1: extent…, each 1: start,
// 2: length, which is written where it is 0, too, and left out where it is all.

void writeShape(HeapText &out, const StoredShape &shape) {
  HeapText dim;
  for (int32_t i = 0; i < shape.rank; ++i) {
    dim.clear();
    writeNumber(dim, 1, uint64_t(shape.dims[i]));
    writeBytes(out, 2, dim.view());
  }
}

void writeSlice(HeapText &out, const TensorSlice &slice) {
  HeapText extent;
  for (int32_t i = 0; i < slice.rank; ++i) {
    extent.clear();
    if (slice.length[i] >= 0) {
      writeNumber(extent, 1, uint64_t(slice.start[i]));
      writeVarint(extent, 2 << 3);
      writeVarint(extent, uint64_t(slice.length[i]));
    }
    writeBytes(out, 1, extent.view());
  }
}

bool readShape(const weir_string &message, StoredShape *shape) {
  MessageReader fields(message);
  shape->rank = 0;
  while (fields.next()) {
    if (fields.is(3, MessageReader::varint) && fields.value)
      return false; // of unknown rank
    if (!fields.is(2, MessageReader::bytes))
      continue;
    int64_t size = 0;
    MessageReader dim(fields.contents);
    while (dim.next())
      if (dim.is(1, MessageReader::varint))
        size = int64_t(dim.value);
    if (dim.failed() || size < 0 || shape->rank == WEIR_MAX_RANK)
      return false;
    shape->dims[shape->rank++] = size;
  }
  return !fields.failed();
}

bool readSlice(const weir_string &message, TensorSlice *slice) {
  MessageReader fields(message);
  slice->rank = 0;
  while (fields.next()) {
    if (!fields.is(1, MessageReader::bytes))
      continue;
    int64_t start = 0, length = -1;
    MessageReader extent(fields.contents);
    while (extent.next())
      if (extent.is(1, MessageReader::varint))
        start = int64_t(extent.value);
      else if (extent.is(2, MessageReader::varint))
        length = int64_t(extent.value);
    if (extent.failed() || start < 0 || length < -1 || slice->rank == WEIR_MAX_RANK)
      return false;
    slice->start[slice->rank] = start;
    slice->length[slice->rank++] = length;
  }
  return !fields.failed();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

bool intersect(const TensorSlice &a, const TensorSlice &b, TensorSlice *common) {
  common->rank = a.rank;
  for (int32_t i = 0; i < a.rank; ++i) {
    int64_t from = a.start[i] > b.start[i] ? a.start[i] : b.start[i];
    int64_t endA = a.start[i] + a.length[i], endB = b.start[i] + b.length[i];
    int64_t to = endA < endB ? endA : endB;
    if (to <= from)
      return false;
    common->start[i] = from;
    common->length[i] = to - from;
  }
  return true;
}

int64_t elementsOf(const TensorSlice &slice) {
  int64_t count = 1;
  for (int32_t i = 0; i < slice.rank; ++i)
    count *= slice.length[i];
  return count;
}

void copySlice(const TensorSlice &common, const TensorSlice &from, const void *source,
               const TensorSlice &to, void *target, int64_t elementBytes) {
  int32_t rank = common.rank;
  // Dimensions that all three have whole are copied as one with the one before.
  int32_t inner = rank;
  int64_t row = 1;
  while (inner > 0) {
    --inner;
    row *= common.length[inner];
    if (common.length[inner] != from.length[inner] || common.length[inner] != to.length[inner])
      break;
  }
  int64_t rows = 1, index[WEIR_MAX_RANK] = {};
  for (int32_t i = 0; i < inner; ++i)
    rows *= common.length[i];
  for (int64_t r = 0; r < rows; ++r) {
    int64_t atSource = 0, atTarget = 0;
    for (int32_t i = 0; i < rank; ++i) {
      int64_t place = common.start[i] + index[i];
      atSource = atSource * from.length[i] + place - from.start[i];
      atTarget = atTarget * to.length[i] + place - to.start[i];
    }
    if (row > 0)
      memcpy(static_cast<char *>(target) + atTarget * elementBytes,
             static_cast<const char *>(source) + atSource * elementBytes,
             size_t(row * elementBytes));
    for (int32_t i = inner; i-- > 0;) {
      if (++index[i] < common.length[i])
        break;
      index[i] = 0;
    }
  }
}

} // namespace weir::rt

//===- serialized_sparse.cpp - sparse tensors as strings, and back --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/tensor_proto.h"
#include "weir/input.h"

using namespace weir::rt;

static constexpr int64_t int64Type = 9; // TensorFlow's number

namespace {

/// A sparse tensor of operands: indices [n, rank], values [n], shape [rank].
struct Sparse {
  const int64_t *indices;
  const weir_tensor &values;
  const int64_t *shape;
  int64_t count, rank;
};

int32_t failInvalid(weir_context *ctx, const char *message) {
  return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
}

int32_t checkRanks(weir_context *ctx, const weir_tensor *operands) {
  if (operands[0].rank != 2 || operands[1].rank != 1 || operands[2].rank != 1)
    return failInvalid(ctx, "a sparse tensor is a matrix of indices, and vectors of values and of "
                            "sizes");
  return WEIR_OK;
}

int32_t checkSizes(weir_context *ctx, const weir_tensor *operands) {
  const weir_tensor &indices = operands[0], &values = operands[1], &shape = operands[2];
  if (indices.dims[0] != values.dims[0])
    return failInvalid(ctx, "there are other numbers of values and of indices");
  if (indices.dims[1] != shape.dims[0])
    return failInvalid(ctx, "indices have another length than the shape");
  return WEIR_OK;
}

/// Writes three strings: indices, values of `type`, a shape.
bool writeParts(weir_context *ctx, const weir_tensor *parts, int64_t type, Contents &contents,
                weir_string *to) {
  for (int32_t i = 0; i < 3; ++i) {
    Growing text(ctx);
    if (!writeTensor(ctx, text, i == 1 ? type : int64Type, parts[i], Strings::InContent) ||
        !contents.copy(text.data(), text.size(), &to[i]))
      return false;
  }
  return true;
}

/// Writes three strings: `count` elements from `first` on, without their first coordinate.
bool writeSparse(weir_context *ctx, const Sparse &sparse, int64_t first, int64_t count,
                 int64_t type, Contents &contents, weir_string *to) {
  int64_t rank = sparse.rank - 1;
  Scratch<int64_t> rows(ctx, count * rank + 1);
  if (!rows.data)
    return false;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t d = 0; d < rank; ++d)
      rows[i * rank + d] = sparse.indices[(first + i) * sparse.rank + 1 + d];
  weir_tensor parts[3] = {};
  parts[0].dtype = parts[2].dtype = WEIR_I64;
  parts[0].rank = 2;
  parts[0].dims[0] = count;
  parts[0].dims[1] = rank;
  parts[0].data = rows.data;
  parts[1] = sparse.values;
  parts[1].dims[0] = count;
  parts[1].data =
      static_cast<uint8_t *>(sparse.values.data) + first * weir_dtype_size(sparse.values.dtype);
  parts[2].rank = 1;
  parts[2].dims[0] = rank;
  parts[2].data = const_cast<int64_t *>(sparse.shape + 1);
  return writeParts(ctx, parts, type, contents, to);
}

/// Indices of rows must not fall, and lie within the shape.
int32_t checkOrder(weir_context *ctx, const Sparse &sparse) {
  char message[160];
  Text out(message, sizeof(message));
  for (int64_t i = 0; i < sparse.count; ++i) {
    const int64_t *own = sparse.indices + i * sparse.rank;
    int64_t order = i == 0 ? 1 : 0;
    for (int64_t d = 0; d < sparse.rank; ++d) {
      if (own[d] < 0 || own[d] >= sparse.shape[d]) {
        out << "indices[" << i << "] is out of bounds of the sparse tensor's shape";
        return failInvalid(ctx, message);
      }
      if (order == 0)
        order = own[d] - own[d - sparse.rank];
    }
    if (order > 0)
      continue;
    out << "indices[" << i << (order ? "] is out of order" : "] is repeated");
    return failInvalid(ctx, message);
  }
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_serialize_sparse(weir_context *ctx, const weir_tensor *operands, int32_t,
                                     weir_tensor *results, int32_t, const int64_t *attributes) {
  if (int32_t code = checkRanks(ctx, operands))
    return code;
  bool isMany = attributes[1];
  Contents contents(ctx);
  int64_t dims[2] = {3, 3};
  // Parts of one tensor are written as they are, and held against each other where they are read.
  if (!isMany)
    return shapeResult(ctx, results[0], 1, dims) &&
                   writeParts(ctx, operands, attributes[0], contents, stringResult(results[0]))
               ? WEIR_OK
               : WEIR_RESOURCE_EXHAUSTED;
  if (int32_t code = checkSizes(ctx, operands))
    return code;
  Sparse sparse{static_cast<const int64_t *>(operands[0].data), operands[1],
                static_cast<const int64_t *>(operands[2].data), operands[0].dims[0],
                operands[0].dims[1]};
  if (sparse.rank <= 1)
    return failInvalid(ctx, "Rank of input SparseTensor should be > 1");
  if (int32_t code = checkOrder(ctx, sparse))
    return code;
  dims[0] = sparse.shape[0];
  if (dims[0] < 0 || dims[0] > INT64_MAX / 64)
    return failInvalid(ctx, "the first size is none that a tensor can have");
  if (!shapeResult(ctx, results[0], 2, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t row = 0, first = 0; row < dims[0]; ++row) {
    int64_t end = first;
    while (end < sparse.count && sparse.indices[end * sparse.rank] == row)
      ++end;
    if (!writeSparse(ctx, sparse, first, end - first, attributes[0], contents,
                     stringResult(results[0]) + 3 * row))
      return WEIR_RESOURCE_EXHAUSTED;
    first = end;
  }
  return WEIR_OK;
}

namespace {

/// Three strings that are a sparse tensor, with its shape.
struct Parts {
  TensorMessage indices, values, shape;

  int32_t open(weir_context *ctx, const weir_string *strings, int64_t type);
  int64_t count() const { return values.count(); }
  int64_t rank() const { return shape.count(); }
};

int32_t Parts::open(weir_context *ctx, const weir_string *strings, int64_t type) {
  using Problem = TensorMessage::Problem;
  TensorMessage *messages[3] = {&indices, &values, &shape};
  for (int32_t i = 0; i < 3; ++i)
    if (messages[i]->open(strings[i]) != Problem::None)
      return failInvalid(ctx, "Could not parse serialized proto");
  if (values.type != type) {
    char message[160];
    Text(message, sizeof(message))
        << "Requested SparseTensor of type " << tensorTypeName(type)
        << " but SparseTensor's values are " << tensorTypeName(values.type);
    return failInvalid(ctx, message);
  }
  if (indices.type != int64Type || shape.type != int64Type)
    return failInvalid(ctx, "Expected indices and shape of a SparseTensor to be int64");
  if (indices.rank != 2 || values.rank != 1 || shape.rank != 1 ||
      indices.dims[0] != values.dims[0] || indices.dims[1] != shape.dims[0])
    return failInvalid(ctx, "the parts of a serialized SparseTensor do not fit each other");
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_deserialize_sparse(weir_context *ctx, const weir_tensor *operands,
                                       int32_t operand_count, weir_tensor *results, int32_t,
                                       const int64_t *attributes) {
  const weir_tensor &serialized = operands[0];
  if (!allStrings(operands, 1))
    return failOperands(ctx, operands, operand_count);
  if (serialized.rank < 1 || serialized.dims[serialized.rank - 1] != 3)
    return failInvalid(ctx, "Serialized sparse should have 3 as the last dimension");
  int64_t many = elementCountOf(serialized) / 3;
  if (many == 0)
    return failInvalid(ctx, "Serialized sparse should have at least 1 serialized tensor, but has "
                            "a zero dimension");
  const weir_string *strings = stringsOf(serialized);
  int32_t outer = serialized.rank - 1;
  Parts parts;
  int64_t total = 0, inner = 0;
  for (int64_t i = 0; i < many; ++i) {
    if (int32_t code = parts.open(ctx, strings + 3 * i, attributes[0]))
      return code;
    if (i > 0 && parts.rank() != inner) {
      char message[200];
      Text(message, sizeof(message))
          << "Inconsistent shape across SparseTensors: rank prior to SparseTensor[" << i
          << "] was: " << inner << " but rank of SparseTensor[" << i << "] is: " << parts.rank();
      return failInvalid(ctx, message);
    }
    inner = parts.rank();
    total += parts.count();
  }
  int64_t rank = outer + inner, dims[2] = {total, rank};
  if (!shapeResult(ctx, results[0], 2, dims) || !shapeResult(ctx, results[1], 1, &total) ||
      !shapeResult(ctx, results[2], 1, &rank))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *indices = static_cast<int64_t *>(results[0].data);
  auto *values = static_cast<uint8_t *>(results[1].data);
  auto *shape = static_cast<int64_t *>(results[2].data);
  auto element = weir_dtype(results[1].dtype);
  memcpy(shape, serialized.dims, size_t(outer) * sizeof(int64_t));
  for (int64_t d = 0; d < inner; ++d)
    shape[outer + d] = 0;
  for (int64_t i = 0; i < many; ++i) {
    if (int32_t code = parts.open(ctx, strings + 3 * i, attributes[0]))
      return code;
    int64_t count = parts.count();
    Scratch<int64_t> rows(ctx, count * inner + 1), sizes(ctx, inner + 1);
    if (!rows.data || !sizes.data)
      return WEIR_RESOURCE_EXHAUSTED;
    if (!parts.indices.read(WEIR_I64, rows.data) || !parts.shape.read(WEIR_I64, sizes.data) ||
        !parts.values.read(element, values))
      return failInvalid(ctx, "Could not parse serialized proto");
    values += count * weir_dtype_size(element);
    for (int64_t k = 0; k < count; ++k) {
      int64_t place = i;
      for (int32_t d = outer; d-- > 0; place /= serialized.dims[d])
        indices[d] = place % serialized.dims[d];
      if (inner > 0)
        memcpy(indices + outer, rows.data + k * inner, size_t(inner) * sizeof(int64_t));
      indices += rank;
    }
    for (int64_t d = 0; d < inner; ++d)
      shape[outer + d] = sizes[d] > shape[outer + d] ? sizes[d] : shape[outer + d];
  }
  return WEIR_OK;
}

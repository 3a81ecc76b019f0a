//===- serialized_tensors.cpp - tensors as strings, and back --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/tensor_proto.h"
#include "kernels/give_string.h"
#include "kernels/sequence_support.h"
#include "weir/input.h"

using namespace weir::rt;

int32_t weir_kernel_serialize_tensor(weir_context *ctx, const weir_tensor *operands, int32_t,
                                     weir_tensor *results, int32_t, const int64_t *attributes) {
  Growing text(ctx);
  if (!writeTensor(ctx, text, attributes[0], operands[0]))
    return WEIR_RESOURCE_EXHAUSTED;
  return giveString(ctx, text, results[0]);
}

int32_t weir_kernel_parse_tensor(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t,
                                 const int64_t *attributes) {
  weir_string text;
  if (operands[0].rank != 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Expected `serialized` to be a scalar");
  if (!loadString(operands[0], &text))
    return failOperands(ctx, operands, operand_count);
  TensorMessage message;
  switch (message.open(text)) {
  case TensorMessage::Problem::Broken:
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Could not parse `serialized` as TensorProto");
  case TensorMessage::Problem::Invalid:
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Cannot parse tensor from proto");
  case TensorMessage::Problem::Rank:
    return failMessage(ctx, WEIR_UNIMPLEMENTED, "a tensor of more than 16 dimensions");
  case TensorMessage::Problem::None:
    break;
  }
  char problem[160];
  if (message.type != attributes[0]) {
    Text(problem, sizeof(problem))
        << "Type mismatch between parsed tensor (" << tensorTypeName(message.type)
        << ") and dtype (" << tensorTypeName(attributes[0]) << ")";
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, problem);
  }
  weir_dtype element = elementOfTensorType(attributes[0]);
  if (element == WEIR_INVALID)
    return failMessage(ctx, WEIR_UNIMPLEMENTED, "a tensor of that type");
  weir_tensor made = {};
  made.dtype = element;
  made.rank = message.rank;
  memcpy(made.dims, message.dims, sizeof(made.dims));
  int64_t one = 1;
  weir_tensor *boxed = newElement(ctx, made, message.count() * weir_dtype_size(element));
  if (!boxed || !shapeResult(ctx, results[0], 1, &one))
    return WEIR_RESOURCE_EXHAUSTED;
  if (!message.read(element, boxed->data))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Cannot parse tensor from proto");
  *static_cast<weir_tensor_ref *>(results[0].data) = boxed;
  return WEIR_OK;
}

int32_t weir_kernel_box_tensor(weir_context *ctx, const weir_tensor *operands, int32_t,
                               weir_tensor *results, int32_t, const int64_t *) {
  const weir_tensor &elements = operands[0], &shape = operands[1];
  auto *sizes = static_cast<const int64_t *>(shape.data);
  int64_t count = elementCountOf(elements), product = 1;
  if (shape.dtype != WEIR_I64 || shape.rank != 1 || shape.dims[0] > WEIR_MAX_RANK)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the shape is no list of sizes");
  weir_tensor made = {};
  made.dtype = elements.dtype;
  made.rank = int32_t(shape.dims[0]);
  int32_t open = -1;
  bool fits = true;
  for (int32_t d = 0; d < made.rank; ++d) {
    made.dims[d] = sizes[d];
    if (sizes[d] == -1) {
      fits &= open < 0;
      open = d;
      continue;
    }
    fits &= sizes[d] >= 0 && !__builtin_mul_overflow(product, sizes[d], &product);
  }
  if (fits && open >= 0) {
    fits = product > 0 && count % product == 0;
    made.dims[open] = fits ? count / product : 0;
  } else {
    fits &= product == count;
  }
  if (!fits)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "the tensor has another number of elements than the shape asks for");
  int64_t bytes = count * weir_dtype_size(elements.dtype), one = 1;
  weir_tensor *boxed = newElement(ctx, made, bytes);
  if (!boxed || !shapeResult(ctx, results[0], 1, &one))
    return WEIR_RESOURCE_EXHAUSTED;
  if (bytes > 0)
    memcpy(boxed->data, elements.data, size_t(bytes));
  *static_cast<weir_tensor_ref *>(results[0].data) = boxed;
  return WEIR_OK;
}

int32_t weir_kernel_open_tensor(weir_context *ctx, const weir_tensor *operands, int32_t,
                                weir_tensor *results, int32_t, const int64_t *attributes) {
  const weir_tensor &boxed = **static_cast<const weir_tensor_ref *>(operands[0].data);
  int64_t count = elementCountOf(boxed);
  if (boxed.dtype != results[0].dtype)
    return failDtype(ctx, "a tensor", boxed.dtype);
  bool isFlat = attributes[0] < 0;
  bool fits = isFlat || attributes[0] == boxed.rank;
  for (int32_t d = 0; fits && !isFlat && d < boxed.rank; ++d)
    fits = attributes[1 + d] < 0 || attributes[1 + d] == boxed.dims[d];
  if (!fits) {
    char message[400];
    Text out(message, sizeof(message));
    out << "Shape of tensor [";
    for (int32_t d = 0; d < boxed.rank; ++d)
      out << (d ? "," : "") << boxed.dims[d];
    out << "] is not compatible with expected shape [";
    for (int64_t d = 0; d < attributes[0]; ++d)
      out << (d ? "," : "") << attributes[1 + d];
    out << "]";
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  if (!shapeResult(ctx, results[0], isFlat ? 1 : boxed.rank, isFlat ? &count : boxed.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  if (count > 0)
    memcpy(results[0].data, boxed.data, size_t(count * weir_dtype_size(boxed.dtype)));
  return WEIR_OK;
}

int32_t weir_kernel_open_shape(weir_context *ctx, const weir_tensor *operands, int32_t,
                               weir_tensor *results, int32_t, const int64_t *) {
  const weir_tensor &boxed = **static_cast<const weir_tensor_ref *>(operands[0].data);
  int64_t rank = boxed.rank;
  if (!shapeResult(ctx, results[0], 1, &rank))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int32_t d = 0; d < boxed.rank; ++d)
    storeIndex(results[0], d, boxed.dims[d]);
  return WEIR_OK;
}

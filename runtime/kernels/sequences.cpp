//===- sequences.cpp - sequences and optionals ----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/sequence_support.h"

using namespace weir::rt;

namespace {

bool isSequence(const weir_tensor &tensor) {
  return tensor.dtype == WEIR_TENSOR && tensor.rank == 1;
}

const weir_tensor_ref *elementsOf(const weir_tensor &sequence) {
  return static_cast<const weir_tensor_ref *>(sequence.data);
}

int64_t bytesOf(const weir_tensor &tensor) {
  return elementCountOf(tensor) * weir_dtype_size(tensor.dtype);
}

/// Bounded text for a message.
class Message {
public:
  Message() : out(text, sizeof(text)) {}
  template <typename T> Message &operator<<(const T &value) {
    out << value;
    return *this;
  }
  int32_t fail(weir_context *ctx, int32_t code) { return failMessage(ctx, code, text); }

private:
  char text[256];
  Text out;
};

int32_t failCall(weir_context *ctx) {
  return failMessage(ctx, WEIR_INTERNAL,
                     "a sequence kernel was called with other operands than "
                     "its own");
}

/// A copy that outlives the operand's buffer.
const weir_tensor *box(weir_context *ctx, const weir_tensor &tensor) {
  int64_t bytes = bytesOf(tensor);
  weir_tensor *made = newElement(ctx, tensor, bytes);
  if (made && bytes > 0)
    memcpy(made->data, tensor.data, size_t(bytes));
  return made;
}

bool shapeSequence(weir_context *ctx, weir_tensor &result, int64_t count) {
  return shapeResult(ctx, result, 1, &count);
}

weir_tensor_ref *elementsTo(weir_tensor &result) {
  return static_cast<weir_tensor_ref *>(result.data);
}

void moveElements(weir_tensor_ref *to, const weir_tensor_ref *from, int64_t count) {
  if (count > 0)
    memcpy(to, from, size_t(count) * sizeof(weir_tensor_ref));
}

/// Reads a position in [0, size), or [0, size] with `end`.
bool readPosition(weir_context *ctx, const weir_tensor &operand, int64_t size, bool end,
                  int64_t *position, int32_t *code) {
  int64_t given = 0;
  if (elementCountOf(operand) != 1 || !loadInteger(operand, &given)) {
    *code =
        failMessage(ctx, WEIR_INVALID_ARGUMENT, "the position in a sequence must be one integer");
    return false;
  }
  *position = given < 0 ? given + size : given;
  if (*position >= 0 && *position < size + (end ? 1 : 0))
    return true;
  *code = (Message() << "position " << given << " is outside of a sequence of " << size
                     << (size == 1 ? " element" : " elements"))
              .fail(ctx, WEIR_OUT_OF_RANGE);
  return false;
}

void appendType(Message &out, int32_t dtype, int32_t rank, const int64_t *dims) {
  out << weir_dtype_name(dtype) << ' ';
  if (rank < 0)
    out << "of any rank";
  else if (rank == 0)
    out << "scalar";
  for (int32_t i = 0; i < rank; ++i) {
    if (i)
      out << 'x';
    if (dims[i] < 0)
      out << '?';
    else
      out << dims[i];
  }
}

/// Holds an element against (dtype, rank, sizes…).
int32_t checkType(weir_context *ctx, const weir_tensor &element, int64_t i, const int64_t *type) {
  auto rank = int32_t(type[1]);
  bool fits = element.dtype == type[0] && (rank < 0 || element.rank == rank);
  for (int32_t d = 0; fits && d < rank; ++d)
    fits = type[2 + d] < 0 || element.dims[d] == type[2 + d];
  if (fits)
    return 0;
  Message out;
  out << "element " << i << " is ";
  appendType(out, element.dtype, element.rank, element.dims);
  out << ", and the model says ";
  appendType(out, int32_t(type[0]), rank, type + 2);
  return out.fail(ctx, WEIR_INVALID_ARGUMENT);
}

int32_t checkLevel(weir_context *ctx, const weir_tensor &sequence, const int64_t *most,
                   int64_t levels, const int64_t *type) {
  int64_t count = sequence.dims[0];
  if (*most >= 0 && count > *most)
    return (Message() << "an optional holds " << count << " elements")
        .fail(ctx, WEIR_INVALID_ARGUMENT);
  const int64_t nested[] = {WEIR_TENSOR, 1, -1};
  for (int64_t i = 0; i < count; ++i) {
    const weir_tensor &element = *elementsOf(sequence)[i];
    if (int32_t code = checkType(ctx, element, i, levels > 1 ? nested : type))
      return code;
    if (levels > 1)
      if (int32_t code = checkLevel(ctx, element, most + 1, levels - 1, type))
        return code;
  }
  return 0;
}

} // namespace

int32_t weir_kernel_sequence_construct(weir_context *ctx, const weir_tensor *operands,
                                       int32_t operand_count, weir_tensor *results,
                                       int32_t result_count, const int64_t *) {
  if (result_count != 1)
    return failCall(ctx);
  if (!shapeSequence(ctx, results[0], operand_count))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int32_t i = 0; i < operand_count; ++i)
    if (!(elementsTo(results[0])[i] = box(ctx, operands[i])))
      return WEIR_RESOURCE_EXHAUSTED;
  return 0;
}

int32_t weir_kernel_sequence_at(weir_context *ctx, const weir_tensor *operands,
                                int32_t operand_count, weir_tensor *results, int32_t result_count,
                                const int64_t *attributes) {
  if (operand_count != 2 || result_count != 1 || !isSequence(operands[0]))
    return failCall(ctx);
  if (attributes[0] && operands[0].dims[0] == 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the optional has no element");
  int64_t position = 0;
  int32_t code = 0;
  if (!readPosition(ctx, operands[1], operands[0].dims[0], false, &position, &code))
    return code;
  const weir_tensor &element = *elementsOf(operands[0])[position];
  if ((code = checkType(ctx, element, position, attributes + 1)))
    return code;
  if (!shapeResult(ctx, results[0], element.rank, element.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  if (results[0].bytes > 0)
    memcpy(results[0].data, element.data, size_t(results[0].bytes));
  return 0;
}

int32_t weir_kernel_sequence_insert(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *) {
  if (operand_count < 2 || operand_count > 3 || result_count != 1 || !isSequence(operands[0]))
    return failCall(ctx);
  int64_t size = operands[0].dims[0], position = size;
  int32_t code = 0;
  if (operand_count == 3 && !readPosition(ctx, operands[2], size, true, &position, &code))
    return code;
  if (!shapeSequence(ctx, results[0], size + 1))
    return WEIR_RESOURCE_EXHAUSTED;
  weir_tensor_ref *to = elementsTo(results[0]);
  const weir_tensor_ref *from = elementsOf(operands[0]);
  moveElements(to, from, position);
  if (!(to[position] = box(ctx, operands[1])))
    return WEIR_RESOURCE_EXHAUSTED;
  moveElements(to + position + 1, from + position, size - position);
  return 0;
}

int32_t weir_kernel_sequence_erase(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *) {
  if (operand_count < 1 || operand_count > 2 || result_count != 1 || !isSequence(operands[0]))
    return failCall(ctx);
  int64_t size = operands[0].dims[0], position = size - 1;
  int32_t code = 0;
  if (operand_count == 2 && !readPosition(ctx, operands[1], size, false, &position, &code))
    return code;
  if (size == 0)
    return failMessage(ctx, WEIR_OUT_OF_RANGE, "there is nothing to erase from an empty sequence");
  if (!shapeSequence(ctx, results[0], size - 1))
    return WEIR_RESOURCE_EXHAUSTED;
  weir_tensor_ref *to = elementsTo(results[0]);
  const weir_tensor_ref *from = elementsOf(operands[0]);
  moveElements(to, from, position);
  moveElements(to + position, from + position + 1, size - position - 1);
  return 0;
}

int32_t weir_kernel_sequence_concat(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *attributes) {
  if (operand_count != 1 || result_count != 1 || !isSequence(operands[0]))
    return failCall(ctx);
  const int64_t axis = attributes[0], *type = attributes + 3;
  const bool fresh = attributes[1] != 0, mayBeEmpty = attributes[2] != 0;
  const int64_t count = operands[0].dims[0];
  const weir_tensor_ref *elements = elementsOf(operands[0]);
  if (count == 0 && !mayBeEmpty)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "an empty sequence cannot be put together");
  // Sizes of an element: the first's, or what the model says of them.
  int64_t own[WEIR_MAX_RANK] = {}, dims[WEIR_MAX_RANK] = {};
  auto rank = int32_t(count ? elements[0]->rank : type[1]);
  auto whole = int32_t(rank + fresh);
  if (rank < 0 || whole > WEIR_MAX_RANK || axis >= whole)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the elements' rank does not fit the axis");
  for (int32_t d = 0; d < rank; ++d)
    own[d] = count ? elements[0]->dims[d] : type[2 + d] < 0 ? 0 : type[2 + d];
  int64_t along = fresh ? count : 0;
  for (int64_t i = 0; i < count; ++i) {
    const weir_tensor &element = *elements[i];
    if (int32_t code = checkType(ctx, element, i, type))
      return code;
    bool fits = element.rank == rank;
    for (int32_t d = 0; fits && d < rank; ++d)
      fits = (!fresh && d == axis) || element.dims[d] == own[d];
    if (!fits)
      return (Message() << "the shape of element " << i << " does not go with that of element 0")
          .fail(ctx, WEIR_INVALID_ARGUMENT);
    if (!fresh)
      along += element.dims[axis];
  }
  for (int32_t d = 0, from = 0; d < whole; ++d)
    dims[d] = d == axis ? along : own[fresh ? from : d], from += d != axis;
  if (!shapeResult(ctx, results[0], whole, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t outer = 1, inner = weir_dtype_size(results[0].dtype);
  for (int32_t d = 0; d < whole; ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : dims[d];
  auto *to = static_cast<char *>(results[0].data);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < count; ++i) {
      int64_t bytes = (fresh ? 1 : elements[i]->dims[axis]) * inner;
      if (bytes > 0)
        memcpy(to, static_cast<const char *>(elements[i]->data) + o * bytes, size_t(bytes));
      to += bytes;
    }
  return 0;
}

int32_t weir_kernel_sequence_split(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *attributes) {
  if (operand_count < 1 || operand_count > 2 || result_count != 1 || attributes[0] < 0 ||
      attributes[0] >= operands[0].rank)
    return failCall(ctx);
  const weir_tensor &data = operands[0];
  const auto axis = int32_t(attributes[0]);
  const bool keep = attributes[1] != 0;
  const int64_t size = data.dims[axis];
  bool listed = operand_count == 2 && operands[1].rank == 1;
  int64_t count = size, each = 1;
  if (listed) {
    if (operands[1].dtype != WEIR_I32 && operands[1].dtype != WEIR_I64)
      return failDtype(ctx, "sizes of parts", operands[1].dtype);
    count = operands[1].dims[0];
  } else if (operand_count == 2) {
    if (elementCountOf(operands[1]) != 1 || !loadInteger(operands[1], &each) || each < 1)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "the size of the parts must be one positive integer");
    count = size / each + (size % each != 0);
  }
  auto partSize = [&](int64_t i) {
    if (!listed)
      return i == count - 1 ? size - i * each : each;
    return operands[1].dtype == WEIR_I32
               ? int64_t(static_cast<const int32_t *>(operands[1].data)[i])
               : static_cast<const int64_t *>(operands[1].data)[i];
  };
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t part = partSize(i);
    if (part < 0 || part > size - total)
      return (Message() << "part " << i << " of size " << part << " does not fit an axis of size "
                        << size)
          .fail(ctx, WEIR_INVALID_ARGUMENT);
    total += part;
  }
  if (total != size)
    return (Message() << "the parts have " << total << " of the axis' " << size << " entries")
        .fail(ctx, WEIR_INVALID_ARGUMENT);
  if (!shapeSequence(ctx, results[0], count))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t outer = 1, inner = weir_dtype_size(data.dtype);
  for (int32_t d = 0; d < data.rank; ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : data.dims[d];
  const char *from = static_cast<const char *>(data.data);
  for (int64_t i = 0; i < count; ++i) {
    weir_tensor shape = data;
    int64_t part = partSize(i), bytes = part * inner;
    shape.dims[axis] = part;
    if (!keep && operand_count == 1) {
      --shape.rank;
      for (int32_t d = axis; d < shape.rank; ++d)
        shape.dims[d] = data.dims[d + 1];
    }
    weir_tensor *made = newElement(ctx, shape, outer * bytes);
    if (!made)
      return WEIR_RESOURCE_EXHAUSTED;
    elementsTo(results[0])[i] = made;
    for (int64_t o = 0; o < outer && bytes > 0; ++o)
      memcpy(static_cast<char *>(made->data) + o * bytes, from + o * size * inner, size_t(bytes));
    from += bytes;
  }
  return 0;
}

int32_t weir_kernel_sequence_check(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *attributes) {
  if (operand_count != 1 || result_count != 1 || !isSequence(operands[0]))
    return failCall(ctx);
  int64_t levels = attributes[0];
  if (int32_t code = checkLevel(ctx, operands[0], attributes + 1, levels, attributes + 1 + levels))
    return code;
  if (!shapeSequence(ctx, results[0], operands[0].dims[0]))
    return WEIR_RESOURCE_EXHAUSTED;
  moveElements(elementsTo(results[0]), elementsOf(operands[0]), operands[0].dims[0]);
  return 0;
}

//===- tensors.cpp - sizes and copies of tensors --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/session.h"

namespace weir::rt {

int64_t elementCount(int32_t rank, const int64_t *dims) {
  int64_t count = 1;
  bool overflow = false, empty = false;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return -1;
    empty |= dims[i] == 0;
    overflow |= __builtin_mul_overflow(count, dims[i], &count);
  }
  // One 0 makes an empty tensor of what would have been too many.
  return empty ? 0 : overflow ? -1 : count;
}

bool hasContents(int32_t dtype) { return dtype == WEIR_STRING || dtype == WEIR_TENSOR; }

int64_t brokenString(const weir_tensor &tensor) {
  if (tensor.dtype != WEIR_STRING)
    return -1;
  auto *strings = static_cast<const weir_string *>(tensor.data);
  int64_t count = elementCount(tensor.rank, tensor.dims);
  for (int64_t i = 0; i < count; ++i)
    if (strings[i].size < 0 || (strings[i].size > 0 && !strings[i].data))
      return i;
  return -1;
}

/// Elements of a sequence, each with what it holds, begin at multiples of this
/// from the begin of the copy.
static constexpr int64_t elementAlignment = 64;

static int64_t aligned(int64_t bytes) { return (bytes + elementAlignment - 1) & -elementAlignment; }

/// Bytes of the elements alone. A feed's element may have more than it needs.
static int64_t elementBytes(const weir_tensor &tensor) {
  return elementCount(tensor.rank, tensor.dims) * weir_dtype_size(tensor.dtype);
}

/// What lies behind `bytes` of elements.
static int64_t contentBytes(const weir_tensor &tensor, int64_t bytes) {
  int64_t total = 0;
  if (tensor.dtype == WEIR_STRING) {
    auto *strings = static_cast<const weir_string *>(tensor.data);
    for (int64_t i = 0; i < bytes / int64_t(sizeof(weir_string)); ++i)
      total += strings[i].size;
  }
  if (tensor.dtype == WEIR_TENSOR) {
    auto *elements = static_cast<const weir_tensor_ref *>(tensor.data);
    total = aligned(bytes) - bytes;
    for (int64_t i = 0; i < bytes / int64_t(sizeof(weir_tensor_ref)); ++i) {
      int64_t own = elementBytes(*elements[i]);
      total += aligned(sizeof(weir_tensor)) + aligned(own + contentBytes(*elements[i], own));
    }
  }
  return total;
}

static void copy(const weir_tensor &tensor, int64_t bytes, void *to) {
  if (bytes > 0)
    memcpy(to, tensor.data, size_t(bytes));
  // The contents follow the elements, which then point to them.
  auto *contents = static_cast<char *>(to) + bytes;
  if (tensor.dtype == WEIR_STRING) {
    auto *strings = static_cast<weir_string *>(to);
    for (int64_t i = 0; i < bytes / int64_t(sizeof(weir_string)); ++i) {
      if (strings[i].size > 0)
        memcpy(contents, strings[i].data, size_t(strings[i].size));
      strings[i].data = contents;
      contents += strings[i].size;
    }
  }
  if (tensor.dtype == WEIR_TENSOR) {
    auto *elements = static_cast<weir_tensor_ref *>(to);
    contents = static_cast<char *>(to) + aligned(bytes);
    for (int64_t i = 0; i < bytes / int64_t(sizeof(weir_tensor_ref)); ++i) {
      const weir_tensor &element = *elements[i];
      auto *made = reinterpret_cast<weir_tensor *>(contents);
      *made = element;
      made->bytes = elementBytes(element);
      made->data = contents + aligned(sizeof(weir_tensor));
      copy(element, made->bytes, made->data);
      elements[i] = made;
      contents +=
          aligned(sizeof(weir_tensor)) + aligned(made->bytes + contentBytes(element, made->bytes));
    }
  }
}

int64_t copyBytes(const weir_tensor &tensor) {
  return tensor.bytes + contentBytes(tensor, tensor.bytes);
}

void copyElements(const weir_tensor &tensor, void *to) { copy(tensor, tensor.bytes, to); }

//===----------------------------------------------------------------------===//
// Copies that travel
//===----------------------------------------------------------------------===//

template <typename T> static void makeOffset(T *&pointer, const char *block) {
  auto offset = reinterpret_cast<const char *>(pointer) - block;
  pointer = reinterpret_cast<T *>(offset);
}

static void makeOffsets(const weir_tensor &tensor, const char *block) {
  if (tensor.dtype == WEIR_STRING) {
    auto *strings = static_cast<weir_string *>(tensor.data);
    for (int64_t i = 0; i < tensor.bytes / int64_t(sizeof(weir_string)); ++i)
      makeOffset(strings[i].data, block);
  }
  if (tensor.dtype == WEIR_TENSOR) {
    auto *elements = static_cast<weir_tensor_ref *>(tensor.data);
    for (int64_t i = 0; i < tensor.bytes / int64_t(sizeof(*elements)); ++i) {
      // In a copy they are its own.
      auto &element = *const_cast<weir_tensor *>(elements[i]);
      makeOffsets(element, block);
      makeOffset(element.data, block);
      makeOffset(elements[i], block);
    }
  }
}

void pointersToOffsets(const weir_tensor &tensor, void *block) {
  weir_tensor copy = tensor;
  copy.data = block;
  makeOffsets(copy, static_cast<const char *>(block));
}

namespace {
/// A block whose offsets become pointers again.
struct Arrived {
  char *block;
  int64_t bytes;
  static constexpr int32_t deepest = 16;

  /// Whether [offset, offset + size) lies within; then `pointer` points there.
  template <typename T> bool place(T *&pointer, int64_t size, uint64_t alignment) const {
    auto offset = reinterpret_cast<uint64_t>(pointer);
    if (size < 0 || size > bytes || offset > uint64_t(bytes - size) || offset % alignment != 0)
      return false;
    pointer = reinterpret_cast<T *>(block + offset);
    return true;
  }

  /// The elements of `tensor` are known to lie within.
  bool elements(const weir_tensor &tensor, int32_t depth) const {
    if (tensor.rank < 0 || tensor.rank > WEIR_MAX_RANK)
      return false;
    int64_t count = elementCount(tensor.rank, tensor.dims);
    int64_t size = weir_dtype_size(tensor.dtype);
    int64_t whole;
    if (count < 0 || size == 0 || __builtin_mul_overflow(count, size, &whole) ||
        tensor.bytes != whole)
      return false;
    if (tensor.dtype == WEIR_STRING) {
      auto *strings = static_cast<weir_string *>(tensor.data);
      for (int64_t i = 0; i < count; ++i)
        if (!place(strings[i].data, strings[i].size, 1))
          return false;
    }
    if (tensor.dtype != WEIR_TENSOR)
      return true;
    auto *references = static_cast<weir_tensor_ref *>(tensor.data);
    for (int64_t i = 0; i < count; ++i) {
      if (!place(references[i], sizeof(weir_tensor), elementAlignment))
        return false;
      auto &element = *const_cast<weir_tensor *>(references[i]);
      if (!place(element.data, element.bytes, elementAlignment) || depth == deepest ||
          !elements(element, depth + 1))
        return false;
    }
    return true;
  }
};
} // namespace

bool offsetsToPointers(const weir_tensor &tensor, int64_t bytes) {
  Arrived arrived{static_cast<char *>(tensor.data), bytes};
  return tensor.bytes >= 0 && tensor.bytes <= bytes && arrived.elements(tensor, 0);
}

} // namespace weir::rt

//===- customs.cpp - custom operations ------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions are the program's author's. What one does wrong ends its run with a
// status that names the node; generated code relies on what has been checked here.
//
//===----------------------------------------------------------------------===//

#include "session/run.h"
#include "support/list.h"

namespace weir::rt {

namespace {

/// A call, and what its results were said to be before it.
struct CustomCall {
  weir_context *ctx;
  const weir_tensor *operands;
  int32_t operandCount;
  const weir_tensor *given;
  weir_tensor *results;
  int32_t site;

  template <typename Write> int32_t fail(int32_t i, Write write) const {
    char text[512];
    Text out(text, sizeof(text));
    out << "its function gave result " << i << ' ';
    write(out);
    return recordError(ctx->run, WEIR_INTERNAL, site, text);
  }

  static void describe(Text &out, const weir_tensor &tensor) {
    out << weir_dtype_name(tensor.dtype) << ' ';
    if (tensor.rank > WEIR_MAX_RANK)
      out << "of rank " << tensor.rank;
    else
      appendShape(out, tensor.rank, tensor.dims);
  }

  int32_t failType(int32_t i) const {
    return fail(i, [&](Text &out) {
      out << "as ";
      describe(out, results[i]);
      out << "; expected ";
      describe(out, given[i]);
    });
  }

  /// Whether the run allocated the memory for the function, as much as `bytes`, and
  /// for nothing else.
  bool isAllocated(int32_t i, int64_t bytes) const {
    const void *data = results[i].data;
    for (int32_t k = 0; k < operandCount; ++k)
      if (operands[k].data == data)
        return false;
    for (int32_t k = 0; k < i; ++k)
      if (results[k].data == data)
        return false;
    if (uintptr_t(data) % alignof(Block) != 0 || uintptr_t(data) < sizeof(Block))
      return false;
    const Block *block = Block::of(const_cast<void *>(data));
    // A small block that is used again may be given for more than was first asked for.
    int64_t size = ctx->run->session->memory[ctx->device]->requestedSize(block);
    return size >= int64_t(sizeof(Block)) && block->bytes >= bytes;
  }

  int32_t check(int32_t i) const {
    weir_tensor &result = results[i];
    const weir_tensor &expected = given[i];
    if (result.dtype != expected.dtype || result.rank != expected.rank)
      return failType(i);
    for (int32_t d = 0; d < result.rank; ++d)
      if (result.dims[d] < 0 || (expected.dims[d] >= 0 && result.dims[d] != expected.dims[d]))
        return failType(i);
    int64_t count = elementCount(result.rank, result.dims), bytes = 0;
    if (count < 0 || __builtin_mul_overflow(count, weir_dtype_size(result.dtype), &bytes))
      return fail(i, [&](Text &out) {
        out << "as ";
        describe(out, result);
        out << ", more than any memory holds";
      });
    if (expected.data ? result.data != expected.data : !result.data && bytes > 0)
      return fail(i, [&](Text &out) {
        out << (result.data ? "in other memory than it was given" : "without data");
      });
    if (!expected.data && result.data && !isAllocated(i, bytes))
      return fail(i, [&](Text &out) {
        out << "in memory that weir_custom_alloc has not given it, or less than the " << bytes
            << " bytes of its shape";
      });
    if (result.bytes < bytes)
      return fail(i, [&](Text &out) {
        out << "with " << result.bytes << " bytes, and its shape needs " << bytes;
      });
    result.bytes = bytes;
    if (int64_t broken = brokenString(result); broken >= 0)
      return fail(i, [&](Text &out) {
        out << "with string " << broken << " of a negative size, or without data";
      });
    return WEIR_OK;
  }
};

} // namespace
} // namespace weir::rt

using namespace weir::rt;

int32_t weir_rt_custom(weir_context *ctx, int32_t custom, int32_t site, const weir_tensor *operands,
                       int32_t operand_count, weir_tensor *results, int32_t result_count,
                       const int64_t *attributes) {
  weir_run *run = ctx->run;
  if (custom < 0 || custom >= customCount(run->session->program))
    return weir_rt_error_text(ctx, site, WEIR_INTERNAL, "custom operation {0} is not in the table",
                              custom, 0);
  HeapList<weir_tensor> given;
  if (!given.reserve(result_count))
    return recordError(run, WEIR_RESOURCE_EXHAUSTED, site, "no memory for its results");
  for (int32_t i = 0; i < result_count; ++i)
    given.push(results[i]);
  if (int32_t code = weir_rt_library(ctx, run->session->customs[custom], site, operands,
                                     operand_count, results, result_count, attributes))
    return code;
  CustomCall made{ctx, operands, operand_count, given.data(), results, site};
  for (int32_t i = 0; i < result_count; ++i)
    if (int32_t error = made.check(i))
      return error;
  return WEIR_OK;
}

//===- kernel_call.h - library kernels called within a run ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_RUNTIME_KERNEL_CALL_H
#define WEIR_TEST_UNIT_RUNTIME_KERNEL_CALL_H

#include "test_program.h"

#include <cstring>
#include <string>
#include <vector>

namespace weir::rt::test {

/// A result, copied out of the run.
struct Result {
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;

  template <typename T> std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty())
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  std::vector<std::string> strings;
};

/// Calls a library function within a run of that many threads, as generated code does.
class Call {
public:
  Call(weir_library_fn function, std::vector<weir_tensor> operands,
       std::vector<int32_t> resultTypes, std::vector<int64_t> attributes, int32_t threads = 1)
      : function(function), operands(std::move(operands)), resultTypes(std::move(resultTypes)),
        attributes(std::move(attributes)) {
    TestProgram program;
    program.site("the/node", "TheOp", "?", WEIR_INTERNAL);
    program.entry("main", {}, {}, {step});
    TestSession session(program.get(), TestSession::defaults(threads));
    current = this;
    code = session.run({}, nullptr);
    message = session.message();
    current = nullptr;
  }

  int32_t code;
  std::string message;
  std::vector<Result> results;

private:
  static int32_t step(weir_context *ctx) {
    Call &c = *current;
    std::vector<weir_tensor> results(c.resultTypes.size(), weir_tensor{});
    for (size_t i = 0; i < results.size(); ++i)
      results[i].dtype = c.resultTypes[i];
    int32_t code =
        weir_rt_library(ctx, c.function, 0, c.operands.data(), int32_t(c.operands.size()),
                        results.data(), int32_t(results.size()), c.attributes.data());
    if (code)
      return code;
    for (const weir_tensor &tensor : results) {
      Result &result = c.results.emplace_back();
      result.dims.assign(tensor.dims, tensor.dims + tensor.rank);
      auto *data = static_cast<const uint8_t *>(tensor.data);
      result.bytes.assign(data, data + tensor.bytes);
      if (tensor.dtype == WEIR_STRING)
        for (const weir_string &s : result.as<weir_string>())
          result.strings.emplace_back(s.data, size_t(s.size));
      weir_rt_free(ctx, tensor.data);
    }
    return 0;
  }

  inline static Call *current = nullptr;
  weir_library_fn function;
  std::vector<weir_tensor> operands;
  std::vector<int32_t> resultTypes;
  std::vector<int64_t> attributes;
};
inline weir_tensor integer(int64_t &value) {
  weir_tensor tensor = {};
  tensor.data = &value;
  tensor.bytes = 8;
  tensor.dtype = WEIR_I64;
  return tensor;
}

/// A dense tensor over the values' own memory.
template <typename T>
weir_tensor dense(std::vector<T> &values, int32_t dtype, const std::vector<int64_t> &dims) {
  weir_tensor tensor = {};
  tensor.data = values.data();
  tensor.bytes = int64_t(values.size() * sizeof(T));
  tensor.dtype = dtype;
  tensor.rank = int32_t(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    tensor.dims[i] = dims[i];
  return tensor;
}

} // namespace weir::rt::test

#endif // WEIR_TEST_UNIT_RUNTIME_KERNEL_CALL_H

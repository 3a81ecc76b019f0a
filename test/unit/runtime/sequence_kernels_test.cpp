//===- sequence_kernels_test.cpp - kernels of sequences -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel_call.h"

#include "weir/kernels.h"

using namespace weir::rt::test;

namespace {

using Dims = std::vector<int64_t>;
using Floats = std::vector<float>;

weir_tensor floats(Floats &values, const Dims &dims) { return dense(values, WEIR_F32, dims); }

weir_tensor integers(Dims &values, const Dims &dims) { return dense(values, WEIR_I64, dims); }

weir_tensor sequenceOf(std::vector<weir_tensor_ref> &elements) {
  return dense(elements, WEIR_TENSOR, {int64_t(elements.size())});
}

/// A sequence of f32 [2, 1] and f32 [2, 2].
struct Columns {
  Floats a = {1, 4}, b = {2, 3, 5, 6};
  weir_tensor first = floats(a, {2, 1}), second = floats(b, {2, 2});
  std::vector<weir_tensor_ref> elements = {&first, &second};
  weir_tensor sequence = sequenceOf(elements);
};

TEST(SequenceKernels, TakesElementsOutAndChecksThem) {
  Columns columns;
  Dims last = {-1}, outside = {2};
  auto at = [&](Dims &position, std::vector<int64_t> type) {
    type.insert(type.begin(), 0);
    return Call(weir_kernel_sequence_at, {columns.sequence, integers(position, {})}, {WEIR_F32},
                std::move(type));
  };
  Call good = at(last, {WEIR_F32, 2, 2, -1});
  ASSERT_EQ(good.code, WEIR_OK) << good.message;
  EXPECT_EQ(good.results[0].dims, (Dims{2, 2}));
  EXPECT_EQ(good.results[0].as<float>(), columns.b);
  EXPECT_EQ(at(outside, {WEIR_F32, -1}).code, WEIR_OUT_OF_RANGE);
  EXPECT_EQ(at(last, {WEIR_I64, -1}).code, WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(at(last, {WEIR_F32, 1, -1}).code, WEIR_INVALID_ARGUMENT);
  Call shape = at(last, {WEIR_F32, 2, 3, -1});
  EXPECT_NE(shape.message.find("element 1 is f32 2x2, and the model says f32 3x?"),
            std::string::npos)
      << shape.message;
}

TEST(SequenceKernels, PutsTogetherAlongOldAndNewAxes) {
  Columns columns;
  std::vector<int64_t> type = {WEIR_F32, 2, 2, -1};
  auto concat = [&](const weir_tensor &sequence, int64_t axis, int64_t fresh, int64_t mayBeEmpty) {
    std::vector<int64_t> attributes = {axis, fresh, mayBeEmpty};
    attributes.insert(attributes.end(), type.begin(), type.end());
    return Call(weir_kernel_sequence_concat, {sequence}, {WEIR_F32}, attributes);
  };
  Call joined = concat(columns.sequence, 1, 0, 0);
  ASSERT_EQ(joined.code, WEIR_OK) << joined.message;
  EXPECT_EQ(joined.results[0].dims, (Dims{2, 3}));
  EXPECT_EQ(joined.results[0].as<float>(), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(concat(columns.sequence, 0, 0, 0).code, WEIR_INVALID_ARGUMENT);

  columns.elements[0] = &columns.second;
  Call stacked = concat(columns.sequence, 1, 1, 0);
  ASSERT_EQ(stacked.code, WEIR_OK) << stacked.message;
  EXPECT_EQ(stacked.results[0].dims, (Dims{2, 2, 2}));
  EXPECT_EQ(stacked.results[0].as<float>(), (Floats{2, 3, 2, 3, 5, 6, 5, 6}));

  std::vector<weir_tensor_ref> nothing;
  weir_tensor none = sequenceOf(nothing);
  EXPECT_EQ(concat(none, 0, 1, 0).code, WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(concat(none, 0, 1, 1).results[0].dims, (Dims{0, 2, 0}));
}

TEST(SequenceKernels, InsertsErasesAndSplits) {
  Columns columns;
  Dims front = {0}, past = {3}, sizes = {1, 2}, tooMany = {1, 3}, two = {2};
  auto length = [](weir_library_fn kernel, std::vector<weir_tensor> operands,
                   std::vector<int64_t> attributes = {}) {
    Call call(kernel, std::move(operands), {WEIR_TENSOR}, std::move(attributes));
    return call.code ? -int64_t(call.code) : call.results[0].dims[0];
  };
  EXPECT_EQ(
      length(weir_kernel_sequence_insert, {columns.sequence, columns.first, integers(front, {})}),
      3);
  EXPECT_EQ(
      length(weir_kernel_sequence_insert, {columns.sequence, columns.first, integers(past, {})}),
      -WEIR_OUT_OF_RANGE);
  EXPECT_EQ(length(weir_kernel_sequence_erase, {columns.sequence}), 1);
  std::vector<weir_tensor_ref> nothing;
  weir_tensor none = sequenceOf(nothing);
  EXPECT_EQ(length(weir_kernel_sequence_erase, {none}), -WEIR_OUT_OF_RANGE);
  Floats data = {1, 2, 3};
  weir_tensor row = floats(data, {1, 3});
  EXPECT_EQ(length(weir_kernel_sequence_split, {row}, {1, 1}), 3);
  EXPECT_EQ(length(weir_kernel_sequence_split, {row, integers(two, {})}, {1, 1}), 2);
  EXPECT_EQ(length(weir_kernel_sequence_split, {row, integers(sizes, {2})}, {1, 1}), 2);
  EXPECT_EQ(length(weir_kernel_sequence_split, {row, integers(tooMany, {2})}, {1, 1}),
            -WEIR_INVALID_ARGUMENT);
}

TEST(SequenceKernels, ChecksFeedsToTheBottom) {
  Columns columns;
  std::vector<weir_tensor_ref> outer = {&columns.sequence};
  weir_tensor optional = sequenceOf(outer);
  auto check = [](const weir_tensor &sequence, std::vector<int64_t> attributes) {
    return Call(weir_kernel_sequence_check, {sequence}, {WEIR_TENSOR}, std::move(attributes)).code;
  };
  EXPECT_EQ(check(optional, {2, 1, -1, WEIR_F32, 2, 2, -1}), WEIR_OK);
  EXPECT_EQ(check(optional, {2, 1, -1, WEIR_F32, 2, -1, 1}), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(check(optional, {1, 1, WEIR_F32, -1}), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(check(columns.sequence, {1, 1, WEIR_F32, -1}), WEIR_INVALID_ARGUMENT);
}

} // namespace

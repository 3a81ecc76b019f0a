//===- ReductionTest.cpp - elements of sums and windows -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/dialects/ElementMachine.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>

using namespace weir::test;

namespace {

void expect(const std::string &text, const std::vector<Array> &operands, const Array &expected) {
  for (Typing typing : {Typing::Static, Typing::Dynamic}) {
    Machine machine;
    Outcome outcome = machine.run(text, operands, typing);
    ASSERT_EQ(outcome.errors, std::vector<std::string>()) << text << ", typing " << (int)typing;
    ASSERT_EQ(outcome.results.size(), 1u) << machine.diagnostics;
    const Array &result = outcome.results[0];
    EXPECT_EQ(result.type, expected.type);
    ASSERT_EQ(result.shape, expected.shape) << text;
    for (size_t i = 0; i < expected.values.size(); ++i)
      if (std::isnan(expected.values[i]))
        EXPECT_TRUE(std::isnan(result.values[i])) << text << " element " << i;
      else
        EXPECT_FLOAT_EQ(result.values[i], expected.values[i]) << text << " element " << i;
  }
}

const double nan = std::nan("");
const double infinity = INFINITY;

std::string reduce(const std::string &kind, const std::string &axes, bool keep = false) {
  return "reduce %0 {kind = \"" + kind + "\", axes = array<i64" + (axes.empty() ? "" : ": ") +
         axes + ">, keep_dims = " + (keep ? "true" : "false") + "}";
}

TEST(Reduce, Kinds) {
  Array x = f32({2, 3}, {1, -2, 3, 4, 5, -6});
  expect(reduce("sum", "1"), {x}, f32({2}, {2, 3}));
  expect(reduce("sum", "0, 1", true), {x}, f32({1, 1}, {5}));
  expect(reduce("sum", ""), {x}, x);
  expect(reduce("prod", "0"), {x}, f32({3}, {4, -10, -18}));
  expect(reduce("max", "1"), {x}, f32({2}, {3, 5}));
  expect(reduce("min", "1"), {x}, f32({2}, {-2, -6}));
  expect(reduce("mean", "0", true), {x}, f32({1, 3}, {2.5, 1.5, -1.5}));
  expect(reduce("mean", "0"), {i64({2}, {-3, 0})}, i64({}, {-1}));
  expect(reduce("any", "1"), {{"i1", {2, 2}, {0, 1, 0, 0}}}, {"i1", {2}, {1, 0}});
  expect(reduce("all", "1"), {{"i1", {2, 2}, {1, 1, 1, 0}}}, {"i1", {2}, {1, 0}});
  expect(reduce("max", "0"), {{"ui8", {2}, {200, 100}}}, {"ui8", {}, {200}});
}

TEST(Reduce, EmptyAndNan) {
  Array empty = f32({2, 0}, {});
  expect(reduce("sum", "1"), {empty}, f32({2}, {0, 0}));
  expect(reduce("prod", "1"), {empty}, f32({2}, {1, 1}));
  expect(reduce("max", "1"), {empty}, f32({2}, {-infinity, -infinity}));
  expect(reduce("min", "1"), {empty}, f32({2}, {infinity, infinity}));
  expect(reduce("mean", "1"), {empty}, f32({2}, {nan, nan}));
  expect(reduce("mean", "0"), {i64({0}, {})}, i64({}, {0}));
  expect(reduce("min", "0"), {{"i8", {0}, {}}}, {"i8", {}, {127}});
  expect(reduce("max", "0"), {f32({3}, {1, nan, 2})}, f32({}, {nan}));
}

TEST(Reduce, NarrowFloatsAccumulateInF32) {
  // In f16, 2048 + 1 is 2048.
  expect(reduce("sum", "0"), {{"f16", {5}, {2048, 1, 1, 1, 1}}}, {"f16", {}, {2052}});
}

TEST(ArgReduce, TiesAndNan) {
  auto arg = [](bool largest, bool last) {
    return std::string("arg_reduce %0 {largest = ") + (largest ? "true" : "false") +
           ", axis = 0 : i64, keep_dims = true, select_last = " + (last ? "true" : "false") +
           ", index_type = i32}";
  };
  auto index = [](double i) { return Array{"i32", {1}, {i}}; };
  expect(arg(true, false), {f32({4}, {1, 3, 3, 2})}, index(1));
  expect(arg(true, true), {f32({4}, {1, 3, 3, 2})}, index(2));
  expect(arg(false, false), {f32({4}, {2, 1, 1, 3})}, index(1));
  expect(arg(true, false), {f32({4}, {1, nan, 9, nan})}, index(1));
  expect(arg(true, true), {f32({4}, {1, nan, 9, nan})}, index(3));
  expect(arg(true, true), {f32({3}, {nan, 1, 2})}, index(0));
  expect(arg(true, false), {f32({2}, {-infinity, -infinity})}, index(0));
  expect(arg(false, true), {{"ui8", {3}, {255, 200, 255}}}, index(1));
}

TEST(Cumulative, Directions) {
  auto text = [](const std::string &kind, bool exclusive, bool reverse) {
    return "cumulative %0 {kind = \"" + kind +
           "\", axis = 0 : i64, exclusive = " + (exclusive ? "true" : "false") +
           ", reverse = " + (reverse ? "true" : "false") + "}";
  };
  Array x = f32({4}, {1, 2, 3, 4});
  expect(text("sum", false, false), {x}, f32({4}, {1, 3, 6, 10}));
  expect(text("sum", true, false), {x}, f32({4}, {0, 1, 3, 6}));
  expect(text("sum", false, true), {x}, f32({4}, {10, 9, 7, 4}));
  expect(text("prod", true, true), {x}, f32({4}, {24, 12, 4, 1}));
}

TEST(DotGeneral, BatchesAndContractions) {
  std::string matmul = "dot_general %0, %1 {lhs_batch = array<i64>, rhs_batch = array<i64>, "
                       "lhs_contract = "
                       "array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32}";
  expect(matmul, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({3, 2}, {1, 0, 0, 1, 1, 1})},
         f32({2, 2}, {4, 5, 10, 11}));
  expect(matmul, {f32({2, 0}, {}), f32({0, 1}, {})}, f32({2, 1}, {0, 0}));
  std::string batched = "dot_general %0, %1 {lhs_batch = array<i64: 0>, "
                        "rhs_batch = array<i64: 1>, "
                        "lhs_contract = array<i64: 2>, rhs_contract = "
                        "array<i64: 0>, accumulator = i32}";
  // lhs[b, i, k] = i8, rhs[k, b]: sums of products in i32.
  expect(batched, {{"i8", {2, 1, 2}, {100, 100, 1, 2}}, {"ui8", {2, 2}, {200, 3, 200, 4}}},
         {"i32", {2, 1}, {40000, 11}});
  Machine machine;
  Outcome outcome = machine.run(matmul, {sample({2, 3}), sample({2, 2})}, Typing::Dynamic);
  ASSERT_EQ(outcome.errors.size(), 1u);
  EXPECT_NE(outcome.errors[0].find("contracted sizes"), std::string::npos);
}

/// Plain loops, two spatial dimensions, channels first.
Array convReference(const Array &x, const Array &w, std::vector<int64_t> s, std::vector<int64_t> p,
                    std::vector<int64_t> d, int64_t groups) {
  auto out = [&](int i) {
    return (x.shape[2 + i] + p[2 * i] + p[2 * i + 1] - (w.shape[2 + i] - 1) * d[i] - 1) / s[i] + 1;
  };
  Array y{"f32", {x.shape[0], w.shape[0], out(0), out(1)}, {}};
  for (int64_t n = 0; n < y.shape[0]; ++n)
    for (int64_t o = 0; o < y.shape[1]; ++o)
      for (int64_t i = 0; i < y.shape[2]; ++i)
        for (int64_t j = 0; j < y.shape[3]; ++j) {
          double sum = 0;
          for (int64_t c = 0; c < w.shape[1]; ++c)
            for (int64_t k = 0; k < w.shape[2]; ++k)
              for (int64_t l = 0; l < w.shape[3]; ++l) {
                int64_t a = i * s[0] - p[0] + k * d[0], b = j * s[1] - p[2] + l * d[1];
                if (a < 0 || b < 0 || a >= x.shape[2] || b >= x.shape[3])
                  continue;
                int64_t channel = o / (w.shape[0] / groups) * w.shape[1] + c;
                sum += x.values[((n * x.shape[1] + channel) * x.shape[2] + a) * x.shape[3] + b] *
                       w.values[((o * w.shape[1] + c) * w.shape[2] + k) * w.shape[3] + l];
              }
          y.values.push_back(sum);
        }
  return y;
}

/// result dimension i is operand dimension order[i]
Array transposed(const Array &x, std::vector<int64_t> order) {
  Array y{x.type, {}, std::vector<double>(x.values.size())};
  for (int64_t from : order)
    y.shape.push_back(x.shape[from]);
  std::vector<int64_t> stride(x.shape.size(), 1);
  for (size_t i = x.shape.size() - 1; i-- > 0;)
    stride[i] = stride[i + 1] * x.shape[i + 1];
  for (size_t linear = 0; linear < y.values.size(); ++linear) {
    int64_t rest = linear, place = 0;
    for (size_t i = order.size(); i-- > 0; rest /= y.shape[i])
      place += rest % y.shape[i] * stride[order[i]];
    y.values[linear] = x.values[place];
  }
  return y;
}

std::string list(const std::vector<int64_t> &values) {
  std::string text = "array<i64: ";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + ">";
}

TEST(Conv, AgainstPlainLoops) {
  struct {
    std::vector<int64_t> x, w, s, p, d;
    int64_t groups;
  } cases[] = {
      {{1, 2, 5, 4}, {3, 2, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
      {{2, 1, 6, 5}, {2, 1, 2, 3}, {2, 1}, {0, 0, 2, 1}, {1, 2}, 1},
      {{1, 4, 4, 4}, {4, 2, 3, 1}, {1, 2}, {2, 0, 0, 1}, {2, 1}, 2},
      {{1, 3, 3, 3}, {3, 1, 1, 1}, {1, 1}, {-1, 0, 0, -1}, {1, 1}, 3},
      {{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1}, {3, 3, 3, 3}, {1, 1}, 1},
  };
  for (auto &c : cases) {
    Array x = sample(c.x), w = sample(c.w, 7);
    Array y = convReference(x, w, c.s, c.p, c.d, c.groups);
    std::string attributes =
        "strides = " + list(c.s) + ", pads = " + list(c.p) + ", dilations = " + list(c.d) +
        ", groups = " + std::to_string(c.groups) + " : i64, accumulator = f32}";
    expect("conv %0, %1 {channels_last = false, " + attributes, {x, w}, y);
    expect("conv %0, %1 {channels_last = true, " + attributes,
           {transposed(x, {0, 2, 3, 1}), transposed(w, {2, 3, 1, 0})}, transposed(y, {0, 2, 3, 1}));
  }
}

/// The gradient by its definition: each product of the convolution, backwards.
Array convTransposeReference(const Array &x, const Array &w, std::vector<int64_t> sizes,
                             std::vector<int64_t> s, std::vector<int64_t> p, std::vector<int64_t> d,
                             int64_t groups) {
  int64_t perGroup = x.shape[1] / groups;
  Array y{"f32", {x.shape[0], w.shape[1] * groups, sizes[0], sizes[1]}, {}};
  y.values.resize(y.shape[0] * y.shape[1] * sizes[0] * sizes[1]);
  for (int64_t n = 0; n < x.shape[0]; ++n)
    for (int64_t c = 0; c < x.shape[1]; ++c)
      for (int64_t i = 0; i < x.shape[2]; ++i)
        for (int64_t j = 0; j < x.shape[3]; ++j)
          for (int64_t o = 0; o < w.shape[1]; ++o)
            for (int64_t k = 0; k < w.shape[2]; ++k)
              for (int64_t l = 0; l < w.shape[3]; ++l) {
                int64_t a = i * s[0] - p[0] + k * d[0], b = j * s[1] - p[2] + l * d[1];
                if (a < 0 || b < 0 || a >= sizes[0] || b >= sizes[1])
                  continue;
                int64_t out = c / perGroup * w.shape[1] + o;
                y.values[((n * y.shape[1] + out) * sizes[0] + a) * sizes[1] + b] +=
                    x.values[((n * x.shape[1] + c) * x.shape[2] + i) * x.shape[3] + j] *
                    w.values[((c * w.shape[1] + o) * w.shape[2] + k) * w.shape[3] + l];
              }
  return y;
}

TEST(ConvTranspose, AgainstPlainLoops) {
  struct {
    std::vector<int64_t> x, w, sizes, s, p, d;
    int64_t groups;
  } cases[] = {
      {{1, 2, 3, 3}, {2, 3, 3, 3}, {5, 5}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
      {{1, 2, 3, 2}, {2, 2, 3, 2}, {6, 4}, {2, 2}, {1, 0, 0, 0}, {1, 1}, 1},
      {{2, 2, 3, 3}, {2, 1, 2, 2}, {8, 7}, {3, 2}, {0, 0, 1, 1}, {2, 3}, 2},
      {{1, 1, 2, 2}, {1, 1, 1, 1}, {5, 5}, {2, 2}, {-1, 0, 0, 0}, {1, 1}, 1},
  };
  for (auto &c : cases) {
    Array x = sample(c.x), w = sample(c.w, 5);
    Array y = convTransposeReference(x, w, c.sizes, c.s, c.p, c.d, c.groups);
    Array sizes = i64({2}, {(double)c.sizes[0], (double)c.sizes[1]});
    std::string attributes = "strides = " + list(c.s) + ", pads = " + list(c.p) +
                             ", dilations = " + list(c.d) +
                             ", groups = " + std::to_string(c.groups) + " : i64}";
    expect("conv_transpose %0, %1, %2 {channels_last = false, " + attributes, {x, w, sizes}, y);
    expect("conv_transpose %0, %1, %2 {channels_last = true, " + attributes,
           {transposed(x, {0, 2, 3, 1}), transposed(w, {2, 3, 1, 0}), sizes},
           transposed(y, {0, 2, 3, 1}));
  }
}

std::string pool(const std::string &kind, const std::string &window, bool ceil, bool includePad,
                 int64_t p = 1) {
  return "pool %0 {kind = \"" + kind + "\", " + window +
         ", ceil_mode = " + (ceil ? "true" : "false") +
         ", count_include_pad = " + (includePad ? "true" : "false") + ", p = " + std::to_string(p) +
         " : i64, channels_last = false}";
}

TEST(Pool, KindsAndEdges) {
  Array x = f32({1, 1, 5}, {1, -2, 3, 4, 5});
  std::string window = "window = array<i64: 2>, strides = array<i64: 2>, pads "
                       "= array<i64: 0, 0>, dilations = array<i64: 1>";
  expect(pool("max", window, false, false), {x}, f32({1, 1, 2}, {1, 4}));
  expect(pool("max", window, true, false), {x}, f32({1, 1, 3}, {1, 4, 5}));
  expect(pool("average", window, true, false), {x}, f32({1, 1, 3}, {-0.5, 3.5, 5}));
  // Beyond the end padding nothing counts, even with count_include_pad.
  expect(pool("average", window, true, true), {x}, f32({1, 1, 3}, {-0.5, 3.5, 5}));
  std::string padded = "window = array<i64: 3>, strides = array<i64: 2>, pads "
                       "= array<i64: 1, 1>, dilations = array<i64: 1>";
  expect(pool("average", padded, false, true), {x}, f32({1, 1, 3}, {-1.0 / 3, 5.0 / 3, 3}));
  expect(pool("average", padded, false, false), {x}, f32({1, 1, 3}, {-0.5, 5.0 / 3, 4.5}));
  expect(pool("sum", padded, false, false), {x}, f32({1, 1, 3}, {-1, 5, 9}));
  expect(pool("lp", padded, false, false, 2), {x},
         f32({1, 1, 3}, {std::sqrt(5.0), std::sqrt(29.0), std::sqrt(41.0)}));
  expect(pool("lp", padded, false, false, 1), {x}, f32({1, 1, 3}, {3, 9, 9}));
  std::string dilated = "window = array<i64: 2>, strides = array<i64: 1>, pads "
                        "= array<i64: 1, 0>, dilations = array<i64: 3>";
  expect(pool("max", dilated, false, false), {x}, f32({1, 1, 3}, {3, 4, 5}));
}

TEST(MaxPoolIndex, Orders) {
  Array x = f32({1, 2, 2, 2}, {1, 4, 3, 2, 5, 6, 8, 7});
  auto text = [](bool within, bool columns) {
    return std::string("max_pool_index %0 {window = array<i64: 2, 2>, strides "
                       "= array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, "
                       "dilations = array<i64: 1, 1>, ceil_mode = false, "
                       "channels_last = false, within_image = ") +
           (within ? "true" : "false") + ", column_major = " + (columns ? "true" : "false") +
           ", index_type = i64}";
  };
  expect(text(false, false), {x}, i64({1, 2, 1, 1}, {1, 6}));
  expect(text(true, false), {x}, i64({1, 2, 1, 1}, {1, 2}));
  expect(text(false, true), {x}, i64({1, 2, 1, 1}, {2, 5}));
}

} // namespace

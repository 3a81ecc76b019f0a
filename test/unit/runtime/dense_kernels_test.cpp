//===- dense_kernels_test.cpp - decompositions, sequences -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel_call.h"

#include "weir/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

using namespace weir::rt::test;

namespace {

using Number = std::complex<double>;
using Numbers = std::vector<Number>;

struct Shape {
  int64_t rows, columns;
};

Numbers randomMatrix(Shape s, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Numbers m(static_cast<size_t>(s.rows * s.columns));
  for (Number &x : m)
    x = {normal(random), normal(random)};
  return m;
}

/// a b, or a b* with `adjoint`.
Numbers product(const Numbers &a, Shape sa, const Numbers &b, Shape sb, bool adjoint) {
  int64_t inner = sa.columns, columns = adjoint ? sb.rows : sb.columns;
  Numbers c(static_cast<size_t>(sa.rows * columns));
  for (int64_t i = 0; i < sa.rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < inner; ++k)
        c[size_t(i * columns + j)] +=
            a[size_t(i * inner + k)] *
            (adjoint ? std::conj(b[size_t(j * sb.columns + k)]) : b[size_t(k * sb.columns + j)]);
  return c;
}

double distance(const Numbers &a, const Numbers &b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

/// How far the columns are from orthogonal unit vectors.
double unitarity(const Numbers &m, Shape s) {
  double most = 0;
  for (int64_t p = 0; p < s.columns; ++p)
    for (int64_t q = 0; q < s.columns; ++q) {
      Number sum;
      for (int64_t i = 0; i < s.rows; ++i)
        sum += std::conj(m[size_t(i * s.columns + p)]) * m[size_t(i * s.columns + q)];
      most = std::max(most, std::abs(sum - (p == q ? 1.0 : 0.0)));
    }
  return most;
}

/// Columns times numbers.
Numbers scaled(Numbers m, Shape s, const Numbers &factors) {
  for (int64_t i = 0; i < s.rows; ++i)
    for (int64_t j = 0; j < s.columns; ++j)
      m[size_t(i * s.columns + j)] *= factors[size_t(j)];
  return m;
}

/// The first columns.
Numbers firstColumns(const Numbers &m, Shape s, int64_t count) {
  Numbers part;
  for (int64_t i = 0; i < s.rows; ++i)
    for (int64_t j = 0; j < count; ++j)
      part.push_back(m[size_t(i * s.columns + j)]);
  return part;
}

constexpr double kNear = 1e-12;

TEST(Svd, RebuildsTallWideAndSingularMatrices) {
  for (Shape s : {Shape{1, 1}, {5, 3}, {3, 5}, {6, 6}, {4, 0}})
    for (bool full : {false, true})
      for (bool singular : {false, true}) {
        Numbers a = randomMatrix(s, 1);
        for (int64_t i = 0; singular && s.columns > 1 && i < s.rows; ++i)
          a[size_t(i * s.columns + 1)] = a[size_t(i * s.columns)];
        Call call(weir_kernel_svd, {dense(a, WEIR_C128, {s.rows, s.columns})},
                  {WEIR_C128, WEIR_C128, WEIR_C128}, {full});
        ASSERT_EQ(call.code, 0) << call.message;
        int64_t least = std::min(s.rows, s.columns);
        Shape su = {s.rows, full ? s.rows : least}, sv = {s.columns, full ? s.columns : least};
        Numbers values = call.results[0].as<Number>(), u = call.results[1].as<Number>(),
                v = call.results[2].as<Number>();
        for (size_t i = 1; i < values.size(); ++i)
          EXPECT_GE(values[i - 1].real(), values[i].real());
        EXPECT_LT(unitarity(u, su), kNear);
        EXPECT_LT(unitarity(v, sv), kNear);
        Numbers left = scaled(firstColumns(u, su, least), {s.rows, least}, values);
        Numbers rebuilt =
            product(left, {s.rows, least}, firstColumns(v, sv, least), {s.columns, least}, true);
        EXPECT_LT(distance(rebuilt, a), kNear);
      }
}

TEST(Eigh, RebuildsHermitianMatrices) {
  for (int64_t n : {0, 1, 2, 7, 20}) {
    Shape s = {n, n};
    Numbers a = randomMatrix(s, 2);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j)
        a[size_t(j * n + i)] =
            i == j ? Number(a[size_t(i * n + i)].real()) : std::conj(a[size_t(i * n + j)]);
    Call call(weir_kernel_eigh, {dense(a, WEIR_C128, {n, n})}, {WEIR_C128, WEIR_C128}, {});
    ASSERT_EQ(call.code, 0) << call.message;
    Numbers values = call.results[0].as<Number>(), v = call.results[1].as<Number>();
    for (size_t i = 1; i < values.size(); ++i)
      EXPECT_LE(values[i - 1].real(), values[i].real());
    EXPECT_LT(unitarity(v, s), kNear);
    EXPECT_LT(distance(product(scaled(v, s, values), s, v, s, true), a), kNear);
  }
}

/// Real matrices have pairs of complex eigenvalues.
TEST(Eig, FindsValuesAndVectors) {
  for (int64_t n : {1, 2, 5, 30}) {
    Shape s = {n, n};
    Numbers a = randomMatrix(s, 3);
    std::vector<double> real;
    for (Number &x : a) {
      x.imag(0);
      real.push_back(x.real());
    }
    Call call(weir_kernel_eig, {dense(real, WEIR_F64, {n, n})}, {WEIR_C128, WEIR_C128}, {});
    ASSERT_EQ(call.code, 0) << call.message;
    Numbers values = call.results[0].as<Number>(), v = call.results[1].as<Number>();
    EXPECT_LT(distance(product(a, s, v, s, false), scaled(v, s, values)), 1e-11);
  }
}

TEST(Qr, RebuildsMatrices) {
  for (Shape s : {Shape{1, 1}, {5, 3}, {3, 5}, {4, 4}})
    for (bool full : {false, true}) {
      Numbers a = randomMatrix(s, 4);
      Call call(weir_kernel_qr, {dense(a, WEIR_C128, {s.rows, s.columns})}, {WEIR_C128, WEIR_C128},
                {full});
      ASSERT_EQ(call.code, 0) << call.message;
      int64_t kept = full ? s.rows : std::min(s.rows, s.columns);
      Numbers q = call.results[0].as<Number>(), r = call.results[1].as<Number>();
      EXPECT_LT(unitarity(q, {s.rows, kept}), kNear);
      EXPECT_LT(distance(product(q, {s.rows, kept}, r, {kept, s.columns}, false), a), kNear);
      for (int64_t i = 0; i < kept; ++i)
        for (int64_t j = 0; j < i && j < s.columns; ++j)
          EXPECT_EQ(r[size_t(i * s.columns + j)], Number());
    }
}

TEST(MatrixFunction, RootsAndLogarithmsAreUndone) {
  Shape s = {6, 6};
  Numbers a = randomMatrix(s, 5);
  for (Number &x : a)
    x *= 0.2;
  auto apply = [&](Numbers m, int64_t which) {
    Call call(weir_kernel_matrix_function, {dense(m, WEIR_C128, {6, 6})}, {WEIR_C128}, {which});
    EXPECT_EQ(call.code, 0) << call.message;
    return call.results[0].as<Number>();
  };
  Numbers power = apply(a, 2);
  EXPECT_LT(distance(apply(power, 1), a), kNear);
  Numbers half = apply(power, 0);
  EXPECT_LT(distance(product(half, s, half, s, false), power), kNear);
}

/// Engines may decompose real matrices by other ways than complex ones.
TEST(Decompositions, RebuildRealMatrices) {
  auto real = [](const Numbers &m) {
    std::vector<double> parts;
    for (const Number &x : m)
      parts.push_back(x.real());
    return parts;
  };
  auto numbers = [](const Result &result) {
    Numbers m;
    for (double x : result.as<double>())
      m.emplace_back(x);
    return m;
  };
  for (Shape s : {Shape{5, 3}, {3, 5}, {7, 7}})
    for (bool full : {false, true}) {
      Numbers a = randomMatrix(s, 6);
      for (Number &x : a)
        x.imag(0);
      int64_t least = std::min(s.rows, s.columns), kept = full ? s.rows : least;
      std::vector<double> held = real(a);
      weir_tensor given = dense(held, WEIR_F64, {s.rows, s.columns});
      Call svd(weir_kernel_svd, {given}, {WEIR_F64, WEIR_F64, WEIR_F64}, {full});
      ASSERT_EQ(svd.code, 0) << svd.message;
      Shape su = {s.rows, kept}, sv = {s.columns, full ? s.columns : least};
      Numbers u = numbers(svd.results[1]), v = numbers(svd.results[2]);
      EXPECT_LT(unitarity(u, su), kNear);
      EXPECT_LT(unitarity(v, sv), kNear);
      Numbers left = scaled(firstColumns(u, su, least), {s.rows, least}, numbers(svd.results[0]));
      EXPECT_LT(distance(product(left, {s.rows, least}, firstColumns(v, sv, least),
                                 {s.columns, least}, true),
                         a),
                kNear);
      Call values(weir_kernel_svd, {given}, {WEIR_F64}, {full});
      EXPECT_LT(distance(numbers(values.results[0]), numbers(svd.results[0])), kNear);
      Call qr(weir_kernel_qr, {given}, {WEIR_F64, WEIR_F64}, {full});
      ASSERT_EQ(qr.code, 0) << qr.message;
      Numbers q = numbers(qr.results[0]), r = numbers(qr.results[1]);
      EXPECT_LT(unitarity(q, {s.rows, kept}), kNear);
      EXPECT_LT(distance(product(q, {s.rows, kept}, r, {kept, s.columns}, false), a), kNear);
      if (s.rows != s.columns)
        continue;
      for (int64_t i = 0; i < s.rows; ++i)
        for (int64_t j = 0; j < i; ++j)
          a[size_t(j * s.columns + i)] = a[size_t(i * s.columns + j)];
      held = real(a);
      Call eigh(weir_kernel_eigh, {dense(held, WEIR_F64, {s.rows, s.columns})},
                {WEIR_F64, WEIR_F64}, {});
      ASSERT_EQ(eigh.code, 0) << eigh.message;
      Numbers e = numbers(eigh.results[1]);
      EXPECT_LT(unitarity(e, s), kNear);
      EXPECT_LT(distance(product(scaled(e, s, numbers(eigh.results[0])), s, e, s, true), a), kNear);
    }
}

/// det(a) det(b) = det(a b), a batch of both types; with rows that have to be exchanged.
TEST(Determinant, MultipliesWithItsMatrices) {
  for (int64_t n : {0, 1, 2, 5, 40}) {
    Shape s = {n, n};
    Numbers a = randomMatrix(s, 7), b = randomMatrix(s, 8);
    for (int64_t i = 0; i < n * n; ++i) {
      a[size_t(i)] = a[size_t(i)].real() * 0.2;
      b[size_t(i)] = b[size_t(i)].real() * 0.2;
    }
    if (n)
      a[0] = 0;
    Numbers ab = product(a, s, b, s, false);
    std::vector<double> three;
    std::vector<float> narrow;
    for (const Numbers *m : {&a, &b, &ab})
      for (const Number &x : *m) {
        three.push_back(x.real());
        narrow.push_back(float(x.real()));
      }
    Call wide(weir_kernel_determinant, {dense(three, WEIR_F64, {3, n, n})}, {WEIR_F64}, {});
    ASSERT_EQ(wide.code, 0) << wide.message;
    std::vector<double> d = wide.results[0].as<double>();
    EXPECT_NEAR(d[0] * d[1], d[2], 1e-10 * std::abs(d[2]));
    if (n == 2) {
      EXPECT_NEAR(d[0], -a[1].real() * a[2].real(), 1e-15);
    }
    Call single(weir_kernel_determinant, {dense(narrow, WEIR_F32, {3, n, n})}, {WEIR_F32}, {});
    ASSERT_EQ(single.code, 0) << single.message;
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(single.results[0].as<float>()[i], d[i], 1e-3 * std::abs(d[i]));
  }
}

TEST(Decompositions, RefuseWhatIsNotFinite) {
  std::vector<double> nan = {NAN, 0, 0, 1};
  for (weir_library_fn function : {weir_kernel_eigh, weir_kernel_eig}) {
    Call call(function, {dense(nan, WEIR_F64, {2, 2})},
              {function == weir_kernel_eig ? WEIR_C128 : WEIR_F64}, {0});
    EXPECT_EQ(call.code, WEIR_INVALID_ARGUMENT);
  }
}

/// Of a batch, the matrix that is not finite alone.
TEST(Svd, HasNoNumbersOfWhatIsNotFinite) {
  std::vector<double> batch = {3, 0, 0, 4, 1, INFINITY, 0, 1, NAN, 0, 0, 1};
  Call reals(weir_kernel_svd, {dense(batch, WEIR_F64, {3, 2, 2})}, {WEIR_F64, WEIR_F64, WEIR_F64},
             {0});
  ASSERT_EQ(reals.code, 0) << reals.message;
  std::vector<double> values = reals.results[0].as<double>();
  EXPECT_NEAR(values[0], 4, kNear);
  EXPECT_NEAR(values[1], 3, kNear);
  for (size_t i = 2; i < 6; ++i)
    EXPECT_TRUE(std::isnan(values[i]));
  for (size_t result : {1, 2})
    for (size_t i = 0; i < 12; ++i)
      EXPECT_EQ(std::isnan(reals.results[result].as<double>()[i]), i >= 4);
  Numbers complex(batch.begin(), batch.end());
  Call call(weir_kernel_svd, {dense(complex, WEIR_C128, {3, 2, 2})}, {WEIR_C128}, {0});
  ASSERT_EQ(call.code, 0) << call.message;
  Numbers found = call.results[0].as<Number>();
  EXPECT_NEAR(found[0].real(), 4, kNear);
  for (size_t i = 2; i < 6; ++i)
    EXPECT_EQ(found[i], 0.0);
}

/// Squares of the elements are beyond the type, at either end.
TEST(Decompositions, TakeNumbersWhoseSquaresOverflow) {
  for (double scale : {1e-300, 1e-200, 1e200, 1e300}) {
    std::vector<double> a = {2, 1, 0, 1, 3, 1, 0, 1, 4}, far;
    for (double x : a)
      far.push_back(x * scale);
    for (weir_library_fn function : {weir_kernel_svd, weir_kernel_eigh}) {
      Call near(function, {dense(a, WEIR_F64, {3, 3})}, {WEIR_F64}, {0});
      Call call(function, {dense(far, WEIR_F64, {3, 3})}, {WEIR_F64}, {0});
      ASSERT_EQ(call.code, 0) << call.message;
      for (size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(call.results[0].as<double>()[i] / scale, near.results[0].as<double>()[i],
                    kNear);
    }
  }
}

/// Columns that depend on each other, along which rotations leave nothing but rounding.
TEST(Svd, ConvergesForColumnsThatDepend) {
  Shape s = {128, 8};
  std::vector<double> a;
  for (int64_t i = 0; i < s.rows; ++i)
    for (int64_t j = 0; j < s.columns; ++j)
      a.push_back(double((i % 5 - 2) * (j % 3 + 1)));
  Call call(weir_kernel_svd, {dense(a, WEIR_F64, {s.rows, s.columns})}, {WEIR_F64}, {0});
  ASSERT_EQ(call.code, 0) << call.message;
  std::vector<double> values = call.results[0].as<double>();
  double squares = 0;
  for (double x : a)
    squares += x * x;
  EXPECT_NEAR(values[0], std::sqrt(squares), 1e-11);
  for (size_t i = 1; i < values.size(); ++i)
    EXPECT_LT(values[i], 1e-11);
}

/// Two steps of two classes and a blank, by hand: of "0", the paths 00, 0-, -0.
TEST(Ctc, LossSumsAllPaths) {
  std::vector<double> inputs = {std::log(0.5), std::log(0.2), std::log(0.3),
                                std::log(0.1), std::log(0.3), std::log(0.6)};
  std::vector<int64_t> places = {0, 0};
  std::vector<int32_t> labels = {0}, lengths = {2};
  Call call(weir_kernel_ctc_loss,
            {dense(inputs, WEIR_F64, {2, 1, 3}), dense(places, WEIR_I64, {1, 2}),
             dense(labels, WEIR_I32, {1}), dense(lengths, WEIR_I32, {1})},
            {WEIR_F64, WEIR_F64}, {0, 1, 0, -1});
  ASSERT_EQ(call.code, 0) << call.message;
  double p = 0.5 * 0.1 + 0.5 * 0.6 + 0.3 * 0.1;
  EXPECT_NEAR(call.results[0].as<double>()[0], -std::log(p), 1e-6);
  // The first step is class 0 in two of the paths.
  EXPECT_NEAR(call.results[1].as<double>()[0], 0.5 - (0.5 * 0.1 + 0.5 * 0.6) / p, 1e-6);
  std::vector<int32_t> one = {0};
  Call tooShort(weir_kernel_ctc_loss,
                {dense(inputs, WEIR_F64, {2, 1, 3}), dense(places, WEIR_I64, {1, 2}),
                 dense(labels, WEIR_I32, {1}), dense(one, WEIR_I32, {1})},
                {WEIR_F64, WEIR_F64}, {0, 1, 0, -1});
  EXPECT_EQ(tooShort.code, WEIR_INVALID_ARGUMENT);
}

/// The same: "0" has 0.38, "01" 0.15, nothing 0.18, "1" 0.27, "10" 0.02.
TEST(Ctc, BeamSearchFindsTheMostProbablePrefixes) {
  std::vector<double> inputs = {std::log(0.5), std::log(0.2), std::log(0.3),
                                std::log(0.1), std::log(0.3), std::log(0.6)};
  std::vector<int32_t> lengths = {2};
  Call call(weir_kernel_ctc_beam_search,
            {dense(inputs, WEIR_F64, {2, 1, 3}), dense(lengths, WEIR_I32, {1})},
            {WEIR_I64, WEIR_I64, WEIR_I64, WEIR_I64, WEIR_I64, WEIR_I64, WEIR_F64}, {1, 8, 2});
  ASSERT_EQ(call.code, 0) << call.message;
  EXPECT_EQ(call.results[2].as<int64_t>(), std::vector<int64_t>{0});
  EXPECT_EQ(call.results[3].as<int64_t>(), std::vector<int64_t>{1});
  EXPECT_NEAR(call.results[6].as<double>()[0], std::log(0.38), 1e-6);
  EXPECT_NEAR(call.results[6].as<double>()[1], std::log(0.27), 1e-6);
}

TEST(Ctc, GreedyLeavesBlanksAndRepeatsOut) {
  std::vector<float> inputs = {5, 0, 0, 5, 0, 0, 0, 0, 5, 5, 0, 0, 0, 5, 0};
  std::vector<int32_t> lengths = {5};
  Call call(weir_kernel_ctc_greedy,
            {dense(inputs, WEIR_F32, {5, 1, 3}), dense(lengths, WEIR_I32, {1})},
            {WEIR_I64, WEIR_I64, WEIR_I64, WEIR_F32}, {1, -1});
  ASSERT_EQ(call.code, 0) << call.message;
  EXPECT_EQ(call.results[1].as<int64_t>(), (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ(call.results[3].as<float>()[0], -25);
}

} // namespace

//===- fourier.cpp - discrete Fourier transforms --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mixed radices, decimation in frequency, from one buffer to another and back
// (Swarztrauber, "Vectorizing the FFTs", 1982). Lengths with large prime factors
// become a convolution of a power of two (Bluestein, "A linear filtering approach
// to the computation of discrete Fourier transform", 1970). In the operand's own
// precision; roots of unity are computed in f64. A factor of 1 multiplies nothing,
// so that an infinity stays out of the parts that it has no share in.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"
#include "weir/numerics.h"

#include <math.h>

using namespace weir::rt;

namespace {

template <typename T> struct Number {
  T re, im;

  friend Number operator+(Number a, Number b) { return {a.re + b.re, a.im + b.im}; }
  friend Number operator-(Number a, Number b) { return {a.re - b.re, a.im - b.im}; }
  friend Number operator*(Number a, Number b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend Number operator*(T a, Number b) { return {a * b.re, a * b.im}; }
  Number timesI() const { return {-im, re}; }
};

/// e^(-2πi k / n), exact at the eighths of the circle.
template <typename T> Number<T> rootOfUnity(int64_t k, int64_t n) {
  int64_t eighth = 8 * k / n;
  double angle = 2 * M_PI * double(8 * k - eighth * n) / (8 * double(n));
  double c, s;
  // Odd eighths count down to the next quarter.
  if (eighth & 1) {
    double rest = M_PI / 4 - angle;
    c = sin(rest), s = cos(rest);
  } else {
    c = cos(angle), s = sin(angle);
  }
  for (int64_t quarter = 0; quarter < eighth / 2; ++quarter) {
    double turned = -s;
    s = c, c = turned;
  }
  return {T(c), T(-s)};
}

constexpr int kMaxFactors = 64;

/// The radices of a length: fours, a two, then odd primes.
struct Factors {
  int64_t radix[kMaxFactors];
  int count = 0;
  /// Multiplications a point, roughly: a prime takes as many as it is large.
  double cost = 0;

  explicit Factors(int64_t n) {
    while (n % 4 == 0)
      add(4, n);
    while (n % 2 == 0)
      add(2, n);
    for (int64_t p = 3; p * p <= n; p += 2)
      while (n % p == 0)
        add(p, n);
    if (n > 1)
      add(n, n);
  }

private:
  void add(int64_t factor, int64_t &n) {
    radix[count++] = factor;
    cost += factor <= 5 ? double(factor) : 1.1 * double(factor);
    n /= factor;
  }
};

/// Forward transforms of one length; the memory is the caller's.
template <typename T> class Transform {
public:
  using Complex = Number<T>;

  explicit Transform(int64_t n) : n(n), factors(n) {
    if (n < 50)
      return;
    int64_t size = 1;
    while (size < 2 * n - 1)
      size *= 2;
    if (3 * double(size) * Factors(size).cost < double(n) * factors.cost)
      padded = size;
  }

  /// Complex numbers of scratch and tables.
  int64_t room() const { return padded ? n + 4 * padded : 2 * n; }

  void prepare(Complex *memory) {
    if (!padded) {
      roots = memory;
      scratch = memory + n;
      for (int64_t k = 0; k < n; ++k)
        roots[k] = rootOfUnity<T>(k, n);
      return;
    }
    chirp = memory;
    filter = memory + n;
    roots = filter + padded;
    scratch = roots + padded;
    spectrum = scratch + padded;
    for (int64_t k = 0; k < padded; ++k)
      roots[k] = rootOfUnity<T>(k, padded);
    // e^(-πi k²/n), with k² taken modulo 2n.
    int64_t square = 0;
    for (int64_t k = 0; k < n; ++k) {
      chirp[k] = rootOfUnity<T>(square, 2 * n);
      square = (square + 2 * k + 1) % (2 * n);
    }
    for (int64_t k = 0; k < padded; ++k)
      filter[k] = {};
    for (int64_t k = 0; k < n; ++k) {
      Complex conjugate = {chirp[k].re, -chirp[k].im};
      filter[k] = filter[k ? padded - k : 0] = conjugate;
    }
    passes(filter, padded, Factors(padded));
  }

  /// Forward, in place.
  void run(Complex *x) {
    if (!padded)
      return passes(x, n, factors);
    for (int64_t k = 0; k < padded; ++k)
      spectrum[k] = k < n ? x[k] * chirp[k] : Complex{};
    Factors own(padded);
    passes(spectrum, padded, own);
    // Back by the forward transform of the conjugate.
    for (int64_t k = 0; k < padded; ++k) {
      Complex product = spectrum[k] * filter[k];
      spectrum[k] = {product.re, -product.im};
    }
    passes(spectrum, padded, own);
    T scale = T(1.0 / double(padded));
    for (int64_t k = 0; k < n; ++k)
      x[k] = Complex{scale * spectrum[k].re, -scale * spectrum[k].im} * chirp[k];
  }

private:
  void passes(Complex *x, int64_t size, const Factors &of) {
    Complex *from = x, *to = scratch;
    int64_t before = 1;
    for (int f = 0; f < of.count; ++f) {
      pass(from, to, size, of.radix[f], before);
      before *= of.radix[f];
      Complex *swapped = from;
      from = to;
      to = swapped;
    }
    if (from != x)
      memcpy(x, from, size_t(size) * sizeof(Complex));
  }

  /// One radix: points a stride apart become their transform, times the twiddles.
  void pass(const Complex *from, Complex *to, int64_t size, int64_t radix, int64_t before) {
    int64_t after = size / (before * radix), step = after * before;
    for (int64_t k = 0; k < before; ++k) {
      const Complex *x = from + after * radix * k;
      Complex *y = to + after * k;
      if (radix == 4)
        fours(x, y, after, step, before);
      else if (radix == 2)
        twos(x, y, after, step, before);
      else
        odds(x, y, after, step, radix, size, before);
    }
  }

  /// `after` transforms of two, or four, points side by side. The first has no twiddles.
  void twos(const Complex *x, Complex *y, int64_t after, int64_t step, int64_t before) const {
    for (int64_t i = 0; i < after; ++i) {
      Complex sum = x[i] + x[i + after], difference = x[i] - x[i + after];
      y[i] = sum;
      y[i + step] = i ? difference * roots[i * before] : difference;
    }
  }
  void fours(const Complex *x, Complex *y, int64_t after, int64_t step, int64_t before) const {
    for (int64_t i = 0; i < after; ++i) {
      const Complex a = x[i], b = x[i + after], c = x[i + 2 * after], d = x[i + 3 * after];
      Complex even = a + c, oddEven = a - c, sum = b + d, turned = (b - d).timesI();
      Complex first = oddEven - turned, second = even - sum, third = oddEven + turned;
      y[i] = even + sum;
      if (i) {
        const Complex *root = roots + i * before;
        first = first * root[0];
        second = second * root[i * before];
        third = third * root[2 * i * before];
      }
      y[i + step] = first;
      y[i + 2 * step] = second;
      y[i + 3 * step] = third;
    }
  }
  void odds(const Complex *x, Complex *y, int64_t after, int64_t step, int64_t radix, int64_t size,
            int64_t before) {
    for (int64_t i = 0; i < after; ++i) {
      odd(x + i, after, y + i, step, radix, size);
      for (int64_t m = 1; i > 0 && m < radix; ++m)
        y[i + m * step] = y[i + m * step] * roots[m * i * before];
    }
  }

  /// An odd radix by sums and differences of the pairs j and radix - j.
  void odd(const Complex *x, int64_t in, Complex *y, int64_t out, int64_t radix, int64_t size) {
    int64_t half = (radix - 1) / 2, turn = size / radix;
    Complex total = x[0];
    for (int64_t j = 1; j <= half; ++j)
      total = total + (x[j * in] + x[(radix - j) * in]);
    y[0] = total;
    for (int64_t m = 1; m <= half; ++m) {
      Complex even = x[0], other = {};
      for (int64_t j = 1; j <= half; ++j) {
        Complex root = roots[(m * j % radix) * turn];
        even = even + root.re * (x[j * in] + x[(radix - j) * in]);
        other = other + root.im * (x[j * in] - x[(radix - j) * in]);
      }
      Complex turned = other.timesI();
      y[m * out] = even + turned;
      y[(radix - m) * out] = even - turned;
    }
  }

  const int64_t n;
  const Factors factors;
  int64_t padded = 0;
  Complex *roots = nullptr, *scratch = nullptr;
  Complex *chirp = nullptr, *filter = nullptr, *spectrum = nullptr;
};

enum Kind { Plain = 0, FromReal = 1, ToReal = 2 };

struct Plan {
  Kind kind;
  bool isInverse;
  int64_t count;          ///< of axes
  const int64_t *lengths; ///< of the transform; null: the operand's
  int64_t axes[WEIR_MAX_RANK];
  int64_t from[WEIR_MAX_RANK], to[WEIR_MAX_RANK]; ///< the operand's dims, the result's
  int32_t rank;

  int64_t lengthOf(int64_t a) const {
    if (lengths)
      return lengths[a];
    return kind == ToReal && a + 1 == count ? 2 * (from[axes[a]] - 1) : from[axes[a]];
  }
};

/// Transforms `data` of `dims` in place along an axis, whose length is right.
template <typename T>
bool transformAxis(weir_context *ctx, Number<T> *data, const int64_t *dims, int32_t rank,
                   int64_t axis, bool isInverse) {
  int64_t n = dims[axis], outer = 1, inner = 1;
  for (int64_t d = 0; d < axis; ++d)
    outer *= dims[d];
  for (int64_t d = axis + 1; d < rank; ++d)
    inner *= dims[d];
  if (n == 0 || outer == 0 || inner == 0)
    return true;
  Transform<T> transform(n);
  Scratch<Number<T>> room(ctx, transform.room());
  if (!room.data)
    return false;
  transform.prepare(room.data);
  // Neighbours share lines of the cache: so many are taken at a time.
  constexpr int64_t most = 64 / sizeof(Number<T>);
  Scratch<Number<T>> lines(ctx, n * (inner < most ? inner : most));
  if (!lines.data)
    return false;
  T scale = T(1.0 / double(n));
  // The inverse is the forward transform with both parts swapped.
  auto swapped = [&](Number<T> x) { return isInverse ? Number<T>{x.im, x.re} : x; };
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; i += most) {
      Number<T> *at = data + o * n * inner + i;
      int64_t count = inner - i < most ? inner - i : most;
      for (int64_t k = 0; k < n; ++k)
        for (int64_t c = 0; c < count; ++c)
          lines.data[c * n + k] = swapped(at[k * inner + c]);
      for (int64_t c = 0; c < count; ++c)
        transform.run(lines.data + c * n);
      for (int64_t k = 0; k < n; ++k)
        for (int64_t c = 0; c < count; ++c) {
          Number<T> y = swapped(lines.data[c * n + k]);
          at[k * inner + c] = isInverse ? scale * y : y;
        }
    }
  return true;
}

int64_t productOf(const int64_t *dims, int32_t rank) {
  int64_t product = 1;
  for (int32_t d = 0; d < rank; ++d)
    product *= dims[d];
  return product;
}

/// The operand, cut or filled up to `dims`, as complex numbers.
template <typename T>
void load(const weir_tensor &x, const int64_t *dims, int32_t rank, Number<T> *to) {
  bool isReal = x.dtype == WEIR_F32 || x.dtype == WEIR_F64;
  int64_t count = productOf(dims, rank), place[WEIR_MAX_RANK] = {};
  if (!isReal && memcmp(x.dims, dims, size_t(rank) * sizeof(int64_t)) == 0) {
    memcpy(to, x.data, size_t(count) * sizeof(Number<T>));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    bool isIn = true;
    for (int32_t d = 0; d < rank; ++d) {
      isIn &= place[d] < x.dims[d];
      at = at * x.dims[d] + place[d];
    }
    to[i] = {};
    if (isIn && isReal)
      to[i].re = static_cast<const T *>(x.data)[at];
    else if (isIn)
      to[i] = static_cast<const Number<T> *>(x.data)[at];
    for (int32_t d = rank; d-- > 0 && ++place[d] == dims[d];)
      place[d] = 0;
  }
}

/// Along the last axis: real numbers become the first half of their transform, the
/// rest of which are conjugates.
template <typename T>
void keepHalf(const Number<T> *whole, const Plan &plan, int64_t axis, const int64_t *dims,
              Number<T> *to) {
  int64_t n = dims[axis], half = n / 2 + 1, inner = 1, outer = 1;
  for (int64_t d = 0; d < axis; ++d)
    outer *= dims[d];
  for (int64_t d = axis + 1; d < plan.rank; ++d)
    inner *= dims[d];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < half; ++k)
      for (int64_t i = 0; i < inner; ++i) {
        Number<T> y = whole[(o * n + k) * inner + i];
        // Sums of real numbers alone.
        if (k == 0 || 2 * k == n)
          y.im = 0;
        to[(o * half + k) * inner + i] = y;
      }
}

/// A half with its conjugates: the whole spectrum of real numbers of length `n`.
template <typename T>
void mirror(const Number<T> *half, const Plan &plan, int64_t axis, const int64_t *dims, int64_t n,
            Number<T> *to) {
  int64_t have = dims[axis], inner = 1, outer = 1;
  for (int64_t d = 0; d < axis; ++d)
    outer *= dims[d];
  for (int64_t d = axis + 1; d < plan.rank; ++d)
    inner *= dims[d];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < inner; ++i) {
        bool isMirrored = k > n / 2;
        Number<T> x = half[(o * have + (isMirrored ? n - k : k)) * inner + i];
        if (isMirrored)
          x.im = -x.im;
        // What stands for a real number is one.
        if (k == 0 || 2 * k == n)
          x.im = 0;
        to[(o * n + k) * inner + i] = x;
      }
}

template <typename T>
int32_t transformAll(weir_context *ctx, const weir_tensor &x, const Plan &plan,
                     weir_tensor &result) {
  int64_t last = plan.count ? plan.axes[plan.count - 1] : 0;
  // What is transformed as complex numbers first: cut to the lengths, of a half
  // to the half's.
  int64_t dims[WEIR_MAX_RANK];
  memcpy(dims, plan.to, sizeof(dims));
  int64_t length = plan.count ? plan.lengthOf(plan.count - 1) : 0;
  if (plan.kind == FromReal)
    dims[last] = length;
  if (plan.kind == ToReal)
    dims[last] = length / 2 + 1;
  int64_t count = productOf(dims, plan.rank);
  auto *to = static_cast<Number<T> *>(result.data);
  if (elementCountOf(result) == 0)
    return WEIR_OK;
  Scratch<Number<T>> room(ctx, plan.kind == Plain || count == 0 ? 1 : count);
  if (!room.data)
    return WEIR_RESOURCE_EXHAUSTED;
  Number<T> *data = plan.kind == Plain ? to : room.data;
  load(x, dims, plan.rank, data);
  auto run = [&](int64_t a) {
    return transformAxis(ctx, data, dims, plan.rank, plan.axes[a], plan.isInverse);
  };
  if (plan.kind == FromReal) {
    if (!run(plan.count - 1))
      return WEIR_RESOURCE_EXHAUSTED;
    keepHalf(data, plan, last, dims, to);
    data = to;
    dims[last] = plan.to[last];
  }
  for (int64_t a = 0; a < plan.count - (plan.kind == Plain ? 0 : 1); ++a)
    if (!run(a))
      return WEIR_RESOURCE_EXHAUSTED;
  if (plan.kind != ToReal)
    return WEIR_OK;
  int64_t total = elementCountOf(result);
  Scratch<Number<T>> whole(ctx, total);
  if (!whole.data)
    return WEIR_RESOURCE_EXHAUSTED;
  mirror(data, plan, last, dims, length, whole.data);
  dims[last] = length;
  if (!transformAxis(ctx, whole.data, dims, plan.rank, last, plan.isInverse))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < total; ++i)
    static_cast<T *>(result.data)[i] = whole[i].re;
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_fft(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                        weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  const weir_tensor &x = operands[0];
  if (operand_count != 3 || result_count != 1 || operands[1].dtype != WEIR_I64 ||
      operands[2].dtype != WEIR_I64 || operands[1].rank != 1 || operands[2].rank != 1)
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  Plan plan = {};
  plan.kind = Kind(attributes[0]);
  plan.isInverse = attributes[1] != 0;
  plan.count = operands[1].dims[0];
  plan.lengths = operands[2].dims[0] ? static_cast<const int64_t *>(operands[2].data) : nullptr;
  plan.rank = x.rank;
  bool isSingle = x.dtype == WEIR_F32 || x.dtype == WEIR_C64;
  bool isReal = x.dtype == WEIR_F32 || x.dtype == WEIR_F64;
  if (!isSingle && x.dtype != WEIR_F64 && x.dtype != WEIR_C128)
    return failDtype(ctx, "a Fourier transform", x.dtype);
  if (isReal != (plan.kind == FromReal) || plan.count > x.rank ||
      (plan.lengths && operands[2].dims[0] != plan.count))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "the axes, lengths and types of a Fourier transform do not fit");
  memcpy(plan.from, x.dims, sizeof(plan.from));
  memcpy(plan.to, x.dims, sizeof(plan.to));
  for (int64_t a = 0; a < plan.count; ++a) {
    int64_t axis = static_cast<const int64_t *>(operands[1].data)[a];
    axis += axis < 0 ? x.rank : 0;
    if (axis < 0 || axis >= x.rank)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "an axis is none of the tensor's");
    for (int64_t b = 0; b < a; ++b)
      if (plan.axes[b] == axis)
        return failMessage(ctx, WEIR_INVALID_ARGUMENT, "an axis is there twice");
    plan.axes[a] = axis;
    int64_t length = plan.lengthOf(a);
    if (length < 0)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a length of a transform is negative");
    plan.to[axis] =
        plan.kind == FromReal && a + 1 == plan.count && length > 0 ? length / 2 + 1 : length;
  }
  if (!shapeResult(ctx, results[0], x.rank, plan.to))
    return WEIR_RESOURCE_EXHAUSTED;
  return isSingle ? transformAll<float>(ctx, x, plan, results[0])
                  : transformAll<double>(ctx, x, plan, results[0]);
}

//===- random.cpp - random numbers that are drawn until they fit ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Distributions whose numbers need as many draws as chance wants, so that no
// vector loop makes them. Each number, or group of them, begins at a counter of
// its own: results do not depend on the order of computation. The counters are
// TensorFlow's, so that its stateless operations are reproduced.
//
//===----------------------------------------------------------------------===//

#include "kernels/philox.h"

using namespace weir::rt;

namespace {

/// Writes a number to element `i`; integers towards zero.
void storeNumber(weir_tensor &tensor, int64_t i, double value) {
  switch (tensor.dtype) {
  case WEIR_F64:
    static_cast<double *>(tensor.data)[i] = value;
    break;
  case WEIR_F32:
    static_cast<float *>(tensor.data)[i] = float(value);
    break;
  case WEIR_F16:
    static_cast<uint16_t *>(tensor.data)[i] = halfOfFloat(float(value));
    break;
  case WEIR_BF16:
    static_cast<uint16_t *>(tensor.data)[i] = bfloatOfFloat(float(value));
    break;
  default:
    storeIndex(tensor, i, isnan(value) ? 0 : int64_t(value));
  }
}

bool isStorable(int32_t dtype) {
  return dtype == WEIR_F64 || dtype == WEIR_F32 || dtype == WEIR_F16 || dtype == WEIR_BF16 ||
         isIndexType(dtype);
}

/// Numbers that a distribution hands out from the last of a block to the first.
class UniformBuffer {
public:
  double next(Philox &generator) {
    if (left == 0) {
      Philox::Block b = generator.next();
      values[0] = uniformDouble(b.word[0], b.word[1]);
      values[1] = uniformDouble(b.word[2], b.word[3]);
      left = 2;
    }
    return values[--left];
  }

private:
  double values[2];
  int left = 0;
};

class NormalBuffer {
public:
  double next(Philox &generator) {
    if (left == 0) {
      Philox::Block b = generator.next();
      normalPair(uniformDouble(b.word[0], b.word[1]), uniformDouble(b.word[2], b.word[3]),
                 &values[0], &values[1]);
      left = 2;
    }
    return values[--left];
  }

private:
  double values[2];
  int left = 0;
};

/// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
double gammaNumber(Philox generator, double alpha) {
  UniformBuffer uniform;
  if (alpha == 1)
    return -log1p(-uniform.next(generator));
  NormalBuffer normal;
  // Below 1: that of alpha + 1, times a power of a uniform number.
  bool below = alpha < 1;
  double d = alpha + (below ? 2.0 / 3 : -1.0 / 3);
  double c = 1.0 / 3 / sqrt(d);
  for (;;) {
    double x = normal.next(generator), v = 1 + c * x;
    if (v <= 0)
      continue;
    v = v * v * v;
    double u = uniform.next(generator);
    if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v)))
      return below ? d * v * pow(uniform.next(generator), 1 / alpha) : d * v;
  }
}

/// Below a rate of 10 the product of uniform numbers until it is under e^-rate
/// (Knuth, "The art of computer programming", volume 2, 3.4.1); else Hörmann, "The
/// transformed rejection method for generating Poisson random variables", 1993.
/// `most`: the highest number of the result's type.
double poissonNumber(Philox generator, double rate, double most) {
  UniformBuffer uniform;
  if (rate < 10) {
    double least = exp(-rate), product = 1;
    for (double x = 0;; x += 1) {
      product *= uniform.next(generator);
      if (product <= least && x <= most)
        return x;
      // A rate that is no number never gets there.
      if (!(product > 0))
        return x;
    }
  }
  if (isinf(rate))
    return rate;
  if (isnan(rate))
    return rate;
  double logRate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
  double inverseAlpha = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    double u = uniform.next(generator) - 0.5, v = uniform.next(generator);
    double us = 0.5 - fabs(u);
    double k = floor((2 * a / us + b) * u + rate + 0.43);
    if (k > most)
      continue;
    if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
      return k;
    if (k < 0 || (us < 0.013 && v > us))
      continue;
    if (log(v * inverseAlpha / (a / (us * us) + b)) <= -rate + k * logRate - lgamma(k + 1))
      return k;
  }
}

double highestOf(int32_t dtype) {
  switch (dtype) {
  case WEIR_I32:
    return 2147483647.0;
  case WEIR_I64:
    return 9223372036854775807.0;
  case WEIR_F16:
    return 65504;
  case WEIR_F64:
    return 1.7976931348623157e308;
  default:
    return 3.4028234663852886e38;
  }
}

/// Sums geometric numbers until they pass `count`: for few expected successes.
double binomialByInversion(double count, double p, Philox generator) {
  UniformBuffer uniform;
  double sum = 0, successes = 0;
  for (;;) {
    sum += ceil(log(uniform.next(generator)) / log1p(-p));
    // Not below: infinities end it, too.
    if (!(sum <= count))
      return successes;
    ++successes;
  }
}

/// log k! less Stirling's approximation of it.
double stirlingRest(double k) {
  double x = k + 1;
  if (k <= 9)
    return lgamma(x) - (0.91893853320467274178 + (k + 0.5) * log(x) - x);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / (x * x)) / (x * x)) / x;
}

/// Hörmann, "The generation of binomial random variates", 1993 (algorithm BTRS).
double binomialByRejection(double n, double p, Philox generator) {
  UniformBuffer uniform;
  double deviation = sqrt(n * p * (1 - p));
  double b = 1.15 + 2.53 * deviation;
  double a = -0.0873 + 0.0248 * b + 0.01 * p;
  double c = n * p + 0.5, vr = 0.92 - 4.2 / b, r = p / (1 - p);
  double alpha = (2.83 + 5.1 / b) * deviation, m = floor((n + 1) * p);
  for (;;) {
    double u = uniform.next(generator) - 0.5, v = uniform.next(generator);
    double us = 0.5 - fabs(u);
    double k = floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= vr)
      return k;
    if (k < 0 || k > n)
      continue;
    double bound = (m + 0.5) * log((m + 1) / (r * (n - m + 1))) +
                   (n + 1) * log((n - m + 1) / (n - k + 1)) +
                   (k + 0.5) * log(r * (n - k + 1) / (k + 1)) + stirlingRest(m) +
                   stirlingRest(n - m) - stirlingRest(k) - stirlingRest(n - k);
    if (log(v * alpha / (a / (us * us) + b)) <= bound)
      return k;
  }
}

/// The number of output `i`: for p above a half it counts failures.
double binomialNumber(Philox generator, int64_t i, double n, double p, double q, bool many) {
  if (n <= 0 || p <= 0)
    return 0;
  if (p >= 1)
    return n;
  if (isnan(p))
    return p;
  bool turned = p > 0.5;
  double chance = turned ? q : p;
  generator.skip(uint64_t(many ? 256 : 42) * uint64_t(i));
  double k =
      many ? binomialByRejection(n, chance, generator) : binomialByInversion(n, chance, generator);
  return turned ? n - k : k;
}

/// Draws pairs until `count` numbers lie within two standard deviations.
template <typename T> void truncatedGroup(Philox start, T *numbers, int count) {
  PhiloxWords words(start);
  for (int have = 0; have < count;) {
    T pair[2];
    uint32_t a = words.next(), b = words.next();
    if constexpr (sizeof(T) == 8) {
      uint32_t c = words.next(), d = words.next();
      normalPair(uniformDouble(a, b), uniformDouble(c, d), &pair[0], &pair[1]);
    } else {
      normalPair(uniformFloat(a), uniformFloat(b), &pair[0], &pair[1]);
    }
    for (T one : pair)
      if (fabs(one) < 2 && have < count)
        numbers[have++] = one;
  }
}

template <typename T> void fillTruncated(const Philox &start, weir_tensor &result) {
  constexpr int group = sizeof(T) == 8 ? 2 : 4;
  int64_t count = elementCountOf(result);
  for (int64_t first = 0; first < count; first += group) {
    // 256 draws are set aside for each number of a group.
    Philox generator = start;
    generator.skip(uint64_t(first) * 64);
    T numbers[group];
    truncatedGroup(generator, numbers, group);
    for (int64_t i = first; i < count && i < first + group; ++i)
      storeNumber(result, i, double(numbers[i - first]));
  }
}

} // namespace

int32_t weir_kernel_random_truncated_normal(weir_context *ctx, const weir_tensor *operands,
                                            int32_t operand_count, weir_tensor *results,
                                            int32_t result_count, const int64_t *) {
  Philox generator(0, 0, 0);
  if (operand_count != 2 || result_count != 1 || !readState(operands[0], &generator))
    return failState(ctx);
  if (!isStorable(results[0].dtype) || isIndexType(results[0].dtype))
    return failDtype(ctx, "a normal distribution", results[0].dtype);
  if (int32_t code = shapeBy(ctx, operands[1], results[0]))
    return code;
  if (results[0].dtype == WEIR_F64)
    fillTruncated<double>(generator, results[0]);
  else
    fillTruncated<float>(generator, results[0]);
  return WEIR_OK;
}

int32_t weir_kernel_random_gamma(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t result_count,
                                 const int64_t *) {
  Philox generator(0, 0, 0);
  if (operand_count != 3 || result_count != 1 || !readState(operands[0], &generator))
    return failState(ctx);
  const weir_tensor &alpha = operands[2];
  if (alpha.dtype != WEIR_F64 || !isStorable(results[0].dtype))
    return failDtype(ctx, "a gamma distribution", results[0].dtype);
  if (int32_t code = shapeBy(ctx, operands[1], results[0]))
    return code;
  int64_t count = elementCountOf(results[0]), alphas = elementCountOf(alpha);
  if (count == 0)
    return WEIR_OK;
  if (alphas == 0 || count % alphas != 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the shape must end with that of alpha");
  // Numbers are counted alpha by alpha, and written sample by sample.
  int64_t samples = count / alphas;
  for (int64_t a = 0; a < alphas; ++a)
    for (int64_t s = 0; s < samples; ++s) {
      Philox own = generator;
      own.skip(uint64_t(a * samples + s) * 256);
      storeNumber(results[0], s * alphas + a,
                  gammaNumber(own, static_cast<const double *>(alpha.data)[a]));
    }
  return WEIR_OK;
}

int32_t weir_kernel_random_poisson(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *) {
  Philox generator(0, 0, 0);
  if (operand_count != 3 || result_count != 1 || !readState(operands[0], &generator))
    return failState(ctx);
  const weir_tensor &rate = operands[2];
  if (rate.dtype != WEIR_F64 || !isStorable(results[0].dtype))
    return failDtype(ctx, "a Poisson distribution", results[0].dtype);
  if (int32_t code = shapeBy(ctx, operands[1], results[0]))
    return code;
  int64_t count = elementCountOf(results[0]), rates = elementCountOf(rate);
  if (count == 0)
    return WEIR_OK;
  if (rates == 0 || count % rates != 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the shape must end with that of the rate");
  // Numbers are counted rate by rate, and written sample by sample.
  int64_t samples = count / rates;
  double most = highestOf(results[0].dtype);
  for (int64_t r = 0; r < rates; ++r)
    for (int64_t s = 0; s < samples; ++s) {
      Philox own = generator;
      own.skip(uint64_t(r * samples + s) * 256);
      storeNumber(results[0], s * rates + r,
                  poissonNumber(own, static_cast<const double *>(rate.data)[r], most));
    }
  return WEIR_OK;
}

int32_t weir_kernel_random_binomial(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *) {
  Philox generator(0, 0, 0);
  if (operand_count != 4 || result_count != 1 || !readState(operands[0], &generator))
    return failState(ctx);
  const weir_tensor &counts = operands[2], &chances = operands[3];
  bool isFloat = counts.dtype == WEIR_F32;
  if ((!isFloat && counts.dtype != WEIR_F64) || chances.dtype != counts.dtype ||
      !isStorable(results[0].dtype))
    return failDtype(ctx, "a binomial distribution", counts.dtype);
  int64_t batches = elementCountOf(counts);
  if (int32_t code = shapeBy(ctx, operands[1], results[0]))
    return code;
  int64_t total = elementCountOf(results[0]);
  if (total == 0)
    return WEIR_OK;
  if (batches == 0 || batches != elementCountOf(chances) || total % batches != 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "the shape must end with that of counts and probs");
  int64_t samples = total / batches;
  for (int64_t b = 0; b < batches; ++b) {
    // What decides between the methods is rounded as the operands are.
    double n, p, q;
    bool many;
    if (isFloat) {
      float nf = static_cast<const float *>(counts.data)[b];
      float pf = static_cast<const float *>(chances.data)[b];
      float qf = 1 - pf;
      many = nf * (pf > 0.5f ? qf : pf) >= 10;
      n = double(nf), p = double(pf), q = double(qf);
    } else {
      n = static_cast<const double *>(counts.data)[b];
      p = static_cast<const double *>(chances.data)[b];
      q = 1 - p;
      many = n * (p > 0.5 ? q : p) >= 10;
    }
    for (int64_t s = 0; s < samples; ++s)
      storeNumber(results[0], s * batches + b,
                  binomialNumber(generator, b * samples + s, n, p, q, many));
  }
  return WEIR_OK;
}

int32_t weir_kernel_random_multinomial(weir_context *ctx, const weir_tensor *operands,
                                       int32_t operand_count, weir_tensor *results,
                                       int32_t result_count, const int64_t *) {
  Philox generator(0, 0, 0);
  int64_t samples = 0;
  if (operand_count != 3 || result_count != 1 || !readState(operands[0], &generator))
    return failState(ctx);
  const weir_tensor &logits = operands[1];
  if (logits.dtype != WEIR_F64 || logits.rank != 2 || !isIndexType(results[0].dtype))
    return failDtype(ctx, "logits", logits.dtype);
  int64_t rows = logits.dims[0], classes = logits.dims[1];
  if (!loadInteger(operands[2], &samples) || samples < 0 || classes <= 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "num_samples must not be negative, and there must be "
                       "classes");
  int64_t dims[2] = {rows, samples};
  if (!shapeResult(ctx, results[0], 2, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<double> sums(ctx, classes);
  if (!sums.data)
    return WEIR_RESOURCE_EXHAUSTED;
  PhiloxWords words(generator);
  for (int64_t row = 0; row < rows; ++row) {
    const double *own = static_cast<const double *>(logits.data) + row * classes;
    // Classes that are not finite are never drawn.
    double most = -INFINITY, total = 0;
    for (int64_t c = 0; c < classes; ++c)
      if (isfinite(own[c]) && own[c] > most)
        most = own[c];
    for (int64_t c = 0; c < classes; ++c) {
      if (isfinite(own[c]))
        total += exp(own[c] - most);
      sums[c] = total;
    }
    for (int64_t s = 0; s < samples; ++s) {
      uint32_t first = words.next(), second = words.next();
      double at = uniformDouble(first, second) * total;
      // The first sum above it.
      int64_t low = 0, high = classes;
      while (low < high) {
        int64_t middle = (low + high) / 2;
        if (at < sums[middle])
          high = middle;
        else
          low = middle + 1;
      }
      storeIndex(results[0], row * samples + s, low);
    }
  }
  return WEIR_OK;
}

int32_t weir_kernel_random_permutation(weir_context *ctx, const weir_tensor *operands,
                                       int32_t operand_count, weir_tensor *results,
                                       int32_t result_count, const int64_t *) {
  Philox generator(0, 0, 0);
  int64_t count = 0;
  if (operand_count != 2 || result_count != 1 || !readState(operands[0], &generator))
    return failState(ctx);
  if (!loadInteger(operands[1], &count) || count < 0 || !isIndexType(results[0].dtype))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the count is negative");
  if (!shapeResult(ctx, results[0], 1, &count))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<int64_t> order(ctx, count);
  if (!order.data)
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < count; ++i)
    order[i] = i;
  // Fisher and Yates: each place takes one of those that are left.
  PhiloxWords words(generator);
  for (int64_t i = 0; i + 1 < count; ++i) {
    int64_t from = i + int64_t(words.next() % uint32_t(count - i));
    int64_t held = order[i];
    order[i] = order[from];
    order[from] = held;
  }
  for (int64_t i = 0; i < count; ++i)
    storeIndex(results[0], i, order[i]);
  return WEIR_OK;
}

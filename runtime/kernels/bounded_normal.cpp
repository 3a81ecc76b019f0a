//===- bounded_normal.cpp - normal numbers between bounds -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By rejection (Robert, "Simulation of truncated normal variables", 1995): of normal
// numbers where the bounds are wide, of uniform ones where they are near each other, else
// of exponential ones. Which, and with what numbers, is as in TensorFlow's kernel, whose
// threads begin at counters of their own: these are the numbers of one thread.
//
//===----------------------------------------------------------------------===//

#include "kernels/random_numbers.h"
#include "weir/numerics.h"

using namespace weir::rt;

namespace {

enum class Drawn : uint8_t { Good, NoParameters, TooRare };

/// Of type `T`: samples with one mean, deviation and pair of bounds.
template <typename T> class Bounded {
public:
  using Number = typename T::Number;

  Bounded(Number mean, Number deviation, Number least, Number most)
      : mean(mean), deviation(deviation) {
    isValid = deviation > 0 && least < most && (isfinite(least) || isfinite(most));
    // The finite bound below, or both above the mean.
    if ((isinf(least) && least < 0) || most < mean) {
      Number held = least;
      least = most;
      most = held;
      this->deviation = -deviation;
    }
    low = T::round(T::round(least - mean) / this->deviation);
    high = T::round(T::round(most - mean) / this->deviation);
  }

  /// Gives `put` `count` numbers.
  template <typename Put> Drawn draw(Philox &generator, int64_t count, Put put) {
    if (!isValid)
      return Drawn::NoParameters;
    const Number wide = T::round(Number(1.3));
    left = count;
    tries = 0;
    Number root = T::round(sqrt(T::round(T::round(low * low) + 4)));
    Number power = T::round(T::round(low * T::round(low - root)) / 4);
    Number cutoff =
        T::round(T::round(2 * T::round(exp(T::round(Number(0.5) + power)))) / T::round(low + root));
    Number width = T::round(high - low);
    if ((low < -wide && high >= 0) || (high > wide && low <= 0))
      return fromNormal(generator, put);
    if (width < cutoff)
      return fromUniform(generator, put, width);
    return fromExponential(generator, put, T::round(T::round(low + root) / 2));
  }

private:
  static constexpr int most = 1000;

  static Number exp(Number x) {
    if constexpr (sizeof(Number) == 8)
      return ::exp(x);
    else
      return expf(x);
  }
  static Number log(Number x) {
    if constexpr (sizeof(Number) == 8)
      return ::log(x);
    else
      return logf(x);
  }
  static Number sqrt(Number x) {
    if constexpr (sizeof(Number) == 8)
      return ::sqrt(x);
    else
      return sqrtf(x);
  }

  static void normal(Philox &generator, Number *numbers) {
    Philox::Block b = generator.next();
    if constexpr (sizeof(Number) == 8) {
      normalPair(uniformDouble(b.word[0], b.word[1]), uniformDouble(b.word[2], b.word[3]),
                 &numbers[0], &numbers[1]);
    } else {
      for (int i = 0; i < 4; i += 2)
        normalPair(uniformFloat(b.word[i]), uniformFloat(b.word[i + 1]), &numbers[i],
                   &numbers[i + 1]);
      for (int i = 0; i < 4; ++i)
        numbers[i] = T::round(numbers[i]);
    }
  }

  /// Takes a number; whether another one is wanted.
  template <typename Put> bool give(Put &put, Number x) {
    put(T::round(T::round(x * deviation) + mean));
    tries = --left > 0 ? 0 : tries;
    return left > 0;
  }

  template <typename Put> Drawn fromNormal(Philox &generator, Put &put) {
    while (left > 0) {
      Number numbers[T::numbers];
      normal(generator, numbers);
      for (Number x : numbers) {
        if (x >= low && x <= high) {
          if (!give(put, x))
            break;
        } else if (++tries > most) {
          return Drawn::TooRare;
        }
      }
    }
    return Drawn::Good;
  }

  template <typename Put> Drawn fromUniform(Philox &generator, Put &put, Number width) {
    Number top = low < 0 ? Number(0) : T::round(low * low);
    while (left > 0) {
      Philox::Block places = generator.next(), chances = generator.next();
      for (int i = 0; i < T::numbers; ++i) {
        Number z = T::round(T::round(T::unit(places, i) * width) + low);
        Number g = T::round(T::round(top - T::round(z * z)) / 2);
        if (T::unit(chances, i) <= T::round(exp(g))) {
          if (!give(put, z))
            break;
        } else if (++tries >= most) {
          return Drawn::TooRare;
        }
      }
    }
    return Drawn::Good;
  }

  template <typename Put> Drawn fromExponential(Philox &generator, Put &put, Number alpha) {
    while (left > 0) {
      Philox::Block block = generator.next();
      for (int i = 0; i < T::numbers; i += 2) {
        Number z = T::round(T::round(-T::round(log(T::unit(block, i))) / alpha) + low);
        Number x = T::round(low < alpha ? alpha - z : low - alpha);
        Number g = T::round(exp(T::round(T::round(-x * x) / 2)));
        if (T::unit(block, i + 1) <= g && z < high) {
          if (!give(put, z))
            break;
        } else if (++tries >= most) {
          return Drawn::TooRare;
        }
      }
    }
    return Drawn::Good;
  }

  Number mean, deviation, low = 0, high = 0;
  bool isValid;
  int64_t left = 0;
  int tries = 0;
};

/// Batches lie one behind the other, or side by side (`isLast`).
template <typename T>
Drawn drawAll(Philox generator, const weir_tensor *parameters, int64_t batches, int64_t samples,
              bool isLast, weir_tensor &result) {
  int64_t count = elementCountOf(result);
  auto parameter = [&](int which, int64_t batch) {
    const weir_tensor &of = parameters[which];
    return T::load(of.data, elementCountOf(of) == 1 ? 0 : batch);
  };
  for (int64_t b = 0; b < batches; ++b) {
    int64_t wanted = isLast || (b + 1) * samples <= count ? samples : count - b * samples;
    if (wanted <= 0)
      continue;
    int64_t at = isLast ? b : b * samples, step = isLast ? batches : 1;
    Bounded<T> bounded(parameter(0, b), parameter(1, b), parameter(2, b), parameter(3, b));
    Drawn drawn = bounded.draw(generator, wanted, [&](typename T::Number x) {
      T::store(result.data, at, x);
      at += step;
    });
    if (drawn != Drawn::Good)
      return drawn;
  }
  return Drawn::Good;
}

} // namespace

int32_t weir_kernel_parameterized_truncated_normal(weir_context *ctx, const weir_tensor *operands,
                                                   int32_t operand_count, weir_tensor *results,
                                                   int32_t result_count,
                                                   const int64_t *attributes) {
  Philox generator(0, 0, 0);
  if (operand_count != 6 || result_count != 1 || !readState(operands[0], &generator))
    return failState(ctx);
  weir_tensor &result = results[0];
  bool isLast = attributes[0] != 0;
  if (int32_t code = shapeBy(ctx, operands[1], result))
    return code;
  int64_t count = elementCountOf(result), batches = 1, largest = 1;
  if (count == 0)
    return WEIR_OK;
  bool isOfOne = true;
  for (int i = 2; i < 6; ++i) {
    const weir_tensor &of = operands[i];
    if (of.dtype != result.dtype)
      return failDtype(ctx, "a parameter", of.dtype);
    int64_t size = elementCountOf(of);
    isOfOne &= size == 1 && (i < 4 || of.rank == 0);
    largest = size != 1 ? size : largest;
    if (!isLast && of.rank > 1)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a parameter is no scalar or vector");
  }
  if (isLast) {
    batches = largest;
    if (batches == 0 || count % batches != 0)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "Shape passed in must end with broadcasted shape.");
  } else if (result.rank == 0) {
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Shape tensor must not be empty");
  } else {
    batches = isOfOne ? (count + 99) / 100 : result.dims[0];
    for (int i = 2; i < 6 && !isOfOne; ++i)
      if (int64_t size = elementCountOf(operands[i]); size != 1 && size != batches)
        return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a parameter has not length 1 or shape[0]");
  }
  int64_t samples = !isLast && isOfOne ? 100 : batches ? count / batches : 0;
  Drawn drawn;
  if (result.dtype == WEIR_F64)
    drawn = drawAll<Double>(generator, operands + 2, batches, samples, isLast, result);
  else if (result.dtype == WEIR_F32)
    drawn = drawAll<Single>(generator, operands + 2, batches, samples, isLast, result);
  else if (result.dtype == WEIR_F16)
    drawn = drawAll<Half>(generator, operands + 2, batches, samples, isLast, result);
  else
    return failDtype(ctx, "a normal distribution", result.dtype);
  if (drawn == Drawn::NoParameters)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Invalid parameters");
  if (drawn == Drawn::TooRare)
    return failMessage(ctx, WEIR_INTERNAL, "no number between the bounds in 1000 draws");
  return WEIR_OK;
}

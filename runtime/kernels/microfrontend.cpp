//===- microfrontend.cpp - features of speech in fixed point --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frames under a Hann window, their spectra, triangular bands on the mel scale, less the
// noise (a running mean), gain by the noise of a channel (Wang et al., "Trainable frontend
// for robust and far-field keyword spotting", 2017), logarithms. All on integers, with the
// word lengths and roundings of TensorFlow's library for microcontrollers, whose results are
// defined by them.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"
#include "weir/numerics.h"

#include <math.h>
#include <string.h>

using namespace weir::rt;

namespace {

constexpr int kWindowBits = 12, kBandBits = 12, kNoiseBits = 14;
constexpr int kSnrBits = 12, kGainOutputBits = 6;
constexpr int kLogBits = 16, kLogSegmentBits = 7;
/// 1 / log2(e), times 2^16.
constexpr uint64_t kLogOfTwo = 45426;

/// Bits of a number up to its highest one.
int bitsOf(uint32_t x) { return x ? 32 - __builtin_clz(x) : 0; }
int bitsOf(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

struct Settings {
  int64_t rate, frameMs, stepMs, channels, smoothingBits, hasGain, gainBits, hasLog, logShift;
  int64_t left, right, stride, isZeroPadded, divisor;
  float high, low, even, odd, remaining, strength, offset;
};

//===----------------------------------------------------------------------===//
// The spectrum
//===----------------------------------------------------------------------===//

struct Point {
  int16_t re, im;
};

int16_t rounded(int32_t product) { return int16_t((product + (1 << 14)) >> 15); }
Point scaled(Point a, int by) {
  int32_t factor = 32767 / by;
  return {rounded(a.re * factor), rounded(a.im * factor)};
}
Point times(Point a, Point b) {
  return {rounded(a.re * b.re - a.im * b.im), rounded(a.re * b.im + a.im * b.re)};
}
Point plus(Point a, Point b) { return {int16_t(a.re + b.re), int16_t(a.im + b.im)}; }
Point minus(Point a, Point b) { return {int16_t(a.re - b.re), int16_t(a.im - b.im)}; }
Point root(double angle) {
  return {int16_t(floor(0.5 + 32767 * cos(angle))), int16_t(floor(0.5 + 32767 * sin(angle)))};
}

/// Transforms of a power of two of complex points of 16 bits, by fours (the last step by two
/// where fours do not go up), each step divided by its radix so that nothing overflows.
class Transform {
public:
  Transform(weir_context *ctx, int64_t size)
      : size(size), roots(ctx, size), extra(ctx, size / 2 + 1), points(ctx, size) {
    for (int64_t i = 0; isGood() && i < size; ++i)
      roots[i] = root(-2 * M_PI * double(i) / double(size));
    for (int64_t i = 0; isGood() && i < size / 2; ++i)
      extra[i] = root(-M_PI * (double(i + 1) / double(size) + 0.5));
  }
  bool isGood() const { return roots.data && extra.data && points.data; }

  /// The first half, and the middle, of the spectrum of 2 `size` real numbers.
  void ofReals(const int16_t *x, Point *spectrum) {
    step(points.data, x, 1, size);
    Point first = scaled(points[0], 2);
    spectrum[0] = {int16_t(first.re + first.im), 0};
    spectrum[size] = {int16_t(first.re - first.im), 0};
    for (int64_t k = 1; k <= size / 2; ++k) {
      Point a = points[k], b = points[size - k];
      a = scaled(a, 2);
      b = scaled({b.re, int16_t(-b.im)}, 2);
      Point sum = plus(a, b), turned = times(minus(a, b), extra[k - 1]);
      spectrum[k] = {int16_t((sum.re + turned.re) >> 1), int16_t((sum.im + turned.im) >> 1)};
      spectrum[size - k] = {int16_t((sum.re - turned.re) >> 1), int16_t((turned.im - sum.im) >> 1)};
    }
  }

private:
  /// The transform of `count` points, `stride` apart in `x`, into `out`.
  void step(Point *out, const int16_t *x, int64_t stride, int64_t count) {
    if (count == 1) {
      out[0] = {x[0], x[1]};
      return;
    }
    int64_t radix = count % 4 == 0 ? 4 : 2, part = count / radix;
    for (int64_t r = 0; r < radix; ++r)
      step(out + r * part, x + 2 * r * stride, stride * radix, part);
    for (int64_t k = 0; k < part; ++k)
      if (radix == 4)
        joinFour(out + k, part, k * stride);
      else
        joinTwo(out + k, part, k * stride);
  }
  void joinTwo(Point *p, int64_t part, int64_t turn) {
    Point a = scaled(p[0], 2), b = times(scaled(p[part], 2), roots[turn]);
    p[part] = minus(a, b);
    p[0] = plus(a, b);
  }
  void joinFour(Point *p, int64_t part, int64_t turn) {
    Point a = scaled(p[0], 4), b = times(scaled(p[part], 4), roots[turn]),
          c = times(scaled(p[2 * part], 4), roots[2 * turn]),
          d = times(scaled(p[3 * part], 4), roots[3 * turn]);
    Point even = plus(a, c), odd = minus(a, c), sum = plus(b, d), apart = minus(b, d);
    p[0] = plus(even, sum);
    p[2 * part] = minus(even, sum);
    p[part] = {int16_t(odd.re + apart.im), int16_t(odd.im - apart.re)};
    p[3 * part] = {int16_t(odd.re - apart.im), int16_t(odd.im + apart.re)};
  }

  const int64_t size;
  Scratch<Point> roots, extra, points;
};

//===----------------------------------------------------------------------===//
// Bands
//===----------------------------------------------------------------------===//

float melOf(float hertz) { return float(1127.0 * log1p(double(hertz) / 700.0)); }

/// Of one frequency: the band that it ends, and its weights in that and in the next.
struct Share {
  int16_t weight, rest;
};

/// Which frequencies belong to which band. Bands are one more than channels: the lowest
/// only hands its rests up.
class Bands {
public:
  Bands(weir_context *ctx, const Settings &s, int64_t frequencies)
      : count(s.channels + 1), begins(ctx, count + 1), shares(ctx, frequencies + 1) {
    if (!isGood())
      return;
    float bottom = melOf(s.low), span = melOf(s.high) - bottom;
    float spacing = span / float(count);
    auto centre = [&](int64_t band) {
      return band < 0 ? bottom : bottom + spacing * float(band + 1);
    };
    auto hertz = float(0.5 * double(s.rate) / double(float(frequencies) - 1));
    auto at = int64_t(1.5 + double(s.low / hertz)); // never the mean
    fits = at >= 0;
    for (int64_t band = 0; band < count && fits; ++band) {
      begins[band] = at;
      float top = centre(band);
      for (; melOf(float(at) * hertz) <= top; ++at) {
        if (at + 1 >= frequencies) {
          fits = false;
          return;
        }
        float weight = (top - melOf(float(at) * hertz)) / (top - centre(band - 1));
        shares[at] = {int16_t(floor(double(weight * float(1 << kBandBits)) + 0.5)),
                      int16_t(floor((1.0 - double(weight)) * (1 << kBandBits) + 0.5))};
      }
      begins[band + 1] = at;
    }
    fits = fits && at < frequencies;
  }
  bool isGood() const { return begins.data && shares.data; }
  /// Whether the highest frequency is one of the spectrum's.
  bool fit() const { return fits; }

  /// The energies of all bands but the lowest.
  void sum(const Point *spectrum, uint64_t *energies) {
    uint64_t carried = 0;
    for (int64_t band = 0; band < count; ++band) {
      uint64_t own = carried, rest = 0;
      for (int64_t i = begins[band]; i < begins[band + 1]; ++i) {
        int32_t re = spectrum[i].re, im = spectrum[i].im;
        // 2^31, of the lowest numbers alone, counts as negative.
        auto energy = uint64_t(int64_t(int32_t(uint32_t(re * re) + uint32_t(im * im))));
        own += uint64_t(int64_t(shares[i].weight)) * energy;
        rest += uint64_t(int64_t(shares[i].rest)) * energy;
      }
      if (band)
        energies[band - 1] = own;
      carried = rest;
    }
  }

private:
  const int64_t count;
  Scratch<int64_t> begins;
  Scratch<Share> shares;
  bool fits = false;
};

/// The square root, rounded, where there are bits for it.
uint32_t rootOf(uint64_t x) {
  bool isWide = x >> 32 != 0;
  uint64_t most = isWide ? 0xffffffff : 0xffff, result = 0;
  if (x == 0)
    return 0;
  uint64_t bit = uint64_t(1) << ((bitsOf(x) - 1) & ~1);
  for (; bit; bit >>= 2) {
    if (x >= result + bit) {
      x -= result + bit;
      result = (result >> 1) + bit;
    } else {
      result >>= 1;
    }
  }
  return uint32_t(x > result && result != most ? result + 1 : result);
}

//===----------------------------------------------------------------------===//
// Gain and logarithms
//===----------------------------------------------------------------------===//

/// (x + offset)^-strength as a parabola in each octave.
class Gain {
public:
  Gain(const Settings &s, int64_t correction) : settings(s) {
    inputBits = s.smoothingBits - correction;
    shift = s.gainBits - correction - kSnrBits;
    for (int i = 0; i < 2; ++i)
      first[i] = exact(uint32_t(i));
    for (int bits = 2; bits <= 32; ++bits) {
      uint32_t begin = uint32_t(1) << (bits - 1);
      uint32_t end = bits == 32 ? begin + (begin - 1) : 2 * begin;
      int16_t y = exact(begin);
      int32_t half = exact(begin + begin / 2) - y, whole = exact(end) - y;
      int32_t slope = 4 * half - whole;
      octaves[bits] = {y, int16_t(slope), int16_t(whole - slope)};
    }
  }
  uint32_t apply(uint32_t signal, uint32_t noise) const {
    auto gain = uint32_t(int32_t(of(noise)));
    auto snr = uint32_t(uint64_t(signal) * gain >> shift);
    if (snr < (2u << kSnrBits))
      return (snr * snr) >> (2 + 2 * kSnrBits - kGainOutputBits);
    return (snr >> (kSnrBits - kGainOutputBits)) - (1u << kGainOutputBits);
  }
  bool isValid() const {
    return inputBits >= 0 && inputBits < 32 && shift >= 0 && shift < 64 && settings.gainBits >= 0 &&
           settings.gainBits < 32;
  }

private:
  int16_t exact(uint32_t x) const {
    if (!isValid())
      return 0;
    float value = float(x) / float(uint32_t(1) << inputBits);
    float gain =
        float(uint32_t(1) << settings.gainBits) * powf(value + settings.offset, -settings.strength);
    return gain > 32767 ? 32767 : int16_t(gain + 0.5f);
  }
  int16_t of(uint32_t x) const {
    if (x < 2)
      return first[x];
    int bits = bitsOf(x);
    const Octave &o = octaves[bits];
    if (x == 2)
      return o.y;
    int32_t part = int32_t(bits < 11 ? x << (11 - bits) : x >> (bits - 11)) & 0x3ff;
    int32_t result = (o.bend * part) >> 5;
    result += int32_t(uint32_t(int32_t(o.slope)) << 5);
    result = int32_t(uint32_t(result) * uint32_t(part));
    return int16_t(((result + (1 << 14)) >> 15) + o.y);
  }

  struct Octave {
    int16_t y, slope, bend;
  };
  const Settings &settings;
  int64_t inputBits, shift;
  int16_t first[2] = {};
  Octave octaves[33] = {};
};

/// 2^shift times the natural logarithm: that of the power of two below, and a line with
/// corrections by segments.
class Logarithm {
public:
  Logarithm() {
    int segments = 1 << kLogSegmentBits;
    for (int i = 0; i <= segments; ++i) {
      double x = double(i) / segments;
      table[i] = int32_t(floor((log2(1 + x) - x) * (1 << kLogBits) + 0.5));
    }
  }
  uint32_t of(uint32_t x, int64_t shift) const {
    int whole = bitsOf(x) - 1;
    auto part = int32_t(x - (uint32_t(1) << whole));
    part = whole < kLogBits ? int32_t(uint32_t(part) << (kLogBits - whole))
                            : part >> (whole - kLogBits);
    int segment = part >> (kLogBits - kLogSegmentBits);
    int32_t begin = segment << (kLogBits - kLogSegmentBits);
    int32_t between = ((table[segment + 1] - table[segment]) * (part - begin)) >> kLogBits;
    auto fraction = uint32_t(part + table[segment] + between);
    uint32_t log2 = (uint32_t(whole) << kLogBits) + fraction, half = 1u << (kLogBits - 1);
    auto natural = uint32_t((kLogOfTwo * log2 + half) >> kLogBits);
    return ((natural << shift) + half) >> kLogBits;
  }

private:
  int32_t table[(1 << kLogSegmentBits) + 2] = {};
};

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

class Frontend {
public:
  Frontend(weir_context *ctx, const Settings &s, int64_t frame, int64_t length)
      : s(s), frame(frame), length(length), window(ctx, frame), input(ctx, length),
        spectrum(ctx, length / 2 + 1), energies(ctx, s.channels), noise(ctx, s.channels),
        transform(ctx, length / 2), bands(ctx, s, length / 2 + 1),
        correction(bitsOf(uint32_t(length)) - 1 - kBandBits / 2), gain(s, correction) {
    if (!isGood())
      return;
    auto angle = float(M_PI * 2.0 / double(float(frame)));
    for (int64_t i = 0; i < frame; ++i) {
      auto value = float(0.5 - 0.5 * cos(double(angle) * (double(i) + 0.5)));
      window[i] = int16_t(floor(double(value * float(1 << kWindowBits)) + 0.5));
    }
    memset(noise.data, 0, size_t(s.channels) * sizeof(uint32_t));
    auto share = [](float of) { return uint16_t(of * float(1 << kNoiseBits)); };
    even = share(s.even);
    odd = share(s.odd);
    remaining = share(s.remaining);
  }
  bool isGood() const {
    return window.data && input.data && spectrum.data && energies.data && noise.data &&
           transform.isGood() && bands.isGood();
  }
  bool isValid() const { return bands.fit() && (!s.hasGain || gain.isValid()); }

  /// The channels of the next frame.
  void next(const int16_t *samples, uint16_t *channels) {
    int16_t most = 0;
    for (int64_t i = 0; i < frame; ++i) {
      input[i] = int16_t((int32_t(samples[i]) * window[i]) >> kWindowBits);
      auto size = int16_t(input[i] < 0 ? -input[i] : input[i]);
      most = size > most ? size : most;
    }
    // As many bits as 16 hold.
    int shift = 15 - bitsOf(uint32_t(most));
    for (int64_t i = 0; i < frame; ++i)
      input[i] = int16_t(uint16_t(uint32_t(uint16_t(input[i])) << shift));
    memset(input.data + frame, 0, size_t(length - frame) * sizeof(int16_t));
    transform.ofReals(input.data, spectrum.data);
    bands.sum(spectrum.data, energies.data);
    for (int64_t i = 0; i < s.channels; ++i) {
      uint32_t signal = withoutNoise(rootOf(energies[i]) >> shift, i);
      if (s.hasGain)
        signal = gain.apply(signal, noise[i]);
      if (s.hasLog) {
        signal = correction < 0 ? signal >> -correction : signal << correction;
        signal = signal > 1 ? logarithm.of(signal, s.logShift) : 0;
      }
      channels[i] = uint16_t(signal < 0xffff ? signal : 0xffff);
    }
  }

private:
  uint32_t withoutNoise(uint32_t signal, int64_t channel) {
    uint32_t part = channel % 2 ? odd : even, rest = (1u << kNoiseBits) - part;
    uint32_t up = signal << s.smoothingBits;
    auto mean = uint32_t((uint64_t(up) * part + uint64_t(noise[channel]) * rest) >> kNoiseBits);
    noise[channel] = mean;
    mean = mean > up ? up : mean;
    auto least = uint32_t((uint64_t(signal) * remaining) >> kNoiseBits);
    uint32_t left = (up - mean) >> s.smoothingBits;
    return left > least ? left : least;
  }

  const Settings &s;
  const int64_t frame, length;
  Scratch<int16_t> window, input;
  Scratch<Point> spectrum;
  Scratch<uint64_t> energies;
  Scratch<uint32_t> noise;
  Transform transform;
  Bands bands;
  const int correction;
  Gain gain;
  Logarithm logarithm;
  uint16_t even = 0, odd = 0, remaining = 0;
};

void store(weir_tensor &result, int64_t i, uint16_t value, int64_t divisor) {
  if (result.dtype == WEIR_F32)
    static_cast<float *>(result.data)[i] = float(value) / float(divisor);
  else
    static_cast<uint16_t *>(result.data)[i] = uint16_t(value / divisor);
}

} // namespace

int32_t weir_kernel_audio_microfrontend(weir_context *ctx, const weir_tensor *operands,
                                        int32_t operand_count, weir_tensor *results,
                                        int32_t result_count, const int64_t *attributes) {
  if (operand_count != 2 || result_count != 1 || operands[0].dtype != WEIR_I16 ||
      operands[1].dtype != WEIR_F32 || elementCountOf(operands[1]) != 7 ||
      (results[0].dtype != WEIR_U16 && results[0].dtype != WEIR_F32))
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  if (operands[0].rank != 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "audio is not a vector");
  Settings s;
  memcpy(&s, attributes, 14 * sizeof(int64_t));
  memcpy(&s.high, operands[1].data, 7 * sizeof(float));
  int64_t size = operands[0].dims[0], frame = s.frameMs * s.rate / 1000,
          step = s.stepMs * s.rate / 1000;
  if (frame < 3 || step < 1 || step > frame || s.channels < 1 || s.stride < 1 || s.left < 0 ||
      s.right < 0 || s.divisor == 0 || s.smoothingBits < 0 || s.smoothingBits > 31 ||
      s.logShift < 0 || s.logShift > 31 || !(s.low >= 0) || !(s.high > s.low))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "frames, channels or limits of frequencies that make no features");
  int64_t frames = size >= frame ? (size - frame) / step + 1 : 0;
  int64_t width = 1 + s.left + s.right;
  int64_t dims[2] = {frames ? (frames - 1) / s.stride + 1 : 0, s.channels * width};
  if (!shapeResult(ctx, results[0], 2, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t length = 1;
  while (length < frame)
    length *= 2;
  Frontend frontend(ctx, s, frame, length);
  Scratch<uint16_t> features(ctx, frames * s.channels + 1);
  if (!frontend.isGood() || !features.data)
    return WEIR_RESOURCE_EXHAUSTED;
  if (!frontend.isValid())
    return failMessage(ctx, WEIR_INTERNAL, "failed to populate frontend state");
  for (int64_t i = 0; i < frames; ++i)
    frontend.next(static_cast<const int16_t *>(operands[0].data) + i * step,
                  features.data + i * s.channels);
  for (int64_t row = 0, at = 0; row < dims[0]; ++row)
    for (int64_t f = row * s.stride - s.left; f <= row * s.stride + s.right; ++f) {
      bool isOutside = f < 0 || f >= frames;
      int64_t from = f < 0 ? 0 : f >= frames ? frames - 1 : f;
      for (int64_t c = 0; c < s.channels; ++c)
        store(results[0], at++,
              isOutside && s.isZeroPadded ? uint16_t(0) : features[from * s.channels + c],
              s.divisor);
    }
  return WEIR_OK;
}

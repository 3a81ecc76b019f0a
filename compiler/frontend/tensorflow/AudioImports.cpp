//===- AudioImports.cpp - spectrograms and cepstra ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NodeImport.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static constexpr int64_t kMaxWindow = 4096;

static Value dot(NodeImport &n, Value x, Value matrix) {
  if (!x)
    return {};
  return n.op<DotGeneralOp>(x, matrix, n.list({}), n.list({}), n.list({n.rank(x) - 1}), n.list({0}),
                            n.typeAttr(n.element(x)));
}

/// [samples, channels] to [channels, frames, frequencies]: frames under a
/// periodic Hann window, filled up to a power of two, and their spectra. In f64,
/// as TensorFlow does.
static LogicalResult spectrogram(NodeImport &n) {
  Value x = n.in(0);
  int64_t window = n.i("window_size"), stride = n.i("stride");
  if (!x)
    return failure();
  if (n.rank(x) != 2)
    return n.invalid("expected rank 2, got " + Twine(n.rank(x)));
  if (window < 2 || stride < 1)
    return n.invalid("expected a window of 2 or more and a stride of 1 or more, got " +
                     Twine(window) + " and " + Twine(stride));
  if (window > kMaxWindow)
    return n.unsupported("found a window over " + Twine(kMaxWindow));
  Type f64 = n.b.getF64Type(), i64 = n.b.getI64Type();
  int64_t length = llvm::PowerOf2Ceil(window), bins = length / 2 + 1;
  SmallVector<double> cosines, sines;
  for (int64_t j = 0; j < window; ++j) {
    double hann = 0.5 - 0.5 * std::cos(2 * M_PI * j / window);
    for (int64_t k = 0; k < bins; ++k) {
      // Exact reduction first: the angle is what rounding would spoil.
      double angle = 2 * M_PI * static_cast<double>(j * k % length) / length;
      cosines.push_back(hann * std::cos(angle));
      sines.push_back(hann * std::sin(angle));
    }
  }
  auto matrix = [&](ArrayRef<double> values) {
    return n.reshape(n.floats(values, f64), {window, bins});
  };
  // Frame by frame: samples first, first + 1, …
  Value samples = n.sizeOf(x, 0);
  Value frames =
      n.add(n.op<FloorDivOp>(n.sub(samples, n.ints({window})), n.ints({stride})), n.ints({1}));
  Value first = n.mul(n.op<IotaOp>(n.maximum(frames, 0.0), n.number(0), n.typeAttr(i64)),
                      static_cast<double>(stride));
  Value within = n.op<IotaOp>(n.ints({window}), n.number(0), n.typeAttr(i64));
  Value index = n.add(n.unsqueeze(first, {1}), within);
  Value lines = n.cast(n.transpose(x, {1, 0}), f64);
  Value framed = n.gather(lines, index, 1); // [channels, frames, window]
  Value re = dot(n, framed, matrix(cosines)), im = dot(n, framed, matrix(sines));
  Value power = n.add(n.mul(re, re), n.mul(im, im));
  if (!n.isSet("magnitude_squared"))
    power = n.sqrt(power);
  return n.result(n.cast(power, n.b.getF32Type()));
}

/// Davis and Mermelstein, "Comparison of parametric representations for
/// monosyllabic word recognition": the magnitudes of mel-spaced triangular
/// bands, their logarithms, and of these the cosine transform. Input: squared
/// magnitudes [channels, frames, frequencies].
static LogicalResult mfcc(NodeImport &n) {
  Value x = n.in(0), rate = n.in(1);
  if (!x || !rate)
    return failure();
  int64_t rank = n.rank(x);
  if (rank != 3)
    return n.invalid("expected rank 3, got " + Twine(rank));
  int64_t bins = n.dim(x, 2), bands = n.i("filterbank_channel_count"),
          count = n.i("dct_coefficient_count");
  if (ShapedType::isDynamic(bins))
    return n.unsupported("found an unknown number of frequencies");
  if (bins < 2 || bands < 1 || count < 1 || bands > kMaxWindow || count > kMaxWindow ||
      bins > kMaxWindow)
    return n.invalid("expected at least 2 frequencies, 1 band and 1 coefficient, and at most " +
                     Twine(kMaxWindow) + ", got " + Twine(bins) + ", " + Twine(bands) + " and " +
                     Twine(count));
  Type f64 = n.b.getF64Type(), i64 = n.b.getI64Type();
  double low = n.f("lower_frequency_limit"), high = n.f("upper_frequency_limit");
  auto mel = [](double hertz) { return 1127.0 * std::log1p(hertz / 700.0); };
  double bottom = mel(low), spacing = (mel(high) - bottom) / (bands + 1);
  // Centres of the bands, and the edges around them.
  SmallVector<double> centres;
  for (int64_t i = 0; i <= bands; ++i)
    centres.push_back(bottom + spacing * (i + 1));
  Value centre = n.floats(centres, f64);
  Value each = n.div(n.mul(n.cast(n.toScalar(rate), f64), 0.5), static_cast<double>(bins - 1));
  Value index = n.op<IotaOp>(n.ints({bins}), n.number(0), n.typeAttr(f64));
  Value place = n.mul(n.op<Log1pOp>(n.div(n.mul(index, each), 700.0)), 1127.0);
  auto whole = [&](Value v) { return n.op<TruncOp>(v); };
  Value first = whole(n.add(n.div(n.like(each, low), each), 1.5));
  Value last = whole(n.div(n.like(each, high), each));
  Value used = n.op<AndOp>(n.compare("ge", index, first), n.compare("le", index, last));
  // How many centres lie below a frequency says between which two it is.
  Value below =
      n.compare("lt", n.slice(centre, 0, 0, bands), n.unsqueeze(place, {1})); // [bins, bands]
  Value band = n.sub(n.reduce(n.cast(below, i64), "sum", {1}, false), 1.0);
  Value left = n.gather(centre, n.maximum(band, 0.0), 0);
  Value right = n.gather(centre, n.add(band, 1.0), 0);
  Value isLowest = n.compare("lt", band, 0);
  Value edge = n.select(isLowest, n.like(left, bottom), left);
  Value share = n.div(n.sub(right, place), n.sub(right, edge));
  Value number = n.op<IotaOp>(n.ints({bands}), n.number(0), n.typeAttr(i64));
  Value at = n.unsqueeze(band, {1}), falling = n.unsqueeze(share, {1});
  Value rising = n.sub(n.like(falling, 1), falling), zero = n.like(falling, 0);
  Value weights = n.select(n.compare("eq", number, at), falling,
                           n.select(n.compare("eq", number, n.add(at, 1.0)), rising, zero));
  weights = n.select(n.unsqueeze(used, {1}), weights, zero);
  Value magnitudes = n.sqrt(n.cast(x, f64));
  Value energies = n.op<LogOp>(n.maximum(dot(n, magnitudes, weights), 1e-12));
  SmallVector<double> cosines;
  double norm = std::sqrt(2.0 / static_cast<double>(bands));
  for (int64_t j = 0; j < bands; ++j)
    for (int64_t i = 0; i < count; ++i)
      cosines.push_back(norm * std::cos(i * M_PI / bands * (j + 0.5)));
  Value transform = n.reshape(n.floats(cosines, f64), {bands, count});
  return n.result(n.cast(dot(n, energies, transform), n.b.getF32Type()));
}

static LogicalResult microfrontend(NodeImport &n) {
  Value audio = n.in(0);
  Type element = n.elementAttr("out_type");
  if (!audio || !element)
    return failure();
  if (n.rank(audio) != 1)
    return n.invalid("expected rank 1, got " + Twine(n.rank(audio)));
  int64_t rate = n.i("sample_rate"), stride = n.i("frame_stride"), channels = n.i("num_channels");
  int64_t frame = n.i("window_size") * rate / 1000, step = n.i("window_step") * rate / 1000;
  int64_t left = n.i("left_context"), right = n.i("right_context"), size = n.dim(audio, 0);
  if (frame < 3 || step < 1 || step > frame || channels < 1 || stride < 1 || left < 0 || right < 0)
    return n.invalid("expected frames of 3 samples or more that overlap or touch, a channel or "
                     "more, and a stride from 1 on, got frames of " +
                     Twine(frame) + " samples every " + Twine(step) + ", " + Twine(channels) +
                     " channels and a stride of " + Twine(stride));
  int64_t frames = ShapedType::kDynamic;
  if (size != frames)
    frames = size < frame ? 0 : (size - frame) / step / stride + 1;
  auto type = RankedTensorType::get({frames, channels * (left + 1 + right)}, element);
  SmallVector<double> reals;
  for (const char *name : {"upper_band_limit", "lower_band_limit", "even_smoothing",
                           "odd_smoothing", "min_signal_remaining", "pcan_strength", "pcan_offset"})
    reals.push_back(n.f(name));
  Operation *made = n.kernelCall(
      "weir_kernel_audio_microfrontend", type, {audio, n.floats(reals, n.b.getF32Type())},
      {rate, n.i("window_size"), n.i("window_step"), channels, n.i("smoothing_bits"),
       n.isSet("enable_pcan"), n.i("gain_bits"), n.isSet("enable_log"), n.i("scale_shift"), left,
       right, stride, n.isSet("zero_padding"), n.i("out_scale")});
  return made ? n.result(made->getResult(0)) : failure();
}

ArrayRef<OpImport> weir::tf::audioImports() {
  static const OpImport rows[] = {
      {"AudioMicrofrontend", microfrontend},
      {"AudioSpectrogram", spectrogram},
      {"Mfcc", mfcc},
  };
  return rows;
}

//===- wav.cpp - sound files ----------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// WAV: chunks of RIFF, of which `fmt ` says what `data` is: here samples of 16
// bits, channel by channel, the lower byte first.
//
//===----------------------------------------------------------------------===//

#include "kernels/give_string.h"
#include "weir/input.h"

using namespace weir::rt;

namespace {

/// Reads numbers and names off the front of a file.
class Chunks {
public:
  explicit Chunks(const weir_string &file) : file(file) {}

  bool take(int32_t bytes, uint32_t *value) {
    if (file.size - at < bytes)
      return false;
    *value = 0;
    for (int32_t i = 0; i < bytes; ++i)
      *value |= uint32_t(uint8_t(file.data[at + i])) << (8 * i);
    at += bytes;
    return true;
  }
  bool expect(const char *name) {
    bool is = file.size - at >= 4 && memcmp(file.data + at, name, 4) == 0;
    at += is ? 4 : 0;
    return is;
  }
  bool skip(int64_t bytes) {
    if (file.size - at < bytes)
      return false;
    at += bytes;
    return true;
  }
  bool atEnd() const { return at == file.size; }
  const uint8_t *here() const { return reinterpret_cast<const uint8_t *>(file.data) + at; }

private:
  const weir_string file;
  int64_t at = 0;
};

struct Sound {
  const uint8_t *samples = nullptr;
  int64_t count = 0; ///< for each channel
  int64_t channels = 0;
  int64_t rate = 0;
};

/// Null: read; else what is wrong.
const char *readWav(const weir_string &file, Sound &sound) {
  static const char *const tooShort = "Data too short when trying to read a WAV file";
  Chunks chunks(file);
  uint32_t size, format, channels, rate, bytesPerSecond, bytesPerSample, bits;
  if (!chunks.expect("RIFF") || !chunks.take(4, &size) || !chunks.expect("WAVE") ||
      !chunks.expect("fmt "))
    return "Header mismatch: expected RIFF, WAVE and fmt";
  if (!chunks.take(4, &size))
    return tooShort;
  if (size != 16 && size != 18)
    return "Bad format chunk size for WAV: Expected 16 or 18";
  if (!chunks.take(2, &format) || !chunks.take(2, &channels) || !chunks.take(4, &rate) ||
      !chunks.take(4, &bytesPerSecond) || !chunks.take(2, &bytesPerSample) ||
      !chunks.take(2, &bits) || (size == 18 && !chunks.skip(2)))
    return tooShort;
  if (format != 1)
    return "Bad audio format for WAV: Expected 1 (PCM)";
  if (channels < 1)
    return "Bad number of channels for WAV: Expected at least 1";
  if (bits != 16)
    return "Can only read 16-bit WAV files";
  if (bytesPerSample != 2 * channels)
    return "Bad bytes per sample in WAV header";
  if (uint64_t(bytesPerSecond) != uint64_t(bytesPerSample) * rate)
    return "Bad bytes per second in WAV header";
  sound.channels = channels;
  sound.rate = rate;
  while (!chunks.atEnd()) {
    bool isData = chunks.expect("data");
    if ((!isData && !chunks.skip(4)) || !chunks.take(4, &size))
      return tooShort;
    if (isData) {
      if (sound.samples)
        return "More than one data chunk found in WAV";
      sound.samples = chunks.here();
      sound.count = size / bytesPerSample;
      size = uint32_t(sound.count) * bytesPerSample; // whole samples, and no further
    }
    if (!chunks.skip(size))
      return tooShort;
  }
  return sound.samples ? nullptr : "No data chunk found in WAV";
}

} // namespace

int32_t weir_kernel_decode_wav(weir_context *ctx, const weir_tensor *operands,
                               int32_t operand_count, weir_tensor *results, int32_t,
                               const int64_t *attributes) {
  weir_string file;
  Sound sound;
  if (!loadString(operands[0], &file))
    return failOperands(ctx, operands, operand_count);
  if (const char *problem = readWav(file, sound))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, problem);
  // Channels that miss are the last one again; samples that miss are silence.
  int64_t channels = attributes[0] < 0 ? sound.channels : attributes[0];
  int64_t dims[2] = {attributes[1] < 0 ? sound.count : attributes[1], channels};
  if (!shapeResult(ctx, results[0], 2, dims) || !shapeResult(ctx, results[1], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *to = static_cast<float *>(results[0].data);
  for (int64_t i = 0; i < dims[0]; ++i)
    for (int64_t c = 0; c < channels; ++c) {
      float value = 0;
      if (i < sound.count) {
        int64_t channel = c < sound.channels ? c : sound.channels - 1;
        const uint8_t *at = sound.samples + 2 * (i * sound.channels + channel);
        value = float(int16_t(at[0] | at[1] << 8)) * (1.0f / 32768.0f);
      }
      *to++ = value;
    }
  *static_cast<int32_t *>(results[1].data) = int32_t(sound.rate);
  return WEIR_OK;
}

int32_t weir_kernel_encode_wav(weir_context *ctx, const weir_tensor *operands, int32_t,
                               weir_tensor *results, int32_t, const int64_t *) {
  const weir_tensor &audio = operands[0];
  int64_t rate;
  if (audio.rank != 2 || audio.dtype != WEIR_F32)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "audio must be 2-dimensional");
  if (!loadInteger(operands[1], &rate) || rate <= 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "sample_rate must be a positive scalar");
  int64_t channels = audio.dims[1], bytes = audio.dims[0] * channels * 2;
  if (channels < 1 || channels > UINT16_MAX / 2)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Bad number of channels for WAV");
  if (bytes > INT32_MAX - 44 || rate > UINT32_MAX / (2 * channels))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the sound is too long for a WAV file");
  Growing out(ctx);
  auto put = [&](uint32_t value, int32_t size) {
    for (int32_t i = 0; i < size; ++i)
      out << char(value >> (8 * i));
  };
  out << "RIFF";
  put(uint32_t(36 + bytes), 4);
  out << "WAVEfmt ";
  put(16, 4);
  put(1, 2);
  put(uint32_t(channels), 2);
  put(uint32_t(rate), 4);
  put(uint32_t(rate * channels * 2), 4);
  put(uint32_t(channels * 2), 2);
  put(16, 2);
  out << "data";
  put(uint32_t(bytes), 4);
  const auto *samples = static_cast<const float *>(audio.data);
  for (int64_t i = 0; i < audio.dims[0] * channels; ++i) {
    float value = samples[i] * 32768.0f;
    // To the nearest, halves away from zero; silence for what is no number.
    value = value >= 32767.0f ? 32767.0f : value <= -32768.0f ? -32768.0f : value;
    put(uint32_t(value != value ? 0 : int32_t(value < 0 ? value - 0.5f : value + 0.5f)), 2);
  }
  return giveString(ctx, out, results[0]);
}

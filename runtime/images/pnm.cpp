//===- pnm.cpp - portable bitmaps, graymaps, pixmaps ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"

namespace weir::rt {

namespace {

/// Reads numbers between blanks and comments.
struct PnmReader {
  const char *at, *end;

  bool next(int64_t *value) {
    while (at != end && (isSpace(*at) || *at == '#'))
      if (*at++ == '#')
        while (at != end && *at != '\n')
          ++at;
    if (at == end || *at < '0' || *at > '9')
      return false;
    for (*value = 0; at != end && *at >= '0' && *at <= '9' && *value < (int64_t(1) << 40); ++at)
      *value = *value * 10 + (*at - '0');
    return true;
  }
  /// A digit of a plain bitmap, which needs no blanks.
  bool bit(int64_t *value) {
    while (at != end && isSpace(*at))
      ++at;
    if (at == end || (*at != '0' && *at != '1'))
      return false;
    *value = *at++ - '0';
    return true;
  }
};

} // namespace

/// P1 to P6: bits, gray, colour; as text, then as bytes. Samples of any largest
/// value become 0 to 255, rounded to nearest.
bool decodePnm(const weir_string &contents, const DecodeOptions &, Image &image) {
  char kind = contents.size > 1 ? contents.data[1] : '0';
  if (kind < '1' || kind > '6')
    return image.fail("expected PNM of kind P1 to P6, got another kind");
  PnmReader reader{contents.data + 2, contents.data + contents.size};
  bool isPlain = kind <= '3', isBits = kind == '1' || kind == '4';
  int64_t width, height, most = 1;
  if (!reader.next(&width) || !reader.next(&height) || (!isBits && !reader.next(&most)) ||
      most < 1 || most > 65535)
    return image.fail("Invalid PNM data: no header");
  if (!image.make(1, height, width, kind == '3' || kind == '6' ? 3 : 1))
    return false;
  if (!isPlain)
    ++reader.at; // the one blank behind the header
  int64_t samples = width * image.channels, bytes = most > 255 ? 2 : 1;
  int64_t rowBytes = isBits ? (width + 7) / 8 : samples * bytes;
  if (!isPlain && reader.end - reader.at < rowBytes * height)
    return image.fail("Invalid PNM data: the file ends too early");
  for (int64_t y = 0; y < height; ++y) {
    auto *from = reinterpret_cast<const uint8_t *>(reader.at);
    uint8_t *to = image.row(y);
    for (int64_t i = 0; i < samples; ++i) {
      int64_t value;
      if (isPlain) {
        if (isBits ? !reader.bit(&value) : !reader.next(&value))
          return image.fail("Invalid PNM data: the file ends too early");
      } else {
        value = isBits       ? from[i / 8] >> (7 - i % 8) & 1
                : bytes == 2 ? from[2 * i] << 8 | from[2 * i + 1]
                             : from[i];
      }
      value = value > most ? most : value;
      // Of a bitmap 1 is black.
      to[i] = uint8_t(isBits ? (value ? 0 : 255) : (value * 255 + most / 2) / most);
    }
    if (!isPlain)
      reader.at += rowBytes;
  }
  return true;
}

} // namespace weir::rt

//===- photos.cpp - JPEG files in, classes out ----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads JPEG files of handwritten digits of any size, shrinks each to the 8 x 8 grey image that
// the network knows, and classifies all of them in one run.
//
//   weirc test/digits/digits.onnx -o digits.o
//   c++ -std=c++17 photos.cpp digits.o libweir_runtime.a -ljpeg -pthread -o photos
//   ./photos a.jpg b.jpg
//
//===----------------------------------------------------------------------===//

#include "digits.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jpeglib.h>

namespace {

struct Failure {
  jpeg_error_mgr base; // first: libjpeg knows this alone
  std::jmp_buf back;
};

[[noreturn]] void giveUp(j_common_ptr jpeg) {
  jpeg->err->output_message(jpeg);
  std::longjmp(reinterpret_cast<Failure *>(jpeg->err)->back, 1);
}

/// Adds each pixel to the cell of the 8 x 8 image that it lies in. False: no JPEG.
bool shrink(std::FILE *file, float *cells) {
  jpeg_decompress_struct jpeg = {};
  Failure failure;
  jpeg.err = jpeg_std_error(&failure.base);
  failure.base.error_exit = giveUp;
  jpeg_create_decompress(&jpeg);
  // volatile: it is written between setjmp and a jump.
  unsigned char *volatile row = nullptr;
  bool good = false;
  if (setjmp(failure.back) == 0) {
    jpeg_stdio_src(&jpeg, file);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = JCS_GRAYSCALE;
    jpeg_start_decompress(&jpeg);
    row = new unsigned char[jpeg.output_width];
    int counts[64] = {};
    while (jpeg.output_scanline < jpeg.output_height) {
      const size_t y = size_t(jpeg.output_scanline) * 8 / jpeg.output_height;
      unsigned char *rows[] = {row};
      jpeg_read_scanlines(&jpeg, rows, 1);
      for (size_t x = 0; x < jpeg.output_width; ++x) {
        const size_t cell = y * 8 + x * 8 / jpeg.output_width;
        cells[cell] += row[x] / 255.0f;
        ++counts[cell];
      }
    }
    for (int i = 0; i < 64; ++i)
      cells[i] /= float(std::max(counts[i], 1));
    jpeg_finish_decompress(&jpeg);
    good = true;
  }
  delete[] row;
  jpeg_destroy_decompress(&jpeg);
  return good;
}

} // namespace

int main(int argc, char **argv) {
  digits::Model model;
  if (auto status = model.resize_image({argc - 1, 1, 8, 8}); !status)
    return std::fprintf(stderr, "%s\n", status.message()), 1;
  std::fill(model.image().begin(), model.image().end(), 0.0f);
  for (int i = 1; i < argc; ++i) {
    std::FILE *file = std::fopen(argv[i], "rb");
    const bool good = file && shrink(file, model.image().data() + 64 * (i - 1));
    if (file)
      std::fclose(file);
    if (!good)
      return std::fprintf(stderr, "%s cannot be read\n", argv[i]), 1;
  }
  if (auto status = model.run(); !status)
    return std::fprintf(stderr, "%s\n", status.message()), 1;
  for (int i = 1; i < argc; ++i) {
    const float *p = model.probabilities().data() + 10 * (i - 1);
    const float *best = std::max_element(p, p + 10);
    std::printf("%s: %d (%.0f %%)\n", argv[i], int(best - p), 100 * *best);
  }
  return 0;
}

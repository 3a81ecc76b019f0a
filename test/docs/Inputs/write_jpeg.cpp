//===- write_jpeg.cpp - pictures of digits as JPEG files --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: write_jpeg IMAGES.f32 COUNT PREFIX
//
// Writes the first images, 64 floats each, as PREFIX0.jpg, ... of 100 x 120 pixels.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <jpeglib.h>

constexpr unsigned width = 100, height = 120;

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  std::ifstream images(argv[1], std::ios::binary);
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    float pixels[64];
    images.read(reinterpret_cast<char *>(pixels), sizeof(pixels));
    std::FILE *file = std::fopen((argv[3] + std::to_string(i) + ".jpg").c_str(), "wb");
    if (!file || !images)
      return 1;
    jpeg_compress_struct jpeg = {};
    jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = width;
    jpeg.image_height = height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (unsigned y = 0; y < height; ++y) {
      std::vector<unsigned char> row;
      for (unsigned x = 0; x < width; ++x)
        row.insert(row.end(), 3, (unsigned char)(255 * pixels[y * 8 / height * 8 + x * 8 / width]));
      unsigned char *rows[] = {row.data()};
      jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    std::fclose(file);
  }
  return 0;
}

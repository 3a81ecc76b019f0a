//===- gif.cpp - GIF, by giflib -------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"

#ifdef WEIR_HAS_GIF

#include <gif_lib.h>
#include <stdlib.h>

namespace weir::rt {

namespace {

struct Bytes {
  const char *next, *end;
};

int readBytes(GifFileType *file, GifByteType *to, int size) {
  auto *bytes = static_cast<Bytes *>(file->UserData);
  int64_t part = bytes->end - bytes->next < size ? bytes->end - bytes->next : size;
  if (part > 0)
    memcpy(to, bytes->next, size_t(part));
  bytes->next += part;
  return int(part);
}

/// Lays one image of the file over a frame, at the place that it says; pixels
/// of the transparent colour leave what is there.
bool drawOver(const GifFileType &file, int32_t number, Image &image, uint8_t *frame) {
  const SavedImage &saved = file.SavedImages[number];
  const GifImageDesc &place = saved.ImageDesc;
  const ColorMapObject *colours = place.ColorMap ? place.ColorMap : file.SColorMap;
  GraphicsControlBlock control = {};
  control.TransparentColor = NO_TRANSPARENT_COLOR;
  (void)DGifSavedExtensionToGCB(const_cast<GifFileType *>(&file), number, &control);
  if (!colours)
    return image.fail("Invalid GIF data: a frame has no colours");
  if (!saved.RasterBits)
    return image.fail("Invalid GIF data: a frame has no pixels");
  for (int64_t y = 0; y < place.Height; ++y)
    for (int64_t x = 0; x < place.Width; ++x) {
      int64_t top = place.Top + y, left = place.Left + x;
      if (top < 0 || top >= image.height || left < 0 || left >= image.width)
        continue;
      int32_t colour = saved.RasterBits[y * place.Width + x];
      if (colour == control.TransparentColor)
        continue;
      if (colour >= colours->ColorCount)
        return image.fail("Invalid GIF data: a colour is outside of the map");
      const GifColorType &light = colours->Colors[colour];
      uint8_t *to = frame + (top * image.width + left) * 3;
      to[0] = light.Red;
      to[1] = light.Green;
      to[2] = light.Blue;
    }
  return true;
}

bool draw(const GifFileType &file, const DecodeOptions &options, Image &image) {
  int64_t width = 0, height = 0, frames = options.allFrames ? file.ImageCount : 1;
  // The canvas is as large as the largest image, whatever the screen.
  for (int32_t k = 0; k < file.ImageCount; ++k) {
    const GifImageDesc &place = file.SavedImages[k].ImageDesc;
    width = place.Width > width ? place.Width : width;
    height = place.Height > height ? place.Height : height;
  }
  if (!image.make(frames, height, width, 3))
    return false;
  int64_t size = height * width * 3;
  for (int32_t k = 0; k < frames; ++k) {
    uint8_t *frame = image.data + k * size;
    if (k == 0)
      memset(frame, 0, size_t(size));
    else
      memcpy(frame, frame - size, size_t(size));
    if (!drawOver(file, k, image, frame))
      return false;
  }
  return true;
}

/// Reads the pixels of the image whose description was read last. The library
/// frees them.
bool readPixels(GifFileType &file) {
  SavedImage &saved = file.SavedImages[file.ImageCount - 1];
  int32_t width = saved.ImageDesc.Width, height = saved.ImageDesc.Height;
  if (width <= 0 || height <= 0 || width > INT32_MAX / height)
    return false;
  saved.RasterBits = static_cast<GifByteType *>(malloc(size_t(width) * size_t(height)));
  if (!saved.RasterBits)
    return false;
  // Rows of an interlaced image come in four passes.
  static constexpr int32_t begins[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
  bool good = true;
  for (int32_t pass = 0; pass < (saved.ImageDesc.Interlace ? 4 : 1); ++pass) {
    int32_t step = saved.ImageDesc.Interlace ? steps[pass] : 1;
    for (int32_t y = saved.ImageDesc.Interlace ? begins[pass] : 0; good && y < height; y += step)
      good = DGifGetLine(&file, saved.RasterBits + int64_t(y) * width, width) == GIF_OK;
  }
  if (!good) {
    free(saved.RasterBits);
    saved.RasterBits = nullptr;
  }
  return good;
}

/// An extension, which the image behind it is about.
bool readExtension(GifFileType &file) {
  GifByteType *bytes = nullptr;
  int kind = 0;
  if (DGifGetExtension(&file, &kind, &bytes) == GIF_ERROR)
    return false;
  while (bytes) {
    if (GifAddExtensionBlock(&file.ExtensionBlockCount, &file.ExtensionBlocks, kind, bytes[0],
                             bytes + 1) == GIF_ERROR ||
        DGifGetExtensionNext(&file, &bytes) == GIF_ERROR)
      return false;
    kind = CONTINUE_EXT_FUNC_CODE;
  }
  return true;
}

/// Reads images up to the end of the file, or to where it is broken: those before
/// that are whole.
void readImages(GifFileType &file) {
  GifRecordType type;
  while (DGifGetRecordType(&file, &type) == GIF_OK && type != TERMINATE_RECORD_TYPE) {
    if (type == EXTENSION_RECORD_TYPE) {
      if (!readExtension(file))
        return;
      continue;
    }
    if (type != IMAGE_DESC_RECORD_TYPE)
      continue;
    if (DGifGetImageDesc(&file) == GIF_ERROR)
      return;
    if (!readPixels(file)) {
      GifFreeMapObject(file.SavedImages[--file.ImageCount].ImageDesc.ColorMap);
      return;
    }
    SavedImage &saved = file.SavedImages[file.ImageCount - 1];
    saved.ExtensionBlocks = file.ExtensionBlocks;
    saved.ExtensionBlockCount = file.ExtensionBlockCount;
    file.ExtensionBlocks = nullptr;
    file.ExtensionBlockCount = 0;
  }
}

} // namespace

bool decodeGif(const weir_string &contents, const DecodeOptions &options, Image &image) {
  Bytes bytes{contents.data, contents.data + contents.size};
  int error = 0;
  GifFileType *file = DGifOpen(&bytes, readBytes, &error);
  if (!file)
    return image.fail("Invalid GIF data: ", GifErrorString(error));
  readImages(*file);
  bool good = file->ImageCount > 0 ? draw(*file, options, image)
                                   : image.fail("Invalid GIF data: no whole image");
  (void)DGifCloseFile(file, &error);
  return good;
}

} // namespace weir::rt

#else

namespace weir::rt {
bool decodeGif(const weir_string &, const DecodeOptions &, Image &image) {
  image.code = WEIR_UNIMPLEMENTED;
  return image.fail("this runtime was built without giflib: no GIF");
}
} // namespace weir::rt

#endif

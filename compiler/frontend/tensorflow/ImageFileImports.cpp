//===- ImageFileImports.cpp - files of images and sound -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decoded by kernels of the runtime (runtime/include/weir/input.h), those of
// images in an archive of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/InputImports.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

constexpr int64_t kOpen = ShapedType::kDynamic;

/// Which operation asks, as the kernel counts it.
enum class Decoder : int64_t { Any, Jpeg, Png, Gif, Bmp, Webp, CropJpeg };

Type stringType(NodeImport &n) { return StringType::get(n.b.getContext()); }

#ifdef WEIR_HAS_JPEG
constexpr bool hasJpeg = true;
#else
constexpr bool hasJpeg = false;
#endif
#ifdef WEIR_HAS_PNG
constexpr bool hasPng = true;
#else
constexpr bool hasPng = false;
#endif
#ifdef WEIR_HAS_GIF
constexpr bool hasGif = true;
#else
constexpr bool hasGif = false;
#endif
#ifdef WEIR_HAS_WEBP
constexpr bool hasWebp = true;
#else
constexpr bool hasWebp = false;
#endif

/// Whether the runtime was built with a format's library; reports where it was
/// not.
bool hasLibrary(NodeImport &n, bool has, StringRef library) {
  if (!has)
    (void)n.unsupported("expected " + library +
                        " to decode an image, got a weir that was built without it: install its "
                        "development package and build weir anew");
  return has;
}

bool hasLibrary(NodeImport &n, Decoder decoder) {
  switch (decoder) {
  case Decoder::Any: // the run tells
  case Decoder::Bmp:
    return true;
  case Decoder::Jpeg:
  case Decoder::CropJpeg:
    return hasLibrary(n, hasJpeg, "libjpeg");
  case Decoder::Png:
    return hasLibrary(n, hasPng, "libpng");
  case Decoder::Gif:
    return hasLibrary(n, hasGif, "giflib");
  case Decoder::Webp:
    return hasLibrary(n, hasWebp, "libwebp");
  }
  return true;
}

/// Types of samples (weir_dtype).
enum Sample : int64_t { F32 = 1, U8 = 2, U16 = 4 };

/// The type of a result; none after a report.
std::optional<int64_t> resultType(NodeImport &n, Decoder decoder) {
  if (!n.attr("dtype"))
    return U8;
  switch (toDataType(n.i("dtype"))) {
  case DataType::UInt8:
    return U8;
  case DataType::UInt16:
    if (decoder == Decoder::Any || decoder == Decoder::Png)
      return U16;
    break;
  case DataType::Float:
    if (decoder == Decoder::Any)
      return F32;
    break;
  default:
    break;
  }
  (void)n.invalid("found a dtype that this operation does not give");
  return std::nullopt;
}

RankedTensorType imageType(NodeImport &n, int64_t rank, int64_t channels, int64_t dtype) {
  IntVector shape(rank, kOpen);
  if (channels)
    shape.back() = channels;
  DataType type = dtype == U8 ? DataType::UInt8 : dtype == U16 ? DataType::UInt16 : DataType::Float;
  return RankedTensorType::get(shape, elementType(n.b.getContext(), type));
}

bool isFile(NodeImport &n, Value contents) {
  if (!contents)
    return false;
  if (n.isString(contents) && n.rank(contents) == 0)
    return true;
  (void)n.invalid("expected contents that are one string, got rank " + Twine(n.rank(contents)));
  return false;
}

/// Whether a file may turn out to be an animation, whose frames are all wanted.
bool mayBeAnimation(NodeImport &n, Decoder decoder) {
  return decoder == Decoder::Any && n.isSet("expand_animations");
}

template <Decoder decoder> LogicalResult decode(NodeImport &n) {
  SmallVector<Value> operands = n.tensors(0, decoder == Decoder::CropJpeg ? 2 : 1);
  std::optional<int64_t> dtype = resultType(n, decoder);
  if (operands.empty() || !isFile(n, operands[0]) || !dtype || !hasLibrary(n, decoder))
    return failure();
  int64_t channels = n.attr("channels") ? n.i("channels") : 0;
  bool hasAlpha = decoder == Decoder::Png || decoder == Decoder::Bmp || decoder == Decoder::Any ||
                  decoder == Decoder::Webp;
  if (channels != 0 && channels != 1 && channels != 3 && (channels != 4 || !hasAlpha))
    return n.invalid("expected " + Twine(hasAlpha ? "0, 1, 3 or 4" : "0, 1 or 3") +
                     " channels, got " + Twine(channels));
  bool isJpeg = decoder == Decoder::Jpeg || decoder == Decoder::CropJpeg;
  int64_t ratio = isJpeg ? n.i("ratio") : 1;
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
    return n.invalid("expected ratio 1, 2, 4 or 8, got " + Twine(ratio));
  std::string_view method = isJpeg ? n.s("dct_method") : "";
  if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE")
    return n.invalid("expected dct_method INTEGER_FAST, INTEGER_ACCURATE or none, got \"" +
                     Twine(std::string(method)) + "\"");
  bool isOpen = mayBeAnimation(n, decoder);
  int64_t rank = decoder == Decoder::Gif ? 4 : isOpen ? -1 : 3;
  SmallVector<int64_t> attributes{int64_t(decoder),
                                  channels,
                                  ratio,
                                  isJpeg ? n.isSet("fancy_upscaling") : true,
                                  method != "INTEGER_ACCURATE", // the fast one is the default
                                  isJpeg && n.isSet("try_recover_truncated"),
                                  *dtype == U8 ? 8 : 16,
                                  0,
                                  isOpen,
                                  rank,
                                  *dtype};
  Type type = isOpen ? RankedTensorType::get({1}, BoxType::get(n.b.getContext()))
                     : imageType(n, rank, decoder == Decoder::Gif ? 3 : channels, *dtype);
  return n.result(
      n.kernelCall("weir_kernel_decode_image", {type}, operands, attributes)->getResult(0));
}

LogicalResult jpegShape(NodeImport &n) {
  Value contents = n.in(0);
  Type element = n.elementAttr("output_type");
  if (!isFile(n, contents) || !element || !hasLibrary(n, Decoder::Jpeg))
    return failure();
  return n.result(
      n.kernelCall("weir_kernel_jpeg_shape", {RankedTensorType::get({3}, element)}, {contents})
          ->getResult(0));
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

LogicalResult giveFile(NodeImport &n, StringRef kernel, ValueRange operands, Ints attributes,
                       Ints shape = {}) {
  Operation *made =
      n.kernelCall(kernel, {RankedTensorType::get(shape, stringType(n))}, operands, attributes);
  return made ? n.result(made->getResult(0)) : failure();
}

LogicalResult encodeJpeg(NodeImport &n) {
  Value image = n.in(0);
  if (!image || !n.hasRank(image, 3) || !hasLibrary(n, Decoder::Jpeg))
    return failure();
  std::string_view format = n.s("format"), unit = n.s("density_unit"), xmp = n.s("xmp_metadata");
  int64_t channels = llvm::StringSwitch<int64_t>(StringRef(format.data(), format.size()))
                         .Case("", 0)
                         .Case("grayscale", 1)
                         .Case("rgb", 3)
                         .Default(-1);
  if (channels < 0)
    return n.invalid("expected format grayscale, rgb or none, got \"" + Twine(std::string(format)) +
                     "\"");
  if (n.i("quality") < 0 || n.i("quality") > 100)
    return n.invalid("expected quality 0 to 100, got " + Twine(n.i("quality")));
  if (unit != "in" && unit != "cm")
    return n.invalid("expected density_unit in or cm, got \"" + Twine(std::string(unit)) + "\"");
  return giveFile(
      n, "weir_kernel_encode_jpeg", {image, n.stringScalar(StringRef(xmp.data(), xmp.size()))},
      {channels, n.i("quality"), n.isSet("progressive"), n.isSet("optimize_size"),
       n.isSet("chroma_downsampling"), unit == "cm", n.i("x_density"), n.i("y_density")});
}

LogicalResult encodeJpegVariableQuality(NodeImport &n) {
  Value image = n.in(0), quality = n.in(1);
  if (!image || !quality || !n.hasRank(image, 3) || !n.hasRank(quality, 0) ||
      !hasLibrary(n, Decoder::Jpeg))
    return failure();
  return giveFile(n, "weir_kernel_encode_jpeg", {image, quality}, {0, 95, 0, 0, 1, 0, 300, 300});
}

LogicalResult encodePng(NodeImport &n) {
  Value image = n.in(0);
  if (!image || !hasLibrary(n, Decoder::Png))
    return failure();
  if (n.rank(image) < 3)
    return n.invalid("expected rank 3 or more, got " + Twine(n.rank(image)));
  int64_t level = n.i("compression");
  if (level < -1 || level > 9)
    return n.invalid("expected compression -1 to 9, got " + Twine(level));
  return giveFile(n, "weir_kernel_encode_png", {image}, {level}, n.sizes(image).drop_back(3));
}

//===----------------------------------------------------------------------===//
// Sound
//===----------------------------------------------------------------------===//

LogicalResult decodeWav(NodeImport &n) {
  Value contents = n.in(0);
  if (!isFile(n, contents))
    return failure();
  int64_t channels = n.i("desired_channels"), samples = n.i("desired_samples");
  if (channels < -1 || samples < -1 || channels == 0)
    return n.invalid("found desired_channels " + Twine(channels) + " and desired_samples " +
                     Twine(samples));
  SmallVector<Type> types{
      RankedTensorType::get({samples < 0 ? kOpen : samples, channels < 0 ? kOpen : channels},
                            n.b.getF32Type()),
      RankedTensorType::get({}, n.b.getI32Type())};
  Operation *made = n.kernelCall("weir_kernel_decode_wav", types, {contents}, {channels, samples});
  return n.results(SmallVector<Value>(made->getResults()));
}

LogicalResult encodeWav(NodeImport &n) {
  SmallVector<Value> operands = n.tensors(0, 2);
  return operands.empty() ? failure() : giveFile(n, "weir_kernel_encode_wav", operands, {});
}

} // namespace

Value weir::tf::openImage(NodeImport &n, Value box) {
  auto call = box.getDefiningOp<CustomCallOp>();
  if (!call || call.getCallee() != "weir_kernel_decode_image")
    return {};
  ArrayRef<int64_t> parameters = call.getParameters();
  return openBox(n, box, imageType(n, 3, parameters[1], parameters.back()));
}

ArrayRef<OpImport> weir::tf::imageFileImports() {
  static const OpImport rows[] = {
      {"DecodeAndCropJpeg", decode<Decoder::CropJpeg>},
      {"DecodeBmp", decode<Decoder::Bmp>},
      {"DecodeGif", decode<Decoder::Gif>},
      {"DecodeImage", decode<Decoder::Any>},
      {"DecodeJpeg", decode<Decoder::Jpeg>},
      {"DecodePng", decode<Decoder::Png>},
      {"DecodeWav", decodeWav},
      {"DecodeWebP", decode<Decoder::Webp>},
      {"EncodeJpeg", encodeJpeg},
      {"EncodeJpegVariableQuality", encodeJpegVariableQuality},
      {"EncodePng", encodePng},
      {"EncodeWav", encodeWav},
      {"ExtractJpegShape", jpegShape},
  };
  return rows;
}

//===- input.h - what programs read, and how they parse it ------*- C -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Library functions of input, in the form of weir/kernels.h: files, records,
// serialized examples and tensors, text, sound, and images. Those of images lie
// in an archive of their own, libweir_runtime_images.a, which programs link that
// call one.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_INPUT_H
#define WEIR_INPUT_H

#include "weir/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Files, and readers: records of files whose names come from a queue
//===----------------------------------------------------------------------===//

/// What a record is: a whole file, a line, so many bytes, a TFRecord (bytes
/// between checksums), or the name itself.
typedef enum weir_reader_kind {
  WEIR_READER_FILES = 0,
  WEIR_READER_LINES = 1,
  WEIR_READER_FIXED = 2,
  WEIR_READER_RECORDS = 3,
  WEIR_READER_IDENTITY = 4
} weir_reader_kind;

/// The first operand is the reader's name, one string; it is made at its first
/// use. Attributes, of all but `advance` alike: kind, encoding (0: plain bytes,
/// 1: zlib, 2: gzip), and of records of one size: bytes of one, of the header, of
/// the footer, from the begin of one to that of the next (0: of one); lines that
/// are skipped.
/// Reading is a loop. `begin` gives a ticket, of the reader's turn; the step waits
/// for what it has a ticket for, and calls `advance`, which gives a ticket of a
/// name from the queue, or 0 and the records.
/// begin:     name -> ticket (one i64)
/// advance:   begin's ticket, the queue's name -> ticket, key, value (strings); with
///            a number behind: vectors of that many at most, all of one file.
///            Attributes: those of the queue, mode 0
/// reset:     name
/// count:     name -> one i64. One more attribute: 0: records, 1: files completed
/// serialize: name -> a string
/// restore:   name, that string
WEIR_LIBRARY_FUNCTION(weir_kernel_reader_begin);
WEIR_LIBRARY_FUNCTION(weir_kernel_reader_advance);
WEIR_LIBRARY_FUNCTION(weir_kernel_reader_reset);
WEIR_LIBRARY_FUNCTION(weir_kernel_reader_count);
WEIR_LIBRARY_FUNCTION(weir_kernel_reader_serialize);
WEIR_LIBRARY_FUNCTION(weir_kernel_reader_restore);

/// Whole files; names relative to the working directory.
/// read:  name -> contents
/// write: name, contents. Makes the folders on the way
/// match: patterns (any shape) -> names [n], sorted, of the files that match one;
///        `*`, `?` and sets match within a part of a path
WEIR_LIBRARY_FUNCTION(weir_kernel_read_file);
WEIR_LIBRARY_FUNCTION(weir_kernel_write_file);
WEIR_LIBRARY_FUNCTION(weir_kernel_matching_files);

/// Serialized tf.train.Examples as tensors: TensorFlow's ParseExample of both
/// versions, and ParseSingleExample.
/// operands: examples (one, or a vector), their names (none, or as many), keys of
///           sparse, of dense and of ragged features (vectors), a default for each
///           dense one (without elements: the feature must be there)
/// results:  indices, values and shapes of the sparse ones; the dense ones;
///           values and row splits of the ragged ones
/// attributes: how many are sparse, dense, ragged; of each dense one rank and
///           sizes (-1: the first one is open)
WEIR_LIBRARY_FUNCTION(weir_kernel_parse_example);

/// Examples in the JSON form of protocol buffers, serialized; as many strings.
WEIR_LIBRARY_FUNCTION(weir_kernel_decode_json_example);

/// Serialized tf.train.SequenceExamples: TensorFlow's ParseSequenceExample of
/// both versions, and ParseSingleSequenceExample.
/// operands: examples, names, keys of the context's sparse, dense and ragged
///           features, of the lists'; which dense lists may miss (booleans, or the
///           names of those); a default for each dense one of the context
/// results:  of the context as above; of the lists likewise, where dense ones have
///           lengths behind them and ragged ones outer and inner splits
/// attributes: how many are sparse, dense, ragged of the context, of the lists;
///           whether there are lengths; of each dense one rank and sizes
WEIR_LIBRARY_FUNCTION(weir_kernel_parse_sequence_example);

/// Records of text, cut into fields at a delimiter.
/// operands: records (any shape), what stands for an absent field, a default for
///           each result (without an element: the field must be there)
/// results:  of the records' shape: f32, f64, i32, i64, strings
/// attributes: the delimiter (a byte), whether quotes are special, how many
///           columns are chosen (0: all), the columns, rising
/// TensorFlow DecodeCSV.
WEIR_LIBRARY_FUNCTION(weir_kernel_decode_csv);

/// TensorFlow's TensorProto. The first attribute is its number of the type.
/// serialize: a tensor -> a string
/// parse:     a string -> a sequence of one tensor, whatever its shape
WEIR_LIBRARY_FUNCTION(weir_kernel_serialize_tensor);
WEIR_LIBRARY_FUNCTION(weir_kernel_parse_tensor);
/// A sequence of one tensor: the elements in a shape (i64), one size of which may
/// be -1.
/// operands: elements, shape
WEIR_LIBRARY_FUNCTION(weir_kernel_box_tensor);
/// A sequence's only tensor, and its shape (i32 or i64).
/// attributes (tensor): its rank and sizes (-1: any), else INVALID_ARGUMENT; -1: its
///           elements as a vector
WEIR_LIBRARY_FUNCTION(weir_kernel_open_tensor);
WEIR_LIBRARY_FUNCTION(weir_kernel_open_shape);

/// Sparse tensors as three TensorProtos each.
/// serialize:   indices, values, shape -> strings [3], or (attribute 1: one for
///              each index of the first dimension) [n, 3]
/// deserialize: strings [..., 3] -> indices, values, shape, behind the dimensions
///              of the strings
/// attributes: TensorFlow's number of the values' type; (serialize) 0 or 1
WEIR_LIBRARY_FUNCTION(weir_kernel_serialize_sparse);
WEIR_LIBRARY_FUNCTION(weir_kernel_deserialize_sparse);

/// Sound: WAV files of 16-bit samples.
/// decode: a string -> samples f32 [n, channels] in [-1, 1), their rate (one i32).
///         Attributes: channels, samples; -1: as many as there are
/// encode: samples, rate -> a string
WEIR_LIBRARY_FUNCTION(weir_kernel_decode_wav);
WEIR_LIBRARY_FUNCTION(weir_kernel_encode_wav);

/// Strings decompressed, one by one. What is damaged is DATA_LOSS; of what is
/// merely cut short the begin is given.
/// attributes: 1: zlib, 2: gzip
WEIR_LIBRARY_FUNCTION(weir_kernel_decompress);

//===----------------------------------------------------------------------===//
// Images: libweir_runtime_images.a
//===----------------------------------------------------------------------===//

/// A file of an image as pixels.
/// operands: the file, one string (or u8 [n]); of DecodeAndCropJpeg also the window
///           (y, x, height, width)
/// results:  [height, width, channels], or [frames, height, width, channels]; u8,
///           u16, or f32 from 0 to 1
/// attributes: operation (0: DecodeImage, 1: DecodeJpeg, 2: DecodePng, 3: DecodeGif,
///           4: DecodeBmp, 5: DecodeWebP, 6: DecodeAndCropJpeg, 7: ONNX ImageDecoder),
///           channels (0: the file's); of JPEG: ratio, fancy upscaling, fast DCT,
///           recover what is truncated (rows that miss are made up, all of them, so
///           that any share of rows is acceptable); bits of a sample; of ONNX: 0 RGB, 1 BGR, 2
///           gray; whether animations give all frames; rank of the result (-1: a sequence of one
///           tensor), its weir_dtype
WEIR_LIBRARY_FUNCTION(weir_kernel_decode_image);

/// Height, width and channels of a JPEG. i32 or i64 [3]
WEIR_LIBRARY_FUNCTION(weir_kernel_jpeg_shape);

/// Pixels [height, width, channels] as a file. Operands of encode_jpeg: u8 pixels,
/// and an XMP packet (one string) or the quality (one integer); of encode_png:
/// u8 or u16 pixels, of any number of images.
/// attributes (jpeg): format (0: any, 1: gray, 3: colour), quality, progressive,
///           optimize size, chroma downsampling, density per centimetre (else inch),
///           density x, y
/// attributes (png): compression (-1 … 9)
WEIR_LIBRARY_FUNCTION(weir_kernel_encode_jpeg);
WEIR_LIBRARY_FUNCTION(weir_kernel_encode_png);

#ifdef __cplusplus
}
#endif

#endif // WEIR_INPUT_H

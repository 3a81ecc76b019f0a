//===- StringImports.cpp - operations on strings ----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strings are computed by the runtime's kernels (runtime/include/weir/
// kernels.h), which are called by name.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static StringRef text(NodeImport &n, std::string_view attr) {
  std::string_view value = n.s(attr);
  return {value.data(), value.size()};
}

/// The shape of a value, with other elements.
static RankedTensorType like(NodeImport &n, Value v, Type element) {
  return RankedTensorType::get(n.sizes(v), element);
}
static Type stringType(NodeImport &n) { return StringType::get(n.b.getContext()); }
static RankedTensorType vectorOf(Type element) {
  return RankedTensorType::get({ShapedType::kDynamic}, element);
}

/// Strings (or whatever comes in) to as many elements of `element`.
static LogicalResult map(NodeImport &n, StringRef kernel, Type element, Ints attributes,
                         ArrayRef<Value> more = {}) {
  Value x = n.in(0);
  if (!x || !element)
    return x ? n.unsupported("found a result type that weir does not have") : failure();
  SmallVector<Value> operands{x};
  operands.append(more.begin(), more.end());
  Operation *made = n.kernelCall(kernel, {like(n, x, element)}, operands, attributes);
  return made ? n.result(made->getResult(0)) : failure();
}

//===----------------------------------------------------------------------===//
// One string to one
//===----------------------------------------------------------------------===//

static LogicalResult isUtf8(NodeImport &n, std::string_view attr, std::string_view yes,
                            std::string_view no, bool &result) {
  std::string_view value = n.s(attr);
  result = value == yes;
  if (result || value == no)
    return success();
  return n.invalid("expected " + Twine(std::string(attr)) + " \"" + Twine(std::string(no)) +
                   "\" or \"" + Twine(std::string(yes)) + "\", got \"" + Twine(std::string(value)) +
                   "\"");
}

template <bool isUpper> static LogicalResult changeCase(NodeImport &n) {
  bool utf8;
  if (failed(isUtf8(n, "encoding", "utf-8", "", utf8)))
    return failure();
  return map(n, isUpper ? "weir_kernel_string_upper" : "weir_kernel_string_lower", stringType(n),
             {utf8});
}

static LogicalResult strip(NodeImport &n) {
  return map(n, "weir_kernel_string_strip", stringType(n), {});
}

static LogicalResult length(NodeImport &n) {
  bool utf8;
  if (failed(isUtf8(n, "unit", "UTF8_CHAR", "BYTE", utf8)))
    return failure();
  return map(n, "weir_kernel_string_length", n.b.getI32Type(), {utf8});
}

static LogicalResult substr(NodeImport &n) {
  bool utf8;
  SmallVector<Value> operands = n.tensors(0, 3);
  if (operands.empty() || failed(isUtf8(n, "unit", "UTF8_CHAR", "BYTE", utf8)))
    return failure();
  if (n.isStatic(operands[1]) && n.isStatic(operands[2]) &&
      n.type(operands[1]) != n.type(operands[2]))
    return n.invalid("found positions and lengths of different shapes");
  SmallVector<Type> types;
  if (failed(weir::detail::inferBroadcast(n.loc, {operands[0], operands[1]}, stringType(n), types)))
    return failure();
  return n.result(n.kernelCall("weir_kernel_string_slice", types, operands, {utf8})->getResult(0));
}

static LogicalResult encodeBase64(NodeImport &n) {
  return map(n, "weir_kernel_encode_base64", stringType(n), {n.isSet("pad")});
}
static LogicalResult decodeBase64(NodeImport &n) {
  return map(n, "weir_kernel_decode_base64", stringType(n), {});
}

template <bool isStatic> static LogicalResult regexFullMatch(NodeImport &n) {
  Value pattern = isStatic ? n.stringScalar(text(n, "pattern")) : n.in(1);
  if (!pattern)
    return failure();
  return map(n, "weir_kernel_regex_full_match", n.b.getI1Type(), {}, {pattern});
}

template <bool isStatic> static LogicalResult regexReplace(NodeImport &n) {
  Value pattern = isStatic ? n.stringScalar(text(n, "pattern")) : n.in(1);
  Value with = isStatic ? n.stringScalar(text(n, "rewrite")) : n.in(2);
  if (!pattern || !with)
    return failure();
  return map(n, "weir_kernel_regex_replace", stringType(n), {n.isSet("replace_global")},
             {pattern, with});
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static LogicalResult asString(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  bool isReal = n.isFloat(x) || isa<ComplexType>(n.element(x));
  bool scientific = n.isSet("scientific"), shortest = n.isSet("shortest");
  int64_t precision = n.i("precision"), width = n.i("width");
  std::string_view fill = n.s("fill");
  if (fill.size() > 1)
    return n.invalid("expected fill of one character or none, got " + Twine(fill.size()));
  if (!fill.empty() && std::string_view(" +-0#").find(fill) == std::string_view::npos)
    return n.invalid("expected fill blank, +, -, 0 or #, got \"" + Twine(std::string(fill)) + "\"");
  if (scientific && shortest)
    return n.invalid("found both scientific and shortest");
  // Strings take a precision, beside a width, and pass a notation by.
  if (!isReal && !n.isString(x) && (precision > -1 || scientific || shortest))
    return n.invalid("found a precision or notation of floats for integers");
  char conversion = scientific ? 'e' : shortest ? 'g' : 'f';
  return map(n, "weir_kernel_as_string", stringType(n),
             {fill.empty() ? 0 : fill[0], std::max<int64_t>(width, -1),
              std::max<int64_t>(precision, -1), conversion});
}

static LogicalResult toNumber(NodeImport &n) {
  return map(n, "weir_kernel_string_to_number", n.elementAttr("out_type"), {});
}

static LogicalResult decodeRaw(NodeImport &n) {
  Value x = n.in(0);
  Type element = n.elementAttr("out_type");
  if (!x || !element)
    return failure();
  SmallVector<int64_t> shape(n.sizes(x));
  shape.push_back(ShapedType::kDynamic);
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  Operation *made = n.kernelCall("weir_kernel_decode_raw", {RankedTensorType::get(shape, element)},
                                 operands, {n.isSet("little_endian")});
  return made ? n.result(made->getResult(0)) : failure();
}

template <int64_t function> static LogicalResult hashBucket(NodeImport &n) {
  if (n.i("num_buckets") < 1)
    return n.invalid("found " + Twine(n.i("num_buckets")) + " buckets");
  SmallVector<int64_t> attributes{function, n.i("num_buckets")};
  if (function == 2) {
    IntVector key = n.is("key");
    if (key.size() != 2)
      return n.invalid("expected a key of 2 numbers, got " + Twine(key.size()));
    attributes.append(key.begin(), key.end());
  }
  return map(n, "weir_kernel_string_hash", n.b.getI64Type(), attributes);
}

static LogicalResult fingerprint(NodeImport &n) {
  Value x = n.in(0), method = n.in(1);
  if (!x || !method)
    return failure();
  if (n.rank(x) < 1)
    return n.invalid("expected a vector or more, got a scalar");
  auto byte = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  auto type = RankedTensorType::get({n.dim(x, 0), 8}, byte);
  return n.result(n.kernelCall("weir_kernel_fingerprint", {type}, {x, method}, {})->getResult(0));
}

//===----------------------------------------------------------------------===//
// Several strings to one, one to several
//===----------------------------------------------------------------------===//

static LogicalResult join(NodeImport &n) {
  SmallVector<Value> inputs = n.tensors(0, n.inputCount());
  if (inputs.empty())
    return n.inputCount() ? failure() : n.invalid("found nothing to join");
  Value shape = inputs[0];
  for (Value input : inputs)
    if (n.rank(input) > 0)
      shape = input;
  for (Value input : inputs)
    if (n.rank(input) > 0 && n.rank(input) != n.rank(shape))
      return n.invalid("found inputs of different shapes");
  inputs.insert(inputs.begin(), n.stringScalar(text(n, "separator")));
  return n.result(
      n.kernelCall("weir_kernel_string_join", {like(n, shape, stringType(n))}, inputs, {})
          ->getResult(0));
}

static LogicalResult reduceJoin(NodeImport &n) {
  Value x = n.in(0);
  std::optional<IntVector> given = n.constantInts(1);
  if (!x || !given)
    return failure();
  bool keep = n.isSet("keep_dims");
  SmallVector<int64_t> attributes{keep, int64_t(given->size())};
  for (int64_t axis : *given) {
    std::optional<int64_t> checked = n.axis(axis, n.rank(x));
    if (!checked)
      return failure();
    if (llvm::is_contained(ArrayRef(attributes).drop_front(2), *checked))
      return n.invalid("found axis " + Twine(axis) + " twice");
    attributes.push_back(*checked);
  }
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < n.rank(x); ++d) {
    bool isReduced = llvm::is_contained(ArrayRef(attributes).drop_front(2), d);
    if (!isReduced || keep)
      shape.push_back(isReduced ? 1 : n.dim(x, d));
  }
  Operation *made =
      n.kernelCall("weir_kernel_string_reduce_join", {RankedTensorType::get(shape, stringType(n))},
                   {x, n.stringScalar(text(n, "separator"))}, attributes);
  return n.result(made->getResult(0));
}

static LogicalResult segmentJoin(NodeImport &n) {
  SmallVector<Value> operands = n.tensors(0, 3);
  if (operands.empty())
    return failure();
  Value x = operands[0], ids = operands[1];
  if (n.rank(ids) > n.rank(x))
    return n.invalid("found segment ids of more dimensions than the data");
  std::optional<IntVector> count = n.knownInts(2);
  bool isKnown = count && count->size() == 1 && count->front() >= 0;
  SmallVector<int64_t> shape{isKnown ? count->front() : ShapedType::kDynamic};
  Ints rest = n.sizes(x).drop_front(n.rank(ids));
  shape.append(rest.begin(), rest.end());
  operands.push_back(n.stringScalar(text(n, "separator")));
  return n.result(n.kernelCall("weir_kernel_string_segment_join",
                               {RankedTensorType::get(shape, stringType(n))}, operands, {})
                      ->getResult(0));
}

static LogicalResult format(NodeImport &n) {
  SmallVector<Value> inputs = n.tensors(0, n.inputCount());
  if (inputs.size() != n.inputCount())
    return failure();
  inputs.insert(inputs.begin(), n.stringScalar(text(n, "placeholder")));
  inputs.insert(inputs.begin(), n.stringScalar(text(n, "template")));
  return n.result(n.kernelCall("weir_kernel_string_format",
                               {RankedTensorType::get({}, stringType(n))}, inputs,
                               {n.i("summarize")})
                      ->getResult(0));
}

template <bool isV2> static LogicalResult split(NodeImport &n) {
  Value x = n.in(0), separator = n.in(1);
  if (!x || !separator)
    return failure();
  if (n.rank(x) != 1 || n.rank(separator) != 0)
    return n.invalid("expected a vector of strings and a scalar delimiter, got ranks " +
                     Twine(n.rank(x)) + " and " + Twine(n.rank(separator)));
  Type i64 = n.b.getI64Type();
  Type types[] = {RankedTensorType::get({ShapedType::kDynamic, 2}, i64), vectorOf(stringType(n)),
                  RankedTensorType::get({2}, i64)};
  Operation *made = n.kernelCall("weir_kernel_string_split_sparse", types, {x, separator},
                                 {isV2, isV2 ? n.i("maxsplit") : int64_t(n.isSet("skip_empty"))});
  return n.results({made->getResult(0), made->getResult(1), made->getResult(2)});
}

static LogicalResult ngrams(NodeImport &n) {
  Value data = n.in(0), splits = n.in(1);
  if (!data || !splits)
    return failure();
  IntVector widths = n.is("ngram_widths");
  SmallVector<int64_t> attributes{n.i("pad_width"), n.isSet("preserve_short_sequences"),
                                  int64_t(widths.size())};
  for (int64_t width : widths)
    if (width < 1)
      return n.invalid("found n-grams of " + Twine(width) + " tokens");
  attributes.append(widths.begin(), widths.end());
  Operation *made =
      n.kernelCall("weir_kernel_string_ngrams", {vectorOf(stringType(n)), splits.getType()},
                   {data, splits, n.stringScalar(text(n, "separator")),
                    n.stringScalar(text(n, "left_pad")), n.stringScalar(text(n, "right_pad"))},
                   attributes);
  return n.results({made->getResult(0), made->getResult(1)});
}

static LogicalResult editDistance(NodeImport &n) {
  SmallVector<Value> operands = n.tensors(0, 6);
  if (operands.empty())
    return failure();
  // Its length, where it has one.
  int64_t rank = n.rank(operands[2]) == 1 ? n.dim(operands[2], 0) : 0;
  if (rank < 2) // an open one is below
    return n.unsupported("found a shape whose length is not known, or less "
                         "than 2");
  SmallVector<int64_t> shape(rank - 1, ShapedType::kDynamic);
  return n.result(n.kernelCall("weir_kernel_edit_distance",
                               {RankedTensorType::get(shape, n.b.getF32Type())}, operands,
                               {n.isSet("normalize")})
                      ->getResult(0));
}

//===----------------------------------------------------------------------===//
// Unicode
//===----------------------------------------------------------------------===//

/// What is done with what is no text, and the form of the output.
static LogicalResult unicodeAttributes(NodeImport &n, SmallVectorImpl<int64_t> &attributes) {
  int64_t errors = llvm::StringSwitch<int64_t>(text(n, "errors"))
                       .Case("strict", 0)
                       .Case("replace", 1)
                       .Case("ignore", 2)
                       .Default(-1);
  int64_t replacement = n.i("replacement_char");
  if (errors < 0 || replacement < 0 || replacement > 0x10ffff)
    return n.invalid("expected errors strict, replace or ignore, and a replacement that is a code "
                     "point, got \"" +
                     Twine(text(n, "errors")) + "\" and " + Twine(replacement));
  attributes.assign({errors, replacement, n.isSet("replace_control_characters")});
  if (!n.attr("output_encoding"))
    return success();
  int64_t form = llvm::StringSwitch<int64_t>(text(n, "output_encoding"))
                     .Case("UTF-8", 0)
                     .Case("UTF-16-BE", 1)
                     .Case("UTF-32-BE", 2)
                     .Default(-1);
  if (form < 0)
    return n.invalid("found output encoding \"" + Twine(text(n, "output_encoding")) + "\"");
  attributes.push_back(form);
  return success();
}

static LogicalResult unicodeDecode(NodeImport &n) {
  Value x = n.in(0);
  SmallVector<int64_t> attributes;
  Type split = n.elementAttr("Tsplits");
  if (!x || !split || failed(unicodeAttributes(n, attributes)))
    return failure();
  int64_t rows = n.isStatic(x) ? n.type(x).getNumElements() + 1 : ShapedType::kDynamic;
  SmallVector<Type> types{RankedTensorType::get({rows}, split), vectorOf(n.b.getI32Type())};
  bool hasOffsets = n.node.op == "UnicodeDecodeWithOffsets";
  if (hasOffsets)
    types.push_back(vectorOf(n.b.getI64Type()));
  Operation *made = n.kernelCall("weir_kernel_unicode_decode", types,
                                 {x, n.stringScalar(text(n, "input_encoding"))}, attributes);
  for (Value value : made->getResults())
    n.made.emplace_back(value);
  return success();
}

static LogicalResult unicodeEncode(NodeImport &n) {
  Value codes = n.in(0), splits = n.in(1);
  SmallVector<int64_t> attributes;
  if (!codes || !splits || failed(unicodeAttributes(n, attributes)))
    return failure();
  int64_t rows = n.dim(splits, 0);
  if (!ShapedType::isDynamic(rows))
    rows = std::max<int64_t>(rows - 1, 0);
  return n.result(n.kernelCall("weir_kernel_unicode_encode",
                               {RankedTensorType::get({rows}, stringType(n))}, {codes, splits},
                               attributes)
                      ->getResult(0));
}

static LogicalResult unicodeTranscode(NodeImport &n) {
  SmallVector<int64_t> attributes;
  if (failed(unicodeAttributes(n, attributes)))
    return failure();
  return map(n, "weir_kernel_unicode_transcode", stringType(n), attributes,
             {n.stringScalar(text(n, "input_encoding"))});
}

static LogicalResult unicodeScript(NodeImport &n) {
  return map(n, "weir_kernel_unicode_script", n.b.getI32Type(), {});
}

/// What is written for those who watch: one serialized message.
static LogicalResult summary(NodeImport &n, StringRef kernel) {
  SmallVector<Value> inputs = n.tensors(0, n.inputCount());
  if (inputs.size() != n.inputCount())
    return failure();
  return n.result(
      n.kernelCall(kernel, {RankedTensorType::get({}, stringType(n))}, inputs, {})->getResult(0));
}
static LogicalResult scalarSummary(NodeImport &n) {
  Value tags = n.in(0), values = n.in(1);
  if (tags && values && n.rank(tags) != n.rank(values))
    return n.invalid("found tags and values of different shapes");
  return summary(n, "weir_kernel_scalar_summary");
}
static LogicalResult histogramSummary(NodeImport &n) {
  return summary(n, "weir_kernel_histogram_summary");
}
static LogicalResult mergeSummary(NodeImport &n) { return summary(n, "weir_kernel_merge_summary"); }

ArrayRef<OpImport> weir::tf::stringImports() {
  static const OpImport rows[] = {
      {"AsString", asString},
      {"DecodeBase64", decodeBase64},
      {"DecodePaddedRaw", decodeRaw},
      {"DecodeRaw", decodeRaw},
      {"EditDistance", editDistance},
      {"EncodeBase64", encodeBase64},
      {"Fingerprint", fingerprint},
      {"HistogramSummary", histogramSummary},
      {"MergeSummary", mergeSummary},
      {"ReduceJoin", reduceJoin},
      {"RegexFullMatch", regexFullMatch<false>},
      {"RegexReplace", regexReplace<false>},
      {"ScalarSummary", scalarSummary},
      {"StaticRegexFullMatch", regexFullMatch<true>},
      {"StaticRegexReplace", regexReplace<true>},
      {"StringFormat", format},
      {"StringJoin", join},
      {"StringLength", length},
      {"StringLower", changeCase<false>},
      {"StringNGrams", ngrams},
      {"StringSplit", split<false>},
      {"StringSplitV2", split<true>},
      {"StringStrip", strip},
      {"StringToHashBucket", hashBucket<0>},
      {"StringToHashBucketFast", hashBucket<1>},
      {"StringToHashBucketStrong", hashBucket<2>},
      {"StringToNumber", toNumber},
      {"StringUpper", changeCase<true>},
      {"Substr", substr},
      {"UnicodeDecode", unicodeDecode},
      {"UnicodeDecodeWithOffsets", unicodeDecode},
      {"UnicodeEncode", unicodeEncode},
      {"UnicodeScript", unicodeScript},
      {"UnicodeTranscode", unicodeTranscode},
      {"UnsortedSegmentJoin", segmentJoin},
  };
  return rows;
}

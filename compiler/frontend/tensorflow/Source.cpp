//===- Source.cpp - the bytes a graph was read from -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Source.h"

#include "compiler/frontend/tensorflow/graph.pb.h"
#include "compiler/frontend/tensorflow/saved_model.pb.h"

#include <algorithm>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

using namespace weir;
using namespace weir::tf;

namespace {

/// Keeps the first complaint of protobuf's text parser.
class FirstError : public google::protobuf::io::ErrorCollector {
public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string &text) override {
    if (message.empty())
      message = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) +
                ": " + text;
  }
  std::string message;
};

} // namespace

// Deeper than any graph nests; protobuf's parser recurses.
static constexpr int kMaxTextDepth = 64;
// Protobuf counts bytes in 32 bits.
static constexpr size_t kMaxTextBytes = (size_t(1) << 31) - 1;

/// Text is what ends in a text suffix, and what holds no control characters
/// while it is no message either: people rename files.
static bool looksLikeText(const std::string &path, std::string_view bytes) {
  for (std::string_view suffix : {".pbtxt", ".prototxt", ".txt"})
    if (path.ends_with(suffix))
      return true;
  std::string_view head = bytes.substr(0, 4096);
  bool plain = std::all_of(head.begin(), head.end(), [](unsigned char c) {
    return c >= 32 || c == '\n' || c == '\r' || c == '\t';
  });
  return plain && !head.empty();
}

template <typename Message>
static bool convert(std::string_view text, std::string &binary, bool allowUnknown,
                    std::string &error) {
  Message message;
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kMaxTextDepth);
  parser.AllowUnknownField(allowUnknown);
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&stream, &message)) {
    error = errors.message.empty() ? "nested too deeply" : errors.message;
    return false;
  }
  return message.SerializeToString(&binary);
}

std::unique_ptr<Source> Source::open(const std::string &path, TextMessage message,
                                     DiagnosticSink &sink) {
  std::string error;
  auto source = std::make_unique<Source>();
  source->file = MappedFile::open(path, error);
  if (!source->file) {
    sink.report({"W0201", path, "", "", "cannot be read: " + error, {}});
    return nullptr;
  }
  std::string_view bytes = source->file->bytes();
  source->isText = looksLikeText(path, bytes);
  if (!source->isText)
    return source;
  bool good;
  if (bytes.size() > kMaxTextBytes) {
    good = false;
    error = "expected at most 2^31 - 1 bytes of text, got " + std::to_string(bytes.size());
  } else if (message == TextMessage::GraphDef) {
    good = convert<proto::GraphDef>(bytes, source->converted, false, error);
  } else {
    // A SavedModel's text holds much that nothing here reads.
    good = convert<proto::TextSavedModel>(bytes, source->converted, true, error);
  }
  if (good)
    return source;
  const char *what = message == TextMessage::GraphDef ? "GraphDef" : "SavedModel";
  sink.report({"W0203", path, "", "", std::string("the text is not a ") + what + ": " + error, {}});
  return nullptr;
}

int64_t Source::fileOffset(std::string_view view) const {
  std::string_view all = file->bytes();
  if (isText || view.data() < all.data() || view.data() + view.size() > all.data() + all.size())
    return -1;
  return view.data() - all.data();
}

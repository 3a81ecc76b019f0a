//===- AnonymizeOnnx.cpp - ONNX models without names ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/MappedFile.h"
#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/insight/Anonymize.h"
#include "compiler/insight/OnnxRewriter.h"

#include <set>

using namespace weir;
using namespace weir::insight;
using frontend::WireReader;

namespace {

/// Lists of strings that name what an operator does.
bool isChoice(std::string_view attribute) {
  return attribute == "activations" || attribute == "nodes_modes";
}

/// Texts that are data, among attributes of one string.
bool isText(std::string_view attribute) {
  return attribute == "pattern" || attribute == "delimiter" || attribute == "default_string" ||
         attribute == "tokenexp" || attribute == "pad_value" || attribute == "value_string";
}

/// As otherValues() wants it; 0: no numbers.
char kindOf(onnx::DataType type) {
  using onnx::DataType;
  switch (type) {
  case DataType::Float:
  case DataType::Double:
  case DataType::Float16:
    return 'f';
  case DataType::BFloat16:
    return 'b';
  case DataType::Complex64:
  case DataType::Complex128:
    return 'c';
  case DataType::String:
  case DataType::Undefined:
    return 0;
  default:
    return 'i';
  }
}

class OnnxAnonymizer : public OnnxRewriter {
public:
  OnnxAnonymizer(const std::string &file, const std::string &output, const onnx::Model &model,
                 NewNames &names, DiagnosticSink &sink)
      : OnnxRewriter(file, output, sink), names(names) {
    for (const onnx::Function &function : model.functions)
      functions.insert({std::string(function.domain), std::string(function.name)});
  }

  std::string write(Bytes bytes);
  bool commit() {
    if (llvm::Error error = data.commit())
      report(std::move(error));
    return !sink.hasErrors();
  }

private:
  std::string valueName(Bytes name) override { return names.of("v", name); }
  std::string nodeName(Bytes name) override { return names.of("n", name); }
  std::string graphName(Bytes name) override { return names.of("g", name); }
  std::string dimensionName(Bytes name) override { return names.of("d", name); }
  std::string functionName(Bytes domain, Bytes name) override {
    bool isOurs =
        functions.count({std::string(domain == "ai.onnx" ? "" : domain), std::string(name)}) != 0;
    return isOurs ? names.of("f", name) : std::string(name);
  }
  bool keepsTexts() const override { return false; }
  std::string tensor(Bytes message) override;
  std::string attribute(Bytes message, Bytes op) override;

  NewNames &names;
  std::set<std::pair<std::string, std::string>> functions;
};

std::string OnnxAnonymizer::tensor(Bytes message) {
  onnx::Tensor read;
  if (onnx::MaybeProblem problem = onnx::readTensor(message, read)) {
    report(*problem);
    return "";
  }
  char kind = kindOf(read.type);
  bool isStrings = read.type == onnx::DataType::String;
  int64_t size = 0;
  if (!isStrings && (!kind || isStructure(read.type, read.count) ||
                     !onnx::rawByteSize(read.type, read.count, size)))
    return OnnxRewriter::tensor(message);
  Writer out;
  for (WireReader reader(message); reader.next();)
    if (reader.field() == 6)
      out.bytes(6, names.of("s", reader.bytes()));
    else if (reader.field() == 8)
      out.bytes(8, valueName(reader.bytes()));
    else if (reader.field() <= 2)
      out.raw(reader.raw());
  if (isStrings)
    return out.take();
  onnx::ExternalFiles::Place place;
  if (read.isExternal)
    if (onnx::MaybeProblem problem = externals.find(read, place)) {
      report(*problem);
      return "";
    }
  int64_t bits = onnx::dataTypeInfo(read.type)->bits;
  std::string_view held = read.isExternal ? place.bytes : !read.raw.empty() ? read.raw : message;
  std::string values =
      otherValues(kind, std::max<int64_t>(bits / 8, 1), read.dims, size, names.numberOf(held));
  if (read.isExternal) {
    addExternal(out, values);
    out.integer(14, 1);
  } else {
    out.bytes(9, values);
  }
  return out.take();
}

std::string OnnxAnonymizer::attribute(Bytes message, Bytes op) {
  std::string known = OnnxRewriter::attribute(message, op);
  Bytes name;
  int64_t floats = 0;
  for (WireReader reader(known); reader.next();)
    if (reader.field() == 1)
      name = reader.bytes();
    else if (reader.field() == 7)
      floats += reader.type() == frontend::WireType::Bytes ? int64_t(reader.bytes().size()) / 4 : 1;
  Writer out;
  bool areWeights = floats > 16;
  for (WireReader reader(known); reader.next();)
    if (reader.field() == 9 && !isChoice(name))
      out.bytes(9, names.of("s", reader.bytes()));
    else if (reader.field() == 4 && isText(name))
      out.bytes(4, names.of("s", reader.bytes()));
    else if (reader.field() != 7 || !areWeights)
      out.raw(reader.raw());
  if (areWeights)
    out.bytes(7, otherValues('f', 4, {floats}, floats * 4, names.numberOf(known)));
  return out.take();
}

std::string OnnxAnonymizer::write(Bytes bytes) {
  Writer out;
  for (WireReader reader(bytes); reader.next();)
    switch (reader.field()) {
    case 1: // version of the format
    case 8: // versions of operators
      out.raw(reader.raw());
      break;
    case 7:
      out.bytes(7, graph(reader.bytes()));
      break;
    case 25:
      out.bytes(25, function(reader.bytes()));
      break;
    default: // who made it, texts, training
      break;
    }
  return out.take();
}

} // namespace

bool insight::anonymizeOnnx(const std::string &path, const std::string &output, NewNames &names,
                            DiagnosticSink &sink) {
  std::string error;
  std::unique_ptr<MappedFile> mapped = MappedFile::open(path, error);
  if (!mapped) {
    sink.report({"W0101", path, "", "", "cannot be read: " + error, {}});
    return false;
  }
  std::unique_ptr<onnx::Model> model = onnx::readModel(mapped->bytes(), path, sink);
  if (!model)
    return false;
  OnnxAnonymizer anonymizer(path, output, *model, names, sink);
  std::string bytes = anonymizer.write(mapped->bytes());
  if (sink.hasErrors() || !anonymizer.commit())
    return false;
  if (llvm::Error failed = writeFile(output, bytes)) {
    sink.report({"W0104", path, "", "", llvm::toString(std::move(failed)), {}});
    return false;
  }
  return true;
}

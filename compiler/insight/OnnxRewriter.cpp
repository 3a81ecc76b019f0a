//===- OnnxRewriter.cpp - ONNX files, copied with changes -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/OnnxRewriter.h"
#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/onnx/ModelReader.h"

using namespace weir;
using namespace weir::insight;
using frontend::WireReader;

void OnnxRewriter::report(llvm::Error error) {
  sink.report({"W0104", file, "", "", llvm::toString(std::move(error)), {}});
}

void OnnxRewriter::report(onnx::Problem problem) {
  sink.report(onnx::diagnose(file, nullptr, std::move(problem)));
}

void OnnxRewriter::addExternal(Writer &out, Bytes values) {
  llvm::Expected<int64_t> offset = data.add(values);
  if (!offset)
    return report(offset.takeError());
  const std::pair<const char *, std::string> entries[] = {
      {"location", data.location()},
      {"offset", std::to_string(*offset)},
      {"length", std::to_string(values.size())}};
  for (const auto &[key, value] : entries) {
    Writer entry;
    entry.bytes(1, key);
    entry.bytes(2, value);
    out.bytes(13, entry.take());
  }
}

std::string OnnxRewriter::tensor(Bytes message) {
  onnx::Tensor read;
  if (onnx::MaybeProblem problem = onnx::readTensor(message, read)) {
    report(*problem);
    return "";
  }
  Writer out;
  for (WireReader reader(message); reader.next();) {
    if (reader.field() == 8)
      out.bytes(8, valueName(reader.bytes()));
    else if ((reader.field() != 12 && reader.field() != 16) || keepsTexts())
      if (reader.field() != 13 || !read.isExternal)
        out.raw(reader.raw());
  }
  if (!read.isExternal)
    return out.take();
  onnx::ExternalFiles::Place place;
  if (onnx::MaybeProblem problem = externals.find(read, place))
    report(*problem);
  else
    addExternal(out, place.bytes);
  return out.take();
}

std::string OnnxRewriter::sparseTensor(Bytes message) {
  Writer out;
  for (WireReader reader(message); reader.next();)
    if (reader.field() == 1 || reader.field() == 2)
      out.bytes(reader.field(), tensor(reader.bytes()));
    else
      out.raw(reader.raw());
  return out.take();
}

std::string OnnxRewriter::type(Bytes message) {
  // Names of dimensions lie in TypeProto.tensor_type.shape.dim.dim_param; types of
  // sequences, optionals and maps have another type in them.
  Writer out;
  auto shape = [&](Bytes bytes) {
    Writer dims;
    for (WireReader reader(bytes); reader.next();) {
      if (reader.field() != 1) {
        dims.raw(reader.raw());
        continue;
      }
      Writer dim;
      for (WireReader entry(reader.bytes()); entry.next();)
        if (entry.field() == 2)
          dim.bytes(2, dimensionName(entry.bytes()));
        else
          dim.raw(entry.raw());
      dims.bytes(1, dim.take());
    }
    return dims.take();
  };
  for (WireReader reader(message); reader.next();) {
    uint32_t field = reader.field();
    bool isTensor = field == 1 || field == 8, isWrapped = field == 4 || field == 9,
         isMap = field == 5;
    if (!isTensor && !isWrapped && !isMap) {
      out.raw(reader.raw());
      continue;
    }
    Writer inner;
    for (WireReader entry(reader.bytes()); entry.next();)
      if (isTensor && entry.field() == 2)
        inner.bytes(2, shape(entry.bytes()));
      else if ((isWrapped && entry.field() == 1) || (isMap && entry.field() == 2))
        inner.bytes(entry.field(), type(entry.bytes()));
      else
        inner.raw(entry.raw());
    out.bytes(field, inner.take());
  }
  return out.take();
}

std::string OnnxRewriter::valueInfo(Bytes message) {
  Writer out;
  for (WireReader reader(message); reader.next();)
    if (reader.field() == 1)
      out.bytes(1, valueName(reader.bytes()));
    else if (reader.field() == 2)
      out.bytes(2, type(reader.bytes()));
    else if (reader.field() > 4 || keepsTexts())
      out.raw(reader.raw());
  return out.take();
}

std::string OnnxRewriter::attribute(Bytes message, Bytes) {
  Writer out;
  for (WireReader reader(message); reader.next();)
    switch (reader.field()) {
    case 5:
    case 10:
      out.bytes(reader.field(), tensor(reader.bytes()));
      break;
    case 6:
    case 11:
      out.bytes(reader.field(), graph(reader.bytes()));
      break;
    case 14:
    case 15:
      out.bytes(reader.field(), type(reader.bytes()));
      break;
    case 22:
    case 23:
      out.bytes(reader.field(), sparseTensor(reader.bytes()));
      break;
    case 13:
      if (keepsTexts())
        out.raw(reader.raw());
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

std::string OnnxRewriter::node(Bytes message) {
  Bytes op, domain;
  for (WireReader reader(message); reader.next();)
    if (reader.field() == 4)
      op = reader.bytes();
    else if (reader.field() == 7)
      domain = reader.bytes();
  Writer out;
  for (WireReader reader(message); reader.next();)
    switch (reader.field()) {
    case 1:
    case 2:
      out.bytes(reader.field(), valueName(reader.bytes()));
      break;
    case 3:
      out.bytes(3, nodeName(reader.bytes()));
      break;
    case 4:
      out.bytes(4, functionName(domain, op));
      break;
    case 5:
      out.bytes(5, attribute(reader.bytes(), op));
      break;
    case 6:
    case 9:
      if (keepsTexts())
        out.raw(reader.raw());
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

std::string OnnxRewriter::graph(Bytes message) {
  Writer out;
  for (WireReader reader(message); reader.next();)
    switch (reader.field()) {
    case 1:
      out.bytes(1, node(reader.bytes()));
      break;
    case 2:
      out.bytes(2, graphName(reader.bytes()));
      break;
    case 5:
      out.bytes(5, tensor(reader.bytes()));
      break;
    case 11:
    case 12:
    case 13:
      out.bytes(reader.field(), valueInfo(reader.bytes()));
      break;
    case 15:
      out.bytes(15, sparseTensor(reader.bytes()));
      break;
    case 10:
    case 14: // names tensors, for other tools
    case 16:
      if (keepsTexts())
        out.raw(reader.raw());
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

std::string OnnxRewriter::function(Bytes message) {
  Bytes name, domain;
  for (WireReader reader(message); reader.next();)
    if (reader.field() == 1)
      name = reader.bytes();
    else if (reader.field() == 10)
      domain = reader.bytes();
  Writer out;
  for (WireReader reader(message); reader.next();)
    switch (reader.field()) {
    case 1:
      out.bytes(1, functionName(domain, name));
      break;
    case 4:
    case 5:
      out.bytes(reader.field(), valueName(reader.bytes()));
      break;
    case 7:
      out.bytes(7, node(reader.bytes()));
      break;
    case 11:
      out.bytes(11, attribute(reader.bytes(), name));
      break;
    case 12:
      out.bytes(12, valueInfo(reader.bytes()));
      break;
    case 8:
    case 14:
      if (keepsTexts())
        out.raw(reader.raw());
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

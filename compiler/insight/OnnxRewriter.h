//===- OnnxRewriter.h - ONNX files, copied with changes ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a serialized model message by message and writes it anew. What a subclass does
// not change is copied, fields that weir does not know included. The bytes have been
// read by readModel before, so they are in good order.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_ONNXREWRITER_H
#define WEIR_COMPILER_INSIGHT_ONNXREWRITER_H

#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/WireWriter.h"
#include "compiler/frontend/onnx/ExternalFiles.h"
#include "compiler/insight/ExternalOutput.h"

#include <string>
#include <string_view>

namespace weir::insight {

class OnnxRewriter {
public:
  OnnxRewriter(const std::string &model, const std::string &output, DiagnosticSink &sink)
      : file(model), sink(sink), externals(model), data(output) {}
  virtual ~OnnxRewriter() = default;

protected:
  using Bytes = std::string_view;
  using Writer = frontend::WireWriter;

  // Names, each as it is to be written.
  virtual std::string valueName(Bytes name) { return std::string(name); }
  virtual std::string nodeName(Bytes name) { return std::string(name); }
  virtual std::string graphName(Bytes name) { return std::string(name); }
  virtual std::string dimensionName(Bytes name) { return std::string(name); }
  virtual std::string functionName(Bytes domain, Bytes name) { return std::string(name); }
  /// Whether texts for people, and metadata, stay.
  virtual bool keepsTexts() const { return true; }
  /// A TensorProto; here its external values go into the new file.
  virtual std::string tensor(Bytes message);
  /// An attribute of a node of this operator.
  virtual std::string attribute(Bytes message, Bytes op);

  std::string graph(Bytes message);
  std::string node(Bytes message);
  std::string function(Bytes message);
  std::string valueInfo(Bytes message);
  std::string type(Bytes message);
  std::string sparseTensor(Bytes message);
  /// Adds a tensor's fields that say where its values lie.
  void addExternal(Writer &out, Bytes values);
  void report(llvm::Error error);
  void report(onnx::Problem problem);

  const std::string &file;
  DiagnosticSink &sink;
  onnx::ExternalFiles externals;
  ExternalOutput data;
};

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_ONNXREWRITER_H

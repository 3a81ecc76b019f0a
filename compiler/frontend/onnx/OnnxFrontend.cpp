//===- OnnxFrontend.cpp - ONNX as a format --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/OnnxFrontend.h"
#include "compiler/frontend/WireReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace weir;
using llvm::StringRef;

/// What stands before a field of a message: its number and how it is written.
static constexpr uint64_t tagOf(uint64_t field, uint64_t wireType) { return field << 3 | wireType; }

namespace {

class OnnxFrontend : public Frontend {
public:
  StringRef name() const override { return "onnx"; }
  StringRef files() const override { return ".onnx"; }
  llvm::ArrayRef<StringRef> suffixes() const override {
    static const StringRef names[] = {".onnx"};
    return names;
  }
  /// ModelProto: the version of the IR comes first, then its producer's name or a later
  /// field. A SavedModel begins with a 1 and then a message, where the name would be.
  bool sniffs(StringRef head) const override {
    constexpr uint64_t newestVersion = 64; // far beyond today's
    const char *pos = head.begin(), *end = head.end();
    uint64_t tag, version, length;
    auto varint = [&](uint64_t &value) {
      return pos != end && frontend::WireReader::readVarint(pos, end, value);
    };
    if (!varint(tag) || tag != tagOf(1, 0) || !varint(version) || version == 0 ||
        version > newestVersion || !varint(tag))
      return false;
    if (tag == tagOf(2, 2))
      return varint(length) && pos != end && llvm::isPrint(*pos);
    return tag == tagOf(5, 0) || (tag >= tagOf(3, 2) && tag <= tagOf(8, 2) && tag % 8 == 2);
  }
  StringRef wayFrom(StringRef suffix) const override {
    return llvm::StringSwitch<StringRef>(suffix)
        .Case(".tflite",
              "tf2onnx converts it (python -m tf2onnx.convert --tflite FILE --output m.onnx)")
        .Cases({".pt", ".pth", ".pt2"},
               "PyTorch writes one with torch.onnx.export(model, arguments, \"m.onnx\")")
        .Default("");
  }
  std::vector<SupportedOperator> operators() const override { return onnx::supportedOperators(); }
  mlir::OwningOpRef<mlir::ModuleOp> import(mlir::MLIRContext &context, const std::string &path,
                                           const ImportOptions &options,
                                           DiagnosticSink &sink) const override {
    return onnx::importModel(context, path, options, sink);
  }
};

} // namespace

const Frontend &weir::onnxFrontend() {
  static const OnnxFrontend made;
  return made;
}

//===- TensorFlowFrontend.cpp - TensorFlow's files as a format ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/TensorFlowFrontend.h"
#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/tensorflow/SavedModel.h"

#include "llvm/ADT/StringSwitch.h"

using namespace weir;
using llvm::StringRef;

namespace {

class TensorFlowFrontend : public Frontend {
public:
  StringRef name() const override { return "tensorflow"; }
  StringRef files() const override { return ".pb or .pbtxt (GraphDef), a SavedModel's folder"; }
  llvm::ArrayRef<StringRef> suffixes() const override {
    static const StringRef names[] = {".pb", ".pbtxt"};
    return names;
  }
  StringRef folder() const override { return "the folder of a SavedModel"; }
  bool ownsFolder(StringRef path) const override { return !tf::findSavedModel(path.str()).empty(); }
  /// A GraphDef begins with a node, which begins with its name; or its text does.
  bool sniffs(StringRef head) const override {
    constexpr char node = 0x0a, name = 0x0a; // field 1, a message or text
    StringRef text = head.ltrim();
    if (text.consume_front("node") && text.ltrim().starts_with("{"))
      return true;
    if (head.empty() || head.front() != node)
      return false;
    const char *pos = head.begin() + 1;
    uint64_t length;
    return pos != head.end() && frontend::WireReader::readVarint(pos, head.end(), length) &&
           length > 2 && head.end() - pos > 2 && pos[0] == name && uint64_t(pos[1]) < length;
  }
  StringRef wayFrom(StringRef suffix) const override {
    return llvm::StringSwitch<StringRef>(suffix)
        .Cases({".keras", ".h5", ".hdf5"},
               "Keras writes one with keras.models.load_model(FILE).export(FOLDER)")
        .Cases({".meta", ".ckpt", ".index"},
               "a checkpoint alone is no model: save that with tf.saved_model.save, or freeze its "
               "graph to a .pb")
        .Default("");
  }
  std::vector<FrontendFlag> flags() const override { return tensorFlowFlags(); }
  std::vector<SupportedOperator> operators() const override { return tf::supportedOperators(); }
  mlir::OwningOpRef<mlir::ModuleOp> import(mlir::MLIRContext &context, const std::string &path,
                                           const ImportOptions &options,
                                           DiagnosticSink &sink) const override {
    return tf::importModel(context, path, options, sink);
  }
};

} // namespace

const Frontend &weir::tensorFlowFrontend() {
  static const TensorFlowFrontend made;
  return made;
}

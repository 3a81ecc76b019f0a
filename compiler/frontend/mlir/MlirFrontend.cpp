//===- MlirFrontend.cpp - weir's own IR as a format -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/mlir/MlirFrontend.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace weir;
using llvm::StringRef;

namespace {

class MlirFrontend : public Frontend {
public:
  StringRef name() const override { return "mlir"; }
  StringRef files() const override { return ".mlir (from --dump-ir or --stop-after)"; }
  llvm::ArrayRef<StringRef> suffixes() const override {
    static const StringRef names[] = {".mlir"};
    return names;
  }
  bool sniffs(StringRef head) const override {
    while (true) {
      head = head.ltrim();
      if (!head.starts_with("//"))
        break;
      head = head.drop_until([](char c) { return c == '\n'; });
    }
    return head.starts_with("module {") || head.starts_with("module attributes") ||
           head.starts_with("module @") || head.starts_with("func.func ") ||
           head.starts_with("#map = affine_map");
  }
  bool isOwnIr() const override { return true; }

  mlir::OwningOpRef<mlir::ModuleOp> import(mlir::MLIRContext &context, const std::string &path,
                                           const ImportOptions &,
                                           DiagnosticSink &sink) const override {
    mlir::ParserConfig config(&context);
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, config);
    if (!module && !sink.hasErrors())
      sink.report({"W0110", path, "", "", "is no MLIR module", {}});
    if (module && module->getOps<mlir::func::FuncOp>().empty())
      sink.report({"W0110", path, "", "", "has no function", {}});
    return module;
  }
};

} // namespace

const Frontend &weir::mlirFrontend() {
  static const MlirFrontend made;
  return made;
}

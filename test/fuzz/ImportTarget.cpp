//===- ImportTarget.cpp - what fuzzers of importers share -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/ImportTarget.h"

#include "compiler/driver/Driver.h"

#include "mlir/IR/Verifier.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <unistd.h>

using namespace weir;

namespace {

struct Scratch {
  std::string folder;
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-fuzz-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      std::abort();
    folder = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
};

/// Types and attributes stay in a context for as long as it lives: it is a new
/// one after some hundred inputs.
mlir::MLIRContext &context() {
  constexpr unsigned inputsPerContext = 200;
  static std::unique_ptr<mlir::MLIRContext> current;
  static unsigned used = 0;
  if (!current || ++used == inputsPerContext) {
    mlir::DialectRegistry registry;
    driver::registerDialects(registry);
    current = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    used = 0;
  }
  return *current;
}

} // namespace

std::string weir::fuzz::scratchFile(std::string_view name) {
  static Scratch scratch;
  return scratch.folder + "/" + std::string(name);
}

void weir::fuzz::writeScratch(const std::string &path, std::string_view bytes) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  close(file);
}

void weir::fuzz::checkRefusal(const DiagnosticSink &sink) {
  bool good = sink.hasErrors();
  for (const Diagnostic &diagnostic : sink.diagnostics())
    if (diagnostic.severity == Severity::Error &&
        (diagnostic.code.size() != 5 || diagnostic.code[0] != 'W' || diagnostic.code == "W0199")) {
      std::fprintf(stderr, "%s\n", diagnostic.str().c_str());
      good = false;
    }
  if (good)
    return;
  std::fprintf(stderr, "refused without a numbered error that names the reason\n");
  std::abort();
}

void weir::fuzz::importBytes(const Frontend &frontend, std::string_view suffix, const uint8_t *data,
                             size_t size) {
  static const std::string path = scratchFile("m" + std::string(suffix));
  writeScratch(path, std::string_view(reinterpret_cast<const char *>(data), size));
  DiagnosticSink sink;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      frontend.import(context(), path, ImportOptions(), sink);
  if (!module)
    return checkRefusal(sink);
  if (sink.hasErrors() || mlir::failed(mlir::verify(*module))) {
    std::fprintf(stderr, "imported, but there are errors, or it does not verify\n");
    std::abort();
  }
}

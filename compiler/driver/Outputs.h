//===- Outputs.h - what a compilation leaves on the disk --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_OUTPUTS_H
#define WEIR_COMPILER_DRIVER_OUTPUTS_H

#include "compiler/driver/Compilation.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/emit/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <optional>
#include <utility>
#include <vector>

namespace weir::driver {

/// /dev/null, a pipe and the like, beside which nothing is written.
bool isDevice(llvm::StringRef path);

/// What constants of the model's files are made of.
llvm::Expected<llvm::ArrayRef<char>> bytesOf(BlobAttr blob);

/// Writes what a compilation left, all files or none.
class Outputs {
public:
  Outputs(const Options &options, DiagnosticSink &sink, Compilation &compilation,
          std::string output)
      : options(options), sink(sink), compilation(compilation), output(std::move(output)) {}

  bool writeText();
  /// Writes the constants, which is most of a large model's object; once, from any thread, or
  /// else writeBinary does it, which also reports what went wrong.
  void writeConstants(OutputForm form);
  bool writeBinary(OutputForm form);
  bool addWeights();
  bool addTuning();
  bool addDepfile();
  bool commit();

private:
  bool check(llvm::Error error, llvm::StringRef code = "W0104");
  bool add(llvm::StringRef path, llvm::StringRef text);
  bool addHeader();
  bool addNodeLines();
  bool addReport();
  bool link(OutputForm form, OutputFile &object);
  bool linkShared(llvm::StringRef object, llvm::StringRef output);
  /// The shared object, which is written around its constants.
  bool joinShared();
  /// The output's path with another suffix.
  std::string beside(llvm::StringRef suffix) {
    llvm::SmallString<256> path(output);
    llvm::sys::path::replace_extension(path, suffix);
    return std::string(path);
  }

  const Options &options;
  DiagnosticSink &sink;
  Compilation &compilation;
  std::string output;
  std::optional<OutputFile> object; ///< or what becomes one of the others
  bool isJoined = false;         ///< that is a shared object, the constants of which no linker sees
  std::string problem;           ///< with the constants
  std::vector<OutputFile> files; ///< written, not yet under their names
  std::vector<std::pair<std::string, std::string>> linked; ///< from, to
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_OUTPUTS_H

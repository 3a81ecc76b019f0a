//===- LoadedModel.h - compiled programs in this process --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links an object that weirc wrote into this process, or opens a shared library
// that holds one. The bytes are those of the emitted object: what the tools
// measure and check is what users link. The runtime is the one in the tool,
// whatever the process exports.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_LOADEDMODEL_H
#define WEIR_TOOLS_COMMON_LOADEDMODEL_H

#include "compiler/driver/Options.h"
#include "compiler/execute/LinkedObject.h"
#include "weir/weir.h"

#include <memory>
#include <string>
#include <string_view>

namespace weir::tools {

/// The runtime functions that work on a loaded program: those of the tool for
/// an object, those of the library for a .so that brings its own runtime (whose
/// sessions no other runtime may touch).
struct RuntimeFunctions {
  decltype(&weir_session_create) sessionCreate = &weir_session_create;
  decltype(&weir_session_destroy) sessionDestroy = &weir_session_destroy;
  decltype(&weir_session_run) sessionRun = &weir_session_run;
  decltype(&weir_session_release) sessionRelease = &weir_session_release;
  decltype(&weir_session_memory) sessionMemory = &weir_session_memory;
  decltype(&weir_session_get_variable) getVariable = &weir_session_get_variable;
  decltype(&weir_session_set_variable) setVariable = &weir_session_set_variable;
  // Null: the library is of a release that had none.
  decltype(&weir_session_save_async) saveAsync = &weir_session_save_async;
  decltype(&weir_session_restore) restore = &weir_session_restore;
  decltype(&weir_latest_checkpoint) latestCheckpoint = &weir_latest_checkpoint;
};

/// What the name of a program's function ends in, behind its prefix.
inline constexpr std::string_view programSuffix = "_program";

/// Whether `input` names a shared library, and no model.
bool isLibrary(const std::string &input);

class LoadedModel {
public:
  virtual ~LoadedModel();

  /// Links object bytes, which are not needed afterwards; `name` is the prefix
  /// of the object's symbols (weirc's --name). Null, with the reason in
  /// `error`.
  static std::unique_ptr<LoadedModel> link(std::string_view object, const std::string &name,
                                           std::string &error,
                                           JitListener listener = JitListener::None);

  /// Opens a shared library that weirc wrote. `name`, where not empty, is
  /// checked against the program in it.
  static std::unique_ptr<LoadedModel> open(const std::string &path, const std::string &name,
                                           std::string &error);

  /// Links an object file, whose prefix is found in it. Functions that it wants of the
  /// program it is made for have stand-ins: such a model is looked at, and not run.
  static std::unique_ptr<LoadedModel> openObject(const std::string &path, std::string &error);

  /// Valid as long as this object; sessions must be gone before it.
  const weir_program_desc *program() const { return description; }
  const RuntimeFunctions &runtime() const { return functions; }

protected:
  const weir_program_desc *description = nullptr;
  RuntimeFunctions functions;
};

/// Opens `options.input`, a shared library, whose program is called `options.name` where that is
/// not empty. Null, with errors in `sink`.
std::unique_ptr<LoadedModel> openProgram(const driver::Options &options, DiagnosticSink &sink);

/// Names and addresses of the runtime's functions, weir_rt_* and the kernels
/// included; generated from libweir_runtime.a when the tools are built.
struct RuntimeSymbol {
  const char *name;
  void *address;
};
extern const RuntimeSymbol runtimeSymbols[];
extern const size_t runtimeSymbolCount;

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_LOADEDMODEL_H

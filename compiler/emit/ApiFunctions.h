//===- ApiFunctions.h - the C functions of an object ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program calls of an object: functions that hand on to the runtime what the
// object knows, so that the model's header suffices and a shared object may hide its
// runtime. Those with a status refuse sessions of other programs.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_APIFUNCTIONS_H
#define WEIR_COMPILER_EMIT_APIFUNCTIONS_H

#include "compiler/emit/Program.h"

#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace weir {

/// A visible C function of an object.
struct ApiFunction {
  enum Kind {
    Program,     ///< const weir_program_desc *(void)
    Create,      ///< weir_session_create without the program
    Destroy,     ///< weir_session_destroy
    Release,     ///< weir_session_release
    Run,         ///< an entry: weir_session_run without entry and counts
    Reset,       ///< weir_session_reset
    GetVariable, ///< weir_session_get_variable
    SetVariable, ///< weir_session_set_variable
    Save,        ///< weir_session_save
    SaveAsync,   ///< weir_session_save_async
    Restore,     ///< weir_session_restore
    Functions    ///< const weir_plugin *(void)
  };
  Kind kind;
  std::string symbol;
  int entry = -1; ///< of Run
};

/// The entry that is meant where none is named: the only one, or serving_default. -1:
/// there is no such entry.
int defaultEntry(const Program &program);

/// The functions of a program, with unique names that start with its name: an entry's
/// is NAME_ENTRY, the default entry's NAME_run, too. Those for variables are there when
/// the program has any; those for checkpoints, and the table of the runtime's
/// functions, of shared objects alone, since other objects would link them always.
std::vector<ApiFunction> apiFunctions(const Program &program, bool isShared);

/// Adds the functions to the module; `descriptor` is the program's. For shared objects
/// also the table weir_plugin (weir/plugin.h), by which programs that do not know the
/// model's name use it.
void emitApiFunctions(const Program &program, bool isShared, llvm::GlobalVariable *descriptor,
                      llvm::Module &module);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_APIFUNCTIONS_H

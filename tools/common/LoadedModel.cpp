//===- LoadedModel.cpp - compiled programs in this process ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/LoadedModel.h"

#include "weir/plugin.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <dlfcn.h>

using namespace weir::tools;
namespace orc = llvm::orc;

namespace {

constexpr std::string_view programSuffix = "_program";

class JitModel : public LoadedModel {
public:
  /// Empty where the object is linked.
  std::string link(std::string_view object, const std::string &name) {
    static const bool initialised = !llvm::InitializeNativeTarget() &&
                                    !llvm::InitializeNativeTargetAsmPrinter();
    if (!initialised)
      return "LLVM knows no target for this machine";
    // Compilation is over: one thread links, which also keeps a process that
    // forks free of threads.
    auto made =
        orc::LLJITBuilder()
            .setNumCompileThreads(0)
            .setObjectLinkingLayerCreator(
                [](orc::ExecutionSession &session)
                    -> llvm::Expected<std::unique_ptr<orc::ObjectLayer>> {
                  return std::make_unique<orc::ObjectLinkingLayer>(session);
                })
            .create();
    if (!made)
      return llvm::toString(made.takeError());
    jit = std::move(*made);
    // The reason (a symbol that is missing, say) goes to the reporter; what the
    // look-up returns says only that it failed.
    std::string reasons;
    jit->getExecutionSession().setErrorReporter([&](llvm::Error error) {
      reasons +=
          (reasons.empty() ? "" : "; ") + llvm::toString(std::move(error));
    });

    orc::SymbolMap symbols;
    for (size_t i = 0; i < runtimeSymbolCount; ++i)
      symbols[jit->mangleAndIntern(runtimeSymbols[i].name)] = {
          orc::ExecutorAddr::fromPtr(runtimeSymbols[i].address),
          llvm::JITSymbolFlags::Exported};
    orc::JITDylib &library = jit->getMainJITDylib();
    if (llvm::Error error = library.define(orc::absoluteSymbols(symbols)))
      return llvm::toString(std::move(error));
    // libm, libc and the compiler's own helpers.
    auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        jit->getDataLayout().getGlobalPrefix());
    if (!process)
      return llvm::toString(process.takeError());
    library.addGenerator(std::move(*process));

    if (llvm::Error error = jit->addObjectFile(
            llvm::MemoryBuffer::getMemBuffer(object, name + ".o", false)))
      return llvm::toString(std::move(error));
    auto found = jit->lookup(name + std::string(programSuffix));
    jit->getExecutionSession().setErrorReporter(
        [](llvm::Error error) { llvm::consumeError(std::move(error)); });
    if (!found) {
      std::string failure = llvm::toString(found.takeError());
      return reasons.empty() ? failure : reasons;
    }
    description = found->toPtr<const weir_program_desc *(*)()>()();
    return "";
  }

private:
  std::unique_ptr<orc::LLJIT> jit;
};

class SharedLibraryModel : public LoadedModel {
public:
  ~SharedLibraryModel() override {
    if (handle)
      dlclose(handle);
  }

  std::string open(const std::string &path, const std::string &name) {
    // A path without a slash would be looked for in the system's folders.
    std::string local =
        path.find('/') == std::string::npos ? "./" + path : path;
    handle = dlopen(local.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return dlerror();
    auto *plugin =
        static_cast<const weir_plugin *>(dlsym(handle, WEIR_PLUGIN_SYMBOL));
    if (!plugin || plugin->size < sizeof(weir_plugin))
      return "is no shared object of weirc's: it has no "
             "table " WEIR_PLUGIN_SYMBOL;
    std::string symbol = name + std::string(programSuffix);
    if (!name.empty() && !dlsym(handle, symbol.c_str()))
      return "has no symbol " + symbol;
    description = plugin->program;
    functions.sessionCreate = plugin->session_create;
    functions.sessionDestroy = plugin->session_destroy;
    functions.sessionRun = plugin->session_run;
    functions.sessionRelease = plugin->session_release;
    functions.sessionMemory = plugin->session_memory;
    functions.getVariable = plugin->session_get_variable;
    functions.setVariable = plugin->session_set_variable;
    return "";
  }

private:
  void *handle = nullptr;
};

} // namespace

LoadedModel::~LoadedModel() = default;

std::unique_ptr<LoadedModel> LoadedModel::link(std::string_view object,
                                               const std::string &name,
                                               std::string &error) {
  auto model = std::make_unique<JitModel>();
  error = model->link(object, name);
  if (!error.empty())
    return nullptr;
  return model;
}

std::unique_ptr<LoadedModel> LoadedModel::open(const std::string &path,
                                               const std::string &name,
                                               std::string &error) {
  auto model = std::make_unique<SharedLibraryModel>();
  error = model->open(path, name);
  if (!error.empty())
    return nullptr;
  return model;
}

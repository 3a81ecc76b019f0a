//===- LinkedObject.cpp - object bytes in this process --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/execute/LinkedObject.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h"
#include "llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

using namespace weir;
namespace orc = llvm::orc;

namespace {

class JitObject : public LinkedObject {
public:
  /// Empty where the object is added.
  std::string add(std::string_view object, const std::string &name,
                  const std::vector<Symbol> &symbols, JitListener listener) {
    static const bool initialised =
        !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
    if (!initialised)
      return "LLVM knows no target for this machine";
    // Compilation is over: one thread links, which also keeps a process that
    // forks free of threads.
    auto made =
        orc::LLJITBuilder()
            .setNumCompileThreads(0)
            .setObjectLinkingLayerCreator([](orc::ExecutionSession &session)
                                              -> llvm::Expected<std::unique_ptr<orc::ObjectLayer>> {
              return std::make_unique<orc::ObjectLinkingLayer>(session);
            })
            .create();
    if (!made)
      return llvm::toString(made.takeError());
    jit = std::move(*made);
    if (std::string why = tell(listener); !why.empty())
      return why;

    orc::SymbolMap map;
    for (const auto &[symbol, address] : symbols)
      map[jit->mangleAndIntern(symbol)] = {orc::ExecutorAddr::fromPtr(address),
                                           llvm::JITSymbolFlags::Exported};
    orc::JITDylib &library = jit->getMainJITDylib();
    if (llvm::Error error = library.define(orc::absoluteSymbols(map)))
      return llvm::toString(std::move(error));
    // libm, libc and the compiler's own helpers.
    auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        jit->getDataLayout().getGlobalPrefix());
    if (!process)
      return llvm::toString(process.takeError());
    library.addGenerator(std::move(*process));
    if (llvm::Error error =
            jit->addObjectFile(llvm::MemoryBuffer::getMemBuffer(object, name + ".o", false)))
      return llvm::toString(std::move(error));
    return "";
  }

  void *find(const std::string &symbol, std::string &error) override {
    // The reason (a symbol that is missing, say) goes to the reporter; what the
    // look-up returns says only that it failed.
    std::string reasons;
    jit->getExecutionSession().setErrorReporter([&](llvm::Error one) {
      reasons += (reasons.empty() ? "" : "; ") + llvm::toString(std::move(one));
    });
    auto found = jit->lookup(symbol);
    jit->getExecutionSession().setErrorReporter(
        [](llvm::Error one) { llvm::consumeError(std::move(one)); });
    if (found)
      return found->toPtr<void *>();
    std::string failure = llvm::toString(found.takeError());
    error = reasons.empty() ? failure : reasons;
    return nullptr;
  }

private:
  std::string tell(JitListener listener) {
    auto &layer = static_cast<orc::ObjectLinkingLayer &>(jit->getObjLinkingLayer());
    orc::ExecutionSession &session = jit->getExecutionSession();
    if (listener == JitListener::Perf)
      layer.addPlugin(std::make_unique<orc::PerfSupportPlugin>(
          session.getExecutorProcessControl(),
          orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfStart),
          orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfEnd),
          orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfImpl),
          /*EmitDebugInfo=*/false, /*EmitUnwindInfo=*/true));
    if (listener == JitListener::Debugger) {
      llvm::Error error = llvm::Error::success();
      auto plugin = std::make_unique<orc::ELFDebugObjectPlugin>(
          session, /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true, error);
      if (error)
        return llvm::toString(std::move(error));
      layer.addPlugin(std::move(plugin));
    }
    return "";
  }

  std::unique_ptr<orc::LLJIT> jit;
};

} // namespace

LinkedObject::~LinkedObject() = default;

std::unique_ptr<LinkedObject> LinkedObject::create(std::string_view object, const std::string &name,
                                                   const std::vector<Symbol> &symbols,
                                                   std::string &error, JitListener listener) {
  auto made = std::make_unique<JitObject>();
  error = made->add(object, name, symbols, listener);
  if (!error.empty())
    return nullptr;
  return made;
}

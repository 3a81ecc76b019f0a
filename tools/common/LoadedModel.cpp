//===- LoadedModel.cpp - compiled programs in this process ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/LoadedModel.h"

#include "tools/common/Files.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <dlfcn.h>
#include <elf.h>
#include <vector>

using namespace weir::tools;
namespace orc = llvm::orc;

namespace {

constexpr std::string_view programSuffix = "_program";

class JitModel : public LoadedModel {
public:
  /// Empty where the object is linked.
  std::string link(std::string_view object, const std::string &name) {
    static const bool initialised =
        !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
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
    if (!found)
      return llvm::toString(found.takeError());
    description = found->toPtr<const weir_program_desc *>();
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

  std::string open(const std::string &path, std::string name) {
    // A path without a slash would be looked for in the system's folders.
    std::string local = path.find('/') == std::string::npos ? "./" + path : path;
    handle = dlopen(local.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return dlerror();
    if (name.empty())
      name = onlyProgram(path);
    if (name.empty())
      return "holds no program of weirc's, or several; possible: --name=IDENT";
    std::string symbol = name + std::string(programSuffix);
    description =
        static_cast<const weir_program_desc *>(dlsym(handle, symbol.c_str()));
    if (!description)
      return "has no symbol " + symbol;
    use(functions.sessionCreate, "weir_session_create");
    use(functions.sessionDestroy, "weir_session_destroy");
    use(functions.sessionRun, "weir_session_run");
    use(functions.sessionRelease, "weir_session_release");
    return "";
  }

private:
  template <typename F> void use(F &function, const char *symbol) {
    if (void *address = dlsym(handle, symbol))
      function = reinterpret_cast<F>(address);
  }

  /// The IDENT of the only dynamic symbol IDENT_program, read from the file.
  static std::string onlyProgram(const std::string &path) {
    std::string bytes, error, found;
    if (!readFile(path, bytes, error) || bytes.size() < sizeof(Elf64_Ehdr))
      return "";
    auto *header = reinterpret_cast<const Elf64_Ehdr *>(bytes.data());
    auto *sections =
        reinterpret_cast<const Elf64_Shdr *>(bytes.data() + header->e_shoff);
    if (header->e_shoff > bytes.size() ||
        header->e_shnum > (bytes.size() - header->e_shoff) / sizeof(Elf64_Shdr))
      return "";
    for (unsigned s = 0; s < header->e_shnum; ++s) {
      const Elf64_Shdr &section = sections[s];
      if (section.sh_type != SHT_DYNSYM || section.sh_link >= header->e_shnum)
        continue;
      const Elf64_Shdr &names = sections[section.sh_link];
      if (section.sh_offset > bytes.size() ||
          section.sh_size > bytes.size() - section.sh_offset)
        return "";
      auto *symbols = reinterpret_cast<const Elf64_Sym *>(bytes.data() +
                                                          section.sh_offset);
      for (size_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
        uint64_t at = names.sh_offset + symbols[i].st_name;
        if (symbols[i].st_shndx == SHN_UNDEF || at >= bytes.size())
          continue;
        std::string_view name(bytes.c_str() + at);
        if (!name.ends_with(programSuffix) ||
            ELF64_ST_TYPE(symbols[i].st_info) != STT_OBJECT)
          continue;
        if (!found.empty())
          return "";
        found = name.substr(0, name.size() - programSuffix.size());
      }
    }
    return found;
  }

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

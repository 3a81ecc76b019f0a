//===- LinkedModel.cpp - compiled programs linked in memory ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/execute/LinkedObject.h"
#include "compiler/frontend/MappedFile.h"
#include "tools/common/LoadedModel.h"

#include "llvm/Object/ObjectFile.h"

#include <dlfcn.h>

using namespace weir;
using namespace weir::tools;

namespace {

class JitModel : public LoadedModel {
public:
  /// Empty where the object is linked.
  std::string link(std::string_view object, const std::string &name,
                   std::vector<weir::LinkedObject::Symbol> symbols = {},
                   weir::JitListener listener = weir::JitListener::None) {
    for (size_t i = 0; i < runtimeSymbolCount; ++i)
      symbols.emplace_back(runtimeSymbols[i].name, runtimeSymbols[i].address);
    std::string error;
    linked = weir::LinkedObject::create(object, name, symbols, error, listener);
    if (!linked)
      return error;
    using Program = const weir_program_desc *();
    auto *program =
        reinterpret_cast<Program *>(linked->find(name + std::string(programSuffix), error));
    if (!program)
      return error;
    description = program();
    return "";
  }

private:
  std::unique_ptr<weir::LinkedObject> linked;
};

} // namespace

std::unique_ptr<LoadedModel> LoadedModel::link(std::string_view object, const std::string &name,
                                               std::string &error, JitListener listener) {
  auto model = std::make_unique<JitModel>();
  error = model->link(object, name, {}, listener);
  if (!error.empty())
    return nullptr;
  return model;
}

std::unique_ptr<LoadedModel> LoadedModel::openObject(const std::string &path, std::string &error) {
  std::unique_ptr<MappedFile> file = MappedFile::open(path, error);
  if (!file)
    return nullptr;
  llvm::StringRef bytes(file->bytes().data(), file->bytes().size());
  auto object = llvm::object::ObjectFile::createELFObjectFile({bytes, path});
  if (!object) {
    error = "is no object: " + llvm::toString(object.takeError());
    return nullptr;
  }
  std::string prefix;
  std::vector<std::string> wanted;
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    auto name = symbol.getName();
    auto flags = symbol.getFlags();
    if (!name || !flags) {
      llvm::consumeError(name.takeError());
      llvm::consumeError(flags.takeError());
      continue;
    }
    bool isDefined = !(*flags & llvm::object::SymbolRef::SF_Undefined);
    bool isGlobal = *flags & llvm::object::SymbolRef::SF_Global;
    if (isDefined && isGlobal && name->ends_with(programSuffix))
      prefix = name->drop_back(programSuffix.size()).str();
    if (!isDefined && !name->empty() && !name->starts_with("weir_") &&
        !dlsym(RTLD_DEFAULT, name->str().c_str()))
      wanted.push_back(name->str());
  }
  if (prefix.empty()) {
    error =
        "is no object of weirc's: it has no function that ends in " + std::string(programSuffix);
    return nullptr;
  }
  static char standIn;
  std::vector<LinkedObject::Symbol> symbols;
  for (const std::string &name : wanted)
    symbols.emplace_back(name.c_str(), &standIn);
  auto model = std::make_unique<JitModel>();
  error = model->link(file->bytes(), prefix, symbols);
  if (!error.empty())
    return nullptr;
  return model;
}

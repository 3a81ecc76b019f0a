//===- LoadedModel.cpp - compiled programs in this process ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/LoadedModel.h"

#include "compiler/frontend/MappedFile.h"
#include "tools/common/ElfCheck.h"
#include "weir/plugin.h"

#include <cstddef>
#include <dlfcn.h>

using namespace weir;
using namespace weir::tools;

namespace {

class SharedLibraryModel : public LoadedModel {
public:
  ~SharedLibraryModel() override {
    if (handle)
      dlclose(handle);
  }

  std::string open(const std::string &path, const std::string &name) {
    // A path without a slash would be looked for in the system's folders.
    std::string local = path.find('/') == std::string::npos ? "./" + path : path;
    {
      std::string error;
      std::unique_ptr<weir::MappedFile> file = weir::MappedFile::open(local, error);
      if (!file)
        return error;
      if (std::string fault = faultOfSharedObject(file->bytes()); !fault.empty())
        return fault;
    }
    handle = dlopen(local.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return dlerror();
    auto *plugin = static_cast<const weir_plugin *>(dlsym(handle, WEIR_PLUGIN_SYMBOL));
    if (!plugin || plugin->size < offsetof(weir_plugin, session_save))
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
    bool hasCheckpoints = plugin->size >= sizeof(weir_plugin);
    functions.saveAsync = hasCheckpoints ? plugin->session_save_async : nullptr;
    functions.restore = hasCheckpoints ? plugin->session_restore : nullptr;
    functions.latestCheckpoint = hasCheckpoints ? plugin->latest_checkpoint : nullptr;
    return "";
  }

private:
  void *handle = nullptr;
};

} // namespace

bool weir::tools::isLibrary(const std::string &input) { return input.ends_with(".so"); }

LoadedModel::~LoadedModel() = default;

std::unique_ptr<LoadedModel> LoadedModel::open(const std::string &path, const std::string &name,
                                               std::string &error) {
  auto model = std::make_unique<SharedLibraryModel>();
  error = model->open(path, name);
  if (!error.empty())
    return nullptr;
  return model;
}

std::unique_ptr<LoadedModel> weir::tools::openProgram(const driver::Options &options,
                                                      DiagnosticSink &sink) {
  std::string error;
  std::unique_ptr<LoadedModel> model = LoadedModel::open(options.input, options.name, error);
  if (!model)
    sink.report({"W0705", options.input, "", "", "the program cannot be loaded: " + error, {}});
  return model;
}

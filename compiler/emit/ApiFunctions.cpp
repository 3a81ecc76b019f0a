//===- ApiFunctions.cpp - the C functions of an object --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/ApiFunctions.h"
#include "compiler/emit/OfferedEntries.h"

#include "weir/abi.h"
#include "weir/plugin.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"

using namespace weir;

int weir::defaultEntry(const Program &program) {
  if (offeredEntries(program).size() == 1)
    return 0;
  for (size_t i = 0; i < offeredEntries(program).size(); ++i)
    if (program.entries[i].name == "serving_default")
      return int(i);
  return -1;
}

std::vector<ApiFunction> weir::apiFunctions(const Program &program, bool isShared) {
  std::vector<ApiFunction> functions;
  llvm::StringSet<> taken;
  auto add = [&](ApiFunction::Kind kind, llvm::StringRef name, int entry = -1) {
    std::string symbol = (program.name + "_" + name).str();
    for (int n = 2; !taken.insert(symbol).second; ++n)
      symbol = (program.name + "_" + name + "_" + llvm::Twine(n)).str();
    functions.push_back({kind, symbol, entry});
  };
  add(ApiFunction::Program, "program");
  add(ApiFunction::Create, "create");
  add(ApiFunction::Destroy, "destroy");
  add(ApiFunction::Release, "release");
  if (isShared)
    add(ApiFunction::Functions, "functions");
  if (!program.slots.empty()) {
    add(ApiFunction::Reset, "reset");
    add(ApiFunction::GetVariable, "get_variable");
    add(ApiFunction::SetVariable, "set_variable");
    if (isShared) {
      add(ApiFunction::Save, "save");
      add(ApiFunction::SaveAsync, "save_async");
      add(ApiFunction::Restore, "restore");
    }
  }
  int standard = defaultEntry(program);
  if (standard >= 0)
    add(ApiFunction::Run, "run", standard);
  for (size_t i = 0; i < offeredEntries(program).size(); ++i) {
    // Not cIdentifier: the prefix has made keywords and digits harmless.
    std::string name = program.entries[i].name;
    for (char &c : name)
      if (!llvm::isAlnum(c))
        c = '_';
    if (int(i) != standard || name != "run")
      add(ApiFunction::Run, name, int(i));
  }
  return functions;
}

namespace {

class FunctionBuilder {
public:
  FunctionBuilder(const Program &program, llvm::GlobalVariable *descriptor, llvm::Module &module)
      : program(program), descriptor(descriptor), module(module), b(module.getContext()),
        none(b.getVoidTy()), int32(b.getInt32Ty()), int64(b.getInt64Ty()), ptr(b.getPtrTy()) {}

  void build(const ApiFunction &api);
  void buildTable();

private:
  using Types = llvm::ArrayRef<llvm::Type *>;

  llvm::FunctionCallee runtime(llvm::StringRef name, llvm::Type *result, Types arguments) {
    return module.getOrInsertFunction(
        name, llvm::FunctionType::get(result, arguments, /*isVarArg=*/false));
  }
  llvm::Function *begin(const ApiFunction &api, llvm::Type *result, unsigned arguments) {
    llvm::SmallVector<llvm::Type *> types(arguments, ptr);
    auto *function =
        llvm::Function::Create(llvm::FunctionType::get(result, types, /*isVarArg=*/false),
                               llvm::GlobalValue::ExternalLinkage, api.symbol, module);
    function->setDoesNotThrow();
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
    return function;
  }
  /// Returns early with what the runtime answers to a session, argument 0, that is none of
  /// this program's. The last argument is the status.
  void checkSession(llvm::Function *f) {
    llvm::Value *code =
        b.CreateCall(runtime("weir_rt_check_session", int32, {ptr, ptr, ptr}),
                     {descriptor, f->getArg(0), f->getArg(unsigned(f->arg_size() - 1))});
    llvm::LLVMContext &context = module.getContext();
    auto *refused = llvm::BasicBlock::Create(context, "refused", f);
    auto *accepted = llvm::BasicBlock::Create(context, "accepted", f);
    b.CreateCondBr(b.CreateICmpEQ(code, b.getInt32(0)), accepted, refused);
    b.SetInsertPoint(refused);
    b.CreateRet(code);
    b.SetInsertPoint(accepted);
  }
  /// A function of pointers that the runtime has under another name.
  void forward(const ApiFunction &api, llvm::Type *result, unsigned arguments,
               llvm::StringRef target) {
    llvm::Function *f = begin(api, result, arguments);
    if (!result->isVoidTy())
      checkSession(f);
    llvm::SmallVector<llvm::Value *> values(llvm::make_pointer_range(f->args()));
    llvm::SmallVector<llvm::Type *> types(arguments, ptr);
    llvm::Value *call = b.CreateCall(runtime(target, result, types), values);
    result->isVoidTy() ? b.CreateRetVoid() : b.CreateRet(call);
  }
  void buildRun(const ApiFunction &api);

  const Program &program;
  llvm::GlobalVariable *descriptor, *table = nullptr;
  llvm::Module &module;
  llvm::IRBuilder<> b;
  llvm::Type *none, *int32, *int64, *ptr;
};

} // namespace

void FunctionBuilder::build(const ApiFunction &api) {
  switch (api.kind) {
  case ApiFunction::Program:
    begin(api, ptr, 0);
    b.CreateRet(descriptor);
    return;
  case ApiFunction::Functions:
    begin(api, ptr, 0);
    b.CreateRet(table);
    return;
  case ApiFunction::Create: {
    llvm::Function *f = begin(api, int32, 3);
    b.CreateRet(b.CreateCall(runtime("weir_session_create", int32, {ptr, ptr, ptr, ptr}),
                             {descriptor, f->getArg(0), f->getArg(1), f->getArg(2)}));
    return;
  }
  case ApiFunction::Destroy:
    return forward(api, none, 1, "weir_session_destroy");
  case ApiFunction::Release:
    return forward(api, none, 2, "weir_session_release");
  case ApiFunction::Reset:
    return forward(api, int32, 2, "weir_session_reset");
  case ApiFunction::GetVariable:
    return forward(api, int32, 4, "weir_session_get_variable");
  case ApiFunction::SetVariable:
    return forward(api, int32, 4, "weir_session_set_variable");
  case ApiFunction::Save:
    return forward(api, int32, 4, "weir_session_save");
  case ApiFunction::SaveAsync:
    return forward(api, int32, 6, "weir_session_save_async");
  case ApiFunction::Restore:
    return forward(api, int32, 4, "weir_session_restore");
  case ApiFunction::Run:
    return buildRun(api);
  }
}

void FunctionBuilder::buildRun(const ApiFunction &api) {
  const EntryInfo &entry = program.entries[size_t(api.entry)];
  llvm::Function *f = begin(api, int32, 5);
  checkSession(f);
  auto number = [&](size_t value) { return b.getInt32(uint32_t(value)); };
  b.CreateRet(b.CreateCall(
      runtime("weir_session_run", int32, {ptr, int32, ptr, int32, ptr, int32, ptr, ptr}),
      {f->getArg(0), number(size_t(api.entry)), f->getArg(1), number(entry.feeds.size()),
       f->getArg(2), number(entry.fetches.size()), f->getArg(3), f->getArg(4)}));
}

/// Rows in the order of weir_plugin's fields, each with the type of the runtime's function.
void FunctionBuilder::buildTable() {
  struct Row {
    const char *name;
    llvm::Type *result;
    llvm::SmallVector<llvm::Type *, 10> arguments;
  };
  const Row rows[] = {
      {"session_create", int32, {ptr, ptr, ptr, ptr}},
      {"session_destroy", none, {ptr}},
      {"session_run", int32, {ptr, int32, ptr, int32, ptr, int32, ptr, ptr}},
      {"session_release", none, {ptr, ptr}},
      {"session_reset", int32, {ptr, ptr}},
      {"session_get_variable", int32, {ptr, ptr, ptr, ptr}},
      {"session_set_variable", int32, {ptr, ptr, ptr, ptr}},
      {"session_memory", int32, {ptr, int32, ptr}},
      {"session_memory_report", int64, {ptr, int32, ptr, int64}},
      {"session_threads", int32, {ptr}},
      {"session_save", int32, {ptr, ptr, ptr, ptr}},
      {"session_save_async", int32, {ptr, ptr, ptr, ptr, ptr, ptr}},
      {"session_restore", int32, {ptr, ptr, ptr, ptr}},
      {"latest_checkpoint", int32, {ptr, ptr, int64, ptr}},
      {"session_run_async", int32, {ptr, int32, ptr, int32, ptr, int32, ptr, ptr, ptr, ptr}},
      {"session_program", ptr, {ptr}},
      {"session_find_entry", int32, {ptr, ptr}},
      {"session_trim", none, {ptr}},
      {"cancellation_create", ptr, {}},
      {"cancellation_destroy", none, {ptr}},
      {"cancellation_cancel", none, {ptr}},
      {"cancellation_reset", none, {ptr}},
      {"cancellation_is_cancelled", int32, {ptr}},
      {"program_name", ptr, {ptr}},
      {"program_compiler", ptr, {ptr}},
      {"program_entry_count", int32, {ptr}},
      {"program_entry_name", ptr, {ptr, int32}},
      {"program_feed_count", int32, {ptr, int32}},
      {"program_fetch_count", int32, {ptr, int32}},
      {"program_feed", int32, {ptr, int32, int32, ptr}},
      {"program_fetch", int32, {ptr, int32, int32, ptr}},
      {"program_variable_count", int32, {ptr}},
      {"program_variable", int32, {ptr, int32, ptr}},
      {"program_device_count", int32, {ptr}},
      {"program_device_name", ptr, {ptr, int32}},
      {"program_arena_bytes", int64, {ptr, int32}},
      {"dtype_size", int64, {int32}},
      {"dtype_name", ptr, {int32}},
      {"code_name", ptr, {int32}},
      {"runtime_version", ptr, {}},
      {"custom_alloc", ptr, {ptr, int64}},
      {"custom_error", int32, {ptr, int32, ptr}},
  };
  llvm::SmallVector<llvm::Constant *> fields = {b.getInt32(sizeof(weir_plugin)),
                                                b.getInt32(WEIR_ABI_VERSION), descriptor};
  for (const Row &row : rows)
    fields.push_back(llvm::cast<llvm::Constant>(
        runtime(std::string("weir_") + row.name, row.result, row.arguments).getCallee()));
  llvm::Constant *value = llvm::ConstantStruct::getAnon(module.getContext(), fields);
  assert(module.getDataLayout().getTypeAllocSize(value->getType()) == sizeof(weir_plugin) &&
         "the rows are the fields of the C structure");
  table = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                   llvm::GlobalValue::ExternalLinkage, value, WEIR_PLUGIN_SYMBOL);
  llvm::GlobalValue::SanitizerMetadata metadata;
  metadata.NoAddress = true;
  table->setSanitizerMetadata(metadata);
}

void weir::emitApiFunctions(const Program &program, bool isShared, llvm::GlobalVariable *descriptor,
                            llvm::Module &module) {
  FunctionBuilder builder(program, descriptor, module);
  if (isShared)
    builder.buildTable();
  for (const ApiFunction &api : apiFunctions(program, isShared))
    builder.build(api);
}

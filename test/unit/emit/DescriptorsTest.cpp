//===- DescriptorsTest.cpp - what an object describes ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Descriptors.h"
#include "compiler/emit/ApiFunctions.h"
#include "test/unit/emit/TestProgram.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>
#include <set>

using namespace weir;

namespace {

std::unique_ptr<llvm::Module> parse(llvm::LLVMContext &context, const char *text) {
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  return module;
}

TEST(Descriptors, ShowOnlyTheModelsOwnNames) {
  llvm::LLVMContext context;
  auto module = parse(context, test::stepsText());
  EXPECT_EQ(llvm::toString(emitDescriptors(test::makeProgram(), {}, *module)), "");
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::set<std::string> visible;
  for (llvm::GlobalValue &value : module->global_values())
    if (!value.isDeclaration() && !value.hasLocalLinkage())
      visible.insert(value.getName().str());
  EXPECT_EQ(visible,
            (std::set<std::string>{"net_program", "net_create", "net_destroy", "net_release",
                                   "net_run", "net_serving_default", "net_train_step"}));
  EXPECT_FALSE(module->getNamedGlobal("llvm.global_ctors"));
}

TEST(Descriptors, AStepWithoutCodeIsAnError) {
  llvm::LLVMContext context;
  auto module = parse(context, "define i32 @step_main(ptr %c) { ret i32 0 }");
  std::string error = llvm::toString(emitDescriptors(test::makeProgram(), {}, *module));
  EXPECT_NE(error.find("step_train"), std::string::npos) << error;
}

TEST(Descriptors, TheSharedObjectsTable) {
  llvm::LLVMContext context;
  auto module = parse(context, test::stepsText());
  DescriptorOptions options;
  options.plugin = true;
  EXPECT_EQ(llvm::toString(emitDescriptors(test::makeProgram(), options, *module)), "");
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  llvm::GlobalVariable *table = module->getNamedGlobal("weir_plugin");
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->hasExternalLinkage());
  EXPECT_TRUE(module->getFunction("net_functions"));
  for (const char *name : {"weir_session_run_async", "weir_cancellation_create",
                           "weir_program_entry_count", "weir_session_restore"})
    EXPECT_TRUE(module->getFunction(name)) << name;
}

TEST(Descriptors, FunctionsRefuseSessionsOfOtherPrograms) {
  llvm::LLVMContext context;
  auto module = parse(context, test::stepsText());
  ASSERT_EQ(llvm::toString(emitDescriptors(test::makeProgram(), {}, *module)), "");
  llvm::Function *check = module->getFunction("weir_rt_check_session");
  ASSERT_TRUE(check);
  std::set<std::string> callers;
  for (llvm::User *user : check->users())
    callers.insert(llvm::cast<llvm::Instruction>(user)->getFunction()->getName().str());
  EXPECT_EQ(callers, (std::set<std::string>{"net_run", "net_serving_default", "net_train_step"}));
}

TEST(Descriptors, FunctionsHaveUniqueNames) {
  Program program = test::makeProgram();
  program.entries[1].name = "create"; // net_create is taken
  program.slots.emplace_back();
  std::set<std::string> names;
  for (const ApiFunction &api : apiFunctions(program, /*isShared=*/true))
    EXPECT_TRUE(names.insert(api.symbol).second) << api.symbol;
  EXPECT_TRUE(names.count("net_create_2"));
  EXPECT_TRUE(names.count("net_reset"));
  EXPECT_TRUE(names.count("net_get_variable"));
  EXPECT_TRUE(names.count("net_save"));
  // Other objects would link checkpoints whether they are used or not.
  for (const ApiFunction &api : apiFunctions(program, /*isShared=*/false))
    EXPECT_NE(api.symbol, "net_save");
}

TEST(Descriptors, IdentifiersOfC) {
  EXPECT_EQ(cIdentifier("resnet50-v1.5"), "resnet50_v1_5");
  EXPECT_EQ(cIdentifier("3d"), "_3d");
  EXPECT_EQ(cIdentifier("class"), "class_");
  EXPECT_EQ(cIdentifier(""), "_");
  EXPECT_EQ(cIdentifier("n\xc3\xa4me"), "n__me");
}

TEST(Descriptors, LargeConstantsGoWhereTheyDisturbNobody) {
  EXPECT_EQ(blobSectionName(100), ".rodata.weir");
  EXPECT_EQ(blobSectionName((int64_t(1) << 30) - 1), ".rodata.weir");
  EXPECT_EQ(blobSectionName(int64_t(1) << 30), ".lrodata.weir");
}

} // namespace

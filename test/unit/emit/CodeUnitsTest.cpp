//===- CodeUnitsTest.cpp - machine code by parts --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/CodeUnits.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace weir;

namespace {

// Two kernels that differ in nothing but their names, each with a helper and a
// table of its own; a third that adds something else.
constexpr char text[] = R"(
@t1 = internal constant [4 x i32] [i32 5, i32 6, i32 7, i32 8], align 64
@t2 = internal constant [4 x i32] [i32 5, i32 6, i32 7, i32 8], align 64
@shared = internal constant [2 x i64] [i64 11, i64 12]
declare i32 @outside(i32)
define internal i32 @one.body(i64 %i) alwaysinline nounwind {
  %p = getelementptr i32, ptr @t1, i64 %i
  %v = load i32, ptr %p
  ret i32 %v
}
define internal i32 @two.body(i64 %i) alwaysinline nounwind {
  %p = getelementptr i32, ptr @t2, i64 %i
  %v = load i32, ptr %p
  ret i32 %v
}
define internal i32 @one(i64 %i) nounwind {
  %v = call i32 @one.body(i64 %i)
  %w = call i32 @outside(i32 %v)
  ret i32 %w
}
define internal i32 @two(i64 %i) nounwind {
  %v = call i32 @two.body(i64 %i)
  %w = call i32 @outside(i32 %v)
  ret i32 %w
}
define internal i32 @three(i64 %i) nounwind {
  %p = getelementptr i64, ptr @shared, i64 %i
  %v = load i64, ptr %p
  %w = trunc i64 %v to i32
  ret i32 %w
}
define ptr @step(i64 %i) nounwind {
  %p = getelementptr i64, ptr @shared, i64 %i
  %a = call i32 @one(i64 %i)
  %b = call i32 @three(i64 %i)
  ret ptr @two
}
)";

class CodeUnits : public ::testing::Test {
protected:
  CodeUnits() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    llvm::sys::fs::createUniqueDirectory("weir-cache", folder);
    options.machine = [] {
      llvm::Triple triple("x86_64-unknown-linux-gnu");
      std::string error;
      return std::unique_ptr<llvm::TargetMachine>(
          llvm::TargetRegistry::lookupTarget(triple, error)
              ->createTargetMachine(triple, "x86-64", "", {}, llvm::Reloc::PIC_));
    };
    layout = options.machine()->createDataLayout().getStringRepresentation();
  }
  ~CodeUnits() override { llvm::sys::fs::remove_directories(folder); }

  std::vector<CodeUnit> split(const std::string &text = ::text) {
    llvm::LLVMContext context;
    llvm::SMDiagnostic diagnostic;
    auto module = llvm::parseAssemblyString(text, diagnostic, context);
    module->setTargetTriple(llvm::Triple("x86_64-unknown-linux-gnu"));
    module->setDataLayout(layout);
    std::vector<CodeUnit> units = splitKernels(*module, {"one", "two", "three"});
    units.insert(units.begin(), wholeUnit(*module));
    return units;
  }

  std::string compile(const std::string &text = ::text) {
    std::vector<CodeUnit> units = split(text);
    EXPECT_EQ(llvm::toString(compileUnits(units, options)), "");
    llvm::SmallVector<char, 0> object;
    EXPECT_EQ(llvm::toString(mergeUnits(units, object)), "");
    return std::string(object.begin(), object.end());
  }

  std::vector<std::string> files() {
    std::vector<std::string> found;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end && !code;
         it.increment(code))
      if (llvm::sys::path::filename(it->path()).starts_with("llvmcache-"))
        found.push_back(it->path());
    return found;
  }

  llvm::SmallString<128> folder;
  UnitOptions options;
  std::string layout;
};

TEST_F(CodeUnits, EqualKernelsAreOneUnit) {
  std::vector<CodeUnit> units = split();
  ASSERT_EQ(units.size(), 3u);
  EXPECT_TRUE(units[0].symbols.empty());
  EXPECT_EQ(units[1].symbols, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(units[2].symbols, (std::vector<std::string>{"three"}));
}

TEST_F(CodeUnits, ObjectHoldsWhatTheModuleHeld) {
  std::string bytes = compile();
  auto file = llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(bytes, "object"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  std::map<std::string, uint64_t> values;
  for (llvm::object::ELFSymbolRef symbol : file->symbols()) {
    std::string name = llvm::cantFail(symbol.getName()).str();
    uint32_t flags = llvm::cantFail(symbol.getFlags());
    if (name == "outside") {
      EXPECT_TRUE(flags & llvm::object::SymbolRef::SF_Undefined);
      continue;
    }
    EXPECT_FALSE(flags & llvm::object::SymbolRef::SF_Undefined) << name;
    if (name.empty())
      continue;
    EXPECT_EQ(bool(flags & llvm::object::SymbolRef::SF_Global), name == "step") << name;
    values[name] = llvm::cantFail(symbol.getValue());
  }
  ASSERT_TRUE(values.count("one") && values.count("two") && values.count("three") &&
              values.count("step"));
  EXPECT_EQ(values["one"], values["two"]);
  EXPECT_NE(values["one"], values["three"]);
  // Every reference finds its symbol, and every section its bytes once.
  int text = 0, relocations = 0;
  for (llvm::object::SectionRef section : file->sections()) {
    text += llvm::cantFail(section.getName()) == ".text";
    for (llvm::object::RelocationRef relocation : section.relocations()) {
      ++relocations;
      EXPECT_TRUE(relocation.getSymbol() != file->symbol_end());
    }
  }
  EXPECT_EQ(text, 1);
  // step: one, three, two; one: its table, outside; three: shared.
  EXPECT_EQ(relocations, 6);
}

TEST_F(CodeUnits, ThreadsChangeNothing) {
  std::string alone = compile();
  options.jobs = 3;
  EXPECT_EQ(compile(), alone);
}

TEST_F(CodeUnits, CacheGivesTheSameBytes) {
  std::string without = compile();
  CodeCache cache(std::string(folder), CodeCache::defaultLimit);
  options.cache = &cache;
  EXPECT_EQ(compile(), without);
  EXPECT_EQ(files().size(), 3u);
  // No code generator is asked for when all is there.
  auto machine = options.machine;
  int made = 0;
  options.machine = [&] {
    ++made;
    return machine();
  };
  std::vector<CodeUnit> units = split();
  EXPECT_EQ(llvm::toString(compileUnits(units, options)), "");
  EXPECT_EQ(made, 0);
  // Other flags are other code.
  options.flags = "-O1";
  units = split();
  EXPECT_EQ(llvm::toString(compileUnits(units, options)), "");
  EXPECT_EQ(made, 1);
  EXPECT_EQ(files().size(), 6u);
}

TEST_F(CodeUnits, DamagedFilesAreMadeAnew) {
  CodeCache cache(std::string(folder), CodeCache::defaultLimit);
  options.cache = &cache;
  std::string good = compile();
  std::vector<std::string> paths = files();
  ASSERT_EQ(paths.size(), 3u);
  std::ofstream(paths[0]) << "short";
  std::ofstream(paths[1], std::ios::app) << "more";
  {
    std::fstream file(paths[2]);
    file.seekp(100);
    file.put('\xff');
  }
  EXPECT_EQ(compile(), good);
}

TEST_F(CodeUnits, CacheKeepsItsLimit) {
  CodeCache cache(std::string(folder), 4096);
  std::vector<char> bytes(1000, 'x');
  for (int i = 0; i < 20; ++i)
    cache.store("key" + std::to_string(i), bytes);
  EXPECT_EQ(files().size(), 20u);
  cache.prune();
  EXPECT_LE(files().size(), 4u);
  EXPECT_GE(files().size(), 1u);
}

TEST_F(CodeUnits, FolderThatCannotBeMadeIsNoError) {
  CodeCache cache("/dev/null/weir", CodeCache::defaultLimit);
  options.cache = &cache;
  EXPECT_FALSE(compile().empty());
}

/// Steps that launch a kernel `count` times, in a loop or not; every launch asks for a sum that
/// registers hold, and then for its own place.
std::string launches(int count, bool inLoop) {
  std::string steps = std::string(::text) + "declare i32 @launch(ptr, i64)\n" +
                      "define i32 @steps(ptr %a, i64 %n) nounwind {\nentry:\n  br label %turn\n" +
                      "turn:\n  %i = phi i64 [ 0, %entry ], [ %next, %turn ]\n";
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    steps += "  %p" + n + " = getelementptr i8, ptr %a, i64 " + std::to_string(8 * i) + "\n  %r" +
             n + " = call i32 @launch(ptr %p" + n + ", i64 %n)\n";
  }
  return steps + "  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %n\n  br i1 " +
         (inLoop ? "%more" : "false") + ", label %turn, label %end\nend:\n  ret i32 0\n}\n";
}

/// Bytes of code of a function.
uint64_t codeOf(const std::string &object, llvm::StringRef name) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef({object.data(), object.size()}, "m.o"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  for (const llvm::object::ELFSymbolRef symbol : (*file)->symbols())
    if (llvm::Expected<llvm::StringRef> known = symbol.getName(); known && *known == name)
      return symbol.getSize();
  return 0;
}

TEST_F(CodeUnits, LongStepsThatRunOnceAreCompiledQuickly) {
  // What is computed in front of a launch is kept over all others, or, where a loop makes that
  // worthwhile, in registers.
  uint64_t once = codeOf(compile(launches(400, false)), "steps");
  uint64_t often = codeOf(compile(launches(400, true)), "steps");
  EXPECT_GT(once, 400u * 12);
  EXPECT_GT(once, often + 400 * 2);
  // Short ones are compiled as they always are.
  uint64_t few = codeOf(compile(launches(100, false)), "steps");
  EXPECT_LE(few, codeOf(compile(launches(100, true)), "steps") + 16);
}

} // namespace

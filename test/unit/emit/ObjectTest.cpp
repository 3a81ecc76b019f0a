//===- ObjectTest.cpp - constants inside of an object ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Descriptors.h"
#include "compiler/emit/ElfObject.h"
#include "compiler/emit/ElfSections.h"
#include "compiler/emit/Fingerprint.h"
#include "compiler/emit/MachineCode.h"
#include "compiler/emit/SharedObject.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/WinogradFilter.h"
#include "test/unit/emit/TestProgram.h"
#include "weir/abi.h"

#include "mlir/IR/Builders.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <gtest/gtest.h>
#include <set>

using namespace weir;

namespace {

class Object : public ::testing::Test {
protected:
  Object() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    context.loadDialect<WeirDialect>();
    mlir::Builder b(&context);
    program = test::makeProgram();
    auto type = mlir::RankedTensorType::get({100}, b.getI8Type());
    program.blobs = {{BlobAttr::get(type, "file", 0, 100, "h"), 0, 100},
                     {mlir::DenseElementsAttr::get(type, int8_t(9)), 128, 100}};
    program.blobBytes = 228;
  }

  /// What LLVM writes: one byte stands for the constants.
  llvm::SmallVector<char, 0> emit(const DescriptorOptions &options = {}) {
    llvm::Triple triple("x86_64-unknown-linux-gnu");
    std::string error;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
    std::unique_ptr<llvm::TargetMachine> machine(
        target->createTargetMachine(triple, "x86-64", "", {}, llvm::Reloc::PIC_));
    llvm::LLVMContext llvmContext;
    llvm::SMDiagnostic diagnostic;
    auto module = llvm::parseAssemblyString(test::stepsText(), diagnostic, llvmContext);
    module->setTargetTriple(triple);
    module->setDataLayout(machine->createDataLayout());
    fingerprint(*module, "flags", program);
    EXPECT_EQ(llvm::toString(emitDescriptors(program, options, *module)), "");
    optimize(*module, *machine, 3, false);
    llvm::SmallVector<char, 0> bytes;
    EXPECT_EQ(llvm::toString(
                  generateMachineCode(*module, *machine, llvm::CodeGenFileType::ObjectFile, bytes)),
              "");
    return bytes;
  }

  static llvm::Expected<llvm::ArrayRef<char>> resolve(BlobAttr) {
    static const std::string file(100, 'f');
    return llvm::ArrayRef<char>(file.data(), file.size());
  }

  std::string expectedConstants() {
    return std::string(100, 'f') + std::string(28, '\0') + std::string(100, '\x09');
  }

  mlir::MLIRContext context;
  Program program;
};

/// The section of that name in an object.
llvm::object::ELFSectionRef section(const llvm::object::ELF64LEObjectFile &file,
                                    llvm::StringRef name) {
  for (llvm::object::SectionRef candidate : file.sections())
    if (llvm::cantFail(candidate.getName()) == name)
      return candidate;
  ADD_FAILURE() << "no section " << name.str();
  return *file.section_begin();
}

TEST_F(Object, IsKnownByWhatConstantsAreMadeOf) {
  mlir::Builder b(&context);
  llvm::LLVMContext llvmContext;
  llvm::Module module("m", llvmContext);
  std::set<std::pair<uint64_t, uint64_t>> hashes;
  auto add = [&](mlir::Attribute value) {
    program.blobs = {{value, 0, 100}};
    fingerprint(module, "flags", program);
    hashes.insert({program.hash[0], program.hash[1]});
  };
  auto blob = [&](mlir::Type element) {
    auto type = mlir::RankedTensorType::get({3, 3, 4, 36}, element);
    return BlobAttr::get(type, "file", 0, 100, "h");
  };
  mlir::TypedAttr filters[] = {blob(b.getF32Type()), widenedConstant(blob(b.getF16Type())),
                               widenedConstant(blob(b.getBF16Type()))};
  for (mlir::TypedAttr filter : filters) {
    add(filter);
    add(winogradConstant(filter, 2, 16, false));
    add(winogradConstant(filter, 4, 16, false));
    add(winogradConstant(filter, 4, 32, false));
    add(winogradConstant(filter, 4, 32, true));
  }
  EXPECT_EQ(hashes.size(), 15u);
}

TEST_F(Object, HoldsItsConstants) {
  llvm::SmallVector<char, 0> bytes = emit();
  ASSERT_EQ(llvm::toString(insertBlobs(program, resolve, bytes)), "");
  auto file = llvm::cantFail(llvm::object::ELF64LEObjectFile::create(
      llvm::MemoryBufferRef({bytes.data(), bytes.size()}, "o")));
  llvm::object::ELFSectionRef constants = section(file, ".rodata.weir");
  EXPECT_EQ(llvm::cantFail(constants.getContents()).str(), expectedConstants());
  EXPECT_EQ(constants.getAlignment().value(), 64u);
  EXPECT_EQ(constants.getFlags(), uint64_t(llvm::ELF::SHF_ALLOC));
  // The descriptor points to the section's begin.
  unsigned references = 0;
  for (llvm::object::SectionRef other : file.sections())
    for (llvm::object::RelocationRef relocation : other.relocations())
      if (relocation.getSymbol() != file.symbol_end()) {
        auto home = llvm::cantFail(relocation.getSymbol()->getSection());
        if (home != file.section_end() && home->getIndex() == constants.getIndex()) {
          ++references;
          EXPECT_EQ(llvm::cantFail(llvm::object::ELFRelocationRef(relocation).getAddend()), 0);
        }
      }
  EXPECT_EQ(references, 1u);
}

TEST_F(Object, InAFileAndInMemoryTheSame) {
  llvm::SmallVector<char, 0> inMemory = emit(), code = inMemory;
  ASSERT_EQ(llvm::toString(insertBlobs(program, resolve, inMemory)), "");
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("weir", "o", path));
  OutputFile file = llvm::cantFail(OutputFile::create(path));
  ASSERT_EQ(llvm::toString(writeObjectBlobs(program, resolve, file)), "");
  ASSERT_EQ(llvm::toString(writeObject(program, code, file)), "");
  ASSERT_EQ(llvm::toString(file.commit()), "");
  auto read = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(read));
  EXPECT_TRUE((*read)->getBuffer() == llvm::StringRef(inMemory.data(), inMemory.size()));
  llvm::sys::fs::remove(path);
}

TEST_F(Object, PagesForLargeConstants) {
  mlir::Builder b(&context);
  auto type = mlir::RankedTensorType::get({5000}, b.getI8Type());
  program.blobs = {{mlir::DenseElementsAttr::get(type, int8_t(1)), 0, 5000}};
  program.blobBytes = 5000;
  llvm::SmallVector<char, 0> bytes = emit();
  EXPECT_EQ(blobsBegin(program), 4096);
  ASSERT_EQ(llvm::toString(insertBlobs(program, resolve, bytes)), "");
  auto file = llvm::cantFail(llvm::object::ELF64LEObjectFile::create(
      llvm::MemoryBufferRef({bytes.data(), bytes.size()}, "o")));
  EXPECT_EQ(llvm::cantFail(section(file, ".rodata.weir").getContents()).str(),
            std::string(5000, 1));
  // What lies behind the constants is as aligned as it was.
  for (llvm::object::SectionRef other : file.sections())
    if (other.getSize())
      EXPECT_EQ(uint64_t(llvm::cantFail(other.getContents()).data() - bytes.data()) %
                    other.getAlignment().value(),
                0u);
}

TEST_F(Object, ForALinkerTheSectionHasNoBytes) {
  program.blobs.clear();
  program.blobBytes = int64_t(16) << 20;
  ASSERT_TRUE(isLinkedWithoutBlobs(program));
  llvm::SmallVector<char, 0> bytes = emit();
  const size_t size = bytes.size();
  ASSERT_EQ(llvm::toString(leaveBlobsOut(program, bytes)), "");
  EXPECT_EQ(bytes.size(), size);
  ElfSections elf = llvm::cantFail(ElfSections::create(bytes));
  ElfSections::Section *blobs = llvm::cantFail(elf.find(".weir.rodata"));
  EXPECT_EQ(blobs->sh_type, uint64_t(llvm::ELF::SHT_NOBITS));
  EXPECT_EQ(blobs->sh_size, uint64_t(program.blobBytes));
  EXPECT_EQ(llvm::toString(elf.find(".rodata.weir").takeError()),
            "the object has no section .rodata.weir");
  // ".rela.text" ends with ".text": what is called so cannot be called something else.
  ElfSections::Section *text = llvm::cantFail(elf.find(".text"));
  EXPECT_EQ(llvm::toString(elf.rename(*text, ".tixt")),
            "a section of the object cannot be called .tixt");
  EXPECT_EQ(llvm::toString(elf.rename(*blobs, ".weir")),
            "a section of the object cannot be called .weir");
  program.blobBytes = 5000;
  EXPECT_FALSE(isLinkedWithoutBlobs(program));
}

TEST_F(Object, BeyondAGigabyteTheSectionIsLarge) {
  program.blobs.clear();
  program.blobBytes = int64_t(3) << 30;
  llvm::SmallVector<char, 0> bytes = emit();
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("weir", "o", path));
  OutputFile file = llvm::cantFail(OutputFile::create(path));
  ASSERT_EQ(llvm::toString(writeObject(program, bytes, file)), "");
  ASSERT_EQ(llvm::toString(file.commit()), "");
  // The three gigabytes, which nobody wrote, take no space.
  auto read = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  llvm::sys::fs::remove(path);
  ASSERT_TRUE(bool(read));
  using File = llvm::object::ELFFile<llvm::object::ELF64LE>;
  File object = llvm::cantFail(File::create((*read)->getBuffer()));
  for (const File::Elf_Shdr &header : llvm::cantFail(object.sections()))
    if (llvm::cantFail(object.getSectionName(header)) == ".lrodata.weir") {
      EXPECT_EQ(header.sh_flags, uint64_t(llvm::ELF::SHF_ALLOC | llvm::ELF::SHF_X86_64_LARGE));
      EXPECT_EQ(header.sh_size, uint64_t(program.blobBytes));
      return;
    }
  FAIL() << "no section .lrodata.weir";
}

TEST_F(Object, WeightsBesideIt) {
  DescriptorOptions options;
  options.weightsFile = "net.weights";
  llvm::SmallVector<char, 0> bytes = emit(options);
  auto object = llvm::cantFail(llvm::object::ELF64LEObjectFile::create(
      llvm::MemoryBufferRef({bytes.data(), bytes.size()}, "o")));
  for (llvm::object::SectionRef other : object.sections())
    EXPECT_NE(llvm::cantFail(other.getName()), ".rodata.weir");

  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("weir", "weights", path));
  OutputFile file = llvm::cantFail(OutputFile::create(path));
  ASSERT_EQ(llvm::toString(writeWeights(program, resolve, file)), "");
  ASSERT_EQ(llvm::toString(file.commit()), "");
  auto read = llvm::MemoryBuffer::getFile(path);
  llvm::StringRef text = (*read)->getBuffer();
  ASSERT_EQ(text.size(), 256 + sizeof(weir_weights_trailer));
  EXPECT_EQ(text.take_front(228).str(), expectedConstants());
  weir_weights_trailer trailer;
  memcpy(&trailer, text.data() + 256, sizeof(trailer));
  EXPECT_EQ(std::string(trailer.magic, 8), WEIR_WEIGHTS_MAGIC);
  EXPECT_EQ(trailer.blob_bytes, 228);
  EXPECT_EQ(trailer.hash[0], program.hash[0]);
  EXPECT_EQ(trailer.hash[1], program.hash[1]);
  llvm::sys::fs::remove(path);
}

TEST_F(Object, TheHashTellsProgramsApart) {
  auto hash = [&] {
    emit();
    return std::pair(program.hash[0], program.hash[1]);
  };
  auto first = hash();
  EXPECT_EQ(hash(), first);
  mlir::Builder b(&context);
  auto type = mlir::RankedTensorType::get({100}, b.getI8Type());
  program.blobs[0].value = BlobAttr::get(type, "file", 0, 100, "other");
  EXPECT_NE(hash(), first);
}

} // namespace

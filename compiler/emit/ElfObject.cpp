//===- ElfObject.cpp - puts constants into an object file -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/ElfObject.h"

#include "compiler/emit/Descriptors.h"
#include "weir/abi.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace weir;
using llvm::object::ELF64LE;

/// Small constants stay dense; large ones start on a page, so that a program
/// maps them without sharing a page with anything else.
static constexpr int64_t pageBytes = 4096;
static constexpr int64_t lineBytes = 64;

llvm::Expected<int64_t> weir::reserveBlobs(const Program &program,
                                           llvm::MutableArrayRef<char> object) {
  if (program.blobBytes == 0)
    return 0;
  using File = llvm::object::ELFFile<ELF64LE>;
  llvm::Expected<File> file = File::create(llvm::StringRef(object.data(), object.size()));
  if (!file)
    return file.takeError();
  llvm::Expected<File::Elf_Shdr_Range> sections = file->sections();
  if (!sections)
    return sections.takeError();

  llvm::StringRef wanted = blobSectionName(program.blobBytes);
  const File::Elf_Shdr *found = nullptr;
  for (const File::Elf_Shdr &section : *sections) {
    llvm::Expected<llvm::StringRef> name = file->getSectionName(section);
    if (!name)
      return name.takeError();
    if (*name == wanted)
      found = &section;
  }
  if (!found)
    return llvm::createStringError("the object has no section " + wanted);

  int64_t align = program.blobBytes >= pageBytes ? pageBytes : lineBytes;
  int64_t begin = llvm::alignTo(object.size(), align);
  // The header lies in `object`, which is ours to change.
  auto *header = reinterpret_cast<File::Elf_Shdr *>(
      object.data() + (reinterpret_cast<const char *>(found) - object.data()));
  header->sh_offset = begin;
  header->sh_size = program.blobBytes;
  header->sh_addralign = align;
  header->sh_flags =
      llvm::ELF::SHF_ALLOC |
      (wanted.starts_with(".l") && file->getHeader().e_machine == llvm::ELF::EM_X86_64
           ? llvm::ELF::SHF_X86_64_LARGE
           : 0);
  return begin;
}

llvm::Error weir::appendBlobs(const Program &program, BlobResolver resolve,
                              llvm::SmallVectorImpl<char> &object) {
  llvm::Expected<int64_t> begin = reserveBlobs(program, object);
  if (!begin)
    return begin.takeError();
  if (*begin == 0)
    return llvm::Error::success();
  object.resize(*begin + program.blobBytes); // zeros
  return writeBlobs(program, resolve, [&](int64_t offset, llvm::ArrayRef<char> bytes) {
    std::memcpy(object.data() + *begin + offset, bytes.data(), bytes.size());
    return llvm::Error::success();
  });
}

llvm::Error weir::writeObject(const Program &program, BlobResolver resolve,
                              llvm::MutableArrayRef<char> object, OutputFile &file) {
  llvm::Expected<int64_t> begin = reserveBlobs(program, object);
  if (!begin)
    return begin.takeError();
  if (llvm::Error error = file.write(object))
    return error;
  if (*begin == 0)
    return llvm::Error::success();
  if (llvm::Error error = file.resize(*begin + program.blobBytes))
    return error;
  return writeBlobs(program, resolve, [&](int64_t offset, llvm::ArrayRef<char> bytes) {
    return file.writeAt(*begin + offset, bytes);
  });
}

llvm::Error weir::writeWeights(const Program &program, BlobResolver resolve, OutputFile &file) {
  weir_weights_trailer trailer;
  std::memset(&trailer, 0, sizeof(trailer));
  std::memcpy(trailer.magic, WEIR_WEIGHTS_MAGIC, sizeof(trailer.magic));
  trailer.hash[0] = program.hash[0];
  trailer.hash[1] = program.hash[1];
  trailer.blob_bytes = program.blobBytes;
  if (llvm::Error error = file.resize(llvm::alignTo(program.blobBytes, lineBytes)))
    return error;
  if (llvm::Error error = file.write({reinterpret_cast<const char *>(&trailer), sizeof(trailer)}))
    return error;
  return writeBlobs(program, resolve, [&](int64_t offset, llvm::ArrayRef<char> bytes) {
    return file.writeAt(offset, bytes);
  });
}

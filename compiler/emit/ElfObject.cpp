//===- ElfObject.cpp - puts constants into an object file -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/ElfObject.h"

#include "compiler/emit/Descriptors.h"
#include "compiler/emit/ElfSections.h"
#include "weir/abi.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace weir;

/// Small constants stay dense; large ones start on a page, so that a program
/// maps them without sharing a page with anything else.
static constexpr int64_t pageBytes = 4096;
static constexpr int64_t lineBytes = 64;

static constexpr int64_t headerBytes = sizeof(ElfSections::Header);

static int64_t alignmentOf(const Program &program) {
  return program.blobBytes >= pageBytes ? pageBytes : lineBytes;
}

int64_t weir::blobsBegin(const Program &program) {
  return program.blobBytes == 0 ? 0 : llvm::alignTo(headerBytes, alignmentOf(program));
}

/// Makes room for the constants behind the ELF header: changes headers, and returns by how much all
/// that follows is to be moved.
static llvm::Expected<int64_t> reserveBlobs(const Program &program,
                                            llvm::MutableArrayRef<char> object) {
  if (program.blobBytes == 0)
    return 0;
  llvm::Expected<ElfSections> elf = ElfSections::create(object);
  if (!elf)
    return elf.takeError();
  llvm::StringRef wanted = blobSectionName(program.blobBytes);
  llvm::Expected<ElfSections::Section *> found = elf->find(wanted);
  if (!found)
    return found.takeError();

  const int64_t begin = blobsBegin(program), align = alignmentOf(program);
  const int64_t shift = llvm::alignTo(begin + program.blobBytes, align);
  const bool isX86 = elf->header().e_machine == llvm::ELF::EM_X86_64;
  for (ElfSections::Section &section : elf->sections())
    if (section.sh_offset != 0)
      section.sh_offset = section.sh_offset + shift;
  elf->header().e_shoff = elf->header().e_shoff + shift;
  ElfSections::Section *header = *found;
  header->sh_offset = begin;
  header->sh_size = program.blobBytes;
  header->sh_addralign = align;
  header->sh_flags =
      llvm::ELF::SHF_ALLOC | (wanted.starts_with(".l") && isX86 ? llvm::ELF::SHF_X86_64_LARGE : 0);
  return shift;
}

llvm::Error weir::insertBlobs(const Program &program, BlobResolver resolve,
                              llvm::SmallVectorImpl<char> &object) {
  llvm::Expected<int64_t> shift = reserveBlobs(program, object);
  if (!shift)
    return shift.takeError();
  if (*shift == 0)
    return llvm::Error::success();
  object.insert(object.begin() + headerBytes, size_t(*shift), 0);
  return writeBlobs(program, resolve, [&](int64_t offset, llvm::ArrayRef<char> bytes) {
    std::memcpy(object.data() + blobsBegin(program) + offset, bytes.data(), bytes.size());
    return llvm::Error::success();
  });
}

llvm::Error weir::writeBlobsAt(int64_t begin, const Program &program, BlobResolver resolve,
                               OutputFile &file) {
  return writeBlobs(program, resolve, [&](int64_t offset, llvm::ArrayRef<char> bytes) {
    return file.writeAt(begin + offset, bytes);
  });
}

llvm::Error weir::writeObjectBlobs(const Program &program, BlobResolver resolve, OutputFile &file) {
  return writeBlobsAt(blobsBegin(program), program, resolve, file);
}

llvm::Error weir::writeObject(const Program &program, llvm::MutableArrayRef<char> object,
                              OutputFile &file) {
  llvm::Expected<int64_t> shift = reserveBlobs(program, object);
  if (!shift)
    return shift.takeError();
  if (*shift == 0)
    return file.write(object);
  if (llvm::Error error = file.writeAt(0, object.take_front(headerBytes)))
    return error;
  return file.writeAt(headerBytes + *shift, object.drop_front(headerBytes));
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
  return writeBlobsAt(0, program, resolve, file);
}

//===- SharedObject.cpp - puts constants into a shared object -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/SharedObject.h"

#include "compiler/emit/Descriptors.h"
#include "compiler/emit/ElfObject.h"
#include "compiler/emit/ElfSections.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace weir;

/// Constants are aligned to so much that the file's headers, relocations and strings, which lie in
/// front of them, nearly always end before it: then it is where they begin.
static constexpr int64_t blobAlignment = int64_t(1) << 18;
/// What that may cost of a file is a sixty-fourth of it, which nothing is written to.
static constexpr int64_t fewestBytes = 64 * blobAlignment;

/// Linkers join what is called .rodata.
static llvm::StringRef linkedSectionName(const Program &program) {
  return blobSectionName(program.blobBytes).starts_with(".l") ? ".weir.lrodata" : ".weir.rodata";
}

bool weir::isLinkedWithoutBlobs(const Program &program) { return program.blobBytes >= fewestBytes; }

llvm::Error weir::writeSharedBlobs(const Program &program, BlobResolver resolve, OutputFile &file) {
  return writeBlobsAt(blobAlignment, program, resolve, file);
}

llvm::Error weir::leaveBlobsOut(const Program &program, llvm::MutableArrayRef<char> object) {
  llvm::Expected<ElfSections> elf = ElfSections::create(object);
  if (!elf)
    return elf.takeError();
  llvm::Expected<ElfSections::Section *> blobs = elf->find(blobSectionName(program.blobBytes));
  if (!blobs)
    return blobs.takeError();
  (*blobs)->sh_type = llvm::ELF::SHT_NOBITS;
  (*blobs)->sh_flags = llvm::ELF::SHF_ALLOC;
  (*blobs)->sh_size = program.blobBytes;
  (*blobs)->sh_addralign = blobAlignment;
  return elf->rename(**blobs, linkedSectionName(program));
}

namespace {

/// Where a shared object's file has room for the constants.
struct Place {
  int64_t begin;     ///< of the constants
  int64_t followers; ///< begin of what lies behind them
  int64_t shift;     ///< by which that moves
};

} // namespace

/// Changes the headers for the constants: the segment that ends with them has bytes up to its end.
static llvm::Expected<Place> makeRoom(const Program &program, llvm::MutableArrayRef<char> linked) {
  llvm::Expected<ElfSections> elf = ElfSections::create(linked);
  if (!elf)
    return elf.takeError();
  llvm::Expected<ElfSections::Section *> blobs = elf->find(linkedSectionName(program));
  if (!blobs)
    return blobs.takeError();
  const uint64_t address = (*blobs)->sh_addr, end = address + program.blobBytes;
  ElfSections::Segment *holder = nullptr;
  uint64_t align = 1;
  for (ElfSections::Segment &segment : elf->segments()) {
    align = std::max<uint64_t>(align, segment.p_type == llvm::ELF::PT_LOAD ? segment.p_align : 1);
    if (segment.p_type == llvm::ELF::PT_LOAD && segment.p_vaddr <= address &&
        segment.p_vaddr + segment.p_filesz <= address && segment.p_vaddr + segment.p_memsz == end)
      holder = &segment;
  }
  if ((*blobs)->sh_type != llvm::ELF::SHT_NOBITS || !holder)
    return llvm::createStringError("the linker has put the constants before something else");

  Place place;
  place.begin = holder->p_offset + (address - holder->p_vaddr);
  place.followers = holder->p_offset + holder->p_filesz;
  place.shift = llvm::alignTo(place.begin + program.blobBytes - place.followers, align);
  for (ElfSections::Section &section : elf->sections())
    if (section.sh_offset >= place.followers)
      section.sh_offset = section.sh_offset + place.shift;
  for (ElfSections::Segment &segment : elf->segments())
    if (segment.p_offset >= place.followers)
      segment.p_offset = segment.p_offset + place.shift;
  elf->header().e_shoff = elf->header().e_shoff + place.shift;
  (*blobs)->sh_type = llvm::ELF::SHT_PROGBITS;
  (*blobs)->sh_offset = place.begin;
  holder->p_filesz = holder->p_memsz;
  return place;
}

llvm::Error weir::writeSharedObject(const Program &program, BlobResolver resolve,
                                    llvm::StringRef linked, OutputFile &file) {
  auto read = llvm::MemoryBuffer::getFile(linked, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!read)
    return llvm::createStringError(read.getError(), "cannot read " + linked);
  llvm::StringRef text = (*read)->getBuffer();
  std::vector<char> bytes(text.begin(), text.end());
  llvm::Expected<Place> place = makeRoom(program, bytes);
  if (!place)
    return place.takeError();
  if (place->begin != blobAlignment) {
    if (llvm::Error error = file.resize(0))
      return error;
    if (llvm::Error error = writeBlobsAt(place->begin, program, resolve, file))
      return error;
  }
  llvm::ArrayRef<char> all = bytes;
  if (llvm::Error error = file.writeAt(0, all.take_front(place->followers)))
    return error;
  if (llvm::Error error =
          file.writeAt(place->followers + place->shift, all.drop_front(place->followers)))
    return error;
  // As linkers leave it: to be executed, too.
  llvm::ErrorOr<llvm::sys::fs::perms> rights = llvm::sys::fs::getPermissions(linked);
  std::error_code code =
      rights ? llvm::sys::fs::setPermissions(file.temporaryPath(), *rights) : rights.getError();
  if (code)
    return llvm::createStringError(code, "cannot change the rights of " + file.path());
  return llvm::Error::success();
}

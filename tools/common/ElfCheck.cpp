//===- ElfCheck.cpp - whether an ELF file is whole ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/ElfCheck.h"

#include <cstring>
#include <elf.h>

using namespace weir::tools;

std::string weir::tools::faultOfSharedObject(std::string_view bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return "is no ELF file";
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN)
    return "is no shared object of 64 bits";
  auto isInside = [&](uint64_t offset, uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  };
  std::string cut = "is cut short: its headers name more than its " + std::to_string(bytes.size()) +
                    " bytes; copy or compile it anew";
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !isInside(header.e_phoff, uint64_t(header.e_phnum) * sizeof(Elf64_Phdr)))
    return cut;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type == PT_LOAD && !isInside(segment.p_offset, segment.p_filesz))
      return cut;
  }
  return "";
}

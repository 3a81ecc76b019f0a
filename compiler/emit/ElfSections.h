//===- ElfSections.h - headers of an object, to be changed ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_ELFSECTIONS_H
#define WEIR_COMPILER_EMIT_ELFSECTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Error.h"

namespace weir {

/// A file of ELF64, little-endian, in memory that is ours to change.
class ElfSections {
public:
  using File = llvm::object::ELFFile<llvm::object::ELF64LE>;
  using Header = File::Elf_Ehdr;
  using Section = File::Elf_Shdr;
  using Segment = File::Elf_Phdr;

  static llvm::Expected<ElfSections> create(llvm::MutableArrayRef<char> bytes);

  Header &header() { return *reinterpret_cast<Header *>(bytes.data()); }
  llvm::MutableArrayRef<Section> sections() { return allSections; }
  llvm::MutableArrayRef<Segment> segments() { return allSegments; }
  /// The section of that name, of which there is one.
  llvm::Expected<Section *> find(llvm::StringRef name);
  /// Gives a section another name, as long as its own, which no other section has a part in.
  llvm::Error rename(const Section &section, llvm::StringRef name);

private:
  explicit ElfSections(llvm::MutableArrayRef<char> bytes) : bytes(bytes) {}
  llvm::Error read();

  llvm::MutableArrayRef<char> bytes;
  llvm::MutableArrayRef<Section> allSections;
  llvm::MutableArrayRef<Segment> allSegments;
  llvm::StringRef names;
};

} // namespace weir

#endif // WEIR_COMPILER_EMIT_ELFSECTIONS_H

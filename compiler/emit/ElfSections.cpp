//===- ElfSections.cpp - headers of an object, to be changed --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/ElfSections.h"

#include <cstring>

using namespace weir;

/// What is found in `bytes` lies in them.
template <typename T>
static llvm::MutableArrayRef<T> own(llvm::MutableArrayRef<char> bytes, llvm::ArrayRef<T> found) {
  if (found.empty())
    return {};
  ptrdiff_t offset = reinterpret_cast<const char *>(found.data()) - bytes.data();
  return {reinterpret_cast<T *>(bytes.data() + offset), found.size()};
}

llvm::Error ElfSections::read() {
  llvm::Expected<File> file = File::create(llvm::StringRef(bytes.data(), bytes.size()));
  if (!file)
    return file.takeError();
  llvm::Expected<File::Elf_Shdr_Range> sections = file->sections();
  if (!sections)
    return sections.takeError();
  llvm::Expected<File::Elf_Phdr_Range> segments = file->program_headers();
  if (!segments)
    return segments.takeError();
  llvm::Expected<llvm::StringRef> table = file->getSectionStringTable(*sections);
  if (!table)
    return table.takeError();
  allSections = own<Section>(bytes, *sections);
  allSegments = own<Segment>(bytes, *segments);
  names = *table;
  return llvm::Error::success();
}

llvm::Expected<ElfSections> ElfSections::create(llvm::MutableArrayRef<char> bytes) {
  ElfSections sections(bytes);
  if (llvm::Error error = sections.read())
    return error;
  return sections;
}

llvm::Expected<ElfSections::Section *> ElfSections::find(llvm::StringRef name) {
  for (Section &section : allSections)
    if (section.sh_name < names.size() && llvm::StringRef(names.data() + section.sh_name) == name)
      return &section;
  return llvm::createStringError("the object has no section " + name);
}

llvm::Error ElfSections::rename(const Section &section, llvm::StringRef name) {
  size_t begin = section.sh_name, end = begin + name.size();
  bool isAlone = llvm::StringRef(names.data() + begin).size() == name.size();
  // Names may end with one another.
  for (const Section &other : allSections)
    isAlone &= &other == &section || other.sh_name > end ||
               other.sh_name + llvm::StringRef(names.data() + other.sh_name).size() < begin;
  if (!isAlone)
    return llvm::createStringError("a section of the object cannot be called " + name);
  std::memcpy(bytes.data() + (names.data() - bytes.data()) + begin, name.data(), name.size());
  return llvm::Error::success();
}

//===- MergeUnits.cpp - one object out of several -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a linker does for -r, as far as objects that LLVM writes for us need it
// (System V ABI, chapter 4): all relocations have explicit addends, so joining
// sections moves symbols and the addends that count from a section's begin, and
// nothing else.
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/CodeUnits.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace weir;
using llvm::object::ELF64LE;
namespace elf = llvm::ELF;

namespace {

using File = llvm::object::ELFFile<ELF64LE>;

/// A symbol of the object to be: locals come before all others.
struct SymbolRef {
  bool isLocal = true;
  unsigned index = 0;
};

struct Relocation {
  uint64_t offset;
  SymbolRef symbol;
  uint32_t type;
  int64_t addend;
};

struct Section {
  std::string name;
  uint32_t type;
  uint64_t flags, align = 1, size = 0;
  llvm::SmallVector<char, 0> bytes; ///< none for SHT_NOBITS
  std::vector<Relocation> relocations;
  SymbolRef symbol;
};

/// Where a unit's section went.
struct Place {
  int section = -1;
  uint64_t offset = 0;
};

class StringTable {
public:
  StringTable() { bytes.push_back('\0'); }
  uint32_t add(llvm::StringRef text) {
    if (text.empty())
      return 0;
    auto [it, isNew] = offsets.try_emplace(text, bytes.size());
    if (isNew) {
      bytes.append(text.begin(), text.end());
      bytes.push_back('\0');
    }
    return it->second;
  }
  llvm::SmallVector<char, 0> bytes;

private:
  llvm::StringMap<uint32_t> offsets;
};

class Merger {
public:
  llvm::Error add(const CodeUnit &unit);
  llvm::Error write(llvm::SmallVectorImpl<char> &object);

private:
  struct Input {
    const CodeUnit *unit;
    File file;
    std::vector<Place> places;      ///< by section
    std::vector<SymbolRef> symbols; ///< by symbol
    llvm::StringRef names;          ///< its symbol table's strings
    const File::Elf_Shdr *symbolTable = nullptr;
  };

  llvm::Error addSections(Input &input);
  llvm::Error addDefinitions(Input &input);
  llvm::Error addReferences(Input &input);
  llvm::Error addRelocations(Input &input);
  SymbolRef local(File::Elf_Sym symbol, llvm::StringRef name);
  SymbolRef global(File::Elf_Sym symbol, llvm::StringRef name);

  std::vector<Input> inputs;
  std::vector<Section> sections;
  std::map<std::tuple<std::string, uint32_t, uint64_t>, int> sectionIndex;
  std::vector<File::Elf_Sym> locals, globals;
  llvm::StringMap<SymbolRef> defined, referenced;
  StringTable strings;
};

} // namespace

static llvm::Error unexpected(const llvm::Twine &what) {
  return llvm::createStringError("an object of LLVM's holds " + what);
}

SymbolRef Merger::local(File::Elf_Sym symbol, llvm::StringRef name) {
  symbol.st_name = strings.add(name);
  symbol.setBinding(elf::STB_LOCAL);
  symbol.st_other = elf::STV_DEFAULT;
  locals.push_back(symbol);
  return {true, unsigned(locals.size())};
}

SymbolRef Merger::global(File::Elf_Sym symbol, llvm::StringRef name) {
  symbol.st_name = strings.add(name);
  globals.push_back(symbol);
  return {false, unsigned(globals.size() - 1)};
}

llvm::Error Merger::add(const CodeUnit &unit) {
  llvm::Expected<File> file = File::create(llvm::StringRef(unit.object.data(), unit.object.size()));
  if (!file)
    return file.takeError();
  inputs.push_back({&unit, *file, {}, {}, {}, nullptr});
  return addSections(inputs.back());
}

llvm::Error Merger::addSections(Input &input) {
  llvm::Expected<File::Elf_Shdr_Range> headers = input.file.sections();
  if (!headers)
    return headers.takeError();
  input.places.resize(headers->size());
  for (auto [i, header] : llvm::enumerate(*headers)) {
    switch (header.sh_type) {
    case elf::SHT_SYMTAB: {
      input.symbolTable = &header;
      llvm::Expected<llvm::StringRef> names = input.file.getStringTableForSymtab(header);
      if (!names)
        return names.takeError();
      input.names = *names;
      continue;
    }
    case elf::SHT_NULL:
    case elf::SHT_STRTAB:
    case elf::SHT_RELA:
    case elf::SHT_LLVM_ADDRSIG:
      continue;
    case elf::SHT_GROUP:
    case elf::SHT_REL:
    case elf::SHT_SYMTAB_SHNDX:
      return unexpected("a section of type " + llvm::Twine(header.sh_type));
    }
    if (header.sh_flags & (elf::SHF_GROUP | elf::SHF_LINK_ORDER))
      return unexpected("a section with flags " + llvm::Twine(header.sh_flags));
    llvm::Expected<llvm::StringRef> nameOrError = input.file.getSectionName(header);
    if (!nameOrError)
      return nameOrError.takeError();
    // Constants that a linker may merge are not worth a section of each size.
    std::string name = nameOrError->str();
    uint64_t flags = header.sh_flags;
    if (flags & elf::SHF_MERGE && flags & elf::SHF_ALLOC) {
      flags &= ~uint64_t(elf::SHF_MERGE | elf::SHF_STRINGS);
      name = ".rodata";
    } else if (flags & elf::SHF_MERGE) {
      continue; // .comment
    }
    auto [it, isNew] =
        sectionIndex.try_emplace({name, header.sh_type, flags}, int(sections.size()));
    if (isNew)
      sections.push_back({name, header.sh_type, flags, 1, 0, {}, {}, {}});
    Section &section = sections[it->second];
    uint64_t align = std::max<uint64_t>(header.sh_addralign, 1);
    section.align = std::max(section.align, align);
    uint64_t begin = llvm::alignTo(section.size, align);
    section.size = begin + header.sh_size;
    if (header.sh_type != elf::SHT_NOBITS) {
      llvm::Expected<llvm::ArrayRef<uint8_t>> content = input.file.getSectionContents(header);
      if (!content)
        return content.takeError();
      section.bytes.resize(begin);
      section.bytes.append(content->begin(), content->end());
    }
    input.places[i] = {it->second, begin};
  }
  if (!input.symbolTable)
    return unexpected("no symbols");
  return llvm::Error::success();
}

llvm::Error Merger::addDefinitions(Input &input) {
  llvm::Expected<File::Elf_Sym_Range> symbols = input.file.symbols(input.symbolTable);
  if (!symbols)
    return symbols.takeError();
  input.symbols.resize(symbols->size());
  for (auto [i, given] : llvm::enumerate(*symbols)) {
    if (i == 0 || given.st_shndx == elf::SHN_UNDEF)
      continue;
    File::Elf_Sym symbol = given;
    llvm::Expected<llvm::StringRef> name = symbol.getName(input.names);
    if (!name)
      return name.takeError();
    if (symbol.getType() == elf::STT_SECTION) {
      Place place = input.places[symbol.st_shndx];
      if (place.section >= 0)
        input.symbols[i] = sections[place.section].symbol;
      continue;
    }
    if (symbol.st_shndx == elf::SHN_ABS) {
      if (symbol.getType() != elf::STT_FILE)
        return unexpected("the absolute symbol " + *name);
      continue; // a unit is no source file
    }
    if (symbol.st_shndx >= elf::SHN_LORESERVE)
      return unexpected("the symbol " + *name + " outside of all sections");
    Place place = input.places[symbol.st_shndx];
    if (place.section < 0)
      continue;
    symbol.st_value = symbol.st_value + place.offset;
    symbol.st_shndx = place.section + 1;
    if (symbol.getBinding() == elf::STB_LOCAL) {
      input.symbols[i] = local(symbol, *name);
      continue;
    }
    if (input.unit->symbols.empty()) {
      // What is hidden is for other units alone.
      bool isHidden = symbol.getVisibility() == elf::STV_HIDDEN;
      input.symbols[i] = isHidden ? local(symbol, *name) : global(symbol, *name);
      defined[*name] = input.symbols[i];
      continue;
    }
    for (const std::string &own : input.unit->symbols) {
      input.symbols[i] = local(symbol, own);
      defined[own] = input.symbols[i];
    }
  }
  return llvm::Error::success();
}

llvm::Error Merger::addReferences(Input &input) {
  llvm::Expected<File::Elf_Sym_Range> symbols = input.file.symbols(input.symbolTable);
  if (!symbols)
    return symbols.takeError();
  for (auto [i, given] : llvm::enumerate(*symbols)) {
    if (i == 0 || given.st_shndx != elf::SHN_UNDEF)
      continue;
    llvm::Expected<llvm::StringRef> name = given.getName(input.names);
    if (!name)
      return name.takeError();
    auto found = defined.find(*name);
    if (found != defined.end()) {
      input.symbols[i] = found->second;
      continue;
    }
    auto [it, isNew] = referenced.try_emplace(*name);
    if (isNew)
      it->second = global(given, *name);
    input.symbols[i] = it->second;
  }
  return llvm::Error::success();
}

llvm::Error Merger::addRelocations(Input &input) {
  llvm::Expected<File::Elf_Shdr_Range> headers = input.file.sections();
  llvm::Expected<File::Elf_Sym_Range> symbols = input.file.symbols(input.symbolTable);
  if (!headers || !symbols)
    return llvm::joinErrors(headers.takeError(), symbols.takeError());
  for (const File::Elf_Shdr &header : *headers) {
    if (header.sh_type != elf::SHT_RELA)
      continue;
    Place target = input.places[header.sh_info];
    if (target.section < 0)
      continue;
    llvm::Expected<File::Elf_Rela_Range> relocations = input.file.relas(header);
    if (!relocations)
      return relocations.takeError();
    for (const File::Elf_Rela &relocation : *relocations) {
      uint32_t number = relocation.getSymbol(/*isMips64EL=*/false);
      const File::Elf_Sym &symbol = (*symbols)[number];
      int64_t addend = relocation.r_addend;
      if (symbol.getType() == elf::STT_SECTION)
        addend += input.places[symbol.st_shndx].offset;
      sections[target.section].relocations.push_back(
          {relocation.r_offset + target.offset, input.symbols[number],
           relocation.getType(/*isMips64EL=*/false), addend});
    }
  }
  return llvm::Error::success();
}

llvm::Error Merger::write(llvm::SmallVectorImpl<char> &object) {
  for (auto [i, section] : llvm::enumerate(sections)) {
    File::Elf_Sym symbol = {};
    symbol.setBindingAndType(elf::STB_LOCAL, elf::STT_SECTION);
    symbol.st_shndx = i + 1;
    section.symbol = local(symbol, "");
  }
  for (Input &input : inputs)
    if (llvm::Error error = addDefinitions(input))
      return error;
  for (Input &input : inputs)
    if (llvm::Error error = addReferences(input))
      return error;
  for (Input &input : inputs)
    if (llvm::Error error = addRelocations(input))
      return error;

  std::vector<File::Elf_Shdr> headers(1, File::Elf_Shdr{});
  object.resize(sizeof(File::Elf_Ehdr));
  auto append = [&](uint64_t align, const void *data, size_t bytes) {
    object.resize(llvm::alignTo(object.size(), align));
    uint64_t begin = object.size();
    auto *from = static_cast<const char *>(data);
    object.append(from, from + bytes);
    return begin;
  };
  auto table = [&](llvm::StringRef name, uint32_t type, const void *data, size_t bytes,
                   uint64_t align, uint64_t entry) -> auto & {
    File::Elf_Shdr header = {};
    header.sh_name = strings.add(name);
    header.sh_type = type;
    header.sh_addralign = align;
    header.sh_entsize = entry;
    header.sh_offset = append(align, data, bytes);
    header.sh_size = bytes;
    headers.push_back(header);
    return headers.back();
  };
  for (Section &section : sections) {
    File::Elf_Shdr &header = table(section.name, section.type, section.bytes.data(),
                                   section.bytes.size(), section.align, 0);
    header.sh_flags = section.flags;
    header.sh_size = section.size;
  }
  uint32_t symbolTable = sections.size() + 1;
  for (Section &section : sections)
    symbolTable += !section.relocations.empty();
  auto number = [&](SymbolRef symbol) -> uint32_t {
    return symbol.isLocal ? symbol.index : locals.size() + 1 + symbol.index;
  };
  for (auto [i, section] : llvm::enumerate(sections)) {
    if (section.relocations.empty())
      continue;
    std::vector<File::Elf_Rela> list;
    for (const Relocation &relocation : section.relocations) {
      File::Elf_Rela entry = {};
      entry.r_offset = relocation.offset;
      entry.r_addend = relocation.addend;
      entry.setSymbolAndType(number(relocation.symbol), relocation.type,
                             /*IsMips64EL=*/false);
      list.push_back(entry);
    }
    File::Elf_Shdr &header = table(".rela" + section.name, elf::SHT_RELA, list.data(),
                                   list.size() * sizeof(list[0]), 8, sizeof(list[0]));
    header.sh_flags = elf::SHF_INFO_LINK;
    header.sh_info = i + 1;
    header.sh_link = symbolTable;
  }
  std::vector<File::Elf_Sym> symbols(1, File::Elf_Sym{});
  symbols.insert(symbols.end(), locals.begin(), locals.end());
  symbols.insert(symbols.end(), globals.begin(), globals.end());
  File::Elf_Shdr &header = table(".symtab", elf::SHT_SYMTAB, symbols.data(),
                                 symbols.size() * sizeof(symbols[0]), 8, sizeof(symbols[0]));
  header.sh_link = symbolTable + 1;
  header.sh_info = locals.size() + 1;
  strings.add(".strtab"); // before the table is copied
  table(".strtab", elf::SHT_STRTAB, strings.bytes.data(), strings.bytes.size(), 1, 0);
  if (headers.size() >= elf::SHN_LORESERVE)
    return unexpected("more sections than ELF counts");
  uint64_t headerOffset = append(8, headers.data(), headers.size() * sizeof(headers[0]));

  File::Elf_Ehdr begin = inputs.front().file.getHeader();
  begin.e_shoff = headerOffset;
  begin.e_shnum = headers.size();
  begin.e_shstrndx = headers.size() - 1;
  std::memcpy(object.data(), &begin, sizeof(begin));
  return llvm::Error::success();
}

llvm::Error weir::mergeUnits(llvm::ArrayRef<CodeUnit> units, llvm::SmallVectorImpl<char> &object) {
  object.clear();
  if (units.size() == 1 && units[0].symbols.empty()) {
    object.append(units[0].object.begin(), units[0].object.end());
    return llvm::Error::success();
  }
  Merger merger;
  for (const CodeUnit &unit : units)
    if (llvm::Error error = merger.add(unit))
      return error;
  return merger.write(object);
}

//===- KernelCode.cpp - machine code of kernels, to be read ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/KernelCode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace weir;
using namespace weir::insight;
using llvm::object::ELFObjectFileBase;
using llvm::object::ELFSymbolRef;
using llvm::object::SectionRef;

namespace {

/// Operands of a memory access of x86, from its first one on: base, scale, index, displacement,
/// segment (LLVM's X86 back end, the form of its memory operands).
constexpr unsigned memoryBase = 0, memoryIndex = 2, memoryDisplacement = 3, memoryOperands = 5;

class Reader {
public:
  llvm::Error open(const ELFObjectFileBase &object);
  llvm::Expected<KernelCode> read(const ELFSymbolRef &symbol);
  /// The function that the one that was read last ends with a jump to; empty: it returns.
  llvm::StringRef jumpsTo() const { return jump; }

private:
  struct Instruction {
    llvm::MCInst inst;
    uint64_t offset, size;
  };
  void readNames();
  void count(const std::vector<Instruction> &instructions, KernelCode &code) const;
  void countRegisters(const std::vector<Instruction> &instructions, KernelCode &code) const;
  /// The first memory operand's place among an instruction's; -1: it has none.
  int memoryOperandOf(const llvm::MCInst &inst) const;
  std::string nameAt(const SectionRef &section, uint64_t address, uint64_t size) const;
  std::string targetOf(const Instruction &at, const SectionRef &section, uint64_t begin) const;

  const ELFObjectFileBase *file = nullptr;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> form;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCInstrInfo> instructionInfo;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
  /// What relocations put into instructions, by section and place in it.
  std::map<std::pair<uint64_t, uint64_t>, std::string> relocated;
  std::map<uint64_t, std::string> functions; ///< by address, of a file that is linked
  std::string jump;
};

llvm::Error failure(const std::string &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

} // namespace

llvm::Error Reader::open(const ELFObjectFileBase &object) {
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64Disassembler();
    return true;
  }();
  (void)initialised;
  file = &object;
  llvm::Triple triple = object.makeTriple();
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return failure(error);
  registers.reset(target->createMCRegInfo(triple));
  if (registers)
    form.reset(target->createMCAsmInfo(*registers, triple, options));
  // Everything that the processor's family has: the file says nothing of its own.
  llvm::StringRef features = triple.isAArch64() ? "+all" : "";
  subtarget.reset(target->createMCSubtargetInfo(triple, "", features));
  instructionInfo.reset(target->createMCInstrInfo());
  if (!registers || !form || !subtarget || !instructionInfo)
    return failure("LLVM does not take apart code for " + triple.str());
  context = std::make_unique<llvm::MCContext>(triple, form.get(), registers.get(), subtarget.get(),
                                              /*Mgr=*/nullptr, &options);
  disassembler.reset(target->createMCDisassembler(*subtarget, *context));
  unsigned intel = triple.isX86() ? 1 : form->getAssemblerDialect();
  printer.reset(target->createMCInstPrinter(triple, intel, *form, *instructionInfo, *registers));
  analysis.reset(target->createMCInstrAnalysis(instructionInfo.get()));
  if (!disassembler || !printer)
    return failure("LLVM does not take apart code for " + triple.str());
  printer->setPrintBranchImmAsAddress(true);
  printer->setPrintImmHex(true);
  readNames();
  return llvm::Error::success();
}

void Reader::readNames() {
  for (const SectionRef &section : file->sections()) {
    auto target = section.getRelocatedSection();
    if (!target) {
      llvm::consumeError(target.takeError());
      continue;
    }
    if (*target == file->section_end() || !(*target)->isText())
      continue;
    for (const llvm::object::RelocationRef &relocation : section.relocations()) {
      auto symbol = relocation.getSymbol();
      if (symbol == file->symbol_end())
        continue;
      llvm::Expected<llvm::StringRef> name = symbol->getName();
      if (!name) {
        llvm::consumeError(name.takeError());
        continue;
      }
      std::string text = name->str();
      if (text.empty()) {
        if (auto of = symbol->getSection(); of && *of != file->section_end())
          text = llvm::cantFail((*of)->getName()).str();
        else if (!of)
          llvm::consumeError(of.takeError());
      }
      relocated[{(*target)->getIndex(), relocation.getOffset()}] = text;
    }
  }
  if (file->isRelocatableObject())
    return;
  for (const ELFSymbolRef symbol : file->symbols()) {
    auto name = symbol.getName();
    auto address = symbol.getAddress();
    if (name && address && symbol.getELFType() == llvm::ELF::STT_FUNC)
      functions[*address] = name->str();
    if (!name)
      llvm::consumeError(name.takeError());
    if (!address)
      llvm::consumeError(address.takeError());
  }
}

int Reader::memoryOperandOf(const llvm::MCInst &inst) const {
  if (!file->makeTriple().isX86())
    return -1;
  const llvm::MCInstrDesc &desc = instructionInfo->get(inst.getOpcode());
  for (unsigned i = 0; i + memoryOperands <= inst.getNumOperands() && i < desc.getNumOperands();
       ++i)
    if (desc.operands()[i].OperandType == llvm::MCOI::OPERAND_MEMORY)
      return int(i);
  return -1;
}

/// The widest register that a register is a part of: a name of one place in the machine.
static llvm::MCRegister wholeOf(const llvm::MCRegisterInfo &info, llvm::MCRegister part) {
  llvm::MCRegister whole = part;
  for (llvm::MCPhysReg over : info.superregs(part))
    if (info.superregs(over).empty())
      whole = over;
  return whole;
}

void Reader::countRegisters(const std::vector<Instruction> &instructions, KernelCode &code) const {
  llvm::Triple triple = file->makeTriple();
  std::set<std::string> general, vectors, masks;
  for (const Instruction &at : instructions)
    for (const llvm::MCOperand &operand : at.inst) {
      if (!operand.isReg() || !operand.getReg())
        continue;
      llvm::StringRef name = registers->getName(wholeOf(*registers, operand.getReg()));
      if (triple.isX86()) {
        if (name.starts_with("ZMM"))
          vectors.insert(name.str());
        else if (name.size() == 2 && name[0] == 'K')
          masks.insert(name.str());
        else if (name.starts_with("R") && name != "RIP" && name != "RSP")
          general.insert(name.str());
      } else if (triple.isAArch64()) {
        if (name.starts_with("Z") || name.starts_with("Q"))
          vectors.insert(name.drop_front().str());
        else if (name.starts_with("P") && name.size() < 4)
          masks.insert(name.str());
        else if (name.starts_with("X") || name == "FP" || name == "LR")
          general.insert(name.str());
      }
    }
  code.registers = int64_t(general.size());
  code.vectorRegisters = int64_t(vectors.size());
  code.maskRegisters = int64_t(masks.size());
}

void Reader::count(const std::vector<Instruction> &instructions, KernelCode &code) const {
  code.instructions = int64_t(instructions.size());
  countRegisters(instructions, code);
  if (!file->makeTriple().isX86())
    return;
  auto isMask = [&](llvm::MCRegister reg) {
    llvm::StringRef name = registers->getName(reg);
    return name.size() == 2 && name[0] == 'K';
  };
  auto named = [&](const llvm::MCOperand &operand, llvm::StringRef name) {
    return operand.isReg() && operand.getReg() && registers->getName(operand.getReg()) == name;
  };
  // rbp is the frame's only where the function has said so.
  bool hasFramePointer = false;
  std::map<std::pair<bool, int64_t>, std::pair<int64_t, int64_t>> slots; // stores, loads
  std::set<std::pair<bool, int64_t>> taken; // whose address goes elsewhere
  code.frameBytes = 0;
  for (const Instruction &at : instructions) {
    const llvm::MCInst &inst = at.inst;
    const llvm::MCInstrDesc &desc = instructionInfo->get(inst.getOpcode());
    llvm::StringRef opcode = instructionInfo->getName(inst.getOpcode());
    if (opcode.starts_with("MOV64rr") && named(inst.getOperand(0), "RBP") &&
        named(inst.getOperand(1), "RSP"))
      hasFramePointer = true;
    if (opcode.starts_with("SUB64ri") && named(inst.getOperand(0), "RSP"))
      if (const llvm::MCOperand &last = inst.getOperand(inst.getNumOperands() - 1); last.isImm())
        code.frameBytes = std::max(code.frameBytes, last.getImm());
    int memory = memoryOperandOf(inst);
    if (memory < 0)
      continue;
    const llvm::MCOperand &base = inst.getOperand(memory + memoryBase),
                          &index = inst.getOperand(memory + memoryIndex),
                          &displacement = inst.getOperand(memory + memoryDisplacement);
    bool isFrame = hasFramePointer && named(base, "RBP");
    if ((!isFrame && !named(base, "RSP")) || !displacement.isImm())
      continue;
    std::pair<bool, int64_t> slot{isFrame, displacement.getImm()};
    // The back end's lea neither loads nor stores; nothing spills under a mask.
    bool isMasked = llvm::any_of(inst, [&](const llvm::MCOperand &operand) {
      return operand.isReg() && operand.getReg() && isMask(operand.getReg());
    });
    if ((index.isReg() && index.getReg()) || opcode.starts_with("LEA") ||
        (isMasked && desc.mayStore())) {
      taken.insert(slot);
      continue;
    }
    slots[slot].first += desc.mayStore();
    slots[slot].second += desc.mayLoad();
  }
  code.spills = code.reloads = 0;
  for (const auto &[slot, uses] : slots)
    if (uses.first && uses.second && !taken.count(slot)) {
      code.spills += uses.first;
      code.reloads += uses.second;
    }
}

std::string Reader::nameAt(const SectionRef &section, uint64_t address, uint64_t size) const {
  auto found = relocated.lower_bound({section.getIndex(), address});
  if (found == relocated.end() || found->first.first != section.getIndex() ||
      found->first.second >= address + size)
    return "";
  return found->second;
}

/// The name of what an instruction of a function that begins at `begin` of a section refers to;
/// empty: the file does not tell.
std::string Reader::targetOf(const Instruction &at, const SectionRef &section,
                             uint64_t begin) const {
  std::string name = nameAt(section, begin + at.offset, at.size);
  uint64_t target = 0, address = section.getAddress() + begin + at.offset;
  if (name.empty() && !functions.empty() && analysis &&
      analysis->evaluateBranch(at.inst, address, at.size, target))
    if (auto known = functions.find(target); known != functions.end())
      name = known->second;
  return name;
}

llvm::Expected<KernelCode> Reader::read(const ELFSymbolRef &symbol) {
  auto section = symbol.getSection();
  if (!section)
    return section.takeError();
  auto address = symbol.getAddress();
  if (!address)
    return address.takeError();
  KernelCode code;
  if (*section == file->section_end())
    return code;
  auto contents = (*section)->getContents();
  if (!contents)
    return contents.takeError();
  uint64_t begin = *address - (*section)->getAddress(), size = symbol.getSize();
  if (begin > contents->size() || size > contents->size() - begin)
    return failure("a symbol is larger than its section");
  llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(contents->data()) + begin, size);
  code.bytes = int64_t(size);
  std::vector<Instruction> instructions;
  for (uint64_t at = 0; at < size;) {
    Instruction next;
    uint64_t length = 0;
    next.offset = at;
    if (disassembler->getInstruction(next.inst, length, bytes.slice(at), at, llvm::nulls()) ==
        llvm::MCDisassembler::Fail) {
      at += std::max<uint64_t>(length, 1); // data between instructions
      continue;
    }
    next.size = length;
    at += length;
    instructions.push_back(std::move(next));
  }
  count(instructions, code);
  jump.clear();
  if (!instructions.empty() &&
      instructionInfo->get(instructions.back().inst.getOpcode()).isUnconditionalBranch())
    jump = targetOf(instructions.back(), **section, begin);
  std::set<uint64_t> targets;
  for (const Instruction &at : instructions) {
    uint64_t target = 0;
    if (analysis && analysis->evaluateBranch(at.inst, at.offset, at.size, target) && target < size)
      targets.insert(target);
  }
  llvm::raw_string_ostream os(code.assembly);
  for (const Instruction &at : instructions) {
    std::string text;
    llvm::raw_string_ostream line(text);
    printer->printInst(&at.inst, at.offset, "", *subtarget, line);
    // A blank line begins what branches go to.
    if (targets.count(at.offset) && at.offset)
      os << "\n";
    os << llvm::format("%5llx", static_cast<unsigned long long>(at.offset));
    for (char c : text)
      os << (c == '\t' ? ' ' : c);
    std::string name = targetOf(at, **section, begin);
    if (!name.empty())
      os << "  ; " << name;
    os << "\n";
  }
  return code;
}

static llvm::Error readFrom(const llvm::object::ObjectFile &object,
                            const llvm::StringSet<> &symbols,
                            std::map<std::string, KernelCode> &found) {
  const auto *elf = llvm::dyn_cast<ELFObjectFileBase>(&object);
  if (!elf)
    return failure("no ELF file");
  Reader reader;
  if (llvm::Error error = reader.open(*elf))
    return error;
  std::map<std::string, ELFSymbolRef> functions;
  for (const ELFSymbolRef symbol : elf->symbols()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if (symbol.getELFType() == llvm::ELF::STT_FUNC)
      functions.try_emplace(name->str(), symbol);
  }
  for (const auto &[name, symbol] : functions) {
    if (!symbols.contains(name) || found.count(name))
      continue;
    llvm::Expected<KernelCode> code = reader.read(symbol);
    // Kernels that share a body are a jump to it.
    llvm::StringRef jump = reader.jumpsTo();
    auto body = jump.ends_with(".shared") ? functions.find(jump.str()) : functions.end();
    if (code && body != functions.end())
      code = reader.read(body->second);
    if (!code)
      return code.takeError();
    found[name] = std::move(*code);
  }
  return llvm::Error::success();
}

llvm::Expected<std::map<std::string, KernelCode>>
insight::readKernelCode(llvm::StringRef path, const llvm::StringSet<> &symbols) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  std::map<std::string, KernelCode> found;
  auto binary = llvm::object::createBinary((*buffer)->getMemBufferRef());
  if (!binary)
    return binary.takeError();
  if (auto *object = llvm::dyn_cast<llvm::object::ObjectFile>(binary->get())) {
    if (llvm::Error error = readFrom(*object, symbols, found))
      return std::move(error);
    return found;
  }
  auto *archive = llvm::dyn_cast<llvm::object::Archive>(binary->get());
  if (!archive)
    return failure("no object, archive or shared object");
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child &child : archive->children(error)) {
    auto member = child.getAsBinary();
    if (!member) {
      llvm::consumeError(std::move(error));
      return member.takeError();
    }
    if (auto *object = llvm::dyn_cast<llvm::object::ObjectFile>(member->get()))
      if (llvm::Error failed = readFrom(*object, symbols, found)) {
        llvm::consumeError(std::move(error));
        return std::move(failed);
      }
    break;
  }
  if (error)
    return std::move(error);
  return found;
}

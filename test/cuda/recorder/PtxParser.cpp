//===- PtxParser.cpp - reads PTX ----------------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/Ptx.h"

#include <cctype>
#include <cstring>
#include <set>
#include <unordered_map>

using namespace ptx;

static Type typeOf(const std::string &word) {
  static const std::unordered_map<std::string, Type> types = {
      {"pred", Type::Pred}, {"b8", Type::B8},   {"b16", Type::B16},   {"b32", Type::B32},
      {"b64", Type::B64},   {"u8", Type::U8},   {"u16", Type::U16},   {"u32", Type::U32},
      {"u64", Type::U64},   {"s8", Type::S8},   {"s16", Type::S16},   {"s32", Type::S32},
      {"s64", Type::S64},   {"f16", Type::F16}, {"bf16", Type::BF16}, {"f32", Type::F32},
      {"f64", Type::F64}};
  auto it = types.find(word);
  return it == types.end() ? Type::None : it->second;
}

namespace {
/// Where symbols lie that are no registers: bits above tell shared and local
/// memory, which each block and thread has of its own, from the host's.
constexpr uint64_t sharedBase = uint64_t(1) << 60, localBase = uint64_t(1) << 61,
                   paramBase = uint64_t(1) << 62;

/// The one function that code may call, which is the driver's.
constexpr const char *setCondition = "cudaGraphSetConditional";

class Parser {
public:
  explicit Parser(const std::string &text) : text(text) {}

  Module parse() {
    Module module;
    for (;;) {
      std::string word = next();
      if (word.empty())
        return module;
      if (word == ".version" || word == ".target" || word == ".address_size") {
        skipLine();
      } else if (word == ".file" || word == ".section") {
        skipLine();
      } else if (word == ".global" || word == ".const" || word == ".shared") {
        variable(module, word == ".shared");
      } else if (word == ".extern" && peek() == ".func") {
        next();
        if (std::string name = next(); name != setCondition)
          fail("the unknown function \"" + name + "\"");
        while (next() != ";")
          ;
      } else if (word == ".visible" || word == ".weak" || word == ".extern" || word == ".func" ||
                 word == ".entry") {
        if (word == ".entry")
          function(module);
        else if (word == ".func")
          fail("a function that is called");
      } else {
        fail("\"" + word + "\"");
      }
    }
  }

private:
  [[noreturn]] void fail(const std::string &what) {
    throw std::runtime_error("PTX line " + std::to_string(line) + ": " + what);
  }

  void blank() {
    while (at < text.size()) {
      if (text[at] == '\n')
        ++line;
      if (std::isspace(static_cast<unsigned char>(text[at]))) {
        ++at;
      } else if (text.compare(at, 2, "//") == 0) {
        while (at < text.size() && text[at] != '\n')
          ++at;
      } else {
        return;
      }
    }
  }
  void skipLine() {
    while (at < text.size() && text[at] != '\n')
      ++at;
  }
  static bool isWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' ||
           c == '.';
  }
  std::string next() {
    if (peekedAt == at && at < text.size()) {
      at = behindPeeked;
      line = lineBehindPeeked;
      return peeked;
    }
    blank();
    size_t begin = at;
    while (at < text.size() && isWord(text[at]))
      ++at;
    if (at == begin && at < text.size())
      at += text.compare(at, 2, "::") == 0 ? 2 : 1;
    return text.substr(begin, at - begin);
  }
  /// What comes next: most of a text is asked for twice.
  const std::string &peek() {
    if (peekedAt == at)
      return peeked;
    size_t was = at;
    int wasLine = line;
    peeked = next();
    peekedAt = was;
    behindPeeked = at;
    lineBehindPeeked = line;
    at = was;
    line = wasLine;
    return peeked;
  }
  void expect(const char *word) {
    std::string found = next();
    if (found != word)
      fail("\"" + found + "\" instead of \"" + word + "\"");
  }
  int64_t number() {
    std::string word = next();
    bool minus = word == "-";
    if (minus)
      word = next();
    int64_t value = int64_t(std::stoull(word, nullptr, 0));
    return minus ? -value : value;
  }

  /// ".align 4 .b8 name[12] = {1, 2}": returns name, type and count.
  std::string declaration(Type &type, int64_t &count) {
    std::string word = next();
    while (word[0] == '.') {
      if (word == ".align") {
        alignment = number();
      } else if (word == ".ptr" || word == ".global" || word == ".noalias") {
        ;
      } else if (Type found = typeOf(word.substr(1)); found != Type::None) {
        type = found;
      }
      word = next();
    }
    count = 1;
    if (peek() == "[") {
      next();
      count = peek() == "]" ? 0 : number();
      expect("]");
    }
    return word;
  }

  void variable(Module &module, bool shared) {
    Type type = Type::B8;
    int64_t count;
    alignment = 1;
    std::string name = declaration(type, count);
    int64_t bytes = count * bytesOf(type);
    if (shared) {
      sharedBytes = (sharedBytes + alignment - 1) / alignment * alignment;
      symbols[name] = sharedBase + uint64_t(sharedBytes);
      sharedBytes += bytes;
    } else {
      module.globals.push_back(std::make_unique<std::vector<uint64_t>>(size_t(bytes + 7) / 8 + 8));
      auto *data = reinterpret_cast<uint8_t *>(module.globals.back()->data());
      data += -uintptr_t(data) & 63;
      symbols[name] = uint64_t(data);
      if (peek() == "=") {
        next();
        bool list = peek() == "{";
        if (list)
          next();
        for (int64_t i = 0; peek() != "}" && peek() != ";"; ++i) {
          Operand value = operand();
          uint64_t bits = value.value;
          std::memcpy(data + i * bytesOf(type), &bits, size_t(bytesOf(type)));
          if (peek() == ",")
            next();
        }
        if (list)
          expect("}");
      }
    }
    expect(";");
  }

  void function(Module &module) {
    Function f;
    f.name = next();
    registers.clear();
    constants.clear();
    labels.clear();
    local.clear();
    localBytes = 0;
    int moduleBytes = sharedBytes;
    if (peek() == "(") {
      next();
      while (peek() != ")") {
        expect(".param");
        Type type = Type::B64;
        int64_t count;
        alignment = 1;
        Parameter p;
        p.name = declaration(type, count);
        p.bytes = int(count * bytesOf(type));
        int align = std::max<int>(int(count == 1 ? bytesOf(type) : alignment), 1);
        p.offset = (f.parameterBytes + align - 1) / align * align;
        f.parameterBytes = p.offset + p.bytes;
        local[p.name] = paramBase + uint64_t(p.offset);
        f.parameters.push_back(p);
        if (peek() == ",")
          next();
      }
      next();
    }
    while (peek() != "{")
      next(); // .reqntid, .maxntid, …
    next();
    int depth = 0;
    plain.clear();
    for (;;) {
      std::string word = next();
      if (word == "}" && depth-- == 0)
        break;
      if (word == "}")
        continue;
      if (word == ".reg") {
        next(); // type
        for (std::string name = next(); name != ";"; name = next())
          if (std::isalpha(static_cast<unsigned char>(name[0])))
            plain.insert(name);
      } else if (word == ".local" || word == ".shared" || word == ".param") {
        // What a call is given lies with the thread.
        Type type = Type::B8;
        int64_t count;
        alignment = 1;
        std::string name = declaration(type, count);
        int &bytes = word == ".shared" ? sharedBytes : localBytes;
        if (word == ".param")
          alignment = bytesOf(type);
        bytes = int((bytes + alignment - 1) / alignment * alignment);
        local[name] = (word == ".shared" ? sharedBase : localBase) + uint64_t(bytes);
        bytes += int(count * bytesOf(type));
        expect(";");
      } else if (word == ".loc" || word == ".pragma" || word == ".file") {
        skipLine();
      } else if (word == "{") {
        ++depth; // inline assembly, with registers of its own
      } else if (peek() == ":") {
        next();
        if (peek() == ".branchtargets") {
          next();
          std::vector<std::string> &list = tables[word];
          for (std::string label = next(); label != ";"; label = next())
            if (label != ",")
              list.push_back(label);
        } else {
          labels[word] = int(f.code.size());
        }
      } else {
        f.code.push_back(instruction(word));
      }
    }
    for (const auto &[index, label] : branches)
      f.code[size_t(index)].target = labels.at(label);
    for (const auto &[index, table] : indexed)
      for (const std::string &label : tables[table])
        f.code[size_t(index)].targets.push_back(labels.at(label));
    branches.clear();
    indexed.clear();
    tables.clear();
    Instruction end;
    end.name = "ret";
    f.code.push_back(end);
    auto special = [&](const char *name) {
      auto it = registers.find(name);
      return it == registers.end() ? -1 : it->second;
    };
    f.tid = special("%tid.x");
    f.ctaid = special("%ctaid.x");
    f.ntid = special("%ntid.x");
    f.nctaid = special("%nctaid.x");
    f.lane = special("%laneid");
    f.constants = constants;
    f.registers = int(registers.size());
    f.localBytes = localBytes;
    f.sharedBytes = sharedBytes;
    sharedBytes = moduleBytes; // others do not have what this one declares
    count = 0;
    for (Instruction &each : f.code)
      decode(each);
    shareRegisters(f);
    module.functions[f.name] = std::move(f);
  }

  Instruction instruction(std::string word) {
    Instruction i;
    i.line = line;
    if (word == "@") {
      word = next();
      if (word == "!") {
        i.predicateNegated = true;
        word = next();
      }
      i.predicate = registerOf(word);
      word = next();
    }
    auto addWords = [&](std::string_view parts) {
      while (!parts.empty()) {
        size_t end = std::min(parts.find('.'), parts.size());
        i.words.emplace_back(parts.substr(0, end));
        if (Type type = typeOf(i.words.back()); type != Type::None) {
          i.from = i.type;
          i.type = type;
        }
        parts.remove_prefix(std::min(end + 1, parts.size()));
      }
    };
    size_t nameEnd = std::min(word.find('.'), word.size());
    i.name = word.substr(0, nameEnd);
    addWords(std::string_view(word).substr(std::min(nameEnd + 1, word.size())));
    // "::": the rest of a modifier's name, and more of them.
    while (peek() == "::") {
      next();
      addWords(next());
    }
    int own = count++;
    if (i.name == "call") {
      expect(setCondition);
      expect(",");
      expect("(");
      i.operands.push_back(operand());
      expect(",");
      i.operands.push_back(operand());
      expect(")");
    }
    while (peek() != ";") {
      if (peek() == ",") {
        next();
        continue;
      }
      if (i.name == "bra") {
        branches.push_back({own, next()});
        continue;
      }
      if (i.name == "brx" && !i.operands.empty()) {
        indexed.push_back({own, next()});
        continue;
      }
      i.operands.push_back(operand());
      // shfl and setp may have two results: %r|%p.
      if (peek() == "|") {
        next();
        i.operands.push_back(operand());
        i.words.push_back("pair");
      }
    }
    next();
    return i;
  }

  int registerOf(const std::string &name) {
    return registers.try_emplace(name, int(registers.size())).first->second;
  }

  Operand operand() {
    Operand o;
    std::string word = next();
    if (word == "!") {
      o.negated = true;
      word = next();
    }
    if (word == "[") {
      o.kind = Operand::Address;
      word = next();
      if (isRegister(word))
        o.reg = registerOf(word);
      else
        o.value = addressOf(word);
      if (peek() == "+") {
        next();
        o.value += uint64_t(number());
      } else if (peek() == "-") {
        o.value += uint64_t(number());
      }
      if (peek() == ",") {
        next();
        expect("{");
        o.parts = operandVector().parts;
      }
      expect("]");
      return o;
    }
    if (word == "{")
      return operandVector();
    if (word == "_") {
      o.kind = Operand::Register;
      o.reg = registerOf("%unused");
      return o;
    }
    if (isRegister(word)) {
      o.kind = Operand::Register;
      o.reg = registerOf(word);
      return o;
    }
    if (immediate(word, o))
      return o;
    o.value = addressOf(word);
    return o;
  }

  /// What is between braces, the first of which was read.
  Operand operandVector() {
    Operand o;
    o.kind = Operand::Vector;
    for (std::string word; word != "}";) {
      word = next();
      if (isRegister(word) || word == "_")
        o.parts.push_back(word == "_" ? registerOf("%unused") : registerOf(word));
      else if (Operand number; word != "," && word != "}") {
        if (!immediate(word, number))
          fail("a vector of \"" + word + "\"");
        // A register of its own that always has it.
        o.parts.push_back(registerOf("%constant" + std::to_string(number.value)));
        constants[o.parts.back()] = number.value;
      }
    }
    return o;
  }

  /// A number that `word` begins; false: it is none.
  bool immediate(std::string word, Operand &o) {
    bool minus = word == "-";
    if (minus)
      word = next();
    if (word.size() > 2 && word[0] == '0' && (word[1] == 'f' || word[1] == 'F') &&
        word.size() == 10) {
      auto bits = uint32_t(std::stoul(word.substr(2), nullptr, 16));
      float value;
      std::memcpy(&value, &bits, 4);
      o.real = value;
      o.isReal = true;
      o.value = bits;
      return true;
    }
    if (word.size() == 18 && word[0] == '0' && (word[1] == 'd' || word[1] == 'D')) {
      o.value = std::stoull(word.substr(2), nullptr, 16);
      std::memcpy(&o.real, &o.value, 8);
      o.isReal = true;
      return true;
    }
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      if (word.back() == 'U')
        word.pop_back();
      o.value = std::stoull(word, nullptr, 0);
      if (minus)
        o.value = 0 - o.value;
      return true;
    }
    return false;
  }

  bool isRegister(const std::string &name) const { return name[0] == '%' || plain.count(name); }

  uint64_t addressOf(const std::string &name) {
    if (auto it = local.find(name); it != local.end())
      return it->second;
    if (auto it = symbols.find(name); it != symbols.end())
      return it->second;
    fail("the unknown name \"" + name + "\"");
  }

  const std::string &text;
  size_t at = 0;
  int line = 1, count = 0;
  std::string peeked;
  size_t peekedAt = std::string::npos, behindPeeked = 0; ///< where what was peeked at lies
  int lineBehindPeeked = 0;
  int64_t alignment = 1;
  int sharedBytes = 0, localBytes = 0;
  std::map<std::string, uint64_t> symbols, local;
  std::map<std::string, int> labels;
  std::unordered_map<std::string, int> registers;
  std::map<int, uint64_t> constants; ///< of registers that stand for numbers
  std::set<std::string> plain;       ///< registers that are not written with a '%'
  std::map<std::string, std::vector<std::string>> tables;
  std::vector<std::pair<int, std::string>> branches, indexed;
};
} // namespace

Module ptx::parse(const std::string &text) { return Parser(text).parse(); }

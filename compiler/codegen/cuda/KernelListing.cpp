//===- KernelListing.cpp - code of GPU kernels, to be read ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/KernelListing.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace weir;
using llvm::StringRef;

template <typename Visit> static void eachLine(StringRef text, Visit &&visit) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    visit(line.rtrim());
    text = rest;
  }
}

DeviceKernels weir::readPtx(StringRef ptx, StringRef architecture) {
  DeviceKernels functions;
  DeviceKernel *at = nullptr;
  int64_t depth = 0; // of braces, which assembly within has in pairs, too
  eachLine(ptx, [&](StringRef line) {
    if (auto [before, name] = line.split(".entry "); !at && !name.empty()) {
      name = name.take_until([](char c) { return c == '('; });
      at = &functions[name.str()];
      at->architecture = architecture.str();
      at->function = name.str();
      depth = 0;
    }
    if (!at || line.empty())
      return;
    at->assembly += line.str() + "\n";
    StringRef code = line.split("//").first;
    depth += int64_t(code.count('{')) - int64_t(code.count('}'));
    if (depth == 0 && code.contains('}'))
      at = nullptr;
  });
  return functions;
}

/// The number in front of ` what` in "Used 18 registers, 4224 bytes smem"; -1: there is none.
static int64_t numberBefore(StringRef line, StringRef what) {
  llvm::SmallVector<StringRef> parts;
  line.split(parts, ',');
  int64_t sum = -1;
  for (StringRef part : parts) {
    part = part.trim();
    part.consume_front("Used ");
    auto [number, rest] = part.split(' ');
    int64_t value = 0;
    // Constants lie in banks: "392 bytes cmem[0]".
    if (!number.getAsInteger(10, value) && rest.split('[').first == what)
      sum = value + (sum < 0 ? 0 : sum);
  }
  return sum;
}

void weir::addAssemblerFigures(StringRef log, DeviceKernels &functions) {
  DeviceKernel *compiled = nullptr, *described = nullptr;
  auto functionOf = [&](StringRef name) {
    auto found = functions.find(name.str());
    return found == functions.end() ? nullptr : &found->second;
  };
  eachLine(log, [&](StringRef line) {
    auto [before, said] = line.split(" : ");
    if (said.empty())
      said = line;
    said = said.trim();
    if (said.consume_front("Compiling entry function '")) {
      auto [name, rest] = said.split('\'');
      compiled = functionOf(name);
      described = nullptr;
      if (compiled && rest.trim() != "for '" + compiled->architecture + "'")
        compiled = nullptr;
    } else if (said.consume_front("Function properties for ")) {
      described = compiled && said == compiled->function ? compiled : nullptr;
    } else if (said.ends_with("bytes spill loads") && described) {
      described->stackBytes = numberBefore(said, "bytes stack frame");
      described->spillStoreBytes = numberBefore(said, "bytes spill stores");
      described->spillLoadBytes = numberBefore(said, "bytes spill loads");
    } else if (said.starts_with("Used ") && compiled) {
      compiled->registers = numberBefore(said, "registers");
      compiled->sharedBytes = std::max<int64_t>(0, numberBefore(said, "bytes smem"));
      compiled->constantBytes = std::max<int64_t>(0, numberBefore(said, "bytes cmem"));
    }
  });
}

void weir::addMachineCode(StringRef text, DeviceKernels &functions) {
  DeviceKernel *at = nullptr;
  auto begin = [&](StringRef name) {
    auto found = functions.find(name.str());
    at = found == functions.end() ? nullptr : &found->second;
  };
  eachLine(text, [&](StringRef line) {
    line = line.trim();
    if (line.consume_front("Function : ")) { // cuobjdump
      begin(line);
    } else if (line.starts_with(".text.") && line.consume_back(":")) { // nvdisasm
      begin(line.drop_front(StringRef(".text.").size()));
    } else if (at && line.starts_with(".L_") && line.ends_with(":")) {
      at->machine += "\n" + line.str() + "\n";
    } else if (at && line.consume_front("/*")) {
      auto [offset, instruction] = line.split("*/");
      instruction = instruction.split("/* 0x").first.trim();
      // A line with nothing but the encoding's second half has no instruction.
      if (!instruction.empty() && llvm::all_of(offset, llvm::isHexDigit))
        at->machine += offset.str() + " " + instruction.str() + "\n";
    }
  });
}

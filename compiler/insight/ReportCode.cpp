//===- ReportCode.cpp - code of kernels in a report -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/ReportCode.h"
#include "compiler/insight/KernelCode.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace weir;
using namespace weir::insight;
namespace json = llvm::json;

static json::Object figuresOf(const KernelCode &code) {
  json::Object figures{{"bytes", code.bytes},
                       {"instructions", code.instructions},
                       {"registers", code.registers},
                       {"vector_registers", code.vectorRegisters},
                       {"mask_registers", code.maskRegisters}};
  if (code.spills >= 0) {
    figures["spills"] = code.spills;
    figures["reloads"] = code.reloads;
    figures["frame_bytes"] = code.frameBytes;
  }
  return figures;
}

static json::Object figuresOf(const DeviceKernel &function) {
  json::Object figures{{"architecture", function.architecture}, {"function", function.function}};
  auto add = [&](const char *name, int64_t value) {
    if (value >= 0)
      figures[name] = value;
  };
  add("registers", function.registers);
  add("stack_bytes", function.stackBytes);
  add("spill_store_bytes", function.spillStoreBytes);
  add("spill_load_bytes", function.spillLoadBytes);
  add("shared_bytes", function.sharedBytes);
  add("constant_bytes", function.constantBytes);
  return figures;
}

bool insight::addMachineCode(const std::string &output, const Report &report,
                             const NodeTrace &trace, json::Object &root, json::Object &texts,
                             DiagnosticSink &sink) {
  std::map<std::string, std::string> symbols; // by kernel
  llvm::StringSet<> asked;
  for (const KernelInfo &kernel : report.kernels)
    if (!kernel.symbol.empty()) {
      symbols[kernel.name] = kernel.symbol;
      asked.insert(kernel.symbol);
    }
  std::map<std::string, KernelCode> found;
  if (llvm::sys::fs::is_regular_file(output)) {
    auto read = readKernelCode(output, asked);
    if (!read) {
      sink.report({"W0101", output, "", "", llvm::toString(read.takeError()), {}});
      return false;
    }
    found = std::move(*read);
  }
  std::map<std::string, std::string> plans; // IR by kernel
  for (const KernelPlace &place : trace.kernels)
    plans[place.name] = place.ir;
  for (json::Value &value : *root.getArray("kernels")) {
    json::Object &kernel = *value.getAsObject();
    std::string name = kernel.getString("name").value_or("").str();
    json::Object text{{"ir", json::fixUTF8(plans[name])}, {"assembly", ""}};
    if (auto symbol = symbols.find(name); symbol != symbols.end())
      if (auto code = found.find(symbol->second); code != found.end()) {
        kernel["code"] = figuresOf(code->second);
        text["assembly"] = code->second.assembly;
      }
    if (auto device = report.deviceCode.find(name); device != report.deviceCode.end()) {
      json::Array figures, codes;
      for (const DeviceKernel &function : device->second) {
        figures.push_back(figuresOf(function));
        codes.push_back(json::Object{{"architecture", function.architecture},
                                     {"function", function.function},
                                     {"assembly", function.assembly},
                                     {"machine", function.machine}});
      }
      kernel["device_code"] = std::move(figures);
      text["device"] = std::move(codes);
    }
    texts[name] = std::move(text);
  }
  return true;
}

std::string insight::packedCode(const json::Object &texts) {
  bool isSmall = llvm::compression::zlib::isAvailable();
  auto pack = [&](llvm::StringRef text) {
    llvm::SmallVector<uint8_t> bytes;
    if (isSmall)
      llvm::compression::zlib::compress(llvm::arrayRefFromStringRef(text), bytes);
    else
      bytes.append(text.begin(), text.end());
    return llvm::encodeBase64(bytes);
  };
  json::Object kernels;
  for (const auto &[name, value] : texts) {
    const json::Object &text = *value.getAsObject();
    json::Array all{pack(*text.getString("ir")), pack(*text.getString("assembly"))};
    if (const json::Array *device = text.getArray("device"))
      for (const json::Value &function : *device)
        for (const char *form : {"assembly", "machine"})
          all.push_back(pack(*function.getAsObject()->getString(form)));
    kernels[name] = std::move(all);
  }
  std::string made;
  llvm::raw_string_ostream(made) << json::Value(
      json::Object{{"is_deflated", isSmall}, {"kernels", std::move(kernels)}});
  return made;
}

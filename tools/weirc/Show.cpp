//===- Show.cpp - weirc show ----------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program offers, by the descriptor that it carries: the same of a model
// (which is compiled in memory), of a shared object and of an object.
//
//===----------------------------------------------------------------------===//

#include "tools/weirc/Commands.h"

#include "runtime/session/cpu_features.h"
#include "tools/common/HostTensor.h"
#include "tools/common/LoadProgram.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"
#include "weir/abi.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstddef>
#include <filesystem>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weirc show";

/// Fields that descriptors of before may lack.
#define HAS(program, field)                                                                        \
  ((program)->size >= offsetof(weir_program_desc, field) + sizeof((program)->field))

/// Reads a program's descriptor.
class Shown {
public:
  Shown(const weir_program_desc *program, std::string input, int64_t fileBytes)
      : program(program), input(std::move(input)), fileBytes(fileBytes) {}

  void printText(llvm::raw_ostream &os) const;
  void printJson(llvm::raw_ostream &os) const;

private:
  /// What each piece of code is for, as "x86-64-v3" or by the features it needs.
  std::vector<std::string> processors() const;
  static std::string shapeText(const weir_tensor_info &info);
  static llvm::json::Object tensorJson(const weir_tensor_info &info);

  std::vector<weir_tensor_info> feeds(int32_t entry) const;
  std::vector<weir_tensor_info> fetches(int32_t entry) const;
  std::vector<weir_tensor_info> variables() const;
  int64_t customCount() const { return HAS(program, custom_count) ? program->custom_count : 0; }
  int32_t defaultEntry() const;

  const weir_program_desc *program;
  std::string input;
  int64_t fileBytes;
};

std::string featuresOf(const weir_program_desc *program) {
  if (HAS(program, cpu) && program->cpu)
    return program->cpu;
  std::string text;
  for (uint64_t rest = program->required_cpu_features; rest; rest &= rest - 1)
    text += (text.empty() ? "" : " ") + std::string(rt::cpuFeatureName(__builtin_ctzll(rest)));
  return text.empty() ? "any processor" : text;
}

std::vector<std::string> Shown::processors() const {
  std::vector<std::string> list;
  for (int64_t i = 0; HAS(program, variant_count) && i < program->variant_count; ++i)
    list.push_back(featuresOf(program->variants[i]));
  list.push_back(featuresOf(program));
  return list;
}

std::vector<weir_tensor_info>
collect(int32_t count, llvm::function_ref<int32_t(int32_t, weir_tensor_info *)> get) {
  std::vector<weir_tensor_info> list;
  for (int32_t i = 0; i < count; ++i) {
    weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
    if (get(i, &info) == WEIR_OK)
      list.push_back(info);
  }
  return list;
}

std::vector<weir_tensor_info> Shown::feeds(int32_t entry) const {
  return collect(weir_program_feed_count(program, entry), [&](int32_t i, weir_tensor_info *info) {
    return weir_program_feed(program, entry, i, info);
  });
}

std::vector<weir_tensor_info> Shown::fetches(int32_t entry) const {
  return collect(weir_program_fetch_count(program, entry), [&](int32_t i, weir_tensor_info *info) {
    return weir_program_fetch(program, entry, i, info);
  });
}

std::vector<weir_tensor_info> Shown::variables() const {
  return collect(weir_program_variable_count(program), [&](int32_t i, weir_tensor_info *info) {
    return weir_program_variable(program, i, info);
  });
}

int32_t Shown::defaultEntry() const {
  int32_t count = weir_program_entry_count(program);
  for (int32_t i = 0; i < count; ++i)
    if (std::string_view(weir_program_entry_name(program, i)) == "serving_default")
      return i;
  return count == 1 ? 0 : -1;
}

/// "2x?x3"; equal sizes of an entry have one letter, bounds stand behind.
std::string Shown::shapeText(const weir_tensor_info &info) {
  if (info.rank < 0)
    return "of any rank";
  if (info.rank == 0)
    return "scalar";
  std::string text;
  for (int32_t d = 0; d < info.rank; ++d) {
    text += d ? "x" : "";
    if (info.dims[d] >= 0) {
      text += std::to_string(info.dims[d]);
      continue;
    }
    int32_t symbol = info.symbols ? info.symbols[d] : -1;
    text += symbol >= 0 && symbol < 26 ? std::string(1, char('A' + symbol)) : "?";
    if (info.upper && info.upper[d] >= 0)
      text += "(" + std::to_string(info.lower ? info.lower[d] : 0) + ".." +
              std::to_string(info.upper[d]) + ")";
  }
  return text;
}

std::string bytesText(int64_t bytes) {
  return (bytes < 100000 ? llvm::formatv("{0:f1} kB", double(bytes) / 1e3)
                         : llvm::formatv("{0:f1} MB", double(bytes) / 1e6))
      .str();
}

void Shown::printText(llvm::raw_ostream &os) const {
  os << input << ": program " << program->name << ", written by weirc " << program->compiler
     << " (ABI " << program->abi_version << ")\n";
  for (int32_t e = 0; e < weir_program_entry_count(program); ++e) {
    os << "\nentry " << weir_program_entry_name(program, e)
       << (e == defaultEntry() ? " (default)" : "") << "\n";
    std::vector<weir_tensor_info> inputs = feeds(e);
    for (const weir_tensor_info &info : inputs)
      os << "  input   " << info.name << ": " << dtypeName(info.dtype) << ' ' << shapeText(info)
         << "\n";
    for (const weir_tensor_info &info : fetches(e))
      os << "  output  " << info.name << ": " << dtypeName(info.dtype) << ' ' << shapeText(info)
         << (info.over_feed ? std::string(", over ") + inputs[info.over_feed - 1].name : "")
         << "\n";
  }
  std::vector<weir_tensor_info> state = variables();
  os << "\nvariables   " << (state.empty() ? "none" : std::to_string(state.size())) << "\n";
  for (const weir_tensor_info &info : state)
    os << "  " << info.name << ": " << dtypeName(info.dtype) << ' ' << shapeText(info) << "\n";
  os << "constants   " << bytesText(program->blob_bytes);
  if (program->weights_file)
    os << " in " << program->weights_file;
  os << "\n";
  for (int32_t d = 0; d < weir_program_device_count(program); ++d)
    os << "memory      " << bytesText(program->devices[d].arena_bytes) << " planned on "
       << program->devices[d].name << "\n";
  std::vector<std::string> list = processors();
  for (size_t i = 0; i < list.size(); ++i)
    os << (i ? "            " : "processors  ") << list[i] << "\n";
  for (int64_t i = 0; i < customCount(); ++i)
    os << "calls       " << program->customs[i].name << " of "
       << (program->customs[i].fallback ? "a function that is linked" : "the program") << "\n";
  if (fileBytes >= 0)
    os << "file        " << bytesText(fileBytes) << "\n";
}

llvm::json::Object Shown::tensorJson(const weir_tensor_info &info) {
  llvm::json::Object tensor{{"name", info.name}, {"type", weir_dtype_name(info.dtype)}};
  if (info.rank < 0) {
    tensor["dims"] = nullptr;
    return tensor;
  }
  auto list = [&](const int64_t *values, int64_t otherwise) {
    llvm::json::Array array;
    for (int32_t d = 0; d < info.rank; ++d)
      array.push_back(values ? values[d] : otherwise);
    return array;
  };
  tensor["dims"] = list(info.dims, -1);
  if (info.lower || info.upper) {
    tensor["lower"] = list(info.lower, 0);
    tensor["upper"] = list(info.upper, -1);
  }
  if (info.symbols) {
    llvm::json::Array symbols;
    for (int32_t d = 0; d < info.rank; ++d)
      symbols.push_back(info.symbols[d]);
    tensor["symbols"] = std::move(symbols);
  }
  return tensor;
}

void Shown::printJson(llvm::raw_ostream &os) const {
  auto tensors = [](const std::vector<weir_tensor_info> &list) {
    llvm::json::Array array;
    for (const weir_tensor_info &info : list)
      array.push_back(tensorJson(info));
    return array;
  };
  llvm::json::Array entries, devices, customs;
  for (int32_t e = 0; e < weir_program_entry_count(program); ++e) {
    llvm::json::Array outputs = tensors(fetches(e));
    for (auto [info, output] : llvm::zip_equal(fetches(e), outputs))
      if (info.over_feed)
        output.getAsObject()->try_emplace("over", feeds(e)[info.over_feed - 1].name);
    entries.push_back(llvm::json::Object{{"name", weir_program_entry_name(program, e)},
                                         {"default", e == defaultEntry()},
                                         {"inputs", tensors(feeds(e))},
                                         {"outputs", std::move(outputs)}});
  }
  for (int32_t d = 0; d < weir_program_device_count(program); ++d)
    devices.push_back(llvm::json::Object{{"name", program->devices[d].name},
                                         {"arena_bytes", program->devices[d].arena_bytes}});
  for (int64_t i = 0; i < customCount(); ++i)
    customs.push_back(llvm::json::Object{{"name", program->customs[i].name},
                                         {"nodes", program->customs[i].nodes},
                                         {"linked", program->customs[i].fallback != nullptr}});
  llvm::json::Object root{{"input", input},
                          {"name", program->name},
                          {"compiler", program->compiler},
                          {"abi_version", int64_t(program->abi_version)},
                          {"entries", std::move(entries)},
                          {"variables", tensors(variables())},
                          {"constant_bytes", program->blob_bytes},
                          {"devices", std::move(devices)},
                          {"processors", llvm::json::Array(processors())},
                          {"custom_operations", std::move(customs)}};
  if (program->weights_file)
    root["weights_file"] = program->weights_file;
  if (fileBytes >= 0)
    root["file_bytes"] = fileBytes;
  os << llvm::formatv("{0:2}", llvm::json::Value(std::move(root))) << "\n";
}

} // namespace

int weir::tools::runShow(int argc, char **argv) {
  driver::Options options;
  options.optLevel = 0;
  FlagParser parser(toolName, "MODEL|FILE.so|FILE.o [flags]",
                    "Lists what a program offers: entries with inputs and outputs, "
                    "variables, memory, processors.");
  std::vector<std::string> inputs;
  bool json = false;
  parser.positionals("MODEL|FILE", "a model as weirc takes it, or a .so or .o that it wrote", 1, 1,
                     inputs);
  parser.group("Output");
  parser.flag("--json", "for programs", json);
  addEntryFlags(parser, options, driver::frontendFlags());
  addCodeFlags(parser, options, driver::deviceFlags());
  addWarningFlags(parser, options);
  parser.exitCode(0, "it was listed");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  options.input = inputs[0];
  DiagnosticSink sink;
  std::unique_ptr<LoadedModel> model;
  bool isObject = options.input.ends_with(".o");
  if (isObject) {
    std::string error;
    model = LoadedModel::openObject(options.input, error);
    if (!model)
      sink.report({"W0705", options.input, "", "", "the program cannot be loaded: " + error, {}});
  } else {
    if (!isLibrary(options.input))
      options.name = "model";
    model = loadProgram(options, sink);
  }
  printDiagnostics(sink);
  if (!model)
    return 1;
  const weir_program_desc *program = model->program();
  if (program->abi_version < WEIR_ABI_OLDEST || program->abi_version > WEIR_ABI_VERSION) {
    printError(toolName, options.input + " has ABI " + std::to_string(program->abi_version) +
                             ", and this weirc reads " + std::to_string(WEIR_ABI_OLDEST) + " to " +
                             std::to_string(WEIR_ABI_VERSION));
    return 1;
  }
  std::error_code ignored;
  bool isFile = isObject || isLibrary(options.input);
  int64_t bytes = isFile ? int64_t(std::filesystem::file_size(options.input, ignored)) : -1;
  Shown shown(program, options.input, bytes);
  if (json)
    shown.printJson(llvm::outs());
  else
    shown.printText(llvm::outs());
  return 0;
}

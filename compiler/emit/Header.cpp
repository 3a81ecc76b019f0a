//===- Header.cpp - the C and C++ header of a compiled model --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Header.h"
#include "compiler/emit/OfferedEntries.h"

#include "compiler/emit/ApiFunctions.h"
#include "compiler/emit/Descriptors.h"
#include "weir/weir.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace weir;
using namespace weir::detail;

/// weir/weir.h and weir/plugin.h of runtime/include, and embed/model_support.h, as the
/// build found them.
static const char runtimeHeader[] =
#include "compiler/emit/RuntimeHeader.inc"
    ;
static const char pluginHeader[] =
#include "compiler/emit/PluginHeader.inc"
    ;
static const char supportHeader[] =
#include "compiler/emit/SupportHeader.inc"
    ;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string elementType(int dtype, bool cxx) {
  switch (dtype) {
  case WEIR_F32:
    return "float";
  case WEIR_F64:
    return "double";
  case WEIR_I8:
  case WEIR_I4:
  case WEIR_I2:
    return "int8_t";
  case WEIR_I16:
    return "int16_t";
  case WEIR_I32:
    return "int32_t";
  case WEIR_I64:
    return "int64_t";
  case WEIR_U16:
  case WEIR_F16:
  case WEIR_BF16:
    return "uint16_t";
  case WEIR_U32:
    return "uint32_t";
  case WEIR_U64:
    return "uint64_t";
  case WEIR_BOOL:
    return cxx ? "bool" : "uint8_t";
  case WEIR_STRING:
    return "weir_string";
  case WEIR_TENSOR:
    return "weir_tensor_ref";
  case WEIR_C64:
    return cxx ? "std::complex<float>" : "void";
  case WEIR_C128:
    return cxx ? "std::complex<double>" : "void";
  default:
    return "uint8_t";
  }
}

bool detail::isStatic(const TensorInfo &info, int64_t &elements) {
  elements = 1;
  if (!info.ranked)
    return false;
  for (int64_t size : info.dims) {
    if (size < 0)
      return false;
    elements *= size;
  }
  return true;
}

/// The first of name, name_2, name_3… that is not taken, which it then is.
static std::string unique(llvm::StringSet<> &taken, std::string name) {
  std::string candidate = name;
  for (int n = 2; !taken.insert(candidate).second; ++n)
    candidate = name + "_" + std::to_string(n);
  return candidate;
}

HeaderNames detail::headerNames(const Program &program) {
  HeaderNames names;
  // Members that the class has in any case.
  llvm::StringSet<> members = {"Model",           "View",        "run",      "status",
                               "session",         "input",       "output",   "view",
                               "reset",           "swap",        "describe", "feed_facts",
                               "fetch_facts",     "session_",    "status_",  "owns_",
                               "feeds_",          "fetches_",    "memory_",  "weir_session",
                               "weir_tensor",     "size_t",      "bool",     "weir_session_options",
                               "weir_string",     "int64_t",     "int32_t",  "weir_run_options",
                               "int16_t",         "int8_t",      "uint64_t", "uint32_t",
                               "uint16_t",        "uint8_t",     "std",      "weir",
                               "weir_tensor_ref", "status_code", "offer",    "offers_"};
  for (const char *method : {"save", "restore"})
    members.insert(method);
  llvm::StringSet<> macros, functions;
  for (const ApiFunction &api : apiFunctions(program, /*isShared=*/true))
    functions.insert(api.symbol);
  std::string upper = llvm::StringRef(program.name).upper();

  int standard = defaultEntry(program);
  names.runMethods.resize(offeredEntries(program).size());
  for (size_t e = 0; e < offeredEntries(program).size(); ++e) {
    const EntryInfo &entry = program.entries[e];
    std::string entryName = cIdentifier(entry.name);
    bool isStandard = int(e) == standard;
    if (!isStandard)
      names.runMethods[e] = unique(members, entryName);
    names.entryMacros.push_back(
        unique(macros, upper + "_" + (isStandard ? "RUN" : llvm::StringRef(entryName).upper())));
    // The default entry's tensors go by their own names, others' by entry, too.
    auto add = [&](const std::vector<TensorInfo> &list, bool isFeed) {
      for (size_t i = 0; i < list.size(); ++i) {
        std::string own = cIdentifier(list[i].name);
        std::string name = isStandard ? own : entryName + "_" + own;
        // A value that is fed and fetched under one name.
        if (!isFeed && members.contains(name))
          name += "_output";
        HeaderTensor tensor;
        tensor.info = &list[i];
        tensor.entry = int(e);
        tensor.index = int(i);
        tensor.isFeed = isFeed;
        if (int64_t over = isFeed || entry.overFeed.empty() ? 0 : entry.overFeed[i])
          tensor.over = entry.feeds[over - 1].name;
        tensor.accessor = unique(members, name);
        members.insert(tensor.accessor + "_shape");
        members.insert("resize_" + tensor.accessor);
        members.insert("bind_" + tensor.accessor);
        tensor.macro = unique(macros, upper + "_" + llvm::StringRef(tensor.accessor).upper());
        tensor.cName = unique(functions, program.name + "_" + tensor.accessor + "_tensor");
        tensor.cType = elementType(list[i].dtype, /*cxx=*/false);
        tensor.cxxType = elementType(list[i].dtype, /*cxx=*/true);
        names.tensors.push_back(std::move(tensor));
      }
    };
    add(entry.feeds, true);
    add(entry.fetches, false);
  }
  // Behind its tensors, which have the better claim on a name.
  if (standard >= 0 && program.entries[size_t(standard)].name != "run")
    names.runMethods[size_t(standard)] =
        unique(members, cIdentifier(program.entries[size_t(standard)].name));
  return names;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Names of nodes may hold anything; in a comment they must not end it.
static std::string commentText(llvm::StringRef text) {
  std::string out;
  for (char c : text)
    out += c == '\n' || c == '\r' || c == '\\' ? ' ' : c;
  return out;
}

static std::string shapeText(const TensorInfo &info) {
  if (!info.ranked)
    return "[*]";
  std::string text = "[";
  for (size_t i = 0; i < info.dims.size(); ++i) {
    text += i ? ", " : "";
    bool named = i < info.symbols.size() && !info.symbols[i].empty();
    if (info.dims[i] >= 0)
      text += std::to_string(info.dims[i]);
    else
      text += named ? info.symbols[i] : "?";
    if (info.dims[i] < 0 && i < info.upper.size() && info.upper[i] >= 0)
      text += " <= " + std::to_string(info.upper[i]);
  }
  return text + "]";
}

static void emitConstants(const HeaderTensor &tensor, llvm::raw_ostream &os) {
  const TensorInfo &info = *tensor.info;
  os << "\n/// " << (tensor.isFeed ? "Feed" : "Fetch") << " \"" << commentText(info.name)
     << "\": " << dtypeName(info.dtype) << ' ' << commentText(shapeText(info)) << "\n";
  if (!tensor.over.empty())
    os << "/// May have the memory of feed \"" << commentText(tensor.over)
       << "\", which is then updated in place.\n";
  os << "#define " << tensor.macro << "_INDEX " << tensor.index << "\n";
  os << "#define " << tensor.macro << "_DTYPE " << info.dtype << "\n";
  os << "#define " << tensor.macro << "_RANK " << (info.ranked ? int64_t(info.dims.size()) : -1)
     << "\n";
  if (info.ranked && !info.dims.empty()) {
    os << "#define " << tensor.macro << "_DIMS {";
    llvm::interleaveComma(info.dims, os);
    os << "}\n";
  }
  int64_t elements = 0;
  if (!isStatic(info, elements))
    return;
  os << "#define " << tensor.macro << "_ELEMENTS INT64_C(" << elements << ")\n";
  os << "#define " << tensor.macro << "_BYTES INT64_C(" << elements * dtypeBytes(info.dtype)
     << ")\n";
}

/// A function that makes the weir_tensor for a feed or fetch.
static void emitTensorFunction(const HeaderTensor &tensor, llvm::raw_ostream &os) {
  const TensorInfo &info = *tensor.info;
  int64_t elements = 0;
  bool fixed = isStatic(info, elements);
  std::string pointer = (tensor.isFeed ? "const " : "") + tensor.cType + " *";
  os << "static inline weir_tensor " << tensor.cName << "(" << pointer << "data";
  if (!fixed)
    os << (tensor.isFeed
               ? (info.ranked ? ", const int64_t *dims" : ", int32_t rank, const int64_t *dims")
               : ", int64_t bytes");
  os << ") {\n  weir_tensor t;\n";
  os << "  t.data = (void *)data;\n";
  os << "  t.dtype = " << info.dtype << "; // " << dtypeName(info.dtype) << "\n";
  if (fixed || tensor.isFeed) {
    if (info.ranked)
      os << "  t.rank = " << info.dims.size() << ";\n";
    else
      os << "  t.rank = rank;\n";
    os << "  t.bytes = " << dtypeBytes(info.dtype) << ";\n";
    std::string rank = info.ranked ? std::to_string(info.dims.size()) : std::string("rank");
    if (fixed && !info.dims.empty())
      os << "  static const int64_t dims[] = " << tensor.macro << "_DIMS;\n";
    if (rank != "0")
      os << "  for (int i = 0; i < " << rank << " && i < WEIR_MAX_RANK; ++i) {\n"
         << "    t.dims[i] = dims[i];\n"
         << "    t.bytes *= dims[i];\n  }\n";
  } else {
    os << "  t.rank = 0; // set by the run\n  t.bytes = bytes;\n";
  }
  os << "  return t;\n}\n";
}

static void emitFunctions(const Program &program, bool isShared, const HeaderNames &names,
                          llvm::raw_ostream &os) {
  os << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const ApiFunction &api : apiFunctions(program, isShared)) {
    switch (api.kind) {
    case ApiFunction::Program:
      os << "/// The program, for " << (isShared ? "the table's functions" : "the functions above")
         << ".\n"
         << "const weir_program_desc *" << api.symbol << "(void);\n";
      break;
    case ApiFunction::Functions:
      os << "/// All that the runtime inside offers: weir.h's functions, as a table.\n"
         << "const weir_plugin *" << api.symbol << "(void);\n";
      break;
    case ApiFunction::Create:
      os << "/// Makes a session: weir_session_create. `options` may be null.\n"
         << "WEIR_NODISCARD int32_t " << api.symbol
         << "(const weir_session_options *options,\n    weir_session "
            "**session, weir_status *status);\n";
      break;
    case ApiFunction::Destroy:
      os << "void " << api.symbol << "(weir_session *session);\n";
      break;
    case ApiFunction::Release:
      os << "/// Gives a fetch's memory back: weir_session_release.\nvoid " << api.symbol
         << "(weir_session *session, weir_tensor *tensor);\n";
      break;
    case ApiFunction::Reset:
      os << "/// Gives all variables their initial values.\nWEIR_NODISCARD int32_t " << api.symbol
         << "(weir_session *session, weir_status *status);\n";
      break;
    case ApiFunction::GetVariable:
      os << "WEIR_NODISCARD int32_t " << api.symbol
         << "(weir_session *session, const char *name,\n    weir_tensor "
            "*value, weir_status *status);\n";
      break;
    case ApiFunction::SetVariable:
      os << "WEIR_NODISCARD int32_t " << api.symbol
         << "(weir_session *session, const char *name,\n    const "
            "weir_tensor *value, weir_status *status);\n";
      break;
    case ApiFunction::Save:
    case ApiFunction::Restore:
      os << "/// weir_session_" << (api.kind == ApiFunction::Save ? "save" : "restore")
         << ".\nWEIR_NODISCARD int32_t " << api.symbol
         << "(weir_session *session, const char *prefix,\n    const "
            "weir_checkpoint_options *options, weir_status *status);\n";
      break;
    case ApiFunction::SaveAsync:
      os << "/// weir_session_save_async.\nWEIR_NODISCARD int32_t " << api.symbol
         << "(weir_session *session, const char *prefix,\n    const "
            "weir_checkpoint_options *options, weir_run_done done,\n    void *self, "
            "weir_status *status);\n";
      break;
    case ApiFunction::Run: {
      const EntryInfo &entry = program.entries[api.entry];
      auto listed = [&](const std::vector<TensorInfo> &list) {
        std::string text;
        for (const TensorInfo &tensor : list)
          text += (text.empty() ? "" : ", ") + commentText(tensor.name);
        return text.empty() ? std::string("none") : text;
      };
      os << "/// Runs entry \"" << commentText(entry.name)
         << "\": weir_session_run.\n/// feeds: " << listed(entry.feeds)
         << "\n/// fetches: " << listed(entry.fetches) << "\n"
         << "WEIR_NODISCARD int32_t " << api.symbol
         << "(weir_session *session, const weir_tensor *feeds,\n    "
            "weir_tensor *fetches, const weir_run_options *options,\n    "
            "weir_status *status);\n";
      break;
    }
    }
  }
  os << "\n";
  for (size_t e = 0; e < offeredEntries(program).size(); ++e)
    os << "#define " << names.entryMacros[e] << "_ENTRY " << e << "\n#define "
       << names.entryMacros[e] << "_FEEDS " << program.entries[e].feeds.size() << "\n#define "
       << names.entryMacros[e] << "_FETCHES " << program.entries[e].fetches.size() << "\n";
  for (const HeaderTensor &tensor : names.tensors) {
    emitConstants(tensor, os);
    emitTensorFunction(tensor, os);
  }
  os << "\n#ifdef __cplusplus\n} // extern \"C\"\n#endif\n\n";
}

std::string weir::modelHeader(const Program &program, bool isShared, llvm::StringRef model,
                              llvm::StringRef compiler) {
  HeaderNames names = headerNames(program);
  std::string text;
  llvm::raw_string_ostream os(text);
  std::string upper = llvm::StringRef(program.name).upper();
  os << "// " << program.name << ".h - a model for C and C++. Written by weirc " << compiler
     << " from " << commentText(model) << "; do not edit.\n"
     << "//\n// Link with " << program.name
     << ".o and what `pkg-config --libs weir` says. The C++ class is\n// " << program.name
     << "::Model, at the end.\n\n";
  os << "#ifndef WEIR_MODEL_" << upper << "_H\n#define WEIR_MODEL_" << upper << "_H\n\n";
  if (isShared) {
    // The runtime is hidden: its functions could not be linked.
    llvm::StringRef plugin(pluginHeader), include("#include \"weir/weir.h\"\n");
    auto [before, after] = plugin.split(include);
    os << "#define WEIR_TYPES_ONLY\n" << runtimeHeader << "#undef WEIR_TYPES_ONLY\n\n";
    os << before << after << "\n";
  } else {
    os << runtimeHeader << "\n";
  }
  os << supportHeader << "\n";
  os << "//===--------------------------------------------------------------"
        "--------===//\n// "
     << program.name
     << "\n//===--------------------------------------------------------------"
        "--------===//\n\n";
  emitFunctions(program, isShared, names, os);
  os << modelClass(program, isShared, names);
  os << "\n#endif // WEIR_MODEL_" << upper << "_H\n";
  return text;
}

//===- HeaderClass.cpp - the C++ class of a compiled model ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/ApiFunctions.h"
#include "compiler/emit/Descriptors.h"
#include "compiler/emit/Header.h"
#include "compiler/emit/OfferedEntries.h"
#include "weir/weir.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace weir;
using namespace weir::detail;

static std::string quoted(llvm::StringRef text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c < 0x20 || c == 0x7f || c == '?') { // no trigraphs
      char octal[5];
      snprintf(octal, sizeof(octal), "\\%03o", c);
      out += octal;
    } else {
      out += char(c);
    }
  }
  return out + "\"";
}

namespace {

class ClassWriter {
public:
  ClassWriter(const Program &program, bool isShared, const HeaderNames &names,
              llvm::raw_ostream &os)
      : program(program), names(names), os(os) {
    for (const HeaderTensor &tensor : names.tensors)
      (tensor.isFeed ? feeds : fetches).push_back(&tensor);
    runFunctions.resize(offeredEntries(program).size());
    for (const ApiFunction &api : apiFunctions(program, isShared)) {
      if (api.kind == ApiFunction::Run)
        runFunctions[api.entry] = api.symbol; // either does
      else
        symbols[api.kind] = api.symbol;
    }
  }

  void write();

private:
  void writeLife();
  void writeTensorTable(llvm::ArrayRef<const HeaderTensor *> list, llvm::StringRef name);
  void writeFinder(llvm::StringRef method, llvm::StringRef kind,
                   llvm::ArrayRef<const HeaderTensor *> list);
  void writeCheckpoint(ApiFunction::Kind kind, llvm::StringRef method, llvm::StringRef comment);
  void writeRun(size_t entry);
  void writeAccessors(const HeaderTensor &tensor, size_t position);
  /// Position of an entry's first feed or fetch in the whole table.
  size_t first(llvm::ArrayRef<const HeaderTensor *> list, size_t entry) const {
    size_t i = 0;
    while (i < list.size() && size_t(list[i]->entry) < entry)
      ++i;
    return i;
  }
  const std::string &symbol(ApiFunction::Kind kind) { return symbols[kind]; }

  const Program &program;
  const HeaderNames &names;
  llvm::raw_ostream &os;
  std::vector<const HeaderTensor *> feeds, fetches;
  std::vector<std::string> runFunctions;
  std::string symbols[ApiFunction::Functions + 1];
};

} // namespace

void ClassWriter::write() {
  bool hasComplex = llvm::any_of(names.tensors, [](const HeaderTensor &tensor) {
    return tensor.info->dtype == WEIR_C64 || tensor.info->dtype == WEIR_C128;
  });
  os << "#ifdef __cplusplus\n";
  if (hasComplex)
    os << "#include <complex>\n";
  os << "\nnamespace " << program.name << " {\n\n"
     << "/// A session with its inputs and outputs. May be moved, not copied. "
        "One object is\n/// used by one thread at a time; for concurrent runs "
        "each thread takes a view().\n"
     << "class Model {\npublic:\n";
  writeLife();
  for (size_t e = 0; e < offeredEntries(program).size(); ++e)
    writeRun(e);
  for (size_t i = 0; i < feeds.size(); ++i)
    writeAccessors(*feeds[i], i);
  for (size_t i = 0; i < fetches.size(); ++i)
    writeAccessors(*fetches[i], i);
  os << "\n  /// By name; false in a condition when there is none.\n";
  writeFinder("input", "feed", feeds);
  writeFinder("output", "fetch", fetches);
  os << "\nprivate:\n"
     << "  struct View {};\n"
     << "  Model(View, weir_session *session) noexcept\n"
     << "      : session_(session), owns_(false) {\n    describe();\n  }\n";
  writeTensorTable(feeds, "feed");
  writeTensorTable(fetches, "fetch");
  os << "  void describe() noexcept {\n"
     << "    for (int i = 0; i < " << feeds.size() << "; ++i)\n"
     << "      ::weir::describe(feed_facts()[i], feeds_[i]);\n"
     << "    for (int i = 0; i < " << fetches.size() << "; ++i) {\n"
     << "      ::weir::describe(fetch_facts()[i], fetches_[i]);\n"
     << "      fetches_[i].bytes = 0; // nothing there before the first run\n"
     << "    }\n  }\n\n"
     << "  /// The status has the code, too.\n  static void status_code(int32_t) noexcept {}\n\n"
     << "  /// Offers bound memory whole again, whatever the run before left "
        "there.\n"
     << "  void offer(int begin, int end) noexcept {\n"
     << "    for (int i = begin; i < end; ++i) {\n"
     << "      if (!offers_[i].data)\n        continue;\n"
     << "      if (fetches_[i].data != offers_[i].data)\n        " << symbol(ApiFunction::Release)
     << "(session_, &fetches_[i]);\n"
     << "      fetches_[i].data = offers_[i].data;\n"
     << "      fetches_[i].bytes = offers_[i].bytes;\n    }\n  }\n\n"
     << "  weir_session *session_ = nullptr;\n  bool owns_ = true;\n"
     << "  ::weir::Status status_;\n"
     << "  weir_tensor feeds_[" << std::max<size_t>(1, feeds.size()) << "];\n"
     << "  weir_tensor fetches_[" << std::max<size_t>(1, fetches.size())
     << "];\n  ::weir::FetchMemory offers_[" << std::max<size_t>(1, fetches.size()) << "] = {};\n"
     << "  ::weir::FeedMemory memory_[" << std::max<size_t>(1, feeds.size())
     << "];\n};\n\n} // namespace " << program.name << "\n#endif\n";
}

void ClassWriter::writeLife() {
  os << "  explicit Model(const weir_session_options *options = nullptr) "
        "noexcept {\n    describe();\n    status_code("
     << symbol(ApiFunction::Create) << "(options, &session_, status_.get()));\n  }\n"
     << "  Model(Model &&other) noexcept : Model(View(), nullptr) { "
        "swap(other); }\n"
     << "  Model &operator=(Model &&other) noexcept {\n    swap(other);\n    "
        "return *this;\n  }\n"
     << "  ~Model() {\n"
     << "    if (session_)\n"
     << "      for (int i = 0; i < " << fetches.size() << "; ++i)\n        "
     << symbol(ApiFunction::Release) << "(session_, &fetches_[i]);\n"
     << "    if (owns_)\n      " << symbol(ApiFunction::Destroy) << "(session_);\n  }\n"
     << "  void swap(Model &other) noexcept {\n"
     << "    std::swap(session_, other.session_);\n"
     << "    std::swap(owns_, other.owns_);\n"
     << "    std::swap(status_, other.status_);\n"
     << "    std::swap(feeds_, other.feeds_);\n"
     << "    std::swap(fetches_, other.fetches_);\n"
     << "    std::swap(offers_, other.offers_);\n"
     << "    for (int i = 0; i < " << std::max<size_t>(1, feeds.size())
     << "; ++i)\n      memory_[i].swap(other.memory_[i]);\n  }\n\n"
     << "  /// How the construction ended; runs of a model that failed return "
        "it, too.\n"
     << "  const ::weir::Status &status() const noexcept { return status_; }\n"
     << "  /// For the C API.\n"
     << "  weir_session *session() const noexcept { return session_; }\n"
     << "  /// The same session (variables are shared) with inputs and outputs "
        "of its own.\n  /// Must end before this object.\n"
     << "  Model view() const noexcept { return Model(View(), session_); }\n";
  if (!symbol(ApiFunction::Reset).empty())
    os << "  /// Gives all variables their initial values.\n"
       << "  WEIR_NODISCARD ::weir::Status reset() noexcept {\n    if (!session_)\n      "
          "return status_;\n    ::weir::Status status;\n    status_code("
       << symbol(ApiFunction::Reset) << "(session_, status.get()));\n    return status;\n  }\n";
  if (!program.slots.empty()) {
    writeCheckpoint(ApiFunction::Save, "save",
                    "Writes all variables as a checkpoint: weir_session_save.");
    writeCheckpoint(ApiFunction::Restore, "restore",
                    "Gives all variables their values in a checkpoint: weir_session_restore.");
  }
}

void ClassWriter::writeCheckpoint(ApiFunction::Kind kind, llvm::StringRef method,
                                  llvm::StringRef comment) {
  // What a shared object does not forward the program links by itself, if it calls this.
  std::string function = symbol(kind).empty() ? ("weir_session_" + method).str() : symbol(kind);
  os << "  /// " << comment << "\n  WEIR_NODISCARD ::weir::Status " << method
     << "(const char *prefix,\n      const weir_checkpoint_options *options = nullptr) noexcept "
        "{\n    if (!session_)\n      return status_;\n    ::weir::Status status;\n    status_code("
     << function << "(session_, prefix, options, status.get()));\n    return status;\n  }\n";
}

void ClassWriter::writeRun(size_t e) {
  const EntryInfo &entry = program.entries[e];
  bool isDefault = int(e) == defaultEntry(program);
  size_t feed = first(feeds, e), fetch = first(fetches, e), end = first(fetches, e + 1);
  os << "\n  /// Runs entry " << quoted(entry.name) << ". OUT_OF_RANGE: it ran, and memory bound "
     << "to a fetch was\n  /// too small for the result, which output() has all the same.\n"
     << "  WEIR_NODISCARD ::weir::Status " << (isDefault ? "run" : names.runMethods[e])
     << "(const weir_run_options *options = nullptr) noexcept {\n"
     << "    if (!session_)\n"
     << "      return status_.ok() ? ::weir::Status(WEIR_FAILED_PRECONDITION,\n"
     << "                                           \"the model was moved "
        "from\")\n                          : status_;\n"
     << "    offer(" << fetch << ", " << end << ");\n"
     << "    ::weir::Status status;\n    status_code(" << runFunctions[e] << "(session_, feeds_ + "
     << feed << ", fetches_ + " << fetch << ", options, status.get()));\n"
     << "    for (int i = " << fetch << "; i < " << end << " && status.ok(); ++i)\n"
     << "      status = ::weir::Tensor(fetch_facts() + i, fetches_ + i, offers_ + i).fits();\n"
     << "    return status;\n  }\n";
  if (isDefault && !names.runMethods[e].empty())
    os << "  /// The same.\n  WEIR_NODISCARD ::weir::Status " << names.runMethods[e]
       << "(const weir_run_options *options = nullptr) noexcept {\n    return run(options);\n  }\n";
}

void ClassWriter::writeAccessors(const HeaderTensor &tensor, size_t position) {
  const TensorInfo &info = *tensor.info;
  int64_t elements = 0;
  bool fixed = isStatic(info, elements);
  const std::string &type = tensor.cxxType, &name = tensor.accessor;
  std::string at = std::to_string(position), slot = "[" + at + "]";
  std::string bytes = std::to_string(dtypeBytes(info.dtype));
  llvm::StringRef kind = tensor.isFeed ? "feed" : "fetch";
  std::string array = tensor.isFeed ? "feeds_" : "fetches_";
  std::string all = ("::weir::Tensor(" + kind + "_facts() + " + at + ", " + array + " + " + at +
                     ", " + (tensor.isFeed ? "memory_" : "offers_") + " + " + at + ")")
                        .str();
  if (tensor.isFeed) {
    os << "\n  /// Feed " << quoted(info.name) << "\n"
       << "  ::weir::Span<" << type << "> " << name << "() noexcept {\n"
       << "    return " << all << ".as<" << type << ">();\n  }\n";
    if (!fixed)
      os << "  /// Gives it a shape, and " << name << "() memory for that. No shape, no run.\n"
         << "  WEIR_NODISCARD ::weir::Status resize_" << name
         << "(std::initializer_list<int64_t> dims) noexcept {\n"
         << "    return " << all << ".resize(dims);\n  }\n";
    // Reading the caller's memory instead of one's own.
    if (fixed)
      os << "  void bind_" << name << "(const " << type << " *data) noexcept {\n    feeds_" << slot
         << ".data = const_cast<" << type << " *>(data);\n  }\n";
    else
      os << "  WEIR_NODISCARD ::weir::Status bind_" << name << "(const " << type
         << " *data, std::initializer_list<int64_t> dims) noexcept {\n"
         << "    return " << all << ".bind(data, dims);\n  }\n";
  } else {
    os << "\n  /// Fetch " << quoted(info.name) << ", as the last run left it\n"
       << "  ::weir::Span<const " << type << "> " << name
       << "() const noexcept {\n    return fetches_" << slot << ".data ? ::weir::Span<const "
       << type << ">(static_cast<const " << type << " *>(fetches_" << slot
       << ".data), size_t(fetches_" << slot << ".bytes) / " << bytes
       << ")\n        : ::weir::Span<const " << type << ">();\n  }\n"
       << "  WEIR_NODISCARD ::weir::Status bind_" << name << "(" << type
       << " *data, size_t size) noexcept {\n    return " << all << ".bind(data, size * " << bytes
       << ");\n  }\n";
  }
  os << "  ::weir::Span<const int64_t> " << name
     << "_shape() const noexcept {\n    return ::weir::Span<const int64_t>(" << array << slot
     << ".dims, size_t(" << array << slot << ".rank));\n  }\n";
}

void ClassWriter::writeTensorTable(llvm::ArrayRef<const HeaderTensor *> list,
                                   llvm::StringRef name) {
  os << "  static const ::weir::TensorFacts *" << name << "_facts() noexcept {\n";
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i]->info->ranked && !list[i]->info->dims.empty())
      os << "    static const int64_t dims" << i << "[] = " << list[i]->macro << "_DIMS;\n";
  os << "    static const ::weir::TensorFacts facts[] = {\n";
  for (size_t i = 0; i < list.size(); ++i) {
    const TensorInfo &info = *list[i]->info;
    os << "        {" << quoted(info.name) << ", " << info.dtype << ", "
       << (info.ranked ? int64_t(info.dims.size()) : -1) << ", " << dtypeBytes(info.dtype) << ", ";
    if (info.ranked && !info.dims.empty())
      os << "dims" << i;
    else
      os << "nullptr";
    os << "},\n";
  }
  os << "        {nullptr, 0, 0, 1, nullptr}};\n    return facts;\n  }\n";
}

void ClassWriter::writeFinder(llvm::StringRef method, llvm::StringRef kind,
                              llvm::ArrayRef<const HeaderTensor *> list) {
  bool isFeed = kind == "feed";
  os << "  ::weir::Tensor " << method << "(const char *name, int entry = 0) noexcept {\n"
     << "    static const int begin[] = {";
  for (size_t e = 0; e <= offeredEntries(program).size(); ++e)
    os << (e ? ", " : "") << first(list, e);
  os << "};\n    if (entry < 0 || entry >= " << offeredEntries(program).size()
     << ")\n      return ::weir::Tensor();\n"
     << "    for (int i = begin[entry]; i < begin[entry + 1]; ++i)\n"
     << "      if (std::strcmp(" << kind << "_facts()[i].name, name) == 0)\n"
     << "        return ::weir::Tensor(" << kind << "_facts() + i, " << kind
     << (isFeed ? "s_ + i, memory_ + i" : "es_ + i, offers_ + i")
     << ");\n    return ::weir::Tensor();\n  }\n";
}

std::string detail::modelClass(const Program &program, bool isShared, const HeaderNames &names) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ClassWriter(program, isShared, names, os).write();
  return text;
}

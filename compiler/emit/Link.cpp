//===- Link.cpp - archives and shared objects -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Link.h"

#include "compiler/emit/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace weir;

llvm::Error weir::writeArchive(llvm::StringRef object, llvm::StringRef member,
                               llvm::StringRef archive) {
  // Mapped, not read: the object may hold gigabytes of constants.
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(object, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "cannot read " + object);
  llvm::SmallVector<llvm::NewArchiveMember, 1> members;
  members.emplace_back((*buffer)->getMemBufferRef());
  members.back().MemberName = member;
  return llvm::writeArchive(archive, members, llvm::SymtabWritingMode::NormalSymtab,
                            llvm::object::Archive::K_GNU,
                            /*Deterministic=*/true, /*Thin=*/false);
}

namespace {

/// An archive that lies beside libweir_runtime.a, and what it is linked over.
struct OptionalArchive {
  llvm::StringRef name;      ///< as in libweir_runtime_NAME.a
  llvm::StringRef libraries; ///< by their plain names
  llvm::StringRef what;      ///< the program does, for messages
  std::vector<llvm::StringRef> kernels;
  bool isAsked; ///< only where the user asks for it: the runtime has kernels of its own
};

const OptionalArchive optionalArchives[] = {
    {"images",
     WEIR_IMAGE_LIBRARIES,
     "decodes or encodes images",
     {"decode_image", "jpeg_shape", "encode_jpeg", "encode_png"},
     false},
    {"text",
     "re2 stdc++",
     "matches regular expressions",
     {"regex_full_match", "regex_replace", "string_tokenize"},
     true},
    {"linalg",
     "lapack blas",
     "decomposes matrices",
     {"determinant", "eig", "eigh", "matrix_function", "qr", "svd"},
     true}};

} // namespace

std::vector<std::string> weir::runtimeArchives() {
  std::vector<std::string> names;
  for (const OptionalArchive &archive : optionalArchives)
    if (archive.isAsked)
      names.push_back(archive.name.str());
  return names;
}

/// Names of the functions that the object calls or has.
static llvm::Expected<llvm::StringSet<>> symbolsOf(llvm::StringRef path) {
  auto file = llvm::object::ObjectFile::createObjectFile(path);
  if (!file)
    return file.takeError();
  llvm::StringSet<> names;
  for (const llvm::object::SymbolRef &symbol : file->getBinary()->symbols()) {
    auto name = symbol.getName();
    if (name)
      names.insert(*name);
    else
      llvm::consumeError(name.takeError());
  }
  return names;
}

/// Adds the archives whose kernels are called to the command line, in front of the runtime:
/// what is found first is linked.
static llvm::Error addArchives(llvm::StringRef object, const SharedObjectOptions &options,
                               std::vector<std::string> &arguments) {
  llvm::Expected<llvm::StringSet<>> symbols = symbolsOf(object);
  if (!symbols)
    return symbols.takeError();
  for (const OptionalArchive &archive : optionalArchives) {
    bool isCalled = llvm::any_of(archive.kernels, [&](llvm::StringRef kernel) {
      return symbols->contains(("weir_kernel_" + kernel).str());
    });
    if (!isCalled ||
        (archive.isAsked && !llvm::is_contained(options.runtimeArchives, archive.name)))
      continue;
    llvm::SmallString<256> path(options.runtimeLibrary);
    llvm::sys::path::remove_filename(path);
    llvm::sys::path::append(path, "libweir_runtime_" + archive.name + ".a");
    if (!llvm::sys::fs::exists(path))
      return llvm::createStringError("the program " + archive.what + ", and there is no " + path);
    arguments.push_back(std::string(path));
    llvm::SmallVector<llvm::StringRef> libraries;
    archive.libraries.split(libraries, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef library : libraries)
      arguments.push_back(("-l" + library).str());
  }
  return llvm::Error::success();
}

namespace {

/// The system's compiler driver, and whether it takes LLVM's linker.
struct LinkDriver {
  std::string path;
  bool takesLld = false;
};

} // namespace

static LinkDriver findDriver() {
  for (const char *name : {"clang-22", "clang", "gcc", "cc"})
    if (auto found = llvm::sys::findProgramByName(name))
      return {*found, llvm::StringRef(name).starts_with("clang") &&
                          bool(llvm::sys::findProgramByName("ld.lld-22"))};
  return {};
}

bool weir::linksByLld() { return findDriver().takesLld; }

llvm::Error weir::linkSharedObject(llvm::StringRef object, llvm::StringRef output,
                                   const SharedObjectOptions &options) {
  const auto [driver, takesLld] = findDriver();
  if (driver.empty())
    return llvm::createStringError(
        "a .so needs a linker, and none of clang-22, clang, gcc and cc is on "
        "the PATH; on Debian: apt-get install clang-22 lld-22, or gcc");

  std::string script = (output + ".exports").str();
  std::string log = (output + ".log").str();
  llvm::scope_exit cleanup([&] {
    llvm::sys::fs::remove(script);
    llvm::sys::fs::remove(log);
  });
  std::string exports = "{\n  global:\n";
  for (const std::string &name : options.exports)
    exports += "    " + name + ";\n";
  exports += "  local: *;\n};\n";
  if (llvm::Error error = writeFile(script, exports))
    return error;

  std::vector<std::string> arguments = {driver, "-shared", "-o", output.str(), object.str()};
  if (!options.runtimeLibrary.empty()) {
    if (llvm::Error error = addArchives(object, options, arguments))
      return error;
    arguments.push_back(options.runtimeLibrary);
  }
  if (takesLld)
    arguments.push_back("-fuse-ld=lld-22");
  arguments.insert(arguments.end(),
                   // -Wl would cut names at their commas.
                   {"-Xlinker", "--version-script=" + script, "-Xlinker",
                    "-soname=" + options.soname, "-Wl,-Bsymbolic", "-Wl,--gc-sections",
                    "-Wl,-z,relro", "-Wl,-z,now", "-lm", "-lpthread"});
#ifndef WEIR_SANITIZED
  if (!options.runtimeLibrary.empty())
    arguments.push_back("-Wl,--no-undefined");
#endif
  llvm::SmallVector<llvm::StringRef> references(arguments.begin(), arguments.end());
  std::string message;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log),
                                                llvm::StringRef(log)};
  int status =
      llvm::sys::ExecuteAndWait(driver, references, std::nullopt, redirects, 0, 0, &message);
  if (status == 0)
    return llvm::Error::success();
  if (auto text = llvm::MemoryBuffer::getFile(log))
    message += (*text)->getBuffer().rtrim().str();
  return llvm::createStringError(driver + " cannot link " + output + ": " + message);
}

llvm::Expected<std::string> weir::findRuntimeLibrary(llvm::StringRef given) {
  if (!given.empty()) {
    if (llvm::sys::fs::exists(given))
      return given.str();
    return llvm::createStringError("there is no " + given);
  }
  std::vector<std::string> candidates;
  static int here;
  llvm::SmallString<256> base(llvm::sys::fs::getMainExecutable("weirc", &here));
  llvm::sys::path::remove_filename(base);
  for (const char *folder : {"../lib", "../lib/x86_64-linux-gnu", "../lib64", "."}) {
    llvm::SmallString<256> path(base);
    llvm::sys::path::append(path, folder, "libweir_runtime.a");
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    candidates.push_back(std::string(path));
  }
#ifdef WEIR_BUILD_RUNTIME_LIBRARY
  candidates.push_back(WEIR_BUILD_RUNTIME_LIBRARY);
#endif
  for (const std::string &path : candidates)
    if (llvm::sys::fs::exists(path))
      return path;
  std::string tried;
  for (const std::string &path : candidates)
    tried += (tried.empty() ? "" : ", ") + path;
  return llvm::createStringError("libweir_runtime.a is in none of: " + tried);
}
